"""Statistics on resamples equal the metrics of the same texts, computed on their own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from textgamut.features.reduce import reduce_features
from textgamut.metrics import completions, compression, ngram
from textgamut.metrics.completion_resamples import prepare_completions
from textgamut.metrics.distance import frechet_distance
from textgamut.metrics.distance_resamples import prepare_distance
from textgamut.metrics.divergence import cluster_labels, f_beta, frontier_integral, mauve, pr_curve
from textgamut.metrics.divergence_resamples import SCORES, STARTS, prepare_divergence
from textgamut.metrics.ngram_resamples import prepare_compression, prepare_ngram
from textgamut.metrics.statistic import InGroup, Masks, Values, recomputed
from textgamut.metrics.support import group_metrics, support_metrics
from textgamut.metrics.support_resamples import prepare_support
from textgamut.metrics.support_scores import OF_GROUPS
from textgamut.metrics.vendi import prepare_vendi, vendi_score

SUPPORT = (
    "precision",
    "recall",
    "density",
    "coverage",
    "clipped_density",
    "clipped_coverage",
    "symmetric_precision",
    "symmetric_recall",
)
WORDS = "the a of to in it was said one two red green small large house river bird and ran sat".split()  # noqa: SIM905


def masks_of(n: int, count: int, seed: int = 0) -> Masks:
    """Return the given division, random swaps, and random divisions."""
    rng = np.random.default_rng(seed)
    given = np.tile([True, False], n)
    swaps = given ^ np.repeat(rng.random((count, n)) < 0.5, 2, axis=1)
    return np.concatenate([given[None], swaps, rng.permuted(np.tile(given, (count, 1)), axis=1)])


def both(masks: Masks, compute) -> Values:
    return recomputed(compute).evaluate(masks)


def features(n: int, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pooled = rng.normal(size=(2 * n, d))
    pooled[1::2] = pooled[1::2] * 0.7 + 0.2
    return pooled, rng.normal(size=(n, d))


def assert_equal(found: Values, expected: Values, names, tolerance: float = 0) -> None:
    for name in names:
        assert found[name].shape == expected[name].shape
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=tolerance, err_msg=name)


@pytest.mark.parametrize(
    ("n", "k", "kind"),
    [(20, 4, "plain"), (60, 4, "plain"), (120, 3, "plain"), (90, 2, "copies"), (80, 3, "apart")],
)
def test_support_metrics_are_exact(n: int, k: int, kind: str) -> None:
    pooled, reference = features(n)
    if kind == "copies":  # within a model, between models, and with references; more than are listed
        pooled[:80] = pooled[0]
        pooled[100:110] = reference[:10]
    if kind == "apart":  # the given division has few neighbours of a text's own model in the pool
        pooled[0::2][:10] = reference[:10] * 3
        pooled[1::2] = reference[:1] * 3 + pooled[1::2] * 0.1
    ref, both_models = reduce_features(reference, pooled)
    masks = masks_of(n, 12)

    def compute(rows):
        result = support_metrics(ref, both_models[rows], k)
        return {name: getattr(result, name) for name in SUPPORT}

    found = prepare_support(pooled, reference, k).evaluate(masks)
    assert_equal(found, both(masks, compute), SUPPORT, 1e-12)
    result = support_metrics(ref, both_models[masks[3]], k)
    other = support_metrics(both_models[masks[3]], ref, k)
    assert found["density"][0, 3] == pytest.approx(result.density)
    assert found["balls"][0, 3] == pytest.approx(other.density)


def test_support_metrics_of_groups_are_exact() -> None:
    """Those of the whole sets' support; fewer than 8 texts or references of a group have none."""
    n, k = 60, 4
    pooled, reference = features(n)
    labels = ["few"] * 15 + ["none"] * 16 + [[None, "a", "b"][i % 3] for i in range(2 * n - 31)]
    of_references = ["few"] * 7 + [["a", "b"][i % 2] for i in range(n - 7)]
    ref, both_models = reduce_features(reference, pooled)
    masks = masks_of(n, 12)
    groups = ("topic=a", "topic=b")

    def compute(rows):
        found = group_metrics(
            support_metrics(ref, both_models[rows], k), of_references, np.array(labels)[rows]
        )
        parts = ((group, name) for group in groups for name in OF_GROUPS)
        return {InGroup(*part): getattr(found[part[0][-1]], part[1]) for part in parts}

    statistic = prepare_support(pooled, reference, k, {"topic": labels}, {"topic": of_references})
    found = statistic.evaluate(masks)
    names = [InGroup(group, name) for group in groups for name in OF_GROUPS]
    assert_equal(found, both(masks, compute), names, 1e-12)
    of_groups = {name for name in found if isinstance(name, InGroup)}
    assert {name.group for name in of_groups if name.metric == "recall"} == set(groups)
    assert {name.group for name in of_groups if name.metric == "precision"} == {*groups, "topic=none"}
    assert_equal(found, prepare_support(pooled, reference, k).evaluate(masks), SUPPORT)
    assert all(
        statistic.companions[name] in found for name in (*names, *SUPPORT) if name in statistic.companions
    )


def test_a_ball_beyond_the_listed_neighbours_is_recomputed() -> None:
    n, k = 100, 2
    pooled, reference = features(n, 3)
    order = np.argsort(pooled[:, 0])
    masks = np.zeros((2, 2 * n), bool)  # halves of the space
    masks[0, order[:n]] = True
    masks[1] = masks[0]
    masks[1, order[: 2 * n : 2]] ^= True
    lone = order[-1]  # among others only
    masks[0, lone], masks[0, order[0]] = True, False
    ref, both_models = reduce_features(reference, pooled)

    def compute(rows):
        result = support_metrics(ref, both_models[rows], k)
        return {name: getattr(result, name) for name in SUPPORT}

    assert_equal(prepare_support(pooled, reference, k).evaluate(masks), both(masks, compute), SUPPORT, 1e-12)


@pytest.mark.parametrize("clusters", [None, 2, 30])
def test_divergence_metrics_are_those_of_the_common_clustering(clusters: int | None) -> None:
    pooled, reference = features(60)
    masks, seeds = masks_of(60, 10), (0, 3)
    ref, both_models = reduce_features(reference, pooled)
    order = sorted(range(120), key=lambda row: both_models[row].tobytes())
    spaces = [cluster_labels([ref, both_models[order]], clusters or 6, seed, STARTS) for seed in seeds]

    def compute(rows):
        sums = dict.fromkeys(SCORES, 0.0)
        for of_references, labels in spaces:
            own = labels[np.argsort(order)][rows]
            p, q = (np.bincount(of, minlength=clusters or 6) / len(of) for of in (of_references, own))
            curve = pr_curve(p, q)
            more = [(of * 60 + 0.5) / (60 + 0.5 * len(of)) for of in (p, q)]
            f_scores = f_beta(*curve, 1 / 8), f_beta(*curve, 8)
            values = mauve(p, q), frontier_integral(p, q), *f_scores, mauve(*more), frontier_integral(*more)
            for name, value in zip(sums, values, strict=True):
                sums[name] += value / len(seeds)
        return sums

    statistic = prepare_divergence(pooled, reference, clusters, seeds)
    assert_equal(statistic.evaluate(masks), both(masks, compute), SCORES, 1e-12)
    swapped = np.reshape(pooled.reshape(60, 2, -1)[:, ::-1], pooled.shape)  # the other model first
    turned = prepare_divergence(swapped, reference, clusters, seeds).evaluate(masks[:1])
    for name, values in statistic.evaluate(masks[:1]).items():
        np.testing.assert_array_equal(turned[name][::-1], values)


@pytest.mark.parametrize(("n", "d"), [(40, 12), (20, 64)])
def test_distances_are_those_of_the_common_kernel(n: int, d: int) -> None:
    pooled, reference = features(n, d)
    masks = masks_of(n, 8)
    units, ref = (of / np.linalg.norm(of, axis=1, keepdims=True) for of in (pooled, reference))
    every = np.concatenate([ref, units])
    count = len(every)
    scale = 2 - 2 * ((every @ every.T).sum() - count) / (count * (count - 1))

    def discrepancy(kernel, rows):
        own = units[rows]

        def inside(of):
            values = kernel(of @ of.T)
            return (values.sum() - np.trace(values)) / (len(of) * (len(of) - 1))

        return inside(own) + inside(ref) - 2 * kernel(own @ ref.T).mean()

    def compute(rows):
        return {
            "mmd_gaussian": discrepancy(lambda cosine: np.exp((cosine - 1) / scale), rows),
            "mmd_polynomial": discrepancy(lambda cosine: (cosine + 1) ** 3, rows),
            "frechet": frechet_distance(reference, pooled[rows]),
        }

    mmd, frechet = prepare_distance(pooled, reference)
    expected = both(masks, compute)
    assert_equal(mmd.evaluate(masks), expected, ("mmd_gaussian",), 1e-7)
    assert_equal(mmd.evaluate(masks), expected, ("mmd_polynomial",), 1e-6)
    assert_equal(frechet.evaluate(masks), expected, ("frechet",), 1e-6)


@pytest.mark.parametrize(("n", "d"), [(40, 12), (20, 64)])
def test_vendi_scores_are_exact(n: int, d: int) -> None:
    pooled, reference = features(n, d)
    masks = masks_of(n, 5)

    def compute(rows):
        vendi, rke = vendi_score(pooled[rows]), vendi_score(pooled[rows], q=2)
        ratios = {
            "vendi_ratio": vendi / vendi_score(reference),
            "rke_ratio": rke / vendi_score(reference, q=2),
        }
        return {"vendi": vendi, "rke": rke} | ratios

    found = prepare_vendi(pooled, reference).evaluate(masks)
    assert_equal(found, both(masks, compute), ("vendi", "rke", "vendi_ratio", "rke_ratio"), 1e-9)


def texts_of(count: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(6, 15))) for _ in range(count)]


class Letters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}

    def __len__(self) -> int:
        return 256


@pytest.mark.parametrize("tokenizer", [None, Letters()], ids=["words", "tokens"])
def test_metrics_of_ngrams_are_exact(tokenizer) -> None:
    pooled = texts_of(40)
    masks = masks_of(20, 6)
    names = ["distinct_1", "distinct_2", "distinct_3", "distinct_4", "unigram_entropy"]
    names += ["ead"] if tokenizer else []

    def compute(rows):
        scores = ngram.score([pooled[row] for row in rows], tokenizer)
        return {row["metric"]: row["value"] for row in scores.rows}

    counted, self_bleu = prepare_ngram(pooled, tokenizer)
    expected = both(masks, compute)
    assert_equal(counted.evaluate(masks), expected, names, 1e-6)
    assert_equal(self_bleu.evaluate(masks), expected, ["self_bleu"], 1e-12)


@pytest.mark.parametrize("share", [None, 0.3])
@pytest.mark.parametrize("longest", [3, 12, 40])
def test_self_bleu_of_resamples_is_exact(longest: int, share: float | None) -> None:
    """Empty texts and short ones, n-grams that texts repeat, and equal lengths; sets of any size."""
    rng = np.random.default_rng(longest)
    pooled = [" ".join(rng.choice(list("abcdef"), rng.integers(longest))) for _ in range(16)]
    masks = rng.random((100, 16)) < 0.5
    masks[0] = False
    masks[0, 3] = True  # one text is compared with none
    _, self_bleu = prepare_ngram(pooled, self_bleu_sample=share)
    for side, found in zip((masks, ~masks), self_bleu.evaluate(masks)["self_bleu"], strict=True):
        for mask, value in zip(side, found, strict=True):
            tokens = [pooled[row].split() for row in np.flatnonzero(mask)]
            expected = ngram.self_bleu(tokens, sample=share) if len(tokens) > 1 else np.nan
            assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("first", [None, 3])
def test_metrics_of_completions_are_exact(first: int | None) -> None:
    """Prompts have one to six completions, which are moved together or one by one."""
    rng = np.random.default_rng(0)
    prompts = rng.choice(12, size=60, p=np.arange(1, 13) / 78).tolist()
    pooled = rng.normal(size=(60, 4))
    settings = {
        "threshold": 0.3,
        "first": first,
        "quality": {"metric": "words", "at_least": 3},
        "text_scores": {"words": rng.integers(1, 9, 60)},
    }
    of_prompts = rng.random((20, 12)) < 0.5
    masks = np.concatenate([of_prompts[:, prompts], rng.random((20, 60)) < 0.5, np.ones((1, 60), bool)])

    def compute(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = settings | {"text_scores": {"words": settings["text_scores"]["words"][rows]}}
            scores = completions.score(pooled[rows], [prompts[row] for row in rows], **own)
        return {row["metric"]: row["value"] for row in scores.rows}

    statistic = prepare_completions(pooled, prompts, **settings)
    expected = both(masks, compute)
    assert len(expected) == 4
    assert_equal(statistic.evaluate(masks), expected, expected, 1e-12)
    assert statistic.part
    part = statistic.part(np.empty((41, 0), bool), masks)
    for name in expected:
        np.testing.assert_array_equal(part[name], statistic.evaluate(masks)[name][0])


def test_metrics_of_compression_are_exact_at_equal_length() -> None:
    pooled = [" ".join(text.split()[:6]) for text in texts_of(40)]  # whole texts reach the common length
    masks = masks_of(20, 6)
    references = texts_of(15, 1)
    total = sum(len(text.split()) for text in references) // 6 * 6

    def compute(rows):
        kept = compression.cut_to_words([pooled[row] for row in rows], min(total, 120))
        tokens = [text.split() for text in kept]
        return {
            "compression_ratio": compression.compression_ratio(kept),
            "ngram_diversity": compression.ngram_diversity(tokens),
            "self_repetition": compression.self_repetition(tokens),
            "homogenization": compression.homogenization(kept),
        }

    fast, slow = prepare_compression(pooled, references)
    expected = both(masks, compute)
    assert_equal(
        fast.evaluate(masks), expected, ["ngram_diversity", "self_repetition", "homogenization"], 1e-6
    )
    assert_equal(slow.evaluate(masks), expected, ["compression_ratio"])
