"""Training records: what self-play hands to the replay buffer."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from damas_rl.search.mcts import SearchResult

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


def policy_rows(result: SearchResult) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Columns ``actions`` and ``policy`` of the records of searched positions: the likeliest moves come first."""
    size, width = len(result.counts), min(POLICY_WIDTH, result.policy.shape[1])
    rows = empty_records(size)
    order = np.argsort(-result.policy, axis=1, kind="stable")[:, :POLICY_WIDTH]
    shares = np.take_along_axis(result.policy, order, axis=1)
    rows.actions[:, :width] = np.where(shares > 0, np.take_along_axis(result.actions, order, axis=1), -1)
    rows.policy[:, :width] = shares / shares.sum(axis=1, keepdims=True)
    return rows.actions, rows.policy


def concatenate(parts: list[Records]) -> Records:
    """One batch of records out of several."""
    if not parts:
        return empty_records(0)
    return Records(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
