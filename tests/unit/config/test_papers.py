"""The papers' experiments: what their text fixes beyond names and counts."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import pandas as pd
import pytest
from helpers import EXPERIMENTS, ROOT

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.tasks import drawing
from textgamut.workflow import settings

TOPICS = ["world", "sport", "business", "sci-tech"]
NEWS = pd.DataFrame(
    {
        "id": [f"row-{i}" for i in range(400)],
        "text": [f"{i} " + "word " * 20 for i in range(400)],
        "topic": [TOPICS[i % 4] for i in range(400)],
    }
)


SHIPPED = [path for path in EXPERIMENTS if "test" not in path.relative_to(ROOT).parts]


def test_tasks_of_the_same_name_are_the_same_in_all_experiments() -> None:
    """They share a folder, so that experiments of one folder would replace each other's prompts and texts."""
    for one, other in combinations(map(load_config, SHIPPED), 2):
        tasks = one.experiment.tasks, other.experiment.tasks
        for name in tasks[0].keys() & tasks[1].keys():
            first, second = (task[name].model_dump(exclude={"cells", "metrics"}) for task in tasks)
            if "scores" not in (first["kind"], second["kind"]):  # whose files have names of their own
                assert first == second, (one.experiment.name, other.experiment.name, name)


@pytest.fixture(scope="module")
def pr() -> Config:
    return load_config(ROOT / "config/papers/pr.yaml")


def topics_of(config: Config, task: str, subset: str) -> dict[str, int]:
    """Draw a small subset with the settings of a task; topic -> number of its texts."""
    wildcards = SimpleNamespace(task=task, model=subset)
    drawn = drawing.draw_subset(NEWS, settings.draw_subset(config, wildcards) | {"n": 36}, seed=1)
    topics = NEWS.set_index("id").loc[drawn["id"], "topic"]
    return dict(topics.value_counts())


def test_figure_2_has_even_parts_of_the_topics(pr: Config) -> None:
    """The caption of PR Figure 2."""
    assert pr.experiment.tasks["ag-topics"].references == ["world", "sport"]
    assert topics_of(pr, "ag-topics", "q1-world") == {"world": 36}
    assert topics_of(pr, "ag-topics", "q2-world-sport") == {"world": 18, "sport": 18}
    assert topics_of(pr, "ag-topics", "q3-all") == dict.fromkeys(TOPICS, 9)


def test_the_candidates_of_figure_a4_grow_from_one_topic_to_four(pr: Config) -> None:
    task = pr.experiment.tasks["ag-topics-growing"]
    assert task.references == ["world", "sport"]
    for n, subset in enumerate(task.subsets, start=1):
        assert topics_of(pr, "ag-topics-growing", subset) == dict.fromkeys(TOPICS[:n], 36 // n)


def test_creative_texts_are_sampled_alike_from_all_models(pr: Config) -> None:
    cells = pr.cells("creative-llama") + pr.reference_cells("creative-mistral")
    (decoding,) = {cell.decoding for cell in cells}
    assert pr.decoding[decoding].model_dump(exclude_defaults=True) == {
        "strategy": "sampling",
        "repetition_penalty": 1.18,
        "max_new_tokens": 448,
    }


AS_RUN = {
    # 15,000 texts are enough
    "continuation": {"references_from", "max_characters", "words_end", "cells", "dataset"},
    "creative": {"references", "texts_of", "words_end", "cells"},
    "biographies": {"examples_drawn", "max_words", "truncate_prompts", "metrics", "cells"},
    "subsets": set(),
}
"""Kind of task -> the settings in which PR's runs differ from its print."""


def test_the_runs_differ_from_the_print_in_named_settings(pr: Config) -> None:
    as_run = load_config(ROOT / "config/papers/pr-as-run.yaml")
    tasks = as_run.experiment.tasks
    assert len(tasks) == len(pr.experiment.tasks)
    assert list(as_run.experiment.targets) == list(pr.experiment.targets)
    for slug, task in pr.experiment.tasks.items():
        slug_as_run = f"{slug}-as-run"
        ours, theirs = task.model_dump(), tasks[slug_as_run].model_dump()
        assert {name for name in ours if ours[name] != theirs[name]} <= AS_RUN[task.kind], slug
        assert as_run.metrics(slug_as_run).of("divergence").seeds == [1235]  # the authors' code
        if task.kind == "biographies":  # all models, since longer prompts are truncated
            slug = "biographies-1"
        cells = [cell._replace(task=slug_as_run) for cell in pr.cells(slug)]
        if task.kind != "subsets":
            cells = [cell._replace(decoding=f"{cell.decoding}-as-run") for cell in cells]
        assert as_run.cells(slug_as_run) == cells
    for cell in as_run.generated():
        decoding = as_run.decoding[cell.decoding].model_dump()
        printed = pr.decoding[cell.decoding.removesuffix("-as-run")].model_dump()
        assert decoding == printed | {"top_k": 50, "spaces": "cleaned-up"}
    webtext, creative = (tasks[f"{name}-as-run"] for name in ("webtext-4000", "creative-llama"))
    assert (webtext.max_characters, webtext.words_end, creative.words_end) == (370, "at-spaces", "at-spaces")
    assert {
        (task.examples_drawn, task.max_words, task.truncate_prompts)
        for task in tasks.values()
        if task.kind == "biographies"
    } == {("with-replacement", None, 4096)}
    assert as_run.experiment.targets["table_b5"].average == "deviations"
