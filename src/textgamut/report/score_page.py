"""The scores of models on the page of ``textgamut score``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure as MatplotlibFigure

from textgamut.catalogue import compared_families, metrics_of
from textgamut.errors import printable
from textgamut.features.reduce import SMALL_N
from textgamut.metrics.rows import ALL, HUMANS
from textgamut.progress import recorded_warnings
from textgamut.report.comparison import facts_of, first_pairs, models_table
from textgamut.report.experiment_page import (
    BEST_NOTE,
    MOST_PAIRS,
    Figure,
    Section,
    Table,
    differences_on_page,
    metric_table,
)
from textgamut.report.figures.precision_recall import comparison_figure
from textgamut.report.figures.style import render

SPREAD_NOTES = {
    "_low": "In brackets: 95 % intervals from random parts of the texts; for means over texts, from "
    "Student's t.",
    "_sd": "±: deviation over k-means seeds, not over samples of texts.",
}
"""Suffix of a column -> how to read it."""


def verdicts_section(
    verdicts: Mapping[str, Sequence[str]],
    pairs: Sequence[str],
    tables: Sequence[Table] = (),
    notes: Sequence[str] = (),
) -> Section:
    """Return the part of a page that says in words what was found.

    Args:
        verdicts: Model -> sentences.
        pairs: A sentence for each two models.
        tables: What is missed, from :func:`report.missed.missed_tables`.
        notes: What changes the reading of all of it, such as copies of texts.
    """
    said = [f"{name}: {' '.join(sentences)}" for name, sentences in verdicts.items() if sentences]
    sentences = [*notes, *said, *first_pairs(pairs, MOST_PAIRS)]
    return Section("verdicts", "Verdicts", sentences, tables, overview=False)


def comparison_section(
    scores: pd.DataFrame, differences: pd.DataFrame, references: int, computed_with: str | None
) -> Section:
    """Return the part of a page with the scores of models, their differences and a figure.

    Args:
        scores: As for :func:`models_table`, with the columns ``n`` and ``k``.
        differences: As for :func:`pairs_table`.
        references: Number of references.
        computed_with: Label of the embedder and, unless it is English, the language; None for neither.
    """
    table, facts = models_table(scores), facts_of(scores, references, computed_with)
    whole = table["group"] == ALL
    notes = [note for suffix, note in SPREAD_NOTES.items() if any(table.columns.str.endswith(suffix))]
    if len(table.loc[whole & ~table["model"].isin(HUMANS)]) > 1 and notes:
        notes.append(BEST_NOTE)
    tables = [metric_table(table[whole], {"model": "model"}, "Scores", " ".join(notes))]
    if not whole.all():
        labels = {"model": "model", "group": "group"}
        tables.append(metric_table(table[~whole], labels, "Scores by group", mark=False))
    if len(differences):
        tables.append(differences_on_page(differences))
    figures = []
    if "precision" in table:
        figures.append(Figure("Precision and recall", render(scores_figure(table, facts), "svg")))
    sentences = [f"{facts}."]
    names = [name for family in compared_families() for name in metrics_of(family)]
    small = scores.loc[scores["metric"].isin(names) & (scores["n"] < SMALL_N), "n"]
    if len(small):
        sentences.append(
            f"N = {small.min():,} is below {SMALL_N:,}: metrics of sets of texts are biased or uncertain; "
            "compare equal N only."
        )
    return Section("scores", "Scores", sentences, tables, figures)


def scores_figure(table: pd.DataFrame, note: str) -> MatplotlibFigure:
    """Plot precision and recall of models.

    Args:
        table: Result of :func:`models_table`.
        note: First sentence of the small print.
    """
    with recorded_warnings():  # of characters that the font lacks
        whole = table[(table["group"] == ALL) & table["precision"].notna()]
        return comparison_figure(whole, "Precision and recall", printable(note))
