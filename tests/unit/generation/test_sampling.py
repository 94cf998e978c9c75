"""Sampling: exact against brute force, independent of the layout, of the stated distribution."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.config.entries.decoding import GreedyDecoding, SamplingDecoding
from textgamut.errors import TextgamutError
from textgamut.generation.penalties import breakers_of, forbid_repeats, penalise_repeats
from textgamut.generation.sampling import (
    Chooser,
    draw_tokens,
    random_stream,
    restrict_logits,
    restrict_probabilities,
)

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
@settings(max_examples=150)
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


# --- restrictions ---------------------------------------------------------------------------------------


def restricted(logits: np.ndarray, name: str, value: float) -> list[set[int]]:
    """Return the tokens of each row that a restriction keeps."""
    setting = SamplingDecoding(strategy="sampling", max_new_tokens=4, **{name: value})
    kept = restrict_probabilities(restrict_logits(torch.tensor(logits), setting), setting) > -torch.inf
    return [set(row.nonzero().ravel().tolist()) for row in kept]


def as_defined(logits: np.ndarray, name: str, value: float) -> set[int]:
    """The tokens that a restriction keeps of one row, by the definition of its paper."""
    allowed = {token for token, logit in enumerate(logits.tolist()) if logit > -math.inf}
    z = {token: float(logits[token]) for token in allowed}
    greatest, total = max(z.values()), sum(map(math.exp, z.values()))
    p = {token: math.exp(logit) / total for token, logit in z.items()}
    entropy = -sum(share * math.log(share) for share in p.values())
    if name == "top_n_sigma":
        sigma = np.std(list(z.values()), ddof=1) if len(z) > 1 else 0.0
        return {token for token in z if z[token] >= greatest - value * sigma}
    if name == "min_k":
        ordered = sorted(z.values(), reverse=True)
        spread = ordered[0] - ordered[-1]
        if spread == 0:
            return allowed
        falls = [(ordered[i - 1] - ordered[i]) / spread / i for i in range(1, len(ordered))]
        k = max(falls.index(max(falls)) + 1, min(math.floor(value / spread), len(ordered)))
        return {token for token in z if z[token] >= ordered[k - 1]}
    if name == "typical_p":
        typicality = {token: abs(-math.log(share) - entropy) for token, share in p.items()}
        mass, kept = 0.0, set()
        for token in sorted(p, key=typicality.__getitem__):
            if mass >= value:
                break
            mass += p[token]
            kept.add(token)
        last = max(typicality[token] for token in kept)
        return {token for token in p if typicality[token] <= last + 1e-12}
    least = {
        "min_p": value * max(p.values()),
        "epsilon_cutoff": value,
        "eta_cutoff": min(value, math.sqrt(value) * math.exp(-entropy)),
    }[name]
    return {token for token in p if p[token] >= least or p[token] == max(p.values())}


VALUES = {
    "top_n_sigma": [0.3, 1.0, 2.5],
    "min_k": [0.0, 3.0, 40.0],
    "min_p": [0.01, 0.1, 0.7],
    "typical_p": [0.2, 0.9, 0.999],
    "epsilon_cutoff": [0.0003, 0.01, 0.3],
    "eta_cutoff": [0.0003, 0.01, 0.3],
}
"""Settings of each restriction."""
LOOSER = {"top_n_sigma": True, "min_k": True, "typical_p": True}
"""Restrictions that keep more the greater they are."""


def some_logits(seed: int, spread: float, forbidden: bool) -> np.ndarray:
    logits = (np.random.default_rng(seed).normal(size=(6, 80)) * spread).astype(np.float32)
    if forbidden:
        logits[:, ::3] = -np.inf
        logits[0, 1:] = -np.inf
        logits[0, 4] = 1.0
        logits[1] = 0.5
    return logits


some_seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("name", VALUES)
@given(seed=some_seeds, spread=st.sampled_from([0.05, 1.0, 4.0]), forbidden=st.booleans())
@settings(max_examples=25)
def test_restrictions_are_as_defined(name: str, seed: int, spread: float, forbidden: bool) -> None:
    logits = some_logits(seed, spread, forbidden)
    for value in VALUES[name]:
        assert restricted(logits, name, value) == [as_defined(row, name, value) for row in logits]


@pytest.mark.parametrize("name", VALUES)
@given(seed=some_seeds, spread=st.sampled_from([0.05, 1.0, 4.0]), forbidden=st.booleans())
@settings(max_examples=25)
def test_stricter_restrictions_keep_fewer_and_the_most_probable_token_stays(
    name: str, seed: int, spread: float, forbidden: bool
) -> None:
    logits = some_logits(seed, spread, forbidden)
    steps = [restricted(logits, name, value) for value in sorted(VALUES[name], reverse=name not in LOOSER)]
    for row, (strict, middle, loose) in enumerate(zip(*steps, strict=True)):
        assert set() < strict <= middle <= loose
        assert name == "typical_p" or int(logits[row].argmax()) in strict
        assert not (np.isneginf(logits[row])[list(loose)]).any()


@given(seed=some_seeds, temperature=st.sampled_from([0.25, 2.0, 8.0]))
@settings(max_examples=25)
def test_restrictions_of_logits_do_not_depend_on_the_temperature(seed: int, temperature: float) -> None:
    """Powers of two change no digit. The second part of min-k (tau > 0) does depend on the scale."""
    logits = some_logits(seed, 2.0, forbidden=True)
    for name, value in (("top_n_sigma", 1.0), ("min_k", 0.0)):
        scaled = (logits / temperature).astype(np.float32)
        assert restricted(scaled, name, value) == restricted(logits, name, value)


def test_restrictions_equal_the_processors_of_transformers() -> None:
    from transformers.generation import (
        EpsilonLogitsWarper,
        EtaLogitsWarper,
        MinPLogitsWarper,
        TypicalLogitsWarper,
    )

    theirs = {
        "min_p": MinPLogitsWarper,
        "typical_p": TypicalLogitsWarper,
        "epsilon_cutoff": EpsilonLogitsWarper,
        "eta_cutoff": EtaLogitsWarper,
    }
    scores = torch.randn(64, 500, generator=torch.Generator().manual_seed(0))
    for spread in (0.1, 1.0, 5.0):
        for name, processor in theirs.items():
            for value in VALUES[name]:
                # In float64, as ours: what float32 makes of near ties depends on the processor.
                kept = processor(value)(torch.zeros(64, 1), (scores * spread).double()) > -torch.inf
                expected = [set(row.nonzero().ravel().tolist()) for row in kept]
                assert restricted((scores * spread).numpy(), name, value) == expected


@given(seed=some_seeds, head=st.sampled_from([1, 7, 30, 80]), top_p=st.sampled_from([0.5, 0.95, 1.0]))
@settings(max_examples=40)
def test_restrictions_follow_top_k_and_top_p_whatever_the_head(seed: int, head: int, top_p: float) -> None:
    logits, random = torch.tensor(some_logits(seed, 2.0, forbidden=False)), numbers(6, seed)
    setting = SamplingDecoding(
        strategy="sampling",
        max_new_tokens=4,
        min_p=0.02,
        typical_p=0.9,
        epsilon_cutoff=0.001,
        eta_cutoff=0.05,
    )

    def restrict(of: torch.Tensor) -> torch.Tensor:
        return restrict_probabilities(of, setting)

    drawn = draw_tokens(logits, top_p, random, 40, head, restrict)
    allowed = logits.masked_fill(logits < logits.topk(40).values[:, -1:], -torch.inf)
    for row, number in enumerate(random.tolist()):
        p = np.sort(allowed[row].double().softmax(-1).numpy())[::-1]
        least = p[np.argmax(np.cumsum(p) >= top_p - 1e-12)]
        kept = allowed[row].masked_fill(allowed[row].double().softmax(-1) < least - 1e-12, -torch.inf)
        for name in ("min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"):
            places = list(as_defined(kept.numpy(), name, getattr(setting, name)))
            kept = torch.full_like(kept, -torch.inf).index_put((torch.tensor(places),), kept[places])
        assert int(drawn[row]) == brute_force(kept.numpy(), 1.0, number & MASK)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_repeats_are_those_of_transformers_whatever_the_padding(n: int) -> None:
    from transformers import NoRepeatNGramLogitsProcessor

    generator = torch.Generator().manual_seed(n)
    tokens = torch.randint(0, 4, (20, 8), generator=generator)
    scores = torch.randn(20, 5, generator=generator)
    theirs = NoRepeatNGramLogitsProcessor(n)(tokens, scores)
    starts = torch.zeros(20, dtype=torch.long)
    assert torch.equal(forbid_repeats(scores, tokens, starts, n), theirs)
    assert n == 9 or (theirs == -torch.inf).any()
    for pad in range(5):
        padded = torch.cat([torch.full((20, 6), pad), tokens], dim=1)
        assert torch.equal(forbid_repeats(scores, padded, starts + 6, n), theirs)


def test_text_that_cannot_go_on_without_a_repeat() -> None:
    setting = GreedyDecoding(strategy="greedy", no_repeat_ngram=1, max_new_tokens=9)
    choose = Chooser(setting, torch.tensor([[0, 1]]), torch.ones(1, 2), [random_stream(0, "a", 0, 4)], 3)
    assert int(choose(torch.zeros(1, 3))) == 2
    with pytest.raises(TextgamutError, match=r"no_repeat_ngram: 1: every token would repeat"):
        choose(torch.zeros(1, 3))


# --- choosers -------------------------------------------------------------------------------------------


def decoding(**changes: float) -> SamplingDecoding:
    fields = {"top_p": 0.9, "temperature": 0.7, "repetition_penalty": 1.3, "max_new_tokens": 4} | changes
    return SamplingDecoding(strategy="sampling", **fields)


def chooser(setting: SamplingDecoding, prompts: torch.Tensor, mask: torch.Tensor | None = None) -> Chooser:
    streams = [random_stream(0, str(i), 0, 4) for i in range(len(prompts))]
    return Chooser(setting, prompts, torch.ones_like(prompts) if mask is None else mask, streams, 60)


def test_equals_the_processors_of_transformers_where_nothing_is_padded() -> None:
    from transformers import (
        LogitsProcessorList,
        NoRepeatNGramLogitsProcessor,
        RepetitionPenaltyLogitsProcessor,
    )
    from transformers.generation import (
        EpsilonLogitsWarper,
        EtaLogitsWarper,
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
        TypicalLogitsWarper,
    )

    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 60, (16, 7), generator=generator)
    further = {"min_p": 0.02, "typical_p": 0.8, "epsilon_cutoff": 0.03, "eta_cutoff": 0.5}
    choose = chooser(decoding(top_k=20, no_repeat_ngram=1, **further), ids)
    for step in range(4):
        scores = torch.randn(16, 60, generator=generator) * 3
        theirs = LogitsProcessorList(
            [
                RepetitionPenaltyLogitsProcessor(1.3),
                NoRepeatNGramLogitsProcessor(1),
                TemperatureLogitsWarper(0.7),
                TopKLogitsWarper(20),
                TopPLogitsWarper(0.9),
                MinPLogitsWarper(0.02),
                TypicalLogitsWarper(0.8),
                EpsilonLogitsWarper(0.03),
                EtaLogitsWarper(0.5),
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
    setting = decoding(repetition_penalty=50.0, no_repeat_ngram=1, top_p=0.5)
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


# --- DRY ------------------------------------------------------------------------------------------------


def dry_penalties(tokens: list[int], breakers: Sequence[int] = (), padding: int = 0) -> dict[int, float]:
    """Penalties with multiplier 1, base 2 and allowed length 2: token -> penalty."""
    row = torch.tensor([[0] * padding + tokens])
    broken = torch.zeros(10, dtype=torch.bool)
    broken[list(breakers)] = True
    logits = penalise_repeats(torch.zeros(1, 10), row, torch.tensor([padding]), broken, (1.0, 2.0, 2))
    return {token: -float(logits[0, token]) for token in logits[0].nonzero().flatten().tolist()}


def test_dry_grows_with_the_repetition() -> None:
    assert dry_penalties([1, 2, 3, 9, 2]) == {}  # one token is allowed to repeat
    assert dry_penalties([1, 2, 3, 9, 1, 2]) == {3: 1}
    assert dry_penalties([4, 1, 2, 3, 9, 4, 1, 2]) == {3: 2}
    assert dry_penalties([5, 4, 1, 2, 3, 9, 5, 4, 1, 2]) == {3: 4}
    assert dry_penalties([1, 2, 3, 1, 2, 4, 1, 2]) == {3: 1, 4: 1}
    assert dry_penalties([8, 1, 2, 3, 1, 2, 3, 8, 1, 2]) == {3: 2}  # the longest counts
    assert dry_penalties([7, 7, 7, 7]) == {7: 2}  # a repetition may overlap itself
    assert dry_penalties([1]) == {}


def test_dry_reaches_over_no_breaker_and_no_padding() -> None:
    assert dry_penalties([4, 1, 2, 3, 9, 4, 1, 2], breakers=[1]) == {}
    assert dry_penalties([4, 1, 2, 3, 9, 4, 1, 2], breakers=[4]) == {3: 1}
    assert dry_penalties([4, 1, 2, 3, 9, 4, 1, 2], breakers=[3]) == {}  # nor is a breaker penalised
    assert dry_penalties([1, 2, 3, 9, 0, 1, 2], padding=1) == dry_penalties([1, 2, 3, 9, 0, 1, 2]) == {3: 1}


def test_dry_forbids_what_it_would_penalise_without_bound() -> None:
    assert dry_penalties([1] * 300) == {1: math.inf}


def test_tokens_with_a_line_break_colon_quotation_mark_or_asterisk_are_breakers() -> None:
    tokenizer = tiny.tokenizer()
    found = breakers_of(tokenizer, 100)
    assert len(found) == 100
    assert {tokenizer.decode([i]) for i in found.nonzero().flatten().tolist()} == set('\n:"')
