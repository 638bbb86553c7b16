"""Training records: what self-play hands to the replay buffer."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

POLICY_WIDTH = 32
"""Moves of one record's policy; the likeliest ones where there are more."""


class Records(NamedTuple):
    """Training positions, one row each.

    Attributes:
        boards: uint64[n, 4]. features: float32[n, 6].
        actions: int16[n, 32], -1 pads. policy: float32[n, 32], target policy, rows sum to 1.
        z: int8[n], result for the side to move. q: float32[n], value that the search found for it.
        plies_left: int16[n], until the end of the game. weight: float32[n].
    """

    boards: NDArray[np.uint64]
    features: NDArray[np.float32]
    actions: NDArray[np.int16]
    policy: NDArray[np.float32]
    z: NDArray[np.int8]
    q: NDArray[np.float32]
    plies_left: NDArray[np.int16]
    weight: NDArray[np.float32]


def empty_records(*shape: int) -> Records:
    """Zeroed records of a leading shape."""
    return Records(
        np.zeros((*shape, 4), np.uint64), np.zeros((*shape, 6), np.float32),
        np.full((*shape, POLICY_WIDTH), -1, np.int16), np.zeros((*shape, POLICY_WIDTH), np.float32),
        np.zeros(shape, np.int8), np.zeros(shape, np.float32), np.zeros(shape, np.int16), np.ones(shape, np.float32),
    )  # fmt: skip


def policy_rows(
    actions: NDArray[np.int16], policy: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Columns ``actions`` and ``policy`` of records, the likeliest first, from weights [n, M] of actions [n, M]."""
    order = np.argsort(-policy, axis=1, kind="stable")[:, :POLICY_WIDTH]
    shares = np.take_along_axis(policy, order, axis=1)
    rest = ((0, 0), (0, POLICY_WIDTH - order.shape[1]))
    chosen = np.where(shares > 0, np.take_along_axis(actions, order, axis=1), np.int16(-1))
    shares = shares / shares.sum(axis=1, keepdims=True)
    return np.pad(chosen, rest, constant_values=-1), np.pad(shares, rest)


def concatenate(parts: list[Records]) -> Records:
    """One batch of records out of several."""
    if not parts:
        return empty_records(0)
    return Records(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
