"""Requests that nobody should make to the web application, and what its command refuses."""

import itertools
import json
import random
import socket

import pytest

pytest.importorskip("starlette")

from starlette.websockets import WebSocketDisconnect

import web_cases
from damas_rl.cli import main
from web_cases import AGAINST, BOTH, ORIGIN, act, connect, create, headers, state

place, quick_levels, server = web_cases.place, web_cases.quick_levels, web_cases.server


def test_nothing_without_a_key(server):
    key = create(server)
    for wrong in ("", key[:-1], key + "x", "all", "1", "%00", "'; DROP TABLE keys"):
        assert server.get("/api/game", headers=headers(wrong)).status_code == 404
        assert server.post("/api/game", headers=headers(wrong), json={"do": "undo"}).status_code == 404
    assert server.get("/api/game").status_code == 404
    assert state(server, key)["ply"] == 0


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
]  # fmt: skip  # fmt: skip


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
