"""Reproduce a dataset from its card (see ``datasets.card``): fetch the same revisions by id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from textgamut.datasets.digests import text_digest
from textgamut.errors import DataError
from textgamut.progress import Progress
from textgamut.sources.mediawiki import batches, content_of
from textgamut.user_files import guarded, parse_json

if TYPE_CHECKING:
    from textgamut.sources.wiki import Wiki


class _Row(BaseModel):
    """A row of a card; its other columns are kept as they are."""

    model_config = ConfigDict(strict=True, extra="allow")

    revision: Annotated[int, Field(ge=0, lt=2**63)]
    title: str
    text_sha256: str


class _Card(BaseModel):
    """What is read of a card."""

    model_config = ConfigDict(strict=True)

    columns: Annotated[list[str], Field(min_length=1)]
    rows: Annotated[list[_Row], Field(min_length=1)]
    revision: Any = None


def _read_card(path: Path) -> _Card:
    with guarded(path):
        content = path.read_bytes()
    try:
        return _Card.model_validate(parse_json(content, path))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = ".".join(map(str, first["loc"]))
        what = f"{place}{': ' * bool(place)}{first['msg']}"
        raise DataError(f"{path}: not the card of a dataset with revisions: {what}") from None


def read(
    wiki: Wiki,
    path: Path,
    split: Callable[[str, str], dict[str, Any]],
    parameters: dict[str, Any],
    extraction: int,
) -> pd.DataFrame:
    """Fetch the revisions listed in a card and extract their texts again.

    Args:
        wiki: The wiki.
        path: The card, ``card.json``.
        split: (title, wikitext) -> columns derived from them.
        parameters: Parameters of ``prop=revisions`` (``rvprop``, ...).
        extraction: Revision of the extraction, for the error message if texts differ.

    Returns:
        The rows of the card, in their order, with their texts.

    Raises:
        TextgamutError: If the card lists no revisions, a revision is no longer available, or the SHA-256 of a
            text differs from the card.
    """
    card = _read_card(path)
    rows = [row.model_dump() for row in card.rows]
    progress = Progress(len(rows), "revisions")
    found: dict[int, str] = {}
    for batch in batches([row["revision"] for row in rows]):
        for id_, revision in wiki.pages.revisions(batch, **parameters).items():
            content = content_of(revision)
            if content is not None:
                found[id_] = content
        progress.advance(len(batch))
    gone = [row for row in rows if row["revision"] not in found]
    if gone:
        raise DataError(
            f"{path}: {len(gone)} of {len(rows)} revisions are not available: their pages were deleted, or "
            "the card belongs to another wiki. To continue without them, remove their rows from the card: "
            + ", ".join(f"{row['revision']} ({row['title']})" for row in gone[:20])
            + (", ..." if len(gone) > 20 else "")
        )
    made = [row | split(row["title"], found[row["revision"]]) for row in rows]
    other = [row["title"] for row in made if text_digest(row["text"]) != row["text_sha256"]]
    if other:
        raise DataError(
            f"{path}: {len(other)} of {len(rows)} texts differ from the card, such as {other[0]!r}: the "
            f"card was made by revision {card.revision} of the extraction and this is revision "
            f"{extraction}, or the card belongs to another format or wiki"
        )
    columns = [name for name in card.columns if name in made[0]]
    frame = pd.DataFrame(made, columns=columns)
    frame.attrs["counts"] = {"revisions": len(rows)}
    return frame
