"""The machine and the software that something is made with."""

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import damas_env


def describe_machine() -> dict[str, Any]:
    """What a run must remember to be repeated: revision, versions, machine (plain types)."""
    packages = ("numpy", "numba", "torch", "gymnasium", "hydra-core")
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "git_revision": git_revision(),
        "damas_rl": damas_env.__version__,
        "rules_version": damas_env.RULES_VERSION,
        "action_version": damas_env.ACTION_VERSION,
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "machine": {
            "system": platform.platform(),
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)),
        },
    }


def git_revision() -> str:
    """Commit of the source tree, with ``-dirty`` if files differ from it; ``unknown`` outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def processor() -> str:
    """Name of the processor."""
    return _cpuinfo("model name") or platform.processor()


def made_by_intel() -> bool:
    """True if the processor is one of Intel's."""
    return _cpuinfo("vendor_id") == "GenuineIntel"


def _cpuinfo(name: str) -> str:
    """What Linux says of the first core; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
