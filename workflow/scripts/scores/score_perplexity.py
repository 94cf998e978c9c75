"""Compute the perplexity of a cell under the model that generated it."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from textgamut.config.entries.models import TextModel
from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_scores
from textgamut.generation.shard import render_prompts
from textgamut.metrics.likelihood_scores import cell_perplexity_scores
from textgamut.models.adapters import prepare_adapter
from textgamut.models.checkpoints import load_generator, load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.run.script import run
from textgamut.tasks.chat_formats import encode_prompt
from textgamut.tasks.seeds import of_seed
from textgamut.tasks.templates import Prompt, prompts_of


class Generator:
    """A model, which is loaded if a text has to be scored."""

    def __init__(self, entry: TextModel, dtype: torch.dtype, device: torch.device, gpus: int) -> None:
        self.entry, self._dtype, self._device = entry, dtype, device
        self.facts = {"device": device_name(device), "dtype": str(dtype)}
        source = parse_source(entry.source.model_dump(mode="json"))
        folder = functools.cache(lambda: prepare(source))
        self.tokenizer = functools.cache(lambda: load_tokenizer(folder(), entry.bos))
        self.network = functools.cache(
            lambda: load_generator(
                folder(), dtype, device, spread=gpus > 1, adapter=prepare_adapter(entry.adapter)
            )
        )


@contextmanager
def load(settings: dict[str, Any], leased: int, threads: int) -> Iterator[Generator]:
    torch.set_num_threads(threads)
    with lease(leased) as device:
        entry = TextModel.model_validate(settings["generator"])
        yield Generator(entry, choose_dtype(settings["dtype"], device), device, leased)


def score_perplexity(
    cell: dict[str, Any],
    texts: Path,
    prompts: list[Path],
    scores: Path,
    batch_size: int,
    loaded: Generator,
) -> dict[str, Any]:
    columns = ["id", "prompt_id", "text", "log_likelihood", "scored_tokens"]
    frame = read_table(texts, columns)
    of_cell = of_seed(read_table(prompts[0], ["id", *Prompt._fields]), cell["seed"])

    def ready() -> tuple[Any, Any, dict[str, list[int]]]:
        tokenizer = loaded.tokenizer()
        rendered = render_prompts(prompts_of(of_cell), loaded.entry)
        heads = {id_: encode_prompt(id_, text, by_chat, tokenizer) for id_, text, by_chat in rendered}
        return loaded.network(), tokenizer, heads

    found = cell_perplexity_scores(frame, of_cell, ready, batch_size)
    write_scores(scores, cell, found.rows, frame["id"], found.columns)
    return {**loaded.facts, **found.facts, "batch_size": batch_size}


if __name__ == "__main__":
    run(score_perplexity, load)
