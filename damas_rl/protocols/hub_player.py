"""A foreign engine that speaks the Hub protocol as a player: ``hub:PATH`` among the player specs.

The engine is a process of its own. Whatever it does, a choice comes back in time, or a ``PlayerError`` says in one
sentence what was wrong. The process is ended then, or when the player is no longer used, at the latest when this
program ends.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import time
import weakref
from collections import OrderedDict
from pathlib import Path

import numpy as np

from damas_env.errors import quoted
from damas_env.notation import legal_moves
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.files import why
from damas_rl.players import Choice, Player, PlayerError
from damas_rl.protocols.hub import (
    HubError,
    find_move,
    format_line,
    format_move,
    format_position,
    parse_line,
    value_of_men,
    variant_of,
)
from damas_rl.search.alphabeta import Limits

START_SECONDS = 60.0
"""Time of an engine to introduce itself, and again to get ready."""

LATE_SECONDS = 10.0
"""Time beyond the limit of a search, after which an engine is told to stop, and again after which it is given up."""

_UNTIMED_SECONDS = 600.0
"""Time of a search that is limited by depth or nodes."""

_LONGEST_LINE = 1 << 20
_MOST_LINES = 4096
_MOST_GAMES = 4096


class _Process:
    """The process of an engine, its pipes, and the name by which errors call it."""

    def __init__(self, command: list[str], folder: Path | None, name: str) -> None:
        self.name = name
        try:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                bufsize=0, start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise self.error(f"cannot be started: {why(error)}") from None
        self._buffer = b""
        self.end = weakref.finalize(self, _end, self._process)

    def error(self, fault: str) -> PlayerError:
        """What to raise: one sentence about the engine."""
        return PlayerError(f"Engine {self.name!r} {fault}.")

    def send(self, line: str) -> None:
        """Sends a line; that an engine is gone is found when its answer is read."""
        assert self._process.stdin
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(line.encode() + b"\n")

    def read(self, until: float, waiting_for: str) -> str:
        """The next line; TimeoutError if none comes until that moment of the monotonic clock."""
        pipe = self._process.stdout
        assert pipe
        if not self.end.alive:
            raise self.error("was ended after an earlier failure")
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                raise TimeoutError
            data = os.read(pipe.fileno(), 1 << 16)
            self._buffer += data
            if not data:
                raise self.error(f"{self._ending()} instead of sending {waiting_for}")
            if len(self._buffer) > _LONGEST_LINE:
                raise self.error(f"sent an endless line instead of {waiting_for}")
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode(errors="replace")

    def _ending(self) -> str:
        """How the process has ended that closed its output."""
        try:
            status = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "closed its output"
        if status < 0:
            return f"was ended by signal {-status} ({signal.strsignal(-status)})"
        return f"ended with exit status {status}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends an engine and what it has started: by ``quit`` if it obeys within a second, otherwise by force."""
    with contextlib.suppress(OSError):
        assert process.stdin
        process.stdin.write(b"quit\n")
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1)
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout:
        process.stdout.close()


class HubPlayer(Player):
    """Plays what an engine answers; the games of a batch are asked about one after the other.

    Args:
        rules: rule set of the games.
        path: program, or its name if it is on the search path. A program that is given by its path runs in its own
            folder, where engines keep their data.
        arguments: of the program.
        limits: of each search.
        variant: name of the game for the engine; None = the usual one.
        name: for tables, files and errors.

    Raises:
        PlayerError: the engine cannot be started, does not introduce itself, or does not play the game.
    """

    def __init__(
        self, rules: RuleSet, path: str, arguments: list[str], limits: Limits, variant: str | None, name: str
    ) -> None:
        self.name = name
        self._rules, self._limits = rules, limits
        folder = Path(path).absolute().parent if os.sep in path else None
        program = str(Path(path).absolute()) if folder else shutil.which(path)
        if program is None:
            raise PlayerError(f"Engine {name!r} cannot be started: there is no program {path!r} on the search path.")
        self._process = _Process([program, *arguments], folder, name)
        self._stopped = False
        self._lines = _Lines()
        try:
            self._introduce(variant or variant_of(rules))
        except BaseException:
            self._process.end()
            raise

    parallel = False

    def choose(self, positions: Positions) -> Choice:
        """See :class:`Player`; PlayerError if the engine fails, and then it is ended."""
        size = len(positions)
        choice = Choice(
            np.zeros(size, np.int16), np.zeros(size, np.float32), np.zeros(size, np.int64), [[] for _ in range(size)]
        )
        for game in range(size):
            try:
                self._search(positions.take(np.array([game])), choice, game)
            except BaseException:
                self._process.end()
                raise
        return choice

    def for_search(self, limits: Limits | None) -> Player:
        """See :class:`Player`; the engine is the same, so it serves one search at a time."""
        player = HubPlayer.__new__(HubPlayer)
        player.__dict__.update(self.__dict__)
        player._limits, player._stopped = limits or self._limits, False
        return player

    def stop(self) -> None:
        """See :class:`Player`."""
        self._stopped = True
        self._process.send("stop")

    def _introduce(self, variant: str) -> None:
        """Handshake: what the engine is, which game it shall play, and that it is ready."""
        self._process.send("hub")
        for arguments in self._until("wait", "param"):
            if arguments.get("name") != "variant":
                continue
            values = arguments.get("values", "").split()
            if values and variant not in values:
                raise self._process.error(
                    f"does not play the game {variant!r}; it knows {', '.join(values)} (variant= names another)"
                )
            if arguments.get("value") != variant:
                self._process.send(format_line("set-param", {"name": "variant", "value": variant}))
        self._process.send("init")
        self._until("ready")

    def _until(self, last: str, kept: str = "") -> list[dict[str, str]]:
        """Reads up to the line ``last``; the arguments of the lines ``kept`` before it."""
        found: list[dict[str, str]] = []
        until = time.monotonic() + START_SECONDS
        for _ in range(_MOST_LINES):
            try:
                command, arguments = self._command(until, repr(last))
            except TimeoutError:
                raise self._process.error(f"did not send {last!r} within {START_SECONDS:g} seconds") from None
            if command == last:
                return found
            if command == kept:
                found.append(arguments)
        raise self._process.error(f"sent {_MOST_LINES} other lines instead of {last!r}")

    def _command(self, until: float, waiting_for: str) -> tuple[str, dict[str, str]]:
        """The command of the next line; one that cannot be read counts as an unknown command."""
        line = self._process.read(until, waiting_for)
        try:
            command, arguments = parse_line(line)
        except HubError:
            return "", {}
        if command == "error":
            raise self._process.error(f"reported an error: {quoted(arguments.get('message', ''), 200)}")
        return command, arguments

    def _search(self, positions: Positions, choice: Choice, game: int) -> None:
        """Asks about a batch of one, and writes the answer into ``choice``."""
        start, moves = self._lines.of(positions)
        self._process.send(format_line("pos", {"pos": start, **({"moves": " ".join(moves)} if moves else {})}))
        limits = {"depth": self._limits.depth, "nodes": self._limits.nodes}
        level = {name: str(limit) for name, limit in limits.items() if limit}
        if self._limits.ms:
            level["move-time"] = str(self._limits.ms / 1000)
        self._process.send(format_line("level", level))
        self._process.send("go think")
        if self._stopped:
            self._process.send("stop")
        info, done = self._await_move(self._limits.ms / 1000 if self._limits.ms else _UNTIMED_SECONDS)
        try:
            move = find_move(done.get("move", ""), positions)
        except HubError as error:
            raise self._process.error(f"answered wrongly: {error}") from None
        choice.actions[game] = move.action
        choice.values[game] = _value(info.get("score", ""))
        choice.nodes[game] = int(nodes) if (nodes := info.get("nodes", "")).isdecimal() and len(nodes) < 18 else 0
        choice.pvs[game] = _variation(info.get("pv", ""), positions)
        if choice.pvs[game][:1] != [move.action]:
            choice.pvs[game] = [move.action]

    def _await_move(self, seconds: float) -> tuple[dict[str, str], dict[str, str]]:
        """What the engine said last of its search, and its answer."""
        info: dict[str, str] = {}
        waited = 0.0
        for extra in (seconds + LATE_SECONDS, LATE_SECONDS):
            until = time.monotonic() + extra
            waited += extra
            with contextlib.suppress(TimeoutError):
                while True:
                    command, arguments = self._command(until, "a move")
                    if command == "done":
                        return info, arguments
                    if command == "info":
                        info = arguments
            self._process.send("stop")
        raise self._process.error(f"did not send a move within {waited:g} seconds")


class _Lines:
    """Moves since the last capture or man move, which an engine needs to see repetitions coming.

    A player is shown positions alone. Of the games that it was shown before, the last ones are remembered, and the two
    moves since then are found.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, ...], tuple[str, list[str], Positions]] = OrderedDict()

    def of(self, positions: Positions) -> tuple[str, list[str]]:
        """A position, as text, and the moves that led from there to that of a batch of one."""
        color, length = int(positions.colors[0]), int(positions.history_len[0])
        keys = positions.history[0, :length].tolist()
        start, moves = format_position(positions), []
        if known := self._known.pop((color, *keys[:-2]), None):
            line = _between(known[2], keys[-2:])
            if line:
                start, moves = known[0], known[1] + line
        self._known[color, *keys] = start, moves, positions.copy()
        if len(self._known) > _MOST_GAMES:
            self._known.popitem(last=False)
        return start, moves


def _between(positions: Positions, keys: list[int]) -> list[str]:
    """The moves that lead from a batch of one through positions with these keys; empty if none do."""
    if not keys:
        return []
    for move in legal_moves(positions):
        after = positions.copy()
        after.step(np.array([move.action]))
        if int(after.history[0, after.history_len[0] - 1]) == keys[0]:
            rest = _between(after, keys[1:])
            if rest or len(keys) == 1:
                return [format_move(move), *rest]
    return []


def _value(score: str) -> float:
    """A score in men as a value; 0 where there is none."""
    try:
        return value_of_men(float(score))
    except ValueError:
        return 0.0


def _variation(text: str, positions: Positions) -> list[int]:
    """The actions of a line of play, as far as it can be followed."""
    line, actions = positions.copy(), []
    with contextlib.suppress(HubError):
        for word in text.split():
            move = find_move(word, line)
            actions.append(move.action)
            line.step(np.array([move.action]))
    return actions
