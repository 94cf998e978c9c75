"""Embed the texts of a cell or of a draw of references."""

import time
from pathlib import Path
from typing import Any

from textgamut.config.entries.embedders import Embedder
from textgamut.features.embed import compute_dtype, embed
from textgamut.files import read_table, write_array, write_meta
from textgamut.models.checkpoints import prepare
from textgamut.models.devices import device_name, lease
from textgamut.workflow.jobs import job


def embed_texts(settings: dict[str, Any], batch_size: int, threads: int, texts: Path, features: Path) -> None:
    started = time.monotonic()
    import torch

    torch.set_num_threads(threads)
    embedder = Embedder.model_validate(
        settings["embedder"] | {"label": features.stem, "batch_size": batch_size}
    )
    frame = read_table(texts, ["text"])
    folder = prepare(embedder.source)
    with lease(1) as device:
        vectors, truncated, empty = embed(list(frame["text"]), folder, embedder, device)
    write_meta(
        features,
        settings,
        started,
        device=device_name(device),
        dtype=str(compute_dtype(embedder, device)).removeprefix("torch."),
        batch_size=batch_size,
        texts=len(frame),
        truncated=truncated,
        empty=empty,
    )
    write_array(features, vectors)


if __name__ == "__main__":
    with job() as snakemake:
        embed_texts(
            snakemake.params.settings,
            snakemake.resources.batch_size,
            snakemake.threads,
            Path(snakemake.input.texts),
            Path(snakemake.output.features),
        )
