"""``damas analyse``: what a player thinks of a position, or of the moves of games."""

import argparse
import os
import re
import sys
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from damas_env.errors import shown
from damas_env.game import Game
from damas_env.notation import decode, read_pdn, write_pdn
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_rl.cli.common import (
    CommandError,
    add_json,
    add_language,
    add_notation,
    count,
    language,
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
    from damas_rl.analysis import GameView
    from damas_rl.players import Player

_DEFAULT_MS = 500


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
    add_language(analyse)
    add_json(analyse)
    analyse.set_defaults(run=_analyse)


def _analyse(arguments: argparse.Namespace) -> None:
    if re.match(r"\s*([WB]:|initial\s*$)", arguments.what, re.IGNORECASE):
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
    from damas_rl.play.languages import said_in
    from damas_rl.play.printed import position_lines

    game = Game(arguments.rules or DEFAULT_RULES, arguments.what)
    if outcome := game.outcome():
        raise CommandError(f"there is nothing to analyse: {outcome_text(outcome)}")
    player = _player(arguments, game.rules)
    view = look_at(game.positions, player, arguments.notation or game.rules.notation)
    if arguments.json:
        head = {"fen": game.fen(), "rules": game.rules.name, "player": player.name, "to_move": game.color}
        print_json({**head, **asdict(view)})
        return
    show(*position_lines(game.color, view, partial(said_in, language(arguments))))


def _games(arguments: argparse.Namespace) -> None:
    from damas_rl.analysis import review
    from damas_rl.play.languages import said_in
    from damas_rl.play.printed import game_lines

    output = output_path("--pdn", arguments.pdn) if arguments.pdn is not None else None
    rules = get_rules(arguments.rules) if arguments.rules is not None else None
    if arguments.what != "-" and not os.path.exists(arguments.what):
        raise CommandError(f"{shown(arguments.what, 200)} is no file and no position (a FEN begins with W: or B:)")
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
            show(*game_lines(view, number, partial(said_in, language(arguments))))
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
