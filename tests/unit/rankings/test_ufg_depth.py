"""Union-free generic depth: equal to its definition by brute force, and true of hand-made and real orders."""

from __future__ import annotations

import gzip
import itertools
import json
import logging
import math
import time
import warnings

import numpy as np
import pytest
from helpers import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st
from partial_orders import ALL_ORDERS, order_of

from textgamut.errors import TextgamutError
from textgamut.metrics.ngram import diversity
from textgamut.rankings import ufg_depth as module
from textgamut.rankings.dominance import dominance_orders
from textgamut.rankings.ufg_depth import ufg_depth

DECODING = ROOT.parent / "shared/data/decoding"


def brute_force(orders: np.ndarray) -> tuple[dict[bytes, float], int]:
    """The definition read literally: every subset, gamma over all partial orders, every proper subset."""
    m, n = orders.shape[1], len(orders)
    distinct = {one.tobytes(): one for one in orders}
    share = {key: sum(one.tobytes() == key for one in orders) / n for key in distinct}

    def gamma(keys: tuple[bytes, ...]) -> frozenset[bytes]:
        members = [distinct[key] for key in keys]
        least, most = np.logical_and.reduce(members), np.logical_or.reduce(members)
        inside = (~least | ALL_ORDERS[m]).all(axis=(1, 2)) & (~ALL_ORDERS[m] | most).all(axis=(1, 2))
        return frozenset(one.tobytes() for one in ALL_ORDERS[m][inside])

    hulls = {
        keys: gamma(keys)
        for size in range(1, len(distinct) + 1)
        for keys in itertools.combinations(sorted(distinct), size)
    }
    weights = {}
    for keys, hull in hulls.items():
        proper = (hulls[part] for size in range(1, len(keys)) for part in itertools.combinations(keys, size))
        if hull != set(keys) and hull != frozenset().union(*proper):
            weights[keys] = math.prod(share[key] for key in keys)
    total = math.fsum(weights.values())
    depth = {
        key: math.fsum(w for keys, w in weights.items() if key in hulls[keys]) / total if total else math.nan
        for key in distinct
    }
    return depth, len(weights)


def depth_of(orders: np.ndarray) -> dict[bytes, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ufg_depth(orders)
    return {one.tobytes(): depth for one, depth in zip(result.orders, result.depth, strict=True)}


def samples(m: int, distinct: int, size: int) -> st.SearchStrategy[np.ndarray]:
    kinds = st.lists(st.integers(0, len(ALL_ORDERS[m]) - 1), min_size=1, max_size=distinct)
    picked = kinds.flatmap(lambda kind: st.lists(st.sampled_from(kind), min_size=1, max_size=size))
    return picked.map(lambda rows: ALL_ORDERS[m][rows])


some_samples = st.one_of(samples(2, 3, 5), samples(3, 7, 12), samples(4, 7, 12))


@pytest.mark.parametrize(("m", "count"), [(2, 3), (3, 19), (4, 219), (5, 4231), (6, 130023)])
def test_the_hull_of_two_opposite_rankings_is_all_partial_orders(m: int, count: int) -> None:
    """Their numbers are known (OEIS A001035)."""
    ranking = np.triu(np.ones((m, m), dtype=bool))
    hull = module._hull(np.array([ranking, ranking.T]))
    assert len(hull) == count
    if m in ALL_ORDERS:
        assert {one.tobytes() for one in hull} == {one.tobytes() for one in ALL_ORDERS[m]}


@given(some_samples)
@settings(max_examples=100)
def test_depth_equals_brute_force(orders: np.ndarray) -> None:
    expected, n_premises = brute_force(orders)
    assert depth_of(orders) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = ufg_depth(orders)
    assert result.n_premises == n_premises
    assert result.counts.sum() == len(orders)
    for one, count in zip(result.orders, result.counts, strict=True):
        assert count == (orders == one).all(axis=(1, 2)).sum()


@given(some_samples, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_depth_does_not_depend_on_the_order_of_observations_or_methods(orders, random) -> None:
    rows = random.sample(range(len(orders)), len(orders))
    names = random.sample(range(orders.shape[1]), orders.shape[1])
    renamed = orders[rows][:, names][:, :, names]
    expected = {
        np.frombuffer(key, dtype=bool).reshape(orders.shape[1:])[names][:, names].tobytes(): depth
        for key, depth in depth_of(orders).items()
    }
    assert depth_of(renamed) == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(some_samples)
@settings(max_examples=60)
def test_depth_is_a_share_deepest_first_and_falls_on_reversal_alike(orders: np.ndarray) -> None:
    depth = depth_of(orders)
    values = np.array(list(depth.values()))
    if not np.isnan(values).all():
        assert ((values >= 0) & (values <= 1)).all()
        assert (np.diff(values) <= 1e-12).all()
    reverse = {
        np.frombuffer(key, dtype=bool).reshape(orders.shape[1:]).T.tobytes(): value
        for key, value in depth.items()
    }
    assert depth_of(orders.transpose(0, 2, 1)) == pytest.approx(reverse, abs=1e-12, nan_ok=True)


def test_two_opposite_orders() -> None:
    """One premise, {a over b, b over a}; the order of none lies between them, though it was not observed."""
    up, down, none = order_of(2, (0, 1)), order_of(2, (1, 0)), order_of(2)
    result = ufg_depth(np.array([up, down, down]))
    assert result.n_premises == 1
    assert result.depth.tolist() == [1, 1]
    # Observed, it makes no premise of its own: {up, none} is gamma of itself.
    result = ufg_depth(np.array([up, down, none]))
    assert result.n_premises == 1
    assert result.depth.tolist() == [1, 1, 1]


def test_frequencies_weigh_the_premises() -> None:
    """Three orders of three methods, pairwise premises by hand; the triple is none."""
    a, b, c = order_of(3, (0, 1)), order_of(3, (1, 2)), order_of(3, (2, 0))
    # Any two have the empty order between them; of all three, no order needs every one: it would have to be
    # the empty one, which two suffice for, or hold a pair of each, which is a circle.
    result = ufg_depth(np.array([a, a, a, b, b, c]))
    ab, bc, ac = 3 * 2 / 36, 2 * 1 / 36, 3 * 1 / 36
    assert result.n_premises == 3
    assert result.counts.tolist() == [3, 2, 1]
    assert result.depth == pytest.approx(np.array([ab + ac, ab + bc, ac + bc]) / (ab + bc + ac))


def test_an_unobserved_order_alone_can_make_a_premise() -> None:
    """The three orders of Schollmeyer and Blocher's corrigendum (2023) are union-free and generic.

    The order {ab, a1 b1, b1 c1, a1 c1} is in the gamma of all three and of no two.
    """
    a, b, a1, b1, c1 = range(5)
    three = np.array([order_of(5, (a, b), (a1, c1)), order_of(5, (a1, b1)), order_of(5, (b1, c1))])
    result = ufg_depth(three)
    assert result.n_premises == 4  # and each two of them, by the empty order
    third = 1 / 3
    pair, triple = third**2, third**3
    assert result.depth == pytest.approx([(2 * pair + triple) / (3 * pair + triple)] * 3)


def test_without_a_premise_the_depth_is_nan() -> None:
    for orders in ([order_of(3, (0, 1))] * 4, [order_of(2), order_of(2, (0, 1))]):
        with pytest.warns(
            UserWarning, match=r"of [23] methods: no other order lies between them, the depth is nan"
        ):
            result = ufg_depth(np.array(orders))
        assert result.n_premises == 0
        assert np.isnan(result.depth).all()
        assert result.counts.sum() == len(orders)


@pytest.mark.parametrize("distinct", [25, 60])
def test_the_estimate_is_near_the_number_of_sets_that_the_search_visits(distinct: int) -> None:
    picked, pairs = (
        ALL_ORDERS[4][np.random.default_rng(distinct).choice(219, distinct, replace=False)],
        ~np.eye(4, dtype=bool),
    )
    hull, observed = module._hull(picked)[:, pairs], picked[:, pairs]
    search = module._Search(hull, observed)
    nodes = search.roots()
    visits = len(nodes)
    while len(nodes):
        done, nodes = search.children(nodes)
        visits += len(done) + len(nodes)
    assert module._estimate(hull, observed) == pytest.approx(visits, rel=0.1)


def test_orders_that_do_not_fit_in_a_word() -> None:
    """66 orders: each pair, in one premise at most, by brute force over the pairs."""
    picked = ALL_ORDERS[4][np.random.default_rng(0).choice(219, 66, replace=False)]
    pairs = ~np.eye(4, dtype=bool)
    premises = module._unpack(module._premises(module._hull(picked)[:, pairs], picked[:, pairs]), 66)
    found = {tuple(np.flatnonzero(row).tolist()) for row in premises if row.sum() == 2}
    assert len({row.tobytes() for row in premises}) == len(premises)

    def between(i: int, j: int) -> int:
        inside = (~(picked[i] & picked[j]) | ALL_ORDERS[4]) & (~ALL_ORDERS[4] | picked[i] | picked[j])
        return int(inside.all(axis=(1, 2)).sum())

    assert found == {(i, j) for i, j in itertools.combinations(range(66), 2) if between(i, j) > 2}


def test_a_search_that_cannot_end_is_refused(monkeypatch) -> None:
    with pytest.raises(TextgamutError, match="1 distinct order of 9 methods: at most 8 methods"):
        ufg_depth(np.eye(9, dtype=bool)[None])
    ranking = np.triu(np.ones((7, 7), dtype=bool))
    with pytest.raises(TextgamutError, match="2 distinct orders of 7 methods span more than 500,000"):
        ufg_depth(np.array([ranking, ranking.T]))
    monkeypatch.setattr(module, "LIMIT", 10)
    with pytest.raises(
        TextgamutError, match=r"19 distinct orders of 3 methods ask for about .* than 1e\+01; take"
    ):
        ufg_depth(ALL_ORDERS[3])


@pytest.mark.slow
def test_five_methods_that_all_prompts_rank_differently_are_refused_in_seconds() -> None:
    scores = np.random.default_rng(0).standard_normal((1314, 5, 3))
    start = time.monotonic()
    with pytest.raises(TextgamutError, match=r"distinct orders of 5 methods ask for about .* sets of orders"):
        ufg_depth(dominance_orders(scores))
    assert time.monotonic() - start < 60


def test_progress_is_told(caplog) -> None:
    caplog.set_level(logging.INFO, logger="textgamut")
    ufg_depth(ALL_ORDERS[3])
    assert "19 of 19 partial orders" in caplog.text


@pytest.mark.parametrize(
    ("orders", "message"),
    [
        (
            np.ones((2, 3), dtype=bool),
            r"orders: must be an array \(orders, methods, methods\) of booleans, found ndarray \(2, 3\)",
        ),
        (np.ones((0, 3, 3), dtype=bool), r"found \(0, 3, 3\)"),
        (np.ones((4, 1, 1), dtype=bool), r"two methods or more is needed, found \(4, 1, 1\)"),
        (np.eye(3)[None], r"of booleans, found ndarray \(1, 3, 3\) of float64"),
        (np.zeros((1, 2, 2), dtype=bool), "order 0 is not a partial order"),
        (np.array([order_of(3), order_of(3, (0, 1), (1, 0))]), r"order 1 is not a partial order.*\(1 such\)"),
        (np.array([order_of(3), order_of(3, (0, 1), (1, 2))]), "order 1 is not a partial order"),
    ],
)
def test_bad_input(orders: np.ndarray, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        ufg_depth(orders)


def test_nothing_dominates_is_deepest_though_seen_once_where_prompts_disagree() -> None:
    """As in MC appendix E: no two orders share a dominance, so the empty one is in every premise's gamma."""
    orders = (
        [order_of(4)]
        + [order_of(4, (0, 1))] * 646
        + [order_of(4, (2, 1))] * 280
        + [order_of(4, (3, 0))] * 208
    )
    result = ufg_depth(np.array(orders))
    assert result.orders[0].sum() == 4
    assert result.counts[0] == 1
    assert result.depth[0] == 1
    assert (result.depth[1:] < 1).all()


@pytest.mark.skipif(not DECODING.exists(), reason=f"the decoding benchmark is not at {DECODING}")
def test_on_real_texts_nothing_dominates_is_deepest_though_not_seen_most() -> None:
    """GPT-2 XL and people continue the same 1,314 prompts, each cut to 40 and to 120 words: four methods.

    The criteria: diversity (MC appendix A), words shared with the prompt, words. As in MC section 4.4, the
    deepest order is the one without dominance, and another is seen more often.
    """
    with gzip.open(next(DECODING.glob("*.json.gz"))) as stream:
        rows = json.load(stream)
    scores = []
    for row in rows:
        prompt = set(row["prefix_text"].lower().split())
        pair = (row["generated_result"]["0"].lower().split(), row["reference_text"].lower().split())
        if min(map(len, pair)) >= 8:
            texts = [words[:most] for words in pair for most in (40, 120)]
            scores.append(
                [[diversity([" ".join(text)]), len(prompt & set(text)), len(text)] for text in texts]
            )
    result = ufg_depth(dominance_orders(scores))
    assert (len(scores), len(result.orders)) == (1305, 65)
    assert result.orders[0].sum() == 4
    assert result.depth[0] == pytest.approx(0.712, abs=5e-4)
    assert result.counts[0] == 136
    assert result.counts.max() == 164
