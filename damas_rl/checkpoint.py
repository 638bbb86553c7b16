"""Checkpoints: files that hold all of a training run, or just a network, and that cannot run code when read.

A file is a header (magic, format, length and SHA-256 of the rest) followed by a ``torch.save`` archive of plain types
and tensors, which is read with ``weights_only=True``. Truncated, damaged and foreign files are told apart before
anything in them is looked at.
"""

import dataclasses
import hashlib
import io
import json
import os
import pickle
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

import damas_env
from damas_env.presets import RULE_SETS
from damas_env.rules import DrawLaw, RuleSet
from damas_env.termination import Termination
from damas_rl.files import atomic_write, sync_folder, why
from damas_rl.networks import NetworkConfig, PolicyValueNet, build_network
from damas_rl.run_files import CHECKPOINTS, NETWORKS
from damas_rl.strict import ConfigError, build

FORMAT = 1
"""Raised whenever the content of checkpoints changes."""

NETS = Path(__file__).parent / "nets"
"""Networks that ship with the package, ``<name>.pt``."""

_MAGIC = b"damas-rl checkpoint\n"
_HEADER = struct.Struct(f"<{len(_MAGIC)}sIQ32s")
_ARRAY = "__array__"


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, used or written; the message is one sentence for the user."""


class DamagedCheckpointError(CheckpointError):
    """A file that is no whole checkpoint of any version."""


def write_checkpoint(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a checkpoint atomically.

    Args:
        path: the file.
        content: nested dicts, lists and tuples of tensors, numpy arrays, numbers, text, bools and None. The format
            and the versions of rules and actions are added.

    Raises:
        CheckpointError: the disk is full or not writable; a file that was there before is unharmed.
    """
    buffer = io.BytesIO()
    versions = {"rules_version": damas_env.RULES_VERSION, "action_version": damas_env.ACTION_VERSION}
    torch.save(_pack({**content, **versions}), buffer)
    payload = buffer.getbuffer()
    header = _HEADER.pack(_MAGIC, FORMAT, len(payload), hashlib.sha256(payload).digest())
    try:
        atomic_write(path, (header, payload))
    except OSError as error:
        raise CheckpointError(f"The checkpoint {path} could not be written: {why(error)}.") from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Reads a checkpoint or network file; tensors come back on the CPU, arrays as numpy arrays.

    Raises:
        DamagedCheckpointError: foreign, incomplete or damaged.
        CheckpointError: not there, not readable, or of another version.
    """
    try:
        payload = _read_payload(path)
    except OSError as error:
        raise CheckpointError(f"The checkpoint {path} could not be read: {why(error)}.") from error
    try:
        content = _unpack(torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True))
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"The checkpoint {path} holds objects that are not plain data; it was not read."
        ) from error
    except (EOFError, KeyError, AttributeError, TypeError, IndexError, ValueError, RuntimeError) as error:
        raise DamagedCheckpointError(f"The checkpoint {path} is damaged: its content cannot be read.") from error
    if not isinstance(content, dict) or not {"rules_version", "action_version"} <= content.keys():
        raise DamagedCheckpointError(f"The checkpoint {path} is damaged: it does not say which version made it.")
    for name, current in (("rules", damas_env.RULES_VERSION), ("action", damas_env.ACTION_VERSION)):
        made_with = content[f"{name}_version"]
        if made_with != current:
            raise CheckpointError(
                f"{path} was made with version {made_with} of the {name} code, but this is version {current}."
            )
    return content


def _read_payload(path: Path) -> bytes:
    """What follows the header of a checkpoint; no more of a foreign file is read than its beginning."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe or /dev/zero would never end
        raise CheckpointError(f"{path} is not a file.")
    with open(path, "rb") as file:
        head = file.read(_HEADER.size)
        if not head.startswith(_MAGIC) and not _MAGIC.startswith(head[: len(_MAGIC)]):
            raise DamagedCheckpointError(f"{path} is not a checkpoint of damas-rl.")
        if len(head) < _HEADER.size:
            raise DamagedCheckpointError(f"The checkpoint {path} is incomplete: it has {len(head)} bytes.")
        _, version, length, digest = _HEADER.unpack(head)
        if version != FORMAT:
            raise CheckpointError(
                f"{path} is a checkpoint of format {version}, but this version reads format {FORMAT}."
            )
        there = os.fstat(file.fileno()).st_size - _HEADER.size
        if there < length:
            raise DamagedCheckpointError(f"The checkpoint {path} is incomplete: {length - there} bytes are missing.")
        payload = file.read(length)
    if there > length or hashlib.sha256(payload).digest() != digest:
        raise DamagedCheckpointError(f"The checkpoint {path} is damaged: its content does not match its checksum.")
    return payload


def _pack(value: Any) -> Any:
    """``value`` with numpy arrays as marked tensors and numpy scalars as Python numbers."""
    if isinstance(value, np.ndarray):
        return {_ARRAY: torch.from_numpy(np.require(value, requirements=["C", "W"]))}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: _pack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_pack(item) for item in value)
    return value


def _unpack(value: Any) -> Any:
    """The inverse of :func:`_pack`."""
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return value[_ARRAY].numpy()
        return {key: _unpack(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_unpack(item) for item in value)
    return value


def save_numbered(folder: Path, iteration: int, content: Mapping[str, Any], keep: int) -> Path:
    """Writes the checkpoint of an iteration and then removes all but the newest ``keep`` checkpoints of the folder.

    Raises:
        CheckpointError: it could not be written; the earlier ones are all there.
    """
    path = folder / CHECKPOINTS.name(iteration)
    write_checkpoint(path, content)
    for old in numbered(folder)[:-keep]:
        old.unlink(missing_ok=True)
    sync_folder(folder)
    return path


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a folder, oldest first."""
    found = {CHECKPOINTS.iteration(path.name): path for path in folder.glob("*")}
    return [found[iteration] for iteration in sorted(number for number in found if number is not None)]


def load_newest(folder: Path) -> tuple[dict[str, Any], Path, dict[Path, str]]:
    """The newest checkpoint of a folder that is not damaged.

    Returns:
        its content, its path, and the newer, damaged ones that had to be passed over, each with a sentence why.

    Raises:
        CheckpointError: there is none, or it is whole but cannot be used (another version, no permission).
    """
    passed_over: dict[Path, str] = {}
    for path in reversed(numbered(folder)):
        try:
            return read_checkpoint(path), path, passed_over
        except DamagedCheckpointError as error:
            passed_over[path] = str(error)
    if passed_over:
        raise CheckpointError(f"No checkpoint in {folder} can be used. {next(iter(passed_over.values()))}")
    raise CheckpointError(f"There is no checkpoint in {folder}.")


def network_content(config: NetworkConfig, weights: Mapping[str, torch.Tensor], rules: RuleSet) -> dict[str, Any]:
    """What a file must hold so that :func:`load_network` can make the network from it.

    Args:
        config: the network's shape.
        weights: its state dict (of the averaged weights, in training).
        rules: the rule set that it was trained for.
    """
    # Plain JSON types: enums become numbers, tuples lists.
    return {
        "rules": json.loads(json.dumps(dataclasses.asdict(rules))),
        "network": {"config": dataclasses.asdict(config), "weights": dict(weights)},
    }


def load_network(source: str | Path) -> tuple[PolicyValueNet, RuleSet]:
    """Loads a trained network in evaluation mode.

    Args:
        source: a checkpoint or network file, a run directory (its best measured network, or else its newest
            checkpoint), or the name of a network that ships with the package.

    Returns:
        the network, on the CPU, and the rule set that it was trained for.

    Raises:
        CheckpointError: nothing usable is there.
    """
    content, path = read_network(source)
    return network_from(content, path), rules_from(content, path)


def read_network(source: str | Path) -> tuple[dict[str, Any], Path]:
    """Content and path of the file that ``source`` stands for, see :func:`load_network`."""
    path = Path(source)
    if path.is_dir():
        measured = best_measured(path)
        if measured is not None:
            return read_checkpoint(measured), measured
        folder = path if numbered(path) else path / CHECKPOINTS.folder
        if not numbered(folder):
            raise CheckpointError(f"{path} is not a run directory with checkpoints.")
        content, newest, _ = load_newest(folder)
        return content, newest
    if not path.exists() and str(source) in shipped_networks():
        path = NETS / f"{source}.pt"
    elif not path.exists():
        names = ", ".join(shipped_networks()) or "none"
        raise CheckpointError(f"There is no file, run directory or shipped network {str(source)!r} (shipped: {names}).")
    return read_checkpoint(path), path


def best_measured(run: Path) -> Path | None:
    """The network that the file ``best`` of a run names, None if either is not there.

    Raises:
        CheckpointError: what stands in ``best`` is no name of a network.
    """
    best = run / "best"
    if not best.is_file():
        return None
    try:
        with open(best, encoding="ascii", errors="replace") as file:
            name = file.read(100).strip()
    except OSError as error:
        raise CheckpointError(f"{best} could not be read: {why(error)}.") from error
    if NETWORKS.iteration(name) is None:
        raise CheckpointError(
            f"{best} names no network of {run / NETWORKS.folder} such as {NETWORKS.name(12)}; remove it, or choose the "
            "network yourself with net=FILE."
        )
    measured = run / NETWORKS.folder / name
    return measured if measured.is_file() else None


def shipped_networks() -> list[str]:
    """Names of the networks that ship with the package."""
    return sorted(path.stem for path in NETS.glob("*.pt"))


def network_from(content: Mapping[str, Any], path: Path) -> PolicyValueNet:
    """The network of a checkpoint's content; ``path`` is for messages."""
    rules = rules_from(content, path)
    try:
        saved = content["network"]
        config, weights = build(NetworkConfig, saved["config"]), saved["weights"]
        with torch.device("meta"):  # a small file may describe a network that would not fit into memory
            expected = build_network(config, rules).state_dict()
        if {name: tensor.shape for name, tensor in weights.items()} != {n: t.shape for n, t in expected.items()}:
            raise ValueError("weights of another shape")
        network = build_network(config, rules)
        network.load_state_dict(weights)
    except ConfigError as error:
        raise CheckpointError(f"{path} holds no network that can be built here: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError, RuntimeError) as error:
        raise CheckpointError(f"{path} holds no network that this version can build.") from error
    return network.eval()


def rules_from(content: Mapping[str, Any], path: Path) -> RuleSet:
    """The rule set of a checkpoint's content.

    Raises:
        CheckpointError: there is none, or a rule set of that name is known here but plays differently.
    """
    try:
        saved = content["rules"]
        laws = tuple(_draw_law(law) for law in saved["draw_laws"])
        rules = RuleSet(**{**saved, "draw_laws": laws})
        known = RULE_SETS.get(rules.name, rules)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise CheckpointError(f"{path} holds no network that this version can build.") from error
    names = [field.name for field in dataclasses.fields(RuleSet) if field.name != "title"]
    differing = [name for name in names if getattr(known, name) != getattr(rules, name)]
    if differing:
        listed = ", ".join(differing)
        raise CheckpointError(f"{path} was made under other rules than {rules.name!r} means here ({listed} differ).")
    return known


def _draw_law(saved: Mapping[str, Any]) -> DrawLaw:
    """A draw law from plain types."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in saved.items()}
    values["termination"] = Termination(saved["termination"])
    return DrawLaw(**values)
