"""Sources: needs the network, or a filled cache; makes the texts of a dataset and ready checkpoints.

Downloads go to the shared cache ($TEXTGAMUT_CACHE). Priority: what can fail cheaply runs before generation.
"""


rule extract_dataset:
    """Source -> all texts of a dataset, with their group columns."""
    output:
        texts="data/{dataset}/references.parquet",
    log:
        "logs/extract_dataset/{dataset}.log",
    message:
        "Extracting dataset {wildcards.dataset}"
    conda:
        "../../envs/cpu.yaml"
    priority: 100
    params:
        settings=lambda wildcards: {
            "dataset": entry("datasets", wildcards.dataset),
            "revision": DATASETS_REVISION,
        },
    script:
        "../scripts/sources/extract_dataset.py"


rule fetch_model:
    """Checkpoint of a model -> in the cache, converted and checked; what it is, in data/."""
    output:
        card="data/models/{model}.json",
    log:
        "logs/fetch_model/{model}.log",
    message:
        "Fetching model {wildcards.model}"
    conda:
        "../../envs/cpu.yaml"
    priority: 100
    params:
        settings=lambda wildcards: {
            "source": entry("models", wildcards.model)["source"],
            "chat": CONFIG.models[wildcards.model].chat,
        },
    script:
        "../scripts/sources/fetch_model.py"


rule fetch_embedder:
    """Checkpoint of an embedder -> in the cache; what it is, in data/."""
    output:
        card="data/embedders/{embedder}.json",
    log:
        "logs/fetch_embedder/{embedder}.log",
    message:
        "Fetching embedder {wildcards.embedder}"
    conda:
        "../../envs/cpu.yaml"
    priority: 100
    params:
        settings=lambda wildcards: {"source": entry("embedders", wildcards.embedder)["source"]},
    script:
        "../scripts/sources/fetch_embedder.py"
