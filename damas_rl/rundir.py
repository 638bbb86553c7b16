"""The directory of one training run: what lies where, and that only one process writes there.

::

    runs/2026-01-31-120000-quick-s1/
        config.yaml    resolved configuration          meta.json    revision, versions, machine (each part)
        metrics.jsonl  one JSON object a line          tb/          TensorBoard events
        games/         sampled self-play games as PDN  checkpoints/ everything needed to go on
        networks/      a network for each measurement  best         name of the best measured one
        lock           held by the process at work
"""

import fcntl
import json
import os
import re
import time
from itertools import chain, count
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from damas_rl.files import atomic_write, why

_LOCK_SECONDS = 0.5
"""How long a lock is waited for: whoever looks whether a run is being trained holds it for a moment."""


class RunError(RuntimeError):
    """A run that cannot start or go on; the message is one sentence for the user."""


class RunDirectory:
    """A run's directory, locked against other processes until :meth:`close`.

    The lock is an advisory lock of the operating system on the file ``lock``; it ends with the process that holds
    it, however that process ends.

    Attributes:
        path, checkpoints, networks, games, events: folders of the run.
        metrics: the JSON-lines file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.networks = path / "networks"
        self.games = path / "games"
        self.events = path / "tb"
        self.metrics = path / "metrics.jsonl"
        self._lock: int | None = None

    @classmethod
    def create(cls, path: Path, latest: bool = False) -> "RunDirectory":
        """Makes a new run directory and locks it.

        Args:
            path: where; must not exist yet, be empty, or hold no more than the empty folders of a run that a signal
                ended as soon as it had made them.
            latest: make the link ``latest`` beside it point to it.

        Raises:
            RunError: something is there already, or the directory cannot be written.
        """
        run = cls(path)
        try:
            if path.exists() and not path.is_dir():
                raise RunError(f"{path} is a file, not a folder; choose another run_dir=.")
            if path.exists() and not run._is_empty():
                begun = run.checkpoints.is_dir() and ((path / "config.yaml").exists() or any(run.checkpoints.iterdir()))
                other = f"continue that run with resume={path}" if begun else "empty it"
                raise RunError(f"{path} is not empty; choose another run_dir=, or {other}.")
            for folder in run._folders:
                folder.mkdir(parents=True, exist_ok=True)
            run._take_lock()
            if not run._is_empty():
                run.close()
                raise RunError(f"Another process has just begun a run in {path}; choose another run_dir=.")
            run._remove_stale()
            if latest:
                run._point_latest()
        except OSError as error:
            run.close()
            raise RunError(f"The run directory {path} could not be made: {why(error)}.") from error
        return run

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """Locks the directory of an earlier run, and removes the half-written files of a process that was killed.

        Raises:
            RunError: it is no run directory, or another process is training in it.
        """
        if not path.exists():
            raise RunError(f"There is no run directory {path}.")
        run = cls(path.resolve())
        if not run.checkpoints.is_dir():
            raise RunError(f"{path} is not a run directory (it has no folder checkpoints).")
        try:
            run._take_lock()
            run._remove_stale()
        except OSError as error:
            run.close()
            raise RunError(f"The run directory {path} cannot be used: {why(error)}.") from error
        return run

    def write_config(self, config: dict[str, Any]) -> None:
        """Writes the resolved configuration (plain types)."""
        atomic_write(self.path / "config.yaml", [OmegaConf.to_yaml(OmegaConf.create(config)).encode()])

    def add_part(self, made_by: dict[str, Any]) -> None:
        """Notes what a part of the run is made with: the first one at the top of meta.json, others as ``resumed``.

        Args:
            made_by: see :func:`damas_rl.machine.describe_machine`.

        Raises:
            RunError: the meta.json that is there was cut or garbled; it has not been touched.
        """
        path = self.path / "meta.json"
        meta = made_by
        if path.exists():
            try:
                meta = json.loads(path.read_bytes())
                meta.setdefault("resumed", []).append(made_by)
            except (ValueError, AttributeError, RecursionError):
                raise RunError(
                    f"{path} is damaged: it does not hold the notes of this run; move it away, and the run can go on."
                ) from None
        atomic_write(path, [json.dumps(meta, indent=2).encode() + b"\n"])

    @property
    def _folders(self) -> tuple[Path, ...]:
        return self.checkpoints, self.networks, self.games, self.events

    def _is_empty(self) -> bool:
        """True if the directory holds nothing but what is there before a run has written its configuration."""
        entries, folders = list(self.path.iterdir()), {folder.name for folder in self._folders}
        if entries and not self.checkpoints.is_dir():  # the first that is made
            return False
        for entry in entries:
            if entry.name in folders and entry.is_dir() and not entry.is_symlink():
                if any(entry.iterdir()):
                    return False
            elif entry.name != "lock" and not re.fullmatch(r"\.config\.yaml\.[0-9]+\.tmp", entry.name):
                return False
        return True

    def _remove_stale(self) -> None:
        """Removes the half-written files of a process that was killed."""
        for folder in (self.path, self.checkpoints, self.networks, self.games):
            for stale in folder.glob(".*.tmp"):
                stale.unlink()

    def _point_latest(self) -> None:
        """Makes the link ``latest`` beside the run directory point to it."""
        link = self.path.parent / "latest"
        temporary = self.path.parent / f".latest.{os.getpid()}.tmp"
        if link.is_symlink() or not link.exists():
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(self.path.name)
            os.replace(temporary, link)

    def _take_lock(self) -> None:
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        deadline = time.monotonic() + _LOCK_SECONDS
        while not _locks(descriptor) and time.monotonic() < deadline:
            time.sleep(0.02)
        if not _locks(descriptor):
            owner = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            raise RunError(f"Process {owner or 'unknown'} is training in {self.path}; stop it first.") from None
        self._lock = descriptor
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Releases the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locks(descriptor: int) -> bool:
    """Takes the lock of an open file, also where this process holds it already; False if another one does."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def default_path(runs_dir: str | Path, name: str, seed: int) -> Path:
    """``<runs_dir>/<date>-<name>-s<seed>``, with a number behind it if another run was started in the same second."""
    path = Path(runs_dir) / f"{time.strftime('%Y-%m-%d-%H%M%S')}-{name}-s{seed}"
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))
    return next(free for free in chain([path], others) if not free.exists())
