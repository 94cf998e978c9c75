"""Tables: analytic means and spreads of additive scores, honest gaps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from textgamut.errors import TextgamutError
from textgamut.report.html import to_html
from textgamut.report.tables import (
    SCORES,
    correlation_table,
    held,
    mean_intervals,
    parameter_groups,
    parameter_table,
    precision_recall_runs,
    rescaled,
    runs_table,
    scores_file,
    summary_table,
    texts_table,
    tidy,
    variance_table,
)

SEEDS = [-0.01, 0.01]  # sample standard deviation 0.01 * sqrt(2)
DRAWS = [-0.03, 0.0, 0.03]  # sample standard deviation 0.03


def additive(model="m", seeds=SEEDS, draws=DRAWS, scale=1.0, **cell):
    """Precision = 0.6 + seed effect + draw effect, recall = 0.4 - half of that, times ``scale``."""
    rows = []
    for seed, s in enumerate(seeds):
        for draw, d in enumerate(draws):
            run = {"task": "webtext", "model": model, "decoding": "nucleus", "embedder": "minilm"}
            run |= {"n": 240, "k": 4, "group": "all", "seed": seed, "draw": draw} | cell
            effect = scale * (s + d)
            rows += [run | {"metric": "precision", "value": 0.6 + effect}]
            rows += [run | {"metric": "recall", "value": 0.4 - effect / 2}]
    return pd.DataFrame(rows)


class TestSummary:
    def test_mean_and_spread_over_all_runs(self):
        row = summary_table(additive()).iloc[0]
        spread = np.sqrt((3 * 2 * 0.01**2 + 2 * 2 * 0.03**2) / (6 - 1))
        assert row["precision"] == pytest.approx(0.6)
        assert row["precision_sd"] == pytest.approx(spread)
        assert row["recall"] == pytest.approx(0.4)
        assert row["recall_sd"] == pytest.approx(spread / 2)
        assert (row["runs"], row["seeds"], row["draws"]) == (6, 2, 3)

    def test_a_single_run_has_a_mean_and_no_spread(self):
        row = summary_table(additive(seeds=[0.0], draws=[0.0])).iloc[0]
        assert row["precision"] == pytest.approx(0.6)
        assert np.isnan(row["precision_sd"])
        assert row["runs"] == 1

    def test_of_a_single_run_the_spread_is_its_own(self):
        scores = additive(seeds=[0.0], draws=[0.0]).assign(deviation=0.07)
        assert summary_table(scores)["precision_sd"].tolist() == [0.07]
        assert summary_table(additive().assign(deviation=0.07))["recall_sd"][0] != 0.07

    def test_the_interval_of_a_run_stands_beside_the_spread_over_runs(self):
        """Runs that share prompts vary less than the interval of each says."""
        scores = additive(scale=0.1).assign(low=lambda s: s["value"] - 0.08, high=lambda s: s["value"] + 0.06)
        scores.loc[scores["metric"] == "recall", ["low", "high"]] = np.nan
        row = summary_table(scores).iloc[0]
        assert (row["precision_low"], row["precision_high"]) == pytest.approx((0.52, 0.66))
        assert row["precision_sd"] < 0.003
        assert "recall_low" not in row
        assert "precision_low" not in summary_table(additive())
        page = to_html(summary_table(scores), "t")
        assert "0.600 ± 0.003 [0.520, 0.660]" in page
        assert "precision_low" not in page
        assert mean_intervals(scores) == {("m", "nucleus", "precision"): pytest.approx((0.52, 0.66))}
        assert mean_intervals(additive()) == {}

    def test_what_sees_no_references_stands_beside_what_does(self):
        wording = [
            {"task": "webtext", "model": "m", "decoding": "nucleus", "seed": seed, "n": 240, "group": "all"}
            | {"metric": "diversity", "value": value}
            for seed, value in enumerate([0.8, 0.9])
        ]
        table = summary_table(tidy(additive().to_dict("records") + wording))
        assert len(table) == 1
        assert table["diversity"][0] == pytest.approx(0.85)
        assert table["diversity_sd"][0] == pytest.approx(0.1 / np.sqrt(2))
        assert (table["runs"][0], table["k"][0], table["embedder"][0]) == (6, 4, "minilm")

    def test_wording_alone_makes_a_table(self):
        row = {"task": "t", "model": "m", "decoding": "d", "seed": 1, "n": 9, "group": "all"}
        table = summary_table(tidy([row | {"metric": "diversity", "value": 0.5}]))
        assert (table["diversity"][0], table["runs"][0], table["draws"][0]) == (0.5, 1, 0)
        assert "nan" not in to_html(table, "x").lower()

    def test_groups_are_rows_of_their_own_and_stay_out_of_the_figures(self):
        scores = pd.concat([additive(), additive(group="topic=a", scale=0.0)])
        assert summary_table(scores)["group"].tolist() == ["all", "topic=a"]
        assert set(precision_recall_runs(scores, alike=[])["group"]) == {"all"}

    def test_one_row_per_cell_in_order_of_appearance(self):
        scores = pd.concat(
            [additive("z"), additive("a"), additive("z", n=4000), additive("z", embedder="gpt2")]
        )
        table = summary_table(scores)
        assert table[["model", "n", "embedder"]].to_numpy().tolist() == [
            ["z", 240, "minilm"],
            ["a", 240, "minilm"],
            ["z", 4000, "minilm"],
            ["z", 240, "gpt2"],
        ]

    def test_the_order_of_the_rows_changes_no_number(self):
        scores = pd.concat([additive("a"), additive("b", scale=0.37)])
        shuffled = scores.sample(frac=1, random_state=1)
        expected, found = (
            summary_table(frame).set_index("model").sort_index() for frame in (scores, shuffled)
        )
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        pd.testing.assert_frame_equal(variance_table(shuffled), variance_table(scores), check_exact=True)

    def test_a_metric_that_a_cell_lacks_is_a_gap(self):
        extra = additive("b", seeds=[0.0], draws=[0.0]).head(1).assign(metric="density", value=1.3)
        table = summary_table(pd.concat([additive("a"), additive("b"), extra])).set_index("model")
        assert np.isnan(table.loc["a", "density"])
        assert table.loc["b", "density"] == pytest.approx(1.3)

    def test_columns_of_a_categorical_type(self):
        scores = additive().astype({"model": "category", "metric": "category"})
        pd.testing.assert_frame_equal(summary_table(scores), summary_table(additive()))


class TestVariance:
    def test_each_source_of_variance_alone_and_both(self):
        table = variance_table(additive()).set_index(["metric", "varying"])
        both = np.sqrt(2 * 0.01**2 + 0.03**2)
        for varying, spread in [("Q", 0.01 * np.sqrt(2)), ("P", 0.03), ("P and Q", both)]:
            assert table.loc[("precision", varying), "mean"] == pytest.approx(spread)
            assert table.loc[("recall", varying), "mean"] == pytest.approx(spread / 2)
        assert (table["cells"] == 1).all()
        assert table["sd"].isna().all()

    def test_equal_to_the_analysis_of_variance(self):
        """Of crossed runs, each with a part of its own."""
        scores = additive(seeds=[0.0, 0.02, -0.03, 0.01], draws=[0.01, -0.02, 0.03])
        scores["value"] += np.random.default_rng(0).normal(0, 0.02, len(scores))
        of = scores[scores["metric"] == "precision"].pivot(index="seed", columns="draw", values="value")
        values = of.to_numpy()
        rest = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
        error = (rest**2).sum() / (3 * 2)
        both = (
            3 * values.mean(1).var(ddof=1) / 3
            + 4 * values.mean(0).var(ddof=1) / 4
            + error * (1 - 1 / 4 - 1 / 3)
        )
        expected = {
            "Q": values.var(axis=0, ddof=1).mean(),
            "P": values.var(axis=1, ddof=1).mean(),
            "P and Q": both,
        }
        found = variance_table(scores).query("metric == 'precision'").set_index("varying")["mean"]
        assert found.to_dict() == pytest.approx({name: np.sqrt(of) for name, of in expected.items()})

    def test_a_mean_of_deviations_of_two_draws_is_a_fifth_too_low_and_the_root_of_their_variances_is_not(
        self,
    ):
        rng = np.random.default_rng(1)
        cells = [additive(f"m{i}", seeds=[0.0, 0.0], draws=rng.normal(0, 0.01, 2)) for i in range(400)]
        scores = pd.concat(cells)
        for average, expected in (("variances", 0.01), ("deviations", 0.01 * np.sqrt(2 / np.pi))):
            found = variance_table(scores, average).set_index(["metric", "varying"])
            assert found.loc[("precision", "P"), "mean"] == pytest.approx(expected, rel=0.06)

    def test_over_all_runs_as_printed(self):
        table = variance_table(additive(), "deviations").set_index(["metric", "varying"])
        both = np.sqrt((3 * 2 * 0.01**2 + 2 * 2 * 0.03**2) / (6 - 1))
        assert table.loc[("precision", "P and Q"), "mean"] == pytest.approx(both)

    def test_averaged_over_cells_with_its_own_spread(self):
        table = variance_table(pd.concat([additive("a"), additive("b", scale=2)]))
        row = table.set_index(["metric", "varying"]).loc[("precision", "P")]
        assert row["mean"] == pytest.approx(0.03 * np.sqrt((1 + 4) / 2))
        assert row["sd"] == pytest.approx(0.03 / np.sqrt(2))
        assert row["cells"] == 2

    @pytest.mark.parametrize(("seeds", "draws", "known"), [([0.0], DRAWS, "P"), (SEEDS, [0.0], "Q")])
    def test_what_never_varied_is_a_gap(self, seeds, draws, known):
        table = variance_table(additive(seeds=seeds, draws=draws))
        assert set(table.loc[table["mean"].notna(), "varying"]) == {known}
        assert (table.loc[table["varying"] != known, "cells"] == 0).all()

    @pytest.mark.parametrize("other", [{"n": 4000}, {"k": 5}, {"embedder": "gpt2"}, {"task": "news"}])
    def test_cells_that_cannot_be_compared_are_refused(self, other):
        (column, value) = next(iter(other.items()))
        with pytest.raises(TextgamutError, match=f"several {column} .*{value}"):
            variance_table(pd.concat([additive(), additive("b", **other)]))


class TestBadScores:
    def test_no_rows(self):
        with pytest.raises(TextgamutError, match="no rows"):
            runs_table(additive().head(0))

    def test_no_column(self):
        with pytest.raises(TextgamutError, match="no column 'k', 'value'"):
            runs_table(additive().drop(columns=["k", "value"]))

    @pytest.mark.parametrize("value", [np.nan, np.inf, None])
    def test_a_value_that_is_no_number(self, value):
        scores = additive()
        scores.loc[5, "value"] = value
        with pytest.raises(TextgamutError, match="row 5: 'value'"):
            runs_table(scores)

    def test_two_values_of_one_run(self):
        with pytest.raises(TextgamutError, match=r"row 12: a second value for task webtext, model m"):
            runs_table(pd.concat([additive(), additive().head(1)]))

    def test_a_metric_is_nowhere(self):
        scores = additive()
        with pytest.raises(TextgamutError, match="there is no recall"):
            precision_recall_runs(scores[scores["metric"] == "precision"], alike=[])

    def test_a_run_lacks_a_metric(self):
        with pytest.raises(
            TextgamutError, match="recall of model m, decoding nucleus, seed 1, draw 2 is missing"
        ):
            precision_recall_runs(additive().iloc[:-1], alike=[])

    def test_percent_is_not_a_share(self):
        with pytest.raises(TextgamutError, match=r"must lie in \[0, 1\], found 5"):
            precision_recall_runs(additive().assign(value=lambda s: s["value"] * 100), alike=[])


TEXTS = pd.DataFrame(
    {
        "model": ["m", "m", "m", "m", "o", "o"],
        "decoding": ["top-p-0.5", "top-p-0.5", "top-p-0.9", "top-p-0.9", "top-p-0.9", "top-p-0.9"],
        "words": [10, 0, 10, 10, 10, 10],
        "flesch": [30.0, np.nan, 40.0, 50.0, 60.0, 80.0],
        "sbert": [0.5, np.nan, 0.2, 0.4, 0.0, 1.0],
        "essay": [np.nan] * 6,
    }
)


class TestTexts:
    def test_means_and_spreads_are_over_the_texts_that_have_a_value(self):
        table = texts_table(TEXTS)
        assert table["model"].tolist() == ["m", "m", "o"]
        assert table["texts"].tolist() == [2, 2, 2]
        assert table["empty"].tolist() == [1, 0, 0]
        assert table["flesch"].tolist() == [30, 45, 70]
        assert table["flesch_sd"].tolist()[1:] == pytest.approx([50**0.5, 200**0.5])
        assert np.isnan(table["flesch_sd"][0])
        assert "essay" not in table  # no text has one

    def test_the_order_of_the_rows_changes_no_digit(self):
        rng = np.random.default_rng(0)
        many = pd.DataFrame(
            {
                "model": "m",
                "decoding": "d",
                "words": 5,
                "flesch": rng.normal(size=999) * 10.0 ** rng.integers(-9, 9, 999),
            }
        )
        pd.testing.assert_frame_equal(
            texts_table(many), texts_table(many.sample(frac=1, random_state=1)), check_exact=True
        )

    def test_rescaling_is_that_of_the_paper(self):
        table = texts_table(TEXTS)
        assert rescaled(table, "flesch").tolist() == pytest.approx([0, 0.5, 4 / 3])  # by 30 to 60
        assert rescaled(table, "flesch", deviations=True).tolist()[1:] == [0, 1]  # by least and largest
        assert rescaled(table.assign(sbert_sd=0.3), "sbert", deviations=True).tolist() == [0.5] * 3

    def test_correlations_are_pearson_over_texts_that_have_both(self):
        found = correlation_table(TEXTS)
        both = TEXTS.dropna(subset=["flesch"])
        assert found.loc["flesch", "sbert"] == pytest.approx(np.corrcoef(both["flesch"], both["sbert"])[0, 1])
        assert list(found) == ["flesch", "sbert"]

    def test_one_parameter_varies_and_the_others_are_held(self):
        """Averages over all methods with a top-k make a hump at 50; with the others held, the curve falls."""
        published = {  # repetition of GPT-2 by (top_p, top_k, temperature), NW's appendix table
            (1, 20, 0.1): 0.746, (1, 20, 0.5): 0.479, (1, 20, 0.9): 0.021,
            (0.5, 50, 0.1): 0.782, (0.5, 50, 0.5): 0.726, (0.5, 50, 0.9): 0.573,
            (1, 50, 0.1): 0.746, (1, 50, 0.5): 0.459, (1, 50, 0.9): 0.010,
            (1, 100, 0.1): 0.745, (1, 100, 0.5): 0.455, (1, 100, 0.9): 0.007,
            (1, 500, 0.1): 0.745, (1, 500, 0.5): 0.449, (1, 500, 0.9): 0.005,
        }  # fmt: skip
        decodings = {
            f"{p}-{k}-{t}": {"strategy": "sampling", "temperature": t, "top_k": k, "top_p": p}
            for p, k, t in published
        }
        table = pd.DataFrame({"decoding": list(decodings), "repetition_4": published.values()})
        table = pd.concat(
            [
                table.assign(model="gpt2-xl", repetition_4_sd=0.1),
                table.assign(model="other", repetition_4_sd=0.2),
            ]
        )
        found = parameter_table(table, decodings)
        of_one = found[(found["model"] == "gpt2-xl") & (found["parameter"] == "top_k")]
        curves = {name: rows["mean"].tolist() for name, rows in of_one.groupby("held")}
        assert len(curves) == 3  # one for each temperature at top-p 1
        assert curves["temperature 0.9, top-p 1"] == [0.021, 0.010, 0.007, 0.005]
        assert of_one["value"].tolist() == [20, 50, 100, 500] * 3
        by_top_k = table["decoding"].map(lambda slug: decodings[slug]["top_k"])
        averages = table["repetition_4"].groupby(by_top_k).mean()
        assert averages[50] > averages[20]  # the hump
        nucleus = found[(found["parameter"] == "top_p") & (found["held"] == "temperature 0.5, top-k 50")]
        assert nucleus["mean"].tolist() == [0.726, 0.459] * 2  # of both models
        assert found.groupby("model")["sd"].agg(set).to_dict() == {"gpt2-xl": {0.1}, "other": {0.2}}

        rows = held(table, decodings, "gpt2-xl", "top_k", top_p=1, temperature=0.9)
        assert rows["value"].tolist() == [20, 50, 100, 500]
        assert rows["repetition_4"].tolist() == curves["temperature 0.9, top-p 1"]
        with pytest.raises(TextgamutError, match="methods of other by top_k: temperature, top_p varies too"):
            held(table, decodings, "other", "top_k")
        assert held(table, decodings, "gpt2-xl", "top_k", top_p=0.9).empty

    def test_a_parameter_needs_two_values_with_the_others_equal(self):
        base = {"strategy": "sampling", "top_k": None, "top_p": 0.5, "temperature": 1.0}
        decodings = {"top-p-0.5": base, "top-p-0.9": base | {"top_p": 0.9, "temperature": 0.7}}
        assert parameter_table(texts_table(TEXTS), decodings).empty
        decodings["top-p-0.9"] = base | {"top_p": 0.9}
        found = parameter_table(texts_table(TEXTS), decodings)
        assert set(found["parameter"]) == {"top_p"}  # the others do not vary
        assert set(found["model"]) == {"m"}  # o has one value only
        flesch = found[found["metric"] == "flesch"].set_index("value")["mean"]
        assert flesch.to_dict() == {0.5: 30, 0.9: 45}
        assert set(found["held"]) == {""}

    def test_a_limit_that_is_not_set_is_held_like_a_number(self):
        base = {"strategy": "sampling", "top_k": None, "top_p": 0.5, "temperature": 1.0}
        decodings = {
            "a": base,
            "b": base | {"top_p": 0.9},
            "c": base | {"top_k": 9},
            "d": base | {"top_k": 5},
        }
        groups = parameter_groups([("m", slug) for slug in decodings], decodings)
        assert [(group.parameter, group.held, group.decodings) for group in groups] == [
            ("top_p", "top-k all", {0.5: "a", 0.9: "b"}),
            ("top_k", "top-p 0.5", {5: "d", 9: "c"}),
        ]

    def test_no_parameter_varies(self):
        assert parameter_table(texts_table(TEXTS), {}).empty


def test_scores_have_one_layout() -> None:
    """A row per cell and metric, with the columns that `textgamut score` writes, too."""
    summary = summary_table(additive())
    table = scores_file(summary)
    assert list(table) == SCORES
    assert len(table) == 2 * len(summary)
    for row in table.to_dict("records"):
        of_cell = summary[summary["group"] == row["group"]].iloc[0]
        assert row["value"] == of_cell[row["metric"]]
        assert row["deviation"] == of_cell[f"{row['metric']}_sd"]
        assert (row["runs"], row["seeds"]) == (of_cell["runs"], of_cell["seeds"])


def test_the_layout_leaves_out_what_a_cell_does_not_have() -> None:
    wording = [dict(additive("b").iloc[0]) | {"metric": "diversity", "value": 0.5}]
    table = scores_file(summary_table(tidy([*additive("a").to_dict("records"), *wording])))
    assert set(table.loc[table["model"] == "b", "metric"]) == {"diversity"}
    assert not table["value"].isna().any()
