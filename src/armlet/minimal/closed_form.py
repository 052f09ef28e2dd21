"""Closed-form minimal parameters: the set of Lin and the set of Gautier and Khalil."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from armlet._support.validation import one_of
from armlet.algebra import ZERO, symmetric
from armlet.errors import ArmletError, ModelError
from armlet.minimal.lumping import NOTHING, Rule, add, axially_symmetric, gather, khalil_gautier
from armlet.minimal.observability import JointContext, along_z, joint_contexts, vanishes
from armlet.minimal.parameters import MinimalParameters, Model, as_array, is_number, standard_names
from armlet.robot import BASE, PHI, Body, JointType, RobotModel
from armlet.robot.components import body_of, entries_of
from armlet.scalar import Matrix, Scalar, identical

NOISE = 1e-14
"""Entries of Λ smaller than this, with the arm's size as the unit of length, count as zero."""
LENGTHS = {"J": 2, "c": 1, "k": 1, "m": 0}
"""Exponent of length in the unit of a parameter, by the first letter of the parameter's name."""

Terms = Mapping[str, Scalar]
Observables = Callable[[str, JointContext], Iterator["Observable"]]


class Observable(NamedTuple):
    """A combination of a body's standard parameters that the torques depend on."""

    name: str
    reads: Terms
    """The coefficient of each standard parameter in the combination, by name."""
    alone: Terms
    """Parameters of a body for which this combination is 1 and all other observables are 0."""


class Combination:
    """A linear combination of standard parameters: `terms` maps parameter index to factor."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[int, Scalar]) -> None:
        self.terms = terms

    def __add__(self, other: Any) -> "Combination":
        terms = dict(self.terms)
        for k, factor in other.terms.items() if isinstance(other, Combination) else ():  # or 0
            terms[k] = terms[k] + factor if k in terms else factor
        return Combination(terms)

    def __mul__(self, factor: Scalar) -> "Combination":
        return Combination({k: factor * x for k, x in self.terms.items()})

    def __neg__(self) -> "Combination":
        return self * -1

    def __sub__(self, other: Any) -> "Combination":
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> "Combination":
        return (-self).__add__(other)

    __radd__, __rmul__ = __add__, __mul__


def lin(joint: JointType, _: JointContext, body: Body) -> Body:
    """Return the part of a body to lump on the parent (Lin 1994, section 3)."""
    return body if joint.translates else axially_symmetric(body)


def khalil_gautier_at_rest(joint: JointType, context: JointContext, body: Body) -> Body:
    """Return the part that `lin` lumps, without the mass if gravity torques depend on the mass."""
    m, c, J = lin(joint, context, body)
    stays = any(name == "m" for name, *_ in observable_at_rest(joint.letter, context))
    return 0 if stays else m, c, J


def closed_form(
    robot: Model,
    rotors: bool = False,
    friction: bool = False,
    kind: str = "lin",
    of: str = "torques",
) -> MinimalParameters[Model]:
    """Return minimal parameters of a robot: Theorem 5 of Lin 1994 for each path of the tree.

    From the tips to the base, parameters of a body that act like parameters of its parent are
    lumped on the parent. Body i then has the mass m̂, first moment k and inertia U. Of these, the
    torques depend on

        joint i revolute,  r <= i < s   Uzz; kx, ky if δ = 1
                           i >= s       Uxx - Uyy, Uxy, Uxz, Uyz, Uzz, kx, ky
        joint i prismatic, always       m̂
                           i > s        kx, ky, kz
                           r < i < s    κ¹ = (u × k)z, κ² = (k - (u · k) u)z, if σ = 1

    where r is the first revolute joint on the path from the base, s the first revolute joint after
    r with another axis direction, and u the axis of r in frame i. δ is 0 if all joints up to i are
    parallel to one another and to gravity, and the revolute ones are coaxial; otherwise δ is 1. σ
    is 0 if the prismatic joint is parallel to u, else 1.

    Without gravity there is one exception for i >= s: if all joints up to i are revolute and their
    axes meet in one point, kx and ky affect the torques only through Uxz and Uyz about that point.

    Rotor inertia is lumped into Uzz at joint r and, if s is perpendicular to r, at joint s. At a
    prismatic joint, it is lumped into m̂ if the rotor acts on all torques exactly as a mass does.
    Any other rotor inertia is a separate parameter. Friction adds three parameters per joint.

    Gravity torques (`of="gravity"`, Theorem 4) are derivatives of the potential energy. Body i adds
    -g · (first moment) to this energy, with gravity g in frame i, so gravity torques depend on

        joint i revolute     kx, ky   unless g is parallel to z for every q
        joint i prismatic    m̂        unless g is perpendicular to z for every q

    Both conditions follow from the span of g over all q. A prismatic joint does not change the
    span. A revolute joint adds the plane perpendicular to z if the span is not along z, and adds z
    if the span has a component along z. The parameters of all bodies are linearly independent.
    """
    if not has_closed_form(robot):
        others = sorted(set(robot._joint_letters) - set("RP"))
        raise ModelError(
            f"robot {robot.name!r} has joints {', '.join(others)}: closed-form minimal "
            "parameters are supported for revolute and prismatic joints only"
        )
    goes_over, shows = SETS[of]
    context = joint_contexts(robot, friction)
    at_zero = robot._at_zero

    def over(i: int, body: Body) -> Body:
        return at_zero[i].body(*goes_over[kind](robot.joints[i].type, context[i], body))

    bodies = constant_composites(robot, context, over, rotors)
    standard = standard_names(robot, rotors, friction)
    reach = context[0].reach if context else 1.0
    units = [reach ** LENGTHS[name[0]] for name in standard[: 10 * robot.nb]]
    units += [1.0 if x.type.translates else reach**2 for x in robot.joints] * rotors
    names, rows, columns = [], [], []
    for i, p in robot.base_to_tips():
        entries = dict(zip(PHI, entries_of(bodies[i]), strict=True))
        for name, reads, alone in shows(robot._joint_letters[i], context[i]):
            total = sum((k * entries[x] for x, k in reads.items()), Combination({}))
            small = NOISE * reach ** LENGTHS[name[0]]
            row = Combination(
                {
                    k: x
                    for k, x in total.terms.items()
                    if not (abs(x) < small / units[k] if is_number(x) else identical(x, 0))
                }
            )
            unit = [alone.get(x, 0) for x in PHI]
            goes = [-x for x in entries_of(over(i, body_of(unit)))] if p != BASE else []
            own, carried = enumerate(unit, 10 * i), enumerate(goes, 10 * p)
            rows.append(row)
            columns.append(dict(own) | dict(carried))
            names.append(f"{name}{i + 1}{'*' if len(row.terms) > 1 else ''}")
    for row in drive_rows(robot, context, rotors, friction):
        drive = max(row.terms)
        rows.append(row)
        columns.append({drive: 1})
        names.append(standard[drive] + ("*" if len(row.terms) > 1 else ""))
    Lam = matrix([row.terms for row in rows], len(standard))
    back = matrix(columns, len(standard)).T
    return MinimalParameters(robot, kind, tuple(names), standard, Lam, back, of)


def has_closed_form(robot: RobotModel) -> bool:
    return set(robot._joint_letters) <= set("RP")


def check_options(kind: str, of: str, rotors: bool, friction: bool) -> None:
    """Raise an error for a combination of options that no minimal set supports."""
    one_of(kind, "kind", (*CLOSED_FORMS, "rank"))
    one_of(of, "of", SETS)
    if of == "gravity" and (rotors or friction):
        raise ArmletError(
            "torques against gravity show neither rotors nor friction: leave out "
            + " and ".join(["rotors"] * rotors + ["friction"] * friction)
        )


def constant_composites(
    robot: RobotModel, context: list[JointContext], over: Callable[[int, Body], Body], rotors: bool
) -> list[Body]:
    """Return the lumped parameters (m̂, k, U) of each body, with entries of type `Combination`.

    A rotor that acts on the torques like a body is included: on a revolute joint as inertia about
    z, on a prismatic joint as a mass on the body and the negative mass on the parent.
    """
    bodies = [body_of([Combination({10 * i + k: 1}) for k in range(10)]) for i in range(robot.nb)]
    bodies.append((0, ZERO, NOTHING))
    at_zero = robot._at_zero
    for i, p in robot.base_to_tips():
        rotor = Combination({10 * robot.nb + i: 1})
        if rotors and context[i].stands_in and robot.joints[i].letter == "R":
            bodies[i] = add(bodies[i], (0, ZERO, symmetric(0, 0, 0, 0, 0, rotor)))
        elif rotors and context[i].stands_in:
            bodies[i] = add(bodies[i], (rotor, ZERO, NOTHING))
            bodies[p] = add(bodies[p], at_zero[i].body(-rotor, ZERO, NOTHING))
    return gather(robot, over, bodies[:BASE])


def drive_rows(
    robot: RobotModel, context: list[JointContext], rotors: bool, friction: bool
) -> Iterator[Combination]:
    """Yield the drive parameters that are not lumped into bodies, as `Combination` objects.

    If a rotor is lumped as a mass, the weight of this mass is combined with the friction offset.
    """
    n, start = robot.nb, 10 * robot.nb
    if rotors:
        yield from (Combination({start + i: 1}) for i in range(n) if not context[i].stands_in)
    if friction:
        start += n if rotors else 0
        yield from (Combination({start + k: 1}) for k in range(2 * n))
        for i in range(n):
            weighs = rotors and context[i].stands_in and robot.joints[i].letter == "P"
            g = context[i].g[2]
            weight = {} if not weighs or vanishes([g], context[i].weight) else {10 * n + i: g}
            yield Combination({start + 2 * n + i: 1} | weight)


def observable(letter: str, context: JointContext) -> Iterator[Observable]:
    """Yield the observables of a body that the torques depend on; `letter` is the joint type."""
    if letter == "P":
        yield single("m")
        if context.spatial:
            yield from map(single, ("cx", "cy", "cz"))
        elif context.u is not None and not along_z(context.u):
            x, y, z = context.u
            across = x * x + y * y  # 1 - z² would cancel where z is nearly ±1
            k1, k2 = (-y, x, 0), (-z * x, -z * y, across)
            for name, k in (("kappa1_", k1), ("kappa2_", k2)):
                reads = dict(zip(("cx", "cy", "cz"), k, strict=True))
                yield Observable(name, reads, {key: value / across for key, value in reads.items()})
    elif not context.spatial:
        yield single("Jzz")
        if not (context.upright and context.coaxial):
            yield from map(single, ("cx", "cy"))
    else:
        yield Observable("Jxx", {"Jxx": 1, "Jyy": -1}, {"Jxx": 1})
        yield single("Jxy")
        if vanishes(context.g, 0.0) and context.centre is not None:
            yield Observable("Jxz", {"Jxz": 1, "cx": context.centre[2]}, {"Jxz": 1})
            yield Observable("Jyz", {"Jyz": 1, "cy": context.centre[2]}, {"Jyz": 1})
            yield single("Jzz")
        else:
            yield from map(single, ("Jxz", "Jyz", "Jzz", "cx", "cy"))


def observable_at_rest(letter: str, context: JointContext) -> Iterator[Observable]:
    """Yield the observables of a body that gravity torques depend on."""
    if letter == "P" and not vanishes([v[2] for v in context.pulls], context.weight):
        yield single("m")
    elif letter == "R" and not all(along_z(v, context.weight) for v in context.pulls):
        yield from map(single, ("cx", "cy"))


def single(name: str) -> Observable:
    return Observable(name, {name: 1}, {name: 1})


def matrix(rows: list[dict[int, Scalar]], width: int) -> Matrix:
    """Convert rows, each a dict of nonzero entries by column, to a matrix with `width` columns."""
    full = np.zeros((len(rows), width), dtype=object)
    for row, terms in zip(full, rows, strict=True):
        for k, x in terms.items():
            row[k] = x
    return as_array(full)


SETS: dict[str, tuple[dict[str, Rule], Observables]] = {
    "torques": ({"lin": lin, "khalil_gautier": khalil_gautier}, observable),
    "gravity": ({"lin": lin, "khalil_gautier": khalil_gautier_at_rest}, observable_at_rest),
}
"""For each value of `of`: the lumping rules by kind of set, and the function for observables."""
CLOSED_FORMS = tuple(SETS["torques"][0])
