"""Policy/value networks and their use: shapes by configuration, evaluation of batches of positions."""

from damas_env.rules import RuleSet
from damas_rl.networks.base import PolicyValueNet, check_network
from damas_rl.networks.config import KINDS, NetworkConfig, register_network
from damas_rl.networks.evaluator import Evaluator, NetworkError, choose_device
from damas_rl.networks.few import evaluator_of_few
from damas_rl.networks.resconv import ResConv
from damas_rl.networks.resmlp import ResMlp
from damas_rl.networks.transformer import Transformer
from damas_rl.plugins import known

register_network("resmlp", ResMlp)
register_network("resconv", ResConv)
register_network("transformer", Transformer)
SHIPPED = tuple(KINDS)
"""Kinds that are part of the package."""


def build_network(config: NetworkConfig, rules: RuleSet) -> PolicyValueNet:
    """A network for the board and the actions of ``rules``; fresh weights come from torch's global generator."""
    known(KINDS, config.kind)  # the configuration may have been made in another process
    return KINDS[config.kind](config, rules)


__all__ = [
    "SHIPPED",
    "Evaluator",
    "NetworkConfig",
    "NetworkError",
    "PolicyValueNet",
    "build_network",
    "check_network",
    "choose_device",
    "evaluator_of_few",
    "register_network",
]
