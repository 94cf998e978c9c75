"""Tables and figures of scores: layout and values of the paper, our means, what is left out or missing."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import make_target

from textgamut.metrics.divergence import f_beta, pr_curve
from textgamut.report.papers.result import Entry, PaperResult
from textgamut.report.published import published
from textgamut.report.tables import tidy

CHAT = {"label": "Llama-2 70B Chat", "family": "Llama-2", "chat": True}
OTHER = {"label": "Vicuna 7B", "family": "Vicuna", "chat": True}
ADDED = {"label": "SmolLM2", "family": "SmolLM2", "chat": False}
SUPPORT = ("precision", "recall")
MODELS = {"vicuna": OTHER, "added": ADDED, "llama": CHAT}


def settings(shape: str, name: str = "table_x", **target: Any) -> dict[str, Any]:
    return {
        "name": name,
        "published": published("pr", name),
        "target": {"shape": shape, "title": "A title", **target},
        "models": MODELS,
        "tasks": {
            "t": {"kind": "continuation", "n": 16, "k": 4, "sweep": {"n": [8, 16], "k": [1, 4], "k_at": 8}}
        },
        "embedder": "MiniLM",
    }


def rows(
    value: Any, models: Any = MODELS, seeds: Any = (1, 2, 3), draws: Any = (1,), metrics: Any = SUPPORT,
    **columns: Any,
) -> pd.DataFrame:  # fmt: skip
    cell = {"task": "t", "decoding": "d", "embedder": "e", "n": 16, "k": 4, "group": "all"} | columns
    found = [
        cell
        | {
            "model": model,
            "seed": seed,
            "draw": draw,
            "metric": metric,
            "value": value(model, seed, draw, metric),
        }
        for model, seed, draw, metric in itertools.product(models, seeds, draws, metrics)
    ]
    return tidy(found)


def by_seed(model: str, seed: int, draw: int, metric: str) -> float:
    return (
        {"llama": 0.9, "vicuna": 0.5, "added": 0.3}[model]
        + 0.01 * seed
        + (0.002 if metric == "recall" else 0)
    )


def entries(result: PaperResult) -> dict[tuple[str, str], Entry]:
    table = result.table
    return {
        (row, column): entry
        for row, line in zip(table.rows, table.entries, strict=True)
        for column, entry in zip(table.columns, line, strict=True)
    }


def test_table_1_has_the_columns_of_the_paper_and_then_ours() -> None:
    result = make_target(
        settings("metrics-by-model", "table_1a", metrics=["precision", "recall"]), {"scores": rows(by_seed)}
    )
    assert result.table.rows == ["Precision", "Recall"]
    assert result.table.columns == [*published("pr", "table_1a")["columns"], "SmolLM2"]
    assert result.table.columns[0] == "Llama-2 70B Chat"  # the reference
    found = entries(result)
    assert found["Precision", "Vicuna 7B"] == pytest.approx((0.52, 0.01, 0.93, 0.01))
    assert found["Precision", "SmolLM2"] == pytest.approx((0.32, 0.01, None, None))
    assert found["Recall", "Mistral 7B Instruct"] == (None, None, 0.83, 0.08)
    assert result.table.beyond(found["Precision", "Vicuna 7B"])
    assert not result.table.beyond(found["Recall", "Mistral 7B Instruct"])
    assert "Published ±: standard deviation over 5 generation seeds" in " ".join(result.notes)


def test_a_difference_within_the_rounding_of_the_print_is_not_marked() -> None:
    result = make_target(
        settings("metrics-by-model", "table_1a", metrics=["precision"]),
        {"scores": rows(lambda *_: 0.996, models=["llama"])},
    )
    entry = entries(result)["Precision", "Llama-2 70B Chat"]
    assert entry.paper_spread == 0
    assert not result.table.beyond(entry)
    assert result.table.beyond(entry._replace(ours=0.994))


def test_the_texts_of_the_reference_model_are_not_compared_with_themselves() -> None:
    chosen = settings("metrics-by-model", "table_1a", metrics=["precision"])
    chosen["tasks"] = {"t": {"kind": "creative", "references": {"model": "llama", "decoding": "d"}}}
    scores = rows(lambda model, seed, draw, _: 1.0 if (model, seed) == ("llama", draw) else 0.9, draws=(1, 2))
    found = entries(make_target(chosen, {"scores": scores}))
    assert found["Precision", "Llama-2 70B Chat"].ours == pytest.approx(0.9)
    assert found["Precision", "Vicuna 7B"].ours == pytest.approx(0.9)


def test_without_scores_a_table_has_the_paper_s_values_alone() -> None:
    empty = rows(by_seed).iloc[:0]
    for shape, name, extra in (
        ("metrics-by-model", "table_1a", {"metrics": ["precision", "recall"]}),
        ("variance", "table_b5", {}),
        ("correlations", "figure_7a",
         {"rows": ["precision", "mauve"], "columns": ["recall"], "pre_trained_only": []}),
        ("bars", "figure_b2", {"metrics": ["mauve"], "errors": "standard error"}),
        ("precision-recall", "figure_1", {}),
    ):  # fmt: skip
        result = make_target(settings(shape, name, **extra), {"scores": empty})
        assert {entry.ours for entry in entries(result).values()} == {None}
        assert result.figure is None
        assert result.table.published == (name not in ("figure_b2", "figure_1"))


def test_variance_is_table_b5() -> None:
    scores = rows(lambda model, seed, draw, _: 0.5 + 0.01 * seed + 0.1 * draw, draws=(1, 2))
    found = entries(make_target(settings("variance", "table_b5"), {"scores": scores}))
    assert found["√Var(Precision)", "Varying Q"] == pytest.approx((0.01, 0, 0.005, 0.001), abs=1e-12)
    assert found["√Var(Recall)", "Varying P"] == pytest.approx(
        (0.1 / math.sqrt(2), 0, 0.006, 0.002), abs=1e-12
    )


def test_correlations_are_pearson_s_over_the_methods() -> None:
    rng = np.random.default_rng(0)
    values = {(model, metric): rng.random() for model in MODELS for metric in ("precision", "mauve")}
    scores = rows(lambda model, seed, draw, metric: values[model, metric], metrics=("precision", "mauve"))
    chosen = settings(
        "correlations", "figure_7a", rows=["precision"], columns=["precision", "mauve"], pre_trained_only=[]
    )
    found = entries(make_target(chosen, {"scores": scores}))
    x, y = ([values[model, metric] for model in MODELS] for metric in ("precision", "mauve"))
    assert found["Precision", "MAUVE"].ours == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert found["Precision", "MAUVE"].paper == 0.78
    assert found["Precision", "Precision"].ours == pytest.approx(1)


def test_ratings_of_quality_leave_out_instruction_tuned_models() -> None:
    """The four pre-trained models rise together; the chat model would turn the correlation round."""
    models = {f"plain-{i}": ADDED for i in range(4)} | {"chat": CHAT}

    def value(model: str, seed: int, draw: int, metric: str) -> float:
        place = 100.0 if model == "chat" else float(model[-1])
        return -place if metric == "judge_coherence" and model == "chat" else place

    metrics = ["precision", "judge_coherence", "judge_diversity"]
    chosen = settings(
        "correlations",
        "figure_7b",
        rows=["precision"],
        columns=metrics[1:],
        pre_trained_only=["judge_coherence"],
    )
    result = make_target(chosen | {"models": models}, {"scores": rows(value, models=models, metrics=metrics)})
    found = entries(result)
    assert found["Precision", "Coherence"].ours == pytest.approx(1)
    assert found["Precision", "Diversity"].ours == pytest.approx(1)
    assert "Without the instruction-tuned models, as in the paper: Coherence (4 methods)." in result.notes


def test_figure_2_has_mauve_beside_precision_and_recall() -> None:
    metrics = ["mauve", "precision", "recall"]
    chosen = settings("bars", "figure_2", metrics=metrics, errors="standard deviation")
    result = make_target(chosen, {"scores": rows(lambda *run: 0.5 + 0.1 * run[1], metrics=metrics)})
    assert result.table.columns == ["MAUVE", "Precision", "Recall"]
    assert entries(result)["Vicuna 7B", "MAUVE"] == pytest.approx((0.7, 0.1, None, None))
    assert result.figure is not None
    [axes] = result.figure.axes
    assert sorted(round(bar.get_height(), 3) for bars in axes.containers[::2] for bar in bars) == [0.7] * 9


def test_error_bars_of_figure_b2_are_standard_errors() -> None:
    chosen = settings("bars", "figure_b2", metrics=["mauve"], errors="standard error")
    scores = rows(lambda *run: 0.5 + 0.1 * run[1], models=["llama"], seeds=(1, 2, 3, 4), metrics=("mauve",))
    result = make_target(chosen | {"models": {"llama": CHAT}}, {"scores": scores})
    assert result.figure is not None
    lines: Any = result.figure.axes[0].collections[-1]
    [segment] = lines.get_segments()
    deviation = np.std([0.6, 0.7, 0.8, 0.9], ddof=1)
    assert segment[1, 1] - segment[0, 1] == pytest.approx(2 * deviation / 2)


def test_k_varies_at_its_own_n() -> None:
    points = [(8, 4), (16, 4), (8, 1)]
    scores = pd.concat([rows(lambda *run, n=n: n / 100, models=["llama"], n=n, k=k) for n, k in points])
    found = entries(make_target(settings("sweep", "figure_b1", vary=["n", "k"]), {"sweeps": scores}))
    assert {row: entry.ours for (row, column), entry in found.items() if column == "Recall"} == {
        "N = 8 (k = 4)": 0.08, "N = 16 (k = 4)": 0.16, "k = 1 (N = 8)": 0.08, "k = 4 (N = 8)": 0.08,
    }  # fmt: skip


def test_figure_8_has_the_number_of_examples_on_its_axis() -> None:
    chosen = settings("examples", "figure_8")
    chosen["tasks"] = {
        "five": {"kind": "biographies", "examples": 5},
        "two": {"kind": "biographies", "examples": 2},
    }
    scores = pd.concat(
        [
            rows(lambda *_, v=v: v, models=["llama", "vicuna"], task=task)
            for task, v in (("two", 0.2), ("five", 0.5))
        ]
    )
    result = make_target(chosen, {"scores": scores})
    found = entries(result)
    assert found["Vicuna 7B", "Recall, n = 2"].ours == pytest.approx(0.2)
    assert found["Vicuna 7B", "Recall, n = 5"].ours == pytest.approx(0.5)
    assert found["SmolLM2", "Recall, n = 5"].ours is None
    assert result.figure is not None
    lines = [line for line in result.figure.axes[0].get_lines() if len(line.get_xdata()) > 1]
    assert [line.get_xdata().tolist() for line in lines] == [[2, 5], [2, 5]]


def test_f_scores_are_those_of_both_curves() -> None:
    alpha, beta = pr_curve([0.5, 0.5, 0], [0.2, 0.3, 0.5])
    cell = {
        "task": "t",
        "model": "llama",
        "seed": 1,
        "alpha": alpha,
        "beta": beta,
        "x": [1, 0.5, 0],
        "y": [0, 0.5, 1],
    }
    for shape, name in (("curves", "figure_a3"), ("f-scores", "figure_a4")):
        found = entries(make_target(settings(shape, name), {"curves": [cell]}))
        assert found["Llama-2 70B Chat", "F_8, precision-recall curve"].ours == pytest.approx(
            f_beta(alpha, beta, 8)
        )
        assert found["Llama-2 70B Chat", "F_1/8, divergence frontier"].ours == pytest.approx(
            f_beta([1, 0.5, 0], [0, 0.5, 1], 1 / 8)
        )
        assert found["Vicuna 7B", "F_8, precision-recall curve"].ours is None


def test_embedders_are_compared_with_the_first() -> None:
    values = {"llama": (0.1, 0.3), "vicuna": (0.2, 0.2), "added": (0.4, 0.1)}
    scores = pd.concat(
        [
            rows(lambda model, *_, i=i: values[model][i], embedder=name)
            for i, name in enumerate(("first", "second"))
        ]
    )
    chosen = settings("embedder-correlations", "table_b1", embedders=["first", "second"])
    chosen["embedders"] = {"first": "GPT-2-large", "second": "OPT-1.3b"}
    density = scores[scores["metric"] == "precision"].assign(metric="density")  # of the same family
    result = make_target(chosen, {"scores": pd.concat([scores, density])})
    assert result.notes[0].endswith("over 3 methods.")
    found = entries(result)
    assert found["Precision", "GPT-2-large"] == pytest.approx((1, None, 1.0, None))
    expected = np.corrcoef([0.1, 0.2, 0.4], [0.3, 0.2, 0.1])[0, 1]
    assert found["Recall", "OPT-1.3b"] == pytest.approx((expected, None, 0.89, None))


def test_tokens_per_word_are_the_ratio_of_the_sums_beside_the_family_s() -> None:
    chosen = settings("tokens-per-word", "table_b2", dataset="texts", models=list(MODELS))
    found = entries(make_target(chosen, {"tokens": {"llama": 1.5}}))
    assert found["Llama-2 70B Chat", "Average Tokens per Word"] == (1.5, None, 1.36, None)
    assert found["SmolLM2", "Average Tokens per Word"] == (None, None, None, None)


def test_notes_are_of_the_metrics_that_are_shown_and_of_the_runs() -> None:
    scores = rows(by_seed, metrics=(*SUPPORT, "density")).assign(low=0.2, high=0.4)
    runs, *intervals = make_target(settings("precision-recall", "figure_1"), {"scores": scores}).notes[:3]
    assert runs == "±: standard deviation over runs: 3 generation seeds, 1 draw of references."
    assert [note.split(":")[0] for note in intervals] == ["Precision", "Recall"]
    assert intervals[0].endswith("± 0.100 on average.")

    one = rows(by_seed, seeds=(1,))
    result = make_target(settings("precision-recall", "figure_1"), {"scores": one})
    assert result.notes[0] == "One run of each: 1 generation seed, 1 draw of references."


def test_subsets_of_human_texts_are_candidates_and_nothing_is_generated() -> None:
    chosen = settings("bars", "figure_2", metrics=list(SUPPORT), errors="standard deviation")
    chosen["tasks"] = {"t": {"kind": "subsets"}}
    result = make_target(chosen, {"scores": rows(by_seed)})
    assert result.table.corner == "Candidates"
    assert result.notes[0] == "±: standard deviation over runs: 3 draws of candidates, 1 draw of references."


def test_a_constant_metric_has_no_correlation_and_the_page_says_so() -> None:
    scores = rows(
        lambda model, seed, draw, metric: 1 if metric == "recall" else by_seed(model, seed, draw, "")
    )
    chosen = settings(
        "correlations", "figure_7a", rows=["precision"], columns=list(SUPPORT), pre_trained_only=[]
    )
    result = make_target(chosen, {"scores": scores})
    assert entries(result)["Precision", "Recall"].ours is None
    assert any("constant" in note for note in result.notes)
