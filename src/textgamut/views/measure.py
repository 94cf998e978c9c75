"""Measure the speed of an experiment's models on this machine, for ``textgamut plan --measure``."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from textgamut.config.cells import Config
from textgamut.config.entries.sources import OpenAISource
from textgamut.errors import ModelError, TextgamutError
from textgamut.files import usable_cpus, write_json
from textgamut.generation.speed import measure_speed
from textgamut.workflow import paths
from textgamut.workflow.inputs import loaded_model
from textgamut.workflow.paths import fill


def measured_models(config: Config, models: Iterable[str]) -> list[str]:
    """Return the models that can be measured: those that are loaded, not served ones or given texts."""
    return [
        name
        for name in dict.fromkeys(models)
        if not isinstance(config.models[name].source, OpenAISource) and not config.models[name].given
    ]


def measure(
    config: Config, models: Iterable[str], folder: Path
) -> Iterator[tuple[str, TextgamutError | None]]:
    """Measure models one by one and write their speeds; yield each, with the error if there is one.

    Each model has a process of its own, since the GPUs that a process sees are fixed once CUDA has started.
    """
    context = multiprocessing.get_context("spawn")
    for name in models:
        entry = loaded_model(config, name)
        with ProcessPoolExecutor(1, mp_context=context) as process:
            job = process.submit(
                measure_speed, entry.science(), name, entry.gpus, entry.batch_size, usable_cpus()
            )
            try:
                found = job.result()
            except BrokenProcessPool:
                yield name, ModelError("its process was killed, for example because memory ran out")
                continue
            except TextgamutError as error:
                yield name, error
                continue
        write_json(folder / fill(paths.SPEED, model=name), found)
        yield name, None
