"""Random robots: every quantity against thirty digits computed from the file, and Pinocchio.

An error is relative to the norm of the quantity, of a matrix or of the angular and the linear part
of one. Where that norm may vanish, as the torque of gravity about vertical axes does, it counts at
least a thousandth of what bodies of this mass, size and speed would make.
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
"""By how much larger the bar is where all axes are nearly parallel, and most terms of velocities
nearly vanish: angles within 1e-14 rad of a quarter turn are made exact, which changes the terms."""
PEER = 1e-9
"""How far Pinocchio may be from thirty digits: it keeps poses of the base in its sums."""
LARGEST_OFFSET = 3
"""Times the size of the arm."""
STATES = 2
COMPILED = 0.25
"""The part of robots of which a quantity is compiled too, which takes longer."""
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
"""The regressor is that of the minimal parameters, and that of all standard ones."""
LEAST = 1e-3
ZERO = 1e-12
"""What counts as zero in a minimal set (docs/minimal.md), such as the slope of a vertical axis."""


class Expected(NamedTuple):
    """An array, what to divide its error by, and what the bar is multiplied by."""

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
    told = [*large_offsets(robot, tree)]
    functions = {quantity: replayed(robot, quantity) for quantity in QUANTITIES}
    slack = NEARLY_SCARA if geometry.kind == "nearly scara" else 1
    for _ in range(STATES):
        state = random_state(rng, robot, geometry.scale)
        answers = expected(tree, robot.tool, *state, slack)
        for quantity, function in functions.items():
            told += deviations(quantity, answers, function, robot, state, "float64")
        if not geometry.far:
            peer = Pinocchio(geometry.text, robot.joint_names, (0, 0, -9.81))
            told += peer_deviations(peer, answers, robot.tool, state)
    if rng.random() < COMPILED:
        quantity, dtype = str(rng.choice(QUANTITIES)), str(rng.choice(list(BAR)))
        formulation = rng.choice([None, next(iter(armlet.formulations(named(quantity))))])
        options = OPTIONS.get(quantity, {})
        kernel = armlet.compile(robot, named(quantity), formulation, dtype=dtype, **options)
        told += [
            f"compiled ({formulation}), {line}"
            for line in deviations(quantity, answers, kernel, robot, state, dtype)
        ]
    about = f"{geometry.kind}, {robot._joint_letters}, scale {geometry.scale:.0e}, far "
    assert not told, f"{about}{geometry.far:.0e}: {'; '.join(told)}"


def random_state(rng, robot, scale):
    """q, qd, qdd that single precision holds too; prismatic joints move as far as links are long.

    The torque of the state is added by `expected`.
    """
    lengths = np.where([letter == "P" for letter in robot._joint_letters], scale, 1)
    return (rng.uniform(-2, 2, (3, robot.n)) * lengths).astype(np.float32).astype(float)


def replayed(robot, quantity):
    """A quantity by its first formulation, replayed by NumPy: nothing is searched or compiled."""
    first = next(iter(armlet.formulations(named(quantity))))
    return armlet.trace(robot, named(quantity), first, **OPTIONS.get(quantity, {})).function(np)


def named(quantity):
    """What armlet calls a quantity."""
    return quantity.partition(" ")[0]


def expected(tree, tool, q, qd, qdd, slack=1):
    """What every quantity is, as the arrays that armlet returns; all bars are times the slack."""
    tau = numeric(tree.inverse_dynamics(q, qd, qdd))
    H = numeric(tree.inertia_matrix(q))
    gravity = numeric(tree.inverse_dynamics(q, 0 * q, 0 * q))
    bias = numeric(tree.inverse_dynamics(q, qd, 0 * q))
    V, P = map(numeric, tree.linearization(q, qd, qdd))
    T, Jq = numeric(tree.forward_kinematics(q, tool)), numeric(tree.jacobian(q, tool))
    kinetic, potential = map(numeric, tree.energy(q, qd))
    size = extent(tree, q)
    mass = sum(float(body.m) for body in tree.bodies.values())
    # Forces of joints that slide and torques of those that turn are one vector.
    arms = {1.0 if joint.kind == "prismatic" else size for joint in tree.movers.values()}
    weight = LEAST * 9.81 * mass * max(arms)
    speeds = LEAST * np.linalg.norm(H) * np.abs(qd).max()
    high = 9.81 * mass * (size + np.linalg.norm(T[:3, 3]))
    # Torques that are subtracted from each other leave what the inertia is divided into.
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
    """What armlet makes of each array that is expected."""
    q, qd, qdd = state
    match quantity:
        case "inverse_dynamics" | "linearization":
            return as_tuple(evaluate(q, qd, qdd))
        case "inertia_matrix" | "gravity_torque":
            return as_tuple(evaluate(q))
        case "bias" | "energy":
            return as_tuple(evaluate(q, qd))
        case "coriolis_matrix":  # which is not unique: by the laws that make it one
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
    """What is too far from what is expected, in words."""
    arrays = found(quantity, answers, evaluate, robot, state)
    for k, (x, (value, norm, factor)) in enumerate(zip(arrays, answers[quantity], strict=True)):
        error = np.linalg.norm(np.asarray(x, float) - value) / norm
        bar = factor * BAR[dtype]
        if not error <= bar:
            yield f"{quantity}[{k}] in {dtype} is off by {error:.1e} > {bar:.0e}"


def peer_deviations(peer, answers, tool, state):
    """Where Pinocchio does not agree with the definition, which would then be in doubt."""
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
    """Whether a canonical frame is farther from its parent's than the arm is long, in words."""
    size = tree.size()
    largest = max(abs(x) for row in robot.dh for x in (row.b, row.a, row.d))
    if largest > LARGEST_OFFSET * size + 1e-12 * extent(tree, np.zeros(robot.n)):
        yield f"an offset is {largest:.2g} m, the joints are {size:.2g} m apart in all"


def extent(tree, q):
    """The sum of the distances between joints, and of the largest of a centre of mass and of q."""
    slides = sum(abs(q[i]) for i, joint in tree.movers.items() if joint.kind == "prismatic")
    coms = [float(body.com @ body.com) ** 0.5 for body in tree.bodies.values()]
    return tree.size() + max(coms) + slides


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


def numeric(x):
    return np.asarray(x, float)
