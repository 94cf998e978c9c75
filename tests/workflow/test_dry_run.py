"""The graph: every experiment plans, the workflow lints, bad configuration stops at once."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from helpers import EXPERIMENTS, ROOT, copy_project, dry_run, edit, jobs, run_warm, shipped

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.workflow.weights import weights_of

DryRun = Callable[[str], subprocess.CompletedProcess[str]]
EXPECTED = {
    "papers/pr.yaml": {
        "generate_texts": 170,
        "embed_texts": 843,
        "score_support": 630,
        "score_divergence": 155,
        "trace_divergence": 35,
        "sweep_support": 5,
        "count_tokens": 4,
    },
    "papers/nw.yaml": {
        "generate_texts": 57,  # 24 settings of GPT-2 for each of two tasks, and 9 of other models
        "draw_training_texts": 2,
        "finetune_model": 2,
        "score_entities": 58,
        "score_readability": 58,
        "copy_references": 1,
    },
    "papers/mc-released.yaml": {"read_scores": 3, "rank_methods": 4, "table_8": 1, "total": 28},
    "papers/mc.yaml": {
        "generate_texts": 1062,
        "score_likelihood": 1065,
        "score_perplexity": 1062,
        "copy_references": 3,
        "rank_methods": 4,
    },
    "papers/mc-extended.yaml": {"generate_texts": 1179, "fetch_model": 10, "rank_methods": 2},
}


@pytest.fixture(scope="module")
def dry_run_of(tmp_path_factory: pytest.TempPathFactory) -> DryRun:
    """A function that makes the dry run of an experiment, once for all tests."""
    folder = copy_project(tmp_path_factory.mktemp("plan"))
    return functools.cache(lambda path: dry_run(folder, "--configfile", path))


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_plans(path: Path, dry_run_of: DryRun) -> None:
    done = dry_run_of(str(path.relative_to(ROOT)))
    assert done.returncode == 0, done.stdout
    planned = jobs(done.stdout)
    assert ("generate_texts" in planned) == (path.stem != "mc-released")
    expected = EXPECTED.get(str(path.relative_to(ROOT / "config")), {})
    assert {name: planned.get(name) for name in expected} == expected
    assert ("no essay score: there is no file training_set_rel3.tsv" in done.stdout) == (path.stem == "nw")


def test_mc_loads_each_model_once(dry_run_of: DryRun) -> None:
    """Before, a cell took three: the generator, the scorer, and the generator again for its perplexity."""
    planned = jobs(dry_run_of("config/papers/mc.yaml").stdout)
    config = load_config(ROOT / "config/papers/mc.yaml")
    written = config.generated()
    human = [cell for task in config.experiment.tasks for cell in config.human_cells(task)]
    cells = {"generate_texts": written, "score_likelihood": written + human, "score_perplexity": written}
    assert {rule: planned[rule] for rule in cells} == {rule: len(found) for rule, found in cells.items()}
    loads = {
        rule: {name for cell in found if (name := weights_of(config, rule, cell))}
        for rule, found in cells.items()
    }
    assert loads == {
        "generate_texts": {cell.model for cell in written},
        "score_likelihood": {"opt-2.7b, float32"},
        "score_perplexity": set(),
    }
    assert len(loads["generate_texts"]) == 6


def test_the_demo_is_the_default(project: Path) -> None:
    planned = jobs(dry_run(project).stdout)
    assert planned == {
        "extract_dataset": 2, "describe_dataset": 2, "fetch_model": 3, "fetch_embedder": 1, "fetch_tagger": 1,
        "draw_prompts": 3, "draw_references": 6, "draw_held_out": 1, "draw_subset": 3,
        "copy_references": 2, "check_prompts": 5,
        "generate_texts": 12, "collect_generations": 12, "embed_texts": 18,
        "score_support": 8, "score_divergence": 5, "score_ngram": 15, "sweep_support": 4,
        "score_vendi": 5, "score_distance": 5, "score_compression": 4, "score_length": 5,
        "explain_support": 7, "project_features": 2, "score_likelihood": 7, "score_perplexity": 6,
        "score_readability": 3, "score_entities": 3, "score_similarity": 3,
        "collect_scores": 4, "collect_texts": 3,
        "plot_precision_recall": 2, "plot_sweep": 1, "plot_texts": 1, "plot_correlations": 1,
        "tabulate_scores": 4, "tabulate_variance": 2, "tabulate_texts": 1, "rank_methods": 1,
        "compare_methods": 22, "tabulate_differences": 4, "cut_texts": 2, "tabulate_cut_differences": 1,
        "plot_differences": 4, "make_page": 1, "all": 1,
        "total": 208,
    }  # fmt: skip


def test_several_embedders_test_the_same_differences(project: Path) -> None:
    demo = (project / "config/demo.yaml").read_text()
    several = demo.replace("embedder: minilm", "embedders: [minilm, gemma-3-270m]")
    (project / "several.yaml").write_text(several)
    planned = jobs(dry_run(project, "--configfile", "several.yaml").stdout)
    # Three pairs of news and three of topics; seven and five sets of texts. Those of one length are embedded
    # once. The other tasks have no features.
    assert (planned["compare_methods"], planned["embed_texts"]) == (22 + 6, 18 + 12)
    assert planned["tabulate_embedders"] == 2


def test_essays_that_are_there_train_a_model(project: Path) -> None:
    (project / "training_set_rel3.tsv").write_text("essay_set\tessay\tdomain1_score\n")
    planned = jobs(dry_run(project, "--configfile", "config/papers/nw.yaml").stdout)
    assert (planned["train_essay_model"], planned["score_essay"]) == (1, 58)


def test_every_dataset_plans(project: Path, demo: Config) -> None:
    targets = [f"data/{slug}/texts.parquet" for slug in demo.datasets]
    assert jobs(dry_run(project, *targets).stdout) == {
        "extract_dataset": len(targets),
        "total": len(targets),
    }


@pytest.mark.slow
def test_another_contact_extracts_nothing_anew_and_another_filter_does(project: Path) -> None:
    run = ("data/biographies-sample/texts.parquet", "--cores", "1")
    assert run_warm(project, *run).returncode == 0
    edit(project / "config/demo.yaml", "contact", value="me@example.org")
    edit(project / "config/demo.yaml", "requests_per_second", value=1)
    sample = shipped("datasets")["biographies-sample"] | {"licence": "CC BY-SA"}
    edit(project / "config/datasets.yaml", "biographies-sample", value=sample)
    assert jobs(dry_run(project, *run).stdout) == {}
    edit(project / "config/datasets.yaml", "biographies-sample", "max_words", value=500)
    assert jobs(dry_run(project, *run).stdout)["extract_dataset"] == 1


def test_a_configfile_stands_alone(project: Path) -> None:
    """Nothing of the demo is merged into another experiment."""
    (project / "mine.yaml").write_text(
        "name: mine\nembedder: minilm\ntasks: {topics: {kind: subsets, dataset: news-articles, n: 8, "
        "seeds: [1], draws: [1], max_words: 20, group: topic, references: [sport], subsets: {a: [sport]}}}"
    )
    planned = jobs(dry_run(project, "--configfile", "mine.yaml").stdout)
    assert "generate_texts" not in planned
    assert planned["score_support"] == 1


def write_experiment(project: Path, **tasks: dict) -> None:
    experiment = {
        "name": "mine",
        "embedder": "minilm",
        "metrics": {"ngram": {}, "support": {}},
        "tasks": tasks,
    }
    (project / "config/demo.yaml").write_text(yaml.safe_dump(experiment))


CREATIVE = {
    "kind": "creative", "dataset": "creative", "n": 8, "seeds": [1, 2], "draws": [1, 3], "max_words": 500,
    "references": {"model": "gemma-3-270m", "decoding": "nucleus-0.95"},
    "cells": [{"models": ["smollm2-135m-instruct"], "decodings": ["nucleus-0.9"]}],
}  # fmt: skip


def test_the_texts_of_a_creative_task_are_generated_once(project: Path) -> None:
    """Two cells, two of references; the second task adds references by one model of which there are two."""
    other = {"model": "smollm2-135m-instruct", "decoding": "nucleus-0.9"}
    write_experiment(project, llama=CREATIVE, mistral=CREATIVE | {"references": other, "texts_of": "llama"})
    planned = jobs(dry_run(project).stdout)
    assert planned["generate_texts"] == 2 + 2 + 1  # the last: seed 3 of the second references
    assert planned["draw_references"] == 2 + 2
    assert planned["draw_prompts"] == 2  # a table for each task, with the same prompts
    assert planned["check_prompts"] == 2
    assert planned["collect_generations"] == 2 + 2 + 2 + 1


def test_served_models_have_no_tokens_to_count(project: Path) -> None:
    task = {"kind": "prompted", "dataset": "wikinews", "n": 8, "seeds": [1], "completions": 3, "keep": 1,
            "cells": [{"models": ["davinci-002"], "decodings": ["temperature-0.9-512"]}]}  # fmt: skip
    write_experiment(project, prompted=task)
    planned = jobs(dry_run(project).stdout)
    assert "check_prompts" not in planned
    assert planned["generate_texts"] == 1


PR = ("--configfile", "config/test/papers/pr.yaml")
NW = ("--configfile", "config/papers/nw.yaml")


def test_a_target_plans_the_cells_that_it_needs(project: Path) -> None:
    """PR Table 1: two models with two seeds, each against two references."""
    planned = jobs(dry_run(project, "table_1", *PR).stdout)
    assert {rule: planned.get(rule, 0) for rule in ("generate_texts", "embed_texts", "score_support")} == {
        "generate_texts": 4, "embed_texts": 10, "score_support": 8,
    }  # fmt: skip
    assert {rule for rule in planned if rule.startswith(("score_", "table_", "figure_"))} == {
        "score_support", "table_1", "table_1a", "table_1b",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("table_b2", {"count_tokens": 1, "fetch_model": 1, "extract_dataset": 1}),
        ("figure_a3", {"trace_divergence": 6, "draw_subset": 6, "embed_texts": 7}),
        ("figure_6", {"generate_texts": 2, "sweep_support": 2}),
        ("table_b1", {"score_support": 2 * 4, "embed_texts": 2 * (4 + 2)}),
        ("figure_b2", {"score_divergence": 4}),
    ],
)
def test_targets_need_no_other_scores(project: Path, target: str, expected: dict[str, int]) -> None:
    planned = jobs(dry_run(project, target, *PR).stdout)
    assert {rule: planned[rule] for rule in expected} == expected
    scored = {rule for rule in planned if rule.startswith(("score_", "trace_", "sweep_", "count_"))}
    assert scored <= set(expected)


def test_a_ranking_plans_all_methods_of_its_task(project: Path) -> None:
    """MC Table 8: six methods, and the human texts, whose Q*Text other tables show."""
    planned = jobs(dry_run(project, "table_8", "--configfile", "config/test/papers/mc.yaml").stdout)
    named = (
        "generate_texts",
        "score_likelihood",
        "score_perplexity",
        "score_ngram",
        "rank_methods",
        "table_8",
        "extract_dataset",
    )
    assert {rule: planned[rule] for rule in named} == dict(zip(named, (6, 7, 6, 7, 1, 1, 1), strict=True))
    assert "score_support" not in planned


def test_a_target_that_cannot_be_made_is_told_at_once(project: Path) -> None:
    for target in ("table_21", "results/papers/mc/figure_5.csv"):
        done = dry_run(project, target, "--configfile", "config/papers/mc.yaml")
        assert done.returncode != 0
        assert f"{target}: no human ratings: set ratings" in done.stdout


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("table_3", {"generate_texts": 8, "score_ngram": 9, "score_readability": 9, "score_similarity": 9}),
        ("figure_2", {"generate_texts": 4, "score_ngram": 4}),
        ("table_5", {"generate_texts": 1, "score_ngram": 0, "draw_references": 0}),
        ("table_1", {"extract_dataset": 1, "total": 2}),
    ],
)
def test_a_target_of_texts_plans_the_cells_that_it_needs(
    project: Path, target: str, expected: dict[str, int]
) -> None:
    """NW Table 3 has one setting of each model; its references are scored, too."""
    planned = jobs(dry_run(project, target, *NW).stdout)
    assert {rule: planned.get(rule, 0) for rule in expected} == expected


def test_the_contact_of_the_papers_is_nobody(project: Path) -> None:
    edit(project / "config/papers/pr.yaml", "contact", value="you@example.org")
    paper = ("--configfile", "config/papers/pr.yaml")
    for done in (dry_run(project, "table_d1", *paper), run_warm(project, "table_d1", "--cores", "1", *paper)):
        assert done.returncode != 0
        assert "contact: you@example.org is a placeholder: replace it in the experiment" in done.stdout
        assert "require for the dataset 'biographies'" in done.stdout
    assert not (project / "data").exists()
    assert dry_run(project, "table_1", *paper).returncode == 0  # nothing of Wikipedia


@pytest.mark.slow
def test_another_decoding_setting_generates_only_its_own(edited: Path) -> None:
    """Its longer answers are checked against the context, which concerns no text that is there."""
    long = {"strategy": "sampling", "max_new_tokens": 9}
    edit(edited / "config/decoding.yaml", "longer", value=long)
    edit(edited / "config/demo.yaml", "tasks", "news", "cells", 0, "decodings", value=["short", "longer"])
    planned = jobs(dry_run(edited).stdout)
    assert planned["check_prompts"] == planned["generate_texts"] == planned["collect_generations"] == 2


def test_lint(project: Path) -> None:
    done = run_warm(project, "--lint")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "kind: continuation",
            "kind: continuation\n    tempratures: 1",
            "tasks.news.tempratures: unknown key",
        ),
        ("gemma-3-270m", "gemma3-270m", "unknown model 'gemma3-270m'; nearest valid: 'gemma-3-270m'"),
        ("n: 64", "n: 4", "tasks.topics: k = 4 needs more than 4 texts"),
        ("name: demo", "name: [", "demo.yaml"),
    ],
)
def test_bad_configuration_stops_before_any_job(project: Path, old: str, new: str, message: str) -> None:
    path = project / "config/demo.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    done = run_warm(project, "--cores", "1")
    assert done.returncode != 0
    assert message in done.stdout
    assert "config/demo.yaml" in done.stdout
    assert not (project / "data").exists()
