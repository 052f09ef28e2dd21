"""Robot files of a folder that load, beside Pinocchio (URDF) and MuJoCo (MJCF).

    python benchmarks/agreement.py FOLDER

Inertia matrix and bias at a random state, joints that mimic others as coordinates of their own. A
file agrees if both are the peer's to 1e-9 of their norm. Files that differ, or that make armlet
crash, are listed below the table. Where MuJoCo misses a mesh or a picture, it is given the model
without its meshes, whose mass it then misses.
"""

import argparse
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import mujoco
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import armlet

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from files import kind
from support.mjcf import copied
from support.peers import Pinocchio
from support.robots import value

FORMATS = ("URDF", "MJCF")
MOST = 60
"""Joints above which a file is not tried."""
ERROR, LEAST = 1e-9, 1e-6
AGREES, DIFFERS, CRASH = "agrees", "differs", "CRASH"


def compare(path, of, folder):
    """What became of a file."""
    try:
        with warnings.catch_warnings(action="ignore"):
            robot = armlet.load(path, mimic="free", folders=[folder])
    except armlet.ArmletError:
        return "is refused"
    if not 0 < robot.nv <= MOST:
        return f"no joint, or more than {MOST}"
    q, qd = np.random.default_rng(0).normal(size=(2, robot.nv))
    try:
        ours = value(robot, "inertia_matrix", q), value(robot, "bias", q, qd)
    except armlet.ArmletError:
        return "has no dynamics"
    try:
        if of == "URDF":
            theirs, whole = of_pinocchio(path, robot, q, qd), True
        else:
            model, whole = mujoco_model(path)
            theirs = of_mujoco(model, robot, q, qd)
    except (ValueError, RuntimeError):
        return "the peer does not load it"
    agrees = all(
        np.linalg.norm(np.asarray(x, float) - y) <= ERROR * max(np.linalg.norm(y), LEAST)
        for x, y in zip(ours, theirs, strict=True)
    )
    return AGREES if agrees else DIFFERS if whole else "differs without meshes"


def of_pinocchio(path, robot, q, qd):
    """Inertia matrix, with the rotors that Pinocchio does not read, and bias."""
    text = path.read_bytes().decode(errors="replace").partition("<robot")
    peer = Pinocchio("".join(text[1:]), robot.joint_names, robot.gravity)
    rotors = np.diag([float(drive.rotor_inertia) for drive in robot.drives])
    return peer.inertia_matrix(q) + rotors, peer.bias(q, qd)


def of_mujoco(model, robot, q, qd):
    """The same, of rigid bodies alone."""
    model.dof_damping[:] = 0
    model.jnt_stiffness[:] = 0
    model.body_gravcomp[:] = 0
    data = mujoco.MjData(model)
    names = [model.joint(k).name or f"joint{k + 1}" for k in range(model.njnt)]
    joints = [names.index(name) for name in robot.joint_names]
    index = model.jnt_dofadr[joints]
    data.qpos[model.jnt_qposadr[joints]], data.qvel[index] = q, qd
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_crb(model, data)
    mujoco.mj_comVel(model, data)
    H, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    mujoco.mj_fullM(model, data, H)
    mujoco.mj_rne(model, data, 0, bias)
    return H[np.ix_(index, index)], bias[index]


def mujoco_model(path):
    """The model, without meshes if it cannot be had with them; and whether it is whole."""
    try:
        return mujoco.MjModel.from_xml_path(str(path)), True
    except ValueError:
        folder = Path(tempfile.mkdtemp())
        try:
            return mujoco.MjModel.from_xml_path(str(copied(path, folder))), False
        finally:
            shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    if not given.folder.is_dir():
        parser.error(f"{given.folder} is no folder")
    files = sorted(path for path in given.folder.rglob("*") if path.is_file())
    kinds = {path: found for path in files if (found := kind(path)) in FORMATS}
    counts, listed = Counter(), []
    for path, of in track(kinds.items(), "comparing", console=Console(stderr=True), transient=True):
        try:
            found = compare(path, of, given.folder)
        except Exception as error:
            found = CRASH
            listed.append(f"{path.relative_to(given.folder)}: {type(error).__name__}: {error}")
        counts[found, of] += 1
        if found == DIFFERS:
            listed.append(f"{path.relative_to(given.folder)}: {DIFFERS}")
    console = Console()
    table = Table("", *FORMATS)
    reasons = dict.fromkeys(reason for reason, _ in sorted(counts, key=lambda key: -counts[key]))
    for reason in reasons:
        table.add_row(reason, *(str(counts[reason, of] or "") for of in FORMATS))
    console.print(table)
    for line in listed:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
