"""Brazilian draughts (and its relatives) as exact, batched Numba kernels, with Gymnasium environments."""

from gymnasium.envs.registration import register as _register

RULES_VERSION = 1
"""Raised whenever a rule kernel changes what is legal or how a game ends; checkpoints carry it."""

ACTION_VERSION = 1
"""Raised whenever the move <-> action encoding changes; checkpoints carry it."""

__version__ = "0.1.0"

_register(
    id="damas_env/Damas-v0",
    entry_point="damas_env.envs:DamasEnv",
    vector_entry_point="damas_env.envs:DamasVectorEnv",
)
