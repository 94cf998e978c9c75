"""Tables of how often the tests of differences find one, from the results of the benchmarks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from markdown_text import table
from metrics_tables import REFERENCE
from scipy import stats

from textgamut.catalogue import METRICS
from textgamut.inference.differences import holm

DATA = {
    "normal": "Normal features, d = 8",
    "ag-news": "AG news, features of MiniLM",
    "generated": "Texts of SmolLM2 135M, features of MiniLM",
}
"""Kind of data -> its heading."""
INTERVALS = {"model": "Of a model", "difference": "Of a difference between two models"}
"""What intervals are of -> its heading."""
ONE_VALUE = ("generated", "distinct_completions")
"""Data and metric: no two completions of a prompt are alike, so that there is one value and no test."""
LEAST_INTERVALS = 100
"""Number of intervals of a cell from which on their coverage is told."""
GOAL = (0.93, 0.97)
"""Coverage that intervals of 95 % should have."""


def level() -> str:
    """Return the share of p-values below 5 % between equal models, for each kind of data."""
    counts = _counts()
    equal = counts[counts["design"] == "equal"]
    tests = equal[(equal["data"] != ONE_VALUE[0]) | (equal["metric"] != ONE_VALUE[1])]
    tests = tests.assign(p_holm=holm(_binomial(tests)))
    parts = []
    for data, own in equal.groupby("data", sort=False):
        summary = _summary(tests[tests["data"] == data])
        parts += [f"### {DATA[data]}", summary, _by_metric(own, ["n", "paired"], _kind)]
    return "\n\n".join(parts) + "\n"


def differing() -> str:
    """Return the share of pairs of differing models that are told apart, for each kind of data."""
    counts = _counts()
    parts = []
    for data, own in counts[counts["design"] != "equal"].groupby("data", sort=False):
        parts += [f"### {DATA[data]}", _by_metric(own, ["design", "paired"], _design)]
    return "\n\n".join(parts) + "\n"


def coverage() -> str:
    """Return how often intervals contain the mean of fresh samples, and which do too often or too rarely."""
    found = pd.read_csv(REFERENCE / "coverage.csv")
    return "\n".join(
        f"### {heading}\n\n{_coverage(found[found['of'] == of])}" for of, heading in INTERVALS.items()
    )


def _coverage(found: pd.DataFrame) -> str:
    low, high = GOAL
    parts = [
        f"{which} {bound:.0%}: {', '.join(METRICS[name].label for name in found['metric'][beyond])}."
        for which, bound, beyond in (
            ("Less than", low, found["covered"] < low),
            ("More than", high, found["covered"] > high),
        )
        if beyond.any()
    ]
    shown = _shown(found, ("mean", "covered", "deviation ratio"))
    return f"The aim is {low:.0%} to {high:.0%}. {' '.join(parts)}\n\n{shown}"


def planned() -> str:
    """Return the number of texts that a plan asks for, and the power that they had."""
    path = REFERENCE / "planned-n.csv"
    if not path.exists():
        return "Not measured yet.\n"
    return _shown(
        pd.read_csv(path), ("design", "difference", "planned N", "planned power", "difference at N", "power")
    )


def _counts() -> pd.DataFrame:
    found = [
        pd.read_csv(path).assign(data=data)
        for data in DATA
        if (path := REFERENCE / f"calibration-{data}.csv").exists()
    ]
    return pd.concat(found, ignore_index=True)


def _binomial(counts: pd.DataFrame) -> list[float]:
    """Return the p-value of each cell: of a binomial test of its p-values below 5 % against 5 %."""
    rows = zip(counts["below_5"], counts["pairs"], strict=True)
    return [stats.binomtest(below, pairs, 0.05).pvalue for below, pairs in rows]


def _summary(equal: pd.DataFrame) -> str:
    rates = equal["below_5"] / equal["pairs"]
    rare = equal["below_01"].sum() / equal["pairs"].sum()
    return (
        f"In {len(equal):,} cells, {rates.min():.1%} to {rates.max():.1%} of the p-values are below 5 %, "
        f"and {rare:.2%} of all are below 0.1 %. The smallest p-value of a binomial test of a cell against "
        f"5 % is {equal['p_holm'].min():.2g}, after Holm's correction for all cells of this page. "
        f"{_contain_0(equal)}"
    )


def _contain_0(equal: pd.DataFrame) -> str:
    """Say how many intervals of differences contain 0, in cells with enough of them."""
    known = equal[equal["intervals"] >= LEAST_INTERVALS]
    if known.empty:
        return ""
    shares = known["contain_0"] / known["intervals"]
    of_all = known["contain_0"].sum() / known["intervals"].sum()
    return (
        f"In {len(known):,} of them, the intervals of {known['intervals'].min():,.0f} and more differences "
        f"were kept: {shares.min():.1%} to {shares.max():.1%} of a cell contain 0, and {of_all:.1%} of all."
    )


def _by_metric(counts: pd.DataFrame, of: list[str], heading: Callable[..., str]) -> str:
    cells = list(counts.groupby(of, sort=False))
    header = ["metric", *(heading(*key, own) for key, own in cells)]
    rows = []
    for name in METRICS:
        if name in set(counts["metric"]):
            found = [own[own["metric"] == name].to_dict("records") for _, own in cells]
            rows.append([METRICS[name].label, *(_rate(*row) if row else "" for row in found)])
    return table(header, rows)


def _kind(n: int, paired: bool, own: pd.DataFrame) -> str:
    return f"N = {n:,}, {'same prompts' if paired else 'independent'} ({_pairs(own)})"


def _design(design: str, paired: bool, own: pd.DataFrame) -> str:
    return f"{design}, {'same prompts' if paired else 'independent'} ({_pairs(own)})"


def _pairs(own: pd.DataFrame) -> str:
    least, most = own["pairs"].min(), own["pairs"].max()
    return f"{most:,} pairs" if least == most else f"{least:,} to {most:,} pairs"


def _rate(row: dict[str, float]) -> str:
    rate = f"{row['below_5'] / row['pairs']:.1%}"
    half = row["half_samples"]
    return rate if math.isnan(half) else f"{rate} ({half / row['pairs']:.0%})"


def _shown(found: pd.DataFrame, columns: tuple[str, ...]) -> str:
    cells = found[list(columns)].map(_cell)
    labels = (METRICS[name].label for name in found["metric"])
    return table(("metric", *columns), zip(labels, *(cells[name] for name in columns), strict=True)) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else f"{value:.3g}"
    return str(value)
