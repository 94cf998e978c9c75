"""The time of `textgamut gate` with a recorded baseline, without the imports: 400 texts of 50 words a side.

.venv/bin/python benchmarks/gate_time.py --news test.csv
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from setup_pairs import read_news

from textgamut.cli.main import main as textgamut

N, WORDS = 400, 50


def write(name: str, texts: list[str]) -> None:
    Path(name).write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--news", type=Path, required=True, help="test.csv of AG news")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    texts, _ = read_news(arguments.news)
    words = " ".join(np.random.default_rng().permutation(texts)).split()  # not in the cache of features
    pieces = [" ".join(words[start : start + WORDS]) for start in range(0, len(words) - WORDS, WORDS)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for place, name in enumerate(("human", "old", "warm")):
            write(f"{name}.jsonl", pieces[place * N : (place + 1) * N])
        textgamut(
            ["gate", "--baseline", "old.jsonl", "--reference", "human.jsonl", "--record", "old.baseline"]
        )
        textgamut(["gate", "--baseline", "old.baseline", "--candidate", "warm.jsonl"])  # imports everything
        for number in range(arguments.rounds):
            write("new.jsonl", pieces[(number + 3) * N : (number + 4) * N])
            start = time.perf_counter()
            textgamut(["gate", "--baseline", "old.baseline", "--candidate", "new.jsonl"])
            print(f"round {number + 1}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
