"""Lengths: tokens of a prompt as its model reads it, and how many examples fit into a context."""

from __future__ import annotations

from typing import Any

import pytest

from textgamut.config.entries.models import Chat
from textgamut.errors import TextgamutError
from textgamut.tasks.prompt_lengths import Lengths, check_prompts, count_tokens, most_examples
from textgamut.tasks.templates import Prompt, biographies_prompt, dataset_prompt


class Words:
    """A tokenizer whose tokens are words, behind a token that begins a text."""

    chat_template = None

    def __call__(self, text: str, add_special_tokens: bool, split_special_tokens: bool) -> dict[str, Any]:
        assert add_special_tokens
        assert split_special_tokens
        return {"input_ids": list(range(1 + len(text.split())))}


PROMPTS = {"sample-0001": dataset_prompt("word " * 899), "sample-0002": dataset_prompt("word " * 1499)}


def check(
    max_new_tokens: int, context: int | None, prompts: dict[str, Prompt] = PROMPTS, **more: Any
) -> Lengths:
    return check_prompts(prompts, Chat("none"), Words(), max_new_tokens, context, "bios", "pythia", **more)


def test_prompts_are_measured_as_the_model_reads_them() -> None:
    assert count_tokens(PROMPTS, Chat("none"), Words()) == {"sample-0001": 900, "sample-0002": 1500}
    in_chat = count_tokens(
        PROMPTS, Chat("vicuna"), Words()
    )  # USER: Continue the following text: ... ASSISTANT:
    assert in_chat == {"sample-0001": 906, "sample-0002": 1506}


def test_a_prompt_that_does_not_fit_is_named() -> None:
    assert check(548, 2048) == Lengths(2, 2400, 1200.0, 1500, 548, 2048, 0)
    assert check(10**6, None).context is None
    with pytest.raises(
        TextgamutError,
        match=r"task 'bios', model 'pythia': prompt 'sample-0002' has 1500 tokens, with up to 549 new ones "
        r"2049, but the context is limited to 2048: lower max_new_tokens, shorten the prompts, or choose "
        r"another model$",
    ):
        check(549, 2048)


def test_a_truncated_prompt_fits_into_the_context() -> None:
    assert check(1000, 2048, truncate=4096, exceeded=True) == Lengths(2, 2400, 1200.0, 1500, 1000, 2048, 0)
    assert check(1000, 1024, truncate=4096, exceeded=True) == Lengths(2, 1924, 962.0, 1024, 1000, 1024, 1)
    assert check(1000, None, truncate=800) == Lengths(2, 1600, 800.0, 800, 1000, None, 2)


def test_without_positions_beyond_the_context_a_truncated_prompt_leaves_room_for_the_answer() -> None:
    assert check(224, 1024, truncate=800) == Lengths(2, 1600, 800.0, 800, 224, 1024, 2)
    with pytest.raises(TextgamutError, match="has 800 tokens, with up to 225 new ones 1025, but the context"):
        check(225, 1024, truncate=800)


@pytest.mark.parametrize("room", range(1, 60))
def test_most_examples_is_the_largest_number_that_fits(room: int) -> None:
    """Against a search through all numbers; the prompts are of different lengths."""
    people = [[(f"Person {i}", "word " * (3 + (i * seed) % 5)) for i in range(6)] for seed in (1, 2, 3)]
    prompts = {str(i): biographies_prompt(examples) for i, examples in enumerate(people)}

    def fits(n: int) -> bool:
        shorter = {str(i): biographies_prompt(examples[:n]) for i, examples in enumerate(people)}
        return max(count_tokens(shorter, Chat("none"), Words()).values()) <= room

    expected = max((n for n in range(1, 6) if fits(n)), default=0)
    assert most_examples(prompts, 5, Chat("none"), Words(), room) == expected


def test_the_message_says_how_many_examples_fit() -> None:
    prompts = {"p": biographies_prompt([("A", "b c d")] * 4)}  # 9 tokens, and 7 for each example
    lengths = check(3, 40, prompts, examples=4)
    assert lengths.max == 9 + 4 * 7
    with pytest.raises(TextgamutError, match=r"all prompts fit with at most 3 examples$"):
        check(4, 40, prompts, examples=4)
    with pytest.raises(TextgamutError, match=r"all prompts fit with at most 1 examples$"):
        check(24, 40, prompts, examples=4)
    with pytest.raises(TextgamutError, match=r"not even one example fits$"):
        check(25, 40, prompts, examples=4)


def test_an_encoder_decoder_has_the_context_twice() -> None:
    assert check(1600, 1601, apart=True).max == 1500
    for tokens, context in ((100, 1499), (1601, 1601)):
        with pytest.raises(
            TextgamutError, match=r"has 1500 tokens, with up to \d+ new ones in the decoder, but"
        ):
            check(tokens, context, apart=True)
