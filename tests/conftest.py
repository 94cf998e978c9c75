"""What the tests share: a copy of the workflow to edit, and the demo's real checkpoints."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from textgamut.config import Config, load_config, read_yaml

ROOT = Path(__file__).parents[1]


def run_snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the workflow of a folder to its end; standard output and error in one text."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=900,
    )


def copy_project(folder: Path) -> Path:
    """Copy what a workflow run needs, to be edited freely."""
    for name in ("config", "workflow", "profiles", "envs"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "Snakefile", folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the workflow in a folder of its own."""
    return copy_project(tmp_path)


@pytest.fixture(scope="session")
def demo() -> Config:
    """The demo's experiment and the registries."""
    return load_config(read_yaml(ROOT / "config/demo.yaml"), "config/demo.yaml", ROOT / "config")


@pytest.fixture(scope="session")
def smollm2(demo: Config) -> Path:
    """The checkpoint of SmolLM2-135M-Instruct, fetched and converted."""
    from textgamut.generation.checkpoints import prepare

    return prepare(demo.models["smollm2-135m-instruct"].source)
