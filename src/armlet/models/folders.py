"""The folders that the files named in a model may be in."""

import os
from collections.abc import Sequence
from pathlib import Path

from armlet.errors import ModelError, quoted, shown
from armlet.models.file import MAX_BYTES, MAX_PATH

MAX_MESH_BYTES = 64 * 2**20
"""The most bytes of one mesh."""
MAX_ALL_MESHES = 512 * 2**20
"""The most bytes of all meshes of a model that are read."""


class Folders:
    """The folder of a model and those that the user names: files elsewhere are not read.

    A link counts as the file it points to. The bytes of all files are bounded.
    """

    def __init__(self, own: Path, named: Sequence[str | Path] = ()) -> None:
        self.allowed = [_real(own), *map(_existing, checked_folders(named))]
        self.left = {"text": MAX_BYTES, "mesh": MAX_ALL_MESHES}

    def find(self, name: str, starts: Sequence[Path], subject: str) -> Path | None:
        """The file of a name, relative to the first folder that has it, or None."""
        outside = 0
        for start in starts:
            path = _real(start / name) if len(name) < MAX_PATH else start
            if not any(path.is_relative_to(folder) for folder in self.allowed):
                outside += 1
            elif os.path.isfile(path):
                return path
        if outside:
            raise ModelError(
                f"{subject} names {quoted(name)}, which is outside the folder of the model: "
                "expected a file in it; name the folder that may be read too, folders=[…] (on the "
                "command line --folders)"
            )
        return None

    def read(self, path: Path, kind: str, most: int, subject: str) -> bytes:
        """The bytes of a file that was found, within what is left for files of its kind."""
        most = min(most, self.left[kind])
        try:
            with path.open("rb") as file:
                data = file.read(most + 1)
        except OSError as error:
            raise ModelError(
                f"{subject} names {quoted(path.name)}, which cannot be read: {error.strerror}"
            ) from None
        if len(data) > most:
            raise ModelError(
                f"{subject} names {quoted(path.name)}, with more than the {most} bytes that are "
                f"left for a {kind} of this model: expected the files of one robot"
            )
        self.left[kind] -= len(data)
        return data


def checked_folders(folders: Sequence[str | Path]) -> list[Path]:
    """The folders that the user names, as paths."""
    is_list = isinstance(folders, Sequence) and not isinstance(folders, str)
    if not is_list or not all(isinstance(folder, str | os.PathLike) for folder in folders):
        raise ModelError(f"folders is {quoted(folders)}: expected a list of paths")
    return [Path(folder) for folder in folders]


def _existing(folder: Path) -> Path:
    folder = _real(folder.expanduser())
    if not os.path.isdir(folder):
        raise ModelError(f"folders has {shown(str(folder))}: expected an existing folder")
    return folder


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
