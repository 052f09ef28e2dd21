"""Backends: what a kernel asks of one, and that a kernel can be sent elsewhere."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from support.kernels import same_bits

import armlet
from armlet.codegen.llvm.function import Target
from armlet.errors import CompileError
from armlet.graph import OPERATIONS
from armlet.runtime import Kernel, cpu
from armlet.runtime.kernel import BACKENDS

FUSED = {
    "fma": lambda a, b, c: a * b + c,
    "fms": lambda a, b, c: a * b - c,
    "fnma": lambda a, b, c: c - a * b,
}


class Interpreted:
    """Lowered programs run by NumPy, an operation at a time."""

    def __init__(self, code, target):
        self.code = code

    def run(self, arrays, results, count, threads):
        given = {
            x.name: array.reshape(x.size) if x.rate == "once" else array.reshape(count, x.size).T
            for x, array in zip(self.code.inputs.values(), arrays, strict=True)
        }
        value = []
        meaning = {**OPERATIONS, **FUSED}
        for op, args in self.code.operations:
            if op == "input":
                value.append(given[args[0]][args[1]])
            else:
                value.append(meaning[op](*(a if isinstance(a, float) else value[a] for a in args)))
        for result, output in zip(results, self.code.outputs, strict=True):
            rows = result.reshape(count, -1)
            for k, y in enumerate(output.values):
                rows[:, k] = y if isinstance(y, float) else value[y]

    def entry(self, fallback, *_):
        return fallback

    def connect(self, kernel, fallback):
        return False


INTERPRETER = SimpleNamespace(**vars(cpu) | {"compile": Interpreted})
"""A backend like the CPU's, with other code."""


@pytest.mark.parametrize("arguments", [{}, {"inertia": "argument"}])
def test_a_backend_is_an_entry_of_the_table(arms, monkeypatch, arguments):
    monkeypatch.setitem(BACKENDS, "numpy", INTERPRETER)
    robot = arms["puma560"]
    program = armlet.trace(robot, "inverse_dynamics", constants=arguments)
    ours, theirs = (Kernel(program, backend=name) for name in ("cpu", "numpy"))
    state = np.random.default_rng(0).uniform(-2, 2, (3, 20, 6))
    phi = [robot.phi.astype(float)] * len(arguments)
    for arrays in (state, state[:, 0]):
        found, expected = (kernel(*arrays, *phi) for kernel in (ours, theirs))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_an_unknown_backend_is_refused(arms):
    with pytest.raises(CompileError, match="backend is 'tpu': expected one of cpu"):
        Kernel(armlet.trace(arms["planar2r"], "bias"), backend="tpu")


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
