"""Looks for good settings with Optuna: runs are made one after the other, each with settings that earlier ones suggest.

    python scripts/optuna_sweep.py --out runs/tuned --trials 20 experiment=quick minutes=5 \
        "learner.learning_rate=tag(log, interval(5e-4, 5e-3))" learner.q_mix="interval(0, 1)" network.width=128,256

The words are those of ``train.py -m``; ``interval(0, 1)`` stands for all numbers in it, ``int(interval(2, 8))`` for the
whole ones, with ``tag(log, ...)`` on a logarithmic scale. A run is worth its mean score over the ladder in its closing
measurement, so give ``arena.final_games`` enough games, and ``arena.ladder`` opponents that can still be told apart.

Needs Optuna (extra ``optuna``). What is finished is kept: a command that is given again goes on where it was, with
the run that was interrupted first. Compare the runs with ``damas compare runs/tuned``.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import optuna
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override

from damas_rl.runs import read_run
from damas_rl.sweep import run_words

TRAIN = Path(__file__).parents[1] / "train.py"


def parse(words: Sequence[str]) -> tuple[list[str], list[Override]]:
    """The words that are the same in all runs, and those that name several values."""
    parsed = [OverridesParser.create().parse_override(word) for word in words]
    fixed = [word for word, override in zip(words, parsed, strict=True) if not override.is_sweep_override()]
    return fixed, [override for override in parsed if override.is_sweep_override()]


def suggest(trial: optuna.Trial, override: Override) -> str:
    """A word with one of its values."""
    key, space = override.get_key_element(), override.value()
    if not isinstance(space, IntervalSweep):
        return f"{key}={trial.suggest_categorical(key, list(override.sweep_string_iterator()))}"
    low, high, log = space.start, space.end, "log" in space.tags
    if isinstance(low, int) and isinstance(high, int):
        return f"{key}={trial.suggest_int(key, low, high, log=log)}"
    return f"{key}={trial.suggest_float(key, float(low), float(high), log=log)}"


def train(run: Path, words: Sequence[str]) -> int:
    """Makes a run, or goes on with it; the exit status of train.py."""
    command = [sys.executable, str(TRAIN), *run_words(run, words)]
    # Ctrl-C reaches the training process too, which saves its work before it ends.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def search(
    out: Path, trials: int, words: Sequence[str], seed: int, make: Callable[[Path, Sequence[str]], int] = train
) -> optuna.Study | None:
    """Makes runs until there are so many; None if one of them was stopped."""
    fixed, spaces = parse(words)
    out.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=f"sqlite:///{out / 'optuna.sqlite'}", study_name="damas-rl", load_if_exists=True, direction="maximize"
    )
    states = optuna.trial.TrialState
    for trial in study.get_trials(states=(states.RUNNING,)):  # stopped, or killed: the same settings again
        study.enqueue_trial(trial.params, user_attrs=trial.user_attrs)
        study.tell(trial.number, state=states.FAIL)
    while (done := len(study.get_trials(states=(states.COMPLETE,)))) < trials:
        study.sampler = optuna.samplers.TPESampler(seed=seed + done)  # the same suggestions, interrupted or not
        trial = study.ask()
        trial.set_user_attr("run", trial.user_attrs.get("run", f"{trial.number:04d}"))
        run = out / trial.user_attrs["run"]
        chosen = [suggest(trial, space) for space in spaces]
        print(f"Run {done + 1} of {trials}, {run}: {' '.join(chosen)}", flush=True)
        status = make(run, [*fixed, *chosen])
        if status < 0 or status >= 128:
            return None
        if status:
            raise SystemExit(f"{run} failed; mend what is wrong and give the command again.")
        study.tell(trial, mean(result.score for result in read_run(run).measurements[-1].results.values()))
    return study


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", help="as for train.py -m")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--trials", type=int, default=20, help="runs in all (default: %(default)s)")
    parser.add_argument("--sampler-seed", type=int, default=0, help="of Optuna's choices; that of the runs is seed=")
    arguments = parser.parse_intermixed_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = search(arguments.out, arguments.trials, arguments.words, arguments.sampler_seed)
    if study is None:
        raise SystemExit("Stopped; give the command again to go on.")
    ranked: list[Any] = sorted(study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)), key=lambda t: -t.value)
    print("| run | mean score | settings |\n| --- | --- | --- |")
    for trial in ranked:
        settings = " ".join(f"{key}={value}" for key, value in trial.params.items())
        print(f"| {trial.user_attrs['run']} | {trial.value:.1%} | {settings} |")


if __name__ == "__main__":
    main()
