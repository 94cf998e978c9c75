"""Taggers: an entry of ``taggers.yaml``."""

from __future__ import annotations

from textgamut.config.entries.sources import Source
from textgamut.fields import Strict, Text


class Tagger(Strict):
    """A spaCy pipeline that finds the named entities of a text."""

    label: Text
    """Name of the pipeline."""
    source: Source
    """The pipeline's folder, which contains its ``config.cfg``."""
