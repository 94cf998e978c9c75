"""Prompt templates of the papers, and the functions that fill them.

A prompt has two variants: ``base`` for pre-trained models, and ``user`` and ``start`` for chat models, where
``start`` is the beginning of the answer, with the white space before it. It is placed after the instruction
so that the model does not begin with "Sure! Here is ..." (PR appendix B.4).

The line breaks of the prompts in PR Tables B.3 and B.6 come from the authors' code, as do the creative
prompts, which are not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from textgamut.errors import DataError
from textgamut.text import WordsEnd, count_words, cut_words, split_words

if TYPE_CHECKING:
    import pandas as pd

REVISION = 3
"""Increase on any change of a prompt, even of a single space."""

CONTINUE_INSTRUCTION = "Continue the following text:\n\n{beginning}"
"""PR Table B.3. Also used for prompts from a dataset, since no paper prints a chat variant for them."""

BIOGRAPHIES_INSTRUCTION = "Write biographies of various people."
EXAMPLES_FOLLOW = "Here are a few examples:"
EXAMPLE_START = "- Biography of"
"""PR Table B.6. Blank lines separate its paragraphs: the authors' code cuts answers at the next one."""

BIOGRAPHY_NAME_WORDS = 10
"""Maximum length in words of a name, both in in-context examples (PR, the authors' code) and in answers."""

CREATIVE_INSTRUCTION = "{prompt} Your text should be approximately between 100 and 500 words."
CREATIVE_BASE = "Below is a text following the instructions:\n\n{instruction}\n\n### Text:\n\n"
"""The prompt for pre-trained models, instead of a chat format (PR section 5.5, the authors' code)."""
CREATIVE_START = " Sure here is a proposition:\n\n"


class Prompt(NamedTuple):
    """One prompt in its variants."""

    base: str
    user: str
    start: str


def prompts_of(table: pd.DataFrame) -> dict[str, Prompt]:
    """Return the prompts in a table: id -> prompt, in the order of the rows (see ``tasks.drawing``).

    If the table has prompts of several generation seeds, the ids are pairs such as ``sample-0001, seed 2``.
    """
    ids = table["id"]
    if "seed" in table and table["seed"].nunique() > 1:
        ids = ids + ", seed " + table["seed"].astype(str)
    columns = (table[name] for name in Prompt._fields)
    return dict(zip(ids, map(Prompt, *columns), strict=True))


def continuation_prompt(text: str, words: int, words_end: WordsEnd = "at-white-space") -> Prompt:
    """Create the WebText prompt of PR Table B.3 from a human text.

    Args:
        text: A text of at least ``words`` words.
        words: Number of words from the beginning of the text in the prompt, at least 2 (paper: 10).
        words_end: Where words end.

    Returns:
        The prompt. ``base`` contains these words; in the chat variant, the last word is the start of the
        answer and the others are in the instruction. A single space separates words, unless they end at
        boundaries, where the text stays as it is.
    """
    if count_words(text, words_end) < words:
        raise DataError(f"a prompt of {words} words cannot be made from {text!r}")
    if words_end == "at-boundaries":
        base, beginning = (cut_words(text, n, words_end) for n in (words, words - 1))
        return Prompt(base, CONTINUE_INSTRUCTION.format(beginning=beginning), base[len(beginning) :])
    given = split_words(text, words_end)[:words]
    return Prompt(
        base=" ".join(given),
        user=CONTINUE_INSTRUCTION.format(beginning=" ".join(given[:-1])),
        start=f" {given[-1]}",
    )


def biographies_prompt(examples: Sequence[tuple[str, str]]) -> Prompt:
    """Create the biography prompt of PR Table B.6.

    Both variants end with the beginning of the next biography, ``- Biography of``, which follows the
    instruction in chat formats. In the paper's table, the prompt for pre-trained models does not include it;
    but then a model would generate it first, and answers are cut there.

    Args:
        examples: Name and biography of each in-context example; if empty, the prompt is only the instruction.
    """
    shown = [f"{EXAMPLE_START} {name}:\n\n{content}" for name, content in examples]
    lead = f"{BIOGRAPHIES_INSTRUCTION} {EXAMPLES_FOLLOW}" if shown else BIOGRAPHIES_INSTRUCTION
    return Prompt(
        base="\n\n".join([BIOGRAPHIES_INSTRUCTION, *shown, EXAMPLE_START]),
        user="\n\n".join([lead, *shown]),
        start=f"\n\n{EXAMPLE_START}",
    )


def fewer_examples(prompt: Prompt, n: int) -> Prompt:
    """Return a biography prompt with only its first ``n`` in-context examples."""
    cut = f"\n\n{EXAMPLE_START} "
    base, user = (
        cut.join(text.split(cut)[: n + 1]) for text in (prompt.base.removesuffix(EXAMPLE_START), prompt.user)
    )
    return Prompt(base.rstrip() + f"\n\n{EXAMPLE_START}", user, prompt.start)


def creative_prompt(prompt: str) -> Prompt:
    """Create the variants of a creative prompt (PR section 5.5, Listing 1; the authors' code)."""
    instruction = CREATIVE_INSTRUCTION.format(prompt=prompt)
    return Prompt(CREATIVE_BASE.format(instruction=instruction), instruction, CREATIVE_START)


def dataset_prompt(prompt: str) -> Prompt:
    """Create the variants of a prompt from a dataset (NW section 3, MC section 3)."""
    return Prompt(base=prompt, user=CONTINUE_INSTRUCTION.format(beginning=prompt), start="")
