"""Rankings: Bradley-Terry compared with the Poisson model of statsmodels; Q*Text: seconds and numbers.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/rankings.py [--methods 354] [--peer-methods 30]

Comparisons are drawn from the model. statsmodels fits the model in its original form, with a nuisance
parameter per pair, and therefore gets fewer methods than textgamut can fit; both fit these, and the numbers
are compared. Times are medians of the rounds and include the standard errors; the peer runs once.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from textgamut.rankings.bradley_terry import BradleyTerry, fit_bradley_terry
from textgamut.rankings.qtext import dominant_counts, q_text


def comparisons(methods: int, prompts: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw (m, m) wins and ties; two equal methods tie on three prompts in five."""
    rng = np.random.default_rng(0)
    strength = rng.normal(0, 0.7, methods)
    i, j = np.triu_indices(methods, 1)
    gap = strength[i] - strength[j]
    weights = np.exp(np.stack([gap, -gap, np.full(len(gap), np.log(3))], axis=1))
    counts = rng.multinomial(prompts, weights / weights.sum(axis=1, keepdims=True))
    wins, ties = np.zeros((2, methods, methods), dtype=int)
    wins[i, j], wins[j, i], ties[i, j] = counts.T
    return wins, ties + ties.T


def timed(rounds: int, work: Callable[[], Any]) -> tuple[float, Any]:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), result


def peer(wins: np.ndarray, ties: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit the log-linear model with statsmodels; return strengths that sum to 0, g, and their errors."""
    import statsmodels.api as sm

    methods = len(wins)
    i, j = np.triu_indices(methods, 1)
    contrast = np.vstack([np.eye(methods - 1), -np.ones(methods - 1)])
    gap, none, nuisance = contrast[i] - contrast[j], np.zeros((len(i), methods - 1)), np.eye(len(i))
    design = np.vstack(
        [
            np.hstack([part, np.full((len(i), 1), tied), nuisance])
            for part, tied in ((gap, 0), (-gap, 0), (none, 1))
        ]
    )
    counts = np.concatenate([wins[i, j], wins[j, i], ties[i, j]])
    found = sm.GLM(counts, design, family=sm.families.Poisson()).fit(tol=1e-12)
    free, covariance = slice(methods - 1), found.cov_params()
    errors = np.sqrt(np.diag(contrast @ covariance[free, free] @ contrast.T))
    return (
        np.append(contrast @ found.params[free], found.params[methods - 1]),
        np.append(errors, found.bse[methods - 1]),
    )


def report(seconds: float, found: BradleyTerry, methods: int) -> None:
    print(
        f"textgamut    {methods} methods, {methods * (methods - 1) // 2:,} pairs: {seconds:.3f} s, "
        f"{found.iterations} steps, gradient norm {found.gradient_norm:.0e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", type=int, default=354)
    parser.add_argument("--prompts", type=int, default=5261)
    parser.add_argument("--peer-methods", type=int, default=30)
    parser.add_argument("--texts", type=int, default=1_862_394)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    print(f"Bradley-Terry with ties, {arguments.prompts} prompts a pair")
    for methods in (arguments.methods, arguments.peer_methods):
        wins, ties = comparisons(methods, arguments.prompts)
        names = [f"m{i}" for i in range(methods)]
        ours, found = timed(arguments.rounds, lambda w=wins, t=ties, n=names: fit_bradley_terry(w, t, n))
        report(ours, found, methods)
    if importlib.util.find_spec("statsmodels"):
        import statsmodels.api  # noqa: F401

        theirs, (parameters, errors) = timed(1, lambda: peer(wins, ties))
        far = np.abs([*found.strength.values(), found.tie] - parameters).max()
        far_errors = np.abs([*found.standard_errors.values(), found.tie_error] - errors).max()
        print(
            f"statsmodels  {methods} methods: {theirs:.3f} s, {theirs / ours:.0f} x; largest difference of a "
            f"parameter {far:.0e}, of a standard error {far_errors:.0e}"
        )
    else:
        print("statsmodels  not installed")

    rng, n = np.random.default_rng(0), arguments.texts
    criteria = np.exp(rng.normal(2, 1, n)), -rng.gamma(3, 1, n), rng.beta(6, 1, n)
    seconds, scores = timed(arguments.rounds, lambda: q_text(*criteria))
    print(f"\nQ*Text of {n:,} texts: {seconds:.2f} s, {n / seconds / 1e6:.1f} million a second")
    prompts = n // arguments.methods
    table = scores[: prompts * arguments.methods].reshape(prompts, arguments.methods)
    names = [f"m{i}" for i in range(arguments.methods)]
    seconds, _ = timed(arguments.rounds, lambda: dominant_counts(table, names))
    print(f"best text of {prompts:,} prompts, {arguments.methods} methods: {seconds:.2f} s")


if __name__ == "__main__":
    main()
