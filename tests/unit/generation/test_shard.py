"""Shards of a cell on a tiny checkpoint: other numbers of them, resumes, companions, kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
import torch
from filelock import FileLock
from helpers import ROOT

from textgamut import files
from textgamut.config.entries.models import Model
from textgamut.draws import draw_prompt_ids
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.shard import ShardJob, generate_shard, read_fingerprint, render_prompts
from textgamut.tasks.templates import Prompt

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

    def job(self, shard: str = "0-of-1", seed: int = 1, completions: int = 2, **decoding: Any) -> ShardJob:
        settings = {
            "model": self.model.science(),
            "decoding": SAMPLING | decoding,
            "completions": completions,
            "revision": [1],
        }
        name = "-".join(map(str, decoding.values())) or "d"
        return ShardJob(
            settings,
            seed,
            self.folder / f"{name}/seed{seed}/shards/{shard}.parquet",
            self.folder / f"logs/{name}/seed{seed}/{shard}.lock",
        )

    def generate(
        self, job: ShardJob, companions: Sequence[ShardJob] = (), batch_size: int = 5
    ) -> pd.DataFrame:
        generate_shard(job, companions, self.model, batch_size, 1, self.folder / "prompts.parquet")
        return pd.read_parquet(job.samples)

    def no_engine(self, *_: object) -> None:
        raise TextgamutError("the engine is opened")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


def test_samples_and_their_record(cell: Cell) -> None:
    job = cell.job()
    frame = cell.generate(job)
    assert frame["id"].tolist() == [f"p{i}/{number}" for i in range(12) for number in (0, 1)]
    assert frame["tokens"].between(1, 8).all()
    meta = files.read_json(job.samples.with_name("0-of-1.parquet.meta.json"))
    assert (meta["samples"], meta["new_tokens"]) == (24, frame["tokens"].sum())
    assert (meta["batch_size"], meta["dtype"], meta["device"]) == (5, "torch.float32", "cpu")
    assert meta["generation_seconds"] > 0
    assert not job.journal.exists()


def test_each_seed_has_its_own_prompts_also_as_a_companion(cell: Cell) -> None:
    shared = files.read_table(cell.folder / "prompts.parquet", ["id"])
    own = [shared[:8].assign(seed=1), shared[4:].assign(seed=2)]
    files.write_table(cell.folder / "prompts.parquet", pd.concat(own, ignore_index=True))
    jobs = [cell.job(seed=seed, completions=1) for seed in (1, 2)]
    assert cell.generate(jobs[0], jobs[1:])["prompt_id"].tolist() == list(shared["id"][:8])
    assert jobs[1].journal.exists()
    assert cell.generate(jobs[1])["prompt_id"].tolist() == list(shared["id"][4:])


def test_shards_hold_the_same_samples(cell: Cell) -> None:
    whole = cell.generate(cell.job())
    parts = [cell.generate(cell.job(f"{i}-of-5", seed=1)._replace(
        samples=cell.folder / f"other/shards/{i}-of-5.parquet")) for i in range(5)]  # fmt: skip
    assert {len(part) for part in parts} == {4, 5}
    together = pd.concat(parts).set_index("id").loc[whole["id"]].reset_index()
    pd.testing.assert_frame_equal(together, whole)


def test_another_number_of_shards_generates_nothing_anew(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cell.generate(cell.job()).set_index("id")
    monkeypatch.setattr("textgamut.generation.shard.open_engine", cell.no_engine)
    for i in range(3):
        part = cell.generate(cell.job(f"{i}-of-3")).set_index("id")
        pd.testing.assert_frame_equal(part, whole.loc[part.index])
    with pytest.raises(TextgamutError, match="the engine is opened"):  # other settings: nothing to take
        cell.generate(cell.job("0-of-3", temperature=0.5))


def test_more_completions_keep_those_that_there_are(cell: Cell, tmp_path: Path) -> None:
    """When the number of shards changes, too: Snakemake removes a shard before it is made anew."""
    few = cell.generate(cell.job("0-of-1", completions=1)).set_index("id")
    job = cell.job("0-of-2", completions=3)
    more = cell.generate(job).set_index("id")
    kept = more.index.intersection(few.index)
    assert len(kept) == 6
    pd.testing.assert_frame_equal(more.loc[kept], few.loc[kept])
    assert files.read_json(job.samples.with_name("0-of-2.parquet.meta.json"))["resumed_samples"] == 6


def test_fewer_prompts_are_part_of_more(cell: Cell) -> None:
    whole = cell.generate(cell.job(seed=2)).set_index("id")
    job = cell.job(seed=3)._replace(seed=2)
    for n, resumed in ((3, 0), (7, 6)):
        found = cell.generate(job._replace(settings=job.settings | {"task": "t", "n": n})).set_index("id")
        assert set(found["prompt_id"]) == set(draw_prompt_ids([f"p{i}" for i in range(12)], "t", n))
        pd.testing.assert_frame_equal(found, whole.loc[found.index])
        meta = files.read_json(job.samples.with_name("0-of-1.parquet.meta.json"))
        assert (meta["samples"], meta["resumed_samples"]) == (2 * n, resumed)
    with pytest.raises(TextgamutError, match="task 't': prompts of the dataset: 13 are requested, but there"):
        cell.generate(job._replace(settings=job.settings | {"task": "t", "n": 13}))


def test_a_loaded_model_goes_on_with_the_other_cells(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    own, others = cell.job(), [cell.job(seed=2), cell.job(temperature=0.5)]
    cell.generate(own, others)
    assert all(other.journal.exists() and not other.samples.exists() for other in others)
    monkeypatch.setattr("textgamut.generation.shard.open_engine", cell.no_engine)
    texts = [cell.generate(other) for other in others]
    monkeypatch.undo()
    for other, frame in zip(others, texts, strict=True):
        alone = other._replace(samples=cell.folder / "alone/shards/0-of-1.parquet")
        pd.testing.assert_frame_equal(cell.generate(alone), frame)


def test_a_finished_cell_is_left_alone(cell: Cell) -> None:
    done = cell.job(seed=2)
    cell.generate(done)
    before = done.samples.stat().st_mtime_ns
    cell.generate(cell.job(), [done])
    assert done.samples.stat().st_mtime_ns == before
    assert not done.journal.exists()


def test_another_cell_that_fails_is_left_to_its_own_job(tmp_path: Path, caplog) -> None:
    cell = Cell(tmp_path, "bloom")
    bad = cell.job(seed=2)
    bad.settings["decoding"] = {"strategy": "contrastive", "k": 3, "alpha": 0.5, "max_new_tokens": 4}
    assert len(cell.generate(cell.job(), [bad])) == 24
    assert "choose another decoding strategy" in caplog.text
    with pytest.raises(TextgamutError, match="choose another decoding strategy"):
        cell.generate(bad)


def test_what_is_done_survives_a_death_at_another_cell(
    cell: Cell, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    """Snakemake removes the output of a job that dies: its samples are in the journal until the very end."""
    own, other = cell.job(), cell.job(seed=2)
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
    monkeypatch.setattr("textgamut.generation.shard.open_engine", cell.no_engine)
    assert len(cell.generate(own)) == 24
    assert not own.journal.exists()
    monkeypatch.undo()
    monkeypatch.setattr(TransformersEngine, "generate", dying(ValueError))
    assert len(cell.generate(cell.job(seed=3), [other])) == 24  # nor does its failure fail what is done
    assert "left to its own job" in caplog.text


def test_an_edited_checkpoint_writes_anew(cell: Cell) -> None:
    """A folder of the user's own, edited in place: what its old weights wrote elsewhere is not taken."""
    before = cell.generate(cell.job()).set_index("id")["continuation"]
    tiny.write_checkpoint(cell.folder / "checkpoint", seed=1)
    after = cell.generate(cell.job("0-of-2")).set_index("id")["continuation"]
    assert (after != before.loc[after.index]).all()


def test_a_finished_cell_is_left_alone_on_other_hardware(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """What another dtype would make of it, its own job would be asked for."""
    done = cell.job(seed=2)
    cell.generate(done)
    monkeypatch.setattr("textgamut.generation.shard.choose_dtype", lambda *_: torch.bfloat16)
    cell.generate(cell.job(), [done])
    assert not done.journal.exists()


def test_the_fingerprint_of_a_shard_is_that_of_all_shards_of_its_cell(cell: Cell) -> None:
    jobs = [cell.job("0-of-2"), cell.job("1-of-2"), cell.job("0-of-1", completions=3), cell.job(seed=2)]
    for job in jobs:
        cell.generate(job)
    found = [read_fingerprint(job.samples) for job in jobs]
    assert found[0] == found[1] == found[2] != found[3]
    assert read_fingerprint(cell.folder / "nowhere.parquet") is None
    assert read_fingerprint(cell.folder / "prompts.parquet") is None


def test_a_served_model_reads_prompts_without_a_tokenizer(cell: Cell) -> None:
    prompts = {"p": Prompt("one two", "Continue: one", " two")}
    assert render_prompts(prompts, cell.model) == [("p", "one two", False)]
    source = {"kind": "openai", "url": "http://localhost:8000/v1", "model": "m"}
    served = Model(label="S", family="S", source=source, chat="template", engine="openai", gpus=0)
    assert render_prompts(prompts, served) == [("p", "Continue: one two", True)]


def test_more_shards_than_samples(cell: Cell) -> None:
    parts = [cell.generate(cell.job(f"{i}-of-30")) for i in (0, 23, 29)]
    assert [len(part) for part in parts] == [1, 1, 0]
    assert list(parts[0]) == list(parts[2])


def test_a_cell_whose_own_job_is_at_work_is_left_to_it(cell: Cell) -> None:
    busy = cell.job(seed=2)
    busy.lock.parent.mkdir(parents=True)
    with FileLock(busy.lock):
        cell.generate(cell.job(), [busy])
    assert not busy.journal.exists()


@pytest.mark.slow
def test_killed_at_20_random_moments_the_file_is_the_same_to_the_byte(cell: Cell) -> None:
    """kill -9 of the job; forks of one process that has torch loaded, so that 20 fit into seconds."""
    path = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/unit/generation/killed_shard.py"), str(cell.folder)],
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == 20
    assert told["resumes"] > 5  # that found samples of an earlier life
    assert told["same"] is True
