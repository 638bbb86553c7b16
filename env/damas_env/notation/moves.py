"""Moves as text: ``22-17``, ``22x13``, ``c3-d4``; the full path ``22x13x6`` where that is ambiguous."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from damas_env.board import GEOMETRY
from damas_env.errors import AmbiguousMoveError, IllegalMoveError, InvalidMoveError, SquareError, quoted
from damas_env.movegen import is_capture, move_captured
from damas_env.notation.fen import format_fen, pieces_of
from damas_env.notation.paths import CapturePaths
from damas_env.notation.squares import SquareTable, square_table
from damas_env.position import Positions
from damas_env.rules import RuleSet

NOTATIONS = ("numeric", "algebraic")

_SQUARE = r"(?:[a-j]?[0-9]{1,3})"
_SHAPE = re.compile(rf"{_SQUARE}(?:-{_SQUARE})+|{_SQUARE}(?:[x:]{_SQUARE})+")
_GLUED = re.compile(r"([a-j][0-9]{1,2})([a-j][0-9]{1,2})")
_SHORT_PAIR = re.compile(r"([a-j])([x:-]?)([a-j][0-9]{1,2})")
_MAX_TEXT = 200


@dataclass(frozen=True, order=True)
class Move:
    """One legal move.

    Attributes:
        frm: number of the square that the piece leaves.
        to: number of the square where it ends; equal to ``frm`` in a circular capture.
        captures: numbers of the captured pieces, ascending; empty for a quiet move.
        promotes: a man ends the move as a king.
        action: its index in ``Discrete(N)``, in the view of the side to move.
        code: its code (see ``movegen.pack``).
    """

    frm: int
    to: int
    captures: tuple[int, ...]
    promotes: bool
    action: int
    code: int


def legal_moves(positions: Positions, index: int = 0) -> list[Move]:
    """The legal moves of one position of a batch, in canonical order; none if its game is over."""
    if positions.terminations[index]:
        return []
    rules, color = positions.rules, int(positions.colors[index])
    table, view_of_bit = square_table(rules), GEOMETRY[rules.size].view_of_bit.tolist()
    count = int(positions.counts[index])
    codes = positions.moves[index, :count]
    moves = []
    for code, action in zip(codes, positions.actions[index, :count].tolist(), strict=True):
        word, captures = int(code), []
        captured = int(move_captured(rules.spec, code)) if is_capture(code) else 0
        while captured:
            low = captured & -captured
            captures.append(table.number(view_of_bit[low.bit_length() - 1], color))
            captured ^= low
        frm, to = (
            table.number(view_of_bit[word >> 58], color),
            table.number(view_of_bit[word >> 52 & 63], color),
        )
        moves.append(Move(frm, to, tuple(sorted(captures)), bool(word & 1), action, word))
    return moves


def format_moves(positions: Positions, index: int = 0, notation: str = "numeric") -> list[str]:
    """The spelling of every legal move of one position of a batch, in the order of :func:`legal_moves`."""
    return spell_moves(legal_moves(positions, index), positions, index, notation)


def spell_moves(legal: Sequence[Move], positions: Positions, index: int = 0, notation: str = "numeric") -> list[str]:
    """The spelling of the legal moves ``legal`` of one position of a batch."""
    shared = Counter((move.frm, move.to) for move in legal)
    table = square_table(positions.rules)
    texts = []
    for move in legal:
        squares: tuple[int, ...] = (move.frm, move.to)
        if shared[move.frm, move.to] > 1:
            pieces = pieces_of(positions.boards[index], int(positions.colors[index]), positions.rules)
            squares = (move.frm, *_paths(move, pieces, positions.rules, table).spelled(), move.to)
        texts.append(_join(squares, bool(move.captures), table, notation))
    return texts


def format_move(move: Move, positions: Positions, notation: str = "numeric", index: int = 0) -> str:
    """The spelling of one legal move: short, or the full path where the short form fits others too.

    Args:
        move: a legal move of the position.
        positions: a batch; the move has not been played yet.
        notation: ``"numeric"`` or ``"algebraic"``.
        index: which game of the batch.
    """
    legal = legal_moves(positions, index)
    alike = [other for other in legal if (other.frm, other.to) == (move.frm, move.to)]
    return spell_moves(alike, positions, index, notation)[alike.index(move)]


def parse_move(text: str, positions: Positions, corner: str | None = None, index: int = 0) -> Move:
    """Reads a move of one position of a batch.

    Squares are numbers or algebraic names; the path may be given in full, in part or not at all as long as it
    fits one legal move only. ``:`` may stand for ``x``; algebraic moves may come without separator (``a3b4``)
    or as the short pairs of opening tables (``ab4``); a capture may be written with ``-``, a quiet move not
    with ``x``.

    Args:
        text: the move.
        positions: a batch.
        corner: corner of square 1 (one of ``squares.CORNERS``) where it is not the rule set's own.
        index: which game of the batch.

    Raises:
        InvalidMoveError: not written like a move of this board.
        IllegalMoveError: no legal move reads like that.
        AmbiguousMoveError: several legal moves do.
    """
    rules = positions.rules
    table = square_table(rules)
    legal = legal_moves(positions, index)
    squares, separator, origin_file = _read(text, rules, corner)
    if origin_file:
        matches = [m for m in legal if m.to == squares[-1] and table.names[m.frm][0] == origin_file]
    else:
        matches = [m for m in legal if (m.frm, m.to) == (squares[0], squares[-1])]
    if separator == "x" or len(squares) > 2:
        matches = [m for m in matches if m.captures]
    if len(squares) > 2 or (len(matches) > 1 and not origin_file):  # then all of them are captures
        pieces = pieces_of(positions.boards[index], int(positions.colors[index]), rules)
        paths = [(move, _paths(move, pieces, rules, table)) for move in matches]
        matches = [move for move, path in paths if path.fits(squares[1:-1], all_turns=True)] or [
            move for move, path in paths if path.fits(squares[1:-1], all_turns=False)
        ]
    if len(matches) == 1:
        return matches[0]
    notation = "algebraic" if re.search("[a-jA-J]", text) else "numeric"
    fen = format_fen(positions.boards[index], int(positions.colors[index]), rules)
    if matches:
        spelled = dict(zip(legal, spell_moves(legal, positions, index, notation), strict=True))
        choices = ", ".join(spelled[move] for move in matches)
        raise AmbiguousMoveError(f"move {quoted(text)} is ambiguous in {fen}: it can be {choices}")
    if not legal:
        raise IllegalMoveError(f"move {quoted(text)} is illegal in {fen}: the game is over")
    compulsory = " (capturing is compulsory)" if legal[0].captures and separator != "x" else ""
    choices = ", ".join(spell_moves(legal, positions, index, notation))
    raise IllegalMoveError(f"move {quoted(text)} is illegal in {fen}{compulsory}; legal: {choices}")


def _read(text: str, rules: RuleSet, corner: str | None) -> tuple[tuple[int, ...], str, str]:
    """(squares in the rule set's numbers, "x", "-" or "", file of the origin) of a move as written.

    The file is "" unless the move is a short pair such as ``ab4``, which gives one square only.
    """
    body = text.strip().lower()
    if len(body) <= _MAX_TEXT and body.isascii():
        if pair := _SHORT_PAIR.fullmatch(body):
            return (_square(text, pair[3], rules, corner),), "x" if pair[2] == ":" else pair[2], pair[1]
        if glued := _GLUED.fullmatch(body):
            return tuple(_square(text, name, rules, corner) for name in glued.groups()), "", ""
        if _SHAPE.fullmatch(body):
            names = re.split("[-x:]", body)
            return (
                tuple(_square(text, name, rules, corner) for name in names),
                "-" if "-" in body else "x",
                "",
            )
    raise InvalidMoveError(f"{quoted(text)} is not a move: write it like 22-17, 22x13 or c3-d4")


def _square(text: str, name: str, rules: RuleSet, corner: str | None) -> int:
    written, own = square_table(rules, corner), square_table(rules)
    try:
        return own.numbers[written.names[written.parse(name)]]
    except SquareError as error:
        raise InvalidMoveError(f"{quoted(text)} is not a move: {error}") from None


def _join(squares: Sequence[int], capture: bool, table: SquareTable, notation: str) -> str:
    names = [table.names[n] for n in squares] if notation == "algebraic" else [str(n) for n in squares]
    return ("x" if capture else "-").join(names)


def _paths(move: Move, pieces: dict[int, str], rules: RuleSet, table: SquareTable) -> CapturePaths:
    return CapturePaths(pieces, move.frm, move.to, move.captures, move.promotes, rules, table)
