"""The registries and the types of their entries."""

from __future__ import annotations

from typing import Any

from textgamut.config.entries.datasets import Dataset
from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.embedders import Embedder
from textgamut.config.entries.models import Model
from textgamut.config.entries.taggers import Tagger

REGISTRIES: dict[str, Any] = {
    "models": Model,
    "datasets": Dataset,
    "decoding": Decoding,
    "embedders": Embedder,
    "taggers": Tagger,
}
"""Registry file (without .yaml) -> type of its entries."""
