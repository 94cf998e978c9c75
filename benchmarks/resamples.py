"""Time and memory of the tests of differences between two equal models, which take the fewest resamples."""

from __future__ import annotations

import argparse
import resource
import time
import warnings

import numpy as np

from textgamut.catalogue import FAMILIES
from textgamut.inference.set_differences import Run, set_differences

SETTINGS = {"k": 4, "seeds": (0, 1, 2, 3, 4), "clusters": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument(
        "--families", nargs="+", default=["support", "divergence", "distance", "vendi", "ngram"]
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    n, d = arguments.n, arguments.dimensions
    # Variances that fall like those of embedded texts.
    reference, first, second = rng.normal(size=(3, n, d)).astype(np.float32) * np.arange(1, d + 1) ** -0.5
    common = SETTINGS | {"reference_features": reference}
    words = np.array([f"word{i}" for i in range(3000)])
    frequencies = 1 / np.arange(1, len(words) + 1)
    frequencies /= frequencies.sum()
    own = [
        {"features": of, "texts": [" ".join(text) for text in rng.choice(words, (n, 100), p=frequencies)]}
        for of in (first, second)
    ]
    for name in arguments.families:
        family = FAMILIES[name]
        read = [{of: values[of] for of in family.reads if of in values} for values in own]
        start = time.monotonic()
        found = set_differences(family, [Run((read[0], read[1]), common, None)], ("a", "b"), {})
        seconds = time.monotonic() - start
        resamples = sorted({of.resamples for of in found})
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{name}: {seconds:.1f} s, resamples {resamples}, peak so far {peak:.2f} GB", flush=True)


if __name__ == "__main__":
    main()
