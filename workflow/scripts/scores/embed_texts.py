"""Embed the texts of a cell or of a draw of references."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from textgamut.config.entries.embedders import Embedder
from textgamut.features.embed import LoadedEmbedder, compute_dtype, load_embedder
from textgamut.files import read_table, write_array, write_meta
from textgamut.models.checkpoints import prepare
from textgamut.models.devices import device_name, lease
from textgamut.progress import recorded_warnings
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake


class Loaded(NamedTuple):
    """An embedder, and the names of its device and dtype."""

    embedder: LoadedEmbedder
    device: str
    dtype: str


@contextmanager
def load(job: Snakemake) -> Iterator[Loaded]:
    import torch

    torch.set_num_threads(job.threads)
    embedder = Embedder.model_validate(
        job.params.settings["embedder"]
        | {"label": job.wildcards.embedder, "batch_size": job.resources.batch_size}
    )
    folder = prepare(embedder.source)
    with lease(1) as device:
        dtype = str(compute_dtype(embedder, device)).removeprefix("torch.")
        with recorded_warnings():
            loaded = load_embedder(folder, embedder, device)
        yield Loaded(loaded, device_name(device), dtype)


def embed_texts(job: Snakemake, loaded: Loaded) -> None:
    started = time.monotonic()
    features = Path(job.output.features)
    frame = read_table(Path(job.input.texts), ["text"])
    vectors, truncated, empty = loaded.embedder.embed(list(frame["text"]))
    write_meta(
        features,
        job.params.settings,
        started,
        device=loaded.device,
        dtype=loaded.dtype,
        batch_size=loaded.embedder.batch_size,
        texts=len(frame),
        truncated=truncated,
        empty=empty,
    )
    write_array(features, vectors)


if __name__ == "__main__":
    run(load, embed_texts)
