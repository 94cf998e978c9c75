"""Scores of a cell by a judge, as rows of the tidy table."""

from __future__ import annotations

from textgamut.metrics.judge import Judgements
from textgamut.metrics.scores.rows import Columns, Row, text_rows


def judge_scores(verdict: Judgements) -> tuple[list[Row], Columns]:
    """Return a judge's verdict as rows of means and as scores of each text, except for diversity.

    ``n`` is the number of texts, even for diversity, which is a mean over batches of texts.

    Warns:
        As :func:`text_rows`.
    """
    columns = {
        f"judge_{name}": getattr(verdict, name) for name in ("coherence", "insightfulness", "plausibility")
    }
    rows = text_rows(columns) + text_rows({"judge_diversity": verdict.diversity})
    return [row | {"n": len(verdict.coherence)} for row in rows], columns
