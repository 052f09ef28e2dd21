"""Coriolis matrices are not unique: they are held against the laws that make them one."""

import numpy as np
import pytest
from support.robots import deviation, states, suited, value

import armlet
from armlet.dynamics import FORMULATIONS
from armlet.dynamics.bias import coefficients
from armlet.graph import trace_function

TABLE = FORMULATIONS["coriolis_matrix"]
SEEDS = range(12)
CHRISTOFFEL = ["balafoutis_patel_71", "christoffel"]


def inertia_slopes(robot, q):
    """∂Hᵢⱼ/∂qₖ at each of the states: (count, n, n, n)."""
    return armlet.trace(robot, "inertia_matrix").derivative("q").function(np)(q)


def symbols(derivatives):
    """Christoffel's symbols of the first kind, ½ (∂Hᵢⱼ/∂qₖ + ∂Hᵢₖ/∂qⱼ - ∂Hⱼₖ/∂qᵢ) at [i, j, k]."""
    by = np.moveaxis(derivatives, -1, 1)
    return (derivatives + derivatives.swapaxes(-1, -2) - by) / 2


@pytest.fixture(params=[(name, seed) for name in TABLE for seed in SEEDS], ids=str)
def case(request, tmp_path):
    """A formulation's name, a robot it holds for, its states and C by a trace at each of them."""
    name, seed = request.param
    robot = suited(TABLE[name], tmp_path, seed, largest=8)
    q, qd, _ = states(robot, seed=seed)
    C = armlet.trace(robot, "coriolis_matrix", name).function(np)(q, qd)
    return name, robot, q, qd, C


def test_it_makes_the_bias_with_gravity(case):
    _, robot, q, qd, C = case
    found = np.einsum("sij,sj->si", C, qd) + value(robot, "gravity_torque", q)
    assert deviation(found, value(robot, "bias", q, qd)) < 1e-10


def test_the_rate_of_the_inertia_matrix_less_twice_it_is_skew(case):
    _, robot, q, qd, C = case
    S = np.einsum("sijk,sk->sij", inertia_slopes(robot, q), qd) - 2 * C
    assert np.abs(S + S.swapaxes(-1, -2)).max() < 1e-10 * max(1e-3, np.abs(C).max())


def test_plain_numbers_give_the_same(case):
    name, robot, q, qd, C = case
    assert deviation(TABLE[name].function(robot, q[0], qd[0]), C[0]) < 1e-12


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", CHRISTOFFEL)
def test_christoffels_is_made_of_the_slopes_of_the_inertia_matrix(tmp_path, name, seed):
    robot = suited(TABLE[name], tmp_path, seed, largest=8)
    q, qd, _ = states(robot, seed=seed)
    C = armlet.trace(robot, "coriolis_matrix", name).function(np)(q, qd)
    expected = np.einsum("sijk,sk->sij", symbols(inertia_slopes(robot, q)), qd)
    assert deviation(C, expected) < 1e-10


@pytest.mark.parametrize("seed", SEEDS)
def test_lins_coefficients_are_christoffels_symbols(tmp_path, seed):
    robot = suited(TABLE["christoffel"], tmp_path, seed, largest=8)
    q = states(robot, seed=seed)[0]
    program = trace_function("D", lambda graph, q: coefficients(robot, q), {"q": (robot.nv,)})
    assert deviation(program.function(np)(q), symbols(inertia_slopes(robot, q))) < 1e-10


def test_lins_coefficients_have_their_symmetries(tmp_path):
    robot = suited(TABLE["christoffel"], tmp_path, 6)
    D = coefficients(robot, states(robot)[0][0]).astype(float)
    assert np.array_equal(D, D.swapaxes(1, 2))
    for m in range(robot.nv):
        for j in range(robot.nv):
            for k in range(min(m, j) + 1):
                assert D[j, k, m] == -D[m, k, j]
    assert not any(D[j, k, j] for j in range(robot.nv) for k in range(j + 1))


def test_a_robot_has_it_by_name(arms):
    robot = arms["puma560"]
    q, qd, _ = states(robot)
    b = np.einsum("sij,sj->si", value(robot, "coriolis_matrix", q, qd), qd) + value(
        robot, "gravity_torque", q
    )
    assert deviation(b, value(robot, "bias", q, qd)) < 1e-12
