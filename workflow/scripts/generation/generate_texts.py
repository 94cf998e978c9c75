"""Generate a shard of a cell, batch by batch; a killed job resumes from its journal.

The model once loaded, the job goes on with the other cells of the same model and prompts that this run is to
make. Their own jobs then find their journals full, and load nothing.
"""

import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from pydantic import TypeAdapter

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import FileSource
from textgamut.errors import TextgamutError
from textgamut.files import read_table, write_meta, write_table
from textgamut.generation.engines.engine import Engine, open_engine
from textgamut.generation.journal import Journal, fingerprint, read_samples
from textgamut.generation.requests import Request, Sample
from textgamut.models.checkpoints import load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import Progress
from textgamut.tasks.chat_formats import render_for_server, render_prompt
from textgamut.tasks.templates import Prompt
from textgamut.workflow import paths
from textgamut.workflow.jobs import job, lock_of
from textgamut.workflow.planned_shards import companions

logger = logging.getLogger("textgamut.generate_texts")


class Work(NamedTuple):
    """A shard of a cell."""

    settings: dict[str, Any]
    """Model, decoding setting, completions, revision."""
    seed: int
    samples: Path
    log: Path

    @property
    def journal(self) -> Path:
        """Where its finished samples stand until all are."""
        return self.samples.with_suffix(".journal.jsonl")


def generate_texts(
    work: Work, others: Sequence[Work], model: Model, batch_size: int, threads: int, prompts: Path
) -> None:
    import torch

    torch.set_num_threads(threads)
    table = read_table(prompts, ["id", *Prompt._fields])
    texts = [
        (row.id, *rendered)
        for row, rendered in zip(table.itertuples(), rendered_prompts(table, model), strict=True)
    ]
    served = model.engine == "openai"
    with lease(0 if served else model.gpus) as device:
        facts: dict[str, Any] = {
            "device": "server" if served else device.type,
            "dtype": model.dtype,
            "threads": threads,
            "files": files_of(model),
        }
        dtype = None
        if model.engine == "transformers":  # vLLM is the one to start CUDA
            dtype = choose_dtype(model.dtype, device)
            facts |= {"device": device_name(device), "dtype": str(dtype)}
        engine: Engine | None = None

        def opened(smaller: int | None) -> Engine:
            nonlocal engine
            if engine is None:
                logger.info("loading %s: %s on %s", model.label, facts["dtype"], facts["device"])
                engine = open_engine(model, batch_size, device, dtype)
            engine.batch_size = min(batch_size, smaller or batch_size)
            return engine

        journal = generate_cell(work, texts, opened, facts)
        for other in others if engine and not served else ():  # nothing was loaded for a served model
            try:
                with FileLock(lock_of(other.log), timeout=0):
                    generate_cell(other, texts, opened, facts, to_the_end=False)
            except Timeout:  # its own job is at work
                continue
            except TextgamutError as error:  # its own job will say so
                logger.warning("%s: %s", other.samples.parent.parent, error)
            except Exception:  # the model may be unusable now; what this job was for is done
                logger.exception("%s: failed, and is left to its own job", other.samples.parent.parent)
                break
        # Not before: Snakemake removes the output of a job that dies while it is at work on others.
        journal.remove()


def generate_cell(
    work: Work,
    texts: list[tuple[str, str, bool]],
    opened: Callable[[int | None], Engine],
    facts: dict[str, Any],
    to_the_end: bool = True,
) -> Journal | None:
    started = time.monotonic()
    if not to_the_end and work.samples.exists():
        return None  # it is done; or to be done anew, which its own job knows
    resolved = work.settings | {"seed": work.seed, "dtype": facts["dtype"]}
    # The text of a completion does not depend on how many there are.
    decisive = {name: value for name, value in resolved.items() if name != "completions"}
    mark = fingerprint(decisive | {"files": facts["files"]}, texts)
    shard, shards = map(int, work.samples.stem.split("-of-"))
    completions = range(work.settings["completions"])
    requests = [Request(id_, i, *text) for id_, *text in texts for i in completions][shard::shards]
    journal = Journal(work.journal, mark)
    if not journal.samples and (found := finished_elsewhere(work, mark, set(requests))):
        logger.info("%d samples are taken from other shards, or from more completions", len(found))
        journal.append(found, 0, 0.0)
    finished = {key(sample) for sample in journal.samples}
    left = [request for request in requests if key(request._asdict()) not in finished]
    if finished:
        logger.info("resuming: %d of %d samples are in the journal", len(requests) - len(left), len(requests))
    engine_facts: dict[str, Any] = {}
    if left:
        if not to_the_end:
            logger.info("while the model is loaded: %s", work.samples.parent.parent)
        engine = opened(journal.batch_size)
        decoding = TypeAdapter(Decoding).validate_python(work.settings["decoding"])
        progress = Progress(len(requests), "samples", "tokens", done=len(requests) - len(left))
        before = time.monotonic()
        for batch in engine.generate(left, decoding, work.seed):
            now = time.monotonic()
            journal.append(batch, engine.batch_size, now - before)
            before = now
            progress.advance(len(batch), sum(sample["tokens"] for sample in batch))
        engine_facts = engine.facts
    if not to_the_end:
        return None
    by_key = {key(sample): sample for sample in journal.samples}
    frame = pd.DataFrame(
        [by_key[key(request._asdict())] for request in requests], columns=list(Sample.__annotations__)
    )
    frame.insert(0, "id", [f"{row.prompt_id}/{row.completion}" for row in frame.itertuples()])
    frame.attrs["fingerprint"] = mark
    write_meta(
        work.samples,
        resolved,
        started,
        **{name: fact for name, fact in facts.items() if name != "files"},
        batch_size=journal.batch_size,
        **engine_facts,
        resumed_samples=len(requests) - len(left),
        samples=len(frame),
        new_tokens=int(frame["tokens"].sum()),
        generation_seconds=round(journal.seconds, 3),
    )
    write_table(work.samples, frame)
    return journal


def key(sample: Any) -> tuple[str, int]:
    return sample["prompt_id"], sample["completion"]


def rendered_prompts(table: pd.DataFrame, model: Model) -> Iterator[tuple[str, bool]]:
    """Yield each prompt as the model reads it, and whether a chat template has dressed it."""
    prompts = [Prompt(row.base, row.user, row.start) for row in table.itertuples()]
    if model.engine == "openai":
        return (render_for_server(prompt, model.chat) for prompt in prompts)
    tokenizer = load_tokenizer(prepare(model.source))
    return (render_prompt(prompt, model.chat, tokenizer) for prompt in prompts)


def files_of(model: Model) -> list[tuple[str, int, int]]:
    """Return size and age of the files of a checkpoint that no checksum pins: an edit makes other texts."""
    if not isinstance(model.source, FileSource) or model.source.sha256:
        return []
    path = Path(model.source.path).expanduser()
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def finished_elsewhere(work: Work, mark: str, wanted: set[Request]) -> list[Sample]:
    """Return the wanted samples that other shards of the cell hold: it may have been split otherwise."""
    wanted_keys = {key(request._asdict()) for request in wanted}
    found: dict[tuple[str, int], Sample] = {}
    for path in sorted(work.samples.parent.glob("*")):
        samples: list[Any] = []
        if path.name.endswith(".journal.jsonl") and path != work.journal:
            samples = read_samples(path, mark)
        elif path.suffix == ".parquet" and mark_of(path) == mark:
            samples = read_table(path, list(Sample.__annotations__)).to_dict("records")
        for sample in samples:
            if key(sample) in wanted_keys:
                found[key(sample)] = {name: sample[name] for name in Sample.__annotations__}
    return list(found.values())


def mark_of(path: Path) -> str | None:
    """Return the fingerprint of a finished shard; None, if there is no shard."""
    try:
        attributes = (pq.read_schema(path).metadata or {}).get(b"PANDAS_ATTRS", b"{}")
    except FileNotFoundError:
        return None
    return TypeAdapter(dict[str, Any]).validate_json(attributes).get("fingerprint")


if "snakemake" in globals() and __name__ != "__mp_main__":  # vLLM's workers import this file
    w = snakemake.wildcards
    seed, shard, shards = int(w.seed), int(w.shard), int(w.shards)

    def work_of(decoding: str, seed: int, settings: dict[str, Any]) -> Work:
        cell = {"task": w.task, "model": w.model, "decoding": decoding, "seed": seed}
        names = {**cell, "shard": shard, "shards": shards}
        samples, log = paths.fill(paths.SHARD, **names), paths.fill(paths.GENERATION_LOG, **names)
        return Work(settings, seed, Path(samples), Path(log))

    own = work_of(w.decoding, seed, snakemake.params.settings)
    planned = companions(Path(paths.PLANNED_SHARDS), w.task, w.model, w.decoding, seed, shard)
    model = own.settings["model"] | {
        "source": json.loads(snakemake.resources.source),
        "label": w.model,
        "family": w.model,
        "batch_size": snakemake.resources.batch_size,
        "gpus": snakemake.resources.lease,
    }
    with job(f"generate_texts {w.task}/{w.model}/{w.decoding}/seed{w.seed} {w.shard}-of-{w.shards}", own.log):
        generate_texts(
            own,
            [work_of(other.decoding, other.seed, other.settings) for other in planned],
            Model.model_validate(model),
            snakemake.resources.batch_size,
            snakemake.threads,
            Path(snakemake.input.prompts),
        )
