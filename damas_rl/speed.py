"""How fast a network is by itself: the ceiling that self-play is compared with."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.search.mcts import Evaluate


def raw_evaluations_per_second(
    evaluator: Evaluate, rules: RuleSet, batch: int, threads: int, seconds: float = 0.5
) -> float:
    """Positions per second when threads do nothing but call the network.

    Args:
        evaluator: the network.
        rules: rule set of the positions.
        batch: positions in one call.
        threads: calls at once.
        seconds: how long to measure, after one call to warm up.
    """
    positions = Positions.initial(rules, batch)
    rng = np.random.default_rng(0)
    for _ in range(12):
        positions.step(positions.sample_legal(rng))
    boards, numbers = positions.boards, features(positions)
    evaluator.evaluate(boards, numbers)

    def calls(until: float) -> int:
        count = 0
        while time.perf_counter() < until:
            evaluator.evaluate(boards, numbers)
            count += 1
        return count

    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        done = sum(pool.map(calls, [started + seconds] * threads))
    return done * batch / (time.perf_counter() - started)
