"""Texts on both sides of a comparison, and copies within a side."""

from __future__ import annotations

import warnings

import pytest

from textgamut.metrics.overlap import check_overlap

LEFT, RIGHT = [f"text {i} a" for i in range(200)], [f"text {i} b" for i in range(200)]


@pytest.mark.parametrize(
    ("generated", "message"),
    [
        (LEFT, "^200 of 200 generated texts .100.0%. are also among the references"),
        ([*RIGHT[:-1], LEFT[7]], "^1 of 200 generated texts .0.5%. are"),
        ([*RIGHT[:-2], " text  7\ta\n", "text 8\u3000a"], "^2 of 200 generated texts .1.0%. are"),
    ],
)
def test_texts_of_both_sides_are_counted_without_white_space(generated: list[str], message: str) -> None:
    with pytest.warns(UserWarning, match=message):
        check_overlap(LEFT, generated)


@pytest.mark.parametrize("generated", [RIGHT, [*RIGHT[:-1], "Text 7 a"], [*RIGHT[:-1], "text 7"], ["", "x"]])
def test_other_texts_are_not_warned_of(generated: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_overlap([*LEFT, "", " "], generated)


def test_copies_within_a_side_are_counted_on_request() -> None:
    copies = ["same  text", *RIGHT[:97], "same text", "same text"]
    with pytest.warns(UserWarning, match="^3 of 100 generated texts occur more than once$"):
        check_overlap(LEFT, copies, within=True)
    with pytest.warns(UserWarning, match="^3 of 100 references occur more than once$"):
        check_overlap(copies, LEFT, within=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_overlap(LEFT, copies)
        check_overlap(LEFT, [*RIGHT[:198], "same", "same"], within=True)  # 1 %
        check_overlap(LEFT, ["", "", "", *RIGHT], within=True)
