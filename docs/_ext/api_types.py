"""How autodoc shows types and descriptions of what is returned: as they are written in the code."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx

ALIASES = {"_Orders": "NDArray[np.bool_]"}
"""Private name of a type -> what it stands for."""

LONG = re.compile("ndarray|Annotated")
"""In a type whose alias is resolved, which makes it long."""


def written_types(
    app: Sphinx, kind: str, name: str, described: Any, _options: Any, arguments: str | None, _returns: str
) -> tuple[str, str] | None:
    """Show the types of a function as they are written: numpy's ``ArrayLike`` stands for a dozen of types.

    Classes are shown without a signature, since functions make the objects.
    """
    if inspect.isfunction(described):
        written = {key: str(hint) for key, hint in described.__annotations__.items()}
        app.env.current_document.autodoc_annotations[name] = {
            key: ALIASES.get(hint, hint) for key, hint in written.items()
        }
    return ("", "") if kind in ("class", "exception") and arguments is not None else None


def plain_colons(_app: Sphinx, kind: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Keep napoleon from reading words before a colon as the type of an attribute or of what is returned."""
    starts = [number + 1 for number, line in enumerate(lines[:-1]) if line.strip() == "Returns:"]
    for number in [0] if kind in ("attribute", "property") and lines else starts:
        described = lines[number].lstrip()
        lines[number] = lines[number].replace(described, f": {described}", 1)


def short_types(_app: Sphinx, _domain: str, kind: str, content: Element) -> None:
    """Show the type of an attribute as it is written where it would be long."""
    signature = content.parent[0]
    if kind in ("attribute", "property"):
        for hint in list(signature.findall(addnodes.desc_annotation)):
            if LONG.search(hint.astext()):
                hint.clear()
                hint += nodes.Text(f": {_written(signature['module'], signature['fullname'])}")


def _written(module: str, attribute: str) -> str:
    """Return the type of a field or of a property of a class as it is written."""
    name, _, field = attribute.rpartition(".")
    owner = getattr(importlib.import_module(module), name)
    found = inspect.getattr_static(owner, field, None)
    hint = (
        found.fget.__annotations__["return"] if isinstance(found, property) else owner.__annotations__[field]
    )
    written = str(getattr(hint, "__forward_arg__", hint))  # a named tuple has references
    return ALIASES.get(written, written)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all, the second before napoleon."""
    app.connect("autodoc-process-signature", written_types)
    app.connect("autodoc-process-docstring", plain_colons, priority=100)
    app.connect("object-description-transform", short_types)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
