"""How the event loop ends a search that runs on a thread."""

import threading

from damas_env.position import Positions
from damas_rl.players import Choice, Player


class Stop:
    """Lets one thread end the search of another.

    Attributes:
        asked: the search shall end.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._player: Player | None = None
        self.asked = False

    def now(self) -> None:
        """Ends the search soon, also one that has not begun yet."""
        with self._lock:
            self.asked = True
            if self._player:
                self._player.stop()

    def choice(self, player: Player, positions: Positions) -> Choice:
        """What a player chooses; if it was asked to stop meanwhile, it is of no further use."""
        with self._lock:
            self._player = player
            if self.asked:
                player.stop()
        try:
            return player.choose(positions)
        finally:
            with self._lock:  # an engine may serve another search from now on
                self._player = None
