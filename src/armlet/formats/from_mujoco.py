"""Convert compiled MuJoCo models to descriptions, without importing MuJoCo."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType
from typing import Any

import numpy as np

from armlet.description import Connection, Description, Link, Tie
from armlet.description.assembly import fix_joint
from armlet.description.description import Mesh, PassiveForce, Solid, fixed
from armlet.description.problems import Problems
from armlet.errors import ModelError, listing, quote
from armlet.robot import IDENTITY_POSE, Compensation, Drive, Limits, Pose, Spring
from armlet.robot.pose import rotation_of_quaternion
from armlet.scalar import Vector

WORLD = "world"
JOINT_KINDS = ("floating", "ball", "prismatic", "revolute")
"""Joint kinds, indexed by `jnt_type`; kinds from index `PRISMATIC` on have one coordinate."""
FREE, PRISMATIC = 0, 2
TARGETS = ("joint", "joint", "slider-crank", "tendon", "site", "body", "joint")
"""Kind of object that an actuator acts on, indexed by `actuator_trntype`."""
JOINT_EQUALITY, SITE_OBJECT = 2, 6
SOLIDS = {
    2: ("sphere", (1,)),
    3: ("capsule", (1, 2)),
    4: ("ellipsoid", (1, 1, 1)),
    5: ("cylinder", (1, 2)),
    6: ("box", (2, 2, 2)),
}
"""MuJoCo's `geom_type` -> kind of `Solid`, and factors from MuJoCo's sizes to `Solid.size`."""
SHOWN = range(3)
"""Groups of geoms that MuJoCo's viewer shows."""
FRICTIONLOSS, SPRING, DAMPER, GRAVITY = 1 << 2, 1 << 5, 1 << 6, 1 << 7
PASSIVE = SPRING | DAMPER
"""If both flags are set in `disableflags`, MuJoCo computes no passive forces."""
SPRINGS, FRICTION, ALONG = "springs of joints", "friction that is not linear, of", "forces along"
NOT_MODELLED = (
    ("jnt_stiffnesspoly", SPRINGS, "a spring that is not linear", SPRING),
    ("jnt_springyield", SPRINGS, "a spring that yields", SPRING),
    ("dof_dampingpoly", FRICTION, "friction that is not linear", DAMPER),
    ("actuator_damping", FRICTION, "friction on no joint", DAMPER),
    ("actuator_dampingpoly", FRICTION, "friction that is not linear", DAMPER),
    ("tendon_stiffness", ALONG, "a force along it", SPRING),
    ("tendon_stiffnesspoly", ALONG, "a force along it", SPRING),
    ("tendon_damping", ALONG, "a force along it", DAMPER),
    ("tendon_dampingpoly", ALONG, "a force along it", DAMPER),
    ("tendon_frictionloss", ALONG, "a force along it", FRICTIONLOSS),
)
"""Passive forces that armlet does not model: for each force, its array in the MuJoCo model, its
names in messages (plural, singular), and the flag in `disableflags` that disables it."""
Places = Mapping[tuple[str, str], str]
"""(kind, name) of a body, joint, equality, tendon or actuator -> file and line."""
Shapes = Mapping[int, Mesh | None]
"""Geom index -> mesh to draw, in the geom's frame, or None to draw nothing."""


@np.errstate(all="ignore")  # `check` refuses infinite numbers and NaN later
def read_mujoco(
    model: Any,
    problems: Problems,
    places: Places = MappingProxyType({}),
    meshes: Shapes = MappingProxyType({}),
) -> Description:
    """Convert a mujoco.MjModel to a description; the base is the world, and q is MuJoCo's qpos."""
    if not all(hasattr(model, name) for name in ("body_parentid", "actuator_ctrladr", "opt")):
        raise ModelError(
            f"from_mujoco was given {quote(model)}: expected a mujoco.MjModel of MuJoCo 4 or newer"
        )
    reader = _Reader(model, problems, places, meshes)
    reader.refuse_others()
    links, joints = reader.tree()
    return Description(
        name=problems.where,
        links=tuple(links),
        joints=tuple(joints),
        gravity=np.zeros(3) if reader.is_off(GRAVITY) else np.array(model.opt.gravity, float),
        tool=reader.tool(),
        where=problems.where,
        ties=tuple(reader.ties()),
        not_modelled=tuple(reader.not_modelled()),
        keyframes=reader.keyframes(),
        notes=reader.control_laws(),
        format="MJCF",
    )


class _Reader:
    """Convert a MuJoCo model; integer arguments are MuJoCo indices of bodies, joints, etc."""

    def __init__(self, model: Any, problems: Problems, places: Places, meshes: Shapes) -> None:
        self.model, self.problems, self.places, self.meshes = model, problems, places, meshes
        bodies = [model.body(i).name for i in range(1, model.nbody)]
        self.bodies = [WORLD, *_fill_names(bodies, "body")]
        joints = [model.joint(k).name for k in range(model.njnt)]
        for free in np.flatnonzero(model.jnt_type == FREE):
            joints[free] = joints[free] or f"{self.bodies[model.jnt_bodyid[free]]}_free"
        self.joints = _fill_names(joints, "joint")
        self.left_out = self._free_bodies_beside()
        self.targets = [TARGETS[k] for k in model.actuator_trntype]
        self.on_joints = [
            k
            for k, joint in enumerate(model.actuator_trnid[:, 0])
            if self.targets[k] == "joint" and model.jnt_bodyid[joint] not in self.left_out
        ]
        self.on_others = [k for k, target in enumerate(self.targets) if target != "joint"]
        self.rotors = np.array(model.dof_armature, float)
        self.viscous = np.array(model.dof_damping, float)
        self.efforts: dict[int, float] = {}
        for actuator in self.on_joints:
            self._add_motor(actuator)

    def where(self, kind: str, name: str) -> str:
        """Return the file and line of an element, or only the file if the line is unknown."""
        return self.places.get((kind, name), self.problems.where)

    def is_off(self, flags: int) -> bool:
        return int(self.model.opt.disableflags) & flags == flags

    def _free_bodies_beside(self) -> set[int]:
        """Return the bodies of the trees that are left out; add a note that names these trees.

        A tree with joints but without a free joint is a robot with a fixed base. If there is one,
        all trees with a free joint are left out. Otherwise, a tree with a free and other joints is
        a robot with a floating base. If there is one, trees with only a free joint are left out.
        """
        model = self.model
        roots = model.body_rootid[model.jnt_bodyid]
        counts = Counter(roots.tolist())
        free = dict.fromkeys(roots[model.jnt_type == FREE].tolist())
        carriers = [root for root in free if counts[root] > 1]
        is_fixed = len(free) < len(counts)
        beside = [*free] if is_fixed else [x for x in free if carriers and x not in carriers]
        if beside:
            base = "with a fixed base" if is_fixed else "with joints"
            self.problems.note(
                f"{self.problems.where}: left out, since they are on free joints beside a robot "
                f"{base}: {listing([self.bodies[root] for root in beside])}"
            )
        return set(np.flatnonzero(np.isin(model.body_rootid, beside)).tolist())

    def _robot_bodies(self) -> list[tuple[int, str]]:
        return [(i, name) for i, name in enumerate(self.bodies) if i not in self.left_out]

    def tree(self) -> tuple[list[Link], list[Connection]]:
        """Return links and joints; a site, or a link between two joints of a body, is massless."""
        model, links, joints = self.model, list[Link](), list[Connection]()
        taken = set(self.bodies)
        for i, name in self._robot_bodies():
            where = self.where("body", name)
            parent = self.bodies[model.body_parentid[i]]
            pose = pose_in_mujoco(model.body_pos[i], model.body_quat[i])
            between = self._joints_of(i)
            for k in between:
                joint, child = self._joint(k), name
                if k != between[-1]:
                    child = _unique(taken, f"{name}_{joint.name}")
                    links.append(Link(child, where=joint.where))
                joints.append(replace(joint, parent=parent, child=child, pose=pose @ joint.pose))
                parent, pose = child, IDENTITY_POSE
            if i and not between:
                joints.append(fixed(name, parent, pose, where))
            drawn, solids = self._shapes(i)
            links.append(replace(self._link(i), where=where, meshes=drawn, solids=solids))
            for k, site in self._sites(i):
                links.append(Link(site, where=where))
                at = pose_in_mujoco(model.site_pos[k], model.site_quat[k])
                joints.append(fixed(site, name, at, where))
        return links, joints

    def _joints_of(self, i: int) -> range:
        first = self.model.body_jntadr[i]
        return range(first, first + self.model.body_jntnum[i])

    def _joint(self, k: int) -> Connection:
        """Return joint `k` without link names; its pose is the displacement from qpos0 to q = 0."""
        model, dof, name = self.model, self.model.jnt_dofadr[k], self.joints[k]
        kind = JOINT_KINDS[model.jnt_type[k]]
        body = self.where("body", self.bodies[model.jnt_bodyid[k]])
        joint = Connection(name, kind, "", "", where=self.places.get(("joint", name), body))
        if model.jnt_type[k] < PRISMATIC:
            return joint
        low, high = model.jnt_range[k] if model.jnt_limited[k] else (-inf, inf)
        effort = _largest(model.jnt_actfrcrange[k], model.jnt_actfrclimited[k])
        stiffness = 0.0 if self.is_off(SPRING) else float(model.jnt_stiffness[k])
        rest = float(model.qpos_spring[model.jnt_qposadr[k]])
        joint = replace(
            joint,
            kind="continuous" if kind == "revolute" and low == -inf else kind,
            axis=np.array(model.jnt_axis[k], float),
            point=np.array(model.jnt_pos[k], float),
            limits=Limits(float(low), float(high), effort=min(effort, self.efforts.get(k, inf))),
            drive=Drive(
                float(self.rotors[dof]),
                0.0 if self.is_off(DAMPER) else float(self.viscous[dof]),
                0.0 if self.is_off(FRICTIONLOSS) else float(model.dof_frictionloss[dof]),
            ),
            spring=Spring(stiffness, rest) if stiffness else Spring(),
            at_start=float(model.qpos0[model.jnt_qposadr[k]]),
        )
        return replace(joint, pose=fix_joint(joint, -joint.at_start).pose)

    def _link(self, i: int) -> Link:
        """Return body `i` as a link, with gravity compensation unless actuators provide it."""
        model, name = self.model, self.bodies[i]
        if i == 0:
            return Link(name)
        at = pose_in_mujoco(model.body_ipos[i], model.body_iquat[i])
        inertia = at.R @ np.diag(model.body_inertia[i]) @ at.R.T
        link = Link(name, float(model.body_mass[i]), at.r, inertia)
        lifted = link.mass * float(model.body_gravcomp[i])
        if not lifted or self.is_off(PASSIVE) or any(self._actuated_compensation(i)):
            return link
        return replace(link, compensation=Compensation(lifted, lifted * at.r))

    def _actuated_compensation(self, i: int) -> list[bool]:
        """Return `jnt_actgravcomp` for each one-coordinate joint from body `i` to the base."""
        model, actuated = self.model, []
        while i:
            own = [k for k in self._joints_of(i) if model.jnt_type[k] >= PRISMATIC]
            actuated += [bool(model.jnt_actgravcomp[k]) for k in own]
            i = model.body_parentid[i]
        return actuated

    def _sites(self, i: int) -> list[tuple[int, str]]:
        """Return (index, name) of a body's named sites; site X becomes X_site if X names a body."""
        model = self.model
        named = [(k, model.site(k).name) for k in np.flatnonzero(model.site_bodyid == i).tolist()]
        return [(k, f"{x}_site" if x in self.bodies else x) for k, x in named if x]

    def _shapes(self, i: int) -> tuple[tuple[Mesh, ...], tuple[Solid, ...]]:
        model, drawn, solids = self.model, list[Mesh](), list[Solid]()
        for k in range(model.body_geomadr[i], model.body_geomadr[i] + model.body_geomnum[i]):
            at, mesh = pose_in_mujoco(model.geom_pos[k], model.geom_quat[k]), self.meshes.get(k)
            if model.geom_group[k] not in SHOWN:
                continue
            if mesh is not None:
                drawn.append(replace(mesh, pose=at @ mesh.pose))
            elif k not in self.meshes and model.geom_type[k] in SOLIDS:
                kind, factors = SOLIDS[model.geom_type[k]]
                size = model.geom_size[k][: len(factors)] * factors
                solids.append(Solid(kind, tuple(size.tolist()), at))
        return tuple(drawn), tuple(solids)

    def tool(self) -> str | None:
        """Return the name of the tool if exactly one leaf body moves; otherwise, return None.

        If the leaf has exactly one named site, the tool is the site; otherwise, it is the body.
        """
        model = self.model
        inner = self.left_out.union(model.body_parentid.tolist())
        tips = [i for i in np.flatnonzero(model.body_weldid).tolist() if i not in inner]
        if len(tips) != 1:
            return None
        sites = self._sites(tips[0])
        return sites[0][1] if len(sites) == 1 else self.bodies[tips[0]]

    def keyframes(self) -> dict[str, dict[str, tuple[float, ...]]]:
        """Return keyframe name -> joint name -> positions, for joints with one coordinate."""
        model = self.model
        joints = [
            (self.joints[k], model.jnt_qposadr[k])
            for k in np.flatnonzero(model.jnt_type >= PRISMATIC).tolist()
            if model.jnt_bodyid[k] not in self.left_out
        ]
        names = _fill_names([model.key(k).name for k in range(model.nkey)], "key")
        return {
            key: {name: (float(qpos[at]),) for name, at in joints}
            for key, qpos in zip(names, model.key_qpos, strict=True)
        }

    def _is_torque(self, k: int) -> bool:
        """Return whether the force of actuator `k` equals its control signal."""
        model = self.model
        laws = model.actuator_gaintype[k], model.actuator_biastype[k], model.actuator_dyntype[k]
        is_plugin = model.actuator_plugin[k] >= 0
        return not (is_plugin or any(laws)) and bool(model.actuator_gainprm[k, 0] == 1)

    def _add_motor(self, k: int) -> None:
        """Add armature, damping and force limit of actuator `k` to its joint, scaled by gear."""
        model, control = self.model, self.model.actuator_ctrladr[k]
        joint = int(model.actuator_trnid[k, 0])
        dof = model.jnt_dofadr[joint]
        gear = abs(float(model.actuator_gear[model.actuator_outadr[k], 0]))
        force = _largest(model.actuator_forcerange[k], model.actuator_forcelimited[k])
        if self._is_torque(k):
            limited = model.actuator_ctrllimited[control]
            force = min(force, _largest(model.actuator_ctrlrange[control], limited))
        self.rotors[dof] += gear * gear * model.actuator_armature[k]
        self.viscous[dof] += gear * gear * model.actuator_damping[k]
        self.efforts[joint] = self.efforts.get(joint, 0.0) + (gear * force if gear else 0.0)

    def control_laws(self) -> tuple[str, ...]:
        """Return a note if actuators have control laws; report actuators that act on no joint."""
        others = Counter(self.targets[k] for k in self.on_others)
        if others:
            counts = listing([f"{count} on a {target}" for target, count in others.items()])
            self.problems.note(
                f"{self.problems.where}: left out, since they are on no joint and armlet has "
                f"torques of joints: actuators, {counts}"
            )
        count = sum(not self._is_torque(k) for k in self.on_joints)
        note = f"of {count} actuators on joints with a control law, torque limits, armature and"
        return (f"{note} damping are read, the law is not",) if count else ()

    def ties(self) -> Iterator[Tie]:
        """Yield each joint equality as a `Tie`; add errors for constraints that close loops."""
        model = self.model
        for k in np.flatnonzero(model.eq_active0).tolist():
            bodies, (said, where) = self._bodies_of_equality(k), self._owner("equality", k)
            if bodies and bodies <= self.left_out | {0}:
                continue
            if model.eq_type[k] != JOINT_EQUALITY:
                self._refuse_loop(bodies, said, where)
                continue
            tied = [self.joints[x] for x in (model.eq_obj1id[k], model.eq_obj2id[k]) if x >= 0]
            said = f"{said} ties joint {' to '.join(map(quote, tied))}"
            if bodies & self.left_out:
                self.problems.error(
                    f"{where}: {said}, one of which is left out with its body, on a free joint "
                    'beside the robot: remove the equality or set active="false"'
                )
                continue
            joint, leader = (*tied, "")[:2]
            count = max(np.flatnonzero(model.eq_data[k][:5]), default=0) + 1 if leader else 1
            coefficients = tuple(model.eq_data[k][:count].tolist())
            yield Tie(joint, leader, coefficients, said, where, mutual=True)

    def _bodies_of_equality(self, k: int) -> set[int]:
        """Return the bodies in equality constraint `k`; the set is empty for tendons and flexes."""
        model = self.model
        objects = [int(x) for x in (model.eq_obj1id[k], model.eq_obj2id[k]) if x >= 0]
        if model.eq_type[k] > JOINT_EQUALITY:
            return set()
        bodies = range(model.nbody)
        if model.eq_type[k] == JOINT_EQUALITY:
            bodies = model.jnt_bodyid
        elif model.eq_objtype[k] == SITE_OBJECT:
            bodies = model.site_bodyid
        return {int(bodies[x]) for x in objects}

    def _refuse_loop(self, bodies: set[int], said: str, where: str) -> None:
        """Add an error for a constraint that closes a loop, or a note if a body is a mocap body."""
        if any(self.model.body_mocapid[i] >= 0 for i in bodies):
            held = "it holds the robot to a mocap body, which is moved from outside"
            self.problems.note(f"{where}: {said} is left out: {held}")
            return
        cure = 'expected a tree; remove it or set active="false"'
        self.problems.error(
            f"{where}: {said} closes a loop: {cure}", f"equalities close loops: {cure}", said
        )

    def refuse_others(self) -> None:
        """Add errors for elements that change the dynamics even with passive="ignore"."""
        model, problems = self.model, self.problems
        if model.nflex:
            problems.error(f"{problems.where}: {model.nflex} flexes: expected rigid bodies")
        inertias = [("actuator", k) for k in self.on_others if model.actuator_armature[k]]
        inertias += [("tendon", k) for k in np.flatnonzero(model.tendon_armature).tolist()]
        for kind, k in inertias:
            called, where = self._owner(kind, k)
            problems.error(
                f"{where}: {called} has an inertia on no joint, which armlet does not model: "
                "remove its armature"
            )
        for i, name in self._robot_bodies():
            subject = f"{self.where('body', name)}: body {quote(name)}"
            if model.body_gravcomp[i] < 0:
                gravcomp = f"gravcomp {model.body_gravcomp[i]:g}"
                problems.error(f"{subject} has {gravcomp}: expected none below zero")
            if model.body_plugin[i] >= 0:
                problems.error(f"{subject} has a plugin with forces of its own: remove it")

    def not_modelled(self) -> Iterator[PassiveForce]:
        """Yield the passive forces that armlet does not model."""
        model = self.model
        for key in ("density", "viscosity"):
            if (value := getattr(model.opt, key)) and not self.is_off(PASSIVE):
                said = f"{key} {value:g}, a fluid around the robot"
                yield PassiveForce("forces of a fluid:", key, said, self.problems.where)
        for array, force, meaning, flag in NOT_MODELLED:
            rows, modelled = getattr(model, array), self._exempt_rows(array)
            for k in range(0 if self.is_off(flag) else len(rows)):
                if np.any(rows[k]) and k not in modelled:
                    called, where = self._owner(array.partition("_")[0], k)
                    said = f"{called} has {meaning} ({array} {rows[k]})"
                    yield PassiveForce(force, called, said, where)
        for i, name in self._robot_bodies():
            is_mixed = model.body_gravcomp[i] and len(set(self._actuated_compensation(i))) > 1
            if is_mixed and not self.is_off(PASSIVE):
                said = f"body {quote(name)} has a gravcomp by the actuators of some joints only"
                where = self.where("body", name)
                yield PassiveForce("gravity compensation of links", quote(name), said, where)

    def _exempt_rows(self, array: str) -> Container[int]:
        """Return the indices in `array` of forces that are modelled or act on left-out bodies."""
        if array.startswith("actuator"):
            rows = (k for k, target in enumerate(self.targets) if target == "joint")
            return [k for k in rows if array == "actuator_damping" or k not in self.on_joints]
        bodies = {"jnt": self.model.jnt_bodyid, "dof": self.model.dof_bodyid}.get(array[:3], [])
        return np.flatnonzero(np.isin(bodies, [*self.left_out])).tolist()

    def _owner(self, kind: str, k: int) -> tuple[str, str]:
        """Return the name that messages give to element `k`, and the element's file and line."""
        if kind in ("jnt", "dof"):
            name = self.joints[k if kind == "jnt" else self.model.dof_jntid[k]]
            kind = "joint"
        else:
            name = getattr(self.model, kind)(k).name
        return f"{kind} {quote(name) if name else k + 1}", self.where(kind, name)


def pose_in_mujoco(r: Vector, quaternion: Vector) -> Pose:
    return Pose(rotation_of_quaternion(*quaternion), np.array(r, float))


def _largest(ends: Vector, is_limited: bool) -> float:
    """Return the largest absolute value of a range, or infinity if there is no limit."""
    return float(np.abs(ends).max()) if is_limited else inf


def _fill_names(names: Sequence[str], kind: str) -> list[str]:
    taken = set(names)
    return [name or _unique(taken, f"{kind}{k}") for k, name in enumerate(names, start=1)]


def _unique(taken: set[str], name: str) -> str:
    """Append underscores to a name until it is not in `taken`, and add the result to `taken`."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
