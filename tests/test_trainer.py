"""The whole loop at toy size: equal for equal seeds, whole again after every kind of interruption."""

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from datetime import datetime
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from damas_env.notation import read_pdn
from damas_env.rules import get_rules
from damas_rl import checkpoint, files, launch, trainer
from damas_rl.checkpoint import load_network, load_newest, numbered
from damas_rl.closing import best_network, ladder_table
from damas_rl.metrics import MetricsLog, read_metrics
from damas_rl.networks import Evaluator
from damas_rl.progress import Progress, Rung, Status, duration, plain_line, sparkline
from damas_rl.reanalysis import Reanalysis
from damas_rl.replay import ReplayBuffer
from damas_rl.rundir import RunDirectory, RunError, default_path
from test_checkpoint import same

ROOT = Path(__file__).parents[1]


def train(*words):
    """Exit status of train.py with these words, in this process."""
    return launch.main(words)


@pytest.fixture
def start():
    """Starts train.py with some words in a process of its own, which does not outlive the test."""
    started = []

    def launch_process(*words):
        command = [sys.executable, str(ROOT / "train.py"), *words]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield launch_process
    for process in started:
        process.kill()
        process.communicate()


def wait_for_iterations(run, count):
    """Waits until a run has written the metrics of some iterations; kernels may have to be compiled before."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        if run.joinpath("metrics.jsonl").exists() and len(iterations(run)) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{run} did not get to iteration {count}")


def iterations(run):
    """Metrics of the iterations without what depends on the clock."""
    events = [event for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "iteration"]
    return [{key: value for key, value in event.items() if key != "time"} for event in events]


def learned(run, *but):
    """Everything in the newest checkpoint that decides how the run goes on, ``but`` for some parts."""
    content, _, passed_over = load_newest(run / "checkpoints")
    assert not passed_over
    counts = {key: value for key, value in content["counts"].items() if key not in ("seconds", "evaluated", "saved")}
    kept = {"network", "learner", "selfplay", "replay", "sampling", "ladder", "rules"} - set(but)
    return {"counts": counts, **{key: content[key] for key in kept}}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of six iterations that nothing has disturbed."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert train("experiment=tiny", "iterations=6", f"run_dir={run}") == 0
    return run


def test_a_run_leaves_what_it_promises(finished):
    config = (finished / "config.yaml").read_text()
    assert "iterations: 6" in config and "learning_rate" in config
    meta = json.loads((finished / "meta.json").read_text())
    assert {"git_revision", "rules_version", "action_version", "packages", "machine"} <= meta.keys()
    events = list(read_metrics(finished / "metrics.jsonl"))
    assert [event["iteration"] for event in events if event["kind"] == "iteration"] == [1, 2, 3, 4, 5, 6]
    assert [event["iteration"] for event in events if event["kind"] == "ladder"] == [1, 2, 3, 4, 5, 6]
    last = iterations(finished)[-1]
    assert last["learner"]["steps"] > 0 and 6 * 640 < last["total"]["positions"] < 6 * 1000
    assert all(math.isfinite(value) for value in last["learner"].values())
    assert any(finished.joinpath("tb").iterdir())
    assert len(numbered(finished / "checkpoints")) == 3
    network, rules = load_network(finished)
    assert rules.name == "cbd" and sum(weights.numel() for weights in network.parameters()) > 1000
    assert not os.path.lexists(finished.parent / "latest")  # it did not lie in runs_dir


def test_what_tensorboard_shows(finished):
    events = EventAccumulator(str(finished / "tb"), {"images": 0, "tensors": 0, "histograms": 0}).Reload()
    tags = events.Tags()
    assert {"learner/policy_loss", "ladder/random/score", "time/training"} <= set(tags["scalars"])
    assert [event.step for event in events.Scalars("ladder/random/score")] == [1, 2, 3, 4, 5, 6]
    assert {"targets/policy entropy", "targets/search value"} < set(tags["histograms"])
    weights = [name for name in tags["histograms"] if name.startswith("weights/")]
    assert weights and all(events.Histograms(name)[-1].histogram_value.num > 1 for name in weights)
    pictures = [name for name in tags["images"] if name.startswith("positions/")]
    assert len(pictures) >= 3 and {f"{name}/text_summary" for name in pictures} <= set(tags["tensors"])
    assert all([image.step for image in events.Images(name)] == [1, 2, 3, 4, 5, 6] for name in pictures)
    start = HParamsPluginData.FromString(events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content)
    hparams = start.session_start_info.hparams
    assert hparams["learner.batch_size"].number_value == 32 and hparams["rules.name"].string_value == "cbd"
    assert "run_dir" not in hparams
    experiment = HParamsPluginData.FromString(events.SummaryMetadata("_hparams_/experiment").plugin_data.content)
    scores = {info.name.tag for info in experiment.experiment.metric_infos}
    assert scores == {"ladder/random/score", "ladder/alphabeta:depth=1/score"} < set(tags["scalars"])


def test_sample_games_are_legal_to_the_end(finished):
    games = [
        game for path in (finished / "games").glob("*.pdn") for game in read_pdn(path.read_text(), get_rules("cbd"))
    ]
    assert len(games) >= 10
    adjudicated = [game for game in games if game.tags["Termination"] == "adjudication"]
    assert 0 < len(adjudicated) < len(games)
    for game in games:
        assert game.error is None and game.result != "*"
        if game in adjudicated:
            assert game.outcome is None and len(re.findall(r"K?\d+", game.final_fen)) <= 3
        else:
            assert game.outcome.termination.name.lower() == game.tags["Termination"]


def test_one_seed_gives_equal_runs_and_two_seeds_differ(finished, tmp_path):
    assert train("experiment=tiny", "iterations=6", f"run_dir={tmp_path / 'again'}") == 0
    assert iterations(tmp_path / "again") == iterations(finished)
    assert same(learned(tmp_path / "again"), learned(finished))
    assert train("experiment=tiny", "iterations=2", "seed=2", f"run_dir={tmp_path / 'other'}") == 0
    assert iterations(tmp_path / "other") != iterations(finished)[:2]


def test_games_are_played_with_the_averaged_weights(tmp_path, monkeypatch):
    """Self-play takes those that the iteration before has left, a measurement those that are kept with it."""
    used, update = [], Evaluator.update

    def watched(self, net):
        used.append({name: weights.clone() for name, weights in net.state_dict().items()})
        update(self, net)

    monkeypatch.setattr(Evaluator, "update", watched)
    run = tmp_path / "run"
    assert train("experiment=tiny", "iterations=2", f"run_dir={run}") == 0
    start, (one, two) = used[0], (load_network(run / "networks" / f"net-000000{n}.pt")[0].state_dict() for n in (1, 2))
    assert not same(start, dict(one)) and not same(dict(one), dict(two))
    for weights, wanted in zip(used[-4:], (start, one, one, two), strict=True):
        assert same(weights, dict(wanted))


def test_kill_and_resume_equals_an_undisturbed_run(finished, tmp_path, start):
    run = tmp_path / "killed"
    process = start("experiment=tiny", "iterations=6", f"run_dir={run}")
    wait_for_iterations(run, 3)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL and len(iterations(run)) < 6
    assert train(f"resume={run}") == 0
    assert iterations(run) == iterations(finished)
    assert same(learned(run), learned(finished))


def test_interrupt_saves_says_how_to_go_on_and_resumes(finished, tmp_path, start):
    run = tmp_path / "interrupted"
    process = start("experiment=tiny", "iterations=6", "trainer.checkpoint_minutes=60", f"run_dir={run}")
    wait_for_iterations(run, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 128 + signal.SIGINT and err == ""
    assert f"train.py resume={run}" in out
    reached = len(iterations(run))
    assert 2 <= reached < 6
    assert load_newest(run / "checkpoints")[0]["counts"]["iteration"] == reached
    assert train(f"resume={run}") == 0
    assert iterations(run) == iterations(finished)
    # A measurement that the signal interrupted is not made up for.
    assert same(learned(run, "ladder"), learned(finished, "ladder"))


def test_more_iterations_than_planned(finished, tmp_path):
    run = tmp_path / "longer"
    assert train("experiment=tiny", "iterations=3", f"run_dir={run}") == 0
    assert train(f"resume={run}", "iterations=6") == 0
    assert iterations(run) == iterations(finished)
    assert "iterations: 6" in (run / "config.yaml").read_text()
    assert same(learned(run, "ladder"), learned(finished, "ladder"))  # one more closing measurement


def test_a_damaged_checkpoint_is_passed_over(finished, tmp_path, capsys):
    run = tmp_path / "damaged"
    assert train("experiment=tiny", "iterations=6", "trainer.keep_checkpoints=9", f"run_dir={run}") == 0
    saved = numbered(run / "checkpoints")
    for path in saved[-2:]:
        os.truncate(path, path.stat().st_size // 2)
    saved[-1].write_bytes(b"")
    capsys.readouterr()
    assert train(f"resume={run}", "trainer.keep_checkpoints=1") == 0
    said = capsys.readouterr().out
    assert said.count("incomplete") == 2 and f"Going on from {saved[-3].name}" in said
    assert [path.name for path in numbered(run / "checkpoints")] == [saved[-1].name]
    assert iterations(run) == iterations(finished)
    assert same(learned(run), learned(finished))


def test_nothing_to_resume(tmp_path, capsys):
    def refusal(*words):
        assert train(*words) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1
        return err

    assert "not a run directory" in refusal(f"resume={tmp_path}")
    assert "no run directory" in refusal(f"resume={tmp_path / 'nothing'}")
    (tmp_path / "checkpoints").mkdir()
    assert "no checkpoint" in refusal(f"resume={tmp_path}")
    (tmp_path / "checkpoints" / "ckpt-0000001.pt").write_bytes(b"PK\x03\x04")
    assert "not a checkpoint" in refusal(f"resume={tmp_path}")


def test_what_a_resumed_run_refuses(finished, capsys):
    for words, expected in (
        (["seed=2"], "seed cannot be changed"),
        (["network.width=32"], "network.width cannot be changed"),
        (["rules=cbd"], "rules cannot be changed"),
        (["experiment=quick"], "experiment"),
        (["minuts=2"], "'minutes'"),
        ([], "has used its budget of 6 iterations"),
        (["iterations=8", "selfplay.games=32"], "does not fit"),
    ):
        before = sorted(finished.rglob("*"))
        assert train(f"resume={finished}", *words) == 2
        err = capsys.readouterr().err
        assert expected in err and err.count("\n") == 1, err
        assert sorted(finished.rglob("*")) == before
    assert learned(finished)["counts"]["iteration"] == 6


def test_a_used_directory_is_refused(tmp_path, capsys):
    (tmp_path / "precious").write_text("mine")
    assert train("experiment=tiny", f"run_dir={tmp_path}") == 2
    assert f"{tmp_path} is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]
    assert train("experiment=tiny", f"run_dir={tmp_path / 'precious'}") == 2
    assert train("experiment=tiny", f"run_dir={tmp_path / 'precious' / 'below'}") == 2
    assert "could not be made" in capsys.readouterr().err


def test_two_processes_cannot_share_a_directory(tmp_path):
    holder = (
        "import sys; from pathlib import Path; from damas_rl.rundir import RunDirectory;"
        "run = RunDirectory.create(Path(sys.argv[1])); print('held', flush=True); input()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", holder, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    assert process.stdout.readline() == b"held\n"
    with pytest.raises(RunError, match=f"Process {process.pid} is training"):
        RunDirectory.open(tmp_path / "run")
    process.kill()
    process.communicate()
    run = RunDirectory.open(tmp_path / "run")
    with pytest.raises(RunError, match=f"Process {os.getpid()} is training"):
        RunDirectory.open(tmp_path / "run")
    run.close()
    RunDirectory.open(tmp_path / "run").close()


def test_a_full_disk_stops_the_run_and_keeps_the_last_checkpoint(finished, tmp_path, capsys, monkeypatch):
    run = tmp_path / "full"
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(files.os, "fsync", full)
    assert train("experiment=tiny", "iterations=6", f"run_dir={run}") == 2
    monkeypatch.undo()
    err = capsys.readouterr().err
    assert "the disk is full" in err and err.count("\n") == 1
    last = numbered(run / "checkpoints")[-1]
    assert f"The last checkpoint is {last}" in err and f"resume={run}" in err
    assert not list(run.rglob("*.tmp"))
    assert train(f"resume={run}") == 0
    assert iterations(run) == iterations(finished)
    assert same(learned(run), learned(finished))


def test_losses_that_are_no_numbers_stop_the_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(trainer.ReplayBuffer, "batch", poisoned(trainer.ReplayBuffer.batch))
    assert train("experiment=tiny", f"run_dir={tmp_path / 'nan'}") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "resume=" in err
    assert "step 2" in err  # the warm-up has drawn a batch too


def poisoned(batch):
    """``batch`` with a NaN in its third result."""
    calls = []

    def third_has_nan(*arguments):
        rows = batch(*arguments)
        calls.append(1)
        if len(calls) == 3:
            rows.policy[:] = math.nan
        return rows

    return third_has_nan


def test_a_missing_gpu_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert train("experiment=tiny", "device=cuda", f"run_dir={tmp_path / 'run'}") == 2
    assert "no usable GPU" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_metrics_are_rewound_to_the_checkpoint(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, tmp_path / "tb")
    for iteration in (1, 2, 3):
        log.write("iteration", iteration, {"learner": {"policy": 1.0 / iteration, "value": math.nan}})
    log.close()
    with open(path, "a") as file:
        file.write('{"kind": "iteration", "iter')
    assert [event["iteration"] for event in read_metrics(path)] == [1, 2, 3]
    MetricsLog(path, tmp_path / "tb", iteration=2).close()
    events = list(read_metrics(path))
    assert [event["iteration"] for event in events] == [1, 2]
    assert events[1] == {"kind": "iteration", "iteration": 2, "learner": {"policy": 0.5, "value": None}}


def entry(network, *scores, games=100):
    return {"network": network, "games": games, "rungs": {str(i): {"score": score} for i, score in enumerate(scores)}}


def test_best_network_is_the_newest_of_the_good_ones():
    assert best_network([entry("a", 0.5)]) == "a"
    assert best_network([entry("a", 0.5, 0.2), entry("b", 0.9, 0.4)]) == "b"
    assert best_network([entry("a", 0.9, 0.4), entry("b", 0.5, 0.2)]) == "a"
    assert best_network([entry("a", 0.66), entry("b", 0.65)]) == "b"
    assert best_network([entry("a", 0.9), entry("b", 0.87), entry("c", 0.5)]) == "b"
    assert best_network([entry("a", 1.0, games=2), entry("b", 0.7, games=100)]) == "b"


def test_default_path_names_date_name_and_seed():
    before = datetime.now()
    path = default_path("runs", "quick", 3)
    stamp = datetime.strptime(path.name.removesuffix("-quick-s3"), "%Y-%m-%d-%H%M%S")
    assert path.parent == Path("runs")
    assert before.replace(microsecond=0) <= stamp <= datetime.now()


def test_progress_on_and_off_a_terminal():
    status = Status(name="quick", phase="self-play", fraction=0.5, seconds_left=61, losses={"policy": 1.25})
    status.ladder = [Rung("random", 0.99, [0.0, 0.5, 0.99])]
    terminal = Console(file=StringIO(), force_terminal=True, width=100)
    with Progress(status, terminal) as progress:
        progress.refresh()
        progress.say("a [sentence]")
    drawn = terminal.file.getvalue()
    for expected in ("quick", "self-play", "1:01 left", "1.250", "vs random", "99.0%", "▁▅█", "a [sentence]", "Ctrl-C"):
        assert expected in drawn
    plain = Console(file=StringIO(), width=80)
    with Progress(status, plain) as progress:
        progress.refresh()
        progress.refresh()
        assert plain.file.getvalue() == plain_line(status) + "\n"
        progress.refresh(force=True)
        assert plain.file.getvalue().count("\n") == 2
    assert "policy 1.250" in plain_line(status) and "random 99.0%" in plain_line(status)


@pytest.mark.parametrize("name", ["mcts:net=[old]/a.pt,sims=2", "mcts:net=[/old].pt,sims=2"])
def test_brackets_in_names_are_shown(name):
    status = Status(name=name, phase="self-play", fraction=0.5)
    status.ladder = [Rung(name, 0.5, [0.5])]
    rung = {"wins": 1, "draws": 0, "losses": 1, "score": 0.5, "elo": 0.0, "low": -9.0, "high": 9.0, "distinct": 1.0}
    for terminal in (True, False):
        console = Console(file=StringIO(), force_terminal=terminal, width=150)
        with Progress(status, console) as progress:
            progress.refresh()
        console.print(ladder_table({"iteration": 1, "games": 2, "rungs": {name: rung}}))
        shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", console.file.getvalue())
        assert shown.count(name) == 3 - (not terminal)


@pytest.mark.parametrize("budget", [["iterations=1"], ["iterations=0", "minutes=0.001"]])
def test_what_is_told_once_the_budget_is_used_up(tmp_path, monkeypatch, budget):
    told = []
    monkeypatch.setattr(Progress, "refresh", lambda self, force=False: told.append(plain_line(self.status)))
    assert train("experiment=tiny", *budget, f"run_dir={tmp_path / 'run'}") == 0
    first = next(index for index, line in enumerate(told) if "budget used up" in line)
    before, after = told[:first], told[first:]
    assert any("| preparing kernels (compiled once per machine) |" in line for line in before)
    assert all("budget used up" in line and " s left" not in line for line in after)
    assert not any("| self-play" in line or "| learning" in line for line in after)
    assert "finishing the last iteration" in after[0]
    assert "closing measurement (4 games a rung) 100%" in after[-2] and "| saving |" in after[-1]


def test_minutes_of_budget_measurements_and_checkpoints(tmp_path, monkeypatch):
    """Iterations of half a minute on a clock that stands still otherwise."""
    now, iterate = [0.0], trainer.Trainer._iterate

    def half_a_minute(self):
        now[0] += 30
        iterate(self)

    monkeypatch.setattr(trainer.Trainer, "_iterate", half_a_minute)
    monkeypatch.setattr(trainer, "time", SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter))
    run = tmp_path / "run"
    trainer_words = ("evaluate_minutes=1", "checkpoint_minutes=1.4", "keep_checkpoints=9", "positions_per_iteration=64")
    words = [f"trainer.{word}" for word in trainer_words]
    assert train("experiment=tiny", "iterations=0", "minutes=3", *words, f"run_dir={run}") == 0
    assert [event["iteration"] for event in iterations(run)] == [1, 2, 3, 4, 5, 6]
    measured = [event["iteration"] for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "ladder"]
    assert measured == [2, 4, 6]
    assert [int(path.stem[5:]) for path in numbered(run / "checkpoints")] == [0, 3, 6]


def test_learning_starts_with_so_many_records(tmp_path):
    run = tmp_path / "run"
    assert train("experiment=tiny", "iterations=3", "trainer.learning_starts=700", f"run_dir={run}") == 0
    seen = [(event["replay"]["added"] >= 700, event["learner"]["steps"] > 0) for event in iterations(run)]
    assert set(seen) == {(False, False), (True, True)}


def test_records_are_learned_from_as_often_as_configured(tmp_path):
    run = tmp_path / "run"
    assert train("experiment=tiny", "iterations=2", "trainer.replay_ratio=3", f"run_dir={run}") == 0
    last = iterations(run)[-1]
    assert last["replay"]["ratio"] == pytest.approx(3, abs=32 / last["replay"]["added"])


def test_what_goes_into_the_replay_buffer_and_when(tmp_path, monkeypatch):
    """Old records are searched anew before those of the newest games come, and solved endgames come with these."""
    seen, add, search_anew = [], ReplayBuffer.add, Reanalysis.run

    def added(self, records):
        seen.append(("add", len(records.z)))
        add(self, records)

    def revised(self, replay, evaluator, count, seed):
        seen.append(("reanalysis", count))
        return search_anew(self, replay, evaluator, count, seed)

    monkeypatch.setattr(ReplayBuffer, "add", added)
    monkeypatch.setattr(Reanalysis, "run", revised)
    words = "experiment=tiny", "iterations=2", "trainer.endgame_share=0.25", "trainer.reanalyse_share=0.5"
    assert train(*words, f"run_dir={tmp_path / 'run'}") == 0
    steps = [step for step in seen if step != ("add", 1)]  # of the warm-up
    assert [name for name, _ in steps] == ["reanalysis", "add", "add"] * 2
    for anew, games, endgames in (steps[:3], steps[3:]):
        assert games[1] > 100
        assert (anew[1], endgames[1]) == (round(0.5 * games[1]), round(0.25 * games[1]))


def test_the_learning_rate_falls_to_the_end_of_the_budget(tmp_path):
    run = tmp_path / "run"
    assert train("experiment=tiny", "iterations=4", "learner.cooldown=0.5", f"run_dir={run}") == 0
    rates = [event["learner"]["learning_rate"] for event in iterations(run)]
    assert train("experiment=tiny", "iterations=4", f"run_dir={tmp_path / 'constant'}") == 0
    constant = [event["learner"]["learning_rate"] for event in iterations(tmp_path / "constant")]
    # An iteration that begins when 0, 1/4, 1/2 and 3/4 of the budget are used up.
    assert [rate / other for rate, other in zip(rates, constant, strict=True)] == pytest.approx([1, 1, 1, 0.5])


def test_small_formats():
    assert [duration(seconds) for seconds in (-1, 5, 61, 3600 + 125)] == ["0 s", "5 s", "1:01", "1:02:05"]
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert checkpoint.FORMAT == 1


def test_the_share_of_raw_speed_is_that_of_the_whole_run(tmp_path, capsys):
    """Weighted by the time of self-play; and a part of a run without an iteration has something to say as well."""
    run = tmp_path / "run"
    assert train("experiment=tiny", "iterations=3", f"run_dir={run}") == 0
    parts = [event["time"] for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "iteration"]
    seconds = sum(part["selfplay"] for part in parts)
    share = sum(part["selfplay"] * part["share_of_raw_speed"] for part in parts) / seconds
    said = f"Self-play ran at {share:.0%} of the network's own speed."
    assert said in capsys.readouterr().out
    # As if the closing measurement had been interrupted: nothing is left to do but that.
    content, newest, _ = load_newest(run / "checkpoints")
    checkpoint.write_checkpoint(newest, {**content, "counts": {**content["counts"], "measured": False}})
    damaged = (
        '{"kind": "iteration", "iteration": 1}',
        '"time": null',
        '"time": {"selfplay": null, "share_of_raw_speed": "y"}',
    )
    with open(run / "metrics.jsonl", "a", encoding="utf-8") as file:
        for line in damaged:
            file.write((line if line.startswith("{") else f'{{"kind": "iteration", "iteration": 1, {line}}}') + "\n")
    assert train(f"resume={run}") == 0
    assert said in capsys.readouterr().out
