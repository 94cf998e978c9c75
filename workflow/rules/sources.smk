"""Sources: needs the network, or a filled cache; makes the texts of a dataset and ready checkpoints.

Downloads go to the shared cache ($TEXTGAMUT_CACHE). Priority: what can fail cheaply runs before generation.
"""


rule extract_dataset:
    """Source -> all texts of a dataset, with their group columns."""
    input:
        source=lambda wildcards: source_files(CONFIG.datasets[wildcards.dataset].source),
    output:
        texts="data/{dataset}/texts.parquet",
        meta="data/{dataset}/texts.meta.json",
    log:
        "logs/extract_dataset/{dataset}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:  # courtesy, no reason to extract anew
        contact=CONFIG.experiment.contact or "",
        requests_per_second=str(CONFIG.experiment.requests_per_second),
    params:
        settings=lambda wildcards: {
            "dataset": CONFIG.datasets[wildcards.dataset].science(),
            "revision": DATASETS_REVISION,
        },
    message:
        "Extracting dataset {wildcards.dataset}"
    script:
        "../scripts/sources/extract_dataset.py"


rule describe_dataset:
    """Texts of a dataset -> its card: source, filters, licence, checksum, lengths, revision ids."""
    input:
        texts="data/{dataset}/texts.parquet",
        meta="data/{dataset}/texts.meta.json",
    output:
        card="data/{dataset}/card.json",
        page=report(
            "data/{dataset}/card.md",
            caption="../report/card.rst",
            category="datasets",
            labels={"what": "card: {dataset}"},
        ),
    log:
        "logs/describe_dataset/{dataset}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "dataset": entry("datasets", wildcards.dataset),
            "revision": CARD_REVISION,
        },
    message:
        "Describing dataset {wildcards.dataset}"
    script:
        "../scripts/sources/describe_dataset.py"


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
    resources:  # no reason to fetch anew
        key_variable=lambda wildcards: getattr(
            CONFIG.models[wildcards.model].source, "key_variable", None
        )
        or "",
    params:
        settings=lambda wildcards: {
            "source": CONFIG.models[wildcards.model].science()["source"],
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


rule fetch_tagger:
    """Pipeline of a tagger -> in the cache; what it is, in data/."""
    input:
        source=lambda wildcards: source_files(CONFIG.taggers[wildcards.tagger].source),
    output:
        card="data/taggers/{tagger}.json",
    log:
        "logs/fetch_tagger/{tagger}.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "source": entry("taggers", wildcards.tagger)["source"],
            "revision": ENTITIES_REVISION,
        },
    message:
        "Fetching tagger {wildcards.tagger}"
    script:
        "../scripts/sources/fetch_tagger.py"


rule train_essay_model:
    """Graded essays of the user -> an LSTM that grades; how well it does, by cross-validation, in its card."""
    input:
        essays=lambda wildcards: essays(),
    output:
        model="data/models/essay/model.safetensors",
        vocabulary="data/models/essay/vocabulary.json",
        card="data/models/essay/card.json",
    log:
        "logs/train_essay_model.log",
    priority: 100
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=3000,
    params:
        settings={"revision": ESSAY_REVISION},
    message:
        "Training the essay model"
    script:
        "../scripts/sources/train_essay_model.py"
