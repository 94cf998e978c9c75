"""`textgamut.score`: which is precision and which is recall, what the result holds, and what it refuses."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tiny
import torch

import textgamut
from textgamut import TextgamutError
from textgamut.catalogue import FAMILIES, metrics_of
from textgamut.cli import score as command
from textgamut.config.entries.embedders import Embedder
from textgamut.features.embed import LoadedEmbedder, embed
from textgamut.metrics.ngram import self_bleu
from textgamut.metrics.rows import USED_REFERENCES, YARDSTICK

LOW, HIGH = ["cat", "dog", "mat", "bad", "fed", "jam", "lake"], ["TRUST", "SWIRL", "UPON", "SYRUP", "WORST"]


def sentences(words: list[str], seed: int, count: int = 30) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(words, size=rng.integers(4, 12))) for _ in range(count)]


REFERENCE, GENERATED = sentences(LOW, 1), sentences(LOW, 2)
BOTH = sentences(LOW, 3, 15) + sentences(HIGH, 4, 15)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), "gpt2")


@pytest.fixture(scope="module")
def score(checkpoint: Path):
    """`textgamut.score` with a tiny embedder."""

    def scored(*texts, **options):
        given = {"embedder": checkpoint, "pooling": "mean", "max_tokens": 64, "bootstrap": 0}
        return textgamut.score(*texts, **(given | options))

    return scored


@pytest.fixture(scope="module")
def result(score):
    topics = ["x", "y", None] * 10, ["y"] * 30
    return score(REFERENCE, GENERATED, bootstrap=20, kmeans_seeds=[0, 1], groups={"topic": topics})


pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # there are few texts


def test_the_same_texts_have_precision_and_recall_1(score) -> None:
    same = score(REFERENCE, REFERENCE, metrics=["support"])
    assert (same.precision, same.recall, same.coverage) == (1, 1, 1)
    assert same.missed == ([], [])


def test_part_of_the_references_has_precision_1_and_lacks_recall(score) -> None:
    part = BOTH[:15] * 2
    found = score(BOTH, part, metrics=["support"])
    assert found.precision == 1
    assert found.recall < 0.75
    assert {missed.text for missed in found.missed.reference} <= set(BOTH[15:])
    other = score(part, BOTH, metrics=["support"])
    assert other.recall == 1
    assert other.precision < 0.75
    assert {missed.text for missed in other.missed.generated} <= set(BOTH[15:])


def test_the_numbers_are_those_of_the_functions(score, result, checkpoint: Path) -> None:
    source = {"kind": "file", "path": str(checkpoint)}
    entry = Embedder(label="x", source=source, pooling="mean", max_tokens=64)
    cpu = torch.device("cpu")
    features = [embed(texts, checkpoint, entry, cpu).vectors for texts in (REFERENCE, GENERATED)]
    reduced = textgamut.reduce_features(*features)
    support = textgamut.support_metrics(*reduced, k=4)
    for name in ("precision", "recall", "density", "coverage"):
        assert getattr(result, name) == getattr(support, name)
    intervals = textgamut.bootstrap_intervals(*reduced, support, 20)
    assert {name: result.intervals[name] for name in intervals} == intervals
    assert result.mauve == textgamut.divergence_metrics(features[0], features[1], None, [0, 1]).mauve
    assert result.self_bleu == self_bleu([text.split() for text in GENERATED])
    nearer = score(REFERENCE, GENERATED, metrics=["support"], k=2)
    assert nearer.recall == textgamut.support_metrics(*reduced, k=2).recall


def test_a_series_is_as_good_as_a_list(score) -> None:
    series = [pd.Series(texts, index=range(100, 130)) for texts in (REFERENCE, GENERATED)]
    assert score(*series).rows == score(REFERENCE, iter(GENERATED)).rows


def test_the_table_has_all_rows(result) -> None:
    frame = result.to_frame()
    assert list(frame) == ["group", "metric", "value", "low", "high", "deviation", "n", "k"]
    whole = frame[frame["group"] == "all"].set_index("metric")
    assert {"precision", "mauve", "f_1_8", "self_bleu", "distinct_4", "repetition_4"} <= set(whole.index)
    assert whole.loc["precision", "value"] == result.precision
    assert whole.loc["precision", "low"] == result.intervals["precision"].low <= result.precision
    assert whole.loc["mauve", "low"] <= result.mauve
    assert whole.loc["mauve", "deviation"] > 0
    assert whole.loc["self_bleu", "low"] < result.self_bleu < whole.loc["self_bleu", "high"]
    assert set(frame["group"]) == {"all", "topic=x", "topic=y"}
    of_x = frame.loc[frame["group"] == "topic=x", "metric"]
    assert set(of_x) == {"recall", "coverage"}  # nothing was generated about x


def test_labels_that_are_no_strings_are_groups_too(score) -> None:
    years = np.array([2020, 2021] * 15), pd.Series([2020] * 30)
    frame = score(REFERENCE, GENERATED, metrics=["support"], groups={"year": years}).to_frame()
    assert {"year=2020", "year=2021"} <= set(frame["group"])


def test_missed_texts_lie_outside_and_the_farthest_comes_first(score) -> None:
    found = score(BOTH, GENERATED, metrics=["support"])
    assert len(found.missed.reference) == round((1 - found.recall) * 30)
    assert len(found.missed.generated) == round((1 - found.precision) * 30)
    distances = [missed.distance for missed in found.missed.reference]
    assert distances == sorted(distances, reverse=True)
    first = found.missed.reference[0]
    assert first.text == BOTH[int(first.id.removeprefix("row-")) - 1]
    assert first.neighbour_text in GENERATED


def test_the_page_is_written(score, tmp_path: Path) -> None:
    found = score([*BOTH[:-1], "<b>UPON & trust"], GENERATED, metrics=["support"])
    found.to_html(tmp_path / "page.html")
    found.to_html(str(tmp_path / "named.html"), "A < B")
    page = (tmp_path / "page.html").read_text()
    assert "\\u003cb>UPON & trust" in page
    assert "<b>UPON" not in page
    assert "<title>Generated against reference texts</title>" in page
    assert "<title>A &lt; B</title>" in (tmp_path / "named.html").read_text()


def test_a_group_column_may_have_any_name(score, tmp_path: Path) -> None:
    labels = ["x"] * 15 + ["y"] * 15
    groups = dict.fromkeys(("text", "id", "words", "prompt"), (labels, labels))
    found = score(REFERENCE, GENERATED, metrics=["support"], groups=groups)
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert json.dumps(GENERATED[0]) in page
    assert '{"name":"text","labels":["x","y"]}' in page


def test_a_metric_that_was_not_computed_is_an_error(score) -> None:
    found = score(REFERENCE, GENERATED, metrics=["ngram"])
    with pytest.raises(AttributeError, match="'precision' was not computed; computed: self_bleu, distinct_1"):
        found.precision  # noqa: B018
    with pytest.raises(AttributeError, match="'diversty' was not computed; nearest valid: 'diversity'"):
        found.diversty  # noqa: B018
    assert not hasattr(found, "mauve")
    assert "diversity" in dir(found)
    assert "precision" not in dir(found)
    assert set(found.intervals) == {"text_distinct_2"}  # a mean; there are no half-samples
    with pytest.raises(TextgamutError, match="add 'support' to metrics"):
        found.missed  # noqa: B018


def test_a_result_is_frozen_short_to_print_and_can_be_copied(result) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.k = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.precision = 1
    assert repr(result).startswith(f"ScoreResult(precision={result.precision:.4f}, recall=")
    assert len(repr(result)) < 500
    assert copy.copy(result).recall == copy.deepcopy(result).recall == result.recall


def test_likelihood_needs_a_scorer_and_takes_prompts(score, checkpoint: Path) -> None:
    likelihood = {"metrics": ["likelihood"], "scorer": checkpoint}
    plain = score(REFERENCE, GENERATED, **likelihood)
    prompted = score(REFERENCE, GENERATED, **likelihood, prompts=["the cat", None] * 15)
    assert plain.perplexity > 1
    assert not hasattr(plain, "coherence")
    assert prompted.coherence < 0
    assert prompted.perplexity != plain.perplexity
    assert plain.embedder is None


def test_a_tokenizer_changes_what_counts_as_a_token(score, checkpoint: Path) -> None:
    words = score(REFERENCE, GENERATED, metrics=["ngram"])
    characters = score(REFERENCE, GENERATED, metrics=["ngram"], tokenizer=checkpoint)
    assert characters.distinct_1 < words.distinct_1
    assert characters.diversity == words.diversity  # of words in any case


def test_nothing_is_printed_or_written(score, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    score(REFERENCE, GENERATED)
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_small_samples_are_warned_of(score) -> None:
    with pytest.warns(UserWarning, match="N = 30 is below 1000"):
        score(REFERENCE, GENERATED, metrics=["support"])


@pytest.mark.parametrize(
    "metrics", [["divergence"], ["vendi"], ["distance"], ["support", "divergence", "vendi"]]
)
def test_small_samples_are_warned_of_once_by_all_metrics_of_sets(score, metrics: list[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        score(REFERENCE, GENERATED, metrics=metrics)
    messages = [str(warning.message) for warning in caught]
    assert sum("N = 30 is below 1000" in message for message in messages) == 1, messages


def test_metrics_of_one_side_do_not_warn_of_the_other(score) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "N = |.*also among")
        score(REFERENCE, REFERENCE, metrics=["ngram", "compression"])


@pytest.mark.parametrize("metrics", [["support"], ["divergence"], ["vendi"], ["distance"]])
def test_generated_texts_among_the_references_are_warned_of(score, metrics: list[str]) -> None:
    with pytest.warns(UserWarning, match="^30 of 30 generated texts .100.0%. are also among the references"):
        score(REFERENCE, [f" {text}\n" for text in REFERENCE], metrics=metrics)
    with pytest.warns(UserWarning, match="^3 of 30 generated texts"):
        score([f"{text} x" for text in REFERENCE[3:]] + REFERENCE[:3], REFERENCE, metrics=metrics)


def test_only_the_compared_references_count(score) -> None:
    """A generated text stands among the references beyond the first N, which are not used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", ".*also among")
        score([*(f"{text} x" for text in REFERENCE), *GENERATED], GENERATED, metrics=["divergence"])


def test_sides_that_differ_in_length_are_warned_of_where_they_are_compared(score) -> None:
    short = [text.split()[0] for text in GENERATED]
    with pytest.warns(UserWarning, match=r"generated texts have 1 words, references \d.* \(medians\)"):
        score(REFERENCE, short, metrics=["support"])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "generated texts have")
        score(REFERENCE, short, metrics=["ngram"])
        score(REFERENCE, REFERENCE, metrics=["support"])


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        (("a text", GENERATED), {}, "reference_texts: expected a list of texts, found 'a text'"),
        ((REFERENCE, ["alone"]), {}, "generated_texts: at least two texts are needed, not 1"),
        ((REFERENCE, [*GENERATED, None]), {}, "generated_texts: row 31 is not a string but of type NoneType"),
        ((REFERENCE, GENERATED), {"k": 30}, "k = 30 needs more than 30 texts per side, found 30"),
        ((REFERENCE, GENERATED), {"k": 0}, "k = 0"),
        ((REFERENCE, GENERATED), {"metrics": ["suport"]}, "no family 'suport'; nearest valid: 'support'"),
        (
            (REFERENCE, GENERATED),
            {"metrics": "support"},
            "metrics: expected a list of families, found 'support'",
        ),
        ((REFERENCE, GENERATED), {"metrics": ["likelihood"]}, "'likelihood' needs a scorer"),
        (
            (REFERENCE, GENERATED),
            {"groups": {"a": (["x"], ["x"])}},
            "groups: 'a': 1 values for 30 texts",
        ),
        ((REFERENCE, GENERATED), {"prompts": ["x"]}, "prompts: 1 values for 30 texts"),
        ((REFERENCE, GENERATED), {"embedder": "minlm"}, "unknown embedder 'minlm'; nearest valid: 'minilm'"),
        ((REFERENCE, GENERATED), {"tokenizer": "gemma"}, "unknown model 'gemma'"),
        ((REFERENCE, GENERATED), {"pooling": None}, "needs a pooling: mean, cls, last-token"),
        ((REFERENCE, GENERATED), {"pooling": "average"}, "'average' .str. is not one of the choices"),
        ((REFERENCE, GENERATED), {"max_tokens": 0}, "max_tokens = 0: must be at least 1"),
    ],
)
def test_bad_input_is_named_before_any_work(score, monkeypatch, texts, options, message: str) -> None:
    monkeypatch.setattr("textgamut.models.checkpoints.prepare", None)  # no checkpoint is loaded
    with pytest.raises(TextgamutError, match=message):
        score(*texts, **options)


def test_the_command_has_the_same_defaults() -> None:
    """And the same options: both have them from ``Options``."""
    given = {field.name: field.default for field in dataclasses.fields(command.Given)}
    options = inspect.signature(textgamut.score).parameters
    shared = given.keys() & options.keys()
    assert len(shared) == 13
    for name in shared:
        assert given[name] == options[name].default


@pytest.mark.slow
def test_a_real_embedder_sees_topics() -> None:
    """Half of the references are about cats, half about markets; what is generated is about cats."""
    cats = [
        f"The {animal} {does} the {thing}."
        for animal in ("cat", "kitten", "tabby")
        for does in ("leaves", "likes", "sees", "wants")
        for thing in ("sofa", "blanket", "table", "chair", "bed")
    ]
    markets = [
        f"{paper} {move} {cause}."
        for paper in ("Shares", "Bond yields", "Oil prices")
        for move in ("fell on", "rose on", "slid after", "await")
        for cause in ("rates", "earnings", "inflation", "taxes", "tariffs")
    ]
    found = textgamut.score(cats[::2] + markets[::2], cats, metrics=["support"], bootstrap=0)
    assert found.embedder == "MiniLM"
    assert found.precision > 0.9
    assert found.recall < 0.6
    assert all(missed.text in markets for missed in found.missed.reference[:20])
    assert textgamut.score(cats, cats, metrics=["support"], bootstrap=0).precision == 1


@pytest.mark.parametrize(
    ("texts", "options", "words"),
    [
        (["a \ud800", "b"], {}, "generated_texts: row 1 has an unpaired surrogate"),
        (GENERATED, {"metrics": []}, "metrics: no family is named; valid: support"),
        (GENERATED, {"bootstrap": 10**12}, "bootstrap = 1000000000000: must be 0, or from 2 to 100,000"),
        (
            GENERATED,
            {"groups": {"topic": ([None] * 30, [None] * 30)}},
            "groups: 'topic': no text has a group",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_before_the_checkpoint_is_read(texts, options, words: str) -> None:
    with pytest.raises(TextgamutError) as caught:
        textgamut.score(REFERENCE, texts, **({"embedder": "nowhere"} | options))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r"the name of the model 'a \\ud800' has an unpaired surrogate"),
        ({"groups": {"\udfff": ([], {})}}, r"groups: '\\udfff' has an unpaired surrogate"),
        ({"embedder": "\ud800"}, r"embedder: '\\ud800': '\\ud800' is not a character"),
        ({"registries": "folder/\ud800"}, r"registries: .* is not a character"),
    ],
)
def test_names_that_cannot_be_written_are_refused_before_the_work(options, words: str) -> None:
    name = "b" if options else "a \ud800"
    with pytest.raises(TextgamutError, match=words):
        textgamut.compare(REFERENCE, {name: GENERATED, "c": GENERATED}, **({"embedder": "nowhere"} | options))


MODELS = {"a": GENERATED, "b": sentences(LOW, 5), "c": BOTH}


@pytest.fixture(scope="module")
def compare(checkpoint: Path):
    """`textgamut.compare` with a tiny embedder."""

    def compared(*texts, **options):
        given = {"embedder": checkpoint, "pooling": "mean", "max_tokens": 64, "bootstrap": 0}
        return textgamut.compare(*texts, **(given | options))

    return compared


@pytest.fixture(scope="module")
def comparison(compare):
    return compare(REFERENCE, MODELS, bootstrap=20, kmeans_seeds=[0, 1])


def of(result, *families: str) -> list[dict]:
    names = [name for family in families for name in metrics_of(family)]
    return [row for row in result.rows if row["metric"] in names]


def test_each_model_has_the_support_and_the_wording_that_it_has_alone(score, comparison) -> None:
    assert list(comparison.results) == ["a", "b", "c"]
    for name, texts in MODELS.items():
        alone = score(REFERENCE, texts, bootstrap=20, metrics=["support", "ngram"])
        assert list(alone.rows) == of(comparison.results[name], "support", "ngram")
        missed = comparison.results[name].missed
        assert [text.text for text in missed.generated] == [text.text for text in alone.missed.generated]


def test_one_model_has_exactly_the_scores_of_score(score, compare) -> None:
    for reference in (REFERENCE, REFERENCE[:20]):
        alone = score(reference, GENERATED, bootstrap=20)
        assert compare(reference, {"x": GENERATED}, bootstrap=20).results["x"].rows == alone.rows


def test_all_models_are_cut_to_the_smallest_set(score, compare) -> None:
    with pytest.warns(UserWarning, match="models differ in their number of texts: all cut to the first 24"):
        found = compare(REFERENCE, {"a": GENERATED, "b": BOTH[:24]}, bootstrap=20)
    for name, texts in (("a", GENERATED[:24]), ("b", BOTH[:24])):
        alone = score(REFERENCE[:24], texts, bootstrap=20)
        assert of(found.results[name], "support", "ngram") == of(alone, "support", "ngram")
        assert {row["n"] for row in found.results[name].rows} == {24}
    with pytest.warns(UserWarning, match="20 references and 24 generated texts: both cut to the first 20"):
        fewer = compare(REFERENCE[:20], {"a": GENERATED, "b": BOTH[:24]})
    assert {row["n"] for row in of(fewer.results["a"], "support", "divergence")} == {20}
    assert {row["n"] for row in of(fewer.results["a"], "ngram")} == {24}


def test_the_order_of_the_models_only_permutes_rows(compare, comparison) -> None:
    other = compare(REFERENCE, dict(reversed(MODELS.items())), bootstrap=20, kmeans_seeds=[0, 1])
    for name in MODELS:
        assert other.results[name].rows == comparison.results[name].rows
    key = ["metric", "model_1", "model_2"]
    turned = other.differences.rename(columns={"model_1": "model_2", "model_2": "model_1"}).set_index(key)
    here = comparison.differences
    here = here[here["model_2"].isin(MODELS)].set_index(key).sort_index()
    turned = turned.loc[here.index]
    assert (turned["difference"] == -here["difference"]).all()
    np.testing.assert_allclose(turned["high"], -here["low"], atol=1e-12)


def test_the_values_of_a_model_do_not_depend_on_the_others(compare, score) -> None:
    options = {"metrics": ["divergence", "compression", "vendi", "distance"], "kmeans_seeds": [0, 1]}
    found = compare(REFERENCE, {"a": GENERATED, "twin": GENERATED, "c": BOTH}, **options).results
    alone = score(REFERENCE, GENERATED, **options).values
    assert found["a"].values == pytest.approx(alone, rel=1e-6, abs=1e-9)
    assert found["twin"].values == pytest.approx(alone, rel=1e-6, abs=1e-6)  # embedded in another batch
    assert found["a"].mauve != found["c"].mauve


def test_identical_models_do_not_differ(compare) -> None:
    twins = compare(REFERENCE, {"a": GENERATED, "b": list(GENERATED)}, metrics=["support"], bootstrap=20)
    frame = twins.differences
    assert list(frame) == [
        "group", "metric", "model_1", "model_2", "difference", "tested", "low", "high", "deviation", "p",
        "p_holm", "verdict", "n", "resamples", "fitted", "paired",
    ]  # fmt: skip
    assert frame["metric"].tolist() == metrics_of("support")
    assert (frame[["difference", "tested"]] == 0).all(axis=None)
    assert (frame[["p", "p_holm"]] == 1).all(axis=None)
    assert set(frame["verdict"]) == {"cannot tell"}


def test_differences_of_all_pairs(comparison, compare) -> None:
    frame = comparison.differences
    pairs = frame[["model_1", "model_2"]].drop_duplicates().to_numpy().tolist()
    assert pairs == [["a", "b"], ["a", "c"], ["b", "c"], *([name, USED_REFERENCES] for name in "abc")]
    assert (frame["low"] <= frame["high"]).all()
    recall = frame.set_index(["metric", "model_1", "model_2"]).loc["recall", "a", "c"]
    results = comparison.results
    assert recall["difference"] == results["a"].recall - results["c"].recall
    alone = compare(REFERENCE, MODELS, metrics=["support"]).differences  # without half-samples, too
    of_support = frame[frame["metric"].isin(metrics_of("support"))].reset_index(drop=True)
    corrected = ["p_holm", "verdict"]
    pd.testing.assert_frame_equal(alone.drop(columns=corrected), of_support.drop(columns=corrected))
    of_words = compare(REFERENCE, MODELS, metrics=["ngram"]).differences
    of_texts = ["repetition_4", "diversity", "text_distinct_2"]
    of_sets = ["self_bleu", "distinct_1", "distinct_2", "distinct_3", "distinct_4", "unigram_entropy"]
    assert of_words["metric"].tolist() == [*of_sets, *of_texts] * 6  # also against the references
    assert (of_words["resamples"] == 0).sum() == len(of_texts) * 6
    compressed = compare(REFERENCE, MODELS, metrics=["compression"]).differences
    assert compressed["metric"].tolist() == metrics_of("compression") * 3


def test_texts_are_paired_by_their_prompts(compare) -> None:
    prompts = [f"p{i}" for i in range(30)]
    turned = {"a": GENERATED, "b": GENERATED[::-1]}
    by_row = compare(REFERENCE, turned, metrics=["ngram"]).differences
    by_prompt = compare(
        REFERENCE, turned, metrics=["ngram"], prompts={"a": prompts, "b": prompts[::-1]}
    ).differences
    elsewhere = compare(
        REFERENCE, turned, metrics=["ngram"], prompts={"a": prompts, "b": ["other"] * 30}
    ).differences
    by_row, by_prompt, elsewhere = (
        frame[frame["model_2"] == "b"].drop(columns=["p_holm", "verdict"])
        for frame in (by_row, by_prompt, elsewhere)
    )
    of_texts = by_prompt["resamples"] == 0
    assert (by_prompt["p"] == 1).all()  # the same texts after the same prompts
    assert (by_prompt.loc[of_texts, "high"] == 0).all()
    assert (by_row.loc[of_texts, "high"] > by_row.loc[of_texts, "low"]).any()
    pd.testing.assert_frame_equal(elsewhere, by_row)


def test_the_other_families_have_the_numbers_of_their_functions(score, checkpoint: Path) -> None:
    prompts = [f"p{i // 3}" for i in range(30)]
    families = ["vendi", "distance", "completions", "compression"]
    found = score(REFERENCE, GENERATED, metrics=families, prompts=prompts)
    entry = Embedder(
        label="x", source={"kind": "file", "path": str(checkpoint)}, pooling="mean", max_tokens=64
    )
    features = [
        embed(texts, checkpoint, entry, torch.device("cpu")).vectors for texts in (REFERENCE, GENERATED)
    ]
    assert found.vendi == pytest.approx(textgamut.vendi_score(features[1]))
    assert found.vendi_ratio == pytest.approx(found.vendi / textgamut.vendi_score(features[0]))
    assert found.mmd_gaussian == pytest.approx(textgamut.mmd(*features)["gaussian"].value, abs=1e-6)
    assert found.frechet == pytest.approx(textgamut.frechet_distance(*features), abs=1e-6)
    assert found.completion_cosine == pytest.approx(textgamut.pairwise_cosine(features[1], prompts), abs=1e-6)
    assert 1 <= found.distinct_completions <= 3
    words = min(sum(len(text.split()) for text in texts) for texts in (REFERENCE, GENERATED))
    cut = textgamut.cut_to_words(GENERATED, words)
    assert found.compression_ratio == textgamut.compression_ratio(cut)
    assert found.homogenization == textgamut.homogenization(cut)
    with pytest.raises(TextgamutError, match="'completions' needs the prompt of each generated text"):
        score(REFERENCE, GENERATED, metrics=["completions"])


def test_the_table_of_a_comparison_begins_with_the_model(comparison) -> None:
    frame = comparison.to_frame()
    assert list(frame)[:4] == ["model", "group", "metric", "value"]
    assert frame["model"].unique().tolist() == ["a", "b", "c", USED_REFERENCES]
    of_b = frame[frame["model"] == "b"].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(of_b, comparison.results["b"].to_frame(), check_dtype=False)
    assert repr(comparison) == "Comparison('a', 'b', 'c')"
    with pytest.raises(dataclasses.FrozenInstanceError):
        comparison.results = {}


def test_groups_and_prompts_are_of_each_model(compare, score, checkpoint: Path) -> None:
    two = {"a": GENERATED, "b": BOTH}
    topics = {"a": ["x", "y"] * 15, "b": ["y"] * 30}
    prompts = {"a": ["the cat"] * 30, "b": [None, "the dog"] * 15}
    options = {"metrics": ["support", "likelihood"], "scorer": checkpoint}
    found = compare(REFERENCE, two, groups={"topic": (["x"] * 30, topics)}, prompts=prompts, **options)
    for name, texts in two.items():
        groups = {"topic": (["x"] * 30, topics[name])}
        alone = score(REFERENCE, texts, groups=groups, prompts=prompts[name], **options)
        assert found.results[name].rows == alone.rows


def test_warnings_of_single_models_name_the_model(compare) -> None:
    short = [text.split()[0] for text in GENERATED]
    with pytest.warns(UserWarning, match="N = 30") as told:
        compare(REFERENCE, {"a": GENERATED, "b\x1b": short}, metrics=["support"])
    messages = [str(warning.message) for warning in told]
    assert sum("N = 30 is below 1000" in message for message in messages) == 1
    assert sum(message.startswith("b\\x1b: generated texts have 1 words") for message in messages) == 1
    assert not any(message.startswith("a:") for message in messages)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        (GENERATED, {}, "generated_texts: expected a dictionary by model, found list"),
        ({}, {}, "generated_texts: there are no models"),
        ({1: GENERATED}, {}, "generated_texts: the name of a model is not a string but of type int"),
        ({"a": GENERATED, "b": ["x"]}, {}, "generated_texts of model 'b': at least two texts are needed"),
        ({"a": GENERATED, "b": "text"}, {}, "generated_texts of model 'b': expected a list of texts"),
        ({"a": GENERATED, "b": [*GENERATED, 3]}, {}, "of model 'b': row 31 is not a string but of type int"),
        ({"a": GENERATED, "b": GENERATED[:4]}, {}, "k = 4 needs more than 4 texts per side, found 4"),
        (MODELS, {"prompts": {"a": ["x"] * 30}}, "prompts: nothing is given for model 'b'"),
        (MODELS, {"prompts": {"aa": ["x"] * 30}}, "prompts: unknown model 'aa'; nearest valid: 'a'"),
        (
            MODELS,
            {"prompts": {name: ["x"] for name in MODELS}},
            "prompts of model 'a': 1 values for 30 texts",
        ),
        (
            MODELS,
            {"groups": {"g": (["x"] * 30, {"a": ["x"] * 30, "b": ["x"] * 30, "c": ["x"]})}},
            "groups: 'g' of model 'c': 1 values for 30 texts",
        ),
        (
            MODELS,
            {"groups": {"g": ([None] * 30, {"a": ["x"] * 30, "b": [None] * 30, "c": ["x"] * 30})}},
            "groups: 'g' of model 'b': no text has a group",
        ),
    ],
)
def test_bad_models_are_named_before_any_work(compare, monkeypatch, models, options, message: str) -> None:
    monkeypatch.setattr("textgamut.models.checkpoints.prepare", None)  # no checkpoint is loaded
    with pytest.raises(TextgamutError) as caught:
        compare(REFERENCE, models, **options)
    assert message in str(caught.value)


def test_both_functions_have_the_same_options() -> None:
    one, several = (inspect.signature(each).parameters for each in (textgamut.score, textgamut.compare))
    assert list(one) == list(several)
    assert [each.default for each in one.values()] == [each.default for each in several.values()]


@pytest.mark.parametrize("place", ["/dev/full", "/dev/stdout", "folder", "fifo"])
def test_a_page_replaces_only_files(place: str, result, comparison, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    os.mkfifo("fifo")
    before = os.lstat(place)
    for scored in (result, comparison):
        monkeypatch.setattr(textgamut.scoring.results.Comparison, "page", None)  # it is not even made
        with pytest.raises(
            textgamut.TextgamutError, match=f"^{place}: is (not a regular file|a folder, not a f)"
        ):
            scored.to_html(place)
    assert (os.lstat(place).st_ino, os.lstat(place).st_mode) == (before.st_ino, before.st_mode)


def test_the_home_folder_is_expanded(result, checkpoint: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    result.to_html("~/page.html")
    assert (tmp_path / "home/page.html").exists()
    (tmp_path / "home/model").symlink_to(checkpoint)
    found = textgamut.score(
        ["a b"] * 9,
        ["a c"] * 9,
        embedder="~/model",
        pooling="mean",
        max_tokens=64,
        bootstrap=0,
        metrics=["vendi"],
    )
    assert found.rows
    assert not Path("~").exists()


# --- human texts ------------------------------------------------------------------------------------------

MANY = sentences(LOW, 11, 90)


def test_held_out_texts_are_the_yardstick(score) -> None:
    found = score(MANY, GENERATED, bootstrap=20, kmeans_seeds=[0])
    assert found.no_yardstick == ""
    held_out = found.yardstick
    assert held_out is not None
    assert len(held_out.generated_texts) == 30
    rows = [MANY.index(text) for text in held_out.generated_texts]
    assert min(rows) >= 30  # the first 30 are compared
    assert rows == sorted(rows)
    assert rows != list(range(30, 60))  # drawn
    alone = score(MANY[:30], list(held_out.generated_texts), bootstrap=20, kmeans_seeds=[0])
    assert held_out.values == alone.values
    assert held_out.intervals == alone.intervals
    assert found.values == score(MANY[:30], GENERATED, kmeans_seeds=[0]).values  # a yardstick changes nothing
    assert set(found.humans) == {YARDSTICK, USED_REFERENCES}
    assert found.humans[USED_REFERENCES].values == score(MANY, MANY[:30], metrics=["length", "ngram"]).values


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_human_texts_are_compared_whatever_is_known_of_the_models(
    compare, asked: bool, grouped: bool, clustered: bool
) -> None:
    """They have neither prompts nor clusters."""
    models = {"a": GENERATED, "b": sentences(LOW, 5)}
    prompts = [None, *(f"p{i % 15}" for i in range(29))]
    found = compare(
        MANY,
        models,
        metrics=["support", "vendi", "ngram", "compression", *["completions"] * asked],
        bootstrap=20,
        prompts=dict.fromkeys(models, prompts) if asked else None,
        clusters={name: [f"c{i % 20}" for i in range(30)] for name in models} if clustered else None,
        groups={"topic": (["x", "y"] * 45, dict.fromkeys(models, ["x", "y"] * 15))} if grouped else None,
    )
    table = found.differences
    human = table[table["model_2"] == YARDSTICK]
    families = ("support", "vendi", "ngram", "compression")
    of_sets = {name for family in families for name in metrics_of(family) if name != "vendi_reference"}
    whole = set(human.loc[human["group"] == "all", "metric"])
    assert of_sets - whole <= {"ead"}
    assert set(human["group"]) == ({"all", "topic=x", "topic=y"} if grouped else {"all"})
    assert not human["paired"].any()
    assert table.loc[table["model_2"] == "b", "paired"].any() == asked
    assert set(found.verdicts) == set(models)
    assert len(found.deviations) > len(table[table["group"] == "all"])


@pytest.mark.parametrize(
    ("references", "why"),
    [
        (MANY[:59], "held-out human texts of N = 30 need 60 references, and there are 59"),
        (sentences(LOW, 5) + sentences(HIGH, 6), "not in random order or not of one kind"),
    ],
)
def test_without_a_yardstick_the_reason_is_said(score, references: list[str], why: str) -> None:
    found = score(references, GENERATED)
    assert why in found.no_yardstick
    assert found.yardstick is None
    assert found.verdict.sentences[-1] == f"There is no yardstick: {found.no_yardstick}."
    assert set(found.verdict.findings) == {"self_bleu"}  # against the references: no word of precision


def test_n_is_chosen(score) -> None:
    found = score(MANY[:40], GENERATED, n=20, metrics=["support", "length"])
    assert {row["n"] for row in found.rows} == {20}
    assert found.values == score(MANY[:20], GENERATED[:20], metrics=["support", "length"]).values
    assert len(found.yardstick.generated_texts) == 20
    with pytest.raises(TextgamutError, match="n = 31: there are only 30 generated texts"):
        score(MANY, GENERATED, n=31)
    with pytest.raises(TextgamutError, match="n = 30: there are only 20 references"):
        score(MANY[:20], GENERATED, n=30)


def test_every_metric_of_sets_has_an_interval_also_of_groups(result) -> None:
    assert {row["group"] for row in result.rows} == {"all", "topic=x", "topic=y"}
    for row in result.rows:
        assert row["low"] <= row["value"] <= row["high"], row


def test_texts_of_one_prompt_have_intervals_too(score) -> None:
    options = {"bootstrap": 20, "metrics": ["support", "ngram", "length"]}
    asked = score(REFERENCE, GENERATED, prompts=["Write."] * 30, **options)
    assert asked.intervals
    assert asked.intervals == score(REFERENCE, GENERATED, **options).intervals


def test_features_are_kept_by_content_and_order(score, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TEXTGAMUT_CACHE", str(tmp_path))
    embedded: list[int] = []
    own = LoadedEmbedder.embed

    def counted(self, texts):
        embedded.append(len(texts))
        return own(self, texts)

    monkeypatch.setattr(LoadedEmbedder, "embed", counted)
    first = score(MANY, GENERATED, metrics=["support"])
    assert embedded == [30, 30, 30]  # the used references, the generated texts, the held-out ones
    again = score(MANY, GENERATED, metrics=["support"])
    assert len(embedded) == 3
    assert again.rows == first.rows
    score(MANY, GENERATED[::-1], metrics=["support"])
    assert len(embedded) == 4  # another order
    [damaged, *_] = (tmp_path / "features").glob("*.npz")
    damaged.write_bytes(b"not an archive")
    assert score(MANY, GENERATED, metrics=["support"]).rows == first.rows


def test_a_model_cannot_have_the_name_of_human_texts(compare) -> None:
    with pytest.raises(TextgamutError, match="is the name of human texts"):
        compare(REFERENCE, {YARDSTICK: GENERATED})


def test_the_methods_are_a_paragraph_with_numbers_settings_and_keys(score) -> None:
    found = score(MANY, GENERATED, bootstrap=20, kmeans_seeds=[0])
    said = found.methods()
    assert said.startswith(
        "The texts of 1 model were compared with human texts, N = 30 of each (90 human texts"
    )
    for part in (
        textgamut.__version__, torch.__version__, "at most 64 tokens", "with k = 4", "MAUVE",
        "20 half-samples",
        "As a yardstick, 30 held-out human texts", "random divisions of the pooled texts",
        f"the {len(found._alone.differences)} p-values are corrected", "[@pillutla2021; @liu2021]",
    ):  # fmt: skip
        assert part in said, part
    assert "EAD" not in said  # it was not computed
    assert "\n" not in said
    entries = found.methods(bibtex=True).removeprefix(said).split("\n")
    keys = {entry.partition("{")[2].partition(",")[0] for entry in entries if entry}
    assert keys == set(re.findall(r"@(\w+)", said))
    without = score(MANY[:40], GENERATED, metrics=["ngram"])
    assert "There is no yardstick: held-out human texts of N = 30 need 60 references" in without.methods()
    assert "half-samples" not in without.methods()


def test_every_family_cites_what_is_in_the_bibliography() -> None:
    folder = Path(textgamut.__file__).parent / "report/published"
    known = re.findall(r"^@\w+\{(\w+),", (folder / "sources.bib").read_text(), re.MULTILINE)
    assert len(known) == len(set(known))
    cited = {key for family in FAMILIES.values() for key in family.cites}
    assert cited <= set(known)


def test_too_few_texts_for_k_are_said(score) -> None:
    found = score(MANY, GENERATED, n=16, metrics=["support"])
    assert found.verdict.sentences == ("N = 16 is not above 4 k = 16: too few texts to tell by support.",)
    assert not found.verdict.findings
    assert "too few" not in " ".join(score(MANY, GENERATED, n=17, metrics=["support"]).verdict.sentences[:1])


def test_a_verdict_is_repeated_on_texts_of_one_length(score) -> None:
    """Words of one kind, in texts three times as long: only their length tells them from human texts."""
    long = [" ".join(MANY[3 * i : 3 * i + 3]) for i in range(30)]
    found = score(sentences(LOW, 12, 120), long, metrics=["support", "length"], k=2)
    assert any(sentence.startswith("On texts cut to ") for sentence in found.verdict.sentences)
    alike = score(sentences(LOW, 12, 120), sentences(LOW, 13, 60), metrics=["support", "length"], k=2)
    assert not any(sentence.startswith("On texts cut to ") for sentence in alike.verdict.sentences)


def test_a_missed_topic_is_found_and_described(score) -> None:
    rng = np.random.default_rng(5)
    human = [
        text for pair in zip(sentences(LOW, 21, 120), sentences(HIGH, 22, 120), strict=True) for text in pair
    ]
    rng.shuffle(human)
    found = score(human, sentences(LOW, 23, 80), metrics=["support", "length"])
    assert found.verdict.findings["recall"] == "below"
    assert any("it misses part of what humans write" in sentence for sentence in found.verdict.sentences)
    phrases = {
        word for region in found.regions.reference for phrase in region.phrases for word in phrase.split()
    }
    assert phrases & {word.lower() for word in HIGH}
    assert not phrases & set(LOW)
    page = found._alone.page("x")
    assert page.sections[0].title == "Verdicts"
    [table] = page.sections[0].tables
    assert table.caption == "Missed by generated"
    assert table.rows[0][2].links[0][1].startswith("#texts?task=texts&point=-1%2Crow-")
