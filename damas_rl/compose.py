"""From Hydra's config groups and the words of a command line to one :class:`RunConfig`.

Hydra composes the files under ``configs/`` on top of the defaults that the dataclasses hold; every override is
checked beforehand, so that a slip is answered by one sentence instead of Hydra's own report.
"""

import dataclasses
import difflib
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import OverrideType
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from damas_env.errors import shown
from damas_rl.config import RunConfig
from damas_rl.strict import ConfigError, attribute_docs, build, keys_of, quote, unknown_key

_BESIDE, _INSIDE = Path(__file__).parents[1] / "configs", Path(__file__).parent / "configs"
CONFIGS = _BESIDE if _BESIDE.is_dir() else _INSIDE
"""The config groups: beside the package in a source tree, inside it when installed."""


_SPECIAL = re.compile(r"[^A-Za-z0-9_+.-]")


def groups(folder: Path = CONFIGS) -> dict[str, list[str]]:
    """The config groups and the options of each."""
    return {
        group.name: sorted(option.stem for option in group.glob("*.yaml"))
        for group in sorted(folder.iterdir())
        if group.is_dir() and any(group.glob("*.yaml"))
    }


def load(overrides: Sequence[str] = (), folder: Path = CONFIGS) -> RunConfig:
    """Composes a configuration.

    Args:
        overrides: ``key=value`` and ``group=option`` as typed on a command line.
        folder: the config groups.

    Raises:
        ConfigError: a key is unknown, a value is of the wrong type or impossible, a file cannot be read.
    """
    # The option of this group may also be a file of rules.
    overrides = [re.sub(r"^rules=(.*\.ya?ml['\"]?)$", r"rules.name=\1", text) for text in overrides]
    options = groups(folder)
    for text in overrides:
        _check(text, options)
    ConfigStore.instance().store(name="defaults_of_the_code", node=dataclasses.asdict(RunConfig()))
    try:
        with initialize_config_dir(str(folder.resolve()), version_base="1.3"):
            composed = compose("config", overrides=list(overrides), return_hydra_config=True)
        chosen = OmegaConf.to_container(composed.hydra.runtime.choices)
        OmegaConf.set_struct(composed, False)
        del composed["hydra"]
        values = OmegaConf.to_container(composed, resolve=True)
    except (HydraException, OmegaConfBaseException, YAMLError) as error:
        raise ConfigError(f"The configuration cannot be composed: {_one_line(error)}") from error
    try:
        return build(RunConfig, values)  # type: ignore[arg-type]
    except ConfigError as error:
        typed = any(_speaks_of(str(error), text.partition("=")[0]) for text in overrides)
        source = "" if typed else _source(str(error), chosen, folder)  # type: ignore[arg-type]
        raise ConfigError(f"{error}{source}") from None


def override(config: RunConfig, overrides: Sequence[str]) -> RunConfig:
    """A configuration with some keys changed, for a run that goes on.

    Raises:
        ConfigError: as :func:`load`; also for config groups, which only a new run can choose.
    """
    values = OmegaConf.create(dataclasses.asdict(config))
    for text in overrides:
        key, value = _check(text, {})
        OmegaConf.update(values, key, value)
    try:
        return build(RunConfig, OmegaConf.to_container(values, resolve=True))  # type: ignore[arg-type]
    except OmegaConfBaseException as error:
        raise ConfigError(f"The configuration cannot be composed: {_one_line(error)}") from error


def folder(key: str, text: str) -> Path:
    """The folder that a key names; ``~`` is the user's home, as in a shell."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigError(f"{key}={shown(text)}: there is no such user, so no such home folder.") from None


def read(path: Path) -> RunConfig:
    """The configuration that a run has written to a file, all of it.

    Raises:
        ConfigError: it was cut or garbled, or another version wrote it.
    """
    try:
        written = OmegaConf.load(path)
        config = build(RunConfig, OmegaConf.to_container(written))  # type: ignore[arg-type]
    except (ConfigError, OmegaConfBaseException, YAMLError, AttributeError, ValueError) as error:
        raise ConfigError(f"{path} holds no configuration of a run: {_one_line(error)}") from error
    if written != OmegaConf.create(dataclasses.asdict(config)):
        raise ConfigError(f"{path} does not hold the whole configuration of a run.")
    return config


def _check(text: str, options: Mapping[str, list[str]]) -> tuple[str, Any]:
    """Key and value of one override; ConfigError if it is malformed, or names no key or option."""
    if text.startswith("-"):
        raise ConfigError(f"Unknown option {shown(text)}; write key=value, or --help for the list of keys.")
    keys = keys_of(RunConfig)
    known = [*options, *keys, "resume"]
    try:
        parsed = OverridesParser.create().parse_override(text)
    except (HydraException, ValueError, RecursionError):  # ValueError: a number of thousands of digits
        raise ConfigError(_unreadable(text, known)) from None
    key = parsed.key_or_group
    if not key:
        raise ConfigError(f"Cannot read {shown(text)}: write key=value.")
    if parsed.type != OverrideType.CHANGE or parsed.package is not None:
        raise ConfigError(
            f"Cannot use {shown(text)}: write plain key=value; keys can be changed but not added or removed."
        )
    if parsed.is_sweep_override():
        whole = quote(key, text.partition("=")[2])
        raise ConfigError(
            f"Cannot use {shown(text)}: one run takes one value (-m makes a run of each); "
            f"write a list as {key}=[a,b], a text as {whole}."
        )
    value = parsed.value()
    if key in options:
        if value not in options[key]:
            near = difflib.get_close_matches(str(value)[:100], options[key], n=1, cutoff=0.0)[0]
            listed = ", ".join(options[key])
            raise ConfigError(f"There is no {key}={shown(value)}; the nearest is {key}={near} (choose from {listed}).")
    elif key not in keys:
        raise ConfigError(unknown_key(key, known))
    inner = next((name for name in keys if name.startswith(f"{key}.")), None)
    if inner and key not in options:
        raise ConfigError(
            f"Cannot use {shown(text)}: {key} is a section, whose keys are set one by one, like {inner}=..."
        )
    return key, value


def _unreadable(text: str, known: Sequence[str]) -> str:
    """One sentence for an override that Hydra's parser refuses: which one it is, and how to write it."""
    key, equals, value = text.partition("=")
    if not equals:
        return f"Cannot read {shown(text)}: write key=value."
    if key not in known:
        return unknown_key(key, known)
    if value.startswith(("[", "{")):
        example = shlex.quote(f'{key}=["one","two"]')
        return f"Cannot read {shown(text)}: write a list like {example}, each text in quotes."
    if not _SPECIAL.search(value):
        return f"Cannot read {shown(text)}: that number has too many digits."
    balanced = all(value.count(mark) % 2 == 0 for mark in "\"'")
    shape = quote(key, (value if balanced else value.strip("\"'"))[:100])
    return f"Cannot read {shown(text)}: a value of more than letters, digits and -_./ needs quotes, like {shape}."


def _source(message: str, chosen: Mapping[str, str], folder: Path) -> str:
    """`` (configs/learner/default.yaml)`` if a config file in use holds the key that ``message`` begins with."""
    for group, option in chosen.items():
        path = folder / group / f"{option}.yaml"
        if path.is_file():
            keys = _flat(OmegaConf.to_container(OmegaConf.load(path)), "" if group == "experiment" else f"{group}.")
            if any(f"'{key}'" in message or _speaks_of(message, key) for key in keys):
                return f" (set in {path.relative_to(folder.parent)})"
    return ""


def _speaks_of(message: str, key: str) -> bool:
    """True if a refusal is one of the value of ``key``."""
    return message.startswith(tuple(f"{key}{sign}" for sign in " =:"))


def _flat(values: Any, prefix: str) -> list[str]:
    keys = []
    for key, value in values.items():
        keys.append(f"{prefix}{key}")
        if isinstance(value, dict):
            keys += _flat(value, f"{prefix}{key}.")
    return keys


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def describe(config: RunConfig, folder: Path = CONFIGS) -> str:
    """Every group with its options and every key with its value and meaning, for ``--help``."""
    lines = ["Groups (group=option):"]
    lines += [f"  {group:<12} {', '.join(options)}" for group, options in groups(folder).items()]
    lines += ["", "Keys (key=value), with the values that this command would use:"]
    lines += _describe(config, "")
    return "\n".join(lines)


def _describe(section: Any, prefix: str) -> list[str]:
    docs, lines, nested = attribute_docs(type(section)), [], []
    for field in dataclasses.fields(section):
        value, key = getattr(section, field.name), f"{prefix}{field.name}"
        if dataclasses.is_dataclass(value):
            nested += ["", *_describe(value, f"{key}.")]
        else:
            setting = f"{key}={'null' if value is None else str(value).lower() if isinstance(value, bool) else value}"
            lines.append(f"  {setting:<40} {docs.get(field.name, '').replace('``', '')}")
    return lines + nested
