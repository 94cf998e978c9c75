"""Labels of MC: every label in the published tables belongs to a method of config/papers/mc.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from helpers import ROOT

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.config.yaml import read_yaml
from textgamut.errors import TextgamutError
from textgamut.report.papers.mc_labels import method_labels, methods_by_label

MODELS = load_config(ROOT / "config/papers/mc.yaml").experiment.labels
PUBLISHED = read_yaml(ROOT / "src/textgamut/report/published/mc.yaml")


@pytest.fixture(scope="module")
def mc() -> Config:
    return load_config(ROOT / "config/papers/mc.yaml")


@pytest.fixture(scope="module")
def methods(mc: Config) -> list[tuple[str, str]]:
    return [cell[1:3] for cell in mc.cells("wikitext")]


@pytest.fixture(scope="module")
def decodings(mc: Config) -> dict[str, dict[str, Any]]:
    return {slug: entry.model_dump(mode="json") for slug, entry in mc.decoding.items()}


def printed_methods() -> dict[str, list[str]]:
    """The names of methods in each table."""
    pairs = {
        f"table_{i}": [name for *names, _ in PUBLISHED[f"table_{i}"]["pairs"] for name in names]
        for i in (5, 6, 7)
    }
    snippets = {
        f"table_{i}": PUBLISHED[f"table_{i}"]["best"] + PUBLISHED[f"table_{i}"]["worst"] for i in (8, 9, 10)
    }
    ends = [PUBLISHED["table_2"][end][place] for end in ("best", "worst") for place in (0, 2)]
    return pairs | snippets | {
        "table_2": ends,
        "table_3": PUBLISHED["table_3"]["best"],
        "figure_2": PUBLISHED["figure_2"]["shallowest"][0].split(" > "),
        "table_4": [name for name in PUBLISHED["table_4"]["q_text"] if name != "Human"],
        "table_11": PUBLISHED["table_11"]["best"],
        "table_18": list(PUBLISHED["table_18"]["counts"]),
        "table_19": list(PUBLISHED["table_19"]["counts"]),
    }  # fmt: skip


@pytest.mark.parametrize("table", printed_methods())
def test_every_printed_method_is_found(
    table: str, methods: list[tuple[str, str]], decodings: dict[str, dict[str, Any]]
) -> None:
    found = methods_by_label(methods, MODELS, decodings, table)
    assert len(found) == 354
    assert list(found.values()) == methods
    assert set(printed_methods()[table]) - set(found) == set()
    if table == "table_11":
        assert set(printed_methods()[table]) == set(found)


@pytest.mark.parametrize(
    ("tables", "place"),
    [(("table_12", "table_13"), 0), (("table_14", "table_15"), 1), (("table_16", "table_17"), 2)],
)
def test_every_printed_model_strategy_and_hyperparameter_is_found(
    tables: tuple[str, ...],
    place: int,
    methods: list[tuple[str, str]],
    decodings: dict[str, dict[str, Any]],
) -> None:
    for table in tables:
        labels = {method_labels(MODELS[model], decodings[of], table)[place] for model, of in methods}
        assert set(PUBLISHED[table]["counts"]) <= labels
        if place < 2:
            assert set(PUBLISHED[table]["counts"]) == labels


def test_counts_of_methods_add_up_to_those_of_strategies_and_hyperparameters(
    methods: list[tuple[str, str]], decodings: dict[str, dict[str, Any]]
) -> None:
    """Tables 13, 15 and 17 follow from Table 19 by the labels of its methods."""
    of = methods_by_label(methods, MODELS, decodings, "table_19")
    for table, place in (("table_13", 0), ("table_15", 1), ("table_17", 2)):
        sums: dict[str, int] = {}
        for name, (count, _) in PUBLISHED["table_19"]["counts"].items():
            model, decoding = of[name]
            label = method_labels(MODELS[model], decodings[decoding], table)[place]
            sums[label] = sums.get(label, 0) + count
        assert sums == {label: count for label, (count, _) in PUBLISHED[table]["counts"].items()}


def test_settings_that_the_paper_does_not_have_keep_their_own_names() -> None:
    nucleus = {"strategy": "sampling", "top_p": 0.9, "temperature": 0.6, "max_new_tokens": 84}
    labels = method_labels("Mine", nucleus, "table_18")
    assert labels == ("Mine", "sampling", "temperature 0.6, top_p 0.9")
    assert labels.method("table_18") == "Mine_sampling (temperature 0.6, top_p 0.9)"
    penalised = {"strategy": "sampling", "top_p": 0.9, "repetition_penalty": 1.2, "max_new_tokens": 84}
    assert method_labels("Mine", penalised, "table_18")[1:] == ("top-p", "repetition_penalty 1.2, top_p 0.9")
    truncated = {"strategy": "sampling", "min_p": 0.1, "max_new_tokens": 84}
    assert method_labels("Mine", truncated, "table_18")[1:] == ("min-p", "min_p 0.1")
    assert method_labels("Mine", {"strategy": "greedy", "max_new_tokens": 8}, "table_18").decoding == "greedy"


def test_two_methods_of_one_name_are_refused() -> None:
    beam = {"strategy": "beam", "beams": 3, "max_new_tokens": 8}
    both = {"short": beam, "long": beam | {"max_new_tokens": 16}}
    with pytest.raises(TextgamutError, match="m, short and m, long have the same name in the paper"):
        methods_by_label([("m", "short"), ("m", "long")], {"m": "M"}, both, "table_18")
