"""A training run on Ray whose processes are killed at random moments: does it go on, is a file corrupt, what is lost?

    python benchmarks/kills_ray.py [--kills 18] [--words "experiment=tiny ..."] [--seed 1] [--json FILE] [--page FILE]

One run on this machine. In turn its learner (``train.py``), an actor, and the head of Ray (its directory or its node
manager) are killed with SIGKILL. The learner is killed at a moment drawn from the first ``--seconds`` of its process,
start-up included; the others within ``--spread`` seconds of the next iteration that the process saves. Then

* without an actor the run has to go on by itself, with another one in its place;
* without the head the learner has to end by itself; without either, ``resume=`` has to go on from the last checkpoint,
  and nothing that they had started may be left.

After each kill every file of the run directory is read (a learner that runs is held meanwhile), and what had been
logged since the newest checkpoint is counted as lost. Needs Ray and Linux.
"""

import argparse
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_worker_niceness", "0")  # else actors yield to all other work (nice 15)

from common import PATIENCE, below, command_of, paste, save, until
from kills import half_written, read_everything, start

from damas_rl.checkpoint import numbered
from damas_rl.metrics import read_metrics
from damas_rl.run_files import CHECKPOINTS

WORDS = (
    "experiment=tiny cluster=ray cluster.actors=1 iterations=1000000 trainer.evaluate_minutes=1000 "
    "arena.ladder=[random] trainer.positions_per_iteration=200 trainer.endgame_share=0 selfplay.tablebase=0 "
    "selfplay.games=8"
)
VICTIMS = {"learner": ("python",), "actor": ("ray::Actor",), "head": ("gcs_server", "raylet")}
TOO_BUSY = "timed out during startup"
"""Ray gives its processes 30 seconds to start, which may be too few on a busy machine; then the same is tried again."""


def saved(run: Path) -> int:
    """Iterations in the newest checkpoint."""
    found = numbered(run / "checkpoints")
    return CHECKPOINTS.iteration(found[-1].name) or 0 if found else 0


class Run:
    """The run, and its learner while there is one."""

    def __init__(self, words: list[str], path: Path, rng: random.Random) -> None:
        self.words, self.path, self.rng = words, path, rng
        self.process: subprocess.Popen[str] | None = None
        self.reached = 0  # iterations saved before the newest kill

    def going(self) -> float:
        """Seconds until its learner, which is started if there is none, has saved an iteration."""
        begun, reached = time.monotonic(), saved(self.path)
        if self.process is None:
            self.process = start(self.words, self.path)

        def goes_on() -> bool:
            assert self.process is not None
            if self.process.poll() is not None:
                said = self.process.communicate()[1]
                if TOO_BUSY not in said:
                    raise SystemExit(f"The run did not go on: {said}")
                print(said, file=sys.stderr, flush=True)
                self.process = start(self.words, self.path)
            return saved(self.path) > reached

        until(goes_on, "the run goes on")
        return time.monotonic() - begun

    def kill(self, victim: str, within: float) -> dict[str, Any]:
        """Kills a process within some seconds from now; what was killed, and what could be read afterwards."""
        assert self.process is not None
        time.sleep(self.rng.uniform(0.0, within))
        name = self.rng.choice(VICTIMS[victim])
        before, others = half_written(self.path), below(self.process.pid)
        self.reached = saved(self.path)
        named = [pid for pid in others if Path(command_of(pid)).name.startswith(name)]
        targets = [self.process.pid] if victim == "learner" else named
        os.kill(self.rng.choice(targets), signal.SIGKILL)
        row: dict[str, Any] = {"victim": victim, "name": name}
        if victim == "actor":
            self.process.send_signal(signal.SIGSTOP)
            try:
                return row | read_everything(self.path)
            finally:
                self.process.send_signal(signal.SIGCONT)
        begun = time.monotonic()
        _, row["said"] = self.process.communicate(timeout=PATIENCE)
        row |= {"status": self.process.returncode, "ended": time.monotonic() - begun}
        row["gone_after"] = until(lambda: not any(map(command_of, others)), "all processes are gone")
        self.process = None
        if not (self.path / "config.yaml").exists():
            shutil.rmtree(self.path, ignore_errors=True)  # killed before anything was there to go on with
        row["half_written"] = ", ".join(set(half_written(self.path)) - set(before))
        return row | read_everything(self.path)

    def end(self) -> None:
        """Ends the learner, if there is one, as Ctrl-C would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.communicate(timeout=PATIENCE)
            self.process = None

    def replaced(self) -> float:
        """Seconds until another actor has played in place of a lost one."""

        def plays() -> bool:
            events = [event for event in read_metrics(self.path / "metrics.jsonl") if event["kind"] == "iteration"]
            later = [event["selfplay"] for event in events if event["iteration"] > self.reached]
            lost = [index for index, figures in enumerate(later) if figures["lost_actors"]]
            return bool(lost) and any(figures["actors"] >= 1 for figures in later[lost[0] :])

        return until(plays, "another actor plays")


def kills(run: Run, count: int, seconds: float, spread: float) -> list[dict[str, Any]]:
    """Makes the kills, each victim in turn."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        victim = tuple(VICTIMS)[number % len(VICTIMS)]
        if victim == "learner":
            run.end()
            run.process = start(run.words, run.path)
            row = run.kill(victim, seconds)
        else:
            run.going()
            row = run.kill(victim, spread)
        row["again"] = run.replaced() if victim == "actor" else run.going()
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    return rows


def shown(rows: list[dict[str, Any]]) -> str:
    """The table, a line for each kind of process; a file that is corrupt, or a run that does not go on, has none."""
    head = ("killed", "kills", "went on after s, median", "at most", "files read, all whole", "most iterations lost",
            "most s of training lost")  # fmt: skip
    lines = [head, ("---",) * len(head)]
    for victim, names in VICTIMS.items():
        for name in names:
            some = [row for row in rows if (row["victim"], row["name"]) == (victim, name)]
            if some:
                waits = [row["again"] for row in some]
                lost = max(row["iterations"] for row in some), f"{max(row['seconds'] for row in some):.1f}"
                figures = (len(some), f"{statistics.median(waits):.0f}", f"{max(waits):.0f}",
                           sum(row["files"] for row in some), *lost)  # fmt: skip
                lines.append((f"{victim} (`{name}`)", *map(str, figures)))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=18)
    parser.add_argument("--words", default=WORDS, help="what to train, for train.py")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a learner's process in which it is killed")
    parser.add_argument("--spread", type=float, default=10.0, help="seconds in which the others are killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--page", type=Path, help="page into which the table is put")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(arguments.words.split(), Path(folder) / "run", random.Random(arguments.seed))
        try:
            rows = kills(run, arguments.kills, arguments.seconds, arguments.spread)
        finally:
            run.end()
    print(shown(rows))
    paste(arguments.page, "kills-ray", shown(rows))
    save(arguments.json, {"rows": rows})


if __name__ == "__main__":
    main()
