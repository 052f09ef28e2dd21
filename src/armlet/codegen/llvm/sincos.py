"""Sine and cosine of a vector, as LLVM IR, with an error of at most 2 ulp.

Range reduction subtracts k π/2, in several terms. Polynomials then approximate sine and cosine on
[-π/4, π/4], and the quadrant k mod 4 selects polynomial and sign. All this is computed in the
dtype of the vector. Angles beyond `Constants.reach`, and NaN, are handled separately, without
effect on other lanes: doubles by the C library, singles by conversion to double. Up to `reach`, the
largest error is 1.54 ulp over all singles, and 1.6 ulp over the doubles that were tried.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi

from armlet.codegen.llvm.types import bits, library_call, pair_type, splat, type_suffix, vector_type
from armlet.codegen.lower import nearest
from armlet.codegen.templates import read_blocks

IR = read_blocks("sincos.ll")


@dataclass(frozen=True)
class Constants:
    """Constants of sine and cosine for a dtype: largest angle, range reduction, polynomials."""

    element: str
    bits: int
    reach: Mapping[bool, float]
    """Whether multiply-adds are fused -> the largest |x| with accurate range reduction."""
    round: float
    """Adding this number to x rounds x to an integer, which is in the last bits of the sum."""
    quarter: Mapping[bool, tuple[float, ...]]
    """Whether multiply-adds are fused -> the terms p₀, p₁, … of a sum equal to π/2.

    With fused multiply-adds, x - k p₀ is exact. Without them, all terms but the last have so few
    bits that their products with k are exact. All terms are positive, so that -0.0 stays -0.0.
    """
    sin: tuple[float, ...]
    """Coefficients of a polynomial in r² that approximates (sin r - r) / r³, lowest order first."""
    cos: tuple[float, ...]
    """Coefficients of a polynomial in r² for (cos r - 1 + r²/2) / r⁴, in the same order."""


# fmt: off
CONSTANTS = {
    "float64": Constants(
        "double", bits=64, reach={True: 1e5, False: 1e5}, round=1.5 * 2.0**52,
        quarter={
            True: (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
            False: (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
        },
        sin=(
            -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
            2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
        ),
        cos=(
            4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
            -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
        ),
    ),
    "float32": Constants(
        "float", bits=32, reach={True: 1e5, False: 1e3}, round=1.5 * 2.0**23,
        quarter={
            True: (1.57079625, 7.5497894e-08, 5.3903025e-15),
            False: (1.5706787, 0.000117614865, 9.920313e-10, 6.223372e-14),
        },
        sin=(-0.16666655, 0.008332187, -0.00019517897),
        cos=(0.041666646, -0.001388731, 2.4432327e-05),
    ),
}
# fmt: on
"""Dtype -> constants. The polynomials for doubles are from fdlibm.

The polynomials for singles were fitted to minimize the largest relative error; each coefficient was
rounded before the next was fitted. Without rounding, this error is 4e-9 (sine) or 1e-10 (cosine).
"""


def near(dtype: str, lanes: int, fuses: bool) -> str:
    """Return LLVM IR of @sincos.near: sine and cosine of angles up to `Constants.reach`."""
    of = CONSTANTS[dtype]
    V, S = vector_type(of.element, lanes), type_suffix(of.element, lanes)
    I, B = f"<{lanes} x i{of.bits}>", f"<{lanes} x i1>"
    lines: list[str] = []

    def number(value: float) -> str:
        return splat(of.element, bits(float(nearest(value, dtype))), lanes)

    def whole(value: int) -> str:
        return splat(f"i{of.bits}", str(value), lanes)

    def fma(out: str, a: str, b: str, c: str) -> str:
        if fuses:
            lines.append(f"{out} = call {V} @llvm.fma.{S}({V} {a}, {V} {b}, {V} {c})")
        else:
            lines.extend([f"{out}.p = fmul {V} {a}, {b}", f"{out} = fadd {V} {out}.p, {c}"])
        return out

    def polynomial(name: str, coefficients: tuple[float, ...]) -> str:
        value = number(coefficients[-1])
        for k, coefficient in enumerate(reversed(coefficients[:-1])):
            value = fma(f"%{name}{k}", value, "%z", number(coefficient))
        return value

    def reduction(first: float, *middle: float, last: float) -> None:
        """Append code for %r = x - k π/2; without fused operations, compensate rounding errors."""
        r, lost = fma("%r0", "%k", number(-first), "%x"), ""
        for j, term in enumerate(middle, 1):
            before, r = r, fma(f"%r{j}", "%k", number(-term), r)
            if not fuses:
                moved = f"%moved{j}"
                lines.append(f"{moved} = fsub {V} {r}, {before}")
                if lost:
                    lines.append(f"{moved}.lost = fadd {V} {moved}, {lost}")
                    moved = f"{moved}.lost"
                lost = fma(f"%lost{j}", "%k", number(term), moved)
        if fuses:
            fma("%r", "%k", number(-last), r)
        else:
            rest = fma("%rest", "%k", number(last), lost)
            lines.append(f"%r = fsub {V} {r}, {rest}")

    fma("%t", "%x", number(2 / pi), number(of.round))
    lines += [f"%k = fsub {V} %t, {number(of.round)}", f"%quadrant = bitcast {V} %t to {I}"]
    *terms, last = of.quarter[fuses]
    reduction(*terms, last=last)
    lines += [f"%z = fmul {V} %r, %r", f"%rz = fmul {V} %r, %z"]
    fma("%unsigned", "%rz", polynomial("s", of.sin), "%r")
    lines.append(IR["small"](V=V, S=S, a_half=number(0.5), one=number(1.0)))
    fma("%tail", "%zz", polynomial("c", of.cos), "%w.rest")
    top, bit = whole(of.bits - 2), whole(-(2 ** (of.bits - 1)))
    lines += [
        IR["large"](V=V, I=I, B=B),
        IR["sign"](name="sin", V=V, I=I, shift=whole(0), to_the_top=top, sign_bit=bit),
        IR["sign"](name="cos", V=V, I=I, shift=whole(1), to_the_top=top, sign_bit=bit),
    ]
    return _function("near", of, lanes, lines, "alwaysinline")


def far(dtype: str, lanes: int, fuses: bool) -> str:
    """Return LLVM IR of @sincos.far: sine and cosine of angles of any size."""
    of = CONSTANTS[dtype]
    V = vector_type(of.element, lanes)
    if dtype == "float64":
        far_lanes = [
            *library_call("sin", ["%x"], "%sin.far", "double", lanes),
            *library_call("cos", ["%x"], "%cos.far", "double", lanes),
        ]
    else:
        W, S = vector_type("double", lanes), type_suffix("double", lanes)
        far_lanes = [IR["as_doubles"](V=V, W=W, P=pair_type(W), S=S)]
    text = IR["far"](
        V=V,
        S=type_suffix(of.element, lanes),
        P=pair_type(V),
        B=f"<{lanes} x i1>",
        reach=splat(of.element, bits(of.reach[fuses]), lanes),
        far_lanes=far_lanes,
    )
    return _function("far", of, lanes, [text], "noinline")


def sines(dtype: str, lanes: int, fuses: bool) -> list[str]:
    """Return LLVM IR of @sincos.near, @sincos.far and the functions that they call."""
    wider = sines("float64", lanes, fuses) if dtype == "float32" else []
    return [*wider, near(dtype, lanes, fuses), far(dtype, lanes, fuses)]


def _function(name: str, of: Constants, lanes: int, lines: list[str], attribute: str) -> str:
    V, S = vector_type(of.element, lanes), type_suffix(of.element, lanes)
    return IR["function"](name=name, P=pair_type(V), V=V, S=S, lines=lines, attribute=attribute)
