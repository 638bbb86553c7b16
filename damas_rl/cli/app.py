"""Entry point of ``damas``: finds the subcommands, runs one, and turns errors of users into one line.

A module of this package named ``..._commands`` adds subcommands with a function ``register(subparsers)``; each
subcommand sets ``run``, a function of the parsed arguments that returns the exit status (None = 0).
"""

import argparse
import contextlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from numba.core.event import Event, Listener, install_listener

import damas_env
from damas_env.notation import one_line
from damas_rl.files import why

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        kwargs.setdefault("allow_abbrev", False)
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {one_line(message)} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of ``damas`` with all subcommands."""
    parser = _Parser(prog="damas", description="Brazilian draughts: rules, analysis, matches and play.")
    parser.add_argument("--version", action="version", version=f"damas {damas_env.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    package = importlib.import_module("damas_rl.cli")
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda module: module.name):
        if module.name.endswith("_commands"):
            importlib.import_module(f"damas_rl.cli.{module.name}").register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs ``damas`` with the given arguments (default: those of the process).

    Returns:
        0 on success, 2 with one line on stderr for bad input, 130 if interrupted.
    """
    for stream, errors in ((sys.stdout, "backslashreplace"), (sys.stderr, "backslashreplace"), (sys.stdin, "replace")):
        if hasattr(stream, "reconfigure"):
            with contextlib.suppress(OSError):  # standard input that has been read from stays as it is
                stream.reconfigure(errors=errors)
    try:
        parser = build_parser()
        arguments = parser.parse_args(argv)
        if not hasattr(arguments, "run"):
            parser.print_help()
            return 0
        with _news_of_compilation():
            status = arguments.run(arguments) or 0
        if sys.stdout:
            sys.stdout.flush()
    except SystemExit as stop:  # argparse: --help, --version and wrong arguments
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt as interrupt:
        print(": ".join(["damas: interrupted", *map(str, interrupt.args)]), file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return 0
    except (ValueError, OSError, FloatingPointError, MemoryError) as error:
        _drop_output()
        print(f"damas: {one_line(_describe(error))}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return int(status)


@contextlib.contextmanager
def _news_of_compilation() -> Iterator[None]:
    """Says on a terminal, once, that kernels are being compiled: it takes a while, and happens once per machine."""
    if not sys.stderr.isatty():
        yield
        return
    with install_listener("numba:compile", _Herald()):
        yield


class _Herald(Listener):
    """Hears of each compilation, and tells of the first."""

    told = False

    def on_start(self, event: Event) -> None:
        if not self.told:
            self.told = True
            print("Compiling kernels, once per machine ...", file=sys.stderr, flush=True)

    def on_end(self, event: Event) -> None:
        pass


def _describe(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename}: {why(error)}" if error.filename else why(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory for this; choose fewer simulations, games, plies or pieces"
    return str(error)


def _drop_output() -> None:
    """Drops what is still buffered for stdout, if it can no longer be written, so that the exit is quiet too."""
    try:
        if sys.stdout:
            sys.stdout.flush()
    except (OSError, ValueError):
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
