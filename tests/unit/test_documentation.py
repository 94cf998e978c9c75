"""The reference: complete, and generated from the code."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import ROOT
from scipy import stats

import textgamut
from textgamut.catalogue import METRICS
from textgamut.catalogue.family import Metric
from textgamut.config.loading import load_registry
from textgamut.metrics.sanity.cheats import SAMPLERS
from textgamut.metrics.sanity.sanity_checks import CHECKS
from textgamut.workflow.checked_corpora import CHECKED, ENGLISH

REFERENCE = ROOT / "docs/reference"


def extension(name: str) -> Any:
    """Import a module of docs/_ext."""
    if str(ROOT / "docs/_ext") not in sys.path:
        sys.path.insert(0, str(ROOT / "docs/_ext"))
    return importlib.import_module(name)


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The generated files: name -> Markdown."""
    pages: dict[str, str] = extension("reference").pages()
    return pages


def test_every_public_name_is_described() -> None:
    page = (REFERENCE / "api.md").read_text("utf-8")
    described = set(re.findall(r"auto\w+:: textgamut\.(\w+)$", page, re.MULTILINE))
    assert described == set(textgamut.__all__) - {"__version__"}
    assert "`textgamut.__version__`" in page


def test_what_the_functions_take_is_described() -> None:
    for name in textgamut.__all__:
        function = getattr(textgamut, name)
        if inspect.isfunction(function):
            doc = inspect.getdoc(function) or ""
            for parameter in inspect.signature(function).parameters:
                assert re.search(rf"^    {parameter}: ", doc, re.MULTILINE), f"{name}: {parameter}"
            assert "\nReturns:\n" in doc, name


def test_every_generated_file_is_on_a_page(generated: dict[str, str]) -> None:
    pages = "".join(path.read_text("utf-8") for path in REFERENCE.glob("*.md"))
    included = set(re.findall(r"\{include\} generated/([\w.-]+)\.md", pages))
    assert included == set(generated) - {"papers-pr-as-run"}  # which has the targets of pr


def test_every_field_of_the_configuration_has_a_description() -> None:
    configuration = extension("configuration")
    lacking = [
        f"{name}.{key}"
        for name in configuration.reached()
        for key, field in configuration._fields(name).items()
        if not field.get("description") and not list(configuration._references(field))
    ]
    assert lacking == []


def test_the_configuration_has_a_section_for_every_model(generated: dict[str, str]) -> None:
    text = "".join(page for name, page in generated.items() if name.startswith("configuration-"))
    targets = re.findall(r"^\((configuration-\w+)\)=$", text, re.MULTILINE)
    assert len(targets) == len(set(targets))
    assert {f"configuration-{name.lower()}" for name in extension("configuration").reached()} <= set(targets)
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= set(targets)


def test_types_and_defaults_are_in_words(generated: dict[str, str]) -> None:
    assert "`k`\n: *integer of at least 1, default `4`.* The" in generated["configuration-task_kinds"]
    assert "`min_p`\n: *number from 0 to 1, default `0.0`.* " in generated["configuration-decoding"]
    chat = "`chat`\n: *`none`, `template`, `llama-2` or `vicuna`, required.* Prompt format"
    assert chat in generated["configuration-models"]


@pytest.mark.parametrize("registry", ["models", "datasets", "decoding", "embedders", "taggers"])
def test_every_shipped_entry_is_listed(registry: str, generated: dict[str, str], tmp_path: Any) -> None:
    for slug in load_registry(registry, tmp_path):
        assert f"\n| `{slug}`" in generated[f"shipped-{registry}"]


def test_every_command_is_described(generated: dict[str, str]) -> None:
    text = generated["command-line"]
    exports = [f"export {name}" for name in ("texts", "prompts", "embedding-atlas")]
    for command in ("score", "rank", "new", "plan", "papers", *exports, "doctor"):
        assert re.search(rf"^#+ textgamut {command}$", text, re.MULTILINE)
    assert "* `--k K`: Number of nearest neighbours" in text


def test_every_metric_has_a_row(generated: dict[str, str]) -> None:
    for metric in METRICS.values():
        assert f"\n| {metric.heading}<br>`{metric.name}` | " in generated["metrics"]
    row = "| coherence ↑<br>`coherence` | both | 0 and less | log-likelihood of a token given the prompt; "
    assert row in generated["metrics"]
    assert "Fails no check on both: MAUVE, frontier integral, F_8." in generated["metrics"]


def test_a_metric_of_the_catalogue_needs_no_further_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Metric(
        name="sonority",
        family="ngram",
        label="Sonority index",
        meaning="how a text sounds",
        range=(0, 4),
        better="lower",
        level="text",
        source="nobody",
    )
    monkeypatch.setitem(METRICS, metric.name, metric)
    text = extension("metrics_tables").families()
    row = "| Sonority index ↓<br>`sonority` | text | 0 to 4 | how a text sounds<br>*nobody* |"
    assert row in text.partition("### `ngram`")[2].partition("###")[0]


def test_the_catalogue_names_the_checks_that_a_metric_fails() -> None:
    """On all corpora. Ratios to the references are judged with the metric itself."""
    paths = extension("metrics_tables").SANITY_TABLES.values()
    tables = [pd.read_csv(path, dtype=str).set_index("metric") for path in paths]
    labels = {check.name: check.label for check in CHECKS}
    failed = {
        name: tuple(
            label
            for check, label in labels.items()
            if all(str(table.loc[name, check]).startswith("fail") for table in tables)
        )
        for name in tables[0].index
    }
    failed |= {name: failed[f"{name}_ratio"] for name in ("vendi", "rke")}
    assert {name: metric.fails for name, metric in METRICS.items() if metric.fails} == {
        name: found for name, found in failed.items() if found
    }


def test_samplers_that_cheat_are_marked_in_the_tables(generated: dict[str, str]) -> None:
    tables = extension("metrics_tables")
    cells = dict(
        zip(
            SAMPLERS,
            ["cheated (4.2)", "not cheated (57)", "not defined (nan)", "cheated (0)", "cheated (1)"],
            strict=True,
        )
    )
    row = {"metric": "q_text", "read": "higher", "human": "36"} | cells
    assert tables._cheated(row)[:6] == (r"Q\*Text", "higher is better", "36", r"**✗&nbsp;4.2**", "57", "—")
    assert {path.stem.removeprefix("cheats-") for path in tables.CHEAT_TABLES.values()} == set(ENGLISH)
    page = generated["sanity-cheats"]
    assert all(page.count(f"| {metric} | lower is better |") == 2 for metric in ("perplexity", "Self-BLEU"))
    assert all(f"| {sampler} | {what} |" in page for sampler, what in SAMPLERS.items())


def test_the_sanity_checks_of_each_language_are_in_the_tables() -> None:
    tables = extension("language_tables")
    languages = {slug.removeprefix("corpus-") for slug in CHECKED if slug.startswith("corpus-")}
    assert {language for language, _ in tables._slugs()} == languages
    for text in (tables.corpora(), tables.topics()):
        assert all(f"(`{language}`)" in text for language in languages)
    assert tables._passed({("m", check.name): "pass (+0.01)" for check in CHECKS}, "m") == "13 of 13"
    row = dict.fromkeys((("m", check.name) for check in CHECKS), "'-") | {("m", "few"): "fail (-0.20)"}
    assert tables._passed(row, "m") == "0 of 1"
    assert tables._cell("fail (-0.20)") == "**✗&nbsp;-0.20**"


def test_the_level_of_the_tests_is_that_of_the_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = extension("calibration_tables")
    monkeypatch.setattr(tables, "REFERENCE", tmp_path)
    (tmp_path / "calibration-normal.csv").write_text(
        "design,n,paired,family,metric,pairs,below_5,below_01,half_samples,intervals,contain_0\n"
        "equal,100,False,support,recall,200,10,0,,200,191\n"
        "equal,100,True,support,recall,200,40,1,,99,3\n"
        "lost,400,False,support,recall,50,25,5,10,50,20\n"
    )
    level = tables.level()
    assert (
        "In 2 cells, 5.0% to 20.0% of the p-values are below 5 %, and 0.25% of all are below 0.1 %" in level
    )
    assert "| recall | 5.0% | 20.0% |" in level
    assert "In 1 of them, the intervals of 200 and more differences were kept: 95.5% to 95.5%" in level
    p_value = float(re.search(r"against 5 % is (\S+),", level)[1])
    assert p_value == pytest.approx(2 * stats.binomtest(40, 200, 0.05).pvalue, rel=0.1)
    assert "| metric | lost, independent (50 pairs) |" in tables.differing()
    assert "| recall | 50.0% (20%) |" in tables.differing()


def numbered(kind: str, *numbers: object) -> set[str]:
    return {f"{kind} {number}" for number in numbers}


NUMBERED = {
    "pr": numbered("Table", 1, *(f"B.{i}" for i in range(1, 7)), "D.1", "D.2")
    | numbered("Figure", *range(1, 9), *(f"A.{i}" for i in range(1, 6)), "B.1", "B.2"),
    "nw": numbered("Table", *range(1, 9)) | numbered("Figure", *range(1, 6)) | {"Appendix table"},
    "mc": numbered("Table", *range(1, 22)) | numbered("Figure", *range(1, 6)),
}
"""Paper -> all of its tables and figures."""


def test_every_target_of_a_paper_is_listed(generated: dict[str, str]) -> None:
    for paper in ("pr", "nw", "mc", "mc-released"):
        config = textgamut.load_config(ROOT / f"config/papers/{paper}.yaml", ROOT / "config")
        text = generated[f"papers-{paper}"]
        assert re.findall(r"<br>`(\w+)` \|", text) == list(config.experiment.targets)
        if paper in NUMBERED:
            listed = {
                re.sub(r"(?<=\d)[a-c]$", "", name)
                for name in re.findall(r"^\| (.*?)(?:<br>| \|)", text, re.M)
            }
            assert listed - {"", "---"} == NUMBERED[paper], paper
        assert ("`make test-papers` makes all of them" in text) == (paper != "mc-released")
