"""The web application's server: games, keys, clocks, restarts, and requests that nobody should make."""

import asyncio
import contextlib
import itertools
import json
import os
import random
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from damas_env.game import Game
from damas_env.notation import read_pdn
from damas_env.position import Positions
from damas_rl.cli import main
from damas_rl.play.clocks import Clock, TimeControl
from damas_rl.play.levels import LEVELS, make_level
from damas_rl.play.web import minds, thinkers
from damas_rl.play.web.app import make_app
from damas_rl.play.web.store import Store, StoreError
from damas_rl.play.web.thinkers import Thinkers

ORIGIN = "http://localhost"
BOTH = {"W": "person", "B": "person"}
AGAINST = {"W": "person", "B": "club"}


@pytest.fixture(autouse=True)
def quick_levels(monkeypatch):
    """The levels that take a second a move, and a table that is built first, do with less here."""
    quick = {"network": {"spec": "mcts:net=small,ms=50"}, "full": {"spec": "alphabeta:ms=50,eval=cbd"}}
    changed = tuple(replace(level, **quick.get(level.id, {})) for level in LEVELS)
    monkeypatch.setattr(thinkers, "LEVELS", changed)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "web.sqlite"


@pytest.fixture
def server(place):
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN, raise_server_exceptions=False) as client:
        yield client


def create(server, **wanted) -> str:
    wanted.setdefault("seats", BOTH)
    answer = server.post("/api/games", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.json()["key"]


def headers(key):
    return {"Authorization": f"Bearer {key}"}


def connect(server, **more):
    return server.websocket_connect("/api/live", headers={"Host": "localhost", **more})


def state(server, key):
    answer = server.get("/api/game", headers=headers(key))
    assert answer.status_code == 200, answer.text
    return answer.json()


def act(server, key, do, expected=200, **more):
    answer = server.post("/api/game", headers=headers(key), json={"do": do, **more})
    assert answer.status_code == expected, answer.text
    return answer.json()


def play(server, key, text):
    legal = state(server, key)["legal"]
    move = next(move for move in legal if text in (move["numeric"], move["algebraic"]))
    return act(server, key, "move", action=move["action"])["state"]


def until(server, key, wanted, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = state(server, key)
        if wanted(now):
            return now
        time.sleep(0.05)
    raise AssertionError(f"did not happen: {now}")


def test_the_page_and_its_setup(server):
    page = server.get("/")
    assert page.status_code == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    setup = server.get("/api/setup").json()
    assert len(setup["levels"]) >= 4
    titles = {rules["name"]: rules["titles"] for rules in setup["rules"]}
    assert titles["cbd"] == {"en": "Brazilian draughts (CBD)", "pt": "Damas brasileiras (CBD)"}
    assert "international" in titles


def test_two_people_at_one_screen(server):
    key = create(server)
    now = play(server, key, "c3-d4")
    assert (now["ply"], now["color"], now["moves"][0]["numeric"]) == (1, "B", "22-18")
    game = Game()
    game.push("22-18")
    assert now["pieces"] == {str(number): piece for number, piece in game.board().items()}
    now = act(server, key, "undo")["state"]
    assert (now["ply"], now["color"]) == (0, "W")
    assert "no move to take back" in act(server, key, "undo", expected=400)["error"]


def test_a_machine_answers_and_takes_back(server):
    key = create(server, seats=AGAINST)
    play(server, key, "22-18")
    now = until(server, key, lambda now: now["ply"] == 2)
    assert (now["color"], now["thinking"]) == ("W", False)
    now = act(server, key, "undo")["state"]
    assert now["ply"] == 0
    key = create(server, seats={"W": "club", "B": "person"})
    until(server, key, lambda now: now["ply"] == 1)


def test_every_level_moves(server):
    names = server.get("/api/setup").json()["levels"]
    assert len(names) == len(LEVELS)
    for level in names:
        key = create(server, seats={"W": level, "B": "person"})
        until(server, key, lambda now: now["ply"] == 1)


def test_a_level_that_cannot_play_the_rules_is_refused(server):
    answer = server.post("/api/games", json={"rules": "international", "seats": {"W": "network", "B": "person"}})
    assert answer.status_code == 400
    assert "10x10" in answer.json()["error"]


def test_hint(server):
    key = create(server, position="W:W22:B18,8")
    hint = act(server, key, "hint")["hint"]
    assert (hint["numeric"], hint["algebraic"]) == ("22x15", "c3xe5")
    key = create(server, seats={"W": "club", "B": "person"})
    until(server, key, lambda now: now["ply"] == 1)
    assert act(server, key, "hint")["hint"]["value"] <= 1


def test_resignation_and_rematch_swap_colours(server):
    key = create(server, seats=AGAINST)
    now = act(server, key, "resign")["state"]
    assert now["outcome"] == {"termination": "RESIGNATION", "winner": "B"}
    assert now["legal"] == []
    now = act(server, key, "rematch")["state"]
    fresh = state(server, now["rematch"])
    assert fresh["seats"] == {"W": "club", "B": "person"}
    assert act(server, key, "rematch")["state"]["rematch"] == now["rematch"]
    now = act(server, key, "undo")["state"]  # a resignation can be taken back against a machine
    assert now["outcome"] is None


LEVEL_GAME = """1. a3-b4 d6-c5 2. b4xd6 e7xc5 3. e3-d4 c5xe3 4. d2xf4 f6-e5 5. f4xd6 c7xe5 6. g3-h4 b6-c5 7. c3-d4
c5xe3 8. f2xf6 g7xe5 9. b2-c3 a7-b6 10. h2-g3 b6-c5 11. a1-b2 c5-d4 12. c1-d2 e5-f4 13. g3xe5 d4xf6 14. d2-e3 f6-e5
15. e3-d4 e5-f4 16. b2-a3 b8-c7 17. a3-b4 c7-d6 18. b4-a5 d8-c7 19. c3-b4 f8-e7 20. b4-c5 d6xb4 *"""


def test_a_machine_takes_a_draw_only_late_and_if_it_expects_no_more(server):
    agreed = {"termination": "AGREEMENT", "winner": None}
    for level in ("W:WK32,K31,K30:BK1", LEVEL_GAME):  # few pieces, or many moves
        key = create(server, seats=AGAINST, position=level)
        assert act(server, key, "draw")["state"]["outcome"] == agreed
    refused = {
        "W:W32:BK1,K2,K3,K4": "expects more",
        "": "too early",
        LEVEL_GAME.replace("20. b4-c5 d6xb4", ""): "too early",
    }
    for position, told in refused.items():
        key = create(server, seats=AGAINST, position=position)
        answer = act(server, key, "draw")
        assert told in answer["declined"]
        assert answer["state"]["outcome"] is None
    portuguese = server.post("/api/game", headers={**headers(key), "Accept-Language": "pt-BR"}, json={"do": "draw"})
    assert "Ainda é cedo" in portuguese.json()["declined"]
    key = create(server, rules="dogames")
    assert "no draw by agreement" in act(server, key, "draw", expected=400)["error"]


def test_two_browsers(server):
    white = create(server, remote=True, color="W")
    black = state(server, white)["invite"]
    assert black != white
    assert state(server, black)["role"] == "B"
    assert state(server, black)["invite"] is None  # it would give the guest the other side as well
    assert state(server, white)["invite"] is None
    legal = state(server, white)["legal"]
    assert "no hints" in act(server, white, "hint", 400)["error"]
    assert "Only machines" in act(server, white, "pause", 400)["error"]
    assert "not your turn" in act(server, black, "move", 400, action=legal[0]["action"])["error"]
    play(server, white, "22-18")
    assert act(server, white, "draw")["state"]["offer"] == {"kind": "draw", "by": "W"}
    assert act(server, black, "decline")["state"]["offer"] is None
    act(server, white, "undo")
    assert act(server, black, "undo")["state"]["ply"] == 0
    act(server, black, "draw")
    now = act(server, white, "draw")["state"]
    assert now["outcome"]["termination"] == "AGREEMENT"
    again = act(server, white, "rematch")["state"]["rematch"]
    assert state(server, again)["role"] == "B"
    assert state(server, state(server, black)["rematch"])["role"] == "W"


def test_nothing_without_a_key(server):
    key = create(server)
    for wrong in ("", key[:-1], key + "x", "all", "1", "%00", "'; DROP TABLE keys"):
        assert server.get("/api/game", headers=headers(wrong)).status_code == 404
        assert server.post("/api/game", headers=headers(wrong), json={"do": "undo"}).status_code == 404
    assert server.get("/api/game").status_code == 404
    assert state(server, key)["ply"] == 0


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
        act(server, key, "resign")
        store._connection.execute("PRAGMA query_only = OFF")
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN) as server:
        assert state(server, key)["moves"] == now["moves"]
        assert state(server, key)["outcome"]["termination"] == "RESIGNATION"
        assert not state(server, key)["unsaved"]


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


def test_only_games_without_help_change_the_rating(server):
    def ended(**wanted):
        key = create(server, seats={"W": "person", "B": "beginner"}, **wanted)
        act(server, key, "resign")
        return key, state(server, key)["rating"]

    key, rating = ended()
    lost = round(32 * 10 ** (400 / 400) / (1 + 10 ** (400 / 400)))  # 1200 against 800
    assert rating == {"value": 1200 - lost, "games": 1, "gain": -lost}
    act(server, key, "undo")
    assert act(server, key, "resign")["state"]["rating"] == rating  # counted once
    for wanted in ({"position": "W:W22:B1"}, {"position": "1. c3-d4 b6-a5"}, {"rules": "dogames"}):
        assert ended(**wanted)[1] == {**rating, "gain": None}
    for helped in ("hint", "undo"):
        key = create(server, seats={"W": "person", "B": "beginner"})
        play(server, key, "22-18")
        until(server, key, lambda now: now["ply"] == 2)
        act(server, key, helped)
        assert act(server, key, "resign")["state"]["rating"]["games"] == 1
    key = create(server, seats={"W": "person", "B": "full"})  # its strength has not been measured
    assert act(server, key, "resign")["state"]["rating"]["games"] == 1
    assert act(server, create(server), "resign")["state"]["rating"]["games"] == 1


SLOW = {"full": "alphabeta:ms=60000,eval=cbd", "network": "mcts:net=small,ms=60000"}


@pytest.fixture
def one_thread(monkeypatch, place):
    """A server with one thread for searches, on which two levels think for a minute."""
    monkeypatch.setattr(thinkers, "AT_ONCE", 1)
    slow = tuple(replace(level, spec=SLOW.get(level.id, level.spec)) for level in thinkers.LEVELS)
    monkeypatch.setattr(thinkers, "LEVELS", slow)
    monkeypatch.setattr(minds.NetworkMind, "steps", (100_000,))
    monkeypatch.setattr(minds.PlayerMind, "steps", (10**9,))
    with TestClient(make_app(Store(place), Thinkers()), base_url=ORIGIN, raise_server_exceptions=False) as client:
        for level in ("beginner", *SLOW):  # what is compiled or loaded at first is not part of the time
            assert client.portal.call(stopped_at_once, client.app.state.rooms.thinkers, level)
        yield client


async def stopped_at_once(all_levels, level):
    """True if a search that is cancelled ends its thread's work too."""
    task = asyncio.ensure_future(all_levels.choose(level, Positions.initial("cbd")))
    await asyncio.wait([task], timeout=0.1)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return await asyncio.get_running_loop().run_in_executor(all_levels.pool, lambda: True)


def answers_at_once(server):
    """True if the one thread is free: another game gets its move soon."""
    key = create(server, seats={"W": "beginner", "B": "person"})
    return until(server, key, lambda now: now["ply"] == 1, 5)


@pytest.mark.parametrize("level", SLOW)
@pytest.mark.parametrize("end", ["undo", "resign"])
def test_a_search_that_is_not_needed_any_more_ends(one_thread, level, end):
    key = create(one_thread, seats={"W": "person", "B": level})
    play(one_thread, key, "22-18")
    time.sleep(0.2)
    assert state(one_thread, key)["thinking"]
    act(one_thread, key, end)
    assert answers_at_once(one_thread)


def test_a_hint_that_has_been_overtaken_ends(one_thread):
    key = create(one_thread)
    with ThreadPoolExecutor(2) as threads:
        hints = [threads.submit(act, one_thread, key, "hint", 409) for _ in range(2)]  # they share one search
        time.sleep(0.3)
        play(one_thread, key, "22-18")
        assert all("changed meanwhile" in hint.result(5)["error"] for hint in hints)
    assert answers_at_once(one_thread)


def test_machines_that_nobody_watches_stop_thinking(one_thread):
    key = create(one_thread, seats={"W": "full", "B": "network"})
    with connect(one_thread) as live:
        live.send_json({"key": key})
        assert live.receive_json()["state"]["thinking"]
        time.sleep(0.2)
    assert answers_at_once(one_thread)
    assert state(one_thread, key)["ply"] == 0


@pytest.mark.parametrize("mind", SLOW)
@pytest.mark.parametrize("end", ["nothing", "another", "closed"])
def test_an_analysis_that_is_not_wanted_any_more_ends(one_thread, mind, end):
    key = create(one_thread, position="1. c3-d4 b6-c5 2. d4xb6 a7xc5 *")
    with connect(one_thread) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0, "mind": mind})
        time.sleep(0.3)
        if end == "another":
            live.send_json({"analyse": 1, "mind": mind})
            time.sleep(0.3)
        if end != "closed":
            live.send_json({"analyse": None})
            assert answers_at_once(one_thread)
    assert answers_at_once(one_thread)


def test_two_servers_do_not_share_a_file(place):
    store = Store(place)
    with pytest.raises(StoreError, match="another damas web"):
        Store(place)
    store.close()
    Store(place).close()


def test_a_careless_player_slips_as_often_as_it_says():
    positions = Positions.initial("cbd", 4000)
    club = next(level for level in LEVELS if level.id == "club")
    choice = make_level(replace(club, spec="alphabeta:depth=1", slips=0.25), positions.rules, 1).choose(positions)
    best = make_level(replace(club, spec="alphabeta:depth=1"), positions.rules, 1).choose(positions)
    legal = [set(row[:count].tolist()) for row, count in zip(positions.actions, positions.counts, strict=True)]
    assert all(action in moves for action, moves in zip(choice.actions.tolist(), legal, strict=True))
    share = (choice.actions != best.actions).mean()
    assert share == pytest.approx(0.25 * 6 / 7, abs=0.03)


def test_a_clock_in_byo_yomi():
    clock = Clock(TimeControl(10, 3, 5))
    clock.run("W", 0.0)
    assert clock.falls_at() == 25.0
    clock.run("B", 4.0)
    assert (clock.main["W"], clock.periods["W"]) == (6.0, 3)
    clock.run("W", 5.0)
    clock.run("B", 12.0)  # 7 s: the main time and one second of the first period, which is kept
    assert (clock.main["W"], clock.periods["W"]) == (0.0, 3)
    clock.run("W", 12.0)
    clock.run("B", 18.0)  # 6 s: one period is used up
    assert clock.periods["W"] == 2
    clock.run("W", 18.0)
    assert clock.falls_at() == 28.0
    assert clock.view(21.0)["sides"]["W"] == {"main": 0.0, "periods": 2, "period": 2.0}
    restored = Clock.restore(json.loads(json.dumps(clock.record())), not_before=100.0)
    assert restored.falls_at() == 110.0


def test_a_flag_falls_by_itself(server):
    key = create(server, clock={"main": 1})
    play(server, key, "22-18")
    with connect(server) as live:
        live.send_json({"key": key})
        assert live.receive_json()["state"]["outcome"] is None
        assert live.receive_json()["state"]["outcome"] == {"termination": "TIME", "winner": "W"}


def test_news_reaches_every_tab_of_its_game_and_no_other(server):
    key, other = create(server), create(server)
    with (
        connect(server) as one,
        connect(server) as two,
        connect(server) as third,
    ):
        for live, opened in ((one, key), (two, key), (third, other)):
            live.send_json({"key": opened})
            assert live.receive_json()["state"]["ply"] == 0
        play(server, key, "22-18")
        assert one.receive_json()["state"]["ply"] == two.receive_json()["state"]["ply"] == 1
        play(server, other, "21-17")
        assert third.receive_json()["state"]["moves"][0]["numeric"] == "21-17"


def test_machines_play_on_while_somebody_watches(server):
    key = create(server, seats={"W": "casual", "B": "beginner"})
    time.sleep(0.3)
    assert state(server, key)["ply"] == 0
    with connect(server) as live:
        live.send_json({"key": key})
        while live.receive_json()["state"]["ply"] < 2:
            pass
    act(server, key, "pause")
    ply = state(server, key)["ply"]
    time.sleep(1.0)
    assert state(server, key)["ply"] == ply


def test_the_network_is_loaded_before_somebody_asks_for_it(server):
    key, minds = create(server), server.app.state.analyst.minds
    state(server, key)
    assert not minds._loaded
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        end = time.monotonic() + 60
        while "network" not in minds._loaded and time.monotonic() < end:
            time.sleep(0.05)
    assert list(minds._loaded) == ["network"]


def test_analysis_grows_and_stops(server):
    key = create(server)
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0})
        first = live.receive_json()["analysis"]
        second = live.receive_json()["analysis"]
        assert 0 < first["work"] < second["work"]
        for found in (first, second):
            chances = found["chances"]
            assert min(chances.values()) >= 0
            assert sum(chances.values()) == pytest.approx(1)
            assert chances["win"] - chances["loss"] == pytest.approx(found["value"], abs=1e-6)
        assert sum(row["prior"] for row in second["moves"]) == pytest.approx(1, abs=0.05)
        assert second["moves"][0]["algebraic"] == second["line"][0]["algebraic"]
        assert second["table"] is None
        live.send_json({"analyse": None})
        live.send_json({"analyse": 7})
        with pytest.raises(WebSocketDisconnect):
            while True:
                live.receive_json()


def test_the_graph_of_a_game(server):
    key = create(server, position="1. c3-d4 b6-c5 2. d4xb6 a7xc5 *")
    with connect(server) as live:
        live.send_json({"key": key})
        assert live.receive_json()["state"]["ply"] == 4
        live.send_json({"review": True})
        points = [live.receive_json()["point"] for _ in range(5)]
        assert [point["ply"] for point in points] == list(range(5))
        assert all(-1 <= point["value"] <= 1 for point in points)


def test_no_analysis_while_two_people_play(server):
    key = create(server, remote=True)
    with connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_json({"analyse": 0})
        with pytest.raises(WebSocketDisconnect):
            live.receive_json()


def test_captures_that_share_their_squares_have_different_paths(server):
    key = create(server, position="W:WK32:B10,15,16,23")
    alike = {}
    for move in state(server, key)["legal"]:
        alike.setdefault((move["from"], move["to"]), []).append(move)
    shared = [moves for moves in alike.values() if len(moves) > 1]
    assert shared
    for moves in shared:
        assert len({tuple(move["path"]) for move in moves}) == len(moves)
        assert all(len(move["path"]) == len(move["captures"]) + 1 for move in moves)


def test_pdn_goes_out_and_comes_in(server):
    key = create(server)
    for move in ("22-18", "9-13", "18x9", "5x14"):
        try:
            play(server, key, move)
        except StopIteration:
            break
    text = server.get("/api/game.pdn", headers=headers(key)).text
    game = read_pdn(text)[0]
    assert game.error is None
    assert len(game.moves) == state(server, key)["ply"] > 1
    copy = create(server, position=text)
    assert state(server, copy)["fen"] == state(server, key)["fen"]
    assert len(state(server, copy)["moves"]) == len(game.moves)


def test_a_game_of_other_rules_is_not_played_without_a_word(server):
    for tag, told in (('GameType "25"', "GameType 25"), ('RuleSet "russian"', "RuleSet 'russian'")):
        answer = server.post("/api/games", json={"seats": BOTH, "position": f"[{tag}]\n1. c3-d4 *"})
        assert answer.status_code == 400
        assert told in answer.json()["error"]
        create(server, position=f"[{tag}]\n1. c3-d4 *", rules="russian")


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


def test_a_connection_is_closed_with_its_reason(server, monkeypatch):
    key = create(server)
    with pytest.raises(WebSocketDisconnect) as closed, connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
        live.send_bytes(b"x")
        live.receive_json()
    assert "must be text" in closed.value.reason
    monkeypatch.setattr("damas_rl.play.web.app._MOST_WATCHERS", 0)
    with pytest.raises(WebSocketDisconnect) as closed, connect(server) as live:
        live.send_json({"key": key})
        live.receive_json()
    assert "Too many pages" in closed.value.reason
    assert len(act(server, key, "x" * 100_000, expected=400)["error"]) < 200


def test_another_origin_or_host_gets_nothing(server):
    key = create(server)
    body = {"do": "undo"}
    for origin in ("http://evil.example", "null", "https://localhost:9999", ""):
        answer = server.post("/api/game", headers={**headers(key), "Origin": origin}, json=body)
        assert answer.status_code == 403, origin
        with pytest.raises(WebSocketDisconnect), connect(server, Origin=origin):
            pass
    for host in ("evil.example", "192.168.1.5", "localhost.evil.example", "a b", ""):
        assert server.get("/api/setup", headers={"Host": host}).status_code == 421
    assert server.get("/api/setup", headers={"Host": "127.0.0.1:8265"}).status_code == 200
    assert server.post("/api/game", headers={**headers(key), "Origin": ORIGIN}, json=body).status_code == 400
    plain = {**headers(key), "Content-Type": "text/plain"}
    assert server.post("/api/game", headers=plain, content=json.dumps(body)).status_code == 415


def test_no_path_leaves_the_served_folder(server):
    for path in ("/../app.py", "/%2e%2e/app.py", "/..%2fapp.py", "//etc/passwd", "/%2fetc/passwd", "/static/../app.py"):
        answer = server.get(path)
        assert answer.status_code in (400, 404), path
        assert "import" not in answer.text


def test_large_bodies_are_refused(server):
    answer = server.post("/api/games", content=b" " * 2_000_000, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "too large" in answer.json()["error"]


def test_a_request_may_break_off(server):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message.get("status"))

    scope = {"type": "http", "method": "POST", "path": "/api/games", "query_string": b"", "root_path": "",
             "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")]}  # fmt: skip
    server.portal.call(server.app, scope, receive, send)
    assert sent[0] == 400


WRONG_GAMES = [
    [], "x", 1, None, {}, {"seats": 3}, {"seats": {"W": "person"}}, {"seats": {"W": "person", "B": "nobody"}},
    {"seats": {"W": ["person"], "B": "person"}}, {"seats": BOTH, "rules": "chess"},
    {"seats": BOTH, "rules": "/etc/passwd"}, {"seats": BOTH, "rules": ["cbd"]}, {"seats": BOTH, "clock": 5},
    {"seats": BOTH, "clock": {}}, {"seats": BOTH, "clock": {"main": -1}}, {"seats": BOTH, "clock": {"main": "5"}},
    {"seats": BOTH, "clock": {"main": 10**30}}, {"seats": BOTH, "clock": {"main": 0}},
    {"seats": BOTH, "clock": {"main": 5, "periods": 2}}, {"seats": BOTH, "clock": {"main": True}},
    {"seats": BOTH, "clock": {"main": 5, "more": 2}}, {"seats": BOTH, "color": "white"}, {"seats": BOTH, "color": []},
    {"seats": BOTH, "remote": 1}, {"seats": AGAINST, "remote": True}, {"seats": BOTH, "position": 1},
    {"seats": BOTH, "position": "W:W1:B32,99"}, {"seats": BOTH, "position": "hello"}, {"seats": BOTH, "more": 1},
    {"seats": BOTH, "position": "1. c3-d4 h1-h2"}, {"seats": BOTH, "position": "W:W1,2,3\x00:B5"},
    {"seats": BOTH, "position": "\ud800"}, {"seats": BOTH, "position": "W:" + "W1," * 60000},
]  # fmt: skip


@pytest.mark.parametrize("wanted", WRONG_GAMES, ids=range(len(WRONG_GAMES)))
def test_wrong_games_are_explained(server, wanted):
    errors = {}
    for language in ("en", "pt-BR"):
        headers = {"Content-Type": "application/json", "Accept-Language": language}
        answer = server.post("/api/games", content=json.dumps(wanted), headers=headers)
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.headers["content-language"] == language
        errors[language] = answer.json()["error"]
    assert errors["en"]
    assert "Traceback" not in errors["en"]
    assert errors["pt-BR"] != errors["en"]


def test_random_requests_never_break_the_server(server):
    rng = random.Random(7)
    key = create(server)
    values = [None, True, 0, -1, 1.5, 10**40, "", "move", "x" * 3000, [], {}, [[]] * 50, "\x00", "é", 1152, 40]
    actions = ["move", "undo", "hint?", "draw", "decline", "rematch", "pause", "resign", "", "__class__", 3]
    for _ in range(150):
        body = {"do": rng.choice(actions), "action": rng.choice(values), str(rng.choice(values)): rng.choice(values)}
        assert server.post("/api/game", headers=headers(key), json=body).status_code < 500, body
    for raw in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"do": NaN}', b'{"do": "move", "action": 1e999}'):
        answer = server.post("/api/game", headers={**headers(key), "Content-Type": "application/json"}, content=raw)
        assert 400 <= answer.status_code < 500, raw[:20]
    for method, path in itertools.product(
        ("GET", "PUT", "DELETE", "PATCH"), ("/api/games", "/api/game", "/api/x", "/")
    ):
        assert server.request(method, path).status_code < 500
    for message in ("", "{", "[]", '{"key": 5}', '{"key": "no"}', json.dumps({"key": None}), "\x00"):
        with pytest.raises(WebSocketDisconnect), connect(server) as live:
            live.send_text(message)
            live.receive_json()
    for message in (
        "x",
        "[]",
        '{"analyse": "all"}',
        '{"analyse": 1e999}',
        '{"analyse": -3}',
        '{"analyse": true}',
        '{"analyse": 0, "mind": "\\ud800"}',
    ):
        with pytest.raises(WebSocketDisconnect), connect(server) as live:
            live.send_json({"key": key})
            live.receive_json()
            live.send_text(message)
            while True:
                live.receive_json()
    with pytest.raises(WebSocketDisconnect), connect(server) as live:
        live.send_bytes(b"\x00")
        live.receive_json()
    assert state(server, key)["ply"] == 0


def test_the_command_refuses_what_cannot_be(capsys, place):
    pytest.importorskip("uvicorn")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, told in (
            (["--port", port, "--games", str(place)], "choose another --port"),
            (["--port", "70000"], "choose 1 to 65535"),
            (["--player", "foo"], "Unknown player"),
            (["--run", str(place.parent)], "no metrics"),
            (["--port", "1", "--games", str(place), "--host", "no-such-host.invalid"], "cannot be listened on"),
            *(
                (["--games", str(place), "--host", host], "neither an address")
                for host in ("", "\u00e9..x", "a b", "*")
            ),
        ):
            assert main(["web", "--no-browser", *arguments]) == 2
            error = capsys.readouterr().err
            assert told in error
            assert error.count("\n") == 1
    assert not place.exists()
