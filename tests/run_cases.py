"""Run directories: made up, with figures along a curve, or left behind by a process that was ended."""

import json
from dataclasses import asdict

import pytest
import yaml

from damas_rl import launch, trainer
from damas_rl.compose import load
from damas_rl.elo import elo_difference

MADE_BY = {
    "started": "2026-01-31T12:00:00+0000",
    "git_revision": "0123456789abcdef0123456789abcdef01234567",
    "damas_rl": "0.1.0",
    "python": "3.11.7",
    "packages": {"numpy": "2.4.6", "torch": "2.13.0"},
    "machine": {"system": "Linux", "processor": "a processor", "cores": 2},
}


def rung(opponent, pairs):
    """The result of a match, as a measurement keeps it; pairs as in damas_rl.elo, none of them split."""
    lost, _, drawn, _, won = pairs
    elo, games = elo_difference(pairs), 2 * sum(pairs)
    return {
        "player": "mcts", "opponent": opponent, "wins": 2 * won, "draws": 2 * drawn, "losses": 2 * lost, "truncated": 0,
        "pairs": list(pairs), "elo": elo.difference, "low": elo.low, "high": elo.high, "distinct": 1.0, "plies": 60.0,
        "score": (2 * won + drawn) / games,
    }  # fmt: skip


def iteration_event(number, seconds, plies):
    """The event of an iteration."""
    return {
        "kind": "iteration", "iteration": number,
        "selfplay": {"plies": plies, "games": plies // 50, "draw_share": 0.2, "mean_length": 50.0},
        "learner": {"loss": 2.0 / number, "policy_loss": 1.2 / number, "value_loss": 0.7 / number,
                    "moves_left_loss": 0.1 / number, "policy_accuracy": 0.5, "value_accuracy": 0.7,
                    "policy_entropy": 1.0, "target_entropy": 0.8, "steps": 10 * number},
        "total": {"positions": plies * number, "games": plies * number // 50},
        "time": {"training": seconds * number, "selfplay": 0.6 * seconds, "learning": 0.3 * seconds,
                 "network_share": 0.8, "share_of_raw_speed": 0.9},
    }  # fmt: skip


def ladder_event(number, seconds, pairs_by_opponent, games, mistakes=None):
    """The event of a measurement."""
    rungs = {opponent: rung(opponent, pairs) for opponent, pairs in pairs_by_opponent.items()}
    event = {"kind": "ladder", "iteration": number, "ladder": rungs, "games": games}
    event["time"] = {"training": seconds * number, "seconds": 3.0}
    return event | ({"endgames": {"mistakes": mistakes}} if mistakes is not None else {})


def make_run(path, *words, iterations=6, strength=5, seconds=30.0, plies=1000, made_by=MADE_BY):
    """A finished run of ``experiment=tiny`` with other ``words``, measured after every second iteration.

    ``strength``: pairs of ten won against alpha-beta in the last measurement; fewer before.
    """
    config = asdict(load(["experiment=tiny", f"iterations={iterations}", f"run_dir={path}", *words]))
    events = []
    for number in range(1, iterations + 1):
        events.append(iteration_event(number, seconds, plies))
        if number % 2 == 0:
            won = strength * number // iterations
            pairs = {"random": (0, 0, 0, 0, 10), "alphabeta:depth=1": (10 - won, 0, 0, 0, won)}
            events.append(ladder_event(number, seconds, pairs, 20, mistakes=0.6 / number))
    path.mkdir(parents=True)
    for folder in ("checkpoints", "networks", "games", "tb"):
        (path / folder).mkdir()
    (path / "config.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(config))))
    (path / "meta.json").write_text(json.dumps(made_by))
    (path / "metrics.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    (path / "lock").write_text("1\n")
    return path


def killed_in_the_closing_measurement(monkeypatch, *words):
    """Trains by these words of train.py until the closing measurement is to be saved, which is interrupted."""
    save = trainer.Trainer._save

    def killed(self):
        if self.counts.measured:
            raise KeyboardInterrupt
        save(self)

    monkeypatch.setattr(trainer.Trainer, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        launch.main([*words])
    monkeypatch.undo()
