"""Files that targets are made from: kind of file -> the files of a target, and how they are read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.config.cells import Cell, Config
from textgamut.config.target_shapes import LabelCounts, TargetBase, TextMeans, TokensPerWord, Worths
from textgamut.files import meta_path, read_csv, read_json, read_table, reading
from textgamut.workflow import paths
from textgamut.workflow.families import computed_families, score_files, text_score_files
from textgamut.workflow.paths import fill, wildcards_of
from textgamut.workflow.targets import ranking_of, target_cells, target_embedders

if TYPE_CHECKING:
    import pandas as pd


def target_files(config: Config, name: str) -> dict[str, list[str]]:
    """Return the files that a target is made from, by kind."""
    target = config.experiment.targets[name]
    return {kind: _FILES[kind](config, target) for kind in target.reads}


def read_files(files: Mapping[str, Sequence[Path | str]]) -> dict[str, Any]:
    """Read the files that a target is made from: kind -> data."""
    return {kind: _READERS[kind](found) for kind, found in files.items()}


def _score_files(config: Config, target: TargetBase) -> list[str]:
    return [
        file
        for task in target.tasks
        for cell in target_cells(config, target, task)
        for family in target.families()
        for embedder in target_embedders(config, target)
        for file in score_files(config, cell, family, embedder)
    ]


def _feature_files(family: str) -> Callable[[Config, TargetBase], list[str]]:
    def files(config: Config, target: TargetBase) -> list[str]:
        cells = (cell for task in target.tasks for cell in target_cells(config, target, task))
        return [file for cell in cells for file in score_files(config, cell, family)]

    return files


def _token_files(config: Config, target: TargetBase) -> list[str]:
    assert isinstance(target, TokensPerWord)
    return [fill(paths.TOKENS_PER_WORD, dataset=target.dataset, model=model) for model in target.models]


def _text_files(config: Config, target: TargetBase) -> list[str]:
    """Return the files of single texts' metrics, of those families that can be computed."""
    human = isinstance(target, TextMeans) and target.human is not None
    return [
        file
        for task in target.tasks
        for cell in [*target_cells(config, target, task), *(config.human_cells(task) if human else [])]
        for family in computed_families(config, task)
        if family in target.families()
        for file in text_score_files(config, cell, family)
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


def _dominance_files(config: Config, target: TargetBase) -> list[str]:
    """Return the counts of dominance of each task, if a target adds them by position."""
    if not isinstance(target, Worths) or target.merge == "by-name":
        return []
    folders = [fill(paths.RANKING, paper=config.experiment.name, ranked=task) for task in target.tasks]
    return [f"{folder}/dominance.csv" for folder in folders]


def _ranked_files(config: Config, target: TargetBase) -> list[str]:
    paper = config.experiment.name
    return [fill(paths.ALL_TEXT_SCORES, paper=paper, task=task) for task in target.tasks]


def _continuation_files(config: Config, target: TargetBase) -> list[str]:
    """Return the shown texts of the first task, and its human ones."""
    task = target.tasks[0]
    cells = target_cells(config, target, task) + config.human_cells(task)
    return [fill(paths.GENERATIONS, cell) for cell in cells]


def _read_tables(files: Iterable[Path | str]) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([pd.DataFrame(), *(read_csv(Path(path)) for path in files)])


def _read_ranking(files: Sequence[Path | str]) -> dict[str, Any]:
    """Return the tables of a ranking by name, and its notes."""
    if not files:
        return {}
    record, notes = meta_path(Path(files[0]).with_name("ranking.csv")), []
    if record.exists():
        with reading(record):
            notes = list(read_json(record)["notes"])
    return {Path(path).stem: read_csv(Path(path)) for path in files} | {"notes": notes}


def _read_dominance(files: Iterable[Path | str]) -> list[pd.DataFrame]:
    """Return the counts of dominance of each task."""
    return [read_csv(Path(path)) for path in files]


def _read_ranked(files: Iterable[Path | str]) -> dict[str, pd.DataFrame]:
    columns = ["model", "decoding", "seed", "id", "prompt_id"]
    return {Path(path).parent.name: read_table(Path(path), columns) for path in files}


def _read_scores(files: Iterable[Path | str]) -> pd.DataFrame:
    from textgamut.report.tables import tidy

    rows: list[dict[str, Any]] = []
    for path in map(Path, files):
        content = read_json(path)
        with reading(path):
            rows += [{**row, "value": float(row["value"])} for row in content]
    return tidy(rows)


def _read_curves(files: Iterable[Path | str]) -> list[dict[str, Any]]:
    """Return the model of each cell, and the coordinates of its curves."""
    cells = []
    for path in map(Path, files):
        content = read_json(path)
        with reading(path):
            points = {name: [float(value) for value in content[name]] for name in ("alpha", "beta", "x", "y")}
            cells.append({"model": str(content["model"]), **points})
    return cells


def _read_tokens(files: Iterable[Path | str]) -> dict[str, float]:
    """Return the tokens per word of each model."""
    ratios = {}
    for path in map(Path, files):
        content = read_json(path)
        with reading(path):
            ratios[path.stem] = float(content["ratio"])
    return ratios


def _read_texts(files: Iterable[Path | str]) -> pd.DataFrame:
    """Return one row per text: the columns of its cell, and one for each metric."""
    import pandas as pd

    cells: dict[Cell, list[pd.DataFrame]] = defaultdict(list)
    for path in files:
        cells[_cell_of(paths.TEXT_SCORES, path)].append(read_table(Path(path), ["id"]).set_index("id"))
    tables = [_of_cell(pd.concat(found, axis="columns"), cell) for cell, found in cells.items()]
    return pd.concat([pd.DataFrame(columns=list(Cell._fields)), *tables], ignore_index=True)


def _read_generations(files: Iterable[Path | str]) -> pd.DataFrame:
    import pandas as pd

    columns = ["id", "prompt_id", "text"]
    tables = [
        _of_cell(read_table(Path(path), columns)[columns], _cell_of(paths.GENERATIONS, path))
        for path in files
    ]
    return pd.concat([pd.DataFrame(columns=[*Cell._fields, *columns]), *tables], ignore_index=True)


def _read_prompts(files: Iterable[Path | str]) -> pd.DataFrame:
    import pandas as pd

    columns = ["id", "base"]
    tables = [
        read_table(Path(path), columns)[columns].assign(**wildcards_of(paths.PROMPTS, path)) for path in files
    ]
    return pd.concat([pd.DataFrame(columns=["task", *columns]), *tables], ignore_index=True)


def _read_labels(files: Iterable[Path | str]) -> pd.DataFrame:
    import pandas as pd

    tables = [read_table(Path(path), ["id"]).drop(columns="text") for path in files]
    return pd.concat([pd.DataFrame(), *tables], ignore_index=True)


def _cell_of(pattern: str, path: Path | str) -> Cell:
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
    "dominance": _dominance_files,
    "tuning": _ranking_files("tuning"),
    "rated": _ranking_files("rated"),
    "ranked": _ranked_files,
    "continuations": _continuation_files,
}
"""Kind of files -> the function that lists a target's files."""

_READERS: dict[str, Callable[[Sequence[Path | str]], Any]] = {
    "scores": _read_scores,
    "sweeps": _read_scores,
    "curves": _read_curves,
    "tokens": _read_tokens,
    "texts": _read_texts,
    "labels": _read_labels,
    "generations": _read_generations,
    "prompts": _read_prompts,
    "ranking": _read_ranking,
    "dominance": _read_dominance,
    "tuning": _read_tables,
    "rated": _read_tables,
    "ranked": _read_ranked,
    "continuations": _read_generations,
}
"""Kind of files -> the function that reads them."""
