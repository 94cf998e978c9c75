"""Figures of the page of errata, from the files that the authors of MC have published.

    git clone https://github.com/YecanLee/2BeOETG
    .venv/bin/python benchmarks/errata.py 2BeOETG

Reads the counts of dominance of the three corpora and their sum (``*.RDS``), the worths of Table 11 and the
means of Q*Text (``ranking_alignment.xlsx``), and the winners by Q*Text (``dominance_final_analysis.xls``), in
any folder below. Writes the tables of the documentation; ``--orders`` prints the methods of each corpus
instead.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import rdata
from numpy.typing import NDArray
from scipy.stats import spearmanr

from textgamut.files import to_csv
from textgamut.rankings.bradley_terry import fit_bradley_terry
from textgamut.rankings.dominance import DominanceCounts
from textgamut.report.papers.mc_labels import bare_name
from textgamut.report.published import published

REFERENCE = Path(__file__).parents[1] / "docs/reference"
CORPORA = ("wikitext", "wikinews", "book")
"""Files of the three corpora, in the order of the paper."""
MERGED = "alldatasets"
WORTH = "Estimated worth parameter"
THRESHOLD: float = published("mc", "table_5")["threshold"]
"""Number of prompts that the authors' scripts take for 90 % of all."""
WINNERS = {
    12: "Most_Dominant_Model",
    14: "Most_Dominant_Strategy",
    16: "Most_Dominant_Hyperparameter",
    19: "Least_Dominant_Method",
}
"""Table of the paper -> column of the file of winners."""
FACTS = 5
"""Columns of a matrix before those of the methods."""


class Counts(NamedTuple):
    """Numbers of prompts on which a method dominates another one."""

    methods: list[str]
    wins: NDArray[np.int64]
    """(M, M): the method of the row dominates that of the column."""
    prompts: int

    def by_name(self, methods: list[str]) -> NDArray[np.int64]:
        """Return the counts in another order of the methods."""
        rows = [self.methods.index(name) for name in methods]
        return self.wins[np.ix_(rows, rows)]


def read_counts(path: Path) -> Counts:
    """Read the design matrix of an extended Bradley-Terry model.

    Each pair has three rows, with the prompts on which the second method dominates, neither, and the first
    one. In the third row, the column of the first method is 1 and that of the second -1.
    """
    table = rdata.read_rds(path)
    counts = table.iloc[:, 0].to_numpy().astype(np.int64).reshape(-1, 3)
    sides = table.iloc[2::3, FACTS:].to_numpy()
    first, second = (sides == 1).argmax(axis=1), (sides == -1).argmax(axis=1)
    methods = [str(name) for name in table.columns[FACTS:]]
    wins = np.zeros((len(methods), len(methods)), np.int64)
    wins[second, first], wins[first, second] = counts[:, 0], counts[:, 2]
    [prompts] = set(counts.sum(axis=1).tolist())
    return Counts(methods, wins, prompts)


def worths(wins: NDArray[np.int64], prompts: int, methods: list[str]) -> dict[str, float]:
    """Return the worth of each method, the greatest first."""
    worth = fit_bradley_terry(wins, DominanceCounts.of_wins(wins, prompts).ties, methods).worth
    return {name: worth[name] for name in sorted(worth, key=worth.__getitem__, reverse=True)}


def of_sum(wins: NDArray[np.int64], prompts: int, methods: list[str]) -> dict[str, str]:
    """Return what the paper says of the counts of all corpora."""
    apart = wins[~np.eye(len(methods), dtype=bool)]
    first, second = np.unravel_index(wins.argmax(), wins.shape)
    return {
        "the five methods with the greatest worth": "; ".join(list(worths(wins, prompts, methods))[:5]),
        "most frequent dominance": f"{wins.max():,} prompts, {methods[first]} over {methods[second]}",
        f"ordered pairs above {THRESHOLD:,} prompts": f"{(apart > THRESHOLD).sum():,}",
        f"ordered pairs above 90 % of {prompts:,} prompts": f"{(10 * apart > 9 * prompts).sum():,}",
        "ordered pairs without any dominance": f"{(apart == 0).sum():,}",
    }


def table_11(corpora: list[Counts], merged: Counts, worth: pd.Series[float]) -> pd.DataFrame:
    """Compare the sum of the counts by position, which is the authors', with the one by name.

    Args:
        corpora: Counts of the three corpora.
        merged: The authors' sum of them.
        worth: The authors' worth of each method.
    """
    methods, prompts = merged.methods, merged.prompts
    by_position = np.sum([of.wins for of in corpora], axis=0)
    by_name = np.sum([of.by_name(methods) for of in corpora], axis=0)
    sums = [by_position, by_name]
    both = [of_sum(wins, prompts, methods) for wins in sums]
    fits = [pd.Series(worths(wins, prompts, methods)) for wins in sums]
    rho = spearmanr(fits[0][methods], fits[1][methods]).statistic
    rows = [
        *((figure, both[0][figure], both[1][figure]) for figure in both[0]),
        (f"Spearman's correlation of the two orders of {len(methods)} methods", "", f"{rho:.3f}"),
        (
            "counts that differ from those of `alldatasets.RDS`",
            *(f"{(wins != merged.wins).sum():,}" for wins in sums),
        ),
        (
            "largest difference from a worth of `ranking_alignment.xlsx`",
            *(f"{(fit.rename(bare_name) - worth).abs().max():.1g}" for fit in fits),
        ),
    ]
    return of_table("Table 11", rows, ("by position", "by name"))


def single_corpora(corpora: list[Counts]) -> pd.DataFrame:
    """Compare the printed rows of Tables 8 to 10 with a fit to the counts of each corpus."""
    rows = []
    for name, number, counts in zip(CORPORA, (8, 9, 10), corpora, strict=True):
        order = [bare_name(method) for method in worths(counts.wins, counts.prompts, counts.methods)]
        printed = published("mc", f"table_{number}")
        best, worst = printed["best"], printed["worst"]
        shown = [*order[: len(best)], *order[-len(worst) :]]
        others = [of for of, ours in zip([*best, *worst], shown, strict=True) if of != ours]
        rows.append(
            (f"Table {number}, `{name}.RDS`", len(shown), len(shown) - len(others), ", ".join(others))
        )
    columns = ("printed rows", "of the rank that the counts have", "others")
    return of_table("Tables 8 to 10", rows, columns)


def table_18(winners: pd.DataFrame) -> pd.DataFrame:
    """Compare the printed counts with those of the authors' file: the winner of each prompt."""
    counts = winners["Most_Dominant_Method"].value_counts()
    printed = _counts(18)
    above = sorted({printed[name] - counts.get(name, 0) for name in printed})
    others = counts[~counts.index.isin(list(printed))]
    rows = [
        ("methods", len(printed), len(counts)),
        ("prompts of all methods", f"{sum(printed.values()):,}", f"{counts.sum():,}"),
        (f"prompts of {counts.index[0]}", printed[counts.index[0]], counts.iloc[0]),
        ("a printed count less that of the file", ", ".join(map(str, above)), ""),
        ("methods that are not printed", "", f"{len(others)}, with {others.sum()} prompts"),
    ]
    of_models = winners["Most_Dominant_Method"].str.partition("_")[0].value_counts()
    for model, count in _counts(12).items():
        printed_18 = sum(of for name, of in printed.items() if name.startswith(f"{model}_"))
        rows.append((f"prompts of {model} (Table 12: {count})", printed_18, of_models[model]))
    equal = [
        number
        for number, column in WINNERS.items()
        if _counts(number) == dict(winners[column].astype(str).value_counts())
    ]
    rows.append(("other tables whose counts are those of the file", "", ", ".join(map(str, equal))))
    return of_table("Table 18", rows, ("printed", "file"))


def _counts(number: int) -> dict[str, int]:
    return {name: of[0] for name, of in published("mc", f"table_{number}")["counts"].items()}


def q_text(ranked: pd.DataFrame, winners: pd.DataFrame) -> pd.DataFrame:
    """Compare the best and the worst method by Q*Text in Table 2 with the authors' means of each method."""
    # Columns of Q*Text have an order of their own, whose names are in Ranking_Qtext.
    means = ranked.set_index("Ranking_Qtext")["mean_QText"].sort_values(ascending=False)
    printed = published("mc", "table_2")
    rows = []
    for end, place in (("best", 0), ("worst", -1)):
        named = printed[end][printed["columns"].index("Q*Text")]
        rank = means.index.get_loc(named) + 1
        rows.append((end, f"{named}, rank {rank} of {len(means)}", means.index[place]))
    highest = max(published("mc", "table_4")["q_text"].values())
    rows.append(("highest value of a text", f"{highest:g} (Table 4)", f"{winners['Max_QText'].max():g}"))
    return of_table("Table 2", rows, ("printed", "file"))


def of_table(name: str, rows: list[tuple[object, ...]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the figures of a table of the paper, with its name as the heading of the first column.

    Methods are named as in the text of the paper: CS (0.4, 10) for CS (('0.4', '10')).
    """
    cells = [[re.sub(r"\(\('(.+?)', '(.+?)'\)\)", r"(\1, \2)", str(cell)) for cell in row] for row in rows]
    return pd.DataFrame(cells, columns=[name, *columns])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="with the authors' files")
    parser.add_argument("--orders", action="store_true", help="print the order of the methods of each corpus")
    arguments = parser.parse_args()
    files = {path.name: path for path in sorted(arguments.folder.rglob("*"))}
    corpora = [read_counts(files[f"{name}.RDS"]) for name in CORPORA]
    if arguments.orders:
        for name, counts in zip(CORPORA, corpora, strict=True):
            print(f"{name}: [{', '.join(map(bare_name, counts.methods))}]")
        return
    ranked = pd.read_excel(files["ranking_alignment.xlsx"], engine="calamine")
    worth = pd.Series(ranked[WORTH].to_numpy(), ranked["Initial"].map(bare_name))
    winners = pd.read_excel(files["dominance_final_analysis.xls"], engine="calamine")
    tables = {
        "table-11": table_11(corpora, read_counts(files[f"{MERGED}.RDS"]), worth),
        "single-corpora": single_corpora(corpora),
        "table-18": table_18(winners),
        "table-2": q_text(ranked, winners),
    }
    for name, table in tables.items():
        (REFERENCE / f"errata-mc-{name}.csv").write_bytes(to_csv(table))
        print(f"{table.to_string(index=False)}\n")


if __name__ == "__main__":
    main()
