"""Support metrics compared with scikit-learn's PCA and the package `prdc`: seconds, memory, counts.

    python benchmarks/support.py                       # N = 4000, d = 1280, PCA included
    python benchmarks/support.py --large               # N = 12,500 to 50,000, d = 200, without a peer

Each contender runs in its own process on the same features, alternating. Memory is the peak of the process
minus its use after libraries and features were loaded. With float64 features, both compute in
float64. With float32 features, scikit-learn computes in float32, but textgamut computes its PCA in float64.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

METRICS = ("precision", "recall", "density", "coverage")


def features(n: int, d: int, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Make features like those of a language model: a few strong directions, a long tail, a common offset."""
    rng = np.random.default_rng(0)
    scale = np.arange(1, d + 1) ** -0.6
    sets = [rng.standard_normal((n, d)) * scale + 0.3 for _ in range(2)]
    sets[1][: n // 4] *= 0.7
    # Always rounded to float32, so that both precisions compute on the same numbers.
    return sets[0].astype(np.float32).astype(dtype), sets[1].astype(np.float32).astype(dtype)


def ours(reference: np.ndarray, generated: np.ndarray, reduce: bool) -> dict[str, float]:
    from textgamut.metrics.support import reduce_features, support_metrics

    if reduce:
        reference, generated = reduce_features(reference, generated)
    result = support_metrics(reference, generated)
    return {name: getattr(result, name) for name in METRICS}


def peer(reference: np.ndarray, generated: np.ndarray, reduce: bool) -> dict[str, float]:
    import contextlib
    import io

    from prdc import compute_prdc
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    if reduce:
        union = normalize(np.concatenate([reference, generated]))
        reduced = PCA(n_components=0.90).fit_transform(union)
        reference, generated = reduced[: len(reference)], reduced[len(reference) :]
    with contextlib.redirect_stdout(io.StringIO()):  # prdc prints its sizes
        return {name: float(value) for name, value in compute_prdc(reference, generated, 4).items()}


def measure(contender: str, folder: Path, reduce: bool) -> None:
    """Run one contender in this process; print seconds, additional peak memory, and the four numbers."""
    warnings.simplefilter("ignore")
    import sklearn.decomposition  # noqa: F401

    if contender == "ours":
        import scipy.linalg  # noqa: F401
        import torch  # noqa: F401

        import textgamut.metrics.support  # noqa: F401
    else:
        import prdc  # noqa: F401
    reference, generated = (np.load(folder / f"{name}.npy") for name in ("reference", "generated"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    values = {"ours": ours, "peer": peer}[contender](reference, generated, reduce)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "above": (peak - before) / 1024, "peak": peak / 1024} | values))


def run(contender: str, folder: str, reduce: bool) -> dict[str, float]:
    command = [sys.executable, __file__, "--contender", contender, "--folder", folder]
    done = subprocess.run([*command, *(["--reduce"] if reduce else [])], check=True, stdout=-1)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    numbers = ", ".join(f"{name} {found[name]:.6f}" for name in METRICS)
    print(
        f"{contender:5} {found['seconds']:7.2f} s, {found['above']:5.0f} MB above the start "
        f"({found['peak']:.0f} MB in all); {numbers}",
        flush=True,
    )
    return found


def write(folder: str, n: int, d: int, dtype: str) -> None:
    print(f"N = {n}, d = {d}, {dtype}")
    for name, points in zip(("reference", "generated"), features(n, d, dtype), strict=True):
        np.save(f"{folder}/{name}.npy", points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--d", type=int, default=1280)
    parser.add_argument("--rounds", type=int, default=5, help="the ratios are those of the median round")
    parser.add_argument("--large", action="store_true", help="time and memory up to N = 50,000, d = 200")
    parser.add_argument("--contender", choices=["ours", "peer"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--reduce", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        measure(options.contender, options.folder, options.reduce)
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.large:
            for n in (12_500, 25_000, 50_000):
                write(folder, n, 200, "float32")
                run("ours", folder, reduce=False)
            return
        for dtype in ("float64", "float32"):
            write(folder, options.n, options.d, dtype)
            rounds = [
                [run(name, folder, reduce=True) for name in ("peer", "ours")] for _ in range(options.rounds)
            ]
            faster = statistics.median(peer["seconds"] / ours["seconds"] for peer, ours in rounds)
            memory = statistics.median(ours["above"] / peer["above"] for peer, ours in rounds)
            print(f"textgamut is {faster:.1f} x faster, in {memory:.2f} of the memory (medians)", flush=True)


if __name__ == "__main__":
    main()
