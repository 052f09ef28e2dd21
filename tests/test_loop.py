"""Loops around programs: what is carried, what changes with every step, what is recorded."""

import numpy as np
import pytest
from support.kernels import same_bits

import armlet
from armlet.codegen.llvm.function import Target
from armlet.errors import DataError
from armlet.graph import Input, Loop, trace_function
from armlet.runtime import Kernel
from armlet.runtime.loop_kernel import LoopKernel
from armlet.scalar import sin


def run(loop, target, arrays, steps, every=1):
    """The outputs of one run of a loop, those recorded with their rows."""
    arrays = [np.asarray(x, target.dtype) for x in arrays]
    kernel = LoopKernel(loop, target=target)
    inputs = loop.body.inputs.values()
    given = [
        x if x.ndim == len(kernel.shape(i, 1, steps)) else np.expand_dims(x, x.ndim - len(i.shape))
        for i, x in zip(inputs, arrays, strict=True)
    ]
    found = kernel(*given, runs=1, steps=steps, every=every)
    return [y[:, 0] if k in loop.recorded else y[0] for k, y in enumerate(found)]


every_target = pytest.mark.parametrize(
    "target", [Target(fuses=fuses) for fuses in (True, False)], ids=["fused", "unfused"]
)


def test_the_logistic_map_is_that_of_python():
    def step(graph, x, r):
        return np.array([r[0] * x[0] * (1 - x[0])])

    body = trace_function("logistic", step, [Input("x", (1,)), Input("r", (1,), "once")])
    loop = Loop(body, carried={0: "x"}, recorded=[0])
    (found,) = run(loop, Target(fuses=False), ([0.3], [3.9]), 1000)
    x, r = 0.3, 3.9
    for row in found.tolist():
        x = r * x * (1 - x)
        assert row == [x]


def pendulum(graph, q, qd, tau, p):
    """A step of semi-implicit Euler with gravity p[0], damping p[1] and step p[2]."""
    h = p[2] * p[2] / p[2]
    qd = qd + h * (tau - p[0] * np.array([sin(q[0])], dtype=object) - p[1] * qd)
    return q + h * qd, qd, np.array(qd[0] * qd[0])


PENDULUM = trace_function(
    "pendulum",
    pendulum,
    [Input("q", (1,)), Input("qd", (1,)), Input("tau", (1,)), Input("p", (3,), "once")],
)
P = np.array([9.81, 0.1, 0.01])


@every_target
@pytest.mark.parametrize("every", [1, 3, 50, 1000])
@pytest.mark.parametrize("steps", [1, 2, 200])
def test_a_pendulum_swings_as_step_by_step(target, every, steps):
    loop = Loop(PENDULUM, carried={0: "q", 1: "qd"}, recorded=[0])
    tau = np.random.default_rng(0).normal(size=(steps, 1))
    rows, speed, energy = run(loop, target, ([1.2], [0.0], tau, P), steps, every)
    kernel = Kernel(PENDULUM, target=target)
    q, qd, expected = np.array([1.2]), np.zeros(1), []
    for k in range(steps):
        q, qd, last = kernel(q, qd, tau[k], P)
        expected.append(q)
    same_bits(speed, qd)
    same_bits(energy, last)
    same_bits(rows, np.array([*expected[every - 1 : steps - 1 : every], expected[-1]]))


@every_target
def test_sums_over_rows_are_carried(target):
    def add(graph, S, a):
        return S + np.outer(a, a)

    loop = Loop(trace_function("sum", add, {"S": (3, 3), "a": (3,)}), carried={0: "S"})
    a = np.random.default_rng(1).normal(size=(500, 3))
    (found,) = run(loop, target, (np.eye(3), a), 500)
    np.testing.assert_allclose(found, np.eye(3) + a.T @ a, rtol=1e-13)


@every_target
def test_values_may_change_places(target):
    def fibonacci(graph, a, b):
        return b, a + b

    loop = Loop(trace_function("f", fibonacci, {"a": (), "b": ()}), {0: "a", 1: "b"}, [0])
    numbers, following = run(loop, target, (0.0, 1.0), 10)
    assert numbers.tolist() == [1, 1, 2, 3, 5, 8, 13, 21, 34, 55]
    assert following == 89


def test_rows_come_again_after_a_period():
    body = trace_function("f", lambda graph, S, x: S + x, {"S": (1,), "x": (1,)})
    loop = Loop(body, {0: "S"}, [0], period=3)
    (found,) = run(loop, Target(), ([0], [[1], [10], [100]]), 7)
    assert found.ravel().tolist() == [223, 122, 222]


def test_a_robot_is_simulated_in_a_loop(arms):
    robot = arms["panda"]
    forward = armlet.trace(robot, "forward_dynamics")

    def step(graph, q, qd, tau):
        values = forward.replay(
            lambda op, *args: (
                {"q": q, "qd": qd, "tau": tau}[args[0]][args[1]]
                if op == "input"
                else graph.record(op, *args)
            )
        )
        qd = qd + 1e-3 * np.array(values, dtype=object)
        return q + 1e-3 * qd, qd

    body = trace_function(
        "step", step, [Input("q", (7,)), Input("qd", (7,)), Input("tau", (7,), "once")]
    )
    target = Kernel(body).target
    q, qd, tau = np.random.default_rng(3).uniform(-1, 1, (3, 7))
    found = run(Loop(body, {0: "q", 1: "qd"}), target, (q, qd, tau), 50)
    for _ in range(50):
        qd = qd + 1e-3 * robot.forward_dynamics(q, qd, tau)
        q = q + 1e-3 * qd
    np.testing.assert_allclose(found[0], q, rtol=1e-11)
    np.testing.assert_allclose(found[1], qd, rtol=1e-10)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("runs", [1, 3, 8, 21, 64])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_bits_of_a_run_depend_neither_on_the_others_nor_on_threads(dtype, runs, threads):
    """Also where the steps are done in several blocks, and rows stand for many steps."""
    rates = {"q": "state", "qd": "state", "tau": "state", "p": "run"}
    inputs = [Input(x.name, x.shape, rates[x.name]) for x in PENDULUM.inputs.values()]
    body = trace_function("pendulum", pendulum, inputs)
    kernel = LoopKernel(Loop(body, {0: "q", 1: "qd"}, [0, 2]), dtype)
    rng, steps = np.random.default_rng(4), 200
    q, qd, tau = rng.normal(size=(runs, 1)), np.zeros((runs, 1)), rng.normal(size=(steps, runs, 1))
    p = P * rng.uniform(0.9, 1.1, (runs, 3))
    found = kernel(q, qd, tau, p, runs=runs, steps=steps, every=7, threads=threads)
    for k in range(runs):
        alone = kernel(q[[k]], qd[[k]], tau[:, [k]], p[[k]], runs=1, steps=steps, every=7)
        same_bits(found[0][:, k], alone[0][:, 0])
        same_bits(found[1][k], alone[1][0])
        same_bits(found[2][:, k], alone[2][:, 0])


def test_steps_done_in_blocks_are_the_same(monkeypatch):
    kernel = LoopKernel(Loop(PENDULUM, {0: "q", 1: "qd"}, [0]))
    tau = np.random.default_rng(0).normal(size=(100, 9, 1))
    q = np.random.default_rng(1).normal(size=(9, 1))
    whole = kernel(q, 0 * q, tau, P, runs=9, steps=100, every=3)
    monkeypatch.setattr("armlet.runtime.cpu.LOOP_BLOCK", 7 * len(kernel.code.operations))
    q_before, results = q.copy(), kernel.empty_results(9, 100, 3)
    seen = [*kernel.run_blocks((q, 0 * q, tau, P), results, 9, range(100), 3)]
    assert seen == [*range(7, 99, 7), 100]
    for x, y in zip(whole, kernel.outputs(results), strict=True):
        same_bits(x, y)
    assert np.array_equal(q, q_before)


def test_inputs_may_change_with_every_step_for_all_runs():
    body = trace_function(
        "f", lambda graph, S, x: S + x, [Input("S", (2,)), Input("x", (2,), "step")]
    )
    kernel = LoopKernel(Loop(body, {0: "S"}))
    x = np.arange(20.0).reshape(10, 2)
    (found,) = kernel(np.ones((9, 2)), x, runs=9, steps=10)
    assert np.array_equal(found, 1 + np.tile(x.sum(0), (9, 1)))
    with pytest.raises(DataError, match=r"x has shape \(9, 2\): expected \(10, 2\)"):
        kernel(np.ones((9, 2)), x[1:], runs=9, steps=10)


@every_target
@pytest.mark.parametrize("every", [1, 2, 5])
def test_a_step_may_have_stages(target, every):
    """Of each step two stages, with numbers of their own; inputs and rows are those of steps."""

    def stage(graph, x, u, row):
        return row[0] * x + row[1] * u

    inputs = [Input("x", (1,)), Input("u", (1,), "step"), Input("row", (2,), "stage")]
    loop = Loop(trace_function("stage", stage, inputs), {0: "x"}, [0], stages=2)
    rows, u = np.array([[0.5, 1.0], [2.0, 3.0]]), np.arange(1.0, 8.0)[:, None]
    kernel = LoopKernel(loop, target=target)
    (found,) = kernel(np.ones((9, 1)), u, rows, runs=9, steps=7, every=every)
    x, expected = 1.0, []
    for value in u[:, 0]:
        for a, b in rows:
            x = a * x + b * value
        expected.append(x)
    kept = [*range(every - 1, 6, every), 6]
    np.testing.assert_allclose(found[:, 4, 0], np.array(expected)[kept], rtol=1e-15)
