"""Layers over the playable squares of a board: one vector for each, [B, S, C]."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from damas_env.board import GEOMETRY
from damas_rl.networks.base import zeroed

PIECES = 4
"""Bitboards of a position: own men, own kings, other men, other kings."""


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


class SquareBlock(nn.Module):
    """A residual block over the squares: each square and its four diagonal neighbours, then a second layer.

    Only the playable squares exist here, so the convolution is one matrix product over [B * S, 5 * C]. With
    ``pooled`` the mean and the maximum over the board carry what is far away (flying kings, the balance of material)
    to every square.
    """

    def __init__(self, size: int, channels: int, pooled: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.around = Neighbourhood(size, reach=1)
        self.inner = nn.Linear(self.around.taps * channels, channels)
        self.pooled = zeroed(nn.Linear(2 * channels, channels)) if pooled else None
        self.outer = zeroed(nn.Linear(channels, channels))

    def forward(self, squares: Tensor) -> Tensor:
        """[B, S, C] -> [B, S, C]."""
        hidden = self.inner(self.around(self.norm(squares)))
        if self.pooled is not None:
            board = torch.cat((hidden.mean(dim=1), hidden.amax(dim=1)), dim=1)
            hidden = hidden + self.pooled(board).unsqueeze(1)
        return squares + self.outer(functional.relu(hidden))


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
