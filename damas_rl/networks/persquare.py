"""What networks share that keep one vector for each playable square all the way."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from damas_env.observation import NUM_FEATURES
from damas_env.rules import RuleSet
from damas_rl.networks.base import PolicyValueNet, zeroed
from damas_rl.networks.config import NetworkConfig
from damas_rl.networks.squares import LocalStem, PairPolicy

_SUMMARY_CHANNELS = 16
"""Channels of each square that reach the outcome and moves-left outputs."""


class PerSquareNet(PolicyValueNet):
    """A stem, blocks over the squares, and outputs.

    Moves are scored by products of from and to vectors plus a learnt prior for each pair; the spare actions (further
    moves with the same from and to) by a small dense output.
    """

    def __init__(self, config: NetworkConfig, rules: RuleSet) -> None:
        super().__init__(config, rules, rules.num_squares * _SUMMARY_CHANNELS)
        self.stem = LocalStem(rules.size, config.width)
        self.enter = nn.Linear(NUM_FEATURES, config.width)
        self.blocks = nn.Sequential(*(self.block(rules.size, config.width) for _ in range(config.blocks)))
        self.norm = nn.LayerNorm(config.width)
        self.pairs = PairPolicy(config.width, config.pair)
        self.pair_bias = nn.Parameter(torch.zeros(rules.num_squares**2))
        self.summary = nn.Linear(config.width, _SUMMARY_CHANNELS)
        self.spare = zeroed(nn.Linear(rules.num_squares * _SUMMARY_CHANNELS, rules.spare_actions))

    @staticmethod
    def block(size: int, channels: int) -> nn.Module:
        """A new residual block, [B, S, C] -> [B, S, C]."""
        raise NotImplementedError

    def trunk(self, boards: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """See :meth:`PolicyValueNet.trunk`."""
        squares = self.stem(boards)
        squares = squares + self.enter(features.to(squares.dtype)).unsqueeze(1)
        squares = functional.relu(self.norm(self.blocks(squares)))
        summary = functional.relu(self.summary(squares)).flatten(1)
        return torch.cat((self.pairs(squares) + self.pair_bias, self.spare(summary)), dim=1), summary
