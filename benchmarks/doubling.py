"""Elo for each doubling of simulations from 1 to 1,600: tree search against itself with half of the simulations.

    python benchmarks/doubling.py --json doubling.json [--paste docs/strength.md] [--picture docs/doubling.svg]

The same network plays on both sides, in paired games with the colours swapped, many at once. The last step, from 1,024
to 1,600, is less than a doubling; the column "a doubling" counts it as if it went on like that. A step is added to
--json when it is over, and a command that was interrupted goes on after the last one. --picture needs matplotlib.
"""

import argparse
import json
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
from common import git, paste, picture, save

from damas_env.rules import get_rules
from damas_rl.arena import play_match
from damas_rl.machine import processor
from damas_rl.players import make_player

STEPS = (*(1 << power for power in range(11)), 1600)


def step(network: str, fewer: int, more: int, games: int, seed: int) -> dict[str, Any]:
    """A match between two numbers of simulations."""
    rules = get_rules("cbd")
    players = [make_player(f"mcts:net={network},sims={sims}", rules, seed) for sims in (more, fewer)]
    score = play_match(*players, rules, games, seed=seed).score
    return {
        "fewer": fewer, "more": more, "wins": score.wins, "draws": score.draws, "losses": score.losses,
        "score": score.score, "elo": score.elo, "low": score.low, "high": score.high, "plies": score.plies,
        "distinct": score.distinct, "seconds": score.seconds,
        "taken": f"{git('rev-parse', '--short', 'HEAD')}, {processor()}",
    }  # fmt: skip


def line(row: dict[str, Any]) -> str:
    """A step as a row of the table."""
    return (
        f"| {row['fewer']:,} to {row['more']:,} | {row['wins']}-{row['draws']}-{row['losses']} | {row['score']:.1%} | "
        f"{row['elo']:+.0f} ({row['low']:+.0f} to {row['high']:+.0f}) | "
        f"{row['elo'] / log2(row['more'] / row['fewer']):+.0f} | {row['distinct']:.0%} | "
        f"{row['taken']} |"
    )


def draw(path: Path | None, network: str, rows: list[dict[str, Any]]) -> None:
    """Elo a doubling over simulations, each step with its interval."""
    with picture(path) as axes:
        if axes is None:
            return
        simulations = [row["more"] for row in rows]
        low, middle, high = (
            np.array([row[key] / log2(row["more"] / row["fewer"]) for row in rows]) for key in ("low", "elo", "high")
        )
        axes.errorbar(simulations, middle, yerr=[middle - low, high - middle], marker="o", markersize=3, capsize=2)
        axes.set_xscale("log", base=2)
        axes.axhline(0, color="gray", linewidth=0.8)
        axes.set_xticks(simulations, [f"{number:,}" for number in simulations], fontsize=8)
        axes.minorticks_off()
        axes.set_xlabel(f"simulations for each move, network {network}")
        axes.set_ylabel("Elo gained by the last doubling")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="base", help="name, checkpoint or run directory")
    parser.add_argument("--games", type=int, default=200, help="of each step, an even number")
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS, help="numbers of simulations, rising")
    parser.add_argument("--seed", type=int, default=1, help="of the openings")
    parser.add_argument("--json", type=Path, required=True, help="file for the figures")
    parser.add_argument("--paste", type=Path, help="page that receives the table, at <!-- doubling -->")
    parser.add_argument("--picture", type=Path, help="file for the picture, SVG")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {
        "network": arguments.network, "games": arguments.games, "seed": arguments.seed, "rows": [],
    }  # fmt: skip
    if arguments.json.exists():
        earlier = json.loads(arguments.json.read_text(encoding="utf-8"))
        if earlier | {"rows": []} != figures:
            parser.error(f"{arguments.json} holds other matches; choose another file")
        figures = earlier
    lines = ["| simulations | won-drawn-lost | score | Elo (95 %) | a doubling | distinct games | commit, processor |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    print(*lines, sep="\n", flush=True)
    kept = {(row["fewer"], row["more"]): row for row in figures["rows"]}
    rows = []
    for fewer, more in pairwise(arguments.steps):
        row = kept.get((fewer, more))
        if row is None:
            row = step(arguments.network, fewer, more, arguments.games, arguments.seed)
            figures["rows"].append(row)
            save(arguments.json, figures)
        rows.append(row)
        lines.append(line(row))
        print(lines[-1], flush=True)
    draw(arguments.picture, arguments.network, rows)
    paste(arguments.paste, "doubling", "\n".join(lines), arguments.picture)


if __name__ == "__main__":
    main()
