"""Configuration: every key can be overridden, every slip is refused in one sentence that names the nearest key."""

import dataclasses
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

from damas_env.presets import RULE_SETS
from damas_rl import compose
from damas_rl.config import RunConfig, of_older_versions
from damas_rl.strict import ConfigError, attribute_docs, build, keys_of, quote

ROOT = Path(__file__).parents[1]


def leaves(section, prefix=""):
    """(dotted key, value) of every leaf of a dataclass tree."""
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", value


TINY = compose.load(["experiment=tiny"])

# Where a key's type tells nothing of other possible values.
OTHER = {
    "network.kind": "resconv",
    "search.kind": "puct",
    "arena.tablebase": 4,
    "arena.ladder": ("random",),
    "arena.random_plies": 4,
    "rules.name": "russian",
}


def kind_of(key):
    """The annotated type of a key."""
    kind = RunConfig
    for name in key.split("."):
        kind = get_type_hints(kind)[name]
    return kind


NEEDS = {"search.forced_playouts": ["search.kind=puct"]}
"""Keys that mean something only beside others."""


def other(key, value):
    """Another possible value for a key."""
    if key in OTHER:
        return OTHER[key]
    kind = kind_of(key)
    if get_origin(kind) is Literal:
        return next(choice for choice in get_args(kind) if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    for candidate in (value * 2, value + 1, value / 2, value // 2, 1):
        candidate = type(value)(candidate)
        if candidate != value:
            try:
                compose.override(TINY, [*NEEDS.get(key, ()), f"{key}={candidate}"])
            except ConfigError:
                continue
            return candidate
    raise AssertionError(f"no other value found for {key}={value}")


def test_each_key_can_be_overridden():
    changes = {key: other(key, value) for key, value in leaves(TINY)}
    words = {
        key: f"{key}={list(new) if isinstance(new, tuple) else new}".replace(" ", "") for key, new in changes.items()
    }
    for key, word in words.items():
        start = compose.override(TINY, NEEDS.get(key, ()))
        config = compose.override(start, [word])
        changed = {name: new for (name, new), (_, old) in zip(leaves(config), leaves(start), strict=True) if new != old}
        assert changed == {key: changes[key]}
    composed = compose.load(["experiment=tiny", *words.values()])
    assert dict(leaves(composed)) == changes


@pytest.mark.parametrize(
    ("group", "option"), [(group, option) for group, options in compose.groups().items() for option in options]
)
def test_every_file_composes(group, option):
    config = compose.load([f"{group}={option}"])
    assert isinstance(config, RunConfig)


def test_every_rule_set_has_a_file():
    assert set(compose.groups()["rules"]) == set(RULE_SETS)
    for name in RULE_SETS:
        assert compose.load([f"rules={name}"]).rules.name == name


def test_every_key_is_described():
    assert not [key for key in keys_of(RunConfig) if key.count(".") == 0 and key not in attribute_docs(RunConfig)
                and not dataclasses.is_dataclass(getattr(TINY, key))]  # fmt: skip
    for section in (getattr(TINY, field.name) for field in dataclasses.fields(RunConfig)):
        if dataclasses.is_dataclass(section):
            undescribed = {field.name for field in dataclasses.fields(section)} - set(attribute_docs(type(section)))
            assert not undescribed, type(section)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["seeed=3"], ["seeed", "'seed'"]),
        (["minuts=3"], ["minuts", "'minutes'"]),
        (["network.widht=3"], ["network.widht", "'network.width'"]),
        (["widht=3"], ["widht", "'network.width'"]),
        (["selfplay.game=3"], ["selfplay.game", "'selfplay.games'"]),
        (["expriment=quick"], ["expriment", "'experiment'"]),
        (["resum=x"], ["resum", "'resume'"]),
        (["experiment=quik"], ["experiment=quick"]),
        (["network=huge"], ["network=", "small"]),
        (["experiment=[quick,tiny]"], ["experiment"]),
        (["experiment="], ["experiment"]),
        (["seed=abc"], ["seed", "whole number", "'abc'"]),
        (["seed=1.5"], ["seed", "whole number"]),
        (["seed=true"], ["seed", "whole number"]),
        (["seed=null"], ["seed", "whole number"]),
        (["seed=-1"], ["seed=-1"]),
        (["seed=1,2"], ["seed=1,2"]),
        (["minutes=nan"], ["minutes"]),
        (["minutes=inf"], ["minutes"]),
        (["minutes=0", "iterations=0"], ["minutes", "iterations"]),
        (["minutes=[1]"], ["minutes"]),
        (["device=gpu"], ["device", "cuda"]),
        (["name=a/b"], ["name"]),
        (["arena.tablebase=1"], ["arena.tablebase=1"]),
        (["search.forced_playouts=2"], ["search.forced_playouts", "search=puct"]),
        (["network.width={a:1}"], ["network.width"]),
        (["network=3"], ["network="]),
        (["trainer=3"], ["trainer"]),
        (["trainer={widht:3}"], ["trainer", "section"]),
        (["search.kind=alphabeta"], ["search.kind", "puct"]),
        (["selfplay.games=-3"], ["selfplay.games"]),
        (["selfplay.games=7", "selfplay.groups=2"], ["selfplay.games", "selfplay.groups"]),
        (["rules.name=checkrs"], ["checkrs"]),
        (["+seed=3"], ["+seed=3"]),
        (["++trainer.new=3"], ["++trainer.new=3"]),
        (["~seed"], ["~seed"]),
        (["seed"], ["seed", "key=value"]),
        (["seed==3"], ["seed==3"]),
        (["name=[a"], ["name=[a"]),
        (["name=${nothing}"], ["nothing"]),
        (["--multirun"], ["--multirun"]),
        (["-m"], ["-m"]),
        ([""], ["key=value"]),
        (["=3"], ["=3"]),
    ],
)
def test_slips_are_refused_in_one_sentence(words, expected):
    with pytest.raises(ConfigError) as caught:
        compose.load(words)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400
    for part in expected:
        assert part in message, message


@pytest.mark.parametrize(
    "name",
    ["ção", "~x", "a&b", "#1", "a;b", "a=b", "it's", 'a"b', "'abc", '"abc', "(a)", "2026", "a,b", "１", "<&>", "a\nb"],
)
def test_awkward_texts_are_refused_with_the_word_to_type(name):
    with pytest.raises(ConfigError) as caught:
        compose.load(["experiment=tiny", f"name={name}"])
    message = " ".join(str(caught.value).split())
    assert "name" in message and len(message) < 200
    assert not any(jargon in message for jargon in ("token", "http", "EOF", "input"))
    wanted = name.strip("'\"")  # a quote without a partner was meant to be none
    (word,) = shlex.split(quote("name", wanted))
    assert " ".join(quote("name", wanted).split()) in message
    if "\n" not in name:  # a line break cannot be part of the name of a folder
        assert compose.load(["experiment=tiny", word]).name == wanted


@pytest.mark.parametrize("text", ["a'b", 'a"b', "\\", 'x\\"', "a\\b", "\\\\", "ç ~ 'x' \"y\"", "a\tb", "1", "null", ""])
def test_quoted_words_mean_what_they_quote(text):
    (word,) = shlex.split(quote("run_dir", text))
    assert compose.load(["experiment=tiny", word]).run_dir == text
    assert compose.override(TINY, [word]).run_dir == text


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("arena.ladder=[random", 'write a list like \'arena.ladder=["one","two"]\''),
        ("arena.ladder=[alphabeta:depth=2]", "each text in quotes"),
        ("sèed=3", "Unknown key 'sèed'; the nearest one is 'seed'"),
        (" seed=3", "Unknown key ' seed'"),
        ("seed", "Cannot read 'seed': write key=value"),
        ("", "Cannot read '': write key=value"),
        ("seed=" + 5000 * "9", "too many digits"),
        ("seed=" + 4000 * "9", "seed must be a whole number of usual size, not 9999"),
        ("minutes=" + 400 * "9", "minutes must be a number of usual size, not 9999"),
        ("minutes=1e999", "minutes must be a finite number"),
        ("seed=１", "Cannot read 'seed=１'"),
        ("seed=${", "Cannot read"),
        ("seed=int(a)", "Cannot read"),
        ("experiment=~", "Cannot read 'experiment=~'"),
        ("experiment=null", "There is no experiment=None"),
    ],
)
def test_unreadable_overrides_are_named(word, expected):
    with pytest.raises(ConfigError) as caught:
        compose.load([word])
    message = str(caught.value)
    assert expected in message and "\n" not in message and len(message) < 300
    with pytest.raises(ConfigError):
        compose.override(TINY, [word])


def test_a_wrong_key_in_a_file_names_the_file(tmp_path):
    folder = tmp_path / "configs"
    shutil.copytree(compose.CONFIGS, folder)
    with open(folder / "search" / "gumbel.yaml", "a") as file:
        file.write("\nconsiderd: 3\n")
    with pytest.raises(ConfigError, match=r"'search.considerd'.*'search.considered'.*configs/search/gumbel.yaml"):
        compose.load(["search=gumbel"], folder)
    (folder / "experiment" / "tiny.yaml").write_text("# @package _global_\nminutes: soon\n")
    with pytest.raises(ConfigError, match=r"minutes must be a number.*configs/experiment/tiny.yaml"):
        compose.load(["experiment=tiny"], folder)
    (folder / "experiment" / "tiny.yaml").write_text("minutes: [1\n")
    with pytest.raises(ConfigError, match=r"tiny\.yaml"):
        compose.load(["experiment=tiny"], folder)


def test_build_needs_every_key_without_default():
    @dataclasses.dataclass
    class Needy:
        given: int
        optional: int | None = None

    assert build(Needy, {"given": 1, "optional": None}) == Needy(1)
    with pytest.raises(ConfigError, match="given is missing"):
        build(Needy, {})


def run_train(*words):
    return subprocess.run([sys.executable, ROOT / "train.py", *words], capture_output=True, text=True, cwd=ROOT)


def test_command_line():
    refused = run_train("learner.batch_sze=3")
    assert refused.returncode == 2 and refused.stdout == ""
    assert refused.stderr.count("\n") == 1 and "'learner.batch_size'" in refused.stderr
    helped = run_train("--help", "experiment=tiny", "seed=77")
    assert helped.returncode == 0 and helped.stderr == ""
    assert "seed=77" in helped.stdout and "resume=" in helped.stdout
    for key, _ in leaves(TINY):
        assert f"{key}=" in helped.stdout


def test_a_file_with_an_impossible_value_is_named(tmp_path):
    folder = tmp_path / "configs"
    shutil.copytree(compose.CONFIGS, folder)
    for text, message in (
        ("arena: {games: 0}", "arena.games=0: choose a value from 2 to 1048576. (set in configs/experiment/mine.yaml)"),
        ("arena: {ladder: [me]}", "arena.ladder: Unknown player 'me'"),
        ("arena: {games: two}", "arena.games must be a whole number"),
    ):
        (folder / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{text}\n")
        with pytest.raises(ConfigError) as refusal:
            compose.load(["experiment=mine", "learner.batch_size=8"], folder)
        assert str(refusal.value).startswith(message)
        assert str(refusal.value).endswith("(set in configs/experiment/mine.yaml)")
    with pytest.raises(ConfigError) as refusal:
        compose.load(["experiment=mine", "arena.games=3"], folder)
    assert "set in" not in str(refusal.value)


def test_a_file_is_not_blamed_for_what_was_typed():
    with pytest.raises(ConfigError) as refusal:
        compose.load(["minutes=abc"])
    assert "minutes must be a number" in str(refusal.value) and "set in" not in str(refusal.value)


def test_an_older_run_with_a_constant_rate_goes_on():
    saved = dataclasses.asdict(TINY)
    gone = {"schedule": "constant", "total_steps": 10_000, "final_rate": 0.05}
    older = {**saved, "learner": saved["learner"] | gone}
    assert build(RunConfig, of_older_versions(older)) == TINY
    assert build(RunConfig, of_older_versions(saved)) == TINY
    older["learner"]["schedule"] = "cosine"
    with pytest.raises(ConfigError, match=r"learner\.schedule"):
        build(RunConfig, of_older_versions(older))


def test_the_arena_of_an_older_run_keeps_its_random_openings():
    """Their configurations name six random plies; new ones leave the openings to the rules."""
    assert compose.load([]).arena.random_plies is None
    saved = dataclasses.asdict(TINY)
    saved["arena"]["random_plies"] = 6
    older = build(RunConfig, saved)
    assert older.arena.random_plies == 6
    assert compose.override(older, ["arena.random_plies=null"]).arena.random_plies is None
    with pytest.raises(ConfigError, match=r"arena\.random_plies=101"):
        compose.load(["arena.random_plies=101"])
    assert "arena.random_plies=null" in compose.describe(TINY)
