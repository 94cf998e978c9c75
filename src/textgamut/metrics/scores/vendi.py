"""Vendi scores of a cell, as rows of the tidy table."""

from __future__ import annotations

from numpy.typing import ArrayLike

from textgamut.features.reduce import same_size
from textgamut.metrics.scores.rows import Row, metric_row
from textgamut.metrics.vendi import vendi_score


def vendi_scores(reference: ArrayLike, generated: ArrayLike) -> list[Row]:
    """Compute Vendi score and RKE of generated texts, and their ratios to those of as many references.

    Args:
        reference: (N, d) features.
        generated: (M, d) features. The larger set is cut to its first rows, as many as the smaller one has.

    Raises, Warns:
        As ``metrics.vendi.vendi_score`` and ``features.reduce.same_size``.
    """
    ref, gen = same_size(reference, generated)
    vendi, of_references = vendi_score(gen), vendi_score(ref)
    rke = vendi_score(gen, q=2)
    values = {
        "vendi": vendi,
        "vendi_reference": of_references,
        "vendi_ratio": vendi / of_references,
        "rke": rke,
        "rke_ratio": rke / vendi_score(ref, q=2),
    }
    return [metric_row(len(gen), name, value) for name, value in values.items()]
