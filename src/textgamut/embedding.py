"""Texts -> feature vectors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from textgamut.generation.checkpoints import silence_transformers
from textgamut.jobs import Progress

if TYPE_CHECKING:
    import torch

    from textgamut.config import Embedder

logger = logging.getLogger(__name__)

REVISION = 1
"""Raised when the same texts give other features."""


class Features(NamedTuple):
    """Feature vectors of texts."""

    vectors: NDArray[np.float32]
    """(N, d)."""
    truncated: int
    """How many texts were longer than the embedder's maximum."""


def embed(texts: Sequence[str], folder: Path, embedder: Embedder, device: torch.device) -> Features:
    """Embed texts with an encoder: the mean of its last hidden states over the tokens, in float32.

    Texts are sorted by length, so that little is computed on padding; neither their order nor the batch
    size changes a vector by more than floating-point noise.

    Args:
        texts: N texts; an empty one has the vector of its special tokens.
        folder: The checkpoint.
        embedder: Its registry entry.
        device: Where to compute.

    Returns:
        The features, row i for text i.
    """
    silence_transformers()
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, dtype=torch.float32, use_safetensors=True).to(device).eval()
    encoded = [tokenizer(text)["input_ids"] for text in texts]
    truncated = sum(len(ids) > embedder.max_tokens for ids in encoded)
    if truncated:
        logger.warning("%d of %d texts were cut to %d tokens", truncated, len(texts), embedder.max_tokens)
    order = sorted(range(len(texts)), key=lambda i: (-len(encoded[i]), i))
    vectors = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
    progress = Progress(len(texts), "texts")
    for start in range(0, len(order), embedder.batch_size):
        rows = order[start : start + embedder.batch_size]
        inputs = tokenizer(
            [texts[i] for i in rows],
            padding=True,
            truncation=True,
            max_length=embedder.max_tokens,
            return_tensors="pt",
        ).to(device)
        with torch.inference_mode():
            states = model(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)
            mean = (states * mask).sum(dim=1) / mask.sum(dim=1)
        vectors[rows] = mean.cpu().numpy()
        progress.advance(len(rows))
    return Features(vectors, truncated)
