"""The generation rule on a tiny checkpoint: shards, resumes, other cells of a loaded model, kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
import torch
from filelock import FileLock
from helpers import ROOT, load_script

from textgamut import files
from textgamut.config.entries.models import Model
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.workflow.jobs import lock_of

SAMPLING = {"strategy": "sampling", "top_p": 0.9, "max_new_tokens": 8}


class Cell:
    """Cells of one task and one model in a folder, generated without Snakemake."""

    def __init__(self, folder: Path, architecture: str = "llama") -> None:
        self.folder = folder
        source = {"kind": "file", "path": str(tiny.write_checkpoint(folder / "checkpoint", architecture))}
        self.model = Model(label="Tiny", family="Tiny", source=source, chat="none", dtype="float32")
        texts = [f"Text number {i}, of some length" + "." * (i % 7) for i in range(12)]
        files.write_table(
            folder / "prompts.parquet",
            pd.DataFrame({"id": [f"p{i}" for i in range(12)], "base": texts, "user": texts, "start": "x"}),
        )
        self.script = load_script("generation", "generate_texts")

    def work(self, shard: str = "0-of-1", seed: int = 1, completions: int = 2, **decoding: Any) -> Any:
        settings = {
            "model": self.model.science(),
            "decoding": SAMPLING | decoding,
            "completions": completions,
            "revision": [1],
        }
        name = "-".join(map(str, decoding.values())) or "d"
        return self.script.Work(
            settings,
            seed,
            self.folder / f"{name}/seed{seed}/shards/{shard}.parquet",
            self.folder / f"logs/{name}/seed{seed}/{shard}.log",
        )

    def generate(self, work: Any, others: Any = (), batch_size: int = 5) -> pd.DataFrame:
        self.script.generate_texts(work, others, self.model, batch_size, 1, self.folder / "prompts.parquet")
        return pd.read_parquet(work.samples)

    def no_engine(self, *_: object) -> None:
        raise TextgamutError("the engine is opened")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


def test_samples_and_their_record(cell: Cell) -> None:
    work = cell.work()
    frame = cell.generate(work)
    assert frame["id"].tolist() == [f"p{i}/{number}" for i in range(12) for number in (0, 1)]
    assert frame["tokens"].between(1, 8).all()
    meta = files.read_json(work.samples.with_name("0-of-1.meta.json"))
    assert (meta["samples"], meta["new_tokens"]) == (24, frame["tokens"].sum())
    assert (meta["batch_size"], meta["dtype"], meta["device"]) == (5, "torch.float32", "cpu")
    assert meta["generation_seconds"] > 0
    assert not work.journal.exists()


def test_shards_hold_the_same_samples(cell: Cell) -> None:
    whole = cell.generate(cell.work())
    parts = [cell.generate(cell.work(f"{i}-of-5", seed=1)._replace(
        samples=cell.folder / f"other/shards/{i}-of-5.parquet")) for i in range(5)]  # fmt: skip
    assert {len(part) for part in parts} == {4, 5}
    together = pd.concat(parts).set_index("id").loc[whole["id"]].reset_index()
    pd.testing.assert_frame_equal(together, whole)


def test_another_number_of_shards_generates_nothing_anew(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cell.generate(cell.work()).set_index("id")
    monkeypatch.setitem(cell.script.generate_texts.__globals__, "open_engine", cell.no_engine)
    for i in range(3):
        part = cell.generate(cell.work(f"{i}-of-3")).set_index("id")
        pd.testing.assert_frame_equal(part, whole.loc[part.index])
    with pytest.raises(TextgamutError, match="the engine is opened"):  # other settings: nothing to take
        cell.generate(cell.work("0-of-3", temperature=0.5))


def test_more_completions_keep_those_that_there_are(cell: Cell, tmp_path: Path) -> None:
    """When the number of shards changes, too: Snakemake removes a shard before it is made anew."""
    few = cell.generate(cell.work("0-of-1", completions=1)).set_index("id")
    work = cell.work("0-of-2", completions=3)
    more = cell.generate(work).set_index("id")
    kept = more.index.intersection(few.index)
    assert len(kept) == 6
    pd.testing.assert_frame_equal(more.loc[kept], few.loc[kept])
    assert files.read_json(work.samples.with_name("0-of-2.meta.json"))["resumed_samples"] == 6


def test_a_loaded_model_goes_on_with_the_other_cells(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = cell.work(), [cell.work(seed=2), cell.work(temperature=0.5)]
    cell.generate(own, others)
    assert all(other.journal.exists() and not other.samples.exists() for other in others)
    monkeypatch.setitem(cell.script.generate_texts.__globals__, "open_engine", cell.no_engine)
    texts = [cell.generate(other) for other in others]
    monkeypatch.undo()
    for other, frame in zip(others, texts, strict=True):
        alone = other._replace(samples=cell.folder / "alone/shards/0-of-1.parquet")
        pd.testing.assert_frame_equal(cell.generate(alone), frame)


def test_a_finished_cell_is_left_alone(cell: Cell) -> None:
    done = cell.work(seed=2)
    cell.generate(done)
    before = done.samples.stat().st_mtime_ns
    cell.generate(cell.work(), [done])
    assert done.samples.stat().st_mtime_ns == before
    assert not done.journal.exists()


def test_another_cell_that_fails_is_left_to_its_own_job(tmp_path: Path, caplog) -> None:
    cell = Cell(tmp_path, "bloom")
    bad = cell.work(seed=2)
    bad.settings["decoding"] = {"strategy": "contrastive", "k": 3, "alpha": 0.5, "max_new_tokens": 4}
    assert len(cell.generate(cell.work(), [bad])) == 24
    assert "choose another decoding strategy" in caplog.text
    with pytest.raises(TextgamutError, match="choose another decoding strategy"):
        cell.generate(bad)


def test_what_is_done_survives_a_death_at_another_cell(
    cell: Cell, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    """Snakemake removes the output of a job that dies: its samples are in the journal until the very end."""
    own, other = cell.work(), cell.work(seed=2)
    generate = TransformersEngine.generate

    class Death(BaseException):
        """As a signal ends a process: nothing catches it."""

    def dying(error: type[BaseException]) -> Any:
        def run(engine: Any, requests: Any, decoding: Any, seed: int) -> Any:
            if seed == 2:
                raise error
            return generate(engine, requests, decoding, seed)

        return run

    monkeypatch.setattr(TransformersEngine, "generate", dying(Death))
    with pytest.raises(Death):
        cell.generate(own, [other])
    own.samples.unlink()
    monkeypatch.setitem(cell.script.generate_texts.__globals__, "open_engine", cell.no_engine)
    assert len(cell.generate(own)) == 24
    assert not own.journal.exists()
    monkeypatch.undo()
    monkeypatch.setattr(TransformersEngine, "generate", dying(ValueError))
    assert len(cell.generate(cell.work(seed=3), [other])) == 24  # nor does its failure fail what is done
    assert "left to its own job" in caplog.text


def test_an_edited_checkpoint_writes_anew(cell: Cell) -> None:
    """A folder of the user's own, edited in place: what its old weights wrote elsewhere is not taken."""
    before = cell.generate(cell.work()).set_index("id")["continuation"]
    tiny.write_checkpoint(cell.folder / "checkpoint", seed=1)
    after = cell.generate(cell.work("0-of-2")).set_index("id")["continuation"]
    assert (after != before.loc[after.index]).all()


def test_a_finished_cell_is_left_alone_on_other_hardware(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another dtype would make of it, its own job would be asked for."""
    done = cell.work(seed=2)
    cell.generate(done)
    monkeypatch.setitem(cell.script.generate_texts.__globals__, "choose_dtype", lambda *_: torch.bfloat16)
    cell.generate(cell.work(), [done])
    assert not done.journal.exists()


def test_more_shards_than_samples(cell: Cell) -> None:
    parts = [cell.generate(cell.work(f"{i}-of-30")) for i in (0, 23, 29)]
    assert [len(part) for part in parts] == [1, 1, 0]
    assert list(parts[0]) == list(parts[2])


def test_a_cell_whose_own_job_is_at_work_is_left_to_it(cell: Cell) -> None:
    busy = cell.work(seed=2)
    busy.log.parent.mkdir(parents=True)
    with FileLock(lock_of(busy.log)):
        cell.generate(cell.work(), [busy])
    assert not busy.journal.exists()


@pytest.mark.slow
def test_killed_at_20_random_moments_the_file_is_the_same_to_the_byte(cell: Cell) -> None:
    """kill -9 of the job; forks of one process that has torch loaded, so that 20 fit into seconds."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/rules/killed_generation.py"), str(cell.folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "tests")},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == 20
    assert told["resumes"] > 5  # that found samples of an earlier life
    assert told["same"] is True
