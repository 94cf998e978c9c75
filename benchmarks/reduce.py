"""The reduction of features compared with scikit-learn's PCA, and its eigenvectors with plain `eigh`.

    python benchmarks/reduce.py                        # two sets of N = 4000, d = 1280, float32

Each contender runs in its own process on the same features, alternating, on one core. Memory is the peak of
the process minus its use after libraries and features were loaded. The solvers get a covariance
matrix; their memory is not measured. Figures are medians over the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from support import features

SOLVERS = ("axes alone", "scipy eigh", "torch eigh")
CONTENDERS = ("textgamut", "PCA, float64", "PCA, float32", *SOLVERS)


def peak() -> float:
    """Return the peak memory of this process in MB."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e3


def measure(contender: str, folder: Path) -> None:
    """Run one contender in this process; print its seconds, its memory and how many components it keeps."""
    import scipy.linalg
    import torch
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    from textgamut.features import reduce

    reference, generated = (np.load(folder / f"{name}.npy") for name in ("reference", "generated"))
    scatter = None
    if contender in SOLVERS:
        union = normalize(np.concatenate([reference, generated]).astype(np.float64))
        union -= union.mean(axis=0)
        scatter = union.T @ union
        scipy.linalg.eigh(np.eye(8)), torch.linalg.eigh(torch.eye(8))  # first calls are slower
    before, start = peak(), time.process_time()
    if contender == "textgamut":
        kept = reduce.reduce_features(reference, generated, device="cpu")[0].shape[1]
    elif scatter is None:
        union = np.concatenate([reference, generated]).astype(contender[-7:])
        kept = PCA(n_components=0.90).fit_transform(normalize(union, copy=False)).shape[1]
    elif contender == "axes alone":
        kept = len(reduce._principal_axes(torch.from_numpy(scatter), 0.90))
    else:
        solve = scipy.linalg.eigh if contender == "scipy eigh" else torch.linalg.eigh
        variances = np.asarray(solve(scatter if solve is scipy.linalg.eigh else torch.from_numpy(scatter))[0])
        kept = int(np.searchsorted(variances[::-1].cumsum(), 0.90 * variances.sum())) + 1
    found = {"seconds": time.process_time() - start, "memory": peak() - before, "kept": kept}
    print(json.dumps(found))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=4000, help="of each set")
    parser.add_argument("--d", type=int, default=1280)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        measure(options.contender, options.folder)
        return
    one_core = os.environ | {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    with tempfile.TemporaryDirectory() as folder:
        for name, points in zip(
            ("reference", "generated"), features(options.n, options.d, "float32"), strict=True
        ):
            np.save(f"{folder}/{name}.npy", points)
        for _ in range(options.rounds):
            for name in CONTENDERS:
                command = [sys.executable, __file__, "--contender", name, "--folder", folder]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=one_core)  # noqa: S603
                runs[name].append(json.loads(done.stdout.splitlines()[-1]))
    for name, results in runs.items():
        seconds, memory, kept = (
            statistics.median(result[key] for result in results) for key in ("seconds", "memory", "kept")
        )
        above = f", {memory:.0f} MB above the start" if name not in SOLVERS else ""
        print(f"{name:12} {seconds:6.2f} s{above}, {kept:.0f} components")


if __name__ == "__main__":
    main()
