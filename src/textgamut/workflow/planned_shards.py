"""Record which shards a run will generate, so that a job can generate several once it has loaded a model.

The Snakefile's ``onstart`` writes them from the job graph; the script of ``generate_texts`` reads them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from textgamut.files import read_json, write_json


class PlannedShard(NamedTuple):
    """One shard of a cell that a run will generate."""

    task: str
    model: str
    decoding: str
    seed: int
    shard: int
    shards: int
    settings: dict[str, Any]
    """``params.settings`` of the job."""
    group: int | None
    """Number of the cluster job that generates it; None if jobs are not grouped."""


def write_planned_shards(
    path: Path,
    wildcards: Sequence[Mapping[str, str]],
    settings: Sequence[dict[str, Any]],
    groups: Sequence[Hashable],
) -> None:
    """Write the shards that a run will generate.

    Args:
        path: Path of the file.
        wildcards: Wildcards of each job.
        settings: ``params.settings`` of each job.
        groups: Group of each job, as any hashable identifier; None for a job without a group.
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

    They have the same task, model and shard number, hence the same table of prompts. A cluster job generates
    only those of its own group.

    Args:
        path: File written by :func:`write_planned_shards`; if it does not exist, there are no other shards.
        task: Task of the job.
        model: Model of the job.
        decoding: Decoding setting of the job.
        seed: Generation seed of the job.
        shard: Shard number of the job.
    """
    if not path.exists():
        return []
    planned = [PlannedShard(**row) for row in read_json(path)]
    alike = [each for each in planned if (each.task, each.model, each.shard) == (task, model, shard)]
    own = [each for each in alike if (each.decoding, each.seed) == (decoding, seed)]
    groups = {each.group for each in own}
    return [each for each in alike if each not in own and each.group in groups]
