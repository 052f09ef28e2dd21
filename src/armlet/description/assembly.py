"""Convert a description to a robot in canonical frames, and back."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from armlet.algebra import Z_AXIS, point_inertia, symmetric, upper_triangle, vector
from armlet.description.checks import check_finite
from armlet.description.coupling import couplings, resolve_ties, ties_between
from armlet.description.description import Connection, Description, Link, fixed
from armlet.errors import ModelError, listing, quote
from armlet.robot.components import BASE, Compensation, Frame, Joint
from armlet.robot.frames import Mount, canonical
from armlet.robot.joints import JOINT_TYPES
from armlet.robot.pose import IDENTITY_POSE, TOLERANCE, Pose, rotation
from armlet.robot.robot import RobotModel


def assemble(
    description: Description, lock: Mapping[str, float] | None = None, tolerance: float = TOLERANCE
) -> RobotModel:
    """Convert a description to a robot; links joined by fixed or locked joints become one body."""
    links = {link.name: link for link in description.links}
    locked, followers = resolve_ties(description.ties, description.joints, lock or {})
    joints = _lock(description, locked)
    base = _base_link(description, joints)
    ordered = _parents_first(description, joints, base)

    carrier: dict[str, tuple[int, Pose]] = {base: (BASE, IDENTITY_POSE)}
    moving: list[Connection] = []
    mounts: list[Mount] = []
    for joint in ordered:
        body, at = carrier[joint.parent]
        if joint.kind == "fixed":
            carrier[joint.child] = (body, at @ joint.pose)
        else:
            kind = JOINT_TYPES[joint.kind]
            axis, point = joint.axis / np.linalg.norm(joint.axis), joint.point
            if not kind.has_axis:
                axis, point = Z_AXIS.astype(float), np.zeros(3)
            mounts.append(Mount(body, at @ joint.pose, kind, axis, point))
            carrier[joint.child] = (len(moving), IDENTITY_POSE)
            moving.append(joint)

    rows, own = canonical(mounts, tolerance)
    frames = {name: Frame(body, own[body].inverse() @ at) for name, (body, at) in carrier.items()}
    n = len(moving)
    m, c, J = [0.0] * (n + 1), [np.zeros(3)] * (n + 1), [np.zeros((3, 3))] * (n + 1)
    lifted, lifted_c = [0.0] * (n + 1), [np.zeros(3)] * (n + 1)
    for name, (i, (R, r)) in frames.items():
        link = links[name]
        com = R @ link.com + r
        m[i] = m[i] + link.mass
        c[i] = c[i] + link.mass * com
        J[i] = J[i] + R @ link.inertia @ R.T + np.asarray(point_inertia(link.mass, com), float)
        mass, moment = link.compensation
        lifted[i] = lifted[i] + mass
        lifted_c[i] = lifted_c[i] + R @ moment.astype(float) + mass * r
    for i, joint in enumerate(moving):
        where = f"{joint.where or description.where}: link {quote(joint.child)}"
        check_finite(c[i], f"{where}: its first moment about the axis of its joint")
        check_finite(J[i], f"{where}: its inertia about the axis of its joint")
    on_base = f"{description.where}: the links fixed to {quote(base)}"
    check_finite(c[BASE], f"{on_base}: their first moment about its origin")
    check_finite(J[BASE], f"{on_base}: their inertia about its origin")
    free = [joint.name for joint in moving if joint.name not in followers]
    parents = {joint.parent for joint in joints}
    tips = [link.name for link in description.links if link.name not in parents]
    g = own[BASE].R.T @ description.gravity
    g[np.abs(g) <= tolerance * np.abs(g).max()] = 0
    return RobotModel(
        name=description.name,
        joints=tuple(Joint(j.name, j.kind, j.limits, j.pitch) for j in moving),
        parent=tuple(mount.parent for mount in mounts),
        dh=tuple(rows),
        m=tuple(float(x) for x in m[:n]),
        c=tuple(vector(*x.tolist()) for x in c[:n]),
        J=tuple(symmetric(*map(float, upper_triangle(x))) for x in J[:n]),
        drives=tuple(j.drive for j in moving for _ in JOINT_TYPES[j.kind].twists),
        g=vector(*g.tolist()),
        links=tuple(j.child for j in moving),
        base_link=base,
        frames=frames,
        tool=description.tool or (tips[0] if len(tips) == 1 else None),
        source=description.source,
        meshes={link.name: link.meshes for link in description.links if link.meshes},
        springs=tuple(j.spring for j in moving for _ in JOINT_TYPES[j.kind].twists),
        compensation=tuple(
            Compensation(float(lifted[i]), vector(*lifted_c[i].tolist())) for i in range(n)
        ),
        couplings=couplings([j.name for j in moving], followers),
        keyframes={
            key: np.array([x for name in free for x in values[name]], dtype=float)
            for key, values in description.keyframes.items()
        },
        solids={link.name: link.solids for link in description.links if link.solids},
        folder=description.folder,
        base_body=(float(m[BASE]), c[BASE], J[BASE]),
        notes=description.notes,
    )


def _lock(description: Description, lock: Mapping[str, float]) -> list[Connection]:
    moving = [joint.name for joint in description.joints if joint.kind != "fixed"]
    if unknown := sorted(set(lock) - set(moving)):
        raise ModelError(
            f"{description.where or 'lock'}: no moving joint is called {quote(unknown[0])}: "
            f"expected one of {listing(moving)}"
        )
    return [fix_joint(j, lock[j.name]) if j.name in lock else j for j in description.joints]


def fix_joint(joint: Connection, q: float) -> Connection:
    """Return the joint fixed at the position q; joints without an axis at their neutral pose."""
    if not JOINT_TYPES[joint.kind].has_axis:
        if q != 0:
            raise ModelError(
                f"joint {quote(joint.name)} is {joint.kind} and cannot be locked at {q:g}: "
                "expected 0, its neutral pose"
            )
        return replace(joint, kind="fixed")
    axis = joint.axis / np.linalg.norm(joint.axis)
    (twist,) = Joint(joint.name, joint.kind, joint.limits, joint.pitch).type.twists
    R = rotation(axis, q * twist.w[2])
    moved = Pose(R, q * twist.v[2] * axis + (joint.point - R @ joint.point))
    return replace(joint, kind="fixed", pose=joint.pose @ moved)


def _base_link(description: Description, joints: Sequence[Connection]) -> str:
    children = {joint.child for joint in joints}
    roots = [link for link in description.links if link.name not in children]
    if not roots:
        raise _loop_error(joints, description.where, "every link has a parent, ")
    if len(roots) > 1:
        raise ModelError(
            f"{roots[1].where or description.where}: two links have no parent, "
            f"{quote(roots[0].name)} and {quote(roots[1].name)}: expected one base; join them by "
            "a fixed joint or remove one"
        )
    return roots[0].name


def _loop_error(joints: Sequence[Connection], where: str, start: str = "") -> ModelError:
    parent = {joint.child: joint.parent for joint in joints}
    path: dict[str, None] = {}
    name = joints[0].child
    while name not in path:
        path[name] = None
        name = parent[name]
    links = list(path)
    loop = listing([*links[links.index(name) :], name], " -> ")
    return ModelError(
        f"{joints[0].where or where}: {start}the joints form a loop: {loop}; armlet takes trees: "
        "cut the loop by removing one joint"
    )


def _parents_first(
    description: Description, joints: Sequence[Connection], base: str
) -> list[Connection]:
    """Return the joints with parents before children, and otherwise in the order of the file."""
    carried = defaultdict(list)
    for k, joint in enumerate(joints):
        carried[joint.parent].append(k)
    ready = carried.pop(base, [])  # a heap of joint indices, in file order
    ordered: list[Connection] = []
    while ready:
        joint = joints[heappop(ready)]
        ordered.append(joint)
        for k in carried.pop(joint.child, ()):
            heappush(ready, k)
    if carried:
        waiting = sorted(k for indices in carried.values() for k in indices)
        raise _loop_error([joints[k] for k in waiting], description.where)
    return ordered


def describe(robot: RobotModel) -> Description:
    """Convert a robot to a description in the frames of its file.

    Named frames other than those of bodies and of the base become massless links on fixed joints.
    """
    robot._require_values("a robot to be written, locked or cut")
    base_of = [robot.frames[name].pose for name in (*robot.links, robot.base_link)]
    links, joints = [_link(robot, BASE, base_of[BASE])], []
    zero = [Pose(X.rotation().astype(float), X.origin().astype(float)) for X in robot._at_zero]
    for i, joint in enumerate(robot.joints):
        p, own, velocities = robot.parent[i], base_of[i], robot.v_of[i]
        axis = own.R.T[:, 2]
        point = own.inverse().r
        point = point - axis * (axis @ point)
        on_axis = joint.letter == "P" or np.abs(point).max() <= TOLERANCE * np.abs(own.r).max()
        links.append(_link(robot, i, own))
        joints.append(
            Connection(
                name=joint.name,
                kind=joint.kind,
                parent=robot.base_link if p == BASE else robot.links[p],
                child=robot.links[i],
                pose=base_of[p].inverse() @ zero[i] @ own,
                axis=axis,
                point=np.zeros(3) if on_axis else point,
                limits=joint.limits,
                pitch=joint.pitch,
                drive=_common(robot.drives[velocities], joint.name, "drives"),
                spring=_common(robot.springs[velocities], joint.name, "springs"),
            )
        )
    moving = {robot.base_link, *robot.links}
    for name, (i, at) in robot.frames.items():
        if name not in moving:
            parent = robot.base_link if i == BASE else robot.links[i]
            links.append(Link(name, **_shapes(robot, name)))
            joints.append(fixed(name, parent, base_of[i].inverse() @ at))
    return Description(
        name=robot.name,
        links=tuple(links),
        joints=tuple(joints),
        gravity=np.asarray(robot.gravity, float),
        tool=robot.tool,
        source=robot.source,
        folder=robot.folder,
        ties=ties_between(robot, range(robot.nb)),
        keyframes={
            key: {
                joint.name: robot.joint_positions(q)[at].tolist()
                for joint, at in zip(robot.joints, robot.q_of, strict=True)
            }
            for key, q in robot.keyframes.items()
        },
    )


def _common(values: Sequence[Any], name: str, what: str) -> Any:
    """Return the drive or the spring that a joint has at each of its velocities."""
    if len(set(values)) > 1:
        raise ModelError(
            f"joint {quote(name)} has {what} that differ from axis to axis: expected equal ones "
            "for a robot to be written, locked or cut, since a file has one for each joint"
        )
    return values[0]


def _link(robot: RobotModel, i: int, own: Pose) -> Link:
    """Return body `i` as a link in its file frame; `own` is the file frame's pose in the body."""
    name = robot.base_link if i == BASE else robot.links[i]
    m, c, J = robot.base_body if i == BASE else robot.bodies[i]
    c, J = c.astype(float), J.astype(float)
    if not m and np.any(c):
        raise ModelError(
            f"link {name!r} has a first moment but no mass: parameters like these give "
            "the right torques, but no file can hold them"
        )
    com = c / m if m else np.zeros(3)
    I = own.R.T @ (J - np.asarray(point_inertia(m, com), float)) @ own.R
    mass, moment = Compensation() if i == BASE else robot.compensation[i]
    back = own.inverse()
    compensation = Compensation(float(mass), back.R @ moment.astype(float) + float(mass) * back.r)
    shapes = _shapes(robot, name)
    return Link(name, float(m), back.point(com), I, compensation=compensation, **shapes)


def _shapes(robot: RobotModel, link: str) -> dict[str, Any]:
    return {"meshes": robot.meshes.get(link, ()), "solids": robot.solids.get(link, ())}
