"""Features of sets of texts that were embedded before, kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from textgamut.features import embed as embedding
from textgamut.features.embed import Features, LoadedEmbedder, load_embedder
from textgamut.files import write_bytes
from textgamut.models.devices import choose_device
from textgamut.progress import step
from textgamut.sources.cache import cache_folder

if TYPE_CHECKING:
    from textgamut.config.entries.embedders import Embedder

MOST_BYTES = 2 * 2**30
"""Largest size of all kept features; beyond, those that were not used for the longest time are removed."""


def cached_features(
    sets: Mapping[str, Sequence[str]], folder: Path, embedder: Embedder
) -> dict[str, Features]:
    """Embed sets of texts, or read their features from the cache.

    A set is kept as a whole, by its texts and their order, since the features of a text depend in their last
    digits on the batch that it is in.

    Args:
        sets: Name -> texts.
        folder: Folder of the checkpoint.
        embedder: How features are computed.

    Raises:
        DataError, ModelError: As ``features.embed.embed``.
    """
    facts = _facts(folder, embedder)
    loaded: LoadedEmbedder | None = None
    found = {}
    for name, texts in sets.items():
        key = hashlib.sha256(json.dumps([facts, list(texts)]).encode()).hexdigest()
        path = cache_folder() / "features" / f"{key}.npz"
        with step(f"embedding {name}"):
            if (kept := _read(path)) is None:
                loaded = loaded or load_embedder(folder, embedder, choose_device(), embedder.batch_size)
                kept = loaded.embed(texts)
                _keep(path, kept)
        found[name] = kept
    return found


def _facts(folder: Path, embedder: Embedder) -> list[object]:
    """Return all that features depend on besides the texts, to the last digit."""
    import torch
    import transformers

    device = choose_device()
    checkpoint: list[list[object]] = sorted(
        [str(file.relative_to(folder)), file.stat().st_size, file.stat().st_mtime_ns]
        for file in folder.rglob("*")
        if file.is_file()
    )
    machine = [
        torch.__version__,
        transformers.__version__,
        np.__version__,
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else torch.backends.cpu.get_cpu_capability(),
        torch.get_num_threads(),
    ]
    settings = embedder.model_dump(mode="json", exclude={"label"})
    return [embedding.REVISION, str(folder), checkpoint, machine, settings]


def _read(path: Path) -> Features | None:
    try:
        with np.load(path, allow_pickle=False) as stored:
            truncated, empty = (int(count) for count in stored["counts"])
            found = Features(stored["vectors"], truncated, empty, float(stored["unread"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # absent or damaged
        return None
    with contextlib.suppress(OSError):  # the cache of another user
        os.utime(path)  # used now
    return found


def _keep(path: Path, features: Features) -> None:
    content = io.BytesIO()
    counts = np.array([features.truncated, features.empty])
    np.savez(content, vectors=features.vectors, counts=counts, unread=features.unread)
    with contextlib.suppress(OSError):  # a full disk, or the cache of another user
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, content.getvalue())
        _remove_oldest(path.parent)


def _remove_oldest(folder: Path) -> None:
    left = MOST_BYTES
    for path in sorted(folder.glob("*.npz"), key=lambda path: -path.stat().st_mtime):
        left -= path.stat().st_size
        if left < 0:
            path.unlink()
