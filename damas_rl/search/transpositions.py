"""The transposition table of alpha-beta: kernels that look positions up and keep results.

A table is uint64[buckets, 2, 3]; an entry is (position key, context, packed result). The context holds all that
decides the value of a position besides its squares (see ``alphabeta_kernels``): a value is used only where position
*and* context agree, the move serves wherever the position does. Entries of earlier searches count as empty, so a
search does not depend on what its table was used for before.
"""

import numpy as np

from damas_env.kernel import kernel
from damas_env.movegen import move_from, move_to

LOWER, UPPER, EXACT = 1, 2, 3
"""Kinds of stored values: bounds, or the value itself."""

MAX_GENERATION = 1 << 25
"""Searches that one table can tell apart: a result is an int64, whose bits 38 to 62 hold the search."""

WON = 30_000
"""Score of a game that is won on the spot; a win in n plies scores ``WON - n``, a loss ``n - WON``."""

PROVEN = WON - 1_000
"""Scores from here on are wins with their distance; all others are smaller."""

_SCORE_OFFSET = 32_768


def new_table(buckets: int) -> np.ndarray:
    """An empty table; ``buckets`` is a power of two, a bucket takes 48 bytes."""
    return np.zeros((buckets, 2, 3), dtype=np.uint64)


@kernel
def move_tag(code):
    """12 bits that stand for a move in the table: its from and to (int64)."""
    return (move_from(code) << 6) | move_to(code)


@kernel
def probe(table, generation, key, context):
    """What the table knows of a position: (depth, score, kind, move tag).

    Depth and kind are 0 unless an entry agrees in position and context; the tag is -1 if nothing is known. A score
    of a proven win or loss counts its distance from this position.
    """
    bucket = key & np.uint64(table.shape[0] - 1)
    tag = -1
    for slot in range(2):
        if table[bucket, slot, 0] == key:
            data = np.int64(table[bucket, slot, 2])
            if data >> 38 == generation:
                tag = (data >> 26) & 0xFFF
                if table[bucket, slot, 1] == context:
                    return (data >> 16) & 0xFF, (data & 0xFFFF) - _SCORE_OFFSET, (data >> 24) & 3, tag
    return 0, 0, 0, tag


@kernel
def store(table, generation, key, context, depth, score, kind, tag):
    """Keeps a result; the first entry of a bucket keeps the deepest of this search, the second one the latest."""
    bucket = key & np.uint64(table.shape[0] - 1)
    first = np.int64(table[bucket, 0, 2])
    same = table[bucket, 0, 0] == key and table[bucket, 0, 1] == context
    slot = 0
    if first >> 38 == generation and not same:
        if depth >= (first >> 16) & 0xFF:
            for word in range(3):
                table[bucket, 1, word] = table[bucket, 0, word]
        else:
            slot = 1
    data = (score + _SCORE_OFFSET) | (depth << 16) | (kind << 24) | (tag << 26) | (generation << 38)
    table[bucket, slot, 0] = key
    table[bucket, slot, 1] = context
    table[bucket, slot, 2] = np.uint64(data)
