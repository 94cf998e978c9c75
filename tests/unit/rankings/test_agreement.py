"""Agreement of rankings: equal to its definition by pairs, and true of the world."""

import math
import warnings
from itertools import combinations

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.rankings.agreement import agreement

scores_of = st.integers(2, 9).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 5), min_size=n, max_size=n)] * 2)
)


def tau_b(one: list[int], other: list[int]) -> float:
    """Concordant less discordant pairs over the geometric mean of the pairs that each ranking orders."""

    def sign(x: float) -> int:
        return (x > 0) - (x < 0)

    pairs = [(sign(one[i] - one[j]), sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    ordered = [sum(abs(pair[side]) for pair in pairs) for side in (0, 1)]
    return sum(a * b for a, b in pairs) / math.sqrt(ordered[0] * ordered[1])


def rho(one: list[int], other: list[int]) -> float:
    """Pearson's correlation of mean ranks, counted."""

    def centred(values: list[int]) -> list[float]:
        below = [sum((y < x) + (y == x) / 2 for y in values) for x in values]
        return [x - sum(below) / len(below) for x in below]

    a, b = centred(one), centred(other)
    products = [sum(x * y for x, y in zip(*two, strict=True)) for two in ((a, b), (a, a), (b, b))]
    return products[0] / math.sqrt(products[1] * products[2])


@given(scores_of)
def test_equal_to_the_definitions(scores: tuple[list[int], list[int]]) -> None:
    one, other = scores
    assume(len(set(one)) > 1 and len(set(other)) > 1)
    found = agreement({"one": one, "other": other}).iloc[0]
    assert found["spearman"] == pytest.approx(rho(one, other), abs=1e-12)
    assert found["kendall"] == pytest.approx(tau_b(one, other), abs=1e-12)
    assert found["methods"] == len(one)


def test_same_reversed_and_stretched() -> None:
    q = [3.0, 1.0, 2.0, 5.0]
    found = agreement({"q": q, "stretched": [math.exp(x) for x in q], "reversed": [-x for x in q]})
    assert found[["ranking_1", "ranking_2"]].to_numpy().tolist() == [
        ["q", "stretched"],
        ["q", "reversed"],
        ["stretched", "reversed"],
    ]
    assert found["spearman"].tolist() == pytest.approx([1, -1, -1])
    assert found["kendall"].tolist() == pytest.approx([1, -1, -1])


def test_dictionaries_are_matched_by_method_and_a_missing_one_is_left_out() -> None:
    worth = {"a": 0.5, "b": 0.3, "c": 0.2, "d": 0.1}
    net = {"d": -3, "c": 0, "a": 9, "e": 7}
    found = agreement({"worth": worth, "net": net}).iloc[0]
    assert found["spearman"] == found["kendall"] == pytest.approx(1)
    assert found["methods"] == 3
    table = pd.DataFrame({"worth": worth, "net": net})
    assert agreement(table).iloc[0].to_dict() == found.to_dict()


def test_what_cannot_be_correlated_is_said() -> None:
    with pytest.warns(UserWarning, match="'one' with 'flat': 'flat' gives all 3 the same score"):
        found = agreement({"one": [1, 2, 3], "flat": [4, 4, 4]}).iloc[0]
    assert math.isnan(found["spearman"])
    assert math.isnan(found["kendall"])
    with pytest.warns(UserWarning, match="'one' with 'other': too few methods"):
        found = agreement({"one": {"a": 1, "b": 2}, "other": {"b": 1, "c": 2}}).iloc[0]
    assert found["methods"] == 1
    assert math.isnan(found["spearman"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agreement({"one": [1, 2, 3], "other": [1, 3, 2]})


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"one": [1], "other": [2]}, "needs two or more methods, not 1"),
        ({"one": [], "other": []}, "needs two or more methods, not 0"),
        ({"one": [1, 2]}, "two or more are needed, not 1"),
        ({}, "two or more are needed, not 0"),
        ({"one": [1, 2], "other": [1, 2, 3]}, "cannot be compared"),
        ({"one": [1, 2], "other": ["x", "y"]}, "ranking 'other': scores must be numbers"),
    ],
)
def test_bad_input(scores: dict, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        agreement(scores)
