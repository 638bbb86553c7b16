"""Checkpoints of the right keys and the wrong content: refused in one sentence before anything is taken over."""

import copy
from io import StringIO

import numpy as np
import pytest
import torch
from rich.console import Console

from damas_env.board import GEOMETRY
from damas_env.game import Game
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl import compose, launch, saved
from damas_rl.checkpoint import load_newest, numbered, write_checkpoint
from damas_rl.progress import Progress, Status
from damas_rl.rundir import RunDirectory, RunError
from damas_rl.saved import SavedError, check_standing
from damas_rl.trainer import Trainer
from learning_cases import random_records
from search_cases import SHUFFLE
from test_checkpoint import same

MISSING, IN_PLACE = object(), object()
BITS = [1 << int(bit) for bit in GEOMETRY[8].bit_of_view]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a few iterations with games in progress, records and a measurement."""
    path = tmp_path_factory.mktemp("runs") / "run"
    assert launch.main(["experiment=tiny", "iterations=3", "selfplay.full_share=0.7", f"run_dir={path}"]) == 0
    return path


@pytest.fixture(scope="module")
def content(run):
    return load_newest(run / "checkpoints")[0]


@pytest.fixture(scope="module")
def trainer(run):
    """A trainer of the same configuration that has not begun."""
    config = compose.load(["experiment=tiny", "iterations=9", "selfplay.full_share=0.7"])
    return Trainer(config, RunDirectory(run), Progress(Status(), Console(file=StringIO())), False, None)


def state(trainer):
    parts = {name: getattr(trainer, name).state_dict() for name in ("learner", "selfplay", "replay")}
    return parts | {"sampling": trainer.sampling.bit_generator.state, "counts": vars(trainer.counts),
                    "ladder": trainer.ladder, "saved": trainer._saved_iteration}  # fmt: skip


def changed(content, path, change):
    """A copy of ``content`` in which ``change`` has replaced, or changed in place, what stands at ``path``."""
    content = copy.deepcopy(content)
    *outer, last = path
    owner = content
    for key in outer:
        owner = owner[key]
    result = change(owner[last])
    if result is MISSING:
        del owner[last]
    elif result is not IN_PLACE:
        owner[last] = result
    return content


def put(index, value):
    """Sets one element of an array or tensor."""

    def change(array):
        array[index] = value
        return IN_PLACE

    return change


def to(value):
    return lambda _: value


def without(_):
    return MISSING


GROUP = ("selfplay", "groups", 0)
ROWS = ("replay", "rows")
NET = ("learner", "net", "value.weight")
MOMENTS = ("learner", "optimizer", "state")

WRONG = [
    (("learner",), without, "part 'learner'"),
    (("learner",), to(5), "not a mapping"),
    (("learner", "steps"), to(-1), "steps is -1"),
    (("learner", "steps"), to(2.0), "steps is 2.0"),
    (("learner", "steps"), to(True), "steps is True"),
    (("learner", "steps"), to(0), "optimiser does not hold"),
    (NET, to(torch.zeros(3)), "net.value.weight is torch.float32"),
    (NET, lambda weights: weights.double(), "torch.float64"),
    (NET, put((0, 0), float("nan")), "not finite"),
    (("learner", "averaged", "value.bias"), put(0, float("inf")), "not finite"),
    (("learner", "averaged"), lambda weights: {**weights, "more": torch.zeros(1)}, "belong to another network"),
    (("learner", "net"), to([1]), "belong to another network"),
    (MOMENTS, to({}), "optimiser does not hold"),
    (MOMENTS, without, "part 'state'"),
    ((*MOMENTS, 0), without, "optimiser does not hold"),
    ((*MOMENTS, 0, "exp_avg"), to(torch.zeros(1)), "exp_avg is torch.float32"),
    ((*MOMENTS, 0, "exp_avg"), put(0, float("nan")), "not finite"),
    ((*MOMENTS, 1, "exp_avg_sq"), put(0, -1.0), "below 0"),
    ((*MOMENTS, 1, "step"), to(torch.tensor(-3.0)), "below 0"),
    ((*MOMENTS, 1, "step"), to(3), "step is 3"),
    (("selfplay",), to(None), "not a mapping"),
    (("selfplay", "groups"), to({}), "not a list of groups"),
    (("selfplay", "groups"), to([]), "not a list of groups"),
    (("selfplay", "groups", 1), to([]), "not a mapping"),
    ((*GROUP, "rng"), to({"bit_generator": "PCG64"}), "no state of a generator"),
    ((*GROUP, "rng", "state", "state"), to(-1), "no state of a generator"),
    ((*GROUP, "rng", "bit_generator"), to("MT19937"), "no state of a generator"),
    ((*GROUP, "opening"), put(0, -1), "opening holds"),
    ((*GROUP, "opening"), lambda array: array.astype(np.float64), "opening is float64"),
    ((*GROUP, "positions.boards"), lambda array: array[:, :3], "positions.boards is uint64"),
    ((*GROUP, "positions.boards"), lambda array: array.astype(np.int64), "positions.boards is int64"),
    ((*GROUP, "positions.boards"), put((0, 1), BITS[0] | BITS[31]), "boards|does not fit its board"),
    ((*GROUP, "positions.boards"), put(0, 0), "no piece at all"),
    ((*GROUP, "positions.boards"), lambda array: array[:, [2, 3, 0, 1]], r"Position \d+ of the batch|fit its board"),
    ((*GROUP, "positions.colors"), put(0, 2), "positions.colors holds"),
    ((*GROUP, "positions.colors"), lambda array: 1 - array, "not what its plies lead to|cannot have been played"),
    ((*GROUP, "positions.plies"), put(0, -1), "positions.plies holds"),
    ((*GROUP, "positions.plies"), lambda array: array + (array > 0), "plies"),
    ((*GROUP, "positions.counts"), put(0, 0), "does not fit its board"),
    ((*GROUP, "positions.counts"), put(0, 10_000), "does not fit its board"),
    ((*GROUP, "positions.actions"), put((0, 0), -7), "does not fit its board"),
    ((*GROUP, "positions.moves"), put((0, 0), 0), "does not fit its board"),
    ((*GROUP, "positions.terminations"), put(0, 3), "does not fit its board"),
    ((*GROUP, "positions.counters"), put((0, 0), -1), "does not fit its board"),
    ((*GROUP, "positions.counters"), put((0, 0), 3), "not what its plies lead to"),
    ((*GROUP, "positions.repetitions"), put(0, 100), "does not fit its board"),
    ((*GROUP, "positions.history_len"), put(0, 0), "does not fit its board"),
    ((*GROUP, "positions.history_len"), put(0, 100_000), "does not fit its board"),
    ((*GROUP, "positions.history"), put(slice(None), 7), "does not fit its board"),
    ((*GROUP, "played"), put(slice(None), 5000), "cannot have been played"),
    ((*GROUP, "played"), put(slice(None), -1), "cannot have been played"),
    ((*GROUP, "played"), lambda array: array[1:], "played is int16"),
    ((*GROUP, "colors"), put(slice(None), 9), "holds|lead to"),
    ((*GROUP, "colors"), lambda array: 1 - array, "not what its plies lead to"),
    ((*GROUP, "recorded"), lambda array: array.astype(np.int8), "recorded is int8"),
    ((*GROUP, "rows.boards"), put(slice(None), 0), "not what its plies lead to"),
    ((*GROUP, "rows.policy"), put(slice(None), np.nan), "policy holds"),
    ((*GROUP, "rows.policy"), put(slice(None), 0.9), "policy holds rows"),
    ((*GROUP, "rows.actions"), put(slice(None), 3), "not legal on the boards"),
    ((*GROUP, "rows.features"), put(slice(None), 2.0), "features holds"),
    ((*GROUP, "rows.weight"), lambda array: array[0], "rows.weight is float32"),
    (("replay",), to([]), "not a mapping"),
    (("replay", "added"), to(-1), "added is -1"),
    (("replay", "added"), to(3), "added is 3"),
    (("replay", "added"), to(1 << 80), "added is 1208"),
    (("replay", "sampled"), to(-1), "sampled is -1"),
    (("replay", "sampled"), to("many"), "sampled is 'many'"),
    (ROWS, to({}), "part 'z'"),
    ((*ROWS, "q"), without, "part 'q'"),
    ((*ROWS, "z"), to(7), "z is 7|boards is"),
    ((*ROWS, "z"), put(0, 2), "z holds"),
    ((*ROWS, "z"), lambda array: array[1:], "boards is uint64"),
    ((*ROWS, "boards"), put((0, 1), 1 << 4), "off the board"),
    ((*ROWS, "boards"), put((0, slice(None)), BITS[5]), "two pieces on one square"),
    ((*ROWS, "boards"), lambda array: array.astype(np.float32), "boards is float32"),
    ((*ROWS, "actions"), put((0, 0), 1152), "actions holds numbers"),
    ((*ROWS, "actions"), put((0, 0), -2), "actions holds numbers"),
    ((*ROWS, "actions"), put((0, 0), 0), "not legal on the boards"),
    ((*ROWS, "policy"), put((0, 0), -0.5), "policy holds"),
    ((*ROWS, "features"), put((0, 0), np.inf), "features holds"),
    ((*ROWS, "q"), put(0, np.nan), "q holds"),
    ((*ROWS, "q"), put(0, 7.0), "q holds"),
    ((*ROWS, "plies_left"), put(0, -1), "plies_left holds"),
    ((*ROWS, "weight"), put(0, 0.0), "weight holds"),
    (("sampling",), to(None), "no state of a generator"),
    (("sampling", "uinteger"), to("x"), "no state of a generator"),
    (("counts",), to(3), "not a mapping"),
    (("counts", "games"), without, "part 'games'"),
    (("counts", "games"), to(-2), "games=-2"),
    (("counts", "iteration"), to(1.5), "counts.iteration must be a whole number"),
    (("counts", "seconds"), to(float("nan")), "counts.seconds must be a finite number"),
    (("counts", "seconds"), to(-1.0), "seconds=-1.0"),
    (("counts", "measured"), to("yes"), "counts.measured must be true or false"),
    (("counts", "more"), None, "more"),
    (("ladder",), to(None), "not a list of measurements"),
    (("ladder",), to([{}]), "part 'iteration'"),
    (("ladder",), to([5]), "not a mapping"),
    (("ladder", 0, "network"), to("../../secret.pt"), "names a network '../../secret.pt'"),
    (("ladder", 0, "network"), to(3), "names a network 3"),
    (("ladder", 0, "games"), to(0), "games is 0"),
    (("ladder", 0, "rungs"), to({}), "holds rungs"),
    (("ladder", 0, "rungs"), to([1]), "holds rungs"),
    (("ladder", 0, "rungs", "random"), to(None), "not a mapping"),
    (("ladder", 0, "rungs", "random", "score"), without, "part 'score'"),
    (("ladder", 0, "rungs", "random", "score"), to(float("nan")), "score=nan"),
    (("ladder", 0, "rungs", "random", "wins"), to(-1), "wins=-1"),
    (("rules", "flying_kings"), to(False), "other rules|differ"),
    (("rules",), to(None), "holds no network|rules"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "change", "expected"), WRONG, ids=[".".join(map(str, case[0])) for case in WRONG])
def test_wrong_content_is_refused_before_anything_changes(trainer, content, path, change, expected):
    if change is None:
        bad = changed(content, path[:1], lambda counts: {**counts, path[1]: 1})
    else:
        bad = changed(content, path, change)
    before = copy.deepcopy(state(trainer))
    with pytest.raises(RunError, match=expected) as caught:
        trainer._restore(bad)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert same(state(trainer), before)


def test_right_content_is_taken(run, trainer, content):
    fresh = Trainer(trainer.config, trainer.run_directory, trainer.progress, False, content)
    taken = state(fresh)
    for name in ("selfplay", "replay", "sampling", "counts", "ladder"):
        assert same(taken[name], content[name]), name
    for name in ("net", "averaged"):
        assert same(dict(taken["learner"][name]), dict(content["learner"][name])), name
    assert same(taken["learner"]["optimizer"]["state"], content["learner"]["optimizer"]["state"])
    assert taken["learner"]["steps"] == content["learner"]["steps"] > 0


def test_a_refused_checkpoint_is_one_line_and_stays(run, content, capsys):
    newest = numbered(run / "checkpoints")[-1]
    good = newest.read_bytes()
    try:
        write_checkpoint(newest, changed(content, (*ROWS, "boards"), put((0, 1), 1 << 4)))
        bad, files = newest.read_bytes(), sorted(run.rglob("*"))
        assert launch.main([f"resume={run}", "iterations=5"]) == 2
        out, err = capsys.readouterr()
        assert out == "" and err.count("\n") == 1 and "holds what no run can have saved" in err
        assert newest.read_bytes() == bad and sorted(run.rglob("*")) == files
        write_checkpoint(newest, changed(content, ("counts", "iteration"), to(1)))
        assert launch.main([f"resume={run}", "iterations=5"]) == 2
        assert f"{newest} does not hold the iteration that its name tells" in capsys.readouterr().err
    finally:
        newest.write_bytes(good)


def test_games_longer_than_the_rings_are_taken():
    """Only their boards can be looked at, since their first plies are gone."""
    rules = get_rules("cbd")
    positions = Positions.initial(rules, 2)
    positions.plies[:] = 300
    positions.history_len[:] = 1
    rings = {"played": np.full((256, 2), -1, np.int16), "colors": np.zeros((256, 2), np.int8),
             "recorded": np.zeros((256, 2), np.bool_)}  # fmt: skip
    saved.check_standing(positions)
    saved.check_played(positions, Positions.initial(positions.rules, 2), rings, saved.empty_records(256, 2))
    positions.plies[:] = 256
    with pytest.raises(saved.SavedError, match="cannot have been played"):
        saved.check_played(positions, Positions.initial(positions.rules, 2), rings, saved.empty_records(256, 2))


def test_a_claim_of_many_records_takes_no_memory():
    columns = random_records(get_rules("cbd"), 2)._asdict()
    with pytest.raises(saved.SavedError, match=r"boards is uint64\[2, 4\], not uint64\[1099511627776, 4\]"):
        saved.records_of(columns, "", (1 << 40,))


def test_records_beyond_one_chunk_are_looked_at():
    rules = get_rules("cbd")
    records = random_records(rules, 40)
    many = type(records)(*(np.concatenate([column] * 110) for column in records))
    saved.check_records(many, rules)
    many.actions[-1, 0] = 0
    with pytest.raises(saved.SavedError, match="not legal"):
        saved.check_records(many, rules)


def test_long_shuffles_stand_where_no_repetition_ends_a_game():
    rules = get_rules("damas-brasileiro")
    assert rules.repetition == 0
    game = Game(rules, SHUFFLE)
    for move in 7 * ("31-26", "2-9", "26-31", "9-2"):
        game.push(move)
    positions = game.positions
    assert positions.repetitions[0] == 7
    check_standing(positions)
    positions.repetitions[0] = positions.history_len[0]
    with pytest.raises(SavedError, match="does not fit its board"):
        check_standing(positions)
