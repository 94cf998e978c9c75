"""Tasks: needs a dataset; makes the prompts, the draws of references, and the subsets that play models.

Prompts that do not fit into a model's context are an error here, before anything is generated.
"""


rule draw_prompts:
    """Texts of a dataset -> the prompts of a task."""
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
    """Human texts -> one draw of references, disjoint from every prompt and subset; or another model's texts."""
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
        "Drawing references {wildcards.draw} of {wildcards.task}"
    script:
        "../scripts/tasks/draw_references.py"


rule draw_subset:
    """Human texts -> a subset that plays a model: a cell whose decoding is `human`."""
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
    """References of a prompted task -> a cell beside those of the models: what humans wrote after the prompts."""
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
        "Copying references {wildcards.draw} of {wildcards.task}"
    script:
        "../scripts/tasks/copy_references.py"


rule check_prompts:
    """Prompts, and a model's tokenizer -> how long they are; an error if prompt and answer overflow the context."""
    input:
        prompts=paths.PROMPTS,
        card=paths.MODEL_CARD,
    output:
        lengths=paths.LENGTHS,
    log:
        "logs/check_prompts/{task}/{model}/{tokens}.log",
    wildcard_constraints:
        tokens=r"\d+",
    priority: 90
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.check_prompts),
    message:
        "Checking the prompts of {wildcards.task} for {wildcards.model}, with {wildcards.tokens} new tokens"
    script:
        "../scripts/tasks/check_prompts.py"


rule count_tokens:
    """Texts of a dataset, and a model's tokenizer -> tokens per word (PR Table B.2)."""
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
