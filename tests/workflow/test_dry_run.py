"""The graph: every experiment plans, the workflow lints, bad configuration stops at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import EXPERIMENTS, ROOT, edit, jobs, run_snakemake

from textgamut.config import Config


@pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
def test_every_experiment_plans(path: Path, project: Path) -> None:
    done = run_snakemake(project, "-n", "--configfile", str(path.relative_to(ROOT)))
    assert done.returncode == 0, done.stdout
    assert jobs(done.stdout)["generate_texts"] >= 1


def test_the_demo_is_the_default(project: Path) -> None:
    planned = jobs(run_snakemake(project, "-n").stdout)
    assert planned == {
        "extract_dataset": 1, "describe_dataset": 1, "fetch_model": 2, "fetch_embedder": 1, "draw_prompts": 1,
        "draw_references": 4,
        "draw_subset": 6, "generate_texts": 4, "collect_generations": 4, "embed_texts": 14,
        "score_support": 10, "score_divergence": 10, "score_ngram": 10, "sweep_support": 4,
        "explain_support": 5, "collect_scores": 1, "plot_precision_recall": 2, "plot_sweep": 1,
        "tabulate_scores": 2, "tabulate_variance": 2, "all": 1, "total": 86,
    }  # fmt: skip


def test_every_dataset_plans(project: Path, demo: Config) -> None:
    targets = [f"data/{slug}/references.parquet" for slug in demo.datasets]
    assert jobs(run_snakemake(project, "-n", *targets).stdout) == {
        "extract_dataset": len(targets),
        "total": len(targets),
    }


@pytest.mark.slow
def test_another_contact_extracts_nothing_anew_and_another_filter_does(project: Path) -> None:
    run = ("data/biographies-sample/references.parquet", "--cores", "1")
    assert run_snakemake(project, *run).returncode == 0
    edit(project / "config/demo.yaml", "contact", value="me@example.org")
    edit(project / "config/demo.yaml", "requests_per_second", value=1)
    edit(project / "config/datasets.yaml", "biographies-sample", "licence", value="CC BY-SA")
    assert jobs(run_snakemake(project, "-n", *run).stdout) == {}
    edit(project / "config/datasets.yaml", "biographies-sample", "max_words", value=500)
    assert jobs(run_snakemake(project, "-n", *run).stdout)["extract_dataset"] == 1


def test_a_configfile_stands_alone(project: Path) -> None:
    """Nothing of the demo is merged into another experiment."""
    (project / "mine.yaml").write_text(
        "name: mine\nembedder: minilm\ntasks: {topics: {kind: subsets, dataset: news-articles, n: 8, "
        "seeds: [1], draws: [1], max_words: 20, group: topic, references: [sport], subsets: {a: [sport]}}}"
    )
    planned = jobs(run_snakemake(project, "-n", "--configfile", "mine.yaml").stdout)
    assert "generate_texts" not in planned
    assert planned["score_support"] == 1


def test_lint(project: Path) -> None:
    done = run_snakemake(project, "--lint")
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
    done = run_snakemake(project, "--cores", "1")
    assert done.returncode != 0
    assert message in done.stdout
    assert "config/demo.yaml" in done.stdout
    assert not (project / "data").exists()
