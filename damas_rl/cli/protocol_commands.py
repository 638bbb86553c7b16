"""``damas hub``: our players for other draughts programs."""

import argparse
import sys
import threading
from typing import Any

from damas_env.rules import get_rules
from damas_rl.cli.common import add_rules, count


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
