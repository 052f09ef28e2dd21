"""The robot: a tree of rigid bodies, each on one joint, in canonical frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.algebra import point_inertia, symmetric, upper_triangle, vector
from armlet.errors import DataError, ModelError, listed, quoted
from armlet.robot.arrays import checked, read_only
from armlet.robot.components import (
    BASE,
    PHI,
    Compensation,
    DHRow,
    Drive,
    Frame,
    Joint,
    Spring,
    bodies_of,
)
from armlet.robot.coupling import Coupling
from armlet.robot.displacement import Body, Displacement, Screw, displacement
from armlet.robot.pose import Pose
from armlet.robot.record import Record
from armlet.robot.tree import Tree
from armlet.scalar import (
    Matrix,
    Scalar,
    Symbol,
    Vector,
    cos_sin,
    is_zero,
    quarter_turns,
)

Made = TypeVar("Made")

GROUPS = ("geometry", "inertia", "gravity", "drive")
"""The groups of constants."""


@dataclass(frozen=True, eq=False, repr=False)
class RobotModel(Record, Tree):
    """The data of a robot, which formulations read: a tree of bodies, each moved by one joint.

    Body i and joint i share one index, and so does q[i] where no joints are coupled. Constants are
    scalars of any kind. A model is immutable: the methods `with_…` return new ones; two are equal
    if their data are. `armlet.Robot` adds the quantities and file formats.
    """

    name: str
    joints: tuple[Joint, ...]
    parent: tuple[int, ...]
    dh: tuple[DHRow, ...]
    m: tuple[Scalar, ...]
    c: tuple[Vector, ...]
    J: tuple[Matrix, ...]
    drives: tuple[Drive, ...]
    """One drive per velocity of the joints, coupled ones too."""
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
    """One spring per joint; none by default."""
    compensation: tuple[Compensation, ...] = ()
    """The part of each body whose weight is compensated; nothing by default."""
    couplings: tuple[Coupling, ...] = ()
    """How each joint is moved by a coordinate; empty where each joint is a coordinate itself."""
    keyframes: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Named values of q, as an MJCF file gives them."""
    solids: Mapping[str, Any] = field(default_factory=dict)
    """The visual primitives of each link, by the link's name."""
    folder: str = field(default="", compare=False)
    """Where the robot's file is, and the meshes that it names."""
    base_mass: float = field(default=0.0, compare=False)
    """The mass of the base and of what is fixed to it, which never moves and has no dynamics."""
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What the file says that no quantity takes into account, a sentence each."""
    memory: dict[Any, Any] = field(default_factory=dict, init=False, compare=False)
    """Cached results of this robot; see `once`."""

    def __post_init__(self) -> None:
        for name in ("c", "J"):
            object.__setattr__(self, name, tuple(map(read_only, getattr(self, name))))
        object.__setattr__(self, "g", read_only(self.g))
        object.__setattr__(self, "springs", self.springs or (Spring(),) * len(self.drives))
        parts = self.compensation or (Compensation(),) * self.nb
        parts = tuple(Compensation(part.mass, read_only(part.moment)) for part in parts)
        object.__setattr__(self, "compensation", parts)
        frames = {
            name: Frame(body, Pose(read_only(at.R), read_only(at.r)))
            for name, (body, at) in self.frames.items()
        }
        object.__setattr__(self, "frames", MappingProxyType(frames))
        for name in ("meshes", "solids"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        keyframes = {name: read_only(q) for name, q in self.keyframes.items()}
        object.__setattr__(self, "keyframes", MappingProxyType(keyframes))

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
        self.check_values("a total mass")
        return sum(self.m)

    @cached_property
    def phi(self) -> NDArray[Any]:
        """The inertial parameters, one row per body: Jxx Jxy Jxz Jyy Jyz Jzz, cx cy cz, m."""
        rows = [[*upper_triangle(J), *c, m] for J, c, m in zip(self.J, self.c, self.m, strict=True)]
        numeric = all(isinstance(x, int | float) for row in rows for x in row)
        return read_only(np.array(rows, dtype=float if numeric else object).reshape(self.nb, 10))

    # ------------------------------------------------------------------ what formulations read

    @property
    def bodies(self) -> list[Body]:
        """Mass, first moment and inertia of each body, about its origin and in its axes."""
        return [*zip(self.m, self.c, self.J, strict=True)]

    @property
    def rotor_inertia(self) -> list[Scalar]:
        """The rotor inertia of each drive."""
        return [drive.rotor_inertia for drive in self.drives]

    @cached_property
    def has_springs(self) -> bool:
        """Whether some joint has a spring."""
        return not all(is_zero(spring.stiffness) for spring in self.springs)

    @cached_property
    def compensates(self) -> bool:
        """Whether the weight of some body is compensated."""
        return not all(is_zero(x) for part in self.compensation for x in (part.mass, *part.moment))

    def compensated_parts(self) -> Self:
        """The robot of the compensated parts alone: their weight as it is, no other inertia."""
        return replace(
            self,
            m=tuple(part.mass for part in self.compensation),
            c=tuple(part.moment for part in self.compensation),
            J=(symmetric(0, 0, 0, 0, 0, 0),) * self.nb,
        )

    def displacements(self, q: Vector) -> list[Displacement]:
        """The displacement of each body from its parent; the last screw is the joint's, about z.

        q holds the positions of all joints, as in `joint_positions`.
        """
        return [
            Displacement((*mount, *joint.motion.screws(row, q[at])))
            for mount, joint, row, at in zip(
                self.mounts, self.joints, self.dh, self.q_of, strict=True
            )
        ]

    @property
    def at_zero(self) -> list[Displacement]:
        """The displacement of each body from its parent with all joints at zero."""
        return self.displacements([0] * sum(joint.motion.nq for joint in self.joints))

    @cached_property
    def mounts(self) -> tuple[Displacement, ...]:
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
        """A named frame; by default the tool."""
        name = self.tool if name is None else name
        if name is None or name not in self.frames:
            missing = "tool frame" if name is None else f"frame {quoted(name)}"
            raise ModelError(
                f"robot {quoted(self.name)} has no {missing}: name one of "
                f"{listed(list(self.frames))}"
            )
        return self.frames[name]

    # ------------------------------------------------------------------ constants by name

    def constants(self, group: str) -> dict[str, Scalar]:
        """The constants of a group by name: geometry, inertia, gravity or drive.

        Constants that are exactly zero or a quarter turn are structure and left out, except for the
        inertia, of which all ten parameters per body are included. Springs are in the group drive.
        """
        match group:
            case "geometry":
                named = {
                    f"{key}{i + 1}": value
                    for i, row in enumerate(self.dh)
                    for key, value in row._asdict().items()
                    if quarter_turns(value) is None or (key in ("b", "a", "d") and value != 0)
                }
            case "inertia":
                named = {
                    f"{key}{i + 1}": value
                    for i, phi in enumerate(self.phi.tolist())
                    for key, value in zip(PHI, phi, strict=True)
                }
            case "gravity":
                named = dict(zip(("gx", "gy", "gz"), self.g, strict=True))
                named = {key: value for key, value in named.items() if not is_zero(value)}
            case "drive":
                named = {
                    f"{key}{i + 1}": value
                    for i, pair in enumerate(zip(self.drives, self.springs, strict=True))
                    for part in pair
                    for key, value in part._asdict().items()
                    if not is_zero(value)
                }
            case _:
                raise ValueError(f"no group of constants is called {group!r}")
        return named

    def with_constants(self, named: Mapping[str, Scalar]) -> Self:
        """The robot with some constants replaced, by the names that `constants` gives them."""

        if not named:
            return self

        def renewed(values: Any, i: int) -> Any:
            return values._replace(
                **{k: named.get(f"{k}{i + 1}", v) for k, v in values._asdict().items()}
            )

        phi = [
            [named.get(f"{key}{i + 1}", value) for key, value in zip(PHI, phi, strict=True)]
            for i, phi in enumerate(self.phi.tolist())
        ]
        return replace(
            self,
            dh=tuple(renewed(row, i) for i, row in enumerate(self.dh)),
            drives=tuple(renewed(drive, i) for i, drive in enumerate(self.drives)),
            springs=tuple(renewed(spring, i) for i, spring in enumerate(self.springs)),
            g=vector(*(named.get(k, v) for k, v in zip(("gx", "gy", "gz"), self.g, strict=True))),
            **bodies_of(phi),
        )

    @property
    def symbolic(self) -> dict[str, Symbol]:
        """The constants that are symbols, by the names that `constants` gives them."""
        named = (pair for group in GROUPS for pair in self.constants(group).items())
        return {name: x for name, x in named if type(x) is Symbol}

    @property
    def symbols(self) -> list[Symbol]:
        """The names of constants without a value, each once."""
        return list(dict.fromkeys(self.symbolic.values()))

    def check_values(self, what: str) -> None:
        """Raise if a constant has no value, which something needs."""
        if self.symbols:
            raise ModelError(
                f"robot {quoted(self.name)} has constants without a value ({self.symbols[0]}, …): "
                f"{what} needs numbers"
            )

    # ------------------------------------------------------------------ other robots

    def with_inertia(self, phi: ArrayLike) -> Self:
        """The robot with other inertial parameters: (nb, 10) as in `phi`, in canonical frames."""
        array = checked(
            phi,
            "phi",
            f"({self.nb}, 10), the parameters {' '.join(PHI)} of each body",
            (self.nb, 10),
            (10 * self.nb,),
        )
        return replace(self, **bodies_of(array.reshape(self.nb, 10).tolist()))

    def with_gravity(self, gravity: ArrayLike) -> Self:
        """The robot under another gravity, given in the axes of the file's base."""
        g = checked(gravity, "gravity", "three components in base axes", (3,))
        return replace(self, g=self.frames[self.base_link].pose.R @ g)

    def with_tool(self, frame: str) -> Self:
        """The robot with another of its frames as the tool."""
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

        The centre of mass is given in that frame, the inertia about the centre of mass in its
        axes, as three by three or as xx xy xz yy yz zz.
        """
        self.check_values("a payload")
        i, at = self.frame(frame)
        if i == BASE:
            raise ModelError(f"frame {frame!r} is on the base, where a payload has no effect")
        wanted = "3x3 or the six entries xx xy xz yy yz zz"
        given = np.zeros(6) if inertia is None else inertia
        I = checked(given, "the payload's inertia", wanted, (3, 3), (6,))
        I = symmetric(*I) if I.shape == (6,) else I
        at_com = checked(com, "the payload's com", "three coordinates", (3,))
        added = checked(mass, "the payload's mass", "one number", ()).item()
        if isinstance(added, int | float) and added < 0:
            raise DataError(f"the payload has mass {added}: expected none below zero")
        r = at.point(at_com)
        m, c, J = list(self.m), list(self.c), list(self.J)
        m[i], c[i] = m[i] + added, c[i] + added * r
        J[i] = J[i] + at.R @ I @ at.R.T + point_inertia(added, r)
        return replace(self, m=tuple(m), c=tuple(c), J=tuple(J))

    def with_drives(self, **values: ArrayLike) -> Self:
        """The robot with other drives: `rotor_inertia`, `viscous`, `coulomb` and `offset`.

        Each is a number for all joints, or one for each; what is not given stays.
        """
        columns = {}
        for name, given in values.items():
            if name not in Drive._fields:
                raise DataError(
                    f"drives have no {quoted(name)}: expected {', '.join(Drive._fields)}"
                )
            n = len(self.drives)
            wanted = f"a number, or {n}, one for each joint"
            columns[name] = np.broadcast_to(checked(given, name, wanted, (), (n,)), n)
        drives = (
            drive._replace(**{name: column[i] for name, column in columns.items()})
            for i, drive in enumerate(self.drives)
        )
        return replace(self, drives=tuple(drives))

    def without_drives(self) -> Self:
        """The rigid bodies alone: no rotor inertia, no friction."""
        return replace(self, drives=(Drive(),) * len(self.drives))

    @cached_property
    def uncoupled(self) -> Self:
        """The robot with each joint a coordinate of its own; itself if it has no coupled joints."""
        return replace(self, couplings=()) if self.couplings else self

    def without_friction(self) -> Self:
        """The robot with drives that have rotor inertia alone."""
        return replace(self, drives=tuple(Drive(rotor) for rotor in self.rotor_inertia))

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
        shape = "serial" if self.is_serial else "tree"
        mass = self.mass if self.n and not self.symbols else None
        weight = f", {mass:.4g} kg" if isinstance(mass, float) else ""
        tool = f", tool {self.tool!r}" if self.tool else ""
        joints = f"{self.nb} joints {self.joint_letters}"
        if self.couplings:
            joints += f" moved by {self.n} coordinate{'s' if self.n > 1 else ''}"
        return f"<Robot {self.name!r}: {joints}, {shape}{weight}{tool}>"
