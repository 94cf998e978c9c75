"""What a family of metrics declares: its metrics, its settings, what it reads, and what computes it.

Papers: PR is Le Bronnec et al. 2024, NW is New-Wiki Eval, MC is the multicriteria benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, Final, Literal, get_args

from textgamut.calls import call
from textgamut.fields import Strict

# --- what a scorer reads: the names of its parameters ---------------------------------------------------

FEATURES = "features"
"""(N, d) features of the generated texts."""
REFERENCE_FEATURES = "reference_features"
"""(M, d) features of a draw of references. A family that reads them is computed once for each draw."""
TEXTS = "texts"
"""N generated texts."""
CONTINUATIONS = "continuations"
"""N generated texts without their prompts."""
PROMPTS = "prompts"
"""Wording of the prompt of each text; None if there are no prompts."""
PROMPT_IDS = "prompt_ids"
"""Identifier of the prompt of each text."""
REFERENCES: Final = "references"
"""Texts of the first draw of references."""
OWN_REFERENCES = "own_references"
"""The reference of each text's prompt; None if prompts have none."""
PAIRED_FEATURES = "paired_features"
"""Two arrays (N, d): features of the texts, and of the references of their prompts."""
GROUPS = "groups"
"""Group column -> the label of each text; None for a text without one."""
REFERENCE_GROUPS = "reference_groups"
"""Group column -> the label of each reference, likewise."""
UNITS = "units"
"""What is drawn as a whole with each text: its prompt, or another cluster; None for a text of its own."""
K = "k"
"""Number of neighbours, a setting of the task."""
TEXT_SCORES = "text_scores"
"""Metric -> a value for each text, as other families have computed them."""
LANGUAGE = "language"
"""Language of the texts, see :mod:`textgamut.language`."""
TOKENIZER = "tokenizer"
"""A tokenizer, or None for words."""
MODEL = "model"
"""A language model that is loaded, see :class:`textgamut.models.log_likelihood.ScoringModel`."""
TAGGER = "tagger"
"""A pipeline of spaCy."""
GRADER = "grader"
"""A trained essay model."""
JUDGE = "judge"
"""A served model, and the number of concurrent questions."""

PER_TEXT = (FEATURES, TEXTS, CONTINUATIONS, PROMPTS, PROMPT_IDS, GROUPS, UNITS, TEXT_SCORES)
"""What has a value for each generated text."""
IN_SCORE = {
    FEATURES, REFERENCE_FEATURES, TEXTS, CONTINUATIONS, PROMPTS, PROMPT_IDS, REFERENCES, GROUPS,
    REFERENCE_GROUPS, UNITS, K, TEXT_SCORES, LANGUAGE, TOKENIZER, MODEL,
}  # fmt: skip
"""What ``textgamut score`` can provide from two files of texts."""


# --- fields of settings that name entries of registries --------------------------------------------------


@dataclass(frozen=True)
class Names:
    """Marks a field whose value is the name of an entry of a registry."""

    registry: Literal["models", "taggers"]
    judge: bool = False
    """Whether the model is served and judges texts; the others are loaded."""


LoadedModel = Annotated[str, Names("models")]
"""A model that can be loaded, or its tokenizer."""
JudgingModel = Annotated[str, Names("models", judge=True)]
"""A served model that judges texts."""
TaggerName = Annotated[str, Names("taggers")]
"""A tagger."""


class FamilySettings(Strict):
    """Settings of a family: its block in an experiment's ``metrics``."""

    def named(self) -> Iterator[tuple[str, Names, str]]:
        """Yield what the settings name in registries: field, what it names, and the name."""
        for field, info in type(self).model_fields.items():
            forms = [form for form in get_args(info.annotation) if hasattr(form, "__metadata__")]
            marks = [mark for form in forms for mark in form.__metadata__]
            for mark in (*info.metadata, *marks):
                if isinstance(mark, Names) and (name := getattr(self, field)) is not None:
                    yield field, mark, name


# --- metrics and families ---------------------------------------------------------------------------------

FIDELITY: Final = "fidelity"
DIVERSITY: Final = "diversity"
BOTH: Final = "both"
Role = Literal["fidelity", "diversity", "both"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its names, the meaning of its values, and its source."""

    name: str
    """Column in tables and key in files of scores."""
    family: str = ""
    """Name of its family; the index of the catalogue sets it."""
    label: str
    """Name in tables, figures and the documentation."""
    meaning: str
    """Meaning of a value, in a few words."""
    definition: str = ""
    """How it is computed, in one line, if ``meaning`` does not define it."""
    range: tuple[float, float]
    """Smallest and largest possible value; infinite where there is no bound."""
    better: Literal["higher", "lower"] | None
    """Which values are better, or None if neither higher nor lower values are."""
    role: Role | None = None
    """``fidelity``: whether what is written is like human texts; ``diversity``: whether all that people write
    is reached; ``both``: a distance of the two. None if it measures neither."""
    ideal: float | Literal["references"] | None = None
    """Value for texts of the same distribution as the references: a number, or the value of as many
    references. None if it is not known."""
    level: Literal["set", "text", "both"] = "set"
    """``set``: a value for a set of texts. ``text``: a value for each text; the value of a set is the mean.
    ``both``: a metric of sets that is also reported for each text."""
    p_value: bool = False
    """Whether it is the p-value of a test, which has no interval."""
    says: tuple[str, str] | None = None
    """What texts do whose value is lower, and higher, than that of others: "are shorter", "are longer"."""
    languages: tuple[str, ...] = ()
    """Codes of the languages that it is defined for; empty for all."""
    source: str
    """The publication that defines it, and its use in the papers."""
    rescale: tuple[float, float] | None = None
    """Range by which figures rescale its means (NW section 6), or None for the range of these means."""
    fails: tuple[str, ...] = ()
    """Sanity checks that it fails on all corpora, as measured for ``docs/reference/sanity.md``; its tables
    show which metrics were checked."""

    def defined_in(self, language: str) -> bool:
        """Return whether it is defined for texts in a language."""
        return not self.languages or language in self.languages

    @property
    def arrow(self) -> str:
        """An arrow in the direction of better values, or an empty string."""
        return ARROWS[self.better]

    @property
    def heading(self) -> str:
        """Label, with an arrow in the direction of better values."""
        return f"{self.label} {self.arrow}".rstrip()

    @property
    def text_heading(self) -> str:
        """Heading of the mean over single texts, which is not the value of the set if it has both levels."""
        return f"{self.label} of a text {self.arrow}".rstrip() if self.level == "both" else self.heading

    @property
    def mark(self) -> str:
        """A dagger after its name if it fails a sanity check on all corpora."""
        return " †" if self.fails else ""

    @property
    def reads_as(self) -> str:
        """Meaning of a value, and the direction of better values."""
        return f"{self.meaning} {self.arrow}".rstrip()


FAILS_NOTE = "†: fails sanity checks, so that its values can mislead; MAUVE and, for diversity, F_8 fail none"
"""Meaning of the dagger, and what to use instead."""

ARROWS: dict[str | None, str] = {"higher": "↑", "lower": "↓", None: ""}
"""Which values are better -> an arrow."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of metrics that are computed together, by one rule, with one block of settings."""

    name: str
    """Key in an experiment's ``metrics``; the rule is ``score_{name}``."""
    description: str
    """What the family measures, in one line."""
    work: str
    """What a job of the rule does, in its message: "Computing Vendi scores"."""
    settings: type[FamilySettings]
    """Model of its settings."""
    reads: tuple[str, ...]
    """What the scorer reads, of the names above."""
    scorer: str
    """``module:function``. The function takes the settings and what the family reads, by the names of its
    parameters, and returns :class:`textgamut.metrics.rows.Scores`. It is imported when it is called."""
    resampled: str = ""
    """``module:function`` that prepares the metrics of sets for resamples. The function takes what the scorer
    takes, for the pooled texts of two models, and returns one or more
    :class:`textgamut.metrics.statistic.Statistic`. Without it, the scorer is called for each resample."""
    packages: str = ""
    """``module:function`` that raises a ``ConfigError`` if a package of an extra is missing."""
    cites: tuple[str, ...] = ()
    """Keys of its publications in ``report/published/sources.bib``."""
    revisions: tuple[str, ...]
    """Modules whose ``REVISION`` the scores depend on."""
    metrics: tuple[Metric, ...]
    """Its metrics."""
    tasks: tuple[str, ...] = ()
    """Kinds of tasks that it fits; empty for all that have texts."""
    needs: str = ""
    """Why it does not fit the other kinds."""
    of_texts: bool = False
    """Whether it scores single texts; tasks with such a family have tables and figures of single texts."""
    on_gpu: bool = False
    """Whether the scorer computes on a GPU if there is one."""

    @property
    def of_features(self) -> bool:
        """Whether it is computed from the features of generated texts, and not for the references."""
        return FEATURES in self.reads

    @property
    def of_draws(self) -> bool:
        """Whether it compares generated texts with each draw of references, as many of both."""
        return REFERENCE_FEATURES in self.reads

    @property
    def of_wording(self) -> bool:
        """Whether it is computed from texts alone: neither from features nor with prompts or references."""
        return set(self.reads) <= {TEXTS, LANGUAGE, TOKENIZER}

    @property
    def of_prompts(self) -> bool:
        """Whether it compares the completions of one prompt, and is not computed for the references."""
        return PROMPT_IDS in self.reads

    def defined_in(self, language: str) -> bool:
        """Return whether any of its metrics is defined for texts in a language."""
        return any(metric.defined_in(language) for metric in self.metrics)

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that its metrics are defined for; empty for all."""
        if not all(metric.languages for metric in self.metrics):
            return ()
        return tuple(dict.fromkeys(code for metric in self.metrics for code in metric.languages))

    @property
    def tested(self) -> bool:
        """Whether differences of its metrics of sets are tested by resamples: nothing is loaded for them."""
        return (
            any(metric.level == "set" for metric in self.metrics)
            and self.in_score
            and MODEL not in self.reads
        )

    @property
    def in_score(self) -> bool:
        """Whether ``textgamut score`` computes it from two files of texts."""
        return set(self.reads) <= IN_SCORE

    def check_packages(self) -> None:
        """Check that the packages of extras which the scorer needs are installed.

        Raises:
            ConfigError: If one is missing.
        """
        if self.packages:
            _imported(self.packages)()

    def score(self, values: Mapping[str, Any]) -> Any:
        """Call the scorer.

        Args:
            values: Settings and what the family reads, by name; those that are no parameters are left out.
        """
        return call(_imported(self.scorer), values)

    def prepare(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Prepare the metrics of sets for resamples, if the family declares how.

        Args:
            values: As for ``score``, of the pooled texts of two models.
        """
        found = call(_imported(self.resampled), values)
        return found if isinstance(found, tuple) else (found,)


def _imported(name: str) -> Callable[..., Any]:
    """Import ``module:function``."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
