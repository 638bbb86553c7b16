"""Few positions at a time: what a single game on one thread asks of a network.

For one position torch spends most of its time between layers. A ``ResMlp`` is computed here by a kernel of its own
(``few_kernels``), in float32 and on one thread; other networks by torch.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from damas_rl.networks.base import PolicyValueNet, ResidualBlock
from damas_rl.networks.evaluator import Evaluator, NetworkError, check_inputs, diagnosis
from damas_rl.networks.few_kernels import forward
from damas_rl.networks.resmlp import ResMlp
from damas_rl.networks.squares import SquareBlock

Answer = tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]


class Dense(NamedTuple):
    """A linear layer: weights float32[I, O] by input, bias float32[O]."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]


class Norm(NamedTuple):
    """A layer norm over C numbers: scale and bias, float32[C]."""

    scale: NDArray[np.float32]
    bias: NDArray[np.float32]


class Blocks(NamedTuple):
    """K residual blocks: norms [K, C], inner layers [K, I, C], outer layers [K, C, C], biases [K, C]; all float32."""

    scale: NDArray[np.float32]
    shift: NDArray[np.float32]
    inner: NDArray[np.float32]
    inner_bias: NDArray[np.float32]
    outer: NDArray[np.float32]
    outer_bias: NDArray[np.float32]


class Weights(NamedTuple):
    """The parameters of a ``ResMlp`` as the kernel reads them.

    Attributes:
        bits: int64[S], the bit of each square in a bitboard.
        around: int64[S, T], the squares around each square, S beyond the edge; the first five are those of a block.
        stem: float32[4 T, C]. stem_bias: float32[S, C].
    """

    bits: NDArray[np.int64]
    around: NDArray[np.int64]
    stem: NDArray[np.float32]
    stem_bias: NDArray[np.float32]
    local_blocks: Blocks
    local_norm: Norm
    enter: Dense
    blocks: Blocks
    norm: Norm
    policy: Dense
    pairs: Dense
    value_hidden: Dense
    value: Dense


class Evaluates(Protocol):
    """What both kinds of evaluator have in common."""

    def evaluate(self, boards: NDArray[np.uint64], features: NDArray[np.float32]) -> Answer:
        """See :meth:`damas_rl.networks.Evaluator.evaluate`."""
        ...


def evaluator_of_few(net: PolicyValueNet) -> Evaluates:
    """The fastest evaluator for a few positions at a time on one thread."""
    return FewEvaluator(net) if isinstance(net, ResMlp) else Evaluator(net, precision="float32")


class FewEvaluator:
    """A frozen copy of a ``ResMlp`` for a few positions at a time; any number of threads may call it at once."""

    def __init__(self, net: ResMlp) -> None:
        """Copies the weights of ``net``."""
        self._net = net
        self._weights = _weights(net)

    def evaluate(self, boards: NDArray[np.uint64], features: NDArray[np.float32]) -> Answer:
        """See :meth:`damas_rl.networks.Evaluator.evaluate`."""
        check_inputs(boards, features)
        # Arrays of another layout would have the kernel compiled anew.
        boards, features = np.require(boards, None, ["C", "W"]), np.require(features, None, ["C", "W"])
        count = len(boards)
        logits = np.empty((count, len(self._weights.policy.bias)), np.float32)
        values, moves_left = np.empty(count, np.float32), np.empty(count, np.float32)
        if not math.isfinite(forward(self._weights, boards, features, logits, values, moves_left)):
            raise NetworkError(diagnosis(self._net, torch.from_numpy(features)))
        return logits, values, moves_left


def _weights(net: ResMlp) -> Weights:
    local, wide = net.config.local, net.config.width
    return Weights(
        bits=net.stem.bits.reshape(-1).numpy().copy(),
        around=net.stem.around.index.reshape(net.num_squares, -1).numpy().copy(),
        stem=_array(net.stem.filters.weight.T),
        stem_bias=_array(net.stem.bias + net.stem.filters.bias),
        local_blocks=_blocks(list(net.local_blocks), 5 * local, local),
        local_norm=Norm(_array(net.local_norm.weight), _array(net.local_norm.bias)),
        enter=_dense(net.enter),
        blocks=_blocks(list(net.blocks), wide, wide),
        norm=Norm(_array(net.norm.weight), _array(net.norm.bias)),
        policy=_dense(net.policy),
        pairs=_dense(net.pairs.vectors),
        value_hidden=_dense(net.value_hidden),
        value=_dense(net.value),
    )


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return np.array(tensor.detach().cpu().float().numpy(), order="C")


def _dense(layer: nn.Linear) -> Dense:
    return Dense(_array(layer.weight.T), _array(layer.bias))


def _blocks(blocks: list[Any], inputs: int, width: int) -> Blocks:
    def stack(read: Callable[[SquareBlock | ResidualBlock], Tensor], *shape: int) -> NDArray[np.float32]:
        return np.array([_array(read(block)) for block in blocks], np.float32).reshape(len(blocks), *shape)

    return Blocks(
        scale=stack(lambda block: block.norm.weight, width),
        shift=stack(lambda block: block.norm.bias, width),
        inner=stack(lambda block: block.inner.weight.T, inputs, width),
        inner_bias=stack(lambda block: block.inner.bias, width),
        outer=stack(lambda block: block.outer.weight.T, width, width),
        outer_bias=stack(lambda block: block.outer.bias, width),
    )
