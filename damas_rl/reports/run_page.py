"""One run as a page: how it was made, what it cost, what it is worth, how to repeat it, and what is not known of it."""

import dataclasses
import hashlib
import math
import shlex
from collections.abc import Mapping
from typing import Any

from damas_rl.config import RunConfig
from damas_rl.reports import page
from damas_rl.reports.comparison import COSTS, Group, shown_value
from damas_rl.reports.curves import iteration_curves, learning_curves, picture_bytes
from damas_rl.runs import Run, number, revision_of
from damas_rl.strict import flatten

UNKNOWN = "not recorded"
"""What stands in place of a figure that a run does not hold."""


def run_page(run: Run) -> str:
    """The page about a run."""
    return page.page(
        f"Training run {run.name}",
        _opening(run),
        page.section("Final strength", *_strength(run)),
        page.section("Learning curve", *_curve(run)),
        page.section("Losses and self-play", _losses(run)),
        page.section("Cost, and where the time went", *_cost(run)),
        page.section("Network", *_network(run)),
        page.section("Configuration", *_configuration(run)),
        page.section("Made with", *_machine(run)),
        page.section("How to repeat it", *_repeat(run)),
        page.section("What is not known", _missing(run)),
    )


def _opening(run: Run) -> page.Html:
    state = {
        "finished": "It has used its budget and was measured at the end.",
        "running": "It was still being trained when this page was made.",
        "interrupted": "It was interrupted: what follows is its state then, without a closing measurement.",
    }[run.state]
    rules, start = run.rules or f"a rule set that is {UNKNOWN}", run.setting("init_from") or "fresh weights"
    return page.paragraph(
        "A player of draughts under the rules ", page.code(rules), " that learned from games against itself, starting "
        "from ", page.code(start) if run.setting("init_from") else start,
        f": {run.positions:,} plies in {run.games:,} games, {run.minutes:.1f} minutes of training, seed "
        f"{UNKNOWN if run.seed is None else run.seed}. ", state,
    )  # fmt: skip


def _strength(run: Run) -> list[page.Html]:
    """The newest measurement."""
    if not run.measurements:
        return [page.paragraph("The run has not been measured yet.")]
    last = run.measurements[-1]
    rows = [
        (page.code(result.opponent), result.games, f"{result.wins}-{result.draws}-{result.losses}",
         f"{result.score:.1%}", f"{result.elo:+.0f} ({result.low:+.0f} to {result.high:+.0f})",
         UNKNOWN if result.distinct is None else f"{result.distinct:.0%}")
        for result in last.results.values()
    ]  # fmt: skip
    header = ("opponent", "games", "won-drawn-lost", "score", "Elo difference (95 %)", "distinct games")
    told = [
        page.table(header, rows, f"Measured after iteration {last.iteration}, {last.minutes:.1f} minutes.", numbers=5),
        page.paragraph(_conditions(run)),
    ]
    if any(result.extreme for result in last.results.values()):
        told.append(
            page.paragraph(
                "Where every point was won or lost, the Elo difference tells the number of games and no more: the true "
                "one may be larger without bound."
            )
        )
    if last.mistakes is not None:
        told.append(
            page.paragraph(
                f"Endgames: of sampled positions of up to {run.setting('selfplay.tablebase')} pieces in which some "
                f"moves throw away a win or a draw, the player threw away {last.mistakes:.1%}, without asking the "
                "endgame table."
            )
        )
    return told


def _conditions(run: Run) -> str:
    """How the matches of a run are played."""
    arena = {key: run.setting(f"arena.{key}") for key in ("simulations", "openings", "random_plies", "tablebase")}
    if arena["simulations"] is None:
        return f"How the matches were played is {UNKNOWN}."
    if arena["openings"]:
        start = f"from the openings of {arena['openings']}"
    elif arena["random_plies"] is not None:
        start = f"after {arena['random_plies']} random plies"
    else:
        start = "from the opening ballots of the rules (after 6 random plies where there are none)"
    tables = f", asking exact endgames of {arena['tablebase']} pieces" if arena["tablebase"] else ""
    return (
        f"The player searches {arena['simulations']} simulations a move with the averaged weights{tables}. Games are "
        f"played in pairs {start}, with colours swapped; intervals are those of the mean of the pairs."
    )


def _curve(run: Run) -> list[page.Html]:
    if not run.measurements:
        return [page.paragraph("The run has not been measured yet.")]
    group = Group(run.name, (run,), {})
    caption = (
        "Bars: 95 % intervals. Measurements during training consist of few games, the closing one of more. "
        "Hollow marks: all points were won or all lost; their Elo differences tell the number of games and no more."
    )
    parts = []
    for quantity, title in (("score", "Score"), ("elo", "Elo difference")):
        alt = f"{title} against each opponent over {', '.join(COSTS.values())}; figures are in the table below"
        figure = learning_curves([group], quantity)
        parts.append(page.picture(picture_bytes(figure, "svg"), alt, caption if quantity == "elo" else ""))
    opponents = group.opponents
    rows = [
        (point.iteration, f"{point.minutes:.1f}", f"{point.positions:,}", f"{point.games:,}",
         *(_score(point.results.get(opponent)) for opponent in opponents),
         UNKNOWN if point.mistakes is None else f"{point.mistakes:.1%}")
        for point in run.measurements
    ]  # fmt: skip
    header = ("iteration", "minutes", "plies", "games", *opponents, "endgame mistakes")
    parts.append(page.table(header, rows, "All measurements: scores.", numbers=len(header) - 1))
    return parts


def _score(result: Any) -> str:
    return "-" if result is None else f"{result.score:.1%} of {result.games}"


def _losses(run: Run) -> page.Html:
    if not run.iterations:
        return page.paragraph("No iteration is over yet.")
    caption = (
        "Means over each iteration. No policy loss can be lower than the entropy of its targets. Opening, middle and "
        "ending: pieces on more than half of the squares, on more than a quarter, on fewer."
    )
    alt = "Policy and value losses, accuracies, results and lengths of games, and speed, over minutes of training"
    return page.picture(picture_bytes(iteration_curves(run), "svg"), alt, caption)


def time_spent(run: Run) -> dict[str, float]:
    """Seconds of training by what they were spent on; their sum is the time of training, up to the clock's rounding."""

    def seconds(*keys: str) -> list[float]:
        return [number(event, *keys) or 0.0 for event in run.iterations]

    selfplay, shares = seconds("time", "selfplay"), seconds("time", "network_share")
    network = math.fsum(part * share for part, share in zip(selfplay, shares, strict=True))
    within = run.measurements[:-1] if run.state == "finished" else run.measurements
    spent = {
        "self-play, inside the network": network,
        "self-play, the rest": math.fsum(selfplay) - network,
        "learning": math.fsum(seconds("time", "learning")),
        "measurements against the ladder": math.fsum(point.seconds or 0.0 for point in within),
    }
    if run.pretraining:
        spent["pre-training"] = math.fsum(number(event, "time", "pretraining") or 0.0 for event in run.pretraining)
    if run.setting("trainer.reanalyse_share"):
        spent["reanalysis"] = math.fsum(seconds("time", "reanalysis"))
    spent["checkpoints, endgame mistakes, metrics"] = max(0.0, 60 * run.minutes - math.fsum(spent.values()))
    return spent


def _cost(run: Run) -> list[page.Html]:
    budget = [f"{run.setting(key):g} {key}" for key in ("minutes", "iterations") if number(run.config, key)]
    total = 60 * run.minutes
    told = [
        page.paragraph(
            f"Budget: {' and '.join(budget) or UNKNOWN}. Used: {run.minutes:.1f} minutes, {len(run.iterations)} "
            f"iterations, {run.positions:,} plies of self-play, {run.games:,} games."
        )
    ]
    if total:
        rows = [(name, f"{value:,.0f}", f"{value / total:.1%}") for name, value in time_spent(run).items()]
        rows.append(("all", f"{total:,.0f}", "100.0%"))
        told.append(page.table(("", "seconds", "share"), rows, numbers=2))
    if run.state == "finished" and run.measurements[-1].seconds is not None:
        told.append(
            page.paragraph(f"The closing measurement took {run.measurements[-1].seconds:,.0f} seconds on top of that.")
        )
    if run.share_of_raw_speed is not None:
        told.append(
            page.paragraph(
                f"Self-play evaluated positions at {run.share_of_raw_speed:.0%} of the speed that the network has by "
                "itself at the same batch size and threads, as measured when the run started."
            )
        )
    return told


def _network(run: Run) -> list[page.Html]:
    """The card of the network that the run has named its best."""
    from damas_rl.checkpoint import CheckpointError, best_measured, load_network

    keys = [key for key in run.settings() if key.startswith("network.")]
    settings = [(page.code(key), shown_value(key, run.setting(key))) for key in keys]
    try:
        path = best_measured(run.path)
        data = path.read_bytes() if path else b""
    except (OSError, CheckpointError):
        path = None
    if path is None:
        return [
            page.paragraph("The run has named no best network yet, or its file is gone."),
            page.table(("setting", "value"), settings),
        ]
    try:
        network, rules = load_network(path)
        parameters = f"{sum(weights.numel() for weights in network.parameters()):,}"
        sizes = f"{rules.size}x{rules.size} board, {network.num_squares} squares"
    except CheckpointError as error:
        parameters = sizes = f"unknown: {error}"
    rows = [
        ("file", page.code(str(path.relative_to(run.path)))),
        ("size", f"{len(data):,} bytes"),
        ("SHA-256", page.code(hashlib.sha256(data).hexdigest())),
        ("parameters", parameters),
        ("game", f"{run.rules or UNKNOWN}, {sizes}"),
        ("input", "the board and draw counters as the side to move sees them; nothing of earlier positions but how "
                  "often this one has occurred"),
        ("output", "a logit for each action; chances of win, draw and loss; plies left"),
        ("weights", "the moving average of those that were trained"),
        *settings,
    ]  # fmt: skip
    use = (
        "It knows this game only, as far as games against itself have led it. Its strength above is that of a tree "
        "search with it, not of the network alone."
    )
    return [page.table(("", ""), rows), page.paragraph(use)]


def _configuration(run: Run) -> list[page.Html]:
    if not run.config:
        return [page.paragraph("The configuration cannot be read.")]
    defaults = dict(flatten(dataclasses.asdict(RunConfig())))
    settings = {key: value for key, value in run.settings().items() if not key.startswith("network.")}
    changed = {key: value for key, value in settings.items() if value != _plain(defaults.get(key))}
    same = {key: value for key, value in settings.items() if key not in changed}

    def listed(values: Mapping[str, Any], caption: str) -> page.Html:
        rows = [(page.code(key), shown_value(key, value)) for key, value in values.items()]
        return page.columns(page.table(("key", "value"), rows, caption))

    return [
        page.paragraph(page.code("python train.py --help"), " says what keys mean; those of the network are above."),
        listed(changed, "Other than the defaults of this version of damas-rl"),
        listed(same, "As the defaults"),
    ]  # fmt: skip


def _machine(run: Run) -> list[page.Html]:
    """What each part of the run was made with."""
    if not run.parts:
        return [page.paragraph(f"Revision, versions and machine: {UNKNOWN}.")]
    rows: dict[str, list[str]] = {}
    parts = [dict(flatten(part)) for part in run.parts]
    for key in dict.fromkeys(key for part in parts for key in part):
        if not key.startswith(("resumed", "words", "init_from")):
            rows[key] = [str(part.get(key, UNKNOWN)) for part in parts]
    header = ("", *("started" if not index else f"went on ({index})" for index in range(len(parts))))
    same = all(len(set(values)) == 1 for key, values in rows.items() if key != "started")
    if len(parts) > 3 and same:
        times = ", ".join(rows["started"]) if "started" in rows else UNKNOWN
        told = page.paragraph(f"The run was made in {len(parts)} parts with the same versions, started {times}.")
        return [told, page.table(("", ""), [(key, values[0]) for key, values in rows.items() if key != "started"])]
    return [page.table(header, [(key, *values) for key, values in rows.items()])]


def _repeat(run: Run) -> list[page.Html]:
    """Commands that make the run again."""
    commands, checked_out = [], None
    by_actors = run.setting("cluster.kind") == "ray"
    for part in run.parts:
        words, revision = part.get("words"), revision_of(part)
        if revision and revision != checked_out:
            checked_out = revision
            commands.append(f"git checkout {revision.removesuffix('-dirty')}")
        if isinstance(words, list):
            commands.append(shlex.join(["python", "train.py", *map(str, words)]))
            by_actors |= "cluster=ray" in words  # the configuration is that of the last part
        else:
            commands.append(f"# the command is {UNKNOWN}; config.yaml in the run directory holds every key")
    told = [page.block("\n".join(commands))] if commands else []
    if any(revision.endswith("-dirty") for revision in run.revisions):
        told.append(
            page.paragraph("The source differed from the commit, so the commit alone does not give this run again.")
        )
    if by_actors:
        equal = "Games of actors (cluster=ray) arrive in the order of the clock, so equal seeds do not give equal runs."
    else:
        equal = (
            "On one machine, with these versions and equal numbers of threads, equal seeds give equal bits, iteration "
            "by iteration, on a CPU."
        )
    budget = (
        "Where minutes are the budget, the number of iterations depends on the speed of the machine and on what else "
        "it does."
    )
    return [*told, page.paragraph(f"{equal} {budget}")]


def _missing(run: Run) -> page.Html:
    """What a reader might look for in vain."""
    entries = [f"{remark[0].upper()}{remark[1:]}." for remark in run.remarks]
    if run.words is None:
        entries.append("The words of the command were not recorded.")
    if not any(point.mistakes is not None for point in run.measurements):
        entries.append("Endgame mistakes: runs record them when they have an endgame table (selfplay.tablebase).")
    entries.append("Whether the values are calibrated: training does not measure it; benchmarks/calibration.py does.")
    entries.append("What else the machine did meanwhile.")
    if len(run.parts) == 1 and run.seed is not None:
        entries.append("How much of the result is luck of the seed: damas compare shows runs with several seeds.")
    return page.items(entries)


def _plain(value: Any) -> Any:
    """A value as a file holds it."""
    return list(value) if isinstance(value, tuple) else value
