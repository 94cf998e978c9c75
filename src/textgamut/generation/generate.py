"""The generation loop: prompts in, samples out, one batch after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.generation.sampling import NucleusSampler, random_stream

if TYPE_CHECKING:
    from textgamut.registry import NucleusDecoding


class Request(NamedTuple):
    """One sample to be generated."""

    prompt_id: str
    text: str
    """The prompt as the model reads it."""
    add_special_tokens: bool
    """Whether the tokenizer adds BOS; a chat template has written its own."""


def plan_batches(requests: Sequence[Request], tokenizer: Any, batch_size: int) -> list[list[Request]]:
    """Group requests of similar length, longest first, so that little is computed on padding.

    The grouping depends on the requests alone: a restart forms the same batches.
    """
    ordered = sorted(requests, key=lambda request: (-len(_encode(request, tokenizer)), request.prompt_id))
    return [ordered[i : i + batch_size] for i in range(0, len(ordered), batch_size)]


def generate_batches(
    model: Any, tokenizer: Any, batches: Sequence[Sequence[Request]], decoding: NucleusDecoding, seed: int
) -> Iterator[list[dict[str, Any]]]:
    """Generate one continuation for every request.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its tokenizer, padding on the left.
        batches: Requests, as ``plan_batches`` groups them.
        decoding: The decoding setting.
        seed: Generation seed.

    Yields:
        Per batch, one row a request: ``prompt_id``; ``completion``, the text after the prompt; ``tokens``,
        the number of new tokens, the end-of-text token included; ``finish``, ``stop`` where the model ended
        the text and ``length`` where ``max_new_tokens`` did.
    """
    import torch
    from transformers import LogitsProcessorList

    end_tokens = _end_tokens(model, tokenizer)
    for batch in batches:
        inputs = tokenizer.pad(
            {"input_ids": [_encode(request, tokenizer) for request in batch]}, return_tensors="pt"
        ).to(model.device)
        streams = [random_stream(seed, request.prompt_id, 0, decoding.max_new_tokens) for request in batch]
        with torch.inference_mode():
            sequences = model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                logits_processor=LogitsProcessorList(
                    [NucleusSampler(decoding, streams, inputs["attention_mask"])]
                ),
                do_sample=False,
                max_new_tokens=decoding.max_new_tokens,
                min_new_tokens=decoding.min_new_tokens,
                eos_token_id=end_tokens,
                pad_token_id=tokenizer.pad_token_id,
            )
        width = inputs["input_ids"].shape[1]
        rows = []
        for request, prompt, new in zip(
            batch, sequences[:, :width].tolist(), sequences[:, width:].tolist(), strict=True
        ):
            ends = [step for step, token in enumerate(new) if token in end_tokens]
            count = ends[0] + 1 if ends else len(new)
            rows.append(
                {
                    "prompt_id": request.prompt_id,
                    "completion": _decode_after(tokenizer, prompt, new[:count]),
                    "tokens": count,
                    "finish": "stop" if ends else "length",
                }
            )
        yield rows


def _encode(request: Request, tokenizer: Any) -> list[int]:
    ids: list[int] = tokenizer(request.text, add_special_tokens=request.add_special_tokens)["input_ids"]
    return ids


def _end_tokens(model: Any, tokenizer: Any) -> list[int]:
    """List every token that ends a text: a checkpoint may name several, and the tokenizer another."""
    named = model.generation_config.eos_token_id
    tokens = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
    return sorted(token for token in tokens if token is not None)


def _decode_after(tokenizer: Any, prompt: list[int], new: list[int]) -> str:
    """Decode new tokens behind their prompt: alone, some tokenizers would drop their leading space."""
    options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    before: str = tokenizer.decode(prompt, **options)
    whole: str = tokenizer.decode(prompt + new, **options)
    return whole[len(before) :] if whole.startswith(before) else tokenizer.decode(new, **options)
