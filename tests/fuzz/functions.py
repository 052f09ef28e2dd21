"""Random NumPy expressions in user functions: armlet returns NumPy's results or a clear error.

An expression is evaluated by the kernel, by the program with NumPy, in some trials by C code, and
by NumPy itself. The allowed difference is measured: NumPy evaluates the expression again, several
times, with errors of a few units in the last place in every inexact operation. Entries that
rounding errors decide, such as ties of inexact numbers, are not compared.
"""

import ctypes
import re
import shutil
import subprocess
import warnings
from itertools import pairwise

import numpy as np

import armlet
from fuzz import pick

SHAPES = {"x": (3,), "y": (3,), "A": (3, 3), "s": ()}
DRAWS, SLACK, EXACT_BITS = 10, 30, 16
UNIT = 4e-15
BY_ZERO = re.compile("division by zero|raised to a negative power")
"""Errors that constants cause, for example in y / (x - x), since x - x becomes the constant 0."""
SINGULAR = re.compile(r"\*\*|sqrt|cbrt|norm|hypot|unit|std|arcsin|arccos|arctan|log")
"""Functions with infinite derivatives at some points: 0 times infinity in a chain rule is nan."""


def trial(rng, folder):
    texts = [expression(rng, str(rng.choice(list("vvvnmb"))), 4) for _ in range(3)]
    refused = rng.random() < 0.1
    if refused:
        texts[0] = f"({texts[0]}) + ({pick(rng, REFUSED)}).sum()"
    (folder / "expressions.txt").write_text("\n".join(texts))
    call = function_of(texts)
    call.__name__ = "expressions"
    compiled = armlet.function(**SHAPES)(call)
    states = [random_state(rng, scale) for scale in ("any", "any", "ties", "zeros", "large")]
    try:
        program = compiled.program
        rows = compiled(*(np.stack(column) for column in zip(*states, strict=True)))
    except armlet.CompileError as error:
        if "a constant is" in str(error):  # for example, log of the constant 0
            return
        expected = refused or BY_ZERO.search(str(error))
        if expected and re.search(r"(<expression>|functions.py), line \d+, in ", str(error)):
            return
        raise
    assert not refused, f"not refused: {texts[0]}"
    from_c = c_function(program, folder) if rng.random() < 0.03 and shutil.which("gcc") else None
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns if all entries are nan
        for k, state in enumerate(states):
            ways = {"kernel": compiled(*state), "NumPy": program.function()(*state)}
            ways["rows"] = [y[k] for y in rows]
            if from_c:
                ways["C"] = from_c(state)
            check(rng, texts, call, state, ways)
        check_derivative(rng, texts, call, program, states[0])


def check(rng, texts, call, state, ways):
    """Raise if a result in `ways` differs from NumPy by more than rounding errors."""
    expected = call(*state)
    noisy = [noisy_call(call, state, draw) for draw in range(DRAWS)]
    for i, (text, y) in enumerate(zip(texts, expected, strict=True)):
        y = np.asarray(y, dtype=float)
        others = np.stack([np.asarray(z[i], dtype=float) for z in noisy])
        agree = (others == y) | (np.isnan(others) & np.isnan(y))
        decided = (agree | (np.isfinite(others) & np.isfinite(y))).all(0)
        spread = np.abs(others - y).max(0)
        for way, results in ways.items():
            found = np.asarray(results[i])
            assert found.shape == y.shape, f"{way}: {found.shape} instead of {y.shape}: {text}"
            same = (found == y) | (np.isnan(found) & np.isnan(y))
            near = np.abs(found - y) <= SLACK * spread + 1e-12 * np.abs(y) + 1e-290
            wrong = decided & ~same & ~(near & np.isfinite(y))
            assert not wrong.any(), f"{way}: {found} instead of {y}: {text} at {state}"


def noisy_call(call, state, draw, few=True):
    NOISE.start(draw, few)
    return call(*(x.view(Noisy) for x in state))


def check_derivative(rng, texts, call, program, state):
    """Raise if derivatives differ from finite differences that rounding errors do not affect."""
    name = str(rng.choice(list(SHAPES)))
    place, h = list(SHAPES).index(name), 1e-5
    derivatives = program.derivative(name, str(rng.choice(["forward", "reverse"]))).function()
    found = derivatives(*state)
    found = found if isinstance(found, tuple) else (found,)

    def at(k, step):
        moved = [np.array(x) for x in state]
        moved[place].flat[k] += step
        return [np.asarray(y, dtype=float) for y in call(*moved)]

    noisy = [noisy_call(call, state, draw, few=False) for draw in range(DRAWS)]
    for k in range(state[place].size):
        steps = [at(k, step) for step in (-2 * h, -h, 0, h, 2 * h)]
        for text, D, others, *y in zip(texts, found, zip(*noisy, strict=True), *steps, strict=True):
            ways = np.stack([(b - a) / h for a, b in pairwise(y)])
            central = (y[3] - y[1]) / (2 * h)
            spread = np.ptp(ways, axis=0)
            size = np.abs(np.stack(y)).max(0)
            rounding = np.ptp(np.stack([np.asarray(z, dtype=float) for z in others]), axis=0)
            smooth = (spread <= 1e-2 * (1e-3 + np.abs(central))) & (rounding <= 1e-11 * (1 + size))
            entry = D.reshape(*y[0].shape, -1)[..., k]
            near = np.abs(entry - central) <= spread + 1e-4 * np.abs(central) + 1e-9 * (1 + size)
            wrong = smooth & ~near & ~(np.isnan(entry) & bool(SINGULAR.search(text)))
            assert not wrong.any(), f"by {name}[{k}]: {entry} for {central}: {text} at {state}"


def function_of(texts):
    """Return a function that evaluates all expressions."""
    joined = ", ".join(texts)
    code = compile(f"lambda x, y, A, s: ({joined},)", "<expression>", "eval")
    return eval(code, {"np": np, "masked": masked, "sinc": sinc, "unit": unit})


def random_state(rng, scale):
    def entries(shape):
        match scale:
            case "any":
                return rng.uniform(-3, 3, shape)
            case "ties":
                return rng.integers(-4, 5, shape) / 2
            case "zeros":
                return rng.choice([0.0, -0.0, 1.0], shape)
        return np.round(rng.uniform(-1e6, 1e6, shape))

    return [np.asarray(entries(shape)) for shape in SHAPES.values()]


def c_function(program, folder):
    """Compile the C source of a program, and return it as a function of the state."""
    (folder / "it.c").write_text(program.source("c"))
    command = ["gcc", "-O1", "-ffp-contract=off", "-shared", "-fPIC", "it.c", "-lm", "-o", "it.so"]
    subprocess.run(command, cwd=folder, check=True)
    function = getattr(ctypes.CDLL(str(folder / "it.so")), program.name)

    def call(state):
        results = [np.empty(y.shape) for y in program.outputs]
        inputs = [np.ascontiguousarray(x, dtype=float) for x in state]
        function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*inputs, *results)))
        return results

    return call


# ------------------------------------------------------------------ expressions


def masked(x, mask, value):
    x = x.copy()
    x[mask] = value
    return x


def sinc(x):
    return np.where(x == 0, 1.0, np.sin(x) / x)


def unit(x):
    length = np.linalg.norm(x)
    return np.where(length > 0, x / length, 0 * x)


# <v> is a vector of three entries, <n> a number, <m> a 3 × 3 matrix, <b> a mask of three entries
GRAMMAR = {
    "v": """
        x y x y (<v>+<v>) (<v>-<v>) (<v>*<v>) (<v>/<v>) (-<v>) abs(<v>) (<v>+<n>) (<n>*<v>)
        (<v>**2) (<v>**3) (abs(<v>)**1.5) (abs(<v>)**<v>) (2.0**<v>) (<v>**-1) (<v>%2) (<v>%<v>)
        (<v>//0.5) (<v>//<v>) np.fmod(<v>,<v>) np.divmod(<v>,<n>)[1] np.where(<b>,<v>,<v>)
        np.minimum(<v>,<v>) np.maximum(<v>,<n>) np.clip(<v>,-1,<n>) np.clip(<v>,-abs(<v>),1)
        np.fmin(<v>,<v>) np.sin(<v>) np.cos(<v>) np.tan(<v>) np.arcsin(<v>) np.arccos(<v>)
        np.arctan(<v>) np.arctan2(<v>,<v>) np.hypot(<v>,<v>) np.sqrt(<v>) np.cbrt(<v>)
        np.exp(-abs(<v>)) np.exp(<v>) np.expm1(<v>) np.log(<v>) np.log1p(<v>) np.sinh(<v>)
        np.cosh(<v>) np.tanh(<v>) np.arcsinh(<v>) np.arctanh(<v>) np.arccosh(<v>) np.sign(<v>)
        np.floor(<v>) np.ceil(<v>) np.rint(<v>) np.trunc(<v>) np.round(<v>,1) np.copysign(<v>,<v>)
        np.heaviside(<v>,0.5) np.logaddexp(<v>,<v>) np.deg2rad(<v>) np.square(<v>)
        np.reciprocal(<v>) np.sinc(<v>) np.modf(<v>)[0] (<m>@<v>) (<v>@<m>) <m>[0] <m>[:,1]
        <m>.sum(axis=0) <m>.max(axis=1) np.diag(<m>) np.cross(<v>,<v>) np.cumsum(<v>)
        np.stack([<n>,<n>,<n>]) np.concatenate([<v>[:2],<v>[2:]]) <v>[::-1] <v>[[2,0,1]]
        (<b>*<v>) np.roll(<v>,1) np.select([<b>,<b>],[<v>,<v>],<v>) masked(<v>,<b>,<n>)
        masked(<v>,<b>,0) sinc(<v>) unit(<v>) np.maximum.accumulate(<v>) np.append(<v>[1:],<n>)
        np.linalg.norm(<m>,axis=1) np.exp2(<v>) np.log2(<v>) np.log10(<v>) np.nan_to_num(<v>)
    """,
    "n": """
        s s (<n>+2.0) (3*<n>) (<n>-0.5) (1/<n>) (<n>+<n>) (<n>-<n>) (<n>*<n>) (<n>/<n>) (-<n>)
        abs(<n>) (<n>**2) (<n>%2) (<n>//<n>) (<v>@<v>) <v>[0] <v>[-1] <m>[1,2] <v>.sum()
        <v>.mean() <v>.prod()
        <v>.max() <v>.min() np.ptp(<v>) <v>.std() <b>.sum() np.linalg.norm(<v>) np.trace(<m>)
        np.minimum(<n>,<n>) np.where(<n>>0,<n>,<n>) np.sqrt(<n>) np.sin(<n>) np.tan(<n>)
        np.hypot(<n>,<n>) np.arctan2(<n>,<n>) np.linalg.norm(<v>,1) np.linalg.norm(<v>,np.inf)
        np.count_nonzero(<v>) np.where(<b>.any(),<n>,<n>) np.where(<b>.all(),<n>,<n>)
        np.nansum(<v>) np.nanmax(<v>) np.nanmin(<v>) np.logaddexp2(<n>,<n>)
    """,
    "m": """
        A A np.outer(<v>,<v>) (<m>@<m>) <m>.T (<m>+<m>) (<m>*<v>) (<v>[:,None]*<m>) (<n>*<m>)
        np.stack([<v>,<v>,<v>]) np.vstack([<m>[:2],<v>]) np.where(<b>,<m>,<m>) np.abs(<m>)
        np.triu(<m>) (<m>-np.eye(3)) np.minimum(<m>,<v>) np.sqrt(<m>) np.diag(<v>)
    """,
    "b": """
        (<v><<v>) (<v><=<v>) (<v>><n>) (<v>>=<v>) (<v>==<v>) (<v>!=<v>) (<v>==0) (<v>!=<n>)
        (<b>&<b>) (<b>|<b>) (<b>^<b>) (~<b>) np.isnan(<v>) np.isfinite(<v>) np.isinf(<v>)
        np.signbit(x) np.logical_and(<v>,<v>) np.logical_not(<v>) np.isclose(<v>,<v>)
    """,
}
TEMPLATES = {kind: text.split() for kind, text in GRAMMAR.items()}
LEAVES = {"v": ("x", "y"), "n": ("s",), "m": ("A",), "b": ("(x>0)", "(x<y)")}
REFUSED = ("np.sort(x)", "x[x>0]", "np.median(x)", "x.argsort()", "np.array([float(s)])")


def expression(rng, kind, depth):
    template = pick(rng, TEMPLATES[kind] if depth else LEAVES[kind])
    return re.sub(
        "<([vnmb])>", lambda found: expression(rng, found[1], rng.integers(depth)), template
    )


# ------------------------------------------------------------------ rounding


class Noisy(np.ndarray):
    """An array whose inexact operations are off by a few units in the last place."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [x.view(np.ndarray) if isinstance(x, Noisy) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(x.view(np.ndarray) for x in out)
        rounds = ufunc.__name__ not in EXACT.split()
        if rounds:
            plain = [off(x) for x in plain]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc in (np.equal, np.not_equal) and NOISE.draw % 2:
            a, b = (np.asarray(x, dtype=float) for x in plain)
            exact = has_few_bits(a) & has_few_bits(b)
            tie = ~exact & (np.abs(a - b) <= 8 * UNIT * np.abs(a))
            result = np.where(tie, ufunc is np.equal, result)
        if not rounds:
            return as_noisy(any_zero(result)) if out is None else out[0]
        least = 1e-15 if ufunc.__name__ in COARSE.split() else 0
        if ufunc.__name__ in REMAINDERS:
            exact = has_few_bits(plain[0]) & has_few_bits(plain[1])
            least = np.where(exact, 0, UNIT * np.abs(plain[0]))
            ratio = plain[0] / plain[1]
            multiple = ~exact & (np.abs(ratio - np.rint(ratio)) <= 8 * UNIT * np.abs(ratio))
            if NOISE.draw % 2:
                last = np.where(multiple, 0.0, result[-1] if ufunc.nout == 2 else result)
                result = (result[0], last) if ufunc.nout == 2 else last
        unsure = ufunc.nin > 1 and is_unsure(plain)
        results = result if isinstance(result, tuple) else (result,)
        results = [as_noisy(anything(x) if unsure else off(x, least)) for x in results]
        if out is not None:
            out[0][...] = results[0]
            return out[0]
        return tuple(results) if isinstance(result, tuple) else results[0]

    def __array_function__(self, function, types, args, options):
        """Call a NumPy function; make the result noisy if the function returns a plain array."""
        if function is np.cross:
            x, y = (np.asarray(z).view(Noisy) for z in args)
            return x[[1, 2, 0]] * y[[2, 0, 1]] - x[[2, 0, 1]] * y[[1, 2, 0]]
        result = super().__array_function__(function, types, args, options)
        if isinstance(result, Noisy) or not isinstance(result, np.ndarray | np.generic):
            return result
        computes = function in (np.outer, np.linalg.norm)
        numbers = [x for x in args if isinstance(x, np.ndarray)]
        unsure = computes and not all(np.isfinite(x).all() for x in numbers)
        return as_noisy(anything(result) if unsure else off(result) if computes else result)


EXACT = """
    less less_equal greater greater_equal equal not_equal logical_and logical_or logical_not
    logical_xor bitwise_and bitwise_or bitwise_xor invert minimum maximum fmin fmax sign absolute
    negative positive floor ceil trunc rint copysign signbit isnan isinf isfinite clip heaviside
"""
"""The functions whose results are not rounded."""
COARSE = "exp2 log1p arcsinh arccosh arctanh logaddexp logaddexp2 expm1 arccos log"
"""Functions whose error is absolute, not relative to the result."""


class Noise:
    """Random numbers between -1 and 1; every second draw has the negatives of the draw before."""

    few = True
    """Whether operations on numbers with few significant bits are exact."""

    def start(self, draw, few):
        self.draw, self.few = draw, few
        self.rng, self.way = np.random.default_rng(draw // 2), 1 - 2 * (draw % 2)

    def numbers(self, shape):
        return self.way * self.rng.uniform(-1, 1, shape)


REMAINDERS = ("remainder", "fmod", "divmod")
"""Functions whose error is the rounding error of their first argument."""
NOISE = Noise()


def as_noisy(x):
    return np.asarray(x).view(Noisy)


def off(x, least=0.0):
    """Add errors in the last place to numbers of many bits; give zeros and nan a random sign."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x
    few = NOISE.few & (least == 0) & has_few_bits(x)
    noise = NOISE.numbers(x.shape)
    near = np.where(few | ~np.isfinite(x), x, x + noise * (UNIT * np.abs(x) + least))
    near = np.where((np.abs(x) <= 2 * np.asarray(least)) & (NOISE.draw % 2 == 1), 0.0, near)
    return np.where((near == 0) | np.isnan(x), np.copysign(near, noise), near)


def any_zero(x):
    """Give zeros a random sign, since sums do not preserve the sign of a zero."""
    x = np.asarray(x)
    return np.where(x == 0, np.copysign(0.0, NOISE.numbers(x.shape)), x) if x.dtype == float else x


def has_few_bits(x):
    scaled = np.ldexp(x, EXACT_BITS)
    return (scaled == np.floor(scaled)) & (np.abs(x) < 2.0**30)


def is_unsure(operands):
    """Whether algebra may change the result: 0 x and x - x become 0 even where x is infinite."""
    zero = [np.any(np.asarray(x) == 0) for x in operands]
    return all(zero) or not all(np.isfinite(x).all() for x in operands)


def anything(x):
    options = (x, *(np.full_like(x, y) for y in (np.nan, 1, 0, np.inf)))
    return options[NOISE.draw % len(options)]
