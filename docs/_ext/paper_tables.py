"""The tables and figures of the papers that can be made, from the experiments in config/papers."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from configuration import anchor
from markdown_text import escaped, table

from textgamut.config.cells import Config
from textgamut.config.loading import load_config
from textgamut.config.yaml import read_yaml
from textgamut.report.papers.shapes import make_target
from textgamut.report.papers.target_page import printed_name
from textgamut.report.papers.target_settings import TargetSettings
from textgamut.report.published import left_out
from textgamut.views.papers import TargetState, paper_state
from textgamut.views.sums import decimal
from textgamut.workflow.target_files import read_files, target_files
from textgamut.workflow.targets import TUNED, target_settings

CONFIG = Path(__file__).parents[2] / "config"

COLUMNS = ("", "shows, *shape*", "cells", "GPU hours", "needs", "published")


def targets() -> dict[str, str]:
    """Return a table of the targets of each experiment, with the cost of all together, by its name."""
    return {path.stem: _targets(path) for path in sorted((CONFIG / "papers").glob("*.yaml"))}


def _targets(path: Path) -> str:
    config = load_config(path, CONFIG)
    scaled_down = CONFIG / "test/papers" / path.name
    tested = read_yaml(scaled_down)["targets"] if scaled_down.exists() else {}
    with tempfile.TemporaryDirectory() as empty:  # where nothing is done yet
        state = paper_state(config, Path(empty))
    rows = [
        (
            f"{printed_name(target.name)}<br>`{target.name}`",
            f"{escaped(target.title)}<br>*{_shape(config, target.name)}*",
            f"{target.cells:,}" if target.cells else "—",
            decimal(target.cost.gpu_hours) if target.cells else "—",
            ", ".join(_needs(config, target)) or "—",
            str(_published(config, target.name) or "—"),
        )
        for target in state.targets
    ]
    if (paper := config.experiment.paper) == path.stem:
        reasons = left_out(paper).items()
        rows += [(printed_name(name), f"*not made*: {reason}", *[""] * 4) for name, reason in reasons]
    notes = [
        f"All together, with cells that they share counted once: {state.cost.sentence}.",
        f"`make test-papers` makes {_all_or_some(tested, [*config.experiment.targets])} with small models.",
    ]
    costs = any(target.cells for target in state.targets)
    return "\n\n".join([table(COLUMNS, rows), *(notes if costs else [])]) + "\n"


def _all_or_some(tested: Collection[str], targets: Sequence[str]) -> str:
    found = [name for name in targets if name in tested]
    return "all of them" if len(found) == len(targets) else ", ".join(found) or "none of them"


def _shape(config: Config, name: str) -> str:
    target = config.experiment.targets[name]
    return f"[{target.shape}](#{anchor(type(target).__name__)})"


def _needs(config: Config, target: TargetState) -> Iterator[str]:
    """Yield what a target needs."""
    literal = {**target.keys, **target.files}
    yield from (f"`{name}`" if name in literal else name for name in target.requirements)
    if not TUNED.isdisjoint(config.experiment.targets[target.name].reads):
        yield "human ratings"


def _published(config: Config, name: str) -> int:
    """Return the number of published values, those in the table of a target that has no scores yet."""
    nothing: dict[str, list[str]] = {kind: [] for kind in target_files(config, name)}
    settings = TargetSettings.of(target_settings(config, name))
    return make_target(settings, read_files(nothing)).table.values
