"""Robots from the models of MuJoCo and Pinocchio, whose packages are not imported."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from typing import Any, NoReturn

import numpy as np

from armlet.description import Connection, Description, Link, Tie
from armlet.description.assembly import fix_joint
from armlet.description.problems import Problems
from armlet.errors import ModelError, quoted, shown
from armlet.robot import HERE, Compensation, Drive, Limits, Pose, Spring
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Vector

# ---------------------------------------------------------------------------------- MuJoCo

WORLD = "world"
KINDS = ("floating", "ball", "prismatic", "revolute")
"""The kinds of joint of MuJoCo, by their numbers."""
ON_JOINTS = (0, 1)
"""The kinds of transmission of an actuator that are on a joint."""
JOINT_EQUALITY = 2
NO_GRAVITY = 1 << 7
"""The bit of the flags that turns gravity off."""
FORCES = {
    "jnt_actgravcomp": "gravity compensation by actuators",
    "tendon_stiffness": "springs of tendons",
    "tendon_damping": "friction of tendons",
    "tendon_frictionloss": "friction of tendons",
    "tendon_armature": "inertia of tendons",
    "dof_dampingpoly": "friction that is not linear",
    "jnt_stiffnesspoly": "springs that are not linear",
}
"""What changes the dynamics of a model and is not read, by the array that has it."""


def read_mujoco(model: Any, problems: Problems) -> Description:
    """The description in a mujoco.MjModel; its base is the world, q is as in the model."""
    if not all(hasattr(model, name) for name in ("body_parentid", "jnt_type", "opt")):
        _refuse("from_mujoco", model, "a mujoco.MjModel")
    where = problems.where
    for name, meaning in FORCES.items():
        if np.any(getattr(model, name, 0)):
            problems.error(f"{where}: {name} is not zero: armlet has no {meaning}; set it to zero")
    if model.opt.density or model.opt.viscosity:
        problems.error(f"{where}: a fluid around the robot: set opt.density and viscosity to zero")
    joint_names = _names(model.joint, model.njnt, "joint")
    reader = _MuJoCo(model, _names(model.body, model.nbody, "body"), joint_names)
    links = [Link(WORLD)]
    joints: list[Connection] = []
    for i in range(1, model.nbody):
        more, on = reader.body(i)
        links += more
        joints += on
    taken = {link.name for link in links}
    for k, name in enumerate(_names(model.site, model.nsite, "site")):
        if name not in taken:
            at = _pose(model.site_pos[k], model.site_quat[k])
            links.append(Link(name))
            body = reader.bodies[model.site_bodyid[k]]
            joints.append(Connection(f"{name}_fixed", "fixed", body, name, at))
    off = int(model.opt.disableflags) & NO_GRAVITY
    on_joints = [kind in ON_JOINTS for kind in model.actuator_trntype[: model.nu]]
    if others := on_joints.count(False):
        problems.note(
            f"{where}: left out, since they are on no joint and armlet has torques of joints: "
            f"actuators, {others}"
        )
    notes: tuple[str, ...] = ()
    if any(on_joints):
        notes = (
            f"of {on_joints.count(True)} actuators on joints, armature and damping are read, force "
            "ranges and control laws are not",
        )
    return Description(
        name=where,
        links=tuple(links),
        joints=tuple(joints),
        gravity=np.zeros(3) if off else np.array(model.opt.gravity, float),
        where=where,
        ties=tuple(_equalities(model, joint_names, problems)),
        notes=notes,
    )


def _names(named: Any, count: int, kind: str) -> list[str]:
    """The names of the bodies, joints or sites of a model, numbered ones where there are none."""
    return [named(k).name or f"{kind}{k}" for k in range(count)]


def _pose(r: Vector, quaternion: Vector) -> Pose:
    return Pose(rotation_of_quaternion(*quaternion), np.array(r, float))


class _MuJoCo:
    """Reads bodies and joints of a model."""

    def __init__(self, model: Any, bodies: list[str], joints: list[str]) -> None:
        self.model, self.bodies, self.joints = model, [WORLD, *bodies[1:]], joints
        self.rotors, self.viscous = np.array(model.dof_armature), np.array(model.dof_damping)
        gears = np.array(model.actuator_gear)[:, 0] ** 2 if model.nu else ()
        for k, ratio in enumerate(gears):
            if model.actuator_trntype[k] in ON_JOINTS:
                dof = model.jnt_dofadr[model.actuator_trnid[k, 0]]
                self.rotors[dof] += ratio * _entry(model, "actuator_armature", k)
                self.viscous[dof] += ratio * _entry(model, "actuator_damping", k)

    def body(self, i: int) -> tuple[list[Link], list[Connection]]:
        """A body and the joints to its parent, with massless links between several."""
        model, name = self.model, self.bodies[i]
        at = _pose(model.body_ipos[i], model.body_iquat[i])
        I = at.R @ np.diag(model.body_inertia[i]) @ at.R.T
        mass = float(model.body_mass[i])
        lifted = mass * float(model.body_gravcomp[i])
        link = Link(name, mass, at.r, I, compensation=Compensation(lifted, lifted * at.r))
        parent = self.bodies[model.body_parentid[i]]
        pose = _pose(model.body_pos[i], model.body_quat[i])
        first, count = model.body_jntadr[i], model.body_jntnum[i]
        if not count:
            return [link], [Connection(f"{name}_fixed", "fixed", parent, name, pose)]
        links, joints = [], []
        for k in range(first, first + count):
            child = name if k == first + count - 1 else f"{name}_{self.joints[k]}"
            joint = self._joint(k)
            joints.append(replace(joint, parent=parent, child=child, pose=pose @ joint.pose))
            links.append(link if child == name else Link(child))
            parent, pose = child, HERE
        return links, joints

    def _joint(self, k: int) -> Connection:
        """A joint whose links are still to be named; its pose is at zero, relative to qpos0."""
        model, dof = self.model, self.model.jnt_dofadr[k]
        joint = Connection(self.joints[k], KINDS[model.jnt_type[k]], "", "")
        if joint.kind in ("floating", "ball"):
            return joint
        start = float(model.qpos0[model.jnt_qposadr[k]])
        low, high = model.jnt_range[k] if model.jnt_limited[k] else (-inf, inf)
        forces = np.abs(model.jnt_actfrcrange[k]).max() if model.jnt_actfrclimited[k] else inf
        joint = replace(
            joint,
            axis=np.array(model.jnt_axis[k], float),
            point=np.array(model.jnt_pos[k], float),
            limits=Limits(float(low), float(high), effort=float(forces)),
            drive=Drive(
                float(self.rotors[dof]),
                float(self.viscous[dof]),
                float(model.dof_frictionloss[dof]),
            ),
            at_start=start,
        )
        if stiffness := float(np.ravel(model.jnt_stiffness[k])[0]):
            rest = float(model.qpos_spring[model.jnt_qposadr[k]])
            joint = replace(joint, spring=Spring(stiffness, rest))
        return replace(joint, pose=fix_joint(joint, -start).pose)


def _entry(model: Any, name: str, k: int) -> float:
    """An entry of an array that older versions do not have."""
    return float(np.ravel(getattr(model, name)[k])[0]) if hasattr(model, name) else 0.0


def _equalities(model: Any, joints: list[str], problems: Problems) -> Iterator[Tie]:
    """The ties of joints to others; other constraints are refused."""
    for k in range(model.neq):
        if not model.eq_active0[k]:
            continue
        name = model.equality(k).name or f"equality{k}"
        where = f"{problems.where}: {name}"
        if model.eq_type[k] != JOINT_EQUALITY:
            problems.error(
                f"{where} is a constraint between bodies or tendons, which armlet does not model: "
                "set eq_active0 to zero"
            )
            continue
        one, other = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k]))
        leader = joints[other] if other >= 0 else ""
        said = f"joint {quoted(joints[one])} follows {quoted(leader) if leader else 'a constant'}"
        coefficients = tuple(float(x) for x in model.eq_data[k][:5])
        yield Tie(joints[one], leader, coefficients, said, where, mutual=True)


# ---------------------------------------------------------------------------------- Pinocchio

OTHER_KINDS = {"JointModelFreeFlyer": "floating", "JointModelPlanar": "planar"}
OTHER_KINDS |= {"JointModelSpherical": "ball", "JointModelSphericalZYX": "ball"}
KEPT_FRAMES = ("BODY", "OP_FRAME", "SENSOR")
"""The kinds of frame that are not those of joints."""


def read_pinocchio(model: Any, problems: Problems) -> Description:
    """The description in a pinocchio.Model; joints are in its order."""
    if not all(hasattr(model, name) for name in ("jointPlacements", "inertias", "parents")):
        _refuse("from_pinocchio", model, "a pinocchio.Model")
    frames = [frame for frame in model.frames if str(frame.type) in KEPT_FRAMES]
    links = _link_names(model, frames)
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
            parent = links[frame.parentJoint]
            joints.append(Connection(f"{frame.name}_fixed", "fixed", parent, frame.name, at))
    return Description(
        name=problems.where,
        links=tuple(bodies),
        joints=tuple(joints),
        gravity=np.array(model.gravity.linear, float),
        where=problems.where,
    )


def _link_names(model: Any, frames: list[Any]) -> list[str]:
    """The name of each joint's body: that of the first body frame there, or else of the joint."""
    links = ["universe", *(f"{name}_link" for name in [*model.names][1:])]
    for frame in reversed(frames):
        if str(frame.type) == "BODY" and np.array_equal(frame.placement.homogeneous, np.eye(4)):
            links[frame.parentJoint] = frame.name
    return links


def _pinocchio_joint(model: Any, i: int, links: list[str]) -> Connection:
    joint, place = model.joints[i], model.jointPlacements[i]
    named = Connection(
        name=model.names[i],
        kind=OTHER_KINDS.get(joint.shortname(), shown(joint.shortname())),
        parent=links[model.parents[i]],
        child=links[i],
        pose=Pose(np.array(place.rotation, float), np.array(place.translation, float)),
    )
    if joint.nv != 1 or joint.nq > 2:
        return named
    v, w = _twist(model, joint)
    if np.any(v) and np.any(w):
        return named  # helical: check refuses it by its kind
    unbounded, q, k = joint.nq == 2, joint.idx_q, joint.idx_v
    kind = "prismatic" if np.any(v) else "continuous" if unbounded else "revolute"
    lower, upper = (-inf, inf) if unbounded else (
        model.lowerPositionLimit[q], model.upperPositionLimit[q]
    )  # fmt: skip
    ratio = float(model.rotorGearRatio[k])
    rotor = float(model.armature[k]) + float(model.rotorInertia[k]) * ratio * ratio
    dry = getattr(model, "upperDryFrictionLimit", None)
    dry = model.friction if dry is None else dry
    return replace(
        named,
        kind=kind,
        axis=v if kind == "prismatic" else w,
        limits=Limits(*map(_limit, (lower, upper, model.velocityLimit[k], model.effortLimit[k]))),
        drive=Drive(rotor, float(model.damping[k]), float(dry[k])),
    )


def _twist(model: Any, joint: Any) -> tuple[Vector, Vector]:
    """The linear and angular velocity that a unit velocity of a joint gives its body."""
    data, q = joint.createData(), np.zeros(model.nq)
    if joint.nq == 2:
        q[joint.idx_q] = 1.0  # the cosine
    joint.calc(data, q)
    S = np.asarray(data.S, float).ravel()
    return S[:3].copy(), S[3:].copy()


def _limit(x: float) -> float:
    """A limit, or infinity where it is as large as numbers are."""
    return float(x) if abs(x) < 1e300 else float(np.sign(x)) * inf


def _refuse(function: str, model: Any, wanted: str) -> NoReturn:
    raise ModelError(f"{function} was given {quoted(model)}: expected {wanted}")
