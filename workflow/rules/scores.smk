"""Compute the features and scores of all cells, and collect them in tidy tables.

Each family of metrics has a rule; only the families that the experiment requests are computed. Precision and recall of
human texts, and their figure, are computed before the generation.
"""


rule embed_texts:
    """Compute the features of the texts of a cell or of a draw of references."""
    input:
        texts=bound(inputs.embedded_texts),
        card=paths.EMBEDDER_CARD,
    output:
        features=paths.FEATURES,
    log:
        "logs/embed_texts/{folder}/{embedder}.log",
    priority: resources.embedding_priority
    group:
        resources.embedding_group
    conda:
        "../../envs/cuda.yaml"
    resources:
        **request_gpus(resources.one_gpu),
        batch_size=bound(resources.embedding_batch_size),
        mem_mb=1500,
    params:
        settings=bound(settings.embed_texts),
    message:
        "Embedding {wildcards.folder} with {wildcards.embedder}"
    script:
        "../scripts/scores/embed_texts.py"


for family in FAMILIES.values():

    rule:  # score_support, score_divergence and so on
        name:
            f"score_{family.name}"
        input:
            **inputs.family_inputs(CONFIG, family),
        output:
            **outputs.family_outputs(family),
        log:
            paths.family_log(family),
        wildcard_constraints:
            decoding=SLUG_PATTERN,
        priority: resources.family_priority(family)
        group:
            resources.family_group(family)
        conda:
            resources.family_environment(family)
        threads: resources.family_threads(CONFIG, family, local_cores)
        resources:  # not in params, so that changing them does not trigger a rerun
            **resources.family_resources(CONFIG, family, request_gpus),
        params:
            settings=bound(settings.score_family, family=family),
        message:
            f"{family.work} of {{wildcards.task}} by {{wildcards.model}}, {{wildcards.decoding}}, seed {{wildcards.seed}}"
        script:
            "../scripts/scores/score_family.py"


rule measure_part:
    """Compute a part of the support metrics of a large cell: reduced features, neighbours, or pairs inside balls."""
    input:
        features=bound(inputs.unreduced_features),
        parts=bound(inputs.earlier_parts),
    output:
        part=paths.SUPPORT_PART,
    log:
        "logs/measure_part/{task}/{model}/{decoding}/seed{seed}/{embedder}/draw{draw}/{stage}/{block}-of-{blocks}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    conda:
        "../../envs/cuda.yaml"
    threads: resources.THREADS
    resources:
        mem_mb=bound(resources.part_memory),
        runtime=720,
    params:
        settings=bound(settings.measure_part),
    message:
        "Computing {wildcards.stage}, part {wildcards.block} of {wildcards.blocks}, of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/measure_part.py"


rule trace_divergence:
    """Trace the precision-recall curve and the divergence frontier of a cell (PR Figures A.3 and A.4)."""
    input:
        features=paths.CELL_FEATURES,
        reference_features=bound(inputs.first_reference_features),
    output:
        curves=paths.fill_some(paths.FEATURE_SCORES, family="curves"),
    log:
        "logs/trace_divergence/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.trace_divergence),
    message:
        "Tracing the curves of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/trace_divergence.py"


rule score_perplexity:
    """Compute the perplexity of a cell under the model that generated it, as recorded during the generation."""
    input:
        texts=paths.GENERATIONS,
        prompts=bound(inputs.prompts),
        card=bound(inputs.generator_cards),
    output:
        scores=paths.fill_some(paths.SCORES, family="perplexity"),
        text_scores=paths.fill_some(paths.TEXT_SCORES, family="perplexity"),
    log:
        "logs/score_perplexity/{task}/{model}/{decoding}/seed{seed}.log",
    group:
        "perplexity/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: bound(resources.perplexity_threads)
    resources:
        **request_gpus(bound(resources.perplexity_gpus)),
        batch_size=bound(resources.generation_batch_size),
        mem_mb=bound(resources.perplexity_memory),
    params:
        settings=bound(settings.score_perplexity),
    message:
        "Computing perplexity of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_perplexity.py"


rule sweep_support:
    """Compute the support metrics of a cell for several N and k, each N with its own PCA."""
    input:
        features=paths.CELL_FEATURES,
        reference_features=bound(inputs.reference_features),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="sweep"),
    log:
        "logs/sweep_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=bound(settings.sweep_support),
    message:
        "Sweeping N and k of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/sweep_support.py"


rule explain_support:
    """Tabulate which texts lie inside the other side's support, and their neighbours; cluster the others."""
    input:
        generations=paths.GENERATIONS,
        features=paths.CELL_FEATURES,
        reference_texts=bound(inputs.first_references),
        references=bound(inputs.first_reference_features),
    output:
        neighbours=paths.NEIGHBOURS,
        regions=paths.REGIONS,
    log:
        "logs/explain_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=bound(settings.explain_support),
    message:
        "Finding the neighbours of the texts of {wildcards.task} by {wildcards.model}, {wildcards.decoding}"
    script:
        "../scripts/scores/explain_support.py"


rule cut_texts:
    """Cut the texts of a cell, held-out human texts and the references to one length, if their lengths differ."""
    input:
        generations=paths.GENERATIONS,
        human=bound(inputs.held_out),
        references=bound(inputs.references),
    output:
        texts=paths.CUT_TEXTS,
    log:
        "logs/cut_texts/{task}/{model}/{decoding}/seed{seed}.log",
    group:
        "embed/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    resources:  # as embed_texts, which may run at the same time in a job of the group
        **request_gpus(resources.one_gpu),
    params:
        settings=bound(settings.cut_texts),
    message:
        "Cutting {wildcards.task} by {wildcards.model}, {wildcards.decoding} to one length"
    script:
        "../scripts/scores/cut_texts.py"


rule compare_methods:
    """Test the differences of the metrics of sets between two methods, by resamples of their texts."""
    input:
        texts=bound(inputs.compared_texts),
        features=bound(inputs.compared_features),
        references=bound(inputs.compared_references),
        cut_texts=bound(inputs.cut_files, path=paths.CUT_TEXTS),
        cut_features=bound(inputs.cut_files, path=paths.CUT_FEATURES),
        reference_features=bound(inputs.compared_reference_features),
        grouped=bound(inputs.grouped_references),
        dataset=bound(inputs.grouped_dataset),
        text_scores=bound(inputs.compared_quality),
        card=bound(inputs.tokenizers),
    output:
        tests=paths.TESTS,
    log:
        "logs/compare_methods/{task}/{model}/{decoding}/{other_model}/{other_decoding}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "compare/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.compare_methods),
    message:
        "Comparing {wildcards.model}, {wildcards.decoding} with {wildcards.other_model}, {wildcards.other_decoding} on {wildcards.task}"
    script:
        "../scripts/scores/compare_methods.py"


rule collect_scores:
    """Collect the scores of a task in a tidy table with one row per (cell, draw, metric)."""
    input:
        scores=bound(inputs.scores),
    output:
        table=paths.ALL_SCORES,
    log:
        "logs/collect_scores/{paper}/{task}.log",
    priority: 30
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    message:
        "Collecting the scores of {wildcards.task}"
    script:
        "../scripts/scores/collect_scores.py"


rule collect_texts:
    """Collect the per-text metrics of a task in a tidy table with one row per text."""
    input:
        generations=bound(inputs.scored_generations),
        scores=bound(inputs.text_scores),
    output:
        texts=paths.ALL_TEXT_SCORES,
    log:
        "logs/collect_texts/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.collect_texts),
    message:
        "Collecting the per-text metrics of {wildcards.task}"
    script:
        "../scripts/scores/collect_texts.py"
