"""A hand-made evaluation of quiet positions, as a kernel.

The score is in hundredths of a man, in the view of the side to move, and the same for both colours. All terms are
differences (own minus other) of features that a human player would name; the weights were chosen by hand.
"""

import numpy as np

from damas_env.board import DOWN_LEFT, DOWN_RIGHT, GEOMETRY, UP_LEFT, UP_RIGHT
from damas_env.kernel import flags_of, kernel, popcount
from damas_env.movegen import board_mask, step, turn
from damas_env.rules import FLYING_KINGS, SIZE_MASK

MAN = 100
"""Score of one man."""

_FLYING_KING, _SHORT_KING = 310, 150
_TEMPO = 4
_ROWS, _CENTRE_MAN, _CENTRE_KING = 3, 4, 3
_HOME = 6
_NEAR_CROWNING = 10
_MOBILITY = 2
_TRAPPED = 4
_ZERO = np.uint64(0)


def _squares(size: int, wanted: str) -> np.uint64:
    """The bits of a named set of squares of the side to move."""
    geometry = GEOMETRY[size]
    word = 0
    for view in range(geometry.num_squares):
        row, column = geometry.coordinates(view)
        inside = {
            "home": row == 0,
            "bit 0": bool(row & 1),
            "bit 1": bool(row & 2),
            "bit 2": bool(row & 4),
            "bit 3": bool(row & 8),
            "near crowning": row in (size - 2, size - 3),
            "centre": 2 <= row < size - 2 and 2 <= column < size - 2,
        }
        word |= inside[wanted] << int(geometry.bit_of_view[view])
    return np.uint64(word)


_NAMES = ("bit 0", "bit 1", "bit 2", "bit 3", "home", "near crowning", "centre")
_MASKS_6, _MASKS_8, _MASKS_10 = (
    np.array([_squares(size, name) for name in _NAMES], dtype=np.uint64) for size in (6, 8, 10)
)


@kernel
def _mask(spec, index):
    size = flags_of(spec) & SIZE_MASK
    if size == 8:
        return _MASKS_8[index]
    if size == 10:
        return _MASKS_10[index]
    return _MASKS_6[index]


@kernel
def _side(spec, men, kings, empty):
    """Score (int64) of one side, men moving up; ``empty`` are the free squares."""
    advanced = popcount(men & _mask(spec, 0)) + 2 * popcount(men & _mask(spec, 1))
    advanced += 4 * popcount(men & _mask(spec, 2)) + 8 * popcount(men & _mask(spec, 3))
    king = _FLYING_KING if flags_of(spec) & FLYING_KINGS else _SHORT_KING
    score = MAN * popcount(men) + king * popcount(kings) + _ROWS * advanced
    score += _HOME * popcount(men & _mask(spec, 4)) + _NEAR_CROWNING * popcount(men & _mask(spec, 5))
    score += _CENTRE_MAN * popcount(men & _mask(spec, 6)) + _CENTRE_KING * popcount(kings & _mask(spec, 6))
    score += _MOBILITY * (popcount(step(spec, UP_LEFT, men) & empty) + popcount(step(spec, UP_RIGHT, men) & empty))
    if kings != _ZERO:
        near = step(spec, DOWN_LEFT, empty) | step(spec, DOWN_RIGHT, empty)
        near |= step(spec, UP_LEFT, empty) | step(spec, UP_RIGHT, empty)
        score -= _TRAPPED * popcount(kings & ~near)
    return score


@kernel
def _part(score, divisor):
    """``score / divisor``, rounded towards zero so that both sides see the same."""
    return score // divisor if score >= 0 else -(-score // divisor)


@kernel
def evaluate(spec, diagonal, own_men, own_kings, other_men, other_kings):
    """Score of a position in hundredths of a man, for the side to move (int64).

    Args:
        spec: movement flags.
        diagonal: bits of the main diagonal.
        own_men, own_kings, other_men, other_kings: uint64 boards in the view of the side to move.
    """
    empty = board_mask(spec) & ~(own_men | own_kings | other_men | other_kings)
    score = _side(spec, own_men, own_kings, empty)
    score -= _side(spec, turn(spec, other_men), turn(spec, other_kings), turn(spec, empty))
    # With a king the weaker side often holds: few pieces do not catch a flying king, least of all on the main
    # diagonal.
    if flags_of(spec) & FLYING_KINGS and own_kings != _ZERO and other_kings != _ZERO:
        own, other = popcount(own_men | own_kings), popcount(other_men | other_kings)
        strong, weak, weak_kings = own, other, other_kings
        if own < other:
            strong, weak, weak_kings = other, own, own_kings
        if strong <= 2 or (strong == 3 and weak == 1 and weak_kings & diagonal != _ZERO):
            score = _part(score, 8)
        elif strong - weak <= 1:
            score = _part(score, 2)
    return score + _TEMPO
