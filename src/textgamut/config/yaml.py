"""Read and validate YAML files; error messages name the file, the key and the nearest valid choice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import yaml
from pydantic import TypeAdapter, ValidationError

from textgamut.errors import ConfigError, nearest, printable, reason
from textgamut.user_files import guess, unreadable

BOOLEAN, INTEGER, FLOAT, TIMESTAMP = (
    f"tag:yaml.org,2002:{name}" for name in ("bool", "int", "float", "timestamp")
)

MERGE = "tag:yaml.org,2002:merge"

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""Characters that are refused in any text."""

WITH_BOOLEANS = ("batch_invariant", "chat_arguments")
"""Keys whose values can be true or false."""

MOST_VALUES = 100_000
"""Maximum number of values in a file, aliases resolved: nested aliases can stand for billions."""

MOST_PROBLEMS = 10
"""Maximum number of problems that one message lists."""


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses what can be misunderstood.

    It refuses duplicate keys, where PyYAML keeps the last; tags; and plain values that YAML 1.1 reads
    differently from how they look, such as ``on`` (true) or ``0100`` (64). Only ``batch_invariant``
    and ``chat_arguments`` can be ``true`` or ``false``. Dates stay text, and ``1e-3`` is a number as in YAML
    1.2.
    """

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in resolvers if tag != TIMESTAMP]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._sizes: dict[yaml.Node, int] = {}
        self._booleans = False

    def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "tag", None):
            _refuse(event.start_mark, f"tags such as {event.tag} are not supported")
        outside = self._booleans
        self._booleans |= isinstance(index, yaml.ScalarNode) and index.value in WITH_BOOLEANS
        node = super().compose_node(parent, index)
        if isinstance(event, yaml.AliasEvent):
            if node not in self._sizes:
                _refuse(event.start_mark, f"*{event.anchor} contains itself")
        elif isinstance(node, yaml.ScalarNode):
            if CONTROLS.search(node.value):  # from an escape in quotes
                _refuse(event.start_mark, "a text with a control character")
            self._refuse_misread(node)
            self._sizes[node] = 1
        elif node:
            self._sizes[node] = 1 + sum(self._sizes[child] for child in _children(node))
            if self._sizes[node] > MOST_VALUES:
                _refuse(event.start_mark, f"more than {MOST_VALUES:,} values")
            if isinstance(node, yaml.MappingNode):
                _merge(node)
        self._booleans = outside
        return node

    # Not in construct_mapping: there, a merge (`<<: *other`) has already added its keys.
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in seen:
                    line = node.start_mark.line + 1
                    raise ConfigError(
                        f"{node.start_mark.name}: duplicate key {key.value!r} in the block at line {line}"
                    )
                seen.add((key.tag, key.value))
        return node

    def _refuse_misread(self, node: yaml.ScalarNode) -> None:
        if node.style is not None:  # in quotes, or a block
            return
        text, advice = node.value, ""
        if node.tag == BOOLEAN and not (self._booleans and text in ("true", "false")):
            made = str(self.construct_yaml_bool(node)).lower()
            advice = f"{text} as {made}, but only {' and '.join(WITH_BOOLEANS)} can be true or false"
        elif node.tag == INTEGER and not re.fullmatch(r"[-+]?(0|[1-9][0-9_]*)", text):
            made = str(self.construct_yaml_int(node))
            advice = f"{text} as the number {made}: write {made}"
        elif node.tag == FLOAT and ":" in text:
            made = str(self.construct_yaml_float(node))
            advice = f"{text} as the number {made}: write {made}"
        if advice:
            _refuse(node.start_mark, f"YAML reads {advice}, or '{text}' in quotes if it is a name")


_Loader.add_implicit_resolver(
    FLOAT, re.compile(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+$"), list("-+0123456789")
)


def _merge(node: yaml.MappingNode) -> None:
    """Add what a block merges (``<<: *other``). Its own keys win, then the blocks in their order.

    PyYAML does this later, but 6.0.4 lets the last of several blocks win, and in a merge of a merge sometimes
    the merged value. What cannot be merged is left to PyYAML, which refuses it.
    """
    pairs: dict[Any, tuple[yaml.Node, yaml.Node]] = {}
    for key, value in node.value:
        if key.tag == MERGE:
            blocks = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(block, yaml.MappingNode) for block in blocks):
                return
            for block in blocks:
                pairs = pairs | {
                    name: pair for name, pair in _named(block.value).items() if name not in pairs
                }
    node.value = list((pairs | _named(pair for pair in node.value if pair[0].tag != MERGE)).values())


def _named(pairs: Iterable[tuple[yaml.Node, yaml.Node]]) -> dict[Any, tuple[yaml.Node, yaml.Node]]:
    """Return pairs of a block by what their keys say."""
    return {
        (key.tag, key.value) if isinstance(key, yaml.ScalarNode) else id(key): (key, value)
        for key, value in pairs
    }


def _refuse(mark: Any, problem: str) -> NoReturn:
    raise ConfigError(f"{mark.name}: line {mark.line + 1}: {problem}")


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    for child in node.value:
        yield from child if isinstance(child, tuple) else (child,)


def read_yaml(path: Path) -> Any:
    """Read one YAML file safely.

    Raises:
        TextgamutError: If the file cannot be read, is not valid YAML, or has duplicate keys, tags or values
            that YAML takes for something else than they look like.
    """
    if problem := unreadable(path):
        if str(path) == "-":
            problem = "standard input is not supported: give a file"
        raise ConfigError(f"{path}: {problem.removeprefix('is ')}")
    try:
        with path.open(encoding="utf-8") as stream:
            return yaml.load(stream, Loader=_Loader)  # noqa: S506 (a subclass of SafeLoader)
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {reason(error)}") from None
    except UnicodeDecodeError as error:
        what = guess(path) or ": save it as UTF-8"
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason}){what}") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid YAML: nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a number of more than 4,300 digits
        raise ConfigError(f"{path}: not valid YAML: {' '.join(str(error).split())}{guess(path)}") from None


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
        found = (f"{source}: {_describe(problem, adapter, content)}" for problem in error.errors())
        raise ConfigError(listed(found)) from None


def listed(problems: Iterable[str]) -> str:
    """Return the first problems, one per line: a file that is something else can have thousands."""
    lines = list(islice(problems, MOST_PROBLEMS + 1))
    if len(lines) > MOST_PROBLEMS:
        lines[-1] = "and more problems"
    return "\n".join(lines)


def _describe(problem: Any, adapter: TypeAdapter[Any], content: Any) -> str:
    """Format a pydantic error as ``key: problem; nearest valid choice``."""
    location = _location(problem["loc"], content)
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{_shown(part)}" for part in location)
    key = key.removeprefix(".") or "(top level)"
    kind, context, found = problem["type"], problem.get("ctx", {}), problem["input"]
    if kind == "extra_forbidden":
        return f"{key}: {_unknown_key(adapter, location, content)}"
    if kind == "missing":
        return f"{key}: this key is required"
    if kind == "union_tag_not_found":
        return f"{key}.{context['discriminator'].strip(chr(39))}: this key is required"
    if kind == "union_tag_invalid":
        key, tag = f"{key}.{context['discriminator'].strip(chr(39))}", context["tag"]
        valid = [choice.strip(" '") for choice in context["expected_tags"].split(",")]
        return f"{key}: {_shown(repr(tag))} is not one of the choices; {nearest(tag, valid)}"
    if kind == "literal_error":
        return f"{key}: {_shown(repr(found))} is not one of the choices: {context['expected']}"
    if kind == "value_error":
        return f"{key}: {problem['msg'].removeprefix('Value error, ')}"
    if kind in ("string_type", "invalid_key") and isinstance(found, int | float):
        return f"{key}: must be text, but YAML reads {found} as a number: write it in quotes"
    if kind in ("model_type", "model_attributes_type", "dict_type"):
        what = "it is empty" if found is None else f"got {_shown(repr(found))}"
        return f"{key}: must be lines of the form `key: value`; {what}"
    # A key in the place of its variable, or a password in a URL, must not appear in a log.
    secret = location[-1:] == ["key_variable"] or (isinstance(found, str) and re.search("://.*@", found))
    return f"{key}: {problem['msg']}" + ("" if secret else f" (got {_shown(repr(found))})")


def _shown(text: object, most: int = 80) -> str:
    """Return a printable text, shortened."""
    line = printable(str(text))
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _location(path: tuple[Any, ...], content: Any) -> list[Any]:
    """Remove the parts that pydantic adds to the path of a key: union tags and ``[key]``."""
    location: list[Any] = []
    node, tag_seen = content, False
    for part in path:
        kinds = ("kind", "format", "strategy", "shape")
        tags = [node.get(name) for name in kinds] if isinstance(node, Mapping) else []
        if part == "[key]" or (part in tags and not tag_seen):
            tag_seen = True
            continue
        location.append(part)
        node, tag_seen = _child(node, part), False
    return location


def _child(node: Any, part: Any) -> Any:
    """Return an entry of a mapping or a list; None if there is none."""
    if isinstance(node, Mapping):
        return node.get(part)
    return node[part] if isinstance(node, list) and isinstance(part, int) else None


def _unknown_key(adapter: TypeAdapter[Any], location: list[Any], content: Any) -> str:
    """Describe an unknown key by the valid ones at its location, which are found in the JSON schema."""
    schema = adapter.json_schema()
    nodes, node = _alternatives(schema, schema), content
    for part in location[:-1]:
        nodes = [
            found
            for each in _fitting(nodes, node)
            for child in _schema_children(each, part)
            for found in _alternatives(schema, child)
        ]
        node = _child(node, part)
    name = str(location[-1])
    valid = {key for each in _fitting(nodes, node) for key in each.get("properties", {})}
    elsewhere = [_tag(each) for each in nodes if name in each.get("properties", {})]
    if elsewhere:
        own, *_ = (_tag(each) for each in _fitting(nodes, node))
        return (
            f"{own} has no {name}, only {', '.join(elsewhere)} has it; its keys: {', '.join(sorted(valid))}"
        )
    return f"unknown key; {nearest(name, valid)}"


def _fitting(nodes: list[dict[str, Any]], content: Any) -> list[dict[str, Any]]:
    """Return the alternatives of a union that match the tag of the content, such as ``kind``."""
    return [
        node
        for node in nodes
        if all(
            _child(content, key) == value["const"]
            for key, value in node.get("properties", {}).items()
            if "const" in value
        )
    ]


def _tag(node: dict[str, Any]) -> str:
    """Return the tag of an alternative, such as ``kind: subsets``."""
    tags = (f"{key}: {value['const']}" for key, value in node["properties"].items() if "const" in value)
    return next(tags, node.get("title", ""))


def _alternatives(schema: dict[str, Any], node: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    options = node.get("oneOf") or node.get("anyOf")
    return [found for option in options for found in _alternatives(schema, option)] if options else [node]


def _schema_children(node: dict[str, Any], part: Any) -> list[dict[str, Any]]:
    if isinstance(part, int) and "items" in node:
        return [node["items"]]
    if part in node.get("properties", {}):
        return [node["properties"][part]]
    additional = node.get("additionalProperties")
    return [
        *node.get("patternProperties", {}).values(),
        *([additional] if isinstance(additional, dict) else []),
    ]
