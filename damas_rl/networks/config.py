"""Configuration of a network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from damas_env.errors import shown
from damas_env.rules import RuleSet
from damas_rl.plugins import HINT, check_name, known
from damas_rl.strict import check_ranges

if TYPE_CHECKING:  # networks are made from configurations
    from damas_rl.networks.base import PolicyValueNet

HEAD_WIDTH = 32
"""Channels of each attention head of a transformer; with half as many a block took a fifth more time on a CPU."""


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of a policy/value network; everything else follows from the rule set.

    Attributes:
        kind: ``resmlp`` (narrow layers over the squares, then one wide vector for the board: most strength for the time
            of a CPU), ``resconv`` (one vector for each playable square all the way; meant for a GPU) or ``transformer``
            (the same with attention between all squares instead of filters over neighbours); or one of your own
            (docs/extending.md).
        width: units of the board's vector (resmlp) or channels of each square (resconv, transformer).
        blocks: residual blocks of that width.
        local: channels of each square in front of the board's vector of a resmlp.
        local_blocks: residual blocks over those channels.
        pair: length of the vectors whose products score each pair of squares (from, to) in the policy head.
        value_width: hidden units in front of the outcome and moves-left outputs.
    """

    kind: str = "resmlp"
    width: int = 256
    blocks: int = 1
    local: int = 32
    local_blocks: int = 2
    pair: int = 16
    value_width: int = 64

    def __post_init__(self) -> None:
        if not known(KINDS, self.kind):
            raise ValueError(f"network.kind={shown(self.kind)}: choose from {', '.join(KINDS)}. {HINT}")
        check_ranges(
            "network",
            self,
            width=(8, 4096),
            blocks=(1, 100),
            local=(4, 1024),
            local_blocks=(0, 100),
            pair=(4, 512),
            value_width=(8, 4096),
        )
        if self.kind == "transformer" and self.width > HEAD_WIDTH and self.width % HEAD_WIDTH:
            raise ValueError(f"network.width={self.width}: a transformer takes multiples of {HEAD_WIDTH}, or less.")


KINDS: dict[str, Callable[[NetworkConfig, RuleSet], "PolicyValueNet"]] = {}
"""What makes the networks of each ``network.kind``."""


def register_network(kind: str, make: Callable[[NetworkConfig, RuleSet], "PolicyValueNet"]) -> None:
    """Adds a kind of network, which ``network.kind`` can name from then on.

    Args:
        kind: its name.
        make: a subclass of :class:`~damas_rl.networks.PolicyValueNet`, or a function that returns one.

    Raises:
        PluginError: the name is taken, or is none.
    """
    check_name(KINDS, kind)
    KINDS[kind] = make
