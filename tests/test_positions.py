"""Hand-picked positions, each with the error that it catches: core and reference against the listed moves."""

import json

import pytest

from agreement import BRAZILIAN, Decoder, to_boards, to_positions
from reference_rules import DATA, State

CASES = json.loads((DATA / "positions.json").read_text("utf-8"))["positions"]


def test_the_data_is_complete() -> None:
    assert len(CASES) == 62
    assert all(len(case["legal"]) == case["n_legal"] == len(case["crowned_after"]) for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_legal_moves_and_crowning(case: dict) -> None:
    state = State.from_fen(BRAZILIAN, case["fen"])
    positions = to_positions([state])
    legal = Decoder(BRAZILIAN).legal(positions, 0)
    want = {(frm, to, tuple(captures)): king for (frm, to, captures), king in zip(
        case["legal"], case["crowned_after"], strict=True)}  # fmt: skip

    assert sorted(move[:3] for move in legal) == sorted(want), case["tests"]
    assert sorted(legal) == sorted(state.legal_moves())
    assert (positions.terminations[0] in (1, 2)) == (not legal)
    for index, move in enumerate(legal):
        after = positions.copy()
        after.terminations[:] = 0  # listed endings included, every move is tried
        after.step(positions.actions[:, index])
        expected = state.play(move)
        assert tuple(after.boards[0].tolist()) == to_boards(expected)
        is_king = state.pieces[BRAZILIAN.squares[move.frm - 1]].isupper() or move.promotes
        assert is_king == want[move[:3]] == expected.board()[move.to].isupper()
