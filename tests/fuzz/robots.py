"""Quantities of random robots are compared with `fuzz.exact` (thirty digits) and Pinocchio.

An error is relative to the norm of the quantity or, for poses and Jacobians, of its angular or its
linear part. A norm that can vanish, such as that of gravity torques about vertical axes, counts as
at least a thousandth of a typical norm for bodies of this mass, size and speed.
"""

import warnings
from typing import NamedTuple

import numpy as np
from support.peers import Pinocchio

import armlet
from fuzz.exact import Tree
from fuzz.geometries import KINDS, random_geometry

BAR = {"float64": 1e-11, "float32": 1e-5}
NEARLY_SCARA = 10
"""The factor of allowed errors if all axes are nearly parallel, where most velocity terms are tiny:
angles within 1e-14 rad of a quarter turn are made exact, which changes these terms."""
PEER = 1e-9
"""The largest allowed error of Pinocchio, whose sums include the poses of the base."""
LARGEST_OFFSET = 3
"""The largest offset of canonical frames, relative to the size of the arm."""
STATES = 2
COMPILED = 0.25
"""The share of robots for which a quantity is also compiled, which takes longer."""
QUANTITIES = (
    "inverse_dynamics",
    "inertia_matrix",
    "bias",
    "gravity_torque",
    "coriolis_matrix",
    "forward_dynamics",
    "linearization",
    "forward_kinematics",
    "jacobian",
    "energy",
    "regressor",
    "regressor of all",
)
OPTIONS = {"regressor of all": {"parameters": "standard"}}
"""Options of tracing: "regressor" has minimal parameters, "regressor of all" standard ones."""
LEAST = 1e-3
ZERO = 1e-12
"""Numbers below this are zero in a minimal set (docs/minimal.md), such as an axis's tilt."""


class Expected(NamedTuple):
    """An expected array, the norm to which its error is relative, and a factor of `BAR`."""

    value: np.ndarray
    norm: float
    factor: float = 1.0


def trial(rng, folder, kinds=KINDS):
    geometry = random_geometry(rng, kinds)
    path = folder / "robot.urdf"
    path.write_text(geometry.text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", armlet.ModelWarning)
        robot = armlet.load(path)
    robot = robot.with_tool(robot.tool or "tool")
    tree = Tree(geometry.text, robot.joint_names)
    problems = [*large_offsets(robot, tree)]
    functions = {quantity: replayed(robot, quantity) for quantity in QUANTITIES}
    slack = NEARLY_SCARA if geometry.kind == "nearly scara" else 1
    for _ in range(STATES):
        state = random_state(rng, robot, geometry.scale)
        answers = expected(tree, robot.tool, *state, slack)
        for quantity, function in functions.items():
            problems += deviations(quantity, answers, function, robot, state, "float64")
        if not geometry.far:
            peer = Pinocchio(geometry.text, robot.joint_names, (0, 0, -9.81))
            problems += peer_deviations(peer, answers, robot.tool, state)
    if rng.random() < COMPILED:
        quantity, dtype = str(rng.choice(QUANTITIES)), str(rng.choice(list(BAR)))
        formulation = rng.choice([None, next(iter(armlet.formulations(named(quantity))))])
        options = OPTIONS.get(quantity, {})
        kernel = armlet.compile(robot, named(quantity), formulation, dtype=dtype, **options)
        problems += [
            f"compiled ({formulation}), {line}"
            for line in deviations(quantity, answers, kernel, robot, state, dtype)
        ]
    about = f"{geometry.kind}, {robot._joint_letters}, scale {geometry.scale:.0e}, far "
    assert not problems, f"{about}{geometry.far:.0e}: {'; '.join(problems)}"


def random_state(rng, robot, scale):
    """Random q, qd and qdd, exact in single precision; `scale` is the size for prismatic joints."""
    lengths = np.where([letter == "P" for letter in robot._joint_letters], scale, 1)
    return (rng.uniform(-2, 2, (3, robot.nv)) * lengths).astype(np.float32).astype(float)


def replayed(robot, quantity):
    """The first formulation of a quantity as a NumPy function, without search or compiler."""
    first = next(iter(armlet.formulations(named(quantity))))
    return armlet.trace(robot, named(quantity), first, **OPTIONS.get(quantity, {})).function(np)


def named(quantity):
    """The name that armlet has for a quantity of `QUANTITIES`: its first word."""
    return quantity.partition(" ")[0]


def expected(tree, tool, q, qd, qdd, slack=1):
    """The expected arrays of every quantity, with allowed errors multiplied by `slack`."""
    tau = numeric(tree.inverse_dynamics(q, qd, qdd))
    H = numeric(tree.inertia_matrix(q))
    gravity = numeric(tree.inverse_dynamics(q, 0 * q, 0 * q))
    bias = numeric(tree.inverse_dynamics(q, qd, 0 * q))
    V, P = map(numeric, tree.linearization(q, qd, qdd))
    T, Jq = numeric(tree.forward_kinematics(q, tool)), numeric(tree.jacobian(q, tool))
    kinetic, potential = map(numeric, tree.energy(q, qd))
    size = extent(tree, q)
    mass = sum(float(body.m) for body in tree.bodies.values())
    # Forces of prismatic joints and torques of revolute joints are in one vector.
    arms = {1.0 if joint.kind == "prismatic" else size for joint in tree.movers.values()}
    weight = LEAST * 9.81 * mass * max(arms)
    speeds = LEAST * np.linalg.norm(H) * np.abs(qd).max()
    high = 9.81 * mass * (size + np.linalg.norm(T[:3, 3]))
    # Forward dynamics applies the inverse of H to a difference of torques, which may cancel.
    torques = max(np.linalg.norm([tau, bias]), weight)
    cancelled = torques / (np.linalg.norm(H, 2) * np.linalg.norm(qdd))

    def relative(x, least=0.0, factor=1.0):
        return Expected(x, max(np.linalg.norm(x), least, 1e-300), slack * factor)

    return {
        "inverse_dynamics": [relative(tau, weight)],
        "inertia_matrix": [relative(H)],
        "bias": [relative(bias, weight)],
        "gravity_torque": [relative(gravity, weight)],
        "coriolis_matrix": [
            relative(bias - gravity, max(weight, speeds)),
            relative(numeric(tree.inertia_rate(q, qd)), speeds),
        ],
        "forward_dynamics": [relative(qdd, factor=np.linalg.cond(H) * (1 + cancelled))],
        "linearization": [relative(H), relative(V, speeds), relative(P, weight)],
        "forward_kinematics": [relative(T[:3, :3]), relative(T[:3, 3], size)],
        "jacobian": [relative(Jq[:3], 1), relative(Jq[3:], size)],
        "energy": [relative(kinetic), relative(potential, LEAST * high)],
        "regressor": [relative(tau, ZERO / BAR["float64"] * weight / LEAST)],
        "regressor of all": [relative(tau, weight)],
    }


def found(quantity, answers, evaluate, robot, state):
    """armlet's arrays for a quantity, in the order of the expected arrays."""
    q, qd, qdd = state
    match quantity:
        case "inverse_dynamics" | "linearization":
            return as_tuple(evaluate(q, qd, qdd))
        case "inertia_matrix" | "gravity_torque":
            return as_tuple(evaluate(q))
        case "bias" | "energy":
            return as_tuple(evaluate(q, qd))
        case "coriolis_matrix":  # not unique: two laws that every Coriolis matrix obeys
            C = np.asarray(evaluate(q, qd), float)
            return C @ qd, C + C.T
        case "forward_dynamics":
            return as_tuple(evaluate(q, qd, answers["inverse_dynamics"][0].value))
        case "forward_kinematics":
            T = evaluate(q)
            return T[:3, :3], T[:3, 3]
        case "jacobian":
            Jq = evaluate(q)
            return Jq[:3], Jq[3:]
        case "regressor":
            return (evaluate(q, qd, qdd) @ armlet.minimal_parameters(robot).values,)
        case "regressor of all":
            return (evaluate(q, qd, qdd) @ robot.phi.ravel(),)
        case _:
            raise ValueError(f"nothing is known of {quantity}")


def deviations(quantity, answers, evaluate, robot, state, dtype):
    """Yield a message for each array of a quantity whose error is larger than allowed."""
    arrays = found(quantity, answers, evaluate, robot, state)
    for k, (x, (value, norm, factor)) in enumerate(zip(arrays, answers[quantity], strict=True)):
        error = np.linalg.norm(np.asarray(x, float) - value) / norm
        bar = factor * BAR[dtype]
        if not error <= bar:
            yield f"{quantity}[{k}] in {dtype} is off by {error:.1e} > {bar:.0e}"


def peer_deviations(peer, answers, tool, state):
    """Yield a message for each quantity in which Pinocchio contradicts `fuzz.exact`."""
    q, qd, qdd = state
    T, Jq = peer.forward_kinematics(q, tool), peer.jacobian(q, tool)
    for quantity, arrays in {
        "inverse_dynamics": [peer.inverse_dynamics(q, qd, qdd)],
        "inertia_matrix": [peer.inertia_matrix(q)],
        "bias": [peer.bias(q, qd)],
        "gravity_torque": [peer.gravity_torque(q)],
        "forward_kinematics": [T[:3, :3], T[:3, 3]],
        "jacobian": [Jq[:3], Jq[3:]],
        "energy": list(peer.energy(q, qd)),
    }.items():
        for x, (value, norm, _) in zip(arrays, answers[quantity], strict=True):
            error = np.linalg.norm(x - value) / norm
            if not error <= PEER:
                yield f"Pinocchio's {quantity} is off by {error:.1e}"


def large_offsets(robot, tree):
    """Yield a message if a canonical frame is far from its parent's, relative to the arm's size."""
    size = tree.size()
    largest = max(abs(x) for row in robot.dh for x in (row.b, row.a, row.d))
    if largest > LARGEST_OFFSET * size + 1e-12 * extent(tree, np.zeros(robot.nv)):
        yield f"an offset is {largest:.2g} m, the joints are {size:.2g} m apart in all"


def extent(tree, q):
    """The size of a robot: distances between joints, the farthest centre of mass, and strokes."""
    slides = sum(abs(q[i]) for i, joint in tree.movers.items() if joint.kind == "prismatic")
    coms = [float(body.com @ body.com) ** 0.5 for body in tree.bodies.values()]
    return tree.size() + max(coms) + slides


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def numeric(x):
    return np.asarray(x, float)
