"""Self-play by actors: a crew that members join and leave, without Ray and, where it is installed, with it."""

import dataclasses
import sys
import types
from collections import deque

import numpy as np
import pytest

from damas_env.rules import get_rules
from damas_rl import compose, launch
from damas_rl.checkpoint import load_newest
from damas_rl.cluster import source
from damas_rl.cluster.actor import Actor, Setup
from damas_rl.cluster.config import ClusterConfig
from damas_rl.cluster.crew import ActorLostError, Crew
from damas_rl.cluster.source import game_source
from damas_rl.metrics import read_metrics
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.rundir import RunError
from damas_rl.search.mcts import SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayConfig

RULES = get_rules("cbd")
NETWORK = NetworkConfig(width=16, blocks=1, local=4, pair=4, value_width=8)
GAMES = SelfPlayConfig(games=8, groups=1, simulations=2, random_plies=4)
SETUP = Setup(RULES, NETWORK, GAMES, SearchConfig(), "float32", seed=1, threads=1, steps=20)
PLIES = SETUP.steps * GAMES.games
"""Searched plies of one delivery."""


class Fake:
    """Machines within this process: an actor plays when its delivery is taken; the one that waited longest is first."""

    def __init__(self, setup=SETUP, room=1):
        self.setup, self.places, self.lost, self.closed = setup, room, set(), False
        self.numbers, self.queue = [], deque()

    def room(self):
        return {"cpu": self.places}

    def start(self, number, device):
        self.numbers.append(number)
        return Actor(self.setup, number, device)

    def publish(self, weights):
        return {name: array.copy() for name, array in weights.items()}

    def order(self, actor, weights, version):
        ticket = object()
        self.queue.append((ticket, actor, weights, version))
        return ticket

    def delivered(self, tickets, seconds):
        return next((order[0] for order in self.queue if order[0] in tickets), None)

    def take(self, ticket):
        order = next(order for order in self.queue if order[0] is ticket)
        self.queue.remove(order)
        if order[1] in self.lost:
            raise ActorLostError("its machine burns")
        return order[1].play(*order[2:])

    def dismiss(self, actor):
        self.lost.add(actor)

    def close(self):
        self.closed = True


def crew_of(machines, stop=False, said=None, **keys):
    say = (lambda text: None) if said is None else said.append
    return Crew(ClusterConfig(kind="ray", **keys), lambda: machines, None, stop, say)


@pytest.fixture(scope="module")
def evaluator():
    return Evaluator(build_network(NETWORK, RULES), "cpu", "float32")


@pytest.fixture(autouse=True)
def look_at_once(monkeypatch):
    monkeypatch.setattr("damas_rl.cluster.crew._LOOK_SECONDS", 0.0)


def test_a_crew_collects_what_its_actors_play(evaluator):
    machines, heard = Fake(room=2), []
    crew = crew_of(machines)
    batch = crew.run(evaluator, 5 * PLIES, heard.append)
    assert heard == [PLIES] * 5 and machines.numbers == [0, 1]
    assert batch.plies >= 5 * PLIES and len(batch.games) > 5
    assert sum(game.plies for game in batch.games) <= batch.plies
    assert len(batch.records.z) > 0 and np.isfinite(batch.records.policy).all()
    assert batch.search.evaluations > 0 and batch.seconds > 0
    stats = batch.stats()
    assert stats["actors"] == 2 and stats["lost_actors"] == stats["weights_lag"] == 0
    crew.close()
    assert machines.closed


def test_actors_play_with_the_published_weights(evaluator):
    """Their network computes what the learner's evaluator computes, bit for bit on equal machines."""
    actor = Actor(SETUP, 0, "cpu")
    actor.play(evaluator.weights(), 1)
    boards, features = np.zeros((3, 4), np.uint64), np.zeros((3, 6), np.float32)
    boards[:, 0], boards[:, 2] = 1, 1 << 20
    asked = boards, features
    for ours, theirs in zip(evaluator.evaluate(*asked), actor._evaluator.evaluate(*asked), strict=True):
        assert (ours == theirs).all()
    other = Evaluator(build_network(NETWORK, RULES), "cpu", "bfloat16")
    actor.play(other.weights(), 2)
    assert (actor._evaluator.evaluate(boards, features)[0] != evaluator.evaluate(boards, features)[0]).any()
    again = Evaluator(actor._network, "cpu", "bfloat16")
    for ours, theirs in zip(other.evaluate(*asked), again.evaluate(*asked), strict=True):
        assert (ours == theirs).all()


def test_every_actor_has_a_random_stream_of_its_own(evaluator):
    weights, setup = evaluator.weights(), dataclasses.replace(SETUP, steps=60)
    batches = [Actor(setup, number, "cpu").play(weights, 1).batch for number in (0, 1, 0)]
    batches.append(Actor(dataclasses.replace(setup, seed=2), 0, "cpu").play(weights, 1).batch)
    first, second, again, other_seed = ({game.actions[:12] for game in batch.games} for batch in batches)
    assert first and first == again
    assert not first & second and not first & other_seed and not second & other_seed


def test_a_lost_actor_is_replaced(evaluator):
    machines, said = Fake(room=2), []
    crew = crew_of(machines, said=said)
    crew.run(evaluator, 2 * PLIES)
    machines.lost.add(machines.queue[0][1])
    batch = crew.run(evaluator, 4 * PLIES)
    assert machines.numbers == [0, 1, 2]
    assert batch.extra["lost_actors"] == 1 and batch.extra["actors"] == 2
    assert said == ["Actors started: 2; there are 2 now.", "An actor is lost: its machine burns",
                    "Actors started: 1; there are 2 now."]  # fmt: skip
    assert len(crew._tickets) == 4 and crew.state_dict() == {"actors": 3}


def test_actors_join_and_leave_while_it_runs(evaluator):
    machines = Fake(room=0)
    said, waited = [], []

    def heard(plies):
        if not plies:
            waited.append(1)
            machines.places = 1 if len(waited) == 3 else 0

    crew = crew_of(machines, said=said, cpus=3)
    crew.run(evaluator, PLIES, heard)
    assert len(waited) == 3 and machines.numbers == [0]
    assert said[0] == "No machine has room for an actor (cluster.cpus=3); waiting for one to join."
    machines.places = 3
    assert crew.run(evaluator, 6 * PLIES).extra["actors"] == 3
    machines.places = 1
    machines.lost = {order[1] for order in machines.queue if order[1]._number > 0}
    batch = crew.run(evaluator, 3 * PLIES)
    assert batch.extra["lost_actors"] == 2 and machines.numbers == [0, 1, 2]


def test_no_more_actors_than_wanted(evaluator):
    machines = Fake(room=9)
    crew_of(machines, actors=2).run(evaluator, 4 * PLIES)
    assert machines.numbers == [0, 1]


def test_weights_are_not_older_than_allowed(evaluator):
    """Both orders that wait have been given with older weights than those of the next call."""
    machines = Fake()
    crew = crew_of(machines)
    assert crew.run(evaluator, PLIES).extra["largest_lag"] == 0
    later = crew.run(evaluator, 4 * PLIES)
    assert later.extra["largest_lag"] == 1 and later.extra["weights_lag"] == 0.5
    strict = crew_of(Fake(), most_lag=0)
    strict.run(evaluator, PLIES)
    batch = strict.run(evaluator, PLIES)
    assert batch.extra["stale_deliveries"] == 2 and batch.extra["largest_lag"] == 0
    assert batch.search.evaluations < 2 * PLIES * GAMES.simulations  # nothing of those two


def test_actors_that_never_play_end_the_run(evaluator):
    class Burning(Fake):
        def start(self, number, device):
            actor = super().start(number, device)
            self.lost.add(actor)
            return actor

    machines = Burning(room=2)
    with pytest.raises(RunError, match="before they have played a game: its machine burns"):
        crew_of(machines).run(evaluator, PLIES)
    assert len(machines.numbers) <= 8


def test_what_goes_wrong_within_an_actor_is_told(evaluator):
    setup = dataclasses.replace(SETUP, versions=("0.0.1", 1, 1))
    with pytest.raises(ValueError, match=r"An actor's machine has version .* of damas-rl, the learner \('0.0.1'"):
        crew_of(Fake(setup)).run(evaluator, PLIES)


def test_a_wish_to_stop_is_obeyed_at_once(evaluator):
    machines = Fake()
    batch = crew_of(machines, stop=True).run(evaluator, PLIES)
    assert not batch.plies and not len(batch.records.z) and batch.stats()["actors"] == 0


def test_without_ray_there_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(source, "find_spec", lambda name: None)
    assert launch.main(["experiment=tiny", "cluster=ray", f"run_dir={tmp_path / 'run'}"]) == 2
    err = capsys.readouterr().err
    assert "pip install 'damas-rl[ray]'" in err and err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_plain_path_loads_nothing_of_a_cluster(monkeypatch):
    monkeypatch.setitem(sys.modules, "damas_rl.cluster.crew", None)  # importing it fails
    config = compose.load(["experiment=tiny", "selfplay.tablebase=0", "trainer.endgame_share=0"])
    assert type(game_source(config, RULES, 1, False, print)) is SelfPlay
    with pytest.raises(ImportError):
        game_source(compose.override(config, ["cluster.kind=ray"]), RULES, 1, False, print)


def test_a_run_goes_on_with_and_without_actors(tmp_path, monkeypatch):
    """The whole loop with actors within this process, then without them, then with them again."""
    run, made = tmp_path / "run", []

    def connect(config, setup, device):
        made.append(Fake(setup, room=2))
        return made[-1]

    monkeypatch.setattr(source, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "damas_rl.cluster.ray_machines", types.SimpleNamespace(RayMachines=connect))

    def train(*words):
        assert launch.main([*words]) == 0
        return load_newest(run / "checkpoints")[0]

    short = ("arena.ladder=[random]", "selfplay.tablebase=0", "trainer.endgame_share=0", "trainer.evaluate_minutes=60")
    content = train("experiment=tiny", "cluster=ray", "iterations=2", *short, f"run_dir={run}")
    assert content["selfplay"] == {"actors": 2} and made[0].numbers == [0, 1] and made[0].closed
    content = train(f"resume={run}", "iterations=3")
    assert content["selfplay"] == {"actors": 4} and made[1].numbers == [2, 3]
    content = train(f"resume={run}", "iterations=4", "cluster=none")
    assert len(content["selfplay"]["groups"]) == 2 and len(made) == 2
    content = train(f"resume={run}", "iterations=5", "cluster=ray")
    assert content["selfplay"] == {"actors": 2} and content["counts"]["iteration"] == 5
    events = [event for event in read_metrics(run / "metrics.jsonl") if event["kind"] == "iteration"]
    assert [event["iteration"] for event in events] == [1, 2, 3, 4, 5]
    assert ["actors" in event["selfplay"] for event in events] == [True, True, True, False, True]
    assert all(event["total"]["positions"] >= 640 * event["iteration"] for event in events)


def test_new_weights_wait_for_as_many_deliveries_as_there_are_actors(evaluator):
    machines = Fake(room=3)
    crew = crew_of(machines)
    crew.run(evaluator, 6 * PLIES)
    for _ in range(4):
        heard: list[int] = []
        batch = crew.run(evaluator, 1, heard.append)
        assert heard == [PLIES] * 3 and batch.extra["largest_lag"] <= 2
