"""Tasks: needs a dataset; makes the prompts, the draws of references, and the subsets that play models."""


rule draw_prompts:
    """Human texts -> the prompts of a continuation task."""
    input:
        texts=dataset_of,
    output:
        prompts="data/{task}/prompts.parquet",
    log:
        "logs/draw_prompts/{task}.log",
    priority: 90
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(
            wildcards, "kind", "dataset", "n", "min_words", "prompt_words"
        )
        | {"revision": [tasks.REVISION, PROMPTS_REVISION]},
    message:
        "Drawing the prompts of {wildcards.task}"
    script:
        "../scripts/tasks/draw_prompts.py"


rule draw_references:
    """Human texts -> one draw of references, disjoint from every prompt and every subset."""
    input:
        texts=dataset_of,
    output:
        references="data/{task}/draw{draw}/references.parquet",
    log:
        "logs/draw_references/{task}/draw{draw}.log",
    priority: 90
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
    priority: 90
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
