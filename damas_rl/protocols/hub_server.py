"""A player as an engine that speaks the Hub protocol on its standard input and output: ``damas hub``."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import damas_env
from damas_env.errors import quoted
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.players import Choice, Player, make_player, strong_spec
from damas_rl.protocols.hub import (
    HubError,
    format_line,
    format_line_of_play,
    men_of_value,
    parse_line,
    parse_position,
    variant_of,
    variants_beside,
)
from damas_rl.search.alphabeta import Limits

_DEFAULT_MS = 1000
"""For a move, where the other program sets no limit."""

_MOVES_TO_GO = 25
"""Moves that the remaining time is shared between where the game has no time control by moves."""

_MOST_OF_TIME = 0.8
"""Share of the remaining time that one move may take."""

_MARGIN = 0.02
"""Seconds of a move that are left for the way to the other program and back."""


@dataclass(frozen=True)
class _Level:
    """What ``level`` commands have said; None where they were silent.

    Attributes:
        depth, nodes: limits of the search.
        seconds: for the next move.
        infinite: until ``stop``.
    """

    depth: int | None = None
    nodes: int | None = None
    seconds: float | None = None
    infinite: bool = False

    def limits(self, endless: bool = False) -> Limits | None:
        """Limits of the search, None = those that the player has of itself; ``endless``: time is no limit."""
        ms = None if self.seconds is None else max(1, round(1000 * self.seconds))
        if self.infinite or (endless and ms is not None):
            ms = Limits.LARGEST["ms"]
        if self.depth is self.nodes is ms is None:
            return None
        return Limits(self.depth, self.nodes, ms)


class HubServer:
    """One conversation.

    Args:
        rules: rule set that the ``variant`` offered first stands for.
        spec: of the player, None = the strongest that ships for the variant.
        seed: of its random choices.
        send: writes a line to the other program; called from two threads.
    """

    def __init__(self, rules: RuleSet, spec: str | None, seed: int, send: Callable[[str], None]) -> None:
        self._variants = variants_beside(rules)
        self._rules, self._spec, self._seed, self._send = rules, spec, seed, send
        self._player: Player | None = None
        self._positions: Positions | None = None
        self._level = _Level()
        self._search: _Search | None = None
        self._commands: dict[str, Callable[[dict[str, str]], None]] = {
            "hub": self._introduce,
            "set-param": self._set_parameter,
            "init": self._init,
            "pos": self._set_position,
            "level": self._set_level,
            "go": self._go,
            "new-game": lambda arguments: self._refuse_in_search("new-game"),
        }

    def run(self, lines: Iterable[str]) -> None:
        """Answers line by line until ``quit`` or the end of the input, which end a search soon."""
        try:
            for line in lines:
                if not self._answer(line):
                    break
        finally:
            self._end_search()

    def _answer(self, line: str) -> bool:
        """Does what a line says; False if the other program takes its leave."""
        try:
            command, arguments = parse_line(line)
            if command == "quit":
                return False
            if command == "ping":
                self._send("pong")
            elif command == "stop" and self._search:
                self._search.stop()
            elif command == "ponder-hit" and self._search:
                self._search.stop_after(self._level.seconds)
            elif command in self._commands:
                self._commands[command](arguments)
        except (ValueError, OSError, FloatingPointError, MemoryError, RuntimeError) as error:
            self._send(format_line("error", {"message": str(error) or type(error).__name__}))
        return True

    def _introduce(self, arguments: dict[str, str]) -> None:
        identity = {"name": "damas-rl", "version": damas_env.__version__, "author": "the authors of damas-rl"}
        self._send(format_line("id", identity))
        variants = " ".join(self._variants)
        variant = {"name": "variant", "value": variant_of(self._rules), "type": "enum", "values": variants}
        self._send(format_line("param", variant))
        self._send("wait")

    def _set_parameter(self, arguments: dict[str, str]) -> None:
        name, value = arguments.get("name"), arguments.get("value", "")
        if self._player:
            raise HubError("parameters are set before init")
        if name == "variant":
            if value not in self._variants:
                raise HubError(f"the variant {quoted(value)} is not known here; known: {', '.join(self._variants)}")
            self._rules = self._variants[value]
        else:
            raise HubError(f"there is no parameter {quoted(name or '')}; there is variant")

    def _init(self, arguments: dict[str, str]) -> None:
        if not self._player:
            self._player = make_player(self._spec or strong_spec(self._rules, _DEFAULT_MS), self._rules, self._seed)
            # Kernels are compiled now, and not in the time of the first move.
            self._player.for_search(Limits(depth=1, nodes=1)).choose(Positions.initial(self._rules))
        self._send("ready")

    def _refuse_in_search(self, command: str) -> None:
        if self._search and self._search.running:
            raise HubError(f"{command} has to wait: a search is going on; end it by stop")

    def _set_position(self, arguments: dict[str, str]) -> None:
        self._refuse_in_search("pos")
        # As in Scan, each position comes with a level of its own; and a refused one leaves none to be searched.
        self._positions, self._level = None, _Level()
        self._positions = parse_position(arguments.get("pos", ""), arguments.get("moves", ""), self._rules)

    def _set_level(self, arguments: dict[str, str]) -> None:
        self._refuse_in_search("level")
        seconds = None
        if "time" in arguments:
            seconds = _share(_number(arguments, "time"), _number(arguments, "inc"), _whole(arguments, "moves"))
        elif "move-time" in arguments:
            seconds = _number(arguments, "move-time") - _MARGIN
        self._level = _Level(
            depth=_whole(arguments, "depth"),
            nodes=_whole(arguments, "nodes"),
            seconds=None if seconds is None else max(seconds, 0.001),
            infinite="infinite" in arguments,
        )

    def _go(self, arguments: dict[str, str]) -> None:
        self._refuse_in_search("go")
        if not self._player:
            raise HubError("init comes before go")
        if not self._positions:
            raise HubError("there is no position to search: pos comes before go")
        if outcome := self._positions.outcome():
            raise HubError(f"there is nothing to search: the game is over ({outcome.termination.name.lower()})")
        player = self._player.for_search(self._level.limits(endless="ponder" in arguments))
        self._search = _Search(player, self._positions, self._send)

    def _end_search(self) -> None:
        if self._search:
            self._search.stop()
            self._search.join()


class _Search:
    """One search on a thread of its own; says what it has found.

    Attributes:
        running: until its last line is sent. The other program may answer at once, so it is False just before that.
    """

    def __init__(self, player: Player, positions: Positions, send: Callable[[str], None]) -> None:
        self._player, self._positions, self._send = player, positions, send
        self._clock: threading.Timer | None = None
        self.running = True
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the search soon."""
        self._player.stop()

    def stop_after(self, seconds: float | None) -> None:
        """Ends the search when the time of the move is over; None = it ends by itself."""
        if seconds is not None:
            self._clock = threading.Timer(seconds, self.stop)
            self._clock.daemon = True
            self._clock.start()

    def join(self) -> None:
        """Waits for the end."""
        self._thread.join()

    def _run(self) -> None:
        started = time.perf_counter()
        try:
            choice = self._player.choose(self._positions)
            lines = _report(choice, self._positions, time.perf_counter() - started)
        except Exception as error:  # of any kind: the other program would wait for ever
            lines = [format_line("error", {"message": str(error) or type(error).__name__})]
        if self._clock:
            self._clock.cancel()
        with contextlib.suppress(OSError):  # nobody listens any more
            for line in lines[:-1]:
                self._send(line)
            self.running = False
            self._send(lines[-1])


def _report(choice: Choice, positions: Positions, seconds: float) -> list[str]:
    """What a search has found, and its move."""
    actions = choice.pvs[0] or [int(choice.actions[0])]
    line = format_line_of_play(positions, actions)
    nodes = int(choice.nodes[0])
    info = {
        "score": f"{round(men_of_value(float(choice.values[0])), 2) + 0.0:.2f}",
        "nodes": str(nodes),
        "time": f"{seconds:.3f}",
        "nps": f"{nodes / max(seconds, 1e-6) / 1e6:.6f}",
        "pv": " ".join(line),
    }
    done = {"move": line[0], **({"ponder": line[1]} if len(line) > 1 else {})}
    return [format_line("info", info), format_line("done", done)]


def _share(left: float, increment: float, moves: int | None) -> float:
    """Seconds for the next move. The increment is added before each move, so it is part of what is left."""
    available = left + increment
    wanted = left / (moves or _MOVES_TO_GO) + increment
    return min(wanted, _MOST_OF_TIME * available) - _MARGIN


def _number(arguments: dict[str, str], name: str) -> float:
    """Seconds, 0 where an argument is missing; below 0 (a clock that has run out) counts as 0."""
    text = arguments.get(name, "0")
    if not re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{0,12})?", text):
        raise HubError(f"{name}={quoted(text)} is not a number of seconds")
    return min(max(float(text), 0.0), 1e6)


def _whole(arguments: dict[str, str], name: str) -> int | None:
    """A whole number from 1 up, None where an argument is missing; too large a one counts as the largest."""
    if name not in arguments:
        return None
    text = arguments[name]
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < 1:
        raise HubError(f"{name}={quoted(text)} is not a whole number from 1 up")
    return min(int(text), Limits.LARGEST.get(name, 1000))
