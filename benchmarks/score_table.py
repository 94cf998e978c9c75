"""The reader of scores compared with pandas, on a file of the form and size of that released by MC's authors.

    python benchmarks/score_table.py [--prompts 5261] [--words 160]

The file has 354 methods on three corpora with a text in each row, 1.9 GB by default. Each contender reads
the scores of one corpus in a process of its own; pandas skips the other columns and selects the rows
afterwards. Memory is the peak of the process, including its libraries.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

CRITERIA = ["perplexity", "coherence", "diversity"]
COLUMNS = {"prompt_id": "id", "model": "Model", "decoding": "Method", "corpus": "Dataset"} | {
    name: f"Generation {name}" for name in CRITERIA
}
SHARES = {"wikitext": 1314 / 5261, "wikinews": 2000 / 5261, "book": 1947 / 5261}
"""Corpus -> share of the prompts."""


def build(path: Path, prompts: int, words: int) -> None:
    """Write the file."""
    rng, text = np.random.default_rng(0), "word, " * words
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*COLUMNS.values(), "Generation"])
        for corpus, share in SHARES.items():
            for method in range(354):
                scores = rng.random((round(share * prompts), 3))
                for prompt, values in enumerate(scores):
                    model, decoding = f"model {method % 6}", f"topp ({method // 6})"
                    writer.writerow([prompt, model, decoding, corpus, *values, text])


def measure(contender: str, path: Path) -> None:
    """Read one corpus in this process; print the time, the peak memory and the sum of the scores."""
    start = time.perf_counter()
    if contender == "textgamut":
        from textgamut.rankings.score_table import read_score_table

        table = read_score_table(path, CRITERIA, COLUMNS, "wikinews").table[CRITERIA]
    else:
        whole = pd.read_csv(path, usecols=list(COLUMNS.values()))
        table = whole.loc[whole["Dataset"] == "wikinews", [COLUMNS[name] for name in CRITERIA]]
    seconds = time.perf_counter() - start
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e9
    print(json.dumps([seconds, peak, len(table), float(table.to_numpy().sum())]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=5261)
    parser.add_argument("--words", type=int, default=160)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure[0], Path(options.measure[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.csv"
        build(path, options.prompts, options.words)
        print(f"{path.stat().st_size / 1e9:.2f} GB")
        found = {}
        for contender in ("textgamut", "pandas"):
            command = [sys.executable, __file__, "--measure", contender, str(path)]
            seconds, peak, rows, total = json.loads(subprocess.check_output(command, text=True))  # noqa: S603
            found[contender] = seconds, peak
            print(f"{contender}: {seconds:.1f} s, {peak:.2f} GB, {rows:,} texts, sum {total:.6f}")
    (ours, memory), (theirs, most) = found.values()
    print(f"ratio of seconds {ours / theirs:.2f}, of memory {memory / most:.2f}")


if __name__ == "__main__":
    main()
