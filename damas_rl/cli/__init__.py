"""The ``damas`` command."""

from damas_rl.cli.app import main

__all__ = ["main"]
