"""Revisions: a rule carries those of every module that its script reaches, and no others."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest
from helpers import ROOT

from textgamut.catalogue import FAMILIES
from textgamut.catalogue.family import MODEL, TOKENIZER
from textgamut.workflow.revisions import MODULES

NO_PROMPTS = "it makes no prompts"
NOT_SHOWN = "its page does not show it"
NOT_NEEDED = {
    ("fetch_model", "tasks.templates"): "it looks for a chat template only",
    ("draw_references", "tasks.templates"): NO_PROMPTS,
    ("draw_held_out", "tasks.templates"): NO_PROMPTS,
    ("draw_subset", "tasks.templates"): NO_PROMPTS,
    ("draw_training_texts", "tasks.templates"): NO_PROMPTS,
    ("copy_references", "tasks.templates"): NO_PROMPTS,
    ("collect_generations", "tasks.templates"): "of prompts it needs the longest name only",
    ("import_texts", "tasks.templates"): NO_PROMPTS,
    ("import_texts", "generation"): "it generates no texts",
    ("score_perplexity", "generation"): "it renders prompts; the texts and their likelihoods are its input",
    ("project_features", "features.reduce"): "it checks features, but does not reduce them",
    ("compare_methods", "inference.differences"): "p-values are corrected where all of them are known",
    ("test_gate", "features.embed"): "it embeds nothing: features are its input",
    ("test_gate", "models.checkpoints"): "it loads no checkpoint",
    ("test_gate", "generation"): "it generates no texts",
    ("test_gate", "generation.given"): "it reads the texts of cells only",
    ("test_gate", "features.projection"): NOT_SHOWN,
    ("test_gate", "inference.intervals"): NOT_SHOWN,
    ("test_gate", "inference.text_differences"): "means of texts are tested by resamples",
    ("test_gate", "inference.verdicts"): NOT_SHOWN,
    ("test_gate", "metrics.distance"): "it has no held-out human texts",
    ("test_gate", "metrics.regions"): NOT_SHOWN,
    ("test_gate", "report.criteria"): NOT_SHOWN,
    ("test_gate", "report.explorer_chunks"): NOT_SHOWN,
    ("test_gate", "report.figures.precision_recall"): NOT_SHOWN,
    ("test_gate", "report.methods"): NOT_SHOWN,
    ("test_gate", "report.tables"): NOT_SHOWN,
    ("make_page", "features.projection"): "it needs the names of projections only",
    ("make_page", "features.reduce"): "it reduces no features",
    ("make_page", "metrics.neighbours"): "it needs the names of the sides only",
    ("make_page", "metrics.regions"): "it reads regions, and computes none",
    ("make_result", "metrics.vendi"): "of the measures of completions it needs cosines only",
    ("make_target", "features.reduce"): "of the divergence metrics it needs the F-score of a curve only",
}
"""Rule and module -> why the rule's output does not depend on the revision of a module that it imports."""


def file_of(module: str) -> Path | None:
    path = ROOT / "src" / module.replace(".", "/")
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.exists():
            return candidate
    return None


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules of the package that a file imports, also inside functions; not for type checking."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in checking:
            for name in node.names:
                whole = f"{node.module}.{name.name}"
                found.add(whole if file_of(whole) else node.module)
    return frozenset(name for name in found if name.startswith("textgamut."))


def reached(script: Path) -> set[str]:
    """Return the modules that a script imports, those that these import, and so on; and their packages."""
    seen: set[str] = set()
    left = set(imports(script))
    while left:
        module = left.pop()
        path = file_of(module)
        if module in seen or path is None:
            continue
        seen.add(module)
        left |= imports(path)
        package = module.rpartition(".")[0]
        left |= {package} - {"textgamut"}
    return seen


@cache
def has_revision(module: str) -> bool:
    path = file_of(module)
    assert path
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "REVISION"
        for node in ast.parse(path.read_text(encoding="utf-8")).body
    )


def start_of(rule: str) -> Path:
    """Return the file that computes a rule's output: its script, or the scorer of a family."""
    name = rule.removeprefix("score_")
    if name in FAMILIES:
        scorer = file_of(FAMILIES[name].scorer.partition(":")[0])
        assert scorer
        return scorer
    [script] = (ROOT / "workflow/scripts").rglob(f"{rule}.py")
    return script


def needed_by(rule: str) -> set[str]:
    """Return the modules with a revision on which the output of a rule depends."""
    start = start_of(rule)
    own = ".".join(start.relative_to(ROOT / "src").with_suffix("").parts) if "src" in start.parts else ""
    needed = {name for name in {own} - {""} | reached(start) if has_revision(name)}
    return {name.removeprefix("textgamut.") for name in needed}


@pytest.mark.parametrize("rule", MODULES)
def test_a_rule_carries_the_revisions_of_what_its_script_reaches(rule: str) -> None:
    needed = needed_by(rule) - {module for exempt, module in NOT_NEEDED if exempt == rule}
    assert set(MODULES[rule]) == needed


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_carries_the_revisions_of_what_its_scorer_reaches(family: str) -> None:
    """And of what loads the model or the tokenizer that it reads."""
    loads = {"models.checkpoints"} if {MODEL, TOKENIZER} & set(FAMILIES[family].reads) else set()
    needed = needed_by(f"score_{family}") - {module for exempt, module in NOT_NEEDED if exempt == family}
    assert set(FAMILIES[family].revisions) == needed | loads


def test_every_exemption_is_one() -> None:
    for rule, module in NOT_NEEDED:
        assert module in needed_by(rule)


def test_every_revision_is_carried_by_a_rule() -> None:
    files = (ROOT / "src").rglob("*.py")
    names = {".".join(path.relative_to(ROOT / "src").with_suffix("").parts) for path in files}
    with_revision = {
        name.removesuffix(".__init__") for name in names if has_revision(name.removesuffix(".__init__"))
    }
    of_intervals = ("inference.intervals",)  # in the settings of all families, see settings.score_family
    carried = [*MODULES.values(), *(family.revisions for family in FAMILIES.values()), of_intervals]
    assert with_revision == {f"textgamut.{name}" for names in carried for name in names}
