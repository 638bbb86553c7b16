"""Several runs side by side: what differs between them, groups of equal runs with other seeds, means and spreads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from damas_rl.elo import expected_score
from damas_rl.runs import Measurement, Result, Run, short_revision

COSTS = {"minutes": "minutes of training", "positions": "plies of self-play", "games": "games of self-play"}
"""What a run has cost when it is measured: attribute of a measurement, and what people call it."""

REVISION = "revision"
"""What stands among the settings for the revision of the source code."""

_NAMES = ("seed", "name")
"""Settings in which equal runs may differ."""


@dataclass(frozen=True)
class Group:
    """Runs that differ only in their seed.

    Attributes:
        label: what distinguishes it from the other groups.
        runs: at least one.
        settings: what differs between the groups, with its value here.
    """

    label: str
    runs: tuple[Run, ...]
    settings: dict[str, Any]

    @property
    def opponents(self) -> list[str]:
        """Everybody whom some run has been measured against, in the order of the ladder."""
        found = (point.results for run in self.runs for point in run.measurements)
        return list(dict.fromkeys(opponent for results in found for opponent in results))


def make_groups(runs: Sequence[Run]) -> list[Group]:
    """Runs in groups that differ only in their seed, in the order of their first runs."""
    all_settings = [_settings(run) for run in runs]
    keys = list(dict.fromkeys(key for settings in all_settings for key in settings))
    varying = [key for key in keys if any(_value(s, key) != _value(all_settings[0], key) for s in all_settings)]
    members: dict[str, list[Run]] = {}
    values: dict[str, dict[str, Any]] = {}
    for run, settings in zip(runs, all_settings, strict=True):
        own = {key: _value(settings, key) for key in varying}
        members.setdefault(repr(own), []).append(run)
        values[repr(own)] = own
    return [
        Group(_label(number, values[identity], group), tuple(group), values[identity])
        for number, (identity, group) in enumerate(members.items())
    ]


@dataclass(frozen=True)
class Curve:
    """One quantity of one run over its cost.

    Attributes:
        x, y: of each measurement.
        low, high: bounds of the 95 % interval of each value.
        extreme: all points of the match were won, or all lost.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extreme: NDArray[np.bool_]


def curve(run: Run, opponent: str, cost: str, quantity: str) -> Curve:
    """The ``quantity`` (``"score"`` or ``"elo"``) of a run against an opponent over its ``cost`` (see ``COSTS``)."""
    points = [(point, point.results[opponent]) for point in run.measurements if opponent in point.results]
    rows = [(getattr(point, cost), *_interval(result, quantity), result.extreme) for point, result in points]
    columns = np.array(rows, dtype=np.float64).reshape(len(rows), 5).T
    x, y, low, high, extreme = columns
    return Curve(x, y, low, high, extreme > 0)


def spread(curves: Sequence[Curve]) -> tuple[NDArray[np.float64], ...]:
    """x, mean, lowest and highest y of several curves where all of them are known; between points they are straight."""
    known = [line for line in curves if len(line.x)]
    if not known:
        return (np.empty(0),) * 4
    first, last = max(line.x[0] for line in known), min(line.x[-1] for line in known)
    x = np.unique(np.concatenate([line.x for line in known]))
    x = x[(x >= first) & (x <= last)]
    y = np.array([np.interp(x, line.x, line.y) for line in known])
    return x, y.mean(axis=0), y.min(axis=0), y.max(axis=0)


def final(group: Group) -> list[Measurement]:
    """The newest measurement of each run that has one."""
    return [run.measurements[-1] for run in group.runs if run.measurements]


def summary(group: Group, opponent: str, quantity: str) -> str:
    """The newest ``quantity`` of a group as text: with the interval of the match for one run, the range for several."""
    found = [point.results[opponent] for point in final(group) if opponent in point.results]
    if not found:
        return "-"
    intervals = [_interval(result, quantity) for result in found]
    middle = math.fsum(value for value, _, _ in intervals) / len(intervals)
    low = intervals[0][1] if len(found) == 1 else min(value for value, _, _ in intervals)
    high = intervals[0][2] if len(found) == 1 else max(value for value, _, _ in intervals)
    if quantity == "elo":
        return f"{middle:+.0f} ({low:+.0f} to {high:+.0f})"
    return f"{middle:.1%} ({low:.1%} to {high:.1%})"


def mean_cost(group: Group, cost: str) -> float:
    """What a run of a group has cost up to now, on average."""
    return math.fsum(getattr(run, cost) for run in group.runs) / len(group.runs)


def _interval(result: Result, quantity: str) -> tuple[float, float, float]:
    """Value, low and high."""
    if quantity == "elo":
        return result.elo, result.low, result.high
    # Where every point was won, the Elo difference is that of a quarter of a point less.
    low, high = expected_score(result.low), expected_score(result.high)
    return result.score, min(low, result.score), max(high, result.score)


def _settings(run: Run) -> dict[str, Any]:
    """What a run was made with."""
    settings = {key: value for key, value in run.settings().items() if key not in _NAMES}
    return settings | {REVISION: ", ".join(run.revisions) or None}


def _value(settings: dict[str, Any], key: str) -> Any:
    """The value of a setting; a revision of the code without this key is told apart from one with an empty value."""
    return settings.get(key, "(no such key)")


def _label(number: int, values: dict[str, Any], runs: Sequence[Run]) -> str:
    """A letter and what is special, if that is short, else the name of the first run."""
    letter = chr(ord("A") + number) if number < 26 else str(number + 1)
    short = {key.rpartition(".")[2]: shown_value(key, value) for key, value in values.items()}
    told = ", ".join(f"{key}={value}" for key, value in short.items())
    if not values:
        return runs[0].experiment or runs[0].name
    return f"{letter}: {told if len(values) <= 3 and len(told) <= 60 else runs[0].name}"


def shown_value(key: str, value: Any) -> str:
    """A setting as it is typed; revisions are shortened."""
    if key == REVISION and isinstance(value, str):
        return ", ".join(map(short_revision, value.split(", ")))
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    if value is None or value == "":
        return "null" if value is None else '""'
    return str(value).lower() if isinstance(value, bool) else str(value)
