"""Batches of games: what may be set up, and what stays untouched when a step is refused."""

from dataclasses import replace

import numpy as np
import pytest

from damas_env.board import GEOMETRY
from damas_env.errors import IllegalActionError
from damas_env.game import Game
from damas_env.notation import parse_fen
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Outcome, Termination

BITS = [1 << int(bit) for bit in GEOMETRY[8].bit_of_view]


@pytest.mark.parametrize(
    ("boards", "fault"),
    [
        ([0, sum(BITS[:13]), BITS[20], 0], "more than 12 pieces"),
        ([BITS[20], 0, sum(BITS[:7]), sum(BITS[7:13])], "more than 12 pieces"),
        ([BITS[20], BITS[20], BITS[3], 0], "two pieces on one square"),
        ([1 << 4, 0, BITS[3], 0], "off the board"),
        ([1 << 63, 0, BITS[3], 0], "off the board"),
        ([BITS[1], 0, BITS[9], 0], "a man on its crowning row"),
        ([BITS[20], 0, BITS[30], 0], "a man on its crowning row"),
        ([0, 0, 0, 0], "no piece at all"),
    ],
)
def test_impossible_boards_are_refused(boards: list[int], fault: str) -> None:
    good = [BITS[28], 0, BITS[4], 0]
    with pytest.raises(ValueError, match=f"Position 1 of the batch has .*{fault}"):
        Positions.from_boards("cbd", np.array([good, boards], dtype=np.uint64), np.zeros(2, np.int8))


def test_a_refused_step_changes_nothing() -> None:
    positions = Positions.initial("cbd", 3)
    before = positions.copy()
    actions = positions.actions[:, 0].astype(np.int64)
    actions[2] = 0
    with pytest.raises(IllegalActionError, match="Action 0 is not legal in game 2"):
        positions.step(actions)
    for name in Positions.ARRAYS:
        assert np.array_equal(getattr(positions, name), getattr(before, name)), name


@pytest.mark.parametrize(
    ("boards", "colors"),
    [
        (np.ones((1, 1), np.uint64), [0]),
        (np.ones(4, np.uint64), [0]),
        (np.array([[1.5, 0, 2.0, 0]]), [0]),
        (np.array([[BITS[28], 0, BITS[4], 0]], np.uint64), [5]),
        (np.array([[BITS[28], 0, BITS[4], 0]], np.uint64), [0.7]),
        (np.array([[BITS[28], 0, BITS[4], 0]], np.uint64), [0, 1]),
    ],
)
def test_set_ups_of_another_shape_are_refused(boards: np.ndarray, colors: list[float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Positions.from_boards("cbd", boards, np.array(colors))


def test_buffers_and_masks_of_another_shape_are_refused() -> None:
    positions = Positions.initial("cbd", 2)
    actions = positions.actions[:, 0]
    for where in (np.array([0]), np.array([0, 1]), np.array([0.5, 0.5]), [True, False], np.ones(3, np.bool_)):
        with pytest.raises(ValueError, match="bool"):
            positions.reset(where)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="bool"):
            positions.step(actions, where)  # type: ignore[arg-type]
    for out in (np.zeros((1, 3), np.bool_), np.zeros((2, positions.rules.num_actions), np.float32)):
        with pytest.raises(ValueError, match="out must be"):
            positions.masks(out)
    with pytest.raises(ValueError, match="out must be"):
        features(positions, np.zeros((1, 6), np.float32))


def test_outcomes_of_a_batch() -> None:
    fens = ("B:W22,25:BK29", "initial", "W:W29:B22,25", "W:W:B1")
    boards, colors = zip(*(parse_fen(fen, get_rules("cbd")) for fen in fens), strict=True)
    positions = Positions.from_boards("cbd", np.array(boards), np.array(colors))
    assert [positions.outcome(game) for game in range(4)] == [
        Outcome(Termination.BLOCKED, "W"), None, Outcome(Termination.BLOCKED, "B"), Outcome(Termination.NO_PIECES, "B")
    ]  # fmt: skip
    drawn = Positions.initial(replace(get_rules("cbd"), name="short", ply_cap=1), 2)
    drawn.step(drawn.actions[:, 0], np.array([False, True]))
    assert [drawn.outcome(game) for game in range(2)] == [None, Outcome(Termination.PLY_CAP, None)]


def test_a_full_history_forgets_the_oldest_position(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kings go to and fro, four plies a round: six positions remembered show one earlier occurrence, never two."""
    monkeypatch.setattr(RuleSet, "history_length", 6)
    game = Game(replace(get_rules("cbd"), name="lawless", draw_laws=(), repetition=0), "W:WK21:BK12")
    keys, seen = [int(game.positions.history[0, 0])], []
    for move in 3 * ["21-25", "12-16", "25-21", "16-12"]:
        game.push(move)
        length = int(game.positions.history_len[0])
        keys.append(int(game.positions.history[0, length - 1]))
        assert game.positions.history[0, :length].tolist() == keys[-6:]
        seen.append(int(game.positions.repetitions[0]))
    assert seen == [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]


def test_rewards_are_those_of_the_side_to_move() -> None:
    for fen, rewards, winner in (("W:W22:B18", -1, 0), ("B:W22:B18", -1, 1), ("W:W22,26:B18,1", 0, -1)):
        game = Game("cbd", fen)
        game.push(game.legal_moves()[0])
        assert (game.positions.rewards()[0], game.positions.winners()[0]) == (rewards, winner)


def test_a_reset_game_is_a_fresh_one() -> None:
    game = Game("cbd", "W:WK21:BK12")
    for move in ["21-25", "12-16", "25-21", "16-12", "21-25"]:
        game.push(move)
    positions, fresh = game.positions.take(np.zeros(2, np.int64)), Positions.initial("cbd")
    before = positions.copy()
    assert positions.counters[1].any() and positions.repetitions[1] and positions.history_len[1] == 6
    positions.reset(np.array([False, True]))
    for name in Positions.ARRAYS:
        mine, other, wanted = getattr(positions, name), getattr(before, name), getattr(fresh, name)
        used = {"history": 1, "moves": 7, "actions": 7}.get(name)
        assert np.array_equal(mine[0], other[0]), name
        assert np.array_equal(mine[1, :used] if used else mine[1], wanted[0, :used] if used else wanted[0]), name
