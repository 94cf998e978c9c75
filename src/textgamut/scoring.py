"""Score generated texts against reference texts in one call."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from textgamut import arguments
from textgamut.errors import ConfigError, DataError, nearest, printable
from textgamut.metrics.catalogue import (
    MOST_HALF_SAMPLES,
    compared_families,
    feature_families,
    scored_families,
)
from textgamut.results import Comparison, ScoreResult

if TYPE_CHECKING:
    import pandas as pd

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import Source
    from textgamut.metrics.scores.rows import Row
    from textgamut.metrics.scores.support import SupportScores

T = TypeVar("T")
Pooling = Literal["mean", "cls", "last-token", "sentence-transformers"]


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
        reference_texts: Human texts, at least two: a list, a pandas Series or another iterable.
        generated_texts: Generated texts, at least two. Metrics that compare the two sides use the first N
            texts of each, where N is the size of the smaller side.
        metrics: Families to compute: ``"support"`` (precision, recall, density, coverage), ``"divergence"``
            (MAUVE, frontier integral, F_1/8, F_8), ``"vendi"`` (Vendi score and RKE, with their ratios to the
            references), ``"distance"`` (MMD with p-values, Fréchet distance), ``"completions"`` (variety of
            the completions of one prompt), ``"ngram"`` (Self-BLEU, distinct-n, rep-4, diversity),
            ``"compression"`` (compression ratio, n-gram diversity, self-repetition, homogenization, of the
            first words of each set, as many as the shortest set has), ``"likelihood"`` (perplexity, and
            coherence if ``prompts`` is given).
        embedder: Model that computes the features for support, divergence, vendi, distance and completions:
            the name of an entry in ``embedders.yaml``, or the folder of a checkpoint.
        pooling: Pooling of an embedder given as a folder: ``"mean"``, ``"cls"``, ``"last-token"`` or
            ``"sentence-transformers"``: the checkpoint's own modules, which are the default for a folder with
            ``modules.json``. Required for other folders, ignored for the name of an entry.
        max_tokens: Maximum number of tokens per text of an embedder given as a folder; longer texts are cut.
        k: Number of nearest neighbours that define the radius of a ball in the support metrics,
            1 <= k < N.
        bootstrap: Number of half-samples for the intervals of the support metrics; 0 for no intervals.
            There are no intervals if N <= 4 k.
        groups: Name -> (label of each reference, label of each generated text), with None for texts
            without a label. The support metrics are also computed for each label.
        kmeans_seeds: Seeds of the k-means clusterings over which the divergence metrics are averaged.
        tokenizer: Model with the tokenizer for Self-BLEU, distinct-n, EAD and unigram entropy: the name of an
            entry in ``models.yaml``, or a folder. Defaults to words, split on white space, without EAD.
        scorer: Model that computes the likelihood: the name of an entry in ``models.yaml``, or a folder.
            Required for ``"likelihood"``.
        prompts: Prompt of each generated text, or None for texts without one. If given, likelihood scores
            the texts as continuations of their prompts. Required for ``"completions"``.
        registries: Folder of the user's own registries, which extend the built-in ones. Defaults to
            ``config`` in the working directory, if that exists.

    Returns:
        The scores. They are computed on a GPU if one is available, and are deterministic.

    Raises:
        DataError: If an argument has the wrong type or is out of range, a text is not a string, a side has
            fewer than two texts, or a sequence and its texts differ in length.
        ConfigError: If a family, an embedder or a model does not exist, or a required option is missing.
        SourceError: If a checkpoint cannot be downloaded or found.
        ModelError: If a checkpoint cannot be loaded.

    Warns:
        UserWarning: If the sides differ in size or their texts in length, texts are on both sides or more
            than once on one side, they are too short for a metric, or the embedder's ``modules.json`` states
            another pooling.
        SmallSampleWarning: If fewer than 1000 texts of each side are compared.

    Examples:
        >>> result = textgamut.score(reference_texts, generated_texts)  # doctest: +SKIP
        >>> result.precision, result.intervals["precision"].low  # doctest: +SKIP
        >>> result.missed.generated[0].text  # doctest: +SKIP
        >>> result.to_html("page.html")  # doctest: +SKIP
    """
    alone = compare(
        reference_texts,
        {"generated": generated_texts},
        metrics=metrics,
        embedder=embedder,
        pooling=pooling,
        max_tokens=max_tokens,
        k=k,
        bootstrap=bootstrap,
        groups={name: (of, {"generated": labels}) for name, (of, labels) in _group_columns(groups).items()},
        kmeans_seeds=kmeans_seeds,
        tokenizer=tokenizer,
        scorer=scorer,
        prompts=None if prompts is None else {"generated": prompts},
        registries=registries,
    )
    return alone.results["generated"]


def compare(
    reference_texts: Iterable[str],
    generated_texts: Mapping[str, Iterable[str]],
    *,
    metrics: Sequence[str] = ("support", "divergence", "ngram"),
    embedder: str | Path = "minilm",
    pooling: Pooling | None = None,
    max_tokens: int = 512,
    k: int = 4,
    bootstrap: int = 200,
    groups: Mapping[str, tuple[Iterable[Any], Mapping[str, Iterable[Any]]]] | None = None,
    kmeans_seeds: Sequence[int] = (0, 1, 2, 3, 4),
    tokenizer: str | Path | None = None,
    scorer: str | Path | None = None,
    prompts: Mapping[str, Iterable[str | None]] | None = None,
    registries: str | Path | None = None,
) -> Comparison:
    """Score the texts of several models against the same references.

    All models are cut to the first texts, as many as the smallest one has, because most metrics depend on the
    number of texts. Metrics that compare the two sides use the first N texts of each side, where N is the
    size of the smallest of all sets. So each model has the scores that :func:`score` gives for as many texts,
    up to the rounding of its features (the texts of all models are embedded together). The exceptions depend
    on which models are compared: in ``"divergence"``, all models share one PCA and one clustering per seed,
    with as many clusters as for a single model, so that their values are comparable; in ``"compression"``,
    all are cut to the words of the shortest set.

    Args:
        reference_texts: As for :func:`score`.
        generated_texts: Name of each model -> its texts.
        metrics: As for :func:`score`.
        embedder: As for :func:`score`.
        pooling: As for :func:`score`.
        max_tokens: As for :func:`score`.
        k: As for :func:`score`.
        bootstrap: As for :func:`score`.
        groups: Name of each group column -> (label of each reference, name of each model -> label of each of
            its texts), with None for texts without a label.
        kmeans_seeds: As for :func:`score`.
        tokenizer: As for :func:`score`.
        scorer: As for :func:`score`.
        prompts: Name of each model -> prompt of each of its texts, or None for texts without one.
        registries: As for :func:`score`.

    Returns:
        The scores of each model, and the differences between models in the support metrics and in those of
        single texts.

    Raises:
        DataError: As :func:`score`.
        ConfigError: As :func:`score`.
        SourceError: As :func:`score`.
        ModelError: As :func:`score`.

    Warns:
        UserWarning, SmallSampleWarning: As :func:`score`.

    Examples:
        >>> comparison = textgamut.compare(reference_texts, {"a": texts_a, "b": texts_b})  # doctest: +SKIP
        >>> comparison.results["a"].precision, comparison.results["b"].precision  # doctest: +SKIP
        >>> comparison.differences  # doctest: +SKIP
    """
    compute = checked(
        reference_texts,
        generated_texts,
        metrics=metrics,
        embedder=embedder,
        pooling=pooling,
        max_tokens=max_tokens,
        k=k,
        bootstrap=bootstrap,
        groups=groups,
        kmeans_seeds=kmeans_seeds,
        tokenizer=tokenizer,
        scorer=scorer,
        prompts=prompts,
        registries=registries,
    )
    return compute()


def checked(
    reference_texts: Iterable[str],
    generated_texts: Mapping[str, Iterable[str]],
    *,
    metrics: Sequence[str],
    embedder: str | Path,
    pooling: Pooling | None,
    max_tokens: int,
    k: int,
    bootstrap: int,
    groups: Mapping[str, tuple[Iterable[Any], Mapping[str, Iterable[Any]]]] | None,
    kmeans_seeds: Sequence[int],
    tokenizer: str | Path | None,
    scorer: str | Path | None,
    prompts: Mapping[str, Iterable[str | None]] | None,
    registries: str | Path | None,
) -> Callable[[], Comparison]:
    """Check all arguments of ``compare``, fetch the checkpoints and load the tokenizers.

    Returns:
        A function that loads the weights and computes the scores.

    Raises:
        TextgamutError: As ``compare``.
    """
    from textgamut.features.embed import check_length
    from textgamut.features.modules import LIBRARY, own_modules
    from textgamut.features.reduce import SmallSampleWarning, warn_of_size
    from textgamut.metrics.divergence import check_seeds
    from textgamut.metrics.lengths import check_lengths
    from textgamut.metrics.overlap import check_overlap
    from textgamut.models.adapters import prepare_adapter
    from textgamut.models.checkpoint_files import read_config
    from textgamut.models.checkpoints import load_tokenizer, prepare
    from textgamut.models.context import context_length

    metrics = arguments.texts("metrics", arguments.listed("metrics", metrics, "families"))
    if not metrics:
        raise ConfigError(f"metrics: no family is named; valid: {', '.join(scored_families())}")
    for family in metrics:
        if family not in scored_families():
            raise ConfigError(f"metrics: no family {family!r}; {nearest(family, scored_families())}")
    if "likelihood" in metrics and not scorer:
        raise ConfigError("metrics: 'likelihood' needs a scorer: a model of models.yaml, or a folder")
    if "completions" in metrics and prompts is None:
        raise ConfigError("metrics: 'completions' needs the prompt of each generated text")
    k, max_tokens = arguments.integer("k", k, 1), arguments.integer("max_tokens", max_tokens, 1)
    if (bootstrap := arguments.integer("bootstrap", bootstrap)) == 1 or bootstrap > MOST_HALF_SAMPLES:
        raise DataError(f"bootstrap = {bootstrap}: must be 0, or from 2 to {MOST_HALF_SAMPLES:,}")
    kmeans_seeds = check_seeds(kmeans_seeds, "kmeans_seeds")
    _check_names(embedder, pooling, tokenizer, scorer, registries)
    reference = _texts("reference_texts", reference_texts)
    generated = _of_models("generated_texts", generated_texts, _texts)
    m = min(map(len, generated.values()))
    n = min(len(reference), m)
    if "support" in metrics and k >= n:
        raise DataError(f"k = {k} needs more than {k} texts per side, found {n}")
    labels = {}
    for column, (of_references, of_generated) in _group_columns(groups).items():
        sides = (
            _labels(f"groups: {column!r}", of_references, reference),
            _of_models(f"groups: {column!r}", of_generated, _labels, generated),
        )
        labels[column] = sides
        if "support" in metrics:
            for name, of_model in sides[1].items():
                if not any(label is not None for side in (sides[0], of_model) for label in side[:n]):
                    where = f"groups: {column!r}" + (f" of model {name!r}" if len(generated) > 1 else "")
                    raise DataError(f"{where}: no text has a group")
    starts = asked = None
    if prompts is not None:
        asked = _of_models("prompts", prompts, _labels, generated)
        starts = {name: [prompt or "" for prompt in of_model] for name, of_model in asked.items()}
    if m < max(map(len, generated.values())):
        warnings.warn(
            f"models differ in their number of texts: all cut to the first {m}, the fewest", stacklevel=3
        )
        generated = {name: texts[:m] for name, texts in generated.items()}

    if compared := not set(compared_families()).isdisjoint(metrics):
        warn_of_size(n, stacklevel=4)

    # Resolve all names before the first checkpoint is loaded.
    embeds = not set(feature_families()).isdisjoint(metrics)
    seen_by = _embedder(embedder, pooling, max_tokens, registries) if embeds else None
    if embeds:
        _for_each(generated, lambda name: check_lengths(reference, generated[name]))
    if compared:
        within = "support" not in metrics
        _for_each(generated, lambda name: check_overlap(reference[:n], generated[name][:n], within))
    token_source = None
    if tokenizer is not None and "ngram" in metrics:
        token_source, _ = _checkpoint(tokenizer, registries)
    scored_by = _checkpoint(scorer, registries) if scorer and "likelihood" in metrics else None

    seen_in = scored_in = tokens = scorer_tokens = adapter = None
    if seen_by is not None:
        seen_in = prepare(seen_by.source)
        transformer = own_modules(seen_in).transformer if seen_by.pooling == LIBRARY else seen_in
        check_length(seen_by.max_tokens, context_length(read_config(transformer)))
    if token_source is not None:
        tokens = load_tokenizer(prepare(token_source))
    if scored_by is not None:
        scored_in = prepare(scored_by[0])
        read_config(scored_in)
        scorer_tokens = load_tokenizer(scored_in, scored_by[1].bos)
        adapter = prepare_adapter(scored_by[1].adapter)

    @_ignoring(SmallSampleWarning)  # said above, once for all families and models
    def compute() -> Comparison:
        import numpy as np
        import torch

        from textgamut.features.embed import embed
        from textgamut.features.projection import project_features
        from textgamut.metrics.scores.completions import completions_scores
        from textgamut.metrics.scores.compression import compression_scores
        from textgamut.metrics.scores.distance import distance_scores
        from textgamut.metrics.scores.divergence import joint_divergence_scores
        from textgamut.metrics.scores.likelihood import likelihood_scores
        from textgamut.metrics.scores.ngram import ngram_scores
        from textgamut.metrics.scores.support import support_scores
        from textgamut.metrics.scores.vendi import vendi_scores
        from textgamut.models.checkpoints import load_causal_model
        from textgamut.models.devices import choose_device
        from textgamut.report.explorer import GeneratedSet, TextSet
        from textgamut.text import count_words

        rows: dict[str, list[Row]] = {name: [] for name in generated}
        columns: dict[str, dict[str, Any]] = {name: {} for name in generated}
        places: list[Any] = [None] * (len(generated) + 1)
        support: dict[str, SupportScores] = {}

        def add(score: Callable[[str], list[Row]]) -> None:
            for name, found in _for_each(generated, score).items():
                rows[name] += found

        if seen_by is not None and seen_in is not None:
            texts = [text for side in (reference, *generated.values()) for text in side]
            vectors = embed(texts, seen_in, seen_by, choose_device()).vectors
            bounds = len(reference) + m * np.arange(len(generated))
            seen, *of_models = np.split(vectors, bounds)
            places = np.split(project_features([vectors]), bounds)
            features = dict(zip(generated, of_models, strict=True))
            if "support" in metrics:

                def support_of(name: str) -> SupportScores:
                    groups = {column: (side, of[name]) for column, (side, of) in labels.items()}
                    return support_scores(seen, features[name], k, bootstrap, groups)

                support = _for_each(generated, support_of)
                for name, scores in support.items():
                    rows[name] += scores.rows
            if "divergence" in metrics:
                joint = joint_divergence_scores(seen, list(features.values()), kmeans_seeds)
                for name, found in zip(generated, joint, strict=True):
                    rows[name] += found
            if "vendi" in metrics:
                add(lambda name: vendi_scores(seen, features[name]))
            if "distance" in metrics:
                add(lambda name: distance_scores(seen, features[name]))
            if "completions" in metrics and asked is not None:

                def completions_of(name: str) -> list[Row]:
                    known = [row for row, prompt in enumerate(asked[name][:m]) if prompt]
                    prompts_of = [asked[name][row] for row in known]
                    return completions_scores(features[name][known], prompts_of)

                add(completions_of)
        if "ngram" in metrics:
            for name, scored in _for_each(
                generated, lambda name: ngram_scores(generated[name], tokens)
            ).items():
                rows[name] += scored[0]
                columns[name] |= scored[1]
        if "compression" in metrics:
            sets = (reference, *generated.values())
            words = min(sum(map(count_words, texts)) for texts in sets)
            add(lambda name: compression_scores(generated[name], words))
        if scored_by is not None and scored_in is not None:
            model = load_causal_model(scored_in, torch.float32, choose_device(), adapter=adapter)

            def likelihood_of(name: str) -> tuple[list[Row], dict[str, Any]]:
                of_model = None if starts is None else starts[name][:m]
                batch_size = scored_by[1].batch_size
                return likelihood_scores(model, scorer_tokens, of_model, generated[name], batch_size)

            for name, (found, of_texts) in _for_each(generated, likelihood_of).items():
                rows[name] += found
                columns[name] |= of_texts
        label = None if seen_by is None else seen_by.label
        all_references = tuple(reference)
        groups = {column: side for column, (side, _) in labels.items()}
        human = TextSet(_frame(reference), _groups(groups, reference), places[0])
        results = {}
        for place, (name, texts) in enumerate(generated.items(), start=1):
            groups = {column: of[name][:m] for column, (_, of) in labels.items()}
            prompt = {} if starts is None else {"prompt": starts[name][:m]}
            frame = _frame(texts).assign(**prompt, **columns[name])
            known = GeneratedSet(frame, _groups(groups, texts), places[place])
            results[name] = ScoreResult(
                tuple(rows[name]), k, label, all_references, tuple(texts), support.get(name), human, known
            )
        return Comparison(results)

    return compute


def _frame(texts: Sequence[str]) -> pd.DataFrame:
    """Return texts as a table, with an id for each: its row."""
    import pandas as pd

    ids = [f"row-{row}" for row in range(1, len(texts) + 1)]
    return pd.DataFrame({"id": ids, "text": list(texts)})


def _groups(labels: Mapping[str, Sequence[str | None]], texts: Sequence[str]) -> pd.DataFrame:
    """Return the labels of texts as a table, with a column for each group column."""
    import pandas as pd

    return pd.DataFrame(dict(labels), index=range(len(texts)), dtype="str")


def _for_each(models: Iterable[str], work: Callable[[str], T]) -> dict[str, T]:
    """Call a function with each model; warnings that not all models cause begin with the model's name."""
    done: dict[str, T] = {}
    found: dict[str, dict[tuple[str, type[Warning]], None]] = {}
    for name in models:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done[name] = work(name)
        found[name] = dict.fromkeys((str(warning.message), warning.category) for warning in caught)
    shared = [
        warning for warning in next(iter(found.values())) if all(warning in of for of in found.values())
    ]
    for message, category in shared:
        warnings.warn(message, category, stacklevel=4)
    for name, of_model in found.items():
        for message, category in of_model:
            if (message, category) not in shared:
                warnings.warn(f"{printable(name)}: {message}", category, stacklevel=4)
    return done


def _of_models(
    where: str, given: Mapping[str, Any], check: Callable[..., list[T]], *more: Mapping[str, Sequence[str]]
) -> dict[str, list[T]]:
    """Check what is given for each model, with the name of the model in messages if there are several."""
    if not isinstance(given, Mapping):
        raise DataError(f"{where}: expected a dictionary by model, found {type(given).__name__}")
    if not given:
        raise DataError(f"{where}: there are no models")
    for texts in more:
        for name in given:
            if name not in texts:
                raise DataError(f"{where}: unknown model {name!r}; {nearest(str(name), texts)}")
        for name in texts:
            if name not in given:
                raise DataError(f"{where}: nothing is given for model {name!r}")
    found = {}
    for name, values in given.items():
        if not isinstance(name, str):
            raise DataError(f"{where}: the name of a model is not a string but of type {type(name).__name__}")
        arguments.characters(f"{where}: the name of the model {name!a}", name)
        of_model = f"{where} of model {name!r}" if len(given) > 1 else where
        found[name] = check(of_model, values, *(texts[name] for texts in more))
    return found


def _group_columns(groups: object) -> dict[str, tuple[Any, Any]]:
    """Return the labels of references and generated texts for each group column."""
    found = {}
    given = arguments.mapping("groups", {} if groups is None else groups, "name -> labels of each side")
    for column, sides in given.items():
        if not isinstance(column, str) or not isinstance(sides, tuple | list) or len(sides) != 2:
            raise DataError(
                f"groups: {column!r}: expected a name and a pair, the labels of references and of generated "
                f"texts, found {arguments.described(sides)}"
            )
        arguments.characters(f"groups: {column!a}", column)
        found[column] = (sides[0], sides[1])
    return found


def _check_names(embedder: object, pooling: object, *others: object) -> None:
    """Check the types of what names a model or a folder; whether it exists is checked later."""
    arguments.path("embedder", embedder, "the name of an entry or a folder")
    if pooling is not None and not (isinstance(pooling, str) and pooling in get_args(Pooling)):
        choices = ", ".join(get_args(Pooling))
        raise ConfigError(f"pooling: {arguments.described(pooling)} is not one of the choices: {choices}")
    for name, value in zip(("tokenizer", "scorer", "registries"), others, strict=True):
        if value is not None:
            arguments.path(name, value, "the name of an entry or a folder")


@contextlib.contextmanager
def _ignoring(category: type[Warning]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def _texts(name: str, texts: Iterable[str]) -> list[str]:
    found = arguments.texts(name, texts)
    if len(found) < 2:
        raise DataError(f"{name}: at least two texts are needed, not {len(found)}")
    return found


def _labels(name: str, labels: Iterable[Any], texts: Sequence[str]) -> list[str | None]:
    found = arguments.labels(name, labels)
    if len(found) != len(texts):
        raise DataError(f"{name}: {len(found)} values for {len(texts)} texts")
    return found


def _embedder(
    name: str | Path, pooling: Pooling | None, max_tokens: int, registries: str | Path | None
) -> Embedder:
    from textgamut.config.entries.base import expanded

    folder = expanded(str(name))
    entry: Embedder
    if not folder.is_dir():
        entry = _entry("embedder", name, registries)
        return entry
    from pydantic import TypeAdapter

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.yaml import validate

    if pooling is None and (folder / "modules.json").is_file():
        pooling = "sentence-transformers"
    if pooling is None:
        choices = ", ".join(get_args(Pooling))
        raise ConfigError(f"{folder}: an embedder given as a folder needs a pooling: {choices}")
    source = {"kind": "file", "path": str(folder)}
    content = {"label": _label(folder), "source": source, "pooling": pooling, "max_tokens": max_tokens}
    entry = validate(TypeAdapter(Embedder), content, str(folder))
    return entry


def _checkpoint(name: str | Path, registries: str | Path | None) -> tuple[Source, Model]:
    """Return a registered model, or one in a folder: the source of its weights, and its entry."""
    from textgamut.config.entries.base import expanded
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import FileSource

    folder = expanded(str(name))
    model: Model
    if folder.is_dir():
        source = FileSource(kind="file", path=str(folder))
        model = Model(label=_label(folder), family=_label(folder), source=source, chat="none")
    else:
        model = _entry("model", name, registries)
    try:
        return model.checkpoint, model
    except ConfigError as error:
        raise ConfigError(f"model {str(name)!r} {error}") from None


def _label(folder: Path) -> str:
    return folder.absolute().name or str(folder)  # the name of "." is empty


def _entry(kind: str, name: str | Path, registries: str | Path | None) -> Any:
    from textgamut.config.loading import load_registry

    entries = load_registry(f"{kind}s", registries)
    if name not in entries:
        what = ": there is no such folder" if os.path.basename(name) != str(name) else ""
        if os.path.exists(name):
            what = ": it is a file, and a checkpoint is given as a folder"
        raise ConfigError(f"unknown {kind} {str(name)!r}{what}; {nearest(str(name), entries)}")
    return entries[name]
