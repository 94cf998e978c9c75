"""Generation: needs prompts and a checkpoint; makes the texts of a cell. Where the GPU hours go.

A cell is split into shards, as the model's entry says. A job that has loaded its model goes on with the other
cells of that model, whose own jobs then find their work done: with those of its group, where jobs are grouped,
else with all that the run is to make; where targets are named, with none.
"""


rule generate_texts:
    """Prompts -> what the model writes after them. Killed, it resumes from its journal."""
    input:
        prompts=paths.PROMPTS,
        card=paths.MODEL_CARD,
        lengths=bound(inputs.prompt_lengths),
    output:
        samples=paths.SHARD,
    log:
        paths.GENERATION_LOG,
    benchmark:
        paths.GENERATION_LOG.replace(".log", ".tsv")
    group:
        "generate/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: 8
    resources:
        **request_gpus(bound(resources.generation_gpus)),
        batch_size=bound(resources.generation_batch_size),
        source=bound(resources.model_source),
        mem_mb=bound(resources.generation_memory),
        runtime=bound(resources.generation_minutes),
    params:
        settings=bound(settings.generate_texts),
    message:
        "Generating {wildcards.task} with {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}, shard {wildcards.shard} of {wildcards.shards}"
    script:
        "../scripts/generation/generate_texts.py"


rule collect_generations:
    """Samples -> the texts that are measured: prompt and continuation, cut to the task's length."""
    input:
        prompts=paths.PROMPTS,
        samples=bound(inputs.shards),
    output:
        generations=paths.GENERATIONS,
    log:
        "logs/collect_generations/{task}/{model}/{decoding}/seed{seed}.log",
    group:
        "embed/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.collect_generations),
    message:
        "Collecting {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/generation/collect_generations.py"
