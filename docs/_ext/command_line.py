"""The commands with all their options, from the command line's own help."""

from __future__ import annotations

import re

from cyclopts.docs.markdown import generate_markdown_docs
from markdown_text import escaped

from textgamut.cli.main import _app


def commands() -> str:
    """Return one section for each command."""
    text = generate_markdown_docs(_app(listed=False), heading_level=2, generate_toc=False, no_root_title=True)
    return re.sub(r"'(\S+\*\S*)'", r"`\1`", escaped(text))
