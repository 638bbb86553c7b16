"""Reads thousands of damaged FENs and PDNs of every rule set: no traceback, no hang, no wrong acceptance.

Prints how many were accepted and the slowest ones; what must hold for each is in tests/mutations.py.

    python benchmarks/mutations.py --fens 10000 --pdns 10000
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from damas_env.presets import RULE_SETS
from mutations import check_fen, check_pdn, mutated, pdn_of, random_game


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fens", type=int, default=10_000)
    parser.add_argument("--pdns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    all_rules = list(RULE_SETS.values())
    games = [random_game(rules, rng, int(rng.integers(4, 40))) for rules in all_rules for _ in range(8)]
    for kind, count in (("FEN", options.fens), ("PDN", options.pdns)):
        accepted, slowest, started = 0, (0.0, ""), time.perf_counter()
        for number in range(count):
            game = games[number % len(games)]
            notation = ("numeric", "algebraic")[rng.integers(2)]
            text = mutated(game.fen(notation) if kind == "FEN" else pdn_of(game, notation), rng)
            begun = time.perf_counter()
            try:
                if kind == "FEN":
                    accepted += check_fen(text, game.rules)
                else:
                    accepted += check_pdn(text, game.rules if number % 2 else None)
            except Exception:
                print(f"{kind} of {game.rules.name}: {text!r}", file=sys.stderr)
                raise
            slowest = max(slowest, (time.perf_counter() - begun, text))
        seconds = time.perf_counter() - started
        print(f"{kind}: {count:,} read in {seconds:.0f} s, {accepted:,} accepted, slowest {slowest[0]:.2f} s")


if __name__ == "__main__":
    main()
