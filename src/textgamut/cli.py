"""The command line: ``score`` texts, ``rank`` methods; ``plan`` and ``doctor`` tell what a run will meet."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textgamut import __version__
from textgamut.errors import TextgamutError, nearest

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from textgamut.registry import Embedder, FetchedSource, Model
    from textgamut.scores import Row, SupportScores

FAMILIES = ("support", "divergence", "ngram", "likelihood")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code: 0, 1 for bad input, 2 for a bad command."""
    options = _parser().parse_args(arguments)
    run = vars(options).pop("run")  # the rest are the command's settings
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Terminal())
    logger = logging.getLogger("textgamut")
    logger.setLevel(logging.INFO)
    logger.handlers = [handler]
    try:
        code: int = run(options) or 0
    except TextgamutError as error:
        sys.stderr.write(f"textgamut: error: {error}\n")
        return 1
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        sys.stdout = None
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("textgamut: stopped\n")
        return 130
    return code


class _Terminal(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return ("warning: " if record.levelno >= logging.WARNING else "") + record.getMessage()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="textgamut", description="Measure open-ended text generation.")
    parser.add_argument("--version", action="version", version=f"textgamut {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    command = commands.add_parser(
        "score",
        help="score a file of generated texts against a file of reference texts",
        description="Score generated texts against reference texts: how much of what was generated is "
        "like the references (precision), and how much of the references is reached (recall); and their "
        "companions. Files: .jsonl, .csv, .parquet with one text a row, or .txt with one text a line.",
    )
    command.add_argument("--reference", type=Path, required=True, metavar="FILE", help="human texts")
    command.add_argument("--generated", type=Path, required=True, metavar="FILE", help="generated texts")
    command.add_argument(
        "--text", default="text", metavar="COLUMN", help="column of the texts in both files (%(default)s)"
    )
    command.add_argument(
        "--metrics",
        nargs="+",
        choices=FAMILIES,
        metavar="FAMILY",
        default=["support", "divergence", "ngram"],
        help="families to compute: support (precision, recall, density, coverage), divergence (MAUVE, "
        "frontier integral, F_1/8, F_8), ngram (Self-BLEU, distinct-n, rep-4, diversity), likelihood "
        "(perplexity, coherence); by default all but likelihood",
    )
    command.add_argument(
        "--embedder",
        default="minilm",
        metavar="NAME",
        help="entry of embedders.yaml (%(default)s) or a folder",
    )
    command.add_argument(
        "--pooling",
        choices=["mean", "cls", "last-token", "sentence-transformers"],
        help="for an embedder given as a folder",
    )
    command.add_argument(
        "--max-tokens",
        type=int,
        default=512,
        metavar="N",
        help="for a folder: longest text (%(default)s)",
    )
    command.add_argument("--k", type=int, default=4, help="neighbours that a ball reaches to (%(default)s)")
    command.add_argument(
        "--bootstrap",
        type=int,
        default=200,
        metavar="N",
        help="half-samples behind intervals, 0 for none (%(default)s)",
    )
    command.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="COLUMN",
        help="support metrics also per group of this column, which both files have; may be repeated",
    )
    command.add_argument(
        "--kmeans-seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], metavar="SEED", help="%(default)s"
    )
    command.add_argument(
        "--tokenizer", metavar="NAME", help="entry of models.yaml or a folder whose tokens Self-BLEU and "
        "distinct-n count; by default words, split on white space"
    )  # fmt: skip
    command.add_argument(
        "--scorer", metavar="NAME", help="entry of models.yaml or a folder: the model behind likelihood"
    )
    command.add_argument(
        "--prompt",
        metavar="COLUMN",
        help="column of the prompts in the generated file; the texts are then taken as continuations by "
        "likelihood",
    )
    command.add_argument(
        "--config",
        type=Path,
        metavar="FOLDER",
        help="registries (./config, or textgamut's own)",
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.add_argument(
        "--explain", type=Path, metavar="FILE", help="also write an HTML page of the texts that were missed"
    )
    command.set_defaults(run=score)
    command = commands.add_parser(
        "rank",
        help="rank methods by several criteria at once",
        description="Rank methods, such as models or decoding settings, that were scored on the same "
        "prompts by several criteria: by dominance, by the extended Bradley-Terry model, by the union-free "
        "generic depth of their orders and, of coherence, diversity and perplexity, by Q*Text; and say how "
        "far the rankings agree. The file: .csv, .jsonl or .parquet with the columns prompt, method, "
        "criterion, value; or with prompt, method and one column for each criterion.",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="the scores")
    command.add_argument(
        "--higher", nargs="+", default=[], metavar="CRITERION", help="criteria of which more is better"
    )
    command.add_argument(
        "--lower", nargs="+", default=[], metavar="CRITERION", help="criteria of which less is better"
    )
    command.add_argument(
        "--prompt", default="prompt", metavar="COLUMN", help="column of the prompts (%(default)s)"
    )
    command.add_argument(
        "--method",
        nargs="+",
        default=["method"],
        metavar="COLUMN",
        help="column of the methods, or several that name a method together (%(default)s)",
    )
    command.add_argument(
        "--depth-of",
        type=int,
        default=4,
        metavar="N",
        help="the depth compares so many of the best methods, 2 to 6 (%(default)s)",
    )
    command.add_argument(
        "--output", type=Path, metavar="FOLDER", help="also write all tables, as CSV, and figures there"
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of tables")
    command.set_defaults(run=rank)
    command = commands.add_parser(
        "plan",
        help="say what an experiment will take, before anything runs",
        description="Say what an experiment will take: for each task and model its cells, jobs, samples, "
        "tokens, GPU hours and US dollars, what of that is done, and the disk space. Rates are those that "
        "finished shards have measured, else the registry's tokens_per_second.",
    )
    command.add_argument(
        "--configfile",
        type=Path,
        metavar="FILE",
        help="the experiment (config/demo.yaml)",
    )
    command.add_argument(
        "--config", type=Path, metavar="FOLDER", help="registries (./config, or textgamut's own)"
    )
    command.add_argument("--json", action="store_true", help="print JSON instead of a table")
    command.set_defaults(run=plan)
    command = commands.add_parser(
        "doctor",
        help="say what this machine can do",
        description="Say what this machine can do: packages, memory, GPUs, caches, network, keys (never "
        "their values), and whether the registries in ./config are valid. The exit code is 1 when something "
        "is broken that every run needs.",
    )
    command.add_argument("--offline", action="store_true", help="leave the network alone")
    command.add_argument("--json", action="store_true", help="print JSON instead of lines")
    command.set_defaults(run=doctor)
    return parser


def score(options: argparse.Namespace) -> None:
    """Score two files as the options say, and print the result.

    Raises:
        TextgamutError: A file, a column, an entry or a value is wrong.
    """
    from textgamut.generation.devices import lease
    from textgamut.jobs import told

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
    with lease(1) as device, told() as warnings:
        embedder, rows, support = _scores(options, reference, generated, device)
    if options.explain:
        from textgamut.explain import Side, support_page
        from textgamut.io import write_bytes

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
    settings = {
        name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()
    }
    if options.json:
        content = {"textgamut": __version__, "settings": settings, "scores": rows, "warnings": warnings}
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        _print(rows, len(reference), len(generated), embedder)


def rank(options: argparse.Namespace) -> None:
    """Rank the methods of a file as the options say, and print the rankings.

    Raises:
        TextgamutError: The file, a column, a criterion or a value is wrong.
    """
    from textgamut.jobs import told
    from textgamut.rankings.method_scores import method_scores, wide_method_scores
    from textgamut.rankings.rank import rank, ranking_tables
    from textgamut.rankings.show import show

    if not 2 <= options.depth_of <= 6:
        raise TextgamutError(f"--depth-of {options.depth_of}: 2 to 6 methods can be compared")
    frame = _read_scores(options.file, [options.prompt, *options.method])
    for name in (options.prompt, *options.method):
        if (bare := frame[name].isna().to_numpy()).any():
            raise TextgamutError(f"{options.file}: row {int(bare.argmax()) + 1}: {name!r} is empty")
    method = frame[options.method].astype(str).agg(", ".join, axis=1)
    frame = frame.assign(method=method, prompt=frame[options.prompt].astype(str))
    long = {"criterion", "value"} <= set(frame)
    with told() as warnings:
        try:
            scores = (method_scores if long else wide_method_scores)(frame, options.higher, options.lower)
        except TextgamutError as error:
            raise TextgamutError(f"{options.file}: {error}") from None
        ranking = rank(scores, options.depth_of)
    tables = ranking_tables(ranking)
    if options.output:
        from textgamut.drawing import render
        from textgamut.io import write_bytes
        from textgamut.ranking_figures import ranking_figures

        files = {f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}
        for name, figure in ranking_figures(ranking, {}, options.file.name).items():
            files |= {f"{name}.png": render(figure, "png"), f"{name}.svg": render(figure, "svg")}
        try:
            for name, data in files.items():
                write_bytes(options.output / name, data)
        except OSError as error:
            raise TextgamutError(f"{options.output}: cannot be written: {error.strerror}") from None
        logging.getLogger("textgamut").info("written: %s", options.output)
    if options.json:
        content = {
            "textgamut": __version__,
            "settings": {
                name: str(value) if isinstance(value, Path) else value
                for name, value in vars(options).items()
            },
            **{
                name: json.loads(table.to_json(orient="records", double_precision=15))
                for name, table in tables.items()
            },
            "notes": ranking.notes,
            "warnings": warnings,
        }
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        show(ranking, scores)


def _read_scores(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read a table of scores, by its suffix."""
    import pandas as pd

    text = dict.fromkeys((*columns, "criterion"), str)  # "001" and "NA" are names
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": partial(pd.read_csv, dtype=text, keep_default_na=False, na_values=[""]),
        ".parquet": pd.read_parquet,
        ".jsonl": partial(pd.read_json, lines=True, dtype=text),
    }
    if not path.is_file():
        raise TextgamutError(f"{path}: there is no such file")
    if path.suffix.lower() not in readers:
        raise TextgamutError(f"{path}: the suffix must be one of {', '.join(readers)}")
    try:
        frame: pd.DataFrame = readers[path.suffix.lower()](path)
    except (ValueError, OSError) as error:
        raise TextgamutError(f"{path}: it cannot be read as {path.suffix}: {error}") from None
    for name in columns:
        if name not in frame:
            raise TextgamutError(f"{path}: no column {name!r}; {nearest(name, map(str, frame.columns))}")
    return frame


def plan(options: argparse.Namespace) -> None:
    """Print what an experiment will take.

    Raises:
        TextgamutError: The experiment or a registry is wrong.
    """
    from textgamut.config import load_config
    from textgamut.plan import make_plan, show
    from textgamut.validation import read_yaml

    registries = _registry(options.config, "models")[0].parent
    file = options.configfile or registries / "demo.yaml"
    found = make_plan(load_config(read_yaml(file), str(file), registries))
    if options.json:
        content = {"textgamut": __version__, "configfile": str(file), **asdict(found)}
        print(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        show(found)


def doctor(options: argparse.Namespace) -> int:
    """Print what this machine can do; return 1 when something is broken that every run needs, else 0."""
    from textgamut.doctor import examine, show

    checks = examine(offline=options.offline)
    broken = [f"{check.area}: {check.name}" for check in checks if check.state == "broken"]
    if options.json:
        content = {"textgamut": __version__, "broken": broken, "checks": list(map(asdict, checks))}
        print(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        show(checks)
    return 1 if broken else 0


def _scores(
    options: argparse.Namespace, reference: pd.DataFrame, generated: pd.DataFrame, device: torch.device
) -> tuple[Embedder | None, list[Row], SupportScores | None]:
    """Compute the families that are asked for."""
    from textgamut.scores import divergence_scores, likelihood_scores, ngram_scores, support_scores

    rows: list[Row] = []
    embedder = support = None
    if {"support", "divergence"} & set(options.metrics):
        from textgamut.embedding import embed
        from textgamut.generation.checkpoints import prepare

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
        from textgamut.generation.checkpoints import load_tokenizer, prepare

        model = _model(options.tokenizer, options.config) if options.tokenizer else None
        tokenizer = load_tokenizer(prepare(_weights(model, options.tokenizer))) if model else None
        rows += ngram_scores(list(generated["text"]), tokenizer)[0]
    if "likelihood" in options.metrics:
        import torch

        from textgamut.generation.checkpoints import load_causal_model, load_tokenizer, prepare

        model = _model(options.scorer, options.config)
        folder = prepare(_weights(model, options.scorer))
        loaded = load_causal_model(folder, torch.float32, device)
        prompts = list(generated[options.prompt].fillna("")) if options.prompt else None
        texts = list(generated["text"])
        rows += likelihood_scores(loaded, load_tokenizer(folder), prompts, texts, model.batch_size)[0]
    return embedder, rows, support


def _read(path: Path, text: str, columns: list[str]) -> pd.DataFrame:
    from textgamut.datasets.table import read
    from textgamut.registry import FileSource, TableDataset

    if not path.is_file():
        raise TextgamutError(f"{path}: there is no such file")
    source = FileSource(kind="file", path=str(path))
    frame = read(path, TableDataset(format="table", source=source, text=text, groups=columns))
    if len(frame) < 2:
        raise TextgamutError(f"{path}: at least two texts are needed, not {len(frame)}")
    return frame


def _labels(column: pd.Series) -> list[str | None]:
    return [label if isinstance(label, str) else None for label in column]


def _registry(folder: Path | None, name: str) -> tuple[Path, dict[str, Any]]:
    from textgamut.config import load_registry

    own = Path(__file__).parents[2] / "config"
    folders = [folder] if folder else [Path("config"), own]
    for candidate in folders:
        path = candidate / f"{name}.yaml"
        if path.is_file():
            return path, load_registry(path)
    raise TextgamutError(
        f"there is no {name}.yaml in {' or '.join(map(str, folders))}: give --config a folder"
    )


def _embedder(options: argparse.Namespace) -> Embedder:
    from textgamut.registry import Embedder, FileSource

    folder = Path(options.embedder)
    if folder.is_dir():
        if not options.pooling:
            raise TextgamutError(f"{folder}: an embedder given as a folder needs --pooling")
        source = FileSource(kind="file", path=str(folder))
        return Embedder(
            label=folder.name, source=source, pooling=options.pooling, max_tokens=options.max_tokens
        )
    path, entries = _registry(options.config, "embedders")
    if options.embedder not in entries:
        raise TextgamutError(
            f"{path}: no embedder {options.embedder!r}; {nearest(options.embedder, entries)}"
        )
    entry: Embedder = entries[options.embedder]
    return entry


def _model(name: str, config: Path | None) -> Model:
    from textgamut.registry import FileSource, Model

    folder = Path(name)
    if folder.is_dir():
        source = FileSource(kind="file", path=str(folder))
        return Model(label=folder.name, family=folder.name, source=source, chat="none")
    path, entries = _registry(config, "models")
    if name not in entries:
        raise TextgamutError(f"{path}: no model {name!r}; {nearest(name, entries)}")
    entry: Model = entries[name]
    return entry


def _weights(model: Model, name: str) -> FetchedSource:
    from textgamut.registry import OpenAISource

    if isinstance(model.source, OpenAISource):
        raise TextgamutError(f"model {name!r} is behind a server: name one whose weights can be had")
    return model.source


def _print(rows: list[Row], references: int, generated: int, embedder: Embedder | None) -> None:
    """Print the scores for people: a table of all texts, and one of the groups."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from textgamut.tables import ALL, READS_AS, SUPPORT

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
            whole.add_row(*(Text(cell) for cell in cells), Text(READS_AS[row["metric"]], style="dim"))
    console.print(whole)

    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["group"] != ALL:
            found.setdefault(row["group"], {})[row["metric"]] = row["value"]
    if found:
        groups = Table("group", *SUPPORT, box=None, pad_edge=False, header_style="dim")
        for group, values in found.items():
            of_group = (f"{values[name]:.4f}" if name in values else "—" for name in SUPPORT)
            groups.add_row(Text(group), *(Text(cell) for cell in of_group))
        console.print()
        console.print(groups)


def _uncertainty(row: Row) -> str:
    if "low" in row:
        return f"{row['low']:.3f} to {row['high']:.3f} (95 %)"
    return f"± {row['deviation']:.4f} (k-means)" if "deviation" in row else ""
