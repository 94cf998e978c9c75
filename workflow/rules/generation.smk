"""Generate the texts of a cell from prompts and a checkpoint.

A cell is split into shards, as configured in the model's entry.
"""

GIVEN = [name for name, model in CONFIG.models.items() if model.given]


rule generate_texts:
    """Generate continuations of the prompts; a killed job resumes from its journal."""
    input:
        prompts=paths.PROMPTS,
        card=paths.MODEL_CARD,
        amateur=bound(inputs.amateur_cards),
        lengths=bound(inputs.prompt_lengths),
    output:
        samples=paths.SHARD,
    log:
        "logs/generate_texts/{task}/{model}/{decoding}/seed{seed}/{shard}-of-{shards}.log",
    wildcard_constraints:
        model=f"(?!{paths.one_of(GIVEN)}/){SLUG_PATTERN}",
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


rule import_texts:
    """Read the texts of a cell that were generated elsewhere, and find the prompt of each."""
    input:
        prompts=paths.PROMPTS,
        texts=bound(inputs.given_texts),
    output:
        samples=paths.fill_some(paths.SHARD, shard="0", shards="1"),
    log:
        "logs/import_texts/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        model=paths.one_of(GIVEN),
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.import_texts),
    message:
        "Importing {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/generation/import_texts.py"


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
