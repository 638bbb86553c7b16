"""Retrograde analysis: the value of every position of few pieces, balance by balance.

Values (uint8): 0 = draw, n + 1 = decided in n plies with best play of both (even n: lost for the side to move, odd n:
won), ``HOLE`` = no position. The winner takes the shortest way, the loser the longest. Draw laws are left out.

Slices are solved together with their turned twins, since a quiet move leads from one to the other; captures and
crownings lead to slices that are solved already. In pass n the positions that are decided in n plies are found. A
position is looked at in the first pass, in the pass in which a move out of the slice may decide it, and when a quiet
move leads to a position that has been decided in the pass before.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from damas_env.board import UP_LEFT, UP_RIGHT
from damas_env.kernel import kernel, lowest
from damas_env.movegen import WORK, board_mask, generate, king_targets, play, step, turn
from damas_env.position import in_chunks
from damas_env.rules import RuleSet
from damas_rl.tablebase.index import HOLE, LONGEST, Slice, new_index, number, place, slices, slot

_ZERO, _ONE = np.uint64(0), np.uint64(1)


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
def _mark_predecessors(spec, index, base, marks, a, b, c, d):
    """Marks the positions from which a quiet move leads to a position; ``marks`` begin with number ``base``."""
    empty = board_mask(spec) & ~(a | b | c | d)
    own_men, own_kings = turn(spec, a), turn(spec, b)
    rest = c
    while rest != _ZERO:
        piece = rest & (~rest + _ONE)
        rest ^= piece
        for direction in (UP_LEFT, UP_RIGHT):
            origin = step(spec, direction, piece) & empty
            if origin != _ZERO:
                men, kings = turn(spec, (c ^ piece) | origin), turn(spec, d)
                marks[number(spec, index, men, kings, own_men, own_kings) - base] = 1
    rest = d
    while rest != _ZERO:
        piece = rest & (~rest + _ONE)
        rest ^= piece
        origins = king_targets(spec, lowest(piece), a | b | c | d)
        while origins != _ZERO:
            origin = origins & (~origins + _ONE)
            origins ^= origin
            men, kings = turn(spec, c), turn(spec, (d ^ piece) | origin)
            marks[number(spec, index, men, kings, own_men, own_kings) - base] = 1


@kernel
def _pass(start, end, spec, index, first, base, men, kings, others, crowned, plies, values, due, now, later, changed):
    """One pass over a part of a slice: finds what is decided in ``plies`` plies.

    Args:
        start, end: numbers within the slice, which begins at ``first``.
        base: first number of the slice and its twin, with which the next three arrays begin.
        due: uint8, pass in which a position is to be looked at again, 0 = unknown.
        now, later: uint8, marks of positions to be looked at in this pass and in the next one.
        changed: uint8[1], becomes 1 if something was found.
    """
    work = np.empty(1, WORK)[0]
    for rank in range(start, end):
        here = first + rank
        if values[here] != 0 or (plies > 0 and now[here - base] == 0 and due[here - base] != plies):
            continue
        a, b, c, d = place(spec, rank, men, kings, others, crowned)
        if plies == 0 and (a & b) | (c & d) | ((a | b) & (c | d)) != _ZERO:
            values[here] = HOLE
            continue
        value = examine(spec, index, values, a, b, c, d, work)
        if value == plies + 1:
            values[here] = value
            changed[0] = 1
            _mark_predecessors(spec, index, base, later, a, b, c, d)
        elif value > plies + 1:
            due[here - base] = value - 1


def pairs(pieces: int) -> list[list[Slice]]:
    """The slices that are solved together, in order: a slice with its turned twin, which lies behind it."""
    found = slices(pieces)
    return [
        [balance] if balance == balance.turned else [balance, balance.turned]
        for place, balance in enumerate(found)
        if balance.turned not in found[:place]
    ]


def working_memory(board: int, pieces: int) -> int:
    """Bytes that :func:`solve` needs besides the values."""
    return 3 * max(sum(balance.size(board) for balance in pair) for pair in pairs(pieces))


def solve(rules: RuleSet, pieces: int, values: NDArray[np.uint8], solved: int = 0) -> Iterator[int]:
    """Finds the values of all positions of 2 to ``pieces`` pieces, one pair of slices after the other.

    Args:
        rules: rule set; only how pieces move matters.
        pieces: pieces of both sides together, 2 to 6.
        values: uint8[index.size] in the order of :func:`~damas_rl.tablebase.index.new_index`, zeros where nothing is
            solved yet.
        solved: pairs of slices that are solved already.

    Yields:
        after each pair the number of values that are known.
    """
    index = new_index(rules.size, pieces)
    for pair in pairs(pieces)[solved:]:
        base = int(index["offsets"][slot(*pair[0])])
        end = base + sum(balance.size(rules.size) for balance in pair)
        values[base:end] = 0  # an earlier attempt may have been cut off
        due, now, later = (np.zeros(end - base, dtype=np.uint8) for _ in range(3))
        plies, changed = 0, np.ones(1, dtype=np.uint8)
        while changed[0] or plies <= int(due.max()):
            changed[0] = 0
            for one in pair:
                first = int(index["offsets"][slot(*one)])
                in_chunks(
                    _pass, one.size(rules.size), rules.spec, index, first, base, *one, plies, values, due, now, later,
                    changed,
                )  # fmt: skip
            now, later = later, now
            later[:] = 0
            plies += 1
            if plies > LONGEST:
                raise ValueError(f"A position of {pair[0]} is decided in more than {LONGEST} plies; there is no room.")
        yield end
