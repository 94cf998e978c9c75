"""Parameters of Q*Text from a user's human ratings of single texts (MC appendix G, Tables 20 and 21)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from textgamut.config.metrics import Q_TEXT_CRITERIA
from textgamut.datasets.table import check_filled, read_columns
from textgamut.errors import DataError, TextgamutError, nearest
from textgamut.rankings.method_scores import prompt_means
from textgamut.rankings.qtext import START, q_text, q_text_limits, tune_q_text

REVISION = 1
"""Increase when the same ratings produce different parameters."""

TEXT = ["task", "model", "decoding", "prompt_id"]
"""Columns that identify a text."""


class Tuning(NamedTuple):
    """Q*Text, tuned to human ratings."""

    parameters: pd.DataFrame
    """Columns ``parameter`` (weight, target, penalty), ``criterion``, ``value`` and ``start``, nine rows;
    and a row ``spearman`` without a criterion: the correlation of Q*Text with the ratings."""
    texts: pd.DataFrame
    """The rated texts: ``prompt``, ``method``, ``rating``, and ``q_text`` with these parameters."""


def read_ratings(path: Path, tasks: Sequence[str]) -> pd.DataFrame:
    """Read human ratings of single texts.

    Args:
        path: CSV, JSONL or parquet with the columns ``task``, ``model``, ``decoding``, ``prompt_id`` and
            ``rating``; others are ignored.
        tasks: All tasks of the experiment.

    Returns:
        These columns, the first four as strings; the index is the position of each row in the file. A text
        may have several ratings, one row each.

    Raises:
        TextgamutError: If the file cannot be read, a column or a value is missing, a rating is not a finite
            number, or a task is unknown. The message names the row.
    """
    frame = read_columns(path, [*TEXT, "rating"])[[*TEXT, "rating"]]
    frame = frame.mask((frame == "").to_numpy())
    check_filled(path, frame, [*TEXT, "rating"])
    ratings = pd.to_numeric(frame["rating"], errors="coerce").astype(float)
    bad = ~np.isfinite(ratings.to_numpy())
    if bad.any():
        row, rating = frame.index[bad][0], frame["rating"][bad].iloc[0]
        raise DataError(f"{path}: {frame.index.name} {row}: the rating {rating!r} is not a finite number")
    frame = frame[TEXT].astype(str).assign(rating=ratings)
    unknown = ~frame["task"].isin(tasks).to_numpy()
    if unknown.any():
        row, task = frame.index[unknown][0], frame["task"][unknown].iloc[0]
        raise DataError(f"{path}: {frame.index.name} {row}: unknown task {task!r}; {nearest(task, tasks)}")
    return frame


def tune_by_ratings(
    path: Path,
    ratings: pd.DataFrame,
    texts: Mapping[str, pd.DataFrame],
    names: Mapping[tuple[str, str], str],
    trials: int = 10_000,
) -> Tuning:
    """Tune Q*Text to the ratings of texts of one or more ranked tasks.

    The criteria are scaled as in the ranking of these tasks, so that the parameters fit its Q*Text. A text's
    rating is the mean of its ratings; its scores are means over the seeds and completions of its prompt.

    Args:
        path: File of the ratings, for messages.
        ratings: From :func:`read_ratings`; rows of other tasks are left out.
        texts: Table of each task: ``model``, ``decoding``, ``prompt_id`` and the criteria.
        names: Name of the method of each ranked (model, decoding).
        trials: As for :func:`qtext.tune_q_text`.

    Returns:
        The parameters and the rated texts.

    Raises:
        TextgamutError: If no text of these tasks is rated, a rated text does not exist, or as
            :func:`qtext.tune_q_text`.
    """
    rated = ratings[ratings["task"].isin(list(texts))]
    if not len(rated):
        raise DataError(f"{path}: no rating of a text of {', '.join(texts)}")
    pool = prompt_means(texts, names, Q_TEXT_CRITERIA).table
    limits = q_text_limits(pool["perplexity"], pool["coherence"], pool["diversity"])
    pairs = zip(rated["model"], rated["decoding"], strict=True)
    rated = rated.assign(
        method=[names.get(pair, "") for pair in pairs], prompt=rated["task"] + "/" + rated["prompt_id"]
    )
    scores = pool.set_index(["prompt", "method"])
    absent = ~pd.MultiIndex.from_frame(rated[["prompt", "method"]]).isin(scores.index)
    if absent.any():
        text = ", ".join(rated[TEXT][absent].iloc[0])
        raise DataError(f"{path}: {rated.index.name} {rated.index[absent][0]}: no such ranked text: {text}")
    means = rated.groupby(["prompt", "method"])["rating"].mean()
    found = scores.loc[means.index]
    criteria = found["perplexity"], found["coherence"], found["diversity"]
    try:
        tuned = tune_q_text(*criteria, means, trials=trials, limits=limits)
    except TextgamutError as error:
        raise DataError(f"{path}: {error}") from None
    parameters = tuned.parameters
    values = [*parameters.weights, *parameters.targets, *parameters.penalties]
    kinds = [kind for kind in ("weight", "target", "penalty") for _ in Q_TEXT_CRITERIA]
    table = pd.DataFrame(
        [
            *zip(kinds, Q_TEXT_CRITERIA * 3, values, START, strict=True),
            ("spearman", "", tuned.correlation, tuned.start_correlation),
        ],
        columns=["parameter", "criterion", "value", "start"],
    )
    scored = q_text(*criteria, parameters, limits=limits)
    return Tuning(table, means.reset_index().assign(q_text=scored))
