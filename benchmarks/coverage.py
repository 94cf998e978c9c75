"""How often the 95 % intervals of metrics contain the mean of fresh samples of the same size.

Tabulates, for each metric, the mean over fresh samples of N references and N texts, the share of intervals
that contain it, and the ratio of the mean deviation of an interval to the deviation of the fresh samples.
Finished samples are kept in a file: an interrupted command goes on where it was.

Of a model: features of normal distributions in d dimensions, the model's narrower by a tenth and shifted;
texts of AG news, with as many others as references. Of a difference: AG news, of which the second model lacks
a topic; the samples with intervals are also those of the mean.
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
from setup_pairs import REFERENCE, compare, pair, read_news

from textgamut.catalogue import FAMILIES
from textgamut.files import to_csv
from textgamut.inference.intervals import add_intervals

DESIGN = "dropped"
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


def differences(number: int, n: int, news: Path) -> dict[str, list[float]]:
    """Return the difference of each metric between two models, its interval and the deviation of that."""
    found = compare(pair("ag-news", DESIGN, n, False, number, news), (*OF_FEATURES, *OF_TEXTS), number)
    return {of.metric: [of.tested, of.low, of.high, (of.high - of.low) / 2 / 1.96] for of in found}


def row_of(of: str, metric: str, fresh: pd.Series[float], own: list[list[float]]) -> dict[str, Any]:
    """Return the row of a metric: from its values in fresh samples, and [value, low, high, deviation]."""
    _, low, high, deviation = np.array(own).T
    inside = (low <= fresh.mean()) & (fresh.mean() <= high)
    ratio = deviation.mean() / fresh.std() if fresh.std() > 0 else np.nan
    return {
        "of": of,
        "metric": metric,
        "mean": fresh.mean(),
        "covered": inside.mean(),
        "deviation ratio": ratio,
        "samples": len(own),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("news", type=Path, help="test.csv of AG news")
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--dimensions", type=int, default=8)
    parser.add_argument("--samples", type=int, default=200, help="samples with intervals")
    parser.add_argument("--fresh", type=int, default=400, help="samples for the mean")
    parser.add_argument("--half-samples", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=100, help="pairs of models with differences")
    parser.add_argument("--kept", type=Path, default=Path("coverage.jsonl"))
    parser.add_argument("--table", type=Path, default=REFERENCE / "coverage.csv")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    texts, _ = read_news(arguments.news)
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    done = {tuple(key): found for key, found in map(json.loads, lines)}
    start = time.monotonic()
    n, d = arguments.n, arguments.dimensions
    wanted = [(i, n, d, arguments.half_samples) for i in range(arguments.samples)]
    wanted += [(10**6 + i, n, d, 0) for i in range(arguments.fresh)]
    pairs = [(DESIGN, i, n) for i in range(arguments.pairs)]
    with arguments.kept.open("a") as file:
        for key in (*wanted, *pairs):
            if key not in done:
                of_pair = key[0] == DESIGN
                done[key] = differences(*key[1:], arguments.news) if of_pair else measured(*key, texts)
                file.write(json.dumps([key, done[key]]) + "\n")
                file.flush()
    fresh = pd.DataFrame([{name: of[0] for name, of in done[key].items()} for key in wanted if not key[3]])
    rows = []
    for name in fresh:
        own = [done[key][name] for key in wanted if key[3] and name in done[key]]
        if own and all(len(of) == 4 for of in own):
            rows.append(row_of("model", name, fresh[name], own))
    for name in done[pairs[0]] if pairs else ():
        own = [done[key][name] for key in pairs]
        rows.append(row_of("difference", name, pd.Series([of[0] for of in own]), own))
    arguments.table.write_bytes(to_csv(pd.DataFrame(rows)))
    print(pd.DataFrame(rows).to_string(float_format="%.3f", index=False))
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
