"""Random trees of several joint types, as models of Pinocchio and, but for helical joints, MJCF."""

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from support.robots import QUARTERS, numbers, random_body

BASE = -1


class Body(NamedTuple):
    """A body, and the joint called joint0, joint1, … that moves it in the axes of its parent."""

    parent: int
    kind: str
    place: pin.SE3
    axis: np.ndarray
    inertia: pin.Inertia
    pitch: float


def random_tree(seed, joints, kinds=("revolute", "prismatic", "ball")):
    """A list of bodies, parents first; axes and placements are general or by quarter turns.

    At least one joint is of the last kind.
    """
    rng = np.random.default_rng(seed)
    branching, special = rng.choice([0.0, 0.3]), rng.choice([0.0, 0.5])
    drawn = rng.choice(kinds, joints)
    drawn[rng.integers(joints)] = kinds[-1]

    def place():
        angles = rng.choice(QUARTERS, 3) if rng.random() < special else rng.uniform(-3, 3, 3)
        return pin.SE3(pin.rpy.rpyToMatrix(angles), rng.uniform(-0.5, 0.5, 3))

    def axis():
        x = np.eye(3)[rng.integers(3)] if rng.random() < special else rng.normal(size=3)
        return x / np.linalg.norm(x)

    bodies = []
    for i, kind in enumerate(drawn):
        path = [i - 1]  # to the base: Pinocchio takes the bodies of a subtree in a row
        while path[-1] != BASE:
            path.append(bodies[path[-1]].parent)
        parent = int(rng.choice(path)) if rng.random() < branching else i - 1
        body = parent, str(kind), place(), axis(), pin.Inertia(*random_body(rng))
        bodies.append(Body(*body, rng.uniform(-0.3, 0.3) if kind == "helical" else 0.0))
    return bodies, place(), rng.normal(scale=5, size=3)


def pinocchio_model(bodies, tool, gravity):
    """The tree as a model of Pinocchio, with the frame "tool" on the last body."""
    model = pin.Model()
    model.gravity.linear[:] = gravity
    for i, (parent, kind, place, axis, inertia, pitch) in enumerate(bodies):
        joint = {
            "revolute": lambda axis=axis: pin.JointModelRevoluteUnaligned(axis),
            "prismatic": lambda axis=axis: pin.JointModelPrismaticUnaligned(axis),
            "ball": pin.JointModelSpherical,
            "helical": lambda axis=axis, pitch=pitch: helical(axis, pitch),
        }[kind]()
        index = model.addJoint(parent + 1, joint, place, f"joint{i}")
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    model.addFrame(pin.Frame("tool", len(bodies), 0, tool, pin.OP_FRAME))
    return model


def helical(axis, pitch):
    """The helical joint about a coordinate axis, where it is one, or about any axis."""
    if np.count_nonzero(axis) > 1:
        return pin.JointModelHelicalUnaligned(axis, pitch)
    about = pin.JointModelHX, pin.JointModelHY, pin.JointModelHZ
    return about[np.argmax(axis)](pitch)


def mjcf(bodies, tool, gravity):
    """The tree as an MJCF text, with the site "tool" on the last body."""
    texts = [""] * len(bodies)
    world = ""
    for i in reversed(range(len(bodies))):
        parent, kind, place, axis, inertia, _ = bodies[i]
        along = {"revolute": "hinge", "prismatic": "slide"}
        of_axis = f' axis="{numbers(axis)}"' if kind in along else ""
        site = f'<site name="tool" {_at(tool)}/>' if i == len(bodies) - 1 else ""
        I = inertia.inertia
        entries = numbers([*np.diag(I), I[0, 1], I[0, 2], I[1, 2]])
        text = (
            f'<body name="body{i}" {_at(place)}>'
            f'<joint name="joint{i}" type="{along.get(kind, kind)}"{of_axis}/>'
            f'<inertial pos="{numbers(inertia.lever)}" mass="{inertia.mass!r}" '
            f'fullinertia="{entries}"/>{site}{texts[i]}</body>'
        )
        if parent == BASE:
            world = text + world
        else:
            texts[parent] = text + texts[parent]
    return f'<mujoco><option gravity="{numbers(gravity)}"/><worldbody>{world}</worldbody></mujoco>'


def _at(place):
    x, y, z, w = pin.Quaternion(place.rotation).coeffs()
    return f'pos="{numbers(place.translation)}" quat="{numbers([w, x, y, z])}"'
