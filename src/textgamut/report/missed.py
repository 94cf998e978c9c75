"""What precision and recall missed: the texts outside the other side's support, as one HTML page to read."""

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

from textgamut.errors import TextgamutError

if TYPE_CHECKING:
    from textgamut.metrics.scores.support import SupportScores

REVISION = 1
"""Raised when the same texts and features give another page."""

BLOCK_BYTES = 32 * 2**20
"""Upper bound of a block of distances."""

TEXT_LIMIT = 5000
"""Longer texts are cut to this many characters on the page, which says so."""


@dataclass(frozen=True)
class Side:
    """The texts of one side, generated or human, in the order of their features."""

    features: ArrayLike
    """(N, c) as ``support_metrics`` took them: reduced, and no rows but those that it kept."""
    ids: Sequence[str]
    """(N,)"""
    texts: Sequence[str]
    """(N,)"""
    groups: Sequence[str | None] | None = None
    """(N,): topic, model or the like; None, or pandas' NaN, for a text without one."""


@dataclass(frozen=True)
class Missed:
    """A text outside the other side's support, and the nearest text of the other side."""

    id: str
    text: str
    group: str | None
    distance: float
    """Euclidean distance to the neighbour in the reduced feature space, 0 or more."""
    neighbour_id: str
    neighbour_text: str


def missed_texts(side: Side, other: Side, inside: ArrayLike) -> list[Missed]:
    """List the texts of a side that lie outside the other side's support, the farthest first.

    What precision missed is ``missed_texts(generated, reference, metrics.in_reference)``; what recall missed
    is ``missed_texts(reference, generated, metrics.in_generated)``. Distances are in float64, in blocks:
    memory grows with N, never with N x M.

    Args:
        side: M texts.
        other: N texts of the other side.
        inside: (M,) bool: which texts of ``side`` lie inside the support of ``other``.

    Returns:
        One entry for each text that is not inside. Equal distances stand in row order; of neighbours that are
        equally near, the first counts.

    Raises:
        TextgamutError: The features, texts, ids, groups and memberships do not belong together.
    """
    from scipy.spatial.distance import cdist

    mine, theirs = _checked("side", side), _checked("other", other)
    member = np.asarray(inside)
    if member.dtype != bool or member.shape != (len(mine),):
        raise TextgamutError(f"inside: {len(mine)} booleans are needed, not {member.dtype} {member.shape}")
    if len(theirs) == 0 or mine.shape[1] != theirs.shape[1]:
        raise TextgamutError(f"features {mine.shape} have no neighbour in features {theirs.shape}")
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
        Missed(
            id=side.ids[rows[i]],
            text=side.texts[rows[i]],
            group=group if isinstance(group := groups[rows[i]], str) else None,
            distance=float(distances[i]),
            neighbour_id=other.ids[neighbours[i]],
            neighbour_text=other.texts[neighbours[i]],
        )
        for i in np.argsort(-distances, kind="stable")
    ]


def _checked(name: str, side: Side) -> NDArray[np.float64]:
    features = np.asarray(side.features, dtype=np.float64)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise TextgamutError(f"{name}: a matrix of finite features is needed, not {features.shape}")
    lengths = {len(features), len(side.ids), len(side.texts)}
    if len(lengths | ({len(side.groups)} if side.groups is not None else set())) > 1:
        raise TextgamutError(f"{name}: features, ids, texts and groups differ in length")
    return features


def support_page(
    title: str, embedder: str, k: int, reference: Side, generated: Side, scores: SupportScores
) -> str:
    """Write the page of one scored pair of sets.

    Args:
        title: The page's title.
        embedder: What the texts were seen through.
        k: Neighbours.
        reference: The references that were kept.
        generated: The generated texts that were kept.
        scores: What ``scores.support_scores`` found for these.

    Returns:
        The page, as :func:`explain_page`.
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
    return explain_page(title, facts, outside, unreached, len(generated.ids), len(reference.ids))


def explain_page(
    title: str,
    facts: Mapping[str, str | int | float],
    outside: Sequence[Missed],
    unreached: Sequence[Missed],
    generated: int,
    references: int,
    limit: int = 500,
) -> str:
    """Write the page that shows what precision and recall missed.

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
        characters and lone surrogates are shown by stand-ins. The page forbids the browser all network.
    """
    sections = [
        (
            "outside",
            "Generated texts outside the references' support",
            "What precision missed. The farthest from any human text come first.",
            "Every generated text lies inside the references' support: precision missed nothing.",
            ("Generated text", "Nearest human text"),
            outside,
            generated,
        ),
        (
            "unreached",
            "Human texts that no generated text reaches",
            "What recall missed. The farthest from any generated text come first.",
            "Every human text is reached by a generated text: recall missed nothing.",
            ("Human text", "Nearest generated text"),
            unreached,
            references,
        ),
    ]
    parts, links = [], []
    for anchor, heading, order, nothing, labels, missed, total in sections:
        count = f"{len(missed):,} of {total:,}"
        links.append(f'<li><a href="#{anchor}">{heading}</a> ({count})</li>')
        parts.append(f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{heading} ({count})</h2>')
        if missed:
            cut = f" Showing the {limit:,} farthest of {len(missed):,}." if len(missed) > limit else ""
            parts.append(f"<p>{order}{cut}</p>\n<ol>")
            parts += [_entry(rank, entry, labels) for rank, entry in enumerate(missed[:limit], start=1)]
            parts.append("</ol>\n</section>")
        else:
            parts.append(f"<p>{nothing}</p>\n</section>")
    policy = f"default-src 'none'; style-src '{_hash(_STYLE)}'; script-src '{_hash(_SCRIPT)}'"
    return _PAGE.format(
        policy=f"{policy}; base-uri 'none'; form-action 'none'",
        title=_escape(title),
        style=_STYLE,
        script=_SCRIPT,
        facts="\n".join(
            f'<div><dt>{_escape(label)}</dt><dd dir="auto">{_escape(_number(value))}</dd></div>'
            for label, value in facts.items()
        ),
        links="\n".join(links),
        sections="\n".join(parts),
    )


def _entry(rank: int, missed: Missed, labels: tuple[str, str]) -> str:
    group = f' <bdi class="group">{_escape(missed.group)}</bdi>' if missed.group else ""
    long = any(len(text) > 600 or text.count("\n") > 6 for text in (missed.text, missed.neighbour_text))
    unfold = "\n<details><summary>Whole texts</summary></details>" if long else ""
    return f"""<li>
<h3>{rank}. <bdi>{_escape(missed.id)}</bdi>{group}</h3>{unfold}
<p class="label">{labels[0]}</p>
{_text(missed.text)}
<p class="label">{labels[1]}: <bdi>{_escape(missed.neighbour_id)}</bdi>, distance {missed.distance:.3f}</p>
{_text(missed.neighbour_text)}
</li>"""


def _text(text: str) -> str:
    if not text.strip():
        return '<p class="text"><em>(an empty text)</em></p>'
    more = len(text) - TEXT_LIMIT
    rest = f" <em>(… and {more:,} more characters)</em>" if more > 0 else ""
    return f'<p class="text" dir="auto">{_escape(text[:TEXT_LIMIT])}{rest}</p>'


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


def _number(value: str | int | float) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _hash(inline: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}"


_STYLE = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --soft: #5c5c5c; --rule: #ddd;
  --tint: #f4f5f7; --link: #0b57d0; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --paper: #16181c; --soft: #a8a8a8; --rule: #3a3d42;
    --tint: #202329; --link: #8ab4f8; }
}
* { box-sizing: border-box; }
body { max-width: 78rem; margin: 0 auto; padding: 1rem; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0 1rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { max-width: 46rem; margin: .5rem 0; }
a { color: var(--link); }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2rem; margin: 1rem 0; padding: .8rem 1rem;
  background: var(--tint); border-radius: .4rem; }
dt, .label { color: var(--soft); font-size: .85rem; }
dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums; }
nav ul { padding-left: 1.2rem; }
.filter { position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; align-items: center;
  gap: .3rem .8rem; padding: .6rem 0; background: var(--paper); }
.filter input { flex: 1 1 12rem; max-width: 28rem; font: inherit; padding: .3rem .5rem; color: inherit;
  background: var(--paper); border: 1px solid var(--soft); border-radius: .3rem; }
[hidden] { display: none !important; }
ol { list-style: none; margin: 1rem 0; padding: 0; }
ol > li { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2rem; padding: 1rem 0;
  border-top: 1px solid var(--rule); content-visibility: auto; contain-intrinsic-size: auto 16rem; }
details { justify-self: end; }
summary { cursor: pointer; color: var(--link); font-size: .9rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.group { margin-left: .5rem; padding: .1rem .5rem; font-size: .8rem; font-weight: 400;
  background: var(--tint); border-radius: .4rem; }
.label { margin: .5rem 0 .2rem; grid-row: 2; }
.text { margin: 0; grid-row: 3; white-space: pre-wrap; overflow: clip; }
details:not([open]) ~ .text { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 8;
  overflow: hidden; }
@media (max-width: 44rem) {
  ol > li { display: block; }
  details { justify-self: start; }
  .filter { position: static; }
  .text + .label { margin-top: .8rem; }
  .text:last-child { padding-left: .8rem; border-left: 3px solid var(--rule); }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav, .filter, details { display: none; }
  ol > li { content-visibility: visible; }
  details:not([open]) ~ .text { display: block; }
  h2, h3, .label { break-after: avoid; }
}
"""

_SCRIPT = """
const box = document.querySelector("#filter"), state = document.querySelector("#state");
const entries = [...document.querySelectorAll("ol > li")];
let contents;
box.addEventListener("input", () => {
  contents ??= entries.map((entry) => [...entry.querySelectorAll("bdi, .text")]
    .map((part) => part.textContent.toLowerCase()).join("\\n"));
  const wanted = box.value.trim().toLowerCase();
  entries.forEach((entry, i) => { entry.hidden = !contents[i].includes(wanted); });
  const shown = entries.filter((entry) => !entry.hidden).length;
  state.textContent = wanted && `${shown} of ${entries.length} entries`;
});
box.parentElement.hidden = entries.length === 0;
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1 dir="auto">{title}</h1>
<dl>
{facts}
</dl>
<p>Each text is a point: its embedding. Around every human text lies a ball that reaches to its
<var>k</var>-th nearest human text; together these balls are the support of the human texts.
<strong>Precision</strong> is the share of generated texts inside it: it falls when a model writes what people
do not write. <strong>Recall</strong> is the share of human texts inside the support of the generated texts,
which is made in the same way: it falls when a model never writes what people do write.</p>
<p>Below stand the texts that the two numbers missed, each with its nearest neighbour on the other side and
the distance to it. Being listed does not make a text bad: it may differ in topic, in form or in quality.
Where texts lie close together, balls are small, and even a near text may lie outside.</p>
<nav aria-label="Sections">
<ul>
{links}
</ul>
</nav>
</header>
<main>
<div class="filter" role="search" hidden>
<label for="filter">Show only entries with</label>
<input id="filter" type="search" autocomplete="off">
<span id="state" role="status"></span>
</div>
{sections}
</main>
<script>{script}</script>
</body>
</html>
"""
