"""Reproduce a dataset from its card (see ``datasets.card``): fetch the same revisions by id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.datasets.digests import text_digest
from textgamut.errors import DataError
from textgamut.files import read_json
from textgamut.progress import Progress
from textgamut.sources.mediawiki import batches, content_of

if TYPE_CHECKING:
    from textgamut.sources.wiki import Wiki


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
    try:
        card = read_json(path)
        rows = card["rows"] if card["columns"] else []
        whole = all({"revision", "title", "text_sha256"} <= set(row) for row in rows)
    except (OSError, ValueError, KeyError, TypeError):
        rows, whole = [], False
    if not rows or not whole:
        raise DataError(f"{path}: not the card of a dataset with revisions")
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
            f"card was made by revision {card.get('revision')} of the extraction and this is revision "
            f"{extraction}, or the card belongs to another format or wiki"
        )
    columns = [name for name in card["columns"] if name in made[0]]
    frame = pd.DataFrame(made, columns=columns)
    frame.attrs["counts"] = {"revisions": len(rows)}
    return frame
