"""Results as HTML, as notebooks show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from markupsafe import escape

from textgamut.catalogue import METRICS
from textgamut.errors import printable
from textgamut.metrics.rows import ALL
from textgamut.report.comparison import cells_of, models_table
from textgamut.text import cut_characters

MOST_CHARACTERS = 300
"""Length at which a text is cut."""


def result_html(verdicts: Mapping[str, Sequence[str]], pairs: Sequence[str], scores: pd.DataFrame) -> str:
    """Return verdicts in words, and a table of scores.

    Args:
        verdicts: Model -> sentences.
        pairs: A sentence for each two models.
        scores: As for ``report.comparison.models_table``. Rows of groups are left out.
    """
    said = [f"{name}: {' '.join(sentences)}" for name, sentences in verdicts.items() if sentences]
    paragraphs = [f"<p>{escape(printable(sentence))}</p>" for sentence in (*said, *pairs)]
    table = models_table(scores[scores["group"] == ALL])
    metrics = [name for name in METRICS if name in table]
    shown = pd.DataFrame({METRICS[name].heading: cells_of(table, name) for name in metrics}).T
    shown.columns = pd.Index([printable(name) for name in table["model"]])
    return "\n".join([*paragraphs, shown.to_html(escape=True, na_rep="", border=0)])


def texts_html(table: pd.DataFrame) -> str:
    """Return a table of texts, which are cut to ``MOST_CHARACTERS``."""

    def cut(value: object) -> object:
        if not isinstance(value, str):
            return value
        begin = cut_characters(value, MOST_CHARACTERS)
        return printable(value if begin == value else f"{begin} ...")

    with pd.option_context("display.max_colwidth", None):
        return table.map(cut).to_html(escape=True, index=False, border=0)
