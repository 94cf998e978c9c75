"""Generate a shard of a cell."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from textgamut.config.entries.models import Model
from textgamut.generation.shard import Generator, ShardJob, generate_shard
from textgamut.models.devices import lease
from textgamut.workflow import paths
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake


@contextmanager
def load(job: Snakemake) -> Iterator[Generator]:
    resources = job.resources
    model = job.params.settings["model"] | {
        "source": json.loads(resources.source),
        "label": job.wildcards.model,
        "family": job.wildcards.model,
        "batch_size": resources.batch_size,
        "gpus": resources.lease,
    }
    with lease(resources.lease) as device:
        yield Generator(Model.model_validate(model), device, job.threads)


def generate_texts(job: Snakemake, generator: Generator) -> Callable[[], None]:
    return generate_shard(
        ShardJob(
            job.params.settings,
            int(job.wildcards.seed),
            Path(job.input.prompts),
            Path(paths.fill(paths.SHARD, job.wildcards)),
            Path(job.output.samples),
        ),
        generator,
    )


if __name__ == "__main__":
    run(load, generate_texts)
