"""Pictures of what a network thinks: which positions, and that the likelier move has the stronger line."""

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import legal_moves, square_table
from damas_env.position import Positions
from damas_env.render import rgb_array
from damas_env.rules import get_rules
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.pictures import policy_picture, sample_positions, thoughts

CELL = 24


@pytest.mark.parametrize("name", ["cbd", "international"])
def test_the_sampled_positions_are_the_same_each_time_and_offer_a_choice(name):
    rules = get_rules(name)
    first, second = sample_positions(rules), sample_positions(rules)
    assert len(first) == 4 and next(iter(first)) == "after 0 plies"
    for key, positions in first.items():
        assert len(positions) == 1 and positions.counts[0] > 1 and positions.terminations[0] == 0
        assert int(positions.plies[0]) == int(key.split()[1])
        assert (positions.boards == second[key].boards).all()
    assert (first["after 0 plies"].boards == Positions.initial(rules, 1).boards).all()


def middle(move, positions):
    """Pixels around the middle of a move's way."""
    start, end = (np.array(square_table(positions.rules).cells[number]) for number in (move.frm, move.to))
    row, column = ((start + end) / 2 + 1.0) * CELL
    return slice(int(row) - 4, int(row) + 4), slice(int(column) - 4, int(column) + 4)


def test_likely_moves_are_drawn_strongly_and_unlikely_ones_not_at_all():
    positions = Game("cbd").positions
    legal, plain = legal_moves(positions), rgb_array(positions, cell=CELL).astype(int)
    chances = np.zeros(len(legal))
    chances[0], chances[-1], chances[2] = 0.8, 0.19, 0.01
    change = abs(policy_picture(positions, legal, chances, CELL).astype(int) - plain)
    strong, weak, none = (change[middle(legal[index], positions)].sum() for index in (0, -1, 2))
    assert strong > 2 * weak > 0 and none == 0
    outside = change.copy()
    for move in (legal[0], legal[-1]):
        rows, columns = middle(move, positions)
        outside[max(0, rows.start - CELL) : rows.stop + CELL, max(0, columns.start - CELL) : columns.stop + CELL] = 0
    assert outside.sum() == 0


def test_black_s_moves_are_drawn_where_black_moves():
    game = Game("cbd")
    game.push("22-17")
    legal = legal_moves(game.positions)
    assert all(move.frm <= 12 for move in legal)
    change = abs(
        policy_picture(game.positions, legal, np.full(len(legal), 1 / len(legal)), CELL).astype(int)
        - rgb_array(game.positions, cell=CELL)
    )
    assert change[: 5 * CELL].sum() > 0 and change[5 * CELL + CELL // 2 :].sum() == 0


def test_thoughts_are_those_of_the_network_over_the_legal_moves():
    rules = get_rules("cbd")
    config = NetworkConfig(width=16, blocks=1, local=4, pair=4, value_width=8)
    made = thoughts(rules, Evaluator(build_network(config, rules), "cpu", "float32"))
    assert [thought.name for thought in made] == list(sample_positions(rules))
    for thought in made:
        assert thought.image.dtype == np.uint8 and thought.image.shape == (270, 270, 3)
        assert "value " in thought.text and "%" in thought.text
    assert made[0].text.startswith("`W:W21,22")
