# ruff: noqa: RUF001  (the module handles typographic letters)
"""Convert wikitext to prose in one scan with a stack, in time linear in the length of the page.

Unclosed markup affects only its own section.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass

from textgamut.datasets.wikitext.templates import BREAK, COMMENT, HOLE, RAISING, render_template

DEPTH = 40
"""Maximum nesting of templates and links; deeper ones are dropped, as in MediaWiki."""

_APPENDICES = """see also|references|notes|external links|external link|further reading|bibliography|sources
|footnotes|citations|works cited|notes and references|references and notes|references and further reading
|references and sources|sources and references|notes and citations|notes and sources|citations and notes
|bibliography and references|bibliography and further reading|further reading and external links
|sources and further reading|reference|note|footnote|endnotes|explanatory notes|cited works|literature cited
|works referenced|general references|general sources|cited sources|primary sources|secondary sources
|general and cited references|general and cited sources|inline citations|selected bibliography
|select bibliography|publications|selected publications|gallery|image gallery"""
APPENDICES = frozenset(map(str.strip, _APPENDICES.split("|")))
"""Titles, in lower case, of sections with lists of references, links, titles or pictures."""


def article_text(wikitext: str) -> str:
    """Return the prose of an article: its lead and its sections without the appendices.

    Paragraphs are separated by a blank line; the items of a list are lines. Headings, tables, infoboxes,
    notes, files, galleries, formulas, categories and hatnotes are removed.

    Args:
        wikitext: Complete wikitext of an article of the English Wikipedia.

    Returns:
        The text, stripped; empty if there is no prose.
    """
    sections = []
    left_out = 7  # level of the current appendix; 7, above all levels, outside of appendices
    for level, title, body in _sections(without_extensions(wikitext)):
        if level <= left_out:
            left_out = level if _heading(title) in APPENDICES else 7
        if left_out == 7:
            sections.append(_prose(_expand(body)[0]))
    return "\n\n".join(filter(None, sections))


def lead_text(wikitext: str) -> str:
    """Return the prose before the first heading, in the same form as in ``article_text``."""
    return lead_and_fields(without_extensions(wikitext))[0]


# --- Rendering

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffc]"
)
_BLANK = re.compile(r"[^\S\n\x1c-\x1f]+")

_DROPPED_TAGS = (
    "ref|references|math|ce|chem|gallery|timeline|score|syntaxhighlight|source|imagemap|templatestyles|graph"
    "|chart|mapframe|maplink|hiero|inputbox|indicator|categorytree|section|table|includeonly|pre|s|strike|del"
    "|style|script|phonos"
)
_SILENT_TAGS = {"ref", "references", "section", "templatestyles", "indicator"}  # removed without a hole
_OPENING = re.compile(rf"<!--|<(nowiki|poem|{_DROPPED_TAGS})\b[^<>]*?(/?)>", re.IGNORECASE)
_COMMENT_LINE = re.compile(rf"^[ \t]*(?:{COMMENT}[ \t]*)+\n", re.MULTILINE)
_MARKUP = {ord(letter): f"&#{ord(letter)};" for letter in "[]{}|<>'=*#:;_!-"}


def without_extensions(text: str) -> str:
    """Remove comments and elements with content other than wikitext, as MediaWiki does first.

    The tag of an unclosed element is text; an unclosed comment extends to the end of the page.
    """
    text = _UNSEEN.sub("", text.replace("\r\n", "\n"))
    kept: list[str] = []
    unclosed: set[str] = set()
    position = start = 0
    while found := _OPENING.search(text, position):
        name, position = (found[1] or "").lower(), found.end()
        content = ""
        if not name:
            end = text.find("-->", position)
            position = len(text) if end < 0 else end + 3
        elif not found[2]:
            if name in unclosed:
                continue
            closing = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(text, position)
            if closing is None:
                unclosed.add(name)
                continue
            content = text[position : closing.start()]
            position = closing.end()
        kept.append(text[start : found.start()])
        start = position
        if not name:
            kept.append(COMMENT)
        elif name == "nowiki":
            kept.append(content.translate(_MARKUP).replace("\n", " "))
        elif name == "poem":
            kept.append("\n\n" + without_extensions(content.strip()).replace("\n", "<br>") + "\n\n")
        elif name not in _SILENT_TAGS:
            kept.append(HOLE)
    kept.append(text[start:])
    return _COMMENT_LINE.sub("", "".join(kept)).replace(COMMENT, "")


def _sections(text: str) -> Iterable[tuple[int, str, str]]:
    """Yield level, title and body of each section; the lead has level 0 and no title."""
    level, title = 0, ""
    lines: list[str] = []
    for line in text.split("\n"):
        if line[:1] == "=" and (heading := line.rstrip())[-1] == "=" and heading.strip("="):
            yield level, title, "\n".join(lines)
            left, right = len(heading) - len(heading.lstrip("=")), len(heading) - len(heading.rstrip("="))
            level, title, lines = min(left, right, 6), heading.strip("="), []
        else:
            lines.append(line)
    yield level, title, "\n".join(lines)


def _heading(title: str) -> str:
    return " ".join(plain(_expand(title)[0]).lower().strip(" :").split())


def lead_and_fields(clean: str) -> tuple[str, dict[str, str]]:
    """Return the prose before the first heading and the fields of the infobox with facts about persons."""
    expanded, fields = _expand(next(iter(_sections(clean)))[2])
    return _prose(expanded), fields


_BOUNDS = re.compile(r"^[ \t:]*\{\|(?!\})|^[ \t]*\|\}(?!\})|\[\[|\]\]|\{\{+|\}\}+|\|", re.MULTILINE)


@dataclass(slots=True)
class _Open:
    """An open template, link or table, or the page, as its parts between vertical bars."""

    kind: str
    parts: list[list[str]]

    def literal(self) -> list[str]:
        pieces = [self.kind]
        for place, part in enumerate(self.parts):
            pieces += ["|", *part] if place else part
        return pieces


def _expand(text: str) -> tuple[str, dict[str, str]]:
    """Render templates and links and drop tables; return the text and the fields of persons in its templates.

    Unclosed markup is text. A closing mark also ends unclosed markup inside.
    """
    text = _TAG.sub(_render_tag, _RAISED.sub(_render_raised, text))
    fields: dict[str, str] = {}
    stack = [_Open("", [[]])]
    counts = {"{{": 0, "[[": 0, "{|": 0}
    position = 0

    def close(kind: str) -> None:
        place = len(stack) - 1
        while stack[place].kind != kind:
            place -= 1
        inside = [piece for unclosed in stack[place + 1 :] for piece in unclosed.literal()]
        stack[place].parts[-1] += inside
        for closed in stack[place:]:
            counts[closed.kind] -= 1
        whole = stack[place]
        del stack[place:]
        if kind == "{|" or len(stack) > DEPTH:
            rendered = HOLE
        else:
            parts = ["".join(part) for part in whole.parts]
            rendered = render_template(parts, fields) if kind == "{{" else _link(parts)
        stack[-1].parts[-1].append(rendered.replace("=", "&#61;"))  # not the name of a parameter

    for found in _BOUNDS.finditer(text):
        mark = found[0]
        top = stack[-1]
        top.parts[-1].append(text[position : found.start()])
        position = found.end()
        if mark == "|":
            if top.kind in ("{{", "[["):
                top.parts.append([])
            else:
                top.parts[-1].append(mark)
        elif mark[0] == "{" and mark[-1] == "{":
            if len(mark) % 2:
                top.parts[-1].append("{")
            stack += [_Open("{{", [[]]) for _ in range(len(mark) // 2)]
            counts["{{"] += len(mark) // 2
        elif mark[0] == "}":
            for _ in range(len(mark) // 2):
                if counts["{{"]:
                    close("{{")
            if len(mark) % 2:
                stack[-1].parts[-1].append("}")
        elif mark == "[[":
            stack.append(_Open("[[", [[]]))
            counts["[["] += 1
        elif mark == "]]":
            if top.kind == "[[" or (top.kind == "{{" and counts["[["] and not counts["{|"]):
                close("[[")
        elif mark[-1] == "|":
            stack.append(_Open("{|", [[]]))
            counts["{|"] += 1
        elif counts["{|"]:
            close("{|")
        else:
            top.parts[-1].append(mark)
    stack[-1].parts[-1].append(text[position:])
    return "".join(piece for unclosed in stack for piece in unclosed.literal()), fields


_RAISED = re.compile(r"<sup\b[^<>]*>([\d+\-−–()n' ]{1,20})</sup\s*>", re.IGNORECASE)
_BLOCK_TAGS = "p|div|blockquote|center|hr|ul|ol|dl|h1|h2|h3|h4|h5|h6|poem"
_TAG = re.compile(
    rf"<(/?)({_BLOCK_TAGS}|br|li|dt|dd|span|small|big|b|i|u|em|strong|sup|sub|cite|code|tt|kbd|samp|var|abbr|dfn"
    r"|ins|q|font|bdi|bdo|mark|time|data|ruby|rb|rp|rt|wbr|nowiki|noinclude|onlyinclude|tbody|thead|tr|td|th"
    rf"|caption|{_DROPPED_TAGS})\b[^<>]*>",
    re.IGNORECASE,
)


def _render_raised(found: re.Match[str]) -> str:
    return found[1].translate(RAISING)


def _render_tag(found: re.Match[str]) -> str:
    name = found[2].lower()
    if name == "br":
        return BREAK
    if name == "li":
        return "" if found[1] else "\n* "
    if name in ("dt", "dd"):
        return "" if found[1] else "\n: "
    if name == "q":
        return '"'
    return "\n\n" if name in _BLOCK_TAGS.split("|") else ""


# A language link, used before Wikidata, has a prefix in lower case, unlike "Re:Zero".
_NOT_SHOWN = re.compile(r"(?i:file|image|category)[ _]*|(?!doi|mw)[a-z]{2,3}(?:-[a-z-]+)?|simple")


def _link(parts: list[str]) -> str:
    target = parts[0].strip()
    prefix, colon, _ = target.partition(":")
    if colon and _NOT_SHOWN.fullmatch(prefix):
        return HOLE
    label = "|".join(parts[1:]).strip("\n") or target.removeprefix(":")
    return label.replace("\n", " ")


# --- From rendered wikitext to prose

_EXTERNAL = re.compile(r"\[(?:https?:|ftp:|mailto:|news:)?//[^\s\[\]]*[^\S\n]*([^\[\]\n]*)\]")
_WORD = re.compile(r"__[A-Z]{3,}__")
_HATNOTE = re.compile(
    r":+\s*''+(?:see|main|for|this (?:article|page)|further|details|more|refer)\b", re.IGNORECASE
)
_MARKERS = re.compile(r"[*#:;]+")
_BOLD_LINE = re.compile(r"'{3}[^']+'{3}:?")
_PREFORMATTED = re.compile(r"(?:^ +[^\s|!].*\n?){3,}", re.MULTILINE)
_LEFT = re.compile(r"\{\{+|\}\}+|\[\[|\]\]")
_QUOTES = re.compile(r"''+")


def _prose(text: str) -> str:
    """Turn rendered wikitext into paragraphs and lists."""
    # lines with a leading blank are preformatted: one is a mistake, three or more are program code
    text = _PREFORMATTED.sub("\n", _WORD.sub("", _EXTERNAL.sub(r"\1", text)))
    blocks: list[list[list[str]]] = []  # blocks of lines of pieces
    joined = listed = False  # whether the next line continues the paragraph or the list
    for line in text.split("\n"):
        marker = _MARKERS.match(line)
        bare = line.strip()
        if (
            not bare.strip(HOLE + BREAK + " ")
            or bare[0] == "|"
            or (bare[0] == "!" and ("|" in bare or bare[1:2] in " !"))  # but "!Kung is a language"
            or _BOLD_LINE.fullmatch(bare)  # used as a heading
            or bare.startswith(("{|", "{{", "----"))
            or _HATNOTE.match(line)
        ):
            joined = listed = False
        elif marker:
            if not listed:
                blocks.append([])
            blocks[-1].append([_straight(line[marker.end() :])])
            joined, listed = False, True
        else:
            if joined:
                blocks[-1][-1].append(_straight(bare))
            else:
                blocks.append([[_straight(bare)]])
            joined, listed = True, False
    found = ["\n".join(filter(has_words, (_mended(" ".join(line)) for line in block))) for block in blocks]
    return "\n\n".join(filter(None, found))


def plain(text: str) -> str:
    """Convert the rendered value of a field or a title to plain text; line breaks are kept."""
    text = html.unescape(_straight(_EXTERNAL.sub(r"\1", text.replace(HOLE, ""))))
    return _BLANK.sub(" ", text)


def _straight(line: str) -> str:
    """Remove the quotes for bold and italic."""
    if "''" not in line:
        return line
    runs = [len(run) for run in _QUOTES.findall(line)]
    if runs.count(3) % 2 and runs.count(2) % 2:
        line = re.sub(r"(?<=\w)'''(?=s\b)", f"''{COMMENT}'", line, count=1)  # ''Time'''s
    line = _QUOTES.sub(lambda run: "'" * max(len(run[0]) - 5, len(run[0]) == 4), line)
    return line.replace(COMMENT, "")


def has_words(text: str) -> bool:
    """Return whether a text contains a letter or a digit."""
    return any(map(str.isalnum, text))


_SOMETIMES = r"(?:occasionally|sometimes|rarely|often)\b"
_AND = (
    rf"(?:(?:or|and|also|but also|locally|in English|in full|from|listen)\b(?: {_SOMETIMES})?|{_SOMETIMES})"
)
_SPOKEN = r"(?:(?:usually|often|also|variously|commonly) )?(?:pronounced as|pronounced|pronunciation|IPA)\b:?"
_SOUND = rf"{HOLE}(?: in [A-Z][a-z]+)?"
_MENDS: list[tuple[re.Pattern[str], str]] = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (rf"{_SPOKEN} ?(?:in English )?{_SOUND}(?:[ ,;/]*(?:{_AND} )?{_SOUND})*", HOLE),
        (rf"{HOLE}(?:[ ,;:/]*(?:{_AND} ?)?{HOLE})+", HOLE),
        (rf" ?\([^()]*[$£€]{HOLE}[^()]*\)", ""),
        (rf" ?\((?:aged? )?{HOLE} ?(?:years? (?:old|ago))?\)", ""),
        (rf"([(\[]) ?{HOLE}[ ,;:.]*(?:{_AND} (?={HOLE}|[)\]]))?", r"\1"),
        (rf"[ ,;:]*(?:\b{_AND} ?)?{HOLE} ?([)\]])", r"\1"),
        (rf" ?[,;:] ?{HOLE} ?(?=[,;:.)])", ""),
        (rf"(?<=[\w)]) {HOLE} (?=[,;:.])", ""),
        (HOLE, ""),
        (r"([(\[]) ?[,;:]+ ?", r"\1"),
        (r" ?[,;:]+ ?([)\]])", r"\1"),
        (r"(?:^| )(?:\((?: ?(?:or|and|also) ?)?\)|\[ ?\])", ""),
        (r"([(\[]) ", r"\1"),
        (r" ([)\]])", r"\1"),
        (r"\. \. \.", "..."),
        (r" ([,;:.])(?=[\s\x01]|$)", r"\1"),
        (r"[,;] ?(?=[;,])", ""),
        (r"  +", " "),
        (r"^ ?[,;:]+ ", ""),
    ]
]


def _mended(text: str) -> str:
    """Decode the entities of a line of prose and repair the text around dropped templates."""
    text = html.unescape(_LEFT.sub("", text))
    text = _BLANK.sub(" ", _UNSEEN.sub(lambda unseen: unseen[0] if unseen[0] in HOLE + BREAK else "", text))
    for pattern, replacement in _MENDS:
        text = pattern.sub(replacement, text)
    return "\n".join(filter(None, map(str.strip, text.split(BREAK))))
