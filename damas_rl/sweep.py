"""Several runs with one command: ``train.py -m seed=1,2,3 network.width=64,128`` makes one of each combination.

::

    runs/2026-01-31-120000-quick-sweep/
        sweep.json             the folder and the words of each run
        1-seed-1_width-64/     a run directory like any other
        2-seed-1_width-128/    ...

The runs are made one after the other, each with the whole machine. What is finished is kept: a sweep that was
interrupted goes on where it was.
"""

import gc
import itertools
import json
import re
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.errors import HydraException

from damas_env.errors import shown
from damas_env.notation import visible
from damas_rl import compose
from damas_rl.checkpoint import numbered
from damas_rl.closing import program, resume_command
from damas_rl.config import RunConfig
from damas_rl.files import atomic_write, open_regular, why
from damas_rl.run_files import CHECKPOINTS
from damas_rl.rundir import RunError
from damas_rl.runs import NoRunError, is_running, read_run
from damas_rl.strict import ConfigError

_RECORD = "sweep.json"

_MOST = 10_000
"""Runs of one sweep."""

_PLACES = ("run_dir=", "runs_dir=")

_FOLDER = "[0-9]{1,5}(-[A-Za-z0-9._-]{1,80})?"
"""Names of the folders of runs, see :func:`_folder_name`."""


@dataclass(frozen=True)
class Job:
    """One run of a sweep: the name of its folder, and the words after ``train.py`` that make it."""

    folder: str
    words: tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """A sweep in its folder."""

    path: Path
    jobs: tuple[Job, ...]


def create(words: Sequence[str]) -> Sweep:
    """A new sweep from words of which some name several values; all its configurations are composed to check them.

    Raises:
        ConfigError: the words cannot be used.
        RunError: its folder cannot be made, or is not empty.
    """
    choices = expand(words)
    jobs = tuple(
        Job(_folder_name(number, len(choices), changed), tuple(_without_place(all_words)))
        for number, (changed, all_words) in enumerate(choices, 1)
    )
    configs = [compose.load(all_words) for _, all_words in choices]
    _refuse_equal(choices, configs)
    if len({(config.runs_dir, config.run_dir) for config in configs}) > 1:
        raise ConfigError("run_dir and runs_dir say where the whole sweep lies, so they take one value.")
    first = configs[0]
    default = f"{first.runs_dir}/{time.strftime('%Y-%m-%d-%H%M%S')}-{first.name}-sweep"
    path = compose.folder("run_dir", first.run_dir or default)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise RunError(f"{path} is not empty; choose another run_dir=, or go on with that sweep: {_go_on(path)}.")
        record = {"jobs": [{"folder": job.folder, "words": job.words} for job in jobs]}
        atomic_write(path / _RECORD, [json.dumps(record, indent=1).encode() + b"\n"])
    except OSError as error:
        raise RunError(f"The folder {path} of the sweep could not be made: {why(error)}.") from error
    return Sweep(path, jobs)


def reopen(path: Path) -> Sweep:
    """The sweep in a folder.

    Raises:
        RunError: there is none, or its record is damaged.
    """
    try:
        with open_regular(path / _RECORD) as file:
            record = json.load(file)
        jobs = tuple(map(_job, record["jobs"]))
    except FileNotFoundError:
        raise RunError(f"{path} is not the folder of a sweep (it has no {_RECORD}).") from None
    except OSError as error:
        raise RunError(f"{path / _RECORD} cannot be read: {why(error)}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        jobs = ()
    if not jobs:
        raise RunError(f"{path / _RECORD} is damaged: it does not hold the runs of a sweep.")
    return Sweep(path, jobs)


def make_runs(sweep: Sweep, train: Callable[[Sequence[str], Path | None], int], say: Callable[[str], None]) -> int:
    """Makes all runs of a sweep that are not finished, one after the other.

    A run that fails does not keep the others from being made; a signal does.

    Args:
        sweep: what is to be made.
        train: does what ``train.py`` does with these words, in that folder; returns its exit status.
        say: tells people.

    Returns:
        0, or the exit status of the first run that failed or was stopped.
    """
    failed = 0
    for number, job in enumerate(sweep.jobs, 1):
        path = sweep.path / job.folder
        words = " ".join(map(shlex.quote, job.words))
        say(f"Run {number} of {len(sweep.jobs)}: {visible(words)}")
        if is_running(path):
            say(f"Another process is making it in {path}.")
            continue
        if _finished(path):
            say(f"It is finished: {path}")
            continue
        if begun(path):
            status = train([f"resume={path}"], None)
        else:
            status = train(job.words, path)
        gc.collect()  # the buffers of a run are large, and some hang in cycles
        if status >= 128:
            say(f"The sweep stopped. Go on with: {_go_on(sweep.path)}")
            return status
        failed = failed or status
    compare = f"{program('damas')} compare {shlex.quote(str(sweep.path))}"
    say(f"{len(sweep.jobs)} runs in {sweep.path}. Compare them with: {compare}")
    if failed:
        say(f"Some of them failed. Try those again with: {_go_on(sweep.path)}")
    return failed


def begun(path: Path) -> bool:
    """True if a run can go on in a folder; False where a process ended before there was anything to go on from."""
    return bool(numbered(path / CHECKPOINTS.folder)) or (path / "config.yaml").exists()


def run_words(path: Path, words: Sequence[str]) -> list[str]:
    """The words after ``train.py`` that make a run of these words in a folder, or go on with it."""
    return [f"resume={path}"] if begun(path) else [*words, f"run_dir={path}"]


def expand(words: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Every combination of the values that words name: the words that were chosen, and all words of the run.

    ``key=a,b`` and ``key=choice(a,b)`` name values, ``key=range(1,4)`` numbers; other words are left as they are.

    Raises:
        ConfigError: a word asks for values that cannot be listed, or for too many runs.
    """
    options: list[list[tuple[str, bool]]] = []
    runs = 1
    for word in words:
        values = _values(word)
        runs *= len(values)
        if runs > _MOST:
            raise _too_many()
        options.append([(value, len(values) > 1) for value in values])
    return [
        ([word for word, chosen in combination if chosen], [word for word, _ in combination])
        for combination in itertools.product(*options)
    ]


def _values(word: str) -> list[str]:
    """The words that one word stands for."""
    try:
        parsed = OverridesParser.create().parse_override(word)
        if not parsed.is_sweep_override():
            return [word]
        if parsed.is_discrete_sweep():
            values = _listed(parsed)
            if not values:
                raise ConfigError(f"{shown(word)} names no value at all.")
            return [f"{parsed.get_key_element()}={value}" for value in values]
    except ConfigError:
        raise
    except (HydraException, ValueError, RecursionError):
        return [word]  # what is wrong with it is told when the configuration is composed
    raise ConfigError(
        f"Cannot use {shown(word)}: a sweep needs values that can be listed, as in key=a,b or range(1,4)."
    )


def _listed(parsed: Override) -> list[str]:
    """The values of a word, counted before they are listed: a range may have billions, or no end."""
    value = parsed.value()
    if isinstance(value, RangeSweep) and len(list(itertools.islice(value.range(), _MOST + 1))) > _MOST:
        raise _too_many()
    return list(parsed.sweep_string_iterator())


def _too_many() -> ConfigError:
    return ConfigError(f"These words ask for more than {_MOST:,} runs.")


def _refuse_equal(choices: Sequence[tuple[list[str], list[str]]], configs: Sequence[RunConfig]) -> None:
    """ConfigError for two runs that are the same: then a value was named twice, or a later word overrides others."""
    seen: dict[str, list[str]] = {}
    for (changed, _), config in zip(choices, configs, strict=True):
        other = seen.setdefault(repr(config), changed)
        if other is not changed:
            raise ConfigError(
                f"{shown(' '.join(other))} and {shown(' '.join(changed))} are the same run; name each key and each "
                "value once."
            )


def _job(written: Any) -> Job:
    """A run of a record; ValueError if :func:`create` cannot have written it, as it leads to another folder."""
    folder, words = written["folder"], written["words"]
    if not re.fullmatch(_FOLDER, folder) or not isinstance(words, list):
        raise ValueError
    if any(word.startswith(("resume=", *_PLACES)) for word in words):
        raise ValueError
    return Job(folder, tuple(words))


def _without_place(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith(_PLACES)]


def _folder_name(number: int, total: int, changed: Sequence[str]) -> str:
    """Number and values of a run, in letters that mean nothing to a shell or in a player's spec."""
    parts = (word.partition("=") for word in changed)
    named = "_".join(f"{key.rpartition('.')[2]}-{value}" for key, _, value in parts)
    tidy = re.sub(r"[^A-Za-z0-9._]+", "-", named).strip("-.")[:80]
    return f"{number:0{len(str(total))}d}" + (f"-{tidy}" if tidy else "")


def _finished(path: Path) -> bool:
    try:
        return read_run(path).state == "finished"
    except NoRunError:
        return False


def _go_on(path: Path) -> str:
    return resume_command(path, "-m ")
