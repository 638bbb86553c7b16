"""Where games are kept: one SQLite file with the record of each game and the keys that open it."""

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from damas_rl.files import user_folder, why

MOST_GAMES = 5000
"""The games that were touched last are kept."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS games (number INTEGER PRIMARY KEY, record TEXT NOT NULL, touched REAL NOT NULL);
CREATE TABLE IF NOT EXISTS keys (
    key TEXT PRIMARY KEY, number INTEGER NOT NULL REFERENCES games ON DELETE CASCADE, role TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS keys_of_game ON keys (number);
CREATE TABLE IF NOT EXISTS rating (number INTEGER PRIMARY KEY, value REAL NOT NULL, games INTEGER NOT NULL);
INSERT OR IGNORE INTO rating VALUES (1, 1200, 0);
"""

_RATE = "UPDATE rating SET value = ?, games = ?"


def default_file() -> Path:
    """Where games are kept if nobody says so."""
    return user_folder("XDG_DATA_HOME", ".local/share") / "web.sqlite"


class StoreError(ValueError):
    """The file of games cannot be used; the message is one sentence."""


class Store:
    """The games of a server.

    Args:
        path: the file, made if it is not there; only its owner can read it.
    """

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            if not path.is_file():
                raise StoreError(f"The games cannot be kept in {path}: it is not a regular file.")
            if _foreign(path):
                raise StoreError(f"The games cannot be kept in {path}: it is a database of something else.")
            self._connection = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # a second server would not see our changes
            self._connection.execute("PRAGMA foreign_keys = ON")
            self._connection.execute("PRAGMA journal_mode = WAL")
            # Safe when the program ends in any way; only a power failure may take back the last moves.
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.executescript(_SCHEMA)
        except OSError as error:
            raise StoreError(f"The games cannot be kept in {path}: {why(error)}.") from None
        except sqlite3.Error as error:
            taken = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            cause = "another damas web, or another program, has it open" if taken else error
            raise StoreError(f"The games cannot be kept in {path}: {cause}.") from None

    def add(self, record: dict[str, Any], keys: dict[str, str]) -> int:
        """Keeps a new game with its keys (``{key: role}``) and returns its number; very old games are dropped."""
        with self._connection as connection:
            number = connection.execute(
                "INSERT INTO games (record, touched) VALUES (?, ?)", (json.dumps(record), time.time())
            ).lastrowid
            assert number is not None
            connection.executemany(
                "INSERT INTO keys VALUES (?, ?, ?)", [(key, number, role) for key, role in keys.items()]
            )
            connection.execute(
                "DELETE FROM games WHERE number IN "
                "(SELECT number FROM games ORDER BY touched DESC, number DESC LIMIT -1 OFFSET ?)",
                (MOST_GAMES,),
            )
        return number

    def save(self, number: int, record: dict[str, Any], rating: tuple[float, int] | None = None) -> None:
        """Keeps a game as it is now, and with it the rating (Elo, games) that it has changed, both or neither."""
        with self._connection as connection:
            connection.execute(
                "UPDATE games SET record = ?, touched = ? WHERE number = ?", (json.dumps(record), time.time(), number)
            )
            if rating is not None:
                connection.execute(_RATE, rating)

    def load(self, number: int) -> dict[str, Any] | None:
        """The record of a game, None if there is none."""
        with closing(self._connection.execute("SELECT record FROM games WHERE number = ?", (number,))) as rows:
            row = rows.fetchone()
        return json.loads(row[0]) if row else None

    def find(self, key: str) -> tuple[int, str] | None:
        """(number, role) of the game that a key opens, None if it opens none."""
        with closing(self._connection.execute("SELECT number, role FROM keys WHERE key = ?", (key,))) as rows:
            row = rows.fetchone()
        return (int(row[0]), str(row[1])) if row else None

    def keys(self, number: int) -> dict[str, str]:
        """The key of each role of a game."""
        with closing(self._connection.execute("SELECT role, key FROM keys WHERE number = ?", (number,))) as rows:
            return dict(rows.fetchall())

    def rating(self) -> tuple[float, int]:
        """(Elo, rated games) of the person who plays here; 1200 before the first game."""
        with closing(self._connection.execute("SELECT value, games FROM rating")) as rows:
            value, games = rows.fetchone()
        return float(value), int(games)

    def keep_rating(self, value: float, games: int) -> None:
        """Keeps the rating after a game."""
        with self._connection as connection:
            connection.execute(_RATE, (value, games))

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()


def _foreign(path: Path) -> bool:
    """True if a file holds tables that are not ours; nothing is written."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=1.0)) as connection:
        found = _columns(connection)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)
        return bool(found) and found != _columns(connection)


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """(table, column) of a database."""
    rows = connection.execute(
        "SELECT parts.name, columns.name FROM sqlite_master AS parts, pragma_table_info(parts.name) AS columns"
    )
    return set(rows.fetchall())
