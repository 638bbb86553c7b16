"""Compares training settings at equal wall time: trains each with each seed, then lets the networks play each other.

    python scripts/ablate.py --out runs/ablation --base "experiment=quick minutes=10" --seeds 1 2 \
        --arm tables="selfplay.tablebase=4 trainer.endgame_share=0.05" --arm surprise="selfplay.surprise=0.5"

The arm ``base`` is the base alone; each other arm is the base with its words added (see ``python train.py --help``).
Runs are made one after the other, each with the whole machine, seed by seed; then the network of each arm plays paired
games from ballots against that of the base with the same seed. Nothing is measured in between, so all the time is
training. With ``--limit ms=20`` networks that cost more time think less, which is fair between kinds of networks.

What is finished is kept: a command that is given again goes on where it was. The table on stdout is Markdown.
"""

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

from damas_env.presets import DEFAULT_RULES
from damas_env.rules import get_rules
from damas_rl.arena import play_match
from damas_rl.elo import elo_difference
from damas_rl.players import make_player
from damas_rl.runs import read_run
from damas_rl.sweep import run_words

ROOT = Path(__file__).parents[1]
QUIET = ("trainer.evaluate_minutes=1000000", "arena.final_games=2", "arena.ladder=[random]")


def train(run: Path, words: list[str]) -> None:
    """Makes a run, or goes on with it, unless it is finished."""
    if (run / "best").exists():
        return
    command = [sys.executable, str(ROOT / "train.py"), *run_words(run, [*words, *QUIET])]
    done = subprocess.run(command, check=False)
    if done.returncode or not (run / "best").exists():
        raise SystemExit(f"{run} is not finished; give the command again to go on.")


def compare(run: Path, base: Path, games: int, limit: str, seed: int) -> list[int]:
    """Pairs of games with 0, 1/2, 1, 3/2 and 2 points for a run against the base; kept in the run's folder."""
    kept = run / f"against-base-{games}-{limit}.json"
    if not kept.exists():
        rules = get_rules(read_run(run).rules or DEFAULT_RULES)
        one, other = (make_player(f"mcts:net={path},{limit}", rules, seed) for path in (run, base))
        kept.write_text(json.dumps(list(play_match(one, other, rules, games, seed=seed).score.pairs)))
    pairs: list[int] = json.loads(kept.read_text())
    return pairs


def arm(text: str) -> tuple[str, list[str]]:
    """The name and the words of an arm, from ``name=words``."""
    name, equals, words = text.partition("=")
    if not equals or not name.isidentifier() or name == "base":
        raise argparse.ArgumentTypeError(f"{text!r} does not read like name='key=value key=value'")
    return name, shlex.split(words)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--base", type=shlex.split, default=["experiment=quick"], help="words of all runs")
    parser.add_argument("--arm", type=arm, action="append", required=True, metavar="NAME=WORDS")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--games", type=int, default=400, help="of each comparison")
    parser.add_argument("--limit", default="sims=200", help="for each move of these games: sims=N or ms=N")
    arguments = parser.parse_args()
    arms = {"base": [], **dict(arguments.arm)}
    for seed in arguments.seeds:
        for name, words in arms.items():
            train(arguments.out / f"{name}-{seed}", [*arguments.base, *words, f"seed={seed}"])
    print("| arm | plies | games | Elo against base (95 %) | by seed |")
    print("| --- | --- | --- | --- | --- |")
    for name in arms:
        runs = [arguments.out / f"{name}-{seed}" for seed in arguments.seeds]
        plies = ", ".join(f"{read_run(run).positions:,}" for run in runs)
        if name == "base":
            print(f"| base | {plies} | | | |")
            continue
        results = [
            compare(run, arguments.out / f"base-{seed}", arguments.games, arguments.limit, seed)
            for run, seed in zip(runs, arguments.seeds, strict=True)
        ]
        elo = elo_difference([sum(counts) for counts in zip(*results, strict=True)])
        by_seed = ", ".join(f"{elo_difference(pairs).difference:+.0f}" for pairs in results)
        interval = f"{elo.difference:+.0f} ({elo.low:+.0f} to {elo.high:+.0f})"
        print(f"| {name} | {plies} | {len(results) * arguments.games} | {interval} | {by_seed} |")


if __name__ == "__main__":
    main()
