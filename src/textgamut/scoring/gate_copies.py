"""Texts that a candidate of a gate must not copy, and how near its texts are to them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from textgamut.features.reduce import unit_rows
from textgamut.metrics import copying
from textgamut.metrics.neighbours import distance_ratios
from textgamut.scoring.gate_sides import REFERENCE, TRAINING, Corpus, Side

if TYPE_CHECKING:
    from textgamut.metrics.rows import Columns

NNDR = {TRAINING: "nndr_training", REFERENCE: "nndr_references"}
"""Side -> metric of the nearness to its texts."""


def corpora_of(sides: Mapping[str, Side]) -> dict[str, Corpus]:
    """Return the references and training texts, each text once.

    Args:
        sides: Name -> texts with features.
    """
    found = {}
    for name in (REFERENCE, TRAINING):
        if name in sides:
            side = sides[name]
            keys = side.digested().texts
            first = {key: row for row, key in reversed(list(enumerate(keys))) if key}  # no empty texts
            rows = sorted(first.values())
            counts = Counter(keys)
            texts = [side.texts[row] for row in rows] if side.known else [""] * len(rows)
            vectors = unit_rows(_vectors(side)) if rows else np.empty((0, 0))
            found[name] = Corpus(texts, vectors[rows], rows, np.array([counts[keys[row]] for row in rows]))
    return found


def with_copies(side: Side, corpora: Mapping[str, Corpus], language: str) -> Side:
    """Return a side with how much of each text, and how near it, is copied.

    The answers to a prompt are near its reference, if there is one, without being copied from it. So nearness
    to references is measured of texts without prompts only.

    Args:
        side: The texts, with features.
        corpora: What may be copied.
        language: Language of the texts.
    """
    found: Columns = dict(side.columns)
    known = [text for corpus in corpora.values() for text in corpus.texts if text]
    if known and side.known:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of short texts, which are left out
            found |= copying.score(side.texts, known, language).columns or {}
    for name, corpus in corpora.items():
        if len(corpus.rows) > 1 and (name == TRAINING or side.prompts is None):
            found[NNDR[name]] = distance_ratios(unit_rows(_vectors(side)), corpus.vectors)[0]
    return replace(side, columns=found)


def human_ratios(corpora: Mapping[str, Corpus]) -> dict[str, float]:
    """Return the mean nearness of the references to training texts, and to each other: metric -> mean.

    A model that comes to write as people do comes nearer to their texts, and copies nothing.
    """
    if REFERENCE not in corpora:
        return {}
    human, found = corpora[REFERENCE], {}
    for name, corpus in corpora.items():
        if len(corpus.rows) > 1:
            own = np.arange(len(human.rows)) if name == REFERENCE else None
            ratios = distance_ratios(human.vectors, corpus.vectors, own)[0]
            if name == REFERENCE:
                ratios[human.counts > 1] = 0  # people write it more than once
            known = np.isfinite(ratios)
            if not known.any():
                continue
            found[NNDR[name]] = float(np.average(ratios[known], weights=human.counts[known]))
    return found


def _vectors(side: Side) -> np.ndarray:
    assert side.features is not None
    return side.features.vectors
