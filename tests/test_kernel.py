"""Kernels of every quantity, and what cannot be compiled."""

import math
import pickle

import numpy as np
import pytest
from support.cases import cases
from support.kernels import ONE, TEN, same_bits
from support.robots import deviation, random_robot
from support.robots import states as robot_states

import armlet
from armlet.codegen.llvm.function import Target
from armlet.errors import ArmletError, CompileError, ModelError
from armlet.graph import trace_function
from armlet.runtime import Kernel, cpu, python_call


@pytest.fixture(scope="module")
def robot(arms):
    return arms["planar3r"]


@pytest.fixture(scope="module")
def bias(robot):
    return armlet.compile(robot, "bias")


# ------------------------------------------------------------------ every quantity


CASES = {
    **{name: (name, {}) for name in armlet.QUANTITIES},
    "inverse_dynamics under a wrench": ("inverse_dynamics", {"wrench": True}),
    "jacobian of a frame": ("jacobian", {"frame": True}),
    "forward_kinematics of a frame": ("forward_kinematics", {"frame": True}),
    "inverse_dynamics with inertia given": (
        "inverse_dynamics",
        {"constants": {"inertia": "argument"}},
    ),
    "inertia_matrix with all given": (
        "inertia_matrix",
        {"constants": {"geometry": "argument", "inertia": "argument"}},
    ),
}


def program_and_arrays(robot, quantity, options):
    """A program, with random arrays of seven states, and what to divide its error by."""
    options = dict(options)
    if "frame" in options:
        options["frame"] = robot.links[robot.nb // 2]
    program = armlet.trace(robot, quantity, **options)
    rng = np.random.default_rng(robot.nv)
    given = {"inertia": robot.phi, "geometry": [*robot.constants("geometry").values()]}
    arrays = [
        np.stack([given[name]] * 7) if name in given else rng.uniform(-2, 2, (7, *x.shape))
        for name, x in program.inputs.items()
    ]
    solved = {
        **dict.fromkeys(
            ("forward_dynamics", "forward_linearization", "state_space"), "inertia_matrix"
        ),
        **dict.fromkeys(("cartesian_model", "cartesian_linearization"), "jacobian"),
    }.get(quantity)
    if solved is None:
        return program, arrays, 1
    A = armlet.trace(robot, solved).function()(arrays[0])
    return program, arrays, np.linalg.cond(A).max()


@pytest.mark.parametrize("name", cases(["scara"], long=["puma560", "panda"]))
@pytest.mark.parametrize(("quantity", "options"), CASES.values(), ids=CASES)
def test_every_quantity_is_what_its_replayed_program_gives(arms, name, quantity, options):
    if quantity.startswith("cartesian") and arms[name].nv > 6:
        with pytest.raises(ModelError, match="six at most"):
            program_and_arrays(arms[name], quantity, options)
        return
    program, arrays, scale = program_and_arrays(arms[name], quantity, options)
    expected, found = program.function()(*arrays), Kernel(program)(*arrays)
    single = Kernel(program)(*(array[-1] for array in arrays))
    if program.single:
        expected, found, single = (expected,), (found,), (single,)
    for theirs, ours, one in zip(expected, found, single, strict=True):
        assert deviation(ours, theirs) <= 1e-13 * scale
        same_bits(one, ours[-1])


def test_thirty_joints_in_a_tree_are_compiled(tmp_path):
    robot, _ = random_robot(tmp_path, 30, 30)
    state = robot_states(robot, 9)
    expected = armlet.trace(robot, "inverse_dynamics").function()(*state)
    assert deviation(robot.inverse_dynamics(*state), expected) <= 1e-13


def test_methods_take_wrenches_and_frames_by_place_and_by_name(arms):
    robot = arms["puma560"]
    q, qd, qdd = robot_states(robot)
    wrench = np.random.default_rng(0).normal(size=(3, 6))
    J, X = robot.jacobian(q), robot.forward_kinematics(q)
    in_base = np.einsum("nij,nkj->nki", X[:, :3, :3], wrench.reshape(3, 2, 3)).reshape(3, 6)
    loaded = robot.inverse_dynamics(q, qd, qdd, wrench)
    free = robot.inverse_dynamics(q, qd, qdd)
    assert deviation(loaded - free, np.einsum("nij,ni->nj", J, in_base)) <= 1e-12
    same_bits(robot.inverse_dynamics(qdd=qdd, wrench=wrench, q=q, qd=qd), loaded)
    same_bits(robot.inverse_dynamics(q, qd, qdd, wrench=None), free)
    link = robot.links[2]
    program = armlet.trace(robot, "jacobian", frame=link)
    assert deviation(robot.jacobian(q, frame=link), program.function()(q)) <= 1e-13
    same_bits(robot.jacobian(q[0], link), robot.jacobian(q, link)[0])
    same_bits(robot.jacobian(q[0], frame=robot.tool), J[0])


# ------------------------------------------------------------------ what is refused


def test_what_cannot_be_compiled_is_refused(robot):
    with pytest.raises(CompileError, match="dtype is 'float16': expected one of float64, float32"):
        armlet.compile(robot, "bias", dtype="float16")
    with pytest.raises(CompileError, match="bias has symbolic constants"):
        armlet.compile(robot, "bias", constants={"inertia": "symbolic"})
    with pytest.raises(ModelError, match="has constants without a value"):
        armlet.general_arm("RRR").bias(ONE, ONE)
    with pytest.raises(ArmletError, match="quantity is 'speed'"):
        armlet.compile(robot, "speed")


@pytest.mark.parametrize("way", [lambda k, x: k(x), lambda k, x: k(np.array([x] * 3))])
@pytest.mark.parametrize(
    ("constant", "dtype"),
    [
        (1e39, "float32"),
        (-3.5e38, "float32"),
        (math.inf, "float64"),
        (math.nan, "float64"),
        (math.nan, "float32"),
        (10**400, "float64"),
        (-(10**400), "float32"),
    ],
)
def test_constants_beyond_the_range_of_the_type_are_refused(constant, dtype, way):
    program = trace_function("f", lambda graph, x: np.array([y + constant for y in x]), {"x": (2,)})
    kernel = Kernel(program, dtype)
    with pytest.raises(CompileError, match=rf"^a constant is .*: expected a finite {dtype}$"):
        way(kernel, np.ones(2))


def test_the_largest_constants_are_taken():
    for dtype in ("float32", "float64"):
        largest = float(np.finfo(dtype).max)
        kernel = Kernel(trace_function("f", lambda graph, x, k=largest: k * x, {"x": (1,)}), dtype)
        assert kernel(np.ones(1, dtype))[0] == largest


def test_what_llvm_refuses_is_reported(bias, monkeypatch):
    nonsense = "define void @one() { nonsense }"
    monkeypatch.setattr(cpu, "one_state_texts", lambda *_: [nonsense])
    kernel = Kernel(bias.program)
    for state in (ONE, TEN):
        with pytest.raises(CompileError, match=r"^LLVM refuses the program"):
            kernel(state, state)


def test_code_without_its_function_is_reported(bias, monkeypatch):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    monkeypatch.setattr(cpu, "entry", lambda *_: "")
    with pytest.raises(CompileError, match=r"^the machine code has no function 'vectorcall'"):
        Kernel(bias.program)(ONE, ONE)


def test_where_arrays_lie_otherwise_in_memory_the_entry_is_left_out(robot, bias, monkeypatch):
    monkeypatch.setattr(python_call, "reads_arrays", lambda: False)
    kernel = armlet.compile(robot, "bias")
    same_bits(kernel(ONE, ONE), bias(ONE, ONE))
    assert not hasattr(kernel, "callee")
    same_bits(kernel(ONE.tolist(), qd=ONE), bias(ONE, ONE))


@pytest.mark.parametrize("target", [None, Target("float32", 4, False)])
def test_a_kernel_can_be_pickled_before_and_after_use(arms, target):
    kernel = Kernel(armlet.trace(arms["planar3r"], "energy"), target=target)
    fresh = pickle.loads(pickle.dumps(kernel))
    state = np.random.default_rng(0).uniform(-2, 2, (2, 20, 3)).astype(kernel.dtype)
    expected = kernel(*state), kernel(*state[:, 0])
    used = pickle.loads(pickle.dumps(kernel))
    for twin in (fresh, used, pickle.loads(pickle.dumps(used))):
        assert twin.target == kernel.target
        for ours, theirs in zip((twin(*state), twin(*state[:, 0])), expected, strict=True):
            for y, z in zip(ours, theirs, strict=True):
                same_bits(y, z)
