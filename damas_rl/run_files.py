"""Names of the numbered files of a run: each tells the iteration after which it was written."""

import re
from typing import NamedTuple


class Numbered(NamedTuple):
    """Files of one kind.

    Attributes:
        folder: of the run directory, where they lie.
        stem, suffix: of their names, before and behind the number.
    """

    folder: str
    stem: str
    suffix: str

    def name(self, iteration: int) -> str:
        """Name of the file of an iteration."""
        return f"{self.stem}-{iteration:07d}{self.suffix}"

    def iteration(self, name: str) -> int | None:
        """The iteration of a file, None if it is of another kind."""
        match = re.fullmatch(rf"{self.stem}-([0-9]{{7,12}}){re.escape(self.suffix)}", name)
        return int(match[1]) if match else None


CHECKPOINTS = Numbered("checkpoints", "ckpt", ".pt")
NETWORKS = Numbered("networks", "net", ".pt")
"""Those that were measured."""

GAMES = Numbered("games", "iteration", ".pdn")
