"""``damas runs``: what training runs there are, and how far they have come."""

import argparse
from typing import Any

from damas_rl.cli.common import add_json, print_json, show
from damas_rl.runs import Measurement, Run, find_runs, read_runs, short_revision


def register(subparsers: Any) -> None:
    """Adds the subcommand."""
    runs = subparsers.add_parser(
        "runs",
        help="list training runs",
        description="Lists the training runs in a folder, oldest first: state, cost so far, newest measurement.",
    )
    runs.add_argument("folder", nargs="?", default="runs", metavar="DIR", help="default: %(default)s")
    add_json(runs)
    runs.set_defaults(run=_runs)


def _runs(arguments: argparse.Namespace) -> None:
    runs, refused = read_runs(find_runs(arguments.folder))
    runs.sort(key=lambda run: (run.started or "", run.name))
    if arguments.json:
        listed = [_document(run) for run in runs]
        print_json(
            [*listed, *({"path": str(path), "state": None, "remarks": [text]} for path, text in refused.items())]
        )
        return
    from rich.markup import escape
    from rich.table import Column, Table

    table = Table(Column("run", overflow="fold"), Column("newest measurement", no_wrap=True), show_lines=True)
    for run in runs:
        results = Table.grid(Column(no_wrap=True), Column(justify="right", no_wrap=True), Column(), padding=(0, 1))
        for result in run.measurements[-1].results.values() if run.measurements else ():
            interval = f"{result.elo:+.0f} ({result.low:+.0f} to {result.high:+.0f})"
            results.add_row(escape(result.opponent), f"{result.score:.1%}", interval)
        table.add_row(escape("\n".join((run.name, *_about(run), *run.remarks))), results)
    for path, text in refused.items():
        table.add_row(escape(f"{path.name}\nunreadable: {text}"))
    show(table, "Scores and Elo differences with 95 % intervals. All figures of one: damas report RUN")


def _about(run: Run) -> tuple[str, str]:
    """Where a run comes from, and how far it has come."""
    seed = "-" if run.seed is None else run.seed
    revisions = ", ".join(map(short_revision, run.revisions))
    return (
        f"{run.experiment or '-'}, seed {seed}, revision {revisions or '-'}",
        f"{run.state}: {run.minutes:.1f} minutes, {run.positions:,} plies, {run.games:,} games",
    )


def _document(run: Run) -> dict[str, Any]:
    return {
        "path": str(run.path),
        "name": run.name,
        "state": run.state,
        "remarks": list(run.remarks),
        "experiment": run.experiment,
        "rules": run.rules,
        "seed": run.seed,
        "revisions": run.revisions,
        "started": run.started,
        "minutes": run.minutes,
        "positions": run.positions,
        "games": run.games,
        "iterations": len(run.iterations),
        "measurement": _measurement(run.measurements[-1]) if run.measurements else None,
    }


def _measurement(measurement: Measurement) -> dict[str, Any]:
    values = vars(measurement)
    return values | {"results": {name: vars(result) for name, result in measurement.results.items()}}
