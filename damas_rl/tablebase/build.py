"""Retrograde analysis: the value of every position of few pieces, balance by balance.

Values (uint8): 0 = draw, n + 1 = decided in n plies with best play of both (even n: lost for the side to move, odd n:
won), ``HOLE`` = no position. The winner takes the shortest way, the loser the longest. Draw laws are left out.

Slices are solved together with their turned twins, since a quiet move leads from one to the other; captures and
crownings lead to slices that are solved already. In pass n the positions that are decided in n plies are found. A
position is looked at in the first pass, in the pass in which a move out of the slice may decide it, and when a quiet
move leads to a position that has been decided in the pass before.
"""

from collections.abc import Callable

import numpy as np

from damas_env.board import UP_LEFT, UP_RIGHT
from damas_env.kernel import kernel, lowest
from damas_env.movegen import WORK, board_mask, generate, king_targets, play, step, turn
from damas_env.position import in_chunks
from damas_env.rules import RuleSet
from damas_rl.tablebase.index import new_index, number, place, slices, slot

HOLE = 255
_ZERO, _ONE = np.uint64(0), np.uint64(1)
LONGEST = 252
"""Plies of the longest result that a value has room for."""


@kernel
def examine(spec, index, values, a, b, c, d, work):
    """Value of a position from those of its successors: 0 if these do not decide it (yet)."""
    count = generate(spec, a, b, c, d, work)
    win, loss, open_ = HOLE, 0, False
    for move in range(count):
        e, f, g, h = play(spec, a, b, c, d, work.moves[move])
        value = 1
        if e | f != _ZERO:
            value = np.int64(values[number(spec, index, e, f, g, h)])
        if value == 0:
            open_ = True
        elif value & 1:
            win = min(win, value + 1)
        else:
            loss = max(loss, value + 1)
    if win < HOLE:
        return win
    if open_:
        return 0
    return max(loss, 1)


@kernel
def _mark(spec, index, due, a, b, c, d):
    due[number(spec, index, a, b, c, d)] = 1


@kernel
def _mark_predecessors(spec, index, marks, a, b, c, d):
    """Marks the positions from which a quiet move leads to a position."""
    empty = board_mask(spec) & ~(a | b | c | d)
    own_men, own_kings = turn(spec, a), turn(spec, b)
    rest = c
    while rest != _ZERO:
        piece = rest & (~rest + _ONE)
        rest ^= piece
        for direction in (UP_LEFT, UP_RIGHT):
            origin = step(spec, direction, piece) & empty
            if origin != _ZERO:
                _mark(spec, index, marks, turn(spec, (c ^ piece) | origin), turn(spec, d), own_men, own_kings)
    rest = d
    while rest != _ZERO:
        piece = rest & (~rest + _ONE)
        rest ^= piece
        origins = king_targets(spec, lowest(piece), a | b | c | d)
        while origins != _ZERO:
            origin = origins & (~origins + _ONE)
            origins ^= origin
            _mark(spec, index, marks, turn(spec, c), turn(spec, (d ^ piece) | origin), own_men, own_kings)


@kernel
def _pass(start, end, spec, index, first, men, kings, others, crowned, plies, values, due, now, later, changed):
    """One pass over a part of a slice: finds what is decided in ``plies`` plies.

    Args:
        start, end: numbers within the slice, which begins at ``first``.
        due: uint8, pass in which a position is to be looked at again, 0 = unknown.
        now, later: uint8, marks of positions to be looked at in this pass and in the next one.
        changed: uint8[1], becomes 1 if something was found.
    """
    work = np.empty(1, WORK)[0]
    for rank in range(start, end):
        here = first + rank
        if values[here] != 0 or (plies > 0 and now[here] == 0 and due[here] != plies):
            continue
        a, b, c, d = place(spec, rank, men, kings, others, crowned)
        if plies == 0 and (a & b) | (c & d) | ((a | b) & (c | d)) != _ZERO:
            values[here] = HOLE
            continue
        value = examine(spec, index, values, a, b, c, d, work)
        if value == plies + 1:
            values[here] = value
            changed[0] = 1
            _mark_predecessors(spec, index, later, a, b, c, d)
        elif value > plies + 1:
            due[here] = value - 1


def build(rules: RuleSet, pieces: int, progress: Callable[[int, int], None] | None = None) -> np.ndarray:
    """Values of all positions of 2 to ``pieces`` pieces.

    Args:
        rules: rule set; only how pieces move matters.
        pieces: pieces of both sides together, 2 to 6.
        progress: called with (numbers done, all numbers).

    Returns:
        uint8[index.size] in the order of :func:`~damas_rl.tablebase.index.new_index`.
    """
    index = new_index(rules.size, pieces)
    values = np.zeros(int(index["size"]), dtype=np.uint8)
    due, now, later = (np.zeros(len(values), dtype=np.uint8) for _ in range(3))
    done = 0
    for balance in slices(pieces):
        if balance > balance.turned:
            continue
        pair = [balance] if balance == balance.turned else [balance, balance.turned]
        parts = [(one, int(index["offsets"][slot(*one)]), one.size(rules.size)) for one in pair]
        plies, latest, changed = 0, 0, np.ones(1, dtype=np.uint8)
        while changed[0] or plies <= latest:
            changed[0] = 0
            for one, first, size in parts:
                in_chunks(_pass, size, rules.spec, index, first, *one, plies, values, due, now, later, changed)
            latest = max(int(due[first : first + size].max()) for _, first, size in parts)
            now, later = later, now
            for _, first, size in parts:
                later[first : first + size] = 0
            plies += 1
            if plies > LONGEST:
                raise ValueError(f"A position of {balance} is decided in more than {LONGEST} plies; there is no room.")
        done += sum(size for _, _, size in parts)
        if progress is not None:
            progress(done, len(values))
    return values
