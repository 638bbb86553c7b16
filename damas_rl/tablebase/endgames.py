"""What a search asks of a tablebase: the value of a position in a game, with its draw laws, as a kernel.

A table knows the board and no draw law. A draw of the board is a draw of the game, since laws only end games as draws.
A win of the board is a win of the game if no law can strike before it: that is so if it takes no more plies than each
law that stands, or may come to stand on the way, still allows. It is a draw if a law stands that cannot cease to stand
and strikes before. Otherwise the game has to be played on to find out.
"""

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from damas_env.draw_laws import MAX_LAWS
from damas_env.kernel import kernel, popcount
from damas_env.movegen import play
from damas_env.outcome import standing_laws
from damas_env.rules import RuleSet
from damas_rl.tablebase.index import HOLE, MOST_PIECES, new_index, number, slices, slot, slot_of

UNKNOWN, WIN, LOSS, DRAW = 0, 1, 2, 3
"""What is proven of a position, for its side to move."""

_ZERO = np.uint64(0)
_SLOTS = (MOST_PIECES + 1) ** 4


def new_endgames(rules: RuleSet, pieces: int = 0, values: NDArray[np.uint8] | None = None) -> np.void:
    """A table and what the draw laws of a rule set mean for it, as a record for kernels.

    Args:
        rules: rule set of the games.
        pieces: most pieces of both sides together; 0 = no table.
        values: the table, C-contiguous. The record holds its address: it must be kept as long as the record.

    Returns:
        A record with ``pieces``, ``address`` of the values, ``offsets`` (see
        :func:`~damas_rl.tablebase.index.new_index`), and for each balance, as bit masks of draw laws, ``reachable``:
        those that stand in it or in one that may follow; and ``lasting``: those that stand in it and in all that may
        follow, wherever the pieces are, and whose count nothing puts back.
    """
    layout = [
        ("pieces", np.int64), ("address", np.uint64), ("offsets", np.int64, _SLOTS),
        ("reachable", np.uint8, _SLOTS), ("lasting", np.uint8, _SLOTS),
    ]  # fmt: skip
    endgames: np.void = np.zeros(1, dtype=layout)[0]
    if values is None or not pieces:
        return endgames
    endgames["pieces"], endgames["address"] = pieces, values.ctypes.data
    endgames["offsets"] = new_index(rules.size, pieces)["offsets"]
    laws = rules.draw_laws[:MAX_LAWS]
    stands = [law.balances(MOST_PIECES) for law in laws]
    for balance in slices(pieces):
        # Pieces may be taken and men crowned.
        men, kings = balance[::2], balance[1::2]
        later = np.zeros((MOST_PIECES + 1,) * 4, dtype=np.bool_)
        own, own_kings, other, other_kings = np.ogrid[(slice(MOST_PIECES + 1),) * 4]
        later |= (own <= men[0]) & (own + own_kings <= men[0] + kings[0]) & (own + own_kings > 0)
        later &= (other <= men[1]) & (other + other_kings <= men[1] + kings[1]) & (other + other_kings > 0)
        here = slot(*balance)
        for bit, (law, standing) in enumerate(zip(laws, stands, strict=True)):
            if standing[later].any():
                endgames["reachable"][here] |= 1 << bit
            resets = any(other.resets for other in laws if other.counter == law.counter)
            if standing[later].all() and law.by_material and not resets:
                endgames["lasting"][here] |= 1 << bit
    return endgames


@intrinsic
def _byte_at(typing_context: Any, address: Any, offset: Any) -> Any:
    """The byte (uint8) at an address (uint64) plus an offset (int64).

    An array as an argument would have its references counted in every call.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        start = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.load(builder.gep(start, [arguments[1]]))

    return types.uint8(types.uint64, types.int64), generate


@kernel
def value_of(spec, endgames, a, b, c, d):
    """Value (int64) of a position by the board alone, see ``build``; ``HOLE`` if it is not in the table."""
    if popcount(a | b | c | d) > endgames.pieces:
        return HOLE
    here = number(spec, endgames, a, b, c, d)
    return np.int64(_byte_at(endgames.address, here)) if here >= 0 else HOLE


@kernel
def verdict(spec, tables, endgames, a, b, c, d, laws, counters, reversible, plies):
    """What the table says of a position of a game.

    Args:
        spec, tables: movement flags and draw laws.
        endgames: see :func:`new_endgames`.
        a, b, c, d: boards in the view of the side to move.
        laws, counters, reversible, plies: standing draw laws, their counters, plies since the last capture or man
            move, and plies of the game.

    Returns:
        (proof, result, distance): what is proven of the game, ``UNKNOWN`` if a draw law may still decide; the result
        of the board, 1 = won, 0 = drawn, -1 = lost for the side to move; the plies to it, -1 = not in the table.
    """
    value = value_of(spec, endgames, a, b, c, d)
    if value == HOLE:
        return UNKNOWN, 0, -1
    if value == 0:
        return DRAW, 0, 0
    distance, result = value - 1, 1 - 2 * (value & 1)
    # Two earlier occurrences of one position need four plies between them.
    sure = tables.repetition == 0 or reversible < 4 * (tables.repetition - 2)
    sure &= tables.ply_cap == 0 or plies + distance <= tables.ply_cap
    here = slot_of(popcount(a), popcount(b), popcount(c), popcount(d))
    reachable, lasting = np.int64(endgames.reachable[here]), np.int64(endgames.lasting[here])
    for law in range(tables.num_laws):
        if distance > tables.limits[law] - counters[tables.counter_of[law]]:
            if (lasting & laws) >> law & 1:
                return DRAW, result, distance
            if reachable >> law & 1:
                sure = False
    if not sure:
        return UNKNOWN, result, distance
    return WIN if result > 0 else LOSS, result, distance


@kernel
def rank_moves(spec, endgames, boards, moves, counts, out):
    """Values of the successors of many positions, for the side that moves there.

    Args:
        spec: movement flags.
        endgames: see :func:`new_endgames`.
        boards: uint64[B, 4]. moves, counts: legal moves as in ``Positions``.
        out: uint8[B, M], receives the values; ``HOLE`` where the successor is not in the table, 1 (lost in no ply)
            where its side to move has no piece left.
    """
    for row in range(len(boards)):
        for column in range(counts[row]):
            a, b, c, d = play(spec, boards[row, 0], boards[row, 1], boards[row, 2], boards[row, 3], moves[row, column])
            out[row, column] = value_of(spec, endgames, a, b, c, d) if a | b != _ZERO else 1


@kernel
def judge_positions(spec, tables, endgames, boards, counters, history_len, plies, proofs, results, distances):
    """The :func:`verdict` of many positions, given as arrays of ``Positions``; the last three arrays receive it."""
    for row in range(len(boards)):
        a, b, c, d = boards[row, 0], boards[row, 1], boards[row, 2], boards[row, 3]
        laws = standing_laws(tables, a, b, c, d)
        proofs[row], results[row], distances[row] = verdict(
            spec, tables, endgames, a, b, c, d, laws, counters[row], history_len[row] - 1, plies[row]
        )
