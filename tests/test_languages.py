"""What server and terminal say in Portuguese: every sentence is known, and no part of it is lost."""

import ast
import re
from pathlib import Path

import pytest

from damas_env import game, notation
from damas_rl.play import clocks, draw_offers, printed, table, terminal, web
from damas_rl.play.languages import SENTENCES, language_of, said_in

FOLDERS = {"web": Path(web.__file__).parent, "notation": Path(notation.__file__).parent}
SOURCES = [
    *(path for path in sorted(FOLDERS["web"].glob("*.py")) if path.name != "store.py"),
    *(FOLDERS["notation"] / f"{name}.py" for name in ("fen", "moves", "squares", "pdn", "pdn_text")),
    *(Path(module.__file__) for module in (clocks, draw_offers, table, terminal, printed, game)),
]
PART = re.compile("(<.*?>)+")


def sentences_of(path):
    """The texts that a module raises, or that end like a sentence and are no docstrings; their parts as <>."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    told = set()
    for node in nodes:
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_fail"):
            told |= {id(part) for part in ast.walk(node)}
    passed = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    passed |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(part.value if isinstance(part, ast.Constant) else "<>" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        if id(node) not in passed and re.search("[a-z] ", text) and (text.endswith(".") or id(node) in told):
            yield PART.sub("<>", text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_every_sentence_is_known(path):
    known = {PART.sub("<>", sentence) for sentence in SENTENCES}
    assembled = {"<> is illegal in <>: <>", "no move to take back"}  # the parts are known; never comes to the page
    assert not set(sentences_of(path)) - known - assembled


def test_the_sources_are_read():
    found = {path.stem: len(set(sentences_of(path))) for path in SOURCES}
    assert found["fen"] >= 12
    assert found["requests"] >= 10
    assert found["rooms"] >= 8
    assert found["pdn_text"] == 4


def test_translations_have_the_same_parts():
    for english, portuguese in SENTENCES.items():
        parts = re.findall("<.*?>", english)
        assert sorted(parts) == sorted(re.findall("<.*?>", portuguese)), english
        assert len(set(parts)) == len(parts), english
        assert english.endswith(".") == portuguese.endswith("."), english


def test_parts_come_through():
    for english, portuguese in (
        ("It is not your turn.", "Não é a sua vez."),
        ("FEN 'W:W99:B1': square 99 is not on the board: squares run from 1 to 32",
         "FEN 'W:W99:B1': a casa 99 não está no tabuleiro: as casas vão de 1 a 32"),
        ("FEN 'W:W1' does not list Black's pieces: write ':B' if it has none",
         "a FEN 'W:W1' não lista as peças das Pretas: escreva ':B' se não houver nenhuma"),
        ("Line 3: move 'c3-c4' is illegal in W:W22:B1 (capturing is compulsory); legal: c3-d4",
         "Linha 3: o lance 'c3-c4' é ilegal em W:W22:B1 (a captura é obrigatória); legais: c3-d4"),
        ("FEN '<number>' puts two pieces on square 3 (f8)", "a FEN '<number>' põe duas peças na casa 3 (f8)"),
    ):  # fmt: skip
        assert said_in("pt-BR", english) == portuguese
        assert said_in("en", english) == english
    assert said_in("pt-BR", "Something new.") == "Something new."


def test_the_first_known_language_counts():
    for accepted, language in (
        ("pt-BR", "pt-BR"), ("pt", "pt-BR"), ("PT-PT;q=0.9, en", "pt-BR"), ("en-US,en;q=0.9,pt;q=0.8", "en"),
        ("de,pt;q=0.5", "pt-BR"), ("de", "en"), ("", "en"), ("*", "en"), (";,,\x00", "en"),
    ):  # fmt: skip
        assert language_of(accepted) == language
