"""Sanity checks: every metric of two sets of texts in the same situations, with a known right answer.

In the spirit of Räisä et al. 2025 ("Position: All current generative fidelity and diversity metrics are
flawed"), who check such metrics on made distributions. Here both sides are passages of real texts, so that
the "model" is known: topics play its modes, and it can lack one, invent one, repeat itself, or be perfect.

**Scale.** To judge all metrics alike, changes are in units of s, the difference between the values of a
perfect and of a wholly wrong model: one with texts of other topics. Metrics of one set alone (Vendi scores,
n-grams) cannot know that topics are wrong; their wholly wrong model repeats few texts. Changes are signed:
negative is worse.

**Thresholds.** A metric *responds* if it is worse by at least 0.1 s and by more than two standard errors over
the repeats; it *does not respond* if it changes by at most 0.1 s, or by at most two standard errors. If a
quarter of the texts are missing or invented, a metric that is linear in this share changes by 0.25 s, so
0.1 s asks for two fifths of that (a squared distance changes by 0.06 s only); Räisä et al. also use 0.1, for
metrics in [0, 1]. A metric that does not respond to the wholly wrong model has no scale, and is not judged in
the other checks.

**Roles.** A fidelity metric should fall with invented content, and not with missing content; a diversity
metric the other way around; a metric of both (a distance of two distributions) with either.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.features.reduce import reduce_features
from textgamut.metrics.compression import (
    compression_ratio,
    cut_to_words,
    homogenization,
    ngram_diversity,
    self_repetition,
)
from textgamut.metrics.distance import frechet_distance, mmd
from textgamut.metrics.divergence import divergence_metrics
from textgamut.metrics.ngram import distinct_n, diversity, self_bleu
from textgamut.metrics.support import support_metrics
from textgamut.metrics.vendi import vendi_score
from textgamut.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same texts and features produce different rows."""

RESPONSE = 0.1
"""Smallest change that counts as a response, in units of s."""
ERRORS = 2.0
"""Number of standard errors that a response must exceed."""
LIKE = 0.25
"""Two responses of like size differ by at most this share of the larger one, or by ``RESPONSE``."""

K = 4
"""Number of neighbours of the support metrics, as in PR."""
PAIRS = 10_000
"""Number of pairs of texts of homogenization, a tenth of its default, which takes most of the time."""
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

Role = Literal["fidelity", "diversity", "both"]
Expectation = Literal["responds", "ideal", "worse", "same", "not better", "not nearer", "alike"]


# --- texts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """One side: N texts and their features."""

    features: NDArray[np.float32]
    """(N, d)."""
    texts: Sequence[str]
    """N texts."""

    def take(self, rows: NDArray[np.integer]) -> Sample:
        """Return the texts in some rows."""
        return Sample(self.features[rows], [self.texts[row] for row in rows])


@dataclass(frozen=True)
class Corpus:
    """Passages of real texts, from which the checks draw both sides."""

    passages: Sample
    shortened: Sample
    """The first half of the words of each passage of the perfect model's topics."""
    shortened_rows: NDArray[np.int64]
    """The rows of these passages, ascending."""
    articles: Sequence[str]
    """The text that each passage is from: none gives passages to both sides.

    Passages of a text resemble each other, so if texts have several passages, each text of a side has
    neighbours that the other side lacks, the more the larger N is, and the sides are not draws from one
    distribution in all respects. With a name for each passage they are.
    """
    topics: Sequence[str | None]
    """The topic of each passage, None if unknown."""
    outliers: Sample
    """Texts that are far from all passages and from each other."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes and topics of the checks."""

    main: tuple[str, ...]
    """Topics of the perfect model."""
    mode: tuple[str, ...]
    """Topics that a model lacks or invents."""
    n: int = 1000
    """Number of texts on each side."""
    sizes: tuple[int, ...] = (100, 300, 1000, 3000, 10_000)
    """Numbers of texts of the checks of sample size."""
    dimensions: tuple[int, ...] = (8, 32, 128)
    """Dimensions of projected features."""
    repeats: int = 5
    """Number of draws, two or more."""
    seed: int = 0


def cut_passages(texts: Sequence[str], words: int) -> list[tuple[int, str]]:
    """Cut texts into passages of a number of words that do not overlap; what remains of a text is left out.

    Returns:
        The number of the text, from 0, and the passage, for each passage.
    """
    found = []
    for number, text in enumerate(texts):
        tokens = text.split()
        starts = range(0, len(tokens) - words + 1, words)
        found += [(number, " ".join(tokens[start : start + words])) for start in starts]
    return found


def choose_passages(
    passages: list[tuple[int, str]], topics: list[str | None], most: int, seed: int
) -> list[tuple[int, str]]:
    """Return all passages with a topic, and those of random other articles up to ``most`` in all."""
    articles = dict.fromkeys(article for article, _ in passages)
    number = Counter(article for article, _ in passages)
    order = np.random.default_rng(seed).permutation([a for a in articles if topics[a] is None])
    chosen = {article for article in articles if topics[article] is not None}
    room = most - sum(number[article] for article in chosen)
    for article in order:
        room -= number[article]
        if room < 0:
            break
        chosen.add(article)
    return [passage for passage in passages if passage[0] in chosen]


def degenerate_texts(texts: Sequence[str], count: int, words: int, seed: int = 0) -> list[str]:
    """Return texts that repeat one rare word: loops, as models produce, that resemble no text of a corpus.

    Args:
        texts: The corpus. The words are lower-case words of five letters or more that occur in one text.
        count: Number of texts, each with another word.
        words: Number of words of each.
        seed: Seed of the choice of words.

    Raises:
        TextgamutError: If the corpus has too few such words.
    """
    frequency = Counter(word for text in texts for word in set(text.split()))
    rare = [w for w, times in frequency.items() if times == 1 and len(w) >= 5 and w.isalpha() and w.islower()]
    if len(rare) < count:
        raise DataError(f"{count} rare words are needed for the outliers, but the texts have {len(rare)}")
    chosen = np.random.default_rng(seed).choice(sorted(rare), count, replace=False)
    return [" ".join([str(word)] * words) for word in chosen]


# --- metrics --------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A metric under check: what it claims to measure."""

    name: str
    """Name in the catalogue of metrics."""
    role: Role
    better: Literal["higher", "lower"]
    ideal: float
    """Value for equal distributions."""
    compares: bool = True
    """Whether it compares the generated texts with the references. If not, the value under check is that of
    the generated texts over that of as many references."""
    reads: Literal["features", "words"] = "features"


@dataclass(frozen=True)
class Group:
    """Metrics that are computed together."""

    name: str
    metrics: tuple[Judged, ...]
    compute: Callable[[Sample, Sample], Mapping[str, float]]
    """Value of each metric for (references, generated texts) of equal number."""


def _support(reference: Sample, generated: Sample) -> dict[str, float]:
    found = support_metrics(*reduce_features(reference.features, generated.features), k=K)
    return {metric.name: getattr(found, metric.name) for metric in SUPPORT}


def _divergence(reference: Sample, generated: Sample) -> dict[str, float]:
    found = divergence_metrics(reference.features, generated.features, seeds=(0,))
    return {metric.name: getattr(found, metric.name) for metric in DIVERGENCE}


def _vendi(reference: Sample, generated: Sample) -> dict[str, float]:
    sides = [[vendi_score(side.features, q) for q in (1, 2)] for side in (generated, reference)]
    return _ratios(VENDI, *sides)


def _distance(reference: Sample, generated: Sample) -> dict[str, float]:
    found = mmd(reference.features, generated.features, permutations=1)  # the values do not depend on these
    frechet = frechet_distance(reference.features, generated.features)
    return {f"mmd_{kernel}": of.value for kernel, of in found.items()} | {"frechet": frechet}


def _ngram(reference: Sample, generated: Sample) -> dict[str, float]:
    sides = []
    for side in (generated, reference):
        words = [text.split() for text in side.texts]
        sides.append((self_bleu(words), distinct_n(words, 2), diversity(side.texts)))
    return _ratios(NGRAM, *sides)


def _compression(reference: Sample, generated: Sample) -> dict[str, float]:
    both = (generated.texts, reference.texts)
    total = min(sum(len(text.split()) for text in texts) for texts in both)
    sides = []
    for texts in both:
        cut = cut_to_words(texts, total)
        words = [text.split() for text in cut]
        alike = homogenization(cut, pairs=PAIRS)
        sides.append((compression_ratio(cut), ngram_diversity(words), self_repetition(words), alike))
    return _ratios(COMPRESSION, *sides)


def _ratios(metrics: Sequence[Judged], ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    values = zip(metrics, ours, theirs, strict=True)
    return {
        metric.name: value / of_references if of_references else math.nan
        for metric, value, of_references in values
    }


SUPPORT = (
    Judged(name="precision", role="fidelity", better="higher", ideal=1),
    Judged(name="recall", role="diversity", better="higher", ideal=1),
    Judged(name="density", role="fidelity", better="higher", ideal=1),
    Judged(name="coverage", role="diversity", better="higher", ideal=1),
    Judged(name="clipped_density", role="fidelity", better="higher", ideal=1),
    Judged(name="clipped_coverage", role="diversity", better="higher", ideal=1),
    Judged(name="symmetric_precision", role="fidelity", better="higher", ideal=1),
    Judged(name="symmetric_recall", role="diversity", better="higher", ideal=1),
)
DIVERGENCE = (
    Judged(name="mauve", role="both", better="higher", ideal=1),
    Judged(name="frontier_integral", role="both", better="lower", ideal=0),
    Judged(name="f_1_8", role="fidelity", better="higher", ideal=1),
    Judged(name="f_8", role="diversity", better="higher", ideal=1),
)
VENDI = (
    Judged(name="vendi_ratio", role="diversity", better="higher", ideal=1, compares=False),
    Judged(name="rke_ratio", role="diversity", better="higher", ideal=1, compares=False),
)
DISTANCE = (
    Judged(name="mmd_gaussian", role="both", better="lower", ideal=0),
    Judged(name="mmd_polynomial", role="both", better="lower", ideal=0),
    Judged(name="frechet", role="both", better="lower", ideal=0),
)
NGRAM = (
    Judged(name="self_bleu", role="diversity", better="lower", ideal=1, compares=False, reads="words"),
    Judged(name="distinct_2", role="diversity", better="higher", ideal=1, compares=False, reads="words"),
    Judged(name="diversity", role="diversity", better="higher", ideal=1, compares=False, reads="words"),
)
COMPRESSION = (
    Judged(
        name="compression_ratio", role="diversity", better="lower", ideal=1, compares=False, reads="words"
    ),
    Judged(name="ngram_diversity", role="diversity", better="higher", ideal=1, compares=False, reads="words"),
    Judged(name="self_repetition", role="diversity", better="lower", ideal=1, compares=False, reads="words"),
    Judged(name="homogenization", role="diversity", better="lower", ideal=1, compares=False, reads="words"),
)

GROUPS: tuple[Group, ...] = (
    Group("support", SUPPORT, _support),
    Group("divergence", DIVERGENCE, _divergence),
    Group("vendi", VENDI, _vendi),
    Group("distance", DISTANCE, _distance),
    Group("ngram", NGRAM, _ngram),
    Group("compression", COMPRESSION, _compression),
)
"""All metrics under check."""


# --- checks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """A sanity check."""

    name: str
    label: str
    """Name in tables and figures."""
    description: str
    criterion: str


CHECKS: tuple[Check, ...] = (
    Check(
        "responds",
        "responds at all",
        "the model is wholly wrong: other topics, or, for metrics without references, few texts repeated",
        "worse than for the perfect model by more than 2 standard errors; this difference is s",
    ),
    Check(
        "identical",
        "ideal value",
        "both sides are of the same distribution",
        "within 0.1 s of the value that equal distributions should have",
    ),
    Check(
        "dropped",
        "mode dropped",
        "the model lacks a topic of 1/4 or 1/2 of the references",
        "diversity and distances respond, fidelity does not",
    ),
    Check(
        "invented",
        "mode invented",
        "1/4 or 1/2 of the model's texts are of a topic that the references lack",
        "fidelity and distances respond, diversity does not",
    ),
    Check(
        "outlying_references",
        "outliers: references",
        "1 % of the references are far from all texts; the model is perfect, or wholly wrong",
        "no response",
    ),
    Check(
        "outlying_texts",
        "outliers: generated",
        "1 % of the generated texts are far from all texts; the model is perfect, or wholly wrong",
        "no response",
    ),
    Check(
        "copied",
        "copies of references",
        "the generated texts are the references themselves",
        "not better than fresh texts of the same distribution",
    ),
    Check("halved", "length halved", "the perfect model's texts are cut to half their words", "no response"),
    Check(
        "few",
        "fewer texts",
        "both sides are of the same distribution, with fewer texts",
        "no response, against the default N",
    ),
    Check(
        "many",
        "more texts",
        "both sides are of the same distribution, with more texts",
        "no response, against the default N",
    ),
    Check(
        "dimension",
        "dimension",
        "the features are projected to fewer dimensions",
        "no response for equal distributions; diversity and distances still respond to a dropped half, "
        "fidelity and distances to an invented one",
    ),
    Check(
        "repeated",
        "texts repeated",
        "the model repeats each text ten times",
        "diversity and distances respond, fidelity does not",
    ),
    Check(
        "moved",
        "topic moved",
        "the features of one topic of the perfect model are moved in two opposite directions",
        "responds at the full length, never better with length, of like size in both directions",
    ),
)
"""All checks, in the order of tables."""


@dataclass(frozen=True)
class Row:
    """The result of a metric in one situation of a check."""

    check: str
    condition: str
    """The situation, in words."""
    metric: str
    role: Role
    expected: Expectation
    """What the metric should do."""
    value: float
    """Mean over the repeats."""
    baseline: float
    """Mean value without the change that is under check."""
    change: float
    """Mean change in units of s; negative is worse."""
    error: float
    """Standard error of the change over the repeats, in units of s."""
    passed: bool | None
    """None if not applicable or not judged."""
    reason: str = ""
    """Why it is not judged."""


@dataclass(frozen=True)
class Verdict:
    """The result of a metric in a check: that of its least favourable condition."""

    check: str
    metric: str
    role: Role
    passed: bool | None
    """Whether it passed in all conditions that apply; None if none applies or can be judged."""
    change: float
    """Change in the condition that is least favourable, in units of s; NaN if none is judged."""
    condition: str
    """That condition, or the reason why none is judged."""


@dataclass(frozen=True)
class _Condition:
    """A case to compare with a baseline, and what is expected of each role."""

    check: str
    label: str
    case: str
    baseline: str
    expected: Mapping[Role, Expectation]
    """Nothing is expected of a role that is not in it."""
    of_words: bool = True
    """Whether it changes what metrics of words read."""


_SAME: Mapping[Role, Expectation] = {"fidelity": "same", "diversity": "same", "both": "same"}
_MISSING: Mapping[Role, Expectation] = {"fidelity": "same", "diversity": "worse", "both": "worse"}
_INVENTED: Mapping[Role, Expectation] = {"fidelity": "worse", "diversity": "same", "both": "worse"}
# In fewer dimensions: is the mode still seen? That nothing else is seen is part of other checks.
_SEES_MISSING: Mapping[Role, Expectation] = {"diversity": "worse", "both": "worse"}
_SEES_INVENTED: Mapping[Role, Expectation] = {"fidelity": "worse", "both": "worse"}
_NOT_BETTER: Mapping[Role, Expectation] = {
    "fidelity": "not better", "diversity": "not better", "both": "not better",
}  # fmt: skip


def run_checks(corpus: Corpus, plan: Plan, groups: Sequence[Group] = GROUPS) -> list[Row]:
    """Compute all metrics in all situations, and judge them.

    Args:
        corpus: The passages, with their features.
        plan: Sizes and topics.
        groups: Metrics under check.

    Returns:
        The rows, by check and condition in the order of ``CHECKS``, then by metric. They are deterministic.

    Raises:
        TextgamutError: If the plan has fewer than two repeats, or asks for more texts than the corpus has.
    """
    if plan.repeats < 2:
        raise DataError(f"repeats = {plan.repeats}: two or more are needed for standard errors")
    sides = (corpus.passages, corpus.shortened, corpus.outliers)
    passages, shortened, outliers = (Sample(_unit(side.features), side.texts) for side in sides)
    corpus = replace(corpus, passages=passages, shortened=shortened, outliers=outliers)
    values: dict[str, dict[str, list[float]]] = {}
    progress = Progress(plan.repeats * sum(1 for _ in _names(plan)), "pairs of samples")
    for repeat in range(plan.repeats):
        for name, reference, generated in _cases(corpus, plan, repeat):
            for group in groups:
                # Few texts, or many copies: what the checks are about.
                with warnings.catch_warnings(action="ignore", category=UserWarning):
                    found = group.compute(reference, generated)
                for metric in group.metrics:
                    values.setdefault(name, {}).setdefault(metric.name, []).append(float(found[metric.name]))
            progress.advance(1)
    rows = []
    for check in CHECKS:
        for group in groups:
            for metric in group.metrics:
                rows += _judge(check.name, metric, values, plan)
    return rows


def verdicts(rows: Sequence[Row]) -> list[Verdict]:
    """Summarise the rows: one verdict for each check and metric, in the order of the rows."""
    by_pair: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        by_pair.setdefault((row.check, row.metric), []).append(row)
    found = []
    for (check, metric), of_pair in by_pair.items():
        judged = [row for row in of_pair if row.passed is not None]
        if not judged:
            found.append(Verdict(check, metric, of_pair[0].role, None, math.nan, of_pair[0].reason))
            continue
        worst = min(judged, key=lambda row: (bool(row.passed), _margin(row)))
        passed = all(row.passed for row in judged)
        found.append(Verdict(check, metric, worst.role, passed, worst.change, worst.condition))
    return found


def verdict_table(judged: Sequence[Verdict]) -> pd.DataFrame:
    """Return the verdicts as a table: "pass", "fail" or "-", with the change in brackets."""
    import pandas as pd

    frame = pd.DataFrame(map(asdict, judged))
    says = frame["passed"].map({True: "pass", False: "fail"}).fillna("-")
    changes = [f" ({change:+.2f})" if np.isfinite(change) else "" for change in frame["change"]]
    frame["cell"] = says + changes
    wide = frame.pivot(index=["metric", "role"], columns="check", values="cell").reset_index()
    order = {name: place for place, name in enumerate(frame["metric"].unique())}
    columns = ["metric", "role", *(check.name for check in CHECKS if check.name in wide)]
    return wide.sort_values("metric", key=lambda names: names.map(order))[columns]


# --- situations -----------------------------------------------------------------------------------------


def _conditions(plan: Plan) -> Iterator[_Condition]:
    """Yield all conditions except those of ``responds``, ``identical`` and ``moved``, which are special."""
    for share in SHARES:
        yield _Condition("dropped", f"{share:.0%}", f"dropped {share}", f"mixed {share}", _MISSING)
        yield _Condition("invented", f"{share:.0%}", f"invented {share}", "equal", _INVENTED)
    for side in ("references", "texts"):
        for model, baseline in (("perfect", "equal"), ("wrong", "wrong")):
            yield _Condition(
                f"outlying_{side}", f"{model} model", f"outlying {side} {model}", baseline, _SAME
            )
    yield _Condition("copied", "copies", "copied", "equal", _NOT_BETTER)
    yield _Condition("halved", "half the words", "halved", "equal", _SAME)
    for size in sorted(plan.sizes):
        if size != plan.n:
            check = "few" if size < plan.n else "many"
            yield _Condition(check, f"N = {size:,}", f"size {size}", f"size {plan.n}", _SAME)
    half = SHARES[-1]
    for d in plan.dimensions:
        for label, case, baseline, expected in (
            ("equal", f"equal d{d}", "equal", _SAME),
            ("dropped", f"dropped {half} d{d}", f"mixed {half} d{d}", _SEES_MISSING),
            ("invented", f"invented {half} d{d}", f"equal d{d}", _SEES_INVENTED),
        ):
            yield _Condition("dimension", f"d = {d}, {label}", case, baseline, expected, of_words=False)
    yield _Condition("repeated", f"{COPIES} times", "repeated", "equal", _MISSING)


def _names(plan: Plan) -> Iterator[str]:
    """Yield the names of all cases."""
    yield from ("equal", "wrong", "collapsed", "copied", "halved", "repeated")
    for share in SHARES:
        yield from (f"mixed {share}", f"dropped {share}", f"invented {share}")
    for side in ("references", "texts"):
        yield from (f"outlying {side} perfect", f"outlying {side} wrong")
    yield from (f"size {size}" for size in sorted({*plan.sizes, plan.n}))
    for d in plan.dimensions:
        for name in ("equal", *(f"{what} {SHARES[-1]}" for what in ("mixed", "dropped", "invented"))):
            yield f"{name} d{d}"
    for way in ("forth", "back"):
        yield from (f"{way} {step:g}" for step in STEPS)


def _cases(corpus: Corpus, plan: Plan, repeat: int) -> Iterator[tuple[str, Sample, Sample]]:
    """Yield the name, the references and the generated texts of each case of one repeat."""
    rng = np.random.default_rng([plan.seed, repeat])
    topics = np.array([topic or "" for topic in corpus.topics], dtype=object)
    known = {str(topic) for topic in topics} - {""}
    for topic in (*plan.main, *plan.mode):
        if topic not in known:
            raise DataError(f"no text has the topic {topic!r}; topics: {', '.join(sorted(known))}")
    sides = _sides(corpus.articles, topics, rng)
    n = plan.n

    def draw(side: NDArray[np.int64], chosen: set[str] | None, count: int) -> NDArray[np.int64]:
        rows = side if chosen is None else side[np.isin(topics[side], sorted(chosen))]
        if len(rows) < count:
            what = "any topic" if chosen is None else ", ".join(sorted(chosen))
            raise DataError(f"{count} passages of {what} are needed on each side, but there are {len(rows)}")
        return rng.choice(rows, count, replace=False)

    main, mode = set(plan.main), set(plan.mode)
    ref, gen = (draw(side, main, n) for side in sides)
    extra = round(max(SHARES) * n)
    ref_mode, gen_mode = (draw(side, mode, extra) for side in sides)
    wrong = draw(sides[1], known - main, n)
    whole = [draw(side, None, max([n, *plan.sizes])) for side in sides]
    count = max(1, round(OUTLIERS * n))
    outliers = corpus.outliers.take(rng.choice(len(corpus.outliers.texts), count, replace=False))
    take = corpus.passages.take

    def mixed(rows: NDArray[np.int64], others: NDArray[np.int64], share: float) -> Sample:
        count = round(share * n)
        return take(np.concatenate([others[:count], rows[count:]]))

    def polluted(sample: Sample) -> Sample:
        features = np.concatenate([outliers.features, sample.features[count:]])
        return Sample(features, [*outliers.texts, *sample.texts[count:]])

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
    for size in sorted({*plan.sizes, n}):
        yield f"size {size}", take(whole[0][:size]), take(whole[1][:size])
    axes = _axes(corpus.passages.features)
    for d in plan.dimensions:
        for name in ("equal", *(f"{what} {SHARES[-1]}" for what in ("mixed", "dropped", "invented"))):
            left, right = (Sample(side.features @ axes[:, :d], side.texts) for side in pairs[name])
            yield f"{name} d{d}", left, right
    moving = corpus.passages.features[topics == plan.main[0]]
    direction, distance = _axis_and_distance(moving)
    of_topic = topics[gen] == plan.main[0]
    for way, sign in (("forth", 1), ("back", -1)):
        for step in STEPS:
            moved = perfect.features.copy()
            moved[of_topic] += (sign * step * distance * direction).astype(moved.dtype)
            yield f"{way} {step:g}", references, Sample(moved, perfect.texts)


def _sides(
    articles: Sequence[str], topics: NDArray[np.object_], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the rows into two sides, half of the articles of each topic on each."""
    names, article = np.unique(np.asarray(articles, dtype=object).astype(str), return_inverse=True)
    topic_of = np.empty(len(names), dtype=object)
    topic_of[article] = topics
    second = np.zeros(len(names), bool)
    for topic in sorted(set(topic_of)):
        second[rng.permutation(np.flatnonzero(topic_of == topic))[::2]] = True
    return np.flatnonzero(~second[article]), np.flatnonzero(second[article])


def _repeated(rows: NDArray[np.int64], times: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return as many rows, of which only one in ``times``, but at least two, is distinct, in random order."""
    # Compression only finds a copy that is near: not if all distinct texts lie in between.
    return rng.permutation(np.resize(rows[: max(2, len(rows) // times)], len(rows)))


def _unit(features: NDArray[np.floating]) -> NDArray[np.float32]:
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


# --- judgement ------------------------------------------------------------------------------------------


def _judge(
    check: str, metric: Judged, values: Mapping[str, Mapping[str, list[float]]], plan: Plan
) -> list[Row]:
    sign = 1 if metric.better == "higher" else -1

    def of(case: str) -> NDArray[np.float64]:
        return np.array(values[case][metric.name])

    worst = "wrong" if metric.compares else "collapsed"
    scale = abs(float((of("equal") - of(worst)).mean()))

    def row(
        condition: str,
        expected: Expectation,
        value: NDArray[np.float64],
        baseline: NDArray[np.float64],
        reason: str = "",
    ) -> Row:
        changes = sign * (value - baseline) / scale if scale else np.zeros(len(value))
        change = float(changes.mean())
        error = float(changes.std(ddof=1) / np.sqrt(len(changes)))
        if not reason and not math.isfinite(change):
            reason = "the value is not defined"
        passed = None if reason else _passes(expected, change, error)
        facts = float(value.mean()), float(baseline.mean()), change, error, passed, reason
        return Row(check, condition, metric.name, metric.role, expected, *facts)

    what = "wrong topics" if metric.compares else "few texts repeated"
    responds = row(what, "responds", of(worst), of("equal"))
    if check == "responds":
        return [responds]
    unjudged = "" if responds.passed else "does not respond to the wholly wrong model, so it has no scale"
    if check == "identical":
        ideal = np.full(plan.repeats, metric.ideal)
        return [row("equal", "ideal", of("equal"), ideal, unjudged)]
    if check == "moved":
        if metric.reads == "words":
            reason = "reads words, which do not change"
        elif not metric.compares:
            reason = "does not compare with the references: no place is wrong"
        else:
            reason = unjudged
        return _judge_moves(of, row, reason)
    rows = []
    for condition in _conditions(plan):
        if condition.check == check and metric.role in condition.expected:
            skipped = metric.reads == "words" and not condition.of_words
            reason = "reads words, which do not change" if skipped else unjudged
            pair = of(condition.case), of(condition.baseline)
            rows.append(row(condition.label, condition.expected[metric.role], *pair, reason))
    return rows


def _judge_moves(of: Callable[[str], NDArray[np.float64]], row: Callable[..., Row], reason: str) -> list[Row]:
    rows = []
    for way in ("forth", "back"):
        before = of("equal")
        for step in STEPS:
            value = of(f"{way} {step:g}")
            # Never better than the shorter step, and worse than no step at the full length.
            rows.append(row(f"{way}, from the shorter step to {step:g}", "not nearer", value, before, reason))
            before = value
        rows.append(row(f"{way} {STEPS[-1]:g}", "worse", before, of("equal"), reason))
    for step in STEPS:
        forth, back = of(f"forth {step:g}"), of(f"back {step:g}")
        found = row(f"forth against back {step:g}", "alike", forth, back, reason)
        if not reason and not found.passed:
            larger = max(abs(row("", "same", side, of("equal")).change) for side in (forth, back))
            passed = abs(found.change) <= LIKE * larger
            found = replace(found, passed=passed)
        rows.append(found)
    return rows


def _passes(expected: Expectation, change: float, error: float) -> bool:
    certain = abs(change) > ERRORS * error
    if expected == "responds":
        return change < 0 and certain
    if expected == "worse":
        return change <= -RESPONSE and certain
    if expected in ("not better", "not nearer"):
        return change <= RESPONSE or not certain
    return abs(change) <= RESPONSE or not certain


def _margin(row: Row) -> float:
    """Return how far a change is from the threshold; negative beyond it."""
    if row.expected in ("worse", "responds"):
        return -row.change - RESPONSE
    if row.expected in ("not better", "not nearer"):
        return RESPONSE - row.change
    return RESPONSE - abs(row.change)
