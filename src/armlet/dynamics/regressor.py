"""Regressors: torques as a matrix times the inertial parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from armlet._support.validation import one_of
from armlet.algebra import ZERO, cross, symmetric, vector
from armlet.dynamics.coupling import with_coupling
from armlet.dynamics.formulation import describe
from armlet.dynamics.parallel_axes import parallel_axes
from armlet.dynamics.recursions import Pair, accelerations, angular_motions
from armlet.errors import ArmletError
from armlet.graph import Graph, trace_function
from armlet.minimal import (
    MinimalParameters,
    by_rank,
    check_options,
    closed_form,
    has_closed_form,
    independent,
    standard_names,
)
from armlet.minimal.parameters import Model
from armlet.robot import Displacement, RobotModel
from armlet.scalar import Matrix, Scalar, Vector, is_zero, sign

PARAMETERS = ("minimal", "standard")
DRIVE_OPTIONS = {"rotors": "rotor_inertia", "friction": "viscous"}
"""Option for drive parameters -> one of the parameters that the option adds to a set."""
PARAMETERS_AT_REST = (*PARAMETERS, "gravity")
Columns = tuple[tuple[float, ...], ...]
Parameters = str | Columns
"""The name of a set of parameters, or the columns of a `MinimalParameters`."""
STATES = 3
"""Ranks are computed from at least this many random states and regressor rows per parameter."""


@describe(
    "regressor",
    source="Atkeson, An and Hollerbach 1986; Lin 1994, Theorem 5",
    growth="n^2",
    name="unit_bodies",
    minimal=False,
    coupled=True,
    walks_twists=True,
)
def regressor(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    parameters: Parameters = "minimal",
    rotors: bool = False,
    friction: bool = False,
) -> Matrix:
    """Y(q, q̇, q̈) with τ = Y φ: column k has the joint torques for a unit parameter φₖ.

    The acceleration a of a body's origin includes gravity, as in `newton_euler`. About this origin,
    a body of mass m, first moment c and inertia J needs the wrench (f, t), with Ω = ω̇~ + ω̃ ω̃:

        f = m a + Ω c,   t = J ω̇ + ω × J ω + c × a

    This wrench is linear in the ten parameters. The wrench for a unit of one parameter is
    transformed towards the base. At each joint of unit twist (w, v) on the way, it gives the entry

        w · t + v · f

    The standard parameters are the entries of `robot.phi`, body by body. The minimal parameters are
    those of `armlet.minimal_parameters`: φ' = Λ φ. Their regressor is Y' = Y Λ⁻, with the right
    inverse Λ⁻ of Λ in `MinimalParameters.back`. `rotors` adds columns with q̈ᵢ in row i. `friction`
    adds columns with q̇ᵢ, sign(q̇ᵢ) and 1 in row i.
    """
    sets = full_sets(robot, parameters, PARAMETERS, rotors, friction)
    return torques_of(robot, q, qd, qdd, sets, rotors, friction)


@describe(
    "gravity_regressor",
    source="Atkeson, An and Hollerbach 1986; Lin 1994, Theorems 4 and 5",
    growth="n^2",
    name="unit_bodies",
    minimal=False,
    coupled=True,
    walks_twists=True,
)
def gravity_regressor(robot: RobotModel, q: Vector, parameters: Parameters = "minimal") -> Matrix:
    """Y(q) with g = Y φ: the regressor of an arm at rest.

    Gravity torques depend on fewer parameters than τ. The columns of Y are independent only for the
    set `armlet.minimal_parameters(robot, of="gravity")` (Lin 1994, Theorem 4).
    """
    rest = [0] * robot.nv
    return torques_of(robot, q, rest, rest, full_sets(robot, parameters, PARAMETERS_AT_REST))


def full_sets(
    robot: RobotModel,
    parameters: Parameters,
    names: Sequence[str],
    rotors: bool = False,
    friction: bool = False,
) -> list[list[Scalar]]:
    """For each parameter of a set, return standard parameters that make it 1 and the others 0."""
    if isinstance(parameters, tuple):
        return [list(column) for column in parameters]
    one_of(parameters, "parameters", names)
    if parameters == "standard":
        return np.eye(len(standard_names(robot, rotors, friction)), dtype=int).tolist()
    of = "gravity" if parameters == "gravity" else "torques"
    sets: list[list[Scalar]] = minimal_set(robot, rotors, friction, of=of).back.T.tolist()
    return sets


def minimal_set(
    robot: Model,
    rotors: bool = False,
    friction: bool = False,
    kind: str = "lin",
    of: str = "torques",
) -> MinimalParameters[Model]:
    """Minimal parameters of a robot: in closed form where it holds, reduced by rank where needed.

    Torques of coupled joints are Γᵀ Y' φ' (`armlet.dynamics.coupling`), with φ' for free joints.
    Columns of Γᵀ Y' that are dependent at random states are removed: φ'' = Λ' φ' = Λ' Λ φ. If the
    closed form does not hold for the robot's joint types, the set is that of `set_by_rank`.
    """
    check_options(kind, of, rotors, friction)
    key = ("minimal parameters", rotors, friction, kind, of)
    if not has_closed_form(robot):
        return robot._once(key, lambda: set_by_rank(robot, rotors, friction, of))
    derive = _reduce_by_rank if robot.couplings else closed_form
    return robot._once(key, lambda: derive(robot, rotors, friction, kind, of))


def set_by_rank(
    robot: Model, rotors: bool, friction: bool, of: str, zero: Sequence[str] = ()
) -> MinimalParameters[Model]:
    """Minimal parameters from the rank of the regressor of all standard parameters.

    The regressor is evaluated at random states. The parameters in `zero` are taken to be zero.
    """
    robot._require_values("a rank, by which parameters are computed for such joints,")
    standard = standard_names(robot, rotors, friction)
    sets = np.eye(len(standard), dtype=int).tolist()

    def torques(_: Graph, q: Vector, qd: Vector, qdd: Vector) -> Matrix:
        return torques_of(robot, q, qd, qdd, sets, rotors, friction)

    inputs = {"q": (robot.nq,), "qd": (robot.nv,), "qdd": (robot.nv,)}
    program = trace_function("regressor", torques, inputs)
    moved, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 10 * robot.nb + 20, robot.nv))
    rates = (0 * qd, 0 * qdd) if of == "gravity" else (qd, qdd)
    Y = program.function(np)(robot.integrate(robot.neutral, moved), *rates)
    return by_rank(robot, Y.reshape(-1, len(standard)), standard, zero, of)


def _reduce_by_rank(
    robot: Model, rotors: bool, friction: bool, kind: str, of: str
) -> MinimalParameters[Model]:
    robot._require_values("a rank, by which parameters are computed for such joints,")
    free = closed_form(robot.uncoupled, rotors, friction, kind, of)
    rng, rows = np.random.default_rng(0), []
    for _ in range(STATES + STATES * len(free) // robot.nv if len(free) else 0):
        q, qd, qdd = rng.uniform(-2, 2, (3, robot.nv))
        rates = (0 * qd, 0 * qdd) if of == "gravity" else (qd, qdd)
        rows.append(torques_of(robot, q, *rates, free.back.T.tolist(), rotors, friction))
    Y = np.concatenate([np.zeros((0, len(free))), *rows]).astype(float)
    columns, Lam = independent(Y)
    stars = [
        free.names[k] + ("*" if np.count_nonzero(row) > 1 else "")
        for k, row in zip(columns, Lam, strict=True)
    ]
    names = tuple(name.replace("**", "*") for name in stars)
    return replace(free, model=robot, names=names, Lam=Lam @ free.Lam, back=free.back[:, columns])


@with_coupling("regressor")
def torques_of(
    robot: RobotModel,
    q: Vector,
    qd: Vector,
    qdd: Vector,
    sets: list[list[Scalar]],
    rotors: bool = False,
    friction: bool = False,
) -> Matrix:
    """The torques for each set of standard parameters in `sets`, as columns."""
    n = robot.nb
    drives = drive_columns(robot.nv, qd, qdd, rotors, friction)
    X = robot.displacements(q)
    shares = wrenches(robot, q, qd, qdd)
    columns = []
    for phi in sets:
        rows = {i: phi[10 * i : 10 * i + 10] for i in range(n)}
        wrench = {
            i: body_wrench(row, shares[i]) for i, row in rows.items() if not all(map(is_zero, row))
        }
        tau = column(robot, X, wrench)
        for x, drive in zip(phi[10 * n :], drives, strict=True):
            if not is_zero(x):
                tau = [t + x * y for t, y in zip(tau, drive, strict=True)]
        columns.append(tau)
    return np.array(columns, dtype=object).reshape(-1, robot.nv).T


def with_columns(
    robot: RobotModel, name: str, taken: Sequence[str], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `options` with a `MinimalParameters` replaced by its columns and drive options."""
    parameters = options.get("parameters")
    if not isinstance(parameters, MinimalParameters):
        return dict(options)
    if not parameters.fits(robot):
        raise ArmletError(
            f"the parameters are those of robot {parameters.model.name!r} in other frames or under "
            f"another gravity: expected armlet.minimal_parameters of this robot, {robot.name!r}"
        )
    if parameters.of == "gravity" and name != "gravity_regressor":
        raise ArmletError(f"{name} needs more than the parameters of gravity torques alone")
    others = {key: x for key, x in options.items() if key not in ("parameters", *DRIVE_OPTIONS)}
    for option, parameter in DRIVE_OPTIONS.items():
        has = f"{parameter}1" in parameters.standard
        if has and option not in taken:
            raise ArmletError(f"{name} has no columns for {parameter}: expected a set without it")
        if not has and options.get(option):
            raise ArmletError(
                f"{option}=True, but the parameters have no {parameter}: leave it out"
            )
        others |= {option: True} if has else {}
    return others | {"parameters": parameters.columns}


def wrenches(robot: RobotModel, q: Vector, qd: Vector, qdd: Vector) -> list[list[Pair]]:
    """For each body, the force and the moment for a unit of each of its ten parameters."""
    X = parallel_axes(robot, q)
    motions = angular_motions(robot, X, qd, qdd)
    a = accelerations(robot, X, motions, qd, qdd)
    units = np.eye(6, dtype=int).tolist()
    return [
        [
            *((ZERO, motions[i].moment(symmetric(*unit))) for unit in units),
            *((motions[i].Omega[:, k], cross(vector(*units[k][:3]), a[i])) for k in range(3)),
            (a[i], ZERO),
        ]
        for i in range(robot.nb)
    ]


def body_wrench(phi: Sequence[Scalar], shares: list[Pair]) -> Pair:
    """The wrench of a body with parameters `phi`; `shares` are the wrenches for unit parameters."""
    f, t = ZERO, ZERO
    for x, (force, moment) in zip(phi, shares, strict=True):
        if not is_zero(x):
            f, t = f + x * force, t + x * moment
    return f, t


def column(robot: RobotModel, X: list[Displacement], wrench: Mapping[int, Pair]) -> list[Scalar]:
    """The joint torques for wrenches on some bodies; joints that carry no wrench have torque 0."""
    tau: list[Scalar] = [0] * robot.nv
    carried = dict(wrench)
    for i, p in robot.tips_to_base():
        if i in carried:
            f, t = carried[i]
            tau[robot.v_of[i]] = [w @ t + v @ f for w, v in robot.twists[i]]
            f, t = X[i].wrench(f, t)
            carried[p] = (f + carried[p][0], t + carried[p][1]) if p in carried else (f, t)
    return tau


def drive_columns(
    n: int, qd: Vector, qdd: Vector, rotors: bool, friction: bool
) -> list[list[Scalar]]:
    """The joint torques for one unit of each drive parameter."""
    kinds = [qdd] if rotors else []
    if friction:
        kinds += [qd, [sign(x) for x in qd], [1] * n]
    return [[x[i] if j == i else 0 for j in range(n)] for x in kinds for i in range(n)]
