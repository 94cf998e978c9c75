"""Generation with vLLM, which does its own scheduling and batching."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from textgamut.config.entries.decoding import (
    Decoding,
    GreedyDecoding,
    SamplingDecoding,
    lacking,
    unsupported,
)
from textgamut.config.entries.models import Reasoning
from textgamut.errors import ConfigError, ModelError
from textgamut.generation.engines.transformers import decode_sample
from textgamut.generation.requests import Request, Sample, encode, ordered, seed_of
from textgamut.generation.thoughts import Limits

PROCESSOR = "textgamut.generation.engines.vllm_processor:Decoder"
"""The class that does what vLLM lacks, by the name with which vLLM loads it."""
ARGUMENT = "textgamut"
"""Name in ``SamplingParams.extra_args`` of the decoding setting that the class applies."""
ROUNDS = 8
"""Number of samples passed to vLLM in one call, as a multiple of the batch size."""


class VllmEngine:
    """A checkpoint run by vLLM on one or more GPUs; vLLM's builds for CPUs work, too.

    Each sample has its own random stream, keyed by (seed, prompt, completion). Sampled texts differ from
    those of the engine transformers. The other samples of a batch may change the last bits of a sample's
    logits, unless ``batch_invariant`` is set.
    """

    def __init__(
        self,
        folder: Path,
        tokenizer: Any,
        dtype: str,
        gpus: int,
        batch_size: int,
        batch_invariant: bool = False,
        reasoning: Reasoning | None = None,
    ) -> None:
        """Load a checkpoint.

        Args:
            folder: The checkpoint.
            tokenizer: Its tokenizer, with padding on the left.
            dtype: ``auto`` (vLLM's choice: the dtype of the checkpoint, but 16 bits instead of float32),
                ``bfloat16``, ``float16`` or ``float32``.
            gpus: Number of GPUs over which each layer is split (tensor parallelism).
            batch_size: Maximum number of concurrent samples.
            batch_invariant: Use only kernels whose results do not depend on the other samples of a batch.
            reasoning: For a model that thinks before it answers. vLLM has one limit for thought and answer
                together; what exceeds the limit of either is generated, and cut off.

        Raises:
            TextgamutError: If vLLM is not installed, or has no such kernels for this hardware.
        """
        # Read when vLLM is imported, and by its processes.
        os.environ["VLLM_BATCH_INVARIANT"] = str(int(batch_invariant))
        try:
            import vllm
        except ImportError as error:
            raise ModelError(
                "engine vllm: vLLM cannot be imported: on a machine with a GPU, "
                f"pip install 'textgamut[vllm]' ({error})"
            ) from error
        if batch_invariant:
            _check_batch_invariance(vllm.platforms.current_platform)
        self._vllm, self._tokenizer, self._reasoning = vllm, tokenizer, reasoning
        self.batch_size, self._batch_invariant = batch_size, batch_invariant
        self._model = vllm.LLM(
            model=str(folder), dtype=dtype, tensor_parallel_size=max(gpus, 1), max_num_seqs=batch_size,
            trust_remote_code=False, logits_processors=[PROCESSOR],
        )  # fmt: skip

    @property
    def identity(self) -> str:
        """See ``Engine.identity``: the versions of vLLM and torch, and the dtype."""
        return f"vLLM {self._vllm.__version__}, torch {version('torch')}, {self.facts['dtype']}"

    @property
    def facts(self) -> dict[str, Any]:
        """Return the metadata for the job's output: version, dtype and flags, as vLLM resolved them."""
        config = self._model.llm_engine.vllm_config.model_config
        return {
            "vllm": self._vllm.__version__,
            "device": self._vllm.platforms.current_platform.get_device_name(),
            "dtype": str(config.dtype),
            "enforce_eager": config.enforce_eager,
            "batch_invariant": self._batch_invariant,
        }

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. Beam and contrastive search require the engine transformers."""
        settings = vllm_settings(decoding, self._reasoning is not None)
        limits = Limits(decoding, self._reasoning, self._tokenizer)
        settings["max_tokens"] = limits.most
        clean = decoding.spaces == "cleaned-up"
        prompts = {request: encode(request, self._tokenizer) for request in requests}
        left = ordered(requests, [len(prompts[request]) for request in requests])
        size = ROUNDS * self.batch_size
        while left:
            batch, left = left[:size], left[size:]
            try:
                outputs = self._model.generate(
                    [self._vllm.TokensPrompt(prompt_token_ids=prompts[request]) for request in batch],
                    [self._vllm.SamplingParams(**settings, seed=seed_of(request, seed)) for request in batch],
                    use_tqdm=False,
                )
            except self._vllm.v1.engine.exceptions.EngineDeadError as error:
                raise ModelError("vLLM's engine died: the first error above says why") from error
            yield [
                self._sample(request, prompts[request], output.outputs[0], limits, clean)
                for request, output in zip(batch, outputs, strict=True)
            ]

    def _sample(
        self, request: Request, prompt: list[int], output: Any, limits: Limits, clean: bool
    ) -> Sample:
        new, begin, finish = limits.cut(output.token_ids, output.finish_reason)
        # Of the answer, without the token that ends the text.
        scored = range(len(new) if begin is None else begin, len(new) - (finish == "stop"))
        return Sample(
            prompt_id=request.prompt_id,
            completion=request.completion,
            continuation=decode_sample(self._tokenizer, prompt, new, begin, self._reasoning, clean),
            tokens=len(new),
            finish=finish,
            log_likelihood=sum(output.logprobs[i][new[i]].logprob for i in scored),
            scored_tokens=len(scored),
        )


def _check_batch_invariance(platform: Any) -> None:
    """Raise an error on hardware for which vLLM has no batch-invariant kernels; it would ignore the setting.

    Source: vLLM's documentation, "Batch Invariance".
    """
    if platform.is_cpu() or (platform.is_cuda() and not platform.has_device_capability(80)):
        raise ModelError(
            "batch_invariant: true needs a GPU of compute capability 8.0 or higher, "
            f"and vLLM runs on {platform.get_device_name()} here: set it to false in models.yaml"
        )


def vllm_settings(decoding: Decoding, reasoning: bool = False) -> dict[str, Any]:
    """Return the arguments of vLLM's ``SamplingParams`` for a decoding setting.

    Raises:
        TextgamutError: If the engine does not support the setting.
    """
    if reason := unsupported("vllm", decoding, reasoning):
        raise ConfigError(reason)
    assert isinstance(decoding, GreedyDecoding | SamplingDecoding)
    return _vllm_strategy(decoding) | {
        "max_tokens": decoding.max_new_tokens,
        "min_tokens": decoding.min_new_tokens,
        "logprobs": 0,  # of the chosen token only, by default before penalties, temperature and min_tokens
        "detokenize": False,
    }


def _vllm_strategy(decoding: GreedyDecoding | SamplingDecoding) -> dict[str, Any]:
    """Return penalties, restrictions and the temperature."""
    sampled = isinstance(decoding, SamplingDecoding)
    if lacking(decoding):  # textgamut's own code does all of it
        entry = decoding.model_dump(mode="json")
        return {"temperature": 1.0 if sampled else 0.0, "extra_args": {ARGUMENT: entry}}
    settings: dict[str, Any] = {"temperature": 0.0}
    if isinstance(decoding, SamplingDecoding):
        settings = {
            "temperature": decoding.temperature,
            "top_k": decoding.top_k or 0,  # 0: all tokens
            "top_p": decoding.top_p,
            "min_p": decoding.min_p,
        }
    return settings | {
        "repetition_penalty": decoding.repetition_penalty,
        "presence_penalty": decoding.presence_penalty,
        "frequency_penalty": decoding.frequency_penalty,
    }
