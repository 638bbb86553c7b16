"""What a training run shows of itself: metrics, TensorBoard, and the figures of the display."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from damas_env.rules import RuleSet
from damas_rl.budget import Counts
from damas_rl.config import RunConfig
from damas_rl.learner import Learner
from damas_rl.metrics import MetricsLog, resident_bytes
from damas_rl.networks import Evaluator
from damas_rl.pictures import thoughts
from damas_rl.progress import Progress, Rung
from damas_rl.records import Records
from damas_rl.replay import ReplayBuffer
from damas_rl.runs import PATHS
from damas_rl.selfplay import SelfPlayBatch
from damas_rl.strict import flatten


class Monitor:
    """Takes the figures of a run to where people see them; nothing comes back from here.

    Args:
        config: of the run.
        metrics: the file of metrics, and TensorBoard.
        progress: the display.
    """

    def __init__(self, config: RunConfig, metrics: MetricsLog, progress: Progress) -> None:
        self.metrics = metrics
        self._config, self._progress = config, progress
        self._status = progress.status

    def settings(self) -> None:
        """In TensorBoard: what may differ between runs, and by which scores they are to be compared."""
        settings = {key: value for key, value in flatten(asdict(self._config)) if key not in PATHS}
        self.metrics.show_settings(settings, [f"ladder/{opponent}/score" for opponent in self._config.arena.ladder])

    def network(
        self, iteration: int, learner: Learner, evaluator: Evaluator, rules: RuleSet, newest: Records | None
    ) -> None:
        """In TensorBoard: weights, the newest targets, and what the measured network thinks of a few positions."""
        weights = learner.averaged.named_parameters()
        histograms: dict[str, Any] = {f"weights/{name}": matrix for name, matrix in weights if matrix.dim() > 1}
        if newest is not None and len(newest.z):
            policy = newest.policy
            logs = np.log(policy, out=np.zeros_like(policy), where=policy > 0)
            histograms["targets/policy entropy"] = -(policy * logs).sum(axis=1)
            histograms["targets/search value"] = newest.q
        seen = thoughts(rules, evaluator)
        pictures = {f"positions/{thought.name}": thought.image for thought in seen}
        texts = {f"positions/{thought.name}": thought.text for thought in seen}
        self.metrics.show(iteration, histograms, pictures, texts)

    def iteration(
        self,
        counts: Counts,
        batch: SelfPlayBatch,
        losses: Mapping[str, float],
        learner: Learner,
        replay: ReplayBuffer,
        seconds: Mapping[str, float],
        raw_speed: float,
    ) -> None:
        """The metrics of an iteration, which the display shows too.

        Args:
            counts, batch, losses, learner, replay: how the run stands after it.
            seconds: that its parts have taken.
            raw_speed: evaluations per second that the network can do at most.
        """
        status, figures = self._status, batch.stats()
        rates = ("seconds", "positions_per_second", "evaluations_per_second", "network_share")
        timed = {name: figures.pop(name) for name in rates}
        timed["share_of_raw_speed"] = timed["evaluations_per_second"] / raw_speed
        timed |= {**seconds, "training": counts.seconds}
        memory = resident_bytes()
        if memory is not None:
            timed["resident_mib"] = memory / 2**20
        learned = dict(losses)
        if learned:
            timed["samples_per_second"] = learned.pop("samples_per_second")
        values = {
            "selfplay": figures,
            "learner": learned | {"steps": learner.steps},
            "replay": {"window": replay.window, "added": replay.added, "ratio": replay.replay_ratio},
            "total": {"positions": counts.positions, "games": counts.games},
            "time": timed,
        }
        self.metrics.write("iteration", counts.iteration, values)
        self.counts(counts, learner, replay)
        if learned:
            self.losses(learned)
        status.positions_per_second = timed["positions_per_second"]
        status.evaluations_per_second = timed["evaluations_per_second"]
        status.speed_share = timed["share_of_raw_speed"]
        status.batch_fill, status.network_share = figures["batch_fill"], timed["network_share"]
        if batch.games:
            status.draw_rate, status.length = figures["draw_share"], figures["mean_length"]
        self._progress.refresh()

    def counts(self, counts: Counts, learner: Learner, replay: ReplayBuffer) -> None:
        """On the display: how far the run has come."""
        status = self._status
        status.iteration, status.games, status.positions = counts.iteration, counts.games, counts.positions
        status.steps, status.rows = learner.steps, replay.window

    def losses(self, figures: Mapping[str, float]) -> None:
        """On the display: the newest losses."""
        self._status.losses = {name: figures[f"{name}_loss"] for name in ("policy", "value", "moves_left")}

    def ladder(self, ladder: list[dict[str, Any]]) -> None:
        """On the display: the newest scores against each opponent, and those before them."""
        histories = {
            opponent: [entry["rungs"][opponent]["score"] for entry in ladder if opponent in entry["rungs"]]
            for opponent in ladder[-1]["rungs"]
        }
        self._status.ladder = [Rung(opponent, scores[-1], scores) for opponent, scores in histories.items()]
        self._progress.refresh(force=True)
