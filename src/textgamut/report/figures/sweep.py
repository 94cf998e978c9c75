"""Precision and recall as functions of N and k (PR Figures 6 and B.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from textgamut.report.figures.lines import metric_lines
from textgamut.report.figures.model_styles import ModelStyle, order_runs
from textgamut.report.tables import precision_recall_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REVISION = 1
"""Increase when the same scores produce a different figure."""


def sweep_figure(
    scores: pd.DataFrame, models: Mapping[str, ModelStyle], title: str, n: int, k: int
) -> Figure:
    """Plot precision and recall against N at a fixed k, and against k at a fixed N (PR Figures 6 and B.1).

    Args:
        scores: Tidy scores of one task, decoding and embedder, for several N and k.
        models: Slug -> style, in the order of drawing. Slugs that are not in ``scores`` are ignored.
        title: Title of the figure.
        n: The N at which k varies.
        k: The k at which N varies.

    Returns:
        The figure, 7.2 x 4.2 inches, with one row per metric, lines through the means over the runs, and
        bands of one standard deviation. Models of a family share a colour and differ in line style.

    Raises:
        TextgamutError: See :func:`precision_recall_figure`.
    """
    runs = order_runs(precision_recall_runs(scores, alike=["task", "decoding", "embedder"]), models)
    columns = [("n", runs[runs["k"] == k], f"N (k = {k})"), ("k", runs[runs["n"] == n], f"k (N = {n})")]
    counts = runs.groupby(["model", "n", "k"]).size()
    over = " to ".join(str(count) for count in dict.fromkeys([counts.min(), counts.max()]))
    note = f"{runs['embedder'].iloc[0]}. Lines: means; bands: 1 sd over {over} runs (seeds, reference draws)."
    return metric_lines(columns, {"precision": "Precision", "recall": "Recall"}, models, title, note)
