"""A learned evaluation of quiet positions on 8x8, as a kernel: tables over men, and a small network.

The board is cut into eight *blocks* of two rows and two columns of squares, each of which holds one of 81 patterns of
men. The score is in hundredths of a man for the side to move, and a sum of three parts:

* ``KING`` for each king;
* for each pair of neighbouring blocks, what their two patterns together are worth, with many and with few pieces on
  the board; in between, the two numbers are mixed;
* a network of two hidden layers, whose units are kept within [0, 1]. What the first one adds up is looked up as well:
  a row of weights for the pattern of each block, and one for each king.

Boards are seen by the side to move, so both colours are judged alike.
"""

import numpy as np

from damas_env.kernel import flags_of, kernel, lowest, popcount
from damas_env.rules import SIZE_MASK
from damas_rl.search.evaluation import evaluate
from damas_rl.search.vectors import LANES, clip, dot, load, plus, store, times

BLOCKS, PATTERNS = 8, 81
"""Block ``2 * band + half``: rows ``2 * band`` and the next one from the bottom, left or right half."""

BLOCK_BITS = [[9 * band + 2 * half + bit for bit in (0, 1, 5, 6)] for band in range(4) for half in range(2)]
"""Bits of the squares of each block, in the order of the digits (of base 3) of its patterns."""

PAIRS = (
    *((0, 1), (2, 3), (4, 5), (6, 7)),
    *((0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7)),
    *((0, 3), (1, 2), (2, 5), (3, 4), (4, 7), (5, 6)),
)
"""The pairs of neighbouring blocks: side by side, one above the other, diagonally."""

HIDDEN, INNER = 2 * LANES, LANES
"""Units of the two hidden layers."""

KING = 300
FINENESS = 16
"""Table entries are in so many parts of a hundredth of a man."""

FEW, MANY = 4, 24
"""Pieces on the board, from both ends of the scale of the tables."""

SCALE = 100
"""Score at which the network says that the odds are e : 1."""

MOST = 1_800
"""Largest score, below that of an ending which an endgame table knows as won."""

_BITS = 36
WEIGHTS = np.dtype(
    [
        ("learned", np.int64),
        ("pairs", np.int16, (len(PAIRS), PATTERNS * PATTERNS, 2)),
        ("bias", np.float32, HIDDEN),
        ("blocks", np.float32, (BLOCKS, PATTERNS, HIDDEN)),
        ("kings", np.float32, (2, _BITS, HIDDEN)),
        ("inner_bias", np.float32, INNER),
        ("inner", np.float32, (HIDDEN, INNER)),
        ("output_bias", np.float32),
        ("output", np.float32, INNER),
    ],
    align=True,
)
"""Layout of the weights. ``learned`` is 0 where the hand-made evaluation is wanted, and nothing else is used then.

``pairs`` is by pair, the two patterns, and few or many pieces; ``kings`` by owner (the side to move first) and bit;
``inner`` by hidden and inner unit.
"""

HAND_MADE = np.zeros(1, dtype=WEIGHTS)[0]


def _patterns() -> np.ndarray:
    """int64[512], for the nine bits of a band: the pattern of own men in its left block, and 65536 times the right."""
    left, right = (np.array(bits)[:, None] for bits in BLOCK_BITS[:2])
    words, powers = np.arange(512), 3 ** np.arange(4)
    return powers @ (words >> left & 1) + (powers @ (words >> right & 1) << 16)


_PATTERNS = _patterns()
_BAND = np.uint64(511)
_HALF = (1 << 16) - 1
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@kernel
def _band(own_men, other_men, first):
    """Patterns of the two blocks of the band that begins at a bit: left one, right one."""
    shift = np.uint64(first)
    both = _PATTERNS[(own_men >> shift) & _BAND] + 2 * _PATTERNS[(other_men >> shift) & _BAND]
    return both & _HALF, both >> 16


@kernel
def _patterns_of(own_men, other_men):
    """The patterns (int64 below 81) of the eight blocks."""
    a, b = _band(own_men, other_men, 0)
    c, d = _band(own_men, other_men, 9)
    e, f = _band(own_men, other_men, 18)
    g, h = _band(own_men, other_men, 27)
    return a, b, c, d, e, f, g, h


@kernel
def _network(weights, work, patterns, own_kings, other_kings):
    """What the network adds to the score, over ``SCALE`` (float32)."""
    low, high = load(weights.bias, 0), load(weights.bias, LANES)
    row = 0
    for pattern in patterns:
        start = (row + pattern) * HIDDEN
        low, high = plus(low, load(weights.blocks, start)), plus(high, load(weights.blocks, start + LANES))
        row += PATTERNS
    row = 0
    for kings in (own_kings, other_kings):
        while kings != _ZERO:
            start = (row + lowest(kings)) * HIDDEN
            low, high = plus(low, load(weights.kings, start)), plus(high, load(weights.kings, start + LANES))
            kings &= kings - _ONE
        row += _BITS
    store(work.hidden, 0, clip(low))
    store(work.hidden, LANES, clip(high))
    # Two sums, since each addition waits for the one before.
    one, two = load(weights.inner_bias, 0), times(low, np.float32(0))
    for unit in range(0, HIDDEN, 2):
        one = plus(one, times(load(weights.inner, unit * INNER), work.hidden[unit]))
        two = plus(two, times(load(weights.inner, (unit + 1) * INNER), work.hidden[unit + 1]))
    return weights.output_bias + dot(clip(plus(one, two)), load(weights.output, 0))


@kernel
def evaluate_learned(weights, work, own_men, own_kings, other_men, other_kings):
    """Score of a position in hundredths of a man, for the side to move (int64).

    Args:
        weights: a ``WEIGHTS`` record.
        work: a record with a field ``hidden``, float32[HIDDEN], that is written over.
        own_men, own_kings, other_men, other_kings: uint64 boards in the view of the side to move.
    """
    patterns = _patterns_of(own_men, other_men)
    a, b, c, d, e, f, g, h = patterns
    pairs, few, many, number = weights.pairs, 0, 0, np.uint64(0)
    # The pairs of PAIRS, in that order.
    for one, other in (
        (a, b), (c, d), (e, f), (g, h), (a, c), (b, d), (c, e), (d, f), (e, g), (f, h),
        (a, d), (b, c), (c, f), (d, e), (e, h), (f, g),
    ):  # fmt: skip
        entry = np.uint64(PATTERNS * one + other)
        few += pairs[number, entry, 0]
        many += pairs[number, entry, 1]
        number += _ONE
    pieces = min(max(popcount(own_men | own_kings | other_men | other_kings), FEW), MANY)
    tables = np.float32(few * (MANY - pieces) + many * (pieces - FEW)) / np.float32(FINENESS * (MANY - FEW))
    score = np.float32(SCALE) * _network(weights, work, patterns, own_kings, other_kings) + tables
    score += np.float32(KING * (popcount(own_kings) - popcount(other_kings)))
    return np.int64(min(max(score, np.float32(-MOST)), np.float32(MOST)))


@kernel
def evaluate_with(spec, weights, work, diagonal, own_men, own_kings, other_men, other_kings):
    """Score of a position with the evaluation that ``weights`` ask for, see :func:`evaluate_learned`."""
    if flags_of(spec) & SIZE_MASK == 8 and weights.learned:
        return evaluate_learned(weights, work, own_men, own_kings, other_men, other_kings)
    return evaluate(spec, diagonal, own_men, own_kings, other_men, other_kings)
