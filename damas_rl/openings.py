"""Openings of matches: ballots that ship, random ones that leave both sides a game, and listed ones from a file."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from damas_env.game import Game
from damas_env.notation import decode
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.files import why
from damas_rl.search.alphabeta import AlphaBeta, Limits

_ROUNDS = 20
_JUDGE = Limits(depth=5)
_BALANCED = 50

BALLOTS = Path(__file__).parent / "ballots"
"""Lists of balanced openings, each named after a rule set; scripts/ballots.py makes them."""

RANDOM_PLIES = 6
"""Random plies of an opening where neither ballots nor another number are used."""

MOST_RANDOM_PLIES = 100
"""Random plies at the start of a game."""


@dataclass(frozen=True)
class Opening:
    """Where a game of a match begins.

    Attributes:
        fen: position of the first ply; None = the starting position.
        actions: actions played from there before the players take over.
    """

    fen: str | None = None
    actions: tuple[int, ...] = ()

    @staticmethod
    def positions(rules: RuleSet, openings: Sequence["Opening"]) -> Positions:
        """A batch of games that have played the openings, one each."""
        starts = [Game(rules, opening.fen).positions for opening in openings]
        boards, colors = (np.concatenate([getattr(start, name) for start in starts]) for name in ("boards", "colors"))
        positions = Positions.from_boards(rules, boards, colors)
        for ply in range(max(len(opening.actions) for opening in openings)):
            playing = np.array([ply < len(opening.actions) for opening in openings])
            actions = [opening.actions[ply] if ply < len(opening.actions) else -1 for opening in openings]
            positions.step(np.array(actions), playing)
        return positions


def ballots(rules: RuleSet) -> list[Opening]:
    """The balanced openings that ship for games that begin and move like those of ``rules``; none = an empty list."""
    for path in sorted(BALLOTS.glob("*.txt")):
        if _play(get_rules(path.stem)) == _play(rules):
            return load_openings(str(path), rules)
    return []


def _play(rules: RuleSet) -> tuple[object, ...]:
    """What decides which moves an opening can have; draw laws and the numbering of squares do not."""
    return rules.spec.flags, rules.men_rows, rules.mirrored, rules.first


def match_openings(
    rules: RuleSet,
    count: int,
    seed: int,
    random_plies: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> list[Opening]:
    """Openings of a match that names none: ballots in random order where there are some, else random ones.

    Args:
        rules: rule set.
        count: openings wanted.
        seed: of all random choices.
        random_plies: plies of random openings, which are taken instead of ballots then.
        stop: see :func:`random_openings`.

    Raises:
        ValueError: as :func:`random_openings`.
    """
    if random_plies is None and (listed := ballots(rules)):
        return draw_openings(listed, count, seed)
    return random_openings(rules, count, RANDOM_PLIES if random_plies is None else random_plies, seed, stop)


def random_openings(
    rules: RuleSet, count: int, plies: int, seed: int, stop: Callable[[], bool] | None = None
) -> list[Opening]:
    """Openings of random legal moves in which neither side is ahead.

    A short search judges each candidate; those in which a side is half a man ahead or more are passed over, and so are
    positions seen before, as long as new ones can be found.

    Args:
        rules: rule set.
        count: openings wanted.
        plies: random plies of each.
        seed: of the random moves; longer lists begin like shorter ones.
        stop: asked now and then; True ends the search for new openings, and those found so far are repeated.

    Raises:
        ValueError: no game lasts that long, or an impossible number.
    """
    if not 0 <= plies <= MOST_RANDOM_PLIES:
        raise ValueError(f"{plies} random plies are impossible: choose 0 to {MOST_RANDOM_PLIES}.")
    rng = np.random.default_rng(seed)
    judge = AlphaBeta(rules, _JUDGE)
    fresh: list[Opening] = []
    spare: list[Opening] = []
    seen: set[bytes] = set()
    for _ in range(_ROUNDS + count // 16 if plies else 1):
        positions = Positions.initial(rules, 128)
        log = np.full((len(positions), plies), -1, dtype=np.int16)
        for ply in range(plies):
            going_on = positions.terminations == 0
            if not going_on.any():
                break
            log[:, ply] = positions.sample_legal(rng)
            positions.step(log[:, ply], going_on)
        alive = np.flatnonzero(positions.terminations == 0)
        if not len(alive):
            break
        seeds = np.zeros(len(alive), dtype=np.uint64)
        scores = judge.search(positions.take(alive), seeds).scores
        for game, score in zip(alive.tolist(), scores.tolist(), strict=True):
            opening = Opening(None, tuple(log[game].tolist()))
            mark = positions.boards[game].tobytes() + positions.colors[game].tobytes()
            if abs(score) >= _BALANCED or mark in seen:
                spare.append(opening)
            else:
                seen.add(mark)
                fresh.append(opening)
        if len(fresh) >= count or (stop and stop()):
            break
    available = fresh or spare
    if not available:
        raise ValueError(f"No game lasts {plies} random plies: choose fewer.")
    return [available[index % len(available)] for index in range(count)]


def read_openings(text: str, rules: RuleSet, name: str = "openings") -> list[Opening]:
    """Reads a list of openings, one a line: a FEN, or moves from the starting position such as ``c3-d4 b6-a5``.

    Empty lines and what follows a ``#`` are passed over.

    Args:
        text: content of the file.
        rules: rule set.
        name: of the file, for messages.

    Raises:
        ValueError: a line cannot be read, or ends the game, or there is none.
    """
    openings = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition("#")[0].strip()
        if not entry:
            continue
        try:
            fen = entry if re.match("[WB]:", entry) else None
            game = Game(rules, fen)
            for move in [] if fen else entry.split():
                game.push(move)
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None
        if game.outcome():
            raise ValueError(f"{name}, line {number}: the game is over there, so there is nothing to play.")
        openings.append(Opening(fen, tuple(move.action for move in game.moves)))
    if not openings:
        raise ValueError(f"{name} holds no opening: write a FEN or moves such as c3-d4 on each line.")
    return openings


def load_openings(path: str, rules: RuleSet) -> list[Opening]:
    """Reads a file of openings, see :func:`read_openings`.

    Raises:
        ValueError: it cannot be read, or holds something else; one sentence that names the file.
    """
    try:
        text = decode(Path(path).read_bytes())
    except OSError as error:
        raise ValueError(f"The openings {path} could not be read: {why(error)}.") from None
    return read_openings(text, rules, path)


def draw_openings(openings: Sequence[Opening], count: int, seed: int) -> list[Opening]:
    """``count`` of the openings in random order, each as often as the others, give or take one."""
    order = np.random.default_rng(seed).permutation(len(openings))
    return [openings[order[index % len(order)]] for index in range(count)]
