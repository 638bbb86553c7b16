"""How games end on the page, in a real browser: each draw law of the usual rules, flags, and every other way."""

import random

import pytest

import page_cases
from damas_env.game import Game
from page_cases import BOTH, api, says, tap

pytestmark = page_cases.needs_chromium
address, browser, store, visit = page_cases.address, page_cases.browser, page_cases.store, page_cases.visit


def near_the_end(fen, law):
    """(PDN, last move): a game that only ``law`` will end, with the next move; the law counts from its first ply."""
    for seed in range(200):
        rng, game = random.Random(seed), Game("cbd", fen)
        seen = {fen}
        while not game.outcome():
            moves = game.legal_moves()
            rng.shuffle(moves)
            for move in moves:
                game.push(move)
                peaceful = not any(reply.captures for reply in game.legal_moves())
                if peaceful and game.fen() not in seen and game.counters()[law]["plies"] == game.ply:
                    break
                game.pop()
            else:
                break
            seen.add(game.fen())
        if game.outcome():
            last = game.pop()
            moves = " ".join(f"{move.frm}-{move.to}" for move in game.moves)
            return f'[FEN "{fen}"]\n{moves} *', last
    raise AssertionError(f"no quiet game from {fen}")


@pytest.mark.parametrize(
    ("fen", "law", "warning", "ending"),
    [
        ("W:WK29,K30,K31:BK1,K2", "kings_only", "Kings only: draw in 1 ply.", "too many moves without progress"),
        ("W:WK29,K30:BK1", "ending", "Drawn ending: draw in 1 ply.", "this ending has gone on for too long"),
        ("W:WK30,K31,K32:BK4", "ending", "Drawn ending: draw in 1 ply.", "this ending has gone on for too long"),
    ],
    ids=["twenty-king-moves", "two-kings-against-one", "lone-king-on-the-main-diagonal"],
)
def test_a_draw_law_strikes(visit, fen, law, warning, ending):
    pdn, last = near_the_end(fen, law)
    page = visit(seats=BOTH, position=pdn)
    says(page, "#laws", warning)
    tap(page, last.frm, last.to)
    says(page, "#status", f"Draw: {ending}.")
    api.expect(page.locator("#laws")).to_be_empty()
    page.get_by_role("button", name="Undo").click()
    says(page, "#laws", warning)


def test_a_position_occurs_for_the_third_time(visit):
    moves = "30-26 3-7 26-30 7-3 30-26 3-7 26-30"
    page = visit(locale="pt-BR", seats=BOTH, position=f'[FEN "W:WK29,K30,31:BK4,K3,2"]\n{moves} *')
    says(page, "#laws", "Esta posição ocorreu 2 vezes; com 3 é empate.")
    tap(page, 7, 3)
    says(page, "#status", "Empate: a posição se repetiu.")


def test_two_people_agree_on_a_draw(visit):
    page = visit(seats=BOTH)
    page.get_by_role("button", name="Offer draw").click()
    says(page, "#status", "Draw: by agreement.")


def test_a_flag_falls_and_the_game_goes_on_after_undo(visit):
    page = visit(seats=BOTH, clock={"main": 1})
    tap(page, 22, 18)
    says(page, "#status", "White wins. The time of Black is up.")
    api.expect(page.locator("#far .clock")).to_have_text("0:00")
    api.expect(page.locator(".may")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    says(page, "#status", "Black to move")
    api.expect(page.locator("#far .clock")).to_have_text("1:00")


def test_a_side_without_a_move_loses(visit):
    page = visit(seats=BOTH, position="W:W21,22:B13")
    tap(page, 21, 17)
    says(page, "#status", "White wins. Black has no legal move.")


def test_a_game_against_a_machine_is_lost(visit):
    page = visit(locale="pt-BR", seats={"W": "person", "B": "casual"}, position="W:W21:B13,1")
    tap(page, 21, 17)
    says(page, "#status", "Você perdeu. As Brancas ficaram sem peças.")
    says(page, "#far .name", "Casual")
