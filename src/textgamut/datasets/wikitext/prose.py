# ruff: noqa: RUF001  (the module handles full-width brackets and marks)
"""Turn rendered wikitext, with placeholders for tags and for what was dropped, into paragraphs and lists."""

from __future__ import annotations

import html.entities
import re
from dataclasses import dataclass

from textgamut.datasets.wikitext.site import ENGLISH_SITE, Site
from textgamut.datasets.wikitext.wiki_templates import BREAK, CLOSE, HOLE, OPEN, PARAGRAPH, UNMARKED

# not the joiners U+200C and U+200D, which are part of words and emoji
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffc]"
)
_BLANK = re.compile(r"[^\S\n\x1c-\x1f]+")

PROTOCOLS = (
    "(?:(?:ftps?|git|gopher|https?|ircs?|mms|nntp|redis|sftp|ssh|svn|telnet|worldwind):)?//"
    "|(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):"
)
_EXTERNAL = re.compile(rf"\[(?:{PROTOCOLS})[^\s\[\]\x00-\x08<>\"]+[^\S\n]*([^\]\n]*)\]", re.IGNORECASE)
_WORD = re.compile(
    "__(?:(?i:NOTOC|FORCETOC|TOC|NOEDITSECTION|NOGALLERY|NOCONTENTCONVERT|NOCC|NOTITLECONVERT|NOTC|DISAMBIG)"
    "|NEWSECTIONLINK|NONEWSECTIONLINK|HIDDENCAT|EXPECTUNUSEDCATEGORY|EXPECTUNUSEDTEMPLATE|INDEX|NOINDEX"
    "|STATICREDIRECT|NOGLOBAL|ARCHIVEDTALK|EXPECTED_UNCONNECTED_PAGE)__"
)
# In other languages, such words have other names, and a hatnote is an indented line in italics.
_ANY_WORD = re.compile(r"__[^\W\d_]+(?:_[^\W\d_]+)*__")
_ANY_HATNOTE = re.compile(r":+\s*''[^'].*''\s*$")
_VARIANTS = re.compile(r"-\{([^{}]*)\}-")
_HATNOTE = re.compile(
    r":+\s*''+(?:see|main|for|this (?:article|page)|further|details|more|refer)\b", re.IGNORECASE
)
_MARKERS = re.compile(r"[*#:;]+")
_BOLD_LINE = re.compile(r"'{3}[^']+'{3}:?")
_PREFORMATTED = re.compile(r"(?:^ +[^\s|!].*\n?){3,}", re.MULTILINE)
_LEFT = re.compile(r"\{\{+|\}\}+|\[\[|\]\]")
_QUOTES = re.compile(r"(''+)")
_COLON = re.compile(f"[{OPEN}{CLOSE}]|:(?!//)")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or a list."""

    listed: bool
    text: str
    """The paragraph, or the items as lines."""


def prose(text: str, site: Site = ENGLISH_SITE) -> str:
    """Turn rendered wikitext into paragraphs and lists, separated by blank lines."""
    return "\n\n".join(block.text for block in blocks(text, site))


def blocks(text: str, site: Site = ENGLISH_SITE) -> list[Block]:
    """Turn rendered wikitext into paragraphs and lists."""
    # lines with a leading blank are preformatted: one is a mistake, three or more are program code
    text = _WORD.sub("", text) if site.english else _VARIANTS.sub(_first_variant, _ANY_WORD.sub("", text))
    text = _PREFORMATTED.sub("\n", text)
    found: list[tuple[bool, list[list[str]]]] = []  # whether it is a list, and lines of pieces
    joined = listed = False  # whether the next line continues the paragraph or the list
    for source in text.split("\n"):
        if _is_left_out(source, _HATNOTE if site.english else _ANY_HATNOTE):
            joined = listed = False
            continue
        for place, line in enumerate(_inline(source).split(PARAGRAPH)):
            marker = None if place else _MARKERS.match(line)
            rule = not place and line.startswith("----")
            if place or rule:
                joined = listed = False
            bare = line.lstrip("-" if rule else " ").strip()
            if not bare.strip(f"{HOLE}{BREAK}{OPEN}{CLOSE} "):
                joined = listed = False
            elif marker:
                if not listed:
                    found.append((True, []))
                found[-1][1].extend([item] for item in _items(line[marker.end() :], marker[0]))
                joined, listed = False, True
            else:
                if joined:
                    found[-1][1][-1].append(bare)
                else:
                    found.append((False, [[bare]]))
                joined, listed = True, False
    mends = _MENDS if site.english else _OTHER_MENDS
    made = [
        Block(listed, "\n".join(filter(has_words, (_mended(" ".join(line), mends) for line in lines))))
        for listed, lines in found
    ]
    return [block for block in made if block.text]


def _first_variant(found: re.Match[str]) -> str:
    """Render text in variants of a language, ``-{zh-hans:计算机; zh-hant:電腦}-``, in the first of them."""
    flags, _, text = found[1].rpartition("|")
    if {"T", "H", "-"}.intersection(flags.split(";")):  # rules for the title and for the text below
        return ""
    first = re.match(r"\s*[a-z]+(?:-[a-z]+)*\s*:([^;]*)", text)
    return (first[1] if first else text).strip()


def _is_left_out(line: str, hatnote: re.Pattern[str]) -> bool:
    """Return whether a line is a hatnote, a heading in bold, or left from unclosed templates and tables."""
    bare = line.strip()
    return (
        bare.startswith(("{|", "{{", "|"))
        or (bare[:1] == "!" and ("|" in bare or bare[1:2] in " !"))  # but "!Kung is a language"
        or _BOLD_LINE.fullmatch(line.translate(UNMARKED).strip(f"{PARAGRAPH} ")) is not None
        or hatnote.match(line.translate(UNMARKED)) is not None
    )


def _items(text: str, marker: str) -> list[str]:
    """Split "term: definition" at a colon outside of tags and links; other items are one."""
    depth = 0
    for found in _COLON.finditer(text) if marker[-1] == ";" else ():
        if found[0] != ":":
            depth = max(depth + (1 if found[0] == OPEN else -1), 0)
        elif not depth:
            return [text[: found.start()], text[found.end() :]]
    return [text]


def _inline(line: str) -> str:
    """Render quotes and external links; the latter have no text without a label."""
    head, bracket, tail = straight(line).rpartition("]")  # before it, every attempt of the pattern is short
    return _EXTERNAL.sub(rf"{OPEN}\1{CLOSE}", head + bracket) + tail


_ENTITY = re.compile(r"&(?:#\d{1,8}|#[xX][0-9a-fA-F]{1,7}|[a-zA-Z][a-zA-Z0-9]*);")


def decoded(text: str) -> str:
    """Decode entities; those that are unknown, unfinished or invalid in XML are text, as in MediaWiki."""
    return _ENTITY.sub(_entity, text)


def _entity(found: re.Match[str]) -> str:
    entity = found[0]
    if entity[1] != "#":
        return html.entities.html5.get(entity[1:], entity)
    code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
    valid = 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    return chr(code) if valid or code in (9, 10, 13) else entity


def plain(text: str) -> str:
    """Convert the rendered value of a field or a title to plain text; line breaks are kept."""
    text = "\n".join(map(_inline, text.replace(HOLE, "").replace(PARAGRAPH, "\n").split("\n")))
    return _BLANK.sub(" ", decoded(text.translate(UNMARKED)))


def straight(line: str) -> str:
    """Replace the quotes for bold and italic in a line by placeholders, by the rule of MediaWiki.

    Quotes are runs of 2, 3 or 5 apostrophes; what a longer run has more, and the first of 4, is text. If both
    bold and italic are unbalanced, a run of 3 is an apostrophe before a run of 2: the first after a word of
    one letter, or else after a longer word, or else after a blank.
    """
    pieces = _QUOTES.split(line)  # the runs have odd places
    runs = range(1, len(pieces), 2)
    for place in runs:
        length = len(pieces[place])
        extra = 1 if length == 4 else max(length - 5, 0)
        pieces[place - 1] += "'" * extra
        pieces[place] = pieces[place][extra:]
    lengths = [len(pieces[place]) for place in runs]
    bolds = [place for place in runs if len(pieces[place]) == 3]
    if bolds and sum(length > 2 for length in lengths) % 2 and sum(length != 3 for length in lengths) % 2:
        place = min(bolds, key=lambda at: _rank(pieces[at - 1]))
        pieces[place - 1] += "'"
        pieces[place] = "''"
    on = {2: False, 3: False}
    for place in runs:
        length, tags = len(pieces[place]), ""
        for style in on:
            if length in (style, 5):
                on[style] = not on[style]
                tags += OPEN if on[style] else CLOSE
        pieces[place] = tags
    return "".join(pieces) + CLOSE * sum(on.values())


def _rank(before: str) -> int:
    last = before.encode()[-2:]  # as in MediaWiki, only words of one ASCII letter are words of one letter
    if last[-1:] == b" ":
        return 2
    return 0 if last[:1] == b" " and before[-1] not in OPEN + CLOSE + PARAGRAPH + BREAK else 1


def has_words(text: str) -> bool:
    """Return whether a text contains a letter or a digit."""
    return any(map(str.isalnum, text))


_SOMETIMES = r"(?:occasionally|sometimes|rarely|often)\b"
_AND = (
    rf"(?:(?:or|and|also|but also|locally|in English|in full|from|listen)\b(?: {_SOMETIMES})?|{_SOMETIMES})"
)
_SPOKEN = r"(?:(?:usually|often|also|variously|commonly) )?(?:pronounced as|pronounced|pronunciation|IPA)\b:?"
_SOUND = rf"{HOLE}(?: in [A-Z][a-z]+)?"
_Mends = list[tuple[re.Pattern[str], str]]


def _mends(english: bool) -> _Mends:
    """Return the repairs of the text around what was dropped.

    Args:
        english: Whether the text is in English. Other languages also have full-width marks and brackets, and
            may have a blank before a colon, as French does.
    """
    stops, tight = (",;:", ",;:.") if english else (",;:、，；：・", ",.")
    left, right = (r"(\[", r")\]") if english else (r"(\[（［", r")\]）］")
    after = ",;:.)" if english else ",;:.)、，；：。）"
    empty = r"(?:^| )(?:\((?: ?(?:or|and|also) ?)?\)|\[ ?\])" + ("" if english else "|（ ?）|［ ?］")
    patterns = [
        (rf"{_SPOKEN} ?(?:in English )?{_SOUND}(?:[ ,;/]*(?:{_AND} )?{_SOUND})*", HOLE),
        (rf"{HOLE}(?:[ {stops}/]*(?:{_AND} ?)?{HOLE})+", HOLE),
        (rf" ?\([^()]*[$£€]{HOLE}[^()]*\)", ""),
        (rf" ?\((?:aged? )?{HOLE} ?(?:years? (?:old|ago))?\)", ""),
        (rf"([{left}]) ?{HOLE}[ {stops}.]*(?:{_AND} (?={HOLE}|[{right}]))?", r"\1"),
        (rf"[ {stops}]*(?:\b{_AND} ?)?{HOLE} ?([{right}])", r"\1"),
        (rf" ?[{stops}] ?{HOLE} ?(?=[{after}])", ""),
        (rf"(?<=[\w)]) {HOLE} (?=[,;:.])", ""),
        (HOLE, ""),
        (rf"([{left}]) ?[{stops}]+ ?", r"\1"),
        (rf" ?[{stops}]+ ?([{right}])", r"\1"),
        (empty, ""),
        (rf"([{left}]) ", r"\1"),
        (rf" ([{right}])", r"\1"),
        (r"\. \. \.", "..."),
        (rf" ([{tight}])(?=[\s\x01]|$)", r"\1"),
        (r"[,;] ?(?=[;,])", ""),
        (r"  +", " "),
        (r"^ ?[,;:]+ ", ""),
    ]
    return [(re.compile(pattern), replacement) for pattern, replacement in patterns]


_MENDS, _OTHER_MENDS = _mends(english=True), _mends(english=False)


def _mended(text: str, mends: _Mends) -> str:
    """Decode the entities of a line of prose and repair the text around dropped templates."""
    text = decoded(_LEFT.sub("", text))
    text = _BLANK.sub(" ", UNSEEN.sub(lambda unseen: unseen[0] if unseen[0] in HOLE + BREAK else "", text))
    for pattern, replacement in mends:
        text = pattern.sub(replacement, text)
    return "\n".join(filter(None, map(str.strip, text.split(BREAK))))
