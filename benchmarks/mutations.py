"""Reads thousands of damaged FENs, PDNs and YAML rule sets: no traceback, no hang, no wrong acceptance.

Prints how many were accepted and the slowest ones; what must hold for each is in tests/mutations.py. The first text
for which it does not hold is printed, and ends the run.

    python benchmarks/mutations.py --fens 10000 --pdns 10000 --rule-sets 10000
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from damas_env.game import Game
from damas_env.notation.moves import NOTATIONS
from damas_env.presets import RULE_SETS
from mutations import check_fen, check_pdn, check_rules, mutated, mutated_rules, pdn_of, random_game

REPORTED = 1000
"""A line tells of so many texts."""


class Source:
    """Damaged texts, each with the check of it, which is True if the text was accepted."""

    def __init__(self, seed: int) -> None:
        self._rng, self._slips = np.random.default_rng(seed), random.Random(seed)

    @cached_property
    def _games(self) -> list[Game]:
        every = [rules for rules in RULE_SETS.values() for _ in range(8)]
        return [random_game(rules, self._rng, int(self._rng.integers(4, 40))) for rules in every]

    def fen(self, number: int) -> tuple[str, Callable[[], bool]]:
        game = self._games[number % len(self._games)]
        text = mutated(game.fen(NOTATIONS[self._rng.integers(2)]), self._rng)
        return text, lambda: check_fen(text, game.rules)

    def pdn(self, number: int) -> tuple[str, Callable[[], bool]]:
        game = self._games[number % len(self._games)]
        text = mutated(pdn_of(game, NOTATIONS[self._rng.integers(2)]), self._rng)
        return text, lambda: check_pdn(text, game.rules if number % 2 else None)

    def rule_set(self, _: int) -> tuple[str, Callable[[], bool]]:
        text, must_fail = mutated_rules(self._slips)
        return text, lambda: check_rules(text, must_fail)


def read_all(kind: str, source: Callable[[int], tuple[str, Callable[[], bool]]], count: int) -> None:
    accepted, slowest, started = 0, 0.0, time.perf_counter()
    for number in range(1, count + 1):
        text, check = source(number)
        begun = time.perf_counter()
        try:
            accepted += check()
        except Exception:
            print(f"{kind} {number}: {text[:3000]!r}", file=sys.stderr)
            raise
        slowest = max(slowest, time.perf_counter() - begun)
        if number % REPORTED == 0 or number == count:
            took = f"{time.perf_counter() - started:.0f} s, slowest {slowest:.2f} s"
            print(f"{kind}: {number:,} read, {accepted:,} accepted; {took}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fens", type=int, default=10_000)
    parser.add_argument("--pdns", type=int, default=10_000)
    parser.add_argument("--rule-sets", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source = Source(options.seed)
    read_all("rule sets", source.rule_set, options.rule_sets)
    read_all("FENs", source.fen, options.fens)
    read_all("PDNs", source.pdn, options.pdns)


if __name__ == "__main__":
    main()
