"""Shared by the benchmarks: the machine in words, results as JSON, and programs that answer one line for each line."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions: what a figure depends on."""
    import numba
    import numpy
    import torch

    from damas_rl.rundir import processor

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
