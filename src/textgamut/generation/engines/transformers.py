"""Generation with transformers, in batches of similar length; finished rows are removed."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from textgamut.config.entries.decoding import (
    AdaptiveContrastiveSearchDecoding,
    BeamDecoding,
    ContrastiveDecoding,
    ContrastiveSearchDecoding,
    Decoding,
    GuardDecoding,
    unsupported,
)
from textgamut.config.entries.models import Reasoning
from textgamut.errors import ConfigError, ModelError
from textgamut.generation.amateur import AmateurContrast, check_fit
from textgamut.generation.batch_rows import Rows, open_rows
from textgamut.generation.contrastive import ContrastiveChooser
from textgamut.generation.guard import GuardChooser
from textgamut.generation.penalties import breakers_of, forbid_repeats
from textgamut.generation.requests import Request, Sample, encode, ordered
from textgamut.generation.sampling import Chooser, random_stream
from textgamut.generation.thoughts import UNCLOSED, Limits
from textgamut.models.log_likelihood import log_likelihoods
from textgamut.text import clean_up_spaces

logger = logging.getLogger(__name__)


class TransformersEngine:
    """A language model of transformers, causal or an encoder-decoder, on one or more GPUs or on the CPU."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        batch_size: int,
        reasoning: Reasoning | None = None,
        amateur: Any = None,
    ) -> None:
        """Wrap a loaded model.

        Args:
            model: A model from ``checkpoints.load_generator``.
            tokenizer: Its tokenizer, with padding on the left.
            batch_size: Maximum number of samples per batch (of hypotheses in beam search). It is halved when
                the engine runs out of memory.
            reasoning: For a model that thinks before it answers.
            amateur: A smaller model with the same tokenizer, for contrastive decoding.
        """
        self._amateur = amateur
        self._model, self._tokenizer, self._reasoning = model, tokenizer, reasoning
        self.batch_size = batch_size
        named = model.generation_config.eos_token_id
        # A checkpoint may define several tokens that end a text, and the tokenizer a different one.
        tokens = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])}
        self._end_tokens = sorted(token for token in tokens if token is not None)

    @property
    def identity(self) -> str:
        """See ``Engine.identity``: the dtype, which may depend on the hardware."""
        return f"transformers, {self._model.dtype}"

    @property
    def facts(self) -> dict[str, Any]:
        """Return no metadata: the caller knows device and dtype."""
        return {}

    def generate(self, requests: Sequence[Request], decoding: Decoding, seed: int) -> Iterator[list[Sample]]:
        """See ``Engine.generate``. When out of memory, halve the batch size for all following batches.

        Batches depend only on the remaining requests and the batch size, so a restart forms the same.
        """
        if reason := unsupported("transformers", decoding, self._reasoning is not None):
            raise ConfigError(reason)
        prompts = [encode(request, self._tokenizer) for request in requests]
        if isinstance(decoding, ContrastiveDecoding):
            check_fit(self._amateur, prompts, self._end_tokens, decoding.max_new_tokens)
        of_request = dict(zip(requests, prompts, strict=True))
        left = ordered(requests, [len(prompt) for prompt in prompts])
        while left:
            rows = self.batch_size
            if isinstance(decoding, BeamDecoding | ContrastiveDecoding):
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

        begins: list[int | None] = [0] * len(batch)
        with torch.inference_mode():
            if isinstance(decoding, BeamDecoding | ContrastiveDecoding):
                texts, sums = self._beam(prompts, decoding)
            else:
                texts, sums, begins = self._step_by_step(batch, prompts, decoding, seed)
        if self._model.config.is_encoder_decoder:  # a text of its own, which does not continue the prompt
            prompts = [[] for _ in prompts]
        clean = decoding.spaces == "cleaned-up"
        return [
            Sample(
                prompt_id=request.prompt_id,
                completion=request.completion,
                continuation=decode_sample(self._tokenizer, prompt, new, begin, self._reasoning, clean),
                tokens=len(new),
                finish=self._finish(new, begin),
                log_likelihood=log_likelihood,
                scored_tokens=0 if begin is None else len(self._without_end(new)) - begin,
            )
            for request, prompt, new, log_likelihood, begin in zip(
                batch, prompts, texts, sums, begins, strict=True
            )
        ]

    def _step_by_step(
        self, batch: Sequence[Request], prompts: list[list[int]], decoding: Any, seed: int
    ) -> tuple[list[list[int]], list[float], list[int | None]]:
        """Generate the rows; finished ones leave the batch.

        Returns:
            The new tokens of each row, their log-likelihood, and the index of the first token of the answer,
            None if the thought is not closed.
        """
        import torch

        limits = Limits(decoding, self._reasoning, self._tokenizer)
        running = open_rows(self._model, prompts)
        ends = torch.tensor(self._end_tokens, device=running.ids.device)
        searched = ContrastiveSearchDecoding | AdaptiveContrastiveSearchDecoding
        logits, hidden = running.read(hidden=isinstance(decoding, searched))
        choose: Chooser | ContrastiveChooser | GuardChooser
        if isinstance(running, Rows) and hidden is not None:
            choose = ContrastiveChooser(decoding, running, hidden)
        else:
            streams = [random_stream(seed, item.prompt_id, item.completion, limits.most) for item in batch]
            begun = decoding, running.ids, running.mask, streams, logits.shape[-1]
            if isinstance(decoding, GuardDecoding):
                choose = GuardChooser(*begun)
            else:
                dry = decoding.dry_multiplier > 0
                choose = Chooser(*begun, breakers_of(self._tokenizer, logits.shape[-1]) if dry else None)
        new: list[list[int]] = [[] for _ in batch]
        sums = [0.0] * len(batch)
        begins: list[int | None] = [None if self._reasoning else 0] * len(batch)
        number = list(range(len(batch)))  # index of each row's request
        while True:
            normaliser = logits.logsumexp(dim=-1)
            short = [
                i
                for i, row in enumerate(number)
                if (begin := begins[row]) is not None and len(new[row]) - begin < limits.minimum
            ]
            if short:
                logits[torch.tensor(short, device=ends.device)[:, None], ends] = -torch.inf
            chosen = choose(logits)
            tokens = chosen.tolist()
            gained = (logits.gather(1, chosen[:, None]).squeeze(1) - normaliser).tolist()
            for row, token, log_probability in zip(number, tokens, gained, strict=True):
                new[row].append(token)
                if begins[row] is not None and token not in self._end_tokens:
                    sums[row] += log_probability
            left = []
            for i, (row, token) in enumerate(zip(number, tokens, strict=True)):
                if token in self._end_tokens:
                    continue
                if begins[row] is None and limits.closed(new[row]):
                    begins[row] = len(new[row])
                elif limits.reached(new[row], begins[row]):
                    continue
                left.append(i)
            if not left:
                break
            if len(left) < len(tokens):
                number = [number[i] for i in left]
                kept = torch.tensor(left, device=chosen.device)
                choose.keep(kept)
                running.keep(kept)
                chosen = chosen[kept]
            logits = choose.logits if isinstance(choose, ContrastiveChooser) else running.append(chosen)
        return new, sums, begins

    def _beam(
        self, prompts: list[list[int]], decoding: BeamDecoding | ContrastiveDecoding
    ) -> tuple[list[list[int]], list[float]]:
        """Return the tokens and the log-likelihood of each row's best hypothesis by transformers' search."""
        from transformers import LogitsProcessorList

        rows = open_rows(self._model, prompts)
        padding = self._tokenizer.pad_token_id
        processors = LogitsProcessorList()
        if isinstance(decoding, ContrastiveDecoding):
            processors.append(AmateurContrast(decoding, self._amateur, prompts))
        elif n := decoding.no_repeat_ngram:
            # The processor of transformers counts the padding, so that a text would depend on the others.
            starts = rows.mask.argmax(dim=1).repeat_interleave(decoding.beams)
            processors.append(lambda ids, scores: forbid_repeats(scores, ids, starts, n))
        sequences = self._model.generate(
            **rows.inputs,
            **(rows.read_for(decoding.beams) if isinstance(rows, Rows) else {}),
            do_sample=False,
            num_beams=decoding.beams,
            max_new_tokens=decoding.max_new_tokens + rows.forced,
            min_new_tokens=decoding.min_new_tokens + rows.forced,
            logits_processor=processors,
            eos_token_id=self._end_tokens,
            pad_token_id=padding,
        )
        texts = [self._up_to_the_end(new) for new in sequences[:, rows.ids.shape[1] :].tolist()]
        # One more forward pass: keeping the logits of all hypotheses would take steps x beams as much memory.
        sums = log_likelihoods(self._model, prompts, list(map(self._without_end, texts)), len(prompts))
        return texts, sums.tolist()

    def _finish(self, new: list[int], begin: int | None) -> str:
        if begin is None:
            return UNCLOSED
        return "stop" if new[-1] in self._end_tokens else "length"

    def _up_to_the_end(self, tokens: list[int]) -> list[int]:
        ends = [step for step, token in enumerate(tokens) if token in self._end_tokens]
        return tokens[: ends[0] + 1] if ends else tokens

    def _without_end(self, tokens: list[int]) -> list[int]:
        return tokens[:-1] if tokens[-1] in self._end_tokens else tokens


def decode_sample(
    tokenizer: Any,
    prompt: list[int],
    new: list[int],
    begin: int | None,
    reasoning: Reasoning | None,
    clean: bool,
) -> str:
    """Decode the new tokens of a sample, with the mark that closes its thought even if it is a special token.

    Args:
        tokenizer: Tokenizer of the model.
        prompt: Tokens of the prompt.
        new: The new tokens.
        begin: Index of the answer's first token; None if the thought is not closed.
        reasoning: None for a model that does not think.
        clean: See ``decode_after``.
    """
    if reasoning is None or begin is None:
        return decode_after(tokenizer, prompt, new, clean)
    thought = decode_after(tokenizer, prompt, new[:begin], clean)
    if reasoning.strip not in thought:
        thought += reasoning.strip
    return thought + decode_after(tokenizer, prompt + new[:begin], new[begin:], clean)


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
    """Return whether memory ran out: that of torch's allocators, or of a library of the GPU beside them."""
    import torch

    said = ("can't allocate memory", "error: out of memory", "BLAS_STATUS_ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in said)


def _free_memory() -> None:
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
