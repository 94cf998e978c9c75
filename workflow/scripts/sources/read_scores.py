"""Fetch a file of scores of single texts and read those of a task."""

import logging
from pathlib import Path
from typing import Any

from textgamut.config.entries.sources import parse_source
from textgamut.files import digest, write_table
from textgamut.rankings.score_table import read_score_table
from textgamut.report.papers.mc_labels import methods_by_label
from textgamut.run.script import run
from textgamut.sources.fetch import fetch, reading

logger = logging.getLogger("textgamut.read_scores")


def read_scores(settings: dict[str, Any], scores: Path) -> dict[str, Any]:
    source = parse_source(settings["source"])
    path = fetch(source)
    named = settings["methods"], settings["labels"], settings["decodings"]
    methods = methods_by_label(*named, "table_5")
    with reading(source, path):
        found = read_score_table(
            path,
            settings["criteria"],
            settings["columns"],
            settings["corpus"],
            methods or None,
            settings["n"],
        )
    logger.info("%d scores, %d of other methods left out", len(found.table), found.left_out)
    write_table(scores, found.table)
    return {"source_sha256": digest(path), "left_out": found.left_out}


if __name__ == "__main__":
    run(read_scores)
