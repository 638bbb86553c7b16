"""What people meet who do not look or point as others do: the page under axe, in both languages."""

import pytest

import page_cases
from page_cases import BOTH, PATIENCE, api, says, square, tap

pytestmark = page_cases.needs_chromium
address, browser, store, visit = page_cases.address, page_cases.browser, page_cases.store, page_cases.visit
axe = pytest.importorskip("axe_playwright_python.sync_playwright")


def check(page):
    """Nothing of what axe knows may be wrong."""
    found = axe.Axe().run(page)
    assert not found.violations_count, found.generate_report()


def press(page, name):
    page.locator(f"#{name}").click()


def in_both_languages(page):
    for language in ("en", "pt-BR"):
        api.expect(page.locator(f"html[lang={language}]")).to_be_attached()
        yield
        press(page, "language")


def test_start_and_dialogs(visit):
    page = visit()
    api.expect(page.locator("#board .piece")).to_have_count(24)
    for _ in in_both_languages(page):
        check(page)
        press(page, "new")
        page.locator("dialog summary").first.click()
        check(page)
        press(page, "cancel-game")
        press(page, "resign")
        api.expect(page.locator("#confirm")).to_be_visible()
        check(page)
        page.keyboard.press("Escape")


def test_a_game_with_a_clock_a_hint_and_a_choice(visit):
    clock = {"main": 5, "periods": 3, "period": 30}
    page = visit(seats=BOTH, position="W:WK32:B10,15,16,23", clock=clock)
    press(page, "hint")
    api.expect(page.locator(".arrow.hint")).to_have_count(1, timeout=PATIENCE)
    tap(page, 32, 20)
    api.expect(page.locator("#choice .path")).to_have_count(2)
    check(page)
    page.locator("#choice .path").nth(1).click()
    says(page, "#moves", "x")
    square(page, 10).focus()
    page.keyboard.press("Enter")
    page.emulate_media(color_scheme="dark")
    for _ in in_both_languages(page):
        check(page)


def test_the_editor_and_the_explanations(visit):
    page = visit(seats=BOTH)
    for _ in in_both_languages(page):
        press(page, "edit")
        api.expect(page.locator("#editor .piece").first).to_be_visible(timeout=PATIENCE)
        check(page)
        page.keyboard.press("Escape")
        press(page, "help")
        api.expect(page.locator("dialog[open]")).to_be_visible(timeout=PATIENCE)
        check(page)
        page.keyboard.press("Escape")


def test_the_analysis(visit):
    page = visit(seats=BOTH, position='[FEN "W:WK29:B10"]\n1. a1-e5 d6xf4 *')
    press(page, "analyse")
    press(page, "review")
    api.expect(page.locator("#graph .wrong")).to_have_count(1, timeout=PATIENCE)
    press(page, "first")
    for _ in in_both_languages(page):
        api.expect(page.locator("#candidates tbody tr").first).to_be_visible(timeout=PATIENCE)
        check(page)


def test_two_browsers_on_a_phone(visit):
    page = visit(width=360, height=740, seats=BOTH, remote=True, color="W")
    api.expect(page.locator("#invite input")).to_be_visible()
    for _ in in_both_languages(page):
        check(page)
