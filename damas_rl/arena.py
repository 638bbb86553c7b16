"""Matches: paired games with colours swapped, all games of a match advanced as one batch; the ladder of opponents."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from damas_env.errors import shown
from damas_env.game import Game
from damas_env.notation import PdnGame, write_pdn
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_env.termination import Termination
from damas_rl.elo import Sprt, elo_difference
from damas_rl.openings import MOST_RANDOM_PLIES, Opening, draw_openings, load_openings, match_openings
from damas_rl.players import MOST_SIMULATIONS, MctsPlayer, Player, PlayerError, make_player, read_spec
from damas_rl.search.mcts import Evaluate
from damas_rl.strict import check_ranges
from damas_rl.tablebase import open_tablebase
from damas_rl.tablebase.index import MOST_PIECES

MAX_GAMES = 1 << 20
"""Games of one match."""

MAX_BATCH = 256
"""Games that are played at the same time."""

SPRT_BATCH = 32
"""The same for matches that a sequential test can end, which looks at the result after each batch."""


@dataclass(frozen=True)
class ArenaConfig:
    """How training runs are measured.

    Attributes:
        ladder: player specs of the opponents.
        games: against each opponent, in measurements during training.
        final_games: against each opponent, in the measurement that ends a run.
        simulations: for each move of the measured player.
        tablebase: pieces of the endgame table that the measured player asks; 0 = none.
        random_plies: games start with that many random plies; null = they start from ballots, or with 6 random
            plies where no ballots ship for the rules.
        openings: file of openings, one a line, from which games start in random order instead.
    """

    ladder: tuple[str, ...] = (
        "random",
        "alphabeta:depth=1",
        "alphabeta:depth=2",
        "alphabeta:depth=3",
        "alphabeta:depth=4",
    )
    games: int = 40
    final_games: int = 200
    simulations: int = 200
    tablebase: int = 0
    random_plies: int | None = None
    openings: str = ""

    def __post_init__(self) -> None:
        check_ranges(
            "arena",
            self,
            games=(2, MAX_GAMES),
            final_games=(2, MAX_GAMES),
            simulations=(1, MOST_SIMULATIONS),
            tablebase=(0, MOST_PIECES),
            random_plies=(0, MOST_RANDOM_PLIES),
        )
        if self.tablebase == 1:
            raise ValueError(f"arena.tablebase=1: choose 0 (none) or 2 to {MOST_PIECES} pieces.")
        for key in ("games", "final_games"):
            if getattr(self, key) % 2:
                raise ValueError(f"arena.{key}={getattr(self, key)}: games are played in pairs; choose an even number.")
        if not self.ladder:
            raise ValueError("arena.ladder is empty: name at least one opponent, such as random.")
        for spec in self.ladder:
            try:
                read_spec(spec)
            except PlayerError as error:
                raise ValueError(f"arena.ladder: {error}") from None


@dataclass(frozen=True)
class MatchScore:
    """The result of a match, for its first player.

    Attributes:
        player, opponent: names.
        wins, draws, losses: games.
        truncated: those of the draws that the ply cap stopped without a result.
        pairs: pairs of games that gave 0, 1/2, 1, 3/2 and 2 points.
        elo, low, high: Elo difference with the bounds of its 95 % interval (see :mod:`damas_rl.elo`).
        distinct: share of the games that differ from all earlier ones.
        plies: mean length of a game, opening included.
        seconds: how long it took.
    """

    player: str
    opponent: str
    wins: int
    draws: int
    losses: int
    truncated: int
    pairs: tuple[int, ...]
    elo: float
    low: float
    high: float
    distinct: float
    plies: float
    seconds: float

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Share of points, draws counted half; NaN without games."""
        return (self.wins + self.draws / 2) / self.games if self.games else math.nan


@dataclass(frozen=True)
class MatchGame:
    """One finished game of a match.

    Attributes:
        white, black: names of the players.
        first_is_white: the match's first player has White.
        opening: the moves that the players did not choose.
        actions: all actions, opening included.
        termination: why it ended.
        winner: 0 = White, 1 = Black, -1 = nobody.
    """

    white: str
    black: str
    first_is_white: bool
    opening: Opening
    actions: tuple[int, ...]
    termination: Termination
    winner: int

    @property
    def points(self) -> float:
        """0, 0.5 or 1 for the match's first player."""
        return 0.5 if self.winner < 0 else float((self.winner == 0) == self.first_is_white)


@dataclass(frozen=True)
class Pair:
    """Two games to be played from one opening: first player with White, then with Black."""

    first: Player
    second: Player
    opening: Opening


@dataclass(frozen=True)
class MatchResult:
    """A match.

    Attributes:
        rules: the rule set.
        score: the result.
        games: the games; two in a row are a pair.
    """

    rules: RuleSet
    score: MatchScore
    games: list[MatchGame]

    def pdn(self, event: str = "Match") -> str:
        """The games as PDN."""
        return write_pdn(_pdn_game(game, self.rules, event, number) for number, game in enumerate(self.games, 1))


def play_match(
    player: Player,
    opponent: Player,
    rules: RuleSet,
    games: int,
    openings: Sequence[Opening] | None = None,
    random_plies: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
    sprt: Sprt | None = None,
) -> MatchResult:
    """Plays a match: each opening twice, with colours swapped.

    Args:
        player: whose wins are counted as wins.
        opponent: the other player.
        rules: rule set.
        games: an even number.
        openings: used in turn, from the first one again when there are fewer than pairs; None = those of
            :func:`damas_rl.openings.match_openings`.
        random_plies: plies of random openings; None = ballots where there are some.
        seed: of the openings.
        progress: called with (games finished, games in all) as the match goes on.
        stop: asked once a ply, and while random openings are drawn; True ends the match. The games in hand are dropped
            then, all of them: those that are already over are the short ones, and counting them alone would be unfair
            to someone.
        sprt: ends the match as soon as this test has decided.

    Raises:
        ValueError: an odd or impossible number of games, or no opening.
    """
    if games < 2 or games % 2:
        raise ValueError(f"games={games}: games are played in pairs with colours swapped; choose an even number.")
    if games > MAX_GAMES:
        raise ValueError(f"games={games}: a match has at most {MAX_GAMES} games.")
    if openings is None:
        openings = match_openings(rules, games // 2, seed, random_plies, stop)
    if not openings:
        raise ValueError("There is no opening to play from.")
    started = time.perf_counter()
    pairs = [Pair(player, opponent, openings[pair % len(openings)]) for pair in range(games // 2)]
    finished: list[MatchGame] = []
    for played in _in_batches(pairs, rules, SPRT_BATCH if sprt else MAX_BATCH, progress, stop):
        finished += played
        if sprt and sprt.decision(_pair_counts(finished)) is not None:
            break
    score = _score(player.name, opponent.name, finished, time.perf_counter() - started)
    return MatchResult(rules, score, finished)


def _in_batches(
    pairs: Sequence[Pair],
    rules: RuleSet,
    size: int,
    progress: Callable[[int, int], None] | None,
    stop: Callable[[], bool] | None,
) -> Iterator[list[MatchGame]]:
    """Plays pairs, ``size`` games at the same time, and yields each batch when it is over; see :func:`play_match`."""
    for start in range(0, len(pairs), size // 2):

        def report(over: int, before: int = 2 * start) -> None:
            if progress:
                progress(before + over, 2 * len(pairs))

        played = play_pairs(pairs[start : start + size // 2], rules, report, stop)
        if played is None:
            return
        yield played


def play_pairs(
    pairs: Sequence[Pair],
    rules: RuleSet,
    report: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> list[MatchGame] | None:
    """Plays pairs of games as one batch: each player moves at once in all games in which it has the move.

    Args:
        pairs: the players may differ from pair to pair.
        rules: rule set.
        report: called with the number of finished games once a ply.
        stop: asked once a ply; True gives everything up.

    Returns:
        the games, two for each pair in its order, or None if they were stopped.
    """
    openings = [pair.opening for pair in pairs for _ in range(2)]
    players = list(dict.fromkeys(player for pair in pairs for player in (pair.first, pair.second)))
    seats = [(players.index(pair.first), players.index(pair.second)) for pair in pairs]
    # seated[game, color] is the player of that colour.
    seated = np.array([sides for one, other in seats for sides in ((one, other), (other, one))])
    positions = Opening.positions(rules, openings)
    log: list[np.ndarray] = []
    while True:
        going_on = positions.terminations == 0
        if report:
            report(int((~going_on).sum()))
        if not going_on.any():
            break
        if stop and stop():
            return None
        actions = np.full(len(positions), -1, dtype=np.int16)
        to_move = seated[np.arange(len(positions)), positions.colors]
        for number, player in enumerate(players):
            games = np.flatnonzero(going_on & (to_move == number))
            if len(games):
                actions[games] = _answer(player, positions.take(games))
        positions.step(actions, going_on)
        log.append(actions)
    played = np.stack(log, axis=1) if log else np.empty((len(positions), 0), dtype=np.int16)
    winners = positions.winners()
    return [
        MatchGame(
            white=players[seated[game, 0]].name,
            black=players[seated[game, 1]].name,
            first_is_white=game % 2 == 0,
            opening=opening,
            actions=(*opening.actions, *(int(action) for action in played[game] if action >= 0)),
            termination=Termination(int(positions.terminations[game])),
            winner=int(winners[game]),
        )
        for game, opening in enumerate(openings)
    ]


def _answer(player: Player, positions: Positions) -> np.ndarray:
    """int16[B], what a player chooses; PlayerError unless that is one legal action for each game."""
    actions = np.asarray(player.choose(positions).actions)
    if actions.shape == (len(positions),) and actions.dtype.kind in "iu":
        slots = np.arange(positions.actions.shape[1]) < positions.counts[:, None]
        if ((positions.actions == actions[:, None]) & slots).any(axis=1).all():
            return actions
    raise PlayerError(f"Player {player.name!r} answered {shown(actions.tolist())}, not a legal action for each game.")


def _pair_counts(games: Sequence[MatchGame]) -> tuple[int, ...]:
    """Pairs that gave 0, 1/2, 1, 3/2 and 2 points."""
    counts = [0] * 5
    for one, other in zip(games[::2], games[1::2], strict=True):
        counts[int(2 * (one.points + other.points))] += 1
    return tuple(counts)


def _score(player: str, opponent: str, games: Sequence[MatchGame], seconds: float) -> MatchScore:
    pairs = _pair_counts(games)
    elo = elo_difference(pairs)
    points = [game.points for game in games]
    number = len(games)
    return MatchScore(
        player=player,
        opponent=opponent,
        wins=points.count(1.0),
        draws=points.count(0.5),
        losses=points.count(0.0),
        truncated=sum(game.termination == Termination.PLY_CAP for game in games),
        pairs=pairs,
        elo=elo.difference,
        low=elo.low,
        high=elo.high,
        distinct=len({(game.opening.fen, game.actions) for game in games}) / number if number else math.nan,
        plies=sum(len(game.actions) for game in games) / number if number else math.nan,
        seconds=seconds,
    )


def _pdn_game(game: MatchGame, rules: RuleSet, event: str, number: int) -> PdnGame:
    replayed = Game(rules, game.opening.fen)
    for action in game.actions:
        replayed.push(action)
    tags = {
        "Event": event,
        "Round": str(number),
        "White": game.white,
        "Black": game.black,
        "OpeningPlies": str(len(game.opening.actions)),
        "Termination": game.termination.name.lower(),
    }
    return replayed.pdn(tags)


def run_ladder(
    evaluator: Evaluate,
    rules: RuleSet,
    config: ArenaConfig,
    games: int,
    seed: int,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> list[MatchScore]:
    """Measures a network, playing with tree search, against each opponent of the ladder.

    Args:
        evaluator: the network.
        rules: rule set.
        config: opponents, simulations and openings.
        games: against each opponent, an even number.
        seed: of openings and opponents; all opponents play the same openings.
        progress: called with (games finished, games in all) as the measurement goes on.
        stop: asked once a ply; True ends the measurement, and the games in hand are dropped.

    Returns:
        one result for each opponent, in the order of ``config.ladder``.

    Raises:
        ValueError: the file of openings or the endgame table cannot be used.
    """
    tablebase = open_tablebase(rules, config.tablebase) if config.tablebase else None
    player = MctsPlayer(rules, evaluator, config.simulations, tablebase)
    opponents = [
        make_player(spec, rules, int(np.random.SeedSequence((seed, number)).generate_state(1)[0]))
        for number, spec in enumerate(config.ladder)
    ]
    started = time.perf_counter()
    # All opponents at once, so that the network gets large batches.
    if config.openings:
        openings = draw_openings(load_openings(config.openings, rules), games // 2, seed)
    else:
        openings = match_openings(rules, games // 2, seed, config.random_plies, stop)
    pairs = [Pair(player, opponent, opening) for opening in openings for opponent in opponents]
    rungs: list[list[MatchGame]] = [[] for _ in opponents]
    for number, game in enumerate(chain.from_iterable(_in_batches(pairs, rules, MAX_BATCH, progress, stop))):
        rungs[number // 2 % len(opponents)].append(game)
    seconds = (time.perf_counter() - started) / len(opponents)
    return [_score(player.name, opponent.name, rung, seconds) for opponent, rung in zip(opponents, rungs, strict=True)]
