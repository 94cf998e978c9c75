"""N-gram metrics: Self-BLEU, Distinct-n, Rep-n, diversity and unigram entropy, counted exactly.

Sources: PR section 5.2 and appendix A (Self-BLEU, corpus Distinct-n); NW section 4.2 (Distinct-n and Rep-n of
a text); MC appendix A (diversity); Papineni et al. 2002 and Zhu et al. 2018 (BLEU, Self-BLEU); Zhang et al.
2018 (entropy); Liu et al. 2022 (expectation-adjusted Distinct).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut import validation
from textgamut.errors import DataError
from textgamut.language import ENGLISH, resolve_language, words_end_in
from textgamut.metrics.rows import Scores, computed_rows, text_rows
from textgamut.text import split_words

REVISION = 2
"""Increase when the same tokens or texts produce different values."""

LARGEST_N = 1000
"""Largest order of Self-BLEU, whose time grows with it also where no text has so many tokens."""

SMOOTHING = 0.1
"""Number of matches used for an order without matches: NLTK's smoothing method 1."""


def self_bleu(
    token_lists: Sequence[Sequence[Hashable]], n: int = 4, sample: float | None = None, seed: int = 0
) -> float:
    """Return Self-BLEU: the mean BLEU of each text against all others (PR section 5.2; Zhu et al. 2018).

    The scores equal NLTK's ``sentence_bleu`` with uniform weights up to ``n``, smoothing method 1 and the
    closest-length brevity penalty, but take time linear in the number of tokens, except for sorting: the
    largest count of an n-gram in the other texts is the largest in the corpus, or the second largest if only
    the scored text has the largest. High values indicate repetition across texts, low values diversity.

    As in NLTK, an empty text scores 0 but is still a reference of length 0, and a text that is too short for
    an order has 0.1 of 1 match for it: identical texts score 1 only if they have ``n`` or more tokens.

    Args:
        token_lists: Two or more texts, each a list of tokens (numbers or strings, compared by ``==``).
        n: Largest order of n-grams, from 1 to 1000.
        sample: Share of the texts to score, in (0, 1], at least one text; None scores all. The paper uses
            0.2. All texts are references in either case, so a share saves little time.
        seed: Seed of the selection of texts if ``sample`` is given.

    Returns:
        The mean score, in [0, 1]. Without ``sample``, it does not depend on the order of the texts. Peak
        memory is 80 to 220 bytes per token.

    Raises:
        TextgamutError: If there are fewer than two texts, a text is a single string, or ``n`` or ``sample``
            is out of range.
    """
    token_lists = validation.token_lists("token_lists", token_lists)
    n, seed = validation.integer("n", n, 1, LARGEST_N), validation.seed("seed", seed)
    texts = len(token_lists)
    if texts < 2:
        raise DataError(
            f"token_lists: Self-BLEU compares texts with each other: two or more are needed, not {texts}"
        )
    if sample is not None and not 0 < (sample := validation.number("sample", sample)) <= 1:
        raise DataError(f"sample = {sample}: must be a share of the texts in (0, 1], or None for all")

    lengths = np.array([len(tokens) for tokens in token_lists])
    vocabulary: dict[Hashable, int] = {}
    for token in chain.from_iterable(token_lists):
        vocabulary.setdefault(token, len(vocabulary))
    ids = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(token_lists)), np.int64, lengths.sum())
    text_of = np.repeat(np.arange(texts), lengths)
    ends = np.cumsum(lengths)

    grams, starts = ids, np.arange(len(ids))
    log_precision = np.zeros(texts)
    some_match = np.zeros(texts, dtype=bool)
    for order in range(1, n + 1):
        if order > 1:
            inside = starts + order <= ends[text_of[starts]]
            grams, starts = grams[inside], starts[inside]
            grams = grams * len(vocabulary) + ids[starts + order - 1]
        grams, starts, matches = _matches(grams, starts, text_of, texts)
        if order == 1:
            some_match = matches > 0
        in_text = np.maximum(lengths - order + 1, 1)
        log_precision += np.log(np.where(matches > 0, matches, SMOOTHING) / in_text)
    closest = _closest_other(lengths)
    penalty = np.exp(np.minimum(0, 1 - closest / np.maximum(lengths, 1)))
    scores = np.where(some_match, penalty * np.exp(log_precision / n), 0)

    if sample is not None:
        scores = scores[sampled_texts(texts, sample, seed)]
    return math.fsum(scores) / len(scores)  # a sum that does not depend on the order


def sampled_texts(texts: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return the texts, one or more, that a share of Self-BLEU scores."""
    return np.random.default_rng(seed).choice(texts, max(1, round(share * texts)), replace=False)


def distinct_n(token_lists: Sequence[Sequence[Hashable]], n: int) -> float:
    """Return the share of distinct n-grams among all n-grams of a corpus (PR; Li et al. 2016).

    N-grams do not cross text boundaries. The value decreases with the size of the corpus, so compare only
    corpora of the same size.

    Args:
        token_lists: Texts, each a list of tokens.
        n: Order of the n-grams, 1 or more.

    Returns:
        The share, in (0, 1].

    Raises:
        TextgamutError: If no text has ``n`` tokens, a text is a single string, or ``n`` is below 1.
    """
    n, token_lists = validation.integer("n", n, 1), validation.token_lists("token_lists", token_lists)
    total = sum(max(0, len(tokens) - n + 1) for tokens in token_lists)
    if not total:
        raise DataError(f"token_lists, n: Distinct-{n}: none of {len(token_lists)} texts has {n} tokens")
    return len(set(chain.from_iterable(ngrams(tokens, n) for tokens in token_lists))) / total


def text_distinct_n(tokens: Sequence[Hashable], n: int) -> float:
    """Return the number of distinct n-grams of a text over its number of words (NW section 4.2, equation 3).

    Args:
        tokens: The words of the text.
        n: Order of the n-grams, 1 or more. The paper uses 2.

    Returns:
        The quotient, in (0, 1], below 1 for ``n`` above 1; nan for a text of fewer than ``n`` words, because
        the formula's 0 would rate it as the most repetitive of all.

    Raises:
        TextgamutError: If ``tokens`` is a single string, or ``n`` is below 1.
    """
    n, tokens = validation.integer("n", n, 1), validation.values("tokens", tokens, "tokens")
    return len(set(ngrams(tokens, n))) / len(tokens) if len(tokens) >= n else math.nan


def repetition_n(tokens: Sequence[Hashable], n: int) -> float:
    """Return Rep-n, the share of a text's n-grams that are repeats (NW section 4.2, equation 4).

    Args:
        tokens: The words of the text.
        n: Order of the n-grams, 1 or more. The paper uses 4.

    Returns:
        1 - distinct n-grams / all n-grams, in [0, 1); nan for a text of fewer than ``n`` words.

    Raises:
        TextgamutError: If ``tokens`` is a single string, or ``n`` is below 1.
    """
    n, tokens = validation.integer("n", n, 1), validation.values("tokens", tokens, "tokens")
    return 1 - len(set(ngrams(tokens, n))) / (len(tokens) - n + 1) if len(tokens) >= n else math.nan


def diversity(texts: Sequence[str], language: str = ENGLISH) -> float:
    """Return the diversity of a set of texts: the product of 1 - rep-n over n = 2, 3, 4 (MC appendix A).

    Repeats are counted only within a text. For several texts, the numbers of
    distinct n-grams and of all n-grams are summed over the texts before the division.

    Args:
        texts: One or more texts.
        language: Their language. Words in Latin, Greek and Cyrillic letters are split on white space, others
            at Unicode's word boundaries, see ``textgamut.text.split_words``.

    Returns:
        The product, in (0, 1]. The authors' code leaves out each text's last n-gram and rounds rep-n to
        0.01 %; on 1,314 real texts its values differ by less than 0.0002.

    Raises:
        TextgamutError: If no text has four words, or ``texts`` is a single string.
    """
    texts = validation.texts("texts", texts)
    words = tokens_of(texts, language=resolve_language(language, texts))
    product = 1.0
    for n in (2, 3, 4):
        total = sum(max(0, len(tokens) - n + 1) for tokens in words)
        if not total:
            raise DataError(f"texts: diversity: none of {len(words)} texts has the {n} words of a {n}-gram")
        product *= sum(len(set(ngrams(tokens, n))) for tokens in words) / total
    return product


def text_diversity(words: Sequence[Hashable]) -> float:
    """Return the diversity of one text: the product of 1 - rep-n over n = 2, 3, 4 (MC appendix A).

    Args:
        words: The words of the text.

    Returns:
        The product, in (0, 1], equal to ``diversity`` of this text alone; nan for a text of fewer than four
        words, which has no repetition-4.

    Raises:
        TextgamutError: If ``words`` is a single string.
    """
    return math.prod(1 - repetition_n(words, n) for n in (2, 3, 4))


def unigram_entropy(token_lists: Sequence[Sequence[Hashable]]) -> float:
    """Return the Shannon entropy of the tokens of a set of texts (Ent-1 of Zhang et al. 2018).

    It is computed from the shares of the tokens in the set, in nats. High values indicate a diverse choice of
    words. This estimate is too low, to first order by (K - 1) / (2 N) for N tokens drawn from K different
    ones, and by more if many of them are rare, as words are: compare only sets of the same number of tokens.

    Args:
        token_lists: Texts, each a list of tokens.

    Returns:
        The entropy, from 0, if all tokens are the same, to the logarithm of the number of different tokens,
        if all are equally frequent. It does not depend on the order of the texts or tokens.

    Raises:
        TextgamutError: If there is no token, or a text is a single string.
    """
    token_lists = validation.token_lists("token_lists", token_lists)
    counts = Counter(chain.from_iterable(token_lists))
    total = counts.total()
    if not total:
        raise DataError(f"token_lists: unigram entropy: none of {len(token_lists)} texts has a token")
    return math.fsum(count / total * math.log(total / count) for count in counts.values())


def expectation_adjusted_distinct(token_lists: Sequence[Sequence[Hashable]], vocabulary: int) -> float:
    """Return the number of distinct tokens over that expected of random tokens (EAD, Liu et al. 2022).

    C tokens drawn uniformly from a vocabulary of V contain V (1 - ((V - 1) / V)^C) different ones on average.
    Unlike Distinct-1, the quotient of texts drawn in this way does not decrease with their length. That of
    real texts still does, because few words are frequent.

    Args:
        token_lists: Texts, each a list of tokens.
        vocabulary: Number V of tokens that are possible, at least that of the distinct ones in the texts; the
            same for all sets that are compared. The paper uses the size of a tokenizer's vocabulary.

    Returns:
        The quotient, in (0, e / (e - 1)]: above 1 where tokens repeat less than random ones.

    Raises:
        TextgamutError: If there is no token, a text is a single string, or ``vocabulary`` is below the number
            of distinct tokens.
    """
    token_lists = validation.token_lists("token_lists", token_lists)
    vocabulary = validation.integer("vocabulary", vocabulary)
    total = sum(map(len, token_lists))
    if not total:
        raise DataError(
            f"token_lists: expectation-adjusted Distinct: none of {len(token_lists)} texts has a token"
        )
    distinct = len(set(chain.from_iterable(token_lists)))
    if vocabulary < distinct:
        raise DataError(f"vocabulary = {vocabulary}: the texts have {distinct} distinct tokens")
    return float(over_expected(distinct, total, vocabulary))


def over_expected(distinct: Any, total: Any, vocabulary: int) -> Any:
    """Return numbers of distinct tokens over those expected of as many random tokens."""
    if vocabulary == 1:
        return distinct / 1.0  # the logarithm below is infinite
    # Without expm1 and log1p, digits would be lost to the difference from 1 in a large vocabulary.
    return distinct / (-vocabulary * np.expm1(total * math.log1p(-1 / vocabulary)))


def score(
    texts: Sequence[str],
    tokenizer: Any = None,
    self_bleu_sample: float | None = None,
    language: str = ENGLISH,
) -> Scores:
    """Compute the n-gram metrics of generated texts.

    Args:
        texts: N texts.
        tokenizer: A transformers tokenizer, for Self-BLEU, corpus distinct-n, EAD and unigram entropy.
            Defaults to words, which the other metrics always use; words have no vocabulary, which EAD needs.
        self_bleu_sample: Share of the texts that Self-BLEU scores. Defaults to all texts.
        language: Language of the texts, which decides where words end.

    Returns:
        Rows of Self-BLEU-4, distinct-1 to 4, EAD, unigram entropy, the means over the texts of their
        distinct-2 and repetition-4, and the diversity of the corpus; and distinct-2, repetition-4 and
        diversity of each text.

    Warns:
        UserWarning: If texts are too short for a metric, or a metric cannot be computed and has no row.
    """
    words, tokens = tokens_of(texts, language=language), tokens_of(texts, tokenizer, language)
    columns = {
        "text_distinct_2": np.array([text_distinct_n(text, 2) for text in words]),
        "repetition_4": np.array([repetition_n(text, 4) for text in words]),
        "diversity": np.array([text_diversity(text) for text in words]),
    }
    corpus: dict[str, Callable[[], float]] = {
        "self_bleu": lambda: self_bleu(tokens, sample=self_bleu_sample),
        **{f"distinct_{n}": partial(distinct_n, tokens, n) for n in (1, 2, 3, 4)},
        "unigram_entropy": lambda: unigram_entropy(tokens),
        "diversity": lambda: diversity(texts, language),
    }
    if tokenizer is not None:
        corpus["ead"] = lambda: expectation_adjusted_distinct(tokens, len(tokenizer))
    rows = computed_rows(len(texts), corpus)
    means = text_rows({name: columns[name] for name in ("text_distinct_2", "repetition_4")})
    return Scores(rows + means, columns)


def tokens_of(
    texts: Sequence[str], tokenizer: Any = None, language: str = ENGLISH
) -> Sequence[Sequence[Any]]:
    """Return the tokens of texts: those of a transformers tokenizer, or the words of their language."""
    if tokenizer is None:
        end = words_end_in(language)
        return [split_words(text, end) for text in texts]
    found: Sequence[Sequence[Any]] = tokenizer(
        list(texts), add_special_tokens=False, split_special_tokens=True
    )["input_ids"]
    return found


def ngrams(tokens: Sequence[Hashable], n: int) -> Iterator[tuple[Hashable, ...]]:
    """Yield the n-grams of a text, in their order."""
    return zip(*(tokens[start:] for start in range(min(n, len(tokens) + 1))), strict=False)


def _matches(
    grams: NDArray[np.int64], starts: NDArray[np.int64], text_of: NDArray[np.int64], texts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Count the n-grams of each text, clipped to their largest count in one of the other texts.

    Args:
        grams: Id of the n-gram of each occurrence.
        starts: Start of each occurrence; ascending within each n-gram.
        text_of: The text of each start.
        texts: Number of texts.

    Returns:
        The n-gram, numbered from 0, and the start of each occurrence, sorted by n-gram; and the number of
        matches of each text.
    """
    order = np.argsort(grams, kind="stable")  # stable: the occurrences in one text stay together
    grams, starts = grams[order], starts[order]
    owner = text_of[starts]
    new_gram = np.diff(grams, prepend=-1) != 0
    pair = np.flatnonzero(new_gram | (np.diff(owner, prepend=-1) != 0))  # a pair is an n-gram in a text
    counts = np.diff(pair, append=len(grams))
    new_gram, owner = new_gram[pair], owner[pair]
    gram, first = np.cumsum(new_gram) - 1, np.flatnonzero(new_gram)

    largest = np.maximum.reduceat(counts, first)[gram]
    at_largest = counts == largest
    alone = np.add.reduceat(at_largest.astype(np.int64), first)[gram] == 1
    second = np.maximum.reduceat(np.where(at_largest, 0, counts), first)[gram]
    clipped = np.where(at_largest & alone, second, counts)
    return np.repeat(gram, counts), starts, np.bincount(owner, weights=clipped, minlength=texts)


def _closest_other(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length of the other text that is closest in length, the shorter of two equally close."""
    order = np.argsort(lengths, kind="stable")
    ascending = lengths[order]
    # Neighbours in order of length; the first and the last text have only one.
    below = np.concatenate([ascending[1:2], ascending[:-1]])
    above = np.concatenate([ascending[1:], ascending[-2:-1]])
    closest = np.empty_like(lengths)
    closest[order] = np.where(np.abs(ascending - below) <= np.abs(above - ascending), below, above)
    return closest
