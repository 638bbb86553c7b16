"""A run with Ray itself, where it is installed: loopback alone, an actor killed, the learner killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from damas_rl.checkpoint import load_newest
from damas_rl.cluster.config import ClusterConfig
from damas_rl.metrics import read_metrics
from damas_rl.rundir import RunError
from test_cluster import SETUP

pytest.importorskip("ray")
ROOT = Path(__file__).parents[1]
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
TINY = ("experiment=tiny", "selfplay.tablebase=0", "trainer.endgame_share=0", "trainer.evaluate_minutes=60")


def below(pid):
    """A process, and all that it and these have started."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from below(int(child))


def until(happened, seconds=400):
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def listening(pids):
    """Addresses on which processes wait for TCP connections, as the system writes them."""
    sockets = set()
    for pid in pids:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets.add(os.readlink(entry))
            except OSError:
                continue
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                yield words[1].partition(":")[0]


def iterations(run):
    path = run / "metrics.jsonl"
    events = read_metrics(path) if path.exists() else ()
    return [event for event in events if event["kind"] == "iteration"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes as Linux shows them")
@pytest.mark.timeout(1200)
def test_a_run_survives_the_loss_of_an_actor_and_of_its_learner(tmp_path):
    run, text = tmp_path / "run", tmp_path / "text"

    def started(*words):
        with open(text, "a") as log:
            return subprocess.Popen([sys.executable, str(ROOT / "train.py"), *words], stdout=log, stderr=log)

    process = started(*TINY, "cluster=ray", "cluster.actors=2", "iterations=1000", f"run_dir={run}")
    try:
        until(lambda: len(iterations(run)) >= 2)
        pids = list(below(process.pid))
        addresses = set(listening(pids))
        assert addresses and addresses <= LOOPBACK
        actors = [pid for pid in pids if b"ray::Actor" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(actors[0], signal.SIGKILL)
        until(lambda: any(event["selfplay"]["lost_actors"] for event in iterations(run)))
        reached = len(iterations(run))
        until(lambda: len(iterations(run)) > reached)
        pids = list(below(process.pid))
    finally:
        process.kill()
        process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    assert "An actor is lost: " in text.read_text() and "Traceback" not in text.read_text()
    kept = load_newest(run / "checkpoints")[0]
    reached = kept["counts"]["iteration"]
    process = started(f"resume={run}", f"iterations={reached + 1}")
    try:
        assert process.wait(400) == 0, text.read_text()
    finally:
        process.kill()
        process.wait()
    content = load_newest(run / "checkpoints")[0]
    assert content["counts"]["iteration"] == reached + 1
    assert content["selfplay"]["actors"] > kept["selfplay"]["actors"] >= 1
    assert [event["iteration"] for event in iterations(run)] == list(range(1, reached + 2))


def test_room_on_machines(monkeypatch):
    """An actor for each GPU that has its cores; elsewhere one for so many cores; none on machines that are gone."""
    from damas_rl.cluster import ray_machines

    monkeypatch.setattr(ray_machines, "_connect", lambda address: None)
    monkeypatch.setattr(ray_machines.ray, "put", lambda setup: None)
    nodes = [
        {"Alive": True, "Resources": {"CPU": 64.0, "GPU": 4.0}},
        {"Alive": True, "Resources": {"CPU": 9.0, "GPU": 2.0}},
        {"Alive": True, "Resources": {"CPU": 30.0}},
        {"Alive": True, "Resources": {}},
        {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 4.0}},
    ]
    monkeypatch.setattr(ray_machines.ray, "nodes", lambda: nodes)

    def room(device):
        return dict(ray_machines.RayMachines(ClusterConfig(kind="ray", cpus=8), SETUP, device).room())

    assert room("auto") == {"cuda": 5, "cpu": 3}
    assert room("cpu") == {"cpu": 8 + 1 + 3}
    assert room("cuda") == {"cuda": 5}


def test_a_cluster_that_is_not_there_is_one_sentence(monkeypatch):
    from damas_rl.cluster import ray_machines

    def refused(**options):
        raise ConnectionError("Could not find any running Ray instance.\nMore lines of Ray's own.")

    monkeypatch.setattr(ray_machines.ray, "init", refused)
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(
        RunError, match=r"^Cannot use the Ray cluster at auto: Could not find any running Ray instance.$"
    ):
        ray_machines.RayMachines(ClusterConfig(kind="ray", address="auto"), SETUP, "cpu")
    assert signal.getsignal(signal.SIGTERM) is handler
