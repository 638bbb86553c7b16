"""What self-play produces: records, finished games, and figures about them."""

from dataclasses import dataclass, field

import numpy as np

from damas_env.termination import Termination
from damas_rl.records import Records
from damas_rl.search.mcts import SearchStats


@dataclass(frozen=True)
class FinishedGame:
    """One game.

    Attributes:
        fen: where it started; None = the starting position.
        plies: length of the game.
        actions: the plies, as action indices; empty if there were more than ``group.LONGEST_GAME``.
        opening: how many of them were random.
        termination: why it ended; ``NONE`` = the endgame table knew its result.
        winner: 0 = White, 1 = Black, -1 = nobody.
        resigner: side that resigned, or would have if the game had not been played on; -1 = neither.
    """

    fen: str | None
    plies: int
    actions: tuple[int, ...]
    opening: int
    termination: Termination
    winner: int
    resigner: int = -1


@dataclass
class SelfPlayBatch:
    """What one call of ``SelfPlay.run`` produced: records, finished games and costs; ``extra`` figures for logs."""

    records: Records
    games: list[FinishedGame]
    plies: int
    seconds: float
    search: SearchStats = field(default_factory=SearchStats)
    extra: dict[str, float] = field(default_factory=dict)

    def stats(self) -> dict[str, float]:
        """Figures for logs; shares are in [0, 1], lengths in plies."""
        games = max(1, len(self.games))
        lengths = [game.plies for game in self.games]
        drawn = sum(game.winner < 0 for game in self.games)
        white = sum(game.winner == 0 for game in self.games)
        figures = {
            "plies": float(self.plies),
            "games": float(len(self.games)),
            "evaluations": float(self.search.evaluations),
            "seconds": self.seconds,
            "positions_per_second": self.plies / self.seconds,
            "evaluations_per_second": self.search.evaluations / self.seconds,
            "batch_fill": self.search.evaluations / max(1, self.search.capacity),
            "network_share": self.search.net_seconds / max(1e-9, self.search.seconds),
            "mean_length": float(np.mean(lengths)) if lengths else 0.0,
            "draw_share": drawn / games,
            "white_win_share": white / games,
            "distinct_share": len({(game.fen, game.actions) for game in self.games}) / games,
        }
        played_on = [game for game in self.games if game.resigner >= 0 and game.termination != Termination.RESIGNATION]
        if played_on:
            wrong = sum(game.winner != 1 - game.resigner for game in played_on)
            figures["wrong_resignations"] = wrong / len(played_on)
        for termination in Termination:
            count = sum(game.termination == termination for game in self.games)
            if count:
                name = termination.name.lower() if termination else "tablebase"
                figures[f"ended_by/{name}"] = count / games
        return figures | self.extra
