"""The robot: a tree of rigid bodies, each on one joint, in canonical frames."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet._support.validation import one_of, scalars
from armlet.algebra import point_inertia, symmetric, vector
from armlet.errors import DataError, ModelError, listing, quote
from armlet.robot.components import (
    BASE,
    PHI,
    Compensation,
    Coupling,
    Drive,
    Frame,
    Joint,
    Spring,
    bodies_of,
    common_limits,
    entries_of,
)
from armlet.robot.displacement import Body, DHRow, Displacement, Screw, displacement
from armlet.robot.joints import Twist, slices
from armlet.robot.pose import Pose
from armlet.scalar import Matrix, Scalar, Symbol, Vector, cos_sin, is_zero, quarter_turns

Result = TypeVar("Result")

GROUPS = ("geometry", "inertia", "gravity", "drive")
"""The names of the groups of constants: see `RobotModel.constants`."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparedByData:
    """A base of dataclasses with arrays and mappings: compared and hashed by their data."""

    @cached_property
    def _data(self) -> Hashable:
        return tuple(hashable(getattr(self, x.name)) for x in fields(self) if x.compare)

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, ComparedByData) and isinstance(self, type(other))):
            return NotImplemented
        return self._data == other._data

    def __hash__(self) -> int:
        return hash(self._data)


@dataclass(frozen=True, eq=False, repr=False)
class RobotModel(ComparedByData):
    """The data of a robot, which formulations read: a tree of bodies, each moved by one joint.

    Body i and joint i share the index i; q[i] is the position of joint i if no joints are coupled.
    Constants are scalars of any type. A model is immutable: its `with_…` methods return new models.
    Models with equal data are equal. `armlet.Robot` adds the quantities and file formats.
    """

    name: str
    joints: tuple[Joint, ...]
    parent: tuple[int, ...]
    dh: tuple[DHRow, ...]
    m: tuple[Scalar, ...]
    c: tuple[Vector, ...]
    J: tuple[Matrix, ...]
    drives: tuple[Drive, ...]
    """One drive per joint velocity, those of coupled joints included."""
    g: NDArray[Any]
    """The acceleration of gravity, in the axes of the canonical base frame."""
    links: tuple[str, ...]
    """The name of each body's link in the file."""
    base_link: str = "base"
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Every named frame, including those of the links and of the base."""
    tool: str | None = None
    source: str = ""
    meshes: Mapping[str, Any] = field(default_factory=dict)
    """The visual meshes of each link, by the link's name."""
    springs: tuple[Spring, ...] = ()
    """One spring per joint, by default without stiffness."""
    compensation: tuple[Compensation, ...] = ()
    """The part of each body whose weight is compensated; nothing by default."""
    couplings: tuple[Coupling, ...] = ()
    """The coupling of each joint to its leader; empty if every joint is a coordinate itself."""
    keyframes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Named values of q, such as those in an MJCF file."""
    solids: Mapping[str, Any] = field(default_factory=dict)
    """The visual primitives of each link, by the link's name."""
    folder: str = field(default="", compare=False)
    """The folder of the robot's file and of the meshes that the file names."""
    base_mass: float = field(default=0.0, compare=False)
    """The mass of the base and of the links fixed to it, which never move."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """The data of the file that no quantity takes into account, one sentence each."""
    _memory: dict[Any, Any] = field(default_factory=dict, init=False, compare=False)
    """Cached results of this robot; see `_once`."""

    def __post_init__(self) -> None:
        weights = self.compensation or (Compensation(),) * self.nb
        frames = {
            name: Frame(body, Pose(read_only(at.R), read_only(at.r)))
            for name, (body, at) in self.frames.items()
        }
        immutable = {
            "c": tuple(map(read_only, self.c)),
            "J": tuple(map(read_only, self.J)),
            "g": read_only(self.g),
            "springs": self.springs or (Spring(),) * len(self.drives),
            "compensation": tuple(Compensation(x.mass, read_only(x.moment)) for x in weights),
            "frames": MappingProxyType(frames),
            "meshes": MappingProxyType(dict(self.meshes)),
            "solids": MappingProxyType(dict(self.solids)),
            "keyframes": MappingProxyType({k: read_only(q) for k, q in self.keyframes.items()}),
        }
        for name, value in immutable.items():
            object.__setattr__(self, name, value)

    def _once(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of make(), computed on the first call with this key and cached."""
        if key not in self._memory:
            self._memory.setdefault(key, make())
        result: Result = self._memory[key]
        return result

    # ------------------------------------------------------------------ gravity and inertia

    @property
    def gravity(self) -> NDArray[Any]:
        """The acceleration of gravity in the axes of the file's base, of shape (3,)."""
        if any(type(x) is Symbol for x in self.g):  # then the base's axes are canonical
            return self.g
        gravity: NDArray[Any] = self.frames[self.base_link].pose.R.T @ self.g
        return gravity

    @property
    def mass(self) -> Scalar:
        """The total mass of the moving bodies."""
        self._require_values("a total mass")
        return sum(self.m)

    @cached_property
    def phi(self) -> NDArray[Any]:
        """The inertial parameters, one row per body: Jxx Jxy Jxz Jyy Jyz Jzz, cx cy cz, m."""
        rows = [entries_of(body) for body in self.bodies]
        numeric = all(isinstance(x, int | float) for row in rows for x in row)
        return read_only(np.array(rows, dtype=float if numeric else object).reshape(self.nb, 10))

    # ------------------------------------------------------------------ sizes and names

    @property
    def n(self) -> int:
        """The number of coordinates: all joints but those that follow another joint."""
        return len(self.coordinates)

    @property
    def nb(self) -> int:
        """The number of bodies, one per joint."""
        return len(self.joints)

    @cached_property
    def nq(self) -> int:
        """The number of positions in q."""
        return sum(joint.type.nq for joint in self.coordinates)

    @cached_property
    def nv(self) -> int:
        """The number of velocities in qd, and of torques in tau."""
        return sum(joint.type.nv for joint in self.coordinates)

    @cached_property
    def q_of(self) -> tuple[slice, ...]:
        """For each joint, the slice of its positions in those of all joints (`joint_positions`)."""
        return slices([joint.type.nq for joint in self.joints])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """For each joint, the slice of its velocities in those of all joints."""
        return slices([joint.type.nv for joint in self.joints])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the coordinates, in the order of q; each is the name of a leading joint."""
        return tuple(joint.name for joint in self.coordinates)

    @property
    def _joint_letters(self) -> str:
        """One letter per joint, R (revolute) or P (prismatic)."""
        return "".join(joint.letter for joint in self.joints)

    @property
    def _is_serial(self) -> bool:
        """Whether every body has at most one child."""
        return all(p == i - 1 for i, p in enumerate(self.parent))

    # ------------------------------------------------------------------ coupled joints

    @cached_property
    def coordinates(self) -> tuple[Joint, ...]:
        """The name, kind and limits of each coordinate, in the order of q.

        A coordinate that moves several joints has the name and kind of the leading joint, and the
        limits of the leading joint, narrowed to what the other joints allow.
        """
        if not self.couplings:
            return self.joints
        return tuple(
            self.joints[i]._replace(
                limits=common_limits(self.joints[i].limits, self._followers(i))[0]
            )
            for i in self._leaders
        )

    @cached_property
    def _leaders(self) -> tuple[int, ...]:
        """For each coordinate, the index of its leading joint."""
        if not self.couplings:
            return tuple(range(self.nb))
        return tuple(i for i, coupling in enumerate(self.couplings) if coupling.leader == i)

    def _followers(self, i: int) -> list[tuple[Joint, Coupling]]:
        """The joints that follow joint i, with their couplings."""
        pairs = enumerate(zip(self.joints, self.couplings, strict=False))
        return [pair for k, pair in pairs if pair[1].leader == i and k != i]

    def _coupling_text(self, i: int) -> str:
        """The coupling of joint i as a text such as "-2 finger + 0.5"; empty if joint i leads."""
        if i in self._leaders:
            return ""
        leader, factor, offset = self.couplings[i]
        name = self.joints[leader].name
        times = {1: name, -1: f"-{name}"}.get(factor, f"{factor:.6g} {name}")
        return times + (f" {'+' if offset > 0 else '-'} {abs(offset):.6g}" if offset else "")

    def joint_positions(self, q: ArrayLike) -> NDArray[Any]:
        """The positions Γ q + q₀ of all joints, with Γ and q₀ of `couplings`: shape (..., nb)."""
        moved = self._joint_velocities(q)
        offsets = [coupling.offset for coupling in self.couplings]
        positions: NDArray[Any] = moved + np.array(offsets, moved.dtype) if offsets else moved
        return positions

    def _joint_velocities(self, qd: ArrayLike) -> NDArray[Any]:
        """The velocities Γ qd of all joints, with the factors Γ of `couplings`: shape (..., nb).

        Accelerations and small displacements of the joints are computed in the same way.
        """
        rates = np.asarray(qd)
        if not self.couplings:
            return rates
        if rates.dtype != object:
            rates = rates.astype(float)
        index, factors = self._moved_by
        moved: NDArray[Any] = rates[..., index] * np.array(factors, rates.dtype)
        return moved

    def _coordinate_torques(self, tau: NDArray[Any]) -> NDArray[Any]:
        """The torques Γᵀ tau of the coordinates, which do the same work as tau of all joints.

        The first axis of `tau` is that of the joints; its other axes stay as they are.
        """
        if not self.couplings:
            return tau
        index, factors = self._moved_by
        total = np.zeros((self.nv, *tau.shape[1:]), tau.dtype)
        for k, factor, row in zip(index, factors, tau, strict=True):
            total[k] = total[k] + factor * row
        return total

    @cached_property
    def _moved_by(self) -> tuple[list[int], list[Any]]:
        """For each joint velocity, the index of the entry of qd that drives it, and the factor."""
        places = dict(
            zip(self._leaders, slices([x.type.nv for x in self.coordinates]), strict=True)
        )
        moved = [
            (k, coupling.factor)
            for coupling in self.couplings
            for k in range(self.nv)[places[coupling.leader]]
        ]
        return [k for k, _ in moved], [factor for _, factor in moved]

    @cached_property
    def twists(self) -> tuple[tuple[Twist, ...], ...]:
        """The unit twists (w, v) of each joint, in its body's axes: one twist per velocity."""
        return tuple(joint.type.twists for joint in self.joints)

    @cached_property
    def unit_twists(self) -> tuple[Twist, ...]:
        """The unit twists of all joints in one tuple: one twist per velocity of the robot."""
        return tuple(twist for twists in self.twists for twist in twists)

    @cached_property
    def _velocities(self) -> tuple[tuple[int, Twist], ...]:
        """For each velocity of the robot, the body that it moves and its unit twist."""
        return tuple((i, twist) for i, twists in enumerate(self.twists) for twist in twists)

    # ------------------------------------------------------------------ walking the tree

    def base_to_tips(self) -> Iterator[tuple[int, int]]:
        """Every pair (body, parent), parents first; the parent of a root is BASE."""
        return iter(enumerate(self.parent))

    def tips_to_base(self) -> Iterator[tuple[int, int]]:
        """Every pair (body, parent), children first; the parent of a root is BASE.

        To add children to parents, a list needs a last entry for the base: see `with_base`.
        """
        return ((i, self.parent[i]) for i in reversed(range(self.nb)))

    def path(self, i: int) -> list[int]:
        """The bodies on the path from the base, excluded, to body i, included."""
        path = []
        while i != BASE:
            path.append(i)
            i = self.parent[i]
        return path[::-1]

    # ------------------------------------------------------------------ what formulations read

    @property
    def bodies(self) -> list[Body]:
        """Mass, first moment and inertia of each body, about its origin and in its axes."""
        return [*zip(self.m, self.c, self.J, strict=True)]

    @cached_property
    def _has_springs(self) -> bool:
        """Whether some joint has a spring."""
        return not all(is_zero(spring.stiffness) for spring in self.springs)

    @cached_property
    def _has_compensation(self) -> bool:
        """Whether the weight of some body is compensated."""
        return not all(is_zero(x) for mass, c in self.compensation for x in (mass, *c))

    def _compensated_bodies(self) -> Self:
        """The robot whose bodies are the compensated masses, with weight but without inertia."""
        m, c = zip(*self.compensation, strict=True)
        return replace(self, m=m, c=c, J=(symmetric(0, 0, 0, 0, 0, 0),) * self.nb)

    def displacements(self, q: Vector) -> list[Displacement]:
        """The displacement of each body from its parent; the last screw is that of the joint.

        q holds the positions of all joints, as in `joint_positions`.
        """
        return [
            Displacement((*mount, *joint.type.screws(row, q[at])))
            for mount, joint, row, at in zip(
                self._mounts, self.joints, self.dh, self.q_of, strict=True
            )
        ]

    @property
    def _at_zero(self) -> list[Displacement]:
        """The displacement of each body from its parent with all joints at zero."""
        return self.displacements([0] * sum(joint.type.nq for joint in self.joints))

    @cached_property
    def _mounts(self) -> tuple[Displacement, ...]:
        """The constant part of each displacement, before the joint's own screw."""
        return tuple(
            displacement(
                Screw(2, *cos_sin(row.gamma), row.b),
                Screw(0, *cos_sin(row.alpha), row.a),
                Screw(1, *cos_sin(row.beta), 0),
            )
            for row in self.dh
        )

    def frame(self, name: str | None = None) -> Frame:
        """The frame with this name; by default the tool."""
        name = self.tool if name is None else name
        if name is None or name not in self.frames:
            missing = "tool frame" if name is None else f"frame {quote(name)}"
            raise ModelError(
                f"robot {quote(self.name)} has no {missing}: name one of "
                f"{listing(list(self.frames))}"
            )
        return self.frames[name]

    # ------------------------------------------------------------------ constants by name

    def constants(self, group: str) -> dict[str, Scalar]:
        """The constants of one group (geometry, inertia, gravity or drive) by name.

        Constants that are exactly zero or a quarter turn are left out as structure, except in the
        group inertia, which has all ten parameters of each body. The group drive has springs.
        """
        one_of(group, "group of constants", GROUPS)
        if group == "gravity":
            gravity = zip(("gx", "gy", "gz"), self.g, strict=True)
            return {key: value for key, value in gravity if not is_zero(value)}
        rows: dict[str, list[dict[str, Scalar]]] = {
            "geometry": [row._asdict() for row in self.dh],
            "inertia": [dict(zip(PHI, row, strict=True)) for row in self.phi.tolist()],
            "drive": [
                drive._asdict() | spring._asdict()
                for drive, spring in zip(self.drives, self.springs, strict=True)
            ],
        }
        return {
            f"{key}{i + 1}": value
            for i, row in enumerate(rows[group])
            for key, value in row.items()
            if not is_structure(group, key, value)
        }

    def _with_constants(self, named: Mapping[str, Scalar]) -> Self:
        """The robot with the constants in `named` replaced, which are named as in `constants`."""
        if not named:
            return self

        def renew(values: Any, i: int) -> Any:
            return values._replace(
                **{k: named.get(f"{k}{i + 1}", v) for k, v in values._asdict().items()}
            )

        phi = [
            [named.get(f"{key}{i + 1}", value) for key, value in zip(PHI, phi, strict=True)]
            for i, phi in enumerate(self.phi.tolist())
        ]
        return replace(
            self,
            dh=tuple(renew(row, i) for i, row in enumerate(self.dh)),
            drives=tuple(renew(drive, i) for i, drive in enumerate(self.drives)),
            springs=tuple(renew(spring, i) for i, spring in enumerate(self.springs)),
            g=vector(*(named.get(k, v) for k, v in zip(("gx", "gy", "gz"), self.g, strict=True))),
            **bodies_of(phi),
        )

    @property
    def _symbolic(self) -> dict[str, Symbol]:
        """The constants that are symbols, named as in `constants`."""
        named = (pair for group in GROUPS for pair in self.constants(group).items())
        return {name: x for name, x in named if type(x) is Symbol}

    @property
    def symbols(self) -> list[Symbol]:
        """The names of constants without a value, each once."""
        return list(dict.fromkeys(self._symbolic.values()))

    def _require_values(self, what: str) -> None:
        """Raise a ModelError if a constant has no value; `what` names what needs the values."""
        if self.symbols:
            raise ModelError(
                f"robot {quote(self.name)} has constants without a value ({self.symbols[0]}, …): "
                f"{what} needs numbers"
            )

    # ------------------------------------------------------------------ other robots

    def with_inertia(self, phi: ArrayLike) -> Self:
        """The robot with other inertial parameters: (nb, 10) as in `phi`, in canonical frames."""
        expected = f"({self.nb}, 10), the parameters {' '.join(PHI)} of each body"
        array = scalars(phi, "phi", expected, (self.nb, 10), (10 * self.nb,))
        return replace(self, **bodies_of(array.reshape(self.nb, 10).tolist()))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The robot with another acceleration of gravity, in the axes of the file's base."""
        g = scalars(gravity, "gravity", "three components in base axes", (3,))
        return replace(self, g=self.frames[self.base_link].pose.R @ g)

    def with_tool(self, frame: str) -> Self:
        """The robot with `frame` as its tool."""
        self.frame(frame)
        return replace(self, tool=frame)

    def with_payload(
        self,
        mass: ArrayLike,
        com: ArrayLike,
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """The robot with a payload fixed on a frame, by default the tool.

        `com` is the centre of mass in that frame. `inertia` is about the centre of mass, in the
        axes of the frame: a 3x3 matrix or the entries xx xy xz yy yz zz.
        """
        self._require_values("a payload")
        i, at = self.frame(frame)
        if i == BASE:
            raise ModelError(f"frame {frame!r} is on the base, where a payload has no effect")
        expected = "3x3 or the six entries xx xy xz yy yz zz"
        tensor = np.zeros(6) if inertia is None else inertia
        I = scalars(tensor, "the payload's inertia", expected, (3, 3), (6,))
        I = symmetric(*I) if I.shape == (6,) else I
        r = at.point(scalars(com, "the payload's com", "three coordinates", (3,)))
        load = scalars(mass, "the payload's mass", "one number", ()).item()
        if isinstance(load, int | float) and load < 0:
            raise DataError(f"the payload's mass is {load}: expected one number, 0 or more")
        m, c, J = list(self.m), list(self.c), list(self.J)
        m[i], c[i] = m[i] + load, c[i] + load * r
        J[i] = J[i] + at.R @ I @ at.R.T + point_inertia(load, r)
        return replace(self, m=tuple(m), c=tuple(c), J=tuple(J))

    def with_drives(self, **values: ArrayLike) -> Self:
        """The robot with other `rotor_inertia`, `viscous`, `coulomb` or `offset` of its drives.

        Each value is one number for all joints, or one per joint; values left out do not change.
        """
        n, columns = len(self.drives), {}
        for name, value in values.items():
            one_of(name, "the name of a drive's parameter", Drive._fields)
            expected = f"a number, or {n}, one for each joint"
            columns[name] = np.broadcast_to(scalars(value, name, expected, (), (n,)), n)
        drives = (
            drive._replace(**{name: column[i] for name, column in columns.items()})
            for i, drive in enumerate(self.drives)
        )
        return replace(self, drives=tuple(drives))

    def without_drives(self) -> Self:
        """The robot without the rotor inertia and the friction of its drives."""
        return replace(self, drives=(Drive(),) * len(self.drives))

    @cached_property
    def uncoupled(self) -> Self:
        """The same robot without couplings: every joint is a coordinate of its own."""
        return replace(self, couplings=()) if self.couplings else self

    def _without_friction(self) -> Self:
        """The robot without the friction of its drives, but with their rotor inertia."""
        return replace(self, drives=tuple(Drive(drive.rotor_inertia) for drive in self.drives))

    def dh_table(self) -> list[dict[str, Any]]:
        """The canonical frames: one dictionary per joint with its name, kind, parent and DH row."""
        return [
            {
                "joint": joint.name,
                "kind": joint.kind,
                "parent": self.base_link if p == BASE else self.links[p],
                **row._asdict(),
            }
            for joint, p, row in zip(self.joints, self.parent, self.dh, strict=True)
        ]

    def __repr__(self) -> str:
        shape = "serial" if self._is_serial else "tree"
        mass = self.mass if self.n and not self.symbols else None
        weight = f", {mass:.4g} kg" if isinstance(mass, float) else ""
        tool = f", tool {self.tool!r}" if self.tool else ""
        joints = f"{self.nb} joints {self._joint_letters}"
        if self.couplings:
            joints += f" moved by {self.n} coordinate{'s' if self.n > 1 else ''}"
        return f"<Robot {self.name!r}: {joints}, {shape}{weight}{tool}>"

    def __getstate__(self) -> dict[str, Any]:
        """The data alone: cached results are dropped when a robot is copied or pickled."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        mappings = {name: dict(state[name]) for name in ("frames", "meshes", "solids", "keyframes")}
        return state | mappings | {"_memory": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


def is_structure(group: str, key: str, value: Scalar) -> bool:
    """Whether a constant is structure, not a parameter: exactly zero or a quarter turn."""
    if group == "geometry":
        return quarter_turns(value) is not None and (key not in ("b", "a", "d") or value == 0)
    return group == "drive" and is_zero(value)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself if it is read-only, else a read-only copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def hashable(data: Any) -> Hashable:
    """A hashable key for data with arrays and mappings; equal data have equal keys.

    A traced scalar is compared by identity, since `==` would record a comparison.
    """
    match data:
        case np.ndarray():
            return hashable(data.tolist())
        case tuple() | list():
            return tuple(map(hashable, data))
        case Mapping():
            return frozenset((key, hashable(value)) for key, value in data.items())
        case ComparedByData():
            return data._data
        case _ if is_dataclass(data):
            return tuple(hashable(getattr(data, x.name)) for x in fields(data) if x.compare)
        case _ if hasattr(data, "record"):
            return "traced", id(data)
        case _:
            plain: Hashable = data
            return plain
