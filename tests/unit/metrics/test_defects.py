"""Signs that generation failed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.metrics.defects import distinct_answers, distinct_texts, refuses, score, unfinished
from textgamut.metrics.defects_resamples import prepare_answers, prepare_defects


@pytest.mark.parametrize(
    "text",
    ["It ends.", "Does it?", "It does!", 'He said: "Yes."', "(Yes.)", "**Done.**", "Well…", "好的。",
     "はい。」", "यह है।", "نعم؟", "It ends. \n"],
)  # fmt: skip
def test_texts_that_end_like_a_sentence(text: str) -> None:
    assert not unfinished(text)


@pytest.mark.parametrize(
    "text", ["It breaks off in the", "It ends, but,", "3.14159", "不知道", "a: b:", "x. y"]
)
def test_texts_that_do_not(text: str) -> None:
    assert unfinished(text)


@pytest.mark.parametrize(
    "text",
    ["I'm sorry, but I can't help with that.", "I\u2019m sorry, but no.", "As an AI model, I have no body.",
     "I  cannot assist with this request.", "Sorry. I'M UNABLE TO do it."],
)  # fmt: skip
def test_refusals(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize(
    "text",
    ["The minister said he was sorry.", "x" * 101 + " I cannot assist with this.", "", "Cannot see it."],
)
def test_no_refusals(text: str) -> None:
    assert not refuses(text)


def test_more_phrases_of_refusals() -> None:
    assert not refuses("Das darf ich leider nicht beantworten.")
    assert refuses("Das darf ich leider nicht beantworten.", ["DARF ICH  leider nicht"])


def test_the_share_of_different_texts() -> None:
    assert distinct_texts(["a b", "a  b", "c", "", " "]) == 2 / 3
    assert np.isnan(distinct_texts(["", " "]))


def test_the_values_of_each_text() -> None:
    with pytest.warns(UserWarning, match="have no"):
        found = score(["It ends.", "", "Привет мир", "I cannot assist with it"], "en")
    columns = {name: values.tolist() for name, values in (found.columns or {}).items()}
    assert columns["empty_texts"] == [0, 1, 0, 0]
    assert columns["unfinished_texts"][0] == 0
    assert np.isnan(columns["unfinished_texts"][1])
    assert columns["foreign_letters"][2] == 1
    assert columns["refusals"] == [0, 0, 0, 1]
    assert {row["metric"]: row["value"] for row in found.rows}["distinct_texts"] == 1


def test_refusals_are_looked_for_in_english_or_with_phrases() -> None:
    assert "refusals" not in (score(["Hallo Welt."], "de").columns or {})
    assert (score(["Hallo Welt."], "de", ["hallo"]).columns or {})["refusals"].tolist() == [1]


@given(st.lists(st.sampled_from(["a", "b ", "c d", "", "e"]), min_size=2, max_size=12), st.data())
def test_the_prepared_statistic_is_the_share_of_each_set(texts: list[str], data) -> None:
    mask = np.array([data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))])
    statistic = prepare_defects(texts)
    found = statistic.evaluate(mask)["distinct_texts"][:, 0]
    for side, value in zip((mask[0], ~mask[0]), found, strict=True):
        chosen = [text for text, own in zip(texts, side, strict=True) if own]
        assert value == pytest.approx(distinct_texts(chosen), nan_ok=True)


def test_answers_are_compared_with_those_of_their_prompt() -> None:
    prompts = ["a", "a", "a", "b", "b", "b", None]
    assert distinct_answers(["1", "2", "3", "1", "2", "3", "1"], prompts) == 1
    assert distinct_answers(["1", "1", " 1 ", "2", "2", "", "1"], prompts) == 0
    assert distinct_answers(["1", "1", "2", "2", "3", "", "1"], prompts) == pytest.approx((2 / 3 + 1) / 2)
    assert np.isnan(distinct_answers(["1", "2"], ["a", "b"]))
    assert np.isnan(distinct_answers([" "], ["a"]))


def test_the_share_does_not_depend_on_the_number_of_answers() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 8):
        texts = [str(of) for of in rng.integers(3, size=2000 * count)]
        prompts = [row // count for row in range(2000 * count)]
        assert distinct_answers(texts, prompts) == pytest.approx(2 / 3, abs=0.03)


def test_answers_of_resamples_are_those_of_their_texts() -> None:
    rng = np.random.default_rng(0)
    texts = [str(of or "") for of in rng.integers(4, size=60)]
    prompts = [f"p{of}" if of else None for of in rng.integers(12, size=60)]
    masks = np.array([rng.permutation(60) < 30 for _ in range(5)])
    statistic = prepare_answers(texts, prompts)
    found = statistic.evaluate(masks)["distinct_answers"]
    for number, mask in enumerate(masks):
        for side, of in zip((mask, ~mask), found[:, number], strict=True):
            rows = np.flatnonzero(side)
            expected = distinct_answers([texts[row] for row in rows], [prompts[row] for row in rows])
            assert of == pytest.approx(expected, rel=1e-12)
    assert np.isnan(
        prepare_answers(["a", "b"], ["p", "q"]).evaluate(np.array([[True, False]]))["distinct_answers"]
    ).all()
