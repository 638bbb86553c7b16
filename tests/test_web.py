"""The web application's server: games between persons and levels, clocks, rating, news, and PDN."""

import json
import time
from dataclasses import replace

import pytest

import web_cases
from damas_env.game import Game
from damas_env.notation import read_pdn
from damas_env.position import Positions
from damas_rl.networks.evaluator import NetworkError
from damas_rl.play.clocks import Clock, TimeControl
from damas_rl.play.levels import LEVELS, make_level
from damas_rl.play.web.rooms import Rooms
from web_cases import AGAINST, BOTH, act, connect, create, headers, play, state, until

place, quick_levels, server = web_cases.place, web_cases.quick_levels, web_cases.server


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


@pytest.mark.parametrize("error", [NetworkError("no numbers"), RuntimeError("no memory left")])
def test_a_level_that_fails_pauses_and_can_go_on(server, monkeypatch, error):
    async def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Rooms, "_choose", fail)
        key = create(server, seats=AGAINST)
        play(server, key, "22-18")
        now = until(server, key, lambda now: now["paused"])
        assert not now["thinking"] and now["ply"] == 1
    act(server, key, "undo")
    assert state(server, key)["ply"] == 0


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
    assert act(server, create(server), "resign")["state"]["rating"]["games"] == 1


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
