"""Likelihood scores of a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.metrics.likelihood import Likelihood, likelihood
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
    model: Any,
    tokenizer: Any,
    batch_size: int,
    perplexity: bool = True,
) -> tuple[list[Row], Columns]:
    """Score the texts of a cell by the likelihood of their continuations, given their prompts.

    Args:
        texts: Columns ``prompt_id`` and ``text``.
        prompts: Columns ``id`` and ``base``; None if there are no prompts, and therefore no coherence.
        model: The scoring model.
        tokenizer: Its tokenizer.
        batch_size: Maximum number of texts per batch.
        perplexity: Whether to include the perplexity; False if it is that of another model.

    Returns, Raises, Warns:
        As :func:`likelihood_scores`.
    """
    continuations, beginnings = list(texts["text"]), None
    if prompts is not None:
        beginnings = _of_texts(texts, prompts)
        continuations = _continuations(texts, beginnings)
    rows, columns = likelihood_scores(model, tokenizer, beginnings, continuations, batch_size)
    if not perplexity:
        rows = [row for row in rows if row["metric"] != "perplexity"]
        del columns["perplexity"]
    return rows, columns


def cell_perplexity_scores(
    texts: pd.DataFrame,
    prompts: pd.DataFrame,
    load: Callable[[], tuple[Any, Any, Mapping[str, Sequence[int]]]],
    batch_size: int,
) -> tuple[list[Row], Columns, dict[str, int]]:
    """Compute the perplexity of the texts of a cell under the model that generated them.

    The log-likelihoods recorded during the generation are used, where there are any. The other texts, such as
    those that were cut afterwards, are tokenized and scored.

    Args:
        texts: Columns ``prompt_id``, ``text``, ``log_likelihood`` (nan if it was not recorded, or is not that
            of the text) and ``scored_tokens``.
        prompts: Columns ``id`` and ``base``.
        load: Returns the model, its tokenizer, and the tokens of each prompt as the model read it. It is
            called only if texts have to be scored.
        batch_size: Maximum number of texts per batch.

    Returns:
        The row of the perplexity over all tokens, the perplexity of each text, and how many texts were
        ``recorded`` and ``scored``.

    Raises, Warns:
        As ``metrics.likelihood.likelihood``, or if all texts are empty.
    """
    continuations = _continuations(texts, _of_texts(texts, prompts))
    sums = texts["log_likelihood"].to_numpy(np.float64, copy=True)
    tokens = texts["scored_tokens"].to_numpy(np.int64, copy=True)
    again = [i for i in np.flatnonzero(np.isnan(sums)).tolist() if continuations[i]]
    tokens[np.isnan(sums)], sums[np.isnan(sums)] = 0, 0.0
    if again:
        model, tokenizer, heads = load()
        of_texts = [heads[texts["prompt_id"].iloc[i]] for i in again]
        result = likelihood(model, tokenizer, of_texts, [continuations[i] for i in again], batch_size)
        sums[again], tokens[again] = result.log_likelihood, result.tokens
    counts = {"recorded": len(texts) - len(again), "scored": len(again)}
    if not tokens.any():
        warnings.warn("all texts are empty: no perplexity", stacklevel=2)
        return [], {"perplexity": np.full(len(texts), np.nan)}, counts
    total = Likelihood(sums, tokens, truncated=0)
    rows = [metric_row(len(texts), "perplexity", total.perplexity)]
    return rows, {"perplexity": total.perplexities}, counts


def _of_texts(texts: pd.DataFrame, prompts: pd.DataFrame) -> list[str]:
    """Return the prompt of each text."""
    return list(prompts["base"].iloc[prompt_rows(texts["prompt_id"], prompts["id"])])


def _continuations(texts: pd.DataFrame, beginnings: Sequence[str]) -> list[str]:
    """Return the texts without their prompts."""
    return [text.removeprefix(start) for text, start in zip(texts["text"], beginnings, strict=True)]
