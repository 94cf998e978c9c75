"""The gate: false alarms of equal models, power with planted failures, and threshold gates on the same pairs.

    .venv/bin/pip install frouros
    .venv/bin/python benchmarks/gate.py --news test.csv --pools pools

Each pair has 400 texts a side. Equal pairs: two random parts of a pool of texts of one model, or of a
corpus. Planted failures: see ``setup_gate.CASES``. Each stands on a corpus, or a model, on which the rules
and margins of the gate were chosen, and on another one.

The threshold gates fail if a drop is larger than a threshold: of MAUVE against the references, of distinct-2,
and of the cosine of the mean features; and the MMD of frouros between baseline and candidate. Each threshold
is the 95 % quantile of its values on the equal pairs: it has 5 % false alarms, as far as these know.

Finished pairs are kept in a table (``--table``): another command goes on with the next pair. The
documentation is made from its summary, ``docs/reference/gate-summary.csv``.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from setup_gate import CASES, RIGHT, TUNED, UNTUNED, N, equal_pair, planted_pair
from setup_pairs import REFERENCE as DOCS
from tqdm import tqdm

from textgamut.files import atomic, to_csv
from textgamut.metrics.distance import mean_cosine
from textgamut.metrics.ngram import distinct_n, tokens_of
from textgamut.scoring.gate import gate
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, Side

EQUAL = "equal"
SOURCES = {case: (TUNED[case == "temperature"], UNTUNED[case == "temperature"]) for case in CASES}
"""Case -> a corpus on which the gate was tuned, and another one."""
THRESHOLDS = ("drop of MAUVE", "drop of distinct-2", "distance of means", "MMD (frouros)")
INDEX = ["case", "source", "number"]


def threshold_values(sides: Mapping[str, Side], mauve: tuple[float, float]) -> dict[str, float]:
    """Return what the threshold gates look at; higher is worse."""
    distinct = [distinct_n(tokens_of(sides[name].texts), 2) for name in (BASELINE, CANDIDATE)]
    vectors = [sides[name].features.vectors.astype(np.float64) for name in (BASELINE, CANDIDATE)]
    means = [of.mean(axis=0) for of in vectors]
    cosine = float(means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1]))
    return dict(
        zip(
            THRESHOLDS,
            (mauve[0] - mauve[1], distinct[0] - distinct[1], 1 - cosine, frouros_mmd(*vectors)),
            strict=True,
        )
    )


def frouros_mmd(baseline: np.ndarray, candidate: np.ndarray) -> float:
    """Return the distance of a drift package, with the width of its kernel from the baseline."""
    from frouros.detectors.data_drift import MMD
    from frouros.utils.kernels import rbf_kernel

    width = float(np.sqrt(2 - 2 * mean_cosine(baseline.mean(axis=0), len(baseline))))
    detector = MMD(kernel=partial(rbf_kernel, sigma=width))
    detector.fit(X=baseline)
    return float(detector.compare(X=candidate)[0].distance)


def tested(case: str, source: str, number: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the row of a pair: the outcome, the names of its failures, and the values of all gates."""
    if case == EQUAL:
        sides = equal_pair(source, number, arguments.news, arguments.pools)
    else:
        sides = planted_pair(case, source, number, arguments.news, arguments.pools)
    start = time.perf_counter()
    found = gate(**sides)
    seconds = time.perf_counter() - start
    checks = {check.metric: check for check in found.checks}
    row: dict[str, Any] = {"case": case, "source": source, "number": number, "outcome": found.outcome}
    row["failures"] = " ".join(of.name for of in found.failures if of.fails)
    row["noticed"] = " ".join(of.name for of in found.failures if not of.fails)
    row["failed"] = " ".join(of.metric for of in found.checks if of.outcome == "fail")
    row["undecided"] = " ".join(of.metric for of in found.checks if of.outcome == "cannot tell")
    row |= threshold_values(sides, (checks["mauve"].baseline, checks["mauve"].candidate))
    row |= {f"drop {name}": of.drop for name, of in checks.items()}
    row |= {f"reach {name}": of.most - of.drop for name, of in checks.items()}
    return row | {"seconds": round(seconds, 2)}


def pairs(arguments: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """Yield case, source and number of all pairs, in an order in which all cells grow together."""
    for number in range(max(arguments.pairs, arguments.planted)):
        if number < arguments.pairs:
            yield from ((EQUAL, source, number) for source in TUNED)
        if number < arguments.planted:
            yield from ((case, source, number) for case in CASES for source in SOURCES[case])


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the documentation: a row for each case and source."""
    equal = table[table["case"] == EQUAL]
    limits = {name: float(equal[name].quantile(0.95)) for name in THRESHOLDS}
    rows = []
    for (case, source), own in table.groupby(["case", "source"], sort=False):
        failed = own[own["outcome"] == "fail"]
        named = [RIGHT.get(str(case), "") in str(of).split() for of in failed["failures"]]
        rows.append(
            {
                "case": case,
                "source": source,
                "tuned": source in TUNED,
                "pairs": len(own),
                "fail": (own["outcome"] == "fail").mean(),
                "pass": (own["outcome"] == "pass").mean(),
                "cannot tell": (own["outcome"] == "cannot tell").mean(),
                "right name": np.mean(named) if named and case != EQUAL else np.nan,
                **{name: (own[name] > limits[name]).mean() for name in THRESHOLDS},
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--news", type=Path, required=True, help="test.csv of AG news")
    parser.add_argument("--pools", type=Path, required=True, help="folder of the generated texts")
    parser.add_argument("--pairs", type=int, default=250, help="of equal models, of each source")
    parser.add_argument("--planted", type=int, default=12, help="of each failure and source")
    parser.add_argument("--cases", nargs="+", default=[EQUAL, *CASES])
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), help="part and number of parts")
    parser.add_argument("--table", type=Path, default=Path("gate-pairs.csv"), help="of all pairs")
    arguments = parser.parse_args()
    arguments.pools.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    table = (
        pd.read_csv(arguments.table, keep_default_na=False, na_values=[""])
        if arguments.table.exists()
        else None
    )
    done = set() if table is None else set(table[INDEX].itertuples(index=False, name=None))
    part, parts = arguments.part
    wanted = [
        of for of in pairs(arguments) if of not in done and of[0] in arguments.cases and of[2] % parts == part
    ]
    for case, source, number in tqdm(wanted, mininterval=10):
        row = pd.DataFrame([tested(case, source, number, arguments)])
        table = row if table is None else pd.concat([table, row], ignore_index=True)
        with atomic(arguments.table) as file:
            file.write(to_csv(table))
    assert table is not None
    found = summary(table)
    print(found.to_string(index=False, float_format=lambda value: f"{value:.3f}"))
    print(f"median time of a gate of {N} texts a side, with features: {table['seconds'].median():.1f} s")
    with atomic(DOCS / "gate-summary.csv") as file:
        file.write(to_csv(found))


if __name__ == "__main__":
    main()
