"""Programs and compiled code kept on disk by content, in a directory that only the user may write.

Whatever goes wrong, be it a damaged entry, a directory of someone else's or a full disk, is as if
nothing had been kept.
"""

import os
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

FORMAT = "1"
"""Raised when the same text is compiled in another way."""
LIMIT = 512 * 2**20
"""How many bytes are kept; beyond, what was used longest ago goes."""
OBJECT, UNFINISHED = ".object", ".unfinished"
CHECKSUM = 32


def directory() -> Path | None:
    """Where objects are kept: $ARMLET_CACHE, else armlet in the user's cache directory.

    None if that is "off", cannot be had, is not the user's own or may be written by others.
    """
    asked = os.environ.get("ARMLET_CACHE")
    if asked == "off":
        return None
    try:
        path = Path(asked) if asked else _user_cache() / "armlet"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except (OSError, RuntimeError):
        return None
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o022):
        return None
    return path


def key(*parts: str) -> str:
    """The name of what the parts determine."""
    return sha256("\0".join((FORMAT, *parts)).encode()).hexdigest()


def load(key: str) -> bytes | None:
    """The object kept under a name, if it is there and whole."""
    folder = directory()
    if folder is None:
        return None
    path = folder / (key + OBJECT)
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if data[:CHECKSUM] != _checksum(key, data[CHECKSUM:]):
        return None
    with suppress(OSError):
        os.utime(path)
    return data[CHECKSUM:]


def save(key: str, data: bytes) -> None:
    """Keep an object under a name, all of it or nothing."""
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
        _trim(folder)


def _user_cache() -> Path:
    given = os.environ.get("XDG_CACHE_HOME", "")
    return Path(given) if os.path.isabs(given) else Path.home() / ".cache"


def _checksum(key: str, data: bytes) -> bytes:
    return sha256(key.encode() + data).digest()


def _trim(folder: Path) -> None:
    """Remove what was used longest ago until the rest is within the limit."""
    paths = [path for path in folder.iterdir() if path.suffix in (OBJECT, UNFINISHED)]
    used = {}
    for path in paths:
        with suppress(OSError):
            found = path.stat()
            used[path] = (found.st_atime, found.st_size)
    total = sum(size for _, size in used.values())
    for path in sorted(used, key=lambda path: used[path][0]):
        if total <= LIMIT:
            break
        total -= used[path][1]
        with suppress(OSError):
            path.unlink()
