"""Analyses of positions and games as tables for people."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from damas_env.notation import PdnGame, one_line
from damas_rl.play.lines import signed

if TYPE_CHECKING:  # it loads kernels
    from damas_rl.analysis import GameView, PositionView

SIDES = {"W": "White", "B": "Black"}

_LINE = 8
"""Moves of a line that a table shows."""


def position_lines(color: str, view: "PositionView", said: Callable[[str], str] = str) -> list[RenderableType]:
    """A position in which ``color`` has to move: its value, the expected line, and a table of its moves.

    Args:
        color: ``"W"`` or ``"B"``.
        view: the position.
        said: gives texts in the language of the person.
    """
    lines: list[RenderableType] = [
        said(f"{SIDES[color]} to move: {signed(view.value)}, {view.nodes:,} positions looked at"),
        " ".join(view.line),
    ]
    if view.table:
        lines.append(said(f"endgame table, draw laws left out: {view.table}"))
    tree, tables = view.moves[0].visits is not None, any(move.table for move in view.moves)
    columns: list[Column | str] = [said("move"), Column(said("value"), justify="right")]
    columns += [Column(said(name), justify="right") for name in ("prior", "visits") if tree]
    table = Table(*columns, *([said("endgame table")] if tables else []), said("line"))
    for move in view.moves:
        row = [move.pdn, signed(move.value) if move.visits != 0 else ""]  # tree search guesses what it has not visited
        row += [f"{move.prior:.1%}", f"{move.visits:,}"] if tree else []
        row += [said(str(move.table or ""))] if tables else []
        table.add_row(*row, " ".join(move.line[1:_LINE]))
    return [*lines, table]


def game_lines(view: "GameView", number: int = 1, said: Callable[[str], str] = str) -> list[RenderableType]:
    """A game as a table, its bad moves told in words; ``said``: see :func:`position_lines`."""
    title = f"{number}. {_players(view.game)}  {view.game.result}"
    columns: list[Column | str] = [Column(said("ply"), justify="right")]
    columns += [said(name) for name in ("move", "before", "after", "remark")]
    table = Table(*columns, title=escape(one_line(title)))
    for ply in view.plies:
        thrown = said(f"{SIDES[ply.color]} throws the {ply.lost} away")
        better = said(f"better {' '.join(ply.best[:5])}")
        remark = f"[red]{thrown}[/red]; {better}" if ply.lost else ""
        table.add_row(str(ply.ply), ply.pdn, signed(ply.before), signed(ply.after), remark)
    count = sum(ply.lost is not None for ply in view.plies)
    results = {0: "no result", 1: "one result"}.get(count, f"{count} results")
    plies = "1 ply" if len(view.plies) == 1 else f"{len(view.plies)} plies"
    return [table, said(f"{plies}, {results} thrown away")]


def _players(game: PdnGame) -> str:
    return f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
