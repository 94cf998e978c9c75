"""Scores: needs texts of both sides; makes their features, the metrics of a cell, one tidy table.

One rule per family of metrics; only the families that the experiment names are computed.
"""


rule embed_texts:
    """Texts of a cell or of a draw of references -> their feature vectors."""
    input:
        texts=lambda wildcards: (
            f"{wildcards.folder}/references.parquet"
            if wildcards.folder.startswith("data/")
            else f"{wildcards.folder}/generations.parquet"
        ),
        card="data/embedders/{embedder}.json",
    output:
        features="{folder}/features/{embedder}.npy",
    log:
        "logs/embed_texts/{folder}/{embedder}.log",
    group:
        embedding_group
    conda:
        "../../envs/cuda.yaml"
    resources:
        **gpus(lambda wildcards: 1),
        batch_size=lambda wildcards: CONFIG.embedders[wildcards.embedder].batch_size,
        mem_mb=1500,
    params:
        settings=lambda wildcards: {
            "embedder": CONFIG.embedders[wildcards.embedder].science(),
            "revision": embedding.REVISION,
        },
    message:
        "Embedding {wildcards.folder} with {wildcards.embedder}"
    script:
        "../scripts/scores/embed_texts.py"


rule score_support:
    """Features of both sides -> precision, recall, density, coverage against every draw of references."""
    input:
        generated="results/{task}/{model}/{decoding}/seed{seed}/features/{embedder}.npy",
        references=references_of("features/{embedder}.npy"),
        texts=lambda wildcards: group_tables(wildcards),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/{embedder}/support.json",
    log:
        "logs/score_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "k", "draws", "groups")
        | family_settings(wildcards, "support")
        | {"revision": SUPPORT_REVISION},
    message:
        "Scoring the support of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_support.py"


rule score_divergence:
    """Features of both sides -> MAUVE, frontier integral, F_1/8, F_8 against every draw of references."""
    input:
        generated="results/{task}/{model}/{decoding}/seed{seed}/features/{embedder}.npy",
        references=references_of("features/{embedder}.npy"),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/{embedder}/divergence.json",
    log:
        "logs/score_divergence/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "draws")
        | family_settings(wildcards, "divergence")
        | {"revision": [DIVERGENCE_REVISION, SUPPORT_REVISION]},
    message:
        "Scoring the divergence of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_divergence.py"


rule score_ngram:
    """Texts of a cell -> Self-BLEU, distinct-n, rep-4, diversity."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        card=lambda wildcards: cards(family(wildcards, "ngram").tokenizer),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/ngram.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/ngram.parquet",
    log:
        "logs/score_ngram/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: family_settings(wildcards, "ngram")
        | {
            "tokenizer": source_of(family(wildcards, "ngram").tokenizer),
            "revision": NGRAM_REVISION,
        },
    message:
        "Scoring the wording of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_ngram.py"


rule score_likelihood:
    """Texts of a cell, and their prompts -> perplexity and coherence."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        prompts=lambda wildcards: (
            []
            if CONFIG.experiment.tasks[wildcards.task].kind == "subsets"
            else [f"data/{wildcards.task}/prompts.parquet"]
        ),
        card=lambda wildcards: [
            path for model in likelihood_models(wildcards) for path in cards(model)
        ],
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/likelihood.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/likelihood.parquet",
    log:
        "logs/score_likelihood/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "likelihood/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    threads: 8
    resources:
        **gpus(
            lambda wildcards: max(
                CONFIG.models[model].gpus for model in likelihood_models(wildcards)
            )
        ),
        batch_size=lambda wildcards: min(
            CONFIG.models[model].batch_size for model in likelihood_models(wildcards)
        ),
        mem_mb=likelihood_memory,
    params:
        settings=lambda wildcards: {
            "source": source_of(family(wildcards, "likelihood").scorer),
            "generator": generator_source(wildcards),
            "perplexity_of": family(wildcards, "likelihood").perplexity_of,
            "dtype": family(wildcards, "likelihood").dtype,
            "revision": [LIKELIHOOD_REVISION, CONVERSION],
        },
    message:
        "Scoring the likelihood of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_likelihood.py"


rule score_readability:
    """Texts of a cell -> Flesch reading ease and Gunning fog."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/readability.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/readability.parquet",
    log:
        "logs/score_readability/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {"revision": READABILITY_REVISION},
    message:
        "Scoring the readability of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_readability.py"


rule score_entities:
    """Texts of a cell, and the references of their prompts -> information density, entity overlap."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        references=references_of_prompts,
        card=lambda wildcards: f"data/taggers/{family(wildcards, 'entities').tagger}.json",
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/entities.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/entities.parquet",
    log:
        "logs/score_entities/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    threads: tagging_processes
    resources:
        mem_mb=lambda wildcards, threads: 1000 + 500 * threads,
    params:
        settings=lambda wildcards: {
            "tagger": entry("taggers", family(wildcards, "entities").tagger)["source"],
            "revision": ENTITIES_REVISION,
        },
    message:
        "Scoring the entities of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_entities.py"


rule score_similarity:
    """Texts of a cell, and the references of their prompts -> S-BERT and BLEU."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        features=f"results/{{task}}/{{model}}/{{decoding}}/seed{{seed}}/features/{CONFIG.experiment.embedder}.npy",
        references=lambda wildcards: first_draw(wildcards, "references.parquet"),
        reference_features=lambda wildcards: first_draw(
            wildcards, f"features/{CONFIG.experiment.embedder}.npy"
        ),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/similarity.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/similarity.parquet",
    log:
        "logs/score_similarity/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {"revision": SIMILARITY_REVISION},
    message:
        "Scoring the similarity of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_similarity.py"


rule score_essay:
    """Texts of a cell -> the grades that a model trained on essays gives them."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        model="data/models/essay/model.safetensors",
        vocabulary="data/models/essay/vocabulary.json",
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/essay.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/essay.parquet",
    log:
        "logs/score_essay/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {"revision": ESSAY_REVISION},
    message:
        "Grading the texts of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_essay.py"


rule score_judge:
    """Texts of a cell -> the verdict of a served model."""
    input:
        texts="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        card=lambda wildcards: cards(family(wildcards, "judge").model),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/judge.json",
        texts="results/{task}/{model}/{decoding}/seed{seed}/scores/judge.parquet",
    log:
        "logs/score_judge/{task}/{model}/{decoding}/seed{seed}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    resources:  # no reason to judge anew
        source=lambda wildcards: json.dumps(source_of(family(wildcards, "judge").model)),
        batch_size=lambda wildcards: CONFIG.models[
            family(wildcards, "judge").model
        ].batch_size,
    params:
        settings=lambda wildcards: {
            "source": CONFIG.models[family(wildcards, "judge").model].science()[
                "source"
            ],
            "revision": JUDGE_REVISION,
        },
    message:
        "Judging the texts of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_judge.py"


rule sweep_support:
    """Features of both sides -> the support metrics for several N and k, from one pass over the distances."""
    input:
        generated="results/{task}/{model}/{decoding}/seed{seed}/features/{embedder}.npy",
        references=references_of("features/{embedder}.npy"),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/{embedder}/sweep.json",
    log:
        "logs/sweep_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "k", "draws", "sweep")
        | {"revision": SUPPORT_REVISION},
    message:
        "Sweeping N and k of {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/sweep_support.py"


rule explain_support:
    """Features and texts of both sides -> the texts that precision and recall missed, as a page to read."""
    input:
        generations="results/{task}/{model}/{decoding}/seed{seed}/generations.parquet",
        generated="results/{task}/{model}/{decoding}/seed{seed}/features/{embedder}.npy",
        reference_texts=lambda wildcards: first_draw(wildcards, "references.parquet"),
        references=lambda wildcards: first_draw(
            wildcards, f"features/{wildcards.embedder}.npy"
        ),
    output:
        page=report(
            "results/{task}/{model}/{decoding}/seed{seed}/explain/{embedder}.html",
            caption="../report/missed.rst",
            category="{task}",
            labels={"what": "texts missed: {model}, {decoding}"},
        ),
    log:
        "logs/explain_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    group:
        "score/{task}/{model}"
    conda:
        "../../envs/cuda.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "k")
        | {
            "draw": CONFIG.experiment.tasks[wildcards.task].draws[0],
            "embedder": CONFIG.embedders[wildcards.embedder].label,
            "revision": [SUPPORT_REVISION, EXPLAIN_REVISION],
        },
    message:
        "Showing what was missed in {wildcards.task} by {wildcards.model}, {wildcards.decoding}"
    script:
        "../scripts/scores/explain_support.py"


rule collect_scores:
    """Scores of all cells -> one tidy table, one row per (cell, draw, metric)."""
    input:
        scores=[
            path
            for task in CONFIG.experiment.tasks
            for cell in scored_cells(task)
            for path in score_files(cell)
        ],
    output:
        table="results/scores.parquet",
    log:
        "logs/collect_scores.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    message:
        "Collecting all scores"
    script:
        "../scripts/scores/collect_scores.py"


rule collect_texts:
    """Metrics of the single texts of a task -> one tidy table, one row per text."""
    input:
        generations=lambda wildcards: [
            f"{cell.path}/generations.parquet" for cell in scored_cells(wildcards.task)
        ],
        scores=lambda wildcards: text_score_files(wildcards.task),
    output:
        texts="results/{task}/texts.parquet",
    log:
        "logs/collect_texts/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "metrics": CONFIG.metrics(wildcards.task).per_text()
        },
    message:
        "Collecting the metrics of single texts of {wildcards.task}"
    script:
        "../scripts/scores/collect_texts.py"
