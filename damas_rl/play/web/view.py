"""A table as JSON for the page: board, moves, legal moves with their paths, counters, clock."""

from typing import Any

import numpy as np

from damas_env.game import Game
from damas_env.notation import Move, legal_moves, pieces_of, spell_moves
from damas_env.notation.paths import CapturePaths
from damas_env.notation.squares import square_table
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.play.table import Table


def board_view(rules: RuleSet) -> dict[str, Any]:
    """The squares of a board: number, name and cell (row from the top, column from the left) of each."""
    table = square_table(rules)
    return {
        "size": rules.size,
        "squares": [
            {"number": number, "name": table.names[number], "row": row, "column": column}
            for number, (row, column) in enumerate(table.cells)
            if number
        ],
    }


def moves_view(legal: list[Move], positions: Positions) -> list[dict[str, Any]]:
    """Legal moves of a position, a batch of one: squares, spelling, and the path that the piece takes."""
    numeric, algebraic = (spell_moves(legal, positions, notation=name) for name in ("numeric", "algebraic"))
    pieces = pieces_of(positions.boards[0], int(positions.colors[0]), positions.rules)
    return [
        {
            "action": move.action,
            "from": move.frm,
            "to": move.to,
            "captures": list(move.captures),
            "promotes": move.promotes,
            "path": _path(move, pieces, positions.rules),
            "numeric": number,
            "algebraic": name,
        }
        for move, number, name in zip(legal, numeric, algebraic, strict=True)
    ]


def move_view(move: Move, positions: Positions) -> dict[str, Any]:
    """One legal move of a position, as :func:`moves_view` has it."""
    alike = [other for other in legal_moves(positions) if (other.frm, other.to) == (move.frm, move.to)]
    return moves_view(alike, positions)[alike.index(move)]


def _path(move: Move, pieces: dict[int, str], rules: RuleSet) -> list[int]:
    """The squares where the piece stands one after the other, from the first to the last."""
    if len(move.captures) < 2:
        return [move.frm, move.to]
    table = square_table(rules)
    paths = CapturePaths(pieces, move.frm, move.to, move.captures, move.promotes, rules, table)
    return [move.frm, *paths.spelled(), move.to]


class History:
    """The moves of a table's game as the page shows them; each is spelled once.

    Attributes:
        positions: where each move was played, and the current position last.
    """

    def __init__(self, table: Table) -> None:
        self.positions = [Game(table.game.rules, table.fen).positions]
        self._moves: list[tuple[Move, dict[str, Any]]] = []

    def view(self, game: Game) -> list[dict[str, Any]]:
        """The moves of the game, as :func:`moves_view` has them."""
        known = [move for move, _ in self._moves]
        shared = next((i for i, pair in enumerate(zip(known, game.moves, strict=False)) if pair[0] != pair[1]), None)
        shared = min(len(known), game.ply) if shared is None else shared
        del self._moves[shared:], self.positions[shared + 1 :]
        for move in game.moves[shared:]:
            before = self.positions[-1]
            self._moves.append((move, move_view(move, before)))
            after = before.copy()
            after.step(np.array([move.action]))
            self.positions.append(after)
        return [view for _, view in self._moves]


def state_view(table: Table, history: History, now: float) -> dict[str, Any]:
    """What everybody at a table may know; see docs/web.md."""
    game, outcome = table.game, table.outcome()
    moves, start = history.view(game), history.positions[0]
    legal = [] if outcome else game.legal_moves()
    repeated = game.repetitions()
    return {
        "rules": game.rules.name,
        "agreement": game.rules.draw_by_agreement,
        "majority": game.rules.majority,
        "board": board_view(game.rules),
        "seats": table.seats,
        "remote": table.remote,
        "ply": game.ply,
        "color": game.color,
        "first": "WB"[int(start.colors[0])],
        "start": pieces_of(start.boards[0], int(start.colors[0]), game.rules),
        "pieces": game.board(),
        "fen": game.fen(),
        "begin": table.fen,
        "moves": moves,
        "legal": moves_view(legal, game.positions),
        "outcome": outcome.as_dict() if outcome else None,
        "laws": [{"name": name, **count} for name, count in game.counters().items() if count["plies"]],
        "repetition": repeated if repeated["count"] > 1 else None,
        "offer": table.offer,
        "paused": table.paused,
        "thinking": table.thinker is not None,
        "clock": table.clock.view(now) if table.clock else None,
    }
