"""Several runs with one command: which they are, where they lie, and how an interrupted sweep goes on."""

import fcntl
import json
import shutil
from pathlib import Path

import pytest

from damas_rl import launch, sweep
from damas_rl.metrics import read_metrics
from damas_rl.rundir import RunDirectory, RunError
from damas_rl.runs import find_runs, read_run
from damas_rl.strict import ConfigError
from run_cases import make_run


def refusal(capsys, *words):
    """The one sentence with which train.py -m refuses these words."""
    assert launch.main(["-m", *words]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("train.py: ") and err.count("\n") == 1
    return err


def test_every_combination_is_a_run():
    combinations = sweep.expand(["experiment=tiny", "seed=range(1,3)", "search=gumbel,puct", "arena.ladder=[random]"])
    assert [chosen for chosen, _ in combinations] == [
        ["seed=1", "search=gumbel"], ["seed=1", "search=puct"], ["seed=2", "search=gumbel"], ["seed=2", "search=puct"],
    ]  # fmt: skip
    assert combinations[1][1] == ["experiment=tiny", "seed=1", "search=puct", "arena.ladder=[random]"]
    assert sweep.expand(["experiment=tiny"]) == [([], ["experiment=tiny"])]
    with pytest.raises(ConfigError, match="more than 10,000 runs"):
        sweep.expand(["seed=range(0,200)", "network.width=range(1,200)"])


def test_folders_are_plain_names_in_order(tmp_path):
    made = sweep.create(["arena.ladder=[random],['alphabeta:depth=1']", "seed=1,2,3,4,5", f"run_dir={tmp_path / 'a'}"])
    names = [job.folder for job in made.jobs]
    assert names[0] == "01-ladder-random-_seed-1" and names == sorted(names) and len(set(names)) == 10
    assert not set("".join(names)) & set(",=:/' []")
    assert all("run_dir" not in word for job in made.jobs for word in job.words)
    assert sweep.reopen(tmp_path / "a") == made


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seed=1,2", "netwrk.width=3"], "Unknown key 'netwrk.width'"),
        (["network.width=64,-1"], "network.width=-1"),
        (["learner.learning_rate=interval(0.1,0.2)"], "needs values that can be listed"),
        (["seed=1,2", "run_dir=a,b"], "they take one value"),
        (["seed"], "write key=value"),
        (["seed=1,2", "seed=3"], "are the same run"),
        (["seed=1,1"], "are the same run"),
        (["seed=range(0,30000000000)"], "more than 10,000 runs"),
        (["seed=shuffle(range(0,30000000000))"], "more than 10,000 runs"),
        (["seed=range(1,1)"], "names no value"),
        (["resume=nowhere"], "not the folder of a sweep"),
        (["resume=nowhere", "seed=1"], "without 'seed=1'"),
    ],
)
def test_what_cannot_be_swept_is_told_before_anything_is_made(tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sweep, "make_runs", lambda *_: 0)  # what is not refused is not trained here
    assert expected in refusal(capsys, *words)
    assert not list(tmp_path.iterdir())


def test_a_folder_in_use_is_refused(tmp_path, capsys):
    (tmp_path / "mine").write_text("mine")
    assert "is not empty" in refusal(capsys, "seed=1,2", f"run_dir={tmp_path}")
    assert "could not be made" in refusal(capsys, "seed=1,2", f"run_dir={tmp_path / 'mine' / 'below'}")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        '{"jobs": []}',
        '{"jobs": [{"folder": "../x", "words": []}]}',
        '{"jobs": [{"folder": "1-a"}]}',
        '{"jobs": [{"folder": "1\\u0000b", "words": []}]}',
        '{"jobs": [{"folder": "1-\\ud800", "words": []}]}',
        '{"jobs": [{"folder": "thesis", "words": []}]}',
        '{"jobs": [{"folder": 1, "words": []}]}',
        '{"jobs": [{"folder": "1-a", "words": "xyz"}]}',
        '{"jobs": [{"folder": "1-a", "words": [1]}]}',
        '{"jobs": [{"folder": "1-a", "words": ["resume=other"]}]}',
        '{"jobs": [{"folder": "1-a", "words": ["run_dir=other"]}]}',
    ],
)
def test_a_damaged_record_is_named(tmp_path, capsys, record):
    (tmp_path / "sweep.json").write_text(record)
    assert f"{tmp_path / 'sweep.json'} is damaged" in refusal(capsys, f"resume={tmp_path}")


def test_a_sweep_goes_on_where_it_was(tmp_path):
    made = sweep.create(["experiment=tiny", "seed=range(1,6)", f"run_dir={tmp_path}"])
    finished, interrupted, begun, running, missing = (tmp_path / job.folder for job in made.jobs)
    make_run(finished)
    make_run(interrupted, iterations=4)
    metrics = (interrupted / "metrics.jsonl").read_text().splitlines(keepends=True)
    (interrupted / "metrics.jsonl").write_text("".join(metrics[:-1]))
    (interrupted / "checkpoints" / "ckpt-0000002.pt").write_text("")
    (begun / "checkpoints").mkdir(parents=True)
    make_run(running)
    calls, told = [], []

    def train(words, path):
        calls.append((list(words), path))
        assert path is None or not any(path.glob("*/*"))
        return 2 if path == begun else 130 if path == missing else 0

    with open(running / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sweep.make_runs(made, train, told.append) == 130
    assert calls == [
        ([f"resume={interrupted}"], None),
        (["experiment=tiny", "seed=3"], begun),
        (["experiment=tiny", "seed=5"], missing),
    ]
    said = "\n".join(told)
    for expected in ("Run 3 of 5: experiment=tiny seed=3", f"It is finished: {finished}", "Another process"):
        assert expected in said
    assert f"train.py -m resume={tmp_path}" in told[-1]
    assert finished.exists() and interrupted.exists()


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_sweep_that_goes_on_removes_nothing(tmp_path, capsys):
    made = sweep.create(["experiment=tiny", "seed=range(1,6)", f"run_dir={tmp_path}"])
    unreadable, without_checkpoints, foreign, model, locked = (tmp_path / job.folder for job in made.jobs)
    make_run(unreadable)
    (unreadable / "config.yaml").unlink()
    (unreadable / "networks" / "net-0000006.pt").write_bytes(b"weights")
    make_run(without_checkpoints)
    (without_checkpoints / "metrics.jsonl").write_text((without_checkpoints / "metrics.jsonl").read_text()[:-100])
    (foreign / "chapters").mkdir(parents=True)
    (foreign / "chapters" / "one.txt").write_text("mine")
    (model / "checkpoints").mkdir(parents=True)
    (model / "checkpoints" / "weights.bin").write_text("mine")
    locked.mkdir()
    (locked / "lock").write_text("mine")
    before = files(tmp_path)
    assert launch.main(["-m", f"resume={tmp_path}"]) == 2
    assert capsys.readouterr().err.count("train.py: ") == 5
    assert {path: data for path, data in files(tmp_path).items() if path.name != "lock" or path.parent == locked} == {
        path: data for path, data in before.items() if path.name != "lock" or path.parent == locked
    }


def test_a_run_that_ended_before_its_configuration_was_written_is_begun_again(tmp_path):
    run = RunDirectory.create(tmp_path / "run")
    (tmp_path / "run" / "mine").write_text("mine")
    with pytest.raises(RunError, match="not empty"):
        RunDirectory.create(tmp_path / "run")
    run.close()
    (tmp_path / "run" / "mine").unlink()
    (tmp_path / "run" / ".config.yaml.17.tmp").write_text("half")
    RunDirectory.create(tmp_path / "run").close()
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"checkpoints", "networks", "games", "tb", "lock"}


def test_the_lock_is_never_somebody_elses_file(tmp_path):
    (tmp_path / "mine").write_text("mine")
    RunDirectory.create(tmp_path / "run").close()
    (tmp_path / "run" / "lock").unlink()
    (tmp_path / "run" / "lock").symlink_to(tmp_path / "mine")
    for way in (RunDirectory.create, RunDirectory.open):
        with pytest.raises(RunError):
            way(tmp_path / "run")
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_run_that_fails_does_not_stop_the_others(tmp_path):
    made = sweep.create(["experiment=tiny", "seed=1,2,3", f"run_dir={tmp_path}"])
    statuses, told = iter((2, 0, 1)), []
    assert sweep.make_runs(made, lambda words, path: next(statuses), told.append) == 2
    assert f"damas compare {tmp_path}" in told[-2] and "Some of them failed" in told[-1]
    assert sweep.make_runs(made, lambda words, path: 0, told.append) == 0


def test_runs_of_a_sweep_are_those_that_are_made_alone(tmp_path, capsys):
    words = ["experiment=tiny", "iterations=1", "trainer.positions_per_iteration=64", "arena.ladder=[random]"]
    assert launch.main([*words, "seed=2", f"run_dir={tmp_path / 'alone'}"]) == 0
    folder = tmp_path / "sweep"
    assert launch.main(["-m", *words, "seed=1,2", f"run_dir={folder}"]) == 0
    assert f"damas compare {folder}" in capsys.readouterr().out
    runs = [read_run(path) for path in find_runs(folder)]
    assert [(run.name, run.state, run.seed) for run in runs] == [
        ("1-seed-1", "finished", 1),
        ("2-seed-2", "finished", 2),
    ]
    assert runs[1].words == [*words, "seed=2"]

    def iterations(path):
        return [{**event, "time": None} for event in read_metrics(path / "metrics.jsonl")]

    assert iterations(folder / "2-seed-2") == iterations(tmp_path / "alone") != iterations(folder / "1-seed-1")
    shutil.rmtree(folder / "1-seed-1" / "checkpoints")
    before = json.dumps(iterations(folder / "2-seed-2"))
    assert launch.main(["-m", f"resume={folder}"]) == 0  # both are finished, so nothing is done
    assert capsys.readouterr().out.count("It is finished") == 2
    assert json.dumps(iterations(folder / "2-seed-2")) == before
    assert Path(folder / "1-seed-1").is_dir()
