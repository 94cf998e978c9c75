"""Render tables as self-contained HTML pages."""

from __future__ import annotations

import html
from typing import Any

import numpy as np
import pandas as pd

from textgamut.report.rendering import load_template

REVISION = 3
"""Increase when the same table produces a different page."""


def to_html(frame: pd.DataFrame, caption: str, note: str = "") -> str:
    """Render a table as an HTML page without scripts or external resources.

    Args:
        frame: Any table. A numeric column ``x`` is merged with the columns ``x_sd``, and ``x_low`` and
            ``x_high``, if there are any, into one column "mean ± sd [low, high]".
        caption: Title of the page and caption of the table, as plain text.
        note: A second line of the caption.

    Returns:
        The page, with all values escaped. Floats have 3 decimals, and missing values are shown as a dash.
    """
    columns, cells = merged_columns(frame)
    rows = [list(zip(row, columns, strict=True)) for row in cells]
    return load_template("table.html", html.escape).render(
        title=caption, note=note, columns=columns, rows=rows
    )


def merged_columns(frame: pd.DataFrame) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """Merge the columns ``x_sd``, ``x_low`` and ``x_high`` with a numeric column ``x``.

    Returns:
        Name of each column, and whether it is numeric; and the texts of each row.
    """
    names = [str(name) for name in frame.columns]
    series = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    merged = {f"{name}_{part}" for name in names for part in ("sd", "low", "high")} & set(names)
    columns, cells = [], []
    for name in names:
        if name in merged:
            continue
        columns.append((name, pd.api.types.is_numeric_dtype(series[name])))
        missing = [np.nan] * len(frame)
        deviations, lows, highs = (series.get(f"{name}_{part}", missing) for part in ("sd", "low", "high"))
        cells.append(
            [
                f"{value_text(value)} {spread_text(*spread)}".rstrip()
                for value, *spread in zip(series[name], deviations, lows, highs, strict=True)
            ]
        )
    return columns, [list(row) for row in zip(*cells, strict=True)]


def spread_text(deviation: Any = None, low: Any = None, high: Any = None, *, sign: str = "") -> str:
    """Return the spread of a value as text, "± 0.003 [0.801, 0.845]"; what is missing is left out."""
    parts = [] if pd.isna(deviation) else [f"± {value_text(deviation)}"]
    if not (pd.isna(low) or pd.isna(high)):
        parts.append(f"[{value_text(low, sign)}, {value_text(high, sign)}]")
    return " ".join(parts)


def value_text(value: Any, sign: str = "") -> str:
    """Return a value as it is shown: a float with 3 decimals (2 digits if tiny), nothing as a dash."""
    if pd.isna(value):
        return "—"
    if isinstance(value, float) and 0 < abs(value) < 0.0005:  # such as a squared MMD
        return f"{value:{sign}.1e}"
    return f"{value:{sign}.3f}" if isinstance(value, float) else str(value)
