"""Embed the texts of a cell or of a draw of references."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from textgamut.config.entries.embedders import FeatureModel
from textgamut.features.embed import LoadedEmbedder, compute_dtype, load_embedder
from textgamut.files import read_table, write_array
from textgamut.models.checkpoints import prepare
from textgamut.models.devices import device_name, lease
from textgamut.progress import recorded_warnings
from textgamut.run.script import run


class Loaded(NamedTuple):
    """An embedder, and the names of its device and dtype."""

    embedder: LoadedEmbedder
    facts: dict[str, Any]


@contextmanager
def load(settings: dict[str, Any], batch_size: int, threads: int) -> Iterator[Loaded]:
    import torch

    torch.set_num_threads(threads)
    entry = FeatureModel.model_validate(settings["embedder"])
    folder = prepare(entry.source)
    with lease(1) as device:
        dtype = str(compute_dtype(entry, device)).removeprefix("torch.")
        with recorded_warnings():
            loaded = load_embedder(folder, entry, device, batch_size)
        yield Loaded(loaded, {"device": device_name(device), "dtype": dtype})


def embed_texts(texts: Path, features: Path, loaded: Loaded) -> dict[str, Any]:
    frame = read_table(texts, ["text"])
    if not len(frame):  # no texts could be held out
        write_array(features, np.empty((0, 0), np.float32))
        return {"texts": 0}
    found = loaded.embedder.embed(list(frame["text"]))
    found.check_script(str(texts), features.stem)
    write_array(features, found.vectors)
    counts = {"texts": len(frame), "truncated": found.truncated, "empty": found.empty}
    return loaded.facts | {"batch_size": loaded.embedder.batch_size} | counts


if __name__ == "__main__":
    run(embed_texts, load)
