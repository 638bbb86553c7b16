"""The search for settings with Optuna: words become suggestions, and an interrupted search goes on."""

import importlib.util
from pathlib import Path

import pytest

from run_cases import make_run

optuna = pytest.importorskip("optuna")

PATH = Path(__file__).parents[1] / "scripts" / "optuna_sweep.py"
WORDS = [
    "experiment=tiny",
    "network.width=16,32",
    "learner.q_mix=interval(0.0,1.0)",
    "learner.learning_rate=tag(log,interval(0.001,0.1))",
    "selfplay.random_plies=int(interval(2,5))",
]


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("optuna_sweep", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return module


def test_runs_are_suggested_made_and_ranked_and_an_interrupted_one_goes_on(script, tmp_path):
    calls, stop_at = [], 3

    def make(run, words):
        calls.append((run.name, list(words)))
        if len(calls) == stop_at:
            return 130
        values = dict(word.split("=") for word in words)
        make_run(run, *words[1:], strength=round(10 * float(values["learner.q_mix"])))
        return 0

    assert script.search(tmp_path / "tuned", 4, WORDS, 0, make) is None
    study = script.search(tmp_path / "tuned", 4, WORDS, 0, make)
    assert [name for name, _ in calls] == ["0000", "0001", "0002", "0002", *(name for name, _ in calls[4:])]
    assert calls[2][1] == calls[3][1] and len(calls) == 5
    assert len({tuple(words) for _, words in calls}) == 4
    for _, words in calls:
        values = dict(word.split("=") for word in words)
        assert words[0] == "experiment=tiny" and values["network.width"] in ("16", "32")
        assert 0 <= float(values["learner.q_mix"]) <= 1 and 0.001 <= float(values["learner.learning_rate"]) <= 0.1
        assert int(values["selfplay.random_plies"]) in (2, 3, 4, 5)
    best = max(
        study.get_trials(states=(optuna.trial.TrialState.COMPLETE,)), key=lambda trial: trial.params["learner.q_mix"]
    )
    assert study.best_value == best.value == (1 + round(10 * best.params["learner.q_mix"]) / 10) / 2


def test_a_run_that_fails_ends_the_search(script, tmp_path):
    with pytest.raises(SystemExit, match="0000 failed"):
        script.search(tmp_path, 2, WORDS, 0, lambda run, words: 2)
