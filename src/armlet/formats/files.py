"""Read the files of a robot, from allowed folders only."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path

from armlet._support.files import MAX_PATH, expand_user, shown_path
from armlet._support.lazy import cached_property
from armlet.description import Description
from armlet.errors import ModelError, clip, listing, quote

MAX_BYTES = 32 * 2**20
"""Maximum size of a model file (bytes) and of an expanded xacro file (characters)."""
SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]+)://+(.*)", re.DOTALL)
"""Matches a URI: the scheme, such as package, and the text after ://."""
MARKS = {"package": "package.xml", "model": "model.config"}
"""URI scheme (package://, model://) -> the file that marks the folder of a package."""
NAME = re.compile(rb"<name>([^<]*)</name>")
MAX_MESH_BYTES = 64 * 2**20
MAX_ALL_MESHES = 512 * 2**20
MAX_FOLDERS = 20_000
"""The search for a package stops after this number of folders below the user's folders."""
CURE = "name its folder by folders=[...] (on the command line --folders)"


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a model file; refuse a file of more than `MAX_BYTES`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelError(
            f"{clip(path.name)}: the file cannot be read: {error.strerror}; expected one you may "
            "read"
        ) from None
    if len(data) > MAX_BYTES:
        raise ModelError(
            f"{clip(path.name)}: the file has more than {MAX_BYTES} bytes: expected the "
            "description of one robot, without its meshes"
        )
    return data


class Folders:
    """Find and read the files that a model names, such as meshes and included models.

    A file is searched for in the model's own folder first, then in the user's folders (`named`), in
    their order. The file must lie in one of these folders, or in the ROS package or Gazebo model
    that contains the model's own folder: paths and symbolic links to other places are refused.
    """

    def __init__(self, own: Path, named: Sequence[str | Path] = ()) -> None:
        if isinstance(named, str | os.PathLike):
            named = [named]
        if not isinstance(named, Sequence):
            raise ModelError(f"folders is {quote(named)}: expected a list of paths")
        self.own = _real(own)
        self.roots = [self.own, *(_existing_folder(folder) for folder in named)]
        around, marks = (self.own, *self.own.parents), MARKS.values()
        packages = (x for x in around if any(os.path.isfile(x / mark) for mark in marks))
        self.allowed = [*self.roots, *islice(packages, 1)]
        self.packages: dict[tuple[str, str], Path | None] = {}
        self.left = {"text": MAX_BYTES, "mesh": MAX_ALL_MESHES}
        """Kind of file -> number of bytes that may still be read."""

    def file(self, name: str, where: str) -> Path:
        """Return the path of the file `name` (a path or URI); error messages begin with `where`."""
        if not name or "\0" in name or len(name) > MAX_PATH:
            raise ModelError(
                f"{where}: the file name is {quote(name)}: expected the path of a file"
            )
        match = SCHEME.fullmatch(name)
        scheme, rest = (match[1].lower(), match[2]) if match else ("", name)
        if scheme in MARKS:
            package, _, inside = rest.partition("/")
            return self._existing(inside, name, where, [self.package(package, where, scheme)])
        if scheme not in ("", "file"):
            raise ModelError(
                f"{where}: the file {quote(name)} is at {scheme}://, which armlet does not read: "
                f"save it in a folder and {CURE}"
            )
        return self._existing(f"/{rest}" if scheme else rest, name, where, self.roots)

    def find(self, name: str, starts: Sequence[Path], subject: str) -> Path | None:
        """Return the path of the file `name` in the first of `starts` that has it, or else None."""
        if not name or "\0" in name or len(name) > MAX_PATH:
            return None
        inside = self._inside(name, starts)
        file = next(filter(os.path.isfile, inside), None)
        if file is None and len(inside) < len(starts):
            raise ModelError(
                f"{subject} names {quote(name)}, which is outside the folder of the model: "
                f"expected a file in it; to allow it, {CURE}"
            )
        return file

    def read(self, path: Path, kind: str, most: int, subject: str) -> bytes:
        """Return the bytes of a file; refuse a file with more bytes than `most` or `left[kind]`."""
        most = min(most, self.left[kind])
        try:
            with path.open("rb") as file:
                data = file.read(most + 1)
        except OSError as error:
            raise ModelError(
                f"{subject} names {quote(path.name)}, which cannot be read: {error.strerror}"
            ) from None
        if len(data) > most:
            raise ModelError(
                f"{subject} names {quote(path.name)}, with more than the {most} bytes that are "
                f"left for a {kind} of this model: expected the files of one robot"
            )
        self.left[kind] -= len(data)
        return data

    def package(self, name: str, where: str, scheme: str = "package") -> Path:
        """Return the folder of the ROS package or Gazebo model `name`."""
        if (scheme, name) not in self.packages:
            self.packages[scheme, name] = self._package(name, MARKS[scheme])
        if folder := self.packages[scheme, name]:
            return folder
        raise ModelError(
            f"{where}: {scheme} {quote(name)} is in none of the folders {_shown(self.allowed)}: "
            f"{CURE}"
        )

    def _package(self, name: str, mark: str) -> Path | None:
        """Search for a package in the allowed folders, then in subfolders of the user's folders."""
        if name in ("", ".", ".."):
            return None
        around = [x for x in self.allowed if name in (x.name, _package_name(x, mark))]
        for folder in filter(os.path.isdir, (*self._inside(name, self.allowed), *around)):
            return folder
        alike = [folder for folder in self._below if folder.name == name]
        marked = (x for x in (*alike, *self._below) if _package_name(x, mark) is not None)
        called = (x for x in marked if name in (x.name, _package_name(x, mark)))
        return next(chain(called, alike), None)

    @cached_property
    def _below(self) -> list[Path]:
        """Return all subfolders of the user's folders, breadth first."""
        folders = self.roots[1:]
        for folder in folders:  # the list grows in the loop
            with suppress(OSError):
                inside = [x for x in folder.iterdir() if x.is_dir() and not x.is_symlink()]
                folders += sorted(x for x in inside if not x.name.startswith("."))
            if len(folders) > MAX_FOLDERS:
                break
        return folders[len(self.roots) - 1 :]

    def _inside(self, name: str, starts: Sequence[Path]) -> list[Path]:
        """Return the paths `start / name`, for each of `starts`, that allowed folders contain."""
        paths = (_real(start / name) for start in starts)
        return [x for x in paths if any(x.is_relative_to(root) for root in self.allowed)]

    def _existing(self, path: str, name: str, where: str, starts: Sequence[Path]) -> Path:
        inside = self._inside(path, starts)
        for candidate in filter(os.path.isfile, inside):
            return candidate
        if inside:
            raise ModelError(
                f"{where}: the file {quote(name)} is in none of the folders {_shown(starts)}: "
                f"{CURE}"
            )
        raise ModelError(
            f"{where}: the file {quote(name)} is outside the folders {_shown(self.allowed)}, and "
            f"nothing else is read: to allow it, {CURE}"
        )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _existing_folder(folder: str | Path) -> Path:
    if not isinstance(folder, str | os.PathLike):
        raise ModelError(f"folders has {quote(folder)}: expected paths of folders")
    if not os.path.isdir(path := expand_user(folder)):
        raise ModelError(f"folders has {shown_path(path)}: no such folder")
    return _real(path)


def _package_name(folder: Path, mark: str) -> str | None:
    """Return the package name in the folder's file `mark`; None without such a file or name."""
    if not os.path.isfile(folder / mark):
        return None
    match = NAME.search(read_bytes(folder / mark))
    return match[1].decode("utf-8", "replace").strip() if match else None


def _shown(folders: Sequence[Path]) -> str:
    return listing([clip(str(folder), MAX_PATH) for folder in dict.fromkeys(folders)])


def locate_meshes(description: Description, folders: Folders) -> Description:
    """Return the description with `path` set for each mesh that exists in the allowed folders."""
    names = {mesh.file: "" for link in description.links for mesh in link.meshes}
    for name in names:
        with suppress(ModelError):
            names[name] = str(folders.file(name, description.where))
    links = (
        replace(link, meshes=tuple(replace(mesh, path=names[mesh.file]) for mesh in link.meshes))
        for link in description.links
    )
    return replace(description, links=tuple(links))
