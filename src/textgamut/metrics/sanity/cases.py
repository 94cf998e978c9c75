"""The situations of the checks: pairs of references and generated texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.metrics.sanity.corpus import Corpus, Design, Passages

SHARES = (0.25, 0.5)
"""Shares of the texts of the mode that a model lacks or invents."""
OUTLIERS = 0.01
"""Share of outliers."""
COPIES = 10
"""Number of times that a repetitive model repeats each text."""
COLLAPSED = 100
"""Number of times that a wholly repetitive model repeats each text."""
STEPS = (0.25, 0.5, 1.0)
"""Lengths of the translations, in typical distances between texts of the moved topic."""


def case_names(design: Design) -> Iterator[str]:
    """Yield the names of all cases."""
    yield from ("equal", "wrong", "collapsed", "copied", "halved", "repeated")
    for share in SHARES:
        yield from (f"mixed {share}", f"dropped {share}", f"invented {share}")
    for side in ("references", "texts"):
        yield from (f"outlying {side} perfect", f"outlying {side} wrong")
    yield from (f"size {size}" for size in sorted({*design.sizes, design.n}))
    for d in design.dimensions:
        for name in ("equal", *(f"{what} {SHARES[-1]}" for what in ("mixed", "dropped", "invented"))):
            yield f"{name} d{d}"
    for way in ("forth", "back"):
        yield from (f"{way} {step:g}" for step in STEPS)


def cases(corpus: Corpus, design: Design, repeat: int) -> Iterator[tuple[str, Passages, Passages]]:
    """Yield the name, the references and the generated texts of each case of one repeat."""
    rng = np.random.default_rng([design.seed, repeat])
    topics = np.array([topic or "" for topic in corpus.topics], dtype=object)
    known = _known_topics(topics, design)
    sides = _sides(topics, rng)
    n = design.n

    def draw(side: NDArray[np.int64], chosen: set[str] | None, count: int) -> NDArray[np.int64]:
        rows = side if chosen is None else side[np.isin(topics[side], sorted(chosen))]
        if len(rows) < count:
            what = "any topic" if chosen is None else ", ".join(sorted(chosen))
            raise DataError(f"{count} passages of {what} are needed on each side, but there are {len(rows)}")
        return rng.choice(rows, count, replace=False)

    main, mode = set(design.main), set(design.mode)
    ref, gen = (draw(side, main, n) for side in sides)
    extra = round(max(SHARES) * n)
    ref_mode, gen_mode = (draw(side, mode, extra) for side in sides)
    wrong = draw(sides[1], known - main, n)
    whole = [draw(side, None, max([n, *design.sizes])) for side in sides]
    count = max(1, round(OUTLIERS * n))
    outliers = corpus.outliers.take(rng.choice(len(corpus.outliers.texts), count, replace=False))
    take = corpus.passages.take

    def mixed(rows: NDArray[np.int64], others: NDArray[np.int64], share: float) -> Passages:
        count = round(share * n)
        return take(np.concatenate([others[:count], rows[count:]]))

    def polluted(sample: Passages) -> Passages:
        features = np.concatenate([outliers.features, sample.features[count:]])
        return replace(sample, features=features, texts=[*outliers.texts, *sample.texts[count:]])

    references, perfect, bad = take(ref), take(gen), take(wrong)
    yield "equal", references, perfect
    yield "wrong", references, bad
    yield "collapsed", references, take(_repeated(gen, COLLAPSED, rng))
    yield "copied", references, references
    yield "halved", references, corpus.shortened.take(np.searchsorted(corpus.shortened_rows, gen))
    yield "repeated", references, take(_repeated(gen, COPIES, rng))
    pairs = {"equal": (references, perfect)}
    for share in SHARES:
        pairs[f"mixed {share}"] = mixed(ref, ref_mode, share), mixed(gen, gen_mode, share)
        pairs[f"dropped {share}"] = mixed(ref, ref_mode, share), perfect
        pairs[f"invented {share}"] = references, mixed(gen, gen_mode, share)
        for what in ("mixed", "dropped", "invented"):
            yield f"{what} {share}", *pairs[f"{what} {share}"]
    yield "outlying references perfect", polluted(references), perfect
    yield "outlying references wrong", polluted(references), bad
    yield "outlying texts perfect", references, polluted(perfect)
    yield "outlying texts wrong", references, polluted(bad)
    for size in sorted({*design.sizes, n}):
        yield f"size {size}", take(whole[0][:size]), take(whole[1][:size])
    axes = _axes(corpus.passages.features)
    for d in design.dimensions:
        for name in ("equal", *(f"{what} {SHARES[-1]}" for what in ("mixed", "dropped", "invented"))):
            left, right = (replace(side, features=side.features @ axes[:, :d]) for side in pairs[name])
            yield f"{name} d{d}", left, right
    moving = corpus.passages.features[topics == design.main[0]]
    for name, moved in _moved(perfect, topics[gen] == design.main[0], *_axis_and_distance(moving)):
        yield name, references, moved


def _known_topics(topics: NDArray[np.object_], design: Design) -> set[str]:
    """Return the topics of the texts, after a check that the design names no others."""
    known = {str(topic) for topic in topics} - {""}
    for topic in (*design.main, *design.mode):
        if topic not in known:
            raise DataError(f"no text has the topic {topic!r}; topics: {', '.join(sorted(known))}")
    return known


def _moved(
    perfect: Passages, of_topic: NDArray[np.bool_], direction: NDArray[np.float64], distance: float
) -> Iterator[tuple[str, Passages]]:
    """Yield the texts of a perfect model, with those of one topic moved along a direction, both ways."""
    for way, sign in (("forth", 1), ("back", -1)):
        for step in STEPS:
            moved = perfect.features.copy()
            moved[of_topic] += (sign * step * distance * direction).astype(moved.dtype)
            yield f"{way} {step:g}", replace(perfect, features=moved)


def _sides(
    topics: NDArray[np.object_], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sides, with half of each topic on each."""
    second = np.zeros(len(topics), bool)
    for topic in sorted(set(topics)):
        second[rng.permutation(np.flatnonzero(topics == topic))[::2]] = True
    return np.flatnonzero(~second), np.flatnonzero(second)


def _repeated(rows: NDArray[np.int64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return as many rows in random order, but only one in ``times``, and at least two, distinct ones."""
    # Compression only finds a copy that is near: not if all distinct texts lie in between.
    return rng.permutation(np.resize(rows[: max(2, len(rows) // times)], len(rows)))


def unit(features: NDArray[np.floating]) -> NDArray[np.float32]:
    """Scale rows to unit length, as all metrics do, so that moves and projections have the same scale."""
    norms = np.linalg.norm(features, axis=1, keepdims=True)
    return (features / np.where(norms == 0, 1, norms)).astype(np.float32)


def _axes(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the axes (d, d) of a PCA without centring, so that all axes only turn the features."""
    exact = features.astype(np.float64)
    _, axes = np.linalg.eigh(exact.T @ exact)
    return np.ascontiguousarray(axes[:, ::-1], dtype=np.float32)


def _axis_and_distance(features: NDArray[np.float32]) -> tuple[NDArray[np.float64], float]:
    """Return the first principal axis of some features, and their typical distance."""
    centred = features.astype(np.float64)
    centred -= centred.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axis = axes[:, -1] * np.sign(axes[np.abs(axes[:, -1]).argmax(), -1])
    # Twice the mean squared distance to the centre is the mean squared distance of two texts.
    return axis, float(np.sqrt(2 * (centred**2).sum(axis=1).mean()))
