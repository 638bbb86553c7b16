"""The core agrees with `pydraughts`, a public library that shares nothing with this project.

Only moves are compared: its draw rules for "brazilian" are those of Russian draughts.
"""

from itertools import islice

import pytest

from agreement import BRAZILIAN, Decoder, mixed_positions, to_positions

library = pytest.importorskip("draughts.core.game")

POSITIONS = 2000


def test_legal_moves() -> None:
    states = [state for state, _ in islice(mixed_positions(3, 2 * POSITIONS), POSITIONS)]
    positions = to_positions(states)
    decoder = Decoder(BRAZILIAN)
    for index, state in enumerate(states):
        paths, captured = library.Game("brazilian", state.fen()).legal_moves()
        theirs = {
            (path[0][0], path[-1][1], tuple(sorted(filter(None, taken))))
            for path, taken in zip(paths, captured, strict=True)
        }
        ours = [move[:3] for move in decoder.legal(positions, index)]
        assert len(ours) == len(set(ours)) and set(ours) == theirs, state.fen()
