"""``textgamut new``: write a small experiment of one's own."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from cyclopts import Parameter
from cyclopts.validators import Number

from textgamut.cli.common import Integer, NamedPath, NamedPaths, stem, unwritable, utf8, write
from textgamut.errors import ConfigError, DataError, SourceError, TextgamutError
from textgamut.language import ENGLISH, language_of
from textgamut.user_files import check_file

Names = Annotated[tuple[str, ...], Parameter(consume_multiple=1)]

K = 4
PROMPT_WORDS = 10
LONGEST_SLUG = 60
PLAIN = re.compile(r"[a-z][a-z0-9._-]*", re.IGNORECASE)
NO_WORDS = ("null", "true", "false", "yes", "no", "on", "off", "y", "n")
"""Words that YAML takes for something else."""
MOST_PROMPTS = 100
"""Default number of texts of models that a run loads or asks."""


class Texts(NamedTuple):
    """What is known of a file of texts."""

    distinct: int
    """Number of distinct texts that are not blank."""
    prompted: bool
    """Whether it has a column of prompts."""
    language: str
    """Its language."""


def new(
    name: str,
    /,
    *,
    reference: Annotated[NamedPath, Parameter(metavar="FILE")],
    generated: Annotated[NamedPaths, Parameter(metavar="FILE...")] = (),
    hub: Annotated[Names, Parameter(metavar="REPO...")] = (),
    api: Annotated[Names, Parameter(metavar="MODEL...")] = (),
    url: str = "https://api.openai.com/v1",
    key_variable: Annotated[str, Parameter(metavar="NAME")] = "OPENAI_API_KEY",
    chat: Literal["none", "template"] = "template",
    text: Annotated[str, Parameter(metavar="COLUMN")] = "text",
    prompt: Annotated[str, Parameter(metavar="COLUMN")] = "prompt",
    n: Annotated[Integer | None, Parameter(name="--n", metavar="N", validator=Number(gte=1))] = None,
) -> None:
    """Write a small experiment that compares models with human texts of your own.

    The folder config/NAME gets the experiment and its entries of models, datasets and decoding settings, with
    comments. If the human texts have prompts, the models continue these. If not, texts that were generated
    elsewhere are compared as they are, and other models continue the first words of human texts.

    Args:
        name: Name of the experiment: lower-case letters, digits, dots and hyphens.
        reference: File of human texts, .jsonl, .csv, .tsv, .parquet or .txt.
        generated: Files of texts that were generated elsewhere, one for each model.
        hub: Models of the Hugging Face hub, such as me/my-model@COMMIT. Without a commit, the latest of
            the main branch is looked up.
        api: Models on an OpenAI-compatible server, by their names there.
        url: Base URL of the server.
        key_variable: Environment variable with the key of the server; "" for none.
        chat: Whether the models of --hub and --api answer a chat (template) or continue texts (none).
        text: Column of the texts in all files.
        prompt: Column of the prompts in all files.
        n: Number of texts to compare. Defaults to all, or to 100 if models are run.

    Raises:
        TextgamutError: If a file or a name is not valid, the folder exists, or no model is given.
    """
    from textgamut.config.loading import load_config
    from textgamut.progress import recorded_warnings

    folder = Path("config", name)
    _check_name(name, folder)
    if n is not None and n <= K:
        raise ConfigError(f"--n {n}: must be more than {K}, the number of neighbours (k)")
    if not (generated or hub or api):
        raise ConfigError("no model: give --generated FILE..., --hub REPO... or --api MODEL...")
    _check_paths(reference, generated)
    with recorded_warnings():
        references = _read(reference, text, prompt)
        counts = [references.distinct]
        for file in generated:
            found = _read(file, text, prompt)
            counts.append(found.distinct)
            if found.prompted and not references.prompted:
                raise ConfigError(
                    f"{file}: has the column {prompt!r}, but {reference} has not: add its prompts"
                )
    given = {_slug(stem(file)): _given_model(file, text, prompt, references.prompted) for file in generated}
    run = {_slug(repo.split("@")[0].split("/")[-1]): _hub_model(repo, chat) for repo in hub}
    run |= {_slug(model.split("/")[-1]): _api_model(model, url, key_variable, chat) for model in api}
    if len(given | run) < len(generated) + len(hub) + len(api):
        raise ConfigError("two models have the same name: rename a file")
    content = {
        f"{name}.yaml": _experiment(name, references, counts, list(given), list(run), n),
        "models.yaml": "\n".join([f"{_schema('models')}", *(given | run).values()]),
        "datasets.yaml": _dataset(name, reference, text, prompt, references),
        **({"decoding.yaml": f"{_schema('decoding')}\n{SAMPLED}"} if run else {}),
    }
    try:
        write(folder, {file_name: lines.encode() for file_name, lines in content.items()})
        load_config(folder / f"{name}.yaml")
    except TextgamutError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    for file_name in content:
        print(f"written: {folder / file_name}")
    command = f"--configfile {folder / name}.yaml"
    print(f"\nShow what will run:  snakemake -n --quiet rules {command}")
    print(f"Run it:              snakemake --cores all {command}")


def _check_name(name: str, folder: Path) -> None:
    """Check the name of an experiment, and that its folder can be made."""
    from textgamut.config.entries.registries import REGISTRIES

    if name in REGISTRIES:
        raise ConfigError(f"{name!r}: a registry has this name, which would be the same file: choose another")
    if problem := _no_slug(name, "tasks"):
        raise ConfigError(f"{name[:100]!r}: {problem}")
    if os.path.lexists(folder):
        raise ConfigError(f"{folder}: exists already: edit it, or choose another name")
    if problem := unwritable(folder):
        raise ConfigError(f"{folder}: cannot be written: {problem}")


def _check_paths(reference: Path, generated: Sequence[Path]) -> None:
    """Check that the files exist, and that YAML and the workflow can name them."""
    from textgamut.config.yaml import CONTROLS

    for file in (reference, *generated):
        check_file(file)
        if utf8(file) != str(file):
            raise ConfigError(f"{file}: the path is not UTF-8, as YAML is: rename it")
        if CONTROLS.search(str(file)):
            raise ConfigError(f"{file}: control characters in a path are not supported: rename it")
    for file in generated:
        if re.search("[{}]", str(file)):
            raise ConfigError(
                f"{file}: braces in the path of texts stand for a task, a decoding or a seed: rename it"
            )


def _read(path: Path, text: str, prompt: str) -> Texts:
    """Read a file of texts.

    Raises:
        TextgamutError: If it cannot be read, or has too few texts.
    """
    from textgamut.datasets.table import read_columns, text_column

    frame = read_columns(path, [text], [prompt])
    prompted = prompt in frame
    columns = dict.fromkeys([text, *([prompt] if prompted else [])])
    found = [text_column(path, frame, column) for column in columns] if len(frame) else []
    count = len({row for row in zip(*found, strict=True) if row[0].strip()})
    if count <= K + 1:
        raise DataError(f"{path}: {count} different texts: more than {K + 1} are needed")
    return Texts(count, prompted, language_of(found[0]))


def _slug(name: str) -> str:
    """Return a name of a file or a model as the slug of an entry of models."""
    slug = re.sub(r"[^a-z0-9.-]+", "-", name.lower())[:LONGEST_SLUG].strip(".-")
    names = (slug, f"model-{slug}", "model") if slug else ("model",)
    return next(found for found in names if not _no_slug(found, "models"))


def _no_slug(name: str, kind: str) -> str | None:
    """Return why an entry cannot have a name; None if it can."""
    from pydantic import TypeAdapter, ValidationError

    from textgamut.config.cells import RESERVED
    from textgamut.fields import SLUG_PATTERN, Slug

    if not re.fullmatch(SLUG_PATTERN, name):
        return "a name has lower-case letters, digits, dots and hyphens"
    if name in RESERVED[kind]:
        return f"the name is reserved for {RESERVED[kind][name]}: choose another"
    try:
        TypeAdapter(Slug).validate_python(name)
    except ValidationError as error:
        return error.errors(include_url=False)[0]["msg"].removeprefix("Value error, ")
    return None


def _quoted(value: str) -> str:
    """Return a string as YAML, in double quotes and with escapes for what is not printed."""
    escaped = (c if c.isprintable() else f"\\U{ord(c):08x}" for c in json.dumps(value, ensure_ascii=False))
    return "".join(escaped)


def _plain(value: str) -> str:
    """Return a string as YAML, in quotes unless it is a word that YAML cannot take for something else."""
    return value if PLAIN.fullmatch(value) and value.lower() not in NO_WORDS else _quoted(value)


def _path(path: Path) -> str:
    """Return a path as YAML; one that begins with ``~`` would mean a home folder."""
    return _quoted(os.path.abspath(path) if str(path).startswith("~") else str(path))


def _schema(kind: str) -> str:
    return f"# yaml-language-server: $schema=../schema.json#/$defs/{kind}"


def _entry(name: str, source: str, *lines: str) -> str:
    """Return the entry of a model, with a source in YAML and other lines."""
    fields = [f"label: {_quoted(name)}", f"family: {_quoted(name)}", f"source: {source}", *lines]
    return f"{_plain(_slug(name))}:\n" + "".join(f"  {line}\n" for line in fields)


def _given_model(path: Path, text: str, prompt: str, prompted: bool) -> str:
    names = {"text": text, **({"prompt": prompt} if prompted else {})}
    other = ", ".join(f"{role}: {_quoted(column)}" for role, column in names.items() if role != column)
    columns = f", columns: {{{other}}}" if other else ""
    source = f"{{kind: generations, path: {_path(path)}{columns}}}"
    return _entry(stem(path), source, "chat: none # template if a chat model wrote them")


def _hub_model(name: str, chat: str) -> str:
    repo, _, commit = name.partition("@")
    source = f"{{kind: hf, repo: {_quoted(repo)}, revision: {_quoted(commit or _current_commit(repo))}}}"
    more = ["batch_size: 32 # halved if memory runs out", "gpus: 1"]
    return _entry(repo.split("/")[-1], source, f"chat: {chat} # none for a pre-trained model", *more)


def _current_commit(repo: str) -> str:
    """Look up the commit of the main branch of a model on the hub.

    Raises:
        SourceError: If the hub cannot be asked.
    """
    import huggingface_hub as hf

    try:
        return str(hf.model_info(repo).sha)
    except Exception as error:  # of several libraries
        raise SourceError(
            f"{repo}: its commit cannot be looked up ({type(error).__name__}): give it as {repo}@COMMIT"
        ) from error


def _api_model(name: str, url: str, key_variable: str, chat: str) -> str:
    endpoint = "" if chat == "template" else ", endpoint: completions"
    key = f", key_variable: {_quoted(key_variable)}" if key_variable else ""
    source = f"{{kind: openai, url: {_quoted(url)}, model: {_quoted(name)}{endpoint}{key}}}"
    more = ["engine: openai", "gpus: 0", "batch_size: 8 # concurrent requests"]
    return _entry(name.split("/")[-1], source, f"chat: {chat}", *more)


SAMPLED = """\
sampled: # for other settings, see docs/how-to/decoding.md
  strategy: sampling
  top_p: 0.95
  temperature: 1.0
  max_new_tokens: 150
"""


def _dataset(name: str, path: Path, text: str, prompt: str, texts: Texts) -> str:
    kind = "continuations" if texts.prompted else "table"
    lines = [_schema("datasets"), f"{name}-texts:", f"  format: {kind}"]
    if texts.language != ENGLISH:
        lines.append(f"  language: {_plain(texts.language)} # as found in the texts")
    lines += [f"  source: {{kind: file, path: {_path(path)}}}", f"  text: {_plain(text)}"]
    if texts.prompted:
        lines += [f"  prompt: {_plain(prompt)}", "  groups: [] # columns with a topic, a gender, ..."]
    return "\n".join([*lines, ""])


def _experiment(
    name: str, texts: Texts, counts: Sequence[int], given: Sequence[str], run: Sequence[str], n: int | None
) -> str:
    """Return the experiment as YAML.

    Args:
        name: Its name.
        texts: What is known of the human texts.
        counts: Number of human texts, then of each file of generated texts.
        given: Models whose texts were generated elsewhere.
        run: Models that a run loads or asks.
        n: Number of texts to compare; None for the default.

    Raises:
        ConfigError: If texts without prompts are to be compared with texts of models that need prompts.
    """
    if texts.prompted:
        size = n or (min(MOST_PROMPTS, counts[0]) if run else None)
        task = ["kind: prompted # continue the prompts of the human texts"]
    elif not run:
        size = n or min(counts)
        task = ["kind: unprompted # compare the texts as they are"]
    elif given:
        raise ConfigError(
            "--generated with --hub or --api needs prompts that all models continue: add a column of prompts "
            "to all files, or compare the files alone"
        )
    else:
        size = n or min(MOST_PROMPTS, counts[0] // 2)
        task = [
            "kind: continuation # continue the first words of a human text",
            f"prompt_words: {PROMPT_WORDS}",
            f"min_words: {PROMPT_WORDS + 1} # of a human text",
        ]
    task += [
        f"dataset: {name}-texts",
        f"n: {'null' if size is None else size} # texts on each side; compare only equal numbers",
        f"max_words: {100 if run else 'null'} # longer texts are cut on both sides; null for no limit",
        f"k: {K} # neighbours that define the support",
        "seeds: [1] # of the generation",
        "draws: [1] # of the references",
    ]
    cells = [(given, "given # unknown settings; others are in decoding.yaml"), (run, "sampled")]
    blocks = [
        f"  - models: [{', '.join(map(_plain, models))}]\n        decodings:\n          - {decoding}"
        for models, decoding in cells
        if models
    ]
    english = texts.language == ENGLISH
    embedder = "minilm # small and fast" if english else "multilingual-e5-small-q4 # for Linux on x86-64"
    task_lines, block_lines = "\n    ".join(task), "\n    ".join(blocks)
    return f"""\
# yaml-language-server: $schema=../schema.json#/$defs/experiment
# Written by `textgamut new`. docs/how-to explains metrics, tasks and rankings.

name: {_plain(name)}
embedder: {embedder}; others: src/textgamut/config/defaults/embedders.yaml
metrics:
  support: # precision, recall, density, coverage
  divergence: # MAUVE, frontier integral
  ngram: # Self-BLEU, distinct-n

tasks:
  {_plain(name)}:
    {task_lines}
    cells:
    {block_lines}
"""
