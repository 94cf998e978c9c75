"""How much of a text is copied: words in long n-grams of others."""

from __future__ import annotations

import numpy as np
import pytest

from textgamut.metrics.copying import LENGTH, copied_words, plain_ngrams, score

ALPHABET = [f"w{i}" for i in range(60)]


def test_a_copy_within_a_text_counts_its_words() -> None:
    reference, own = " ".join(ALPHABET[:20]), [f"x{i}" for i in range(10)]
    found = score([" ".join(own[:5] + ALPHABET[4:14] + own[5:])], [reference]).columns
    assert found is not None
    assert found["copied_words"].tolist() == [0.5]


def test_fewer_words_in_common_are_no_copy() -> None:
    reference = " ".join(ALPHABET[:20])
    found = score([" ".join([*ALPHABET[: LENGTH - 1], "x", "y"])], [reference]).columns
    assert found is not None
    assert found["copied_words"].tolist() == [0]


def test_case_and_white_space_do_not_hide_a_copy() -> None:
    found = score([" ".join(ALPHABET[:9]).upper().replace(" ", "\n")], [" ".join(ALPHABET[:9])]).columns
    assert found is not None
    assert found["copied_words"].tolist() == [1]


def test_short_texts_have_no_value() -> None:
    with pytest.warns(UserWarning, match="1 of 2 texts have no copied_words"):
        found = score(["a b", " ".join(ALPHABET[:9])], ["c d"]).columns
    assert found is not None
    assert np.isnan(found["copied_words"][0])


def test_all_n_grams_of_a_text_make_it_a_copy_of_itself() -> None:
    [grams] = plain_ngrams([" ".join(ALPHABET)], LENGTH)
    assert len(grams) == len(ALPHABET) - LENGTH + 1
    assert copied_words(grams, set(grams)) == 1
    assert copied_words(grams, set()) == 0
