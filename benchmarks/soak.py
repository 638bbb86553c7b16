"""Self-play and learning for some minutes: is memory flat, and speed?

    python benchmarks/soak.py [--minutes 30 | --run RUN] [--json FILE]

Plays and learns in turn as training does, with the default network and a replay buffer that is full early on, and
looks at the resident memory of the process after each tenth of the time. Everything that is to grow has grown by the
end of the first tenth or soon after; "growth" compares the last tenth with the third. With --run, a training run that
has been made is looked at instead, tables, measurements and all: a tenth of its iterations a row; its replay buffer,
which may still be filling up, is taken off.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import save

from damas_env.position import THREADS
from damas_env.rules import get_rules
from damas_rl.learner import Learner, LearnerConfig
from damas_rl.metrics import resident_bytes
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.records import empty_records
from damas_rl.replay import ReplayBuffer, ReplayConfig
from damas_rl.runs import read_run
from damas_rl.search.mcts import SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayConfig

PARTS = 10


class Training:
    """Self-play and learning in turn."""

    def __init__(self, games: int, simulations: int, capacity: int) -> None:
        rules = get_rules("cbd")
        settings = SelfPlayConfig(games=games, groups=THREADS, simulations=simulations)
        self.self_play = SelfPlay(rules, settings, SearchConfig(kind="gumbel", considered=8, c_scale=0.3), seed=0)
        self.buffer = ReplayBuffer(rules, ReplayConfig(capacity=capacity, window=capacity))
        self.learner = Learner(build_network(NetworkConfig(), rules), LearnerConfig(batch_size=256), "cpu")
        self.evaluator = Evaluator(self.learner.averaged, "cpu")
        self.rng = np.random.default_rng(0)
        self.plies, self.steps, self.games = 0, 0, 0

    def go_on(self) -> None:
        """Four plies of each game, then each record is learned from once."""
        played = self.self_play.run(self.evaluator, 4 * self.self_play.config.games)
        self.buffer.add(played.records)
        steps = self.buffer.steps_due(1.0, self.learner.config.batch_size)
        self.learner.train(self.buffer, self.rng, steps)
        self.evaluator.update(self.learner.averaged)
        self.plies += played.plies
        self.games += len(played.games)
        self.steps += steps


HEADER = """| minutes | resident MiB | plies per second | games | records held | learner steps |
| --- | --- | --- | --- | --- | --- |"""


def show(row: dict[str, Any]) -> None:
    """One row of the table."""
    print(
        f"| {row['minutes']:.1f} | {row['resident'] / 2**20:,.0f} | {row['plies_per_second']:,.0f} | "
        f"{row['games']:,} | {row['records']:,} | {row['steps']:,} |",
        flush=True,
    )


def of_run(run: Path) -> list[dict[str, Any]]:
    """Rows of a training run, without the memory of its replay buffer."""
    read = read_run(run)
    events, capacity = read.iterations, read.setting("replay.capacity")
    record = sum(array.nbytes for array in empty_records(1))
    rows: list[dict[str, Any]] = []
    for part in range(PARTS):
        group = events[len(events) * part // PARTS : len(events) * (part + 1) // PARTS]
        last = group[-1]
        records, seconds = (
            min(last["replay"]["added"], capacity),
            sum(e["time"]["selfplay"] for e in group),
        )
        row = {
            "minutes": last["time"]["training"] / 60, "games": last["total"]["games"], "records": records,
            "steps": last["learner"]["steps"], "plies_per_second": sum(e["selfplay"]["plies"] for e in group) / seconds,
            "resident": last["time"]["resident_mib"] * 2**20 - records * record,
        }  # fmt: skip
        rows.append(row)
        show(row)
    return rows


def soak(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Trains; a row after each tenth of the time."""
    run = Training(arguments.games, arguments.simulations, arguments.capacity)
    rows: list[dict[str, Any]] = []
    started = time.perf_counter()
    for part in range(1, PARTS + 1):
        begun, plies = time.perf_counter(), run.plies
        while True:
            run.go_on()
            now = time.perf_counter()
            if now - started >= 60 * arguments.minutes * part / PARTS:
                break
        row = {
            "minutes": (now - started) / 60, "resident": resident_bytes() or 0, "games": run.games, "steps": run.steps,
            "plies_per_second": (run.plies - plies) / (now - begun), "records": len(run.buffer),
        }  # fmt: skip
        rows.append(row)
        show(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--run", type=Path, help="training run (at least ten iterations) to look at instead")
    parser.add_argument("--games", type=int, default=512)
    parser.add_argument("--simulations", type=int, default=32)
    parser.add_argument("--capacity", type=int, default=20_000, help="records that are kept")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    print(HEADER)
    rows = of_run(arguments.run) if arguments.run else soak(arguments)
    growth = rows[-1]["resident"] / rows[2]["resident"] - 1
    print(f"\nMemory from the third to the last row: {growth:+.1%}")
    save(arguments.json, {"rows": rows, "growth": growth})


if __name__ == "__main__":
    main()
