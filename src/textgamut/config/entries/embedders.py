"""Embedders: an entry of ``embedders.yaml``."""

from __future__ import annotations

from typing import Any, Literal

from textgamut.config.entries.sources import Source
from textgamut.fields import Count, Strict, Text


class FeatureModel(Strict):
    """What decides the features of an embedder: a change of a field causes a rerun."""

    source: Source
    """The checkpoint's folder."""
    pooling: Literal["mean", "cls", "last-token", "sentence-transformers"]
    """How token states are combined. ``mean``: mean over the tokens. ``cls``: first token.
    ``last-token``: last token, for decoder-only models (PR: GPT-2). ``sentence-transformers``: what
    ``modules.json`` of the checkpoint states; it needs the package of that name if this is more than one of
    the other poolings and normalisation."""
    prompt: str = ""
    """Text in front of every text, for models that were trained with one: ``"query: "`` for E5."""
    max_tokens: Count
    """Longer texts are truncated to this many tokens, and their number is reported."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """``float32`` produces the same features on every machine, up to rounding; ``auto``: 16 bits on a GPU."""

    def science(self) -> dict[str, Any]:
        """Return the fields on which the features depend."""
        own = self.model_dump(mode="json", include=set(FeatureModel.model_fields))
        return {name: value for name, value in own.items() if value or name != "prompt"}


class Embedder(FeatureModel):
    """A checkpoint that maps a text to a feature vector.

    A change of ``label``, ``gated`` or ``batch_size`` causes no rerun.
    """

    label: Text
    """Name in tables and figures."""
    gated: Text | None = None
    """Licence that the hub asks to accept before it gives the weights out, for ``textgamut plan``."""
    batch_size: Count = 64
    """Maximum number of texts per batch; a batch on a CPU has at most 2,048 tokens."""
