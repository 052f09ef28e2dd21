"""Convert Pinocchio models to descriptions, without importing Pinocchio."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from armlet.description import Connection, Description, Link
from armlet.description.description import fixed
from armlet.description.problems import Problems
from armlet.errors import ModelError, clip, quote
from armlet.robot import Drive, Limits, Pose

OTHER_KINDS = {
    "JointModelFreeFlyer": "floating",
    "JointModelPlanar": "planar",
    "JointModelSpherical": "ball",
    "JointModelSphericalZYX": "spherical",
}
FRAME_TYPES = ("BODY", "OP_FRAME", "SENSOR")
"""Types of Pinocchio frames that are read: all but the frames of joints."""


def read_pinocchio(model: Any, problems: Problems) -> Description:
    """Convert a pinocchio.Model to a description, with the joints in the model's order."""
    if not all(hasattr(model, name) for name in ("jointPlacements", "inertias", "parents")):
        raise ModelError(f"from_pinocchio was given {quote(model)}: expected a pinocchio.Model")
    frames = [frame for frame in model.frames if str(frame.type) in FRAME_TYPES]
    links = ["universe", *(f"{name}_link" for name in [*model.names][1:])]
    for frame in reversed(frames):  # a BODY frame equal to the joint's frame names the link
        if str(frame.type) == "BODY" and np.array_equal(frame.placement.homogeneous, np.eye(4)):
            links[frame.parentJoint] = frame.name
    joints = [_pinocchio_joint(model, i, links) for i in range(1, model.njoints)]
    bodies = [Link(links[0])]
    for name, inertia in zip(links[1:], [*model.inertias][1:], strict=True):
        com, I = np.array(inertia.lever, float), np.array(inertia.inertia, float)
        bodies.append(Link(name, float(inertia.mass), com, (I + I.T) / 2))
    taken = set(links)
    for frame in frames:
        if frame.name not in taken:
            taken.add(frame.name)
            bodies.append(Link(frame.name))
            at = Pose(np.array(frame.placement.rotation), np.array(frame.placement.translation))
            joints.append(fixed(frame.name, links[frame.parentJoint], at))
    return Description(
        name=problems.where,
        links=tuple(bodies),
        joints=tuple(joints),
        gravity=np.array(model.gravity.linear, float),
        where=problems.where,
        format="Pinocchio",
    )


def _pinocchio_joint(model: Any, i: int, links: list[str]) -> Connection:
    joint, place = model.joints[i], model.jointPlacements[i]
    named = Connection(
        name=model.names[i],
        kind=OTHER_KINDS.get(joint.shortname(), clip(joint.shortname())),
        parent=links[model.parents[i]],
        child=links[i],
        pose=Pose(np.array(place.rotation, float), np.array(place.translation, float)),
    )
    if named.kind == "ball":
        q = slice(joint.idx_q, joint.idx_q + joint.nq)
        low, high = model.lowerPositionLimit[q].max(), model.upperPositionLimit[q].min()
        limits = -inf if low <= -1 else low, inf if high >= 1 else high  # of a unit quaternion
        return _with_drive(named, model, range(joint.idx_v, joint.idx_v + joint.nv), *limits)
    if joint.nv != 1 or joint.nq > 2:
        return named
    data, at = joint.createData(), np.zeros(model.nq)
    at[joint.idx_q] = joint.nq == 2  # an unbounded angle is (cos, sin) = (1, 0)
    joint.calc(data, at)
    v, w = np.asarray(data.S, float).ravel().copy().reshape(2, 3)
    unbounded, q = joint.nq == 2, joint.idx_q
    kind = "prismatic" if np.any(v) else "continuous" if unbounded else "revolute"
    kind = "helical" if np.any(v) and np.any(w) else kind
    axis, moved = v if kind == "prismatic" else w, data.M  # not at rest at its place if composite
    pose = named.pose @ Pose(np.array(moved.rotation, float), np.array(moved.translation, float))
    single = replace(named, kind=kind, pose=pose, axis=axis, pitch=float(v @ w))
    span = model.lowerPositionLimit[q], model.upperPositionLimit[q]
    limits = (-inf, inf) if unbounded else span
    return _with_drive(single, model, [joint.idx_v], *limits)


def _with_drive(
    joint: Connection, model: Any, velocities: Sequence[int], lower: float, upper: float
) -> Connection:
    """Return the joint with its limits and its drive, which must be equal at all velocities."""
    dry = getattr(model, "upperDryFrictionLimit", None)
    rows = np.column_stack(
        [
            model.velocityLimit,
            model.effortLimit,
            model.armature + model.rotorInertia * model.rotorGearRatio**2,
            model.damping,
            model.friction if dry is None else dry,
        ]
    )[velocities]
    if np.any(rows != rows[0]):
        raise ModelError(
            f"joint {quote(joint.name)} has limits or a drive that differ from axis to axis: "
            "expected equal velocity and effort limits, armature, damping and friction"
        )
    velocity, effort, *drive = rows[0].tolist()
    limits = np.array([lower, upper, velocity, effort])
    limits[np.abs(limits) > 1e300] *= inf  # the largest floats mean no limit
    return replace(joint, limits=Limits(*limits.tolist()), drive=Drive(*drive))
