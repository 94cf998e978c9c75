"""Completions of one prompt: loops over all pairs, known angles, the order of rows, error messages."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import DataError
from textgamut.metrics.completions import (
    between_cosine,
    cosine_matrix,
    distinct_completions,
    effective_diversity,
    pairwise_cosine,
    passes,
    texts_of_methods,
)
from textgamut.metrics.prompts import partition

Texts = tuple[np.ndarray, list[str]]


def made(seed: int, counts: list[int], width: int = 5) -> Texts:
    """Return random features, with as many completions of each prompt as said, in mixed order."""
    rng = np.random.default_rng(seed)
    prompts = [f"p{prompt}" for prompt, count in enumerate(counts) for _ in range(count)]
    rng.shuffle(prompts)
    # A common direction, so that the cosines are not all near 0.
    return rng.normal(size=(len(prompts), width)) * rng.uniform(0.1, 9, (len(prompts), 1)) + 1, prompts


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def of_prompt(texts: Texts, prompt: str) -> list[np.ndarray]:
    features, prompts = texts
    return [row for row, of_row in zip(features, prompts, strict=True) if of_row == prompt]


def loop_within(texts: Texts) -> float:
    means = []
    for prompt in set(texts[1]):
        pairs = list(itertools.combinations(of_prompt(texts, prompt), 2))
        if pairs:
            means.append(np.mean([cosine(a, b) for a, b in pairs]))
    return float(np.mean(means))


def loop_between(first: Texts, second: Texts) -> float:
    means = []
    for prompt in set(first[1]) & set(second[1]):
        pairs = itertools.product(of_prompt(first, prompt), of_prompt(second, prompt))
        means.append(np.mean([cosine(a, b) for a, b in pairs]))
    return float(np.mean(means))


def loop_distinct(texts: Texts, threshold: float, k: int) -> float:
    counts = []
    for prompt in set(texts[1]):
        rows = of_prompt(texts, prompt)[:k]
        if len(rows) < k:
            continue
        classes: list[list[np.ndarray]] = []
        for row in rows:
            for members in classes:
                if cosine(members[0], row) >= threshold:
                    members.append(row)
                    break
            else:
                classes.append([row])
        counts.append(len(classes))
    return float(np.mean(counts))


def loop_effective(texts: Texts, passes: np.ndarray) -> float:
    features, prompts = texts
    means = []
    for prompt in set(prompts):
        rows = [row for row, of_row in enumerate(prompts) if of_row == prompt]
        if len(rows) < 2:
            continue
        distances = [
            1 - cosine(features[i], features[j]) if passes[i] and passes[j] else 0
            for i, j in itertools.combinations(rows, 2)
        ]
        means.append(np.mean(distances))
    return float(np.mean(means))


counts_of = st.lists(st.integers(1, 6), min_size=1, max_size=6).filter(lambda counts: max(counts) > 1)
seeds = st.integers(0, 2**32 - 1)


class TestLoops:
    """Each measure equals the plain loop over pairs, for different numbers of completions."""

    @given(seeds, counts_of)
    @settings(max_examples=60)
    def test_within(self, seed, counts):
        texts = made(seed, counts)
        assert pairwise_cosine(*texts) == pytest.approx(loop_within(texts), abs=1e-12)

    @given(seeds, counts_of, counts_of)
    @settings(max_examples=60)
    def test_between(self, seed, counts, others):
        first, second = made(seed, counts), made(seed + 1, others)
        found = between_cosine(*first, *second)
        assert found == pytest.approx(loop_between(first, second), abs=1e-12)
        assert between_cosine(*second, *first) == found

    @given(seeds, counts_of, st.floats(-1, 1), st.integers(2, 6))
    @settings(max_examples=60)
    def test_distinct(self, seed, counts, threshold, k):
        texts = made(seed, counts)
        k = min(k, max(counts))
        assert distinct_completions(*texts, threshold, k) == pytest.approx(loop_distinct(texts, threshold, k))
        fewest = min(count for count in counts if count > 1)
        assert distinct_completions(*texts, threshold) == distinct_completions(*texts, threshold, fewest)

    @given(seeds, counts_of, st.floats(0, 1))
    @settings(max_examples=60)
    def test_effective(self, seed, counts, share):
        texts = made(seed, counts)
        passes = np.random.default_rng(seed).random(len(texts[1])) < share
        found = effective_diversity(*texts, passes)
        assert found == pytest.approx(loop_effective(texts, passes), abs=1e-12)
        assert 0 <= found <= 2

    def test_matrix(self):
        models = {"a": made(0, [3, 1, 4]), "b": made(1, [1, 2]), "c": made(2, [1, 5, 2, 2])}
        names, matrix = cosine_matrix(models)
        assert names == ["a", "b", "c"]
        np.testing.assert_array_equal(matrix, matrix.T)
        for (i, a), (j, b) in itertools.product(enumerate(names), repeat=2):
            expected = pairwise_cosine(*models[a]) if a == b else between_cosine(*models[a], *models[b])
            assert matrix[i, j] == pytest.approx(expected, abs=1e-12)


class TestOrder:
    @given(seeds, counts_of)
    @settings(max_examples=40)
    def test_the_order_of_rows_does_not_matter(self, seed, counts):
        features, prompts = made(seed, counts)
        passes = features[:, 0] > 1
        order = np.random.default_rng(seed).permutation(len(prompts))
        again = features[order], [prompts[row] for row in order]
        other = made(seed + 1, counts)
        assert pairwise_cosine(*again) == pytest.approx(pairwise_cosine(features, prompts), abs=1e-12)
        assert between_cosine(*again, *other) == pytest.approx(
            between_cosine(features, prompts, *other), abs=1e-12
        )
        assert effective_diversity(*again, passes[order]) == pytest.approx(
            effective_diversity(features, prompts, passes), abs=1e-12
        )

    def test_distinct_depends_on_the_order_of_completions_but_not_of_prompts(self):
        """The middle one is like both others, which are not alike: first, it takes both into its class."""
        left, middle, right = np.array([[1, 0], [1, 1], [0, 1]])
        assert distinct_completions([middle, left, right], ["p"] * 3, 0.7) == 1
        assert distinct_completions([left, middle, right], ["p"] * 3, 0.7) == 2
        rows = [middle, left, right, left, middle, right]
        assert distinct_completions(rows, ["p"] * 3 + ["q"] * 3, 0.7) == 1.5
        mixed = [left, middle, left, middle, right, right]
        assert distinct_completions(mixed, ["q", "p", "p", "q", "p", "q"], 0.7) == 1.5


class TestBars:
    SCORES = {"tokens": np.array([3.0, np.nan, 7.5])}

    @pytest.mark.parametrize(
        ("bar", "passing"),
        [((3.0, None), [1, 0, 1]), ((None, 3.0), [1, 0, 0]), ((7.5, 7.5), [0, 0, 1]), ((-9, 99), [1, 0, 1])],
    )
    def test_texts_above_a_bar(self, bar, passing, recwarn):
        assert passes(self.SCORES, "tokens", *bar).tolist() == [bool(one) for one in passing]
        assert not len(recwarn)

    @pytest.mark.parametrize(
        ("bar", "named"),
        [
            ((8.0, None), "of at least 8"),
            ((None, 2), "of at most 2"),
            ((4, 5), "of at least 4 and of at most 5"),
        ],
    )
    def test_a_bar_that_no_text_passes(self, bar, named):
        said = f"no text has tokens {named}, the bar of quality: their values are 3 to 7.5"
        with pytest.warns(UserWarning, match=said):
            assert not passes(self.SCORES, "tokens", *bar).any()

    def test_a_bar_without_values(self):
        with pytest.warns(UserWarning, match="the bar of quality: none has a value"):
            passes({"tokens": np.full(3, np.nan)}, "tokens", 1, None)


class TestTruths:
    def test_identical_completions(self):
        features = np.random.default_rng(0).normal(size=(1, 384)).repeat(50, axis=0)
        prompts = [row % 7 for row in range(50)]
        assert pairwise_cosine(features, prompts) == pytest.approx(1, abs=1e-12)
        assert pairwise_cosine(features, prompts) <= 1
        assert between_cosine(features, prompts, features[:9], prompts[:9]) == pytest.approx(1, abs=1e-12)
        assert distinct_completions(features, prompts, 1.0) == 1
        assert effective_diversity(features, prompts, np.ones(50, bool)) == pytest.approx(0, abs=1e-12)

    def test_orthogonal_completions(self):
        features, prompts = np.eye(6) * [[1], [2], [3], [4], [5], [6]], ["a", "b"] * 3
        passing = np.array([True, True, True, True, False, False])
        assert pairwise_cosine(features, prompts) == 0
        assert distinct_completions(features, prompts, 0.1) == 3
        assert distinct_completions(features, prompts, 0.0) == 1
        assert effective_diversity(features, prompts, np.ones(6, bool)) == 1
        assert effective_diversity(features, prompts, passing) == pytest.approx(1 / 3)  # 1 of 3 pairs
        assert effective_diversity(features, prompts, np.arange(6) < 2) == 0  # one of each prompt passes

    def test_opposite_completions(self):
        assert pairwise_cosine([[1, 0], [-5, 0]], [0, 0]) == -1
        assert between_cosine([[1, 0]], [0], [[-5, 0]], [0]) == -1
        assert effective_diversity([[1, 0], [-5, 0]], [0, 0], np.array([True, True])) == 2

    def test_each_prompt_counts_the_same(self):
        features = np.concatenate([np.eye(10), [[1] * 10] * 2])
        prompts = ["many"] * 10 + ["two"] * 2
        assert pairwise_cosine(features, prompts) == pytest.approx(0.5)

    def test_if_all_pass_effective_diversity_is_the_rest_of_the_cosine(self):
        features, prompts = made(3, [4, 2, 3, 1])
        expected = 1 - pairwise_cosine(features, prompts)
        assert effective_diversity(features, prompts, np.ones(10, bool)) == pytest.approx(expected)

    def test_a_model_is_more_like_another_with_the_same_texts_than_like_itself(self):
        """Between models, a text is compared with its twin, too."""
        features, prompts = made(4, [3, 3])
        names, matrix = cosine_matrix({"a": (features, prompts), "b": (features, prompts)})
        assert names == ["a", "b"]
        assert matrix[0, 0] == matrix[1, 1] < matrix[0, 1]
        assert matrix[0, 1] == pytest.approx(matrix[0, 0] * 2 / 3 + 1 / 3)

    def test_lengths_do_not_matter_however_large(self):
        features, prompts = made(5, [4, 4])
        scales = np.array([1e-300, 1e-200, 1e-9, 1, 1e9, 1e200, 1e300, 3])[:, None]
        expected = pairwise_cosine(features, prompts)
        assert pairwise_cosine(features * scales, prompts) == pytest.approx(expected, abs=1e-12)

    def test_what_is_missing_in_the_matrix_is_nan(self):
        _, matrix = cosine_matrix({"one": ([[1, 0]], ["p"]), "two": ([[1, 0], [2, 0]], ["q", "q"])})
        np.testing.assert_array_equal(matrix, [[np.nan, np.nan], [np.nan, 1]])


class TestTextsOfMethods:
    def test_cells_are_joined_and_human_texts_only_if_their_prompts_are_the_same(self):
        cells = [
            ("m", 1, np.eye(2), ["p", "q"]),
            ("n", 1, np.eye(2), ["p", "q"]),
            ("m", 2, -np.eye(2), ["p", "q"]),
        ]
        human = np.ones((3, 2)), ["p", "q", "r"]
        found = texts_of_methods(cells, "human", human, prompts_per_seed=False)
        assert {name: prompts for name, (_, prompts) in found.items()} == {
            "m": ["p", "q", "p", "q"], "n": ["p", "q"], "human": ["p", "q", "r"]
        }  # fmt: skip
        np.testing.assert_array_equal(found["m"][0], [[1, 0], [0, 1], [-1, 0], [0, -1]])
        apart = texts_of_methods(cells, "human", human, prompts_per_seed=True)
        assert apart["m"][1] == ["seed 1: p", "seed 1: q", "seed 2: p", "seed 2: q"]
        assert "human" not in apart


class TestPartition:
    def test_with_verdicts(self):
        """Of the pairs (0, 2), (1, 3) and (2, 4), the last does not count: 2 is not first in its class."""
        asked = []

        def same(i: int, j: int) -> bool:
            asked.append((i, j))
            return (i, j) in {(0, 2), (1, 3), (2, 4)}

        assert partition(same, 5) == [0, 1, 0, 1, 2]
        assert asked == [(0, 1), (0, 2), (0, 3), (1, 3), (0, 4), (1, 4)]

    def test_extremes(self):
        assert partition(lambda i, j: True, 4) == [0, 0, 0, 0]
        assert partition(lambda i, j: False, 4) == [0, 1, 2, 3]
        assert partition(lambda i, j: True, 0) == []


two, pair = [[1.0, 0], [0, 1]], ["p", "p"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: pairwise_cosine([1, 2], pair),
            r"^features: must be an array \(texts, dimensions\) of numbers, found ndarray \(2,\)",
        ),
        (lambda: pairwise_cosine(two, ["p"]), "^features: 2 rows, but 1 prompts$"),
        (lambda: pairwise_cosine([[1, 0], [0, 0]], pair), r"^features: row 1 is zero \(1 such rows\)$"),
        (
            lambda: pairwise_cosine([[np.nan, 0]] * 2, pair),
            r"^features: row 0 is not finite \(2 such rows\)$",
        ),
        (lambda: pairwise_cosine(two, ["p", "q"]), "^prompts: no prompt has two or more completions$"),
        (lambda: pairwise_cosine(np.empty((0, 2)), []), "^prompts: no prompt has two or more completions$"),
        (lambda: pairwise_cosine(np.empty((2, 0)), pair), "^features: row 0 is zero"),
        (
            lambda: between_cosine(two, pair, two, ["q", "q"]),
            "^prompts_a, prompts_b: the two models have no prompt in common$",
        ),
        (lambda: between_cosine(two, pair, [[0, 0]], ["p"]), "^features_b: row 0 is zero"),
        (
            lambda: between_cosine(two, pair, [[1.0]], ["p"]),
            "^features of the models have different numbers of dimensions: features_a 2, features_b 1$",
        ),
        (lambda: cosine_matrix({}), "at least one model"),
        (
            lambda: cosine_matrix({"a": (np.array(two), pair), "b": (np.array(two), ["p"])}),
            "^sets: b: features: 2 rows, but 1",
        ),
        (
            lambda: cosine_matrix({"a": (np.array(two), pair), "b": (np.ones((1, 1)), ["p"])}),
            "dimensions: a 2, b 1$",
        ),
        (
            lambda: distinct_completions(two, pair, 1.1),
            r"^threshold = 1.1: must be a cosine .* from -1 to 1$",
        ),
        (lambda: distinct_completions(two, pair, np.nan), "^threshold = nan"),
        (lambda: distinct_completions(two, pair, 0.5, 1), "^k = 1: must be at least 2"),
        (lambda: distinct_completions(two, pair, 0.5, 3), "^no prompt has k = 3 completions, at most 2$"),
        (
            lambda: distinct_completions(two, ["p", "q"], 0.5),
            "^prompts: no prompt has two or more completions$",
        ),
        (
            lambda: effective_diversity(two, pair, np.array([1, 0])),
            r"^passes: must be an array \(texts\) of booleans, found ndarray \(2,\) of int64$",
        ),
        (
            lambda: effective_diversity(two, pair, np.array([True])),
            "^passes: must be 2 booleans, one for each of the prompts, not 1$",
        ),
        (lambda: effective_diversity(two, ["p", "q"], np.array([True] * 2)), "two or more completions$"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()
