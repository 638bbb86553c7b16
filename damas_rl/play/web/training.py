"""The games and networks that a training run has kept, so that one can watch a network grow."""

from pathlib import Path
from typing import Any

from damas_env.errors import NotationError
from damas_env.notation.game_types import rules_of
from damas_env.notation.pdn_text import RawGame, decode, split_games
from damas_rl.files import why
from damas_rl.play.table import RequestError
from damas_rl.run_files import CHECKPOINTS, GAMES, NETWORKS, Numbered
from damas_rl.runs import number, read_run

_LARGEST_FILE = 4 << 20
"""Bytes of a file of games."""

_MOST_GAMES = 200
"""Games of one iteration that are shown."""


class TrainingRun:
    """A run directory (see :mod:`damas_rl.rundir`); training may go on in it.

    Files are found by their numbers, and nothing outside of the directory is read.

    Args:
        path: the directory.

    Raises:
        NoRunError: it holds no run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self.name = read_run(path).name

    def overview(self) -> dict[str, Any]:
        """What there is, by ascending numbers of iterations.

        Returns:
            ``name``; ``iterations`` of which games were kept, with ``number`` and ``minutes`` of training each (None:
            not noted); ``networks``, by number; ``measured``: the ``number`` of each measurement and its ``scores`` by
            opponent.
        """
        run, minutes = read_run(self._path), {}
        for event in run.iterations:
            iteration, seconds = number(event, "iteration"), number(event, "time", "training")
            if iteration is not None and seconds is not None:
                minutes[int(iteration)] = seconds / 60
        return {
            "name": self.name,
            "iterations": [{"number": kept, "minutes": minutes.get(kept)} for kept in self._files(GAMES)],
            "networks": list(self._networks()),
            "measured": [
                {
                    "number": measurement.iteration,
                    "scores": {opponent: result.score for opponent, result in measurement.results.items()},
                }
                for measurement in run.measurements
            ],
        }

    def games(self, iteration: int) -> list[dict[str, Any]]:
        """The games that were kept of an iteration: what is known of each, and its PDN text.

        Raises:
            ValueError: there are none, or they cannot be read.
        """
        path = self._files(GAMES).get(iteration)
        if path is None:
            raise RequestError(f"No games of iteration {iteration} were kept.")
        try:
            if path.stat().st_size > _LARGEST_FILE:
                raise RequestError(f"The file with the games of iteration {iteration} is too large.")
            text = decode(path.read_bytes())
        except OSError as error:
            raise RequestError(f"The games of iteration {iteration} cannot be read: {why(error)}.") from None
        lines, games = text.splitlines(), split_games(text)
        if not games:
            raise RequestError(f"The file with the games of iteration {iteration} is empty.")
        ends = [*(game.line - 1 for game in games[1:]), len(lines)][:_MOST_GAMES]
        return [_view(game, "\n".join(lines[game.line - 1 : end])) for game, end in zip(games, ends, strict=False)]

    def network(self, iteration: int) -> Path:
        """The file of the network of an iteration.

        Raises:
            ValueError: it was not kept.
        """
        path = self._networks().get(iteration)
        if path is None:
            raise RequestError(f"The network of iteration {iteration} was not kept.")
        return path

    def _networks(self) -> dict[int, Path]:
        """By iteration, ascending: measured networks, and checkpoints where there is no measured one."""
        return dict(sorted({**self._files(CHECKPOINTS), **self._files(NETWORKS)}.items()))

    def _files(self, kind: Numbered) -> dict[int, Path]:
        """The files of a kind by their numbers, ascending; links that lead out of the run are left out."""
        place = self._path / kind.folder
        try:
            names = [path.name for path in place.iterdir()]
        except OSError:
            return {}
        found = {iteration: place / name for name in names if (iteration := kind.iteration(name)) is not None}
        return {
            iteration: path
            for iteration, path in sorted(found.items())
            if path.is_file() and path.resolve().is_relative_to(self._path)
        }


def _view(game: RawGame, text: str) -> dict[str, Any]:
    try:
        rules = rules_of(game.tags).name
    except NotationError:
        rules = None
    return {
        "rules": rules,
        "result": game.tags.get("Result", "*"),
        "plies": len(game.items),
        "random": game.tags.get("RandomPlies", "0"),
        "termination": game.tags.get("Termination", "").upper(),
        "pdn": text,
    }
