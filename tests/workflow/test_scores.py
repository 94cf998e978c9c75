"""Scores that were computed elsewhere, in the workflow: a file to tables and figures, without a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import dry_run, edit, plan, run_warm

from textgamut.cli.main import main

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
    assert plan(scores) == {"all": 1, "read_scores": 2, "rank_methods": 3}
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
    assert plan(scores) == {"all": 1, "read_scores": 1, "rank_methods": 1}


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
