"""Compares the rules core with the slow reference (tests/reference_rules.py) on millions of positions.

Positions come from random games, from random set-ups rich in kings, and from a few kings among many pieces, with
either side to move; legal moves, crownings and the position after every legal move must agree. Prints every
disagreement as FEN and exits with 1 if there is one.

    python benchmarks/crosscheck.py --positions 2000000
"""

import argparse
import multiprocessing
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from agreement import Report, compare_mixed

POSITIONS_OF_A_JOB = 10_000
SHOWN = 20


def jobs(seed: int, positions: int) -> Iterator[tuple[int, int]]:
    """(seed, positions) of each job; no two jobs of one seed, and no two seeds, share a job seed."""
    for number, start in enumerate(range(0, positions, POSITIONS_OF_A_JOB)):
        yield seed << 32 | number, min(POSITIONS_OF_A_JOB, positions - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--positions", type=int, default=1_000_000)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.positions < 1 or options.processes < 1 or options.seed < 0:
        parser.error("--positions and --processes must be at least 1, --seed at least 0")
    console = Console()
    report = Report()
    columns = (TextColumn("positions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    work = list(jobs(options.seed, options.positions))
    context = multiprocessing.get_context("spawn")
    with (
        Progress(*columns, TextColumn("{task.fields[failures]}"), console=console) as progress,
        ProcessPoolExecutor(options.processes, mp_context=context) as pool,
    ):
        task = progress.add_task("", total=options.positions, failures="")
        for part in pool.map(compare_mixed, *zip(*work, strict=True)):
            report.add(part)
            progress.update(task, completed=report.positions, failures=f"{len(report.failures)} disagreements")
    for failure in report.failures[:SHOWN]:
        console.print(failure, highlight=False, soft_wrap=True)
    console.print(str(report), highlight=False)
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
