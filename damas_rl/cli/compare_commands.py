"""``damas compare`` and ``damas report``: pages about training runs."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from damas_rl.cli.common import CommandError, output_path, show
from damas_rl.files import atomic_write
from damas_rl.runs import find_runs, read_run, read_runs


def register(subparsers: Any) -> None:
    """Adds the subcommands."""
    compare = subparsers.add_parser(
        "compare",
        help="learning curves of training runs side by side",
        description="Draws the learning curves of training runs, and writes a page with them and with what differs "
        "between the runs. Runs that differ only in their seed form a group, shown by its mean and spread.",
    )
    compare.add_argument("runs", nargs="+", metavar="RUN", help="a run directory, or a folder of them")
    compare.add_argument("--out", default="comparison", metavar="DIR", help="folder of the page (default: %(default)s)")
    compare.set_defaults(run=_compare)
    report = subparsers.add_parser(
        "report",
        help="everything about one training run on one page",
        description="Writes one page about a training run: how it was made, what it cost, what it is worth, and how "
        "to repeat it.",
    )
    report.add_argument("run_directory", metavar="RUN", help="a run directory")
    report.add_argument("--out", metavar="FILE", help="the page (default: report.html in the run directory)")
    report.set_defaults(run=_report)


@contextmanager
def _drawing(command: str) -> Iterator[None]:
    """Names the extra that is missing where pictures cannot be drawn."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise CommandError(f"{command} needs matplotlib: pip install 'damas-rl[plot]'") from None


def _compare(arguments: argparse.Namespace) -> None:
    with _drawing("damas compare"):
        from damas_rl.reports.compare_page import comparison_page
    from damas_rl.reports.comparison import make_groups, mean_cost, summary

    found = [path for given in arguments.runs for path in find_runs(given)]
    runs, refused = read_runs(list({path.resolve(): path for path in found}.values()))
    if not runs:
        raise CommandError(next(f"{path}: {text}" for path, text in refused.items()))
    groups = make_groups(runs)
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)
    text, pictures = comparison_page(groups, refused)
    for name, data in pictures.items():
        atomic_write(folder / name, [data])
    atomic_write(folder / "index.html", [text.encode()])

    from rich.markup import escape
    from rich.table import Column, Table

    everyone = [name for name in groups[0].opponents if all(name in group.opponents for group in groups)]
    opponent = everyone[-1] if everyone else None
    columns = ("runs", "minutes", "plies", "score", "Elo")
    title = f"Newest measurements against {opponent}" if opponent else "No opponent that all groups have met"
    table = Table("", *(Column(name, justify="right") for name in columns), title=escape(title))
    for group in groups:
        costs = f"{mean_cost(group, 'minutes'):.1f}", f"{mean_cost(group, 'positions'):,.0f}"
        ends = (summary(group, opponent, quantity) if opponent else "-" for quantity in ("score", "elo"))
        table.add_row(escape(group.label), str(len(group.runs)), *costs, *ends)
    remarks = [escape(f"Not compared: {path}: {text}") for path, text in refused.items()]
    show(table, *remarks, escape(f"The page: {folder / 'index.html'}"))


def _report(arguments: argparse.Namespace) -> None:
    with _drawing("damas report"):
        from damas_rl.reports.run_page import run_page

    run = read_run(arguments.run_directory)
    place = output_path("--out", arguments.out or str(run.path / "report.html"))
    atomic_write(place, [run_page(run).encode()])
    from rich.markup import escape

    show(escape(f"The page: {place}"))
