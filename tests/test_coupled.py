"""Coupled joints: robots of which one coordinate moves several joints.

On 20 random trees, with `pytest -m long` on 180 more.
"""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from support.cases import cases
from support.coupled import GRIPPER, by_hand, compare_with_pinocchio, loaded
from support.peers import Mujoco
from support.robots import coupled_urdf, deviation, random_arm, random_urdf, states, value

import armlet
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.dynamics.coupling import PROJECTIONS
from armlet.minimal import rank
from armlet.robot import Coupling

CHUNK = 10
every_chunk = pytest.mark.parametrize("chunk", cases(range(2), long=range(2, 20)))
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(no range to move in|like a robot on legs):armlet.ModelWarning"
)


def coupled(folder, seed, joints, **options):
    """A random robot with coupled joints, K and b of its mimics, and its text."""
    text, mimics = coupled_urdf(seed, joints, **options)
    robot = loaded(folder, text).with_tool("tool")
    K, b = by_hand(robot, mimics)
    return robot, K, b, text


@pytest.fixture(scope="module")
def tied(tmp_path_factory):
    """A coupled tree of eight joints with drives, and one with three coordinates."""
    folder = tmp_path_factory.mktemp("tied")
    robot, *_ = coupled(folder, 4, 8, drives=True)
    assert robot.nv < robot.nb
    return robot


# ------------------------------------------------------------------ the same in other engines


@every_chunk
def test_random_couplings_agree_with_mujoco_by_projection(tmp_path, chunk):
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        robot, K, b, text = coupled(tmp_path, seed, 2 + seed % 19)
        free = Mujoco(text, [joint.name for joint in robot.joints], robot.gravity)
        q, qd, qdd = states(robot, 2)
        full = q @ K.T + b, qd @ K.T, qdd @ K.T
        assert deviation(robot.joint_positions(q), full[0]) < 1e-12
        tau, bias = value(robot, "inverse_dynamics", q, qd, qdd), value(robot, "bias", q, qd)
        H = value(robot, "inertia_matrix", q)
        for k, state in enumerate(zip(*full, strict=True)):
            assert deviation(tau[k], K.T @ free.inverse_dynamics(*state)) < 1e-10
            assert deviation(bias[k], K.T @ free.bias(*state[:2])) < 1e-10
            assert deviation(H[k], K.T @ free.inertia_matrix(state[0]) @ K) < 1e-10


@every_chunk
def test_random_couplings_agree_with_pinocchio(tmp_path, chunk):
    """Pinocchio takes mimics of joints that come before them and mimic none, none continuous."""
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        joints = 2 + seed % 19
        order = [*pin.buildModelFromXML(random_urdf(seed, joints)).names][1:]
        text = coupled_urdf(seed, joints, order)[0].replace('"continuous"', '"revolute"')
        compare_with_pinocchio(loaded(tmp_path, text), text, "tool")


# ------------------------------------------------------------------ every quantity


def projected(name, found, K):
    """A quantity of free joints as one of the coordinates."""
    if name in ("jacobian", "jacobian_rate", "centre_of_mass_jacobian"):
        return found @ K
    if name in ("inertia_matrix", "coriolis_matrix"):
        return K.T @ found @ K
    if name in ("inverse_dynamics", "bias", "gravity_torque", "friction_torque", "passive_torque"):
        return K.T @ found
    if name == "linearization":
        return tuple(K.T @ part @ K for part in found)
    return found


def expected(robot, K, b, name, q, qd, x):
    """A quantity of coupled joints: from the definition for free joints, K and b."""
    free, full = robot.uncoupled, {"q": K @ q + b, "qd": K @ qd, "qdd": K @ x}
    if name in PROJECTIONS:
        state = [full[argument] for argument in QUANTITIES[name].arguments]
        return projected(name, numbers(getattr(definition, name)(free, *state)), K)
    H = K.T @ numbers(definition.inertia_matrix(free, full["q"])) @ K
    H_inverse = np.linalg.inv(H)
    if name == "inverse_inertia_matrix":
        return H_inverse
    qdd = H_inverse @ (x - K.T @ numbers(definition.bias(free, full["q"], full["qd"])))
    if name == "forward_dynamics":
        return qdd
    slopes = numbers(definition.linearization(free, full["q"], full["qd"], K @ qdd))
    _, V, P = projected("linearization", slopes, K)
    by_q, by_qd = -H_inverse @ P, -H_inverse @ V
    if name == "forward_linearization":
        return by_q, by_qd, H_inverse
    n = robot.nv
    assert name == "state_space"
    A = np.block([[np.zeros((n, n)), np.eye(n)], [by_q, by_qd]])
    return A, np.vstack([np.zeros((n, n)), H_inverse])


def numbers(found):
    if isinstance(found, tuple):
        return tuple(map(numbers, found))
    return np.asarray(found, dtype=float)


SERIAL = ("cartesian_model", "cartesian_linearization")
DEFINED = [
    (quantity, name)
    for quantity, entries in FORMULATIONS.items()
    for name, entry in entries.items()
    if entry.coupled
    and quantity not in SERIAL
    and (quantity not in PROJECTIONS or hasattr(definition, quantity))
]


def suited(folder, entry, seed):
    """A random robot with coupled joints that a formulation holds for, with K and b."""
    if entry.topology == "tree" and entry.joints == "RP":
        return coupled(folder, seed, 5, drives=True)[:3]
    return coupled_arm(seed, entry.joints)


def coupled_arm(seed, kinds="RP"):
    """A serial arm of six joints with drives and four coordinates."""
    couplings = (
        Coupling(0),
        Coupling(1),
        Coupling(0, -2, 0.3),
        Coupling(3),
        Coupling(4),
        Coupling(1),
    )
    robot = replace(random_arm(seed, 6, kinds), couplings=couplings)
    mimics = {"joint3": ("joint1", -2, 0.3), "joint6": ("joint2", 1, 0)}
    return robot, *by_hand(robot, mimics)


@pytest.mark.parametrize("seed", cases([4], long=[7]))
@pytest.mark.parametrize(("quantity", "name"), DEFINED)
def test_every_formulation_of_coupled_joints_is_the_projected_definition(
    tmp_path, quantity, name, seed
):
    robot, K, b = suited(tmp_path, FORMULATIONS[quantity][name], seed)
    assert robot.nv < robot.nb
    q, qd, qdd = np.random.default_rng(seed).uniform(-1, 1, (3, robot.nv))
    state = [{"q": q, "qd": qd}.get(x, qdd) for x in QUANTITIES[quantity].arguments]
    found = armlet.trace(robot, quantity, name).function(np)(*state)
    wanted = expected(robot, K, b, quantity, q, qd, qdd)
    cond = np.linalg.cond(expected(robot, K, b, "inertia_matrix", q, qd, qdd))
    limit = 1e-10 * (cond if QUANTITIES[quantity].inverts else 1)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for y, x in pairs:
        assert deviation(y, x) < limit


@pytest.mark.parametrize("quantity", sorted(vars(definition).keys() & QUANTITIES.keys()))
def test_the_definition_of_coupled_joints_is_the_projected_one(tied, quantity):
    K, b = tied._joint_velocities(np.eye(tied.nv)).T, tied.joint_positions(np.zeros(tied.nq))
    q, qd, x = np.random.default_rng(0).uniform(-1, 1, (3, tied.nv))
    state = [{"q": q, "qd": qd}.get(name, x) for name in QUANTITIES[quantity].arguments]
    found = numbers(getattr(definition, quantity)(tied, *state))
    wanted = expected(tied, K, b, quantity, q, qd, x)
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    assert all(deviation(y, x) < 1e-9 for y, x in pairs)


@pytest.mark.parametrize("name", FORMULATIONS["coriolis_matrix"])
def test_the_coriolis_matrix_of_coupled_joints_meets_its_laws(tied, name):
    q, qd, _ = np.random.default_rng(0).uniform(-1, 1, (3, tied.nv))
    C = armlet.trace(tied, "coriolis_matrix", name).function(np)(q, qd)
    bias, gravity = value(tied, "bias", q, qd), value(tied, "gravity_torque", q)
    assert deviation(C @ qd + gravity, bias) < 1e-10
    step = 1e-6
    ends = (value(tied, "inertia_matrix", q + sign * step * qd) for sign in (1, -1))
    S = np.subtract(*ends) / (2 * step) - 2 * C
    assert np.abs(S + S.T).max() < 1e-7 * np.abs(C).max()


def test_the_cartesian_model_of_coupled_joints_gives_their_torques():
    robot, *_ = coupled_arm(8)
    frame = robot.links[-1]
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
    D, C, G = armlet.trace(robot, "cartesian_model", frame=frame).function(np)(q, qd)
    Jq = value(robot, "jacobian", q, frame=frame)
    a = value(robot, "frame_acceleration", q, qd, qdd, frame=frame)
    tau = value(robot, "inverse_dynamics", q, qd, qdd)
    assert deviation(Jq.T @ (D @ a + C + G), tau) < 1e-8
    Dx, *_ = armlet.trace(robot, "cartesian_linearization", frame=frame).function(np)(q, qd, qdd)
    assert deviation(Dx @ Jq, value(robot, "inertia_matrix", q)) < 1e-8


def test_every_quantity_says_how_it_goes_with_coupled_joints():
    for quantity, entries in FORMULATIONS.items():
        assert any(entry.coupled for entry in entries.values()), quantity
        if quantity in PROJECTIONS:
            assert all(entry.coupled for entry in entries.values()), quantity


@pytest.mark.parametrize("name", ["featherstone", "saha", "rodriguez_kreutz", "angeles_ma"])
def test_formulations_of_free_joints_refuse_coupled_ones_when_named(tied, name):
    with pytest.raises(armlet.ModelError, match=f"formulation '{name}' holds for joints that move"):
        armlet.trace(tied, "forward_dynamics", name)
    with pytest.raises(armlet.ModelError, match=f"formulation '{name}' holds for joints that move"):
        armlet.trace(tied, "state_space", "implicit", forward_dynamics=name)


def test_the_search_finds_the_same_values_with_fewer_operations(tied):
    q, qd, tau = states(tied, 3)
    for quantity in ("inverse_dynamics", "inertia_matrix", "forward_dynamics"):
        state = (q, qd, tau)[: len(QUANTITIES[quantity].arguments)]
        cheapest = armlet.cheapest(tied, quantity).program
        first = armlet.trace(tied, quantity, next(iter(FORMULATIONS[quantity])))
        assert cheapest.count().total < first.count().total
        assert deviation(getattr(tied, quantity)(*state), first.function(np)(*state)) < 1e-8
        assert deviation(cheapest.function(np)(*state), first.function(np)(*state)) < 1e-8


def test_whole_factors_cost_nothing(tmp_path):
    text = random_urdf(3, 4)
    for k in (2, 3):
        start = text.index("<limit", text.index(f'<joint name="joint{k}"'))
        text = f'{text[:start]}<mimic joint="joint0" multiplier="{2 * k - 5}"/>{text[start:]}'
    robot = loaded(tmp_path, text)
    assert [type(x) for x in robot.couplings[2]] == [int, int, int]
    free, tied = (
        armlet.trace(x, "inverse_dynamics", "newton_euler") for x in (robot.uncoupled, robot)
    )
    assert tied.count().M <= free.count().M


# ------------------------------------------------------------------ parameters


@pytest.mark.parametrize("options", [{}, {"rotors": True, "friction": True}], ids=str)
@pytest.mark.parametrize("kind", ["lin", "khalil_gautier", "rank"])
def test_torques_are_the_regressor_times_the_minimal_parameters(tied, kind, options):
    found = armlet.minimal_parameters(tied, kind=kind, **options)
    free = armlet.minimal_parameters(tied.uncoupled, **options)
    assert len(found) <= len(free)
    q, qd, qdd = states(tied, 40)
    Y = value_of(tied, "regressor", q, qd, qdd, parameters=found)
    robot = tied if options else tied.without_drives()
    tau = value(robot, "inverse_dynamics", q, qd, qdd)
    tau = tau + value(tied, "friction_torque", qd) if options else tau
    assert deviation(Y @ found.values, tau) < 1e-9
    assert rank(Y.reshape(-1, len(found))) == len(found)
    standard = value_of(tied, "regressor", q, qd, qdd, parameters="standard", **options)
    assert deviation(standard @ found.phi, tau) < 1e-9
    assert rank(standard.reshape(-1, len(found.standard))) == len(found)
    other = found.robot(1.1 * found.values)
    assert deviation(value(other, "bias", q, qd), 1.1 * value(tied, "bias", q, qd)) < 1e-9


def value_of(robot, quantity, *state, **options):
    return armlet.trace(robot, quantity, "unit_bodies", **options).function(np)(*state)


def test_coupled_fingers_show_fewer_parameters_than_free_ones(tmp_path):
    robot = loaded(tmp_path, GRIPPER)
    found = armlet.minimal_parameters(robot)
    assert found.expressions == {"m1*": "m1 + m2"}
    assert len(armlet.minimal_parameters(robot.uncoupled)) == 2


def test_energies_and_gravity_torques_are_regressors_times_parameters(tied):
    q, qd, _ = states(tied, 5)
    found = armlet.minimal_parameters(tied, rotors=True)
    Y = value_of(tied, "energy_regressor", q, qd, parameters=found)
    kinetic, potential = value(tied, "energy", q, qd)
    energies = Y @ found.values
    assert deviation(energies[:, 0], kinetic) < 1e-9
    assert deviation(np.diff(energies[:, 1]), np.diff(potential)) < 1e-9
    at_rest = armlet.minimal_parameters(tied, of="gravity")
    Y = value_of(tied, "gravity_regressor", q, parameters="gravity")
    assert deviation(Y @ at_rest.values, value(tied, "gravity_torque", q)) < 1e-9
    Y = value_of(tied, "gravity_regressor", q)
    phi = armlet.minimal_parameters(tied).values
    assert deviation(Y @ phi, value(tied, "gravity_torque", q)) < 1e-9
