"""Programs as C, C++ and CUDA: the operations one by one, in the frame of a function.

A function takes one array per argument and per result, matrices row by row. It reads all arguments
before it writes, so that a result may overwrite an argument.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from math import prod
from textwrap import indent, wrap

from armlet.codegen.lower import Lowered, lowered
from armlet.codegen.source.languages import LANGUAGES, LIBRARY, Printer, printer_for
from armlet.graph import PRINTERS, Program
from armlet.graph.trace.symbols import with_arguments

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
"""The words of the languages, those of the frames, and macros and globals of standard headers."""
MACROS = re.compile(
    r"(M|FP|DBL|FLT|LDBL|INT|UINT|SIZE|PTRDIFF|WCHAR|WINT|SIG|CHAR|SCHAR|UCHAR|SHRT|USHRT|LONG|"
    r"ULONG|LLONG|ULLONG|MB|RAND|EXIT|X)_[A-Z0-9_]+|u?int(_least|_fast)?\d+_t|u?int(ptr|max)_t|"
    r"(size|ptrdiff)_t"
)
"""Families of macros and types of math.h, float.h, limits.h, stdint.h and stdlib.h."""
LONGEST = 40
WIDTH = 96


def identifier(name: str) -> str:
    """A name that is valid in C, C++, CUDA, CMake and file systems, from any text."""
    word = re.sub("[^0-9A-Za-z]+", "_", name)[:LONGEST].strip("_")
    if not word[:1].isalpha():
        word = f"x_{word}".rstrip("_")
    return f"{word}_" if word in RESERVED.split() or MACROS.fullmatch(word) else word


def plain(text: str) -> str:
    """Any text on one line, without what could end a comment or mean something in a document."""
    return re.sub("[^0-9A-Za-z .,:;()^/+=-]+", "_", text)


def named(program: Program | Lowered) -> tuple[list[str], list[str]]:
    """The arguments and the results of a program as identifiers, all different."""
    count = len(program.outputs)
    plain = ["out"] if count == 1 else [f"out{k}" for k in range(count)]
    results = different(program.names or plain)
    return different(program.inputs, results), results


def different(names: Iterable[str], others: Sequence[str] = ()) -> list[str]:
    """Names as identifiers, of which none is another's, nor that of a variable of the body."""
    words: list[str] = []
    for name in names:
        word = identifier(name)
        while word in (*others, *words) or re.fullmatch(r"v\d+", word):
            word += "_"
        words.append(word)
    return words


def body(code: Lowered, printer: Printer) -> list[str]:
    """The statements that do the operations, in their order."""
    arguments, results = named(code)
    array = dict(zip(code.inputs, arguments, strict=True))
    language, table = printer.language, printer.table
    words = printer.words | {"zero": printer.number(0.0), "one": printer.number(1.0)}
    lines: list[str] = []
    for k, (op, args) in enumerate(code.operations):
        if op == "input":
            operands, minus = [array[args[0]], str(args[1])], []
        else:
            operands, minus = (
                [text(a) for a in args] for text in (printer.operand, printer.negative)
            )
        lines.append(
            table[op].format(*operands, out=f"v{k}", minus=minus, fma=language.fma, **words)
        )
    stores = [
        table["output"].format(name, k, printer.operand(y))
        for name, output in zip(results, code.outputs, strict=True)
        for k, y in enumerate(output.values)
    ]
    read = {args[0] for op, args in code.operations if op == "input"}
    unread = [f"(void){array[name]};" for name in code.inputs if name not in read]
    used = {op for op, _ in code.operations}
    library = [language.library.format(op) for op in LIBRARY if op in used and language.library]
    return [*language.opening, *library, *unread, *lines, *stores]


def prototype(code: Lowered, name: str, printer: Printer) -> str:
    """The head of the function, with one array per argument."""
    head = printer.language.head.format(name=name)
    return _call(head, [*printer.language.first, *_arrays(code, printer)])


def comment(code: Lowered, notes: Sequence[str] = ()) -> str:
    """A comment with the count on the first line, then shapes and notes."""
    shapes = [
        f"{name}: {' x '.join(map(str, shape))}"
        for name, shape in zip(_names(code), _shapes(code), strict=True)
        if len(shape) > 1
    ]
    lines = [str(code.count())]
    for note in (*notes, *shapes):
        lines += wrap(plain(note), WIDTH)
    return "/* " + "\n * ".join(lines) + (" */" if len(lines) == 1 else "\n */")


def definition(code: Lowered, name: str, printer: Printer, notes: Sequence[str] = ()) -> str:
    """The function, with its comment."""
    statements = indent("\n".join(body(code, printer)), "    ")
    head = prototype(code, name, printer)
    arrays = ["long long count", *_arrays(code, printer)]
    kernel = printer.language.kernel.format(
        name=name,
        head=_call(f"void {name}_kernel", arrays),
        arguments=", ".join(["count", *(f"{array} + i" for array in _names(code))]),
    )
    return f"{comment(code, notes)}\n{head}\n{{\n{statements}\n}}\n{kernel}"


def _call(head: str, parameters: Sequence[str]) -> str:
    """A head and its parameters, one on a line where they do not fit on one."""
    line = f"{head}({', '.join(parameters)})"
    if len(line.splitlines()[-1]) < WIDTH:
        return line
    return f"{head}(\n    " + ",\n    ".join(parameters) + ")"


def _arrays(code: Lowered, printer: Printer) -> list[str]:
    """The arguments and results as parameters."""
    T = printer.words["T"]
    kinds = [f"const {T}"] * len(code.inputs) + [T] * len(code.outputs)
    return [
        printer.language.array.format(T=kind, name=name, size=max(1, prod(shape)))
        for kind, name, shape in zip(kinds, _names(code), _shapes(code), strict=True)
    ]


def _names(code: Lowered) -> list[str]:
    arguments, results = named(code)
    return arguments + results


def _shapes(code: Lowered) -> list[tuple[int, ...]]:
    return [*(x.shape for x in code.inputs.values()), *(y.shape for y in code.outputs)]


def printed(
    target: str, program: Program, name: str, dtype: str, fused: bool | None, sines: str
) -> str:
    """The program as source code of one of the languages here; see `Program.source`."""
    printer = printer_for(target, dtype, fused, sines)
    code = lowered(with_arguments(program))
    preamble = printer.preamble(code)
    notes = [f"constants: {', '.join(program.symbols)}"] if program.symbols else []
    text = definition(code, identifier(name), printer, notes)
    return f"{preamble}\n{text}" if preamble else text


PRINTERS.update({target: partial(printed, target) for target in LANGUAGES})
