"""Every rule set agrees with the slow reference: the moves of each movement, and whole games under each set of laws."""

import random

import pytest

from agreement import RULES_OF_VARIANT, VARIANTS, compare_games, compare_mixed, ending_setup, random_setup
from damas_env.presets import RULE_SETS
from reference_draws import SYSTEMS
from reference_rules import State

POSITIONS, ENDINGS, SET_UPS, STARTS = 1_500, 60, 15, 3


def test_every_rule_set_has_a_reference() -> None:
    assert set(SYSTEMS) == set(RULE_SETS)


@pytest.mark.parametrize("variant", [name for name in RULES_OF_VARIANT if name != "brazilian"])
def test_moves(variant: str) -> None:
    report = compare_mixed(1, POSITIONS, variant)
    assert report.failures == []
    assert report.positions == POSITIONS and report.captures > POSITIONS // 2 and report.promotions > 20


@pytest.mark.parametrize("rules", [name for name in SYSTEMS if name != "cbd"])
def test_games(rules: str) -> None:
    variant = VARIANTS[SYSTEMS[rules].variant]
    rng = random.Random(f"games of {rules}")
    starts = [ending_setup(rng, variant) for _ in range(ENDINGS)]
    starts += [random_setup(rng, variant) for _ in range(SET_UPS)] + [State.initial(variant)] * STARTS
    report = compare_games(rules, starts, rng)
    assert report.failures == []
    ways = {"NO_PIECES", "BLOCKED"} & set(report.endings)
    ways |= {"REPETITION"} & set(report.endings) if SYSTEMS[rules].occurrences else {"no repetition"}
    assert len(ways) >= 2 and report.plies > 1_000
