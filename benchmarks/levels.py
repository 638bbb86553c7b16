"""How strong the levels of ``damas web`` are: matches between neighbours, as a table.

    python benchmarks/levels.py [--games 200] [--levels beginner,casual,amateur,club,strong]

Levels with limited time are left to benchmarks/strength.py (see docs/web.md), which gives each game a core of its own.
"""

import argparse
import itertools

from damas_env.rules import get_rules
from damas_rl.arena import play_match
from damas_rl.play.levels import LEVELS, make_level


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=200)
    parser.add_argument("--levels", default="beginner,casual,amateur,club,strong")
    arguments = parser.parse_args()
    known = {level.id: level for level in LEVELS}
    rules = get_rules("cbd")
    names = arguments.levels.split(",")
    print("| match | won-drawn-lost | Elo difference |\n| --- | --- | --- |")
    for seed, (weaker, stronger) in enumerate(itertools.pairwise(names)):
        players = [make_level(known[name], rules, 10 + 2 * seed + side) for side, name in enumerate((stronger, weaker))]
        score = play_match(*players, rules, arguments.games, seed=seed).score
        print(
            f"| {stronger} against {weaker} | {score.wins}-{score.draws}-{score.losses} | "
            f"{score.elo:+.0f} ({score.low:+.0f} to {score.high:+.0f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
