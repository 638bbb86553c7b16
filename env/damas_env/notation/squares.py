"""Squares: numbers from any corner, algebraic names, cells for drawing and neighbours on the diagonals.

A *number* is 1-based and absolute; which corner holds square 1 is a convention (that of the rule set, or the
one named by the GameType tag of a PDN file). A *view square* is 0-based and depends on the side to move (see
``board``).
"""

import re
from functools import cache
from typing import Final

from damas_env.board import GEOMETRY
from damas_env.errors import SquareError, quoted
from damas_env.rules import RuleSet

CORNERS: Final = ("bottom_left", "bottom_right", "top_left", "top_right")
"""Where square 1 can be, seen by White, in the order of the digits of the PDN GameType tag."""

DIRECTIONS: Final = ((-1, -1), (-1, 1), (1, -1), (1, 1))
"""(row, column) steps, rows counted downwards from the top: the first two lead up, away from White."""


class SquareTable:
    """The squares of one board in one numbering.

    Attributes:
        size: rows and columns.
        count: playable squares; numbers run from 1 to ``count``.
        cells: (row from the top, column from the left) of each number as White sees the board; index 0 is
            unused.
        names: algebraic name of each number ("a1" is White's left-hand corner); index 0 is unused.
        numbers: number of each algebraic name.
        views: White's view square of each number; index 0 is unused. Black's is ``count - 1 - view``.
        number_of_view: number of each of White's view squares.
        neighbours: ``neighbours[number][direction]`` is the next number in that of ``DIRECTIONS``, 0 off the
            board.
    """

    def __init__(self, size: int, mirrored: bool, corner: str) -> None:
        geometry = GEOMETRY[size]
        self.size = size
        self.count = geometry.num_squares
        cell_of_view = []
        for view in range(self.count):
            row, column = geometry.coordinates(view)
            cell_of_view.append((size - 1 - row, size - 1 - column if mirrored else column))
        rows, columns = (-1 if "bottom" in corner else 1), (-1 if "right" in corner else 1)
        order = sorted(range(self.count), key=lambda v: (rows * cell_of_view[v][0], columns * cell_of_view[v][1]))
        self.views = (-1, *order)
        self.number_of_view = tuple(self.views.index(view) for view in range(self.count))
        self.cells = ((-1, -1), *(cell_of_view[view] for view in order))
        self.names = ("", *(f"{'abcdefghij'[column]}{size - row}" for row, column in self.cells[1:]))
        self.numbers = {name: number for number, name in enumerate(self.names) if number}
        at = {cell: number for number, cell in enumerate(self.cells) if number}
        self.neighbours = tuple(
            tuple(at.get((row + down, column + right), 0) for down, right in DIRECTIONS) for row, column in self.cells
        )

    def view(self, number: int, color: int) -> int:
        """View square of a number for the side ``color`` (0 = White, 1 = Black)."""
        return self.views[number] if color == 0 else self.count - 1 - self.views[number]

    def number(self, view: int, color: int) -> int:
        """Number of a view square of the side ``color``."""
        return self.number_of_view[view if color == 0 else self.count - 1 - view]

    def parse(self, text: str) -> int:
        """The number of a square written as a number or algebraically.

        Raises:
            SquareError: if the board has no such square.
        """
        if re.fullmatch(r"[0-9]{1,3}", text):
            if 1 <= int(text) <= self.count:
                return int(text)
            raise SquareError(f"square {int(text)} is not on the board: squares run from 1 to {self.count}")
        number = self.numbers.get(text.lower(), 0) if text.isascii() else 0
        if not number:
            raise SquareError(
                f"{quoted(text)} is not a playable square: write a number from 1 to {self.count} "
                f"or a name such as {self.names[1]}"
            )
        return number


@cache
def _square_table(size: int, mirrored: bool, corner: str) -> SquareTable:
    return SquareTable(size, mirrored, corner)


def square_table(rules: RuleSet, corner: str | None = None) -> SquareTable:
    """The squares of a rule set, numbered its own way or from another corner (one of ``CORNERS``)."""
    return _square_table(rules.size, rules.mirrored, corner or rules.square_one)


def square_name(number: int, rules: RuleSet) -> str:
    """Algebraic name of a square: 22 -> "c3".

    Raises:
        SquareError: if the board has no such square.
    """
    table = square_table(rules)
    return table.names[table.parse(str(number))]


def parse_square(text: str, rules: RuleSet) -> int:
    """Number of a square written as a number or algebraically: "c3" or "22" -> 22.

    Raises:
        SquareError: if the board has no such square.
    """
    return square_table(rules).parse(text.strip())
