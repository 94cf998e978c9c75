# ruff: noqa: RUF001  (the module handles typographic letters)
"""Render inline templates from their own arguments.

The result does not depend on the date or on other pages. A template without a rule leaves a hole, which
``markup`` repairs. In other languages than English, only the rules of ``_SHARED`` apply: their templates show
their arguments and nothing else, under the same name on many Wikipedias.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable

from textgamut.datasets.wikitext.site import ENGLISH_SITE, Site

HOLE, BREAK, COMMENT = "\x00", "\x01", "\x02"
"""Placeholders for dropped markup, line breaks and comments while a page is rendered."""
OPEN, CLOSE, PARAGRAPH = "\x03", "\x04", "\x05"
"""Placeholders for the tags of inline elements, links and quotes, and of blocks. Like tags in MediaWiki, they
separate apostrophes and end addresses."""
UNMARKED = dict.fromkeys(map(ord, OPEN + CLOSE))
"""Translation that removes inline tags."""

BIRTH_FIELDS = ("birth_date", "birthdate", "birth date", "date_of_birth", "dateofbirth", "born")
OCCUPATION_FIELDS = ("occupation", "occupations", "occupation(s)", "profession")
FIELDS = frozenset(BIRTH_FIELDS + OCCUPATION_FIELDS)
"""Fields of infoboxes with facts about persons."""
MONTHS = {name.lower(): place for place, name in enumerate(calendar.month_name) if name}
MONTHS |= {name.lower(): place for place, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
RAISING = str.maketrans("0123456789+-−–()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾ⁿ", "' ")


def name_of(raw: str, site: Site = ENGLISH_SITE) -> str:
    """Return the name of a template as in the rules: in lower case, with blanks for underscores."""
    name = " ".join(raw.replace("_", " ").lower().split())
    for namespace in site.templates:
        name = name.removeprefix(f"{namespace}:")
    return name.strip()


class Arguments:
    """The parameters of a template, by name or by place from 1; a missing place is an empty text."""

    def __init__(self, parts: list[str]) -> None:
        self.places: list[str] = []
        self.named: dict[str, str] = {}
        for part in parts:
            if "'" not in part:  # tags matter next to apostrophes; elsewhere, rules expect numbers and codes
                part = part.translate(UNMARKED)
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
        """Return the non-empty parameters from a place on."""
        count = max(
            [len(self.places), *(int(name) for name in self.named if re.fullmatch("[0-9]{1,2}", name))]
        )
        return [value for place in range(start, count + 1) if (value := self[place].strip())]


_Rule = Callable[[Arguments], str]


def render_template(parts: list[str], fields: dict[str, str], site: Site = ENGLISH_SITE) -> str:
    """Render a template from its name and parameters; add facts about persons to ``fields``."""
    name = name_of(parts[0].replace(HOLE, "").translate(UNMARKED), site)
    arguments = Arguments(parts[1:])
    for field in FIELDS.intersection(arguments.named):
        if arguments.named[field]:
            fields.setdefault(field, arguments.named[field])
    if rule := (_RULES if site.english else _SHARED_RULES).get(name):
        return rule(arguments)
    if name.startswith("lang-"):
        if not site.english:
            return arguments[1].strip() or HOLE  # without the name of the language
        return _language(name.removeprefix("lang-"), arguments)
    if name.startswith("script/"):
        return arguments[1]
    function, colon, _ = name.partition(":")
    if colon and function == "formatnum" and not site.english:
        return parts[0].partition(":")[2].strip()
    if colon and function in _FUNCTIONS:
        return _FUNCTIONS[function](parts[0].partition(":")[2].strip())
    return HOLE


def render_parameter(parts: list[str]) -> str:
    """Render a parameter, {{{name|default}}}, which has no value on a page of its own."""
    return parts[1] if len(parts) > 1 else "&#123;" * 3 + parts[0] + "&#125;" * 3


# --- Rules of templates


def _constant(text: str) -> _Rule:
    return lambda _: text


def _before(prefix: str, after: str = "") -> _Rule:
    """Put a prefix before the first argument; without an argument, show only the prefix."""
    return lambda arguments: prefix + arguments[1].strip() + after if arguments[1].strip() else prefix.strip()


def _block(arguments: Arguments) -> str:
    text = arguments[1] or arguments.named.get("text", "") or arguments.named.get("quote", "")
    return f"\n\n{text.strip()}\n\n" if text.strip() else HOLE


def _list(arguments: Arguments) -> str:
    return "\n" + "\n".join(f"* {item}" for item in arguments.all()) + "\n"


def _content(arguments: Arguments) -> str:
    return "\n" + (arguments[1] or arguments.named.get("content", "")) + "\n"


def _language(code: str, arguments: Arguments, place: int = 1) -> str:
    """Render as in Wikipedia: "Arabic: text, romanized: text, lit. 'text'"."""
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


def _chinese(arguments: Arguments) -> str:
    named = arguments.named
    parts = [
        ("Chinese", named.get("c") or named.get("t") or named.get("s") or arguments[1].strip()),
        ("pinyin", named.get("p")),
        ("lit.", f"'{named['l']}'" if named.get("l") else ""),
    ]
    return "; ".join(f"{name}: {text}" for name, text in parts if text).replace("lit.: ", "lit. ") or HOLE


def _nihongo(arguments: Arguments) -> str:
    english, kanji, romaji, extra = (arguments[place].strip() for place in (1, 2, 3, 4))
    if not english:
        english, romaji = romaji, ""
    inside = ", ".join(filter(None, [kanji, romaji, extra]))
    return (f"{english} ({inside})" if inside else english) + arguments[5]


def _number(text: str) -> str:
    """Add thousands separators to a number; return other text unchanged."""
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
"""Unit codes that Wikipedia displays differently."""
_RANGES = {"-": "–", "–": "–", "to(-)": "–", "x": " × ", "×": " × ", "+/-": " ± ", "±": " ± ", ",": ", "}
_RANGES |= {word: f" {word} " for word in ("to", "and", "or", "by")} | {"and(-)": " and "}


def _convert(arguments: Arguments) -> str:
    """Render the given number and unit, without the conversion."""
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


def _value(arguments: Arguments) -> str:
    number, error = _number(arguments[1]), arguments[2].strip()
    text = number + (error if error.startswith("(") else f" ± {error}" if error else "")
    if power := arguments.named.get("e"):
        text += "×10" + power.translate(RAISING)
    unit = arguments.named.get("ul") or arguments.named.get("u") or ""
    return f"{text} {unit}".strip()


def _fraction(arguments: Arguments) -> str:
    numbers = arguments.all()
    if len(numbers) > 2:
        return f"{numbers[0]} {numbers[1]}/{numbers[2]}"
    return "/".join(numbers if len(numbers) == 2 else ["1", *numbers])


def _as_of(arguments: Arguments) -> str:
    named = arguments.named
    if named.get("alt"):
        return named["alt"]
    words = "since" if named.get("since") else "as of"
    if not (named.get("lc") or named.get("lc?")):
        words = words.capitalize()
    return f"{words} {_day(arguments.all()[:3], named) or arguments[1].strip()}{named.get('post', '')}"


def _day(numbers: list[str], named: dict[str, str], day_first: bool = False) -> str:
    """Format year, month and day; return an empty text if they are not a date."""
    if not numbers or not re.fullmatch(r"\d{1,4}", numbers[0]):
        return ""
    year = str(int(numbers[0]))
    month = (numbers[1:2] or [""])[0]
    number = MONTHS.get(month.lower()) or (int(month) if re.fullmatch("[0-9]{1,2}", month) else 0)
    if not 1 <= number <= 12:
        return year
    name = calendar.month_name[number]
    day = (numbers[2:3] or [""])[0]
    if not re.fullmatch("[0-9]{1,2}", day) or not 1 <= int(day) <= 31:
        return f"{name} {year}"
    if day_first or named.get("df", "")[:1].lower() in ("y", "1"):
        return f"{int(day)} {name} {year}"
    return f"{name} {int(day)}, {year}"


def _date(arguments: Arguments, day_first: bool = False) -> str:
    return _day(arguments.all()[:3], arguments.named, day_first) or arguments[1].strip() or HOLE


def _age(arguments: Arguments) -> str:
    """Return the years between two dates. An age from one date, which depends on the day, is dropped."""
    numbers = arguments.all()
    if len(numbers) != 6 or not all(re.fullmatch(r"\d{1,4}", number) for number in numbers):
        return HOLE
    start, end = tuple(map(int, numbers[:3])), tuple(map(int, numbers[3:]))
    return str(end[0] - start[0] - (end[1:] < start[1:]))


def _old_style(arguments: Arguments) -> str:
    return f"{arguments[1].strip()} [O.S. {arguments[3].strip()}] {arguments[2].strip()}"


def _ship(prefix: str) -> _Rule:
    def rule(arguments: Arguments) -> str:
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


def _foreign_link(arguments: Arguments) -> str:
    """Render {{ill|Title|de|Titel}} or, as used until 2016, {{ill|de|Titel|text}}."""
    if arguments.named.get("lt"):
        return arguments.named["lt"]
    if re.fullmatch(r"[a-z]{2,3}", arguments[1].strip()) and arguments[2].strip():
        return arguments[3].strip() or arguments[2].strip()
    return arguments[1].strip()


def _music(arguments: Arguments) -> str:
    names = {"flat": "♭", "b": "♭", "sharp": "♯", "#": "♯", "natural": "♮"}
    return names.get(arguments[1].strip(), arguments[1].strip())


def _money(sign: str) -> _Rule:
    return lambda arguments: sign + _number(arguments[1])


def _ordinal(arguments: Arguments) -> str:
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
    "&#39;": "'|`|apostrophe",  # not part of quotes for bold and italic
    "&#39;s": "'s",
    '&#39; "': "' \"",
    '" &#39;': "\" '",
    '"': '-"',
    "|": "!",  # separates the label of a link
    "&#124;": "pipe",
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
    "formatnum": lambda value: HOLE if HOLE in value else _number(value),
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
"""Language codes in templates -> names displayed by Wikipedia."""

# Template names in lower case, with their common redirects.
_SHARED: list[tuple[_Rule, str]] = [
    (
        lambda arguments: arguments[1],
        """nowrap|nobr|nobreak|no wrap|small|smaller|big|bigger|large|larger|em|strong|bold|italic|nobold
        |noitalic|underline|sc|smallcaps|small caps|mono|tt|code|samp|kbd|var|mvar|math|sup|sub|chem2|unicode
        |polytonic|visible anchor|vanchor|dfn""",
    ),
    (lambda arguments: arguments[1].strip(), "abbr|abbrlink|tooltip|hover title|explain"),
    (lambda arguments: arguments[2], "color|colour|font color|sort|script|rtl-lang|resize"),
    (lambda arguments: (arguments.all() or [""])[-1], "lang|transl|transliteration|translit|tlit|wikt-lang"),
    (_fraction, "frac|fraction|sfrac|tfrac"),
    (lambda arguments: arguments[1].strip() + arguments[2].strip().translate(RAISING), "pow"),
    (lambda arguments: " · ".join(arguments.all()), "hlist|horizontal list"),
    (_list, "unbulleted list|ubl|ublist|vunblist|bulleted list|blist|ordered list|numbered list"),
    (_content, "plainlist|plain list|flatlist|flat list|columns-list|collist|col-list"),
    (
        _block,
        """quote|blockquote|block quote|cquote|bquote|quotation|centered pull quote|poem quote|poemquote
        |verse translation""",
    ),
    (_before("⟨", "⟩"), "angbr|angle bracket"),
    (_before("[", "]"), "bracket|sqbr|interp"),
    *((_constant(text), names) for text, names in _CONSTANTS.items()),
]
_ENGLISH: list[tuple[_Rule, str]] = [
    (
        lambda arguments: arguments[1],
        """midsize|normal|b|i|no bold|no italic|italics correction|sm|sc2|allcaps|tmath|not a typo|typo
        |proper name|as written|hebrew|nastaliq|flag|flagu|flagcountry|nq|tq|format price|nts
        |number table sorting|w|wikilink|char|center|delink|noprint|stn|station|phonetic|nihongo foot""",
    ),
    (
        lambda arguments: arguments.named.get("text") or arguments[1],
        "citation needed span|cns|fact span|clarify span|synthesis inline span|disputed inline span",
    ),
    (lambda arguments: _language(arguments[1].strip(), arguments, 2), "langx"),
    (_chinese, "zh|lang-zh"),
    (_nihongo, "nihongo"),
    (_convert, "convert|cvt|conv"),
    (_value, "val"),
    (lambda arguments: "×10" + arguments[1].strip().translate(RAISING), "e|esp"),
    (lambda arguments: "".join(arguments.all()), "chem|chemical formula|linktext"),
    (lambda arguments: " ".join(arguments.all()), "post-nominals|postnominals|sortname"),
    (lambda arguments: " ".join(arguments.all()[:2]), "bibleverse|bibleref"),
    (lambda arguments: "+".join(arguments.all()), "keypress|key press"),
    (lambda arguments: " § ".join(arguments.all()), "section link|slink"),
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
    *((_ship(prefix), prefix.lower()) for prefix in _SHIPS.split()),
]
_SHARED_RULES = {name.strip(): rule for rule, names in _SHARED for name in names.split("|")}
_RULES = _SHARED_RULES | {name.strip(): rule for rule, names in _ENGLISH for name in names.split("|")}
