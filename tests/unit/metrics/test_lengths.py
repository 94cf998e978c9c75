"""Lengths of the two sides."""

import warnings

import pytest

from textgamut.metrics.lengths import check_lengths, common_length


@pytest.mark.parametrize(("reference", "generated"), [(100, 79), (79, 100), (3, 0)])
def test_medians_that_differ_much_are_told(reference: int, generated: int) -> None:
    sides = (["a " * n] * 3 + ["b"] for n in (reference, generated))
    with pytest.warns(UserWarning, match=f"generated texts have {generated} words, references {reference} "):
        check_lengths(*sides)


@pytest.mark.parametrize(("reference", "generated"), [(100, 80), (80, 100), (3, 3), (0, 0)])
def test_others_are_not(reference: int, generated: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_lengths(["a " * reference] * 3, ["b " * generated] * 3 + ["b b b"])


@pytest.mark.parametrize(
    ("lengths", "common"),
    [((100, 79), 79), ((100, 80), None), ((100, 90, 70), 70), ((3, 0), None), ((0, 0), None), ((10, 1), 1)],
)
def test_sets_whose_lengths_differ_have_a_common_one(lengths: tuple[int, ...], common: int | None) -> None:
    assert common_length([["a " * n] * 3 + ["b"] for n in lengths]) == common
    assert common_length([["a " * n] * 3 + ["b"] for n in reversed(lengths)]) == common
