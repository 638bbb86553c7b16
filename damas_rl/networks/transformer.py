"""A transformer whose tokens are the playable squares, for GPUs."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from damas_env.board import GEOMETRY
from damas_rl.networks.base import zeroed
from damas_rl.networks.config import HEAD_WIDTH
from damas_rl.networks.persquare import PerSquareNet

_HIDDEN = 2
"""Width of the second part of a block, in widths of the first. Four is usual, and half as many operations again."""


def relations(size: int) -> NDArray[np.int64]:
    """How squares lie to each other.

    Args:
        size: rows of the board.

    Returns:
        int64[S, S], for each (from, to): 0 = not on one diagonal, 1 = the same square, then one number for each
        direction and distance along a diagonal.
    """
    geometry = GEOMETRY[size]
    places = np.array([geometry.coordinates(view) for view in range(geometry.num_squares)])
    up, right = np.moveaxis(places[None] - places[:, None], 2, 0)
    direction = 2 * (up > 0) + (right > 0)
    numbers = 2 + direction * (size - 1) + abs(up) - 1
    return np.where(up == 0, right == 0, np.where(abs(up) == abs(right), numbers, 0)).astype(np.int64)


class AttentionBlock(nn.Module):
    """Each square looks at all others, then at itself through a dense layer; norms come first.

    Each head learns how much more or less a square looks at those that a flying king or a capture could reach from it:
    a number for each direction and distance along a diagonal. The last layers start at zero, so a new block changes
    nothing.
    """

    def __init__(self, size: int, channels: int) -> None:
        super().__init__()
        self.heads = max(1, channels // HEAD_WIDTH)
        table = relations(size)
        self.register_buffer("relation", torch.from_numpy(table.reshape(-1)), persistent=False)
        self.bias = nn.Parameter(torch.zeros(self.heads, int(table.max()) + 1))
        self.norm = nn.LayerNorm(channels)
        self.looking = nn.Linear(channels, 3 * channels)
        self.seen = zeroed(nn.Linear(channels, channels))
        self.dense_norm = nn.LayerNorm(channels)
        self.inner = nn.Linear(channels, _HIDDEN * channels)
        self.outer = zeroed(nn.Linear(_HIDDEN * channels, channels))

    relation: Tensor

    def forward(self, squares: Tensor) -> Tensor:
        """[B, S, C] -> [B, S, C]."""
        batch, count, channels = squares.shape
        looking = self.looking(self.norm(squares)).view(batch, count, 3, self.heads, channels // self.heads)
        query, key, value = looking.permute(2, 0, 3, 1, 4)
        bias = self.bias.index_select(1, self.relation).view(1, self.heads, count, count).to(query.dtype)
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        squares = squares + self.seen(seen.transpose(1, 2).reshape(batch, count, channels))
        return squares + self.outer(functional.relu(self.inner(self.dense_norm(squares))))


class Transformer(PerSquareNet):
    """Attention between the playable squares: what is far away on the board is near in one block."""

    @staticmethod
    def block(size: int, channels: int) -> nn.Module:
        """See :meth:`PerSquareNet.block`."""
        return AttentionBlock(size, channels)
