"""Scores: needs texts of both sides; makes their features, the metrics of a cell, one tidy table."""


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
    conda:
        "../../envs/cuda.yaml"
    resources:
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
        references=lambda wildcards: expand(
            "data/{{task}}/draw{draw}/features/{{embedder}}.npy",
            draw=CONFIG.experiment.tasks[wildcards.task].draws,
        ),
    output:
        scores="results/{task}/{model}/{decoding}/seed{seed}/scores/{embedder}/support.json",
    log:
        "logs/score_support/{task}/{model}/{decoding}/seed{seed}/{embedder}.log",
    wildcard_constraints:
        decoding=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "k", "draws")
        | {"revision": SUPPORT_REVISION},
    message:
        "Scoring {wildcards.task} by {wildcards.model}, {wildcards.decoding}, seed {wildcards.seed}"
    script:
        "../scripts/scores/score_support.py"


rule collect_scores:
    """Scores of all cells -> one tidy table, one row per (cell, draw, metric)."""
    input:
        scores=[
            f"{cell.path}/scores/{CONFIG.experiment.embedder}/support.json"
            for task in CONFIG.experiment.tasks
            for cell in CONFIG.cells(task)
        ],
    output:
        table="results/scores.parquet",
    log:
        "logs/collect_scores.log",
    conda:
        "../../envs/cpu.yaml"
    message:
        "Collecting all scores"
    script:
        "../scripts/scores/collect_scores.py"
