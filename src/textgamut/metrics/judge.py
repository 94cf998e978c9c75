"""A served model as judge of biographies: the quality of each, and whether ten of them differ.

Source: PR appendix B.2, with GPT-3.5-turbo as the judge. The questions are the paper's verbatim, except that
the JSON is in braces instead of round brackets.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.metrics import questions
from textgamut.metrics.rows import Scores, text_rows

REVISION = 2
"""Increase when the same texts produce different questions, or the same answers different scores."""

BATCH = 10
"""Number of texts in a question about diversity."""

QUALITY = (
    "You will be asked to rate a Wikipedia biography based on coherence, insightfulness, and likelihood on a "
    "scale from 1 to 5. Please provide three numerical answers using the template in JSON "
    '{"score_coherence": score, "score_insightful": score, "score_likely": score}.\n\n'
    "On a scale of 1 to 5, rate the following biography on three criteria:\n"
    "* Coherence: How easy is it to read and understand the text? (1 for difficult to read, 5 for very easy "
    "to read)\n"
    "* Insightfulness: How insightful or interesting is the biography? (1 for not interesting, 5 for highly "
    "interesting)\n"
    "* Probability: How likely is this text a biography from Wikipedia? (1 for not likely, 5 for very "
    "likely)\n"
    "Biography Text: {text}\n"
    "Scores:"
)
"""Question about quality: instruction, blank line, prompt; ``{text}`` is the biography as a JSON string."""

DIVERSITY = (
    "You will be asked to rate the similarity between several biographies. Give a score of 0 if some "
    "biographies are similar in terms of names, profession, etc., and give a score of 1 if they are all "
    'different. Provide the answer in JSON {"similarity_score": score}.\n\n'
    "Rate the similarity of the following texts:\n"
    "{concatenated_texts}\n"
    "Similarity Score:"
)
"""Question about diversity; ``{concatenated_texts}`` are JSON strings separated by blank lines."""

QUALITY_KEYS = ("score_coherence", "score_insightful", "score_likely")
DIVERSITY_KEYS = ("similarity_score",)
"""Keys of the JSON object that each question requests."""


@dataclass(frozen=True)
class Judgements:
    """Scores of N texts by a judge; NaN for an empty text, or an answer that cannot be parsed."""

    coherence: NDArray[np.float64]
    """(N,): from 1, difficult to read, to 5, very easy to read."""
    insightfulness: NDArray[np.float64]
    """(N,): from 1, not interesting, to 5, highly interesting."""
    plausibility: NDArray[np.float64]
    """(N,): from 1 to 5, how likely the text is a biography from Wikipedia."""
    diversity: NDArray[np.float64]
    """(batches,): 1 if all ten texts are different, 0 if some are similar."""
    unparsed: dict[str, int]
    """Number of answers that cannot be parsed: ``quality`` of texts, ``diversity`` of batches."""
    empty: int
    """Number of texts without words, which are not judged."""
    facts: dict[str, Any]
    """Metadata of the judge and its calls; see :class:`questions.Judge`."""


def judge_texts(texts: Sequence[str], judge: questions.Judge, workers: int = 1) -> Judgements:
    """Score biographies by a served model (PR appendix B.2).

    One question per text returns its three scores, and one question per batch of ten texts their diversity.
    Batches are in the order given, without empty texts. A remainder of fewer than ten is left out, since
    fewer texts are more likely to be all different. The temperature is 0. Each distinct question is asked
    once, and all answers are cached, so an interrupted run asks only the missing questions.

    The texts are untrusted and may contain instructions. Each is embedded in the question as a JSON string,
    which a text cannot terminate, but the judge may still follow instructions inside it. Whether the name of
    a special token in a text is treated as plain text depends on the server.

    An answer must contain one JSON object with the requested scores as numbers, from 1 to 5, or 0 or 1 for
    diversity, and may have any text before and after it. Other answers are counted as unparsed.

    Args:
        texts: N texts.
        judge: The judge.
        workers: Maximum number of concurrent requests, 1 or more.

    Returns:
        The judgements, row i for text i.

    Raises:
        TextgamutError: If ``texts`` is a single string, a text is not a string, or ``workers`` is below 1; or
            if a question gets no answer . Running requests then finish, and their
            answers are cached.

    Warns:
        UserWarning: If texts are empty, or answers cannot be parsed.
    """
    questions.check(texts, workers)
    rows = [row for row, text in enumerate(texts) if text.strip()]
    if len(rows) < len(texts):
        warnings.warn(f"{len(texts) - len(rows)} of {len(texts)} texts are empty: not judged", stacklevel=2)
    quoted = [json.dumps(texts[row], ensure_ascii=False) for row in rows]
    quality = [QUALITY.replace("{text}", text) for text in quoted]
    diversity = [
        DIVERSITY.replace("{concatenated_texts}", "\n\n".join(quoted[start : start + BATCH]))
        for start in range(0, len(quoted) - BATCH + 1, BATCH)
    ]
    distinct = list(dict.fromkeys(quality + diversity))
    found = questions.in_parallel(lambda prompt: questions.ask(prompt, judge), distinct, workers, "questions")
    answers = dict(zip(distinct, found, strict=True))

    scores = np.full((len(texts), len(QUALITY_KEYS)), np.nan)
    given = [questions.parse(answers[prompt], QUALITY_KEYS, _is_rating) for prompt in quality]
    verdicts = [questions.parse(answers[prompt], DIVERSITY_KEYS, _is_0_or_1) for prompt in diversity]
    for row, values in zip(rows, given, strict=True):
        if values is not None:
            scores[row] = values
    for question, prompts, parsed in (("quality", quality, given), ("diversity", diversity, verdicts)):
        if None in parsed:
            warnings.warn(
                f"{parsed.count(None)} of {len(parsed)} answers on {question} cannot be parsed, for example: "
                f"{answers[prompts[parsed.index(None)]][:200]!r}",
                stacklevel=2,
            )
    return Judgements(
        coherence=scores[:, 0],
        insightfulness=scores[:, 1],
        plausibility=scores[:, 2],
        diversity=np.array([np.nan if verdict is None else verdict[0] for verdict in verdicts], dtype=float),
        unparsed={"quality": given.count(None), "diversity": verdicts.count(None)},
        empty=len(texts) - len(rows),
        facts=judge.facts,
    )


def score(texts: Sequence[str], judge: questions.Judge, workers: int = 1) -> Scores:
    """Rate texts by a served model: rows of means and scores of each text, except for diversity.

    ``n`` is the number of texts, even for diversity, which is a mean over batches of texts.

    Args, Raises, Warns:
        As :func:`judge_texts` and ``metrics.rows.text_rows``.
    """
    verdict = judge_texts(texts, judge, workers)
    columns = {
        f"judge_{name}": getattr(verdict, name) for name in ("coherence", "insightfulness", "plausibility")
    }
    rows = text_rows(columns) + text_rows({"judge_diversity": verdict.diversity})
    asked = {"unparsed": verdict.unparsed, "empty": verdict.empty, "batches": len(verdict.diversity)}
    return Scores([row | {"n": len(texts)} for row in rows], columns, asked | verdict.facts)


def _is_rating(score: Any) -> bool:
    return questions.is_number(score) and 1 <= score <= 5


def _is_0_or_1(score: Any) -> bool:
    return questions.is_number(score) and score in (0, 1)
