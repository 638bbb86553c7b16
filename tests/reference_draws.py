"""The draw laws of every system, written out a second time from their texts, and games under them.

Like `reference_rules` it shares nothing with `damas_env`: a law is a function of the slow position that says after how
many plies its clock draws the game.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from reference_rules import RefMove, State

Limits = list[tuple[int, str]]
"""(plies, termination) of what a clock can come to in a position; empty: the clock does not run."""


class Side(NamedTuple):
    kings: int
    men: int


class Played(NamedTuple):
    """What a ply did."""

    captured: bool
    by_man: bool
    crowned: bool


def sides(state: State) -> tuple[Side, Side]:
    """(White, Black)."""
    return Side(state.count("W"), state.count("w")), Side(state.count("B"), state.count("b"))


def either_way(state: State, *pairs: tuple[Side, Side]) -> bool:
    return any(sides(state) in ((strong, weak), (weak, strong)) for strong, weak in pairs)


def lone_kings(state: State) -> list[tuple[int, int]]:
    """The squares of kings that are all their side has."""
    found = []
    for side, letter in zip(sides(state), "WB", strict=True):
        if side == Side(1, 0):
            found += [square for square, piece in state.pieces.items() if piece == letter]
    return found


def lone_king_on_long_diagonal(state: State) -> bool:
    return any(state.variant.on_main_diagonal(square) for square in lone_kings(state))


def both_have_kings(state: State) -> bool:
    white, black = sides(state)
    return white.kings > 0 and black.kings > 0


LONE = Side(1, 0)
THREE_AGAINST_ONE = tuple((strong, LONE) for strong in (Side(3, 0), Side(2, 1), Side(1, 2)))
TWO_AGAINST_ONE = tuple((strong, LONE) for strong in (Side(2, 0), Side(1, 1), Side(1, 0)))
FIVE_MOVE_ENDINGS = (
    (Side(2, 0), Side(2, 0)), (Side(2, 0), Side(1, 0)), (Side(2, 0), Side(1, 1)), (Side(1, 0), Side(1, 0)),
    (Side(1, 0), Side(1, 1)),
)  # fmt: skip


def is_listed_ending(state: State) -> bool:
    """Whether the position is one of the endings of art. 99 or art. 100 of the CBD, either way round."""
    if either_way(state, *FIVE_MOVE_ENDINGS):
        return True
    return either_way(state, *THREE_AGAINST_ONE) and lone_king_on_long_diagonal(state)


@dataclass(frozen=True)
class Clock:
    """One count: when it runs, what starts it again, and whether it waits (else it is cleared) when it does not run."""

    name: str
    limits: Callable[[State], Limits]
    restarts: Callable[[Played, bool], bool] = lambda played, changed: False
    waits: bool = False


def kings_only(moves: int) -> Clock:
    return Clock(
        "kings_only",
        lambda state: [(2 * moves, "NO_PROGRESS")],
        lambda played, changed: played.captured or played.by_man,
    )


def no_progress(moves: int) -> Clock:
    return Clock("no_progress", kings_only(moves).limits, kings_only(moves).restarts)


def five_moves(stands: Callable[[State], bool]) -> Clock:
    return Clock("ending", lambda state: [(10, "ENDING")] if stands(state) else [])


def three_kings(moves: int, stands: Callable[[State], bool] = lambda state: True) -> Clock:
    """Exactly three kings against one."""

    def limits(state: State) -> Limits:
        return [(2 * moves, "ENDING")] if either_way(state, (Side(3, 0), LONE)) and stands(state) else []

    return Clock("three_kings", limits)


def three_or_more_kings_against_one(state: State) -> bool:
    white, black = sides(state)
    return any(
        strong.men == 0 and strong.kings >= 3 and weak == LONE for strong, weak in ((white, black), (black, white))
    )


def unchanged_balance(state: State) -> Limits:
    """FMJD-64, art. 7.2.6."""
    if not both_have_kings(state):
        return []
    return {
        4: [(60, "NO_PROGRESS")],
        5: [(60, "NO_PROGRESS")],
        6: [(120, "NO_PROGRESS")],
        7: [(120, "NO_PROGRESS")],
    }.get(len(state.pieces), [])


def captured_or_crowned(played: Played, changed: bool) -> bool:
    return played.captured or played.crowned


def fmjd_endings(state: State) -> Limits:
    """Art. 7.2.7 and 7.2.8; the names only tell the two apart."""
    if either_way(state, *THREE_AGAINST_ONE) and lone_king_on_long_diagonal(state):
        return [(10, "ENDING")]
    return [(10, "ENDING")] if either_way(state, *TWO_AGAINST_ONE) else []


FMJD_64 = (
    kings_only(15),
    Clock("three_kings", lambda state: [(30, "ENDING")] if three_or_more_kings_against_one(state) else []),
    Clock("balance", unchanged_balance, captured_or_crowned),
    Clock("ending", fmjd_endings, lambda played, changed: changed),
)


def lidraughts_balance(state: State) -> Limits:
    found: Limits = []
    if three_or_more_kings_against_one(state):
        found.append((30, "ENDING"))
    if either_way(state, *THREE_AGAINST_ONE[1:]) and lone_king_on_long_diagonal(state):
        found.append((30, "ENDING"))
    return found + unchanged_balance(state)


LIDRAUGHTS = (
    Clock("few_pieces", lambda state: [(10, "ENDING")] if either_way(state, *TWO_AGAINST_ONE) else []),
    Clock(
        "diagonal",
        lambda state: (
            [(10, "ENDING")] if either_way(state, *THREE_AGAINST_ONE) and lone_king_on_long_diagonal(state) else []
        ),
        waits=True,
    ),
    Clock("balance", lidraughts_balance, captured_or_crowned),
    Clock(
        "kings_only",
        lambda state: [(30, "NO_PROGRESS")] if both_have_kings(state) and len(state.pieces) >= 8 else [],
        kings_only(15).restarts,
    ),
)

INTERNATIONAL = (
    kings_only(25),
    Clock(
        "sixteen_moves",
        lambda state: [(32, "ENDING")] if either_way(state, *THREE_AGAINST_ONE, *TWO_AGAINST_ONE) else [],
    ),
    Clock("five_moves", lambda state: [(10, "ENDING")] if either_way(state, *TWO_AGAINST_ONE) else []),
)


@dataclass(frozen=True)
class System:
    """All that ends a game in a draw, or stops it, in one system."""

    variant: str
    clocks: tuple[Clock, ...]
    occurrences: int = 3
    longest: int = 0
    longest_draws: bool = False


CBD = (kings_only(20), five_moves(is_listed_ending))

SYSTEMS = {
    "cbd": System("brazilian", CBD),
    "dogames": System("brazilian", CBD),
    "damasite": System("brazilian", (no_progress(40),)),
    "damasite-16": System("brazilian", (no_progress(40), three_kings(16))),
    "ttakji": System("brazilian", (kings_only(20),), longest=400, longest_draws=True),
    "damas-brasileiro": System("brazilian", (), occurrences=0, longest=300),
    "regras-oficiais": System(
        "brazilian", (kings_only(20), five_moves(lambda state: either_way(state, *FIVE_MOVE_ENDINGS))), occurrences=0
    ),
    "lidraughts": System("brazilian", LIDRAUGHTS),
    "fmjd64": System("brazilian", FMJD_64),
    "american": System("american", (no_progress(40),)),
    "russian": System("russian", FMJD_64),
    "pool": System("pool", (three_kings(13),), longest=400),
    "spanish": System("spanish", (kings_only(20), three_kings(12))),
    "portuguese": System("portuguese", (kings_only(20), three_kings(12))),
    "international": System("international", INTERNATIONAL),
    "thai": System("thai", (), longest=300),
    "filipino": System("filipino", (no_progress(40),)),
}


@dataclass
class ReferenceGame:
    """One game under the laws of one system, with the order of endings that the design lays down."""

    state: State
    system: System = SYSTEMS["cbd"]
    ply: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    seen: list[tuple] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = {clock.name: 0 for clock in self.system.clocks}
        self.seen.append(self._key())

    def push(self, move: RefMove) -> None:
        before = self.state
        by_man = before.pieces[before.variant.squares[move.frm - 1]].islower()
        played = Played(bool(move.captures), by_man, move.promotes)
        self.state = before.play(move)
        self.ply += 1
        for clock in self.system.clocks:
            ran, runs = clock.limits(before), clock.limits(self.state)
            changed = bool(ran) != bool(runs) or is_three(before) != is_three(self.state)
            if clock.restarts(played, changed):
                self.counts[clock.name] = 0
            elif ran and runs:
                self.counts[clock.name] += 1
            elif not clock.waits:
                self.counts[clock.name] = 0
        self.seen.append(self._key())

    @property
    def earlier_occurrences(self) -> int:
        """How often the present position, with the same side to move, stood before in this game."""
        return self.seen[:-1].count(self.seen[-1])

    def outcome(self) -> tuple[str, str | None] | None:
        """(termination, winner "W"/"B"/None), or None while the game goes on."""
        opponent = "B" if self.state.white else "W"
        if not self.state._own_squares():
            return "NO_PIECES", opponent
        if not self.state.legal_moves():
            return "BLOCKED", opponent
        if self.system.occurrences and self.earlier_occurrences + 1 >= self.system.occurrences:
            return "REPETITION", None
        for clock in self.system.clocks:
            for plies, termination in clock.limits(self.state):
                if self.counts[clock.name] >= plies:
                    return termination, None
        if self.system.longest and self.ply >= self.system.longest:
            return ("PLY_CAP_DRAW" if self.system.longest_draws else "PLY_CAP"), None
        return None

    def _key(self) -> tuple:
        return self.state.white, tuple(sorted(self.state.pieces.items()))


def is_three(state: State) -> bool:
    """Whether three pieces face a lone king: what tells art. 7.2.7 of the FMJD from 7.2.8."""
    return either_way(state, *THREE_AGAINST_ONE)
