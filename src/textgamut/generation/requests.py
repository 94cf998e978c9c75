"""Requests to the engines, and the samples that they return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from textgamut.generation.sampling import random_stream
from textgamut.tasks.chat_formats import encode_prompt

if TYPE_CHECKING:
    import pandas as pd


class Request(NamedTuple):
    """A sample to generate."""

    prompt_id: str
    completion: int
    """Index among the samples of its prompt, from 0."""
    text: str
    """The rendered prompt."""
    templated: bool
    """Whether a chat template has added the special tokens, including BOS."""
    most_tokens: int | None = None
    """Number of tokens from the beginning of the prompt that are kept; None for all."""

    @property
    def key(self) -> tuple[str, int]:
        """The key of the sample within its cell."""
        return self.prompt_id, self.completion


class Sample(TypedDict):
    """A generated sample."""

    prompt_id: str
    completion: int
    continuation: str
    """The text after the prompt, with the thought in front of an answer."""
    tokens: int
    """Number of new tokens, including the one that ends the text."""
    finish: str
    """``stop`` if the model ended the text, ``length`` if it reached ``max_new_tokens``, ``thinking`` if a
    thought was not closed."""
    log_likelihood: float | None
    """Sum of the natural log-probabilities of the text's tokens, without those of a thought and the one that
    ends the text, each given everything before it. They are those of the model's own distribution, before any
    penalty, temperature, truncation or minimum length. None if the engine does not provide it."""
    scored_tokens: int
    """Number of tokens in this sum."""


COLUMNS = list(Sample.__annotations__)


def sample_table(samples: Sequence[Sample]) -> pd.DataFrame:
    """Return samples as a table, with the id of each in front."""
    import pandas as pd

    frame = pd.DataFrame(samples, columns=COLUMNS)
    frame = frame.astype({"log_likelihood": "float64", "scored_tokens": "int64"})  # also without rows
    frame.insert(0, "id", [f"{row.prompt_id}/{row.completion}" for row in frame.itertuples()])
    return frame


def encode(request: Request, tokenizer: Any) -> list[int]:
    """Return the tokens of a request's prompt; see ``chat_formats.encode_prompt``."""
    tokens = encode_prompt(request.prompt_id, request.text, request.templated, tokenizer)
    return tokens[: request.most_tokens]


def seed_of(request: Request, seed: int) -> int:
    """Return the seed of a sample, of 31 bits, for engines with their own random numbers."""
    return int(random_stream(seed, request.prompt_id, request.completion, 1)[0] >> 33)


def ordered(requests: Sequence[Request], lengths: Sequence[int]) -> list[Request]:
    """Sort requests, longest first: this keeps padding small, and a lack of memory shows at once.

    The result does not depend on the order of the requests.
    """
    length = dict(zip(requests, lengths, strict=True))
    return sorted(requests, key=lambda request: (-length[request], request.prompt_id, request.completion))
