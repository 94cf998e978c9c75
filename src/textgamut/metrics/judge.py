"""A served model as judge of biographies: how good each one is, and whether ten of them differ.

Source: PR appendix B.2, where GPT-3.5-turbo judges. The questions are the paper's, word for word; where the
print has round brackets around the JSON, these have braces.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import DataError
from textgamut.progress import Progress
from textgamut.sources.chat_server import ServedModel

REVISION = 1
"""Raised when the same texts are asked about in other words, or the same answers give other numbers."""

BATCH = 10
"""Texts of one question about diversity."""
MAX_NEW_TOKENS = 256
"""Of an answer; the three scores take about 30."""

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
"""Instruction, blank line, prompt; ``{text}`` is the biography as a JSON string."""

DIVERSITY = (
    "You will be asked to rate the similarity between several biographies. Give a score of 0 if some "
    "biographies are similar in terms of names, profession, etc., and give a score of 1 if they are all "
    'different. Provide the answer in JSON {"similarity_score": score}.\n\n'
    "Rate the similarity of the following texts:\n"
    "{concatenated_texts}\n"
    "Similarity Score:"
)
"""The same for diversity; ``{concatenated_texts}`` are JSON strings with blank lines between them."""

QUALITY_KEYS = ("score_coherence", "score_insightful", "score_likely")
DIVERSITY_KEYS = ("similarity_score",)
"""Of the JSON object that each question asks for."""


@dataclass(frozen=True)
class Judgements:
    """What the judge says of N texts; NaN where it was not asked, or its answer does not parse."""

    coherence: NDArray[np.float64]
    """(N,): from 1, difficult to read, to 5, very easy to read."""
    insightfulness: NDArray[np.float64]
    """(N,): from 1, not interesting, to 5, highly interesting."""
    plausibility: NDArray[np.float64]
    """(N,): from 1 to 5, how likely the text is a biography from Wikipedia."""
    diversity: NDArray[np.float64]
    """(batches,): 1 where ten texts are all different, 0 where some are similar."""
    unparsed: dict[str, int]
    """Answers that do not parse: ``quality`` of texts, ``diversity`` of batches."""
    empty: int
    """Texts without a word: neither question is asked about them."""
    facts: dict[str, Any]
    """Who was asked, and what it took: see ``ServedModel.facts``."""


def judge(texts: Sequence[str], served: ServedModel, workers: int = 1) -> Judgements:
    """Have a served model judge biographies (PR appendix B.2).

    One question about each text gives its three scores; one about every ten texts gives their diversity: ten
    in the order given, without the empty ones. A remainder of fewer than ten is left out, since fewer texts
    differ more easily. Temperature 0. A question that stands twice is asked once, and every answer is kept: a
    run that was interrupted asks only what is missing.

    Nobody vouches for the texts, and some may contain instructions. Each stands in the question as a JSON
    string, which its words cannot end; what the judge makes of them is up to the judge. Whether the name of a
    special token in a text is plain text is up to the server.

    An answer parses if it holds one JSON object, whatever stands before and behind it, with the scores asked
    for as numbers: from 1 to 5, for diversity 0 or 1. Any other is counted, never guessed.

    Args:
        texts: N texts.
        served: The judge.
        workers: Requests at a time, 1 or more.

    Returns:
        The judgements, row i for text i.

    Raises:
        TextgamutError: ``texts`` is one string, a text is no string, or ``workers`` below 1; or a question
            gets no answer (see ``ServedModel.ask``): then those under way end, and their answers are kept.

    Warns:
        UserWarning: Texts are empty, or answers do not parse.
    """
    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"text {row} is no string: {text!r}")
    if workers < 1:
        raise DataError(f"workers = {workers}: 1 or more are needed")

    rows = [row for row, text in enumerate(texts) if text.strip()]
    if len(rows) < len(texts):
        warnings.warn(f"{len(texts) - len(rows)} of {len(texts)} texts are empty: not judged", stacklevel=2)
    quoted = [json.dumps(texts[row], ensure_ascii=False) for row in rows]
    quality = [QUALITY.replace("{text}", text) for text in quoted]
    diversity = [
        DIVERSITY.replace("{concatenated_texts}", "\n\n".join(quoted[start : start + BATCH]))
        for start in range(0, len(quoted) - BATCH + 1, BATCH)
    ]
    answers = _ask(quality + diversity, served, workers)

    scores = np.full((len(texts), len(QUALITY_KEYS)), np.nan)
    given = [_parse(answers[prompt], QUALITY_KEYS, lambda score: 1 <= score <= 5) for prompt in quality]
    verdicts = [
        _parse(answers[prompt], DIVERSITY_KEYS, lambda score: score in (0, 1)) for prompt in diversity
    ]
    for row, values in zip(rows, given, strict=True):
        if values is not None:
            scores[row] = values
    for question, prompts, parsed in (("quality", quality, given), ("diversity", diversity, verdicts)):
        if None in parsed:
            warnings.warn(
                f"{parsed.count(None)} of {len(parsed)} answers on {question} do not parse, such as: "
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
        facts=served.facts,
    )


def _ask(prompts: Sequence[str], served: ServedModel, workers: int) -> dict[str, str]:
    """Return the answer to each prompt; one that stands twice is asked once."""
    settings = {"max_tokens": MAX_NEW_TOKENS, "temperature": 0.0}
    distinct = list(dict.fromkeys(prompts))
    progress = Progress(len(distinct), "questions")
    answers = {}
    pool = ThreadPoolExecutor(workers)
    try:
        asked = {pool.submit(served.ask, prompt, settings): prompt for prompt in distinct}
        for future in as_completed(asked):
            answers[asked[future]] = future.result().text
            progress.advance(1)
    finally:
        pool.shutdown(cancel_futures=True)
    return answers


def _parse(answer: str, keys: Sequence[str], valid: Callable[[float], bool]) -> list[float] | None:
    """Return the scores in the one JSON object of an answer; None where that is not what it holds."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        content = json.loads(answer[start : end + 1], object_pairs_hook=_without_repeats)
        scores = [content[key] for key in keys]
    except (ValueError, KeyError, RecursionError):
        return None
    if all(type(score) in (int, float) and valid(score) for score in scores):  # True is an int by isinstance
        return scores
    return None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)
