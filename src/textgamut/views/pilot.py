"""Read the deviations of a pilot, from which a study is planned."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pandas as pd

from textgamut.errors import DataError
from textgamut.files import read_csv, reading
from textgamut.inference.sample_sizes import COLUMNS, Deviation, pilot_deviations
from textgamut.metrics.rows import ALL

SHIPPED = "human news (AG news, two sets of 1,000 texts against 1,000 others, MiniLM), not your texts"
"""What the deviations are of that textgamut has at hand."""


def read_pilot(folder: Path | None) -> tuple[str, list[Deviation]]:
    """Return what a pilot is, and its deviations.

    Args:
        folder: Folder of ``textgamut score --output``, or ``results/papers/NAME`` of an experiment. None for
            the deviations that textgamut has at hand.

    Raises:
        DataError: If the folder has no tables of deviations or differences, or one is damaged.
    """
    if folder is None:
        path = Path(str(files("textgamut.views") / "deviations.csv"))
        return SHIPPED, pilot_deviations(_read(path))
    own = [folder / name for name in ("deviations.csv", "differences.csv") if (folder / name).is_file()]
    found = own[:1] or sorted(folder.glob("*/differences.csv"))
    if not found:
        raise DataError(
            f"--from {folder}: there is no deviations.csv or differences.csv: it is not the folder of "
            "textgamut score --output, nor results/papers/NAME of an experiment that has compared methods"
        )
    tables = [_read(path) for path in found]
    return str(folder), pilot_deviations(pd.concat(tables, ignore_index=True))


def _read(path: Path) -> pd.DataFrame:
    frame = read_csv(path, dtype={"group": str, "metric": str, "model_1": str, "model_2": str})
    with reading(path):
        if "group" in frame:
            frame = frame[frame["group"] == ALL]
        return frame[COLUMNS].astype({"paired": bool, "n": int, "deviation": float})
