# ruff: noqa: RUF001
"""Texts in many languages: which one it is, where words end, and what the metrics make of it."""

from __future__ import annotations

import json
import warnings
from itertools import accumulate
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import textstat
from hypothesis import given
from hypothesis import strategies as st
from icu4py.breakers import CharacterBreaker, WordBreaker
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
from sacrebleu import sentence_bleu as sacrebleu

import textgamut
from textgamut.catalogue import FAMILIES, METRICS
from textgamut.cli.main import main
from textgamut.config.entries.datasets import TableDataset, WebTextDataset
from textgamut.datasets.card import make_card
from textgamut.datasets.extract import extract
from textgamut.errors import ConfigError
from textgamut.files import read_table, write_table
from textgamut.language import (
    LANGUAGES,
    check_language,
    described,
    language_in,
    language_of,
    main_script,
    resolve_language,
    with_language,
    words_end_in,
    words_end_of,
)
from textgamut.metrics.compression import rouge_tokens
from textgamut.metrics.readability import FLESCH, readability
from textgamut.metrics.regions import key_phrases
from textgamut.metrics.similarity import bleu
from textgamut.metrics.tokens_per_word import tokens_per_word
from textgamut.scoring.results import ScoreResult
from textgamut.tasks.answers import measured_answers, measured_text
from textgamut.tasks.drawing import draw_held_out, draw_prompts, draw_references
from textgamut.text import count_words, cut_characters, cut_continuation, cut_words, split_words

SENTENCES = {
    "en": "The weather was fine this morning, and so we walked along the river to the old town.",
    "de": "Das Wetter war heute Morgen schön, und deshalb gingen wir am Fluss entlang in die Altstadt.",
    "fr": "Il faisait beau ce matin, et nous avons donc marché le long de la rivière jusqu'à la ville.",
    "es": "Hacía buen tiempo esta mañana, así que caminamos junto al río hasta el centro de la ciudad.",
    "tr": "Bu sabah hava güzeldi ve bu yüzden nehir boyunca eski şehre kadar yürüdük.",
    "vi": "Sáng nay trời đẹp nên chúng tôi đi bộ dọc theo bờ sông đến khu phố cổ.",
    "el": "Ο καιρός ήταν καλός σήμερα το πρωί και έτσι περπατήσαμε κατά μήκος του ποταμού.",
    "ru": "Сегодня утром была хорошая погода, и поэтому мы пошли вдоль реки в старый город.",
    "uk": "Сьогодні вранці була гарна погода, і тому ми пішли вздовж річки до старого міста.",
    "ar": "كان الطقس جميلا هذا الصباح، ولذلك مشينا على طول النهر إلى المدينة القديمة.",
    "fa": "امروز صبح هوا خوب بود و به همین دلیل ما در کنار رودخانه تا شهر قدیمی پیاده رفتیم.",
    "he": "מזג האוויר היה נאה הבוקר, ולכן הלכנו לאורך הנהר אל העיר העתיקה.",
    "hi": "आज सुबह मौसम अच्छा था, इसलिए हम नदी के किनारे पुराने शहर तक चले।",
    "zh": "今天早上天气很好，所以我们沿着河边走到老城区。",
    "ja": "今朝は天気が良かったので、私たちは川沿いを歩いて旧市街まで行きました。",
    "ko": "오늘 아침은 날씨가 좋아서 우리는 강을 따라 옛 시가지까지 걸었습니다.",
    "th": "เช้านี้อากาศดี เราจึงเดินเลียบแม่น้ำไปยังเมืองเก่า",
    "km": "ព្រឹកនេះអាកាសធាតុល្អ ដូច្នេះយើងដើរតាមមាត់ទន្លេទៅទីក្រុងចាស់។",
}
"""The same sentence in many languages."""
UNSPACED = ("zh", "ja", "th", "km")

ZH = [
    "北京大学的学生每天都在图书馆学习自然语言处理。",
    "昨天晚上我们去电影院看了一部很长的电影，大家都觉得很有意思。",
    "他说：“明天会下雨，请带上雨伞。”然后他就走了。",
    "中国的经济在2024年增长了5.0%，高于预期。",
    "这家饭店的菜很好吃，但是价格有点贵，服务也不太好。",
    "小猫坐在窗台上，看着外面的小鸟飞来飞去。",
]
ZH_MODEL = [
    "学生在图书馆学习，学生在图书馆学习，学生在图书馆学习。",
    "我们去电影院看电影，我们去电影院看电影，很有意思。",
    "明天会下雨，明天会下雨，请带上雨伞。",
    "经济增长了，经济增长了，经济增长了，高于预期。",
    "这家饭店的菜很好吃，这家饭店的服务很好。",
    "小猫看着小鸟，小鸟看着小猫，飞来飞去。",
]


def icu_words(text: str) -> list[str]:
    """The words of a text as a plain script finds them."""
    return [segment for segment in WordBreaker(text, "zh") if any(map(str.isalnum, segment))]


# --- which language ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", SENTENCES)
def test_languages_are_told_apart(code: str) -> None:
    assert language_of([SENTENCES[code]] * 5) == code
    assert words_end_in(code) == (
        "at-white-space"
        if code in ("en", "de", "fr", "es", "tr", "vi", "el", "ru", "uk")
        else "at-boundaries"
    )


def test_most_letters_decide() -> None:
    assert main_script([SENTENCES["ru"] * 3, SENTENCES["en"]]) == "Cyrillic"
    assert language_of([SENTENCES["en"] * 3, SENTENCES["ja"]]) == "en"
    assert (
        language_of(["我在京都的时候，在一家叫「さ」的饭店吃了拉面，味道非常好，下次还想再去。" * 3]) == "zh"
    )
    assert language_of(["東京都知事選挙、投票率は前回を上回る見通し"]) == "ja"
    assert language_of(["ﾃﾞｰﾀ"]) == "ja"
    assert language_of(["Ｈｅｌｌｏ ｗｏｒｌｄ, this is the weather report for today and tomorrow"]) == "en"


def test_without_letters_it_is_english() -> None:
    assert language_of([]) == language_of(["", "12 34", "😀 !?"]) == "en"
    assert main_script(["12"]) is None


def test_a_script_without_a_known_language_has_a_tag() -> None:
    assert language_of(["ꦏꦸꦭꦱꦤ"]) == "und-Javanese"
    assert words_end_in("und-Javanese") == "at-boundaries"
    assert described("und-Javanese") == "a language in Javanese script (und-Javanese)"


@given(st.permutations(list(SENTENCES.values())))
def test_the_order_of_texts_does_not_decide(texts: list[str]) -> None:
    assert language_of(texts) == language_of(sorted(texts))


@pytest.mark.parametrize(
    ("given_", "code"),
    [
        ("zh", "zh"),
        ("und-Thaana", "und-Thaana"),
        ("zh-CN", "zh"),
        ("pt_BR", "pt"),
        ("DE", "de"),
        ("auto", "auto"),
    ],
)
def test_codes(given_: str, code: str) -> None:
    assert check_language(given_) == code


@pytest.mark.parametrize(
    ("wrong", "said"), [("German", "'de'"), ("chinese", "'zh'"), ("xx", "nearest"), ("", "nearest")]
)
def test_unknown_codes_are_errors_with_a_suggestion(wrong: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown language {wrong!r}.*{said}"):
        check_language(wrong)


def test_a_given_language_is_not_questioned() -> None:
    assert resolve_language("en", ZH) == "en"
    assert resolve_language("auto", ZH) == "zh"


# --- words ------------------------------------------------------------------------------------------------


def test_words_of_languages_without_spaces() -> None:
    found = {code: split_words(SENTENCES[code], "at-boundaries") for code in UNSPACED}
    assert found["zh"][:6] == ["今天", "早上", "天气", "很好", "所以", "我们"]
    assert found["ja"][:6] == ["今朝", "は", "天気", "が", "良", "か"]
    assert found["th"][:4] == ["เช้า", "นี้", "อากาศ", "ดี"]
    assert found["km"][:2] == ["ព្រឹក", "នេះ"]
    for code, words in found.items():
        assert count_words(SENTENCES[code], "at-boundaries") == len(words) > 8


def test_punctuation_is_no_word_and_emoji_are() -> None:
    text = "مرحبا، كيف حالك؟ 3.5 😀 👩‍👩‍👧 ❤️ ☆ — …"
    assert split_words(text, "at-boundaries") == ["مرحبا", "كيف", "حالك", "3.5", "😀", "👩‍👩‍👧", "❤️"]


@pytest.mark.parametrize("text", [*SENTENCES.values(), *ZH, *ZH_MODEL])
def test_words_are_those_of_icu(text: str) -> None:
    assert split_words(text, "at-boundaries") == icu_words(text)


@given(st.text())
def test_english_words_are_as_before(text: str) -> None:
    assert split_words(text) == text.split()
    assert count_words(text) == len(text.split())


def test_cuts() -> None:
    text = " 今天早上，天气很好。"
    assert cut_words(text, 2, "at-boundaries") == "今天早上"
    assert cut_words(text, 3, "at-boundaries") == "今天早上，天气"
    assert cut_words(text, 9, "at-boundaries") == "今天早上，天气很好。"
    assert cut_words(text, 0, "at-boundaries") == ""
    assert cut_continuation(text, 2, "at-boundaries") == " 今天早上"


def boundaries(text: str) -> set[int]:
    """Where a reader sees the end of a character."""
    return {0, *accumulate(map(len, CharacterBreaker(text, "und")))}


MIXED = st.lists(
    st.sampled_from(
        ["a", "e", "\u0301", "👩", "\u200d", "👧", "🇩", "🇪", "我", "か", "\u3099", "ก", "\u0e33", "क",
         "\u094d", "ש", "\u05b8", "\r", "\n", "가", "\u1100", "\u1161", "x", ".", " "]
    )
).map("".join)  # fmt: skip


@given(MIXED, st.integers(0, 12))
def test_cuts_split_no_grapheme(text: str, n: int) -> None:
    cut = cut_characters(text, n)
    assert text.startswith(cut)
    assert len(cut) <= n
    assert len(cut) in boundaries(text)
    longer = [end for end in boundaries(text) if end <= n]
    assert len(cut) == max(longer)
    words = cut_words(text, n, "at-boundaries")
    start = len(text) - len(text.lstrip())
    assert count_words(words, "at-boundaries") <= n
    assert text[start:].startswith(words)


def test_a_family_of_emoji_stays_whole() -> None:
    assert cut_characters("ab👩‍👩‍👧cd", 4) == "ab"
    assert cut_characters("ab👩‍👩‍👧cd", 7) == "ab👩‍👩‍👧"
    assert cut_characters("abc", 2) == "ab"
    assert cut_characters("abc", None) == "abc"


# --- metrics ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chinese() -> ScoreResult:
    with pytest.warns(UserWarning, match="fewer than"):
        return textgamut.score(ZH, ZH_MODEL, metrics=["length", "ngram", "compression"], bootstrap=0)


def test_numbers_of_chinese_texts_are_those_of_a_plain_script(chinese: ScoreResult) -> None:
    words = [icu_words(text) for text in ZH_MODEL]
    assert chinese.language == "zh"
    assert chinese.text_words == np.mean(list(map(len, words)))
    for n in (1, 2, 3):
        grams = [tuple(text[i : i + n]) for text in words for i in range(len(text) - n + 1)]
        assert getattr(chinese, f"distinct_{n}") == len(set(grams)) / len(grams)
    scores = [
        sentence_bleu([*words[:row], *words[row + 1 :]], text, smoothing_function=SmoothingFunction().method1)
        for row, text in enumerate(words)
    ]
    assert chinese.self_bleu == pytest.approx(np.mean(scores), abs=1e-9)
    product = 1.0
    for n in (2, 3, 4):
        of_text = [[tuple(text[i : i + n]) for i in range(len(text) - n + 1)] for text in words]
        product *= sum(len(set(of)) for of in of_text) / sum(map(len, of_text))
    assert chinese.diversity == pytest.approx(product)
    assert textgamut.diversity(ZH_MODEL, "zh") == textgamut.diversity(ZH_MODEL, "auto") == chinese.diversity


def test_the_loop_of_a_chinese_model_is_seen(chinese: ScoreResult) -> None:
    human = chinese.humans["human texts, the references"]
    assert chinese.diversity < 0.8 < human.diversity
    assert chinese.repetition_4 > 0.1
    assert human.repetition_4 == 0
    # By white space each text would be one word, which never repeats.
    assert textgamut.diversity(["一 二 三 四"], "en") == 1


def test_homogenization_of_other_scripts() -> None:
    assert 0 < textgamut.homogenization(ZH_MODEL, language="zh") < 0.1
    assert rouge_tokens("Für Ωmega_1", "de") == ["für", "ωmega", "1"]
    assert rouge_tokens("Für Ωmega_1") == ["f", "r", "mega", "1"]
    with pytest.raises(textgamut.TextgamutError, match="Latin letters"):
        textgamut.homogenization(ZH_MODEL)


def test_chinese_texts_are_cut_to_words() -> None:
    kept = textgamut.cut_to_words(ZH, 20, "zh")
    assert sum(count_words(text, "at-boundaries") for text in kept) == 20
    assert "".join(ZH).startswith("".join(kept))


def test_key_phrases_are_written_as_the_language_writes_them() -> None:
    texts = ["他说人工智能。", "我用人工智能"] * 10 + ["他说人工的智能", "我用智能人工"] * 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert key_phrases(texts, np.arange(20), "zh") == ("人工智能",)


def test_tokens_per_word_counts_words_of_the_language() -> None:
    class Characters:
        def __call__(self, text: str, **_: object) -> dict[str, list[int]]:
            return {"input_ids": list(map(ord, text))}

    found = tokens_per_word(ZH, Characters(), "zh")
    assert found.words == sum(len(icu_words(text)) for text in ZH)


@pytest.mark.parametrize("code", FLESCH)
def test_flesch_is_that_of_textstat(code: str) -> None:
    text = SENTENCES.get(code, "Nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura.")
    ours = readability([text], code).flesch[0]
    textstat.set_lang("en_US" if code == "en" else code)
    try:
        theirs = textstat.flesch_reading_ease(text)
    finally:
        textstat.set_lang("en_US")
    assert ours == pytest.approx(theirs, abs=0.05)


def test_german_has_flesch_and_no_fog() -> None:
    result = textgamut.score(
        [SENTENCES["de"]] * 2, [SENTENCES["de"]] * 3, metrics=["readability"], bootstrap=0
    )
    assert result.language == "de"
    assert set(result.values) == {"flesch"}


@pytest.mark.parametrize("code", ["zh", "ja", "ar", "tr"])
def test_readability_refuses_other_languages(code: str) -> None:
    with pytest.raises(
        ConfigError, match=f"readability is defined for .*German.*; the texts are in .*{code}"
    ):
        textgamut.score([SENTENCES[code]] * 2, [SENTENCES[code]] * 2, metrics=["readability"])


def test_bleu_has_the_tokenization_of_the_language() -> None:
    for code, name in {"en": "13a", "de": "13a", "zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}.items():
        text, reference = SENTENCES[code], SENTENCES[code][: len(SENTENCES[code]) // 2]
        expected = sacrebleu(text, [reference], tokenize=name, use_effective_order=True).score
        assert bleu([text], [reference], code)[0] == expected > 10
    for code in ("th", "km"):
        with pytest.raises(ConfigError, match=r"BLEU is defined for .*Chinese.*leave similarity out"):
            bleu([SENTENCES[code]], [SENTENCES[code]], code)


def test_the_catalogue_says_which_languages_metrics_are_for() -> None:
    for metric in METRICS.values():
        assert set(metric.languages) <= set(LANGUAGES)
    assert FAMILIES["readability"].languages == METRICS["flesch"].languages
    assert set(METRICS["flesch"].languages) == set(FLESCH)
    assert METRICS["essay"].languages == ("en",)
    assert FAMILIES["ngram"].languages == ()


# --- score ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["ja", "zh", "ar", "de"])
def test_each_user_gets_right_lengths(code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"human": [SENTENCES[code], SENTENCES[code] * 2], "model": [SENTENCES[code], SENTENCES[code]]}
    for name, of in texts.items():
        lines = [json.dumps({"text": text}, ensure_ascii=False) for text in of]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = ["--reference", str(tmp_path / "human.jsonl"), "--generated", str(tmp_path / "model.jsonl")]
    assert main(["score", *files, "--metrics", "length", "ngram", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["language"] == code
    scores = {row["metric"]: row["value"] for row in found["scores"]}
    words = SENTENCES[code].split() if code == "de" else icu_words(SENTENCES[code])
    assert scores["text_words"] == len(words)
    assert scores["distinct_1"] == pytest.approx(len(set(words)) / (2 * len(words)))


def test_texts_in_another_script_are_reported() -> None:
    with pytest.warns(UserWarning, match="the texts of generated are mostly in Cyrillic script.*Chinese"):
        textgamut.score(ZH, [SENTENCES["ru"]] * 2, metrics=["length"])


def test_a_given_language_is_used(tmp_path: Path) -> None:
    assert textgamut.score(ZH, ZH, metrics=["length"], language="en").text_words == 1
    assert textgamut.score(ZH, ZH, metrics=["length"], language="zh-Hans").language == "zh"
    with pytest.raises(ConfigError, match="language"):
        textgamut.score(ZH, ZH, metrics=["length"], language="klingon")


def test_the_page_and_the_paragraph_name_the_language(chinese: ScoreResult, tmp_path: Path) -> None:
    assert "Chinese (zh); their words are the segments of ICU" in chinese.methods()
    chinese.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Chinese (zh)" in page
    assert '"language":"zh"' in page
    assert ZH[0] in page


# --- datasets and tasks -----------------------------------------------------------------------------------


def dataset(**fields: object) -> TableDataset:
    source = {"kind": "file", "path": "texts.jsonl"}
    return TableDataset.model_validate({"format": "table", "source": source, **fields})


def test_a_language_that_is_found_out_is_no_setting() -> None:
    assert "language" not in dataset().science()
    assert "language" not in dataset().described()
    assert dataset(language="zh-CN").science()["language"] == "zh"
    with pytest.raises(ValueError, match="unknown language 'klingon'"):
        dataset(language="klingon")


@pytest.mark.parametrize(("fields", "code"), [({}, "zh"), ({"language": "ja"}, "ja")])
def test_extracted_texts_have_a_language(fields: dict[str, str], code: str, tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"text": text}) for text in ZH))
    entry = dataset(**fields, source={"kind": "file", "path": str(path)})
    frame = extract(path, entry)
    assert language_in(frame) == code
    meta = {"counts": {}, "job": {"settings": {"revision": 1}}}
    card = make_card("d", entry.described() | {"licence": "-"}, frame, meta)
    assert card["language"] == code
    assert card["words"]["most"] == max(len(icu_words(text)) for text in ZH)


def test_webtext_counts_the_words_of_its_language(tmp_path: Path) -> None:
    path = tmp_path / "texts.jsonl"
    path.write_text("\n".join(json.dumps({"id": i, "text": text}) for i, text in enumerate(ZH)))
    fields = {"format": "webtext", "source": {"kind": "file", "path": str(path)}, "n": None, "min_words": 14}
    for language in ({}, {"language": "zh"}):
        found = extract(path, WebTextDataset.model_validate(fields | language))
        assert list(found["text"]) == [text for text in ZH if len(icu_words(text)) >= 14] != []


def chinese_texts(count: int = 12) -> pd.DataFrame:
    texts = [text + str(i) for i in range(count) for text in ZH[:1]]
    frame = pd.DataFrame({"id": [f"t{i}" for i in range(count)], "text": texts})
    return with_language(frame, "zh")


TASK = {
    "kind": "continuation", "task": "t", "n": 4, "min_words": 5, "prompt_words": 3, "max_words": 6,
    "words_end": "at-spaces", "references_from": "other-texts", "prompts": "shared", "draws": [1],
}  # fmt: skip


def test_prompts_and_references_are_cut_at_chinese_words() -> None:
    prompts = draw_prompts(chinese_texts(), TASK)
    assert set(prompts["base"]) == {"北京大学的"}
    assert set(prompts["start"]) == {"的"}
    assert all("北京大学" in text and "北京大学的" not in text for text in prompts["user"])
    for drawn in (draw_references(chinese_texts(), TASK, 1), draw_held_out(chinese_texts(), TASK)):
        assert set(drawn["text"]) == {"北京大学的学生每天都在"}
        assert language_in(drawn) == "zh"
    assert language_in(prompts) == "zh"


def test_answers_are_cut_and_kept_by_chinese_words() -> None:
    samples = pd.DataFrame(
        {
            "id": ["a", "b"], "prompt_id": ["p", "p"], "completion": [0, 1],
            "continuation": ["，我们去公园。", "，我们明天去公园看小鸟。"],
            "tokens": 9, "finish": "stop", "log_likelihood": 0.0, "scored_tokens": 9,
        }
    )  # fmt: skip
    prompts = pd.DataFrame({"id": ["p"], "base": ["今天天气很好"]})
    texts, counts = measured_answers(samples, prompts, "continuation", 6, keep=1, words_end="at-boundaries")
    assert list(texts["text"]) == ["今天天气很好，我们明天去"]
    assert counts["shorter_than_max_words"] == 0
    assert counts["mean_words_before_cut"] == 10
    cut = measured_text("continuation", "a", "b👩‍👩‍👧", None, 4)
    assert cut == "ab"


# --- tables keep their language ---------------------------------------------------------------------------


def test_a_table_keeps_its_language(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["1"], "text": ["今天"]})
    write_table(tmp_path / "zh.parquet", with_language(frame, "zh"))
    found = read_table(tmp_path / "zh.parquet", ["id"])
    assert (language_in(found), words_end_of(found), words_end_of(found, "at-spaces")) == (
        "zh", "at-boundaries", "at-boundaries"
    )  # fmt: skip


def test_the_file_of_english_texts_is_as_before(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": ["1"], "text": ["one"]})
    write_table(tmp_path / "before.parquet", frame)
    write_table(tmp_path / "now.parquet", with_language(frame.copy(), "en"))
    assert (tmp_path / "before.parquet").read_bytes() == (tmp_path / "now.parquet").read_bytes()
    assert (language_in(frame), words_end_of(frame), words_end_of(frame, "at-spaces")) == (
        "en", "at-white-space", "at-spaces"
    )  # fmt: skip
