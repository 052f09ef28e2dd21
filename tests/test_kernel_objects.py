"""Kernels and methods as Python's objects: pickled, subclassed, in cycles, held."""

import copy
import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest
from support.kernels import same

import armlet
from armlet.runtime import Kernel
from armlet.runtime.python_call import vectorcalled


@pytest.fixture(scope="module")
def robot(arms):
    return arms["ur5e"]


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.copy])
def test_what_is_called_can_be_pickled(robot, copied):
    robot = copy.copy(robot)
    q = np.ones(robot.nq)
    kernel = armlet.compile(robot, "jacobian")
    expected = kernel(q)
    robot.jacobian(q)
    link = robot.links[2]
    first = robot.jacobian(q, link)
    for function in (kernel, robot.jacobian):
        same(copied(function)(q), (expected,))
    same(copied(robot.jacobian)(q, link), (first,))
    assert isinstance(copied(kernel), Kernel)


def test_the_module_of_a_compiled_function_is_a_name(robot):
    """Whoever looks at functions expects one, PyTorch's compiler among them."""
    robot.gravity_torque(np.zeros(robot.nv))
    assert robot.gravity_torque.__module__ == "armlet.api.robot"


def test_a_kernel_is_a_plain_object(robot):
    kernel = armlet.compile(robot, "jacobian")
    q = np.ones(robot.nq)
    for _ in range(2):
        assert type(kernel) is Kernel
        assert Kernel.__name__ == "Kernel"
        assert Kernel.__module__ == "armlet.runtime.kernel"
        assert "machine code" in Kernel.__doc__
        assert list(inspect.signature(kernel).parameters) == ["arrays", "out", "threads", "named"]
        assert "jacobian(q)" in repr(kernel)
        assert weakref.ref(kernel)() is kernel
        kernel.note = 1
        kernel(q)


def test_a_subclass_of_kernel_may_say_what_calling_does(robot):
    class Doubled(Kernel):
        def __call__(self, *arrays, **named):
            return 2 * super().__call__(*arrays, **named)

    class Same(Kernel):
        pass

    program = armlet.trace(robot, "bias")
    q = np.ones(robot.nq)
    expected = Kernel(program)(q, q)
    for _ in range(3):
        same(Doubled(program)(q, q), (2 * expected,))
        same(Same(program)(q, q), (expected,))
    doubled, other = Doubled(program), Same(program)
    for _ in range(3):
        same(doubled(q, q), (2 * expected,))
        same(other(q, q), (expected,))


def test_kernels_in_cycles_are_freed(robot):
    program = armlet.trace(robot, "bias")
    q = np.ones(robot.nq)
    gone = []
    for _ in range(3):
        kernel = Kernel(program)
        kernel(q, q)
        kernel.itself = kernel
        gone.append(weakref.ref(kernel))
    del kernel
    gc.collect()
    assert [x() for x in gone] == [None] * 3


def test_a_kernel_that_the_collector_has_cleared_is_refused(robot):
    kernel = armlet.compile(robot, "bias")
    q = np.ones(robot.nq)
    kernel(q, q)
    del kernel.callee
    with pytest.raises(ReferenceError):
        kernel(q, q)


def test_instances_without_a_function_are_called_as_python_says():
    @vectorcalled
    class Called:
        __slots__ = ("callee",)

        def __call__(self, *args, **named):
            return args, named

    assert Called()(1, b=2) == ((1,), {"b": 2})


def test_methods_called_by_a_robots_name_or_held_before_agree(robot):
    robot = copy.copy(robot)
    held, q = robot.jacobian, np.ones(robot.nq)
    expected = held(q)
    same(robot.jacobian(q), (expected,))
    same(held(q), (expected,))
    same(held(q, robot.links[2]), (robot.jacobian(q, robot.links[2]),))
