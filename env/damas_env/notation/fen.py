"""FEN: positions as text, ``W:W21,K31:B1,K12``: side to move, White's and Black's squares, ``K`` = king."""

import re

import numpy as np

from damas_env.board import GEOMETRY
from damas_env.errors import FenError, SquareError, quoted, shown
from damas_env.notation.squares import SquareTable, square_table
from damas_env.rules import RuleSet

_MAX_TEXT = 1000
_COLORS = "WB"
_SIDES = ("White", "Black")
_CLOCK = re.compile(r"[HF][0-9]{1,6}")
_RANGE = re.compile(r"([0-9]{1,3})-([0-9]{1,3})")


def parse_fen(text: str | None, rules: RuleSet, corner: str | None = None) -> tuple[np.ndarray, int]:
    """Reads a position.

    Numbers, ranges (``W31-50``) and algebraic squares may be mixed; the clock fields of lidraughts
    (``:H0:F1``) and a trailing dot are dropped; a side may be empty (``W:WK3:B``), not both. Where that side is not to
    move the game is not over yet: no game can get there, since the last capture ends it, and whoever has pieces wins
    with any move.

    Args:
        text: the FEN; None or ``"initial"`` is the starting position.
        rules: rule set.
        corner: corner of square 1 (one of ``squares.CORNERS``) where it is not the rule set's own.

    Returns:
        (boards, color): uint64[4] own men, own kings, other men, other kings in the view of the side to move,
        and the side to move, 0 = White, 1 = Black.

    Raises:
        FenError: one sentence that says what is wrong.
    """
    if not (text is None or isinstance(text, str)):
        raise FenError(f"a FEN is a text, not {shown(text)}")
    if text is None or text.strip() == "initial":
        return rules.initial_boards.copy(), rules.first_color
    if len(text) > _MAX_TEXT:
        raise FenError(f"FEN of {len(text)} characters: no position needs more than {_MAX_TEXT}")
    body = text.strip().removesuffix(".").rstrip()
    if not body:
        raise FenError('empty FEN: write a position such as "W:W21,22,K31:B1,K12", or "initial" for the start')
    turn, *fields = body.split(":")
    if turn not in ("W", "B"):
        raise FenError(f"FEN {quoted(text)} must begin with the side to move, 'W:' or 'B:', not {quoted(turn)}")
    table = square_table(rules, corner)
    pieces: dict[int, str] = {}
    seen = ""
    for field in map(str.strip, fields):
        if len(seen) == 2 and _CLOCK.fullmatch(field):
            continue
        letter = field[:1]
        if letter not in ("W", "B"):
            raise FenError(f"FEN {quoted(text)}: {quoted(field)} does not begin with 'W' or 'B', the side it lists")
        side = _COLORS.index(letter)
        if letter in seen:
            raise FenError(f"FEN {quoted(text)} lists {_SIDES[side]}'s pieces twice: write each side once")
        seen += letter
        _place(text, field[1:], side, table, rules, pieces)
    for side, letter in enumerate(_COLORS):
        if letter not in seen:
            raise FenError(
                f"FEN {quoted(text)} does not list {_SIDES[side]}'s pieces: write ':{letter}' if it has none"
            )
    if not pieces:
        raise FenError(f"FEN {quoted(text)} has no piece at all")
    color = _COLORS.index(turn)
    return boards_of(pieces, color, rules, corner), color


def _place(text: str, listed: str, side: int, table: SquareTable, rules: RuleSet, pieces: dict[int, str]) -> None:
    """Adds the pieces of one side, ``listed`` as in ``21,K31,a1``, to ``pieces``."""
    count = 0
    for item in map(str.strip, listed.split(",")) if listed.strip() else ():
        king = item.startswith("K")
        for number in _squares(text, item.removeprefix("K"), table):
            if number in pieces:
                raise FenError(f"FEN {quoted(text)} puts two pieces on square {number} ({table.names[number]})")
            row = table.cells[number][0]
            if not king and row == (table.size - 1 if side else 0):
                raise FenError(
                    f"FEN {quoted(text)} has a {_SIDES[side]} man on its crowning row, square {number} "
                    f"({table.names[number]}): write K{number} for a king"
                )
            pieces[number] = ("bB" if side else "wW")[king]
            count += 1
    if count > rules.men:
        raise FenError(f"FEN {quoted(text)} gives {_SIDES[side]} {count} pieces: a side has at most {rules.men}")


def _squares(text: str, item: str, table: SquareTable) -> range:
    """The squares that one item of a FEN names: a single square or a range."""
    try:
        if span := _RANGE.fullmatch(item):
            first, last = table.parse(span[1]), table.parse(span[2])
            if first > last:
                raise FenError(f"FEN {quoted(text)}: range {item} runs backwards")
            return range(first, last + 1)
        number = table.parse(item)
    except SquareError as error:
        raise FenError(f"FEN {quoted(text)}: {error}") from None
    return range(number, number + 1)


def boards_of(pieces: dict[int, str], color: int, rules: RuleSet, corner: str | None = None) -> np.ndarray:
    """Bitboards of a position given as ``{number: piece}``.

    Args:
        pieces: ``"w"``, ``"b"`` men and ``"W"``, ``"B"`` kings by square number.
        color: side to move, 0 = White, 1 = Black.
        rules: rule set.
        corner: corner of square 1, as in :func:`parse_fen`.

    Returns:
        uint64[4], in the view of ``color``.
    """
    table, bit_of_view = square_table(rules, corner), GEOMETRY[rules.size].bit_of_view
    order = "bBwW" if color else "wWbB"
    words = [0, 0, 0, 0]
    for number, piece in pieces.items():
        words[order.index(piece)] |= 1 << int(bit_of_view[table.view(number, color)])
    return np.array(words, dtype=np.uint64)


def pieces_of(boards: np.ndarray, color: int, rules: RuleSet) -> dict[int, str]:
    """The position as ``{number: piece}``, sorted by number; the inverse of :func:`boards_of`.

    Args:
        boards: uint64[4], in the view of ``color``.
        color: side to move, 0 = White, 1 = Black.
        rules: rule set, whose numbering is used.
    """
    table, view_of_bit = square_table(rules), GEOMETRY[rules.size].view_of_bit
    pieces = {}
    for word, piece in zip(boards.tolist(), "bBwW" if color else "wWbB", strict=True):
        while word:
            low = word & -word
            pieces[table.number(int(view_of_bit[low.bit_length() - 1]), color)] = piece
            word ^= low
    return dict(sorted(pieces.items()))


def format_fen(boards: np.ndarray, color: int, rules: RuleSet, notation: str = "numeric") -> str:
    """Writes a position, canonically: White first, squares in ascending order of their numbers.

    Args:
        boards: uint64[4], in the view of ``color``.
        color: side to move, 0 = White, 1 = Black.
        rules: rule set.
        notation: ``"numeric"`` (the rule set's numbers) or ``"algebraic"``.
    """
    table = square_table(rules)
    sides: tuple[list[str], list[str]] = ([], [])
    for number, piece in pieces_of(boards, color, rules).items():
        name = table.names[number] if notation == "algebraic" else str(number)
        sides[piece in "bB"].append(("K" if piece.isupper() else "") + name)
    return f"{_COLORS[color]}:W{','.join(sides[0])}:B{','.join(sides[1])}"
