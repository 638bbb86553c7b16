"""The draughts exchange protocol (DXP): games between two programs over a socket, of which both keep the position.

A message is ASCII text, its first letter says what it is, and a zero byte ends it. One program, the *initiator*, asks
for a game; the *follower* accepts it. The protocol was written for 50 squares: here a position has as many letters as
the board has squares, in the order of the rule set's numbers, and programs that play on 8x8 have to agree on that.
"""

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from damas_env.errors import quoted
from damas_env.game import Game
from damas_env.notation import Move, PdnGame, format_fen, one_line, result_of
from damas_env.position import COLORS
from damas_env.rules import RuleSet
from damas_env.termination import Outcome, Termination
from damas_rl.moves import move_of
from damas_rl.players import Player
from damas_rl.protocols.hub import HubError, find_move, format_position, parse_position

PORT: Final = 27531
"""The port that programs use by default."""

LOOPBACK: Final = "127.0.0.1"
"""DXP knows no passwords, so only programs on this machine are talked to."""

NAME: Final = "damas-rl"

ANSWER_SECONDS = 60.0
"""Time for an answer that needs no thought, and what a move may take beyond the time of the game."""

_IDLE_SECONDS = 3600.0
"""How long a program that is connected may wait before it asks for a game."""

_VERSION = "01"
_LONGEST = 128
_MOVES_TO_GO = 25
_ACCEPTED, _WRONG_VERSION, _OTHER_GAME = "0", "1", "2"
_REFUSALS = {"1": "it speaks another version", "2": "not this game", "3": "it wants no game at all"}
_LOST, _DRAWN, _WON = "1", "2", "3"
"""Reasons of the end of a game, as the side that sends them sees it; 0 is none."""

_REQUEST = re.compile(r"R(..)(.{32})([WZ])([0-9]{3})([0-9]{3})(?:A|B([WZ][ewzWZ]+))")
_MOVE = re.compile(r"M[0-9]{4}([0-9]{2})([0-9]{2})([0-9]{2})((?:[0-9]{2})*)")
_TO_DXP, _FROM_DXP = str.maketrans("bB", "zZ"), str.maketrans("zZ", "bB")


class DxpError(ValueError):
    """The other program is gone, or says what it must not; the message is one sentence."""


@dataclass(frozen=True)
class Terms:
    """What a game is about.

    Attributes:
        color: side of the follower, ``"W"`` or ``"B"``.
        minutes: of each side for so many moves, 1 to 999.
        moves: 0 = for the whole game.
        fen: where it starts, None = the initial position.
    """

    color: str
    minutes: int
    moves: int
    fen: str | None = None


@dataclass(frozen=True)
class Finished:
    """A game that is over.

    Attributes:
        game: its moves.
        white, black: names of the players.
        outcome: how it ended; None if the other program ended it without a result.
    """

    game: Game
    white: str
    black: str
    outcome: Outcome | None

    @property
    def result(self) -> str:
        """As in PDN."""
        return result_of(self.outcome, self.game.rules)

    def pdn(self) -> PdnGame:
        """The game with its header."""
        game = self.game.pdn({"Event": "DXP", "White": self.white, "Black": self.black})
        game.result = self.result
        return game


class Link:
    """A connection that carries messages."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = b""

    def send(self, message: str) -> None:
        """Sends a message."""
        try:
            self._socket.settimeout(ANSWER_SECONDS)
            self._socket.sendall(message.encode("ascii", errors="replace") + b"\0")
        except OSError:
            raise DxpError("the other program is gone") from None

    def read(self, seconds: float = 0.0) -> str:
        """The next message; DxpError if none comes in time (and in ``ANSWER_SECONDS``), or no more will come."""
        until = time.monotonic() + seconds + ANSWER_SECONDS
        while b"\0" not in self._buffer:
            try:
                self._socket.settimeout(max(until - time.monotonic(), 0.001))
                data = self._socket.recv(4096)
            except TimeoutError:
                raise DxpError(f"the other program sent nothing for {seconds + ANSWER_SECONDS:g} seconds") from None
            except OSError:
                data = b""
            if not data:
                raise DxpError("the other program is gone")
            self._buffer += data
            if len(self._buffer.split(b"\0", 1)[0]) > _LONGEST:
                raise DxpError("the other program sent a message without end")
        message, self._buffer = self._buffer.split(b"\0", 1)
        return message.decode("ascii", errors="replace").strip("\r\n")

    def close(self) -> None:
        """Ends the connection."""
        with suppress(OSError):
            self._socket.close()


def serve(
    server: socket.socket, rules: RuleSet, player: Player, games: int | None = None
) -> Iterator[Finished | DxpError]:
    """Accepts games, one after the other, from programs that connect to a listening socket.

    Args:
        server: see :func:`listen`.
        rules: rule set of all games.
        player: who plays.
        games: ends after so many; None = never.

    Yields:
        each game that is over, and what went wrong with a connection.
    """
    played = 0
    while games is None or played < games:
        link, more = Link(server.accept()[0]), False
        try:
            while games is None or played < games:
                try:
                    request = link.read(_IDLE_SECONDS)
                except DxpError:
                    if more:  # it might have asked for another game, but left
                        break
                    raise
                finished, more = _follow(link, request, rules, player)
                played += 1
                yield finished
                if not more:
                    break
        except DxpError as error:
            yield error
        finally:
            link.close()


def listen(port: int) -> socket.socket:
    """A socket that listens on this machine alone; port 0 = any that is free.

    Raises:
        DxpError: the port cannot be had.
    """
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        raise DxpError(f"port {port} of {LOOPBACK} cannot be listened on: {error}") from None


def connect(port: int) -> Link:
    """A connection to a program of this machine that listens.

    Raises:
        DxpError: there is none.
    """
    try:
        return Link(socket.create_connection((LOOPBACK, port), ANSWER_SECONDS))
    except (OSError, OverflowError) as error:
        raise DxpError(f"no program answers on port {port} of {LOOPBACK}: {error}") from None


def initiate(link: Link, rules: RuleSet, player: Player, terms: Terms) -> Finished:
    """Asks for one game and plays it.

    Raises:
        DxpError: the other program refuses it, is gone or does what it must not.
    """
    game = Game(rules, terms.fen)
    start = "A" if terms.fen is None else "B" + format_position(game.positions).translate(_TO_DXP)
    color = terms.color.translate(_TO_DXP)
    link.send(f"R{_VERSION}{NAME:<32}{color}{terms.minutes:03}{terms.moves:03}{start}")
    answer = link.read()
    if not re.fullmatch(r"A.{32}[0-9]", answer):
        raise DxpError(f"the other program answered the request by {quoted(answer)}")
    if answer[33] != _ACCEPTED:
        raise DxpError(f"the other program declines: {_REFUSALS.get(answer[33], 'it gives no reason')}")
    mine = "B" if terms.color == "W" else "W"
    return _play(link, game, player, mine, one_line(answer[1:33]).strip(), terms)[0]


def _follow(link: Link, request: str, rules: RuleSet, player: Player) -> tuple[Finished, bool]:
    """Accepts the game that is asked for and plays it; also whether the other program may want another one."""
    match = _REQUEST.fullmatch(request)
    if not match:
        raise DxpError(f"the other program did not ask for a game but sent {quoted(request)}")
    version, name, color, minutes, moves, start = match.groups()
    code, fen = _ACCEPTED, None
    if version != _VERSION:
        code = _WRONG_VERSION
    elif start:
        try:
            positions = parse_position(start.translate(_FROM_DXP), "", rules)
            fen = format_fen(positions.boards[0], int(positions.colors[0]), rules)
        except HubError:
            code = _OTHER_GAME
    link.send(f"A{NAME:<32}{code}")
    if code != _ACCEPTED:
        raise DxpError(f"a game that {one_line(name).strip()!r} asked for was declined: {_REFUSALS[code]}")
    terms = Terms(color.translate(_FROM_DXP), max(int(minutes), 1), int(moves), fen)
    return _play(link, Game(rules, fen), player, terms.color, one_line(name).strip(), terms)


def _play(link: Link, game: Game, player: Player, mine: str, name: str, terms: Terms) -> tuple[Finished, bool]:
    """Plays a game with the side ``mine``; also whether the other program may want another one."""
    names = (player.name, name or "?") if mine == "W" else (name or "?", player.name)
    clock = _Clock(terms)

    while True:
        outcome = game.outcome()
        if game.color == mine and outcome:
            link.send(f"E{_reason(outcome, mine)}0")
            return Finished(game, *names, outcome), _end(link)
        if game.color == mine:
            move, seconds = clock.choose(player, game)
            game.push(move)
            link.send(_move_message(move, seconds))
            continue
        message = _next(link, 60.0 * terms.minutes)
        if message[0] == "E":
            link.send("E00")
            return Finished(game, *names, outcome or _outcome(message[1:2], mine)), message[2:3] == "0"
        if outcome:
            # A law of this rule set has drawn the game, and the other program does not know. Now it hears of it.
            link.send(f"E{_DRAWN}0")
            return Finished(game, *names, outcome), _end(link)
        game.push(_read_move(message, game))


class _Clock:
    """The time that is left for one's own moves."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._left, self._moves = 60.0 * terms.minutes, terms.moves

    def choose(self, player: Player, game: Game) -> tuple[Move, float]:
        """The move of a player, and the seconds that it took. A player that thinks too long is stopped."""
        thinker = player.for_search(None)
        timer = threading.Timer(self._left / (self._moves or _MOVES_TO_GO), thinker.stop)
        timer.daemon = True
        timer.start()
        started = time.monotonic()
        try:
            action = int(thinker.choose(game.positions).actions[0])
        finally:
            timer.cancel()
        seconds = time.monotonic() - started
        self._left = max(self._left - seconds, 0.0)
        if self._moves:
            self._moves -= 1
            if self._moves == 0:
                self._left, self._moves = 60.0 * self._terms.minutes, self._terms.moves
        return move_of(game.positions, action), seconds


def _next(link: Link, seconds: float) -> str:
    """The next move or end of the game; chat is passed over, and no move is taken back."""
    while True:
        message = link.read(seconds)
        if message[:1] in ("M", "E"):
            return message
        if message[:1] == "B":
            link.send("K1")
        elif message[:1] != "C":
            raise DxpError(f"the other program sent {quoted(message)} in the middle of a game")


def _end(link: Link) -> bool:
    """Waits for the answer to the end of a game; True if the other program may want another one."""
    try:
        while (message := link.read())[:1] != "E":
            pass
    except DxpError:  # it has left without a farewell
        return False
    return message[2:3] == "0"


def _move_message(move: Move, seconds: float) -> str:
    squares = "".join(f"{number:02}" for number in (move.frm, move.to, len(move.captures), *move.captures))
    return f"M{min(round(seconds), 9999):04}{squares}"


def _read_move(message: str, game: Game) -> Move:
    match = _MOVE.fullmatch(message)
    text = message
    if match and 2 * int(match[3]) == len(match[4]):
        captures = re.findall("..", match[4])
        text = ("x" if captures else "-").join(str(int(number)) for number in (match[1], match[2], *captures))
    try:
        return find_move(text, game.positions)
    except HubError as error:
        raise DxpError(f"the other program played wrongly: {error}") from None


def _reason(outcome: Outcome, mine: str) -> str:
    if outcome.winner is None:
        return _DRAWN
    return _WON if outcome.winner == mine else _LOST


def _outcome(reason: str, mine: str) -> Outcome | None:
    """How a game has ended that the other program has ended, in the middle of it."""
    theirs = COLORS[mine == "W"]
    if reason == _DRAWN:
        return Outcome(Termination.AGREEMENT, None)
    if reason == _LOST:
        return Outcome(Termination.RESIGNATION, mine)
    return Outcome(Termination.RESIGNATION, theirs) if reason == _WON else None
