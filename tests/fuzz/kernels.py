"""Kernels called with any kind of array return correct results or raise, and change no input."""

from functools import cache

import numpy as np

import armlet
from armlet.codegen.lower import expand_sines
from armlet.runtime.python_call import Entry
from fuzz import pick

KERNELS = (
    ("planar2r", "gravity_torque", {}),
    ("puma560", "inverse_dynamics", {}),
    ("scara", "inertia_matrix", {}),
    ("planar3r", "energy", {}),
    ("stanford", "inverse_dynamics", {"wrench": True}),
    ("planar2r", "inverse_dynamics", {"constants": {"inertia": "argument"}}),
)
BAR = {"float64": 1e-12, "float32": 1e-4}
REFUSALS = (armlet.DataError, TypeError)


class Sub(np.ndarray):
    """A subclass of NumPy arrays."""


@cache
def kernel_of(which, dtype):
    arm, quantity, options = KERNELS[which]
    first = next(iter(armlet.formulations(quantity)))
    return armlet.compile(armlet.load(arm), quantity, first, dtype=dtype, **options)


def trial(rng, folder):
    kernel = kernel_of(int(rng.integers(len(KERNELS))), str(rng.choice(list(BAR))))
    leading = random_leading(rng)
    plain = [rng.uniform(-2, 2, (*leading, *x.shape)) for x in kernel.program.inputs.values()]
    if rng.random() < 0.1:
        spoil(rng, plain)
    forms = [pick(rng, FORMS) if rng.random() < 0.5 else as_is for _ in plain]
    arrays = [form(rng, x) for form, x in zip(forms, plain, strict=True)]
    fine = all(form in FORMS[:GOOD] for form in (*forms, as_is))
    if rng.random() < 0.1:
        arrays = pick(rng, WRONG_COUNTS)(arrays)
        fine = fine and len(arrays) == len(plain)
    out, out_is_fine = random_out(rng, kernel, leading, arrays)
    threads, threads_are_fine = pick(rng, THREADS) if rng.random() < 0.3 else (1, True)
    fine = fine and out_is_fine and threads_are_fine
    before = [bits(x) for x in arrays]
    try:
        with np.errstate(all="ignore"):
            found = called(rng, kernel)(*arrays, **out, **threads_option(threads))
    except MemoryError:
        assert huge in forms
        return
    except REFUSALS:
        if fine:
            raise
        assert [bits(x) for x in arrays] == before, "an array was written to in a call refused"
        return
    assert fine, f"not refused: {[form.__name__ for form in forms]}, {out}, threads={threads!r}"
    assert [bits(x) for x in arrays] == before, "an input was written to"
    if out:
        results = out["out"] if isinstance(out["out"], list) else [out["out"]]
        same = found if isinstance(found, tuple) else (found,)
        assert all(a is b for a, b in zip(results, same, strict=True)), "out is not what came back"
    check(kernel, found, arrays, leading)


def check(kernel, found, arrays, leading):
    """Raise if the results differ from those of the program with NumPy.

    Sines of sums of angles are expanded for NumPy, because sums of large angles are rounded.
    """
    with np.errstate(all="ignore"):
        given = [np.asarray(x).astype(kernel.dtype).astype(float) for x in arrays]
        expected = expand_sines(kernel.program).function(np)(*given)
    single = kernel.program.single
    for x, y in zip(*(([a] if single else a) for a in (found, expected)), strict=True):
        assert type(x) is np.ndarray
        assert x.dtype == kernel.dtype
        assert x.shape == (*leading, *np.shape(y)[len(leading) :])
        if np.isfinite(y).all() and x.size:
            error = np.abs(x - y).max() / max(1, np.abs(y).max())
            assert error <= BAR[str(kernel.dtype)], f"off by {error:.1e}"


def called(rng, kernel):
    """A random one of the callables that run a kernel."""
    entry = Entry(kernel.evaluate)
    kernel.compiled().connect(entry)
    return pick(rng, (kernel, kernel.evaluate, entry))


def threads_option(threads):
    return {} if threads == 1 and isinstance(threads, int) else {"threads": threads}


def random_leading(rng):
    shapes = (
        (),
        (),
        (),
        (1,),
        (3,),
        (7, 2),
        (0,),
        (4, 0),
        (0, 3),
        (33,),
        (1,) * 8,
        (257,),
        (5000,),
    )
    return pick(rng, shapes)


def spoil(rng, arrays):
    """Put nan, an infinity, or a very large or small number into a random array."""
    x = pick(rng, arrays)
    if x.size:
        x.flat[rng.integers(x.size)] = pick(rng, (np.nan, np.inf, -np.inf, 1e300, 5e-324, 1e7))


def bits(x):
    """The bytes of the memory behind an array; the text of any other object."""
    base = x
    while isinstance(getattr(base, "base", None), np.ndarray):
        base = base.base
    return base.tobytes() if isinstance(base, np.ndarray) and base.dtype != object else repr(x)


# ------------------------------------------------------------------ forms of an array


def as_is(rng, x):
    return x


def reversed_twice(rng, x):
    return np.array(x[..., ::-1])[..., ::-1]


def every_other(rng, x):
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]))
    wide[..., ::2] = x
    return wide[..., ::2]


def by_columns(rng, x):
    return np.asfortranarray(x)


def swapped_bytes(rng, x):
    return x.astype(x.dtype.newbyteorder())


def read_only(rng, x):
    x = x.copy()
    x.flags.writeable = False
    return x


def unaligned(rng, x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = np.frombuffer(raw, x.dtype, x.size, 1) if x.size else x.ravel()
    view = view.reshape(x.shape)
    view[...] = x
    return view


def of_another_type(rng, x):
    kinds = ("float32", "float16", "int64", "int8", "uint8", "bool", "longdouble", ">f4")
    with np.errstate(all="ignore"):
        return (
            np.nan_to_num(np.abs(x), posinf=2, neginf=2).clip(0, 3).astype(str(rng.choice(kinds)))
        )


def as_list(rng, x):
    return x.tolist() if x.size else x  # an empty list would lose the shape


def subclassed(rng, x):
    return x.view(Sub)


def masked(rng, x):
    return np.ma.masked_array(x)


def broadcast(rng, x):
    """A view that broadcasts the first state to all rows."""
    if x.ndim == 1 or not x.size:
        return x
    return np.broadcast_to(x.reshape(-1, x.shape[-1])[0].copy(), x.shape)


def of_objects(rng, x):
    return x.astype(object)


def complex_numbers(rng, x):
    return x + 1j


def of_texts(rng, x):
    return x.astype(str)


def nothing(rng, x):
    return None


def too_long(rng, x):
    return np.concatenate([x, x], axis=-1)


def more_axes(rng, x):
    return np.zeros((*x.shape, 1, 1))


def scalar(rng, x):
    return 1.0


def ragged(rng, x):
    return [[1.0, 2.0], [3.0]]


def record(rng, x):
    return np.zeros(x.shape, [("a", "f8"), ("b", "i4")])


def dates(rng, x):
    return np.zeros(x.shape, "M8[s]")


def huge(rng, x):
    """A broadcast view of more states than fit into memory."""
    return np.broadcast_to(np.zeros(x.shape[-1]), (2**40, x.shape[-1]))


FORMS = (
    as_is, reversed_twice, every_other, by_columns, swapped_bytes, read_only, unaligned,
    of_another_type, as_list, subclassed, masked, broadcast,
    of_objects, complex_numbers, of_texts, nothing, too_long, more_axes, scalar, ragged, record,
    dates, huge,
)  # fmt: skip
GOOD = 12
"""The first `GOOD` forms are numbers of the right shape, which kernels must accept."""
WRONG_COUNTS = (lambda arrays: arrays[1:], lambda arrays: [*arrays, arrays[-1]], lambda arrays: [])
THREADS = (
    (1, True), (2, True), (3, True), (8, True), (np.int64(2), True), (True, True), (0, False),
    (-1, False), (2.5, False), ("2", False), (None, False), (2**70, True),
)  # fmt: skip


# ------------------------------------------------------------------ forms of the result


def random_out(rng, kernel, leading, arrays):
    """Keyword arguments with or without `out`, and whether the kernel must accept them."""
    if rng.random() < 0.5:
        return {}, True
    right = [
        np.full((*leading, *output.shape), 7.0, kernel.dtype) for output in kernel.program.outputs
    ]
    if rng.random() < 0.4:
        return {"out": right[0] if kernel.program.single else right}, True
    k = rng.integers(len(right))
    wrong = pick(rng, WRONG_OUTS)(right[k], arrays)
    if wrong is None:
        return {}, True
    right[k] = wrong
    return {"out": right[0] if kernel.program.single else right}, False


def overlapping(out, arrays):
    """An array that overlaps an input which the kernel reads without a copy."""
    for x in arrays:
        readable = isinstance(x, np.ndarray) and x.dtype == out.dtype and x.flags.carray
        if readable and out.size and x.size >= out.size:
            return x.reshape(-1)[: out.size].reshape(out.shape)
    return None


WRONG_OUTS = (
    overlapping,
    lambda out, _: out.astype("float16"),
    lambda out, _: out.astype(out.dtype.newbyteorder()),
    lambda out, _: np.zeros((*out.shape, 2), out.dtype),
    lambda out, _: np.zeros((*out.shape, 2), out.dtype)[..., 0] if out.size > 1 else None,
    lambda out, _: read_only(None, out),
    lambda out, _: unaligned(None, out) if out.size else None,
    lambda out, _: out.tolist(),
    lambda out, _: "out",
    lambda out, _: object(),
)
