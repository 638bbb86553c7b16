"""``damas analyse``: what a player thinks of a position, or of the moves of games."""

import argparse
import re
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from damas_env.game import Game
from damas_env.notation import PdnGame, decode, one_line, read_pdn, write_pdn
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_notation,
    count,
    outcome_text,
    output_path,
    print_json,
    progress_bar,
    read_bytes,
    show,
    stop_on_interrupt,
)
from damas_rl.files import atomic_write

if TYPE_CHECKING:  # it loads kernels
    from damas_rl.analysis import GameView, PositionView
    from damas_rl.players import Player

_DEFAULT_MS = 500
_LINE = 8
"""Moves of a line that the table shows."""


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    analyse = subparsers.add_parser(
        "analyse",
        help="look into a position, or review games",
        description="For a position: the value of each move, the line that is expected, and what an endgame table "
        "says. For a PDN file: the value before and after each move, and the moves that threw a win or a draw away. "
        "Values are from -1 to 1, for the side that moves. Ctrl-C ends a review and keeps what is done.",
    )
    analyse.add_argument("what", metavar="FILE|FEN", help="PDN file (- = standard input), a FEN, or initial")
    analyse.add_argument(
        "--player", metavar="SPEC",
        help=f"who thinks, as in damas match (default: the strongest that ships, {_DEFAULT_MS} ms a position)",
    )  # fmt: skip
    analyse.add_argument(
        "--rules", metavar="R",
        help=f"rule set or YAML file (default: {DEFAULT_RULES} for a FEN, what its GameType says for a game)",
    )  # fmt: skip
    analyse.add_argument("--pdn", metavar="OUT", help="write the games with the values as comments")
    analyse.add_argument("--seed", type=count, default=0, metavar="S", help="of all random choices (default: 0)")
    add_notation(analyse, None)
    add_json(analyse)
    analyse.set_defaults(run=_analyse)


def _analyse(arguments: argparse.Namespace) -> None:
    if re.match(r"\s*([WB]:|initial\s*$)", arguments.what):
        if arguments.pdn is not None:
            raise CommandError("--pdn belongs to a file of games, not to a FEN")
        _position(arguments)
    else:
        _games(arguments)


def _player(arguments: argparse.Namespace, rules: RuleSet) -> "Player":
    from damas_rl.players import make_player, strong_spec

    return make_player(arguments.player or strong_spec(rules, _DEFAULT_MS), rules, arguments.seed)


def _position(arguments: argparse.Namespace) -> None:
    from damas_rl.analysis import look_at

    game = Game(arguments.rules or DEFAULT_RULES, arguments.what)
    if outcome := game.outcome():
        raise CommandError(f"there is nothing to analyse: {outcome_text(outcome)}")
    player = _player(arguments, game.rules)
    view = look_at(game.positions, player, arguments.notation or game.rules.notation)
    if arguments.json:
        head = {"fen": game.fen(), "rules": game.rules.name, "player": player.name, "to_move": game.color}
        print_json({**head, **asdict(view)})
        return
    _show_position(game, view)


def _show_position(game: Game, view: "PositionView") -> None:
    from rich.table import Column, Table

    from damas_rl.play.lines import signed

    side = "White" if game.color == "W" else "Black"
    lines = [f"{side} to move: {signed(view.value)}, {view.nodes:,} positions looked at", " ".join(view.line)]
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
    show(*lines, table)


def _games(arguments: argparse.Namespace) -> None:
    from damas_rl.analysis import review

    output = output_path("--pdn", arguments.pdn) if arguments.pdn is not None else None
    rules = get_rules(arguments.rules) if arguments.rules is not None else None
    games = read_pdn(decode(read_bytes(arguments.what)), rules)
    if not games:
        raise CommandError(f"{arguments.what!r} holds no PDN game (a FEN begins with W: or B:)")
    # All of them before the first game, so that none is refused when hours of work are done.
    players = {name: _player(arguments, rules) for name, rules in {g.rules.name: g.rules for g in games}.items()}
    views: list[GameView] = []
    total = sum(len(game.moves) for game in games)
    with stop_on_interrupt() as stop, progress_bar(arguments.json, "plies") as progress:
        for game in games:
            if stop():
                break
            player = players[game.rules.name]
            done = sum(len(view.plies) for view in views)

            def report(plies: int, before: int = done) -> None:
                if progress:
                    progress(before + plies, total)

            views.append(review(game, player, arguments.notation, report, stop))
            game.tags["Annotator"] = f"damas analyse, {player.name}"
    if output:
        atomic_write(output, [write_pdn(games, arguments.notation).encode()])
    looked = sum(len(view.plies) for view in views)
    if arguments.json:
        documents = [_document(number, view) for number, view in enumerate(views, 1)]
        print_json({"file": arguments.what, "complete": looked == total, "games": documents})
    else:
        for number, view in enumerate(views, 1):
            _show_game(number, view)
    if looked < total:
        print(f"damas: interrupted after {looked} of {total} plies", file=sys.stderr)
    for number, game in enumerate(games, 1):
        if game.error:
            raise CommandError(
                f"game {number} cannot be followed to the end: line {game.error.line}, ply {game.error.ply}: "
                f"{game.error.reason}"
            )


def _document(number: int, view: "GameView") -> dict[str, Any]:
    game = view.game
    return {
        "game": number,
        "white": game.tags.get("White"),
        "black": game.tags.get("Black"),
        "rules": game.rules.name,
        "result": game.result,
        "legal": game.error is None,
        "plies": [asdict(ply) for ply in view.plies],
    }


def _show_game(number: int, view: "GameView") -> None:
    """A game as a table, its bad moves told in words."""
    from rich.markup import escape
    from rich.table import Column, Table

    from damas_rl.play.lines import signed

    title = f"{number}. {_players(view.game)}  {view.game.result}"
    table = Table(Column("ply", justify="right"), "move", "before", "after", "remark", title=escape(one_line(title)))
    for ply in view.plies:
        side = "White" if ply.color == "W" else "Black"
        remark = f"[red]{side} throws the {ply.lost} away[/red]; better {' '.join(ply.best[:5])}" if ply.lost else ""
        table.add_row(str(ply.ply), ply.pdn, signed(ply.before), signed(ply.after), remark)
    thrown = sum(ply.lost is not None for ply in view.plies)
    results = {0: "no result", 1: "one result"}.get(thrown, f"{thrown} results")
    plies = "1 ply" if len(view.plies) == 1 else f"{len(view.plies)} plies"
    show(table, f"{plies}, {results} thrown away")


def _players(game: PdnGame) -> str:
    return f"{game.tags.get('White', '?')} - {game.tags.get('Black', '?')}"
