"""Configuration of a network."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of a policy/value network; everything else follows from the rule set.

    Attributes:
        kind: ``resmlp`` (one vector for the whole board: most evaluations per second on a CPU) or ``resconv`` (one
            vector for each playable square: learns more from each position and costs more; meant for a GPU).
        width: units of the trunk (resmlp) or channels of each square (resconv).
        blocks: residual blocks of the trunk.
        local: filters that look at each square and its diagonal neighbours in front of the trunk of a resmlp; a
            resconv has ``width`` of them.
        pair: length of the vectors whose products score each pair of squares (from, to) in the policy head.
        value_width: hidden units in front of the outcome and moves-left outputs.
    """

    kind: Literal["resmlp", "resconv"] = "resmlp"
    width: int = 256
    blocks: int = 3
    local: int = 32
    pair: int = 16
    value_width: int = 64

    def __post_init__(self) -> None:
        if self.kind not in ("resmlp", "resconv"):
            raise ValueError(f"network.kind={self.kind!r}: choose resmlp or resconv.")
        for key, low, high in (
            ("width", 8, 4096), ("blocks", 1, 100), ("local", 4, 1024), ("pair", 4, 512), ("value_width", 8, 4096),
        ):  # fmt: skip
            if not low <= getattr(self, key) <= high:
                raise ValueError(f"network.{key}={getattr(self, key)}: choose a value from {low} to {high}.")
