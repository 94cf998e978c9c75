# ruff: noqa: RUF001, SIM905  (typographic letters are what this module is about; its lists are long)
"""The wikitext of an English Wikipedia article as clean prose, and what it says of a person.

Both routes to an article, a dump and the API, go through this module, so that they give identical texts.
Nothing depends on the date or on other pages: templates are not expanded but rendered from their own
arguments, by the rules below, and those without a rule are dropped and the holes they leave mended.

Time grows with the length of the page, whatever is left open in it: one scan with a stack, not a parser that
tries again.
"""

from __future__ import annotations

import calendar
import html
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

REVISION = 1
"""Raised when the same wikitext gives another text or other facts."""

DEPTH = 40
"""Templates and links inside more than so many others are dropped; MediaWiki has such a limit, too."""

_APPENDICES = """see also|references|notes|external links|external link|further reading|bibliography|sources
|footnotes|citations|works cited|notes and references|references and notes|references and further reading
|references and sources|sources and references|notes and citations|notes and sources|citations and notes
|bibliography and references|bibliography and further reading|further reading and external links
|sources and further reading|reference|note|footnote|endnotes|explanatory notes|cited works|literature cited
|works referenced|general references|general sources|cited sources|primary sources|secondary sources
|general and cited references|general and cited sources|inline citations|selected bibliography
|select bibliography|publications|selected publications|gallery|image gallery"""
APPENDICES = frozenset(map(str.strip, _APPENDICES.split("|")))
"""Titles, in lower case, of the sections that hold lists of references, links, titles or pictures."""


@dataclass(frozen=True)
class Person:
    """What an article's own wikitext says of the one human it is about."""

    gender: str | None
    """``male`` or ``female``; None when the article does not make it clear."""
    birth_date: str | None
    """``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; a year before Christ as historians count: 384 BC is ``-0384``.
    None when it is not known."""
    occupations: tuple[str, ...]
    """As the infobox has them, in lower case; empty when it has none."""


def article_text(wikitext: str) -> str:
    """Return the prose of an article: its lead and its sections, but for the appendices.

    Paragraphs are separated by a blank line; the items of a list are lines. Headings, tables, infoboxes,
    notes, files, galleries, formulas, categories and hatnotes are gone.

    Args:
        wikitext: Of one article of the English Wikipedia, whole.

    Returns:
        The text, without blanks around it; empty when there is no prose.
    """
    sections = []
    left_out = 7  # level of the appendix that is left out, above all levels when there is none
    for level, title, body in _sections(_without_extensions(wikitext)):
        if level <= left_out:
            left_out = level if _heading(title) in APPENDICES else 7
        if left_out == 7:
            sections.append(_prose(_expand(body)[0]))
    return "\n\n".join(filter(None, sections))


def lead_text(wikitext: str) -> str:
    """Return the prose before the first heading, in the form of ``article_text``, which begins with it."""
    return _lead(_without_extensions(wikitext))[0]


def is_disambiguation(wikitext: str) -> bool:
    """Say whether a page leads to pages of the same name and is no article itself.

    Args:
        wikitext: Of one page.

    Returns:
        Whether it holds the magic word ``__DISAMBIG__``, or a template that makes a page one: a name that
        ends in "disambiguation", "disambig" or "dab", a short form (hndis, geodis), or a parameter that is
        exactly ``disambiguation``. Pages of a surname, a given name or another set index count, too.
    """
    return any(
        bare == "__DISAMBIG__" or _DISAMBIGUATION.fullmatch(name) or "disambiguation" in parameters
        for bare, name, parameters in _marks(wikitext)
    )


def badge(wikitext: str) -> Literal["good", "featured"] | None:
    """Return the badge that an article's own templates give it; the higher one if they are two.

    Args:
        wikitext: Of one article. {{good article}}, {{featured article}} and their redirects (goodarticle,
            ga article ...) count, in any case; {{featured list}} is no badge of an article.
    """
    found = {_BADGES.get(name) for _, name, _ in _marks(wikitext)}
    return "featured" if "featured" in found else "good" if "good" in found else None


def person(wikitext: str) -> Person | None:
    """Read what an article says of the one human it is about.

    These are heuristics, for machines that cannot ask Wikidata. A human is who has a category of births,
    deaths or living people. The date of birth is the infobox's, else the year of the category. The gender is
    that of the categories ("women", "actresses", "male"), else of the lead's pronouns, if three
    quarters of them agree. The occupations are the infobox's.

    Args:
        wikitext: Of one article, whole.

    Returns:
        The facts; None when the article is about no human, or about several with different years of birth.
    """
    clean = _without_extensions(wikitext)
    categories = [re.sub(r"[\s_]+", " ", found).strip() for found in _CATEGORY.findall(clean)]
    births = {found[1] for name in categories if (found := _BIRTHS.fullmatch(name))}
    if len(births) > 1 or not (births or any(_HUMAN.fullmatch(name) for name in categories)):
        return None
    lead, fields = _lead(clean)
    dates = [_iso(fields[name]) for name in _BIRTH_FIELDS if name in fields]
    dates += [_iso(f"{year} AD") for year in births if re.fullmatch(r"\d+( BC)?", year)]
    occupations: dict[str, None] = {}
    for name in _OCCUPATION_FIELDS:
        occupations |= dict.fromkeys(_items(fields.get(name, "")))
    return Person(
        gender=_gender(categories, lead),
        birth_date=next(filter(None, dates), None),
        occupations=tuple(occupations),
    )


def first_sentence(text: str) -> tuple[str, str]:
    """Split the first sentence from a prose text.

    A sentence ends within its line, at a full stop, question or exclamation mark that is followed by a blank
    and what can begin another; not inside brackets or quotes, not after an initial or an abbreviation.

    Args:
        text: Prose, paragraphs separated by line breaks.

    Returns:
        The sentence and the rest, without blanks around them; the sentence is empty only if the text is
        blank, the rest when there is none.
    """
    text = text.strip()
    line = text.split("\n", 1)[0]
    end = _first_end(line, whole=True)
    if end is None and (line.count('"') % 2 or any(line.count(a) != line.count(b) for a, b in _PAIRS)):
        end = _first_end(line, whole=False)  # one is never closed
    end = len(line) if end is None else end
    return text[:end].strip(), text[end:].strip()


# --- Marks on the page: templates by name, categories


_MARK = re.compile(r"(__DISAMBIG__)|\{\{([^{}|<>\[\]]++)((?:\|[^{}]*+)?)\}\}")
_BADGES: dict[str, Literal["good", "featured"]] = {
    "good article": "good",
    "goodarticle": "good",
    "ga article": "good",
    "featured article": "featured",
    "featuredarticle": "featured",
    "fa article": "featured",
}
_DISAMBIGUATION = re.compile(
    r"(?!r )(?:.* |[a-z-]*)(?:disambig(?:uation)?|disamb|dab)(?: page| cleanup)?"
    r"|(?:hn|geo|road|school|hospital|number|callsign|mil-unit-)dis|hndis-cleanup"
    r"|surname|given name|set index article|sia|ship ?index"
)
_CATEGORY = re.compile(r"\[\[[ _]*category[ _]*:([^\[\]|{}\n]+)", re.IGNORECASE)
_YEAR = r"\d+(?:s|(?:st|nd|rd|th)[- ]century)?(?: BC)?"
_BIRTHS = re.compile(rf"({_YEAR}) births", re.IGNORECASE)
_HUMAN = re.compile(
    rf"{_YEAR} deaths|(?:possibly )?living people"
    r"|(?:year|date|place) of (?:birth|death) (?:missing|unknown|uncertain|unclear)(?: \(.*\))?",
    re.IGNORECASE,
)


def _marks(wikitext: str) -> Iterable[tuple[str, str, list[str]]]:
    """Find the magic word of disambiguation, and names and parameters of templates, all in lower case."""
    for bare, name, parameters in _MARK.findall(_without_extensions(wikitext)):
        yield bare, _name(name), [part.strip().lower() for part in parameters.split("|")[1:]]


def _name(raw: str) -> str:
    return " ".join(raw.replace("_", " ").lower().split())


# --- Persons

_BIRTH_FIELDS = ("birth_date", "birthdate", "birth date", "date_of_birth", "dateofbirth", "born")
_OCCUPATION_FIELDS = ("occupation", "occupations", "occupation(s)", "profession")
_FIELDS = frozenset(_BIRTH_FIELDS + _OCCUPATION_FIELDS)
_MONTHS = {name.lower(): place for place, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): place for place, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DATE = re.compile(
    rf"(?:\b(?P<iso_year>[0-9]{{4}})-(?P<iso_month>[0-9]{{2}})-(?P<iso_day>[0-9]{{2}})\b)"
    rf"|(?:(?:\b(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?\s+)?\b{_MONTH}"
    r"(?:\s+(?P<day2>[0-9]{1,2})(?:st|nd|rd|th)?\b(?!\s*(?:BC|AD)))?,?\s+)?"
    r"(?P<ad>AD\s*)?\b(?P<year>[0-9]{1,4})\b\s*(?P<era>BCE?\b|CE\b|AD\b)?",
    re.IGNORECASE,
)
_FEMALE = re.compile(r".*women|females?|actresses|princesses|empresses|duchesses|countesses|nuns")
_MALE = re.compile(r"men|males?")


def _iso(value: str) -> str | None:
    """Return the first date in a field's value, or None; a year of one or two digits needs its era."""
    text = re.sub(r"\[[^\[\]]*\]", "", _plain(value))  # the date of the old style
    for found in _DATE.finditer(text):
        year = found["iso_year"] or found["year"]
        if len(year) < 3 and not (found["ad"] or found["era"]):
            continue
        date = ("-" if (found["era"] or "").upper().startswith("BC") else "") + year.zfill(4)
        month = int(found["iso_month"] or 0) or _MONTHS.get((found["month"] or "").lower(), 0)
        if not 1 <= month <= 12:
            return date
        day = int(found["iso_day"] or found["day"] or found["day2"] or 0)
        # 2000 has a 29 February: whether the year had one is not worth the calendar's history
        known = 1 <= day <= calendar.monthrange(2000, month)[1]
        return f"{date}-{month:02}" + (f"-{day:02}" if known else "")
    return None


def _items(value: str) -> Iterable[str]:
    """Yield the items of a field's value, however they are separated."""
    text = re.sub(r"\([^()]*\)", "", _plain(value))
    for item in re.split(rf"[{BREAK}\n,;•·]| - |(?<=\w)/(?=\w)", text):
        item = re.sub(r"^[*#:\s]*(?:(?:and|&)\s+)?", "", item).strip(" .").lower()
        pair = re.fullmatch(r"(\w+) (?:and|&) (\w+)", item)  # but not "radio and television host"
        yield from filter(_has_words, pair.groups() if pair else [item])


def _gender(categories: Iterable[str], lead: str) -> str | None:
    found = set()
    for category in categories:
        words = category.lower().replace("'s", " 's").split()
        for before, word, after in zip(["", *words], words, [*words[1:], ""], strict=False):
            # "Historians of women", "Women's rights activists", but "women's basketball players"
            if before in {"of", "on", "against", "for", "to", "about", "and"}:
                continue
            if after == "'s" and not re.search(r"(?:players|footballers|cricketers|champions)$", words[-1]):
                continue
            found |= {name for name, rule in (("female", _FEMALE), ("male", _MALE)) if rule.fullmatch(word)}
    if len(found) == 1:
        return found.pop()
    words = re.findall(r"[a-z]+", lead.lower())
    male = sum(word in {"he", "his", "him", "himself"} for word in words)
    female = sum(word in {"she", "her", "hers", "herself"} for word in words)
    if male == female or 4 * max(male, female) < 3 * (male + female):
        return None
    return "male" if male > female else "female"


# --- First sentence

_PAIRS = [("(", ")"), ("[", "]"), ("“", "”")]
_END = re.compile(r"(?P<mark>\.{3,}|…|[.!?]+)(?P<end>[\"'”’»)\]]*)\s+(?=(?P<next>\S+))")
_VERB = re.compile(r"\b(?:is|was|are|were|has|had|have|may|can|will|refers|means|[a-z]+ed)\b")
_NEVER_LAST = frozenset(
    """mr mrs ms messrs dr prof rev revd hon fr st ste sts mt gen lt col maj brig capt cmdr adm sgt cpl gov
    sen rep pres supt det insp vs ca cca fl nr vol vols op pp ch sec fig figs eds approx cf viz lit
    transl pron esp incl e.g i.e née jan feb mar apr aug sept oct nov dec""".split()
)
"""Abbreviations that something always follows."""
_MAY_BE_LAST = frozenset(
    """jr sr esq inc ltd co corp bros llc plc etc al et ed univ dept est ave blvd rd sq mi ft bldg assn
    assoc mfg ph ph.d b.sc m.sc mass conn calif penn wash""".split()
)
"""Abbreviations that end a sentence only when a name's next part can hardly follow; so are single letters."""
_BEFORE_NUMBERS = frozenset("no nos art arts par cl sect".split())
_BEGINS = frozenset(
    """the it he she they his her its their this these that those in on at a an as after although among and
    before both born but by despite due during each following for founded from however if many most of
    one other since so some such then there though through to under until upon when where while with we
    it's there's within according along located originally today known""".split()
)
"""Words that begin sentences and hardly a name's next part."""


def _first_end(line: str, whole: bool) -> int | None:
    """Return where the first sentence of a line ends, or None; ``whole``: not inside brackets or quotes."""
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
            # "Yahoo! Inc. is ...": a title, as there was no verb yet
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


# --- Rendering


HOLE, BREAK, COMMENT = "\x00", "\x01", "\x02"
"""What stands, while a page is rendered, where something was dropped, where a line breaks, for a comment."""

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\xad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffc]"
)
_BLANK = re.compile(r"[^\S\n\x1c-\x1f]+")

_DROPPED_TAGS = (
    "ref|references|math|ce|chem|gallery|timeline|score|syntaxhighlight|source|imagemap|templatestyles|graph"
    "|chart|mapframe|maplink|hiero|inputbox|indicator|categorytree|section|table|includeonly|pre|s|strike|del"
    "|style|script|phonos"
)
_SILENT_TAGS = {"ref", "references", "section", "templatestyles", "indicator"}  # these leave no hole
_OPENING = re.compile(rf"<!--|<(nowiki|poem|{_DROPPED_TAGS})\b[^<>]*?(/?)>", re.IGNORECASE)
_COMMENT_LINE = re.compile(rf"^[ \t]*(?:{COMMENT}[ \t]*)+\n", re.MULTILINE)
_MARKUP = {ord(letter): f"&#{ord(letter)};" for letter in "[]{}|<>'=*#:;_!-"}


def _without_extensions(text: str) -> str:
    """Take out comments and the elements whose content is not wikitext, as the first step of MediaWiki.

    An element that is not closed is no element; a comment that is not closed goes to the end of the page.
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
            kept.append("\n\n" + _without_extensions(content.strip()).replace("\n", "<br>") + "\n\n")
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
    return " ".join(_plain(_expand(title)[0]).lower().strip(" :").split())


def _lead(clean: str) -> tuple[str, dict[str, str]]:
    """Return the prose before the first heading, and the fields of its infobox that are facts of persons."""
    expanded, fields = _expand(next(iter(_sections(clean)))[2])
    return _prose(expanded), fields


_BOUNDS = re.compile(r"^[ \t:]*\{\|(?!\})|^[ \t]*\|\}(?!\})|\[\[|\]\]|\{\{+|\}\}+|\|", re.MULTILINE)


@dataclass(slots=True)
class _Open:
    """A template, a link or a table that is not closed yet, or the page: its text between the bars."""

    kind: str
    parts: list[list[str]]

    def literal(self) -> list[str]:
        pieces = [self.kind]
        for place, part in enumerate(self.parts):
            pieces += ["|", *part] if place else part
        return pieces


def _expand(text: str) -> tuple[str, dict[str, str]]:
    """Render templates and links, drop tables; return the text and the fields of persons in its templates.

    What is never closed is text. A closing mark also ends what was opened inside and not closed.
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
            rendered = _template(parts, fields) if kind == "{{" else _link(parts)
        stack[-1].parts[-1].append(rendered.replace("=", "&#61;"))  # no name of a parameter

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
_RAISING = str.maketrans("0123456789+-−–()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾ⁿ", "' ")
_BLOCK_TAGS = "p|div|blockquote|center|hr|ul|ol|dl|h1|h2|h3|h4|h5|h6|poem"
_TAG = re.compile(
    rf"<(/?)({_BLOCK_TAGS}|br|li|dt|dd|span|small|big|b|i|u|em|strong|sup|sub|cite|code|tt|kbd|samp|var|abbr|dfn"
    r"|ins|q|font|bdi|bdo|mark|time|data|ruby|rb|rp|rt|wbr|nowiki|noinclude|onlyinclude|tbody|thead|tr|td|th"
    rf"|caption|{_DROPPED_TAGS})\b[^<>]*>",
    re.IGNORECASE,
)


def _render_raised(found: re.Match[str]) -> str:
    return found[1].translate(_RAISING)


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


# A link to another language, as pages had them before Wikidata, has a prefix in small letters: not "Re:Zero".
_NOT_SHOWN = re.compile(r"(?i:file|image|category)[ _]*|(?!doi|mw)[a-z]{2,3}(?:-[a-z-]+)?|simple")


def _link(parts: list[str]) -> str:
    target = parts[0].strip()
    prefix, colon, _ = target.partition(":")
    if colon and _NOT_SHOWN.fullmatch(prefix):
        return HOLE
    label = "|".join(parts[1:]).strip("\n") or target.removeprefix(":")
    return label.replace("\n", " ")


class _Arguments:
    """The parameters of a template: by place from 1 on, the empty text where there is none, and by name."""

    def __init__(self, parts: list[str]) -> None:
        self.places: list[str] = []
        self.named: dict[str, str] = {}
        for part in parts:
            name, equals, value = part.partition("=")
            if equals:
                self.named[name.strip().lower()] = value.strip()
            else:
                self.places.append(part)

    def __getitem__(self, place: int) -> str:
        named = self.named.get(str(place))
        if named is not None:
            return named
        return self.places[place - 1] if place <= len(self.places) else ""

    def all(self, start: int = 1) -> list[str]:
        """Return what is not empty from a place on."""
        count = max(
            [len(self.places), *(int(name) for name in self.named if re.fullmatch("[0-9]{1,2}", name))]
        )
        return [value for place in range(start, count + 1) if (value := self[place].strip())]


_Rule = Callable[[_Arguments], str]


def _template(parts: list[str], fields: dict[str, str]) -> str:
    name = _name(parts[0].replace(HOLE, ""))
    arguments = _Arguments(parts[1:])
    for field in _FIELDS.intersection(arguments.named):
        if arguments.named[field]:
            fields.setdefault(field, arguments.named[field])
    if rule := _RULES.get(name):
        return rule(arguments)
    if name.startswith("lang-"):
        return _language(name.removeprefix("lang-"), arguments)
    if name.startswith("script/"):
        return arguments[1]
    function, colon, _ = name.partition(":")
    if colon and function in _FUNCTIONS:
        return _FUNCTIONS[function](parts[0].partition(":")[2].strip())
    return HOLE


# --- Rules of templates


def _constant(text: str) -> _Rule:
    return lambda _: text


def _before(prefix: str, after: str = "") -> _Rule:
    """Put a prefix before the first argument; without one nothing but the prefix is shown."""
    return lambda arguments: prefix + arguments[1].strip() + after if arguments[1].strip() else prefix.strip()


def _block(arguments: _Arguments) -> str:
    text = arguments[1] or arguments.named.get("text", "") or arguments.named.get("quote", "")
    return f"\n\n{text.strip()}\n\n" if text.strip() else HOLE


def _list(arguments: _Arguments) -> str:
    return "\n" + "\n".join(f"* {item}" for item in arguments.all()) + "\n"


def _content(arguments: _Arguments) -> str:
    return "\n" + (arguments[1] or arguments.named.get("content", "")) + "\n"


def _language(code: str, arguments: _Arguments, place: int = 1) -> str:
    """Render as Wikipedia prints it: "Arabic: text, romanized: text, lit. 'text'"."""
    text = arguments[place].strip() or arguments.named.get("text", "")
    if not text:
        return HOLE
    name = _LANGUAGES.get(code.lower()) or _LANGUAGES.get(re.split(r"[-_]", code.lower())[0])
    if arguments.named.get("label", "") not in ("", "none"):
        name = arguments.named["label"]
    if name and arguments.named.get("label") != "none" and arguments.named.get("lead", "yes") != "no":
        text = f"{name}: {text}"
    if romanized := arguments[place + 1].strip() or arguments.named.get("translit", ""):
        text += f", romanized: {romanized}"
    if literally := arguments[place + 2].strip() or arguments.named.get("lit", ""):
        text += f", lit. '{literally}'"
    return text


def _chinese(arguments: _Arguments) -> str:
    named = arguments.named
    parts = [
        ("Chinese", named.get("c") or named.get("t") or named.get("s") or arguments[1].strip()),
        ("pinyin", named.get("p")),
        ("lit.", f"'{named['l']}'" if named.get("l") else ""),
    ]
    return "; ".join(f"{name}: {text}" for name, text in parts if text).replace("lit.: ", "lit. ") or HOLE


def _nihongo(arguments: _Arguments) -> str:
    english, kanji, romaji, extra = (arguments[place].strip() for place in (1, 2, 3, 4))
    if not english:
        english, romaji = romaji, ""
    inside = ", ".join(filter(None, [kanji, romaji, extra]))
    return (f"{english} ({inside})" if inside else english) + arguments[5]


def _number(text: str) -> str:
    """Put commas between the thousands of a number, and leave what is none."""
    text = text.strip()
    found = re.fullmatch(r"([-−–]?)(\d{4,})(\.\d+)?", text)
    return f"{found[1]}{int(found[2]):,}{found[3] or ''}" if found and len(text) < 40 else text


_UNITS = dict(
    pair.split("=")
    for pair in """c=°C,f=°F,k=K,sqmi=sq mi,sqkm=km²,sqm=m²,sqft=sq ft,km2=km²,m2=m²,mi2=sq mi,ft2=sq ft
cm2=cm²,m3=m³,km3=km³,cm3=cm³,cuft=cu ft,cuyd=cu yd,cumi=cu mi,acre=acres
nmi=nautical miles,lt=long tons,st=short tons,usgal=US gallons
impgal=imperial gallons,m3/s=m³/s,cuft/s=cu ft/s,/km2=/km²,pd/km2=/km²,pd/sqkm=/km²
/sqmi=/sq mi,pd/sqmi=/sq mi""".replace("\n", ",").split(",")
)
"""Codes of units that are not what Wikipedia prints."""
_RANGES = {"-": "–", "–": "–", "to(-)": "–", "x": " × ", "×": " × ", "+/-": " ± ", "±": " ± ", ",": ", "}
_RANGES |= {word: f" {word} " for word in ("to", "and", "or", "by")} | {"and(-)": " and "}


def _convert(arguments: _Arguments) -> str:
    """Render the number and the unit that are given, and what is not computed from them."""
    places = [place.strip() for place in arguments.places]
    if not places or not re.search(r"\d", places[0]):
        return HOLE
    text, place = _number(places[0]), 1
    while place + 1 < len(places) and places[place] in _RANGES:
        text += _RANGES[places[place]] + _number(places[place + 1])
        place += 2
    unit = places[place] if place < len(places) else ""
    adjective = arguments.named.get("adj", "") in ("on", "mid", "pre") and unit.isalpha()
    if millions := re.fullmatch(r"e([369])(.+)", unit):
        text += {"3": " thousand", "6": " million", "9": " billion"}[millions[1]]
        unit = millions[2]
    shown = _UNITS.get(unit.lower(), unit)
    text += shown if shown[:1] in ("/", "") else ("-" if adjective else " ") + shown
    rest = places[place + 1 :]
    if len(rest) > 1 and re.fullmatch(r"[\d./]+", rest[0]) and rest[1].isalpha():
        text += f" {rest[0]} {rest[1]}"  # {{convert|5|ft|10|in}}
    return text


def _value(arguments: _Arguments) -> str:
    number, error = _number(arguments[1]), arguments[2].strip()
    text = number + (error if error.startswith("(") else f" ± {error}" if error else "")
    if power := arguments.named.get("e"):
        text += "×10" + power.translate(_RAISING)
    unit = arguments.named.get("ul") or arguments.named.get("u") or ""
    return f"{text} {unit}".strip()


def _fraction(arguments: _Arguments) -> str:
    numbers = arguments.all()
    if len(numbers) > 2:
        return f"{numbers[0]} {numbers[1]}/{numbers[2]}"
    return "/".join(numbers if len(numbers) == 2 else ["1", *numbers])


def _as_of(arguments: _Arguments) -> str:
    named = arguments.named
    if named.get("alt"):
        return named["alt"]
    words = "since" if named.get("since") else "as of"
    if not (named.get("lc") or named.get("lc?")):
        words = words.capitalize()
    return f"{words} {_day(arguments.all()[:3], named) or arguments[1].strip()}{named.get('post', '')}"


def _day(numbers: list[str], named: dict[str, str], day_first: bool = False) -> str:
    """Write year, month and day out; the empty text when they are none."""
    if not numbers or not re.fullmatch(r"\d{1,4}", numbers[0]):
        return ""
    year = str(int(numbers[0]))
    month = (numbers[1:2] or [""])[0]
    number = _MONTHS.get(month.lower()) or (int(month) if re.fullmatch("[0-9]{1,2}", month) else 0)
    if not 1 <= number <= 12:
        return year
    name = calendar.month_name[number]
    day = (numbers[2:3] or [""])[0]
    if not re.fullmatch("[0-9]{1,2}", day) or not 1 <= int(day) <= 31:
        return f"{name} {year}"
    if day_first or named.get("df", "")[:1].lower() in ("y", "1"):
        return f"{int(day)} {name} {year}"
    return f"{name} {int(day)}, {year}"


def _date(arguments: _Arguments, day_first: bool = False) -> str:
    return _day(arguments.all()[:3], arguments.named, day_first) or arguments[1].strip() or HOLE


def _age(arguments: _Arguments) -> str:
    """Count the years between two dates; one alone gives another age every year and is dropped."""
    numbers = arguments.all()
    if len(numbers) != 6 or not all(re.fullmatch(r"\d{1,4}", number) for number in numbers):
        return HOLE
    start, end = tuple(map(int, numbers[:3])), tuple(map(int, numbers[3:]))
    return str(end[0] - start[0] - (end[1:] < start[1:]))


def _old_style(arguments: _Arguments) -> str:
    return f"{arguments[1].strip()} [O.S. {arguments[3].strip()}] {arguments[2].strip()}"


def _ship(prefix: str) -> _Rule:
    def rule(arguments: _Arguments) -> str:
        place = 2 if prefix else 3
        first = prefix or arguments[1].strip()
        name, number, form = (arguments[i].strip() for i in (place - 1, place, place + 1))
        return {
            "1": number,
            "2": f"{first} {name}",
            "3": f"{name} ({number})",
            "5": f"{first} {number}",
            "6": name,
        }.get(form, f"{first} {name}" + (f" ({number})" if number else ""))

    return rule


def _foreign_link(arguments: _Arguments) -> str:
    """Render {{ill|Title|de|Titel}} and, as it was until 2016, {{ill|de|Titel|text}}."""
    if arguments.named.get("lt"):
        return arguments.named["lt"]
    if re.fullmatch(r"[a-z]{2,3}", arguments[1].strip()) and arguments[2].strip():
        return arguments[3].strip() or arguments[2].strip()
    return arguments[1].strip()


def _music(arguments: _Arguments) -> str:
    names = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
    return names.get(arguments[1].strip(), arguments[1].strip())


def _money(sign: str) -> _Rule:
    return lambda arguments: sign + _number(arguments[1])


def _ordinal(arguments: _Arguments) -> str:
    text = arguments[1].strip()
    if not re.fullmatch(r"\d{1,9}", text):
        return text
    teen = text[-2:-1] == "1"
    return _number(text) + ("th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(text[-1], "th"))


_SHIPS = "USS HMS SS RMS MV HMAS HMCS HMNZS SMS USNS USAT USCGC MS HNLMS HNoMS ROKS RFA"
_MONEY = {
    "US$": "us$|usd",
    "£": "£|gbp|pound sterling",
    "€": "€|eur|euro",
    "₹": "₹|inr|indian rupee",
    "¥": "¥|jpy|yen",
    "A$": "a$|aud",
    "C$": "c$|cad",
}
_CONSTANTS = {
    " ": "nbsp|space|spaces|thinsp|thin space|hair space|hairsp|pad|nnbsp|ensp|emsp|figure space",
    " – ": "snd|snds|spnd|sndash|spaced ndash|spaced en dash|spaced endash|dash|–",
    "–": "ndash|endash|en dash|nbndash",
    "—": "mdash|emdash|em dash|—",
    " — ": "spaced mdash|spaced em dash|smdash",
    "&#39;": "'|`|apostrophe",  # no part of quotes that make bold and italic
    "&#39;s": "'s",
    '&#39; "': "' \"",
    '" &#39;': "\" '",
    '"': '-"',
    "&#124;": "!|pipe",
    "=": "=",
    "(": "(",
    ")": ")",
    " · ": "·|•|dot|middot|bullet|bull",
    ",": ",",
    "ʻ": "okina|'okina",
    "ʿ": "ayin",
    "ʾ": "hamza",
    "°": "deg|degree",
    "×": "times",
    "−": "minus",
    "π": "pi",
    "C": "carbon",
    "H": "hydrogen",
    "O": "oxygen",
}

_FUNCTIONS: dict[str, Callable[[str], str]] = {
    "formatnum": lambda value: HOLE if HOLE in value else _number(value.split("|")[0]),
    "lc": str.lower,
    "uc": str.upper,
    "lcfirst": lambda value: value[:1].lower() + value[1:],
    "ucfirst": lambda value: value[:1].upper() + value[1:],
}

_LANGUAGES = dict(
    pair.split("=")
    for pair in """ab=Abkhaz,af=Afrikaans,akk=Akkadian,sq=Albanian,am=Amharic,ang=Old English,ar=Arabic
arc=Aramaic,hy=Armenian,as=Assamese,ast=Asturian,az=Azerbaijani,ba=Bashkir
be=Belarusian,ber=Berber,bn=Bengali,bo=Standard Tibetan,br=Breton,bs=Bosnian
bg=Bulgarian,my=Burmese,ca=Catalan,ce=Chechen,ceb=Cebuano,co=Corsican,cop=Coptic
crh=Crimean Tatar,cs=Czech,cu=Old Church Slavonic,cv=Chuvash,cy=Welsh,da=Danish
de=German,dv=Maldivian,el=Greek,en=English,eo=Esperanto,es=Spanish,et=Estonian
eu=Basque,fa=Persian,fi=Finnish,fo=Faroese,fr=French,fro=Old French,fy=West Frisian
ga=Irish,gd=Scottish Gaelic,gl=Galician,got=Gothic,grc=Ancient Greek,gsw=Swiss German
gu=Gujarati,ha=Hausa,haw=Hawaiian,he=Hebrew,hi=Hindi,hr=Croatian,hsb=Upper Sorbian
ht=Haitian Creole,hu=Hungarian,ia=Interlingua,id=Indonesian,ig=Igbo,is=Icelandic
it=Italian,iu=Inuktitut,ja=Japanese,jv=Javanese,ka=Georgian,kk=Kazakh,kl=Greenlandic
km=Khmer,kn=Kannada,ko=Korean,ks=Kashmiri,ku=Kurdish,ky=Kyrgyz,la=Latin,lad=Ladino
lb=Luxembourgish,lo=Lao,lt=Lithuanian,lv=Latvian,mg=Malagasy,mi=Māori,mk=Macedonian
ml=Malayalam,mn=Mongolian,mr=Marathi,ms=Malay,mt=Maltese,nah=Nahuatl,ne=Nepali
nl=Dutch,nn=Norwegian,no=Norwegian,nb=Norwegian,nv=Navajo,oc=Occitan,or=Odia
os=Ossetian,pa=Punjabi,peo=Old Persian,pl=Polish,ps=Pashto,pt=Portuguese,qu=Quechua
rm=Romansh,ro=Romanian,ru=Russian,rus=Russian,sa=Sanskrit,sc=Sardinian,scn=Sicilian
sco=Scots,sd=Sindhi,se=Northern Sami,sh=Serbo-Croatian,si=Sinhala,sk=Slovak
sl=Slovene,sm=Samoan,so=Somali,sr=Serbian,su=Sundanese,sv=Swedish,sw=Swahili
syr=Syriac,ta=Tamil,te=Telugu,tg=Tajik,th=Thai,ti=Tigrinya,tk=Turkmen,tl=Tagalog
tr=Turkish,tt=Tatar,ota=Ottoman Turkish,ug=Uyghur,uk=Ukrainian,ur=Urdu,uz=Uzbek
vi=Vietnamese,yi=Yiddish,yo=Yoruba,zh=Chinese,zu=Zulu,xh=Xhosa,aln=Gheg Albanian
als=Tosk Albanian,non=Old Norse,goh=Old High German,gmh=Middle High German
nds=Low German,bar=Bavarian,fil=Filipino,prs=Dari,egy=Egyptian,sux=Sumerian
xcl=Classical Armenian""".replace("\n", ",").split(",")
)
"""Codes, as templates have them, to names, as Wikipedia prints them."""

# Names of templates, in lower case, with their common redirects.
_NAMES: list[tuple[_Rule, str]] = [
    (
        lambda arguments: arguments[1],
        """nowrap|nobr|nobreak|no wrap|small|smaller|big|bigger|large|larger|midsize|normal|em|strong|b
        |i|bold|italic|nobold|no bold|noitalic|no italic|italics correction|underline|sc|sm|smallcaps
        |small caps|sc2|allcaps|mono|tt|code|samp|kbd|var|mvar|math|tmath|sup|sub|not a typo|typo
        |proper name|as written|chem2|unicode|polytonic|hebrew|nastaliq|visible anchor|vanchor|flag
        |flagu|flagcountry|nq|tq|format price|nts|number table sorting|dfn|w|wikilink|char|center
        |delink|noprint|stn|station|phonetic|nihongo foot""",
    ),
    (lambda arguments: arguments[1].strip(), "abbr|abbrlink|tooltip|hover title|explain"),
    (
        lambda arguments: arguments.named.get("text") or arguments[1],
        "citation needed span|cns|fact span|clarify span|synthesis inline span|disputed inline span",
    ),
    (lambda arguments: arguments[2], "color|colour|font color|sort|script|rtl-lang|resize"),
    (lambda arguments: (arguments.all() or [""])[-1], "lang|transl|transliteration|translit|tlit|wikt-lang"),
    (lambda arguments: _language(arguments[1].strip(), arguments, 2), "langx"),
    (_chinese, "zh|lang-zh"),
    (_nihongo, "nihongo"),
    (_convert, "convert|cvt|conv"),
    (_value, "val"),
    (_fraction, "frac|fraction|sfrac|tfrac"),
    (lambda arguments: arguments[1].strip() + arguments[2].strip().translate(_RAISING), "pow"),
    (lambda arguments: "×10" + arguments[1].strip().translate(_RAISING), "e|esp"),
    (lambda arguments: "".join(arguments.all()), "chem|chemical formula|linktext"),
    (lambda arguments: " ".join(arguments.all()), "post-nominals|postnominals|sortname"),
    (lambda arguments: " ".join(arguments.all()[:2]), "bibleverse|bibleref"),
    (lambda arguments: "+".join(arguments.all()), "keypress|key press"),
    (lambda arguments: " · ".join(arguments.all()), "hlist|horizontal list"),
    (lambda arguments: " § ".join(arguments.all()), "section link|slink"),
    (_list, "unbulleted list|ubl|ublist|vunblist|bulleted list|blist|ordered list|numbered list"),
    (_content, "plainlist|plain list|flatlist|flat list|columns-list|collist|col-list"),
    (
        _block,
        """quote|blockquote|block quote|cquote|bquote|quotation|centered pull quote|poem quote|poemquote
        |verse translation""",
    ),
    (_as_of, "as of|asof|as at"),
    (
        _date,
        """birth date|birth-date|birthdate|bda|birth date and age|birth-date and age|birthdate and age|b-da
        |dob|date of birth|birth year and age|birth year|death date|death-date|death date and age|dda
        |death-date and age|death year and age|death year|start date|start-date|start date and age|end date
        |end-date|film date|release date|date""",
    ),
    (lambda arguments: _date(arguments, day_first=True), "dts|date table sorting"),
    (_age, "age|age in years"),
    (_old_style, "oldstyledate"),
    (lambda arguments: " – ".join(f"c. {year}" for year in arguments.all()) or "c.", "circa|c.|ca."),
    (lambda arguments: "r. " + "–".join(arguments.all()), "reign|r."),
    (_before("fl. "), "fl.|floruit"),
    (_before("b. "), "b.|born in|born-in"),
    (_before("d. "), "d.|died in|died-in"),
    (_before("née "), "nee|née"),
    (_before("lit. '", "'"), "lit|literal translation|literally"),
    (_before("'", "'"), "gloss|single quote|sq"),
    (_before('"', '"'), '"|double quote|dq'),
    (_before("⟨", "⟩"), "angbr|angle bracket"),
    (_before("[", "]"), "bracket|sqbr|interp"),
    (
        lambda arguments: "-".join(part.strip() for part in arguments.places[:2]),
        "simplenuclide|simplenuclide2",
    ),
    (_ship(""), "ship"),
    (
        lambda arguments: f"{arguments[1].strip()}-class {arguments[2].strip()}".strip(),
        "sclass|sclass2|sclass-",
    ),
    (lambda arguments: "".join(arguments.all()[:2]) or "[sic]", "sic"),
    (_foreign_link, "ill|interlanguage link|interlanguage link multi|illm|ill2"),
    (_music, "music"),
    (_ordinal, "ordinal|ord"),
    *((_money(sign), names) for sign, names in _MONEY.items()),
    *((_constant(text), names) for text, names in _CONSTANTS.items()),
    *((_ship(prefix), prefix.lower()) for prefix in _SHIPS.split()),
]
_RULES = {name.strip(): rule for rule, names in _NAMES for name in names.split("|")}


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
    # lines that begin with a blank are set as they are: one is a slip of the writer, three are program code
    text = _PREFORMATTED.sub("\n", _WORD.sub("", _EXTERNAL.sub(r"\1", text)))
    blocks: list[list[list[str]]] = []  # blocks of lines of pieces
    joined = listed = False  # whether the next line goes on with the paragraph, with the list before it
    for line in text.split("\n"):
        marker = _MARKERS.match(line)
        bare = line.strip()
        if (
            not bare.strip(HOLE + BREAK + " ")
            or bare[0] == "|"
            or (bare[0] == "!" and ("|" in bare or bare[1:2] in " !"))  # but "!Kung is a language"
            or _BOLD_LINE.fullmatch(bare)  # a heading in disguise
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
    found = ["\n".join(filter(_has_words, (_mended(" ".join(line)) for line in block))) for block in blocks]
    return "\n\n".join(filter(None, found))


def _plain(text: str) -> str:
    """Turn the rendered value of a field, or a title, into plain text; breaks of lines stay."""
    text = html.unescape(_straight(_EXTERNAL.sub(r"\1", text.replace(HOLE, ""))))
    return _BLANK.sub(" ", text)


def _straight(line: str) -> str:
    """Take out the quotes that make bold and italic."""
    if "''" not in line:
        return line
    runs = [len(run) for run in _QUOTES.findall(line)]
    if runs.count(3) % 2 and runs.count(2) % 2:
        line = re.sub(r"(?<=\w)'''(?=s\b)", f"''{COMMENT}'", line, count=1)  # ''Time'''s
    line = _QUOTES.sub(lambda run: "'" * max(len(run[0]) - 5, len(run[0]) == 4), line)
    return line.replace(COMMENT, "")


def _has_words(text: str) -> bool:
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
    """Decode the entities of a line of prose, and mend what dropped templates left around them."""
    text = html.unescape(_LEFT.sub("", text))
    text = _BLANK.sub(" ", _UNSEEN.sub(lambda unseen: unseen[0] if unseen[0] in HOLE + BREAK else "", text))
    for pattern, replacement in _MENDS:
        text = pattern.sub(replacement, text)
    return "\n".join(filter(None, map(str.strip, text.split(BREAK))))
