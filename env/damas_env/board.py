"""Geometry: the padded bitboard layout, view squares, diagonals and the numbering of squares.

Bits of one board row are consecutive; a ghost bit after every second row keeps one diagonal step at a constant
distance: +4 / +5 bits on 8x8 and +5 / +6 bits on 10x10 (up-left / up-right for the side to move). Steps that leave
the board land on ghost bits or beyond the last row and are removed by one AND. With ``L`` bits in use, turning the
board by 180 degrees maps bit ``b`` to ``L - 1 - b``.
"""

from typing import NamedTuple

import numpy as np

UP_LEFT, UP_RIGHT, DOWN_LEFT, DOWN_RIGHT = 0, 1, 2, 3


class Geometry(NamedTuple):
    """Lookup tables of one board size, for Python code; kernels use the module constants below.

    Attributes:
        size: rows (and columns) of the board.
        half: playable squares in a row.
        num_squares: playable squares.
        bit_of_view: int64[num_squares], bit of each view square.
        view_of_bit: int64[64], view square of each bit, -1 where there is none.
        board: all playable bits.
        length: bits in use, ghosts included.
    """

    size: int
    half: int
    num_squares: int
    bit_of_view: np.ndarray
    view_of_bit: np.ndarray
    board: int
    length: int

    def coordinates(self, view: int) -> tuple[int, int]:
        """(row from the bottom, column from the left) of a view square; the bottom left square is playable."""
        row = self.size - 1 - view // self.half
        return row, 2 * (view % self.half) + row % 2


def _geometry(size: int) -> Geometry:
    half = size // 2
    row_start = [(2 * half + 1) * (row // 2) + (half + 1) * (row % 2) for row in range(size)]
    views = size * half
    bit_of_view = np.array([row_start[size - 1 - v // half] + v % half for v in range(views)], dtype=np.int64)
    view_of_bit = np.full(64, -1, dtype=np.int64)
    view_of_bit[bit_of_view] = np.arange(views)
    board = int(sum(1 << int(bit) for bit in bit_of_view))
    return Geometry(size, half, views, bit_of_view, view_of_bit, board, int(bit_of_view.max()) + 1)


GEOMETRY = {size: _geometry(size) for size in (6, 8, 10)}


def _rays(geometry: Geometry) -> np.ndarray:
    """uint64[4, 64]: for each direction and bit, all bits beyond it up to the edge of the board."""
    rays = np.zeros((4, 64), dtype=np.uint64)
    step = {UP_LEFT: geometry.half, UP_RIGHT: geometry.half + 1}
    step[DOWN_RIGHT], step[DOWN_LEFT] = -step[UP_LEFT], -step[UP_RIGHT]
    for direction, distance in step.items():
        for start in geometry.bit_of_view:
            bit, ray = int(start) + distance, 0
            while bit >= 0 and geometry.board >> bit & 1:
                ray |= 1 << bit
                bit += distance
            rays[direction, start] = ray
    return rays


RAYS_6, RAYS_8, RAYS_10 = (_rays(GEOMETRY[size]) for size in (6, 8, 10))
VIEW_6, VIEW_8, VIEW_10 = (GEOMETRY[size].view_of_bit for size in (6, 8, 10))


def main_diagonal(size: int) -> int:
    """Bits of the long diagonal from the bottom left to the top right corner (a1-h8); the same in both views."""
    geometry = GEOMETRY[size]
    return int(
        sum(
            1 << int(geometry.bit_of_view[v])
            for v in range(geometry.num_squares)
            if geometry.coordinates(v)[0] == geometry.coordinates(v)[1]
        )
    )
