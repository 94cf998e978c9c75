"""Entity metrics: density of the named entities of a text, and overlap with those in its reference.

Source: NW section 4.2, equations 5 and 6. Named entities are found by a spaCy pipeline.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError, ModelError
from textgamut.language import ENGLISH, check_defined, words_end_in
from textgamut.metrics.rows import Scores, text_rows
from textgamut.progress import Progress
from textgamut.text import count_words

if TYPE_CHECKING:
    from spacy.language import Language

REVISION = 1
"""Increase when the same texts produce different entities, or the same entities different values."""

ANY_LANGUAGE = "xx"
"""spaCy's code of a pipeline for several languages."""


@dataclass(frozen=True)
class EntityMetrics:
    """The entity metrics of N texts."""

    information_density: NDArray[np.float64]
    """(N,): number of entity mentions over number of words, 0 or more; nan for a text without words."""
    entity_overlap: NDArray[np.float64] | None
    """(N,): Jaccard index of the sets of entities of a text and its reference, in [0, 1]; nan if neither has
    an entity. None without references."""


def load_tagger(folder: Path) -> Language:
    """Load a spaCy pipeline from its folder, for the CPU.

    spaCy reads msgpack, JSON and arrays, but no pickle. Functions named in ``config.cfg`` must be registered
    by an installed package.

    Args:
        folder: A folder with ``config.cfg`` and ``meta.json``.

    Raises:
        TextgamutError: If spaCy cannot load the pipeline.
    """
    import spacy
    from thinc.api import use_ops

    folder = Path(folder)  # a string could also name an installed package
    try:
        with use_ops("numpy", use_blis=False):  # numpy's BLAS is faster than blis
            return spacy.load(folder)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"{folder}: spaCy cannot load this pipeline: {error}") from error


def find_entities(
    texts: Sequence[str], nlp: Language, batch_size: int = 16, processes: int = 1
) -> list[list[str]]:
    """List the named entities in texts, of all types that the pipeline supports.

    Only the components that find entities run, and those that provide vectors to them. Without the parser,
    there are no sentence boundaries, which entities cannot cross; this changes about 1 entity in 1000.

    Args:
        texts: N texts.
        nlp: The pipeline. Its other components are disabled during the call.
        batch_size: Number of texts per batch; it does not affect the entities.
        processes: Number of processes; it does not affect the entities. Two processes need 0.6 of the time of
            one (``benchmarks/per_text.py --threads``) if they are forked, as on Linux.

    Returns:
        N lists with an entry for each mention, in the order of the text, with white space normalised to
        single spaces.

    Raises:
        TextgamutError: If no component finds entities, a text is longer than ``nlp.max_length``, or ``texts``
            is a single string.
    """
    from threadpoolctl import threadpool_limits

    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    for row, text in enumerate(texts):
        if len(text) > nlp.max_length:
            raise DataError(
                f"text {row} has {len(text):,} characters: the pipeline accepts at most {nlp.max_length:,}"
            )
    needed = _entity_components(nlp)
    found = []
    progress = Progress(len(texts), "texts")
    # One BLAS thread, since the matrices are too small to benefit from more.
    with nlp.select_pipes(enable=needed), threadpool_limits(1, user_api="blas"):
        for doc in nlp.pipe(texts, batch_size=batch_size, n_process=processes):
            found.append([" ".join(entity.text.split()) for entity in doc.ents])
            progress.advance(1)
    return found


def entity_metrics(
    generated_entities: Sequence[Sequence[str]],
    word_counts: ArrayLike,
    reference_entities: Sequence[Collection[str]] | None = None,
) -> EntityMetrics:
    """Compute information density and, if references are given, entity overlap (NW section 4.2).

    Density counts every mention, since the paper's values do not change when texts repeat themselves (its
    appendix 9.3). Overlap compares sets of strings exactly, ignoring entity types; as the paper notes,
    different forms of a name are different entities.

    Args:
        generated_entities: N lists of mentions, from ``find_entities``.
        word_counts: (N,) number of words of each text.
        reference_entities: N lists of mentions, row i for the reference of text i; None for no overlap.

    Returns:
        The metrics, row i for text i.

    Raises:
        TextgamutError: If the numbers of texts, counts and references differ, or a count is below 0.
    """
    counts = np.asarray(word_counts, dtype=np.float64)
    if counts.shape != (len(generated_entities),):
        raise DataError(
            f"entities of {len(generated_entities)} texts, but word counts of shape {counts.shape}"
        )
    wrong = np.flatnonzero(~(counts >= 0))
    if len(wrong):
        raise DataError(f"text {wrong[0]}: the word count {counts[wrong[0]]:g} must be 0 or more")
    if reference_entities is not None and len(reference_entities) != len(generated_entities):
        raise DataError(
            f"entities of {len(generated_entities)} texts, but of {len(reference_entities)} references"
        )
    mentions = np.array([len(found) for found in generated_entities], dtype=np.float64)
    density = np.divide(mentions, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    if reference_entities is None:
        return EntityMetrics(density, None)
    overlap = [
        len(a & b) / len(a | b) if a or b else np.nan
        for a, b in zip(map(set, generated_entities), map(set, reference_entities), strict=True)
    ]
    return EntityMetrics(density, np.array(overlap, dtype=np.float64))


def score(
    texts: Sequence[str],
    own_references: Sequence[str] | None,
    tagger: Language,
    threads: int = 1,
    language: str = ENGLISH,
) -> Scores:
    """Compute information density and, if the prompts have references, entity overlap.

    Args:
        texts: N texts.
        own_references: The reference of the prompt of each text; None for no overlap.
        tagger: A spaCy pipeline.
        threads: Number of processes.
        language: Language of the texts, which must be that of the pipeline.

    Raises, Warns:
        As :func:`find_entities`, ``language.check_defined`` and ``metrics.rows.text_rows``.
    """
    if tagger.lang != ANY_LANGUAGE:
        check_defined(f"the tagger {tagger.meta['name']}", language, [tagger.lang])
    end = words_end_in(language)
    words = np.array([count_words(text, end) for text in texts])
    asked = list(dict.fromkeys(own_references or ()))
    # In one call, since each starts its processes anew.
    found = find_entities([*texts, *asked], tagger, processes=threads)
    of_reference = dict(zip(asked, found[len(texts) :], strict=True))
    of_references = None if own_references is None else [of_reference[text] for text in own_references]
    metrics = entity_metrics(found[: len(texts)], words, of_references)
    columns = {"information_density": metrics.information_density}
    if metrics.entity_overlap is not None:
        columns["entity_overlap"] = metrics.entity_overlap
    return Scores(text_rows(columns), columns)


def _entity_components(nlp: Language) -> list[str]:
    """Return the names of the components that find entities, and of those that provide vectors to them."""
    finders = {name for name in nlp.pipe_names if "doc.ents" in nlp.get_pipe_meta(name).assigns}
    if not finders:
        raise ModelError(
            f"the pipeline has no component that finds entities: {', '.join(nlp.pipe_names) or 'it is empty'}"
        )
    return [
        name
        for name, component in nlp.pipeline
        if name in finders or finders.intersection(getattr(component, "listening_components", ()))
    ]
