"""Alpha-beta against plain negamax, proven wins, draws at the boundary of a counter, and both colours alike."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numba import njit

from damas_env.game import Game
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.search import alphabeta
from damas_rl.search.alphabeta import AlphaBeta, AlphaBetaResult, Limits
from damas_rl.search.alphabeta_kernels import _context, _load, new_frames, new_state
from damas_rl.search.evaluation import evaluate
from damas_rl.search.transpositions import EXACT, LOWER, PROVEN, WON, new_table, probe, store
from damas_rl.tablebase.endgames import new_endgames

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


# Not a `kernel`: those are kept on disk until files of their own folder or of the rules change.
@njit
def _evaluate_all(spec, diagonal, boards, out):
    for game in range(len(boards)):
        out[game] = evaluate(spec, diagonal, boards[game, 0], boards[game, 1], boards[game, 2], boards[game, 3])


def evaluations(positions: Positions) -> np.ndarray:
    out = np.empty(len(positions), dtype=np.int64)
    _evaluate_all(positions.rules.spec, positions.rules.tables["diagonal"], positions.boards, out)
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
        positions.step(positions.sample_legal(rng), ply < plies)
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


def context_of(one: Positions, depth: int) -> int:
    """Context of a position in the table, searched to a depth in full width."""
    state, root = new_state(one.rules)[0], new_frames(one.rules)[0]
    state["full_width"] = 1
    arrays = (one.boards, one.plies, one.counters, one.repetitions, one.history)
    _load(one.rules.tables, state, root, *(array[0] for array in arrays), one.history_len[0])
    return int(_context(one.rules.tables, new_endgames(one.rules), state, root, 0, depth))


@pytest.mark.parametrize(
    ("rules", "depth", "pieces", "number"),
    [
        (SHORT, 2, 2, 40),
        (SHORT, 4, 2, 20),
        (TWOFOLD, 2, 2, 25),
        (REPETITION_ONLY, 3, 2, 25),
        (REPETITION_ONLY, 5, 1, 6),
    ],
)
def test_equal_contexts_mean_equal_values(rules: RuleSet, depth: int, pieces: int, number: int) -> None:
    """The claim on which the table rests: counters and past matter only as far as the context tells them apart."""
    rng = np.random.default_rng(depth)
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
            context = context_of(variant, depth)
            shared += context in values
            differing += value not in values.values() and len(values) > 0
            assert values.setdefault(context, value) == value, (game, variant.counters, variant.history[0, :12])
            assert search(variant, depth=depth).scores[0] == value
    assert differing > 0
    assert shared > 0


def with_counters(fen: str, **counters: int) -> Positions:
    """A position in which draw counters have run."""
    positions = at(fen)
    for name, plies in counters.items():
        positions.counters[0, CBD.counter_names.index(name)] = plies
    return positions


@pytest.mark.parametrize("depth", [6, 7, 8])
def test_the_table_changes_no_score(depth: int) -> None:
    """A table of one bucket forgets nearly everything, a large one nothing."""
    rng = np.random.default_rng(depth)
    for positions in (
        set_ups(rng, CBD, 150, 3, 0.5),
        play_on(Positions.initial(CBD, 60), rng.integers(20, 60, size=60), rng),
    ):
        scores = []
        for buckets in (1, 1 << 16):
            searcher = AlphaBeta(CBD, Limits(depth=depth))
            searcher._buckets = buckets
            scores.append(searcher.search(positions, np.zeros(len(positions), dtype=np.uint64)).scores)
        np.testing.assert_array_equal(*scores)


def test_the_table_keeps_the_distance_of_a_loss() -> None:
    """White has lost in eight plies, also where positions are met again at another ply."""
    positions = at("W:W16,20,26:BK6,K9,K25").take(np.zeros(8, dtype=int))
    assert (search(positions, depth=8).scores == 8 - WON).all()


@pytest.mark.parametrize("limit", ["of a counter", "of the game"])
def test_captures_beyond_the_horizon_count(limit: str) -> None:
    """White can have a king taken with the very ply that draws; the horizon lies before it."""
    fen = "W:WK29,K30:BK1,K2"
    early, late = at(fen), with_counters(fen, ending=8)
    if limit == "of the game":
        early, late = (at(fen, replace(CBD, name="capped", ply_cap=90)) for _ in range(2))
        late.plies[0] = 88
    values = [int(negamax(one, 1)[0][0]) for one in (early, late)]
    assert values[0] < values[1] == 0
    assert [int(search(one, depth=1).scores[0]) for one in (early, late)] == values
    assert context_of(early, 1) != context_of(late, 1)


def test_draw_comes_exactly_at_the_limit_of_a_counter() -> None:
    winning = "W:WK1,K9,K13:BK32"  # three kings against one that is off the main diagonal
    assert search(with_counters(winning, kings_only=38), depth=1).scores[0] > 100
    assert search(with_counters(winning, kings_only=39), depth=1).scores[0] == 0


def test_capture_of_the_last_piece_at_the_limit_wins() -> None:
    """The count of a listed ending does not restart with a capture, but a lost game is not drawn."""
    result = search(with_counters("W:WK29,K30:BK22", ending=9), depth=1)
    assert result.scores[0] == WON - 1
    assert result.values()[0] == 1.0


def test_blocking_move_at_the_limit_wins() -> None:
    """White's king shuts Black's last man in on the very ply that would complete 40 with kings only."""
    positions = with_counters("W:WK18,30:B21", kings_only=39)
    result = search(positions, depth=1)
    assert result.scores[0] == WON - 1
    positions.step(result.actions)
    assert positions.winners()[0] == 0


def test_proven_wins_are_played_out_in_the_announced_number_of_plies() -> None:
    rng = np.random.default_rng(8)
    positions = set_ups(rng, CBD, 200, 3, 0.5)
    result = search(positions, depth=7)
    proven = np.flatnonzero((result.scores >= PROVEN) & (result.scores < WON - 2))
    assert len(proven) >= 5
    for game in proven[:12]:
        one = positions.take(np.array([game]))
        color, left = int(one.colors[0]), int(WON - result.scores[game])
        while not one.terminations[0]:
            found = search(one, depth=7)
            # The winning side keeps its word, the other one holds out as long as it can.
            assert WON - abs(int(found.scores[0])) == left
            one.step(found.actions)
            left -= 1
        assert one.winners()[0] == color
        assert left == 0


def test_what_reductions_prove_is_true() -> None:
    positions = set_ups(np.random.default_rng(8), CBD, 200, 3, 0.5)
    result = search(positions, nodes=10_000)
    plies = WON - np.abs(result.scores)
    checked = 0
    for game in np.flatnonzero((plies > 2) & (plies < 10)):
        full = search(positions.take(np.array([game])), depth=int(plies[game]))
        assert full.scores[0] == result.scores[game]
        checked += 1
    assert checked >= 10


def test_principal_variation_leads_to_the_announced_end() -> None:
    positions = set_ups(np.random.default_rng(8), CBD, 200, 3, 0.5)
    result = search(positions, depth=7)
    proven = np.flatnonzero(np.abs(result.scores) >= PROVEN)
    assert len(proven) >= 20
    for game in proven:
        line = result.variations()[game]
        assert line[0] == result.actions[game]
        one = positions.take(np.array([game]))
        for action in line:
            one.step(np.array([action]))
        assert one.lost[0]
        assert len(line) == WON - abs(result.scores[game])


def test_both_colours_see_the_same() -> None:
    """A position and its twin with colours swapped: 33 - n for each square n, the other side to move."""
    twins = {
        "W:W21,22,K30,25:B5,10,11,K4": "B:W28,23,22,K29:B12,11,K3,8",
        "B:W17,26,31:BK7,12,3": "W:WK26,21,30:B16,7,2",
        "W:WK29,K13,20:BK22": "B:WK11:BK4,K20,13",
    }
    for fen, twin in twins.items():
        one, other = search(at(fen), depth=6), search(at(twin), depth=6)
        assert one.scores[0] == other.scores[0]
        assert one.actions[0] == other.actions[0]  # actions are in the view of the side to move


def test_equal_moves_are_drawn_between_by_the_seed() -> None:
    rng = np.random.default_rng(2)
    compared = 0
    for positions in (set_ups(rng, CBD, 1, 4, 0.2) for _ in range(40)):
        if not len(positions):
            continue
        scores, children = negamax(positions, 2)
        best = set(positions.actions[0, : len(children)][children == scores[0]].tolist())
        if 2 <= len(best) <= 4:
            compared += 1
            same = positions.take(np.zeros(64, dtype=int))
            assert set(search(same, seed=compared, depth=2).actions.tolist()) == best
    assert compared >= 3


def test_results_depend_on_position_and_seed_only() -> None:
    rng = np.random.default_rng(4)
    positions = play_on(Positions.initial(CBD, 30), rng.integers(0, 50, size=30), rng)
    seeds = rng.integers(0, 2**63, size=len(positions), dtype=np.uint64)
    for limits in (Limits(depth=5), Limits(nodes=3000)):
        searcher = AlphaBeta(CBD, limits)
        whole = searcher.search(positions, seeds)
        for game in (0, 3, 11, len(positions) - 1):
            alone = searcher.search(positions.take(np.array([game])), seeds[game : game + 1])
            for name in ("actions", "scores", "depths", "nodes", "lines"):
                np.testing.assert_array_equal(getattr(alone, name)[0], getattr(whole, name)[game])


def test_limits() -> None:
    start = Positions.initial(CBD)
    result = search(start, nodes=5000)
    assert result.nodes[0] <= 5000
    assert result.depths[0] > 5
    began = time.perf_counter()
    result = search(start, ms=200)
    assert 0.15 < time.perf_counter() - began < 1.0
    assert result.depths[0] > 5
    assert search(start, nodes=1).depths[0] == 1  # the first iteration is completed in any case
    assert search(start, depth=4, nodes=10**9).depths[0] == 4
    with pytest.raises(ValueError, match="needs a limit"):
        Limits()
    with pytest.raises(ValueError, match="depth=1 to 60, not 61"):
        Limits(depth=61)
    lost = at("W:W21:B17,14,10")
    assert lost.terminations[0]
    with pytest.raises(ValueError, match="Game 0 is over"):
        search(lost, depth=1)


def test_a_search_can_be_stopped_from_outside() -> None:
    searcher = AlphaBeta(CBD, Limits(depth=60))
    found: list[AlphaBetaResult] = []
    seeds = np.zeros(1, dtype=np.uint64)
    thread = threading.Thread(target=lambda: found.append(searcher.search(Positions.initial(CBD), seeds)))
    thread.start()
    time.sleep(0.3)
    searcher._stop[0] = 1
    thread.join(10)
    assert found[0].actions[0] in Positions.initial(CBD).actions[0]


def test_evaluation_is_the_same_for_both_sides() -> None:
    """What one side sees is what the other one sees with the sign turned, apart from the bonus for the move."""
    rng = np.random.default_rng(6)
    positions = set_ups(rng, CBD, 300, 6, 0.3)
    turned = np.array(
        [[int(f"{int(word):036b}"[::-1], 2) for word in boards[[2, 3, 0, 1]]] for boards in positions.boards],
        dtype=np.uint64,
    )
    other = Positions.from_boards(CBD, turned, 1 - positions.colors)
    both = evaluations(positions) + evaluations(other)
    assert len(set(both.tolist())) == 1
    assert 0 < both[0] < 20


@pytest.mark.parametrize(
    ("better", "worse", "term"),
    [
        ("13", "21", "a man farther up"),
        ("30", "26", "a man on the home row"),
        ("18", "17", "a man in the centre"),
        ("17", "20", "a man with two squares before it"),
        ("K18", "K17", "a king in the centre"),
        ("26,K29", "25,K29", "a king that can move"),
        ("K26", "26", "a king"),
        ("25,26", "26", "one man more"),
    ],
)
def test_what_the_evaluation_likes(better: str, worse: str, term: str) -> None:
    """Each pair of positions differs in one term only, or in one that outweighs the others."""
    good, bad = (int(evaluations(at(f"W:W{own}:B4"))[0]) for own in (better, worse))
    assert good > bad, term


def test_a_man_that_is_about_to_be_crowned_is_worth_more() -> None:
    """Two rows farther up twice; the second time the man has also come near the last row."""
    low, middle, high = (int(evaluations(at(f"W:W{square}:B4"))[0]) for square in (21, 13, 5))
    assert high - middle > middle - low > 0


def test_scores_as_values_between_minus_one_and_one() -> None:
    scores = np.array([0, 100, -100, 9999, -9999, WON - 3, 3 - WON])
    result = AlphaBetaResult(*np.zeros((1, len(scores))), scores, *np.zeros((3, len(scores))))
    assert result.values() == pytest.approx([0, 0.2449, -0.2449, 0.99, -0.99, 1, -1], abs=1e-4)


def test_a_bucket_keeps_the_deepest_and_the_latest_result() -> None:
    table, context = new_table(16), np.uint64(5)

    def known(*numbers: int) -> list[int]:
        return [probe(table, 1, np.uint64(1 + 16 * number), context)[0] for number in numbers]

    for number, depth in enumerate((3, 7, 5)):
        store(table, 1, np.uint64(1 + 16 * number), context, depth, number, EXACT, 0)
        if number == 1:
            assert known(0, 1) == [3, 7]  # the deeper one has moved the first one on
    assert known(0, 1, 2) == [0, 7, 5]


def test_table_keeps_values_apart_by_context_and_search() -> None:
    table = new_table(16)
    key, context, other = np.uint64(77), np.uint64(5), np.uint64(6)
    store(table, 3, key, context, 7, -250, LOWER, 1234)
    assert probe(table, 3, key, context) == (7, -250, LOWER, 1234)
    assert probe(table, 3, key, other) == (0, 0, 0, 1234)  # the move still serves
    assert probe(table, 4, key, context) == (0, 0, 0, -1)  # another search
    assert probe(table, 3, np.uint64(77 + 16), context) == (0, 0, 0, -1)
    store(table, 3, key, other, 2, WON - 5, EXACT, 1)
    assert probe(table, 3, key, context)[:3] == (7, -250, LOWER)
    assert probe(table, 3, key, other)[:3] == (2, WON - 5, EXACT)


def test_threads_that_ask_about_a_single_game_do_not_wait_for_each_other(monkeypatch):
    def never():
        raise AssertionError("the threads that all searches share")

    positions, seeds = Positions.initial(CBD), np.zeros(1, np.uint64)
    expected = AlphaBeta(CBD, Limits(depth=3)).search(positions, seeds)
    monkeypatch.setattr(alphabeta, "_pool", never)
    with ThreadPoolExecutor(1) as threads:
        found = threads.submit(AlphaBeta(CBD, Limits(depth=3)).search, positions, seeds).result()
    assert (found.actions, found.scores, found.nodes) == (expected.actions, expected.scores, expected.nodes)
    with pytest.raises(AssertionError, match="share"):
        AlphaBeta(CBD, Limits(depth=3)).search(positions, seeds)
