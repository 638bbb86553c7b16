"""``damas web``: the web application."""

import argparse
import ipaddress
import re
import socket
import threading
import webbrowser
from pathlib import Path
from typing import Any

from damas_env.errors import shown
from damas_rl.cli.common import CommandError, whole_number
from damas_rl.files import why
from damas_rl.runs import NoRunError


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    web = subparsers.add_parser(
        "web",
        help="play in the browser",
        description="Serves a board for the browser on this machine: games against levels from beginner to full "
        "strength, two people, or two machines. Nothing leaves the machine.",
    )
    web.add_argument(
        "--host", default="127.0.0.1", metavar="H",
        help="address to listen on (default: %(default)s, this machine only; 0.0.0.0 opens it to the network)",
    )  # fmt: skip
    web.add_argument("--port", type=whole_number, default=8265, metavar="P", help="default: %(default)s")
    web.add_argument("--games", metavar="FILE", help="where games are kept (default: in your data folder)")
    web.add_argument(
        "--player", action="append", default=[], metavar="SPEC",
        help="offer this player too, such as mcts:net=RUN,sims=400; may be given several times",
    )  # fmt: skip
    web.add_argument(
        "--run", dest="training", metavar="FOLDER", help="show the games and networks of this training run"
    )  # fmt: skip
    web.add_argument("--no-browser", action="store_true", help="do not open the page")
    web.set_defaults(run=_web)


def _web(arguments: argparse.Namespace) -> None:
    try:
        import uvicorn

        from damas_rl.play.web.app import make_app
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "websockets"):
            raise
        raise CommandError("damas web needs Starlette and uvicorn: pip install 'damas-rl[web]'") from None
    from damas_rl.play.web.store import Store, default_file
    from damas_rl.play.web.thinkers import Thinkers
    from damas_rl.play.web.training import TrainingRun

    if arguments.port > 65535:
        raise CommandError(f"--port {arguments.port}: choose 1 to 65535")
    thinkers = Thinkers(arguments.player)
    try:
        run = TrainingRun(Path(arguments.training)) if arguments.training else None
    except NoRunError as error:
        raise CommandError(f"--run {arguments.training}: {error}") from None
    listener = _listen(arguments.host, arguments.port)
    store = Store(Path(arguments.games) if arguments.games else default_file())
    app = make_app(store, thinkers, _is_loopback(listener), run)
    threading.Thread(target=thinkers.warm_up, daemon=True).start()
    name = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    address = f"http://{'localhost' if name in ('0.0.0.0', '[::]') else name}:{arguments.port}/"
    print(f"damas web: {address} (Ctrl-C ends it)", flush=True)
    if not arguments.no_browser:
        threading.Timer(1.0, webbrowser.open, (address,)).start()
    config = uvicorn.Config(
        app, log_level="warning", ws_max_size=1 << 16, server_header=False, timeout_graceful_shutdown=2
    )
    try:
        uvicorn.Server(config).run(sockets=[listener])
    except KeyboardInterrupt:  # the way to end it
        print()


def _listen(host: str, port: int) -> socket.socket:
    if not re.fullmatch(r"[A-Za-z0-9._:%-]+", host):  # an empty one would open every address of the machine
        raise CommandError(f"--host {shown(host)} is neither an address such as 127.0.0.1 nor the name of a machine")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise CommandError(f"{host}:{port} cannot be listened on: {why(error)}; choose another --port") from None


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback
