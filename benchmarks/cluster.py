"""Training by several processes on this machine: throughput, and what becomes of a run that is disturbed.

    python benchmarks/cluster.py [PART ...] [--seconds S] [--rounds N] [--json FILE] [--page FILE]

Needs Ray (pip install 'damas-rl[ray]'), but for ``together``; everything listens on the loopback interface alone.
Without names of parts all of them run:

* throughput: plies per second of self-play with one core and with two, in this process and by actors;
* elastic: a cluster of several nodes; an actor is killed and replaced, a node joins, a node leaves;
* learner: a training run whose learner is killed (SIGKILL) and resumed;
* together: positions per second of one process that learns, and of two that learn together;
* scale: what a delivery and new weights cost the learner, and from that a simulation of larger clusters.
"""

import argparse
import heapq
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # else Ray's nodes do not stay on the loopback interface
os.environ.setdefault("RAY_worker_niceness", "0")  # else actors yield to all other work (nice 15)

import numpy as np
from common import HERE, below, command_of, paste, save, until

from damas_env.rules import get_rules
from damas_rl import compose
from damas_rl.checkpoint import numbered
from damas_rl.cluster.crew import ORDERS
from damas_rl.cluster.source import LOOPBACK, game_source
from damas_rl.config import RunConfig
from damas_rl.learner import Learner
from damas_rl.metrics import read_metrics
from damas_rl.networks import Evaluator, build_network
from damas_rl.replay import ReplayBuffer

PARTS = ("throughput", "elastic", "learner", "together", "scale")


def configured(*words: str) -> RunConfig:
    """The quick experiment on CPUs, with changes."""
    return compose.load(["experiment=quick", "device=cpu", *words])


def source_of(config: RunConfig) -> Any:
    return closing(game_source(config, get_rules(config.rules.name), 1, False, lambda text: None))


def evaluator_of(config: RunConfig) -> Evaluator:
    return Evaluator(build_network(config.network, get_rules(config.rules.name)), "cpu", config.precision)


def actors_below(pid: int) -> list[int]:
    """The actors among them."""
    return [child for child in below(pid) if "ray::Actor" in command_of(child)]


def cpu_seconds() -> float:
    """Processor time of this process and of its actors so far; what Ray does besides needs none of theirs."""
    return time.process_time() + cpu_seconds_of(actors_below(os.getpid()))


def cpu_seconds_of(pids: Iterable[int]) -> float:
    """Processor time of other processes, as far as they are still there."""
    total = 0.0
    for pid in pids:
        try:
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    return total


def throughput(seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Self-play with one core and with two; without and with actors in turn, so that other work meets both."""
    sums: dict[str, list[float]] = {}

    def measured(who: str, source: Any, clock: Callable[[], float]) -> None:
        """Adds plies, evaluations, seconds and seconds of processor time."""
        started, before = time.perf_counter(), clock()
        plies = evaluations = 0
        while time.perf_counter() - started < seconds:
            batch = source.run(evaluator, games)
            plies, evaluations = plies + batch.plies, evaluations + batch.search.evaluations
        figures = plies, evaluations, time.perf_counter() - started, clock() - before
        sums[who] = [old + new for old, new in zip(sums.get(who, [0.0] * 4), figures, strict=True)]

    config = configured("cluster=ray", "cluster.actors=1")
    games, evaluator = config.selfplay.games, evaluator_of(config)
    with source_of(config) as crew:
        for cores in (1, 2):
            crew.config = replace(config.cluster, actors=cores)
            with source_of(configured(f"selfplay.threads={cores}")) as plain:
                plain.run(evaluator, games)
                while crew.run(evaluator, games).extra["actors"] < cores:
                    pass
                for _ in range(rounds):
                    measured(f"{cores} actor{'s' * (cores > 1)}", crew, cpu_seconds)
                    measured(f"this process, {cores} thread{'s' * (cores > 1)}", plain, time.process_time)
                    crew.run(evaluator, ORDERS * config.cluster.steps * games * cores)  # what they played meanwhile
    return [
        {"who": who, "plies_per_second": plies / spent, "plies_per_cpu_second": plies / cpu,
         "evaluations_per_second": evaluations / spent, "cores_used": cpu / spent}
        for who, (plies, evaluations, spent, cpu) in sums.items()
    ]  # fmt: skip


def elastic(seconds: float) -> list[dict[str, Any]]:
    """What happens to a crew on a cluster of a head and two nodes with a core each."""
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "node_ip_address": LOOPBACK}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(**node) for _ in range(2)]
    config = configured("cluster=ray", f'cluster.address="{cluster.address}"', "selfplay.games=256")
    evaluator, rows = evaluator_of(config), []
    try:
        with source_of(config) as crew:

            def plays(actors: int, lost: int = 0) -> tuple[float, float, float]:
                """Seconds until so many actors play and so many have been lost; their plies per second afterwards."""
                gone = 0.0

                def so_many_play() -> bool:
                    nonlocal gone
                    extra = crew.run(evaluator, 1).extra
                    gone += extra["lost_actors"]
                    return extra["actors"] == actors and gone >= lost

                waited, plies, spent = until(so_many_play, f"{actors} actors play"), 0.0, 0.0
                while spent < seconds:
                    batch = crew.run(evaluator, 4 * config.selfplay.games)
                    plies, spent, gone = plies + batch.plies, spent + batch.seconds, gone + batch.extra["lost_actors"]
                return waited, plies / spent, gone

            def note(event: str, actors: int, lost: int = 0) -> None:
                waited, rate, gone = plays(actors, lost)
                rows.append({"event": event, "actors": actors, "waited": waited, "rate": rate, "lost": gone})
                print(rows[-1], file=sys.stderr, flush=True)

            note("two nodes, an actor on each", 2)
            os.kill(actors_below(os.getpid())[0], signal.SIGKILL)
            note("one actor killed (SIGKILL)", 2, lost=1)
            nodes.append(cluster.add_node(**node))
            note("a third node joins", 3)
            cluster.remove_node(nodes[0], allow_graceful=False)
            note("the first node is killed with its actor", 2, lost=1)
    finally:
        cluster.shutdown()
    return rows


def learner() -> list[dict[str, Any]]:
    """A run of the smallest size whose learner is killed, and that goes on from its last checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"

        def started(*words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, str(HERE.parent / "train.py"), *words]
            return subprocess.Popen(command, stdout=subprocess.DEVNULL)

        def iterations() -> int:
            path = run / "metrics.jsonl"
            events = [event for event in read_metrics(path) if event["kind"] == "iteration"] if path.exists() else []
            return max((event["iteration"] for event in events), default=0)

        short = ["trainer.evaluate_minutes=60", "arena.ladder=[random]", "iterations=1000", f"run_dir={run}"]
        process = started("experiment=tiny", "cluster=ray", *short)

        first = until(lambda: iterations() >= 5, "five iterations are done")
        others = below(process.pid)
        process.kill()
        process.wait()

        gone = until(lambda: not any(Path(f"/proc/{other}").exists() for other in others), "all processes are gone")
        killed_at, kept = iterations(), int(numbered(run / "checkpoints")[-1].stem[5:])
        process = started(f"resume={run}", "iterations=1000")

        again = until(lambda: iterations() > killed_at, "the run goes on")
        process.send_signal(signal.SIGINT)
        process.wait()
        return [
            {"event": "started; 5 iterations done", "seconds": first, "iteration": 5},
            {"event": f"learner killed; its {len(others)} processes are gone", "seconds": gone, "iteration": killed_at},
            {"event": "last checkpoint", "seconds": None, "iteration": kept},
            {"event": "resumed; iterations go on", "seconds": again, "iteration": iterations()},
            {"event": f"Ctrl-C; exit status {process.returncode}", "seconds": None, "iteration": iterations()},
        ]


def together(seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Learning by one process with a thread, by one with two, and by two with one each; in turn."""
    config = configured("selfplay.games=32", "selfplay.simulations=4", "selfplay.fast_simulations=4")
    rules, size = get_rules(config.rules.name), config.learner.batch_size
    buffer, rng = ReplayBuffer(rules, config.replay), np.random.default_rng(0)
    with source_of(config) as selfplay:
        while len(buffer) < size:
            buffer.add(selfplay.run(evaluator_of(config), size).records)
    learners = {}
    for who, processes, threads in (("1 process, 1 thread", 1, 1), ("1 process, 2 threads", 1, 2),
                                    ("2 processes, 1 thread each", 2, 1)):  # fmt: skip
        settings = replace(config.learner, processes=processes)
        learners[who] = Learner(build_network(config.network, rules), settings, "cpu", threads)
        learners[who].train(buffer, rng, 2)
    sums = {who: [0.0] * 3 for who in learners}
    for _ in range(rounds):
        for who, learner in learners.items():
            # The others' processes have nothing to do meanwhile.
            started, before, steps = time.perf_counter(), time.process_time() + cpu_seconds_of(below(os.getpid())), 0
            while time.perf_counter() - started < seconds:
                learner.train(buffer, rng, 5)
                steps += 5
            used = time.process_time() + cpu_seconds_of(below(os.getpid())) - before
            figures = steps * size, time.perf_counter() - started, used
            sums[who] = [old + new for old, new in zip(sums[who], figures, strict=True)]
    for learner in learners.values():
        learner.close()
    return [
        {"who": who, "positions_per_second": positions / spent, "positions_per_cpu_second": positions / cpu,
         "cores_used": cpu / spent}
        for who, (positions, spent, cpu) in sums.items()
    ]  # fmt: skip


@dataclass(frozen=True)
class Costs:
    """What one thing takes, in seconds and bytes."""

    plies: int
    play: float
    take: float
    publish: float
    weights_bytes: int
    delivery_bytes: int
    samples_per_second: float


def costs(seconds: float) -> Costs:
    """Measured with one actor of one core, in processor time, so that other work on the machine counts for little."""
    config = configured("cluster=ray", "cluster.actors=1", "threads=1")
    rules, evaluator = get_rules(config.rules.name), evaluator_of(config)
    plies = config.cluster.steps * config.selfplay.games
    with source_of(config) as crew:
        crew.run(evaluator, ORDERS * plies)
        replay, size, count, here = ReplayBuffer(rules, config.replay), 0, 0, 0.0
        started, before = time.perf_counter(), cpu_seconds()
        while time.perf_counter() - started < seconds or len(replay) < config.learner.batch_size:
            begun = time.process_time()
            batch = crew.run(evaluator, plies)
            replay.add(batch.records)
            here += time.process_time() - begun
            size, count = max(size, len(pickle.dumps(batch))), count + 1
        play = (cpu_seconds() - before - here) / count
        begun = time.process_time()
        for _ in range(10):
            crew._machines.publish(evaluator.weights())
        publish = (time.process_time() - begun) / 10
    learner = Learner(build_network(config.network, rules), config.learner, "cpu", threads=1)
    begun = time.process_time()
    learner.train(replay, np.random.default_rng(0), 30)
    speed = 30 * config.learner.batch_size / (time.process_time() - begun)
    weights = sum(array.nbytes for array in evaluator.weights().values())
    return Costs(plies, play, max(0.0, here / count - publish), publish, weights, size, speed)


def simulate(
    actors: int, costs: Costs, target: int, replay_ratio: float, bits_per_second: float = 1e9, hours: float = 0.25
) -> dict[str, float]:
    """A cluster of so many actors, each on a machine of its own, and one learner.

    Everything takes what was measured, but an actor's time varies by a tenth; weights leave the learner's machine, and
    deliveries reach it, one after the other over its network. The learner learns from every searched ply
    ``replay_ratio`` times, in turn with collecting ``target`` of them, and a delivery for each actor.
    """
    chance, lags = random.Random(1), []
    free, versions = [0.0] * actors, [-1] * actors
    wire, now, version, total = 0.0, 0.0, 0, 0
    under_way: list[tuple[float, int, int]] = []

    def order(actor: int, when: float) -> None:
        nonlocal wire
        begin = max(when, free[actor])
        if versions[actor] != version:
            wire = max(wire, when) + 8 * costs.weights_bytes / bits_per_second
            begin, versions[actor] = max(begin, wire), version
        free[actor] = begin + costs.play * chance.uniform(0.9, 1.1)
        heapq.heappush(under_way, (free[actor], actor, version))

    for actor in range(actors):
        for _ in range(ORDERS):
            order(actor, 0.0)
    while now < 3600 * hours:
        version, now, got = version + 1, now + costs.publish, 0
        while got < max(target, actors * costs.plies):
            done, actor, made_with = heapq.heappop(under_way)
            now = max(now, done + 8 * costs.delivery_bytes / bits_per_second) + costs.take
            got += costs.plies
            lags.append(version - made_with)
            order(actor, now)
        spent = replay_ratio * got / costs.samples_per_second
        now, total = now + spent, total + got
    return {
        "rate": total / now, "busy": total / costs.plies * costs.play / (now * actors),
        "lag": sum(lags) / len(lags), "largest_lag": max(lags),
    }  # fmt: skip


def table(*rows: tuple[str, ...]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def shown_scale(measured: Costs) -> str:
    ratio = configured().trainer.replay_ratio
    words = (
        f"Measured: a delivery of {measured.plies:,} searched plies takes an actor of one core {measured.play:.2f} s "
        f"and the learner {1000 * measured.take:.1f} ms ({measured.delivery_bytes / 1e6:.2f} MB); new weights "
        f"({measured.weights_bytes / 1e6:.2f} MB) {1000 * measured.publish:.1f} ms; one core learns from "
        f"{measured.samples_per_second:,.0f} positions a second, from each {ratio:g} times. All in processor time."
    )
    head = ("actors", "plies/s without learning", "plies/s", "actors busy", "mean lag", "largest lag")
    rows = [(*head, "plies/s, learner 20 times as fast", "actors busy", "mean lag", "largest lag")]
    for actors in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        alone = simulate(actors, replace(measured, samples_per_second=1e12), 8192, ratio)
        faster = replace(measured, samples_per_second=20 * measured.samples_per_second)
        both = [simulate(actors, costs, 8192, ratio) for costs in (measured, faster)]
        shown = [
            (f"{one['rate']:,.0f}", f"{one['busy']:.0%}", f"{one['lag']:.1f}", f"{one['largest_lag']:.0f}")
            for one in both
        ]
        rows.append((str(actors), f"{alone['rate']:,.0f}", *shown[0], *shown[1]))
    return f"{words}\n\n{table(*rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; default all")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2, help="of the variants of throughput and together")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--page", type=Path, help="page into which the tables are put")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"load_before": os.getloadavg()}
    for part in arguments.parts or PARTS:
        if part == "throughput":
            figures[part] = throughput(arguments.seconds, arguments.rounds)
            shown = [
                (row["who"], f"{row['plies_per_second']:,.0f}", f"{row['evaluations_per_second']:,.0f}",
                 f"{row['cores_used']:.2f}", f"{row['plies_per_cpu_second']:,.0f}")
                for row in figures[part]
            ]  # fmt: skip
            text = table(("self-play by", "plies/s", "evaluations/s", "cores got", "plies per core-second"), *shown)
        elif part == "elastic":
            figures[part] = elastic(arguments.seconds)
            shown = [
                (row["event"], str(row["actors"]), f"{row['lost']:.0f}", f"{row['waited']:.1f}", f"{row['rate']:,.0f}")
                for row in figures[part]
            ]
            text = table(("event", "actors then", "lost", "seconds until they play", "plies/s"), *shown)
        elif part == "learner":
            figures[part] = learner()
            shown = [(row["event"], "" if row["seconds"] is None else f"{row['seconds']:.1f}", str(row["iteration"]))
                     for row in figures[part]]  # fmt: skip
            text = table(("event", "seconds", "iteration"), *shown)
        elif part == "together":
            figures[part] = together(arguments.seconds, arguments.rounds)
            shown = [
                (row["who"], f"{row['positions_per_second']:,.0f}", f"{row['cores_used']:.2f}",
                 f"{row['positions_per_cpu_second']:,.0f}")
                for row in figures[part]
            ]  # fmt: skip
            text = table(("learning by", "positions/s", "cores got", "positions per core-second"), *shown)
        elif part == "scale":
            measured = costs(arguments.seconds)
            figures[part] = asdict(measured)
            text = shown_scale(measured)
        else:
            raise SystemExit(f"There is no part {part!r}; choose from {', '.join(PARTS)}.")
        print(f"\n{text}", flush=True)
        paste(arguments.page, f"cluster-{part}", text)
    save(arguments.json, figures)


if __name__ == "__main__":
    main()
