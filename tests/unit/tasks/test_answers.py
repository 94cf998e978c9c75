"""Answers: which part of an answer is measured, and which answers."""

from __future__ import annotations

import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.tasks.answers import biography_of, keep_longest, measured_answers, measured_text


@pytest.mark.parametrize(
    ("continuation", "text"),
    [
        (" Ada: She wrote.", "Ada:\n\nShe wrote."),
        (" Ada: Born.\n\nDied.\n\n- Biography of Bob: no", "Ada:\n\nBorn.\n\nDied."),
        (" Ada: Born.\n\n# Notes\n\n- Biography of Bob: no", "Ada:\n\nBorn."),
        (" Ada: a ratio of 1:2\n\n## See also", "Ada:\n\na ratio of 1:2"),
        (" Ada\n\nBorn: in London", "Ada\n\nBorn: in London"),
        (" a person who is not named in fewer than eleven words: yes", None),
        (" Ada was a mathematician", "Ada was a mathematician"),
        (" : nobody", ": nobody"),
        ("\n\n- Biography of Bob: no", ""),
        ("", ""),
    ],
)
def test_a_generated_biography_has_the_form_of_the_references(continuation: str, text: str | None) -> None:
    assert biography_of(continuation) == (continuation.strip() if text is None else text)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("continuation", "one two  Ada: She"),
        ("biographies", "Ada:\n\nShe wrote much."),
        ("creative", "Ada: She wrote much."),
        ("prompted", "  Ada: She wrote much."),
    ],
)
def test_what_is_measured(kind: str, text: str) -> None:
    written = "  Ada: She wrote much.\n\n- Biography of Bob: no"
    assert measured_text(kind, "one two", written, 4) == text


def test_characters_are_cut_before_words() -> None:
    assert measured_text("continuation", "one two", " three four", 3, 11) == "one two thr"
    assert measured_text("continuation", "one two", " three four", 3, 17) == "one two three"


def test_what_is_measured_uncut() -> None:
    assert measured_text("prompted", "one two", "  a\n b ", None) == "  a\n b "


def test_the_longest_completions_are_kept() -> None:
    words = {"p": [3, 5, 5, 1], "q": [2, 2, 2, 9]}
    samples = pd.DataFrame(
        [
            {"prompt_id": id_, "completion": i, "continuation": " w" * n}
            for id_, counts in words.items()
            for i, n in enumerate(counts)
        ]
    )
    kept = keep_longest(samples, 2)
    assert list(zip(kept["prompt_id"], kept["completion"], strict=True)) == [
        ("p", 1), ("p", 2), ("q", 0), ("q", 3)
    ]  # fmt: skip
    pd.testing.assert_frame_equal(keep_longest(samples, 4), samples)


PROMPTS = pd.DataFrame({"id": ["q", "p"], "base": ["three", "one two"]})


def samples(*rows: tuple[str, int, str]) -> pd.DataFrame:
    """Samples in the order given, with ids."""
    frame = pd.DataFrame(rows, columns=["prompt_id", "completion", "continuation"])
    return frame.assign(
        id=[f"{row.prompt_id}/{row.completion}" for row in frame.itertuples()], tokens=3, finish="stop"
    )


def test_answers_stand_in_the_order_of_prompts_and_completions() -> None:
    found = measured_answers(
        samples(("p", 1, ""), ("q", 1, " d e"), ("p", 0, " b c d"), ("q", 0, " ")), PROMPTS, "continuation", 4
    )
    assert list(found.texts) == ["id", "prompt_id", "text", "tokens", "finish"]
    assert found.texts["id"].tolist() == ["q/0", "q/1", "p/0", "p/1"]
    assert found.texts["text"].tolist() == ["three", "three d e", "one two b c", "one two"]
    assert found.counts == {
        "samples": 4,
        "shorter_than_max_words": 3,
        "empty_continuations": 2,
        "mean_words_before_cut": (1 + 3 + 5 + 2) / 4,
    }


def test_only_the_longest_answers_are_measured() -> None:
    written = samples(("q", 0, " a"), ("q", 1, " a b"), ("p", 0, ""), ("p", 1, ""))
    found = measured_answers(written, PROMPTS, "prompted", None, keep=1)
    assert found.texts["id"].tolist() == ["q/1", "p/0"]
    assert found.counts == {
        "samples": 4,
        "shorter_than_max_words": 0,
        "empty_continuations": 2,
        "mean_words_before_cut": 1.0,
    }


@pytest.mark.parametrize("rows", [[("p", 0, " a")], [("p", 0, ""), ("q", 0, ""), ("r", 0, "")]])
def test_samples_of_other_prompts_are_refused(rows: list[tuple[str, int, str]]) -> None:
    with pytest.raises(
        TextgamutError, match=r"1 prompts without samples or samples without prompts, such as '[qr]'"
    ):
        measured_answers(samples(*rows), PROMPTS, "continuation", 4)
