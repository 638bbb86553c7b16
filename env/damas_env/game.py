"""One game for people and files: moves as objects or text, undo, outcome, counters, FEN."""

from collections.abc import Mapping
from operator import index as as_index
from typing import Any

import numpy as np

from damas_env.errors import IllegalMoveError, InvalidMoveError, shown
from damas_env.notation import (
    Move,
    PdnGame,
    format_fen,
    format_move,
    legal_moves,
    parse_fen,
    parse_move,
    pieces_of,
    result_of,
)
from damas_env.outcome import standing_laws
from damas_env.position import COLORS, Positions
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Outcome


class Game:
    """A game from a starting position on, with undo.

    Attributes:
        rules: the rule set.
        positions: the current position, a batch of one.
        moves: the moves played so far, oldest first.

    Args:
        rules: name of a rule set, or a rule set.
        fen: where the game starts; None = the initial position.

    Raises:
        ValueError: unknown rule set; ``FenError`` for a bad FEN.
    """

    def __init__(self, rules: str | RuleSet = DEFAULT_RULES, fen: str | None = None) -> None:
        self.rules = get_rules(rules)
        boards, color = parse_fen(fen, self.rules)
        self.positions = Positions.from_boards(self.rules, boards[None], np.array([color], dtype=np.int8))
        self.moves: list[Move] = []
        self._earlier: list[Positions] = []
        self._start = fen

    @property
    def color(self) -> str:
        """Side to move, ``"W"`` or ``"B"``."""
        return COLORS[self.positions.colors[0]]

    @property
    def ply(self) -> int:
        """Plies played."""
        return len(self.moves)

    def legal_moves(self) -> list[Move]:
        """The legal moves in canonical order; none once the game is over."""
        return legal_moves(self.positions)

    def push(self, move: "Move | int | np.integer[Any] | str") -> Move:
        """Plays a move and returns it.

        Args:
            move: one of :meth:`legal_moves`, an action index, or text such as ``"22-17"`` or ``"c3-d4"``.

        Raises:
            InvalidMoveError: the text is not written like a move, or it is nothing that could be a move.
            IllegalMoveError: the move is not legal here, or the game is over.
            AmbiguousMoveError: the text fits several legal moves.
        """
        if isinstance(move, str):
            chosen = parse_move(move, self.positions)
        elif isinstance(move, Move):
            chosen = self._legal(lambda legal: legal == move, str(move))
        else:
            try:
                action = as_index(move)
            except TypeError:
                raise InvalidMoveError(
                    f"{shown(move)} is not a move: give a Move, an action index or text like 22-17"
                ) from None
            chosen = self._legal(lambda legal: legal.action == action, f"action {action}")
        before = self.positions.copy()
        self.positions.step(np.array([chosen.action]))
        self._earlier.append(before)
        self.moves.append(chosen)
        return chosen

    def _legal(self, wanted: Any, described: str) -> Move:
        legal = self.legal_moves()
        for move in legal:
            if wanted(move):
                return move
        choices = ", ".join(f"{format_move(move, self.positions)} (action {move.action})" for move in legal)
        reason = f"legal: {choices}" if legal else "the game is over"
        raise IllegalMoveError(f"{described} is illegal in {self.fen()}: {reason}")

    def pop(self) -> Move:
        """Takes the last move back and returns it.

        Raises:
            IndexError: no move has been played.
        """
        if not self.moves:
            raise IndexError("no move to take back")
        self.positions = self._earlier.pop()
        return self.moves.pop()

    def outcome(self) -> Outcome | None:
        """How the game has ended, None while it goes on."""
        return self.positions.outcome()

    def counters(self) -> dict[str, dict[str, int]]:
        """The counters of the draw laws by name: ``{"plies": so far, "limit": plies that draw the game}``.

        The limit is that of the laws that stand in this position, or the smallest of the counter if none
        does.
        """
        counts = self.positions.counters[0].tolist()
        standing = int(standing_laws(self.rules.tables, *self.positions.boards[0]))
        result = {}
        for slot, name in enumerate(self.rules.counter_names):
            laws = {i: law.plies for i, law in enumerate(self.rules.draw_laws) if law.counter == name}
            in_force = [plies for i, plies in laws.items() if standing >> i & 1]
            result[name] = {"plies": counts[slot], "limit": min(in_force or laws.values())}
        return result

    def repetitions(self) -> dict[str, int]:
        """Occurrences of the position: ``{"count": so far, "limit": those that draw, 0 = never}``."""
        return {"count": int(self.positions.repetitions[0]) + 1, "limit": self.rules.repetition}

    def fen(self, notation: str = "numeric") -> str:
        """The current position, see :func:`~damas_env.notation.format_fen`."""
        return format_fen(self.positions.boards[0], int(self.positions.colors[0]), self.rules, notation)

    def board(self) -> dict[int, str]:
        """The pieces by square number: ``"w"``, ``"b"`` men, ``"W"``, ``"B"`` kings."""
        return pieces_of(self.positions.boards[0], int(self.positions.colors[0]), self.rules)

    def san(self, move: Move, notation: str = "numeric") -> str:
        """The spelling of a legal move of the current position."""
        return format_move(move, self.positions, notation)

    def pdn(self, tags: Mapping[str, str]) -> PdnGame:
        """The game so far with a header, for :func:`~damas_env.notation.write_pdn`."""
        outcome = self.outcome()
        return PdnGame(
            self.rules,
            list(self.moves),
            dict(tags),
            result_of(outcome, self.rules),
            self._start,
            final_fen=self.fen(),
            outcome=outcome,
        )
