# ruff: noqa: RUF001
"""Time to find the words and the language of texts, beside the time to embed them.

    OMP_NUM_THREADS=2 .venv/bin/python benchmarks/words.py [--texts 400] [--threads 2]

Texts of 50 words, drawn from a sentence in each language with a fixed seed. Prints, for each language, the
seconds to count all words, to find out the language, and to embed the texts with MiniLM.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

from textgamut.config.loading import load_registry
from textgamut.features.embed import load_embedder
from textgamut.language import language_of, words_end_in
from textgamut.models.checkpoints import prepare, silence_transformers
from textgamut.text import count_words, split_words

SENTENCES = {
    "en": "The weather was fine this morning, and so we walked along the river to the old town.",
    "ar": "كان الطقس جميلا هذا الصباح، ولذلك مشينا على طول النهر إلى المدينة القديمة.",
    "hi": "आज सुबह मौसम अच्छा था, इसलिए हम नदी के किनारे पुराने शहर तक चले।",
    "zh": "今天早上天气很好，所以我们沿着河边走到老城区。",
    "ja": "今朝は天気が良かったので、私たちは川沿いを歩いて旧市街まで行きました。",
    "th": "เช้านี้อากาศดี เราจึงเดินเลียบแม่น้ำไปยังเมืองเก่า",
}
WORDS = 50


def texts_of(code: str, count: int) -> list[str]:
    """Return texts of words of a sentence in random order."""
    end = words_end_in(code)
    words, rng = split_words(SENTENCES[code], end), np.random.default_rng(0)
    between = "" if code in ("zh", "ja", "th") else " "
    return [between.join(rng.choice(words, WORDS)) for _ in range(count)]


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    silence_transformers()
    torch.set_num_threads(arguments.threads)
    entry = load_registry("embedders", None)["minilm"]
    loaded = load_embedder(prepare(entry.source), entry, torch.device("cpu"), entry.batch_size)
    print("language   words (s)   language (s)   MiniLM (s)   words / MiniLM")
    for code in SENTENCES:
        texts = texts_of(code, arguments.texts)
        end = words_end_in(code)
        counting = seconds(lambda texts=texts, end=end: [count_words(text, end) for text in texts])
        detecting = seconds(lambda texts=texts: language_of(texts))
        embedding = seconds(lambda texts=texts: loaded.embed(texts))
        share = counting / embedding
        print(f"{code:8} {counting:11.4f} {detecting:14.4f} {embedding:12.2f} {share:16.2%}")


if __name__ == "__main__":
    main()
