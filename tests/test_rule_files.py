"""Rule sets as YAML: round trips, files in place of names, and refusals in one sentence."""

import dataclasses
import random
from pathlib import Path

import gymnasium
import pytest
import yaml

from damas_env.draw_laws import DrawLaw
from damas_env.game import Game
from damas_env.presets import RULE_SETS
from damas_env.rule_files import LARGEST_FILE, from_yaml, to_yaml
from damas_env.rules import RuleSet, get_rules
from damas_env.termination import Termination
from mutations import check_rules, mutated_rules

CBD = get_rules("cbd")
OWN = dataclasses.replace(get_rules("russian"), name="own", title="Minhas damas: 'é assim'", ply_cap=99)
LAW = {"plies": 10, "counter": "mine", "termination": "ENDING"}


def write(path: Path, rules: RuleSet) -> str:
    path.write_text(to_yaml(rules), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("rules", [*RULE_SETS.values(), OWN], ids=lambda rules: rules.name)
def test_round_trip(rules: RuleSet) -> None:
    text = to_yaml(rules)
    assert from_yaml(text) == rules and to_yaml(from_yaml(text)) == text
    assert set(yaml.safe_load(text)) == {key.name for key in dataclasses.fields(RuleSet)}


@pytest.mark.parametrize("plies", [4, 5])  # the numbers of the terminations of draw laws
def test_round_trip_of_small_numbers(plies: int) -> None:
    law = DrawLaw(plies, "mine", Termination.ENDING, pieces=(4, 5))
    rules = dataclasses.replace(OWN, draw_laws=(law,), ply_cap=plies, repetition=plies)
    assert from_yaml(to_yaml(rules)) == rules


def test_a_short_file_is_brazilian_movement() -> None:
    rules = from_yaml("name: short\ntitle: Nothing but movement")
    assert rules.spec.flags == CBD.spec.flags and rules.draw_laws == () and rules.game_type == 0


@pytest.mark.parametrize("suffix", [".yaml", ".YML"])
def test_a_file_in_place_of_a_name(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"mine{suffix}", OWN)
    assert get_rules(path) == OWN == get_rules(Path(path))
    assert Game(path).rules == OWN
    environment = gymnasium.make("damas_env/Damas-v0", rules=path)
    assert environment.unwrapped.rules == OWN
    environment.reset(seed=0)


def test_a_file_of_a_named_rule_set(tmp_path: Path) -> None:
    assert get_rules(write(tmp_path / "a.yaml", CBD)) is CBD
    with pytest.raises(ValueError, match=r"calls itself 'cbd', which means another rule set"):
        get_rules(write(tmp_path / "b.yaml", dataclasses.replace(CBD, ply_cap=10)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a rule set is a mapping of fields to values, not None"),
        (b"- a\n", "is a mapping of fields"),
        (b"name: \xff", "not written in UTF-8"),
        (b"name: a\n" + b"#" * LARGEST_FILE, "too large"),
        (b"name: [", "no YAML of rules: .* in line 1"),
        (b"name: a\x00", "no YAML of rules"),
        (b"name: a\ntitle: b\nname: c\n", "'name' stands there twice in line 3"),
        (b"name: a\n---\nname: b\n", "another document"),
        (b"name: &n a\ntitle: *n\n", "references are not allowed in line 2"),
        (b"name: a\ntitle: [[[[[[[[[[]]]]]]]]]]", "nested too deeply"),
        (b"? [a]\n: b\n", "a key is no word"),
        (b"<<: {name: a}\n", "a key is no word"),
        (b"name: a\ntitle: !!python/name:os.system\n", "no YAML of rules"),
        (b"name: a\ntitle: b\nply_cap: 0x" + b"f" * 9999, "a number of thousands of digits"),
        (b"name: a\ntitle: b\nply_cap: " + b"9" * 9999, "no YAML of rules"),
    ],
)
def test_files_that_are_no_rules(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        get_rules(str(path))
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, "a\0.yaml"):
        with pytest.raises(ValueError, match=r"There is no file of rules|Unknown rule set|neither") as caught:
            get_rules(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sise": 8}, "has no field 'sise'; did you mean 'size'"),
        ({"zzz": 8}, "has no field 'zzz' .it has name, title, size"),
        ({3: 8}, "has no field 3"),
        ({"title": ...}, "needs the field 'title'"),
        ({"size": 9}, "size=9, choose from 6, 8, 10"),
        ({"size": "8"}, "size='8', but it must be a whole number"),
        ({"mirrored": 1}, "mirrored=1, but it must be True or False"),
        ({"ply_cap": True}, "ply_cap=True, but it must be a whole number"),
        ({"name": "a/b"}, "name is up to 64"),
        ({"name": "a.yaml"}, "name is up to 64"),
        ({"title": "a\nb"}, "title is one line"),
        ({"game_type": 100}, "game_type=100, choose 0"),
        ({"flying_kings": False, "king_lands_adjacent": True}, "king_lands_adjacent needs flying_kings"),
        ({"ply_cap_draws": True}, "ply_cap_draws needs a ply_cap"),
        ({"men_capture_backward": False}, "promotion 'end' .* needs men_capture_backward"),
        ({"mirrored": True, "game_type": 26}, "game_type 26 is played on an unmirrored board of 8x8"),
        ({"game_type": 20}, "game_type 20 is played on an unmirrored board of 10x10"),
        ({"draw_laws": {}}, "draw_laws is a list of draw laws"),
        ({"draw_laws": ["3K-1K"]}, "draw law 1 is a mapping of fields"),
        ({"draw_laws": [{**LAW, "plie": 3}]}, "draw law 1 has no field 'plie'; did you mean 'plies'"),
        ({"draw_laws": [{"plies": 3, "counter": "a"}]}, "draw law 1 needs the field 'termination'"),
        ({"draw_laws": [LAW, {**LAW, "plies": 0}]}, "draw law 2: A draw law needs 1 to 30000 plies, not 0"),
        ({"draw_laws": [{**LAW, "counter": "My count"}]}, "counter is a name like"),
        ({"draw_laws": [{**LAW, "termination": "BLOCKED"}]}, "termination is one of NO_PROGRESS, ENDING"),
        ({"draw_laws": [{**LAW, "termination": ["ENDING"]}]}, "termination is one of"),
        ({"draw_laws": [{**LAW, "termination": 4}]}, "termination is one of NO_PROGRESS, ENDING, not 4"),
        ({"draw_laws": [{**LAW, "material": "1K-1K"}]}, "material is a list, such as .a, b., not '1K-1K'"),
        ({"draw_laws": [{**LAW, "material": ["1K"]}]}, "'1K' does not read like"),
        ({"draw_laws": [{**LAW, "material": ["1K-1K", "1K-1K"]}]}, "names something twice"),
        ({"draw_laws": [{**LAW, "material": ["13K-1K"]}]}, "more than 12 pieces of a side"),
        ({"draw_laws": [{**LAW, "resets": ["captures"]}]}, "Unknown reset 'captures'"),
        ({"draw_laws": [{**LAW, "pieces": [5, 4]}]}, "pieces are the fewest and the most"),
        ({"draw_laws": [{**LAW, "pieces": [4]}]}, "pieces=.4,., but it must be"),
        ({"draw_laws": [{**LAW, "material": ["3K-1K"], "pieces": [6, 7]}]}, "no position fulfils .* draw law 1"),
        ({"draw_laws": [{**LAW, "material": ["2M-1K"], "both_have_kings": True}]}, "no position fulfils"),
        ({"draw_laws": [{**LAW, "material": ["2K-2K"], "lone_king_on_main_diagonal": True}]}, "no position fulfils"),
        ({"draw_laws": [{**LAW, "pauses": True}]}, "pauses needs a condition"),
        ({"draw_laws": [{**LAW, "material": ["1K-1K"], "pauses": True, "resets": ["change"]}]}, "never pause"),
        ({"draw_laws": [LAW, {**LAW, "resets": ["capture"]}]}, "'mine' name different resets"),
        ({"draw_laws": [LAW, {**LAW, "material": ["1K-1K"], "pauses": True}]}, "some laws of counter 'mine' pause"),
        ({"draw_laws": [LAW, dict(LAW)]}, "stands there twice"),
        ({"draw_laws": [{**LAW, "plies": n} for n in range(1, 10)]}, "at most 8 draw laws"),
        ({"draw_laws": [{**LAW, "counter": f"c{n}"} for n in range(5)]}, "on 4 counters"),
    ],
)
def test_faults(change: dict, message: str) -> None:
    fields = {"name": "mine", "title": "Mine", **change}
    text = yaml.safe_dump({key: value for key, value in fields.items() if value is not ...})
    with pytest.raises(ValueError, match=message) as caught:
        from_yaml(text, "mine.yaml")
    assert str(caught.value).startswith("mine.yaml") and "\n" not in str(caught.value)


def test_damaged_rule_sets_are_refused_or_read_as_written() -> None:
    """A share of what benchmarks/mutations.py does."""
    rng = random.Random(1)
    damaged = [mutated_rules(rng) for _ in range(400)]
    accepted = sum(check_rules(text, must_fail) for text, must_fail in damaged)
    assert accepted > 10 and 100 < sum(must_fail for _, must_fail in damaged) < 300
