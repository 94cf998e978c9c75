"""Likelihood scores of a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.metrics.likelihood import likelihood
from textgamut.metrics.scores.rows import Columns, Row, metric_row, prompt_rows

if TYPE_CHECKING:
    import pandas as pd


def likelihood_scores(
    model: Any, tokenizer: Any, prompts: Sequence[str] | None, continuations: Sequence[str], batch_size: int
) -> tuple[list[Row], Columns]:
    """Compute the perplexity of generated texts under one model and, given their prompts, the coherence.

    Args, Raises, Warns:
        As ``metrics.likelihood.likelihood``. Without prompts, coherence is not computed.

    Returns:
        Rows of the perplexity over all tokens and of the mean coherence, and both metrics of each text.
    """
    if not any(continuations):
        warnings.warn("all texts are empty: no perplexity, no coherence", stacklevel=2)
        nothing = np.full(len(continuations), np.nan)
        return [], {"perplexity": nothing} | ({} if prompts is None else {"coherence": nothing})
    result = likelihood(model, tokenizer, prompts, continuations, batch_size)
    values, columns = {"perplexity": result.perplexity}, {"perplexity": result.perplexities}
    if prompts is not None:
        values["coherence"], columns["coherence"] = result.coherence, result.coherences
    return [metric_row(len(continuations), name, value) for name, value in values.items()], columns


def cell_likelihood_scores(
    texts: pd.DataFrame,
    prompts: pd.DataFrame | None,
    load: Callable[[Any], tuple[Any, Any]],
    scorer: Any,
    generator: Any | None,
    batch_size: int,
) -> tuple[list[Row], Columns]:
    """Score the texts of a cell by the likelihood of their continuations, given their prompts.

    Args:
        texts: Columns ``prompt_id`` and ``text``.
        prompts: Columns ``id`` and ``base``; None if there are no prompts, and therefore no coherence.
        load: Returns the model and the tokenizer of a source. One model is in memory at a time.
        scorer: Source of the scoring model.
        generator: Source of the model that generated the texts, to compute their perplexity. None for the
            scorer's perplexity, as for human texts.
        batch_size: Maximum number of texts per batch.

    Returns, Raises, Warns:
        As :func:`likelihood_scores`.
    """
    continuations, beginnings = list(texts["text"]), None
    if prompts is not None:
        beginnings = list(prompts["base"].iloc[prompt_rows(texts["prompt_id"], prompts["id"])])
        continuations = [t.removeprefix(start) for t, start in zip(continuations, beginnings, strict=True)]

    def scores_by(source: Any) -> tuple[list[Row], Columns]:
        return likelihood_scores(*load(source), beginnings, continuations, batch_size)

    rows, columns = scores_by(scorer)
    if generator not in (None, scorer):
        own_rows, own_columns = scores_by(generator)
        rows = [row for row in rows if row["metric"] != "perplexity"]
        rows += [row for row in own_rows if row["metric"] == "perplexity"]
        del columns["perplexity"]  # the column of the generator is the last
        columns["perplexity"] = own_columns["perplexity"]
    return rows, columns
