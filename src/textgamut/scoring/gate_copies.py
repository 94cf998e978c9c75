"""Texts that a candidate of a gate must not copy, and how near its texts are to them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from textgamut.features.reduce import unit_blocks
from textgamut.metrics import copying
from textgamut.metrics.neighbours import distance_ratios
from textgamut.scoring.gate_sides import Corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from textgamut.metrics.rows import Columns
    from textgamut.scoring.gate_sides import Side


def corpus_of(sides: Mapping[str, Side]) -> Corpus:
    """Return the different texts of some sides with features.

    Args:
        sides: Name -> texts.
    """
    first: dict[str, tuple[str, int]] = {}
    for name, side in sides.items():
        for row, key in enumerate(side.digested().texts):
            first.setdefault(key, (name, row))
    first.pop("", None)  # that of empty texts
    if not first:
        return Corpus()
    named = [*first.values()]
    units = {name: unit_features(side) for name, side in sides.items()}
    texts = [sides[name].texts[row] if sides[name].known else "" for name, row in named]
    return Corpus(texts, np.stack([units[name][row] for name, row in named]), named)


def copying_columns(side: Side, corpus: Corpus, language: str) -> Columns:
    """Return how much of each text, and how near it, is copied: metric -> a value for each text.

    Args:
        side: The texts, with features.
        corpus: What may be copied.
        language: Language of the texts.
    """
    found: Columns = {}
    known = [text for text in corpus.texts if text]
    if known and side.known:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of short texts, which are left out
            found |= copying.score(side.texts, known, language).columns or {}
    if len(corpus.vectors):
        found["nndr"] = distance_ratios(unit_features(side), corpus.vectors)[0]
    return found


def unit_features(side: Side) -> NDArray[np.float64]:
    """Return the features of texts, of unit length."""
    assert side.features is not None
    return np.concatenate(list(unit_blocks(side.features.vectors)))
