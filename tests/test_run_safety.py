"""What a run does with bad settings, stale files, interrupted measurements and damaged or foreign checkpoints."""

import json
import os
import shlex
import shutil
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from damas_env.rules import get_rules
from damas_rl import closing, launch, rundir, trainer
from damas_rl.arena import ArenaConfig, play_match
from damas_rl.checkpoint import CheckpointError, load_network, load_newest, numbered, write_checkpoint
from damas_rl.elo import Sprt
from damas_rl.files import atomic_write, check_writable, why
from damas_rl.metrics import MetricsLog, read_metrics
from damas_rl.players import RandomPlayer
from damas_rl.rundir import RunDirectory
from damas_rl.search.transpositions import EXACT, MAX_GENERATION, new_table, probe, store
from run_cases import killed_in_the_closing_measurement


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


def test_latest_is_a_run(finished, capsys):
    latest = finished.parent / "latest"
    assert latest.resolve() == finished.resolve()
    assert load_network(latest)[1].name == "cbd"
    assert launch.main([f"resume={latest}", "iterations=2"]) == 2
    assert "has used its budget" in capsys.readouterr().err  # so it was found


def test_help_with_resume_shows_the_keys_of_that_run(finished, capsys):
    assert launch.main(["--help", f"resume={finished}", "minutes=7"]) == 0
    out = capsys.readouterr().out
    assert "iterations=2 " in out and "minutes=7.0" in out
    assert launch.main(["--help", "resume=nowhere"]) == 2


def test_every_part_of_a_run_is_noted(copied):
    assert launch.main([f"resume={copied}", "iterations=3"]) == 0
    meta = json.loads((copied / "meta.json").read_text())
    assert meta["git_revision"] and [part["git_revision"] for part in meta["resumed"]] == [meta["git_revision"]]
    assert meta["words"][:2] == ["experiment=tiny", "iterations=2"]
    assert meta["resumed"][0]["words"] == [f"resume={copied}", "iterations=3"]


def test_a_closing_measurement_that_was_not_saved_is_measured_again_once(copied, monkeypatch):
    before = ladder_lines(copied)
    killed_in_the_closing_measurement(monkeypatch, f"resume={copied}", "iterations=3")
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
            signal.raise_signal(signal.SIGINT)
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


def refusal(capsys, *words):
    """The one sentence with which train.py refuses these words."""
    assert launch.main(list(words)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("train.py: ") and err.count("\n") == 1
    return err


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "null", '{"resumed": 5}', "\ud83d", "[" * 100_000])
def test_damaged_notes_of_a_run_are_named_and_left_alone(copied, capsys, text):
    meta = copied / "meta.json"
    meta.write_bytes(text.encode("utf-8", "surrogatepass"))
    before = numbered(copied / "checkpoints")
    err = refusal(capsys, f"resume={copied}", "iterations=3")
    assert f"{meta} is damaged" in err and "move it away" in err and "resume=" not in err
    assert meta.read_bytes() == text.encode("utf-8", "surrogatepass") and numbered(copied / "checkpoints") == before


def test_a_run_goes_on_once_its_damaged_notes_are_away(copied):
    (copied / "meta.json").unlink()
    assert launch.main([f"resume={copied}", "iterations=3"]) == 0
    assert json.loads((copied / "meta.json").read_text())["git_revision"]


def test_run_directories_that_cannot_be_are_refused(finished, tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    (tmp_path / "empty" / "networks").mkdir(parents=True)
    for place, expected in (
        ("/dev/null", "/dev/null is a file, not a folder; choose another run_dir="),
        (file, f"{file} is a file, not a folder"),
        (file / "below", "could not be made: not a directory"),
        ("/proc/damas", "could not be made"),
        (tmp_path / ("x" * 300), "file name too long"),
        (tmp_path, "is not empty; choose another run_dir=, or empty it"),
        (tmp_path / "empty", "is not empty; choose another run_dir=, or empty it"),
        (finished, f"or continue that run with resume={finished}"),
        ("~nobody-of-this-name", "there is no such user"),
        ("a\0b", "cannot be the name of a folder"),
    ):
        assert expected in refusal(capsys, "experiment=tiny", f'run_dir="{place}"')
    assert "not a directory" in refusal(capsys, "experiment=tiny", f"runs_dir={file}")
    assert file.read_text() == "mine" and Path("/dev/null").is_char_device()


def test_a_tilde_is_the_home_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("")
    assert f"{tmp_path / 'taken'} is a file" in refusal(capsys, 'run_dir="~/taken"')
    assert str(tmp_path / "taken") in refusal(capsys, 'runs_dir="~/taken"')


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "network"}, "only a network or less"),
        ({"kind": None}, "only a network or less"),
        ({"config": None}, "holds no configuration"),
        ({"config": [1]}, "holds no configuration"),
        ({"config": {"seed": "a"}}, "cannot be used: seed must be a whole number"),
        ({"config": {"sead": 1}}, "cannot be used: Unknown key 'sead'"),
        ({"config": {"learner": 3}}, "cannot be used: learner is a section"),
    ],
)
def test_checkpoints_without_a_usable_configuration_are_named(copied, capsys, change, expected):
    newest = numbered(copied / "checkpoints")[-1]
    content = load_newest(copied / "checkpoints")[0]
    write_checkpoint(newest, {**content, **change})
    data = newest.read_bytes()
    for words in ([f"resume={copied}", "iterations=3"], ["--help", f"resume={copied}"]):
        err = refusal(capsys, *words)
        assert str(newest) in err and expected in err
    assert newest.read_bytes() == data


def test_metrics_of_other_shapes_are_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    good = '{"kind": "iteration", "iteration": 1}\n'
    path.write_text(f'5\n[]\n{{"kind": 3, "iteration": 1}}\n{{"kind": "ladder"}}\nnull\n{{"ki\n{good}\n{good}')
    assert [event["iteration"] for event in read_metrics(path)] == [1, 1]
    MetricsLog(path, tmp_path / "tb", 1).close()
    assert path.read_text() == 2 * good


def test_written_files_keep_what_they_replace(tmp_path):
    real, link, pipe = tmp_path / "real", tmp_path / "link", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to("real")
    atomic_write(link, [b"new"])
    assert link.is_symlink() and real.read_text() == "new"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(pipe.read_bytes)
        atomic_write(pipe, [b"through ", b"the pipe"])
        assert received.result(timeout=60) == b"through the pipe" and pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe", "real"]


@pytest.mark.parametrize("name", ["nowhere/x", "folder", "file/x", "x" * 300])
def test_files_that_cannot_be_written_are_named_beforehand_and_leave_no_trace(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    for attempt in (check_writable, lambda path: atomic_write(path, [b"new"])):
        with pytest.raises(OSError) as caught:
            attempt(tmp_path / name)
        assert caught.value.filename == str(tmp_path / name) and caught.value.filename2 is None
    check_writable(tmp_path / "file")
    check_writable(tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]
    assert (tmp_path / "file").read_text() == "old"


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
    assert shlex.split(closing.program("damas")) == ["some place/bin/damas"]
    words = shlex.split(closing.resume_command(Path("runs/a b")))
    assert words[0] == "some place/bin/python" and words[2] == "resume=runs/a b"
    assert Path(words[1]).is_file() and words[1].endswith("train.py")
    monkeypatch.chdir(Path(words[1]).parent)
    assert shlex.split(closing.resume_command(Path("runs/a")))[1] == "train.py"


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


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(rundir.time, "strftime", lambda form: "2026-01-31-120000")
    names = []
    for _ in range(3):
        path = rundir.default_path(tmp_path, "quick", 1)
        path.mkdir()
        names.append(path.name)
    assert names == [f"2026-01-31-120000-quick-s1{behind}" for behind in ("", "-2", "-3")]
