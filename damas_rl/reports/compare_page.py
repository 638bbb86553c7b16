"""Several runs in comparison, as one page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from damas_rl.reports import page
from damas_rl.reports.comparison import COSTS, Group, mean_cost, shown_value, summary
from damas_rl.reports.curves import color, learning_curves, picture_bytes
from damas_rl.runs import Run

_READING = (
    "Thick lines are means over the runs of a group, as far as all of them reach; bands go from the lowest to the "
    "highest run, thin lines are the runs. A run without companions has the 95 % intervals of its matches instead. "
    "Measurements during training consist of few games, the closing one of more."
)
_HOLLOW = (
    " Hollow marks: all points were won or all lost, so the Elo difference tells the number of games and no more; "
    "such a curve can fall without any loss of strength."
)


def comparison_page(groups: Sequence[Group], refused: Mapping[Path, str]) -> tuple[str, dict[str, bytes]]:
    """The page, and its pictures as PNG files by name.

    Args:
        groups: the runs.
        refused: folders that were to be compared but hold no run that can be read, and why.
    """
    opponents = list(dict.fromkeys(opponent for group in groups for opponent in group.opponents))
    runs = [run for group in groups for run in group.runs]
    parts = [
        page.paragraph(
            f"{len(runs)} training run{'s' * (len(runs) != 1)} in {len(groups)} group{'s' * (len(groups) != 1)}; "
            "runs of a group differ only in their seed."
        ),
        page.section("Newest measurements", *_results(groups, opponents)),
    ]
    pictures: dict[str, bytes] = {}
    if opponents:
        for quantity, title in (("score", "Score"), ("elo", "Elo difference")):
            figure = learning_curves(groups, quantity)
            pictures[f"{quantity}.png"] = picture_bytes(figure, "png")
            caption = _READING + _HOLLOW * (quantity == "elo")
            alt = f"{title} against {', '.join(opponents)} over {', '.join(COSTS.values())}; the tables hold the ends"
            drawn = page.picture(picture_bytes(figure, "svg"), alt, caption)
            parts.append(page.section(f"{title} over cost", drawn))
    parts += [
        page.section("What differs", _differences(groups)),
        page.section("The runs", _runs(groups)),
    ]
    if refused:
        told = [f"{path}: {text}" for path, text in refused.items()]
        parts.append(page.section("Not compared", page.items(told)))
    return page.page("Training runs compared", *parts), pictures


def _results(groups: Sequence[Group], opponents: Sequence[str]) -> list[page.Html]:
    """Score and Elo difference of each group against each opponent."""
    if not opponents:
        return [page.paragraph("None of the runs has been measured yet.")]
    made = []
    for quantity, title in (("score", "Score"), ("elo", "Elo difference")):
        rows = [
            (_named(index, groups), len(group.runs), *(summary(group, opponent, quantity) for opponent in opponents))
            for index, group in enumerate(groups)
        ]
        header = ("", "runs", *opponents)
        caption = f"{title}: mean and range of the runs; of a single run, with the 95 % interval of the match."
        made.append(page.table(header, rows, caption, numbers=len(header) - 1))
    return made


def _differences(groups: Sequence[Group]) -> page.Html:
    """The settings that are not the same everywhere."""
    keys = list(groups[0].settings)
    if not keys:
        return page.paragraph("Nothing but the seeds: configuration and revision of the source code are the same.")
    header = ("setting", *(_named(index, groups) for index in range(len(groups))))
    rows = [(page.code(key), *(shown_value(key, group.settings[key]) for group in groups)) for key in keys]
    return page.table(header, rows)


def _runs(groups: Sequence[Group]) -> page.Html:
    header = ("run", "group", "state", "remarks", "seed", "minutes", "plies", "games")
    rows = [
        (page.code(run.path), _named(index, groups), run.state, _remarks(run), "-" if run.seed is None else run.seed,
         f"{run.minutes:.1f}", f"{run.positions:,}", f"{run.games:,}")
        for index, group in enumerate(groups) for run in group.runs
    ]  # fmt: skip
    means = [
        ("mean", _named(index, groups), "", "", "", f"{mean_cost(group, 'minutes'):.1f}",
         f"{mean_cost(group, 'positions'):,.0f}", f"{mean_cost(group, 'games'):,.0f}")
        for index, group in enumerate(groups) if len(group.runs) > 1
    ]  # fmt: skip
    return page.table(header, [*rows, *means], numbers=4)


def _remarks(run: Run) -> str:
    """What makes a run hard to compare."""
    names = {str(part["machine"].get("processor")) for part in run.parts if isinstance(part.get("machine"), dict)}
    parts = [f"in {len(run.parts)} parts"] if len(run.parts) > 1 else []
    return "; ".join((*run.remarks, *parts, *(["on different processors"] if len(names) > 1 else [])))


def _named(index: int, groups: Sequence[Group]) -> page.Html:
    """The label of a group beside its colour in the pictures."""
    mark = page.swatch(color(index)) if len(groups) > 1 else page.Html()
    return page.Html(mark + page.html(groups[index].label))
