"""Paths: spelled once, with wildcards that are replaced by name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import PurePath

import pytest
from helpers import ROOT
from pydantic import TypeAdapter, ValidationError

from textgamut.config.cells import RESERVED, Cell
from textgamut.fields import Slug
from textgamut.workflow import paths
from textgamut.workflow.paths import fill, fill_some, wildcards_of

CELL = Cell("news", "chat", "greedy", 3)


def test_a_cell_has_a_folder_of_its_own() -> None:
    assert fill(paths.CELL, CELL) == "results/news/chat/greedy/seed3"


def test_values_by_name_take_precedence() -> None:
    path = fill(paths.SHARD, CELL, task="other", shard=1, shards=2)
    assert path == "results/other/chat/greedy/seed3/shards/1-of-2.parquet"


def test_a_wildcard_without_a_value_is_an_error() -> None:
    with pytest.raises(AttributeError, match="draw"):
        fill(paths.REFERENCES, CELL)


def test_wildcards_are_read_from_a_path() -> None:
    path = fill(paths.TEXT_SCORES, CELL, family="ngram")
    names = {"task": "news", "model": "chat", "decoding": "greedy", "seed": "3"}
    assert wildcards_of(paths.TEXT_SCORES, path) == names | {"family": "ngram"}
    assert wildcards_of(paths.GENERATIONS, f"/a/run/{fill(paths.GENERATIONS, CELL)}") == names
    with pytest.raises(ValueError, match="is not of the form results/"):
        wildcards_of(paths.GENERATIONS, path)


def test_some_wildcards_are_replaced_and_the_others_stay() -> None:
    path = fill_some(paths.GENERATIONS, model="human", decoding="human", seed="{draw}")
    assert path == "results/{task}/human/human/seed{draw}/generations.parquet"


def test_no_other_place_spells_them() -> None:
    """Rules, scripts and the package ask textgamut.workflow.paths."""
    files = [ROOT / "Snakefile", *(ROOT / "workflow").rglob("*.smk")]
    files += [*(ROOT / "workflow/scripts").rglob("*.py"), *(ROOT / "src").rglob("*.py")]
    spelled = {
        str(file.relative_to(ROOT))
        for file in files
        if re.search(r"""["'](results|data)/[\w{*]""", file.read_text(encoding="utf-8"))
    }
    assert spelled == {"src/textgamut/workflow/paths.py"}


def matches(form: str, part: str) -> bool:
    return re.fullmatch(re.sub(r"\{\w+\}", ".+", form), part) is not None


def fixed_names() -> Iterator[tuple[str, str]]:
    """Yield each wildcard with a name that would make a path that another pattern has, too."""
    patterns = [value for name, value in vars(paths).items() if name.isupper() and "/" in str(value)]
    patterns += [f"{pattern}.meta.json" for pattern in patterns if "." in PurePath(pattern).name]
    split = [pattern.split("/") for pattern in patterns if pattern.startswith(("data/", "results/"))]
    for own, other in itertools.product(split, split):
        for form, part in zip(own, other, strict=False):
            wildcard = re.fullmatch(r"\{(\w+)\}(.*)", form)
            if wildcard and "{" not in part and part.endswith(wildcard[2]):
                yield wildcard[1], part.removesuffix(wildcard[2])
            refused = wildcard and part in RESERVED.get(REGISTRY.get(wildcard[1], ""), ())
            if refused or not (matches(form, part) or matches(part, form)):
                break


REGISTRY = {
    "dataset": "datasets",
    "task": "tasks",
    "ranked": "tasks",
    "gate": "gates",
    "model": "models",
    "decoding": "decoding",
    "embedder": "embedders",
    "tagger": "taggers",
}
"""Wildcard -> registry, or kind of name in an experiment."""


def test_no_name_of_an_entry_is_a_fixed_name_of_the_same_folder() -> None:
    found = set(fixed_names())
    assert ("dataset", "models") in found
    for wildcard, name in sorted(found):
        if wildcard in REGISTRY and name not in RESERVED[REGISTRY[wildcard]]:
            with pytest.raises(ValidationError):
                TypeAdapter(Slug).validate_python(name)
