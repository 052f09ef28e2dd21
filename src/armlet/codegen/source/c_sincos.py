"""Sine and cosine as C: operation by operation what `sincos.py` prints for LLVM.

A printed function that calls these is bit-identical to a kernel with any C library.
"""

from math import pi

from armlet.codegen.llvm.sincos import CONSTANTS

FUNCTION = """\
/* Sine and cosine, off by at most 2 units in the last place; beyond {reach} {beyond}. */
{qualifier} void armlet_sincos{f}({T} x, {T} *sine, {T} *cosine)
{{
    if (!(fabs{f}(x) <= {reach})) {{
{far}
        return;
    }}
    const {T} t = {t};
    const {T} k = t - {round};
    const int quadrant = (int)k;
{reduction}
    const {T} z = r * r;
{p}
    const {T} odd = r * z;
    const {T} small = copysign{f}({small}, r);
{s}
    const {T} half = z * {half};
    const {T} w = {one} - half;
    const {T} rest = {one} - w - half;
    const {T} square = z * z;
    const {T} tail = {tail};
    const {T} large = w + tail;
    const {T} u = (quadrant & 1) ? large : small;
    const {T} v = (quadrant & 1) ? small : large;
    *sine = (quadrant & 2) ? -u : u;
    *cosine = ((quadrant + 1) & 2) ? -v : v;
}}
"""
PART = """
{qualifier} {T} armlet_{name}{f}({T} x)
{{
    {T} sine, cosine;
    armlet_sincos{f}(x, &sine, &cosine);
    return {word};
}}
"""
WORDS = {"sin": "sine", "cos": "cosine"}
BEYOND = {"float64": "those of libm", "float32": "as doubles"}
FAR = {
    "float64": ["*sine = sin(x);", "*cosine = cos(x);"],
    "float32": [
        "double wide_sine, wide_cosine;",
        "armlet_sincos((double)x, &wide_sine, &wide_cosine);",
        "*sine = (float)wide_sine;",
        "*cosine = (float)wide_cosine;",
    ],
}
"""What is done with arguments out of reach."""


def sine_functions(used: set[str], dtype: str, fused: bool, qualifier: str) -> str:
    """armlet_sin and armlet_cos of a dtype, as far as they are used, and what they call."""
    if not used:
        return ""
    wider = f"{_both('float64', fused, qualifier)}\n" if dtype == "float32" else ""
    words = {"T": CONSTANTS[dtype].element, "f": CONSTANTS[dtype].suffix, "qualifier": qualifier}
    parts = (PART.format(name=name, word=WORDS[name], **words) for name in WORDS if name in used)
    return wider + _both(dtype, fused, qualifier) + "".join(parts)


def _both(dtype: str, fused: bool, qualifier: str) -> str:
    """The function that computes both."""
    of = CONSTANTS[dtype]
    T, f = of.element, of.suffix

    def number(value: float) -> str:
        return f"{of.nearest(value)!s}{f}"

    def fma(a: object, b: object, c: object) -> str:
        return f"fma{f}({a}, {b}, {c})" if fused else f"{a} * {b} + {c}"

    def polynomial(name: str, coefficients: tuple[float, ...]) -> list[str]:
        *others, first = map(number, coefficients)
        return [
            f"{T} {name} = {first};",
            *(f"{name} = {fma(name, 'z', x)};" for x in reversed(others)),
        ]

    def reduction(first: float, *middle: float, last: float) -> list[str]:
        lines = [f"const {T} r0 = {fma('k', number(-first), 'x')};"]
        r, lost = "r0", ""
        for j, part in enumerate(middle, 1):
            before, r = r, f"r{j}"
            lines.append(f"const {T} {r} = {fma('k', number(-part), before)};")
            if not fused:
                moved = f"({r} - {before}{lost})"
                lines.append(f"const {T} lost{j} = {fma('k', number(part), moved)};")
                lost = f" + lost{j}"
        if fused:
            return [*lines, f"const {T} r = {fma('k', number(-last), r)};"]
        rest = f"k * {number(last)}{lost}"
        return [*lines, f"const {T} r = {r} - ({rest});"]

    def block(lines: list[str], spaces: int = 4) -> str:
        return "\n".join(" " * spaces + line for line in lines)

    *parts, last = of.quarter[fused]
    return FUNCTION.format(
        T=T,
        f=f,
        qualifier=qualifier,
        reach=number(of.reach[fused]),
        beyond=BEYOND[dtype],
        far=block(FAR[dtype], 8),
        t=fma("x", number(2 / pi), number(of.round)),
        round=number(of.round),
        reduction=block(reduction(*parts, last=last)),
        p=block(polynomial("p", of.sin)),
        small=fma("odd", "p", "r"),
        s=block(polynomial("s", of.cos)),
        half=number(0.5),
        one=number(1.0),
        tail=fma("square", "s", "rest"),
    )
