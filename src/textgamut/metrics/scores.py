"""Features or texts of one cell -> rows of the tidy table of scores, a family at a time.

A row here says metric, value, group, n, and what else applies; the caller adds whose row it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import TextgamutError
from textgamut.metrics.catalogue import metrics_of
from textgamut.text import count_words

if TYPE_CHECKING:
    import pandas as pd
    from spacy.language import Language

    from textgamut.metrics.judge import Judgements

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


def sweep_scores(
    reference: ArrayLike, generated: ArrayLike, k: int, vary_n: Sequence[int], vary_k: Sequence[int]
) -> list[Row]:
    """Score the support for several N with one k, and for all texts with several k.

    Args:
        reference: (N, d) features.
        generated: (N, d) features.
        k: Neighbours where N varies.
        vary_n: Numbers of texts, the first ones of each side.
        vary_k: Numbers of neighbours, of all texts.

    Returns:
        Rows of the support metrics of each pair (N, k), once, in the order of ``vary_n`` and ``vary_k``.

    Raises, Warns:
        As ``metrics.support.support_sweep``.
    """
    from textgamut.features.reduce import reduce_features
    from textgamut.metrics.support import support_sweep

    points = [(n, k) for n in vary_n] + [(len(np.asarray(generated)), k) for k in vary_k]
    return [
        {"n": result.n, "k": result.k, "group": ALL, "metric": name, "value": getattr(result, name)}
        for result in support_sweep(*reduce_features(reference, generated), list(dict.fromkeys(points)))
        for name in metrics_of("support")
    ]


def group_labels(
    column: str, dataset: pd.DataFrame, generations: pd.DataFrame, references: pd.DataFrame
) -> tuple[list[str | None], list[str | None]]:
    """Return the group of each reference, and of each generated text: that of the text of its prompt.

    Args:
        column: The column of the groups.
        dataset: ``id`` and the column.
        generations: ``prompt_id``, the ``id`` of a text of the dataset; of another, it has no group.
        references: The column.
    """

    def labels(groups: pd.Series[Any]) -> list[str | None]:
        return [None if missing else str(label) for label, missing in zip(groups, groups.isna(), strict=True)]

    of_text = dataset.set_index("id")[column]
    return labels(references[column]), labels(of_text.reindex(generations["prompt_id"]))


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


def cell_likelihood_scores(
    texts: pd.DataFrame,
    prompts: pd.DataFrame | None,
    load: Callable[[Any], tuple[Any, Any]],
    scorer: Any,
    generator: Any | None,
    perplexity_of: Literal["scorer", "generator"],
    batch_size: int,
) -> tuple[list[Row], Columns]:
    """Score the texts of a cell by their likelihood, each without its prompt and given it.

    Args:
        texts: ``prompt_id``, ``text``.
        prompts: ``id``, ``base``; None: there are none, and no coherence.
        load: Returns the model and the tokenizer of a source. One model is held at a time.
        scorer: Source of the model that scores.
        generator: Source of the model that wrote the texts; None: humans did.
        perplexity_of: Whose perplexity is wanted: that of the generator is left out if there is no generator.
        batch_size: Texts at once, at most.

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
    if perplexity_of == "generator" and generator != scorer:
        rows = [row for row in rows if row["metric"] != "perplexity"]
        del columns["perplexity"]
        if generator is not None:
            own_rows, own_columns = scores_by(generator)
            rows += [row for row in own_rows if row["metric"] == "perplexity"]
            columns["perplexity"] = own_columns["perplexity"]
    return rows, columns


def readability_scores(texts: Sequence[str]) -> tuple[list[Row], Columns]:
    """Score texts by Flesch reading ease and Gunning fog: the means, and both of each text.

    Args, Raises, Warns:
        As ``metrics.readability.readability`` and :func:`text_rows`.
    """
    from textgamut.metrics.readability import readability

    columns = asdict(readability(texts))
    return text_rows(columns), columns


def entity_scores(
    texts: pd.DataFrame, references: pd.DataFrame | None, tagger: Language, processes: int = 1
) -> tuple[list[Row], Columns]:
    """Score texts by their named entities: information density and, given references, entity overlap.

    Args:
        texts: ``prompt_id``, ``text``.
        references: ``id`` of a prompt, ``text`` that a human wrote after it; None: no overlap.
        tagger: A pipeline of spaCy.
        processes: How many share the texts.

    Returns:
        The means, and the metrics of each text.

    Raises, Warns:
        As ``metrics.entities`` and :func:`text_rows`; a prompt has no reference.
    """
    from textgamut.metrics.entities import entity_metrics, find_entities

    words = np.array([count_words(text) for text in texts["text"]])
    found = find_entities(list(texts["text"]), tagger, processes=processes)
    of_references = None
    if references is not None:
        rows = prompt_rows(texts["prompt_id"], references["id"])
        named = find_entities(list(references["text"]), tagger, processes=processes)
        of_references = [named[row] for row in rows]
    metrics = entity_metrics(found, words, of_references)
    columns = {"information_density": metrics.information_density}
    if metrics.entity_overlap is not None:
        columns["entity_overlap"] = metrics.entity_overlap
    return text_rows(columns), columns


def similarity_scores(
    texts: pd.DataFrame, features: ArrayLike, references: pd.DataFrame, reference_features: ArrayLike
) -> tuple[list[Row], Columns]:
    """Score texts by their likeness to the references of their prompts: S-BERT and BLEU.

    Args:
        texts: ``prompt_id``, ``text``.
        features: (N, d), row i for text i.
        references: ``id`` of a prompt, ``text`` that a human wrote after it.
        reference_features: (M, d), row i for reference i.

    Returns:
        The means, and both of each text; NaN for an empty one.

    Raises, Warns:
        As ``metrics.similarity`` and :func:`text_rows`; a prompt has no reference.
    """
    from textgamut.metrics.similarity import bleu, cosine_similarity

    rows = prompt_rows(texts["prompt_id"], references["id"])
    columns = {
        "sbert": cosine_similarity(features, np.asarray(reference_features)[rows]),
        "bleu": bleu(list(texts["text"]), list(references["text"].iloc[rows])),
    }
    empty = [not text.strip() for text in texts["text"]]
    for values in columns.values():
        values[empty] = np.nan
    return text_rows(columns), columns


def judge_scores(verdict: Judgements) -> tuple[list[Row], Columns]:
    """Return a judge's verdict as scores: the means, and those of each text; diversity has none of a text.

    ``n`` is the number of texts, also of the diversity, which is a mean over batches of them.

    Warns:
        As :func:`text_rows`.
    """
    columns = {
        f"judge_{name}": getattr(verdict, name) for name in ("coherence", "insightfulness", "plausibility")
    }
    rows = text_rows(columns) + text_rows({"judge_diversity": verdict.diversity})
    return [row | {"n": len(verdict.coherence)} for row in rows], columns


def text_table(
    cell: Mapping[str, Any], texts: pd.DataFrame, scores: Sequence[pd.DataFrame], metrics: Sequence[str]
) -> pd.DataFrame:
    """Join the metrics of the single texts of a cell: one row per text.

    Args:
        cell: ``model``, ``decoding``, ``seed``.
        texts: ``id``, ``prompt_id``, ``text``.
        scores: Tables with ``id`` and a column for each metric, in any order of rows.
        metrics: Those that are kept; NaN if no table has it.

    Returns:
        ``model``, ``decoding``, ``seed``, ``id``, ``prompt_id``, ``words``, and the metrics (float64).
    """
    frame = texts.assign(**cell, words=[count_words(text) for text in texts["text"]])
    for table in scores:
        frame = frame.merge(table, on="id", how="left", validate="one_to_one")
    present = {name: frame.get(name, np.nan) for name in metrics}
    kept = frame[["model", "decoding", "seed", "id", "prompt_id", "words"]]
    return kept.assign(**present).astype(dict.fromkeys(metrics, "float64"))


def prompt_rows(prompt_ids: pd.Series[Any], ids: pd.Series[Any]) -> NDArray[np.intp]:
    """Return the row of each text's prompt in a table of prompts, or of what humans wrote after them.

    Args:
        prompt_ids: (N,) prompt of each text.
        ids: The table's ids, each once.

    Raises:
        TextgamutError: A prompt is not in the table; the message names the first such text.
    """
    import pandas as pd

    wanted = pd.Index(prompt_ids)
    rows: NDArray[np.intp] = pd.Index(ids).get_indexer(wanted)
    if (missing := rows < 0).any():
        row = int(missing.argmax())
        raise TextgamutError(
            f"text {row}: its prompt {wanted[row]!r} is not in the table of prompts or references"
        )
    return rows


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
