"""What a run leaves behind for people: sample games, the name of its best network, the closing table."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.markup import escape
from rich.table import Table

from damas_env.game import Game
from damas_env.notation import PdnGame, result_of
from damas_env.position import COLORS
from damas_env.presets import DEFAULT_RULES
from damas_env.rules import RuleSet
from damas_env.termination import Outcome
from damas_rl.selfplay import FinishedGame


def best_network(ladder: Sequence[Mapping[str, Any]]) -> str:
    """The network to play with: the newest one whose mean score is within one standard error of the best.

    Args:
        ladder: measurements, oldest first: ``network`` (file name), ``games`` (of each rung), ``rungs`` (by opponent,
            with ``score``).
    """

    def mean(entry: Mapping[str, Any]) -> float:
        return float(np.mean([rung["score"] for rung in entry["rungs"].values()]))

    top = max(ladder, key=mean)
    games = min(entry["games"] for entry in ladder) * len(top["rungs"])
    margin = 0.5 / games**0.5  # the largest standard deviation of one game's score is 0.5
    return str(next(entry["network"] for entry in reversed(ladder) if mean(entry) >= mean(top) - margin))


def pdn_game(game: FinishedGame, rules: RuleSet, name: str, iteration: int) -> PdnGame:
    """A self-play game as PDN; a tag tells how many of its first plies were random."""
    replayed = Game(rules, game.fen)
    for action in game.actions:
        replayed.push(action)
    tags = {
        "Event": f"Self-play of {name}, iteration {iteration}",
        "White": name,
        "Black": name,
        "RandomPlies": str(game.opening),
        "Termination": game.termination.name.lower() if game.termination else "adjudication",
    }
    written = replayed.pdn(tags)
    if replayed.outcome() is None:  # a side resigned, or the endgame table knew the result
        winner = COLORS[game.winner] if game.winner >= 0 else None
        written = replace(written, result=result_of(Outcome(game.termination, winner), rules))
    return written


def ladder_table(entry: Mapping[str, Any]) -> Table:
    """A measurement as a table."""
    title = f"Ladder after iteration {entry['iteration']}, {entry['games']} games each"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("opponent", "won-drawn-lost", "score", "Elo (95 %)", "distinct"):
        table.add_column(heading, justify="left" if heading == "opponent" else "right", no_wrap=True)
    for opponent, rung in entry["rungs"].items():
        table.add_row(
            escape(opponent),
            f"{rung['wins']}-{rung['draws']}-{rung['losses']}",
            f"{rung['score']:.1%}",
            f"{rung['elo']:+.0f} ({rung['low']:+.0f} to {rung['high']:+.0f})",
            f"{rung['distinct']:.0%}",
        )
    return table


def what_next(run: Path, best: str, rules: str, limits: Sequence[str]) -> str:
    """What to do with a finished run under the rule set of that name or file; ``limits``: keys that bound it."""
    player = shlex.quote(f"mcts:net={run},sims=200")
    if rules != DEFAULT_RULES:
        player += f" --rules {shlex.quote(rules)}"
    more = " ".join(f"{key}={key[0].upper()}" for key in limits)
    return (
        f"Best network: {run / 'networks' / best}\n"
        f"Play it:      {program('damas')} play --opponent {player}\n"
        f"Curves:       {program('tensorboard')} --logdir {shlex.quote(str(run))}\n"
        f"One page:     {program('damas')} report {shlex.quote(str(run))}\n"
        f"Train more:   {resume_command(run)} {more} (totals of all parts of the run)"
    )


def resume_command(run: Path, option: str = "") -> str:
    """The command that goes on with a run (with ``option`` "-m " a sweep), as it can be typed in the current folder."""
    train = Path(__file__).parents[1] / "train.py"
    return f"{program(Path(sys.executable).name)} {_typed(train)} {option}{shlex.quote(f'resume={run}')}"


def program(name: str) -> str:
    """A program that is installed beside the running Python, as it can be typed in the current folder."""
    return _typed(Path(sys.executable).parent / name)


def _typed(path: Path) -> str:
    """A path for a command line, relative to the current folder where it lies below it."""
    here = Path.cwd()
    if not path.is_relative_to(here):
        return shlex.quote(str(path))
    return shlex.quote(str(path.relative_to(here)))
