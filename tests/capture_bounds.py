"""How many captures, and how many that share their (from, to), an 8x8 position can have at most: a proof by search.

It covers every rule set in which all legal captures take the same number of pieces (majority of quantity), men or
flying kings move, and captured pieces stay on the board until the move ends: Brazilian draughts and its like.
Like the reference it shares no code with the rules core.

The argument. Let E be the opponent's pieces on the 18 squares off the rim (a piece on the rim cannot be captured).

1. All legal captures take the same number of pieces, k. A man's capture is a path that a king on its square has
   too. So the captures of the piece on square s are among L(s) = the (to, captured set) of all paths, complete or
   not, by which a king on s can take exactly k pieces of E.
2. L(s) only grows when a piece is taken away that is neither on s nor in E: pieces on the rim and one's own pieces
   do nothing but block. So it is enough to look at E and at the own pieces whose captures are counted.
3. The number of moves, and the number of *spare* moves (those beyond the first of each (from, to)), only grow
   when the set of moves grows. So a bound for L is a bound for the legal moves.

What is left is finite: for every E of at most 12 pieces (one of each class under the four symmetries of the board
that map diagonals to diagonals), every k, and every set of at most 12 own kings, add up the moves or the spare
moves in L. For most E the sum over the 12 best squares, each alone on the board, is small enough already;
the others are settled by branch and bound over the own kings, which block each other.

`python tests/capture_bounds.py` prints the exact maxima of these relaxed sums. Legal positions stay below them.
"""

import numpy as np
from numba import njit

SIDE, SQUARES, PIECES = 8, 32, 12
LENGTHS = PIECES + 1  # captures of 0 to 12 pieces


def _coordinates(square: int) -> tuple[int, int]:
    """(row, file) of a square, row 0 at the top."""
    row = square // 4
    return row, 2 * (square % 4) + (row + 1) % 2


_SQUARE_AT = {_coordinates(square): square for square in range(SQUARES)}
INTERIOR = np.array([s for s in range(SQUARES) if all(0 < coordinate < SIDE - 1 for coordinate in _coordinates(s))])


def _rays() -> np.ndarray:
    """int64[32, 4, 8]: squares met in each direction, ended by -1."""
    rays = np.full((SQUARES, 4, SIDE), -1, dtype=np.int64)
    for (row, file), square in _SQUARE_AT.items():
        for direction, (down, right) in enumerate(((-1, -1), (-1, 1), (1, -1), (1, 1))):
            place = 0
            while (row + down * (place + 1), file + right * (place + 1)) in _SQUARE_AT:
                rays[square, direction, place] = _SQUARE_AT[row + down * (place + 1), file + right * (place + 1)]
                place += 1
    return rays


RAYS = _rays()


def enemy_sets() -> np.ndarray:
    """int64[n]: sets of at most 12 interior squares (bit i = INTERIOR[i]), one of each symmetry class."""
    last = SIDE - 1
    index = {int(square): i for i, square in enumerate(INTERIOR)}
    sets = np.arange(1 << len(INTERIOR), dtype=np.int64)
    keep = sum((sets >> i & 1) for i in range(len(INTERIOR))) <= PIECES
    for symmetry in (
        lambda row, file: (last - row, last - file),
        lambda row, file: (last - file, last - row),
        lambda row, file: (file, row),
    ):
        image = np.zeros_like(sets)
        for i, square in enumerate(INTERIOR):
            image |= (sets >> i & 1) << index[_SQUARE_AT[symmetry(*_coordinates(int(square)))]]
        keep &= sets <= image
    return sets[keep]


@njit(cache=True)
def _enemy_index(enemies, interior):
    """int64[32]: place of each square among the enemies, -1 where there is none."""
    index = np.full(32, -1, dtype=np.int64)
    count = 0
    for i in range(len(interior)):
        if enemies >> i & 1:
            index[interior[i]] = count
            count += 1
    return index


@njit(cache=True)
def _spread(start, index, own, longest, rays, seen, queue):
    """Puts every (square, taken set) that a king on `start` can come to into `queue`; returns how many.

    Entries are `taken << 5 | square`. `own` blocks; paths end after `longest` captures. `seen[0]` is a clock: an
    entry has been met in this call if its mark is the present time.
    """
    seen[0] += 1
    now = seen[0]
    queue[0], tail, head = start, 1, 0
    while head < tail:
        square, taken = queue[head] & 31, queue[head] >> 5
        head += 1
        length, rest = 0, taken
        while rest:
            length += 1
            rest &= rest - 1
        if length == longest:
            continue
        for direction in range(4):
            victim = -1
            for place in range(8):
                target = rays[square, direction, place]
                if target < 0 or own >> target & 1:
                    break
                if index[target] < 0:
                    if victim < 0:
                        continue
                    entry = (taken | 1 << victim) << 5 | target
                    if seen[entry + 1] != now:
                        seen[entry + 1] = now
                        queue[tail] = entry
                        tail += 1
                elif victim >= 0 or taken >> index[target] & 1:
                    break
                else:
                    victim = index[target]
    return tail


@njit(cache=True)
def _tally(queue, count, spare, sums):
    """Adds up the captures of each length (or, if `spare`, those beyond the first of each target) into `sums`."""
    sums[:] = 0
    targets = np.zeros_like(sums)
    for entry in queue[:count]:
        length, rest = 0, entry >> 5
        while rest:
            length += 1
            rest &= rest - 1
        sums[length] += 1
        if spare:
            bit = 1 << (entry & 31)
            if not targets[length] & bit:
                targets[length] |= bit
                sums[length] -= 1


@njit(cache=True)
def _sum_of_best(values, number):
    return np.sort(values)[::-1][:number].sum()


@njit(cache=True)
def single_bounds(sets, spare, interior, rays, seen, queue):
    """int64[len(sets), 13]: for each length, the sum over the 12 best squares, each king alone with E."""
    bounds = np.zeros((len(sets), 13), dtype=np.int64)
    sums = np.zeros((32, 13), dtype=np.int64)
    for row in range(len(sets)):
        index = _enemy_index(sets[row], interior)
        sums[:] = 0
        for start in range(32):
            if index[start] < 0:
                count = _spread(start, index, 0, 12, rays, seen, queue)
                _tally(queue, count, spare, sums[start])
        for length in range(1, 13):
            bounds[row, length] = _sum_of_best(sums[:, length], 12)
    return bounds


@njit(cache=True)
def _most_sharing(sets, interior, rays, seen, queue):
    """The most captures of equal length by which a king alone with E comes to one target."""
    best = 0
    for enemies in sets:
        index = _enemy_index(enemies, interior)
        for start in range(32):
            if index[start] < 0:
                count = _spread(start, index, 0, 12, rays, seen, queue)
                sharing = np.zeros((13, 32), dtype=np.int64)
                for entry in queue[1:count]:
                    length, rest = 0, entry >> 5
                    while rest:
                        length += 1
                        rest &= rest - 1
                    sharing[length, entry & 31] += 1
                best = max(best, sharing.max())
    return best


@njit(cache=True)
def best_kings(enemies, length, spare, floor, interior, rays, seen, queue):
    """(greatest sum over all sets of own kings if it exceeds `floor`, else `floor`; that set or 0)."""
    index = _enemy_index(enemies, interior)
    best, best_own = floor, 0
    sums = np.zeros(13, dtype=np.int64)
    pending = [(0, 0)]  # own kings placed, squares ruled out
    while len(pending) > 0:
        own, out = pending.pop()
        placed, total, branch = 0, 0, -1
        free = np.zeros(32, dtype=np.int64)
        for square in range(32):
            if index[square] >= 0 or out >> square & 1:
                continue
            count = _spread(square, index, own & ~(1 << square), length, rays, seen, queue)
            _tally(queue, count, spare, sums)
            if own >> square & 1:
                placed += 1
                total += sums[length]
            else:
                # A square whose king would add nothing need not be tried: it can only block.
                free[square] = sums[length]
                if sums[length] > 0 and (branch < 0 or sums[length] > free[branch]):
                    branch = square
        if total > best:
            best, best_own = total, own
        if branch >= 0 and total + _sum_of_best(free, 12 - placed) > best:
            pending.append((own, out | 1 << branch))
            pending.append((own | 1 << branch, out))
    return best, best_own


def longest_capture() -> int:
    """The most pieces that one move can take."""
    seen, queue = _workspace()
    bounds = single_bounds(enemy_sets(), False, INTERIOR, RAYS, seen, queue)
    return int(np.flatnonzero(bounds.max(axis=0)).max())


def most_sharing() -> int:
    """The most captures that can share one (from, to)."""
    return int(_most_sharing(enemy_sets(), INTERIOR, RAYS, *_workspace()))


def maximum(spare: bool, floor: int) -> tuple[int, str]:
    """The greatest relaxed sum over all positions, or `floor` if none exceeds it.

    Args:
        spare: count the captures beyond the first of each (from, to); else all captures.
        floor: sums up to here are not told apart.

    Returns:
        The maximum and a position that has it (kings of White against Black's pieces), "" if `floor` stands.
    """
    seen, queue = _workspace()
    sets = enemy_sets()
    bounds = single_bounds(sets, spare, INTERIOR, RAYS, seen, queue)
    best, witness = floor, ""
    for row in np.argsort(-bounds.max(axis=1), kind="stable"):
        for length in np.flatnonzero(bounds[row] > best):
            value, own = best_kings(sets[row], length, spare, best, INTERIOR, RAYS, seen, queue)
            if value > best:
                best = int(value)
                kings = ",".join(f"K{square + 1}" for square in range(SQUARES) if own >> square & 1)
                men = ",".join(str(square + 1) for i, square in enumerate(INTERIOR) if sets[row] >> i & 1)
                witness = f"W:W{kings}:B{men}, {length} pieces each"
    return best, witness


def _workspace() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros((1 << (PIECES + 5)) + 1, dtype=np.int64), np.zeros(1 << (PIECES + 5), dtype=np.int64)


if __name__ == "__main__":
    print(f"longest capture: {longest_capture()} pieces")
    print(f"captures that share one (from, to): at most {most_sharing()}")
    for title, is_spare in (("captures in one position", False), ("captures beyond the first of a (from, to)", True)):
        value, position = maximum(is_spare, 0)
        print(f"{title}: at most {value} (relaxed, reached by {position})")
