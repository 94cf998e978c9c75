"""Shards of a cell on a tiny checkpoint: other numbers of them, resumes, one model for several, kill -9."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import tiny
import torch
from helpers import GIVE_UP, ROOT

from textgamut import files
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource
from textgamut.draws import draw_prompt_ids
from textgamut.errors import TextgamutError
from textgamut.generation.engines.transformers import TransformersEngine
from textgamut.generation.shard import (
    Generator,
    ShardJob,
    generate_shard,
    read_fingerprint,
    render_prompts,
)
from textgamut.tasks.templates import Prompt

SAMPLING = {"strategy": "sampling", "top_p": 0.9, "max_new_tokens": 8}


class Cell:
    """Cells of one task and one model in a folder, generated without Snakemake."""

    def __init__(self, folder: Path, architecture: str = "llama") -> None:
        self.folder = folder
        self.facts: dict[str, Any] = {}  # of the shard that was generated last
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
        samples = self.folder / f"{name}/seed{seed}/shards/{shard}.parquet"
        return ShardJob(settings, seed, self.folder / "prompts.parquet", samples, samples)

    def generator(self, batch_size: int = 5) -> Generator:
        return Generator(self.model, "tiny", torch.device("cpu"), 1, batch_size, threads=1)

    def generate(self, job: ShardJob, generator: Generator | None = None) -> pd.DataFrame:
        self.facts = generate_shard(job, generator or self.generator())
        assert job.journal.exists()  # until the output is safe
        job.journal.unlink()
        return pd.read_parquet(job.output)

    def no_engine(self, *_: object) -> None:
        raise TextgamutError("the engine is opened")


def elsewhere(job: ShardJob) -> ShardJob:
    """Return the same job in a folder without samples of the cell."""
    samples = job.samples.parents[3] / "elsewhere/shards" / job.samples.name
    return job._replace(samples=samples, output=samples)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    return Cell(tmp_path)


def test_samples_and_their_record(cell: Cell) -> None:
    job = cell.job()
    frame = cell.generate(job)
    assert frame["id"].tolist() == [f"p{i}/{number}" for i in range(12) for number in (0, 1)]
    assert frame["tokens"].between(1, 8).all()
    facts = cell.facts
    assert (facts["samples"], facts["new_tokens"]) == (24, frame["tokens"].sum())
    assert (facts["batch_size"], facts["dtype"], facts["device"]) == (5, "torch.float32", "cpu")
    assert facts["generation_seconds"] > 0
    assert not job.journal.exists()


def test_each_seed_has_its_own_prompts(cell: Cell) -> None:
    shared = files.read_table(cell.folder / "prompts.parquet", ["id"])
    own = [shared[:8].assign(seed=1), shared[4:].assign(seed=2)]
    files.write_table(cell.folder / "prompts.parquet", pd.concat(own, ignore_index=True))
    jobs = [cell.job(seed=seed, completions=1) for seed in (1, 2)]
    generator = cell.generator()
    assert cell.generate(jobs[0], generator)["prompt_id"].tolist() == list(shared["id"][:8])
    assert cell.generate(jobs[1], generator)["prompt_id"].tolist() == list(shared["id"][4:])


def test_truncated_prompts_are_written_beyond_the_context(cell: Cell) -> None:
    """The context has 16 tokens, of prompts that are equal up to there."""
    folder = tiny.write_checkpoint(cell.folder / "short", max_position_embeddings=16)
    source = {"kind": "file", "path": str(folder)}
    cell.model = Model(label="Tiny", family="Tiny", source=source, chat="none", dtype="float32")
    beginnings = [f"{'a b c d ' * 8}, {'e' * i}" for i in range(12)]
    frame = pd.read_parquet(cell.folder / "prompts.parquet").assign(base=beginnings)
    files.write_table(cell.folder / "prompts.parquet", frame)
    job = cell.job(top_k=1, completions=1)
    whole = cell.generate(job)
    assert whole["continuation"].nunique() > 1
    job = elsewhere(job._replace(settings=job.settings | {"truncate_prompts": 4096}))
    truncated = cell.generate(job)
    assert truncated["continuation"].nunique() == 1
    assert (truncated["tokens"] <= 8).all()


def test_shards_hold_the_same_samples(cell: Cell) -> None:
    whole = cell.generate(cell.job())
    parts = [cell.generate(elsewhere(cell.job(f"{i}-of-5"))) for i in range(5)]
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
    assert cell.facts["resumed_samples"] == 6


def test_fewer_prompts_are_part_of_more(cell: Cell) -> None:
    whole = cell.generate(cell.job(seed=2)).set_index("id")
    job = cell.job(seed=3)._replace(seed=2)
    for n, resumed in ((3, 0), (7, 6)):
        found = cell.generate(job._replace(settings=job.settings | {"task": "t", "n": n})).set_index("id")
        assert set(found["prompt_id"]) == set(draw_prompt_ids([f"p{i}" for i in range(12)], "t", n))
        pd.testing.assert_frame_equal(found, whole.loc[found.index])
        assert (cell.facts["samples"], cell.facts["resumed_samples"]) == (2 * n, resumed)
    with pytest.raises(TextgamutError, match="task 't': prompts of the dataset: 13 are requested, but there"):
        cell.generate(job._replace(settings=job.settings | {"task": "t", "n": 13}))


def test_a_model_is_loaded_once_for_several_cells(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [cell.job(), cell.job(seed=2), cell.job(temperature=0.5)]
    generator, alone = cell.generator(), [cell.generate(elsewhere(job)) for job in jobs[1:]]
    cell.generate(jobs[0], generator)
    monkeypatch.setattr("textgamut.generation.shard.open_engine", cell.no_engine)
    for job, frame in zip(jobs[1:], alone, strict=True):
        pd.testing.assert_frame_equal(cell.generate(job, generator), frame)


def test_samples_are_written_where_they_are_kept(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal is where the job's own run looks for it; other jobs find kept samples, too."""
    job = cell.job()
    kept = job._replace(output=job.samples.parent / files.KEPT / job.samples.name)
    whole = cell.generate(kept).set_index("id")
    assert not job.samples.exists()
    assert not list(kept.output.parent.glob("*.jsonl"))
    monkeypatch.setattr("textgamut.generation.shard.open_engine", cell.no_engine)
    part = cell.generate(cell.job("0-of-2")).set_index("id")
    pd.testing.assert_frame_equal(part, whole.loc[part.index])


def test_an_unpinned_adapter_is_watched_like_its_checkpoint(cell: Cell) -> None:
    adapter = cell.folder / "adapter"
    adapter.mkdir()
    weights = adapter / "adapter_model.safetensors"
    weights.write_text("one")
    before = cell.generator().files
    cell.model = cell.model.model_copy(update={"adapter": FileSource(kind="file", path=str(adapter))})
    first = cell.generator().files
    weights.write_text("three")
    assert before == first[: len(before)]
    assert [name for name, *_ in first[len(before) :]] == [str(weights)]
    assert cell.generator().files != first


def test_an_edited_checkpoint_writes_anew(cell: Cell) -> None:
    """A folder of the user's own, edited in place: what its old weights wrote elsewhere is not taken."""
    before = cell.generate(cell.job()).set_index("id")["continuation"]
    tiny.write_checkpoint(cell.folder / "checkpoint", seed=1)
    after = cell.generate(cell.job("0-of-2")).set_index("id")["continuation"]
    assert (after != before.loc[after.index]).all()


def test_the_fingerprint_of_a_shard_is_that_of_all_shards_of_its_cell(cell: Cell) -> None:
    jobs = [cell.job("0-of-2"), cell.job("1-of-2"), cell.job("0-of-1", completions=3), cell.job(seed=2)]
    for job in jobs:
        cell.generate(job)
    found = [read_fingerprint(job.samples) for job in jobs]
    assert found[0] == found[1] == found[2] != found[3]
    assert read_fingerprint(cell.folder / "nowhere.parquet") is None
    assert read_fingerprint(cell.folder / "prompts.parquet") is None


def test_the_dtype_of_the_texts_is_recorded(cell: Cell) -> None:
    """With `auto` it is that of the hardware: the shards of a cell may differ in it, which is then told."""
    job = cell.job()
    cell.generate(job)
    assert files.read_attributes(job.samples)["engines"] == ["transformers, torch.float32"]


def test_versions_of_an_engine_are_not_mixed(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in a journal nor among shards: both versions and both ways out are named, nothing is lost."""
    monkeypatch.setattr(TransformersEngine, "identity", "engine 1")
    job, other = cell.job("0-of-2"), cell.job("1-of-2")
    generate_shard(job, cell.generator())  # its journal stays, as that of a killed job
    job.samples.unlink()
    journal = job.journal.read_text()
    rows = cell.generate(elsewhere(job))

    monkeypatch.setattr(TransformersEngine, "identity", "engine 2")
    for unfinished in (cell.job("0-of-2", completions=3), other):
        with pytest.raises(
            TextgamutError, match=r"engine 1, and this is engine 2.*delete .*shards to generate"
        ):
            generate_shard(unfinished, cell.generator())
    assert job.journal.read_text() == journal

    pd.testing.assert_frame_equal(cell.generate(job), rows)  # nothing is left to generate: no mix
    assert files.read_attributes(job.samples)["engines"] == ["engine 1"]
    assert cell.facts["engines"] == ["engine 1"]
    with pytest.raises(TextgamutError, match=r"0-of-2.parquet: has texts of engine 1"):
        generate_shard(other, cell.generator())
    monkeypatch.setattr(TransformersEngine, "identity", "engine 1")
    cell.generate(other)


def test_a_served_model_reads_prompts_without_a_tokenizer(cell: Cell) -> None:
    prompts = {"p": Prompt("one two", "Continue: one", " two")}
    assert render_prompts(prompts, cell.model) == [("p", "one two", False)]
    source = {"kind": "openai", "url": "http://localhost:8000/v1", "model": "m"}
    served = Model(label="S", family="S", source=source, chat="template", engine="openai", gpus=0)
    assert render_prompts(prompts, served) == [("p", "Continue: one two", True)]


def test_the_journal_is_closed(cell: Cell) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cell.generate(cell.job("0-of-1"))
    assert not [warning for warning in caught if "journal" in str(warning.message)]


def test_more_shards_than_samples(cell: Cell) -> None:
    parts = [cell.generate(cell.job(f"{i}-of-30")) for i in (0, 23, 29)]
    assert [len(part) for part in parts] == [1, 1, 0]
    assert list(parts[0]) == list(parts[2])


@pytest.mark.slow
def test_killed_at_10_random_moments_the_file_is_the_same_to_the_byte(cell: Cell) -> None:
    """kill -9 of the job; forks of one process that has torch loaded, so that 10 fit into seconds."""
    path = [str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/unit/generation/killed_shard.py"), str(cell.folder)],
        capture_output=True,
        text=True,
        timeout=GIVE_UP,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["kills"] == 10
    assert told["resumes"] > 2  # that found samples of an earlier life
    assert told["same"] is True
