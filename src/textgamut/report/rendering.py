"""Jinja templates of this package, every value in them escaped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup


@functools.cache
def load_template(name: str, escape: Callable[[str], str]) -> Template:
    """Return a template that escapes every value in its own way.

    Args:
        name: File in ``report/templates``.
        escape: Text -> what the template writes for it, harmless in the template's format. Only what the
            template itself marks as safe is written as it is.
    """
    environment = Environment(
        loader=PackageLoader("textgamut.report"),
        autoescape=True,  # macros and blocks return Markup, which is not escaped twice
        # Jinja's own escaping knows HTML only, and neither Markdown nor control characters.
        finalize=lambda value: _escaped(value, escape),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _escaped(value: Any, escape: Callable[[str], str]) -> Markup:
    return value if isinstance(value, Markup) else Markup(escape(str(value)))  # noqa: S704
