"""Inputs that are given once for many states: the same bits, and no work done twice."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.expressions import INPUTS, expressions, program_of
from support.expressions import states as expression_states
from support.kernels import TARGETS, same_bits
from support.robots import states as robot_states

import armlet
from armlet.codegen.llvm.function import Target, many_states
from armlet.codegen.lower import TRIGONOMETRY, lower
from armlet.errors import DataError
from armlet.graph import Input, Program, trace_function
from armlet.runtime import Kernel
from armlet.scalar import cos, sin

GROUPS = ("geometry", "inertia", "gravity", "drive")
COUNTS = [0, 1, 2, 3, 7, 8, 9, 16, 33]


def constants(robot, group):
    if group == "inertia":
        return robot.phi.astype(float)
    return np.array([*robot.constants(group).values()], float)


def repeated(x, count):
    return np.ascontiguousarray(np.broadcast_to(x, (count, *x.shape)))


@pytest.mark.parametrize("arm", ["puma560", "stanford"])
@pytest.mark.parametrize("group", GROUPS)
def test_constants_given_once_give_the_bits_of_those_given_for_every_state(arms, arm, group):
    robot = arms[arm]
    kernel = armlet.compile(robot, "inverse_dynamics", constants={group: "argument"})
    values = constants(robot, group)
    for count in COUNTS:
        state = robot_states(robot, count)
        once = kernel(*state, values)
        same_bits(once, kernel(*state, repeated(values, count)))
        same_bits(once, kernel(*state, values, threads=3))
        for k in range(count):
            same_bits(once[k], kernel(*state[:, k], values))
    expected = armlet.trace(robot, "inverse_dynamics").function()(*state)
    assert np.abs(once - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.dtype}x{t.lanes}")
@pytest.mark.parametrize("fuses", [True, False])
def test_every_width_gives_the_bits_of_one_state(arms, target, fuses):
    robot = arms["scara"]
    program = armlet.trace(robot, "bias", constants={"geometry": "argument", "inertia": "argument"})
    kernel = Kernel(program, target=Target(target.dtype, target.lanes, fuses))
    given = [constants(robot, group).astype(target.dtype) for group in ("geometry", "inertia")]
    q, qd, _ = robot_states(robot, 21).astype(target.dtype)
    found = kernel(q, qd, *given)
    for k in range(21):
        same_bits(found[k], kernel(q[k], qd[k], *given))


def test_some_constants_may_be_given_once_and_others_for_every_state(arms):
    robot = arms["puma560"]
    groups = dict.fromkeys(("inertia", "gravity"), "argument")
    kernel = armlet.compile(robot, "inverse_dynamics", constants=groups)
    state = robot_states(robot, 12)
    phi, g = constants(robot, "inertia"), constants(robot, "gravity")
    every_phi, every_g = repeated(phi, 12) * np.linspace(1, 2, 12)[:, None, None], repeated(g, 12)
    expected = kernel(*state, every_phi, every_g)
    assert not np.array_equal(expected, kernel(*state, phi, g))
    same_bits(kernel(*state, every_phi, g), expected)
    same_bits(kernel(*state, phi, every_g), kernel(*state, phi, g))


# fmt: off
MISFITS = {
    "other rows": ((9, 10), r"inertia has leading axes \(9,\), q has \(10,\): all arrays must have "
                   "the same, or this one none, to serve all states"),
    "rows for one state": ((10, None), r"inertia has leading axes \(10,\), q has \(\)"),
}
# fmt: on


@pytest.mark.parametrize(("rows", "message"), MISFITS.values(), ids=MISFITS)
def test_constants_of_other_rows_are_refused(arms, rows, message):
    robot = arms["planar2r"]
    program = armlet.trace(robot, "bias", constants={"inertia": "argument"})
    of_phi, of_state = rows
    q = np.zeros(2) if of_state is None else np.zeros((of_state, 2))
    for function in (Kernel(program), program.function(np)):
        with pytest.raises(DataError, match=message):
            function(q, q, np.zeros((of_phi, 2, 10)))
        with pytest.raises(DataError, match=r"inertia has shape \(10, 2\): expected \(..., 2, 10"):
            function(q, q, np.zeros((10, 2)))


def test_states_are_still_not_broadcast_against_each_other(arms):
    program = armlet.trace(arms["planar2r"], "bias", constants={"inertia": "argument"})
    phi = constants(arms["planar2r"], "inertia")
    for function in (Kernel(program), program.function(np)):
        with pytest.raises(DataError, match=r"qd has leading axes \(\), q has \(5,\)"):
            function(np.zeros((5, 2)), np.zeros(2), phi)


def with_rates(program):
    """The expressions of x and y, with y given once."""
    data = program.to_dict()
    data["inputs"] = [
        [name, shape, "once" if name == "y" else "state"] for name, shape, _ in data["inputs"]
    ]
    return Program.from_dict(data)


@settings(max_examples=40, deadline=None)
@given(st.lists(expressions(4), min_size=1, max_size=6), expression_states())
def test_what_depends_on_inputs_given_once_comes_first_and_alone(trees, state):
    code = lower(with_rates(program_of(*trees)), ["y"])
    slow = set()
    for k, (op, args) in enumerate(code.operations):
        if args[0] == "y" if op == "input" else all(a in slow for a in args if isinstance(a, int)):
            slow.add(k)
    assert slow == set(range(code.start))
    plain = lower(program_of(*trees))
    assert plain.start == 0
    assert code.count() == plain.count()

    kernel = Kernel(with_rates(program_of(*trees)))
    x = np.array([state["x"] * k for k in range(1, 12)])
    found = kernel(x, state["y"])
    same_bits(found, Kernel(program_of(*trees))(x, repeated(state["y"], 11)))
    same_bits(found, kernel(x, repeated(state["y"], 11)))
    same_bits(found[4], kernel(x[4], state["y"]))


def test_the_loop_over_rows_repeats_no_work():
    def run(graph, x, a):
        return np.array([sin(a[0]) * cos(a[1]) * x[0] + a[0] / a[1], a[0] * a[0], 3, a[1]])

    program = trace_function("f", run, [Input("x", (1,)), Input("a", (2,), "once")])
    text = many_states(lower(program, ["a"]), Target(lanes=4))
    before, _, loop = text.partition("rows:")
    assert len(re.findall(r"= fmul double", before)) == 2
    assert "sincos" in before
    assert "sincos" not in loop
    assert len(re.findall(r"= fmul", loop)) == 0
    assert len(re.findall(r"@llvm.fma", loop)) == 1
    found = Kernel(program)(np.arange(5.0)[:, None], [0.5, 0.25])
    expected = program.function()(np.arange(5.0)[:, None], [0.5, 0.25])
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_lumping_is_done_before_the_loop(arms):
    robot = arms["panda"].without_drives()
    fixed, given_ = (
        lower(armlet.trace(robot, "inverse_dynamics", constants={"inertia": kind}), once)
        for kind, once in (("fixed", []), ("argument", ["inertia"]))
    )
    loop = len(given_.operations) - given_.start
    assert loop <= 1.1 * len(fixed.operations)
    assert not any(op in TRIGONOMETRY for op, _ in given_.operations[: given_.start])


def test_a_program_keeps_its_rates(arms):
    program = armlet.trace(arms["planar2r"], "inverse_dynamics", constants={"inertia": "argument"})
    assert [x.rate for x in program.inputs.values()] == ["state", "state", "state", "once"]
    assert Program.from_dict(program.to_dict()).inputs == program.inputs
    assert program.derivative("q").inputs == program.inputs


def test_plain_shapes_change_with_every_state():
    program = program_of(1.0)
    assert {x.name: x.shape for x in program.inputs.values()} == INPUTS
    assert {x.rate for x in program.inputs.values()} == {"state"}
