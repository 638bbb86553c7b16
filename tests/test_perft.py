"""Perft: the core against the published leaf counts, and the reference against the same counts."""

import json

import numpy as np
import pytest

from agreement import RULES_OF_VARIANT, to_boards
from damas_env import movegen
from damas_env.notation import format_fen
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from reference_rules import DATA, State, Variant, load_variants, perft

VARIANTS = load_variants()
SERIES = {entry["id"]: entry for entry in json.loads((DATA / "perft.json").read_text("utf-8"))["series"]}
MERGED = [name for name in SERIES if not name.endswith("keepdup")]

MOVEMENT = (
    "size", "men_rows", "mirrored", "square_one", "first", "men_capture_backward", "men_capture_kings",
    "flying_kings", "king_lands_adjacent", "remove_at_end", "majority", "promotion",
)  # fmt: skip
CORE_SIZES = (6, 8, 10)
CORE_MAJORITIES = ("none", "quantity", "quantity_kings")


def in_core(variant: Variant) -> bool:
    return variant.size in CORE_SIZES and variant.majority in CORE_MAJORITIES


def start_of(entry: dict) -> State:
    variant = VARIANTS[entry["rules"]]
    return State.initial(variant) if entry["fen"] == "initial" else State.from_fen(variant, entry["fen"])


def rules_of(variant: Variant) -> RuleSet:
    fields = {name: getattr(variant, name) for name in MOVEMENT}
    return RuleSet(name=variant.name, title=variant.name, **fields)


def depths(entry: dict, most_leaves: int) -> list[int]:
    found = [depth for depth, leaves in enumerate(entry["leaves"], 1) if leaves <= most_leaves]
    assert found, "nothing to compare"
    return found


def test_brazilian_from_the_initial_position_to_depth_11() -> None:
    rules = get_rules("cbd")
    want = [7, 49, 302, 1469, 7473, 37628, 187302, 907830, 4431766, 21560022, 105491257]
    found = [movegen.perft(rules, rules.initial_boards, depth) for depth in range(1, len(want) + 1)]
    assert found == want
    assert SERIES["brazilian-initial"]["leaves"][: len(want)] == want


@pytest.mark.parametrize("name", [name for name in MERGED if in_core(VARIANTS[SERIES[name]["rules"]])])
def test_published_counts_of_every_movement_that_the_core_knows(name: str) -> None:
    entry = SERIES[name]
    rules = rules_of(VARIANTS[entry["rules"]])
    boards = np.array(to_boards(start_of(entry)), dtype=np.uint64)
    for depth in depths(entry, 3_000_000):
        found = movegen.perft(rules, boards, depth)
        assert found == entry["leaves"][depth - 1], f"{name}, depth {depth}"


# Rule sets without a series of their own: the same tree by symmetry or by equal rules, and the slow reference.
SAME_TREE = {"english": "american", "spanish": "portuguese", "brazilian": "filipino"}


@pytest.mark.parametrize("name", [name for name in RULES_OF_VARIANT if name != "brazilian"])
def test_named_rule_sets_move_as_published(name: str) -> None:
    rules, variant = get_rules(RULES_OF_VARIANT[name]), VARIANTS[name]
    assert {key: getattr(rules, key) for key in MOVEMENT} == {key: getattr(variant, key) for key in MOVEMENT}
    assert format_fen(rules.initial_boards, rules.first_color, rules) == variant.initial_fen
    found = [movegen.perft(rules, rules.initial_boards, depth) for depth in range(1, 8)]
    same = {mine: published for published, mine in SAME_TREE.items()}.get(name, name)
    if f"{same}-initial" in SERIES:
        assert found == SERIES[f"{same}-initial"]["leaves"][:7]
    else:
        assert name == "thai"
    assert found[:4] == [perft(State.initial(variant), depth) for depth in range(1, 5)]


def test_batched_steps_grow_the_same_tree() -> None:
    """The tree grown with `Positions.step`, all positions of one ply as one batch."""
    positions = Positions.initial("cbd", 1)
    for leaves in SERIES["brazilian-initial"]["leaves"][:7]:
        assert int(positions.counts.sum()) == leaves
        parents = np.repeat(np.arange(len(positions)), positions.counts)
        nth = np.arange(len(parents)) - np.repeat(np.cumsum(positions.counts) - positions.counts, positions.counts)
        actions = positions.actions[parents, nth]
        positions = positions.take(parents)
        positions.step(actions)


@pytest.mark.parametrize("name", list(SERIES))
def test_the_reference_agrees_with_the_published_counts(name: str) -> None:
    entry = SERIES[name]
    merge = not name.endswith("keepdup")
    for depth in depths(entry, 8_000):
        assert perft(start_of(entry), depth, merge=merge) == entry["leaves"][depth - 1], f"depth {depth}"
