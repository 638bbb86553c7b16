"""Where a simulation of the tree search spends its time when the network costs nothing (PUCT, one core).

    python benchmarks/search_parts.py [--games 64 1024] [--simulations 200] [--json FILE]

Kernels are timed where the search calls them. What happens within a walk is timed by doing it again on the finished
trees: move generation for each node, and the choice of an edge at each of its ancestors. The rest of the walk is what
is left over: playing the move, draw laws, repetitions, writing nodes and edges, backing up known values. Times are
those of the thread, so other programs hardly count.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
from common import save
from search import FreeNetwork, middle_games

from damas_env.actions import encode
from damas_env.kernel import kernel
from damas_env.movegen import WORK, generate
from damas_env.rules import RuleSet, get_rules
from damas_rl.search import mcts
from damas_rl.search.choice import choose_puct


@kernel
def generate_again(spec, trees):
    """Generates the moves of all nodes but the roots; returns (nodes, moves)."""
    work, total, moves = np.empty(1, WORK)[0], 0, 0
    for game in range(len(trees.roots)):
        for index in range(1, trees.roots[game].nodes_used):
            boards = trees.nodes[game, index].boards
            count = generate(spec, boards[0], boards[1], boards[2], boards[3], work)
            encode(spec, count, work)
            total, moves = total + 1, moves + count
    return total, moves


@kernel
def choose_again(trees, scales):
    """Chooses an edge at all ancestors of all nodes; returns (choices, sum of the chosen edges)."""
    choices, total = 0, 0
    for game in range(len(trees.roots)):
        nodes, edges = trees.nodes[game], trees.edges[game]
        for index in range(1, trees.roots[game].nodes_used):
            ancestor = np.int64(nodes[index].parent)
            while ancestor >= 0:
                if nodes[ancestor].num_edges > 1:
                    choices += 1
                    total += choose_puct(nodes, edges, scales, ancestor)
                ancestor = np.int64(nodes[ancestor].parent)
    return choices, total


def timed(function: Callable[..., Any], seconds: dict[str, float], part: str) -> Callable[..., Any]:
    """The function, whose time is added to ``seconds[part]``."""

    def call(*arguments: Any) -> Any:
        started = time.thread_time()
        result = function(*arguments)
        seconds[part] = seconds.get(part, 0.0) + time.thread_time() - started
        return result

    return call


def parts(rules: RuleSet, games: int, simulations: int) -> dict[str, Any]:
    """Nanoseconds for each simulation by part, and what the trees looked like."""
    network, config = FreeNetwork(rules, games), mcts.SearchConfig()
    search, positions = mcts.Search(rules, network, config, games, simulations), middle_games(rules, games)
    search.run(positions, simulations)  # pages of the pools are touched for the first time here
    seconds: dict[str, float] = {}
    names = {"plant": "roots", "select": "walk", "expand": "priors and backing up", "mix_root_noise": "noise"}
    kernels = {name: timed(getattr(mcts.tree, name), seconds, part) for name, part in names.items()}
    with (
        mock.patch.object(mcts, "tree", SimpleNamespace(**kernels)),
        mock.patch.object(mcts, "fill_features", timed(mcts.fill_features, seconds, "features")),
    ):
        started = time.thread_time()
        result = search.run(positions, simulations)
        whole = time.thread_time() - started
    done = int(result.simulations.sum())
    seconds["rest (Python, results)"] = whole - sum(seconds.values())
    for _ in range(2):  # the first call loads the kernels
        again: dict[str, float] = {}
        nodes, moves = timed(generate_again, again, "walk: move generation")(rules.spec, search.trees)
        choices, _ = timed(choose_again, again, "walk: choice of edges")(search.trees, search._scales)
    again["walk: rest"] = seconds.pop("walk") - sum(again.values())
    rates = {part: 1e9 * taken / done for part, taken in (again | seconds).items()}
    return {
        "games": games, "nanoseconds": rates, "simulations_per_second": done / whole, "nodes": nodes / done,
        "moves": moves / nodes, "choices": choices / done,
        "bytes": search.trees.nodes.nbytes + search.trees.edges.nbytes,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    rules = get_rules("cbd")
    rows = [parts(rules, games, arguments.simulations) for games in arguments.games]
    columns = " | ".join(f"{games:,} games" for games in arguments.games)
    print(f"{arguments.simulations} simulations of PUCT\n\n| nanoseconds for each simulation | {columns} |")
    print(f"|{' --- |' * (1 + len(rows))}")
    for part in rows[0]["nanoseconds"]:
        print(f"| {part} | {' | '.join(format(row['nanoseconds'][part], ',.0f') for row in rows)} |")
    for name, text in (
        ("simulations_per_second", "simulations per second"),
        ("nodes", "new nodes for each simulation"),
        ("choices", "choices of an edge for each simulation"),
        ("moves", "moves of a node"),
        ("bytes", "bytes of the pools"),
    ):
        print(f"| {text} | {' | '.join(format(row[name], ',.0f' if row[name] > 100 else '.1f') for row in rows)} |")
    save(arguments.json, {"simulations": arguments.simulations, "rows": rows})


if __name__ == "__main__":
    main()
