"""Check the metrics of two sets of texts on passages of real texts: which ones pass which sanity checks."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from textgamut.config.entries.embedders import FeatureModel
from textgamut.features.embed import load_embedder
from textgamut.files import read_table, to_csv, write_bytes
from textgamut.language import language_in, words_end_in
from textgamut.metrics.sanity.corpus import (
    Corpus,
    Design,
    Passages,
    choose_passages,
    cut_passages,
    degenerate_texts,
)
from textgamut.metrics.sanity.sanity_checks import run_checks, verdict_table, verdicts
from textgamut.models.checkpoints import prepare
from textgamut.models.devices import device_name, lease
from textgamut.report.figures.sanity import sanity_figure
from textgamut.report.figures.style import render
from textgamut.run.script import run
from textgamut.text import cut_words


def check_metrics(
    settings: dict[str, Any],
    texts: Path,
    rows: Path,
    table: Path,
    svg: Path,
    png: Path,
    threads: int,
    batch_size: int,
) -> dict[str, Any]:
    """Cut texts into passages, embed these, run the checks; write all rows, metrics by checks, and a figure.

    Args:
        settings: ``dataset``: its slug; ``embedder``; ``group``: the column of the topics; ``topics`` that
            are used, or None for all; ``words`` of a passage; ``passages``: the largest number of passages,
            as most of the time is that of the embedding; ``outliers``: the number of texts from which
            outliers are drawn; ``design``: fields of ``metrics.sanity.corpus.Design``.
        texts: Column ``text``, and that of the topics.
        rows: CSV, one row for each check, situation and metric.
        table: CSV, one row for each metric and one column for each check.
        svg: The figure.
        png: The figure.
        threads: Number of threads.
        batch_size: Maximum number of texts per batch.
    """
    torch.set_num_threads(threads)
    lists = {name: tuple(value) for name, value in settings["design"].items() if isinstance(value, list)}
    design = Design(**settings["design"] | lists)
    words, group = settings["words"], settings["group"]
    frame = read_table(texts, ["text", group])
    language = language_in(frame)
    topics = _topics(frame[group], settings["topics"])
    passages = choose_passages(
        cut_passages(list(frame["text"]), words, language), topics, settings["passages"], design.seed
    )
    of_passage = [topics[article] for article, _ in passages]
    perfect = np.flatnonzero([topic in design.main for topic in of_passage])
    halves = [cut_words(passages[row][1], words // 2, words_end_in(language)) for row in perfect]
    loops = degenerate_texts(list(frame["text"]), settings["outliers"], words, design.seed, language)
    embedder = FeatureModel.model_validate(settings["embedder"])
    with lease(1) as device:
        loaded = load_embedder(prepare(embedder.source), embedder, device, batch_size)

        def sample(texts: list[str]) -> Passages:
            return Passages(loaded.embed(texts).vectors, texts, language)

        corpus = Corpus(
            passages=sample([text for _, text in passages]),
            shortened=sample(halves),
            shortened_rows=perfect,
            topics=of_passage,
            outliers=sample(loops),
        )
        embedded = time.monotonic()
        found = run_checks(corpus, design)
    judged = verdicts(found)
    seconds = round(time.monotonic() - embedded, 1)
    write_bytes(table, to_csv(verdict_table(judged)))
    figure = sanity_figure(
        judged, f"Sanity checks of the metrics: {settings['dataset']}, passages of {words} words"
    )
    write_bytes(png, render(figure, "png"))
    write_bytes(svg, render(figure, "svg"))
    write_bytes(rows, to_csv(pd.DataFrame(map(asdict, found))))
    return {
        "device": device_name(device),
        "passages": len(passages),
        "articles": len({article for article, _ in passages}),
        "seconds_of_checks": seconds,
    }


def _topics(labels: pd.Series, used: list[str] | None) -> list[str | None]:
    """Return the topic of each text, None if it is unknown or not used."""
    return [
        None if missing or (used and str(topic) not in used) else str(topic)
        for topic, missing in zip(labels, labels.isna(), strict=True)
    ]


if __name__ == "__main__":
    run(check_metrics)
