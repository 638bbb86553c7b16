"""Self-play: many games at once become training records.

Games are split into groups. A group is a batch of games with its own trees and its own random stream, and everything
that it does depends on nothing else, so results do not depend on how many threads serve the groups. While one group
waits for the network (or for the other core), another one grows its trees.
"""

from damas_rl.selfplay.batch import FinishedGame, SelfPlayBatch
from damas_rl.selfplay.config import SelfPlayConfig
from damas_rl.selfplay.runner import SelfPlay

__all__ = ["FinishedGame", "SelfPlay", "SelfPlayBatch", "SelfPlayConfig"]
