"""How often equal sets are told apart if the texts of one are of a few clusters, those of the other of many.

    .venv/bin/python benchmarks/few_clusters.py

Two sets of 120 numbers have the same distribution, and half of their variance is common to a cluster. Shown
are the shares of p-values below 5 % of two tests of their means, which textgamut does not use where they are
wrong: by divisions of whole clusters (see ``set_differences._exchangeable``), and by Welch's formula for the
means of clusters (see ``text_differences.LEAST_FREEDOM``).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy import stats

from textgamut.inference.resamples import Pool, resampled_tests
from textgamut.metrics.statistic import Masks, Statistic, Values

N = 120
CLUSTERS = ((1, 120), (2, 120), (3, 120), (4, 120), (8, 120), (20, 120), (4, 8), (10, 20))


def by_divisions(sets: list[np.ndarray], labels: list[np.ndarray], seed: int) -> float:
    """Return the p-value of divisions of whole clusters."""
    values = np.column_stack(sets).ravel()
    _, unit = np.unique(np.column_stack([labels[0], N + labels[1]]).ravel(), return_inverse=True)

    def evaluate(masks: Masks) -> Values:
        return {"mean": np.stack([side @ values / side.sum(axis=1) for side in (masks, ~masks)])}

    pool = Pool(np.tile([True, False], N), unit)
    return resampled_tests([(Statistic(evaluate), pool)], False, seed, 300)["mean"].p


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=400)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # one cluster has no variance
    for clusters in CLUSTERS:
        found = []
        for seed in range(arguments.pairs):
            rng = np.random.default_rng(seed)
            labels = [np.arange(N) % count for count in clusters]
            own = [rng.normal(size=count)[of] for count, of in zip(clusters, labels, strict=True)]
            sets = [(of + rng.normal(size=N)) * np.sqrt(0.5) for of in own]
            means = [of.reshape(-1, count).mean(axis=0) for count, of in zip(clusters, sets, strict=True)]
            welch = stats.ttest_ind(*means, equal_var=False).pvalue
            found.append((by_divisions(sets, labels, seed) < 0.05, welch < 0.05))
        shares = np.mean(found, axis=0)
        few, many = clusters
        print(f"{few} and {many}: divisions {shares[0]:.1%}, Welch {shares[1]:.1%}", flush=True)


if __name__ == "__main__":
    main()
