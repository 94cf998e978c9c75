"""Log-likelihoods of tokens under a language model."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.errors import ModelError
from textgamut.models.devices import range_hint
from textgamut.progress import Progress

if TYPE_CHECKING:
    import torch

LOGITS_BYTES = 2**30
"""Maximum size of the logits of a batch of several texts; with a vocabulary of 262,144, those of one token
take 1 MiB in float32."""


class ScoringModel(NamedTuple):
    """A language model that scores texts."""

    network: Any
    """A language model of transformers, on any device."""
    tokenizer: Any
    batch_size: int
    """Maximum number of texts per batch."""
    facts: Mapping[str, Any] = {}
    """What is written to the metadata of its scores."""


def log_likelihoods(
    model: Any,
    heads: Sequence[Sequence[int]],
    scored: Sequence[Sequence[int]],
    batch_size: int,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the log-likelihoods of continuations, each after its head.

    The log-softmax is computed in float32 for any model dtype. Padding is on the right and ignored.

    Args:
        model: A language model of transformers, on any device.
        heads: N lists of at least one token, which are read before the continuation: by the encoder, if the
            model is an encoder-decoder.
        scored: N lists of tokens, the continuations.
        batch_size: Maximum number of texts per batch; fewer if their logits would exceed ``LOGITS_BYTES``.
        progress: Advances by the number of texts of each batch.

    Returns:
        (N,): sum of the natural log-probabilities of a continuation's tokens; 0 if it has none.

    Raises:
        TextgamutError: If a log-likelihood is not finite.
    """
    result = np.zeros(len(scored))
    with_tokens = [i for i, ids in enumerate(scored) if ids]
    order = sorted(with_tokens, key=lambda i: (-len(heads[i]) - len(scored[i]), i))
    vocabulary = model.config.get_text_config().vocab_size
    start = 0
    while start < len(order):
        longest = len(heads[order[start]]) + len(scored[order[start]])
        fitting = LOGITS_BYTES // (longest * vocabulary * model.dtype.itemsize)
        rows = order[start : start + max(1, min(batch_size, fitting))]
        result[rows] = _of_batch(model, [heads[i] for i in rows], [scored[i] for i in rows])
        start += len(rows)
        if progress:
            progress.advance(len(rows))
    bad = np.flatnonzero(~np.isfinite(result))
    if len(bad):
        raise ModelError(
            f"the log-likelihood of text {bad[0]} is not finite ({len(bad)} such texts): "
            f"{range_hint(model.dtype)}"
        )
    return result


def _of_batch(
    model: Any, heads: Sequence[Sequence[int]], scored: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """Return the log-likelihood of each continuation after its head, as one batch."""
    import torch

    encoder_decoder = model.config.is_encoder_decoder
    befores = [start_tokens(model)] * len(heads) if encoder_decoder else heads
    # Without the last token, after which nothing is predicted.
    inputs, mask = padded([[*head, *ids[:-1]] for head, ids in zip(befores, scored, strict=True)])
    first = min(len(head) for head in befores) - 1  # position of the first prediction that is scored
    options = {"input_ids": inputs, "attention_mask": mask}
    if encoder_decoder:
        read, read_mask = padded(heads)
        options = {"decoder_input_ids": inputs, "input_ids": read, "attention_mask": read_mask}
    keep = {}
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        keep["logits_to_keep"] = inputs.shape[1] - first
    else:
        first = 0
    sums = []
    with torch.inference_mode():
        on_device = {name: value.to(model.device) for name, value in options.items()}
        logits = model(**on_device, **keep, use_cache=False).logits
        for row, head, ids in zip(logits, befores, scored, strict=True):
            begin = len(head) - 1 - first
            predicted = row[begin : begin + len(ids)].float()  # per text, to limit the memory in float32
            losses = torch.nn.functional.cross_entropy(
                predicted, torch.tensor(ids, device=predicted.device), reduction="none"
            )
            sums.append(-losses.sum(dtype=torch.float64))
    log_likelihood: NDArray[np.float64] = torch.stack(sums).cpu().numpy()
    return log_likelihood


def padded(lists: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return lists of tokens as int64 (rows, width), padded on the right, and the mask: 0 for padding."""
    import torch

    rows = [torch.tensor(ids, dtype=torch.int64) for ids in lists]
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(rows, batch_first=True), pad([torch.ones_like(ids) for ids in rows], batch_first=True)


def start_tokens(model: Any) -> list[int]:
    """Return the tokens that every text of an encoder-decoder begins with; they are no part of the text.

    They are the token that starts the decoder and, for a model such as BART, the one that is forced on it.
    """
    own = model.generation_config
    start, forced = own.decoder_start_token_id, own.forced_bos_token_id
    return [start] if forced is None else [start, forced]
