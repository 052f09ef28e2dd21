"""Print programs as functions in C, C++ and CUDA, from a table of operations.

A function takes one array per argument and per result, with matrices stored row by row. It reads
all arguments before it writes results, so that an array may be both argument and result.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from textwrap import indent, wrap
from typing import Any

from armlet.codegen.lower import TRIGONOMETRY, Lowered, Operand, lower, nearest
from armlet.codegen.templates import fill_file
from armlet.errors import CompileError
from armlet.graph import Graph, Input, Program
from armlet.graph.program import replacement, with_values

TABLE = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "neg": "-{0}",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
    "sin": "sin{f}({0})",
    "cos": "cos{f}({0})",
    "sqrt": "sqrt{f}({0})",
    "sign": "{0} > {zero} ? {one} : {0} < {zero} ? -{one} : {0}",
    "abs": "fabs{f}({0})",
    "min": "{0} < {1} || {0} != {0} ? {0} : {1}",
    "max": "{0} > {1} || {0} != {0} ? {0} : {1}",
    "less": "{0} < {1} ? {one} : {zero}",
    "less_equal": "{0} <= {1} ? {one} : {zero}",
    "equal": "{0} == {1} ? {one} : {zero}",
    "where": "{0} != {zero} ? {1} : {2}",
    "exp": "exp{f}({0})",
    "log": "log{f}({0})",
    "tanh": "tanh{f}({0})",
    "atan2": "atan2{f}({0}, {1})",
    "pow": "pow{f}({0}, {1})",
    "floor": "floor{f}({0})",
}
"""Operation -> expression."""
FUSED = {
    "fma": "{fma}{f}({0}, {1}, {2})",
    "fms": "{fma}{f}({0}, {1}, {minus[2]})",
    "fnma": "{fma}{f}({minus[0]}, {1}, {2})",
}
"""Fused operation -> expression with one rounding instead of two."""
LIBRARY = ("abs", "exp", "log", "tanh", "atan2", "pow", "floor")
"""Functions of the C library other than sin, cos and sqrt."""
OWN_SINES = {name: f"armlet_{name}{{f}}({{0}})" for name in TRIGONOMETRY}
"""sin and cos -> calls of armlet's own functions, which are printed as well."""


@dataclass(frozen=True)
class Language:
    """The syntax of functions, arrays and numbers in a language."""

    preamble: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    """Expressions that replace entries of TABLE."""
    head: str = "void {name}"
    array: str = "{T} {name}[{size}]"
    entry: str = "{0}[{1}]"
    first: tuple[str, ...] = ()
    """Additional parameters, in front of those of the program."""
    opening: tuple[str, ...] = ()
    """Lines before the operations of the program."""
    library: str = ""
    """Template of a line for each function of LIBRARY that is called."""
    kernel: str = ""
    """Template file of a CUDA kernel that calls the function."""
    generic: bool = False
    """Whether the type of numbers is a template parameter."""
    fuses: bool = False
    """Whether all machines that the language targets have a fused multiply-add."""
    fma: str = "fma"
    """The function for a fused multiply-add."""
    fma_preamble: str = ""
    """Template file that defines the function `fma`, if the language has none."""
    local: str = "static"
    """Qualifier of functions that are visible only within their own file."""


DTYPES = {"float64": "double", "float32": "float"}
SINES = {"sin": "sine", "cos": "cosine"}
"""Names of the results of the C function armlet_sincos."""
LANGUAGES = {
    "c": Language("#include <math.h>\n"),
    "cpp": Language(
        "#include <cmath>\n",
        own={"abs": "abs({0})"},
        head="template <typename T>\ninline void {name}",
        opening=("using std::cos;", "using std::sin;", "using std::sqrt;"),
        library="using std::{0};",
        generic=True,
        fma="multiply_add",
        fma_preamble="multiply_add.hpp",
    ),
    "cuda": Language(
        head="static __device__ void {name}",
        array="{T} *{name}",
        entry="{0}[{1} * stride]",
        first=("long long stride",),
        fuses=True,
        local="static __device__",
        kernel="kernel.cu",
    ),
}


@dataclass(frozen=True)
class Printer:
    """A language, and the options of `Program.source`: dtype, fused multiply-adds, and sines."""

    language: Language
    dtype: str = "float64"
    fused: bool = False
    sines: str = "library"

    @property
    def table(self) -> Mapping[str, str]:
        """Operation -> expression, with the options applied."""
        fused = FUSED if self.fused else {}
        sines = OWN_SINES if self.sines == "armlet" else {}
        return {**TABLE, **self.language.own, **fused, **sines}

    @property
    def words(self) -> dict[str, str]:
        """Template words: the type T of numbers, and the suffix f of libm functions."""
        if self.language.generic:
            return {"T": "T", "f": ""}
        return {"T": DTYPES[self.dtype], "f": "f" if self.dtype == "float32" else ""}

    def number(self, x: float) -> str:
        """Return a constant as text, exact or rounded to the nearest number of the dtype."""
        generic = self.language.generic
        value = nearest(x, "float64" if generic else self.dtype)
        return f"T({value!s})" if generic else f"{value!s}{self.words['f']}"

    def operand(self, a: Operand) -> str:
        """Return a constant as text, or the variable that holds the result of an operation."""
        return self.number(a) if isinstance(a, float) else f"v{a}"

    def negative(self, a: Operand) -> str:
        if isinstance(a, float):
            return self.number(-a)
        return f"T(-v{a})" if self.language.generic else f"-v{a}"

    def preamble(self, *codes: Lowered) -> str:
        """Return the text before the functions: includes and required helper functions."""
        ops = {op for code in codes for op, _ in code.operations}
        texts = []
        if self.language.fma_preamble and self.fused and ops & FUSED.keys():
            texts.append(fill_file(self.language.fma_preamble, {}))
        names = [op for op in TRIGONOMETRY if op in ops]
        if names and self.sines == "armlet":  # with the operations of `llvm.sincos`
            dtypes = ("float64", "float32") if self.dtype == "float32" else ("float64",)
            ending = "_fused.c" if self.fused else ".c"
            words = {**self.words, "qualifier": self.language.local}
            texts += [fill_file(f"sincos_{dtype}{ending}", words) for dtype in dtypes]
            for op in names:
                texts.append(fill_file("sine.c", {**words, "name": op, "result": SINES[op]}))
        return self.language.preamble + "".join(f"\n{text}" for text in texts)


def printer_for(
    target: str, dtype: str = "float64", fused: bool | None = None, sines: str = "library"
) -> Printer:
    """Return the printer for a target and its options; raise if an option is invalid."""
    for option, value, choices in (
        ("target", target, LANGUAGES),
        ("dtype", dtype, DTYPES),
        ("sines", sines, ("library", "armlet")),
    ):
        if value not in choices:
            raise CompileError(f"{option} is {value!r}: expected one of {', '.join(choices)}")
    language = LANGUAGES[target]
    if language.generic and sines == "armlet":
        raise CompileError(
            "sines is 'armlet': these are of one dtype, and a C++ template is of any type; "
            "expected 'library', or another target"
        )
    return Printer(language, dtype, language.fuses if fused is None else fused, sines)


# ------------------------------------------------------------------ identifiers

RESERVED = """
    abs alignas alignof and and_eq armlet_cos armlet_cosf armlet_sin armlet_sincos
    armlet_sincosf armlet_sinf asm atan2 atan2f auto bitand bitor bool break case catch char
    class compl concept const const_cast consteval constexpr constinit continue copysign
    copysignf cos cosf count decltype default delete do double dynamic_cast else enum exp expf
    explicit export extern fabs fabsf false float fma fmaf for friend goto i if inline int log
    logf long main multiply_add mutable namespace new noexcept not not_eq nullptr operator or
    or_eq private protected public register reinterpret_cast requires restrict return short
    signed sin sinf sizeof sqrt sqrtf static static_assert static_cast stride struct switch T
    tanh tanhf template this thread_local throw true try typedef typeid typename union unsigned
    using virtual void volatile wchar_t while xor xor_eq floor floorf pow powf
    noreturn offsetof assert errno typeof constexpr char8_t char16_t char32_t
    co_await co_return co_yield NULL NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL EOF
    MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS
    fpclassify isfinite isgreater isgreaterequal isinf isless islessequal islessgreater isnan
    isnormal isunordered signbit linux unix i386
    blockIdx blockDim threadIdx gridDim warpSize
"""
"""Keywords, names that templates use, and macros and globals of standard headers."""
MACROS = re.compile(
    r"(M|FP|DBL|FLT|LDBL|INT|UINT|SIZE|PTRDIFF|WCHAR|WINT|SIG|CHAR|SCHAR|UCHAR|SHRT|USHRT|LONG|"
    r"ULONG|LLONG|ULLONG|MB|RAND|EXIT|X|SEEK|FD|NL|MAX|PTHREAD|RENAME)_[A-Z0-9_]+[fl]?\d*x?|"
    r"([A-Z]{3,}|BC|MQ|RE|L)[A-Z0-9_]*_(MAX|MIN|WIDTH|DIG|ENDIAN)|U?INT[A-Z0-9]+_C|"
    r"(HUGE_VAL|SNAN)[A-Z0-9_]*|W(IF)?(EXIT|STOP|CONT|SIGN|NO|TERM|UNTR)[A-Z]+|[LP]_(tmp|cuser|cterm)\w+|"
    r"MAXFLOAT|BUFSIZ|BYTE_ORDER|NFDBITS|NZERO|PIPE_BUF|WORD_BIT|alloca|strn?dupa|std(in|out|err)|"
    r"([bl]e|hto[bl]e)\d+(toh)?|is(canonical|eqsig|signaling|subnormal|zero)|"
    r"u?int(_least|_fast)?\d+_t|u?int(ptr|max)_t|(size|ptrdiff)_t"
)
"""Pattern of macros and types in standard headers, including those of GNU."""
LONGEST = 40
WIDTH = 96
CONSTANTS = "constants"
"""Name of the argument that holds symbolic constants."""


def identifier(name: str) -> str:
    """Convert any text to a name that is valid in C, C++, CUDA, CMake and file systems."""
    word = re.sub("[^0-9A-Za-z]+", "_", name)[:LONGEST].strip("_")
    if not word[:1].isalpha():
        word = f"x_{word}".rstrip("_")
    return f"{word}_" if word in RESERVED.split() or MACROS.fullmatch(word) else word


def one_line(text: str) -> str:
    """Convert any text to one line, without characters that have a meaning in C or Markdown."""
    return re.sub("[^0-9A-Za-z .,:;()^/+=-]+", "_", text)


def parameter_names(program: Program | Lowered) -> tuple[list[str], list[str]]:
    """Return identifiers, all different, for the arguments and for the results of a program."""
    count = len(program.outputs)
    default = ["out"] if count == 1 else [f"out{k}" for k in range(count)]
    results = unique_identifiers(program.names or default)
    return unique_identifiers(program.inputs, results), results


def unique_identifiers(names: Iterable[str], others: Sequence[str] = ()) -> list[str]:
    """Convert names to identifiers that differ from each other, from `others` and from v0, v1, …"""
    words: list[str] = []
    for name in names:
        word = identifier(name)
        while word in (*others, *words) or re.fullmatch(r"v\d+", word):
            word += "_"
        words.append(word)
    return words


def body(code: Lowered, printer: Printer) -> list[str]:
    """Return the statements of a function, in order."""
    arguments, results = parameter_names(code)
    array = dict(zip(code.inputs, arguments, strict=True))
    language, table = printer.language, printer.table
    words = printer.words | {"zero": printer.number(0.0), "one": printer.number(1.0)}
    lines: list[str] = []
    for k, (op, args) in enumerate(code.operations):
        if op == "input":
            value = language.entry.format(array[args[0]], args[1])
        else:
            operands = [printer.operand(a) for a in args]
            minus = [printer.negative(a) for a in args]
            value = table[op].format(*operands, minus=minus, fma=language.fma, **words)
        lines.append(f"const {words['T']} v{k} = {value};")
    stores = [
        f"{language.entry.format(name, k)} = {printer.operand(y)};"
        for name, output in zip(results, code.outputs, strict=True)
        for k, y in enumerate(output.values)
    ]
    read = {args[0] for op, args in code.operations if op == "input"}
    unread = [f"(void){array[name]};" for name in code.inputs if name not in read]
    used = {op for op, _ in code.operations}
    library = [language.library.format(op) for op in LIBRARY if op in used and language.library]
    return [*language.opening, *library, *unread, *lines, *stores]


def prototype(code: Lowered, name: str, printer: Printer) -> str:
    """Return the head of a function, with one array per argument and result."""
    head = printer.language.head.format(name=name)
    return _call(head, [*printer.language.first, *_arrays(code, printer)])


def comment(code: Lowered, notes: Sequence[str] = ()) -> str:
    """Return a comment: the operation count on the first line, then notes and shapes."""
    shapes = [
        f"{name}: {' x '.join(map(str, shape))}"
        for name, shape in zip(_names(code), _shapes(code), strict=True)
        if len(shape) > 1
    ]
    lines = [str(code.count())]
    for note in (*notes, *shapes):
        lines += wrap(one_line(note), WIDTH)
    return "/* " + "\n * ".join(lines) + (" */" if len(lines) == 1 else "\n */")


def definition(code: Lowered, name: str, printer: Printer, notes: Sequence[str] = ()) -> str:
    """Return a function with a comment in front and, in CUDA, a kernel that calls the function."""
    statements = indent("\n".join(body(code, printer)), "    ")
    head = prototype(code, name, printer)
    arrays = ["long long count", *_arrays(code, printer)]
    text = f"{comment(code, notes)}\n{head}\n{{\n{statements}\n}}\n"
    if not printer.language.kernel:
        return text
    words = {
        "name": name,
        "head": _call(f"void {name}_kernel", arrays),
        "arguments": ", ".join(["count", *(f"{array} + i" for array in _names(code))]),
    }
    return f"{text}\n{fill_file(printer.language.kernel, words)}"


def _call(head: str, parameters: Sequence[str]) -> str:
    """Return a function head, on one line if it fits, else with one parameter per line."""
    line = f"{head}({', '.join(parameters)})"
    if len(line.splitlines()[-1]) < WIDTH:
        return line
    return f"{head}(\n    " + ",\n    ".join(parameters) + ")"


def _arrays(code: Lowered, printer: Printer) -> list[str]:
    T = printer.words["T"]
    types = [f"const {T}"] * len(code.inputs) + [T] * len(code.outputs)
    return [
        printer.language.array.format(T=type_, name=name, size=max(1, prod(shape)))
        for type_, name, shape in zip(types, _names(code), _shapes(code), strict=True)
    ]


def _names(code: Lowered) -> list[str]:
    arguments, results = parameter_names(code)
    return arguments + results


def _shapes(code: Lowered) -> list[tuple[int, ...]]:
    return [*(x.shape for x in code.inputs.values()), *(y.shape for y in code.outputs)]


def print_function(
    program: Program, name: str, target: str, dtype: str, fused: bool | None, sines: str
) -> str:
    """Return a program as a function in C, C++ or CUDA; see `Program.source`."""
    printer = printer_for(target, dtype, fused, sines)
    code = lower(symbols_as_argument(program))
    preamble = printer.preamble(code)
    notes = [f"constants: {', '.join(program.symbols)}"] if program.symbols else []
    text = definition(code, identifier(name), printer, notes)
    return f"{preamble}\n{text}" if preamble else text


def symbols_as_argument(old: Program) -> Program:
    """Replace the symbols of a program, in order, by the entries of a new argument `constants`."""
    symbols = old.symbols
    if not symbols:
        return old
    if CONSTANTS in old.inputs:
        raise CompileError(
            f"{old.name} has symbolic constants and an argument called {CONSTANTS!r} too: expected "
            "another name for the argument"
        )
    graph = Graph()
    place = {name: k for k, name in enumerate(symbols)}
    value: dict[int, Any] = {}
    for i, op, args in old.nodes:
        if op == "symbol":
            value[i] = graph.input(CONSTANTS, place[args[0]])
        else:
            value[i] = graph.copy(op, *map(partial(replacement, value), args))
    inputs = {**old.inputs, CONSTANTS: Input(CONSTANTS, (len(symbols),), "once")}
    return replace(with_values(old, value), inputs=inputs)
