"""Is the value of a network right, and how often does it throw away the result of an endgame?

    python benchmarks/calibration.py --json calibration.json [--paste docs/strength.md] [--picture docs/calibration.svg]

Calibration: games between tree searches, one with half the simulations of the other so that the two games of a pair
differ, from random openings. All positions in which the players had a choice are put into bins by the value that the
network alone, or a search with --simulations, gives to the side to move; beside it stands what that side has scored in
the end, from -1 (lost) to 1 (won). Positions of a game share its result, and the two games of a pair their opening: the
intervals (95 %) are those of a bootstrap over pairs. "error" is the mean distance of value and result over the bins,
weighted by positions.

Endgames: --endgames sampled positions of up to four pieces in which some moves throw away a win or a draw, and the
share in which the network's choice does, without asking a table.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from common import paste, picture, save
from numpy.typing import NDArray

from damas_env.rules import RuleSet, get_rules
from damas_rl.arena import MatchGame, play_match
from damas_rl.checkpoint import load_network
from damas_rl.endgames import mistakes, sample_endgames
from damas_rl.networks import Evaluator
from damas_rl.openings import Opening, random_openings
from damas_rl.players import MctsPlayer, Player, PolicyPlayer, RandomPlayer
from damas_rl.tablebase import open_tablebase

BINS = 10
RESAMPLES = 1000


def judged(
    games: Sequence[MatchGame], rules: RuleSet, judges: Sequence[Player]
) -> tuple[NDArray[np.int64], NDArray[np.float64], list[NDArray[np.float64]]]:
    """(game, result for the side to move, values by each judge) of all positions in which a player had a choice."""
    numbers: list[NDArray[np.int64]] = []
    results: list[NDArray[np.float64]] = []
    values: list[list[NDArray[np.float64]]] = [[] for _ in judges]
    winners = np.array([game.winner for game in games])
    positions = Opening.positions(rules, [game.opening for game in games])
    played = np.array([len(game.opening.actions) for game in games])
    lengths = np.array([len(game.actions) for game in games])
    while (played < lengths).any():
        going_on = np.flatnonzero(played < lengths)
        choosing = going_on[positions.counts[going_on] > 1]
        taken, won = positions.take(choosing), winners[choosing]
        numbers.append(choosing)
        results.append(np.where(won < 0, 0.0, np.where(won == taken.colors, 1.0, -1.0)))
        for judge, given in zip(judges, values, strict=True):
            if len(choosing):
                given.append(judge.choose(taken).values.astype(np.float64))
        actions = np.full(len(games), -1, dtype=np.int16)
        actions[going_on] = [games[game].actions[played[game]] for game in going_on]
        positions.step(actions, played < lengths)
        played[going_on] += 1
    return np.concatenate(numbers), np.concatenate(results), [np.concatenate(given) for given in values]


def calibration(pairs: NDArray[np.int64], results: NDArray[np.float64], values: NDArray[np.float64]) -> dict[str, Any]:
    """Results by bins of values; ``pairs`` says which positions belong together."""
    bins = np.clip(((values + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
    size = int(pairs.max()) + 1
    counts, sums = np.zeros((size, BINS)), np.zeros((size, BINS))
    np.add.at(counts, (pairs, bins), 1)
    np.add.at(sums, (pairs, bins), results)
    drawn = np.random.default_rng(0).multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = (drawn @ sums) / (drawn @ counts)
    rows = []
    for number in np.flatnonzero(counts.sum(axis=0)):
        inside = bins == number
        low, high = np.nanquantile(means[:, number], (0.025, 0.975))
        rows.append({
            "from": 2 * number / BINS - 1, "to": 2 * (number + 1) / BINS - 1, "positions": int(inside.sum()),
            "pairs": len(np.unique(pairs[inside])), "value": float(values[inside].mean()),
            "result": float(results[inside].mean()), "low": float(low), "high": float(high),
        })  # fmt: skip
    error = sum(row["positions"] * abs(row["value"] - row["result"]) for row in rows) / len(values)
    return {"rows": rows, "error": error, "square": float(((values - results) ** 2).mean())}


def endgames(rules: RuleSet, players: dict[str, Player], count: int, seed: int) -> list[dict[str, Any]]:
    """Shares of thrown results with Wilson's interval."""
    tablebase = open_tablebase(rules, 4)
    positions = sample_endgames(tablebase, count, np.random.default_rng(seed), critical=True)
    rows = []
    for name, player in players.items():
        share, z = mistakes(player, tablebase, positions), 1.959964
        middle = (share + z * z / (2 * count)) / (1 + z * z / count)
        margin = z * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5 / (1 + z * z / count)
        rows.append({"player": name, "share": share, "low": middle - margin, "high": middle + margin})
    return rows


def texts(figures: dict[str, Any]) -> dict[str, str]:
    """The tables by their marks."""
    lines = [
        "| values | by | mean value | mean result (95 %) | positions | pairs of games |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, found in figures["values"].items():
        lines += [
            f"| {row['from']:+.1f} to {row['to']:+.1f} | {name} | {row['value']:+.2f} | "
            f"{row['result']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f}) | {row['positions']:,} | {row['pairs']} |"
            for row in found["rows"]
        ]
    lines += [
        f"\n{name}: error {found['error']:.3f}, mean square {found['square']:.3f}."
        for name, found in figures["values"].items()
    ]
    thrown = [f"| player | results thrown away, of {figures['endgames']:,} (95 %) |", "| --- | --- |"]
    thrown += [
        f"| {row['player']} | {row['share']:.1%} ({row['low']:.1%} to {row['high']:.1%}) |"
        for row in figures["mistakes"]
    ]
    return {"calibration": "\n".join(lines), "endgames": "\n".join(thrown)}


def draw(path: Path | None, found: dict[str, Any]) -> None:
    """Results over values, beside what they should be."""
    with picture(path) as axes:
        if axes is None:
            return
        axes.plot([-1, 1], [-1, 1], color="gray", linewidth=0.8)
        for name, figures in found.items():
            rows = figures["rows"]
            errors = [[row["result"] - row["low"] for row in rows], [row["high"] - row["result"] for row in rows]]
            axes.errorbar(
                [row["value"] for row in rows], [row["result"] for row in rows], yerr=errors, marker="o",
                markersize=3, capsize=2, label=name,
            )  # fmt: skip
        axes.set_xlabel("predicted for the side to move")
        axes.set_ylabel("scored, mean")
        axes.legend(fontsize=8, loc="upper left")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--network", default="base", help="name, checkpoint or run directory")
    parser.add_argument("--games", type=int, default=400, help="an even number")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--random-plies", type=int, default=8, help="of the openings")
    parser.add_argument("--endgames", type=int, default=1000, help="positions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument(
        "--paste", type=Path, help="page that receives the tables, at <!-- calibration --> and <!-- endgames -->"
    )
    parser.add_argument("--picture", type=Path, help="file for the picture, SVG (needs matplotlib)")
    arguments = parser.parse_args()
    rules, simulations = get_rules("cbd"), arguments.simulations
    network, trained_for = load_network(arguments.network)
    if trained_for != rules:
        parser.error(f"{arguments.network} was trained for {trained_for.name!r}, not for {rules.name!r}")
    evaluator = Evaluator(network)
    alone, search = PolicyPlayer(evaluator), MctsPlayer(rules, evaluator, simulations)
    openings = random_openings(rules, arguments.games // 2, arguments.random_plies, arguments.seed)
    other = MctsPlayer(rules, evaluator, max(1, simulations // 2))
    games = play_match(search, other, rules, arguments.games, openings).games
    numbers, results, values = judged(games, rules, [alone, search])
    names = ("network", f"{simulations} simulations")
    players = {"random moves": RandomPlayer(arguments.seed), "network alone": alone, names[1]: search}
    figures = {
        "network": arguments.network, "games": len(games), "endgames": arguments.endgames, "seed": arguments.seed,
        "values": {name: calibration(numbers // 2, results, given) for name, given in zip(names, values, strict=True)},
        "mistakes": endgames(rules, players, arguments.endgames, arguments.seed),
    }  # fmt: skip
    for mark, text in texts(figures).items():
        print(text, end="\n\n")
        paste(arguments.paste, mark, text, arguments.picture if mark == "calibration" else None)
    save(arguments.json, figures)
    draw(arguments.picture, figures["values"])


if __name__ == "__main__":
    main()
