"""What is read of run directories, also of damaged, foreign and unfinished ones; and ``damas runs``."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from damas_rl.cli import main
from damas_rl.runs import NoRunError, find_runs, number, read_run, read_runs
from run_cases import MADE_BY, make_run

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("made") / "a", "seed=7", "name=mine")


@pytest.fixture
def run(made, tmp_path):
    return Path(shutil.copytree(made, tmp_path / "runs" / "a"))


def lines(run):
    return (run / "metrics.jsonl").read_text().splitlines(keepends=True)


def test_what_a_finished_run_tells(run):
    read = read_run(run)
    assert (read.name, read.state, read.seed, read.rules, read.remarks) == ("a", "finished", 7, "cbd", ())
    assert (read.minutes, read.positions, read.games, len(read.iterations)) == (3.0, 6000, 120, 6)
    assert read.revisions == [MADE_BY["git_revision"]] and read.started == MADE_BY["started"]
    assert [measured.minutes for measured in read.measurements] == [1.0, 2.0, 3.0]
    assert [measured.positions for measured in read.measurements] == [2000, 4000, 6000]
    last = read.measurements[-1]
    against = last.results["alphabeta:depth=1"]
    assert (against.wins, against.draws, against.losses, against.score, against.elo) == (10, 0, 10, 0.5, 0.0)
    assert against.low < 0 < against.high and not against.extreme and last.results["random"].extreme
    assert last.mistakes == pytest.approx(0.1) and last.seconds == 3.0
    assert read.setting("network.width") == 16 and read.setting("network.nothing.more") is None
    assert "network.width" in read.settings() and "run_dir" not in read.settings()


def test_the_experiment_is_the_typed_one_else_the_name(run):
    assert read_run(run).experiment == "mine"
    (run / "meta.json").write_text(json.dumps(MADE_BY | {"words": ["experiment=tiny", "name=mine"]}))
    assert read_run(run).experiment == "tiny"


def test_a_run_is_running_while_its_lock_is_held_and_looking_takes_none(run):
    with open(run / "lock") as lock:
        assert read_run(run).state == "finished"
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds it after reading
        assert read_run(run).state == "running"
    assert read_run(run).state == "finished"


def test_a_run_is_finished_once_it_is_measured_with_its_budget_used_up(run):
    whole = lines(run)
    (run / "metrics.jsonl").write_text("".join(whole[:-1]))
    assert read_run(run).state == "interrupted"
    (run / "metrics.jsonl").write_text("".join(whole[:-3]))
    assert read_run(run).state == "interrupted"
    (run / "metrics.jsonl").write_text("".join(whole))
    config = (run / "config.yaml").read_text()
    (run / "config.yaml").write_text(config.replace("iterations: 6", "iterations: 9"))
    assert read_run(run).state == "interrupted"
    timed = config.replace("iterations: 6", "iterations: 0").replace("minutes: 0.0", "minutes: 3")
    (run / "config.yaml").write_text(timed)
    assert read_run(run).state == "finished"


def test_parts_of_a_run(run):
    later = MADE_BY | {"git_revision": "f" * 40}
    (run / "meta.json").write_text(json.dumps(MADE_BY | {"resumed": [MADE_BY, later, 5]}))
    read = read_run(run)
    assert len(read.parts) == 3 and read.revisions == [MADE_BY["git_revision"], "f" * 40]


@pytest.mark.parametrize(
    ("name", "content", "remark"),
    [
        ("config.yaml", b"\xff\xfe", "config.yaml is damaged"),
        ("config.yaml", b"a: [", "config.yaml is damaged"),
        ("config.yaml", b"[" * 100_000, "config.yaml is damaged"),
        ("config.yaml", b"selfplay: {}\na: &a [1]\nb: *a\n", "config.yaml is damaged"),
        ("config.yaml", b"selfplay: &s\n  a: *s\n", "config.yaml is damaged"),
        ("config.yaml", b"selfplay: {}\nseed: 0x" + b"f" * 9999, "config.yaml is damaged"),
        ("config.yaml", b"defaults: []", "config.yaml is not the configuration of a run"),
        ("config.yaml", None, "config.yaml is missing"),
        ("meta.json", b"{", "meta.json is damaged"),
        ("meta.json", b"[1]", "meta.json is damaged"),
        ("meta.json", None, "meta.json is missing"),
        ("metrics.jsonl", None, "metrics.jsonl is missing"),
        ("metrics.jsonl", b"", "no iteration is over yet"),
        ("metrics.jsonl", b"5\n\xff\n[]\n", "3 of the 3 lines of metrics.jsonl are damaged"),
        ("metrics.jsonl", b'{"kind": "ladder", "iteration": 1, "ladder": 3}\n', "1 of its measurements cannot be read"),
    ],
)
def test_damaged_files_are_remarks(run, name, content, remark):
    (run / name).unlink()
    if content is not None:
        (run / name).write_bytes(content)
    read = read_run(run)
    assert read.remarks == (remark,)
    assert read.minutes >= 0 and isinstance(read.experiment, (str, type(None))) and read.settings() is not None


def test_numbers_of_other_types_are_left_out(run):
    event = {"kind": "iteration", "iteration": 7, "time": {"training": "long"}, "total": {"positions": None}}
    ladder = {"kind": "ladder", "iteration": 7, "ladder": {"random": {"wins": 1}}, "time": {"training": 300}}
    with open(run / "metrics.jsonl", "a") as file:
        file.write(f"{json.dumps(event)}\n{json.dumps(ladder)}\n" + '{"kind": "iter')
    read = read_run(run)
    assert (read.minutes, read.positions, len(read.measurements)) == (3.0, 6000, 3)
    assert read.remarks == ("1 of its measurements cannot be read",)  # a line that is being written is no remark
    assert [number({"a": {"b": value}}, "a", "b") for value in (1, 2.5, True, "1", None)] == [1, 2.5, None, None, None]
    assert number({"a": 1}, "a", "b") is None


@pytest.mark.parametrize(
    "values",
    [
        {"elo": 9e3},
        {"low": -1e9},
        {"high": 1e9},
        {"score": 1.5},
        {"wins": -2},
        {"elo": 10**401},
        {"wins": 1e200},
    ],
)
def test_impossible_results_are_no_results(run, values):
    event = json.loads(lines(run)[-1])
    event["ladder"]["random"] |= values
    with open(run / "metrics.jsonl", "a") as file:
        file.write(f"{json.dumps(event)}\n")
    read = read_run(run)
    assert len(read.measurements) == 3 and read.remarks == ("1 of its measurements cannot be read",)


def test_numbers_beyond_all_measure_are_none():
    for value in (10**401, -(10**401), 1e300, float("inf"), float("nan")):
        assert number({"a": value}, "a") is None


@pytest.mark.parametrize("name", ["config.yaml", "meta.json", "metrics.jsonl", "lock"])
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_pipes_and_devices_are_not_read(run, name, device):
    (run / name).unlink()
    if device:
        (run / name).symlink_to(device)
    else:
        os.mkfifo(run / name)
    told = () if name == "lock" else (f"{name} cannot be read: not a regular file",)
    assert read_run(run).remarks == told


def test_a_line_without_end_does_not_hide_the_others(run):
    with open(run / "metrics.jsonl", "a") as file:
        file.write("x" * 3_000_000 + "\n" + lines(run)[0])
    read = read_run(run)
    assert len(read.iterations) == 7 and read.remarks == ("1 of the 11 lines of metrics.jsonl are damaged",)


def test_only_what_git_calls_a_commit_is_a_revision(run):
    hostile = ["0123456; rm -rf ~", "0123456\nrm -rf ~", "--help", "unknown", "012345", "0123456-dirty"]
    parts = [MADE_BY | {"git_revision": revision} for revision in hostile]
    (run / "meta.json").write_text(json.dumps(parts[0] | {"resumed": parts[1:]}))
    assert read_run(run).revisions == ["0123456-dirty"]


def test_runs_are_found_below_a_folder_and_once(run):
    folder = run.parent
    (folder / "latest").symlink_to("a")
    make_run(folder / "sweep" / "b")
    make_run(folder / ".hidden" / "c")
    (folder / "notes").mkdir()
    assert find_runs(folder) == [folder / "a", folder / "sweep" / "b"]
    assert find_runs(folder / "latest") == [folder / "latest"] and read_run(folder / "latest").name == "a"
    for nothing in (folder / "notes", folder / "nowhere", folder / "a" / "config.yaml"):
        with pytest.raises(NoRunError):
            find_runs(nothing)


def test_foreign_and_half_written_folders_are_refused_with_a_sentence(run):
    folder = run.parent
    (folder / "begun" / "checkpoints").mkdir(parents=True)
    (folder / "foreign").mkdir()
    (folder / "foreign" / "config.yaml").write_text("defaults: []\n")
    (folder / "folder" / "config.yaml").mkdir(parents=True)
    read, refused = read_runs(find_runs(folder))
    assert [one.name for one in read] == ["a"]
    assert refused == {
        folder / "begun": "config.yaml is missing, and there are no metrics.",
        folder / "folder": "config.yaml cannot be read: is a directory, and there are no metrics.",
        folder / "foreign": "config.yaml is not the configuration of a run, and there are no metrics.",
    }


def test_the_table_of_runs(run, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    folder = run.parent
    make_run(folder / "b", made_by=MADE_BY | {"started": "2025-01-01T00:00:00+0000"})
    shutil.rmtree(folder / "b" / "networks")
    (folder / "begun" / "checkpoints").mkdir(parents=True)
    assert main(["runs", str(folder), "--json"]) == 0
    first, second, last = json.loads(capsys.readouterr().out)
    assert (first["name"], second["name"], last["path"], last["state"]) == ("b", "a", str(folder / "begun"), None)
    assert second["measurement"]["results"]["alphabeta:depth=1"]["score"] == 0.5 and second["seed"] == 7
    assert main(["runs", str(folder)]) == 0
    out = capsys.readouterr().out
    for expected in (
        "finished: 3.0 minutes",
        "6,000 plies",
        "alphabeta:depth=1",
        "50.0%",
        "unreadable: config",
        "seed 7",
        "0123456",
    ):
        assert expected in out
    assert main(["runs", str(folder / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_reading_runs_needs_no_torch(run):
    code = f"import sys; from damas_rl.runs import read_run; read_run({str(run)!r}); sys.exit('torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment).returncode == 0
