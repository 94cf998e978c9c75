"""Resources of rules: memory, time, GPUs, batch sizes, courtesy. They never cause a rerun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textgamut.config.cells import Config
from textgamut.config.entries.sources import OpenAISource
from textgamut.workflow import inputs
from textgamut.workflow.families import family_of
from textgamut.workflow.plan import computed_tokens, count_prompts

MINUTES_WITHOUT_RATE = 180
PROMPTS_WITHOUT_COUNT = 5000
TEXTS_PER_PROCESS = 500
MOST_PROCESSES = 8


def gpus(count: Callable[[Any], int], form: str = "gpu") -> dict[str, Any]:
    """Return the resources that request GPUs, in the form that a cluster wants.

    Args:
        count: Job's wildcards -> number of GPUs.
        form: ``gpu``, which a local run counts as well; ``gres``; or ``gres:a100`` if Slurm wants the type.

    Returns:
        The request, and as ``lease`` the number of GPUs that the job itself takes.
    """
    name, _, kind = form.partition(":")
    if name == "gpu":
        return {"gpu": count, "lease": count}
    prefix = f"gpu:{kind}" if kind else "gpu"

    def request(wildcards: Any) -> str:
        number = count(wildcards)
        return f"{prefix}:{number}" if number else ""

    return {"gres": request, "lease": count}


def one_gpu(_wildcards: Any) -> int:
    """Return 1."""
    return 1


def generation_gpus(config: Config, wildcards: Any) -> int:
    """Return the GPUs of a generation job."""
    return config.models[wildcards.model].gpus


def generation_batch_size(config: Config, wildcards: Any) -> int:
    """Return how many samples a generation job computes at a time."""
    return config.models[wildcards.model].batch_size


def generation_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the MB of a generation job: the weights once, Python, torch; more at the next attempt."""
    return attempt * int(3000 + 1200 * (config.models[wildcards.model].gigabytes or 0))


def generation_minutes(config: Config, wildcards: Any) -> int:
    """Return a generation job's time limit in minutes: 1.5 times what the stated rate says, plus 20.

    The next attempt has the same limit, since it resumes from the journal. Without a rate: three hours.
    """
    model = config.models[wildcards.model]
    if not model.tokens_per_second:
        return MINUTES_WITHOUT_RATE
    decoding = config.decoding[wildcards.decoding]
    samples = count_prompts(config, wildcards.task, Path()) or PROMPTS_WITHOUT_COUNT
    samples *= config.experiment.tasks[wildcards.task].completions
    tokens = samples * decoding.max_new_tokens * computed_tokens(decoding)
    return 20 + int(1.5 * tokens / model.shards / model.tokens_per_second / 60)


def model_source(config: Config, wildcards: Any) -> str:
    """Return the source of a model as JSON, with the key's variable and prices, which change no text."""
    return config.models[wildcards.model].source.model_dump_json()


def judge_source(config: Config, wildcards: Any) -> str:
    """Return the source of the model that judges as JSON."""
    return inputs.judge(config, wildcards).source.model_dump_json()


def judge_batch_size(config: Config, wildcards: Any) -> int:
    """Return how many questions a judge is asked at a time."""
    return inputs.judge(config, wildcards).batch_size


def key_variable(config: Config, wildcards: Any) -> str:
    """Return the environment variable that holds a served model's key; empty if there is none."""
    source = config.models[wildcards.model].source
    return (source.key_variable or "") if isinstance(source, OpenAISource) else ""


def embedding_batch_size(config: Config, wildcards: Any) -> int:
    """Return how many texts an embedder takes at a time."""
    return config.embedders[wildcards.embedder].batch_size


def embedding_group(wildcards: Any) -> str | None:
    """Return the group of an embedding: a cell's goes with its texts; a draw's, which all need, has none."""
    top, task, model = wildcards.folder.split("/")[:3]
    return f"embed/{task}/{model}" if top == "results" else None


def likelihood_gpus(config: Config, wildcards: Any) -> int:
    """Return the GPUs of a likelihood job: those of its larger model."""
    return max(config.models[model].gpus for model in inputs.likelihood_models(config, wildcards))


def likelihood_batch_size(config: Config, wildcards: Any) -> int:
    """Return how many texts a likelihood job scores at a time: the smaller batch size of its models."""
    return min(config.models[model].batch_size for model in inputs.likelihood_models(config, wildcards))


def likelihood_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the MB of a likelihood job: the weights of the larger model, Python, torch."""
    dtype = family_of(config, wildcards.task, "likelihood").dtype
    times_16_bits = 2 if dtype == "float32" else 1
    sizes = [config.models[name].gigabytes or 0 for name in inputs.likelihood_models(config, wildcards)]
    return attempt * int(3000 + 1200 * times_16_bits * max(sizes))


def tagging_processes(config: Config, wildcards: Any) -> int:
    """Return how many processes look for a cell's entities.

    With few texts, loading the tagger takes most of a job's time: two cells side by side then get more done.
    """
    prompts = count_prompts(config, wildcards.task, Path()) or 0
    texts = prompts * config.experiment.tasks[wildcards.task].kept
    return min(MOST_PROCESSES, 1 + texts // TEXTS_PER_PROCESS)


def tagging_memory(_wildcards: Any, threads: int) -> int:
    """Return the MB of a tagging job."""
    return 1000 + 500 * threads
