"""Seeded draws and cuts."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from textgamut.draws import draw_prompt_ids, hashed, numbers, shuffled, take
from textgamut.errors import TextgamutError
from textgamut.text import count_words, cut_words

IDS = st.lists(st.text(max_size=8), unique=True)


@given(IDS, st.randoms(use_true_random=False))
def test_row_order_does_not_matter(ids, random) -> None:
    other = ids.copy()
    random.shuffle(other)
    assert shuffled(ids, "key", 1) == shuffled(other, "key", 1)


@given(IDS, IDS)
def test_other_rows_do_not_change_the_relative_order(ids, others) -> None:
    mixed = shuffled(set(ids) | set(others), "key")
    assert [name for name in mixed if name in set(ids)] == shuffled(ids, "key")


@given(IDS, st.data())
def test_fewer_prompts_are_the_same_from_the_dataset_and_from_a_larger_draw(ids, data) -> None:
    n = data.draw(st.integers(0, len(ids)))
    larger = draw_prompt_ids(ids, "task", data.draw(st.integers(n, len(ids))))
    assert draw_prompt_ids(larger, "task", n) == draw_prompt_ids(ids, "task", n) == larger[:n]
    assert draw_prompt_ids(ids, "task", None) == ids


def test_keys_are_independent() -> None:
    ids = [str(i) for i in range(100)]
    orders = {tuple(shuffled(ids, *key)) for key in [("a", 1), ("a", 2), ("b", 1), ("a1",), ("a", "1", "")]}
    assert len(orders) == 5


def test_shuffle_is_uniform() -> None:
    first = [shuffled("abcd", seed)[0] for seed in range(4000)]
    # 4 sd of a binomial count around 1000
    assert all(abs(first.count(name) - 1000) < 4 * (4000 * 0.25 * 0.75) ** 0.5 for name in "abcd")


def test_take_says_what_is_missing() -> None:
    with pytest.raises(TextgamutError, match="references: 3 are requested, but there are only 2"):
        take(["a", "b"], 3, "references")


@given(st.text(alphabet="ab \n\t\u00a0"), st.integers(1, 8))
def test_cut_keeps_the_first_words_as_they_stand(text: str, n: int) -> None:
    cut = cut_words(text, n)
    assert cut.split() == text.split()[:n]
    assert text.lstrip().startswith(cut)
    assert count_words(cut) == min(n, count_words(text))


@given(st.integers(1, 300), st.integers(0, 5))
def test_numbers_are_all_there_once(end: int, seed: int) -> None:
    assert sorted(numbers(end, "x", seed)) == list(range(1, end))


def test_numbers_come_in_another_order_for_another_key() -> None:
    first, again, other = (list(islice(numbers(10**9, "x", seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert not set(first) & set(other)
    assert 3e8 < sum(first) / 50 < 7e8  # spread over the whole range


def test_hashed_is_uniform() -> None:
    counts = [0] * 10
    for i in range(10_000):
        counts[hashed(10, "x", i)] += 1
    assert min(counts) > 880
    assert max(counts) < 1120
