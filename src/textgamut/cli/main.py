"""The command line: ``score`` texts, ``rank`` methods; ``plan`` and ``doctor`` tell what a run will meet."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from textgamut import __version__
from textgamut.cli.common import print_json, registry
from textgamut.cli.rank import rank
from textgamut.cli.score import score
from textgamut.errors import TextgamutError
from textgamut.metrics.catalogue import METRICS, metrics_of, scored_families


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
        choices=scored_families(),
        metavar="FAMILY",
        default=[family for family in scored_families() if family != "likelihood"],
        help=f"families to compute: {_families()}; by default all but likelihood",
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


def _families() -> str:
    """List the families that can be scored, each with its metrics."""
    labels = {name: [METRICS[metric].label for metric in metrics_of(name)] for name in scored_families()}
    return ", ".join(f"{name} ({', '.join(dict.fromkeys(found))})" for name, found in labels.items())


def plan(options: argparse.Namespace) -> None:
    """Print what an experiment will take.

    Raises:
        TextgamutError: The experiment or a registry is wrong.
    """
    from textgamut.cli.plan import print_plan
    from textgamut.config.loading import load_config
    from textgamut.config.yaml import read_yaml
    from textgamut.workflow.plan import make_plan

    registries = registry(options.config, "models")[0].parent
    file = options.configfile or registries / "demo.yaml"
    found = make_plan(load_config(read_yaml(file), str(file), registries))
    if options.json:
        print_json(configfile=str(file), **asdict(found))
    else:
        print_plan(found)


def doctor(options: argparse.Namespace) -> int:
    """Print what this machine can do; return 1 when something is broken that every run needs, else 0."""
    from textgamut.cli.doctor import examine, print_checks

    checks = examine(offline=options.offline)
    broken = [f"{check.area}: {check.name}" for check in checks if check.state == "broken"]
    if options.json:
        print_json(broken=broken, checks=list(map(asdict, checks)))
    else:
        print_checks(checks)
    return 1 if broken else 0
