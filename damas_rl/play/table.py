"""A table: one game with its two seats, clock and offers. Rules and bookkeeping, without threads or network."""

import time
from dataclasses import dataclass, field
from typing import Any

from damas_env.errors import quoted
from damas_env.game import Game
from damas_env.notation import PdnGame, read_pdn, result_of, write_pdn
from damas_env.notation.game_types import parse_game_type
from damas_env.notation.pdn_text import split_games
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Outcome, Termination
from damas_rl.play.clocks import Clock, TimeControl

PERSON = "person"
"""A seat that no level holds."""

OTHER = {"W": "B", "B": "W"}

_MOST_PLIES = 1000
"""Plies of a game that is gone on with."""

_MOST_ON_A_LINE = 10
"""Games that may begin in one line of a file."""


class RequestError(ValueError):
    """Something that cannot be done now; the message is one sentence for the user."""


@dataclass
class Table:
    """One game.

    Attributes:
        game: position and moves.
        seats: who plays each side: ``PERSON`` or the id of a level.
        remote: the two persons sit at different browsers.
        invited: the side that the other one may still give the key of, None once its player has come.
        clock: None = no time limit.
        ended: an end that the rules do not see: resignation, agreement, time.
        offer: a draw or an undo that waits for the other side: ``{"kind": "draw", "by": "W"}``.
        paused: machines wait.
        fen: where the game began, None = the initial position.
        successor: number of the rematch, None = there is none.
        aided: a move was taken back, a hint or an analysis was asked for, or the game began somewhere else: it says
            nothing of the person's strength.
        gain: what the game has done to the person's rating, None = nothing yet.
    """

    game: Game
    seats: dict[str, str]
    remote: bool = False
    clock: Clock | None = None
    ended: Outcome | None = None
    offer: dict[str, str] | None = None
    paused: bool = False
    fen: str | None = None
    successor: int | None = None
    aided: bool = False
    gain: float | None = None
    invited: str | None = None
    created: float = field(default_factory=time.time)

    def outcome(self) -> Outcome | None:
        """How the game has ended, None while it goes on."""
        return self.ended or self.game.outcome()

    @property
    def thinker(self) -> str | None:
        """The level that has to move, None if a person has or the game is over or paused."""
        seat = self.seats[self.game.color]
        return None if seat == PERSON or self.paused or self.outcome() else seat

    @property
    def machines(self) -> bool:
        """True if levels hold both seats."""
        return PERSON not in self.seats.values()

    @property
    def opponent(self) -> str | None:
        """The level that plays against a person, None if there is none."""
        levels = [seat for seat in self.seats.values() if seat != PERSON]
        return levels[0] if len(levels) == 1 else None

    def score(self) -> float | None:
        """The points of the person against a level: 1, 0.5 or 0; None while the game goes on, or if it is stopped."""
        outcome = self.outcome()
        if not outcome or outcome.termination == Termination.PLY_CAP:
            return None
        return 0.5 if outcome.winner is None else float(self.seats[outcome.winner] == PERSON)

    def move(self, action: int, now: float) -> None:
        """Plays a move of the side to move. An offer to that side lapses."""
        self._check_going_on()
        self.flag(now)
        self._check_going_on()
        mover = self.game.color
        self.game.push(action)
        if self.offer and self.offer["by"] != mover:
            self.offer = None
        if self.clock:
            self.clock.run(None if self.outcome() else self.game.color, now)
        if self.outcome():
            self.offer = None

    def undo(self, role: str, now: float) -> None:
        """Takes back: the person's last move with its reply, or one ply where nobody answers by machine.

        Raises:
            RequestError: there is nothing to take back.
        """
        if self.machines:
            raise RequestError("Machines take nothing back.")
        plies = self._plies_back(role)
        self.aided = True
        for _ in range(plies):
            self.game.pop()
        self.ended = self.offer = None
        if self.clock:
            self.clock.run(self.game.color, now)
            for side in "WB":  # so that a lost game on time can go on
                if not self.clock.main[side] and not self.clock.periods[side]:
                    self.clock.main[side] = 60.0

    def _plies_back(self, role: str) -> int:
        if self.ended:
            return 0
        persons = [side for side in "WB" if self.seats[side] == PERSON]
        if len(persons) == 2 and not self.remote:
            if not self.game.ply:
                raise RequestError("There is no move to take back.")
            return 1
        side = role if role in OTHER else persons[0]
        back = 1 if self.game.color != side else 2
        if self.game.ply < back:
            raise RequestError("You have not moved yet, so there is nothing to take back.")
        return back

    def resign(self, side: str, now: float) -> None:
        """Gives a side's game up."""
        self._check_going_on()
        self._end(Outcome(Termination.RESIGNATION, OTHER[side]), now)

    def agree(self, now: float) -> None:
        """Ends the game as a draw by agreement."""
        self._check_agreement()
        self._end(Outcome(Termination.AGREEMENT, None), now)

    def make_offer(self, kind: str, by: str) -> None:
        """Offers a draw or asks for an undo, which the other side may accept."""
        if kind == "draw":
            self._check_agreement()
        else:
            self._plies_back(by)
        self.offer = {"kind": kind, "by": by}

    def _check_agreement(self) -> None:
        self._check_going_on()
        if not self.game.rules.draw_by_agreement:
            raise RequestError(f"The rules {self.game.rules.name} know no draw by agreement.")

    def flag(self, now: float) -> None:
        """Ends the game if the time of the side to move is over."""
        if self.clock and not self.outcome():
            falls = self.clock.falls_at()
            if falls is not None and now >= falls:
                side = self.clock.running or self.game.color
                self._end(Outcome(Termination.TIME, OTHER[side]), now)

    def _end(self, outcome: Outcome, now: float) -> None:
        if self.clock:
            self.clock.run(None, now)
        self.ended, self.offer = outcome, None

    def _check_going_on(self) -> None:
        if self.outcome():
            raise RequestError("The game is over.")

    def rematch(self) -> "Table":
        """A new game from the same start, with the colours swapped."""
        seats = {side: self.seats[OTHER[side]] for side in "WB"}
        clock = Clock(self.clock.control) if self.clock else None
        return Table(
            Game(self.game.rules, self.fen), seats, self.remote, clock, fen=self.fen, aided=self.fen is not None
        )

    def pdn_game(self, names: dict[str, str], event: str) -> PdnGame:
        """The game with tags and result; ``names`` are the players' by side."""
        date = time.strftime("%Y.%m.%d", time.localtime(self.created))
        written = self.game.pdn({"Event": event, "Date": date, "White": names["W"], "Black": names["B"]})
        written.result = result_of(self.outcome(), self.game.rules)  # that of a resignation or an agreement too
        return written

    def pdn(self, names: dict[str, str]) -> str:
        """The game as a PDN file of the web application."""
        return write_pdn([self.pdn_game(names, "damas web")])

    def record(self) -> dict[str, Any]:
        """Everything, for :meth:`restore`."""
        return {
            "rules": self.game.rules.name,
            "fen": self.fen,
            "actions": [move.action for move in self.game.moves],
            "seats": self.seats,
            "remote": self.remote,
            "clock": self.clock.record() if self.clock else None,
            "ended": self.ended.as_dict() if self.ended else None,
            "offer": self.offer,
            "paused": self.paused,
            "successor": self.successor,
            "aided": self.aided,
            "gain": self.gain,
            "invited": self.invited,
            "created": self.created,
        }

    @classmethod
    def restore(cls, record: dict[str, Any], not_before: float) -> "Table":
        """The table of a record; ``not_before``: see :meth:`Clock.restore`."""
        game = Game(record["rules"], record["fen"])
        for action in record["actions"]:
            game.push(action)
        ended = record["ended"]
        return cls(
            game,
            record["seats"],
            record["remote"],
            Clock.restore(record["clock"], not_before) if record["clock"] else None,
            Outcome(Termination[ended["termination"]], ended["winner"]) if ended else None,
            record["offer"],
            record["paused"],
            record["fen"],
            record["successor"],
            record["aided"],
            record["gain"],
            record.get("invited"),  # games of older versions do not say
            record["created"],
        )


def new_table(
    rules: str,
    seats: dict[str, str],
    remote: bool = False,
    control: TimeControl | None = None,
    position: str = "",
) -> Table:
    """A table as the page asks for it.

    Args:
        rules: name of a rule set.
        seats, remote: see :class:`Table`.
        control: of the clock.
        position: a FEN, or a PDN text whose first game is continued; empty = the initial position.

    Raises:
        ValueError: unknown rules, a text that is neither, or a game whose header names other rules.
    """
    game, fen = read_position(position, get_rules(rules), True)
    if legal := game.legal_moves():  # so that kernels of new rules are compiled now, not during the first move
        game.push(legal[0])
        game.pop()
    return Table(game, seats, remote, Clock(control) if control else None, fen=fen, aided=bool(position.strip()))


def read_position(text: str, rules: RuleSet | None, strict: bool = False) -> tuple[Game, str | None]:
    """The game that a FEN or a PDN text describes, and the FEN of its start.

    Args:
        text: a FEN, or a PDN text, of which the first game counts.
        rules: None = those that the header of the game names.
        strict: refuses a header that names others than ``rules``.

    Raises:
        ValueError: the text is neither, or its game cannot be gone on with.
    """
    text = text.strip()
    if not text:
        return Game(rules or DEFAULT_RULES), None
    if "\n" not in text and text[:2].upper() in ("W:", "B:", '"W', '"B'):
        fen = text.strip('"')
        return Game(rules or DEFAULT_RULES, fen), fen
    text, tags = _first_game(text)
    if rules and strict:
        _check_rules(tags, rules)
    first = read_pdn(text, rules)[0]
    if first.error:
        raise RequestError(f"Line {first.error.line}: {first.error.reason}")
    game = Game(first.rules, first.fen)
    for move in first.moves:
        game.push(move.action)
    return game, first.fen


def _first_game(text: str) -> tuple[str, dict[str, str]]:
    """A PDN text up to the line in which its second game begins, and the header of the first: others take time."""
    games = split_games(text)
    if not games:
        raise RequestError("This text holds neither a position (FEN) nor a game (PDN).")
    if len(games[0].items) > _MOST_PLIES:
        raise RequestError(f"A game of more than {_MOST_PLIES} plies cannot be gone on with.")
    if len(games) > 1:
        end = games[1].line
        if sum(game.line <= end for game in games) > _MOST_ON_A_LINE:
            raise RequestError(f"Too many games begin in line {end}: give each a line of its own.")
        text = "\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:end])
    return text, games[0].tags


def _check_rules(tags: dict[str, str], rules: RuleSet) -> None:
    """Refuses a game whose header names other rules."""
    name, stated = tags.get("RuleSet", rules.name), parse_game_type(tags.get("GameType", ""))
    if name != rules.name:
        said = f"RuleSet {quoted(name, 40)}"
    elif stated and stated.number != rules.game_type:
        said = f"GameType {stated.number}"
    else:
        return
    raise RequestError(f"The header of this game says {said}, which is not {rules.name}: choose the rules of the game.")
