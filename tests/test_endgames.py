"""Endgame tables inside games: draw laws, both searches, self-play, records for learning and the test of a player."""

import errno
import os
from dataclasses import replace

import numpy as np
import pytest

from damas_env.board import GEOMETRY
from damas_env.game import Game
from damas_env.outcome import standing_laws
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.endgames import endgame_records, mistakes, sample_endgames
from damas_rl.players import PlayerError, RandomPlayer, make_player, read_spec
from damas_rl.reanalysis import Reanalysis
from damas_rl.replay import ReplayBuffer, ReplayConfig
from damas_rl.search.alphabeta import AlphaBeta, Limits
from damas_rl.search.mcts import Search, SearchConfig
from damas_rl.search.transpositions import PROVEN, WON
from damas_rl.selfplay import SelfPlay, SelfPlayConfig
from damas_rl.selfplay.group import Group
from damas_rl.tablebase import Tablebase, TablebaseError, default_path, open_tablebase
from damas_rl.tablebase.endgames import DRAW, LOSS, UNKNOWN, WIN
from damas_rl.tablebase.index import new_index, slot
from learning_cases import random_records
from search_cases import HashEvaluator

CBD = get_rules("cbd")


@pytest.fixture(scope="module")
def table() -> Tablebase:
    return open_tablebase(CBD, 4)


@pytest.fixture(scope="module")
def small() -> Tablebase:
    return open_tablebase(CBD, 3)


def test_reanalysis_leaves_solved_endgames_as_they_are(small: Tablebase) -> None:
    """They stand among the records of a run with ``trainer.endgame_share``, and no search knows them better."""
    replay, reanalysis = (
        ReplayBuffer(CBD, ReplayConfig(capacity=500, window=500)),
        Reanalysis(CBD, SearchConfig(kind="gumbel"), 8, 1, small),
    )
    replay.add(random_records(CBD, 200))
    solved = endgame_records(small, 100, np.random.default_rng(3))
    replay.add(solved)
    others = np.bitwise_count(replay.state_dict()["rows"]["boards"]).sum(axis=1) > 3
    assert reanalysis.run(replay, HashEvaluator(), 500, (1, 2)) == others.sum() >= 190
    reanalysis.close()
    kept = replay.state_dict()["rows"]
    assert (kept["q"][~others][-100:] == solved.q).all() and (kept["policy"][~others][-100:] == solved.policy).all()


def test_verdicts_hold_under_the_draw_laws(table: Tablebase) -> None:
    """What is called certain is what a search with all draw laws and without the table finds within its depth."""
    rng = np.random.default_rng(5)
    positions = sample_endgames(table, 1500, rng)
    laws = np.array([standing_laws(CBD.tables, *boards) for boards in positions.boards])
    positions.counters[:, 0] = rng.integers(0, 40, 1500)
    positions.counters[:, 1] = np.where(laws & 0b110, rng.integers(0, 10, 1500), 0)
    verdicts = table.judge(positions)
    scores = AlphaBeta(CBD, Limits(depth=9)).search(positions, np.zeros(1500, np.uint64)).scores
    won, lost = scores >= PROVEN, scores <= -PROVEN
    near = verdicts.distance <= 9
    for proof, found in ((WIN, won), (LOSS, lost)):
        certain = (verdicts.proof == proof) & near
        assert certain.sum() > 100 and found[certain].all()
        assert np.isin(verdicts.proof[found], (proof, UNKNOWN)).all()
    certain = (verdicts.proof == WIN) & near
    assert (scores[certain] == WON - verdicts.distance[certain]).all()
    assert not (won | lost)[verdicts.proof == DRAW].any()
    uncertain = verdicts.proof == UNKNOWN
    assert (won | lost)[uncertain].any() and not (won | lost)[uncertain].all()


def test_a_win_that_a_law_takes_away(table: Tablebase) -> None:
    """Two kings against one have ten plies; a longer win of the board is a draw of the game, for certain."""
    rng = np.random.default_rng(1)
    rules = replace(CBD, draw_laws=tuple(replace(law, plies=2) if law.counter == "ending" else law
                                         for law in CBD.draw_laws))  # fmt: skip
    tight = Tablebase(rules, 4, table.values)
    boards = np.zeros((4000, 4), np.uint64)
    squares = np.argsort(rng.random((4000, 32)), axis=1)[:, :3]
    bits = np.uint64(1) << GEOMETRY[8].bit_of_view.astype(np.uint64)
    boards[:, 1] = bits[squares[:, 0]] | bits[squares[:, 1]]
    boards[:, 3] = bits[squares[:, 2]]
    here = Positions.from_boards(rules, boards, np.zeros(4000, np.int8))
    verdicts = tight.judge(here)
    longer, short = verdicts.distance > 2, (verdicts.distance <= 2) & (verdicts.result != 0)
    assert longer.sum() > 5 and (verdicts.proof[longer] == DRAW).all()
    config, rows = SelfPlayConfig(games=4, groups=1, tablebase=4), np.flatnonzero(longer)[:4]
    group = Group(rules, config, SearchConfig(), np.random.SeedSequence(1), None, tight)
    group.positions = here.take(rows)
    over, winners, left = group._results()
    assert over.all() and (winners == -1).all() and (left == 0).all()
    assert short.sum() > 100 and (verdicts.proof[short] == np.where(verdicts.result[short] > 0, WIN, LOSS)).all()


def test_counters_repetition_and_ply_cap_make_wins_uncertain(table: Tablebase) -> None:
    rng = np.random.default_rng(2)
    positions = sample_endgames(table, 300, rng)
    verdicts = table.judge(positions)
    long = np.flatnonzero((verdicts.proof == WIN) & (verdicts.distance >= 3))
    assert len(long) > 20
    shuffled = positions.take(long)
    shuffled.history_len[:] = 6  # five plies without progress: something may have occurred twice
    assert (table.judge(shuffled).proof == UNKNOWN).all()
    late = positions.take(long)
    late.counters[:, 0] = 38  # of 40 plies of kings only
    assert (table.judge(late).proof == UNKNOWN).all()
    capped = Tablebase(replace(CBD, ply_cap=100), 4, table.values)
    near = Positions.from_boards(capped.rules, positions.boards[long], positions.colors[long])
    near.plies[:] = 98
    assert (capped.judge(near).proof == UNKNOWN).all()
    near.plies[:] = 0
    assert (capped.judge(near).proof == WIN).all()


def test_search_proves_what_the_table_knows(table: Tablebase) -> None:
    positions = sample_endgames(table, 60, np.random.default_rng(3))
    search = Search(CBD, HashEvaluator(), SearchConfig(), 60, 300, table)
    result, verdicts = search.run(positions, 300), table.judge(positions)
    sure = result.proven != UNKNOWN
    assert sure.mean() > 0.7 and (result.proven[sure] == verdicts.proof[sure]).all()
    best = table.best_moves(positions)
    chosen = positions.actions == result.choice[:, None]
    assert (best & chosen).any(axis=1).all()  # of the won moves the quickest
    assert (result.policy[:, : best.shape[1]][~best] == 0).all()
    assert result.policy.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_search_wins_before_a_law_strikes(table: Tablebase) -> None:
    """The quickest win of the board may come too late for a law, while a slower one comes in time."""
    rng = np.random.default_rng(5)
    positions = sample_endgames(table, 1500, rng)
    laws = np.array([standing_laws(CBD.tables, *boards) for boards in positions.boards])
    positions.counters[:, 0] = rng.integers(32, 40, 1500)  # of 40 plies of kings only
    positions.counters[:, 1] = np.where(laws & 0b110, rng.integers(0, 10, 1500), 0)
    positions = positions.take(np.flatnonzero(table.judge(positions).proof == UNKNOWN)[:400])
    result = Search(CBD, HashEvaluator(), SearchConfig(), len(positions), 100, table).run(positions, 100)
    won = np.flatnonzero(result.proven == WIN)
    after, actions = positions.take(won), result.choice[won]
    best = (table.best_moves(after) & (after.actions == actions[:, None])).any(axis=1)
    assert len(won) > 100 and not best.all()
    after.step(actions)
    going = np.flatnonzero(after.terminations == 0)
    assert len(going) + after.lost.sum() == len(won)  # none is drawn
    scores = AlphaBeta(CBD, Limits(depth=6), table).search(after.take(going), np.zeros(len(going), np.uint64)).scores
    assert (scores <= -PROVEN).all()


def test_alphabeta_knows_distances_beyond_its_depth(table: Tablebase) -> None:
    positions = sample_endgames(table, 200, np.random.default_rng(4))
    verdicts = table.judge(positions)
    rows = np.flatnonzero((verdicts.proof != DRAW) & (verdicts.distance > 4))
    positions = positions.take(rows)
    found = AlphaBeta(CBD, Limits(depth=2), table).search(positions, np.zeros(len(rows), np.uint64))
    wanted = verdicts.result[rows].astype(np.int64) * (WON - verdicts.distance[rows].astype(np.int64))
    assert len(rows) > 20 and (found.scores == wanted).mean() > 0.9
    best = table.best_moves(positions) & (positions.actions == found.actions[:, None])
    assert best.any(axis=1)[found.scores == wanted].all()


@pytest.mark.parametrize("spec", ["mcts", "alphabeta:depth=3,tables=4"])
def test_wins_are_won(spec: str, table: Tablebase) -> None:
    """A player with the table brings home every win that is certain, against a random defender."""
    positions = sample_endgames(table, 200, np.random.default_rng(6))
    positions = positions.take(np.flatnonzero(table.judge(positions).proof == WIN)[:40])
    mover = positions.colors.copy()
    search = Search(CBD, HashEvaluator(), SearchConfig(), 40, 16, table)
    player, opponent = make_player("random" if spec == "mcts" else spec, CBD, 1), RandomPlayer(2)
    while not (positions.terminations != 0).all():
        going = positions.terminations == 0
        actions = np.full(len(positions), -1, np.int16)
        for mine in (True, False):
            rows = np.flatnonzero(going & ((positions.colors == mover) == mine))
            if len(rows):
                taken = positions.take(rows)
                if mine and spec == "mcts":
                    actions[rows] = search.run(taken, 16).choice
                else:
                    actions[rows] = (player if mine else opponent).choose(taken).actions
        positions.step(actions, going)
    assert (positions.winners() == mover).all()


def test_selfplay_ends_where_the_result_is_certain(small: Tablebase) -> None:
    config = SelfPlayConfig(games=32, groups=2, simulations=8, tablebase=3)
    batch = SelfPlay(CBD, config, SearchConfig(), 7).run(HashEvaluator(), 32 * 80)
    ended = [game for game in batch.games if not game.termination]
    assert len(ended) > 5
    assert batch.stats()["ended_by/tablebase"] == len(ended) / len(batch.games)
    for game in ended:
        replayed = Game(CBD, game.fen)
        for action in game.actions:
            replayed.push(action)
        assert sum(map(bool, replayed.board().values())) <= 3
        verdict = small.judge(replayed.positions)
        winner = {WIN: replayed.positions.colors[0], LOSS: 1 - replayed.positions.colors[0], DRAW: -1}
        assert game.winner == winner[int(verdict.proof[0])]

    # Plies left are counted to the end that best play would reach.
    start = compared = 0
    for game in batch.games:
        replayed, left = Game(CBD, game.fen), []
        for ply, action in enumerate(game.actions):
            if ply >= game.opening and len(replayed.legal_moves()) > 1:
                left.append(len(game.actions) - ply)
            replayed.push(action)
        verdict = small.judge(replayed.positions)
        if not game.termination and verdict.proof[0] != DRAW:
            left = [plies + int(verdict.distance[0]) for plies in left]
            compared += int(verdict.distance[0]) > 0
        assert batch.records.plies_left[start : start + len(left)].tolist() == left
        start += len(left)
    assert start == len(batch.records.z) and compared > 0


def test_endgame_records_are_exact(table: Tablebase) -> None:
    records = endgame_records(table, 500, np.random.default_rng(8))
    positions = Positions.from_boards(CBD, records.boards, np.zeros(500, np.int8))
    verdicts = table.judge(positions)
    assert (records.z == np.select([verdicts.proof == WIN, verdicts.proof == LOSS], [1, -1], 0)).all()
    assert len(set(records.z.tolist())) == 3 and (records.q == records.z).all()
    shortest = min(law.plies for law in CBD.draw_laws)
    assert (records.plies_left == np.where(records.z == 0, shortest, verdicts.distance)).all()
    best = table.best_moves(positions)
    for row in range(500):
        moves = positions.actions[row][best[row]]
        share = dict(zip(records.actions[row].tolist(), records.policy[row].tolist(), strict=True))
        assert {action for action in share if action >= 0} == set(moves.tolist())
        assert all(share[action] == pytest.approx(1 / len(moves)) for action in moves.tolist())
    buffer = ReplayBuffer(CBD, ReplayConfig(capacity=500, window=500))
    buffer.add(records)
    assert buffer.batch(np.arange(500)).policy.sum(axis=1) == pytest.approx(1.0, abs=1e-5)


def test_samples_of_small_sides() -> None:
    """Where a side has three pieces at most, the table holds positions that no game can have."""
    rules = replace(CBD, name="tiny", size=6, men_rows=1, game_type=0, draw_laws=())
    values = np.zeros(new_index(6, 5)["size"], np.uint8)  # all drawn
    positions = sample_endgames(Tablebase(rules, 5, values), 200, np.random.default_rng(11))
    counts = np.bitwise_count(positions.boards)
    assert counts.sum(axis=1).max() == 5 and max(counts[:, :2].sum(axis=1).max(), counts[:, 2:].sum(axis=1).max()) == 3


def test_mistakes(table: Tablebase) -> None:
    positions = sample_endgames(table, 300, np.random.default_rng(9), critical=True)
    assert (table.keeping_moves(positions).sum(axis=1) < positions.counts).all()
    assert mistakes(make_player("alphabeta:depth=1,tables=4", CBD, 0), table, positions) == 0.0
    expected = 1 - (table.keeping_moves(positions).sum(axis=1) / positions.counts).mean()
    assert mistakes(RandomPlayer(0), table, positions) == pytest.approx(expected, abs=0.08)


def test_specs_and_missing_tables(monkeypatch, tmp_path) -> None:
    for spec in ("alphabeta:tables=4", "alphabeta:depth=2,tables=7", "alphabeta:depth=2,tables=1", "random:tables=4"):
        with pytest.raises(PlayerError):
            read_spec(spec)
    with pytest.raises(TablebaseError, match="damas tablebase build --rules cbd --pieces 5"):
        make_player("alphabeta:depth=2,tables=5", CBD, 0)
    with pytest.raises(TablebaseError, match="damas tablebase build --rules FILE --pieces 5"):
        open_tablebase(replace(CBD, name="own"), 5)
    monkeypatch.setenv("XDG_DATA_HOME", "/dev/null")
    assert open_tablebase(CBD, 2).pieces == 2  # it cannot be kept, and serves all the same
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for _ in range(2):  # built, then read without a cache
        table = open_tablebase(CBD, 2)
        assert table.values.any() and default_path(CBD, 2).exists()


def test_building_goes_on_where_it_was_cut_off(tmp_path) -> None:
    class Cut(Exception):
        pass

    whole, partial = Tablebase.build(CBD, 3), tmp_path / "three.partial"
    seen: list[int] = []

    def cut(known: int, total: int) -> None:
        seen.append(known)
        if len(seen) == 8:
            raise Cut

    with pytest.raises(Cut):
        Tablebase.build(CBD, 3, cut, partial)
    rest: list[int] = []
    table = Tablebase.build(CBD, 3, lambda known, total: rest.append(known), partial)
    assert rest[0] > seen[-1] and rest[-1] == len(whole.values)
    assert (table.values == whole.values).all()
    for other in (b"something else", bytes(len(whole.values)) + b"\xff" * 8, b"\x07" * (len(whole.values) + 8)):
        partial.write_bytes(other)
        assert (Tablebase.build(CBD, 3, None, partial).values == whole.values).all()


def test_one_builder_at_a_time(tmp_path) -> None:
    """A second one would wipe out what the first has found of the slices in hand."""
    partial, refused = tmp_path / "two.partial", []

    def meanwhile(known: int, total: int) -> None:
        with pytest.raises(TablebaseError, match="Another process is building"):
            Tablebase.build(CBD, 2, None, partial)
        refused.append(known)

    table = Tablebase.build(CBD, 2, meanwhile, partial)
    assert refused and (table.values == Tablebase.build(CBD, 2, None, partial).values).all()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room cannot be reserved here")
def test_no_room_for_a_table_under_way(tmp_path, monkeypatch) -> None:
    """It is asked for before the work: a write to a mapped file for which there is none ends the process."""

    def full(descriptor: int, offset: int, size: int) -> None:
        os.ftruncate(descriptor, size // 2)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    partial = tmp_path / "two.partial"
    Tablebase.build(CBD, 2, None, partial)
    stat = partial.stat()
    assert stat.st_blocks * 512 >= stat.st_size
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left") as caught:
        Tablebase.build(CBD, 2, None, partial)
    assert caught.value.filename == str(partial) and partial.stat().st_size == 0


def some_rules() -> list[RuleSet]:
    return [get_rules(name) for name in ("cbd", "lidraughts", "fmjd64", "russian", "damas-brasileiro")]


@pytest.mark.parametrize("rules", some_rules(), ids=lambda rules: rules.name)
def test_masks_of_laws(rules: RuleSet) -> None:
    """Reachable laws contain those that stand after any legal move; lasting ones stand after every one."""
    table = open_tablebase(rules, 3)
    positions = sample_endgames(table, 200, np.random.default_rng(10))
    record = table.endgames

    def masks(boards: np.ndarray) -> tuple[int, int, int]:
        counts = [int(word).bit_count() for word in boards]
        here = slot(*counts)
        return int(record["reachable"][here]), int(record["lasting"][here]), int(standing_laws(rules.tables, *boards))

    for row in range(len(positions)):
        one = positions.take(np.array([row]))
        reachable, lasting, standing = masks(one.boards[0])
        assert standing & ~reachable == 0 and lasting & ~standing == 0
        for action in one.actions[0, : one.counts[0]].tolist():
            child = one.copy()
            child.step(np.array([action]))
            if (child.boards[0, :2] == 0).all():
                continue
            later, lasts, now = masks(child.boards[0])
            assert later & ~reachable == 0 and now & ~reachable == 0 and lasting & ~now == 0 and lasting & ~lasts == 0
