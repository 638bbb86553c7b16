"""Metrics of a run: JSON lines, one object an event, and the same numbers as TensorBoard scalars.

TensorBoard also gets what is only for looking at: histograms, pictures and the settings of the run.
"""

import json
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from damas_rl.files import atomic_write, open_regular

_LONGEST_LINE = 1 << 20
"""Bytes of a line of metrics; a longer one holds something else."""


class MetricsLog:
    """Writes the metrics of a run.

    Every line holds ``kind``, ``iteration`` and nested values. What depends on the clock stands under ``time``, so
    that two runs can be compared without it.

    Args:
        path: the JSON-lines file.
        events: folder of the TensorBoard events.
        iteration: iterations that are part of the run already; whatever an interrupted process has written about
            later ones is removed.
        measurements: of the ladder that are part of the run already; later ones are removed too.
    """

    def __init__(self, path: Path, events: Path, iteration: int = 0, measurements: int = 0) -> None:
        from torch.utils.tensorboard import SummaryWriter  # who only reads metrics does without torch

        if path.exists():
            kept = _part_of_the_run(read_metrics(path), iteration, measurements)
            atomic_write(path, ["".join(f"{json.dumps(line)}\n" for line in kept).encode()])
        self._file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (open as long as the log)
        self._tensorboard = SummaryWriter(str(events), purge_step=iteration + 1, flush_secs=30)
        self._hook, threading.excepthook = threading.excepthook, self._report

    def write(self, kind: str, iteration: int, values: Mapping[str, Any]) -> None:
        """Adds one event.

        Args:
            kind: what happened, ``"iteration"``, ``"pretrain"`` or ``"ladder"``.
            iteration: iteration it belongs to.
            values: numbers, text, lists and mappings of such; NaN is written as null.
        """
        line = {"kind": kind, "iteration": iteration, **values}
        self._file.write(json.dumps(_plain(line), allow_nan=False) + "\n")
        self._file.flush()
        for name, value in _scalars(values):
            self._tensorboard.add_scalar(name if "/" in name else f"{kind}/{name}", value, iteration)

    def show(
        self, iteration: int, histograms: Mapping[str, Any], pictures: Mapping[str, Any], texts: Mapping[str, str]
    ) -> None:
        """Adds to TensorBoard alone.

        Args:
            iteration: iteration that they belong to.
            histograms: tensors or arrays by name.
            pictures: uint8[H, W, 3] by name.
            texts: Markdown by name.
        """
        for name, values in histograms.items():
            self._tensorboard.add_histogram(name, values, iteration)
        for name, image in pictures.items():
            self._tensorboard.add_image(name, image, iteration, dataformats="HWC")
        for name, text in texts.items():
            self._tensorboard.add_text(name, text, iteration)

    def show_settings(self, settings: Mapping[str, Any], scores: Iterable[str]) -> None:
        """Names the settings of the run in TensorBoard's HParams, and the scalars that tell how good they were.

        Args:
            settings: by dotted key.
            scores: names of scalars, whose last values count.
        """
        from torch.utils.tensorboard.summary import hparams

        lists = {key: ", ".join(map(str, value)) for key, value in settings.items() if isinstance(value, tuple)}
        plain = {
            key: value if isinstance(value, (bool, int, float)) else str(value)
            for key, value in {**settings, **lists}.items()
        }
        # SummaryWriter.add_hparams would put them into another folder, and overwrite the scalars.
        writer: Any = self._tensorboard.file_writer
        for summary in hparams(plain, dict.fromkeys(scores, 0.0)):
            writer.add_summary(summary)

    def sync(self) -> None:
        """Makes durable what has been written so far: a checkpoint must not outlive the metrics that led to it."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Writes out what is still buffered."""
        try:
            with closing(self._tensorboard):
                self._file.close()
        finally:
            threading.excepthook = self._hook

    def _report(self, failure: threading.ExceptHookArgs) -> None:
        """What becomes of a failure in another thread: that of TensorBoard's writer is raised again where we write."""
        if not type(failure.thread).__module__.startswith("tensorboard."):
            self._hook(failure)


def resident_bytes() -> int | None:
    """Memory of this process that is in RAM; None where the system (other than Linux) does not tell."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmRSS:")), None)


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a metrics file; lines that hold none, such as a last one that a crash cut off, are left out."""
    with open_regular(path) as file:
        while line := file.readline(_LONGEST_LINE):
            try:
                event = json.loads(line.decode(errors="replace"))
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict) and type(event.get("kind")) is str and type(event.get("iteration")) is int:
                yield event


def _part_of_the_run(events: Iterable[dict[str, Any]], iteration: int, measurements: int) -> Iterator[dict[str, Any]]:
    """The events up to an iteration, with at most so many measurements."""
    for event in events:
        if event["kind"] == "ladder":
            measurements -= 1
        if event["iteration"] <= iteration and (event["kind"] != "ladder" or measurements >= 0):
            yield event


def _plain(value: Any) -> Any:
    """``value`` in types that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _scalars(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers of nested mappings, with names joined by ``/``."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _scalars(value, f"{prefix}{key}/")
        elif isinstance(value, (int, float)) or hasattr(value, "item"):
            yield f"{prefix}{key}", float(value)
