"""Render tables as self-contained HTML pages."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd

from textgamut.report.rendering import load_template

REVISION = 1
"""Increase when the same table produces a different page."""


def to_html(frame: pd.DataFrame, caption: str) -> str:
    """Render a table as an HTML page without scripts or external resources.

    Args:
        frame: Any table. A numeric column ``x`` and a column ``x_sd`` are merged into one column "mean ± sd".
        caption: Title of the page and caption of the table, as plain text.

    Returns:
        The page, with all values escaped. Floats have 3 decimals, and missing values are shown as a dash.
    """
    names = [str(name) for name in frame.columns]
    series = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    deviations = {f"{name}_sd" for name in names} & set(names)
    columns, cells = [], []
    for name in names:
        if name in deviations:
            continue
        columns.append((name, pd.api.types.is_numeric_dtype(series[name])))
        values = [_cell_text(value) for value in series[name]]
        if f"{name}_sd" in deviations:
            values = [
                value if pd.isna(deviation) else f"{value} ± {_cell_text(deviation)}"
                for value, deviation in zip(values, series[f"{name}_sd"], strict=True)
            ]
        cells.append(values)
    rows = [list(zip(row, columns, strict=True)) for row in zip(*cells, strict=True)]
    return load_template("table.html", html.escape).render(title=caption, columns=columns, rows=rows)


def _cell_text(value: Any) -> str:
    if pd.isna(value):
        return "—"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
