"""Settings of the metrics and of the rankings of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, create_model, model_validator

from textgamut.catalogue import FAMILIES, text_metrics_of
from textgamut.catalogue.family import FamilySettings, Names
from textgamut.fields import OwnPath, Strict


class MetricsBase(Strict):
    """The families of metrics to compute; the others are not computed."""

    @model_validator(mode="before")
    @classmethod
    def _null_means_defaults(cls, content: Any) -> Any:
        if isinstance(content, Mapping):  # `support:` without a value
            return {name: {} if settings is None else settings for name, settings in content.items()}
        return content

    @model_validator(mode="after")
    def _any(self) -> MetricsBase:
        if not self.families():
            raise ValueError(f"no family is named; valid: {', '.join(FAMILIES)}")
        return self

    def of(self, family: str) -> Any:
        """Return the settings of a family; None if it is not requested."""
        return getattr(self, family)

    def families(self) -> dict[str, FamilySettings]:
        """Return the requested families: name -> settings."""
        return {name: found for name in FAMILIES if (found := self.of(name)) is not None}

    def per_text(self) -> list[str]:
        """Return the requested metrics that have a value for each text."""
        return [metric for family in self.families() for metric in text_metrics_of(family)]

    def of_texts(self) -> bool:
        """Return whether a requested family measures only single texts, which are then tabulated."""
        return any(FAMILIES[family].of_texts for family in self.families())

    def named(self) -> Iterator[tuple[str, str, Names, str]]:
        """Yield what the settings name in registries: family, field, what it names, and the name."""
        for family, settings in self.families().items():
            for field, what, name in settings.named():
                yield family, field, what, name

    def models(self) -> dict[str, str]:
        """Return the models that the metrics load: setting -> slug."""
        return {
            f"{family}.{field}": name
            for family, field, what, name in self.named()
            if what.registry == "models" and not what.judge
        }

    def judges(self) -> dict[str, str]:
        """Return the served models that judge texts: family -> slug."""
        return {family: name for family, _, what, name in self.named() if what.judge}


if TYPE_CHECKING:
    Metrics = MetricsBase
else:
    Metrics = create_model(
        "Metrics",
        __base__=MetricsBase,
        __doc__=MetricsBase.__doc__,
        **{name: (family.settings | None, None) for name, family in FAMILIES.items()},
    )


Q_TEXT_CRITERIA = ("perplexity", "coherence", "diversity")
"""Criteria of Q*Text, in the order of each triple of its parameters (MC section 5)."""

RANKINGS = {"dominance": "net dominance", "worth": "worth", "q_text": "Q*Text"}
"""Score that methods are ranked by -> its label."""


class RankingSettings(Strict):
    """How to rank the methods of a task; a method is a model with a decoding (MC sections 4 and 5)."""

    higher: list[str] = []
    """Criteria for which higher is better: metrics of single texts."""
    lower: list[str] = []
    """Criteria for which lower is better: metrics of single texts."""
    depth_of: Annotated[int, Field(ge=2, le=6)] = 4
    """Number of methods, those with the highest worth, for the union-free generic depth (MC: 4)."""
    cardinal: list[str] = []
    """Criteria whose differences count for the front of generalised stochastic dominance. By default, only
    the order counts, for all criteria."""
    steps: Annotated[int, Field(ge=1, le=100)] | None = None
    """Number of steps that criteria are rounded to for that front; by default 5 if there is a cardinal
    criterion, and without rounding if there is none."""
    ratings: OwnPath | None = None
    """Your human ratings of single texts, to tune the parameters of Q*Text (MC appendix G): a table with the
    columns task, model, decoding, prompt_id and rating. By default, nothing is tuned."""

    @model_validator(mode="after")
    def _criteria(self) -> RankingSettings:
        named = [*self.higher, *self.lower]
        if not named:
            raise ValueError("no criterion is named: set higher, lower, or both")
        if len(set(named)) < len(named):
            raise ValueError(f"duplicate criteria in {named}")
        if unknown := [name for name in self.cardinal if name not in named]:
            raise ValueError(f"cardinal: {unknown[0]!r} is not among the criteria {', '.join(named)}")
        return self
