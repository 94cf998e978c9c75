"""Divergence metrics compared with the package `mauve-text`: values, seconds, memory.

    python benchmarks/divergence.py                    # N = 4000, d = 768, one k-means seed, PCA included
    python benchmarks/divergence.py --seeds 5          # textgamut's default: the mean over five seeds

Each contender runs in its own process, alternating, on the same float32 features. textgamut computes four
numbers, mauve-text two of them. mauve-text runs twice: on the features as they are, with its PCA in
float32, and on the same features as float64, where it has textgamut's precision and must return the same
numbers. Memory is the peak of the process minus its use after libraries and features were loaded.
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

CONTENDERS = ("mauve-text, float32", "mauve-text, float64", "textgamut")


def features(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Make features like those of a language model: topics, fewer on one side, and a long tail."""
    rng = np.random.default_rng(0)
    scale = np.arange(1, d + 1) ** -0.6
    topics = rng.standard_normal((60, d))
    sets = [topics[rng.integers(count, size=n)] + 1.5 * rng.standard_normal((n, d)) for count in (60, 40)]
    return tuple((points * scale + 0.3).astype(np.float32) for points in sets)


def ours(reference: np.ndarray, generated: np.ndarray, seeds: range) -> dict[str, float]:
    from textgamut.metrics.divergence import divergence_metrics

    result = divergence_metrics(reference, generated, seeds=seeds)
    return {name: getattr(result, name) for name in result.deviations}


def peer(reference: np.ndarray, generated: np.ndarray, seeds: range) -> dict[str, float]:
    from mauve import compute_mauve

    results = [compute_mauve(p_features=generated, q_features=reference, seed=seed) for seed in seeds]
    return {
        name: statistics.mean(getattr(result, name) for result in results)
        for name in ("mauve", "frontier_integral")
    }


def measure(contender: str, folder: Path, seeds: range) -> None:
    """Run one contender in this process; print its seconds, additional peak memory, and numbers."""
    warnings.simplefilter("ignore")
    import faiss
    import scipy.linalg
    import scipy.special  # noqa: F401
    import torch

    if contender != "textgamut":
        import mauve  # noqa: F401
    torch.ones(64, 64) @ torch.ones(64, 64)
    faiss.Kmeans(2, 2).train(np.eye(100, 2, dtype=np.float32))  # starts the thread pools
    reference, generated = (np.load(folder / f"{name}.npy") for name in ("reference", "generated"))
    if contender == "mauve-text, float64":
        reference, generated = reference.astype(np.float64), generated.astype(np.float64)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, start_cpu = time.perf_counter(), time.process_time()
    values = (ours if contender == "textgamut" else peer)(reference, generated, seeds)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(json.dumps({"seconds": seconds, "cpu": cpu, "above": above, "values": values}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=4000)
    parser.add_argument("--d", type=int, default=768)
    parser.add_argument("--seeds", type=int, default=1, help="number of k-means seeds")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        measure(options.contender, options.folder, range(options.seeds))
        return
    seconds: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    cpu: dict[str, list[float]] = {contender: [] for contender in CONTENDERS}
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, points in zip(("reference", "generated"), features(options.n, options.d), strict=True):
            np.save(Path(folder) / f"{name}.npy", points)
        command = [sys.executable, __file__, "--folder", folder, "--seeds", str(options.seeds)]
        for round_ in range(options.rounds):
            for contender in CONTENDERS:
                done = subprocess.run(  # noqa: S603
                    [*command, "--contender", contender], check=True, stdout=subprocess.PIPE
                )
                found[contender] = json.loads(done.stdout.splitlines()[-1])
                seconds[contender].append(found[contender]["seconds"])
                cpu[contender].append(found[contender]["cpu"])
                print(
                    f"round {round_ + 1}  {contender:20} {seconds[contender][-1]:6.2f} s, "
                    f"{cpu[contender][-1]:6.2f} s of processors",
                    flush=True,
                )
    median = {contender: statistics.median(times) for contender, times in seconds.items()}
    print(f"\nN = {options.n}, d = {options.d}, k-means seeds: {options.seeds}, median of {options.rounds}")
    for contender, result in found.items():
        numbers = ", ".join(f"{name} {value:.6f}" for name, value in result["values"].items())
        print(
            f"{contender:20} {median[contender]:6.2f} s ({median[contender] / median['textgamut']:4.2f} x "
            f"textgamut), {statistics.median(cpu[contender]):6.2f} s of processors, "
            f"{result['above']:4.0f} MB above the start; {numbers}"
        )
    ours_, theirs = found["textgamut"]["values"], found["mauve-text, float64"]["values"]
    apart = max(abs(ours_[name] - value) for name, value in theirs.items())
    print(f"textgamut and mauve-text in float64 differ by at most {apart:.1g}")


if __name__ == "__main__":
    main()
