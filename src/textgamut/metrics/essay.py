"""Essay score: the grade that an LSTM, trained on graded student essays, predicts (NW section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from textgamut.metrics.rows import Scores, text_rows
from textgamut.models.essay_model import TrainedEssayModel, essay_scores


def score(texts: Sequence[str], grader: TrainedEssayModel) -> Scores:
    """Grade each text, and compute the mean grade.

    Args, Raises, Warns:
        As :func:`textgamut.models.essay_model.essay_scores` and ``metrics.rows.text_rows``.
    """
    columns = {"essay": essay_scores(grader, texts)}
    return Scores(text_rows(columns), columns, {"kappa": grader.kappa, "essays": grader.essays})
