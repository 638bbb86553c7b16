"""Where the web application keeps games: restarts, full disks, damaged records, and files of something else."""

import contextlib
import json
import os
import sqlite3

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

import web_cases
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store, StoreError
from damas_rl.play.web.thinkers import Thinkers
from web_cases import ORIGIN, act, connect, create, headers, play, state, until

place, quick_levels, server = web_cases.place, web_cases.quick_levels, web_cases.server


def test_games_survive_a_restart(place):
    for number in range(3):
        with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN) as server:
            if number == 0:
                key = create(server, clock={"main": 300, "periods": 3, "period": 30}, position="W:W22,21:B10,9")
            before = state(server, key)
            assert before["ply"] == number
            play(server, key, before["legal"][0]["numeric"])
    assert place.stat().st_mode & 0o077 == 0


def test_a_full_disk_stops_no_game(place):
    store = Store(place)
    with TestClient(make_app(store, Thinkers()), base_url=ORIGIN) as server:
        key = create(server, seats={"W": "person", "B": "beginner"})
        store._connection.execute("PRAGMA query_only = ON")  # any write fails
        for ply in (2, 4):
            play(server, key, state(server, key)["legal"][0]["numeric"])
            now = until(server, key, lambda now, ply=ply: now["ply"] == ply)
            assert now["unsaved"]
        assert act(server, key, "resign")["state"]["rating"] == {"value": 1200, "games": 0, "gain": None}
        store._connection.execute("PRAGMA query_only = OFF")
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN) as server:
        assert state(server, key)["moves"] == now["moves"]
        assert state(server, key)["outcome"]["termination"] == "RESIGNATION"
        assert not state(server, key)["unsaved"]
        assert state(server, key)["rating"]["games"] == 1


def test_a_game_and_the_rating_that_it_changes_are_kept_together(place):
    store = Store(place)
    with TestClient(make_app(store, Thinkers()), base_url=ORIGIN) as server:
        key = create(server, seats={"W": "person", "B": "beginner"})
        number, before = store.find(key)[0], store.load(store.find(key)[0])
        store._connection.execute(
            "CREATE TEMP TRIGGER full BEFORE UPDATE ON rating BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
        now = act(server, key, "resign")["state"]
        assert now["unsaved"] and now["rating"]["gain"] is None and store.load(number) == before
        store._connection.execute("DROP TRIGGER full")
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN) as server:  # what was left is kept at the end
        now = state(server, key)
        assert now["outcome"]["termination"] == "RESIGNATION" and now["rating"]["games"] == 1


@pytest.mark.parametrize("schema", ["CREATE TABLE notes (text)", "CREATE TABLE games (number, title)"])
def test_a_database_of_something_else_is_left_as_it_is(place, schema):
    with contextlib.closing(sqlite3.connect(place)) as other:
        other.execute(schema)
    before = place.read_bytes()
    with pytest.raises(StoreError, match="something else"):
        Store(place)
    assert place.read_bytes() == before
    assert [path.name for path in place.parent.iterdir()] == [place.name]


def test_games_are_kept_in_files_alone(tmp_path):
    with pytest.raises(StoreError, match="is a directory"):
        Store(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="not a regular file"):
        Store(tmp_path / "pipe")


def test_two_servers_do_not_share_a_file(place):
    store = Store(place)
    with pytest.raises(StoreError, match="another damas web"):
        Store(place)
    store.close()
    Store(place).close()


@pytest.mark.parametrize("record", ["", "[]", "{}", "[" * 50_000, '{"rules": 1}', "seats", "actions"])
def test_a_damaged_record_is_told_of(place, record):
    store = Store(place)
    with TestClient(make_app(store, Thinkers()), base_url=ORIGIN, raise_server_exceptions=False) as server:
        create(server)
        good = store.load(1)
        number = store.add(good, {"key": "all"})
        if record in good:
            record = json.dumps({**good, record: 5})
        with store._connection as connection:
            connection.execute("UPDATE games SET record = ? WHERE number = ?", (record, number))
        answer = server.get("/api/game", headers=headers("key"))
        assert answer.status_code == 400
        assert answer.json()["error"] == "This game cannot be read any more."
        with pytest.raises(WebSocketDisconnect) as closed, connect(server) as live:
            live.send_json({"key": "key"})
            live.receive_json()
        assert "cannot be read any more" in closed.value.reason
