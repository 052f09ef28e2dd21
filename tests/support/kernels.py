"""What the tests of kernels share: targets, ways to call one, and forms of an array."""

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
    """Equal to the sign of a zero; one NaN is like another."""
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


def results(found):
    """What a call returned, as a tuple."""
    return found if isinstance(found, tuple) else (found,)


def same(found, expected):
    """What a call returned is a tuple of arrays, bit by bit."""
    found = results(found)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        assert type(ours) is np.ndarray
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        assert ours.tobytes() == theirs.tobytes()


def ways(robot, kernel):
    """The ways into one and the same kernel."""
    return {
        "kernel": kernel,
        "evaluate": kernel.evaluate,
        "method": getattr(robot, kernel.program.name),
    }


WAYS = ["kernel", "evaluate", "method"]
every_way = pytest.mark.parametrize("way", WAYS)


def unaligned(x):
    """The same numbers, one byte off."""
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
