"""Check whether formulations compute correct results, and explain failures."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from armlet.algebra import point_inertia, symmetric
from armlet.api import trace
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, definition
from armlet.dynamics.regressor import minimal_set
from armlet.errors import ArmletError
from armlet.minimal import lump
from armlet.robot import (
    BASE,
    IDENTITY_POSE,
    JOINT_TYPES,
    Compensation,
    DHRow,
    Drive,
    Frame,
    Joint,
    Pose,
    RobotModel,
    Spring,
)
from armlet.robot.robot import GROUPS
from armlet.scalar import Matrix, Scalar, Vector

TOLERANCE = 1e-9
"""Maximum error of a correct result, relative to the largest expected entry."""
DIGITS, DIGITAL = 50, "digits"


def check_formulation(formulation: Formulation | Callable[..., Any], seeds: int = 3) -> None:
    """Raise AssertionError if results of a formulation are wrong.

    Results must agree with the definition of the quantity or, if there is none, satisfy an
    equation in `LAWS`. The robots are random and have the joint types and the topology that the
    formulation declares. Some have rotor inertia, a massless body, minimal parameters or a wrench
    on the tool. The scalars are floats, traced scalars and, if mpmath is installed, numbers with
    fifty digits. The error message states a wrong entry and the usual cause.

    Parameters
    ----------
    formulation : Formulation or callable
        A formulation in `armlet.FORMULATIONS`, or the function registered for it.
    seeds : int
        Number of random robots of each kind.

    Examples
    --------
    >>> import armlet
    >>> from armlet.testing import check_formulation
    >>> check_formulation(armlet.formulations("gravity_torque")["newton_euler"], seeds=1)
    """
    entry = _entry(formulation)
    if entry.quantity not in LAWS and not hasattr(definition, entry.quantity):
        raise ArmletError(f"{entry.quantity} has no law to check: compare its formulations by hand")
    for case in _cases(entry):
        for seed in range(seeds):
            with import_module("mpmath").workdps(DIGITS) if case.way == DIGITAL else nullcontext():
                _check(entry, case, seed)


def _check(entry: Formulation, case: "Case", seed: int) -> None:
    quantity = entry.quantity
    head = f"formulation {entry.name!r} of {quantity}"
    robot = random_robot(seed, **case.options)
    try:
        case_robot, state, result = case.values(entry, robot, seed)
        if quantity in LAWS:
            value, expected = LAWS[quantity](case_robot, state, result)
        else:
            exact = getattr(definition, quantity)(case_robot, *state)
            value, expected = _flat(result), _flat(exact)
    except Exception as error:
        raise AssertionError(
            f"{head} raises {type(error).__name__} on {case.name}: {error}\n{case.hint}"
        ) from error
    if value.shape != expected.shape:
        raise AssertionError(
            f"{head} returns {value.size} numbers on {case.name}, expected {expected.size}"
        )
    size = max(1e-3, float(max(abs(x) for x in expected)))
    errors = np.array([abs(float(x)) for x in value - expected]) / size
    wrong = ~(errors <= case.limit(quantity, robot))  # counts NaN as wrong
    if wrong.any():
        k = int(np.argmax(wrong))
        raise AssertionError(
            f"{head} is wrong on {case.name}: entry {k} of {value.size} is {float(value[k]):.6g}, "
            f"expected {float(expected[k]):.6g}\n{_hint(case, robot, wrong)}"
        )


def _entry(formulation: Formulation | Callable[..., Any]) -> Formulation:
    for entries in FORMULATIONS.values():
        for entry in entries.values():
            if formulation is entry or formulation is entry.function:
                return entry
    raise ArmletError(
        f"{getattr(formulation, '__name__', formulation)!r} is not registered: put "
        "@armlet.formulation(...) above the function"
    )


class Case(NamedTuple):
    """A test case: a kind of robot, a way to evaluate formulations, and a hint for failures."""

    name: str
    hint: str
    options: dict[str, Any]
    """Arguments of `random_robot`."""
    way: str = "plain"

    def values(
        self, entry: Formulation, robot: RobotModel, seed: int
    ) -> tuple[RobotModel, Sequence[Any], Any]:
        """Evaluate a formulation at a random state; return the robot, the state and the result."""
        quantity = entry.quantity
        state = _state(quantity, robot, seed)
        if self.way == "wrench":
            state = [*state, np.random.default_rng(seed).uniform(-2, 2, 6).tolist()]
            program = trace(robot, quantity, entry.name, wrench=True)
            return robot, state, program.function(np)(*state)
        if self.way == DIGITAL:
            mpf = import_module("mpmath").mpf
            groups = (robot.constants(group) for group in GROUPS)
            exact = {name: mpf(x) for constants in groups for name, x in constants.items()}
            robot = robot._with_constants(exact)
            state = [[mpf(x) for x in values] for values in state]
            if "q" in QUANTITIES[quantity].arguments:
                state[0] = _exact(robot, state[0])
        if self.way == "traced" or entry.traced:
            program = trace(robot, quantity, entry.name, minimal=self.way == "lumped")
            return robot, state, program.function(np)(*state)
        arm = lump(robot) if self.way == "lumped" else robot
        return robot, state, entry.function(arm, *state)

    def limit(self, quantity: str, robot: RobotModel) -> float:
        """Return the tolerance, times cond(H) if the quantity inverts the inertia matrix H."""
        limit = 10.0 ** (10 - DIGITS) if self.way == DIGITAL else TOLERANCE
        if QUANTITIES[quantity].inverts != "inertia_matrix":
            return limit
        q = _state("inertia_matrix", robot, 0)[0]
        return limit * float(np.linalg.cond(definition.inertia_matrix(robot, q).astype(float)))


def _cases(entry: Formulation) -> Iterator[Case]:
    """Yield the cases from simple to special, so that the first failure points to the cause."""
    first, *others = [*entry.letters]
    joints = {"joints": entry.letters}
    yield Case(
        f"serial arms of {_kind(first)} joints",
        "The formula, or how it is written, is wrong: this robot has nothing special.",
        {"joints": first},
    )
    for letter in others:
        of_several = (
            "Such a joint has several unit twists: sum over all of them, robot.twists[i], and take "
            "its velocities from qd[robot.v_of[i]]."
        )
        linear = (
            "The twist of such a joint has a linear half: τ = w · t + v · f, and its motion adds "
            "2 ω × v q̇ + v q̈ to the acceleration of the origin."
        )
        yield Case(
            f"serial arms with {_kind(letter)} joints",
            f"{linear if JOINT_TYPES[_kind(letter)].nv == 1 else of_several} If the method holds "
            f'for {first} joints only, declare joints="{first}".',
            {"joints": letter + first},
        )
    if entry.topology == "tree":
        yield Case(
            "trees",
            "A body may have several children, and several bodies may sit on the base: sum over "
            "the parents, robot.parent[i], and not over i - 1. If the method holds for serial "
            'arms only, declare topology="serial".',
            joints | {"tree": True},
        )
    yield Case(
        "a robot with a massless body",
        "The formulation divides by the mass of a body: take the first moment c instead of the "
        "centre of mass, or leave the division out where the mass is zero (`recursions.centres`).",
        joints | {"massless": True},
    )
    yield Case(
        "a robot with rotor inertia",
        "Rotor inertia is added by @armlet.formulation, so the function must not add it, unless it "
        "is declared with own_rotors=True.",
        joints | {"drives": True},
    )
    if "wrench" in signature(entry.function).parameters:
        yield Case(
            "a robot with a wrench on its tool",
            "The wrench that the tool exerts on the world, (moment, force) in the tool's frame, "
            "adds Jqᵀ diag(R, R) w to the torques, with R the tool's axes in the base. "
            "A function that does not use it must not take it.",
            joints,
            "wrench",
        )
    yield Case(
        "a traced robot",
        "Traced scalars support only + - * / and the functions of armlet.scalar, and nothing may "
        "branch on the state: no np.sin, math, np.linalg, float().",
        joints,
        "traced",
    )
    if entry.minimal and QUANTITIES[entry.quantity].minimal:
        yield Case(
            "lumped inertias",
            "Lumped bodies have the same torques, but zero masses and unphysical inertias: a "
            "centre of mass or a root of an inertia does not exist. Use m, c and J as they are, or "
            "declare minimal=False.",
            joints,
            "lumped",
        )
    by_rank = entry.quantity in LAWS  # minimal parameters of joints without closed form: floats
    exact = "".join(x for x in entry.letters if x in "RP" or not by_rank)
    if exact and not entry.traced and find_spec("mpmath"):
        yield Case(
            f"{DIGITS} digits",
            "Somewhere a number is rounded to a float: a constant such as np.pi, a cast, or a "
            "function that is not from armlet.scalar.",
            {"joints": exact},
            DIGITAL,
        )


def _coriolis(robot: RobotModel, state: Sequence[Any], C: Matrix) -> tuple[Vector, Vector]:
    """Return both sides of C q̇ + gravity = bias and of S = -Sᵀ with S = Ḣ - 2 C."""
    q, qd = state
    step = definition.STEP * (-1 + 0j) ** 0.5
    rates = robot._tangent(q) @ np.array(qd, dtype=object)
    moved = [x + step * rate for x, rate in zip(q, rates, strict=True)]
    Hd = definition.inertia_matrix(robot, moved)
    rate = np.array([x.imag / definition.STEP for x in Hd.flat], dtype=object).reshape(Hd.shape)
    S = rate - 2 * np.asarray(C, dtype=object)
    bias = C @ np.array(qd, dtype=object) + definition.gravity_torque(robot, q)
    return _flat((bias, S)), _flat((definition.bias(robot, q, qd), -S.T))


def _regressor(robot: RobotModel, state: Sequence[Any], Y: Matrix) -> tuple[Vector, Vector]:
    """Return both sides of the law: regressor · minimal parameters = torque without drives."""
    whole = definition.inverse_dynamics if len(state) > 1 else definition.gravity_torque
    tau = whole(robot.without_drives(), *state)
    return _flat(Y @ minimal_set(robot).values), _flat(tau)


LAWS: dict[str, Callable[[RobotModel, Sequence[Any], Any], tuple[Vector, Vector]]] = {
    "coriolis_matrix": _coriolis,
    "regressor": _regressor,
    "gravity_regressor": _regressor,
}
"""For each quantity without a definition: a function that returns both sides of a law."""


def _exact(robot: RobotModel, q: list[Any]) -> list[Any]:
    """Return positions whose quaternions have length 1 to all digits; other positions are as in q.

    `integrate` squares the error of the length.
    """
    for _ in range(2):
        q = robot.integrate(np.array(q, dtype=object), np.zeros(robot.nv, dtype=object)).tolist()
    return q


def _flat(result: Any) -> Vector:
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=object)) for y in outputs])


def _hint(case: Case, robot: RobotModel, wrong: Vector) -> str:
    """Return the usual cause of a failure, judged by the joints with wrong entries."""
    if wrong.size != robot.nv:
        return case.hint
    roots = {i for i, p in robot.base_to_tips() if p == BASE}
    joints = {robot._velocities[k][0] for k in np.flatnonzero(wrong)}
    if joints <= roots and len(roots) < robot.nb:
        return (
            "Only joints on the base are wrong: the loop towards the base leaves out its last "
            "bodies, or its sums are not added there."
        )
    if robot.nb - 1 in joints and case.way == "plain" and "nothing special" in case.hint:
        return (
            f"{case.hint} If lists are summed up at robot.tips_to_base(), they need a place for "
            "the base, which comes last: armlet.robot.with_base."
        )
    return case.hint


def random_robot(
    seed: int,
    n: int = 4,
    joints: str = "RP",
    tree: bool = False,
    massless: bool = False,
    drives: bool = False,
) -> RobotModel:
    """Return a robot with random bodies and random axes; some axes are perpendicular or parallel.

    The letters of `joints` are the joint types in order, repeated if necessary. With `tree`, two
    bodies are on the base, and one body has two children. With `massless`, the first body has no
    mass. With `drives`, joints have drives and springs, and some bodies have gravity compensation.
    """
    rng = np.random.default_rng(seed)
    quarters = np.pi / 2 * np.arange(-1, 3)

    def angle() -> float:
        return float(rng.choice(quarters) if rng.random() < 0.3 else rng.uniform(-3, 3))

    def length() -> float:
        return 0.0 if rng.random() < 0.3 else float(rng.uniform(-0.5, 0.5))

    def body() -> tuple[Scalar, Vector, Matrix]:
        """Return mass, first moment and inertia (about the origin) of six random point masses."""
        points, masses = rng.normal(scale=0.2, size=(6, 3)), rng.uniform(0.1, 1, 6)
        J = sum(point_inertia(float(m), r.tolist()) for m, r in zip(masses, points, strict=True))
        return float(masses.sum()), (masses @ points).astype(object), J

    rows = [
        DHRow(gamma=angle(), b=length(), alpha=angle(), a=length(), d=length(), theta=angle())
        for _ in range(n)
    ]
    bodies = [body() for _ in range(n)]
    if massless:
        bodies[0] = 0.0, np.zeros(3, dtype=object), symmetric(0, 0, 0, 0, 0, 0)
    m, c, J = zip(*bodies, strict=True)
    kinds = [_kind(joints[i % len(joints)]) for i in range(n)]
    pitches = [rng.uniform(-0.3, 0.3) if JOINT_TYPES[x].with_pitch else 0.0 for x in kinds]
    nv = sum(JOINT_TYPES[kind].nv for kind in kinds)
    tool = Frame(n - 1, Pose(np.eye(3, dtype=int), rng.uniform(-0.3, 0.3, 3).astype(object)))
    robot = RobotModel(
        name=f"random{seed}",
        joints=tuple(Joint(f"joint{i}", x, pitch=pitches[i]) for i, x in enumerate(kinds)),
        parent=(BASE, 0, 0, BASE, 2, 3)[:n] if tree else tuple(range(BASE, n - 1)),
        dh=tuple(rows),
        m=m,
        c=c,
        J=J,
        drives=tuple(
            Drive(*rng.uniform(0, 1, 4).tolist()) if drives else Drive() for _ in range(nv)
        ),
        g=rng.normal(scale=5, size=3).astype(object),
        links=tuple(f"link{i}" for i in range(n)),
        frames={"base": Frame(BASE, IDENTITY_POSE), "tool": tool},
        tool="tool",
    )
    if not drives:
        return robot
    shares = [float(rng.uniform(0, 1.5)) if rng.random() < 0.6 else 0 for _ in robot.m]
    return replace(
        robot,
        springs=tuple(Spring(*rng.uniform(0, 3, 2).tolist()) for _ in range(nv)),
        compensation=tuple(
            Compensation(x * m, x * c) for x, m, c in zip(shares, robot.m, robot.c, strict=True)
        ),
    )


def _kind(letter: str) -> str:
    return next(name for name, kind in JOINT_TYPES.items() if kind.letter == letter)


def _state(quantity: str, robot: RobotModel, seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    state = {x: rng.uniform(-2, 2, robot.nv) for x in QUANTITIES[quantity].arguments}
    if "q" in state:
        state["q"] = robot.integrate(robot.neutral, state["q"])
    return [x.tolist() for x in state.values()]
