"""The kinds of tasks: their settings, and the facts that the workflow asks of a kind."""

from __future__ import annotations

from itertools import product
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from textgamut.config.entries.decoding import SamplingDecoding, Share
from textgamut.config.entries.sources import FilesSource
from textgamut.config.metrics import Metrics, RankingSettings
from textgamut.errors import nearest
from textgamut.fields import Count, Distinct, Quantity, Seeds, Slug, Strict, Text, TwoOrMore
from textgamut.text import counted

HUMAN = "human"
"""Decoding slug of human texts: subsets of a dataset, and references, for which it is also the model slug."""
HELD_OUT = "held-out"
"""Decoding of the cell of human texts that are held out of the references, whose model is ``human``."""
MOST_TOP_P = 8
"""Maximum number of values of top-p that blocks of a task make: so many colours has the figure."""
WITH_SPARE_TEXTS = ("continuation", "unprompted", "biographies", "prompted")
"""Kinds of tasks whose dataset can have texts that are neither prompts nor references."""


class Sweep(Strict):
    """Precision and recall for several N and k (PR Figure B.1), computed from the texts of the task.

    The features of the first N texts of each set have their own PCA.
    """

    n: Annotated[list[TwoOrMore], Field(min_length=1), Distinct]
    """Values of N, at most the task's n, at the task's k."""
    k: Annotated[list[Count], Field(min_length=1), Distinct]
    """Values of k, all at the same N."""
    k_at: TwoOrMore | None = None
    """The N at which k varies, at most the task's n (PR Figure B.1b: 4000). Defaults to the task's n."""


class Variant(NamedTuple):
    """A decoding setting that a block of cells makes from one of ``decoding.yaml``."""

    base: str
    """The entry that all other settings are from."""
    temperature: float
    top_p: float

    @property
    def slug(self) -> str:
        """Its name, with both numbers, so that it stays the same when others are added."""
        return f"{self.base}-t{self.temperature}-p{self.top_p}"

    def of(self, base: SamplingDecoding) -> SamplingDecoding:
        """Return the setting."""
        return base.model_copy(update={"temperature": self.temperature, "top_p": self.top_p})


class CellBlock(Strict):
    """All pairs of a model and a decoding of the block; each is one cell per seed."""

    models: Annotated[list[str], Field(min_length=1)]
    """Entries of ``models.yaml``."""
    decodings: Annotated[list[str], Field(min_length=1)]
    """Entries of ``decoding.yaml``."""
    temperatures: Annotated[list[Quantity], Field(min_length=2), Distinct] | None = None
    """In place of each decoding, which must be sampling, the same with each of these temperatures, two or
    more, and each ``top_p``, named like ``nucleus-0.95-t0.7-p0.9``. A figure shows precision and recall
    against them if support metrics are measured."""
    top_p: Annotated[list[Share], Field(min_length=1), Distinct] | None = None
    """The values of top-p, each a line of the figure; a task has at most eight."""

    @model_validator(mode="after")
    def _both_vary(self) -> Self:
        if (self.temperatures is None) != (self.top_p is None):
            missing = "top_p" if self.top_p is None else "temperatures"
            raise ValueError(f"temperatures and top_p belong together: set {missing}, too")
        return self

    def variants(self) -> list[Variant]:
        """Return the decoding settings that the block makes; none without ``temperatures``."""
        return [Variant(*of) for of in product(self.decodings, self.temperatures or [], self.top_p or [])]

    def settings(self) -> list[str]:
        """Return the decoding settings of the cells."""
        return [variant.slug for variant in self.variants()] or self.decodings

    def pairs(self) -> list[tuple[str, str]]:
        """Return the pairs of a model and a decoding."""
        return list(product(self.models, self.settings()))


class SizedBlock(CellBlock):
    """A block that may have other numbers of texts than its task (NW section 8)."""

    n: TwoOrMore | None = None
    """Number of prompts; blocks with more prompts include them. Defaults to the task's."""
    completions: Count | None = None
    """Number of samples per prompt. Defaults to the task's."""
    keep: Count | None = None
    """Number of samples per prompt that are measured, the longest in words. Defaults to the task's."""


class Size(NamedTuple):
    """Numbers of texts of a cell."""

    n: int | None
    """Number of prompts; None for all in the dataset."""
    completions: int
    """Number of samples per prompt."""
    keep: int | None
    """Number of samples per prompt that are measured, the longest in words; None for all."""

    @property
    def kept(self) -> int:
        """Number of samples per prompt that are measured."""
        return self.keep or self.completions


Cells = Annotated[list[CellBlock], Field(min_length=1)]


class TaskBase(Strict):
    """Facts of a kind of task. Those of the base hold for every kind that does not state its own."""

    formats: ClassVar[tuple[str, ...]] = ()
    """Formats of the datasets that it accepts; empty for all."""
    measured: ClassVar[bool] = True
    """Whether texts are measured, rather than their scores read from a file."""
    generated: ClassVar[bool] = True
    """Whether models write the texts; then there is a file of prompts, one for each text."""
    prompted: ClassVar[bool] = True
    """Whether all methods write after the same prompts, so that their texts can be compared in pairs."""
    paired: ClassVar[bool] = False
    """Whether each prompt has a reference of its own, the human continuation."""
    measures_all: ClassVar[bool] = False
    """Whether all that a model writes is measured, unless ``max_words`` or ``max_characters`` is set."""

    def texts_needed(self, n: int) -> int:
        """Return how many texts of the dataset ``n`` generated texts and as many references need."""
        return n

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured.

        Args:
            texts: Number of texts, in words or digits.
            models: Number of models, as in "2 models".
        """
        raise NotImplementedError


class MeasuredTask(TaskBase):
    """Settings of all kinds whose texts are measured."""

    dataset: str
    """Entry of ``datasets.yaml`` with the human texts or the prompts."""
    n: TwoOrMore | None
    """Number of generated texts and of references (PR section 4: 4000)."""
    k: Count = 4
    """The k of the k-NN balls (PR section 4)."""
    seeds: Seeds
    """Generation seeds; each produces one set of generated texts."""
    draws: Seeds
    """Reference draws; each produces one set of references (PR Table B.5, "varying P")."""
    max_words: Count | None
    """Generated texts and references are cut to this many words."""
    groups: Annotated[list[str], Distinct] = []
    """Group columns of the dataset; support metrics are also computed per group (PR section 8)."""
    sweep: Sweep | None = None
    metrics: Metrics | None = None
    """The families of metrics of this task. Defaults to the experiment's."""
    ranking: RankingSettings | None = None
    """How to rank the task's methods. By default, they are not ranked."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n is None:
            if self.sweep:
                raise ValueError("sweep: needs n, the number of texts, as a number")
            return self
        if self.k >= self.n:
            raise ValueError(
                f"k = {self.k} needs more than {self.k} texts on each side, but n = {self.n}: "
                f"lower k to at most {self.n - 1} or raise n"
            )
        if self.sweep:
            k_at = self.sweep.k_at or self.n
            for name, largest in (("n", max(self.sweep.n)), ("k_at", k_at)):
                if largest > self.n:
                    raise ValueError(f"sweep.{name}: {largest} is more than the task's n = {self.n}")
            if min(self.sweep.n) <= self.k or max(self.sweep.k) >= k_at:
                raise ValueError(f"sweep: every k needs more than k texts, also k = {self.k} at each sweep.n")
        return self


class _SizedTask(MeasuredTask):
    """A task with a fixed number of texts and a maximum length."""

    n: TwoOrMore
    """Number of generated texts and of references (PR section 4: 4000)."""
    max_words: Count
    """Generated texts and references are cut to this many words."""
    completions: ClassVar[int] = 1
    """Number of samples per prompt."""
    keep: ClassVar[int | None] = None
    """Number of samples per prompt that are measured; None for all."""


class _SeededTask(_SizedTask):
    """A task whose prompts are drawn, one for each text."""

    prompts: Literal["shared", "per-seed"] = "shared"
    """Whether all generation seeds share their prompts, or each has its own, as in PR's runs, where
    "varying Q" (Table B.5) varies the prompts, too."""


class _CutAtWords(_SeededTask):
    """A task whose texts are cut to a number of words, as PR's runs counted them or by any white space."""

    words_end: Literal["at-white-space", "at-spaces"] = "at-white-space"
    """Where words end in languages with spaces: at any white space, which is a single space in prompts, or at
    each single space, as in PR's runs, where line breaks stay in prompts and do not separate words."""


class ContinuationTask(_CutAtWords):
    """Continue the first words of a human text (PR section 5.1, WebText generation)."""

    measures_all: ClassVar[bool] = True

    kind: Literal["continuation"]
    min_words: Count = 11
    """Shorter texts are excluded (PR appendix B.4: more than 10 words)."""
    prompt_words: TwoOrMore = 10
    """Number of words of the human text in the prompt (PR Table B.3)."""
    references_from: Literal["other-texts", "all-texts"] = "other-texts"
    """Whether references come from other texts than the prompts. In PR's runs they came from all 15,000
    texts, so that 27 % of the 4,000 prompts had their own text among the 4,000 references."""
    max_characters: Count | None = None
    """Generated texts, but not the references, are also cut to this many characters (PR's runs: 370, beside
    references of 370 words). By default, only ``max_words`` counts."""
    cells: Cells
    """Models and decoding settings that generate the texts."""

    @model_validator(mode="after")
    def _room_to_continue(self) -> ContinuationTask:
        for name in ("min_words", "max_words"):
            if getattr(self, name) <= self.prompt_words:
                raise ValueError(
                    f"{name} ({getattr(self, name)}) leaves nothing after {self.prompt_words} prompt words"
                )
        return self

    def texts_needed(self, n: int) -> int:
        """Return the number of prompts and, if they come from other texts, of references."""
        return 2 * n if self.references_from == "other-texts" else n

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return (
            f"Continuations of the first {self.prompt_words} words of {texts} texts of {self.dataset} by "
            f"{models}, compared with as many human texts, all cut to {self.max_words} words."
        )


class UnpromptedTask(_SizedTask):
    """Write without a prompt; a dataset provides the references, and no text belongs to another."""

    prompted: ClassVar[bool] = False

    kind: Literal["unprompted"]
    min_words: Count = 1
    """Shorter texts of the dataset are excluded."""
    max_words: Count | None = None  # type: ignore[assignment]
    """Generated texts and references are cut to this many words; null for no limit."""
    groups: Annotated[list[str], Field(max_length=0)] = []
    """Not used: generated texts have no group."""
    cells: Cells
    """Models and decoding settings that generate the texts."""

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return f"{texts} texts without a prompt by {models}, compared with human texts of {self.dataset}."


class SubsetsTask(_SizedTask):
    """Subsets of a labelled dataset simulate models (PR section 5.2, AG news, Figure 2)."""

    generated: ClassVar[bool] = False
    prompted: ClassVar[bool] = False
    cells: ClassVar[list[CellBlock]] = []

    kind: Literal["subsets"]
    min_words: Count = 11
    """Shorter texts are excluded."""
    group: str
    """The group column that holds the labels."""
    references: Annotated[list[str], Field(min_length=1)]
    """Labels of the references, in equal parts."""
    subsets: Annotated[dict[Slug, Annotated[list[str], Field(min_length=1)]], Field(min_length=1)]
    """Slug of a simulated model -> labels of its texts, in equal parts."""

    @model_validator(mode="after")
    def _labels_share_the_texts(self) -> SubsetsTask:
        for name, labels in {"references": self.references, **self.subsets}.items():
            if len(set(labels)) < len(labels):
                raise ValueError(f"{name}: duplicate labels in {labels}")
            if len(labels) > self.n:
                raise ValueError(f"{name}: {len(labels)} labels cannot share n = {self.n} texts")
        return self

    def texts_needed(self, n: int) -> int:
        """Return the number of texts: subsets and their references are drawn from two halves."""
        return 2 * n

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return (
            f"Human texts of {self.dataset} on some values of {self.group} simulate models: {texts} texts of "
            f"each of {len(self.subsets)} subsets, against as many texts on {', '.join(self.references)}."
        )


class BiographiesTask(_SeededTask):
    """Write a biography, given others as in-context examples (PR section 5.4, Figure 8)."""

    formats: ClassVar[tuple[str, ...]] = ("biographies",)

    kind: Literal["biographies"]
    examples: Annotated[int, Field(ge=1, le=15)]
    """In-context examples per prompt, part of the examples of tasks with more of them on the same dataset."""
    examples_drawn: Literal["without-replacement", "with-replacement"] = "without-replacement"
    """How examples are drawn: without replacement from the people outside the references or, as in PR's runs,
    with replacement from all people (1.6 % of the prompts with 15 of 6,637 people have somebody twice)."""
    max_words: Count | None  # type: ignore[assignment]
    """Generated texts and references are cut to this many words; null for no limit, as in PR's runs."""
    truncate_prompts: Count | None = None
    """Longer prompts lose their end: number of tokens that are kept, at most the context of the model. New
    tokens may then exceed the context, as in PR's runs with 4096. By default, a prompt that does not fit into
    the context together with the longest answer is an error."""
    cells: Cells
    """Models and decoding settings that generate the texts."""

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        examples = counted(self.examples, "example")
        return (
            f"{texts} biographies by {models}, given {examples}, compared with as many biographies of "
            f"{self.dataset}."
        )


class ReferenceCell(Strict):
    """The cell that provides the references: draw d is its generation seed d."""

    model: str
    """Entry of ``models.yaml``."""
    decoding: str
    """Entry of ``decoding.yaml``."""


class CreativeTask(_CutAtWords):
    """Continue creative prompts; one model's texts are the references (PR section 5.5, Table 1)."""

    formats: ClassVar[tuple[str, ...]] = ("creative",)

    kind: Literal["creative"]
    references: ReferenceCell
    """The cell that provides the references."""
    texts_of: str | None = None
    """Another creative task; its texts are measured against other references, and none are generated."""
    cells: Cells
    """Models and decoding settings that generate the texts."""

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return (
            f"Continuations of {texts} prompts of {self.dataset} by {models}, compared with the texts of "
            f"{self.references.model}."
        )


class PromptedTask(MeasuredTask):
    """Continue the prompts of a dataset, which also provides the references (NW section 5, MC section 3)."""

    formats: ClassVar[tuple[str, ...]] = ("continuations", "new-wiki")
    paired: ClassVar[bool] = True
    measures_all: ClassVar[bool] = True

    kind: Literal["prompted"]
    n: TwoOrMore | None = None
    """Number of prompts to draw; null for all."""
    draws: Seeds = [0]
    """The references belong to the prompts, so all draws are equal."""
    max_words: Count | None = None
    """Generated texts and references are cut to this many words; null for no limit."""
    completions: Count = 1
    """Number of samples per prompt (NW: 20)."""
    keep: Count | None = None
    """Number of samples per prompt that are measured, the longest in words (NW: 10); null for all."""
    cells: Annotated[list[SizedBlock], Field(min_length=1)]
    """Blocks of cells, with numbers of texts of their own where they set them (NW: 100 prompts of 2,000)."""

    @model_validator(mode="after")
    def _sizes_fit(self) -> PromptedTask:
        if self.keep and self.keep > self.completions:
            raise ValueError(f"keep ({self.keep}) exceeds completions ({self.completions})")
        first: dict[tuple[str, str], int] = {}
        for i, block in enumerate(self.cells):
            size = self.size_of(block)
            if size.kept > size.completions:
                raise ValueError(f"cells[{i}]: keep ({size.keep}) exceeds completions ({size.completions})")
            if self.n and size.n and size.n > self.n:
                raise ValueError(f"cells[{i}]: n ({size.n}) exceeds the task's n ({self.n})")
            for pair in block.pairs():
                other = self.size_of(self.cells[first.setdefault(pair, i)])
                if size != other:
                    raise ValueError(
                        f"cells[{first[pair]}] and cells[{i}]: {', '.join(pair)} is in both, with different "
                        f"sizes: {_described(other)}, and {_described(size)}"
                    )
        return self

    def size_of(self, block: SizedBlock) -> Size:
        """Return the numbers of texts of each cell of a block."""
        return Size(block.n or self.n, block.completions or self.completions, block.keep or self.keep)

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return (
            f"Continuations of {texts} prompts of {self.dataset} by {models}; human continuations are known."
        )


def _described(size: Size) -> str:
    prompts = "all" if size.n is None else size.n
    return f"{prompts} prompts with {size.completions} completions of which {size.kept} are kept"


REQUIRED_COLUMNS = ("prompt_id", "model")
"""Columns that a table of scores must have, besides the criteria."""

LABEL_COLUMNS = ("strategy", "hyperparameters")
"""Columns that it can have, with labels of methods."""

OPTIONAL_COLUMNS = ("decoding", *LABEL_COLUMNS, "seed", "completion")
"""Columns that it can have."""

COLUMNS = (*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS, "corpus")
"""All of them."""


class ScoresTask(TaskBase):
    """Rank methods by scores of single texts that were computed elsewhere.

    Nothing is generated or measured. The file is CSV, TSV or JSONL, each also as ``.gz``, or parquet. Its
    rows have the columns ``prompt_id``, ``model`` and the criteria of the ranking and, where they apply,
    ``decoding``, ``strategy`` and ``hyperparameters`` of the method, and ``seed`` and ``completion``, which
    distinguish several texts of a method for a prompt; their scores are averaged.
    """

    measured: ClassVar[bool] = False
    generated: ClassVar[bool] = False
    # What the other kinds set:
    dataset: ClassVar[str] = ""
    seeds: ClassVar[list[int]] = [0]
    draws: ClassVar[list[int]] = [0]
    k: ClassVar[int] = 1
    groups: ClassVar[list[str]] = []
    metrics: ClassVar[None] = None
    sweep: ClassVar[None] = None
    completions: ClassVar[int] = 1
    keep: ClassVar[int | None] = None

    kind: Literal["scores"]
    source: Annotated[FilesSource, Field(discriminator="kind")]
    """The file."""
    columns: dict[Text, Text] = {}
    """Names of columns, where they differ."""
    corpus: Text | None = None
    """Value in the column ``corpus`` of the rows to read. Defaults to all rows."""
    n: TwoOrMore | None = None
    """Number of prompts that there must be. Defaults to any number."""
    ranking: RankingSettings
    """How to rank the methods."""
    cells: list[CellBlock] = []
    """Methods to rank, for targets; rows of others are left out. The columns ``model`` and ``decoding`` have
    the names of MC's tables, a model that of ``labels``. Defaults to all methods, under their own names."""

    @model_validator(mode="after")
    def _known_columns(self) -> ScoresTask:
        known = [*COLUMNS, *self.ranking.higher, *self.ranking.lower]
        for name in self.columns:
            if name not in known:
                raise ValueError(f"columns: {name!r} is not a criterion; {nearest(name, known)}")
        for name in (*self.ranking.higher, *self.ranking.lower):
            if name in (*COLUMNS, "prompt", "method"):  # the latter are columns of a ranking
                raise ValueError(f"ranking: {name!r} cannot be a criterion: it is the name of another column")
        for i, block in enumerate(self.cells):
            if block.temperatures:
                raise ValueError(f"cells[{i}].temperatures: a task of kind scores generates no texts")
        return self

    def sentence(self, texts: str, models: str) -> str:
        """Say what is measured."""
        return "The scores of single texts are read from a file."


Task = Annotated[
    ContinuationTask
    | UnpromptedTask
    | SubsetsTask
    | BiographiesTask
    | CreativeTask
    | PromptedTask
    | ScoresTask,
    Field(discriminator="kind"),
]
