"""Every formulation against the definition, and the laws that tie the quantities together."""

import mpmath
import numpy as np
import pytest
import sympy
from support.cases import cases
from support.robots import (
    LARGEST,
    deviation,
    random_arm,
    random_robot,
    states,
    suited,
    value,
    with_scalars,
)

import armlet
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.graph import trace_function

TABLE = [(quantity, name) for quantity, entries in FORMULATIONS.items() for name in entries]
DEFINED = [(quantity, name) for quantity, name in TABLE if hasattr(definition, quantity)]
EXACT = [entry for entry in DEFINED if not FORMULATIONS[entry[0]][entry[1]].traced]
SEEDS = cases(range(4), long=range(4, 16))


def arguments(quantity, robot, seed=0):
    state = dict(zip(("q", "qd", "qdd"), states(robot, seed=seed), strict=True))
    state["tau"] = state["qdd"]
    return [state[name] for name in QUANTITIES[quantity].arguments]


def flat(result):
    """All entries of a result, of one output or of several, in a row."""
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=object)) for y in outputs])


def by_definition(robot, quantity, state):
    return flat(getattr(definition, quantity)(robot, *state))


def directly(robot, quantity, name, state):
    """A formulation on plain scalars, without a trace."""
    return flat(FORMULATIONS[quantity][name].function(robot, *state))


def state_by_state(function, batch):
    return [flat(function(*state)) for state in zip(*batch, strict=True)]


def tolerance(robot, quantity, q, base=1e-10):
    """Relative to the norm, times the condition of H where that is inverted."""
    if QUANTITIES[quantity].inverts != "inertia_matrix":
        return base
    return base * max(np.linalg.cond(H) for H in value(robot, "inertia_matrix", q))


@pytest.fixture(params=range(12))
def robot(request, tmp_path):
    return random_robot(tmp_path, request.param, 2 + request.param, drives=True)[0]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("quantity", "name"), DEFINED)
def test_it_is_what_the_definition_says(tmp_path, quantity, name, seed):
    formulation = FORMULATIONS[quantity][name]
    robot = suited(formulation, tmp_path, seed)
    batch = arguments(quantity, robot, seed)
    limit = tolerance(robot, quantity, batch[0])
    expected = [by_definition(robot, quantity, state) for state in zip(*batch, strict=True)]
    for minimal in (False, True):
        program = armlet.trace(robot, quantity, name, minimal=minimal)
        assert deviation(state_by_state(program.function(np), batch), expected) < limit
    if not formulation.traced:
        on_floats = [directly(robot, quantity, name, state) for state in zip(*batch, strict=True)]
        assert deviation(on_floats, expected) < limit


@pytest.mark.parametrize(("quantity", "name"), DEFINED)
def test_it_is_that_on_nearly_parallel_axes_too(quantity, name):
    formulation = FORMULATIONS[quantity][name]
    for seed in range(3):
        n = min(4, LARGEST[formulation.growth])
        robot = random_arm(seed, n, formulation.joints, special=0.9, disturbance=1e-5)
        state = [rows[0] for rows in arguments(quantity, robot, seed)]
        found = flat(armlet.trace(robot, quantity, name).function(np)(*state))
        limit = tolerance(robot, quantity, np.atleast_2d(state[0]))
        assert deviation(found, by_definition(robot, quantity, state)) < limit


@pytest.mark.parametrize("seeds", cases([range(3)], long=[range(3, 10)]), ids=str)
@pytest.mark.parametrize(("quantity", "name"), EXACT)
def test_at_fifty_digits_all_formulations_are_the_definition(quantity, name, seeds):
    """On arms of six joints; floats stay within what those digits say."""
    for seed in seeds:
        robot = random_arm(seed, 6, FORMULATIONS[quantity][name].joints)
        state = [rows[0] for rows in arguments(quantity, robot, seed)]
        with mpmath.workdps(50):
            precise = with_scalars(robot, mpmath.mpf)
            exactly = [np.array([mpmath.mpf(x) for x in row]) for row in state]
            found = directly(precise, quantity, name, exactly)
            expected = by_definition(precise, quantity, exactly)
            errors = [abs(x) for x in found - expected]
            assert max(errors) < mpmath.mpf("1e-40") * max(1, *(abs(x) for x in expected))
        rounded = directly(with_scalars(robot, float), quantity, name, state)
        q = np.atleast_2d(state[0])
        assert deviation(rounded, expected) < tolerance(robot, quantity, q, 1e-10)


@pytest.mark.parametrize(("quantity", "name"), TABLE)
def test_symbols_give_the_same_formulas(quantity, name):
    robot = random_arm(4, 2, FORMULATIONS[quantity][name].joints)
    program = armlet.trace(robot, quantity, name)
    symbols = [sympy.symbols(f"{x}:{robot.nv}") for x in QUANTITIES[quantity].arguments]
    state = [rows[0] for rows in arguments(quantity, robot)]
    values = dict(zip(np.ravel(symbols), np.ravel(state), strict=True))
    formulas = flat(program.function(sympy)(*symbols))
    found = [float(sympy.sympify(y).evalf(subs=values)) for y in formulas]
    assert deviation(found, flat(program.function(np)(*state))) < 1e-12


@pytest.mark.parametrize(("quantity", "name"), TABLE)
def test_a_formulation_refuses_what_it_does_not_hold_for(tmp_path, quantity, name):
    formulation = FORMULATIONS[quantity][name]
    robots = {"tree": random_robot(tmp_path, 3, 6)[0], "P": random_arm(2, 3)}
    for word, robot in robots.items():
        if word == formulation.topology or (word == "P" and "P" in formulation.joints):
            armlet.trace(robot, quantity, name)
        else:
            with pytest.raises(armlet.ModelError, match=f"formulation '{name}' holds for"):
                armlet.trace(robot, quantity, name)


def test_the_inertia_matrix_is_symmetric_and_positive(robot):
    H = value(robot, "inertia_matrix", states(robot)[0])
    assert np.array_equal(H, H.swapaxes(-1, -2))
    assert np.linalg.eigvalsh(H).min() > 0


def test_inverse_dynamics_is_affine_in_the_acceleration_with_slope_inertia(robot):
    q, qd, qdd = states(robot)
    expected = np.einsum("kij,kj->ki", value(robot, "inertia_matrix", q), qdd) + value(
        robot, "bias", q, qd
    )
    assert deviation(value(robot, "inverse_dynamics", q, qd, qdd), expected) < 1e-12


def test_the_kinetic_energy_is_the_quadratic_form_of_the_inertia_matrix(robot):
    q, qd, _ = states(robot)
    kinetic, _ = value(robot, "energy", q, qd)
    form = np.einsum("ki,kij,kj->k", qd, value(robot, "inertia_matrix", q), qd) / 2
    assert deviation(kinetic, form) < 1e-12


def test_gravity_is_the_gradient_of_the_potential(robot):
    q, qd, _ = states(robot)
    _, gradient = armlet.trace(robot, "energy").derivative("q").function(np)(q, 0 * qd)
    assert deviation(value(robot, "gravity_torque", q), gradient) < 1e-12


def test_the_power_of_the_torques_is_the_rate_of_the_energy(robot):
    q, qd, qdd = states(robot)
    energy = armlet.trace(robot, "energy")
    by_q, by_qd = (energy.derivative(x, "reverse").function(np)(q, qd) for x in ("q", "qd"))
    rate = sum((dq * qd).sum(-1) + (dqd * qdd).sum(-1) for dq, dqd in zip(by_q, by_qd, strict=True))
    assert deviation((value(robot, "inverse_dynamics", q, qd, qdd) * qd).sum(-1), rate) < 1e-11


def test_the_slopes_of_inverse_dynamics_are_inertia_and_both_modes_agree(tmp_path):
    robot, _ = random_robot(tmp_path, 5, 5)
    q, qd, qdd = states(robot)
    program = armlet.trace(robot, "inverse_dynamics")
    derivatives = program.derivative("qdd").function(np)(q, qd, qdd)
    assert deviation(derivatives, value(robot, "inertia_matrix", q)) < 1e-12
    forward, reverse = (
        program.derivative("q", mode).function(np)(q, qd, qdd) for mode in ("forward", "reverse")
    )
    assert deviation(reverse, forward) < 1e-12
    h = 1e-6
    differences = np.stack(
        [
            (
                value(robot, "inverse_dynamics", q + dq, qd, qdd)
                - value(robot, "inverse_dynamics", q - dq, qd, qdd)
            )
            / (2 * h)
            for dq in h * np.eye(robot.nv)
        ],
        -1,
    )
    assert deviation(forward, differences) < 1e-7


def test_torques_are_linear_in_the_inertial_parameters(robot):
    q, qd, qdd = states(robot)
    arm = robot.without_drives()
    program = armlet.trace(arm, "inverse_dynamics", constants={"inertia": "argument"})
    assert program.inputs["inertia"] == ("inertia", (arm.nb, 10), "once")
    function = program.function(np)
    phi = np.broadcast_to(arm.phi, (len(q), arm.nb, 10))
    other = np.random.default_rng(1).normal(size=phi.shape)
    mixed = 2 * function(q, qd, qdd, phi) - 3 * function(q, qd, qdd, other)
    assert deviation(function(q, qd, qdd, 2 * phi - 3 * other), mixed) < 1e-12
    assert deviation(function(q, qd, qdd, phi), value(arm, "inverse_dynamics", q, qd, qdd)) < 1e-12


@pytest.mark.parametrize("group", ["geometry", "gravity", "drive"])
def test_constants_given_at_run_time_give_the_same(robot, group):
    q, qd, qdd = states(robot)
    program = armlet.trace(robot, "inverse_dynamics", constants={group: "argument"})
    values = np.array([*robot.constants(group).values()])
    given = np.broadcast_to(values, (len(q), len(values)))
    found = program.function(np)(q, qd, qdd, given)
    assert deviation(found, value(robot, "inverse_dynamics", q, qd, qdd)) < 1e-12


def test_the_wrench_on_the_tool_adds_the_jacobian_transpose(robot):
    q, qd, qdd = states(robot)
    wrench = np.random.default_rng(2).normal(size=(len(q), 6))
    expected = [
        definition.inverse_dynamics(robot, *state) for state in zip(q, qd, qdd, wrench, strict=True)
    ]
    assert deviation(value(robot, "inverse_dynamics", q, qd, qdd, wrench), expected) < 1e-12


def test_any_leading_axes_go_in_and_come_out(robot):
    q, qd, qdd = states(robot)
    n = robot.nv
    one = value(robot, "inverse_dynamics", q[0], qd[0], qdd[0])
    many = value(robot, "inverse_dynamics", *(x.reshape(3, 1, n) for x in (q, qd, qdd)))
    none = value(robot, "inertia_matrix", np.zeros((0, n)))
    assert one.shape == (n,)
    assert many.shape == (3, 1, n)
    assert none.shape == (0, n, n)
    assert deviation(many[0, 0], one) < 1e-14
    assert value(robot, "energy", q[0], qd[0])[0].shape == ()


def test_a_formulation_is_recorded_the_same_each_time(tmp_path):
    robot, _ = random_robot(tmp_path, 1, 4)
    first, second = (armlet.trace(robot, "inverse_dynamics") for _ in range(2))
    assert [repr(node) for node in first.nodes] == [repr(node) for node in second.nodes]


def test_what_a_trace_returns_can_be_traced_by_hand(tmp_path):
    robot, _ = random_robot(tmp_path, 1, 3)
    function = FORMULATIONS["inertia_matrix"]["composite_bodies"].function
    program = trace_function("H", lambda graph, q: function(robot, q), {"q": (3,)})
    q = states(robot)[0]
    assert deviation(program.function(np)(q), value(robot, "inertia_matrix", q)) < 1e-12


# ------------------------------------------------------------------ how frames and masses move


def test_velocities_and_accelerations_are_those_of_the_jacobian(robot):
    q, qd, qdd = states(robot)
    for frame in (robot.links[0], robot.tool):
        Jq = value(robot, "jacobian", q, frame=frame)
        rate = value(robot, "jacobian_rate", q, qd, frame=frame)
        bias = np.einsum("kij,kj->ki", rate, qd)
        assert deviation(value(robot, "frame_acceleration_bias", q, qd, frame=frame), bias) < 1e-10
        v = np.einsum("kij,kj->ki", Jq, qd)
        assert deviation(value(robot, "frame_velocity", q, qd, frame=frame), v) < 1e-10
        a = bias + np.einsum("kij,kj->ki", Jq, qdd)
        assert deviation(value(robot, "frame_acceleration", q, qd, qdd, frame=frame), a) < 1e-10


def test_the_centre_of_mass_moves_with_the_momentum(robot):
    q, qd, _ = states(robot)
    step = 1e-6
    moved = [value(robot, "centre_of_mass", q + x * qd) for x in (step, -step)]
    Jc = value(robot, "centre_of_mass_jacobian", q)
    v = np.einsum("kij,kj->ki", Jc, qd)
    assert deviation((moved[0] - moved[1]) / (2 * step), v) < 1e-7
    p = value(robot, "momentum", q, qd)[..., 3:]
    assert deviation(float(sum(robot.m)) * v, p) < 1e-10


def test_the_inverse_inertia_matrix_undoes_the_inertia_matrix(robot):
    q = states(robot)[0]
    H, inverse = value(robot, "inertia_matrix", q), value(robot, "inverse_inertia_matrix", q)
    limit = 1e-12 * max(map(np.linalg.cond, H))
    assert np.abs(H @ inverse - np.eye(robot.nv)).max() < limit
    assert np.array_equal(inverse, inverse.swapaxes(-1, -2))


def test_poses_are_those_of_every_frame(robot):
    q = states(robot)[0]
    every = value(robot, "poses", q)
    for k, frame in enumerate(robot.frames):
        expected = value(robot, "forward_kinematics", q, frame=frame)
        assert deviation(every[:, k], expected) < 1e-12
    some = robot.poses(q, [robot.tool, robot.links[0]])
    assert deviation(some[:, 0], value(robot, "forward_kinematics", q)) < 1e-12
    assert some.shape == (len(q), 2, 4, 4)
