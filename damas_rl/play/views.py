"""Analyses of positions and games as tables for people."""

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


def position_lines(color: str, view: "PositionView") -> list[RenderableType]:
    """A position in which ``color`` has to move: its value, the expected line, and a table of its moves."""
    lines: list[RenderableType] = [
        f"{SIDES[color]} to move: {signed(view.value)}, {view.nodes:,} positions looked at",
        " ".join(view.line),
    ]
    if view.table:
        lines.append(f"endgame table, draw laws left out: {view.table}")
    tree, tables = view.moves[0].visits is not None, any(move.table for move in view.moves)
    columns: list[Column | str] = ["move", Column("value", justify="right")]
    columns += [Column(name, justify="right") for name in ("prior", "visits") if tree]
    table = Table(*columns, *(["endgame table"] if tables else []), "line")
    for move in view.moves:
        row = [move.pdn, signed(move.value) if move.visits != 0 else ""]  # tree search guesses what it has not visited
        row += [f"{move.prior:.1%}", f"{move.visits:,}"] if tree else []
        row += [str(move.table or "")] if tables else []
        table.add_row(*row, " ".join(move.line[1:_LINE]))
    return [*lines, table]


def game_lines(view: "GameView", number: int = 1) -> list[RenderableType]:
    """A game as a table, its bad moves told in words."""
    title = f"{number}. {_players(view.game)}  {view.game.result}"
    table = Table(Column("ply", justify="right"), "move", "before", "after", "remark", title=escape(one_line(title)))
    for ply in view.plies:
        thrown = f"[red]{SIDES[ply.color]} throws the {ply.lost} away[/red]; better {' '.join(ply.best[:5])}"
        table.add_row(str(ply.ply), ply.pdn, signed(ply.before), signed(ply.after), thrown if ply.lost else "")
    count = sum(ply.lost is not None for ply in view.plies)
    results = {0: "no result", 1: "one result"}.get(count, f"{count} results")
    plies = "1 ply" if len(view.plies) == 1 else f"{len(view.plies)} plies"
    return [table, f"{plies}, {results} thrown away"]


def _players(game: PdnGame) -> str:
    return f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
