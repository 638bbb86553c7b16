"""Move generation: perft of the kernel, of a bitboard generator in C (perft.c) and of py-draughts, side by side.

    python benchmarks/perft.py [--rounds 7] [--peers peers/bin/python] [--define TURN LISTS TRY_BACK] [--json FILE]

One thread, no hash, last ply counted without being played, from the start; the three take turns, and medians are
compared. Every count is checked. Times are those of the processor, so other programs hardly count. --peers is the
Python of an environment with benchmarks/peers.txt; without it py-draughts is left out.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from common import HERE, Peer, save

from damas_env.movegen import perft
from damas_env.notation import parse_fen
from damas_env.rules import get_rules

START = [7, 49, 302, 1469, 7473, 37628, 187302, 907830, 4431766, 21560022, 105491257]
"""Published leaf counts of Brazilian draughts."""

KINGS = "W:WK29,K3,22,24,26:BK4,K25,9,11,12"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="turns of each program")
    parser.add_argument("--depth", type=int, default=10, help="plies of the kernel and the C program")
    parser.add_argument("--kings-depth", type=int, default=10, help="plies from a position with kings")
    parser.add_argument("--peer-depth", type=int, default=6, help="plies of py-draughts")
    parser.add_argument("--cc", default="cc", help="C compiler")
    parser.add_argument(
        "--define", nargs="*", default=[], help="features of the kernel that perft.c takes over, see there"
    )
    parser.add_argument("--peers", type=Path, help="Python with py-draughts")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    if not (1 <= arguments.depth <= len(START) and 1 <= arguments.peer_depth <= len(START)):
        parser.error(f"--depth and --peer-depth must be from 1 to {len(START)}")
    if arguments.rounds < 1 or arguments.kings_depth < 1:
        parser.error("--rounds and --kings-depth must be at least 1")
    rules = get_rules("cbd")
    tasks = {
        "start": (rules.initial_boards, arguments.depth),
        "kings": (parse_fen(KINGS, rules)[0], arguments.kings_depth),
    }
    rates: dict[str, list[float]] = {}

    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "perft"
        features = [f"-D{name}" for name in arguments.define]
        subprocess.run([arguments.cc, "-O3", "-march=native", *features, HERE / "perft.c", "-o", program], check=True)
        yardstick = Peer([program])
        library = Peer([arguments.peers, HERE / "peers.py", "perft"]) if arguments.peers else None
        counts = {}
        perft(rules, rules.initial_boards, 2)  # loads the kernel
        for _ in range(arguments.rounds):
            for name, (boards, depth) in tasks.items():
                started = time.process_time()
                leaves = perft(rules, boards, depth)
                rates.setdefault(f"damas, {name}", []).append(leaves / (time.process_time() - started))
                counts[name] = leaves
                found, seconds = yardstick.ask(" ".join(f"{int(word):x}" for word in np.asarray(boards)) + f" {depth}")
                rates.setdefault(f"C, {name}", []).append(found / seconds)
                if leaves != found or (name == "start" and leaves != START[depth - 1]):
                    raise SystemExit(f"{name}, depth {depth}: {leaves} leaves by the kernel, {found:.0f} by perft.c")
            if library:
                found, seconds = library.ask(str(arguments.peer_depth))
                rates.setdefault("py-draughts, start", []).append(found / seconds)
                if found != START[arguments.peer_depth - 1]:
                    raise SystemExit(f"py-draughts counts {found:.0f} leaves at depth {arguments.peer_depth}")
        yardstick.close()
        if library:
            library.close()

    medians = {name: statistics.median(values) for name, values in rates.items()}
    ratios = {f"damas / C, {name}": medians[f"damas, {name}"] / medians[f"C, {name}"] for name in tasks}
    if library:
        ratios["damas / py-draughts, start"] = medians["damas, start"] / medians["py-draughts, start"]
    print(f"position with kings: {KINGS}\n")
    print(f"| leaves per second | median of {arguments.rounds} rounds | lowest | highest |\n| --- | --- | --- | --- |")
    for name, values in rates.items():
        print(f"| {name} | {medians[name]:,.0f} | {min(values):,.0f} | {max(values):,.0f} |")
    for name, ratio in ratios.items():
        print(f"| **{name}** | **{ratio:.2f}** | | |")
    depths = {name: depth for name, (_, depth) in tasks.items()} | {"py-draughts": arguments.peer_depth}
    save(arguments.json, {"depths": depths, "leaves": counts, "rates": rates, "medians": medians, "ratios": ratios})


if __name__ == "__main__":
    main()
