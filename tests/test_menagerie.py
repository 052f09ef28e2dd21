"""The MuJoCo Menagerie: every file loads or is refused for a known reason, and agrees."""

import sys
import warnings
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import pytest
from support.mjcf import assert_agrees, copied
from support.stored import ROBOTS

import armlet

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from files import LOADS, PART, outcome, parts

MENAGERIE = ROBOTS / "mujoco_menagerie"
FILES = sorted(MENAGERIE.rglob("*.xml"))
KNOWN = {
    LOADS,
    PART,
    "free joint of the robot itself",
    "ball or planar joint",
    "closed loop",
    "fluid",
    "tendon forces",
    "a mesh that is needed is missing",
}
LEAST = 72
"""How many load, of 200 that are models of their own."""

pytestmark = pytest.mark.skipif(not FILES, reason="the files are not beside the checkout")


def test_every_file_loads_or_is_refused_for_a_known_reason():
    included = parts(FILES)
    found = {path: outcome(path, MENAGERIE, included) for path in FILES}
    odd = [(path.name, *result) for path, result in found.items() if result[0] not in KNOWN]
    assert odd == []
    assert sum(reason == LOADS for reason, _ in found.values()) >= LEAST


# ------------------------------------------------------------------ the models that load


def loaded(path):
    try:
        with warnings.catch_warnings(action="ignore"):
            return armlet.load(path, mimic="free")
    except armlet.ModelError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(MENAGERIE)))
def test_a_model_that_loads_agrees_with_mujoco(path, tmp_path):
    robot = loaded(path)
    if robot is None or not robot.nv:
        pytest.skip("is refused, or does not move")
    copy = copied(path, tmp_path)
    if not all(len(ElementTree.parse(file).getroot()) for file in tmp_path.rglob("*.xml")):
        pytest.skip("without meshes and keyframes a file is empty, which MuJoCo refuses")
    theirs = mujoco.MjModel.from_xml_path(str(copy))
    theirs.dof_damping[:] = 0  # armlet's quantities are those of rigid bodies
    theirs.jnt_stiffness[:] = 0
    theirs.body_gravcomp[:] = 0
    left_out = {theirs.body(k).name or f"body{k}" for k in range(theirs.nbody)} - set(robot.frames)
    assert_agrees(robot, theirs, left_out=left_out)
