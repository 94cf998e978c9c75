"""Wrong experiments and registries: one message of `plan` and of `snakemake -n` says what is wrong.

Each line of a table is one case: what is written, and words that the message must contain. The cases of
`plan` run in this process, those of `snakemake` in forks of a process that has imported it.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import ROOT, copy_project, dry_run, make_fifo

from textgamut.cli.main import main

EXPERIMENT = """\
name: mine
embedder: minilm
metrics:
  support:
  divergence: {seeds: [0, 1]}
  ngram:
tasks:
  news:
    kind: continuation
    dataset: news-articles
    n: 100
    k: 4
    seeds: [1, 2]
    draws: [1]
    max_words: 60
    cells:
      - models: [gemma-3-270m]
        decodings: [nucleus-0.95]
  topics:
    kind: subsets
    dataset: news-articles
    group: topic
    n: 64
    seeds: [1]
    draws: [1]
    max_words: 45
    references: [politics, sport]
    subsets:
      one: [politics]
"""
FILE = "config/mine.yaml"
BRACES = "Snakemake takes braces in a path for wildcards: rename"


TARGETED = (
    EXPERIMENT
    + """\
targets:
  table_1a: {shape: metrics-by-model, title: A, tasks: [news], metrics: [precision], models: [gemma-3-270m]}
  table_1b: {shape: metrics-by-model, title: B, tasks: [news], metrics: [recall], decodings: [nucleus-0.95]}
"""
)


class Case(NamedTuple):
    """Files to write over those of the project, the arguments, and words of the message."""

    name: str
    files: Mapping[str, str | bytes]
    words: tuple[str, ...]
    arguments: tuple[str, ...] = ("--configfile", FILE)


def raw(name: str, content: str | bytes, *words: str) -> Case:
    return Case(f"file: {name}", {FILE: content}, (FILE, *words))


def edit(old: str, new: str, *words: str) -> Case:
    assert EXPERIMENT.count(old) >= 1, old
    return Case(f"{old} -> {new}"[:120], {FILE: EXPERIMENT.replace(old, new, 1)}, (FILE, *words))


def added(text: str, *words: str) -> Case:
    return Case(f"added: {text[:80]}", {FILE: EXPERIMENT + text}, (FILE, *words))


def aimed(old: str, new: str, *words: str) -> Case:
    """An edit of an experiment with targets."""
    assert TARGETED.count(old) >= 1, old
    return Case(f"target: {old} -> {new}"[:120], {FILE: TARGETED.replace(old, new, 1)}, (FILE, *words))


def registry(name: str, content: str | bytes, *words: str) -> Case:
    file = f"config/{name}.yaml"
    shown = str(content[:80])
    return Case(f"{name}: {shown}", {FILE: EXPERIMENT, file: content}, (file, *words))


def entry(name: str, content: str, old: str, new: str, *words: str) -> Case:
    """A registry's entry, and an experiment that uses it."""
    files = {FILE: EXPERIMENT.replace(old, new), f"config/{name}.yaml": content}
    return Case(f"{name}: {content[:80]}", files, words)


def paper(name: str, old: str, new: str, *words: str) -> Case:
    file = f"config/papers/{name}.yaml"
    text = (ROOT / file).read_text()
    assert old in text, old
    return Case(
        f"{name}: {old} -> {new}", {file: text.replace(old, new, 1)}, (file, *words), ("--configfile", file)
    )


def bomb(levels: int, form: str) -> str:
    """Nested aliases, ten on each level."""
    names = [f"a{i}" for i in range(levels)]
    lines = [f"{names[0]}: &{names[0]} {{x: 1}}" if form == "merge" else f"{names[0]}: &{names[0]} [1]"]
    for last, name in itertools.pairwise(names):
        many = ", ".join([f"*{last}"] * 10)
        lines.append(f"{name}: &{name} " + (f"{{<<: [{many}]}}" if form == "merge" else f"[{many}]"))
    return "\n".join(lines) + "\n"


MALFORMED = [
    raw("empty", "", "(top level)", "empty"),
    raw("a comment", "# nothing\n", "(top level)", "empty"),
    raw("null", "null\n", "(top level)", "empty"),
    raw("a number", "42\n", "(top level)", "42"),
    raw("a list", "- a\n- b\n", "(top level)", "key: value"),
    raw("text", "my experiment\n", "(top level)", "my experiment"),
    raw("a loop through two anchors", EXPERIMENT + "contact: &a {b: &c {d: *a}}\n", "*a contains itself"),
    raw("an anchor twice", "x: &a 1\ny: &a 2\n" + EXPERIMENT, "duplicate anchor", "line 2"),
    raw("a later YAML", "%YAML 3.0\n---\n" + EXPERIMENT, "version 1.* is required"),
    raw("text after the end", EXPERIMENT + "...\nfoo\n", "'<document start>'", "line 31"),
    raw("a conflict of git", EXPERIMENT.replace("    k: 4", "<<<<<<< HEAD\n    k: 4"), "line 12"),
    raw("a gzip file", b"\x1f\x8b\x08\x00\xff", "not UTF-8"),
    raw("a mark inside", EXPERIMENT.replace("embedder", "\ufeffembedder"), "\\ufeffembedder: unknown key"),
    raw("a template of Jinja", EXPERIMENT.replace("k: 4", "k: {{ k }}"), "line 12", "unhashable key"),
    raw("duplicate keys deep inside", EXPERIMENT + "contact: {a: {b: {c: 1, c: 2}}}\n", "duplicate key 'c'"),
    raw("half a surrogate", EXPERIMENT.replace("name: mine", 'name: "\\ud800"'), "name: ", "\\ud800"),
    raw(
        "thousands of unknown keys",
        EXPERIMENT + "".join(f"a{i}: 1\n" for i in range(9000)),
        "a0: unknown key",
        "and more problems",
    ),
    raw(
        "thousands of wrong values",
        EXPERIMENT.replace("[1, 2]", f"[{'x, ' * 9000}]"),
        "seeds[9]",
        "and more problems",
    ),
    raw("too many values", EXPERIMENT.replace("[1, 2]", f"[{'1, ' * 100_001}]"), "more than 100,000 values"),
    raw("an empty mapping", "{}\n", "name: this key is required", "tasks: this key is required"),
    raw("an unclosed bracket", "name: [\n", "not valid YAML", "line 2"),
    raw("an unclosed quote", 'name: "mine\n', "not valid YAML", "line 2"),
    raw("a tab", "name: mine\n\tembedder: minilm\n", "not valid YAML", "line 2"),
    raw("wrong indentation", "name: mine\n  embedder: minilm\n", "not valid YAML", "line 2"),
    raw("no space after a colon", "name:mine\n", "(top level)", "name:mine"),
    raw("a stray colon", "name: mine: yours\n", "not valid YAML", "line 1"),
    raw("a percent sign", "name: %mine\n", "not valid YAML", "line 1"),
    raw("two documents", EXPERIMENT + "---\n" + EXPERIMENT, "not valid YAML", "another document"),
    raw("not UTF-8", EXPERIMENT.encode() + b"# caf\xe9\n", "not UTF-8"),
    raw("UTF-16", EXPERIMENT.encode("utf-16"), "not UTF-8"),
    raw("UTF-16 without a mark", EXPERIMENT.encode("utf-16-le"), "not valid YAML", "#x0000"),
    raw("UTF-32", EXPERIMENT.encode("utf-32"), "not UTF-8"),
    raw("NUL", EXPERIMENT.encode() + b"\0", "not valid YAML", "#x0000"),
    raw("a control character", EXPERIMENT + "\x07", "not valid YAML", "#x0007"),
    raw("a parquet file", b"PAR1\x15\x04\x15\x10", "not valid YAML"),
    raw("a zip file", b"PK\x03\x04\xff\xfe\x00", "not UTF-8"),
    raw("brackets", "[" * 5000, "nested too deeply"),
    raw("braces", "{a: " * 5000, "nested too deeply"),
    raw("closed brackets", "a: " + "[" * 3000 + "]" * 3000, "nested too deeply"),
    raw("many brackets in a key", "name: " + "[" * 100 + "]" * 100, "name: ", "valid string"),
    raw("a bomb of aliases", bomb(9, "list"), "more than 100,000 values"),
    raw("a bomb of merges", bomb(9, "merge"), "more than 100,000 values"),
    raw("a loop", EXPERIMENT + "contact: &a [*a]\n", "*a contains itself"),
    raw("a loop of merges", EXPERIMENT + "contact: &a {<<: *a}\n", "*a contains itself"),
    raw("an undefined alias", EXPERIMENT + "contact: *nobody\n", "undefined alias", "nobody"),
    raw("a merge of a number", EXPERIMENT + "contact: {<<: 3}\n", "not valid YAML", "merg"),
    raw(
        "a tag of Python",
        "name: !!python/object/apply:os.system [echo]\n",
        "tags such as",
        "os.system",
        "line 1",
    ),
    raw("a tag of one's own", "name: !mine x\n", "tags such as !mine are not supported"),
    raw("a tag of a number", "name: !!int x\n", "tags such as", "line 1"),
    raw("a tag of a date", "name: !!timestamp x\n", "tags such as", "line 1"),
    raw("a tag of binary data", "name: !!binary aGk=\n", "tags such as", "line 1"),
    raw("a long number", EXPERIMENT.replace("n: 100", "n: " + "9" * 5000), "not valid YAML", "4300 digits"),
    raw("a long key", "? " + "k" * 5000 + "\n: 1\n", "kkk...: unknown key"),
    raw(
        "a key with control characters",
        '"a\\e[31mb\\n": 1\n' + EXPERIMENT,
        "line 1",
        "a text with a control character",
    ),
    raw("a list as a key", "? [a, b]\n: 1\n", "not valid YAML", "unhashable key"),
    raw("an equals sign", "name: =\n", "not valid YAML", "line 1"),
    raw("a template", "__use_yte__: true\n" + EXPERIMENT, "line 1", "true"),
    raw("duplicate keys", EXPERIMENT + "name: other\n", "duplicate key 'name'"),
    raw("duplicate keys inside", EXPERIMENT.replace("k: 4", "n: 5"), "duplicate key 'n'", "line 9"),
    raw("duplicate tasks", EXPERIMENT.replace("  topics:", "  news:"), "duplicate key 'news'"),
    raw("JSON", '{"name": "mine", "embedder": "minilm"}', "tasks: this key is required"),
    raw("JSON with a comma", '{"name": "mine",, "tasks": {}}', "not valid YAML", "line 1"),
    raw("XML", "<experiment/>\n", "(top level)", "<experiment/>"),
    raw(
        "a registry",
        "mine: {strategy: greedy, max_new_tokens: 5}\n",
        "mine: unknown key",
        "this key is required",
    ),
]

NUMBERS = [
    edit(
        "k: 4",
        "k: on",
        "line 12",
        "YAML reads on as true",
        "only batch_invariant and chat_arguments can be true",
    ),
    edit("k: 4", "k: yes", "YAML reads yes as true"),
    edit("k: 4", "k: true", "YAML reads true as true"),
    edit("k: 4", "k: Off", "YAML reads Off as false"),
    edit("seeds: [1, 2]", "seeds: [yes, no]", "line 13", "YAML reads yes as true"),
    edit("n: 100", "n: 0100", "line 11", "YAML reads 0100 as the number 64: write 64"),
    edit("n: 100", "n: 1:40", "line 11", "YAML reads 1:40 as the number 100: write 100"),
    edit("n: 100", "n: 0x64", "YAML reads 0x64 as the number 100"),
    edit("n: 100", "n: 0b1100100", "YAML reads 0b1100100 as the number 100"),
    edit("n: 100", "n: 1:40.5", "YAML reads 1:40.5 as the number 100.5"),
    edit("n: 100", "n: -0100", "YAML reads -0100 as the number -64"),
    edit("n: 100", "n: '100'", "tasks.news.n: ", "valid integer", "'100'"),
    edit("n: 100", "n: 100.0", "tasks.news.n: ", "valid integer", "100.0"),
    edit("n: 100", "n: 1e2", "tasks.news.n: ", "valid integer", "100.0"),
    edit("n: 100", "n: 1,000", "tasks.news.n: ", "valid integer", "'1,000'"),
    edit("n: 100", "n: 2024-01-01", "tasks.news.n: ", "'2024-01-01'"),
    edit("n: 100", "n: 0o144", "tasks.news.n: ", "valid integer", "'0o144'"),
    edit("n: 100", "n: 1e400", "tasks.news.n: ", "valid integer", "inf"),
    edit("n: 100", "n: \uff11\uff10", "tasks.news.n: ", "valid integer", "\uff11\uff10"),
    edit("k: 4", "k: 4\u00a0", "tasks.news.k: ", "valid integer", "'4\\xa0'"),
    edit("seeds: [1, 2]", "seeds: [-0, 0]", "tasks.news.seeds: duplicate values in [0, 0]"),
    edit("draws: [1]", "draws: 1-5", "tasks.news.draws: ", "valid list", "'1-5'"),
    edit("  support:", "  support: {bootstrap: 1_000_000_000}", "metrics.support.bootstrap: ", "100000"),
    added("requests_per_second: 1e-300\n", "requests_per_second: ", "greater than or equal to 0.000001"),
    edit("n: 100", "n: hundred", "tasks.news.n: ", "valid integer", "'hundred'"),
    edit("n: 100", "n:", "tasks.news.n: ", "valid integer", "None"),
    edit("n: 100", "n: [100]", "tasks.news.n: ", "valid integer", "[100]"),
    edit("n: 100", "n: {a: 1}", "tasks.news.n: ", "valid integer"),
    edit("n: 100", "n: .nan", "tasks.news.n: ", "valid integer", "nan"),
    edit("n: 100", "n: .inf", "tasks.news.n: ", "valid integer", "inf"),
    edit("n: 100", "n: -5", "tasks.news.n: ", "greater than or equal to 2", "-5"),
    edit("n: 100", "n: 0", "tasks.news.n: ", "greater than or equal to 2"),
    edit("n: 100", "n: 1", "tasks.news.n: ", "greater than or equal to 2"),
    edit("n: 100", "n: 9223372036854775808", "tasks.news.n: ", "less than or equal to 9223372036854775807"),
    edit("n: 100", "n: 4", "tasks.news: k = 4 needs more than 4 texts"),
    edit("k: 4", "k: 0", "tasks.news.k: ", "greater than or equal to 1"),
    edit("k: 4", "k: 100", "tasks.news: k = 100 needs more than 100 texts"),
    edit("max_words: 60", "max_words: 0", "tasks.news.max_words: "),
    edit("max_words: 60", "max_words: 5", "tasks.news: max_words (5) leaves nothing after 10 prompt words"),
    edit("seeds: [1, 2]", "seeds: []", "tasks.news.seeds: ", "at least 1 item"),
    edit("seeds: [1, 2]", "seeds: 1", "tasks.news.seeds: ", "valid list"),
    edit("seeds: [1, 2]", "seeds: [1, 1]", "tasks.news.seeds: duplicate values in [1, 1]"),
    edit("seeds: [1, 2]", "seeds: [-1]", "tasks.news.seeds[0]: ", "greater than or equal to 0"),
    edit("seeds: [1, 2]", "seeds: [1.5]", "tasks.news.seeds[0]: ", "valid integer"),
    edit("seeds: [1, 2]", "seeds: [18446744073709551616]", "tasks.news.seeds[0]: ", "9223372036854775807"),
    edit("seeds: [1, 2]", "seeds: [9223372036854775808]", "tasks.news.seeds[0]: ", "9223372036854775807"),
    edit("draws: [1]", "draws: [9223372036854775808]", "tasks.news.draws[0]: ", "9223372036854775807"),
    edit("draws: [1]", "draws: [a]", "tasks.news.draws[0]: ", "valid integer", "'a'"),
    edit("{seeds: [0, 1]}", "{seeds: [4294967296]}", "metrics.divergence.seeds[0]: ", "2147483645"),
    edit("{seeds: [0, 1]}", "{seeds: [2147483646]}", "metrics.divergence.seeds[0]: ", "2147483645"),
    edit(
        "{seeds: [0, 1]}",
        "{clusters: 201}",
        "tasks.news: metrics.divergence.clusters: 201 clusters for 200 texts",
    ),
    edit("{seeds: [0, 1]}", "{clusters: 129}", "tasks.topics: metrics.divergence.clusters: 129", "n = 64"),
    edit("{seeds: [0, 1]}", "{clusters: 1}", "metrics.divergence.clusters: ", "greater than or equal to 2"),
    edit("  support:", "  support: {bootstrap: 1}", "metrics.support.bootstrap: "),
    edit(
        "  ngram:",
        "  ngram: {self_bleu_sample: 2}",
        "metrics.ngram.self_bleu_sample: ",
        "less than or equal to 1",
    ),
    edit("  ngram:", "  ngram: {self_bleu_sample: .nan}", "metrics.ngram.self_bleu_sample: ", "finite"),
    edit("  ngram:", "  ngram: {self_bleu_sample: 1:30}", "YAML reads 1:30 as the number 90"),
    added("requests_per_second: 0\n", "requests_per_second: ", "greater than or equal to 0.000001"),
    added("requests_per_second: .inf\n", "requests_per_second: ", "finite"),
    added("requests_per_second: fast\n", "requests_per_second: ", "valid number"),
]

KEYS = [
    edit("    n: 100\n", "", "tasks.news.n: this key is required"),
    edit("    kind: continuation\n", "", "tasks.news.kind: this key is required"),
    edit(
        "kind: continuation",
        "kind: continuations",
        "tasks.news.kind: 'continuations'",
        "nearest valid: 'continuation'",
    ),
    edit("kind: continuation", "kind: 5", "tasks.news.kind: '5' is not one of the choices"),
    edit("kind: continuation", "kind: [continuation]", "tasks.news.kind: "),
    edit("    k: 4", "    kk: 4", "tasks.news.kk: unknown key; nearest valid: 'k'"),
    edit("    k: 4", "    5: 4", "tasks.news[5]: must be text", "in quotes"),
    edit("    k: 4", "    ~: 4", "tasks.news.", "None"),
    edit("    k: 4", "    {a: 1}: 4", "not valid YAML", "unhashable key"),
    edit("    group: topic", "    groop: topic", "tasks.topics.groop: unknown key; nearest valid: 'group'"),
    edit(
        "    group: topic\n",
        "    group: topic\n    cells: []\n",
        "tasks.topics.cells: kind: subsets has no cells",
    ),
    edit(
        "    k: 4",
        "    group: topic",
        "tasks.news.group: kind: continuation has no group, only kind: subsets has it",
    ),
    edit("  divergence:", "  divergance:", "metrics.divergance: unknown key; nearest valid: 'divergence'"),
    edit("{seeds: [0, 1]}", "{seed: [0]}", "metrics.divergence.seed: unknown key; nearest valid: 'seeds'"),
    edit("{seeds: [0, 1]}", "5", "metrics.divergence: ", "key: value", "5"),
    edit("  support:\n  divergence: {seeds: [0, 1]}\n  ngram:\n", "  {}\n", "metrics: no family is named"),
    edit("  support:\n  divergence: {seeds: [0, 1]}\n  ngram:\n", "  [support]\n", "metrics: ", "key: value"),
    edit("embedder: minilm", "embeder: minilm", "embeder: unknown key; nearest valid: 'embedder'"),
    edit("embedder: minilm", "embedder:", "embedder: ", "valid string", "None"),
    edit("embedder: minilm", "embedder: 5", "embedder: must be text, but YAML reads 5 as a number"),
    edit("embedder: minilm", "embedder: no", "line 2", "YAML reads no as false", "'no' in quotes"),
    edit("embedder: minilm", "embedder: [minilm]", "embedder: ", "valid string"),
    edit(
        "      - models:", "      - model:", "tasks.news.cells[0].model: unknown key; nearest valid: 'models'"
    ),
    edit(
        "      - models: [gemma-3-270m]",
        "      - models: gemma-3-270m",
        "tasks.news.cells[0].models: ",
        "valid list",
    ),
    edit(
        "      - models: [gemma-3-270m]",
        "      - models: []",
        "tasks.news.cells[0].models: ",
        "at least 1 item",
    ),
    edit(
        "      - models: [gemma-3-270m]", "      - models: [3]", "tasks.news.cells[0].models[0]: must be text"
    ),
    edit(
        "group: topic", "group: topics", "tasks.topics.group: the dataset has no column 'topics'", "'topic'"
    ),
    edit("group: topic", "group: ''", "tasks.topics.group: the dataset has no column ''"),
    edit("    k: 4", "    groups: [topic, topic]", "tasks.news.groups: duplicate values"),
    added(
        "targets: {table_1: {shape: tokens-per-word, title: t, dataset: wiki-sample, models: [x, x]}}\n",
        "targets.table_1.models: duplicate values",
    ),
    edit("[politics, sport]", "politics", "tasks.topics.references: ", "valid list"),
    edit("[politics, sport]", "[politics, politics]", "tasks.topics: references: duplicate labels"),
    edit("      one: [politics]", "      one: []", "tasks.topics.subsets.one: ", "at least 1 item"),
    edit(
        "    subsets:\n      one: [politics]\n",
        "    subsets: {}\n",
        "tasks.topics.subsets: ",
        "at least 1 item",
    ),
    added("contact: me\n", "contact: ", "String should match pattern"),
    added('contact: "me\\nX: 1"\n', "contact: ", "String should match pattern"),
    added("sweep: 3\n", "sweep: unknown key"),
]

REFERENCES = [
    edit(
        "embedder: minilm", "embedder: minlm", "embedder: unknown embedder 'minlm'; nearest valid: 'minilm'"
    ),
    edit(
        "news-articles",
        "news-article",
        "tasks.news.dataset: unknown dataset",
        "nearest valid: 'news-articles'",
    ),
    edit("[gemma-3-270m]", "[gemma-3-27m]", "tasks.news.cells[0].models[0]: unknown model", "'gemma-3-270m'"),
    edit("[nucleus-0.95]", "[nucleus]", "tasks.news.cells[0].decodings[0]: unknown decoding 'nucleus'"),
    edit("[gemma-3-270m]", "[human]", "tasks.news.cells[0].models[0]: unknown model 'human'"),
    edit("[nucleus-0.95]", "[human]", "tasks.news.cells[0].decodings[0]: unknown decoding 'human'"),
    edit("[gemma-3-270m]", "['']", "tasks.news.cells[0].models[0]: unknown model ''"),
    edit("[gemma-3-270m]", "['{model}']", "tasks.news.cells[0].models[0]: unknown model '{model}'"),
    edit("  ngram:", "  ngram: {tokenizer: gpt3}", "metrics.ngram.tokenizer: unknown model 'gpt3'"),
    edit("  ngram:", "  likelihood:", "metrics.likelihood.scorer: this key is required"),
    edit("  ngram:", "  similarity:", "tasks.news.kind: similarity", "metrics"),
    edit(
        "    group: topic",
        "    group: topic\n    groups: [topics]",
        "tasks.topics.groups: ",
        "nearest valid: 'topic'",
    ),
    edit("    k: 4", "    groups: [text]", "tasks.news.groups: the dataset has no column 'text'"),
    edit(
        "    k: 4",
        "    sweep: {n: [200], k: [1]}",
        "tasks.news: sweep.n: 200 is more than the task's n = 100",
    ),
    edit(
        "    k: 4",
        "    ranking: {higher: [diversty]}",
        "tasks.news.ranking: no criterion 'diversty'",
        "'diversity'",
    ),
    edit(
        "kind: continuation",
        "kind: prompted",
        "tasks.news.dataset: 'news-articles' has the format news-articles",
    ),
    added(
        "targets: {table_1: {shape: tokens-per-word, title: t, dataset: nws, models: [x]}}\n",
        "targets.table_1.dataset: unknown dataset 'nws'",
    ),
]

SLUGS = [
    edit("name: mine", "name: ../mine", "name: String should match pattern"),
    edit("name: mine", "name: /etc", "name: String should match pattern"),
    edit("name: mine", "name: ..", "name: String should match pattern"),
    edit("name: mine", "name: -mine", "name: ", "-mine"),
    edit("name: mine", "name: my experiment", "name: String should match pattern"),
    edit("name: mine", "name: Mine", "name: String should match pattern"),
    edit("name: mine", "name: m\u00efne", "name: String should match pattern"),
    edit("name: mine", "name: '{paper}'", "name: String should match pattern"),
    edit("name: mine", "name: ''", "name: String should match pattern"),
    edit("name: mine", 'name: "mine\\n"', "name: String should match pattern"),
    edit("name: mine", "name: " + "m" * 300, "name: ", "at most 100 characters"),
    edit("name: mine", "name: " + "m" * 20, "name: ", "20 times the same, which Snakemake takes for"),
    edit("  news:", f"  n{'ab.' * 20}:", "20 times the same"),
    edit("one: [politics]", f"n{'1' * 20}: [politics]", "20 times the same"),
    registry("models", f"{'v1-' * 20}: {{}}\n", "20 times the same"),
    edit(
        "name: mine", "name: 2024", "name: must be text, but YAML reads 2024 as a number: write it in quotes"
    ),
    edit("name: mine", "name: no", "line 1", "YAML reads no as false", "'no' in quotes"),
    edit("  news:", "  ../news:", "tasks.../news: String should match pattern"),
    edit("  news:", "  news/1:", "tasks.news/1: String should match pattern"),
    edit("  news:", "  my news:", "tasks.my news: String should match pattern"),
    edit("  news:", "  -news:", "tasks.-news: String should match pattern"),
    edit("  news:", "  n\u00e9ws:", "String should match pattern"),
    edit("  news:", "  '{task}':", "tasks.{task}: String should match pattern"),
    edit("  news:", "  'news\\n':", "String should match pattern"),
    edit("  news:", "  2024:", "must be text, but YAML reads 2024 as a number: write it in quotes"),
    edit("  news:", "  1.5:", "must be text, but YAML reads 1.5 as a number: write it in quotes"),
    edit("  news:", "  0100:", "line 8", "YAML reads 0100 as the number 64", "'0100' in quotes"),
    edit("  news:", "  12:30:", "line 8", "YAML reads 12:30 as the number 750", "'12:30' in quotes"),
    edit("  news:", "  no:", "line 8", "YAML reads no as false", "'no' in quotes"),
    edit("  news:", "  on:", "line 8", "YAML reads on as true", "'on' in quotes"),
    edit("  news:", "  ~:", "tasks.None: "),
    edit("  news:", f"  {'n' * 300}:", "tasks.nnn", "at most 100 characters"),
    edit("  news:", "  scores.parquet:", "tasks.scores.parquet: ", "must not end in .parquet"),
    edit("  news:", "  tokens-per-word.csv:", "must not end in .csv"),
    edit("  news:", "  models:", "tasks.models: the name is reserved for the folder of that name in data"),
    edit("  news:", "  embedders:", "tasks.embedders: the name is reserved"),
    edit("  news:", "  taggers:", "tasks.taggers: the name is reserved"),
    edit("  news:", "  papers:", "tasks.papers: the name is reserved for the folder of that name in results"),
    edit("  news:", "  all:", "tasks.all: the name is reserved for the ranking over all tasks"),
    edit("  news:", "  news-articles:", "tasks.news-articles: a dataset has the same slug"),
    edit("      one:", "      human:", "tasks.topics.subsets.human: the name is reserved for references"),
    edit(
        "      one:",
        "      texts.parquet:",
        "tasks.topics.subsets.texts.parquet: ",
        "must not end in .parquet",
    ),
    edit("      one:", "      no:", "line 29", "YAML reads no as false"),
]

GREEDY = "{strategy: greedy, max_new_tokens: 5}"
MODEL = "{label: x, family: x, chat: none, source: {kind: file, path: config}}"
TRAINED = "{kind: finetuned, model: smollm2-135m-instuct, dataset: news-articles, n: 5, epochs: 1}"
TUNED = f"{{label: x, family: x, chat: none, source: {TRAINED}}}"
THINKING = f"{MODEL[:-1]}, reasoning: {{strip: x, budget: 9}}}}".replace("chat: none", "chat: template")
SERVED = (
    "a: {{label: x, family: x, chat: template, engine: openai, gpus: 0, "
    "source: {{kind: openai, url: '{}', model: x}}}}\n"
)
TABLE = "{format: table, source: {kind: file, path: Snakefile}}"
REGISTRIES = [
    registry("models", "- a\n", "(top level)", "key: value"),
    registry("models", "text\n", "(top level)", "text"),
    registry("models", "a: [\n", "not valid YAML", "line 2"),
    registry("models", "a: 1\n", "a: ", "key: value"),
    registry("models", "a:\n", "a: ", "empty"),
    registry("models", "a: {lable: x}\n", "a.lable: unknown key; nearest valid: 'label'"),
    registry("models", EXPERIMENT, "name: ", "key: value"),
    registry("models", b"\xff\xfea\x00", "not UTF-8"),
    registry("models", b"\0", "not valid YAML", "#x0000"),
    registry("models", "[" * 5000, "nested too deeply"),
    registry("models", f"a: {MODEL}\na: {MODEL}\n", "duplicate key 'a'"),
    registry("models", f"human: {MODEL}\n", "human: reserved for human texts"),
    registry("models", f"card: {MODEL}\n", "card: reserved for the card of a dataset"),
    registry("models", f"texts.meta: {MODEL}\n", "texts.meta: ", "must not end in .meta"),
    registry("models", f"../a: {MODEL}\n", "../a: String should match pattern"),
    registry("models", f"{'a' * 300}: {MODEL}\n", "at most 100 characters"),
    registry("models", f"no: {MODEL}\n", "line 1", "YAML reads no as false"),
    registry("models", f"7: {MODEL}\n", "must be text, but YAML reads 7 as a number"),
    registry("models", f"a: {MODEL[:-1]}, gpus: yes}}\n", "line 1", "YAML reads yes as true"),
    registry("models", f"a: {MODEL[:-1]}, gpus: -1}}\n", "a.gpus: "),
    registry("models", f"a: {MODEL[:-1]}, shards: 1000000000}}\n", "a.shards: ",
             "less than or equal to 10000"),
    registry("models", f"a: {MODEL[:-1]}, tokens_per_second: 1e-308}}\n", "a.tokens_per_second: ",
             "0.000001"),
    registry("models", f"a: {MODEL[:-1]}, gigabytes: 1e300}}\n", "a.gigabytes: ", "1000000000"),
    registry("models", f"a: {MODEL[:-1]}, gpus: 4611686018427387904}}\n", "a.gpus: ", "10000"),
    registry("models", MODEL.replace("label: x", "label: ''").join(["a: ", "\n"]), "a.label: ",
             "1 character"),
    registry("models", MODEL.replace("path: config", "path: ''").join(["a: ", "\n"]), "a.source.path: ",
             "1 character"),
    registry("models", MODEL.replace("path: config", "path: ~nobody-here/x").join(["a: ", "\n"]),
             "a.source.path: ~nobody-here/x: there is no such user"),
    entry("models", MODEL.replace("path: config", "path: 'con{task}fig'").join(["mine: ", "\n"]),
          "gemma-3-270m", "mine", "model 'mine': source.path: ", f"{BRACES} con{{task}}fig"),
    entry("datasets", "mine: {format: table, text: t, source: {kind: file, path: '/x{b}/h.csv'}}\n",
          "news-articles", "mine", "dataset 'mine': source.path: ", f"{BRACES} /x{{b}}/h.csv"),
    edit("  ngram:\n", "  ngram:\n  essay: {essays: 'e{b}.tsv'}\n", "metrics.essay.essays: ",
         f"{BRACES} e{{b}}.tsv"),
    registry("models", f"a: {MODEL[:-1]}, bos: always}}\n".replace("chat: none", "chat: template"),
             "a: bos: always does not apply to chat: template"),
    registry("models", f"a: {TUNED.replace('n: 5', 'n: 0')}\n", "a.source.n: ", "greater than or equal to 1"),
    registry("models", f"a: {TUNED[:-1]}, gpus: 3}}\n", "a: source.batch_size: 8 texts cannot be shared"),
    entry("models", f"a: {TUNED}\n", "gemma-3-270m", "a", "model 'a': source.model: unknown model",
          "'smollm2-135m-instruct'"),
    entry("models", f"a: {TUNED.replace('instuct', 'instruct')}\n", "gemma-3-270m", "a",
          "model 'a': source.dataset: 'news-articles' has the format news-articles; fine-tuning"),
    entry("models", f"a: {TUNED.replace('smollm2-135m-instuct', 'gpt-3.5-turbo')}\n", "gemma-3-270m", "a",
          "model 'a': source.model: 'gpt-3.5-turbo' is served: choose a model with a checkpoint"),
    entry("models", f"a: {TUNED.replace('smollm2-135m-instuct', 'a')}\n", "gemma-3-270m", "a",
          "model 'a': source.model: 'a' is fine-tuned itself"),
    registry("models", f"a: {MODEL[:-1]}, system: Be brief.}}\n", "a: system does not apply to chat: none"),
    registry("models", f"a: {MODEL[:-1]}, engine: vllm, adapter: {{kind: file, path: x}}}}\n",
             "a: adapter does not apply to engine vllm"),
    registry("models", f"a: {MODEL[:-1]}, reasoning: {{strip: x, budget: 9}}}}\n",
             "a: reasoning does not apply to chat: none"),
    registry("models", f"a: {MODEL[:-1]}, chat_arguments: {{thinking: false}}}}\n",
             "a: chat_arguments do not apply to chat: none"),
    registry("models", f"a: {MODEL[:-1]}, chat_arguments: {{tokenize: true}}}}\n",
             "tokenize is not an argument of a template"),
    registry("models", f"a: {MODEL[:-1]}, chat_arguments: {{thinking: off}}}}\n", "YAML reads off as false"),
    registry("models", f"a: {MODEL[:-1]}, chat_arguments: {{}}, bos: true}}\n", "YAML reads true as true"),
    registry("models", f"a: {MODEL[:-1]}, chat_arguments: {{x: [1]}}}}\n", "a.chat_arguments.x"),
    registry("models", f"a: {MODEL[:-1]}, bos: tokenizer}}\n",
             "a.bos: 'tokenizer' is not one of the choices: 'auto', 'always' or 'never'"),
    registry("models", SERVED.format("https://h/v1").replace("gpus: 0", "gpus: 0, bos: always"),
             "a: bos: always does not apply to a served model"),
    registry("models", SERVED.format("https:///v1"), "a.source.url: ", "'https:///v1'"),
    registry("models", SERVED.format("https://h:99999/v1"), "a.source.url: not a complete URL"),
    registry("models", SERVED.format("https://[::1/v1"), "a.source.url: not a complete URL"),
    registry("models", SERVED.format("https://user:word@h/v1"), "a.source.url: "),
    registry("datasets", "a: {format: table, source: {kind: url, url: 'https://'}}\n", "a.source.url: "),
    registry("datasets", "a: {format: table, source: {kind: url, url: 'http://localhost:x@elsewhere/x'}}\n",
             "a.source.url: "),
    registry("models", f"a: {MODEL[:-1]}, label: 5}}\n", "duplicate key 'label'"),
    registry("models", f"a: {MODEL[:-1]}, tokens_per_second: .inf}}\n", "a.tokens_per_second: ", "finite"),
    registry("models", MODEL.replace("kind: file", "kind: fiel").join(["a: ", "\n"]),
             "a.source.kind: 'fiel'", "'file'"),
    registry("models", "a: {label: 3.10, family: x, chat: none, source: {kind: file, path: x}}\n",
             "a.label: must be text"),
    registry("models", "a: {label: x, family: x, chat: off, source: {kind: file, path: x}}\n",
             "YAML reads off as false"),
    registry("decoding", f"human: {GREEDY}\n", "human: reserved for human texts"),
    registry("decoding", "a: {strategy: beam, beams: 3, top_p: 0.9, max_new_tokens: 5}\n",
             "a.top_p: strategy: beam has no top_p, only strategy: sampling has it", "beams"),
    registry("decoding", "a: {strategy: greedy, temperature: 0, max_new_tokens: 5}\n",
             "a.temperature: strategy: greedy has no temperature"),
    registry("decoding", "a: {strategy: sampling, top_pp: 0.9, max_new_tokens: 5}\n",
             "a.top_pp: unknown key; nearest valid: 'top_p'"),
    registry("decoding",
             "a: {strategy: contrastive-search, k: 4, alpha: 1, no_repeat_ngram: 3, max_new_tokens: 5}",
             "a.no_repeat_ngram: strategy: contrastive-search has no no_repeat_ngram, only strategy: "),
    registry("decoding", "a: {strategy: sampling, typical_p: 1.5, max_new_tokens: 5}\n",
             "a.typical_p: ", "less than or equal to 1"),
    registry("decoding", "a: {strategy: sampling, eta_cutoff: 1, max_new_tokens: 5}\n",
             "a.eta_cutoff: ", "less than 1"),
    registry("decoding", "a: {strategy: sampling, temperature: .nan, max_new_tokens: 5}\n",
             "a.temperature: ", "finite"),
    registry("decoding", "a: {strategy: sampling, temperature: 0, max_new_tokens: 5}\n", "a.temperature: "),
    registry("decoding", "a: {strategy: sampling, top_p: '0.9', max_new_tokens: 5}\n", "a.top_p: ",
             "valid number"),
    registry("decoding", "a: {strategy: sampling, top_k: 0x10, max_new_tokens: 5}\n",
             "YAML reads 0x10 as the number 16"),
    registry("decoding", "a: {strategy: contrastive-search, k: 4, alpha: 2, max_new_tokens: 5}\n",
             "a.alpha: "),
    registry("decoding", "a: {strategy: greedy, dry_base: 2, max_new_tokens: 5}\n",
             "a: dry_base has no effect without dry_multiplier"),
    registry("decoding", "a: {strategy: contrastive-decoding, max_new_tokens: 5}\n", "a.amateur: this key"),
    registry("decoding", "a: {max_new_tokens: 5}\n", "a.strategy: this key is required"),
    registry("decoding", f"a b: {GREEDY}\n", "a b: String should match pattern"),
    registry("datasets", f"models: {TABLE}\n", "models: reserved for the folder of that name in data"),
    registry("datasets", f"taggers: {TABLE}\n", "taggers: reserved for the folder of that name in data"),
    registry("datasets", f"card.json: {TABLE}\n", "card.json: ", "must not end in .json"),
    registry("datasets", f"a: {TABLE[:-1]}, texts: 0}}\n", "a.texts: "),
    registry("datasets", f"a: {TABLE[:-1]}, licence: no}}\n", "YAML reads no as false", "'no' in quotes"),
    registry("datasets", "a: {format: table, source: {kind: url, url: 'ftp://x/y'}}\n", "a.source.url: "),
    registry("datasets", "a: {format: table, source: {kind: file, path: x, sha256: 5}}\n",
             "a.source.sha256: must be text"),
    registry("datasets", "a: {format: table, source: {kind: wheel, parts: []}}\n", "a.source.parts: "),
    registry("embedders", "card: {label: x, pooling: mean, max_tokens: 5, source: {kind: file, path: x}}\n",
             "card: reserved for the card of a dataset"),
    registry("embedders",
             "ngram.json: {label: x, pooling: mean, max_tokens: 5, source: {kind: file, path: x}}\n",
             "ngram.json: ", "must not end in .json"),
    registry("embedders", "a: {label: x, pooling: median, max_tokens: 5, source: {kind: file, path: x}}\n",
             "a.pooling: 'median' is not one of the choices"),
    registry("taggers", "card: {label: x, source: {kind: file, path: x}}\n", "card: reserved"),
    registry("taggers", "a: {label: x}\n", "a.source: this key is required"),
]  # fmt: skip

WIKI = "format: new-wiki, source: {{kind: mediawiki}}, created_from: {}, created_before: {}"
ENTRIES = [
    entry("datasets", "a: {format: table, source: {kind: file, path: no/such.csv}}\n", "news-articles", "a",
          "dataset 'a': source.path: there is no file no/such.csv"),
    entry("datasets", "a: {format: table, source: {kind: file, path: /dev/null}}\n", "news-articles", "a",
          "dataset 'a': source.path: /dev/null is not a regular file"),
    entry("datasets", 'a: {format: table, source: {kind: file, path: "no\\0such"}}\n', "news-articles", "a",
          "config/datasets.yaml", "line 1", "a text with a control character"),
    entry("models", MODEL.replace("path: config", "path: /nowhere").join(["a: ", "\n"]), "gemma-3-270m", "a",
          "model 'a': source.path: there is no file /nowhere"),
    entry("models", MODEL.replace("config", "x" * 300).join(["a: ", "\n"]), "gemma-3-270m", "a",
          "model 'a': source.path: xxx", "cannot be read: File name too long"),
    entry("models", MODEL.replace("path: config", "path: Snakefile").join(["a: ", "\n"]), "gemma-3-270m", "a",
          "model 'a': source.path: Snakefile is a file: a checkpoint is a folder or a .gguf file"),
    entry("models", f"a: {MODEL}\n", "gemma-3-270m", "a",
          "model 'a': source.path: config is not a checkpoint: it has no config.json"),
    entry("models", MODEL.replace("config", '"~"').join(["a: ", "\n"]), "gemma-3-270m", "a",
          "model 'a': source.path: ", "is not a checkpoint: it has no config.json"),
    entry("embedders", "a: {label: x, source: {kind: file, path: config}, pooling: mean, max_tokens: 9}\n",
          "minilm", "a", "embedder 'a': source.path: config is not a checkpoint: it has no config.json"),
    entry("models", f"a: {MODEL[:-1]}, adapter: {{kind: file, path: config}}}}\n", "gemma-3-270m", "a",
          "model 'a': adapter.path: config is not an adapter: it has no adapter_config.json"),
    entry("models", f"a: {MODEL[:-1]}, adapter: {{kind: file, path: Snakefile}}}}\n", "gemma-3-270m", "a",
          "model 'a': adapter.path: Snakefile is a file, not a folder"),
    entry("embedders", "a: {label: x, source: {kind: file, path: Snakefile}, pooling: mean, max_tokens: 9}\n",
          "minilm", "a", "embedder 'a': source.path: Snakefile is a file: a checkpoint is a folder or a"),
    entry("datasets", "a: {format: ag-news, source: {kind: file, path: config}}\n", "news-articles", "a",
          "dataset 'a': source.path: config is a folder, not a file"),
    entry("datasets", f"a: {TABLE.replace('Snakefile', '~/')}\n", "news-articles", "a",
          "dataset 'a': source.path: ", "is a folder, not a file"),
    edit("  ngram:\n", "  ngram:\n  completions: {quality: {metric: entropy, at_least: 5, at_most: 4}}\n",
         "metrics.completions.quality: no text passes: at_least (5.0) is above at_most (4.0)"),
    edit("  ngram:\n", "  ngram:\n  completions: {quality: {metric: repetition_4, at_least: 2}}\n",
         "metrics.completions.quality: no text passes: repetition_4 is between 0 and 1"),
    edit("  ngram:\n", "  ngram:\n  completions: {quality: {metric: repetition_4, at_most: -0.1}}\n",
         "metrics.completions.quality: no text passes: repetition_4 is between 0 and 1"),
    entry("models", f"a: {MODEL[:-1]}, shards: 101}}\n", "gemma-3-270m", "a",
          "tasks.news.cells: model 'a' has shards: 101, but its cells have 100 texts: at most one shard for"),
    entry("models", f"a: {MODEL[:-1]}, shards: 10000}}\n", EXPERIMENT[EXPERIMENT.index("    kind: c"):],
          "    kind: prompted\n    dataset: creative\n    k: 4\n    seeds: [1]\n    draws: [1]\n"
          "    completions: 3\n    keep: 1\n    n: 12\n    max_words: 9\n"
          "    cells: [{models: [a], decodings: [greedy]}]\n", "shards: 10000, but its cells have 36 texts"),
    entry("datasets", f"a: {TABLE[:-1]}, texts: 199}}\n", "news-articles", "a", "tasks.news.n: n = 100 needs "
          "at least 200 texts, but the dataset 'a' has texts: 199: lower n, or correct the entry of the"),
    entry("datasets", f"a: {TABLE[:-1]}, groups: [topic], texts: 100}}\n", "news-articles", "a",
          "tasks.topics.n: n = 64 needs at least 128 texts, but the dataset 'a' has texts: 100"),
    entry("datasets", f"a: {TABLE[:-1].replace('table', 'webtext')}, n: 150, texts: 900}}\n", "news-articles",
          "a", "tasks.news.n: n = 100 needs at least 200 texts, but the dataset 'a' has n: 150"),
    entry("models", f"a: {THINKING}\n", "[gemma-3-270m]\n        decodings: [nucleus-0.95]",
          "[a]\n        decodings: [beam-5]", "model 'a' with decoding 'beam-5'", "a thought from an answer"),
    entry("models", f"a: {THINKING}\n", "max_words: 60\n    cells:\n      - models: [gemma-3-270m]",
          "max_words: 60\n    metrics: {ngram: {}, likelihood: {scorer: gpt2-xl, perplexity_of: generator}}\n"
          "    cells:\n      - models: [a]", "perplexity_of: generator: the answers of model 'a'"),
    entry("models", f"a: {MODEL[:-1]}, adapter: {{kind: file, path: /nowhere}}}}\n", "gemma-3-270m", "a",
          "model 'a': adapter.path: there is no file /nowhere"),
    entry("datasets", "a: {" + WIKI.format("2021-01-01T25:00", "2022-01-01") + "}\n", "news-articles", "a",
          "config/datasets.yaml", "a.created_from: ", "'2021-01-01T25:00'"),
    entry("datasets", "a: {" + WIKI.format("2090-01-01", "2091-01-01") + "}\n", "news-articles", "a",
          "dataset 'a': created_before: 2091-01-01 00:00 is in the future"),
    entry("datasets", "a: {" + WIKI.format("2021-01-01", "2091-01-01") + "}\n", "news-articles", "a",
          "dataset 'a': created_before: 2091-01-01 00:00 is in the future"),
    entry("datasets", "a: {" + WIKI.format("2021-02-30", "2022-01-01") + "}\n", "news-articles", "a",
          "config/datasets.yaml", "a.created_from: "),
    entry("datasets", "a: {" + WIKI.format("20210101", "2022-01-01") + "}\n", "news-articles", "a",
          "config/datasets.yaml", "a.created_from: must be a date such as 2021-06-01"),
    entry("datasets", "a: {" + WIKI.format("'20210101'", "2022-01-01") + "}\n", "news-articles", "a",
          "config/datasets.yaml", "a.created_from: must be a date such as 2021-06-01"),
    entry("datasets", "a: {" + WIKI.format("0001-01-01T00:00:00+02:00", "2022-01-01") + "}\n",
          "news-articles", "a",
          "config/datasets.yaml", "a.created_from: ", "between the years 1 and 9999"),
    entry("datasets", "a: {" + WIKI.format("2021-01-01", "2020-01-01") + "}\n", "news-articles", "a",
          "config/datasets.yaml", "a: created_from is not before created_before"),
    entry("datasets", "a: {" + WIKI.format("2021-01-01", "2022-01-01") + "}\n", "news-articles", "a",
          "contact: dataset 'a' is extracted from Wikipedia"),
]  # fmt: skip

PAPERS = [
    paper("pr", "name: pr", "name: PR", "name: String should match pattern"),
    paper("pr", "embedder: gpt2-large", "embedder: gpt2-lrge", "embedder: unknown embedder", "'gpt2-large'"),
    paper("pr", "self_bleu_sample: 0.2", "self_bleu_sample: 20", "metrics.ngram.self_bleu_sample: "),
    paper("pr", "tokenizer: gpt2-tokenizer", "tokenizer: gpt3",
          "metrics.ngram.tokenizer: unknown model 'gpt3'"),
    paper("pr", "n: 4000", "n: 04000", "line 101", "YAML reads 04000 as the number 2048"),
    paper("pr", "k: [1, 2, 3, 4, 5, 7, 10, 15, 20, 30]", "k: [1, 1]",
          "tasks.webtext-10000.sweep.k: duplicate values"),
    paper("pr", "n: 10000", "n: 5000",
          "tasks.webtext-10000: sweep.n: 10000 is more than the task's n = 5000"),
    paper("pr", "group: topic", "groups: topic", "duplicate key 'groups'"),
    paper("pr", "[world, sport]", "[world, world]", "tasks.ag-topics: references: duplicate labels"),
    paper("pr", "&chat-models", "&chatmodels", "undefined alias", "chat-models"),
    paper("pr", "draws: [1, 2]", "draws: [1 2]", "tasks.webtext-4000.draws[0]: ", "valid integer"),
    paper("pr", "contact: you@example.org", "contact: you", "contact: String should match pattern"),
    paper("nw", "keep: 10", "keep: 21", "tasks.new: keep (21) exceeds completions (20)"),
    paper("nw", "completions: 20", "completions: on", "YAML reads on as true"),
    paper("nw", "contact: you@example.org", "requests_per_second: 5", "contact: dataset",
          "extracted from Wikipedia"),
    paper("nw", "    dataset: new-wiki", "    dataset: new_wiki", "tasks.new.dataset: unknown dataset",
          "'new-wiki'"),
    paper("nw", "{essays: training_set_rel3.tsv}", "", "metrics.essay.essays: this key is required"),
    paper("nw", "  old:", "  all:", "tasks.all: the name is reserved for the ranking over all tasks"),
    paper("nw", "- models: [opt-66b, bloom]", "- models: [opt-66b, bloom", "not valid YAML", "line 1"),
    paper("nw", "seeds: [1]", "seeds: [0x1]", "YAML reads 0x1 as the number 1"),
    paper("mc", "&settings", "&setings", "undefined alias", "settings"),
    paper("mc", "higher: [coherence, diversity]", "higher: [coherence, diversty]", "no criterion 'diversty'"),
    paper("mc", "lower: [perplexity]", "lower: [coherence]", "tasks.wikitext.ranking: duplicate criteria"),
    paper("mc", "scorer: opt-2.7b", "scorer: opt-2.7", "metrics.likelihood.scorer: unknown model 'opt-2.7'"),
    paper("mc", "perplexity_of: generator", "perplexity_of: generated",
          "metrics.likelihood.perplexity_of: 'generated'"),
    paper("mc", "temperature-1.0", "temperature-1.1", "unknown decoding 'temperature-1.1'"),
    paper("mc", "  wiki-news: {", "  papers: {", "tasks.papers: the name is reserved"),
    paper("mc", "WikiText-103, tasks: [wikitext]}", "WikiText-103, tasks: [wikitext, wiki-news]}",
          "targets.table_8.tasks: there is no ranking of wikitext, wiki-news",
          "rankings are of: wikitext; wiki-news; books; wikitext, wiki-news, books"),
    paper("mc", "of: model, which: most", "of: models, which: most", "targets.table_12.of: "),
    paper("mc", "WikiText-103, tasks: [wikitext]}", "WikiText-103, tasks: [wikitext], models: [gpt2-xl]}",
          "targets.table_8.models"),
    paper("mc", "dataset: bookcorpus", "dataset: bookcorpse", "tasks.books.dataset: unknown dataset"),
]  # fmt: skip

TARGET_CASES = [
    aimed("tasks: [news]", "tasks: [nws]", "table_1a.tasks: unknown task 'nws'; nearest valid: 'news'"),
    aimed("tasks: [news]", "tasks: []", "targets.table_1a.tasks: List should have at least 1 item"),
    aimed("[precision], models: [gemma-3-270m]", "[precision], models: [gema]",
          "table_1a.models: 'gema' is not in the cells of its tasks", "'gemma-3-270m'"),
    aimed("[recall], decodings: [nucleus-0.95]", "[recall], decodings: [greedy]",
          "table_1b.decodings: 'greedy' is not in the cells of its tasks", "'nucleus-0.95'"),
    aimed("[precision]", "[precison]", "table_1a.metrics: unknown metric 'precison'", "valid: 'precision'"),
    aimed("[precision]", "[flesch]", "table_1a: needs metrics of the family readability", "task news"),
    aimed("metrics-by-model", "metrics-by-modell", "targets.table_1a", "metrics-by-modell"),
    aimed("shape: metrics-by-model, ", "", "targets.table_1a", "shape"),
    aimed("title: A, ", "", "targets.table_1a.title: this key is required"),
    aimed("table_1a:", "tabel_1a:", "targets.tabel_1a"),
    aimed("table_1a:", "Table 1a:", "targets.Table 1a"),
    aimed("targets:", "paper: xy\ntargets:", "paper:", "'pr', 'nw' or 'mc'"),
]  # fmt: skip

OF_TARGET = (FILE,)
PLANNED = [
    Case("plan of an unknown target", {FILE: TARGETED}, ("'tabel_1' of mine; nearest valid: 'table_1'",),
         (*OF_TARGET, "tabel_1")),
    Case("plan of a target without a name", {FILE: TARGETED}, ("unknown target ''",), (*OF_TARGET, "")),
    Case("plan of a target with control characters", {FILE: TARGETED}, (r"unknown target '\x1b[1m'",),
         (*OF_TARGET, "\x1b[1m")),
    Case("plan of a target where there are none", {FILE: EXPERIMENT},
         ("unknown target 'table_1' of mine; valid: none is defined",), (*OF_TARGET, "table_1")),
]  # fmt: skip

CASES = [*MALFORMED, *NUMBERS, *KEYS, *REFERENCES, *SLUGS, *REGISTRIES, *ENTRIES, *PAPERS, *TARGET_CASES]


def on_disk(name: str, make: Callable[[Path], object], *words: str, arguments: tuple[str, ...] = ()) -> Any:
    return pytest.param(make, arguments or (FILE,), words, id=name)


def linked(folder: Path, name: str, target: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def damaged(folder: Path, name: str, content: bytes = b"") -> None:
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    edited = EXPERIMENT.replace("kind: continuation", "kind: prompted").replace("n: 100", "max_words: 9")
    edited = edited.replace("    max_words: 60\n", "").replace("news-articles", "wiki-sample", 1)
    (folder / FILE).write_text(edited)


ON_DISK = [
    on_disk("a missing file", lambda p: (p / FILE).unlink(), FILE, "there is no such file"),
    on_disk("no folder", lambda p: None, "no/mine.yaml: there is no such file",
            arguments=("no/mine.yaml",)),
    on_disk("a folder", lambda p: None, "config: a folder, not a file", arguments=("./config",)),
    on_disk("a file as a folder", lambda p: None, "Not a directory",
            arguments=("Snakefile/mine.yaml",)),
    on_disk("a link to nothing", lambda p: linked(p, FILE, "nothing"), FILE, "there is no such file"),
    on_disk("a loop of links", lambda p: linked(p, FILE, "mine.yaml"), FILE, "symbolic links"),
    on_disk("a long name", lambda p: None, "File name too long", arguments=("x" * 300 + ".yaml",)),
    on_disk("an endless file", lambda p: linked(p, FILE, "/dev/zero"), FILE, "not a regular file"),
    on_disk("a FIFO", lambda p: make_fifo(p / FILE), FILE, "not a regular file"),
    on_disk("a FIFO as a registry", lambda p: make_fifo(p / "config/models.yaml"),
            "models.yaml: not a regular file"),
    on_disk("no registries", lambda p: None, "no: there is no such folder",
            arguments=(FILE, "--registries", "no")),
    on_disk("a file as registries", lambda p: None, "Snakefile: a file, not a folder",
            arguments=(FILE, "--registries", "Snakefile")),
    on_disk("a folder as a registry", lambda p: (p / "config/models.yaml").mkdir(),
            "models.yaml: a folder, not a file"),
    on_disk("a registry linked to nothing", lambda p: linked(p, "config/models.yaml", "no"),
            "models.yaml: there is no"),
    on_disk("a loop of registries", lambda p: linked(p, "config/models.yaml", "models.yaml"), "models.yaml",
            "symbolic"),
    on_disk("no demo", lambda p: None, "config/demo.yaml: there is no such file", arguments=("--json",)),
    on_disk("damaged texts", lambda p: damaged(p, "data/wiki-sample/texts.parquet"),
            "texts.parquet: damaged"),
    on_disk("damaged prompts", lambda p: damaged(p, "data/news/prompts.parquet", b"PAR1"),
            "prompts.parquet: damaged"),
    on_disk("damaged lengths", lambda p: damaged(p, "data/news/lengths/gemma-3-270m/84.json", b"{"),
            "84.json: damaged"),
    on_disk("damaged features", lambda p: damaged(p, "data/news/draw1/features/minilm.npy", b"x"),
            "minilm.npy: damaged"),
]  # fmt: skip


def contents(folder: Path) -> dict[str, bytes | str | None]:
    """Return the files below a folder with their content; links as such."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def write(folder: Path, case: Case) -> None:
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def check(case: Case, code: int | None, shown: str) -> None:
    assert code == 1, shown
    for word in case.words:
        assert word in shown
    assert "Traceback" not in shown
    assert len(shown) < 4000
    assert all(c.isprintable() or c == "\n" for c in re.sub("\x1b\\[[0-9;]*m", "", shown)), (
        "control characters"
    )


@pytest.mark.parametrize("case", [*CASES, *PLANNED], ids=lambda case: case.name)
def test_plan(case: Case, tmp_path: Path, monkeypatch, capsys) -> None:
    write(tmp_path, case)
    (tmp_path / "Snakefile").touch()  # a file that is there
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    code = main(["plan", *(word for word in case.arguments if word != "--configfile")])
    shown = capsys.readouterr()
    assert not shown.out
    check(case, code, shown.err)
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "content",
    [
        SERVED.format("https://user:the-secret@host/v1"),
        SERVED.format("https://user:the-secret@host:99999/v1"),
        SERVED.format("https://host/v1").replace("model: x", "model: x, key_variable: the-secret"),
    ],
)
def test_keys_and_passwords_are_not_repeated(content: str, tmp_path: Path, capsys) -> None:
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "mine.yaml").write_text(EXPERIMENT)
    (folder / "models.yaml").write_text(content)
    assert main(["plan", str(folder / "mine.yaml")]) == 1
    shown = capsys.readouterr().err
    assert "a.source." in shown
    assert "the-secret" not in shown


@pytest.mark.parametrize(("make", "arguments", "words"), ON_DISK)
def test_plan_reads_what_is_there(
    make: Callable[[Path], object],
    arguments: tuple[str, ...],
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch,
    capsys,
) -> None:
    case = Case("", {FILE: EXPERIMENT, "Snakefile": ""}, words, arguments)
    write(tmp_path, case)
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    code = main(["plan", *arguments])
    shown = capsys.readouterr()
    assert not shown.out
    check(case, code, shown.err)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", [FILE, "config/models.yaml"])
def test_a_file_without_permission_is_named(name: str, tmp_path: Path, monkeypatch, capsys) -> None:
    write(tmp_path, Case("", {FILE: EXPERIMENT, "config/models.yaml": ""}, ()))
    opened = Path.open

    def refuse(path: Path, *arguments: Any, **options: Any) -> Any:  # root reads everything
        if str(path).endswith(name):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.chdir(tmp_path)
    assert main(["plan", FILE]) == 1
    assert f"{name}: cannot be read: Permission denied\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [EXPERIMENT.encode(), b"\xef\xbb\xbf" + EXPERIMENT.encode(), EXPERIMENT.replace("\n", "\r\n").encode()],
    ids=["plain", "BOM", "CRLF"],
)
def test_a_right_experiment_is_planned(content: bytes, tmp_path: Path, monkeypatch, capsys) -> None:
    write(tmp_path, Case("", {FILE: content}, ()))
    monkeypatch.chdir(tmp_path)
    assert main(["plan", FILE]) == 0
    assert "in all" in capsys.readouterr().out


PLAN = [sys.executable, "-m", "textgamut", "plan", FILE]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planned")
    write(folder, Case("", {FILE: EXPERIMENT, "config/none.yaml": "n\u00e4me: x\n"}, ()))
    return folder


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "JSON"])
def test_a_full_disk_at_standard_output_is_named(options: list[str], planned: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*PLAN, *options], cwd=planned, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "textgamut: error: standard output: the disk is full\n"


@pytest.mark.parametrize("file", [FILE, "config/none.yaml"])
def test_a_terminal_without_unicode_is_enough(file: str, planned: Path) -> None:
    environment = os.environ | {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*PLAN[:-1], file], cwd=planned, env=environment, capture_output=True)
    assert done.returncode == (0 if file == FILE else 1)
    assert b"Traceback" not in done.stdout + done.stderr
    assert (b"new tokens \\u2264" in done.stdout) == (file == FILE)
    assert (b"n\\xe4me: unknown key" in done.stderr) != (file == FILE)


def target(path: str, *words: str) -> Case:
    return Case(f"target: {path}", {FILE: EXPERIMENT}, (path, *words), (path, "--configfile", FILE))


def named(option: str, value: str, *words: str) -> Case:
    return Case(f"{option} {value}", {FILE: EXPERIMENT}, words, (option, value, "--configfile", FILE))


CELL = "results/news/gemma-3-270m/nucleus-0.95/seed1"
TARGETS = [
    target("al", "unknown rule; nearest valid: 'all'"),
    target("results/papers/mine/nws/texts.parquet", "unknown task 'nws'; nearest valid: 'news'"),
    target(CELL.replace("news", "nws") + "/generations.parquet", "unknown task 'nws'; nearest valid: 'news'"),
    target(CELL.replace("gemma", "gema") + "/generations.parquet", "unknown model", "'gemma-3-270m'"),
    target(CELL.replace("-0.95", "-0.955") + "/generations.parquet", "unknown decoding", "'nucleus-0.95'"),
    target(f"{CELL}/scores/ngrams.json", "unknown family 'ngrams.json'; nearest valid: 'ngram.json'"),
    target(f"{CELL}/scores/readability.json", "unknown family 'readability.json'; valid: 'ngram.json'"),
    target(f"{CELL}/scores/minlm/support.json", "unknown embedder 'minlm'; nearest valid: 'minilm'"),
    target(f"{CELL}/generation.parquet", "unknown file 'generation.parquet'", "'generations.parquet'"),
    target("data/new-articles/card.json", "unknown dataset 'new-articles'; nearest valid: 'news-articles'"),
    target("data/models/gema-3-270m.json", "unknown model", "nearest valid: 'gemma-3-270m.json'"),
    target("data/news/draw1/features/minlm.npy", "unknown embedder 'minlm.npy'; nearest valid: 'minilm.npy'"),
    target("results/papers/mne/news/scores.csv", "unknown paper 'mne'; nearest valid: 'mine'"),
    target("results/papers/mine/news/score.csv", "unknown file 'score.csv'; nearest valid: 'scores.csv'"),
    target(
        "results/topics/two/human/seed1/generations.parquet", "unknown model 'two'; valid: 'human', 'one'"
    ),
    target(CELL.replace("seed1", "seed01") + "/generations.parquet", "unknown file 'seed01'", "'seed1'"),
    target(CELL.replace("seed1", f"seed{10**19}") + "/generations.parquet", "unknown file 'seed1000"),
    target(f"{CELL}/shards/1-of-1.parquet", "unknown file '1-of-1.parquet'; nearest valid: '0-of-1.parquet'"),
    target(f"{CELL}/shards/0-of-0.parquet", "unknown file '0-of-0.parquet'"),
    target(
        "results/news/human/nucleus-0.95/seed1/generations.parquet",
        "unknown decoding",
        "valid: 'held-out', 'human'",
    ),
    target("results/news/*/generations.parquet", "unknown model '*'"),
    target("results/", "a folder, but a target is a file"),
    target("generate_texts", "a rule for many files: give one of them, such as results/{task}/"),
    target("", "'': unknown rule"),
    Case(
        "target: tabel_1",
        {FILE: TARGETED},
        ("tabel_1: unknown rule; nearest valid: 'table_1'",),
        ("tabel_1", "--configfile", FILE),
    ),
    named("--until", "generate_text", "unknown rule; nearest valid: 'generate_texts'"),
    named("--omit-from", "score_ngrams", "unknown rule; nearest valid: 'score_ngram'"),
    named("--forcerun", CELL.replace("gemma", "gema") + "/generations.parquet", "unknown model"),
    named("--set-resources", "generate_text:mem_mb=3", "generate_text: unknown rule"),
    named("--batch", "al=1/2", "al: unknown rule; nearest valid: 'all'"),
    target("results/news", "a folder, but a target is a file"),
    target("no/such/file", "no rule makes such a file"),
]

CONFIGFILES = [
    Case("a target as a second file", {FILE: EXPERIMENT}, ("snakemake all --configfile config/mine.yaml",),
         ("--configfile", FILE, "all")),
    Case("a file that exists as a target", {FILE: EXPERIMENT, "results/x.csv": b"\xff"}, ("a single file",),
         ("--configfile", FILE, "results/x.csv")),
    Case("a folder", {FILE: EXPERIMENT}, ("config: a folder, not a file",), ("--configfile", "config")),
    Case("a missing file", {}, ("no.yaml: there is no such file",), ("--configfile", "no.yaml")),
    Case("standard input", {}, ("-: ", "give a file"), ("--configfile", "-")),
    Case("settings as options", {FILE: EXPERIMENT}, ("--config is not supported",),
         ("--configfile", FILE, "--config", "n=5")),
    Case("settings in one word", {FILE: EXPERIMENT}, ("--config is not supported",),
         ("--configfile", FILE, "-Cn=5")),
    Case("an empty name", {FILE: EXPERIMENT}, (".: a folder, not a file",), ("--configfile=",)),
    Case("no demo", {}, ("config/demo.yaml: there is no such file",), ()),
]  # fmt: skip

FORKED = [
    *MALFORMED[::12],  # `test_plan` has all of them
    *CASES[len(MALFORMED) :: 60],
    *TARGETS,
    *CONFIGFILES,
]


@pytest.mark.parametrize("case", FORKED, ids=lambda case: case.name)
def test_snakemake(case: Case, tmp_path: Path) -> None:
    copy_project(tmp_path)
    (tmp_path / "config/demo.yaml").unlink()
    write(tmp_path, case)
    before = contents(tmp_path)
    done = dry_run(tmp_path, *case.arguments)
    code, shown = done.returncode, done.stdout
    check(case, code, shown)
    after = {
        name: content for name, content in contents(tmp_path).items() if not name.startswith(".snakemake")
    }
    assert after == before


@pytest.mark.parametrize(
    "make",
    [
        lambda p: (p / "config/models.yaml").mkdir(),
        lambda p: linked(p, "config/models.yaml", "nothing"),
        lambda p: (p / "config").rename(p / "elsewhere"),
    ],
    ids=["a folder", "a link to nothing", "no registries"],
)
def test_plan_and_snakemake_say_the_same(
    make: Callable[[Path], object], tmp_path: Path, monkeypatch, capsys
) -> None:
    copy_project(tmp_path)
    mine = f"mine: {MODEL}\n".replace("path: config", "path: workflow")
    write(
        tmp_path,
        Case("", {"mine.yaml": EXPERIMENT.replace("gemma-3-270m", "mine"), "config/models.yaml": mine}, ()),
    )
    (tmp_path / "workflow/config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "mine.yaml"]) == 0
    (tmp_path / "config/models.yaml").unlink()
    make(tmp_path)
    capsys.readouterr()
    assert main(["plan", "mine.yaml"]) == 1
    line = capsys.readouterr().err.strip().removeprefix("textgamut: error: ")
    done = dry_run(tmp_path, "--configfile", "mine.yaml")
    code, shown = done.returncode, done.stdout
    assert code == 1
    assert line.removeprefix("mine.yaml: ") in shown


def test_a_project_in_a_folder_with_braces_is_refused(tmp_path: Path, monkeypatch, capsys) -> None:
    folder = copy_project(tmp_path / "{task}")
    (folder / FILE).write_text(EXPERIMENT)
    monkeypatch.chdir(folder)
    line = f"{folder}: Snakemake reads no project in a folder with braces in its name: rename it"
    assert main(["plan", FILE]) == 1
    assert capsys.readouterr().err == f"textgamut: error: {line}\n"
    done = dry_run(folder, "--configfile", FILE)
    assert done.returncode == 1
    assert line in done.stdout
    assert "Traceback" not in done.stdout
