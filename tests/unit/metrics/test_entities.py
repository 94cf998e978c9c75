"""Entity metrics: sets and counts by definition, known names, and the entities of a real pipeline."""

import logging
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.entities import entity_metrics, find_entities, load_tagger

spacy = pytest.importorskip("spacy")

NAMES = ["Ada Lovelace", "London", "Charles Babbage", "1815", "The Times"]
TEXTS = [
    "Ada Lovelace was born in London in 1815.",
    "",
    " \n ",
    "London, London and\nLondon: Ada\n  Lovelace met Charles\tBabbage.",
    "A text without a name, in london.",
    "The Times of London",
]
FOUND = [
    ["Ada Lovelace", "London", "1815"],
    [],
    [],
    ["London", "London", "London", "Ada Lovelace", "Charles Babbage"],
    [],
    ["The Times", "London"],
]


@pytest.fixture
def pipeline():
    """A pipeline that knows exactly the names above, between components that entities do not need."""
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    ruler = nlp.add_pipe("entity_ruler")
    for name in NAMES:
        parts: list[dict] = []
        for word in name.split():
            parts += [{"IS_SPACE": True, "OP": "*"}] * bool(parts) + [{"ORTH": word}]
        ruler.add_patterns([{"label": "NAME", "pattern": parts}])

    @spacy.language.Language.component("refuse")
    def refuse(doc):
        raise AssertionError("this component is not needed")

    nlp.add_pipe("refuse", last=True)
    return nlp


# --- finding them -------------------------------------------------------------------------------------


def test_known_names_are_found(pipeline) -> None:
    """Every mention, in order, as text with single blanks; components that are not needed do not run."""
    assert find_entities(TEXTS, pipeline) == FOUND
    assert find_entities([], pipeline) == []


def test_the_pipeline_is_left_as_it_was(pipeline) -> None:
    pipeline.disable_pipe("sentencizer")
    before = pipeline.pipe_names, pipeline.disabled
    find_entities(TEXTS, pipeline)
    assert (pipeline.pipe_names, pipeline.disabled) == before


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_neither_batch_nor_order_matters(pipeline, batch_size: int) -> None:
    assert find_entities(TEXTS[::-1], pipeline, batch_size=batch_size) == FOUND[::-1]


def test_processes_share_the_texts(pipeline) -> None:
    assert find_entities(TEXTS, pipeline, batch_size=2, processes=2) == FOUND


def test_long_work_tells_how_far_it_is(pipeline, caplog) -> None:
    with caplog.at_level(logging.INFO, "textgamut"):
        find_entities(TEXTS, pipeline)
    assert "6 of 6 texts" in caplog.text


def test_components_that_share_their_vectors_run_too() -> None:
    """A tagger that listens to a shared network, and learned one name through it, finds that name."""
    shared = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    parser = {"@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "tok2vec": shared}
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    nlp.add_pipe(
        "ner",
        config={"model": parser | {"extra_state_tokens": False, "hidden_width": 16, "maxout_pieces": 2}},
    )
    text = "We saw London and left."
    example = spacy.training.Example.from_dict(nlp.make_doc(text), {"entities": [(7, 13, "PLACE")]})
    spacy.util.fix_random_seed(0)
    optimizer = nlp.initialize(lambda: [example])
    for _ in range(20):
        nlp.update([example], sgd=optimizer)
    assert find_entities([text], nlp) == [["London"]]
    with nlp.select_pipes(enable=["ner"]):
        assert not nlp(text).ents


def test_a_folder_is_loaded(pipeline, tmp_path: Path) -> None:
    from thinc.api import get_current_ops

    pipeline.remove_pipe("refuse")
    pipeline.to_disk(tmp_path / "model")
    before = get_current_ops()
    assert find_entities(TEXTS, load_tagger(tmp_path / "model")) == FOUND
    assert get_current_ops() is before


def test_a_folder_that_is_no_pipeline(tmp_path: Path) -> None:
    with pytest.raises(TextgamutError, match="nowhere: spaCy cannot load this pipeline"):
        load_tagger(tmp_path / "nowhere")
    with pytest.raises(TextgamutError, match="spaCy cannot load this pipeline"):
        load_tagger(tmp_path)
    spacy.blank("en").to_disk(tmp_path / "model")
    config = tmp_path / "model/config.cfg"
    config.write_text(config.read_text().replace("spacy.Tokenizer.v1", "os.system"))
    with pytest.raises(TextgamutError, match=r"spaCy cannot load this pipeline.*os\.system"):
        load_tagger(tmp_path / "model")


def test_texts_and_pipelines_that_cannot_work(pipeline) -> None:
    with pytest.raises(TextgamutError, match="a list of texts is needed"):
        find_entities("a text", pipeline)
    pipeline.max_length = 20
    with pytest.raises(TextgamutError, match="text 1 has 21 characters: the pipeline accepts at most 20"):
        find_entities(["a" * 20, "a" * 21], pipeline)
    with pytest.raises(TextgamutError, match="no component that finds entities: it is empty"):
        find_entities(["a"], spacy.blank("en"))
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    with pytest.raises(TextgamutError, match="no component that finds entities: sentencizer"):
        find_entities(["a"], nlp)


# --- counting them ------------------------------------------------------------------------------------


def test_density_counts_mentions_and_overlap_counts_names() -> None:
    words = [len(text.split()) for text in TEXTS]
    metrics = entity_metrics(FOUND, words, [["London"]] * len(TEXTS))
    np.testing.assert_allclose(metrics.information_density, [3 / 8, np.nan, np.nan, 5 / 9, 0, 2 / 4])
    np.testing.assert_allclose(metrics.entity_overlap, [1 / 3, 0, 0, 1 / 3, 0, 1 / 2])


def test_overlap_of_extremes() -> None:
    metrics = entity_metrics(
        [["a", "b"], ["a"], [], ["a"], []], [9] * 5, [["b", "a", "a"], ["b"], ["a"], [], []]
    )
    np.testing.assert_array_equal(metrics.entity_overlap, [1, 0, 0, 0, np.nan])


def test_without_references_there_is_no_overlap() -> None:
    metrics = entity_metrics(FOUND, [1] * len(FOUND))
    assert metrics.entity_overlap is None
    np.testing.assert_array_equal(metrics.information_density, [3, 0, 0, 5, 0, 2])


def test_other_forms_are_other_names() -> None:
    metrics = entity_metrics([["the Times", "london"]], [4], [["The Times", "London"]])
    assert metrics.entity_overlap is not None
    assert metrics.entity_overlap[0] == 0


names = st.lists(st.sampled_from("abcde"), max_size=6)


@given(st.lists(st.tuples(names, names, st.integers(0, 9)), max_size=6))
@settings(max_examples=200)
def test_metrics_by_their_definition(rows: list[tuple[list[str], list[str], int]]) -> None:
    generated, reference, words = ([row[i] for row in rows] for i in range(3))
    metrics = entity_metrics(generated, words, reference)
    assert metrics.entity_overlap is not None
    for i in range(len(rows)):
        both = [name for name in "abcde" if name in generated[i] and name in reference[i]]
        either = [name for name in "abcde" if name in generated[i] or name in reference[i]]
        expected = float(Fraction(len(both), len(either))) if either else np.nan
        np.testing.assert_equal(metrics.entity_overlap[i], expected)
        np.testing.assert_equal(
            metrics.information_density[i], len(generated[i]) / words[i] if words[i] else np.nan
        )
    swapped = entity_metrics(reference, words, generated).entity_overlap
    np.testing.assert_array_equal(swapped, metrics.entity_overlap)
    shuffled = entity_metrics(generated[::-1], words[::-1], reference[::-1])
    np.testing.assert_array_equal(shuffled.information_density[::-1], metrics.information_density)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([["a"]], [1, 2]), r"entities of 1 texts, but word counts of shape \(2,\)"),
        (([["a"], []], [3, -1]), "text 1: the word count -1 must be 0 or more"),
        (([["a"]], [np.nan]), "text 0: the word count nan must be 0 or more"),
        (([["a"]], [1], []), "entities of 1 texts, but of 0 references"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(TextgamutError, match=message):
        entity_metrics(*arguments)


# --- a real pipeline ----------------------------------------------------------------------------------

REAL = [
    "Ada Lovelace was born in London in 1815.",
    "It rained, and nobody went out.",
    "",
    "On 24 February 2022, Russia invaded Ukraine. Apple and Microsoft closed their stores in Moscow. " * 12,
    "ünïcödé 日本語 <b>&amp;</b>\n\n\n  #:",
]


@pytest.fixture(scope="module")
def tagger(demo):
    from textgamut.sources.fetch import fetch

    return load_tagger(fetch(demo.taggers["en-core-web-sm"].source))


@pytest.mark.slow
def test_a_real_pipeline_finds_people_places_and_dates(tagger) -> None:
    found = find_entities(REAL, tagger)
    assert found[0] == ["Ada Lovelace", "London", "1815"]
    assert found[1] == found[2] == []
    assert {"Russia", "Ukraine", "Apple", "Microsoft", "Moscow"} <= set(found[3])
    words = [len(text.split()) for text in REAL]
    metrics = entity_metrics(found, words, found)
    assert metrics.entity_overlap is not None
    assert metrics.information_density[0] == 3 / 8
    assert metrics.entity_overlap[0] == metrics.entity_overlap[3] == 1
    assert np.isnan(metrics.entity_overlap[[1, 2]]).all()


@pytest.mark.slow
def test_a_real_pipeline_in_any_batch_and_order(tagger) -> None:
    once = find_entities(REAL, tagger)
    assert find_entities(REAL[::-1] * 5, tagger, batch_size=1) == once[::-1] * 5
    assert find_entities(REAL * 5, tagger, batch_size=64) == once * 5


@pytest.mark.slow
def test_a_real_pipeline_finds_what_spacy_finds_with_all_its_parts(demo, tagger) -> None:
    """Whatever BLAS it multiplies with, and although the parser does not run."""
    from textgamut.sources.fetch import fetch

    nlp = spacy.load(fetch(demo.taggers["en-core-web-sm"].source))
    theirs = [[" ".join(entity.text.split()) for entity in nlp(text).ents] for text in REAL]
    assert find_entities(REAL, tagger) == theirs
