"""Draw laws as data, and as the tables that kernels read.

A law stands in a position if all its conditions hold; while it stands its counter grows, and at ``plies`` the game is
drawn. Conditions on material are compiled into one table over (men, kings) of both sides, so a kernel looks them all
up at once however they are worded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from damas_env.errors import quoted, shown
from damas_env.termination import Termination

EVENT_CAPTURE, EVENT_MAN_MOVE, EVENT_CROWNING, EVENT_CHANGE = 1, 2, 4, 8
EVENTS = {"capture": EVENT_CAPTURE, "man_move": EVENT_MAN_MOVE, "crowning": EVENT_CROWNING, "change": EVENT_CHANGE}

MAX_COUNTERS = 4
MAX_LAWS = 8
MOST_PLIES = 30_000
MOST_PIECES = 20
"""Pieces of one side on the largest board."""

TERMINATIONS = (Termination.NO_PROGRESS, Termination.ENDING)
"""How a draw law can end a game."""

_COUNT = r"(0|[1-9][0-9]?)(\+?)"
_SIDE = re.compile(rf"{_COUNT}K(?:\+{_COUNT}M)?|{_COUNT}M")
_COUNTER = re.compile(r"[a-z][a-z0-9_]{0,31}")


_KINDS = {int: "a whole number", bool: "True or False", str: "a text", Termination: "a Termination"}


def refuse_other_types(owner: str, values: Any) -> None:
    """ValueError unless each field of a dataclass is of just the type that it is annotated with.

    Kernels know no others.
    """
    for entry in fields(values):
        value, wanted = getattr(values, entry.name), entry.type
        if isinstance(wanted, UnionType):  # or None
            if value is None:
                continue
            wanted = get_args(wanted)[0]
        if get_origin(wanted) is tuple:
            inner = get_args(wanted)
            fits = type(value) is tuple and all(type(item) is inner[0] for item in value)
            fits = fits and (inner[-1] is ... or len(value) == len(inner))
            kind = f"a tuple of {inner[0].__name__}{'' if inner[-1] is ... else f', {len(inner)} of them'}"
        else:
            fits, kind = type(value) is wanted, _KINDS[wanted]  # type: ignore[index]
        if not fits:
            raise ValueError(f"{owner}: {entry.name}={shown(value)}, but it must be {kind}.")


class SideMaterial(NamedTuple):
    """What one side of a material balance may have: (fewest, most) kings and men."""

    kings: tuple[int, int]
    men: tuple[int, int]


def parse_balance(text: str) -> tuple[SideMaterial, SideMaterial]:
    """The two sides of a material balance such as ``"2K-1K+1M"`` or ``"3+K-1K"`` (three or more kings against one).

    Raises:
        ValueError: it reads otherwise, or leaves a side without pieces.
    """
    parts = text.split("-")
    matches = [_SIDE.fullmatch(part) for part in parts]
    if len(parts) != 2 or not all(matches):
        raise ValueError(
            f"Material balance {quoted(text)} does not read like '2K-1K+1M' or '3+K-1K': two sides joined by '-'."
        )
    one, other = (_side(match) for match in matches if match)
    if one.kings[1] + one.men[1] == 0 or other.kings[1] + other.men[1] == 0:
        raise ValueError(
            f"Material balance {quoted(text)} does not read like '2K-1K': a side without pieces has lost already."
        )
    return one, other


def _side(match: re.Match[str]) -> SideMaterial:
    def limits(count: str | None, more: str | None) -> tuple[int, int]:
        fewest = int(count or 0)
        return fewest, MOST_PIECES if more else fewest

    kings, more_kings, men, more_men, only_men, more_only = match.groups()
    return SideMaterial(limits(kings, more_kings), limits(men or only_men, more_men or more_only))


@dataclass(frozen=True)
class DrawLaw:
    """One way in which plies without progress draw the game.

    A law stands in a position if ``material``, ``pieces``, ``both_have_kings`` and ``lone_king_on_main_diagonal`` all
    allow it. The ply that makes it stand is not counted.

    Attributes:
        plies: the game is drawn once the counter has reached this many plies (moves of both sides counted).
        counter: name of the count; laws that name the same counter share one count.
        termination: how the outcome is reported, ``NO_PROGRESS`` or ``ENDING``.
        material: balances under which the law stands, e.g. ``"2K-1K+1M"`` or ``"3+K-1K"`` (``+`` after a number = or
            more; either side may be the strong one); empty = any.
        lone_king_on_main_diagonal: the side with a single king must have it on the long diagonal (a1-h8).
        resets: what puts the count back to 0 while the law goes on standing: ``"capture"``, ``"man_move"``,
            ``"crowning"``, ``"change"`` (from one law of the counter to another).
        pieces: fewest and most pieces on the board, both sides together; None = any number.
        both_have_kings: each side must have a king.
        pauses: the count waits while no law of the counter stands (else it goes back to 0).
    """

    plies: int
    counter: str
    termination: Termination
    material: tuple[str, ...] = ()
    lone_king_on_main_diagonal: bool = False
    resets: tuple[str, ...] = ()
    pieces: tuple[int, int] | None = None
    both_have_kings: bool = False
    pauses: bool = False

    def __post_init__(self) -> None:
        refuse_other_types("Draw law", self)
        if not 1 <= self.plies <= MOST_PLIES:
            raise ValueError(f"A draw law needs 1 to {MOST_PLIES} plies, not {shown(self.plies)}.")
        if not _COUNTER.fullmatch(self.counter):
            raise ValueError(
                f"A draw law's counter is a name like 'kings_only' in small letters, not {quoted(self.counter)}."
            )
        if self.termination not in TERMINATIONS:
            allowed = " or ".join(termination.name for termination in TERMINATIONS)
            raise ValueError(f"A draw law's termination is {allowed}, not {self.termination.name}.")
        for event in self.resets:
            if event not in EVENTS:
                raise ValueError(f"Unknown reset {quoted(event)} in a draw law; choose from {', '.join(EVENTS)}.")
        for key in ("material", "resets"):
            if len(set(getattr(self, key))) < len(getattr(self, key)):
                raise ValueError(f"A draw law's {key} names something twice: {shown(getattr(self, key))}.")
        if self.pauses and "change" in self.resets:
            raise ValueError("A draw law that pauses cannot be reset by a change: it would never pause.")
        if self.pauses and self.always:
            raise ValueError("A draw law that pauses needs a condition, for without one it always stands.")
        for balance in self.material:
            parse_balance(balance)
        if self.pieces is not None and not 2 <= self.pieces[0] <= self.pieces[1] <= 2 * MOST_PIECES:
            raise ValueError(
                f"A draw law's pieces are the fewest and the most on the board, such as [4, 5], "
                f"from 2 to {2 * MOST_PIECES}, not {shown(self.pieces)}."
            )

    @property
    def always(self) -> bool:
        """True if the law stands in every position."""
        return self.by_material and not (self.material or self.pieces or self.both_have_kings)

    @property
    def by_material(self) -> bool:
        """True if the numbers of pieces alone decide whether the law stands."""
        return not self.lone_king_on_main_diagonal

    def balances(self, men: int) -> NDArray[np.bool_]:
        """Where the law stands by material alone, whatever the squares.

        Args:
            men: most pieces of a side.

        Returns:
            bool[K, K, K, K] with K = ``men + 1``, index (own men, own kings, other men, other kings).
        """
        own_men, own_kings, other_men, other_kings = np.ogrid[(slice(men + 1),) * 4]
        stands = np.full((men + 1,) * 4, not self.material)
        for balance in self.material:
            one, other = parse_balance(balance)
            for own, opponent in ((one, other), (other, one)):
                stands |= (
                    _within(own_men, own.men)
                    & _within(own_kings, own.kings)
                    & _within(other_men, opponent.men)
                    & _within(other_kings, opponent.kings)
                )
        if self.pieces is not None:
            stands &= _within(own_men + own_kings + other_men + other_kings, self.pieces)
        if self.both_have_kings:
            stands &= (own_kings > 0) & (other_kings > 0)
        return stands

    def can_stand(self, men: int) -> bool:
        """True if some position with at most ``men`` pieces of each side fulfils the conditions."""
        own_men, own_kings, other_men, other_kings = np.ogrid[(slice(men + 1),) * 4]
        possible = self.balances(men)
        possible &= _within(own_men + own_kings, (1, men)) & _within(other_men + other_kings, (1, men))
        if self.lone_king_on_main_diagonal:
            possible &= ((own_men == 0) & (own_kings == 1)) | ((other_men == 0) & (other_kings == 1))
        return bool(possible.any())


def _within(count: NDArray[np.int_], limits: tuple[int, int]) -> NDArray[np.bool_]:
    return (count >= limits[0]) & (count <= limits[1])


def counter_names(laws: Sequence[DrawLaw]) -> tuple[str, ...]:
    """The counters of some draw laws, in order of appearance."""
    return tuple(dict.fromkeys(law.counter for law in laws))


def compile_tables(
    laws: Sequence[DrawLaw], pieces: int, diagonal: int, repetition: int, ply_cap: int, ply_cap_draws: bool
) -> np.void:
    """The draw laws of a rule set as a record for kernels, which pass it on as a bare pointer.

    Args:
        laws: draw laws.
        pieces: most pieces of a side; decides the type of the record.
        diagonal: bits of the main diagonal.
        repetition, ply_cap, ply_cap_draws: see :class:`~damas_env.rules.RuleSet`.

    Returns:
        A record with the fields

        * ``material``: uint8[K**4] with K = ``stride`` = ``pieces + 1``, the laws (bit mask) that stand for (own men,
          own kings, other men, other kings), index ``((om * K + ok) * K + xm) * K + xk``;
        * ``limits``, ``counter_of``, ``terminations``: plies, counter and termination of each of the ``num_laws`` laws;
        * ``laws_of_counter``, ``resets``, ``pausing``: laws (bit mask) of each counter, events (bit mask) that reset
          it, and whether it waits while none of its laws stands;
        * ``diagonal_laws``: laws (bit mask) that need a lone king on the main diagonal; ``diagonal``, its bits;
        * ``repetition``, ``ply_cap``: 0 = never; ``ply_cap_draws``.
    """
    words = ("stride", "num_laws", "diagonal_laws", "repetition", "ply_cap", "ply_cap_draws")
    layout = np.dtype(
        [
            *((word, np.int64) for word in words),
            ("diagonal", np.uint64),
            ("limits", np.int16, MAX_LAWS),
            ("counter_of", np.int8, MAX_LAWS),
            ("terminations", np.int8, MAX_LAWS),
            ("laws_of_counter", np.uint8, MAX_COUNTERS),
            ("resets", np.uint8, MAX_COUNTERS),
            ("pausing", np.uint8, MAX_COUNTERS),
            ("material", np.uint8, (pieces + 1) ** 4),
        ],
        align=True,
    )
    tables: np.void = np.zeros(1, dtype=layout)[0]
    material = tables["material"].reshape((pieces + 1,) * 4)
    names = counter_names(laws)
    for index, law in enumerate(laws):
        bit, counter = 1 << index, names.index(law.counter)
        tables["limits"][index], tables["counter_of"][index] = law.plies, counter
        tables["terminations"][index] = law.termination
        tables["laws_of_counter"][counter] |= bit
        tables["resets"][counter] = sum(EVENTS[event] for event in law.resets)
        tables["pausing"][counter] = law.pauses
        tables["diagonal_laws"] |= bit * law.lone_king_on_main_diagonal
        material[law.balances(pieces)] |= np.uint8(bit)
    tables["stride"], tables["num_laws"], tables["diagonal"] = pieces + 1, len(laws), diagonal
    tables["repetition"], tables["ply_cap"], tables["ply_cap_draws"] = repetition, ply_cap, ply_cap_draws
    return tables
