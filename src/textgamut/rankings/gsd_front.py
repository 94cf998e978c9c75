"""The front of generalised stochastic dominance (GSD), with its permutation test.

Source: Jansen, Schollmeyer, Rodemann, Blocher and Augustin, "Statistical Multicriteria Benchmarking via the
GSD-Front", NeurIPS 2024 (arXiv 2406.03924), sections 3 to 5; used for decoding settings by Garces Arias et
al., INLG 2025 (arXiv 2506.18082).

A utility u gives each vector of scores a number in [0, 1]. It must respect the scales of the criteria:

- R1: u(x) >= u(y) if x is at least as good as y by every criterion;
- R2: u(x) - u(y) >= u(v) - u(w) for such pairs if x and y differ at least as much as v and w by every
  cardinal criterion, and their range includes that of v and w by every ordinal one.

D(i, j) is the smallest difference, over all such utilities, of the mean utilities of methods i and j. Method
i dominates method j if it is 0: no utility prefers j. As in the authors' code, the vectors are those of both
methods and two more, the worst and the best value of each criterion. (The authors set their utilities to 0
and 1, so that D can be above 0; neither who dominates nor a test that rejects depends on that.)

Three identities make it fast. With ordinal criteria only, R2 adds nothing, and D is the largest number of
texts of j that can be matched with a better or equal text of i, less all, as a share of all (Strassen 1965).
Pairs with the same range by the ordinal criteria and the same difference by the cardinal ones have the same
difference of utilities, so that R2 orders these classes, not pairs. Of an order, only its covers are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.progress import Progress

if TYPE_CHECKING:
    from scipy.sparse import csr_array

REVISION = 2
"""Increase when the same scores and swaps produce different results."""

LEVEL = 0.05
"""Level of the test."""
CARDINAL_STEPS = 5
"""Number of steps if a criterion is cardinal and none is given."""
MOST_PROMPTS = 1500
"""Maximum number of prompts without rounding: the front of six methods takes half a minute on one core."""
MOST_VECTORS = 3000
"""Maximum number of different vectors of a pair of methods."""
MOST_CLASSES = 3000
"""Maximum number of classes of equal differences: 0.3 seconds for each permutation on one core."""
MOST_ON_STEP = 0.9
"""Largest share of different values of a cardinal criterion that are rounded to the same step."""
TOLERANCE = 1e-7
"""Differences that are nearer to each other are equal: the solver's tolerance."""

Vectors = NDArray[np.float64]
"""(P, C): the scores of a method on each prompt, higher is better."""


@dataclass(frozen=True)
class GsdFront:
    """Generalised stochastic dominance between methods."""

    methods: list[str]
    least: NDArray[np.float64]
    """(M, M): D(i, j), in [-1, 0]; 0 if i dominates j, or i = j."""
    p: NDArray[np.float64]
    """(M, M): p-value of the hypothesis that i dominates j; NaN if i = j."""
    permutations: NDArray[np.int64]
    """(M, M): number of permutations. A test stops when it cannot reject any more; 0 if D(i, j) is 0."""
    cardinal: list[str]
    """Criteria whose differences count; of the others, only the order does."""
    steps: int | None
    """Number of steps that criteria were rounded to; None if they were not."""

    @property
    def on_front(self) -> NDArray[np.bool_]:
        """(M,): whether no other method dominates the method without being dominated by it."""
        dominates = self.least > -TOLERANCE
        front: NDArray[np.bool_] = ~np.logical_or.reduce(dominates & ~dominates.T)
        return front

    @property
    def largest_p(self) -> NDArray[np.float64]:
        """(M,): p-value of the hypothesis that some other method dominates the method."""
        p: NDArray[np.float64] = np.where(np.eye(len(self.p), dtype=bool), 0, self.p).max(axis=0)
        return p


def gsd_front(
    oriented: NDArray[np.float64],
    methods: Sequence[str],
    criteria: Sequence[str],
    swaps: NDArray[np.bool_],
    cardinal: Sequence[str] = (),
    steps: int | None = None,
) -> GsdFront:
    """Return the front of generalised stochastic dominance, and test who is on it.

    The test of the hypothesis that i dominates j exchanges the texts of both methods on some prompts; it
    rejects if D(i, j) is among the smallest. The authors exchange texts of all prompts, which ignores that
    texts of a prompt belong together. A method is on the front at level 5 % if all p-values of its
    competitors are at most 0.05 (an intersection of hypotheses: no correction is needed).

    Args:
        oriented: (P, M, C) scores, higher is better for all criteria; -inf is the worst.
        methods: (M,) names.
        criteria: (C,) names.
        swaps: (S, P): on which prompts the texts are exchanged, in each permutation.
        cardinal: Criteria whose differences count. They are scaled to [0, 1] by their lowest and highest
            value; of the others, only the order counts.
        steps: Number of steps from 0 to 1 that criteria are rounded to: cardinal ones by their value, ordinal
            ones by their rank. Defaults to ``CARDINAL_STEPS`` if there is a cardinal criterion, and to no
            rounding without.

    Raises:
        TextgamutError: If a cardinal criterion does not exist or loses its differences by rounding, or there
            are too many prompts or vectors.
    """
    if unknown := [name for name in cardinal if name not in criteria]:
        raise DataError(f"front: there is no criterion {unknown[0]!r} among {', '.join(criteria)}")
    of_values = np.array([name in cardinal for name in criteria])
    if of_values.any() and steps is None:
        steps = CARDINAL_STEPS
    if steps is None and len(oriented) > MOST_PROMPTS:
        raise DataError(
            f"front: {len(oriented):,} prompts are more than {MOST_PROMPTS:,}: round the criteria to steps"
        )
    levels = oriented if steps is None else rounded(oriented, criteria, cardinal, steps)
    size = len(methods)
    least, p = np.zeros((size, size)), np.full((size, size), np.nan)
    permutations = np.zeros((size, size), np.int64)
    progress = Progress(size * (size - 1), "comparisons of two methods")
    for i, j in zip(*np.triu_indices(size, 1), strict=True):
        pair = (levels[:, i], levels[:, j])
        problem: _Problem = _Matching(*pair) if steps is None else _Program(*pair, of_values)
        for one, other, sign in ((i, j, 1), (j, i, -1)):
            least[one, other], p[one, other], permutations[one, other] = _test(problem, sign, swaps)
            progress.advance(1)
    return GsdFront(list(methods), least, p, permutations, [*cardinal], steps)


def rounded(
    oriented: NDArray[np.float64], criteria: Sequence[str], cardinal: Sequence[str], steps: int
) -> NDArray[np.float64]:
    """Round scores (P, M, C) to whole numbers from 0 to ``steps``; the worst value, -inf, is 0.

    Args:
        oriented: As for :func:`gsd_front`. By a cardinal criterion, -inf equals the worst other value.
        criteria: As for :func:`gsd_front`.
        cardinal: As for :func:`gsd_front`.
        steps: Number of steps.

    Raises:
        DataError: If more than 90 % of the values of a cardinal criterion are rounded to the same step, such
            as by a single value that is far from the others.
    """
    from scipy.stats import rankdata

    levels = np.zeros(oriented.shape)
    for place, name in enumerate(criteria):
        values = oriented[..., place]
        if name in cardinal:
            values = np.maximum(values, values.min(where=np.isfinite(values), initial=np.inf))
        else:
            values = rankdata(values).reshape(values.shape)
        low, high = values.min(), values.max()
        if low < high:
            levels[..., place] = np.round(steps * (values - low) / (high - low))
        if name in cardinal:
            _check_steps(name, values, levels[..., place], steps)
    return levels


def _check_steps(name: str, values: NDArray[np.float64], levels: NDArray[np.float64], steps: int) -> None:
    """Refuse values of a cardinal criterion of which nearly all are rounded to one step."""
    found, counts = np.unique(levels, return_counts=True)
    share, of_step = counts.max() / levels.size, values[levels == found[counts.argmax()]]
    if share > MOST_ON_STEP and of_step.min() < of_step.max():
        raise DataError(
            f"front: {100 * share:.0f} % of the values of the cardinal criterion {name!r} are rounded to one "
            f"of {steps} steps, since others are far away: take more steps, or compare by its order"
        )


class _Problem(Protocol):
    """The search for the smallest difference between two methods."""

    def least(self, signs: NDArray[np.float64]) -> float:
        """Return the smallest difference.

        Args:
            signs: (P,) 1 where the first method's text counts for the first side, -1 where for the second.
        """

    def at_most(self, signs: NDArray[np.float64], most: float) -> bool:
        """Return whether the smallest difference is at most a number."""


def _test(problem: _Problem, sign: int, swaps: NDArray[np.bool_]) -> tuple[float, float, int]:
    """Return the smallest difference, its p-value (Besag and Clifford 1991), and how many permutations."""
    given = problem.least(np.full(swaps.shape[1], float(sign)))
    if given > -TOLERANCE:
        return 0.0, 1.0, 0
    smaller = done = 0
    while done < len(swaps) and (1 + smaller) / (1 + len(swaps)) <= LEVEL:  # else it cannot reject any more
        smaller += problem.at_most(np.where(swaps[done], -sign, sign).astype(float), given)
        done += 1
    return given, (1 + smaller) / (1 + done), done


class _Matching:
    """The smallest difference by ordinal criteria: the texts of one side without a better or equal text."""

    def __init__(self, first: Vectors, second: Vectors) -> None:
        above = _at_least(np.concatenate([first, second]))
        # Texts that are above few others come first, and so do those below few: they are hard to match.
        self._upper, self._lower = np.argsort(above.sum(axis=1)), np.argsort(above.sum(axis=0))
        self._below = above[np.ix_(self._upper, self._lower)].T.copy()
        self._prompts = len(first)

    def least(self, signs: NDArray[np.float64]) -> float:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import maximum_bipartite_matching

        matched = maximum_bipartite_matching(csr_array(self._edges(signs)), perm_type="column")
        return float((matched >= 0).sum()) / self._prompts - 1

    def at_most(self, signs: NDArray[np.float64], most: float) -> bool:
        """Try a greedy matching first, which is often large enough to tell that it is not."""
        needed = round((1 + most) * self._prompts)
        free, matched = np.ones(self._prompts, bool), 0
        for row in self._edges(signs):
            candidates = row & free
            first = candidates.argmax()
            if candidates[first]:
                free[first] = False
                matched += 1
                if matched > needed:
                    return False
        return round((1 + self.least(signs)) * self._prompts) <= needed

    def _edges(self, signs: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return (P, P): texts of the second side that each text of the first is above, transposed."""
        of_first = np.concatenate([signs, -signs]) > 0
        return self._below[~of_first[self._lower]][:, of_first[self._upper]]


class _Program:
    """The smallest difference as a linear program over the utilities of the vectors."""

    def __init__(self, first: Vectors, second: Vectors, cardinal: NDArray[np.bool_]) -> None:
        from scipy.sparse import csr_array

        both = np.concatenate([first, second])
        ends = np.stack([both.min(axis=0), both.max(axis=0)])
        vectors, which = np.unique(np.concatenate([both, ends]), axis=0, return_inverse=True)
        self._first, self._second = which[: len(first)], which[len(first) : -2]
        self._vectors = len(vectors)
        _check(self._vectors, "vectors of scores", MOST_VECTORS)
        self._known = np.zeros((1, self._vectors))
        self._equal: csr_array | None = None
        if not cardinal.any():
            upper, lower = np.nonzero(_covers(vectors))
            self._classes = 0
            self._ordered = _differences(upper, lower, self._vectors)
            return
        upper, lower = np.nonzero(_strictly_above(vectors))
        ranges = np.concatenate(
            [
                -vectors[lower][:, ~cardinal],
                vectors[upper][:, ~cardinal],
                (vectors[upper] - vectors[lower])[:, cardinal],
            ],
            axis=1,
        )
        classes, of_pair = np.unique(ranges, axis=0, return_inverse=True)
        self._classes = len(classes)
        _check(self._classes, "ranges and differences of scores", MOST_CLASSES)
        width = self._vectors + self._classes
        pairs = np.arange(len(upper))
        self._equal = _differences(upper, lower, width) - csr_array(
            (np.ones(len(upper)), (pairs, self._vectors + of_pair)), shape=(len(upper), width)
        )
        wider, narrower = np.nonzero(_covers(classes))
        self._ordered = _differences(self._vectors + wider, self._vectors + narrower, width)

    def least(self, signs: NDArray[np.float64]) -> float:
        from scipy.optimize import linprog

        found = linprog(
            np.append(self._objective(signs), np.zeros(self._classes)),
            A_ub=-self._ordered,
            b_ub=np.zeros(self._ordered.shape[0]),
            A_eq=self._equal,
            b_eq=None if self._equal is None else np.zeros(self._equal.shape[0]),
            bounds=[(0, 1)] * self._vectors + [(0, None)] * self._classes,
            method="highs",
        )
        if found.status:
            raise DataError(f"front: the linear program has no solution: {found.message}")
        self._known = np.vstack([self._known, found.x[: self._vectors]])
        return float(found.fun)

    def at_most(self, signs: NDArray[np.float64], most: float) -> bool:
        """Try the utilities that were the best ones for other permutations first."""
        if (self._known @ self._objective(signs)).min() <= most + TOLERANCE:
            return True
        return self.least(signs) <= most + TOLERANCE

    def _objective(self, signs: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = [np.bincount(of, signs, self._vectors) for of in (self._first, self._second)]
        difference: NDArray[np.float64] = (sums[0] - sums[1]) / len(signs)
        return difference


def _check(count: int, what: str, most: int) -> None:
    if count > most:
        raise DataError(
            f"front: {count:,} {what} of two methods are more than {most:,}: round to fewer steps, or "
            "compare all criteria by their order"
        )


def _strictly_above(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (n, n): whether different row x is at least row y in all columns."""
    above = _at_least(rows)
    np.fill_diagonal(above, False)
    return above


def _at_least(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (n, n): whether row x is at least row y in all columns."""
    above = np.ones((len(rows), len(rows)), bool)
    for values in rows.T:
        above &= values[:, None] >= values
    return above


def _covers(rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return (n, n): whether row x is above row y, and no other row is between them."""
    above = _strictly_above(rows)
    steps = above.astype(np.float32)
    covers: NDArray[np.bool_] = above & (steps @ steps == 0)
    return covers


def _differences(first: NDArray[np.intp], second: NDArray[np.intp], width: int) -> csr_array:
    """Return a sparse matrix whose rows are the differences of two variables each."""
    from scipy.sparse import csr_array

    rows, ones = np.arange(len(first)), np.ones(len(first))
    values = (np.concatenate([ones, -ones]), (np.tile(rows, 2), np.concatenate([first, second])))
    return csr_array(values, shape=(len(first), width))
