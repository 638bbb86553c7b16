"""Every rule set agrees with the slow reference: the moves of each movement, and whole games under each set of laws."""

import dataclasses
import random

import numpy as np
import pytest

from agreement import (
    BRAZILIAN,
    RULES_OF_VARIANT,
    VARIANTS,
    compare,
    compare_games,
    compare_mixed,
    ending_setup,
    mixed_positions,
    random_setup,
    to_positions,
)
from damas_env.game import Game
from damas_env.presets import RULE_SETS
from damas_env.rules import RuleSet, get_rules
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


# Movements that no named rule set has, each with a position in which it shows.
OWN = [
    # On d8 the capture ends, although the man could take e7 on its way back.
    ({"promotion": "stop", "majority": "none", "remove_at_end": False}, "W:W9:B6,7"),
    # The king on c5 must be taken, not the man on e5.
    ({"majority": "quantity_kings"}, "W:W18:BK14,15"),
    # Crowned on d8, it takes g5 from afar; beside it nothing can be taken.
    ({"promotion": "continue"}, "W:W9:B6,16"),
    ({"promotion": "continue", "majority": "none", "men_capture_kings": False, "flying_kings": False}, "W:W18:BK14,15"),
]


@pytest.mark.parametrize(("change", "fen"), OWN, ids=[", ".join(change) for change, _ in OWN])
def test_moves_under_rules_of_ones_own(change: dict, fen: str) -> None:
    variant, rules = dataclasses.replace(BRAZILIAN, **change), dataclasses.replace(get_rules("cbd"), **change)
    state = State.from_fen(variant, fen)
    report = compare([(state, state.legal_moves()), *mixed_positions(1, 1_000, variant)], rules)
    assert report.failures == []
    assert report.captures > 800 and report.promotions > 50


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


# The most legal moves of one position found by benchmarks/search_extremes.py, and how many are beyond the first of
# their (from, to).
CROWDED = [
    ("russian", "W:WK4,K5,K13,K21,K30,K31,K32:B6,7,8,K14,15,K16,22,K23,24", 58, 30),
    ("russian", "W:WK1,K2,K3,K12,K20,K28,K29:B9,K10,11,17,18,K19,K25,K26,27", 58, 30),
    (
        "international",
        "W:WK1,K2,K4,K5,15,K35,K36,K47:B9,10,12,13,18,K20,22,23,24,27,31,K33,K34,38,41,42",
        384,
        345,
    ),
]


@pytest.mark.parametrize(("variant", "fen", "moves", "spare"), CROWDED)
def test_no_move_of_a_crowded_position_is_lost(variant: str, fen: str, moves: int, spare: int) -> None:
    state = State.from_fen(VARIANTS[variant], fen)
    report = compare([(state, state.legal_moves())])
    assert report.failures == [] and report.moves == moves and report.shared_pairs == spare
    positions = to_positions([state])
    actions = positions.actions[0, :moves]
    assert len(np.unique(actions)) == moves and actions.max() < positions.rules.num_actions
    assert positions.masks().sum() == moves


def test_more_moves_than_there_is_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RuleSet, "max_moves", 7)
    with pytest.raises(ValueError, match="has 7 legal moves or more"):
        Game("cbd")
    monkeypatch.setattr(RuleSet, "max_moves", 8)
    assert len(Game("cbd").legal_moves()) == 7
