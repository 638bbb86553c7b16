"""Networks and their evaluator: shapes, what they see, equal outputs however they are asked, refusals."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from damas_env.board import GEOMETRY
from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import RuleSet, get_rules
from damas_rl.networks import Evaluator, NetworkConfig, NetworkError, PolicyValueNet, build_network, choose_device
from damas_rl.networks.squares import neighbours
from damas_rl.networks.transformer import relations
from learning_cases import BIG, random_positions

CBD = get_rules("cbd")
SMALL = RuleSet(name="small", title="6x6 board", size=6, men_rows=2)
KINDS = ("resmlp", "resconv", "transformer")


def stirred(kind, rules=CBD, seed=0) -> PolicyValueNet:
    """A small network without the zeros that a fresh one starts with, so that every weight matters."""
    torch.manual_seed(seed)
    net = build_network(NetworkConfig(kind=kind, width=32, blocks=2, local=8, local_blocks=1), rules)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(torch.randn_like(weights) * 0.1)
    return net


def forward(net, boards, scalars):
    with torch.no_grad():
        return net(torch.from_numpy(boards.view(np.int64)), torch.from_numpy(scalars))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", [SMALL, CBD, BIG], ids=["6x6", "8x8", "10x10"])
def test_shapes_and_ranges(kind, rules):
    positions = Positions.initial(rules, 3)
    net = build_network(NetworkConfig(kind=kind, width=64), rules)
    policy, outcome, moves_left = forward(net, positions.boards, features(positions))
    assert policy.shape == (3, rules.num_actions)
    assert outcome.shape == (3, 3)
    assert moves_left.shape == (3,)
    assert (moves_left > 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", [CBD, BIG], ids=["8x8", "10x10"])
def test_every_piece_on_every_square_and_every_feature_matter(kind, rules):
    net, squares = stirred(kind, rules), rules.num_squares
    boards = np.zeros((4 * squares + 1, 4), dtype=np.uint64)
    for plane in range(4):
        boards[plane * squares + np.arange(squares), plane] = np.uint64(1) << GEOMETRY[rules.size].bit_of_view.astype(
            np.uint64
        )
    for output in forward(net, boards, np.zeros((len(boards), 6), np.float32)):
        assert len(torch.unique(output.reshape(len(boards), -1), dim=0)) == len(boards)
    scalars = np.concatenate((np.zeros((1, 6)), np.eye(6))).astype(np.float32)
    for output in forward(net, np.zeros((7, 4), np.uint64), scalars):
        assert len(torch.unique(output.reshape(7, -1), dim=0)) == 7


def test_bits_beside_the_board_do_not_matter():
    """Off-board neighbours read as empty: on an empty board with one piece, only squares near it differ."""
    stem = stirred("resmlp").stem
    empty = torch.zeros(1, 4, dtype=torch.int64)
    for view in range(32):
        boards = empty.clone()
        boards[0, 0] = 1 << int(GEOMETRY[8].bit_of_view[view])
        differing = (stem(boards) != stem(empty)).any(dim=2)[0].nonzero().flatten().tolist()
        assert differing == sorted(square for square in range(32) if view in neighbours(8, 2)[square])


def test_neighbours_are_one_and_two_diagonal_steps_away():
    table = neighbours(8, 2)
    assert table.shape == (32, 9)
    # a1, then c1.. of b2 and c3: up-left, up-right, down-left, down-right at distance 1, then at distance 2.
    assert table[28].tolist() == [28, 32, 24, 32, 32, 32, 21, 32, 32]
    assert table[14].tolist() == [14, 9, 10, 17, 18, 5, 7, 21, 23]


@pytest.mark.parametrize("size", [6, 8, 10])
def test_relations_tell_direction_and_distance_along_diagonals(size):
    geometry, table, seen = GEOMETRY[size], relations(size), {}
    places = [geometry.coordinates(view) for view in range(geometry.num_squares)]
    for one, (row, column) in enumerate(places):
        for other, (to_row, to_column) in enumerate(places):
            steps = (to_row - row, to_column - column)
            expected = steps if abs(steps[0]) == abs(steps[1]) else None
            assert seen.setdefault(int(table[one, other]), expected) == expected
    assert len(set(seen.values())) == len(seen) == 2 * (size - 1) + 2 * (size - 2) + 2  # the same square, no diagonal
    assert seen[0] is None and seen[1] == (0, 0)


def test_a_transformer_starts_as_its_stem_and_looks_along_diagonals():
    """A fresh block changes nothing; then one number of the bias decides who looks where."""
    torch.manual_seed(0)
    block, squares = build_network(NetworkConfig("transformer", width=32), CBD).blocks[0], torch.randn(2, 32, 32)
    assert torch.equal(block(squares), squares)
    with torch.no_grad():
        for layer in (block.looking, block.seen):
            layer.weight.normal_(std=0.2)
        before = block(squares)
        block.bias[:, relations(8)[28, 24]] = 1e4  # one step from the corner: whoever can, looks there alone
        after = block(squares)
        looks = [(relations(8)[view] == relations(8)[28, 24]).any() for view in range(32)]
        assert ((before != after).any(dim=2)[0].numpy() == looks).all() and 0 < sum(looks) < 32
        squares[:, 24] = torch.randn(32)
        changed = (block(squares) != after).any(dim=2)[0]
        assert changed[28] and changed.sum() == 1 + 1 + sum(not looking for looking in looks[:24] + looks[25:])


@pytest.mark.parametrize("kind", KINDS)
def test_training_mode_evaluation_mode_and_evaluator_agree(kind):
    net, positions = stirred(kind), random_positions(CBD, 200)
    scalars = features(positions)
    trained = forward(net.train(), positions.boards, scalars)
    evaluated = forward(net.eval(), positions.boards, scalars)
    for one, other in zip(trained, evaluated, strict=True):
        assert torch.equal(one, other)
    logits, value, moves_left = Evaluator(net, "cpu", "float32", threads=0).evaluate(positions.boards, scalars)
    chances = torch.softmax(evaluated[1], dim=1)
    np.testing.assert_allclose(logits, evaluated[0], atol=2e-5)
    np.testing.assert_allclose(value, chances[:, 0] - chances[:, 2], atol=1e-5)
    np.testing.assert_allclose(moves_left, evaluated[2], rtol=1e-4)
    assert logits.dtype == value.dtype == moves_left.dtype == np.float32


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_close(kind):
    net, positions = stirred(kind), random_positions(CBD, 200)
    exact = Evaluator(net, "cpu", "float32").evaluate(positions.boards, features(positions))
    rounded = Evaluator(net, "cpu", "bfloat16").evaluate(positions.boards, features(positions))
    assert all(array.dtype == np.float32 for array in rounded)
    assert np.abs(rounded[0] - exact[0]).mean() < 0.03 * exact[0].std()
    assert 0 < np.abs(rounded[1] - exact[1]).max() < 0.1


@pytest.mark.parametrize(("precision", "computed"), [("bfloat16", [1, 16, 32, 48, 48]), ("float32", None)])
def test_bfloat16_fills_batches_up(precision, computed):
    evaluator, positions = Evaluator(stirred("resmlp"), "cpu", precision), random_positions(CBD, 48)
    boards, scalars = positions.boards, features(positions)
    whole, seen, sizes = evaluator.evaluate(boards, scalars), [], [1, 16, 17, 33, 40]
    evaluator._net.register_forward_pre_hook(lambda net, inputs: seen.append(len(inputs[0])))
    for size in sizes:
        outputs = evaluator.evaluate(boards[:size], scalars[:size])
        for part, array in zip(outputs, whole, strict=True):
            assert part.shape == array[:size].shape and part.flags.c_contiguous
            np.testing.assert_allclose(part, array[:size], rtol=0.05, atol=0.05)
    assert seen == (computed or sizes)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", KINDS)
def test_gpu_agrees_with_cpu_from_several_threads(kind):
    net, positions = stirred(kind), random_positions(CBD, 300)
    scalars = features(positions)
    expected = Evaluator(net, "cpu", "float32").evaluate(positions.boards, scalars)
    evaluator = Evaluator(net, "cuda", "float32")
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(evaluator.evaluate, positions.boards, scalars) for _ in range(12)]
        for job in jobs:
            for one, other in zip(expected, job.result(), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)
    rounded = Evaluator(net, "cuda", "bfloat16").evaluate(positions.boards, scalars)
    assert np.abs(rounded[1] - expected[1]).max() < 0.1


def test_value_is_win_minus_loss_of_the_side_to_move():
    net, positions = stirred("resmlp"), Positions.initial(CBD, 1)
    with torch.no_grad():
        for outcome, expected in enumerate((1.0, 0.0, -1.0)):
            net.value.weight.zero_()
            net.value.bias.zero_()
            net.value.bias[outcome] = 20.0
            value = Evaluator(net, "cpu", "float32").evaluate(positions.boards, features(positions))[1]
            assert value[0] == pytest.approx(expected, abs=1e-6)


def test_rows_do_not_depend_on_each_other():
    net, positions = stirred("resconv"), random_positions(CBD, 64)
    evaluator, order = Evaluator(net, "cpu", "float32"), np.random.default_rng(1).permutation(len(positions))
    straight = evaluator.evaluate(positions.boards, features(positions))
    shuffled = evaluator.evaluate(positions.boards[order], features(positions)[order])
    for one, other in zip(straight, shuffled, strict=True):
        np.testing.assert_allclose(one[order], other, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_get_what_one_thread_gets_bit_for_bit(kind):
    evaluator, positions = Evaluator(stirred(kind), "cpu"), random_positions(CBD, 512)
    scalars = features(positions)
    parts = [slice(start, start + 64) for start in range(0, len(positions), 64)]
    alone = [evaluator.evaluate(positions.boards[part], scalars[part]) for part in parts]
    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(evaluator.evaluate, positions.boards[part], scalars[part]) for part in parts * 3]
        together = [job.result() for job in jobs]
    for index, outputs in enumerate(together):
        for one, other in zip(alone[index % len(parts)], outputs, strict=True):
            assert np.array_equal(one, other)


def test_evaluator_is_a_copy_until_updated():
    net, positions = stirred("resmlp"), random_positions(CBD, 32)
    evaluator, scalars = Evaluator(net, "cpu", "float32"), features(positions)
    before = evaluator.evaluate(positions.boards, scalars)
    with torch.no_grad():
        for weights in net.parameters():
            weights.mul_(0.5)
    assert np.array_equal(before[0], evaluator.evaluate(positions.boards, scalars)[0])
    evaluator.update(net)
    after = evaluator.evaluate(positions.boards, scalars)
    for one, other in zip(after, Evaluator(net, "cpu", "float32").evaluate(positions.boards, scalars), strict=True):
        assert np.array_equal(one, other)
    assert not np.array_equal(before[0], after[0])


def test_results_that_are_not_finite_are_refused_with_their_cause():
    net, positions = stirred("resmlp"), Positions.initial(CBD, 4)
    scalars = features(positions)
    scalars[2, 1] = np.nan
    with pytest.raises(NetworkError, match="features of position 2"):
        Evaluator(net, "cpu").evaluate(positions.boards, scalars)
    with torch.no_grad():
        net.blocks[1].inner.weight[3, 4] = torch.nan
    with pytest.raises(NetworkError, match=r"blocks\.1\.inner\.weight"):
        Evaluator(net, "cpu").evaluate(positions.boards, features(positions))
    net = stirred("resmlp")
    with torch.no_grad():
        net.value.weight[3].fill_(3e38)
    with pytest.raises(NetworkError, match="overflow"):
        Evaluator(net, "cpu").evaluate(positions.boards, features(positions))


def test_wrong_arrays_are_refused():
    evaluator, positions = Evaluator(stirred("resmlp"), "cpu"), Positions.initial(CBD, 4)
    with pytest.raises(ValueError, match=r"boards must be uint64\[B, 4\]"):
        evaluator.evaluate(positions.boards.view(np.int64), features(positions))
    with pytest.raises(ValueError, match=r"features must be float32\[4, 6\]"):
        evaluator.evaluate(positions.boards, features(positions)[:3])


def test_read_only_arrays_are_evaluated_without_a_warning(recwarn):
    evaluator, positions = Evaluator(stirred("resmlp"), "cpu"), Positions.initial(CBD, 4)
    scalars = features(positions)
    scalars.flags.writeable = False
    evaluator.evaluate(positions.boards, scalars)
    assert not recwarn.list


def test_a_fresh_network_is_unbiased():
    """Equal seeds give equal networks; the policy of a fresh resmlp comes from its pairs alone and is mild."""
    positions = Positions.initial(CBD, 1)
    for kind in KINDS:
        nets = []
        for seed in (3, 3, 4):
            torch.manual_seed(seed)
            nets.append(build_network(NetworkConfig(kind=kind), CBD))
        logits = [forward(net, positions.boards, features(positions))[0] for net in nets]
        assert torch.equal(logits[0], logits[1])
        assert not torch.equal(logits[0], logits[2])
        assert logits[0].std() < 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "transformers"}, {"width": 0}, {"width": 40, "kind": "transformer"}, {"blocks": 0}, {"pair": 1},
        {"local": 0},
    ],
)  # fmt: skip
def test_impossible_shapes_are_refused(change):
    with pytest.raises(ValueError, match=f"network.{next(iter(change))}="):
        NetworkConfig(**change)


def test_missing_gpu_and_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(ValueError, match="no usable GPU"):
        choose_device("cuda")
    with pytest.raises(ValueError, match="choose auto, cpu or cuda"):
        choose_device("tpu")
    with pytest.raises(ValueError, match="choose auto, float32 or bfloat16"):
        Evaluator(stirred("resmlp"), "cpu", "float16")
