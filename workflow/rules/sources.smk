"""Sources: needs the network, or a filled cache; makes the texts of a dataset and ready checkpoints.

Downloads go to the shared cache ($TEXTGAMUT_CACHE). Priority: what can fail cheaply runs before generation.
"""


rule extract_dataset:
    """Source -> all texts of a dataset, with their group columns, and the dataset's card."""
    input:
        source=lambda wildcards: source_files(CONFIG.datasets[wildcards.dataset].source),
    output:
        texts="data/{dataset}/references.parquet",
        card="data/{dataset}/card.json",
        page=report(
            "data/{dataset}/card.md",
            caption="../report/card.rst",
            category="datasets",
            labels={"what": "card: {dataset}"},
        ),
    log:
        "logs/extract_dataset/{dataset}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:
        contact=CONFIG.experiment.contact or "",  # not a param: another contact is no reason to extract anew
    params:
        settings=lambda wildcards: {
            "dataset": entry("datasets", wildcards.dataset),
            "revision": DATASETS_REVISION,
        },
    message:
        "Extracting dataset {wildcards.dataset}"
    script:
        "../scripts/sources/extract_dataset.py"


rule fetch_model:
    """Checkpoint of a model -> in the cache, converted and checked; what it is, in data/."""
    input:
        source=lambda wildcards: source_files(CONFIG.models[wildcards.model].source),
    output:
        card="data/models/{model}.json",
    log:
        "logs/fetch_model/{model}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "source": entry("models", wildcards.model)["source"],
            "chat": CONFIG.models[wildcards.model].chat,
            "revision": CONVERSION,
        },
    message:
        "Fetching model {wildcards.model}"
    script:
        "../scripts/sources/fetch_model.py"


rule fetch_embedder:
    """Checkpoint of an embedder -> in the cache; what it is, in data/."""
    input:
        source=lambda wildcards: source_files(
            CONFIG.embedders[wildcards.embedder].source
        ),
    output:
        card="data/embedders/{embedder}.json",
    log:
        "logs/fetch_embedder/{embedder}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "source": entry("embedders", wildcards.embedder)["source"],
            "revision": CONVERSION,
        },
    message:
        "Fetching embedder {wildcards.embedder}"
    script:
        "../scripts/sources/fetch_embedder.py"
