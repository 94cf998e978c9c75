"""Papers: needs the tidy table of scores; makes the tables and figures of an experiment."""


rule plot_precision_recall:
    """Scores of a task -> PR Figure 1 (continuation) or PR Figure 2 (subsets), as SVG and PNG."""
    input:
        table="results/scores.parquet",
    output:
        svg=report(
            "results/papers/{paper}/{task}/precision-recall.svg",
            caption="../report/precision-recall.rst",
            category="{task}",
            labels={"what": "figure: precision and recall"},
        ),
        png="results/papers/{paper}/{task}/precision-recall.png",
    log:
        "logs/plot_precision_recall/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "task": wildcards.task,
            "kind": CONFIG.experiment.tasks[wildcards.task].kind,
            "dataset": CONFIG.experiment.tasks[wildcards.task].dataset,
            "subsets": getattr(CONFIG.experiment.tasks[wildcards.task], "subsets", {}),
            "references": getattr(
                CONFIG.experiment.tasks[wildcards.task], "references", []
            ),
            "models": styles(wildcards.task),
            "embedder": CONFIG.embedders[CONFIG.experiment.embedder].label,
            "revision": figures.REVISION,
        },
    message:
        "Plotting precision and recall of {wildcards.task}"
    script:
        "../scripts/papers/plot_precision_recall.py"


rule tabulate_scores:
    """Scores of a task -> mean and standard deviation per model, as CSV and HTML."""
    input:
        table="results/scores.parquet",
    output:
        csv="results/papers/{paper}/{task}/scores.csv",
        html=report(
            "results/papers/{paper}/{task}/scores.html",
            caption="../report/scores.rst",
            category="{task}",
            labels={"what": "table: all scores"},
        ),
    log:
        "logs/tabulate_scores/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {"task": wildcards.task, "revision": tables.REVISION},
    message:
        "Tabulating the scores of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_scores.py"


rule tabulate_variance:
    """Scores of a task -> how far they move with the seed and with the references, as in PR Table B.5."""
    input:
        table="results/scores.parquet",
    output:
        csv="results/papers/{paper}/{task}/variance.csv",
        html=report(
            "results/papers/{paper}/{task}/variance.html",
            caption="../report/variance.rst",
            category="{task}",
            labels={"what": "table: spread over seeds and references"},
        ),
    log:
        "logs/tabulate_variance/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {"task": wildcards.task, "revision": tables.REVISION},
    message:
        "Tabulating the spread of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_variance.py"


rule plot_sweep:
    """Sweeps of all cells of a task -> PR Figures 6 and B.1, as SVG and PNG."""
    input:
        scores=lambda wildcards: sweep_files(wildcards.task),
    output:
        svg=report(
            "results/papers/{paper}/{task}/sweep.svg",
            caption="../report/sweep.rst",
            category="{task}",
            labels={"what": "figure: N and k vary"},
        ),
        png="results/papers/{paper}/{task}/sweep.png",
    log:
        "logs/plot_sweep/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: task_settings(wildcards, "n", "k", "sweep")
        | {
            "models": styles(wildcards.task),
            "embedder": CONFIG.embedders[CONFIG.experiment.embedder].label,
            "revision": figures.REVISION,
        },
    message:
        "Plotting the sweep of {wildcards.task}"
    script:
        "../scripts/papers/plot_sweep.py"


rule tabulate_tokens:
    """Tokens per word of some models -> PR Table B.2, as CSV and HTML."""
    input:
        ratios=lambda wildcards: [
            f"data/{CONFIG.experiment.tokens_per_word.dataset}/tokens-per-word/{model}.json"
            for model in CONFIG.experiment.tokens_per_word.models
        ],
    output:
        csv="results/papers/{paper}/tokens-per-word.csv",
        html=report(
            "results/papers/{paper}/tokens-per-word.html",
            caption="../report/tokens-per-word.rst",
            category="{paper}",
            labels={"what": "table: tokens per word"},
        ),
    log:
        "logs/tabulate_tokens/{paper}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "dataset": CONFIG.experiment.tokens_per_word.dataset,
            "models": {
                model: {
                    "label": CONFIG.models[model].label,
                    "family": CONFIG.models[model].family,
                }
                for model in CONFIG.experiment.tokens_per_word.models
            },
            "revision": [WORDS_REVISION, tables.REVISION],
        },
    message:
        "Tabulating tokens per word"
    script:
        "../scripts/papers/tabulate_tokens.py"


rule tabulate_texts:
    """Metrics of single texts -> mean, deviation, correlations, as CSV and HTML (NW Tables 3 and 4)."""
    input:
        texts="results/{task}/texts.parquet",
    output:
        csv="results/papers/{paper}/{task}/texts.csv",
        html=report(
            "results/papers/{paper}/{task}/texts.html",
            caption="../report/texts.rst",
            category="{task}",
            labels={"what": "table: metrics of single texts"},
        ),
        correlations="results/papers/{paper}/{task}/correlations.csv",
    log:
        "logs/tabulate_texts/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "task": wildcards.task,
            "methods": method_names(wildcards.task),
            "missing": missing_families(),
            "revision": tables.REVISION,
        },
    message:
        "Tabulating the metrics of single texts of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_texts.py"


rule plot_correlations:
    """Correlations between the metrics of single texts -> NW Figure 4, as SVG and PNG."""
    input:
        correlations="results/papers/{paper}/{task}/correlations.csv",
    output:
        svg=report(
            "results/papers/{paper}/{task}/correlations.svg",
            caption="../report/correlations.rst",
            category="{task}",
            labels={"what": "figure: correlations of the metrics"},
        ),
        png="results/papers/{paper}/{task}/correlations.png",
    log:
        "logs/plot_correlations/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "task": wildcards.task,
            "revision": text_figures.REVISION,
        },
    message:
        "Plotting the correlations of {wildcards.task}"
    script:
        "../scripts/papers/plot_correlations.py"


rule plot_texts:
    """Means and deviations of the metrics of single texts -> NW Figures 1, 2, 3, 5 at once, as SVG and PNG."""
    input:
        table="results/papers/{paper}/{task}/texts.csv",
    output:
        svg=report(
            "results/papers/{paper}/{task}/texts.svg",
            caption="../report/texts.rst",
            category="{task}",
            labels={"what": "figure: metrics of single texts"},
        ),
        png="results/papers/{paper}/{task}/texts.png",
    log:
        "logs/plot_texts/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "task": wildcards.task,
            "revision": text_figures.REVISION,
        },
    message:
        "Plotting the metrics of single texts of {wildcards.task}"
    script:
        "../scripts/papers/plot_texts.py"


rule plot_parameters:
    """Metrics of single texts -> how they move with each parameter of decoding (NW Figures 1 to 3)."""
    input:
        table="results/papers/{paper}/{task}/texts.csv",
    output:
        csv="results/papers/{paper}/{task}/parameters.csv",
        svg=report(
            "results/papers/{paper}/{task}/parameters.svg",
            caption="../report/parameters.rst",
            category="{task}",
            labels={"what": "figure: parameters of decoding"},
        ),
        png="results/papers/{paper}/{task}/parameters.png",
    log:
        "logs/plot_parameters/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=lambda wildcards: {
            "task": wildcards.task,
            "decodings": decodings(wildcards.task),
            "revision": [tables.REVISION, text_figures.REVISION],
        },
    message:
        "Plotting the parameters of decoding of {wildcards.task}"
    script:
        "../scripts/papers/plot_parameters.py"


rule rank_methods:
    """Metrics of single texts -> the methods ranked by dominance, worth, depth and Q*Text (MC sections 4, 5)."""
    input:
        texts=lambda wildcards: [
            f"results/{task}/texts.parquet"
            for task in CONFIG.ranked()[wildcards.ranked]
        ],
    output:
        **ranking_outputs(),
    log:
        "logs/rank_methods/{paper}/{ranked}.log",
    wildcard_constraints:
        ranked=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=4000,
    params:
        settings=lambda wildcards: ranking_settings(wildcards.ranked),
    message:
        "Ranking the methods of {wildcards.ranked}"
    script:
        "../scripts/papers/rank_methods.py"
