"""Decoding strategies as their sources define them: one text at a time, one number after the other.

Shared by the tests of the engine and by ``benchmarks/strategies.py``.
"""

from __future__ import annotations

import copy
import functools
import math
import operator
import statistics
from typing import Any, Protocol

import numpy as np
import scipy.stats
import torch
from torch.nn.functional import cosine_similarity
from transformers import DynamicCache

from textgamut.generation.requests import Request, encode
from textgamut.generation.sampling import draw_tokens, random_stream, restrict_logits, restrict_probabilities


class Reader(Protocol):
    """A model that reads a growing text."""

    def logits(self, ids: list[int]) -> torch.Tensor:
        """Return the logits after the text."""

    def candidates(self, ids: list[int], tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the hidden states of the text, and those of tokens if each is appended alone."""


class Anew:
    """Reads the whole text at every step."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def logits(self, ids: list[int]) -> torch.Tensor:
        logits: torch.Tensor = self.model(torch.tensor([ids])).logits[0, -1].float()
        return logits

    def candidates(self, ids: list[int], tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        read = [
            self.model(torch.tensor([[*ids, token]]), output_hidden_states=True).hidden_states[-1][0].float()
            for token in tokens
        ]
        return read[0][:-1], torch.stack([states[-1] for states in read])


class WithCache:
    """Reads each token once; the candidates of a step as a batch with copies of the cache."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._cache: Any = DynamicCache()
        self._wide: Any = None
        self._read = 0
        self._states: Any = None

    def logits(self, ids: list[int]) -> torch.Tensor:
        if self._wide is not None:  # the candidates are read already
            place = self._tokens.index(ids[-1])
            self._wide.batch_select_indices(torch.tensor([place]))
            self._cache, self._wide, self._read = self._wide, None, len(ids)
            self._states = torch.cat([self._states, self._new[place : place + 1]])
            found: torch.Tensor = self._logits[place]
            return found
        new = torch.tensor([ids[self._read :]])
        output = self.model(new, past_key_values=self._cache, output_hidden_states=True)
        states = output.hidden_states[-1][0].float()
        self._states = states if self._states is None else torch.cat([self._states, states])
        self._read = len(ids)
        logits: torch.Tensor = output.logits[0, -1].float()
        return logits

    def candidates(self, ids: list[int], tokens: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
        self._wide = copy.deepcopy(self._cache)
        self._wide.batch_repeat_interleave(len(tokens))
        output = self.model(
            torch.tensor(tokens)[:, None], past_key_values=self._wide, output_hidden_states=True
        )
        self._tokens, self._logits = tokens, output.logits[:, -1].float()
        self._new = output.hidden_states[-1][:, 0].float()
        return self._states, self._new


@torch.no_grad()
def defined(
    reader: Reader,
    tokenizer: Any,
    request: Request,
    setting: Any,
    seed: int = 1,
    ends: frozenset[int] | None = None,
) -> list[int]:
    """Return the new tokens of a text; ``ends`` are the tokens that end it, by default the tokenizer's."""
    ids = encode(request, tokenizer)
    prompt, ends = len(ids), ends or frozenset([tokenizer.eos_token_id])
    stream = random_stream(seed, request.prompt_id, request.completion, setting.max_new_tokens)
    history: list[Any] = []
    for number in stream:
        logits = penalised(tokenizer, ids, prompt, reader.logits(ids).clone(), setting)
        if len(ids) < prompt + setting.min_new_tokens:
            logits[list(ends)] = -torch.inf
        if setting.strategy == "greedy":
            token = int(logits.argmax())
        elif setting.strategy == "sampling":
            token = drawn(logits, setting, number)
        elif setting.strategy == "guard":
            token = guard(ids, logits, setting, history, number)
        elif setting.strategy == "contrastive-search":
            token = contrastive(reader, ids, logits.softmax(-1), setting.k, setting.alpha)
        else:
            token = contrastive(reader, ids, logits.softmax(-1), *adapted(logits, setting.q, history))
        ids.append(token)
        if token in ends:
            break
    return ids[prompt:]


def penalised(
    tokenizer: Any, ids: list[int], prompt: int, logits: torch.Tensor, setting: Any
) -> torch.Tensor:
    """Apply the penalties, DRY and the rule against repeated n-grams."""
    if getattr(setting, "repetition_penalty", 1.0) != 1.0:
        for token in set(ids):
            factor = setting.repetition_penalty if logits[token] < 0 else 1 / setting.repetition_penalty
            logits[token] *= factor
    for token in set(ids[prompt:]):
        logits[token] -= getattr(setting, "presence_penalty", 0.0)
        logits[token] -= getattr(setting, "frequency_penalty", 0.0) * ids[prompt:].count(token)
    if getattr(setting, "dry_multiplier", 0):
        logits = dry(tokenizer, ids, logits, setting)
    n = getattr(setting, "no_repeat_ngram", 0)
    for end in range(n, len(ids) + 1) if n else ():
        if ids[end - n : end - 1] == ids[len(ids) - n + 1 :]:
            logits[ids[end - 1]] = -torch.inf
    return logits


def drawn(logits: torch.Tensor, setting: Any, number: Any) -> int:
    """Restrict, and draw from a full sort."""
    return int(
        draw_tokens(
            restrict_logits(logits[None], setting) / setting.temperature,
            setting.top_p,
            torch.tensor([number.view("int64")]),
            setting.top_k,
            head=len(logits),
            restrict=functools.partial(restrict_probabilities, decoding=setting),
        )
    )


def contrastive(reader: Reader, ids: list[int], probability: torch.Tensor, k: int, alpha: float) -> int:
    """Su et al. 2022, equation 5: every candidate is read behind the whole text."""
    scores = {}
    tokens: list[int] = probability.topk(k).indices.tolist()
    states, new = reader.candidates(ids, tokens)
    for token, state in zip(tokens, new, strict=True):
        likeness = cosine_similarity(states, state[None]).max()
        scores[token] = float((1 - alpha) * probability[token] - alpha * likeness)
    return max(scores, key=scores.__getitem__)


def adapted(logits: torch.Tensor, q: float, history: list[tuple[float, float]]) -> tuple[int, float]:
    """Garces Arias et al. 2024: k and alpha of a step."""

    def follow(entropy: float, earlier: list[float], greatest: float) -> float:
        x = (entropy - (np.median(earlier) if earlier else entropy)) / greatest
        if x <= -1:  # more candidates before: the logarithm has no value
            return 0.0
        return float(1 / (1 + math.exp(-(q / 2) * math.log((1 + x) / (1 - x)))))

    p = np.sort(logits.double().softmax(-1).numpy())[::-1]
    whole = scipy.stats.entropy(p)
    k = round(10 * follow(whole, [one for one, _ in history], math.log(len(p))) + 5)
    head = scipy.stats.entropy(p[:k])  # renormalises
    alpha = round(follow(head, [other for _, other in history], math.log(k)), 2)
    history.append((whole, head))
    return int(k), alpha


def guard(ids: list[int], logits: torch.Tensor, setting: Any, history: list[float], number: Any) -> int:
    """Ding et al. 2025, as the authors' code has it; the draw is textgamut's."""
    p = (logits / setting.temperature).softmax(-1)
    history.append(-sum(x * math.log(x + 1e-5) for x in p.tolist()))
    steps, w, small = len(history), setting.window, 1e-4
    now, weights = history[-1], [0.95 ** (steps - 1 - step) for step in range(steps)]
    whole = sum(map(operator.mul, weights, history)) / sum(weights)
    local = now - statistics.median_low(history if steps < w else history[-w:])
    change = 0.0 if steps == 1 else min(abs(now - history[-2]) / (history[-2] + small), 1)
    far = far_share = 0.0
    if steps >= w:
        recent = statistics.median_low(history[-(w - 1) :])
        far, far_share = recent - whole, min(abs(recent - whole) / (recent + small), 1)
    q = 0.9 * setting.q + 0.1 * (1 + change + far_share)

    def follow(scale: float) -> float:
        near, wide = (q * math.atanh(min(max(x / scale, small - 1), 1 - small)) for x in (local, far))
        share = abs(near) / (abs(near) + abs(wide) + small)
        return 1 / (1 + math.exp(-(share * near + (1 - share) * wide)))

    k = 10 * follow(math.log(len(p))) + 5
    alpha = follow(math.log(k + small))
    weighed = torch.zeros_like(p)
    for token in p.topk(int(k)).indices.tolist():
        weighed[token] = p[token] * alpha ** ids.count(token)
    return int(draw_tokens(weighed.log()[None], 1.0, torch.tensor([number.view("int64")])))


def dry(tokenizer: Any, ids: list[int], logits: torch.Tensor, setting: Any) -> torch.Tensor:
    """p-e-w 2024: look for the end of the text at every earlier place."""

    def broken(token: int) -> bool:
        return any(mark in tokenizer.decode([token]) for mark in '\n:"*')

    longest: dict[int, int] = {}
    for end in range(1, len(ids)):
        n = 0
        while n < end and ids[end - 1 - n] == ids[-1 - n] and not broken(ids[-1 - n]):
            n += 1
        if not broken(ids[end]):
            longest[ids[end]] = max(n, longest.get(ids[end], 0))
    for token, n in longest.items():
        if n >= setting.dry_allowed_length:
            logits[token] -= setting.dry_multiplier * setting.dry_base ** (n - setting.dry_allowed_length)
    return logits


def contrasted(amateur: Any, setting: Any) -> Any:
    """Li et al. 2023, equations 2 and 3, for one prompt: the amateur reads every hypothesis anew."""

    def scores(ids: torch.Tensor, log_p: torch.Tensor) -> torch.Tensor:
        kept = log_p.softmax(-1) >= setting.alpha * log_p.softmax(-1).amax(-1, keepdim=True)
        other = (amateur(ids).logits[:, -1] / setting.amateur_temperature).log_softmax(-1)
        return torch.where(kept, log_p - other, -torch.inf)

    return scores
