"""Small sets of texts for the tests of the gate."""

from __future__ import annotations

import numpy as np

WORDS = ["cat", "dog", "mat", "bad", "fed", "jam", "lake", "sun", "tree", "road", "blue", "run", "see", "two"]


def sentences(seed: int, count: int = 60, words: list[str] = WORDS) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(words, size=rng.integers(9, 16)))}." for _ in range(count)]


HUMAN, OLD, SAME = sentences(1), sentences(2), sentences(3)
REFUSING = ["I'm sorry, but I can't help with that."] * 20 + SAME[20:]
