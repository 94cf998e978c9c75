"""Facts from the wikitext of an article: badge, disambiguation, and the person that it is about."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from textgamut.datasets.wikitext.markup import lead_and_fields, without_extensions
from textgamut.datasets.wikitext.prose import has_words, plain
from textgamut.datasets.wikitext.wiki_templates import BIRTH_FIELDS, BREAK, MONTHS, OCCUPATION_FIELDS, name_of


@dataclass(frozen=True)
class Person:
    """Facts from the wikitext of an article about one person."""

    gender: str | None
    """``male`` or ``female``; None if it is unclear."""
    birth_date: str | None
    """``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; 384 BC is ``-0384``. None if unknown."""
    occupations: tuple[str, ...]
    """Occupations in the infobox, in lower case; empty if it has none."""


def is_disambiguation(wikitext: str) -> bool:
    """Return whether a page is a disambiguation page and not an article.

    Args:
        wikitext: Wikitext of a page.

    Returns:
        Whether it contains the magic word ``__DISAMBIG__`` or a disambiguation template: one with a name that
        ends in "disambiguation", "disambig" or "dab", a short form (hndis, geodis), or a parameter that is
        exactly ``disambiguation``. Pages for a surname, a given name or another set index are included.
    """
    return any(
        bare == "__DISAMBIG__" or _DISAMBIGUATION.fullmatch(name) or "disambiguation" in parameters
        for bare, name, parameters in _marks(wikitext)
    )


def badge(wikitext: str) -> Literal["good", "featured"] | None:
    """Return the badge of an article, the higher one if it has two, or None.

    Args:
        wikitext: Wikitext of an article. Badges are {{good article}}, {{featured article}} and their
            redirects (goodarticle, ga article ...), in upper or lower case; {{featured list}} is not.
    """
    if not _MAYBE_BADGE.search(wikitext):  # most pages of a dump
        return None
    found = {_BADGES.get(name) for _, name, _ in _marks(wikitext)}
    return "featured" if "featured" in found else "good" if "good" in found else None


def person(wikitext: str) -> Person | None:
    """Return the facts about the person that an article is about.

    These are heuristics for use without Wikidata. An article is about a person if it has a category of
    births, deaths or living people. The date of birth is read from the infobox, or else from the category.
    The gender follows from the categories ("women", "actresses", "male"), or else from the pronouns in the
    lead, if three quarters of them agree. The occupations are read from the infobox.

    Args:
        wikitext: Complete wikitext of an article.

    Returns:
        The facts, or None if the article is not about a person or about several with different years of
        birth.
    """
    if not _is_human(_categories(wikitext)):  # most pages of a dump
        return None
    clean = without_extensions(wikitext)
    categories = _categories(clean)
    births = {found[1] for name in categories if (found := _BIRTHS.fullmatch(name))}
    if len(births) > 1 or not _is_human(categories):
        return None
    lead, fields = lead_and_fields(clean)
    dates = [_iso(fields[name]) for name in BIRTH_FIELDS if name in fields]
    dates += [_iso(f"{year} AD") for year in births if re.fullmatch(r"\d+( BC)?", year)]
    occupations: dict[str, None] = {}
    for name in OCCUPATION_FIELDS:
        occupations |= dict.fromkeys(_items(fields.get(name, "")))
    return Person(
        gender=_gender(categories, lead),
        birth_date=next(filter(None, dates), None),
        occupations=tuple(occupations),
    )


_MARK = re.compile(r"(__DISAMBIG__)|\{\{([^{}|<>\[\]]++)((?:\|[^{}]*+)?)\}\}")
_BADGES: dict[str, Literal["good", "featured"]] = {
    "good article": "good",
    "goodarticle": "good",
    "ga article": "good",
    "featured article": "featured",
    "featuredarticle": "featured",
    "fa article": "featured",
}
_MAYBE_BADGE = re.compile(r"\{\{[\s_]*(?:good|featured|ga|fa)[\s_]*article[\s_]*[|}]", re.IGNORECASE)
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


def _categories(wikitext: str) -> list[str]:
    return [" ".join(found.replace("_", " ").split()) for found in _CATEGORY.findall(wikitext)]


def _is_human(categories: Iterable[str]) -> bool:
    return any(_BIRTHS.fullmatch(name) or _HUMAN.fullmatch(name) for name in categories)


def _marks(wikitext: str) -> Iterable[tuple[str, str, list[str]]]:
    """Yield (magic word, name, parameters) of each disambiguation word and template; names in lower case."""
    for bare, name, parameters in _MARK.findall(without_extensions(wikitext)):
        yield bare, name_of(name), [part.strip().lower() for part in parameters.split("|")[1:]]


# --- Persons

_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
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
    """Return the first date in a field's value, or None; a year of one or two digits requires an era."""
    text = re.sub(r"\[[^\[\]]*\]", "", plain(value))  # remove the old-style date
    for found in _DATE.finditer(text):
        year = found["iso_year"] or found["year"]
        if len(year) < 3 and not (found["ad"] or found["era"]):
            continue
        date = ("-" if (found["era"] or "").upper().startswith("BC") else "") + year.zfill(4)
        month = int(found["iso_month"] or 0) or MONTHS.get((found["month"] or "").lower(), 0)
        if not 1 <= month <= 12:
            return date
        day = int(found["iso_day"] or found["day"] or found["day2"] or 0)
        # 2000 is a leap year: whether the actual year was one is not checked
        known = 1 <= day <= calendar.monthrange(2000, month)[1]
        return f"{date}-{month:02}" + (f"-{day:02}" if known else "")
    return None


def _items(value: str) -> Iterable[str]:
    """Yield the items of a field's value, for all common separators."""
    text = re.sub(r"\([^()]*\)", "", plain(value))
    for item in re.split(rf"[{BREAK}\n,;•·]| - |(?<=\w)/(?=\w)", text):
        item = re.sub(r"^[*#:\s]*(?:(?:and|&)\s+)?", "", item).strip(" .").lower()
        pair = re.fullmatch(r"(\w+) (?:and|&) (\w+)", item)  # but not "radio and television host"
        yield from filter(has_words, pair.groups() if pair else [item])


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
