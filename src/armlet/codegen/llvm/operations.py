"""How LLVM writes each operation, for one state or for a vector of them."""

from collections.abc import Mapping, Sequence

TABLE = {
    "add": "{out} = fadd {T} {0}, {1}",
    "sub": "{out} = fsub {T} {0}, {1}",
    "mul": "{out} = fmul {T} {0}, {1}",
    "div": "{out} = fdiv {T} {0}, {1}",
    "neg": "{out} = fneg {T} {0}",
    "sqrt": "{out} = call {T} @llvm.sqrt.{S}({T} {0})",
    "sign": "{out}.p = fcmp ogt {T} {0}, {zero}\n"
    "{out}.m = fcmp olt {T} {0}, {zero}\n"
    "{out}.s = select {B} {out}.m, {T} {minus}, {T} {0}\n"
    "{out} = select {B} {out}.p, {T} {plus}, {T} {out}.s",
    "abs": "{out} = call {T} @llvm.fabs.{S}({T} {0})",
    "min": "{out}.c = fcmp olt {T} {0}, {1}\n{out}.n = fcmp uno {T} {0}, {0}\n"
    "{out}.e = or {B} {out}.c, {out}.n\n{out} = select {B} {out}.e, {T} {0}, {T} {1}",
    "max": "{out}.c = fcmp ogt {T} {0}, {1}\n{out}.n = fcmp uno {T} {0}, {0}\n"
    "{out}.e = or {B} {out}.c, {out}.n\n{out} = select {B} {out}.e, {T} {0}, {T} {1}",
    "less": "{out}.c = fcmp olt {T} {0}, {1}\n{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "less_equal": "{out}.c = fcmp ole {T} {0}, {1}\n"
    "{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "equal": "{out}.c = fcmp oeq {T} {0}, {1}\n{out} = select {B} {out}.c, {T} {plus}, {T} {zero}",
    "where": "{out}.c = fcmp une {T} {0}, {zero}\n{out} = select {B} {out}.c, {T} {1}, {T} {2}",
    "floor": "{out} = call {T} @llvm.floor.{S}({T} {0})",
    "fma": "{out} = call {T} @llvm.fma.{S}({T} {0}, {T} {1}, {T} {2})",
    "fms": "{out}.n = fneg {T} {2}\n{out} = call {T} @llvm.fma.{S}({T} {0}, {T} {1}, {T} {out}.n)",
    "fnma": "{out}.n = fneg {T} {0}\n{out} = call {T} @llvm.fma.{S}({T} {out}.n, {T} {1}, {T} {2})",
}
UNFUSED = {
    "fma": "{out}.p = fmul {T} {0}, {1}\n{out} = fadd {T} {out}.p, {2}",
    "fms": "{out}.p = fmul {T} {0}, {1}\n{out} = fsub {T} {out}.p, {2}",
    "fnma": "{out}.p = fmul {T} {0}, {1}\n{out} = fsub {T} {2}, {out}.p",
}
"""The same where the machine has no fused multiply-add."""
LIBRARY = {"exp": 1, "log": 1, "tanh": 1, "atan2": 2, "pow": 2}
"""Functions of the C library and how many operands they take: called for each lane by itself."""


def filled(words: Mapping[str, str], fuses: bool) -> dict[str, str]:
    """The table with words in it, so that operands and {out} alone are left to be filled in."""
    table = TABLE if fuses else TABLE | UNFUSED
    for word, text in words.items():
        table = {op: line.replace("{" + word + "}", text) for op, line in table.items()}
    return table


def library_call(op: str, operands: Sequence[str], out: str, element: str, lanes: int) -> list[str]:
    """The lines that call a function of the C library, for one lane after the other."""
    F, T = element, f"<{lanes} x {element}>"
    function = op if F == "double" else f"{op}f"
    if lanes == 1:
        arguments = ", ".join(f"{F} {x}" for x in operands)
        return [f"{out} = call {F} @{function}({arguments})"]
    lines, found = [], "poison"
    for lane in range(lanes):
        here = f"{out}.{lane}"
        arguments = ", ".join(f"{F} {here}.x{k}" for k in range(len(operands)))
        new = out if lane == lanes - 1 else f"{here}.all"
        lines += [
            *(f"{here}.x{k} = extractelement {T} {x}, i32 {lane}" for k, x in enumerate(operands)),
            f"{here} = call {F} @{function}({arguments})",
            f"{new} = insertelement {T} {found}, {F} {here}, i32 {lane}",
        ]
        found = new
    return lines
