"""Databases of games: training records for pre-training, and opening books."""

import dataclasses
import io
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import damas_env
from damas_env.notation import PdnGame, format_fen, parse_fen
from damas_env.notation.game_types import WINNER_OF
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet
from damas_env.termination import Termination
from damas_rl import saved
from damas_rl.files import atomic_write, why
from damas_rl.records import Records, concatenate, empty_records
from damas_rl.replay import ReplayBuffer, ReplayConfig

FORMAT = 1
"""Raised whenever the content of files of records changes."""

_GAMES_AT_ONCE = 512


class DatabaseError(ValueError):
    """Games or records that cannot be used; the message is one sentence."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The games of a database that say what was played and who won.

    Attributes:
        games: usable games, each once.
        left_out: how many were left out, by reason.
    """

    games: list[PdnGame]
    left_out: dict[str, int]


def select(games: Iterable[PdnGame]) -> Selection:
    """Leaves out games that cannot be followed, have no moves or no result, and repetitions of earlier ones."""
    kept: list[PdnGame] = []
    left_out: Counter[str] = Counter()
    seen: set[tuple[str | None, tuple[int, ...]]] = set()
    for game in games:
        key = game.fen, tuple(move.code for move in game.moves)
        if game.error:
            left_out["cannot be followed to the end"] += 1
        elif not game.moves:
            left_out["without moves"] += 1
        elif game.outcome is None and game.result not in WINNER_OF:
            left_out["without a result"] += 1
        elif key in seen:
            left_out["the same as an earlier one"] += 1
        else:
            seen.add(key)
            kept.append(game)
    return Selection(kept, dict(left_out))


def to_records(games: Sequence[PdnGame]) -> Records:
    """Training records of games: one row a ply, the policy is the move that was played.

    The result is that on the board, where the rules decide the game, or else the one in the file. Plies behind the end
    of the game under the rules give no rows. ``q`` is the result too, the weight is 1.

    Raises:
        DatabaseError: the games are of several rule sets.
    """
    rules_of_all(games)
    return concatenate([_records(games[start : start + _GAMES_AT_ONCE]) for start in _starts(games)])


def opening_book(games: Sequence[PdnGame], plies: int) -> Counter[str]:
    """The positions of games after some plies: ``{FEN: games}``; games that are over by then have none.

    Raises:
        DatabaseError: the games are of several rule sets.
    """
    rules = rules_of_all(games)
    games = [game for game in games if len(game.moves) >= plies]
    counts: Counter[str] = Counter()
    for start in _starts(games):
        positions, actions = _set_up(games[start : start + _GAMES_AT_ONCE])
        for ply in range(plies):
            positions.step(actions[:, ply])
        for index in np.flatnonzero((positions.terminations == 0) & (positions.plies == plies)):
            counts[format_fen(positions.boards[index], int(positions.colors[index]), rules)] += 1
    return counts


def rules_of_all(games: Sequence[PdnGame]) -> RuleSet:
    """The rule set of all games.

    Raises:
        DatabaseError: there are several, or no game.
    """
    found = list(dict.fromkeys(game.rules.name for game in games))
    if len(found) > 1:
        raise DatabaseError(f"the games are of several rule sets ({', '.join(found)}): name one with --rules")
    if not found:
        raise DatabaseError("there is no game to use")
    return games[0].rules


def _starts(games: Sequence[PdnGame]) -> range:
    return range(0, len(games), _GAMES_AT_ONCE)


def _set_up(games: Sequence[PdnGame]) -> tuple[Positions, NDArray[np.int16]]:
    """(where the games begin, actions int16[games, longest game], -1 behind the end of each)."""
    rules = games[0].rules
    starts = [parse_fen(game.fen, rules) for game in games]
    colors = np.array([color for _, color in starts], dtype=np.int8)
    actions = np.full((len(games), max(len(game.moves) for game in games)), -1, dtype=np.int16)
    for game, row in zip(games, actions, strict=True):
        row[: len(game.moves)] = [move.action for move in game.moves]
    return Positions.from_boards(rules, np.array([boards for boards, _ in starts]), colors), actions


def _records(games: Sequence[PdnGame]) -> Records:
    positions, actions = _set_up(games)
    parts: list[Records] = []
    owners: list[NDArray[np.int64]] = []
    for played in actions.T:
        playing = (played >= 0) & (positions.terminations == 0)
        rows = np.flatnonzero(playing)
        part = empty_records(len(rows))
        part.boards[:], part.features[:] = positions.boards[rows], features(positions)[rows]
        part.actions[:, 0], part.policy[:, 0] = played[rows], 1.0
        part.z[:], part.plies_left[:] = positions.colors[rows], positions.plies[rows]  # until the end is known
        parts.append(part)
        owners.append(rows)
        positions.step(played, playing)
    records, owner = concatenate(parts), np.concatenate(owners)
    stated = np.array([_SIDES[WINNER_OF.get(game.result)] for game in games])
    decided = (positions.terminations != 0) & (positions.terminations != Termination.PLY_CAP)
    winners = np.where(decided, positions.winners(), stated)[owner]
    records.z[:] = np.where(winners < 0, 0, np.where(winners == records.z, 1, -1))
    records.q[:] = records.z
    records.plies_left[:] = positions.plies[owner] - records.plies_left
    order = np.argsort(owner, kind="stable")
    columns: list[NDArray[Any]] = [column[order] for column in records]
    return Records(*columns)


_SIDES = {"W": 0, "B": 1, None: -1}


def save_records(path: Path, records: Records, rules: RuleSet) -> None:
    """Writes records as a compressed ``.npz`` file.

    Raises:
        OSError: ``path`` cannot be written.
    """
    buffer = io.BytesIO()
    np.savez_compressed(buffer, about=np.array(json.dumps(_about(rules))), **records._asdict())
    atomic_write(path, [buffer.getbuffer()])


def _about(rules: RuleSet) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "rules": rules.name,
        "rules_version": damas_env.RULES_VERSION,
        "action_version": damas_env.ACTION_VERSION,
    }


def load_records(path: Path, rules: RuleSet) -> ReplayBuffer:
    """Reads a file of :func:`save_records` into a buffer that draws from all of its rows.

    Raises:
        DatabaseError: it cannot be read, is no such file, belongs to another rule set or version, or holds positions,
            moves or numbers that cannot be; one sentence that names the file.
    """
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise DatabaseError(f"{path} is no file of training records; make one with damas pdn --records.")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                about = json.loads(str(arrays["about"]))
                columns = {name: arrays[name] for name in Records._fields}
    except DatabaseError:
        raise
    except OSError as error:
        raise DatabaseError(f"The training records {path} could not be read: {why(error)}.") from error
    except (ValueError, KeyError, EOFError, RuntimeError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
        raise DatabaseError(f"{path} is damaged, or no file of training records.") from error
    if about != (wanted := _about(rules)):
        found = about if isinstance(about, dict) else {}
        key = next((key for key in wanted if found.get(key) != wanted[key]), "format")
        raise DatabaseError(
            f"The training records {path} were made with {key}={found.get(key)!r}, but here it is {wanted[key]!r}."
        )
    try:
        records = saved.records_of(columns, "", (columns["z"].size,))
        saved.check_records(records, rules)
        if not len(records.z):
            raise saved.SavedError("there is no record in it.")
        if not records.policy.any(axis=1).all():
            raise saved.SavedError("policy holds rows without a move.")
    except saved.SavedError as error:
        raise DatabaseError(f"The training records {path} cannot be used: {error}") from error
    buffer = ReplayBuffer(rules, ReplayConfig(capacity=len(records.z), window=len(records.z)))
    buffer.add(records)
    return buffer
