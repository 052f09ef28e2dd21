"""Disk cache of programs and machine code, in a directory that only the user may write to.

Cached machine code will be run, so a file is read only if the user owns it and nobody else may
write to it. Errors, such as a damaged entry, a directory of another user or a full disk, are
ignored, as if nothing had been cached.
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
"""A part of every key, to be increased when the same text compiles to different code."""
LIMIT = 512 * 2**20
"""The size limit of the cache in bytes; beyond it, the least recently used objects are removed."""
SAVES_PER_TRIM = 64
"""The average number of saves between two checks of `LIMIT`; a check lists all files."""
OBJECT, UNFINISHED = ".object", ".unfinished"
CHECKSUM = 32
READ_ONLY = os.O_RDONLY
for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # a system defines some of these
    READ_ONLY |= getattr(os, flag, 0)
"""Flags for os.open: follow no links, do not wait at pipes, keep line endings."""


def directory() -> Path | None:
    """Return the cache directory: $ARMLET_CACHE, else "armlet" in the user's cache directory.

    Return None if $ARMLET_CACHE is "off" or a relative path, which would depend on the working
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
    """Warn, once per path, that nothing is cached because $ARMLET_CACHE is relative."""
    warnings.warn(
        f"ARMLET_CACHE is {path!r}, a relative path: nothing is cached; give an absolute path, or "
        '"off" to cache nothing',
        stacklevel=2,
    )


def _is_private(status: os.stat_result) -> bool:
    """Whether the user owns a file or directory, and nobody else may write to it.

    Always True on Windows, which has no owner ids or mode bits: the default directory is
    private by its access rights, and a directory in $ARMLET_CACHE is not checked.
    """
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def key(*texts: str) -> str:
    """Return the cache key of an object: a digest of all texts that the object depends on."""
    return sha256("\0".join((FORMAT, *texts)).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """Return the object cached under `key`; None if it is missing, damaged or not private."""
    folder = directory()
    if folder is None:
        return None
    try:
        data = _read(folder / (key + OBJECT))
    except OSError:
        return None
    return data[CHECKSUM:] if data[:CHECKSUM] == _checksum(key, data[CHECKSUM:]) else None


def _read(path: Path) -> bytes:
    """Read a private regular file and mark it as used now; return b"" for other files."""
    with open(os.open(path, READ_ONLY), "rb") as file:
        status = os.fstat(file.fileno())
        if not (stat.S_ISREG(status.st_mode) and _is_private(status)):
            return b""
        data = file.read()
        with suppress(OSError):
            os.utime(path)
        return data


def save(key: str, data: bytes) -> None:
    """Cache `data` under `key`; an interrupted or failed write leaves no entry."""
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
    """Remove the least recently used objects until the cache is within `LIMIT`."""
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
