"""HTML pages that carry everything they need."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{caption}</title>
<style>
:root {{ color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #666; --rule: #ddd; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e6e6; --paper: #16181c; --soft: #a0a0a0; --rule: #3a3d42; }}
}}
body {{ margin: 1rem; overflow-x: auto; color: var(--ink); background: var(--paper);
  font: 14px/1.4 system-ui, sans-serif; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums;
  border-block: 2px solid var(--ink); }}
caption {{ text-align: left; padding-bottom: .6rem; font-weight: 600; }}
th, td {{ padding: .3rem .7rem; text-align: left; white-space: nowrap; }}
thead th {{ color: var(--soft); border-bottom: 1px solid var(--ink); }}
tbody tr + tr td {{ border-top: 1px solid var(--rule); }}
.number {{ text-align: right; }}
</style>
</head>
<body>
<table>
<caption>{caption}</caption>
<thead>
<tr>{head}</tr>
</thead>
<tbody>
{body}
</tbody>
</table>
</body>
</html>
"""


def to_html(frame: pd.DataFrame, caption: str) -> str:
    """Write a table as one HTML page without scripts or external resources.

    Args:
        frame: Any table. A numeric column ``x`` with a column ``x_sd`` becomes one column "mean ± sd".
        caption: The page's title and the table's caption, as plain text.

    Returns:
        UTF-8 text of the page. Everything is escaped; fractions have 3 decimals, counts none, and what is
        not there is a dash.
    """
    names = [str(name) for name in frame.columns]
    columns = {name: frame.iloc[:, place] for place, name in enumerate(names)}
    folded = {f"{name}_sd" for name in names} & set(names)
    head, cells = [], []
    for name in names:
        if name in folded:
            continue
        numeric = pd.api.types.is_numeric_dtype(columns[name])
        mark = ' class="number"' if numeric else ""
        head.append(f'<th scope="col"{mark}>{html.escape(name)}</th>')
        values = [_cell_text(value) for value in columns[name]]
        if f"{name}_sd" in folded:
            spreads = columns[f"{name}_sd"]
            values = [
                value if pd.isna(spread) else f"{value} ± {_cell_text(spread)}"
                for value, spread in zip(values, spreads, strict=True)
            ]
        cells.append([f"<td{mark}>{html.escape(value)}</td>" for value in values])
    body = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    return _PAGE.format(caption=html.escape(caption), head="".join(head), body=body)


def _cell_text(value: Any) -> str:
    if pd.isna(value):
        return "—"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
