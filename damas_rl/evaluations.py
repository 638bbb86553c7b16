"""Files of learned evaluations for alpha-beta: one line of JSON, then the compressed weights."""

import hashlib
import json
import lzma
from pathlib import Path

import numpy as np

from damas_env.errors import shown
from damas_env.rules import RuleSet
from damas_rl.files import atomic_write, read_header, why
from damas_rl.search.learned import WEIGHTS

SHIPPED = Path(__file__).parent / "nets"
"""Evaluations that ship with the package, ``<name>.eval``."""

_FORMAT = "damas-evaluation 1"


class EvaluationError(ValueError):
    """An evaluation that cannot be read or used; the message is one sentence for the user."""


def shipped_evaluations() -> list[str]:
    """Names of the evaluations that ship with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.eval"))


def save_evaluation(path: Path, weights: np.void, rules: RuleSet) -> None:
    """Writes a file, all or nothing.

    Args:
        path: the file.
        weights: a ``WEIGHTS`` record.
        rules: a rule set of the way of moving that they were fitted for.

    Raises:
        OSError: it cannot be written.
    """
    data = b"".join(weights[name].astype(dtype.base.newbyteorder("<")).tobytes() for name, dtype in _fields())
    header = {
        "format": _FORMAT, "rules": rules.name, "movement": rules.spec.flags, "sha256": hashlib.sha256(data).hexdigest()
    }  # fmt: skip
    atomic_write(path, [json.dumps(header).encode() + b"\n", lzma.compress(data)])


def load_evaluation(source: str, rules: RuleSet) -> np.void:
    """The weights (a ``WEIGHTS`` record) in a file, or those of an evaluation that ships with the package.

    Raises:
        EvaluationError: there is none, it cannot be read, is damaged, or was made for another way of moving.
    """
    path = Path(source)
    if not path.exists():
        if source not in shipped_evaluations():
            names = ", ".join(shipped_evaluations()) or "none"
            raise EvaluationError(f"There is no file or shipped evaluation {source!r} (shipped: {names}).")
        path = SHIPPED / f"{source}.eval"
    if not path.is_file():
        raise EvaluationError(f"{path} is not a file.")
    try:
        with open(path, "rb") as file:
            header = read_header(file, _FORMAT)
            packed = file.read(2 * WEIGHTS.itemsize)
    except OSError as error:
        raise EvaluationError(f"The evaluation {path} could not be read: {why(error)}.") from None
    if header is None:
        raise EvaluationError(f"{path} is no evaluation of this version of the program.")
    if header.get("movement") != rules.spec.flags:
        made_for = shown(header.get("rules"))
        raise EvaluationError(f"The evaluation {path} was made for {made_for}; {rules.name!r} moves otherwise.")
    size = sum(dtype.itemsize for _, dtype in _fields())
    try:
        data = lzma.LZMADecompressor().decompress(packed, max_length=size)
    except lzma.LZMAError:
        data = b""
    if len(data) != size or hashlib.sha256(data).hexdigest() != header.get("sha256"):
        raise EvaluationError(f"The evaluation {path} is damaged: its content does not match its checksum.")
    weights, start = np.zeros(1, dtype=WEIGHTS)[0], 0
    for name, dtype in _fields():
        stop = start + dtype.itemsize
        weights[name] = np.frombuffer(data[start:stop], dtype.base.newbyteorder("<")).reshape(dtype.shape)
        start = stop
    return weights


def _fields() -> list[tuple[str, np.dtype]]:
    """Names and types of the parts of a record, without what alignment puts between them."""
    return [(name, WEIGHTS[name]) for name in WEIGHTS.names or ()]
