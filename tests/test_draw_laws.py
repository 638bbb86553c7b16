"""Each draw law of each rule set one ply before its limit and at it: who gets the result, draw or truncation.

A game is taken up a few plies before the limit of one law, all other counts at zero, and played on by quiet moves
that keep the law standing. `test_variant_agreement.py` plays whole games against the slow reference.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from agreement import VARIANTS
from damas_env.draw_laws import DrawLaw, parse_balance
from damas_env.game import Game
from damas_env.outcome import standing_laws
from damas_env.presets import RULE_SETS
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Outcome, Termination
from reference_draws import SYSTEMS
from reference_rules import State

BEFORE = 5
"""Plies played before the last one."""


class Case(NamedTuple):
    """A law: where it stands, which count it is, after how many plies it draws, and as what."""

    rules: str
    fen: str
    counter: str
    plies: int
    termination: str


RIM = "W:WK1,K29,21:BK28,K3,20"  # nothing can be captured on the rim
MIRRORED_RIM = "W:WK2,K29,17:BK31,K4,16"
FIVE_MOVE_ENDINGS = ("W:WK1,K2:BK31,K32", "W:WK1,K2:BK31", "W:WK2,K3:BK29,5", "W:WK2:BK31", "W:WK3:BK30,5")
ON_DIAGONAL = ("W:WK1,K5,K13:BK29", "W:WK1,K5,21:BK29", "W:WK1,21,30:BK29")
TWO_AGAINST_ONE = ("W:WK1,K2:BK31", "W:WK1,21:BK31", "W:WK2:BK31")
THREE_KINGS, FOUR_KINGS = "W:WK1,K2,K3:BK31", "W:WK1,K2,K3,K5:BK31"
FOUR, FIVE = "W:WK1,K2:BK31,K32", "W:WK1,K2,21:BK31,K32"
SIX, SEVEN = RIM, "W:WK1,K29,21:BK28,K3,20,12"
EIGHT = "W:WK1,K29,21,22:BK28,K3,20,12"

CASES = [
    *(Case(rules, RIM, "kings_only", 40, "NO_PROGRESS") for rules in ("cbd", "dogames", "ttakji", "regras-oficiais")),
    *(
        Case(rules, fen, "ending", 10, "ENDING")
        for rules in ("cbd", "dogames", "regras-oficiais")
        for fen in FIVE_MOVE_ENDINGS
    ),
    *(Case(rules, fen, "ending", 10, "ENDING") for rules in ("cbd", "dogames") for fen in ON_DIAGONAL),
    *(Case(rules, RIM, "no_progress", 80, "NO_PROGRESS") for rules in ("damasite", "damasite-16", "american")),
    Case("damasite-16", THREE_KINGS, "three_kings", 32, "ENDING"),
    *(Case(rules, RIM, "kings_only", 30, "NO_PROGRESS") for rules in ("fmjd64", "russian")),
    *(
        Case(rules, fen, "three_kings", 30, "ENDING")
        for rules in ("fmjd64", "russian")
        for fen in (THREE_KINGS, FOUR_KINGS)
    ),
    *(
        Case(rules, fen, "balance", plies, "NO_PROGRESS")
        for rules in ("fmjd64", "russian", "lidraughts")
        for fen, plies in ((FOUR, 60), (FIVE, 60), (SIX, 120), (SEVEN, 120))
    ),
    *(
        Case(rules, fen, "ending", 10, "ENDING")
        for rules in ("fmjd64", "russian")
        for fen in (*ON_DIAGONAL, *TWO_AGAINST_ONE)
    ),
    *(Case("lidraughts", fen, "few_pieces", 10, "ENDING") for fen in TWO_AGAINST_ONE),
    *(Case("lidraughts", fen, "diagonal", 10, "ENDING") for fen in ON_DIAGONAL),
    *(Case("lidraughts", fen, "balance", 30, "ENDING") for fen in (THREE_KINGS, FOUR_KINGS, *ON_DIAGONAL[1:])),
    Case("lidraughts", EIGHT, "kings_only", 30, "NO_PROGRESS"),
    Case("pool", THREE_KINGS, "three_kings", 26, "ENDING"),
    # The main diagonal of the mirrored boards numbered from the bottom right goes from 1 to 32.
    *(Case(rules, "W:WK4,K29,12:BK5,K30,13", "kings_only", 40, "NO_PROGRESS") for rules in ("spanish", "portuguese")),
    *(
        Case(rules, fen, "three_kings", 24, "ENDING")
        for rules in ("spanish", "portuguese")
        for fen in ("W:WK4,K12,K20:BK32", "W:WK32,K31,K30:BK4")  # the lone king on the diagonal, and one of the three
    ),
    Case("international", "W:WK1,K46,36:BK45,K5,15", "kings_only", 50, "NO_PROGRESS"),
    *(
        Case("international", fen, "sixteen_moves", 32, "ENDING")
        for fen in ("W:WK1,K2,K3:BK48", "W:WK1,K2,36:BK48", "W:WK1,36,46:BK48", "W:WK1,K2:BK48")
    ),
    *(
        Case("international", fen, "five_moves", 10, "ENDING")
        for fen in ("W:WK1,K2:BK48", "W:WK1,36:BK48", "W:WK2:BK48")
    ),
    Case("filipino", MIRRORED_RIM, "no_progress", 80, "NO_PROGRESS"),
]


def twin(rules: str, fen: str) -> str:
    """The position with colours exchanged and the board turned."""
    return State.from_fen(VARIANTS[SYSTEMS[rules].variant], fen).rotated().fen()


def taken_up(case: Case, exchanged: bool, plies: int) -> Game:
    """A game of the case in which that many plies of its law have been played."""
    game = Game(case.rules, twin(case.rules, case.fen) if exchanged else case.fen)
    game.positions.counters[0, game.rules.counter_names.index(case.counter)] = plies
    assert game.outcome() is None
    return game


def quiet_plies(game: Game, plies: int, wanted: Callable[[Game], bool]) -> bool:
    """Plays king moves without capture, none of which ends the game or leaves what is wanted."""
    if plies == 0:
        return True
    kings = {square for square, piece in game.board().items() if piece.isupper()}
    for move in game.legal_moves():
        if move.captures or move.frm not in kings:
            continue
        game.push(move)
        if game.outcome() is None and wanted(game) and quiet_plies(game, plies - 1, wanted):
            return True
        game.pop()
    return False


def count(game: Game, counter: str) -> int:
    return game.counters()[counter]["plies"]


def test_every_law_has_a_case() -> None:
    laws = {(rules.name, law.counter, law.plies) for rules in RULE_SETS.values() for law in rules.draw_laws}
    assert laws == {(case.rules, case.counter, case.plies) for case in CASES}


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rules}-{case.counter}-{case.plies}-{case.fen}")
def test_at_the_limit_and_one_ply_before(case: Case, exchanged: bool) -> None:
    first = case.plies - 1 - BEFORE
    game = taken_up(case, exchanged, first)
    # All of the walk stays under the law, and the last position of it has a way to stay there once more.
    assert quiet_plies(
        game, BEFORE, lambda reached: count(reached, case.counter) == first + reached.ply and draws(reached, case) != []
    )
    assert count(game, case.counter) == case.plies - 1 and game.outcome() is None
    assert draws(game, case) == [Outcome(Termination[case.termination], None)]


@pytest.mark.parametrize(
    ("named", "case"),
    [
        ("filipino", Case("filipino_12_moves.yaml", "W:WK1,K2,K3:BK30", "three_kings", 24, "ENDING")),
        ("international", Case("international_diagonal.yaml", "W:WK1,K2,K6:BK46", "long_diagonal", 10, "ENDING")),
        ("international", Case("international_diagonal.yaml", "W:WK1,36,K6:BK46", "long_diagonal", 10, "ENDING")),
    ],
)
def test_laws_that_only_a_file_has(named: str, case: Case) -> None:
    path = str(Path(__file__).parents[1] / "examples" / case.rules)
    rules, without = get_rules(path), get_rules(named)
    other_laws = tuple(law for law in rules.draw_laws if law.counter != case.counter)
    assert dataclasses.replace(rules, name=named, title=without.title, draw_laws=other_laws) == without
    test_at_the_limit_and_one_ply_before(case._replace(rules=path), False)


def draws(game: Game, case: Case) -> list[Outcome | None]:
    """The outcomes (at most one kind) that the count brings about after the quiet king moves from here."""
    found = []
    kings = {square for square, piece in game.board().items() if piece.isupper()}
    for move in game.legal_moves():
        if move.captures or move.frm not in kings:
            continue
        game.push(move)
        outcome = game.outcome()
        if game.counters()[case.counter]["limit"] != case.plies:
            pass  # another law of the count, or none, stands there
        elif count(game, case.counter) == case.plies:
            if outcome is None or (outcome.winner is None and outcome.termination != Termination.REPETITION):
                found.append(outcome)
        elif count(game, case.counter):
            found.append(Outcome(Termination[case.termination], None))  # not there yet, but on the way
        game.pop()
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize(
    ("rules", "fen", "line"),
    [
        ("cbd", "W:WK1,K2,K3:BK31", "three kings off the main diagonal"),
        ("regras-oficiais", "W:WK1,K5,K13:BK29", "the list has no main diagonal"),
        ("ttakji", "W:WK1,K2:BK31", "no listed endings"),
        ("damasite", "W:WK1,K2,K3:BK31", "the law that it leaves out"),
        ("damasite-16", "W:WK1,K2,K3,K5:BK31", "exactly three"),
        ("pool", "W:WK1,K2,21:BK31", "kings only"),
        ("spanish", "W:WK32,K31,12:BK4", "kings only"),
        ("fmjd64", "W:WK1,K2:BK31,K32", "two against two is not drawn after five moves"),
        ("international", "W:WK1,K2:BK48,K49", "two against two"),
    ],
)
def test_where_no_ending_stands(rules: str, fen: str, line: str, exchanged: bool) -> None:
    game = Game(rules, twin(rules, fen) if exchanged else fen)
    for counter in game.rules.counter_names:
        stands = any(law.always or law.both_have_kings for law in game.rules.draw_laws if law.counter == counter)
        assert quiet_plies(
            game, 1, lambda reached, counter=counter, stands=stands: bool(count(reached, counter)) == stands
        )
        game.pop()


# Repetition -----------------------------------------------------------------------------------------------

SHUTTLES = {name: RIM for name in RULE_SETS} | {
    "spanish": "W:WK4,K29,12:BK5,K30,13", "portuguese": "W:WK4,K29,12:BK5,K30,13",
    "international": "W:WK1,K46,36:BK45,K5,15", "filipino": MIRRORED_RIM,
}  # fmt: skip


def play(game: Game, pair: tuple[int, int]) -> bool:
    """Plays the move (from, to) if it is legal."""
    for move in game.legal_moves():
        if (move.frm, move.to) == pair:
            game.push(move)
            return True
    return False


def shuttle(game: Game) -> list[tuple[int, int]]:
    """Four moves (from, to) after which both sides stand where they stood; the game is left as it was."""
    board = game.board()
    for mine in game.legal_moves():
        game.push(mine)
        for answer in game.legal_moves():
            if not board[mine.frm].isupper() or not board[answer.frm].isupper() or mine.captures or answer.captures:
                continue
            line = [(answer.frm, answer.to), (mine.to, mine.frm), (answer.to, answer.frm)]
            while game.ply < 4 and play(game, line[game.ply - 1]):
                pass
            there_and_back = game.ply == 4
            while game.ply > 1:
                game.pop()
            if there_and_back:
                game.pop()
                return [(mine.frm, mine.to), *line]
        game.pop()
    raise AssertionError("no shuttle exists: choose another position")


@pytest.mark.parametrize("name", list(RULE_SETS))
def test_the_third_occurrence(name: str) -> None:
    game = Game(name, SHUTTLES[name])
    start = game.board()
    there_and_back = shuttle(game)
    plies = 8 if game.rules.repetition else 28
    while game.ply < plies:
        assert game.outcome() is None
        assert play(game, there_and_back[game.ply % 4])
    assert game.board() == start
    expected = Outcome(Termination.REPETITION, None) if game.rules.repetition else None
    assert game.outcome() == expected


# Longest games --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "plies", "termination"),
    [
        ("ttakji", 400, "PLY_CAP_DRAW"), ("damas-brasileiro", 300, "PLY_CAP"), ("pool", 400, "PLY_CAP"),
        ("thai", 300, "PLY_CAP"),
    ],
)  # fmt: skip
def test_the_longest_game(name: str, plies: int, termination: str) -> None:
    game = Game(name, SHUTTLES[name])
    game.positions.plies[0] = plies - 2
    assert quiet_plies(game, 1, lambda reached: True)
    game.push(game.legal_moves()[0])
    assert int(game.positions.plies[0]) == plies
    assert game.outcome() == Outcome(Termination[termination], None)


def test_only_those_games_are_limited() -> None:
    assert {name for name, rules in RULE_SETS.items() if rules.ply_cap} == {
        "ttakji", "damas-brasileiro", "pool", "thai",
    }  # fmt: skip


def test_winning_with_the_last_ply_of_the_longest_game() -> None:
    game = Game("ttakji", "W:WK29:B8")
    game.positions.plies[0] = 399
    game.push("29x4")
    assert game.outcome() == Outcome(Termination.NO_PIECES, "W")


# What starts a count again --------------------------------------------------------------------------------


def own(base: str = "cbd", **changes: object) -> RuleSet:
    """A rule set with one draw law, named `mine`."""
    fields = {"plies": 30, "counter": "mine", "termination": Termination.ENDING, **changes}
    return dataclasses.replace(get_rules(base), name="own", draw_laws=(DrawLaw(**fields),))


@pytest.mark.parametrize(
    ("event", "fen", "line", "ply"),
    [
        ("capture", "W:WK29,K1:B22,5,K12", "29x18", 1),
        ("man_move", "W:WK1,21:BK32", "1-6 32-28 21-17", 3),
        ("crowning", "W:WK30,8:BK32", "30-25 32-28 8-3", 3),
    ],
)
def test_events(event: str, fen: str, line: str, ply: int) -> None:
    for resets in ((event,), ()):
        game = Game(own(resets=resets, both_have_kings=True), fen)
        for number, text in enumerate(line.split(), 1):
            before = count(game, "mine")
            game.push(text)
            assert count(game, "mine") == (0 if resets and number == ply else before + 1), text


@pytest.mark.parametrize(
    ("rules", "corners", "others"),
    [("cbd", (4, 29), (1, 32)), ("spanish", (1, 32), (4, 29)), ("filipino", (1, 32), (4, 29)),
     ("international", (5, 46), (1, 50))],
)  # fmt: skip
def test_the_main_diagonal_joins_the_playable_corners(rules: str, corners: tuple, others: tuple) -> None:
    for square in (*corners, *others):
        three = sorted({*corners, *others} - {square})
        fen = f"B:W{','.join(f'K{other}' for other in three)}:BK{square}"
        game = Game(own(rules, material=("3K-1K",), lone_king_on_main_diagonal=True), fen)
        standing = int(standing_laws(game.rules.tables, *game.positions.boards[0]))
        assert standing == (square in corners), square


def test_another_ending_of_the_same_count_starts_it_again_if_the_law_says_so() -> None:
    for name, after in (("fmjd64", 0), ("cbd", 6)):  # 3K v 1K on the diagonal, then 2K v 1K
        game = Game(name, "W:WK1,K5,K30:BK29")
        for text in ["1-6", "29-4", "6-1", "4-29", "30-25"]:
            game.push(text)
        assert count(game, "ending") == 5
        game.push(next(move for move in game.legal_moves() if move.captures == (25,)))
        assert count(game, "ending") == after


def test_sixteen_moves_remain_valid_when_a_piece_is_taken() -> None:
    game = Game("international", "W:WK1,K2,K47:BK46")
    for text in ["1-6", "46-5", "6-1", "5-46", "47-41"]:
        game.push(text)
    assert (count(game, "sixteen_moves"), count(game, "five_moves")) == (5, 0)
    game.push(next(move for move in game.legal_moves() if move.captures == (41,)))
    assert (count(game, "sixteen_moves"), count(game, "five_moves")) == (6, 0)


def test_a_count_that_pauses_waits_for_the_lone_king() -> None:
    line = ("1-6", 1), ("29-25", 2), ("6-1", 3), ("25-30", 3), ("1-6", 3), ("30-25", 3), ("6-1", 4)
    for name, waits in (("lidraughts", True), ("fmjd64", False)):
        game = Game(name, "W:WK1,K5,K13:BK29")
        counter = "diagonal" if waits else "ending"
        for (text, expected), cleared in zip(line, (1, 2, 3, 0, 0, 0, 1), strict=True):
            game.push(text)
            assert count(game, counter) == (expected if waits else cleared), text


# Conditions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("2K-1K+1M", ((2, 2), (0, 0)), ((1, 1), (1, 1))),
        ("3+K-1K", ((3, 20), (0, 0)), ((1, 1), (0, 0))),
        ("1K+2+M-4M", ((1, 1), (2, 20)), ((0, 0), (4, 4))),
        ("0+K+0+M-1K", ((0, 20), (0, 20)), ((1, 1), (0, 0))),
        ("10K-12M", ((10, 10), (0, 0)), ((0, 0), (12, 12))),
    ],
)
def test_balances(text: str, one: tuple, other: tuple) -> None:
    assert parse_balance(text) == (one, other)


@pytest.mark.parametrize(
    "text",
    ["", "-", "2K", "2K-", "-2K", "2K-1K-1K", "K-K", "2k-1k", "02K-1K", "2K+-1K", "2K1M-1K", "1M+1K-1K", "2K - 1K",
     "²K-1K", "100K-1K", "0K-1K", "0M-1K", "0K+0M-1K", "++K-1K", "2K-1K\n"],
)  # fmt: skip
def test_balances_that_read_otherwise(text: str) -> None:
    with pytest.raises(ValueError, match="does not read like"):
        parse_balance(text)


def test_the_table_of_balances_is_the_conditions_written_out() -> None:
    law = DrawLaw(9, "mine", Termination.ENDING, ("2+K-1K+1M", "3M-1K"), pieces=(4, 5), both_have_kings=True)
    table = law.balances(12)
    for own_men in range(13):
        for own_kings in range(13):
            for other_men in range(6):
                for other_kings in range(6):
                    sides = (own_kings, own_men), (other_kings, other_men)
                    expected = 4 <= own_men + own_kings + other_men + other_kings <= 5 and own_kings and other_kings
                    expected = expected and any(
                        strong[0] >= 2 and strong[1] == 0 and weak == (1, 1) for strong, weak in (sides, sides[::-1])
                    )
                    assert table[own_men, own_kings, other_men, other_kings] == bool(expected)
