"""Check the options, and find what they name: embedder, tokenizer and scorer, before weights are loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from textgamut import validation
from textgamut.catalogue import FAMILIES, scored_families
from textgamut.catalogue.family import MODEL, PROMPT_IDS, TOKENIZER
from textgamut.catalogue.support import MOST_HALF_SAMPLES
from textgamut.errors import ConfigError, DataError, nearest
from textgamut.language import check_language
from textgamut.scoring.options import Options, Pooling

if TYPE_CHECKING:
    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import Source


@dataclass(frozen=True)
class Resolved:
    """What the options name, with checkpoints in folders of this machine."""

    embedder: Embedder | None = None
    """None if no family needs features."""
    embedder_folder: Path = Path()
    tokenizer: Any = None
    """The tokenizer of the n-gram metrics; None for words."""
    scorer: Model | None = None
    """None if no family needs a scoring model."""
    scorer_folder: Path = Path()
    scorer_tokenizer: Any = None
    adapter: Path | None = None
    """Folder of the scorer's adapter."""
    sources: Mapping[str, Source] = field(default_factory=dict)
    """Where each checkpoint is from: ``embedder``, ``tokenizer``, ``scorer``, ``adapter``."""


def check_options(options: Options, with_prompts: bool) -> Options:
    """Check the values of all options; whether what they name exists is checked later.

    Args:
        options: The options.
        with_prompts: Whether the prompts of the generated texts are given.

    Returns:
        The options in their plain form.

    Raises:
        DataError: If a value has the wrong type or is out of range.
        ConfigError: If a family does not exist or cannot be computed, or a required option is missing.
    """
    from textgamut.metrics.divergence import check_seeds

    metrics = validation.texts("metrics", validation.listed("metrics", options.metrics, "families"))
    if not metrics:
        raise ConfigError(f"metrics: no family is named; valid: {', '.join(scored_families())}")
    for family in metrics:
        if family not in scored_families():
            raise ConfigError(f"metrics: no family {family!r}; {nearest(family, scored_families())}")
        if MODEL in FAMILIES[family].reads and not options.scorer:
            raise ConfigError(f"metrics: {family!r} needs a scorer: a model of models.yaml, or a folder")
        if PROMPT_IDS in FAMILIES[family].reads and not with_prompts:
            raise ConfigError(f"metrics: {family!r} needs the prompt of each generated text")
    k, max_tokens = (
        validation.integer("k", options.k, 1),
        validation.integer("max_tokens", options.max_tokens, 1),
    )
    n = None if options.n is None else validation.integer("n", options.n, 2)
    bootstrap = validation.integer("bootstrap", options.bootstrap)
    if bootstrap == 1 or bootstrap > MOST_HALF_SAMPLES:
        raise DataError(f"bootstrap = {bootstrap}: must be 0, or from 2 to {MOST_HALF_SAMPLES:,}")
    seeds = check_seeds(options.kmeans_seeds, "kmeans_seeds")
    language = check_language(options.language)
    validation.path("embedder", options.embedder, "the name of an entry or a folder")
    pooling = options.pooling
    if pooling is not None and not (isinstance(pooling, str) and pooling in get_args(Pooling)):
        choices = ", ".join(get_args(Pooling))
        raise ConfigError(f"pooling: {validation.described(pooling)} is not one of the choices: {choices}")
    refusals = validation.texts("refusals", validation.listed("refusals", options.refusals, "phrases"))
    for name in ("tokenizer", "scorer", "registries"):
        if (value := getattr(options, name)) is not None:
            validation.path(name, value, "the name of an entry or a folder")
    for family in metrics:
        FAMILIES[family].check_packages()
    return replace(
        options,
        metrics=metrics,
        n=n,
        language=language,
        k=k,
        max_tokens=max_tokens,
        bootstrap=bootstrap,
        kmeans_seeds=seeds,
        refusals=refusals,
    )


def resolve(options: Options) -> Resolved:
    """Find what the options name, fetch the checkpoints, and load the tokenizers.

    Raises:
        TextgamutError: As ``textgamut.score``.
    """
    from textgamut.features.embed import check_length
    from textgamut.features.modules import LIBRARY, own_modules
    from textgamut.models.adapters import prepare_adapter
    from textgamut.models.checkpoint_files import read_config
    from textgamut.models.checkpoints import load_tokenizer, prepare
    from textgamut.models.context import context_length

    reads = {read for family in options.metrics for read in FAMILIES[family].reads}
    embeds = any(FAMILIES[family].of_features for family in options.metrics)
    # All names before the first checkpoint is fetched.
    embedder = _embedder(options) if embeds else None
    with_tokenizer = options.tokenizer is not None and TOKENIZER in reads
    tokenizer = _model(options.tokenizer, options) if options.tokenizer and with_tokenizer else None
    scorer = _model(options.scorer, options) if options.scorer and MODEL in reads else None
    found = Resolved()
    sources: dict[str, Source] = {}
    if embedder is not None:
        folder = prepare(embedder.source)
        transformer = own_modules(folder).transformer if embedder.pooling == LIBRARY else folder
        check_length(embedder.max_tokens, context_length(read_config(transformer)))
        found = replace(found, embedder=embedder, embedder_folder=folder)
        sources["embedder"] = embedder.source
    if tokenizer is not None:
        found = replace(found, tokenizer=load_tokenizer(prepare(tokenizer.checkpoint)))
        sources["tokenizer"] = tokenizer.checkpoint
    if scorer is not None:
        folder = prepare(scorer.checkpoint)
        read_config(folder)
        own = load_tokenizer(folder, scorer.bos)
        adapter = prepare_adapter(scorer.adapter)
        found = replace(found, scorer=scorer, scorer_folder=folder, scorer_tokenizer=own, adapter=adapter)
        sources["scorer"] = scorer.checkpoint
        if scorer.adapter is not None:
            sources["adapter"] = scorer.adapter
    return replace(found, sources=sources)


def _embedder(options: Options) -> Embedder:
    from textgamut.fields import expanded

    folder = expanded(str(options.embedder))
    entry: Embedder
    if not folder.is_dir():
        entry = _entry("embedder", options.embedder, options)
        return entry
    from pydantic import TypeAdapter

    from textgamut.config.entries.embedders import Embedder
    from textgamut.config.yaml import validate

    pooling = options.pooling
    if pooling is None and (folder / "modules.json").is_file():
        pooling = "sentence-transformers"
    if pooling is None:
        choices = ", ".join(get_args(Pooling))
        raise ConfigError(f"{folder}: an embedder given as a folder needs a pooling: {choices}")
    source = {"kind": "file", "path": str(folder)}
    content = {
        "label": _label(folder),
        "source": source,
        "pooling": pooling,
        "max_tokens": options.max_tokens,
    }
    entry = validate(TypeAdapter(Embedder), content, str(folder))
    return entry


def _model(name: str | Path, options: Options) -> Model:
    """Return a registered model, or one in a folder, whose weights are available."""
    from textgamut.config.entries.models import Model
    from textgamut.config.entries.sources import FileSource
    from textgamut.fields import expanded

    folder = expanded(str(name))
    model: Model
    if folder.is_dir():
        source = FileSource(kind="file", path=str(folder))
        model = Model(label=_label(folder), family=_label(folder), source=source, chat="none")
    else:
        model = _entry("model", name, options)
    try:
        assert model.checkpoint
    except ConfigError as error:
        raise ConfigError(f"model {str(name)!r} {error}") from None
    return model


def _label(folder: Path) -> str:
    return folder.absolute().name or str(folder)  # the name of "." is empty


def _entry(kind: str, name: str | Path, options: Options) -> Any:
    from textgamut.config.loading import load_registry

    entries = load_registry(f"{kind}s", options.registries)
    if name not in entries:
        what = ": there is no such folder" if os.path.basename(name) != str(name) else ""
        if os.path.exists(name):
            what = ": it is a file, and a checkpoint is given as a folder"
        raise ConfigError(f"unknown {kind} {str(name)!r}{what}; {nearest(str(name), entries)}")
    return entries[name]
