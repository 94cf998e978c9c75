"""Sampling: exact against brute force, independent of the layout, of the stated distribution."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.config import NucleusDecoding
from textgamut.generation.sampling import NucleusSampler, draw_tokens, uniforms


def brute_force(logits: np.ndarray, top_p: float, u: float) -> int:
    """Sort everything, take tokens until their mass reaches top_p, and their ties; walk them by id."""
    p = np.exp(logits.astype(np.float64) - logits.max())
    p /= p.sum()
    nucleus, mass = [], 0.0
    for token in np.argsort(-p, kind="stable"):
        if mass >= top_p and p[token] < p[nucleus[-1]]:
            break
        nucleus.append(token)
        mass += p[token]
    walked = 0.0
    for token in sorted(nucleus):
        walked += p[token]
        if walked > u * mass:
            return int(token)
    raise AssertionError("u is below 1")


@given(
    seed=st.integers(0, 2**32 - 1),
    top_p=st.sampled_from([0.1, 0.5, 0.9, 0.99, 1.0]),
    spread=st.sampled_from([0.1, 1.0, 5.0]),
    head=st.sampled_from([1, 2, 7, 64]),
    ties=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_equals_brute_force(seed: int, top_p: float, spread: float, head: int, ties: bool) -> None:
    rng = np.random.default_rng(seed)
    logits = (rng.normal(size=(5, 50)) * spread).astype(np.float32)
    if ties:
        logits = np.round(logits)
    u = rng.random(5)
    drawn = draw_tokens(torch.tensor(logits), top_p, torch.tensor(u), head)
    assert drawn.tolist() == [brute_force(row, top_p, value) for row, value in zip(logits, u, strict=True)]


@pytest.mark.parametrize("top_p", [0.7, 1.0])
def test_distribution(top_p: float) -> None:
    """20,000 draws follow the renormalised nucleus: chi-square below its 1e-6 quantile."""
    from scipy.stats import chisquare

    logits = torch.tensor([[2.0, 1.0, 0.5, 0.0, -3.0]])
    p = torch.softmax(logits.double(), dim=-1)[0].numpy()
    kept = p * (np.cumsum(p) - p < top_p)
    n = 20_000
    u = torch.tensor(np.random.default_rng(0).random(n))
    drawn = draw_tokens(logits.expand(n, -1), top_p, u)
    counts = np.bincount(drawn, minlength=5)
    assert counts[kept == 0].sum() == 0
    used = kept > 0
    assert chisquare(counts[used], n * kept[used] / kept.sum()).pvalue > 1e-6


@pytest.mark.parametrize("top_p", [0.4, 1.0])
def test_extreme_uniforms_and_forbidden_tokens(top_p: float) -> None:
    logits = torch.tensor([[-torch.inf, 1.0, -torch.inf, 1.0, -torch.inf]])
    largest = np.nextafter(1.0, 0.0)
    for u, token in ((0.0, 1), (largest, 3)):
        assert draw_tokens(logits, top_p, torch.tensor([u], dtype=torch.float64)).item() == token


def test_the_head_grows_until_it_holds_every_tie() -> None:
    """A flat distribution: all 5,000 tokens tie, so all are in the nucleus."""
    u = torch.tensor([0.0, 0.5, 0.9999])
    assert draw_tokens(torch.zeros(3, 5000), 0.1, u.double()).tolist() == [0, 2500, 4999]


def test_streams_are_prefixes_and_independent() -> None:
    assert (uniforms(1, "a", 0, 100)[:10] == uniforms(1, "a", 0, 10)).all()
    streams = [
        uniforms(*key, 1000) for key in [(1, "a", 0), (2, "a", 0), (1, "b", 0), (1, "a", 1), (1, "a0", 0)]
    ]
    correlations = np.corrcoef(streams)[np.triu_indices(5, 1)]
    assert np.abs(correlations).max() < 5 / 1000**0.5
    assert all(stream.min() >= 0 and stream.max() < 1 for stream in streams)


def test_streams_never_change() -> None:
    """A change here changes every text ever generated: it needs a new REVISION."""
    assert uniforms(1, "article-1", 0, 3) == pytest.approx(STREAM, abs=1e-15)


STREAM = [0.7746346584929106, 0.3855163803907913, 0.5547948098294061]


def decoding(**changes: float) -> NucleusDecoding:
    fields = {"top_p": 0.9, "temperature": 0.7, "repetition_penalty": 1.3, "max_new_tokens": 4} | changes
    return NucleusDecoding(strategy="nucleus", **fields)


def chosen(sampler: NucleusSampler, ids: torch.Tensor, scores: torch.Tensor) -> list[int]:
    result = sampler(ids, scores)
    assert (result == 0).sum(dim=1).eq(1).all()
    return result.argmax(dim=1).tolist()


def test_sampler_equals_the_processors_of_transformers_where_nothing_is_padded() -> None:
    from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor
    from transformers.generation import TemperatureLogitsWarper, TopPLogitsWarper

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 60, (16, 9), generator=generator)
    scores = torch.randn(16, 60, generator=generator) * 3
    streams = [uniforms(0, str(i), 0, 4) for i in range(16)]
    theirs = LogitsProcessorList(
        [RepetitionPenaltyLogitsProcessor(1.3), TemperatureLogitsWarper(0.7), TopPLogitsWarper(0.9)]
    )(ids, scores.clone())
    sampler = NucleusSampler(decoding(), streams, torch.ones(16, 7, dtype=torch.long))  # two tokens are new
    expected = [brute_force(row.numpy(), 1.0, u[2]) for row, u in zip(theirs, streams, strict=True)]
    assert chosen(sampler, ids, scores) == expected


def test_padding_is_not_penalised() -> None:
    """The same row, alone and beside a longer one, gets the same token, though padding is a likely token."""
    pad = 5
    scores = torch.zeros(1, 8)
    scores[0, pad] = 8.0
    stream = uniforms(0, "a", 0, 4)
    settings_ = decoding(repetition_penalty=50.0, top_p=0.5)
    alone = NucleusSampler(settings_, [stream], torch.ones(1, 2, dtype=torch.long))
    mask = torch.tensor([[0, 0, 1, 1]])
    beside = NucleusSampler(settings_, [stream], mask)
    assert chosen(alone, torch.tensor([[1, 2]]), scores) == [pad]
    assert chosen(beside, torch.tensor([[pad, pad, 1, 2]]), scores) == [pad]
