"""A residual network over one vector for each playable square, for GPUs."""

from torch import nn

from damas_rl.networks.persquare import PerSquareNet
from damas_rl.networks.squares import SquareBlock


class ResConv(PerSquareNet):
    """Convolutions over the dark squares alone."""

    @staticmethod
    def block(size: int, channels: int) -> nn.Module:
        """See :meth:`PerSquareNet.block`."""
        return SquareBlock(size, channels, pooled=True)
