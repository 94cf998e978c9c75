"""Scores that were computed elsewhere, in the workflow: a file to tables and figures, without a model."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers import dry_run, edit, jobs, plan, run_warm

from textgamut.cli.main import main
from textgamut.config.loading import load_config
from textgamut.report.papers.mc_labels import methods_by_label
from textgamut.workflow import settings

pytestmark = pytest.mark.slow

TASK = {
    "kind": "scores",
    "source": {"kind": "file", "path": "scores.parquet"},
    "columns": {"coherence": "Coherence", "strategy": "kind"},
    "ranking": {"higher": ["coherence", "diversity"], "lower": ["perplexity"]},
}


@pytest.fixture
def scores(project: Path) -> Path:
    """A project with a file of scores of three models with two decodings on two corpora."""
    rng = np.random.default_rng(0)
    rows = [
        {"prompt_id": p, "model": f"m{m}", "decoding": d, "kind": d.split("-")[0], "corpus": corpus}
        for p in range(12)
        for m in range(3)
        for d in ("beam-3", "sample-0.7")
        for corpus in ("wiki", "book")
    ]
    values = {
        "Coherence": rng.normal(-3, 1, len(rows)),
        "diversity": rng.random(len(rows)),
        "perplexity": rng.gamma(9, 2, len(rows)),
    }
    pd.DataFrame(rows).assign(**values).to_parquet(project / "scores.parquet")
    experiment = {"name": "mine", "tasks": {name: TASK | {"corpus": name} for name in ("wiki", "book")}}
    (project / "config/demo.yaml").write_text(json.dumps(experiment))  # as YAML without aliases
    return project


def test_a_file_of_scores_is_ranked_as_by_the_command(
    scores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    assert plan(scores) == {"make_page": 1, "all": 1, "read_scores": 2, "rank_methods": 3}
    done = run_warm(scores, "--cores", "2")
    assert done.returncode == 0, done.stdout
    monkeypatch.chdir(scores)
    options = ["--higher", "coherence=Coherence", "diversity", "--lower", "perplexity", "--json"]
    options += ["--prompt", "prompt_id", "--method", "model", "decoding", "--by", "model", "kind", "decoding"]
    for corpus in ("wiki", "book"):
        assert main(["rank", "scores.parquet", *options, "--where", f"corpus={corpus}"]) == 0
        found = json.loads(capsys.readouterr().out)
        folder = scores / f"results/papers/mine/{corpus}/ranking"
        ranking = pd.read_csv(folder / "ranking.csv")
        pd.testing.assert_frame_equal(ranking, pd.DataFrame(found["ranking"]), check_exact=False, rtol=1e-12)
        winners = pd.DataFrame(found["winners"]).replace({"of": {"kind": "strategy"}})
        pd.testing.assert_frame_equal(pd.read_csv(folder / "winners.csv"), winners, check_exact=False)
    pairs = pd.read_csv(scores / "results/papers/mine/all/ranking/pairs.csv")
    assert (pairs["prompts"][0], pairs["pairs"][0]) == (24, 30)

    edit(scores / "config/demo.yaml", "tasks", "book", "ranking", "lower", value=[])
    assert plan(scores) == {"make_page": 1, "all": 1, "read_scores": 1, "rank_methods": 1}


def test_the_scores_of_another_experiment_are_read_and_kept(scores: Path) -> None:
    path = scores / "results/papers/other/news/texts.parquet"
    path.parent.mkdir(parents=True)
    (scores / "scores.parquet").rename(path)
    for task in ("wiki", "book"):
        source = {"kind": "file", "path": str(path.relative_to(scores))}
        edit(scores / "config/demo.yaml", "tasks", task, "source", value=source)
    content = path.read_bytes()
    assert plan(scores) == {"make_page": 1, "all": 1, "read_scores": 2, "rank_methods": 3}
    done = run_warm(scores, "--cores", "2")
    assert done.returncode == 0, done.stdout
    assert path.read_bytes() == content


def test_a_damaged_file_is_named_before_anything_is_ranked(scores: Path) -> None:
    table = pd.read_parquet(scores / "scores.parquet")
    table.assign(diversity=table["diversity"].astype(str).where(table.index != 30, "good")).to_csv(
        scores / "scores.csv", index=False
    )
    for task in ("wiki", "book"):
        edit(scores / "config/demo.yaml", "tasks", task, "source", "path", value="scores.csv")
    done = run_warm(scores, "--cores", "2")
    assert done.returncode != 0
    assert "scores.csv: line 32: 'diversity' is not a number: 'good'" in done.stdout
    assert "Traceback" not in done.stdout
    assert not list(scores.glob("results/papers/mine/wiki/ranking/*.csv"))
    (scores / "scores.csv").unlink()
    assert "tasks.wiki.source.path: there is no file scores.csv" in dry_run(scores).stdout


def test_the_tables_of_mc_come_from_a_file_of_the_form_of_that_of_its_authors(project: Path) -> None:
    """All methods on a few prompts, with names of columns and methods as in the authors' scripts."""
    path = project / "config/papers/mc-released.yaml"
    config, rng, frames = load_config(path), np.random.default_rng(0), []
    for task, entry in config.experiment.tasks.items():
        asked = settings.read_scores(config, SimpleNamespace(task=task))
        methods = methods_by_label(asked["methods"], asked["labels"], asked["decodings"], "table_5")
        labels = [config.experiment.labels[model] for model, _ in methods.values()]
        frame = pd.DataFrame({"Model": labels, "Method": list(methods)})
        frame["Method"] = [
            m.removeprefix(f"{label} ") for m, label in zip(frame["Method"], labels, strict=True)
        ]
        quality = rng.normal(0, 1, (len(frame), 1))
        for prompt in range(3):
            coherence, diversity, surprise = (quality + rng.normal(0, 2, (len(frame), 3))).T
            frames.append(
                frame.assign(
                    id=prompt,
                    Dataset=entry.corpus,
                    Generation="a text\n",
                    **{
                        "Generation coherence": coherence - 4,
                        "Generation diversity": 1 / (1 + np.exp(-diversity)),
                        "Generation perplexity": np.exp(3 - surprise),
                    },
                )
            )
        edit(path, "tasks", task, "n", value=3)
        edit(path, "tasks", task, "source", value={"kind": "file", "path": "released.csv"})
    pd.concat(frames).to_csv(project / "released.csv", index=False)
    done = run_warm(project, "--cores", "2", "--configfile", str(path))
    assert done.returncode == 0, done.stdout
    folder = project / "results/papers/mc-released"
    found = {name: pd.read_csv(folder / f"{name}.csv") for name in config.experiment.targets}
    assert len(found) == 20
    ranking = pd.read_csv(folder / "wikitext/ranking/ranking.csv")
    worths = found["table_8"].query("column == 'Estimated worth parameter'")["ours"]
    np.testing.assert_allclose(np.sort(worths), np.sort(ranking["worth"]), rtol=1e-12)
    counts = found["table_12"].query("column == 'Count'").set_index("row")["ours"]
    assert counts.sum() == 9
    winners = pd.read_csv(folder / "all/ranking/winners.csv").query("of == 'method' and which == 'most'")
    named = winners["label"].str.rpartition(",")[0].map({"Mistral 7B v0.3": "Mistral 3"}).dropna()
    assert counts["Mistral 3"] == winners.loc[named.index, "count"].sum() > 0

    edit(path, "targets", "table_11", "merge", value="by-position")
    chosen = ["--configfile", str(path), "--", "table_11"]
    assert jobs(dry_run(project, *chosen).stdout) == {"table_11": 1, "total": 1}
    done = run_warm(project, "--cores", "2", *chosen)
    assert done.returncode == 0, done.stdout
    ranks = pd.read_csv(folder / "table_11.csv").pivot(index="row", columns="column", values="ours")
    by_name = found["table_11"].query("column == 'Rank'").set_index("row")["ours"]
    assert (ranks["Rank, counts added by name"] == by_name[ranks.index]).all()
    assert (ranks["Rank"] != by_name[ranks.index]).mean() > 0.9
