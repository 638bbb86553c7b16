"""The README in Portuguese says what the English one says: blocks, commands, figures, names and links agree."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGLISH, PORTUGUESE = ((ROOT / name).read_text() for name in ("README.md", "README.pt-BR.md"))

COMMENT = re.compile(r"(?:^|\s{2,})#.*$", re.MULTILINE)
CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"\]\(([^)]*)\)|src=\"([^\"]*)\" width=\"(\d+)\"")
FILE = re.compile(r"[\w.]+/[\w./-]*|\w+\.(?:py|ipynb)\b")
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
VERSION = re.compile(r"((?:Python |Apache-)\d+)\.(\d+)")  # the same in both languages
LANGUAGES = re.compile(r"\*?\*?\[?(English|Português)\b.*\b(English|Português)\b.*")


def blocks(text: str) -> list[str]:
    """Headings, paragraphs, list items, rows of tables, and fenced code, each by itself."""
    found: list[str] = []
    for number, part in enumerate(re.split(r"^(```.*?^```)$", text, flags=re.MULTILINE | re.DOTALL)):
        found += [part] if number % 2 else re.split(r"\n\s*\n|\n(?=[*|])", part)
    return [block.strip() for block in found if block.strip()]


def kind(block: str) -> str:
    fence = re.match(r"```\w*|#+ |\* |\||<p |\*\*", block)
    return fence.group() if fence else "text"


def figures(text: str, portuguese: bool) -> Counter[str]:
    """The numbers in a text, as English writes them."""
    swap = str.maketrans(".,", ",.") if portuguese else {}
    return Counter(figure.translate(swap) for figure in FIGURE.findall(VERSION.sub(r"\1 \2", text)))


def facts(block: str, portuguese: bool) -> dict[str, object]:
    """What two blocks that say the same have in common. Of code that is all but the words of its comments."""
    if block.startswith("```"):
        comments = "\n".join(COMMENT.findall(block))
        code = COMMENT.sub("", block) if block[3].isalpha() else sorted(FILE.findall(block))
        return {"code": code, "figures": figures(comments, portuguese), "names": sorted(FILE.findall(comments))}
    links = sorted(LINK.findall(block))
    text = LINK.sub("", block)
    return {
        "kind": kind(block),
        "links": links,
        "names": sorted(CODE.findall(text)),
        "figures": figures(CODE.sub("", text), portuguese),
        "columns": block.count("|"),
    }


def differences(english: str, portuguese: str) -> list[str]:
    """What the two do not share, in words."""
    first, second = (
        [block for block in blocks(text) if not LANGUAGES.fullmatch(block)] for text in (english, portuguese)
    )
    if [*map(kind, first)] != [*map(kind, second)]:
        return [f"{len(first)} blocks and {len(second)}: {Counter(map(kind, first))}, {Counter(map(kind, second))}"]
    return [
        f"{key}: {ours[key]} in {block!r}, {theirs[key]} in {other!r}"
        for block, other in zip(first, second, strict=True)
        for ours, theirs in [(facts(block, False), facts(other, True))]
        for key in ours
        if ours[key] != theirs[key]
    ]


def test_both_say_the_same() -> None:
    assert not differences(ENGLISH, PORTUGUESE)
    assert sum(block.startswith("#") for block in blocks(ENGLISH)) >= 5


def test_each_leads_to_the_other() -> None:
    assert "[Português](README.pt-BR.md)" in ENGLISH.split("\n\n")[1]
    assert "[English](README.md)" in PORTUGUESE.split("\n\n")[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("\n## The house\n", "\n### The house\n"),  # a heading of another rank
        ("\n## The house\n", "\n"),  # one that is missing
        ("| 97.5 % |", "| 97.6 % |"),  # a figure in a table
        ("| 119–77–4 |", "| 119–78–4 |"),
        ("15 minutes of\ntraining", "20 minutes of\ntraining"),  # in the text
        ("trains for 15 minutes", "trains for 16 minutes"),  # in a comment
        ("seed=7 minutes=60", "seed=8 minutes=60"),  # a command
        ("damas web   ", "damas net   "),
        ("agent_color=\"white\"", "agent_color=\"black\""),
        ("`Discrete(1152)`", "`Discrete(1153)`"),  # a name in the text
        ("](docs/rules.md)", "](docs/rule.md)"),  # a link
        ("(docs/web.md)", "(docs/play.md)"),  # one in a comment
        ("docs/curve.svg\" width=\"520\"", "docs/curve.svg\" width=\"400\""),
        ("\n* The tree search equals a plain Python reference node by node.", ""),
        ("configs/         Hydra", "config/         Hydra"),  # the list of folders
        ("Apache-2.0.", "Apache-2.0.\n\nMore."),
    ],
)  # fmt: skip
def test_a_change_to_one_alone_is_noticed(old: str, new: str) -> None:
    assert ENGLISH.count(old) >= 1
    assert differences(ENGLISH.replace(old, new, 1), PORTUGUESE)


def test_links_lead_somewhere() -> None:
    for text in (ENGLISH, PORTUGUESE):
        for target, source, _ in LINK.findall(text):
            assert (ROOT / (target or source).partition("#")[0]).exists(), target or source
