"""The tutorial on Slurm: all that it tells a reader to do is done on a real one."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from docs.reader import Reader
from helpers import ROOT, copy_project
from slurm.cluster import Cluster

ELSEWHERE = ("make install", "source .venv", ".venv/bin/pip", "export TEXTGAMUT_CACHE")
"""What this environment has already, and a cache on a file system that is not here."""


def test_the_tutorial(cluster: Cluster, tmp_path: Path) -> None:
    folder = copy_project(tmp_path)
    snakemake = folder / "programs/snakemake"
    snakemake.parent.mkdir()
    impatient = f"{sys.executable} {Path(__file__).with_name('impatient.py')}"
    snakemake.write_text(
        "#!/bin/sh\ncase $* in\n"
        '*--profile*) set -- --slurm-init-seconds-before-status-checks 1 --latency-wait 10 "$@" ;;\n'
        f'esac\nexec {impatient} "$@"\n'
    )
    snakemake.chmod(0o755)
    Reader(folder, ELSEWHERE, (snakemake.parent, "/usr/sbin")).follow(ROOT / "docs/tutorials/slurm.md")
    scores = pd.read_csv(folder / "results/papers/first/first/scores.csv")
    assert scores.query("metric == 'precision'")["value"].between(0, 1).all()
    assert {job["WorkDir"] for job in cluster.jobs().values()} >= {str(folder)}
