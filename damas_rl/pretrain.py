"""Pre-training: a network learns from the games of a database before it plays against itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from damas_env.rules import RuleSet
from damas_rl.database import load_records
from damas_rl.learner import Learner
from damas_rl.replay import ReplayBuffer
from damas_rl.strict import check_ranges

STEPS_AT_ONCE = 50
"""Steps between two looks at the clock and at the wish to stop."""


@dataclass(frozen=True)
class PretrainConfig:
    """What a network learns from before self-play starts.

    Attributes:
        records: file of training records, made with ``damas pdn --records``; empty = none.
        epochs: how often each record is drawn, on average. These steps count for ``learner.warmup_steps``, and
            their time is part of ``minutes``.
    """

    records: str = ""
    epochs: float = 2.0

    def __post_init__(self) -> None:
        check_ranges("pretrain", self, epochs=(1e-3, 10_000))


def load(config: PretrainConfig, rules: RuleSet) -> ReplayBuffer | None:
    """The records to learn from, None if there are none.

    Raises:
        DatabaseError: the file cannot be used.
    """
    return load_records(Path(config.records), rules) if config.records else None


def steps_of(config: PretrainConfig, records: ReplayBuffer, batch_size: int) -> int:
    """Learner steps of the whole pre-training."""
    return max(1, round(config.epochs * len(records) / batch_size))


def parts(learner: Learner, records: ReplayBuffer, steps: int, done: int, seed: int) -> Iterator[dict[str, float]]:
    """Takes the steps from number ``done`` on, ``STEPS_AT_ONCE`` at a time; yields the mean figures of each part.

    The batches of a part depend on nothing but the seed and the number of its first step, so that pre-training can be
    broken off behind any part and taken up again.
    """
    for first in range(done, steps, STEPS_AT_ONCE):
        rng = np.random.default_rng((seed, first))
        yield learner.train(records, rng, min(STEPS_AT_ONCE, steps - first))
