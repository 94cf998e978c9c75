"""Regions in which precision and recall are lost: clusters of the missed texts, and what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.language import ENGLISH, joined_words, words_end_in
from textgamut.metrics.missed import EmbeddedTexts, checked_features
from textgamut.text import split_words

REVISION = 1
"""Increase when the same texts produce other regions."""

MOST_REGIONS = 5
"""Maximum number of regions."""
TEXTS_PER_REGION = 8
"""Mean number of missed texts of a region, if there are fewer than ``MOST_REGIONS``."""
PHRASES, EXAMPLES = 5, 3
"""Number of key phrases and of texts of a region."""
WORD = r"(?u)\b\w[\w'\u2019-]*\b"
"""A word of a phrase: letters and digits, with apostrophes and hyphens within."""
LEAST_TEXTS = 2
"""Number of texts of a region that a key phrase is in."""
PRIOR = 0.01
"""Pseudo-count of each phrase, as a share of its count in all texts (Monroe et al. 2008)."""


@dataclass(frozen=True)
class Region:
    """Texts of one side, outside the other side's support, that are close to each other."""

    count: int
    """Number of its texts."""
    share: float
    """Share of all texts of the side."""
    phrases: tuple[str, ...]
    """Words and phrases that are more frequent in it than in the other texts of the side, the clearest first;
    empty if there are none."""
    examples: tuple[tuple[str, str], ...]
    """Id and text of those nearest to its centre."""


def missed_regions(side: EmbeddedTexts, inside: ArrayLike, language: str = ENGLISH) -> list[Region]:
    """Cluster the texts of a side that lie outside the other side's support.

    Args:
        side: N texts, as for :func:`textgamut.metrics.missed.missed_texts`.
        inside: (N,) bool, whether each lies within the support of the other side.
        language: Language of the texts, for their key phrases.

    Returns:
        The regions in descending order of their size: k-means of the features of the missed texts.

    Raises:
        DataError: If the features, texts, ids and memberships do not match.
    """
    from sklearn.cluster import KMeans

    features, member = checked_features("side", side), np.asarray(inside, dtype=bool)
    rows = np.flatnonzero(~member)
    if not len(rows):
        return []
    missed = features[rows]
    count = min(max(1, len(rows) // TEXTS_PER_REGION), MOST_REGIONS, len(np.unique(missed, axis=0)))
    found = KMeans(count, n_init=10, random_state=0).fit(missed)
    regions = []
    for label, centre in enumerate(found.cluster_centers_):
        own = rows[found.labels_ == label]
        near = own[np.argsort(((features[own] - centre) ** 2).sum(axis=1), kind="stable")]
        regions.append(
            Region(
                len(own),
                len(own) / len(member),
                key_phrases(side.texts, own, language),
                tuple((side.ids[row], side.texts[row]) for row in near[:EXAMPLES].tolist()),
            )
        )
    return sorted(regions, key=lambda region: -region.count)


def key_phrases(texts: Sequence[str], rows: NDArray[np.intp], language: str = ENGLISH) -> tuple[str, ...]:
    """Return the words and phrases that tell some texts from the others.

    The log-odds of the share of the texts that a phrase is in, over their deviation, with an informative
    prior (Monroe, Colaresi and Quinn 2008, equation 16), above 1.96. A phrase that a clearer one contains, or
    is part of, is left out, and so is one that begins or ends with an English function word.

    Args:
        texts: All texts.
        rows: Rows of those that are described.
        language: Their language. Words of a phrase are joined by spaces if it is written with spaces.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    if len(rows) < LEAST_TEXTS or len(rows) == len(texts):
        return ()
    end = words_end_in(language)
    words_of = partial(split_words, words_end=end) if end == "at-boundaries" else None
    vectorizer = CountVectorizer(
        ngram_range=(1, 3),
        binary=True,
        token_pattern=None if words_of else WORD,
        tokenizer=words_of,
        min_df=LEAST_TEXTS,
    )
    try:
        present = vectorizer.fit_transform(texts)
    except ValueError:  # no phrase is in two texts
        return ()
    every = np.asarray(present.sum(axis=0)).ravel().astype(float)
    own = np.asarray(present[rows].sum(axis=0)).ravel().astype(float)
    prior = PRIOR * every
    sides = ((own, len(rows)), (every - own, len(texts) - len(rows)))
    odds = [np.log((of + prior) / (n - of + PRIOR * n + prior)) for of, n in sides]
    spread = np.sqrt(sum(1 / (of + prior) for of, _ in sides))
    clear = (odds[0] - odds[1]) / spread
    names = vectorizer.get_feature_names_out()
    chosen: list[str] = []
    for place in np.lexsort((np.arange(len(names)), -clear)).tolist():
        if clear[place] < 1.96 or len(chosen) == PHRASES:
            break
        phrase, words = f" {names[place]} ", names[place].split()
        if words[0] in ENGLISH_STOP_WORDS or words[-1] in ENGLISH_STOP_WORDS:
            continue
        overlaps = any(phrase in f" {other} " or f" {other} " in phrase for other in chosen)
        if own[place] >= LEAST_TEXTS and not overlaps:
            chosen.append(str(names[place]))
    return tuple(joined_words(phrase.split(), language) for phrase in chosen)
