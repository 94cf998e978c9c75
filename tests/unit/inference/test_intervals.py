"""Intervals of the metrics of one model: for each family, of groups, of prompts, and of known deviations."""

from __future__ import annotations

import numpy as np
import pytest

from textgamut.catalogue import FAMILIES
from textgamut.inference.intervals import add_intervals
from textgamut.inference.resamples import LEAST_UNITS, SLOW_PARTS
from textgamut.metrics.distance import frechet_distance
from textgamut.metrics.rows import Scores, metric_row
from textgamut.metrics.support import half_samples, support_metrics

RNG = np.random.default_rng(0)
N = 80
OWN = {
    "features": RNG.normal(size=(N, 5)) + 0.3,
    "texts": [f"{i % 9} {i % 7} x {i % 5} y z" for i in range(N)],
}
COMMON = {
    "reference_features": RNG.normal(size=(N, 5)), "references": OWN["texts"], "k": 4, "seeds": (0,),
    "permutations": 9, "bootstrap": 0, "clusters": None,
}  # fmt: skip


def given(family: str) -> dict:
    return {name: OWN[name] for name in FAMILIES[family].reads if name in OWN}


def intervals(family: str, count: int = 40, groups: dict | None = None) -> dict:
    common, own = COMMON | {"reference_groups": groups or {}}, given(family)
    if groups:
        own["groups"] = groups
    scores = FAMILIES[family].score(common | own)
    rows = add_intervals(scores, FAMILIES[family], own, common, None, count)
    return {(row["group"], row["metric"]): row for row in rows}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "family", ["support", "divergence", "vendi", "distance", "ngram", "compression", "length"]
)
def test_every_metric_has_an_interval_about_its_value(family: str) -> None:
    found = intervals(family)
    for (_, metric), row in found.items():
        if metric.endswith("_p"):
            assert "low" not in row
            continue
        assert row["low"] <= row["value"] <= row["high"], row
        assert row["deviation"] >= 0
    assert intervals(family) == found  # no resample depends on what was computed before
    without = intervals(family, count=0)
    assert {key: row["value"] for key, row in without.items()} == {
        key: row["value"] for key, row in found.items()
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ["vendi", "distance"])
def test_the_halves_of_a_statistic_are_those_of_the_scorer(family: str) -> None:
    """With all texts on both sides, they are the scores; of halves, those of the scorer for these texts."""
    whole = {row["metric"]: row["value"] for row in FAMILIES[family].score(COMMON | given(family)).rows}
    first = np.arange(N) < N // 2
    cut = COMMON | {"reference_features": COMMON["reference_features"][first]}
    half = FAMILIES[family].score(cut | {"features": OWN["features"][~first]})
    of_half = {row["metric"]: row["value"] for row in half.rows}
    for statistic in FAMILIES[family].prepare(COMMON | given(family)):
        every = np.ones((1, N), bool)
        for name, values in statistic.part(every, every).items():
            assert values[0] == pytest.approx(whole[name], rel=1e-6, abs=1e-7), name
        for name, values in statistic.part(first[None], ~first[None]).items():
            if not name.startswith("mmd"):  # its kernel has the scale of all texts
                assert values[0] == pytest.approx(of_half[name], rel=1e-9), name


@pytest.mark.filterwarnings("ignore")
def test_the_distance_of_halves_with_fewer_texts_than_dimensions() -> None:
    sets = RNG.normal(size=(2, 40, 100)) + 0.1
    reference, texts = sets / np.linalg.norm(sets, axis=2, keepdims=True)
    masks = np.random.default_rng(2).permuted(np.tile(np.arange(40) < 20, (3, 1)), axis=1)
    [found] = [
        of.part(masks, ~masks)["frechet"]
        for of in FAMILIES["distance"].prepare({"features": texts, "reference_features": reference})
        if "frechet" in of.part(masks[:1], masks[:1])
    ]
    expected = [frechet_distance(reference[mask], texts[~mask]) for mask in masks]
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_groups_have_intervals_of_their_own() -> None:
    labels = [["a", "b"][i % 2] for i in range(N)]
    found = intervals("support", groups={"topic": labels})
    for group in ("topic=a", "topic=b"):
        own, every = found[group, "density"], found["all", "density"]
        assert own["low"] <= own["value"] <= own["high"]
        assert own["deviation"] > every["deviation"]  # of half as many texts


@pytest.mark.filterwarnings("ignore")
def test_the_interval_of_a_group_is_that_of_its_share() -> None:
    """With all texts in one group, its intervals are those of all; support draws prompts as a whole."""
    found = intervals("support", groups={"topic": ["a"] * N})
    for name in ("precision", "recall", "density", "coverage"):
        assert found["topic=a", name] | {"group": "all"} == found["all", name]
    own = given("support")
    each = FAMILIES["support"].score(COMMON | own | {"bootstrap": 100, "units": list(range(N))})
    assert each.rows == FAMILIES["support"].score(COMMON | own | {"bootstrap": 100}).rows
    pair = COMMON["reference_features"], own["features"]
    drawn = half_samples(*pair, support_metrics(*pair, 4), 20, units=np.arange(N) // 8)
    assert (drawn.texts.reshape(20, -1, 8).all(axis=2) == drawn.texts.reshape(20, -1, 8).any(axis=2)).all()
    assert (drawn.texts.sum(axis=1) == N // 2).all()


def test_the_deviation_is_that_of_a_mean() -> None:
    """The mean number of words: known exactly. Prompts with ten equal texts have ten times its variance."""
    words = np.random.default_rng(1).integers(1, 9, size=400).astype(float)
    scores = Scores([metric_row(400, "text_words", float(words.mean()))], {"text_words": words})
    [row] = add_intervals(scores, FAMILIES["length"], {"texts": [""] * 400}, {}, None, 0)
    assert row["deviation"] == pytest.approx(words.std(ddof=1) / 20)
    repeated = np.repeat(words[:40], 10)
    scores = Scores([metric_row(400, "text_words", float(repeated.mean()))], {"text_words": repeated})
    prompts = [f"p{i // 10}" for i in range(400)]
    [row] = add_intervals(scores, FAMILIES["length"], {"texts": [""] * 400}, {}, prompts, 0)
    assert row["deviation"] == pytest.approx(words[:40].std(ddof=1) / np.sqrt(40))


@pytest.mark.filterwarnings("ignore")
def test_texts_of_a_prompt_are_drawn_together() -> None:
    texts = [f"{i}" if i // 10 % 2 else "same" for i in range(N)]
    own = {"texts": texts}
    scores = FAMILIES["ngram"].score(COMMON | own)
    alone, together = (
        {row["metric"]: row for row in add_intervals(scores, FAMILIES["ngram"], own, COMMON, prompts, 100)}
        for prompts in (None, [f"p{i // 10}" for i in range(N)])
    )
    assert together["distinct_1"]["deviation"] > 2 * alone["distinct_1"]["deviation"]


@pytest.mark.filterwarnings("ignore")
def test_the_deviation_is_that_of_a_number_of_pairs() -> None:
    """Texts of one of 2,000 pairs of words each, at random: the variance of distinct-2 is known exactly."""
    n, kinds = 200, 2000
    missed, both_missed = (1 - 1 / kinds) ** n, (1 - 2 / kinds) ** n
    exact = kinds * missed + kinds * (kinds - 1) * both_missed - (kinds * missed) ** 2
    found, rng = [], np.random.default_rng(0)
    for _ in range(60):
        texts = [f"{word} {word}" for word in rng.integers(kinds, size=n)]
        rows = FAMILIES["ngram"].score(COMMON | {"texts": texts}).rows
        of_2 = Scores([row for row in rows if row["metric"] == "distinct_2"])
        [row] = add_intervals(of_2, FAMILIES["ngram"], {"texts": texts}, COMMON, None, 200)
        found.append(row["deviation"] ** 2)
    assert np.mean(found) == pytest.approx(exact / n**2, rel=0.12)  # of halves it is 0.75 times as large


@pytest.mark.filterwarnings("ignore")
def test_there_are_none_for_few_texts() -> None:
    own = {"features": OWN["features"][:16]}
    common = COMMON | {"reference_features": COMMON["reference_features"][:16]}
    scores = FAMILIES["support"].score(common | own)
    assert not any("low" in row for row in add_intervals(scores, FAMILIES["support"], own, common, None, 20))
    few = [f"p{i % (LEAST_UNITS - 1)}" for i in range(N)]
    scores = FAMILIES["ngram"].score(COMMON | given("ngram"))
    rows = add_intervals(scores, FAMILIES["ngram"], given("ngram"), COMMON, few, 20)
    assert not any("low" in row for row in rows)
    assert SLOW_PARTS < 100
