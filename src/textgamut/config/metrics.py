"""The families of metrics and their settings, as an experiment names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from textgamut.config.entries.base import Strict
from textgamut.metrics.catalogue import FAMILIES, text_metrics_of


def _distinct(values: list[int]) -> list[int]:
    if len(set(values)) < len(values):
        raise ValueError(f"a value stands twice in {values}")
    return values


Distinct = AfterValidator(_distinct)
Seeds = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1), Distinct]


class SupportSettings(Strict):
    """Precision, recall, density and coverage (PR section 4); k stands in the task."""

    bootstrap: Annotated[int, Field(ge=2)] = 200
    """Half-samples behind the 95 % intervals."""


class DivergenceSettings(Strict):
    """MAUVE, frontier integral, F_1/8 and F_8 over k-means histograms (PR appendix A)."""

    seeds: Seeds = [0, 1, 2, 3, 4]
    """Seeds of k-means: the metrics are means over these."""
    clusters: Annotated[int, Field(ge=2)] | None = None
    """Number of clusters; none given: a tenth of the number of texts."""


class NgramSettings(Strict):
    """Self-BLEU, distinct-n, rep-4 and diversity."""

    tokenizer: str | None = None
    """Model whose tokens are counted (the paper: GPT-2's); none given: words, split on white space."""
    self_bleu_sample: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the texts that Self-BLEU scores, each against all others (the paper: 0.2); none given: all."""


class LikelihoodSettings(Strict):
    """Perplexity, and for continuations coherence, under one scoring model."""

    scorer: str
    """Model that scores, of any task or none."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """Only in float32 are the numbers the same for every batch size."""
    perplexity_of: Literal["scorer", "generator"] = "scorer"
    """Whose surprise the perplexity is: the scorer's, or that of the model that wrote the text (MC)."""


class ReadabilitySettings(Strict):
    """Flesch reading ease and Gunning fog (NW section 4.2)."""


class EntitiesSettings(Strict):
    """Information density and, where a prompt has a reference, entity overlap (NW section 4.2)."""

    tagger: str = "en-core-web-sm"
    """Entry of taggers.yaml that finds the named entities."""


class SimilaritySettings(Strict):
    """S-BERT and BLEU with the reference of the same prompt (NW section 4.2).

    S-BERT is the cosine of the features that the experiment's embedder gives.
    """


class EssaySettings(Strict):
    """The score of an LSTM that was trained on graded essays (NW section 4.2)."""

    essays: str
    """Your copy of the ASAP corpus, ``training_set_rel3.tsv``. Without the file there is no essay score."""


class JudgeSettings(Strict):
    """A served model's verdict: coherence, insightfulness, plausibility, diversity (PR appendix B.2)."""

    model: str
    """Model that judges, of models.yaml; its engine is openai."""


class Metrics(Strict):
    """The families of metrics to compute; a family that is not named is not computed."""

    support: SupportSettings | None = None
    divergence: DivergenceSettings | None = None
    ngram: NgramSettings | None = None
    likelihood: LikelihoodSettings | None = None
    readability: ReadabilitySettings | None = None
    entities: EntitiesSettings | None = None
    similarity: SimilaritySettings | None = None
    essay: EssaySettings | None = None
    judge: JudgeSettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_is_asked_for(cls, content: Any) -> Any:
        if isinstance(content, Mapping):  # `support:` alone: with the defaults
            return {name: {} if settings is None else settings for name, settings in content.items()}
        return content

    @model_validator(mode="after")
    def _any(self) -> Metrics:
        if not self.families():
            raise ValueError(f"no family is named; there are {', '.join(type(self).model_fields)}")
        return self

    def families(self) -> dict[str, Strict]:
        """Return the settings of the families that are asked for, by the family's name."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: family for name, family in named.items() if family is not None}

    def per_text(self) -> list[str]:
        """Return the metrics that every single text gets."""
        return [metric for family in self.families() for metric in text_metrics_of(family)]

    def of_texts(self) -> bool:
        """Say whether a family is asked for that is about single texts alone: then these are tabulated."""
        return any(FAMILIES[family].of_texts for family in self.families())

    def models(self) -> dict[str, str]:
        """Return the models that the metrics load: key of the setting -> slug."""
        named = {}
        if self.ngram and self.ngram.tokenizer:
            named["ngram.tokenizer"] = self.ngram.tokenizer
        if self.likelihood:
            named["likelihood.scorer"] = self.likelihood.scorer
        return named


class RankingSettings(Strict):
    """How to rank the methods of a task, a model with a decoding setting each (MC sections 4 and 5)."""

    higher: list[str] = []
    """Criteria of which more is better: metrics of single texts."""
    lower: list[str] = []
    """Criteria of which less is better."""
    depth_of: Annotated[int, Field(ge=2, le=6)] = 4
    """The union-free generic depth compares so many methods, the best by their worth (the paper: 4)."""

    @model_validator(mode="after")
    def _criteria(self) -> RankingSettings:
        named = [*self.higher, *self.lower]
        if not named:
            raise ValueError("no criterion is named: give higher, lower, or both")
        if len(set(named)) < len(named):
            raise ValueError(f"a criterion stands twice in {named}")
        return self
