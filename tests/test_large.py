"""Robots of forty joints, and with `pytest -m long` of a hundred, beside Pinocchio."""

import numpy as np
import pytest
from support.cases import cases
from support.peers import Pinocchio
from support.robots import deviation, random_robot, states

import armlet
from armlet.api.programs import compile
from armlet.codegen.llvm.split import is_long
from armlet.search.cheapest import QUICK

QUANTITIES = {"inverse_dynamics": 3, "inertia_matrix": 1, "bias": 2, "gravity_torque": 1}


@pytest.fixture(scope="module", params=cases([40], long=[100]))
def large(request, tmp_path_factory):
    """A random tree, and Pinocchio's model of it."""
    robot, path = random_robot(tmp_path_factory.mktemp("large"), 0, request.param)
    return robot, Pinocchio(path.read_text(), robot.joint_names, robot.gravity)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_one_state_rows_and_threads_agree_with_pinocchio(large, quantity):
    robot, peer = large
    rows = states(robot, 33)[: QUANTITIES[quantity]]
    found = getattr(robot, quantity)(*rows)
    expected = np.array([getattr(peer, quantity)(*row) for row in zip(*rows, strict=True)])
    assert deviation(found, expected) < 1e-10
    one = getattr(robot, quantity)(*(x[0] for x in rows))
    assert one.tobytes() == found[0].tobytes()
    assert getattr(robot, quantity)(*rows, threads=2).tobytes() == found.tobytes()
    single = compile(robot, quantity, dtype="float32")
    assert deviation(single(*rows), expected) < 1e-3


def test_forward_dynamics_undoes_inverse_dynamics(large):
    robot, _ = large
    q, qd, qdd = states(robot, 33)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert deviation(robot.forward_dynamics(q, qd, tau), qdd) < 1e-6
    H, inverse = robot.inertia_matrix(q), robot.inverse_inertia_matrix(q)
    assert deviation(H @ inverse, np.broadcast_to(np.eye(robot.nv), H.shape)) < 1e-6


def test_their_programs_are_compiled_in_pieces(large):
    robot, _ = large
    assert is_long(compile(robot, "inertia_matrix").code)


def test_long_programs_of_large_robots_are_searched_briefly(large):
    """Neither rearranged nor simplified, which took from six seconds to minutes."""
    robot, _ = large
    for quantity in ("inverse_dynamics", "momentum"):
        found = armlet.cheapest(robot, quantity)
        assert found.program.count().total > QUICK
        assert [step.name for step in found.steps] == [found.formulation]


def test_motions_follow_the_definition_of_runge_and_kutta(large):
    """What a step carries takes hundreds of registers, which no cut of the code may separate."""
    robot, _ = large
    h = 1e-4
    x = np.concatenate([np.full(robot.nq, 0.1), np.zeros(robot.nv)])

    def slope(x):
        q, qd = np.split(x, 2)
        return np.concatenate([qd, robot.forward_dynamics(q, qd, np.zeros(robot.nv))])

    plant = armlet.Plant(robot, friction=False)
    run = armlet.simulate(plant, x[: robot.nq], duration=2 * h, dt=h, method="rk4")
    for _ in range(2):
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        d = slope(x + h * c)
        x = x + h / 6 * (a + 2 * b + 2 * c + d)
    assert deviation(np.concatenate([run.q[-1], run.qd[-1]]), x) < 1e-9
