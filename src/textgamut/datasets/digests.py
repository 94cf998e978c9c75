"""Digests of datasets and of their texts."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def dataset_digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the lines ``<sha256 of the text>  <id>`` of a dataset, in their order."""
    lines = (f"{text_digest(text)}  {id_}\n" for id_, text in zip(frame["id"], frame["text"], strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text encoded as UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
