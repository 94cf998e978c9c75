"""Export what a run has made: prompts as a batch of requests, texts as a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut import __version__
from textgamut.config.cells import Cell, Config
from textgamut.config.entries.sources import GenerationsSource, HfSource, OpenAISource
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.files import read_table
from textgamut.generation.batch import batch_requests
from textgamut.generation.requests import COLUMNS
from textgamut.tasks.seeds import of_cell, of_seed
from textgamut.tasks.templates import Prompt, prompts_of
from textgamut.workflow import inputs, paths
from textgamut.workflow.paths import fill

if TYPE_CHECKING:
    import pandas as pd


def selected_cells(
    config: Config, task: str | None = None, model: str | None = None, decoding: str | None = None
) -> list[Cell]:
    """Return the cells of generated texts with the given task, model and decoding setting.

    Raises:
        ConfigError: If there are none; the message names the nearest.
    """
    cells = config.generated()
    for place, (what, name) in enumerate({"task": task, "model": model, "decoding": decoding}.items()):
        if name is not None:
            known = list(dict.fromkeys(str(cell[place]) for cell in cells))
            if name not in known:
                raise ConfigError(f"no cell with the {what} {name!r}; {nearest(name, known)}")
            cells = [cell for cell in cells if cell[place] == name]
    return cells


def own_files(config: Config) -> Iterator[Path]:
    """Yield the user's own files that an experiment may read."""
    for registry in (config.models, config.datasets, config.embedders, config.taggers):
        for entry in registry.values():
            if not isinstance(entry.source, GenerationsSource):
                yield from map(Path, inputs.source_files(entry.source))
    for cell in config.generated():
        source = config.models[cell.model].source
        if isinstance(source, GenerationsSource):
            yield from map(Path, source.files(cell.task, cell.decoding, cell.seed))


def server_name(config: Config, model: str) -> str:
    """Return the likely name of a model on a server."""
    source = config.models[model].source
    if isinstance(source, OpenAISource):
        return source.model
    return source.repo if isinstance(source, HfSource) else model


def requests_of_cells(config: Config, cells: Sequence[Cell], name: str) -> Iterator[dict[str, Any]]:
    """Yield the requests for the texts of cells, see :func:`textgamut.generation.batch.batch_requests`.

    Raises:
        TextgamutError: If prompts are not drawn yet, or a server does not support a decoding setting.
    """
    for cell in cells:
        size = config.size(cell)
        prompts = prompts_of(of_cell(_prompts(cell.task), cell.seed, cell.task, size.n))
        model, decoding = config.models[cell.model], config.decoding[cell.decoding]
        yield from batch_requests(cell, model, name, decoding, prompts, size.completions)


def _prompts(task: str) -> pd.DataFrame:
    path = Path(fill(paths.PROMPTS, task=task))
    if not path.exists():
        raise DataError(f"{path}: the prompts are not drawn yet: snakemake --cores 1 {path}")
    return read_table(path, ["id", *Prompt._fields])


class TaskTexts(NamedTuple):
    """The texts of a task, as tables of a dataset."""

    task: str
    generated: pd.DataFrame
    """One row per sample: ``task``, ``model``, ``decoding``, ``seed``, ``prompt_id``, ``completion``,
    ``prompt``, ``text``, ``continuation``, ``tokens``, ``finish`` and the groups of the task. ``text`` is
    what is measured, cut to the length of the task, and null for a sample that is not kept;
    ``continuation`` is the whole text that the model wrote."""
    references: pd.DataFrame
    """One row per text: ``task``, ``draw``, ``id``, ``text`` and the groups of the task."""


def texts_of_task(config: Config, task: str, cells: Sequence[Cell]) -> TaskTexts:
    """Read the texts of a task's cells, and its references.

    Args:
        config: The experiment with its registries.
        task: Slug of the task.
        cells: Cells of the task.

    Raises:
        TextgamutError: If texts are missing or damaged.
    """
    import pandas as pd

    prompts, entry = _prompts(task), config.experiment.tasks[task]
    groups = pd.DataFrame({"id": []})
    if entry.groups:
        groups = read_table(Path(fill(paths.TEXTS, dataset=entry.dataset)), ["id", *entry.groups])
    frames = [_texts_of_cell(config, cell, prompts) for cell in cells]
    generated = pd.concat(frames, ignore_index=True)
    labels = groups.set_index("id")[entry.groups].reindex(generated["prompt_id"]).reset_index(drop=True)
    references = []
    for draw in entry.draws:
        path = Path(fill(paths.REFERENCES, task=task, draw=draw))
        if not path.exists():
            raise DataError(f"{path}: the references are not drawn yet: run the experiment first")
        texts = read_table(path, ["id", "text", *entry.groups])[["id", "text", *entry.groups]]
        texts.insert(0, "draw", draw)
        references.append(texts)
    known = pd.concat(references, ignore_index=True)
    known.insert(0, "task", task)
    return TaskTexts(task, pd.concat([generated, labels], axis=1), known)


def _texts_of_cell(config: Config, cell: Cell, prompts: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    path = Path(fill(paths.GENERATIONS, cell))
    shards = [Path(shard) for shard in inputs.shards(config, cell)]
    for file in (path, *shards):
        if not file.exists():
            raise DataError(f"{file}: the texts are not generated yet: run the experiment first")
    samples = pd.concat([read_table(shard, ["id", *COLUMNS]) for shard in shards], ignore_index=True)
    bases = of_seed(prompts, cell.seed).set_index("id")["base"]
    order = {id_: place for place, id_ in enumerate(bases.index)}
    samples["place"] = samples["prompt_id"].map(order)
    samples = samples.sort_values(["place", "completion"], ignore_index=True)
    texts = read_table(path, ["id", "text"]).set_index("id")["text"]
    frame = samples[["prompt_id", "completion"]].copy()
    for place, (name, value) in enumerate(cell._asdict().items()):
        frame.insert(place, name, value)
    return frame.assign(
        prompt=list(bases.loc[samples["prompt_id"]]),
        text=list(texts.reindex(samples["id"])),
        continuation=samples["continuation"],
        tokens=samples["tokens"],
        finish=samples["finish"],
    )


def export_settings(config: Config, cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the settings on which the texts of cells depend, as plain data: no keys, no prices."""
    tasks = {cell.task: config.experiment.tasks[cell.task] for cell in cells}
    models = {cell.model: config.models[cell.model] for cell in cells}
    return {
        "textgamut": __version__,
        "experiment": config.experiment.name,
        "tasks": {name: task.model_dump(mode="json", exclude_none=True) for name, task in tasks.items()},
        "datasets": {
            task.dataset: config.datasets[task.dataset].model_dump(mode="json") for task in tasks.values()
        },
        "models": {name: {"label": model.label, **model.science()} for name, model in models.items()},
        "decoding": {cell.decoding: config.decoding[cell.decoding].model_dump(mode="json") for cell in cells},
    }
