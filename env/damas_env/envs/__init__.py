"""Environments: one game (Gymnasium), a batch of games (gymnasium.vector), two agents (PettingZoo).

``damas_env.envs.aec`` needs PettingZoo and is imported by its users alone.
"""

from damas_env.envs.single import DamasEnv
from damas_env.envs.vector import DamasVectorEnv

__all__ = ["DamasEnv", "DamasVectorEnv"]
