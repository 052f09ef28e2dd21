"""How long kernels, their code and their results live, and that nothing leaks.

With `pytest -m long`, a million calls in the search for leaks instead of two hundred thousand.
"""

import copy
import ctypes
import gc
import os
import pickle
import sys
import threading
import tracemalloc
from contextlib import suppress

import llvmlite.binding as llvm
import numpy as np
import pytest
from support.cases import cases
from support.kernels import MANY, ONE, TEN, every_way, same_bits, ways
from support.robots import states as robot_states

import armlet
from armlet.errors import DataError
from armlet.graph import trace_function
from armlet.runtime import Kernel, cpu, engine


@pytest.fixture(scope="module")
def robot(arms):
    return arms["planar3r"]


@pytest.fixture(scope="module")
def bias(robot):
    return armlet.compile(robot, "bias")


# ------------------------------------------------------------------ how long things live


@pytest.mark.parametrize(
    "make",
    [
        lambda: armlet.load("planar3r").bias,
        lambda: armlet.compile(armlet.load("planar3r"), "bias"),
        lambda: armlet.compile(armlet.load("planar3r"), "bias").evaluate,
    ],
)
def test_what_is_kept_still_works_when_all_else_is_gone(bias, make):
    function = make()
    gc.collect()
    q, qd = np.random.default_rng(4).normal(size=(2, 20, 3))
    same_bits(function(q, qd), bias(q, qd))
    same_bits(function(q[0], qd[0]), bias(q[0], qd[0]))


def test_robots_and_their_code_are_freed(monkeypatch):
    freed = []
    dispose = llvm.ExecutionEngine._dispose
    monkeypatch.setattr(
        llvm.ExecutionEngine, "_dispose", lambda self: (freed.append(self), dispose(self))
    )
    gc.collect()
    engine.in_llvm(engine.free_released)
    freed.clear()
    robot = armlet.load("planar3r")
    robot.bias(ONE, ONE)
    robot.bias(MANY, MANY)
    kernel = armlet.compile(robot, "bias")
    kernel(ONE, ONE)
    del robot
    gc.collect()
    engine.in_llvm(engine.free_released)
    assert len(freed) == 2
    del kernel
    gc.collect()
    engine.in_llvm(engine.free_released)
    assert len(freed) == 3


@pytest.mark.parametrize("first", ["code", "finalizer"])
def test_a_finalizer_in_a_dead_cycle_may_still_call(bias, first):
    found = []

    class Controller:
        def __init__(self):
            self.itself = self

        def __del__(self):
            found.append((self.method(ONE, ONE), self.method(TEN, TEN), self.kernel(ONE, ONE)))

    made = [Controller()] if first == "finalizer" else []
    robot = armlet.load("planar3r")
    robot.bias(ONE, ONE)
    robot.bias(TEN, TEN)
    kernel = armlet.compile(robot, "bias")
    kernel(ONE, ONE)
    controller = made.pop() if made else Controller()
    controller.method, controller.kernel = robot.bias, kernel
    del controller, robot, kernel
    gc.collect()
    ((one, ten, another),) = found
    same_bits(one, bias(ONE, ONE))
    same_bits(another, one)
    same_bits(ten, bias(TEN, TEN))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_robots_can_be_copied_and_sent_after_use(copied):
    robot = armlet.load("panda")
    q, qd, _ = robot_states(robot)
    used = robot.bias(q, qd), robot.bias(q[0], qd[0]), robot.jacobian(q[0])
    twin = copied(robot)
    assert not twin._memory
    assert "bias" not in vars(twin)
    del robot
    gc.collect()
    for ours, theirs in zip(
        (twin.bias(q, qd), twin.bias(q[0], qd[0]), twin.jacobian(q[0])), used, strict=True
    ):
        same_bits(ours, theirs)


def test_other_robots_made_of_one_do_not_use_its_code():
    robot = armlet.load("planar2r")
    q = np.zeros(2)
    assert robot.gravity_torque(q).any()
    assert not robot.with_gravity((0, 0, 0)).gravity_torque(q).any()
    same_bits(2 * robot.gravity_torque(q), robot.with_inertia(2 * robot.phi).gravity_torque(q))


def test_many_threads_may_ask_a_fresh_robot_at_once():
    q, qd = np.random.default_rng(4).normal(size=(2, 50, 3))
    expected = armlet.load("planar3r").bias(q, qd)
    for _ in range(5):
        robot = armlet.load("planar3r")
        barrier, found = threading.Barrier(16), []

        def ask(k, robot=robot, barrier=barrier, found=found):
            barrier.wait()
            if k % 2:
                found.append((robot.bias(q, qd), expected))
            else:
                found.append((robot.bias(q[k], qd[k]), expected[k]))

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16
        for ours, theirs in found:
            same_bits(ours, theirs)


def test_of_two_threads_that_compile_at_once_neither_takes_the_code_of_the_other(robot, bias):
    kernel = armlet.compile(robot, "bias")
    compiled = kernel.compiled()
    made = [type(compiled).__dict__["_many"].function(compiled) for _ in range(2)]
    vars(compiled)["_many"] = made.pop(0)
    made.clear()
    gc.collect()
    same_bits(kernel(TEN, TEN), bias(TEN, TEN))


# ------------------------------------------------------------------ leaks


def resident():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def random_calls(robot, kernel, count, rng):
    """Calls of all kinds, good and bad."""
    q, qd = rng.normal(size=(2, 40, 3))
    out = np.empty((8, 3))
    single = q[0].astype(np.float32)
    kinds = [
        *[lambda: kernel(q[1], qd[1])] * 30,
        *[lambda: robot.bias(q[2], qd[2])] * 30,
        *[lambda: robot.energy(q[3], qd[3])] * 30,
        lambda: robot.bias(q[:8], qd[:8]),
        lambda: robot.bias(q[:8], qd[:8], out=out),
        lambda: robot.bias(q=q[4], qd=qd[4]),
        lambda: kernel(single, q[5].tolist()),
        lambda: kernel(q[:0], qd[:0]),
        lambda: kernel(q[0], qd),
        lambda: robot.bias(q[0], "no"),
        lambda: robot.energy(q[0]),
        lambda: robot.bias(q, qd, out=out),
    ]
    for k in rng.integers(len(kinds), size=count).tolist():
        with suppress(DataError, TypeError):
            kinds[k]()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("calls", cases([200_000], long=[1_000_000]))
def test_calls_leak_nothing(robot, bias, calls):
    rng = np.random.default_rng(7)
    random_calls(robot, bias, calls // 10, rng)
    gc.collect()
    before = resident()
    random_calls(robot, bias, calls, rng)
    gc.collect()
    assert resident() - before < 4 * 2**20

    tracemalloc.start()
    try:
        random_calls(robot, bias, 1000, rng)
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        random_calls(robot, bias, calls // 20, rng)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 20_000


def counts(*things):
    return [sys.getrefcount(thing) for thing in things]


@every_way
def test_references_are_given_back(robot, bias, way):
    function = ways(robot, bias)[way]
    q, qd, out = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    bad, double = np.zeros(5), np.dtype(np.float64)
    calls = [
        lambda: function(q, qd),
        lambda: function(q[0], qd[0]),
        lambda: function(q, qd, out=out),
        lambda: function(bad, qd),
        lambda: function(q, bad),
        lambda: function(q, qd, out=bad),
        lambda: function(q, object()),
        lambda: function(q, qd, threads=0),
        lambda: function(q, qd, x=q),
    ]

    def run():
        for call in calls:
            with suppress(DataError, TypeError):
                call()

    run()
    gc.collect()
    before = counts(q, qd, out, bad, double, function, robot, bias)
    for _ in range(50):
        run()
    gc.collect()
    assert counts(q, qd, out, bad, double, function, robot, bias) == before


def test_results_belong_to_the_caller_alone(robot):
    q, qd = np.zeros((2, 3))
    for found in (robot.bias(q, qd), *robot.energy(q, qd)):
        assert found.flags.owndata
        assert found.flags.writeable
    first = robot.bias(q, qd)
    assert robot.bias(q, qd + 1) is not first


NEW_ARRAY = ctypes.PYFUNCTYPE(
    ctypes.c_void_p,
    *[ctypes.c_void_p] * 2,
    ctypes.c_int,
    *[ctypes.c_void_p] * 3,
    ctypes.c_int,
    ctypes.c_void_p,
)


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_out_of_memory_gives_back_what_was_made(monkeypatch, fails):
    """NumPy's function that makes arrays is replaced by one that refuses at times."""
    monkeypatch.setenv("ARMLET_CACHE", "off")
    real = NEW_ARRAY(llvm.address_of_symbol("armlet_new_array"))
    release = ctypes.pythonapi.Py_DecRef
    release.argtypes, release.restype = [ctypes.c_void_p], None
    made = 0

    def new(kind, dtype, *others):
        nonlocal made
        made += 1
        if made - 1 < fails:
            return real(kind, dtype, *others)
        release(dtype)
        return None

    fake = NEW_ARRAY(new)
    cpu.share("float64")
    shared = cpu.SHARED_CODE["float64"].addresses
    monkeypatch.setattr(cpu, "SHARED_CODE", {})
    llvm.add_symbol("armlet_new_array", ctypes.cast(fake, ctypes.c_void_p).value)
    try:
        program = trace_function("f", lambda graph, x: (x + 1, 2 * x, x), {"x": (3,)})
        kernel = Kernel(program)
        with pytest.raises(SystemError):
            kernel(np.zeros(3))
    finally:
        llvm.add_symbol("armlet_new_array", ctypes.cast(real, ctypes.c_void_p).value)
        engine.add_symbols(shared)
    x, double = np.zeros((2, 3)), np.dtype(np.float64)
    before = sys.getrefcount(double)
    for _ in range(10):
        made = 0
        with suppress(SystemError):
            kernel(x)
        assert made == fails + 1
    assert sys.getrefcount(double) == before
