"""Signals as a wish to stop, so that work ends where nothing is lost."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any


class StopSignal:
    """Turns the first of some signals into a wish to stop; a second one ends the process as usual.

    A context manager; it listens inside the ``with`` block. It is true once a signal has come.

    Args:
        numbers: of the signals.
        second: what a second one does.

    Attributes:
        signal: number of the signal that came, None before.
    """

    def __init__(
        self,
        numbers: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM),
        second: Callable[[int, FrameType | None], Any] | signal.Handlers = signal.SIG_DFL,
    ) -> None:
        self.signal: int | None = None
        self._numbers, self._second = numbers, second
        self._before: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.signal is not None

    def __enter__(self) -> "StopSignal":
        for number in self._numbers:
            self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        for each in self._numbers:
            signal.signal(each, self._second)
