"""Generation: needs prompts and a checkpoint; makes the texts of a cell. Where the GPU hours go."""


rule generate_texts:
    """Prompts -> what the model writes after them. Killed, it resumes from its journal."""
    input:
        prompts="data/{task}/prompts.parquet",
        card="data/models/{model}.json",
    output:
        samples="results/{task}/{model}/{decoding}/seed{seed}/shards/0-of-1.parquet",
    log:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}.log",
    benchmark:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}.tsv"
    conda:
        "../../envs/cuda.yaml"
    threads: 8
    resources:
        batch_size=lambda wildcards: CONFIG.models[wildcards.model].batch_size,
        gpu=lambda wildcards: CONFIG.models[wildcards.model].gpus,
        mem_mb=3000,
    params:
        settings=lambda wildcards: {
            "model": CONFIG.models[wildcards.model].science(),
            "decoding": entry("decoding", wildcards.decoding),
            "revision": [GENERATION_REVISION, PROMPTS_REVISION, CONVERSION],
        },
    message:
        "Generating {wildcards.task} with {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/generation/generate_texts.py"


rule collect_generations:
    """Samples -> the texts that are measured: prompt and continuation, cut to the task's length."""
    input:
        prompts="data/{task}/prompts.parquet",
        samples="results/{task}/{model}/{decoding}/seed{seed}/shards/0-of-1.parquet",
    output:
        generations="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
    log:
        "logs/collect_generations/{task}/{model}/{decoding}/seed{seed}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "max_words")
        | {"revision": GENERATION_REVISION},
    message:
        "Collecting {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/generation/collect_generations.py"
