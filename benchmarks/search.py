"""Speed of the tree search, alone and around a network.

    python benchmarks/search.py [--games 64 256 1024] [--simulations 200 800] [--networks 128x3 256x4] [--seconds 5]

The first table runs the kernels on one core with a network that costs nothing: simulations per second. The second
plays against itself with real networks and divides the evaluations per second by those that the same threads reach
when they do nothing but call the network with the same batches.
"""

import argparse
import time

import numpy as np

from damas_env.position import THREADS, Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.search.mcts import Search, SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayConfig
from damas_rl.speed import raw_evaluations_per_second


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
        picks = (rng.random(games) * np.maximum(positions.counts, 1)).astype(np.int64)
        positions.step(positions.actions[np.arange(games), picks], where=plies > ply)
        positions.reset((positions.terminations != 0) & (ply < 8))
    return positions.take(np.resize(np.flatnonzero(positions.terminations == 0), games))


def simulations_per_second(rules: RuleSet, config: SearchConfig, games: int, simulations: int) -> float:
    """Of one search of middle games, results included."""
    search = Search(rules, FreeNetwork(rules, games * config.leaves_per_tree), config, games, simulations)
    positions = middle_games(rules, games)
    search.run(positions, simulations)  # pages of the pools are touched for the first time here
    started = time.thread_time()  # of this thread: other programs do not count
    result = search.run(positions, simulations)
    seconds = time.thread_time() - started
    return int(result.simulations.sum()) / seconds


def search_table(rules: RuleSet, games: list[int], simulations: list[int]) -> None:
    print(f"rules {rules.name}; simulations per second of one core, network free of charge")
    print(f"{'root':<8}{'leaves':>8}{'games':>8}" + "".join(f"{f'{count} sims':>16}" for count in simulations))
    for kind, leaves, sizes in (("puct", 1, games), ("gumbel", 1, games), ("puct", 8, [1])):
        config = SearchConfig(kind=kind, leaves_per_tree=leaves)
        for size in sizes:
            cells = [simulations_per_second(rules, config, size, count) for count in simulations]
            print(f"{kind:<8}{leaves:>8}{size:>8}" + "".join(f"{cell:>16,.0f}" for cell in cells))


def self_play_table(rules: RuleSet, networks: list[str], settings: SelfPlayConfig, seconds: float) -> None:
    batch = settings.games // settings.groups
    print(
        f"\nself-play: {settings.games} games in {settings.groups} groups, {settings.simulations} simulations, "
        f"{settings.threads} threads"
    )
    print(f"{'network':<10}{'device':>8}{'root':>8}{'raw evals/s':>14}{'self-play':>12}{'ratio':>8}{'batch fill':>12}")
    for name in networks:
        width, blocks = map(int, name.split("x"))
        network = build_network(NetworkConfig(width=width, blocks=blocks), rules)
        evaluator = Evaluator(network)
        for kind in ("puct", "gumbel"):
            run = SelfPlay(rules, settings, SearchConfig(kind=kind), seed=0)
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
            print(
                f"{name:<10}{evaluator.device.type:>8}{kind:>8}{floor:>14,.0f}{stats['evaluations_per_second']:>12,.0f}"
                f"{stats['evaluations_per_second'] / floor:>8.2f}{stats['batch_fill']:>12.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", default="cbd")
    parser.add_argument("--games", type=int, nargs="+", default=[64, 256, 1024], help="games searched at once")
    parser.add_argument("--simulations", type=int, nargs="+", default=[200, 800], help="simulations for each move")
    parser.add_argument("--networks", nargs="*", default=["128x3", "256x4"], help="WIDTHxBLOCKS of residual MLPs")
    parser.add_argument("--seconds", type=float, default=5.0, help="self-play measured for each network")
    parser.add_argument("--selfplay-games", type=int, default=512)
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--selfplay-simulations", type=int, default=64)
    parser.add_argument("--threads", type=int, default=THREADS)
    arguments = parser.parse_args()

    rules = get_rules(arguments.rules)
    search_table(rules, arguments.games, arguments.simulations)
    if arguments.networks:
        settings = SelfPlayConfig(
            games=arguments.selfplay_games,
            groups=arguments.groups,
            threads=arguments.threads,
            simulations=arguments.selfplay_simulations,
        )
        self_play_table(rules, arguments.networks, settings, arguments.seconds)


if __name__ == "__main__":
    main()
