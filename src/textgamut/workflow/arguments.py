"""Check the arguments of ``snakemake`` first, since its own messages name neither lines nor valid names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter

from textgamut.catalogue import FAMILIES
from textgamut.config.cells import Config
from textgamut.config.entries.sources import GenerationsSource
from textgamut.config.task_kinds import HUMAN, SubsetsTask
from textgamut.config.yaml import listed, read_yaml, validate
from textgamut.errors import ConfigError, nearest
from textgamut.fields import LARGEST_INTEGER, expanded
from textgamut.user_files import no_file
from textgamut.workflow import paths
from textgamut.workflow.families import PERPLEXITY
from textgamut.workflow.inputs import of_gate
from textgamut.workflow.targets import target_outputs, unavailable

NUMBERS = ("seed", "draw", "shard", "shards", "tokens")
"""Wildcards that match any number."""

NUMBER_PATTERN = r"0|[1-9]\d*"
"""A number as it is written in paths: another spelling would be another file."""

SHARD_NAME = PurePosixPath(paths.SHARD).name

NO_CONFIG = "--config is not supported: write the settings to a file and pass it with --configfile"

Differences = dict[int, tuple[str, list[str]]]
"""Number of a part of a path -> the kind of name in that place, and the valid names."""


FOLDERS = {"{folder}": (paths.CELL, paths.DRAW), "{page}": ("{paper}", "{paper}/{task}")}
"""Wildcard that stands for several folders -> the folders."""


def check_options(words: Sequence[str]) -> None:
    """Check ``--config`` and ``--configfile``, which Snakemake reads before it reads the Snakefile.

    Args:
        words: The command line.

    Raises:
        TextgamutError: If there are several files, the file is not YAML with keys, or there is ``--config``.
    """
    files: list[str] = []
    following = False
    for word in words:
        option, equals, value = word.partition("=")
        if option == "--config" or word.startswith("-C"):
            raise ConfigError(NO_CONFIG)
        if option in ("--configfile", "--configfiles"):
            files, following = [value] if equals else [], not equals
        elif word == "--":
            break
        elif word.startswith("-") and word != "-":
            following = False
        elif following:
            files.append(word)
    if len(files) > 1:
        first, *others = files
        rest = " ".join(others)
        raise ConfigError(
            f"--configfile {first} {rest}: Snakemake reads {rest} as a configuration file too, but an "
            f"experiment is a single file. Write a target first: snakemake {rest} --configfile {first}"
        )
    for file in files:
        validate(TypeAdapter(dict[str, Any]), read_yaml(Path(file)), file)


def shows_bars(words: Sequence[str], terminal: bool) -> bool:
    """Return whether a run of ``snakemake`` shows bars: on a terminal, unless it is dry, or told to be quiet.

    Args:
        words: The command line.
        terminal: Whether standard error is a terminal.
    """
    told = any(map(re.compile(r"-[a-zA-Z]*[nq]|--(dry-?run|quiet|logger)\b").match, words))
    return terminal and not told and find_spec("snakemake_logger_plugin_rich") is not None


def check_place(project: Path) -> None:
    """Check the folder of the Snakefile and the working directory; Snakemake's messages say little of them.

    Args:
        project: The folder of the Snakefile.

    Raises:
        ConfigError: If the name of the project's folder has braces, which Snakemake takes for wildcards, or
            if the folder of Snakemake's own files cannot be written.
    """
    if not {"{", "}"}.isdisjoint(str(project)):
        raise ConfigError(
            f"{project}: Snakemake reads no project in a folder with braces in its name: rename it"
        )
    state = Path(paths.LOADING_JOBS).parent
    for path in (state if state.exists() else Path(), *state.glob("*"), *state.glob("iocache/*")):
        if path.exists() and not os.access(path, os.W_OK):
            raise ConfigError(f"{path.absolute()}: cannot be written: run in a folder of your own")


def check_targets(
    config: Config, targets: Iterable[str], named: Iterable[str], outputs: Mapping[str, Sequence[str]]
) -> None:
    """Check that the targets, and what options such as ``--until`` name, are rules or possible outputs.

    Args:
        config: The configuration.
        targets: Names of rules and paths.
        named: Names of rules and paths in options, where a rule stands for all its jobs.
        outputs: Rule -> the paths of its outputs, with wildcards.

    Raises:
        TextgamutError: If one is neither, for example because it names an unknown task, or if it is a target
            that cannot be made.
    """
    patterns = {path for rule in outputs.values() for output in rule for path in _patterns(output)}
    folders = {pattern.split("/")[0] for pattern in patterns}
    concrete = [rule for rule, files in outputs.items() if not any("{" in file for file in files)]
    problems = []
    impossible = {} if config.experiment.gates else {"gate": "the experiment has no gates"}
    impossible |= {
        name: reason
        for target in config.experiment.targets
        if (reason := unavailable(config, target))
        for name in (target, *target_outputs(config, target).values())
    }
    if config.experiment.targets:
        page = paths.fill(paths.PAGE, page=config.experiment.name)
        impossible[page] = "it is written at the end of each run; a task has a page that can be made"
    for rules, names in ((concrete, targets), (list(outputs), named)):
        for name in names:
            path = os.path.relpath(name or ".")
            if path in impossible:
                found = [impossible[path]]
            elif name in rules:
                continue
            elif name in outputs:
                found = [
                    f"a rule for many files: give one of them, such as {next(_patterns(outputs[name][0]))}"
                ]
            elif "/" not in path and path not in folders:
                found = [f"unknown rule; {nearest(name, rules)}"]
            else:
                found = _problems(config, path, patterns)
                if not found and os.path.isabs(name):
                    found = [f"an absolute path: write {path}"]
            shown = name if name.isprintable() and name else repr(name)
            problems += [f"{shown}: {problem}" for problem in found]
    if problems:
        raise ConfigError("\n".join(problems))


def check_generations(config: Config, targets: Sequence[str]) -> None:
    """Check that the files of texts that were generated elsewhere exist, unless their cells have been read.

    Snakemake would leave out a new model without its file if there are results without it. Targets in
    ``data/`` need none of the files, so that prompts can be drawn and exported before there are texts.

    Args:
        config: The configuration.
        targets: Names of rules and paths; none for the default target.

    Raises:
        TextgamutError: If a file is missing.
    """
    if targets and all(os.path.relpath(target).startswith("data/") for target in targets):
        return
    missing: dict[str, None] = {}
    for cell in config.generated():
        source = config.models[cell.model].source
        if isinstance(source, GenerationsSource) and not os.path.exists(paths.fill(paths.GENERATIONS, cell)):
            for file in source.files(cell.task, cell.decoding, cell.seed):
                if not {"{", "}"}.isdisjoint(file):
                    problem: str | None = f"Snakemake takes braces in a path for wildcards: rename {file}"
                else:
                    problem = no_file(Path(file))
                if problem:
                    missing[f"model {cell.model!r}: source.path: {problem}"] = None
    if missing:
        raise ConfigError(listed(missing))


def check_baselines(config: Config, targets: Sequence[str]) -> None:
    """Check that the files of earlier runs exist which gates compare with.

    Args:
        config: The configuration.
        targets: Names of rules and paths; none for the default target.

    Raises:
        TextgamutError: If a file is missing, or the folder is that of this run.
    """
    if targets and all(os.path.relpath(target).startswith("data/") for target in targets):
        return
    problems = []
    for name, gate in config.experiment.gates.items():
        if gate.baseline.results is None:
            continue
        where, folder = f"gates.{name}.baseline.results", expanded(gate.baseline.results)
        if os.path.abspath(folder) == os.path.abspath(Path(paths.CELL).parts[0]):
            problems.append(f"{where}: {folder} is the folder of this run: name that of an earlier one")
            continue
        known = SimpleNamespace(gate=name)
        files = [
            file
            for path in (paths.GENERATIONS, paths.CELL_FEATURES)
            for file in of_gate(config, known, "baseline", path)
        ]
        missing = [problem for file in files if (problem := no_file(Path(file)))]
        if missing:
            more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
            problems.append(f"{where}: {missing[0]}{more}: give the folder results of a finished run")
    if problems:
        raise ConfigError(listed(problems))


def named_rules(arguments: Any) -> list[str]:
    """Return the names of rules and paths in Snakemake's options, as it has parsed them."""
    options = ["until", "omit_from", "forcerun", "prioritize", "allowed_rules", "set_threads"]
    names = {name for option in [*options, "set_resources"] for name in getattr(arguments, option) or ()}
    return sorted(names | ({arguments.batch.rulename} if arguments.batch else set()))


def _patterns(output: str) -> Iterator[str]:
    """Yield a path without the constraints of its wildcards, for each folder that it can be in."""
    path = re.sub(r"\{(\w+),[^{}]*\}", r"{\1}", output)
    for wildcard, folders in FOLDERS.items():
        if wildcard in path:
            yield from (path.replace(wildcard, folder) for folder in folders)
            return
    yield path


def _problems(config: Config, path: str, patterns: Iterable[str]) -> list[str]:
    """Return what is wrong with a path, compared with the most similar outputs."""
    parts = path.split("/")
    compared = {
        pattern: _compare(config, parts, pattern.split("/"))
        for pattern in sorted(patterns, key=lambda pattern: (len(pattern), pattern))
        if len(parts) <= len(pattern.split("/"))
    }
    files = [pattern for pattern in compared if len(parts) == len(pattern.split("/"))]
    right = [pattern for pattern, wrong in compared.items() if not wrong]
    if right:
        folder = [f"a folder, but a target is a file, such as {right[0]}"]
        return [] if any(pattern in files for pattern in right) else folder
    alike: dict[tuple[int, ...], list[Differences]] = {}  # by their places
    fewest = min(map(len, compared.values()), default=0)
    files = [pattern for pattern in files if len(compared[pattern]) == fewest]
    for pattern in files or compared:
        alike.setdefault(tuple(compared[pattern]), []).append(compared[pattern])
    places = min(alike, key=lambda places: (len(places), places), default=())
    if len(places) in (0, len(parts)):
        return ["no rule makes such a file; `snakemake -n` lists what is made"]
    described = []
    for place in places:
        kinds = {wrong[place][0] for wrong in alike[places]} - {"file"}
        valid = {name for wrong in alike[places] for name in wrong[place][1]}
        what = kinds.pop() if len(kinds) == 1 else "file"
        described.append(f"unknown {what} {parts[place]!r}; {nearest(parts[place], valid)}")
    return described


def _compare(config: Config, parts: Sequence[str], pattern: Sequence[str]) -> Differences:
    """Return the parts of a path that an output does not have."""
    wrong: Differences = {}
    known: dict[str, str] = {}  # wildcard -> its name
    for i, (part, form) in enumerate(zip(parts, pattern, strict=False)):
        wildcards = re.findall(r"\{(\w+)\}", form)
        kind = wildcards[0] if len(wildcards) == 1 and wildcards[0] not in NUMBERS else "file"
        if set(wildcards) & set(NUMBERS):
            written = re.sub(r"\\\{\w+\\\}", lambda _: f"({NUMBER_PATTERN})", re.escape(form))
            found = re.fullmatch(written, part)
            numbers = list(map(int, found.groups())) if found else [LARGEST_INTEGER + 1]
            if max(numbers) > LARGEST_INTEGER or (form == SHARD_NAME and numbers[0] >= numbers[1]):
                wrong[i] = (kind, [re.sub(r"\{\w+\}", "1", form.replace("{shard}", "0"))])
            continue
        valid = (
            [form.replace(f"{{{kind}}}", name) for name in _names(config, kind, known)]
            if wildcards
            else [form]
        )
        family = form.rsplit(".", 1)[0]
        if "task" in known and "scores" in pattern[:i] and family in (*FAMILIES, PERPLEXITY):
            kind = "family"
            valid = valid if family in _families(config, known["task"]) else []
        if part not in valid:
            wrong[i] = (kind.removeprefix("other_"), valid)
        elif wildcards:
            known[kind] = part
    return wrong


def _families(config: Config, task: str) -> list[str]:
    """Return the families of a task, and what is computed apart from them."""
    metrics = config.metrics(task)
    apart = (likelihood := metrics.of("likelihood")) and likelihood.perplexity_of == "generator"
    return [*metrics.families(), *([PERPLEXITY] if apart else [])]


def _names(config: Config, wildcard: str, known: Mapping[str, str]) -> Iterable[str]:
    """Return the names that a wildcard can stand for, given those before it in the path."""
    entry = config.experiment.tasks.get(known.get("task", ""))
    model, wildcard = known.get(wildcard.replace("decoding", "model")), wildcard.removeprefix("other_")
    if isinstance(entry, SubsetsTask) and wildcard in ("model", "decoding"):
        return entry.subsets if wildcard == "model" else [HUMAN]
    if wildcard == "decoding" and model == HUMAN:
        return [HUMAN, *(cell.decoding for cell in config.held_out_cells(known["task"]))]
    human = [HUMAN] if entry else []
    names: dict[str, Iterable[str]] = {
        "dataset": config.datasets,
        "task": config.experiment.tasks,
        "model": [*config.models, *human],
        "decoding": config.decoding,
        "embedder": config.embedders,
        "tagger": config.taggers,
        "paper": [config.experiment.name],
        "ranked": config.ranked(),
        "gate": config.experiment.gates,
    }
    return names[wildcard]
