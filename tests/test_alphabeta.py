"""Alpha-beta against plain negamax, proven wins, draws at the boundary of a counter, and both colours alike."""

from dataclasses import replace

import numpy as np
import pytest

from damas_env.envs.opponents import sample_legal
from damas_env.game import Game
from damas_env.kernel import kernel
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.search.alphabeta import AlphaBeta, AlphaBetaResult, Limits
from damas_rl.search.alphabeta_kernels import _context, _load, new_frames, new_state
from damas_rl.search.evaluation import evaluate
from damas_rl.search.transpositions import WON

CBD = get_rules("cbd")
# Equal movement, so that nothing is compiled again; only the draw laws differ.
REPETITION_ONLY = replace(CBD, name="repetition_only", draw_laws=())
TWOFOLD = replace(CBD, name="twofold", draw_laws=(), repetition=2)
SHORT = replace(
    CBD,
    name="short",
    draw_laws=tuple(replace(law, plies=3 if law.material else 5) for law in CBD.draw_laws),
    ply_cap=40,
)


@kernel
def _evaluate_all(spec, diagonal, boards, out):
    for game in range(len(boards)):
        out[game] = evaluate(spec, diagonal, boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3])


def evaluations(positions: Positions) -> np.ndarray:
    out = np.empty(len(positions), dtype=np.int64)
    _evaluate_all(positions.rules.spec, positions.rules.tables.diagonal, positions.boards, out)
    return out


def negamax(positions: Positions, depth: int, ply: int = 0, room: int = 200_000) -> tuple[np.ndarray, np.ndarray]:
    """(scores, child scores) of plain negamax, level by level: no windows, no table, games played by ``Positions``."""
    scores = np.where(positions.lost, ply - WON, 0).astype(np.int64)
    going_on = positions.terminations == 0
    capture = (positions.moves[:, 0] >> np.uint64(1)) & np.uint64((1 << 51) - 1) > 0
    leaf = going_on & ~capture if depth <= 0 else np.zeros_like(going_on)
    if leaf.any():
        scores[leaf] = evaluations(positions.take(np.flatnonzero(leaf)))
    inner = np.flatnonzero(going_on & ~leaf)
    if not len(inner):
        return scores, np.empty(0, dtype=np.int64)
    counts = positions.counts[inner]
    if counts.sum() > room:
        raise MemoryError
    parents = np.repeat(inner, counts)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    moves = np.arange(len(parents)) - np.repeat(starts, counts)
    children = positions.take(parents)
    children.step(children.actions[np.arange(len(parents)), moves])
    below, _ = negamax(children, depth - 1, ply + 1, room)
    scores[inner] = np.maximum.reduceat(-below, starts)
    return scores, -below


def search(positions: Positions, seed: int = 0, **limits: int) -> AlphaBetaResult:
    seeds = np.random.default_rng(seed).integers(0, 2**63, size=len(positions), dtype=np.uint64)
    return AlphaBeta(positions.rules, Limits(**limits)).search(positions, seeds)


def at(fen: str, rules: RuleSet = CBD) -> Positions:
    return Game(rules, fen).positions


def play_on(positions: Positions, plies: np.ndarray, rng: np.random.Generator) -> Positions:
    """Random moves, ``plies`` of them in each game; finished games are dropped."""
    for ply in range(int(plies.max(initial=0))):
        positions.step(sample_legal(positions, rng), ply < plies)
    return positions.take(np.flatnonzero(positions.terminations == 0))


def set_ups(rng: np.random.Generator, rules: RuleSet, number: int, pieces: int, kings: float) -> Positions:
    """Random positions with up to ``pieces`` pieces a side, each a king with probability ``kings``."""
    fens = []
    while len(fens) < number:
        squares = rng.permutation(32)[: rng.integers(2, 2 * pieces + 1)] + 1
        sides: tuple[list[str], list[str]] = ([], [])
        for index, square in enumerate(squares):
            side = index % 2
            crowned = rng.random() < kings or (square > 28 if side else square < 5)
            sides[side].append(("K" if crowned else "") + str(square))
        fens.append(f"{'WB'[rng.integers(2)]}:W{','.join(sides[0])}:B{','.join(sides[1])}")
    boards, colors = zip(*((at(f, rules).boards[0], at(f, rules).colors[0]) for f in fens), strict=True)
    positions = Positions.from_boards(rules, np.array(boards), np.array(colors, dtype=np.int8))
    return positions.take(np.flatnonzero(positions.terminations == 0))


def assert_equal_to_negamax(positions: Positions, depth: int, least: int = 1) -> None:
    """Score of each position equal to negamax, and the move one of its best."""
    result = search(positions, depth=depth)
    compared = 0
    for game in range(len(positions)):
        one = positions.take(np.array([game]))
        try:
            scores, children = negamax(one, depth)
        except MemoryError:
            continue
        compared += 1
        assert result.scores[game] == scores[0], (game, depth, one.boards, one.counters)
        index = one.actions[0].tolist().index(result.actions[game])
        assert children[index] == scores[0]
    assert compared >= least


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_equal_to_negamax_in_games(depth: int) -> None:
    rng = np.random.default_rng(depth)
    positions = play_on(Positions.initial(CBD, 60), rng.integers(0, 60, size=60), rng)
    assert_equal_to_negamax(positions, depth, least=20)


@pytest.mark.parametrize("rules", [CBD, SHORT, TWOFOLD], ids=lambda rules: rules.name)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_equal_to_negamax_with_kings(rules: RuleSet, depth: int) -> None:
    rng = np.random.default_rng(10 + depth)
    positions = set_ups(rng, rules, 40, 3, 0.6)
    positions = play_on(positions, rng.integers(0, 12, size=len(positions)), rng)
    assert_equal_to_negamax(positions, depth, least=10)


def descendants(one: Positions, depth: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """(ply, key) of positions on random lines from a position."""
    found = []
    for _ in range(6):
        line = one.copy()
        for ply in range(1, depth + 1):
            if line.terminations[0]:
                break
            line.step(line.actions[:, rng.integers(line.counts[0])])
            if line.history_len[0] > ply:
                found.append((ply, int(line.history[0, line.history_len[0] - 1])))
    return found


def with_past(one: Positions, depth: int, rng: np.random.Generator) -> Positions:
    """The same position with another past: other counters, and earlier visits to positions that lie ahead."""
    other = one.copy()
    names = one.rules.counter_names
    for slot in range(len(names)):
        limit = min(law.plies for law in one.rules.draw_laws if law.counter == names[slot])
        other.counters[0, slot] = rng.integers(0, limit)
    length = int(rng.integers(1, min(12, one.history.shape[1])))
    past = rng.integers(1, 2**63, size=length, dtype=np.uint64)
    # Where a side without king has to move men, the past cannot hold what lies ahead.
    ahead = descendants(one, depth, rng) if one.boards[0, 1] and one.boards[0, 3] else []
    for ply, key in ahead[: rng.integers(0, len(ahead) + 1)]:
        places = np.arange((length - 1 - ply) % 2, length - 1, 2)
        past[rng.permutation(places)[: rng.integers(0, 3)]] = key
    past[-1] = one.history[0, one.history_len[0] - 1]
    other.history[0, :length], other.history_len[0] = past, length
    return other


@pytest.mark.parametrize(
    ("rules", "depth", "pieces", "number"),
    [
        (SHORT, 2, 2, 60),
        (SHORT, 4, 2, 20),
        (TWOFOLD, 2, 2, 60),
        (REPETITION_ONLY, 3, 2, 60),
        (REPETITION_ONLY, 5, 1, 6),
    ],
)
def test_equal_contexts_mean_equal_values(rules: RuleSet, depth: int, pieces: int, number: int) -> None:
    """The claim on which the table rests: counters and past matter only as far as the context tells them apart."""
    rng = np.random.default_rng(depth)
    state, root = new_state(rules)[0], new_frames(rules)[0]
    state["full_width"] = 1
    shared = differing = 0
    for game in range(number):
        one = set_ups(rng, rules, 1, pieces, 0.8)
        values: dict[int, int] = {}
        for _ in range(8 if len(one) else 0):
            variant = with_past(one, depth, rng)
            try:
                value = int(negamax(variant, depth)[0][0])
            except MemoryError:
                break
            arrays = (variant.boards, variant.plies, variant.counters, variant.repetitions, variant.history)
            _load(rules.tables, state, root, *(array[0] for array in arrays), variant.history_len[0])
            context = int(_context(rules.tables, state, root, 0, depth))
            shared += context in values
            differing += value not in values.values() and len(values) > 0
            assert values.setdefault(context, value) == value, (game, variant.counters, variant.history[0, :12])
            assert search(variant, depth=depth).scores[0] == value
    assert differing > 0
    assert shared > 0
