"""Everything besides the files that a table or figure of a paper depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from textgamut.config.target_shapes import Target, TargetBase
from textgamut.report.figures.model_styles import ModelStyle

Kind = TypeVar("Kind", bound=TargetBase, covariant=True)


@dataclass(frozen=True, kw_only=True)
class TargetSettings(Generic[Kind]):
    """Settings of a target, with what it shows of the experiment."""

    name: str
    """Number of the table or figure, such as ``table_1a``."""
    paper: str | None
    """The paper with the published values."""
    target: Kind
    published: Mapping[str, Any]
    """The target's entry in ``published/{paper}.yaml``."""
    notes: Sequence[str] = ()
    """What readers must know that does not depend on the results."""
    labels: Mapping[str, str]
    """The paper's names of models, methods and embedders, where they differ from those in the registry."""
    models: Mapping[str, ModelStyle]
    """Slug -> style of the models that are shown, in their order."""
    decodings: Mapping[str, Mapping[str, Any]]
    """Slug -> entry of the decoding settings that are shown."""
    tasks: Mapping[str, Mapping[str, Any]]
    """Slug -> settings of the tasks that are shown, without their cells."""
    embedder: str
    """Label of the experiment's embedder."""
    embedders: Mapping[str, str]
    """Slug -> label of the embedders that are shown."""
    cells: Sequence[Sequence[Any]] = ()
    """Task, model, decoding and seed of the cells that are shown; empty for a ranking."""
    methods: Sequence[Sequence[str]] = ()
    """Model, decoding and name of the methods of a ranking; empty for other targets."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What a table of facts shows of the registries: by model its size and month, or by task the number of
    prompts; empty for other targets."""
    depth_of: int = 0
    """Number of methods whose orders have a depth; 0 if there is no ranking."""

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> TargetSettings[Any]:
        """Return the settings that ``workflow.targets.target_settings`` returns as plain data."""
        typed = {
            "depth_of": record.get("ranking", {}).get("depth_of", 0),
            "target": _TARGET.validate_python(record["target"]),
            "models": {slug: ModelStyle(**style) for slug, style in record["models"].items()},
        }
        others = {"revision", "ranking", "figures"}
        return cls(**{name: value for name, value in record.items() if name not in others} | typed)


_TARGET: TypeAdapter[Target] = TypeAdapter(Target)

Settings = TargetSettings[TargetBase]
"""Settings of any target."""
