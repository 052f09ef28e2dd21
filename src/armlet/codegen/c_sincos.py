"""Sine and cosine as C: operation by operation what `sincos.py` prints for LLVM.

A printed function that calls these is bit-identical to a kernel with any C library.
"""

from math import pi

from armlet.codegen.sincos import COS, QUARTER_PARTS, REACH, ROUND, SIN

FUNCTION = """\
/* Sine and cosine, off by at most 2 units in the last place; beyond {reach} those of libm. */
{qualifier} void armlet_sincos(double x, double *sine, double *cosine)
{{
    if (!(fabs(x) <= {reach})) {{
        *sine = sin(x);
        *cosine = cos(x);
        return;
    }}
    const double t = {t};
    const double k = t - {round};
    const int quadrant = (int)k;
{reduction}
    const double z = r * r;
    double p = {sin[5]};
{p}
    const double odd = r * z;
    const double small = copysign({small}, r);
    double s = {cos[5]};
{s}
    const double half = z * 0.5;
    const double w = 1.0 - half;
    const double rest = 1.0 - w - half;
    const double square = z * z;
    const double tail = {tail};
    const double large = w + tail;
    const double u = (quadrant & 1) ? large : small;
    const double v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}}
"""
PART = """
{qualifier} double armlet_{name}(double x)
{{
    double sine, cosine;
    armlet_sincos(x, &sine, &cosine);
    return {word};
}}
"""
WORDS = {"sin": "sine", "cos": "cosine"}


def sine_functions(used: set[str], fused: bool, qualifier: str) -> str:
    """armlet_sin and armlet_cos, as far as they are used, and what they have in common."""
    if not used:
        return ""

    def fma(a: object, b: object, c: object) -> str:
        return f"fma({a}, {b}, {c})" if fused else f"{a} * {b} + {c}"

    def polynomial(name: str, coefficients: tuple[float, ...]) -> str:
        lines = (f"    {name} = {fma(name, 'z', x)};" for x in reversed(coefficients[:-1]))
        return "\n".join(lines)

    first, second, third = QUARTER_PARTS[fused]
    lines = [
        f"const double r0 = {fma('k', -first, 'x')};",
        f"const double r1 = {fma('k', -second, 'r0')};",
    ]
    if fused:
        lines.append(f"const double r = {fma('k', -third, 'r1')};")
    else:
        lines += [
            f"const double lost = {fma('k', second, '(r1 - r0)')};",
            f"const double r = r1 - ({fma('k', third, 'lost')});",
        ]
    common = FUNCTION.format(
        qualifier=qualifier,
        reach=REACH,
        t=fma("x", 2 / pi, ROUND),
        round=ROUND,
        reduction="\n".join(f"    {line}" for line in lines),
        sin=SIN,
        p=polynomial("p", SIN),
        small=fma("odd", "p", "r"),
        cos=COS,
        s=polynomial("s", COS),
        tail=fma("square", "s", "rest"),
    )
    parts = (
        PART.format(qualifier=qualifier, name=name, word=word)
        for name, word in WORDS.items()
        if name in used
    )
    return common + "".join(parts)
