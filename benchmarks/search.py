"""Speed of the tree search, alone and around a network.

    python benchmarks/search.py [--games 64 256 1024] [--simulations 200 800] [--networks default tiny] [--seconds 5]

The first table runs the kernels on one core with a network that costs nothing: simulations per second. The second
searches single games on one thread with the network that ships, as players do. The third plays against itself with real
networks and divides the evaluations per second by those that the same threads reach when they do nothing but call the
network with the same batches.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import save

from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.checkpoint import load_network
from damas_rl.networks import Evaluator, NetworkConfig, build_network, evaluator_of_few
from damas_rl.search.mcts import Evaluate, Search, SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayConfig
from damas_rl.speed import raw_evaluations_per_second


def parse_network(name: str) -> NetworkConfig:
    """The configuration that a name of the command line stands for."""
    if name == "default":
        return NetworkConfig()
    if name == "tiny":
        return NetworkConfig(width=16, blocks=1, local=4, pair=4, value_width=8)
    width, blocks = map(int, name.split("x"))
    return NetworkConfig(width=width, blocks=blocks)


class FreeNetwork:
    """Random answers made beforehand: no network could be faster."""

    def __init__(self, rules: RuleSet, batch: int) -> None:
        rng = np.random.default_rng(0)
        self.logits = rng.normal(size=(batch, rules.num_actions)).astype(np.float32)
        self.values = rng.uniform(-0.5, 0.5, batch).astype(np.float32)

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(boards)
        return self.logits[:count], self.values[:count], self.values[:count]


def middle_games(rules: RuleSet, games: int) -> Positions:
    """Positions after 8 to 40 random plies; a game that has ended there is replaced by one after 8."""
    positions, rng = Positions.initial(rules, games), np.random.default_rng(1)
    plies = rng.integers(8, 41, games)
    for ply in range(40):
        positions.step(positions.sample_legal(rng), where=plies > ply)
        positions.reset((positions.terminations != 0) & (ply < 8))
    return positions.take(np.resize(np.flatnonzero(positions.terminations == 0), games))


def simulations_per_second(
    rules: RuleSet, config: SearchConfig, games: int, simulations: int, network: Evaluate | None = None
) -> float:
    """Of one search of middle games, results included; without a network with one that costs nothing."""
    network = network or FreeNetwork(rules, games * config.leaves_per_tree)
    search = Search(rules, network, config, games, simulations)
    positions = middle_games(rules, games)
    search.run(positions, simulations)  # pages of the pools are touched for the first time here
    started = time.thread_time()  # of this thread: other programs do not count
    result = search.run(positions, simulations)
    seconds = time.thread_time() - started
    return int(result.simulations.sum()) / seconds


def search_table(rules: RuleSet, games: list[int], simulations: list[int]) -> list[dict[str, Any]]:
    rows = []
    print(f"rules {rules.name}; simulations per second of one core, network free of charge\n")
    columns = " | ".join(f"{count} simulations" for count in simulations)
    print(f"| root | leaves of a tree at once | games | {columns} |")
    print(f"|{' --- |' * (3 + len(simulations))}")
    for kind, leaves, sizes in (("puct", 1, games), ("gumbel", 1, games), ("puct", 8, [1])):
        config = SearchConfig(kind=kind, leaves_per_tree=leaves)
        for size in sizes:
            cells = [simulations_per_second(rules, config, size, count) for count in simulations]
            print(f"| {kind} | {leaves} | {size:,} | {' | '.join(f'{cell:,.0f}' for cell in cells)} |", flush=True)
            rows.append({"root": kind, "leaves": leaves, "games": size, "simulations_per_second": cells})
    return rows


def single_game_table(rules: RuleSet) -> list[dict[str, Any]]:
    rows, network = [], load_network("small")[0]
    print("\none game on one thread, network small, 800 simulations\n")
    print("| network computed by | leaves at once | simulations per second |")
    print("| --- | --- | --- |")
    few, torch = evaluator_of_few(network), Evaluator(network, "cpu")
    for name, evaluator, leaves in (("torch", torch, 1), *(("kernel", few, leaves) for leaves in (1, 2, 4, 8))):
        config = SearchConfig(leaves_per_tree=leaves)
        speed = statistics.median(simulations_per_second(rules, config, 1, 800, evaluator) for _ in range(5))
        print(f"| {name} | {leaves} | {speed:,.0f} |", flush=True)
        rows.append({"network": name, "leaves": leaves, "simulations_per_second": speed})
    return rows


def self_play_table(
    rules: RuleSet, networks: list[str], settings: SelfPlayConfig, seconds: float
) -> list[dict[str, Any]]:
    rows = []
    batch = settings.games // settings.groups
    print(
        f"\nself-play: {settings.games} games in {settings.groups} groups, {settings.simulations} simulations, "
        f"{settings.threads} threads\n"
    )
    print("| network | device | root | raw | self-play | ratio | batch fill |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in networks:
        network = build_network(parse_network(name), rules)
        evaluator = Evaluator(network)
        for kind in ("puct", "gumbel"):
            search = SearchConfig(kind=kind, considered=8, c_scale=0.3) if kind == "gumbel" else SearchConfig(kind=kind)
            run = SelfPlay(rules, settings, search, seed=0)
            run.run(evaluator, settings.games * (settings.random_plies + 1))  # past the random plies
            steps, raw = 1, []
            while True:
                raw.append(raw_evaluations_per_second(evaluator, rules, batch, run.threads, max(1.0, seconds / 4)))
                stats = run.run(evaluator, steps * settings.games).stats()
                if stats["seconds"] >= seconds:
                    break
                steps = max(steps + 1, int(1.2 * steps * seconds / stats["seconds"]))
            raw.append(raw_evaluations_per_second(evaluator, rules, batch, run.threads, max(1.0, seconds / 4)))
            floor = (raw[-2] + raw[-1]) / 2  # just before and just after
            reached = stats["evaluations_per_second"]
            print(
                f"| {name} | {evaluator.device.type} | {kind} | {floor:,.0f} | {reached:,.0f} | "
                f"**{reached / floor:.2f}** | {stats['batch_fill']:.2f} |",
                flush=True,
            )
            row = {"network": name, "root": kind, "raw": floor, "self_play": reached, "ratio": reached / floor}
            rows.append(row | {"batch_fill": stats["batch_fill"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--games", type=int, nargs="+", default=[64, 256, 1024], help="games searched at once")
    parser.add_argument("--simulations", type=int, nargs="+", default=[200, 800], help="simulations for each move")
    parser.add_argument("--networks", nargs="*", default=["default", "tiny"], help="default, tiny or WIDTHxBLOCKS")
    parser.add_argument("--seconds", type=float, default=5.0, help="self-play measured for each network")
    parser.add_argument("--selfplay-games", type=int, default=512)
    parser.add_argument("--groups", type=int, default=2)
    parser.add_argument("--selfplay-simulations", type=int, default=32)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()

    rules = get_rules(arguments.rules)
    free, played = search_table(rules, arguments.games, arguments.simulations), []
    single = single_game_table(rules) if rules.name == "cbd" else []
    if arguments.networks:
        settings = SelfPlayConfig(
            games=arguments.selfplay_games,
            groups=arguments.groups,
            threads=arguments.threads,
            simulations=arguments.selfplay_simulations,
        )
        played = self_play_table(rules, arguments.networks, settings, arguments.seconds)
    save(
        arguments.json,
        {"simulations": arguments.simulations, "free_network": free, "single_game": single, "self_play": played},
    )


if __name__ == "__main__":
    main()
