"""Answers: which part of an answer is measured, and which answers."""

from __future__ import annotations

import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.tasks.answers import (
    LEAST_TOKENS,
    biography_of,
    count_copies,
    keep_longest,
    measured_answers,
    measured_text,
)


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


def test_words_may_end_at_spaces_alone() -> None:
    written = "\n\nthree  four five"
    assert measured_text("continuation", "one two", written, 4) == "one two\n\nthree  four"
    assert measured_text("continuation", "one two", written, 4, None, "at-spaces") == "one two\n\nthree  four"
    assert measured_text("continuation", "one two", written, 3, None, "at-spaces") == "one two\n\nthree "
    assert measured_text("biographies", "- Biography of", " Ada: a\n\nb c", None) == "Ada:\n\na\n\nb c"


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
        id=[f"{row.prompt_id}/{row.completion}" for row in frame.itertuples()],
        tokens=3,
        finish="stop",
        log_likelihood=-5.0,
        scored_tokens=2,
    )


def test_answers_stand_in_the_order_of_prompts_and_completions() -> None:
    found = measured_answers(
        samples(("p", 1, ""), ("q", 1, " d e"), ("p", 0, " b c d"), ("q", 0, " ")), PROMPTS, "continuation", 4
    )
    recorded = ["tokens", "finish", "log_likelihood", "scored_tokens"]
    assert list(found.texts) == ["id", "prompt_id", "text", *recorded]
    assert found.texts["id"].tolist() == ["q/0", "q/1", "p/0", "p/1"]
    assert found.texts["text"].tolist() == ["three", "three d e", "one two b c", "one two"]
    assert found.counts == {
        "samples": 4,
        "shorter_than_max_words": 3,
        "empty_continuations": 2,
        "mean_words_before_cut": (1 + 3 + 5 + 2) / 4,
    }


@pytest.mark.parametrize(
    ("kind", "written", "whole"),
    [
        ("prompted", " a b c", True),
        ("prompted", " a b c d e", False),
        ("prompted", "", True),
        ("continuation", " a b", True),
        ("continuation", " a b c d", False),
        ("creative", "a b", True),
        ("creative", "\na b", False),
        ("biographies", "Ann Lee: she", False),
    ],
)
def test_a_log_likelihood_is_kept_if_the_text_is_not_cut(kind: str, written: str, whole: bool) -> None:
    found = measured_answers(samples(("q", 0, written), ("p", 0, "")), PROMPTS, kind, 4).texts
    assert found["log_likelihood"].notna().iloc[0] == whole
    assert found["scored_tokens"].iloc[0] == 2


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


def test_a_thought_is_not_measured_and_an_unclosed_one_is_an_empty_answer() -> None:
    written = samples(
        ("q", 0, "I think that I think</think>\n\n a"), ("q", 1, "No</think> a b</think>"),
        ("p", 0, "So much to say that it never ends"), ("p", 1, "</think>"),
    )  # fmt: skip
    every = measured_answers(written, PROMPTS, "continuation", None, closing="</think>")
    assert every.texts["text"].tolist() == ["three a", "three a b</think>", "one two", "one two"]
    assert every.counts["unclosed_thoughts"] == 1
    assert every.texts["log_likelihood"].notna().all()  # those of the answers
    assert every.counts["empty_continuations"] == 2
    kept = measured_answers(written, PROMPTS, "prompted", None, keep=1, closing="</think>")
    assert kept.texts["id"].tolist() == ["q/1", "p/0"]


@pytest.mark.parametrize("rows", [[("p", 0, " a")], [("p", 0, ""), ("q", 0, ""), ("r", 0, "")]])
def test_samples_of_other_prompts_are_refused(rows: list[tuple[str, int, str]]) -> None:
    with pytest.raises(
        TextgamutError, match=r"1 prompts without samples or samples without prompts, such as '[qr]'"
    ):
        measured_answers(samples(*rows), PROMPTS, "continuation", 4)


def completions(*texts: str, tokens: int = LEAST_TOKENS) -> pd.DataFrame:
    """Completions of two prompts each, in the order of the texts."""
    prompts = [f"p{i // 2}" for i in range(len(texts))]
    return pd.DataFrame({"prompt_id": prompts, "continuation": texts, "tokens": tokens})


def test_copies_of_a_server_that_ignores_seeds_are_told() -> None:
    with pytest.warns(UserWarning, match="3 of 8 completions of 20 tokens or more repeat another"):
        assert count_copies(completions("ab", "ab", "cd", "cd", "ef", "gh", "ij", "ij")) == 3


@pytest.mark.filterwarnings("error")
def test_copies_by_chance_are_counted_and_not_told() -> None:
    few = [f"{i:02}" for i in range(18)] + ["ab", "ab"]
    assert count_copies(completions(*few)) == 1
    # The texts of one prompt agree to the end, those of the others nearly so: there is hardly any choice.
    assert count_copies(completions("abcd", "abcd", "abcd", "abce", "xyzw", "xyzz")) == 1


@pytest.mark.filterwarnings("error")
def test_short_texts_and_those_of_other_prompts_are_no_copies() -> None:
    assert count_copies(completions("a", "a", "b", "b", tokens=LEAST_TOKENS - 1)) == 0
    assert count_copies(completions("a", "b", "a", "b")) == 0
    assert count_copies(completions()) == 0
