"""Files that are whole or not there: written beside their place, synced, then renamed into it."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path


def atomic_write(path: Path, chunks: Iterable[bytes | memoryview]) -> None:
    """Writes ``path`` so that at any moment, a power cut included, it holds the old content or all of the new one.

    Raises:
        OSError: nothing has been changed then, and no temporary file is left.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes renames and removals in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def why(error: OSError) -> str:
    """The cause of a failed file operation in plain words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "permission denied"
    return (error.strerror or str(error)).lower()
