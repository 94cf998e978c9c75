"""Redundancy of a set of texts: compression ratio, n-gram diversity, self-repetition and homogenization.

All of them depend on the amount of text: compare only sets of the same number of words (``cut_to_words``).

Source: Shaib et al. 2024, "Standardizing the measurement of text diversity" (arXiv 2403.00553) and its
package ``diversity``, here version 0.3.1. The functions state where they differ from it.
"""

from __future__ import annotations

import gzip
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter

import numpy as np

from textgamut import validation
from textgamut.errors import DataError
from textgamut.language import ENGLISH, resolve_language, words_end_in
from textgamut.metrics.ngram import distinct_n, ngrams, tokens_of
from textgamut.metrics.rows import Scores, computed_rows
from textgamut.text import count_words, cut_continuation, split_words

REVISION = 1
"""Increase when the same texts produce different values."""

_ROUGE_TOKEN = re.compile("[a-z0-9]+")
_LETTERS = re.compile(r"[^\W_]+")


def compression_ratio(texts: Sequence[str]) -> float:
    """Return how many times smaller gzip makes the texts (Shaib et al. 2024).

    The texts are joined with spaces, encoded in UTF-8 and compressed with gzip at level 9. High values
    indicate redundancy within and between texts, but gzip finds a repeat only if it is at most 32 KB back,
    about 20 texts of 256 English words. The order of the texts therefore matters where neighbours are alike:
    1,314 real texts (1.2 MB) in the order of the articles that they are from have 2.69, shuffled 2.472 with a
    standard deviation of 0.002. Compare sets in a random order, or in the same order of their prompts, and of
    the same number of words: the value increases with the amount of text, from 2.39 for 100 of these texts to
    2.46 for 500.

    The package compresses the compressed data once more. On these texts the difference is 0.04 %, but it is
    large on very redundant ones.

    Args:
        texts: One or more texts.

    Returns:
        Bytes before compression / bytes after it, above 0 and below 1,033. It is below 1 for a text of a few
        words, because gzip adds 18 bytes. It depends slightly on the implementation of zlib.

    Raises:
        TextgamutError: If all texts are empty, or ``texts`` is a single string.
    """
    texts = validation.texts("texts", texts)
    joined = " ".join(texts).encode()
    if not any(texts):
        raise DataError(f"texts: compression ratio: none of {len(texts)} texts has a character")
    return len(joined) / len(gzip.compress(joined, mtime=0))


def ngram_diversity(token_lists: Sequence[Sequence[Hashable]], n: int = 4) -> float:
    """Return the sum of Distinct-1 to Distinct-n of a set of texts (Shaib et al. 2024; Meister et al. 2023).

    N-grams do not cross text boundaries, as in ``distinct_n``, so the order of the texts does not matter. The
    package joins the texts first, so it computes the value of a single list of all tokens: 2.641 instead of
    2.637 for 1,314 real texts of 155 words.

    Args:
        token_lists: Texts, each a list of tokens. The package splits at single spaces.
        n: Largest order of the n-grams, 1 or more.

    Returns:
        The sum, in (0, n]. High values indicate diversity. It decreases with the amount of text.

    Raises:
        TextgamutError: If no text has ``n`` tokens, a text is a single string, or ``n`` is below 1.
    """
    n, token_lists = validation.integer("n", n, 1), validation.token_lists("token_lists", token_lists)
    return math.fsum(distinct_n(token_lists, order) for order in range(1, n + 1))


def self_repetition(token_lists: Sequence[Sequence[Hashable]], n: int = 4) -> float:
    """Return how often the long n-grams of a text occur in other texts of the set (Salkar et al. 2022).

    The score of a text is ln(1 + S), where S sums, over its distinct n-grams, the number of other texts that
    have the n-gram. Repeats within a text do not count. The value equals the package's.

    Args:
        token_lists: Two or more texts, each a list of tokens. The package splits at white space.
        n: Order of the n-grams, 1 or more.

    Returns:
        The mean score, 0 or more: 0 if no two texts share an n-gram. High values indicate repetition. It
        increases with the number and the length of the texts, and does not depend on their order.

    Raises:
        TextgamutError: If there are fewer than two texts, none has ``n`` tokens, a text is a single string,
            or ``n`` is below 1.
    """
    n, token_lists = validation.integer("n", n, 1), validation.token_lists("token_lists", token_lists)
    _check_two("token_lists", token_lists, "self-repetition")
    texts_with = Counter(chain.from_iterable(set(ngrams(tokens, n)) for tokens in token_lists))
    if not texts_with:
        raise DataError(f"token_lists, n: self-repetition: none of {len(token_lists)} texts has {n} tokens")
    scores = []
    for tokens in token_lists:
        grams = set(ngrams(tokens, n))
        scores.append(math.log1p(sum(map(texts_with.__getitem__, grams)) - len(grams)))
    return math.fsum(scores) / len(scores)  # a sum that does not depend on the order


def homogenization(
    texts: Sequence[str], pairs: int = 100_000, seed: int = 0, language: str = ENGLISH
) -> float:
    """Return how alike the texts are: the mean ROUGE-L of pairs (Padmakumar and He 2024; Shaib et al. 2024).

    ROUGE-L is the F1 score of the longest common subsequence: 2 LCS / (tokens of one text + of the other), 0
    if one of them has none. Tokens are those of ``rouge_tokens``, for texts in Latin script. All pairs are
    compared if there are at most ``pairs`` (447 texts by default), else a random sample without replacement.
    The sampling adds a standard error of the scores' standard deviation over the root of ``pairs``: by
    default 0.0001 for real texts of 256 words, whose standard deviation is 0.03.

    With all pairs the value equals the package's, except that the package returns 1 instead of 0 if no two
    texts have a common token.

    Args:
        texts: Two or more texts.
        pairs: Largest number of pairs to compare, 1 or more.
        seed: Seed of the sample.
        language: Language of the texts.

    Returns:
        The mean, in [0, 1]: 1 if all texts have the same tokens, 0 if no two have a common one. It increases
        with the length of the texts. It depends on their order only if pairs are sampled.

    Raises:
        TextgamutError: If there are fewer than two texts, none has a token, ``texts`` is a single string, or
            ``pairs`` is below 1.
    """
    texts = validation.texts("texts", texts)
    language = resolve_language(language, texts)
    pairs, seed = validation.integer("pairs", pairs, 1), validation.seed("seed", seed)
    _check_two("texts", texts, "homogenization")
    token_lists = [rouge_tokens(text, language) for text in texts]
    if not any(token_lists):
        letters = "Latin letters" if language == ENGLISH else "letters"
        raise DataError(
            f"texts: homogenization: none of {len(texts)} texts has a word of {letters} or digits"
        )
    scores = [score for _, _, score in alike_pairs(token_lists, pairs, seed)]
    return math.fsum(scores) / len(scores)


def alike_pairs(
    token_lists: Sequence[Sequence[str]], pairs: int = 100_000, seed: int = 0
) -> Iterator[tuple[int, int, float]]:
    """Yield pairs of rows, all or a sample, and the ROUGE-L of their tokens, see :func:`homogenization`."""
    for row, group in groupby(_pairs(len(token_lists), pairs, seed), itemgetter(0)):
        tokens = token_lists[row]
        positions = _positions(tokens)
        for _, other in group:
            total = len(tokens) + len(token_lists[other])
            common = _longest_common_subsequence(positions, len(tokens), token_lists[other])
            yield row, other, 2 * common / total if total else 0.0


def rouge_tokens(text: str, language: str = ENGLISH) -> list[str]:
    """Return the tokens of ROUGE: lower case, runs of letters and digits, no stemming.

    In English these are ASCII letters, and the tokens equal those of the package ``rouge_score``, which would
    split "für" and leave nothing of a Greek text. Other languages have their own letters, and those that are
    not written with spaces have the words of :func:`textgamut.text.split_words`.

    Args:
        text: The text.
        language: Its language.
    """
    if words_end_in(language) == "at-boundaries":
        return split_words(text.lower(), "at-boundaries")
    return (_ROUGE_TOKEN if language == ENGLISH else _LETTERS).findall(text.lower())


def cut_to_words(texts: Sequence[str], words: int, language: str = ENGLISH) -> list[str]:
    """Take texts in their order until they have a number of words together.

    The measures of this module depend on the amount of text: more text repeats more, so that the set with the
    longer texts seems less diverse (Shaib et al. 2024). Cut both sets to the smaller of their totals. A list
    in an order that means something must be shuffled first.

    Args:
        texts: The texts.
        words: Total number of words, 1 or more.
        language: Language of the texts, which decides where words end.

    Returns:
        The first texts unchanged, except that the last one ends after the last word that is taken. All texts
        if they have fewer words.

    Raises:
        TextgamutError: If ``texts`` is a single string, or ``words`` is below 1.
    """
    texts, words = validation.texts("texts", texts), validation.integer("words", words, 1)
    cut, missing, end = [], words, words_end_in(resolve_language(language, texts))
    for text in texts:
        length = count_words(text, end)
        cut.append(text if length <= missing else cut_continuation(text, missing, end))
        missing -= min(length, missing)
        if not missing:
            break
    return cut


def score(
    texts: Sequence[str],
    references: Sequence[str] = (),
    words: int | None = None,
    language: str = ENGLISH,
) -> Scores:
    """Compute compression ratio, n-gram diversity, self-repetition and homogenization at equal length.

    Args:
        texts: N texts.
        references: The references, whose number of words is the default of ``words``.
        words: Number of words to which the texts are cut in all: the last texts are left out.
        language: Language of the texts, which decides where words end.

    Warns:
        UserWarning: If the texts have fewer words, or a metric cannot be computed and has no row.
    """
    end = words_end_in(language)
    words = sum(count_words(text, end) for text in references) if words is None else words
    facts = {"words": words}
    if not words:
        warnings.warn("no metrics of compression: a set of texts has no words", stacklevel=2)
        return Scores([], facts=facts)
    found = sum(count_words(text, end) for text in texts)
    if found < words:
        warnings.warn(
            f"the texts have {found} words, fewer than {words}: compare their compression ratio, n-gram "
            "diversity, self-repetition and homogenization only with those of as many words",
            stacklevel=2,
        )
    kept = cut_to_words(texts, words, language)
    tokens = tokens_of(kept, language=language)
    metrics: dict[str, Callable[[], float]] = {
        "compression_ratio": lambda: compression_ratio(kept),
        "ngram_diversity": lambda: ngram_diversity(tokens),
        "self_repetition": lambda: self_repetition(tokens),
        "homogenization": lambda: homogenization(kept, language=language),
    }
    return Scores(computed_rows(len(texts), metrics), facts=facts)


def _check_two(name: str, texts: Sequence[object], metric: str) -> None:
    if len(texts) < 2:
        raise DataError(
            f"{name}: {metric} compares texts with each other: two or more are needed, not {len(texts)}"
        )


def _pairs(texts: int, most: int, seed: int) -> Iterator[tuple[int, int]]:
    """Return all pairs of rows, or a sample of ``most``, sorted by the first and larger row."""
    total = texts * (texts - 1) // 2
    if total <= most:
        numbers = np.arange(total)
    else:
        numbers = np.sort(np.random.default_rng(seed).choice(total, most, replace=False, shuffle=False))
    # Pair number row (row - 1) / 2 + other, for each other < row.
    firsts = np.arange(texts) * (np.arange(texts) - 1) // 2
    rows = np.searchsorted(firsts, numbers, side="right") - 1
    return zip(rows.tolist(), (numbers - firsts[rows]).tolist(), strict=True)


def _positions(tokens: Sequence[str]) -> dict[str, int]:
    """Return, for each token, a number whose bits are the positions of the token."""
    positions: dict[str, int] = {}
    for position, token in enumerate(tokens):
        positions[token] = positions.get(token, 0) | 1 << position
    return positions


def _longest_common_subsequence(positions: dict[str, int], length: int, others: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, from the first text's positions and length.

    Hyyrö 2004, "Bit-parallel LCS-length computation revisited": Python's integers hold a column of the table
    of any length, which takes 20 µs for two texts of 256 words (rapidfuzz, in C++: 9 µs). A bit is 0 where
    the table increases. Bits that are carried past the column never come back.
    """
    column = full = (1 << length) - 1
    for token in others:
        if token in positions:
            matches = column & positions[token]
            column = (column + matches) | (column - matches)
    return length - (column & full).bit_count()
