"""Whether as many texts as ``textgamut plan --detect`` asks for see a difference as often as it promises.

    .venv/bin/python benchmarks/planned_n.py test.csv

AG news with planted differences (``setup_pairs.DESIGNS``). For each metric, the difference to be seen is
the mean over fresh pairs of N = 400. A pilot, one pair more, has the deviations of all texts, of halves and
of quarters.
Tabulated are the N that they ask for, for a power of 0.8, the power that the plan states (more where N is
half of the pilot's), the difference at that N, and the share of fresh pairs of that N with p < 0.05.
Finished pairs are kept in a file: an interrupted command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from setup_pairs import REFERENCE, compare, pair

from textgamut.catalogue import METRICS
from textgamut.files import to_csv
from textgamut.inference.differences import Difference
from textgamut.inference.sample_sizes import expected_power, needed_texts, parts_of, pilot_deviations

PILOT, POWER = 400, 0.8
CELLS = (
    ("dropped", "recall"),
    ("dropped", "coverage"),
    ("dropped", "clipped_coverage"),
    ("dropped", "mauve"),
    ("dropped", "mmd_gaussian"),
    ("dropped", "frechet"),
    ("dropped", "vendi"),
    ("invented", "precision"),
    ("repeated", "vendi"),
)
"""Design, and the metric that is to see it."""
RESAMPLES = {"support": 1000, "divergence": 1000, "distance": 300, "vendi": 300}
"""Resamples of a family's tests: enough to know whether p < 0.05."""
MOST = 2000
"""Largest N for which AG news has enough texts."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("news", type=Path, help="test.csv of AG news")
    parser.add_argument("--pairs", type=int, default=100, help="fresh pairs, of both N")
    parser.add_argument("--kept", type=Path, default=Path("planned_n.jsonl"))
    parser.add_argument("--table", type=Path, default=REFERENCE / "planned-n.csv")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = arguments.kept.read_text().splitlines() if arguments.kept.exists() else []
    done = {tuple(key): found for key, found in map(json.loads, lines)}
    rows = []
    with arguments.kept.open("a") as file:

        def test(design: str, metric: str, n: int, number: int) -> tuple[float, float]:
            """Return the difference and the p-value of a pair."""
            key = design, METRICS[metric].family, n, number
            if key not in done:
                found = differences(design, key[1], n, number, arguments.news)
                done[key] = {of.metric: (of.tested, of.p) for of in found}
                file.write(json.dumps([key, done[key]]) + "\n")
                file.flush()
            return done[key][metric]

        for design, metric in CELLS:
            fresh = np.array([test(design, metric, PILOT, 1 + i)[0] for i in range(arguments.pairs)])
            of_pilot = differences(design, METRICS[metric].family, PILOT, 0, arguments.news, parts=(1, 2, 4))
            own = [of._asdict() for of in of_pilot if of.metric == metric]
            table = pd.DataFrame(own).assign(model_1="a", model_2="b")
            [pilot] = pilot_deviations(table)
            n = needed_texts(pilot, abs(fresh.mean()), POWER)
            row = {"design": design, "metric": metric, "difference": fresh.mean(), "planned N": n}
            row["planned power"] = expected_power(pilot, abs(fresh.mean()), n)
            if n <= MOST:
                found = np.array([test(design, metric, n, 10_000 + i) for i in range(arguments.pairs)])
                row |= {"difference at N": found[:, 0].mean(), "power": (found[:, 1] < 0.05).mean()}
            rows.append(row)
            arguments.table.write_bytes(to_csv(pd.DataFrame(rows)))
            print(pd.DataFrame(rows).to_string(float_format="%.4f", index=False), flush=True)


def differences(
    design: str, family: str, n: int, number: int, news: Path, parts: tuple[int, ...] = (1,)
) -> list[Difference]:
    """Return the differences between the models of a pair, in all texts or in parts of them."""
    run = pair("ag-news", design, n, False, number, news)
    return [
        of
        for count in parts
        for part in parts_of(run, count)
        for of in compare(part, [family], number, RESAMPLES[family])
    ]


if __name__ == "__main__":
    main()
