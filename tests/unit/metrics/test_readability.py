"""Readability: equal to textstat, to counts by hand, and true of the world."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.errors import TextgamutError
from textgamut.metrics.readability import readability

textstat = pytest.importorskip("textstat").textstat

EASY = "The cat sat on the mat. The dog ran to the cat. It was a hot day."
HARD = (
    "Notwithstanding considerable institutional deterioration, administrative authorities "
    "systematically underestimated epidemiological uncertainties regarding international transportation."
)
REAL = [
    EASY,
    HARD,
    "Don't! The U.S. economy grew by 3.5 percent in 2016, Mr. O'Brien's well-known adviser said. Wasn't it?",
    "Zzyzxquat flibbertigibbets — naïve café-goers' “quoted” 'words' … and http://example.org/a_b.",
    "one two\n\nthree. four",
    "Hm. Shh! No.",
]
pieces = st.sampled_from([
    "cat", "Banana", "don't", "rock'n'roll", "'tis", "zzyzx", "İstanbul", "ΟΔΟΣ", "2016", "e-mail", "hmm",
    "''t", "U.S.", "?!", "...", "-", "'", "\u2019s", "_", "\x1c", "\n", "\u00a0", "日本語", "a.b",
])  # fmt: skip
texts_of = st.lists(st.tuples(pieces, st.sampled_from(["", " ", ". ", ", "])), max_size=30).map(
    lambda parts: "".join(piece + after for piece, after in parts)
)


def by_textstat(text: str) -> tuple[float, float]:
    """Both values from textstat's counts of the whole text."""
    words, sentences = textstat.lexicon_count(text), textstat.sentence_count(text)
    syllables, complex_words = textstat.syllable_count(text), textstat.polysyllabcount(text)
    return (
        206.8 - 1.015 * words / sentences - 84.6 * syllables / words,
        0.4 * (words / sentences + 100 * complex_words / words),
    )


@given(st.one_of(texts_of, st.text(max_size=60)))
@settings(max_examples=300)
def test_equals_the_counts_of_textstat(text: str) -> None:
    found = readability([text])
    if textstat.lexicon_count(text):
        flesch, fog = by_textstat(text)
        assert found.flesch[0] == pytest.approx(flesch, abs=1e-9)
        assert found.gunning_fog[0] == pytest.approx(fog, abs=1e-9)
        assert found.gunning_fog[0] >= 0.4
    else:
        assert np.isnan(found.flesch[0])
        assert np.isnan(found.gunning_fog[0])


@pytest.mark.parametrize("text", REAL)
def test_flesch_is_that_of_textstat_but_for_the_papers_constant(text: str) -> None:
    assert readability([text]).flesch[0] == pytest.approx(
        textstat.flesch_reading_ease(text) - 0.035, abs=1e-9
    )


@pytest.mark.parametrize("text", REAL)
def test_fog_is_that_of_textstat_but_for_long_words_that_it_takes_for_easy(text: str) -> None:
    easy = textstat.polysyllabcount(text) - textstat.difficult_words(text, 3)
    expected = textstat.gunning_fog(text) + 0.4 * 100 * easy / textstat.lexicon_count(text)
    assert readability([text]).gunning_fog[0] == pytest.approx(expected, abs=1e-9)


def test_a_long_easy_word_is_complex() -> None:
    """The one departure from textstat: "banana" has three syllables."""
    text = "The banana is in the red box."
    assert readability([text]).gunning_fog[0] == pytest.approx(0.4 * (7 + 100 / 7), abs=1e-9)
    assert textstat.gunning_fog(text) == pytest.approx(0.4 * 7, abs=1e-9)


def test_counts_by_hand() -> None:
    """2 sentences, 12 words, 19 syllables; international (5) and government (3) are complex."""
    text = "The international market fell. The government said it did not know why."
    found = readability([text])
    assert found.flesch[0] == pytest.approx(206.8 - 1.015 * 12 / 2 - 84.6 * 19 / 12)
    assert found.gunning_fog[0] == pytest.approx(0.4 * (12 / 2 + 100 * 2 / 12))


def test_longer_sentences_and_longer_words_are_harder() -> None:
    easier_to_harder = [
        "The dog ran home. The cat sat down.",
        "The dog ran home and the cat sat down.",
        "The dog ran home and the elephant hesitated.",
        HARD,
    ]
    found = readability(easier_to_harder)
    assert all(more > less for more, less in pairwise(found.flesch))
    assert all(less < more for less, more in pairwise(found.gunning_fog))


def test_rows_stand_alone() -> None:
    texts = [*REAL, "", " \n", "?! ..."]
    found = readability(texts)
    assert found.flesch.dtype == found.gunning_fog.dtype == np.float64
    assert np.isnan(found.flesch[-3:]).all()
    assert np.isnan(found.gunning_fog[-3:]).all()
    alone = [readability([text]) for text in texts[::-1]]
    np.testing.assert_array_equal(found.flesch[::-1], [one.flesch[0] for one in alone])
    np.testing.assert_array_equal(found.gunning_fog[::-1], [one.gunning_fog[0] for one in alone])
    assert readability([]).flesch.shape == (0,)


def test_settings_of_the_shared_textstat_neither_matter_nor_change() -> None:
    before = readability(REAL)
    text = "Wasn't it the administration's idea?"
    told = textstat.remove_punctuation(text), textstat.flesch_reading_ease(text)
    try:
        textstat.set_lang("de_DE")
        textstat.set_rounding_points(0)
        after = readability(REAL)
    finally:
        textstat.set_lang("en_US")
        textstat.set_rounding_points(None)
    np.testing.assert_array_equal(before.flesch, after.flesch)
    np.testing.assert_array_equal(before.gunning_fog, after.gunning_fog)
    assert told == (textstat.remove_punctuation(text), textstat.flesch_reading_ease(text))


def test_without_network() -> None:
    """The dictionaries come with the packages: a process that cannot open a socket gets the same numbers."""
    program = (
        "import socket\n"
        "def refuse(*_, **__): raise OSError('no network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from textgamut.metrics.readability import readability\n"
        f"print(readability([{HARD!r}, 'Zzyzxquat sits here.']).flesch.tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(readability([HARD, "Zzyzxquat sits here."]).flesch.tolist())


def test_bad_input() -> None:
    with pytest.raises(TextgamutError, match="a list of texts is needed"):
        readability("a text")


def test_without_textstat_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textstat", None)  # how Python marks what cannot be found
    with pytest.raises(TextgamutError, match=r"pip install 'textgamut\[readability\]'"):
        readability(REAL)
