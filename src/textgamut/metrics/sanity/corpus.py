"""What the checks compare: passages of real texts with topics, from which both sides are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.language import ENGLISH, joined_words, words_end_in
from textgamut.text import cut_pieces, split_words


@dataclass(frozen=True)
class Passages:
    """N passages, such as those of one side, with their features."""

    features: NDArray[np.float32]
    """(N, d)."""
    texts: Sequence[str]
    """N texts."""
    language: str = ENGLISH

    def take(self, rows: NDArray[np.integer]) -> Passages:
        """Return the texts in some rows."""
        return Passages(self.features[rows], [self.texts[row] for row in rows], self.language)

    def words(self, texts: Sequence[str] | None = None) -> list[list[str]]:
        """Return the words of the texts, or of others in the same language."""
        words_end = words_end_in(self.language)
        return [split_words(text, words_end) for text in (self.texts if texts is None else texts)]


@dataclass(frozen=True)
class Corpus:
    """Passages of real texts, from which the checks draw both sides: no passage is on both.

    A text may give passages to both sides. If each text were on one side only, its passages would lack their
    nearest neighbours on the other, and two halves of one corpus would not be of one distribution.
    """

    passages: Passages
    shortened: Passages
    """The first half of the words of each passage of the perfect model's topics."""
    shortened_rows: NDArray[np.int64]
    """The rows of these passages, ascending."""
    topics: Sequence[str | None]
    """The topic of each passage, None if unknown."""
    outliers: Passages
    """Texts that are far from all passages and from each other."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """Sizes and topics of the checks."""

    main: tuple[str, ...]
    """Topics of the perfect model."""
    mode: tuple[str, ...]
    """Topics that a model lacks or invents."""
    n: int = 1000
    """Number of texts on each side."""
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    """Numbers of texts of the checks of sample size."""
    dimensions: tuple[int, ...] = (8, 32, 128)
    """Dimensions of projected features."""
    repeats: int = 5
    """Number of draws, two or more."""
    seed: int = 0


def cut_passages(texts: Sequence[str], words: int, language: str = ENGLISH) -> list[tuple[int, str]]:
    """Cut texts into passages of a number of words that do not overlap; what remains of a text is left out.

    Of equal passages, the first is kept. Words end as :func:`textgamut.language.words_end_in` says.

    Returns:
        The number of the text, from 0, and the passage, for each passage.
    """
    first: dict[str, int] = {}
    for number, text in enumerate(texts):
        for passage in cut_pieces(text, words, words_end_in(language)):
            first.setdefault(passage, number)
    return [(number, passage) for passage, number in first.items()]


def choose_passages(
    passages: list[tuple[int, str]], topics: list[str | None], most: int, seed: int
) -> list[tuple[int, str]]:
    """Return all passages with a topic, and passages of random other articles up to ``most`` in all.

    If more than ``most`` passages have a topic, these many random ones are returned: of each topic as many
    as of the others, or all that it has.
    """
    with_topic = [passage for passage in passages if topics[passage[0]] is not None]
    if len(with_topic) > most:
        return _even(with_topic, [str(topics[article]) for article, _ in with_topic], most, seed)
    articles = dict.fromkeys(article for article, _ in passages)
    number = Counter(article for article, _ in passages)
    order = np.random.default_rng(seed).permutation([a for a in articles if topics[a] is None])
    chosen = {article for article in articles if topics[article] is not None}
    room = most - sum(number[article] for article in chosen)
    for article in order:
        room -= number[article]
        if room < 0:
            break
        chosen.add(article)
    return [passage for passage in passages if passage[0] in chosen]


def _even(
    passages: list[tuple[int, str]], topics: Sequence[str], most: int, seed: int
) -> list[tuple[int, str]]:
    """Return ``most`` random passages, of each topic as many as of the others or all, in their order."""
    taken: Counter[str] = Counter()
    places = []
    for row in np.random.default_rng(seed).permutation(len(passages)):
        places.append((taken[topics[row]], int(row)))
        taken[topics[row]] += 1
    return [passages[row] for row in sorted(row for _, row in sorted(places)[:most])]


def degenerate_texts(
    texts: Sequence[str], count: int, words: int, seed: int = 0, language: str = ENGLISH
) -> list[str]:
    """Return texts that repeat one rare word: loops, as models produce, that resemble no text of a corpus.

    Args:
        texts: The corpus. The words are those that occur in one text, without digits: of five letters or more
            and in lower case, or of two characters or more in a language whose words end at boundaries.
        count: Number of texts, each with another word.
        words: Number of words of each.
        seed: Seed of the choice of words.
        language: Language of the texts.

    Raises:
        TextgamutError: If the corpus has too few such words.
    """
    words_end = words_end_in(language)
    frequency = Counter(word for text in texts for word in set(split_words(text, words_end)))
    once = [word for word, times in frequency.items() if times == 1]
    if words_end == "at-boundaries":  # neither upper case nor, with combining marks, letters only
        rare = [w for w in once if len(w) >= 2 and not any(map(str.isdigit, w))]
    else:
        rare = [w for w in once if len(w) >= 5 and w.isalpha() and w.islower()]
    if len(rare) < count:
        raise DataError(f"{count} rare words are needed for the outliers, but the texts have {len(rare)}")
    chosen = np.random.default_rng(seed).choice(sorted(rare), count, replace=False)
    return [joined_words([str(word)] * words, language) for word in chosen]
