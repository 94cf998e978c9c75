"""How often the 95 % intervals of a model's metrics contain the mean of fresh samples of the same size.

Tabulates, for each metric, the mean over fresh samples of N references and N texts, the share of intervals
that contain it, and the ratio of the mean deviation of an interval to the deviation of the fresh samples.
Finished samples are kept in a file: an interrupted command goes on where it was.

Features: of normal distributions in d dimensions; those of the model are narrower by a tenth and shifted.
Texts, if a file is given: drawn from it, with as many others as references.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from setup_pairs import REFERENCE

from textgamut.catalogue import FAMILIES
from textgamut.files import to_csv
from textgamut.inference.intervals import add_intervals

OF_FEATURES = ("support", "divergence", "vendi", "distance")
OF_TEXTS = ("ngram", "compression")
SETTINGS = {"k": 4, "seeds": (0, 1, 2, 3, 4), "clusters": None, "permutations": 1}


def sample(
    number: int, n: int, d: int, texts: list[str]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield what each family reads in a sample: its name, what belongs to the model, and the references."""
    rng = np.random.default_rng([number, n, d])
    reference, generated = rng.normal(size=(2, n, d))
    for name in OF_FEATURES:
        yield name, {"features": 0.9 * generated + 0.2}, {"reference_features": reference}
    if texts:
        drawn = random.Random(number).sample(texts, 2 * n)
        for name in OF_TEXTS:
            yield name, {"texts": drawn[:n]}, {"references": drawn[n:]}


def measured(number: int, n: int, d: int, half_samples: int, texts: list[str]) -> dict[str, list[float]]:
    """Return the value of each metric and, with half-samples, its interval and deviation."""
    found = {}
    for name, own, common in sample(number, n, d, texts):
        family, settings = FAMILIES[name], SETTINGS | {"bootstrap": half_samples} | common
        scores = family.score(settings | own)
        for row in add_intervals(scores, family, own, settings, None, half_samples):
            ends = [row[part] for part in ("low", "high", "deviation") if "low" in row]
            if ends or not half_samples:
                found[row["metric"]] = [row["value"], *ends]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--samples", type=int, default=200, help="samples with intervals")
    parser.add_argument("--fresh", type=int, default=400, help="samples for the mean")
    parser.add_argument("--half-samples", type=int, default=200)
    parser.add_argument("--texts", type=Path, help="CSV whose last two columns are a text, such as AG news")
    parser.add_argument("--kept", type=Path, default=Path("coverage.jsonl"))
    parser.add_argument("--table", type=Path, default=REFERENCE / "coverage.csv")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    texts = []
    if arguments.texts:
        rows = pd.read_csv(arguments.texts, header=None).iloc[:, -2:].astype(str)
        texts = (rows.iloc[:, 0] + " " + rows.iloc[:, 1]).tolist()
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    done = {tuple(key): found for key, found in map(json.loads, lines)}
    start = time.monotonic()
    n, d = arguments.n, arguments.dimensions
    wanted = [(i, n, d, arguments.half_samples) for i in range(arguments.samples)]
    wanted += [(10**6 + i, n, d, 0) for i in range(arguments.fresh)]
    with arguments.kept.open("a") as file:
        for key in wanted:
            if key not in done:
                done[key] = measured(*key, texts)
                file.write(json.dumps([key, done[key]]) + "\n")
                file.flush()
    fresh = pd.DataFrame([{name: of[0] for name, of in done[key].items()} for key in wanted if not key[3]])
    rows = []
    for name in fresh:
        own = np.array([done[key][name] for key in wanted if key[3] and name in done[key]])
        if own.ndim == 2 and own.shape[1] == 4:
            mean, deviation = fresh[name].mean(), fresh[name].std()
            inside = (own[:, 1] <= mean) & (mean <= own[:, 2])
            ratio = own[:, 3].mean() / deviation if deviation > 0 else np.nan
            rows.append({"metric": name, "mean": mean, "covered": inside.mean(), "deviation ratio": ratio})
    arguments.table.write_bytes(to_csv(pd.DataFrame(rows)))
    print(pd.DataFrame(rows).to_string(float_format="%.3f", index=False))
    print(f"{arguments.samples} samples, {arguments.fresh} fresh ones, {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
