"""Read the texts of a gate: tables, logs of other programs, and recorded baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut import validation
from textgamut.config.entries.sources import TextsFormat
from textgamut.errors import ConfigError, DataError
from textgamut.scoring.baseline_file import SUFFIX, read_baseline
from textgamut.scoring.gate_sides import BASELINE, REFERENCE, TRAINING, Side

if TYPE_CHECKING:
    import pandas as pd

LOGS = {"lm-eval": "samples_*.jsonl", "inspect": "*.eval"}
"""Format -> names of its logs in a folder."""


@dataclass(frozen=True)
class Layout:
    """Where files have the texts, and what belongs to them."""

    text: str = "text"
    """Column of the texts of tables."""
    prompt: str | None = None
    cluster: str | None = None
    finish: str | None = None
    group: str | None = None
    format: TextsFormat = "table"
    """Format of the files of generated texts."""


Given = Path | Side | Iterable[str]
"""A side of a gate: a file, or its texts."""


def read_sides(given: Mapping[str, Given], layout: Layout) -> tuple[dict[str, Side], dict[str, Any] | None]:
    """Read the sides of a gate.

    Args:
        given: ``baseline``, ``candidate``, ``reference`` and ``training``, of which the baseline may be a
            recorded one.
        layout: Where files have the texts.

    Returns:
        The sides, and the facts of a recorded baseline, None for another one.

    Raises:
        TextgamutError: If a file cannot be read as what it should be; the message names it.
    """
    recorded: dict[str, Any] | None = None
    sides: dict[str, Side] = {}
    for name, of in given.items():
        if isinstance(of, Path) and name == BASELINE and of.suffix == SUFFIX:
            sides, recorded = read_baseline(of)
        elif name in sides:
            what = "references" if name == REFERENCE else "training texts"
            raise ConfigError(f"{name}: {given[BASELINE]} was recorded with its {what}: leave it out")
        elif isinstance(of, Path):
            sides[name] = _human(of, layout) if name in (REFERENCE, TRAINING) else _generated(of, layout)
        else:
            sides[name] = of if isinstance(of, Side) else Side(validation.texts(name, of))
    return sides, recorded


def _human(path: Path, layout: Layout) -> Side:
    """Return a table of human texts, which need not have the groups."""
    group = layout.group
    frame = _read(path, layout.text, [], [group] if group else [])
    return Side(list(frame[layout.text]), groups=_groups(frame, group if group in frame else None))


def _generated(path: Path, layout: Layout) -> Side:
    """Return a side of generated texts: of a table, or of a log of another program."""
    if layout.format != "table":
        return _logged(path, layout.format)
    wanted = (layout.prompt, layout.cluster, layout.finish, layout.group)
    frame = _read(path, layout.text, [name for name in wanted if name])
    prompts, clusters, finishes = (_labels(frame[name]) if name else None for name in wanted[:3])
    return Side(list(frame[layout.text]), prompts, clusters, finishes, _groups(frame, layout.group))


def _logged(path: Path, format: TextsFormat) -> Side:
    """Return the texts in a log of another program, with their prompts and reasons of an end."""
    from textgamut.config.entries.sources import GenerationsSource
    from textgamut.generation.given.given_text import read_texts

    file = path
    if path.is_dir():
        found = sorted(path.rglob(LOGS.get(format, "*")))
        if len(found) != 1:
            named = ": " + ", ".join(str(of.relative_to(path)) for of in found[:5]) if found else ""
            raise DataError(f"{path}: one log is needed, found {len(found)}{named}: name the file")
        [file] = found
    texts = list(read_texts(file, GenerationsSource(kind="generations", path=str(file), format=format)))
    for of in texts:
        if of.text is None:
            raise DataError(f"{of.where}: there is no text: {of.problem}")
    prompts = [of.prompt_id or next(iter(of.prompts), None) for of in texts]
    finishes = [of.finish for of in texts]
    return Side(
        [of.text or "" for of in texts],
        prompts if any(prompts) else None,
        finishes=finishes if any(finishes) else None,
    )


def _read(path: Path, text: str, columns: Sequence[str], optional: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table of texts, which may all be empty: that is what a gate is for."""
    from textgamut.datasets.table import read_columns, text_column

    frame = read_columns(path, [text, *columns], optional)
    if not len(frame):
        raise DataError(f"{path}: there are no texts")
    return frame.assign(**{text: text_column(path, frame, text)})


def _labels(column: pd.Series[Any]) -> list[str | None]:
    """Return labels as text; None for a missing or an empty one."""
    from textgamut.datasets.table import labels

    named = labels(column)
    return [str(of) if known and str(of) else None for of, known in zip(named, named.notna(), strict=True)]


def _groups(frame: pd.DataFrame, column: str | None) -> dict[str, list[str | None]]:
    return {column: _labels(frame[column])} if column else {}
