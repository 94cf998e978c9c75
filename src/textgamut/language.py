"""The language of texts: which one it is, and where its words end.

A language is an ISO 639-1 code such as ``en``, or a tag such as ``und-Thai`` if only the script is known.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from textgamut.errors import ConfigError, nearest
from textgamut.text import WordsEnd

if TYPE_CHECKING:
    import pandas as pd

AUTO = "auto"
"""The language that most of a set of texts is in."""
ENGLISH = "en"
UNKNOWN = "und-"
"""Beginning of the tag of an unknown language, in front of its script."""

_NAMES = {
    "Latin": """af Afrikaans, az Azerbaijani, bs Bosnian, ca Catalan, cs Czech, cy Welsh, da Danish,
        de German, en English, eo Esperanto, es Spanish, et Estonian, eu Basque, fi Finnish, fo Faroese,
        fr French, ga Irish, gl Galician, hr Croatian, ht Haitian Creole, hu Hungarian, id Indonesian,
        is Icelandic, it Italian, jv Javanese, ku Kurdish, la Latin, lb Luxembourgish, lt Lithuanian,
        lv Latvian, mg Malagasy, ms Malay, mt Maltese, nb Norwegian Bokmål, nl Dutch, nn Norwegian Nynorsk,
        no Norwegian, oc Occitan, pl Polish, pt Portuguese, qu Quechua, ro Romanian, rw Kinyarwanda,
        sk Slovak, sl Slovenian, sq Albanian, sv Swedish, sw Swahili, tl Tagalog, tr Turkish, uz Uzbek,
        vi Vietnamese, vo Volapük, wa Walloon, xh Xhosa, yo Yoruba, zu Zulu""",
    "Greek": "el Greek",
    "Cyrillic": """be Belarusian, bg Bulgarian, kk Kazakh, ky Kyrgyz, mk Macedonian, mn Mongolian, ru Russian,
        sr Serbian, tg Tajik, uk Ukrainian""",
    "Arabic": "ar Arabic, fa Persian, ps Pashto, sd Sindhi, ug Uyghur, ur Urdu",
    "Armenian": "hy Armenian",
    "Bengali": "as Assamese, bn Bengali",
    "Devanagari": "hi Hindi, mr Marathi, ne Nepali, sa Sanskrit",
    "Ethiopic": "am Amharic, ti Tigrinya",
    "Georgian": "ka Georgian",
    "Gujarati": "gu Gujarati",
    "Gurmukhi": "pa Punjabi",
    "Han": "zh Chinese",
    "Hangul": "ko Korean",
    "Hebrew": "he Hebrew, yi Yiddish",
    "Kana": "ja Japanese",
    "Kannada": "kn Kannada",
    "Khmer": "km Khmer",
    "Lao": "lo Lao",
    "Malayalam": "ml Malayalam",
    "Myanmar": "my Burmese",
    "Oriya": "or Odia",
    "Sinhala": "si Sinhala",
    "Tamil": "ta Tamil",
    "Telugu": "te Telugu",
    "Thai": "th Thai",
    "Tibetan": "bo Tibetan, dz Dzongkha",
}
"""Script -> codes and names of the languages that are known, each with the script that it is mostly in."""
_ALL = {
    code: (name, script)
    for script, listed in _NAMES.items()
    for code, _, name in (entry.strip().partition(" ") for entry in listed.split(","))
}
LANGUAGES = {code: name for code, (name, _) in _ALL.items()}
"""Code -> name of each language that can be given."""

SPACED_SCRIPTS = frozenset({"Latin", "Greek", "Cyrillic"})
"""Scripts whose words are split on white space."""
UNSPACED_SCRIPTS = frozenset({"Han", "Kana", "Khmer", "Lao", "Myanmar", "Thai", "Tibetan"})
"""Scripts that have no spaces between words."""

_OF_LETTERS = {"CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana", "MYANMAR": "Myanmar"}
"""First word of the Unicode name of a letter -> its script, where that is not the word itself."""
_FORMS = ("FULLWIDTH ", "HALFWIDTH ", "MATHEMATICAL ")
"""Beginnings of the names of letters that are variants of others."""

LEAST_KANA = 0.05
"""Share of kana among Han characters and kana from which on texts are Japanese: Chinese ones quote few."""

MOST_TEXTS, MOST_CHARACTERS, PIECE = 1000, 2000, 300
"""Number of texts, and of characters of each, that decide the language; characters that vote together."""


def check_language(language: str, where: str = "language: ") -> str:
    """Check a language that the user has given.

    Args:
        language: A code of ``LANGUAGES``, also with a region such as ``zh-CN``, a tag that
            :func:`language_of` returns, or ``auto``.
        where: Beginning of the message.

    Returns:
        The code without a region, the tag, or ``auto``.

    Raises:
        ConfigError: If it is not known.
    """
    if not isinstance(language, str):
        raise ConfigError(f"{where}expected a code such as 'en', found {type(language).__name__}")
    code = language.lower().replace("_", "-").split("-")[0]
    if language == AUTO or language.startswith(UNKNOWN):
        return language
    if code in LANGUAGES:
        return code
    named = [of for of, name in LANGUAGES.items() if name.lower() == language.lower()]
    raise ConfigError(f"{where}unknown language {language!r}; {nearest(language, named or LANGUAGES)}")


def resolve_language(language: str, texts: Iterable[str]) -> str:
    """Check a language that the user has given for texts, and find out which one it is if it is ``auto``."""
    checked = check_language(language)
    return language_of(texts) if checked == AUTO else checked


def check_defined(what: str, language: str, languages: Collection[str]) -> None:
    """Check that a metric is defined for texts in a language.

    Args:
        what: The metric, or the family.
        language: Language of the texts.
        languages: Codes of the languages that it is defined for; empty for all.

    Raises:
        ConfigError: If it is not.
    """
    if languages and language not in languages:
        listed = ", ".join(sorted(LANGUAGES[code] for code in languages))
        raise ConfigError(
            f"{what} is defined for {listed}; the texts are in {described(language)}: leave it out, or set "
            "the language if that is wrong"
        )


def language_of(texts: Iterable[str]) -> str:
    """Return the language that most of a set of texts is in.

    The script of most letters decides where words end. Among the languages of this script, py3langid names
    the one of most pieces of 300 characters.

    Args:
        texts: Texts; of more than 1000, every i-th one decides.

    Returns:
        A code of ``LANGUAGES``, or ``und-`` and the script if no language with this script is known. English
        if there are no letters.
    """
    sample = _sample(texts)
    found = main_script(sample)
    if found is None:
        return ENGLISH
    codes = [code for code, (_, script) in _ALL.items() if script == found]
    if len(codes) < 2:
        return codes[0] if codes else f"{UNKNOWN}{found}"
    return _voted(sample, codes)


def script_of(language: str) -> str:
    """Return the script of a language."""
    return _ALL[language][1] if language in _ALL else language.removeprefix(UNKNOWN)


def words_end_in(language: str) -> WordsEnd:
    """Return where the words of a language end."""
    return "at-white-space" if script_of(language) in SPACED_SCRIPTS else "at-boundaries"


def joined_words(words: Iterable[str], language: str) -> str:
    """Join words as the language writes them: with spaces, or without."""
    return ("" if script_of(language) in UNSPACED_SCRIPTS else " ").join(words)


def described(language: str) -> str:
    """Return the name of a language with its code: "Chinese (zh)"."""
    return f"{LANGUAGES.get(language, f'a language in {script_of(language)} script')} ({language})"


def main_script(texts: Iterable[str]) -> str | None:
    """Return the script of most letters of a set of texts, see :func:`language_of`; None without letters.

    Japanese texts, which have Han characters, too, are in Kana.
    """
    letters: Counter[str] = Counter()
    for text in _sample(texts):
        letters.update(text)
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        if letter.isalpha():
            scripts[_script_of_letter(letter)] += count
    if not scripts:
        return None
    together = scripts["Han"] + scripts["Kana"]  # Japanese has both
    if scripts["Kana"] >= LEAST_KANA * together:
        del scripts["Han"]
        scripts["Kana"] = together
    return max(scripts, key=lambda script: (scripts[script], script))


def share_of_other_scripts(text: str, language: str) -> float:
    """Return the share of a text's letters in another script than that of a language; NaN without letters.

    Japanese and Korean texts may have Han characters.
    """
    own = {script_of(language), *(("Han",) if language in ("ja", "ko") else ())}
    letters = Counter(letter for letter in text if letter.isalpha())
    other = sum(count for letter, count in letters.items() if _script_of_letter(letter) not in own)
    return other / letters.total() if letters else math.nan


def _sample(texts: Iterable[str]) -> list[str]:
    """Return the beginnings of at most 1000 of the texts, in alphabetical order."""
    texts = list(texts)
    step = -(-len(texts) // MOST_TEXTS) or 1
    return sorted(text[:MOST_CHARACTERS] for text in texts[::step])


@cache
def _script_of_letter(letter: str) -> str:
    name = unicodedata.name(letter, "UNKNOWN")
    for form in _FORMS:
        name = name.removeprefix(form)
    first = name.split()[0].split("-")[0]
    return _OF_LETTERS.get(first, first.capitalize())


def _voted(texts: Sequence[str], codes: Sequence[str]) -> str:
    """Return the language of most pieces of texts, of some languages with one script."""
    joined = "\n".join(texts)
    starts = islice(range(0, len(joined), PIECE), MOST_TEXTS)
    found = [_ranked(joined[start : start + PIECE]) for start in starts]
    votes = Counter(next((code for code in ranked if code in codes), codes[0]) for ranked in found)
    return max(votes, key=lambda code: (votes[code], code == ENGLISH, code))


def _ranked(text: str) -> list[str]:
    """Return the languages that a text may be in, the likeliest first."""
    from py3langid.langid import rank

    return [code for code, _ in rank(text)]


# --- the language of a table, which travels with its texts ----------------------------------------------

_ATTRIBUTE = "language"


def with_language(frame: pd.DataFrame, language: str) -> pd.DataFrame:
    """Note in a data frame, and so in the file that it is written to, which language its texts are in.

    Nothing is noted for English, the language of a table without a note.
    """
    frame.attrs.pop(_ATTRIBUTE, None)
    if language != ENGLISH:
        frame.attrs[_ATTRIBUTE] = language
    return frame


def language_in(frame: pd.DataFrame) -> str:
    """Return the language of the texts in a data frame."""
    return str(frame.attrs.get(_ATTRIBUTE, ENGLISH))


def words_end_of(frame: pd.DataFrame, asked: str | None = None) -> WordsEnd:
    """Return where the words of the texts in a data frame end.

    Args:
        frame: The data frame.
        asked: ``words_end`` of a task. ``at-spaces`` holds for languages with spaces.
    """
    found = words_end_in(language_in(frame))
    return "at-spaces" if (found, asked) == ("at-white-space", "at-spaces") else found
