"""Texts that were generated elsewhere, in the formats of other programs.

Each format has a module with the function ``read(path, source)``, which yields what the file says about each
text. :mod:`textgamut.generation.given.matching` finds the prompt of each text.
"""

from __future__ import annotations

REVISION = 1
"""Increase when the same file produces other samples."""
