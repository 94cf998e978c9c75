"""How often the tests of differences find one: between equal models, and between ones that differ.

    .venv/bin/python benchmarks/calibration.py ag-news --news test.csv

Counts, for each design (see ``setup_pairs.DESIGNS``), N and metric, the pairs with a p-value below 0.05,
those with one below 0.001, and the 95 % intervals of the difference that contain 0. Where the models differ,
``half_samples`` counts the pairs that a test by half-samples finds, with the same texts: the difference of
each half, and a normal distribution. The counts are kept in a table, from which the documentation is made:
another command goes on with the next pair.

The intervals take a fifth of the time. ``--no-intervals`` leaves them out, and changes no p-value.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pandas as pd
from setup_pairs import DESIGNS, FAMILIES, REFERENCE, compare, pair
from tqdm import tqdm

from textgamut.features.reduce import reduce_features
from textgamut.files import atomic, to_csv
from textgamut.inference import set_differences
from textgamut.inference.set_differences import Run
from textgamut.metrics.support import half_samples, support_metrics

HALF_SAMPLES = 200
INDEX = ["design", "n", "paired", "family", "metric"]
COUNTS = ["pairs", "below_5", "below_01", "half_samples", "intervals", "contain_0"]


class Cell(NamedTuple):
    """What the pairs of a cell have in common."""

    design: str
    n: int
    paired: bool
    family: str


def half_sample_p_values(run: Run) -> dict[str, float]:
    """Return the p-values of the support metrics from half-samples that are common to both models."""
    reference, k = run.common["reference_features"], run.common["k"]
    values, halves = [], []
    for own in run.own:
        reduced = reduce_features(reference, own["features"])
        result = support_metrics(*reduced, k)
        halves.append(half_samples(*reduced, result, HALF_SAMPLES).metrics())
        values.append(result)
    found = {}
    for name in halves[0]:
        difference = getattr(values[0], name) - getattr(values[1], name)
        deviation = float((halves[0][name] - halves[1][name]).std(ddof=1))
        found[name] = math.erfc(abs(difference) / deviation / math.sqrt(2)) if deviation else 1.0
    return found


def cells(arguments: argparse.Namespace) -> Iterator[Cell]:
    data = arguments.data
    for design in arguments.designs or DESIGNS[data]:
        for n in arguments.n if design == "equal" else arguments.n[-1:]:
            for paired in {"normal": (False, True), "ag-news": (False,), "generated": (True,)}[data]:
                for family in arguments.families or FAMILIES[data]:
                    yield Cell(design, n, paired, family)


def counted(data: str, cell: Cell, number: int, news: Path | None, intervals: bool) -> pd.DataFrame:
    """Return the counts of one pair."""
    run = pair(data, cell.design, cell.n, cell.paired, number, news)
    half = half_sample_p_values(run) if cell.family == "support" and cell.design != "equal" else {}
    rows = []
    with nullcontext() if intervals else patch.object(set_differences, "sampled_deviations", lambda *_: {}):
        found = compare(run, [cell.family], number)
    for of in found:
        of_half = half[of.metric] < 0.05 if of.metric in half else math.nan
        interval = (of.low == of.low, of.low <= 0 <= of.high) if intervals else (0, 0)
        rows.append((*cell, of.metric, 1, of.p < 0.05, of.p < 0.001, of_half, *interval))
    return pd.DataFrame(rows, columns=[*INDEX, *COUNTS]).set_index(INDEX).astype(float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", choices=list(FAMILIES))
    parser.add_argument("--news", type=Path, help="test.csv of AG news")
    parser.add_argument(
        "--n", type=int, nargs="+", default=[100, 400], help="of others than equal models: the last"
    )
    parser.add_argument("--pairs", type=int, default=1000, help="of equal models; of others, a fifth")
    parser.add_argument("--designs", nargs="+", help="default: all of the data")
    parser.add_argument("--families", nargs="+", help="default: all that read such data")
    parser.add_argument(
        "--no-intervals", dest="intervals", action="store_false", help="leave the intervals out"
    )
    parser.add_argument("--table", type=Path, help="default: the table of the documentation")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = arguments.table or REFERENCE / f"calibration-{arguments.data}.csv"
    table = pd.read_csv(path, index_col=INDEX) if path.exists() else pd.DataFrame(columns=COUNTS)
    table = table.reindex(columns=COUNTS)
    done = table["pairs"].groupby(INDEX[:-1]).max().to_dict() if len(table) else {}
    wanted = [
        (cell, number)
        for number in range(arguments.pairs)
        for cell in cells(arguments)
        if number >= done.get(cell, 0) and (cell.design == "equal" or number < arguments.pairs // 5)
    ]
    for cell, number in tqdm(wanted, mininterval=10):
        new = counted(arguments.data, cell, number, arguments.news, arguments.intervals)
        both = pd.concat([table, new]) if len(table) else new
        table = both.groupby(INDEX, sort=False).sum(min_count=1)
        with atomic(path) as file:
            file.write(to_csv(table.astype("Int64").reset_index()))
    print(table.astype("Int64").to_string())


if __name__ == "__main__":
    main()
