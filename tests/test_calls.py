"""Every form of call gives the bits of `kernel.evaluate`; bad arguments get the same error."""

import copy
import ctypes
import gc
import sys
import threading
import weakref
from collections import namedtuple

import numpy as np
import pytest
from support.call_paths import paths_within
from support.kernels import results, same

import armlet
from armlet.codegen.entry.python import COPIED, FEW, HELD, most_rows
from armlet.errors import ArmletError, DataError
from armlet.graph import trace_function
from armlet.runtime import Kernel
from armlet.runtime.python_call import Entry, connect

QUANTITIES = {
    "inverse_dynamics": ("inverse_dynamics", {}),
    "inverse_dynamics under a wrench": ("inverse_dynamics", {"wrench": True}),
    "inertia_matrix": ("inertia_matrix", {}),
    "jacobian": ("jacobian", {}),
    "jacobian of a frame": ("jacobian", {"frame": "link2"}),
    "energy": ("energy", {}),
    "linearization": ("linearization", {}),
    "regressor of all parameters": ("regressor", {"parameters": "standard"}),
}


@pytest.fixture(scope="module")
def robot(arms):
    return arms["ur5e"]


@pytest.fixture(scope="module")
def link(robot):
    return robot.links[2]


class Case:
    """A quantity with its options, its kernel, the method, and arrays of 40 states."""

    def __init__(self, robot, quantity, options):
        if "frame" in options:
            options = {"frame": robot.links[2]}
        self.kernel = armlet.compile(robot, quantity, **options)
        self.robot, self.quantity, self.options = robot, quantity, options
        rng = np.random.default_rng(1)
        self.names = list(self.kernel.program.inputs)
        self.arrays = [
            rng.uniform(-2, 2, (40, *x.shape)) for x in self.kernel.program.inputs.values()
        ]

    def rows(self, where):
        return [x[where].copy() for x in self.arrays]

    def method(self, *arrays, **named):
        """Call the method of the robot as it is now."""
        options = {key: x for key, x in self.options.items() if x is not True}
        return getattr(self.robot, self.quantity)(*arrays, **named, **options)

    def functions(self):
        return {"kernel": self.kernel, "method": self.method}

    def expected(self, arrays):
        return results(self.kernel.evaluate(*arrays))


@pytest.fixture(params=QUANTITIES.values(), ids=list(QUANTITIES), scope="module")
def case(request, robot):
    return Case(robot, *request.param)


# ------------------------------------------------------------------ the forms


def unaligned(x):
    raw = np.empty(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


class Subclass(np.ndarray):
    pass


FORMS = {
    "as they are": lambda x: x,
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(x.tolist()),
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "backwards": lambda x: x[..., ::-1].copy()[..., ::-1],
    "no stride": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "singles": lambda x: x.astype(np.float32),
    "strided singles": lambda x: np.repeat(x.astype(np.float32), 2, axis=-1)[..., ::2],
    "integers": lambda x: x.astype(int),
    "lists of integers": lambda x: x.astype(int).tolist(),
    "lists of NumPy's numbers": list,
    "booleans": lambda x: x > 0,
    "the other byte order": lambda x: x.astype(">f8"),
    "unaligned": unaligned,
    "a subclass": lambda x: x.view(Subclass),
    "column by column": np.asfortranarray,
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "where",
    [3, slice(0, 1), slice(4, 9), slice(0, 40), slice(0, 0)],
    ids=["one", "a row", "five rows", "forty rows", "no rows"],
)
def test_arrays_of_every_form_give_the_bits_of_evaluate(case, form, where):
    arrays = case.rows(where)
    given = [form(x) for x in arrays]
    if any(isinstance(x, list | tuple) and not x for x in given):
        return  # an empty list has no second axis
    expected = case.expected(given)
    for function in case.functions().values():
        same(function(*given), expected)
        same(function(*arrays[:-1], given[-1]), case.expected([*arrays[:-1], given[-1]]))


@pytest.mark.parametrize("where", [3, slice(4, 9), slice(0, 40)], ids=["one", "five", "forty"])
def test_arrays_are_taken_by_name(case, where):
    arrays = case.rows(where)
    expected = case.expected(arrays)
    named = dict(zip(case.names, arrays, strict=True))
    backwards = dict(reversed(named.items()))
    joined = {"".join(key): x for key, x in named.items()}
    for function in case.functions().values():
        same(function(**named), expected)
        same(function(**backwards), expected)
        same(function(**joined), expected)
        same(function(arrays[0], **{key: named[key] for key in case.names[1:]}), expected)
        same(function(**named, out=None), expected)


@pytest.mark.parametrize("where", [3, slice(4, 9), slice(0, 40)], ids=["one", "five", "forty"])
@pytest.mark.parametrize("form", [lambda x: x, lambda x: np.repeat(x, 2, axis=-1)[..., ::2]])
def test_results_are_written_where_asked(case, where, form):
    arrays = [form(x) for x in case.rows(where)]
    expected = case.expected(arrays)
    for function in case.functions().values():
        for kind in (tuple, list):
            out = [np.full_like(y, np.nan) for y in expected]
            found = results(function(*arrays, out=kind(out)))
            same(found, expected)
            assert all(ours is given for ours, given in zip(found, out, strict=True))
        if len(expected) == 1:
            (out,) = (np.full_like(y, np.nan) for y in expected)
            assert function(*arrays, out=out) is out
            same(out, expected)
            named = dict(zip(case.names, arrays, strict=True))
            assert function(**named, out=out) is out


def bad_outs(expected):
    """Arrays that results of these shapes cannot be written to, or not all at once."""
    y = expected[0]
    read_only = np.zeros_like(y)
    read_only.flags.writeable = False
    bad = [
        np.zeros((*y.shape, 2)),
        np.zeros(y.shape, np.float32),
        np.zeros(y.shape, ">f8"),
        "out",
        1,
        unaligned(np.zeros_like(y)) if y.ndim else read_only,
        read_only,
    ]
    if y.ndim:
        bad += [np.zeros((*y.shape[:-1], 2 * y.shape[-1]))[..., ::2]]
    rest = [np.zeros_like(other) for other in expected[1:]]
    whole = [(x, *rest) for x in bad]
    if rest:
        whole += [(rest[0], *rest)] if rest[0].shape == y.shape else []
        whole += [y.copy()]
    return [*whole, (), [np.zeros_like(y)] * (1 + len(expected))]


@pytest.mark.parametrize("where", [3, slice(4, 9)], ids=["one", "five"])
def test_results_are_not_written_where_they_do_not_fit(case, where):
    arrays = case.rows(where)
    for out in bad_outs(case.expected(arrays)):
        with pytest.raises(DataError) as by_evaluate:
            case.kernel.evaluate(*arrays, out=out)
        for function in case.functions().values():
            with pytest.raises(DataError) as found:
                function(*arrays, out=out)
            assert str(found.value) == str(by_evaluate.value)


@pytest.mark.parametrize("shift", [0, 1, 5])
def test_results_are_not_written_over_arguments(robot, shift):
    kernel = armlet.compile(robot, "inverse_dynamics")
    n = robot.nv
    for rows in ((), (4,)):
        size = n * int(np.prod(rows))
        whole = np.zeros(3 * size + shift)
        q, qd = np.zeros((2, *rows, n))
        qdd = whole[:size].reshape(*rows, n)
        out = whole[shift : shift + size].reshape(*rows, n)
        for function in (kernel, robot.inverse_dynamics):
            for given in ((qdd, q, qd), (q, qd, qdd)):
                with pytest.raises(DataError, match="out shares memory with another array"):
                    function(*given, out=out)
            beside = whole[size : 2 * size].reshape(*rows, n)
            assert function(q, qd, qdd, out=beside) is beside


# ------------------------------------------------------------------ options of methods


def test_a_wrench_and_a_frame_are_taken_in_every_way(robot, link):
    robot = copy.copy(robot)
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, robot.nv))
    w = np.arange(6.0)
    torque = armlet.compile(robot, "inverse_dynamics", wrench=True).evaluate(q, qd, qdd, w)
    free = armlet.compile(robot, "inverse_dynamics").evaluate(q, qd, qdd)
    frames = {
        name: armlet.compile(robot, "jacobian", frame=name).evaluate(q)
        for name in (link, robot.links[4])
    }
    tool = armlet.compile(robot, "jacobian").evaluate(q)
    for _ in range(3):
        for name, expected in frames.items():
            other = "".join(list(name))  # equal, and another object
            for found in (
                robot.jacobian(q, name),
                robot.jacobian(q, frame=name),
                robot.jacobian(q, other),
                robot.jacobian(q=q, frame=other),
                robot.jacobian(frame=name, q=q),
                robot.jacobian(q.tolist(), name),
                robot.jacobian(q, name, out=np.empty((6, 6))),
                robot.jacobian(np.array([q, q]), name)[1],
                robot.jacobian(q, np.str_(name)),
            ):
                same(found, (expected,))
        for given in (w, w.tolist(), np.repeat(w, 2)[::2], w.astype(np.float32)):
            for found in (
                robot.inverse_dynamics(q, qd, qdd, given),
                robot.inverse_dynamics(q, qd, qdd, wrench=given),
                robot.inverse_dynamics(q, qd, wrench=given, qdd=qdd),
                robot.inverse_dynamics(q, qd, qdd, given, out=np.empty(6)),
            ):
                same(found, (torque,))
        same(robot.inverse_dynamics(q, qd, qdd, None), (free,))
        same(robot.inverse_dynamics(q, qd, qdd, wrench=None, out=None), (free,))
        same(robot.jacobian(q), (tool,))
        same(robot.jacobian(q, None), (tool,))


def test_a_method_first_called_with_a_frame_is_compiled_for_it_alone(robot, link):
    robot = copy.copy(robot)
    q = np.ones(robot.nq)
    first = robot.jacobian(q, link)
    assert robot.jacobian.callee
    same(robot.jacobian(q, link), (first,))
    assert ("quantity", "jacobian") not in robot._memory
    same(robot.jacobian(q), (armlet.compile(robot, "jacobian").evaluate(q),))
    same(robot.jacobian(q, link), (first,))


def test_after_the_first_call_no_form_goes_through_python(robot, link, monkeypatch):
    robot, n = copy.copy(robot), robot.nv
    q, qd, qdd = np.random.default_rng(2).normal(size=(3, 40, n))
    kernel, w, out = armlet.compile(robot, "inverse_dynamics"), np.arange(6.0), np.empty(n)
    pair = armlet.compile(robot, "energy")
    one, named = (q[0], qd[0], qdd[0]), {"q": q[0], "qd": qd[0], "qdd": qdd[0]}
    calls = [
        lambda f: f(*one),
        lambda f: f(*one, out=out),
        lambda f: f(**named),
        lambda f: f(q[0], qd[0], qdd=qdd[0]),
        lambda f: f(**named, out=(out,)),
        lambda f: f(*(x.tolist() for x in one)),
        lambda f: f(*(x[::-1] for x in one)),
        lambda f: f(*map(np.float32, one)),
        lambda f: f([0] * n, (1.5,) * n, qdd[0]),
        lambda f: f(q[:10], qd[:10], qdd[:10]),
        lambda f: f(q, qd, qdd),
        lambda f: f(q[:10], qd[:10], qdd=qdd[:10], out=np.empty((10, n))),
        lambda f: f(q[:10, ::-1], qd[10:0:-1], np.float32(qdd[:10])),
    ]
    chosen = [
        lambda: robot.inverse_dynamics(*one, w),
        lambda: robot.inverse_dynamics(*one, wrench=w),
        lambda: robot.inverse_dynamics(**named, wrench=w, out=out),
        lambda: robot.jacobian(q[0], link),
        lambda: robot.jacobian(q[:3], frame=link),
        lambda: robot.jacobian(q[0].tolist(), frame=link, out=np.empty((6, n))),
        lambda: pair(q[0], qd[0], out=(np.empty(()), np.empty(()))),
        lambda: pair(q[:4], qd[:4], out=[np.empty(4), np.empty(4)]),
    ]

    def run():
        found = [call(f) for f in (robot.inverse_dynamics, kernel) for call in calls]
        return [np.copy(y) for found in (found, [call() for call in chosen]) for y in found]

    expected = [run() for _ in range(2)][-1]

    def python(*args, **named):
        raise AssertionError("called through Python")

    monkeypatch.setattr(armlet.api.robot, "evaluate", python)
    monkeypatch.setattr(Kernel, "takes_long", python)
    with pytest.raises(AssertionError):
        kernel(q.astype(int), qd, qdd)
    for ours, theirs in zip(run(), expected, strict=True):
        same(ours, (theirs,))


@pytest.mark.parametrize("frames", [[None], [None, 2], [2, None], [2, 3]])
def test_a_method_held_before_its_first_call_is_compiled_with_it(robot, frames, monkeypatch):
    """Whatever frame comes first; so is one that was looked up by its class."""
    robot, q = copy.copy(robot), np.ones(robot.nq)
    held = robot.jacobian
    frames = [x and robot.links[x] for x in frames]
    expected = [armlet.Robot.jacobian(robot, q, x).copy() for x in frames]
    assert held is robot.jacobian

    def python(*args, **named):
        raise AssertionError("called through Python")

    monkeypatch.setattr(armlet.api.robot, "evaluate", python)
    for frame, theirs in zip(frames, expected, strict=True):
        same(held(q, frame), (theirs,))
        same(held(q=q, frame=frame), (theirs,))
    with pytest.raises(AssertionError):
        held(q, robot.links[5])


def test_a_user_function_is_compiled_with_its_first_call(robot):
    @armlet.function(robot)
    def twice(q):
        return 2 * q

    def calls():
        same(twice(q), (2 * q,))
        same(twice(q=q, out=np.empty(robot.nq)), (2 * q,))

    q = np.ones(robot.nq)
    assert not hasattr(twice, "callee")
    assert paths_within(calls)
    assert not paths_within(calls)  # no Python function of armlet


MISCALLS = {
    "unknown frame": (lambda r, q: r.jacobian(q, "nowhere"), ArmletError, "nowhere"),
    "a frame that is none": (lambda r, q: r.jacobian(q, 7), ArmletError, "7"),
    "too many": (lambda r, q: r.jacobian(q, None, q), TypeError, "positional argument"),
    "a frame twice": (lambda r, q: r.jacobian(q, "a", frame="a"), TypeError, "multiple values"),
    "an array twice": (lambda r, q: r.jacobian(q, q=q), TypeError, "multiple values"),
    "none": (lambda r, q: r.jacobian(), TypeError, "missing 1 required positional argument: 'q'"),
    "only out": (lambda r, q: r.jacobian(out=q), TypeError, "missing 1 required"),
    "unknown": (lambda r, q: r.jacobian(q, frames="x"), TypeError, "unexpected keyword argument"),
    "None": (lambda r, q: r.jacobian(None), DataError, "q is not an array of numbers"),
    "a long wrench": (
        lambda r, q: r.inverse_dynamics(q, q, q, np.zeros(7)),
        DataError,
        "wrench has shape",
    ),
    "a wrench that is none": (
        lambda r, q: r.inverse_dynamics(q, q, q, "x"),
        DataError,
        "wrench is not an array",
    ),
    "threads": (lambda r, q: r.jacobian(q, threads=0), DataError, "threads is 0"),
    "text in a list": (lambda r, q: r.jacobian(["1"] * 6), DataError, "q is not an array"),
    "None in a list": (lambda r, q: r.jacobian([None] * 6), DataError, "q is not an array"),
    "huge in a list": (lambda r, q: r.jacobian([10**400] * 6), DataError, "q is not an array"),
    "long list": (lambda r, q: r.jacobian([0.0] * 7), DataError, r"q has shape \(7,\)"),
    "no list": (lambda r, q: r.jacobian([]), DataError, r"q has shape \(0,\)"),
}


@pytest.mark.parametrize("warm", [False, True], ids=["first call", "compiled"])
@pytest.mark.parametrize(("call", "kind", "message"), MISCALLS.values(), ids=MISCALLS)
def test_bad_calls_of_methods_are_reported(robot, call, kind, message, warm):
    robot, q = copy.copy(robot), np.zeros(robot.nq)
    if warm:
        robot.jacobian(q)
        robot.inverse_dynamics(q, q, q)
        robot.inverse_dynamics(q, q, q, np.zeros(6))
    with pytest.raises(kind, match=message):
        call(robot, q)


@pytest.mark.parametrize("warm", [False, True], ids=["first call", "compiled"])
def test_bad_calls_of_kernels_are_reported(robot, warm):
    kernel, q = armlet.compile(robot, "bias"), np.zeros(robot.nq)
    if warm:
        kernel(q, q)
    for call, kind, message in (
        (lambda: kernel(q, q, q), DataError, "bias takes 2 arrays"),
        (lambda: kernel(q), DataError, "bias takes 2 arrays"),
        (lambda: kernel(q, q, speed=1), TypeError, "unexpected keyword argument 'speed'"),
        (lambda: kernel(q, q=q), TypeError, "multiple values for argument 'q'"),
        (lambda: kernel(qd=q), TypeError, "missing argument 'q'"),
        (lambda: kernel(q, q, threads="2"), DataError, "threads is '2'"),
    ):
        with pytest.raises(kind, match=message):
            call()


# ------------------------------------------------------------------ results that are used again


def test_a_result_that_anything_refers_to_is_not_written_again(robot):
    q = np.zeros(robot.nq)
    robot.gravity_torque(q)
    keep = {
        "itself": lambda y: y,
        "a view": lambda y: y[1:],
        "a memory view": memoryview,
        "its data": lambda y: y.ctypes,
        "a list": lambda y: [y],
        "a closure": lambda y: lambda: y,
    }
    for hold in keep.values():
        kept = []
        for k in range(6):
            y = robot.gravity_torque(q + k)
            kept.append((hold(y), y.ctypes.data, y.tobytes()))
        del y
        for k in range(6):
            robot.gravity_torque(q - k)
        for _, address, values in kept:
            there = (ctypes.c_char * len(values)).from_address(address)
            assert there.raw == values


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype):DeprecationWarning")  # NumPy 2.5
def test_a_result_that_was_changed_is_not_handed_out_again(robot):
    q = np.zeros(robot.nq)
    expected = armlet.compile(robot, "inertia_matrix").evaluate(q)
    for spoil in (
        lambda y: setattr(y, "shape", (-1,)),
        lambda y: setattr(y.flags, "writeable", False),
        lambda y: setattr(y, "dtype", np.int64),
        lambda y: y.resize((2, 2), refcheck=False),
    ):
        for _ in range(4):
            spoil(robot.inertia_matrix(q))
            same(robot.inertia_matrix(q), (expected,))


def test_a_result_with_a_weak_reference_is_not_handed_out_again(robot):
    q = np.zeros(robot.nq)
    y = robot.gravity_torque(q)
    watched, first = weakref.ref(y), y.copy()
    del y
    for k in range(1, 4):
        found = robot.gravity_torque(q + k)
        assert watched() is not found
    assert watched() is None or np.array_equal(watched(), first)


def test_results_of_threads_are_their_own(robot):
    robot, n = copy.copy(robot), robot.nv
    robot.gravity_torque(np.zeros(n))
    kernel = armlet.compile(robot, "gravity_torque")
    wrong = []

    def ask(seed):
        for q in np.random.default_rng(seed).normal(size=(2000, n)):
            found = robot.gravity_torque(q)
            if found.tobytes() != kernel.evaluate(q).tobytes():
                wrong.append(seed)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


def test_several_results_come_in_the_class_that_the_entry_holds(robot):
    class Pair(namedtuple("Pair", "kinetic potential")):
        __slots__ = ()

    kernel, q = armlet.compile(robot, "energy"), np.ones(robot.nq)
    code = kernel.compiled()._one
    function = Entry(kernel.evaluate)
    assert connect(function, code, ["q", "qd"], "", {}, Pair)
    for arrays in ((q, q), (np.ones((3, robot.nv)),) * 2):
        found = function(*arrays)
        assert type(found) is Pair
        same((found.kinetic, found.potential), kernel.evaluate(*arrays))
        assert gc.is_tracked(found)


def test_several_results_that_nobody_refers_to_are_used_again(robot):
    kernel, q = armlet.compile(robot, ["energy", "jacobian"]), np.ones(robot.nq)
    kernel(q, q)
    first, second = (id(kernel(q, q)) for _ in range(2))
    assert first == second
    seen = set()
    for _ in range(10):
        kinetic, potential, Jq = kernel(q, q)
        seen.add(id(Jq))
    assert len(seen) == 2
    same((kinetic, potential, Jq), kernel.evaluate(q, q))


def test_several_results_of_which_anything_is_held_are_not_written_again(robot):
    """Whatever part of a tuple is held, and however long, its numbers stay."""
    kernel = armlet.compile(robot, ["energy", "jacobian"])
    rng = np.random.default_rng(0)
    hold = [
        lambda found: found,
        lambda found: found[0],
        lambda found: found.jacobian,
        lambda found: found.jacobian[1:],
        lambda found: tuple(found),
        lambda found: iter(found),
        lambda found: (found[1], found.jacobian.T),
        lambda found: found._asdict(),
        lambda found: weakref.ref(found.jacobian),
        lambda found: None,
    ]
    held = []
    for _ in range(400):
        q, qd = rng.normal(size=(2, robot.nv))
        found = kernel(q, qd)
        same(found, kernel.evaluate(q, qd))
        held.append((hold[rng.integers(len(hold))](found), found[0], found.jacobian.copy(), q, qd))
        del found
        if rng.random() < 0.5:
            del held[rng.integers(len(held))]
    for what, kinetic, Jq, q, qd in held:
        assert kinetic == kernel.evaluate(q, qd)[0]
        if isinstance(what, tuple) and len(what) == 3:
            assert np.array_equal(what[2], Jq)


@pytest.mark.filterwarnings("ignore:Setting the (shape|dtype):DeprecationWarning")  # NumPy 2.5
def test_several_results_that_were_changed_are_not_handed_out_again(robot):
    kernel, q = armlet.compile(robot, ["energy", "jacobian"]), np.ones(robot.nq)
    expected = kernel.evaluate(q, q)
    for spoil in (
        lambda y: setattr(y, "shape", (-1,)),
        lambda y: setattr(y.flags, "writeable", False),
        lambda y: y.resize((2, 2), refcheck=False),
    ):
        for _ in range(4):
            spoil(kernel(q, q).jacobian)
            same(kernel(q, q), expected)


# ------------------------------------------------------------------ batches


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_have_the_same_bits_however_many(robot, dtype):
    """Before and after the code for rows of states is there."""
    kernel = armlet.compile(robot, "bias", dtype=dtype)
    q, qd = np.random.default_rng(6).normal(size=(2, 1000, robot.nv)).astype(dtype)
    alone = np.array([kernel(*state) for state in zip(q, qd, strict=True)])
    counts = [*range(FEW), FEW, FEW + 1, 100, 999, 1000]
    for count in (*counts, *counts):
        same(kernel(q[:count], qd[:count]), (alone[:count],))
        same(kernel(q[:count], qd[:count], out=np.empty_like(alone[:count])), (alone[:count],))
    assert "_many" in vars(kernel.compiled())


def overtaken(kernel, arrays):
    """Whether another thread runs during a call; threads change only where one waits."""
    order, gate = [], threading.Lock()

    def other():
        with gate:
            order.append("other")

    gate.acquire()
    thread = threading.Thread(target=other)
    thread.start()
    gate.release()
    kernel(*arrays)
    order.append("call")
    thread.join()
    return order == ["other", "call"]


def test_other_threads_run_during_long_batches_alone(robot):
    kernel = armlet.compile(robot, "bias")
    held, most = most_rows(kernel.code, HELD), most_rows(kernel.code)
    arrays = np.zeros((2, most, robot.nv))
    kernel(*arrays)
    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        assert not any(overtaken(kernel, arrays[:, :held]) for _ in range(100))
        assert any(overtaken(kernel, arrays) for _ in range(1000))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("size", [0, 1, 31, 33, COPIED - 1, COPIED, COPIED + 1, 5000])
def test_vectors_of_every_length_are_taken_in_every_form(size):
    kernel = Kernel(trace_function("twice", lambda graph, x: 2 * x[:3], {"x": (size,)}))
    x = np.random.default_rng(6).normal(size=(40, size))
    for where in (3, slice(0, 1), slice(0, 2), slice(0, 5), slice(0, 33), slice(0, 40)):
        for form in (np.asarray, lambda x: np.repeat(x, 2, axis=-1)[..., ::2], np.float32):
            given = form(x[where])
            same(kernel(given), (kernel.evaluate(given),))
    same(kernel(x[0].tolist()), (kernel.evaluate(x[0]),))


def test_constants_given_once_or_for_every_state(robot):
    kernel = armlet.compile(robot, "bias", constants={"inertia": "argument"})
    q, qd = np.random.default_rng(6).normal(size=(2, 5, robot.nv))
    phi = robot.phi.astype(float)
    every = np.array([phi] * 5)
    expected = kernel.evaluate(q, qd, phi)
    for _ in range(2):
        same(kernel(q, qd, phi), (expected,))
        same(kernel(q, qd, every), (expected,))
        same(kernel(q[2], qd[2], phi), (expected[2],))
        same(kernel(q[2], qd[2], inertia=phi.tolist()), (expected[2],))
