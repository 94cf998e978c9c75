"""One shard of a cell: generated batch by batch, so that a killed job resumes from its journal.

A job that has loaded its model goes on with its companions, the shards of other cells that need the same
model and prompts: it fills their journals. Their own jobs then find every sample there and load nothing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource, OpenAISource
from textgamut.errors import TextgamutError
from textgamut.files import read_attributes, read_table, write_meta, write_table
from textgamut.generation.engines.engine import Engine, open_engine
from textgamut.generation.journal import Journal, fingerprint, read_samples
from textgamut.generation.requests import Request, Sample
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import Progress
from textgamut.tasks.chat_formats import render_for_server, render_prompt
from textgamut.tasks.templates import Prompt, prompts_of

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

COLUMNS = list(Sample.__annotations__)


class ShardJob(NamedTuple):
    """What the job of one shard is to make."""

    settings: dict[str, Any]
    """What the samples depend on: ``model``, ``decoding``, ``completions``, ``revision``."""
    seed: int
    """Generation seed of the cell."""
    samples: Path
    """The output, ``{shard}-of-{shards}.parquet``, in a folder that holds nothing but shards of the cell."""
    lock: Path
    """A file that is locked while the shard's own job runs."""

    @property
    def journal(self) -> Path:
        """Where samples are kept until the shard is complete."""
        return self.samples.with_suffix(".journal.jsonl")

    @property
    def cell(self) -> Path:
        """The folder of the cell."""
        return self.samples.parent.parent


def generate_shard(
    job: ShardJob, companions: Sequence[ShardJob], model: Model, batch_size: int, threads: int, prompts: Path
) -> None:
    """Generate the samples of a shard, and fill the journals of its companions once the model is loaded.

    Samples that the journal holds, or other shards of the cell, are not generated again. A companion is left
    to its own job if that runs already, if its output exists, or if it fails here. A served model has no
    companions, since nothing is loaded for it.

    Args:
        job: The shard. Its output is written with ``.meta.json`` beside it.
        companions: Shards of the same task and model, and of the same number among as many.
        model: The model's entry.
        batch_size: Samples at a time, or requests; fewer where an earlier run was short of memory.
        threads: Of torch, on the CPU.
        prompts: The table of the task's prompts.

    Raises:
        TextgamutError: As ``open_engine`` and ``Engine.generate``.
    """
    import torch

    torch.set_num_threads(threads)
    rendered = render_prompts(prompts_of(read_table(prompts, ["id", *Prompt._fields])), model)
    served = model.engine == "openai"
    with lease(0 if served else model.gpus) as device:
        loaded = _LazyModel(model, batch_size, device)
        shard = _Shard(job, rendered, loaded)
        shard.generate()
        shard.write(threads)
        if loaded.engine and not served:
            _generate_companions(companions, rendered, loaded)
        # Not before: Snakemake removes the output of a job that dies while it is at work on companions.
        shard.journal.remove()


def render_prompts(prompts: dict[str, Prompt], model: Model) -> list[tuple[str, str, bool]]:
    """Return each prompt as the model reads it: its id, the text, whether a chat template wrote the text."""
    if isinstance(model.source, OpenAISource):
        return [(id_, *render_for_server(prompt, model.chat)) for id_, prompt in prompts.items()]
    tokenizer = load_tokenizer(prepare(model.source))
    return [(id_, *render_prompt(prompt, model.chat, tokenizer)) for id_, prompt in prompts.items()]


def read_fingerprint(path: Path) -> str | None:
    """Return the fingerprint of a finished shard (see ``journal.fingerprint``); None if there is no shard."""
    try:
        found: str | None = read_attributes(path).get("fingerprint")
    except FileNotFoundError:
        return None
    return found


class _LazyModel:
    """The model of a job, which is loaded when the first sample has to be generated."""

    def __init__(self, entry: Model, batch_size: int, device: torch.device) -> None:
        self.entry, self._batch_size, self._device = entry, batch_size, device
        self.engine: Engine | None = None
        self._dtype = None
        self.dtype, self.device_name = str(entry.dtype), device.type
        if entry.engine == "transformers":  # vLLM is the one to start CUDA
            self._dtype = choose_dtype(entry.dtype, device)
            self.dtype, self.device_name = str(self._dtype), device_name(device)
        elif entry.engine == "openai":
            self.device_name = "server"
        self.files = _unpinned_files(entry)

    def load(self, batch_size: int | None) -> Engine:
        """Return the engine, with a smaller batch size if one is given."""
        if self.engine is None:
            logger.info("loading %s: %s on %s", self.entry.label, self.dtype, self.device_name)
            self.engine = open_engine(self.entry, self._batch_size, self._device, self._dtype)
        self.engine.batch_size = min(self._batch_size, batch_size or self._batch_size)
        return self.engine


class _Shard:
    """A shard in the making: its journal is open, and holds what other shards of the cell already have."""

    def __init__(self, job: ShardJob, prompts: Sequence[tuple[str, str, bool]], model: _LazyModel) -> None:
        self._started = time.monotonic()
        self._job, self._model = job, model
        self._settings = job.settings | {"seed": job.seed, "dtype": model.dtype}
        # The text of a completion does not depend on how many there are.
        decisive = {name: value for name, value in self._settings.items() if name != "completions"}
        self._fingerprint = fingerprint(decisive | {"files": model.files}, prompts)
        number, shards = map(int, job.samples.stem.split("-of-"))
        completions = range(job.settings["completions"])
        requests = [Request(id_, i, text, by_chat) for id_, text, by_chat in prompts for i in completions]
        self.requests = requests[number::shards]
        self.journal = Journal(job.journal, self._fingerprint)
        if not self.journal.samples and (found := self._samples_of_other_shards()):
            logger.info("%d samples are taken from other shards, or from more completions", len(found))
            self.journal.append(found, 0, 0.0)
        finished = {_key(sample) for sample in self.journal.samples}
        self.left = [request for request in self.requests if request.key not in finished]
        self._resumed = len(self.requests) - len(self.left)
        self._engine_facts: dict[str, Any] = {}
        if finished:
            logger.info("resuming: %d of %d samples are in the journal", self._resumed, len(self.requests))

    def generate(self) -> None:
        """Generate what is left, into the journal. The model is loaded if anything is."""
        if not self.left:
            return
        engine = self._model.load(self.journal.batch_size)
        decoding = TypeAdapter(Decoding).validate_python(self._job.settings["decoding"])
        progress = Progress(len(self.requests), "samples", "tokens", done=self._resumed)
        before = time.monotonic()
        for batch in engine.generate(self.left, decoding, self._job.seed):
            now = time.monotonic()
            self.journal.append(batch, engine.batch_size, now - before)
            before = now
            progress.advance(len(batch), sum(sample["tokens"] for sample in batch))
        self._engine_facts = engine.facts

    def write(self, threads: int) -> None:
        """Write the samples, in the order of the requests, and what made them."""
        by_key = {_key(sample): sample for sample in self.journal.samples}
        frame = pd.DataFrame([by_key[request.key] for request in self.requests], columns=COLUMNS)
        frame.insert(0, "id", [f"{row.prompt_id}/{row.completion}" for row in frame.itertuples()])
        frame.attrs["fingerprint"] = self._fingerprint
        write_meta(
            self._job.samples,
            self._settings,
            self._started,
            device=self._model.device_name,
            dtype=self._model.dtype,
            threads=threads,
            batch_size=self.journal.batch_size,
            **self._engine_facts,
            resumed_samples=self._resumed,
            samples=len(frame),
            new_tokens=int(frame["tokens"].sum()),
            generation_seconds=round(self.journal.seconds, 3),
        )
        write_table(self._job.samples, frame)

    def _samples_of_other_shards(self) -> list[Sample]:
        """Return the samples that other shards of the cell hold, which may have been split otherwise."""
        wanted = {request.key for request in self.requests}
        found: dict[tuple[str, int], Sample] = {}
        for path in sorted(self._job.samples.parent.glob("*")):
            samples: list[Any] = []
            if path.name.endswith(".journal.jsonl") and path != self._job.journal:
                samples = read_samples(path, self._fingerprint)
            elif path.suffix == ".parquet" and read_fingerprint(path) == self._fingerprint:
                samples = read_table(path, COLUMNS)[COLUMNS].to_dict("records")
            found |= {_key(sample): sample for sample in samples if _key(sample) in wanted}
        return list(found.values())


def _generate_companions(
    companions: Sequence[ShardJob], prompts: Sequence[tuple[str, str, bool]], model: _LazyModel
) -> None:
    """Fill the journals of companions. None of them can make the job fail that loaded the model."""
    for job in companions:
        try:
            with FileLock(job.lock, timeout=0):
                if job.samples.exists():
                    continue  # it is done; or to be done anew, which its own job knows
                shard = _Shard(job, prompts, model)
                if shard.left:
                    logger.info("while the model is loaded: %s", job.cell)
                shard.generate()
        except Timeout:  # its own job is at work
            continue
        except TextgamutError as error:  # its own job will say so
            logger.warning("%s: %s", job.cell, error)
        except Exception:  # the model may be unusable now; what this job was for is done
            logger.exception("%s: failed, and is left to its own job", job.cell)
            break


def _unpinned_files(model: Model) -> list[tuple[str, int, int]]:
    """Return size and age of the files of a checkpoint that no checksum pins: an edit makes other texts."""
    if not isinstance(model.source, FileSource) or model.source.sha256:
        return []
    path = Path(model.source.path).expanduser()
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _key(sample: Sample) -> tuple[str, int]:
    """Return the key of the sample's request."""
    return sample["prompt_id"], sample["completion"]
