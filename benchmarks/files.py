"""How many robot files of a folder load, and why the others do not.

python benchmarks/files.py FOLDER [--list]

One line per reason with the number of files of each format, `--list` with the files below it. Files
that are only parts of others (included by them, or without bodies of their own) are counted apart.
The folder itself is the one that models may read from.
"""

import argparse
import os
import re
import warnings
from collections import Counter, defaultdict
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

import armlet

ROOTS = {"robot": "URDF", "mujoco": "MJCF", "mujocoinclude": "MJCF", "sdf": "SDF"}
ENDINGS = {".urdf": "URDF", ".mjcf": "MJCF", ".sdf": "SDF", ".xacro": "xacro"}
"""The formats by ending; .xml is known by its root element."""
LOADS = "loads"
PART = "part of other files"
CRASH = "CRASH"
REASONS = {
    "free joint of the robot itself": "free base|six freedoms|floating",
    "ball or planar joint": "three freedoms|ball|planar",
    "closed loop": "closes? a? ?loops?|form a loop|already: expected a tree",
    "coupled or mimic joints": "ties joint|mimic",
    "fluid": "a fluid around",
    "tendon forces": "a force along it|an inertia on no joint",
    "friction that is not linear": "friction that is not linear",
    "deformable bodies": "expected rigid bodies",
    "a mesh that is needed is missing": "ha(s|ve) the mesh|<mesh>",
    "a file that is needed is missing": "names .*, which does not exist|outside the folder",
    "a joint without one of its links": "has the (child|parent) .*, which does not exist",
    "format not read": "the ending is",
    "not valid XML": "not valid XML|document type or entity",
}
"""What a message of refusal holds, by reason; what fits none is 'other'."""
PARTIAL = (
    "has no <worldbody>|expected <mujoco>|target .* not found in actuator|only macros|"
    "has no <link>|no model has a <link>|has no <model>"
)
"""What a message holds that refuses a file without bodies of its own."""
INCLUDED = re.compile(
    rb"""<(?:xacro:)?(?:include|model)\s[^>]*?file(?:name)?\s*=\s*["']([^"']+)["']"""
)
PACKAGE = re.compile(r"^(?:\$\(find [^)]*\)|\$\(dirname\)|package://[^/]*)/")
"""The start of a path in a package."""
FIRST_TAG = re.compile(rb"<([A-Za-z_][\w:.-]*)")


def content(path):
    """The bytes of a file, none if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def kind(path):
    """The format of a file, an empty text if it is none of a robot."""
    ending = path.suffix.lower()
    if ending != ".xml":
        return ENDINGS.get(ending, "")
    tag = FIRST_TAG.search(content(path))
    return ROOTS.get(tag[1].decode(), "") if tag else ""


def parts(paths):
    """The files that others include or attach."""
    named = set()
    for path in paths:
        for name in map(os.fsdecode, INCLUDED.findall(content(path))):
            rest = PACKAGE.sub("", name)
            folders = [path.parent] if rest == name else path.parents
            named |= {Path(os.path.realpath(folder / rest)) for folder in folders}
    return named


def outcome(path, folder, included):
    """The reason why a file does not load, or that it does, and its message."""
    try:
        with warnings.catch_warnings(action="ignore"):
            armlet.load(path, folders=[folder])
        return LOADS, ""
    except armlet.ArmletError as error:
        message = str(error)
    except Exception as error:
        return CRASH, f"{type(error).__name__}: {error}"
    is_included = Path(os.path.realpath(path)) in included
    if re.search(PARTIAL, message) or (is_included and "unrecognized element" in message):
        return PART, message
    for reason, pattern in REASONS.items():
        if re.search(pattern, message):
            return reason, message
    return PART if is_included else "other", message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--list", action="store_true", help="the files of each reason too")
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is no folder")
    console = Console()
    files = sorted(path for path in given.folder.rglob("*") if path.is_file())
    kinds = {path: found for path in files if (found := kind(path))}
    included = parts(kinds)
    counts, listed = defaultdict(Counter), defaultdict(list)
    for path, of in track(kinds.items(), "loading", console=Console(stderr=True), transient=True):
        reason, message = outcome(path, given.folder, included)
        counts[reason][of] += 1
        listed[reason].append(
            ": ".join(filter(None, [str(path.relative_to(given.folder)), message]))
        )
    formats = sorted(set(kinds.values()))
    table = Table("", *formats, "all")
    first = [LOADS, CRASH, *sorted(counts, key=lambda reason: -counts[reason].total())]
    for reason in dict.fromkeys(reason for reason in first if reason in counts):
        numbers = [counts[reason][of] for of in formats]
        table.add_row(reason, *(str(n or "") for n in numbers), str(sum(numbers)))
    console.print(table)
    whole = len(kinds) - counts[PART].total()
    console.print(f"{counts[LOADS].total()} of {whole} files that are no parts of others load")
    for reason in listed if given.list else ():
        console.print(f"\n{reason}", style="bold")
        for line in listed[reason]:
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
