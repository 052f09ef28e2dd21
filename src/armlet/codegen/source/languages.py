"""How C, C++ and CUDA are written: one table of operations, and a frame for each language."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from armlet.codegen.expand import TRIGONOMETRY
from armlet.codegen.lower import Lowered, Operand
from armlet.codegen.source.c_sincos import sine_functions
from armlet.errors import CompileError

TABLE = {
    "input": "const {T} {out} = {0}[{1}];",
    "add": "const {T} {out} = {0} + {1};",
    "sub": "const {T} {out} = {0} - {1};",
    "mul": "const {T} {out} = {0} * {1};",
    "div": "const {T} {out} = {0} / {1};",
    "neg": "const {T} {out} = -{0};",
    "fma": "const {T} {out} = {0} * {1} + {2};",
    "fms": "const {T} {out} = {0} * {1} - {2};",
    "fnma": "const {T} {out} = {2} - {0} * {1};",
    "sin": "const {T} {out} = sin{f}({0});",
    "cos": "const {T} {out} = cos{f}({0});",
    "sqrt": "const {T} {out} = sqrt{f}({0});",
    "sign": "const {T} {out} = {0} > {zero} ? {one} : {0} < {zero} ? -{one} : {0};",
    "abs": "const {T} {out} = fabs{f}({0});",
    "min": "const {T} {out} = {0} < {1} || {0} != {0} ? {0} : {1};",
    "max": "const {T} {out} = {0} > {1} || {0} != {0} ? {0} : {1};",
    "less": "const {T} {out} = {0} < {1} ? {one} : {zero};",
    "less_equal": "const {T} {out} = {0} <= {1} ? {one} : {zero};",
    "equal": "const {T} {out} = {0} == {1} ? {one} : {zero};",
    "where": "const {T} {out} = {0} != {zero} ? {1} : {2};",
    "exp": "const {T} {out} = exp{f}({0});",
    "log": "const {T} {out} = log{f}({0});",
    "tanh": "const {T} {out} = tanh{f}({0});",
    "atan2": "const {T} {out} = atan2{f}({0}, {1});",
    "pow": "const {T} {out} = pow{f}({0}, {1});",
    "floor": "const {T} {out} = floor{f}({0});",
    "output": "{0}[{1}] = {2};",
}
STRIDED = TABLE | {
    "input": "const {T} {out} = {0}[{1} * stride];",
    "output": "{0}[{1} * stride] = {2};",
}
"""The same where the entries of one state are a stride apart."""
FUSED = {
    "fma": "const {T} {out} = {fma}{f}({0}, {1}, {2});",
    "fms": "const {T} {out} = {fma}{f}({0}, {1}, {minus[2]});",
    "fnma": "const {T} {out} = {fma}{f}({minus[0]}, {1}, {2});",
}
"""The same with one rounding instead of two."""
LIBRARY = ("abs", "exp", "log", "tanh", "atan2", "pow", "floor")
"""Other functions of the C library."""
OWN_SINES = {name: f"const {{T}} {{out}} = armlet_{name}{{f}}({{0}});" for name in TRIGONOMETRY}
"""Sines and cosines by armlet's own functions, which are printed too."""


@dataclass(frozen=True)
class Language:
    """A frame: how functions, arrays and numbers are written."""

    table: Mapping[str, str]
    suffix: str
    """Of the file that holds the functions."""
    preamble: str = ""
    head: str = "void {name}"
    array: str = "{T} {name}[{size}]"
    first: tuple[str, ...] = ()
    """Arguments before those of the program."""
    opening: tuple[str, ...] = ()
    """Lines before those of the program."""
    library: str = ""
    """A line for each function of the library that is called besides sines and roots."""
    kernel: str = ""
    """A second function, made of the first."""
    generic: bool = False
    """Whether the type of numbers is left to the caller."""
    fuses: bool = False
    """Whether every machine that runs it has a fused multiply-add."""
    fma: str = "fma"
    """The function for it; what it needs besides is said before the functions."""
    fma_preamble: str = ""
    local: str = "static"
    """What is said before a function for this file alone."""


DTYPES = {"float64": "double", "float32": "float"}
SINES = ("library", "armlet")
LANGUAGES = {
    "c": Language(TABLE, ".c", "#include <math.h>\n"),
    "cpp": Language(
        TABLE | {"abs": "const {T} {out} = abs({0});"},
        ".hpp",
        "#include <cmath>\n",
        "template <typename T>\ninline void {name}",
        opening=("using std::cos;", "using std::sin;", "using std::sqrt;"),
        library="using std::{0};",
        generic=True,
        fma="multiply_add",
        fma_preamble="""
#ifndef ARMLET_MULTIPLY_ADD
#define ARMLET_MULTIPLY_ADD
/* a b + c, rounded once; of other numbers than the language's own, as they compute it. */
template <typename T>
inline T multiply_add(const T &a, const T &b, const T &c) { return a * b + c; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
inline long double multiply_add(long double a, long double b, long double c)
{
    return std::fma(a, b, c);
}
#endif
""",
    ),
    "cuda": Language(
        STRIDED,
        ".cu",
        head="static __device__ void {name}",
        array="{T} *{name}",
        first=("long long stride",),
        fuses=True,
        local="static __device__",
        kernel="""
/* One thread per state: entry k of state i is at [k * count + i] of its array. */
extern "C" __global__ {head}
{{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {{
        {name}({arguments});
    }}
}}
""",
    ),
}


@dataclass(frozen=True)
class Printer:
    """A language with its options: dtype, fused multiply-adds, and which sines are called."""

    language: Language
    dtype: str = "float64"
    fused: bool = False
    sines: str = "library"

    @property
    def table(self) -> Mapping[str, str]:
        """The line of each operation."""
        fused = FUSED if self.fused else {}
        return {**self.language.table, **fused, **(OWN_SINES if self.own_sines else {})}

    @property
    def own_sines(self) -> bool:
        return self.sines == "armlet"

    @property
    def words(self) -> dict[str, str]:
        """The type of numbers, and what the functions of libm end in."""
        if self.language.generic:
            return {"T": "T", "f": ""}
        return {"T": DTYPES[self.dtype], "f": "f" if self.dtype == "float32" else ""}

    def number(self, x: float) -> str:
        """A constant; it reads back as the same number, or as the nearest of a narrower type."""
        generic = self.language.generic
        with np.errstate(over="ignore"):
            value = np.dtype("float64" if generic else self.dtype).type(x)
        if not np.isfinite(value):
            raise CompileError(f"a constant is {x}: expected a finite {self.dtype}")
        return f"T({value!s})" if generic else f"{value!s}{self.words['f']}"

    def operand(self, a: Operand) -> str:
        """A constant, or the variable that holds the result of an operation."""
        return self.number(a) if isinstance(a, float) else f"v{a}"

    def negative(self, a: Operand) -> str:
        """The same with the other sign."""
        if isinstance(a, float):
            return self.number(-a)
        return f"T(-v{a})" if self.language.generic else f"-v{a}"

    def preamble(self, *codes: Lowered) -> str:
        """What stands before functions that do these operations."""
        ops = {op for code in codes for op, _ in code.operations}
        fma = self.language.fma_preamble if self.fused and ops & FUSED.keys() else ""
        used = ops & set(TRIGONOMETRY) if self.own_sines else set()
        sines = sine_functions(used, self.dtype, self.fused, self.language.local)
        return self.language.preamble + fma + (f"\n{sines}" if sines else "")


def printer_for(
    target: str, dtype: str = "float64", fused: bool | None = None, sines: str = "library"
) -> Printer:
    """How functions are printed, if there is such a target, dtype and choice of sines."""
    for name, value, known in (
        ("target", target, LANGUAGES),
        ("dtype", dtype, DTYPES),
        ("sines", sines, SINES),
    ):
        if value not in known:
            raise CompileError(f"{name} is {value!r}: expected one of {', '.join(known)}")
    language = LANGUAGES[target]
    if language.generic and sines == "armlet":
        raise CompileError(
            "sines is 'armlet': these are of one dtype, and a C++ template is of any type; "
            "expected 'library', or another target"
        )
    return Printer(language, dtype, language.fuses if fused is None else fused, sines)
