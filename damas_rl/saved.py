"""What comes back from a checkpoint or a file of records, looked at before anything of a run takes it over.

Both are plain data, so a whole file may still hold anything: arrays of another shape, boards with two pieces on a
square, counts below zero. Kernels and optimisers trust what they are given, so everything that
reaches them is checked here; each fault is a :class:`SavedError` of one sentence.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from damas_env.errors import IllegalActionError, shown
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.records import Records, empty_records
from damas_rl.run_files import NETWORKS

_CHUNK = 4096
_LARGEST = 1 << 62
_RUNG: dict[str, Any] = {
    "wins": int, "draws": int, "losses": int, "score": float, "elo": float, "low": float, "high": float,
    "distinct": float,
}  # fmt: skip


class SavedError(ValueError):
    """Something that no run can have saved; the message is one sentence."""


def part(saved: object, key: str, name: str = "the checkpoint") -> Any:
    """The entry ``key`` of a mapping called ``name``."""
    if not isinstance(saved, Mapping):
        raise SavedError(f"{name} is {shown(saved, 30)}, not a mapping with {key!r}.")
    if key not in saved:
        raise SavedError(f"{name} is without its part {key!r}.")
    return saved[key]


def array(saved: object, key: str, like: NDArray[Any]) -> NDArray[Any]:
    """The array ``key``, of the shape and type of ``like``."""
    value = part(saved, key)
    if not isinstance(value, np.ndarray) or value.shape != like.shape or value.dtype != like.dtype:
        found = f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else shown(value, 30)
        raise SavedError(f"{key} is {found}, not {like.dtype}{list(like.shape)}.")
    return value


def whole(saved: object, key: str, lowest: int = 0) -> int:
    """The whole number ``key``."""
    value = part(saved, key)
    if type(value) is not int or not lowest <= value <= _LARGEST:
        raise SavedError(f"{key} is {shown(value, 30)}, not a whole number from {lowest} to {_LARGEST}.")
    return value


def generator(saved: object, key: str) -> dict[str, Any]:
    """The state ``key`` of a PCG64 generator."""
    value = part(saved, key)
    trial = np.random.PCG64(0)
    try:
        trial.state = value
        if trial.state == value:
            return value
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
        pass
    raise SavedError(f"{key} is no state of a generator of random numbers.")


def within(name: str, values: NDArray[Any], lowest: float, highest: float) -> None:
    """Refuses numbers outside of ``[lowest, highest]``, NaN included."""
    if not ((values >= lowest) & (values <= highest)).all():
        raise SavedError(f"{name} holds numbers that are not from {lowest:g} to {highest:g}.")


def check_records(records: Records, rules: RuleSet) -> None:
    """Refuses records (one row each) that games under ``rules`` cannot have given."""
    within("policy", records.policy, 0.0, 1.0 + 1e-3)
    within("features", records.features, 0.0, 1.0)
    within("q", records.q, -1.0 - 1e-3, 1.0 + 1e-3)
    within("z", records.z, -1, 1)
    within("plies_left", records.plies_left, 0, 1 << 15)
    within("weight", records.weight, 1e-6, 1e6)
    within("actions", records.actions, -1, rules.num_actions - 1)
    sums = records.policy.sum(axis=1)
    if ((np.abs(sums - 1.0) > 1e-3) & (sums != 0.0)).any():
        raise SavedError("policy holds rows whose sum is neither 1 nor 0.")
    for start in range(0, len(records.z), _CHUNK):
        rows = slice(start, start + _CHUNK)
        positions = checked_positions(rules, records.boards[rows], np.zeros(len(records.z[rows]), np.int8))
        actions = records.actions[rows]
        legal = np.take_along_axis(positions.masks(), np.maximum(actions, 0).astype(np.int64), axis=1)
        if (~legal & (actions >= 0)).any():
            raise SavedError("actions holds moves that are not legal on the boards beside them.")


def checked_positions(rules: RuleSet, boards: NDArray[np.uint64], colors: NDArray[np.int8]) -> Positions:
    """Positions set up anew from saved boards; refuses impossible ones."""
    try:
        return Positions.from_boards(rules, boards, colors)
    except ValueError as error:
        raise SavedError(f"boards: {error}") from None


def check_standing(positions: Positions) -> None:
    """Refuses games in progress that are over, or in which something does not fit the boards."""
    rules = positions.rules
    anew = checked_positions(rules, positions.boards, positions.colors)
    width = np.arange(rules.max_moves) < anew.counts[:, None]
    wrong = (positions.terminations != 0) | (anew.terminations != 0) | (positions.counts != anew.counts)
    for name in ("moves", "actions"):
        wrong |= ((getattr(positions, name) != getattr(anew, name)) & width).any(axis=1)
    length = positions.history_len
    wrong |= (length < 1) | (length > positions.history.shape[1]) | (length > positions.plies + 1)
    last = np.clip(length - 1, 0, positions.history.shape[1] - 1)
    wrong |= positions.history[np.arange(len(positions)), last] != anew.history[:, 0]
    wrong |= ((positions.counters < 0) | (positions.counters > rules.counter_limits)).any(axis=1)
    wrong |= (positions.repetitions < 0) | (positions.repetitions > (length - 1) // 2)  # one in two plies at most
    if wrong.any():
        raise SavedError(f"The game {int(np.flatnonzero(wrong)[0])} in progress does not fit its board.")


def check_played(positions: Positions, start: Positions, rings: Mapping[str, NDArray[Any]], rows: Records) -> None:
    """Refuses games in progress that are not what their plies lead to.

    Args:
        positions: B games. Those that are longer than R plies cannot be followed and are left out.
        start: where each game started.
        rings: ``played``, ``colors`` and ``recorded`` [R, B] of the plies of each game.
        rows: records [R, B] of these plies.
    """
    size, ring = len(positions), len(rows.z)
    short = positions.plies <= ring
    anew = start.copy()
    wrong = np.zeros(size, dtype=np.bool_)
    for ply in range(int(positions.plies[short].max(initial=0))):
        playing = short & ~wrong & (positions.plies > ply)
        wrong |= playing & (rings["colors"][ply] != anew.colors)
        wrong |= playing & rings["recorded"][ply] & (rows.boards[ply] != anew.boards).any(axis=1)
        try:
            anew.step(rings["played"][ply], playing)
        except IllegalActionError as error:
            raise SavedError(f"The plies of games in progress cannot have been played: {error}") from None
    for name in ("boards", "colors", "plies", "counters", "repetitions", "history_len"):
        differs = (getattr(positions, name) != getattr(anew, name)).reshape(size, -1)
        wrong |= short & differs.any(axis=1)
    used = np.arange(positions.history.shape[1]) < anew.history_len[:, None]
    wrong |= short & ((positions.history != anew.history) & used).any(axis=1)
    if wrong.any():
        raise SavedError(f"The game {int(np.flatnonzero(wrong)[0])} in progress is not what its plies lead to.")


def records_of(saved: object, prefix: str, shape: tuple[int, ...]) -> Records:
    """The columns ``prefix + name`` of records with a leading shape; their content is not looked at."""
    columns = {}
    for name, one in empty_records(*(1 for _ in shape))._asdict().items():
        like = np.broadcast_to(one, (*shape, *one.shape[len(shape) :]))  # takes no memory, whatever the file claims
        columns[name] = array(saved, f"{prefix}{name}", like)
    return Records(**columns)


def check_weights(saved: object, name: str, like: Mapping[str, Tensor]) -> None:
    """Refuses weights unless they have the names, shapes and types of ``like`` and are finite."""
    if not isinstance(saved, Mapping) or saved.keys() != like.keys():
        raise SavedError(f"The weights {name!r} belong to another network.")
    for key, expected in like.items():
        check_tensor(saved[key], f"{name}.{key}", expected)


def check_tensor(value: object, name: str, like: Tensor) -> Tensor:
    """A finite tensor of the shape and type of ``like``."""
    if not isinstance(value, Tensor) or value.shape != like.shape or value.dtype != like.dtype:
        found = f"{value.dtype}{list(value.shape)}" if isinstance(value, Tensor) else shown(value, 30)
        raise SavedError(f"{name} is {found}, not {like.dtype}{list(like.shape)}.")
    if not torch.isfinite(value).all():
        raise SavedError(f"{name} holds numbers that are not finite.")
    return value


def check_ladder(saved: object) -> list[dict[str, Any]]:
    """The measurements of a run, oldest first, as :mod:`damas_rl.closing` reads them."""
    if not isinstance(saved, Sequence) or isinstance(saved, str):
        raise SavedError(f"ladder is {shown(saved, 30)}, not a list of measurements.")
    for entry in saved:
        whole(entry, "iteration")
        whole(entry, "games", 1)
        name, rungs = part(entry, "network"), part(entry, "rungs")
        if not isinstance(name, str) or NETWORKS.iteration(name) is None:
            raise SavedError(f"ladder names a network {shown(name)}, not one such as 'net-0000012.pt'.")
        if not isinstance(rungs, Mapping) or not rungs or not all(isinstance(opponent, str) for opponent in rungs):
            raise SavedError(f"ladder holds rungs {shown(rungs, 30)}, not a result for each opponent.")
        for opponent, rung in rungs.items():
            for key, kind in _RUNG.items():
                value: Any = part(rung, key, f"the result against {opponent!r}")
                lowest = -1e9 if key in ("elo", "low", "high") else 0.0
                if type(value) not in (int, float) or type(value) is not kind or not lowest <= float(value) <= 1e9:
                    raise SavedError(f"The result against {opponent!r} has {key}={shown(value, 30)}.")
    return list(saved)
