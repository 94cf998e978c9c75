"""Resources of the rules: memory, time, GPUs, batch sizes, sources. They never cause a rerun."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textgamut.catalogue.family import JUDGE, MODEL, TAGGER, Family
from textgamut.config.cells import Config
from textgamut.config.entries.models import Model
from textgamut.config.entries.sources import OpenAISource
from textgamut.config.task_kinds import HUMAN
from textgamut.workflow import inputs
from textgamut.workflow.checked_corpora import CHECKED
from textgamut.workflow.counts import computed_tokens, count_prompts
from textgamut.workflow.families import family_of, in_blocks, scores_again

MINUTES_WITHOUT_RATE = 180
PROMPTS_WITHOUT_COUNT = 5000
TEXTS_PER_PROCESS = 500
MOST_PROCESSES = 8
THREADS = 8  # of a job that loads a model
KILOBYTES_PER_TEXT = 20  # of a part of the support metrics
SMALL = 2.0  # gigabytes of a model that a machine has memory for twice


def gpus(count: Callable[[Any], int], form: str = "gpu") -> dict[str, Any]:
    """Return the resources that request GPUs, in the form that the cluster expects.

    Args:
        count: Function of the job's wildcards that returns the number of GPUs.
        form: ``gpu``, which also limits local runs; ``gres``; or e.g. ``gres:a100`` if Slurm requires the
            GPU type.

    Returns:
        The request, and as ``leased`` the number of GPUs that the job locks for itself.
    """
    name, _, kind = form.partition(":")
    if name == "gpu":
        return {"gpu": count, "leased": count}
    prefix = f"gpu:{kind}" if kind else "gpu"

    def request(wildcards: Any) -> str:
        number = count(wildcards)
        return f"{prefix}:{number}" if number else ""

    return {"gres": request, "leased": count}


def one_gpu(_wildcards: Any) -> int:
    """Return 1."""
    return 1


def generation_gpus(config: Config, wildcards: Any) -> int:
    """Return the GPUs of a generation job."""
    return config.models[wildcards.model].gpus


def generation_batch_size(config: Config, wildcards: Any) -> int:
    """Return the number of samples per batch of a generation job."""
    return config.models[wildcards.model].batch_size


def generation_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the memory of a generation job in MB (weights, Python, torch), multiplied by the attempt."""
    names = config.generators_of([wildcards])
    return attempt * int(3000 + 1200 * sum(config.models[name].gigabytes or 0 for name in names))


def generation_threads(config: Config, wildcards: Any, cores: Callable[[], int | None]) -> int:
    """Return the threads of a generation job, see :func:`_threads`."""
    return _threads(config.models[wildcards.model], cores())


def finetuning_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the memory of a fine-tuning job in MB: weights, gradients and AdamW's two moments in float32."""
    base = config.models[inputs.finetuning(config, wildcards).model]
    return attempt * int(3000 + 8 * 1200 * (base.gigabytes or 0))


def generation_minutes(config: Config, wildcards: Any) -> int:
    """Return the time limit of a generation job in minutes.

    It is 20 plus 1.5 times the estimate from the model's ``tokens_per_second``, or three hours if the rate is
    unknown. A retry has the same limit because it resumes from the journal.
    """
    model = config.models[wildcards.model]
    if not model.tokens_per_second:
        return MINUTES_WITHOUT_RATE
    decoding = config.decoding[wildcards.decoding]
    size = config.size(wildcards)
    prompts = size.n or count_prompts(config, wildcards.task, Path()) or PROMPTS_WITHOUT_COUNT
    most = model.most_new_tokens(decoding.max_new_tokens)
    tokens = prompts * size.completions * most * computed_tokens(decoding)
    return 20 + int(1.5 * tokens / model.shards / model.tokens_per_second / 60)


def model_source(config: Config, wildcards: Any) -> str:
    """Return the full source of a model as JSON, with key variable and prices, which affect no text."""
    return inputs.loaded_model(config, wildcards.model).source.model_dump_json()


def key_variable(config: Config, wildcards: Any) -> str:
    """Return the name of the environment variable with a served model's key; empty if there is none."""
    source = config.models[wildcards.model].source
    return (source.key_variable or "") if isinstance(source, OpenAISource) else ""


def checked_batch_size(config: Config, wildcards: Any) -> int:
    """Return the maximum number of texts per batch of the embedder of the sanity checks on a dataset."""
    return config.embedders[CHECKED[wildcards.dataset].embedder].batch_size


def embedding_batch_size(config: Config, wildcards: Any) -> int:
    """Return the number of texts per batch of an embedder."""
    return config.embedders[wildcards.embedder].batch_size


def embedding_group(wildcards: Any) -> str | None:
    """Return the group of an embedding job: its cell's group, or None for a draw, which all share."""
    top, task, model = wildcards.folder.split("/")[:3]
    return f"embed/{task}/{model}" if top == "results" else None


def embedding_priority(wildcards: Any) -> int:
    """Return the priority of an embedding job; a generation job has 10.

    Texts of people come before the generation, so that figures of them are made early; texts of models after
    it, when more of them share the embedder.
    """
    top, *cell = wildcards.folder.split("/")
    return 30 if top == "data" or cell[2] == HUMAN else 0


def perplexity_gpus(config: Config, wildcards: Any) -> int:
    """Return the GPUs of a perplexity job: 0 if the generation has recorded the log-likelihoods."""
    return config.models[wildcards.model].gpus if scores_again(config, wildcards) else 0


def perplexity_threads(config: Config, wildcards: Any) -> int:
    """Return the threads of a perplexity job."""
    return THREADS if scores_again(config, wildcards) else 1


def perplexity_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the memory of a perplexity job in MB."""
    if not scores_again(config, wildcards):
        return attempt * 1500
    return _scoring_memory(config, wildcards, config.models[wildcards.model], attempt)


def _threads(model: Model, cores: int | None) -> int:
    """Return the threads of a job that loads a model.

    With a small model, two jobs run at the same time, each on half of the cores: on two cores, each of the
    demo's models then generates 0.7 to 0.8 times as many tokens per second as alone.

    Args:
        model: The model.
        cores: Cores of a run on this machine; None for a cluster, where a job has its own.
    """
    if cores is None or model.gigabytes is None or model.gigabytes > SMALL:
        return THREADS
    return max(1, min(THREADS, cores // 2))


def _scoring_memory(config: Config, wildcards: Any, model: Model, attempt: int) -> int:
    """Return the memory in MB for the weights of a model that scores texts, Python and torch."""
    dtype = family_of(config, wildcards.task, "likelihood").dtype
    return attempt * int(3000 + 1200 * (2 if dtype == "float32" else 1) * (model.gigabytes or 0))


def part_memory(config: Config, wildcards: Any, attempt: int) -> int:
    """Return the memory in MB of a part of the support metrics, or of their sum, times the attempt."""
    size, metrics = config.size(wildcards), family_of(config, wildcards.task, "support")
    texts = size.n or count_prompts(config, wildcards.task, Path()) or PROMPTS_WITHOUT_COUNT
    return attempt * int(2000 + (texts * KILOBYTES_PER_TEXT / 1000 if metrics.blocks else 0))


# --- of the rules that score families -----------------------------------------------------------------------


def family_priority(family: Family) -> int:
    """Return the priority of the scores of a family: figures of human texts come before the generation."""
    return 30 if family.of_draws else 0


def family_group(family: Family) -> str | None:
    """Return the group of the scores of a family; None for a judge's, which wait for a server."""
    if JUDGE in family.reads:
        return None
    return "likelihood/{task}/{model}" if MODEL in family.reads else "score/{task}/{model}"


def family_environment(family: Family) -> str:
    """Return the environment of conda for a family, relative to the rules."""
    return f"../../envs/{'cuda' if family.on_gpu or MODEL in family.reads else 'cpu'}.yaml"


def family_threads(config: Config, family: Family, cores: Callable[[], int | None]) -> Any:
    """Return the threads of the scores of a family, or the function that returns them."""
    if MODEL in family.reads:
        return lambda wildcards: _threads(_named(config, wildcards, family), cores())
    return partial(tagging_processes, config) if TAGGER in family.reads else 1


def family_resources(
    config: Config, family: Family, request: Callable[[Callable[[Any], int]], dict[str, Any]]
) -> dict[str, Any]:
    """Return the resources of the scores of a family: name -> value, or a function that returns it.

    Args:
        config: The configuration.
        family: The family.
        request: Returns the resources that request GPUs, see :func:`gpus`.
    """
    if TAGGER in family.reads:
        return {"mem_mb": lambda wildcards, threads: 1000 + 500 * threads}
    if family.name == "support" and in_blocks(config):
        return {"mem_mb": partial(part_memory, config)}
    if {MODEL, JUDGE}.isdisjoint(family.reads):
        return {}
    found = {"batch_size": lambda wildcards: _named(config, wildcards, family).batch_size}
    if JUDGE in family.reads:
        # With the key variable and prices, which affect no score.
        return found | {
            "source": lambda wildcards: _named(config, wildcards, family).source.model_dump_json()
        }
    memory = {
        "mem_mb": lambda wildcards, attempt: _scoring_memory(
            config, wildcards, _named(config, wildcards, family), attempt
        )
    }
    return request(lambda wildcards: _named(config, wildcards, family).gpus) | found | memory


def _named(config: Config, wildcards: Any, family: Family) -> Model:
    """Return the model that a task's settings of a family name."""
    names = [name for _, _, name in family_of(config, wildcards.task, family.name).named()]
    return config.models[names[0]]


def tagging_processes(config: Config, wildcards: Any) -> int:
    """Return the number of processes that tag the entities of a cell.

    With few texts, loading the tagger dominates, and running several cells in parallel is faster.
    """
    size = config.size(wildcards)
    prompts = size.n or count_prompts(config, wildcards.task, Path()) or 0
    return min(MOST_PROCESSES, 1 + prompts * size.kept // TEXTS_PER_PROCESS)
