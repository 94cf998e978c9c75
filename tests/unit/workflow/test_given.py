"""Models whose texts were generated elsewhere, in the configuration, the settings and the plan; exports."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import yaml

from textgamut.cli.main import main
from textgamut.config.cells import Config
from textgamut.config.loading import load_config, validate_config
from textgamut.errors import ConfigError, TextgamutError
from textgamut.generation.given.openai_batch import read
from textgamut.views.plan import make_plan
from textgamut.workflow import inputs, settings
from textgamut.workflow.arguments import check_generations

SOURCE: dict[str, Any] = {"kind": "generations", "path": "texts.jsonl"}
GIVEN: dict[str, Any] = {"label": "G", "family": "g", "chat": "none", "source": SOURCE}
TASK: dict[str, Any] = {
    "kind": "continuation", "dataset": "news-articles", "n": 40, "seeds": [1, 2], "draws": [1],
    "max_words": 60,
    "cells": [{"models": ["g"], "decodings": ["greedy-64", "given"]}],
}  # fmt: skip
DECODING = {
    "sampled": {"strategy": "sampling", "top_k": 5, "min_p": 0.1, "temperature": 0.5, "max_new_tokens": 9},
    "long": {"strategy": "greedy", "min_new_tokens": 5, "max_new_tokens": 9},
}


def configured(folder: Path, model: dict[str, Any] = GIVEN, **task: Any) -> Config:
    (folder / "models.yaml").write_text(yaml.safe_dump({"g": model}))
    (folder / "decoding.yaml").write_text(yaml.safe_dump(DECODING))
    experiment = {"name": "x", "embedder": "minilm", "tasks": {"news": TASK | task}}
    (folder / "x.yaml").write_text(yaml.safe_dump(experiment))
    return validate_config(experiment, "x.yaml", folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"source": {"kind": "generations"}}, "a.source: path or url is required, and not both"),
        ({"source": SOURCE | {"url": "https://h/x.jsonl"}}, "path or url is required, and not both"),
        ({"source": SOURCE | {"sha256": "0" * 64}}, "sha256 only applies to a url"),
        ({"source": SOURCE | {"path": "{tusk}"}}, "unknown placeholder {tusk}; valid: {task}, {dec"),
        ({"source": SOURCE | {"format": "lm_eval"}}, "a.source.format: "),
        ({"source": SOURCE | {"columns": {"txt": "x"}}}, "a.source.columns.txt: "),
        ({"source": SOURCE | {"format": "simctg", "columns": {"text": "x"}}}, "columns do not apply to"),
        ({"gpus": 0, "dtype": "auto"}, "dtype, gpus: does not apply to texts that were generated elsewhere"),
        ({"engine": "vllm"}, "engine: does not apply to texts that were generated elsewhere"),
    ],
)  # fmt: skip
def test_bad_entries(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(TextgamutError) as caught:
        configured(tmp_path, GIVEN | change)
    assert message in str(caught.value).replace(": g.", ": a.")


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ({"likelihood": {"scorer": "g"}}, "metrics.likelihood.scorer: model 'g' has texts that were gener"),
        ({"ngram": {"tokenizer": "g"}}, "metrics.ngram.tokenizer: model 'g' has texts that were generated"),
        (
            {"likelihood": {"scorer": "gemma-3-270m", "perplexity_of": "generator"}},
            "tasks.news: perplexity_of: generator: model 'g' has texts that were generated elsewhere",
        ),
    ],
)  # fmt: skip
def test_it_cannot_be_loaded(metrics: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(TextgamutError) as caught:
        configured(tmp_path, metrics=metrics)
    assert message in str(caught.value)


def test_any_decoding_is_possible_and_given_is_for_it_alone(tmp_path: Path) -> None:
    configured(tmp_path, cells=[{"models": ["g"], "decodings": ["beam-3-64", "contrastive-k4-a0.6-64"]}])
    with pytest.raises(
        TextgamutError, match="only texts that were generated elsewhere can have the strategy given"
    ):
        configured(tmp_path, cells=[{"models": ["gemma-3-270m"], "decodings": ["given"]}])


def test_chats_need_prompts(tmp_path: Path) -> None:
    task = {"kind": "unprompted", "dataset": "news-articles", "n": 9, "seeds": [1], "draws": [1]}
    cells = [{"models": ["g", "gemma-3-270m", "smollm2-135m-instruct"], "decodings": ["greedy-64"]}]
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"g": GIVEN | {"chat": "template"}}))
    with pytest.raises(TextgamutError) as caught:
        validate_config(
            {"name": "x", "embedder": "minilm", "tasks": {"t": task | {"cells": cells}}}, "x", tmp_path
        )
    [line] = str(caught.value).splitlines()
    assert "tasks.t.cells: model 'smollm2-135m-instruct' has a chat format, which needs a prompt" in line


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b-2.jsonl", "b-1.jsonl", "news-given-2.jsonl", "odd[1].jsonl"):
        (tmp_path / name).touch()
    wildcards = SimpleNamespace(task="news", model="g", decoding="given", seed="2")

    def files(path: str) -> list[str]:
        return inputs.given_texts(
            configured(tmp_path, GIVEN | {"source": SOURCE | {"path": path}}), wildcards
        )

    assert files("{task}-{decoding}-{seed}.jsonl") == ["news-given-2.jsonl"]
    assert files("b-*.jsonl") == ["b-1.jsonl", "b-2.jsonl"]
    assert files("odd[1].jsonl") == ["odd[1].jsonl"]
    assert files("none-*.jsonl") == ["none-*.jsonl"]


def test_a_missing_file_is_an_error_unless_its_cell_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = configured(tmp_path)
    with pytest.raises(ConfigError) as caught:
        check_generations(config, [])
    assert str(caught.value) == "model 'g': source.path: there is no file texts.jsonl"
    check_generations(config, ["data/news/prompts.parquet", "./data/news/draw1/references.parquet"])
    with pytest.raises(ConfigError):
        check_generations(config, ["data/news/prompts.parquet", "all"])
    for decoding in ("greedy-64", "given"):
        for seed in (1, 2):
            cell = tmp_path / f"results/news/g/{decoding}/seed{seed}"
            cell.mkdir(parents=True)
            (cell / "generations.parquet").touch()
    check_generations(config, [])


def test_settings_name_the_cells_that_share_a_file(tmp_path: Path) -> None:
    job = SimpleNamespace(task="news", model="g", decoding="given", seed="2")
    found = settings.import_texts(configured(tmp_path), job)
    assert (found["decodings"], found["seeds"], found["completions"]) == (["greedy-64", "given"], [1, 2], 1)
    assert found["model"]["source"]["path"] == "texts.jsonl"
    apart = GIVEN | {"source": SOURCE | {"path": "{decoding}-{seed}.jsonl"}}
    found = settings.import_texts(configured(tmp_path, apart), job)
    assert (found["decodings"], found["seeds"]) == (["given"], [2])
    assert json.loads(json.dumps(found)) == found


def test_a_label_changes_no_settings(tmp_path: Path) -> None:
    job = SimpleNamespace(task="news", model="g", decoding="given", seed="2")
    before = settings.import_texts(configured(tmp_path), job)
    assert settings.import_texts(configured(tmp_path, GIVEN | {"label": "other"}), job) == before


def test_it_costs_nothing(tmp_path: Path) -> None:
    plan = make_plan(configured(tmp_path), tmp_path)
    [line] = plan.lines
    assert (line.cells, line.new_tokens, line.prompt_tokens, line.hours, line.gpu_hours) == (4, 0, 0, 0, 0)
    assert plan.disk["weights"].known == plan.disk["weights"].unknown == 0


SERVED: dict[str, Any] = {
    "label": "S", "family": "s", "chat": "template", "system": "Be brief.", "engine": "openai", "gpus": 0,
    "chat_arguments": {"enable_thinking": False},
    "source": {
        "kind": "openai", "url": "http://localhost:1/v1", "model": "gpt", "key_variable": "SECRET_NAME",
    },
}  # fmt: skip


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two prompts of a task and no texts."""
    monkeypatch.chdir(tmp_path)
    cells = [{"models": ["g"], "decodings": ["sampled"]}]
    configured(tmp_path, SERVED, n=2, k=1, cells=cells)
    rows = [
        {"id": "p/1", "base": "Once upon", "user": "Continue: Once", "start": " upon"},
        {"id": "é", "base": "A “b”", "user": "Continue: A", "start": " “b”"},
    ]
    (tmp_path / "data/news").mkdir(parents=True)
    pd.DataFrame(rows).to_parquet("data/news/prompts.parquet")
    return tmp_path


EXPORT = ["export", "prompts", "x.yaml", "--task", "news", "--model", "g", "--output"]


def test_a_batch_has_what_the_server_would_get(drawn: Path) -> None:
    del drawn
    from textgamut.generation.requests import Request, seed_of

    assert main([*EXPORT, "batch.jsonl"]) == 0
    requests = [json.loads(line) for line in Path("batch.jsonl").read_text("utf-8").splitlines()]
    assert [request["custom_id"] for request in requests] == [
        f"news/sampled/seed{seed}/{prompt}/0" for seed in (1, 2) for prompt in ("p/1", "é")
    ]
    assert {(request["method"], request["url"]) for request in requests} == {("POST", "/v1/chat/completions")}
    assert requests[1]["body"] == {
        "model": "gpt",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Continue: A “b”"},
        ],
        "max_tokens": 9,
        "temperature": 0.5,
        "top_p": 1.0,
        "top_k": 5,
        "min_p": 0.1,
        "chat_template_kwargs": {"enable_thinking": False},
        "seed": seed_of(Request("é", 0, "", True), 1),
    }
    assert len({request["body"]["seed"] for request in requests}) == 4


def test_its_ids_are_read_again(drawn: Path) -> None:
    del drawn
    assert main([*EXPORT, "batch.jsonl", "--name", "other"]) == 0
    answers = []
    for line in Path("batch.jsonl").read_text("utf-8").splitlines():
        request = json.loads(line)
        assert request["body"]["model"] == "other"
        choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "length"}
        response = {"status_code": 200, "body": {"choices": [choice], "model": "other"}}
        answers.append(json.dumps({"custom_id": request["custom_id"], "response": response}))
    Path("answers.jsonl").write_text("\n".join(answers))
    found = list(read(Path("answers.jsonl"), None))
    names = ("task", "decoding", "seed", "prompt_id", "completion", "text")
    assert [tuple(getattr(text, name) for name in names) for text in found] == [
        ("news", "sampled", seed, prompt, 0, "") for seed in (1, 2) for prompt in ("p/1", "é")
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prompts", "--task", "news", "--model", "g", "--output", "b.csv"], "suffix must be .jsonl"),
        (["prompts", "--task", "new", "--model", "g", "--output", "b.jsonl"], "nearest valid: 'news'"),
        (["prompts", "--task", "news", "--model", "h", "--output", "b.jsonl"], "no cell with the model 'h'"),
        (["texts", "--decoding", "sampler", "--output", "new"], "nearest valid: 'sampled'"),
        (["texts", "--output", "data"], "--output data: is not a new or empty folder"),
        (["texts", "--output", "new"], "the texts are not generated yet: run the experiment first"),
        (["embedding-atlas", "--task", "new", "--output", "b.parquet"], "nearest valid: 'news'"),
        (["embedding-atlas", "--task", "news", "--output", "b.csv"], "suffix must be .parquet"),
        (["embedding-atlas", "--task", "news", "--output", "b.parquet"], "run the experiment first"),
    ],
)
def test_bad_exports(words: list[str], message: str, drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", words[0], "x.yaml", *words[1:]]) == 1
    assert message in capsys.readouterr().err
    assert not (drawn / "new").exists()
    assert not (drawn / "b.jsonl").exists()


def test_no_input_is_replaced_by_an_export(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (drawn / "data/news/draw1").mkdir()
    references = drawn / "data/news/draw1/references.parquet"
    pd.DataFrame({"id": ["r"], "text": ["x"]}).to_parquet(references)
    (drawn / "linked.parquet").hardlink_to(references)
    kept = drawn / "results/.kept"
    kept.mkdir(parents=True)
    for name in ("other.parquet", "other.jsonl"):
        (kept / name).touch()
    own = {"format": "table", "source": {"kind": "file", "path": "own.jsonl"}, "text": "text"}
    (drawn / "datasets.yaml").write_text(yaml.safe_dump({"own": own}))
    texts = drawn / "own.jsonl"
    texts.write_text('{"text": "a"}')
    before = {path: path.read_bytes() for path in (references, texts)}
    atlas = ["export", "embedding-atlas", "x.yaml", "--task", "news", "--output"]
    for words, message in (
        (
            [*atlas, "data/news/draw1/references.parquet"],
            "references.parquet: is the input data/news/draw1/ref",
        ),
        (
            [*atlas, "linked.parquet"],
            "linked.parquet: is the input data/news/draw1/references.parquet: choose",
        ),
        ([*atlas, "data/news/prompts.parquet"], "prompts.parquet: is the input data/news/prompts.parquet"),
        ([*atlas, "results/other.parquet"], "results/other.parquet: is an output of a workflow run"),
        ([*EXPORT, "results/other.jsonl"], "results/other.jsonl: is an output of a workflow run"),
        ([*EXPORT, "own.jsonl"], "own.jsonl: is the input own.jsonl: choose another name"),
    ):
        assert main(words) == 1
        assert message in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before


def test_prompts_that_are_not_drawn(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (drawn / "data/news/prompts.parquet").unlink()
    assert main([*EXPORT, "b.jsonl"]) == 1
    assert (
        "the prompts are not drawn yet: snakemake --cores 1 data/news/prompts.parquet"
        in capsys.readouterr().err
    )


def test_a_setting_that_servers_lack(drawn: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model whose texts will come from a batch can have any setting, until one asks a server for it."""
    del drawn
    configured(Path(), GIVEN, n=2, k=1, cells=[{"models": ["g"], "decodings": ["long"]}])
    assert main([*EXPORT, "b.jsonl"]) == 1
    assert "min_new_tokens: 5: servers do not support a minimum" in capsys.readouterr().err


def test_no_name_of_a_key_is_exported(drawn: Path) -> None:
    cell = drawn / "results/news/g/sampled"
    for seed in (1, 2):
        (cell / f"seed{seed}/shards").mkdir(parents=True)
        texts = pd.DataFrame(
            {"id": ["p/1/0", "é/0"], "prompt_id": ["p/1", "é"], "text": ["Once upon a", "A “b” c"]}
        )
        texts.to_parquet(cell / f"seed{seed}/generations.parquet")
        samples = texts.drop(columns="text").assign(
            completion=0, continuation=[" a time", " c"], tokens=2, finish="stop", log_likelihood=0.0,
            scored_tokens=0,
        )  # fmt: skip
        samples.to_parquet(cell / f"seed{seed}/shards/0-of-1.parquet")
    (drawn / "data/news/draw1").mkdir()
    pd.DataFrame({"id": ["r"], "text": ["<script>"]}).to_parquet(drawn / "data/news/draw1/references.parquet")
    assert main(["export", "texts", "x.yaml", "--output", "out"]) == 0
    written = "".join(path.read_text() for path in (drawn / "out").iterdir() if path.is_file())
    assert "SECRET_NAME" not in written
    assert "Licence: Apache-2.0" in written
    card = (drawn / "out/README.md").read_text().split("```yaml\n")[1].split("```")[0]
    assert yaml.safe_load(card)["g"]["source"]["path"] == "out/generated/{task}.parquet"
    frame = pd.read_parquet(drawn / "out/generated/news.parquet")
    assert list(frame["seed"]) == [1, 1, 2, 2]
    assert frame.loc[0, ["prompt", "text", "continuation"]].tolist() == [
        "Once upon",
        "Once upon a",
        " a time",
    ]
    assert load_config("x.yaml", drawn).models["g"].source.kind == "openai"
