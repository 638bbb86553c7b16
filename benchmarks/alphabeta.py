"""Alpha-beta: nodes per second of one core, depth reached in a given time, and time to a given depth.

    python benchmarks/alphabeta.py [--positions 20] [--long] [--json FILE]

The positions are the start and positions after 4 to 40 random plies of games that go on, always the same ones; each
is searched by itself on one thread, with an empty table, as time limits do it: late moves less deep. Time is wall
time, so the machine should be idle. A search that has proven a win or a loss ends there, whatever time is left: such
positions are counted, and depths are those of the others.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from common import save

from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.transpositions import PROVEN

UNLIMITED = Limits.LARGEST["nodes"]


def sample(rules: RuleSet, count: int) -> Positions:
    """The start, and positions with a choice after 4 to 40 random plies."""
    rng, pool = np.random.default_rng(7), 50 * count
    positions = Positions.initial(rules, pool)
    plies = 4 + np.arange(pool) % 37
    plies[0] = 0
    for ply in range(40):
        positions.step(positions.sample_legal(rng), where=(plies > ply) & (positions.terminations == 0))
    open_games = np.flatnonzero((positions.terminations == 0) & (positions.counts > 1))
    # Spread over the lengths: the pool goes through them in turn.
    chosen = open_games[np.linspace(0, len(open_games) - 1, count).astype(np.int64)]
    return positions.take(chosen)


def search_each(positions: Positions, limits: Limits) -> tuple[list[int], list[int], list[bool], list[float]]:
    """(nodes, depths, proven, seconds) of the searches of all games, each by itself with an empty table."""
    nodes, depths, proven, seconds = [], [], [], []
    for game in range(len(positions)):
        search, one = AlphaBeta(positions.rules, limits), positions.take(np.array([game]))
        started = time.perf_counter()
        result = search.search(one, np.zeros(1, dtype=np.uint64))
        seconds.append(time.perf_counter() - started)
        nodes.append(int(result.nodes[0]))
        depths.append(int(result.depths[0]))
        proven.append(bool(abs(result.scores[0]) >= PROVEN))
    return nodes, depths, proven, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--positions", type=int, default=20)
    parser.add_argument("--ms", type=int, nargs="+", default=[100, 1000], help="time limits")
    parser.add_argument("--long", action="store_true", help="adds 10 s for each position")
    parser.add_argument("--depths", type=int, nargs="*", default=[9, 11, 13], help="for the time to a depth")
    parser.add_argument("--cap-ms", type=int, default=5000, help="most time for one position to reach a depth")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rules = get_rules(arguments.rules)
    positions = sample(rules, arguments.positions)
    search_each(positions.take(np.array([0])), Limits(ms=20))  # loads the kernels

    figures: dict[str, list[dict[str, float]]] = {"in_time": [], "to_depth": []}
    print(f"rules {rules.name}; {len(positions)} positions, one thread\n")
    print("| time | nodes per second | depth: start | median | least | most | proven |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for limit in [*arguments.ms, *([10_000] if arguments.long else [])]:
        nodes, depths, proven, seconds = search_each(positions, Limits(ms=limit))
        unsettled = [depth for depth, settled in zip(depths, proven, strict=True) if not settled]
        row = {
            "ms": limit, "nodes_per_second": sum(nodes) / sum(seconds), "start": depths[0],
            "median": statistics.median(unsettled), "least": min(unsettled), "most": max(unsettled),
            "proven": sum(proven),
        }  # fmt: skip
        figures["in_time"].append(row)
        print(
            f"| {limit / 1000:g} s | {row['nodes_per_second']:,.0f} | {row['start']} | {row['median']:g} | "
            f"{row['least']} | {row['most']} | {row['proven']} |",
            flush=True,
        )
    if arguments.depths:
        print(f"\n| depth | time: start | median | most | done within {arguments.cap_ms / 1000:g} s |")
        print("| --- | --- | --- | --- | --- |")
    for depth in arguments.depths:
        _, depths, _, times = search_each(positions, Limits(depth=depth, nodes=UNLIMITED, ms=arguments.cap_ms))
        reached = sum(took * 1000 < arguments.cap_ms and found > 0 for took, found in zip(times, depths, strict=True))
        row = {
            "depth": depth, "start_seconds": times[0], "median_seconds": statistics.median(times),
            "most_seconds": max(times), "reached": reached, "positions": len(positions),
        }  # fmt: skip
        figures["to_depth"].append(row)
        print(
            f"| {depth} | {times[0]:.3f} s | {row['median_seconds']:.3f} s | {row['most_seconds']:.3f} s | "
            f"{reached} of {len(positions)} |",
            flush=True,
        )
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
