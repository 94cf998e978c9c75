"""How fast models generate and how long their texts are: measured on finished shards, or else stated."""

from __future__ import annotations

import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.config.cells import Cell, Config
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.sources import OpenAISource
from textgamut.files import meta_path, read_json, reading
from textgamut.workflow import paths
from textgamut.workflow.counts import computed_tokens
from textgamut.workflow.inputs import amateur, loaded_model
from textgamut.workflow.paths import fill


class Shard(NamedTuple):
    """A finished shard, from its ``.meta.json``."""

    cell: Cell
    number: int
    shards: int
    samples: int
    tokens: int
    seconds: float
    device: str
    age: float
    """Modification time of the shard, in seconds since the epoch."""
    settings: Mapping[str, Any]


def read_shards(folder: Path) -> Iterator[Shard]:
    """Yield the finished shards in a folder from their ``.meta.json`` files; skip unreadable ones."""
    for samples in folder.glob(_any(paths.SHARD)):
        path = meta_path(samples)
        name = re.fullmatch(r"(\d+)-of-(\d+)", samples.stem)
        try:
            age = samples.stat().st_mtime
            record = json.loads(path.read_text(encoding="utf-8"))
            task, model, decoding, seed = path.parts[-6:-2]
            cell = Cell(task, model, decoding, int(seed.removeprefix("seed")))
            seconds = float(record.get("generation_seconds", record["wall_seconds"]))
            counts = int(record["samples"]), int(record["new_tokens"])
            if name:
                shard = int(name[1]), int(name[2])
                yield Shard(cell, *shard, *counts, seconds, record["device"], age, record["job"]["settings"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


class Rate(NamedTuple):
    """Speed of one job of a model."""

    per_second: float | None
    """Tokens computed (see :func:`computed_tokens`) per second."""
    origin: str
    gpus: int


class Rates:
    """Tokens per second of one job: measured, or else stated in the registry."""

    def __init__(self, shards: Iterable[Shard], config: Config, folder: Path) -> None:
        self._config, self._folder = config, folder
        self._measured: dict[tuple[str, str | None], list[Shard]] = defaultdict(list)
        for shard in sorted(shards, key=lambda shard: shard.age):
            if shard.seconds > 0 and shard.tokens:
                self._measured[shard.cell.model, shard.cell.decoding].append(shard)
                self._measured[shard.cell.model, None].append(shard)

    def of(self, model: str, decoding: str | None = None) -> Rate:
        """Return the rate of a model, with the given decoding setting if that has been measured."""
        entry = self._config.models[model]
        if entry.given:
            return Rate(None, "none", 0)
        found = self._measured.get((model, decoding)) or self._measured.get((model, None))
        if not found and (speed := self._speed(model)):
            gpus = entry.gpus if speed["device"] != "cpu" else 0
            return Rate(speed["tokens_per_second"], f"measured on {speed['device']}", gpus)
        if not found:
            origin = "none" if entry.tokens_per_second is None else "stated"
            return Rate(entry.tokens_per_second, origin, entry.gpus)
        device = found[-1].device
        rates = [
            shard.tokens * computed_tokens(self._config.decoding.get(shard.cell.decoding)) / shard.seconds
            for shard in found
            if shard.device == device
        ]
        gpus = entry.gpus if device != "cpu" else 0
        served = isinstance(entry.source, OpenAISource)
        return Rate(statistics.median(rates), "measured" if served else f"measured on {device}", gpus)

    def _speed(self, model: str) -> dict[str, Any] | None:
        """Return the speed that was measured by itself, if there is one of the model as it is now."""
        path = self._folder / fill(paths.SPEED, model=model)
        if not path.exists():
            return None
        with reading(path):
            found: dict[str, Any] = read_json(path)
            current = found["model"] == loaded_model(self._config, model).science()
        return found if current else None


class Lengths:
    """New tokens per sample: the mean over finished samples, or else the maximum."""

    def __init__(self, of_cell: Mapping[Cell, list[Shard]], config: Config) -> None:
        self._models = config.models
        self._counts: dict[tuple[str | None, str, str], list[int]] = defaultdict(lambda: [0, 0])
        for cell, shards in of_cell.items():
            for shard in shards:
                for task in (cell.task, None):
                    count = self._counts[task, cell.model, cell.decoding]
                    count[0] += shard.tokens
                    count[1] += shard.samples

    def of(self, cell: Cell, decoding: Decoding) -> float:
        """Return the new tokens per sample of a cell."""
        for task in (cell.task, None):
            tokens, samples = self._counts.get((task, cell.model, cell.decoding), (0, 0))
            if samples:
                return tokens / samples
        return self._models[cell.model].most_new_tokens(decoding.max_new_tokens)


def same_model(shard: Shard, config: Config) -> bool:
    """Return whether a shard is of a model as it is configured now."""
    name = shard.cell.model
    return name in config.models and shard.settings.get("model") == loaded_model(config, name).science()


def same_decoding(shard: Shard, config: Config) -> bool:
    """Return whether a shard is of a decoding setting as it is configured now."""
    name = shard.cell.decoding
    if name not in config.decoding:
        return False
    found = shard.settings.get("decoding"), shard.settings.get("amateur")
    return found == (config.decoding[name].model_dump(mode="json"), amateur(config, name))


def _any(path: str) -> str:
    """Return a path with each wildcard replaced by a star."""
    return re.sub(r"\{\w+\}", "*", path)
