"""Embedders: an entry of ``embedders.yaml``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from textgamut.config.entries.base import Strict
from textgamut.config.entries.sources import Source


class Embedder(Strict):
    """A checkpoint that turns a text into a feature vector. ``batch_size`` is hardware: no rerun."""

    label: str
    source: Source
    pooling: Literal["mean", "cls", "last-token", "sentence-transformers"]
    """How token states become one vector. ``mean``: over the tokens. ``cls``: the first token.
    ``last-token``: the last one, for decoder-only models (PR: GPT-2). ``sentence-transformers``: by the
    checkpoint's own modules, for those that do more than the mean (needs the package of that name)."""
    max_tokens: Annotated[int, Field(ge=1)]
    """Longer texts are cut to this many tokens, and counted."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """``float32`` gives the same features on every machine, but for noise; ``auto``: 16 bits on a GPU."""
    batch_size: Annotated[int, Field(ge=1)] = 64
    """Texts at a time, at most; a CPU takes no more than 2,048 tokens at once."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the features depend."""
        return self.model_dump(mode="json", include={"source", "pooling", "max_tokens", "dtype"})
