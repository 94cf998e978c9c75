"""The papers' prompt templates as data, and the prompts that are made from them.

A prompt has two variants made from one template: ``base`` for pre-trained models, and ``user`` plus
``start`` for chat models, where ``start`` is the beginning of the answer, put outside the instruction so
that the model does not open with "Sure! Here is ..." (PR appendix B.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import DataError
from textgamut.text import count_words, cut_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 2
"""Raised when a prompt changes by so much as a space."""

CONTINUE_INSTRUCTION = "Continue the following text: {beginning}"
"""PR Table B.3; here also for prompts that a dataset gives, of which no paper has a chat variant."""

BIOGRAPHIES_INSTRUCTION = "Write biographies of various people."
EXAMPLES_FOLLOW = "Here are a few examples:"
EXAMPLE_START = "- Biography of"
"""PR Table B.6. Its paragraphs are set off by blank lines, as the authors' cut at the next one shows."""

BIOGRAPHY_NAME_WORDS = 10
"""Longest name of an in-context example, in words (PR, the authors' code), and so of a generated one."""

CREATIVE_INSTRUCTION = "{prompt} Write 100 to 500 words."
"""The papers ask for that length in words of their own, which they do not print."""

CREATIVE_START = "\n\n### Text:"
"""What a pre-trained model is given after the instruction, in place of a chat format."""


class Prompt(NamedTuple):
    """One prompt in its variants."""

    base: str
    user: str
    start: str


def prompts_of(table: pd.DataFrame) -> dict[str, Prompt]:
    """Return the prompts of a task: id -> prompt, in the order of its table (see ``tasks.draws``)."""
    columns = (table[name] for name in Prompt._fields)
    return dict(zip(table["id"], map(Prompt, *columns), strict=True))


def continuation_prompt(text: str, words: int) -> Prompt:
    """Make the WebText prompt of PR Table B.3 from a human text.

    Args:
        text: A text of at least ``words`` words.
        words: How many of its first words the model is given, at least 2 (paper: 10).

    Returns:
        ``base`` is those words; the chat variant gives all but the last in the instruction and the last
        one as the start of the answer. White space between the words becomes one space.
    """
    if count_words(text) < words:
        raise DataError(f"a prompt of {words} words cannot be made from {text!r}")
    given = cut_words(text, words).split()
    return Prompt(
        base=" ".join(given),
        user=CONTINUE_INSTRUCTION.format(beginning=" ".join(given[:-1])),
        start=given[-1],
    )


def biographies_prompt(examples: Sequence[tuple[str, str]]) -> Prompt:
    """Make the biography prompt of PR Table B.6.

    Both variants end where the next biography begins, ``- Biography of``, in chat formats outside the
    instruction. The table's cell for pre-trained models breaks off before it; but then a model's first words
    would be that beginning, at which answers are cut.

    Args:
        examples: Name and biography of each in-context example; none gives the instruction alone.
    """
    shown = [f"{EXAMPLE_START} {name}: {content}" for name, content in examples]
    lead = [EXAMPLES_FOLLOW] if shown else []
    return Prompt(
        base="\n\n".join([BIOGRAPHIES_INSTRUCTION, *shown, EXAMPLE_START]),
        user="\n\n".join([BIOGRAPHIES_INSTRUCTION, *lead, *shown]),
        start=EXAMPLE_START,
    )


def fewer_examples(prompt: Prompt, n: int) -> Prompt:
    """Return a biography prompt with its first n in-context examples."""
    cut = f"\n\n{EXAMPLE_START} "
    base, user = (
        cut.join(text.split(cut)[: n + 1]) for text in (prompt.base.removesuffix(EXAMPLE_START), prompt.user)
    )
    return Prompt(base.rstrip() + f"\n\n{EXAMPLE_START}", user, prompt.start)


def creative_prompt(prompt: str) -> Prompt:
    """Make the variants of one creative prompt (PR section 5.5, Listing 1)."""
    instruction = CREATIVE_INSTRUCTION.format(prompt=prompt)
    return Prompt(base=instruction + CREATIVE_START, user=instruction, start="")


def given_prompt(prompt: str) -> Prompt:
    """Make the variants of a prompt that a dataset gives (NW section 3, MC section 3)."""
    return Prompt(base=prompt, user=CONTINUE_INSTRUCTION.format(beginning=prompt), start="")
