"""From the metrics of single texts to what each method scored on each prompt, and to its rankings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from textgamut.draws import draw_prompt_ids
from textgamut.errors import TextgamutError
from textgamut.rankings.method_scores import name_methods, prompt_means, scores_table, wide_method_scores
from textgamut.rankings.ranking import rank_methods, rank_texts

NAMES = {("m", "short"): "M, short", ("m", "long"): "M, long"}


def texts(*rows: tuple[str, str, float, float]) -> pd.DataFrame:
    """Texts of model m: decoding, prompt, coherence, perplexity; one of a human, who is no method."""
    frame = pd.DataFrame(rows, columns=["decoding", "prompt_id", "coherence", "perplexity"]).assign(model="m")
    human = {"model": "human", "decoding": "human", "prompt_id": "p", "coherence": 9.0, "perplexity": np.nan}
    return pd.concat([pd.DataFrame([human]), frame], ignore_index=True)


ONE_EACH = texts(("short", "q", 1, 2), ("short", "p", np.nan, 2), ("long", "p", 3, 4), ("long", "q", 5, 6))


def test_seeds_and_completions_of_a_prompt_are_averaged() -> None:
    several = texts(
        ("short", "p", 1, 2), ("long", "p", 5, np.nan), ("short", "p", 3, np.nan), ("long", "p", 7, np.nan)
    )
    means = prompt_means({"wiki": several}, NAMES, ["coherence", "perplexity"])
    assert means.table["prompt"].tolist() == ["wiki/p"] * 2
    assert means.table["method"].tolist() == ["M, short", "M, long"]
    assert means.table["coherence"].tolist() == [2, 6]
    assert means.table["perplexity"].tolist() == pytest.approx([2, np.nan], nan_ok=True)
    assert means.incomplete == 3


def test_a_table_of_scores_is_read_back_to_the_last_bit() -> None:
    table = prompt_means({"wiki": ONE_EACH}, NAMES, ["coherence", "perplexity"]).table
    scores = wide_method_scores(table, ["coherence"], ["perplexity"], missing_as_worst=True)
    models = {"model": dict.fromkeys(scores.methods, "M")}
    listed = scores_table(scores, models)
    assert listed.columns.tolist() == ["prompt", "method", "model", "coherence", "perplexity"]
    assert set(listed["model"]) == {"M"}
    again = wide_method_scores(listed, ["coherence"], ["perplexity"], missing_as_worst=True)
    assert (again.prompts, again.methods) == (scores.prompts, scores.methods)
    np.testing.assert_array_equal(again.values, scores.values)


def test_a_single_text_of_a_prompt_has_no_part_in_a_mean_to_lose() -> None:
    means = prompt_means({"wiki": ONE_EACH}, NAMES, ["coherence"])
    assert means.table["prompt"].tolist() == ["wiki/q", "wiki/p", "wiki/p", "wiki/q"]
    assert means.table["coherence"].tolist() == pytest.approx([1, np.nan, 3, 5], nan_ok=True)
    assert means.incomplete == 0


def test_prompts_of_two_tasks_are_different() -> None:
    means = prompt_means({"wiki": ONE_EACH, "news": ONE_EACH}, NAMES, ["coherence"])
    assert means.table["prompt"].drop_duplicates().tolist() == ["wiki/q", "wiki/p", "news/q", "news/p"]


def test_texts_are_ranked_as_their_means_are() -> None:
    twice = pd.concat([ONE_EACH, ONE_EACH.assign(coherence=ONE_EACH["coherence"] + 1)])
    scores, ranking = rank_texts(
        {"wiki": twice, "news": ONE_EACH}, NAMES, ["coherence"], ["perplexity"], depth_of=2
    )
    assert scores.methods == ["M, short", "M, long"]
    assert (scores.criteria, scores.higher.tolist()) == (["coherence", "perplexity"], [True, False])
    table = prompt_means({"wiki": twice, "news": ONE_EACH}, NAMES, ["coherence", "perplexity"]).table
    means = wide_method_scores(table, ["coherence"], ["perplexity"], missing_as_worst=True)
    expected = rank_methods(means, 2)
    pd.testing.assert_frame_equal(ranking.methods, expected.methods)
    assert ranking.notes == [
        *expected.notes,
        "3 single texts are empty, or too short for a criterion: no part in their prompt's mean",
    ]


def test_methods_are_compared_on_the_prompts_that_all_have() -> None:
    prompts = [f"p{i}" for i in range(6)]
    few = draw_prompt_ids(prompts, "wiki", 3)
    rows = [("short", prompt, 1, 2) for prompt in prompts] + [("long", prompt, 3, 4) for prompt in few]
    scores, ranking = rank_texts(
        {"wiki": texts(*rows)}, NAMES, ["coherence"], ["perplexity"], prompts={"wiki": 3}
    )
    assert set(scores.prompts) == {f"wiki/{prompt}" for prompt in few}
    assert ranking.notes[-1] == "wiki: compared on 3 of 7 prompts, those that all methods have"


def test_a_method_without_a_prompt_is_refused() -> None:
    lacking = ONE_EACH[~((ONE_EACH["decoding"] == "long") & (ONE_EACH["prompt_id"] == "q"))]
    with pytest.raises(TextgamutError, match="'M, long' has no value for prompt 'wiki/q'"):
        rank_texts({"wiki": lacking}, NAMES, ["coherence"], ["perplexity"])


@pytest.mark.parametrize(
    ("methods", "names"),
    [
        ([("m", "p-0.9"), ("m", "p-0.8")], ["top-p 0.9", "p-0.8"]),
        ([("m", "p-0.9"), ("n", "p-0.8")], ["M, top-p 0.9", "n, p-0.8"]),
        ([("m", "p-0.9"), ("m", "q")], ["top-p 0.9 (p-0.9)", "top-p 0.9 (q)"]),  # the same label twice
        ([("m", "p-0.9"), ("n", "p-0.9")], ["M", "n"]),
    ],
)
def test_decoding_settings_have_labels(methods: list[tuple[str, str]], names: list[str]) -> None:
    labels = {"p-0.9": "top-p 0.9", "q": "top-p 0.9"}
    assert list(name_methods(methods, {"m": "M"}, labels).values()) == names
