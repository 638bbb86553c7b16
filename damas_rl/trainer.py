"""The training loop: self-play, replay, learning, measurement, checkpoints, over and over.

One thread, one order of events, and every random number from a stream that is saved: for one seed, iteration n is the
same in every run without ``cluster=ray``, interrupted or not. Only *when* a run measures, saves and ends depends on the
clock.
"""

import math
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np
import torch

from damas_env.notation import write_pdn
from damas_env.position import THREADS
from damas_env.rules import get_rules
from damas_rl import pretrain, saved
from damas_rl.arena import run_ladder
from damas_rl.budget import Counts, budget_text, limits
from damas_rl.checkpoint import network_content, rules_from, save_numbered, write_checkpoint
from damas_rl.closing import best_network, ladder_table, pdn_game, resume_command, what_next
from damas_rl.cluster.source import GameSource, game_source, same_kind
from damas_rl.config import RunConfig
from damas_rl.endgames import endgame_records, mistakes, sample_endgames
from damas_rl.files import atomic_write
from damas_rl.learner import Learner
from damas_rl.machine import describe_machine
from damas_rl.metrics import MetricsLog
from damas_rl.monitor import Monitor
from damas_rl.networks import Evaluator, build_network
from damas_rl.players import MctsPlayer, make_player
from damas_rl.progress import Progress
from damas_rl.reanalysis import Reanalysis
from damas_rl.records import Records, empty_records
from damas_rl.replay import ReplayBuffer
from damas_rl.run_files import GAMES, NETWORKS
from damas_rl.rundir import RunDirectory, RunError
from damas_rl.runs import read_run
from damas_rl.selfplay import FinishedGame, SelfPlay
from damas_rl.speed import raw_evaluations_per_second
from damas_rl.strict import build
from damas_rl.tablebase import BUILT_AT_ONCE, Tablebase, default_path
from damas_rl.transfer import Source, describe, take_over

_ENDGAMES = 500
"""Sampled endgames that a network is tried on in each measurement."""

STOPPING = "stopping after this iteration"
LAST = "finishing the last iteration"
"""What is shown in place of a phase of training once somebody wants the run to end, or its budget is used up."""


class Trainer:
    """One training run, from its start or from a checkpoint.

    Args:
        config: the whole configuration.
        run: its directory, locked.
        progress: what people see.
        stop: true once somebody wants the run to end.
        content: a checkpoint to go on from; None = start.
        source: a network whose weights a new run starts from; None = fresh weights.

    Raises:
        RunError: the checkpoint does not fit the configuration, or has used up its budget.
    """

    def __init__(
        self,
        config: RunConfig,
        run: RunDirectory,
        progress: Progress,
        stop: object,
        content: Mapping[str, Any] | None,
        source: Source | None = None,
    ) -> None:
        self.config, self.run_directory, self.progress, self.stop = config, run, progress, stop
        self.rules = get_rules(config.rules.name)
        streams = np.random.SeedSequence(config.seed).generate_state(3, np.uint64)
        torch.manual_seed(int(streams[0]) >> 1)
        network = build_network(config.network, self.rules)
        self.made_by = describe_machine()
        if source is not None:
            fresh = take_over(source, network)
            self.made_by["init_from"] = {"network": str(source.path), "rules": source.rules.name, "fresh": fresh}
            progress.say(describe(source, fresh))
        self.learner = Learner(network, config.learner, config.device, config.threads)
        self.evaluator = Evaluator(self.learner.averaged, config.device, config.precision)
        self._announce_tablebase()
        self.selfplay = game_source(config, self.rules, int(streams[1]), stop, progress.say)
        self.tablebase = self.selfplay.tablebase
        self.replay = ReplayBuffer(self.rules, config.replay)
        self.reanalysis: Reanalysis | None = None
        if config.trainer.reanalyse_share:
            threads = config.selfplay.threads or THREADS
            self.reanalysis = Reanalysis(
                self.rules, config.search, config.selfplay.simulations, threads, self.tablebase
            )
        self.sampling = np.random.Generator(np.random.PCG64(int(streams[2])))
        self.counts = Counts()
        self.ladder: list[dict[str, Any]] = []
        self.sample: list[FinishedGame] = []
        self.newest: Records | None = None
        self._saved_iteration = -1
        if content is not None:
            self._restore(content)
        if self.fraction >= 1.0 and self.counts.measured:
            raise RunError(
                f"{run.path} has used its budget of {budget_text(config)}; give it more with "
                f"{' and '.join(f'{key}=' for key in limits(config))}."
            )
        self._clock = time.monotonic()
        self._raw_speed = math.nan

    def run(self) -> None:
        """Trains until the budget is used up, then measures; or until somebody wants it to stop, then saves.

        Raises:
            CheckpointError, OSError: the run directory cannot be written.
            ValueError: a network of the ladder cannot be used; found before training begins.
            FloatingPointError, SavedError: weights, losses or values are no numbers any more.
        """
        folder = self.run_directory
        self.progress.say(f"Run directory: {folder.path}")
        self.metrics = MetricsLog(folder.metrics, folder.events, self.counts.iteration, len(self.ladder))
        self.monitor = Monitor(self.config, self.metrics, self.progress)
        self.monitor.settings()
        self.monitor.counts(self.counts, self.learner, self.replay)
        if self.ladder:
            self.monitor.ladder(self.ladder)
        try:
            self._warm_up()
            if not self.counts.iteration:
                self._save()
            if self.counts.pretraining:
                self._pretrain()
            while self.fraction < 1.0 and not self.stop:
                self._iterate()
                trainer, counts = self.config.trainer, self.counts
                if counts.seconds - counts.evaluated >= 60 * trainer.evaluate_minutes and self.fraction < 1.0:
                    complete = self._measure(self.config.arena.games, "measuring")
                    self._tick()
                    if complete:
                        counts.evaluated = counts.seconds
                if counts.seconds - counts.saved >= 60 * trainer.checkpoint_minutes:
                    self._save()
            self._tick()
            if self._saved_iteration < self.counts.iteration:
                self._save()
            if self._measure(self.config.arena.final_games, "closing measurement"):
                self._clock = time.monotonic()  # the closing measurement is not part of the budget
                self.counts.measured = True
                self._save()
        finally:
            self.selfplay.close()
            if self.reanalysis is not None:
                self.reanalysis.close()
            self.learner.close()
            self.metrics.close()
        self._report()

    @property
    def fraction(self) -> float:
        """Share of the budget that is used up."""
        return self.counts.share_of(self.config, self.counts.seconds)

    def _warm_up(self) -> None:
        """Compiles the kernels, which takes a while once per machine, before the clock starts."""
        self._phase("preparing kernels (compiled once per machine)")
        quick: dict[str, Any] = dict.fromkeys(("games", "groups", "threads"), 1)
        quick |= {"simulations": 2, "fast_simulations": 2, "random_plies": 0}
        with closing(SelfPlay(self.rules, replace(self.config.selfplay, **quick), self.config.search, 0)) as selfplay:
            selfplay.run(self.evaluator, 1)
        buffer = ReplayBuffer(self.rules, replace(self.config.replay, capacity=1, window=1))
        buffer.add(empty_records(1))
        buffer.batch(np.zeros(1, np.int64))
        for spec in self.config.arena.ladder:
            make_player(spec, self.rules, 0)  # a network that cannot be used is better found now
        plies = iter((False, False))
        arena = replace(self.config.arena, ladder=("random", "alphabeta:depth=1"), simulations=1)
        run_ladder(self.evaluator, self.rules, arena, 2, 0, stop=lambda: next(plies, True))
        self._clock = time.monotonic()
        if not isinstance(self.selfplay, SelfPlay):
            return
        self._phase("measuring the network's own speed")
        batch = self.config.selfplay.games // self.config.selfplay.groups * self.config.search.leaves_per_tree
        self._raw_speed = raw_evaluations_per_second(self.evaluator, self.rules, batch, self.selfplay.threads)
        self._clock = time.monotonic()

    def _announce_tablebase(self) -> None:
        """Says why opening the endgame table takes a while, where it has to be built."""
        pieces = self.config.selfplay.tablebase
        if 0 < pieces <= BUILT_AT_ONCE and not default_path(self.rules, pieces).exists():
            self.progress.say(f"Building the endgame table of {pieces} pieces, once per machine ...")

    def _pretrain(self) -> None:
        """Learns from a file of records until it has been drawn from as often as configured."""
        config, counts = self.config, self.counts
        started = time.perf_counter()
        records = pretrain.load(config.pretrain, self.rules)
        if records is None:
            counts.pretraining = False
            return
        steps = pretrain.steps_of(config.pretrain, records, config.learner.batch_size)
        self._training_phase("pre-training", counts.pretrained / steps)
        losses: dict[str, float] = {}
        for losses in pretrain.parts(self.learner, records, steps, counts.pretrained, config.seed):
            counts.pretrained = min(counts.pretrained + pretrain.STEPS_AT_ONCE, steps)
            self._tick()
            self.monitor.counts(counts, self.learner, self.replay)
            self.monitor.losses(losses)
            accuracy = f"pre-training ({losses['policy_accuracy']:.0%} of the moves as played)"
            self._training_phase(accuracy, counts.pretrained / steps)
            if self.stop or self.fraction >= 1.0:
                break
            if counts.seconds - counts.saved >= 60 * config.trainer.checkpoint_minutes:
                self._save()
        counts.pretraining = counts.pretrained < steps
        if losses:
            rate, seconds = losses.pop("samples_per_second"), time.perf_counter() - started
            spent = {"pretraining": seconds, "samples_per_second": rate}
            figures = {"steps": counts.pretrained, "pretrain": losses, "time": spent}
            self.metrics.write("pretrain", counts.iteration, figures)
        self._save()

    def _iterate(self) -> None:
        """One phase of self-play and one of learning."""
        config, counts = self.config, self.counts
        started = time.perf_counter()
        self.learner.done = self.fraction
        self._training_phase("self-play", 0.0)
        self.evaluator.update(self.learner.averaged)
        played = 0

        def report(plies: int) -> None:
            nonlocal played
            played += plies
            self._training_phase("self-play", played / config.trainer.positions_per_iteration)

        batch = self.selfplay.run(self.evaluator, config.trainer.positions_per_iteration, report)
        renewing = time.perf_counter()
        if self.reanalysis is not None:  # before the new records come, which this network has just searched
            self._training_phase("reanalysis", 0.0)
            share = round(config.trainer.reanalyse_share * len(batch.records.z))
            self.reanalysis.run(self.replay, self.evaluator, share, (config.seed, counts.iteration))
        adding = time.perf_counter()
        self.replay.add(batch.records)
        self.newest = batch.records
        counts.iteration += 1
        if config.trainer.endgame_share and self.tablebase is not None:
            share = round(config.trainer.endgame_share * len(batch.records.z))
            stream = np.random.default_rng((config.seed, counts.iteration))
            self.replay.add(endgame_records(self.tablebase, share, stream))
        counts.measured = False
        counts.positions += batch.plies
        counts.games += len(batch.games)
        self.sample = batch.games[: config.trainer.sample_games] or self.sample
        learning = time.perf_counter()
        losses = self._learn()
        self._tick()
        seconds = {"selfplay": renewing - started, "learning": time.perf_counter() - learning}
        if self.reanalysis is not None:
            seconds["reanalysis"] = adding - renewing
        self.monitor.iteration(counts, batch, losses, self.learner, self.replay, seconds, self._raw_speed)

    def _learn(self) -> dict[str, float]:
        """Takes the learner steps that the records collected so far allow; their mean figures."""
        trainer, size = self.config.trainer, self.config.learner.batch_size
        if self.replay.added < trainer.learning_starts:
            return {}
        due = self.replay.steps_due(trainer.replay_ratio, size)
        return self.learner.train(
            self.replay, self.sampling, due, lambda step: self._training_phase("learning", step / due)
        )

    def _measure(self, games: int, phase: str) -> bool:
        """Plays the ladder with the averaged network, keeps that network, and names the best one so far.

        Args:
            games: against each opponent.
            phase: what people are told.

        Returns:
            False if it was stopped, and nothing has been kept.
        """
        if self.stop:
            return False
        counts, folder = self.counts, self.run_directory
        phase = f"{phase} ({games} games a rung)"
        self._phase(phase, 0.0)
        self.evaluator.update(self.learner.averaged)
        seed = int(np.random.SeedSequence((self.config.seed, counts.iteration)).generate_state(1)[0])
        matches = run_ladder(
            self.evaluator,
            self.rules,
            self.config.arena,
            games,
            seed,
            progress=lambda over, total: self._phase(phase, over / total),
            stop=lambda: bool(self.stop),
        )
        if any(match.games < games for match in matches):
            return False
        name = NETWORKS.name(counts.iteration)
        write_checkpoint(folder.networks / name, {"kind": "network", **self._network_content()})
        rungs = {match.opponent: asdict(match) | {"score": match.score} for match in matches}
        seconds = sum(rung.pop("seconds") for rung in rungs.values())
        self.ladder.append({"iteration": counts.iteration, "network": name, "games": games, "rungs": rungs})
        atomic_write(folder.path / "best", [f"{best_network(self.ladder)}\n".encode()])
        timed = {"training": counts.seconds, "seconds": seconds}
        values = {"ladder": rungs, "games": games, "time": timed}
        if self.tablebase is not None:
            values["endgames"] = {"mistakes": self._endgame_mistakes(self.tablebase)}
        self.metrics.write("ladder", counts.iteration, values)
        self.monitor.network(counts.iteration, self.learner, self.evaluator, self.rules, self.newest)
        self.monitor.ladder(self.ladder)
        return True

    def _endgame_mistakes(self, tablebase: Tablebase) -> float:
        """Share of sampled endgames that the network, which searches without the table, throws away."""
        positions = sample_endgames(tablebase, _ENDGAMES, np.random.default_rng(0), critical=True)
        player = MctsPlayer(self.rules, self.evaluator, self.config.arena.simulations)
        share = mistakes(player, tablebase, positions)
        self.progress.say(
            f"Endgames of up to {tablebase.pieces} pieces: {share:.1%} of {_ENDGAMES} results thrown away "
            f"({self.config.arena.simulations} simulations, without the table)."
        )
        return share

    def _save(self) -> None:
        """Writes a checkpoint and sample games."""
        self._phase("saving")
        self._tick()
        counts, folder = self.counts, self.run_directory
        counts.saved = counts.seconds
        self.metrics.sync()
        if self.sample:  # before the checkpoint, after which nobody would miss them
            text = write_pdn(pdn_game(game, self.rules, self.config.name, counts.iteration) for game in self.sample)
            atomic_write(folder.games / GAMES.name(counts.iteration), [text.encode()])
            self.sample = []
        learner = self.learner.state_dict()
        self.learner.check_state_dict(learner)  # weights that are no numbers must not replace the last good state
        content = {
            "kind": "checkpoint",
            "config": asdict(self.config),
            **self._network_content(),
            "learner": learner,
            "selfplay": self.selfplay.state_dict(),
            "replay": self.replay.state_dict(),
            "sampling": self.sampling.bit_generator.state,
            "counts": asdict(counts),
            "ladder": self.ladder,
            "made_by": self.made_by,
        }
        save_numbered(folder.checkpoints, counts.iteration, content, self.config.trainer.keep_checkpoints)
        self._saved_iteration = counts.iteration

    def _restore(self, content: Mapping[str, Any]) -> None:
        """Goes on from a checkpoint, all of which is looked at before any of it is taken over."""
        parts: dict[str, Learner | GameSource | ReplayBuffer]
        parts = {"learner": self.learner, "selfplay": self.selfplay, "replay": self.replay}
        try:
            if rules_from(content, self.run_directory.path) != self.rules:
                raise saved.SavedError(f"it was made under other rules than {self.rules.name!r}.")
            ladder, sampling = saved.check_ladder(saved.part(content, "ladder")), saved.generator(content, "sampling")
            numbers = saved.part(content, "counts")
            for entry in fields(Counts):
                saved.part(numbers, entry.name, "counts")
            counts = build(Counts, numbers, "counts")
            if not same_kind(self.config, saved.part(content, "selfplay")):
                del parts["selfplay"]
                self.progress.say("The games in progress start anew: others play from now on.")
            for name, owner in parts.items():
                owner.check_state_dict(saved.part(content, name))
        except saved.SavedError as error:
            raise RunError(f"The checkpoint holds what no run can have saved: {error}") from error
        except ValueError as error:
            raise RunError(f"The checkpoint does not fit the configuration: {error}") from error
        for name, owner in parts.items():
            owner.load_state_dict(content[name])
        self.sampling.bit_generator.state = sampling
        self.counts, self.ladder, self._saved_iteration = counts, ladder, counts.iteration

    def _network_content(self) -> dict[str, Any]:
        return network_content(self.config.network, self.learner.averaged.state_dict(), self.rules)

    def _tick(self) -> None:
        now = time.monotonic()
        self.counts.seconds += now - self._clock
        self._clock = now

    def _phase(self, phase: str, done: float | None = None, news: bool = False) -> None:
        """Tells people what is going on, and how much of it is done; ``news`` does so at once."""
        status = self.progress.status
        status.phase, status.done, status.fraction = phase, done, self._fraction_now()
        if self.config.minutes:
            status.seconds_left = max(0.0, 60 * self.config.minutes - self._seconds())
        self.progress.refresh(force=news)

    def _training_phase(self, phase: str, done: float) -> None:
        """The same for a part of training, of which no more follows once the run is to end."""
        if self.stop:
            phase = STOPPING
        elif self._fraction_now() >= 1.0:
            phase = LAST
        self._phase(phase, done, news=phase in (STOPPING, LAST) and phase != self.progress.status.phase)

    def _seconds(self) -> float:
        """Wall-clock time of training up to now."""
        return self.counts.seconds + time.monotonic() - self._clock

    def _fraction_now(self) -> float:
        """The same as :attr:`fraction`, with the time since the last look at the clock."""
        return self.counts.share_of(self.config, self._seconds())

    def _report(self) -> None:
        """Says how the run has ended."""
        path, say = self.run_directory.path, self.progress.say
        if not self.counts.measured:
            say(f"Saved. Go on with: {resume_command(path)}")
            return
        self.progress.console.print(ladder_table(self.ladder[-1]))
        share = read_run(path).share_of_raw_speed
        if share is not None:
            say(f"Self-play ran at {share:.0%} of the network's own speed.")
        say(what_next(path, best_network(self.ladder), self.config.rules.name, limits(self.config)))
