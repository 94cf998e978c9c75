"""The page in a real Chromium, wide and on a phone: the answer first, and no number out of sight."""

from __future__ import annotations

from typing import Any

import pytest

PHONE = {"width": 390, "height": 800}
BOXES = """(selector) => [...document.querySelectorAll(selector)].filter((one) => one.offsetParent
  && !one.closest("details:not([open])")).map((one) => {
  const { left, right, top, bottom } = one.getBoundingClientRect(); return { left, right, top, bottom }; })"""


def boxes(one: Any, selector: str) -> list[dict[str, float]]:
    return one.page.evaluate(BOXES, selector)


def test_the_page_fits_and_has_the_answer_first(browse: Any) -> None:
    one = browse("scored")
    cells = boxes(one, ".sortable :is(th, td)")
    assert len(cells) > 200
    assert max(box["right"] for box in cells) <= 1360
    shown = one.page.locator("table.sortable").first.locator("thead th").all_inner_texts()
    assert [name.split("\u00a0")[0] for name in shown] == [
        "model", "precision", "recall", "MAUVE", "F_1/8", "F_8", "Vendi ratio", "Self-BLEU",
    ]  # fmt: skip
    heads = [
        one.page.locator(name).bounding_box()["y"]
        for name in ("#section-verdicts", "#section-scores", "#texts")
    ]
    assert heads == sorted(heads)


def test_no_number_is_hidden_on_a_phone(browse: Any) -> None:
    one = browse("scored")
    one.page.set_viewport_size(PHONE)
    cells = boxes(one, ".sortable tbody :is(th, td)")
    assert len(cells) == 30 * 8
    assert all(box["left"] >= 0 and box["right"] <= PHONE["width"] for box in cells)
    assert one.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    label = one.page.evaluate("getComputedStyle(document.querySelector('.sortable td'), '::before').content")
    assert "precision" in label  # each number has its heading beside it


def test_the_header_stays_over_its_columns(browse: Any) -> None:
    one = browse("scored")
    one.page.locator(".wide").first.evaluate("(table) => { table.scrollTop = 600; }")
    heads, rows = boxes(one, ".sortable thead th"), boxes(one, ".sortable tbody tr")
    top = boxes(one, ".wide")[0]["top"]
    hidden = [box for box in rows if box["bottom"] < top]
    assert len(hidden) > 3  # rows have scrolled away
    assert all(abs(box["top"] - top) < 40 for box in heads)
    cells = boxes(one, ".sortable tbody tr:nth-child(20) > *")
    assert [box["right"] for box in cells] == pytest.approx([box["right"] for box in heads], abs=1)


def test_a_table_that_scrolls_says_so(browse: Any) -> None:
    one = browse("scored")
    details = one.page.locator("details.more").first
    assert details.locator("summary").inner_text().startswith("Scores: all ")
    details.locator("summary").click()
    caption = details.locator("caption")
    one.page.wait_for_function("document.querySelector('details.more caption').classList.contains('scrolls')")
    content = caption.evaluate("(one) => getComputedStyle(one, '::after').content")
    assert "scrolls sideways" in content
    first = one.page.locator("caption").first.evaluate("(one) => one.className")
    assert "scrolls" not in first


@pytest.mark.parametrize("width", [1360, 390])
def test_the_contents_stay_in_sight(browse: Any, width: int) -> None:
    one = browse("scored")
    one.page.set_viewport_size({"width": width, "height": 800})
    one.page.locator("#cite").scroll_into_view_if_needed()
    assert one.page.locator("nav").bounding_box()["y"] == pytest.approx(0, abs=1)
    one.page.get_by_role("link", name="Texts", exact=True).click()
    one.page.wait_for_function(  # below the contents, not behind them
        """() => {
        const [nav, heading] = ["nav", "#texts"].map((one) =>
          document.querySelector(one).getBoundingClientRect());
        return heading.top >= nav.bottom && heading.top < nav.bottom + 40; }"""
    )


def test_a_tap_on_a_phone_brings_the_text_into_view(browse: Any) -> None:
    one = browse("small", has_touch=True)
    one.page.set_viewport_size(PHONE)
    canvas = one.page.locator("#x-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    for place in range(3, 15):  # until a text is near
        one.page.touchscreen.tap(box["x"] + box["width"] * place / 20, box["y"] + box["height"] / 2)
        one.page.wait_for_timeout(100)
        if one.page.locator("#x-detail h3").count():
            break
    one.page.wait_for_timeout(900)
    top = one.page.locator("#x-detail").bounding_box()["y"]
    assert 0 <= top < PHONE["height"] / 2


def test_an_empty_search_says_so(browse: Any) -> None:
    one = browse("small")
    one.page.fill("#x-query", "nowhere to be found")
    one.wait("showing 0 of")
    assert "No text, prompt or id has" in one.page.inner_text("#x-empty")
    one.page.fill("#x-query", "")
    one.wait("showing 240 of")
    assert one.page.locator("#x-empty").is_hidden()
    for name in ("Alpha", "Beta", "human texts"):
        one.page.get_by_label(name, exact=True).uncheck()
    one.wait("showing 0 of")
    assert "The filters hide all texts" in one.page.inner_text("#x-empty")


def test_a_dead_link_says_so(browse: Any) -> None:
    one = browse("small", "#texts?point=0,alpha-1-999")
    assert "The text that this link names is not on this page" in one.page.inner_text("#x-detail")
    one = browse("small")
    assert "this link names" not in one.page.inner_text("#x-detail")


def test_side_by_side_says_how_it_is_enabled(browse: Any) -> None:
    one = browse("named")
    enabled = one.page.locator("#x-tab-pair").is_visible()
    assert one.page.locator("#x-no-pair").is_visible() is not enabled
    assert "--prompt COLUMN" in one.page.locator("#x-no-pair").text_content()


def test_arrows_of_axes_agree_with_their_labels(browse: Any) -> None:
    one = browse("small")
    labels = one.page.evaluate("""() => {
      const drawn = [], canvas = CanvasRenderingContext2D.prototype, real = canvas.fillText;
      canvas.fillText = function (text, ...rest) { drawn.push(text); return real.call(this, text, ...rest); };
      const pick = document.querySelector("#x-x");
      pick.value = "words"; pick.dispatchEvent(new Event("change"));
      return new Promise((resolve) => setTimeout(() => resolve(drawn), 500)); }""")
    assert "words" in labels  # neither more nor fewer are better
    assert not any(label.endswith(" →") for label in labels)


def test_texts_have_the_direction_and_the_language_that_they_are_in(browse: Any) -> None:
    one = browse("arabic")
    words = one.page.locator("#x-list .x-item span").first
    assert words.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    one.page.locator("#x-list .x-item").first.click()
    text = one.page.locator(".x-text").first
    assert text.get_attribute("lang") == "ar"
    assert text.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    facts = one.page.locator(".x-facts").first.inner_text().split("\n")
    assert facts[facts.index("words") + 1] == "6"  # without the comma and the full stop
    english = browse("small")
    english.page.locator("#x-list .x-item").first.click()
    assert english.page.locator(".x-text").first.get_attribute("lang") == ""
