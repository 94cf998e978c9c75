"""Tests of the metrics of sets: every family, clusters, groups, runs and draws."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from textgamut.catalogue import FAMILIES, METRICS
from textgamut.catalogue.gate import OF_ANSWERS, OF_TWO_SETS
from textgamut.inference.differences import CANNOT_TELL, Difference, differences_table, holm
from textgamut.inference.gates import drop_of
from textgamut.inference.set_differences import Run, _units_of, joined, set_differences
from textgamut.inference.verdicts import group_verdict

RNG = np.random.default_rng(0)


def run_of(
    family: str, *own: dict[str, object], prompts=None, resamples: int | None = None, **common: object
) -> list[Difference]:
    settings = {"k": 3, "seeds": (0,), "clusters": None, "permutations": 10, "references": ["a b c"] * 30}
    values = dict.fromkeys(METRICS, 0.0)
    run = Run((own[0], own[1]), settings | common, prompts)
    return set_differences(FAMILIES[family], [run], ("a", "b"), values, resamples)


def test_a_worse_model_is_found() -> None:
    sets = np.random.default_rng(0).normal(size=(3, 100, 3))
    away = {"features": sets[2] + [0, 0, 2.5]}
    found = run_of("support", {"features": sets[1]}, away, reference_features=sets[0])
    found = [of._replace(difference=of.tested) for of in found]
    table = differences_table([("good", "bad", found)]).set_index("metric")
    assert set(table.loc[["recall", "coverage", "clipped_density"], "verdict"]) == {"better"}
    assert table.loc["density", "verdict"] == "higher"
    assert (table.loc["recall", ["low", "tested", "high"]].diff().dropna() > 0).all()
    assert table.loc["recall", "low"] > 0
    assert table.loc["recall", "fitted"]
    assert 0 < table.loc["recall", "p"] < 1e-4
    assert (table["n"] == 100).all()


@pytest.mark.filterwarnings("ignore")
def test_the_interval_is_that_of_models_that_differ() -> None:
    """Near equality, a squared distance varies little; resamples of equal models know no other variance."""

    def drawn(number: int) -> Difference:
        sets = np.random.default_rng(number).normal(size=(3, 80, 3))
        away = {"features": sets[2] + [0, 0, 1.5]}
        found = run_of("distance", {"features": sets[1]}, away, reference_features=sets[0])
        return next(of for of in found if of.metric == "mmd_gaussian")

    several = [drawn(number) for number in range(30)]
    truth = np.std([of.tested for of in several], ddof=1)
    assert np.mean([of.deviation for of in several]) < 0.8 * truth
    assert np.mean([(of.high - of.low) / 3.92 for of in several]) == pytest.approx(truth, rel=0.25)


def test_a_group_that_got_worse_is_found() -> None:
    """The texts of one of three groups move away: its precision is lower, that of the others is not."""
    sets = np.random.default_rng(0).normal(size=(3, 120, 3))
    labels = [["a", "b", "c"][i % 3] for i in range(120)]
    sets[..., 0] = np.abs(sets[..., 0]) + 1
    sets[2, 1::3, 0] *= -1
    own = [{"features": of, "groups": {"topic": labels}} for of in sets[1:]]
    prompts = (list(range(120)), list(range(120)))
    common = {"reference_features": sets[0], "reference_groups": {"topic": labels}, "resamples": 1000}
    found = [of._replace(difference=of.tested) for of in run_of("support", *own, prompts=prompts, **common)]
    table = differences_table([("good", "bad", found)])
    assert table["group"].drop_duplicates().tolist() == ["all", "topic=a", "topic=b", "topic=c"]
    precision = table[table["metric"] == "precision"].set_index("group")
    assert precision["verdict"].tolist() == ["better", CANNOT_TELL, "better", CANNOT_TELL]
    assert precision["n"].tolist() == [120, 40, 40, 40]
    whole = table["group"] == "all"
    assert table["p_holm"][whole].tolist() == pytest.approx(holm(table["p"][whole]))
    assert table["p_holm"][~whole].tolist() == pytest.approx(holm(table["p"][~whole]))
    assert group_verdict(table, "good", "bad")[0].startswith("By group, precision is better in topic=b (+0.")
    assert group_verdict(table, "good", "bad")[0].endswith("; it cannot be told apart in 2 others.")
    del common["reference_groups"]
    without = run_of("support", *({"features": of} for of in sets[1:]), prompts=prompts, **common)
    assert [of._replace(difference=of.tested) for of in without] == [of for of in found if of.group == "all"]


FEATURES = np.random.default_rng(1).normal(size=(3, 40, 5))


TEXTS = [[f"{word} {i % 7} {word * (i % 3 + 1)} x y" for i in range(40)] for word in ("one", "two")]


@pytest.mark.parametrize(
    ("family", "metrics"),
    [
        ("support", ["precision", "recall", "density", "coverage", "clipped_density", "clipped_coverage",
                     "symmetric_precision", "symmetric_recall"]),
        ("divergence", ["mauve", "frontier_integral", "f_1_8", "f_8", "mauve_star",
        "frontier_integral_star"]), ("vendi", ["vendi", "vendi_ratio", "rke", "rke_ratio"]),
        ("distance", ["mmd_gaussian", "mmd_polynomial", "frechet"]),
        ("ngram", ["self_bleu", "distinct_1", "distinct_2", "distinct_3", "distinct_4", "unigram_entropy"]),
        ("compression", ["compression_ratio", "ngram_diversity", "self_repetition", "homogenization"]),
        ("completions", ["completion_cosine", "conditional_vendi", "distinct_completions"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("paired", [True, False])
def test_every_family_of_sets_is_tested(family: str, metrics: list[str], paired: bool) -> None:
    ids = [f"p{i // 2}" for i in range(40)]
    own = [
        {"features": of, "texts": texts, "prompt_ids": ids}
        for of, texts in zip(FEATURES, TEXTS, strict=False)
    ]
    prompts = (ids, ids) if paired else None
    found = run_of(family, *own, prompts=prompts, reference_features=FEATURES[2])
    assert sorted(of.metric for of in found) == sorted(metrics)
    for of in found:
        assert 0 < of.p <= 1
        assert of.low <= of.tested <= of.high
        assert of.resamples >= 100
        assert of.n == 40
    turned = run_of(family, *own[::-1], prompts=prompts, reference_features=FEATURES[2])
    assert {of.metric for of in turned} == set(metrics)
    twins = run_of(family, own[0], dict(own[0]), prompts=prompts, reference_features=FEATURES[2])
    if paired:  # a text and its copy are swapped
        assert all(of.p == 1 and of.tested == 0 for of in twins)


def test_the_order_of_the_models_changes_the_sign_only() -> None:
    own = [{"features": of} for of in FEATURES]
    common = {"k": 3}
    for prompts in (None, (list(range(40)), list(range(39, -1, -1)))):
        run = Run((own[0], own[1]), common | {"reference_features": FEATURES[2]}, prompts)
        turned = Run((own[1], own[0]), run.common, prompts and prompts[::-1])
        values = {"recall": 0.25}
        straight = set_differences(FAMILIES["support"], [run], ("x", "y"), values)
        other = set_differences(FAMILIES["support"], [turned], ("y", "x"), {"recall": -0.25})
        for a, b in zip(straight, other, strict=True):
            assert (a.metric, a.p, a.tested, a.low) == (b.metric, b.p, -b.tested, -b.high)
        assert [of.difference for of in other if of.metric == "recall"] == [-0.25]


def test_runs_are_averaged_and_draws_too() -> None:
    rng = np.random.default_rng(2)
    sets = rng.normal(size=(4, 40, 5))
    draws = rng.normal(size=(2, 40, 5))
    runs = [
        Run(({"features": one}, {"features": other}), {"k": 3, "reference_features": draw}, None, number)
        for number, (one, other) in enumerate(((sets[0], sets[1]), (sets[2], sets[3])))
        for draw in draws
    ]
    alone = [set_differences(FAMILIES["support"], [run], ("a", "b"), {}) for run in runs]
    together = set_differences(FAMILIES["support"], runs, ("a", "b"), {})
    for place, of in enumerate(together):
        assert of.tested == pytest.approx(np.mean([found[place].tested for found in alone]))


def test_texts_without_a_partner_are_left_out() -> None:
    own = [{"features": of} for of in FEATURES]
    prompts = list(range(40)), [*range(30), *range(100, 109), None]
    with pytest.warns(UserWarning, match="10 of 40 texts are left out of the tests of support: the other"):
        found = run_of("support", own[0], own[1], prompts=prompts, reference_features=FEATURES[2])
    assert {of.n for of in found} == {30}
    few = list(range(40)), [*range(12), *range(100, 128)]
    with pytest.warns(UserWarning, match="28 of 40"):
        assert run_of("vendi", own[0], own[1], prompts=few, reference_features=FEATURES[2])[0].n == 12
    assert run_of("support", own[0], own[1], prompts=few, reference_features=FEATURES[2]) == []  # N <= 4 k


def test_the_texts_of_few_prompts_are_swapped_one_by_one() -> None:
    """One prompt for all texts has only two swaps as a whole, and a difference would never be found."""
    texts = [[f"a {i} b c d e" for i in range(40)], ["a b c d e f"] * 40]
    own = [{"texts": of} for of in texts]
    alone = {of.metric: of.p for of in run_of("ngram", *own, prompts=(["x"] * 40, ["x"] * 40))}
    assert alone["distinct_2"] < 0.01
    many = [f"p{i // 2}" for i in range(40)]
    whole = {of.metric: of.p for of in run_of("ngram", *own, prompts=(many, many))}
    assert whole["distinct_2"] < 0.01


def test_the_references_limit_the_number_of_texts() -> None:
    own = [{"features": of} for of in FEATURES]
    found = run_of("vendi", own[0], own[1], reference_features=FEATURES[2][:30])
    assert {of.n for of in found} == {30}


def test_clusters_are_moved_as_a_whole() -> None:
    """Ten authors, each with ten texts that are alike: tests by text find far too much."""
    rng = np.random.default_rng(0)
    authors = np.repeat(np.arange(20), 10)
    found: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(20):
        reference = rng.normal(size=(100, 3))
        pooled = np.repeat(rng.normal(size=(20, 3)), 10, axis=0) + 0.1 * rng.normal(size=(200, 3))
        own = {"features": pooled[:100]}, {"features": pooled[100:]}
        labels = [f"a{author}" for author in authors]
        for clustered in (True, False):
            run = Run(own, {"reference_features": reference, "k": 4}, None)
            if clustered:
                run = run._replace(clusters=(labels[:100], labels[100:]))
            tests = set_differences(FAMILIES["support"], [run], ("a", "b"), {}, 200)
            found[clustered].append({of.metric: of.p for of in tests}["density"])
    assert np.mean(np.array(found[False]) < 0.05) > 0.3
    assert np.mean(np.array(found[True]) < 0.05) <= 0.2


@pytest.mark.parametrize(("clusters", "others", "tested"), [(1, 40, 0), (4, 40, 0), (4, 8, 4), (20, 40, 4)])
def test_few_clusters_are_not_compared_with_many(clusters: int, others: int, tested: int) -> None:
    """The given division would be the most extreme one, also of equal models."""
    own = [{"features": of} for of in FEATURES[:2]]
    labels = [[row % of for row in range(40)] for of in (clusters, others)]
    run = Run((own[0], own[1]), {"reference_features": FEATURES[2]}, None, clusters=(labels[0], labels[1]))
    with warnings.catch_warnings(record=True) as caught:
        found = set_differences(FAMILIES["vendi"], [run], ("a", "b"), {}, 20)
    assert len(found) == tested
    told = [str(of.message) for of in caught if "no tests" in str(of.message)]
    if tested:
        assert not told
    else:
        assert told[0].startswith("no tests of vendi: the texts of one set are of ")
        assert f"of {clusters} cluster" in told[0]


def test_few_prompts_are_not_compared_with_many() -> None:
    asked = [f"p{row // 10}" for row in range(40)], [f"q{row // 2}" for row in range(40)]
    own = [{"features": of, "prompt_ids": ids} for of, ids in zip(FEATURES[:2], asked, strict=True)]
    with pytest.warns(UserWarning, match="the texts of one set are of 4 prompts, those of the other of 20"):
        assert (
            set_differences(FAMILIES["completions"], [Run((own[0], own[1]), {}, asked)], ("a", "b"), {}) == []
        )


def test_completions_of_a_prompt_are_permuted_together() -> None:
    """Between texts without common prompts, one of which is alone; those of few prompts one by one."""
    rows = range(50)
    prompts = [f"p{row // 2}" for row in rows]
    run = Run(({}, {}), {}, (prompts, [None] * 50))
    units = _units_of(run, (rows, rows), paired=False, together=False)
    assert units[0] == units[2] == ("cluster", 0, 0, "p0")
    assert len(set(units)) == 25 + 50
    few = run._replace(prompts=([f"p{row // 5}" for row in rows], [None] * 50))
    assert len(set(_units_of(few, (rows, rows), paired=False, together=False))) == 100
    assert len(set(_units_of(few, (rows, rows), paired=False, together=True))) == 10 + 50


def test_completions_of_few_prompts_are_permuted_together() -> None:
    """Completions of some prompts differ more; moved one by one, many equal models are told apart."""
    rng = np.random.default_rng(0)
    found: dict[bool, list[Difference]] = {True: [], False: []}
    for number in range(30):
        own = []
        for side in "ab":
            prompts = [f"{side}{i // 4}" for i in range(40)]
            spread = np.repeat(rng.uniform(0.1, 2, 10), 4)[:, None]
            own.append({"features": 1 + spread * rng.normal(size=(40, 5)), "prompt_ids": prompts})
        names = f"a{number}", f"b{number}"
        for together, asked in ((True, (own[0]["prompt_ids"], own[1]["prompt_ids"])), (False, None)):
            run = Run((own[0], own[1]), {}, asked)
            found[together] += set_differences(FAMILIES["completions"], [run], names, {}, 100)
    shares = {
        moved: pd.DataFrame(tests).assign(told=lambda of: of["p"] < 0.05).groupby("metric")["told"].mean()
        for moved, tests in found.items()
    }
    assert shares[True].max() <= 0.15
    assert shares[False]["conditional_vendi"] > 0.2
    assert shares[False]["distinct_completions"] > 0.4


def test_a_cluster_of_prompts_is_swapped_as_a_whole() -> None:
    rows = range(8)
    prompts = [f"p{row}" for row in rows]
    run = Run(({}, {}), {}, (prompts, prompts), clusters=(["x"] * 4 + [None] * 4, [None] * 8))
    units = _units_of(run, (rows, rows), paired=True, together=False)
    assert units[:8] == [("cluster", "x")] * 8
    assert len(set(units[8:])) == 4
    apart = _units_of(run._replace(prompts=None), (rows, rows), paired=False, together=False)
    assert apart[0:8:2] == [("cluster", 0, 0, "x")] * 4
    assert len(set(apart)) == 1 + 4 + 8


def test_texts_that_share_a_prompt_or_a_cluster_are_joined() -> None:
    prompts = ["a", "a", "b", "c", None, "d", None]
    clusters = ["x", "y", "y", None, "z", "z", None]
    first, *rest, alone = joined(prompts, clusters)
    assert rest[:2] == [first, first]  # through y
    assert rest[2] not in (first, None)
    assert rest[3] == rest[4] != first
    assert alone is None


def test_the_answers_of_a_prompt_stay_together_where_clusters_cut_across() -> None:
    """Equal models: 5 % of the one-sided p-values are below 0.05, whatever the clusters are."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(100):
        texts = [[str(of) for of in rng.integers(3, size=160)] for _ in range(2)]
        prompts = [[f"{side}{row // 4}" for row in range(160)] for side in "ab"]
        clusters = [[f"{side}{row % 40}" if row % 4 == 0 else None for row in range(160)] for side in "ab"]
        own = [{"texts": of, "prompt_ids": asked} for of, asked in zip(texts, prompts, strict=True)]
        run = Run((own[0], own[1]), {}, (prompts[0], prompts[1]), clusters=(clusters[0], clusters[1]))
        [found] = set_differences(OF_ANSWERS, [run], ("old", "new"), {}, resamples=200)
        below += found.p / 2 < 0.05 and found.tested > 0
    assert below <= 11  # of 100 with probability 0.05, 11 or fewer in 99.6 %


def test_equal_models_are_not_nearer_to_each_other_than_to_themselves() -> None:
    """Both sides answer the same prompts, twice each: the p-values of equal models are not too small."""
    rng = np.random.default_rng(1)
    below = 0
    for _ in range(60):
        topics = np.repeat(rng.normal(size=(30, 8)), 2, axis=0)
        sides = [topics + 0.5 * rng.normal(size=(60, 8)) for _ in range(2)]
        prompts = [row // 2 for row in range(60)]
        own = [{"features": of, "units": prompts} for of in sides]
        run = Run((own[0], own[1]), {"texts": None, "language": "en"}, (prompts, prompts))
        found = {
            of.metric: of for of in set_differences(OF_TWO_SETS, [run], ("old", "new"), {}, resamples=200)
        }
        of = found["nearest_across"]
        below += of.p < 0.05 and drop_of(of) > 0
    assert below <= 8  # of 60 with probability 0.05, 8 or fewer in 99.6 %
