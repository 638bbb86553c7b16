"""A clock for two: main time, then byo-yomi periods that are used up only by moves that exceed them."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class TimeControl:
    """What each side has, in seconds.

    Attributes:
        main: for the whole game.
        periods: how many moves may exceed ``period`` once ``main`` is used up, the last of which loses.
        period: for each move in byo-yomi.
    """

    main: int
    periods: int = 0
    period: int = 0

    LARGEST = {"main": 10_800, "periods": 20, "period": 600}  # noqa: RUF012 (a class constant, not a field)

    def __post_init__(self) -> None:
        for name, most in self.LARGEST.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
                raise ValueError(f"clock.{name} must be a whole number of seconds or periods from 0 to {most}.")
        if bool(self.periods) != bool(self.period):
            raise ValueError("clock.periods and clock.period go together: give both or neither.")
        if not self.main and not self.periods:
            raise ValueError("A clock needs main time or byo-yomi periods.")


@dataclass
class Clock:
    """The time that two players have left.

    Attributes:
        control: what they began with.
        main: seconds of main time left by side.
        periods: byo-yomi periods left by side.
        running: side whose time runs, None = it stands still.
        since: when that side's time began to run, in seconds of the epoch.
    """

    control: TimeControl
    main: dict[str, float] = field(default_factory=dict)
    periods: dict[str, int] = field(default_factory=dict)
    running: str | None = None
    since: float = 0.0

    def __post_init__(self) -> None:
        for side in "WB":
            self.main.setdefault(side, float(self.control.main))
            self.periods.setdefault(side, self.control.periods)

    def run(self, side: str | None, now: float) -> None:
        """Stops the time of the side that has moved, and starts that of the other; None stops both."""
        if self.running is not None:
            self.main[self.running], self.periods[self.running] = self._left(self.running, now)
        self.running, self.since = side, now

    def falls_at(self) -> float | None:
        """When the flag of the running side falls, None while no time runs."""
        if self.running is None:
            return None
        return self.since + self.main[self.running] + self.periods[self.running] * self.control.period

    def view(self, now: float) -> dict[str, Any]:
        """For the page: seconds and periods left by side at ``now``, and whose time runs."""
        sides = {}
        for side in "WB":
            main, periods = self._left(side, now) if side == self.running else (self.main[side], self.periods[side])
            spent = max(0.0, now - self.since - self.main[side]) if side == self.running else 0.0
            period = self.control.period
            in_period = period - spent % period if period and periods else 0.0
            sides[side] = {"main": round(main, 2), "periods": periods, "period": round(in_period, 2)}
        return {"running": self.running, "sides": sides, "control": asdict(self.control)}

    def record(self) -> dict[str, Any]:
        """Everything, for :meth:`restore`."""
        return asdict(self)

    @classmethod
    def restore(cls, record: dict[str, Any], not_before: float) -> "Clock":
        """The clock of a record; time in which the server was not there (``not_before``) counts for nobody."""
        clock = cls(**{**record, "control": TimeControl(**record["control"])})
        clock.since = max(clock.since, not_before)
        return clock

    def _left(self, side: str, now: float) -> tuple[float, int]:
        """(main time, periods) of the running side if it moves at ``now``."""
        spent = max(0.0, now - self.since)
        over = spent - self.main[side]
        if over < 0.0:
            return -over, self.periods[side]
        used = int(over // self.control.period) if self.control.period else 0
        return 0.0, max(0, self.periods[side] - used)
