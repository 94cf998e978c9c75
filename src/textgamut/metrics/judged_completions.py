"""A served model as judge of the completions of one prompt: how many of them are different.

Source: Zhang et al. 2025, "NoveltyBench", arXiv 2504.05228. The question is textgamut's: there, a classifier
trained on human labels decides which completions are equivalent.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.metrics import questions
from textgamut.metrics.prompts import first_of, partition, rows_of
from textgamut.metrics.rows import Scores, metric_row

REVISION = 1
"""Increase when the same texts produce different questions, or the same answers different values."""

EQUIVALENCE = (
    "You will be shown a prompt and two texts that were written for it. Decide whether the two texts are "
    "equivalent: a reader who has seen one of them would gain nothing from seeing the other as well. Texts "
    "that say the same in other words are equivalent. Texts that give another answer, tell another story or "
    'take another approach are not. Provide the answer in JSON {"equivalent": answer}, where the answer is 1 '
    "if the texts are equivalent, and 0 if they are not.\n\n"
    "Prompt: {prompt}\n"
    "First text: {first}\n"
    "Second text: {second}\n"
    "Answer:"
)
"""Question about two completions; ``{prompt}``, ``{first}`` and ``{second}`` are JSON strings."""


MOST_UNPARSED = 0.05
"""Largest share of prompts without a value. They tend to have many different completions, which take many
questions, so that the mean over the others is too small: by about 1 % at this share, as a test simulates."""


@dataclass(frozen=True)
class JudgedCompletions:
    """Verdicts of a judge on the completions of P prompts."""

    distinct: NDArray[np.float64]
    """(P,): number of different completions of each prompt among its first k, in [1, k]; NaN if an answer on
    them cannot be parsed."""
    k: int
    """Number of completions of each prompt that are compared."""
    unparsed: int
    """Number of prompts without a value, because an answer on them cannot be parsed."""
    facts: dict[str, Any]
    """Metadata of the judge and its calls; see :class:`questions.Judge`."""


def judge_completions(
    texts: Sequence[str],
    prompts: Sequence[Hashable],
    wordings: Mapping[Hashable, str],
    judge: questions.Judge,
    k: int | None = None,
    workers: int = 1,
) -> JudgedCompletions:
    """Count the different completions among the first k of each prompt, with a served model as judge.

    This is distinct_k of NoveltyBench (Zhang et al. 2025). The first k completions of a prompt are divided
    into classes in their order: each is compared with the first member of each class, and joins the first
    class that the judge finds equivalent, or else starts one. In the paper, a completion is compared with a
    random member of a class; here, with its first, so that the value is not random.

    A prompt takes at most k (k - 1) / 2 questions, one after the other; ``workers`` prompts are judged at a
    time. Nothing is asked about texts that are equal, except for white space at either end: they are
    equivalent. Nor about empty texts: they are equivalent to each other and to no other, so that they count
    as one completion.

    The temperature is 0 and all answers are cached, so an interrupted run asks only the missing questions.
    Texts and prompts are untrusted: each is embedded in the question as a JSON string, which it cannot
    terminate, but the judge may still follow instructions inside it.

    An answer must contain one JSON object with ``equivalent``: 0 or 1, false or true; it may have any text
    before and after it. A prompt with another answer has no value, and is counted as unparsed. As a prompt
    with many different completions takes more questions, it is more often without a value, so that the mean
    over the others is too small.

    Args:
        texts: N completions. Those of a prompt are in the order of the rows.
        prompts: (N,) the prompt of each completion, anything hashable.
        wordings: Prompt -> its text.
        judge: The judge.
        k: Number of completions of each prompt, at least 2. Defaults to the smallest number of completions of
            the prompts with two or more. Prompts with fewer than k completions do not count.
        workers: Maximum number of concurrent requests, 1 or more.

    Returns:
        The verdicts on the prompts with k completions, in the order of their first completion.

    Raises:
        TextgamutError: If ``texts`` are not N strings, ``prompts`` are not N, a prompt has no wording, k or
            ``workers`` is out of range, or no prompt has k completions; or if a question gets no answer (see
            ``ServedModel.ask``). Running requests then finish, and their answers are cached.

    Warns:
        UserWarning: If answers cannot be parsed.
    """
    questions.check(texts, workers)
    if len(texts) != len(prompts):
        raise DataError(f"{len(texts)} texts, but {len(prompts)} prompts")
    chosen = first_of(rows_of(prompts), k)
    if missing := [prompt for prompt in chosen if prompt not in wordings]:
        raise DataError(f"prompt {missing[0]!r} has no wording")

    def judged(prompt: Hashable) -> int | str:
        completions = [texts[row].strip() for row in chosen[prompt]]
        try:
            return _classes(wordings[prompt], completions, judge)
        except _UnparsedError as unparsed:
            return unparsed.answer

    found = questions.in_parallel(judged, chosen, workers, "prompts")
    if unparsed := [answer for answer in found if isinstance(answer, str)]:
        warnings.warn(
            f"{len(unparsed)} of {len(found)} prompts have an answer that cannot be parsed: left out, for "
            f"example: {unparsed[0][:200]!r}",
            stacklevel=2,
        )
    distinct = [np.nan if isinstance(count, str) else count for count in found]
    size = len(next(iter(chosen.values())))
    return JudgedCompletions(np.array(distinct, dtype=float), size, len(unparsed), judge.facts)


def score(
    texts: Sequence[str],
    prompt_ids: Sequence[Hashable],
    prompts: Sequence[str],
    judge: questions.Judge,
    first: int | None = None,
    workers: int = 1,
) -> Scores:
    """Compute the mean number of different completions over the prompts with a value.

    Args, Raises, Warns:
        As :func:`judge_completions`; also warns if there is no row, because too many prompts have no value.
    """
    wordings = dict(zip(prompt_ids, prompts, strict=True))
    verdict = judge_completions(texts, prompt_ids, wordings, judge, first, workers)
    found = {"k": verdict.k, "prompts": len(verdict.distinct), "unparsed": verdict.unparsed}
    values = verdict.distinct[~np.isnan(verdict.distinct)]
    rows = []
    if verdict.unparsed > MOST_UNPARSED * len(verdict.distinct):
        warnings.warn(
            f"no judged_distinct: {verdict.unparsed} of {len(verdict.distinct)} prompts have no value: "
            "the mean over the others would be too small",
            stacklevel=2,
        )
    else:
        rows = [metric_row(len(texts), "judged_distinct", math.fsum(values) / len(values))]
    return Scores(rows, facts=found | verdict.facts)


class _UnparsedError(Exception):
    def __init__(self, answer: str) -> None:
        self.answer = answer


def _classes(prompt: str, completions: Sequence[str], judge: questions.Judge) -> int:
    """Return the number of classes of the completions of a prompt.

    Raises:
        _UnparsedError: If an answer cannot be parsed.
    """

    def equivalent(first: int, second: int) -> bool:
        pair = completions[first], completions[second]
        if pair[0] == pair[1] or not all(pair):
            return pair[0] == pair[1]
        answer = questions.ask(question(prompt, *pair), judge)
        verdict = questions.parse(answer, ["equivalent"], lambda value: value in (0, 1))  # also true or false
        if verdict is None:
            raise _UnparsedError(answer)
        return bool(verdict[0])

    return len(set(partition(equivalent, len(completions))))


def question(prompt: str, first: str, second: str) -> str:
    """Return the question whether two completions of a prompt are equivalent."""
    texts = {"prompt": prompt, "first": first, "second": second}
    quoted = {name: json.dumps(text, ensure_ascii=False) for name, text in texts.items()}
    # In one pass: a text may contain "{second}".
    return re.sub(r"\{(prompt|first|second)\}", lambda found: quoted[found[1]], EQUIVALENCE)
