"""Programs and compiled code cached on disk by content, in a directory only the user may write to.

Entries are machine code that will be run, so a file is read only if the user owns it and no one
else may write to it. Errors are ignored, as if nothing had been cached: a damaged entry, a
directory of another user, a full disk.
"""

import os
import secrets
import stat
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

from platformdirs import user_cache_path

FORMAT = "2"
"""A part of every key; increased whenever the same text begins to compile to other code."""
LIMIT = 512 * 2**20
"""The size of the cache in bytes; beyond it the least recently used objects are removed."""
SAVES_PER_TRIM = 64
"""The average number of saved objects per check of the limit, since a check lists all files."""
OBJECT, UNFINISHED = ".object", ".unfinished"
CHECKSUM = 32
READ_ONLY = os.O_RDONLY
for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # each system has some of these
    READ_ONLY |= getattr(os, flag, 0)
"""Flags for os.open: follow no links, do not wait at pipes, keep line endings."""


def directory() -> Path | None:
    """Where objects are cached: $ARMLET_CACHE, else armlet in the user's cache directory.

    None if $ARMLET_CACHE is "off" or a relative path, which would depend on the working
    directory, or if the directory cannot be created or is not private to the user.
    """
    chosen = os.environ.get("ARMLET_CACHE")
    if chosen == "off":
        return None
    try:
        if chosen:
            path = Path(chosen).expanduser()
        else:
            path = user_cache_path("armlet", appauthor=False, opinion=False)
        if not path.is_absolute():
            if chosen:
                _warn_of_relative(str(path))
            return None
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):
        return None
    return path if _is_private(status) else None


@cache
def _warn_of_relative(path: str) -> None:
    """Warn once that nothing is cached, since the path is relative."""
    warnings.warn(
        f"ARMLET_CACHE is {path!r}, a relative path: nothing is cached; give an absolute path, or "
        '"off" to cache nothing',
        stacklevel=2,
    )


def _is_private(status: os.stat_result) -> bool:
    """Whether a file or directory is the user's own, and no one else may write to it.

    Windows has no owner numbers and mode bits: there the default directory is private by its
    access rights, and that of $ARMLET_CACHE is not checked.
    """
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def key(*texts: str) -> str:
    """The name of a cached object: a digest of all texts that the object depends on."""
    return sha256("\0".join((FORMAT, *texts)).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """The object cached under a name; None if there is none, or it is damaged or not private."""
    folder = directory()
    if folder is None:
        return None
    try:
        data = _read(folder / (key + OBJECT))
    except OSError:
        return None
    return data[CHECKSUM:] if data[:CHECKSUM] == _checksum(key, data[CHECKSUM:]) else None


def _read(path: Path) -> bytes:
    """The bytes of a private regular file, marked as used now; empty for any other file."""
    with open(os.open(path, READ_ONLY), "rb") as file:
        status = os.fstat(file.fileno())
        if not (stat.S_ISREG(status.st_mode) and _is_private(status)):
            return b""
        data = file.read()
        with suppress(OSError):
            os.utime(path)
        return data


def save(key: str, data: bytes) -> None:
    """Cache an object under a name; an interrupted or failed write leaves no entry."""
    folder = directory()
    if folder is None:
        return
    with suppress(OSError):
        handle, unfinished = tempfile.mkstemp(UNFINISHED, dir=folder)
        try:
            with open(handle, "wb") as file:
                file.write(_checksum(key, data) + data)
            os.replace(unfinished, folder / (key + OBJECT))
        finally:
            Path(unfinished).unlink(missing_ok=True)
        if secrets.randbelow(SAVES_PER_TRIM) == 0:
            _trim(folder)


def _checksum(key: str, data: bytes) -> bytes:
    return sha256(key.encode() + data).digest()


def _trim(folder: Path) -> None:
    """Remove the least recently used objects until the rest is within the limit."""
    used = {}
    for path in folder.iterdir():
        if path.suffix not in (OBJECT, UNFINISHED):
            continue
        with suppress(OSError):
            status = path.lstat()
            used[path] = (status.st_atime, status.st_size)
    total = sum(size for _, size in used.values())
    for path in sorted(used, key=lambda path: used[path][0]):
        if total <= LIMIT:
            break
        total -= used[path][1]
        with suppress(OSError):
            path.unlink()
