"""The creative prompts of PR Listing 1, as a dataset; a model's texts serve as references for another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from textgamut.prompts import CREATIVE

if TYPE_CHECKING:
    from textgamut.config.entries.datasets import CreativeDataset


def read(_source: None, _entry: CreativeDataset) -> pd.DataFrame:
    """Return the 50 prompts: columns ``id`` and ``text``."""
    return pd.DataFrame({"id": [f"prompt-{i:02}" for i in range(1, len(CREATIVE) + 1)], "text": CREATIVE})
