"""How often the tests of differences find one: between equal models, and between ones that differ.

    .venv/bin/python benchmarks/calibration.py --data normal ag-news generated --news test.csv

Prints, for each kind of data, design (see ``setup_pairs.DESIGNS``) and metric, the share of p-values below
0.05 and below 0.001, with the p-value of a binomial test of the former against 5 %, corrected for all rows
(Holm). Where the models differ, the last column is the share of a test by half-samples, with the same texts:
the difference of each half, and a normal distribution. Finished pairs are kept in a file: an interrupted
command goes on where it was, and ``--read`` prints what is finished.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from setup_pairs import DESIGNS, FAMILIES, compare, pair

from textgamut.features.reduce import reduce_features
from textgamut.inference.differences import Run, holm
from textgamut.metrics.support import half_sample_metrics, support_metrics

HALF_SAMPLES = 200

Key = tuple[str, str, int, bool, int]
"""Kind of data, design, N, whether paired, number of the pair."""


def half_sample_p_values(run: Run) -> dict[str, float]:
    """Return the p-values of the support metrics from half-samples that are common to both models."""
    reference, k = run.common["reference_features"], run.common["k"]
    values, halves = [], []
    for own in run.own:
        reduced = reduce_features(reference, own["features"])
        result = support_metrics(*reduced, k)
        halves.append(half_sample_metrics(*reduced, result, HALF_SAMPLES))
        values.append(result)
    found = {}
    for name in halves[0]:
        difference = getattr(values[0], name) - getattr(values[1], name)
        deviation = float((halves[0][name] - halves[1][name]).std(ddof=1))
        found[name] = math.erfc(abs(difference) / deviation / math.sqrt(2)) if deviation else 1.0
    return found


def wanted(arguments: argparse.Namespace) -> Iterator[Key]:
    for number in range(arguments.pairs):
        for data in arguments.data:
            for design in arguments.designs or DESIGNS[data]:
                for n in arguments.n:
                    for paired in {"normal": (False, True), "ag-news": (False,), "generated": (True,)}[data]:
                        yield data, design, n, paired, number


def table(done: dict[Key, dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each kind of data, design and metric."""
    columns = ["data", "design", "n", "paired", "metric", "p", "half"]
    rows = [
        {
            "data": data,
            "design": design,
            "n": n,
            "paired": paired,
            "metric": metric,
            "p": p,
            "half": half.get(metric),
        }
        for (data, design, n, paired, _), (found, half) in done.items()
        for metric, p in found.items()
    ]
    grouped = pd.DataFrame(rows).groupby(columns[:5], sort=False)
    found = grouped.agg(
        pairs=("p", "size"),
        below_5=("p", lambda p: (p < 0.05).mean()),
        below_01=("p", lambda p: (p < 0.001).mean()),
        half_samples=("half", lambda p: (p < 0.05).mean() if p.notna().any() else np.nan),
    ).reset_index()
    tests = [
        stats.binomtest(round(row.below_5 * row.pairs), row.pairs, 0.05).pvalue
        if row.design == "equal"
        else np.nan
        for row in found.itertuples()
    ]
    return found.assign(p_holm=holm(tests))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["normal"], choices=list(FAMILIES))
    parser.add_argument("--news", type=Path, help="test.csv of AG news")
    parser.add_argument("--n", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--designs", nargs="+", help="default: all of the data")
    parser.add_argument("--families", nargs="+", help="default: all that read such data")
    parser.add_argument("--kept", type=Path, default=Path("calibration.jsonl"))
    parser.add_argument("--read", action="store_true", help="print what is finished, and compute nothing")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    done: dict[Key, Any] = {tuple(key): found for key, *found in map(json.loads, lines)}
    start = time.monotonic()
    with arguments.kept.open("a") as file:
        for key in () if arguments.read else wanted(arguments):
            if key not in done:
                run = pair(*key, arguments.news)
                half = {} if key[1] == "equal" else half_sample_p_values(run)
                found = compare(run, arguments.families or FAMILIES[key[0]], key[4])
                done[key] = {of.metric: of.p for of in found}, half
                file.write(json.dumps([key, *done[key]]) + "\n")
                file.flush()
    print(table(done).to_string(float_format="%.4f"))
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
