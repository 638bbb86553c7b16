"""The evaluator of few positions: the answers of torch in float32, row by row, and the same refusals."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from damas_env.observation import features
from damas_env.position import Positions
from damas_env.rules import get_rules
from damas_rl.checkpoint import load_network
from damas_rl.networks import Evaluator, NetworkConfig, NetworkError, PolicyValueNet, build_network, evaluator_of_few
from damas_rl.networks.few import FewEvaluator
from learning_cases import random_positions

CBD = get_rules("cbd")

SHAPES = {
    "usual": NetworkConfig(),
    "no local blocks": NetworkConfig(local_blocks=0),
    "odd widths": NetworkConfig(width=45, local=7, local_blocks=1, pair=5, value_width=11),
    "wide and deep": NetworkConfig(width=96, blocks=3, local=48, local_blocks=3, pair=24),
}


def stirred(config: NetworkConfig, rules=CBD) -> PolicyValueNet:
    """A network without the zeros that a fresh one starts with, so that every weight matters."""
    torch.manual_seed(0)
    net = build_network(config, rules)
    with torch.no_grad():
        for weights in net.parameters():
            weights.add_(torch.randn_like(weights) * 0.05)
    return net


def assert_alike(net: PolicyValueNet, positions: Positions) -> None:
    scalars = features(positions)
    logits, values, moves_left = evaluator_of_few(net).evaluate(positions.boards, scalars)
    wanted = Evaluator(net, "cpu", "float32").evaluate(positions.boards, scalars)
    assert logits.dtype == values.dtype == moves_left.dtype == np.float32
    np.testing.assert_allclose(logits, wanted[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, wanted[1], rtol=0, atol=1e-5)
    np.testing.assert_allclose(moves_left, wanted[2], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rules", ["cbd", "international"])
@pytest.mark.parametrize("name", SHAPES)
def test_answers_are_those_of_torch(name, rules):
    rules = get_rules(rules)
    net = stirred(SHAPES[name], rules)
    assert isinstance(evaluator_of_few(net), FewEvaluator)
    assert_alike(net, random_positions(rules, 40))


def test_answers_of_the_shipped_network_are_those_of_torch():
    assert_alike(load_network("small")[0], random_positions(CBD, 300))


def test_other_networks_are_computed_by_torch_in_float32():
    net = stirred(NetworkConfig(kind="resconv", width=16, blocks=1))
    evaluator = evaluator_of_few(net)
    assert isinstance(evaluator, Evaluator) and evaluator.dtype == torch.float32
    if evaluator.device.type == "cpu":
        assert_alike(net, random_positions(CBD, 20))


def test_rows_do_not_depend_on_the_batch_or_the_thread():
    evaluator, positions = evaluator_of_few(stirred(NetworkConfig())), random_positions(CBD, 64)
    scalars = features(positions)
    together = evaluator.evaluate(positions.boards, scalars)
    with ThreadPoolExecutor(3) as pool:
        rows = range(len(positions))
        alone = list(pool.map(lambda k: evaluator.evaluate(positions.boards[k : k + 1], scalars[k : k + 1]), rows))
    for row, outputs in enumerate(alone):
        for one, other in zip(together, outputs, strict=True):
            assert np.array_equal(one[row : row + 1], other)


def test_evaluator_is_a_copy():
    net, positions = stirred(NetworkConfig()), random_positions(CBD, 4)
    evaluator = evaluator_of_few(net)
    before = evaluator.evaluate(positions.boards, features(positions))
    with torch.no_grad():
        for weights in net.parameters():
            weights.mul_(0.5)
    for one, other in zip(before, evaluator.evaluate(positions.boards, features(positions)), strict=True):
        assert np.array_equal(one, other)


def test_results_that_are_not_finite_are_refused_with_their_cause():
    positions = Positions.initial(CBD, 4)
    scalars = features(positions)
    scalars[2, 1] = np.nan
    net = stirred(NetworkConfig(blocks=2))
    with pytest.raises(NetworkError, match="features of position 2"):
        evaluator_of_few(net).evaluate(positions.boards, scalars)
    with torch.no_grad():
        net.blocks[1].inner.weight[3, 4] = torch.nan
    with pytest.raises(NetworkError, match=r"blocks\.1\.inner\.weight"):
        evaluator_of_few(net).evaluate(positions.boards, features(positions))
    net = stirred(NetworkConfig())
    with torch.no_grad():
        net.value.weight[3].fill_(3e38)
    with pytest.raises(NetworkError, match="overflow"):
        evaluator_of_few(net).evaluate(positions.boards, features(positions))


def test_arrays_of_other_shapes_and_types_are_refused_and_read_only_ones_are_not():
    evaluator, positions = evaluator_of_few(stirred(NetworkConfig())), Positions.initial(CBD, 4)
    scalars = features(positions)
    with pytest.raises(ValueError, match=r"boards must be uint64\[B, 4\]"):
        evaluator.evaluate(positions.boards.view(np.int64), scalars)
    with pytest.raises(ValueError, match=r"features must be float32\[4, 6\]"):
        evaluator.evaluate(positions.boards, scalars[:3])
    wanted = evaluator.evaluate(positions.boards, scalars)
    scalars.flags.writeable = False
    np.testing.assert_array_equal(evaluator.evaluate(positions.boards, scalars)[0], wanted[0])
    turned = evaluator.evaluate(np.asfortranarray(positions.boards), scalars)
    np.testing.assert_array_equal(turned[0], wanted[0])
