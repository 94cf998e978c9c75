"""Generate the texts of a cell from prompts and a checkpoint.

A cell is split into shards, as configured in the model's entry.
"""


rule generate_texts:
    """Generate continuations of the prompts; a killed job resumes from its journal."""
    input:
        prompts=paths.PROMPTS,
        card=paths.MODEL_CARD,
        lengths=bound(inputs.prompt_lengths),
    output:
        samples=paths.SHARD,
    log:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}/{shard}-of-{shards}.log",
    priority: 10  # before the scores, which then find more texts to share their models for
    group:
        "generate/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: bound(resources.generation_threads, cores=local_cores)
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
    """Extract the texts to be measured from the samples, cut to the task's length."""
    input:
        prompts=paths.PROMPTS,
        samples=bound(inputs.shards),
    output:
        generations=paths.GENERATIONS,
    log:
        "logs/collect_generations/{task}/{model}/{decoding}/seed{seed}.log",
    priority: 20
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
