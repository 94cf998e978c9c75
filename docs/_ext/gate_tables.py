"""The tables of the gate: what it guards, what failures are called, and how often it was right."""

from __future__ import annotations

import pandas as pd
from markdown_text import table
from metrics_tables import REFERENCE

from textgamut.catalogue.gate import FAILURES, GATE_METRICS, GUARDS, WATCHED

THRESHOLDS = ("drop of MAUVE", "drop of distinct-2", "distance of means", "MMD (frouros)")
"""Columns of the threshold gates."""


def tables() -> dict[str, str]:
    """Return all tables: name without suffix -> Markdown."""
    return {"gate-guards": guards(), "gate-names": names(), "gate-results": results()}


def guards() -> str:
    """Return the guarded metrics with their margins."""
    rows = [[GATE_METRICS[of.metric].heading, f"`{of.metric}`", f"{of.margin:g}", of.reason] for of in GUARDS]
    return table(["metric", "name of the margin", "margin", "why"], rows)


def names() -> str:
    """Return the names of failures."""
    rows = []
    for of in FAILURES:
        shown = (GATE_METRICS[name].label + (" (watched)" if name in WATCHED else "") for name in of.metrics)
        unless = (
            f"{GATE_METRICS[name].label}: unless {GATE_METRICS[other].label} fails, too"
            for name, other in of.unless_failed.items()
        )
        rows.append([of.name, of.says, ", ".join(shown), "; ".join(unless)])
    return table(["name", "says", "shown by any of", ""], rows)


def results() -> str:
    """Return how often the gate failed, passed and named the failure."""
    path = REFERENCE / "gate-summary.csv"
    if not path.exists():
        return "Not measured yet.\n"
    found = pd.read_csv(path)
    header = [
        "case",
        "source",
        "chosen on it",
        "pairs",
        "fail",
        "pass",
        "cannot tell",
        "right name",
        *THRESHOLDS,
    ]
    rows = [
        [
            str(row["case"]),
            str(row["source"]),
            "yes" if row["tuned"] else "no",
            f"{row['pairs']:,}",
            *(_share(row[name]) for name in ("fail", "pass", "cannot tell", "right name", *THRESHOLDS)),
        ]
        for row in found.to_dict("records")
    ]
    return table(header, rows)


def _share(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}"
