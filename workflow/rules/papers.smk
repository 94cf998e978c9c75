"""Papers: needs the tidy table of scores; makes the tables and figures of an experiment."""


rule plot_precision_recall:
    """Scores of a task -> PR Figure 1 (continuation) or PR Figure 2 (subsets), as SVG and PNG."""
    input:
        table=paths.ALL_SCORES,
    output:
        svg=in_report(
            f"{paths.PAPER_TASK}/precision-recall.svg",
            "precision-recall",
            "{task}",
            "figure: precision and recall",
        ),
        png=f"{paths.PAPER_TASK}/precision-recall.png",
    log:
        "logs/plot_precision_recall/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_precision_recall),
    message:
        "Plotting precision and recall of {wildcards.task}"
    script:
        "../scripts/papers/plot_precision_recall.py"


rule tabulate_scores:
    """Scores of a task -> mean and standard deviation per model, as CSV and HTML."""
    input:
        table=paths.ALL_SCORES,
    output:
        csv=f"{paths.PAPER_TASK}/scores.csv",
        html=in_report(
            f"{paths.PAPER_TASK}/scores.html",
            "scores",
            "{task}",
            "table: all scores",
        ),
    log:
        "logs/tabulate_scores/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.tabulate_scores),
    message:
        "Tabulating the scores of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_scores.py"


rule tabulate_variance:
    """Scores of a task -> how far they move with the seed and with the references, as in PR Table B.5."""
    input:
        table=paths.ALL_SCORES,
    output:
        csv=f"{paths.PAPER_TASK}/variance.csv",
        html=in_report(
            f"{paths.PAPER_TASK}/variance.html",
            "variance",
            "{task}",
            "table: spread over seeds and references",
        ),
    log:
        "logs/tabulate_variance/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.tabulate_variance),
    message:
        "Tabulating the spread of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_variance.py"


rule plot_sweep:
    """Sweeps of all cells of a task -> PR Figures 6 and B.1, as SVG and PNG."""
    input:
        scores=bound(inputs.sweeps),
    output:
        svg=in_report(
            f"{paths.PAPER_TASK}/sweep.svg",
            "sweep",
            "{task}",
            "figure: N and k vary",
        ),
        png=f"{paths.PAPER_TASK}/sweep.png",
    log:
        "logs/plot_sweep/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_sweep),
    message:
        "Plotting the sweep of {wildcards.task}"
    script:
        "../scripts/papers/plot_sweep.py"


rule tabulate_tokens:
    """Tokens per word of some models -> PR Table B.2, as CSV and HTML."""
    input:
        ratios=bound(inputs.counted_tokens),
    output:
        csv=f"{paths.PAPER}/tokens-per-word.csv",
        html=in_report(
            f"{paths.PAPER}/tokens-per-word.html",
            "tokens-per-word",
            "{paper}",
            "table: tokens per word",
        ),
    log:
        "logs/tabulate_tokens/{paper}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.tabulate_tokens),
    message:
        "Tabulating tokens per word"
    script:
        "../scripts/papers/tabulate_tokens.py"


rule tabulate_texts:
    """Metrics of single texts -> mean, deviation, correlations, as CSV and HTML (NW Tables 3 and 4)."""
    input:
        texts=paths.ALL_TEXT_SCORES,
    output:
        csv=f"{paths.PAPER_TASK}/texts.csv",
        html=in_report(
            f"{paths.PAPER_TASK}/texts.html",
            "texts",
            "{task}",
            "table: metrics of single texts",
        ),
        correlations=f"{paths.PAPER_TASK}/correlations.csv",
    log:
        "logs/tabulate_texts/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.tabulate_texts),
    message:
        "Tabulating the metrics of single texts of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_texts.py"


rule plot_correlations:
    """Correlations between the metrics of single texts -> NW Figure 4, as SVG and PNG."""
    input:
        correlations=f"{paths.PAPER_TASK}/correlations.csv",
    output:
        svg=in_report(
            f"{paths.PAPER_TASK}/correlations.svg",
            "correlations",
            "{task}",
            "figure: correlations of the metrics",
        ),
        png=f"{paths.PAPER_TASK}/correlations.png",
    log:
        "logs/plot_correlations/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_correlations),
    message:
        "Plotting the correlations of {wildcards.task}"
    script:
        "../scripts/papers/plot_correlations.py"


rule plot_texts:
    """Means and deviations of the metrics of single texts -> NW Figures 1, 2, 3, 5 at once, as SVG and PNG."""
    input:
        table=f"{paths.PAPER_TASK}/texts.csv",
    output:
        svg=in_report(
            f"{paths.PAPER_TASK}/texts.svg",
            "texts",
            "{task}",
            "figure: metrics of single texts",
        ),
        png=f"{paths.PAPER_TASK}/texts.png",
    log:
        "logs/plot_texts/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_texts),
    message:
        "Plotting the metrics of single texts of {wildcards.task}"
    script:
        "../scripts/papers/plot_texts.py"


rule plot_parameters:
    """Metrics of single texts -> how they move with each parameter of decoding (NW Figures 1 to 3)."""
    input:
        table=f"{paths.PAPER_TASK}/texts.csv",
    output:
        csv=f"{paths.PAPER_TASK}/parameters.csv",
        svg=in_report(
            f"{paths.PAPER_TASK}/parameters.svg",
            "parameters",
            "{task}",
            "figure: parameters of decoding",
        ),
        png=f"{paths.PAPER_TASK}/parameters.png",
    log:
        "logs/plot_parameters/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_parameters),
    message:
        "Plotting the parameters of decoding of {wildcards.task}"
    script:
        "../scripts/papers/plot_parameters.py"


rule rank_methods:
    """Metrics of single texts -> the methods ranked by dominance, worth, depth and Q*Text (MC sections 4, 5)."""
    input:
        texts=bound(inputs.ranked_texts),
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
        settings=bound(settings.rank_methods),
    message:
        "Ranking the methods of {wildcards.ranked}"
    script:
        "../scripts/papers/rank_methods.py"
