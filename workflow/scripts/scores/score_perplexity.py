"""Compute the perplexity of a cell under the model that generated it."""

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import parse_source
from textgamut.files import read_table, write_meta, write_scores
from textgamut.generation.shard import render_prompts
from textgamut.metrics.scores.likelihood import cell_perplexity_scores
from textgamut.models.adapters import prepare_adapter
from textgamut.models.checkpoints import load_generator, load_tokenizer, prepare
from textgamut.models.devices import choose_dtype, device_name, lease
from textgamut.progress import recorded_warnings
from textgamut.tasks.chat_formats import encode_prompt
from textgamut.tasks.seeds import of_seed
from textgamut.tasks.templates import Prompt, prompts_of
from textgamut.workflow.companions import run
from textgamut.workflow.jobs import Snakemake, cell_of


class Generator:
    """A model, which is loaded if a text has to be scored."""

    def __init__(self, entry: Model, dtype: torch.dtype, device: torch.device) -> None:
        self.entry, self._dtype, self._device = entry, dtype, device
        self.facts = {"device": device_name(device), "dtype": str(dtype)}
        source = parse_source(entry.source.model_dump(mode="json"))
        folder = functools.cache(lambda: prepare(source))
        self.tokenizer = functools.cache(lambda: load_tokenizer(folder(), entry.bos))
        self.network = functools.cache(
            lambda: load_generator(
                folder(), dtype, device, spread=entry.gpus > 1, adapter=prepare_adapter(entry.adapter)
            )
        )


@contextmanager
def load(job: Snakemake) -> Iterator[Generator]:
    torch.set_num_threads(job.threads)
    names = dict.fromkeys(("label", "family"), job.wildcards.model)
    with lease(job.resources.lease) as device:
        entry = Model.model_validate(job.params.settings["generator"] | names | {"gpus": job.resources.lease})
        yield Generator(entry, choose_dtype(job.params.settings["dtype"], device), device)


def score_perplexity(job: Snakemake, generator: Generator) -> None:
    started = time.monotonic()
    cell, batch_size = cell_of(job.wildcards), job.resources.batch_size
    columns = ["id", "prompt_id", "text", "log_likelihood", "scored_tokens"]
    texts = read_table(Path(job.input.texts), columns)
    prompts = of_seed(read_table(Path(job.input.prompts[0]), ["id", *Prompt._fields]), cell["seed"])

    def loaded() -> tuple[Any, Any, dict[str, list[int]]]:
        tokenizer = generator.tokenizer()
        rendered = render_prompts(prompts_of(prompts), generator.entry)
        heads = {id_: encode_prompt(id_, text, by_chat, tokenizer) for id_, text, by_chat in rendered}
        return generator.network(), tokenizer, heads

    with recorded_warnings() as messages:
        rows, values, counts = cell_perplexity_scores(texts, prompts, loaded, batch_size)
    scores = Path(job.output.scores)
    facts = generator.facts | counts | {"batch_size": batch_size}
    write_meta(scores, job.params.settings, started, **facts, warnings=messages)
    write_scores(scores, cell, rows, texts["id"], values)


if __name__ == "__main__":
    run(load, score_perplexity)
