"""The arrays that kernels and methods take, and those they write to."""

import copy
import ctypes
import inspect
import mmap
import pydoc
import sys

import numpy as np
import pytest
from support.kernels import (
    ONE,
    TEN,
    WAYS,
    every_target,
    every_way,
    read_only,
    same_bits,
    unaligned,
    ways,
)

import armlet
from armlet.errors import DataError
from armlet.graph import trace_function
from armlet.runtime import Kernel


@pytest.fixture(scope="module")
def robot(arms):
    return arms["planar3r"]


@pytest.fixture(scope="module")
def bias(robot):
    return armlet.compile(robot, "bias")


class Array:
    """Something that NumPy can make an array of."""

    def __init__(self, x):
        self.x = x

    def __array__(self, dtype=None, copy=None):
        return self.x


class Subclass(np.ndarray):
    pass


FORMS = {
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)) if x.ndim == 2 else tuple(x.tolist()),
    "lists of NumPy's numbers": list,
    "integers": lambda x: x.astype(int),
    "unsigned bytes": lambda x: x.astype(np.uint8),
    "halves": lambda x: x.astype(np.float16),
    "singles": lambda x: x.astype(np.float32),
    "long doubles": lambda x: x.astype(np.longdouble),
    "the other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "column by column": np.asfortranarray,
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2] if x.ndim > 1 else x,
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "upside down": lambda x: x[::-1].copy()[::-1],
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape))[0],
    "read-only": read_only,
    "unaligned": unaligned,
    "a subclass": lambda x: x.view(Subclass),
    "another's array": Array,
    "a memory view": memoryview,
}


@every_way
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_arrays_of_numbers_are_taken_in_every_form(robot, bias, form, way):
    function = ways(robot, bias)[way]
    q, qd = np.random.default_rng(3).integers(0, 5, (2, 11, 3)).astype(float)
    expected = bias.evaluate(q, qd)
    same_bits(function(form(q), form(qd)), expected)
    same_bits(function(form(q), qd), expected)
    one = function(form(q[4]), form(qd[4]))
    same_bits(one, expected[4])
    assert type(one) is np.ndarray


@every_way
@pytest.mark.parametrize("leading", [(), (0,), (1,), (5,), (2, 3, 7), (1, 1, 1), (2, 0, 3)])
def test_leading_axes_stay(robot, bias, leading, way):
    function = ways(robot, bias)[way]
    q, qd = np.random.default_rng(4).normal(size=(2, *leading, 3))
    found = function(q, qd)
    assert found.shape == (*leading, 3)
    same_bits(found.reshape(-1, 3), bias(q.reshape(-1, 3), qd.reshape(-1, 3)))


@every_way
def test_inputs_are_left_alone(robot, bias, way):
    arrays = np.random.default_rng(4).normal(size=(2, 9, 3))
    before = arrays.copy()
    ways(robot, bias)[way](*arrays)
    ways(robot, bias)[way](*arrays[:, 0])
    same_bits(arrays, before)


@every_way
def test_an_array_may_be_given_twice(robot, bias, way):
    q = np.random.default_rng(4).normal(size=(9, 3))
    same_bits(ways(robot, bias)[way](q, q), bias(q, q.copy()))
    same_bits(ways(robot, bias)[way](q[0], q[0]), bias(q, q.copy())[0])


@every_way
def test_what_is_not_a_number_passes_through(robot, bias, way):
    q = np.zeros((10, 3))
    q[4, 1] = np.nan
    found = ways(robot, bias)[way](q, np.ones((10, 3)))
    assert np.isnan(found[4]).any()
    assert np.isfinite(np.delete(found, 4, axis=0)).all()


MISFITS = {
    "too long": ((np.zeros(4), ONE), r"q has shape \(4,\): expected \(..., 3\)"),
    "too short": ((ONE, np.zeros(2)), r"qd has shape \(2,\): expected \(..., 3\)"),
    "turned round": ((TEN, TEN.T), r"qd has shape \(3, 10\): expected \(..., 3\)"),
    "a number": ((0.5, ONE), r"q has shape \(\): expected \(..., 3\)"),
    "an array of no axes": ((ONE, np.array(1.0)), r"qd has shape \(\): expected"),
    "nothing": ((ONE, []), r"qd has shape \(0,\): expected"),
    "other rows": ((TEN, TEN[:9]), r"qd has leading axes \(9,\), q has \(10,\): all arrays must"),
    "one state and many": ((ONE, TEN), r"qd has leading axes \(10,\), q has \(\)"),
    "many and one state": ((TEN, ONE), r"qd has leading axes \(\), q has \(10,\)"),
    "one row": ((TEN, TEN[:1]), r"qd has leading axes \(1,\), q has \(10,\)"),
    "rows in another shape": ((TEN, TEN.reshape(2, 5, 3)), r"qd has leading axes \(2, 5\)"),
    "objects": ((ONE.astype(object), ONE), "q is not an array of numbers: its dtype is object"),
    "complex numbers": ((ONE, ONE + 0j), "qd is not an array of numbers: its dtype is complex128"),
    "text": ((["1", "2", "3"], ONE), "q is not an array of numbers: its dtype is <U1"),
    "one text": (("abc", ONE), "q is not an array of numbers"),
    "dates": ((np.zeros(3, "M8[s]"), ONE), "q is not an array of numbers: its dtype is datetime"),
    "a record": ((ONE, np.zeros(3, [("a", float)])), "qd is not an array of numbers"),
    "ragged lists": (([[1, 2, 3], [1, 2]], ONE), "q is not an array of numbers"),
    "a dictionary": (({}, ONE), "q is not an array of numbers: its dtype is object"),
    "None": ((ONE, None), "qd is not an array of numbers: its dtype is object"),
    "None first": ((None, ONE), "q is not an array of numbers: its dtype is object"),
    "huge integers": (([10**400] * 3, ONE), "q is not an array of numbers"),
}


@every_way
@pytest.mark.parametrize(("arrays", "message"), MISFITS.values(), ids=MISFITS)
def test_an_array_that_does_not_fit_is_named(robot, bias, arrays, message, way):
    with pytest.raises(DataError, match=f"^{message}"):
        ways(robot, bias)[way](*arrays)


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_kernels_count_their_arrays(robot, bias, count, way):
    with pytest.raises(DataError, match=rf"^bias takes 2 arrays \(q, qd\), got {count}"):
        ways(robot, bias)[way](*[ONE] * count)


MISCALLS = {
    "too few": (lambda robot: robot.bias(ONE), "missing 1 required positional argument: 'qd'"),
    "too many": (lambda robot: robot.bias(ONE, ONE, ONE), "takes 3 positional arguments but 4"),
    "one twice": (lambda robot: robot.bias(ONE, ONE, q=ONE), "multiple values for argument 'q'"),
    "unknown": (lambda robot: robot.bias(ONE, ONE, speed=1), "unexpected keyword argument 'speed'"),
    "a frame": (lambda robot: robot.bias(ONE, ONE, frame="x"), "unexpected keyword argument"),
}


@pytest.mark.parametrize(("call", "message"), MISCALLS.values(), ids=MISCALLS)
def test_methods_are_called_like_functions(robot, call, message):
    with pytest.raises(TypeError, match=message):
        call(robot)


@pytest.mark.parametrize("name", ["bias", "jacobian", "inverse_dynamics"])
def test_methods_say_what_they_do_and_take(robot, name):
    """Before their first call and after it, when they are compiled."""
    robot, described = copy.copy(robot), getattr(armlet.Robot, name)
    bound = getattr(robot, name)
    bound(*np.zeros((len(armlet.QUANTITIES[name].arguments), robot.nv)))
    compiled = getattr(robot, name)
    assert compiled.callee
    for method in (bound, compiled):
        assert method.__name__ == name
        assert inspect.getdoc(method) == inspect.getdoc(described)
        assert described.__doc__.splitlines()[0] in pydoc.render_doc(method)
    _, *parameters = inspect.signature(described).parameters.values()
    assert list(inspect.signature(compiled).parameters.values()) == parameters
    assert repr(compiled).startswith("<bound method Robot.")


def test_methods_take_their_arrays_by_name(robot, bias):
    q, qd = np.random.default_rng(4).normal(size=(2, 3))
    expected = bias(q, qd)
    for found in (robot.bias(q=q, qd=qd), robot.bias(qd=qd, q=q), robot.bias(q, qd=qd)):
        same_bits(found, expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("threads", [0, -1, 2.0, 2.5, "2", None, np.float64(2), [1]])
def test_threads_are_a_whole_number(robot, bias, way, threads):
    with pytest.raises(DataError, match=r"^threads is .*: expected a whole number, 1 or more"):
        ways(robot, bias)[way](TEN, TEN, threads=threads)


@every_way
@pytest.mark.parametrize("threads", [1, 2, 3, 16, np.int64(2), 10**6])
@pytest.mark.parametrize("rows", [0, 1, 7, 1000])
def test_threads_share_the_rows(robot, bias, way, threads, rows):
    q, qd = np.random.default_rng(4).normal(size=(2, rows, 3))
    same_bits(ways(robot, bias)[way](q, qd, threads=threads), bias(q, qd))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_write_no_row_but_those_of_the_call(robot, dtype):
    """Rows before and after the result are left alone, however few rows a thread has."""
    kernel = armlet.compile(robot, "bias", dtype=dtype)
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 40, robot.nv)).astype(dtype)
    whole = kernel(q, qd)
    for count in range(1, 40):
        around = np.full((count + 80, robot.nv), 7, dtype)
        kernel(q[:count], qd[:count], out=around[40 : 40 + count], threads=2)
        assert np.array_equal(around[40 : 40 + count], whole[:count])
        assert (around[:40] == 7).all()
        assert (around[40 + count :] == 7).all()


@pytest.mark.skipif(sys.platform != "linux", reason="memory is made unreadable by mprotect")
@every_target
@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 17])
def test_nothing_is_read_beyond_the_last_row(target, size):
    program = trace_function("more", lambda _, x: 1 + x, {"x": (size,)})
    kernel = Kernel(program, target=target)
    page, unreadable = mmap.PAGESIZE, 0
    memory = np.frombuffer(mmap.mmap(-1, 2 * page), np.uint8)
    end = ctypes.c_void_p(memory.ctypes.data + page)
    assert ctypes.CDLL(None).mprotect(end, ctypes.c_size_t(page), unreadable) == 0
    numbers = memory[:page].view(target.dtype)
    for rows in (target.lanes, 2 * target.lanes, 2 * target.lanes + 1):
        x = numbers[-rows * size :].reshape(rows, size)
        x[...] = np.arange(x.size).reshape(x.shape)
        np.testing.assert_array_equal(kernel.evaluate(x), x + 1)


# ------------------------------------------------------------------ arrays out


@every_way
@pytest.mark.parametrize("rows", [(), (9,), (0,), (2, 3)])
def test_results_are_written_where_asked(robot, bias, way, rows):
    q, qd = np.random.default_rng(4).normal(size=(2, *rows, 3))
    out = np.full((*rows, 3), np.nan)
    for given_ in (out, (out,), [out]):
        out[...] = np.nan
        assert ways(robot, bias)[way](q, qd, out=given_) is out
        same_bits(out, bias(q, qd))


def test_several_results_are_written_where_asked(robot):
    q, qd = np.random.default_rng(4).normal(size=(2, 9, 3))
    kinetic, potential = np.empty((2, 9))
    found = robot.energy(q, qd, out=(kinetic, potential))
    assert found[0] is kinetic
    assert found[1] is potential
    for ours, theirs in zip(found, robot.energy(q, qd), strict=True):
        same_bits(ours, theirs)


def test_results_are_written_into_part_of_an_array(robot, bias):
    q, qd = np.random.default_rng(4).normal(size=(2, 9, 3))
    whole = np.zeros((30, 3))
    bias(q, qd, out=whole[11:20])
    same_bits(whole[11:20], bias(q, qd))
    assert not whole[:11].any()
    assert not whole[20:].any()


SHARED = np.zeros((3, 10, 3))
BAD_OUT = {
    "another shape": (np.zeros((9, 3)), r"out has shape \(9, 3\): expected \(10, 3\)"),
    "one state's shape": (np.zeros(3), r"out has shape \(3,\): expected \(10, 3\)"),
    "singles": (np.zeros((10, 3), np.float32), "out is float32: expected a float64 array"),
    "integers": (np.zeros((10, 3), int), "out is int64: expected a float64 array"),
    "the other byte order": (np.zeros((10, 3), ">f8"), "out is >f8: expected a float64 array"),
    "lists": ([[0.0] * 3] * 10, "out has 10 arrays: expected 1"),
    "text": ("out", "out is str: expected a float64 array"),
    "a number": (0.0, "out is float: expected a float64 array"),
    "two": ((np.zeros((10, 3)),) * 2, "out has 2 arrays: expected 1"),
    "none": ((), "out has 0 arrays: expected 1"),
    "read-only": (read_only(np.zeros((10, 3))), "out is not contiguous, aligned and writeable"),
    "every second": (np.zeros((10, 6))[:, ::2], "out is not contiguous, aligned and writeable"),
    "column by column": (np.zeros((3, 10)).T, "out is not contiguous, aligned and writeable"),
    "unaligned": (unaligned(np.zeros((10, 3))), "out is not contiguous, aligned and writeable"),
    "an input": (SHARED[0], "out shares memory with another array"),
    "part of an input": (SHARED.reshape(-1)[33:63].reshape(10, 3), "out shares memory"),
}


@every_way
@pytest.mark.parametrize(("out", "message"), BAD_OUT.values(), ids=BAD_OUT)
def test_results_are_not_written_where_they_do_not_fit(robot, bias, out, message, way):
    with pytest.raises(DataError, match=f"^{message}"):
        ways(robot, bias)[way](SHARED[0], SHARED[1], out=out)
    assert not SHARED.any()


def test_two_results_are_not_written_to_one_place(robot):
    q, qd = np.zeros((2, 9, 3))
    for pair in ([np.zeros(9)] * 2, np.lib.stride_tricks.sliding_window_view(np.zeros(10), 9)):
        with pytest.raises(DataError, match=r"^out "):
            robot.energy(q, qd, out=tuple(pair))


def test_a_failed_call_writes_nothing(robot, bias):
    out = np.ones((10, 3))
    with pytest.raises(DataError):
        bias(TEN, TEN[:9], out=out)
    assert (out == 1).all()
