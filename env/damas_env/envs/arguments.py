"""Checks of what users give to environments; whatever cannot be used is a ValueError of one sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from damas_env.errors import shown


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> None:
    """Refuses a ``value`` that is none of the ``choices``, of whatever type it is."""
    if (value is None or isinstance(value, str)) and value in choices:
        return
    *others, last = map(repr, choices)
    raise ValueError(f"{name}={shown(value)} is unknown; use {', '.join(others)} or {last}.")


def check_flag(name: str, value: object) -> None:
    """Refuses anything but True and False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name}={shown(value)} is unknown; use True or False.")


def check_whole(name: str, value: object, lowest: int) -> int:
    """``value`` as an int, if it is a whole number (of Python or numpy) and not below ``lowest``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < lowest:
        raise ValueError(f"{name}={shown(value)} is impossible; use a whole number, {lowest} or more.")
    return int(value)


def check_seed(seed: object) -> int | None:
    """The seed of a ``reset``: None, or a whole number that is not negative."""
    return None if seed is None else check_whole("seed", seed, 0)


def check_options(options: object) -> Mapping[str, Any]:
    """The options of a ``reset`` as a mapping, empty for None."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options={shown(options)} must be a dict, or None.")
    return options
