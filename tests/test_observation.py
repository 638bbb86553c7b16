"""Observations against golden boards that were written by hand, and their symmetry between the colours."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from damas_env import notation
from damas_env.observation import features, opposite_view, planes
from damas_env.position import Positions
from damas_env.rules import get_rules

GOLDEN = json.loads((Path(__file__).parent / "data" / "observations.json").read_text())["cases"]
CBD = get_rules("cbd")


def play(fen: str, moves: str, rules=CBD) -> Positions:
    """Plays unambiguous moves such as "22-18"; the action is from * 32 + to in the mover's view."""
    boards, color = notation.parse_fen(fen, rules)
    positions = Positions.from_boards(rules, boards[None], np.array([color], dtype=np.int8))
    for move in moves.split():
        squares = [int(number) for number in move.split("-")]
        frm, to = (32 - n if positions.colors[0] else n - 1 for n in squares)
        positions.step(np.array([frm * 32 + to]))
    return positions


def random_positions(games: int, plies: int, seed: int) -> Positions:
    positions, rng = Positions.initial(CBD, games), np.random.default_rng(seed)
    for _ in range(plies):
        positions.step(positions.sample_legal(rng), where=positions.terminations == 0)
    return positions


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden(case):
    rules = replace(get_rules(case["rules"]), ply_cap=case.get("ply_cap", 0))
    positions = play(case["fen"], case["moves"], rules)
    board = np.array([list(line) for line in case["view"]])
    expected_features = np.array([case["features"]], dtype=np.float32)

    observed = planes(positions)
    assert observed.dtype == np.float32 and observed.shape == (1, 10, 8, 8)
    for plane, letter in enumerate("oOxX"):
        np.testing.assert_array_equal(observed[0, plane], board == letter, err_msg=f"plane of {letter!r}")
    assert features(positions).dtype == np.float32
    np.testing.assert_array_equal(features(positions), expected_features)
    for plane in range(6):
        np.testing.assert_array_equal(observed[0, 4 + plane], np.full((8, 8), expected_features[0, plane]))


def test_planes_agree_with_fen_in_random_games():
    positions = random_positions(games=64, plies=60, seed=1)
    observed = planes(positions)
    both_colors = set()
    for game in range(len(positions)):
        color = int(positions.colors[game])
        both_colors.add(color)
        board = np.full((8, 8), ".")
        for number, piece in notation.pieces_of(positions.boards[game], color, CBD).items():
            row, column = (number - 1) // 4, (number - 1) % 4 * 2 + 1 - (number - 1) // 4 % 2
            board[row, column] = piece
        if color:
            board = board[::-1, ::-1]
        for plane, piece in enumerate("bBwW" if color else "wWbB"):
            np.testing.assert_array_equal(observed[game, plane], board == piece)
    assert both_colors == {0, 1}


def test_opposite_view_is_the_view_of_the_other_side():
    positions = random_positions(games=64, plies=50, seed=2)
    turned = []
    for game in range(len(positions)):
        color = int(positions.colors[game])
        pieces = notation.pieces_of(positions.boards[game], color, CBD)
        turned.append(notation.boards_of(pieces, 1 - color, CBD))
    other = Positions.from_boards(CBD, np.array(turned), 1 - positions.colors)
    observed = planes(positions)
    np.testing.assert_array_equal(opposite_view(observed)[:, :4], planes(other)[:, :4])
    np.testing.assert_array_equal(opposite_view(observed)[:, 4:], observed[:, 4:])
    np.testing.assert_array_equal(opposite_view(opposite_view(observed)), observed)


def test_features_stay_in_range_and_counters_are_seen():
    rules = replace(CBD, ply_cap=200)
    boards, color = notation.parse_fen("W:WK21,K22,K23:BK12,K11,K10", rules)
    positions = Positions.from_boards(rules, np.repeat(boards[None], 64, 0), np.full(64, color, np.int8))
    rng = np.random.default_rng(3)
    highest = np.zeros(6)
    for _ in range(80):
        positions.step(positions.sample_legal(rng), where=positions.terminations == 0)
        seen = features(positions)
        assert seen.min() >= 0 and seen.max() <= 1
        highest = np.maximum(highest, seen.max(axis=0))
        np.testing.assert_allclose(seen[:, 5], positions.plies / 200, rtol=1e-6)
    assert highest[0] > 0.2 and highest[1] > 0.2, "both CBD counters run in an ending of kings"
    assert highest[2] == highest[3] == 0, "unused counters stay 0"


@pytest.mark.parametrize(("repetition", "seen"), [(5, [0, 0.25, 0.5, 0.75]), (2, [0, 1]), (0, [0, 0.5, 1, 1, 1])])
def test_repetitions_are_measured_against_those_that_draw(repetition: int, seen: list[float]):
    """Without a law of repetition as if the third occurrence drew, and never beyond 1."""
    rules = replace(CBD, name="mine", draw_laws=(), repetition=repetition)
    for rounds, expected in enumerate(seen):
        positions = play("W:WK21:BK12", "21-25 12-16 25-21 16-12 " * rounds, rules)
        assert features(positions)[0, 4] == expected


def test_out_arrays_are_filled():
    positions = play("initial", "22-18")
    image, scalars = np.full((1, 10, 8, 8), 9, np.float32), np.full((1, 6), 9, np.float32)
    assert planes(positions, out=image) is image and features(positions, out=scalars) is scalars
    np.testing.assert_array_equal(image, planes(positions))
    np.testing.assert_array_equal(scalars, features(positions))
