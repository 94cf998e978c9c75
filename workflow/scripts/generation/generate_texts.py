"""Generate a shard of a cell, then those of other cells in this run that use the same loaded model."""

import json
from pathlib import Path

from textgamut.config.entries.models import Model
from textgamut.generation.shard import ShardJob, generate_shard
from textgamut.workflow import paths
from textgamut.workflow.jobs import Snakemake, job, lock_of
from textgamut.workflow.planned_shards import PlannedShard, companions


def generate_texts(snakemake: Snakemake) -> None:
    w, resources, settings = snakemake.wildcards, snakemake.resources, snakemake.params.settings
    own = PlannedShard(
        w.task, w.model, w.decoding, int(w.seed), int(w.shard), int(w.shards), settings, group=None
    )
    others = companions(Path(paths.PLANNED_SHARDS), own.task, own.model, own.decoding, own.seed, own.shard)
    model = settings["model"] | {
        "source": json.loads(resources.source),
        "label": w.model,
        "family": w.model,
        "batch_size": resources.batch_size,
        "gpus": resources.lease,
    }
    generate_shard(
        shard_job(own),
        [shard_job(other) for other in others],
        Model.model_validate(model),
        resources.batch_size,
        snakemake.threads,
        Path(snakemake.input.prompts),
    )


def shard_job(shard: PlannedShard) -> ShardJob:
    lock = lock_of(Path(paths.fill(paths.GENERATION_LOG, shard)))
    return ShardJob(shard.settings, shard.seed, Path(paths.fill(paths.SHARD, shard)), lock)


if __name__ == "__main__":
    with job() as snakemake:
        generate_texts(snakemake)
