"""Field types of what users write, and the base of all its models."""

from __future__ import annotations

import glob
import itertools
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from textgamut.errors import ConfigError

SLUG_PATTERN = r"[a-z0-9][a-z0-9.-]*"
FILE_SUFFIXES = (".json", ".parquet", ".csv", ".html", ".meta")


def _no_file_name(slug: str) -> str:
    if slug.endswith(FILE_SUFFIXES):
        raise ValueError(
            f"a name must not end in {PurePath(slug).suffix}, since it could be that of a file of the results"
        )
    if re.search(r"(.+)\1{19}$", slug):
        raise ValueError(
            "a name must not end in 20 times the same, which Snakemake takes for an endless recursion"
        )
    return slug


SLUG_LENGTH = 100
"""Maximum number of characters of a slug."""
Slug = Annotated[
    str, Field(pattern=rf"^{SLUG_PATTERN}$", max_length=SLUG_LENGTH), AfterValidator(_no_file_name)
]
"""The name of an entry, used as the name of a folder or, with a suffix, of a file."""
LARGEST_INTEGER = 2**63 - 1  # in a column of a table
Natural = Annotated[int, Field(ge=0, le=LARGEST_INTEGER)]
Count = Annotated[int, Field(ge=1, le=LARGEST_INTEGER)]
TwoOrMore = Annotated[int, Field(ge=2, le=LARGEST_INTEGER)]
Text = Annotated[str, Field(min_length=1)]
Quantity = Annotated[float, Field(ge=1e-6, le=1e9)]
"""A positive number; the bounds keep what is computed from it finite, and a wait for it possible."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def expanded(path: str) -> Path:
    """Return a path with ``~`` expanded; a file that exists may begin with ``~``, such as ``~old.jsonl``.

    ``./~/x`` is in a folder that is really named ``~``; it becomes absolute, so that it stays there.

    Raises:
        ConfigError: If there is no such user, or the user has no home folder.
    """
    if not path.startswith("~") and str(Path(path)).startswith("~"):
        return Path(os.path.abspath(path))
    try:
        return Path(path).expanduser()
    except RuntimeError:
        if os.path.lexists(path):
            return Path(path)
        raise ConfigError(f"{path}: there is no such user, or the user has no home folder") from None


def matching_files(path: str) -> list[str]:
    """Return the files that match a pattern, sorted; a path that exists is not a pattern."""
    return [path] if os.path.lexists(path) else sorted(glob.glob(path, recursive=True))


def _expandable(path: str) -> str:
    expanded(path)
    return path


_OWN = AfterValidator(_expandable)
OwnPath = Annotated[Text, _OWN]
"""Path of the user's own file or folder; ``~`` is expanded."""


def own_paths(entry: BaseModel) -> Iterator[Path]:
    """Yield the user's own files and folders that an entry names."""
    for name, field in type(entry).model_fields.items():
        value = getattr(entry, name)
        if isinstance(value, BaseModel):
            yield from own_paths(value)
        elif value is not None:
            marks = [getattr(form, "__metadata__", ()) for form in get_args(field.annotation)]
            if _OWN in itertools.chain(field.metadata, *marks):
                yield expanded(value)


def _complete(url: str) -> str:
    try:
        parts = urlsplit(url)
        right = parts.hostname and (parts.port is None or parts.port > 0)  # reading the port checks it
    except ValueError:
        right = False
    if not right:
        raise ValueError("not a complete URL")
    return url


_SAFE = r"^(https://[^\s/]|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?(/|$))"
SafeUrl = Annotated[str, Field(pattern=_SAFE), AfterValidator(_complete)]
ServiceUrl = Annotated[str, Field(pattern=rf"{_SAFE}[^@\s?#]*$"), AfterValidator(_complete)]
"""URL of a service, without user, password and query."""


DATE_PATTERN = r"^\d{4}-\d\d-\d\d"


def _date(value: Any) -> Any:
    # pydantic takes a number, also as text, for seconds since 1970.
    if isinstance(value, datetime) or (isinstance(value, str) and re.match(DATE_PATTERN, value)):
        return value
    raise ValueError(f"must be a date such as 2021-06-01, or a date and time (got {value!r})")


def _utc(moment: datetime) -> datetime:
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{moment} is not between the years 1 and 9999 in UTC") from None


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"duplicate values in {values}")
    return values


Distinct = AfterValidator(_distinct)
Seeds = Annotated[list[Natural], Field(min_length=1), Distinct]

Moment = Annotated[
    datetime,
    Field(strict=False),
    BeforeValidator(_date),
    AfterValidator(_utc),
    WithJsonSchema({"type": "string", "pattern": DATE_PATTERN}),
]
"""A date, or a date and time; UTC if no time zone is given."""


class Strict(BaseModel):
    """A frozen model that rejects unknown keys and converts no value, such as true to 1."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )
