"""Whether a metric that should not see how two models differ has the same mean in both.

    .venv/bin/python benchmarks/untouched.py test.csv

Shown are, over pairs of N = 400, the mean difference of the metric and its standard error, the standard
deviation of the differences, and the deviation that the tests take them to have. See ``setup_pairs.DESIGNS``.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from setup_pairs import compare, pair

N = 400
FIRST = 10_000
"""Number of the first pair: none is in the tables of ``calibration.py``."""
RESAMPLES = 30
"""Of each pair: enough for the mean of the deviations."""
CELLS = (
    ("ag-news", "dropped", False, "precision"),
    ("ag-news", "invented", False, "recall"),
    ("normal", "invented", False, "recall"),
    ("normal", "invented", True, "recall"),
    ("normal", "lost", False, "precision"),
    ("normal", "lost", True, "precision"),
)
"""Data, design, whether the models have common prompts, and the metric."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("news", type=Path, help="test.csv of AG news")
    parser.add_argument("--pairs", type=int, default=150)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    for data, design, paired, metric in CELLS:
        found = [
            (of.tested, of.deviation)
            for number in range(FIRST, FIRST + arguments.pairs)
            for of in compare(
                pair(data, design, N, paired, number, arguments.news), ["support"], number, RESAMPLES
            )
            if of.metric == metric
        ]
        differences, deviations = np.array(found).T
        spread = differences.std(ddof=1)
        print(
            f"{data}, {design}, {'same prompts' if paired else 'independent'}, {metric}: "
            f"{differences.mean():+.4f} ± {spread / np.sqrt(len(found)):.4f}, deviation {spread:.4f}, "
            f"of the tests {np.sqrt((deviations**2).mean()):.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
