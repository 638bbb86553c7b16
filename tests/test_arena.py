"""Matches are paired and counted right, openings fair, intervals honest; the damas commands bestmove and match."""

import itertools
import json
import math
import re
import runpy
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from damas_env.game import Game
from damas_env.notation import read_pdn
from damas_env.position import Positions
from damas_env.presets import RULE_SETS
from damas_env.rules import get_rules
from damas_env.termination import Termination
from damas_rl import arena
from damas_rl import openings as openings_module
from damas_rl.arena import ArenaConfig, MatchGame, MatchResult, Pair, play_match, play_pairs, run_ladder
from damas_rl.cli import main
from damas_rl.elo import PAIR_SCORES, Sprt, elo_difference, expected_score
from damas_rl.openings import Opening, ballots, draw_openings, load_openings, random_openings, read_openings
from damas_rl.players import Choice, Player, PlayerError, make_player
from damas_rl.search.alphabeta import AlphaBeta, AlphaBetaResult, Limits
from tests.test_players import Material

CBD = get_rules("cbd")


def players(*specs: str) -> list[Player]:
    return [make_player(spec, CBD, seed) for seed, spec in enumerate(specs)]


def test_results_are_those_of_the_games() -> None:
    match = play_match(*players("random", "alphabeta:depth=1"), CBD, 30, seed=5)
    score, points = match.score, []
    for number, game in enumerate(match.games):
        replayed = Game(CBD)
        for action in game.actions:
            assert replayed.outcome() is None
            replayed.push(action)
        outcome = replayed.outcome()
        assert outcome is not None
        assert outcome.termination == game.termination
        assert outcome.winner == ("W", "B", None)[game.winner]
        first = "W" if number % 2 == 0 else "B"
        assert (game.white == "random") == (first == "W")
        points.append(0.5 if outcome.winner is None else float(outcome.winner == first))
        assert game.points == points[-1]
    for one, other in zip(match.games[::2], match.games[1::2], strict=True):
        assert one.opening == other.opening
        assert one.actions[:3] == other.actions[:3] == one.opening.actions
    assert (score.wins, score.draws, score.losses) == (points.count(1), points.count(0.5), points.count(0))
    assert score.games == 30
    assert score.score == sum(points) / 30
    sums = [one + other for one, other in zip(points[::2], points[1::2], strict=True)]
    assert score.pairs == tuple(sums.count(total / 2) for total in range(5))
    assert score.plies == np.mean([len(game.actions) for game in match.games])
    assert score.truncated == 0


def test_matches_are_reproducible_and_batches_do_not_matter_to_openings(monkeypatch) -> None:
    def match() -> MatchResult:
        return play_match(*players("alphabeta:depth=2", "alphabeta:depth=1"), CBD, 16, seed=3)

    one, same = match(), match()
    monkeypatch.setattr("damas_rl.arena.MAX_BATCH", 4)
    smaller = match()
    assert one.games == same.games
    assert [game.opening for game in smaller.games] == [game.opening for game in one.games]


def test_stronger_players_win() -> None:
    ladder = players("random", "alphabeta:depth=1", "alphabeta:depth=3")
    for weak, strong in itertools.pairwise(ladder):
        score = play_match(strong, weak, CBD, 60, seed=1).score
        assert score.score > 0.65
        assert score.low > 0
        assert score.low < score.elo <= score.high
        back = play_match(weak, strong, CBD, 60, seed=1).score
        assert back.high < 0
        assert score.distinct == 1.0


class Stubborn(Player):
    """Plays the first legal move."""

    name = "stubborn"

    def choose(self, positions: Positions) -> Choice:
        size = len(positions)
        assert not positions.terminations.any()
        return Choice(positions.actions[:, 0].copy(), np.zeros(size, np.float32), np.zeros(size, np.int64), [[]] * size)


def test_repeated_games_are_reported() -> None:
    score = play_match(Stubborn(), Stubborn(), CBD, 12, openings=[Opening()]).score
    assert score.distinct == 1 / 12
    assert score.pairs == (0, 0, 6, 0, 0)  # equal players, colours swapped
    assert score.score == 0.5


def test_ply_cap_counts_as_a_draw_and_is_reported() -> None:
    capped = replace(CBD, name="capped", ply_cap=9)
    both = [make_player(spec, capped, seed) for seed, spec in enumerate(("random", "alphabeta:depth=1"))]
    score = play_match(*both, capped, 8, seed=0).score
    assert (score.wins, score.draws, score.losses, score.truncated) == (0, 8, 0, 8)
    assert score.plies == 9


def test_a_stopped_match_drops_the_games_in_hand(monkeypatch) -> None:
    monkeypatch.setattr("damas_rl.arena.MAX_BATCH", 8)
    asked = itertools.count()
    reports: list[tuple[int, int]] = []

    def after_a_while() -> bool:
        return next(asked) > 150

    match = play_match(
        *players("random", "alphabeta:depth=1"), CBD, 40, seed=0, stop=after_a_while,
        progress=lambda done, total: reports.append((done, total)),
    )  # fmt: skip
    assert 0 < match.score.games < 40
    assert match.score.games % 8 == 0
    assert max(reports)[0] >= match.score.games
    assert {total for _, total in reports} == {40}
    nothing = play_match(*players("random", "random"), CBD, 4, stop=lambda: True).score
    assert nothing.games == 0
    assert math.isnan(nothing.score)


def test_impossible_matches_are_refused() -> None:
    for games in (0, 3, -2):
        with pytest.raises(ValueError, match="choose an even number"):
            play_match(*players("random", "random"), CBD, games)
    with pytest.raises(ValueError, match="at most 1048576 games"):
        play_match(*players("random", "random"), CBD, 10**15)
    with pytest.raises(ValueError, match="no opening"):
        play_match(*players("random", "random"), CBD, 2, openings=[])


@pytest.mark.parametrize("answer", [[0], [688, 688, 688], [], [688.0], 688, None, [[688]], [70_000]], ids=str)
def test_a_player_without_a_legal_answer_is_named(answer: object) -> None:
    class Wrong(Player):
        name = "mine"

        def choose(self, positions: Positions) -> Choice:
            size = len(positions)
            none = np.zeros(size, np.float32), np.zeros(size, np.int64), [[] for _ in range(size)]
            return Choice(np.asarray(answer), *none)

    with pytest.raises(PlayerError, match=r"Player 'mine' answered .*, not a legal action for each game"):
        play_match(Wrong(), make_player("random", CBD, 0), CBD, 2, openings=[Opening()])


def test_sequential_test_ends_a_match(monkeypatch) -> None:
    monkeypatch.setattr("damas_rl.arena.SPRT_BATCH", 10)
    match = play_match(*players("alphabeta:depth=2", "random"), CBD, 200, seed=0, sprt=Sprt(0, 100))
    assert match.score.games < 100
    assert Sprt(0, 100).decision(match.score.pairs) == 100


def test_random_openings_are_different_balanced_and_stable() -> None:
    openings = random_openings(CBD, 40, 6, seed=7)
    positions = Opening.positions(CBD, openings)
    assert len({boards.tobytes() for boards in positions.boards}) == 40
    assert (positions.plies == 6).all()
    scores = AlphaBeta(CBD, Limits(depth=5)).search(positions, np.zeros(40, dtype=np.uint64)).scores
    assert (np.abs(scores) < 50).all()
    assert random_openings(CBD, 10, 6, seed=7) == openings[:10]
    assert random_openings(CBD, 40, 6, seed=8) != openings
    assert random_openings(CBD, 5, 0, seed=1) == [Opening()] * 5
    assert len(set(random_openings(CBD, 20, 1, seed=1))) == 7  # there are no more
    for plies in (-1, 101, 10**9):
        with pytest.raises(ValueError, match=f"{plies} random plies are impossible: choose 0 to 100"):
            random_openings(CBD, 1, plies, seed=1)


def test_a_stopped_match_draws_no_more_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    class Counting(AlphaBeta):
        def search(self, positions: Positions, seeds: np.ndarray) -> AlphaBetaResult:
            rounds.append(len(positions))
            return super().search(positions, seeds)

    monkeypatch.setattr(openings_module, "AlphaBeta", Counting)
    assert not play_match(*players("random", "random"), CBD, 4000, random_plies=8, stop=lambda: True).games
    assert len(rounds) == 1
    asked = itertools.count(1)
    assert len(set(random_openings(CBD, 2000, 8, 0, stop=lambda: next(asked) == 3))) < 384
    assert len(rounds) == 4


def test_ballots_are_distinct_and_balanced() -> None:
    listed = ballots(CBD)
    positions = Opening.positions(CBD, listed)
    assert len(listed) == len({boards.tobytes() for boards in positions.boards}) >= 100
    assert (positions.plies == 3).all()
    judge = AlphaBeta(CBD, Limits(nodes=60_000))  # in some a man is given up that comes back after ten plies
    assert (np.abs(judge.search(positions, np.zeros(len(listed), dtype=np.uint64)).scores) < 50).all()


def test_ballots_are_for_all_rules_that_begin_and_move_alike() -> None:
    brazilian = ("cbd", "dogames", "damasite", "damasite-16", "ttakji", "damas-brasileiro", "regras-oficiais",
                 "lidraughts", "fmjd64")  # fmt: skip
    assert [name for name in RULE_SETS if ballots(get_rules(name))] == list(brazilian)
    boards = Opening.positions(CBD, ballots(CBD)).boards
    for name in brazilian:
        np.testing.assert_array_equal(Opening.positions(get_rules(name), ballots(get_rules(name))).boards, boards)
    for change in ({"men_rows": 2}, {"first": "black"}, {"majority": "none"}, {"size": 10}):
        assert not ballots(replace(CBD, name="own", game_type=0, draw_laws=(), **change))  # type: ignore[arg-type]


def test_matches_start_from_ballots_unless_told_otherwise() -> None:
    listed = ballots(CBD)
    games = play_match(*players("random", "random"), CBD, 4 * len(listed), seed=1).games
    starts = [game.opening for game in games[::2]]
    assert Counter(starts) == dict.fromkeys(listed, 2)
    assert starts != [game.opening for game in play_match(*players("random", "random"), CBD, 40, seed=2).games[::2]]
    for rules, plies, expected in ((CBD, 4, 4), (CBD, 0, 0), ("russian", None, 6), ("russian", 5, 5)):
        rules = get_rules(rules)
        both = [make_player("random", rules, seed) for seed in range(2)]
        games = play_match(*both, rules, 4, random_plies=plies, seed=1).games
        assert [len(game.opening.actions) for game in games] == [expected] * 4


def test_the_script_that_makes_ballots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, made = str(Path(__file__).parents[1] / "scripts" / "ballots.py"), tmp_path / "made.txt"
    positions, ways = runpy.run_path(script)["openings"](CBD, 3)
    assert len(positions) == len({boards.tobytes() for boards in positions.boards}) == 216
    reached = Opening.positions(CBD, [Opening(None, tuple(way)) for way in ways.tolist()])
    np.testing.assert_array_equal(reached.boards, positions.boards)
    for plies, nodes in ((2, 500), (3, 2000)):
        words = [script, "--plies", str(plies), "--nodes", str(nodes), "--output", str(made)]
        monkeypatch.setattr(sys, "argv", words)
        runpy.run_path(script, run_name="__main__")
        openings = load_openings(str(made), CBD)
        assert {len(opening.actions) for opening in openings} == {plies}
        assert f"# {len(openings)} of the {(49, 216)[plies - 2]} positions" in made.read_text()
    # White a man down; level; a man that White gives away behind Black's only move.
    given = Opening.positions(CBD, read_openings("a3-b4 d6-e5 b4-c5", CBD))
    assert given.counts[0] == 1
    judged = [Game(CBD, "B:W21-31:B1-12").positions, Game(CBD).positions, given]
    down, level, lost = (int(runpy.run_path(script)["judge"](position, 5000)[0]) for position in judged)
    assert max(down, lost) < -50 < level < 50


def test_listed_openings() -> None:
    text = "# two lines\n\nc3-d4 b6-a5  # moves\r\nB:W22,K31:B5\n22-18\n"
    openings = read_openings(text, CBD)
    assert [len(opening.actions) for opening in openings] == [2, 0, 1]
    positions = Opening.positions(CBD, openings)
    expected = [Game(CBD), Game(CBD, "B:W22,K31:B5"), Game(CBD)]
    for move in ("22-18", "9-13"):
        expected[0].push(move)
    expected[2].push("22-18")
    for game, other in enumerate(expected):
        np.testing.assert_array_equal(positions.boards[game], other.positions.boards[0])
        assert positions.colors[game] == other.positions.colors[0]
        assert positions.plies[game] == other.ply
    match = play_match(*players("random", "random"), CBD, 10, openings=openings)
    starts = [game.opening for game in match.games]
    assert starts == [openings[index] for index in (0, 0, 1, 1, 2, 2, 0, 0, 1, 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("22-18\n22-10", "list, line 2: move '22-10' is illegal"),
        ("W:W33:B1", "list, line 1: FEN"),
        ("\n# nothing\n", "list holds no opening"),
        ("W:W21:B17,14,10", "the game is over there"),
    ],
)
def test_bad_openings_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read_openings(text, CBD, "list")


def test_pdn_of_a_match_is_legal_and_tells_the_results() -> None:
    match = play_match(
        *players("random", "alphabeta:depth=1"), CBD, 6, openings=read_openings("W:W21,31:B1,5\n22-18", CBD)
    )
    games = read_pdn(match.pdn("Test"), CBD)
    assert len(games) == 6
    for read, game in zip(games, match.games, strict=True):
        assert read.error is None
        assert not read.notes
        assert [move.action for move in read.moves] == list(game.actions)
        assert read.result == ("1-0", "0-1", "1/2-1/2")[game.winner]
        assert (read.tags["White"], read.tags["Black"]) == (game.white, game.black)
    assert games[0].fen == "W:W21,31:B1,5"
    assert games[2].fen is None


def test_ladder_measures_every_rung_on_the_same_openings(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[Pair] = []

    def watching(pairs: Sequence[Pair], *rest: Any) -> list[MatchGame] | None:
        played.extend(pairs)
        return play_pairs(pairs, *rest)

    monkeypatch.setattr(arena, "play_pairs", watching)
    config = ArenaConfig(ladder=("random", "alphabeta:depth=1", "alphabeta:depth=5"), simulations=24, random_plies=4)
    scores = run_ladder(Material(), CBD, config, 12, seed=4)
    assert [score.opponent for score in scores] == list(config.ladder)
    assert all(score.games == 12 for score in scores)
    assert scores[0].score > scores[2].score
    assert scores[0].score > 0.8
    openings = [[pair.opening for pair in played if pair.second.name == spec] for spec in config.ladder]
    assert len(set(openings[0])) == len(openings[0]) == 6
    assert openings[0] == openings[1] == openings[2]
    again = run_ladder(Material(), CBD, config, 12, seed=4)
    assert [score.pairs for score in again] == [score.pairs for score in scores]


def test_games_of_a_ladder_go_to_their_rungs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three opponents, batches of four pairs: a batch does not end where a round of opponents does."""
    monkeypatch.setattr(arena, "MAX_BATCH", 8)
    games: list[MatchGame] = []
    reports: list[tuple[int, int]] = []

    def watching(*arguments: Any) -> list[MatchGame] | None:
        played = play_pairs(*arguments)
        games.extend(played or [])
        return played

    monkeypatch.setattr(arena, "play_pairs", watching)
    config = ArenaConfig(ladder=("random", "alphabeta:depth=1", "alphabeta:depth=5"), simulations=8, random_plies=4)
    scores = run_ladder(Material(), CBD, config, 6, seed=2, progress=lambda *report: reports.append(report))
    assert len(games) == 18
    for score in scores:
        points = [game.points for game in games if score.opponent in (game.white, game.black)]
        assert [score.wins, score.draws, score.losses] == [points.count(1), points.count(0.5), points.count(0)]
        assert score.games == 6
    assert len({score.score for score in scores}) > 1
    assert reports == sorted(reports) and reports[-1] == (18, 18)


@pytest.mark.parametrize(
    ("values", "message"),
    [({"games": 3}, "arena.games=3"), ({"ladder": ()}, "arena.ladder"), ({"simulations": 0}, "arena.simulations=0")],
)
def test_impossible_ladders_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ArenaConfig(**values)  # type: ignore[arg-type]


def test_elo_of_known_scores() -> None:
    even = elo_difference((10, 0, 20, 0, 10))
    assert even.difference == 0
    assert even.low == pytest.approx(-even.high)
    # 75 % is 190.8 Elo; four points of 400 log10(3).
    assert elo_difference((0, 0, 50, 0, 50)).difference == pytest.approx(400 * math.log10(3))
    assert expected_score(400 * math.log10(3)) == pytest.approx(0.75)
    lost, won = elo_difference((50, 0, 0, 0, 0)), elo_difference((0, 0, 0, 0, 50))
    assert won.difference == pytest.approx(-lost.difference)
    assert won.low == pytest.approx(-lost.high)
    assert won.difference == pytest.approx(400 * math.log10(399))  # half a point of 200 is kept back
    assert even.high == pytest.approx(77.30, abs=0.02)
    assert all(math.isfinite(value) for value in (won.difference, won.low, won.high))
    assert 300 < won.low < won.difference <= won.high
    # Pairs that always split tell more than independent games of the same score.
    split, independent = elo_difference((0, 0, 100, 0, 0)), elo_difference((25, 0, 50, 0, 25))
    assert split.high < independent.high / 3


def test_interval_holds_the_truth_in_19_cases_of_20() -> None:
    rng = np.random.default_rng(0)
    for chances in ([0.05, 0.1, 0.3, 0.25, 0.3], [0.0, 0.0, 0.02, 0.08, 0.9], [0.3, 0.0, 0.4, 0.0, 0.3]):
        truth = float(np.dot(chances, PAIR_SCORES))
        rating = 400 * math.log10(truth / (1 - truth))
        held = 0
        for pairs in rng.multinomial(50, chances, size=1000):
            elo = elo_difference(pairs.tolist())
            held += elo.low <= rating <= elo.high
        assert 925 <= held <= 995


def test_sequential_test_decides_for_the_truth() -> None:
    rng = np.random.default_rng(1)
    test = Sprt(0, 40)
    for bounds in ((5, 5), (9, 1), (0, 2001), (-1e308, 0), (0, math.inf), (math.nan, 1), (0, math.nan)):
        with pytest.raises(ValueError, match="two rising Elo differences from -2000 to 2000"):
            Sprt(*bounds)
    for truth in (0.0, 40.0):
        wrong = undecided = 0
        share = expected_score(truth)
        for _ in range(100):
            counts = np.zeros(5, dtype=int)
            for _ in range(60):
                points = (rng.random((20, 2)) < share).sum(axis=1)
                counts += np.bincount(2 * points, minlength=5)
                if (decision := test.decision(counts.tolist())) is not None:
                    wrong += decision != truth
                    break
            else:
                undecided += 1
        assert wrong <= 12
        assert undecided <= 10


def test_likelihood_ratio_is_that_of_normal_scores() -> None:
    """One lost and one won pair are added; then log N(score; high) - log N(score; low), summed over the pairs."""
    test, decided = Sprt(-10, 40), set()
    low, high = expected_score(-10), expected_score(40)
    for won in range(120):
        counts = (3, 5, 30, 12, won)
        scores = np.repeat(PAIR_SCORES, [4, *counts[1:4], won + 1])
        ratio = ((scores - low) ** 2 - (scores - high) ** 2).sum() / (2 * scores.var())
        assert test.log_likelihood_ratio(counts) == pytest.approx(ratio)
        assert test.decision(counts) == (None if abs(ratio) < math.log(19) else 40 if ratio > 0 else -10)
        decided.add(test.decision(counts))
    assert decided == {None, 40}
    assert test.decision((60, 12, 30, 5, 3)) == -10


def test_command_bestmove(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bestmove", "--player", "alphabeta:depth=5", "--fen", "W:WK29,K30:BK22", "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.keys() == {"move", "action", "value", "pv", "nodes", "seconds"}
    assert document["value"] == 1.0
    game = Game(CBD, "W:WK29,K30:BK22")
    assert document["pv"] == [document["move"]]
    assert game.push(document["move"]).action == document["action"]
    assert game.outcome().winner == "W"  # type: ignore[union-attr]

    assert main(["bestmove", "--player", "random", "--moves", "c3-d4 b6-a5", "--notation", "algebraic"]) == 0
    assert "value +0.00" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--player", "alphabeta:depth=5", "--fen", "W:W21:B17,14,10"], "there is no move to choose: Black has won"),
        (["--player", "alphabeta:depth=5", "--moves", "22-18 1-2"], "ply 2: move '1-2' is illegal"),
        (["--player", "alphabet:depth=5"], "Did you mean 'alphabeta'"),
        (["--player", "random", "--fen", "X"], "FEN"),
        (["--player", "random", "--rules", "chess"], "Unknown rule set 'chess'"),
    ],
)
def test_command_bestmove_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bestmove", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_command_match(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "games.pdn"
    arguments = ["match", "alphabeta:depth=2", "random", "--games", "8", "--seed", "1", "--pdn", str(output)]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["wins"] + document["draws"] + document["losses"] == document["games"] == 8
    assert document["elo_low"] < document["elo"]
    games = read_pdn(output.read_text(), CBD)
    results = [game.result for game in games]
    assert all(game.error is None for game in games)
    mine = ["1-0" if game.tags["White"] == "alphabeta:depth=2" else "0-1" for game in games]
    assert sum(result == won for result, won in zip(results, mine, strict=True)) == document["wins"]

    openings = tmp_path / "openings.txt"
    openings.write_text("c3-d4 b6-a5\n22-17\n")
    assert main(["match", "random", "random", "--games", "4", "--openings", str(openings)]) == 0
    assert "random against random, 4 games in pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--games", "5"], "give an even number"),
        (["--games", "0"], "whole number"),
        (["--openings", "/no/such/file"], "/no/such/file"),
        (["--openings", "x", "--random-plies", "3"], "not allowed with"),
        (["--pdn", "/no/such/folder/x.pdn"], "x.pdn: this file cannot be written: no such file or directory"),
        (["--pdn", "/"], "--pdn /: this file cannot be written: is a directory"),
        (["--pdn", ""], "is a directory"),
        (["--pdn", "/dev/null/x"], "not a directory"),
        (["--sprt", "9", "1"], "two rising Elo differences"),
        (["--sprt", "3000", "4000"], "from -2000 to 2000, not 3000 and 4000"),
        (["--sprt", "1e308", "1e309"], "'1e308' is not an Elo difference such as -5 or 12.5"),
        (["--sprt", "nan", "1"], "'nan' is not an Elo difference"),
        (["--sprt", "0", "inf"], "'inf' is not an Elo difference"),
        (["--sprt", "0", "1_0"], "'1_0' is not an Elo difference"),
        (["--sprt", "0", "\uff11"], "is not an Elo difference"),
        (["--sprt", "0", "9" * 5000], "is not an Elo difference"),
        (["--random-plies", "9999"], "choose 0 to 100"),
        (["--random-plies", "-1"], "'-1' is not a whole number from 0 to 999999999"),
        (["--seed", "-1"], "'-1' is not a whole number from 0 to 999999999"),
        (["--seed", "\u0663"], "is not a whole number from 0"),
        (["--seed", "1_000"], "'1_000' is not a whole number from 0"),
        (["--seed", "9" * 5000], "is not a whole number from 0"),
        (["--games", "999999998"], "at most 1048576 games"),
    ],
)
def test_command_match_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "random", "random", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_command_match_takes_negative_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "random", "random", "--games", "2", "--seed", "0", "--sprt", "-5.5", "+5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["games"] == 2


def test_termination_of_games_is_recorded() -> None:
    match = play_match(*players("random", "random"), CBD, 40, seed=2)
    assert Termination.NONE not in {game.termination for game in match.games}
    assert len({game.termination for game in match.games}) > 1


def test_the_ladder_starts_from_a_file_of_openings(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "book.txt"
    book.write_text("c3-d4\nc3-b4\na3-b4 b6-a5\n")
    seen: list[Opening] = []
    plain = arena.play_pairs

    def watched(pairs, *arguments):
        seen.extend(pair.opening for pair in pairs)
        return plain(pairs, *arguments)

    monkeypatch.setattr(arena, "play_pairs", watched)
    config = ArenaConfig(ladder=("random",), simulations=1, openings=str(book))
    run_ladder(Material(), CBD, config, 8, seed=1)
    listed = load_openings(str(book), CBD)
    assert len(seen) == 4 and set(seen) == set(listed)
    assert draw_openings(listed, 6, 1) == draw_openings(listed, 6, 1)
    assert len({tuple(draw_openings(listed, 3, seed)) for seed in range(20)}) > 3
