"""Test the differences of the metrics of sets between two methods, by resamples of their texts."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from textgamut.catalogue import FAMILIES, METRICS, leading_metrics
from textgamut.catalogue.family import (
    FEATURES,
    GROUPS,
    LANGUAGE,
    PROMPT_IDS,
    REFERENCE_FEATURES,
    REFERENCE_GROUPS,
    TEXTS,
    Family,
)
from textgamut.config.entries.sources import parse_source
from textgamut.files import read_array, read_table, write_json
from textgamut.inference.set_differences import Run, set_differences
from textgamut.inference.text_differences import text_differences
from textgamut.language import language_in
from textgamut.metrics.rows import groups_of, groups_of_prompts
from textgamut.models.devices import lease
from textgamut.run.script import run

Values = dict[str, Any]


def compare_methods(settings: Values, inputs: dict[str, Any], outputs: dict[str, Path]) -> None:
    cells = [read_cell(settings, inputs, place) for place in range(len(inputs["texts"]))]
    drawn = [read_draw(settings, inputs, place) for place in range(len(inputs["reference_features"]))]
    settings = settings | {LANGUAGE: language_in(read_table(inputs["texts"][0], ["id"]))}
    references = [text for path in inputs["references"] for text in read_table(path, ["text"])["text"]]
    rows: list[Values] = []
    if not all(cell[TEXTS] for cell in cells):  # no texts could be held out
        write_json(outputs["tests"], rows)
        return
    for name in settings["families"]:
        rows += of_family(FAMILIES[name], settings, cells, drawn, references)
    write_json(outputs["tests"], rows + at_one_length(settings, inputs, rows))


def of_family(
    family: Family, settings: Values, cells: list[Values], drawn: list[Values], references: list[str]
) -> list[Values]:
    """Test the differences of the metrics of a family.

    Args:
        family: The family.
        settings: The settings of the job.
        cells: The cells of the first method, then those of the second, with the same seeds.
        drawn: Each draw of references: features, and groups.
        references: Texts of the first draw.
    """
    asked, half = settings["families"][family.name], len(cells) // 2
    common = asked | {"references": references} | {name: settings[name] for name in ("paired", LANGUAGE)}
    common.pop(GROUPS, None)  # the columns, in place of which each cell has labels
    if asked.get("tokenizer"):
        common["tokenizer"] = tokenizer_of(asked["tokenizer"])
    runs = [
        of_run(family, pair, common | draw, number)
        for number, pair in enumerate(zip(cells[:half], cells[half:], strict=True))
        for draw in (drawn if family.of_draws else [{}])
    ]
    with lease(1, wait=False) if family.on_gpu else nullcontext():
        found = [of._asdict() for of in set_differences(family, runs, settings["methods"], {})]
    if family.of_wording and not settings["paired"]:
        first, second = (of_texts(family, own, common) for own in (cells[:half], cells[half:]))
        found += [of._asdict() for of in text_differences(first, second)]
    return [
        {name: value for name, value in of.items() if name != "difference" and value == value}
        for of in found  # a value that is not a number is not known
    ]


def at_one_length(settings: Values, inputs: dict[str, Any], rows: list[Values]) -> list[Values]:
    """Repeat the tests in the families of the leading metrics on texts of one length, if lengths differ.

    Returns:
        Rows of tests, with ``words``, to which the texts are cut.
    """
    if not inputs["cut_texts"]:
        return []
    cut = read_table(inputs["cut_texts"][0], ["place", "prompt_id", "text", "words"])
    vectors = read_array(inputs["cut_features"][0])
    sets = [(own, vectors[own.index]) for _, own in cut.groupby("place")]
    cells = [
        {TEXTS: list(own["text"]), PROMPT_IDS: list(own["prompt_id"]), FEATURES: of} for own, of in sets[:2]
    ]
    drawn = [{REFERENCE_FEATURES: of} for _, of in sets[2:]]
    leading = leading_metrics({row["metric"] for row in rows})
    families = [FAMILIES[name] for name in dict.fromkeys(METRICS[name].family for name in leading)]
    return [
        row | {"words": int(cut["words"][0])}
        for family in families
        if family.of_features and sets
        for row in of_family(family, settings, cells, drawn, list(sets[2][0]["text"]))
    ]


def read_draw(settings: Values, inputs: dict[str, Any], place: int) -> Values:
    """Read the features of a draw of references, and their groups."""
    values: Values = {REFERENCE_FEATURES: read_array(inputs["reference_features"][place])}
    if inputs["dataset"]:
        references = read_table(inputs["grouped"][place], settings["groups"])
        values[REFERENCE_GROUPS] = groups_of(references, settings["groups"])
    return values


def read_cell(settings: Values, inputs: dict[str, Any], place: int) -> Values:
    """Read the texts of a cell, and what is known of each."""
    texts = read_table(inputs["texts"][place], ["id", "prompt_id", "text"])
    values: Values = {TEXTS: list(texts["text"]), PROMPT_IDS: list(texts["prompt_id"])}
    if inputs["features"]:
        values[FEATURES] = read_array(inputs["features"][place])
    for path in inputs["dataset"]:  # one, or none
        dataset = read_table(path, ["id", *settings["groups"]])
        values[GROUPS] = groups_of_prompts(dataset, texts["prompt_id"], settings["groups"])
    if inputs["text_scores"]:
        table = read_table(inputs["text_scores"][place], ["id"]).set_index("id").reindex(texts["id"])
        values["text_scores"] = {name: table[name].to_numpy(dtype=float) for name in table}
    return values


def of_texts(family: Family, cells: list[Values], common: Values) -> pd.DataFrame:
    """Return the metrics of the single texts of some cells: a row for each text."""
    texts = [text for cell in cells for text in cell[TEXTS]]
    return pd.DataFrame(family.score(common | {TEXTS: texts}).columns or {}, index=range(len(texts)))


def tokenizer_of(named: Values) -> Any:
    from textgamut.models.checkpoints import load_tokenizer, prepare

    return load_tokenizer(prepare(parse_source(named["source"])))


def of_run(family: Family, pair: tuple[Values, Values], common: Values, number: int) -> Run:
    """Return what a family reads of two cells with one seed."""
    first, second = ({name: values[name] for name in family.reads if name in values} for values in pair)
    prompts = (pair[0][PROMPT_IDS], pair[1][PROMPT_IDS]) if common["paired"] else None
    return Run((first, second), common, prompts, number)


if __name__ == "__main__":
    run(compare_methods)
