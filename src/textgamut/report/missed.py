"""Texts that precision and recall missed, those outside the other side's support, as one HTML page."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError
from textgamut.report.rendering import load_template

if TYPE_CHECKING:
    from textgamut.metrics.scores.support import SupportScores

REVISION = 1
"""Raised when the same texts and features give another page."""

BLOCK_BYTES = 32 * 2**20
"""Upper bound of a block of distances."""

TEXT_LIMIT = 5000
"""Longer texts are cut to this many characters on the page, which says so."""


@dataclass(frozen=True)
class EmbeddedTexts:
    """Texts of one side, generated or human, and their features."""

    features: ArrayLike
    """(N, c) as ``support_metrics`` took them: reduced, and no rows but those that it kept."""
    ids: Sequence[str]
    """(N,)"""
    texts: Sequence[str]
    """(N,)"""
    groups: Sequence[str | None] | None = None
    """(N,): topic, model or the like; None, or pandas' NaN, for a text without one."""


@dataclass(frozen=True)
class MissedText:
    """A text outside the other side's support, and the nearest text of the other side."""

    id: str
    text: str
    group: str | None
    distance: float
    """Euclidean distance to the neighbour in the reduced feature space, 0 or more."""
    neighbour_id: str
    neighbour_text: str


def missed_texts(side: EmbeddedTexts, other: EmbeddedTexts, inside: ArrayLike) -> list[MissedText]:
    """List the texts of a side that lie outside the other side's support, the farthest first.

    What precision missed is ``missed_texts(generated, reference, metrics.in_reference)``; what recall missed
    is ``missed_texts(reference, generated, metrics.in_generated)``. Distances are in float64, in blocks:
    memory grows with N, never with N x M.

    Args:
        side: M texts.
        other: N texts of the other side.
        inside: (M,) bool: which texts of ``side`` lie inside the support of ``other``.

    Returns:
        One entry for each text that is not inside. Equal distances are in row order; of neighbours that are
        equally near, the first counts.

    Raises:
        DataError: The features, texts, ids, groups and memberships do not belong together.
    """
    from scipy.spatial.distance import cdist

    mine, theirs = _checked("side", side), _checked("other", other)
    member = np.asarray(inside)
    if member.dtype != bool or member.shape != (len(mine),):
        raise DataError(f"inside: {len(mine)} booleans are needed, not {member.dtype} {member.shape}")
    if len(theirs) == 0 or mine.shape[1] != theirs.shape[1]:
        raise DataError(f"features {mine.shape} have no neighbour in features {theirs.shape}")
    rows = np.flatnonzero(~member)
    groups = side.groups if side.groups is not None else [None] * len(mine)
    distances, neighbours = np.empty(len(rows)), np.empty(len(rows), dtype=np.intp)
    size = max(1, BLOCK_BYTES // (8 * len(theirs)))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        block = cdist(mine[rows[part]], theirs)
        neighbours[part] = block.argmin(axis=1)
        distances[part] = block.min(axis=1)
    return [
        MissedText(
            id=side.ids[rows[i]],
            text=side.texts[rows[i]],
            group=group if isinstance(group := groups[rows[i]], str) else None,
            distance=float(distances[i]),
            neighbour_id=other.ids[neighbours[i]],
            neighbour_text=other.texts[neighbours[i]],
        )
        for i in np.argsort(-distances, kind="stable")
    ]


def _checked(name: str, side: EmbeddedTexts) -> NDArray[np.float64]:
    features = np.asarray(side.features, dtype=np.float64)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise DataError(f"{name}: a matrix of finite features is needed, not {features.shape}")
    lengths = {len(features), len(side.ids), len(side.texts)}
    if len(lengths | ({len(side.groups)} if side.groups is not None else set())) > 1:
        raise DataError(f"{name}: features, ids, texts and groups differ in length")
    return features


def missed_texts_page(
    title: str,
    embedder: str,
    k: int,
    reference: EmbeddedTexts,
    generated: EmbeddedTexts,
    scores: SupportScores,
) -> str:
    """Write the page of the texts that precision and recall missed in one pair of sets.

    Args:
        title: The page's title.
        embedder: Name in print of the embedder behind the features.
        k: Neighbours.
        reference: The references that were scored.
        generated: The generated texts that were scored.
        scores: Of :func:`textgamut.metrics.scores.support_scores` for these two.

    Returns:
        The page, as :func:`render_missed_texts` returns it.
    """
    facts: dict[str, str | int | float] = {
        "Precision": float(scores.in_reference.mean()),
        "Recall": float(scores.in_generated.mean()),
        "N": len(scores.in_reference),
        "k": k,
        "Embedder": embedder,
        "Dimensions": scores.reference.shape[1],
    }
    outside = missed_texts(generated, reference, scores.in_reference)
    unreached = missed_texts(reference, generated, scores.in_generated)
    return render_missed_texts(title, facts, outside, unreached, len(generated.ids), len(reference.ids))


def render_missed_texts(
    title: str,
    facts: Mapping[str, str | int | float],
    outside: Sequence[MissedText],
    unreached: Sequence[MissedText],
    generated: int,
    references: int,
    limit: int = 500,
) -> str:
    """Write the page of missed texts.

    Args:
        title: The page's title.
        facts: The numbers and what they depend on, label -> value: precision, recall, N, k, embedder, ...
            Floats are shown with 3 decimals.
        outside: Generated texts outside the references' support, from :func:`missed_texts`.
        unreached: Human texts outside the generated texts' support, likewise.
        generated: Number of generated texts that were scored.
        references: Number of human texts that they were scored against.
        limit: Entries per section; the page says how many it leaves out.

    Returns:
        One HTML page that needs no other file, for ``encode()``. All values are plain text, escaped; control
        characters and lone surrogates are replaced by visible characters. The page forbids the browser all
        network.
    """
    return load_template("missed.html", _escape).render(
        title=title,
        facts=facts,
        outside=outside,
        unreached=unreached,
        generated=generated,
        references=references,
        limit=limit,
        text_limit=TEXT_LIMIT,
        folds=_folds,
        csp_hash=_csp_hash,
    )


def _folds(text: str) -> bool:
    """Return whether a text is so long that the page shows its beginning until the reader asks for more."""
    return len(text) > 600 or text.count("\n") > 6


# What HTML forbids, or what shows as nothing: C0 but tab and line feed, DEL, C1, surrogates, noncharacters.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def _escape(text: str) -> str:
    """Escape text for HTML. Bidirectional controls stay: the element around it confines them."""
    text = re.sub("\r\n?", "\n", text)
    return html.escape(_UNSHOWABLE.sub(lambda found: _stand_in(ord(found[0])), text))


def _stand_in(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)  # control pictures
    return "\u2421" if code == 0x7F else "\ufffd"


def _csp_hash(inline: str) -> str:
    """Return the hash of a style or script by which a Content-Security-Policy admits it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"
