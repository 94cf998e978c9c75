"""Scores of methods and their dominance: equal to brute force, and bad tables are named."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from textgamut.errors import TextgamutError
from textgamut.rankings.dominance import (
    DominanceCounts,
    dominance_counts,
    dominance_orders,
    dominance_summary,
    dominance_table,
    pareto_front,
)
from textgamut.rankings.method_scores import method_scores, wide_method_scores

# Few values, so that methods tie on a criterion, or on all.
scores_of = array_shapes(min_dims=3, max_dims=3, max_side=6).flatmap(
    lambda shape: arrays(float, shape, elements=st.sampled_from([-math.inf, -1.0, 0.0, 2.5]))
)


def dominates(a, b) -> bool:
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))


class TestOrders:
    @given(scores_of)
    @settings(max_examples=150)
    def test_equal_to_brute_force_and_partial_orders(self, scores):
        orders = dominance_orders(scores)
        methods = range(scores.shape[1])
        for one, order in zip(scores, orders, strict=True):
            for i, j in itertools.product(methods, methods):
                assert order[i, j] == (i == j or dominates(one[i], one[j]))
                assert not (order[i, j] and order[j, i] and i != j)
                for k in methods:
                    assert order[i, k] or not (order[i, j] and order[j, k])

    def test_equal_methods_are_incomparable(self):
        (order,) = dominance_orders([[[1, 2], [1, 2], [1, 1]]])
        assert order.tolist() == [[True, False, True], [False, True, True], [False, False, True]]

    def test_reversing_the_criteria_reverses_the_orders(self):
        scores = np.random.default_rng(0).integers(0, 3, (20, 5, 2))
        assert (dominance_orders(-scores) == dominance_orders(scores).transpose(0, 2, 1)).all()

    def test_an_empty_text_is_worst(self):
        (order,) = dominance_orders([[[-math.inf, 1], [0, 1], [-math.inf, 0]]])
        assert order[1, 0]
        assert order[0, 2]  # both empty on the first criterion: the second decides

    def test_nan_is_refused(self):
        with pytest.raises(
            TextgamutError, match=r"prompt 1, method 0, criterion 2: the score is nan \(1 such"
        ):
            dominance_orders([[[0, 0, 0]], [[0, 0, math.nan]]])
        with pytest.raises(
            TextgamutError,
            match=r"oriented: must be an array \(prompts, methods, criteria\) .* found ndarray \(2, 2\)",
        ):
            dominance_orders(np.zeros((2, 2)))


class TestCounts:
    @given(scores_of)
    @settings(max_examples=100)
    def test_counts_are_sums_of_the_orders(self, scores):
        counts = dominance_counts(scores)
        strict = dominance_orders(scores) & ~np.eye(scores.shape[1], dtype=bool)
        assert (counts.wins == strict.sum(axis=0)).all()
        assert (counts.ties == counts.ties.T).all()
        assert not counts.wins.diagonal().any()
        assert not counts.ties.diagonal().any()
        off = ~np.eye(scores.shape[1], dtype=bool)
        assert ((counts.wins + counts.wins.T + counts.ties)[off] == counts.prompts).all()

    def test_more_prompts_than_a_byte_counts(self):
        counts = dominance_counts(np.tile([[1.0], [0.0]], (700, 1, 1)))
        assert counts.wins.tolist() == [[0, 700], [0, 0]]
        assert counts.prompts == 700

    def test_the_order_of_prompts_and_methods_does_not_matter(self):
        rng = np.random.default_rng(0)
        scores = rng.integers(0, 4, (300, 7, 3))
        prompts, methods = rng.permutation(300), rng.permutation(7)
        counts, again = dominance_counts(scores), dominance_counts(scores[prompts][:, methods])
        assert (again.wins == counts.wins[methods][:, methods]).all()

    def test_table_and_summary(self):
        # Of ten prompts, a dominates b on all and c on nine; c never dominates, nor does b.
        scores = np.zeros((10, 3, 2))
        scores[:, 0] = 1
        scores[9, 2] = [5, 0]
        scores[:, 1, 1], scores[:, 2, 1] = -1, -2
        scores[:, 1, 0] = -5
        counts = dominance_counts(scores)
        table = dominance_table(counts, ["a", "b", "c"])
        assert table.to_numpy().tolist() == [
            ["a", "b", 10, 1.0],
            ["a", "c", 9, 0.9],
            ["b", "a", 0, 0.0],
            ["b", "c", 0, 0.0],
            ["c", "a", 0, 0.0],
            ["c", "b", 0, 0.0],
        ]
        summary = dominance_summary(counts)
        assert (summary.pairs, summary.always, summary.mostly, summary.never) == (6, 1, 1, 4)
        assert list(table["wins"] == counts.prompts) == list(table["share"] == 1)
        with pytest.raises(TextgamutError, match="2 names of methods for 3 methods"):
            dominance_table(counts, ["a", "b"])

    @pytest.mark.parametrize(
        ("wins", "prompts", "mostly"), [(1182, 1314, 0), (1183, 1314, 1), (1800, 2000, 0)]
    )
    def test_mostly_is_more_than_90_percent(self, wins, prompts, mostly):
        counts = DominanceCounts(np.array([[0, wins], [0, 0]]), np.zeros((2, 2), dtype=int), prompts)
        assert dominance_summary(counts).mostly == mostly


@given(arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=7), elements=st.integers(0, 3)))
@settings(max_examples=100)
def test_pareto_front(means):
    front = pareto_front(means)
    assert front.any()
    for j, mean in enumerate(means):
        assert front[j] == (not any(dominates(other, mean) for other in means))


def long_table() -> pd.DataFrame:
    rows = [
        (prompt, method, criterion, 100 * p + 10 * m + c)
        for (p, prompt), (m, method), (c, criterion) in itertools.product(
            enumerate(["p0", "p1", "p2"]),
            enumerate(["x", "y"]),
            enumerate(["perplexity", "coherence", "length"]),
        )
    ]
    return pd.DataFrame(rows, columns=["prompt", "method", "criterion", "value"])


def wide_table() -> pd.DataFrame:
    frame = long_table()
    return frame.pivot(index=["prompt", "method"], columns="criterion", values="value").reset_index()


class TestMethodScores:
    def test_values_stand_where_they_belong(self):
        for scores in (
            method_scores(long_table(), ["coherence"], ["perplexity"]),
            wide_method_scores(wide_table(), ["coherence"], ["perplexity"]),
        ):
            assert (scores.prompts, scores.methods) == (["p0", "p1", "p2"], ["x", "y"])
            assert scores.criteria == ["coherence", "perplexity"]
            assert scores.values[2, 1].tolist() == [211, 210]
            assert scores.higher.tolist() == [True, False]
            assert scores.oriented[2, 1].tolist() == [211, -210]

    @given(st.permutations(range(18)))
    @settings(max_examples=30)
    def test_the_order_of_the_rows_decides_only_that_of_the_names(self, rows):
        scores = method_scores(long_table().iloc[list(rows)], ["coherence"], ["perplexity"])
        expected = method_scores(long_table(), ["coherence"], ["perplexity"])
        prompts = [expected.prompts.index(name) for name in scores.prompts]
        methods = [expected.methods.index(name) for name in scores.methods]
        assert (scores.values == expected.values[prompts][:, methods]).all()

    def test_numbers_are_names(self):
        frame = pd.DataFrame(
            {"prompt": [7, 7, "7", 8, 8, "8"], "method": [1, 2, "3", "1", "2", 3], "a": range(6)},
            dtype=object,
        )
        scores = wide_method_scores(frame, ["a"], [])
        assert (scores.prompts, scores.methods) == (["7", "8"], ["1", "2", "3"])
        assert scores.values[..., 0].tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_a_missing_value_is_worst_when_asked(self):
        frame = wide_table().astype({"coherence": float, "perplexity": float})
        frame.loc[0, ["coherence", "perplexity"]] = math.nan
        frame.loc[1, "perplexity"] = math.nan
        scores = wide_method_scores(frame, ["coherence"], ["perplexity"], missing_as_worst=True)
        assert np.isnan(scores.values[0]).tolist() == [[True, True], [False, True]]
        assert scores.oriented[0].tolist() == [[-math.inf, -math.inf], [11, -math.inf]]
        (order, *_) = dominance_orders(scores.oriented)
        assert order.tolist() == [[True, False], [True, True]]

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda f: f.drop(columns=["method", "value"]), r"no column 'method', 'value'"),
            (lambda f: f[f["criterion"] != "coherence"], r"no criterion 'coherence'; valid: 'length', 'perp"),
            (lambda f: f.replace("coherence", "coherency"), r"'coherence'; nearest valid: 'coherency'"),
            (lambda f: f.drop(index=10), r"'coherence' of method 'y' on prompt 'p1' is missing \(1 such\)"),
            (
                lambda f: f[(f["prompt"] == "p0") | (f["method"] == "x")],
                r"method 'y' has no value for prompt 'p1' \(2 such\)",
            ),
            (lambda f: f[f["method"] == "x"], r"two methods or more are needed, found 1"),
            (
                lambda f: pd.concat([f, f.iloc[[3, 4]]]),
                r"'coherence' of method 'y' on prompt 'p0' is duplicated \(1 such\)",
            ),
            (
                lambda f: f.astype(object).replace({"value": {11: "good"}}),
                r"'y' on prompt 'p0' is not a number",
            ),
            (lambda f: f.replace({"value": {111: math.inf}}), r"'y' on prompt 'p1' is infinite \(1 such\)"),
            (lambda f: f.replace({"value": {111: math.nan}}), r"'y' on prompt 'p1' is nan \(1 such\)"),
            (lambda f: f.replace({"prompt": {"p1": None}}), r"row 6: no prompt is given \(6 such rows\)"),
        ],
    )
    def test_bad_table(self, change, message):
        with pytest.raises(TextgamutError, match=message):
            method_scores(change(long_table()), ["coherence"], ["perplexity"])

    def test_a_row_of_an_ignored_criterion_may_be_anything(self):
        frame = long_table().astype({"value": object})
        frame.loc[frame["criterion"] == "length", "value"] = "long"
        assert method_scores(frame, ["coherence"], ["perplexity"]).values.shape == (3, 2, 2)

    @pytest.mark.parametrize("bad", ["good", math.inf, -math.inf])
    def test_what_is_no_number_is_refused_even_where_missing_is_worst(self, bad):
        frame = wide_table().astype({"coherence": object})
        frame.loc[2, "coherence"] = bad
        with pytest.raises(
            TextgamutError, match=r"'coherence' of method 'x' on prompt 'p1' is (not|infinite)"
        ):
            wide_method_scores(frame, ["coherence"], [], missing_as_worst=True)

    @pytest.mark.parametrize(
        ("higher", "lower", "message"),
        [
            ([], [], "no criterion is named"),
            (["coherence"], ["perplexity", "coherence"], "'coherence' is named as both higher and lower"),
            (["coherence", "coherence"], [], "'coherence' is named twice"),
            (["coherance"], [], "no criterion 'coherance'; nearest valid: 'coherence'"),
            ("coherence", [], "not the string 'coherence'"),
        ],
    )
    def test_bad_criteria(self, higher, lower, message):
        for read, table in ((method_scores, long_table()), (wide_method_scores, wide_table())):
            with pytest.raises(TextgamutError, match=message):
                read(table, higher, lower)
