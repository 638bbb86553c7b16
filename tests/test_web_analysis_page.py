"""What the page offers beside playing, in a real browser: positions that are set up."""

import re

import page_cases
from page_cases import BOTH, api, says, square, tap

pytestmark = page_cases.needs_chromium
address, browser, visit = page_cases.address, page_cases.browser, page_cases.visit


def test_a_position_is_set_up_by_tap_drag_and_keys_and_played_from(visit):
    page = visit(seats=BOTH)
    page.get_by_role("button", name="Set up position").click()
    editor = page.locator("#editor")
    says(page, "#verdict", "White has 7 moves here.")
    editor.get_by_role("button", name="Clear").click()
    says(page, "#verdict", "White has no piece.")
    tap(editor, 5)
    editor.get_by_text("black king").click()
    tap(editor, 10)
    says(page, "#verdict", "White has 1 move here.")
    square(editor, 5).drag_to(square(editor, 1))
    says(page, "#verdict", "A white man on b8 would have been crowned")
    api.expect(editor.get_by_role("button", name="Play")).to_be_disabled()
    square(editor, 1).focus()
    page.keyboard.press("Delete")
    says(page, "#verdict", "White has no piece.")
    editor.get_by_label("As text (FEN)").fill("nonsense")
    page.keyboard.press("Enter")
    says(page, "#verdict", "must begin with the side to move")
    assert "400" in visit.faults.pop()
    editor.get_by_label("As text (FEN)").fill("B:W22,K1:B10,5")
    page.keyboard.press("Enter")
    says(page, "#verdict", "Black has ")
    editor.get_by_role("button", name="Play").click()
    page.get_by_label("Opponent").select_option("here")
    page.locator("#start-game").click()
    says(page, "#status", "Black to move")
    api.expect(page.locator("#board .piece")).to_have_count(4)


def test_a_set_up_position_is_analysed(visit):
    page = visit(seats=BOTH, rules="international")
    page.get_by_role("button", name="Set up position").click()
    editor = page.locator("#editor")
    api.expect(editor.locator("[data-square]")).to_have_count(50)
    editor.get_by_label("Rules").select_option("cbd")
    api.expect(editor.locator("[data-square]")).to_have_count(32)
    editor.get_by_role("button", name="Analyse").click()
    says(page, "#candidates", "c3-d4")


def test_whose_mind_is_looked_into_and_what_the_arrows_show_is_chosen(visit):
    page = visit(seats=BOTH, position="W:W22,23,27:B9,10,5")
    page.get_by_role("button", name="Analyse").click()
    says(page, "#evaluation", "White wins ")
    assert re.fullmatch(
        r"White wins \d+ %, draw \d+ %, Black wins \d+ %", page.locator(".bar").get_attribute("aria-label")
    )
    api.expect(page.locator(".arrow.idea").first).to_be_visible()
    page.locator("#candidates").get_by_text("prior").last.click()
    api.expect(page.locator(".arrow.prior").first).to_be_visible()
    page.locator("#candidates").get_by_text("none").click()
    api.expect(page.locator(".arrow")).to_have_count(0)
    page.get_by_label("Analysed by").select_option("Full strength")
    says(page, "#evaluation", "positions")
    api.expect(page.locator("#candidates th[scope=col]")).to_have_count(2)
