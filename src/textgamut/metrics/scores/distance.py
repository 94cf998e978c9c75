"""Distances between a cell and its references, as rows of the tidy table."""

from __future__ import annotations

from numpy.typing import ArrayLike

from textgamut.features.reduce import same_size
from textgamut.metrics.distance import frechet_distance, mmd
from textgamut.metrics.scores.rows import Row, metric_row


def distance_scores(reference: ArrayLike, generated: ArrayLike, permutations: int = 200) -> list[Row]:
    """Compute the squared MMD with two kernels, their p-values, and the Fréchet distance.

    Args:
        reference: (N, d) features.
        generated: (M, d) features. The larger set is cut to its first rows, as many as the smaller one has,
            because the Fréchet distance depends on the number of texts.
        permutations: Number of permutations for the p-values.

    Raises, Warns:
        As ``metrics.distance`` and ``features.reduce.same_size``.
    """
    ref, gen = same_size(reference, generated)
    values: dict[str, float] = {}
    for kernel, found in mmd(ref, gen, permutations).items():
        values |= {f"mmd_{kernel}": found.value, f"mmd_{kernel}_p": found.p}
    values["frechet"] = frechet_distance(ref, gen)
    return [metric_row(len(gen), name, value) for name, value in values.items()]
