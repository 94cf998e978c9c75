"""Results in a notebook: HTML, a figure, tables, and the warnings."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import pytest
import tiny

import textgamut
from textgamut.errors import ConfigError, DataError, SmallSampleWarning
from textgamut.report.notebook import MOST_CHARACTERS, texts_html
from textgamut.scoring.results import Comparison

HUMAN = [f"the {animal} sat on mat {number} and looked" for animal in ("cat", "dog") for number in range(12)]
MODEL = [f"<b>the cat</b> ran over road {number} and then" for number in range(12)]


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tiny.write_checkpoint(tmp_path_factory.mktemp("embedder"), "llama")
    with pytest.warns(SmallSampleWarning):
        return textgamut.compare(
            HUMAN,
            {"<i>a</i>": MODEL, "b": HUMAN[:12]},
            metrics=["support"],
            k=2,
            embedder=str(folder),
            pooling="mean",
            max_tokens=64,
        )


def test_a_notebook_shows_the_verdict_and_the_table(comparison: Comparison) -> None:
    shown = comparison._repr_html_()
    for sentence in comparison.verdicts["b"].sentences:
        assert sentence.replace("'", "&#39;") in shown
    assert "<th>precision ↑</th>" in shown
    assert f"{comparison.results['b'].precision:.3f}" in shown
    assert "&lt;i&gt;a&lt;/i&gt;" in shown
    assert "<i>a" not in shown
    alone = comparison.results["b"]._repr_html_()
    assert "precision" in alone
    assert "&lt;i&gt;a" not in alone


def test_missed_texts_are_a_table(comparison: Comparison) -> None:
    missed = comparison.results["<i>a</i>"].missed
    table = missed.to_frame()
    assert len(table) == len(missed.generated) + len(missed.reference) > 0
    first = table.iloc[0]
    assert (first["side"], first["text"]) == ("generated", missed.generated[0].text)
    assert first["distance"] == missed.generated[0].distance
    shown = missed._repr_html_()
    assert "&lt;b&gt;the cat" in shown
    assert "<b>" not in shown


def test_long_texts_are_cut_in_the_table_of_a_notebook() -> None:
    shown = texts_html(pd.DataFrame({"text": ["x" * 1000, "short"], "distance": [0.5, 1.0]}))
    assert "x" * MOST_CHARACTERS + " ..." in shown
    assert "x" * (MOST_CHARACTERS + 1) not in shown
    assert "short" in shown


def test_a_result_has_a_figure_that_a_notebook_shows(comparison: Comparison) -> None:
    figure = comparison.plot()
    assert figure._repr_svg_().startswith("<?xml")
    assert comparison.results["b"].plot().axes[0].get_xlabel() == figure.axes[0].get_xlabel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wording = textgamut.score(HUMAN, MODEL, metrics=["length"])
    with pytest.raises(ConfigError, match="add 'support' to metrics"):
        wording.plot()


def test_a_result_keeps_the_warnings(comparison: Comparison) -> None:
    assert any("below 1000" in message for message in comparison.warnings)
    assert comparison.results["b"].warnings == comparison.warnings
    with pytest.warns(UserWarning, match="no distinct_3") as caught:
        result = textgamut.score(["a b", "c d"], ["a b", "c e"], metrics=["ngram"])
    assert [str(warning.message) for warning in caught] == result.warnings
    assert {warning.filename for warning in caught} == {__file__}


def test_warnings_as_errors_are_raised() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match="no distinct_3"):
            textgamut.score(["a b", "c d"], ["a b", "c e"], metrics=["ngram"])


def test_a_table_passed_whole_is_answered_with_the_column_to_pass() -> None:
    import datasets
    import pyarrow as pa

    frame = pd.DataFrame({"model": ["x", "y"], "text": ["a b", "c d"]})
    whole: dict[str, Any] = {
        "DataFrame": frame,
        "Dataset": datasets.Dataset.from_pandas(frame),
        "Table": pa.Table.from_pandas(frame),
    }
    for kind, table in whole.items():
        with pytest.raises(
            DataError, match=rf"reference_texts: .* found {kind} .*\['text'\] \(columns: model, text\)"
        ):
            textgamut.score(table, ["a"])
    splits: Any = datasets.DatasetDict({"train": whole["Dataset"]})
    with pytest.raises(DataError, match=r"\['train'\]\['text'\]"):
        textgamut.score(["a", "b"], splits)
    with pytest.raises(DataError, match=r"such as \['model'\]"):
        textgamut.compare(["a", "b"], {"m": splits["train"].rename_column("text", "body")})
