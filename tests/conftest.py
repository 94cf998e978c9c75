"""What the tests share: a copy of the workflow to edit, and the demo's real checkpoints."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import ROOT, copy_project, run_warm, write_tiny
from hypothesis import settings

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.locks import lock

# By default, threads of torch that wait for others keep their core busy, which slows down all jobs that share
# the cores, as the tests do.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# On a busy machine, any example may take long.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def own_logging() -> Iterator[None]:
    """Undo what a command line or a job under test set up: its handlers write to that test's terminal."""
    logger = logging.getLogger("textgamut")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, level, logger.propagate = before
    logger.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the workflow in a folder of its own."""
    return copy_project(tmp_path)


@pytest.fixture(scope="session")
def demo() -> Config:
    """The demo's experiment and the registries."""
    return load_config(ROOT / "config/demo.yaml")


@pytest.fixture(scope="session")
def smollm2(demo: Config) -> Path:
    """The checkpoint of SmolLM2-135M-Instruct, fetched and converted."""
    from textgamut.models.checkpoints import prepare

    return prepare(demo.models["smollm2-135m-instruct"].source)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny experiment, run to its end; to be read, not changed. One for all test processes."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "finished"
    with lock(folder.with_suffix(".lock")):
        if not (folder / "results/papers/tiny/news/scores.parquet").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            done = run_warm(write_tiny(copy_project(folder)), "--cores", "2")
            assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def edited(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished experiment with its ages and records, to be edited."""
    folder = tmp_path / "edited"
    shutil.copytree(finished, folder, symlinks=True)
    return folder


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small p-values need not be exact where only a decision is tested."""
    monkeypatch.setattr("textgamut.inference.resamples.MOST", 1000)
