"""Test whether the texts of a candidate are worse than those of a baseline."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from textgamut.config.entries.embedders import Embedder
from textgamut.errors import DataError
from textgamut.features.embed import Features
from textgamut.files import meta_path, read_array, read_json, read_table, write_bytes, write_json
from textgamut.language import language_in
from textgamut.metrics.rows import groups_of, groups_of_prompts
from textgamut.progress import recorded_warnings
from textgamut.run.script import run
from textgamut.scoring.gate import check_gate_options, check_settings, run_gate
from textgamut.scoring.gate_sides import BASELINE, CANDIDATE, REFERENCE, Side
from textgamut.scoring.options import Options
from textgamut.scoring.resolve import Resolved

Values = dict[str, Any]


def test_gate(
    settings: Values,
    inputs: dict[str, Any],
    verdict: Path,
    summary: Path,
    report: Path,
    page: Path,
) -> None:
    sides = read_sides(settings, inputs)
    guarded = check_settings(settings["margins"], settings["alpha"], settings["fail_on"], looks=1)
    guarded = replace(guarded, asked=settings["asked"])  # the margins also have the defaults
    named = {name: settings[name] for name in ("kmeans_seeds", "refusals") if name in settings}
    language = language_in(read_table(inputs["references"][0], ["id"]))
    options = Options(k=settings["k"], embedder=settings["embedder"], language=language, **named)
    embedder = Embedder.model_validate(settings["embedding"]["embedder"] | {"label": settings["embedder"]})
    with recorded_warnings() as messages:
        checked = check_gate_options(options, guarded, sides.values())
        found = run_gate(sides, guarded, checked, Resolved(embedder), settings["group"])
    result = replace(found, warnings=messages)
    names = {side: ", ".join(settings[side]) for side in (BASELINE, CANDIDATE)}
    names[BASELINE] += ", of an earlier run" if settings["earlier"] else ""
    known = {name: settings[name] for name in ("gate", "task")} | names
    said = {"headline": result.headline, "reasons": result.reasons}
    write_json(verdict, known | said | result.to_dict())
    write_bytes(summary, result.to_markdown().encode())
    write_bytes(report, result.to_junit())
    title = f"Gate {settings['gate']}: {names['candidate']} against {names['baseline']} on {settings['task']}"
    result.to_html(page, title)


def read_sides(settings: Values, inputs: dict[str, Any]) -> dict[str, Side]:
    """Read ``baseline``, ``candidate`` and ``reference``.

    The texts of all seeds are one set, in which those of a prompt belong together; so are the references of
    all draws, each text once.
    """
    earlier = inputs["baseline_features"] if settings["earlier"] else []
    for path in earlier:
        check_embedding(path, settings["embedding"])
    dataset = read_table(inputs["dataset"][0], ["id", settings["group"]]) if inputs["dataset"] else None
    columns = ["id", "prompt_id", "text", "finish"]
    own = {
        side: read_sets(inputs[side], inputs[f"{side}_features"], columns) for side in (BASELINE, CANDIDATE)
    }
    ended = settings["generated"] and all(texts["finish"].notna().all() for texts, _ in own.values())
    grouped = [] if dataset is None else [settings["group"]]
    sides = {
        name: Side(
            list(texts["text"]),
            prompts=list(texts["prompt_id"]) if settings["prompted"] else None,
            finishes=list(texts["finish"]) if ended else None,
            groups={} if dataset is None else groups_of_prompts(dataset, texts["prompt_id"], grouped),
            features=as_features(vectors),
        )
        for name, (texts, vectors) in own.items()
    }
    drawn, vectors = read_sets(inputs["references"], inputs["reference_features"], ["id", "text", *grouped])
    first = ~drawn.duplicated(["id", "text"]).to_numpy()
    drawn, vectors = drawn[first], vectors[first]
    human = Side(list(drawn["text"]), groups=groups_of(drawn, grouped), features=as_features(vectors))
    return sides | {REFERENCE: human}


def read_sets(
    tables: list[Path], features: list[Path], columns: list[str]
) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Read the texts of several cells or draws, and their features."""
    frames, arrays = [read_table(path, columns) for path in tables], [read_array(path) for path in features]
    for path, frame, array in zip(features, frames, arrays, strict=True):
        if len(frame) != len(array):
            raise DataError(f"{path}: {len(array)} vectors for {len(frame)} texts")
    return pd.concat(frames, ignore_index=True), np.concatenate(arrays)


def as_features(vectors: np.ndarray[Any, Any]) -> Features:
    """Return vectors as the features of texts, of which the run has already warned where it had to."""
    return Features(vectors, truncated=0, empty=0, unread=0.0)


def check_embedding(features: Path, embedding: Values) -> None:
    """Check that the features of an earlier run are of the same embedder, if their record exists."""
    record = meta_path(features)
    if record.exists() and read_json(record)["job"]["settings"] != embedding:
        raise DataError(
            f"{features}: of another embedder, or of another version of its features: embed the texts of the "
            "earlier run again, with the embedder of this experiment"
        )


if __name__ == "__main__":
    run(test_gate)
