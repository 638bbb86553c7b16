"""``damas hub`` and ``damas dxp``: our players for other draughts programs."""

import argparse
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from damas_env.notation import visible, write_pdn
from damas_env.rules import get_rules
from damas_rl.cli.common import CommandError, add_position, add_rules, count, outcome_text, output_path, whole_number
from damas_rl.files import atomic_write

if TYPE_CHECKING:  # it loads kernels
    from damas_rl.players import Player
    from damas_rl.protocols.dxp import Finished

_DXP_MS = 1000


def register(subparsers: Any) -> None:
    """Adds the subcommands."""
    hub = subparsers.add_parser(
        "hub",
        help="be an engine for other draughts programs",
        description="Speaks the Hub protocol (version 2) on standard input and output, so that draughts programs can "
        "use a player as an engine.",
    )
    hub.add_argument(
        "--player", metavar="SPEC", help="player, as in damas match (default: the strongest one that ships)"
    )
    add_rules(hub)
    hub.add_argument("--seed", type=count, default=0, metavar="S", help="of all random choices (default: 0)")
    hub.set_defaults(run=_hub)

    dxp = subparsers.add_parser(
        "dxp",
        help="play with another program over a socket",
        description="Plays games with another program on this machine by the draughts exchange protocol (DXP).",
    )
    ways = dxp.add_subparsers(title="commands", metavar="COMMAND", required=True)
    server = ways.add_parser(
        "serve", help="wait for programs that ask for games", description="Waits for programs that ask for games."
    )
    add_rules(server)
    server.add_argument("--games", type=whole_number, metavar="G", help="end after so many (default: go on for ever)")
    server.set_defaults(run=_serve)
    client = ways.add_parser(
        "connect", help="ask a program for a game", description="Asks a program that waits for one game."
    )
    add_position(client)
    client.add_argument("--color", choices=("white", "black"), default="white", help="our side (default: white)")
    client.add_argument(
        "--minutes", type=_up_to_999, default=5, metavar="M", help="time of each side, 1 to 999 (default: 5)"
    )
    client.add_argument(
        "--moves", type=_up_to_999, default=0, metavar="N", help="for so many moves (default: for the whole game)"
    )
    client.set_defaults(run=_connect)
    for parser in (server, client):
        parser.add_argument(
            "--player", metavar="SPEC",
            help=f"player, as in damas match (default: the strongest that ships, {_DXP_MS} ms a move)",
        )  # fmt: skip
        parser.add_argument("--port", type=count, metavar="P", help="port of this machine (default: 27531)")
        parser.add_argument("--pdn", metavar="OUT", help="write the games as PDN")
        parser.add_argument("--seed", type=count, default=0, metavar="S", help="of all random choices (default: 0)")


def _hub(arguments: argparse.Namespace) -> None:
    from damas_rl.players import read_spec
    from damas_rl.protocols.hub_server import HubServer

    rules = get_rules(arguments.rules)
    if arguments.player is not None:
        read_spec(arguments.player)  # a wrong one is refused now, not in the middle of a conversation
    lock = threading.Lock()

    def send(line: str) -> None:
        with lock:
            print(line, flush=True)

    HubServer(rules, arguments.player, arguments.seed, send).run(sys.stdin)


def _up_to_999(text: str) -> int:
    if (number := whole_number(text)) > 999:
        raise argparse.ArgumentTypeError(f"{number} is more than 999")
    return number


def _dxp_player(arguments: argparse.Namespace) -> "Player":
    from damas_rl.players import make_player, strong_spec

    rules = get_rules(arguments.rules)
    return make_player(arguments.player or strong_spec(rules, _DXP_MS), rules, arguments.seed)


def _serve(arguments: argparse.Namespace) -> None:
    from damas_rl.protocols.dxp import LOOPBACK, PORT, Finished, listen, serve

    output = output_path("--pdn", arguments.pdn) if arguments.pdn is not None else None
    player = _dxp_player(arguments)
    finished: list[Finished] = []
    with listen(PORT if arguments.port is None else arguments.port) as server:
        print(f"Waiting for programs on port {server.getsockname()[1]} of {LOOPBACK}", flush=True)
        for game in serve(server, get_rules(arguments.rules), player, arguments.games):
            if isinstance(game, Finished):
                finished.append(game)
                _tell(finished, output)
            else:
                print(visible(f"damas: {game}"), file=sys.stderr, flush=True)


def _connect(arguments: argparse.Namespace) -> None:
    from damas_env.game import Game
    from damas_rl.protocols.dxp import PORT, Terms, connect, initiate

    output = output_path("--pdn", arguments.pdn) if arguments.pdn is not None else None
    rules = get_rules(arguments.rules)
    if outcome := Game(rules, arguments.fen).outcome():
        raise CommandError(f"there is no game to play: {outcome_text(outcome)}")
    terms = Terms("B" if arguments.color == "white" else "W", arguments.minutes, arguments.moves, arguments.fen)
    player = _dxp_player(arguments)
    link = connect(PORT if arguments.port is None else arguments.port)
    try:
        _tell([initiate(link, rules, player, terms)], output)
    finally:
        link.close()


def _tell(finished: "list[Finished]", output: Path | None) -> None:
    """Prints the game that is over, and writes all of them."""
    last = finished[-1]
    ending = outcome_text(last.outcome) if last.outcome else "ended without a result"
    plies = len(last.game.moves)
    print(visible(f"{len(finished)}. {last.white} - {last.black}  {last.result}  {ending}, {plies} plies"), flush=True)
    if output:
        atomic_write(output, [write_pdn(game.pdn() for game in finished).encode()])
