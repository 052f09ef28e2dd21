"""Helpers for tests of kernels: targets, ways to call a kernel, and forms of an array."""

import numpy as np
import pytest

from armlet.codegen.llvm.function import Target

ROUNDING = 2.0**-53

TARGETS = [
    Target("float64", 2),
    Target("float64", 4),
    Target("float64", 8),
    Target("float32", 4),
    Target("float32", 8),
    Target("float32", 16),
]
every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.dtype}x{t.lanes}")


def same_bits(found, expected):
    """Assert that two arrays are equal, with the signs of zeros; all NaN count as equal."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def results(found):
    """The result of a call as a tuple of arrays."""
    return found if isinstance(found, tuple) else (found,)


def same(found, expected):
    """Assert that the result of a call has the expected arrays, bit by bit."""
    found = results(found)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert type(ours) is np.ndarray
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()


def ways(robot, kernel):
    """The callables that run the same kernel, by name."""
    return {
        "kernel": kernel,
        "evaluate": kernel.evaluate,
        "method": getattr(robot, kernel.program.name),
    }


WAYS = ["kernel", "evaluate", "method"]
every_way = pytest.mark.parametrize("way", WAYS)


def unaligned(x):
    """A copy of an array whose memory begins one byte off its alignment."""
    raw = np.empty(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


ONE, TEN, MANY = np.zeros(3), np.zeros((10, 3)), np.zeros((100, 3))
