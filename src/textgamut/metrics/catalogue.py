"""The catalogue of metrics: every fact about a metric, once.

Settings, tables, figures, the command line and the documentation read these two tables. To add a metric to a
family, write the function that computes it and add one entry here. A new family also needs its settings in
``config.metrics`` and a rule.

This module imports nothing of the package, so that the configuration can use it.

Papers: PR is Le Bronnec et al. 2024, NW is New-Wiki Eval, MC is the multicriteria benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

MOST_HALF_SAMPLES = 100_000
"""Maximum number of half-samples of a bootstrap, which are in memory at once."""

MOST_PERMUTATIONS = 10_000
"""Maximum number of permutations of a test, which are in memory at once."""

SAME_COMPLETION = 0.8
"""Cosine from which on two completions count as the same for distinct_k, unless set."""

LARGEST_KMEANS_SEED = 2**31 - 3
"""Maximum seed of k-means: faiss has signed integers of 32 bits, and adds 2."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """A family of metrics that are computed together, by one rule, with one block of settings."""

    name: str
    """Key in an experiment's ``metrics``."""
    description: str
    """What the family measures, in one line."""
    from_files: bool = False
    """Whether ``textgamut score`` computes it from two files of texts."""
    of_features: bool = False
    """Whether it is computed from the features of generated texts, and not for the references."""
    of_prompts: bool = False
    """Whether it compares the completions of one prompt, and is not computed for the references."""
    of_texts: bool = False
    """Whether it scores single texts; tasks with such a family have tables and figures of single texts."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: its names, the meaning of its values, and its source."""

    name: str
    """Column in tables and key in files of scores."""
    family: str
    """Name of its family."""
    label: str
    """Name in tables, figures and the documentation."""
    says: str
    """Meaning of a value, in a few words."""
    definition: str = ""
    """How it is computed, in one line, if ``says`` does not define it."""
    range: tuple[float, float]
    """Smallest and largest possible value; infinite where there is no bound."""
    better: Literal["higher", "lower"] | None
    """Which values are better, or None if neither higher nor lower values are."""
    level: Literal["set", "text", "both"]
    """``set``: a value for a set of texts. ``text``: a value for each text; that of a set is the mean.
    ``both``: a metric of sets that is also reported for each text."""
    source: str
    """The publication that defines it, and its use in the papers."""
    rescale: tuple[float, float] | None = None
    """Range by which figures rescale its means (NW section 6), or None for the range of these means."""
    fails: tuple[str, ...] = ()
    """Sanity checks that it fails on all corpora, as measured for ``docs/reference/sanity.md``; its tables
    show which metrics were checked."""

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
        return f"{self.says} {self.arrow}".rstrip()


FAILS_NOTE = "†: fails sanity checks, so that its values can mislead"
"""Meaning of the dagger."""

ARROWS: dict[str | None, str] = {"higher": "↑", "lower": "↓", None: ""}
"""Which values are better -> an arrow."""

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            name="support",
            description="how far two sets of embedded texts lie inside each other's nearest-neighbour balls",
            from_files=True,
            of_features=True,
        ),
        Family(
            name="divergence",
            description="how far the k-means histograms of two sets of embedded texts differ",
            from_files=True,
            of_features=True,
        ),
        Family(
            name="vendi",
            description="how many effectively different embedded texts a set holds",
            from_files=True,
            of_features=True,
        ),
        Family(
            name="distance",
            description="how far the distributions of two sets of embedded texts lie apart, with a test",
            from_files=True,
            of_features=True,
        ),
        Family(
            name="completions",
            description="how much the completions of one prompt differ",
            from_files=True,
            of_features=True,
            of_prompts=True,
        ),
        Family(
            name="judged_completions",
            description="how many completions of one prompt a served model finds different",
            of_prompts=True,
        ),
        Family(name="ngram", description="how repetitive the wording is", from_files=True),
        Family(
            name="compression",
            description="how redundant a set of texts is, at equal total length",
            from_files=True,
        ),
        Family(
            name="likelihood", description="how probable a language model finds the texts", from_files=True
        ),
        Family(
            name="readability",
            description="how hard English texts are to read; needs the extra `readability`",
            of_texts=True,
        ),
        Family(
            name="entities",
            description="how many named entities texts mention, and share with their references",
            of_texts=True,
        ),
        Family(
            name="similarity",
            description="how close texts are to the references of the same prompts",
            of_texts=True,
        ),
        Family(
            name="essay",
            description="how a model that was trained on graded essays grades the texts",
            of_texts=True,
        ),
        Family(name="judge", description="how a served model judges biographies", of_texts=True),
    )
}
"""Families by name, in the order in which experiments list them."""

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            name="precision",
            family="support",
            label="precision",
            says="generated texts inside the references' support",
            range=(0, 1),
            better="higher",
            level="set",
            source="Kynkäänniemi et al. 2019; PR section 4",
            fails=("ideal value", "copies of references", "texts repeated", "topic moved"),
        ),
        Metric(
            name="recall",
            family="support",
            label="recall",
            says="references inside the generated texts' support",
            range=(0, 1),
            better="higher",
            level="set",
            source="Kynkäänniemi et al. 2019; PR section 4",
            fails=("ideal value", "copies of references", "dimension", "topic moved"),
        ),
        Metric(
            name="density",
            family="support",
            label="density",
            says="reference balls around a generated text, over k",
            definition="about 1 for equal sets",
            range=(0, inf),
            better=None,
            level="set",
            source="Naeem et al. 2020",
            fails=("length halved", "texts repeated", "topic moved"),
        ),
        Metric(
            name="coverage",
            family="support",
            label="coverage",
            says="reference balls that hold a generated text",
            range=(0, 1),
            better="higher",
            level="set",
            source="Naeem et al. 2020",
            fails=("mode invented",),
        ),
        Metric(
            name="clipped_density",
            family="support",
            label="clipped density",
            says="fidelity: density that outliers cannot inflate",
            definition="radii at most the median, over the value of the references; 1 for equal sets",
            range=(0, 1),
            better="higher",
            level="set",
            source="Salvy et al. 2025",
            fails=("texts repeated", "topic moved"),
        ),
        Metric(
            name="clipped_coverage",
            family="support",
            label="clipped coverage",
            says="diversity: share of references that are covered as in equal sets",
            definition="texts in the ball, at most k, over k, calibrated; 1 for equal sets",
            range=(0, 1),
            better="higher",
            level="set",
            source="Salvy et al. 2025",
            fails=("mode invented", "topic moved"),
        ),
        Metric(
            name="symmetric_precision",
            family="support",
            label="symmetric precision",
            says="precision from the supports of both sides",
            definition="the smaller of precision and the share of generated balls that hold a reference",
            range=(0, 1),
            better="higher",
            level="set",
            source="Khayatkhoei and AbdAlmageed 2023",
            fails=("ideal value", "mode dropped", "copies of references", "texts repeated"),
        ),
        Metric(
            name="symmetric_recall",
            family="support",
            label="symmetric recall",
            says="recall from the supports of both sides",
            definition="the smaller of recall and coverage",
            range=(0, 1),
            better="higher",
            level="set",
            source="Khayatkhoei and AbdAlmageed 2023",
            fails=("ideal value", "mode invented", "copies of references"),
        ),
        Metric(
            name="mauve",
            family="divergence",
            label="MAUVE",
            says="closeness of the two distributions",
            definition="area under the divergence frontier of their k-means histograms",
            range=(0, 1),
            better="higher",
            level="set",
            source="Pillutla et al. 2021; PR appendix A.2",
        ),
        Metric(
            name="frontier_integral",
            family="divergence",
            label="frontier integral",
            says="divergence of the two distributions",
            definition="mean divergence along the frontier of their k-means histograms",
            range=(0, 1),
            better="lower",
            level="set",
            source="Liu et al. 2021; PR Figure A.5",
        ),
        Metric(
            name="f_1_8",
            family="divergence",
            label="F_1/8",
            says="quality: F-score, precision weighs 8 times",
            definition="the best on the precision-recall curve of their k-means histograms",
            range=(0, 1),
            better="higher",
            level="set",
            source="Sajjadi et al. 2018; PR appendix A.1",
            fails=("texts repeated",),
        ),
        Metric(
            name="f_8",
            family="divergence",
            label="F_8",
            says="diversity: F-score, recall weighs 8 times",
            definition="the best on the precision-recall curve of their k-means histograms",
            range=(0, 1),
            better="higher",
            level="set",
            source="Sajjadi et al. 2018; PR appendix A.1",
        ),
        Metric(
            name="vendi",
            family="vendi",
            label="Vendi",
            says="effective number of different generated texts",
            definition="exp of the entropy of the eigenvalues of the matrix of cosines",
            range=(1, inf),
            better="higher",
            level="set",
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="vendi_reference",
            family="vendi",
            label="Vendi of references",
            says="the same of as many references",
            range=(1, inf),
            better=None,
            level="set",
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="vendi_ratio",
            family="vendi",
            label="Vendi ratio",
            says="Vendi score over that of the references",
            definition="about 1 for equal sets",
            range=(0, inf),
            better="higher",
            level="set",
            source="Friedman and Dieng 2023",
        ),
        Metric(
            name="rke",
            family="vendi",
            label="RKE",
            says="effective number of modes of the generated texts",
            definition="Vendi score of order 2, to which rare texts matter less",
            range=(1, inf),
            better="higher",
            level="set",
            source="Jalali et al. 2023; Pasarkar and Dieng 2024",
            fails=("mode invented",),
        ),
        Metric(
            name="rke_ratio",
            family="vendi",
            label="RKE ratio",
            says="RKE over that of the references",
            definition="about 1 for equal sets",
            range=(0, inf),
            better="higher",
            level="set",
            source="Jalali et al. 2023",
            fails=("mode invented",),
        ),
        Metric(
            name="mmd_gaussian",
            family="distance",
            label="MMD Gaussian",
            says="distance of the two distributions",
            definition="squared MMD without bias, of unit length; about 0 for equal sets",
            range=(-inf, inf),
            better="lower",
            level="set",
            source="Gretton et al. 2012",
        ),
        Metric(
            name="mmd_gaussian_p",
            family="distance",
            label="p of MMD Gaussian",
            says="p-value: small if the distributions differ",
            definition="share of permutations of the texts with an MMD as large",
            range=(0, 1),
            better=None,
            level="set",
            source="Gretton et al. 2012",
        ),
        Metric(
            name="mmd_polynomial",
            family="distance",
            label="MMD polynomial",
            says="distance of the two distributions",
            definition="squared MMD without bias, kernel (cosine + 1)³, that of KID; about 0 for equal sets",
            range=(-inf, inf),
            better="lower",
            level="set",
            source="Bińkowski et al. 2018",
        ),
        Metric(
            name="mmd_polynomial_p",
            family="distance",
            label="p of MMD polynomial",
            says="p-value: small if the distributions differ",
            definition="share of permutations of the texts with an MMD as large",
            range=(0, 1),
            better=None,
            level="set",
            source="Gretton et al. 2012",
        ),
        Metric(
            name="frechet",
            family="distance",
            label="Fréchet distance",
            says="distance of the Gaussians fitted to both sides",
            definition="above 0 for equal sets, less so with more texts",
            range=(0, inf),
            better="lower",
            level="set",
            source="Heusel et al. 2017; Xiang et al. 2021",
            fails=("ideal value", "copies of references", "fewer texts", "more texts", "dimension"),
        ),
        Metric(
            name="completion_cosine",
            family="completions",
            label="completion cosine",
            says="likeness of the completions of a prompt",
            definition="mean cosine over the pairs of completions of one prompt",
            range=(-1, 1),
            better="lower",
            level="set",
            source="Jiang et al. 2025; Zhang et al. 2025b",
        ),
        Metric(
            name="conditional_vendi",
            family="completions",
            label="conditional Vendi",
            says="effective number of different completions of a prompt",
            range=(1, inf),
            better="higher",
            level="set",
            source="Jalali et al. 2024",
        ),
        Metric(
            name="distinct_completions",
            family="completions",
            label="distinct_k",
            says="different completions among the first k of a prompt",
            definition="greedy classes of completions by a threshold of their cosine",
            range=(1, inf),
            better="higher",
            level="set",
            source="Zhang et al. 2025a",
        ),
        Metric(
            name="effective_diversity",
            family="completions",
            label="effective diversity",
            says="diversity of completions above a bar of quality",
            definition="mean of 1 - cosine over all pairs, 0 unless both are above the bar",
            range=(0, 2),
            better="higher",
            level="set",
            source="Shypula et al. 2025",
        ),
        Metric(
            name="judged_distinct",
            family="judged_completions",
            label="distinct_k (judge)",
            says="different completions among the first k of a prompt",
            definition="greedy classes of completions that a served model finds equivalent",
            range=(1, inf),
            better="higher",
            level="set",
            source="Zhang et al. 2025a",
        ),
        Metric(
            name="self_bleu",
            family="ngram",
            label="Self-BLEU",
            says="likeness of the generated texts to each other",
            definition="mean BLEU-4 of each text against all others",
            range=(0, 1),
            better="lower",
            level="set",
            source="Zhu et al. 2018; PR section 5.2",
            fails=("mode dropped",),
        ),
        *(
            Metric(
                name=f"distinct_{n}",
                family="ngram",
                label=f"distinct-{n}",
                says=f"distinct {n}-grams among all {n}-grams",
                definition="counted over all texts",
                range=(0, 1),
                better="higher",
                level="set",
                source="Li et al. 2016; PR section 5.2",
                fails=("mode dropped",) if n == 2 else (),
            )
            for n in (1, 2, 3, 4)
        ),
        Metric(
            name="ead",
            family="ngram",
            label="EAD",
            says="distinct words, over those expected of random text",
            definition="only with a tokenizer, whose vocabulary it needs",
            range=(0, inf),
            better="higher",
            level="set",
            source="Liu et al. 2022",
        ),
        Metric(
            name="unigram_entropy",
            family="ngram",
            label="unigram entropy",
            says="evenness of the use of words, in nats",
            range=(0, inf),
            better="higher",
            level="set",
            source="Zhang et al. 2018",
        ),
        Metric(
            name="repetition_4",
            family="ngram",
            label="rep-4",
            says="repeated 4-grams within a text",
            definition="1 - distinct 4-grams / all 4-grams",
            range=(0, 1),
            better="lower",
            level="both",
            source="Welleck et al. 2020; NW section 4.2, equation 4",
        ),
        Metric(
            name="diversity",
            family="ngram",
            label="diversity",
            says="distinct 2-, 3- and 4-grams within texts",
            definition="product of the three shares",
            range=(0, 1),
            better="higher",
            level="both",
            source="Su et al. 2022; MC appendix A",
            fails=("responds at all",),
        ),
        Metric(
            name="compression_ratio",
            family="compression",
            label="compression ratio",
            says="size of the texts over their compressed size",
            definition="gzip",
            range=(0, inf),
            better="lower",
            level="set",
            source="Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="ngram_diversity",
            family="compression",
            label="n-gram diversity",
            says="distinct n-grams over all, summed over n = 1 to 4",
            range=(0, 4),
            better="higher",
            level="set",
            source="Padmakumar and He 2024; Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="self_repetition",
            family="compression",
            label="self-repetition",
            says="4-grams of a text that other texts have, too",
            definition="mean over the texts of log(1 + their number)",
            range=(0, inf),
            better="lower",
            level="set",
            source="Salkar et al. 2022; Shaib et al. 2024",
            fails=("mode dropped",),
        ),
        Metric(
            name="homogenization",
            family="compression",
            label="homogenization",
            says="mean ROUGE-L of pairs of texts",
            range=(0, 1),
            better="lower",
            level="set",
            source="Padmakumar and He 2024; Shaib et al. 2024",
            fails=("mode dropped", "length halved", "texts repeated"),
        ),
        Metric(
            name="perplexity",
            family="likelihood",
            label="perplexity",
            says="surprise of the scoring model",
            definition="exp of the mean negative log-likelihood of a token",
            range=(1, inf),
            better=None,
            level="both",
            source="Bahl et al. 1977; PR Figure 7; MC appendix A",
        ),
        Metric(
            name="coherence",
            family="likelihood",
            label="coherence",
            says="log-likelihood of a token given the prompt",
            definition="mean over the tokens of a continuation",
            range=(-inf, 0),
            better="higher",
            level="both",
            source="Su et al. 2022; MC appendix A",
        ),
        Metric(
            name="text_distinct_2",
            family="ngram",
            label="distinct-2 of a text",
            says="distinct 2-grams of a text, over its words",
            range=(0, 1),
            better="higher",
            level="text",
            source="Li et al. 2016; NW section 4.2, equation 3",
            rescale=(0.5, 1),
        ),
        Metric(
            name="flesch",
            family="readability",
            label="Flesch",
            says="reading ease: less is harder",
            definition="206.8 - 1.015 words/sentence - 84.6 syllables/word, 0 to 100 for usual prose",
            range=(-inf, inf),
            better=None,
            level="text",
            source="Flesch 1948; NW section 4.2, equation 1",
            rescale=(30, 60),
        ),
        Metric(
            name="gunning_fog",
            family="readability",
            label="Gunning fog",
            says="years of schooling to read it",
            definition="0.4 (words/sentence + 100 x share of words of three syllables or more)",
            range=(0.4, inf),
            better=None,
            level="text",
            source="Gunning 1952; NW section 4.2, equation 2",
            rescale=(10, 25),
        ),
        Metric(
            name="information_density",
            family="entities",
            label="info density",
            says="named entities a word",
            range=(0, inf),
            better="higher",
            level="text",
            source="NW section 4.2, equation 5",
            rescale=(0, 0.5),
        ),
        Metric(
            name="entity_overlap",
            family="entities",
            label="entity overlap",
            says="entities shared with the reference",
            definition="Jaccard index of the two sets of entities",
            range=(0, 1),
            better="higher",
            level="text",
            source="NW section 4.2, equation 6",
            rescale=(0, 1),
        ),
        Metric(
            name="sbert",
            family="similarity",
            label="S-BERT",
            says="cosine of the embeddings of text and reference",
            range=(-1, 1),
            better="higher",
            level="text",
            source="Reimers and Gurevych 2019; NW section 4.2",
            rescale=(0, 1),
        ),
        Metric(
            name="bleu",
            family="similarity",
            label="BLEU",
            says="n-grams shared with the reference, 0 to 100",
            definition="sentence BLEU-4 of sacrebleu",
            range=(0, 100),
            better="higher",
            level="text",
            source="Papineni et al. 2002; NW appendix 9.3",
        ),
        Metric(
            name="essay",
            family="essay",
            label="essay",
            says="grade of an essay, by a trained LSTM",
            definition="in the units of the essays' grades, not cut to their range",
            range=(-inf, inf),
            better="higher",
            level="text",
            source="NW section 4.2",
            rescale=(4.5, 5.5),
        ),
        *(
            Metric(
                name=f"judge_{criterion}",
                family="judge",
                label=f"judge {criterion}",
                says="a model's verdict, 1 to 5",
                definition=question,
                range=(1, 5),
                better="higher",
                level="text",
                source="PR appendix B.2",
            )
            for criterion, question in (
                ("coherence", "how easy it is to read and understand"),
                ("insightfulness", "how insightful or interesting it is"),
                ("plausibility", "how likely it is a biography from Wikipedia"),
            )
        ),
        Metric(
            name="judge_diversity",
            family="judge",
            label="judge diversity",
            says="share of batches that a model finds diverse",
            definition="batches of ten texts",
            range=(0, 1),
            better="higher",
            level="set",
            source="PR appendix B.2",
        ),
    )
}
"""Metrics by name, in the order of a table's columns."""


def metrics_of(family: str) -> list[str]:
    """Return the names of a family's metrics, in the order of a table's columns."""
    return [metric.name for metric in METRICS.values() if metric.family == family]


def text_metrics_of(family: str) -> list[str]:
    """Return the names of a family's metrics of single texts, in the order of ``texts.parquet``.

    Metrics of level ``text`` come before those of level ``both``.
    """
    of_texts = [METRICS[name] for name in metrics_of(family) if METRICS[name].level != "set"]
    return [metric.name for metric in sorted(of_texts, key=lambda metric: metric.level == "both")]


def feature_families() -> list[str]:
    """Return the names of the families of the features of generated texts."""
    return [family.name for family in FAMILIES.values() if family.of_features]


def compared_families() -> list[str]:
    """Return the families that compare the features of as many references and generated texts."""
    return [name for name, family in FAMILIES.items() if family.of_features and not family.of_prompts]


def scored_families() -> list[str]:
    """Return the names of the families that ``textgamut score`` computes from two files of texts."""
    return [family.name for family in FAMILIES.values() if family.from_files]
