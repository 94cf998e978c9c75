"""Make a table or a figure of a task: each function makes those of the rule with its name.

The functions return the content of each output: a figure, a table, or bytes, each in its formats.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.calls import call
from textgamut.catalogue import FAMILIES, METRICS
from textgamut.config.task_kinds import HUMAN
from textgamut.files import read_array, read_csv, read_json, read_table, to_csv, write_bytes
from textgamut.inference.differences import Difference, differences_table
from textgamut.inference.text_differences import text_differences
from textgamut.inference.verdicts import embedder_agreement, embedder_verdict
from textgamut.metrics.completions import cosine_matrix, texts_of_methods
from textgamut.report import table_formats
from textgamut.report.comparison import CUT_NOTE, DIFFERENCES_NOTE
from textgamut.report.figures import look
from textgamut.report.figures.differences import differences_figure
from textgamut.report.figures.model_styles import ModelStyle
from textgamut.report.figures.precision_recall import task_figure
from textgamut.report.figures.similarity_matrix import similarity_matrix_figure
from textgamut.report.figures.style import FORMATS, render
from textgamut.report.figures.sweep import sweep_figure
from textgamut.report.figures.temperatures import temperature_figure
from textgamut.report.figures.text_figures import correlation_figure, parameter_figure, text_metrics_figure
from textgamut.report.table_formats import ShownTable
from textgamut.report.tables import (
    COLUMNS,
    correlation_table,
    parameter_table,
    read_differences,
    read_texts_table,
    scores_file,
    summary_table,
    temperature_table,
    texts_table,
    tidy,
    variance_table,
)
from textgamut.run.script import run

Settings = dict[str, Any]
Made = dict[str, Any]
"""Output -> a figure, a table, or bytes; ``figure`` and ``table`` are written in all formats."""

UNKNOWN: dict[str, Any] = dict.fromkeys(("low", "high", "deviation", "p"), float("nan"))
"""Values of a test that can be missing."""

SPREAD_NOTE = (
    "±: standard deviation over the runs; of a single run, over half-samples (support metrics) or k-means "
    "seeds (divergence metrics). In brackets: 95 % interval of one run, from half-samples of its texts, "
    "averaged over the runs. Runs that share prompts or references vary less than runs on other texts would: "
    "the larger one is the uncertainty of a run."
)
SIMILARITY_NOTE = (
    "Mean cosine of {embedder} features over the pairs of completions of one prompt, with the same weight "
    "for each prompt: on the diagonal within a method, over all its seeds; elsewhere between two methods."
)


def plot_precision_recall(settings: Settings, table: Path) -> Made:
    scores = scores_of(table, settings["task"]).assign(embedder=settings["embedder"])
    scores = scores.assign(decoding=scores["decoding"].replace(settings["decoding_labels"]))
    about = {name: settings[name] for name in ("task", "dataset", "subsets", "references")}
    return {"figure": task_figure(scores, styles(settings), **about)}


def plot_temperatures(settings: Settings, table: Path) -> Made:
    found = temperature_table(scores_of(table, settings["task"]), settings["variants"])
    names = {slug: style.label for slug, style in styles(settings).items()} | settings["bases"]
    title = f"Precision and recall on {settings['task']} as the temperature varies"
    note = f"N = {found['n'].iloc[0]}, k = {found['k'].iloc[0]}, {settings['embedder']}."
    return {"figure": temperature_figure(found, names, title, note), "csv": found}


def tabulate_scores(settings: Settings, table: Path) -> Made:
    summary = summary_table(scores_of(table, settings["task"]))
    return {
        "csv": scores_file(summary),
        "table": ShownTable(summary, f"Scores of {settings['task']}", SPREAD_NOTE),
    }


def tabulate_variance(settings: Settings, table: Path) -> Made:
    scores = scores_of(table, settings["task"])
    variance = variance_table(scores[scores["model"] != HUMAN])
    caption = f"Standard deviations on {settings['task']}, averaged over models (as in PR Table B.5)"
    return {"csv": variance, "table": ShownTable(variance, caption)}


def plot_sweep(settings: Settings, scores: list[Path]) -> Made:
    sweep = tidy([row for path in scores for row in read_json(path)]).assign(embedder=settings["embedder"])
    title = f"Precision and recall on {settings['task']} as N and k vary"
    return {"figure": sweep_figure(sweep, styles(settings), title, settings["sweep"]["k_at"], settings["k"])}


def tabulate_texts(settings: Settings, texts: Path) -> Made:
    frame = read_table(texts, ["model", "decoding", "words"])
    table = texts_table(frame)
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    methods = [names[pair] for pair in zip(table["model"], table["decoding"], strict=True)]
    table.insert(0, "method", methods)
    title = "; ".join([f"Metrics of single texts of {settings['task']}", *settings["missing"]])
    return {
        "correlations": to_csv(correlation_table(frame), index_label=""),
        "table": ShownTable(table.drop(columns=["model", "decoding"]), title),
        "csv": table,
    }


def plot_correlations(settings: Settings, correlations: Path) -> Made:
    title = f"Correlations of the metrics on {settings['task']}"
    return {"figure": correlation_figure(read_csv(correlations, index_col=0), title)}


def plot_texts(settings: Settings, table: Path) -> Made:
    title = f"Metrics of single texts on {settings['task']}"
    return {"figure": text_metrics_figure(read_texts_table(table), title)}


def plot_parameters(settings: Settings, table: Path) -> Made:
    parameters = parameter_table(read_texts_table(table), settings["decodings"])
    title = f"Metrics of single texts on {settings['task']}, by decoding"
    return {"figure": parameter_figure(parameters, title), "csv": parameters}


def tabulate_differences(settings: Settings, scores: Path, tests: list[Path], texts: list[Path]) -> Made:
    """Tabulate the differences of all pairs: ``tests`` are those of the pairs, ``texts`` one file or none."""
    frame = read_table(scores, COLUMNS)
    frame = frame[frame["embedder"].isna() | (frame["embedder"] == settings["embedder"])]
    values = frame.groupby(["model", "decoding", "group", "metric"], observed=True)["value"].mean()
    of_texts = read_table(texts[0], ["model", "decoding", "prompt_id"]) if texts else None

    def own_texts(model: str, decoding: str) -> pd.DataFrame | None:
        if of_texts is None:
            return None
        own = (of_texts["model"] == model) & (of_texts["decoding"] == decoding)
        return of_texts[own].set_index("prompt_id")

    def apart(row: Mapping[str, Any], first: list[str], second: list[str]) -> float:
        if METRICS[row["metric"]].level == "both":  # the values are of sets, the tests of single texts
            return float(row["tested"])
        key = row["group"], row["metric"]
        return float(values[*first[:2], *key] - values[*second[:2], *key])

    found = []
    pairs = settings["pairs"]
    tested = [whole_texts(path) for path in tests]
    for (first, second), rows in zip(pairs, tested or [[]] * len(pairs), strict=True):
        of_sets = [Difference(**UNKNOWN | row | {"difference": apart(row, first, second)}) for row in rows]
        of_single = text_differences(own_texts(*first[:2]), own_texts(*second[:2]))
        found.append((first[2], second[2], [*of_sets, *of_single]))
    differences = differences_table(found)
    title = f"Differences between the methods of {settings['task']}"
    return {"csv": differences, "table": ShownTable(differences, title, DIFFERENCES_NOTE)}


def tabulate_cut_differences(settings: Settings, tests: list[Path]) -> Made:
    """Tabulate the differences from human texts that were repeated on texts of one length."""
    found: list[tuple[str, str, list[Difference]]] = []
    words: dict[str, int] = {}
    for (first, second), path in zip(settings["pairs"], tests, strict=True):
        rows = [row for row in read_json(path) if "words" in row]
        found.append((first[2], second[2], of_sets(rows)))
        if rows:
            words[first[2]] = rows[0]["words"]
    table = differences_table(found)
    table = table.assign(words=table["model_1"].map(words).astype("Int64"))
    title = f"Differences on texts cut to one length, of {settings['task']}"
    return {"csv": table, "table": ShownTable(table, title, CUT_NOTE)}


def tabulate_embedders(settings: Settings, tests: list[Path]) -> Made:
    """Tabulate the verdicts with each embedder; ``tests``: of all pairs with the first, and so on."""
    files, pairs, tables = iter(tests), settings["pairs"], {}
    for label in settings["embedders"]:
        found = [(first[2], second[2], of_sets(whole_texts(next(files)))) for first, second in pairs]
        tables[label] = differences_table(found)
    table = embedder_agreement(tables)
    title = f"Agreement of the embedders on {settings['task']}. {embedder_verdict(table)}"
    return {"csv": table, "table": ShownTable(table, title)}


def whole_texts(path: Path) -> list[dict[str, Any]]:
    """Read the tests on whole texts, which those on texts of one length may follow."""
    return [row for row in read_json(path) if "words" not in row]


def of_sets(rows: list[dict[str, Any]]) -> list[Difference]:
    """Return the tests of metrics of features, whose verdicts follow the tested difference."""
    tested = [row for row in rows if FAMILIES[METRICS[row["metric"]].family].of_features]
    known = [{name: row[name] for name in row if name in Difference._fields} for row in tested]
    return [Difference(**UNKNOWN | row | {"difference": row["tested"]}) for row in known]


def plot_differences(settings: Settings, table: Path) -> Made:
    title = f"Differences between methods on {settings['task']}"
    return {"figure": differences_figure(read_differences(table), title)}


def plot_similarity(
    settings: Settings, generations: list[Path], features: list[Path], references: Path
) -> Made:
    """Plot the cells in the settings: ``features`` are those of the references, then of each cell."""
    names = {(model, decoding): name for model, decoding, name in settings["methods"]}
    cells = zip(settings["cells"], generations, features[1:], strict=True)
    texts = [
        (names[model, decoding], seed, read_array(path), read_table(of_cell, ["prompt_id"])["prompt_id"])
        for (model, decoding, seed), of_cell, path in cells
    ]
    human = read_array(features[0]), read_table(references, ["id"])["id"]
    sets = texts_of_methods(texts, HUMAN, human, settings["prompts_per_seed"])
    found, matrix = cosine_matrix(sets)
    title = f"Similarity of the completions of one prompt on {settings['task']}"
    note = SIMILARITY_NOTE.format(**settings)
    figure = similarity_matrix_figure(matrix, found, title, note, HUMAN if HUMAN in found else None)
    table = pd.DataFrame(matrix, index=found, columns=found)
    return {"figure": figure, "csv": to_csv(table, index_label="method")}


def scores_of(table: Path, task: str) -> pd.DataFrame:
    scores = read_table(table, COLUMNS)
    return scores[scores["task"] == task]


def styles(settings: Settings) -> dict[str, ModelStyle]:
    return {slug: ModelStyle(**style) for slug, style in settings["models"].items()}


def make_result(rule: str, settings: Settings, inputs: dict[str, Any], outputs: dict[str, Path]) -> None:
    with look.using(settings.get("figures", {})):
        made: Mapping[str, Any] = call(globals()[rule], inputs | {"settings": settings})
        write_made(made, outputs)


def write_made(made: Mapping[str, Any], outputs: Mapping[str, Path]) -> None:
    for name, path in outputs.items():
        content: Any
        if name in FORMATS:
            content = render(made["figure"], name)
        elif name in table_formats.FORMATS:
            content = table_formats.FORMATS[name](made["table"])
        else:
            content = made[name]
        if isinstance(content, pd.DataFrame):
            content = to_csv(content)
        write_bytes(path, content.encode() if isinstance(content, str) else content)


if __name__ == "__main__":
    run(make_result)
