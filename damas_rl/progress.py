"""What a person sees of a training run: a live panel on a terminal, plain lines anywhere else."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from damas_rl.console import Console

_BLOCKS = "▁▂▃▄▅▆▇█"
_PLAIN_SECONDS = 10.0


@dataclass
class Rung:
    """Score against one opponent of the ladder.

    Attributes:
        opponent: its player spec.
        score: share of points, draws counted half, in the newest measurement.
        history: scores of all measurements, oldest first.
    """

    opponent: str
    score: float
    history: list[float] = field(default_factory=list)


@dataclass
class Status:
    """The state of a run that progress displays draw.

    Attributes:
        name: name of the run.
        phase: what is going on now.
        done: share of the current phase that is done, 0 to 1; None = nobody knows.
        fraction: share of the whole budget that is used, 0 to 1.
        seconds_left: of the budget, as far as known.
        iteration, games, positions, steps: counts since the start of the run.
        rows: records of the replay buffer that are learned from.
        positions_per_second, evaluations_per_second: in the last self-play phase.
        batch_fill: mean share of a network batch that was in use.
        network_share: share of self-play time spent in the network.
        speed_share: evaluations per second as a share of what the network does when nothing else runs.
        draw_rate: share of games drawn. length: mean plies of a game.
        losses: losses of the last iteration by name.
        ladder: newest measurement.
    """

    name: str = ""
    phase: str = "starting"
    done: float | None = None
    fraction: float = 0.0
    seconds_left: float | None = None
    iteration: int = 0
    games: int = 0
    positions: int = 0
    steps: int = 0
    rows: int = 0
    positions_per_second: float = math.nan
    evaluations_per_second: float = math.nan
    batch_fill: float = math.nan
    network_share: float = math.nan
    speed_share: float = math.nan
    draw_rate: float = math.nan
    length: float = math.nan
    losses: dict[str, float] = field(default_factory=dict)
    ladder: list[Rung] = field(default_factory=list)


class Progress:
    """Shows a :class:`Status`; a context manager.

    On a terminal a panel is redrawn a few times a second; elsewhere a line is printed whenever something is worth
    saying, and else at most every ten seconds.

    Args:
        status: what is shown; the owner changes it in place and calls :meth:`refresh`.
        console: where; default standard output.
    """

    def __init__(self, status: Status, console: Console | None = None) -> None:
        self.status = status
        self.console = console or Console()
        self._live = (
            Live(get_renderable=self._draw, console=self.console, refresh_per_second=4, transient=True)
            if self.console.is_terminal
            else None
        )
        self._last_line = -math.inf

    def __enter__(self) -> "Progress":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._live.stop()

    def refresh(self, force: bool = False) -> None:
        """Tells that the status has changed; ``force`` prints a plain line at once."""
        if self._live is None and (force or time.monotonic() - self._last_line >= _PLAIN_SECONDS):
            self._last_line = time.monotonic()
            self.console.print(plain_line(self.status), highlight=False, soft_wrap=True, markup=False)

    def say(self, text: str) -> None:
        """Prints a sentence that stays on the screen."""
        self.console.print(text, highlight=False, soft_wrap=True, markup=False)

    def _draw(self) -> RenderableType:
        return panel(self.status)


def plain_line(status: Status) -> str:
    """One line of text."""
    parts = [
        f"{status.fraction:4.0%}",
        status.phase if status.done is None else f"{status.phase} {status.done:.0%}",
        f"iteration {status.iteration}",
        f"{status.games:,} games",
        f"{status.positions:,} positions",
    ]
    if not math.isnan(status.positions_per_second):
        parts.append(f"{status.positions_per_second:,.0f} positions/s")
        parts.append(f"{status.evaluations_per_second:,.0f} evaluations/s")
        parts.append(f"batch fill {status.batch_fill:.0%}")
        parts.append(f"{status.network_share:.0%} in network")
        if not math.isnan(status.speed_share):
            parts.append(f"{status.speed_share:.0%} of raw speed")
    if status.losses:
        parts.append("loss " + " ".join(f"{name} {value:.3f}" for name, value in status.losses.items()))
    if status.ladder:
        parts.append("score " + " ".join(f"{rung.opponent} {rung.score:.1%}" for rung in status.ladder))
    if left := _left(status):
        parts.append(left)
    return " | ".join(parts)


def panel(status: Status) -> Panel:
    """The live panel."""
    numbers = Table.grid(padding=(0, 2))
    for _ in range(4):
        numbers.add_column(style="dim", justify="right")
        numbers.add_column()
    cells = [
        ("iteration", f"{status.iteration:,}"),
        ("games", f"{status.games:,}"),
        ("positions", f"{status.positions:,}"),
        ("learner steps", f"{status.steps:,}"),
        ("positions/s", _number(status.positions_per_second, ",.0f")),
        ("evaluations/s", _number(status.evaluations_per_second, ",.0f")),
        ("batch fill", _number(status.batch_fill, ".0%")),
        ("in network", _number(status.network_share, ".0%")),
        ("draws", _number(status.draw_rate, ".0%")),
        ("plies a game", _number(status.length, ".0f")),
        ("replay window", f"{status.rows:,}"),
        ("of raw speed", _number(status.speed_share, ".0%")),
    ]
    cells += [(f"{name} loss", f"{value:.3f}") for name, value in status.losses.items()]
    cells += [("", "")] * (-len(cells) % 4)
    for start in range(0, len(cells), 4):
        numbers.add_row(*(text for cell in cells[start : start + 4] for text in cell))

    # Without a total the bar moves by itself, as a sign of life.
    total, done = (None, 0.0) if status.done is None else (1.0, min(1.0, status.done))
    budget = Table.grid(padding=(0, 1))
    budget.add_row(Text("budget", style="dim"), ProgressBar(1.0, min(1.0, status.fraction), width=40), _left(status))
    budget.add_row(Text("phase", style="dim"), ProgressBar(total, done, width=40), status.phase)
    parts: list[RenderableType] = [budget, Text(), numbers]
    if status.ladder:
        parts += [Text(), ladder_bars(status.ladder)]
    title = escape(f"damas-rl  {status.name}")
    return Panel(Group(*parts), title=title, title_align="left", subtitle="Ctrl-C saves and stops", expand=False)


def ladder_bars(ladder: Sequence[Rung]) -> Table:
    """Score against each rung as a bar, with its history."""
    table = Table.grid(padding=(0, 1))
    for rung in ladder:
        style = "green" if rung.score >= 0.5 else "yellow"
        table.add_row(
            Text(f"vs {rung.opponent}", style="dim"),
            ProgressBar(1.0, rung.score, width=30, complete_style=style, finished_style=style),
            f"{rung.score:.1%}",
            Text(sparkline(rung.history[-40:]), style="cyan"),
        )
    return table


def sparkline(values: Sequence[float]) -> str:
    """Numbers from 0 to 1 as one block character each."""
    return "".join(_BLOCKS[min(len(_BLOCKS) - 1, int(value * len(_BLOCKS)))] for value in values)


def duration(seconds: float) -> str:
    """``5 s``, ``3:05``, ``2:03:05``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _left(status: Status) -> str:
    """What is left of the budget, as far as known."""
    if status.fraction >= 1.0:
        return "budget used up"
    return "" if status.seconds_left is None else f"{duration(status.seconds_left)} left"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
