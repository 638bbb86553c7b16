"""Probing: which of the tables that are kept holds a position, and what it says of it."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from damas_env.errors import shown
from damas_env.position import Positions
from damas_env.presets import RULE_SETS
from damas_env.rules import RuleSet
from damas_rl.tablebase.index import MOST_PIECES
from damas_rl.tablebase.paths import default_path
from damas_rl.tablebase.table import Tablebase, TablebaseError

BUILT_AT_ONCE = 4
"""Tables of up to so many pieces are built when they are first asked for: that takes seconds."""


@dataclass(frozen=True)
class Verdict:
    """What an endgame table says of a position.

    Attributes:
        result: 1 = won, 0 = drawn, -1 = lost for the side to move, by the board alone.
        plies: to the end with best play, 0 in draws.
    """

    result: int
    plies: int

    def __str__(self) -> str:
        if self.result == 0:
            return "draw"
        return f"{'win' if self.result > 0 else 'loss'} in {self.plies} {'ply' if self.plies == 1 else 'plies'}"

    @property
    def before(self) -> "Verdict":
        """The same for the side that has moved to the position, one ply earlier."""
        return Verdict(-self.result, self.plies + (self.result != 0))


def open_tablebase(rules: RuleSet, pieces: int, progress: Callable[[int, int], None] | None = None) -> Tablebase:
    """The table of a rule set from where it is kept; one of up to ``BUILT_AT_ONCE`` pieces is built if it is not there.

    Raises:
        TablebaseError: there is none of so many pieces, or it is damaged.
        ValueError: an impossible number of pieces.
    """
    if not 2 <= pieces <= MOST_PIECES:
        raise ValueError(f"Endgame tables have 2 to {MOST_PIECES} pieces, not {shown(pieces)}.")
    path = default_path(rules, pieces)
    if path.exists():
        return Tablebase.load(path, rules, pieces)
    if pieces > BUILT_AT_ONCE:
        given = rules.name if RULE_SETS.get(rules.name) == rules else "FILE"  # a rule set does not know its file
        command = f"damas tablebase build --rules {given} --pieces {pieces}"
        raise TablebaseError(f"There is no table of {pieces} pieces for {rules.name!r} yet: {command}")
    table = Tablebase.build(rules, pieces, progress)
    with contextlib.suppress(OSError):  # without a file it is built again next time
        table.save(path)
    return table


def pieces_of(positions: Positions) -> int:
    """Pieces of both sides in a batch of one."""
    return int(np.bitwise_count(positions.boards).sum())


def table_kept(rules: RuleSet, pieces: int) -> Tablebase | None:
    """The smallest table that is kept and holds positions of so many pieces; None if there is none.

    Raises:
        TablebaseError: there are some, but all of them are damaged; tells of the smallest.
    """
    damaged = None
    for size in range(max(pieces, 2), MOST_PIECES + 1):
        path = default_path(rules, size)
        if path.exists():
            try:
                return Tablebase.load(path, rules, size)
            except TablebaseError as error:
                damaged = damaged or error
    if damaged:
        raise damaged
    return None


def table_for(positions: Positions) -> Tablebase | None:
    """The table for a batch of one: one that is kept, or one of few pieces, built now; None if it takes a larger one.

    Raises:
        TablebaseError: see :func:`table_kept`.
    """
    pieces, rules = pieces_of(positions), positions.rules
    table = table_kept(rules, pieces)
    return open_tablebase(rules, BUILT_AT_ONCE) if table is None and pieces <= BUILT_AT_ONCE else table


def probe(table: Tablebase, positions: Positions) -> Verdict | None:
    """What a table says of a batch of one; None if it does not hold the position.

    A side that has lost its last piece has lost, though no table holds such a position.
    """
    if positions.lost[0]:
        return Verdict(-1, 0)
    result, plies = table.look_up(positions)
    return Verdict(int(result[0]), int(plies[0])) if plies[0] >= 0 else None
