"""Two processes that learn together, on a CPU: what one alone would learn, going on, a process that is gone."""

import copy
import pickle
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from damas_rl import launch
from damas_rl.learner import LearnerConfig, TrainingError
from damas_rl.metrics import read_metrics
from learning_cases import random_records
from test_learner import CBD, buffer_of, learner_of, rng, same_weights, with_changes

TOGETHER = with_changes(processes=2, cooldown=0.6)
TINY = ("experiment=tiny", "selfplay.tablebase=0", "trainer.endgame_share=0", "arena.ladder=[random]")


@pytest.fixture
def learners():
    """Makes learners whose processes end with the test."""
    made = []

    def make(**options):
        made.append(learner_of(**options))
        return made[-1]

    yield make
    for learner in made:
        learner.close()


def weights_of(learner):
    return torch.cat([weights.detach().reshape(-1) for weights in learner.net.parameters()])


def follower_of(learner):
    return learner._team._followers[0]


def test_two_processes_learn_what_one_does_and_go_on_bit_for_bit(learners):
    records = random_records(CBD, 256)
    records.weight[:] = np.linspace(0.1, 4.0, 256, dtype=np.float32)  # the halves of a batch do not weigh the same
    records.policy[::3] = 0.0  # nor have they equally many targets
    alone, pair, draws = learners(config=with_changes(cooldown=0.6)), learners(config=TOGETHER), rng()
    fresh = weights_of(alone)
    with torch.no_grad():
        for learner in (alone, pair):
            learner.net.value.bias.add_(0.5)  # which the other process cannot know by itself
    alone.done = pair.done = 0.7  # so that the rate falls, by half
    expected, found = alone.train(buffer_of(records), rng(), 6), pair.train(buffer_of(records), draws, 6)
    assert (weights_of(alone) - fresh).abs().max() > 1e-3
    torch.testing.assert_close(weights_of(pair), weights_of(alone), rtol=1e-3, atol=1e-4)
    for name in expected.keys() - {"samples_per_second"}:
        assert found[name] == pytest.approx(expected[name], rel=1e-3), name

    follower, state, drawn = follower_of(pair), pair.state_dict(), copy.deepcopy(draws)
    pair.train(buffer_of(records), draws, 3)
    assert follower_of(pair) is follower
    pair.close()
    assert follower.returncode == 0
    again = learners(config=TOGETHER, seed=9)
    again.load_state_dict(state)
    again.done = pair.done
    again.train(buffer_of(records), drawn, 3)
    assert same_weights(again, pair)


def test_a_process_that_is_gone_ends_learning_with_one_sentence(learners):
    pair, buffer = learners(config=TOGETHER), buffer_of(random_records(CBD, 64))
    pair.train(buffer, rng(), 1)
    follower_of(pair).kill()
    with pytest.raises(ChildProcessError, match=r"a process that learns with this one has ended \(-9\)"):
        pair.train(buffer, rng(), 2)


def test_both_refuse_what_only_one_of_them_sees(learners, capfd):
    """A loss that is not finite in the follower's half; the leader says so, the follower ends without a word."""
    pair, records = learners(config=TOGETHER), random_records(CBD, 64)
    buffer = buffer_of(records)
    pair.train(buffer, rng(), 1)
    kept, follower = weights_of(pair), follower_of(pair)
    share = pair._team.share

    def poisoned(arrays, done):
        arrays["features"][-1] = np.nan
        return share(arrays, done)

    pair._team.share = poisoned
    with pytest.raises(TrainingError, match="Learning stopped at step 2: the policy loss is not finite"):
        pair.train(buffer, rng(), 1)
    assert torch.equal(weights_of(pair), kept)
    pair.close()
    assert follower.returncode == 0 and not capfd.readouterr().err


def test_a_follower_says_nothing_when_its_leader_is_gone_while_it_writes(learners, capfd):
    pair = learners(config=TOGETHER)
    pair.train(buffer_of(random_records(CBD, 64)), rng(), 1)
    follower = follower_of(pair)
    follower.stdin.write(pickle.dumps({"boards": np.zeros((64, 4), np.int64)})[:-9])
    pair.close()
    assert follower.returncode == 0 and not capfd.readouterr().err


def test_a_batch_must_be_divided_evenly():
    with pytest.raises(ValueError, match=r"learner.batch_size=33 must be a multiple of learner.processes=2"):
        LearnerConfig(batch_size=33, processes=2)


def test_every_process_needs_a_gpu_of_its_own(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("damas_rl.learner.choose_device", lambda device: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    sentence = "learner.processes=2 needs as many GPUs, and torch finds 1; choose fewer, or device=cpu."
    with pytest.raises(ValueError, match=sentence):
        learner_of(config=TOGETHER)
    run = tmp_path / "run"
    assert launch.main([*TINY, "learner.processes=2", f"run_dir={run}"]) == 2
    assert sentence in capsys.readouterr().err and not run.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
def test_a_run_with_two_processes_is_killed_and_goes_on(tmp_path):
    """No process is left behind by a leader that is killed, and the run goes on with two again, then with one."""
    run = tmp_path / "run"
    train = [sys.executable, str(Path(__file__).parents[1] / "train.py")]
    words = [*TINY, "trainer.evaluate_minutes=60", "learner.processes=2", "iterations=1000", f"run_dir={run}"]
    process = subprocess.Popen([*train, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 250
        while not [path for path in run.glob("checkpoints/ckpt-*.pt") if path.name >= "ckpt-0000002.pt"]:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
    finally:
        process.kill()
        _, errors = process.communicate()  # returns once the follower, which has the same stderr, has ended
    assert not errors
    deadline = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    reached = max(event["iteration"] for event in read_metrics(run / "metrics.jsonl"))
    assert launch.main([f"resume={run}", f"iterations={reached + 1}"]) == 0
    assert launch.main([f"resume={run}", f"iterations={reached + 2}", "learner.processes=1"]) == 0
    events = [event for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "iteration"]
    assert [event["iteration"] for event in events] == list(range(1, reached + 3))
    assert events[-1]["learner"]["steps"] > events[-2]["learner"]["steps"] > events[-3]["learner"]["steps"]
