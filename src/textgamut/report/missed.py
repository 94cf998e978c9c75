"""Texts missed by precision and recall, i.e. outside the other side's support, as an HTML page."""

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
"""Increase when the same texts and features produce a different page."""

BLOCK_BYTES = 32 * 2**20
"""Upper bound of the size of a block of distances."""

TEXT_LIMIT = 5000
"""Maximum number of characters of a text on the page; longer texts are cut, with a note."""


@dataclass(frozen=True)
class EmbeddedTexts:
    """Texts of one side, generated or human, and their features."""

    features: ArrayLike
    """(N, c) features as passed to ``support_metrics``: reduced, and only the rows that it used."""
    ids: Sequence[str]
    """(N,)"""
    texts: Sequence[str]
    """(N,)"""
    groups: Sequence[str | None] | None = None
    """(N,) group of each text, such as its topic or model; None or NaN for a text without a group."""


@dataclass(frozen=True)
class MissedText:
    """A text outside the other side's support, and its nearest neighbour on the other side."""

    id: str
    text: str
    group: str | None
    distance: float
    """Euclidean distance to the neighbour in the reduced feature space, >= 0."""
    neighbour_id: str
    neighbour_text: str


def missed_texts(side: EmbeddedTexts, other: EmbeddedTexts, inside: ArrayLike) -> list[MissedText]:
    """List the texts of a side that lie outside the other side's support, in descending order of distance.

    The texts missed by precision are ``missed_texts(generated, reference, metrics.in_reference)``, and those
    missed by recall ``missed_texts(reference, generated, metrics.in_generated)``. Distances are computed in
    float64 and in blocks, so that memory grows with N and not with N x M.

    Args:
        side: M texts.
        other: N texts of the other side.
        inside: (M,) bool, whether each text of ``side`` lies within the support of ``other``.

    Returns:
        One entry per text outside the support. Ties in distance are in row order; of several nearest
        neighbours, the first is returned.

    Raises:
        DataError: If the features, texts, ids, groups and memberships do not match in shape, or a feature is
            not finite.
    """
    from scipy.spatial.distance import cdist

    mine, theirs = _checked("side", side), _checked("other", other)
    member = np.asarray(inside)
    if member.dtype != bool or member.shape != (len(mine),):
        raise DataError(f"inside: expected {len(mine)} booleans, found {member.dtype} {member.shape}")
    if len(theirs) == 0 or mine.shape[1] != theirs.shape[1]:
        raise DataError(f"features {mine.shape} and {theirs.shape} cannot be compared")
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
        raise DataError(f"{name}: expected a matrix of finite features, found shape {features.shape}")
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
    """Render the page of the texts missed by precision and recall for a pair of sets.

    Args:
        title: Title of the page.
        embedder: Label of the embedder that computed the features.
        k: Number of neighbours.
        reference: References that were scored.
        generated: Generated texts that were scored.
        scores: Result of :func:`textgamut.metrics.scores.support_scores` for these two sets.

    Returns:
        The page, see :func:`render_missed_texts`.
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
    """Render the page of missed texts.

    Args:
        title: Title of the page.
        facts: Label -> value of the scores and settings: precision, recall, N, k, embedder, ... Floats are
            shown with 3 decimals.
        outside: Generated texts outside the references' support, from :func:`missed_texts`.
        unreached: References outside the generated texts' support, from :func:`missed_texts`.
        generated: Number of generated texts that were scored.
        references: Number of references that were scored.
        limit: Maximum number of entries per section; the page states how many are left out.

    Returns:
        A self-contained HTML page, which can be encoded as UTF-8. All values are escaped plain text; control
        characters and lone surrogates are replaced by visible characters. A Content-Security-Policy blocks
        all network access.
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
    """Return whether a text is so long that the page shows only its beginning until it is expanded."""
    return len(text) > 600 or text.count("\n") > 6


# Forbidden in HTML, or invisible: C0 except tab and line feed, DEL, C1, surrogates, noncharacters.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def _escape(text: str) -> str:
    """Escape text for HTML. Bidirectional controls are kept because the enclosing element isolates them."""
    text = re.sub("\r\n?", "\n", text)
    return html.escape(_UNSHOWABLE.sub(lambda found: _replacement(ord(found[0])), text))


def _replacement(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)  # control pictures
    return "\u2421" if code == 0x7F else "\ufffd"


def _csp_hash(inline: str) -> str:
    """Return the hash of an inline style or script that allows it in a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"
