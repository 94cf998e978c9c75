"""JSON output of the commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut import __version__

if TYPE_CHECKING:
    import pandas as pd


def settings_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command as plain data."""
    return {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table as plain data, with None for NaN."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=15))
    return rows


def print_json(**content: Any) -> None:
    """Print the result of a command as JSON, with the version of textgamut."""
    print(json.dumps({"textgamut": __version__, **content}, indent=2, ensure_ascii=False, allow_nan=False))
