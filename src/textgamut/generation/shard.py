"""Generate one shard of a cell batch by batch; a killed job resumes from its journal."""

from __future__ import annotations

import contextlib
import functools
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.config.entries.decoding import parse_decoding
from textgamut.config.entries.models import TextModel, Weights
from textgamut.config.entries.sources import FileSource, OpenAISource
from textgamut.draws import draw_prompt_ids
from textgamut.errors import ModelError
from textgamut.fields import expanded
from textgamut.files import KEPT, read_attributes, read_table, write_table
from textgamut.generation.engines.engine import Engine, open_engine
from textgamut.generation.journal import Journal, fingerprint, read_samples
from textgamut.generation.requests import COLUMNS, Request, Sample, sample_table
from textgamut.models.checkpoint_files import read_config
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.context import context_length
from textgamut.models.devices import choose_dtype, device_name
from textgamut.progress import Progress
from textgamut.tasks.chat_formats import render_for_server, render_prompt
from textgamut.tasks.prompt_lengths import kept_tokens
from textgamut.tasks.seeds import of_seed
from textgamut.tasks.templates import Prompt, prompts_of

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)


class ShardJob(NamedTuple):
    """The job that generates one shard."""

    settings: dict[str, Any]
    """Settings that determine the samples: ``model``, ``decoding``, ``completions``, ``revision``. Samples of
    n prompts only have ``n``, and the ``task`` for which these are drawn."""
    seed: int
    """Generation seed of the cell."""
    prompts: Path
    """The table of the task's prompts."""
    samples: Path
    """``{shard}-of-{shards}.parquet``, in a folder that contains only shards of the cell."""
    output: Path
    """Where to write the samples: ``samples``, or where they are kept for a later job."""

    @property
    def journal(self) -> Path:
        """The file that stores samples until the shard is complete."""
        return journal_of(self.samples)


def journal_of(samples: Path) -> Path:
    """Return the file that stores samples until a shard is complete."""
    return samples.with_suffix(".journal.jsonl")


def generate_shard(job: ShardJob, generator: Generator) -> dict[str, Any]:
    """Generate the samples of a shard, and write them.

    Samples that are in the journal, or in other shards of the cell, are not generated again. If there are
    samples of another version of the engine, no more are generated.

    Returns:
        Facts for the metadata. Remove the journal (:func:`journal_of`) once the output is safe: Snakemake
        deletes the output of a job that dies.

    Raises:
        TextgamutError: As ``open_engine`` and ``Engine.generate``, or if the cell has samples of another
            ``Engine.identity``.
    """
    shard = _Shard(job, generator)
    with contextlib.closing(shard.journal):
        shard.generate()
        return shard.write()


def render_prompts(prompts: dict[str, Prompt], model: TextModel) -> list[tuple[str, str, bool]]:
    """Render each prompt for the model: its id, the text, and whether a chat template produced the text."""
    if isinstance(model.source, OpenAISource):
        return [(id_, *render_for_server(prompt, model.chat_settings)) for id_, prompt in prompts.items()]
    tokenizer = load_tokenizer(prepare(model.checkpoint))
    return [(id_, *render_prompt(prompt, model.chat_settings, tokenizer)) for id_, prompt in prompts.items()]


def read_fingerprint(path: Path) -> str | None:
    """Return the fingerprint of a finished shard (see ``journal.fingerprint``), or None if it is missing."""
    try:
        found: str | None = read_attributes(path).get("fingerprint")
    except FileNotFoundError:
        return None
    return found


class Generator:
    """A model that generates shards; it is loaded when the first sample has to be generated."""

    def __init__(
        self,
        entry: TextModel,
        name: str,
        device: torch.device,
        gpus: int,
        batch_size: int,
        threads: int,
        amateur: Weights | None = None,
    ) -> None:
        """Prepare to load a model.

        Args:
            entry: What decides its texts, of its registry entry.
            name: Its name in messages.
            device: Device of the model.
            gpus: Number of GPUs.
            batch_size: Maximum number of samples per batch. An earlier run that ran out of memory may have
                lowered the size of a shard.
            threads: Number of CPU threads of torch.
            amateur: The weights of the smaller model of contrastive decoding.
        """
        import torch

        torch.set_num_threads(threads)
        self.entry, self.name, self.threads, self._amateur = entry, name, threads, amateur
        self._device, self._gpus, self._batch_size = device, gpus, batch_size
        self._engine: Engine | None = None
        self._dtype = None
        self.dtype, self.device_name = str(entry.dtype), device.type
        if entry.engine == "transformers":  # with vLLM, CUDA must not be initialised here
            self._dtype = choose_dtype(entry.dtype, device)
            self.dtype, self.device_name = str(self._dtype), device_name(device)
        elif entry.engine == "openai":
            self.device_name = "server"
        self.files = _unpinned_files(entry) + (_unpinned_files(amateur) if amateur else [])
        self.prompts = functools.cache(self._prompts)

    def engine(self, batch_size: int | None) -> Engine:
        """Return the engine, with a smaller batch size if ``batch_size`` is given."""
        most = self._batch_size
        if self._engine is None:
            logger.info("loading %s: %s on %s", self.name, self.dtype, self.device_name)
            self._engine = open_engine(
                self.entry, self.name, self._gpus, most, self._device, self._dtype, self._amateur
            )
        self._engine.batch_size = min(most, batch_size or most)
        return self._engine

    def _prompts(self, path: Path, seed: int) -> list[tuple[str, str, bool]]:
        table = read_table(path, ["id", *Prompt._fields])
        return render_prompts(prompts_of(of_seed(table, seed)), self.entry)


class _Shard:
    """An unfinished shard with an open journal, which includes samples found in other shards of the cell."""

    def __init__(self, job: ShardJob, model: Generator) -> None:
        self._job, self._model = job, model
        prompts = model.prompts(job.prompts, job.seed)
        settings = job.settings | {"seed": job.seed, "dtype": model.dtype}
        # The text of a completion does not depend on the number of completions and prompts.
        numbers = ("completions", "task", "n")
        decisive = {name: value for name, value in settings.items() if name not in numbers}
        self._fingerprint = fingerprint(decisive | {"files": model.files}, prompts)
        number, shards = map(int, job.samples.stem.split("-of-"))
        completions = range(job.settings["completions"])
        task, n = job.settings.get("task", ""), job.settings.get("n")
        ids = set(draw_prompt_ids([id_ for id_, *_ in prompts], task, n))
        own = (prompt for prompt in prompts if prompt[0] in ids)
        most = _most_tokens(model.entry, job.settings.get("truncate_prompts"))
        requests = [Request(id_, i, text, by_chat, most) for id_, text, by_chat in own for i in completions]
        self.requests = requests[number::shards]
        self.journal = Journal(job.journal, self._fingerprint)
        if not self.journal.samples:
            self._reuse_samples_of_other_shards()
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
        engine = self._model.engine(self.journal.batch_size)
        self._check_engine(engine.identity)
        decoding = parse_decoding(self._job.settings["decoding"])
        progress = Progress(len(self.requests), "samples", "tokens", done=self._resumed)
        before = time.monotonic()
        for batch in engine.generate(self.left, decoding, self._job.seed):
            now = time.monotonic()
            self.journal.append(batch, engine.batch_size, now - before, engine.identity)
            before = now
            progress.advance(len(batch), sum(sample["tokens"] for sample in batch))
        self._engine_facts = engine.facts

    def write(self) -> dict[str, Any]:
        """Write the samples, in the order of the requests; return facts."""
        by_key = {_key(sample): sample for sample in self.journal.samples}
        frame = sample_table([by_key[request.key] for request in self.requests])
        frame.attrs["fingerprint"] = self._fingerprint
        frame.attrs["engines"] = sorted(self.journal.engines)
        write_table(self._job.output, frame)
        return {
            "device": self._model.device_name,
            "dtype": self._model.dtype,
            **self._engine_facts,
            "engines": sorted(filter(None, self.journal.engines)),
            "threads": self._model.threads,
            "batch_size": self.journal.batch_size,
            "resumed_samples": self._resumed,
            "samples": len(frame),
            "new_tokens": int(frame["tokens"].sum()),
            "generation_seconds": round(self.journal.seconds, 3),
        }

    def _reuse_samples_of_other_shards(self) -> None:
        """Append the samples found in shards of the cell, split differently or from an earlier run."""
        missing = {request.key for request in self.requests}
        for _, samples, engines in self._other_shards():
            found = {key: sample for sample in samples if (key := _key(sample)) in missing}
            missing -= found.keys()
            if found:
                logger.info("reusing %d samples of other shards", len(found))
                self.journal.append(list(found.values()), 0, 0.0, ", ".join(sorted(engines)))

    def _check_engine(self, identity: str) -> None:
        """Raise an error if samples of the cell are from another engine or version."""
        found = [(path, engines) for path, _, engines in self._other_shards()]
        for path, engines in [(self._job.journal, self.journal.engines), *found]:
            if others := engines - {identity}:
                raise ModelError(
                    f"{path}: has texts of {', '.join(sorted(others))}, and this is {identity}: a cell does "
                    "not mix them. Continue with the former, or delete "
                    f"{self._job.samples.parent} to generate all texts of the cell again"
                )

    def _other_shards(self) -> Iterator[tuple[Path, list[Sample], set[str]]]:
        """Yield path, samples and engines of each other shard of the cell, finished or not."""
        folder = self._job.samples.parent
        for path in sorted([*folder.glob("*"), *(folder / KEPT).glob("*")]):
            if path.name.endswith(".journal.jsonl") and path != self._job.journal:
                yield path, *read_samples(path, self._fingerprint)
            elif path.suffix == ".parquet" and read_fingerprint(path) == self._fingerprint:
                samples: list[Any] = read_table(path, COLUMNS)[COLUMNS].to_dict("records")
                yield path, samples, set(read_attributes(path)["engines"])


def _most_tokens(model: TextModel, truncated: int | None) -> int | None:
    """Return the number of tokens that prompts are truncated to; None for all."""
    if truncated is None:
        return None
    folder = prepare(model.checkpoint)
    return kept_tokens(
        truncated, context_length(read_config(folder), load_tokenizer(folder).model_max_length)
    )


def _unpinned_files(model: Weights) -> list[tuple[str, int, int]]:
    """Return size and modification time of a model's files if no checksum pins them, to detect edits."""
    files: list[Path] = []
    for source in (model.source, model.adapter):
        if isinstance(source, FileSource) and not source.sha256:
            path = expanded(source.path)
            files += sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def _key(sample: Sample) -> tuple[str, int]:
    """Return the key of the sample's request."""
    return sample["prompt_id"], sample["completion"]
