"""Sine and cosine of a vector, as LLVM IR: range reduction and polynomials, at most 2 ulp.

Valid up to |x| = 1e5. A multiple k of a quarter turn is taken off in three parts, the polynomials
are those of fdlibm on [-π/4, π/4], and the quadrant k mod 4 selects polynomial and sign. Beyond
1e5, and for NaN, the C library is called lane by lane, so that no lane depends on its neighbours.
"""

import struct
from math import pi

REACH = 1e5
QUARTER_PARTS = {
    True: (1.5707963267948966, 6.123233995736765e-17, 1.082856673921914e-32),
    False: (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21),
}
"""π/2 in parts, where the machine fuses and where it does not.

Fused, x - k p₀ is exact. Unfused, two parts have 33 bits, so that their products with k are. All
are positive, so that -0.0 stays what it is.
"""
ROUND = 1.5 * 2.0**52
"""Adding this rounds to a whole number, which then stands in the last bits."""

SIN = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
    2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COS = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
    -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip


def bits(x: float) -> str:
    """A double as LLVM writes it exactly."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


def splat(element: str, value: str, lanes: int) -> str:
    """The same value in every lane."""
    return "<" + ", ".join([f"{element} {value}"] * lanes) + ">"


def near(lanes: int, fuses: bool) -> str:
    """The function @sincos.near of a vector within reach; it returns the pair."""
    V, I, B = f"<{lanes} x double>", f"<{lanes} x i64>", f"<{lanes} x i1>"
    lines: list[str] = []

    def number(value: float) -> str:
        return splat("double", bits(value), lanes)

    def whole(value: int) -> str:
        return splat("i64", str(value), lanes)

    def fma(out: str, a: str, b: str, c: str) -> None:
        if fuses:
            lines.append(f"{out} = call {V} @llvm.fma.v{lanes}f64({V} {a}, {V} {b}, {V} {c})")
        else:
            lines.extend([f"{out}.p = fmul {V} {a}, {b}", f"{out} = fadd {V} {out}.p, {c}"])

    def polynomial(name: str, coefficients: tuple[float, ...]) -> str:
        value = number(coefficients[-1])
        for k, coefficient in enumerate(reversed(coefficients[:-1])):
            fma(f"%{name}{k}", value, "%z", number(coefficient))
            value = f"%{name}{k}"
        return value

    fma("%t", "%x", number(2 / pi), number(ROUND))
    lines += [f"%k = fsub {V} %t, {number(ROUND)}", f"%quadrant = bitcast {V} %t to {I}"]
    first, second, third = QUARTER_PARTS[fuses]
    fma("%r0", "%k", number(-first), "%x")
    fma("%r1", "%k", number(-second), "%r0")
    if fuses:
        fma("%r", "%k", number(-third), "%r1")
    else:
        lines.append(f"%moved = fsub {V} %r1, %r0")
        fma("%lost", "%k", number(second), "%moved")
        fma("%rest", "%k", number(third), "%lost")
        lines.append(f"%r = fsub {V} %r1, %rest")
    lines += [f"%z = fmul {V} %r, %r", f"%rz = fmul {V} %r, %z"]
    fma("%unsigned", "%rz", polynomial("s", SIN), "%r")
    lines.append(f"%small = call {V} @llvm.copysign.v{lanes}f64({V} %unsigned, {V} %r)")
    lines += [
        f"%zz = fmul {V} %z, %z",
        f"%half = fmul {V} %z, {number(0.5)}",
        f"%w = fsub {V} {number(1.0)}, %half",
        f"%w.lost = fsub {V} {number(1.0)}, %w",
        f"%w.rest = fsub {V} %w.lost, %half",
    ]
    fma("%tail", "%zz", polynomial("c", COS), "%w.rest")
    lines += [
        f"%large = fadd {V} %w, %tail",
        f"%odd = trunc {I} %quadrant to {B}",
        f"%sin.size = select {B} %odd, {V} %large, {V} %small",
        f"%cos.size = select {B} %odd, {V} %small, {V} %large",
    ]
    for name, shift in (("sin", 0), ("cos", 1)):
        lines += [
            f"%{name}.turn = add {I} %quadrant, {whole(shift)}",
            f"%{name}.top = shl {I} %{name}.turn, {whole(62)}",
            f"%{name}.sign = and {I} %{name}.top, {whole(-(2**63))}",
            f"%{name}.bits = bitcast {V} %{name}.size to {I}",
            f"%{name}.signed = xor {I} %{name}.bits, %{name}.sign",
            f"%{name} = bitcast {I} %{name}.signed to {V}",
        ]
    return _function("near", lanes, lines, "alwaysinline")


def far(lanes: int) -> str:
    """The function @sincos.far of any vector: the C library for the lanes out of reach."""
    V, B = f"<{lanes} x double>", f"<{lanes} x i1>"
    pair = f"{{ {V}, {V} }}"
    lines = [
        f"%near = call {pair} @sincos.near{lanes}({V} %x)",
        f"%abs = call {V} @llvm.fabs.v{lanes}f64({V} %x)",
        f"%is_far = fcmp ugt {V} %abs, {splat('double', bits(REACH), lanes)}",
    ]
    for part, name in enumerate(("sin", "cos")):
        found = "poison"
        for k in range(lanes):
            lines += [
                f"%{name}.x{k} = extractelement {V} %x, i32 {k}",
                f"%{name}.y{k} = call double @{name}(double %{name}.x{k})",
                f"%{name}.{k} = insertelement {V} {found}, double %{name}.y{k}, i32 {k}",
            ]
            found = f"%{name}.{k}"
        lines += [
            f"%{name}.near = extractvalue {pair} %near, {part}",
            f"%{name} = select {B} %is_far, {V} {found}, {V} %{name}.near",
        ]
    return _function("far", lanes, lines, "noinline")


def _function(name: str, lanes: int, lines: list[str], attribute: str) -> str:
    V = f"<{lanes} x double>"
    pair = f"{{ {V}, {V} }}"
    return "\n".join(
        [
            f"define internal {pair} @sincos.{name}{lanes}({V} %x) {attribute} nounwind {{",
            *lines,
            f"%one = insertvalue {pair} poison, {V} %sin, 0",
            f"%both = insertvalue {pair} %one, {V} %cos, 1",
            f"ret {pair} %both",
            "}",
        ]
    )
