"""Planned shards: which shards a run is to generate, so that a job that has loaded a model makes several.

The Snakefile's ``onstart`` writes them from the graph of jobs; the script of ``generate_texts`` reads them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.files import read_json, write_json


class PlannedShard(NamedTuple):
    """One shard of a cell that a run is to generate."""

    task: str
    model: str
    decoding: str
    seed: int
    shard: int
    shards: int
    settings: dict[str, Any]
    """The job's ``params.settings``."""
    group: int | None
    """Number of the cluster job that it belongs to; None if jobs are not grouped."""


def write_planned_shards(
    path: Path,
    wildcards: Sequence[Mapping[str, str]],
    settings: Sequence[dict[str, Any]],
    groups: Sequence[Hashable],
) -> None:
    """Write the shards that a run is to generate.

    Args:
        path: The file.
        wildcards: Those of each job.
        settings: ``params.settings`` of each job.
        groups: The group of each job, anything that tells groups apart; None for a job without a group.
    """
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups)) if group is not None}
    planned = [
        PlannedShard(
            task=names["task"],
            model=names["model"],
            decoding=names["decoding"],
            seed=int(names["seed"]),
            shard=int(names["shard"]),
            shards=int(names["shards"]),
            settings=given,
            group=numbers.get(group),
        )
        for names, given, group in zip(wildcards, settings, groups, strict=True)
    ]
    write_json(path, [shard._asdict() for shard in planned])


def companions(path: Path, task: str, model: str, decoding: str, seed: int, shard: int) -> list[PlannedShard]:
    """Return the other shards that a job can generate with the model that it has loaded.

    They have the same task, model and number of shard, and so the same prompts. A cluster job generates only
    those of its own group.

    Args:
        path: As :func:`write_planned_shards` writes it; if it does not exist, there are none.
        task: Of the job, and so on.
        model: Slug of the model.
        decoding: Slug of the decoding setting.
        seed: Generation seed.
        shard: Number of the shard.
    """
    if not path.exists():
        return []
    planned = [PlannedShard(**row) for row in read_json(path)]
    alike = [each for each in planned if (each.task, each.model, each.shard) == (task, model, shard)]
    own = [each for each in alike if (each.decoding, each.seed) == (decoding, seed)]
    groups = {each.group for each in own}
    return [each for each in alike if each not in own and each.group in groups]
