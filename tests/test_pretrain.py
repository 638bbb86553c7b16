"""Learning from a database of games before self-play: that it learns, goes on where it was stopped, is done once."""

import os
import signal
from pathlib import Path

import pytest
import torch

from damas_env.rules import get_rules
from damas_rl import launch, pretrain
from damas_rl.checkpoint import load_newest
from damas_rl.config import RunConfig
from damas_rl.database import load_records, save_records, to_records
from damas_rl.learner import Learner, LearnerConfig
from damas_rl.metrics import read_metrics
from damas_rl.networks import NetworkConfig, build_network
from damas_rl.pretrain import PretrainConfig, parts, steps_of
from damas_rl.reports.run_page import time_spent
from damas_rl.runs import read_run
from damas_rl.strict import build
from test_checkpoint import same
from test_database import database
from test_trainer import learned

CBD = get_rules("cbd")
TINY = NetworkConfig(width=16, blocks=1, local=4, pair=4, value_width=8)


@pytest.fixture(scope="module")
def records(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("records") / "games.npz"
    save_records(path, to_records(database(12)), CBD)
    return path


def learner() -> Learner:
    torch.manual_seed(1)
    return Learner(build_network(TINY, CBD), LearnerConfig(batch_size=32, warmup_steps=5), "cpu", 1)


def test_steps_are_counted_in_epochs(records: Path) -> None:
    buffer = load_records(records, CBD)
    assert steps_of(PretrainConfig("x", 2.0), buffer, 32) == round(2 * len(buffer) / 32)
    assert steps_of(PretrainConfig("x", 0.001), buffer, 1 << 20) == 1
    with pytest.raises(ValueError, match=r"pretrain\.epochs=0"):
        PretrainConfig("x", 0.0)


def test_it_learns_and_goes_on_as_if_nothing_had_happened(records: Path, monkeypatch) -> None:
    monkeypatch.setattr(pretrain, "STEPS_AT_ONCE", 20)
    buffer = load_records(records, CBD)
    whole, broken = learner(), learner()
    losses = [figures["policy_loss"] for figures in parts(whole, buffer, 90, 0, seed=3)]
    assert len(losses) == 5 and losses[-1] < losses[0] - 0.05 and whole.steps == 90
    for count, _ in enumerate(parts(broken, buffer, 90, 0, seed=3), 1):
        if count == 2:
            break
    resumed = learner()
    resumed.load_state_dict(broken.state_dict())
    list(parts(resumed, load_records(records, CBD), 90, 40, seed=3))
    assert same(resumed.state_dict(), whole.state_dict())


def words(records: Path, run: Path, *more: str) -> list[str]:
    return ["experiment=tiny", f"pretrain.records={records}", "pretrain.epochs=2", f"run_dir={run}", *more]


def test_a_run_stopped_while_pre_training_equals_an_undisturbed_one(records: Path, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pretrain, "STEPS_AT_ONCE", 10)
    assert launch.main(words(records, tmp_path / "whole", "iterations=1")) == 0
    events = [event for event in read_metrics(tmp_path / "whole" / "metrics.jsonl") if event["kind"] == "pretrain"]
    steps = steps_of(PretrainConfig("x", 2.0), load_records(records, CBD), 32)
    assert [event["steps"] for event in events] == [steps] and steps > 20
    assert 0 < events[0]["pretrain"]["policy_accuracy"] <= 1
    assert events[0]["time"].keys() == {"pretraining", "samples_per_second"}
    assert events[0]["time"]["pretraining"] > 0
    assert time_spent(read_run(tmp_path / "whole"))["pre-training"] == events[0]["time"]["pretraining"]

    def stopped(*arguments):
        for count, figures in enumerate(parts(*arguments), 1):
            if count == 2:
                os.kill(os.getpid(), signal.SIGINT)
            yield figures

    with monkeypatch.context() as patch:
        patch.setattr(pretrain, "parts", stopped)
        assert launch.main(words(records, tmp_path / "stopped", "iterations=1")) == 128 + signal.SIGINT
    assert learned(tmp_path / "stopped")["counts"]["pretrained"] == 20
    assert launch.main([f"resume={tmp_path / 'stopped'}"]) == 0
    assert same(learned(tmp_path / "stopped"), learned(tmp_path / "whole"))


def test_it_is_done_once(records: Path, tmp_path) -> None:
    copy = tmp_path / "copy.npz"
    copy.write_bytes(records.read_bytes())
    run = tmp_path / "run"
    assert launch.main(words(copy, run, "iterations=1")) == 0
    before = learned(run)["counts"]
    copy.unlink()  # nobody asks for it again
    assert launch.main([f"resume={run}", "iterations=2"]) == 0
    after = learned(run)["counts"]
    assert after["pretrained"] == before["pretrained"] > 0 and not after["pretraining"] and after["iteration"] == 2
    assert [event["kind"] for event in read_metrics(run / "metrics.jsonl")].count("pretrain") == 1


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("pretrain.records=/no/such/file", "/no/such/file could not be read: no such file"),
        ("pretrain.records=README.md", "is no file of training records"),
        ("pretrain.epochs=0", "pretrain.epochs=0"),
        ("pretrain.epoch=1", "pretrain.epochs"),
        ("selfplay.openings=/no/such/file", "The openings /no/such/file could not be read"),
        ("arena.openings=/no/such/file", "The openings /no/such/file could not be read"),
        ("selfplay.openings=LICENSE", "LICENSE, line "),
    ],
)
def test_what_cannot_be_used_is_refused_before_a_run_begins(tmp_path, capsys, monkeypatch, override, expected) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    assert launch.main(["experiment=tiny", override, f"run_dir={tmp_path / 'run'}"]) == 2
    err = capsys.readouterr().err
    assert expected in err and err.count("\n") == 1 and not (tmp_path / "run").exists()


def test_records_of_another_game_are_refused(tmp_path, capsys) -> None:
    path = tmp_path / "r.npz"
    save_records(path, to_records(database(1)), get_rules("russian"))
    assert launch.main(words(path, tmp_path / "run")) == 2
    assert "rules='russian', but here it is 'cbd'" in capsys.readouterr().err


def test_openings_of_a_run_are_those_of_its_files(tmp_path, capsys) -> None:
    book = tmp_path / "book.txt"
    book.write_text("W:W21,22,23,24:B5,6,7,8\n")
    run = tmp_path / "run"
    files = [f"selfplay.openings={book}", f"arena.openings={book}", "selfplay.random_plies=0"]
    assert launch.main(["experiment=tiny", "iterations=1", f"run_dir={run}", *files]) == 0
    (pdn,) = (run / "games").glob("*.pdn")
    text = pdn.read_text()
    assert text.count('[FEN "W:W') == text.count("[Event ") > 0
    assert launch.main([f"resume={run}", "pretrain.records=x"]) == 2
    assert "pretrain.records cannot be changed" in capsys.readouterr().err


def test_files_named_relatively_are_found_from_another_folder(tmp_path, monkeypatch, capsys) -> None:
    first, other = tmp_path / "first", tmp_path / "other"
    for folder in (first, other):
        folder.mkdir()
        (folder / "book.txt").write_text("W:W21,22,23,24:B5,6,7,8\n")
    save_records(first / "games.npz", to_records(database(3)), CBD)
    monkeypatch.chdir(first)
    files = ["pretrain.records=games.npz", "selfplay.openings=book.txt", "arena.openings=book.txt"]
    run = tmp_path / "run"
    assert launch.main(["experiment=tiny", "iterations=1", f"run_dir={run}", *files]) == 0
    config = build(RunConfig, load_newest(run / "checkpoints")[0]["config"])
    assert config.pretrain.records == str(first / "games.npz")
    assert config.selfplay.openings == config.arena.openings == str(first / "book.txt")
    (other / "book.txt").unlink()
    monkeypatch.chdir(other)
    assert launch.main([f"resume={run}", "iterations=2"]) == 0
    (other / "mine.txt").write_text("c3-d4\n")
    assert launch.main([f"resume={run}", "iterations=3", "arena.openings=mine.txt"]) == 0
    assert launch.main([f"resume={run}", "iterations=4", "arena.openings=book.txt"]) == 2
    assert "The openings book.txt could not be read: no such file" in capsys.readouterr().err
    monkeypatch.chdir(first)
    assert launch.main([f"resume={run}", "iterations=4"]) == 0
    config = build(RunConfig, load_newest(run / "checkpoints")[0]["config"])
    assert config.arena.openings == str(other / "mine.txt")
