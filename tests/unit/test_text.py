"""Words: cuts; NLTK's without a download; tokens per word, the published values beside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.tokens_per_word import tokens_per_word
from textgamut.text import clean_up_spaces, cut_continuation, cut_words, nltk_words


def letters(text: str, add_special_tokens: bool, split_special_tokens: bool) -> dict[str, list[str]]:
    """A tokenizer that makes a token of every letter that is no blank."""
    assert not add_special_tokens
    assert split_special_tokens
    return {"input_ids": [letter for letter in text if not letter.isspace()]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Good muffins cost $3.88.", ["Good", "muffins", "cost", "$", "3.88", "."]),
        ("It ends here. It doesn't!", ["It", "ends", "here", ".", "It", "does", "n't", "!"]),
        ("(yes), no", ["(", "yes", ")", ",", "no"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_words_are_those_of_nltk(text: str, words: list[str]) -> None:
    assert nltk_words(text) == words


def test_the_ratio_is_of_the_sums_over_all_texts() -> None:
    result = tokens_per_word(["ab cd", "abcdef", " "], letters)
    assert (result.texts, result.words, result.tokens) == (2, 3, 10)
    assert result.ratio == 10 / 3  # the mean of the texts' ratios would be 4


def test_no_word_at_all() -> None:
    with pytest.raises(TextgamutError, match="no text has a word"):
        tokens_per_word([" ", ""], letters)


@given(st.lists(st.sampled_from([*" .?!,'", "n't", "m", "s", "ve", "re", "a"]), max_size=12).map("".join))
def test_spaces_are_cleaned_up_as_by_transformers(text: str) -> None:
    from transformers import PreTrainedTokenizerFast

    assert clean_up_spaces(text) == PreTrainedTokenizerFast.clean_up_tokenization(None, text)


def test_a_cut_continuation_keeps_the_space_before_it() -> None:
    assert cut_words("  a\n b c ", 2) == "a\n b"
    assert cut_continuation("  a\n b c ", 2) == "  a\n b"
    assert cut_continuation("  a\n b c ", None) == "  a\n b c "
    assert cut_continuation(" \n", 2) == " \n"
