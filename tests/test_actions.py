"""Moves <-> actions: every legal move has exactly one index and every legal index exactly one move.

The proof that the spare row always suffices is `capture_bounds`, explained in docs/actions.md; here it is run, and
the encoding is compared with one that is written out from its definition.
"""

import json
from functools import cache

import numpy as np
import pytest

import capture_bounds
from agreement import BRAZILIAN, VARIANTS, Decoder, compare, mixed_positions, number_to_bit, to_positions
from damas_env.errors import IllegalActionError
from damas_env.movegen import STACK_SIZE
from damas_env.position import Positions
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from reference_draws import SYSTEMS
from reference_rules import DATA, RefMove, State, Variant

RULES = get_rules("cbd")
EXTREMES = [
    entry
    for name in ("extremes.json", "extremes_found.json")
    for entry in json.loads((DATA / name).read_text("utf-8"))["positions"]
]


@cache
def bits_of_numbers(variant: str, white: bool) -> dict[int, int]:
    return number_to_bit(VARIANTS[variant], white)


@cache
def view_squares(variant: str, white: bool) -> dict[int, int]:
    """Square number -> its place, from 0, along the rows as the side to move sees them, the farthest first.

    A row begins at the left, on mirrored boards at the right.
    """
    numbers, mirrored = VARIANTS[variant].numbers, VARIANTS[variant].mirrored
    order = sorted(numbers, key=lambda square: (-square[1], -square[0] if mirrored else square[0]))
    return {numbers[square]: place for place, square in enumerate(order if white else order[::-1])}


def defined_actions(variant: Variant, legal: list[RefMove], white: bool) -> dict[RefMove, int]:
    """The encoding as docs/actions.md defines it: canonical order is that of (from, to, captured set) as bits."""
    bit, view, squares = bits_of_numbers(variant.name, white), view_squares(variant.name, white), len(variant.squares)

    def order(move: RefMove) -> tuple[int, int, int]:
        return bit[move.frm], bit[move.to], sum(1 << bit[square] for square in move.captures)

    actions: dict[RefMove, int] = {}
    pairs: set[tuple[int, int]] = set()
    for move in sorted(legal, key=order):
        if move[:2] in pairs:
            actions[move] = squares**2 + len(actions) - len(pairs)
        else:
            pairs.add(move[:2])
            actions[move] = view[move.frm] * squares + view[move.to]
    return actions


def check_encoding(positions: Positions, variant: Variant) -> None:
    """Checks moves, actions and masks of every position of a batch against the definition."""
    decoder = Decoder(variant)
    masks = positions.masks()
    assert masks.shape == (len(positions), len(variant.squares) ** 2 + positions.rules.spare_actions)
    for index in range(len(positions)):
        legal = decoder.legal(positions, index)
        actions = positions.actions[index, : len(legal)].tolist()
        assert len(set(legal)) == len(set(actions)) == len(legal)
        assert dict(zip(legal, actions, strict=True)) == defined_actions(variant, legal, not positions.colors[index])
        assert np.flatnonzero(masks[index]).tolist() == sorted(actions)


def check_bijection(states: list[State], rules: str = "cbd") -> Positions:
    """Checks the positions of a batch and returns it."""
    positions = to_positions(states, rules)
    check_encoding(positions, states[0].variant)
    return positions


def check_twins(positions: Positions, turned: Positions) -> None:
    """Checks that a batch and the one with colours exchanged and boards turned are the same to the side to move."""
    for name in Positions.ARRAYS:
        if name != "colors":
            assert (getattr(positions, name) == getattr(turned, name)).all(), name
    assert (positions.colors == 1 - turned.colors).all()


def check_refusals(positions: Positions) -> None:
    """Tries every index that is not legal in a batch of one."""
    before = positions.copy()
    size = positions.rules.num_actions
    illegal = np.flatnonzero(~positions.masks()[0]).tolist()
    assert len(illegal) == size - positions.counts[0]
    for action in [*illegal, -1, size, 2**40]:
        with pytest.raises(IllegalActionError, match="not legal in game 0"):
            positions.step(np.array([action]))
    assert (positions.boards == before.boards).all() and (positions.moves == before.moves).all()


def test_sizes() -> None:
    assert RULES.num_actions == 32 * 32 + 128 == 1152
    assert np.iinfo(Positions.initial("cbd").actions.dtype).max >= RULES.num_actions


def test_bijection_on_random_positions_in_both_views() -> None:
    states = [state for state, _ in mixed_positions(11, 12_000)]
    positions, turned = check_bijection(states), check_bijection([state.rotated() for state in states])
    check_twins(positions, turned)
    assert {0, 1} == set(positions.colors.tolist())
    spare = (positions.actions >= 1024).sum()
    assert spare > 100, "the sample must contain moves that share their (from, to)"


@pytest.mark.parametrize("entry", EXTREMES, ids=[entry["fen"] for entry in EXTREMES])
def test_extreme_positions(entry: dict) -> None:
    for state in (State.from_fen(BRAZILIAN, entry["fen"]), State.from_fen(BRAZILIAN, entry["fen"]).rotated()):
        legal = state.legal_moves()
        sharing: dict[tuple[int, int], int] = {}
        for move in legal:
            sharing[move[:2]] = sharing.get(move[:2], 0) + 1
        assert len(legal) == entry["moves"]
        assert len(sharing) == entry["pairs"]
        assert max(sharing.values()) == entry.get("most_sharing_a_pair", 1)
        if "longest_capture" in entry:
            assert max(len(move.captures) for move in legal) == entry["longest_capture"]
        assert compare([(state, legal)]).failures == []  # plays every action
        positions = check_bijection([state])
        used = sorted(action for action in positions.actions[0].tolist() if action >= 1024)
        assert used == list(range(1024, 1024 + len(legal) - len(sharing)))


def test_every_other_index_is_refused() -> None:
    worst = max(EXTREMES, key=lambda entry: entry["moves"] - entry["pairs"])
    check_refusals(to_positions([State.from_fen(BRAZILIAN, worst["fen"])]))


@pytest.mark.parametrize("name", list(RULE_SETS))
def test_every_rule_set(name: str) -> None:
    """Set-ups, and games played side by side with their twins from the first ply to the last."""
    variant = VARIANTS[SYSTEMS[name].variant]
    states = [state for state, _ in mixed_positions(12, 400, variant)]
    positions, turned = check_bijection(states, name), check_bijection([state.rotated() for state in states], name)
    check_twins(positions, turned)
    spare = (positions.actions >= positions.rules.num_squares**2).sum(axis=1)
    assert spare.any(), "the sample must contain moves that share their (from, to)"
    for batch in (positions, turned):
        check_refusals(batch.take(np.array([spare.argmax()])))

    rng = np.random.default_rng(13)
    games = Positions.initial(name, 20)
    twins = Positions.from_boards(name, games.boards, 1 - games.colors)
    for ply in range(500):
        check_twins(games, twins)
        if ply % 10 == 0:
            check_encoding(games, variant)
            check_encoding(twins, variant)
        if games.terminations.all():
            break
        actions = games.actions[np.arange(len(games)), rng.integers(np.maximum(games.counts, 1))]
        games.step(actions)
        twins.step(actions)
    assert games.terminations.all() and games.plies.min() > 10


# The bounds (docs/actions.md) -----------------------------------------------------------------------------


def test_the_spare_row_suffices_in_every_position() -> None:
    value, witness = capture_bounds.maximum(spare=True, floor=40)
    assert (value, witness) == (40, ""), "more than 40 spare moves: docs/actions.md is wrong"
    assert value <= RULES.spare_actions


def test_the_move_list_holds_every_position() -> None:
    """At most 58 captures; a quiet move enters an empty square from one of four directions, so there are at most
    min(13 n, 4 (32 - n)) quiet moves of n pieces."""
    value, witness = capture_bounds.maximum(spare=False, floor=58)
    assert (value, witness) == (58, "")
    quiet = max(min(13 * pieces, 4 * (32 - pieces)) for pieces in range(1, 13))
    assert max(value, quiet) <= RULES.max_moves
    assert capture_bounds.longest_capture() == 10
    most_men = (10 // 2 - 1) * 10 // 2  # four rows on 10x10
    assert most_men * (16 - 1) + 1 <= STACK_SIZE


def test_the_bounds_are_not_below_what_exists() -> None:
    """Guards the proof: no known position may exceed what it claims."""
    assert max(entry["moves"] - entry["pairs"] for entry in EXTREMES) <= 40
    assert max(entry["moves"] for entry in EXTREMES if entry.get("longest_capture")) <= 58
    assert max(entry.get("most_sharing_a_pair", 1) for entry in EXTREMES) <= capture_bounds.most_sharing() == 9
    single = State.from_fen(BRAZILIAN, "W:WK2:B6,7,10,14,15,17,19,24")
    assert len(single.legal_moves()) == 6
