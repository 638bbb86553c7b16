"""What the page offers beside playing, in a real browser: analysis, links, training games, explanations."""

import re

import page_cases
from page_cases import BOTH, api, says, square, tap

pytestmark = page_cases.needs_chromium
address, browser, store, visit = page_cases.address, page_cases.browser, page_cases.store, page_cases.visit


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


def test_a_link_shows_the_game_but_not_its_key(visit, address):
    page = visit(seats=BOTH, position='[FEN "B:W18,22,K32:BK1,9,10"]\n9-14 18x9 *')
    page.locator("#back").click()
    page.get_by_role("button", name="Share link").click()
    game, position = (page.get_by_label(name).input_value() for name in ("This game", "This position"))
    key = page.url.partition("game=")[2]
    assert key not in game + position
    assert game == f"{address}/#rules=cbd&fen=B:W18,22,K32:BK1,9,10&moves=9-14.18x9&at=1"
    other = visit(game.removeprefix(address))
    says(other, "#moves", "b6-c5")
    says(other, "#status", "An earlier position")
    api.expect(other.locator("#board .piece")).to_have_count(6)
    assert key not in other.url
    other = visit(position.removeprefix(address))
    says(other, "#status", "White to move: you must capture")
    other.get_by_role("button", name="New game").click()
    other.get_by_label("Opponent").select_option("here")
    other.locator("#dialog summary").click()
    other.get_by_label("Start from a position").fill(game)
    other.locator("#start-game").click()
    says(other, "#moves", "b6-c5")


def test_wrong_links_are_explained(visit):
    for link in ("/#rules=cbd&moves=22-18.1-2", "/#rules=chess", "/#rules=cbd&fen=W:W1:B2"):
        page = visit(link)
        says(page, "#alert", "This link cannot be opened: ")
        assert "400" in visit.faults.pop()


def test_training_games_are_watched_with_the_network_that_played_them(visit):
    page = visit()
    page.get_by_role("button", name="Training games").click()
    says(page, "#iteration-title", "Iteration 12")
    page.get_by_role("button", name="Earlier").click()
    says(page, "#iteration-title", "Iteration 3, after 2 min of training")
    page.locator("#training-games button").nth(1).click()
    says(page, "#replay", "Training game 2 of 2, iteration 3: White wins (Black resigned), 6 plies")
    api.expect(page.get_by_label("Analysed by")).to_have_value("run:3")
    says(page, "#candidates", "c3-d4")
    page.get_by_role("button", name="Play the moves").click()
    says(page, "#moves [aria-current]", "b6-a5")
    page.locator("#last").click()
    says(page, "#moves [aria-current]", "e7-d6")
    page.get_by_role("button", name="Later").click()
    says(page, "#replay", "iteration 12")
    page.reload()
    says(page, "#replay", "Training game 2 of 2, iteration 12")


def test_somebody_who_does_not_know_the_rules_is_told(visit):
    page = visit(seats=BOTH, position="W:W22,27,30:B18,11,20")
    says(page, "#laws", "Tap one of the marked pieces")
    tap(page, 30)
    says(page, "#advice", "You must capture the most pieces, here 2: c3xg7.")
    tap(page, 18)
    says(page, "#advice", "That piece is not yours to move: it is White's turn.")
    square(page, 22).drag_to(square(page, 17))
    says(page, "#advice", "You must capture the most pieces")
    tap(page, 8)
    api.expect(page.locator("#advice")).to_be_hidden()
    page.get_by_role("button", name="How to play").click()
    says(page, "#dialog", "must capture, and must go on")
    page.locator("#understood").click()
    page = visit(locale="pt-BR", seats=BOTH)
    tap(page, 25)
    says(page, "#advice", "A peça em b2 não pode jogar agora")
    tap(page, 22, 14)
    says(page, "#advice", "A peça em c3 pode ir para b4, d4.")
    tap(page, 18)
    says(page, "#moves", "c3-d4")
    page.get_by_role("button", name="Como jogar").click()
    says(page, "#dialog", "Lei da maioria")


def test_a_finger_drags_pieces_and_elsewhere_scrolls_the_page(visit):
    page = visit(width=390, height=600, touch=True, seats=BOTH)
    fingers = page.context.new_cdp_session(page)

    def stroke(start, end):
        (x, y), (to_x, to_y) = (centre(square(page, number).bounding_box()) for number in (start, end))
        for part in range(9):
            point = {"x": x + (to_x - x) * part / 8, "y": y + (to_y - y) * part / 8}
            kind = "touchMove" if part else "touchStart"
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
        fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})

    stroke(22, 18)
    says(page, "#moves", "c3-d4")
    assert page.evaluate("scrollY") == 0
    stroke(15, 3)
    page.wait_for_function("scrollY > 0")


def centre(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
