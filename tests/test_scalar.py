"""Functions of one scalar: the same for every kind, and exact at quarter turns."""

import math

import mpmath
import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from armlet import scalar
from armlet.graph import Graph
from armlet.graph.differentiate import derivatives
from armlet.scalar import cos_sin, is_zero, quarter_turns

KINDS = {
    "float": (float, float, 1e-15),
    "float64": (np.float64, np.float64, 1e-15),
    "float32": (np.float32, np.float32, 1e-6),
    "array": (lambda x: np.full(3, x), np.ndarray, 1e-15),
    "mpf": (mpmath.mpf, mpmath.mpf, 1e-38),
    "sympy": (sympy.Rational, sympy.Expr, 1e-38),
}
"""How to make a scalar of a float, the type that its functions give, and their error."""

every_function = pytest.mark.parametrize("name", ["sin", "cos", "sqrt", "sign"])


def digits(value):
    """The entries of a value, in forty digits."""
    if isinstance(value, sympy.Expr):
        return [mpmath.mpf(str(sympy.N(value, 45)))]
    entries = np.ravel(np.asarray(value)).tolist()
    return [mpmath.mpf(x) for x in entries]


@every_function
@pytest.mark.parametrize(("kind", "gives", "error"), KINDS.values(), ids=KINDS)
@settings(max_examples=20, deadline=None)
@given(x=st.floats(0.125, 8, width=16))
def test_a_function_is_the_same_for_every_kind(name, kind, gives, error, x):
    with mpmath.workdps(40):
        value = getattr(scalar, name)(kind(x))
        assert isinstance(value, gives)
        expected = getattr(mpmath, name)(mpmath.mpf(x))
        assert all(abs(entry - expected) <= error * max(1, expected) for entry in digits(value))


@every_function
def test_a_function_of_what_has_no_value_is_recorded(name):
    function, x, traced = getattr(scalar, name), sympy.Symbol("x"), Graph().input("x", 0)
    assert function(x) == getattr(sympy, name)(x)
    assert function(traced).op == name
    assert function(traced).args == (traced,)


NUMBERS = pytest.mark.parametrize("kind", [float, np.float64, mpmath.mpf, sympy.Float])


@NUMBERS
@given(k=st.integers(-1000, 1000))
def test_quarter_turns_are_exact_integers(kind, k):
    angle = kind(k * math.pi / 2)
    assert quarter_turns(angle) == k
    cosine, sine = cos_sin(angle)
    assert type(cosine) is type(sine) is int
    assert (cosine, sine) == (round(math.cos(k * math.pi / 2)), round(math.sin(k * math.pi / 2)))


@NUMBERS
@given(k=st.integers(-1000, 1000), side=st.sampled_from([-math.inf, math.inf]))
def test_the_next_number_is_not_a_quarter_turn(kind, k, side):
    angle = kind(math.nextafter(k * math.pi / 2, side))
    assert quarter_turns(angle) is None
    assert cos_sin(angle) == (scalar.cos(angle), scalar.sin(angle))


def test_sympy_knows_its_own_angles():
    assert cos_sin(sympy.pi / 2) == (0, 1)
    assert cos_sin(sympy.pi / 3) == (sympy.Rational(1, 2), sympy.sqrt(3) / 2)


@pytest.mark.parametrize("angle", [sympy.Symbol("x"), Graph().input("x", 0), np.zeros(2), 1j])
def test_what_is_not_a_number_has_no_quarter_turns(angle):
    assert quarter_turns(angle) is None


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, mpmath.mpf])
@pytest.mark.parametrize("angle", ["nan", "inf", "-inf"])
def test_angles_that_are_not_finite_give_nan(kind, angle):
    with np.errstate(invalid="ignore"):
        assert all(x != x for x in cos_sin(kind(angle)))


@pytest.mark.parametrize("kind", [float, mpmath.mpf, sympy.Symbol])
def test_only_traced_scalars_know_their_derivatives(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} scalars .* trace first"):
        derivatives([kind("2")], [kind("2")], "forward")


@pytest.mark.parametrize("zero", [0, 0.0, -0.0, False, np.float32(0), np.int64(0)])
def test_zeros_are_known(zero):
    assert is_zero(zero)


@pytest.mark.parametrize("other", [1, 5e-324, math.nan, sympy.Symbol("x"), Graph().input("x", 0)])
def test_what_may_not_be_zero_is_not_known_to_be(other):
    assert not is_zero(other)
