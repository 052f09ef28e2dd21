"""Whatever computes goes through a backend: one written in NumPy sees every call."""

import subprocess
import sys

import numpy as np
import pytest
from support import numpy_backend

import armlet
from armlet.errors import CompileError
from armlet.graph import Input, Loop, trace_function
from armlet.runtime import backend
from armlet.runtime.loop_kernel import LoopKernel

Q, QD, QDD = np.random.default_rng(0).uniform(-1, 1, (3, 5, 6))


@pytest.fixture
def runs(monkeypatch):
    """What the NumPy backend has run, in the place of the CPU."""
    monkeypatch.setitem(backend.BACKENDS, "cpu", numpy_backend.__name__)
    monkeypatch.setattr(numpy_backend, "RUNS", [])
    return numpy_backend.RUNS


def method(robot):
    one, few = robot.inverse_dynamics(Q[0], QD[0], QDD[0]), robot.inverse_dynamics(Q, QD, QDD)
    return one, few, robot.jacobian(Q, "link2"), robot.inverse_dynamics(*Q[:3], np.ones(6))


def batch(robot):
    kernel = armlet.compile(robot, ["energy", "bias"])
    return *kernel(Q, QD), *kernel.evaluate(Q, QD, threads=2), kernel(Q[0].tolist(), qd=QD[0])[2]


def constants(robot):
    kernel = armlet.compile(robot, "bias", constants={"inertia": "argument"})
    return kernel(Q, QD, robot.phi), kernel(Q, QD, np.array([robot.phi] * 5))


def user_function(robot):
    @armlet.function(robot, gain=())
    def hold(q, qd, gain):
        return robot.gravity_torque(q) - gain * (q + qd)

    return hold(Q, QD, np.full(5, 3.0)), hold(Q[0], QD[0], gain=3.0)


def roll_out(robot, method="rk4", **options):
    @armlet.function(robot, goal=6)
    def cost(q, qd, t, goal):
        return ((q - goal) ** 2).sum() + (0.1 + t) * (qd**2).sum()

    torque = np.random.default_rng(1).normal(size=(12, 5, 6))
    more = {"reduce": cost, "arguments": {"goal": np.ones((5, 6))}, **options} if options else {}
    return armlet.rollout(
        armlet.Plant(robot, friction=False), Q, QD, torque, dt=1e-3, steps=12, method=method, **more
    )


def rows(robot):
    every = (
        roll_out(robot),
        roll_out(robot, "semi_implicit_euler"),
        roll_out(robot, "adams_bashforth4"),
    )
    return [x for runs in every for x in runs[:3]]


def gradient(robot):
    found = roll_out(robot, wrt=["q0", "torque", "goal"])
    return found.cost, *found.gradient.values()


def tangents(robot):
    found = roll_out(robot, wrt={"q0": QD, "goal": QDD})
    return found.cost, found.tangents.cost, found.tangents.q


def torch_call(robot):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    q = torch.tensor(Q, requires_grad=True)
    torque = robot.gravity_torque(q)
    (derivative,) = torch.autograd.grad(torque.square().sum(), q)
    return torque.detach().numpy(), derivative.numpy()


def jax_call(robot):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    q = jax.numpy.array(Q)
    derivative = jax.grad(lambda q: (robot.gravity_torque(q) ** 2).sum())(q)
    return np.asarray(robot.gravity_torque(q)), np.asarray(derivative)


CASES = {
    "a method": (method, [("program", 1), ("program", 5), ("program", 5), ("program", 1)]),
    "a batch": (batch, [("program", 5), ("program", 5), ("program", 1)]),
    "constants": (constants, [("program", 5)] * 2),
    "a user function": (user_function, [("program", 5), ("program", 1)]),
    "roll-outs": (rows, [("loop", 5)] * 4 + [("program", 5), ("loop", 5)] * 3 + [("loop", 5)] * 2),
    "a gradient": (gradient, [("loop", 5)] * 2 * 2),
    "tangents": (tangents, [("loop", 5)] * 2),
    "PyTorch": (torch_call, [("program", 5)] * 2),
    "JAX": (jax_call, [("program", 5)] * 3),
}


@pytest.mark.parametrize(("call", "expected"), CASES.values(), ids=CASES)
def test_a_backend_sees_every_execution(call, expected, runs, monkeypatch):
    found = call(armlet.load("puma560"))
    assert runs == expected
    monkeypatch.undo()
    for ours, theirs in zip(found, call(armlet.load("puma560")), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_a_loop_with_inputs_of_every_rate_is_that_of_the_cpu(runs, monkeypatch):
    rates = {"x": "state", "a": "state", "b": "step", "c": "run", "d": "once", "e": "stage"}
    inputs = [Input(name, (2,), rate) for name, rate in rates.items()]
    body = trace_function("f", lambda _, x, a, b, c, d, e: x + a * b - c / d + e * x, inputs)
    loop, rng = Loop(body, {0: "x"}, [0], stages=2), np.random.default_rng(0)
    leading = {"x": (3,), "a": (9, 3), "b": (9,), "c": (3,), "d": (), "e": (2,)}
    arrays = [rng.uniform(0.5, 1, (*axes, 2)) for axes in leading.values()]
    ours = LoopKernel(loop)(*arrays, runs=3, steps=9, every=4)
    monkeypatch.undo()
    theirs = LoopKernel(loop)(*arrays, runs=3, steps=9, every=4)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_a_backend_that_there_is_not_is_named(arms):
    with pytest.raises(CompileError, match="backend is 'gpu': expected one of cpu"):
        armlet.compile(arms["planar2r"], "bias", backend="gpu")


UNCOMPILED = """
import sys
import armlet
robot = armlet.load("panda")
program = armlet.trace(robot, "inverse_dynamics")
program.count(), robot.inverse_dynamics, armlet.function(robot)(lambda q: 2 * q).count()
assert "llvmlite" not in sys.modules
armlet.compile(robot, "bias")
assert "llvmlite" in sys.modules
"""


def test_nothing_imports_llvm_before_something_is_compiled():
    subprocess.run([sys.executable, "-c", UNCOMPILED], check=True)


SLOW = """
import os, sys, threading, time
from pathlib import Path
from armlet.runtime import backend

sys.path.insert(0, sys.argv[1])
backend.BACKENDS["slow"] = "slow"
thread = threading.Thread(target=backend.load_backend, args=("slow",))
thread.start()
while not Path(sys.argv[1], "begun").exists():
    time.sleep(0.001)
child = os.fork()
if not child:
    backend.load_backend("slow")
    os._exit(0)
thread.join()
for _ in range(1000):
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        sys.exit(status)
    time.sleep(0.01)
os.kill(child, 9)
sys.exit("the child waits forever")
"""


def test_a_process_forked_while_a_backend_is_imported_can_import_it(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nfrom pathlib import Path\n"
        'Path(__file__).with_name("begun").touch()\ntime.sleep(0.3)\n'
    )
    command = [sys.executable, "-W", "ignore", "-c", SLOW, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
