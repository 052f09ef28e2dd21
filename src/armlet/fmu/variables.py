"""The variables of a functional mock-up unit: shapes, units, limits, start values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

from armlet.codegen.source.c import one_line
from armlet.graph import Program
from armlet.graph.signature import Shape
from armlet.robot import RobotModel

TIME = "time"
"""The name of FMI's own variable, which arguments called t are."""
UNITS = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "rad/s": {"rad": 1, "s": -1},
    "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "kg.m/s": {"kg": 1, "m": 1, "s": -1},
    "kg.m2/s": {"kg": 1, "m": 2, "s": -1},
}
"""Units by name, as powers of those of the SI."""
OF_JOINTS = {
    "q": ("Joint positions.", "rad", "m"),
    "qd": ("Joint velocities.", "rad/s", "m/s"),
    "qdd": ("Joint accelerations.", "rad/s2", "m/s2"),
    "tau": ("Joint torques, forces at prismatic joints.", "N.m", "N"),
}
"""Vectors with an entry for each joint: what they are, and their units at revolute and prismatic
joints."""
ALIKE = {
    "inverse_dynamics": "tau",
    "bias": "tau",
    "gravity_torque": "tau",
    "friction_torque": "tau",
    "forward_dynamics": "qdd",
    "q0": "q",
    "qd0": "qd",
}
"""Vectors with the units of another."""
OTHERS = {
    TIME: ("s",),
    "step": ("s",),
    "wrench": ("N.m",) * 3 + ("N",) * 3,
    "frame_velocity": ("rad/s",) * 3 + ("m/s",) * 3,
    "frame_acceleration": ("rad/s2",) * 3 + ("m/s2",) * 3,
    "frame_acceleration_bias": ("rad/s2",) * 3 + ("m/s2",) * 3,
    "momentum": ("kg.m2/s",) * 3 + ("kg.m/s",) * 3,
    "centre_of_mass": ("m",) * 3,
    "energy_kinetic": ("J",),
    "energy_potential": ("J",),
}
"""The units of the entries of other variables; all else has none."""
Entry = tuple[str, int]
"""The name of a variable, and the place of one of its entries."""


@dataclass(frozen=True)
class Variable:
    """A variable: a number or an array of numbers, with what is known of every entry.

    A start value belongs to what can be set. An output depends on other entries, while steps are
    made and, if that differs, before the first.
    """

    name: str
    kind: str
    """"independent", "input", "fixed" or "tunable" (parameters), or "output"."""
    shape: Shape
    about: str
    units: tuple[str, ...] = ()
    """Of each entry; none if empty."""
    labels: tuple[str, ...] = ()
    """What each entry belongs to, such as a joint; nothing if empty."""
    start: tuple[float, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    """The least and the largest value of each entry; none if empty."""
    depends: tuple[frozenset[Entry], ...] = ()
    depends_at_start: tuple[frozenset[Entry], ...] = ()

    @property
    def size(self) -> int:
        """How many entries it has."""
        return prod(self.shape)


def variable(
    robot: RobotModel,
    name: str,
    kind: str,
    shape: Shape,
    about: str = "",
    start: Sequence[float] = (),
    depends: tuple[frozenset[Entry], ...] = (),
    depends_at_start: tuple[frozenset[Entry], ...] | None = None,
) -> Variable:
    """A variable with the units, limits and start values that its name and the robot say."""
    label = ALIKE.get(name, name)
    units = OTHERS.get(name, ())
    labels: tuple[str, ...] = ()
    limits: tuple[tuple[float, float], ...] = ()
    if label in OF_JOINTS and shape == (robot.nv,):
        told, *by_kind = OF_JOINTS[label]
        about = about or told
        units = tuple(by_kind[0 if joint.type.rotates else 1] for joint in robot.coordinates)
        labels = tuple(one_line(joint.name) for joint in robot.coordinates)
        limits = _limits(robot).get(label, ()) if kind != "output" else ()
    size = prod(shape)
    if kind not in ("output", "independent") and not start:
        start = [min(max(0.0, low), high) for low, high in limits] or [0.0] * size
    at_start = depends if depends_at_start is None else depends_at_start
    return Variable(
        name,
        kind,
        shape,
        about,
        units if len(units) == size else (),
        labels,
        tuple(map(float, start)),
        limits,
        depends,
        at_start,
    )


def _limits(robot: RobotModel) -> Mapping[str, tuple[tuple[float, float], ...]]:
    """The limits of joints by what they limit, where any joint has one."""
    every = [joint.limits for joint in robot.coordinates]
    found = {
        "q": tuple((x.lower, x.upper) for x in every),
        "qd": tuple((-x.velocity, x.velocity) for x in every),
        "tau": tuple((-x.effort, x.effort) for x in every),
    }
    return {
        name: limits
        for name, limits in found.items()
        if any(low > -inf or high < inf for low, high in limits)
    }


def dependencies(program: Program) -> list[list[frozenset[Entry]]]:
    """For each result, the entries of arguments that each of its entries depends on."""
    nothing: frozenset[Entry] = frozenset()

    def meaning(op: str, *operands: object) -> frozenset[Entry]:
        if op == "input":
            name, place = operands
            assert isinstance(name, str)
            assert isinstance(place, int)
            return frozenset([(name, place)])
        return nothing.union(*(x for x in operands if isinstance(x, frozenset)))

    flat = iter(program.replay(meaning))
    return [
        [x if isinstance(x := next(flat), frozenset) else nothing for _ in output.flat]
        for output in program.outputs
    ]
