"""A group of games that are played in step, with trees and a random stream of its own."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from damas_env.notation import format_fen
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_env.termination import Termination
from damas_rl import saved
from damas_rl.openings import MOST_RANDOM_PLIES
from damas_rl.records import Records, empty_records, policy_rows
from damas_rl.search.mcts import Evaluate, Search, SearchConfig, SearchResult, SearchStats, new_search
from damas_rl.selfplay.batch import FinishedGame
from damas_rl.selfplay.config import SelfPlayConfig
from damas_rl.tablebase import Tablebase
from damas_rl.tablebase.endgames import DRAW, LOSS, UNKNOWN, WIN

LONGEST_GAME = 256
"""Plies of one game that are kept; a longer game loses the records of its first plies and its move list."""

_MOST_FORCED = 32
"""Forced plies played in one step; by rules without any draw law kings might shuffle for ever."""


class Group:
    """A batch of games that is played in step.

    In one step each game goes on by a searched ply and by the forced plies that follow; a game that has just begun
    plays its random plies before. So each search finds a choice in every game.

    Rows of the games in progress are kept in rings of ``LONGEST_GAME`` plies: the row of game g at ply p of the game
    is ``rows[p % LONGEST_GAME, g]``.
    """

    def __init__(
        self,
        rules: RuleSet,
        config: SelfPlayConfig,
        search: SearchConfig,
        seed: np.random.SeedSequence,
        book: tuple[NDArray[np.uint64], NDArray[np.int8]] | None,
        tablebase: Tablebase | None,
    ) -> None:
        """Starts the games.

        Args:
            rules: rule set.
            config: how they are played.
            search: how moves are searched.
            seed: of the group's random stream.
            book: boards and side to move of the positions to start from; None = the starting position.
            tablebase: exact endgames; None = games are played to their end.
        """
        self.rules, self.config, self.search_config = rules, config, search
        self.size = config.games // config.groups
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.book, self.tablebase = book, tablebase
        self.initial_fen = format_fen(rules.initial_boards, rules.first_color, rules)
        self.positions = Positions.initial(rules, self.size)
        self.opening = np.zeros(self.size, np.int64)
        self.start_boards, self.start_colors = self.positions.boards.copy(), self.positions.colors.copy()
        self.resigner, self.plays_on = np.full(self.size, -1, np.int8), np.zeros(self.size, np.bool_)
        self.rows = empty_records(LONGEST_GAME, self.size)
        self.recorded = np.zeros((LONGEST_GAME, self.size), np.bool_)
        self.played = np.zeros((LONGEST_GAME, self.size), np.int16)
        self.colors = np.zeros((LONGEST_GAME, self.size), np.int8)
        self._restart(np.ones(self.size, np.bool_))
        self.search: Search | None = None

    def run(self, evaluator: Evaluate, steps: int) -> tuple[list[Records], list[FinishedGame], int, SearchStats]:
        """Runs ``steps`` steps; finished games are replaced by new ones.

        Returns:
            records and summaries of the finished games, plies played, costs.
        """
        if self.search is None:
            most = max(self.config.simulations, self.config.fast_simulations)
            self.search = new_search(self.rules, evaluator, self.search_config, self.size, most, self.tablebase)
        self.search.evaluator, self.search.stats = evaluator, SearchStats()
        records: list[Records] = []
        games: list[FinishedGame] = []
        plies = 0
        for _ in range(steps):
            plies += self._step(self.search)
            over, winners, left = self._results()
            for game in np.flatnonzero(over):
                part, finished = self._finish(int(game), int(winners[game]), int(left[game]))
                records.append(part)
                games.append(finished)
            self._restart(over)
        return records, games, plies, self.search.stats

    def _step(self, search: Search) -> int:
        """Returns the plies played, of all games together."""
        positions, config = self.positions, self.config
        plies = self._play_openings()
        full = self.rng.random() < config.full_share  # for the whole group, so that its batches stay large
        games = np.flatnonzero(positions.terminations == 0)
        moves = positions.actions[games, 0]
        # A forced move needs no search and teaches nothing: the tree passes through such positions as well.
        choosing = positions.counts[games] > 1
        searched = games[choosing]
        if len(searched):
            budget, noise = (config.simulations, self.rng) if full else (config.fast_simulations, None)
            result = search.run(positions.take(searched), budget, noise)
            moves[choosing] = self._pick(result, positions.plies[searched] - self.opening[searched])
            self._record(searched, result)
            if full and config.resign:
                lost = searched[(result.value <= -config.resign) & (self.resigner[searched] < 0)]
                self.resigner[lost] = positions.colors[lost]
        self._play(games, moves, choosing & full)
        plies += len(games)
        for _ in range(_MOST_FORCED):
            games = np.flatnonzero((positions.counts == 1) & (positions.terminations == 0))
            if not len(games):
                break
            self._play(games, positions.actions[games, 0], np.zeros(len(games), np.bool_))
            plies += len(games)
        return plies

    def _play_openings(self) -> int:
        """Plays the random plies of games that have just begun; returns how many, of all games together."""
        positions, plies = self.positions, 0
        while True:
            games = np.flatnonzero((positions.plies < self.opening) & (positions.terminations == 0))
            if not len(games):
                return plies
            self._play(games, positions.sample_legal(self.rng)[games], np.zeros(len(games), np.bool_))
            plies += len(games)

    def _play(self, games: NDArray[np.int64], moves: NDArray[np.int16], recorded: NDArray[np.bool_]) -> None:
        """Plays a ply in some games."""
        slots = self.positions.plies[games] % LONGEST_GAME
        self.recorded[slots, games] = recorded
        self.colors[slots, games] = self.positions.colors[games]
        self.played[slots, games] = moves
        actions, going_on = np.full(self.size, -1, np.int16), np.zeros(self.size, np.bool_)
        actions[games], going_on[games] = moves, True
        self.positions.step(actions, going_on)

    def _pick(self, result: SearchResult, plies: NDArray[np.int32]) -> NDArray[np.int16]:
        """The moves to play; PUCT samples by visit counts early in a game, Gumbel noise needs no sampling."""
        if self.search_config.root == "gumbel":
            return result.choice
        weights = np.log(np.maximum(result.policy, 1e-12)) / self.config.temperature
        noise = self.rng.gumbel(size=weights.shape)
        sampled = np.argmax(np.where(result.policy > 0, weights + noise, -np.inf), axis=1)
        early = plies < self.config.temperature_plies
        return np.where(early, result.actions[np.arange(len(plies)), sampled], result.choice)

    def _record(self, games: NDArray[np.int64], result: SearchResult) -> None:
        rows, slots = self.rows, self.positions.plies[games] % LONGEST_GAME
        rows.boards[slots, games] = self.positions.boards[games]
        rows.features[slots, games] = features(self.positions)[games]
        rows.actions[slots, games], rows.policy[slots, games] = policy_rows(result.actions, result.policy)
        rows.q[slots, games] = result.value
        if self.config.surprise:
            rows.weight[slots, games] = _divergence(result)

    def _results(self) -> tuple[NDArray[np.bool_], NDArray[np.int8], NDArray[np.int64]]:
        """Which games are over: by the rules, since a side resigns, or since the endgame table knows how they end.

        Returns:
            over: bool[G]; winners: int8[G], -1 = nobody; left: int64[G], plies that best play would still take.
        """
        positions = self.positions
        over, winners, left = positions.terminations != 0, positions.winners(), np.zeros(self.size, np.int64)
        resigns = (self.resigner >= 0) & ~self.plays_on & ~over
        over, winners = over | resigns, np.where(resigns, 1 - self.resigner, winners).astype(np.int8)
        if self.tablebase is not None:
            few = np.bitwise_count(positions.boards).sum(axis=1) <= self.tablebase.pieces
            games = np.flatnonzero(few & ~over)
            if len(games):
                verdicts, colors = self.tablebase.judge(positions.take(games)), positions.colors[games]
                over[games] = verdicts.proof != UNKNOWN
                winners[games] = np.select([verdicts.proof == WIN, verdicts.proof == LOSS], [colors, 1 - colors], -1)
                left[games] = np.where(verdicts.proof == DRAW, 0, verdicts.distance)
        return over, winners, left

    def _finish(self, game: int, winner: int, left: int) -> tuple[Records, FinishedGame]:
        """Records and summary of a finished game, won by ``winner`` within ``left`` more plies."""
        length = int(self.positions.plies[game])
        plies = np.arange(max(0, length - LONGEST_GAME), length)
        slots = plies % LONGEST_GAME
        termination = Termination(int(self.positions.terminations[game]))
        if not termination and self.resigner[game] >= 0 and not self.plays_on[game]:
            termination = Termination.RESIGNATION
        start = format_fen(self.start_boards[game], int(self.start_colors[game]), self.rules)
        finished = FinishedGame(
            None if start == self.initial_fen else start,
            length,
            tuple(self.played[slots, game].tolist()) if length <= LONGEST_GAME else (),
            min(int(self.opening[game]), length),
            termination,
            winner,
            int(self.resigner[game]),
        )
        kept = self.recorded[slots, game]
        plies, slots = plies[kept], slots[kept]
        part = Records(*(column[slots, game] for column in self.rows))
        if winner >= 0:
            part.z[:] = np.where(self.colors[slots, game] == winner, 1, -1)
        part.plies_left[:] = length + left - plies
        if self.config.surprise and len(plies):
            part.weight[:] = 1.0 - self.config.surprise * (1.0 - part.weight / part.weight.mean())
        return part, finished

    def _restart(self, done: NDArray[np.bool_]) -> None:
        fresh = self.rng.integers(0, self.config.random_plies + 1, self.size)
        self.opening = np.where(done, fresh, self.opening)
        if self.config.resign:
            self.plays_on = np.where(done, self.rng.random(self.size) < self.config.no_resign_share, self.plays_on)
            self.resigner[done] = -1
        forks, boards, colors = self._forks(done)
        self.positions.reset(done)
        if self.book is not None and done.any():
            chosen = self.rng.integers(0, len(self.book[1]), int(done.sum()))
            self._set_up(np.flatnonzero(done), self.book[0][chosen], self.book[1][chosen])
        if len(forks):
            self._set_up(forks, boards, colors)
            self.opening[forks] = 1
        self.start_boards[done], self.start_colors[done] = self.positions.boards[done], self.positions.colors[done]

    def _forks(self, done: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int8]]:
        """Which of the games that are over will be forked, and from where: boards and side to move."""
        games, slots = [], []
        if self.config.fork_share:
            for game in np.flatnonzero(done & (self.rng.random(self.size) < self.config.fork_share)):
                length = int(self.positions.plies[game])
                searched = np.arange(max(0, length - LONGEST_GAME), length) % LONGEST_GAME
                searched = searched[self.recorded[searched, game]]
                if len(searched):
                    games.append(game)
                    slots.append(self.rng.choice(searched))
        where = np.array(slots, np.int64), np.array(games, np.int64)
        return where[1], self.rows.boards[where], self.colors[where]

    def _set_up(self, games: NDArray[np.int64], boards: NDArray[np.uint64], colors: NDArray[np.int8]) -> None:
        """Makes some games start elsewhere."""
        started = Positions.from_boards(self.rules, boards, colors)
        for name in Positions.ARRAYS:
            getattr(self.positions, name)[games] = getattr(started, name)

    _KEPT = ("recorded", "played", "colors", "start_boards", "start_colors", "resigner", "plays_on")

    def state_dict(self) -> dict[str, Any]:
        """Games in progress, as arrays and plain values."""
        arrays = {f"positions.{name}": getattr(self.positions, name) for name in Positions.ARRAYS}
        arrays |= {f"rows.{name}": column for name, column in self.rows._asdict().items()}
        arrays |= {name: getattr(self, name) for name in self._KEPT}
        copies = {name: array.copy() for name, array in arrays.items()}
        return {**copies, "opening": self.opening.copy(), "rng": self.rng.bit_generator.state}

    def check_state_dict(self, state: dict[str, Any]) -> None:
        """Refuses (SavedError) games that self-play cannot have left in progress; changes nothing."""
        saved.generator(state, "rng")
        opening = saved.array(state, "opening", self.opening)
        saved.within("opening", opening, 0, MOST_RANDOM_PLIES)
        positions = Positions(self.rules, self.size)
        for name in Positions.ARRAYS:
            setattr(positions, name, saved.array(state, f"positions.{name}", getattr(positions, name)))
        rings = {name: saved.array(state, name, getattr(self, name)) for name in self._KEPT}
        rows = saved.records_of(state, "rows.", (LONGEST_GAME, self.size))
        saved.within("positions.colors", positions.colors, 0, 1)
        saved.within("positions.plies", positions.plies, 0, 1 << 30)
        saved.within("colors", rings["colors"], 0, 1)
        saved.within("start_colors", rings["start_colors"], 0, 1)
        saved.within("resigner", rings["resigner"], -1, 1)
        saved.check_standing(positions)
        start = saved.checked_positions(self.rules, rings["start_boards"], rings["start_colors"])
        saved.check_played(positions, start, rings, rows)
        # What stands at plies that have been played may still become records.
        alive = (np.arange(LONGEST_GAME)[:, None] < positions.plies) & rings["recorded"]
        saved.check_records(Records(*(column[alive] for column in rows)), self.rules)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes up games in progress, which :meth:`check_state_dict` has looked at."""
        for name in Positions.ARRAYS:
            getattr(self.positions, name)[:] = state[f"positions.{name}"]
        for name, column in self.rows._asdict().items():
            column[:] = state[f"rows.{name}"]
        for name in self._KEPT:
            getattr(self, name)[:] = state[name]
        self.opening = np.array(state["opening"])
        self.rng.bit_generator.state = state["rng"]


def _divergence(result: SearchResult) -> NDArray[np.float32]:
    """Kullback-Leibler divergence of each search's policy from the network's, plus a little: weights are positive."""
    legal = np.arange(result.policy.shape[1]) < result.counts[:, None]
    logits = np.where(legal, result.logits, -np.inf)
    highest = logits.max(axis=1, keepdims=True)
    log_prior = logits - highest - np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
    chosen = result.policy > 0
    gains = np.log(result.policy, where=chosen, out=np.zeros_like(result.policy)) - np.where(chosen, log_prior, 0.0)
    divergence = (result.policy * gains).sum(axis=1)
    return np.maximum(divergence, 0.0).astype(np.float32) + np.float32(1e-3)
