"""Create the tables and figures of an experiment from the tidy tables of scores."""


rule plot_precision_recall:
    """Plot precision and recall of a task: PR Figure 1 for generated texts, PR Figure 2 for subsets."""
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
    priority: 30
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
    """Tabulate mean and standard deviation of the scores of a task, as CSV and HTML."""
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
    """Tabulate the variability of precision and recall over seeds and references (PR Table B.5)."""
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
        "Tabulating the variability of precision and recall of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_variance.py"


rule plot_sweep:
    """Plot precision and recall against N and k (PR Figures 6 and B.1)."""
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


rule tabulate_texts:
    """Tabulate means, standard deviations and correlations of the per-text metrics (NW Tables 3 and 4)."""
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
        "Tabulating the per-text metrics of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_texts.py"


rule plot_correlations:
    """Plot the correlations between the per-text metrics (NW Figure 4)."""
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
    """Plot means and standard deviations of the per-text metrics of all methods (NW Figures 1, 2, 3, 5)."""
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
        "Plotting the per-text metrics of {wildcards.task}"
    script:
        "../scripts/papers/plot_texts.py"


rule plot_parameters:
    """Plot the per-text metrics against each decoding parameter (NW Figures 1 to 3)."""
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
        "Plotting the per-text metrics of {wildcards.task} against the decoding parameters"
    script:
        "../scripts/papers/plot_parameters.py"


rule tabulate_differences:
    """Tabulate the differences between each two methods, with paired intervals and corrected p-values."""
    input:
        scores=paths.ALL_SCORES,
        half_samples=bound(inputs.half_samples),
        texts=bound(inputs.all_text_scores),
    output:
        csv=f"{paths.PAPER_TASK}/differences.csv",
        html=in_report(
            f"{paths.PAPER_TASK}/differences.html",
            "differences",
            "{task}",
            "table: differences between methods",
        ),
    log:
        "logs/tabulate_differences/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.tabulate_differences),
    message:
        "Comparing the methods of {wildcards.task}"
    script:
        "../scripts/papers/tabulate_differences.py"


rule plot_differences:
    """Plot the differences between each two methods, with their intervals."""
    input:
        table=f"{paths.PAPER_TASK}/differences.csv",
    output:
        svg=in_report(
            f"{paths.PAPER_TASK}/differences.svg",
            "differences",
            "{task}",
            "figure: differences between methods",
        ),
        png=f"{paths.PAPER_TASK}/differences.png",
    log:
        "logs/plot_differences/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_differences),
    message:
        "Plotting the differences between the methods of {wildcards.task}"
    script:
        "../scripts/papers/plot_differences.py"


rule plot_similarity:
    """Plot the mean cosine of completions of one prompt, within and between methods, as a heat map."""
    input:
        generations=bound(inputs.compared_generations),
        features=bound(inputs.projected_features),
        references=bound(inputs.first_references),
    output:
        csv=f"{paths.PAPER_TASK}/similarity.csv",
        svg=in_report(
            f"{paths.PAPER_TASK}/similarity.svg",
            "similarity",
            "{task}",
            "figure: similarity of completions",
        ),
        png=f"{paths.PAPER_TASK}/similarity.png",
    log:
        "logs/plot_similarity/{paper}/{task}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.plot_similarity),
    message:
        "Plotting the similarity of the completions of {wildcards.task}"
    script:
        "../scripts/papers/plot_similarity.py"


rule rank_methods:
    """Rank the methods by dominance, Bradley-Terry worth, depth and Q*Text (MC sections 4 and 5)."""
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


rule tune_q_text:
    """Tune the parameters of Q*Text to the user's human ratings (MC appendix G)."""
    input:
        texts=bound(inputs.ranked_texts),
        ratings=bound(inputs.ratings),
    output:
        table=paths.TUNING,
        rated=paths.RATED,
    log:
        "logs/tune_q_text/{paper}/{ranked}.log",
    wildcard_constraints:
        ranked=SLUG_PATTERN,
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=4000,
    params:
        settings=bound(settings.tune_q_text),
    message:
        "Tuning Q*Text to the ratings of {wildcards.ranked}"
    script:
        "../scripts/papers/tune_q_text.py"


rule project_features:
    """Project the features of a task to two dimensions, for the map of its texts."""
    input:
        features=bound(inputs.projected_features),
    output:
        map=paths.MAP,
    log:
        "logs/project_features/{paper}/{task}.log",
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.project_features),
    message:
        "Projecting the features of {wildcards.task}"
    script:
        "../scripts/papers/project_features.py"


rule make_page:
    """Make the page of an experiment, or of one task: scores, figures, texts, data and settings."""
    input:
        files=bound(inputs.page_files),
    output:
        page=paths.PAGE,
    log:
        "logs/make_page/{page}.log",
    wildcard_constraints:
        page=f"{SLUG_PATTERN}(/{SLUG_PATTERN})?",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.make_page),
    message:
        "Making the page of {wildcards.page}"
    script:
        "../scripts/papers/make_page.py"


for target in CONFIG.experiment.targets:

    rule:  # make_target, under the number of the table or figure
        name:
            target
        input:
            **target_files(CONFIG, target),
        output:
            **target_outputs(target),
        log:
            f"logs/make_target/{CONFIG.experiment.name}/{target}.log",
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        params:
            settings=bound(settings.make_target, target=target),
        message:
            f"Making {target} of {CONFIG.experiment.name}"
        script:
            "../scripts/papers/make_target.py"


for group, parts in targets.target_groups(CONFIG).items():

    rule:
        name:
            group
        input:
            [
                file
                for part in parts
                for file in targets.target_outputs(CONFIG, part).values()
            ],
        localrule: True
