# ruff: noqa: RUF001  (the module handles typographic letters)
"""Convert wikitext to prose in one scan with a stack, in time linear in the length of the page.

Unclosed markup affects only its own section.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from textgamut.datasets.wikitext.prose import PROTOCOLS, UNSEEN, blocks, decoded, plain, prose, straight
from textgamut.datasets.wikitext.site import ENGLISH_SITE, Site
from textgamut.datasets.wikitext.wiki_templates import (
    BREAK,
    CLOSE,
    COMMENT,
    HOLE,
    OPEN,
    PARAGRAPH,
    RAISING,
    UNMARKED,
    render_parameter,
    render_template,
)

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
"""Titles, in lower case, of sections with lists of references, links, titles or pictures, in English."""


def article_text(wikitext: str, site: Site = ENGLISH_SITE) -> str:
    """Return the prose of an article: its lead and its sections without the appendices.

    Appendices are recognized by their titles in English articles. In other languages, they are the sections
    at the end of an article that contain lists only.

    Paragraphs are separated by a blank line; the items of a list are lines. Headings, tables, infoboxes,
    notes, files, galleries, formulas, categories and hatnotes are removed.

    Args:
        wikitext: Complete wikitext of an article.
        site: The wiki.

    Returns:
        The text, stripped; empty if there is no prose.
    """
    if not site.english:
        return _without_last_lists(wikitext, site)
    sections = []
    left_out = 7  # level of the current appendix; 7, above all levels, outside of appendices
    for level, title, body in _sections(without_extensions(wikitext)):
        if level <= left_out:
            left_out = level if _heading(title) in APPENDICES else 7
        if left_out == 7:
            sections.append(prose(_expand(body, site)[0], site))
    return "\n\n".join(filter(None, sections))


def _without_last_lists(wikitext: str, site: Site) -> str:
    """Return the lead and the sections up to the last one with a paragraph."""
    sections = [
        blocks(_expand(body, site)[0], site) for _, _, body in _sections(without_extensions(wikitext))
    ]
    while len(sections) > 1 and all(block.listed for block in sections[-1]):
        sections.pop()
    return "\n\n".join(block.text for section in sections for block in section)


def lead_text(wikitext: str, site: Site = ENGLISH_SITE) -> str:
    """Return the prose before the first heading, in the same form as in ``article_text``."""
    return lead_and_fields(without_extensions(wikitext), site)[0]


# --- Rendering

_EXTENSIONS = (
    "ref|references|math|ce|chem|gallery|timeline|score|syntaxhighlight|source|imagemap|templatestyles|graph"
    "|chart|mapframe|maplink|hiero|inputbox|indicator|categorytree|section|includeonly|pre|phonos"
)
_DROPPED_TAGS = "table|s|strike|del|h1|h2|h3|h4|h5|h6"  # of HTML, which may be nested
_SILENT_TAGS = {"ref", "references", "section", "templatestyles", "indicator"}  # removed without a hole
_OPENING = re.compile(rf"<!--|<(nowiki|poem|{_EXTENSIONS})\b[^<>]*?(/?)>", re.IGNORECASE)
_DROPPED = re.compile(rf"<(/?)({_DROPPED_TAGS})\b[^<>]*>", re.IGNORECASE)
_COMMENT_LINE = re.compile(rf"^[ \t]*(?:{COMMENT}[ \t]*)+\n", re.MULTILINE)
_MARKUP = {ord(letter): f"&#{ord(letter)};" for letter in "&[]{}|<>'=*#:;_!-"}
_POEM_INDENT = re.compile(r"\n[ \t:]*")


def without_extensions(text: str) -> str:
    """Remove comments and elements with content other than wikitext, as MediaWiki does first.

    The tag of an unclosed element is text; an unclosed comment extends to the end of the page.
    """
    text = UNSEEN.sub("", text.replace("\r\n", "\n"))
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
            kept.append(OPEN + decoded(content).translate(_MARKUP).replace("\n", " ") + CLOSE)
        elif name == "poem":
            lines = _POEM_INDENT.sub("<br>\n", without_extensions(content.strip(" \n:")))
            kept.append(f"\n\n{lines}\n\n")
        elif name in _SILENT_TAGS:
            kept.append(OPEN + CLOSE)
        elif name != "includeonly":
            kept.append(HOLE)
    kept.append(text[start:])
    return _without_elements(_COMMENT_LINE.sub("", "".join(kept)).replace(COMMENT, ""))


def _without_elements(text: str) -> str:
    """Remove the elements of HTML that are left out, with those inside them."""
    opened: dict[str, list[int]] = {}
    outermost: list[tuple[int, int]] = []
    for found in _DROPPED.finditer(text):
        starts = opened.setdefault(found[2].lower(), [])
        if not found[1]:
            starts.append(found.start())
        elif starts:
            start = starts.pop()
            while outermost and outermost[-1][0] > start:
                outermost.pop()
            if not outermost or outermost[-1][1] <= start:
                outermost.append((start, found.end()))
    pieces, position = [], 0
    for start, end in outermost:
        pieces += [text[position:start], HOLE]
        position = end
    return "".join(pieces) + text[position:]


def _sections(text: str) -> Iterable[tuple[int, str, str]]:
    """Yield level, title and body of each section; the lead has level 0 and no title."""
    level, title = 0, ""
    lines: list[str] = []
    for line in text.split("\n"):
        if line[:1] == "=" and (heading := line.rstrip())[-1] == "=" and len(heading) > 2:
            yield level, title, "\n".join(lines)
            title, lines = heading.strip("="), []
            left, right = len(heading) - len(heading.lstrip("=")), len(heading) - len(heading.rstrip("="))
            level = min(left, right, 6) if title else min((left - 1) // 2, 6)
        else:
            lines.append(line)
    yield level, title, "\n".join(lines)


def _heading(title: str) -> str:
    return " ".join(plain(_expand(title, ENGLISH_SITE)[0]).lower().strip(" :").split())


def lead_and_fields(clean: str, site: Site = ENGLISH_SITE) -> tuple[str, dict[str, str]]:
    """Return the prose before the first heading and the fields of the infobox with facts about persons."""
    expanded, fields = _expand(next(iter(_sections(clean)))[2], site)
    return prose(expanded, site), fields


_BOUNDS = re.compile(r"^[ \t:]*\{\|(?!\})|^[ \t]*\|\}(?!\})|\[\[+|\]\]+|\{\{+|\}\}+|\|", re.MULTILINE)


@dataclass(slots=True)
class _Open:
    """An open template or parameter, link or table, or the page, as its parts between vertical bars."""

    kind: str
    """First two characters of its mark."""
    parts: list[list[str]]
    braces: int = 0
    """Number of opening braces of templates and parameters that are not closed."""
    closed: int = 0
    """Number of templates and parameters that begin at the same place and are closed."""

    def literal(self) -> list[str]:
        pieces = ["{" * self.braces or self.kind]
        for place, part in enumerate(self.parts):
            pieces += ["|", *part] if place else part
        return pieces


class _Stack:
    """The open markup at a place of a text."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.open = [_Open("", [[]])]
        self.counts = {"{{": 0, "[[": 0, "{|": 0}
        self.fields: dict[str, str] = {}

    def text(self, text: str) -> None:
        self.open[-1].parts[-1].append(text)

    def push(self, opened: _Open) -> None:
        self.open.append(opened)
        self.counts[opened.kind] += 1

    def pop(self, kind: str) -> _Open:
        """Close the innermost markup of a kind; unclosed markup inside it becomes text."""
        place = len(self.open) - 1
        while self.open[place].kind != kind:
            place -= 1
        closed = self.open[place:]
        del self.open[place:]
        for one in closed:
            self.counts[one.kind] -= 1
        closed[0].parts[-1] += [piece for unclosed in closed[1:] for piece in unclosed.literal()]
        return closed[0]

    def close_braces(self, count: int) -> None:
        """Close templates and parameters: three braces are a parameter, as in MediaWiki."""
        while count >= 2 and self.counts["{{"]:
            closed = self.pop("{{")
            matched = min(count, closed.braces, 3)
            count -= matched
            left = closed.braces - matched
            parts = ["".join(part) for part in closed.parts]
            if len(self.open) + closed.closed > DEPTH:
                rendered = HOLE
            else:
                rendered = (
                    render_parameter(parts)
                    if matched == 3
                    else render_template(parts, self.fields, self.site)
                )
            rendered = _as_value(rendered)
            if left >= 2:
                self.push(_Open("{{", [[rendered]], left, closed.closed + 1))
            else:
                self.text("{" * left + rendered)
        self.text("}" * count)

    def close_brackets(self, count: int) -> None:
        """Close links; a third bracket may end an external link inside."""
        while count >= 2 and (
            self.open[-1].kind == "[["
            or (self.open[-1].kind == "{{" and self.counts["[["] and not self.counts["{|"])
        ):
            inside = "".join(self.pop("[[").literal())[2:]
            count -= 2
            if count == 1 and "[" in inside:
                inside, count = inside + "]", 0
            self.text(HOLE if len(self.open) > DEPTH else _as_value(_link(inside, self.site)))
        self.text("]" * count)


def _as_value(rendered: str) -> str:
    return rendered.replace("=", "&#61;")  # not the name of a parameter


def _expand(text: str, site: Site) -> tuple[str, dict[str, str]]:
    """Render templates and links and drop tables; return the text and the fields of persons in its templates.

    Unclosed markup is text. A closing mark also ends unclosed markup inside.
    """
    text = _TAG.sub(_render_tag, _RAISED.sub(_render_raised, text))
    stack = _Stack(site)
    position = 0
    for found in _BOUNDS.finditer(text):
        mark = found[0]
        stack.text(text[position : found.start()])
        position = found.end()
        if mark == "|" and stack.open[-1].kind == "{{":
            stack.open[-1].parts.append([])
        elif mark[:2] == "{{":
            stack.push(_Open("{{", [[]], len(mark)))
        elif mark[0] == "}":
            stack.close_braces(len(mark))
        elif mark[0] == "[":
            stack.text("[" * (len(mark) % 2))
            for _ in range(len(mark) // 2):
                stack.push(_Open("[[", [[]]))
        elif mark[0] == "]":
            stack.close_brackets(len(mark))
        elif mark[-2:] == "{|":
            stack.push(_Open("{|", [[]]))
        elif mark[-1] == "}" and stack.counts["{|"]:
            stack.pop("{|")
            stack.text(HOLE)
        else:
            stack.text(mark)
    stack.text(text[position:])
    return "".join(piece for unclosed in stack.open for piece in unclosed.literal()), stack.fields


_RAISED = re.compile(r"<sup\b[^<>]*>([\d+\-−–()n' ]{1,20})</sup\s*>", re.IGNORECASE)
_BLOCK_TAGS = "p|div|blockquote|center|hr|ul|ol|dl|h1|h2|h3|h4|h5|h6|poem"
_TAG = re.compile(
    rf"<(/?)({_BLOCK_TAGS}|br|li|dt|dd|span|small|big|b|i|u|em|strong|sup|sub|cite|code|tt|kbd|samp|var|abbr|dfn"
    r"|ins|q|font|bdi|bdo|mark|time|data|ruby|rb|rp|rt|rtc|wbr|nowiki|noinclude|onlyinclude|tr|td|th|caption"
    rf"|{_DROPPED_TAGS}|{_EXTENSIONS})\b[^<>]*>",
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
    if name in _BLOCK_TAGS.split("|"):
        return PARAGRAPH
    return "" if name in ("noinclude", "onlyinclude") else CLOSE if found[1] else OPEN


# A language link, used before Wikidata, has a prefix in lower case, unlike "Re:Zero".
_LANGUAGE_LINK = re.compile(r"(?!doi|mw)[a-z]{2,3}(?:-[a-z-]+)?|simple")
# Dumps do not list the older names of the namespace of files, such as "Bild" for "Datei".
_MEDIA = re.compile(
    r"\.(?:jpe?g|png|gif|svg|tiff?|webp|xcf|pdf|djvu|og[agv]|opus|webm|mp3|wav|flac|midi?|mpe?g|stl)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(PROTOCOLS, re.IGNORECASE)


def _link(inside: str, site: Site) -> str:
    """Render the text between the brackets of a link, so that its apostrophes and colons are no markup."""
    target, _, label = inside.partition("|")
    target = target.translate(UNMARKED).strip()
    if _ADDRESS.match(target):
        return f"[[{inside}]]"
    prefix, colon, name = target.partition(":")
    if colon and (_LANGUAGE_LINK.fullmatch(prefix) or _is_hidden(prefix, name, site)):
        return HOLE
    label = label.strip("\n")
    shown = (straight(label) if label else target.removeprefix(":")).replace("'", "&#39;")
    return OPEN + shown.replace("\n", " ").replace(":", "&#58;") + CLOSE


def _is_hidden(prefix: str, name: str, site: Site) -> bool:
    """Return whether a link is to a file or a category."""
    if prefix.replace("_", " ").rstrip().lower() in site.hidden:
        return True
    return not site.english and bool(prefix) and _MEDIA.fullmatch(name[name.rfind(".") :]) is not None
