"""Write files atomically: a file keeps its old content until the new content is on the disk."""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from armlet.errors import ArmletError, clip, quote

MAX_PATH = 4096
"""Maximum number of characters of a path, in arguments and in messages."""


def expand_user(path: str | os.PathLike[str]) -> Path:
    """Return the path with a leading ~ replaced by the user's home folder."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # no such user
        return Path(path)


def shown_path(path: Path) -> str:
    """Return the path as text for a message, shortened to `MAX_PATH` characters."""
    return clip(str(path), MAX_PATH)


def unwritable(path: Path, reason: object) -> ArmletError:
    """Return the error for a file that cannot be written."""
    return ArmletError(f"{shown_path(path)}: cannot be written: {reason}")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise if the file `path` cannot be written; call this before computing the content."""
    path = expand_user(path)
    folder = path.absolute().parent
    if "\0" in str(path):
        raise unwritable(path, "a path has no null character")
    if os.path.isdir(path):
        raise unwritable(path, "this is a folder")
    if not os.path.isdir(folder):
        raise unwritable(path, f"{shown_path(folder)} is no folder")
    if not os.access(path if os.path.exists(path) else folder, os.W_OK):
        raise unwritable(path, "permission denied")


def check_folder(path: Path) -> None:
    """Raise if files cannot be written into the folder `path`; the folder need not exist yet."""
    there = next(x for x in (path.absolute(), *path.absolute().parents) if os.path.lexists(x))
    if not there.is_dir():
        raise unwritable(path, f"{shown_path(there)} is no folder")
    if not os.access(there, os.W_OK):
        raise unwritable(path, "permission denied")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a binary file that replaces `path` when the `with` block ends without an error.

    Until then an existing file stays unchanged. The new file gets the permissions of the old file.
    If `path` is a symbolic link, the link stays and its target is replaced. Special files
    (/dev/stdout, a pipe) and files in a read-only folder are written in place.
    """
    path = expand_user(path)
    check_writable(path)
    target = Path(os.path.realpath(path))
    try:
        if not _is_replaceable(path, target):
            with path.open("wb") as file:
                yield file
            return
        beside = target.with_name(f".armlet-{secrets.token_hex(8)}")
        try:
            with beside.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error.strerror or error) from None


def _is_replaceable(path: Path, target: Path) -> bool:
    """Return whether `target`, the resolved `path`, is a regular or new file in a writable folder.

    Return False for a `path` in /proc or /dev (but not /dev/shm), even if it resolves to a file.
    """
    own = path.absolute()
    special = own.is_relative_to("/dev") and not own.is_relative_to("/dev/shm")
    if special or own.is_relative_to("/proc"):
        return False
    return (target.is_file() or not target.exists()) and os.access(target.parent, os.W_OK)


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically, as `replacing` does."""
    with replacing(path) as file:
        file.write(data)


def write(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file atomically, as `replacing` does."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise unwritable(Path(path), f"UTF-8 has no character {quote(character)}") from None
    write_bytes(path, data)
