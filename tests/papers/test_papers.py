"""The papers' experiments, scaled down: every table and figure is made, from real texts of small models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pandas as pd
import pytest
from helpers import ROOT, copy_project, dry_run, edit, jobs, run_warm
from servers import JudgeServer

from textgamut import files
from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.workflow.targets import target_outputs

pytestmark = pytest.mark.slow

PAPERS = ("pr", "nw", "mc")


def ratings(question: str) -> str:
    """Ratings that depend on the text: no small model answers in the form that is asked for."""
    number = sum(map(ord, question))
    found = {"score_coherence": 1 + number % 5, "score_insightful": 1 + number // 5 % 5}
    return json.dumps(found | {"score_likely": 1 + number // 7 % 5, "similarity_score": number % 2})


# Two jobs with a thread each are faster than one with two, for models as small as these.
ONE_THREAD = [f"{rule}=1" for rule in ("generate_texts", "embed_texts", "score_likelihood")]


@pytest.fixture(scope="module")
def judge() -> Iterator[str]:
    server = JudgeServer()
    server.said = ratings
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.url
    server.shutdown()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, judge: str) -> Path:
    """A folder with every table and figure of the three papers."""
    folder = copy_project(tmp_path_factory.mktemp("papers"))
    edit(folder / "config/test/models.yaml", "judge", "source", "url", value=judge)
    for paper in PAPERS:
        configured = ("--configfile", f"config/test/papers/{paper}.yaml")
        done = run_warm(folder, "--cores", "2", *configured, "--set-threads", *ONE_THREAD)
        assert done.returncode == 0, done.stdout
    return folder


def experiment(paper: str) -> Config:
    return load_config(ROOT / f"config/test/papers/{paper}.yaml")


def numbers(folder: Path, paper: str, target: str) -> pd.DataFrame:
    """Return our values: a row for each row, a column for each column."""
    table = files.read_csv(folder / f"results/papers/{experiment(paper).experiment.name}/{target}.csv")
    assert not table.duplicated(["line", "column"]).any()
    return table.pivot_table("ours", ["line", "row"], "column", aggfunc="first", sort=False).droplevel("line")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_is_made(made: Path, paper: str) -> None:
    config = experiment(paper)
    assert set(config.experiment.targets) == set(
        load_config(ROOT / f"config/papers/{paper}.yaml").experiment.targets
    )
    for name in config.experiment.targets:
        for suffix, path in target_outputs(config, name).items():
            content = (made / path).read_bytes()
            assert len(content) > 100, path
            assert content.startswith({"png": b"\x89PNG", "svg": b"<?xml"}.get(suffix, content[:1])), path
        table = pd.read_csv(made / target_outputs(config, name)["csv"])
        assert table["ours"].notna().any(), name
    page = (made / f"results/papers/{config.experiment.name}/index.html").read_text()
    assert all(f'id="{name}"' in page for name in config.experiment.targets)
    again = dry_run(made, "--configfile", f"config/test/papers/{paper}.yaml")
    assert jobs(again.stdout) == {}, again.stdout


def test_the_report_of_a_paper_has_its_pages(made: Path) -> None:
    done = run_warm(made, "--report", "report.html", "--configfile", "config/test/papers/pr.yaml")
    assert done.returncode == 0, done.stdout
    assert (made / "report.html").stat().st_size > 1_000_000


@pytest.mark.parametrize("target", ["table_1a", "table_1b", "figure_1", "figure_6", "figure_8", "figure_b1"])
def test_precision_and_recall_are_shares(made: Path, target: str) -> None:
    values = numbers(made, "pr", target).astype(float)
    assert values.dropna(how="all").stack().between(0, 1).all()


def test_figure_2_tells_quality_from_diversity(made: Path) -> None:
    values = numbers(made, "pr", "figure_2").astype(float)
    one, both, four = (values.loc[label] for label in values.index)
    assert one["Recall"] < both["Recall"]
    assert four["Precision"] < both["Precision"] - 0.1
    assert both["Precision"] > 0.8


def test_correlations_are_within_their_range(made: Path) -> None:
    for target in ("figure_7a", "figure_7b", "figure_a5", "table_b1"):
        values = numbers(made, "pr", target).astype(float)
        assert values.stack().between(-1 - 1e-9, 1 + 1e-9).all()
    values = numbers(made, "pr", "figure_a5").astype(float)
    diagonal = pd.Series([values.loc[name, name] for name in values.index]).dropna()
    assert diagonal.between(1 - 1e-9, 1 + 1e-9).all()


def test_f_scores_fall_in_quality_as_topics_are_added(made: Path) -> None:
    values: Any = numbers(made, "pr", "figure_a4").astype(float)
    quality = values["F_1/8, precision-recall curve"]
    assert quality.loc["+ health"] < quality.loc["+ sport"]


def test_tokens_per_word_are_at_least_one(made: Path) -> None:
    assert (numbers(made, "pr", "table_b2").astype(float) > 1).all(axis=None)


def test_human_texts_are_their_own_references(made: Path) -> None:
    values: Any = numbers(made, "nw", "table_3").astype(float)
    human = values.loc["Wikipedia"]
    assert human["S-BERT"] == pytest.approx(1)
    assert human["Entity Overlap"] == 1
    assert (values["S-BERT"].drop("Wikipedia").dropna() < 0.99).all()


def test_figures_of_parameters_are_rows_of_the_appendix(made: Path) -> None:
    appendix = {float(value) for value in numbers(made, "nw", "table_appendix")["Flesch"].dropna()}
    for place in (1, 2, 3):
        values = numbers(made, "nw", f"figure_{place}").astype(float)["Flesch"]
        assert len(values.unique()) == 2
        assert set(values) <= appendix


def test_correlations_of_texts_are_symmetric(made: Path) -> None:
    values = numbers(made, "nw", "figure_4").astype(float).dropna(how="all").dropna(how="all", axis=1)
    assert len(values) >= 5
    assert values.stack().between(-1 - 1e-9, 1 + 1e-9).all()
    assert (values - values[values.index].T).abs().max(axis=None) < 1e-9
    assert values.loc["FK-Score", "Gunning Fog"] < 0  # easier texts take fewer years of schooling


def test_samples_follow_the_prompt(made: Path) -> None:
    shown = pd.read_csv(made / "results/papers/nw-small/table_8.csv")
    assert list(shown["row"]) == ["Prompt", "GPT-2", "GPT-2"]
    assert shown["ours"].nunique() == 3
    biographies = pd.read_csv(made / "results/papers/pr-small/table_d1.csv")
    assert len(biographies) == 4
