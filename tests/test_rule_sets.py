"""The named rule sets say what their sources say, and the explanations say what the fields say."""

import dataclasses
import json
import re

import pytest

from damas_env.draw_laws import DrawLaw
from damas_env.presets import DEFAULT_RULES, RULE_SETS
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Termination
from damas_rl.cli.app import main
from damas_rl.rule_phrases import LANGUAGES, PHRASES
from damas_rl.rule_texts import explain, titles_of

BRAZILIAN = (
    "cbd", "dogames", "damasite", "damasite-16", "ttakji", "damas-brasileiro", "regras-oficiais", "lidraughts",
    "fmjd64",
)  # fmt: skip

# (8x8, men a side, men capture backward, kings fly, majority, promotion, first, mirrored) as the sources' tables say.
GAMES = {
    **{name: (8, 12, True, True, "quantity", "end", "white", False) for name in BRAZILIAN},
    "american": (8, 12, False, False, "none", "stop", "black", False),
    "russian": (8, 12, True, True, "none", "continue", "white", False),
    "pool": (8, 12, True, True, "none", "end", "black", False),
    "spanish": (8, 12, False, True, "quantity_kings", "stop", "white", True),
    "portuguese": (8, 12, False, True, "quantity_kings", "stop", "white", True),
    "international": (10, 20, True, True, "quantity", "end", "white", False),
    "thai": (8, 8, False, True, "none", "stop", "black", False),
    "filipino": (8, 12, True, True, "quantity", "end", "white", True),
}

# (occurrences, longest game, it is a draw, by agreement, number of laws)
ENDS = {
    "cbd": (3, 0, False, True, 3),
    "dogames": (3, 0, False, False, 3),
    "damasite": (3, 0, False, False, 1),
    "damasite-16": (3, 0, False, False, 2),
    "ttakji": (3, 400, True, True, 1),
    "damas-brasileiro": (0, 300, False, False, 0),
    "regras-oficiais": (0, 0, False, False, 2),
    "lidraughts": (3, 0, False, True, 7),
    "fmjd64": (3, 0, False, True, 6),
    "american": (3, 0, False, True, 1),
    "russian": (3, 0, False, True, 6),
    "pool": (3, 400, False, True, 1),
    "spanish": (3, 0, False, True, 2),
    "portuguese": (3, 0, False, True, 2),
    "international": (3, 0, False, True, 3),
    "thai": (3, 300, False, True, 0),
    "filipino": (3, 0, False, False, 1),
}
GAME_TYPES = {
    "american": 21, "pool": 23, "spanish": 24, "russian": 25, "portuguese": 28, "international": 20, "thai": 31,
    "filipino": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", list(RULE_SETS))
def test_fields(name: str) -> None:
    rules = get_rules(name)
    assert GAMES[name] == (
        rules.size, rules.men, rules.men_capture_backward, rules.flying_kings, rules.majority, rules.promotion,
        rules.first, rules.mirrored,
    )  # fmt: skip
    assert ENDS[name] == (
        rules.repetition, rules.ply_cap, rules.ply_cap_draws, rules.draw_by_agreement, len(rules.draw_laws),
    )  # fmt: skip
    assert rules.men_capture_kings
    assert (rules.king_lands_adjacent, rules.remove_at_end) == ((True, False) if name == "thai" else (False, True))
    assert rules.game_type == GAME_TYPES.get(name, 26)


def test_names() -> None:
    assert DEFAULT_RULES == "cbd" and set(RULE_SETS) == set(GAMES) == set(ENDS)
    assert len({rules.title for rules in RULE_SETS.values()}) == len(RULE_SETS)
    assert get_rules("international").num_actions == 3524 and get_rules("russian").num_actions == 1152


@pytest.mark.parametrize("value", ["rusian", "", "nothing like it", 3, None, ["cbd"], b"cbd"])
def test_unknown_rule_sets(value: object) -> None:
    with pytest.raises(ValueError, match=r"Choose from: cbd, dogames.*; or give a YAML file") as caught:
        get_rules(value)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert ("Did you mean 'russian'" in str(caught.value)) == (value == "rusian")


# Explanations ---------------------------------------------------------------------------------------------


def text_of(rules: RuleSet, language: str) -> str:
    return "\n".join(sentence for section in explain(rules, language) for sentence in section.sentences)


def test_both_languages_have_the_same_phrases() -> None:
    for key, (phrase, other) in PHRASES.items():
        assert type(phrase) is type(other)
        one, two = (phrase, other) if isinstance(phrase, tuple) else ((phrase,), (other,))
        for mine, yours in zip(one, two, strict=True):
            assert set(re.findall(r"{\w+}", mine)) == set(re.findall(r"{\w+}", yours)), key


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", list(RULE_SETS))
def test_explanations_are_sentences(name: str, language: str) -> None:
    for heading, sentences in explain(get_rules(name), language):
        assert heading and sentences
        for sentence in sentences:
            assert re.fullmatch(r"[A-ZÀ-Ú].*[^ ]\.", sentence) and "  " not in sentence and "{" not in sentence


def test_titles_for_people_are_short_and_all_different() -> None:
    titles = [titles_of(rules) for rules in RULE_SETS.values()]
    for language in LANGUAGES:
        told = {title[language] for title in titles}
        assert len(told) == len(RULE_SETS) and max(map(len, told)) <= 70
    assert titles_of(get_rules("cbd")) == {"en": "Brazilian draughts (CBD)", "pt": "Damas brasileiras (CBD)"}
    own = dataclasses.replace(get_rules("cbd"), name="own", title="My game")
    assert titles_of(own) == {"en": "My game", "pt": "My game"}


def test_portuguese_has_one_word_for_capturing() -> None:
    for rules in RULE_SETS.values():
        words = [heading for heading, _ in explain(rules, "pt")]
        assert not re.findall(r"\btoma\w*", f"{words} {text_of(rules, 'pt')}", re.IGNORECASE)


def test_what_is_said() -> None:
    english, portuguese = text_of(get_rules("cbd"), "en"), text_of(get_rules("cbd"), "pt")
    for said in ("White moves first", "occurs for the third time",
                 "20 moves of each side without a capture or a man's move",
                 "after 5 moves of each side with 2 kings against 2 kings",
                 "2 kings against 1 king and 1 man"):  # fmt: skip
        assert said in english
    for said in ("as brancas jogam primeiro", "pela terceira vez", "20 lances de cada lado sem captura nem movimento",
                 "5 lances de cada lado com 2 damas contra 2 damas", "2 damas contra 1 dama e 1 pedra"):  # fmt: skip
        assert said in portuguese
    for text, begins in ((english, "The move that brings the condition about is not counted."),
                         (portuguese, "O lance que cria a condição não é contado.")):  # fmt: skip
        assert text.count(begins) == 1  # of the endings; the king moves are counted everywhere
    assert "A game of 400 plies is a draw" in text_of(get_rules("ttakji"), "en")
    assert "After 300 plies the game is stopped without a result" in text_of(get_rules("damas-brasileiro"), "en")
    assert "3 or more kings against 1 king" in text_of(get_rules("fmjd64"), "en")
    assert "8 or more pieces on the board" in text_of(get_rules("lidraughts"), "en")
    assert "6 a 7 peças no tabuleiro" in text_of(get_rules("russian"), "pt")


LAW = DrawLaw(31, "mine", Termination.ENDING, ("3K-1K",))
BASE = dataclasses.replace(get_rules("cbd"), draw_laws=(LAW,), ply_cap=50, game_type=0)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "change",
    [
        {"size": 10}, {"men_rows": 2}, {"mirrored": True}, {"square_one": "bottom_right"}, {"first": "black"},
        {"men_capture_backward": False, "promotion": "stop"}, {"men_capture_kings": False}, {"flying_kings": False},
        {"king_lands_adjacent": True}, {"remove_at_end": False}, {"majority": "none"}, {"majority": "quantity_kings"},
        {"promotion": "stop"}, {"promotion": "continue"}, {"repetition": 0}, {"repetition": 4}, {"ply_cap": 0},
        {"ply_cap": 51}, {"ply_cap_draws": True}, {"notation": "numeric"}, {"game_type": 26},
        {"draw_by_agreement": False}, {"draw_laws": ()},
    ],
)  # fmt: skip
def test_every_field_is_explained(change: dict, language: str) -> None:
    assert text_of(dataclasses.replace(BASE, **change), language) != text_of(BASE, language)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "change",
    [
        {"plies": 32}, {"material": ()}, {"material": ("3+K-1K",)}, {"material": ("3K-1K", "1K-1K")},
        {"lone_king_on_main_diagonal": True}, {"resets": ("capture",)}, {"resets": ("man_move",)},
        {"resets": ("crowning",)}, {"resets": ("change",)}, {"pieces": (4, 4)}, {"pieces": (3, 4)}, {"pieces": (2, 4)},
        {"pieces": (4, 24)}, {"both_have_kings": True}, {"pauses": True},
    ],
)  # fmt: skip
def test_every_field_of_a_law_is_explained(change: dict, language: str) -> None:
    changed = dataclasses.replace(BASE, draw_laws=(dataclasses.replace(LAW, **change),))
    assert text_of(changed, language) != text_of(BASE, language)


# The command ----------------------------------------------------------------------------------------------


def test_the_command_explains(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    assert main(["rules", "russian", "--lang", "pt"]) == 0
    assert "vira dama na hora" in " ".join(capsys.readouterr().out.split())
    assert main(["rules", "russian", "--yaml"]) == 0
    path = tmp_path / "mine.yaml"
    path.write_text(capsys.readouterr().out.replace("name: russian", "name: mine"), encoding="utf-8")
    assert main(["rules", str(path), "--json", "--lang", "pt"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["name"] == "mine" and document["draw_laws"][1]["material"] == ["3+K-1K"]
    assert document["num_actions"] == 1152 and document["explanation"][0]["heading"] == "Tabuleiro"
    assert main(["moves", "--rules", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"] == "mine"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rusian"], "Did you mean 'russian'"), (["none.yaml"], "There is no file of rules"),
        (["--yaml"], "need a rule set"), (["--lang", "pt"], "need a rule set"),
        (["cbd", "--lang", "fr"], "invalid choice"),
        (["cbd", "--json", "--yaml"], "not allowed with"),
    ],
)  # fmt: skip
def test_the_command_refuses(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    assert main(["rules", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and message in captured.err
