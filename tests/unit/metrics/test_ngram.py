"""N-gram metrics: equal to NLTK, to brute force and to published numbers, and true of the world."""

import gzip
import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from helpers import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.ngram import (
    distinct_n,
    diversity,
    expectation_adjusted_distinct,
    repetition_n,
    self_bleu,
    text_distinct_n,
    text_diversity,
    unigram_entropy,
)

DECODING = ROOT.parent / "shared/data/decoding"

texts_of = st.lists(st.integers(0, 3), max_size=14)  # few tokens, so that texts share and repeat n-grams
corpora = st.lists(texts_of, min_size=2, max_size=7)
orders = st.integers(1, 5)


def ngrams(tokens: list, n: int) -> list[tuple]:
    """N-grams by their definition."""
    return [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]


def nltk_scores(corpus: list[list], n: int) -> list[float]:
    bleu = pytest.importorskip("nltk.translate.bleu_score")
    method1 = bleu.SmoothingFunction().method1
    return [
        bleu.sentence_bleu(corpus[:i] + corpus[i + 1 :], text, (1 / n,) * n, method1)
        for i, text in enumerate(corpus)
    ]


@given(corpora, orders)
@example([[], []], 4)  # no token at all
@example([[0], [0]], 4)  # too short for most orders
@example([[0, 1, 2], [0, 1], [0, 1, 2, 3]], 2)  # two others are equally close in length
@example([[0, 0, 0], [0, 0], [0, 0]], 1)  # only the longest is clipped
@example([[0, 0, 0], [0, 0, 0], [0]], 1)  # two texts share the largest count
@settings(max_examples=400)
def test_self_bleu_equals_nltk(corpus: list[list[int]], n: int) -> None:
    assert self_bleu(corpus, n) == pytest.approx(np.mean(nltk_scores(corpus, n)), abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_self_bleu_equals_nltk_on_words(n: int) -> None:
    """Zipf-like texts of 0 to 80 words, strings, one of them twice."""
    rng = np.random.default_rng(n)
    corpus = [[f"w{rank}" for rank in rng.zipf(1.5, rng.integers(0, 80))] for _ in range(40)]
    corpus.append(corpus[0])
    assert self_bleu(corpus, n) == pytest.approx(np.mean(nltk_scores(corpus, n)), abs=1e-9)


@given(corpora, orders, st.floats(0.01, 1), st.integers(0, 5))
@settings(max_examples=100)
def test_a_share_is_scored_against_all_others(
    corpus: list[list[int]], n: int, share: float, seed: int
) -> None:
    scored = max(1, round(share * len(corpus)))
    rows = np.random.default_rng(seed).choice(len(corpus), scored, replace=False)
    expected = np.mean([nltk_scores(corpus, n)[row] for row in rows])
    assert self_bleu(corpus, n, sample=share, seed=seed) == pytest.approx(expected, abs=1e-9)


def test_the_seed_chooses_the_share() -> None:
    rng = np.random.default_rng(0)
    corpus = rng.zipf(1.5, (50, 20)).tolist()
    assert self_bleu(corpus, sample=0.2, seed=1) == self_bleu(corpus, sample=0.2, seed=1)
    assert len({self_bleu(corpus, sample=0.2, seed=seed) for seed in range(5)}) > 1
    assert self_bleu(corpus, sample=1.0) == pytest.approx(self_bleu(corpus), abs=1e-12)


@given(corpora, orders, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_neither_order_nor_names_matter_and_the_range_holds(corpus: list[list[int]], n: int, random) -> None:
    value = self_bleu(corpus, n)
    assert 0 <= value <= 1
    shuffled = random.sample(corpus, len(corpus))
    assert self_bleu(shuffled, n) == pytest.approx(value, abs=1e-12)
    renamed = [tuple("dbca"[token] for token in text) for text in corpus]
    assert self_bleu(renamed, n) == pytest.approx(value, abs=1e-12)


def test_order_does_not_matter_in_a_large_corpus() -> None:
    rng = np.random.default_rng(0)
    corpus = rng.zipf(1.3, (500, 40)).tolist()
    value = self_bleu(corpus)
    assert self_bleu([corpus[i] for i in rng.permutation(500)]) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_identical_texts_score_1_and_disjoint_ones_0(n: int) -> None:
    assert self_bleu([[5, 6, 5, 7]] * 3, n) == 1
    assert self_bleu([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]], n) == 0


def test_repeating_the_others_raises_self_bleu() -> None:
    """Direction: the more texts are copies, the less diverse is the corpus."""
    different = np.random.default_rng(0).integers(0, 50, (20, 30)).tolist()
    values = [self_bleu(different[: 20 - copies] + [different[0]] * copies) for copies in (0, 5, 10, 19)]
    assert all(less < more for less, more in pairwise(values))
    assert values[-1] == 1


@given(corpora, orders)
@settings(max_examples=200)
def test_distinct_equals_brute_force(corpus: list[list[int]], n: int) -> None:
    grams = [gram for text in corpus for gram in ngrams(text, n)]
    if grams:
        assert distinct_n(corpus, n) == len(set(grams)) / len(grams)
    else:
        with pytest.raises(TextgamutError, match=f"Distinct-{n}: none of {len(corpus)} texts has {n} tokens"):
            distinct_n(corpus, n)


@given(texts_of, orders)
@settings(max_examples=200)
def test_metrics_of_a_text_equal_brute_force(text: list[int], n: int) -> None:
    grams = ngrams(text, n)
    if grams:
        assert text_distinct_n(text, n) == len(set(grams)) / len(text)
        assert repetition_n(text, n) == pytest.approx(1 - len(set(grams)) / len(grams), abs=1e-15)
    else:
        assert math.isnan(text_distinct_n(text, n))
        assert math.isnan(repetition_n(text, n))


def test_a_text_without_repeats() -> None:
    words = list("abcdefghij")
    assert repetition_n(words, 4) == 0
    assert text_distinct_n(words, 2) == 0.9  # divided by the words, not by the 9 bigrams
    assert distinct_n([words], 2) == 1


def test_distinct_counts_repeats_across_texts() -> None:
    assert distinct_n([["a", "b"], ["a", "b"]], 2) == 0.5
    assert distinct_n([["a", "b"], ["b", "a"]], 2) == 1  # and ("b", "b"), across texts, is none


@given(corpora)
@settings(max_examples=200)
def test_diversity_equals_brute_force(corpus: list[list[int]]) -> None:
    strings = [" \n".join(map(str, text)) for text in corpus]
    counts = {
        n: (sum(len(set(ngrams(text, n))) for text in corpus), sum(len(ngrams(text, n)) for text in corpus))
        for n in (2, 3, 4)
    }
    if counts[4][1]:
        expected = math.prod(different / total for different, total in counts.values())
        assert diversity(strings) == pytest.approx(expected, abs=1e-12)
        assert 0 < diversity(strings) <= 1
        assert diversity(strings[::-1]) == diversity(strings)
    else:
        with pytest.raises(TextgamutError, match=r"none of \d+ texts has the \d words"):
            diversity(strings)


def test_diversity_asks_each_text_whether_it_repeats_itself() -> None:
    assert diversity(["a b c d e"] * 3) == 1
    assert diversity(["a a a a a"]) == pytest.approx(1 / 4 * 1 / 3 * 1 / 2)
    # The long text weighs by its n-grams: 1 - rep-n is (4 + 1) / 8, (3 + 1) / 6, (2 + 1) / 4.
    assert diversity(["a b c d e", "a a a a a"]) == pytest.approx(5 / 8 * 4 / 6 * 3 / 4)


@given(texts_of)
@settings(max_examples=200)
def test_diversity_of_a_text_is_that_of_a_set_of_one(text: list[int]) -> None:
    words = [str(word) for word in text]
    if len(words) < 4:
        assert math.isnan(text_diversity(words))
    else:
        assert text_diversity(words) == pytest.approx(diversity([" ".join(words)]), abs=1e-12)
        assert 0 < text_diversity(words) <= 1


def test_diversity_of_a_text_falls_with_its_repeats() -> None:
    assert text_diversity(list("abcde")) == 1
    assert text_diversity(["a"] * 5) == pytest.approx(1 / 4 * 1 / 3 * 1 / 2)
    values = [text_diversity(list("abcdefghijklmnop"[: 16 - 4 * r] + "abcd" * r)) for r in range(4)]
    assert all(more > less for more, less in pairwise(values))


@pytest.mark.skipif(not DECODING.exists(), reason=f"the decoding benchmark is not at {DECODING}")
@pytest.mark.parametrize(("column", "published"), [("generated_result", 89.35), ("reference_text", 92.98)])
def test_published_diversity_of_real_texts(column: str, published: float) -> None:
    """GPT-2 XL with contrastive search, and its references (MC's data)."""
    with gzip.open(next(DECODING.glob("*.json.gz"))) as stream:
        rows = json.load(stream)
    texts = [row[column]["0"] if column == "generated_result" else row[column] for row in rows]
    assert len(texts) == 1314

    # As published: each text's last n-gram left out, rep-n rounded to two decimals of a percent.
    theirs = 100.0
    for n in (2, 3, 4):
        grams = [ngrams(text.split(), n)[:-1] for text in texts]
        different, total = sum(len(set(found)) for found in grams), sum(map(len, grams))
        theirs *= 1 - round(100 * (1 - different / total), 2) / 100
    assert round(theirs, 2) == published
    assert 100 * diversity(texts) == pytest.approx(theirs, abs=0.02)


@given(corpora, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_entropy_equals_its_formula_and_holds_its_range(corpus: list[list[int]], random) -> None:
    tokens = [token for text in corpus for token in text]
    if tokens:
        counts = np.unique(tokens, return_counts=True)[1]
        shares = counts / len(tokens)
        value = unigram_entropy(corpus)
        assert value == pytest.approx(-(shares * np.log(shares)).sum(), abs=1e-12)
        assert 0 <= value <= math.log(len(counts)) + 1e-12
        assert unigram_entropy(random.sample(corpus, len(corpus))) == value
        assert unigram_entropy([random.sample(tokens, len(tokens))]) == value
    else:
        with pytest.raises(TextgamutError, match=f"none of {len(corpus)} texts has a token"):
            unigram_entropy(corpus)


def test_entropy_of_equal_and_of_uniform_tokens() -> None:
    assert unigram_entropy([["a"] * 49, ["a"]]) == 0
    assert unigram_entropy([["a", "b"], ["c", "d"]]) == pytest.approx(math.log(4))
    assert unigram_entropy([["a", "a", "b", "c"]]) == pytest.approx(1.5 * math.log(2))
    assert unigram_entropy([list("abcd")] * 9) == pytest.approx(math.log(4))  # repeated texts change nothing


def test_entropy_of_few_tokens_is_too_low_by_the_bias_of_the_docstring() -> None:
    kinds, tokens, draws = 20, 200, 400
    rng = np.random.default_rng(0)
    values = [unigram_entropy([rng.integers(0, kinds, tokens).tolist()]) for _ in range(draws)]
    assert np.mean(values) - math.log(kinds) == pytest.approx(-(kinds - 1) / (2 * tokens), rel=0.1)


@given(corpora, st.integers(4, 60))
@settings(max_examples=100)
def test_adjusted_distinct_equals_its_formula(corpus: list[list[int]], vocabulary: int) -> None:
    tokens = [token for text in corpus for token in text]
    if tokens:
        share = Fraction(vocabulary - 1, vocabulary) ** len(tokens)
        expected = Fraction(len(set(tokens))) / (vocabulary * (1 - share))
        value = expectation_adjusted_distinct(corpus, vocabulary)
        assert value == pytest.approx(float(expected), rel=1e-12)
        assert 0 < value <= math.e / (math.e - 1)
    else:
        with pytest.raises(TextgamutError, match=f"none of {len(corpus)} texts has a token"):
            expectation_adjusted_distinct(corpus, vocabulary)


def test_adjusted_distinct_of_random_tokens_is_1_at_any_length() -> None:
    rng = np.random.default_rng(0)
    for length in (100, 1000, 10_000):
        values = [
            expectation_adjusted_distinct([rng.integers(0, 1000, length).tolist()], 1000) for _ in range(40)
        ]
        assert np.mean(values) == pytest.approx(1, abs=0.01)


def test_adjusted_distinct_at_its_limits() -> None:
    assert expectation_adjusted_distinct([["a", "a"]], 1) == 1
    assert expectation_adjusted_distinct([["a"]], 10**15) == pytest.approx(1, abs=1e-14)
    # In an endless vocabulary all tokens are expected to be different: Distinct-1.
    assert expectation_adjusted_distinct([["a", "b", "a", "b"]], 10**15) == pytest.approx(0.5, abs=1e-14)
    assert expectation_adjusted_distinct([["a", "b"]], 2) == pytest.approx(4 / 3)
    assert expectation_adjusted_distinct([["a", "b"] * 500], 2) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: self_bleu([[1, 2, 3]]), "two or more are needed, not 1"),
        (lambda: self_bleu([]), "two or more are needed, not 0"),
        (lambda: self_bleu([[1], [2]], n=0), "n = 0"),
        (lambda: self_bleu([[1], [2]], sample=0), r"sample = 0.0: must be a share of the texts in \(0, 1\]"),
        (lambda: self_bleu([[1], [2]], sample=1.5), "sample = 1.5"),
        (lambda: self_bleu([[1], [2]], sample=math.nan), "sample = nan"),
        (lambda: self_bleu([["a"], "a text"]), "text 1: expected a list of tokens, found .a text"),
        (lambda: distinct_n([["a"]], 0), "n = 0"),
        (lambda: distinct_n([], 2), "none of 0 texts has 2 tokens"),
        (lambda: repetition_n("a text", 2), "expected a list of tokens"),
        (lambda: text_distinct_n(["a"], -1), "n = -1"),
        (lambda: unigram_entropy([]), "none of 0 texts has a token"),
        (lambda: unigram_entropy(["a text"]), "text 0: expected a list of tokens"),
        (lambda: expectation_adjusted_distinct([[]], 5), "none of 1 texts has a token"),
        (lambda: expectation_adjusted_distinct(["a text"], 5), "text 0: expected a list of tokens"),
        (
            lambda: expectation_adjusted_distinct([["a", "b"]], 1),
            "vocabulary = 1: the texts have 2 distinct tokens",
        ),
        (lambda: diversity("a text"), "texts: expected a list of texts, found .a text"),
        (lambda: text_diversity("a text"), "expected a list of tokens"),
        (lambda: diversity(["one two three", ""]), "none of 2 texts has the 4 words of a 4-gram"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        call()
