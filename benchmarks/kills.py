"""Training killed at random moments: does it always go on, is a file ever corrupt, what is lost?

    python benchmarks/kills.py [--kills 50] [--words "experiment=tiny iterations=6 ..."] [--seed 1] [--json FILE]

First a run that nothing disturbs. Then runs with the same words are killed (SIGKILL) and resumed until they have ended,
one after the other, until all kills have been made. A kill comes at a moment drawn from the whole length of the
undisturbed process, start-up and closing measurement included; every third one waits from there for a half-written
checkpoint and comes within 2 ms of its appearance. After each kill every file of the run directory is read, and what
had been logged since the newest checkpoint is counted as lost. Each run that has ended is compared with the undisturbed
one: all that decides how it would go on, networks, sample games and metrics (without times), bit for bit.

For runs on Ray (``cluster=ray``), which are not repeatable, there is kills_ray.py.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from common import HERE, save
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from damas_env.notation import read_pdn
from damas_rl import compose
from damas_rl.checkpoint import load_network, numbered, read_checkpoint
from damas_rl.metrics import read_metrics

WORDS = (
    "experiment=tiny iterations=6 trainer.positions_per_iteration=200 trainer.endgame_share=0 selfplay.tablebase=0 "
    "selfplay.games=8 arena.ladder=[random] arena.final_games=2"
)
BY_THE_CLOCK = ("seconds", "evaluated", "saved")
SECONDS = 600


def start(words: list[str], run: Path) -> subprocess.Popen[str]:
    """A training process that begins the run, or goes on with it."""
    words = [f"resume={run}"] if (run / "config.yaml").exists() else [*words, f"run_dir={run}"]
    command = [sys.executable, str(HERE.parent / "train.py"), *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def half_written(run: Path) -> list[str]:
    """Files that are being written, or that a killed process has left behind."""
    return [str(path.relative_to(run)) for path in run.rglob(".*.tmp")]


def wait(process: subprocess.Popen[str], run: Path, moment: float, aimed: bool, rng: random.Random) -> bool:
    """Waits for the moment of a kill; False if the process ended before."""
    begun = time.monotonic()
    while process.poll() is None:
        late = time.monotonic() - begun >= moment
        if late and not aimed:
            return True
        if late and any((run / "checkpoints").glob(".*.tmp")):
            time.sleep(rng.uniform(0.0, 0.002))
            return process.poll() is None
        time.sleep(0.0002 if late else 0.005)
    return False


def read_everything(run: Path) -> dict[str, Any]:
    """Reads every file of a run directory; any that cannot be read raises.

    Returns:
        ``files`` read, the newest ``checkpoint`` (its iteration; None before the first), and what had been logged since
        then: ``iterations`` and ``seconds`` of training.
    """
    texts = [path for path in (run / "best", run / "meta.json", run / "config.yaml") if path.exists()]
    for path in texts:
        text = path.read_text(encoding="utf-8")
        if path.name == "best":
            load_network(run / "networks" / text.strip())
        elif path.name == "meta.json":
            json.loads(text)
        else:
            compose.read(path)
    checkpoints = {path: read_checkpoint(path) for path in numbered(run / "checkpoints")}
    networks, games, events = sorted(run.glob("networks/net-*")), sorted(run.glob("games/*")), sorted(run.glob("tb/*"))
    for path in networks:
        load_network(path)
    for path in games:
        read = read_pdn(path.read_text(encoding="utf-8"))
        assert read and not any(game.error for game in read), path
    for path in events:
        assert list(EventFileLoader(str(path)).Load()), path
    metrics: list[dict[str, Any]] = []
    if (run / "metrics.jsonl").exists():
        metrics = list(read_metrics(run / "metrics.jsonl"))
        lines = (run / "metrics.jsonl").read_text(encoding="utf-8").split("\n")
        assert len(lines) - 1 == len(metrics), "a line of metrics.jsonl before the last one is none"
    counts = list(checkpoints.values())[-1]["counts"] if checkpoints else None
    reached = [event for event in metrics if event["kind"] == "iteration"][-1:]
    lost = {"iterations": 0, "seconds": 0.0}
    if reached and counts:
        lost["iterations"] = max(0, reached[0]["iteration"] - counts["iteration"])
        lost["seconds"] = max(0.0, reached[0]["time"]["training"] - counts["seconds"])
    files = len(texts) + len(checkpoints) + len(networks) + len(games) + len(events) + bool(metrics)
    return {"files": files, "checkpoint": counts and counts["iteration"], **lost}


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Places and values of nested content; arrays as type, shape and bytes."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{place}/{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(item, f"{place}/{index}")
    elif isinstance(value, (np.ndarray, torch.Tensor)):
        array = np.asarray(value)
        yield place, (array.dtype.str, array.shape, array.tobytes())
    else:
        yield place, value


def outcome(run: Path) -> dict[str, Any]:
    """All that one seed decides in a finished run."""
    content = read_checkpoint(numbered(run / "checkpoints")[-1])
    counts = {key: value for key, value in content["counts"].items() if key not in BY_THE_CLOCK}
    events = [
        {key: value for key, value in event.items() if key != "time"} for event in read_metrics(run / "metrics.jsonl")
    ]
    kept = ("network", "learner", "selfplay", "replay", "sampling", "ladder", "rules")
    networks = {path.name: load_network(path)[0].state_dict() for path in run.glob("networks/*")}
    games = {path.name: path.read_text(encoding="utf-8") for path in run.glob("games/*")}
    parts = {"metrics": events, "networks": networks, "games": games, "best": (run / "best").read_text()}
    return dict(leaves({"counts": counts, **{key: content[key] for key in kept}, **parts}))


HEADER = """| kill | run | after s | half-written | checkpoint | iterations lost | seconds lost | files read |
| --- | --- | --- | --- | --- | --- | --- | --- |"""


def show(row: dict[str, Any]) -> None:
    """One row of the table."""
    reached = "none" if row["checkpoint"] is None else row["checkpoint"]
    line = f"| {row['kill']} | {row['run']} | {row['after']:.1f} | {row['half_written']} | {reached} | "
    print(f"{line}{row['iterations']} | {row['seconds']:.1f} | {row['files']} |", flush=True)


def whole_run(words: list[str], run: Path) -> float:
    """Makes a run that nothing disturbs; how long its process took."""
    begun = time.monotonic()
    process = start(words, run)
    _, errors = process.communicate(timeout=SECONDS)
    if process.returncode:
        raise SystemExit(f"The undisturbed run failed: {errors}")
    return time.monotonic() - begun


def killed(words: list[str], folder: Path, kills: int, length: float, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Makes the kills; a row for each, and one with the ``finished`` run for each run that has ended."""
    made = number = 0
    while made < kills:
        number += 1
        run, undisturbed = folder / f"run-{number}", True
        while True:
            before, begun, process = half_written(run), time.monotonic(), start(words, run)
            if made == kills or not wait(process, run, rng.uniform(0.0, length), made % 3 == 2, rng):
                _, errors = process.communicate(timeout=SECONDS)
                # A kill may have come after everything had been saved.
                if process.returncode and "has used its budget" not in errors:
                    raise SystemExit(f"{run} did not go on: exit status {process.returncode}, {errors}")
                if undisturbed:
                    length = time.monotonic() - begun  # the machine may have become faster
                break
            process.kill()
            made, undisturbed = made + 1, False
            row = {"kill": made, "run": number, "after": time.monotonic() - begun}
            process.communicate(timeout=SECONDS)
            if not (run / "config.yaml").exists():
                shutil.rmtree(run, ignore_errors=True)  # killed before anything was there to go on with
            left = ", ".join(set(half_written(run)) - set(before))
            yield row | {"half_written": left, **read_everything(run)}
        yield {"finished": run}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--words", default=WORDS, help="what to train, for train.py; keep it short")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    words = arguments.words.split()
    rows: list[dict[str, Any]] = []
    finished = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        length = whole_run(words, folder / "undisturbed")
        wanted = outcome(folder / "undisturbed")
        print(f"Undisturbed, the process takes {length:.1f} s.\n\n{HEADER}")
        rng = random.Random(arguments.seed)
        for row in killed(words, folder, arguments.kills, length, rng):
            if "finished" not in row:
                rows.append(row)
                show(row)
                continue
            finished += 1
            found = outcome(row["finished"])
            differing = [key for key in wanted.keys() | found.keys() if wanted.get(key) != found.get(key)]
            if differing:
                raise SystemExit(f"{row['finished'].name} ended differently: {', '.join(sorted(differing)[:5])}")
            shutil.rmtree(row["finished"])
    print(
        f"\n{len(rows)} kills, {sum(bool(row['half_written']) for row in rows)} of them within a write; "
        f"{sum(row['files'] for row in rows)} files read, none corrupt; at most "
        f"{max(row['iterations'] for row in rows)} iterations ({max(row['seconds'] for row in rows):.1f} s) lost; "
        f"{finished} runs ended, all equal to the undisturbed one bit for bit."
    )
    save(arguments.json, {"length": length, "rows": rows, "finished": finished})


if __name__ == "__main__":
    main()
