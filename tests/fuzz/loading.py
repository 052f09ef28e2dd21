"""Files to start from, and checks of the ways in which loading a file may end."""

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
"""The formats that are tried; .xacro is left out, since xacro files are programs."""
LARGEST = 100_000
"""The largest size of a file to start from, in bytes."""
SOUND = 0.85
"""The share of files to start from that `sound` provides."""
LONGEST = 10_000
"""The largest allowed length of an error message, in characters."""
FEW = 12
"""The largest number of joints of a robot whose dynamics are evaluated."""
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
    """Files, most of which load: from the catalogue, armlet's writers, the tests and `ROBOTS`."""
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
    """Files that armlet refuses, and files that once caused a failure."""
    folders = [TESTS / "bad_models", TESTS / "hurt"]
    return tuple(files_of([path for folder in folders for path in sorted(folder.iterdir())]))


def files_of(paths: list[Path]) -> list[File]:
    return [
        (path.suffix, path.read_bytes())
        for path in paths
        if path.suffix in ENDINGS and path.is_file() and path.stat().st_size <= LARGEST
    ]


def random_file(rng) -> File:
    """A file to start from; all formats are equally frequent."""
    ending = rng.choice(ENDINGS)
    pool = sound() if rng.random() < SOUND else unsound()
    files = [file for file in pool if file[0] == ending]
    return files[rng.integers(len(files))]


def check_load(path: Path, rng) -> None:
    """Load a file, evaluate a quantity of the robot, write the robot and load it again.

    An ArmletError or a ModelWarning is allowed; any other exception or warning is raised.
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
        if robot.nv <= FEW:
            check_quantity(robot, str(rng.choice(QUANTITIES)))
            check_written(robot, path.with_name("written" + rng.choice([".urdf", ".toml"])))


def check_quantity(robot, quantity: str) -> None:
    """Trace a quantity and evaluate it with NumPy, whose numbers may overflow."""
    arrays = [np.ones(robot.nv)] * len(armlet.QUANTITIES[quantity].arguments)
    first = next(iter(armlet.formulations(quantity)))
    try:
        with np.errstate(all="ignore"):
            armlet.trace(robot, quantity, first).function(np)(*arrays)
    except armlet.ArmletError:
        pass


def check_written(robot, path: Path) -> None:
    """Write the robot, if the format can describe it, and load it again."""
    try:
        (robot.to_urdf if path.suffix == ".urdf" else robot.to_toml)(path)
    except armlet.ArmletError:
        return
    again = armlet.load(path)
    assert again._joint_letters == robot._joint_letters
