"""Generate one shard of a cell batch by batch; a killed job resumes from its journal.

A job that has loaded its model then fills the journals of its companions, the shards of other cells with the
same model and task. The companions' own jobs find all samples there and do not load the model.
"""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
from filelock import FileLock, Timeout

from textgamut.config.entries.base import expanded
from textgamut.config.entries.decoding import parse_decoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource, OpenAISource
from textgamut.draws import draw_prompt_ids
from textgamut.errors import TextgamutError
from textgamut.files import KEPT, read_attributes, read_table, write_meta, write_table
from textgamut.generation.engines.engine import Engine, open_engine
from textgamut.generation.journal import Journal, fingerprint, read_samples
from textgamut.generation.requests import Request, Sample
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import Progress
from textgamut.tasks.chat_formats import render_for_server, render_prompt
from textgamut.tasks.seeds import of_seed
from textgamut.tasks.templates import Prompt, prompts_of

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

COLUMNS = list(Sample.__annotations__)


class ShardJob(NamedTuple):
    """The job that generates one shard."""

    settings: dict[str, Any]
    """Settings that determine the samples: ``model``, ``decoding``, ``completions``, ``revision``. Samples of
    n prompts only have ``n``, and the ``task`` for which these are drawn."""
    seed: int
    """Generation seed of the cell."""
    samples: Path
    """The output, ``{shard}-of-{shards}.parquet``, in a folder that contains only shards of the cell."""
    lock: Path
    """A file that is locked while the shard's own job runs."""

    @property
    def journal(self) -> Path:
        """The file that stores samples until the shard is complete."""
        return self.samples.with_suffix(".journal.jsonl")

    @property
    def cell(self) -> Path:
        """The folder of the cell."""
        return self.samples.parent.parent


def generate_shard(
    job: ShardJob, companions: Sequence[ShardJob], model: Model, batch_size: int, threads: int, prompts: Path
) -> None:
    """Generate the samples of a shard and, if this loads the model, fill the journals of its companions.

    Samples that are in the journal, or in other shards of the cell, are not generated again. A companion is
    left to its own job if that job is running, if its output exists, or if it fails here. Companions of a
    served model are ignored, since no model is loaded for it.

    Args:
        job: The shard. Its output is written with a ``.meta.json`` beside it.
        companions: Shards of the same task and model, with the same number and the same total.
        model: The model's registry entry.
        batch_size: Maximum number of samples per batch, or of concurrent requests; an earlier run that ran
            out of memory may have lowered it.
        threads: Number of CPU threads of torch.
        prompts: The table of the task's prompts.

    Raises:
        TextgamutError: As ``open_engine`` and ``Engine.generate``.
    """
    import torch

    torch.set_num_threads(threads)
    table = read_table(prompts, ["id", *Prompt._fields])
    rendered = functools.cache(lambda seed: render_prompts(prompts_of(of_seed(table, seed)), model))
    served = model.engine == "openai"
    with lease(0 if served else model.gpus) as device:
        loaded = _LazyModel(model, batch_size, device)
        shard = _Shard(job, rendered(job.seed), loaded)
        shard.generate()
        shard.write(threads)
        if loaded.engine and not served:
            _generate_companions(companions, rendered, loaded)
        # Kept until now: if the job dies while it generates companions, Snakemake removes its output.
        shard.journal.remove()


def render_prompts(prompts: dict[str, Prompt], model: Model) -> list[tuple[str, str, bool]]:
    """Render each prompt for the model: its id, the text, and whether a chat template produced the text."""
    if isinstance(model.source, OpenAISource):
        return [(id_, *render_for_server(prompt, model.chat)) for id_, prompt in prompts.items()]
    tokenizer = load_tokenizer(prepare(model.source))
    return [(id_, *render_prompt(prompt, model.chat, tokenizer)) for id_, prompt in prompts.items()]


def read_fingerprint(path: Path) -> str | None:
    """Return the fingerprint of a finished shard (see ``journal.fingerprint``), or None if it is missing."""
    try:
        found: str | None = read_attributes(path).get("fingerprint")
    except FileNotFoundError:
        return None
    return found


class _LazyModel:
    """The model of a job, loaded when the first sample has to be generated."""

    def __init__(self, entry: Model, batch_size: int, device: torch.device) -> None:
        self.entry, self._batch_size, self._device = entry, batch_size, device
        self.engine: Engine | None = None
        self._dtype = None
        self.dtype, self.device_name = str(entry.dtype), device.type
        if entry.engine == "transformers":  # with vLLM, CUDA must not be initialised here
            self._dtype = choose_dtype(entry.dtype, device)
            self.dtype, self.device_name = str(self._dtype), device_name(device)
        elif entry.engine == "openai":
            self.device_name = "server"
        self.files = _unpinned_files(entry)

    def load(self, batch_size: int | None) -> Engine:
        """Return the engine, with a smaller batch size if ``batch_size`` is given."""
        if self.engine is None:
            logger.info("loading %s: %s on %s", self.entry.label, self.dtype, self.device_name)
            self.engine = open_engine(self.entry, self._batch_size, self._device, self._dtype)
        self.engine.batch_size = min(self._batch_size, batch_size or self._batch_size)
        return self.engine


class _Shard:
    """An unfinished shard with an open journal, which includes samples found in other shards of the cell."""

    def __init__(self, job: ShardJob, prompts: Sequence[tuple[str, str, bool]], model: _LazyModel) -> None:
        self._started = time.monotonic()
        self._job, self._model = job, model
        self._settings = job.settings | {"seed": job.seed, "dtype": model.dtype}
        # The text of a completion does not depend on the number of completions and prompts.
        numbers = ("completions", "task", "n")
        decisive = {name: value for name, value in self._settings.items() if name not in numbers}
        self._fingerprint = fingerprint(decisive | {"files": model.files}, prompts)
        number, shards = map(int, job.samples.stem.split("-of-"))
        completions = range(job.settings["completions"])
        task, n = job.settings.get("task", ""), job.settings.get("n")
        ids = set(draw_prompt_ids([id_ for id_, *_ in prompts], task, n))
        own = (prompt for prompt in prompts if prompt[0] in ids)
        requests = [Request(id_, i, text, by_chat) for id_, text, by_chat in own for i in completions]
        self.requests = requests[number::shards]
        self.journal = Journal(job.journal, self._fingerprint)
        if not self.journal.samples and (found := self._samples_of_other_shards()):
            logger.info("reusing %d samples of other shards", len(found))
            self.journal.append(found, 0, 0.0)
        finished = {_key(sample) for sample in self.journal.samples}
        self.left = [request for request in self.requests if request.key not in finished]
        self._resumed = len(self.requests) - len(self.left)
        self._engine_facts: dict[str, Any] = {}
        if finished:
            logger.info("resuming: %d of %d samples are in the journal", self._resumed, len(self.requests))

    def generate(self) -> None:
        """Generate the missing samples into the journal; load the model if there are any."""
        if not self.left:
            return
        engine = self._model.load(self.journal.batch_size)
        decoding = parse_decoding(self._job.settings["decoding"])
        progress = Progress(len(self.requests), "samples", "tokens", done=self._resumed)
        before = time.monotonic()
        for batch in engine.generate(self.left, decoding, self._job.seed):
            now = time.monotonic()
            self.journal.append(batch, engine.batch_size, now - before)
            before = now
            progress.advance(len(batch), sum(sample["tokens"] for sample in batch))
        self._engine_facts = engine.facts

    def write(self, threads: int) -> None:
        """Write the samples, in the order of the requests, and their metadata."""
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
        """Return the samples found in shards of the cell, split differently or from an earlier run."""
        wanted = {request.key for request in self.requests}
        found: dict[tuple[str, int], Sample] = {}
        folder = self._job.samples.parent
        for path in sorted([*folder.glob("*"), *(folder / KEPT).glob("*")]):
            samples: list[Any] = []
            if path.name.endswith(".journal.jsonl") and path != self._job.journal:
                samples = read_samples(path, self._fingerprint)
            elif path.suffix == ".parquet" and read_fingerprint(path) == self._fingerprint:
                samples = read_table(path, COLUMNS)[COLUMNS].to_dict("records")
            found |= {_key(sample): sample for sample in samples if _key(sample) in wanted}
        return list(found.values())


def _generate_companions(
    companions: Sequence[ShardJob],
    prompts_of_seed: Callable[[int], Sequence[tuple[str, str, bool]]],
    model: _LazyModel,
) -> None:
    """Fill the journals of companions; their failures do not affect the job that loaded the model."""
    for job in companions:
        try:
            with FileLock(job.lock, timeout=0):
                if job.samples.exists():
                    continue  # complete; if it is outdated, its own job replaces it
                shard = _Shard(job, prompts_of_seed(job.seed), model)
                if shard.left:
                    logger.info("while the model is loaded: %s", job.cell)
                shard.generate()
        except Timeout:  # its own job is running
            continue
        except TextgamutError as error:  # its own job will fail with this error
            logger.warning("%s: %s", job.cell, error)
        except Exception:  # the model may be unusable now, but this job's own shard is complete
            logger.exception("%s: failed, and is left to its own job", job.cell)
            break


def _unpinned_files(model: Model) -> list[tuple[str, int, int]]:
    """Return size and modification time of a checkpoint's files if no checksum pins it, to detect edits."""
    if not isinstance(model.source, FileSource) or model.source.sha256:
        return []
    path = expanded(model.source.path)
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _key(sample: Sample) -> tuple[str, int]:
    """Return the key of the sample's request."""
    return sample["prompt_id"], sample["completion"]
