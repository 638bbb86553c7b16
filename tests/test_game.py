"""Game: moves in and out, undo, outcome, counters, boards."""

import json
from pathlib import Path

import numpy as np
import pytest

from damas_env.errors import AmbiguousMoveError, FenError, IllegalMoveError, InvalidMoveError
from damas_env.game import Game
from damas_env.termination import Outcome, Termination

CASES = json.loads((Path(__file__).parent / "data" / "positions.json").read_text())["positions"]


def test_the_start() -> None:
    game = Game()
    assert (game.rules.name, game.color, game.ply, game.moves, game.outcome()) == ("cbd", "W", 0, [], None)
    assert len(game.legal_moves()) == 7 and len(game.positions) == 1
    assert game.board() == {**dict.fromkeys(range(1, 13), "b"), **dict.fromkeys(range(21, 33), "w")}
    assert game.counters() == {"kings_only": {"plies": 0, "limit": 40}, "ending": {"plies": 0, "limit": 10}}
    assert game.repetitions() == {"count": 1, "limit": 3}


def test_bad_starts() -> None:
    with pytest.raises(ValueError, match="Unknown rule set 'chess'"):
        Game("chess")
    with pytest.raises(FenError):
        Game(fen="W:W33:B1")


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_published_positions(case: dict) -> None:
    game = Game(fen=case["fen"])
    legal = game.legal_moves()
    assert game.color == case["side"] and game.fen() == case["fen"]
    assert sorted([move.frm, move.to, list(move.captures)] for move in legal) == sorted(case["legal"])
    crowned = {(frm, to, tuple(caught)): king for (frm, to, caught), king in zip(
        case["legal"], case["crowned_after"], strict=True)}  # fmt: skip
    assert len({move.action for move in legal}) == len(legal)
    for move in legal:
        was = game.board()[move.frm]
        game.push(move)
        board = game.board()
        assert board[move.to].isupper() == crowned[move.frm, move.to, move.captures] == (was.isupper() or move.promotes)
        assert not set(move.captures) & set(board)
        game.pop()
        assert game.fen() == case["fen"] and game.legal_moves() == legal


def test_moves_as_text_action_and_object_are_the_same() -> None:
    move = Game().legal_moves()[1]
    results = set()
    for given in ("22-17", "c3-b4", move, move.action, np.int64(move.action), np.int16(move.action)):
        game = Game()
        assert game.push(given) == move
        assert game.moves == [move] and game.ply == 1 and game.color == "B"
        results.add(game.fen())
    assert results == {"B:W17,21,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"}


def test_refused_moves_change_nothing() -> None:
    game = Game(fen="W:WK21:B8,11,17,19")
    other = Game().legal_moves()[0]
    for given, error in (
        ("nonsense", InvalidMoveError),
        ("21-17", IllegalMoveError),
        ("21x30", AmbiguousMoveError),
        (0, IllegalMoveError),
        (-1, IllegalMoveError),
        (10**9, IllegalMoveError),
        (other, IllegalMoveError),
    ):
        with pytest.raises(error):
            game.push(given)
        assert game.ply == 0 and game.fen() == "W:WK21:B8,11,17,19"
    with pytest.raises(IllegalMoveError, match=r"action 0 is illegal .*21x7x16x30 \(action 669\)"):
        game.push(0)
    for nothing in (1.5, None, [688], np.array([1, 2])):
        with pytest.raises(InvalidMoveError, match="is not a move: give a Move, an action index or text"):
            game.push(nothing)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="no move to take back"):
        game.pop()


def test_undo_restores_everything() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        game = Game()
        states = []
        while game.outcome() is None:
            states.append((game.fen(), game.legal_moves(), game.counters(), game.repetitions(), game.ply, game.color))
            legal = game.legal_moves()
            game.push(legal[rng.integers(len(legal))])
        assert game.legal_moves() == []
        played = list(game.moves)
        for state, move in zip(reversed(states), reversed(played), strict=True):
            assert game.pop() == move
            now = (game.fen(), game.legal_moves(), game.counters(), game.repetitions(), game.ply, game.color)
            assert now == state and game.outcome() is None


def test_lost_games() -> None:
    game = Game(fen="W:W22:B18")
    game.push("22x15")
    assert game.outcome() == Outcome(Termination.NO_PIECES, "W") and game.color == "B"
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.push("18-23")
    with pytest.raises(IllegalMoveError, match="the game is over"):
        game.push(0)
    assert Game(fen="W:W29:B22,25").outcome() == Outcome(Termination.BLOCKED, "B")
    assert Game(fen="B:W22,25:BK29").outcome() == Outcome(Termination.BLOCKED, "W")
    assert Game(fen="W:W:B1").outcome() == Outcome(Termination.NO_PIECES, "B")


def test_a_set_up_without_pieces_of_the_other_side_is_won_with_any_move() -> None:
    """No game gets there: the last capture ends it. The law asks what the side to move can do, and it can move."""
    for fen, winner in (("W:WK3,30:B", "W"), ("B:W:BK3,12", "B")):
        game = Game(fen=fen)
        legal = game.legal_moves()
        assert game.outcome() is None and len(legal) > 2
        for move in legal:
            game.push(move)
            assert game.outcome() == Outcome(Termination.NO_PIECES, winner)
            game.pop()
    # Who cannot move has lost, even if nobody else is there.
    assert Game(fen="W:WK1,K2,K3,K4,5,6,7,8:B").outcome() == Outcome(Termination.BLOCKED, "B")


@pytest.mark.parametrize("fen", [3, b"W:W1:B2", ["W:W22:B1"], 1.5])
def test_a_fen_of_another_type_is_refused(fen: object) -> None:
    with pytest.raises(FenError, match="a FEN is a text, not "):
        Game(fen=fen)  # type: ignore[arg-type]


def test_repetition_counts_the_start() -> None:
    game = Game(fen="W:W21,K32:B12,K1")
    for ply, text in enumerate(2 * ["g1-f2", "b8-c7", "f2-g1", "c7-b8"]):
        assert game.outcome() is None
        game.push(text)
        assert game.repetitions()["count"] == 1 + (ply + 1) // 4
    assert game.outcome() == Outcome(Termination.REPETITION, None)
    game.pop()
    assert game.outcome() is None and game.repetitions()["count"] == 2


def test_counters_name_plies_and_limit() -> None:
    game = Game(fen="W:WK32:BK1")
    route = ["g1-f2", "b8-c7", "f2-g3"]
    game.push(route[0])
    game.push(route[1])
    assert game.counters() == {"kings_only": {"plies": 2, "limit": 40}, "ending": {"plies": 2, "limit": 10}}
    game.pop()
    assert game.counters()["ending"]["plies"] == 1


def test_spelling() -> None:
    game = Game(fen="W:WK21:B8,11,17,19")
    move = game.push("a3xf8xh6xc1")
    game.pop()
    assert game.san(move) == "21x3x12x30" and game.san(move, "algebraic") == "a3xf8xh6xc1"
    assert game.fen("algebraic") == "W:WKa3:Bg7,f6,b4,f4"
