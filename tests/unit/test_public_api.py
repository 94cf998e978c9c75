"""The public API: its names, what importing it loads, and what a type checker sees."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.resources import files
from typing import TYPE_CHECKING, assert_type

import pytest

import textgamut

NAMES = {
    "support_metrics", "reduce_features", "support_sweep", "group_metrics", "bootstrap_intervals",
    "divergence_metrics", "self_bleu", "distinct_n", "repetition_n", "diversity", "likelihood", "embed",
    "fit_bradley_terry", "ufg_depth", "dominance_orders", "pareto_front", "q_text", "tune_q_text",
    "load_config", "TextgamutError", "score", "compare", "gate", "__version__",
    "vendi_score", "conditional_vendi", "mmd", "frechet_distance", "pairwise_cosine", "between_cosine",
    "cosine_matrix", "distinct_completions", "effective_diversity", "compression_ratio", "ngram_diversity",
    "self_repetition", "homogenization", "cut_to_words", "unigram_entropy", "expectation_adjusted_distinct",
}  # fmt: skip
if TYPE_CHECKING:  # checked by `make lint`
    assert_type(textgamut.score(["a", "b"], ["c", "d"], metrics=["support"]).precision, float)
    assert_type(textgamut.support_metrics([[1.0]], [[1.0]]).recall, float)
HEAVY = ("torch", "transformers", "numpy", "pandas", "matplotlib", "pydantic")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_the_names_are_these() -> None:
    assert set(textgamut.__all__) == NAMES
    assert set(dir(textgamut)) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES - {"__version__"}))
def test_every_name_is_a_documented_function_or_class(name: str) -> None:
    value = getattr(textgamut, name)
    assert callable(value)
    assert value.__doc__
    assert value.__name__ == name


def test_another_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'textgamut' has no attribute 'precision'"):
        textgamut.precision  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError):
        from textgamut import precision  # type: ignore[attr-defined]  # noqa: F401


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = run(
        "import sys, textgamut; dir(textgamut), textgamut.TextgamutError; print(sorted(sys.modules))"
    )
    for name in HEAVY:
        assert f"'{name}'" not in loaded


def test_a_name_stays_a_function_after_the_module_of_that_name_is_imported() -> None:
    code = (
        "import textgamut, textgamut.features.embed, textgamut.metrics.likelihood\n"
        "from textgamut import embed, likelihood\n"
        "print(callable(embed), callable(likelihood), callable(textgamut.embed))"
    )
    assert run(code).split() == ["True"] * 3


def test_a_type_checker_sees_the_same_names() -> None:
    package = files("textgamut")
    assert package.joinpath("py.typed").is_file()
    stub = ast.parse(package.joinpath("__init__.pyi").read_text())
    imported = {
        alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # only these are exported to users of a strict type checker
    }
    assert set(imported) == NAMES - {"__version__"}
    for name, module in imported.items():
        assert getattr(textgamut, name) is getattr(sys.modules[module], name)
