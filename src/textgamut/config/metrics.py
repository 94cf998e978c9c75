"""Settings of the families of metrics and of rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from textgamut.config.entries.base import Natural, OwnPath, Strict, TwoOrMore
from textgamut.metrics.catalogue import (
    FAMILIES,
    LARGEST_KMEANS_SEED,
    MOST_HALF_SAMPLES,
    MOST_PERMUTATIONS,
    SAME_COMPLETION,
    text_metrics_of,
)


def _distinct(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise ValueError(f"duplicate values in {values}")
    return values


Distinct = AfterValidator(_distinct)
Seeds = Annotated[list[Natural], Field(min_length=1), Distinct]
KMeansSeeds = Annotated[
    list[Annotated[int, Field(ge=0, le=LARGEST_KMEANS_SEED)]], Field(min_length=1), Distinct
]


class SupportSettings(Strict):
    """Precision, recall, density and coverage (PR section 4); k is a setting of the task."""

    bootstrap: Annotated[int, Field(ge=2, le=MOST_HALF_SAMPLES)] = 200
    """Number of half-samples for the 95 % intervals."""


class DivergenceSettings(Strict):
    """MAUVE, frontier integral, F_1/8 and F_8 over k-means histograms (PR appendix A)."""

    seeds: KMeansSeeds = [0, 1, 2, 3, 4]
    """Seeds of k-means; the metrics are means over the seeds."""
    clusters: TwoOrMore | None = None
    """Number of clusters. Defaults to a tenth of the number of texts."""


class VendiSettings(Strict):
    """Vendi score and RKE of the generated texts, and their ratios to those of the references."""


class DistanceSettings(Strict):
    """Maximum mean discrepancy with its p-value, and Fréchet distance."""

    permutations: Annotated[int, Field(ge=19, le=MOST_PERMUTATIONS)] = 200
    """Number of permutations for the p-values; the smallest p-value is 1 / (permutations + 1)."""


class QualityBar(Strict):
    """The quality that a text must have to count for the effective diversity."""

    metric: str
    """Metric of single texts, of a family that the task computes."""
    at_least: float | None = None
    """Smallest value that passes."""
    at_most: float | None = None
    """Largest value that passes."""

    @model_validator(mode="after")
    def _bounds(self) -> QualityBar:
        if self.at_least is None and self.at_most is None:
            raise ValueError("no bound is named: set at_least, at_most, or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"no text passes: at_least ({self.at_least}) is above at_most ({self.at_most})")
        return self


class CompletionsSettings(Strict):
    """How much the completions of one prompt differ; prompts with a single completion do not count."""

    threshold: Annotated[float, Field(gt=-1, le=1)] = SAME_COMPLETION
    """Cosine from which on two completions count as the same for distinct_k."""
    first: TwoOrMore | None = None
    """Number k of completions per prompt for distinct_k. Defaults to the fewest that a prompt has."""
    quality: QualityBar | None = None
    """Bar for the effective diversity, which is not computed without one."""


class JudgedCompletionsSettings(Strict):
    """How many completions of one prompt a served model finds different: distinct_k of NoveltyBench."""

    model: str
    """Entry of models.yaml with engine openai that compares the completions."""
    first: TwoOrMore | None = None
    """Number k of completions per prompt that are compared, by up to k (k - 1) / 2 questions. Defaults to the
    fewest that a prompt has."""


class NgramSettings(Strict):
    """Self-BLEU, distinct-n, EAD, unigram entropy, rep-4 and diversity."""

    tokenizer: str | None = None
    """Model that provides the tokenizer (PR: GPT-2). Defaults to words, split on white space."""
    self_bleu_sample: Annotated[float, Field(gt=0, le=1)] | None = None
    """Share of the texts that Self-BLEU scores, each against all others (PR: 0.2). Defaults to all texts."""


class CompressionSettings(Strict):
    """Compression ratio, n-gram diversity, self-repetition and homogenization, at equal total length."""

    words: TwoOrMore | None = None
    """Number of words to which the texts of a cell are cut in all. Defaults to those of the first draw of
    references."""


class LikelihoodSettings(Strict):
    """Perplexity under a scoring model and, for continuations, coherence."""

    scorer: str
    """Scoring model; it need not be a model of a task."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "float32"
    """Only float32 produces the same numbers for every batch size."""
    perplexity_of: Literal["scorer", "generator"] = "scorer"
    """Model that computes the perplexity: the scorer, or the model that generated the text (MC).

    The perplexity of human texts, which no model generated, is always the scorer's.
    """


class ReadabilitySettings(Strict):
    """Flesch reading ease and Gunning fog (NW section 4.2). Needs the extra ``readability``."""


class EntitiesSettings(Strict):
    """Information density and, for prompts with a reference, entity overlap (NW section 4.2)."""

    tagger: str = "en-core-web-sm"
    """Entry of taggers.yaml that finds named entities."""


class SimilaritySettings(Strict):
    """S-BERT and BLEU against the reference of the same prompt (NW section 4.2).

    S-BERT is the cosine similarity of the features of the experiment's embedder.
    """


class EssaySettings(Strict):
    """Score of an LSTM trained on graded essays (NW section 4.2)."""

    essays: OwnPath
    """Your copy of the ASAP corpus, ``training_set_rel3.tsv``. Without the file, the score is skipped."""


class JudgeSettings(Strict):
    """Ratings by a served model: coherence, insightfulness, plausibility, diversity (PR appendix B.2)."""

    model: str
    """Entry of models.yaml with engine openai that rates the texts."""


class Metrics(Strict):
    """The families of metrics to compute; the others are not computed."""

    support: SupportSettings | None = None
    divergence: DivergenceSettings | None = None
    vendi: VendiSettings | None = None
    distance: DistanceSettings | None = None
    completions: CompletionsSettings | None = None
    judged_completions: JudgedCompletionsSettings | None = None
    ngram: NgramSettings | None = None
    compression: CompressionSettings | None = None
    likelihood: LikelihoodSettings | None = None
    readability: ReadabilitySettings | None = None
    entities: EntitiesSettings | None = None
    similarity: SimilaritySettings | None = None
    essay: EssaySettings | None = None
    judge: JudgeSettings | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_means_defaults(cls, content: Any) -> Any:
        if isinstance(content, Mapping):  # `support:` without a value
            return {name: {} if settings is None else settings for name, settings in content.items()}
        return content

    @model_validator(mode="after")
    def _any(self) -> Metrics:
        if not self.families():
            raise ValueError(f"no family is named; valid: {', '.join(type(self).model_fields)}")
        return self

    def families(self) -> dict[str, Strict]:
        """Return the requested families: name -> settings."""
        named = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: family for name, family in named.items() if family is not None}

    def per_text(self) -> list[str]:
        """Return the requested metrics that have a value for each text."""
        return [metric for family in self.families() for metric in text_metrics_of(family)]

    def of_texts(self) -> bool:
        """Return whether a requested family measures only single texts, which are then tabulated."""
        return any(FAMILIES[family].of_texts for family in self.families())

    def judges(self) -> dict[str, str]:
        """Return the served models that judge texts: family -> slug."""
        asked = {"judge": self.judge, "judged_completions": self.judged_completions}
        return {family: settings.model for family, settings in asked.items() if settings}

    def models(self) -> dict[str, str]:
        """Return the models that the metrics load: setting -> slug."""
        named = {}
        if self.ngram and self.ngram.tokenizer:
            named["ngram.tokenizer"] = self.ngram.tokenizer
        if self.likelihood:
            named["likelihood.scorer"] = self.likelihood.scorer
        return named


class RankingSettings(Strict):
    """How to rank the methods of a task; a method is a model with a decoding (MC sections 4 and 5)."""

    higher: list[str] = []
    """Criteria for which higher is better: metrics of single texts."""
    lower: list[str] = []
    """Criteria for which lower is better: metrics of single texts."""
    depth_of: Annotated[int, Field(ge=2, le=6)] = 4
    """Number of methods, those with the highest worth, for the union-free generic depth (MC: 4)."""
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
        return self
