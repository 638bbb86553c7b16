"""Start-up: import to first move, compilation with an empty cache, and two processes that compile at once.

    python benchmarks/startup.py [--runs 5] [--json FILE]

Warm: a new process imports damas_env, makes a game, and plays its first legal move, with all kernels cached. Cold: a
`damas` command with an empty kernel cache. Together: two `damas perft` start at once with one empty cache; both must
count right. Every figure is wall time of the whole process unless said otherwise.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import save

FIRST_MOVE = """
import time
started = time.perf_counter()
from damas_env.game import Game
game = Game()
game.push(game.legal_moves()[0])
print(time.perf_counter() - started)
"""
DAMAS = [sys.executable, "-m", "damas_rl.cli"]
PERFT = [*DAMAS, "perft", "--depth", "6", "--json"]
PLAY = [*DAMAS, "play", "--opponent", "alphabeta:depth=6", "--color", "black", "--seed", "1"]


def timed(command: list[str], cache: str | None = None, text: str = "") -> tuple[float, str]:
    """(wall seconds, standard output) of a command that must succeed."""
    started = time.perf_counter()
    done = subprocess.run(command, input=text, text=True, capture_output=True, env=environment(cache))
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return seconds, done.stdout


def environment(cache: str | None) -> dict[str, str]:
    return os.environ | ({"NUMBA_CACHE_DIR": cache} if cache else {})


def together(count: int) -> dict[str, float | int]:
    """Several processes at once with one empty cache: all must give the same right answer."""
    with tempfile.TemporaryDirectory() as cache:
        started = time.perf_counter()
        pipe = subprocess.PIPE
        running = [
            subprocess.Popen(PERFT, stdout=pipe, stderr=pipe, text=True, env=environment(cache)) for _ in range(count)
        ]
        outputs = [process.communicate() for process in running]
        seconds = time.perf_counter() - started
        for process, (out, errors) in zip(running, outputs, strict=True):
            if process.returncode or json.loads(out)["nodes"][-1] != 37628:
                raise SystemExit(f"One of {count} processes with an empty cache failed:\n{out}{errors}")
        again, _ = timed(PERFT, cache)  # what they have left in the cache is whole
    return {"processes": count, "seconds": seconds, "again": again}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="of the warm start")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    command = [sys.executable, "-c", FIRST_MOVE]
    timed(command)  # fills the cache
    inside, whole = [], []
    for _ in range(arguments.runs):
        seconds, out = timed(command)
        whole.append(seconds)
        inside.append(float(out))
    figures = {
        "first_move": {"import_to_move": statistics.median(inside), "process": statistics.median(whole)},
        "cold": {},
        "warm": {},
        "together": {},
    }
    print("| | empty cache | filled cache |\n| --- | --- | --- |")
    print(f"| import to first move (whole process) | | {figures['first_move']['import_to_move']:.2f} s "
          f"({figures['first_move']['process']:.2f} s) |")  # fmt: skip
    for name, line, text in (("`damas perft --depth 6`", PERFT, ""), ("`damas play`, one move", PLAY, "quit\n")):
        with tempfile.TemporaryDirectory() as cache:
            figures["cold"][name], _ = timed(line, cache, text)
            figures["warm"][name], _ = timed(line, cache, text)
        print(f"| {name} | {figures['cold'][name]:.1f} s | {figures['warm'][name]:.2f} s |", flush=True)
    figures["together"] = together(2)
    print(f"| two `damas perft` started together | {figures['together']['seconds']:.1f} s, both counted right | |")
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
