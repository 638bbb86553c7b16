"""Self-play: records are replayed against the rules; runs are reproducible, whatever threads and resumes there are."""

import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import read_pdn, write_pdn
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.termination import Termination
from damas_rl import records
from damas_rl.closing import pdn_game
from damas_rl.records import Records
from damas_rl.search.mcts import Search, SearchConfig, SearchResult
from damas_rl.selfplay import FinishedGame, SelfPlay, SelfPlayBatch, SelfPlayConfig
from damas_rl.selfplay import group as group_module
from search_cases import RULES, HashEvaluator

SMALL = SelfPlayConfig(games=12, groups=3, threads=1, simulations=6, fast_simulations=3, random_plies=6)
KINDS = {kind: SearchConfig(kind=kind) for kind in ("puct", "gumbel")}


class Material:
    """A network that likes all moves equally and counts pieces; slow but thread-safe."""

    def __init__(self) -> None:
        self.rows = 0

    def evaluate(self, boards: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pieces = np.bitwise_count(boards).astype(np.float32)
        values = np.tanh((pieces @ np.array([1, 3, -1, -3], np.float32)) / 4)
        self.rows += len(boards)
        return np.zeros((len(boards), RULES.num_actions), np.float32), values, np.ones(len(boards), np.float32)


def play(config: SelfPlayConfig = SMALL, kind: str = "puct", seed: int = 1, plies: int = 1500) -> SelfPlayBatch:
    return SelfPlay(RULES, config, KINDS[kind], seed).run(Material(), plies)


@cache
def played(kind: str) -> SelfPlayBatch:
    return play(kind=kind)


def same(a: SelfPlayBatch, b: SelfPlayBatch) -> bool:
    columns = zip(a.records, b.records, strict=True)
    return a.games == b.games and all(x.shape == y.shape and (x == y).all() for x, y in columns)


def split(batch: SelfPlayBatch, counts: list[int]) -> list[Records]:
    """The records of each finished game; ``counts`` = how many it has."""
    assert len(batch.records.z) == sum(counts)
    ends = np.cumsum(counts)
    return [Records(*(column[end - n : end] for column in batch.records)) for end, n in zip(ends, counts, strict=True)]


def choices(game: FinishedGame) -> list[Positions]:
    """The positions of a game, after its opening, in which there was more than one legal move."""
    return [position for position in replay(game.actions)[0][game.opening :] if position.counts[0] > 1]


def by_game(batch: SelfPlayBatch) -> list[Records]:
    """The records of each finished game: a row for each of its choices."""
    return split(batch, [len(choices(game)) for game in batch.games])


def replay(actions: tuple[int, ...]) -> tuple[list[Positions], int, Termination]:
    """(the position before each ply, winner, termination) of a game, by the rules alone."""
    position, positions = Positions.initial(RULES), []
    for action in actions:
        assert position.terminations[0] == 0
        positions.append(position.copy())
        position.step(np.array([action]))
    return positions, int(position.winners()[0]), Termination(int(position.terminations[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_those_of_the_games(kind: str) -> None:
    batch = played(kind)
    results = {0: 0, 1: 0, -1: 0}
    for game, rows in zip(batch.games, by_game(batch), strict=True):
        _, winner, termination = replay(game.actions)
        assert (len(game.actions), winner, termination) == (game.plies, game.winner, game.termination)
        assert termination != Termination.NONE
        results[winner] += 1
        for row, position in enumerate(choices(game)):
            assert (rows.boards[row] == position.boards[0]).all()
            assert (rows.features[row] == features(position)[0]).all()
            assert rows.plies_left[row] == game.plies - position.plies[0]
            if winner < 0:
                assert rows.z[row] == 0
            else:  # the side to move wins: +1, whatever its colour
                assert rows.z[row] == (1 if position.colors[0] == winner else -1)
            used = rows.policy[row] > 0
            legal = position.actions[0, : position.counts[0]].tolist()
            assert set(rows.actions[row, used].tolist()) <= set(legal)
            assert len(set(rows.actions[row, used].tolist())) == used.sum()
            assert (rows.actions[row, ~used] == -1).all()
            assert rows.policy[row].sum() == pytest.approx(1.0, abs=1e-5)
            if position.plies[0] > game.opening + SMALL.temperature_plies and kind == "puct":
                assert game.actions[position.plies[0]] in rows.actions[row, used]
    assert (np.abs(batch.records.q) <= 1).all() and (batch.records.weight == 1).all()
    assert results[0] > 1 and results[1] > 1, results


def test_the_last_ply_of_a_won_game() -> None:
    """The winner makes the last move, and where it had a choice its search has seen the win: value +1 for it."""
    batch = played("puct")
    pairs = [(g, r) for g, r in zip(batch.games, by_game(batch), strict=True) if g.winner >= 0]
    last = [(r.z[-1], r.plies_left[-1], r.q[-1]) for g, r in pairs if replay(g.actions)[0][-1].counts[0] > 1]
    assert len(pairs) >= 4 and len(last) >= 2
    assert all(z == 1 and left == 1 for z, left, _ in last)
    assert np.mean([q == 1.0 for *_, q in last]) > 0.5


def test_openings_are_random_and_not_recorded() -> None:
    openings = {game.opening for game in played("puct").games}
    assert min(openings) == 0 and max(openings) == SMALL.random_plies and len(openings) >= 5
    none = play(SelfPlayConfig(games=12, groups=3, threads=1, simulations=3, random_plies=0))
    assert {game.opening for game in none.games} == {0}
    assert len(none.records.z) == sum(len(choices(game)) for game in none.games)
    assert len(none.records.z) < sum(game.plies for game in none.games)


@pytest.mark.parametrize("kind", KINDS)
def test_one_seed_one_result(kind: str) -> None:
    assert same(play(kind=kind), played(kind))
    other = play(kind=kind, seed=2)
    assert not same(other, played(kind))
    firsts = {game.actions for game in played(kind).games}
    assert not firsts & {game.actions for game in other.games}


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_threads_do_not_matter(kind: str, threads: int) -> None:
    threaded = SelfPlay(RULES, SelfPlayConfig(**{**vars(SMALL), "threads": threads}), KINDS[kind], 1)
    assert threaded.threads == threads
    assert same(threaded.run(Material(), 1500), played(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_any_two_parallel_games_differ(kind: str) -> None:
    """Without random openings too, within a group and between groups."""
    config = SelfPlayConfig(games=24, groups=4, threads=1, simulations=8, random_plies=0)
    run = SelfPlay(RULES, config, KINDS[kind], 3)
    run.run(Material(), 24 * 14)
    lines = np.concatenate([group.played[:14] for group in run.groups], axis=1).T
    assert lines.shape == (24, 14)
    assert len(np.unique(lines, axis=0)) == 24
    assert len(np.unique(lines[:, 0])) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_run_goes_on_bit_for_bit(kind: str) -> None:
    run = SelfPlay(RULES, SMALL, KINDS[kind], 5)
    run.run(Material(), 700)
    state = pickle.loads(pickle.dumps(run.state_dict()))
    snapshot = run.state_dict()
    rest = run.run(Material(), 800)
    assert len(rest.records.z) > 100
    for saved in (state, snapshot):  # the snapshot is a copy: the run has gone on since
        resumed = SelfPlay(RULES, SMALL, KINDS[kind], 999)
        resumed.load_state_dict(saved)
        assert same(resumed.run(Material(), 800), rest)


def test_two_short_runs_equal_a_long_one() -> None:
    run = SelfPlay(RULES, SMALL, KINDS["puct"], 1)
    parts = [run.run(Material(), plies) for plies in (720, 780)]
    games, whole = [*parts[0].games, *parts[1].games], played("puct")
    assert sorted(map(str, games)) == sorted(map(str, whole.games))
    assert sum(len(part.records.z) for part in parts) == len(whole.records.z)


def test_a_saved_run_of_another_size_is_refused() -> None:
    state = SelfPlay(RULES, SMALL, KINDS["puct"], 1).state_dict()
    for wrong in (
        SelfPlayConfig(games=12, groups=2, threads=1),
        SelfPlayConfig(games=15, groups=3, threads=1),
    ):
        with pytest.raises(ValueError, match="resume with the same"):
            SelfPlay(RULES, wrong, KINDS["puct"], 1).load_state_dict(state)


@pytest.mark.parametrize("kind", KINDS)
def test_playout_cap_records_full_searches_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: dict[int, list[tuple[bytes, bytes]]] = {}
    run = Search.run

    def watching(self: Search, positions: Positions, simulations: int, rng: Any) -> Any:
        assert (rng is None) == (simulations == 2), "only full searches have noise"
        for game in range(len(positions)):
            key = positions.boards[game].tobytes(), features(positions)[game].tobytes()
            searched.setdefault(simulations, []).append(key)
        return run(self, positions, simulations, rng)

    monkeypatch.setattr(Search, "run", watching)
    config = SelfPlayConfig(games=12, groups=3, threads=1, simulations=9, fast_simulations=2, full_share=0.3)
    batch = play(config, kind)
    assert set(searched) == {9, 2}
    full, fast = searched[9], searched[2]
    assert len(full) / (len(full) + len(fast)) == pytest.approx(0.3, abs=0.1)
    # Walk the records along the finished games: a position that only full searches have seen has a record, one that
    # only fast ones have seen has none.
    rows = [(boards.tobytes(), extra.tobytes()) for boards, extra in zip(*batch.records[:2], strict=True)]
    next_row = certain = 0
    for game in batch.games:
        for position in choices(game):
            key = position.boards[0].tobytes(), features(position)[0].tobytes()
            left = game.plies - position.plies[0]
            recorded = next_row < len(rows) and rows[next_row] == key and batch.records.plies_left[next_row] == left
            assert (key in full) if recorded else (key in fast)
            certain += (key in full) != (key in fast)
            next_row += recorded
    assert next_row == len(rows) > 50
    assert certain > 0.9 * sum(len(choices(game)) for game in batch.games)


def test_moves_are_sampled_early_and_chosen_later() -> None:
    """PUCT: shares of policy ** (1 / temperature) during the first plies, then the most visited move."""
    found = Search(RULES, HashEvaluator(), KINDS["puct"], 1, 40).run(Positions.initial(RULES), 40)
    result = SearchResult(**{name: np.repeat(column, 6000, axis=0) for name, column in vars(found).items()})
    policy = found.policy[0, :7].astype(float)
    assert len(set(policy.round(6))) > 3
    for temperature in (1.0, 0.5):
        config = SelfPlayConfig(games=1, groups=1, temperature=temperature, temperature_plies=10)
        group = SelfPlay(RULES, config, KINDS["puct"], 0).groups[0]
        early = group._pick(result, np.full(6000, 9, np.int32))
        share = (result.actions[:, :7] == early[:, None]).mean(axis=0)
        wanted = policy ** (1 / temperature)
        assert share == pytest.approx(wanted / wanted.sum(), abs=0.025)
        assert (group._pick(result, np.full(6000, 10, np.int32)) == result.choice).all()


def test_sampling_ends_so_many_plies_after_the_opening() -> None:
    config = replace(SMALL, simulations=12, temperature=100.0, temperature_plies=3)
    sampled, chosen = [], []
    batch = play(config)
    for game, rows in zip(batch.games, by_game(batch), strict=True):
        for row, position in enumerate(choices(game)):
            ply = int(position.plies[0])
            likeliest = rows.policy[row, rows.actions[row] == game.actions[ply]].sum() == rows.policy[row].max()
            if ply >= game.opening + 3:
                chosen.append(likeliest)
            elif ply >= 3:  # the opening's plies do not count
                sampled.append(likeliest)
    assert len(chosen) > 100 and all(chosen)
    assert len(sampled) > 10 and not all(sampled)


def test_long_games_keep_their_last_plies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_module, "LONGEST_GAME", 32)
    batch, whole = play(), played("puct")
    assert [(g.plies, g.opening, g.winner, g.termination) for g in batch.games] == [
        (g.plies, g.opening, g.winner, g.termination) for g in whole.games
    ]
    full = by_game(whole)
    kept = split(batch, [int((rows.plies_left <= 32).sum()) for rows in full])
    for game, short, long, complete in zip(batch.games, kept, full, whole.games, strict=True):
        assert game.actions == (complete.actions if game.plies <= 32 else ())
        for column, wanted in zip(short, long, strict=True):
            assert (column == wanted[long.plies_left <= 32]).all()
    assert any(game.plies > 32 for game in batch.games)


def test_narrow_policies_keep_the_likeliest_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "POLICY_WIDTH", 3)
    narrow, wide = play().records, played("puct").records
    assert narrow.policy.shape[1] == 3 and (narrow.boards == wide.boards).all()
    assert narrow.policy.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (narrow.actions == wide.actions[:, :3]).all()
    assert (np.diff(wide.policy, axis=1) <= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_statistics(kind: str) -> None:
    evaluator, steps = Material(), []
    run = SelfPlay(RULES, SMALL, KINDS[kind], 1)
    batch = run.run(evaluator, 1500, steps.append)
    stats, games = batch.stats(), batch.games
    assert sum(steps) == 1500 == 12 * 125
    going_on = sum(int(group.positions.plies.sum()) for group in run.groups)
    assert batch.plies == stats["plies"] == sum(game.plies for game in games) + going_on > 1500
    assert stats["evaluations"] == evaluator.rows
    assert stats["games"] == len(games) > 8
    assert stats["mean_length"] == pytest.approx(np.mean([game.plies for game in games]))
    assert stats["distinct_share"] == 1.0
    assert 0 < stats["batch_fill"] <= 1 and 0 < stats["network_share"] < 1
    black = sum(game.winner == 1 for game in games) / len(games)
    assert stats["draw_share"] + stats["white_win_share"] + black == pytest.approx(1.0)
    ended = {name: share for name, share in stats.items() if name.startswith("ended_by/")}
    assert sum(ended.values()) == pytest.approx(1.0)
    assert ended.keys() <= {f"ended_by/{termination.name.lower()}" for termination in Termination}
    lost = ended.get("ended_by/no_pieces", 0) + ended.get("ended_by/blocked", 0)
    assert lost == pytest.approx(1 - stats["draw_share"])
    # one ply: no finished game, the same keys, no division by zero
    run = SelfPlay(RULES, SMALL, KINDS[kind], 1)
    first = run.run(evaluator, 1)
    assert first.stats().keys() == stats.keys() - ended.keys()
    assert all((group.positions.plies > group.opening).all() for group in run.groups)  # random plies come on top
    assert first.plies == sum(int(group.positions.plies.sum()) for group in run.groups) > 12
    assert len(first.records.z) == 0 and first.records.policy.shape == (0, records.POLICY_WIDTH)
    assert all(np.isfinite(value) for value in (*first.stats().values(), *stats.values()))


def test_wrong_configurations_are_refused() -> None:
    for key, value in (("games", 0), ("full_share", 0.0), ("temperature", 0.0), ("simulations", 0), ("groups", 0)):
        with pytest.raises(ValueError, match=f"selfplay.{key}={value}"):
            SelfPlayConfig(**{key: value})
    with pytest.raises(ValueError, match=r"multiple of selfplay\.groups=5"):
        SelfPlayConfig(games=12, groups=5)


def test_games_start_from_a_file_of_openings(tmp_path) -> None:
    path = tmp_path / "openings.txt"
    path.write_text("c3-d4 d6-c5  # two plies\nB:W21,22,23,24:BK1,2,3\n\n")
    starts = {Game(RULES, fen).fen() for fen in ("B:W21,22,23,24:BK1,2,3",)}
    moved = Game(RULES)
    for move in ("c3-d4", "d6-c5"):
        moved.push(move)
    starts.add(moved.fen())
    config = replace(SMALL, openings=str(path), random_plies=2)
    run = SelfPlay(RULES, config, KINDS["puct"], 1)
    batch = run.run(Material(), 1200)
    assert {game.fen for game in batch.games} == starts
    for game in batch.games:
        text = write_pdn([pdn_game(game, RULES, "x", 1)])
        (read,) = read_pdn(text, RULES)
        assert read.error is None and read.fen == game.fen and len(read.moves) == game.plies
    resumed = SelfPlay(RULES, config, KINDS["puct"], 999)
    resumed.load_state_dict(pickle.loads(pickle.dumps(run.state_dict())))
    assert same(resumed.run(Material(), 600), run.run(Material(), 600))


def test_forks_start_where_the_game_before_was_searched() -> None:
    config = replace(SMALL, games=4, groups=1, fork_share=0.8, random_plies=3)
    run = SelfPlay(RULES, config, KINDS["gumbel"], 1)
    batch = run.run(Material(), 1200)
    searched: set[str] = set()
    for game in batch.games:
        assert game.fen is None or (game.fen in searched and game.opening == min(1, game.plies))
        position = Game(RULES, game.fen)
        for ply, action in enumerate(game.actions):
            if ply >= game.opening and len(position.legal_moves()) > 1:
                searched.add(position.fen())
            position.push(action)
    forked = sum(game.fen is not None for game in batch.games)
    assert 0.5 * len(batch.games) < forked < len(batch.games)
    assert len({game.fen for game in batch.games}) > forked / 2
    resumed = SelfPlay(RULES, config, KINDS["gumbel"], 999)
    resumed.load_state_dict(pickle.loads(pickle.dumps(run.state_dict())))
    assert same(resumed.run(Material(), 600), run.run(Material(), 600))


def test_a_game_that_starts_with_a_forced_move_has_no_record_of_it(tmp_path) -> None:
    start = Game(RULES, "W:W22,30,31,32:B18,1,2,3")
    assert len(start.legal_moves()) == 1
    path = tmp_path / "openings.txt"
    path.write_text(start.fen())
    batch = play(replace(SMALL, openings=str(path), random_plies=0))
    assert len(batch.games) > 5 and {game.fen for game in batch.games} == {start.fen()}
    assert (batch.records.boards != start.positions.boards).any(axis=1).all()


@pytest.mark.parametrize(
    ("text", "reason"), [("hello", "line 1"), ("# none", "no opening"), (None, "could not be read")]
)
def test_bad_files_of_openings_are_refused(tmp_path, text: str | None, reason: str) -> None:
    path = tmp_path / "openings.txt"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=reason) as caught:
        SelfPlay(RULES, replace(SMALL, openings=str(path)), KINDS["puct"], 1)
    assert "openings.txt" in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_resigning(kind: str) -> None:
    config = replace(SMALL, games=24, resign=0.6, no_resign_share=0.5)
    batch = play(config, kind, plies=6000)
    given_up = [game for game in batch.games if game.termination == Termination.RESIGNATION]
    played_on = [game for game in batch.games if game.resigner >= 0 and game not in given_up]
    untouched = [game for game in batch.games if game.resigner < 0]
    assert min(len(given_up), len(played_on), len(untouched)) > 3
    assert all(game.winner == 1 - game.resigner for game in given_up)
    wrong = sum(game.winner != 1 - game.resigner for game in played_on)
    assert 0 < wrong < len(played_on)
    assert batch.stats()["wrong_resignations"] == wrong / len(played_on)
    assert (batch.records.q[batch.records.z > 0] > -0.6).any() and (batch.records.q <= -0.6).any()
    text = write_pdn(pdn_game(game, RULES, "test", 1) for game in given_up)
    for game, written in zip(given_up, read_pdn(text, RULES), strict=True):
        assert written.tags["Termination"] == "resignation"
        assert written.result == ("1-0" if game.winner == 0 else "0-1") and written.error is None
    assert all(game.resigner < 0 for game in played(kind).games)


def test_a_saved_run_with_resigning_goes_on_bit_for_bit() -> None:
    config = replace(SMALL, resign=0.6, surprise=0.5)
    one = SelfPlay(RULES, config, KINDS["gumbel"], 3)
    one.run(Material(), 700)
    other = SelfPlay(RULES, config, KINDS["gumbel"], 4)
    other.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
    assert same(one.run(Material(), 700), other.run(Material(), 700))


@pytest.mark.parametrize("kind", KINDS)
def test_surprises_weigh_more(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_module, "LONGEST_GAME", 1024)
    plain, weighted = play(kind=kind), play(replace(SMALL, surprise=0.5), kind)
    assert plain.games == weighted.games and (plain.records.z == weighted.records.z).all()
    weights = weighted.records.weight
    assert weights.min() >= 0.5 and weights.max() > 2 and weights.std() > 0.1
    # Material likes all moves equally: the divergence is the entropy that the search has taken away.
    shares = weighted.records.policy
    entropy = -np.where(shares > 0, shares * np.log(np.maximum(shares, 1e-9)), 0).sum(axis=1)
    counts = Positions.from_boards(RULES, weighted.records.boards, np.zeros(len(weights), np.int8)).counts
    divergence = np.log(counts) - entropy + 1e-3
    start = 0
    for game in weighted.games:
        moves = Game(RULES, game.fen)
        recorded = 0
        for ply, action in enumerate(game.actions):
            recorded += ply >= game.opening and len(moves.legal_moves()) > 1
            moves.push(action)
        part = slice(start, start + recorded)
        if recorded:
            expected = 0.5 + 0.5 * divergence[part] / divergence[part].mean()
            assert weights[part] == pytest.approx(expected, abs=2e-3)
        start += recorded
    assert start == len(weights)


def test_surprise_is_measured_from_the_network() -> None:
    positions = Positions.initial(RULES, 5)
    for _ in range(6):
        positions.step(positions.actions[:, 0])
    result = Search(RULES, HashEvaluator(), KINDS["puct"], 5, 60).run(positions, 60)
    found = group_module._divergence(result)
    for row in range(5):
        count = int(result.counts[row])
        logits, policy = (np.asarray(rows[row, :count], float) for rows in (result.logits, result.policy))
        prior = np.exp(logits) / np.exp(logits).sum()
        chosen = policy > 0
        wanted = (policy[chosen] * np.log(policy[chosen] / prior[chosen])).sum()
        uniform = (policy[chosen] * np.log(policy[chosen] * count)).sum()
        assert found[row] == pytest.approx(wanted + 1e-3, abs=1e-4) and abs(wanted - uniform) > 0.01


def test_the_share_of_surprise() -> None:
    """Weights are 1 less the share, and the share by surprise; their mean in a game is 1."""
    weights = play(replace(SMALL, surprise=0.2)).records.weight
    assert 0.8 <= weights.min() < 0.85 and weights.mean() == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_games_that_are_played_on(share: float) -> None:
    batch = play(replace(SMALL, resign=0.6, no_resign_share=share), plies=2500)
    lost = [game for game in batch.games if game.resigner >= 0]
    resigned = [game for game in lost if game.termination == Termination.RESIGNATION]
    assert len(lost) > 3 and len(resigned) == (0 if share else len(lost))


def test_only_full_searches_resign(monkeypatch: pytest.MonkeyPatch) -> None:
    run, found = Search.run, []

    def watched(self: Search, positions: Positions, simulations: int, rng: Any = None) -> SearchResult:
        result = run(self, positions, simulations, rng)
        found.append((simulations, bool((result.value <= -0.6).any())))
        return result

    def resigned(self: group_module.Group, search: Search) -> int:
        before, searches = self.resigner.copy(), len(found)
        plies = step(self, search)
        changed = (self.resigner >= 0) & (before < 0)
        for simulations, hopeless in found[searches:]:
            seen.append((simulations == SMALL.simulations, hopeless, bool(changed.any())))
        return plies

    step, seen = group_module.Group._step, []
    monkeypatch.setattr(Search, "run", watched)
    monkeypatch.setattr(group_module.Group, "_step", resigned)
    play(replace(SMALL, resign=0.6, full_share=0.4, no_resign_share=1.0), plies=2500)
    assert any(hopeless for full, hopeless, _ in seen if not full)
    assert not any(changed for full, _, changed in seen if not full)
    assert any(changed for full, _, changed in seen if full)
