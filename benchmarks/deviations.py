"""Make the deviations from which ``textgamut plan --detect`` plans a study without a pilot.

AG news in random order: 2,000 items are the human texts, of which 1,000 are held out, and 1,000 others the
texts of a model. The table is ``src/textgamut/views/deviations.csv``.
"""

from __future__ import annotations

import argparse
import random
import warnings
from pathlib import Path

from setup_pairs import read_news

import textgamut
from textgamut.files import to_csv

FAMILIES = ("support", "divergence", "vendi", "distance", "length", "ngram", "compression")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("texts", type=Path, help="test.csv of AG news")
    parser.add_argument("--output", type=Path, default=Path("src/textgamut/views/deviations.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    texts = [text.replace("\\", " ") for text in read_news(arguments.texts)[0]]
    random.Random(0).shuffle(texts)
    found = textgamut.compare(texts[:2000], {"aggen": texts[2000:3000]}, metrics=FAMILIES)
    arguments.output.write_bytes(to_csv(found.deviations))


if __name__ == "__main__":
    main()
