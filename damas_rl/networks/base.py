"""What all kinds of network share: the interface, the value outputs, the dense residual block."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from damas_env.observation import NUM_FEATURES
from damas_env.rules import RuleSet
from damas_rl.networks.config import NetworkConfig

MOVES_LEFT_SCALE = 20.0
"""Plies for each unit of the moves-left output, so that what the network has to learn stays near 1."""


class PolicyValueNet(nn.Module):
    """A network that sees the board as the side to move sees it.

    Attributes:
        config: its shape.
        num_squares: of the board that it was built for.
    """

    def __init__(self, config: NetworkConfig, rules: RuleSet, summary: int) -> None:
        """``summary`` is the length of the board's vector from which outcome and moves left are read."""
        super().__init__()
        self.config, self.num_squares = config, rules.num_squares
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


def check_network(net: PolicyValueNet, rules: RuleSet) -> None:
    """Asks a network about two positions, so that one of somebody's own is found wrong before it is put to work.

    Raises:
        ValueError: what ``trunk`` returns has not the shape that it must have; one sentence. What it raises itself is
            passed on.
    """
    boards = torch.from_numpy(rules.initial_boards.view(np.int64)).repeat(2, 1)
    with torch.no_grad():
        answer = net.trunk(boards, torch.zeros(2, NUM_FEATURES))
    wanted = [[2, rules.num_actions], [2, net.value_hidden.in_features]]
    shapes = [list(part.shape) if isinstance(part, Tensor) else type(part).__name__ for part in _parts(answer)]
    if shapes != wanted:
        raise ValueError(
            f"network.kind={net.config.kind!r}: for two positions, trunk must return logits {wanted[0]} of all actions "
            f"and a summary {wanted[1]}, as long as the base class was told, not {shapes}."
        )


def _parts(answer: object) -> tuple[object, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


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
