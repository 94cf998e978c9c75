"""Tabulate which texts of a cell lie inside the support of the first references, and cluster the others."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from textgamut.files import read_array, read_table, write_json, write_table
from textgamut.language import language_in
from textgamut.metrics import support_scores
from textgamut.metrics.missed import EmbeddedTexts
from textgamut.metrics.neighbours import neighbour_table
from textgamut.metrics.regions import missed_regions
from textgamut.models.devices import lease
from textgamut.run.script import run


def explain_support(settings: dict[str, Any], inputs: dict[str, Any], outputs: dict[str, Path]) -> None:
    k = settings["k"]
    with lease(1, wait=False), warnings.catch_warnings(action="ignore"):  # score_support warns
        result = support_scores.score(read_array(inputs["features"]), read_array(inputs["references"]), k)
    references = read_table(inputs["reference_texts"], ["id", "text"])
    language = language_in(references)
    human, written = (
        EmbeddedTexts(features, *(list(table[name].head(len(features))) for name in ("id", "text")))
        for features, table in (
            (result.reference, references),
            (result.generated, read_table(inputs["generations"], ["id", "text"])),
        )
    )
    write_table(outputs["neighbours"], neighbour_table(result, k, human.ids, written.ids))
    regions = {
        "generated": missed_regions(written, result.in_reference, language),
        "reference": missed_regions(human, result.in_generated, language),
    }
    write_json(outputs["regions"], {side: [asdict(of) for of in found] for side, found in regions.items()})


if __name__ == "__main__":
    run(explain_support)
