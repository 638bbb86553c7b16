"""The configuration of a training run: one frozen tree of dataclasses, one branch for each room."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from damas_env.presets import DEFAULT_RULES
from damas_env.rules import get_rules
from damas_rl.arena import ArenaConfig
from damas_rl.cluster.config import ClusterConfig
from damas_rl.learner import LearnerConfig
from damas_rl.networks import NetworkConfig
from damas_rl.pretrain import PretrainConfig
from damas_rl.replay import ReplayConfig
from damas_rl.search.mcts import SearchConfig
from damas_rl.selfplay import SelfPlayConfig
from damas_rl.strict import ConfigError, check_ranges


@dataclass(frozen=True)
class RulesConfig:
    """Which game is played.

    Attributes:
        name: a rule set (see ``damas rules``), or a .yaml file that describes one.
    """

    name: str = DEFAULT_RULES

    def __post_init__(self) -> None:
        get_rules(self.name)


@dataclass(frozen=True)
class TrainerConfig:
    """The loop around self-play and learning.

    Attributes:
        positions_per_iteration: searched plies of self-play between two phases of learning (random and forced plies
            come on top).
        replay_ratio: how often each new record is learned from, on average.
        learning_starts: records that must have been collected before learning begins.
        evaluate_minutes: minutes between two measurements against the ladder; 0 = after every iteration.
        checkpoint_minutes: minutes between two checkpoints; 0 = after every iteration.
        keep_checkpoints: checkpoints that are kept; older ones are removed.
        sample_games: self-play games written as PDN with each checkpoint.
        endgame_share: sampled positions of the endgame table, with exact values and moves, that are learned from for
            each record of self-play.
        reanalyse_share: records of the window that are searched anew, with the newest network, for each record of
            self-play (damas_rl/reanalysis.py).
    """

    positions_per_iteration: int = 4096
    replay_ratio: float = 4.0
    learning_starts: int = 4096
    evaluate_minutes: float = 3.0
    checkpoint_minutes: float = 2.0
    keep_checkpoints: int = 3
    sample_games: int = 8
    endgame_share: float = 0.0
    reanalyse_share: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(
            "trainer",
            self,
            positions_per_iteration=(1, 1 << 30),
            replay_ratio=(0.01, 1000.0),
            learning_starts=(0, 1 << 30),
            evaluate_minutes=(0.0, 1e6),
            checkpoint_minutes=(0.0, 1e6),
            keep_checkpoints=(1, 10_000),
            sample_games=(0, 10_000),
            endgame_share=(0.0, 1.0),
            reanalyse_share=(0.0, 10.0),
        )


_COSINE = ("schedule", "total_steps", "final_rate")


def of_older_versions(saved: Mapping[str, Any]) -> dict[str, Any]:
    """A saved configuration without keys that are gone, as far as they had no effect: those of a cosine schedule."""
    learner = saved.get("learner")
    if not isinstance(learner, Mapping) or learner.get("schedule") != "constant":
        return dict(saved)
    return {**saved, "learner": {key: value for key, value in learner.items() if key not in _COSINE}}


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides how a training run goes.

    Attributes:
        name: names the run directory.
        seed: of all random streams; equal seeds give equal runs, iteration by iteration, on one machine without
            ``cluster=ray``.
        minutes: wall-clock budget of training, all resumed parts together; 0 = none.
        iterations: budget in iterations; 0 = none.
        runs_dir: folder in which run directories are made.
        run_dir: this run's directory; empty = ``<runs_dir>/<date>-<name>-s<seed>``.
        init_from: network whose weights a new run starts from: a checkpoint, a run directory or the name of a shipped
            one; also one for other rules, of which tensors of equal shape are taken; empty = fresh weights.
        device: ``auto``, ``cpu`` or ``cuda``.
        threads: of one operation while learning on a CPU; 0 = one for each core. Bit-equal runs need equal numbers.
        precision: in which self-play and measurement evaluate the network; ``auto`` is bfloat16 where that is fast.
    """

    name: str = "run"
    seed: int = 1
    minutes: float = 15.0
    iterations: int = 0
    runs_dir: str = "runs"
    run_dir: str = ""
    init_from: str = ""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = 0
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    rules: RulesConfig = field(default_factory=RulesConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    pretrain: PretrainConfig = field(default_factory=PretrainConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    arena: ArenaConfig = field(default_factory=ArenaConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    def __post_init__(self) -> None:
        check_ranges("", self, seed=(0, (1 << 63) - 1), minutes=(0.0, 1e6), iterations=(0, 1 << 40), threads=(0, 1024))
        if self.trainer.endgame_share and not self.selfplay.tablebase:
            raise ConfigError("trainer.endgame_share needs an endgame table: give selfplay.tablebase=4 too.")
        if self.search.forced_playouts and self.search.root != "puct":
            raise ConfigError("search.forced_playouts needs PUCT at the root: give search=puct too.")
        if not self.minutes and not self.iterations:
            raise ConfigError("minutes and iterations are both 0, so the run would never end; give one of them.")
        if not self.name or any(letter in self.name for letter in "/\\\0\n"):
            raise ConfigError(f"name={self.name!r} cannot be part of the name of a folder.")
        for key in ("runs_dir", "run_dir"):
            if "\0" in getattr(self, key):
                raise ConfigError(f"{key}={getattr(self, key)!r} cannot be the name of a folder.")
