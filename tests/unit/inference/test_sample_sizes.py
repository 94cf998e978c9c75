"""Numbers of texts: against the formula of a mean, and by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from textgamut.inference.sample_sizes import (
    Deviation,
    expected_power,
    needed_texts,
    pilot_deviations,
    planned,
)

PILOT = Deviation("recall", paired=False, n=400, deviation=0.02)


def test_the_number_is_that_of_a_mean() -> None:
    """For means, N = (z_0.975 + z_0.8)^2 * variance / difference^2."""
    variance = 400 * 0.02**2
    expected = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) ** 2 * variance / 0.05**2
    assert needed_texts(PILOT, 0.05, 0.8) == int(np.ceil(expected)) == 503
    assert needed_texts(PILOT, 0.05, 0.8, comparisons=20) > 1.5 * 503
    assert needed_texts(PILOT, 0.025, 0.8) == pytest.approx(4 * 503, abs=4)
    assert needed_texts(PILOT._replace(slope=-1.0), 0.025, 0.8) == pytest.approx(2 * 503 * 0.89, rel=0.01)
    assert needed_texts(PILOT, 10, 0.8) == 200  # no fewer than half of the pilot's


@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_the_needed_number_has_the_wanted_power(power: float) -> None:
    n = needed_texts(PILOT, 0.03, power, comparisons=4)
    assert expected_power(PILOT, 0.03, n, comparisons=4) == pytest.approx(power, abs=0.002)


def test_the_power_is_that_of_simulated_means() -> None:
    rng = np.random.default_rng(0)
    pilot = Deviation("x", paired=True, n=100, deviation=0.1)
    n = needed_texts(pilot, 0.15, 0.8)
    drawn = rng.normal(0.15, 1.0, size=(4000, n))
    found = stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.03)
    found = stats.ttest_1samp(drawn[:, : n // 2], 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(expected_power(pilot, 0.15, n // 2), abs=0.03)


def test_slopes_are_fitted_within_a_pair_and_used_where_they_differ() -> None:
    def rows(metric: str, slope: float, pair: str = "a") -> list[dict]:
        return [
            {"metric": metric, "model_1": pair, "model_2": "b", "paired": True, "n": n, "deviation": n**slope}
            for n in (400, 200, 100)
        ]

    other = {"metric": "recall", "model_1": "c", "model_2": "b", "paired": True, "n": 400, "deviation": 0.3}
    none = other | {"metric": "mauve", "deviation": 0.0}
    table = pd.DataFrame([*rows("recall", -0.55), *rows("mmd_gaussian", -1.0), other, none])
    recall, mmd = pilot_deviations(table)
    assert recall == Deviation("recall", True, 400, 0.3, -0.5)  # the largest deviation, the usual slope
    assert mmd.slope == pytest.approx(-1.0)
    [row] = planned([recall, mmd], {"recall": 0.1}, 0.8, 1)
    assert row["needed"] == needed_texts(recall, 0.1, 0.8)
    assert row["power"] == pytest.approx(0.8, abs=0.01)
    [row] = planned([recall, mmd], {"recall": 1.5}, 0.8, 1)  # half of the pilot's texts are more than needed
    assert row["power"] == pytest.approx(stats.norm.cdf(1.5 / (0.3 * 2**0.5) - 1.96), abs=0.001)


@pytest.mark.parametrize(
    ("quarters", "slope"), [((0.4, 0.6, 0.9, 1.3), -0.5), ((0.78, 0.8, 0.8, 0.82), -1.0)]
)
def test_a_slope_that_parts_do_not_agree_on_is_not_used(quarters: tuple[float, ...], slope: float) -> None:
    deviations = [0.2, 0.39, 0.41, *quarters]
    table = pd.DataFrame({"deviation": deviations, "n": [400, 200, 200, 100, 100, 100, 100]})
    [found] = pilot_deviations(table.assign(metric="recall", model_1="a", model_2="b", paired=True))
    assert found.slope == pytest.approx(slope, abs=0.01)
    assert (found.n, found.deviation) == (400, 0.2)
