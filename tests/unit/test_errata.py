"""The figures of the page of errata, from matrices of the form of the authors' ones, and from these."""

from __future__ import annotations

import itertools
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import rdata
from helpers import ROOT

from textgamut.config.loading import load_config
from textgamut.rankings.bradley_terry import fit_bradley_terry
from textgamut.report.papers.mc_labels import bare_name, methods_by_label
from textgamut.report.papers.result import PaperResult
from textgamut.report.papers.shapes import make_target
from textgamut.report.papers.target_settings import TargetSettings
from textgamut.report.published import published
from textgamut.workflow.targets import target_settings

AUTHORS = ROOT.parent / "shared/data/mc-dominance"
METHODS = ["A CS (('0.4', '10'))", "B-2 beam (3)", "C topp (0.6)", "D temp (1)"]


@pytest.fixture(scope="module")
def errata() -> SimpleNamespace:
    return SimpleNamespace(**runpy.run_path(str(ROOT / "benchmarks/errata.py")))


def design_matrix(methods: list[str], wins: np.ndarray, prompts: int) -> pd.DataFrame:
    """Return the design matrix of an extended Bradley-Terry model, as MC's authors store it."""
    rows: list[list[float]] = []
    for first, second in itertools.combinations(range(len(methods)), 2):
        counts = [
            wins[second, first],
            prompts - wins[first, second] - wins[second, first],
            wins[first, second],
        ]
        for kind, count in enumerate(counts):
            sides = np.zeros(len(methods))
            sides[first], sides[second] = kind - 1, 1 - kind
            rows.append([count, 0, kind == 1, len(rows), len(rows), *sides])
    columns = ["cum_sum", "mu", "undecided", "first", "second", *methods]
    return pd.DataFrame(np.array(rows, float), columns=columns)


def counts_of_corpora(errata: SimpleNamespace, folder: Path) -> list:
    """Return the counts of three corpora, with the methods in another order in each, and their sum."""
    rng = np.random.default_rng(0)
    orders = [[0, 1, 2, 3], [2, 0, 3, 1], [3, 2, 1, 0]]
    matrices = [rng.integers(1, 9, (4, 4)) * (1 - np.eye(4, dtype=int)) for _ in orders]
    for number, (order, wins) in enumerate(zip(orders, matrices, strict=True)):
        methods = [METHODS[place] for place in order]
        rdata.write_rds(folder / f"{number}.RDS", design_matrix(methods, wins, 20))
    rdata.write_rds(folder / "3.RDS", design_matrix(METHODS[::-1], np.sum(matrices, axis=0), 60))
    found = [errata.read_counts(folder / f"{number}.RDS") for number in range(4)]
    for counts, wins in zip(found, [*matrices, np.sum(matrices, axis=0)], strict=True):
        assert (counts.wins == wins).all()
    assert [counts.prompts for counts in found] == [20, 20, 20, 60]
    return found


def test_counts_are_added_by_position_and_by_name(errata: SimpleNamespace, tmp_path: Path) -> None:
    *corpora, merged = counts_of_corpora(errata, tmp_path)
    ties = (60 - merged.wins - merged.wins.T) * (1 - np.eye(4, dtype=int))
    worth = fit_bradley_terry(merged.wins, ties, [bare_name(name) for name in merged.methods]).worth
    figures = errata.table_11(corpora, merged, pd.Series(worth)).set_index("Table 11")
    assert figures.loc["counts that differ from those of `alldatasets.RDS`", "by position"] == "0"
    assert float(figures.loc["largest difference from a worth of `ranking_alignment.xlsx`"].iloc[0]) < 1e-12
    by_name = np.zeros((4, 4), int)
    for of in corpora:
        for first, second in itertools.permutations(range(4), 2):
            rows = [merged.methods.index(of.methods[place]) for place in (first, second)]
            by_name[tuple(rows)] += of.wins[first, second]
    for column, wins in (("by position", merged.wins), ("by name", by_name)):
        assert figures.loc["most frequent dominance", column].startswith(f"{wins.max()} prompts, ")
    assert (by_name != merged.wins).any()


def by_position(corpora: list) -> PaperResult:
    """Make MC Table 11 as printed, from the authors' counts of each corpus."""
    config = load_config(ROOT / "config/papers/mc.yaml")
    record = target_settings(config, "table_11")
    record["target"]["merge"] = "by-position"
    pairs = [method[:2] for method in record["methods"]]
    labels = methods_by_label(pairs, record["labels"], record["decodings"], "table_11")
    names = {tuple(method[:2]): method[2] for method in record["methods"]}
    dominance = []
    for of in corpora:
        methods = [names[labels[bare_name(method)]] for method in of.methods]
        pairs = list(itertools.permutations(range(len(methods)), 2))
        columns = {f"method_{side + 1}": [methods[pair[side]] for pair in pairs] for side in (0, 1)}
        wins = [of.wins[pair] for pair in pairs]
        dominance.append(pd.DataFrame(columns | {"wins": wins}))
    ranking = {"pairs": pd.DataFrame({"prompts": [sum(of.prompts for of in corpora)]}), "notes": []}
    return make_target(TargetSettings.of(record), {"ranking": ranking, "dominance": dominance})


@pytest.mark.slow
def test_the_page_has_the_figures_of_the_authors_files(errata: SimpleNamespace) -> None:
    if not AUTHORS.is_dir():
        pytest.skip("the authors' files are not there")
    corpora = [errata.read_counts(AUTHORS / f"{name}.RDS") for name in errata.CORPORA]
    ranked = pd.read_excel(AUTHORS / "ranking_alignment.xlsx", engine="calamine")
    worth = pd.Series(ranked[errata.WORTH].to_numpy(), ranked["Initial"].map(bare_name))
    shipped = published("mc", "table_11")
    assert dict(zip(shipped["best"], shipped["worths"], strict=True)) == pytest.approx(
        worth.to_dict(), abs=5e-7
    )
    assert shipped["orders"] == [[bare_name(name) for name in of.methods] for of in corpora]
    made = by_position(corpora)
    assert [row[0].ours for row in made.table.entries] == list(range(1, 355))
    for row in made.table.entries:
        assert row[0].ours == row[0].paper
        assert row[1].ours == pytest.approx(row[1].paper, abs=5e-7)
    winners = pd.read_excel(AUTHORS / "dominance_final_analysis.xls", engine="calamine")
    tables = {
        "table-11": errata.table_11(corpora, errata.read_counts(AUTHORS / "alldatasets.RDS"), worth),
        "single-corpora": errata.single_corpora(corpora),
        "table-18": errata.table_18(winners),
        "table-2": errata.q_text(ranked, winners),
    }
    for name, table in tables.items():
        page = pd.read_csv(errata.REFERENCE / f"errata-mc-{name}.csv", dtype=str, keep_default_na=False)
        if name == "table-11":  # rounding errors, whose size is that of the machine
            table.iloc[-1, 1] = page.iloc[-1, 1]
        pd.testing.assert_frame_equal(table, page)
