"""What a player sees: six scalar features, and planes for libraries that want an image.

Everything is in the view of the side to move. Counters, repetitions and the ply number are part of it because
they decide how a game goes on; two positions with equal boards and features have equal futures, up to the
earlier positions that a repetition would count.
"""

import numpy as np
from numpy.typing import NDArray

from damas_env.board import GEOMETRY
from damas_env.kernel import kernel, lowest
from damas_env.position import Positions, in_chunks
from damas_env.rules import RuleSet

NUM_FEATURES = 6
"""Scalar features: four draw counters, repetitions, ply."""
NUM_PLANES = 4 + NUM_FEATURES
"""Planes: own men, own kings, other men, other kings, then one constant plane for each feature."""


def _cells(size: int) -> NDArray[np.int64]:
    """int64[64]: for each bit of a bitboard its cell in a plane, row by row from the top left; -1 if none."""
    geometry = GEOMETRY[size]
    cells = np.full(64, -1, dtype=np.int64)
    for view in range(geometry.num_squares):
        row, column = geometry.coordinates(view)
        cells[geometry.bit_of_view[view]] = (size - 1 - row) * size + column
    return cells


_CELLS = {size: _cells(size) for size in GEOMETRY}


@kernel
def fill_features(start, end, counters, repetitions, plies, limits, repetition_limit, ply_cap, out):
    """Writes float32[B, 6]; limits int64[4], ply_cap 0 = none."""
    for game in range(start, end):
        for slot in range(4):
            out[game, slot] = min(counters[game, slot] / limits[slot], 1.0)
        out[game, 4] = min(repetitions[game] / repetition_limit, 1.0)
        out[game, 5] = plies[game] / ply_cap if ply_cap > 0 else 0.0


@kernel
def _fill_planes(start, end, boards, scalars, cells, out):
    """Writes float32[B, 10, S * S]."""
    one = np.uint64(1)
    for game in range(start, end):
        for plane in range(4):
            out[game, plane] = 0.0
            word = boards[game, plane]
            while word != np.uint64(0):
                out[game, plane, cells[lowest(word)]] = 1.0
                word &= word - one
        for feature in range(NUM_FEATURES):
            out[game, 4 + feature] = scalars[game, feature]


def planes_shape(rules: RuleSet) -> tuple[int, int, int]:
    """Shape of the planes of one position: (10, S, S)."""
    return NUM_PLANES, rules.size, rules.size


def features(positions: Positions, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """The scalar features of each game, all in [0, 1].

    Args:
        positions: B games.
        out: float32[B, 6] to write into; a new array if None.

    Returns:
        float32[B, 6]: the draw counters 0..3 divided by their limits (unused counters 0), the earlier
        occurrences of the position divided by those that draw the game (2 under the usual rule of three), the
        ply number divided by the ply cap (0 where there is none).
    """
    if out is None:
        out = np.empty((len(positions), NUM_FEATURES), dtype=np.float32)
    if out.shape != (len(positions), NUM_FEATURES) or out.dtype != np.float32:
        raise ValueError(f"out must be float32[{len(positions)}, {NUM_FEATURES}], not {out.dtype}{list(out.shape)}.")
    rules = positions.rules
    repetition_limit = (rules.repetition or 3) - 1
    in_chunks(
        fill_features, len(positions), positions.counters, positions.repetitions, positions.plies,
        rules.counter_limits, repetition_limit, rules.ply_cap, out,
    )  # fmt: skip
    return out


def planes(positions: Positions, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
    """The position of each game as an image, as the side to move would print it: row 0 is the far side.

    The bottom left cell ``[S - 1, 0]`` is playable in every rule set (on mirrored boards the image is
    mirrored).

    Args:
        positions: B games.
        out: C-contiguous float32[B, 10, S, S] to write into; a new array if None.

    Returns:
        float32[B, 10, S, S]: own men, own kings, other men, other kings (1 = piece), then :func:`features` as
        constant planes.
    """
    size = positions.rules.size
    shape = (len(positions), NUM_PLANES, size, size)
    if out is None:
        out = np.empty(shape, dtype=np.float32)
    if out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        raise ValueError(f"out must be C-contiguous float32{list(shape)}, not {out.dtype}{list(out.shape)}.")
    flat = out.reshape(len(positions), NUM_PLANES, size * size)
    in_chunks(_fill_planes, len(positions), positions.boards, features(positions), _CELLS[size], flat)
    return out


def opposite_view(view: NDArray[np.float32]) -> NDArray[np.float32]:
    """Planes float32[..., 10, S, S] as the other side sees them: turned by 180 degrees, sides swapped."""
    order = [2, 3, 0, 1, *range(4, NUM_PLANES)]
    return np.ascontiguousarray(view[..., order, ::-1, ::-1])
