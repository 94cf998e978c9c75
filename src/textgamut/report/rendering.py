"""Load the Jinja templates of this package, with all values escaped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup


@functools.cache
def load_template(name: str, escape: Callable[[str], str]) -> Template:
    """Return a template that escapes all values with the given function.

    Args:
        name: File name in ``report/templates``.
        escape: Function that escapes a text for the template's format. Only values that the template marks
            as safe are not escaped.
    """
    environment = Environment(
        loader=PackageLoader("textgamut.report"),
        autoescape=True,  # macros and blocks return Markup, which is not escaped twice
        # Jinja's own escaping handles HTML, but neither Markdown nor control characters.
        finalize=lambda value: _escaped(value, escape),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _escaped(value: Any, escape: Callable[[str], str]) -> Markup:
    return value if isinstance(value, Markup) else Markup(escape(str(value)))  # noqa: S704
