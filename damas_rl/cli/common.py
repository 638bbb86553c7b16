"""What the subcommands share: arguments, input files, JSON and Rich output."""

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from damas_env.errors import NotationError, shown
from damas_env.game import Game
from damas_env.notation import Move
from damas_env.presets import DEFAULT_RULES
from damas_env.termination import Outcome
from damas_rl.files import check_writable, why
from damas_rl.signals import StopSignal

_MOST_BYTES = 1 << 28


class CommandError(ValueError):
    """Bad input of a command; the message is one sentence."""


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Adds ``--rules``; the name is resolved by ``get_rules``, which explains a wrong one."""
    parser.add_argument(
        "--rules",
        default=DEFAULT_RULES,
        metavar="R",
        help=f"rule set or YAML file (default: {DEFAULT_RULES}; see damas rules)",
    )


def add_position(parser: argparse.ArgumentParser) -> None:
    """Adds ``--rules`` and ``--fen``."""
    add_rules(parser)
    parser.add_argument("--fen", metavar="F", help="position, such as W:W21,K31:B1,K12 (default: the start)")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Adds ``--json``."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def add_notation(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Adds ``--notation``."""
    told = default or "that of the rule set"
    parser.add_argument(
        "--notation", choices=("numeric", "algebraic"), default=default, help=f"how to write moves (default: {told})"
    )


def add_language(parser: argparse.ArgumentParser) -> None:
    """Adds ``--lang``, which :func:`language` reads."""
    parser.add_argument(
        "--lang", choices=("en", "pt"), help="language (default: that of your system, if it is one of them)"
    )


def language(arguments: argparse.Namespace) -> str:
    """The language that the person wants, as :mod:`damas_rl.play.languages` names it."""
    from damas_rl.play.languages import language_of

    return language_of(arguments.lang or os.environ.get("LC_ALL") or os.environ.get("LANG", ""))


def whole_number(text: str, lowest: int = 1) -> int:
    """A whole number from ``lowest`` up, for ``type=`` of an argument."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < lowest:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from {lowest} to 999999999")
    return int(text)


def count(text: str) -> int:
    """A whole number from 0 up, for ``type=`` of an argument."""
    return whole_number(text, 0)


def elo_difference(text: str) -> float:
    """An Elo difference in plain digits, for ``type=`` of an argument."""
    if not re.fullmatch(r"[+-]?[0-9]{1,6}(\.[0-9]{1,6})?", text):
        raise argparse.ArgumentTypeError(f"{shown(text)} is not an Elo difference such as -5 or 12.5")
    return float(text)


def read_bytes(path: str) -> bytes:
    """The content of a file, ``-`` = standard input.

    Raises:
        CommandError: it cannot be read, or is larger than any text of games (or does not end, like ``/dev/zero``).
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot read {path!r}: {why(error)}") from None
    if len(data) > _MOST_BYTES:
        raise CommandError(f"cannot read {path!r}: it holds more than {_MOST_BYTES >> 20} MiB")
    return data


def output_path(option: str, given: str) -> Path:
    """The place that an option names for a file, found to be writable before any work is done.

    Raises:
        CommandError: it is not.
    """
    path = Path(given)
    try:
        check_writable(path)
    except (OSError, ValueError) as error:
        raise CommandError(f"{option} {given}: this file cannot be written: {why(error)}") from None
    return path


def push_moves(game: Game, text: str) -> Move | None:
    """Plays the moves of ``--moves``, such as ``22-17 9-13`` or ``1. c3-b4 b6-a5``.

    Returns:
        the last of them.

    Raises:
        CommandError: one cannot be read or is illegal; names its ply.
    """
    last = None
    words = (re.sub(r"^[0-9]+\.+", "", word) for word in text.split())
    for word in filter(None, words):
        try:
            last = game.push(word)
        except NotationError as error:
            raise CommandError(f"ply {game.ply + 1}: {error}") from None
    return last


def outcome_json(outcome: Outcome | None) -> dict[str, str | None] | None:
    """``{"termination", "winner"}``, or None while the game goes on."""
    return outcome.as_dict() if outcome else None


def outcome_text(outcome: Outcome | None) -> str:
    """How a game has ended, for people."""
    if outcome is None:
        return "the game goes on"
    reason = outcome.termination.name.lower().replace("_", " ")
    if outcome.winner is None:
        return f"draw ({reason})" if reason != "ply cap" else "stopped at the ply cap"
    return f"{'White' if outcome.winner == 'W' else 'Black'} has won ({reason})"


def print_json(document: Any) -> None:
    """Prints one JSON document on one line."""
    print(json.dumps(document))


def show(*renderables: Any) -> None:
    """Prints Rich renderables, with colours if the output is a terminal; lines of text are left whole."""
    from damas_rl.console import Console

    console = Console(highlight=False)
    with console.capture() as capture:
        for renderable in renderables:
            console.print(renderable, soft_wrap=isinstance(renderable, str))
    print(capture.get(), end="")


@contextmanager
def progress_bar(quiet: bool, title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on stderr, if that is a terminal and ``quiet`` is not wanted: a function of (done, total)."""
    from rich.markup import escape
    from rich.progress import Progress

    from damas_rl.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(escape(title))
        yield lambda done, total: bar.update(task, completed=done, total=total)


def colors() -> bool:
    """True if the output is a terminal that shows colours."""
    from damas_rl.console import Console

    return Console().colored


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks for a stop, which the yielded function tells; a second one interrupts at once."""
    with StopSignal((signal.SIGINT,), signal.default_int_handler) as stop:
        yield lambda: bool(stop)
