"""The commands with all their options, from the command line's own help."""

from __future__ import annotations

import re

from cyclopts.docs.markdown import generate_markdown_docs
from markdown_text import escaped

from textgamut.cli.examples import EXAMPLES
from textgamut.cli.main import _app


def commands() -> str:
    """Return one section for each command."""
    text = generate_markdown_docs(_app(listed=False), heading_level=2, generate_toc=False, no_root_title=True)
    text = re.sub(r"'(\S+\*\S*)'", r"`\1`", escaped(text))
    for command, examples in EXAMPLES.items():
        shown = "".join(f"{example}\n" for example in examples)
        text = re.sub(rf"(#+ textgamut {command}\n\n```console\n.*\n)", rf"\g<1>\n# Examples\n{shown}", text)
    return text
