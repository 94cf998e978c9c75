"""Create the tables and figures of an experiment from the tidy tables of scores."""

for result in task_results.TASK_RESULTS:

    rule:  # tabulate_scores, plot_precision_recall and so on
        name:
            result.rule
        input:
            **{
                name: bound(file) if callable(file) else file
                for name, file in result.inputs.items()
            },
        output:
            **result_outputs(result),
        log:
            f"logs/{result.rule}/{{paper}}/{{task}}.log",
        priority: result.priority
        localrule: True
        conda:
            "../../envs/cpu.yaml"
        params:
            settings=bound(getattr(settings, result.rule)),
        message:
            f"{result.message} {{wildcards.task}}"
        script:
            "../scripts/papers/make_result.py"


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
        table=paths.MAP,
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
        files=bound(task_results.page_inputs),
    output:
        html=paths.PAGE,
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
