"""Generation with transformers, in batches of similar length; finished rows are removed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from textgamut.config.entries.decoding import BeamDecoding, ContrastiveDecoding, Decoding
from textgamut.errors import ModelError
from textgamut.generation.contrastive import ContrastiveChooser
from textgamut.generation.requests import Request, Sample, encode, ordered
from textgamut.generation.sampling import Chooser, random_stream
from textgamut.text import clean_up_spaces

if TYPE_CHECKING:
    pass
from textgamut.generation.rows import Rows

logger = logging.getLogger(__name__)


class TransformersEngine:
    """A causal language model of transformers, on one or more GPUs or on the CPU."""

    def __init__(self, model: Any, tokenizer: Any, batch_size: int) -> None:
        """Wrap a loaded model.

        Args:
            model: A model from ``checkpoints.load_causal_model``.
            tokenizer: Its tokenizer, with padding on the left.
            batch_size: Maximum number of samples per batch (of hypotheses in beam search). It is halved when
                the engine runs out of memory.
        """
        self._model, self._tokenizer = model, tokenizer
        self.batch_size = batch_size
        named = model.generation_config.eos_token_id
        # A checkpoint may define several tokens that end a text, and the tokenizer a different one.
        tokens = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
        self._end_tokens = sorted(token for token in tokens if token is not None)

    @property
    def facts(self) -> dict[str, Any]:
        """Return no metadata: the caller knows device and dtype."""
        return {}

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. When out of memory, halve the batch size for all following batches.

        Batches depend only on the remaining requests and the batch size, so a restart forms the same.
        """
        prompts = [encode(request, self._tokenizer) for request in requests]
        of_request = dict(zip(requests, prompts, strict=True))
        left = ordered(requests, [len(prompt) for prompt in prompts])
        while left:
            rows = self.batch_size
            if isinstance(decoding, BeamDecoding):
                rows = max(1, rows // decoding.beams)
            batch = left[:rows]
            try:
                samples = self._samples(batch, [of_request[request] for request in batch], decoding, seed)
            except RuntimeError as error:
                if not _out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise ModelError(
                        "out of memory with a single sample: a larger or second GPU (gpus), a 16-bit dtype, "
                        "or fewer new tokens may help"
                    ) from error
                samples = []
            if not samples:  # out of memory; by now the tensors of the failed batch are released
                self.batch_size = max(1, self.batch_size // 2)
                logger.warning("out of memory: continuing with batches of %d", self.batch_size)
                _free_memory()
                continue
            left = left[len(batch) :]
            yield samples

    def _samples(
        self, batch: Sequence[Request], prompts: list[list[int]], decoding: Decoding, seed: int
    ) -> list[Sample]:
        import torch

        with torch.inference_mode():
            if isinstance(decoding, BeamDecoding):
                texts = self._beam(prompts, decoding)
            else:
                texts = self._step_by_step(batch, prompts, decoding, seed)
        return [
            Sample(
                prompt_id=request.prompt_id,
                completion=request.completion,
                continuation=decode_after(self._tokenizer, prompt, new, decoding.spaces == "cleaned-up"),
                tokens=len(new),
                finish="stop" if new[-1] in self._end_tokens else "length",
            )
            for request, prompt, new in zip(batch, prompts, texts, strict=True)
        ]

    def _step_by_step(
        self, batch: Sequence[Request], prompts: list[list[int]], decoding: Any, seed: int
    ) -> list[list[int]]:
        """Return the new tokens of each row, generated token by token; finished rows leave the batch."""
        import torch

        running = Rows(self._model, prompts)
        ends = torch.tensor(self._end_tokens, device=running.ids.device)
        logits, hidden = running.read(hidden=isinstance(decoding, ContrastiveDecoding))
        choose: Chooser | ContrastiveChooser
        if hidden is not None:
            choose = ContrastiveChooser(decoding, running, hidden)
        else:
            steps = decoding.max_new_tokens
            streams = [random_stream(seed, item.prompt_id, item.completion, steps) for item in batch]
            choose = Chooser(decoding, running.ids, running.mask, streams, logits.shape[-1])
        new: list[list[int]] = [[] for _ in batch]
        number = list(range(len(batch)))  # index of each row's request
        for step in range(decoding.max_new_tokens):
            if step < decoding.min_new_tokens:
                logits[:, ends] = -torch.inf
            chosen = choose(logits)
            tokens = chosen.tolist()
            for row, token in zip(number, tokens, strict=True):
                new[row].append(token)
            left = [i for i, token in enumerate(tokens) if token not in self._end_tokens]
            if not left or step + 1 == decoding.max_new_tokens:
                break
            if len(left) < len(tokens):
                number = [number[i] for i in left]
                kept = torch.tensor(left, device=chosen.device)
                choose.keep(kept)
                running.keep(kept)
                chosen = chosen[kept]
            logits = choose.logits if isinstance(choose, ContrastiveChooser) else running.append(chosen)
        return new

    def _beam(self, prompts: list[list[int]], decoding: BeamDecoding) -> list[list[int]]:
        """Return the new tokens of the best hypothesis of each row, found by transformers' beam search."""
        rows = Rows(self._model, prompts)
        padding = self._tokenizer.pad_token_id
        sequences = self._model.generate(
            input_ids=rows.ids,
            attention_mask=rows.mask,
            do_sample=False,
            num_beams=decoding.beams,
            max_new_tokens=decoding.max_new_tokens,
            min_new_tokens=decoding.min_new_tokens,
            eos_token_id=self._end_tokens,
            pad_token_id=padding,
        )
        return [self._up_to_the_end(new) for new in sequences[:, rows.ids.shape[1] :].tolist()]

    def _up_to_the_end(self, tokens: list[int]) -> list[int]:
        ends = [step for step, token in enumerate(tokens) if token in self._end_tokens]
        return tokens[: ends[0] + 1] if ends else tokens


def decode_after(tokenizer: Any, prompt: list[int], new: list[int], clean: bool) -> str:
    """Decode new tokens after their prompt; without it, some tokenizers drop the leading space.

    Args:
        tokenizer: Tokenizer of the model.
        prompt: Tokens of the prompt.
        new: The new tokens.
        clean: Whether to clean up the spaces of the text, which some tokenizers do not do if asked.
    """
    options = {"skip_special_tokens": True, "clean_up_tokenization_spaces": False}
    before: str = tokenizer.decode(prompt, **options)
    whole: str = tokenizer.decode(prompt + new, **options)
    text: str = whole[len(before) :] if whole.startswith(before) else tokenizer.decode(new, **options)
    return clean_up_spaces(text) if clean else text


def _out_of_memory(error: RuntimeError) -> bool:
    import torch

    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error)


def _free_memory() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
