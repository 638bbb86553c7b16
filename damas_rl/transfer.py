"""Starting a run from the weights of another network, also of one that was trained for other rules."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import torch

from damas_env.rules import RuleSet
from damas_rl.checkpoint import CheckpointError, network_from, read_network, rules_from
from damas_rl.networks import NetworkConfig, PolicyValueNet


@dataclass(frozen=True)
class Source:
    """A network to start from.

    Attributes:
        path: the file that holds it.
        rules: the rule set that it was trained for.
        weights: its state dict.
    """

    path: Path
    rules: RuleSet
    weights: Mapping[str, torch.Tensor]


def read_source(name: str, config: NetworkConfig) -> Source:
    """Reads the network that ``init_from=`` names.

    Args:
        name: a checkpoint, a run directory (its best network) or the name of a network that ships with the package.
        config: shape of the network that is to start from it.

    Raises:
        CheckpointError: there is no usable network, or it has another shape.
    """
    content, path = read_network(name)
    network = network_from(content, path)
    differing = [
        f"network.{key.name}={getattr(network.config, key.name)}"
        for key in fields(NetworkConfig)
        if getattr(network.config, key.name) != getattr(config, key.name)
    ]
    if differing:
        shape = " ".join(differing)
        raise CheckpointError(f"init_from={name}: that network has another shape; give its keys too: {shape}.")
    return Source(path, rules_from(content, path), network.state_dict())


def take_over(source: Source, network: PolicyValueNet) -> list[str]:
    """Gives a network the source's tensors of equal name and shape.

    Between boards of one size that is all of them. Between 8x8 and 10x10 the filters that all squares share go over;
    what has an entry for each square or action (biases of squares, the dense layers between squares and board, the
    policy outputs) keeps its fresh values.

    Returns:
        names of the tensors that keep their values.
    """
    own = network.state_dict()
    taken = {name: tensor for name, tensor in source.weights.items() if name in own and own[name].shape == tensor.shape}
    network.load_state_dict(own | taken)
    return [name for name in own if name not in taken]


def describe(source: Source, fresh: list[str]) -> str:
    """What a run says about the network that it starts from; ``fresh`` as :func:`take_over` returned it."""
    total = len(source.weights)
    text = (
        f"Starting from {source.path} (rules {source.rules.name}): {total - len(fresh)} of {total} tensors taken over"
    )
    return f"{text}; fresh ones: {', '.join(fresh)}." if fresh else f"{text}."
