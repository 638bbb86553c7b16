"""The squares that a capture visits: the full spelling of a capture, and whether a spelling fits a capture.

A move is (from, to, captured set) however its pieces are taken; PDN spells it by one path: the square of
every turn, or the square right behind a captured piece where the path goes straight on, and nothing after the
last captured piece. Captures are compared in Python here, since only ambiguous ones need their path.
"""

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from damas_env.notation.squares import DIRECTIONS, SquareTable
from damas_env.rules import RuleSet


class _State(NamedTuple):
    """In the middle of a capture: where the piece stands, what is left to take, how it came, is it a king."""

    square: int
    remaining: frozenset[int]
    direction: int
    king: bool


class _Jump(NamedTuple):
    """One jump: direction, piece taken, empty squares crossed before it, landing squares behind it."""

    direction: int
    victim: int
    before: tuple[int, ...]
    landings: tuple[int, ...]


class CapturePaths:
    """All ways to make one capture.

    Args:
        pieces: the position, ``{number: piece}`` (see ``fen.pieces_of``).
        origin, target: square numbers where the capture begins and ends.
        captures: square numbers of the captured pieces.
        promotes: the moving man ends as a king.
        rules: rule set.
        table: its squares.
    """

    def __init__(
        self,
        pieces: dict[int, str],
        origin: int,
        target: int,
        captures: tuple[int, ...],
        promotes: bool,
        rules: RuleSet,
        table: SquareTable,
    ) -> None:
        piece = pieces[origin]
        self._occupied = frozenset(pieces) - {origin}
        self._captures = frozenset(captures)
        self._target = target
        self._rules = rules
        self._table = table
        self._white = piece in "wW"
        self._ends_as_king = promotes or piece in "WB"
        self._start = _State(origin, self._captures, -1, piece in "WB")

    def spelled(self) -> tuple[int, ...]:
        """The squares between origin and target in the full spelling: one for each capture but the last.

        Where several paths make the same capture, the smallest in ascending order of numbers is taken.
        """

        @cache
        def best(state: _State) -> tuple[int, ...] | None:
            if not state.remaining:
                return () if self._finished(state) else None
            found: tuple[int, ...] | None = None
            for jump in self._jumps(state):
                last = len(state.remaining) == 1
                for landing in (self._target,) if last else jump.landings:
                    rest = best(self._after(state, jump, landing)) if landing in jump.landings else None
                    if rest is None:
                        continue
                    path = rest if last else (landing, *rest)
                    if found is None or path < found:
                        found = path
            return found

        path = best(self._start)
        assert path is not None, "a legal capture has a path"
        return path

    def fits(self, squares: tuple[int, ...], all_turns: bool) -> bool:
        """True if some path crosses these squares, in this order, between origin and target.

        Args:
            squares: numbers of intermediate squares; the path may cross others too.
            all_turns: every square where the path turns must be among them. That leaves one path at most, and so
                one move.
        """

        @cache
        def found(state: _State, named: int) -> bool:
            if not state.remaining:
                return named == len(squares) and self._finished(state)
            turn_is_named = named > 0 and squares[named - 1] == state.square
            for jump in self._jumps(state, any_landing=True):
                if all_turns and jump.direction != state.direction and state.direction >= 0 and not turn_is_named:
                    continue
                crossed = named
                for square in (*jump.before, *jump.landings):
                    if crossed < len(squares) and squares[crossed] == square:
                        crossed += 1
                    if square in jump.landings and found(self._after(state, jump, square), crossed):
                        return True
            return False

        return found(self._start, 0)

    def _finished(self, state: _State) -> bool:
        crowned = state.king or self._on_crowning_row(state.square)
        return state.square == self._target and crowned == self._ends_as_king

    def _on_crowning_row(self, square: int) -> bool:
        return self._table.cells[square][0] == (0 if self._white else self._table.size - 1)

    def _after(self, state: _State, jump: _Jump, landing: int) -> _State:
        king = state.king or (self._rules.promotion == "continue" and self._on_crowning_row(landing))
        return _State(landing, state.remaining - {jump.victim}, jump.direction, king)

    def _jumps(self, state: _State, any_landing: bool = False) -> Iterator[_Jump]:
        """The jumps over pieces that remain to be taken.

        A piece that goes straight on is counted once, from the square right behind the piece that it took
        last: unless ``any_landing``, its other landing squares are for turns only.
        """
        rules, neighbours = self._rules, self._table.neighbours
        flying = state.king and rules.flying_kings
        lifted = frozenset() if rules.remove_at_end else self._captures - state.remaining
        blockers = self._occupied - lifted
        for direction, (down, _) in enumerate(DIRECTIONS):
            if not state.king and not rules.men_capture_backward and (down < 0) != self._white:
                continue
            if direction == state.direction and not any_landing:
                behind = neighbours[state.square][3 - direction]
                if behind not in self._captures:
                    continue
            before = []
            square = neighbours[state.square][direction]
            while flying and square and square not in blockers:
                before.append(square)
                square = neighbours[square][direction]
            if square not in state.remaining:
                continue
            landings = []
            landing = neighbours[square][direction]
            while landing and landing not in blockers:
                landings.append(landing)
                if not flying or rules.king_lands_adjacent:
                    break
                landing = neighbours[landing][direction]
            if landings:
                yield _Jump(direction, square, tuple(before), tuple(landings))
