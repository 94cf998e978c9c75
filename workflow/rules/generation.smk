"""Generation: needs prompts and a checkpoint; makes the texts of a cell. Where the GPU hours go.

A cell is split into shards, as the model's entry says. A job that has loaded its model goes on with the other
cells of that model, whose own jobs then find their work done: with those of its group, where jobs are grouped,
else with all that the run is to make; where targets are named, with none.
"""

# For the script, outside of what causes reruns.
config["together"] = {
    "models": {name: entry("models", name) for name in CONFIG.models},
    "decoding": {name: entry("decoding", name) for name in CONFIG.decoding},
}


rule generate_texts:
    """Prompts -> what the model writes after them. Killed, it resumes from its journal."""
    input:
        prompts="data/{task}/prompts.parquet",
        card="data/models/{model}.json",
        lengths=lambda wildcards: checked_prompts(wildcards),
    output:
        samples="results/{task}/{model}/{decoding}/seed{seed}/shards/{shard}-of-{shards}.parquet",
    log:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}/{shard}-of-{shards}.log",
    benchmark:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}/{shard}-of-{shards}.tsv"
    group:
        "generate/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: 8
    resources:
        **gpus(lambda wildcards: CONFIG.models[wildcards.model].gpus),
        batch_size=batch_size,
        mem_mb=generation_memory,
        runtime=generation_minutes,
    params:
        settings=lambda wildcards: {
            "model": CONFIG.models[wildcards.model].science(),
            "decoding": entry("decoding", wildcards.decoding),
            "completions": CONFIG.experiment.tasks[wildcards.task].completions,
            "revision": [GENERATION_REVISION, PROMPTS_REVISION, CONVERSION],
        },
    message:
        "Generating {wildcards.task} with {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}, shard {wildcards.shard} of {wildcards.shards}"
    script:
        "../scripts/generation/generate_texts.py"


rule collect_generations:
    """Samples -> the texts that are measured: prompt and continuation, cut to the task's length."""
    input:
        prompts="data/{task}/prompts.parquet",
        samples=shards_of,
    output:
        generations="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
    log:
        "logs/collect_generations/{task}/{model}/{decoding}/seed{seed}.log",
    group:
        "embed/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(
            wildcards, "kind", "max_words", "keep"
        )
        | {"revision": GENERATION_REVISION},
    message:
        "Collecting {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/generation/collect_generations.py"
