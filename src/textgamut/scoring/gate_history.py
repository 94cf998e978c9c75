"""The history of a gate: earlier looks at the same baseline, over which alpha is spent."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut.errors import ConfigError, DataError
from textgamut.metrics.rows import ALL
from textgamut.report.gate import plain

if TYPE_CHECKING:
    from textgamut.scoring.gate_results import GateResult

Look = dict[str, Any]
"""``time``, ``outcome``, ``failures``, ``alpha``, ``looks`` and ``checks``: metric -> drop, most, margin and
outcome."""


def read_history(path: Path, alpha: float, looks: int) -> list[Look]:
    """Read the earlier looks, one per line of JSON; none if the file does not exist.

    Args:
        path: The file.
        alpha: Probability of a false alarm over all looks.
        looks: Number of looks.

    Raises:
        DataError: If a line is not one of a history.
        ConfigError: If the looks were planned with another alpha or number, or all are spent.
    """
    from textgamut.datasets.row_files import rows_of_jsonl
    from textgamut.user_files import check_file

    if not path.exists():
        return []
    check_file(path)
    found = []
    for number, row in rows_of_jsonl(path):
        if not {"time", "outcome", "failures", "alpha", "looks", "checks"} <= set(row):
            raise DataError(f"{path}: line {number} is not a look of a gate's history")
        if (row["alpha"], row["looks"]) != (alpha, looks):
            raise ConfigError(
                f"--history {path}: its looks were planned with --alpha {row['alpha']:g} --looks "
                f"{row['looks']}, not {alpha:g} and {looks}: the plan must not change on the way"
            )
        found.append(row)
    if len(found) >= looks:
        raise ConfigError(
            f"--history {path}: all {looks} looks are spent: begin another file, with a new baseline"
        )
    return found


def look_of(result: GateResult) -> Look:
    """Return what the history keeps of a gate."""
    settings = result.settings
    look: Look = plain(
        {
            "time": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "outcome": result.outcome,
            "failures": [of.name for of in result.failures if of.fails],
            "alpha": settings.alpha,
            "looks": settings.looks,
            "checks": {
                of.metric: {"drop": of.drop, "most": of.most, "margin": of.margin, "outcome": of.outcome}
                for of in result.checks
                if of.margin is not None and of.group == ALL
            },
        }
    )
    return look


def write_history(path: Path, looks: Sequence[Look]) -> None:
    """Write all looks.

    Raises:
        OSError: If the file cannot be written.
    """
    from textgamut.files import write_bytes

    write_bytes(path, "".join(f"{json.dumps(look)}\n" for look in looks).encode())
