"""The settings of the files that users write, from the pydantic models of ``textgamut.config``.

Every model to which an experiment or a registry leads is found, and described on the page of its module.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from textwrap import indent
from typing import Any

from markdown_text import first_sentence, from_docstring

from textgamut.config.entries.registries import REGISTRIES
from textgamut.config.schema import json_schema
from textgamut.fields import DATE_PATTERN, LARGEST_INTEGER, SLUG_PATTERN, Strict

Schema = Mapping[str, Any]

PATTERNS = {
    rf"^{SLUG_PATTERN}$": "slug",
    rf"^{SLUG_PATTERN}(/{SLUG_PATTERN})?$": "slug or slug/slug",
    DATE_PATTERN: "date (and time)",
    r"^[0-9a-f]{64}$": "64 hexadecimal digits",
    r"^[0-9a-f]{40}$": "40 hexadecimal digits",
    r"^(table|figure)_[a-z0-9]+$": "name such as `table_1a`",
    r"^[a-z_][a-z0-9_]*$": "name",
}
"""Pattern of a text -> what it is called. URLs are recognised by the beginning of theirs."""

WORDS = {"HfSource": "model on the hub", "HfDatasetSource": "dataset on the hub"}
"""Models of the same key -> what tells them apart, where that is not the name of the class."""


@functools.cache
def schemas() -> dict[str, Any]:
    """Return the JSON schemas of all models, by the names of their classes, and of the kinds of file."""
    found: dict[str, Any] = json_schema()["$defs"]
    return found


@functools.cache
def classes() -> dict[str, type[Strict]]:
    """Return the classes of all models."""
    found, left = {}, [Strict]
    while left:
        model = left.pop()
        found[model.__name__] = model
        left += model.__subclasses__()
    return found


@functools.cache
def reached() -> list[str]:
    """Return the models to which an experiment or a registry leads, breadth first."""
    names: dict[str, None] = {}
    level = [name for root in ("experiment", *REGISTRIES) for name in _references(schemas()[root])]
    while level:
        names |= dict.fromkeys(level)
        level = [name for found in level for name in _references(schemas()[found]) if name not in names]
    return list(names)


def _references(schema: Any) -> Iterator[str]:
    """Yield the models that a schema refers to."""
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)
    elif isinstance(schema, Mapping):
        if "$ref" in schema:
            yield _name(schema)
        for part in schema.values():
            yield from _references(part)


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _page(module: str) -> str:
    """Return the page of the models of a module; families of metrics are on that of the metrics."""
    return "metrics" if module.startswith("textgamut.catalogue.") else module.rpartition(".")[2]


def pages() -> dict[str, str]:
    """Return the sections of each module of models: its name, such as ``sources`` -> Markdown."""
    modules: dict[str, list[str]] = {}
    for name in reached():
        modules.setdefault(_page(classes()[name].__module__), []).append(name)
    return {module: "\n\n".join(_sections(names)) + "\n" for module, names in modules.items()}


def _sections(names: list[str]) -> Iterator[str]:
    """Yield the sections of the models of a module; what all kinds of something share comes before them."""
    titles = {name: _title(name) for name in names}
    repeated = {title for title, count in Counter(titles.values()).items() if count > 1}
    begun: set[str] = set()
    for name, title in titles.items():
        shared = next((base for base in reversed(classes()[name].__mro__) if _shared(base.__name__)), None)
        common = _shared(shared.__name__) if shared else {}
        doc = from_docstring(inspect.getdoc(classes()[name]) or "")
        own = {key: field for key, field in _fields(name).items() if field != common.get(key)}
        if shared:
            heading = _heading(shared)
            if shared.__name__ not in begun:
                begun.add(shared.__name__)
                yield _section(shared.__name__, heading, "", common)
            others = f"[{heading[0].lower()}{heading[1:]}](#{anchor(shared.__name__)})"
            doc += f"\n\nIn addition to the {others}:" if own else f"\n\nIt has only the {others}."
        elif not own:
            doc += "\n\nIt has no settings."
        yield _section(name, title + (f", {_words(name)}" if title in repeated else ""), doc, own)


def _heading(model: type) -> str:
    return first_sentence(inspect.getdoc(model) or "")


def _section(name: str, title: str, doc: str, fields: Mapping[str, Schema]) -> str:
    parts = [
        f"({anchor(name)})=\n\n### {title}",
        doc,
        *(_field(key, field) for key, field in fields.items()),
    ]
    return "\n\n".join(filter(None, parts))


def anchor(name: str) -> str:
    """Return the target of links to the section of a model."""
    return f"configuration-{name.strip('_').lower()}"


def _title(name: str) -> str:
    """Return the key of a model: that which tells its kind, or that of the one field that refers to it."""
    for key, field in schemas()[name]["properties"].items():
        if _tells_kind(field):
            return f"`{key}: {field['const']}`"
    keys = {
        key
        for other in reached()
        for key, field in schemas()[other]["properties"].items()
        if name in _references(field)
    }
    return f"`{keys.pop()}`" if len(keys) == 1 else _words(name).capitalize()


def _words(name: str) -> str:
    return WORDS.get(name) or re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def _fields(name: str) -> dict[str, Schema]:
    """Return the fields of a model, without the one that tells its kind."""
    return {key: field for key, field in schemas()[name]["properties"].items() if not _tells_kind(field)}


def _tells_kind(field: Schema) -> bool:
    return "const" in field and "default" not in field


@functools.cache
def _shared(base: str) -> dict[str, Schema]:
    """Return the fields of a base class that all models of a union have, most of them unchanged."""
    members = [
        name for name in reached() if base in (found.__name__ for found in classes()[name].__mro__[1:])
    ]
    of_union = all(any(map(_tells_kind, schemas()[name]["properties"].values())) for name in members)
    if base not in classes() or base == Strict.__name__ or len(members) < 2 or not of_union:
        return {}
    shared = {}
    for key in _fields(members[0]):
        versions = [_fields(name).get(key) for name in members]
        usual = max(versions, key=versions.count)
        if usual and all(versions) and versions.count(usual) > len(members) / 2:
            shared[key] = usual
    return shared


def _field(key: str, field: Schema) -> str:
    """Return a field as an entry of a list of definitions."""
    default = "required" if "default" not in field else _default(field["default"])
    doc = field.get("description") or first_sentence(_described(field)) + "."
    return f"`{key}`\n: *{type_of(field)}, {default}.* {indent(from_docstring(doc), '  ').lstrip()}"


def _described(field: Schema) -> str:
    """Return the docstring of the model that a field without a description refers to."""
    return inspect.getdoc(classes()[next(_references(field))]) or ""


def _default(value: Any) -> str:
    if value is None:
        return "optional"
    return f"default {_code(_without_null(value))}"


def _code(value: Any) -> str:
    return f"`{value if value and isinstance(value, str) else json.dumps(value)}`"


def _without_null(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_null(part) for key, part in value.items() if part is not None}
    return value


def type_of(schema: Schema) -> str:
    """Return the type of a field in plain words."""
    names = list(_alternatives(schema))
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def _alternatives(schema: Schema) -> Iterator[str]:
    for part in schema.get("oneOf") or schema.get("anyOf") or []:
        yield from _alternatives(part)
    if "$ref" in schema:
        yield _link(_name(schema))
    elif "const" in schema or "enum" in schema:
        yield from map(_code, schema.get("enum", [schema.get("const")]))
    elif "type" in schema:
        yield from {"boolean": ("`true`", "`false`")}.get(schema["type"], (_plain(schema),))


def _plain(schema: Schema) -> str:
    kind = schema["type"]
    if kind == "array" and schema.get("maxItems") == 0:
        return "empty list"
    if kind == "array":
        elements = re.sub("^(integer|number|text)", r"\1s", type_of(schema["items"]))
        return f"list of {elements}" + (", not empty" if schema.get("minItems") else "")
    if kind == "object":
        return _mapping(schema)
    if kind == "string":
        pattern = schema.get("pattern", "")
        return "URL" if "https://[" in pattern else PATTERNS.get(pattern, "text")
    return f"{kind}{_bounds(schema)}"


def _mapping(schema: Schema) -> str:
    [(pattern, value)] = schema.get("patternProperties", {"": schema.get("additionalProperties")}).items()
    names = schema.get("propertyNames", {})
    key = PATTERNS.get(pattern) or type_of({"type": "string", **names})
    return f"mapping of {key} to {type_of(value)}"


def _bounds(schema: Schema) -> str:
    """Return the bounds of a number; those that only keep it finite are left out."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    high = None if high in (LARGEST_INTEGER, 1e9) else high
    if low == 1e-6:
        low, above = None, 0
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}" if schema["type"] == "number" else f" from {low:,} to {high:,}"
    bounds = [
        *([f"of at least {low:g}"] if low is not None else []),
        *([f"above {above:g}"] if above is not None else []),
        *([f"of at most {high:g}"] if high is not None else []),
        *([f"below {below:g}"] if below is not None else []),
    ]
    return f" {' and '.join(bounds)}" if bounds else ""


def _link(name: str) -> str:
    title = _title(name)
    text = title.partition(": ")[2].strip("`") if ": " in title else _words(name)
    return f"[{text}](#{anchor(name)})"
