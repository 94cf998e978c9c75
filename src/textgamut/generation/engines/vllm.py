"""Generation with vLLM, which does its own scheduling and batching."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from textgamut.config.entries.decoding import Decoding, GreedyDecoding, SamplingDecoding
from textgamut.errors import ConfigError, ModelError
from textgamut.generation.engines.transformers import decode_after
from textgamut.generation.requests import Request, Sample, encode, ordered, seed_of

ROUNDS = 8
"""Number of samples passed to vLLM in one call, as a multiple of the batch size."""


class VllmEngine:
    """A checkpoint run by vLLM on one or more GPUs.

    Each sample has its own random stream, keyed by (seed, prompt, completion). The texts differ from those of
    the engine transformers. The other samples of a batch may change the last bits of a sample's logits,
    unless the environment variable VLLM_BATCH_INVARIANT is 1.
    """

    def __init__(self, folder: Path, tokenizer: Any, dtype: str, gpus: int, batch_size: int) -> None:
        """Load a checkpoint.

        Args:
            folder: The checkpoint.
            tokenizer: Its tokenizer, with padding on the left.
            dtype: ``auto`` (the dtype of the checkpoint), ``bfloat16``, ``float16`` or ``float32``.
            gpus: Number of GPUs over which each layer is split (tensor parallelism).
            batch_size: Maximum number of concurrent samples.

        Raises:
            TextgamutError: If vLLM is not installed.
        """
        try:
            import vllm
        except ImportError as error:
            raise ModelError(
                "engine vllm: vLLM cannot be imported: on a machine with a GPU, "
                f"pip install 'textgamut[vllm]' ({error})"
            ) from error
        self._vllm, self._tokenizer = vllm, tokenizer
        self.batch_size = batch_size
        self._model = vllm.LLM(
            model=str(folder), dtype=dtype, tensor_parallel_size=max(gpus, 1), max_num_seqs=batch_size
        )

    @property
    def facts(self) -> dict[str, Any]:
        """Return the metadata for the job's output: the version of vLLM."""
        return {"vllm": self._vllm.__version__}

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. Beam and contrastive search require the engine transformers."""
        settings = vllm_settings(decoding)
        prompts = {request: encode(request, self._tokenizer) for request in requests}
        left = ordered(requests, [len(prompts[request]) for request in requests])
        size = ROUNDS * self.batch_size
        while left:
            batch, left = left[:size], left[size:]
            outputs = self._model.generate(
                [self._vllm.TokensPrompt(prompt_token_ids=prompts[request]) for request in batch],
                [self._vllm.SamplingParams(**settings, seed=seed_of(request, seed)) for request in batch],
                use_tqdm=False,
            )
            yield [
                Sample(
                    prompt_id=request.prompt_id,
                    completion=request.completion,
                    continuation=decode_after(
                        self._tokenizer,
                        prompts[request],
                        list(text.token_ids),
                        decoding.spaces == "cleaned-up",
                    ),
                    tokens=len(text.token_ids),
                    finish=text.finish_reason,
                )
                for request, output in zip(batch, outputs, strict=True)
                for text in output.outputs
            ]


def vllm_settings(decoding: Decoding) -> dict[str, Any]:
    """Return the arguments of vLLM's ``SamplingParams`` for a decoding setting.

    Raises:
        TextgamutError: If the engine does not support the setting.
    """
    if not isinstance(decoding, GreedyDecoding | SamplingDecoding):
        raise ConfigError(f"engine vllm: no {decoding.strategy} decoding: use the engine transformers")
    settings: dict[str, Any] = {"temperature": 0.0}
    if isinstance(decoding, SamplingDecoding):
        settings = {
            "temperature": decoding.temperature,
            "top_k": decoding.top_k or 0,  # 0: all tokens
            "top_p": decoding.top_p,
        }
    return settings | {
        "repetition_penalty": decoding.repetition_penalty,
        "presence_penalty": decoding.presence_penalty,
        "frequency_penalty": decoding.frequency_penalty,
        "max_tokens": decoding.max_new_tokens,
        "min_tokens": decoding.min_new_tokens,
    }
