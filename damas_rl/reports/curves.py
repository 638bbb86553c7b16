"""Learning curves and losses as pictures. Needs matplotlib; draws on no screen and keeps no state."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from damas_env.notation import visible
from damas_rl.reports.comparison import COSTS, Group, curve, spread
from damas_rl.runs import Run, number

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#000000")
"""Colours that people with any colour vision tell apart (Okabe and Ito 2008); they repeat after the last."""

_QUANTITIES = {"score": "score, %", "elo": "Elo difference"}

_STYLE: Any = {"svg.hashsalt": "damas-rl", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True}
"""The salt makes equal pictures equal files."""


def color(index: int) -> str:
    """Colour of a line."""
    return COLORS[index % len(COLORS)]


def learning_curves(groups: Sequence[Group], quantity: str, costs: Iterable[str] = COSTS) -> Figure:
    """Score or Elo difference over what training has cost.

    One group gets one row of panels with a line for each opponent; several get a row for each opponent with a line
    for each group, the strongest opponent on top. A thick line is the mean of the runs of a group, the band around it
    reaches from the lowest to the highest; thin lines are the runs. A run without companions has the 95 % intervals of
    its matches instead.

    Args:
        groups: the runs.
        quantity: ``"score"`` or ``"elo"``.
        costs: what the panels of a row have on their x axis.
    """
    opponents = list(dict.fromkeys(opponent for group in groups for opponent in group.opponents))
    if len(groups) == 1:
        rows = [("", [(opponent, groups[0], opponent) for opponent in opponents])]
    else:
        rows = [(opponent, [(group.label, group, opponent) for group in groups]) for opponent in reversed(opponents)]
    costs = list(costs)

    def draw(panels: Any) -> None:
        for (title, lines), row in zip(rows, panels, strict=True):
            for cost, axes in zip(costs, row, strict=True):
                for index, (_, group, opponent) in enumerate(lines):
                    _draw_line(axes, group, opponent, cost, quantity, color(index))
                farthest = max((float(x) for line in axes.get_lines() for x in line.get_xdata()), default=0.0)
                axes.set_xlim(0, 1.05 * farthest or 1.0)
                axes.xaxis.set_major_locator(MaxNLocator(4))
                if cost != "minutes":
                    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
                if quantity == "score":
                    axes.set_ylim(-2, 102)
            row[0].set_ylabel(f"{_plain(title)}\n{_QUANTITIES[quantity]}" if title else _QUANTITIES[quantity])
        for cost, axes in zip(costs, panels[-1], strict=True):
            axes.set_xlabel(COSTS[cost])

    legend = [(name, color(index)) for index, (name, _, _) in enumerate(rows[0][1])] if rows else []
    return _figure(len(rows), len(costs), draw, legend, height=2.9 if len(groups) == 1 else 1.9)


def _draw_line(axes: Axes, group: Group, opponent: str, cost: str, quantity: str, ink: str) -> None:
    """One group against one opponent; hollow marks where all points were won or lost."""
    scale = 100.0 if quantity == "score" else 1.0
    lines = [line for line in (curve(run, opponent, cost, quantity) for run in group.runs) if len(line.x)]
    alone = len(lines) == 1
    for line in lines:
        y = scale * line.y
        if alone:
            bounds = [y - scale * line.low, scale * line.high - y]
            axes.errorbar(line.x, y, yerr=bounds, fmt="none", ecolor=ink, elinewidth=0.8, alpha=0.5)
        axes.plot(line.x, y, color=ink, linewidth=1.6 if alone else 0.6, alpha=1.0 if alone else 0.5)
        for hollow in (False, True):
            picked = line.extreme == hollow
            face = "white" if hollow else ink
            axes.plot(
                line.x[picked], y[picked], linestyle="", marker="o", markersize=3.5 if alone else 2.5, color=ink,
                markerfacecolor=face, alpha=1.0 if alone else 0.6,
            )  # fmt: skip
    if len(lines) > 1:
        x, mean, low, high = spread(lines)
        axes.plot(x, scale * mean, color=ink, linewidth=2)
        axes.fill_between(x, scale * low, scale * high, color=ink, alpha=0.15, linewidth=0)


PANELS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "policy, nats": {
        "loss": ("learner", "policy_loss"),
        "entropy of the targets": ("learner", "target_entropy"),
        "entropy of the network": ("learner", "policy_entropy"),
    },
    "value loss, nats": {
        "all": ("learner", "value_loss"),
        "opening": ("learner", "value_loss/opening"),
        "middle": ("learner", "value_loss/middle"),
        "ending": ("learner", "value_loss/ending"),
    },
    "share hit": {"move": ("learner", "policy_accuracy"), "result": ("learner", "value_accuracy")},
    "games, share": {
        "drawn": ("selfplay", "draw_share"),
        "won by White": ("selfplay", "white_win_share"),
        "distinct": ("selfplay", "distinct_share"),
    },
    "plies": {"length of a game": ("selfplay", "mean_length"), "error of plies left": ("learner", "moves_left_error")},
    "evaluations a second": {"in self-play": ("time", "evaluations_per_second")},
}
"""What is drawn of each iteration: panels, lines, and where the figures stand in an event."""


def iteration_curves(run: Run) -> Figure:
    """Losses and other figures of each iteration of a run over minutes of training, as far as they are recorded."""

    def draw(panels: Any) -> None:
        for (title, lines), axes in zip(PANELS.items(), panels.flat, strict=True):
            for index, (name, keys) in enumerate(lines.items()):
                pairs = [(number(event, "time", "training"), number(event, *keys)) for event in run.iterations]
                known = [(x / 60, y) for x, y in pairs if x is not None and y is not None]
                if known:
                    axes.plot(*zip(*known, strict=True), color=color(index), linewidth=1.2, label=name)
            axes.set_title(title, fontsize=9)
            axes.set_xlim(left=0)
            if axes.get_lines():
                axes.legend(fontsize=7)
            else:
                axes.text(0.5, 0.5, "not recorded", ha="center", transform=axes.transAxes, color="gray")
        for axes in panels[-1]:
            axes.set_xlabel(COSTS["minutes"])

    return _figure(2, 3, draw, [], height=2.3)


def _figure(
    rows: int, columns: int, draw: Callable[[Any], None], legend: Sequence[tuple[str, str]], height: float
) -> Figure:
    """A figure of rows and columns of panels with one legend above them all."""
    with matplotlib.rc_context(_STYLE):
        lines = (len(legend) + 2) // 3 if len(legend) > 1 else 0
        figure = Figure(figsize=(10, height * rows + 0.3 + 0.22 * lines), layout="constrained")
        draw(figure.subplots(rows, columns, squeeze=False))
        if lines:
            handles = [Line2D([], [], color=ink, marker="o", markersize=3.5) for _, ink in legend]
            names = [_plain(name) for name, _ in legend]
            figure.legend(handles, names, loc="outside upper left", ncols=3, frameon=False)
    return figure


def _plain(name: str) -> str:
    """A name as matplotlib draws it letter by letter: dollars would make mathematics of it."""
    return visible(name).replace("$", r"\$")


def picture_bytes(figure: Figure, form: str) -> bytes:
    """A figure as a file of that form, ``"svg"`` or ``"png"``."""
    data = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(data, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return data.getvalue()
