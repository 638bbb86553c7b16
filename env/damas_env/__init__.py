"""Brazilian draughts (and its relatives) as exact, batched Numba kernels with Gymnasium environments on top."""

RULES_VERSION = 1
"""Raised whenever a rule kernel changes what is legal or how a game ends; checkpoints carry it."""

ACTION_VERSION = 1
"""Raised whenever the move <-> action encoding changes; checkpoints carry it."""

__version__ = "0.1.0"
