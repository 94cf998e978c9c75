"""Metrics of n-grams and of compression, for many resamples of the texts of two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.features.reduce import blocks
from textgamut.metrics import compression, ngram
from textgamut.metrics.statistic import Masks, Statistic, Values, recomputed
from textgamut.text import count_words

ORDERS = (1, 2, 3, 4)
"""Orders of the n-grams of Distinct-n and of the n-gram diversity."""

Tokens = Sequence[Sequence[Hashable]]


class _Grams:
    """How often each n-gram of one order occurs in each text.

    Most n-grams occur in one text only: they are summed by text, and the others are counted in each resample.
    """

    def __init__(self, tokens: Tokens, n: int) -> None:
        from scipy.sparse import csr_array

        ids: dict[Hashable, int] = {}
        grams = [[ids.setdefault(gram, len(ids)) for gram in ngram.ngrams(text, n)] for text in tokens]
        flat = np.array([gram for text in grams for gram in text], dtype=np.int64)
        lengths = np.array([len(text) for text in grams], dtype=np.int64)
        places = flat, np.repeat(np.arange(len(grams)), lengths)
        shape = (len(ids), len(grams))
        counts = csr_array((np.ones(len(flat), np.float32), places), shape=shape)
        counts.sum_duplicates()
        shared = np.diff(counts.indptr) > 1
        alone = counts[~shared]
        self.alone = np.bincount(alone.indices, minlength=len(grams)).astype(np.float64)
        self.alone_information = np.bincount(alone.indices, _information(alone.data), len(grams))
        self.counts = counts[shared]
        self.present = self.counts.sign()
        self.lengths = lengths.astype(np.float64)

    def distinct(self, masks: Masks) -> NDArray[np.float64]:
        """Return the number of different n-grams in the texts of each resample."""
        return masks @ self.alone + self._over(self.present, masks, lambda counts: (counts > 0).sum(axis=0))

    def entropy(self, masks: Masks) -> NDArray[np.float64]:
        """Return the entropy of the n-grams of each resample, in nats."""
        total = masks @ self.lengths
        shared = self._over(self.counts, masks, lambda counts: _information(counts).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            found: NDArray[np.float64] = np.log(total) - (masks @ self.alone_information + shared) / total
        return found

    def repeated(self, masks: Masks) -> NDArray[np.float64]:
        """Return the self-repetition of each resample, see :func:`metrics.compression.self_repetition`."""
        own = self.present.sum(axis=0)

        def score(counts: Any) -> Any:
            return np.log1p((self.present.T @ counts - own[:, None]).clip(min=0))

        found = self._over(self.present, masks, score) * masks.T
        mean: NDArray[np.float64] = found.sum(axis=0) / masks.sum(axis=1)
        return mean

    def _over(self, of: Any, masks: Masks, reduce: Callable[..., Any]) -> NDArray[np.float64]:
        """Return a function of how often each n-gram is in each resample (n-grams, S), in blocks of these."""
        parts = [
            reduce(of @ np.ascontiguousarray(masks[part].T, dtype=np.float32))
            for part in blocks(len(masks), max(of.shape))
        ]
        return np.concatenate(parts, axis=-1).astype(np.float64)


def _information(counts: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return count · log(count) of each count, 0 for none."""
    exact = counts.astype(np.float64)
    return exact * np.log(np.where(exact > 0, exact, 1))


def prepare_ngram(
    texts: Sequence[str], tokenizer: Any = None, self_bleu_sample: float | None = None
) -> tuple[Statistic, Statistic]:
    """Prepare the n-gram metrics of sets of texts, of two models.

    Args:
        texts: The pooled texts.
        tokenizer: As for :func:`textgamut.metrics.ngram.score`.
        self_bleu_sample: As for :func:`textgamut.metrics.ngram.score`.
    """
    tokens: Tokens = ngram.tokens_of(texts, tokenizer)
    grams = {n: _Grams(tokens, n) for n in ORDERS}

    def of_set(masks: Masks) -> dict[str, NDArray[np.float64]]:
        found = {}
        for n, of_order in grams.items():
            distinct, total = of_order.distinct(masks), masks @ of_order.lengths
            with np.errstate(invalid="ignore"):
                found[f"distinct_{n}"] = distinct / total
            if n == 1:
                found["unigram_entropy"] = of_order.entropy(masks)
                if tokenizer is not None:
                    found["ead"] = ngram.over_expected(distinct, total, len(tokenizer))
        return found

    def self_bleu(rows: NDArray[np.intp]) -> dict[str, float]:
        return {"self_bleu": ngram.self_bleu([tokens[row] for row in rows.tolist()], sample=self_bleu_sample)}

    return Statistic(lambda masks: _of_both(of_set, masks, ~masks)), recomputed(self_bleu)


def prepare_compression(texts: Sequence[str], references: Sequence[str]) -> tuple[Statistic, Statistic]:
    """Prepare the metrics of compression of two models, at equal length.

    Both sets of a resample are cut to the number of words of the shortest of them and of the references, by
    leaving out their last texts. Homogenization is the mean over pairs of the pooled texts that are both in a
    set.

    Args:
        texts: The pooled texts.
        references: The references.
    """
    words = np.array([count_words(text) for text in texts], dtype=np.int64)
    most = sum(map(count_words, references))
    tokens = [text.split() for text in texts]
    grams = {n: _Grams(tokens, n) for n in ORDERS}
    firsts, seconds, alike = _pairs_alike(texts)

    def cut(masks: Masks) -> tuple[Masks, Masks]:
        totals = [np.where(side, words, 0).cumsum(axis=1) for side in (masks, ~masks)]
        least = np.minimum(most, np.minimum(totals[0][:, -1], totals[1][:, -1]))[:, None]
        return masks & (totals[0] <= least), ~masks & (totals[1] <= least)

    def of_set(masks: Masks) -> dict[str, NDArray[np.float64]]:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [of.distinct(masks) / (masks @ of.lengths) for of in grams.values()]
            homogenization = [
                float(np.mean(alike[mask[firsts] & mask[seconds]], dtype=np.float64))
                if (mask[firsts] & mask[seconds]).any()
                else math.nan
                for mask in masks
            ]
            return {
                "ngram_diversity": np.sum(shares, axis=0),
                "self_repetition": grams[4].repeated(masks),
                "homogenization": np.array(homogenization),
            }

    def ratio(masks: Masks) -> dict[str, NDArray[np.float64]]:
        found = [
            compression.compression_ratio([texts[row] for row in np.flatnonzero(mask).tolist()])
            for mask in masks
        ]
        return {"compression_ratio": np.array(found)}

    return (
        Statistic(lambda masks: _of_both(of_set, *cut(masks))),
        Statistic(lambda masks: _of_both(ratio, *cut(masks)), slow=True),
    )


def _of_both(
    of_set: Callable[[Masks], dict[str, NDArray[np.float64]]], first: Masks, second: Masks
) -> Values:
    found = [of_set(side) for side in (first, second)]
    return {name: np.stack([of_side[name] for of_side in found]) for name in found[0]}


def _pairs_alike(texts: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return pairs of texts, and the ROUGE-L of each."""
    found = np.array(list(compression.alike_pairs(list(map(compression.rouge_tokens, texts)))))
    return found[:, 0].astype(np.intp), found[:, 1].astype(np.intp), found[:, 2]
