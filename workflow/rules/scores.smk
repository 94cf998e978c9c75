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


rule score_support:
    """Compute precision, recall, density and coverage of a cell against each draw of references."""
    input:
        generated=paths.CELL_FEATURES,
        references=bound(inputs.reference_features),
        texts=bound(inputs.compared_texts),
        dataset=bound(inputs.grouped_dataset),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="support"),
        half_samples=paths.HALF_SAMPLES,
    log:
        "logs/score_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    priority: 30
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=bound(settings.score_support),
    message:
        "Computing support metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_support.py"


rule score_divergence:
    """Compute MAUVE, frontier integral, F_1/8 and F_8 of a cell against each draw of references."""
    input:
        generated=paths.CELL_FEATURES,
        references=bound(inputs.reference_features),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="divergence"),
    log:
        "logs/score_divergence/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    priority: 30
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_divergence),
    message:
        "Computing divergence metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_divergence.py"


rule trace_divergence:
    """Trace the precision-recall curve and the divergence frontier of a cell (PR Figures A.3 and A.4)."""
    input:
        generated=paths.CELL_FEATURES,
        reference=bound(inputs.first_reference_features),
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


rule score_vendi:
    """Compute the Vendi scores of a cell, and their ratios to those of each draw of references."""
    input:
        generated=paths.CELL_FEATURES,
        references=bound(inputs.reference_features),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="vendi"),
    log:
        "logs/score_vendi/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_vendi),
    message:
        "Computing Vendi scores of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_vendi.py"


rule score_distance:
    """Compute MMD and Fréchet distance between a cell and each draw of references."""
    input:
        generated=paths.CELL_FEATURES,
        references=bound(inputs.reference_features),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="distance"),
    log:
        "logs/score_distance/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_distance),
    message:
        "Computing distances of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_distance.py"


rule score_completions:
    """Compute how much the completions of one prompt differ in a cell."""
    input:
        generated=paths.CELL_FEATURES,
        texts=paths.GENERATIONS,
        quality=bound(inputs.quality_scores),
    output:
        scores=paths.fill_some(paths.FEATURE_SCORES, family="completions"),
    log:
        "logs/score_completions/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_completions),
    message:
        "Computing the variety of completions of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_completions.py"


rule score_judged_completions:
    """Count the different completions of one prompt in a cell, with a served model as judge."""
    input:
        texts=paths.GENERATIONS,
        prompts=bound(inputs.prompts),
        card=bound(inputs.judge_cards, family="judged_completions"),
    output:
        scores=paths.fill_some(paths.SCORES, family="judged_completions"),
    log:
        "logs/score_judged_completions/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    resources:  # not in params, so that changing them does not trigger a rerun
        source=bound(resources.judge_source, family="judged_completions"),
        batch_size=bound(resources.judge_batch_size, family="judged_completions"),
    params:
        settings=bound(settings.score_judged_completions),
    message:
        "Judging the completions of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_judged_completions.py"


rule score_ngram:
    """Compute Self-BLEU, distinct-n, rep-4 and diversity of a cell."""
    input:
        texts=paths.GENERATIONS,
        card=bound(inputs.ngram_cards),
    output:
        scores=paths.fill_some(paths.SCORES, family="ngram"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="ngram"),
    log:
        "logs/score_ngram/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_ngram),
    message:
        "Computing n-gram metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_ngram.py"


rule score_compression:
    """Compute compression ratio, n-gram diversity, self-repetition and homogenization of a cell."""
    input:
        texts=paths.GENERATIONS,
        references=bound(inputs.length_of_references),
    output:
        scores=paths.fill_some(paths.SCORES, family="compression"),
    log:
        "logs/score_compression/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_compression),
    message:
        "Computing the redundancy of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_compression.py"


rule score_likelihood:
    """Compute coherence and, unless it is that of the generator, perplexity of a cell under the scoring model."""
    input:
        texts=paths.GENERATIONS,
        prompts=bound(inputs.prompts),
        card=bound(inputs.likelihood_cards),
    output:
        scores=paths.fill_some(paths.SCORES, family="likelihood"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="likelihood"),
    log:
        "logs/score_likelihood/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "likelihood/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: bound(resources.likelihood_threads, cores=local_cores)
    resources:
        **request_gpus(bound(resources.likelihood_gpus)),
        batch_size=bound(resources.likelihood_batch_size),
        mem_mb=bound(resources.likelihood_memory),
    params:
        settings=bound(settings.score_likelihood),
    message:
        "Computing likelihood metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_likelihood.py"


rule score_perplexity:
    """Compute the perplexity of a cell under the model that generated it, as recorded during the generation."""
    input:
        texts=paths.GENERATIONS,
        prompts=bound(inputs.prompts),
        card=bound(inputs.generator_cards),
    output:
        scores=paths.fill_some(paths.SCORES, family="perplexity"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="perplexity"),
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


rule score_readability:
    """Compute Flesch reading ease and Gunning fog index of a cell."""
    input:
        texts=paths.GENERATIONS,
    output:
        scores=paths.fill_some(paths.SCORES, family="readability"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="readability"),
    log:
        "logs/score_readability/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_readability),
    message:
        "Computing readability metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_readability.py"


rule score_entities:
    """Compute information density and, for tasks with references per prompt, entity overlap of a cell."""
    input:
        texts=paths.GENERATIONS,
        references=bound(inputs.references_of_prompts),
        card=bound(inputs.tagger_card),
    output:
        scores=paths.fill_some(paths.SCORES, family="entities"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="entities"),
    log:
        "logs/score_entities/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    threads: bound(resources.tagging_processes)
    resources:
        mem_mb=resources.tagging_memory,
    params:
        settings=bound(settings.score_entities),
    message:
        "Computing entity metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_entities.py"


rule score_similarity:
    """Compute S-BERT similarity and BLEU between the texts of a cell and the references of their prompts."""
    input:
        texts=paths.GENERATIONS,
        features=paths.fill_some(
            paths.CELL_FEATURES, embedder=CONFIG.experiment.embedder
        ),
        references=bound(inputs.first_references),
        reference_features=bound(inputs.first_reference_features),
    output:
        scores=paths.fill_some(paths.SCORES, family="similarity"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="similarity"),
    log:
        "logs/score_similarity/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_similarity),
    message:
        "Computing similarity metrics of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_similarity.py"


rule score_essay:
    """Grade the texts of a cell with the essay model."""
    input:
        texts=paths.GENERATIONS,
        model=paths.ESSAY_MODEL,
        vocabulary=paths.ESSAY_VOCABULARY,
    output:
        scores=paths.fill_some(paths.SCORES, family="essay"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="essay"),
    log:
        "logs/score_essay/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.score_essay),
    message:
        "Grading the texts of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_essay.py"


rule score_judge:
    """Judge the texts of a cell with a served model."""
    input:
        texts=paths.GENERATIONS,
        card=bound(inputs.judge_cards),
    output:
        scores=paths.fill_some(paths.SCORES, family="judge"),
        texts=paths.fill_some(paths.TEXT_SCORES, family="judge"),
    log:
        "logs/score_judge/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    resources:  # not in params, so that changing them does not trigger a rerun
        source=bound(resources.judge_source),
        batch_size=bound(resources.judge_batch_size),
    params:
        settings=bound(settings.score_judge),
    message:
        "Judging the texts of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_judge.py"


rule sweep_support:
    """Compute the support metrics of a cell for several N and k, each N with its own PCA."""
    input:
        generated=paths.CELL_FEATURES,
        references=bound(inputs.reference_features),
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
    """Tabulate which texts lie inside the other side's support, and their neighbours on both sides."""
    input:
        generations=paths.GENERATIONS,
        generated=paths.CELL_FEATURES,
        reference_texts=bound(inputs.first_references),
        references=bound(inputs.first_reference_features),
    output:
        neighbours=paths.NEIGHBOURS,
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


rule check_metrics:
    """Put all metrics of distributions through the same sanity checks, on passages of real texts."""
    input:
        texts=paths.TEXTS,
        card=paths.fill(paths.EMBEDDER_CARD, embedder=inputs.CHECKED_EMBEDDER),
    output:
        rows=paths.fill_some(paths.CHECKS, name="rows.csv"),
        table=paths.fill_some(paths.CHECKS, name="table.csv"),
        svg=paths.fill_some(paths.CHECKS, name="checks.svg"),
        png=paths.fill_some(paths.CHECKS, name="checks.png"),
    log:
        "logs/check_metrics/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(settings.CHECKED),
    conda:
        "../../envs/cuda.yaml"
    threads: 2
    resources:
        mem_mb=3000,
    params:
        settings=bound(settings.check_metrics),
    message:
        "Checking the metrics on passages of {wildcards.dataset}"
    script:
        "../scripts/metrics/check_metrics.py"
