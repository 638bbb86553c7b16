"""Self-play next to that of mctx and of OpenSpiel: plies and games per hour with networks of equal cost.

    python benchmarks/side_by_side.py --peers peers/bin/python [--seconds 20] [--json FILE]

All use the same number of simulations for each move and all cores, and each searches with a network that needs as many
operations for a position as our default one. The games differ: Brazilian draughts here, othello of pgx with mctx (one
batch of all games), American checkers with OpenSpiel (one process for each core, one game at a time). "share" is
simulations per second next to evaluations per second when the same cores only call the network. mctx also searches a
model without rules, since the rules of a game are not its own work.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from common import HERE, Peer, save
from inference import operations
from search import FreeNetwork

from damas_env.position import THREADS
from damas_env.rules import RuleSet, get_rules
from damas_rl.networks import Evaluator, NetworkConfig, build_network
from damas_rl.search.mcts import SearchConfig
from damas_rl.selfplay import SelfPlay, SelfPlayConfig
from damas_rl.speed import raw_evaluations_per_second

SPREAD_PLIES = 80
"""Steps with a network that costs nothing before anything is measured: games are at all stages then."""

STEPS = 10
"""Plies of each game between two looks at the clock, at which the groups wait for each other."""


def row(name: str, game: str, network: float, counts: list[float]) -> dict[str, Any]:
    """Prints and returns what was measured: evaluations per second, and (simulations, plies, games, seconds)."""
    simulations, plies, games, seconds = counts
    figures = {
        "name": name, "game": game, "network": network, "simulations": simulations / seconds,
        "share": simulations / seconds / network, "plies_per_hour": 3600 * plies / seconds,
        "games_per_hour": 3600 * games / seconds,
    }  # fmt: skip
    print(
        f"| {name} | {game} | {network:,.0f} | {figures['simulations']:,.0f} | {figures['share']:.2f} | "
        f"{figures['plies_per_hour']:,.0f} | {figures['games_per_hour']:,.0f} |",
        flush=True,
    )
    return figures


def ours(rules: RuleSet, evaluator: Evaluator, settings: SelfPlayConfig, kind: str, seconds: float) -> dict[str, Any]:
    search = SearchConfig(kind=kind, considered=8, c_scale=0.3) if kind == "gumbel" else SearchConfig(kind=kind)
    batch, run = settings.games // settings.groups, SelfPlay(rules, settings, search, seed=0)
    run.run(FreeNetwork(rules, batch), SPREAD_PLIES * settings.games)
    network = raw_evaluations_per_second(evaluator, rules, batch, run.threads, max(1.0, seconds / 4))
    counts = [0.0] * 4
    while counts[3] < seconds:
        played = run.run(evaluator, STEPS * settings.games)
        new = played.search.evaluations, played.plies, len(played.games), played.seconds
        counts = [count + more for count, more in zip(counts, new, strict=True)]
    return row(f"damas-rl, {kind}", "Brazilian draughts", network, counts)


def mctx(python: Path, games: int, simulations: int, cost: int, seconds: float) -> list[dict[str, Any]]:
    peer = Peer([python, HERE / "peers.py", "mctx", games, simulations, cost])
    rows = []
    for task, game in (("search", "othello of pgx"), ("bare", "none")):
        calls, taken = peer.ask(f"network {seconds / 4}")
        rows.append(row("mctx, gumbel", game, calls / taken, peer.ask(f"{task} {seconds}")))
    peer.close()
    return rows


def open_spiel(python: Path, simulations: int, cost: int, seconds: float) -> dict[str, Any]:
    one_thread = {"OPENBLAS_NUM_THREADS": "1"}
    peers = [Peer([python, HERE / "peers.py", "alphazero", simulations, cost], one_thread) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        alone = pool.map(lambda peer: peer.ask(f"network {seconds / 4}"), peers)
        network = sum(calls / taken for calls, taken in alone)
        answers = list(pool.map(lambda peer: peer.ask(f"search {seconds}"), peers))
    for peer in peers:
        peer.close()
    # Each process finishes its last game, so their times differ: rates are added up.
    rates = [sum(answer[index] / answer[3] for answer in answers) for index in range(3)]
    return row("OpenSpiel AlphaZero, puct", "checkers", network, [*rates, 1.0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="Python with mctx, pgx and open-spiel; without it, ours alone")
    parser.add_argument("--games", type=int, default=512, help="at once, here and in mctx")
    parser.add_argument("--simulations", type=int, default=32, help="for each move")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each search")
    parser.add_argument("--json", type=Path, help="file for the figures")
    arguments = parser.parse_args()
    games, simulations, seconds = arguments.games, arguments.simulations, arguments.seconds
    rules = get_rules("cbd")
    net = build_network(NetworkConfig(), rules)
    evaluator, cost = Evaluator(net, "cpu"), operations(net)
    settings = SelfPlayConfig(games=games, groups=THREADS, simulations=simulations, random_plies=0)
    print(f"{games} games at once, {simulations} simulations for each move, {THREADS} cores, {cost / 1e6:.2f} MFLOP\n")
    print("| search | game | network alone, evaluations/s | simulations/s | share | plies/h | games/h |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    rows = [ours(rules, evaluator, settings, kind, seconds) for kind in ("gumbel", "puct")]
    if arguments.peers:
        rows += mctx(arguments.peers, games, simulations, cost, seconds)
        rows.append(open_spiel(arguments.peers, simulations, cost, seconds))
    save(arguments.json, {"games": games, "simulations": simulations, "operations": cost, "rows": rows})


if __name__ == "__main__":
    main()
