"""The table of differences between models: Holm's correction and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.inference.differences import differences_table, holm, verdict
from textgamut.inference.text_differences import text_differences

RNG = np.random.default_rng(0)


def test_holm_of_a_worked_example() -> None:
    # 4 x 0.01, max(previous, 3 x 0.02), max(previous, 2 x 0.03), max(previous, 0.9)
    assert holm([0.03, 0.01, np.nan, 0.9, 0.02]) == pytest.approx(
        [0.06, 0.04, np.nan, 0.9, 0.06], nan_ok=True
    )
    assert holm([0.6, 0.7]) == pytest.approx([1, 1])
    assert len(holm([])) == 0


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_only_raises_p_values_and_keeps_their_order(p: list[float]) -> None:
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(np.array(p) * max(len(p), 1), 1)).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()


def test_holm_of_hypotheses_that_are_all_true_finds_any_in_5_percent() -> None:
    found = [np.nanmin(holm(RNG.random(12))) < 0.05 for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0.05, abs=0.011)  # three standard errors


def test_verdicts() -> None:
    assert verdict("self_bleu", -0.1, -0.2, 0.01) == "better"  # lower is better
    assert verdict("self_bleu", -0.1, -0.2, 0.05) == "cannot tell"
    assert verdict("self_bleu", -0.1, 0.2, 0.01) == "cannot tell"  # the values say otherwise
    assert verdict("precision", 0.1, 0.1, math.nan) == "cannot tell"


def test_the_correction_is_over_all_pairs_and_metrics() -> None:
    texts = pd.DataFrame({"diversity": RNG.random(20), "repetition_4": RNG.random(20), "note": "x"})
    moved = {f"m{i}": texts.assign(diversity=RNG.random(20)) for i in range(3)}
    table = differences_table(
        (first, second, text_differences(moved[first], moved[second]))
        for first, second in (("m0", "m1"), ("m0", "m2"), ("m1", "m2"))
    )
    assert table[["model_1", "model_2"]].drop_duplicates().to_numpy().tolist() == [
        ["m0", "m1"], ["m0", "m2"], ["m1", "m2"],
    ]  # fmt: skip
    assert table["metric"].tolist() == ["repetition_4", "diversity"] * 3
    np.testing.assert_array_equal(table["p_holm"], holm(table["p"]))
    assert text_differences(None, moved["m0"]) == []
    assert differences_table([]).empty
