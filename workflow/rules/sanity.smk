"""Put the metrics through sanity checks, for the developers: `make sanity`."""

from textgamut.workflow.checked_corpora import CHECKED, ENGLISH


rule check_metrics:
    """Put all metrics of distributions through the same sanity checks, on passages of real texts."""
    input:
        texts=paths.TEXTS,
        card=bound(inputs.checked_embedder),
    output:
        rows=paths.fill_some(paths.CHECKS, name="rows.csv"),
        table=paths.fill_some(paths.CHECKS, name="table.csv"),
        svg=paths.fill_some(paths.CHECKS, name="checks.svg"),
        png=paths.fill_some(paths.CHECKS, name="checks.png"),
    log:
        "logs/check_metrics/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(CHECKED),
    conda:
        "../../envs/cuda.yaml"
    threads: 2
    resources:
        mem_mb=3000,
        batch_size=bound(resources.checked_batch_size),
    params:
        settings=bound(settings.check_metrics),
    message:
        "Checking the metrics on passages of {wildcards.dataset}"
    script:
        "../scripts/metrics/check_metrics.py"


rule check_cheats:
    """Plant samplers that cheat perplexity, and check which metrics prefer them to human texts."""
    input:
        texts=paths.TEXTS,
        cards=bound(inputs.cheat_models),
    output:
        prompts=paths.fill_some(paths.CHECKS, name="cheats/prompts.parquet"),
        samples=paths.fill_some(paths.CHECKS, name="cheats/shards/0-of-1.parquet"),
        rows=paths.fill_some(paths.CHECKS, name="cheat-rows.csv"),
        table=paths.fill_some(paths.CHECKS, name="cheats.csv"),
    log:
        "logs/check_cheats/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(ENGLISH),
    conda:
        "../../envs/cuda.yaml"
    threads: 2
    resources:
        mem_mb=5000,
        batch_size=bound(resources.checked_batch_size),
    params:
        settings=bound(settings.check_cheats),
    message:
        "Planting samplers that cheat on passages of {wildcards.dataset}"
    script:
        "../scripts/metrics/check_cheats.py"
