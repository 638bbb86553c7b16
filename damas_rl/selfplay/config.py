"""Configuration of self-play."""

from dataclasses import dataclass

from damas_rl.openings import MOST_RANDOM_PLIES
from damas_rl.strict import check_ranges
from damas_rl.tablebase.index import MOST_PIECES


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games against oneself are played.

    Attributes:
        games: games played at once (by each actor, where actors play).
        groups: batches into which they are split; each is one network batch.
        threads: groups served at once; 0 = one for each core.
        simulations: of a full search, whose position becomes a record.
        fast_simulations: of a fast search, which has no exploration noise and whose position becomes no record
            (playout-cap randomisation, Wu 2019).
        full_share: share of plies that get a full search.
        random_plies: a game starts with 0 to this many random plies.
        openings: file of openings, one a line, from a random one of which each game starts (the random plies follow);
            empty = the starting position.
        fork_share: share of games that start where the game before them in their place had a full search, at a ply
            drawn at random, and go on from there with one random ply.
        temperature: exponent 1 / temperature over visit counts while sampling (PUCT).
        temperature_plies: plies after the opening during which moves are sampled (PUCT).
        tablebase: pieces of the endgame table that searches ask, and by which a game ends as soon as its result is
            certain; 0 = none.
        resign: a side resigns once a full search values its position at minus this or less; 0 = never.
        no_resign_share: share of the games that are played on, which shows how often resigning would be wrong.
        surprise: share of the weight of a game's records that goes to those where the search's policy differs most
            from the network's (policy-surprise weighting, Wu 2019); 0 = all weigh the same.
    """

    games: int = 512
    groups: int = 4
    threads: int = 0
    simulations: int = 64
    fast_simulations: int = 16
    full_share: float = 1.0
    random_plies: int = 8
    openings: str = ""
    fork_share: float = 0.0
    temperature: float = 1.0
    temperature_plies: int = 16
    tablebase: int = 0
    resign: float = 0.0
    no_resign_share: float = 0.1
    surprise: float = 0.0

    def __post_init__(self) -> None:
        check_ranges(
            "selfplay",
            self,
            games=(1, 1 << 20),
            groups=(1, 1024),
            threads=(0, 1024),
            simulations=(1, 1 << 16),
            fast_simulations=(1, 1 << 16),
            full_share=(1e-3, 1.0),
            random_plies=(0, MOST_RANDOM_PLIES),
            fork_share=(0.0, 1.0),
            temperature=(1e-2, 100.0),
            temperature_plies=(0, 10_000),
            tablebase=(0, MOST_PIECES),
            resign=(0.0, 1.0),
            no_resign_share=(0.0, 1.0),
            surprise=(0.0, 1.0),
        )
        if self.tablebase == 1:
            raise ValueError(f"selfplay.tablebase=1: choose 0 (none) or 2 to {MOST_PIECES} pieces.")
        if self.games % self.groups:
            raise ValueError(f"selfplay.games={self.games} must be a multiple of selfplay.groups={self.groups}.")
