"""Derivatives of roll-outs: forward and reverse agree with each other and with differences."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from support.kernels import same_bits

import armlet
from armlet.errors import DataError
from armlet.graph import Input, Loop, trace_function
from armlet.runtime.loop_kernel import LoopKernel
from armlet.scalar import sin

INTEGRATORS = [name for name, method in armlet.INTEGRATORS.items() if not method.memory]
RUNS, STEPS = 3, 12


@pytest.fixture(scope="module")
def arm():
    return armlet.load("planar2r")


@pytest.fixture(scope="module")
def cost(arm):
    @armlet.function(arm, goal=arm.nq)
    def cost(q, qd, t, goal):
        return ((q - goal) ** 2).sum() + (0.1 + t) * (qd**2).sum()

    return cost


def given(arm, per_run=True):
    """Starts, torques, inertias and a goal, for every run or for all."""
    rng = np.random.default_rng(0)
    runs = (RUNS,) if per_run else ()
    return {
        "q0": rng.normal(size=(RUNS, arm.nv)),
        "qd0": rng.normal(size=(RUNS, arm.nv)),
        "torque": rng.normal(size=(STEPS, *runs, arm.nv)),
        "inertia": arm.phi * rng.uniform(0.9, 1.1, (*runs, arm.nb, 1)),
        "goal": rng.normal(size=(*runs, arm.nv)),
    }


def rolled_out(arm, cost, x, method="rk4", **options):
    goal = {"goal": x["goal"]} if cost is not None else {}
    return armlet.rollout(
        armlet.Plant(arm, friction=False, inertia=x["inertia"]),
        x["q0"],
        x["qd0"],
        x["torque"],
        arguments=goal,
        dt=0.02,
        steps=STEPS,
        method=method,
        reduce=cost,
        **options,
    )


@pytest.mark.parametrize("per_run", [True, False], ids=["for every run", "for all runs"])
@pytest.mark.parametrize("method", INTEGRATORS)
def test_forward_reverse_and_central_differences_agree(arm, cost, method, per_run):
    x = given(arm, per_run)
    rng = np.random.default_rng(1)
    tangents = {name: rng.normal(size=value.shape) for name, value in x.items()}
    found = rolled_out(arm, cost, x, method, wrt=[*x])
    forward = rolled_out(arm, cost, x, method, wrt=tangents)
    same_bits(found.cost, forward.cost)
    back = sum((found.gradient[name] * tangents[name]).sum() for name in x)
    assert back == pytest.approx(forward.tangents.cost.sum(), rel=1e-12)
    h = 1e-5
    more, less = (
        rolled_out(arm, cost, {name: x[name] + s * h * tangents[name] for name in x}, method)
        for s in (1, -1)
    )
    differences = (more.cost - less.cost) / (2 * h)
    np.testing.assert_allclose(forward.tangents.cost, differences, rtol=1e-6)
    for name, value in x.items():
        assert found.gradient[name].shape == value.shape


def test_derivatives_with_friction_and_stops_agree_with_differences(arm, cost):
    """By the method that roll-outs then have by default."""
    drives = tuple(x._replace(viscous=0.2, coulomb=2.0) for x in arm.drives)
    joints = tuple(x._replace(limits=x.limits._replace(lower=-0.5, upper=0.5)) for x in arm.joints)
    plant = armlet.Plant(replace(arm, drives=drives, joints=joints), stops=True)
    rng = np.random.default_rng(5)
    x = {
        "q0": rng.uniform(-0.5, 0.5, (RUNS, 2)),
        "qd0": 3 * rng.normal(size=(RUNS, 2)),
        "torque": 20 * rng.normal(size=(STEPS, RUNS, 2)),
    }
    tangents = {name: rng.normal(size=value.shape) for name, value in x.items()}

    def cost_of(x, **options):
        return armlet.rollout(
            plant,
            *x.values(),
            dt=0.01,
            steps=STEPS,
            reduce=cost,
            arguments={"goal": [0.1, 0.2]},
            **options,
        )

    forward = cost_of(x, wrt=tangents)
    gradient = cost_of(x, wrt=[*x]).gradient
    back = sum((gradient[name] * tangents[name]).sum() for name in x)
    assert back == pytest.approx(forward.tangents.cost.sum(), rel=1e-9)
    h = 1e-7
    more, less = (
        cost_of({name: x[name] + s * h * tangents[name] for name in x}).cost for s in (1, -1)
    )
    np.testing.assert_allclose(forward.tangents.cost, (more - less) / (2 * h), rtol=1e-4, atol=1e-4)


def test_every_row_has_its_derivatives(arm):
    x = given(arm)
    x.pop("goal")
    tangents = {"inertia": np.random.default_rng(2).normal(size=x["inertia"].shape)}
    found = rolled_out(arm, None, x, every=5, wrt=tangents)
    h = 1e-5
    moved = [
        rolled_out(arm, None, x | {"inertia": x["inertia"] + s * h * tangents["inertia"]}, every=5)
        for s in (1, -1)
    ]
    assert found.tangents.q.shape == (3, RUNS, arm.nv)
    for name in ("q", "qd"):
        differences = (getattr(moved[0], name) - getattr(moved[1], name)) / (2 * h)
        slopes = getattr(found.tangents, name)
        np.testing.assert_allclose(slopes, differences, atol=1e-6 * np.abs(slopes).max())


def test_long_runs_go_back_in_pieces(arm, cost, monkeypatch):
    x = given(arm)
    names = ["q0", "torque", "inertia"]
    whole = rolled_out(arm, cost, x, wrt=names)
    monkeypatch.setattr(sys.modules["armlet.simulation.rollout"], "MEMORY", 0)
    pieces = rolled_out(arm, cost, x, wrt=names)
    same_bits(pieces.cost, whole.cost)
    for name in names:
        same_bits(pieces.gradient[name], whole.gradient[name])


def test_a_controller_s_gains_have_a_gradient(arm, cost):
    @armlet.function(arm, gains=2, goal=arm.nq)
    def pull(q, qd, gains, goal):
        return gains[0] * (goal - q) - gains[1] * qd

    q0, gains = np.random.default_rng(0).normal(size=(RUNS, 2)), np.array([3.0, 0.5])

    def total(gains, **options):
        return armlet.rollout(
            arm,
            q0,
            torque=pull,
            reduce=cost,
            arguments={"gains": gains, "goal": np.zeros(2)},
            dt=0.02,
            steps=STEPS,
            **options,
        )

    found = total(gains, wrt=["gains"]).gradient["gains"]
    for k, h in enumerate(1e-5 * np.eye(2)):
        expected = (total(gains + h).cost - total(gains - h).cost).sum() / 2e-5
        assert found[k] == pytest.approx(expected, rel=1e-6)


def test_derivatives_of_a_loop_are_those_of_its_steps():
    """A loop with two outputs that change places, of which one is not carried."""

    def body(graph, a, b, x, p):
        return b, a * p + np.array([sin(x[0] * b[0])], dtype=object), a * a

    inputs = [Input("a", (1,)), Input("b", (1,)), Input("x", (1,)), Input("p", (1,), "run")]
    loop = Loop(trace_function("f", body, inputs), {0: "a", 1: "b"}, [0])
    rng = np.random.default_rng(0)
    a, b, p, da, db, dp, wa, wb = rng.normal(size=(8, 5, 1))
    x, dx = rng.normal(size=(2, 4, 5, 1))
    ways = {"runs": 5, "steps": 4}
    given = (a, b, x, p)
    rows, _, _, d_rows, d_ends, _ = LoopKernel(loop.jvp(["x", "p"]))(*given, da, db, dx, dp, **ways)
    kernel = LoopKernel(loop)
    same_bits(rows, kernel(*given, **ways)[0])
    h = 1e-6
    more, less = (kernel(a + s * da, b + s * db, x + s * dx, p + s * dp, **ways) for s in (h, -h))
    np.testing.assert_allclose(d_rows, (more[0] - less[0]) / (2 * h), rtol=1e-6, atol=1e-8)

    reverse = LoopKernel(loop.vjp(["x", "p"]))
    seconds = [kernel(a, b, x[:k], p, runs=5, steps=k)[1] for k in (1, 2, 3)]
    known = {"a": np.stack([a, *rows[:-1]]), "b": np.stack([b, *seconds]), "x": x}
    again = {"p": p} | {name: values[::-1] for name, values in known.items()}
    names = [name for name in reverse.loop.body.inputs if name in again]
    by_a, by_b, by_x, by_p = reverse(*(again[name] for name in names), wa, wb, 0 * p, **ways)
    back = (by_a * da + by_b * db + by_p * dp).sum() + (by_x[::-1] * dx).sum()
    assert back == pytest.approx((wa * d_rows[-1] + wb * d_ends).sum(), rel=1e-12)


WRONG = {
    "name": ({"wrt": ["q"]}, "wrt has 'q': expected names of q0, qd0, torque, in"),
    "text": ({"wrt": "q0"}, "wrt is 'q0': expected a list of names"),
    "shape": (
        {"wrt": {"torque": [0, 0]}},
        r"tangent of torque has shape \(2,\): expected that",
    ),
    "memory": ({"wrt": ["q0"], "method": "adams_bashforth4"}, "bashforth4 has no derivatives"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_derivatives_that_make_no_sense_are_refused(arm, cost, options, message):
    with pytest.raises(DataError, match=message):
        rolled_out(arm, cost, given(arm), **options)


def test_names_to_differentiate_by_may_be_an_array(arm, cost):
    x = given(arm)
    found, expected = (
        rolled_out(arm, cost, x, "rk4", wrt=names).gradient
        for names in (np.array(["q0", "qd0"]), ["q0", "qd0"])
    )
    assert found.keys() == expected.keys()
    same_bits(found["qd0"], expected["qd0"])


def test_a_gradient_needs_a_cost(arm):
    with pytest.raises(DataError, match="a gradient is that of a cost: expected reduce="):
        rolled_out(arm, None, given(arm), wrt=["q0"])
