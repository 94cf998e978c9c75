# ruff: noqa: RUF001, SIM905  (the module handles typographic letters and has long word lists)
"""Split the first sentence from a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from textgamut.language import ENGLISH


def first_sentence(text: str, language: str = ENGLISH) -> tuple[str, str]:
    """Split the first sentence from a prose text.

    A sentence ends at the end of its line, or at a full stop, question or exclamation mark that is followed
    by a blank and a possible beginning of a sentence, but not inside brackets or quotes and not after an
    initial or an abbreviation.

    In other languages than English, it ends at ICU's sentence boundaries (Unicode Standard Annex 29), but not
    inside brackets, before what follows a closing quote without a blank, or at a full stop after a letter, a
    number of one or two digits, or an abbreviation: one of ``_NEVER_LAST``, or one of up to four letters in
    CLDR's list for the language.

    Args:
        text: Prose, with paragraphs separated by line breaks.
        language: Language of the text.

    Returns:
        The sentence and the rest, both stripped. The sentence is empty only if the text is blank.
    """
    text = text.strip()
    line = text.split("\n", 1)[0]
    if language != ENGLISH:
        first = next(_ends(line, language), len(line))
        return text[:first].strip(), text[first:].strip()
    end = _first_end(line, whole=True)
    if end is None and (line.count('"') % 2 or any(line.count(a) != line.count(b) for a, b in _PAIRS)):
        end = _first_end(line, whole=False)  # unbalanced brackets or quotes
    end = len(line) if end is None else end
    return text[:end].strip(), text[end:].strip()


_PAIRS = [("(", ")"), ("[", "]"), ("“", "”")]
_END = re.compile(r"(?P<mark>\.{3,}|…|[.!?]+)(?P<end>[\"'”’»)\]]*)\s+(?=(?P<next>\S+))")
_VERB = re.compile(r"\b(?:is|was|are|were|has|had|have|may|can|will|refers|means|[a-z]+ed)\b")
_NEVER_LAST = frozenset(
    """mr mrs ms messrs dr prof rev revd hon fr st ste sts mt gen lt col maj brig capt cmdr adm sgt cpl gov
    sen rep pres supt det insp vs ca cca fl nr vol vols op pp ch sec fig figs eds approx cf viz lit
    transl pron esp incl e.g i.e née jan feb mar apr aug sept oct nov dec""".split()
)
"""Abbreviations that never end a sentence."""
_MAY_BE_LAST = frozenset(
    """jr sr esq inc ltd co corp bros llc plc etc al et ed univ dept est ave blvd rd sq mi ft bldg assn
    assoc mfg ph ph.d b.sc m.sc mass conn calif penn wash""".split()
)
"""Abbreviations that end a sentence only before one of ``_BEGINS``, like single letters."""
_BEFORE_NUMBERS = frozenset("no nos art arts par cl sect".split())
_BEGINS = frozenset(
    """the it he she they his her its their this these that those in on at a an as after although among and
    before both born but by despite due during each following for founded from however if many most of
    one other since so some such then there though through to under until upon when where while with we
    it's there's within according along located originally today known""".split()
)
"""Words that often begin a sentence and rarely continue a name."""


def _first_end(line: str, whole: bool) -> int | None:
    """Return the end of the first sentence in a line, or None; if ``whole``, not in brackets or quotes."""
    verb = _VERB.search(line)
    depth = position = 0
    quoted = False
    for found in _END.finditer(line):
        if whole:
            passed = line[position : found.end("end")]
            depth += sum(map(passed.count, "([“")) - sum(map(passed.count, ")]”"))
            quoted ^= passed.count('"') % 2 == 1
            position = found.end("end")
        following = found["next"].lstrip("\"'“‘«([¿¡$£€")
        if depth > 0 or quoted or not following[:1].isalnum() or following[0].islower():
            continue
        begins = re.sub(r"['’]s$|,$", "", following.lower()) in _BEGINS
        if found["mark"] != ".":
            # "Yahoo! Inc. is ...": without a verb before it, part of a name
            ends = verb is not None and verb.end() <= found.start() and (begins or found["mark"][0] in "!?")
        else:
            start = found.start()
            before, word = ["", "", *line[max(0, start - 40) : start].split()][-2:]
            versus = word == "v"  # "Brown v. Board", but "Henry V."
            word = word.lstrip("\"'“‘«([").lower()
            if word in _NEVER_LAST or versus:
                ends = False
            elif word in _BEFORE_NUMBERS:
                ends = not following[0].isdigit()
            elif word in _MAY_BE_LAST or re.fullmatch(r"(?:[^\W\d_]\.)*[^\W\d_]", word):
                ends = begins or (before[-1:].isdigit() and word in {"m", "g", "s", "ft", "mi"})
            else:
                ends = True
        if ends:
            return found.end("end")
    return None


_OPENING, _CLOSING = "([（［「『【《", ")]）］」』】》"
_LETTER_OR_ORDINAL = re.compile(r"[^\W\d_]|\d{1,2}")
_LAST_WORD = re.compile(r"\b(\w+)\.$")


def _ends(line: str, language: str) -> Iterator[int]:
    """Yield the ends of the sentences in a line in another language than English."""
    from icu4py.breakers import SentenceBreaker

    # From their lengths: the offsets of icu4py count UTF-16 units.
    boundaries = list(accumulate(map(len, SentenceBreaker(line, language))))
    known = set(accumulate(map(len, SentenceBreaker(line, f"{language}@ss=standard"))))
    balanced = all(line.count(a) == line.count(b) for a, b in zip(_OPENING, _CLOSING, strict=True))
    start = depth = 0
    for end in boundaries:
        passed, start = line[start:end], end
        depth += sum(map(passed.count, _OPENING)) - sum(map(passed.count, _CLOSING))
        before = passed.rstrip()
        quoted = before == passed and before[-1:] in _CLOSING
        if not (balanced and depth > 0) and not quoted and not _is_abbreviated(before, end in known):
            yield end


def _is_abbreviated(sentence: str, known: bool) -> bool:
    """Return whether a sentence seems to end because of the full stop of an abbreviation.

    Args:
        sentence: The text up to the boundary, stripped.
        known: Whether it ends for ICU with the abbreviations of CLDR, too. ICU compares them with the ends of
            words, so those of longer words do not count.
    """
    found = _LAST_WORD.search(sentence)
    if found is None:
        return False
    word = found[1].lower()
    return bool(_LETTER_OR_ORDINAL.fullmatch(word) or word in _NEVER_LAST or (not known and len(word) <= 4))
