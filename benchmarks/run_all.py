"""Takes all figures of docs/performance.md, one benchmark after the other, in about twelve minutes on an idle machine.

    python benchmarks/run_all.py --out DIR [--peers peers/bin/python] [--long | --tiny] [--paste docs/performance.md]

Writes DIR/performance.json (machine, date, commands, figures) and DIR/performance.md (what the benchmarks printed, in
Markdown). --paste puts the same in place of what stands between ``<!-- NAME -->`` and ``<!-- end -->`` in a page, for
each benchmark and for ``machine``; what the page says about the figures is to be read again after that. --peers adds
the comparisons with other libraries (see peers.py); --long adds 10 s searches of alpha-beta, 200 s more; --tiny tries
everything out in seconds and measures nothing.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from common import HERE, git, machine, pasted

SETTINGS: dict[str, list[str]] = {
    "perft": ["--rounds", "7"],
    "vector_env": ["--seconds", "0.5", "--sizes", "1", "16", "256", "1024", "4096", "16384", "65536"],
    "search": ["--seconds", "6"],
    "search_parts": [],
    "alphabeta": [],
    "startup": [],
    "side_by_side": ["--seconds", "10"],
    "inference": ["--networks", "resmlp:256x1", "resconv:32x4"],
    "soak": ["--minutes", "1"],
}
TINY: dict[str, list[str]] = {
    "perft": ["--rounds", "1", "--depth", "6", "--kings-depth", "3", "--peer-depth", "3"],
    "vector_env": ["--seconds", "0.02", "--sizes", "1", "64", "--rounds", "1"],
    "search": ["--games", "8", "--simulations", "8", "--seconds", "0.1", "--selfplay-games", "8", "--networks", "tiny"],
    "search_parts": ["--games", "4", "--simulations", "8"],
    "alphabeta": ["--positions", "2", "--ms", "5", "--depths", "3"],
    "startup": ["--runs", "1"],
    "side_by_side": ["--games", "8", "--simulations", "4", "--seconds", "0.1"],
    "inference": ["--networks", "resmlp:16x1", "--batches", "1", "8", "--seconds", "0.02"],
    "soak": ["--minutes", "0.05", "--games", "16", "--simulations", "4"],
}
WITH_PEERS = ("perft", "vector_env", "side_by_side")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--peers", type=Path, help="Python with benchmarks/peers.txt")
    parser.add_argument("--only", nargs="+", choices=list(SETTINGS), default=list(SETTINGS), help="some benchmarks")
    parser.add_argument("--paste", type=Path, help="page that receives the tables")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--long", action="store_true", help="adds 10 s searches")
    length.add_argument("--tiny", action="store_true", help="tries everything out")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    results: dict[str, object] = {"date": date, "machine": machine(), "benchmarks": {}}
    words = ", ".join(f"{name} {value}" for name, value in machine().items())
    texts = {"machine": f"Taken {date}; {words}."}
    failed = []
    for name in arguments.only:
        options = list((TINY if arguments.tiny else SETTINGS)[name])
        if name in WITH_PEERS and arguments.peers:
            options += ["--peers", str(arguments.peers)]
        if name == "alphabeta" and arguments.long:
            options.append("--long")
        file, load = arguments.out / f"{name}.json", os.getloadavg()[0]
        shown = " ".join(["python", f"benchmarks/{name}.py", *options])
        print(f"$ {shown}", flush=True)
        file.unlink(missing_ok=True)
        begun, commit = time.monotonic(), git("rev-parse", "--short", "HEAD")
        command = [sys.executable, str(HERE / f"{name}.py"), *options, "--json", str(file)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        seconds = time.monotonic() - begun
        print(f"{done.stdout}({seconds:.0f} s, load before {load:.1f})\n", flush=True)
        if done.returncode:
            failed.append(name)
            continue
        texts[name] = f"`{shown}` (commit {commit}, load before {load:.1f}):\n\n{done.stdout.rstrip()}"
        results["benchmarks"][name] = {  # type: ignore[index]
            "command": shown,
            "commit": commit,
            "load_before": load,
            "load_after": os.getloadavg()[0],
            "seconds": seconds,
            "figures": json.loads(file.read_text(encoding="utf-8")),
        }
        file.unlink()
        # What has been measured is kept even if a later benchmark is interrupted.
        (arguments.out / "performance.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        (arguments.out / "performance.md").write_text("\n\n".join(texts.values()) + "\n", encoding="utf-8")
    print(f"{time.monotonic() - started:.0f} s; results in {arguments.out}")
    if arguments.paste:
        page = arguments.paste.read_text(encoding="utf-8")
        for name, text in texts.items():
            page = pasted(page, name, text)
        arguments.paste.write_text(page, encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
