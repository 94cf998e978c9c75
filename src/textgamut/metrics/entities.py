"""Entity metrics: how many named entities a text mentions, and how many of them its reference mentions too.

Source: NW section 4.2, equations 5 and 6. Named entities are found by a pipeline of spaCy.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from textgamut.errors import DataError, ModelError
from textgamut.progress import Progress

if TYPE_CHECKING:
    from spacy.language import Language

REVISION = 1
"""Raised when the same texts give other entities, or the same entities other numbers."""


@dataclass(frozen=True)
class EntityMetrics:
    """The entity metrics of N texts."""

    information_density: NDArray[np.float64]
    """(N,): mentions of entities over words, 0 or more; nan for a text without a word."""
    entity_overlap: NDArray[np.float64] | None
    """(N,): Jaccard index of the text's set of entities and its reference's, in [0, 1]; nan where neither has
    an entity. None without references."""


def load_tagger(folder: Path) -> Language:
    """Load a pipeline of spaCy from its folder, for the CPU.

    spaCy reads msgpack, JSON and arrays, no pickle. The functions that ``config.cfg`` names are looked up
    among those that installed packages have registered.

    Args:
        folder: It holds ``config.cfg`` and ``meta.json``.

    Raises:
        TextgamutError: spaCy cannot load it.
    """
    import spacy
    from thinc.api import use_ops

    folder = Path(folder)  # a string could also name an installed package
    try:
        with use_ops("numpy", use_blis=False):  # numpy's BLAS, faster than blis
            return spacy.load(folder)
    except (OSError, ValueError, ImportError) as error:
        raise ModelError(f"{folder}: spaCy cannot load this pipeline: {error}") from error


def find_entities(
    texts: Sequence[str], nlp: Language, batch_size: int = 16, processes: int = 1
) -> list[list[str]]:
    """List the named entities that texts mention, of all types that the pipeline knows.

    Only the components that find entities run, and those whose vectors they read. The sentence boundaries of
    a parser, which no entity crosses, are therefore unknown: that moves about one entity in a thousand.

    Args:
        texts: N texts.
        nlp: The pipeline; its other components are switched off meanwhile.
        batch_size: Texts at once; it changes no entity.
        processes: How many share the texts; it changes no entity either. Two need 0.6 of the time of one
            (``benchmarks/per_text.py --threads``) where they are forked, as on Linux.

    Returns:
        N lists, an entry a mention, in the order of the text: its own words, white space as one blank.

    Raises:
        TextgamutError: No component finds entities, a text is longer than ``nlp.max_length``, or ``texts`` is
            one string.
    """
    from threadpoolctl import threadpool_limits

    if isinstance(texts, str):
        raise DataError("a list of texts is needed, not one string")
    for row, text in enumerate(texts):
        if len(text) > nlp.max_length:
            raise DataError(f"text {row} has {len(text):,} characters: the pipeline takes {nlp.max_length:,}")
    needed = _entity_components(nlp)
    found = []
    progress = Progress(len(texts), "texts")
    # The matrices are too small for threads.
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
    """Compute information density and, given references, entity overlap (NW section 4.2).

    Density counts every mention: the paper's stays the same where texts repeat themselves (its appendix 9.3).
    Overlap compares sets of strings, letter by letter, whatever their types: as the paper notes, other forms
    of a name are other entities.

    Args:
        generated_entities: N lists of mentions, as ``find_entities`` gives them.
        word_counts: (N,) number of words of each text.
        reference_entities: The same of N references, row i for that of text i; None: no overlap.

    Returns:
        The metrics, row i for text i.

    Raises:
        TextgamutError: Not as many of one as of the other, or a number of words below 0.
    """
    counts = np.asarray(word_counts, dtype=np.float64)
    if counts.shape != (len(generated_entities),):
        raise DataError(
            f"entities of {len(generated_entities)} texts, but numbers of words of shape {counts.shape}"
        )
    wrong = np.flatnonzero(~(counts >= 0))
    if len(wrong):
        raise DataError(f"text {wrong[0]} has {counts[wrong[0]]:g} words")
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


def _entity_components(nlp: Language) -> list[str]:
    """Name the components that set a text's entities, and those whose vectors they share."""
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
