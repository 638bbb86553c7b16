"""The web application's page in a real browser (Chromium), on a server of its own."""

import io
import re
from pathlib import Path

from PIL import Image

import page_cases
from page_cases import BOTH, PATIENCE, api, says, square, tap

pytestmark = page_cases.needs_chromium
address, browser, store, visit = page_cases.address, page_cases.browser, page_cases.store, page_cases.visit


def test_a_whole_game_with_a_promotion_to_the_last_piece(visit):
    page = visit(seats=BOTH, position="W:W6:B20")
    says(page, "#status", "White to move")
    tap(page, 6, 1)
    says(page, "#moves", "c7-b8")
    says(page, "#status", "Black to move")
    api.expect(page.locator(".piece .crown")).to_have_count(1)
    tap(page, 20, 24)
    says(page, "#status", "you must capture")
    api.expect(page.locator(".must")).to_have_count(1)
    tap(page, 1, 28)
    says(page, "#status", "White wins. Black has no piece left.")
    api.expect(page.locator(".piece")).to_have_count(1)
    page.get_by_role("button", name="Undo").click()
    says(page, "#status", "White to move")
    api.expect(page.locator(".piece")).to_have_count(2)


def test_captures_with_the_same_target_are_chosen_between(visit):
    page = visit(seats=BOTH, position="W:WK32:B10,15,16,23")
    tap(page, 32, 20)
    choice = page.locator("#choice")
    api.expect(choice.locator(".path")).to_have_count(2)
    assert page.locator(".arrow").count() == 1
    choice.get_by_role("button", name="Cancel").click()
    api.expect(choice).to_be_hidden()
    tap(page, 32, 20)
    choice.locator(".path").nth(1).click()
    says(page, "#status", "Black to move")
    api.expect(page.locator(".piece")).to_have_count(2)


def test_against_a_machine_hint_undo_and_resignation(visit):
    page = visit(seats={"W": "person", "B": "casual"})
    says(page, "#status", "Your turn (White)")
    page.get_by_role("button", name="Offer draw").click()
    says(page, "#alert", "It is too early for a draw")
    page.get_by_role("button", name="Hint").click()
    says(page, "#advice", "for you (−1 lost, 0 even, 1 won)")
    api.expect(page.locator(".arrow.hint")).to_have_count(1)
    tap(page, 22, 18)
    api.expect(page.locator("#moves button")).to_have_count(2, timeout=PATIENCE)
    says(page, "#status", "Your turn")
    page.get_by_role("button", name="Undo").click()
    api.expect(page.locator("#moves button")).to_have_count(0)
    page.get_by_role("button", name="Hint").click()
    api.expect(page.locator(".arrow.hint")).to_have_count(1)
    page.get_by_role("button", name="Resign").click()
    page.locator("#confirm").click()
    says(page, "#status", "You resigned.")
    api.expect(page.locator(".arrow.hint")).to_have_count(0)
    api.expect(page.locator("#advice")).to_be_hidden()
    page.get_by_role("button", name="Rematch").click()
    says(page, "#near .name", "You Black")
    api.expect(page.locator("#moves button")).to_have_count(1, timeout=PATIENCE)
    page.reload()
    says(page, "#near .name", "You Black")


def test_drag_keyboard_and_earlier_positions(visit):
    page = visit(seats=BOTH)
    square(page, 22).drag_to(square(page, 18))
    says(page, "#moves", "c3-d4")
    square(page, 10).focus()
    page.keyboard.press("Enter")
    assert square(page, 10).get_attribute("aria-pressed") == "true"
    assert "can be reached" in square(page, 14).get_attribute("aria-label")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.square") == "14"
    page.keyboard.press("Enter")
    api.expect(page.locator("#moves button")).to_have_count(2)
    page.locator("#first").click()
    says(page, "#status", "An earlier position")
    assert page.locator(".may").count() == 0
    page.locator("#last").click()
    says(page, "#status", "White to move")


def test_both_languages(visit):
    page = visit(locale="pt-BR", seats=BOTH)
    says(page, "#status", "Jogam as Brancas")
    assert page.locator("html").get_attribute("lang") == "pt-BR"
    page.get_by_role("button", name="Novo jogo").click()
    page.locator("summary", has_text="Regras").click()
    assert page.locator("#field-rules option[value=cbd]").inner_text() == "Damas brasileiras (CBD), 8×8"
    page.locator("[name=position]").fill("W:W99:B1")
    page.locator("#start-game").click()
    says(page, "#alert", "a casa 99 não está no tabuleiro")
    assert "400" in visit.faults.pop()
    page.locator("#language").click()
    says(page, "#status", "White to move")
    page.locator("#edit").click()
    assert page.locator("#editor-rules option[value=international]").inner_text() == "International draughts, 10×10"
    page.reload()
    says(page, "#status", "White to move")
    page.locator("#notation").click()
    assert page.locator(".labels .number").count() == 32


def test_a_phone_shows_everything_without_scrolling_sideways(visit):
    page = visit(width=360, height=740, seats=BOTH)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator("svg.board").bounding_box()
    assert box["x"] >= 0
    assert 320 <= box["width"] <= 360
    assert box["y"] + box["height"] < 740
    page.get_by_role("button", name="New game").click()
    assert page.locator("#dialog").bounding_box()["width"] <= 360


def test_a_rematch_brings_the_board_back_on_a_phone(visit):
    page = visit(width=390, height=640, locale="pt-BR", seats={"W": "person", "B": "beginner"})
    page.locator("#resign").click()
    page.locator("#confirm").click()
    says(page, "#status", "Você desistiu.")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.locator("#rematch").click()
    says(page, "#near .name", "Você Pretas")
    assert page.locator("#table").bounding_box()["y"] >= 0
    assert page.locator("svg.board").bounding_box()["y"] < 200


def test_a_game_that_is_gone_is_told_of_where_a_new_one_is_chosen(visit, address):
    page = visit(seats=BOTH)
    page.goto(f"{address}/#game=gone")
    says(page, "#dialog", "There is no such game any more")
    page.locator("#cancel-game").click()
    says(page, "#far .name", "Casual")
    page.locator("#new").click()
    api.expect(page.locator("#told")).to_have_count(0)


def test_a_clock_that_waits_says_so(visit):
    page = visit(seats=BOTH, clock={"main": 300})
    says(page, "#laws", "The clocks stand still until the first move")
    tap(page, 22, 18)
    api.expect(page.locator("#laws")).not_to_contain_text("stand still")


def test_a_game_that_cannot_be_saved_says_so(visit, store):
    page = visit(seats=BOTH)
    api.expect(page.locator("#unsaved")).to_be_hidden()
    store._connection.execute("PRAGMA query_only = ON")  # any write fails
    try:
        tap(page, 22, 18)
        says(page, "#unsaved", "cannot be saved now")
    finally:
        store._connection.execute("PRAGMA query_only = OFF")
    tap(page, 10, 14)
    api.expect(page.locator("#unsaved")).to_be_hidden()


def test_a_new_game_is_put_together(visit):
    page = visit()
    says(page, "#far .name", "Casual")
    page.get_by_role("button", name="New game").click()
    page.get_by_label("Level").select_option("beginner")
    page.get_by_label("Your colour").select_option("B")
    page.get_by_label("Clock").select_option("2")
    page.locator("#start-game").click()
    says(page, "#near .name", "You Black")
    says(page, "#far .name", "Beginner")
    api.expect(page.locator("#moves button")).to_have_count(1, timeout=PATIENCE)
    assert re.fullmatch(r"[45]:\d\d · 3 × 30 s", page.locator("#near .clock").inner_text())


def test_two_browsers_by_a_link(visit, address):
    white = visit(seats=BOTH, remote=True, color="W")
    link = white.locator("#invite input").input_value()
    says(white, "#invite", "on this computer only")
    black = visit(seats=BOTH)
    black.goto(link)
    says(black, "#near .name", "You Black")
    api.expect(black.locator("#invite")).to_be_hidden()
    tap(white, 22, 18)
    says(black, "#status", "Your turn (Black)")
    white.get_by_role("button", name="Undo").click()
    white.locator("#help").click()
    black.locator("#decline").click()
    says(white, "#alert", "does not want to take the move back")
    box = white.locator("#alert").bounding_box()
    seen = Image.open(io.BytesIO(white.screenshot(clip=box)))
    assert seen.getpixel((8, seen.height // 2))[:3] == (0x2B, 0x21, 0x18), "the alert lies under the open dialog"
    white.keyboard.press("Escape")
    black.get_by_role("button", name="Offer draw").click()
    white.locator("#accept").click()
    says(black, "#status", "Draw: by agreement.")
    white.get_by_role("button", name="Rematch").click()
    says(black, "#offer", "A rematch is waiting")


def test_analysis(visit):
    page = visit(seats=BOTH)
    page.get_by_role("button", name="Analyse").click()
    api.expect(page.locator("#candidates tbody tr")).to_have_count(6, timeout=PATIENCE)
    assert page.locator(".arrow.idea").count() >= 1
    page.locator(".line button").nth(1).click()
    says(page, "#status", "A position of the expected line")
    api.expect(page.locator(".arrow")).to_have_count(0)
    page.locator("#last").click()
    says(page, "#status", "White to move")
    page.get_by_role("button", name="Analyse").click()
    api.expect(page.locator("#analysis")).to_be_hidden()
    assert page.locator(".arrow").count() == 0


def test_the_graph_marks_what_was_thrown_away(visit):
    page = visit(seats=BOTH, position='[FEN "W:WK29:B10"]\n1. a1-e5 d6xf4 *')
    page.get_by_role("button", name="Analyse").click()
    says(page, "#evaluation", "The game ends here")
    page.locator("#review").click()
    page.locator("#first").click()  # to look around does not end the graph
    api.expect(page.locator("#graph .wrong")).to_have_count(1, timeout=PATIENCE)
    says(page, "#graph", "1 move threw a result away")
    says(page, "#moves", "?")
    says(page, "#evaluation", "White wins ")


def test_a_game_is_saved(visit):
    page = visit(seats=BOTH)
    tap(page, 22, 18)
    says(page, "#moves", "c3-d4")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save PDN").click()
    assert "1. c3-d4" in Path(download.value.path()).read_text()
