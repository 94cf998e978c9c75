"""What the commands of the command line do, and what they share."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from textgamut import __version__
from textgamut.errors import TextgamutError


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a command as plain data."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}


def print_json(**content: Any) -> None:
    """Print what a command found as JSON, with the version of textgamut."""
    print(json.dumps({"textgamut": __version__, **content}, indent=2, ensure_ascii=False, allow_nan=False))


def registry(folder: Path | None, name: str) -> tuple[Path, dict[str, Any]]:
    """Return the path and the entries of a registry: of a folder, else of ./config, else textgamut's own.

    Raises:
        TextgamutError: There is none, or it is not valid.
    """
    from textgamut.config.loading import load_registry

    own = Path(__file__).parents[3] / "config"
    folders = [folder] if folder else [Path("config"), own]
    for candidate in folders:
        path = candidate / f"{name}.yaml"
        if path.is_file():
            return path, load_registry(path)
    raise TextgamutError(
        f"there is no {name}.yaml in {' or '.join(map(str, folders))}: give --config a folder"
    )
