"""Where the value of a position stands: a number for every placement of few pieces.

The positions of one material balance form a *slice*. Within it the four groups of pieces (own men, own kings, other
men, other kings, in the view of the side to move) are numbered one by one, each as a combination of squares (the
combinatorial number system), as if the others were not there. Men stand nowhere on their crowning row. Placements with
two pieces on one square have numbers too; they are holes.
"""

from math import comb
from typing import NamedTuple

import numpy as np

from damas_env.board import GEOMETRY
from damas_env.kernel import flags_of, kernel, lowest
from damas_env.rules import SIZE_MASK

MOST_PIECES = 6
"""Pieces of both sides together, at most."""

HOLE = 255
"""Value of a number that is no position."""

LONGEST = 252
"""Plies of the longest result that a value has room for."""

_CHOOSE = np.array([[comb(n, k) for k in range(MOST_PIECES + 1)] for n in range(51)], dtype=np.int64)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Slice(NamedTuple):
    """A material balance in the view of the side to move."""

    own_men: int
    own_kings: int
    other_men: int
    other_kings: int

    @property
    def turned(self) -> "Slice":
        """The same pieces with the other side to move."""
        return Slice(self.other_men, self.other_kings, self.own_men, self.own_kings)

    @property
    def pieces(self) -> int:
        """All pieces."""
        return sum(self)

    def size(self, board: int) -> int:
        """Placements, holes included, on a board of that size."""
        squares, half = GEOMETRY[board].num_squares, GEOMETRY[board].half
        men = comb(squares - half, self.own_men) * comb(squares - half, self.other_men)
        return men * comb(squares, self.own_kings) * comb(squares, self.other_kings)


def slices(pieces: int) -> list[Slice]:
    """All balances of 2 to ``pieces`` pieces, each side with one at least, in an order in which they can be solved.

    A capture leads to fewer pieces, a crowning to fewer men.
    """
    found = [
        Slice(own_men, own_kings, other_men, other_kings)
        for own_men in range(pieces)
        for own_kings in range(pieces - own_men)
        for other_men in range(pieces - own_men - own_kings + 1)
        for other_kings in range(pieces - own_men - own_kings - other_men + 1)
        if own_men + own_kings > 0 and other_men + other_kings > 0
    ]
    return sorted(
        found, key=lambda balance: (balance.pieces, balance.own_men + balance.other_men, max(balance, balance.turned))
    )


def new_index(board: int, pieces: int) -> np.void:
    """Where the slices lie in one long array of values, as a record for kernels.

    Fields: ``offsets``, int64[7**4], first number of a slice, -1 where there is none, at
    ``((own_men * 7 + own_kings) * 7 + other_men) * 7 + other_kings``; ``size`` of the array.
    """
    index: np.void = np.zeros(1, dtype=[("offsets", np.int64, (MOST_PIECES + 1) ** 4), ("size", np.int64)])[0]
    index["offsets"] = -1
    for balance in slices(pieces):
        index["offsets"][slot(*balance)] = index["size"]
        index["size"] += balance.size(board)
    return index


def slot(own_men: int, own_kings: int, other_men: int, other_kings: int) -> int:
    """Place of a slice in ``offsets``."""
    return int(slot_of.py_func(own_men, own_kings, other_men, other_kings))


@kernel
def slot_of(own_men, own_kings, other_men, other_kings):
    """Place of a slice in ``offsets`` (int64)."""
    width = MOST_PIECES + 1
    return ((own_men * width + own_kings) * width + other_men) * width + other_kings


@kernel
def _half(spec):
    """Playable squares in a row."""
    return (flags_of(spec) & SIZE_MASK) >> 1


@kernel
def _rank(spec, word, below):
    """(number, pieces) of a group; ``below`` squares at the bottom of the board are out of its reach."""
    half = _half(spec)
    rank, pieces = 0, 0
    while word != _ZERO:
        bit = lowest(word)
        word &= word - _ONE
        pieces += 1
        rank += _CHOOSE[bit - (bit + half) // (2 * half + 1) - below, pieces]
    return rank, pieces


@kernel
def _unrank(spec, rank, pieces, squares, below):
    """The group (uint64) of a number: inverse of :func:`_rank`; ``squares`` are within reach."""
    half = _half(spec)
    word = _ZERO
    square = squares
    while pieces > 0:
        square -= 1
        while _CHOOSE[square, pieces] > rank:
            square -= 1
        rank -= _CHOOSE[square, pieces]
        pieces -= 1
        word |= _ONE << np.uint64(square + below + ((square + below) // half + 1) // 2)
    return word


@kernel
def number(spec, index, own_men, own_kings, other_men, other_kings):
    """Number of a position (int64) in the array of values; -1 if it is in no slice."""
    half = _half(spec)
    squares = 2 * half * half
    rank0, men = _rank(spec, own_men, 0)
    rank1, kings = _rank(spec, own_kings, 0)
    rank2, others = _rank(spec, other_men, half)
    rank3, crowned = _rank(spec, other_kings, 0)
    if men + kings + others + crowned > MOST_PIECES:
        return np.int64(-1)
    offset = index.offsets[slot_of(men, kings, others, crowned)]
    if offset < 0:
        return np.int64(-1)
    rank = rank0 * _CHOOSE[squares, kings] + rank1
    rank = rank * _CHOOSE[squares - half, others] + rank2
    return offset + rank * _CHOOSE[squares, crowned] + rank3


@kernel
def place(spec, rank, men, kings, others, crowned):
    """The boards of the position that is number ``rank`` of a slice; they overlap if it is a hole."""
    half = _half(spec)
    squares = 2 * half * half
    base = _CHOOSE[squares, crowned]
    other_kings = _unrank(spec, rank % base, crowned, squares, 0)
    rank //= base
    base = _CHOOSE[squares - half, others]
    other_men = _unrank(spec, rank % base, others, squares - half, half)
    rank //= base
    base = _CHOOSE[squares, kings]
    own_kings = _unrank(spec, rank % base, kings, squares, 0)
    own_men = _unrank(spec, rank // base, men, squares - half, 0)
    return own_men, own_kings, other_men, other_kings
