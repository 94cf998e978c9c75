"""The plan of an experiment: the sums are right, what is done is left out, the unknown stays unknown."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from helpers import ROOT

from textgamut import files
from textgamut.config.cells import Config
from textgamut.config.entries.models import Reasoning
from textgamut.config.loading import load_config, validate_config
from textgamut.metrics.judge import DIVERSITY, QUALITY
from textgamut.metrics.judged_completions import EQUIVALENCE
from textgamut.views.plan import Line, Plan, cost_of_texts, make_plan
from textgamut.views.sums import Sum
from textgamut.workflow import paths
from textgamut.workflow.paths import fill

SAMPLING = {"strategy": "sampling", "max_new_tokens": 100}
DECODING: dict[str, Any] = {
    "plain": SAMPLING,
    "warm": SAMPLING | {"temperature": 1.2, "max_new_tokens": 50},
    "beam": {"strategy": "beam", "beams": 4, "max_new_tokens": 100},
    "contrastive": {"strategy": "contrastive-search", "k": 5, "alpha": 0.6, "max_new_tokens": 100},
    "adaptive": {"strategy": "adaptive-contrastive-search", "max_new_tokens": 100},
    "amateur": {
        "strategy": "contrastive-decoding",
        "amateur": "strange",
        "beams": 3,
        "max_new_tokens": 100,
    },
}
WEIGHTS = {"kind": "hf", "repo": "some/model", "revision": "0" * 40}
PLAIN = {"label": "M", "family": "m", "chat": "none"}
SERVED = PLAIN | {
    "engine": "openai",
    "gpus": 0,
    "source": {
        "kind": "openai", "url": "http://localhost:1/v1", "model": "gpt", "endpoint": "completions",
        "price_input": 2.0, "price_output": 8.0,
    },
}  # fmt: skip
MODELS: dict[str, Any] = {
    "fast": PLAIN | {"source": WEIGHTS, "tokens_per_second": 1000, "gigabytes": 2},
    "large": PLAIN | {"source": WEIGHTS, "tokens_per_second": 10, "gpus": 4, "shards": 3, "gigabytes": 140},
    "strange": PLAIN | {"source": WEIGHTS},
    "served": SERVED,
    "judge": SERVED | {"chat": "template", "source": SERVED["source"] | {"endpoint": "chat"}},
}
TASK: dict[str, Any] = {
    "kind": "continuation", "dataset": "texts", "n": 400, "seeds": [1, 2], "draws": [1], "max_words": 60,
    "cells": [{"models": ["fast"], "decodings": ["plain"]}],
}  # fmt: skip
DATASET = {"format": "continuations", "source": {"kind": "url", "url": "https://localhost/x.json"}}

BIOGRAPHIES = {"format": "biographies", "source": DATASET["source"]}


def configured(cells: dict[str, list[str]] | list[dict[str, Any]] | None = None, **task: Any) -> Config:
    """A configuration of one task, by its blocks or model -> decoding settings, and other settings of it."""
    entry = TASK | task
    if isinstance(cells, dict):
        cells = [{"models": [model], "decodings": names} for model, names in cells.items()]
    if cells:
        entry |= {"cells": cells}
    if entry["kind"] == "prompted":
        entry = {name: value for name, value in entry.items() if name != "max_words"}
    dataset = DATASET | {"texts": entry.pop("texts", None)}
    if entry["kind"] == "biographies":
        dataset = BIOGRAPHIES
    embedder = {"label": "E", "source": WEIGHTS, "pooling": "mean", "max_tokens": 8}
    registries = {
        "models": MODELS,
        "decoding": DECODING,
        "datasets": {"texts": dataset},
        "embedders": {"e": embedder},
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, content in registries.items():
            Path(folder, f"{name}.yaml").write_text(yaml.safe_dump(content))
        experiment = {"name": "x", "embedder": "e", "tasks": {"t": entry}}
        return validate_config(experiment, "x.yaml", folder)


def write_shard(
    folder: Path,
    config: Config,
    cell: str,
    split: str = "0-of-1",
    samples: int = 400,
    tokens: int = 20_000,
    seconds: float = 10,
    device: str = "NVIDIA A100",
    **changed: Any,
) -> Path:
    """Write a finished shard and its record, as the workflow does."""
    _, model, decoding, seed = cell.split("/")
    path = folder / "results" / cell / "shards" / f"{split}.parquet"
    files.write_table(path, pd.DataFrame({"prompt_id": ["p"]}))
    settings = {
        "model": config.models[model].science(),
        "decoding": config.decoding[decoding].model_dump(mode="json"),
        "seed": int(seed.removeprefix("seed")),
    }
    facts = {"device": device, "samples": samples, "new_tokens": tokens, "generation_seconds": seconds}
    files.write_json(
        files.meta_path(path), facts | {"wall_seconds": seconds, "job": {"settings": settings | changed}}
    )
    return path


def only(plan: Plan) -> Line:
    (line,) = plan.lines
    return line


# --- what is to do ------------------------------------------------------------------------------------


def test_a_stated_rate_gives_hours(tmp_path) -> None:
    line = only(make_plan(configured({"fast": ["plain", "warm"]}), tmp_path))
    assert (line.cells, line.jobs, line.samples, line.samples_done) == (4, 4, 1600, 0)
    assert line.new_tokens == 2 * 400 * 100 + 2 * 400 * 50
    assert line.hours == pytest.approx(120_000 / 1000 / 3600)
    assert (line.gpu_hours, line.rate_from, line.paid) == (line.hours, "stated", False)


def test_the_cost_of_another_number_of_texts(tmp_path) -> None:
    """Finished texts count as rates and lengths, and are not subtracted."""
    config = configured({"fast": ["plain"]})
    write_shard(tmp_path, config, "t/fast/plain/seed1", tokens=20_000, seconds=40)
    cost = cost_of_texts(make_plan(config, tmp_path, afresh=True), 1000)
    assert cost.keys() == {"hours", "gpu_hours"}
    assert cost["hours"] == Sum(pytest.approx(2 * 1000 * 50 / 500 / 3600), 0, 1)  # two seeds, 50 tokens
    assert cost["gpu_hours"] == cost["hours"]


def test_a_thought_counts_with_its_whole_budget(tmp_path) -> None:
    config = configured({"fast": ["plain"]})
    plain = only(make_plan(config, tmp_path))
    model = config.models["fast"].model_copy(update={"reasoning": Reasoning(strip="</think>", budget=100)})
    line = only(make_plan(config._replace(models=config.models | {"fast": model}), tmp_path))
    assert line.new_tokens == plain.new_tokens + 100 * plain.samples


def test_shards_are_jobs_and_gpus_multiply_hours(tmp_path) -> None:
    line = only(make_plan(configured({"large": ["plain"]}), tmp_path))
    assert (line.cells, line.jobs) == (2, 6)
    assert line.hours == pytest.approx(80_000 / 10 / 3600)
    assert line.gpu_hours == pytest.approx(4 * line.hours)


@pytest.mark.parametrize(
    ("decoding", "factor"), [("beam", 4), ("contrastive", 5), ("adaptive", 15), ("amateur", 3)]
)
def test_hypotheses_and_candidates_cost_their_number(tmp_path, decoding, factor) -> None:
    plain, costly = (only(make_plan(configured({"fast": [name]}), tmp_path)) for name in ("plain", decoding))
    assert costly.new_tokens == plain.new_tokens
    assert costly.hours == pytest.approx(factor * plain.hours)


def test_without_a_rate_hours_are_unknown_and_not_zero(tmp_path) -> None:
    plan = make_plan(configured({"fast": ["plain"], "strange": ["plain"]}), tmp_path)
    known, unknown = plan.lines
    assert (unknown.hours, unknown.gpu_hours, unknown.rate_from) == (None, None, "none")
    assert unknown.new_tokens == 80_000
    assert (plan.totals["hours"].known, plan.totals["hours"].unknown) == (known.hours, 1)


def test_completions_multiply_samples(tmp_path) -> None:
    line = only(make_plan(configured(kind="prompted", completions=20, keep=1), tmp_path))
    assert line.samples == 2 * 400 * 20


def test_the_number_of_prompts_is_found_where_it_stands(tmp_path) -> None:
    """A task without n has as many prompts as its dataset has texts: stated, extracted, drawn."""
    unknown = only(make_plan(configured(kind="prompted", n=None), tmp_path))
    assert (unknown.samples, unknown.samples_left, unknown.new_tokens, unknown.hours) == (
        None,
        None,
        None,
        None,
    )
    config = configured(kind="prompted", n=None, texts=1314)
    assert only(make_plan(config, tmp_path)).samples == 2 * 1314
    files.write_table(tmp_path / "data/texts/texts.parquet", pd.DataFrame({"id": range(1300)}))
    assert only(make_plan(config, tmp_path)).samples == 2 * 1300
    files.write_table(tmp_path / "data/t/prompts.parquet", pd.DataFrame({"id": range(1200)}))
    assert only(make_plan(config, tmp_path)).samples == 2 * 1200


# --- what is done -------------------------------------------------------------------------------------


def test_finished_cells_are_left_out(tmp_path) -> None:
    config = configured()
    write_shard(tmp_path, config, "t/fast/plain/seed1", tokens=400 * 60, seconds=12)
    line = only(make_plan(config, tmp_path))
    assert (line.cells_done, line.jobs_done, line.samples_done, line.samples_left) == (1, 1, 400, 400)
    assert line.new_tokens == 400 * 60  # the mean of those that are there, and no more the limit
    assert (line.tokens_per_second, line.rate_from) == (2000, "measured on NVIDIA A100")
    assert line.hours == pytest.approx(24_000 / 2000 / 3600)
    write_shard(tmp_path, config, "t/fast/plain/seed2")
    done = only(make_plan(config, tmp_path))
    assert (done.cells_done, done.samples_left, done.new_tokens, done.prompt_tokens) == (2, 0, 0, 0)
    assert (done.hours, done.gpu_hours) == (0, 0)


def test_what_is_done_needs_no_rate(tmp_path) -> None:
    config = configured({"strange": ["plain"]}, seeds=[1])
    write_shard(tmp_path, config, "t/strange/plain/seed1", seconds=0)
    line = only(make_plan(config, tmp_path))
    assert (line.tokens_per_second, line.hours) == (None, 0)


def test_parts_of_a_cell_count_once_however_it_was_split(tmp_path) -> None:
    config = configured({"large": ["plain"]}, seeds=[1])
    for split, samples in (("0-of-3", 134), ("1-of-3", 133), ("0-of-2", 200)):
        write_shard(tmp_path, config, "t/large/plain/seed1", split, samples=samples, tokens=samples * 10)
    line = only(make_plan(config, tmp_path))
    assert (line.cells_done, line.jobs, line.jobs_done, line.samples_done) == (0, 3, 2, 267)


def test_what_other_settings_have_made_is_to_do_again(tmp_path) -> None:
    config = configured()
    old = config.decoding["plain"].model_dump(mode="json") | {"max_new_tokens": 99}
    write_shard(tmp_path, config, "t/fast/plain/seed1", decoding=old)
    line = only(make_plan(config, tmp_path))
    assert (line.samples_done, line.new_tokens) == (0, 80_000)
    assert line.rate_from == "measured on NVIDIA A100"  # the model is the same
    other = config.models["fast"].science() | {"dtype": "float16"}
    write_shard(tmp_path, config, "t/fast/plain/seed1", model=other)
    assert only(make_plan(config, tmp_path)).rate_from == "stated"


def test_a_record_without_its_file_or_torn_is_none(tmp_path) -> None:
    config = configured()
    write_shard(tmp_path, config, "t/fast/plain/seed1").unlink()
    write_shard(tmp_path, config, "t/fast/plain/seed2").with_name("0-of-1.parquet.meta.json").write_text("{")
    assert only(make_plan(config, tmp_path)).samples_done == 0


# --- rates --------------------------------------------------------------------------------------------


def test_the_median_on_the_newest_device_is_the_rate(tmp_path) -> None:
    config = configured(seeds=[1, 2, 3, 4, 5])
    made = [(1, "cpu", 1000), (2, "2 x GPU", 10), (3, "2 x GPU", 5), (4, "2 x GPU", 1)]
    for seed, device, seconds in made:
        path = write_shard(tmp_path, config, f"t/fast/plain/seed{seed}", seconds=seconds, device=device)
        os.utime(path, (seed, seed))
    line = only(make_plan(config, tmp_path))
    assert (line.tokens_per_second, line.rate_from) == (20_000 / 5, "measured on 2 x GPU")


def test_on_a_cpu_no_gpu_hours_pass(tmp_path) -> None:
    config = configured()
    write_shard(tmp_path, config, "t/fast/plain/seed1", device="cpu")
    line = only(make_plan(config, tmp_path))
    assert line.hours
    assert line.gpu_hours == 0


def test_a_rate_of_another_strategy_is_weighed_and_of_the_same_is_taken(tmp_path) -> None:
    """Beams compute 4 x 500 tokens a second, so sampling is taken for as fast, until it is measured."""
    config = configured({"strange": ["beam", "plain"]})
    write_shard(tmp_path, config, "t/strange/beam/seed1", tokens=40_000, seconds=80)
    line = only(make_plan(config, tmp_path))
    beam, plain = 40_000 * 4 / 2000, 80_000 / 2000
    assert line.hours == pytest.approx((beam + plain) / 3600)
    write_shard(tmp_path, config, "t/strange/plain/seed1", tokens=40_000, seconds=10)
    line = only(make_plan(config, tmp_path))
    assert line.hours == pytest.approx((beam + 40_000 / 4000) / 3600)


def test_samples_of_another_task_say_how_long_they_are(tmp_path) -> None:
    config = configured()
    write_shard(tmp_path, config, "elsewhere/fast/plain/seed7", samples=10, tokens=300)
    line = only(make_plan(config, tmp_path))
    assert (line.samples_done, line.new_tokens) == (0, 800 * 30)


# --- money, embeddings, disk --------------------------------------------------------------------------


def test_dollars_need_prompts(tmp_path) -> None:
    config = configured({"served": ["plain"]})
    plan = make_plan(config, tmp_path)
    assert only(plan).paid
    assert (only(plan).dollars, only(plan).gpu_hours, only(plan).hours) == (None, 0, None)
    assert plan.totals["dollars"].unknown == 1
    prompt = {"id": "p", "base": "x" * 48, "user": "not what a base model reads", "start": None}
    files.write_table(tmp_path / "data/t/prompts.parquet", pd.DataFrame([prompt] * 400))
    line = only(make_plan(config, tmp_path))
    assert line.prompt_tokens == 800 * 12
    assert line.dollars == pytest.approx((80_000 * 8 + 9_600 * 2) / 1e6)


def test_a_block_costs_its_own_numbers_of_texts(tmp_path) -> None:
    """Also where the number of the task's prompts is not known."""
    blocks = [{"models": ["fast"], "decodings": ["plain"]},
              {"models": ["large"], "decodings": ["warm"], "n": 50, "completions": 4, "keep": 2}]  # fmt: skip
    sizes = {"completions": 20, "keep": 10, "draws": [1], "metrics": {"similarity": {}}, "cells": blocks}
    for n in (400, None):
        plan = make_plan(configured(kind="prompted", n=n, **sizes), tmp_path)
        whole, fewer = plan.lines
        assert whole.samples == (n and 2 * n * 20)
        assert (fewer.samples, fewer.new_tokens) == (2 * 50 * 4, 2 * 50 * 4 * 50)
        texts = 2 * 50 * 2 + (n or 0) * (2 * 10 + 1 + 1)  # cells, references, and these as a cell
        assert plan.embedded_texts.known == texts
    write_shard(tmp_path, configured(kind="prompted", n=400, **sizes), "t/large/warm/seed1", samples=500)
    assert make_plan(configured(kind="prompted", n=400, **sizes), tmp_path).lines[1].samples_left == 200


def test_counted_prompts_are_told(tmp_path) -> None:
    files.write_json(tmp_path / "data/t/lengths/fast/48.json", {"mean": 17.5, "total": 7000, "prompts": 400})
    assert only(make_plan(configured(), tmp_path)).prompt_tokens == 800 * 17.5


def test_sets_of_texts_are_embedded_once_each(tmp_path) -> None:
    config = configured({"fast": ["plain", "warm"]}, draws=[1, 2, 3])
    plan = make_plan(config, tmp_path)
    texts = (8 + 2 * 5) * 400  # one set is of held-out texts; two, with it and all references, of one length
    assert (plan.embeddings, plan.embeddings_done, plan.embedded_texts.known) == (10, 0, texts)
    assert plan.disk["features"].known == texts * 1024 * 4
    for folder in ("data/t/draw1", "results/t/fast/warm/seed2"):
        files.write_array(tmp_path / folder / "features/e.npy", np.zeros((400, 384), np.float32))
    plan = make_plan(config, tmp_path)
    assert (plan.embeddings_done, plan.embedded_texts.known) == (2, texts - 2 * 400)
    assert plan.disk["features"].known == (texts - 2 * 400) * 384 * 4


def test_recorded_log_likelihoods_save_a_second_pass(tmp_path) -> None:
    """70 GB of 16-bit weights are 35e9 parameters, and two operations each."""
    likelihood = {"scorer": "fast", "perplexity_of": "generator"}
    task = {
        "kind": "prompted",
        "n": 400,
        "draws": [1],
        "cells": [{"models": ["large"], "decodings": ["warm"]}],
    }
    config = configured(**task, metrics={"likelihood": likelihood})
    gigabytes = config.models["large"].gigabytes
    recorded = make_plan(config, tmp_path).recorded
    tokens = 400 * config.decoding["warm"].max_new_tokens
    seconds = 2 * gigabytes / 2 * 1e9 * tokens / (0.4 * 19.5e12) + 2 * gigabytes
    assert recorded.cells == 2  # of two seeds
    assert recorded.gpu_hours.known == pytest.approx(2 * seconds / 3600)
    scorers = configured(**task, metrics={"likelihood": likelihood | {"perplexity_of": "scorer"}})
    assert make_plan(scorers, tmp_path).recorded.cells == 0
    entry = config.experiment.tasks["t"].model_copy(update={"max_words": 50})
    cut = config._replace(experiment=config.experiment.model_copy(update={"tasks": {"t": entry}}))
    assert make_plan(cut, tmp_path).recorded.cells == 0


def test_a_judge_is_asked_about_every_text_and_every_ten(tmp_path) -> None:
    config = configured(
        {"fast": ["plain"]}, kind="biographies", examples=1, n=45, metrics={"judge": {"model": "judge"}}
    )
    (judging,) = make_plan(config, tmp_path).judgings
    assert (judging.judge, judging.cells, judging.cells_done, judging.questions) == ("judge", 2, 0, 2 * 49)
    tokens = 2 * (45 * (len(QUALITY) / 4 + 100) + 4 * (len(DIVERSITY) / 4 + 1000))
    assert judging.prompt_tokens == round(tokens)
    assert judging.dollars == pytest.approx((tokens * 2 + 98 * 30 * 8) / 1e6)
    write_shard(tmp_path, config, "t/fast/plain/seed1", samples=45, tokens=45 * 60)
    shorter = 2 * (45 + 4 * 10) * 40
    assert make_plan(config, tmp_path).judgings[0].prompt_tokens == round(tokens - shorter)
    files.write_json(tmp_path / "results/t/fast/plain/seed1/scores/judge.json", {})
    (judging,) = make_plan(config, tmp_path).judgings
    assert (judging.cells_done, judging.questions) == (1, 49)


def test_a_judge_of_completions_is_asked_about_pairs(tmp_path) -> None:
    blocks = [{"models": ["fast"], "decodings": ["plain"], "completions": 6, "keep": 5}]
    config = configured(blocks, kind="prompted", n=45, metrics={"judged_completions": {"model": "judge"}})
    (judging,) = make_plan(config, tmp_path).judgings
    assert (judging.family, judging.questions) == ("judged_completions", 2 * 45 * 10)
    assert judging.prompt_tokens is judging.dollars is None  # the prompts are not drawn yet
    prompts = pd.DataFrame({"id": ["p", "q"], "base": ["a" * 40, "b" * 120]})
    files.write_table(tmp_path / fill(paths.PROMPTS, task="t"), prompts)
    (judging,) = make_plan(config, tmp_path).judgings
    assert judging.prompt_tokens == round(900 * (len(EQUIVALENCE) / 4 + 20 + 2 * 100))
    assert judging.dollars == pytest.approx((judging.prompt_tokens * 2 + 900 * 30 * 8) / 1e6, rel=1e-4)
    first = configured(
        blocks, kind="prompted", n=45, metrics={"judged_completions": {"model": "judge", "first": 4}}
    )
    assert make_plan(first, tmp_path).judgings[0].questions == 2 * 45 * 6
    files.write_json(tmp_path / "results/t/fast/plain/seed2/scores/judged_completions.json", {})
    (judging,) = make_plan(first, tmp_path).judgings
    assert (judging.cells, judging.cells_done, judging.questions) == (2, 1, 45 * 6)


def test_a_task_that_is_not_judged_asks_nobody(tmp_path) -> None:
    assert make_plan(configured(), tmp_path).judgings == []


def test_fetched_weights_take_no_more_space(tmp_path) -> None:
    config = configured({name: ["plain"] for name in MODELS if name != "judge"})
    disk = make_plan(config, tmp_path).disk
    assert (disk["weights"].known, disk["weights"].unknown) == (142e9, 1)
    assert disk["texts"].known == 4 * 80_000 * 5
    files.write_json(tmp_path / "data/models/large.json", {})
    assert make_plan(config, tmp_path).disk["weights"].known == 2e9


# --- the papers ---------------------------------------------------------------------------------------


def paper(name: str) -> Config:
    return load_config(ROOT / f"config/papers/{name}.yaml")


def test_the_gpu_hours_of_precision_and_recall_come_out(tmp_path) -> None:
    """PR appendix B.3: 4,200 A100 hours; ours to within a factor of two, with nothing unknown."""
    plan = make_plan(paper("pr"), tmp_path)
    assert plan.totals["gpu_hours"].unknown == 0
    assert 2100 <= plan.totals["gpu_hours"].known <= 8400
    lines = {(line.task, line.model): line for line in plan.lines}
    per_run = {model: lines["creative-llama", model] for model in ("llama-2-7b-chat", "llama-2-70b-chat")}
    stated = {"llama-2-7b-chat": 5 * 2, "llama-2-70b-chat": 40 * 4}
    for model, line in per_run.items():  # 4,000 samples of 448 tokens
        assert line.gpu_hours is not None
        assert line.gpu_hours / line.cells == pytest.approx(stated[model], rel=0.1)


def test_the_multicriteria_paper_is_planned_fast_and_whole(tmp_path) -> None:
    """MC Table 1: 1,862,394 texts. Planning stays quick with a shard of every cell on disk."""
    config = paper("mc")
    template = write_shard(tmp_path, configured(), "t/fast/plain/seed1").with_name("0-of-1.parquet.meta.json")
    record = files.read_json(template)
    for i, cell in enumerate(config.generated()):
        if i % 2:
            settings = {
                "model": config.models[cell.model].science(),
                "decoding": config.decoding[cell.decoding].model_dump(mode="json"),
            }
            folder = tmp_path / fill(paths.CELL, cell) / "shards"
            folder.mkdir(parents=True)
            (folder / "0-of-1.parquet").touch()
            counts = {"samples": 1000, "new_tokens": 20_000 + i}
            content = record | counts | {"job": {"settings": settings}}
            (folder / template.name).write_text(json.dumps(content))
    start = time.monotonic()
    plan = make_plan(config, tmp_path)
    assert time.monotonic() - start < 30
    assert (plan.totals["cells"].known, plan.totals["samples"].known) == (1062, 1_862_394)
    assert plan.totals["samples_done"].known == 531_000
    assert len(plan.lines) == 18
