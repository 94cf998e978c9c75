"""Draw the prompts, the references and the subsets that simulate models from a dataset.

Prompts that do not fit into a model's context are reported here, before anything is generated.
"""


rule draw_prompts:
    """Draw the prompts of a task from its dataset."""
    input:
        texts=bound(inputs.task_texts),
    output:
        prompts=paths.PROMPTS,
    log:
        "logs/draw_prompts/{task}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.draw_prompts),
    message:
        "Drawing the prompts of {wildcards.task}"
    script:
        "../scripts/tasks/draw_prompts.py"


rule draw_references:
    """Draw one set of references, disjoint from all prompts and subsets, or take another model's texts."""
    input:
        texts=bound(inputs.reference_texts),
    output:
        references=paths.REFERENCES,
    log:
        "logs/draw_references/{task}/draw{draw}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.draw_references),
    message:
        "Drawing references of {wildcards.task}, draw {wildcards.draw}"
    script:
        "../scripts/tasks/draw_references.py"


rule draw_subset:
    """Draw a subset of human texts that simulates a model, as a cell with the decoding `human`."""
    input:
        texts=bound(inputs.task_texts),
    output:
        generations=paths.fill_some(paths.GENERATIONS, decoding=HUMAN),
    log:
        "logs/draw_subset/{task}/{model}/seed{seed}.log",
    wildcard_constraints:
        model=f"(?!{HUMAN}/){SLUG_PATTERN}",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.draw_subset),
    message:
        "Drawing subset {wildcards.model} of {wildcards.task}, seed {wildcards.seed}"
    script:
        "../scripts/tasks/draw_subset.py"


rule copy_references:
    """Copy the references of a prompted task to a cell, so that they are scored like generated texts."""
    input:
        references=paths.REFERENCES,
    output:
        generations=paths.fill_some(
            paths.GENERATIONS, model=HUMAN, decoding=HUMAN, seed="{draw}"
        ),
    log:
        "logs/copy_references/{task}/draw{draw}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.copy_references),
    message:
        "Copying references of {wildcards.task}, draw {wildcards.draw}"
    script:
        "../scripts/tasks/copy_references.py"


rule draw_held_out:
    """Draw human texts that are in no draw of references; their scores are the yardstick of the others."""
    input:
        texts=bound(inputs.task_texts),
    output:
        generations=paths.fill_some(paths.GENERATIONS, model=HUMAN, decoding=HELD_OUT),
    log:
        "logs/draw_held_out/{task}/seed{seed}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.draw_held_out),
    message:
        "Drawing held-out human texts of {wildcards.task}"
    script:
        "../scripts/tasks/draw_held_out.py"


rule draw_training_texts:
    """Draw the texts that a model is fine-tuned on, none of which a task uses."""
    input:
        texts=bound(inputs.training_dataset),
        used=bound(inputs.texts_in_tasks),
        other_prompts=bound(inputs.given_prompts),
    output:
        training=paths.TRAINING_TEXTS,
    log:
        "logs/draw_training_texts/{model}.log",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.draw_training_texts),
    message:
        "Drawing the texts to fine-tune {wildcards.model} on"
    script:
        "../scripts/tasks/draw_training_texts.py"


rule check_prompts:
    """Count the tokens of a task's prompts for a model and check that prompt and answer fit into its context."""
    input:
        prompts=paths.PROMPTS,
        card=paths.MODEL_CARD,
    output:
        lengths=paths.LENGTHS,
    log:
        "logs/check_prompts/{task}/{model}/{tokens}.log",
    wildcard_constraints:
        tokens=NUMBER_PATTERN,
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.check_prompts),
    message:
        "Checking the prompts of {wildcards.task} for {wildcards.model} with {wildcards.tokens} new tokens"
    script:
        "../scripts/tasks/check_prompts.py"


rule count_tokens:
    """Count the tokens per word of a dataset with a model's tokenizer (PR Table B.2)."""
    input:
        texts=paths.TEXTS,
        card=paths.MODEL_CARD,
    output:
        ratio=paths.TOKENS_PER_WORD,
    log:
        "logs/count_tokens/{dataset}/{model}.log",
    group:
        "tokens/{dataset}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.count_tokens),
    message:
        "Counting the tokens per word of {wildcards.dataset} for {wildcards.model}"
    script:
        "../scripts/tasks/count_tokens.py"
