"""`RobotModel`: a tree of rigid bodies in canonical frames, each moved by one joint."""

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
from armlet.robot.joints import JointType, Twist, by_joint, slices
from armlet.robot.pose import Pose
from armlet.scalar import Matrix, Scalar, Symbol, Vector, cos_sin, is_zero, quarter_turns

Result = TypeVar("Result")

GROUPS = ("geometry", "inertia", "gravity", "drive")
"""The names of the groups of constants in `RobotModel.constants`."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparedByData:
    """Base class of dataclasses that compare and hash their fields by value, including arrays."""

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
    """The data of a robot: a tree of bodies, each moved by one joint.

    Joint i moves body i; q[i] is the position of joint i if no joints are coupled. Constants are
    numbers, symbols or other scalars. A model is immutable: its `with_…` methods return new models.
    Models with equal data are equal. `armlet.Robot` adds methods for quantities and for files.
    """

    name: str
    joints: tuple[Joint, ...]
    parent: tuple[int, ...]
    dh: tuple[DHRow, ...]
    m: tuple[Scalar, ...]
    c: tuple[Vector, ...]
    J: tuple[Matrix, ...]
    drives: tuple[Drive, ...]
    """One drive per joint velocity, also for coupled joints."""
    g: NDArray[Any]
    """Gravity acceleration in the axes of the canonical base frame."""
    links: tuple[str, ...]
    """The link name of each body, as in the file."""
    base_link: str = "base"
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """Frames by name, including the frames of the links and of the base."""
    tool: str | None = None
    source: str = ""
    meshes: Mapping[str, Any] = field(default_factory=dict)
    """The visual meshes of each link, by link name."""
    springs: tuple[Spring, ...] = ()
    """One spring per joint velocity, by default without stiffness."""
    compensation: tuple[Compensation, ...] = ()
    """The gravity compensation of each body, by default zero."""
    couplings: tuple[Coupling, ...] = ()
    """The coupling of each joint to its leader; empty if no joints are coupled."""
    keyframes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Values of q by name, such as the keyframes of an MJCF file."""
    solids: Mapping[str, Any] = field(default_factory=dict)
    """The visual primitives of each link, by link name."""
    folder: str = field(default="", compare=False)
    """The folder of the robot's file, in which the viewer looks up mesh files."""
    base_body: Body = field(default=(0.0, np.zeros(3), np.zeros((3, 3))), compare=False)
    """Mass, first moment and inertia of the base in its canonical frame; no quantity uses it."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """Sentences about data in the file that no quantity takes into account."""
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
            "base_body": (self.base_body[0], *map(read_only, self.base_body[1:])),
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
        """Return the result of make(), computed on the first call with this key and cached."""
        if key not in self._memory:
            self._memory.setdefault(key, make())
        result: Result = self._memory[key]
        return result

    # ------------------------------------------------------------------ gravity and inertia

    @property
    def gravity(self) -> NDArray[Any]:
        """Gravity acceleration in the axes of the file's base frame, of shape (3,)."""
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
        """For each joint, the slice of its positions in the result of `joint_positions`."""
        return slices([joint.type.nq for joint in self.joints])

    @cached_property
    def v_of(self) -> tuple[slice, ...]:
        """For each joint, the slice of its velocities in an array of all joint velocities."""
        return slices([joint.type.nv for joint in self.joints])

    @cached_property
    def _slices(self) -> dict[str, tuple[slice, ...]]:
        """The slices of the coordinates' positions in q ("nq") and velocities in qd ("nv")."""
        types = [joint.type for joint in self.coordinates]
        return {size: slices([getattr(x, size) for x in types]) for size in ("nq", "nv")}

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the coordinates (that is, of their leading joints), in the order of q."""
        return tuple(joint.name for joint in self.coordinates)

    @cached_property
    def position_names(self) -> tuple[str, ...]:
        """A name for each entry of q: that of the joint; for a ball joint, joint.x to joint.w."""
        return tuple(name for x in self.coordinates for name in x.names(x.type.labels[0]))

    @cached_property
    def velocity_names(self) -> tuple[str, ...]:
        """A name for each entry of qd: that of the joint; for a ball joint, joint.x to joint.z.

        Entries of tau have the same names. The velocities and torques of a ball joint are about the
        axes of the body that it moves.
        """
        return tuple(name for x in self.coordinates for name in x.names(x.type.labels[1]))

    @cached_property
    def _without_vector_space(self) -> tuple[tuple[Joint, slice], ...]:
        """The coordinates whose displacements are not added, and the slices of their positions."""
        pairs = zip(self.coordinates, self._slices["nq"], strict=True)
        return tuple(x for x in pairs if not x[0].type.is_vector_space)

    def _require_vector_space(self, what: str) -> None:
        """Raise ModelError if positions are not added; `what` is the task that adds them."""
        others = [joint for joint, _ in self._without_vector_space]
        if others:
            kinds = listing([*dict.fromkeys(joint.kind for joint in others)])
            names = listing([joint.name for joint in others])
            raise ModelError(
                f"robot {quote(self.name)} has {kinds} joints ({names}): {what} is for "
                "robots whose joints are of other types"
            )

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """The lower limits of positions, in the order of q; -inf where there is none."""
        return self._limits("lower")

    @cached_property
    def upper(self) -> NDArray[np.float64]:
        """The upper limits of positions, in the order of q; inf where there is none."""
        return self._limits("upper")

    @cached_property
    def velocity_limit(self) -> NDArray[np.float64]:
        """The velocity limits in both directions, in the order of qd; inf where there is none."""
        return self._limits("velocity")

    @cached_property
    def effort_limit(self) -> NDArray[np.float64]:
        """The torque limits in both directions, in the order of tau; inf where there is none."""
        return self._limits("effort")

    def _limits(self, name: str) -> NDArray[np.float64]:
        of_positions = name in ("lower", "upper")
        sizes = [x.type.nq if of_positions else x.type.nv for x in self.coordinates]
        limits = [float(getattr(x.limits, name)) for x in self.coordinates]
        return read_only(np.repeat(limits, sizes))

    @cached_property
    def neutral(self) -> NDArray[np.float64]:
        """The positions at which every joint has the pose stated in the file, of shape (nq,)."""
        return read_only(np.array([x for y in self.coordinates for x in y.type.neutral], float))

    def random_configuration(
        self,
        rng: np.random.Generator | int | None = None,
        size: int | tuple[int, ...] | None = None,
    ) -> NDArray[np.float64]:
        """Return random positions within the limits, of shape (*size, nq).

        Revolute joints without limits are between -π and π, prismatic ones between -1 and 1 m.
        If a joint has only one limit, its range has the same length, 2π or 2 m.
        """
        spans = [2 * np.pi if x.type.rotates else 2.0 for x in self.coordinates]
        span = np.repeat(spans, [x.type.nq for x in self.coordinates])
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        lower = np.where(has_lower, self.lower, np.where(has_upper, self.upper - span, -span / 2))
        upper = np.where(has_upper, self.upper, lower + span)
        shape = () if size is None else np.atleast_1d(size)
        u = np.random.default_rng(rng).random((*shape, self.nv)), "nv"
        return self._by_coordinate("random", u=u, lower=(lower, "nq"), upper=(upper, "nq"))

    def integrate(self, q: ArrayLike, v: ArrayLike) -> NDArray[Any]:
        """Return the positions reached from q by the displacement v, of shape (..., nq).

        A displacement has the entries of qd; revolute and prismatic joints reach q + v.

        Examples
        --------
        >>> import armlet
        >>> robot = armlet.load("planar2r")
        >>> robot.integrate([0.5, 1.0], robot.difference([0.5, 1.0], [0.75, 0.0])).tolist()
        [0.75, 0.0]
        """
        return self._by_coordinate("integrate", q=(q, "nq"), v=(v, "nv"))

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> NDArray[Any]:
        """Return the displacement v of shape (..., nv) for which integrate(q0, v) is q1."""
        return self._by_coordinate("difference", q0=(q0, "nq"), q1=(q1, "nq"))

    def _rate(self, delta: Any, v: Any) -> Any:
        """Return dδ/dt of a robot at integrate(q0, δ) that moves with velocity v, for any q0."""
        return self._by_coordinate("rate", delta=(delta, "nv"), v=(v, "nv"))

    def _nearest(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the positions nearest to any numbers q: quaternions of length 1."""
        q = q.copy()
        for joint, at in self._without_vector_space:
            q[..., at] = joint.type.nearest(q[..., at])
        return q

    def _tangent(self, q: Vector) -> NDArray[Any]:
        """Return the matrix T of shape (nq, nv) for which the rate of change of q is T qd."""
        types = [joint.type for joint in self.coordinates]
        if all(joint.is_vector_space for joint in types):
            return np.eye(self.nv, dtype=int)
        T = np.zeros((self.nq, self.nv), dtype=np.result_type(float, np.asarray(q)))
        for joint, row, column in zip(types, *self._slices.values(), strict=True):
            T[row, column] = joint.tangent(q[row])
        return T

    def _by_coordinate(self, name: str, **arguments: tuple[Any, str]) -> NDArray[Any]:
        """Call function `name` of each coordinate's joint type; join results along the last axis.

        `arguments` maps names to pairs: an array, and the name of its size, "nq" or "nv".
        """
        sizes = [size for _, size in arguments.values()]
        arrays = [x if hasattr(x, "shape") else np.asarray(x) for x, _ in arguments.values()]
        for argument, x, size in zip(arguments, arrays, sizes, strict=True):
            if x.shape[-1:] != (n := getattr(self, size),):
                raise DataError(f"{argument} has shape {tuple(x.shape)}: expected (..., {n})")
        if name in self._of_vector_spaces:
            return self._of_vector_spaces[name](*arrays)
        types = [joint.type for joint in self.coordinates]
        result: NDArray[Any] = by_joint(name, types, *zip(arrays, sizes, strict=True))
        return result

    @cached_property
    def _of_vector_spaces(self) -> dict[str, Callable[..., NDArray[Any]]]:
        """Name -> default function of `JointType`, if the joint types of all coordinates use it."""
        types, defaults = [joint.type for joint in self.coordinates], JointType._field_defaults
        return {k: f for k, f in defaults.items() if all(getattr(x, k) is f for x in types)}

    @property
    def _joint_letters(self) -> str:
        return "".join(joint.letter for joint in self.joints)

    @property
    def _joint_types(self) -> list[tuple[str, float]]:
        """The letter and the pitch of each joint, which determine its joint type."""
        return [(joint.letter, joint.pitch) for joint in self.joints]

    @property
    def _is_serial(self) -> bool:
        """Whether the bodies form a single chain from the base."""
        return all(p == i - 1 for i, p in enumerate(self.parent))

    # ------------------------------------------------------------------ coupled joints

    @cached_property
    def coordinates(self) -> tuple[Joint, ...]:
        """For each coordinate, in the order of q, a joint with its name, kind and limits.

        A coordinate that moves several joints has the name and kind of the leading joint. Followers
        narrow the limits of the leading joint: see `common_limits`.
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
        if not self.couplings:
            return tuple(range(self.nb))
        return tuple(i for i, coupling in enumerate(self.couplings) if coupling.leader == i)

    def _followers(self, i: int) -> list[tuple[Joint, Coupling]]:
        pairs = enumerate(zip(self.joints, self.couplings, strict=False))
        return [pair for k, pair in pairs if pair[1].leader == i and k != i]

    def _coupling_text(self, i: int) -> str:
        """Return joint i's coupling as text, "-2 finger + 0.5"; empty if the joint leads itself."""
        if i in self._leaders:
            return ""
        leader, factor, offset = self.couplings[i]
        name = self.joints[leader].name
        times = {1: name, -1: f"-{name}"}.get(factor, f"{factor:.6g} {name}")
        return times + (f" {'+' if offset > 0 else '-'} {abs(offset):.6g}" if offset else "")

    def joint_positions(self, q: ArrayLike) -> NDArray[Any]:
        """Positions Γ q + q₀ of all joints, at `q_of`; Γ and q₀ are from `couplings`."""
        moved = self._moved(q, "nq")
        pairs = zip(self.couplings, self.joints, strict=False)
        offsets = [coupling.offset for coupling, joint in pairs for _ in joint.type.neutral]
        positions: NDArray[Any] = moved + np.array(offsets, moved.dtype) if offsets else moved
        return positions

    def _joint_velocities(self, qd: ArrayLike) -> NDArray[Any]:
        """Velocities Γ qd of all joints, at `v_of`; the factors Γ are from `couplings`.

        Joint accelerations and small joint displacements follow from the same formula.
        """
        return self._moved(qd, "nv")

    def _moved(self, values: ArrayLike, size: str) -> NDArray[Any]:
        """Return the products of Γ with `values`, positions (size "nq") or velocities ("nv")."""
        array = np.asarray(values)
        if not self.couplings:
            return array
        if array.dtype != object:
            array = array.astype(float)
        index, factors = self._moved_by[size]
        moved: NDArray[Any] = array[..., index] * np.array(factors, array.dtype)
        return moved

    def _coordinate_torques(self, tau: NDArray[Any]) -> NDArray[Any]:
        """Coordinate torques Γᵀ tau from joint torques `tau`, with Γ as in `_joint_velocities`."""
        if not self.couplings:
            return tau
        index, factors = self._moved_by["nv"]
        total = np.zeros((self.nv, *tau.shape[1:]), tau.dtype)
        for k, factor, row in zip(index, factors, tau, strict=True):
            total[k] = total[k] + factor * row
        return total

    @cached_property
    def _moved_by(self) -> dict[str, tuple[list[int], list[Any]]]:
        """For "nq" and "nv", two lists with one entry per joint position, or per joint velocity:
        indices into q or qd, and coupling factors."""

        def entries(size: str) -> tuple[list[int], list[Any]]:
            of_leader = dict(zip(self._leaders, self._slices[size], strict=True))
            every = range(getattr(self, size))
            moved = [(k, x.factor) for x in self.couplings for k in every[of_leader[x.leader]]]
            return [k for k, _ in moved], [factor for _, factor in moved]

        return {"nq": entries("nq"), "nv": entries("nv")}

    @cached_property
    def twists(self) -> tuple[tuple[Twist, ...], ...]:
        """The unit twists (w, v) of each joint in the axes of its body, one twist per velocity."""
        return tuple(joint.type.twists for joint in self.joints)

    @cached_property
    def unit_twists(self) -> tuple[Twist, ...]:
        """The unit twists of all joints in one tuple, one twist per joint velocity."""
        return tuple(twist for twists in self.twists for twist in twists)

    @cached_property
    def _velocities(self) -> tuple[tuple[int, Twist], ...]:
        """For each joint velocity, the index of the moved body and the unit twist."""
        return tuple((i, twist) for i, twists in enumerate(self.twists) for twist in twists)

    # ------------------------------------------------------------------ iteration over the tree

    def base_to_tips(self) -> Iterator[tuple[int, int]]:
        """Iterate over pairs (body, parent), parents first; bodies on the base have parent BASE."""
        return iter(enumerate(self.parent))

    def tips_to_base(self) -> Iterator[tuple[int, int]]:
        """Iterate over pairs (body, parent), children first; bodies on the base have parent BASE.

        A list in which children are added to parents needs an entry for the base: see `with_base`.
        """
        return ((i, self.parent[i]) for i in reversed(range(self.nb)))

    def path(self, i: int) -> list[int]:
        """Return the bodies from the base (excluded) to body i (included)."""
        path = []
        while i != BASE:
            path.append(i)
            i = self.parent[i]
        return path[::-1]

    # ------------------------------------------------------------------ bodies and displacements

    @property
    def bodies(self) -> list[Body]:
        """Mass, first moment and inertia of each body, about the body's origin and in its axes."""
        return [*zip(self.m, self.c, self.J, strict=True)]

    @cached_property
    def _has_springs(self) -> bool:
        return not all(is_zero(spring.stiffness) for spring in self.springs)

    @cached_property
    def _has_compensation(self) -> bool:
        return not all(is_zero(x) for mass, c in self.compensation for x in (mass, *c))

    def _compensated_bodies(self) -> Self:
        """Return a robot whose bodies are the compensated masses, with zero inertia J."""
        m, c = zip(*self.compensation, strict=True)
        return replace(self, m=m, c=c, J=(symmetric(0, 0, 0, 0, 0, 0),) * self.nb)

    def displacements(self, q: Vector) -> list[Displacement]:
        """Return the displacement of each body from its parent; the last factor is the joint's.

        `q` has the positions of all joints, as `joint_positions` returns them.
        """
        return [
            Displacement((*mount, *joint.type.factors(row, q[at])))
            for mount, joint, row, at in zip(
                self._mounts, self.joints, self.dh, self.q_of, strict=True
            )
        ]

    @property
    def _at_zero(self) -> list[Displacement]:
        return self.displacements([x for joint in self.joints for x in joint.type.neutral])

    @cached_property
    def _mounts(self) -> tuple[Displacement, ...]:
        """For each body, the constant part of the displacement, before the joint's factors."""

        def mount(joint: Joint, row: DHRow) -> Displacement:
            before = (
                Screw(2, *cos_sin(row.gamma), row.b),
                Screw(0, *cos_sin(row.alpha), row.a),
                Screw(1, *cos_sin(row.beta), 0),
            )
            if joint.type.has_axis:  # theta and d are in the joint's screw, which may merge them
                return displacement(*before)
            return displacement(*before, Screw(2, *cos_sin(row.theta), row.d))

        return tuple(map(mount, self.joints, self.dh))

    def frame(self, name: str | None = None) -> Frame:
        """Return the frame `name`, by default the tool frame; raise ModelError if it is missing."""
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
        """Return a dict name -> value of a group of constants: geometry, inertia, gravity or drive.

        The group inertia has all ten parameters of each body. The other groups leave out zeros, and
        angles that are multiples of a quarter turn. The group drive includes springs.
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
        """Return the robot with new values for the constants in `named`: see `constants`."""
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
        """The constants that are symbols, by their names in `constants`."""
        named = (pair for group in GROUPS for pair in self.constants(group).items())
        return {name: x for name, x in named if type(x) is Symbol}

    @property
    def symbols(self) -> list[Symbol]:
        """The symbols that stand for constants without a value, each listed once."""
        return list(dict.fromkeys(self._symbolic.values()))

    def _require_values(self, what: str) -> None:
        """Raise ModelError if a constant has no value; `what` is the result that needs numbers."""
        if self.symbols:
            raise ModelError(
                f"robot {quote(self.name)} has constants without a value ({self.symbols[0]}, …): "
                f"{what} needs numbers"
            )

    # ------------------------------------------------------------------ modified robots

    def with_inertia(self, phi: ArrayLike) -> Self:
        """Return the robot with new inertial parameters: ten per body, as in the property `phi`."""
        expected = f"({self.nb}, 10), the parameters {' '.join(PHI)} of each body"
        array = scalars(phi, "phi", expected, (self.nb, 10), (10 * self.nb,))
        return replace(self, **bodies_of(array.reshape(self.nb, 10).tolist()))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """Return the robot with another gravity acceleration, in the axes of the file's base."""
        g = scalars(gravity, "gravity", "three components in base axes", (3,))
        return replace(self, g=self.frames[self.base_link].pose.R @ g)

    def with_tool(self, frame: str) -> Self:
        """Return the robot with `frame` as its tool frame."""
        self.frame(frame)
        return replace(self, tool=frame)

    def with_payload(
        self,
        mass: ArrayLike,
        com: ArrayLike,
        inertia: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """Return the robot with a payload attached to a frame, by default to the tool frame.

        `com` is the centre of mass in this frame. `inertia` is about the centre of mass and in the
        axes of the frame: a 3x3 matrix or the entries xx xy xz yy yz zz; by default it is zero.
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
        """Return the robot with other drive parameters: rotor_inertia, viscous, coulomb or offset.

        Each value is one number for all joints, or one per joint velocity; other parameters do not
        change.
        """
        n, columns = len(self.drives), {}
        for name, value in values.items():
            one_of(name, "the name of a drive's parameter", Drive._fields)
            expected = f"a number, or {n}, one for each joint velocity"
            columns[name] = np.broadcast_to(scalars(value, name, expected, (), (n,)), n)
        drives = (
            drive._replace(**{name: column[i] for name, column in columns.items()})
            for i, drive in enumerate(self.drives)
        )
        return replace(self, drives=tuple(drives))

    def without_drives(self) -> Self:
        """Return the robot without the rotor inertia and the friction of the drives."""
        return replace(self, drives=(Drive(),) * len(self.drives))

    @cached_property
    def uncoupled(self) -> Self:
        """The robot without couplings: every joint is a coordinate."""
        return replace(self, couplings=()) if self.couplings else self

    def _without_friction(self) -> Self:
        return replace(self, drives=tuple(Drive(drive.rotor_inertia) for drive in self.drives))

    def dh_table(self) -> list[dict[str, Any]]:
        """Return one dict per joint with the joint's name, kind, parent link and DH row."""
        return [
            {
                "joint": joint.name,
                "kind": joint.kind,
                "parent": self.base_link if p == BASE else self.links[p],
                **row._asdict(),
                **({"pitch": joint.pitch} if joint.type.with_pitch else {}),
            }
            for joint, p, row in zip(self.joints, self.parent, self.dh, strict=True)
        ]

    def __repr__(self) -> str:
        shape = "serial" if self._is_serial else "tree"
        mass = self.mass if self.nb and not self.symbols else None
        weight = f", {mass:.4g} kg" if isinstance(mass, float) else ""
        tool = f", tool {self.tool!r}" if self.tool else ""
        joints = f"{self.nb} joints {self._joint_letters}"
        if self.couplings:
            joints += (
                f" moved by {len(self.coordinates)} coordinate{'s' * (len(self.coordinates) > 1)}"
            )
        return f"<Robot {self.name!r}: {joints}, {shape}{weight}{tool}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return the data without cached results, to be copied or pickled."""
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        mappings = {name: dict(state[name]) for name in ("frames", "meshes", "solids", "keyframes")}
        return state | mappings | {"_memory": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)
        self.__post_init__()


def is_structure(group: str, key: str, value: Scalar) -> bool:
    """Whether `RobotModel.constants` leaves out a constant: a zero or a multiple of π/2."""
    if group == "geometry":
        return quarter_turns(value) is not None and (key not in ("b", "a", "d") or value == 0)
    return group == "drive" and is_zero(value)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if it is read-only, else a read-only copy."""
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def hashable(data: Any) -> Hashable:
    """Return a hashable key for data with arrays and mappings; equal data have equal keys.

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
