"""An experiment as a pydantic model."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textgamut.config.entries.sources import RATE
from textgamut.config.figures import Figures
from textgamut.config.gates import Gate
from textgamut.config.metrics import Metrics
from textgamut.config.target_shapes import Target, TargetName
from textgamut.config.task_kinds import Task
from textgamut.fields import SLUG_PATTERN, Distinct, Quantity, Slug, Strict, Text

Labelled = Annotated[str, Field(pattern=rf"^{SLUG_PATTERN}(/{SLUG_PATTERN})?$", max_length=201)]
"""What has a label: a slug, or a model with a decoding, separated by a slash."""


Projection = Literal["pca", "tsne", "umap"]
"""How the map of texts projects features to two dimensions."""


class Experiment(Strict):
    """One experiment: tasks, metrics and an embedder."""

    name: Slug
    """Name of the folder of tables and figures: ``results/papers/{name}``."""
    embedder: str = "gpt2-large"
    """Embedder for the metrics on features; one for all tasks, since the numbers depend on it. Defaults to
    that of PR."""
    embedders: Annotated[list[str], Field(min_length=2), Distinct] | None = None
    """In place of ``embedder``: several, under each of which the differences are tested, to see which
    verdicts depend on it. The first is that of all other tables and figures."""
    contact: Annotated[str, Field(pattern=r"^[!-~][ -~]{3,}$")] | None = None
    """Your mail address or project page, which Wikipedia and Wikidata require with each request."""
    requests_per_second: Quantity = RATE
    """Maximum number of requests per second to each web service."""
    metrics: Metrics = Metrics.model_validate({"support": {}})
    """The families of metrics of tasks that do not set their own. Defaults to the support metrics."""
    tasks: Annotated[dict[Slug, Task], Field(min_length=1)]
    """Slug -> task. The slug names the folders ``data/{task}`` and ``results/{task}``, which all experiments
    share."""
    projection: Projection = "pca"
    """How the map of the text explorer projects the features to two dimensions; ``umap`` needs the extra
    ``umap``."""
    paper: Literal["pr", "nw", "mc"] | None = None
    """The paper with the published values that the targets are compared with. By default, there are none."""
    labels: dict[Labelled, Text] = {}
    """Names of models, subsets, embedders and decoding settings in tables and figures, where they differ from
    those of the registry. The key ``model/decoding`` names a model with one of its decodings."""
    figures: Figures = Figures()
    """How figures look."""
    targets: dict[TargetName, Target] = {}
    """Tables and figures of the paper, by their numbers. If there are any, only they are made by default."""
    gates: dict[Slug, Gate] = {}
    """Slug -> test of whether the texts of a model are worse than those of a baseline. ``snakemake gate``
    fails if one fails."""

    @model_validator(mode="before")
    @classmethod
    def _first_embedder(cls, given: Any) -> Any:
        several = given.get("embedders") if isinstance(given, dict) else None
        if several is None:
            return given
        if not isinstance(several, list) or not several:
            return given  # the field says what is wrong
        if given.get("embedder", several[0]) != several[0]:
            raise ValueError(f"embedder: expected the first of embedders, {several[0]!r}, or no such key")
        return given | {"embedder": several[0]}
