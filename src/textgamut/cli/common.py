"""What the commands share: numbers on the command line, checks of paths, JSON output, and writing."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from textgamut import __version__
from textgamut.errors import ConfigError, TextgamutError, nearest, reason

if TYPE_CHECKING:
    import pandas as pd


def _integer(_: object, tokens: Sequence[Token]) -> int:
    if not re.fullmatch(r"[-+]?[0-9]+", tokens[0].value):
        raise ValueError(f"{tokens[0].value!r} is not an integer in decimal digits")
    return int(tokens[0].value)


Integer = Annotated[int, Parameter(converter=_integer)]
"""An integer in decimal digits: cyclopts alone would round 4.5, and Python reads 1_0 as 10."""


def named_path(name: str) -> Path:
    """Return a path of the command line, with ``~`` expanded: shells leave it in ``'~/x'``, ``--output=~/x``.

    Raises:
        ConfigError: If the name is empty, for example an unset variable: Python takes it for the working
            directory.
    """
    from textgamut.fields import expanded

    if not name:
        raise ConfigError("the path is empty")
    return expanded(name)


def _paths(_: object, tokens: Sequence[Token]) -> tuple[Path, ...]:
    return tuple(named_path(token.value) for token in tokens)


def _path(_: object, tokens: Sequence[Token]) -> Path:
    return _paths(_, tokens)[0]


NamedPath = Annotated[Path, Parameter(converter=_path)]
"""A path, see :func:`named_path`."""

NamedPaths = Annotated[tuple[Path, ...], Parameter(converter=_paths, consume_multiple=1)]
"""One or several such paths."""


def utf8(path: Path) -> str:
    """Return a path as text for a file: bytes of it that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stem(path: Path) -> str:
    """Return the name of a file as text, without the suffixes of its format, such as ``.jsonl.gz``."""
    path = Path(utf8(path))
    return path.with_suffix("").stem if path.suffix.lower() == ".gz" else path.stem


def experiment_file(name: str | None, registries: Path | None) -> Path:
    """Return the configuration file of an experiment.

    Args:
        name: The path of the file, or its name without .yaml in the registries' folder, in its folder papers,
            or in a folder of that name (see ``textgamut new``). Defaults to demo.
        registries: Folder of the registries. Defaults to ./config.

    Raises:
        ConfigError: If there is no such experiment.
    """
    from textgamut.config.entries.registries import REGISTRIES  # which loads pydantic

    folder = registries or Path("config")
    if name is None:
        return folder / "demo.yaml"
    if name.endswith((".yaml", ".yml")) or "/" in name or not name:
        return named_path(name)
    places = folder / "papers", folder, folder / name
    for file in (place / f"{name}.yaml" for place in places if name not in REGISTRIES):
        if file.is_file():
            return file
    known = [file.stem for file in (*folder.glob("*.yaml"), *folder.glob("papers/*.yaml"))]
    known += [file.stem for file in folder.glob("*/*.yaml") if file.stem == file.parent.name]
    raise ConfigError(
        f"no experiment {name!r} in {folder}; {nearest(name, sorted({*known} - {*REGISTRIES}))}"
    )


def check_output(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Check that a file can be written, without writing it.

    Args:
        option: Name of the option, for messages.
        path: File that is to be written. It may exist, and its folder need not.
        inputs: Files that must not be replaced, under whatever name or link; some may not exist.

    Raises:
        ConfigError: If the file cannot be written, or is one of the inputs or an output of a run.
    """
    from textgamut.files import KEPT, obstacle

    try:
        if problem := obstacle(path):
            raise ConfigError(f"{option} {path}: {problem}")
        for file in inputs:
            if os.path.exists(path) and os.path.exists(file) and path.samefile(file):
                raise ConfigError(f"{option} {path}: is the input {file}: choose another name")
        if os.path.lexists(path.parent / KEPT / path.name):
            raise ConfigError(f"{option} {path}: is an output of a workflow run: choose another name")
    except OSError as error:
        raise ConfigError(f"{option} {path}: cannot be written: {reason(error)}") from None
    if problem := unwritable(path.parent):
        raise ConfigError(f"{option} {path}: cannot be written: {problem}")


def check_folder(option: str, folder: Path, names: Iterable[str], inputs: Sequence[Path]) -> None:
    """Check that files can be written to a folder, which need not exist, as :func:`check_output`."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise ConfigError(f"{option} {folder}: cannot be written: it is not a folder")
    for name in names:
        check_output(option, folder / name, inputs)


def existing(path: Path) -> Path:
    """Return the path if it exists, or else its nearest existing parent."""
    path = path.absolute()
    return next(place for place in (path, *path.parents) if os.path.exists(place))


def unwritable(folder: Path) -> str | None:
    """Return why a folder, or its nearest existing parent, is not writable; None if it is."""
    try:
        with tempfile.TemporaryFile(dir=existing(folder)):
            return None
    except OSError as error:
        return reason(error)


def write(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the files of a result to a folder, all of them or none.

    Args:
        folder: The folder, which is made if it does not exist.
        contents: Name of a file -> its content.

    Raises:
        TextgamutError: If one cannot be written; the message names it.
    """
    from textgamut.files import alone_in, write_together

    with writable(folder), alone_in(folder):
        write_together({folder / name: content for name, content in contents.items()})


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn the error of a file that cannot be written into one that names it.

    Args:
        path: What the error names if it has no path.
    """
    try:
        yield
    except OSError as error:
        raise TextgamutError(f"{error.filename or path}: cannot be written: {reason(error)}") from None


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command as plain data."""

    def plain(value: Any) -> Any:
        if isinstance(value, tuple):
            return [plain(element) for element in value]
        return str(value) if isinstance(value, Path) else value

    return {name: plain(value) for name, value in options.items()}


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as plain data, with None for NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def print_json(**content: Any) -> None:
    """Print the result of a command as JSON, with the version of textgamut."""
    # Escapes of JSON where the terminal cannot show a character; Python's own would not be JSON.
    ascii_only = sys.stdout is not None and codecs.lookup(sys.stdout.encoding).name != "utf-8"
    content = {"textgamut": __version__, **content}
    print(json.dumps(content, indent=2, ensure_ascii=ascii_only, allow_nan=False, default=asdict), flush=True)
