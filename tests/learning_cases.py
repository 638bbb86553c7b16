"""Records of random games, for the tests of networks, replay and learning."""

import numpy as np

from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.records import POLICY_WIDTH, Records, empty_records

BIG = RuleSet(name="big", title="10x10 board", size=10, men_rows=4)


def random_positions(rules: RuleSet | str, count: int, seed: int = 0) -> Positions:
    """Unfinished positions after 0 to 59 random plies."""
    rng = np.random.default_rng(seed)
    positions = Positions.initial(rules, count)
    lengths = rng.integers(0, 60, count)
    for ply in range(60):
        playing = (lengths > ply) & (positions.terminations == 0)
        picks = (rng.random(count) * positions.counts).astype(np.int64)
        positions.step(positions.actions[np.arange(count), picks], playing)
    return positions.take(np.flatnonzero(positions.terminations == 0))


def random_records(rules: RuleSet | str, count: int, seed: int = 0) -> Records:
    """Records of distinct random positions with random targets."""
    rng = np.random.default_rng(seed)
    positions = random_positions(rules, 3 * count, seed)
    _, first = np.unique(positions.boards, axis=0, return_index=True)
    positions = positions.take(np.sort(first)[:count])
    assert len(positions) == count
    records = empty_records(count)
    records.boards[:] = positions.boards
    records.features[:] = features(positions)
    for row in range(count):
        legal = positions.actions[row, : positions.counts[row]][:POLICY_WIDTH]
        records.actions[row, : len(legal)] = legal
        records.policy[row, : len(legal)] = rng.dirichlet(np.full(len(legal), 0.5))
    records.z[:] = rng.integers(-1, 2, count)
    records.q[:] = np.clip(records.z + rng.normal(0.0, 0.3, count), -1.0, 1.0)
    records.plies_left[:] = rng.integers(1, 60, count)
    return records
