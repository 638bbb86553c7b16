"""The blocks of code in the READMEs and in docs/ are run, with small numbers where the page has large ones.

Commands run in this process, in the order of the page, in a folder that holds a trained run and a file of games. What
``train.py`` is told is checked as far as the first iteration. A block that cannot be run says so, with its reason, in
the comment ``<!-- not run: REASON -->`` on the line above it; lines that are tried elsewhere are listed below. Of
commands of ``scripts/``, ``benchmarks/`` and ``examples/`` only the options are looked up in the script.
"""

import glob
import io
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from damas_env.rule_files import from_yaml
from damas_rl import cli, launch
from damas_rl.cli.app import build_parser

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]  # README.pt-BR.md has the same blocks: test_readme
BLOCK = re.compile(r"(?:^<!-- not run: (?P<reason>[^\n]*) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^(\$ )?(damas |python |pip |\./)", re.MULTILINE)

ELSEWHERE = {
    "./train.sh": "sets up an environment",
    "./test.sh": "these are the tests",
    "pip": "downloads packages",
    "python -m venv": "downloads packages",
    "ray": "starts and stops machines of a cluster: test_cluster_ray.py has one of its own",
    "mkdocs": "waits for a browser: test_site.py",
    "tensorboard": "a program of its own",
    "damas web": "waits for a browser: test_web.py, test_web_page.py",
    "damas dxp": "waits for another program: test_dxp.py",
    "damas play --watch": "plays until somebody ends it: test_play.py",
}
"""What begins lines that are not run, and why; the options of ``damas`` are looked at all the same."""

SMALL = {r"\bms=\d+": "ms=5", r"\bsims=\d+": "sims=4", r"\bnodes=\d+": "nodes=300", r"\bdepth=\d+": "depth=2",
         r"\bgames=\d+": "games=2"}  # fmt: skip
"""Numbers in the specs of players."""

APPENDED = {
    "match": ["--games", "2"],
    "perft": ["--depth", "4"],
    "analyse": ["--player", "alphabeta:depth=2"],
}
"""Options that take the place of those of a ``damas`` command; analysis keeps a player that the page names."""


class Block(NamedTuple):
    page: Path
    line: int
    kind: str
    text: str
    reason: str | None


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start("text")), match["kind"], match["text"], match["reason"])
        for match in BLOCK.finditer(text)
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def those(kind: str) -> pytest.MarkDecorator:
    found = [block for block in BLOCKS if block.kind == kind]
    return pytest.mark.parametrize("block", found, ids=[f"{block.page.name}:{block.line}" for block in found])


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds what the pages speak of: runs/latest, games.pdn, examples."""
    folder = tmp_path_factory.mktemp("workshop")
    assert launch.main(["experiment=tiny", "iterations=1", f"runs_dir={folder / 'runs'}"]) == 0
    assert (folder / "runs" / "latest").exists()
    (folder / "examples").symlink_to(ROOT / "examples")  # not a copy: test_extending.py imports them too
    assert cli.main(["match", "random", "random", "--games", "2", "--pdn", str(folder / "games.pdn")]) == 0
    return folder


@pytest.fixture
def stand(workshop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The workshop as the current folder; training ends before its first iteration, people say "quit"."""
    trainer = SimpleNamespace(made_by={}, run=lambda: None)
    monkeypatch.setattr(launch, "Trainer", lambda *arguments: trainer)
    monkeypatch.setattr(sys, "stdin", io.StringIO("quit\n" * 10))
    monkeypatch.delenv("DAMAS_PLUGINS", raising=False)
    monkeypatch.chdir(workshop)
    return tmp_path


@those("sh")
def test_commands(block: Block, stand: Path, monkeypatch, capsys) -> None:
    if block.reason:
        pytest.skip(block.reason)
    if "cluster" in block.text:
        pytest.importorskip("ray")
    passed_over = []
    lines = [line for line in block.text.replace("\\\n", " ").splitlines() if line.split("#")[0].strip()]
    for line in lines:
        reason = next((why for start, why in ELSEWHERE.items() if line.startswith(start)), None)
        words = shlex.split(line, comments=True)
        if words[0] == "damas":
            words = [found for word in words for found in (sorted(glob.glob(word)) if "*" in word else [word])]
            build_parser().parse_args(words[1 : words.index(">") if ">" in words else None])
        if reason:
            passed_over.append(reason)
        elif words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
        elif words[0] == "damas":
            run_damas(words[1:], line, capsys)
        elif words[:2] == ["python", "train.py"]:
            resumes = any(word.startswith("resume=") for word in words)
            own = [] if resumes or "--help" in words else [f"runs_dir={stand}"]  # runs/latest stays the trained run
            assert launch.main([*words[2:], *own]) == 0, f"{line}: {capsys.readouterr().err}"
        elif words[0] == "python":
            passed_over.append(f"{words[1]} takes longer than a test")
            script = (ROOT / words[1]).read_text()
            for option in words[2:]:
                assert not option.startswith("--") or f'"{option}"' in script, f"{line}: no {option} in {words[1]}"
        else:
            pytest.fail(f"{line}: nobody says how to try this")
    if len(passed_over) == len(lines):
        pytest.skip("; ".join(dict.fromkeys(passed_over)))


def run_damas(words: list[str], line: str, capsys) -> None:
    """Runs ``damas`` with small numbers; ``> FILE`` at the end takes what it prints."""
    file = Path(words[-1]) if ">" in words else None
    words = words[: words.index(">")] if file else words
    for pattern, number in SMALL.items():
        words = [re.sub(pattern, number, word) for word in words]
    if words[0] != "analyse" or "--player" not in words:
        words += next((options for start, options in APPENDED.items() if line.startswith(f"damas {start}")), [])
    capsys.readouterr()
    status = cli.main(words)
    said = capsys.readouterr()
    assert status == 0, f"{line}: {said.err}"
    if file:
        file.write_text(said.out, encoding="utf-8")


@those("python")
def test_python(block: Block, stand: Path) -> None:
    if block.reason:
        pytest.skip(block.reason)
    first, _, rest = block.text.partition("\n")
    if first.startswith("# examples/"):  # test_extending.py runs these
        assert rest.strip() in (ROOT / first[2:]).read_text(encoding="utf-8"), f"the page shows another {first[2:]}"
    else:
        exec(compile(block.text, f"{block.page.name}:{block.line}", "exec"), {"__name__": "__main__"})


@those("yaml")
def test_rules_as_yaml(block: Block) -> None:
    rules = from_yaml(block.text)
    assert rules == from_yaml((ROOT / "examples" / "own_rules.yaml").read_text(encoding="utf-8"))


def test_nothing_that_can_be_run_hides() -> None:
    for block in BLOCKS:
        assert block.kind in ("sh", "python", "yaml", "", "text"), f"{block.page.name}:{block.line}: {block.kind}?"
        if block.kind in ("", "text"):
            command = COMMAND.search(block.text)
            assert not command, f"{block.page.name}:{block.line} holds commands: mark it as sh"
    fences = sum(page.read_text(encoding="utf-8").count("\n```") for page in PAGES)
    assert fences == 2 * len(BLOCKS)


LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)|src=\"(?!https?:)([^\"]*)\"")
TEXTS = [*PAGES, *(ROOT / name for name in ("README.pt-BR.md", "CHANGELOG.md"))]


def anchors_of(page: Path) -> set[str]:
    """What links within a page can name: its headings, as GitHub and MkDocs write them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS, ids=[str(page.relative_to(ROOT)) for page in TEXTS])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for file, anchor, picture in LINK.findall(text):
        target = page.parent / (file or picture) if file or picture else page
        assert target.exists(), f"{target} is not there"
        assert not anchor or anchor in anchors_of(target), f"{target} has no heading for #{anchor}"
