"""What an experiment says: its tasks and their settings, as pydantic models."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from textgamut.config.entries.base import Slug, Strict
from textgamut.config.entries.sources import RATE
from textgamut.config.metrics import Distinct, Metrics, RankingSettings, Seeds, SupportSettings


class Sweep(Strict):
    """Precision and recall as N and k vary (PR Figure B.1), for the texts that there are."""

    n: Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1), Distinct]
    """Values of N, each up to the task's n, at the task's k."""
    k: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1), Distinct]
    """Values of k, at the task's n."""


class CellBlock(Strict):
    """Every model of the block with every decoding setting of the block: one cell each, per seed."""

    models: Annotated[list[str], Field(min_length=1)]
    decodings: Annotated[list[str], Field(min_length=1)]


Cells = Annotated[list[CellBlock], Field(min_length=1)]


class TokensPerWord(Strict):
    """Tokens per word of the texts of a dataset (PR Table B.2)."""

    dataset: str
    models: Annotated[list[str], Field(min_length=1)]
    """Models whose tokenizers are asked."""


class TaskBase(Strict):
    """What all kinds of task share."""

    dataset: str
    n: Annotated[int, Field(ge=2)] | None
    """Number of texts on each side (PR section 4: 4000)."""
    k: Annotated[int, Field(ge=1)] = 4
    """The k of the k-NN balls (PR section 4)."""
    seeds: Seeds
    """Generation seeds: one set of generated texts each."""
    draws: Seeds
    """Reference draws: one set of references each (PR Table B.5, "varying P")."""
    max_words: Annotated[int, Field(ge=1)] | None
    """Texts of both sides are cut to this many words."""
    groups: list[str] = []
    """Group columns of the dataset: support metrics also per group of each (PR section 8)."""
    sweep: Sweep | None = None
    metrics: Metrics | None = None
    """The families of this task, instead of the experiment's; not given: the experiment's."""
    ranking: RankingSettings | None = None
    """Rank the task's methods; not given: they are not ranked."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n is None:
            if self.sweep:
                raise ValueError("sweep: give n, the number of texts, as a number")
            return self
        if self.k >= self.n:
            raise ValueError(
                f"k = {self.k} needs more than {self.k} texts on each side, but n = {self.n}: "
                f"lower k to at most {self.n - 1} or raise n"
            )
        if self.sweep:
            if max(self.sweep.n) > self.n:
                raise ValueError(f"sweep.n: {max(self.sweep.n)} is more than the task's n = {self.n}")
            if min(self.sweep.n) <= self.k or max(self.sweep.k) >= self.n:
                raise ValueError(f"sweep: every k needs more than k texts, also k = {self.k} at each sweep.n")
        return self


class _SizedTask(TaskBase):
    """A task whose texts are drawn, so many and so long."""

    n: Annotated[int, Field(ge=2)]
    """Number of texts on each side (PR section 4: 4000)."""
    max_words: Annotated[int, Field(ge=1)]
    """Texts of both sides are cut to this many words."""
    completions: ClassVar[int] = 1
    """Samples that a model writes for each prompt."""
    kept: ClassVar[int] = 1
    """How many of them are measured."""


class ContinuationTask(_SizedTask):
    """Continue the first words of a human text (PR section 5.1, WebText generation)."""

    kind: Literal["continuation"]
    min_words: Annotated[int, Field(ge=1)] = 11
    """Shorter texts are left out (PR appendix B.4: more than 10 words)."""
    prompt_words: Annotated[int, Field(ge=2)] = 10
    """Words of the human text that the model is given (PR Table B.3)."""
    cells: Cells

    @model_validator(mode="after")
    def _room_to_continue(self) -> ContinuationTask:
        for name in ("min_words", "max_words"):
            if getattr(self, name) <= self.prompt_words:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) leaves nothing after {self.prompt_words} prompt words"
                )
        return self


class SubsetsTask(_SizedTask):
    """Subsets of a labelled dataset play the models (PR section 5.2, AG news, Figure 2)."""

    kind: Literal["subsets"]
    min_words: Annotated[int, Field(ge=1)] = 11
    """Shorter texts are left out."""
    group: str
    """The group column that holds the labels."""
    references: Annotated[list[str], Field(min_length=1)]
    """Labels of the reference distribution, in equal parts."""
    subsets: Annotated[dict[Slug, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
    """Slug of a simulated model -> the labels it writes, in equal parts."""

    @model_validator(mode="after")
    def _labels_share_the_texts(self) -> SubsetsTask:
        for name, labels in {"references": self.references, **self.subsets}.items():
            if len(set(labels)) < len(labels):
                raise ValueError(f"{name}: a label stands twice in {labels}")
            if len(labels) > self.n:
                raise ValueError(f"{name}: {len(labels)} labels cannot share n = {self.n} texts")
        return self


class BiographiesTask(_SizedTask):
    """Write a biography after the example of others (PR section 5.4, Figure 8)."""

    kind: Literal["biographies"]
    examples: Annotated[int, Field(ge=1, le=15)]
    """In-context examples a prompt. Tasks on the same dataset with other numbers show nested examples."""
    cells: Cells


class ReferenceCell(Strict):
    """The cell whose texts are the references: draw d is its generation seed d."""

    model: str
    decoding: str


class CreativeTask(_SizedTask):
    """Write after creative prompts; one model's texts are the references (PR section 5.5, Table 1)."""

    kind: Literal["creative"]
    references: ReferenceCell
    """Whose texts are the references."""
    texts_of: str | None = None
    """Another creative task: its texts are measured, against other references, and none are generated."""
    cells: Cells


class PromptedTask(TaskBase):
    """Continue prompts that a dataset gives; its texts are the references (NW section 5, MC section 3)."""

    kind: Literal["prompted"]
    n: Annotated[int, Field(ge=2)] | None = None
    """Prompts to draw; null: all."""
    draws: Seeds = [0]
    """The references are those of the prompts: every draw is the same."""
    max_words: Annotated[int, Field(ge=1)] | None = None
    """Texts of both sides are cut to this many words; null: they are not cut."""
    completions: Annotated[int, Field(ge=1)] = 1
    """Samples that a model writes for each prompt (NW: 20)."""
    keep: Annotated[int, Field(ge=1)] | None = None
    """How many of them are measured, the longest in words (NW: 10); null: all."""
    cells: Cells

    @model_validator(mode="after")
    def _kept_of_the_written(self) -> PromptedTask:
        if self.keep and self.keep > self.completions:
            raise ValueError(f"keep ({self.keep}) exceeds completions ({self.completions})")
        return self

    @property
    def kept(self) -> int:
        """How many samples of a prompt are measured."""
        return self.keep or self.completions


Task = Annotated[
    ContinuationTask | SubsetsTask | BiographiesTask | CreativeTask | PromptedTask,
    Field(discriminator="kind"),
]


class Experiment(Strict):
    """One experiment: the tasks to run and the embedder to see them through."""

    name: Slug
    """Folder of its tables and figures: ``results/papers/{name}``."""
    embedder: str
    """What precision and recall see the texts through; one, since other features give other numbers."""
    contact: Annotated[str, Field(pattern=r"^[!-~][ -~]{3,}$")] | None = None
    """Your mail address or project page: sent to Wikipedia and Wikidata, whose operators ask for it."""
    requests_per_second: Annotated[float, Field(gt=0, allow_inf_nan=False)] = RATE
    """Most questions a second to each of them."""
    metrics: Metrics = Metrics(support=SupportSettings())
    """The families of metrics to compute, where a task names none; not given: the support metrics."""
    tokens_per_word: TokensPerWord | None = None
    """Count them, for a table beside the tasks'; not given: they are not counted."""
    tasks: Annotated[dict[Slug, Task], Field(min_length=1)]
