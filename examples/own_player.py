"""A player of one's own: it plays the move after which random games go best.

export DAMAS_PLUGINS=examples/own_player.py
damas match rollouts:games=20 alphabeta:depth=1 --games 20
damas web --player rollouts:games=50
"""

import numpy as np

from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_rl.players import Choice, Make, Player, register_player, whole_option

LONGEST = 200
"""Plies of a random game; one that is not over then counts as a draw."""


class RolloutPlayer(Player):
    """Judges each legal move by random games."""

    def __init__(self, rules: RuleSet, games: int, seed: int, name: str) -> None:
        self.name, self._games = name, games
        self._rng = np.random.default_rng(seed)

    def choose(self, positions: Positions) -> Choice:
        """Chooses one legal action in each of B games, all at once."""
        legal = np.arange(positions.actions.shape[1]) < positions.counts[:, None]
        parents = np.repeat(np.nonzero(legal)[0], self._games)  # one row for each random game
        actions = np.repeat(positions.actions[legal], self._games)
        games = positions.take(parents)
        games.step(actions)
        for _ in range(LONGEST):
            going_on = games.terminations == 0
            if not going_on.any():
                break
            games.step(games.sample_legal(self._rng), going_on)
        winners, mover = games.winners(), positions.colors[parents]
        results = np.where(winners < 0, 0, np.where(winners == mover, 1, -1))
        scores = np.full(legal.shape, -np.inf)
        # One drawn game more: a value of 1 would say that the win is proven.
        scores[legal] = results.reshape(-1, self._games).sum(axis=1) / (self._games + 1)
        rows, best = np.arange(len(positions)), scores.argmax(axis=1)
        chosen = positions.actions[rows, best]
        nodes = self._games * positions.counts.astype(np.int64)
        return Choice(chosen, scores[rows, best].astype(np.float32), nodes, [[int(action)] for action in chosen])


def read(spec: str, options: dict[str, str]) -> Make:
    """Reads ``rollouts:games=20``; the player is made when rules and seed are known."""
    games = whole_option(spec, options, "games", most=1000) or 20
    return lambda rules, seed: RolloutPlayer(rules, games, seed, spec)


register_player("rollouts", ("games",), read)
