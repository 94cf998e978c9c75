"""Resources: what a job requests of its machine."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from helpers import ROOT

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import JUDGE
from textgamut.catalogue.support import SupportSettings
from textgamut.config.cells import Config
from textgamut.config.loading import load_config, validate_config
from textgamut.workflow import resources
from textgamut.workflow.families import family_of

CHAT = SimpleNamespace(
    task="news", model="smollm2-135m-instruct", decoding="nucleus-0.95", seed="1", shard="0", shards="1"
)


def two(_wildcards: SimpleNamespace) -> int:
    return 2


def none(_wildcards: SimpleNamespace) -> int:
    return 0


def changed(config: Config, **fields: object) -> Config:
    model = config.models[CHAT.model].model_copy(update=fields)
    return config._replace(models=config.models | {CHAT.model: model})


@pytest.mark.parametrize(
    ("form", "name", "request_of_two"),
    [("gpu", "gpu", 2), ("gres", "gres", "gpu:2"), ("gres:a100", "gres", "gpu:a100:2")],
)
def test_gpus_in_the_form_that_a_cluster_wants(form: str, name: str, request_of_two: object) -> None:
    requested = resources.gpus(two, form)
    assert set(requested) == {name, "leased"}
    assert requested[name](CHAT) == request_of_two
    assert requested["leased"](CHAT) == 2


def test_judges_have_hours_on_slurm() -> None:
    judges = {f"score_{name}" for name, family in FAMILIES.items() if JUDGE in family.reads}
    assert judges == {"score_judge", "score_judged_completions"}
    times = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())["set-resources"]
    assert {times[judge]["runtime"] for judge in judges} == {600}


def test_no_gpu_is_no_request_to_slurm() -> None:
    assert resources.gpus(none, "gres:a100")["gres"](CHAT) == ""


def test_generation_has_half_as_much_time_again_as_the_rate_says(demo: Config) -> None:
    n, tokens = demo.experiment.tasks["news"].n, demo.decoding[CHAT.decoding].max_new_tokens
    config = changed(demo, tokens_per_second=10.0, shards=2)
    assert n
    assert resources.generation_minutes(config, CHAT) == 20 + int(1.5 * n * tokens / 2 / 10 / 60)
    assert resources.generation_minutes(changed(demo, tokens_per_second=None), CHAT) == 180


def test_memory_grows_with_the_weights_and_the_attempt(demo: Config) -> None:
    config = changed(demo, gigabytes=10.0)
    assert resources.generation_memory(config, CHAT, 1) == 15_000
    assert resources.generation_memory(config, CHAT, 2) == 30_000
    assert resources.generation_memory(changed(demo, gigabytes=None), CHAT, 1) == 3000


def test_an_amateur_needs_memory_beside_the_model() -> None:
    config = load_config(ROOT / "config/papers/mc-extended.yaml")
    cell = SimpleNamespace(task="books", model="gpt2-xl", decoding="contrastive-decoding-gpt2")
    assert resources.generation_memory(config, cell, 1) == 3000 + int(1200 * (6.4 + 0.5))


@pytest.mark.parametrize(
    ("gigabytes", "cores", "threads"),
    [(0.5, 2, 1), (0.5, 1, 1), (0.5, 8, 4), (0.5, 64, 8), (0.5, None, 8), (13.0, 2, 8), (None, 2, 8)],
)
def test_jobs_with_a_small_model_take_half_of_the_cores(
    demo: Config, gigabytes: float | None, cores: int | None, threads: int
) -> None:
    config = changed(demo, gigabytes=gigabytes)
    assert resources.generation_threads(config, CHAT, lambda: cores) == threads


def test_likelihood_has_the_threads_of_its_scorer(demo: Config) -> None:
    cell = SimpleNamespace(task="decoding", model=CHAT.model, decoding="greedy-64")
    family = FAMILIES["likelihood"]
    assert resources.family_threads(demo, family, lambda: 2)(cell) == 1
    assert resources.family_threads(demo, family, lambda: None)(cell) == 8


def test_likelihood_has_the_memory_and_the_batches_of_its_scorer(demo: Config) -> None:
    cell = SimpleNamespace(task="decoding", model=CHAT.model, decoding="greedy-64")
    scorer = demo.models[family_of(demo, "decoding", "likelihood").scorer]
    found = resources.family_resources(demo, FAMILIES["likelihood"], resources.gpus)
    assert found["gpu"](cell) == found["leased"](cell) == scorer.gpus
    assert found["batch_size"](cell) == scorer.batch_size
    assert found["mem_mb"](cell, 1) >= 3000 + 1200 * (scorer.gigabytes or 0)


def test_families_that_load_nothing_request_nothing(demo: Config) -> None:
    for family in ("support", "ngram", "compression"):
        assert resources.family_resources(demo, FAMILIES[family], resources.gpus) == {}
        assert resources.family_threads(demo, FAMILIES[family], lambda: 2) == 1


def test_parts_of_the_support_metrics_have_the_memory_of_their_texts(demo: Config) -> None:
    metrics = demo.experiment.metrics.model_copy(update={"support": SupportSettings(blocks=4)})
    million = demo.experiment.tasks["news"].model_copy(update={"n": 1_000_000})
    tasks = demo.experiment.tasks | {"news": million}
    experiment = demo.experiment.model_copy(update={"metrics": metrics, "tasks": tasks})
    config = demo._replace(experiment=experiment)
    found = resources.family_resources(config, FAMILIES["support"], resources.gpus)
    assert found["mem_mb"](CHAT, 1) == resources.part_memory(config, CHAT, 1) == 22_000
    small = SimpleNamespace(task="topics", model="one-topic", decoding="human")  # with metrics of its own
    assert found["mem_mb"](small, 2) == 4000


def test_a_cells_embedding_goes_with_its_texts_and_a_draws_alone() -> None:
    cell = SimpleNamespace(folder="results/news/chat/greedy/seed1")
    draw = SimpleNamespace(folder="data/news/draw1")
    assert resources.embedding_group(cell) == "embed/news/chat"
    assert resources.embedding_group(draw) is None


def test_texts_of_people_are_embedded_before_the_generation() -> None:
    folders = {
        "data/news/draw1": 30,
        "results/topics/one-topic/human/seed1": 30,
        "results/news/human/human/seed0": 30,
        "results/news/chat/greedy/seed1": 0,
    }
    named = {folder: resources.embedding_priority(SimpleNamespace(folder=folder)) for folder in folders}
    assert named == folders


def test_many_texts_are_tagged_by_several_processes(demo: Config) -> None:
    assert resources.tagging_processes(demo, CHAT) == 1
    large = demo.experiment.tasks["news"].model_copy(update={"n": 4000})
    experiment = demo.experiment.model_copy(update={"tasks": {"news": large}})
    assert resources.tagging_processes(demo._replace(experiment=experiment), CHAT) == 8


def test_a_block_requests_what_its_own_numbers_of_texts_need(demo: Config) -> None:
    block = {"models": [CHAT.model], "decodings": [CHAT.decoding]}
    task = {"kind": "prompted", "dataset": "wikinews", "n": 2000, "seeds": [1], "completions": 4}
    found = []
    for own in ({}, {"n": 500, "completions": 3, "keep": 1}):
        experiment = {"name": "x", "embedder": "minilm", "metrics": {"ngram": {}},
                      "tasks": {"news": task | {"cells": [block | own]}}}  # fmt: skip
        config = changed(
            validate_config(experiment, "x.yaml", ROOT / "config"), tokens_per_second=10.0, shards=1
        )
        tokens = config.decoding[CHAT.decoding].max_new_tokens
        minutes = resources.generation_minutes(config, CHAT) - 20
        found.append((minutes, resources.tagging_processes(config, CHAT)))
    samples = (8000, 1500)
    assert found == [(int(1.5 * n * tokens / 600), least) for n, least in zip(samples, (8, 2), strict=True)]
