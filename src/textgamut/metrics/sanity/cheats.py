"""Samplers that cheat perplexity, and which metrics prefer them to human texts.

A low perplexity says that texts are easy to predict, not that they are like human ones. Here samplers with
known flaws continue prompts, the first words of human passages, and every metric compares what they write
with what people wrote. A sampler *cheats* a metric if its value is better than that of fresh human texts, by
more than two standard errors over the repeats.

**Readings.** Metrics with a better end are read by it. Those whose ideal is the value of the references are
also read by the distance to this value; perplexity, which has no better end, is read in both ways, too, since
it is commonly reported as "lower is better".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from textgamut.catalogue import METRICS
from textgamut.errors import DataError
from textgamut.metrics.likelihood import Likelihood
from textgamut.metrics.ngram import text_diversity
from textgamut.metrics.sanity.checked_metrics import GROUPS, Group
from textgamut.metrics.sanity.corpus import Passages
from textgamut.metrics.sanity.sanity_checks import ERRORS
from textgamut.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

REVISION = 1
"""Increase when the same samples produce different rows."""

HUMAN = "human"
"""Name of the human continuations of the prompts."""
COPIES = "copies"
"""Name of the sampler that returns the references."""
SAMPLERS: Mapping[str, str] = {
    "common passage": "after every prompt the same human text, which the scoring model finds probable",
    "low temperature": "what a language model writes at temperature 0.3",
    "unigram": "words drawn at random from all texts of the corpus",
    "shuffled": "the words of the human passage in random order",
    COPIES: "the references, after their own prompts",
}
"""Planted sampler -> what it writes."""

Q_TEXT = "q_text"
"""Name of Q*Text, which is no metric of the catalogue."""

Read = Literal["higher", "lower", "nearest"]
QText = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Q*Text of texts from their perplexities, coherences and diversities: ``rankings.qtext.q_text``."""


@dataclass(frozen=True)
class Written:
    """What a sampler wrote after each of N prompts."""

    passages: Passages
    """The continuations, with their features."""
    likelihood: Likelihood
    """Their log-likelihoods after the prompts, under the scoring model."""

    def take(self, rows: NDArray[np.integer]) -> Written:
        """Return what was written after some of the prompts."""
        sums, tokens = self.likelihood.log_likelihood[rows], self.likelihood.tokens[rows]
        return Written(self.passages.take(rows), Likelihood(sums, tokens, truncated=0))

    @property
    def diversities(self) -> NDArray[np.float64]:
        """(N,): diversity of each text."""
        return np.array([text_diversity(words) for words in self.passages.words()])


@dataclass(frozen=True)
class CheatRow:
    """A metric, in one reading, of one sampler."""

    sampler: str
    metric: str
    read: Read
    """Which value is better: the higher, the lower, or the one that is nearest to the ideal."""
    human: float
    """Mean value of fresh human texts over the repeats."""
    value: float
    """Mean value of the sampler's texts."""
    advantage: float
    """Mean of how much better the sampler's value is; negative if it is worse."""
    error: float
    """Standard error of the advantage."""
    cheated: bool | None
    """Whether the sampler is preferred to human texts; None if a value is not defined."""


def unigram_texts(texts: Sequence[str], lengths: Sequence[int], seed: int) -> list[str]:
    """Return texts of given numbers of words, drawn from the words of a corpus with replacement."""
    words = [word for text in texts for word in text.split()]
    rng = np.random.default_rng([seed, 0])
    return [" ".join(words[place] for place in rng.integers(len(words), size=length)) for length in lengths]


def shuffled_texts(texts: Sequence[str], seed: int) -> list[str]:
    """Return each text with its words in random order."""
    rng = np.random.default_rng([seed, 1])
    return [" ".join(rng.permutation(np.array(text.split(), dtype=object))) for text in texts]


def preferred(advantages: NDArray[np.float64]) -> tuple[float, float, bool | None]:
    """Return the mean and the standard error of advantages over the repeats, and whether they are certain.

    Args:
        advantages: How much better a sampler is than fresh human texts in each of two or more repeats.

    Returns:
        The mean, its standard error, and whether the mean exceeds two standard errors; None if it is not
        finite.
    """
    mean, error = float(advantages.mean()), float(advantages.std(ddof=1) / math.sqrt(len(advantages)))
    # A mean of equal values may differ from 0 by rounding.
    return mean, error, mean > max(ERRORS * error, 1e-9) if math.isfinite(mean) else None


def run_cheats(
    written: Mapping[str, Written],
    n: int,
    repeats: int,
    seed: int,
    q_text: QText,
    groups: Sequence[Group] = GROUPS,
) -> list[CheatRow]:
    """Compare what samplers and people wrote after the same prompts with other human texts.

    In each repeat, the prompts are divided at random: the human continuations of n are the references; the
    other samplers, and people, continue n others.

    Args:
        written: ``HUMAN`` and all samplers but ``COPIES`` -> what each wrote after the same prompts.
        n: Number of texts on each side, at most half the number of prompts.
        repeats: Number of divisions, two or more.
        seed: Seed of the divisions.
        q_text: Computes Q*Text, scaled over all texts of a repeat.
        groups: Metrics of distributions under check.

    Returns:
        Rows by metric and reading, then by sampler.

    Raises:
        TextgamutError: If there are too few prompts or repeats.
    """
    prompts = len(written[HUMAN].passages.texts)
    if repeats < 2 or prompts < 2 * n:
        raise DataError(f"{repeats} repeats and {prompts} prompts: 2 repeats and {2 * n} prompts are needed")
    values: dict[tuple[str, str], list[float]] = {}
    ideals: dict[str, list[float]] = {}
    progress = Progress(repeats, "repeats")
    for repeat in range(repeats):
        rows = np.random.default_rng([seed, repeat]).permutation(prompts)
        references = written[HUMAN].take(rows[:n])
        samples = {name: each.take(rows[n : 2 * n]) for name, each in written.items()} | {COPIES: references}
        for name, found in _values(references, samples, q_text, groups).items():
            for metric, value in found.items():
                values.setdefault((name, metric), []).append(value)
        for metric, value in _of_likelihood(references).items():
            ideals.setdefault(metric, []).append(value)
        progress.advance(1)
    return [
        _row(sampler, metric, read, np.array(ideal), values)
        for metric, read, ideal in _readings(groups, ideals)
        for sampler in SAMPLERS
    ]


def cheat_table(rows: Sequence[CheatRow]) -> pd.DataFrame:
    """Return the rows as a table, one column per sampler: "cheated (4.2)" or "not cheated (57)"."""
    import pandas as pd

    frame = pd.DataFrame(map(asdict, rows))
    says = frame["cheated"].map({True: "cheated", False: "not cheated"}).fillna("not defined")
    frame["cell"] = says + " (" + frame["value"].map(written_number) + ")"
    frame["human"] = frame["human"].map(written_number)
    keys = ["metric", "read", "human"]
    wide = frame.pivot(index=keys, columns="sampler", values="cell")
    order = pd.MultiIndex.from_frame(frame[keys].drop_duplicates())
    return wide.loc[order, list(SAMPLERS)].reset_index()


def written_number(value: float) -> str:
    """Write a value with three significant digits; 1,000 and more without decimals."""
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def _values(
    references: Written, samples: Mapping[str, Written], q_text: QText, groups: Sequence[Group]
) -> dict[str, dict[str, float]]:
    """Return the values of all metrics for each sample."""
    found = {}
    for name, sample in samples.items():
        found[name] = _of_likelihood(sample)
        for group in groups:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # of few or equal texts
                of_group = group.compute(references.passages, sample.passages)
            found[name] |= {metric.name: float(of_group[metric.name]) for metric in group.metrics}
    criteria = [
        (sample.likelihood.perplexities, sample.likelihood.coherences, sample.diversities)
        for sample in samples.values()
    ]
    scores = q_text(*map(np.concatenate, zip(*criteria, strict=True)))
    ends = np.cumsum([len(of_sample[0]) for of_sample in criteria])
    for name, part in zip(samples, np.split(scores, ends[:-1]), strict=True):
        found[name][Q_TEXT] = float(part.mean())
    return found


def _of_likelihood(sample: Written) -> dict[str, float]:
    return {"perplexity": sample.likelihood.perplexity, "coherence": sample.likelihood.coherence}


def _readings(
    groups: Sequence[Group], ideals: Mapping[str, Sequence[float]]
) -> list[tuple[str, Read, Sequence[float]]]:
    """Return each metric and reading, with the ideal value of each repeat, or one of all."""
    readings: list[tuple[str, Read, Sequence[float]]] = [
        ("perplexity", "lower", ideals["perplexity"]),
        ("perplexity", "nearest", ideals["perplexity"]),
        ("coherence", "higher", ideals["coherence"]),
        ("coherence", "nearest", ideals["coherence"]),
        (Q_TEXT, "higher", [math.nan]),
    ]
    for group in groups:
        for metric in group.metrics:
            declared = METRICS[metric.name]
            if declared.better:
                readings.append((metric.name, declared.better, [metric.ideal]))
            if not declared.better or not metric.compares:
                readings.append((metric.name, "nearest", [metric.ideal]))
    return readings


def _row(
    sampler: str,
    metric: str,
    read: Read,
    ideal: NDArray[np.float64],
    values: Mapping[tuple[str, str], Sequence[float]],
) -> CheatRow:
    value, human = (np.array(values[name, metric]) for name in (sampler, HUMAN))
    if read == "nearest":
        advantages = np.abs(human - ideal) - np.abs(value - ideal)
    else:
        advantages = value - human if read == "higher" else human - value
    facts = preferred(advantages)
    return CheatRow(sampler, metric, read, float(human.mean()), float(value.mean()), *facts)
