"""What the tests with Slurm share: the cluster, and an experiment whose models and data are fetched."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from helpers import GIVE_UP, TINY, copy_project, run_snakemake, write_tiny
from slurm.cluster import Cluster, environment, missing

EXPERIMENT = TINY | {
    "tasks": {
        "news": TINY["tasks"]["news"]
        | {"seeds": [1, 2, 3, 4], "draws": [1], "cells": [{"models": ["chat"], "decodings": ["short"]}]}
    }
}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster; skip where none can be, or fail where TEXTGAMUT_REQUIRE_SLURM wants it."""
    if reason := missing():
        if os.environ.get("TEXTGAMUT_REQUIRE_SLURM"):
            pytest.fail(reason)
        pytest.skip(reason)
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model, four seeds; fetched as on a login node, and made ready up to the prompts."""
    folder = write_tiny(copy_project(tmp_path_factory.mktemp("fetched")))
    (folder / "config/demo.yaml").write_text(yaml.safe_dump(EXPERIMENT, sort_keys=False))
    fetching = ["--until", "extract_dataset", "fetch_model", "fetch_embedder"]
    for asked in (fetching, ["data/news/lengths/chat/8.json"]):
        done = run_snakemake(folder, "--cores", "2", *asked)
        assert done.returncode == 0, done.stdout
    return folder


def write_setting(folder: Path, name: str, value: str) -> None:
    """Set one of the variables at the top of the profile, as a user does."""
    path = folder / "profiles/slurm/config.yaml"
    text, count = re.subn(rf"(?m)^  {name}: [^ ?]+ #", f"  {name}: {value} #", path.read_text())
    assert count == 1
    path.write_text(text)


def start_through_slurm(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start the workflow of a folder through the profile; its output goes to `run.log` there."""
    with (folder / "run.log").open("wb") as log:
        return subprocess.Popen(
            [
                *(sys.executable, Path(__file__).with_name("impatient.py"), "--profile", "profiles/slurm"),
                *("--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "10", *arguments),
            ],
            cwd=folder,
            env=environment() | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def end_of(process: subprocess.Popen[bytes], folder: Path) -> tuple[int, str]:
    """Wait for the end of a run; return its exit code and its output."""
    try:
        code = process.wait(GIVE_UP)
    finally:
        process.kill()
    return code, (folder / "run.log").read_text()
