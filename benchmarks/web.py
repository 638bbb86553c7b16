"""How soon ``damas web`` answers: moves and hints of games in parallel, and the page.

    python benchmarks/web.py [--games 8] [--moves 8]

Starts a server of its own and plays against it by HTTP and WebSocket; a move's time runs from the person's move to the
news of the answer. Levels with limited time have a second. First paint needs Chromium; needs an idle machine.
"""

import argparse
import json
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from websockets.sync.client import connect

STATIC = Path(__file__).parents[1] / "damas_rl" / "play" / "web" / "static"
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Server:
    def __init__(self, folder: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [sys.executable, "-m", "damas_rl.cli", "web", "--no-browser", "--port", str(self.port)]
        self.process = subprocess.Popen([*command, "--games", f"{folder}/web.sqlite"], stdout=subprocess.PIPE)
        assert self.process.stdout
        self.process.stdout.readline()

    def ask(self, path: str, body: dict | None = None, key: str = "") -> dict:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        return json.loads(urllib.request.urlopen(request, timeout=300).read())

    def game(self, level: str, moves: int, seed: int) -> list[float]:
        """Seconds of each answer in a game against a level."""
        rng, seconds = random.Random(seed), []
        key = self.ask("/api/games", {"seats": {"W": "person", "B": level}})["key"]
        with connect(f"ws://127.0.0.1:{self.port}/api/live") as news:
            news.send(json.dumps({"key": key}))
            state = json.loads(news.recv())["state"]
            while len(seconds) < moves and not state["outcome"]:
                action, wanted = rng.choice(state["legal"])["action"], state["ply"] + 2
                started = time.perf_counter()
                self.ask("/api/game", {"do": "move", "action": action}, key)
                while state["ply"] < wanted and not state["outcome"]:
                    state = json.loads(news.recv())["state"]
                seconds.append(time.perf_counter() - started)
        return seconds

    def hint(self, seed: int) -> list[float]:
        key = self.ask("/api/games", {"seats": {"W": "person", "B": "person"}})["key"]
        started = time.perf_counter()
        self.ask("/api/game", {"do": "hint"}, key)
        return [time.perf_counter() - started]


def row(name: str, parts: list[list[float]]) -> None:
    seconds = sorted(each for part in parts for each in part)
    print(f"| {name} | {len(seconds)} | {statistics.median(seconds):.2f} | {seconds[-1]:.2f} |", flush=True)


def page(server: Server, visits: int = 5) -> None:
    """Time of the page's files, and of its first paint and first board in a browser without a cache."""
    files = ["", *(path.name for path in sorted(STATIC.iterdir()) if path.suffix in (".js", ".css", ".svg"))]
    totals = []
    for _ in range(visits):
        started = time.perf_counter()
        for name in files:
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/{name}").read()
        totals.append(time.perf_counter() - started)
    print(f"\nThe page's {len(files)} files, one after the other: {statistics.median(totals):.2f} s")
    if CHROMIUM is None:
        return
    from playwright.sync_api import sync_playwright

    paints, boards = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(visits):
            tab = browser.new_context().new_page()
            tab.goto(f"http://127.0.0.1:{server.port}/")
            tab.locator(".piece").nth(23).wait_for()
            boards.append(tab.evaluate("performance.now()") / 1000)
            entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            paints.append(tab.evaluate(entry) / 1000)
        browser.close()
    print(
        f"In Chromium, {visits} visits: first paint {statistics.median(paints):.2f} s (slowest {max(paints):.2f}), "
        f"board with pieces {statistics.median(boards):.2f} s (slowest {max(boards):.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=8, help="in parallel")
    parser.add_argument("--moves", type=int, default=8, help="of each game")
    arguments = parser.parse_args()
    games, moves = arguments.games, arguments.moves
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(games) as threads:
        server = Server(folder)
        try:
            for level in ("full", "network", "strong"):  # kernels and networks are loaded
                server.game(level, 1, 0)
            print("| | answers | median s | slowest s |\n| --- | --- | --- | --- |")
            for level in ("full", "network", "strong"):
                row(f"{level}, one game", [server.game(level, moves, 0)])
                row(
                    f"{level}, {games} games",
                    list(threads.map(server.game, [level] * games, [moves] * games, range(games))),
                )
            mixed = ["full", "network"] * games
            row(
                f"full and network, {games} games",
                list(threads.map(server.game, mixed[:games], [moves] * games, range(games))),
            )
            row(f"{games} hints", list(threads.map(server.hint, range(games))))
            page(server)
        finally:
            server.process.terminate()


if __name__ == "__main__":
    main()
