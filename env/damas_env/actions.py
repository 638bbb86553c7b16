"""Moves <-> action indices (see docs/actions.md for the encoding, its guarantees and their proof).

With S squares, the first legal move of each (from, to) in canonical order has index ``from * S + to`` (view squares);
further moves that share their (from, to) have ``S * S + k``, k counting them in canonical order.
"""

import numpy as np

from damas_env.board import VIEW_6, VIEW_8, VIEW_10
from damas_env.kernel import flags_of, kernel
from damas_env.movegen import move_from, move_to
from damas_env.rules import SIZE_MASK

_PAIR_SHIFT = np.uint64(52)


@kernel
def view_square(spec, bit):
    """View square of a bit index (int64)."""
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return VIEW_8[bit]
    if size == 10:
        return VIEW_10[bit]
    return VIEW_6[bit]


@kernel
def encode(spec, count, work):
    """Writes the action index of each of the ``count`` legal moves in ``work.moves`` into ``work.actions``."""
    size = flags_of(spec) & SIZE_MASK
    squares = size * (size >> 1)
    spare = squares * squares
    for index in range(count):
        code = work.moves[index]
        if index > 0 and work.moves[index - 1] >> _PAIR_SHIFT == code >> _PAIR_SHIFT:
            work.actions[index] = spare
            spare += 1
        else:
            work.actions[index] = view_square(spec, move_from(code)) * squares + view_square(spec, move_to(code))


@kernel
def find(actions, count, action):
    """Position of ``action`` in the list of legal actions, -1 if it is not there."""
    for index in range(count):
        if actions[index] == action:
            return index
    return -1
