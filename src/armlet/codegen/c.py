"""Programs as C, C++ and CUDA: one table of operations, and a frame for each language.

A function takes an array for each argument and for each result, matrices row by row. It reads
before it writes, so that a result may take the place of an argument.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from textwrap import indent, wrap
from typing import Any

import numpy as np

from armlet.codegen.expand import expanded
from armlet.errors import CompileError
from armlet.graph import PRINTERS, Program

TABLE = {
    "input": "const {T} {out} = {0}[{1}];",
    "add": "const {T} {out} = {0} + {1};",
    "sub": "const {T} {out} = {0} - {1};",
    "mul": "const {T} {out} = {0} * {1};",
    "div": "const {T} {out} = {0} / {1};",
    "neg": "const {T} {out} = -{0};",
    "sin": "const {T} {out} = sin{f}({0});",
    "cos": "const {T} {out} = cos{f}({0});",
    "sqrt": "const {T} {out} = sqrt{f}({0});",
    "sign": "const {T} {out} = {0} > {zero} ? {one} : {0} < {zero} ? -{one} : {0};",
    "output": "{0}[{1}] = {2};",
}
STRIDED = TABLE | {
    "input": "const {T} {out} = {0}[{1} * stride];",
    "output": "{0}[{1} * stride] = {2};",
}
"""The same where entries of one state stand apart."""


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
    kernel: str = ""
    """A second function, made of the first."""
    generic: bool = False
    """Whether the type of numbers is left to the caller."""

    def words(self, dtype: str) -> dict[str, str]:
        """The type of numbers, and what the functions of libm end in."""
        if self.generic:
            return {"T": "T", "f": ""}
        return {"T": DTYPES[dtype], "f": "f" if dtype == "float32" else ""}

    def number(self, x: float, dtype: str) -> str:
        """A constant; it reads back as the same number, or as the nearest of a narrower type."""
        with np.errstate(over="ignore"):
            value = np.dtype("float64" if self.generic else dtype).type(x)
        if not np.isfinite(value):
            raise CompileError(f"a constant is {x}: expected a finite {dtype}")
        return f"T({value!s})" if self.generic else f"{value!s}{self.words(dtype)['f']}"


DTYPES = {"float64": "double", "float32": "float"}
LANGUAGES = {
    "c": Language(TABLE, ".c", "#include <math.h>\n"),
    "cpp": Language(
        TABLE,
        ".hpp",
        "#include <cmath>\n",
        "template <typename T>\ninline void {name}",
        opening=("using std::cos;", "using std::sin;", "using std::sqrt;"),
        generic=True,
    ),
    "cuda": Language(
        STRIDED,
        ".cu",
        head="static __device__ void {name}",
        array="{T} *{name}",
        first=("long long stride",),
        kernel="""
/* One state a thread: entry k of state i is at [k * count + i] of its array. */
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

RESERVED = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept
    const const_cast consteval constexpr constinit continue cos count decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto i if inline
    int long main mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sin sizeof
    sqrt static static_assert static_cast stride struct switch template this thread_local throw T
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq
"""
"""The words of the languages, and those of the frames."""
LONGEST = 40
WIDTH = 96


def identifier(name: str) -> str:
    """A name that C, C++, CUDA, CMake and file systems take, made of any text."""
    word = re.sub("[^0-9A-Za-z]+", "_", name)[:LONGEST].strip("_")
    if not word[:1].isalpha():
        word = f"x_{word}".rstrip("_")
    return f"{word}_" if word in RESERVED.split() else word


def plain(text: str) -> str:
    """Any text on one line, without what could end a comment or mean something in a document."""
    return re.sub("[^0-9A-Za-z .,:;()^/+=-]+", "_", text)


def named(program: Program) -> tuple[list[str], list[str]]:
    """The arguments and the results of a program as identifiers, all different."""
    count = len(program.outputs)
    results = ["out"] if count == 1 else [f"out{k}" for k in range(count)]
    arguments: list[str] = []
    for name in program.inputs:
        word = identifier(name)
        while word in (*results, *arguments) or re.fullmatch(r"v\d+", word):
            word += "_"
        arguments.append(word)
    return arguments, results


def body(program: Program, language: Language, dtype: str) -> list[str]:
    """The statements that compute a program, in the order of recording."""
    arguments, results = named(program)
    array = dict(zip(program.inputs, arguments, strict=True))
    words = language.words(dtype)
    words |= {"zero": language.number(0, dtype), "one": language.number(1, dtype)}
    lines: list[str] = []
    read: set[str] = set()

    def operand(a: Any) -> str:
        return a if isinstance(a, str) else language.number(a, dtype)

    def meaning(op: str, *operands: Any) -> str:
        out = f"v{len(lines)}"
        if op == "input":
            name, k = operands
            read.add(array[name])
            operands = array[name], str(k)
        lines.append(language.table[op].format(*map(operand, operands), out=out, **words))
        return out

    values = iter(program.replay(meaning))
    stores = [
        language.table["output"].format(name, k, operand(next(values)))
        for name, output in zip(results, program.outputs, strict=True)
        for k in range(output.size)
    ]
    unread = [f"(void){name};" for name in arguments if name not in read]
    return [*language.opening, *unread, *lines, *stores]


def prototype(program: Program, name: str, language: Language, dtype: str) -> str:
    """The head of the function, an array an argument."""
    head = language.head.format(name=name)
    return _call(head, [*language.first, *_arrays(program, language, dtype)])


def comment(program: Program, notes: Sequence[str] = ()) -> str:
    """The count on the first line, then what is to be said of the function."""
    shapes = [
        f"{name}: {' x '.join(map(str, shape))}"
        for name, shape in zip(_names(program), _shapes(program), strict=True)
        if len(shape) > 1
    ]
    lines = [str(program.count())]
    for note in (*notes, *shapes):
        lines += wrap(plain(note), WIDTH)
    return "/* " + "\n * ".join(lines) + (" */" if len(lines) == 1 else "\n */")


def definition(
    program: Program, name: str, language: Language, dtype: str, notes: Sequence[str] = ()
) -> str:
    """The function, with its comment."""
    statements = indent("\n".join(body(program, language, dtype)), "    ")
    head = prototype(program, name, language, dtype)
    arrays = ["long long count", *_arrays(program, language, dtype)]
    kernel = language.kernel.format(
        name=name,
        head=_call(f"void {name}_kernel", arrays),
        arguments=", ".join(["count", *(f"{array} + i" for array in _names(program))]),
    )
    return f"{comment(program, notes)}\n{head}\n{{\n{statements}\n}}\n{kernel}"


def _call(head: str, parameters: Sequence[str]) -> str:
    """A head and its parameters, one on a line where they do not fit on one."""
    line = f"{head}({', '.join(parameters)})"
    if len(line.splitlines()[-1]) < WIDTH:
        return line
    return f"{head}(\n    " + ",\n    ".join(parameters) + ")"


def _arrays(program: Program, language: Language, dtype: str) -> list[str]:
    """The arguments and results as parameters."""
    T = language.words(dtype)["T"]
    kinds = [f"const {T}"] * len(program.inputs) + [T] * len(program.outputs)
    return [
        language.array.format(T=kind, name=name, size=max(1, prod(shape)))
        for kind, name, shape in zip(kinds, _names(program), _shapes(program), strict=True)
    ]


def _names(program: Program) -> list[str]:
    arguments, results = named(program)
    return arguments + results


def _shapes(program: Program) -> list[tuple[int, ...]]:
    return [*program.inputs.values(), *(output.shape for output in program.outputs)]


def checked(program: Program, target: str, dtype: str) -> Language:
    """The language of a target, if a program can be printed in it."""
    if target not in LANGUAGES:
        raise CompileError(f"target is {target!r}: expected one of {', '.join(LANGUAGES)}")
    if dtype not in DTYPES:
        raise CompileError(f"dtype is {dtype!r}: expected one of {', '.join(DTYPES)}")
    program.check_values()
    return LANGUAGES[target]


def printed(target: str, program: Program, name: str, dtype: str) -> str:
    """The program as source code of one of the languages here; see `Program.source`."""
    language = checked(program, target, dtype)
    text = definition(expanded(program), identifier(name), language, dtype)
    return f"{language.preamble}\n{text}" if language.preamble else text


PRINTERS.update({target: partial(printed, target) for target in LANGUAGES})
