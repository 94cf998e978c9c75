"""How often equal models are told apart: p-values of differences of the support metrics, without correction.

Both models and the references are samples of the same normal distribution, so that a share of 0.05 of the
p-values should be below 0.05; a smaller share means that the test is careful.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import torch

from textgamut.metrics.paired_differences import Compared, half_sample_differences
from textgamut.metrics.support import half_sample_metrics, support_metrics


def compared(reference: np.ndarray, generated: np.ndarray) -> Compared:
    result = support_metrics(reference, generated, 4)
    halves = half_sample_metrics(reference, generated, result, 200)
    return Compared({name: getattr(result, name) for name in halves}, halves, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=300)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {}
    for _ in range(arguments.repeats):
        reference, *models = rng.normal(size=(3, arguments.n, arguments.dimensions))
        first, second = (compared(reference, generated) for generated in models)
        for difference in half_sample_differences(first, second):
            found.setdefault(difference.metric, []).append(difference.p)
    for name, values in found.items():
        p = np.array(values)
        print(f"{name}: p < 0.05 in {np.mean(p < 0.05):.1%}, p < 0.01 in {np.mean(p < 0.01):.1%}")


if __name__ == "__main__":
    main()
