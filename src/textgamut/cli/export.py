"""``textgamut export``: prompts as a batch of requests, texts as a dataset."""

from __future__ import annotations

import logging
import os
import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from textgamut.cli.common import NamedPath, check_output, experiment_file
from textgamut.cli.examples import epilogue
from textgamut.errors import ConfigError, DataError

logger = logging.getLogger(__name__)

MOST_REQUESTS = 50_000
"""Maximum number of requests in a batch of OpenAI's; vllm has none."""

Folder = Annotated[NamedPath | None, Parameter(metavar="FOLDER")]

export = App(name="export", help="Export prompts as a batch of requests, or texts as a dataset.")


@export.command(help_epilogue=epilogue("export prompts"))
def prompts(
    experiment: str | None = None,
    /,
    *,
    task: str,
    model: str,
    output: Annotated[NamedPath, Parameter(metavar="FILE")],
    decoding: str | None = None,
    name: str | None = None,
    registries: Folder = None,
) -> None:
    """Write the prompts of a task for a model as an OpenAI batch.

    The file has one request per line, for OpenAI's Batch API, other providers with the same form, and
    vllm run-batch: prompts in the model's format, decoding settings, and a seed for each sample. The answers
    are read by a model with source: {kind: generations, format: openai-batch, path: ANSWERS}.

    Args:
        experiment: Experiment in config or config/papers, or the path of its file. Defaults to demo.
        task: Task of the experiment; its prompts must have been drawn.
        model: Model of the task, of any source.
        output: The file to write, .jsonl.
        decoding: Decoding setting. Defaults to all of the model in the task.
        name: Name of the model on the server. Defaults to that in the registry.
        registries: Folder of your own registries.

    Raises:
        TextgamutError: If a name does not exist, the prompts are not drawn yet, or a server does not support
            a decoding setting.
    """
    import json

    from textgamut.config.loading import load_config
    from textgamut.files import atomic
    from textgamut.views.export import own_files, requests_of_cells, selected_cells, server_name

    if output.suffix != ".jsonl":
        raise ConfigError(f"--output {output}: has one request per line: its suffix must be .jsonl")
    config = load_config(experiment_file(experiment, registries), registries)
    check_output("--output", output, own_files(config))
    cells = selected_cells(config, task, model, decoding)
    count = 0
    with atomic(output) as stream:
        for request in requests_of_cells(config, cells, name or server_name(config, model)):
            stream.write(json.dumps(request, ensure_ascii=False).encode() + b"\n")
            count += 1
    logger.info("written: %s, %s requests", output, f"{count:,}")
    if count > MOST_REQUESTS:
        logger.warning(
            "%s: a batch of OpenAI's has at most %s requests: split the file, or export one --decoding",
            output, f"{MOST_REQUESTS:,}",
        )  # fmt: skip


@export.command(help_epilogue=epilogue("export texts"))
def texts(
    experiment: str | None = None,
    /,
    *,
    output: Annotated[NamedPath, Parameter(metavar="FOLDER")],
    task: str | None = None,
    model: str | None = None,
    decoding: str | None = None,
    registries: Folder = None,
) -> None:
    """Write generated texts and their references as a dataset.

    The folder can be uploaded to the Hugging Face hub as it is, and datasets.load_dataset reads it: a parquet
    file of each task's texts and one of its references, a card with licences, and all settings. A model with
    source: {kind: generations, path: FOLDER/generated/{task}.parquet} has its texts.

    Args:
        experiment: Experiment in config or config/papers, or the path of its file. Defaults to demo.
        output: The folder to write. It must be new or empty.
        task: Task. Defaults to all of the experiment.
        model: Model. Defaults to all of the experiment.
        decoding: Decoding setting. Defaults to all of the experiment.
        registries: Folder of your own registries.

    Raises:
        TextgamutError: If a name does not exist, texts are not generated yet, or the folder is not empty.
    """
    if os.path.lexists(output) and (not os.path.isdir(output) or any(os.scandir(output))):
        raise ConfigError(f"--output {output}: is not a new or empty folder")
    check_output("--output", output / "README.md", [])
    from textgamut.config.loading import load_config
    from textgamut.files import write_bytes, write_json, write_table
    from textgamut.report.hub_card import render_export_card
    from textgamut.views.export import export_settings, selected_cells, texts_of_task

    config = load_config(experiment_file(experiment, registries), registries)
    cells = selected_cells(config, task, model, decoding)
    names = dict.fromkeys(cell.task for cell in cells)
    tables = [texts_of_task(config, name, [cell for cell in cells if cell.task == name]) for name in names]
    settings = export_settings(config, cells)
    for table in tables:
        write_table(output / "generated" / f"{table.task}.parquet", table.generated)
        write_table(output / "references" / f"{table.task}.parquet", table.references)
    write_json(output / "settings.json", settings)
    shown = {table.task: table.generated for table in tables}
    first = cells[0].model
    style = config.models[first].model_dump(include={"label", "family", "chat"}) | {"model": first}
    write_bytes(
        output / "README.md", render_export_card(settings, shown, style, output.resolve().name).encode()
    )
    logger.info("written: %s, %s texts", output, f"{sum(map(len, shown.values())):,}")


@export.command(help_epilogue=epilogue("export embedding-atlas"))
def embedding_atlas(
    experiment: str | None = None,
    /,
    *,
    task: str,
    output: Annotated[NamedPath, Parameter(metavar="FILE")],
    registries: Folder = None,
) -> None:
    """Write the texts of a task as a table for embedding-atlas.

    The page of an experiment shows up to 50,000 texts of a task; embedding-atlas shows millions, with a
    server: embedding-atlas FILE --text text --x x --y y --neighbors neighbors. Places are those of the map of
    the page, and neighbours those of precision and recall.

    Args:
        experiment: Experiment in config or config/papers, or the path of its file. Defaults to demo.
        task: Task of the experiment; its texts must have been scored.
        output: The file to write, .parquet.
        registries: Folder of your own registries.

    Raises:
        TextgamutError: If the task does not exist, or a file of the run is missing.
    """
    from textgamut.config.loading import load_config
    from textgamut.errors import nearest
    from textgamut.files import write_table
    from textgamut.views.atlas import atlas_table
    from textgamut.views.explorer import read_explorer
    from textgamut.views.export import own_files
    from textgamut.workflow.outputs import explorer_files
    from textgamut.workflow.page_settings import explorer_settings

    if output.suffix != ".parquet":
        raise ConfigError(f"--output {output}: its suffix must be .parquet")
    config = load_config(experiment_file(experiment, registries), registries)
    if task not in (known := config.measured()):
        raise ConfigError(f"no task {task!r} with texts; {nearest(task, known)}")
    read = explorer_files(config, task)
    check_output("--output", output, [*map(Path, read), *own_files(config)])
    for path in read:
        if not os.path.exists(path):
            raise DataError(f"{path}: it is not made yet: run the experiment first")
    table = atlas_table(read_explorer(explorer_settings(config, task)))
    write_table(output, table)
    logger.info("written: %s, %s texts", output, f"{len(table):,}")
    options = "--text text"
    if "x" in table:
        options += " --x x --y y --neighbors neighbors"
    logger.info("show it: embedding-atlas %s %s", shlex.quote(str(output)), options)
