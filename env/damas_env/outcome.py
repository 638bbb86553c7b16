"""How a game ends: draw counters, position keys and the order of tests, as kernels.

Order: no legal move (the side to move has lost), repetition, the draw laws in the order of the rule set, the ply cap.
"""

import numpy as np

from damas_env.kernel import kernel, popcount
from damas_env.movegen import is_capture
from damas_env.rules import EVENT_CAPTURE, EVENT_CHANGE, EVENT_CROWNING, EVENT_MAN_MOVE, MAX_COUNTERS
from damas_env.termination import Outcome, Termination

__all__ = ["Outcome", "Termination", "advance_counters", "events_of", "judge", "key", "standing_laws"]

_NO_PIECES, _BLOCKED = int(Termination.NO_PIECES), int(Termination.BLOCKED)
_REPETITION = int(Termination.REPETITION)
_CAP_DRAW, _CAP = int(Termination.PLY_CAP_DRAW), int(Termination.PLY_CAP)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_MIX_1, _MIX_2, _MIX_3 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@kernel
def _mix(word):
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_2
    word = (word ^ (word >> np.uint64(27))) * _MIX_3
    return word ^ (word >> np.uint64(31))


@kernel
def key(own_men, own_kings, other_men, other_kings):
    """64-bit key of a position in the view of the side to move (uint64).

    The colour is not part of it: within one game, equal keys mean the same position with the same side to move only
    an even number of plies apart.
    """
    word = _mix(own_men + _MIX_1)
    word = _mix(word ^ own_kings) + _MIX_1
    word = _mix(word ^ other_men) + _MIX_1
    return _mix(word ^ other_kings)


@kernel
def standing_laws(tables, own_men, own_kings, other_men, other_kings):
    """The draw laws (bit mask, int64) whose conditions on material and squares hold in a position."""
    men, kings = popcount(own_men), popcount(own_kings)
    others, other_crowned = popcount(other_men), popcount(other_kings)
    index = ((men * tables.stride + kings) * tables.stride + others) * tables.stride + other_crowned
    laws = np.int64(tables.material[index])
    if laws & tables.diagonal_laws:
        own_lone = men == 0 and kings == 1 and own_kings & tables.diagonal != _ZERO
        other_lone = others == 0 and other_crowned == 1 and other_kings & tables.diagonal != _ZERO
        if not (own_lone or other_lone):
            laws &= ~tables.diagonal_laws
    return laws


@kernel
def events_of(own_men, code):
    """What a move does to counters (bit mask of the EVENT constants); ``own_men`` is taken before the move."""
    events = 0
    if is_capture(code):
        events |= EVENT_CAPTURE
    if (own_men >> (code >> np.uint64(58))) & _ONE:
        events |= EVENT_MAN_MOVE
    if code & _ONE:
        events |= EVENT_CROWNING
    return events


@kernel
def advance_counters(tables, before, after, events, counters, result):
    """Counters after a ply.

    A counter grows by the plies before and after which one of its laws stands, so the ply that makes one stand is not
    counted. While none stands it is 0, or waits if the rule set says so.

    Args:
        tables: draw laws.
        before, after: standing laws before and after the ply.
        events: see :func:`events_of`.
        counters: int16[4] before the ply.
        result: int16[4], receives the counters after it (may be ``counters`` itself).
    """
    for counter in range(MAX_COUNTERS):
        laws = np.int64(tables.laws_of_counter[counter])
        happened = events
        if (before ^ after) & laws:
            happened |= EVENT_CHANGE
        if happened & tables.resets[counter]:
            result[counter] = 0
        elif before & laws != 0 and after & laws != 0:
            result[counter] = counters[counter] + 1
        elif tables.pausing[counter]:
            result[counter] = counters[counter]
        else:
            result[counter] = 0


@kernel
def judge(tables, num_moves, own_pieces, laws, counters, repetitions, ply):
    """Termination (int64) of a position, 0 if the game goes on.

    Args:
        tables: draw laws.
        num_moves: legal moves of the side to move.
        own_pieces: bitboard of the side to move.
        laws: standing laws.
        counters: int16[4].
        repetitions: earlier occurrences of the position.
        ply: plies played.
    """
    if num_moves == 0:
        return _NO_PIECES if own_pieces == _ZERO else _BLOCKED
    if tables.repetition and repetitions + 1 >= tables.repetition:
        return _REPETITION
    for law in range(tables.num_laws):
        if (laws >> law) & 1 and counters[tables.counter_of[law]] >= tables.limits[law]:
            return np.int64(tables.terminations[law])
    if tables.ply_cap and ply >= tables.ply_cap:
        return _CAP_DRAW if tables.ply_cap_draws else _CAP
    return 0
