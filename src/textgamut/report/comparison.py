"""Tables of the scores of several models, and of the differences between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from textgamut.catalogue import METRICS, compared_families
from textgamut.errors import printable
from textgamut.metrics.rows import ALL, HUMANS
from textgamut.report.html import spread_text, value_text
from textgamut.text import counted

DIFFERENCES_NOTE = (
    "First minus second model, with 95 % intervals, each of a single pair. Metrics of sets: both models "
    "share one space (one PCA, one clustering, one length), so that a difference may not be quite that of "
    "the values; p is the share of random swaps of the texts of a prompt or, without common prompts, of "
    "random divisions of all texts, with a difference at least as large. Metrics of a text: Student's t for "
    "their means over the prompts or, without common prompts, Welch's t. p is corrected for all rows of the "
    "table, those of groups on their own "
    "(Holm 1979); from 0.05 on, and where the values differ in the other direction, one cannot tell which "
    "model is better: a single test would see the difference beside it in four of five cases. Intervals are "
    "those of models that differ, and can be wider than those of equal ones, for which p is: verdicts follow "
    "p."
)

CUT_NOTE = (
    "First minus second, on texts whose lengths differ by more than a fifth (medians), cut to the shortest "
    "median of the method, the human texts and the references: words. Else as in the table of differences."
)


def first_pairs(sentences: Sequence[str], most: int) -> list[str]:
    """Return the first sentences on pairs of models, and how many more there are.

    Args:
        sentences: From ``inference.verdicts.pair_verdicts``.
        most: Maximum number of sentences.
    """
    left = len(sentences) - most
    more = [f"... and {left:,} more; the table of differences has all pairs."] if left > 0 else []
    return [*sentences[:most], *more]


def models_table(scores: pd.DataFrame) -> pd.DataFrame:
    """Pivot scores to one row per model and group.

    Args:
        scores: Columns ``model``, ``group``, ``metric``, ``value``, ``low``, ``high``, ``deviation``.

    Returns:
        Columns ``model``, ``group``, and for each metric its value and, if it has any, its interval as
        ``{metric}_low`` and ``{metric}_high``, or else its deviation as ``{metric}_sd``. The rows of all
        texts come first, then each group. Missing values are NaN.
    """
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in scores.to_dict("records"):
        of_row = cells.setdefault((row["group"], row["model"]), {})
        of_row[row["metric"]] = row["value"]
        interval = {f"{row['metric']}_{end}": row[end] for end in ("low", "high")}
        if not pd.isna(row["low"]):
            of_row |= interval
        elif not pd.isna(row["deviation"]):
            of_row[f"{row['metric']}_sd"] = row["deviation"]
    groups = dict.fromkeys([ALL, *sorted(dict.fromkeys(group for group, _ in cells))])
    models = dict.fromkeys(model for _, model in cells)
    keys = [(group, model) for group in groups for model in models if (group, model) in cells]
    found = {name for of_row in cells.values() for name in of_row}
    columns = [f"{name}{part}" for name in METRICS for part in ("", "_low", "_high", "_sd")]
    return pd.DataFrame(
        [{"model": model, "group": group} | cells[group, model] for group, model in keys],
        columns=["model", "group", *(name for name in columns if name in found)],
    )


def pairs_table(differences: pd.DataFrame) -> pd.DataFrame:
    """Pivot differences to one row per pair of models.

    Args:
        differences: Columns ``group``, ``metric``, ``model_1``, ``model_2``, ``tested``, ``low``, ``high``,
            ``verdict``. Rows of groups are left out.

    Returns:
        Columns ``model_1``, ``model_2``, and for each metric its tested difference, ``{metric}_low``,
        ``{metric}_high`` and ``{metric}_verdict``.
    """
    pairs: dict[tuple[str, str], dict[str, Any]] = {}
    differences = differences[differences["group"] == ALL]
    for row in differences.to_dict("records"):
        names = {"model_1": row["model_1"], "model_2": row["model_2"]}
        of_pair = pairs.setdefault((row["model_1"], row["model_2"]), names)
        of_pair |= {row["metric"]: row["tested"]}
        of_pair |= {f"{row['metric']}_{part}": row[part] for part in ("low", "high", "verdict")}
    found = [name for name in METRICS if (differences["metric"] == name).any()]
    columns = [f"{name}{part}" for name in found for part in ("", "_low", "_high", "_verdict")]
    return pd.DataFrame(list(pairs.values()), columns=["model_1", "model_2", *columns])


def facts_of(scores: pd.DataFrame, references: int, computed_with: str | None) -> str:
    """Describe what was compared: the numbers of models and texts, N, k and with what."""
    of_models = scores[~scores["model"].isin(HUMANS)]
    of = counted(of_models["model"].nunique(), "model")
    return facts_against(of, of_models.to_dict("records"), references, computed_with)


def facts_against(
    generated: str | int, rows: Sequence[Mapping[Any, Any]], references: int, computed_with: str | None
) -> str:
    """Describe what was compared, and how much of it.

    Args:
        generated: What was scored, or the number of generated texts.
        rows: Rows of scores, with ``metric``, ``n`` and ``k``.
        references: Number of references.
        computed_with: Label of the embedder and, unless it is English, the language; None for neither.
    """
    compared = [row for row in rows if METRICS[row["metric"]].family in compared_families()]
    n = min((row["n"] for row in compared), default=None)
    if isinstance(generated, int):
        generated = _counted(generated, "generated texts", n)
    facts = [f"{generated} against {_counted(references, 'references', n)}"]
    if n is not None:
        facts.append(f"N = {n:,}")
    facts += [f"k = {row['k']:.0f}" for row in compared if row["metric"] == "precision"][:1]
    return ", ".join([*facts, *([printable(computed_with)] if computed_with else [])])


def _counted(total: int, what: str, n: int | None) -> str:
    """Return a number of texts and, if fewer are compared, their number, too."""
    return f"{total:,} {what}" + (f" (the first {n:,} are compared)" if n is not None and n < total else "")


def cells_of(table: pd.DataFrame, metric: str, sign: str = "") -> Sequence[str]:
    """Return a metric's column of either table as text: "0.823 [0.801, 0.845]", "0.912 ± 0.003".

    Differences are followed by their verdict: "+0.041 [+0.012, +0.070] better".
    """
    cells = []
    for row in table.to_dict("records"):
        spread = [row.get(f"{metric}_{part}") for part in ("sd", "low", "high")]
        cell = f"{value_text(row[metric], sign)} {spread_text(*spread, sign=sign)}".rstrip()
        if f"{metric}_verdict" in row and not pd.isna(spread[1]):
            cell += f" {row[f'{metric}_verdict']}"
        cells.append(cell)
    return cells
