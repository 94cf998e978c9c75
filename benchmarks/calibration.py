"""How often the tests of differences find one: between equal models, and between ones that differ elsewhere.

Prints, for each design and metric, the share of p-values below 0.05, with the p-value of a binomial test
against 5 %, corrected for all rows (Holm). Finished pairs are kept in a file: an interrupted command goes on
where it was.

Designs, of normal features in d dimensions:

- ``equal``: both models and the references have the same distribution.
- ``invented``: a third of the second model's texts lie elsewhere.
- ``lost``: the second model lacks an eighth of the space.

Paired texts share half of their variance, as those of one prompt do.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from textgamut.catalogue import FAMILIES
from textgamut.inference.differences import Run, holm, set_differences

SETTINGS = {"k": 4, "seeds": (0, 1, 2, 3, 4), "clusters": None}


def features_of(
    design: str, n: int, d: int, paired: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the features of the references and of both models."""
    prompts = rng.normal(size=(n, d)) * np.sqrt(0.5)
    own = [rng.normal(size=(n, d)) for _ in range(2)]
    first, second = (prompts + of * np.sqrt(0.5) for of in own) if paired else own
    if design == "invented":
        second[: n // 3, 0] += 6
    if design == "lost":
        signs = np.where((second[:, :3] > 0).all(axis=1), -1, 1)
        second[:, 0] *= signs
    return rng.normal(size=(n, d)), first, second


def p_values(
    design: str, n: int, d: int, paired: bool, number: int, families: Sequence[str]
) -> dict[str, float]:
    """Return the p-value of each metric for one pair of models."""
    seed = [number, n, d, int(paired), *design.encode()]
    reference, first, second = features_of(design, n, d, paired, np.random.default_rng(seed))
    prompts = (list(range(n)), list(range(n))) if paired else None
    run = Run(
        ({"features": first}, {"features": second}), SETTINGS | {"reference_features": reference}, prompts
    )
    # The names decide the resamples, which differ between pairs.
    models = f"a{number}", f"b{number}"
    found = [of for name in families for of in set_differences(FAMILIES[name], [run], models, {})]
    return {of.metric: of.p for of in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--designs", nargs="+", default=["equal", "invented", "lost"])
    parser.add_argument("--families", nargs="+", default=["support", "divergence", "distance", "vendi"])
    parser.add_argument("--kept", type=Path, default=Path("calibration.jsonl"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    done = {tuple(key): found for key, found in map(json.loads, lines)}
    start = time.monotonic()
    wanted = [
        (design, n, arguments.dimensions, paired, number)
        for number in range(arguments.pairs)
        for design in arguments.designs
        for n in arguments.n
        for paired in (False, True)
    ]
    with arguments.kept.open("a") as file:
        for key in wanted:
            if key not in done:
                done[key] = p_values(*key, arguments.families)
                file.write(json.dumps([key, done[key]]) + "\n")
                file.flush()
    rows = [
        {"design": design, "n": n, "paired": paired, "metric": metric, "p": p}
        for (design, n, d, paired, number) in wanted
        for metric, p in done[design, n, d, paired, number].items()
    ]
    grouped = pd.DataFrame(rows).groupby(["design", "n", "paired", "metric"], sort=False)["p"]
    table = grouped.agg(
        pairs="size", below_5=lambda p: (p < 0.05).mean(), below_01=lambda p: (p < 0.001).mean()
    ).reset_index()
    tests = [
        stats.binomtest(round(row.below_5 * row.pairs), row.pairs, 0.05).pvalue for row in table.itertuples()
    ]
    print(table.assign(p_holm=holm(tests)).to_string(float_format="%.4f"))
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
