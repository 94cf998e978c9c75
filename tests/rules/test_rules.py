"""One rule on a fixture: the script's function with explicit paths, its outputs read back."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import ROOT, do_job
from safetensors.numpy import save_file
from scipy import stats
from servers import JudgeServer

from textgamut import files
from textgamut.catalogue import FAMILIES
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import TextgamutError
from textgamut.files import digest
from textgamut.inference.verdicts import findings, of_pair
from textgamut.metrics.rows import YARDSTICK
from textgamut.report import tables
from textgamut.report.tables import read_differences
from textgamut.text import count_words
from textgamut.workflow.weights import WEIGHTS

TABLE = pd.DataFrame(
    {"id": [f"t{i}" for i in range(50)], "prompt_id": [f"t{i}" for i in range(50)], "text": "one two three"}
)
"""Texts of a cell."""

TEXTS = pd.DataFrame(
    {
        "id": [f"t{i}" for i in range(40)],
        "text": [f"text number {i} of forty, with some more words to be cut off" for i in range(40)],
        "topic": ["a", "b"] * 20,
    }
)


def test_every_rule_has_a_script_of_its_name() -> None:
    scripts = {path.stem: path.read_text() for path in (ROOT / "workflow/scripts").rglob("*.py")}
    rules = {
        line.split()[1].rstrip(":")
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for line in path.read_text().splitlines()
        if line.startswith("rule ")
    }
    # Rules that are made by a loop have one script.
    assert set(scripts) == rules | {"make_target", "make_result", "score_family"}
    assert all(f"def {name}(" in text for name, text in scripts.items())
    # Once: not in the processes that a script starts, which may read it under another name.
    tail = '\n\nif __name__ == "__main__":\n'
    for name, text in scripts.items():
        assert text.count(tail) == text.count(f"{tail}    run({name}") == 1, name


def test_rules_that_load_weights_share_them() -> None:
    scripts = {path.stem: path.read_text() for path in (ROOT / "workflow/scripts").rglob("*.py")}
    loading = {name for name, text in scripts.items() if f"run({name}, load" in text}
    families = {f"score_{family.name}" for family in FAMILIES.values()}
    assert set(WEIGHTS) - families == loading - {"score_family"}
    assert set(WEIGHTS) & families == {"score_entities", "score_likelihood"}


def test_extract_dataset(tmp_path: Path) -> None:
    TEXTS.to_csv(tmp_path / "mine.csv", index=False)
    entry = {
        "format": "table",
        "source": {"kind": "file", "path": str(tmp_path / "mine.csv")},
        "id": "id",
        "groups": ["topic"],
    }
    settings = {"dataset": entry, "revision": 1}
    texts, meta = tmp_path / "references.parquet", tmp_path / "references.parquet.meta.json"
    do_job("extract_dataset", settings, {}, {"texts": texts}, contact="", requests_per_second="5")
    pd.testing.assert_frame_equal(pd.read_parquet(texts), TEXTS)
    assert files.read_json(meta)["counts"]["distinct"] == 40
    described = {"dataset": entry | {"licence": "CC0"}, "revision": 1}
    cards = {"card": tmp_path / "card.json", "page": tmp_path / "card.md"}
    do_job("describe_dataset", described, {"texts": texts}, cards, {"dataset": "mine"})
    card = files.read_json(tmp_path / "card.json")
    assert card["texts"] == 40
    assert card["groups"] == {"topic": {"a": 20, "b": 20}}
    assert card["source_sha256"] == digest(tmp_path / "mine.csv")
    page = (tmp_path / "card.md").read_text()
    assert "| a | 20 | 50.0% |" in page
    assert "Licence: CC0." in page


def test_draws_are_disjoint_on_disk(tmp_path: Path) -> None:
    files.write_table(tmp_path / "texts.parquet", TEXTS)
    settings = {
        "task": "x",
        "kind": "continuation",
        "n": 20,
        "min_words": 5,
        "max_words": 6,
        "prompt_words": 3,
        "words_end": "at-white-space",
        "references_from": "other-texts",
        "prompts": "shared",
    }
    texts = {"texts": tmp_path / "texts.parquet"}
    do_job("draw_prompts", settings, texts, {"prompts": tmp_path / "prompts.parquet"})
    do_job("draw_references", settings, texts, {"references": tmp_path / "draw1.parquet"}, {"draw": 1})
    prompts, references = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("prompts", "draw1"))
    assert set(prompts["id"]) | set(references["id"]) == set(TEXTS["id"])
    assert not set(prompts["id"]) & set(references["id"])


def test_draw_subset_has_the_columns_of_generations(tmp_path: Path) -> None:
    files.write_table(tmp_path / "texts.parquet", TEXTS)
    settings = {"task": "x", "kind": "subsets", "n": 6, "min_words": 5, "max_words": 6, "group": "topic",
                "labels": ["b"]}  # fmt: skip
    texts, generations = tmp_path / "texts.parquet", tmp_path / "generations.parquet"
    do_job("draw_subset", settings, {"texts": texts}, {"generations": generations}, {"seed": 1})
    frame = pd.read_parquet(tmp_path / "generations.parquet")
    assert list(frame) == ["id", "prompt_id", "text", "tokens", "finish"]
    assert set(frame["id"]) <= set(TEXTS["id"][TEXTS["topic"] == "b"])
    assert (frame["tokens"] == 6).all()


PROMPTS = pd.DataFrame({"id": ["q", "p"], "base": ["three", "one two"], "user": "u", "start": "s"})


def collect(folder: Path, rows: list[tuple[str, int, str]], engines=("", ""), **settings) -> pd.DataFrame:
    """Collect samples that lie in two shards, the last one first."""
    files.write_table(folder / "prompts.parquet", PROMPTS)
    samples = pd.DataFrame(rows, columns=["prompt_id", "completion", "continuation"]).assign(
        tokens=20, finish="stop", log_likelihood=-6.0, scored_tokens=19
    )
    samples.insert(0, "id", [f"{row.prompt_id}/{row.completion}" for row in samples.itertuples()])
    shards = [folder / f"{i}-of-2.parquet" for i in range(2)]
    for path, part, engine in zip(shards, (samples[1:], samples[:1]), engines, strict=True):
        part.attrs["engines"] = [engine]
        files.write_table(path, part)
    output = folder / "generations.parquet"
    inputs = {"prompts": folder / "prompts.parquet", "samples": shards}
    own = {"task": "t", "strategy": "sampling"} | settings
    do_job("collect_generations", own, inputs, {"generations": output}, {"seed": 1})
    return pd.read_parquet(output)


def test_collect_generations_joins_prompt_and_continuation(tmp_path: Path) -> None:
    frame = collect(tmp_path, [("p", 0, " b c d"), ("q", 0, "")], kind="continuation", max_words=4)
    recorded = ["tokens", "finish", "log_likelihood", "scored_tokens"]
    assert list(frame) == ["id", "prompt_id", "text", *recorded]
    assert frame["text"].tolist() == ["three", "one two b c"]  # in the order of the prompts
    assert frame["log_likelihood"].tolist() == [-6, pytest.approx(np.nan, nan_ok=True)]  # one is cut
    meta = files.read_json(tmp_path / "generations.parquet.meta.json")
    assert (meta["samples"], meta["empty_continuations"], meta["shorter_than_max_words"]) == (2, 1, 1)
    assert meta["mean_words_before_cut"] == (1 + 5) / 2


def test_collect_generations_tells_of_copies_under_sampling(tmp_path: Path) -> None:
    rows = [(prompt, i, f" of {prompt}") for prompt in ("p", "q") for i in range(4)]
    collect(tmp_path, rows, kind="continuation", max_words=4)
    meta = files.read_json(tmp_path / "generations.parquet.meta.json")
    assert meta["copies"] == 6
    assert [text for text in meta["warnings"] if "6 of 8 completions" in text] == meta["warnings"] != []
    collect(tmp_path, rows, kind="continuation", max_words=4, strategy="greedy")
    meta = files.read_json(tmp_path / "generations.parquet.meta.json")
    assert "copies" not in meta
    assert meta["warnings"] == []


@pytest.mark.parametrize(("engines", "told"), [(("v1", "v1"), False), (("v2", "v1"), True)])
def test_collect_generations_tells_of_different_engines(
    tmp_path: Path, engines: tuple[str, str], told: bool
) -> None:
    collect(tmp_path, [("p", 0, " b c d"), ("q", 0, "")], engines, kind="continuation", max_words=4)
    meta = files.read_json(tmp_path / "generations.parquet.meta.json")
    assert meta["engines"] == sorted(set(engines))
    assert ["different engines: v1; v2" in text for text in meta["warnings"]] == [True] * told


def test_collect_generations_joins_the_prompts_of_its_seed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = PROMPTS.assign(base="another", seed=2)
    monkeypatch.setitem(globals(), "PROMPTS", pd.concat([other, PROMPTS.assign(seed=1)], ignore_index=True))
    frame = collect(tmp_path, [("p", 0, " b c d"), ("q", 0, "")], kind="continuation", max_words=4)
    assert frame["text"].tolist() == ["three", "one two b c"]


def test_collect_generations_keeps_the_longest_completions(tmp_path: Path) -> None:
    rows = [
        ("p", 2, " a b"),
        ("p", 0, " a b"),
        ("p", 1, " a"),
        ("q", 0, " a"),
        ("q", 1, ""),
        ("q", 2, " a b c"),
    ]
    frame = collect(tmp_path, rows, kind="prompted", max_words=None, keep=2)
    assert frame["id"].tolist() == ["q/0", "q/2", "p/0", "p/2"]
    assert frame["text"].tolist() == [" a", " a b c", " a b", " a b"]
    assert files.read_json(tmp_path / "generations.parquet.meta.json")["samples"] == 6


@pytest.mark.parametrize("strange", [[("p", 0, " a")], [("p", 0, " a"), ("q", 0, ""), ("r", 0, " a")]])
def test_collect_generations_refuses_samples_of_other_prompts(tmp_path: Path, strange: list) -> None:
    with pytest.raises(
        TextgamutError, match=r"prompts.parquet: 1 prompts without samples or samples without prompts"
    ):
        collect(tmp_path, strange, kind="continuation", max_words=4)
    assert not (tmp_path / "generations.parquet").exists()


def drawn(folder: Path, texts: pd.DataFrame, **settings) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw prompts and references of a task."""
    files.write_table(folder / "texts.parquet", texts)
    inputs = {"texts": folder / "texts.parquet"}
    do_job("draw_prompts", settings, inputs, {"prompts": folder / "prompts.parquet"})
    do_job("draw_references", settings, inputs, {"references": folder / "references.parquet"}, {"draw": 1})
    return pd.read_parquet(folder / "prompts.parquet"), pd.read_parquet(folder / "references.parquet")


PEOPLE = pd.DataFrame(
    {
        "id": [f"page-{i}" for i in range(20)],
        "name": [f"Person {i}" for i in range(20)],
        "text": [f"Person {i}:\n\nBorn in {i}. " + "word " * 30 for i in range(20)],
        "gender": ["female", "male"] * 10,
    }
)


def test_a_biography_task_draws_examples_and_references(tmp_path: Path) -> None:
    settings = {"task": "b", "kind": "biographies", "dataset": "people", "n": 8, "max_words": 9}
    settings |= {"examples": 2, "draws": [1], "examples_drawn": "without-replacement"}
    prompts, references = drawn(tmp_path, PEOPLE, **settings)
    assert list(prompts) == ["id", "base", "user", "start"]
    assert len(prompts) == len(references) == 8
    assert prompts["base"].str.count("- Biography of Person").eq(2).all()
    assert (references["text"].map(count_words) == 9).all()
    assert set(references["gender"]) == {"female", "male"}


def test_a_prompted_task_draws_pairs(tmp_path: Path) -> None:
    dataset = TEXTS.assign(prompt=TEXTS["text"].str.upper())
    settings = {"task": "p", "kind": "prompted", "n": 8, "max_words": None}
    prompts, references = drawn(tmp_path, dataset, **settings)
    assert prompts["id"].tolist() == references["id"].tolist()
    assert (prompts["base"] == references["text"].str.upper()).all()


def test_the_references_of_a_creative_task_are_texts_of_a_model(tmp_path: Path) -> None:
    texts = pd.DataFrame({"id": ["sample-0001/0"], "prompt_id": ["x"], "text": ["A dream."], "tokens": [3]})
    settings = {"task": "c", "kind": "creative", "n": 3, "max_words": 500}
    prompts, references = drawn(tmp_path, texts, **settings)
    assert prompts["id"].tolist() == ["sample-0001", "sample-0002", "sample-0003"]
    assert references.to_dict("list") == {"id": ["sample-0001/0"], "text": ["A dream."]}


@pytest.fixture
def model(demo) -> dict:
    return {
        "source": demo.models["smollm2-135m-instruct"].source.model_dump(mode="json"),
        "chat": {"format": "template"},
        "bos": "auto",
    }


@pytest.mark.slow
def test_check_prompts_counts_and_refuses(tmp_path: Path, model: dict) -> None:
    settings = {"task": "b", "kind": "biographies", "dataset": "people", "n": 5, "max_words": 360}
    settings |= {"examples_drawn": "without-replacement"}
    drawn(tmp_path, PEOPLE, **settings, examples=6, draws=[1])
    paths = tmp_path / "prompts.parquet", tmp_path / "lengths.json"

    def check(checked: dict) -> None:
        prompts, lengths = {"prompts": paths[0]}, {"lengths": paths[1]}
        do_job("check_prompts", checked, prompts, lengths, {"model": "smollm2"})

    check(model | {"task": "b", "examples": 6, "max_new_tokens": 100})
    lengths = files.read_json(paths[1])
    assert (lengths["prompts"], lengths["context"], lengths["max_new_tokens"]) == (5, 8192, 100)
    assert lengths["total"] == lengths["mean"] * 5
    assert 6 * 40 < lengths["mean"] <= lengths["max"] < 6 * 80

    paths[1].unlink()
    room = 8192 - lengths["max"] // 2
    message = (
        rf"task 'b', model 'smollm2': prompt 'sample-000\d' has {lengths['max']} tokens, .* \d examples?"
    )
    with pytest.raises(TextgamutError, match=message) as caught:
        check(model | {"task": "b", "examples": 6, "max_new_tokens": room})
    most = int(str(caught.value).split("at most ")[1][0])
    assert 1 <= most < 6
    assert not paths[1].exists()
    for examples, fits in ((most, True), (most + 1, False)):  # the number that is named is right
        drawn(tmp_path, PEOPLE, **settings, examples=examples, draws=[1])
        checked = model | {"task": "b", "max_new_tokens": room}
        if fits:
            check(checked)
        else:
            with pytest.raises(TextgamutError, match="the context is limited to 8192: lower max_new_tokens"):
                check(checked)


@pytest.mark.slow
def test_tokens_per_word_are_counted(tmp_path: Path, model: dict) -> None:
    files.write_table(tmp_path / "texts.parquet", TEXTS)
    ratio = tmp_path / "smollm2.json"
    texts = {"texts": tmp_path / "texts.parquet"}
    do_job("count_tokens", {"source": model["source"]}, texts, {"ratio": ratio})
    counted = files.read_json(ratio)
    assert counted["texts"] == 40
    assert counted["words"] == 40 * 14  # thirteen words and a comma
    assert 1 <= counted["ratio"] < 1.5


CELL = {"task": "t", "model": "m", "decoding": "d", "seed": 1}


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Generated features, references that are nearly the same, and references far away."""
    rng = np.random.default_rng(0)
    generated = rng.normal(size=(50, 6)).astype(np.float32)
    files.write_array(tmp_path / "generated.npy", generated)
    files.write_array(tmp_path / "same.npy", generated + np.float32(1e-4))
    for name in ("generations", "references"):
        files.write_table(tmp_path / f"{name}.parquet", TABLE)
    files.write_array(tmp_path / "opposite.npy", -10 - np.abs(rng.normal(size=(50, 6))).astype(np.float32))
    return tmp_path


def score(
    folder: Path, family: str, settings: dict[str, Any], name: str = "scores", **inputs: Any
) -> pd.DataFrame:
    """Score a cell by a family: its generations, and what else is named, in a folder."""
    own = {"texts": folder / "generations.parquet"} | inputs
    outputs = {"scores": folder / f"{name}.json"}
    do_job(
        "score_family", {"family": family} | settings, own, outputs, CELL, f"score_{family}",
        batch_size=2, leased=0,
    )  # fmt: skip
    return pd.DataFrame(files.read_json(outputs["scores"]))


def score_draws(folder: Path, family: str, settings: dict[str, Any], **inputs: Any) -> pd.DataFrame:
    """Score a cell against two draws of references."""
    draws = [folder / "same.npy", folder / "opposite.npy"]
    own = {"features": folder / "generated.npy", "reference_features": draws}
    return score(folder, family, {"draws": [7, 8]} | settings, **own, **inputs)


def both_draws(folder: Path, dataset: Path | None = None) -> dict[str, list[Path]]:
    """The texts of two draws of references, and the dataset with the groups of the prompts."""
    return {"references": [folder / "references.parquet"] * 2, "dataset": [dataset] if dataset else []}


def test_score_support_scores_every_draw(features: Path) -> None:
    table = score_draws(features, "support", {"k": 4, "bootstrap": 20}, **both_draws(features))
    value = table.set_index(["draw", "metric"])["value"]
    assert len(table) == 2 * 8
    assert (table["n"] == 50).all()
    assert value[7, "precision"] == value[7, "recall"] == 1.0
    assert value[8, "precision"] < 0.1  # the references are one tight corner of the sphere
    assert (table["low"] <= table["value"]).all()
    meta = files.read_json(features / "scores.json.meta.json")
    [copies] = meta["warnings"]  # those of small N are shown once per run
    assert copies.startswith("50 of 50 generated texts (100.0%) are also among the references")


def test_score_support_per_group(features: Path) -> None:
    """References have their own groups, generated texts those of their prompts."""
    dataset = pd.DataFrame({"id": [f"t{i}" for i in range(50)], "topic": ["a"] * 25 + ["b"] * 24 + [None]})
    files.write_table(features / "dataset.parquet", dataset)
    generations = pd.DataFrame({"id": dataset["id"], "prompt_id": dataset["id"][::-1], "text": "one two"})
    files.write_table(features / "generations.parquet", generations)
    files.write_table(features / "references.parquet", dataset[["topic"]].assign(text="one two three"))
    settings = {"k": 4, "bootstrap": 20, "groups": ["topic"]}
    table = score_draws(features, "support", settings, **both_draws(features, features / "dataset.parquet"))
    meta = files.read_json(features / "scores.json.meta.json")
    assert [text[:48] for text in meta["warnings"]] == ["generated texts have 2 words, references 3 (medi"]
    assert set(table["group"]) == {"all", "topic=a", "topic=b"}
    recall = table.query("draw == 7 and metric == 'recall'").set_index("group")["value"]
    assert (recall == 1).all()


def test_score_divergence_scores_every_draw(features: Path) -> None:
    pytest.importorskip("faiss")
    settings = {"seeds": [0, 1], "clusters": None}
    value = score_draws(features, "divergence", settings).set_index(["draw", "metric"])
    assert value["value"][7, "mauve"] > 0.99
    assert value["value"][8, "mauve"] < 0.2
    assert value["value"][7, "frontier_integral"] < 0.01 < value["value"][8, "frontier_integral"]
    assert (value["deviation"] >= 0).all()


def test_score_vendi_has_the_references_of_each_draw(features: Path) -> None:
    value = score_draws(features, "vendi", {}).set_index(["draw", "metric"])["value"]
    assert value[7, "vendi_ratio"] == pytest.approx(1, abs=1e-3)
    assert value[7, "vendi"] == value[8, "vendi"]  # of the same texts
    assert value[8, "vendi_reference"] < 1.2  # one tight corner of the sphere
    assert value[8, "vendi_ratio"] == value[8, "vendi"] / value[8, "vendi_reference"]
    assert value[8, "rke_ratio"] > 2


def test_score_distance_tells_equal_from_other_texts(features: Path) -> None:
    value = score_draws(features, "distance", {"permutations": 99}).set_index(["draw", "metric"])["value"]
    for kernel in ("gaussian", "polynomial"):
        assert value[7, f"mmd_{kernel}"] < 0 < value[8, f"mmd_{kernel}"]
        assert value[7, f"mmd_{kernel}_p"] == 1
        assert value[8, f"mmd_{kernel}_p"] == 0.01
    assert value[7, "frechet"] < 1e-6 < value[8, "frechet"]


def test_score_completions_compares_the_texts_of_a_prompt(features: Path) -> None:
    prompts = [f"p{i // 2}" for i in range(50)]
    generations = TABLE.assign(prompt_id=prompts)
    files.write_table(features / "generations.parquet", generations)
    judged = generations[["id"]].assign(judge_coherence=[5.0, 4.0] * 24 + [5.0, np.nan])[::-1]
    files.write_table(features / "judge.parquet", judged)
    bar = {"metric": "judge_coherence", "at_least": 4, "at_most": None}
    settings = {"threshold": 0.9, "first": None, "quality": bar}
    values = []
    for quality, scores in ((bar, [features / "judge.parquet"]), (None, [])):
        inputs = {"features": features / "generated.npy", "text_scores": scores}
        table = score(features, "completions", settings | {"quality": quality}, **inputs)
        values.append(table.set_index("metric")["value"].to_dict())
    array = files.read_array(features / "generated.npy").astype(float)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    cosine = (unit[::2] * unit[1::2]).sum(axis=1)
    assert values[0]["completion_cosine"] == pytest.approx(cosine.mean())
    assert values[0]["distinct_completions"] == 1 + (cosine < 0.9).mean()
    assert values[0]["effective_diversity"] == pytest.approx((1 - cosine)[:-1].sum() / 25)
    assert values[0].keys() - values[1].keys() == {"effective_diversity"}


def test_score_judged_completions_asks_about_the_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TEXTGAMUT_OFFLINE", raising=False)
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path))
    texts = ["a", "a", "b", "b", "c", "a "]
    generations = pd.DataFrame({"id": list("123456"), "prompt_id": ["p", "q"] * 3, "text": texts})
    files.write_table(tmp_path / "generations.parquet", generations)
    prompts = pd.DataFrame({"id": ["o", "q", "p"], "base": ["x", "z", "y"]})
    files.write_table(tmp_path / "prompts.parquet", prompts)
    with JudgeServer() as server:
        server.said = lambda question: '{"equivalent": 0}'
        Thread(target=server.serve_forever, daemon=True).start()
        source = OpenAISource(kind="openai", url=server.url, model="judge")
        do_job(
            "score_family", {"family": "judged_completions", "first": 3, "model": {}},
            {"texts": tmp_path / "generations.parquet", "prompts": [tmp_path / "prompts.parquet"]},
            {"scores": tmp_path / "scores.json"}, CELL, source=source.model_dump_json(), batch_size=2,
        )  # fmt: skip
        server.shutdown()
    (row,) = files.read_json(tmp_path / "scores.json")
    assert (row["metric"], row["value"], row["n"]) == ("judged_distinct", (3 + 2) / 2, 6)
    record = files.read_json(files.meta_path(tmp_path / "scores.json"))
    assert (record["k"], record["prompts"], record["unparsed"]) == (3, 2, 0)
    asked = [body["messages"][0]["content"] for body in server.asked]
    assert sum('Prompt: "y"' in question for question in asked) == 3
    assert sum('Prompt: "z"' in question for question in asked) == 1


def test_score_compression_cuts_the_texts_to_the_length_of_the_references(tmp_path: Path) -> None:
    write = {"generations": ["a b c d e f"] * 4, "references": ["u v w x y z", "a b c d e f"]}
    for name, texts in write.items():
        ids = [str(row) for row in range(len(texts))]
        table = pd.DataFrame({"id": ids, "prompt_id": ids, "text": texts})
        files.write_table(tmp_path / f"{name}.parquet", table)
    found = {}
    for words in (None, 100):
        references = tmp_path / "references.parquet"
        table = score(tmp_path, "compression", {"words": words}, "c", references=references)
        found[words] = table.set_index("metric")["value"].to_dict()
        meta = files.read_json(tmp_path / "c.json.meta.json")
        assert meta["words"] == (words or 12)
        assert ("fewer than 100" in " ".join(meta["warnings"])) == (words == 100)
    assert found[None]["ngram_diversity"] == 2  # 2 of 4 texts, each n-gram twice
    assert found[100]["ngram_diversity"] == 1
    assert found[None]["homogenization"] == 1


def make_result(rule: str, settings: dict, inputs: dict, folder: Path, *suffixes: str) -> Path:
    """Make a table or a figure of a task; return the first output."""
    outputs = {suffix: folder / f"{rule}.{suffix}" for suffix in suffixes}
    do_job("make_result", settings, inputs, outputs, rule=rule)
    if "svg" in outputs:
        assert outputs["svg"].read_text().startswith("<?xml")
        assert outputs["png"].read_bytes()[:4] == b"\x89PNG"
    return outputs[suffixes[0]]


def test_differences_from_human_texts_are_tested_again_on_texts_of_one_length(tmp_path: Path) -> None:
    """Whole texts of the model lie among those of people; their beginnings lie elsewhere."""
    rng = np.random.default_rng(1)
    lengths = {"model": 30, "human": 20, "references": 21}
    for name, words in lengths.items():
        ids = [f"{name}{i}" for i in range(60)]
        columns = {"id": ids, "prompt_id": ids, "text": [" ".join([f"{name}{i}"] * words) for i in range(60)]}
        files.write_table(tmp_path / f"{name}.parquet", pd.DataFrame(columns))
        files.write_array(tmp_path / f"{name}.npy", rng.normal([9, 0, 0, 0], size=(60, 4)).astype(np.float32))
    cut, features = tmp_path / "cut.parquet", tmp_path / "cut.npy"
    texts = {name: tmp_path / f"{name}.parquet" for name in lengths}
    inputs: dict[str, Any] = {"generations": texts["model"], "human": texts["human"]}
    do_job("cut_texts", None, inputs | {"references": [texts["references"]]}, {"texts": cut})
    table = pd.read_parquet(cut)
    assert table["place"].tolist() == [0] * 60 + [1] * 60 + [2] * 60
    assert set(table["words"]) == {20}
    assert {len(text.split()) for text in table["text"]} == {20}
    assert table["text"][0] == " ".join(["model0"] * 20)
    moved = rng.normal([9, 0, 0, 0], size=(180, 4)).astype(np.float32)
    moved[:60, 1] += 9
    files.write_array(features, moved)

    tests = tmp_path / "tests.json"
    family = {"family": "support", "k": 4, "sweep": None, "revision": 1}
    settings = {
        "methods": ["m/d", "human/held-out"],
        "paired": False,
        "groups": [],
        "families": {"support": family},
    }
    inputs = {
        "texts": [texts["model"], texts["human"]],
        "features": [tmp_path / "model.npy", tmp_path / "human.npy"],
        "references": [], "reference_features": [tmp_path / "references.npy"], "grouped": [], "dataset": [],
        "text_scores": [], "cut_texts": [cut], "cut_features": [features],
    }  # fmt: skip
    do_job("compare_methods", settings, inputs, {"tests": tests})
    pairs = [[["m", "d", "one"], ["human", "held-out", YARDSTICK]]]
    made = make_result(
        "tabulate_cut_differences", {"task": "t", "pairs": pairs}, {"tests": [tests]}, tmp_path, "csv", "html"
    )
    of_cut = read_differences(made)
    assert set(of_cut["words"]) == {20}
    assert findings(of_pair(of_cut, "one", YARDSTICK)) == {"precision": "below", "recall": "below"}
    whole = [row for row in files.read_json(tests) if "words" not in row]
    assert min(row["p"] for row in whole) > 0.01

    do_job("cut_texts", None, {"generations": texts["human"], "human": texts["human"],
                               "references": [texts["references"]]}, {"texts": cut})  # fmt: skip
    assert len(pd.read_parquet(cut)) == 0
    files.write_array(features, np.empty((0, 0), np.float32))
    do_job("compare_methods", settings, inputs, {"tests": tests})
    assert files.read_json(tests) == whole


def test_methods_without_prompts_are_compared_in_all_seeds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for place, most in enumerate((12, 12, 18, 18)):  # the first method's seeds, and the second's
        texts = [" ".join(["word"] * int(rng.integers(8, most))) for _ in range(30)]
        ids = [f"sample-{i}" for i in range(30)]
        paths.append(tmp_path / f"{place}.parquet")
        files.write_table(paths[-1], pd.DataFrame({"id": ids, "prompt_id": ids, "text": texts}))
    settings = {
        "methods": ["m/d", "n/d"], "paired": False, "groups": [],
        "families": {"length": {"family": "length", "revision": 1}},
    }  # fmt: skip
    kinds = ("features", "references", "reference_features", "grouped", "dataset", "text_scores", "cut_texts")
    inputs = {"texts": paths, "cut_features": []} | {name: [] for name in kinds}
    do_job("compare_methods", settings, inputs, {"tests": tmp_path / "tests.json"})
    [words] = files.read_json(tmp_path / "tests.json")
    sides = [
        np.concatenate([[len(text.split()) for text in pd.read_parquet(path)["text"]] for path in own])
        for own in (paths[:2], paths[2:])
    ]
    expected = stats.ttest_ind(*sides, equal_var=False)
    assert (words["metric"], words["n"], words["paired"]) == ("text_words", 60, False)
    assert words["p"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert words["tested"] == pytest.approx(sides[0].mean() - sides[1].mean())


def test_differences_and_similarity_are_of_methods(features: Path, scores: Path) -> None:
    """Two methods with two seeds each; those of a seed are compared with the same draws of references."""
    methods = [["m1", "d", "one"], ["m2", "d", "two"], ["human", "human", "human"]]
    cells = [[model, "d", seed] for model in ("m1", "m2") for seed in (1, 2)]
    tests = features / "tests.json"
    rest = {"group": "all", "deviation": 0.02, "n": 9, "resamples": 1000, "fitted": False, "paired": True}
    rows = [
        {"metric": "recall", "tested": 0.1, "low": 0.05, "high": 0.15, "p": 0.001} | rest,
        {"metric": "precision", "tested": 0.0, "low": -0.1, "high": 0.1, "p": 0.9} | rest,
    ]
    files.write_json(tests, rows)
    texts = pd.DataFrame(
        {"model": ["m1"] * 9 + ["m2"] * 9, "decoding": "d", "prompt_id": [f"p{i}" for i in range(9)] * 2,
         "diversity": [0.9, 0.8, 0.7] * 3 + [0.1, 0.2, 0.3] * 3}
    )  # fmt: skip
    files.write_table(features / "all.parquet", texts)
    settings: dict[str, Any] = {"task": "t", "embedder": "e", "pairs": [methods[:2]]}
    inputs = {"scores": scores, "tests": [tests], "texts": [features / "all.parquet"]}
    table = read_differences(make_result("tabulate_differences", settings, inputs, features, "csv", "html"))
    assert table["metric"].tolist() == ["precision", "recall", "diversity"]
    assert (table[["model_1", "model_2"]] == ["one", "two"]).all(axis=None)
    assert table["difference"].tolist() == pytest.approx([0, 0, 0.6])
    assert table["tested"].tolist() == pytest.approx([0, 0.1, 0.6])
    assert table["verdict"].tolist() == ["cannot tell", "cannot tell", "better"]  # the values are equal
    assert "cannot tell" in (features / "tabulate_differences.html").read_text()
    drawn = {"table": features / "tabulate_differences.csv"}
    make_result("plot_differences", {"task": "t"}, drawn, features, "svg", "png")
    inputs["tests"] = []
    table = read_differences(make_result("tabulate_differences", settings, inputs, features, "csv", "html"))
    assert table["metric"].tolist() == ["diversity"]

    generations = []
    for model, _, seed in cells:
        generations.append(features / f"g-{model}{seed}.parquet")
        files.write_table(generations[-1], pd.DataFrame({"prompt_id": [f"p{i}" for i in range(50)]}))
    files.write_table(features / "references.parquet", pd.DataFrame({"id": ["p0", "p3", "q"]}))
    files.write_array(features / "three.npy", files.read_array(features / "same.npy")[[0, 3, 4]])
    arrays = [features / f"{name}.npy" for name in ("three", "generated", "generated", "opposite", "same")]
    inputs = {"generations": generations, "features": arrays, "references": features / "references.parquet"}
    settings |= {"embedder": "Mini", "prompts_per_seed": False, "cells": cells, "methods": methods}
    similarity = make_result("plot_similarity", settings, inputs, features, "csv", "svg", "png")
    matrix = pd.read_csv(similarity, index_col="method")
    assert list(matrix) == list(matrix.index) == ["one", "two", "human"]
    assert matrix.loc["one", "one"] == pytest.approx(1)  # both seeds wrote the same
    assert matrix.loc["one", "human"] == pytest.approx(1, abs=1e-5)
    assert np.isnan(matrix.loc["human", "human"])  # one text a prompt
    assert abs(matrix.loc["two", "two"]) < 0.9


def test_score_ngram_counts_words(tmp_path: Path) -> None:
    texts = ["a b c d e", "a b c d f", "g h a b"]
    table = pd.DataFrame({"id": list("xyz"), "prompt_id": list("pqr"), "text": texts})
    files.write_table(tmp_path / "generations.parquet", table)
    settings = {"tokenizer": None, "self_bleu_sample": None}
    value = score(tmp_path, "ngram", settings, "ngram").set_index("metric")["value"]
    assert value["distinct_1"] == 8 / 14
    assert value["text_distinct_2"] == pytest.approx((4 / 5 + 4 / 5 + 3 / 4) / 3)
    assert value["repetition_4"] == 0
    assert value["diversity"] == 1
    of_texts = pd.read_parquet(tmp_path / "ngram.parquet")
    assert of_texts["id"].tolist() == list("xyz")
    assert of_texts["text_distinct_2"].tolist() == [4 / 5, 4 / 5, 3 / 4]


@pytest.mark.slow
def test_score_likelihood_takes_the_prompt_off_the_text(tmp_path: Path, demo) -> None:
    """The continuation alone is scored, given the prompt; without prompts the whole text is."""
    texts = pd.DataFrame(
        {"id": ["1", "2"], "prompt_id": ["p", "q"], "text": ["The cat sat on the mat.", "Once upon a time"]}
    )
    files.write_table(tmp_path / "generations.parquet", texts)
    files.write_table(
        tmp_path / "p.parquet", pd.DataFrame({"id": ["q", "p"], "base": ["Once upon", "The cat"]})
    )
    source = demo.models["smollm2-135m-instruct"].source.model_dump(mode="json")
    values = []
    for prompts in (tmp_path / "p.parquet", None):
        scorer = {"source": source, "adapter": None, "bos": "auto"}
        settings = {"scorer": scorer, "perplexity_of": "scorer", "dtype": "float32"}
        table = score(tmp_path, "likelihood", settings, "l", prompts=[prompts] if prompts else [])
        values.append(table.set_index("metric")["value"].to_dict())
    assert set(values[0]) == {"perplexity", "coherence"}
    assert set(values[1]) == {"perplexity"}
    assert values[0]["perplexity"] < values[1]["perplexity"]  # "upon" after "Once" is no surprise
    assert pd.read_parquet(tmp_path / "l.parquet")["perplexity"].between(1, 1e6).all()


def test_sweep_support_varies_one_at_a_time(features: Path) -> None:
    do_job(
        "sweep_support",
        {"k": 4, "draws": [7], "sweep": {"n": [10, 50], "k": [1, 4], "k_at": 20}},
        {"features": features / "generated.npy", "reference_features": [features / "same.npy"]},
        {"scores": features / "sweep.json"},
        CELL | {"embedder": "e"},
    )
    table = tables.tidy(files.read_json(features / "sweep.json"))
    assert set(zip(table["n"], table["k"], strict=True)) == {(10, 4), (50, 4), (20, 1), (20, 4)}
    settings = {"task": "t", "embedder": "Mini", "k": 4, "sweep": {"k_at": 20},
                "models": {"m": {"label": "M", "family": "f", "chat": False}}}  # fmt: skip
    make_result("plot_sweep", settings, {"scores": [features / "sweep.json"]}, features, "svg", "png")


def test_parts_of_no_texts_are_empty(features: Path) -> None:
    """If no texts can be held out, the score has no rows, whatever its parts are."""
    files.write_array(features / "none.npy", np.empty((0, 6), np.float32))
    reduced, part = features / "reduced.npz", features / "part.npz"
    settings = {"stage": "reduced", "block": [0, 1], "k": 4}
    first = {"features": [features / "same.npy", features / "none.npy"], "parts": []}
    do_job("measure_part", settings, first, {"part": reduced})
    for stage in ("neighbours", "pairs"):
        settings = {"stage": stage, "block": [0, 2], "k": 4}
        do_job("measure_part", settings, {"features": [], "parts": [reduced]}, {"part": part})
        assert files.read_arrays(part) == {}


def test_explain_support_names_the_neighbours_on_both_sides(features: Path) -> None:
    for name in ("generations", "references"):
        ids = [f"{name}-{i}" for i in range(50)]
        texts = pd.DataFrame({"id": ids, "text": [f"{name} {i % 3}" for i in range(50)]})
        files.write_table(features / f"{name}.parquet", texts)
    inputs = {"generations": features / "generations.parquet", "features": features / "generated.npy"}
    inputs |= {"reference_texts": features / "references.parquet", "references": features / "opposite.npy"}
    made = {"neighbours": features / "neighbours.parquet", "regions": features / "regions.json"}
    do_job("explain_support", {"k": 4}, inputs, made)
    table = files.read_table(features / "neighbours.parquet", ["side", "id", "inside", "radius"])
    assert table["side"].tolist() == ["generated"] * 50 + ["human"] * 50
    assert all(len(own) == len(other) == 5 for own, other in zip(table["own"], table["other"], strict=True))
    assert all(name.startswith("references") for name in table["other"][0])
    assert all(id_ not in own for id_, own in zip(table["id"], table["own"], strict=True))
    outside = table[~table["inside"]].groupby("side").size()
    assert outside.get("generated", 0)
    regions = files.read_json(made["regions"])
    for side, found in (("generated", regions["generated"]), ("human", regions["reference"])):
        assert sum(of["count"] for of in found) == outside.get(side, 0)
        assert all(set(of) == {"count", "share", "phrases", "examples"} for of in found)


def test_project_features_places_all_texts_on_one_map(features: Path) -> None:
    folders = [features / "cell", features / "draw"]
    for folder, name in zip(folders, ("generated", "opposite"), strict=True):
        (folder / "features").mkdir(parents=True)
        files.write_array(folder / "features/e.npy", files.read_array(features / f"{name}.npy"))
    paths = [folder / "features/e.npy" for folder in folders]
    places = {"table": features / "map.parquet"}
    do_job("project_features", {"projection": "pca"}, {"features": paths}, places)
    table = files.read_table(features / "map.parquet", ["folder", "x", "y"])
    assert table["folder"].tolist() == [str(folder) for folder in folders for _ in range(50)]
    assert table[["x", "y"]].std().min() > 0


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    rows = [
        {"task": task, "model": model, "decoding": "d", "seed": seed, "embedder": "e", "draw": draw, "n": 50,
         "k": 4, "group": "all", "metric": metric,
         "value": 0.5 + 0.01 * seed * draw + 0.1 * (metric == "recall")}
        for task in ("t", "other") for model in ("m1", "m2") for seed in (1, 2) for draw in (1, 2)
        for metric in ("precision", "recall", "density", "coverage")
    ]  # fmt: skip
    for task in ("t", "other"):
        files.write_json(tmp_path / f"{task}.json", [row for row in rows if row["task"] == task])
    found = {"scores": [tmp_path / "t.json", tmp_path / "other.json"]}
    do_job("collect_scores", None, found, {"table": tmp_path / "s.parquet"})
    return tmp_path / "s.parquet"


def test_tables_and_figures_show_one_task(scores: Path, tmp_path: Path) -> None:
    assert len(pd.read_parquet(scores)) == 2 * 2 * 4 * 4
    of_task = {"task": "t"}, {"table": scores}, tmp_path
    table = pd.read_csv(make_result("tabulate_scores", *of_task, "csv", "html"))
    assert set(table["task"]) == {"t"}
    assert table.query("metric == 'recall'")["value"].tolist() == pytest.approx([0.6225, 0.6225])
    variance = pd.read_csv(make_result("tabulate_variance", *of_task, "csv", "html"))
    assert set(variance["varying"]) == {"Q", "P", "P and Q"}
    settings = {"task": "t", "kind": "continuation", "embedder": "Mini", "dataset": "x", "subsets": {},
                "references": [], "decoding_labels": {"d": "top-p 0.95"}, "models": {
        name: {"label": name, "family": "f", "chat": False} for name in ("m1", "m2")}}  # fmt: skip
    make_result("plot_precision_recall", settings, {"table": scores}, tmp_path, "svg", "png", "pdf")
    assert (tmp_path / "plot_precision_recall.pdf").read_bytes().startswith(b"%PDF")
    make_result("tabulate_scores", *of_task, "tex", "md")
    assert r"\toprule" in (tmp_path / "tabulate_scores.tex").read_text()
    assert "| recall |" in (tmp_path / "tabulate_scores.md").read_text()


def test_wrong_features_name_no_half_output(tmp_path: Path) -> None:
    files.write_array(tmp_path / "g.npy", np.full((9, 2), np.nan, dtype=np.float32))
    for name in ("generations", "references"):
        files.write_table(tmp_path / f"{name}.parquet", TABLE[:9])
    inputs = {"features": tmp_path / "g.npy", "reference_features": [tmp_path / "g.npy"], "dataset": []}
    inputs |= {"references": [tmp_path / "references.parquet"]}
    with pytest.raises(TextgamutError, match="reference features: row 0"):
        score(tmp_path, "support", {"k": 4, "draws": [1], "bootstrap": 2}, "support", **inputs)
    assert not (tmp_path / "support.json").exists()


def test_fetch_model_of_a_server_looks_for_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = {"kind": "openai", "url": "https://api.example/v1", "model": "m"}
    settings = {"source": source, "chat": "template", "revision": 1}
    card = tmp_path / "card.json"
    for name in ("EXAMPLE_KEY", "TEXTGAMUT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(TextgamutError, match="EXAMPLE_KEY is not set"):
        do_job("fetch_model", settings, {}, {"card": card}, key_variable="EXAMPLE_KEY")
    assert not card.exists()
    monkeypatch.setenv("EXAMPLE_KEY", "c4n4ry")
    do_job("fetch_model", settings, {}, {"card": card}, key_variable="EXAMPLE_KEY")
    written = files.read_json(card)
    assert (written["served_by"], written["model"]) == ("https://api.example/v1", "m")
    assert "c4n4ry" not in "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    monkeypatch.delenv("EXAMPLE_KEY")
    monkeypatch.setenv("TEXTGAMUT_OFFLINE", "1")
    do_job("fetch_model", settings, {}, {"card": card}, key_variable="EXAMPLE_KEY")


def test_the_card_of_an_unpinned_checkpoint_changes_with_its_files(tmp_path: Path) -> None:
    """Its card is all of a checkpoint that the jobs that load it have as input."""
    folder, card = tmp_path / "checkpoint", tmp_path / "card.json"
    folder.mkdir()
    (folder / "config.json").write_text('{"hidden_size": 8}')
    settings = {"source": {"kind": "file", "path": str(folder), "sha256": None}, "revision": 1}
    cards = []
    for weight in (1.0, 2.0):
        save_file({"weight": np.full(8, weight)}, folder / "model.safetensors")
        do_job("fetch_embedder", settings, {}, {"card": card})
        cards.append(card.read_text())
    assert cards[0] != cards[1]
