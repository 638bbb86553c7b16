"""What both kinds of network share: bitboards to vectors of squares, outputs, initialisation."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from damas_env.board import GEOMETRY
from damas_env.rules import RuleSet
from damas_rl.networks.config import NetworkConfig

PIECES = 4
"""Bitboards of a position: own men, own kings, other men, other kings."""

MOVES_LEFT_SCALE = 20.0
"""Plies for each unit of the moves-left output, so that what the network has to learn stays near 1."""


def neighbours(size: int, reach: int) -> NDArray[np.int64]:
    """The squares around each square.

    Args:
        size: rows of the board.
        reach: diagonal steps in each of the four directions.

    Returns:
        int64[S, 1 + 4 * reach]: view squares, the square itself first; S where the board ends.
    """
    geometry = GEOMETRY[size]
    view_of = {geometry.coordinates(view): view for view in range(geometry.num_squares)}
    steps = [(0, 0)] + [
        (distance * up, distance * right) for distance in range(1, reach + 1) for up in (1, -1) for right in (-1, 1)
    ]
    rows = [
        [view_of.get((row + up, column + right), geometry.num_squares) for up, right in steps]
        for row, column in map(geometry.coordinates, range(geometry.num_squares))
    ]
    return np.array(rows, dtype=np.int64)


class Neighbourhood(nn.Module):
    """Puts the vectors of the squares around each square side by side; zeros beyond the edge of the board."""

    def __init__(self, size: int, reach: int) -> None:
        super().__init__()
        table = neighbours(size, reach)
        self.taps = table.shape[1]
        self.register_buffer("index", torch.from_numpy(table.reshape(-1)), persistent=False)

    index: Tensor

    def forward(self, squares: Tensor) -> Tensor:
        """[B, S, C] -> [B, S, taps * C]."""
        batch, count, channels = squares.shape
        if torch.is_autocast_enabled(squares.device.type):
            # The layer that follows would round anyway; rounding here moves half the bytes.
            squares = squares.to(torch.get_autocast_dtype(squares.device.type))
        padded = functional.pad(squares, (0, 0, 0, 1))
        return padded.index_select(1, self.index).view(batch, count, self.taps * channels)


class LocalStem(nn.Module):
    """Bitboards to one vector for each square, from the pieces within two diagonal steps.

    Two steps are what a capture needs: the piece and the square behind it. The filters are shared by all squares;
    a bias for each square tells them apart.
    """

    def __init__(self, size: int, channels: int) -> None:
        super().__init__()
        geometry = GEOMETRY[size]
        self.register_buffer("bits", torch.from_numpy(geometry.bit_of_view.reshape(-1, 1).copy()), persistent=False)
        self.around = Neighbourhood(size, reach=2)
        self.filters = nn.Linear(self.around.taps * PIECES, channels)
        self.bias = nn.Parameter(torch.zeros(geometry.num_squares, channels))

    bits: Tensor

    def forward(self, boards: Tensor) -> Tensor:
        """int64[B, 4] bit patterns -> [B, S, channels], in the dtype of the weights."""
        pieces = ((boards.unsqueeze(-2) >> self.bits) & 1).to(self.bias.dtype)
        return self.filters(self.around(pieces)) + self.bias


class PairPolicy(nn.Module):
    """Scores moves by the product of a vector of the square left and one of the square entered."""

    def __init__(self, channels: int, length: int) -> None:
        super().__init__()
        self.vectors = nn.Linear(channels, 2 * length)
        self.scale = length**-0.5

    def forward(self, squares: Tensor) -> Tensor:
        """[B, S, C] -> [B, S * S], logit of each (from, to)."""
        origins, targets = self.vectors(squares).chunk(2, dim=-1)
        return torch.matmul(origins * self.scale, targets.transpose(1, 2)).flatten(1)


class PolicyValueNet(nn.Module):
    """A network that sees the board as the side to move sees it.

    Attributes:
        config: its shape.
        size, num_squares, num_actions: of the board and the action space that it was built for.
    """

    def __init__(self, config: NetworkConfig, rules: RuleSet, summary: int) -> None:
        """``summary`` is the length of the board's vector from which outcome and moves left are read."""
        super().__init__()
        self.config = config
        self.size, self.num_squares, self.num_actions = rules.size, rules.num_squares, rules.num_actions
        self.value_hidden = nn.Linear(summary, config.value_width)
        self.value = nn.Linear(config.value_width, 4)

    def trunk(self, boards: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """(policy logits [B, N], summary [B, H]) of boards int64[B, 4] and features [B, 6]."""
        raise NotImplementedError

    def forward(self, boards: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluates a batch.

        Args:
            boards: int64[B, 4], bit patterns of the bitboards in the view of the side to move.
            features: float32[B, 6], see :mod:`damas_env.observation`.

        Returns:
            policy logits [B, N] of all actions, illegal ones too; outcome logits [B, 3] (win, draw, loss of the
            side to move); plies left [B], positive.
        """
        policy, summary = self.trunk(boards, features)
        summary = summary.to(self.value.weight.dtype)  # stays exact where the trunk is rounded to bfloat16
        outputs = self.value(functional.relu(self.value_hidden(summary)))
        return policy, outputs[:, :3], MOVES_LEFT_SCALE * functional.softplus(outputs[:, 3])


class ResidualBlock(nn.Module):
    """x + Linear(ReLU(Linear(LayerNorm(x)))); the last layer starts at zero, so a new block changes nothing."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width)
        self.outer = zeroed(nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        """[..., width] -> [..., width]."""
        return x + self.outer(functional.relu(self.inner(self.norm(x))))


def zeroed(layer: nn.Linear) -> nn.Linear:
    """The layer with all its parameters at zero."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
