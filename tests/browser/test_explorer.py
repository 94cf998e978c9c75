"""The page in a real Chromium: filters, lasso, search, neighbours, links, keyboard, size, hostile texts."""

from __future__ import annotations

import io
import itertools
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from browser.made_pages import HOSTILE, HOSTILE_METHOD, made_scores, made_task
from helpers import ROOT
from PIL import Image

from textgamut.rankings.dominance import dominance_counts

VALUE = "(name) => document.querySelector(name).value"


def test_a_filter_shows_the_texts_of_a_model(browse: Any) -> None:
    one = browse("small")
    one.wait("showing 240 of 240 texts")
    for name in ("Alpha", "human texts"):
        one.page.get_by_label(name, exact=True).uncheck()
    one.wait("showing 60 of 240 texts")
    assert all(name.startswith("beta-1-") for name in one.listed())
    one.page.get_by_label("politics").uncheck()
    one.wait("showing 60 of")  # Beta writes about sport only
    one.page.get_by_label("sport").uncheck()
    one.wait("showing 0 of")
    one.page.get_by_role("button", name="Clear all filters").click()
    one.wait("showing 240 of")


def test_names_like_those_of_the_filters_are_kept_apart(browse: Any) -> None:
    one = browse("named")
    one.wait("showing 80 of 80 texts")
    for label, left in (
        ("model", [("human texts", 60), ("human texts", 40), ("*human texts", 20), ("\u202eturned", 0)]),
        ("kind", [("*none", 60), ("none", 40), ("none", 20), ("␀", 0)]),
    ):
        boxes = one.page.get_by_role("group", name=label, exact=True).get_by_role("checkbox")
        assert boxes.count() == 4
        shown = []
        for place in range(4):
            boxes.nth(place).uncheck()
            one.wait(f"showing {60 - 20 * place} of")
            shown.append(boxes.nth(place).locator("xpath=..").inner_text().strip())
        assert sorted(shown) == sorted(name for name, _ in left)
        one.go(f"#{one.address()}")  # a link has the same filters
        one.wait("showing 0 of")
        one.page.get_by_role("button", name="Clear all filters").click()
        one.wait("showing 80 of")


def test_no_emoji_is_cut_in_half(browse: Any) -> None:
    one = browse("named", "#texts?task=named&point=0,alpha-1-0")
    family = "👩‍👩‍👧‍👦"
    shown = one.page.locator("#x-detail .x-text").last
    shown.get_by_role("button", name="Show all").wait_for()
    beginning = shown.inner_text().partition("…")[0]
    assert len(beginning) > 1000
    assert beginning.replace(family, "") == ""
    one.page.fill("#x-query", "alpha-1-0")
    one.wait("showing 1 of")
    listed = one.page.locator("#x-list .x-item").inner_text()
    assert family in listed
    assert not set(family) & set(listed.replace(family, ""))


def test_inside_and_outside_are_those_of_the_metric(browse: Any) -> None:
    one = browse(
        "small", "#texts?off.model=Alpha&off.model=human+texts&off.support=inside&off.support=not+compared"
    )
    outside = int(one.page.inner_text("#x-status").split()[1])
    assert 0 < outside < 60
    one.page.locator("#x-tab-missed").click()
    one.page.select_option("#x-cell", "2")
    heading = one.page.locator("#x-missed-lists h3").first.inner_text()
    assert heading == f"Generated texts outside human support, which lower precision ({outside})"


def test_a_histogram_is_brushed_and_the_numbers_do_the_same(browse: Any) -> None:
    one = browse("small")
    one.page.select_option("#x-metric", "diversity")
    one.page.locator("#x-histogram").scroll_into_view_if_needed()
    box = one.page.locator("#x-histogram").bounding_box()
    x, y = box["x"], box["y"] + 20
    one.page.mouse.move(x + box["width"] / 2, y)
    one.page.mouse.down()
    one.page.mouse.move(x + box["width"] - 1, y, steps=5)
    one.page.mouse.up()
    brushed = int(one.page.inner_text("#x-status").split()[1])
    assert 90 < brushed < 150  # of 240 values that are uniform
    low, high = one.page.evaluate(VALUE, "#x-low"), one.page.evaluate(VALUE, "#x-high")
    assert 0.45 < float(low) < 0.55
    one.page.get_by_role("button", name="Remove the filter: diversity").click()
    one.wait("showing 240 of")
    one.page.fill("#x-low", low)
    one.page.locator("#x-high").click()  # which is still empty
    one.page.keyboard.type(high)
    one.page.keyboard.press("Enter")
    one.wait(f"showing {brushed} of")
    one.page.fill("#x-low", "")
    one.page.press("#x-low", "Tab")
    one.page.fill("#x-high", "")
    one.page.press("#x-high", "Tab")
    one.wait("showing 240 of")
    assert one.page.locator("#x-chips button").count() == 0
    one.page.fill("#x-high", "0.25")
    one.page.press("#x-high", "Tab")
    assert one.page.locator("#x-chips button").inner_text() == "diversity (MC) to 0.250 ✕"
    below = one.page.inner_text("#x-status")
    one.page.mouse.move(x + box["width"] / 2, y + 200)  # a press that began elsewhere
    one.page.mouse.down()
    one.page.mouse.move(x + box["width"] / 2, y)
    one.page.mouse.up()
    assert one.page.inner_text("#x-status") == below
    again = browse("small", f"#{one.address()}")
    again.wait(below)


def test_a_lasso_selects_and_escape_clears_it(browse: Any) -> None:
    one = browse("small")
    one.page.get_by_role("button", name="Lasso").click()
    one.page.locator("#x-canvas").scroll_into_view_if_needed()
    box = one.page.locator("#x-canvas").bounding_box()
    left, top, width, height = box["x"], box["y"], box["width"], box["height"]
    one.page.mouse.move(left + 2, top + 2)
    one.page.mouse.down()
    for h, v in ((0.5, 0.01), (0.5, 0.99), (0.01, 0.99), (0.01, 0.02)):
        one.page.mouse.move(left + width * h, top + height * v, steps=4)
    one.page.mouse.up()
    half = int(one.page.inner_text("#x-status").split()[1])
    assert 0 < half < 240
    again = browse("small", f"#{one.address()}")
    assert abs(int(again.page.inner_text("#x-status").split()[1]) - half) <= 2  # corners are rounded
    one.page.locator("#x-canvas").focus()
    one.page.keyboard.press("Escape")
    one.wait("showing 240 of")


def test_search_finds_texts_prompts_and_ids(browse: Any) -> None:
    one = browse("small")
    found = {"HUMAN 7 is": 1, "prompt 7:": 3, "beta-1-7": 1, "about politics": 90, "zzz": 0}
    for words, count in found.items():
        one.page.fill("#x-query", words)
        one.wait(f"showing {count} of")


def test_a_click_shows_the_text_and_neighbours_lead_on(browse: Any) -> None:
    one = browse("small", "#texts?query=beta-1-7")
    one.page.locator("#x-list .x-item").first.click()
    detail = one.page.locator("#x-detail")
    detail.get_by_text("Nearest human texts").wait_for()
    assert "Beta 1 7 is a made text about sport." in detail.inner_text()
    assert "the support of the human texts" in detail.inner_text()
    neighbours = detail.locator(".x-item")
    assert neighbours.count() == 10
    shown = neighbours.all_inner_texts()
    distances = [float(text.split("distance ")[1].split()[0]) for text in shown]
    assert distances[:5] == sorted(distances[:5])
    assert distances[5:] == sorted(distances[5:])
    assert all(text.startswith("human") for text in shown[:5])
    first = neighbours.first.locator("bdi").nth(1).inner_text()
    neighbours.first.click()
    detail.get_by_role("heading", name=first).wait_for()
    assert detail.locator("select").input_value() == "2"  # as the cell sees it that the reader came from
    assert detail.locator(".x-item").count() == 10


@pytest.mark.filterwarnings("ignore:N = ")
def test_a_click_on_the_map_selects_the_nearest_point(browse: Any) -> None:
    x, y = made_task(60).cells[2].positions[7]
    one = browse("small", f"#texts?view={x},{y},1,1")
    box = one.page.locator("#x-canvas").bounding_box()
    one.page.locator("#x-canvas").click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    one.page.locator("#x-detail").get_by_role("heading", name="beta-1-7", exact=True).wait_for()
    assert "point=2%2Cbeta-1-7" in one.address()
    one.page.locator("#x-detail .x-item").first.click()
    one.page.locator("#x-detail").get_by_role("heading", name="human-").wait_for()
    assert "from=2" in one.address()  # as the cell sees it that the reader came from
    one.page.go_back()
    one.page.locator("#x-detail").get_by_role("heading", name="beta-1-7", exact=True).wait_for()
    assert one.page.evaluate("scrollY") > 500


@pytest.mark.filterwarnings("ignore:N = ")
def test_a_human_text_is_compared_with_the_cell_that_is_named(browse: Any) -> None:
    """Its distance and its side of the support are not those of the other cells that are shown."""
    task = made_task(40, human_prompts=True)
    rows = [cell.neighbours[cell.neighbours["side"] == "human"].set_index("id") for cell in task.cells]
    near, far, found = next(
        (near, far, name)
        for near, far in itertools.permutations(range(3), 2)
        for name in rows[0].index
        if rows[near]["inside"][name] and not rows[far]["inside"][name]
    )
    one = browse("sides", f"#texts?tab=missed&cell={far}&point={near},alpha-1-3&query={found}")
    one.page.get_by_role("button", name=f"Open {found}", exact=True).first.click()
    detail = one.page.locator("#x-detail")
    again = browse("sides", f"#{one.address()}").page.locator("#x-detail")
    for panel in (detail, again):
        panel.get_by_text("Outside the support of the generated texts").wait_for()
        shown = panel.locator("dt:text-is('distance') + dd").inner_text()
        assert float(shown) == pytest.approx(rows[far]["other_distance"][found][0], rel=0.01)
    detail.locator("select").select_option(str(near))
    detail.get_by_text("Inside the support of the generated texts").wait_for()
    assert one.page.evaluate("document.activeElement.tagName") == "SELECT"
    row = found.removeprefix("human-")
    for cell, side in ((near, "inside"), (far, "outside")):
        pair = browse("sides", f"#texts?tab=pair&pair={cell},-1&prompt={row}&query={found}")
        pair.page.locator("#x-sides > section").nth(1).get_by_text(f"{side} the other side").wait_for()


def test_two_cells_are_shown_side_by_side(browse: Any) -> None:
    one = browse("small")
    one.page.get_by_role("tab", name="Side by side").click()
    one.page.locator("#x-next").click()
    sides = one.page.locator("#x-sides > section")
    assert "Alpha 1 1 is a made text" in sides.nth(0).inner_text()
    assert "Beta 1 1 is a made text" in sides.nth(1).inner_text()
    assert one.page.locator("#x-sides strong").count() == 1  # one of them is the more diverse one
    again = browse("small", f"#{one.address()}")
    again.page.locator("#x-sides").get_by_text("Beta 1 1 is").wait_for()
    one.page.select_option("#x-task", "other")
    one.wait("showing 40 of 40")
    assert not one.page.locator("#x-tab-pair").is_visible()  # one cell, and no human text has a prompt
    assert one.page.locator("#x-map").is_visible()


def test_all_texts_of_a_prompt_are_side_by_side(browse: Any) -> None:
    one = browse("samples", "#texts?tab=pair&pair=0,2")
    one.page.locator("#x-next").click()
    left, right = one.page.locator("#x-sides > section").all()
    left.get_by_role("button", name="Show more").click()
    left.get_by_text("Alpha 1 9 is a made text").wait_for()
    assert left.locator("h3").inner_text() == "Alpha, seed 1 (5 texts)"
    assert [left.locator("dl").count(), right.locator("dl").count()] == [5, 3]
    assert "Beta 1 5 is a made text" in right.inner_text()
    assert one.page.locator("#x-sides strong").count() == 0  # which text should be compared with which?


def test_missed_texts_stand_beside_their_nearest(browse: Any) -> None:
    one = browse("small", "#texts?tab=missed&cell=2")
    rows = one.page.locator("#x-missed-lists section").first.locator(".x-missing")
    rows.first.wait_for()
    distances = [float(text.split("distance ")[1].split()[0]) for text in rows.all_inner_texts()]
    assert distances == sorted(distances, reverse=True)
    rows.first.get_by_role("button").first.click()
    one.page.locator("#x-detail").get_by_text("Outside the support of the human texts").wait_for()


def test_a_link_has_the_whole_state(browse: Any) -> None:
    one = browse("small")
    one.page.select_option("#x-x", "diversity")
    one.page.select_option("#x-colour", "group topic")
    one.page.get_by_label("Beta", exact=True).uncheck()
    one.page.fill("#x-query", "7")
    one.page.wait_for_timeout(400)
    status = one.page.inner_text("#x-status")
    assert status != "showing 180 of 240 texts"
    one.page.locator("#x-list .x-item").nth(3).click()
    heading = one.page.locator("#x-detail h3").inner_text()
    again = browse("small", f"#{one.address()}")
    again.wait(status)
    again.page.locator("#x-detail").get_by_role("heading", name=heading).wait_for()
    for name in ("#x-x", "#x-y", "#x-colour", "#x-query"):
        assert again.page.evaluate(VALUE, name) == one.page.evaluate(VALUE, name)
    assert not again.page.get_by_label("Beta", exact=True).is_checked()


@pytest.mark.parametrize(
    "address",
    ["#texts?view=1,2,0,x",
     "#texts?task=nowhere&x=no&y=no&colour=no&tab=no&cell=99&pair=7,8&point=9,x&metric=no&order=no+no",
     "#texts?range.words=a:b&range.no=1:2&lasso=1,2,x&off.no=1&point=&off.__proto__=1&range.words=:",
     "#texts?x=words&y=distance&view=5,0.5,1e-15,1e-15", "#texts?pair=&lasso=1,2,3,4,5"],
)  # fmt: skip
def test_an_address_that_makes_no_sense_is_ignored(browse: Any, address: str) -> None:
    browse("small", address).wait("showing 240 of 240")


def alike(one: bytes, other: bytes) -> bool:
    """Return whether two screenshots show the same, but for the rounding of their borders."""
    sides = [np.asarray(Image.open(io.BytesIO(of)).convert("RGB"), dtype=int) for of in (one, other)]
    return sides[0].shape == sides[1].shape and int(np.abs(sides[0] - sides[1]).max()) <= 2


def still(element: Any) -> bytes:
    """Return a screenshot once nothing has changed for a while, also on a busy machine."""
    before, same = b"", 0
    while same < 3:
        element.page.wait_for_timeout(150)
        now = element.screenshot()
        same, before = (same + 1 if now == before else 0), now
    return before


def test_the_address_has_the_view_of_the_map(browse: Any) -> None:
    one = browse("small")
    canvas = one.page.locator("#x-canvas")
    canvas.scroll_into_view_if_needed()
    whole = canvas.screenshot()
    canvas.hover(position={"x": 150, "y": 120})
    top = one.page.evaluate("scrollY")
    one.page.mouse.wheel(0, 50)
    one.page.wait_for_timeout(300)
    assert one.page.evaluate("scrollY") == top + 50  # the page scrolls, unless the map was clicked
    canvas.scroll_into_view_if_needed()
    canvas.focus()
    canvas.hover(position={"x": 150, "y": 120})
    one.page.mouse.wheel(0, -400)
    assert "view=" in one.address()
    one.page.evaluate("document.activeElement.blur()")
    one.page.mouse.move(0, 0)
    zoomed = still(canvas)
    again = browse("small", f"#{one.address()}").page.locator("#x-canvas")
    assert alike(still(again), zoomed)
    assert not alike(zoomed, whole)
    one.page.locator("#x-reset").click()
    assert "view=" not in one.address()


def test_a_finger_scrolls_the_page_and_two_fingers_zoom(browse: Any) -> None:
    one = browse("small", has_touch=True)
    one.page.set_viewport_size({"width": 360, "height": 740})
    canvas = one.page.locator("#x-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y, top = box["x"] + 150, box["y"] + 250, one.page.evaluate("scrollY")
    session = one.page.context.new_cdp_session(one.page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        fingers = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})

    touch("touchStart", (x, y))
    for step in range(1, 11):
        touch("touchMove", (x, y - 20 * step))
    touch("touchEnd")
    assert "view=" not in one.address()
    assert one.page.evaluate("scrollY") > top + 100
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y = box["x"] + 150, box["y"] + 150
    touch("touchStart", (x - 20, y), (x + 20, y))
    for step in range(1, 11):
        touch("touchMove", (x - 20 - 5 * step, y), (x + 20 + 5 * step, y))
    touch("touchEnd")
    assert "view=" in one.address()


def test_everything_is_reached_by_keyboard(browse: Any) -> None:
    one = browse("small")
    one.page.locator("#x-tab-map").focus()
    one.page.keyboard.press("ArrowRight")
    assert one.page.locator("#x-missed").is_visible()
    one.page.keyboard.press("ArrowLeft")
    assert one.page.locator("#x-map").is_visible()
    one.page.locator("#x-canvas").focus()
    before = one.page.locator("#x-canvas").screenshot()
    for key in ("+", "ArrowLeft", "ArrowUp", "-", "0"):
        one.page.keyboard.press(key)
    one.page.keyboard.press("+")
    one.page.wait_for_timeout(100)
    assert one.page.locator("#x-canvas").screenshot() != before
    one.page.keyboard.press("Enter")
    one.page.locator("#x-detail h3").wait_for()
    one.page.locator("#x-list .x-item").first.focus()
    one.page.keyboard.press("Enter")
    one.page.locator("#x-detail").get_by_role("heading", name="human-0", exact=True).wait_for()
    assert one.page.evaluate("document.activeElement.id") == "x-detail"


def test_the_counts_of_dominance_are_those_of_the_ranking(browse: Any) -> None:
    one, scores = browse("small"), made_scores()
    wins = dominance_counts(scores.oriented).wins
    assert all(0 < wins[i, j] < 40 for i, j in itertools.permutations(range(3), 2))
    for i, j in itertools.permutations(range(3), 2):
        one.page.select_option("#x-first", scores.methods[i])
        one.page.select_option("#x-second", scores.methods[j])
        counts = [
            int(text.rsplit(": ")[1]) for text in one.page.locator("#x-outcomes button").all_inner_texts()
        ]
        assert counts == [wins[i, j], wins[j, i], 40 - wins[i, j] - wins[j, i]]
    assert sum(counts) == len(scores.prompts)


def test_the_texts_of_two_methods_stand_side_by_side(browse: Any) -> None:
    one = browse("small", "#criteria?first=Alpha&second=Beta&outcome=second")
    sides = one.page.locator("#x-compared-sides > div")
    prompts = one.page.locator("#x-compared option").all_inner_texts()
    assert len(prompts) > 5
    one.page.locator("#x-compared-next").click()
    row = prompts[1].removeprefix("made/p-")
    sides.get_by_text(f"Beta 1 {row} is a made text").wait_for()
    assert f"Alpha 1 {row} is a made text" in sides.nth(0).inner_text()
    assert f"Alpha 2 {row} is a made text" in sides.nth(0).inner_text()  # the other seed
    assert one.page.inner_text("#x-compared-prompt") == f"Prompt {row}:"
    assert sides.nth(0).locator("strong").count() == 0  # Beta dominates
    assert sides.nth(1).locator("strong").count() > 0
    again = browse("small", f"#{one.address()}")
    again.page.locator("#x-compared-sides").get_by_text(f"Beta 1 {row} is").wait_for()
    sides.nth(1).get_by_role("link").click()
    one.page.locator("#x-detail").get_by_role("heading", name=f"beta-1-{row}", exact=True).wait_for()
    one.page.select_option("#x-second", HOSTILE_METHOD)
    one.page.get_by_text("The text is not on this page.").wait_for()


def test_a_click_on_a_method_compares_it(browse: Any) -> None:
    one = browse("small", "#criteria?first=Alpha&second=Beta&colour=model")
    assert "ALPHA" in one.page.inner_text("#x-means-legend")
    scores = made_scores()
    means = np.nanmean(scores.values, axis=0)[:, :2]
    canvas = one.page.locator("#x-means")
    box = canvas.bounding_box()
    left, below = 58, 36  # the margins with the labels of the axes
    room = np.array([box["width"] - left, box["height"] - below])
    low, high = means.min(axis=0), means.max(axis=0)
    places = room / 2 + (means - (low + high) / 2) / ((high - low) * 1.08) * room
    for method, (x, y) in zip(scores.methods, places, strict=True):
        before = one.page.evaluate(VALUE, "#x-first")
        position = {"x": left + x, "y": room[1] - y}
        canvas.hover(position=position)
        assert one.page.locator("#x-means-tip").inner_text().startswith(f"{method}: diversity (MC) 0.")
        canvas.click(position=position)
        assert one.page.evaluate(VALUE, "#x-first") == method
        assert one.page.evaluate(VALUE, "#x-second") == (before if before != method else "Beta")


def test_a_page_of_rankings_alone(browse: Any) -> None:
    one = browse(
        "rankings", "#criteria?ranking=second&x=likes&y=perplexity&first=nobody&outcome=no&compared=x"
    )
    assert one.page.locator("#texts").count() == 0
    assert one.page.evaluate(VALUE, "#x-ranking") == "second"
    assert one.page.evaluate(VALUE, "#x-criterion-x") == "likes"
    one.page.select_option("#x-ranking", "first")
    one.page.get_by_text("The text is not on this page.").first.wait_for()
    assert "ranking=first" in one.address()


def test_the_page_moves_to_what_its_address_names(browse: Any) -> None:
    for name in ("texts", "criteria", "metrics"):
        one = browse("small", f"#{name}")
        one.page.wait_for_timeout(300)
        top, end = one.page.evaluate(
            f"() => [document.querySelector('#{name}').getBoundingClientRect().top,"
            " document.documentElement.scrollHeight - scrollY - innerHeight]"
        )
        assert 0 <= top < 60 or end < 2  # below the contents


def test_tables_are_sorted_by_their_headings(browse: Any) -> None:
    one = browse("small")
    rows = one.page.locator("table.sortable").first.locator("tbody tr th")
    assert rows.all_inner_texts() == ["Alpha", "Beta"]
    button = one.page.get_by_role("button", name="precision")
    button.click()
    assert rows.all_inner_texts() == ["Beta", "Alpha"]
    button.press("Enter")
    assert rows.all_inner_texts() == ["Alpha", "Beta"]
    assert one.page.locator("th[aria-sort=ascending]").count() == 1


def test_a_folder_of_chunks_is_opened_from_disk(browse: Any, made: dict[str, Path]) -> None:
    one = browse("folder")
    one.wait("showing 240 of 240")
    one.page.fill("#x-query", "human 7 is")
    one.wait("showing 1 of")
    one.page.locator("#x-list .x-item").first.click()
    one.page.locator("#x-detail .x-item").first.wait_for()
    assert any(url.endswith("/made/columns.js") for url in one.requests)
    assert made["folder"].stat().st_size < made["small"].stat().st_size


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_a_chunk_that_cannot_be_read_is_named(browse: Any, made: dict[str, Path], damage: str) -> None:
    one = browse("folder")
    [chunk] = made["folder"].parent.glob("*/*/other/columns.js")
    content = chunk.read_bytes()
    chunk.write_bytes(content[:1000]) if damage == "damaged" else chunk.unlink()
    try:
        one.page.select_option("#x-task", "other")
        told = {"missing": "cannot be loaded: it must be beside this page.", "damaged": "is damaged: make"}
        one.wait(f"{chunk.relative_to(made['folder'].parent).as_posix()} {told[damage]}")
        assert one.page.evaluate(VALUE, "#x-task") == "made"  # whose texts are still shown
    finally:
        chunk.write_bytes(content)
    one.page.select_option("#x-task", "other")
    one.wait("showing 40 of 40")
    one.errors.clear()


def test_hostile_texts_are_inert_and_readable(browse: Any) -> None:
    one = browse("hostile")
    for row, text in enumerate(HOSTILE):
        one.page.fill("#x-query", f"alpha-1-{row}")
        one.wait("showing ")
        one.page.locator(f"#x-list .x-item:has(bdi:text-is('alpha-1-{row}'))").click()
        detail = one.page.locator("#x-detail")
        detail.get_by_role("heading", name=f"alpha-1-{row}", exact=True).wait_for()
        shown = detail.locator(".x-text").last.inner_text()
        if not text.strip():
            assert shown == "(an empty text)"
        elif len(text) > 5000:
            assert len(shown) < 6000
            detail.get_by_role("button", name="Show all 200,000 characters").click()
            assert len(detail.locator(".x-text").last.inner_text()) > 190_000
        else:
            assert text.split()[0][:3].replace("\u202e", "") in shown.replace("\u202e", "")
    one.page.fill("#x-query", "bell")
    one.page.locator("#x-list .x-item:has(bdi:text-is('alpha-1-2'))").click()
    one.page.locator("#x-detail").get_by_text("bell ␇ escape ␛ delete ␡").wait_for()
    assert one.page.title() == "Made <b>page</b>"
    assert one.page.locator("h1").count() == 1
    assert one.page.locator(".explorer img, .explorer script, .explorer b").count() == 0
    for tab in ("missed", "pair"):
        one.page.locator(f"#x-tab-{tab}").click()
        one.page.wait_for_timeout(200)
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["map", "missed", "pair"])
def test_axe_finds_no_serious_fault(browse: Any, scheme: str, tab: str) -> None:
    one = browse("small", f"#texts?tab={tab}&point=0,alpha-1-7", color_scheme=scheme)
    one.page.locator("#x-detail .x-item").first.wait_for()
    found = Axe().run(one.page).response["violations"]
    serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
    assert not serious, [(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in serious]


RIGHTMOST = """() => Math.max(...Array.from(
  document.querySelectorAll('.explorer :is(select, input, button, canvas)'),
  (control) => control.getBoundingClientRect().right))"""


@pytest.mark.parametrize("width", [360, 768, 1360])
def test_no_width_scrolls_sideways(browse: Any, width: int) -> None:
    one = browse("hostile", "#texts?point=0,alpha-1-0")
    one.page.set_viewport_size({"width": width, "height": 800})
    for tab in ("map", "missed", "pair"):
        one.page.locator(f"#x-tab-{tab}").click()
        one.page.wait_for_timeout(200)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width
        assert one.page.evaluate(RIGHTMOST) <= width


FRAMES = """() => {
  globalThis.frames_ = [];
  let last = performance.now();
  const next = (now) => { frames_.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}"""
FILTER = """() => {
  const start = performance.now();
  document.querySelectorAll('#x-boxes input')[1].click();
  return performance.now() - start;
}"""
SEARCH = """() => new Promise((resolve) => {
  const query = document.querySelector('#x-query'), status = document.querySelector('#x-status');
  query.value = 'about politics';
  query.dispatchEvent(new Event('input'));
  const start = performance.now();
  new MutationObserver(() => resolve(performance.now() - start)).observe(status, { childList: true });
})"""


@pytest.mark.parametrize("name", ["large", "long"])
def test_fifty_thousand_texts_move_smoothly(browse: Any, made: dict[str, Path], name: str) -> None:
    sizes = [path.stat().st_size for path in made[name].parent.rglob("*") if path.is_file()]
    assert 15e6 < max(sizes) < 25e6 if name == "large" else sum(sizes) > 60e6
    assert (len(sizes) == 1) == (name == "large")
    one = browse(name)
    one.wait("showing 50,000 of 50,000")
    opened = one.page.evaluate("performance.now()")
    canvas = one.page.locator("#x-canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    one.page.evaluate(FRAMES)
    one.page.mouse.move(box["x"] + 100, box["y"] + 100)
    one.page.mouse.down()
    for step in range(60):
        one.page.mouse.move(box["x"] + 100 + 3 * step, box["y"] + 100 + step)
    one.page.mouse.up()
    frames = one.page.evaluate("frames_")
    filtered = one.page.evaluate(FILTER)
    one.wait("showing 25,000 of 50,000")
    searched = one.page.evaluate(SEARCH)
    one.wait("showing 6,250 of 50,000")
    # Figures for the record: a slow machine is no fault of the page.
    print(
        f"{name}: {sum(sizes) / 1e6:.0f} MB, opened in {opened:.0f} ms, frames of "
        f"{statistics.median(frames):.1f} ms, filter {filtered:.0f} ms, search {searched:.0f} ms"
    )


def test_the_demos_page_is_what_the_documents_show(browse: Any, chromium: Any) -> None:
    page = ROOT / "results/papers/demo/index.html"
    if not page.exists():
        pytest.skip("the demo was not run here: make demo")
    one = browse("small")
    one.path = page
    one.go("#texts?task=wiki").wait("showing 36 of 36")
