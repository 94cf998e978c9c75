"""Read and validate YAML files; error messages name the file, the key and the nearest valid choice."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from textgamut.errors import ConfigError, nearest


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that rejects duplicate keys, of which PyYAML silently keeps the last."""

    # Not in construct_mapping: there, a merge (`<<: *other`) has already added its keys.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = [(key.tag, str(key.value)) for key, _ in node.value]
        for tag, key in keys:
            if keys.count((tag, key)) > 1:
                line = node.start_mark.line + 1
                raise ConfigError(
                    f"{node.start_mark.name}: duplicate key {key!r} in the block at line {line}"
                )
        return node


def read_yaml(path: Path) -> Any:
    """Read one YAML file safely.

    Raises:
        TextgamutError: If the file is missing, is not valid YAML or has duplicate keys.
    """
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_UniqueKeyLoader)  # noqa: S506 (a subclass of SafeLoader)
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None


def validate(adapter: TypeAdapter[Any], content: Any, source: str) -> Any:
    """Validate the content of a file.

    Args:
        adapter: Validator of the content.
        content: Content as returned by ``read_yaml``.
        source: Name of the file for error messages.

    Raises:
        TextgamutError: If anything is invalid: one line per problem with file, key and nearest valid choice.
    """
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        lines = [f"{source}: {_describe(problem, adapter, content)}" for problem in error.errors()]
        raise ConfigError("\n".join(lines)) from None


def _describe(problem: Any, adapter: TypeAdapter[Any], content: Any) -> str:
    """Format a pydantic error as ``key: problem; nearest valid choice``."""
    location = _location(problem["loc"], content)
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    key = key or "(top level)"
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{key}: unknown key; {nearest(str(location[-1]), _sibling_keys(adapter, location))}"
    if kind == "missing":
        return f"{key}: this key is required"
    if kind == "union_tag_not_found":
        return f"{key}.{context['discriminator'].strip(chr(39))}: this key is required"
    if kind == "union_tag_invalid":
        key, tag = f"{key}.{context['discriminator'].strip(chr(39))}", context["tag"]
        valid = [choice.strip(" '") for choice in context["expected_tags"].split(",")]
        return f"{key}: {tag!r} is not one of the choices; {nearest(tag, valid)}"
    if kind == "literal_error":
        return f"{key}: {problem['input']!r} is not one of the choices: {context['expected']}"
    if kind == "value_error":
        return f"{key}: {problem['msg'].removeprefix('Value error, ')}"
    return f"{key}: {problem['msg']} (got {problem['input']!r})"


def _location(path: tuple[Any, ...], content: Any) -> list[Any]:
    """Remove the parts that pydantic adds to the path of a key: union tags and ``[key]``."""
    location: list[Any] = []
    node, tag_seen = content, False
    for part in path:
        tags = (
            [node.get(name) for name in ("kind", "format", "strategy")] if isinstance(node, Mapping) else []
        )
        if part == "[key]" or (part in tags and not tag_seen):
            tag_seen = True
            continue
        location.append(part)
        child = (isinstance(node, Mapping) and part in node) or (
            isinstance(node, list) and isinstance(part, int)
        )
        node, tag_seen = (node[part] if child else None), False
    return location


def _sibling_keys(adapter: TypeAdapter[Any], location: list[Any]) -> list[str]:
    """Return the valid keys at the location of an unknown key, found in the JSON schema."""
    schema = adapter.json_schema()
    nodes = [schema]
    for part in location[:-1]:
        nodes = [child for node in nodes for child in _schema_children(schema, node, part)]
    return sorted(
        {
            key
            for node in nodes
            for alternative in _alternatives(schema, node)
            for key in alternative.get("properties", {})
        }
    )


def _alternatives(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    options = node.get("oneOf") or node.get("anyOf")
    return [found for option in options for found in _alternatives(schema, option)] if options else [node]


def _schema_children(schema: dict[str, Any], node: dict[str, Any], part: Any) -> list[dict[str, Any]]:
    children = []
    for alternative in _alternatives(schema, node):
        if isinstance(part, int) and "items" in alternative:
            children.append(alternative["items"])
        elif part in alternative.get("properties", {}):
            children.append(alternative["properties"][part])
        else:
            children += [
                value
                for key in ("additionalProperties", "patternProperties")
                for value in [alternative.get(key)]
                if isinstance(value, dict)
                for value in (value.values() if key == "patternProperties" else [value])
            ]
    return children
