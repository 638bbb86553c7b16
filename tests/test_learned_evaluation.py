"""The learned evaluation: kernel against plain Python, both colours alike, files, fitting, games that it plays."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from damas_env.board import GEOMETRY
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.arena import play_match
from damas_rl.evaluations import EvaluationError, load_evaluation, save_evaluation, shipped_evaluations
from damas_rl.players import PlayerError, make_player, read_spec
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.learned import (
    FEW,
    FINENESS,
    HAND_MADE,
    HIDDEN,
    KING,
    MANY,
    MOST,
    PAIRS,
    PATTERNS,
    SCALE,
    WEIGHTS,
    evaluate_learned,
    evaluate_with,
)
from damas_rl.tablebase import Tablebase
from damas_rl.tuning.fit import FitConfig, Loss, fit
from damas_rl.tuning.games import Samples, play_games, solved_endgames

CBD = get_rules("cbd")


# Not a `kernel`: those are kept on disk until files of their own folder or of the rules change.
@njit
def _evaluate_all(weights, work, boards, out):
    for row in range(len(boards)):
        out[row] = evaluate_learned(weights, work, boards[row, 0], boards[row, 1], boards[row, 2], boards[row, 3])


def evaluations(weights: np.void, boards: np.ndarray) -> np.ndarray:
    out = np.empty(len(boards), dtype=np.int64)
    work = np.zeros(1, dtype=[("hidden", np.float32, HIDDEN)])[0]
    _evaluate_all(weights, work, boards, out)
    return out


def random_weights(seed: int) -> np.void:
    rng = np.random.default_rng(seed)
    weights = np.zeros(1, dtype=WEIGHTS)[0]
    weights["learned"] = 1
    weights["pairs"] = rng.integers(-3000, 3000, size=weights["pairs"].shape)
    for name in ("bias", "blocks", "kings", "inner_bias", "inner", "output_bias", "output"):
        weights[name] = rng.normal(scale=0.4, size=weights[name].shape)
    return weights


def random_boards(seed: int, number: int = 300) -> np.ndarray:
    """uint64[number, 4]: up to twelve pieces a side, men not on their last row, a third of them kings."""
    rng = np.random.default_rng(seed)
    boards = np.zeros((number, 4), dtype=np.uint64)
    for row in boards:
        for rank, square in enumerate(rng.permutation(32)[: rng.integers(2, 25)]):
            side = rank % 2
            king = rng.random() < 0.3 or square // 4 == (7 if side else 0)
            row[2 * side + king] |= np.uint64(1 << int(GEOMETRY[8].bit_of_view[square]))
    return boards


def reference(weights: np.void, boards: np.ndarray) -> float:
    """The score as the head of the module says, square by square."""
    geometry = GEOMETRY[8]
    patterns, men, kings = [0] * 8, 0, 0
    hidden = weights["bias"].astype(float)
    for square in range(32):
        bit = int(geometry.bit_of_view[square])
        own_man, own_king, other_man, other_king = (int(word) >> bit & 1 for word in boards)
        row, column = geometry.coordinates(square)
        block, digit = 2 * (row // 2) + column // 4, 2 * (row % 2) + column % 4 // 2
        patterns[block] += (own_man + 2 * other_man) * 3**digit
        men += own_man + other_man
        kings += own_king - other_king
        hidden += own_king * weights["kings"][0, bit] + other_king * weights["kings"][1, bit]
    for block, pattern in enumerate(patterns):
        hidden += weights["blocks"][block, pattern]
    inner = np.clip(hidden, 0, 1) @ weights["inner"] + weights["inner_bias"]
    network = np.clip(inner, 0, 1) @ weights["output"] + weights["output_bias"]
    pieces = sum(int(word).bit_count() for word in boards)
    late = (min(max(pieces, FEW), MANY) - FEW) / (MANY - FEW)
    few, many = np.sum(
        [weights["pairs"][number, PATTERNS * patterns[a] + patterns[b]] for number, (a, b) in enumerate(PAIRS)], axis=0
    )
    return SCALE * network + (few * (1 - late) + many * late) / FINENESS + KING * kings


def test_kernel_is_equal_to_plain_python() -> None:
    weights, boards = random_weights(1), random_boards(1)
    wanted = [np.clip(reference(weights, row), -MOST, MOST) for row in boards]
    np.testing.assert_allclose(evaluations(weights, boards), wanted, atol=1.01)
    assert np.std(wanted) > 100


def test_scores_stay_far_from_proven_ones() -> None:
    weights = random_weights(2)
    weights["pairs"] = 32_767
    assert (evaluations(weights, random_boards(2)) == MOST).all()
    weights["pairs"] = -32_768
    assert (evaluations(weights, random_boards(2)) == -MOST).all()


def test_search_judges_both_colours_alike(tmp_path: Path) -> None:
    """A position and its twin, board turned and colours swapped, have one score in the view of the side to move."""
    boards = random_boards(3, 60)
    positions = [Positions.from_boards(CBD, boards, np.full(60, color, dtype=np.int8)) for color in (0, 1)]
    going_on = np.flatnonzero(positions[0].terminations == 0)
    search = AlphaBeta(CBD, Limits(depth=3), weights=random_weights(3))
    seeds = np.zeros(len(going_on), dtype=np.uint64)
    white, black = (search.search(batch.take(going_on), seeds) for batch in positions)
    np.testing.assert_array_equal(white.scores, black.scores)
    hand_made = AlphaBeta(CBD, Limits(depth=3)).search(positions[0].take(going_on), seeds)
    assert (white.scores != hand_made.scores).any()


@njit
def _with_any_weights(spec, weights, work, diagonal, boards):
    return evaluate_with(spec, weights, work, diagonal, boards[0], boards[1], boards[2], boards[3])


@pytest.mark.parametrize(("name", "alike"), [("cbd", False), ("international", True)])
def test_other_boards_keep_the_hand_made_evaluation(name: str, alike: bool) -> None:
    rules, work = get_rules(name), np.zeros(1, dtype=[("hidden", np.float32, HIDDEN)])[0]
    own, _, other, _ = rules.initial_boards
    boards = np.array([own, 0, other & (other - np.uint64(1)), 0], dtype=np.uint64)
    hand_made, learned = (
        _with_any_weights(rules.spec, weights, work, rules.tables["diagonal"], boards)
        for weights in (HAND_MADE, random_weights(4))
    )
    assert (hand_made == learned) == alike


def test_file_brings_back_every_weight(tmp_path: Path) -> None:
    weights = random_weights(5)
    save_evaluation(tmp_path / "a.eval", weights, CBD)
    again = load_evaluation(str(tmp_path / "a.eval"), CBD)
    for name in WEIGHTS.names or ():
        np.testing.assert_array_equal(again[name], weights[name])
    # Draw laws do not matter to it.
    load_evaluation(str(tmp_path / "a.eval"), replace(CBD, name="other", draw_laws=()))


def test_unusable_files_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    save_evaluation(path, random_weights(6), CBD)
    whole = path.read_bytes()
    header, body = whole.split(b"\n", 1)

    def refused(content: bytes, message: str, rules: str = "cbd") -> None:
        path.write_bytes(content)
        with pytest.raises(EvaluationError, match=message) as error:
            load_evaluation(str(path), get_rules(rules))
        assert re.fullmatch(r"[^\n]*\.", str(error.value))

    refused(whole, "was made for 'cbd'; 'russian' moves otherwise", "russian")
    refused(b"", "is no evaluation of this version")
    refused(b"[" * 5000, "is no evaluation of this version")
    refused(json.dumps({"format": "damas-evaluation 2"}).encode() + b"\n" + body, "of this version")
    refused(header + b"\n", "is damaged")
    refused(whole[:-100], "is damaged")
    refused(header + b"\n" + body[:200] + bytes([body[200] ^ 1]) + body[201:], "is damaged")
    with pytest.raises(EvaluationError, match="is not a file"):
        load_evaluation(str(tmp_path), CBD)
    with pytest.raises(EvaluationError, match=r"no file or shipped evaluation 'nothing' \(shipped: cbd\)"):
        load_evaluation("nothing", CBD)
    with pytest.raises(PlayerError, match="needs a limit"):
        read_spec("alphabeta:eval=cbd")
    with pytest.raises(EvaluationError):
        make_player("alphabeta:depth=2,eval=nothing", CBD, 0)


def test_shipped_evaluation_is_stronger_than_the_hand_made_one() -> None:
    assert shipped_evaluations() == ["cbd"]
    player, opponent = (make_player(f"alphabeta:nodes=800{end}", CBD, 1) for end in (",eval=cbd", ""))
    assert play_match(player, opponent, CBD, 60, seed=1).score.score > 0.55


def known_weights() -> np.void:
    """A man is worth a hundred, and sixty more in the left half of the board; nothing else counts."""
    weights = np.zeros(1, dtype=WEIGHTS)[0]
    digits = np.arange(PATTERNS)[:, None] // 3 ** np.arange(4) % 3
    balance = FINENESS * ((digits == 1).sum(axis=1) - (digits == 2).sum(axis=1))
    weights["pairs"][:4] = np.add.outer(160 * balance, 100 * balance).reshape(-1, 1)
    return weights


def test_fitting_finds_known_weights_again() -> None:
    rng, seen = np.random.default_rng(7), []
    positions = Positions.initial(CBD, 400)
    for _ in range(40):
        going_on = np.flatnonzero(positions.terminations == 0)
        seen.append((positions.boards[going_on], going_on))
        positions.step(positions.sample_legal(rng))
    boards, games = (np.concatenate(columns) for columns in zip(*seen, strict=True))
    scores = evaluations(known_weights(), boards)
    close = np.abs(scores) < 400
    boards, games, scores = boards[close], games[close].astype(np.int32), scores[close].astype(np.int32)
    losses: list[Loss] = []
    samples = Samples(boards, scores, np.sign(scores).astype(np.int8), games)
    found = evaluations(fit(samples, FitConfig(batch=256, result_share=0.0), losses.append), boards)
    assert [loss.epoch for loss in losses] == [1, 2, 3, 4, 5]
    unseen = games % 10 == 0
    men = np.bitwise_count(boards).astype(np.int64)
    material = 100 * (men[:, 0] - men[:, 2]) + KING * (men[:, 1] - men[:, 3])
    errors = [np.abs(guess - scores)[unseen].mean() for guess in (found, material)]
    assert errors[0] < errors[1] / 3
    # The loss that was reported is that of the weights in the kernel.
    wanted, guess = (1 / (1 + np.exp(-values[unseen] / SCALE)) for values in (scores, found))
    loss = -(wanted * np.log(guess) + (1 - wanted) * np.log(1 - guess)).mean()
    assert loss == pytest.approx(min(loss.mixed for loss in losses), abs=1e-4)


def test_games_know_their_results(tmp_path: Path) -> None:
    search = AlphaBeta(CBD, Limits(nodes=200))
    samples = play_games(search, Tablebase.build(CBD, 3), 24, 1)
    assert len(np.unique(samples.games)) == 24
    # Quiet positions only: no side to move can capture.
    assert not (
        Positions.from_boards(CBD, samples.boards, np.zeros(len(samples), np.int8)).moves[:, 0] >> np.uint64(1)
        & np.uint64((1 << 51) - 1)
    ).any()
    # Scores foretell results, in the view of the side to move.
    assert np.corrcoef(np.clip(samples.scores, -300, 300), samples.results)[0, 1] > 0.4
    again = play_games(search, Tablebase.build(CBD, 3), 24, 1)
    np.testing.assert_array_equal(again.boards, samples.boards)
    samples.save(tmp_path / "games.npz")
    loaded = Samples.load(tmp_path / "games.npz", 100)
    np.testing.assert_array_equal(loaded.games, samples.games + 100)
    np.testing.assert_array_equal(loaded.scores, samples.scores)
    (tmp_path / "games.npz").write_bytes(b"no games")
    with pytest.raises(ValueError, match="holds no games"):
        Samples.load(tmp_path / "games.npz", 0)


def test_solved_endgames_carry_the_results_of_the_table() -> None:
    table = Tablebase.build(CBD, 3)
    samples = solved_endgames(table, 200, 1)
    positions = Positions.from_boards(CBD, samples.boards, np.zeros(len(samples), dtype=np.int8))
    np.testing.assert_array_equal(samples.results, table.look_up(positions)[0])
    np.testing.assert_array_equal(np.sign(samples.scores), samples.results)
    assert set(samples.results.tolist()) == {-1, 0, 1}
