"""Whatever happens to a run: one clear sentence, the last good state is kept, and it goes on as if nothing had been."""

import errno
import fcntl
import math
import os
import random
import shutil
import threading
import time
from pathlib import Path

import pytest
import torch

from damas_rl import compose, files, launch, metrics, trainer
from damas_rl.checkpoint import load_newest, numbered, read_checkpoint
from damas_rl.learner import Learner
from damas_rl.metrics import MetricsLog, read_metrics
from damas_rl.networks import Evaluator
from damas_rl.rundir import RunDirectory, RunError
from damas_rl.strict import ConfigError
from run_cases import killed_in_the_closing_measurement
from test_checkpoint import same
from test_trainer import learned

SHORT = (
    "experiment=tiny", "iterations=2", "trainer.positions_per_iteration=200", "trainer.endgame_share=0",
    "selfplay.tablebase=0", "selfplay.games=4", "selfplay.groups=4", "selfplay.threads=1",
    "arena.ladder=[random]", "arena.final_games=2",
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def no_warm_up():
    """It takes longer than these runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer.Trainer, "_warm_up", lambda self: None)
        yield


def outcome(run):
    """All that one seed decides in a finished run."""
    events = [
        {key: value for key, value in event.items() if key != "time"} for event in read_metrics(run / "metrics.jsonl")
    ]
    games = {path.name: path.read_text() for path in (run / "games").iterdir()}
    return {**learned(run), "metrics": events, "games": games, "best": (run / "best").read_text()}


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A run of two iterations that nothing has disturbed."""
    run = tmp_path_factory.mktemp("runs") / "short"
    assert launch.main([*SHORT, f"run_dir={run}"]) == 0
    assert len(outcome(run)["games"]) == 2
    return run


@pytest.fixture
def halfway(short, tmp_path):
    """The same run, as if it had been killed after its first iteration."""
    run = Path(shutil.copytree(short, tmp_path / "halfway"))
    (run / "checkpoints" / "ckpt-0000002.pt").unlink()
    return run


def refusal(capsys, *words):
    """The one sentence with which train.py ends."""
    assert launch.main(list(words)) == 2
    err = capsys.readouterr().err
    assert err.startswith("train.py: ") and err.count("\n") == 1 and "Traceback" not in err
    return err


def goes_on(run, short):
    """Checks that the run can be resumed and ends as if nothing had been."""
    assert not list(run.rglob("*.tmp"))
    assert launch.main([f"resume={run}"]) == 0
    assert same(outcome(run), outcome(short))


def test_a_run_that_ended_before_its_first_checkpoint_begins_again(short, tmp_path, capsys, monkeypatch):
    def killed(self):
        raise KeyboardInterrupt

    run = tmp_path / "run"
    monkeypatch.setattr(trainer.Trainer, "_warm_up", killed)
    with pytest.raises(KeyboardInterrupt):
        launch.main([*SHORT, f"run_dir={run}"])
    monkeypatch.undo()
    assert not numbered(run / "checkpoints")
    assert "seed cannot be changed" in refusal(capsys, f"resume={run}", "seed=2")
    assert f"continue that run with resume={run}" in refusal(capsys, *SHORT, f"run_dir={run}")
    goes_on(run, short)
    said = " ".join(capsys.readouterr().out.split())
    assert f"No checkpoint had been written yet; beginning again from {run}/config.yaml." in said


def test_a_run_killed_in_its_closing_measurement_leaves_the_same_checkpoint(short, halfway, monkeypatch):
    killed_in_the_closing_measurement(monkeypatch, f"resume={halfway}")
    goes_on(halfway, short)


def test_it_begins_again_from_the_same_network(short, tmp_path, monkeypatch):
    sources = []

    def killed(self, config, run, progress, stop, content, source):
        sources.append((content, source and source.path))
        raise KeyboardInterrupt

    monkeypatch.setattr(trainer.Trainer, "__init__", killed)
    for words in ([*SHORT, f"init_from={short}", f"run_dir={tmp_path / 'run'}"], [f"resume={tmp_path / 'run'}"]):
        with pytest.raises(KeyboardInterrupt):
            launch.main(words)
    assert sources == [(None, short / "networks" / outcome(short)["best"].strip())] * 2


def test_a_run_without_its_checkpoints_does_not_begin_again(short, tmp_path, capsys):
    """Its metrics are worth something."""
    run = Path(shutil.copytree(short, tmp_path / "copy"))
    for path in numbered(run / "checkpoints"):
        path.unlink()
    before = (run / "metrics.jsonl").read_bytes()
    assert "There is no checkpoint" in refusal(capsys, f"resume={run}")
    assert (run / "metrics.jsonl").read_bytes() == before


def test_a_cut_configuration_is_noticed(short, tmp_path, capsys):
    run = Path(shutil.copytree(short, tmp_path / "copy", ignore=lambda *given: {"ckpt-0000000.pt", "metrics.jsonl"}))
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").mkdir()
    data = (run / "config.yaml").read_bytes()
    for length in (0, *random.Random(1).sample(range(len(data) - 1), 12)):
        (run / "config.yaml").write_bytes(data[:length])
        with pytest.raises(ConfigError, match=r"holds no configuration|does not hold the whole"):
            compose.read(run / "config.yaml")
    (run / "config.yaml").write_bytes(b"\xff\0")
    assert "config.yaml holds no configuration" in refusal(capsys, f"resume={run}")


def test_a_disk_that_is_full_at_any_write(short, tmp_path, capsys, monkeypatch):
    """One file after the other cannot be written, and each time the run goes on from where it was."""
    run, sync, full = tmp_path / "run", os.fsync, ""

    def synced(descriptor):
        if f".{full}." in os.readlink(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(descriptor)

    monkeypatch.setattr(files.os, "fsync", synced)
    for full, last in (
        ("config.yaml", None), ("meta.json", None), ("ckpt-0000000", None), ("net-0000001", 0), ("best", 0),
        ("iteration-0000001", 0), ("ckpt-0000002", 1),
    ):  # fmt: skip
        err = refusal(capsys, *([f"resume={run}"] if (run / "config.yaml").exists() else [*SHORT, f"run_dir={run}"]))
        assert "the disk is full" in err and full in err and (f"resume={run}" in err) == (full != "config.yaml")
        assert ("No checkpoint had been written yet" if last is None else f"ckpt-000000{last}.pt; go on") in err
        if full == "config.yaml":
            shutil.rmtree(run)  # nothing is there to go on with
        assert not list(run.rglob("*.tmp"))
    full = "nothing"
    goes_on(run, short)


def test_a_disk_that_is_full_for_metrics(short, halfway, capsys, monkeypatch):
    def opened(path, mode="r", **words):
        return open("/dev/full" if mode == "a" else path, mode, **words)

    monkeypatch.setattr(metrics, "open", opened, raising=False)
    monkeypatch.setattr(MetricsLog, "sync", lambda self: None)  # there is no such thing for a device
    err = refusal(capsys, f"resume={halfway}")
    monkeypatch.undo()
    assert "the disk is full" in err and "ckpt-0000001.pt; go on" in err
    goes_on(halfway, short)


@pytest.mark.parametrize(("name", "expected"), [("tb", "ckpt-0000001.pt; go on"), (".", "is no longer there")])
def test_folders_removed_while_training(halfway, capsys, monkeypatch, name, expected):
    """TensorBoard's events are written in a thread: its failure is no traceback, and ends the run all the same."""
    iterate = trainer.Trainer._iterate

    def removed(self):
        while (halfway / name).exists():  # TensorBoard's thread may write a file while its folder is being emptied
            shutil.rmtree(halfway / name, ignore_errors=True)
        iterate(self)

    monkeypatch.setattr(trainer.Trainer, "_iterate", removed)
    hook = threading.excepthook
    err = refusal(capsys, f"resume={halfway}")
    assert "no such file or directory" in err and str(halfway) in err and expected in err and "b'" not in err
    assert threading.excepthook is hook


def test_failures_of_other_threads_are_still_told(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    log = MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "tb")
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    log.close()
    assert [failure.exc_type for failure in told] == [ZeroDivisionError]


def test_why_files_cannot_be_written():
    assert files.why(OSError(errno.EROFS, os.strerror(errno.EROFS))) == "read-only file system"


def test_clock_jumps_change_nothing(short, halfway, monkeypatch):
    """Days forward and back at each look at the clock; budgets go by a clock that only runs forward."""
    rng, now = random.Random(1), time.time
    monkeypatch.setattr(time, "time", lambda: now() + rng.uniform(-1e6, 1e6))
    assert launch.main([f"resume={halfway}", "minutes=60"]) == 0
    assert same(outcome(halfway), outcome(short))
    assert 0 < load_newest(halfway / "checkpoints")[0]["counts"]["seconds"] < 600


@pytest.mark.parametrize(("where", "measured"), [("net", False), ("averaged", True), ("optimiser", False)])
def test_weights_that_are_no_numbers_never_reach_a_checkpoint(short, halfway, capsys, monkeypatch, where, measured):
    """They are found out when they are measured, or else when they are to be saved."""
    train = Learner.train

    def poisoned(self, *given):
        figures = train(self, *given)
        weights = next((self.averaged if where == "averaged" else self.net).parameters())
        if where == "optimiser":
            weights = self._optimizer.state[weights]["exp_avg"]
        with torch.no_grad():
            weights.view(-1)[0] = math.nan
        return figures

    monkeypatch.setattr(Learner, "train", poisoned)
    err = refusal(capsys, f"resume={halfway}", *([] if measured else ["trainer.evaluate_minutes=60"]))
    monkeypatch.undo()
    assert "finite" in err and f"{halfway / 'checkpoints' / 'ckpt-0000001.pt'}; go on" in err
    assert [path.stem for path in numbered(halfway / "checkpoints")] == ["ckpt-0000000", "ckpt-0000001"]
    if measured:
        goes_on(halfway, short)


def test_evaluations_that_are_no_numbers_stop_self_play(short, halfway, capsys, monkeypatch):
    update = Evaluator.update

    def poisoned(self, net):
        update(self, net)
        self._net.value.bias[0] = math.nan

    monkeypatch.setattr(Evaluator, "update", poisoned)
    err = refusal(capsys, f"resume={halfway}")
    monkeypatch.undo()
    assert "its weights 'value.bias' contain NaN" in err and "ckpt-0000001.pt; go on" in err
    goes_on(halfway, short)


def test_a_checkpoint_of_any_length_and_with_any_bit_changed_is_passed_over(short, tmp_path):
    folder = Path(shutil.copytree(short / "checkpoints", tmp_path / "checkpoints"))
    newest = numbered(folder)[-1]
    data, rng = newest.read_bytes(), random.Random(1)
    for length in sorted({*range(80), *rng.sample(range(len(data)), 150), len(data) - 1}, reverse=True):
        os.truncate(newest, length)
        with pytest.raises(ValueError, match=r"^(The checkpoint )?\S+ (is incomplete|is not a checkpoint)[^\n]*\.$"):
            read_checkpoint(newest)
    for at in (*range(0, 64, 5), *rng.sample(range(len(data)), 40)):
        newest.write_bytes(data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :])
        with pytest.raises(ValueError, match=str(newest)):
            read_checkpoint(newest)
    content, used, passed_over = load_newest(folder)
    assert (content["counts"]["iteration"], used.name, list(passed_over)) == (1, "ckpt-0000001.pt", [newest])


def test_the_number_of_threads_of_self_play_does_not_matter(short, halfway, tmp_path):
    """For a whole run, and for one that goes on; test_selfplay.py compares the games and records."""
    run = tmp_path / "run"
    assert launch.main([f"resume={halfway}", "selfplay.threads=2"]) == 0
    assert launch.main([*SHORT, "selfplay.threads=3", f"run_dir={run}"]) == 0
    assert same(outcome(halfway), outcome(short)) and same(outcome(run), outcome(short))


def test_whoever_looks_whether_a_run_is_trained_does_not_stop_it(tmp_path):
    RunDirectory.create(tmp_path / "run").close()
    with open(tmp_path / "run" / "lock") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.1, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        RunDirectory.open(tmp_path / "run").close()
        fcntl.flock(looking, fcntl.LOCK_SH)
        with pytest.raises(RunError, match="is training"):
            RunDirectory.open(tmp_path / "run")
