"""Two collections of texts -> the numbers, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from textgamut.errors import ConfigError, DataError, nearest
from textgamut.metrics.catalogue import METRICS, scored_families

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.entries.sources import Source
    from textgamut.metrics.scores.rows import Row
    from textgamut.metrics.scores.support import SupportScores
    from textgamut.metrics.support import Interval
    from textgamut.report.missed import EmbeddedTexts, MissedText

Pooling = Literal["mean", "cls", "last-token", "sentence-transformers"]


class MissedTexts(NamedTuple):
    """The texts that precision and recall missed, those farthest from the other side first."""

    generated: list[MissedText]
    """Generated texts outside the references' support: what precision missed."""
    reference: list[MissedText]
    """References outside the generated texts' support: what recall missed."""


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult:
    """The scores of generated texts against reference texts.

    Each metric that was computed is an attribute: ``result.precision``, ``result.mauve``,
    ``result.self_bleu``, ... Any other name raises an ``AttributeError`` that lists those that exist.
    """

    rows: tuple[Row, ...]
    """One dictionary per metric and group, as ``to_frame`` tabulates them."""
    k: int
    """Neighbours that a ball reaches to."""
    embedder: str | None
    """Label of the embedder; None if no metric needed one."""
    reference_texts: tuple[str, ...]
    generated_texts: tuple[str, ...]
    support: SupportScores | None
    """Reduced features and memberships of the first N texts of each side; None if ``"support"`` was not
    computed."""

    def __getattr__(self, name: str) -> float:
        values = {} if name.startswith("_") else self._values
        if name in values:
            return values[name]
        known = f"computed: {', '.join(values)}" if name in METRICS else nearest(name, values)
        raise AttributeError(f"{name!r} was not computed; {known}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def __repr__(self) -> str:
        return f"ScoreResult({', '.join(f'{name}={value:.4f}' for name, value in self._values.items())})"

    @property
    def _values(self) -> dict[str, float]:
        from textgamut.metrics.scores.rows import ALL

        return {row["metric"]: row["value"] for row in self.rows if row["group"] == ALL}

    @property
    def intervals(self) -> dict[str, Interval]:
        """95 % intervals: metric -> (low, high, deviation), for the metrics that have one."""
        from textgamut.metrics.support import Interval

        return {
            row["metric"]: Interval(row["low"], row["high"], row["deviation"])
            for row in self.rows
            if "low" in row
        }

    @cached_property
    def missed(self) -> MissedTexts:
        """The texts that precision and recall missed, each with its nearest neighbour on the other side.

        Raises:
            ConfigError: ``"support"`` was not computed.
        """
        from textgamut.report.missed import missed_texts

        support, reference, generated = self._sides()
        return MissedTexts(
            missed_texts(generated, reference, support.in_reference),
            missed_texts(reference, generated, support.in_generated),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the scores as a table.

        Returns:
            One row per metric and group, with the columns ``group`` ("all", or "column=label"), ``metric``,
            ``value``, ``low`` and ``high`` (95 % interval), ``deviation`` (standard deviation: of support
            metrics over half-samples, of divergence metrics over k-means seeds), ``n`` (texts a side) and
            ``k``; NaN where a column does not apply.
        """
        import pandas as pd

        columns = ["group", "metric", "value", "low", "high", "deviation", "n", "k"]
        return pd.DataFrame(list(self.rows), columns=columns)

    def to_html(
        self,
        path: str | Path,
        title: str = "Generated against reference texts: what precision and recall missed",
    ) -> None:
        """Write the page of the texts that precision and recall missed.

        Args:
            path: The file, which is replaced if it exists. The page needs no other file and no network.
            title: The page's title.

        Raises:
            ConfigError: ``"support"`` was not computed.
        """
        from textgamut.files import write_bytes
        from textgamut.report.missed import missed_texts_page

        support, reference, generated = self._sides()
        assert self.embedder is not None
        page = missed_texts_page(title, self.embedder, self.k, reference, generated, support)
        write_bytes(Path(path), page.encode())

    def _sides(self) -> tuple[SupportScores, EmbeddedTexts, EmbeddedTexts]:
        from textgamut.report.missed import EmbeddedTexts

        if self.support is None:
            raise ConfigError("what precision and recall missed is not known: add 'support' to metrics")
        n = len(self.support.in_reference)
        ids = [f"row-{i + 1}" for i in range(n)]
        return (
            self.support,
            EmbeddedTexts(self.support.reference, ids, self.reference_texts[:n]),
            EmbeddedTexts(self.support.generated, ids, self.generated_texts[:n]),
        )


def score(
    reference_texts: Iterable[str],
    generated_texts: Iterable[str],
    *,
    metrics: Sequence[str] = ("support", "divergence", "ngram"),
    embedder: str | Path = "minilm",
    pooling: Pooling | None = None,
    max_tokens: int = 512,
    k: int = 4,
    bootstrap: int = 200,
    groups: Mapping[str, tuple[Iterable[Any], Iterable[Any]]] | None = None,
    kmeans_seeds: Sequence[int] = (0, 1, 2, 3, 4),
    tokenizer: str | Path | None = None,
    scorer: str | Path | None = None,
    prompts: Iterable[str | None] | None = None,
    registries: str | Path | None = None,
) -> ScoreResult:
    """Score generated texts against reference texts.

    Args:
        reference_texts: Human texts, at least two: a list, a pandas Series or the like.
        generated_texts: Generated texts, at least two. Metrics that compare the two sides use the first N of
            each, N being the size of the smaller.
        metrics: Families to compute: ``"support"`` (precision, recall, density, coverage), ``"divergence"``
            (MAUVE, frontier integral, F_1/8, F_8), ``"ngram"`` (Self-BLEU, distinct-n, rep-4, diversity),
            ``"likelihood"`` (perplexity, and with ``prompts`` coherence).
        embedder: Name of an entry of ``embedders.yaml``, or the folder of a checkpoint: what turns texts into
            features for support and divergence.
        pooling: How an embedder given as a folder makes one vector of a text: ``"mean"``, ``"cls"``,
            ``"last-token"`` or ``"sentence-transformers"``.
        max_tokens: For an embedder given as a folder: longer texts are cut to so many tokens.
        k: Neighbours that a ball of the support metrics reaches to, 1 <= k < N.
        bootstrap: Half-samples behind the intervals of the support metrics; 0 for no intervals. There are
            none either if N is 4 k or less.
        groups: Name -> (label of each reference, label of each generated text), None for a text without
            one: the support metrics are also computed for each label.
        kmeans_seeds: Seeds of the k-means clusterings over which divergence metrics are averaged.
        tokenizer: Name of an entry of ``models.yaml``, or a folder: the tokens that Self-BLEU and distinct-n
            count. Defaults to words, split on white space.
        scorer: Name of an entry of ``models.yaml``, or a folder: the model behind likelihood, which needs
            one.
        prompts: The prompt of each generated text, None for a text without one: likelihood then takes the
            texts as continuations.
        registries: Folder of the user's own registries, which extend those that textgamut ships. Defaults to
            ``config`` in the working directory, if that exists.

    Returns:
        The scores. Computed on a GPU if there is one; the same input has the same scores.

    Raises:
        DataError: A text is not a string, there are fewer than two texts on a side, a sequence has another
            length than its texts, or k is too large.
        ConfigError: A family, an embedder or a model does not exist, or an option is missing.
        SourceError: A checkpoint cannot be had.
        ModelError: A checkpoint cannot be loaded.

    Warns:
        UserWarning: The sides differ in size, there are fewer than 1000 texts on a side, or texts are too
            short for a metric.

    Examples:
        >>> result = textgamut.score(reference_texts, generated_texts)  # doctest: +SKIP
        >>> result.precision, result.intervals["precision"].low  # doctest: +SKIP
        >>> result.missed.generated[0].text  # doctest: +SKIP
        >>> result.to_html("missed.html")  # doctest: +SKIP
    """
    import torch

    from textgamut.features.embed import embed
    from textgamut.metrics.scores.divergence import divergence_scores
    from textgamut.metrics.scores.likelihood import likelihood_scores
    from textgamut.metrics.scores.ngram import ngram_scores
    from textgamut.metrics.scores.support import support_scores
    from textgamut.models.checkpoints import load_causal_model, load_tokenizer, prepare
    from textgamut.models.devices import choose_device

    for family in metrics:
        if family not in scored_families():
            raise ConfigError(f"metrics: no family {family!r}; {nearest(family, scored_families())}")
    if "likelihood" in metrics and not scorer:
        raise ConfigError("metrics: 'likelihood' needs a scorer: a model of models.yaml, or a folder")
    reference = _texts("reference_texts", reference_texts)
    generated = _texts("generated_texts", generated_texts)
    n = min(len(reference), len(generated))
    if "support" in metrics and not 1 <= k < n:
        raise DataError(f"k = {k} needs more than {k} texts a side, not {n}")
    labels = {
        name: (
            _labels(f"groups: {name!r}", of_references, reference),
            _labels(f"groups: {name!r}", of_generated, generated),
        )
        for name, (of_references, of_generated) in (groups or {}).items()
    }
    starts = None if prompts is None else [label or "" for label in _labels("prompts", prompts, generated)]

    # All names are looked up before the first checkpoint is loaded.
    compares = "support" in metrics or "divergence" in metrics
    seen_by = _embedder(embedder, pooling, max_tokens, registries) if compares else None
    token_source = _checkpoint(tokenizer, registries) if tokenizer and "ngram" in metrics else None
    scored_by = _checkpoint(scorer, registries) if scorer and "likelihood" in metrics else None

    rows: list[Row] = []
    support = None
    if seen_by is not None:
        vectors = embed([*reference, *generated], prepare(seen_by.source), seen_by, choose_device()).vectors
        features = vectors[: len(reference)], vectors[len(reference) :]
        if "support" in metrics:
            support = support_scores(*features, k, bootstrap, labels)
            rows += support.rows
        if "divergence" in metrics:
            rows += divergence_scores(*features, None, kmeans_seeds)
    if "ngram" in metrics:
        tokens = None if token_source is None else load_tokenizer(prepare(token_source[0]))
        rows += ngram_scores(generated, tokens)[0]
    if scored_by is not None:
        source, batch_size = scored_by
        folder = prepare(source)
        model = load_causal_model(folder, torch.float32, choose_device())
        rows += likelihood_scores(model, load_tokenizer(folder), starts, generated, batch_size)[0]
    label = None if seen_by is None else seen_by.label
    return ScoreResult(tuple(rows), k, label, tuple(reference), tuple(generated), support)


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise DataError(f"{name}: several texts are needed, not a single string")
    found = list(texts)
    for number, text in enumerate(found, start=1):
        if not isinstance(text, str):
            raise DataError(f"{name}: row {number} is not a text but of type {type(text).__name__}")
    if len(found) < 2:
        raise DataError(f"{name}: at least two texts are needed, not {len(found)}")
    return found


def _labels(name: str, labels: Iterable[Any], texts: Sequence[str]) -> list[str | None]:
    import pandas as pd

    found = [None if pd.isna(label) else str(label) for label in labels]
    if len(found) != len(texts):
        raise DataError(f"{name}: {len(found)} values for {len(texts)} texts")
    return found


def _embedder(
    name: str | Path, pooling: Pooling | None, max_tokens: int, registries: str | Path | None
) -> Embedder:
    folder = Path(name)
    entry: Embedder
    if not folder.is_dir():
        entry = _entry("embedder", name, registries)
        return entry
    from pydantic import TypeAdapter

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.yaml import validate

    if pooling is None:
        choices = ", ".join(get_args(Pooling))
        raise ConfigError(f"{folder}: an embedder given as a folder needs a pooling: {choices}")
    source = {"kind": "file", "path": str(folder)}
    content = {"label": folder.name, "source": source, "pooling": pooling, "max_tokens": max_tokens}
    entry = validate(TypeAdapter(Embedder), content, str(folder))
    return entry


def _checkpoint(name: str | Path, registries: str | Path | None) -> tuple[Source, int]:
    """Return where the weights of a model are, and how many texts it takes at a time."""
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import FileSource, OpenAISource

    folder = Path(name)
    model: Model
    if folder.is_dir():
        source = FileSource(kind="file", path=str(folder))
        model = Model(label=folder.name, family=folder.name, source=source, chat="none")
    else:
        model = _entry("model", name, registries)
    if isinstance(model.source, OpenAISource):
        raise ConfigError(f"model {str(name)!r} is behind a server: name one whose weights can be had")
    return model.source, model.batch_size


def _entry(kind: str, name: str | Path, registries: str | Path | None) -> Any:
    from textgamut.config.loading import load_registry

    entries = load_registry(f"{kind}s", registries)
    if name not in entries:
        raise ConfigError(f"unknown {kind} {str(name)!r}; {nearest(str(name), entries)}")
    return entries[name]
