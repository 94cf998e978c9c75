"""Features or texts of one cell -> rows of the tidy table of scores, a family at a time.

A row here says metric, value, group, n, and what else applies; the caller adds whose row it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import TextgamutError
from textgamut.metrics.catalogue import metrics_of

ALL = "all"
"""The group of all texts."""

Row = dict[str, Any]
Columns = dict[str, NDArray[np.float64]]
"""Metric -> its value for each text, NaN for a text that has none, such as an empty one."""
Groups = Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]]
"""Group column -> the group of each reference, and of each generated text."""


class SupportScores(NamedTuple):
    """The support family of one pair of sets, and what it saw."""

    rows: list[Row]
    reference: NDArray[np.float32]
    """(N, c): reduced features of the references that were kept."""
    generated: NDArray[np.float32]
    """(N, c)"""
    in_reference: NDArray[np.bool_]
    """(N,): which generated texts lie inside the references' support."""
    in_generated: NDArray[np.bool_]
    """(N,): which references lie inside the generated texts' support."""


def support_scores(
    reference: ArrayLike, generated: ArrayLike, k: int, bootstrap: int = 0, groups: Groups | None = None
) -> SupportScores:
    """Reduce features and score them: precision, recall, density, coverage, with 95 % intervals.

    Args:
        reference: (N, d) features.
        generated: (M, d) features.
        k: Neighbours.
        bootstrap: Half-samples behind the intervals; there are none when it is 0, or N is 4 k or less.
        groups: Score also each group of these columns; its rows have no interval.

    Raises, Warns:
        As ``metrics.support``.
    """
    from textgamut.features.reduce import reduce_features, same_size
    from textgamut.metrics.support import bootstrap_intervals, group_metrics, support_metrics

    reduced = reduce_features(*same_size(reference, generated))
    result = support_metrics(*reduced, k)
    intervals = bootstrap_intervals(*reduced, result, bootstrap) if bootstrap and result.n > 4 * k else {}
    facts = {"n": result.n, "k": k}
    rows = []
    for name in metrics_of("support"):
        interval = intervals[name]._asdict() if name in intervals else {}
        rows.append(facts | {"group": ALL, "metric": name, "value": getattr(result, name)} | interval)
    for column, sides in (groups or {}).items():
        for group, metrics in group_metrics(result, *sides).items():
            rows += [
                facts | {"group": f"{column}={group}", "metric": name, "value": value}
                for name in metrics_of("support")
                if not np.isnan(value := getattr(metrics, name))
            ]
    return SupportScores(rows, *reduced, result.in_reference, result.in_generated)


def divergence_scores(
    reference: ArrayLike, generated: ArrayLike, clusters: int | None, seeds: Sequence[int]
) -> list[Row]:
    """Score features by MAUVE, the frontier integral, F_1/8 and F_8: means and deviations over k-means seeds.

    Args, Raises, Warns:
        As ``metrics.divergence.divergence_metrics``.
    """
    from textgamut.metrics.divergence import divergence_metrics

    result = divergence_metrics(reference, generated, clusters, seeds)
    facts = {"n": result.n, "group": ALL}
    return [
        facts
        | {"metric": name, "value": getattr(result, name)}
        | ({"deviation": result.deviations[name]} if len(seeds) > 1 else {})
        for name in result.deviations
    ]


def ngram_scores(
    texts: Sequence[str], tokenizer: Any = None, self_bleu_sample: float | None = None
) -> tuple[list[Row], Columns]:
    """Score the wording of generated texts.

    Args:
        texts: N texts.
        tokenizer: Of transformers, for Self-BLEU and corpus distinct-n; none given: words, split on white
            space. The others count words in any case.
        self_bleu_sample: Share of the texts that Self-BLEU scores; none given: all.

    Returns:
        Rows of Self-BLEU-4, distinct-1 to 4, the means over the texts of their distinct-2 and rep-4, and the
        diversity of the whole; and each text's distinct-2, rep-4 and diversity.

    Warns:
        UserWarning: Texts too short for a metric; or one that cannot be computed at all, which has no row.
    """
    from textgamut.metrics.ngram import (
        distinct_n,
        diversity,
        repetition_n,
        self_bleu,
        text_distinct_n,
        text_diversity,
    )

    words = [text.split() for text in texts]
    tokens: Sequence[Sequence[Any]] = words
    if tokenizer is not None:
        tokens = tokenizer(list(texts), add_special_tokens=False, split_special_tokens=True)["input_ids"]
    columns = {
        "text_distinct_2": np.array([text_distinct_n(text, 2) for text in words]),
        "repetition_4": np.array([repetition_n(text, 4) for text in words]),
        "diversity": np.array([text_diversity(text) for text in words]),
    }
    corpus: dict[str, Callable[[], float]] = {
        "self_bleu": lambda: self_bleu(tokens, sample=self_bleu_sample),
        **{f"distinct_{n}": partial(distinct_n, tokens, n) for n in (1, 2, 3, 4)},
        "diversity": lambda: diversity(texts),
    }
    rows = []
    for name, compute in corpus.items():
        try:
            rows.append(_row(len(texts), name, compute()))
        except TextgamutError as error:  # such as texts that are all empty: the others go on
            warnings.warn(f"no {name}: {error}", stacklevel=2)
    means = text_rows({name: columns[name] for name in ("text_distinct_2", "repetition_4")})
    return rows + means, columns


def likelihood_scores(
    model: Any, tokenizer: Any, prompts: Sequence[str] | None, continuations: Sequence[str], batch_size: int
) -> tuple[list[Row], Columns]:
    """Score generated texts by their likelihood under one model: perplexity, and coherence after a prompt.

    Args, Raises, Warns:
        As ``metrics.likelihood.likelihood``; without prompts there is no coherence.

    Returns:
        Rows of the perplexity of all tokens and of the mean coherence; and both of each text.
    """
    from textgamut.metrics.likelihood import likelihood

    if not any(continuations):
        warnings.warn("all texts are empty: no perplexity, no coherence", stacklevel=2)
        nothing = np.full(len(continuations), np.nan)
        return [], {"perplexity": nothing} | ({} if prompts is None else {"coherence": nothing})
    result = likelihood(model, tokenizer, prompts, continuations, batch_size)
    values, columns = {"perplexity": result.perplexity}, {"perplexity": result.perplexities}
    if prompts is not None:
        values["coherence"], columns["coherence"] = result.coherence, result.coherences
    return [_row(len(continuations), name, value) for name, value in values.items()], columns


def text_rows(columns: Columns) -> list[Row]:
    """Return the rows of metrics that are means over single texts, those that have a value.

    Warns:
        UserWarning: Texts that lack a metric. One that no text has gets no row.
    """
    rows = []
    for name, values in columns.items():
        missing = int(np.isnan(values).sum())
        if missing:
            warnings.warn(
                f"{missing} of {len(values)} texts have no {name}, such as empty ones: no part in its mean",
                stacklevel=2,
            )
        if missing < len(values):
            rows.append(_row(len(values), name, float(np.nanmean(values))))
    return rows


def _row(n: int, metric: str, value: float) -> Row:
    return {"n": n, "group": ALL, "metric": metric, "value": value}
