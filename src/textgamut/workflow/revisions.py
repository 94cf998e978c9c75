"""Revisions of the modules that determine the output of each rule.

Such a module has a ``REVISION``, an integer that is increased only when the same input produces a different
output. A rule is rerun when a revision of its modules changes, not on every change of their code, so that
editing a comment costs no GPU hours. A test compares this table with the imports of each rule's script.
"""

from __future__ import annotations

from importlib import import_module

from textgamut.catalogue import FAMILIES

MODULES: dict[str, tuple[str, ...]] = {
    "extract_dataset": ("datasets.extract",),
    "describe_dataset": ("datasets.card",),
    "read_scores": ("rankings.score_table", "rankings.method_scores"),
    "fetch_model": ("models.checkpoints",),
    "finetune_model": ("models.finetuning", "tasks.templates", "models.checkpoints"),
    "fetch_embedder": ("models.checkpoints",),
    "fetch_tagger": ("metrics.entities",),
    "train_essay_model": ("models.essay_model",),
    "draw_prompts": ("tasks.drawing", "tasks.templates"),
    "draw_references": ("tasks.drawing",),
    "draw_held_out": ("tasks.drawing",),
    "draw_subset": ("tasks.drawing",),
    "draw_training_texts": ("tasks.drawing",),
    "copy_references": ("tasks.drawing",),
    "check_prompts": ("tasks.templates", "models.checkpoints"),
    "count_tokens": ("metrics.tokens_per_word", "models.checkpoints"),
    "generate_texts": ("generation", "tasks.templates", "models.checkpoints"),
    "import_texts": ("generation.given",),
    "collect_generations": ("tasks.answers",),
    "embed_texts": ("features.embed", "models.checkpoints"),
    "measure_part": ("metrics.support", "features.reduce"),
    "trace_divergence": ("metrics.divergence", "features.reduce"),
    "score_perplexity": ("metrics.likelihood", "tasks.templates", "models.checkpoints"),
    "check_metrics": (
        "metrics.sanity.sanity_checks",
        "features.embed",
        "models.checkpoints",
        "metrics.support",
        "metrics.divergence",
        "metrics.vendi",
        "metrics.distance",
        "metrics.ngram",
        "metrics.compression",
        "features.reduce",
        "report.figures.sanity",
        "report.figures.look",
    ),
    "check_cheats": (
        "metrics.sanity.cheats",
        "metrics.sanity.sanity_checks",
        "generation",
        "tasks.templates",
        "models.checkpoints",
        "features.embed",
        "metrics.likelihood",
        "rankings.qtext",
        "metrics.support",
        "metrics.divergence",
        "metrics.vendi",
        "metrics.distance",
        "metrics.ngram",
        "metrics.compression",
        "features.reduce",
    ),
    "sweep_support": ("metrics.sweep_scores", "metrics.support", "features.reduce"),
    "cut_texts": ("metrics.lengths",),
    "compare_methods": ("inference.set_differences", "inference.text_differences", "models.checkpoints"),
    "test_gate": (
        "inference.gates",
        "inference.set_differences",
        "inference.differences",
        "metrics.support",
        "metrics.divergence",
        "metrics.ngram",
        "metrics.copying",
        "metrics.defects",
        "metrics.lengths",
        "metrics.neighbours",
        "features.reduce",
        "report.experiment_page",
        "report.html",
        "report.figures.look",
    ),
    "explain_support": ("metrics.support", "features.reduce", "metrics.neighbours", "metrics.regions"),
    "project_features": ("features.projection",),
    "make_result": (
        "report.figures.precision_recall",
        "report.tables",
        "report.figures.lines",
        "report.figures.sweep",
        "report.figures.temperatures",
        "report.figures.text_figures",
        "report.html",
        "inference.differences",
        "inference.text_differences",
        "inference.verdicts",
        "features.reduce",
        "report.figures.differences",
        "metrics.completions",
        "report.figures.similarity_matrix",
        "report.table_formats",
        "report.figures.look",
    ),
    "make_page": (
        "inference.differences",
        "inference.verdicts",
        "report.criteria",
        "report.explorer_chunks",
        "report.html",
        "report.experiment_page",
        "report.methods",
        "report.places",
        "report.tables",
    ),
    "make_target": (
        "report.tables",
        "report.figures.bars",
        "metrics.divergence",
        "report.figures.hasse",
        "report.figures.lines",
        "report.figures.precision_recall",
        "report.figures.scatter",
        "report.figures.text_figures",
        "report.figures.text_bars",
        "rankings.agreement",
        "rankings.bradley_terry",
        "rankings.dominance",
        "rankings.gsd_front",
        "rankings.method_scores",
        "rankings.qtext",
        "rankings.rank_intervals",
        "rankings.ranking",
        "rankings.ufg_depth",
        "report.papers.ranking_targets",
        "report.papers.registry_targets",
        "report.papers.score_targets",
        "report.papers.text_targets",
        "report.papers.samples",
        "report.papers.target_page",
        "report.html",
        "report.table_formats",
        "report.figures.look",
    ),
    "rank_methods": (
        "rankings.agreement",
        "rankings.bradley_terry",
        "rankings.dominance",
        "rankings.gsd_front",
        "report.figures.hasse",
        "rankings.method_scores",
        "rankings.qtext",
        "rankings.rank_intervals",
        "rankings.ranking",
        "rankings.score_table",
        "rankings.ufg_depth",
        "report.figures.ranking_figures",
        "report.places",
        "report.html",
        "report.table_formats",
        "report.figures.look",
    ),
    "tune_q_text": ("rankings.tuning", "rankings.qtext", "rankings.method_scores"),
}
"""Rule -> the modules with the revisions in its settings."""


def revision_of(rule: str) -> int | list[int]:
    """Return the revisions of a rule's modules, in their order; a single one as a number.

    The declaration of a family names the modules of its rule.

    Raises:
        KeyError: If the rule is neither in the table nor a family's.
    """
    names = MODULES[rule] if rule in MODULES else FAMILIES[rule.removeprefix("score_")].revisions
    numbers: list[int] = [import_module(f"textgamut.{name}").REVISION for name in names]
    return numbers[0] if len(numbers) == 1 else numbers
