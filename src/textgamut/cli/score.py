"""``textgamut score``: two files of texts -> the numbers."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from textgamut.cli.common import print_json, registry, settings_of
from textgamut.errors import TextgamutError, nearest

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import FetchedSource
    from textgamut.metrics.scores import Row, SupportScores


def score(options: argparse.Namespace) -> None:
    """Score two files as the options say, and print the result.

    Raises:
        TextgamutError: A file, a column, an entry or a value is wrong.
    """
    from textgamut.models.devices import lease
    from textgamut.progress import recorded_warnings

    if options.explain and "support" not in options.metrics:
        raise TextgamutError("--explain shows what precision and recall missed: add support to --metrics")
    if "likelihood" in options.metrics and not options.scorer:
        raise TextgamutError("--metrics likelihood needs --scorer: a model of models.yaml, or a folder")
    generated_columns = [*options.group, *([options.prompt] if options.prompt else [])]
    reference = _read(options.reference, options.text, options.group)
    generated = _read(options.generated, options.text, generated_columns)
    for path, frame in ((options.reference, reference), (options.generated, generated)):
        empty = int((frame["text"].str.strip() == "").sum())
        if empty:
            logging.getLogger("textgamut").warning(
                "%s: %d of %d texts are empty; they count as empty", path, empty, len(frame)
            )
    with lease(1) as device, recorded_warnings() as warnings:
        embedder, rows, support = _scores(options, reference, generated, device)
    if options.explain:
        from textgamut.files import write_bytes
        from textgamut.report.missed import Side, support_page

        assert support is not None
        assert embedder is not None
        sides = [
            Side(features, list(frame["id"])[: len(features)], list(frame["text"])[: len(features)])
            for features, frame in ((support.reference, reference), (support.generated, generated))
        ]
        title = f"{options.generated.name} against {options.reference.name}: what precision and recall missed"
        page = support_page(title, embedder.label, options.k, sides[0], sides[1], support)
        write_bytes(options.explain, page.encode())
        logging.getLogger("textgamut").info("written: %s", options.explain)
    if options.json:
        print_json(settings=settings_of(options), scores=rows, warnings=warnings)
    else:
        _print(rows, len(reference), len(generated), embedder)


def _scores(
    options: argparse.Namespace, reference: pd.DataFrame, generated: pd.DataFrame, device: torch.device
) -> tuple[Embedder | None, list[Row], SupportScores | None]:
    """Compute the families that are asked for."""
    from textgamut.metrics.scores import divergence_scores, likelihood_scores, ngram_scores, support_scores

    rows: list[Row] = []
    embedder = support = None
    if {"support", "divergence"} & set(options.metrics):
        from textgamut.features.embed import embed
        from textgamut.models.checkpoints import prepare

        embedder = _embedder(options)
        n = min(len(reference), len(generated))
        if "support" in options.metrics and not 1 <= options.k < n:  # before minutes of embedding
            raise TextgamutError(f"k = {options.k} needs more than {options.k} texts a side, not {n}")
        texts = [*reference["text"], *generated["text"]]
        vectors = embed(texts, prepare(embedder.source), embedder, device).vectors
        features = vectors[: len(reference)], vectors[len(reference) :]
        if "support" in options.metrics:
            groups = {name: (_labels(reference[name]), _labels(generated[name])) for name in options.group}
            support = support_scores(*features, options.k, options.bootstrap, groups)
            rows += support.rows
        if "divergence" in options.metrics:
            rows += divergence_scores(*features, None, options.kmeans_seeds)
    if "ngram" in options.metrics:
        from textgamut.models.checkpoints import load_tokenizer, prepare

        model = _model(options.tokenizer, options.config) if options.tokenizer else None
        tokenizer = load_tokenizer(prepare(_weights(model, options.tokenizer))) if model else None
        rows += ngram_scores(list(generated["text"]), tokenizer)[0]
    if "likelihood" in options.metrics:
        import torch

        from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare

        model = _model(options.scorer, options.config)
        folder = prepare(_weights(model, options.scorer))
        loaded = load_causal_model(folder, torch.float32, device)
        prompts = list(generated[options.prompt].fillna("")) if options.prompt else None
        texts = list(generated["text"])
        rows += likelihood_scores(loaded, load_tokenizer(folder), prompts, texts, model.batch_size)[0]
    return embedder, rows, support


def _read(path: Path, text: str, columns: list[str]) -> pd.DataFrame:
    from textgamut.config.entries.datasets import TableDataset
    from textgamut.config.entries.sources import FileSource
    from textgamut.datasets.table import read

    if not path.is_file():
        raise TextgamutError(f"{path}: there is no such file")
    source = FileSource(kind="file", path=str(path))
    frame = read(path, TableDataset(format="table", source=source, text=text, groups=columns))
    if len(frame) < 2:
        raise TextgamutError(f"{path}: at least two texts are needed, not {len(frame)}")
    return frame


def _labels(column: pd.Series) -> list[str | None]:
    return [label if isinstance(label, str) else None for label in column]


def _embedder(options: argparse.Namespace) -> Embedder:
    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.entries.sources import FileSource

    folder = Path(options.embedder)
    if folder.is_dir():
        if not options.pooling:
            raise TextgamutError(f"{folder}: an embedder given as a folder needs --pooling")
        source = FileSource(kind="file", path=str(folder))
        return Embedder(
            label=folder.name, source=source, pooling=options.pooling, max_tokens=options.max_tokens
        )
    path, entries = registry(options.config, "embedders")
    if options.embedder not in entries:
        raise TextgamutError(
            f"{path}: no embedder {options.embedder!r}; {nearest(options.embedder, entries)}"
        )
    entry: Embedder = entries[options.embedder]
    return entry


def _model(name: str, config: Path | None) -> Model:
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import FileSource

    folder = Path(name)
    if folder.is_dir():
        source = FileSource(kind="file", path=str(folder))
        return Model(label=folder.name, family=folder.name, source=source, chat="none")
    path, entries = registry(config, "models")
    if name not in entries:
        raise TextgamutError(f"{path}: no model {name!r}; {nearest(name, entries)}")
    entry: Model = entries[name]
    return entry


def _weights(model: Model, name: str) -> FetchedSource:
    from textgamut.config.entries.sources import OpenAISource

    if isinstance(model.source, OpenAISource):
        raise TextgamutError(f"model {name!r} is behind a server: name one whose weights can be had")
    return model.source


def _print(rows: list[Row], references: int, generated: int, embedder: Embedder | None) -> None:
    """Print the scores for people: a table of all texts, and one of the groups."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from textgamut.metrics.catalogue import METRICS, metrics_of
    from textgamut.metrics.scores import ALL

    console = Console()
    if not console.is_terminal:
        console.width = 120
    facts = [f"{generated:,} generated texts against {references:,} references"]
    facts += [f"N = {row['n']:,}, k = {row['k']}" for row in rows if row["metric"] == "precision"][:1]
    facts += [embedder.label] if embedder else []
    console.print(Text(", ".join(facts), style="bold"))

    whole = Table("metric", "value", "uncertainty", "reads as", box=None, pad_edge=False, header_style="dim")
    for row in rows:
        if row["group"] == ALL:
            cells = (row["metric"], f"{row['value']:.4f}", _uncertainty(row))
            whole.add_row(*(Text(cell) for cell in cells), Text(METRICS[row["metric"]].reads_as, style="dim"))
    console.print(whole)

    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["group"] != ALL:
            found.setdefault(row["group"], {})[row["metric"]] = row["value"]
    if found:
        support = metrics_of("support")
        groups = Table("group", *support, box=None, pad_edge=False, header_style="dim")
        for group, values in found.items():
            of_group = (f"{values[name]:.4f}" if name in values else "—" for name in support)
            groups.add_row(Text(group), *(Text(cell) for cell in of_group))
        console.print()
        console.print(groups)


def _uncertainty(row: Row) -> str:
    if "low" in row:
        return f"{row['low']:.3f} to {row['high']:.3f} (95 %)"
    return f"± {row['deviation']:.4f} (k-means)" if "deviation" in row else ""
