"""Redundancy of a set: equal to the package `diversity`, to brute force, and true of the world."""

import gzip
import json
import math
import random
import statistics
import zlib
from itertools import combinations, pairwise

import pytest
from helpers import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics import compression
from textgamut.metrics.compression import (
    compression_ratio,
    cut_to_words,
    homogenization,
    ngram_diversity,
    rouge_tokens,
    self_repetition,
)

DECODING = ROOT.parent / "shared/data/decoding"

texts_of = st.lists(st.integers(0, 3), max_size=12)  # few tokens, so that texts share and repeat n-grams
corpora = st.lists(texts_of, min_size=2, max_size=6)
orders = st.integers(1, 5)


def made(texts: int, words: int, seed: int, names: int) -> list[str]:
    """Zipf-like texts of 5 to ``words`` words."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(names)]
    return [
        " ".join(f"w{x}" for x in rng.choices(range(names), weights, k=rng.randint(5, words)))
        for _ in range(texts)
    ]


def real(column: str) -> list[str]:
    """GPT-2 XL with contrastive search, or its references (MC's data)."""
    with gzip.open(next(DECODING.glob("*.json.gz"))) as stream:
        rows = json.load(stream)
    return [row[column]["0"] if column == "generated_result" else row[column] for row in rows]


needs_real_texts = pytest.mark.skipif(
    not DECODING.exists(), reason=f"the decoding benchmark is not at {DECODING}"
)

# What diversity 0.3.1 returns, without its rounding to three decimals: compression ratio, n-gram diversity,
# self-repetition, homogenization.
MADE = {
    (40, 60, 0, 500): (2.9184971098265895, 2.966228104326416, 0.03465735902799726, 0.18613556933626907),
    (40, 60, 1, 20): (4.146302250803859, 1.6815355708602429, 2.2487790146697453, 0.35961099304371336),
}
REAL = {  # the first 100
    "reference_text": (2.4950438543794307, 3.074125347505341, 0.8671183637865097, 0.12068099671436855),
    "generated_result": (2.5510076931411856, 2.876943848626077, 2.1598386716583966, 0.14216722048138594),
}


def check_against_the_package(texts: list[str], values: tuple[float, float, float, float]) -> None:
    ratio, diversity, repetition, alike = values
    words = [text.split() for text in texts]
    assert self_repetition(words) == pytest.approx(repetition, rel=1e-9)
    assert homogenization(texts) == pytest.approx(alike, rel=1e-9)

    # It counts n-grams of the joined texts, which adds those across texts.
    assert ngram_diversity([" ".join(texts).split(" ")]) == pytest.approx(diversity, rel=1e-9)
    assert ngram_diversity(words) == pytest.approx(diversity, abs=0.05)

    # It compresses twice, the second time with the file's name, `compressed`, in the header.
    assert compression_ratio(texts) == pytest.approx(ratio, rel=0.04)
    if "ng" not in zlib.ZLIB_RUNTIME_VERSION:  # zlib-ng compresses a little less
        joined = " ".join(texts).encode()
        twice = len(gzip.compress(gzip.compress(joined))) + len("compressed\0")
        assert len(joined) / twice == pytest.approx(ratio, rel=1e-9)
        assert compression_ratio(texts) == len(joined) / len(gzip.compress(joined))


@pytest.mark.parametrize("how", MADE)
def test_made_texts_score_as_in_the_package(how: tuple[int, int, int, int]) -> None:
    check_against_the_package(made(*how), MADE[how])


@needs_real_texts
@pytest.mark.parametrize("column", REAL)
def test_real_texts_score_as_in_the_package(column: str) -> None:
    check_against_the_package(real(column)[:100], REAL[column])


def test_few_words_are_more_redundant_than_many_and_than_random_letters() -> None:
    rng = random.Random(0)
    noise = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=20_000))]
    limit = 8 / math.log2(26)  # Shannon's: no code of random letters is shorter
    assert 0.9 * limit < compression_ratio(noise) < limit
    assert compression_ratio(made(40, 60, 1, 20)) > compression_ratio(made(40, 60, 0, 500)) > limit


def test_equal_texts_are_redundant_without_limit_but_deflates() -> None:
    ratios = [
        compression_ratio(["the same text of seven words here"] * copies) for copies in (1, 10, 100, 10_000)
    ]
    assert all(less < more for less, more in pairwise(ratios))
    assert ratios[0] < 1  # gzip's header
    assert 300 < ratios[-1] < 1033
    # Compressed twice, as in the package, the same texts have a ratio far above deflate's limit.
    joined = b"the same text of seven words here " * 100_000
    assert len(joined) / len(gzip.compress(gzip.compress(joined))) > 10_000


def test_gzip_sees_copies_32_kilobytes_back_and_not_farther() -> None:
    rng = random.Random(0)
    noise = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=10_000)) for _ in range(8)]
    value = compression_ratio(noise)
    assert compression_ratio(noise * 2) == pytest.approx(value, rel=0.001)  # the copies are 80 KB apart
    beside = [text for text in noise for _ in range(2)]
    assert compression_ratio(beside) == pytest.approx(2 * value, rel=0.02)


@needs_real_texts
def test_the_order_of_real_texts_matters_where_neighbours_are_alike() -> None:
    texts = real("reference_text")[:400]
    in_order = compression_ratio(texts)
    shuffled = [compression_ratio(random.Random(seed).sample(texts, len(texts))) for seed in range(8)]
    assert in_order > max(shuffled) + 0.1
    assert statistics.stdev(shuffled) < 0.01


@given(corpora, orders)
@settings(max_examples=100)
def test_ngram_diversity_equals_brute_force(corpus: list[list[int]], n: int) -> None:
    grams = [
        [tuple(text[i : i + k]) for text in corpus for i in range(len(text) - k + 1)] for k in range(1, n + 1)
    ]
    if grams[-1]:
        expected = sum(len(set(found)) / len(found) for found in grams)
        assert ngram_diversity(corpus, n) == pytest.approx(expected, abs=1e-12)
        assert 0 < ngram_diversity(corpus, n) <= n
        assert ngram_diversity(corpus[::-1], n) == ngram_diversity(corpus, n)
    else:
        with pytest.raises(TextgamutError, match=rf"Distinct-\d: none of {len(corpus)} texts has"):
            ngram_diversity(corpus, n)


def test_ngram_diversity_of_distinct_and_of_equal_words() -> None:
    assert ngram_diversity([list("abcde"), list("fghij")]) == 4
    assert ngram_diversity([list("abcd")] * 10) == pytest.approx(0.4)
    assert ngram_diversity([["a"] * 5], 2) == pytest.approx(1 / 5 + 1 / 4)


@given(corpora, orders, st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_self_repetition_equals_brute_force(corpus: list[list[int]], n: int, rng: random.Random) -> None:
    grams = [{tuple(text[i : i + n]) for i in range(len(text) - n + 1)} for text in corpus]
    if any(grams):
        expected = statistics.fmean(
            math.log(1 + sum(gram in other for gram in own for j, other in enumerate(grams) if j != i))
            for i, own in enumerate(grams)
        )
        value = self_repetition(corpus, n)
        assert value == pytest.approx(expected, abs=1e-12)
        assert self_repetition(rng.sample(corpus, len(corpus)), n) == value
    else:
        with pytest.raises(TextgamutError, match=f"none of {len(corpus)} texts has {n} tokens"):
            self_repetition(corpus, n)


def test_self_repetition_counts_other_texts_only() -> None:
    assert self_repetition([list("abab" * 3), list("cdef")], 2) == 0
    # Each text has 3 of its 4-grams in each of the 4 other texts.
    assert self_repetition([list("abcdef")] * 5) == pytest.approx(math.log(1 + 3 * 4))
    # Two halves, each of equal texts.
    assert self_repetition([list("abcdef")] * 5 + [list("uvwxyz")] * 5) == pytest.approx(math.log(1 + 3 * 4))


def table_lcs(first: list, second: list) -> int:
    """Longest common subsequence by dynamic programming."""
    row = [0] * (len(second) + 1)
    for a in first:
        diagonal = 0
        for j, b in enumerate(second):
            diagonal, row[j + 1] = row[j + 1], diagonal + 1 if a == b else max(row[j], row[j + 1])
    return row[-1]


@given(corpora, st.randoms(use_true_random=False))
@example([[], [0]], random.Random(0))
@example([[0], [], []], random.Random(0))
@settings(max_examples=300)
def test_homogenization_equals_dynamic_programming(corpus: list[list[int]], rng: random.Random) -> None:
    texts = [" ".join(map(str, text)) for text in corpus]
    if not any(corpus):
        with pytest.raises(TextgamutError, match=f"none of {len(corpus)} texts has a word of Latin letters"):
            homogenization(texts)
        return
    expected = statistics.fmean(
        2 * table_lcs(a, b) / (len(a) + len(b)) if a or b else 0 for a, b in combinations(corpus, 2)
    )
    value = homogenization(texts)
    assert value == pytest.approx(expected, abs=1e-12)
    assert 0 <= value <= 1
    assert homogenization(rng.sample(texts, len(texts))) == value


def test_homogenization_of_long_texts_equals_dynamic_programming() -> None:
    """More tokens than the bits of a machine word."""
    texts = made(5, 300, 2, 30)
    assert max(len(text.split()) for text in texts) > 150
    for pair in combinations(texts, 2):
        first, second = (text.split() for text in pair)
        expected = 2 * table_lcs(first, second) / (len(first) + len(second))
        assert homogenization(pair) == pytest.approx(expected, abs=1e-12)


def test_homogenization_of_equal_texts_of_halves_and_of_disjoint_texts() -> None:
    assert homogenization(["a b c d e"] * 6) == 1
    assert homogenization(["a b", "c d", "e f"]) == 0  # the package returns 1
    # Two halves, each of 5 equal texts: 2 x 10 of the 45 pairs are equal, the others disjoint.
    assert homogenization(["a b c"] * 5 + ["x y z"] * 5) == pytest.approx(20 / 45)
    assert homogenization(["a b c d", "d c b a"]) == 0.25  # the order of words counts
    assert homogenization(["A b, c!", "a (B) c"]) == 1  # case and punctuation do not


def test_a_sample_of_pairs_estimates_all_pairs() -> None:
    texts = made(60, 30, 3, 50)
    every = list(compression._pairs(60, 1770, 0))
    assert every == [(i, j) for i in range(60) for j in range(i)]
    scores = [homogenization([texts[i], texts[j]]) for i, j in every]
    assert homogenization(texts) == pytest.approx(statistics.fmean(scores), abs=1e-12)

    samples = [homogenization(texts, pairs=300, seed=seed) for seed in range(40)]
    assert homogenization(texts, pairs=300, seed=3) == samples[3]
    assert len(set(samples)) == 40
    # The standard error of the docstring; the factor is for a sample without replacement.
    error = statistics.pstdev(scores) / math.sqrt(300) * math.sqrt(1 - 300 / 1770)
    assert statistics.stdev(samples) == pytest.approx(error, rel=0.35)
    assert statistics.fmean(samples) == pytest.approx(homogenization(texts), abs=4 * error / math.sqrt(40))


@given(st.integers(2, 40), st.integers(1, 200), st.integers(0, 9))
@settings(max_examples=100)
def test_pairs_are_distinct_and_sorted(texts: int, most: int, seed: int) -> None:
    pairs = list(compression._pairs(texts, most, seed))
    assert len(pairs) == min(most, math.comb(texts, 2))
    assert pairs == sorted(set(pairs))
    assert all(0 <= other < row < texts for row, other in pairs)


@given(st.text("aB3_é \n\u0130ß-", max_size=30))
@settings(max_examples=100)
def test_tokens_are_those_of_rouge_score(text: str) -> None:
    tokenize = pytest.importorskip("rouge_score.tokenize").tokenize
    assert rouge_tokens(text) == tokenize(text, None)


def test_less_diverse_texts_are_more_redundant_by_each_measure() -> None:
    """Direction: ever more of the texts are one of five templates."""
    different = made(40, 60, 4, 500)
    sets = [different[:kept] + (different[:5] * 8)[: 40 - kept] for kept in (40, 25, 10)]
    sets = [random.Random(0).sample(texts, len(texts)) for texts in sets]
    words_left = min(len(" ".join(texts).split()) for texts in sets)
    sets = [cut_to_words(texts, words_left) for texts in sets]
    words = [[text.split() for text in texts] for texts in sets]
    for values in (
        list(map(compression_ratio, sets)),
        [-ngram_diversity(lists) for lists in words],
        list(map(self_repetition, words)),
        list(map(homogenization, sets)),
    ):
        assert all(less < more for less, more in pairwise(values))


def test_texts_are_cut_at_words() -> None:
    texts = [" one  two\nthree ", "", "\tfour five  six", "seven"]
    assert cut_to_words(texts, 7) == texts
    assert cut_to_words(texts, 6) == texts[:3]
    assert cut_to_words(texts, 5) == [*texts[:2], "\tfour five"]
    assert cut_to_words(texts, 3) == texts[:1]  # a text that is kept whole keeps its last space
    assert cut_to_words(texts, 2) == [" one  two"]


@given(st.lists(st.text("ab \n", max_size=12), max_size=8), st.integers(1, 30))
@settings(max_examples=100)
def test_a_cut_set_has_the_first_words(texts: list[str], words: int) -> None:
    all_words = " ".join(texts).split()
    cut = cut_to_words(texts, words)
    assert " ".join(cut).split() == all_words[:words]
    assert cut[:-1] == texts[: max(0, len(cut) - 1)]
    assert all(whole.startswith(kept) for kept, whole in zip(cut, texts, strict=False))
    if len(all_words) < words:
        assert cut == texts


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: compression_ratio("a text"), "texts: expected a list of texts, found .a text"),
        (lambda: compression_ratio([]), "none of 0 texts has a character"),
        (lambda: compression_ratio(["", ""]), "none of 2 texts has a character"),
        (lambda: ngram_diversity([["a"]], 0), "n = 0"),
        (lambda: ngram_diversity([["a", "b"]]), "Distinct-3: none of 1 texts has 3 tokens"),
        (lambda: ngram_diversity(["a text"]), "text 0: expected a list of tokens, found .a text"),
        (lambda: self_repetition([list("abcd")]), "self-repetition compares texts .* not 1"),
        (lambda: self_repetition([["a"], ["b"]]), "none of 2 texts has 4 tokens"),
        (lambda: self_repetition([["a"], "a text"]), "text 1: expected a list of tokens"),
        (lambda: self_repetition([["a"], ["b"]], 0), "n = 0"),
        (lambda: homogenization([]), "homogenization compares texts .* not 0"),
        (lambda: homogenization(["a", "b"], pairs=0), "pairs = 0"),
        (lambda: homogenization(["", "\u732b"]), "none of 2 texts has a word of Latin letters or digits"),
        (lambda: homogenization("a text"), "texts: expected a list of texts, found .a text"),
        (lambda: cut_to_words("a text", 1), "texts: expected a list of texts, found .a text"),
        (lambda: cut_to_words(["a text"], 0), "words = 0"),
    ],
)
def test_bad_input(call, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        call()
