"""A dataset again, from its card: the same revisions by id, so the same texts (see ``textgamut.card``)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from textgamut.errors import TextgamutError
from textgamut.io import read_json
from textgamut.jobs import Progress
from textgamut.sources.mediawiki import batches

if TYPE_CHECKING:
    from textgamut.sources.wiki import Wiki


def read(
    wiki: Wiki, path: Path, split: Callable[[str, str], dict[str, Any]], parameters: dict[str, Any]
) -> pd.DataFrame:
    """Fetch the revisions that a card names, and make their texts anew.

    Args:
        wiki: The wiki.
        path: The card, ``card.json``.
        split: (title, wikitext) -> the columns that are made of them.
        parameters: Of the revisions (``rvprop``, ...).

    Returns:
        The rows of the card, in their order, with their texts.

    Raises:
        TextgamutError: The card names no revisions, or some cannot be had any more.
    """
    card = read_json(path)
    rows = card.get("rows") if isinstance(card, dict) else None
    if not rows or any("revision" not in row for row in rows):
        raise TextgamutError(f"{path}: not the card of a dataset with revisions")
    progress = Progress(len(rows), "revisions")
    found: dict[int, str] = {}
    for batch in batches([row["revision"] for row in rows]):
        for id_, revision in wiki.pages.revisions(batch, **parameters).items():
            content = revision["slots"]["main"].get("content")
            if content is not None:
                found[id_] = content
        progress.advance(len(batch))
    gone = [row for row in rows if row["revision"] not in found]
    if gone:
        raise TextgamutError(
            f"{path}: {len(gone)} of {len(rows)} revisions are not to be had, such as {gone[0]['revision']} "
            f"({gone[0]['title']}): their pages were deleted, or the card is of another wiki"
        )
    made = [row | split(row["title"], found[row["revision"]]) for row in rows]
    columns = [name for name in card["columns"] if name in made[0]]
    frame = pd.DataFrame(made, columns=columns)
    frame.attrs["counts"] = {"revisions": len(rows)}
    return frame
