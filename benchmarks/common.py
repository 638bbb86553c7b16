"""Shared by the benchmarks: the machine in words, results as JSON, and programs that answer one line for each line."""

import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions: what a figure depends on."""
    import numba
    import numpy
    import torch

    from damas_rl.machine import processor

    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "torch": torch.__version__,
    }


def save(path: Path | None, figures: dict[str, Any]) -> None:
    """Writes the figures of one benchmark if a file was asked for."""
    if path:
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def git(*words: str) -> str:
    """What git says about this repository."""
    done = subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def pasted(page: str, name: str, text: str) -> str:
    """The page with ``text`` in place of what stands between the marks of a benchmark."""
    before, found, rest = page.partition(f"<!-- {name} -->\n")
    _, closed, after = rest.partition("<!-- end -->")
    if not found or not closed:
        raise SystemExit(f"The page has no place for {name}: <!-- {name} --> and <!-- end --> on lines of their own.")
    return f"{before}{found}{text}\n{closed}{after}"


def paste(page: Path | None, name: str, text: str, drawn: Path | None = None) -> None:
    """Puts what a benchmark printed, and drew, into a page, with its command, commit and machine, if one was given."""
    if page:
        command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
        words = ", ".join(f"{key} {value}" for key, value in machine().items())
        head = f"`{command}` (commit {git('rev-parse', '--short', 'HEAD')}; {words}):"
        image = f"\n\n![{name}]({os.path.relpath(drawn, page.parent)})" if drawn else ""
        page.write_text(pasted(page.read_text(encoding="utf-8"), name, f"{head}\n\n{text}{image}"), encoding="utf-8")


@contextmanager
def picture(path: Path | None) -> Iterator[Any]:
    """Axes to draw on, kept as SVG if a file was asked for (needs matplotlib, extra ``plot``)."""
    if not path:
        yield None
        return
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    yield axes
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None})


PATIENCE = 600.0
"""Seconds after which something that has to happen has not."""


def until(happened: Callable[[], bool], what: str) -> float:
    """Seconds until something has happened; ``what`` says it where it has not."""
    begun = time.monotonic()
    while not happened():
        if time.monotonic() - begun > PATIENCE:
            raise SystemExit(f"Not within {PATIENCE:.0f} seconds: {what}.")
        time.sleep(0.05)
    return time.monotonic() - begun


def below(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have started (Linux)."""
    children: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(place.name))
    found = children.get(pid, []).copy()
    for child in found:  # grows meanwhile
        found += children.get(child, [])
    return found


def command_of(pid: int) -> str:
    """The first word of the command that a process runs, as far as it is still there."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return ""


class Peer:
    """A program that reads tasks line by line and answers each with one line of numbers."""

    def __init__(self, command: Sequence[str | Path | int], variables: Mapping[str, str] | None = None) -> None:
        """Starts it, with ``variables`` added to the environment."""
        self.process = subprocess.Popen(
            [str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | (variables or {}),
        )  # fmt: skip

    def ask(self, task: str) -> list[float]:
        """Sends one task and waits for its answer."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.process.args} ended without an answer to {task!r}.")
        return [float(number) for number in answer.split()]

    def close(self) -> None:
        """Ends the program."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()
