"""A network of one's own: an MLP-Mixer over the squares of the board (Tolstikhin et al. 2021).

export DAMAS_PLUGINS=examples/own_network.py
python train.py network.kind=mixer network.width=64 network.blocks=4
damas play --opponent mcts:net=runs/latest,sims=200
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from damas_env.observation import NUM_FEATURES
from damas_env.rules import RuleSet
from damas_rl.networks import NetworkConfig, PolicyValueNet, register_network
from damas_rl.networks.squares import LocalStem, PairPolicy


class MixerBlock(nn.Module):
    """Mixes what stands on different squares, then the channels of each square."""

    def __init__(self, squares: int, channels: int) -> None:
        super().__init__()
        self.squares = nn.Sequential(nn.Linear(squares, 2 * squares), nn.ReLU(), nn.Linear(2 * squares, squares))
        self.channels = nn.Sequential(nn.Linear(channels, 2 * channels), nn.ReLU(), nn.Linear(2 * channels, channels))
        self.norms = nn.ModuleList((nn.LayerNorm(channels), nn.LayerNorm(channels)))

    def forward(self, x: Tensor) -> Tensor:
        """[B, S, C] -> [B, S, C]."""
        x = x + self.squares(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norms[1](x))


class Mixer(PolicyValueNet):
    """Vectors of all squares, mixed by dense layers."""

    def __init__(self, config: NetworkConfig, rules: RuleSet) -> None:
        super().__init__(config, rules, summary=config.width)
        self.stem = LocalStem(rules.size, config.width)
        self.enter = nn.Linear(NUM_FEATURES, config.width)
        self.blocks = nn.Sequential(*(MixerBlock(rules.num_squares, config.width) for _ in range(config.blocks)))
        self.norm = nn.LayerNorm(config.width)
        self.pairs = PairPolicy(config.width, config.pair)
        self.spare = nn.Linear(config.width, rules.spare_actions)

    def trunk(self, boards: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all actions [B, N], and the vector [B, width] from which the value is read."""
        squares = self.stem(boards)  # [B, S, width]
        squares = squares + self.enter(features.to(squares.dtype)).unsqueeze(1)
        squares = functional.relu(self.norm(self.blocks(squares)))
        summary = squares.mean(dim=1)
        return torch.cat((self.pairs(squares), self.spare(summary)), dim=1), summary


register_network("mixer", Mixer)
