"""Revisions of the modules that determine the output of each rule.

Such a module has a ``REVISION``, an integer that is increased only when the same input produces a different
output. A rule is rerun when a revision of its modules changes, not on every change of their code, so that
editing a comment costs no GPU hours. A test compares this table with the imports of each rule's script.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from textgamut import generation
from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import Family
from textgamut.datasets import card, extract
from textgamut.features import embed, projection, reduce
from textgamut.generation import given
from textgamut.metrics import (
    completions,
    compression,
    distance,
    divergence,
    entities,
    likelihood,
    neighbours,
    ngram,
    paired_differences,
    support,
    sweep_scores,
    tokens_per_word,
    vendi,
)
from textgamut.metrics.sanity import checks
from textgamut.models import checkpoints, essay_model, finetuning
from textgamut.rankings import (
    agreement,
    bradley_terry,
    dominance,
    method_scores,
    qtext,
    ranking,
    score_table,
    tuning,
    ufg_depth,
)
from textgamut.report import criteria, explorer, html, page, tables
from textgamut.report.figures import (
    bars,
    differences,
    hasse,
    lines,
    precision_recall,
    rankings,
    scatter,
    similarity_matrix,
    sweep,
    text_bars,
    texts,
)
from textgamut.report.figures import sanity as sanity_figure
from textgamut.report.papers import page as paper_page
from textgamut.report.papers import rankings as paper_rankings
from textgamut.report.papers import samples as paper_samples
from textgamut.report.papers import scores as paper_scores
from textgamut.report.papers import texts as paper_texts
from textgamut.tasks import answers, draws, templates

MODULES: dict[str, tuple[ModuleType, ...]] = {
    "extract_dataset": (extract,),
    "describe_dataset": (card,),
    "read_scores": (score_table, method_scores),
    "fetch_model": (checkpoints,),
    "finetune_model": (finetuning, templates, checkpoints),
    "fetch_embedder": (checkpoints,),
    "fetch_tagger": (entities,),
    "train_essay_model": (essay_model,),
    "draw_prompts": (draws, templates),
    "draw_references": (draws,),
    "draw_subset": (draws,),
    "draw_training_texts": (draws,),
    "copy_references": (draws,),
    "check_prompts": (templates, checkpoints),
    "count_tokens": (tokens_per_word, checkpoints),
    "generate_texts": (generation, templates, checkpoints),
    "import_texts": (given,),
    "collect_generations": (answers,),
    "embed_texts": (embed, checkpoints),
    "trace_divergence": (divergence, reduce),
    "score_perplexity": (likelihood, templates, checkpoints),
    "check_metrics": (
        checks,
        embed,
        checkpoints,
        support,
        divergence,
        vendi,
        distance,
        ngram,
        compression,
        reduce,
        sanity_figure,
    ),
    "sweep_support": (sweep_scores, support, reduce),
    "explain_support": (support, reduce, neighbours),
    "project_features": (projection,),
    "make_result": (
        precision_recall,
        tables,
        lines,
        sweep,
        texts,
        html,
        paired_differences,
        support,
        reduce,
        differences,
        completions,
        similarity_matrix,
    ),
    "make_page": (criteria, explorer, html, page, tables),
    "make_target": (
        tables,
        bars,
        divergence,
        hasse,
        lines,
        precision_recall,
        scatter,
        texts,
        text_bars,
        agreement,
        bradley_terry,
        dominance,
        method_scores,
        qtext,
        ranking,
        ufg_depth,
        paper_rankings,
        paper_scores,
        paper_texts,
        paper_samples,
        paper_page,
    ),
    "rank_methods": (
        agreement,
        bradley_terry,
        dominance,
        hasse,
        method_scores,
        qtext,
        ranking,
        score_table,
        ufg_depth,
        rankings,
        html,
    ),
    "tune_q_text": (tuning, qtext, method_scores),
}
"""Rule -> the modules with the revisions in its settings."""


def modules_of(family: Family) -> list[ModuleType]:
    """Return the modules with the revisions of a family, which its declaration names."""
    return [import_module(f"textgamut.{name}") for name in family.revisions]


def revision_of(rule: str) -> int | list[int]:
    """Return the revisions of a rule's modules, in the order of ``MODULES``; a single one as a number.

    Raises:
        KeyError: If the rule is neither in the table nor that of a family.
    """
    modules = MODULES[rule] if rule in MODULES else modules_of(FAMILIES[rule.removeprefix("score_")])
    numbers: list[int] = [module.REVISION for module in modules]
    return numbers[0] if len(numbers) == 1 else numbers
