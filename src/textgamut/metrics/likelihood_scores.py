"""Likelihood scores of a cell, as rows of the tidy table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from textgamut.metrics.likelihood import Likelihood, likelihood
from textgamut.metrics.rows import Scores, metric_row, prompts_of_texts, without_prompts
from textgamut.models.log_likelihood import ScoringModel

if TYPE_CHECKING:
    import pandas as pd


def score(
    continuations: Sequence[str],
    prompts: Sequence[str] | None,
    model: ScoringModel,
    perplexity_of: str = "scorer",
) -> Scores:
    """Compute the perplexity of generated texts under one model and, given their prompts, the coherence.

    Args:
        continuations: N texts, without their prompts.
        prompts: The prompt of each text; None if there are none, and therefore no coherence.
        model: The scoring model.
        perplexity_of: ``generator`` leaves the perplexity out, since another model computes it.

    Returns:
        Rows of the perplexity over all tokens and of the mean coherence, and both metrics of each text.

    Raises, Warns:
        As ``metrics.likelihood.likelihood``.
    """
    values: dict[str, float] = {}
    if not any(continuations):
        warnings.warn("all texts are empty: no perplexity, no coherence", stacklevel=2)
        nothing = np.full(len(continuations), np.nan)
        columns = {"perplexity": nothing} | ({} if prompts is None else {"coherence": nothing})
    else:
        result = likelihood(model.network, model.tokenizer, prompts, continuations, model.batch_size)
        values, columns = {"perplexity": result.perplexity}, {"perplexity": result.perplexities}
        if prompts is not None:
            values["coherence"], columns["coherence"] = result.coherence, result.coherences
    if perplexity_of == "generator":
        values.pop("perplexity", None)
        del columns["perplexity"]
    rows = [metric_row(len(continuations), name, value) for name, value in values.items()]
    return Scores(rows, columns, model.facts)


def cell_perplexity_scores(
    texts: pd.DataFrame,
    prompts: pd.DataFrame,
    load: Callable[[], tuple[Any, Any, Mapping[str, Sequence[int]]]],
    batch_size: int,
) -> Scores:
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
        The row of the perplexity over all tokens, the perplexity of each text and, as facts, how many texts
        were ``recorded`` and ``scored``.

    Raises, Warns:
        As ``metrics.likelihood.likelihood``, or if all texts are empty.
    """
    continuations = without_prompts(texts["text"], prompts_of_texts(texts, prompts))
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
        return Scores([], {"perplexity": np.full(len(texts), np.nan)}, counts)
    total = Likelihood(sums, tokens, truncated=0)
    rows = [metric_row(len(texts), "perplexity", total.perplexity)]
    return Scores(rows, {"perplexity": total.perplexities}, counts)
