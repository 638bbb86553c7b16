"""How rules reach machine code: the ``@kernel`` decorator, the ``Spec`` argument and the bit intrinsics.

A rule set reaches a kernel as a :class:`Spec`, an object without size whose *type* carries the movement flags.
Numba therefore compiles one version of each kernel for each rule set, LLVM folds the flags to constants, and a
rule set pays nothing for the rules of another one. The types pickle, so every version is cached on disk.
"""

import contextlib
import glob
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, types
from numba.core.caching import IndexDataCacheFile
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

_RULES_FOLDER = Path(__file__).parent


@cache
def _sources_digest(folder: Path) -> str:
    """Digest of the files that kernels of a package are made from: all of ``damas_env``, elsewhere those with kernels.

    Constants of ``damas_env`` (flags, tables of the board, numbers of terminations) are compiled into kernels.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py") if _is_package(folder) else folder.glob("*.py")):
        text = path.read_bytes()
        if folder == _RULES_FOLDER or b"@kernel" in text or b"@intrinsic" in text:
            digest.update(text)
    return digest.hexdigest()


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").exists()


def _package_of(path: Path) -> Path:
    """The folder of the outermost package that a source file is in; its own folder if it is in none."""
    folder = path.parent
    while _is_package(folder) and _is_package(folder.parent):
        folder = folder.parent
    return folder


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles ``function`` with Numba: no Python objects, GIL released, machine code cached on disk.

    Numba's cache looks at the file of the outermost function only, although the functions that it calls, which
    may live in other files, are compiled into it. Here a cached kernel is valid only while the text of all kernel
    files of its own package and of ``damas_env`` is unchanged.
    """
    dispatcher = njit(cache=True, nogil=True, error_model="numpy")(function)
    folders = {_RULES_FOLDER, _package_of(Path(function.__code__.co_filename))}
    stamp = "".join(_sources_digest(folder) for folder in sorted(folders))
    cache = dispatcher._cache
    cache._cache_file = _CacheFile(cache._cache_path, cache._cache_file._index_name.removesuffix(".nbi"), stamp)
    return dispatcher


class _CacheFile(IndexDataCacheFile):
    """The cache of one kernel, where several processes may compile at once and versions follow each other.

    Numba numbers its data files. Two processes that save different signatures at the same time can choose one number
    for both, and the index then leads to the code of the other signature. Here a file is named after all that decides
    its content, and written before the index knows it.
    """

    def __init__(self, path: str, base: str, stamp: str) -> None:
        super().__init__(path, base, stamp)
        self._base = base

    def load(self, key: Any) -> Any:
        """The code of a signature, None if there is none or it cannot be read: it is compiled anew then."""
        try:
            return super().load(key)
        except Exception:  # whatever unpickling raises
            return None

    def save(self, key: Any, data: Any) -> None:
        """Keeps the code of a signature, if there is room: a kernel works without.

        The files of earlier versions go when the first one of a new version comes.
        """
        with contextlib.suppress(OSError):
            self._save(key, data)

    def _save(self, key: Any, data: Any) -> None:
        name = f"{self._base}.{hashlib.sha256(repr((self._source_stamp, key)).encode()).hexdigest()[:24]}.nbc"
        self._save_data(name, data)
        overloads = self._load_index()
        if not overloads:
            for old in Path(self._cache_path).glob(f"{glob.escape(self._base)}.*.nbc"):
                if old.name != name:
                    old.unlink(missing_ok=True)
        self._save_index({**overloads, key: name})

    def _load_index(self) -> dict[Any, str]:
        """The index, empty if it cannot be read.

        Numba unpickles an index before it looks at the stamp; one that an earlier version of a program has left may
        name classes that are gone.
        """
        try:
            return dict(super()._load_index())
        except Exception:  # whatever unpickling raises
            return {}


class Spec:
    """The movement flags of a rule set (see :mod:`damas_env.rules`), as an argument of kernels."""

    __slots__ = ("flags",)

    def __init__(self, flags: int) -> None:
        self.flags = flags


class SpecType(types.Type):
    """Numba type of :class:`Spec`; the flags are part of the type."""

    def __init__(self, flags: int) -> None:
        self.flags = flags
        super().__init__(name=f"Spec({flags})")


@typeof_impl.register(Spec)
def _typeof_spec(value: Spec, context: Any) -> SpecType:
    return SpecType(value.flags)


@register_model(SpecType)
class _SpecModel(models.OpaqueModel):
    pass


@unbox(SpecType)
def _unbox_spec(typ: SpecType, obj: Any, context: Any) -> NativeValue:
    return NativeValue(context.context.get_dummy_value())


@intrinsic
def flags_of(typing_context: Any, spec: Any) -> Any:
    """The flags of a ``Spec`` as a compile-time constant (int64)."""
    if not isinstance(spec, SpecType):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.int64, spec.flags)

    return types.int64(spec), generate


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a uint64 (int64)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


@intrinsic
def lowest(typing_context: Any, word: Any) -> Any:
    """Index of the lowest set bit of a uint64 (int64); 64 for 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, 0))

    return types.int64(types.uint64), generate


@intrinsic
def highest(typing_context: Any, word: Any) -> Any:
    """Index of the highest set bit of a uint64 (int64); -1 for 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], context.get_constant(types.boolean, 0))
        return builder.sub(context.get_constant(types.int64, 63), zeros)

    return types.int64(types.uint64), generate


@intrinsic
def reverse_bits(typing_context: Any, word: Any) -> Any:
    """A uint64 with its 64 bits in reverse order."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitreverse(arguments[0])

    return types.uint64(types.uint64), generate
