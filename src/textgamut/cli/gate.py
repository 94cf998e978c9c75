"""``textgamut gate``: decide whether texts are worse than those of a baseline."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import fields, make_dataclass, replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from cyclopts import Parameter

from textgamut.cli.common import (
    Integer,
    NamedPath,
    check_folder,
    check_output,
    print_json,
    settings_of,
    utf8,
    writable,
    write,
)
from textgamut.cli.score import Column, File, as_option
from textgamut.config.entries.sources import TextsFormat
from textgamut.errors import ConfigError
from textgamut.scoring.baseline_file import SUFFIX
from textgamut.scoring.gate_files import Layout, read_sides
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, TRAINING
from textgamut.scoring.options import Options, all_options
from textgamut.user_files import check_file

if TYPE_CHECKING:
    from textgamut.scoring.gate_history import Look
    from textgamut.scoring.gate_results import GateResult
    from textgamut.scoring.gate_sides import GateSettings

logger = logging.getLogger(__name__)

PASSED, FAILED, CANNOT_TELL = 0, 1, 3
"""Exit codes. All errors have 2, so that a gate that could not run never looks like one that failed."""
FILES = (BASELINE, CANDIDATE, REFERENCE, TRAINING)
"""Parameters that are files of texts."""
OUTPUTS = ("index.html", "gate.json", "gate.md", "junit.xml", "checks.csv")
"""What ``--output`` writes."""
LOOKS = 20
"""Number of looks of a history, unless given."""

if TYPE_CHECKING:
    GateGiven = Options
else:  # the options of textgamut.score that also apply to a gate
    KINDS = get_type_hints(Options)
    GateGiven = make_dataclass(
        "GateGiven",
        [as_option(option, KINDS[option.name]) for option in all_options(("metrics", "bootstrap"))],
        namespace={"__module__": __name__},
        frozen=True,
        kw_only=True,
    )


def gate(
    *,
    baseline: File,
    candidate: Annotated[NamedPath | None, Parameter(metavar="FILE")] = None,
    reference: Annotated[NamedPath | None, Parameter(metavar="FILE")] = None,
    training: Annotated[NamedPath | None, Parameter(metavar="FILE")] = None,
    format: TextsFormat = "table",
    text: Column = "text",
    prompt: Column | None = None,
    cluster: Column | None = None,
    finish: Column | None = None,
    group: Column | None = None,
    margin: Annotated[tuple[str, ...], Parameter(metavar="METRIC=MARGIN...", consume_multiple=1)] = (),
    alpha: float = 0.05,
    fail_on: Annotated[tuple[str, ...], Parameter(metavar="FAILURE...", consume_multiple=1)] = (),
    undecided: Literal["report", "pass", "fail"] = "report",
    history: Annotated[NamedPath | None, Parameter(metavar="FILE")] = None,
    looks: Annotated[Integer | None, Parameter(metavar="N")] = None,
    given: Annotated[GateGiven, Parameter(name="*")] = GateGiven(),  # noqa: B008 (it is frozen)
    record: Annotated[NamedPath | None, Parameter(metavar="FILE")] = None,
    no_texts: bool = False,
    output: Annotated[NamedPath | None, Parameter(metavar="FOLDER")] = None,
    json: bool = False,
) -> int:
    """Decide whether a candidate's texts are worse than those of a baseline.

    Each guarded metric passes if it is shown to drop by less than its margin, and fails if it does not pass
    and its drop is proved; equal models fail in at most a share alpha of all gates. Failures have names, such
    as collapse or refusals, and are shown with texts. The exit code is 0 if the gate passes, 1 if it fails, 3
    if one cannot tell, and 2 if it could not run.

    Args:
        baseline: File of the baseline's texts, or one that --record has written.
        candidate: File of the candidate's texts. Not required with --record.
        reference: File of human texts. Without it, a random half of the baseline is the reference.
        training: File of texts that must not be copied, such as training texts. All are embedded.
        format: Format of the files of generated texts: a table, or logs of another program, which may also be
            a folder with one such file.
        text: Column of the texts in all tables.
        prompt: Column of the prompts in the generated files, or of their ids. Texts of the same prompt are
            compared with each other.
        cluster: Column of clusters of texts that depend on each other, such as authors or templates.
        finish: Column of the reason why the generation of a text ended, such as stop or length. Without it,
            texts are unfinished that do not end like a sentence.
        group: Column of groups, each of which has a gate of its own besides that of all texts.
        margin: Largest drop of a metric that passes, in its units; changes or extends the defaults.
        alpha: Probability that equal models fail, above 0 and below 0.5.
        fail_on: Changes that also fail the gate: drift, length, language or copying.
        undecided: What a gate that cannot tell counts as: a result of its own (exit code 3), a pass, or a
            failure.
        history: File to which each gate is added. alpha is then spent over all looks, and the page shows how
            the metrics have changed.
        looks: Number of looks of the history. Defaults to 20.
        given: The options of ``textgamut.score``.
        record: Also write the baseline, with its references, training texts, features and settings, to this
            file, whose name ends in .baseline: a gate with it embeds the candidate only.
        no_texts: Record digests in place of texts and prompts.
        output: Also write a page, JSON, a summary in Markdown, XML of JUnit and a table to this folder.
        json: Print JSON instead of a table.

    Raises:
        TextgamutError: If a file, a column, an entry or a value is not valid.
    """
    asked = {name: value for name, value in locals().items() if name != "given"}
    settings = settings_of(asked | vars(given))
    if problem := _contradiction(asked):
        raise ConfigError(problem)
    from textgamut.progress import recorded_warnings
    from textgamut.report.bars import bars
    from textgamut.report.terminal import print_gate
    from textgamut.scoring.gate import check_settings
    from textgamut.scoring.gate_history import look_of, read_history, write_history

    planned = (looks or LOOKS) if history else 1
    guarded = check_settings(_margins(margin), alpha, fail_on, planned)
    earlier = read_history(history, alpha, planned) if history else []
    _check_files(asked)
    with bars(), recorded_warnings() as messages:
        result = _run(asked, Options(**vars(given)), guarded)
    if result is None:
        return PASSED
    result = replace(result, warnings=messages)
    seen = [*earlier, look_of(result)] if history else []
    if history:
        with writable(history):
            write_history(history, seen)
    try:
        if json:
            print_json(options=settings, **result.to_dict())
        else:
            print_gate(result.outcome, result.checks, result.failures, result.said)
    finally:  # also if the reader of the output is gone
        if output:
            _write(output, result, settings, seen)
    code = {"pass": PASSED, "fail": FAILED}.get(result.outcome)
    return {"report": CANNOT_TELL, "pass": PASSED, "fail": FAILED}[undecided] if code is None else code


def _contradiction(asked: Mapping[str, Any]) -> str | None:
    """Return what is wrong with options that are right one by one; None if nothing is."""
    record, history = asked["record"], asked["history"]
    if asked["candidate"] is None and record is None:
        return "--candidate is required, unless the baseline is only recorded (--record)"
    if record is not None and record.suffix != SUFFIX:
        return f"--record {record}: the name must end in {SUFFIX}"
    if record is not None and asked["baseline"].suffix == SUFFIX:
        return f"--record {record}: the baseline is a recorded one already"
    if asked["no_texts"] and record is None:
        return "--no-texts needs --record: it says what is recorded"
    if asked["looks"] is not None and history is None:
        return "--looks needs --history: the file in which the looks are counted"
    named = {name: asked[name] for name in FILES if asked[name] is not None}
    for name, path in named.items():
        for other, same in named.items():
            if name < other and path.exists() and same.exists() and path.samefile(same):
                return f"--{name} and --{other} are the same file: {path}"
    return None


def _margins(given: Sequence[str]) -> dict[str, float]:
    """Parse the values of ``--margin``: metric -> margin."""
    found = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        try:
            found[name] = float(value if equals else "none")
        except ValueError:
            raise ConfigError(
                f"--margin {pair}: is not of the form METRIC=NUMBER, such as recall=0.1"
            ) from None
    return found


def _check_files(asked: Mapping[str, Any]) -> None:
    """Check that files can be read and written, before anything is computed."""
    files = [asked[name] for name in FILES if asked[name] is not None]
    for file in files:
        if asked["format"] == "table" or not file.is_dir():
            check_file(file)
    if asked["output"]:
        check_folder("--output", asked["output"], OUTPUTS, files)
    for name in ("history", "record"):
        if asked[name]:
            check_output(f"--{name}", asked[name], files)


def _run(asked: Mapping[str, Any], options: Options, guarded: GateSettings) -> GateResult | None:
    """Read the texts, record the baseline if asked to, and return the result if there is a candidate."""
    from textgamut.models.devices import lease
    from textgamut.progress import step
    from textgamut.scoring.baseline_file import write_baseline
    from textgamut.scoring.gate import check_gate, embedded, recordable, run_gate

    layout = Layout(**{field.name: asked[field.name] for field in fields(Layout)})
    given = {name: asked[name] for name in FILES if asked[name] is not None}
    with step("reading the texts"):
        sides, recorded = read_sides(given, layout)
    options, resolved, common = check_gate(sides, guarded, options, recorded, str(asked[BASELINE]))
    with lease(1):
        sides = embedded(sides, resolved)
        if record := asked["record"]:
            kept = recordable(sides, options, asked["no_texts"])
            with writable(record):
                write_baseline(record, kept, common)
            logger.info("written: %s", record)
        if CANDIDATE not in sides:
            return None
        return run_gate(sides, guarded, options, resolved, asked["group"])


def _write(folder: Path, result: GateResult, settings: dict[str, Any], seen: Sequence[Look]) -> None:
    """Write the page, the tables and the summaries."""
    from textgamut.files import provenance, to_csv
    from textgamut.report.experiment_page import render_page

    title = f"{utf8(Path(settings['candidate']))} against {utf8(Path(settings['baseline']))}"
    found = {"command": "textgamut gate", "options": settings, **result.to_dict(), **provenance()}
    write(
        folder,
        {
            "index.html": render_page(result.page(title, seen)).encode(),
            "gate.json": f"{dumps(found, indent=2)}\n".encode(),
            "gate.md": result.to_markdown().encode(),
            "junit.xml": result.to_junit(),
            "checks.csv": to_csv(result.to_frame()),
        },
    )
    logger.info("written: %s", folder)
