"""The tables of metrics and of the sanity checks, from the catalogue and the measured results."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
from markdown_text import escaped, table

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.family import Metric
from textgamut.language import LANGUAGES
from textgamut.metrics.sanity.cheats import Q_TEXT, SAMPLERS
from textgamut.metrics.sanity.sanity_checks import CHECKS

REFERENCE = Path(__file__).parents[1] / "reference"

SANITY_TABLES = {
    "News articles": REFERENCE / "sanity-news-articles.csv",
    "AG news": REFERENCE / "sanity-ag-news-test.csv",
}
"""Heading -> a copy of the table of the rule check_metrics."""

CHEAT_TABLES = {
    "News articles": REFERENCE / "cheats-news-articles.csv",
    "AG news": REFERENCE / "cheats-ag-news-test.csv",
}
"""Heading -> a copy of the table of the rule check_cheats."""

READ = {"higher": "higher is better", "lower": "lower is better", "nearest": "nearest to the references"}
"""How a metric is read -> the same in words."""


def families() -> str:
    """Return a table of the families, and a section with the metrics of each."""
    rows = [
        (f"[`{family.name}`](#{family.name})", family.description, "yes" if family.in_score else "no")
        for family in FAMILIES.values()
    ]
    overview = table(("family", "what it measures", "in `textgamut score`"), rows)
    return "\n\n".join([overview, *map(_family, FAMILIES)]) + "\n"


def _family(name: str) -> str:
    checked = {name for path in SANITY_TABLES.values() for name in pd.read_csv(path, dtype=str)["metric"]}
    metrics = [metric for metric in METRICS.values() if metric.family == name]
    rows = [
        (
            f"{metric.heading}<br>`{metric.name}`",
            metric.level,
            _range(*metric.range),
            f"{'; '.join(filter(None, (metric.meaning, metric.definition)))}<br>*{metric.source}*",
        )
        for metric in metrics
    ]
    fails = [f"- {metric.label}: {', '.join(metric.fails)}" for metric in metrics if metric.fails]
    parts = [
        f"### `{name}`",
        f"{FAMILIES[name].description[0].upper()}{FAMILIES[name].description[1:]}.",
        table(("metric", "of a", "range", "reads as, *source*"), rows),
        _languages(metrics),
        "Fails on both corpora:\n\n" + "\n".join(fails) if fails else "",
        _clean(metrics, checked),
    ]
    return "\n\n".join(filter(None, parts))


def _languages(metrics: list[Metric]) -> str:
    """Return which languages the metrics are defined for; nothing if for all."""
    sentences = [
        f"{metric.label}: {', '.join(LANGUAGES[code] for code in metric.languages)}."
        for metric in metrics
        if metric.languages
    ]
    return (
        f"Defined for texts in these languages, and refused for others. {' '.join(sentences)}"
        if sentences
        else ""
    )


def _clean(metrics: list[Metric], checked: set[str]) -> str:
    """Return which metrics fail no check on both corpora, and which were not checked."""
    alike = {metric.label: {metric.name, f"{metric.name}_ratio"} for metric in metrics if not metric.fails}
    passed = [label for label, names in alike.items() if names & checked]  # judged relative to the references
    others = [label for label, names in alike.items() if not names & checked]
    sentences = [f"Fails no check on both: {', '.join(passed)}."] if passed else []
    if len(others) == len(metrics):
        return "Not checked."
    return " ".join([*sentences, *([f"Not checked: {', '.join(others)}."] if others else [])])


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return "unbounded" if math.isinf(high) else f"{high:g} and less"
    return f"{low:g} and more" if math.isinf(high) else f"{low:g} to {high:g}"


def checks() -> str:
    """Return a table of what each check is."""
    rows = [(check.label, check.description, check.criterion) for check in CHECKS]
    return table(("check", "situation", "passed if"), rows) + "\n"


def results() -> str:
    """Return the results of the checks on each corpus, and a figure of them."""
    parts = []
    for heading, path in SANITY_TABLES.items():
        parts += [f"### {heading}", *_results(pd.read_csv(path, dtype=str, keep_default_na=False))]
        figure = f"../images/{path.stem}.png"
        parts.append(f"![Metrics and checks on {heading}: passed, failed, not applicable]({figure})")
    return "\n\n".join(parts) + "\n"


def cheats() -> str:
    """Return which metrics prefer samplers that cheat to human texts, on each corpus."""
    parts = [table(("sampler", "what it writes"), SAMPLERS.items())]
    for heading, path in CHEAT_TABLES.items():
        found = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
        rows = table(("metric", "read as", "human", *SAMPLERS), map(_cheated, found))
        parts += [f"### Samplers: {heading}", rows]
    return "\n\n".join(parts) + "\n"


def _cheated(row: dict[str, str]) -> tuple[str, ...]:
    """Return "cheated (4.2)" as "**✗&nbsp;4.2**", "not cheated (57)" as "57"."""
    label = "Q*Text" if row["metric"] == Q_TEXT else METRICS[row["metric"]].label
    cells = []
    for name in SAMPLERS:
        word, _, value = row[name].removesuffix(")").rpartition(" (")
        cells.append(f"**✗&nbsp;{value}**" if word == "cheated" else "—" if value == "nan" else value)
    return escaped(label), READ[row["read"]], row["human"].replace("nan", "—"), *cells


def _results(found: pd.DataFrame) -> list[str]:
    """Return the results on one corpus, in two tables, which fit on a page."""
    labels = {check.name: check.label for check in CHECKS if check.name in found}
    names = list(labels)
    half = (len(names) + 1) // 2
    return [
        table(
            ("metric", "measures", *(labels[name] for name in part)),
            (
                (METRICS[row["metric"]].label, row["role"], *(_verdict(row[name], name) for name in part))
                for row in found.to_dict("records")
            ),
        )
        for part in (names[:half], names[half:])
    ]


def _verdict(cell: str, check: str) -> str:
    """Return "pass (-0.04)" as "-0.04", "fail (-0.20)" as "**✗&nbsp;-0.20**"."""
    word, _, change = cell.partition(" ")
    if check == "responds":  # its change is the unit of all others
        change = ""
    change = change.strip("()").replace("+0.00", "0.00").replace("-0.00", "0.00")
    if word == "fail":
        return f"**✗&nbsp;{change}**" if change else "**✗**"
    return (change or "✓") if word == "pass" else "—"
