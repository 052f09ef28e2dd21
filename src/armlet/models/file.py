"""Reading model files of bounded size, and writing files atomically."""

import os
import secrets
import stat
from pathlib import Path

from armlet.errors import ArmletError, ModelError, quoted, shown

MAX_BYTES = 32 * 2**20
MAX_PATH = 4096
"""The longest path that can name a file."""


def expanded(path: str | Path) -> Path:
    """The path, with ~ at its start replaced by the user's home folder."""
    try:
        return Path(path).expanduser()
    except (RuntimeError, ValueError):  # no such user
        return Path(path)


def shown_path(path: Path) -> str:
    """The whole path for a message."""
    return shown(str(path), MAX_PATH)


def contents(path: Path) -> bytes:
    """The bytes of a model file."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"{shown(path.name)}: the file cannot be read: {error.strerror}; expected one you may "
            "read"
        ) from None
    if len(data) > MAX_BYTES:
        raise ModelError(
            f"{shown(path.name)}: the file has more than {MAX_BYTES} bytes: expected the "
            "description of one robot, without its meshes"
        )
    return data


def check_writable(path: Path) -> None:
    """Refuse a path that no file can be written to, before computing its content."""
    folder = path.absolute().parent
    if path.is_dir():
        raise unwritable(path, "this is a folder")
    if not folder.is_dir():
        raise unwritable(path, f"{shown_path(folder)} is no folder")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise unwritable(path, "permission denied")


def check_folder(path: Path) -> None:
    """Refuse a path that cannot be a folder to write files in, before computing their content."""
    there = next(x for x in (path.absolute(), *path.absolute().parents) if os.path.lexists(x))
    if not there.is_dir():
        raise unwritable(path, f"{shown_path(there)} is no folder")
    if not os.access(there, os.W_OK):
        raise unwritable(path, "permission denied")


def unwritable(path: Path, reason: str | None) -> ArmletError:
    """The error that a file cannot be written."""
    return ArmletError(f"{shown_path(path)}: cannot be written: {reason}")


def write(path: Path, text: str) -> None:
    """Write a text file atomically, as `write_bytes` does."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        character = text[error.start]
        raise unwritable(path, f"UTF-8 has no character {quoted(character)}") from None
    write_bytes(path, data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: an existing file stays until the new content is on the disk.

    A link stays a link, to the new content. Special files (/dev/stdout, a pipe) and files in a
    folder that is not writable are written in place.
    """
    try:
        check_writable(path)
        if _replaceable(path):
            _replace(path.resolve(), data)
        else:
            path.write_bytes(data)
    except OSError as error:
        raise unwritable(path, error.strerror) from None


def _replaceable(path: Path) -> bool:
    if path.absolute().is_relative_to("/dev") or (path.exists() and not path.is_file()):
        return False
    return os.access(path.resolve().parent, os.W_OK)


def _replace(path: Path, data: bytes) -> None:
    """Write beside the file, then rename; an existing file's permissions are kept."""
    beside = path.with_name(f".armlet-{secrets.token_hex(8)}")
    try:
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(stat.S_IMODE(path.stat().st_mode))
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
