"""Reads run directories: of runs that are finished, interrupted or being trained, in whatever state their files are.

Nothing here writes, and nothing here needs torch. What a file lacks is None or a remark, never an exception; only a
folder that holds no run at all is refused::

    for run in read_runs(find_runs("runs"))[0]:
        print(run.name, run.state, run.minutes, [point.results for point in run.measurements])
"""

import fcntl
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml

from damas_env.errors import shown
from damas_rl.files import open_regular, why
from damas_rl.metrics import read_metrics
from damas_rl.strict import flatten

MARKS = ("config.yaml", "metrics.jsonl", "meta.json", "checkpoints")
"""Names of which a run directory holds at least one."""

_DEEPEST = 3
"""How many folders deep runs are looked for."""

_LARGEST = 1 << 22
"""Bytes of a configuration or of notes; a larger file is something else."""

_MOST = 1e15
"""The greatest number that a run can tell."""

_GREATEST_ELO = 1e5
"""A greater difference cannot be measured."""

_REVISION = re.compile("[0-9a-f]{7,64}(-dirty)?")

PATHS = ("run_dir", "runs_dir")
"""Keys of a configuration that say where a run lies, not what it is."""

State = Literal["running", "interrupted", "finished"]


def short_revision(revision: str) -> str:
    """A revision as people read it; the mark of source code that differs from it stays."""
    return revision[:7] + "-dirty" * revision.endswith("-dirty")


class NoRunError(ValueError):
    """A folder that holds no run; the message is one sentence."""


@dataclass(frozen=True)
class Result:
    """A match of a measurement.

    Attributes:
        opponent: its player spec.
        wins, draws, losses: games.
        score: share of points, draws counted half.
        elo, low, high: Elo difference with the bounds of its 95 % interval.
        distinct: share of the games that differ from all earlier ones; None = not recorded.
    """

    opponent: str
    wins: int
    draws: int
    losses: int
    score: float
    elo: float
    low: float
    high: float
    distinct: float | None

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def extreme(self) -> bool:
        """True if every point was won or lost: then the Elo difference tells the number of games, and no more."""
        return self.score in (0.0, 1.0)


@dataclass(frozen=True)
class Measurement:
    """What a run had cost when it was measured, and what it was worth.

    Attributes:
        iteration: it came after.
        minutes: of training, all parts of the run and the measurements before this one included.
        positions, games: plies and finished games of self-play.
        results: by opponent.
        seconds: that the measurement took; None = not recorded.
        mistakes: share of sampled endgames whose result was thrown away; None = not recorded.
    """

    iteration: int
    minutes: float
    positions: int
    games: int
    results: Mapping[str, Result]
    seconds: float | None
    mistakes: float | None


@dataclass(frozen=True)
class Run:
    """A run as its directory tells it.

    Attributes:
        path: the directory.
        state: what has become of it.
        config: the resolved configuration; empty if it cannot be read.
        meta: notes on the parts of the run (see :func:`damas_rl.machine.describe_machine`); empty if unreadable.
        pretraining: the events of metrics.jsonl that tell of pre-training, as they stand there (see :func:`number`).
        iterations: those that tell of iterations.
        measurements: oldest first.
        remarks: sentences on what is missing or damaged.
    """

    path: Path
    state: State
    config: Mapping[str, Any]
    meta: Mapping[str, Any]
    pretraining: tuple[Mapping[str, Any], ...]
    iterations: tuple[Mapping[str, Any], ...]
    measurements: tuple[Measurement, ...]
    remarks: tuple[str, ...]

    @cached_property
    def name(self) -> str:
        """Name of the directory."""
        return self.path.resolve().name

    @property
    def seed(self) -> int | None:
        """Seed of the run."""
        seed = self.config.get("seed")
        return seed if type(seed) is int else None

    @property
    def rules(self) -> str | None:
        """Name of its rule set, or file."""
        return _text(self.config.get("rules"), "name")

    @property
    def parts(self) -> list[Mapping[str, Any]]:
        """Notes on each part of the run: the start, and each time that it went on."""
        resumed = self.meta.get("resumed")
        later = resumed if isinstance(resumed, list) else []
        return [part for part in (self.meta, *later) if isinstance(part, Mapping) and part]

    @property
    def words(self) -> list[str] | None:
        """The words after ``train.py`` with which the run was started; None = not recorded."""
        words = self.meta.get("words")
        return [str(word) for word in words] if isinstance(words, list) else None

    @property
    def experiment(self) -> str | None:
        """The preset: as it was typed, else the name of the run, which presets set."""
        typed = [word.partition("=")[2] for word in self.words or () if word.startswith("experiment=")]
        return typed[-1] if typed else _text(self.config, "name")

    @property
    def revisions(self) -> list[str]:
        """The revisions of the source code that the parts of the run were made with, without repetitions."""
        found = map(revision_of, self.parts)
        return list(dict.fromkeys(revision for revision in found if revision))

    @property
    def started(self) -> str | None:
        """When it was started, as ISO 8601."""
        return _text(self.meta, "started")

    @property
    def minutes(self) -> float:
        """Minutes of training so far, measurements in between included."""
        seconds = [number(event, "time", "training") for event in self.iterations]
        return max([0.0, *(value / 60 for value in seconds if value is not None), *self._measured("minutes")])

    @property
    def positions(self) -> int:
        """Plies of self-play so far."""
        return _total(self.iterations, "positions")

    @property
    def games(self) -> int:
        """Finished games of self-play so far."""
        return _total(self.iterations, "games")

    @property
    def share_of_raw_speed(self) -> float | None:
        """Evaluations a second in self-play as a share of those of the network by itself, mean over the run's time."""
        times = [(number(e, "time", "selfplay"), number(e, "time", "share_of_raw_speed")) for e in self.iterations]
        known = [(seconds, share) for seconds, share in times if seconds and share is not None]
        total = math.fsum(seconds for seconds, _ in known)
        return math.fsum(seconds * share for seconds, share in known) / total if known else None

    @property
    def sample_games(self) -> list[Path]:
        """Its files of sampled self-play games, oldest first."""
        return sorted((self.path / "games").glob("*.pdn"))

    def setting(self, key: str) -> Any:
        """The value of a dotted key of the configuration; None if there is none."""
        value: Any = self.config
        for name in key.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def settings(self) -> dict[str, Any]:
        """The whole configuration by dotted keys, without the folders of the run."""
        return {key: value for key, value in flatten(self.config) if key not in PATHS}

    def _measured(self, key: str) -> list[float]:
        return [getattr(measurement, key) for measurement in self.measurements]


def number(event: Mapping[str, Any], *keys: str) -> float | None:
    """The number at a nested key of an event, such as ``number(event, "time", "training")``.

    None for what is no number, or so large that no run can have counted it and sums and pictures would break.
    """
    value: Any = event
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if type(value) not in (int, float) or not -_MOST <= value <= _MOST:
        return None
    return float(value)


def revision_of(part: Mapping[str, Any]) -> str | None:
    """The revision of the source code that a part of a run was made with; None if nothing of that form is recorded."""
    revision = _text(part, "git_revision")
    return revision if revision and _REVISION.fullmatch(revision) else None


def find_runs(folder: str | Path) -> list[Path]:
    """The run directories in a folder, by name: the folder itself if it is one, else all up to three folders deep.

    Links below the folder, such as ``latest``, and hidden folders are passed over.

    Raises:
        NoRunError: there is none, or the folder cannot be read.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise NoRunError(f"There is no folder {shown(str(folder), 200)}.")
    try:
        found = _search(folder, _DEEPEST)
    except OSError as error:
        raise NoRunError(f"The folder {shown(str(folder), 200)} cannot be read: {why(error)}.") from None
    if not found:
        raise NoRunError(f"The folder {shown(str(folder), 200)} holds no run.")
    return found


def read_runs(paths: Iterable[Path]) -> tuple[list[Run], dict[Path, str]]:
    """The runs in some directories, and for each directory without one a sentence that says what is wrong."""
    runs, refused = [], {}
    for path in paths:
        try:
            runs.append(read_run(path))
        except NoRunError as error:
            refused[path] = str(error)
    return runs, refused


def read_run(path: str | Path) -> Run:
    """The run in a directory.

    Raises:
        NoRunError: neither its configuration nor its metrics can be read.
    """
    path = Path(path)
    if not path.is_dir():
        raise NoRunError(f"There is no folder {shown(str(path), 200)}.")
    config, config_remark = _mapping(path / "config.yaml", lambda text: yaml.load(text, _PlainLoader))
    meta, meta_remark = _mapping(path / "meta.json", json.loads)
    if not config_remark and not isinstance(config.get("selfplay"), Mapping):
        config, config_remark = {}, "config.yaml is not the configuration of a run"
    events, metrics_remark = _events(path / "metrics.jsonl")
    if config_remark and not events:
        raise NoRunError(f"{config_remark}, and there are no metrics.")
    iterations = tuple(event for event in events if event["kind"] == "iteration")
    measurements, broken = _measurements(events)
    remarks = [remark for remark in (config_remark, meta_remark, metrics_remark) if remark]
    if broken:
        remarks.append(f"{broken} of its measurements cannot be read")
    closed = measurements and events[-1]["kind"] == "ladder"
    return Run(
        path=path,
        state=_state(path, config, measurements[-1] if closed else None),
        config=config,
        meta=meta,
        pretraining=tuple(event for event in events if event["kind"] == "pretrain"),
        iterations=iterations,
        measurements=measurements,
        remarks=tuple(remarks),
    )


def is_running(path: Path) -> bool:
    """True if a process is training in a run directory: then it holds the lock, which nobody holds for longer."""
    try:
        with open_regular(path / "lock") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except OSError:
        pass
    return False


def _search(folder: Path, depth: int) -> list[Path]:
    """Run directories in a folder that can be read; what lies below may be unreadable."""
    if any((folder / mark).exists() for mark in MARKS):
        return [folder]
    found: list[Path] = []
    for inner in sorted(folder.iterdir()):
        if depth and inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
            try:
                found += _search(inner, depth - 1)
            except OSError:
                continue
    return found


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases: no configuration needs them, and a few lines of them make billions of values."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def _mapping(path: Path, parse: Any) -> tuple[dict[str, Any], str]:
    """The mapping in a file, and what is wrong with it."""
    try:
        with open_regular(path) as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return {}, f"{path.name} is missing"
    except OSError as error:
        return {}, f"{path.name} cannot be read: {why(error)}"
    try:
        value = parse(data.decode()) if len(data) <= _LARGEST else None
        repr(value)  # ValueError: integers of thousands of digits, which nothing can show
    except (ValueError, yaml.YAMLError, RecursionError):
        value = None
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        return {}, f"{path.name} is damaged"
    return value, ""


def _events(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The events of a metrics file, and what is wrong with it; a line that is being written is nothing wrong."""
    try:
        events = list(read_metrics(path))
        with open_regular(path) as file:
            lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    except FileNotFoundError:
        return [], "metrics.jsonl is missing"
    except OSError as error:
        return [], f"metrics.jsonl cannot be read: {why(error)}"
    if lines > len(events):
        return events, f"{lines - len(events)} of the {lines} lines of metrics.jsonl are damaged"
    return events, "" if events else "no iteration is over yet"


def _measurements(events: Iterable[Mapping[str, Any]]) -> tuple[tuple[Measurement, ...], int]:
    """The measurements among some events, and how many cannot be read."""
    found, broken = [], 0
    positions = games = 0.0
    for event in events:
        if event["kind"] == "iteration":
            positions = number(event, "total", "positions") or positions
            games = number(event, "total", "games") or games
        elif event["kind"] == "ladder":
            training, ladder = number(event, "time", "training"), event.get("ladder")
            results = [_result(*item) for item in ladder.items()] if isinstance(ladder, Mapping) else []
            if training is None or not results or None in results:
                broken += 1
                continue
            found.append(
                Measurement(
                    iteration=event["iteration"],
                    minutes=training / 60,
                    positions=int(positions),
                    games=int(games),
                    results={result.opponent: result for result in results if result},
                    seconds=number(event, "time", "seconds"),
                    mistakes=number(event, "endgames", "mistakes"),
                )
            )
    return tuple(found), broken


def _result(opponent: str, rung: object) -> Result | None:
    if not isinstance(rung, Mapping):
        return None
    wins, draws, losses = (number(rung, key) for key in ("wins", "draws", "losses"))
    score, elo, low, high = (number(rung, key) for key in ("score", "elo", "low", "high"))
    if wins is None or draws is None or losses is None or score is None or elo is None or low is None or high is None:
        return None
    counts = int(wins), int(draws), int(losses)
    if min(counts) < 0 or not 0 <= score <= 1 or not -_GREATEST_ELO <= low <= elo <= high <= _GREATEST_ELO:
        return None
    return Result(opponent, *counts, score, elo, low, high, number(rung, "distinct"))


def _state(path: Path, config: Mapping[str, Any], last: Measurement | None) -> State:
    """What has become of a run; ``last``: the measurement after which nothing more has happened, if there is one."""
    if is_running(path):
        return "running"
    minutes, iterations = number(config, "minutes"), number(config, "iterations")
    used_up = last and ((minutes and last.minutes >= minutes) or (iterations and last.iteration >= iterations))
    return "finished" if used_up else "interrupted"


def _total(iterations: Iterable[Mapping[str, Any]], key: str) -> int:
    return int(max((number(event, "total", key) or 0.0 for event in iterations), default=0.0))


def _text(values: object, key: str) -> str | None:
    value = values.get(key) if isinstance(values, Mapping) else None
    return value if isinstance(value, str) and value else None
