"""Files that are whole or not there: written beside their place, synced, then renamed into it."""

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

_LONGEST_HEADER = 4096


def atomic_write(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Writes ``path`` so that at any moment, a power cut included, it holds the old content or all of the new one.

    Where ``path`` is a link, the file that it leads to is written. What cannot be replaced, such as ``/dev/stdout``, is
    written to as it stands.

    Raises:
        OSError: names ``path``; nothing has been changed then, and no temporary file is left.
    """
    with _named(path):
        if _is_device(path):
            with open(path, "wb") as device:
                device.writelines(chunks)
            return
        place, temporary = _places(path)
        try:
            with open(temporary, "wb") as file:
                file.writelines(chunks)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, place)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(place.parent)


def check_writable(path: Path) -> None:
    """Finds out, before long work, whether :func:`atomic_write` could write ``path``; leaves no trace.

    Raises:
        OSError: it could not; names ``path``.
    """
    with _named(path):
        if _is_device(path):
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        _, temporary = _places(path)
        open(temporary, "wb").close()
        temporary.unlink()


def _is_device(path: Path) -> bool:
    """True for what is there and is no regular file; IsADirectoryError for a folder."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return path.exists() and not path.is_file()


def _places(path: Path) -> tuple[Path, Path]:
    """The file that ``path`` leads to, and the temporary file beside it, whose name is short enough if its own is."""
    place = Path(os.path.realpath(path))
    return place, place.with_name(f".{place.name[:20]}.{os.getpid()}.tmp")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Makes an OSError name ``path`` instead of a temporary file."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = str(path), None
        raise


def open_regular(path: Path) -> BinaryIO:
    """Opens a file for reading.

    Raises:
        OSError: it cannot be read, or is a pipe or a device, at which reading may never end.
    """
    # A pipe without a writer would keep even the opening waiting.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    return file


def read_header(file: BinaryIO, wanted: str) -> dict[str, Any] | None:
    """The line of JSON with which a file begins; None unless it is a mapping whose ``format`` is ``wanted``."""
    try:
        header = json.loads(file.readline(_LONGEST_HEADER))
    except (ValueError, RecursionError):
        return None
    return header if isinstance(header, dict) and header.get("format") == wanted else None


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def why(error: OSError | ValueError) -> str:
    """The cause of a failed file operation in plain words; a ValueError comes from a text that can be no path."""
    if isinstance(error, ValueError):
        return str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if error.errno in (errno.EACCES, errno.EPERM):
        return "permission denied"
    return (error.strerror or str(error)).lower()


def user_folder(variable: str, otherwise: str) -> Path:
    """Where the user's files of one kind are kept: in the folder that ``variable`` names, else in one below home.

    Source: XDG base directory specification.
    """
    folder = Path(os.environ.get(variable, ""))
    if not folder.is_absolute():  # the specification says to ignore others
        folder = Path.home() / otherwise
    return folder / "damas-rl"
