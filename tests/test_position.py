"""Batches of games: what may be set up, and what stays untouched when a step is refused."""

import numpy as np
import pytest

from damas_env.board import GEOMETRY
from damas_env.errors import IllegalActionError
from damas_env.position import Positions

BITS = [1 << int(bit) for bit in GEOMETRY[8].bit_of_view]


@pytest.mark.parametrize(
    ("boards", "fault"),
    [
        ([0, sum(BITS[:13]), BITS[20], 0], "more than 12 pieces"),
        ([BITS[20], 0, sum(BITS[:7]), sum(BITS[7:13])], "more than 12 pieces"),
        ([BITS[20], BITS[20], BITS[3], 0], "two pieces on one square"),
        ([1 << 4, 0, BITS[3], 0], "off the board"),
        ([1 << 63, 0, BITS[3], 0], "off the board"),
    ],
)
def test_impossible_boards_are_refused(boards: list[int], fault: str) -> None:
    good = [BITS[31], 0, BITS[0], 0]
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
