"""Test whether texts got worse than those of a baseline, and fail at the end of the target `gate` if they did.

Snakemake deletes what a failed job has written: so the rule that writes a verdict succeeds, and another one fails.
"""


rule test_gate:
    """Test whether the texts of a candidate are worse than those of a baseline, and write the verdict."""
    input:
        baseline=bound(inputs.of_gate, side="baseline", path=paths.GENERATIONS),
        baseline_features=bound(
            inputs.of_gate, side="baseline", path=paths.CELL_FEATURES
        ),
        candidate=bound(inputs.of_gate, side="candidate", path=paths.GENERATIONS),
        candidate_features=bound(
            inputs.of_gate, side="candidate", path=paths.CELL_FEATURES
        ),
        references=bound(inputs.gate_references, path=paths.REFERENCES),
        reference_features=bound(inputs.gate_references, path=paths.REFERENCE_FEATURES),
        dataset=bound(inputs.gate_dataset),
    output:
        **gate_outputs(),
    log:
        "logs/test_gate/{paper}/{gate}.log",
    wildcard_constraints:
        gate=paths.one_of(CONFIG.experiment.gates),
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=4000,
    params:
        settings=bound(settings.test_gate),
    message:
        "Testing the gate {wildcards.gate}"
    script:
        "../scripts/scores/test_gate.py"


rule conclude_gates:
    """Fail if a gate of the experiment fails. All other files of the experiment are made before."""
    input:
        verdicts=outputs.gate_files(CONFIG, CONFIG.experiment.gates, ["verdict"]),
        others=task_results.experiment_files(CONFIG) if CONFIG.experiment.gates else [],
    output:
        outcomes=paths.GATES,
    log:
        "logs/conclude_gates/{paper}.log",
    localrule: True
    conda:
        "../../envs/cpu.yaml"
    params:
        settings=bound(settings.conclude_gates),
    message:
        "Concluding the gates of {wildcards.paper}"
    script:
        "../scripts/scores/conclude_gates.py"


if CONFIG.experiment.gates:

    rule gate:
        input:
            paths.fill(paths.GATES, paper=CONFIG.experiment.name),
        localrule: True
