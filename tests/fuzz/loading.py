"""Files to begin with, and what loading any file may come to."""

import warnings
from functools import cache
from pathlib import Path

import numpy as np
from support.mjcf import RULES, Writer
from support.robots import random_arm, random_urdf
from support.sdf import STYLES, sdf_of
from support.stored import ROBOTS

import armlet
from armlet.formats.toml import toml_text
from armlet.formats.urdf import urdf_text

TESTS = Path(__file__).parent.parent
ENDINGS = (".urdf", ".xml", ".toml", ".sdf")
"""Files of data; xacro files are programs."""
LARGEST = 100_000
"""Bytes of a file to begin with."""
SOUND = 0.85
"""How often a file to begin with is one that loads."""
LONGEST = 10_000
"""Characters of a message, whatever the file."""
FEW = 12
"""Joints of a robot that is asked for its dynamics."""
QUANTITIES = ("inverse_dynamics", "inertia_matrix", "forward_dynamics", "jacobian", "energy")


SCENE = """<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity><model name="table">
<static>true</static><link name="top"/></model><model name="arm"><pose>0 0 1 0 0 0</pose>
<link name="base"/><joint name="on" type="fixed"><parent>world</parent><child>base</child></joint>
<model name="hand" placement_frame="mark"><link name="palm"><pose relative_to="mark">1 0 0 0 90 0
</pose></link><frame name="mark" attached_to="__model__"><pose degrees="true">0 0 1 0 0 90</pose>
</frame></model><joint name="wrist" type="revolute"><pose relative_to="base">0 0 1 0 0 0</pose>
<parent>base</parent><child>hand::palm</child><axis><xyz expressed_in="hand::mark">0 1 0</xyz>
<limit><lower>-1</lower><upper>1</upper></limit></axis></joint></model></world></sdf>"""
"""A scene with all kinds of references between frames."""
File = tuple[str, bytes]
"""The ending and the bytes of a file."""


@cache
def sound() -> tuple[File, ...]:
    """Files that mostly load: of the catalogue, written by armlet and by tests, found beside."""
    files = files_of([*armlet.catalogue().values(), *sorted(ROBOTS.rglob("*"))])
    for seed in range(12):
        files.append((".urdf", random_urdf(seed, 1 + seed % 7, drives=seed % 2 == 0).encode()))
        files.append((".xml", Writer(seed).text().encode()))
        files.append((".urdf", urdf_text(random_arm(seed, 1 + seed % 5)).encode()))
        files.append((".sdf", sdf_of(random_arm(seed, 1 + seed % 5), STYLES[seed % 4]).encode()))
        files.append((".toml", toml_text(random_arm(seed, 1 + seed % 5)).encode()))
    files += [(".sdf", SCENE.encode())] * 6
    return tuple(files + [(".xml", text.encode()) for text in RULES.values()])


@cache
def unsound() -> tuple[File, ...]:
    """Files that are refused, and those that once did harm."""
    folders = [TESTS / "bad_models", TESTS / "hurt"]
    return tuple(files_of([path for folder in folders for path in sorted(folder.iterdir())]))


def files_of(paths: list[Path]) -> list[File]:
    return [
        (path.suffix, path.read_bytes())
        for path in paths
        if path.suffix in ENDINGS and path.is_file() and path.stat().st_size <= LARGEST
    ]


def random_file(rng) -> File:
    """A file to begin with: every format as often, whatever the number of its files."""
    ending = rng.choice(ENDINGS)
    pool = sound() if rng.random() < SOUND else unsound()
    files = [file for file in pool if file[0] == ending]
    return files[rng.integers(len(files))]


def check_load(path: Path, rng) -> None:
    """Load a file, ask what loads for a quantity, write it and load that.

    A file may be refused by an ArmletError and doubted by a ModelWarning; the rest is raised.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", armlet.ModelWarning)
        try:
            robot = armlet.load(path, strict=bool(rng.integers(2)))
        except armlet.ArmletError as error:
            if len(str(error)) > LONGEST:
                raise
            return
        if robot.n <= FEW:
            check_quantity(robot, str(rng.choice(QUANTITIES)))
            check_written(robot, path.with_name("written" + rng.choice([".urdf", ".toml"])))


def check_quantity(robot, quantity: str) -> None:
    """Trace a quantity and replay it; numbers of a doubtful robot may overflow."""
    arrays = [np.ones(robot.n)] * len(armlet.QUANTITIES[quantity].arguments)
    first = next(iter(armlet.formulations(quantity)))
    try:
        with np.errstate(all="ignore"):
            armlet.trace(robot, quantity, first).function(np)(*arrays)
    except armlet.ArmletError:
        pass


def check_written(robot, path: Path) -> None:
    """Write the robot, where it can be written, and load it."""
    try:
        (robot.to_urdf if path.suffix == ".urdf" else robot.to_toml)(path)
    except armlet.ArmletError:
        return
    again = armlet.load(path)
    assert again._joint_letters == robot._joint_letters
