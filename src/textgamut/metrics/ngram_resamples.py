"""Metrics of n-grams and of compression, for many resamples of the texts of two models."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.features.reduce import blocks
from textgamut.language import ENGLISH, words_end_in
from textgamut.metrics import compression, ngram
from textgamut.metrics.statistic import Masks, Statistic, Values
from textgamut.text import count_words

ORDERS = (1, 2, 3, 4)
"""Orders of the n-grams of Distinct-n and of the n-gram diversity."""

Tokens = Sequence[Sequence[Hashable]]


class Grams:
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


class _SelfBleu:
    """Self-BLEU of many sets of the same texts, see :func:`metrics.ngram.self_bleu`.

    A text matches the v-th occurrence of an n-gram if another text of the set has it v times: so if two or
    more of the set do.
    """

    def __init__(self, tokens: Tokens, counts: Sequence[Any], sample: float | None) -> None:
        self.lengths = np.array([len(text) for text in tokens])
        self.repeated = [_repeated(of) for of in counts]
        self.sample = sample

    def __call__(self, masks: Masks) -> dict[str, NDArray[np.float64]]:
        largest = max(len(self.lengths), *(of.shape[0] for of in self.repeated))
        parts = [self._means(masks[part]) for part in blocks(len(masks), largest)]
        return {"self_bleu": np.concatenate(parts)}

    def _means(self, masks: Masks) -> NDArray[np.float64]:
        chosen = np.ascontiguousarray(masks.T, dtype=np.float32)
        log_precision, some_match = np.zeros(chosen.shape), np.zeros(chosen.shape, bool)
        for n, repeated in zip(ORDERS, self.repeated, strict=True):
            matches = (repeated.T @ (repeated @ chosen >= 2).astype(np.float32)).astype(np.float64)
            some_match |= matches > 0  # of the first order, if of any
            in_text = np.maximum(self.lengths - n + 1, 1)[:, None]
            log_precision += np.log(np.where(matches > 0, matches, ngram.SMOOTHING) / in_text)
        scores = np.where(some_match, self._penalties(masks) * np.exp(log_precision / len(ORDERS)), 0)
        scored = _sampled(masks, self.sample).T
        with np.errstate(invalid="ignore"):
            found = np.where(scored, scores, 0).sum(axis=0) / scored.sum(axis=0)
        return np.where(masks.sum(axis=1) > 1, found, math.nan)

    def _penalties(self, masks: Masks) -> NDArray[np.float64]:
        """Return the brevity penalty of each text in each set: the other text closest in length decides."""
        lengths, place = np.unique(self.lengths, return_inverse=True)
        counts = np.stack([masks[:, place == number].sum(axis=1) for number in range(len(lengths))])
        penalties = np.empty(counts.shape)
        for number, length in enumerate(lengths):
            nearest = np.argsort(np.abs(lengths - length), kind="stable")  # of two, the shorter one
            others = counts[nearest] > (nearest == number)[:, None]
            closest = lengths[nearest[others.argmax(axis=0)]]
            penalties[number] = np.exp(np.minimum(0, 1 - closest / max(length, 1)))
        return penalties[place]


def _repeated(counts: Any) -> Any:
    """Return which texts have an n-gram v times or more: a row for each n-gram and v that two texts reach."""
    from scipy.sparse import vstack

    found = [counts[:0].astype(np.float32)]
    while (reached := counts > len(found) - 1).nnz:
        reached = reached[np.diff(reached.indptr) > 1]
        if not reached.shape[0]:
            break
        found.append(reached.astype(np.float32))
    return vstack(found, format="csr")


def _sampled(masks: Masks, share: float | None) -> Masks:
    """Return the texts of each set that are scored, those that :func:`metrics.ngram.self_bleu` draws."""
    if share is None:
        return masks
    found = np.zeros_like(masks)
    for own, mask in zip(found, masks, strict=True):
        rows = np.flatnonzero(mask)
        own[rows[ngram.sampled_texts(len(rows), share, 0)]] = True
    return found


class _Homogenization:
    """The mean ROUGE-L of many sets of the same texts, over pairs of them, all or a sample."""

    def __init__(self, texts: Sequence[str], language: str) -> None:
        from scipy.sparse import csr_array

        tokens = [compression.rouge_tokens(text, language) for text in texts]
        found = np.array(list(compression.alike_pairs(tokens)))
        places = found[:, 0].astype(np.intp), found[:, 1].astype(np.intp)
        shape = (len(texts), len(texts))
        self.alike, self.compared = (
            csr_array((of, places), shape=shape) for of in (found[:, 2], np.ones(len(found)))
        )

    def __call__(self, masks: Masks) -> NDArray[np.float64]:
        means = []
        for part in blocks(len(masks), masks.shape[1]):
            chosen = np.ascontiguousarray(masks[part].T, dtype=np.float64)
            total, pairs = (((of @ chosen) * chosen).sum(axis=0) for of in (self.alike, self.compared))
            means.append(total / pairs)
        return np.concatenate(means)


def _information(counts: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return count · log(count) of each count, 0 for none."""
    exact = counts.astype(np.float64)
    return exact * np.log(np.where(exact > 0, exact, 1))


def prepare_ngram(
    texts: Sequence[str],
    tokenizer: Any = None,
    self_bleu_sample: float | None = None,
    language: str = ENGLISH,
) -> tuple[Statistic, Statistic]:
    """Prepare the n-gram metrics of sets of texts, of two models.

    Args:
        texts: The pooled texts.
        tokenizer: As for :func:`textgamut.metrics.ngram.score`.
        self_bleu_sample: As for :func:`textgamut.metrics.ngram.score`.
        language: Language of the texts.
    """
    tokens: Tokens = ngram.tokens_of(texts, tokenizer, language)
    grams = {n: Grams(tokens, n) for n in ORDERS}

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

    self_bleu = _SelfBleu(tokens, [grams[n].counts for n in ORDERS], self_bleu_sample)
    return (
        Statistic(lambda masks: _of_both(of_set, masks, ~masks), part=lambda _, texts: of_set(texts)),
        Statistic(lambda masks: _of_both(self_bleu, masks, ~masks), part=lambda _, texts: self_bleu(texts)),
    )


def prepare_compression(
    texts: Sequence[str], references: Sequence[str], language: str = ENGLISH
) -> tuple[Statistic, Statistic]:
    """Prepare the metrics of compression of two models, at equal length.

    Both sets of a resample are cut to the number of words of the shortest of them and of the references, by
    leaving out their last texts; a part of one model's texts to the same share of the references' words.
    Homogenization is the mean over pairs of the pooled texts that are both in a set.

    Args:
        texts: The pooled texts.
        references: The references.
        language: Language of the texts.
    """
    end = words_end_in(language)
    words = np.array([count_words(text, end) for text in texts], dtype=np.int64)
    most = sum(count_words(text, end) for text in references)
    tokens = ngram.tokens_of(texts, language=language)
    grams = {n: Grams(tokens, n) for n in ORDERS}
    homogenization = _Homogenization(texts, language)

    def cut(masks: Masks) -> tuple[Masks, Masks]:
        totals = [np.where(side, words, 0).cumsum(axis=1) for side in (masks, ~masks)]
        least = np.minimum(most, np.minimum(totals[0][:, -1], totals[1][:, -1]))[:, None]
        return masks & (totals[0] <= least), ~masks & (totals[1] <= least)

    def cut_part(masks: Masks) -> Masks:
        share = masks.sum(axis=1, keepdims=True) / masks.any(axis=0).sum()
        within: Masks = np.where(masks, words, 0).cumsum(axis=1) <= share * most
        return masks & within

    def of_set(masks: Masks) -> dict[str, NDArray[np.float64]]:
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [of.distinct(masks) / (masks @ of.lengths) for of in grams.values()]
            return {
                "ngram_diversity": np.sum(shares, axis=0),
                "self_repetition": grams[4].repeated(masks),
                "homogenization": homogenization(masks),
            }

    def ratio(masks: Masks) -> dict[str, NDArray[np.float64]]:
        found = [
            compression.compression_ratio([texts[row] for row in np.flatnonzero(mask).tolist()])
            for mask in masks
        ]
        return {"compression_ratio": np.array(found)}

    return (
        Statistic(lambda masks: _of_both(of_set, *cut(masks)), part=lambda _, texts: of_set(cut_part(texts))),
        Statistic(
            lambda masks: _of_both(ratio, *cut(masks)),
            slow=True,
            part=lambda _, texts: ratio(cut_part(texts)),
        ),
    )


def _of_both(
    of_set: Callable[[Masks], dict[str, NDArray[np.float64]]], first: Masks, second: Masks
) -> Values:
    found = [of_set(side) for side in (first, second)]
    return {name: np.stack([of_side[name] for of_side in found]) for name in found[0]}
