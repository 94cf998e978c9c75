"""Tasks: needs a dataset; makes the prompts, the draws of references, and the subsets that play models.

Prompts that do not fit into a model's context are an error here, before anything is generated.
"""


rule draw_prompts:
    """Texts of a dataset -> the prompts of a task."""
    input:
        texts=dataset_of,
    output:
        prompts="data/{task}/prompts.parquet",
    log:
        "logs/draw_prompts/{task}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: prompt_settings(wildcards)
        | {"revision": [tasks.REVISION, PROMPTS_REVISION]},
    message:
        "Drawing the prompts of {wildcards.task}"
    script:
        "../scripts/tasks/draw_prompts.py"


rule draw_references:
    """Human texts -> one draw of references, disjoint from every prompt and subset; or another model's texts."""
    input:
        texts=reference_texts,
    output:
        references="data/{task}/draw{draw}/references.parquet",
    log:
        "logs/draw_references/{task}/draw{draw}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(
            wildcards,
            "kind",
            "dataset",
            "n",
            "min_words",
            "max_words",
            "group",
            "references",
        )
        | {"revision": tasks.REVISION},
    message:
        "Drawing references {wildcards.draw} of {wildcards.task}"
    script:
        "../scripts/tasks/draw_references.py"


rule draw_subset:
    """Human texts -> a subset that plays a model: a cell whose decoding is `human`."""
    input:
        texts=dataset_of,
    output:
        generations="results/{task}/{model}/human/seed{seed}/generations.parquet",
    log:
        "logs/draw_subset/{task}/{model}/seed{seed}.log",
    wildcard_constraints:
        model=f"(?!{HUMAN}/){SLUG_PATTERN}",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(
            wildcards, "kind", "dataset", "n", "min_words", "max_words", "group"
        )
        | {
            "labels": CONFIG.experiment.tasks[wildcards.task].subsets[wildcards.model],
            "revision": tasks.REVISION,
        },
    message:
        "Drawing subset {wildcards.model} of {wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/tasks/draw_subset.py"


rule copy_references:
    """References of a prompted task -> a cell beside those of the models: what humans wrote after the prompts."""
    input:
        references="data/{task}/draw{draw}/references.parquet",
    output:
        generations=f"results/{{task}}/{HUMAN}/{HUMAN}/seed{{draw}}/generations.parquet",
    log:
        "logs/copy_references/{task}/draw{draw}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings={"revision": tasks.REVISION},
    message:
        "Copying references {wildcards.draw} of {wildcards.task}"
    script:
        "../scripts/tasks/copy_references.py"


rule check_prompts:
    """Prompts, and a model's tokenizer -> how long they are; an error if prompt and answer overflow the context."""
    input:
        prompts="data/{task}/prompts.parquet",
        card="data/models/{model}.json",
    output:
        lengths="data/{task}/lengths/{model}/{tokens}.json",
    log:
        "logs/check_prompts/{task}/{model}/{tokens}.log",
    wildcard_constraints:
        tokens=r"\d+",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "examples")
        | {
            "source": source_of(wildcards.model),
            "chat": CONFIG.models[wildcards.model].chat,
            "max_new_tokens": int(wildcards.tokens),
            "revision": [PROMPTS_REVISION, CONVERSION],
        },
    message:
        "Checking the prompts of {wildcards.task} for {wildcards.model}, with {wildcards.tokens} new tokens"
    script:
        "../scripts/tasks/check_prompts.py"


rule count_tokens:
    """Texts of a dataset, and a model's tokenizer -> tokens per word (PR Table B.2)."""
    input:
        texts="data/{dataset}/texts.parquet",
        card="data/models/{model}.json",
    output:
        ratio="data/{dataset}/tokens-per-word/{model}.json",
    log:
        "logs/count_tokens/{dataset}/{model}.log",
    group:
        "tokens/{dataset}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "source": source_of(wildcards.model),
            "revision": [WORDS_REVISION, CONVERSION],
        },
    message:
        "Counting the tokens per word of {wildcards.dataset} for {wildcards.model}"
    script:
        "../scripts/tasks/count_tokens.py"
