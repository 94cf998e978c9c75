"""The tables of the page of errata, from the results of benchmarks/errata.py."""

from __future__ import annotations

import pandas as pd
from markdown_text import escaped, table
from metrics_tables import REFERENCE


def tables() -> dict[str, str]:
    """Return each table by the name of its file."""
    return {
        path.stem: _table(pd.read_csv(path, dtype=str)) for path in sorted(REFERENCE.glob("errata-*.csv"))
    }


def _table(found: pd.DataFrame) -> str:
    return table(found.columns, found.fillna("").map(escaped).to_numpy().tolist()) + "\n"
