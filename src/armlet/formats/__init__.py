"""Robots from files and tables, and back."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from armlet._support.files import write
from armlet.description import assemble, describe
from armlet.description.coupling import ties_between
from armlet.description.options import warn_of_passive
from armlet.formats.dh import from_dh, general_arm
from armlet.formats.from_mujoco import read_mujoco
from armlet.formats.from_pinocchio import read_pinocchio
from armlet.formats.loading import catalogue, from_model, load, lock_values
from armlet.formats.toml import toml_text
from armlet.formats.urdf import urdf_text
from armlet.robot import RobotModel


def lock(robot: RobotModel, values: Mapping[str, float]) -> RobotModel:
    """The robot with some joints fixed at given values; their bodies merge into the parents."""
    return assemble(describe(robot), lock_values(values))


def subchain(robot: RobotModel, tip: str) -> RobotModel:
    """The serial arm from the base to a frame, which becomes the tool, without other branches."""
    path, whole = robot.path(robot.frame(tip).body), describe(robot)
    names = {robot.base_link, *(robot.links[i] for i in path)}
    names |= {name for name, frame in robot.frames.items() if frame.body in path}
    links = tuple(link for link in whole.links if link.name in names)
    joints = tuple(joint for joint in whole.joints if joint.child in names)
    ties = ties_between(robot, path)
    return assemble(replace(whole, links=links, joints=joints, tool=tip, ties=ties))


def to_urdf(robot: RobotModel, path: str | Path) -> None:
    """Write the robot as URDF; springs and gravity compensation are left out with a warning."""
    warn_of_passive(robot)
    write(path, urdf_text(robot))


def to_toml(robot: RobotModel, path: str | Path) -> None:
    """Write the robot in armlet's own format, in the frames of the file it came from."""
    write(path, toml_text(robot))


__all__ = [
    "catalogue",
    "from_dh",
    "from_model",
    "general_arm",
    "load",
    "lock",
    "read_mujoco",
    "read_pinocchio",
    "subchain",
    "to_toml",
    "to_urdf",
]
