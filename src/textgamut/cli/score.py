"""``textgamut score``: score a file of generated texts against a file of reference texts."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import CycloptsError, Parameter

from textgamut.cli.common import print_json, settings_of
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.metrics.catalogue import METRICS, metrics_of, scored_families
from textgamut.scoring import Pooling

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger(__name__)

Column = Annotated[str, Parameter(metavar="COLUMN")]
Count = Annotated[int, Parameter(metavar="N")]
Entry = Annotated[str, Parameter(metavar="NAME")]
File = Annotated[Path, Parameter(metavar="FILE")]


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
Seeds = Annotated[tuple[int, ...], Parameter(metavar="SEED...", consume_multiple=1)]


def score(
    *,
    reference: File,
    generated: File,
    text: Column = "text",
    metrics: Families = ("support", "divergence", "ngram"),
    embedder: Entry = "minilm",
    pooling: Pooling | None = None,
    max_tokens: Count = 512,
    k: Annotated[int, Parameter(name="--k", metavar="K")] = 4,
    bootstrap: Count = 200,
    group: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = (),
    kmeans_seeds: Seeds = (0, 1, 2, 3, 4),
    tokenizer: Entry | None = None,
    scorer: Entry | None = None,
    prompt: Column | None = None,
    config: Annotated[Path | None, Parameter(metavar="FOLDER")] = None,
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
        explain: Also write an HTML page of the texts that precision and recall missed to this file.

    Raises:
        TextgamutError: If a file, a column, an entry or a value is not valid.
    """
    settings = settings_of(locals())
    if explain and "support" not in metrics:
        raise ConfigError("--explain shows what precision and recall missed: add support to --metrics")
    if "likelihood" in metrics and not scorer:
        raise ConfigError("--metrics likelihood needs --scorer: a model of models.yaml, or a folder")
    from textgamut import scoring
    from textgamut.models.devices import lease
    from textgamut.progress import recorded_warnings

    references = _read(reference, text, list(group))
    texts = _read(generated, text, [*group, *([prompt] if prompt else [])])
    with lease(1), recorded_warnings() as warnings:
        result = scoring.score(
            references["text"],
            texts["text"],
            metrics=metrics,
            embedder=embedder,
            pooling=pooling,
            max_tokens=max_tokens,
            k=k,
            bootstrap=bootstrap,
            groups={name: (references[name], texts[name]) for name in group},
            kmeans_seeds=kmeans_seeds,
            tokenizer=tokenizer,
            scorer=scorer,
            prompts=texts[prompt] if prompt else None,
            registries=config,
        )
    if explain:
        title = f"{generated.name} against {reference.name}: what precision and recall missed"
        result.to_html(explain, title)
        logger.info("written: %s", explain)
    if json:
        print_json(settings=settings, scores=result.rows, warnings=warnings)
    else:
        from textgamut.report.terminal import print_scores

        print_scores(result.rows, len(result.reference_texts), len(result.generated_texts), result.embedder)


def _read(path: Path, text: str, columns: list[str]) -> pd.DataFrame:
    from textgamut.config.entries.datasets import TableDataset
    from textgamut.config.entries.sources import FileSource
    from textgamut.datasets.table import read

    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    source = FileSource(kind="file", path=str(path))
    frame = read(path, TableDataset(format="table", source=source, text=text, groups=columns))
    if len(frame) < 2:
        raise DataError(f"{path}: at least two texts are needed, not {len(frame)}")
    if empty := int((frame["text"].str.strip() == "").sum()):
        logger.warning("%s: %d of %d texts are empty; they are scored as empty", path, empty, len(frame))
    return frame
