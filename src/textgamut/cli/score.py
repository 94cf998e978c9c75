"""``textgamut score``: score a file of generated texts against a file of reference texts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import CycloptsError, Parameter

from textgamut.cli.common import Integer, NamedPath, check_input, check_output, print_json, settings_of, write
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.metrics.catalogue import METRICS, metrics_of, scored_families
from textgamut.scoring import Pooling

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Column = Annotated[str, Parameter(metavar="COLUMN")]
Count = Annotated[Integer, Parameter(metavar="N")]
Entry = Annotated[str, Parameter(metavar="NAME")]
File = Annotated[NamedPath, Parameter(metavar="FILE")]


def _families() -> str:
    """List the families that can be computed, each with its metrics."""
    labels = {name: [METRICS[metric].label for metric in metrics_of(name)] for name in scored_families()}
    return ", ".join(f"{name} ({', '.join(dict.fromkeys(found))})" for name, found in labels.items())


def _check_families(_: object, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in scored_families():
            raise CycloptsError(msg=f"--metrics: no family {name!r}; {nearest(name, scored_families())}")


Families = Annotated[
    tuple[str, ...],
    Parameter(
        metavar="FAMILY...",
        consume_multiple=1,
        validator=_check_families,
        help=f"Families to compute: {_families()}.",
    ),
]
Seeds = Annotated[tuple[Integer, ...], Parameter(metavar="SEED...", consume_multiple=1)]


def score(
    *,
    reference: File,
    generated: File,
    text: Column = "text",
    metrics: Families = ("support", "divergence", "ngram"),
    embedder: Entry = "minilm",
    pooling: Pooling | None = None,
    max_tokens: Count = 512,
    k: Annotated[Integer, Parameter(name="--k", metavar="K")] = 4,
    bootstrap: Count = 200,
    group: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = (),
    kmeans_seeds: Seeds = (0, 1, 2, 3, 4),
    tokenizer: Entry | None = None,
    scorer: Entry | None = None,
    prompt: Column | None = None,
    config: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    json: bool = False,
    explain: File | None = None,
) -> None:
    """Score a file of generated texts against a file of reference texts.

    Precision is the share of the generated texts that lie within the support of the references; recall is the
    share of the references that lie within the support of the generated texts. Further metrics compare the
    two distributions and the wording. The files are .jsonl, .csv or .parquet with one text per row, or .txt
    with one text per line.

    Args:
        reference: File of human texts.
        generated: File of generated texts.
        text: Column of the texts in both files.
        metrics: Families to compute.
        embedder: Name of an entry in embedders.yaml, or folder of a checkpoint.
        pooling: Pooling of an embedder given as a folder.
        max_tokens: Maximum number of tokens per text of an embedder given as a folder; longer texts are cut.
        k: Number of nearest neighbours that define the radius of a ball.
        bootstrap: Number of half-samples for the intervals; 0 for no intervals.
        group: Also compute the support metrics for each group of this column, required in both files.
        kmeans_seeds: Seeds of the k-means clusterings for divergence.
        tokenizer: Name of an entry in models.yaml, or folder of a checkpoint, with the tokenizer for
            Self-BLEU and distinct-n. Defaults to words.
        scorer: Name of an entry in models.yaml, or folder of a checkpoint, for likelihood.
        prompt: Column of the prompts in the generated file; likelihood then scores the texts as their
            continuations.
        config: Folder of your own registries. Defaults to ./config.
        json: Print JSON instead of a table.
        explain: Also write an HTML page of the texts that precision and recall missed to this .html file.

    Raises:
        TextgamutError: If a file, a column, an entry or a value is not valid.
    """
    settings = settings_of(locals())
    if explain and "support" not in metrics:
        raise ConfigError("--explain shows what precision and recall missed: add support to --metrics")
    if "likelihood" in metrics and not scorer:
        raise ConfigError("--metrics likelihood needs --scorer: a model of models.yaml, or a folder")
    for file in (reference, generated):
        check_input(file)
    if explain:
        if explain.suffix.lower() not in (".html", ".htm"):
            raise ConfigError(f"--explain {explain}: is a page: its suffix must be .html")
        check_output("--explain", explain, [reference, generated])
    from textgamut import scoring
    from textgamut.datasets.table import labels
    from textgamut.models.devices import lease
    from textgamut.progress import recorded_warnings

    references = _read(reference, text, group)
    texts = _read(generated, text, [*group, *([prompt] if prompt is not None else [])])
    with recorded_warnings() as warnings:
        compute = scoring.checked(
            references[text],
            texts[text],
            metrics=metrics,
            embedder=embedder,
            pooling=pooling,
            max_tokens=max_tokens,
            k=k,
            bootstrap=bootstrap,
            groups={name: (labels(references[name]), labels(texts[name])) for name in group},
            kmeans_seeds=kmeans_seeds,
            tokenizer=tokenizer,
            scorer=scorer,
            prompts=labels(texts[prompt]) if prompt is not None else None,
            registries=config,
        )
        with lease(1):
            result = compute()
    try:
        if json:
            print_json(settings=settings, scores=result.rows, warnings=warnings)
        else:
            from textgamut.report.terminal import print_scores

            counts = len(result.reference_texts), len(result.generated_texts)
            print_scores(result.rows, *counts, result.embedder)
    finally:  # also if the reader of the output is gone
        if explain:
            title = f"{generated.name} against {reference.name}: what precision and recall missed"
            write(explain, result.page(title).encode())
            logger.info("written: %s", explain)


def _read(path: Path, text: str, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table of at least two texts, not all of them empty."""
    from textgamut.datasets.table import check_filled, check_strings, read_columns

    frame = read_columns(path, [text, *columns])
    if len(frame) < 2:
        raise DataError(f"{path}: at least two texts are needed, not {len(frame)}")
    check_filled(path, frame, [text])
    check_strings(path, frame, text)
    empty = sum(not value.strip() for value in frame[text])
    if empty == len(frame):
        raise DataError(f"{path}: all {empty} texts are empty")
    if empty:
        logger.warning("%s: %d of %d texts are empty; they are scored as empty", path, empty, len(frame))
    return frame
