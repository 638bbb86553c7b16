"""What a run does with bad settings, stale files, interrupted measurements and damaged or foreign checkpoints."""

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from damas_env.rules import get_rules
from damas_rl import launch, report, trainer
from damas_rl.arena import ArenaConfig, play_match
from damas_rl.checkpoint import CheckpointError, load_network, load_newest, numbered
from damas_rl.elo import Sprt
from damas_rl.files import why
from damas_rl.metrics import MetricsLog, read_metrics
from damas_rl.players import RandomPlayer
from damas_rl.rundir import RunDirectory
from damas_rl.search.transpositions import EXACT, MAX_GENERATION, new_table, probe, store


def ladder_lines(run):
    return [event["iteration"] for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "ladder"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of two iterations in its runs_dir."""
    runs = tmp_path_factory.mktemp("runs")
    run = runs / "short"
    assert launch.main(["experiment=tiny", "iterations=2", f"runs_dir={runs}", f"run_dir={run}"]) == 0
    return run


@pytest.fixture
def copied(finished, tmp_path):
    return Path(shutil.copytree(finished, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("randm", "Did you mean 'random'"), ("alphabeta", "needs a limit"), ("mcts:sims=99999,net=x", "sims=99999")],
)
def test_ladder_entries_are_checked_with_the_configuration(tmp_path, capsys, spec, expected):
    assert launch.main([f"arena.ladder=['{spec}']", f"run_dir={tmp_path / 'run'}"]) == 2
    err = capsys.readouterr().err
    assert "arena.ladder: " in err and expected in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_missing_network_of_the_ladder_stops_the_run_before_training(tmp_path, capsys):
    words = ["experiment=tiny", "arena.ladder=['policy:net=nowhere']", f"run_dir={tmp_path / 'run'}"]
    assert launch.main(words) == 2
    err = capsys.readouterr().err
    assert "nowhere" in err and "No checkpoint had been written yet" in err and err.count("\n") == 1


def test_latest_is_a_run(finished):
    latest = finished.parent / "latest"
    assert latest.resolve() == finished.resolve()
    assert load_network(latest)[1].name == "cbd"
    assert launch.main([f"resume={latest}", "iterations=2"]) == 2  # the budget is used up, so it was found


def test_help_with_resume_shows_the_keys_of_that_run(finished, capsys):
    assert launch.main(["--help", f"resume={finished}", "minutes=7"]) == 0
    out = capsys.readouterr().out
    assert "iterations=2 " in out and "minutes=7.0" in out
    assert launch.main(["--help", "resume=nowhere"]) == 2


def test_every_part_of_a_run_is_noted(copied):
    assert launch.main([f"resume={copied}", "iterations=3"]) == 0
    meta = json.loads((copied / "meta.json").read_text())
    assert meta["git_revision"] and [part["git_revision"] for part in meta["resumed"]] == [meta["git_revision"]]


def test_a_closing_measurement_that_was_not_saved_is_measured_again_once(copied, monkeypatch):
    before = ladder_lines(copied)
    save = trainer.Trainer._save

    def killed(self):
        if self.counts.measured:
            raise KeyboardInterrupt
        save(self)

    monkeypatch.setattr(trainer.Trainer, "_save", killed)
    with pytest.raises(KeyboardInterrupt):
        launch.main([f"resume={copied}", "iterations=3"])
    monkeypatch.undo()
    assert ladder_lines(copied) == [*before, 3]
    assert launch.main([f"resume={copied}", "iterations=3"]) == 0
    assert ladder_lines(copied) == [*before, 3]
    assert len(load_newest(copied / "checkpoints")[0]["ladder"]) == len(before) + 1


def test_a_stopped_measurement_does_not_count(copied, monkeypatch, capsys):
    """The stop comes within the first measurement of the new part: the last checkpoint still owes it."""
    run_ladder, evaluated = trainer.run_ladder, load_newest(copied / "checkpoints")[0]["counts"]["evaluated"]
    calls = []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:  # the first one is the warm-up
            launch.signal.raise_signal(launch.signal.SIGINT)
        return run_ladder(*arguments, **options)

    monkeypatch.setattr(trainer, "run_ladder", interrupted)
    assert launch.main([f"resume={copied}", "iterations=5"]) == 130
    assert load_newest(copied / "checkpoints")[0]["counts"]["evaluated"] == evaluated
    assert shlex.quote(f"resume={copied}") in capsys.readouterr().out


def test_the_last_checkpoint_is_written_once(tmp_path, monkeypatch):
    written = []
    save = trainer.save_numbered
    monkeypatch.setattr(trainer, "save_numbered", lambda *given: (written.append(given[1]), save(*given)))
    assert launch.main(["experiment=tiny", "iterations=2", f"run_dir={tmp_path / 'run'}"]) == 0
    assert written == [0, 1, 2, 2]  # the second one of iteration 2 holds the closing measurement


def test_checkpoints_that_are_only_unusable_are_left_alone(copied, monkeypatch):
    monkeypatch.setattr("damas_env.RULES_VERSION", 99)
    before = numbered(copied / "checkpoints")
    with pytest.raises(CheckpointError, match="this is version 99"):
        load_newest(copied / "checkpoints")
    assert launch.main([f"resume={copied}", "iterations=3"]) == 2
    assert numbered(copied / "checkpoints") == before


def test_files_of_a_killed_process_are_removed(copied):
    stale = [copied / "checkpoints" / ".ckpt-0000009.pt.123.tmp", copied / ".meta.json.123.tmp"]
    for path in stale:
        path.write_bytes(b"half")
    RunDirectory.open(copied).close()
    assert not any(path.exists() for path in stale)


def test_measurements_beyond_the_checkpoint_are_dropped(tmp_path):
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, tmp_path / "tb")
    for kind, iteration in (("iteration", 1), ("ladder", 1), ("iteration", 2), ("ladder", 2), ("ladder", 2)):
        log.write(kind, iteration, {"games": 2})
    log.close()
    MetricsLog(path, tmp_path / "tb", 2, 2).close()
    assert [event["kind"] for event in read_metrics(path)] == ["iteration", "ladder", "iteration", "ladder"]


def test_commands_can_be_typed_as_printed(tmp_path, monkeypatch):
    folder = tmp_path / "some place" / "bin"
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.chdir(tmp_path)
    assert shlex.split(report.program("damas")) == ["some place/bin/damas"]
    words = shlex.split(report.resume_command(Path("runs/a b")))
    assert words[0] == "some place/bin/python" and words[2] == "resume=runs/a b"
    assert Path(words[1]).is_file() and words[1].endswith("train.py")
    monkeypatch.chdir(Path(words[1]).parent)
    assert shlex.split(report.resume_command(Path("runs/a")))[1] == "train.py"


def test_a_sequential_test_looks_after_small_batches():
    rules = get_rules("cbd")
    same = RandomPlayer(1), RandomPlayer(2)
    result = play_match(*same, rules, 2000, sprt=Sprt(300, 400))
    assert result.score.games <= 128


def test_generations_fit_into_the_table():
    table, key, context = new_table(4), 12345, 7
    newest = MAX_GENERATION - 1
    store(table, newest, *map(trainer.np.uint64, (key, context)), 3, -50, EXACT, 9)
    assert probe(table, newest, *map(trainer.np.uint64, (key, context))) == (3, -50, EXACT, 9)


def test_refused_files_are_named_alike_for_reading_and_writing():
    assert why(PermissionError(13, "Permission denied")) == "permission denied"


def test_simulations_of_the_ladder_are_bounded():
    with pytest.raises(ValueError, match=r"arena\.simulations=65536"):
        ArenaConfig(simulations=1 << 16)
