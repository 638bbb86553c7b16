"""Configuration of a network."""

from dataclasses import dataclass
from typing import Literal

from damas_rl.strict import check_ranges

HEAD_WIDTH = 32
"""Channels of each attention head of a transformer; with half as many a block took a fifth more time on a CPU."""


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of a policy/value network; everything else follows from the rule set.

    Attributes:
        kind: ``resmlp`` (narrow layers over the squares, then one wide vector for the board: most strength for the time
            of a CPU), ``resconv`` (one vector for each playable square all the way; meant for a GPU) or ``transformer``
            (the same with attention between all squares instead of filters over neighbours).
        width: units of the board's vector (resmlp) or channels of each square (resconv, transformer).
        blocks: residual blocks of that width.
        local: channels of each square in front of the board's vector of a resmlp.
        local_blocks: residual blocks over those channels.
        pair: length of the vectors whose products score each pair of squares (from, to) in the policy head.
        value_width: hidden units in front of the outcome and moves-left outputs.
    """

    kind: Literal["resmlp", "resconv", "transformer"] = "resmlp"
    width: int = 256
    blocks: int = 1
    local: int = 32
    local_blocks: int = 2
    pair: int = 16
    value_width: int = 64

    def __post_init__(self) -> None:
        if self.kind not in ("resmlp", "resconv", "transformer"):
            raise ValueError(f"network.kind={self.kind!r}: choose resmlp, resconv or transformer.")
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
