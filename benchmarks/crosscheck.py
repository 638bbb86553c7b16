"""Compares the rules core with the slow reference (tests/reference_*.py) on many positions, and in whole games.

Positions come from random games, from random set-ups rich in kings, and from a few kings among many pieces, with
either side to move; legal moves, crownings and the position after every legal move must agree. In games, how each
stands after every ply must agree too: counters, repetitions, termination, winner. Prints every disagreement as FEN
and exits with 1 if there is one.

    python benchmarks/crosscheck.py --positions 2000000
    python benchmarks/crosscheck.py --rules all --positions 100000 --games 1000
"""

import argparse
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from agreement import GamesReport, Report, compare_games, compare_mixed, ending_setup, random_setup
from reference_draws import SYSTEMS
from reference_rules import State, load_variants

POSITIONS_OF_A_JOB, GAMES_OF_A_JOB = 10_000, 200
SHOWN = 20


def compare_starts(seed: int, count: int, rules: str) -> GamesReport:
    """Games from endings, from random set-ups and from the start (6 : 3 : 1)."""
    rng = random.Random(seed)
    variant = load_variants()[SYSTEMS[rules].variant]
    starts = [
        ending_setup(rng, variant)
        if n % 10 < 6
        else random_setup(rng, variant)
        if n % 10 < 9
        else State.initial(variant)
        for n in range(count)
    ]
    return compare_games(rules, starts, rng)


def jobs(seed: int, total: int, of_a_job: int, what: str) -> Iterator[tuple[int, int, str]]:
    """(seed, number, what) of each job; no two jobs of one seed, and no two seeds, share a job seed."""
    for number, start in enumerate(range(0, total, of_a_job)):
        yield seed << 32 | number, min(of_a_job, total - start), what


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd", choices=("all", *SYSTEMS), help="rule set (default: cbd)")
    parser.add_argument("--positions", type=int, default=1_000_000, help="positions of each movement")
    parser.add_argument("--games", type=int, default=0, help="games of each rule set")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if min(options.positions, options.games, options.seed) < 0 or options.processes < 1:
        parser.error("--positions, --games and --seed must be at least 0, --processes at least 1")
    console = Console()
    names = list(SYSTEMS) if options.rules == "all" else [options.rules]
    variants = dict.fromkeys(SYSTEMS[name].variant for name in names)
    failed = False
    context = multiprocessing.get_context("spawn")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with (
        Progress(*columns, TextColumn("{task.fields[failures]}"), console=console) as progress,
        ProcessPoolExecutor(options.processes, mp_context=context) as pool,
    ):
        for variant in variants if options.positions else ():
            report = Report()
            task = progress.add_task(f"{variant} positions", total=options.positions, failures="")
            work = list(jobs(options.seed, options.positions, POSITIONS_OF_A_JOB, variant))
            for part in pool.map(compare_mixed, *zip(*work, strict=True)):
                report.add(part)
                progress.update(task, completed=report.positions, failures=f"{len(report.failures)} disagreements")
            failed |= show(console, f"{variant}: {report}", report.failures)
        for name in names if options.games else ():
            games = GamesReport()
            task = progress.add_task(f"{name} games", total=options.games, failures="")
            work = list(jobs(options.seed, options.games, GAMES_OF_A_JOB, name))
            for part in pool.map(compare_starts, *zip(*work, strict=True)):
                games.plies += part.plies
                games.endings += part.endings
                games.failures += part.failures
                done = games.endings.total() + len(games.failures)
                progress.update(task, completed=done, failures=f"{len(games.failures)} disagreements")
            text = f"{name}: {games.endings.total()} games, {games.plies} plies, {dict(games.endings)}"
            failed |= show(console, f"{text}, {len(games.failures)} disagreements", games.failures)
    return int(failed)


def show(console: Console, text: str, failures: list[str]) -> bool:
    """Prints the first disagreements and a line about all; returns whether there were any."""
    for failure in failures[:SHOWN]:
        console.print(failure, highlight=False, soft_wrap=True)
    console.print(text, highlight=False, soft_wrap=True)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
