"""Sampling: exact against brute force, independent of the layout, of the stated distribution."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.config.entries.decoding import GreedyDecoding, SamplingDecoding
from textgamut.errors import TextgamutError
from textgamut.generation.sampling import Chooser, draw_tokens, random_stream

MASK = (1 << 64) - 1


def splitmix64(state: int, index: int) -> int:
    """Return the index-th output of SplitMix64, in Python's own integers."""
    z = (state + (index + 1) * 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def brute_force(logits: np.ndarray, top_p: float, number: int, top_k: int | None = None) -> int:
    """Sort everything, take k tokens and their ties, of these the nucleus and its ties; race them."""
    p = np.exp(logits.astype(np.float64) - logits.max())
    if top_k is not None and top_k < len(p):
        p[p < np.sort(p)[-top_k]] = 0
    p /= p.sum()
    nucleus: list[int] = []
    mass = 0.0
    for token in np.argsort(-p, kind="stable"):
        if p[token] == 0 or (mass >= top_p and p[token] < p[nucleus[-1]]):
            break
        nucleus.append(int(token))
        mass += p[token]

    def score(token: int) -> float:
        u = ((splitmix64(number, token) >> 11) + 0.5) * 2.0**-53
        return float(logits[token]) - math.log(-math.log(u))

    return max(nucleus, key=score)


def numbers(n: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, n))


def test_splitmix64_is_the_published_one() -> None:
    """The first outputs for the state 1234567, as its reference implementation prints them."""
    assert [splitmix64(1234567, i) for i in range(3)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423
    ]  # fmt: skip


@given(
    seed=st.integers(0, 2**32 - 1),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 0.99, 1.0]),
    spread=st.sampled_from([0.1, 1.0, 5.0]),
    head=st.sampled_from([1, 2, 7, 64]),
    ties=st.booleans(),
    top_k=st.sampled_from([None, 1, 3, 20, 50, 90]),
)
@settings(max_examples=150, deadline=None)
def test_equals_brute_force(
    seed: int, top_p: float, spread: float, head: int, ties: bool, top_k: int | None
) -> None:
    logits = (np.random.default_rng(seed).normal(size=(5, 50)) * spread).astype(np.float32)
    if ties:
        logits = np.round(logits)
    random = numbers(5, seed)
    drawn = draw_tokens(torch.tensor(logits), top_p, random, top_k, head)
    expected = [
        brute_force(row, top_p, n & MASK, top_k) for row, n in zip(logits, random.tolist(), strict=True)
    ]
    assert drawn.tolist() == expected


@pytest.mark.parametrize("top_p", [0.7, 1.0])
def test_distribution(top_p: float) -> None:
    """20,000 draws follow the renormalised nucleus: chi-square above its 1e-6 quantile."""
    from scipy.stats import chisquare

    logits = torch.tensor([[2.0, 1.0, 0.5, 0.0, -3.0]])
    p = torch.softmax(logits.double(), dim=-1)[0].numpy()
    kept = p * (np.cumsum(p) - p < top_p)
    n = 20_000
    counts = np.bincount(draw_tokens(logits.expand(n, -1), top_p, numbers(n)), minlength=5)
    assert counts[kept == 0].sum() == 0
    used = kept > 0
    assert chisquare(counts[used], n * kept[used] / kept.sum()).pvalue > 1e-6


def test_a_small_change_of_the_logits_seldom_changes_a_token() -> None:
    """On a flat distribution of 5,000 tokens, noise of 1e-5 changes about 1e-5 of the draws."""
    logits = torch.randn(2000, 5000, generator=torch.Generator().manual_seed(0))
    noise = torch.randn(2000, 5000, generator=torch.Generator().manual_seed(1)) * 1e-5
    random = numbers(2000)
    changed = draw_tokens(logits, 0.9, random) != draw_tokens(logits + noise, 0.9, random)
    assert changed.sum() <= 1


@pytest.mark.parametrize("top_p", [0.4, 1.0])
def test_forbidden_tokens_are_never_drawn(top_p: float) -> None:
    logits = torch.tensor([[-torch.inf, 1.0, -torch.inf, 1.0, -torch.inf]]).expand(500, -1)
    assert set(draw_tokens(logits, top_p, numbers(500)).tolist()) == {1, 3}


def test_the_head_grows_until_it_holds_every_tie() -> None:
    """A flat distribution: all 5,000 tokens tie, so all are in the nucleus."""
    drawn = draw_tokens(torch.zeros(400, 5000), 0.1, numbers(400))
    assert len(set(drawn.tolist())) > 300
    assert drawn.max() > 4500


def test_streams_are_prefixes_and_independent() -> None:
    assert (random_stream(1, "a", 0, 100)[:10] == random_stream(1, "a", 0, 10)).all()
    keys = [(1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1), (1, "a0", 0)]
    streams = [random_stream(*key, 1000).astype(float) for key in keys]
    correlations = np.corrcoef(streams)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 5 / 1000**0.5


def test_streams_never_change() -> None:
    """A change here changes every text ever generated: it needs a new REVISION."""
    assert random_stream(1, "article-1", 0, 2).tolist() == STREAM


STREAM = [14289487295844121479, 7111522005291787251]


def decoding(**changes: float) -> SamplingDecoding:
    fields = {"top_p": 0.9, "temperature": 0.7, "repetition_penalty": 1.3, "max_new_tokens": 4} | changes
    return SamplingDecoding(strategy="sampling", **fields)


def chooser(setting: SamplingDecoding, prompts: torch.Tensor, mask: torch.Tensor | None = None) -> Chooser:
    streams = [random_stream(0, str(i), 0, 4) for i in range(len(prompts))]
    return Chooser(setting, prompts, torch.ones_like(prompts) if mask is None else mask, streams, 60)


def test_equals_the_processors_of_transformers_where_nothing_is_padded() -> None:
    from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor
    from transformers.generation import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 60, (16, 7), generator=generator)
    choose = chooser(decoding(top_k=20), ids)
    for step in range(4):
        scores = torch.randn(16, 60, generator=generator) * 3
        theirs = LogitsProcessorList(
            [
                RepetitionPenaltyLogitsProcessor(1.3),
                TemperatureLogitsWarper(0.7),
                TopKLogitsWarper(20),
                TopPLogitsWarper(0.9),
            ]
        )(ids, scores.clone())
        numbers_ = [int(random_stream(0, str(i), 0, 4)[step]) for i in range(16)]
        expected = [
            brute_force(row.numpy(), 1.0, number) for row, number in zip(theirs, numbers_, strict=True)
        ]
        tokens = choose(scores)
        assert tokens.tolist() == expected
        ids = torch.cat([ids, tokens[:, None]], dim=1)


def test_presence_and_frequency_penalties_count_the_text_and_not_the_prompt() -> None:
    setting = GreedyDecoding(
        strategy="greedy", presence_penalty=1.0, frequency_penalty=0.25, max_new_tokens=9
    )
    choose = chooser(setting, torch.tensor([[3, 3, 3]]))
    logits = torch.full((1, 60), -9.0)
    logits[0, 3], logits[0, 4] = 2.0, 0.6
    # 3 has 2.0, then 2 - 1 - 0.25 = 0.75, then 2 - 1 - 0.5 = 0.5 < 0.6; 4 has 0.6, then -0.65
    assert [int(choose(logits)) for _ in range(5)] == [3, 3, 4, 3, 3]


def test_padding_is_not_penalised() -> None:
    """The same row, alone and beside a longer one, gets the same token, though padding is a likely token."""
    pad = 5
    scores = torch.zeros(1, 60)
    scores[0, pad] = 8.0
    setting = decoding(repetition_penalty=50.0, top_p=0.5)
    assert chooser(setting, torch.tensor([[1, 2]]))(scores).tolist() == [pad]
    mask = torch.tensor([[0, 0, 1, 1]])
    assert chooser(setting, torch.tensor([[pad, pad, 1, 2]]), mask)(scores).tolist() == [pad]


def test_rows_that_leave_change_nothing_for_the_others() -> None:
    generator = torch.Generator().manual_seed(0)
    prompts = torch.randint(0, 60, (6, 5), generator=generator)
    logits = [torch.randn(6, 60, generator=generator) for _ in range(4)]
    setting = decoding(presence_penalty=1.0)
    whole, part = chooser(setting, prompts), chooser(setting, prompts)
    left = torch.tensor([1, 4, 5])
    assert (whole(logits[0]) == part(logits[0])).all()
    part.keep(left)
    for step in (1, 2, 3):
        assert (whole(logits[step])[left] == part(logits[step][left])).all()


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_logits_that_are_no_numbers(value: float) -> None:
    logits = torch.zeros(3, 60)
    logits[1] = value
    with pytest.raises(TextgamutError, match=r"not finite in 1 of 3 samples.*float32"):
        chooser(decoding(), torch.ones(3, 2, dtype=torch.long))(logits)
