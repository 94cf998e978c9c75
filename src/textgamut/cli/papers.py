"""``textgamut papers``: the tables and figures of the papers, what they need, and how close ours are."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from textgamut.cli.common import NamedPath, experiment_file, print_json, records
from textgamut.errors import ConfigError, DataError

if TYPE_CHECKING:
    from textgamut.config.cells import Config
    from textgamut.report.papers.result import PaperResult
    from textgamut.views.papers import PaperState, TargetState


def papers(
    experiment: str | None = None,
    /,
    *targets: str,
    registries: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    partial: bool = False,
    html: bool = False,
    json: bool = False,
) -> None:
    """List the tables and figures of the papers, or print one.

    Without an experiment, all in config/papers are listed, with the state of their tables and figures: how
    many cells are done, and what the rest costs and needs. With an experiment and targets, such as pr
    table_1a, these are computed from the scores that exist and printed beside the published values.

    Args:
        experiment: Experiment in config or config/papers, such as pr, or the path of its file.
        targets: Tables and figures to print, such as table_1a; table_1 stands for all its parts.
        registries: Folder of your own registries, and of the folder papers. Defaults to ./config.
        partial: Print targets even if cells are missing, with the missing values marked.
        html: Write the index page results/papers/{experiment}/index.html.
        json: Print JSON instead of tables.

    Raises:
        TextgamutError: If an experiment or a registry is not valid, there is no such experiment or target,
            cells are missing, or a file of scores is damaged.
    """
    from textgamut.config.loading import load_config

    if partial and not targets:
        raise ConfigError(
            "--partial: name a table or figure, such as: textgamut papers pr table_1a --partial"
        )
    if html and targets:
        raise ConfigError("--html: writes the page of a whole paper: name no table or figure")
    files = [experiment_file(experiment, registries)] if experiment is not None else _all(registries)
    found = {file: load_config(file, registries) for file in files}
    if targets:
        [(file, config)] = found.items()
        _print_targets(file, config, targets, partial, json)
        return
    from textgamut.views.papers import paper_state, write_index

    states = {file: paper_state(config) for file, config in found.items()}
    pages = [write_index(found[file]) for file, state in states.items() if html and state.targets]
    if json:
        print_json(
            papers=[
                {"name": found[file].experiment.name, "configfile": str(file), **asdict(state)}
                for file, state in states.items()
            ]
        )
        return
    for file, state in states.items():
        print_state(file, found[file].experiment.name, state)
    for page in pages:
        print(page)


def _all(registries: Path | None) -> list[Path]:
    """Return the configuration files of all papers.

    Raises:
        ConfigError: If there are none.
    """
    folder = (registries or Path("config")) / "papers"
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise ConfigError(f"{folder}: there are no experiments (*.yaml): give --registries")
    return files


def _print_targets(
    file: Path, config: Config, targets: tuple[str, ...], partial: bool, as_json: bool
) -> None:
    """Compute targets, all of them before the first is printed, and print them."""
    from textgamut.views.papers import target_state
    from textgamut.workflow.targets import named_targets

    names = dict.fromkeys(name for target in targets for name in named_targets(config, target))
    states = [target_state(config, name) for name in names]
    found = [(state, _made(file, config, state, partial)) for state in states]
    if as_json:
        print_json(
            paper=config.experiment.name,
            configfile=str(file),
            targets=[_as_json(state, result, missing) for state, (result, missing) in found],
        )
        return
    from textgamut.report.papers.target_terminal import print_target

    for place, (state, (result, missing)) in enumerate(found):
        if place:
            print()
        print_target(state.name, state.title, result, (state.cells_done, state.cells) if missing else None)


def _made(file: Path, config: Config, state: TargetState, partial: bool) -> tuple[PaperResult, bool]:
    """Compute a target from the files that exist; return it, and whether files are missing.

    Raises:
        DataError: If files are missing and ``partial`` is off.
    """
    from textgamut.report.papers.shapes import make_target
    from textgamut.report.papers.target_settings import TargetSettings
    from textgamut.workflow.target_files import read_files, target_files
    from textgamut.workflow.targets import target_settings

    files = target_files(config, state.name)
    existing = {kind: [path for path in found if Path(path).exists()] for kind, found in files.items()}
    missing = existing != files
    if missing and not partial:
        raise DataError(f"{state.name}: {_what_is_missing(file, state)}")
    settings = TargetSettings.of(target_settings(config, state.name))
    return make_target(settings, read_files(existing)), missing


def _what_is_missing(file: Path, state: TargetState) -> str:
    left = state.cells - state.cells_done
    what = f"{left:,} of {state.cells:,} cells are missing" if left else "not all of its files exist"
    if state.reason:
        return f"{what}, and it cannot be made: {state.reason}"
    command = f"snakemake {state.name} --configfile {shlex.quote(str(file))}"
    return f"{what}. `{command}` makes them; --partial shows what exists"


def _as_json(state: TargetState, result: PaperResult, missing: bool) -> dict[str, Any]:
    table = result.table
    flat = zip(
        records(table.frame()),
        [
            missing and table.missing(label, column, entry)
            for label, row in zip(table.rows, table.entries, strict=True)
            for column, entry in zip(table.columns, row, strict=True)
        ],
        strict=True,
    )
    return {
        "name": state.name,
        "title": state.title,
        "partial": missing,
        "cells": state.cells,
        "cells_done": state.cells_done,
        "entries": [{**entry, "missing": gap} for entry, gap in flat],
        "notes": result.notes,
    }


def print_state(file: Path, name: str, state: PaperState) -> None:
    """Print the state of an experiment's targets as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from textgamut.errors import printable
    from textgamut.report.papers.target_page import printed_name
    from textgamut.views.sums import decimal

    console = Console()
    if not console.is_terminal:
        console.width = 160
    console.print(Text(f"{name} ({printable(str(file))})", style="bold"))
    if not state.targets:
        console.print(Text("no tables and figures are named in it (targets)\n", style="dim"))
        return
    table = Table("", "target", "title", "state", box=None, pad_edge=False, header_style="dim")
    for column in ("cells", "GPU hours", "US$"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("needs")
    colours = {"done": "green", "partly": "yellow", "missing": "", "unavailable": "red"}
    for target in state.targets:
        cells = f"{target.cells_done:,} of {target.cells:,}" if target.cells else "—"
        row = [printed_name(target.name), target.name, target.title]
        table.add_row(
            *(Text(printable(text)) for text in row),
            Text(target.progress, style=colours[target.status]),
            *map(Text, (cells, decimal(target.cost.gpu_hours), decimal(target.cost.dollars))),
            Text(printable(target.reason or ", ".join(target.needs))),
        )
    console.print(table)
    console.print(Text(f"In all, shared cells counted once: {state.cost.sentence}"))
    console.print(Text("GPU hours and US$: of the cells that are not done\n", style="dim"))
