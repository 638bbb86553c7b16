"""Moves <-> actions: every legal move has exactly one index and every legal index exactly one move.

The proof that the spare row always suffices is `capture_bounds`, explained in docs/actions.md; here it is run, and
the encoding is compared with one that is written out from its definition.
"""

import json
from itertools import islice

import numpy as np
import pytest

import capture_bounds
from agreement import BRAZILIAN, Decoder, compare, mixed_positions, number_to_bit, to_positions
from damas_env.errors import IllegalActionError
from damas_env.movegen import STACK_SHAPE
from damas_env.position import Positions
from damas_env.rules import get_rules
from reference_rules import DATA, RefMove, State

RULES = get_rules("cbd")
EXTREMES = [
    entry
    for name in ("extremes.json", "extremes_found.json")
    for entry in json.loads((DATA / name).read_text("utf-8"))["positions"]
]
NUMBER_TO_BIT = {white: number_to_bit(BRAZILIAN, white) for white in (True, False)}


def defined_actions(legal: list[RefMove], white: bool) -> dict[RefMove, int]:
    """The encoding as docs/actions.md defines it: canonical order is that of (from, to, captured set) as bits."""
    bit = NUMBER_TO_BIT[white]

    def view(number: int) -> int:
        return number - 1 if white else 32 - number

    def order(move: RefMove) -> tuple[int, int, int]:
        return bit[move.frm], bit[move.to], sum(1 << bit[square] for square in move.captures)

    actions: dict[RefMove, int] = {}
    pairs: set[tuple[int, int]] = set()
    spare = 0
    for move in sorted(legal, key=order):
        if move[:2] in pairs:
            actions[move] = 1024 + spare
            spare += 1
        else:
            pairs.add(move[:2])
            actions[move] = 32 * view(move.frm) + view(move.to)
    return actions


def check_bijection(states: list[State]) -> Positions:
    """Checks every position of a batch against the definition and returns the batch."""
    positions = to_positions(states)
    decoder = Decoder(BRAZILIAN)
    masks = positions.masks()
    assert masks.shape == (len(states), 1152)
    for index, state in enumerate(states):
        legal = decoder.legal(positions, index)
        actions = positions.actions[index, : len(legal)].tolist()
        assert len(set(actions)) == len(legal), state.fen()
        assert dict(zip(legal, actions, strict=True)) == defined_actions(legal, state.white), state.fen()
        assert np.flatnonzero(masks[index]).tolist() == sorted(actions), state.fen()
    return positions


def test_sizes() -> None:
    assert RULES.num_actions == 32 * 32 + 128 == 1152
    assert np.iinfo(Positions.initial("cbd").actions.dtype).max >= RULES.num_actions


def test_bijection_on_random_positions_in_both_views() -> None:
    """Each position and its twin (colours exchanged, board turned) have identical boards, moves and actions."""
    states = [state for state, _ in islice(mixed_positions(11, 12_000), 12_000)]
    twins = [state.rotated() for state in states]
    positions, turned = check_bijection(states), check_bijection(twins)
    for name in ("boards", "moves", "actions", "counts", "counters", "terminations"):
        assert (getattr(positions, name) == getattr(turned, name)).all(), name
    assert (positions.colors == 1 - turned.colors).all()
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
    positions = to_positions([State.from_fen(BRAZILIAN, worst["fen"])])
    before = positions.copy()
    for action in [*np.flatnonzero(~positions.masks()[0]).tolist(), -1, 1152, 2**40]:
        with pytest.raises(IllegalActionError, match="not legal in game 0"):
            positions.step(np.array([action]))
    assert (positions.boards == before.boards).all() and (positions.moves == before.moves).all()


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
    assert capture_bounds.longest_capture() == 10 < STACK_SHAPE[0]


def test_the_bounds_are_not_below_what_exists() -> None:
    """Guards the proof: no known position may exceed what it claims."""
    assert max(entry["moves"] - entry["pairs"] for entry in EXTREMES) <= 40
    assert max(entry["moves"] for entry in EXTREMES if entry.get("longest_capture")) <= 58
    assert max(entry.get("most_sharing_a_pair", 1) for entry in EXTREMES) <= capture_bounds.most_sharing() == 9
    single = State.from_fen(BRAZILIAN, "W:WK2:B6,7,10,14,15,17,19,24")
    assert len(single.legal_moves()) == 6
