"""Fine-tune a language model, causal or an encoder-decoder, on prompts and texts."""

from __future__ import annotations

import json
import logging
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from textgamut.config.entries.sources import Training
from textgamut.errors import ModelError
from textgamut.models.checkpoints import begins_with_bos, load_tokenizer, load_weights
from textgamut.models.devices import range_hint
from textgamut.models.log_likelihood import padded
from textgamut.progress import Progress

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

REVISION = 1
"""Increase when the same texts and settings produce different weights."""

IGNORED = -100
"""Label of a token that is not predicted."""


class Example(NamedTuple):
    """A text to learn from, as tokens."""

    prompt: list[int]
    text: list[int]
    """With the token that ends it, unless it was cut."""


def finetune(
    base: Path,
    examples: Sequence[Example],
    settings: Training,
    dtype: torch.dtype,
    device: torch.device,
    folder: Path,
    unfinished: Path,
) -> list[float]:
    """Fine-tune a checkpoint with the ``Trainer`` of transformers, and write the result.

    The weights are in float32, and ``dtype`` is for the operations (mixed precision). After each epoch
    the state is saved; a later call with the same arguments goes on from there. On a CPU it ends with the
    weights of an uninterrupted one, to the bit, if both have the same number of threads. Several GPUs share
    each step, in one process.

    Args:
        base: The checkpoint to fine-tune.
        examples: The texts. Only the tokens of the text are predicted, not the prompt.
        settings: Epochs, seed, learning rate and batch size.
        dtype: ``torch.bfloat16``, ``torch.float16`` or ``torch.float32``. A CPU has no float16: float32.
        device: The CPU, or ``cuda`` for all GPUs of this process.
        folder: Folder of the result: safetensors in float32, configuration, tokenizer.
        unfinished: Folder of the saved states, for the caller to delete. It is used for one set of arguments.

    Returns:
        The mean loss of each epoch, in nats per token.

    Raises:
        TextgamutError: If the checkpoint cannot be read, the memory is too small, or a loss is not finite.
    """
    import torch
    from transformers import PrinterCallback, Trainer, TrainingArguments

    model, tokenizer = load_weights(base, torch.float32), load_tokenizer(base)
    encoder_decoder = model.config.is_encoder_decoder
    if encoder_decoder and all(begins_with_bos(example.text, tokenizer) for example in examples):
        model.generation_config.forced_bos_token_id = tokenizer.bos_token_id
    on_gpu = device.type == "cuda"
    arguments = TrainingArguments(
        output_dir=str(unfinished),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size // max(torch.cuda.device_count() if on_gpu else 1, 1),
        learning_rate=settings.learning_rate,
        seed=settings.seed,
        save_strategy="epoch",
        save_total_limit=1,
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to=[],
        remove_unused_columns=False,
        use_cpu=not on_gpu,
        dataloader_pin_memory=on_gpu,
        bf16=dtype == torch.bfloat16,
        fp16=dtype == torch.float16 and on_gpu,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=list(examples),
        data_collator=_read_apart if encoder_decoder else _read_together,
        callbacks=[_log()],
    )
    trainer.remove_callback(PrinterCallback)
    try:
        # The Trainer pickles its state (torch.save), but reads it with weights_only=True, which runs no code.
        trainer.train(resume_from_checkpoint=_last_state(unfinished))
    except torch.OutOfMemoryError as error:
        raise ModelError(
            "out of memory: lower source.batch_size or source.max_tokens, or use more GPUs (gpus)"
        ) from error
    losses = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
    if not all(map(math.isfinite, losses)):
        raise ModelError(f"the loss is not finite: lower source.learning_rate, or {range_hint(dtype)}")
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder, max_shard_size="1TB")  # in one file, whose path is known
    tokenizer.save_pretrained(folder)
    return losses


def _last_state(unfinished: Path) -> str | None:
    """Return the last saved state, and delete those that were being written when a process died."""
    complete = {}
    for path in unfinished.glob("checkpoint-*"):
        try:
            state = json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))  # written last
            complete[state["global_step"]] = str(path)
        except (OSError, ValueError, KeyError):
            shutil.rmtree(path)
    if not complete:
        return None
    logger.info("resuming after step %d", max(complete))
    return complete[max(complete)]


def _read_apart(examples: Sequence[Example]) -> Mapping[str, torch.Tensor]:
    """Return a batch of an encoder-decoder; the model shifts the labels to get the decoder's input."""
    prompts, mask = padded([example.prompt for example in examples])
    return {"input_ids": prompts, "attention_mask": mask, "labels": _labels([e.text for e in examples])}


def _read_together(examples: Sequence[Example]) -> Mapping[str, torch.Tensor]:
    """Return a batch of a causal language model."""
    ids, mask = padded([example.prompt + example.text for example in examples])
    labels = _labels([[IGNORED] * len(example.prompt) + example.text for example in examples])
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def _labels(texts: Sequence[Sequence[int]]) -> torch.Tensor:
    labels, mask = padded(texts)
    return labels.masked_fill(mask == 0, IGNORED)


def _log() -> Any:
    """Return a callback that logs the progress and the loss of each epoch."""
    from transformers import TrainerCallback

    class Log(TrainerCallback):  # type: ignore[misc]
        progress: Progress

        def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
            self.progress = Progress(state.max_steps, "steps", done=state.global_step)

        def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
            self.progress.advance(1)

        def on_log(self, _args: Any, state: Any, _control: Any, logs: Mapping[str, float], **_: Any) -> None:
            if "loss" in logs:
                logger.info("epoch %d: loss %.3f", round(state.epoch), float(logs["loss"]))

    return Log()
