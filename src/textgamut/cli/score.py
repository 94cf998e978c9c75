"""``textgamut score``: score files of generated texts against a file of reference texts."""

from __future__ import annotations

import glob
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from cyclopts import CycloptsError, Parameter
from cyclopts.validators import Number

from textgamut.catalogue import FAMILIES, scored_families
from textgamut.catalogue.family import MODEL, PROMPT_IDS
from textgamut.cli.common import (
    Integer,
    NamedPath,
    NamedPaths,
    check_folder,
    print_json,
    records,
    settings_of,
    stem,
    utf8,
)
from textgamut.cli.score_files import output_names, write_output
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.scoring.options import Options, Pooling, all_options
from textgamut.user_files import check_file

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.scoring.results import Comparison, ScoreResult

logger = logging.getLogger(__name__)

Column = Annotated[str, Parameter(metavar="COLUMN")]
Count = Annotated[Integer, Parameter(metavar="N", validator=Number(gte=1))]
Entry = Annotated[str, Parameter(metavar="NAME")]
File = Annotated[NamedPath, Parameter(metavar="FILE")]


def _check_families(_: object, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in scored_families():
            raise CycloptsError(msg=f"--metrics: no family {name!r}; {nearest(name, scored_families())}")


def _check_seeds(_: object, seeds: tuple[int, ...]) -> None:
    if min(seeds, default=0) < 0:
        raise ValueError(f"{min(seeds)} is below 0")


def as_option(option: Field[Any], kind: Any) -> tuple[str, Any, Any]:
    """Return an option of ``textgamut.score`` as one of the command line: name, annotated type, default."""
    facts = option.metadata
    shown: dict[str, Any] = {"name": f"--{option.name.replace('_', '-')}", "help": facts["help"]}
    if facts["metavar"]:
        shown["metavar"] = facts["metavar"]
    if option.name == "registries":
        kind = NamedPath | None
    elif option.name == "metrics":
        kind = tuple[str, ...]
        shown |= {"consume_multiple": 1, "validator": _check_families}
    elif option.name == "refusals":
        kind = tuple[str, ...]
        shown["consume_multiple"] = 1
    elif option.name == "kmeans_seeds":
        kind = tuple[Integer, ...]
        shown |= {"consume_multiple": 1, "validator": _check_seeds}
    elif kind == int | None:
        kind = Integer | None
        shown["validator"] = Number(gte=facts["least"])
    elif kind is int:
        kind = Integer
        shown["validator"] = Number(gte=facts["least"])
    elif kind != Pooling | None:
        kind = str if option.default else str | None
    return option.name, Annotated[kind, Parameter(**shown)], field(default=option.default)


if TYPE_CHECKING:
    Given = Options
else:  # the options of textgamut.score on the command line
    KINDS = get_type_hints(Options)
    Given = make_dataclass(
        "Given",
        [as_option(option, KINDS[option.name]) for option in all_options()],
        namespace={"__module__": __name__},  # cyclopts takes one of a built-in module for a plain value
        frozen=True,
        kw_only=True,
    )

MOST_REFERENCES = 100_000
"""Number of references that are read, unless more can be compared or held out: they could fill the memory."""


def score(
    *,
    reference: File,
    generated: Annotated[NamedPaths, Parameter(metavar="FILE...")],
    text: Column = "text",
    model: Column = "model",
    given: Annotated[Given, Parameter(name="*")] = Given(),  # noqa: B008 (it is frozen)
    group: Annotated[tuple[str, ...], Parameter(metavar="COLUMN...", consume_multiple=1)] = (),
    prompt: Column | None = None,
    cluster: Column | None = None,
    output: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    json: bool = False,
) -> None:
    """Score one or several files of generated texts against a file of reference texts.

    Precision is the share of the generated texts that lie within the support of the references; recall is the
    share of the references that lie within the support of the generated texts. Further metrics compare the
    two distributions and the wording. The files are .jsonl, .csv, .tsv or .parquet with one text per row, or
    .txt with one text per line, all but .parquet also compressed as .gz. - is JSONL on standard input.

    Several models, each in a file or named in a column, are cut to the same number of texts and compared,
    with tests of their differences. Each model has the values that it has alone for as many texts.

    Args:
        reference: File of human texts.
        generated: Files of generated texts. A quoted pattern such as 'texts/*.jsonl' is expanded.
        text: Column of the texts in all files.
        model: Column of the models in the generated files. Without it, the model is named by the file.
        given: The options of ``textgamut.score``.
        group: Also compute the support metrics for each group of this column, required in all files.
        prompt: Column of the prompts in the generated files; likelihood then scores the texts as their
            continuations. Required for completions, which compares the texts of one prompt.
        cluster: Column of clusters of texts that depend on each other, such as authors or templates, in the
            generated files; tests and intervals take the texts of a cluster as a whole.
        output: Also write a page with the scores and all texts, the tables and a figure to this folder.
        json: Print JSON instead of tables.

    Raises:
        TextgamutError: If a file, a column, an entry or a value is not valid.
    """
    own = {name: value for name, value in locals().items() if name != "given"}
    settings = settings_of(own | vars(given))
    for family in given.metrics:
        reads = FAMILIES[family].reads
        if MODEL in reads and not given.scorer:
            raise ConfigError(f"--metrics {family} needs --scorer: a model of models.yaml, or a folder")
        if PROMPT_IDS in reads and prompt is None:
            raise ConfigError(f"--metrics {family} needs --prompt: the column of the prompts")
    from textgamut.progress import recorded_warnings, step
    from textgamut.report.bars import bars

    with bars(), recorded_warnings() as messages:
        asked = {"prompts": prompt, "clusters": cluster}
        with step("reading the texts"):
            from textgamut.models.devices import lease

            files = _expanded(generated)
            compute = _prepare(reference, files, text, model, given, group, asked, output)
        with lease(1):
            comparison = compute()
            comparison.verdicts  # noqa: B018 (computed once, here: on the GPU, and its warnings are kept)
            if output:
                comparison.deviations  # noqa: B018 (likewise)
    try:
        _print(comparison, settings if json else None, messages)
    finally:  # also if the reader of the output is gone
        if output:
            with bars(), step("writing the page"):
                write_output(output, comparison, [reference, *files], settings, messages)


def _prepare(
    reference: Path,
    files: Sequence[Path],
    text: str,
    model: str,
    given: Any,
    group: Sequence[str],
    asked: Mapping[str, str | None],
    output: Path | None,
) -> Callable[[], Comparison]:
    """Read the files and check everything; return the computation."""
    from textgamut.datasets.row_files import STANDARD_INPUT
    from textgamut.datasets.table import labels
    from textgamut.scoring.check import check_texts
    from textgamut.scoring.compute import compute
    from textgamut.scoring.resolve import check_options, resolve

    inputs = [file for file in (reference, *files) if file != STANDARD_INPUT]
    if len(files) + 1 - len(inputs) > 1:
        raise ConfigError("standard input can be read only once: one of --reference and --generated")
    for file in inputs:
        check_file(file)
    whole = "compression" in given.metrics or reference == STANDARD_INPUT
    references = _read(reference, text, group, most=None if whole else MOST_REFERENCES + 1)
    _check_texts(str(reference), references[text])
    models = _read_models(
        files, text, model, [*group, *(column for column in asked.values() if column is not None)]
    )
    if len(references) > MOST_REFERENCES and not whole:
        most = max(MOST_REFERENCES, 2 * min(map(len, models.values())))
        references = _read(reference, text, group, most=most)
        logger.warning(
            "%s: only the first %s references are read: no metric uses more", reference, f"{most:,}"
        )
    if output:
        check_folder("--output", output, output_names("support" in given.metrics), inputs)

    def of_models(column: str) -> dict[str, pd.Series[Any]]:
        return {name: labels(frame[column]) for name, frame in models.items()}

    options = check_options(Options(**vars(given)), with_prompts=asked["prompts"] is not None)
    texts = check_texts(
        references[text],
        {name: frame[text] for name, frame in models.items()},
        options,
        {column: (labels(references[column]), of_models(column)) for column in group},
        **{name: None if column is None else of_models(column) for name, column in asked.items()},
    )
    resolved = resolve(options)
    return lambda: compute(texts, options, resolved)


def _print(comparison: Comparison, settings: dict[str, Any] | None, messages: Sequence[str]) -> None:
    """Print the scores, as JSON with the settings if these are given."""
    from textgamut.report.terminal import print_comparison, print_scores

    result = next(iter(comparison.results.values()))
    counts = len(result.reference_texts), len(result.generated_texts)
    if settings is not None:
        print_json(
            settings=settings,
            language=result.language,
            verdicts={name: vars(verdict) for name, verdict in comparison.verdicts.items()},
            lost={
                name: {side: [vars(region) for region in of] for side, of in sides._asdict().items()}
                for name, sides in comparison.lost.items()
            },
            pairs=comparison.pair_verdicts,
            scores=_rows(comparison.results),
            human=_rows(comparison.humans),
            differences=records(comparison.differences),
            warnings=messages,
        )
        return
    verdicts = {
        name: [*verdict.sentences, *_lost(comparison, name)] for name, verdict in comparison.verdicts.items()
    }
    if len(comparison.results) > 1:
        said = verdicts | {"": comparison.pair_verdicts}
        print_comparison(comparison.to_frame(), comparison.differences, said, counts[0], result.computed_with)
    else:
        humans = {name: of.values for name, of in comparison.humans.items()}
        print_scores(result.rows, humans, verdicts[result.name], *counts, result.computed_with)


def _lost(comparison: Comparison, name: str) -> list[str]:
    """Say which texts are missed, and which are unlike human ones: the key phrases of each region."""
    said = []
    for what, regions in zip(("Unlike human texts", "Missed"), comparison.lost.get(name, ()), strict=False):
        about = [f"{region.share:.0%} ({', '.join(region.phrases[:3]) or '...'})" for region in regions]
        said += [f"{what}: {', '.join(about)}."] if about else []
    return said


def _rows(results: Mapping[str, ScoreResult]) -> list[dict[str, Any]]:
    return [{"model": name, **row} for name, of in results.items() for row in of.rows]


def _expanded(paths: Iterable[Path]) -> list[Path]:
    """Replace patterns by the files that match them, in alphabetical order."""
    from textgamut.fields import matching_files

    found: list[Path] = []
    for path in paths:
        matching = matching_files(str(path))
        if not matching and glob.has_magic(str(path)):
            raise DataError(f"{path}: no file matches")
        found += map(Path, matching or [str(path)])
    return found


def _read_models(
    files: Sequence[Path], text: str, column: str, columns: Sequence[str]
) -> dict[str, pd.DataFrame]:
    """Read the texts of each model; a file without the column is one model, which is named by the file."""
    from textgamut.datasets.table import labels

    required = [column] if column != "model" else []
    models: dict[str, tuple[Path, pd.DataFrame]] = {}

    def add(name: str, path: Path, frame: pd.DataFrame) -> None:
        if name in models:
            raise DataError(f"{path}: model {name!r} is also in {models[name][0]}")
        models[name] = path, frame

    named = {path: stem(path) for path in files}
    for path in files:
        frame = _read(path, text, [*columns, *required], [column])
        if column not in frame or column == text:
            stems = list(named.values())
            add(named[path] if stems.count(named[path]) == 1 else utf8(path), path, frame)
            continue
        names = labels(frame[column])
        missing = (names.isna() | (names.str.strip() == "")).to_numpy()
        if missing.any():
            row = frame.index[int(missing.argmax())]
            raise DataError(f"{path}: {frame.index.name} {row} has no {column!r}")
        for name in names.unique():
            add(name, path, frame[names == name])
    for name, (path, frame) in models.items():
        several = sum(path == other for other, _ in models.values()) > 1
        _check_texts(f"{path}: model {name!r}" if several else str(path), frame[text])
    return {name: frame for name, (_, frame) in models.items()}


def _read(
    path: Path, text: str, columns: Sequence[str], optional: Sequence[str] = (), most: int | None = None
) -> pd.DataFrame:
    """Read a table of texts."""
    from textgamut.datasets.table import read_columns, text_column

    frame = read_columns(path, [text, *columns], optional, most=most)
    return frame.assign(**{text: text_column(path, frame, text)}) if len(frame) else frame


def _check_texts(where: str, texts: pd.Series[Any]) -> None:
    """Check that there are at least two texts, not all of them empty."""
    if len(texts) < 2:
        raise DataError(f"{where}: at least two texts are needed, not {len(texts)}")
    empty = sum(not value.strip() for value in texts)
    if empty == len(texts):
        raise DataError(f"{where}: all {empty} texts are empty")
    if empty:
        logger.warning("%s: %d of %d texts are empty; they are scored as empty", where, empty, len(texts))
