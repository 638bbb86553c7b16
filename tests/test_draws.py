"""How games end: each draw law of the CBD one ply before its limit and at it, and the order of endings."""

import dataclasses
import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from agreement import BRAZILIAN, compare_games, ending_setup, random_setup
from damas_env.game import Game
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_env.termination import Outcome, Termination
from reference_draws import is_listed_ending
from reference_rules import State

KINGS_ONLY_PLIES = 40  # art. 97: 20 moves of each side
ENDING_PLIES = 10  # art. 99, 100: 5 moves of each side

DRAWN_BY_ENDING = Outcome(Termination.ENDING, None)
DRAWN_BY_KINGS = Outcome(Termination.NO_PROGRESS, None)

ART_99 = {
    "2K-2K": "W:WK1,K2:BK31,K32",
    "2K-1K": "W:WK1,K2:BK31",
    "2K-1K+1M": "W:WK2,K3:BK29,5",
    "1K-1K": "W:WK2:BK31",
    "1K-1K+1M": "W:WK3:BK30,5",
}
ART_100 = {
    "3K-1K": "W:WK1,K5,K13:BK29",
    "2K+1M-1K": "W:WK1,K5,21:BK29",
    "1K+2M-1K": "W:WK1,21,30:BK29",
}


def twin(fen: str) -> str:
    """The position with colours exchanged and the board turned."""
    return State.from_fen(BRAZILIAN, fen).rotated().fen()


def play(game: Game, line: str) -> None:
    for text in line.split():
        game.push(text)


def quiet_plies(game: Game, plies: int, wanted: Callable[[Game], bool]) -> None:
    """Plays king moves without capture, none of which ends the game, each position as `wanted`; must exist."""
    visits: Counter[str] = Counter()

    def search(left: int) -> bool:
        if left == 0:
            return True
        kings = {square for square, piece in game.board().items() if piece.isupper()}
        for move in sorted(game.legal_moves(), key=lambda move: (visits[f"{move.frm}-{move.to}"], move.code)):
            if move.captures or move.frm not in kings:
                continue
            visits[f"{move.frm}-{move.to}"] += 1
            game.push(move)
            if game.outcome() is None and wanted(game) and search(left - 1):
                return True
            game.pop()
        return False

    assert search(plies), "the walk does not exist: choose another position"


def ending_count(game: Game) -> int:
    return game.counters()["ending"]["plies"]


def kings_only_count(game: Game) -> int:
    return game.counters()["kings_only"]["plies"]


# 20 moves of each side with kings only --------------------------------------------------------------------

# Every piece on the rim, and rim squares to move between: nothing can be captured.
RIM = "W:WK1,K29,21:BK28,K3,20"


@pytest.mark.parametrize("fen", [RIM, twin(RIM)])
def test_kings_only_at_39_and_40_plies(fen: str) -> None:
    game = Game("cbd", fen)

    def man_may_move(reached: Game) -> bool:
        board = reached.board()
        return any(board[move.frm] in "wb" for move in reached.legal_moves())

    quiet_plies(game, KINGS_ONLY_PLIES - 1, man_may_move)
    assert game.outcome() is None
    assert game.counters()["kings_only"] == {"plies": 39, "limit": 40}
    slot = game.rules.counter_names.index("kings_only")
    assert features(game.positions)[0, slot] == np.float32(39 / 40)

    board = game.board()
    drawn = 0
    for move in game.legal_moves():
        game.push(move)
        if board[move.frm] in "wb":
            assert game.outcome() is None and kings_only_count(game) == 0
        elif game.positions.repetitions[0] < 2:
            assert game.outcome() == DRAWN_BY_KINGS and kings_only_count(game) == 40
            drawn += 1
        game.pop()
    assert drawn and kings_only_count(game) == 39


def test_a_capture_restarts_the_kings_only_count() -> None:
    game = Game("cbd", RIM)
    play(game, "1-5 28-32 5-1 32-28 29-4 28-24")
    assert kings_only_count(game) == 6
    game.push("1x28")
    assert kings_only_count(game) == 0


def test_a_blocking_move_on_the_fortieth_ply_wins() -> None:
    line = (
        "28-32 1-15 32-28 15-8 28-32 8-25 32-28 25-21 28-32 21-30 32-28 30-21 28-32 21-7 32-28 7-2 28-32 2-16 "
        "32-28 16-12 28-32 12-8 32-28 8-15 28-32 15-10 32-28 10-3 28-32 3-12 32-28 12-16 28-32 16-11 32-28 "
        "11-18 28-32 18-5 32-28"
    )
    for exchanged in (False, True):
        game = Game("cbd", "B:W19,24,K1:BK28")
        play(game, line)
        if exchanged:
            game = replay_exchanged(game)
        assert kings_only_count(game) == 39 and game.outcome() is None
        blocking = [move for move in game.legal_moves() if {move.frm, move.to} in ({5, 32}, {28, 1})]
        game.push(blocking[0])
        assert kings_only_count(game) == 40
        assert game.outcome() == Outcome(Termination.BLOCKED, "B" if exchanged else "W")
        game.pop()
        other = [move for move in game.legal_moves() if {move.frm, move.to} in ({5, 9}, {28, 24})]
        game.push(other[0])
        assert game.outcome() == DRAWN_BY_KINGS


def replay_exchanged(game: Game) -> Game:
    """The same game with colours exchanged and the board turned."""
    played = [(33 - move.frm, 33 - move.to) for move in game.moves]
    while game.moves:
        game.pop()
    result = Game("cbd", twin(game.fen()))
    for pair in played:
        result.push(next(move for move in result.legal_moves() if (move.frm, move.to) == pair))
    return result


# Endings drawn after 5 moves of each side -----------------------------------------------------------------

LISTED = {**ART_99, **ART_100}


@pytest.mark.parametrize("exchanged", [False, True])
@pytest.mark.parametrize("name", list(LISTED))
def test_listed_endings_at_9_and_10_plies(name: str, exchanged: bool) -> None:
    game = Game("cbd", twin(LISTED[name]) if exchanged else LISTED[name])
    assert is_listed_ending(State.from_fen(BRAZILIAN, game.fen()))
    assert game.counters()["ending"] == {"plies": 0, "limit": 10} and game.outcome() is None
    quiet_plies(game, ENDING_PLIES - 1, lambda reached: ending_count(reached) == reached.ply)
    assert ending_count(game) == 9 and game.outcome() is None
    slot = game.rules.counter_names.index("ending")
    assert features(game.positions)[0, slot] == np.float32(0.9)

    drawn = 0
    for move in game.legal_moves():
        game.push(move)
        outcome = game.outcome()
        if is_listed_ending(State.from_fen(BRAZILIAN, game.fen())):
            assert outcome is not None and ending_count(game) == 10
            assert outcome == DRAWN_BY_ENDING or outcome.termination == Termination.REPETITION
            drawn += outcome == DRAWN_BY_ENDING
        else:
            assert outcome is None or outcome.winner
        game.pop()
    assert drawn


@pytest.mark.parametrize(
    "fen", ["W:WK1,K2,K3:BK31", "W:WK1,K2,21:BK31", "W:WK1,K2,K3:BK31,K32", "W:WK1,21:BK31,12", "W:WK1:B5,6"]
)
def test_other_material_has_no_count(fen: str) -> None:
    for position in (fen, twin(fen)):
        game = Game("cbd", position)
        for move in game.legal_moves():
            game.push(move)
            assert ending_count(game) == 0
            game.pop()


def test_the_ply_that_creates_the_ending_is_not_counted() -> None:
    game = Game("cbd", "W:WK29,K1:B22,5,K12")  # taking one man leaves 2K v 1K+1M
    game.push("29x18")
    assert is_listed_ending(State.from_fen(BRAZILIAN, game.fen()))
    assert ending_count(game) == 0
    game.push("12-16")
    assert ending_count(game) == 1


def test_man_moves_and_crowning_do_not_restart_the_ending_count() -> None:
    game = Game("cbd", "B:WK28,K1:B18,K32")
    play(game, "18-23 1-6 23-27 6-1")
    assert (ending_count(game), kings_only_count(game)) == (4, 1)
    play(game, "27-31")  # crowned: 2K v 1K+1M becomes 2K v 2K
    assert State.from_fen(BRAZILIAN, game.fen()).count("B") == 2
    assert (ending_count(game), kings_only_count(game)) == (5, 0)


def test_a_capture_inside_the_list_does_not_restart_the_ending_count() -> None:
    game = Game("cbd", "B:WK1,K31:B13,K28")  # 2K v 1K+1M, then 2K v 1K
    play(game, "28-32 1-5 32-28 5-1 13-17")
    assert ending_count(game) == 5
    game.push("31x13")
    assert (ending_count(game), kings_only_count(game)) == (6, 0)


def test_leaving_the_main_diagonal_stops_the_count() -> None:
    game = Game("cbd", "W:WK1,K5,K13:BK29")
    play(game, "1-6 29-25 6-1")
    assert ending_count(game) == 3
    play(game, "25-30")  # off the diagonal: nothing is listed
    assert ending_count(game) == 0
    play(game, "1-6 30-25")
    assert ending_count(game) == 0  # this ply makes the ending stand again
    play(game, "6-1")
    assert ending_count(game) == 1


def test_the_count_runs_on_from_article_100_to_article_99() -> None:
    game = Game("cbd", "W:WK1,K5,K30:BK29")  # 3K v 1K, then 2K v 1K
    play(game, "1-6 29-4 6-1 4-29 30-25")
    assert ending_count(game) == 5
    game.push(next(move for move in game.legal_moves() if move.captures == (25,)))
    assert (ending_count(game), kings_only_count(game)) == (6, 0)


def test_a_blocking_move_on_the_tenth_ply_of_an_ending_wins() -> None:
    game = Game("cbd", "B:WK28,K1:B5,K32")
    play(game, "5-9 1-15 9-14 15-6 14-18 6-13 18-23 13-17 23-27")
    assert ending_count(game) == 9 and game.outcome() is None
    game.push("17-31")  # e1: the king on g1 and the man on f2 cannot move
    assert is_listed_ending(State.from_fen(BRAZILIAN, game.fen())) and ending_count(game) == 10
    assert game.outcome() == Outcome(Termination.BLOCKED, "W")
    game.pop()
    game.push("17-21")
    assert game.outcome() == DRAWN_BY_ENDING


def test_taking_the_last_piece_on_the_tenth_ply_wins() -> None:
    game = Game("cbd", "B:WK29:BK28")
    play(game, "28-32 29-4 32-28 4-29 28-32 29-4 32-5 4-29 5-18")
    assert ending_count(game) == 9 and game.outcome() is None
    game.push(game.legal_moves()[0])
    assert game.outcome() == Outcome(Termination.NO_PIECES, "W")


# Repetition -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_set_up_position_counts_as_its_first_occurrence(exchanged: bool) -> None:
    game = Game("cbd", RIM)
    play(game, "1-5 28-32 5-1 32-28 1-5 28-32 5-1")
    if exchanged:
        game = replay_exchanged(game)
    assert game.outcome() is None and game.positions.repetitions[0] == 1
    game.push(next(move for move in game.legal_moves() if {move.frm, move.to} in ({32, 28}, {1, 5})))
    assert game.outcome() == Outcome(Termination.REPETITION, None)
    assert features(game.positions)[0, 4] == 1.0


def test_occurrences_need_not_follow_each_other() -> None:
    game = Game("cbd", RIM)
    play(game, "1-5 28-32 5-1 32-28")
    assert game.positions.repetitions[0] == 1
    play(game, "29-4 3-12 4-29 12-3")
    assert game.outcome() == Outcome(Termination.REPETITION, None)


def test_the_same_position_with_the_other_side_to_move_does_not_count() -> None:
    game = Game("cbd", RIM)
    start = game.board()
    play(game, "29-18 3-12 18-4 12-3 4-29")  # White comes back after three moves, Black after two
    assert game.board() == start and game.color == "B"
    assert game.positions.repetitions[0] == 0
    play(game, "3-7 29-4 7-14 4-29 14-3")  # and now Black after three
    assert game.board() == start and game.color == "W"
    assert game.positions.repetitions[0] == 1


def test_the_turned_position_with_colours_exchanged_does_not_count() -> None:
    """Black comes to see the very board that White saw; it is another position all the same."""
    game = Game("cbd", "W:WK30:BK12")
    seen = game.positions.boards.copy()
    play(game, "30-25 12-3 25-21")
    assert (game.positions.boards == seen).all() and game.color == "B"
    assert game.positions.repetitions[0] == 0


def test_a_man_move_forgets_earlier_positions() -> None:
    game = Game("cbd", RIM)
    play(game, "1-5 28-32 5-1 32-28 21-17")
    assert game.positions.repetitions[0] == 0 and game.positions.history_len[0] == 1


def test_a_capture_forgets_earlier_positions() -> None:
    game = Game("cbd", RIM)
    play(game, "1-5 28-32 5-1 32-28 29-4 28-24")
    assert game.positions.history_len[0] == 7
    game.push("1x28")
    assert game.positions.history_len[0] == 1


# Order of tests, ply cap ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("draws", "termination"), [(False, "PLY_CAP"), (True, "PLY_CAP_DRAW")])
def test_the_ply_cap_is_looked_at_last(draws: bool, termination: str) -> None:
    capped = dataclasses.replace(get_rules("cbd"), name="capped", ply_cap=10, ply_cap_draws=draws)
    game = Game(capped, "B:WK28,K1:B5,K32")
    play(game, "5-9 1-15 9-14 15-6 14-18 6-13 18-23 13-17 23-27")
    for text, outcome in (
        ("17-31", Outcome(Termination.BLOCKED, "W")),
        ("17-21", DRAWN_BY_ENDING),
    ):
        game.push(text)
        assert game.outcome() == outcome
        game.pop()
    game = Game(capped)
    rng = random.Random(0)
    for _ in range(10):
        assert game.outcome() is None
        game.push(rng.choice(game.legal_moves()))
    assert game.outcome() == Outcome(Termination[termination], None)


def test_of_two_counts_that_are_full_at_once_the_first_law_is_named() -> None:
    game = Game("cbd", ART_99["2K-1K"])
    for name, plies in (("kings_only", KINGS_ONLY_PLIES - 1), ("ending", ENDING_PLIES - 1)):
        game.positions.counters[0, game.rules.counter_names.index(name)] = plies
    game.push("1-5")
    assert (kings_only_count(game), ending_count(game)) == (40, 10)
    assert game.outcome() == DRAWN_BY_KINGS


# Whole games in lock-step with the reference --------------------------------------------------------------


def test_whole_games_agree_with_the_reference() -> None:
    """Terminations, winners, counters and repetitions of many games, ply by ply."""
    rng = random.Random(5)
    starts = [ending_setup(rng) for _ in range(900)]
    starts += [random_setup(rng) for _ in range(400)]
    starts += [State.initial(BRAZILIAN) for _ in range(60)]
    report = compare_games("cbd", starts, rng)
    print(f"{len(starts)} games, {report.plies} plies: {dict(report.endings)}")
    assert report.failures == []
    assert all(report.endings[name] >= 20 for name in ("NO_PIECES", "BLOCKED", "REPETITION", "NO_PROGRESS", "ENDING"))


def test_equal_boards_with_unequal_counters_are_told_apart_in_the_observation() -> None:
    game = Game("cbd", "W:WK1,K2:BK31")
    fresh = Positions.from_boards("cbd", game.positions.boards, game.positions.colors)
    play(game, "1-6 31-27 6-1 27-31")
    assert (game.positions.boards == fresh.boards).all()
    assert (features(game.positions) != features(fresh)).any()
