"""The texts that show a failure of a gate best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from textgamut.catalogue.gate import GATE_METRICS, Failure
from textgamut.features.reduce import unit_rows
from textgamut.inference.gates import Check, ShownText
from textgamut.metrics.copying import LENGTH, plain_ngrams
from textgamut.metrics.neighbours import distance_ratios
from textgamut.scoring.gate_copies import NNDR
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, TRAINING
from textgamut.text import plain_text

if TYPE_CHECKING:
    from textgamut.scoring.gate_sides import ComparedSides


def shown_texts(failure: Failure, shown: Sequence[Check], tested: ComparedSides) -> list[ShownText]:
    """Return the texts that show a failure, the clearest first; of equal texts the first, with their number.

    Args:
        failure: The failure.
        shown: The tests that show it.
        tested: The texts of both sides.
    """
    rows: dict[tuple[str, int], ShownText] = {}
    for check in shown:
        for of in OF_METRIC.get(check.metric, _by_column)(check, tested):
            rows.setdefault((of.side, of.row), of)
    found: dict[tuple[str, str], list[ShownText]] = {}
    for of in rows.values():
        found.setdefault((of.side, of.text), []).append(of)
    return [
        replace(same[0], why=f"{same[0].why}; {len(same)} equal texts") if len(same) > 1 else same[0]
        for same in found.values()
    ]


def _by_column(check: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts with the highest values of a metric of single texts, or the lowest."""
    values = tested.columns[CANDIDATE].get(check.metric)
    if values is None:
        return
    metric = GATE_METRICS[check.metric]
    sign = -1 if metric.better == "higher" or (metric.better is None and check.drop < 0) else 1
    for row in np.argsort(-sign * np.nan_to_num(values, nan=-sign * np.inf), kind="stable"):
        if not np.isfinite(values[row]) or (metric.range == (0, 1) and values[row] == 0):
            break
        yield _candidate(tested, int(row), f"{metric.label}: {values[row]:.3g}")


def _repeated(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    texts = [plain_text(text) for text in _texts(tested, CANDIDATE)]
    first = {text: row for row, text in reversed(list(enumerate(texts))) if text}
    for text, count in Counter(filter(None, texts)).most_common():
        if count > 1:
            yield _candidate(tested, first[text], f"occurs {count} times")


def _same_answers(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    texts = [plain_text(text) for text in _texts(tested, CANDIDATE)]
    answers = [*zip((tested.comparison.material.texts.prompts or {})[CANDIDATE], texts, strict=False)]
    first = {answer: row for row, answer in reversed(list(enumerate(answers))) if all(answer)}
    counts = Counter(answer for answer in answers if all(answer))
    for answer, count in counts.most_common():
        if count > 1:
            yield _candidate(tested, first[answer], f"one of {count} equal answers to its prompt")


def _lost(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield references that the baseline reaches and the candidate does not, the farthest first."""
    results = tested.comparison.results
    baseline, candidate = (results[name].support for name in (BASELINE, CANDIDATE))
    assert baseline is not None
    assert candidate is not None
    lost = np.flatnonzero(baseline.in_generated & ~candidate.in_generated)
    missed = {of.id: of for of in results[CANDIDATE].missed.reference}
    known = _texts(tested, REFERENCE)
    rows = sorted(lost.tolist() if known else [], key=lambda row: -missed[f"row-{row + 1}"].distance)
    for row in rows:
        yield ShownText("references", row + 1, known[row], "no longer reached")


def _alike(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts that are nearest to another of its texts."""
    vectors = _unit(tested, CANDIDATE)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    for row in np.argsort(-cosines.max(axis=1), kind="stable").tolist():
        other = int(cosines[row].argmax()) + 1
        yield _candidate(tested, row, f"cosine {cosines[row].max():.3f} with text {other}")


def _typical(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts that are most unlike the baseline's: the witness function of the MMD."""
    vectors, others = (_unit(tested, name) for name in (CANDIDATE, BASELINE))
    own = np.exp(vectors @ vectors.T - 1).mean(axis=1)
    witness = own - np.exp(vectors @ others.T - 1).mean(axis=1)
    for row in np.argsort(-witness, kind="stable").tolist():
        yield _candidate(tested, row, "nearer to other texts of the candidate than to the baseline's")


def _copied_across(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts that share long n-grams with a text of the baseline."""
    language = tested.comparison.material.texts.language
    known = {
        gram: row
        for row, of in enumerate(plain_ngrams(_texts(tested, BASELINE), LENGTH, language))
        for gram in of
    }
    shared = []
    for row, own in enumerate(plain_ngrams(_texts(tested, CANDIDATE), LENGTH, language)):
        found = Counter(known[gram] for gram in own if gram in known)
        if found:
            shared.append((row, *found.most_common(1)[0]))
    for row, other, count in sorted(shared, key=lambda of: -of[2]):
        yield _candidate(tested, row, f"shares {count} 8-grams with text {other + 1} of the baseline")


def _near_corpus(check: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts that are much nearer to a text that may be copied than to the next one."""
    [name] = [side for side, metric in NNDR.items() if metric == check.metric]
    corpus = tested.corpora[name]
    ratios, nearest = distance_ratios(_unit(tested, CANDIDATE), corpus.vectors)
    for row in _nearer(ratios):
        place = nearest[row][0]
        why = f"NNDR {ratios[row]:.2f}: near {IN_CORPUS[name]} {corpus.rows[place] + 1}"
        yield replace(_candidate(tested, row, why), near=corpus.texts[place])


def _near_baseline(_: Check, tested: ComparedSides) -> Iterator[ShownText]:
    """Yield the candidate's texts that are much nearer to a text of the baseline than to the next one."""
    ratios, nearest = distance_ratios(_unit(tested, CANDIDATE), _unit(tested, BASELINE))
    known = _texts(tested, BASELINE)
    for row in _nearer(ratios):
        place = nearest[row][0]
        why = f"NNDR {ratios[row]:.2f}: near text {place + 1} of the baseline"
        yield replace(_candidate(tested, row, why), near=known[place] if known else "")


def _nearer(ratios: NDArray[np.float64]) -> list[int]:
    """Return the rows of the texts that are much nearer to one text than to the next, the nearest first."""
    rows: list[int] = np.argsort(ratios, kind="stable").tolist()
    return [row for row in rows if ratios[row] < NEAR]


def _texts(tested: ComparedSides, name: str) -> Sequence[str]:
    """Return the texts of a side; none if they are not known."""
    side = tested.sides[name]
    return side.texts if side.known else ()


def _candidate(tested: ComparedSides, row: int, why: str) -> ShownText:
    return ShownText(CANDIDATE, row + 1, _texts(tested, CANDIDATE)[row], why)


def _unit(tested: ComparedSides, name: str) -> NDArray[np.float64]:
    return unit_rows(tested.comparison.material.features[name].vectors)


NEAR = 0.8
"""Ratio of distances below which a text is shown as near to another one."""
IN_CORPUS = {REFERENCE: "reference", TRAINING: "training text"}
"""Side -> what one of its texts is called."""

OF_METRIC: dict[str, Callable[[Check, ComparedSides], Iterator[ShownText]]] = {
    "f_8": _lost,
    "recall": _lost,
    "vendi_ratio": _alike,
    "self_bleu": _alike,
    "distinct_texts": _repeated,
    "distinct_answers": _same_answers,
    "nndr_training": _near_corpus,
    "nndr_references": _near_corpus,
    "nearest_across": _near_baseline,
    "copied_across": _copied_across,
    "set_distance": _typical,
    "topic_distance": _typical,
    "mauve": _typical,
}
"""Metric of sets -> what yields the texts that show its change."""
