"""Fetch datasets and checkpoints, from the network or the cache.

Downloads are stored in the shared cache ($TEXTGAMUT_CACHE). These rules have a high priority, so that errors in them
are found before the expensive generation starts.
"""


rule extract_dataset:
    """Extract all texts of a dataset, with their group columns, from its source."""
    input:
        source=bound(inputs.dataset_files),
    output:
        texts=paths.TEXTS,
    log:
        "logs/extract_dataset/{dataset}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:  # not in params, so that changing them does not trigger a rerun
        contact=CONFIG.experiment.contact or "",
        requests_per_second=str(CONFIG.experiment.requests_per_second),
    params:
        settings=bound(settings.extract_dataset),
    message:
        "Extracting dataset {wildcards.dataset}"
    script:
        "../scripts/sources/extract_dataset.py"


rule describe_dataset:
    """Write the card of a dataset: source, filters, licence, checksum, lengths, revision ids."""
    input:
        texts=paths.TEXTS,
    output:
        card=paths.DATASET_CARD,
        page=in_report(paths.DATASET_PAGE, "card", "datasets", "card: {dataset}"),
    log:
        "logs/describe_dataset/{dataset}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.describe_dataset),
    message:
        "Describing dataset {wildcards.dataset}"
    script:
        "../scripts/sources/describe_dataset.py"


rule read_scores:
    """Read the scores of single texts that were computed elsewhere, and check that they are complete."""
    input:
        source=bound(inputs.given_scores),
    output:
        scores=paths.GIVEN_SCORES,
    log:
        "logs/read_scores/{task}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=4000,
    params:
        settings=bound(settings.read_scores),
    message:
        "Reading the scores of {wildcards.task}"
    script:
        "../scripts/sources/read_scores.py"


rule fetch_model:
    """Fetch the checkpoint of a model into the cache, convert and check it, and write its card."""
    input:
        source=bound(inputs.model_files),
    output:
        card=paths.MODEL_CARD,
    log:
        "logs/fetch_model/{model}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:  # not in params, so that changing it does not trigger a rerun
        key_variable=bound(resources.key_variable),
    params:
        settings=bound(settings.fetch_model),
    message:
        "Fetching model {wildcards.model}"
    script:
        "../scripts/sources/fetch_model.py"


rule finetune_model:
    """Fine-tune a model; a killed job resumes from its last epoch. fetch_model checks the result, as any checkpoint."""
    input:
        training=paths.TRAINING_TEXTS,
        base=bound(inputs.training_base),
    output:
        card=paths.FINETUNING_CARD,
        weights=paths.CHECKPOINT_WEIGHTS,
    log:
        "logs/finetune_model/{model}.log",
    priority: 80
    conda:
        "../../envs/cuda.yaml"
    threads: 8
    resources:
        **request_gpus(bound(resources.generation_gpus)),
        mem_mb=bound(resources.finetuning_memory),
        runtime=720,
    params:
        settings=bound(settings.finetune_model),
    message:
        "Fine-tuning {wildcards.model}"
    script:
        "../scripts/sources/finetune_model.py"


rule fetch_embedder:
    """Fetch the checkpoint of an embedder into the cache and write its card."""
    input:
        source=bound(inputs.embedder_files),
    output:
        card=paths.EMBEDDER_CARD,
    log:
        "logs/fetch_embedder/{embedder}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.fetch_embedder),
    message:
        "Fetching embedder {wildcards.embedder}"
    script:
        "../scripts/sources/fetch_embedder.py"


rule fetch_tagger:
    """Fetch the pipeline of a tagger into the cache and write its card."""
    input:
        source=bound(inputs.tagger_files),
    output:
        card=paths.TAGGER_CARD,
    log:
        "logs/fetch_tagger/{tagger}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.fetch_tagger),
    message:
        "Fetching tagger {wildcards.tagger}"
    script:
        "../scripts/sources/fetch_tagger.py"


rule train_essay_model:
    """Train the essay model, an LSTM, on the user's graded essays; its card contains cross-validation scores."""
    input:
        essays=essays_file(CONFIG) or [],
    output:
        model=paths.ESSAY_MODEL,
        vocabulary=paths.ESSAY_VOCABULARY,
        card=paths.ESSAY_CARD,
    log:
        "logs/train_essay_model.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=3000,
    params:
        settings=bound(settings.train_essay_model),
    message:
        "Training the essay model"
    script:
        "../scripts/sources/train_essay_model.py"
