"""Generate a shard of a cell."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textgamut.config.entries.models import TextModel, Weights
from textgamut.generation.shard import Generator, ShardJob, generate_shard, journal_of
from textgamut.models.devices import lease
from textgamut.run.script import run
from textgamut.workflow import paths


@contextmanager
def load(
    settings: dict[str, Any], model: str, source: str, batch_size: int, leased: int, threads: int
) -> Iterator[Generator]:
    entry = TextModel.model_validate(settings["model"] | {"source": json.loads(source)})
    amateur = Weights.model_validate(settings["amateur"]) if "amateur" in settings else None
    with lease(leased) as device:
        yield Generator(entry, model, device, leased, batch_size, threads, amateur)


def generate_texts(
    settings: dict[str, Any], cell: dict[str, Any], shard: int, shards: int, prompts: Path, samples: Path,
    loaded: Generator,
) -> dict[str, Any]:  # fmt: skip
    return generate_shard(
        ShardJob(settings, cell["seed"], prompts, _shard(cell, shard, shards), samples), loaded
    )


def remove_journal(cell: dict[str, Any], shard: int, shards: int) -> None:
    journal_of(_shard(cell, shard, shards)).unlink()


def _shard(cell: dict[str, Any], shard: int, shards: int) -> Path:
    return Path(paths.fill(paths.SHARD, **cell, shard=shard, shards=shards))


if __name__ == "__main__":
    run(generate_texts, load, after=remove_journal)
