"""Thoughts of reasoning models: where they end, and where the answers after them do."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from textgamut.config.entries.decoding import Decoding
from textgamut.config.entries.models import Reasoning

UNCLOSED = "thinking"
"""``Sample.finish`` of a text that ended, or used up its budget, before its thought was closed."""


class Limits:
    """The maximum number of new tokens, and the parts of it that belong to the thought and to the answer."""

    def __init__(self, decoding: Decoding, reasoning: Reasoning | None, tokenizer: Any) -> None:
        """Combine the limits of a decoding setting and of a model; None for a model that does not think."""
        self.reasoning = reasoning
        self.minimum, self._answer = decoding.min_new_tokens, decoding.max_new_tokens
        self._thought = reasoning.budget if reasoning else 0
        self._tokenizer = tokenizer

    @property
    def most(self) -> int:
        """The maximum number of new tokens in all."""
        return self._thought + self._answer

    def closed(self, new: Sequence[int]) -> bool:
        """Return whether the last of these tokens closes the thought."""
        assert self.reasoning is not None
        tail = new[-len(self.reasoning.strip.encode()) - 1 :]  # a token has at least one byte
        return self.reasoning.strip in self._decoded(tail)

    def reached(self, new: Sequence[int], begin: int | None) -> bool:
        """Return whether a text has as many tokens as its thought (``begin`` is None) or answer may have."""
        return len(new) == self._thought if begin is None else len(new) - begin == self._answer

    def cut(self, new: Sequence[int], finish: str) -> tuple[list[int], int | None, str]:
        """Cut a text that was generated with ``most`` as its only limit.

        Args:
            new: The new tokens.
            finish: Finish reason of the whole text.

        Returns:
            The tokens within the limits, the index of the answer's first token or None, the finish reason.
        """
        begin: int | None = 0
        if self.reasoning is not None:
            mark = self.reasoning.strip
            lengths = range(min(len(new), self._thought) + 1)
            begin = bisect.bisect_left(lengths, True, key=lambda n: mark in self._decoded(new[:n]))
            if begin == len(lengths):
                return list(new[: self._thought]), None, UNCLOSED
        end = (begin or 0) + self._answer
        return list(new[:end]), begin, "length" if len(new) > end else finish

    def _decoded(self, tokens: Sequence[int]) -> str:
        # The mark may be a special token.
        text: str = self._tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False)
        return text
