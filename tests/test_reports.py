"""Groups, means and pages made of run directories: ``damas compare`` and ``damas report``."""

import base64
import html
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from damas_rl.cli import main
from damas_rl.reports import page
from damas_rl.reports.comparison import Curve, curve, make_groups, shown_value, spread, summary
from damas_rl.reports.curves import learning_curves, picture_bytes
from damas_rl.reports.run_page import UNKNOWN, time_spent
from damas_rl.runs import find_runs, read_run, read_runs
from run_cases import MADE_BY, make_run

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two widths, three seeds of the one and two of the other."""
    folder = tmp_path_factory.mktemp("runs")
    for width, seed, strength in ((16, 1, 4), (16, 2, 5), (16, 3, 6), (32, 1, 7), (32, 2, 9)):
        words = [f"network.width={width}", f"seed={seed}"]
        make_run(folder / f"w{width}-s{seed}", *words, strength=strength, plies=1000 + 100 * seed)
    return folder


def groups_of(folder):
    return make_groups(read_runs(find_runs(folder))[0])


def line(*points):
    x, y = np.array(points, dtype=float).T
    return Curve(x, y, y, y, y > 99)


def test_runs_that_differ_only_in_their_seed_form_a_group(runs):
    groups = groups_of(runs)
    assert [[run.name for run in group.runs] for group in groups] == [
        ["w16-s1", "w16-s2", "w16-s3"],
        ["w32-s1", "w32-s2"],
    ]
    assert [group.label for group in groups] == ["A: width=16", "B: width=32"]
    assert groups[0].settings == {"network.width": 16} and groups[0].opponents == ["random", "alphabeta:depth=1"]
    (alone,) = make_groups(groups[0].runs)
    assert alone.label == "tiny" and alone.settings == {}


def test_other_code_or_an_unknown_key_is_another_group(runs, tmp_path):
    for name, change in (("code", {"git_revision": "f" * 40 + "-dirty"}), ("same", {"started": "later"})):
        shutil.copytree(runs / "w16-s1", tmp_path / name)
        (tmp_path / name / "meta.json").write_text(json.dumps(MADE_BY | change))
    shutil.copytree(runs / "w16-s1", tmp_path / "key")
    with open(tmp_path / "key" / "config.yaml", "a") as file:
        file.write("new_key: null\n")
    groups = groups_of(tmp_path)
    assert [[run.name for run in group.runs] for group in groups] == [["code"], ["key"], ["same"]]
    assert set(groups[0].settings) == {"revision", "new_key"}
    assert groups[0].label == "A: revision=fffffff-dirty, new_key=(no such key)"


def test_mean_and_spread_are_those_of_the_lines_between_the_points():
    x, mean, low, high = spread([line((0, 0), (2, 4)), line((1, 4), (3, 8)), line((1, 1), (4, 1))])
    assert x.tolist() == [1, 2]
    assert mean.tolist() == pytest.approx([(2 + 4 + 1) / 3, (4 + 6 + 1) / 3])
    assert low.tolist() == [1, 1] and high.tolist() == [4, 6]
    assert all(len(part) == 0 for part in spread([]))
    assert all(len(part) == 0 for part in spread([line((0, 0), (1, 1)), line((2, 2), (3, 3))]))


def test_a_curve_holds_costs_values_and_intervals(runs):
    run = read_run(runs / "w16-s2")
    score = curve(run, "alphabeta:depth=1", "positions", "score")
    assert score.x.tolist() == [2400, 4800, 7200] and score.y.tolist() == [0.1, 0.3, 0.5]
    assert (score.low < score.y).all() and (score.y < score.high).all() and not score.extreme.any()
    beaten = curve(run, "random", "minutes", "elo")
    assert beaten.extreme.all() and (beaten.high == beaten.y).all() and (beaten.low < beaten.y).all()
    top = curve(run, "random", "minutes", "score")
    assert (top.y == 1).all() and (top.high == 1).all() and (top.low < 1).all()
    assert len(curve(run, "nobody", "games", "elo").x) == 0


def test_summaries_have_the_range_of_several_runs_and_the_interval_of_one(runs):
    several, two = groups_of(runs)
    assert summary(several, "alphabeta:depth=1", "score") == "50.0% (40.0% to 60.0%)"
    assert summary(several, "alphabeta:depth=1", "elo") == "+0 (-70 to +70)"
    assert summary(two, "nobody", "elo") == "-"
    (one,) = make_groups(several.runs[1:2])
    result = one.runs[0].measurements[-1].results["alphabeta:depth=1"]
    assert summary(one, "alphabeta:depth=1", "elo") == f"+0 ({result.low:+.0f} to {result.high:+.0f})"


def test_settings_are_shown_as_they_are_typed():
    values = [None, True, 1, 0, 0.5, "", "x", ["a", "b"]]
    assert [shown_value("k", value) for value in values] == ["null", "true", "1", "0", "0.5", '""', "x", "[a, b]"]
    assert shown_value("revision", f"{'a' * 40}-dirty, {'b' * 40}") == "aaaaaaa-dirty, bbbbbbb"


def test_curves_have_a_panel_for_each_opponent_and_cost_or_one_row(runs):
    two = learning_curves(groups_of(runs), "score")
    assert len(two.axes) == 6 and two.axes[0].get_ylabel().startswith("alphabeta:depth=1")  # the strongest on top
    assert [axes.get_xlabel() for axes in two.axes[3:]] == [
        "minutes of training", "plies of self-play", "games of self-play",
    ]  # fmt: skip
    one = learning_curves(groups_of(runs)[:1], "elo", ["minutes"])
    assert len(one.axes) == 1 and len(one.axes[0].collections) == 2  # a band for each opponent


def test_text_in_pages_is_escaped():
    made = page.page("<b>", page.paragraph("a<script>", page.code("&"), "\x1b"), page.table(("<",), [(">",)], "<i>"))
    assert "<b>" not in made and "<script" not in made and "<i>" not in made
    assert "a&lt;script&gt;<code>&amp;</code>" in made and "\x1b" not in made


def assert_self_contained(text):
    """Nothing of a page is fetched from elsewhere, the pictures inside its pictures neither."""
    assert "default-src 'none'" in text and "<script" not in text and "<link" not in text and "@import" not in text
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sources and all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    for source in sources:
        svg = base64.b64decode(source.partition(",")[2]).decode()
        assert svg.rstrip().endswith("</svg>")
        assert not re.search(r'(?:href|src)="(?!#|data:)', svg)


def words(text):
    """A page as people read it."""
    return " ".join(html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", text, flags=re.S)).split())


def test_compare_writes_a_page_and_pictures_and_prints_a_table(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "begun" / "checkpoints").mkdir(parents=True)
    out = tmp_path / "new" / "folder"
    assert main(["compare", str(runs), str(runs / "w16-s1"), str(tmp_path / "begun"), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for expected in ("A: width=16", "50.0% (40.0% to 60.0%)", "begun: config.yaml is missing", f"{out / 'index.html'}"):
        assert expected in " ".join(said.split())
    assert sorted(path.name for path in out.iterdir()) == ["elo.png", "index.html", "score.png"]
    assert all((out / name).read_bytes().startswith(b"\x89PNG") for name in ("elo.png", "score.png"))
    text = (out / "index.html").read_text()
    assert_self_contained(text)
    told = words(text)
    for expected in ("5 training runs in 2 groups", "network.width 16 32", "w32-s2", "begun: config.yaml is missing"):
        assert expected in told
    assert main(["compare", str(runs / "w16-s1"), str(runs / "w16-s2"), "--out", str(out)]) == 0
    assert "Nothing but the seeds" in words((out / "index.html").read_text())


def test_runs_without_measurements_can_be_compared(runs, tmp_path, capsys):
    shutil.copytree(runs / "w16-s1", tmp_path / "a")
    (tmp_path / "a" / "metrics.jsonl").write_text("")
    assert main(["compare", str(tmp_path / "a"), "--out", str(tmp_path / "out")]) == 0
    assert "None of the runs has been measured yet" in words((tmp_path / "out" / "index.html").read_text())


@pytest.mark.parametrize("given", [["nowhere"], ["empty"], ["begun"], ["run", "--out", "file"]])
def test_what_cannot_be_compared_is_one_line(runs, tmp_path, monkeypatch, capsys, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "begun" / "checkpoints").mkdir(parents=True)
    (tmp_path / "file").write_text("mine")
    shutil.copytree(runs / "w16-s1", tmp_path / "run")
    assert main(["compare", *given]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and given[-1] in err
    assert (tmp_path / "file").read_text() == "mine" and not (tmp_path / "comparison").exists()


def test_without_matplotlib_the_extra_is_named(runs, tmp_path, monkeypatch, capsys):
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "damas_rl.reports."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["compare", str(runs)], ["report", str(runs / "w16-s1")]):
        assert main([*command, "--out", str(tmp_path / "out")]) == 2
        err = capsys.readouterr().err
        assert err == f"damas: damas {command[0]} needs matplotlib: pip install 'damas-rl[plot]'\n"


def test_a_report_tells_what_a_run_was_and_how_to_repeat_it(runs, tmp_path, capsys):
    run = Path(shutil.copytree(runs / "w16-s2", tmp_path / "a<b"))
    later = MADE_BY | {"words": ["resume=x y"]}
    parts = MADE_BY | {"words": ["experiment=tiny", "seed=2"], "resumed": [later]}
    (run / "meta.json").write_text(json.dumps(parts))
    shutil.copy(ROOT / "damas_rl" / "nets" / "small.pt", run / "networks" / "net-0000006.pt")
    (run / "best").write_text("net-0000006.pt\n")
    assert main(["report", str(run)]) == 0
    assert "report.html" in capsys.readouterr().out
    text = (run / "report.html").read_text()
    assert_self_contained(text)
    told = words(text)
    for expected in (
        "Training run a<b",
        "7,200 plies in 144 games, 3.0 minutes of training, seed 2. It has used its budget",
        "alphabeta:depth=1 20 10-0-10 50.0% +0 (",
        "tells the number of games and no more",
        "threw away 10.0%",
        "searches 2 simulations a move",
        "from the opening ballots",
        "parameters 725,188",
        "learner.batch_size 32",
        "git_revision 0123456789abcdef0123456789abcdef01234567",
        "python train.py experiment=tiny seed=2",
        "python train.py 'resume=x y'",
        "self-play, inside the network 86 48.0%",
        "all 180 100.0%",
    ):
        assert expected in told, expected
    assert "The words of the command were not recorded" not in told
    assert "equal seeds give equal bits" in told
    (run / "meta.json").write_text(json.dumps(parts | {"words": ["experiment=tiny", "cluster=ray"]}))
    assert main(["report", str(run)]) == 0
    told = words((run / "report.html").read_text())
    assert "equal seeds do not give equal runs" in told and "equal bits" not in told


def test_a_report_is_honest_about_what_is_missing(runs, tmp_path):
    run = Path(shutil.copytree(runs / "w16-s1", tmp_path / "a"))
    kept = (run / "metrics.jsonl").read_text().splitlines(keepends=True)[:1]
    (run / "metrics.jsonl").write_text("".join(kept))
    (run / "meta.json").write_text("{")
    (run / "best").write_text("../../somewhere\n")
    out = tmp_path / "page.html"
    assert main(["report", str(run), "--out", str(out)]) == 0
    told = words(out.read_text())
    for expected in (
        "It was interrupted",
        "The run has not been measured yet",
        "Meta.json is damaged.",
        f"Revision, versions and machine: {UNKNOWN}",
        "The words of the command were not recorded",
        "named no best network yet",
        "Endgame mistakes",
    ):
        assert expected in told, expected
    (run / "config.yaml").unlink()
    assert main(["report", str(run), "--out", str(out)]) == 0
    assert "The configuration cannot be read" in words(out.read_text())


def test_names_are_drawn_letter_by_letter(runs, tmp_path):
    names = ["$x_$", "a$\\frac$", "\ud800", "\x1b[2J", "_hidden"]
    run = Path(shutil.copytree(runs / "w16-s1", tmp_path / "one"))
    event = json.loads((run / "metrics.jsonl").read_text().splitlines()[-1])
    event["ladder"] = {name: event["ladder"]["random"] for name in names}
    (run / "metrics.jsonl").write_text(json.dumps(event) + "\n")
    other = Path(shutil.copytree(run, tmp_path / "other"))
    config = (other / "config.yaml").read_text()
    (other / "config.yaml").write_text(config.replace("width: 16", "width: 32"))
    for paths in ([run], [run, other]):
        groups = make_groups(read_runs(paths)[0])
        figure = learning_curves(groups, "score")
        assert picture_bytes(figure, "svg")
        drawn = [text.get_text() for text in figure.findobj(Text)]
        assert "\x1b" not in "".join(drawn) and any("\\x1b[2J" in text for text in drawn)
        assert any(r"\$x_\$" in text for text in drawn)


def test_notes_of_a_hostile_run_become_no_command_and_break_no_page(runs, tmp_path):
    run = Path(shutil.copytree(runs / "w16-s1", tmp_path / "a"))
    notes = {"git_revision": "0123456; rm -rf ~", "words": ["seed=1; rm -rf ~"], "machine": {"processor": {}}}
    (run / "meta.json").write_text(json.dumps(notes | {"resumed": [1, None, {"machine": {"processor": []}}]}))
    out = tmp_path / "page.html"
    assert main(["report", str(run), "--out", str(out)]) == 0
    told = words(out.read_text())
    assert "git checkout" not in told and "python train.py 'seed=1; rm -rf ~'" in told
    assert main(["compare", str(run), str(runs / "w32-s1"), "--out", str(tmp_path / "compared")]) == 0


def test_time_is_spent_on_something(runs):
    run = read_run(runs / "w16-s1")
    spent = time_spent(run)
    assert sum(spent.values()) == pytest.approx(180) and spent["measurements against the ladder"] == 6
    assert spent["learning"] == pytest.approx(54) and spent["checkpoints, endgame mistakes, metrics"] == pytest.approx(
        12
    )


def test_reports_that_cannot_be_made_are_one_line(runs, tmp_path, capsys):
    for given in ([str(tmp_path)], [str(tmp_path / "no")], [str(runs / "w16-s1"), "--out", str(tmp_path)]):
        assert main(["report", *given]) == 2
        assert capsys.readouterr().err.count("\n") == 1
