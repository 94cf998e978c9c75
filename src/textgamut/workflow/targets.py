"""Targets: the cells, files and settings that a table or figure of a paper needs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.config.cells import HUMAN, Cell, Config
from textgamut.config.targets import EmbedderCorrelations, LabelCounts, TargetBase, TextMeans, TokensPerWord
from textgamut.errors import ConfigError, nearest
from textgamut.files import meta_path, read_json, read_table, reading
from textgamut.metrics.catalogue import text_metrics_of
from textgamut.report.published import published
from textgamut.workflow import paths
from textgamut.workflow.families import compares_features, computed_families, missing_families, score_file
from textgamut.workflow.methods import method_names, model_style, model_styles
from textgamut.workflow.paths import fill, wildcards_of

if TYPE_CHECKING:
    import pandas as pd


class Need(NamedTuple):
    """What a target, or a whole experiment, reads."""

    cells: list[Cell]
    """Cells whose scores or texts are read, without those of the references."""
    families: dict[str, list[str]]
    """Task -> families of metrics."""
    embedders: list[str]


def whole_need(config: Config) -> Need:
    """Return what all outputs of an experiment read."""
    tasks = config.measured()
    return Need(
        [cell for task in tasks for cell in config.cells(task)],
        {task: list(config.metrics(task).families()) for task in tasks},
        [config.experiment.embedder],
    )


def target_need(config: Config, name: str) -> Need:
    """Return what a target reads."""
    target = config.experiment.targets[name]
    tasks = [task for task in target.tasks if task in config.measured()]
    if ranks(target):
        # A ranking is of all methods, by the metrics of their single texts.
        families = {
            task: [family for family in computed_families(config, task) if text_metrics_of(family)]
            for task in tasks
        }
        return Need([cell for task in tasks for cell in config.cells(task)], families, [])
    return Need(
        [cell for task in tasks for cell in target_cells(config, target, task)],
        {task: list(target.families()) for task in tasks},
        target_embedders(config, target),
    )


def ranks(target: TargetBase) -> bool:
    """Return whether a target is made from a ranking of its tasks."""
    return not _RANKED.isdisjoint(target.reads)


def ranking_of(config: Config, target: TargetBase) -> str:
    """Return the name of the ranking of a target's tasks."""
    return next(name for name, tasks in config.ranked().items() if set(tasks) == set(target.tasks))


def target_embedders(config: Config, target: TargetBase) -> list[str]:
    """Return the embedders whose features a target reads."""
    return target.embedders if isinstance(target, EmbedderCorrelations) else [config.experiment.embedder]


def union(needs: Iterable[Need]) -> Need:
    """Return a need that contains all the given ones; a task has the families of all of them."""
    needs = list(needs)
    tasks = dict.fromkeys(task for need in needs for task in need.families)
    families = {
        task: list(dict.fromkeys(name for need in needs for name in need.families.get(task, ())))
        for task in tasks
    }
    cells = dict.fromkeys(cell for need in needs for cell in need.cells)
    return Need(list(cells), families, list(dict.fromkeys(name for need in needs for name in need.embedders)))


def target_cells(config: Config, target: TargetBase, task: str) -> list[Cell]:
    """Return the cells of a task that a target shows."""
    return [
        cell
        for cell in config.cells(task)
        if cell.model in (target.models or [cell.model])
        and cell.decoding in (target.decodings or [cell.decoding])
    ]


def generated_cells(config: Config, need: Need) -> list[Cell]:
    """Return the distinct cells whose texts are generated, those of references included."""
    cells = [cell._replace(task=config.texts_of(cell.task)) for cell in need.cells]
    compared = {task for task, families in need.families.items() if compares_features(families)}
    cells += [cell for task in compared for cell in config.reference_cells(task)]
    wanted = set(cells)
    return [cell for cell in config.generated() if cell in wanted]


def target_files(config: Config, name: str) -> dict[str, list[str]]:
    """Return the files that a target is made from, by kind."""
    target = config.experiment.targets[name]
    return {kind: _FILES[kind](config, target) for kind in target.reads}


def read_files(files: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Read the files that a target is made from: kind -> data."""
    return {kind: _READERS[kind](found) for kind, found in files.items()}


def _score_files(config: Config, target: TargetBase) -> list[str]:
    return [
        score_file(config, cell, family, embedder)
        for task in target.tasks
        for cell in target_cells(config, target, task)
        for family in target.families()
        for embedder in target_embedders(config, target)
    ]


def _feature_files(family: str) -> Callable[[Config, TargetBase], list[str]]:
    def files(config: Config, target: TargetBase) -> list[str]:
        cells = (cell for task in target.tasks for cell in target_cells(config, target, task))
        return [score_file(config, cell, family) for cell in cells]

    return files


def _token_files(config: Config, target: TargetBase) -> list[str]:
    assert isinstance(target, TokensPerWord)
    return [fill(paths.TOKENS_PER_WORD, dataset=target.dataset, model=model) for model in target.models]


def _text_files(config: Config, target: TargetBase) -> list[str]:
    """Return the files of single texts' metrics, of those families that can be computed."""
    human = isinstance(target, TextMeans) and target.human is not None
    return [
        fill(paths.TEXT_SCORES, cell, family=family)
        for task in target.tasks
        for cell in [*target_cells(config, target, task), *(config.human_cells(task) if human else [])]
        for family in computed_families(config, task)
        if family in target.families()
    ]


def _label_files(_config: Config, target: TargetBase) -> list[str]:
    assert isinstance(target, LabelCounts)
    return [fill(paths.TEXTS, dataset=target.dataset)]


def _generation_files(config: Config, target: TargetBase) -> list[str]:
    cells = (cell for task in target.tasks for cell in target_cells(config, target, task))
    return [fill(paths.GENERATIONS, cell) for cell in cells]


def _prompt_files(_config: Config, target: TargetBase) -> list[str]:
    return [fill(paths.PROMPTS, task=task) for task in target.tasks]


def _ranking_files(*names: str) -> Callable[[Config, TargetBase], list[str]]:
    def files(config: Config, target: TargetBase) -> list[str]:
        of = {"paper": config.experiment.name, "ranked": ranking_of(config, target)}
        return [f"{fill(paths.RANKING, **of)}/{name}.csv" for name in names]

    return files


def _ranked_files(config: Config, target: TargetBase) -> list[str]:
    paper = config.experiment.name
    return [fill(paths.ALL_TEXT_SCORES, paper=paper, task=task) for task in target.tasks]


def _continuation_files(config: Config, target: TargetBase) -> list[str]:
    """Return the shown texts of the first task, and its human ones."""
    task = target.tasks[0]
    cells = target_cells(config, target, task) + config.human_cells(task)
    return [fill(paths.GENERATIONS, cell) for cell in cells]


def _read_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    with reading(path):
        return pd.read_csv(path, keep_default_na=False, na_values=[""])


def _read_tables(files: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([pd.DataFrame(), *(_read_csv(Path(path)) for path in files)])


def _read_ranking(files: Sequence[str]) -> dict[str, Any]:
    """Return the tables of a ranking by name, and its notes."""
    if not files:
        return {}
    record, notes = meta_path(Path(files[0]).with_name("ranking.csv")), []
    if record.exists():
        with reading(record):
            notes = list(read_json(record)["notes"])
    return {Path(path).stem: _read_csv(Path(path)) for path in files} | {"notes": notes}


def _read_ranked(files: Iterable[str]) -> dict[str, pd.DataFrame]:
    columns = ["model", "decoding", "seed", "id", "prompt_id"]
    return {Path(path).parent.name: read_table(Path(path), columns) for path in files}


def _read_scores(files: Iterable[str]) -> pd.DataFrame:
    from textgamut.report.tables import tidy

    rows: list[dict[str, Any]] = []
    for path in map(Path, files):
        content = read_json(path)
        with reading(path):
            rows += [{**row, "value": float(row["value"])} for row in content]
    return tidy(rows)


def _read_all(files: Iterable[str]) -> list[Any]:
    return [read_json(Path(path)) for path in files]


def _read_by_name(files: Iterable[str]) -> dict[str, Any]:
    return {Path(path).stem: read_json(Path(path)) for path in files}


def _read_texts(files: Iterable[str]) -> pd.DataFrame:
    """Return one row per text: the columns of its cell, and one for each metric."""
    import pandas as pd

    cells: dict[Cell, list[pd.DataFrame]] = defaultdict(list)
    for path in files:
        cells[_cell_of(paths.TEXT_SCORES, path)].append(read_table(Path(path), ["id"]).set_index("id"))
    tables = [_of_cell(pd.concat(found, axis="columns"), cell) for cell, found in cells.items()]
    return pd.concat([pd.DataFrame(columns=list(Cell._fields)), *tables], ignore_index=True)


def _read_generations(files: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    columns = ["id", "prompt_id", "text"]
    tables = [
        _of_cell(read_table(Path(path), columns)[columns], _cell_of(paths.GENERATIONS, path))
        for path in files
    ]
    return pd.concat([pd.DataFrame(columns=[*Cell._fields, *columns]), *tables], ignore_index=True)


def _read_prompts(files: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    columns = ["id", "base"]
    tables = [
        read_table(Path(path), columns)[columns].assign(**wildcards_of(paths.PROMPTS, path)) for path in files
    ]
    return pd.concat([pd.DataFrame(columns=["task", *columns]), *tables], ignore_index=True)


def _read_labels(files: Iterable[str]) -> pd.DataFrame:
    import pandas as pd

    tables = [read_table(Path(path), ["id"]).drop(columns="text") for path in files]
    return pd.concat([pd.DataFrame(), *tables], ignore_index=True)


def _cell_of(pattern: str, path: str) -> Cell:
    found = wildcards_of(pattern, path)
    return Cell(found["task"], found["model"], found["decoding"], int(found["seed"]))


def _of_cell(table: pd.DataFrame, cell: Cell) -> pd.DataFrame:
    return table.assign(**cell._asdict())


_FILES: dict[str, Callable[[Config, TargetBase], list[str]]] = {
    "scores": _score_files,
    "sweeps": _feature_files("sweep"),
    "curves": _feature_files("curves"),
    "tokens": _token_files,
    "texts": _text_files,
    "labels": _label_files,
    "generations": _generation_files,
    "prompts": _prompt_files,
    "ranking": _ranking_files("ranking", "winners", "orders", "dominance", "pairs"),
    "tuning": _ranking_files("tuning"),
    "rated": _ranking_files("rated"),
    "ranked": _ranked_files,
    "continuations": _continuation_files,
}
"""Kind of files -> the function that lists those of a target."""

_READERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "scores": _read_scores,
    "sweeps": _read_scores,
    "curves": _read_all,
    "tokens": _read_by_name,
    "texts": _read_texts,
    "labels": _read_labels,
    "generations": _read_generations,
    "prompts": _read_prompts,
    "ranking": _read_ranking,
    "tuning": _read_tables,
    "rated": _read_tables,
    "ranked": _read_ranked,
    "continuations": _read_generations,
}
"""Kind of files -> the function that reads them."""

_RANKED = {"ranking", "tuning", "rated", "ranked"}
"""Kinds of files that are made from all methods of a ranking."""
TUNED = {"tuning", "rated"}
"""Kinds of files that are made from the user's ratings."""


def target_outputs(config: Config, name: str) -> dict[str, str]:
    """Return the files of a target: its table and its page and, for a figure, its pictures."""
    suffixes = ["csv", "html", *(["svg", "png"] if config.experiment.targets[name].figure else [])]
    paper = config.experiment.name
    return {suffix: fill(paths.TARGET, paper=paper, target=name, suffix=suffix) for suffix in suffixes}


def target_groups(config: Config) -> dict[str, list[str]]:
    """Return the targets that are parts of one table or figure: table_1 -> table_1a, table_1b."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in config.experiment.targets:
        if part := re.fullmatch(r"(.*\d)[a-z]", name):
            groups[part[1]].append(name)
    return {name: parts for name, parts in groups.items() if name not in config.experiment.targets}


def named_targets(config: Config, name: str) -> list[str]:
    """Return the target of a name, or the parts of a group.

    Raises:
        ConfigError: If there is neither; the message names the nearest.
    """
    targets, groups = config.experiment.targets, target_groups(config)
    if name not in targets and name not in groups:
        valid = nearest(name, [*targets, *groups])
        raise ConfigError(f"unknown target {name!r} of {config.experiment.name}; {valid}")
    return groups.get(name, [name])


def unavailable(config: Config, name: str) -> str | None:
    """Return why a target cannot be made on this machine; None if it can.

    A target of metrics of single texts lacks only the columns that cannot be computed.
    """
    target = config.experiment.targets[name]
    if not TUNED.isdisjoint(target.reads) and not config.ratings(ranking_of(config, target)):
        return f"no human ratings: set ratings, the same file, in the ranking of {', '.join(target.tasks)}"
    return None if "texts" in target.reads else "; ".join(_missing(config, target)) or None


def _missing(config: Config, target: TargetBase) -> list[str]:
    """Return one line for each family that a target reads and that cannot be computed."""
    read = set(target.families())
    if all(read <= set(computed_families(config, task)) for task in target.tasks):
        return []
    return missing_families(config)


def target_settings(config: Config, name: str) -> dict[str, Any]:
    """Return everything besides the files that a target depends on, as plain data."""
    experiment = config.experiment
    target = experiment.targets[name]
    ranked = ranks(target)
    cells = {
        task: config.cells(task) if ranked else target_cells(config, target, task) for task in target.tasks
    }
    slugs = {cell.model for found in cells.values() for cell in found}
    styles: dict[str, dict[str, Any]] = {}
    if isinstance(target, TokensPerWord):
        slugs = set(target.models)
        styles = {slug: model_style(config.models[slug]) for slug in target.models}
    for task in target.tasks:
        styles |= {slug: style for slug, style in model_styles(config, task).items() if slug in slugs}
    order = list(styles) if ranked else target.models or list(styles)
    shown: dict[str, Any] = {"cells": [list(cell) for found in cells.values() for cell in found]}
    if ranked and (ranking := experiment.tasks[target.tasks[0]].ranking):
        shown = {
            "methods": [method for method in method_names(config, target.tasks[0]) if method[0] != HUMAN],
            "ranking": ranking.model_dump(mode="json", exclude={"ratings"}),
        }
    decodings = dict.fromkeys(cell.decoding for found in cells.values() for cell in found)
    return {
        "name": name,
        "paper": experiment.paper,
        "target": target.model_dump(mode="json"),
        "published": published(experiment.paper, name),
        "notes": [
            *_stand_ins(config, cells),
            *(f"{line[0].upper()}{line[1:]}." for line in _missing(config, target)),
        ],
        "labels": experiment.labels,
        **shown,
        "models": {
            slug: styles[slug] | {"label": experiment.labels.get(slug, styles[slug]["label"])}
            for slug in order
            if slug in styles
        },
        "decodings": {
            slug: config.decoding[slug].model_dump(mode="json")
            for slug in decodings
            if slug in config.decoding
        },
        "tasks": {
            task: experiment.tasks[task].model_dump(mode="json", exclude={"cells", "metrics", "ranking"})
            for task in target.tasks
        },
        "embedder": config.embedders[experiment.embedder].label,
        "embedders": {
            slug: experiment.labels.get(slug, config.embedders[slug].label)
            for slug in target_embedders(config, target)
        },
    }


def _stand_ins(config: Config, cells: Mapping[str, Sequence[Cell]]) -> list[str]:
    """Say which models and settings have the name of another model in the paper."""
    labels, named = config.experiment.labels, {}
    for model, decoding in dict.fromkeys(cell[1:3] for found in cells.values() for cell in found):
        own = config.models[model].label if model in config.models else None
        if own and f"{model}/{decoding}" in labels:
            named[labels[f"{model}/{decoding}"]] = f"{own}, {decoding}"
        elif own and labels.get(model, own) != own:
            named[labels[model]] = own
    shown = "; ".join(f"{label}: {own}" for label, own in named.items())
    return [f"Models behind the paper's names: {shown}."] if shown else []
