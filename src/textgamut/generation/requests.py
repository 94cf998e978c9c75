"""What every engine is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict

from textgamut.generation.sampling import random_stream
from textgamut.tasks.chat_formats import encode_prompt


class Request(NamedTuple):
    """One sample to be generated."""

    prompt_id: str
    completion: int
    """Number of the sample among those of its prompt, from 0."""
    text: str
    """The prompt as the model reads it."""
    templated: bool
    """Whether a chat template has written the special tokens, BOS among them."""

    @property
    def key(self) -> tuple[str, int]:
        """What names the sample in its cell."""
        return self.prompt_id, self.completion


class Sample(TypedDict):
    """One generated sample."""

    prompt_id: str
    completion: int
    continuation: str
    """The text after the prompt."""
    tokens: int
    """New tokens, the one that ends the text included."""
    finish: str
    """``stop`` where the model ended the text, ``length`` where ``max_new_tokens`` did."""


def encode(request: Request, tokenizer: Any) -> list[int]:
    """Return the tokens of a request's prompt; see ``chat_formats.encode_prompt``."""
    return encode_prompt(request.prompt_id, request.text, request.templated, tokenizer)


def seed_of(request: Request, seed: int) -> int:
    """Return the sample's own seed, of 31 bits, for engines that draw by themselves."""
    return int(random_stream(seed, request.prompt_id, request.completion, 1)[0] >> 33)


def ordered(requests: Sequence[Request], lengths: Sequence[int]) -> list[Request]:
    """Return the requests longest first, so that little is computed on padding and memory runs short at once.

    It does not depend on the order in which they come.
    """
    places = dict(zip(requests, lengths, strict=True))
    return sorted(requests, key=lambda request: (-places[request], request.prompt_id, request.completion))
