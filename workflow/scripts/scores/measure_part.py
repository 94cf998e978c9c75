"""Compute a part of the support metrics of a cell: reduced features, neighbours, or pairs of a block."""

from pathlib import Path
from typing import Any

import torch

from textgamut.features.reduce import reduce_features, same_size
from textgamut.files import read_array, read_arrays, write_arrays
from textgamut.metrics.support import Counts
from textgamut.metrics.support_parts import Neighbours, block_of, count_block, find_neighbours
from textgamut.models.devices import lease
from textgamut.run.script import run


def measure_part(
    settings: dict[str, Any], features: list[Path], parts: list[Path], part: Path, threads: int
) -> None:
    torch.set_num_threads(threads)
    if settings["stage"] == "reduced":
        reference, generated = map(read_array, features)
        if len(generated):
            reference, generated = reduce_features(*same_size(reference, generated))
        write_arrays(part, {"reference": reference, "generated": generated})
        return
    reduced = read_arrays(parts[0])
    reference, generated = reduced["reference"], reduced["generated"]
    if not len(generated):  # no texts could be held out
        write_arrays(part, {})
        return
    k, rows = settings["k"], block_of(len(generated), *settings["block"])
    found: Neighbours | Counts
    with lease(1, wait=False):
        if settings["stage"] == "neighbours":
            found = find_neighbours(reference, generated, k, rows)
        else:
            neighbours = [Neighbours(**read_arrays(path)) for path in parts[1:]]
            found = count_block(reference, generated, k, neighbours, rows)
    write_arrays(part, found._asdict())


if __name__ == "__main__":
    run(measure_part)
