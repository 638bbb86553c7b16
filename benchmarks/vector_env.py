"""Speed of DamasVectorEnv under random legal play: plies per second by batch size, threads and what is returned.

    python benchmarks/vector_env.py [--seconds 1] [--sizes 1 64 1024 16384 65536] [--threads 1 2]
    python benchmarks/vector_env.py --peers peers/bin/python     # adds OpenSpiel's checkers and pgx's othello

"bare" returns no observations and no masks; "boards" returns bitboards, features and masks; "planes" returns
float32 planes and masks, copied into new arrays; "planes, own buffers" writes them into the same arrays again.
Choosing the random moves is part of the time. --peers is the Python of an environment with benchmarks/peers.txt.
OpenSpiel is driven from Python; both play on one thread, in turn, and processor times are compared (American checkers,
a simpler game). pgx and we play on all cores, and wall times are compared; 100 plies of its games are one compiled
call, choice of moves included, without Python in between (othello, a simpler game; its planes are always computed).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, Peer, save

from damas_env import position
from damas_env.envs import DamasVectorEnv

CORES = position.THREADS

MODES = {
    "bare": {"observation": "none", "masks": False},
    "boards": {"observation": "boards", "copy": False},
    "planes": {"observation": "planes"},
    "planes, own buffers": {"observation": "planes", "copy": False},
}


def plies_per_second(env: DamasVectorEnv, seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Mean over at least ``seconds`` of stepping, after enough steps to spread the games over their length."""
    env.reset(seed=0)
    for _ in range(80 if env.num_envs < 4096 else 40):
        env.step(env.sample_legal())
    steps, start = 0, clock()
    while (elapsed := clock() - start) < seconds:
        env.step(env.sample_legal())
        steps += 1
    return steps * env.num_envs / elapsed


def bytes_per_game(env: DamasVectorEnv) -> int:
    """Bytes that the state of one game takes."""
    arrays = [value for value in vars(env.positions).values() if isinstance(value, np.ndarray)]
    return sum(array.nbytes for array in arrays) // env.num_envs


def against_open_spiel(python: Path, rules: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Plies per processor second on one thread: ours, OpenSpiel's, and the ratio of the medians."""
    position.THREADS = 1
    peer = Peer([python, HERE / "peers.py", "checkers"])
    figures = {}
    for observe, mode in ((0, "bare"), (1, "planes"), (1, "planes, own buffers")):
        env = DamasVectorEnv(1024, rules=rules, **MODES[mode])
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(plies_per_second(env, seconds, time.process_time))
            plies, taken = peer.ask(f"{seconds} {observe}")
            theirs.append(plies / taken)
        figures[mode] = compared(mode, ours, "OpenSpiel", theirs)
    peer.close()
    return figures


def against_pgx(python: Path, rules: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Plies per second of 1024 games on all cores: ours, pgx's, and the ratio of the medians."""
    position.THREADS = CORES
    peer = Peer([python, HERE / "peers.py", "othello"])
    figures = {}
    for mode in ("bare", "planes, own buffers"):
        env = DamasVectorEnv(1024, rules=rules, **MODES[mode])
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(plies_per_second(env, seconds))
            plies, taken = peer.ask(f"{seconds} 1024")
            theirs.append(plies / taken)
        figures[mode] = compared(mode, ours, "pgx", theirs)
    peer.close()
    return figures


def compared(mode: str, ours: list[float], name: str, theirs: list[float]) -> dict[str, Any]:
    """Prints and returns two rates and the ratio of their medians."""
    medians = statistics.median(ours), statistics.median(theirs)
    ratio = medians[0] / medians[1]
    print(f"| {mode} | {medians[0]:,.0f} | {name} {medians[1]:,.0f} | **{ratio:.1f}** |", flush=True)
    return {"damas": ours, name: theirs, "medians": medians, "ratio": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each cell of the table")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 16, 256, 4096, 65536])
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, CORES}))
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--peers", type=Path, help="Python with open-spiel and pgx")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each in the comparison")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()

    env = DamasVectorEnv(1, rules=arguments.rules)
    state, rules = bytes_per_game(env), env.rules
    image = 4 * int(np.prod(env.single_observation_space.shape))
    print(f"rules {rules.name}; a game takes {state:,} bytes, its planes {image:,}, its mask {rules.num_actions:,}\n")
    sizes = " | ".join(f"{size:,}" for size in arguments.sizes)
    print(f"| plies per second | threads | {sizes} |\n|{' --- |' * (len(arguments.sizes) + 2)}")
    table = []
    for name, options in MODES.items():
        for threads in arguments.threads:
            position.THREADS = threads
            cells = []
            for size in arguments.sizes:
                env = DamasVectorEnv(size, rules=arguments.rules, **options)
                cells.append(plies_per_second(env, arguments.seconds))
            print(f"| {name} | {threads} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |", flush=True)
            table.append({"mode": name, "threads": threads, "plies_per_second": cells})
    figures = {"sizes": arguments.sizes, "table": table}
    figures["bytes_per_game"] = {"state": state, "planes": image, "mask": rules.num_actions}
    if arguments.peers:
        options = arguments.peers, arguments.rules, arguments.rounds, arguments.seconds
        print("\n| 1,024 games, plies per second | damas-rl | other | ratio |\n| --- | --- | --- | --- |")
        figures["open_spiel"] = against_open_spiel(*options)
        figures["pgx"] = against_pgx(*options)
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
