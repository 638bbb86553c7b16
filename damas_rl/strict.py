"""Mappings to frozen dataclasses and back, strictly: unknown keys, wrong types and impossible values are refused.

Every refusal is a :class:`ConfigError` of one sentence that names the key, dotted from the root
(``learner.batch_size``), and for an unknown key the nearest one that exists.
"""

import difflib
import math
import re
import shlex
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from damas_env.errors import shown

T = TypeVar("T")


class ConfigError(ValueError):
    """A configuration that cannot be used; the message is one sentence for the user."""


def build(cls: type[T], values: Mapping[str, Any], path: str = "") -> T:
    """Makes the dataclass ``cls`` from a mapping; keys that are left out keep their defaults.

    Args:
        cls: a dataclass; fields may be int, float, bool, str, ``Literal``, unions with None, tuples of such, or
            dataclasses.
        values: keys and values, nested like the dataclass.
        path: where the mapping stands in the whole configuration, for messages.

    Raises:
        ConfigError: unknown key, missing key, wrong type, or the dataclass itself refused a value.
    """
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
    arguments = {}
    for key, value in values.items():
        if key not in known:
            raise ConfigError(unknown_key(_join(path, str(key)), [_join(path, name) for name in known]))
        arguments[key] = convert(hints[key], value, _join(path, key))
    for name, field in known.items():
        if name not in arguments and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"The key {_join(path, name)} is missing.")
    try:
        return cls(**arguments)
    except ConfigError:
        raise
    except ValueError as error:
        text = str(error)
        raise ConfigError(text if not path or path in text else f"{path}: {text}") from None


def convert(kind: Any, value: Any, key: str) -> Any:
    """``value`` as the annotated type ``kind``; ConfigError names ``key`` if it is of another type."""
    origin = get_origin(kind)
    if is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{key} is a section with keys of its own, not a value like {shown(value)}.")
        return build(kind, value, key)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):
        if value is None and type(None) in get_args(kind):
            return None
        kind = next(option for option in get_args(kind) if option is not type(None))
        return convert(kind, value, key)
    if origin is Literal:
        if value not in get_args(kind):
            raise ConfigError(f"{key} must be one of {', '.join(map(str, get_args(kind)))}, not {shown(value)}.")
        return value
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise ConfigError(f"{key} must be a list, not {shown(value)}.")
        return tuple(convert(get_args(kind)[0], item, f"{key}[{index}]") for index, item in enumerate(value))
    if type(value) is int and kind in (int, float) and abs(value) > _LARGEST:
        raise ConfigError(f"{key} must be {_NAMES[kind]} of usual size, not {shown(value)}.")
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        hint = f" (quotes make it one: {quote(key, str(value))})" if kind is str and type(value) in (int, float) else ""
        raise ConfigError(f"{key} must be {_NAMES[kind]}, not {shown(value)}{hint}.")
    if kind is float and not math.isfinite(value):
        raise ConfigError(f"{key} must be a finite number, not {value}.")
    return value


def check_ranges(section: str, config: object, **ranges: tuple[float, float]) -> None:
    """ConfigError for a value of a dataclass that is neither None nor within its (lowest, highest).

    Args:
        section: where ``config`` stands in the whole configuration, for messages.
        config: the dataclass.
        ranges: by field.
    """
    for name, (low, high) in ranges.items():
        value = getattr(config, name)
        if value is not None and not low <= value <= high:
            raise ConfigError(f"{_join(section, name)}={value}: choose a value from {low} to {high}.")


_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
_LARGEST = (1 << 63) - 1


def quote(key: str, text: str) -> str:
    """The word by which a shell hands over ``key=text``, with the quotes that make any text one for Hydra."""
    inner = re.sub(r'(\\*)("|$)', lambda match: 2 * match[1] + match[2].replace('"', '\\"'), text)
    return shlex.quote(f'{key}="{inner}"')


def keys_of(cls: type, path: str = "") -> list[str]:
    """Every dotted key of a dataclass, sections before what they hold."""
    hints, keys = get_type_hints(cls), []
    for field in fields(cls):
        key = _join(path, field.name)
        keys.append(key)
        if is_dataclass(hints[field.name]):
            keys += keys_of(hints[field.name], key)
    return keys


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested mappings with their dotted keys."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def unknown_key(key: str, known: Iterable[str]) -> str:
    """One sentence that refuses ``key`` and names the nearest of the ``known`` ones."""

    def likeness(candidate: str) -> float:
        whole = difflib.SequenceMatcher(None, key, candidate).ratio()
        ends = difflib.SequenceMatcher(None, key.rpartition(".")[2], candidate.rpartition(".")[2]).ratio()
        return max(whole, ends - 0.01)

    return f"Unknown key {shown(key)}; the nearest one is {max(known, key=likeness)!r}."


def attribute_docs(cls: type) -> dict[str, str]:
    """What the ``Attributes:`` part of a docstring says of each field of a dataclass, by name."""
    docs: dict[str, str] = {}
    current: list[str] = []
    text = (cls.__doc__ or "").partition("Attributes:")[2]
    for line in text.splitlines():
        head = re.match(r" {8}((?:\w+)(?:, \w+)*): (.*)", line)
        if head:
            current = head[1].split(", ")
            docs.update(dict.fromkeys(current, head[2].strip()))
        elif line.strip():
            docs.update({name: f"{docs[name]} {line.strip()}" for name in current})
    return docs


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
