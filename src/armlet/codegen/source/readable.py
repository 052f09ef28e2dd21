"""Print programs for people to read: a plain listing, Python, MATLAB, Julia and LaTeX.

Each notation has a table of operations and a function that prints the assignments of a program,
one per line. In Python, MATLAB and Julia, symbolic constants are passed by name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from math import isfinite
from textwrap import indent
from typing import Any, NamedTuple

from armlet.codegen.source.assignments import (
    Assignment,
    Assignments,
    Operand,
    Result,
    Term,
    assignments,
)
from armlet.codegen.source.c import one_line
from armlet.errors import CompileError
from armlet.graph import OPERATIONS, Count, Program
from armlet.graph.graph import object_array

Table = Mapping[str, str]
LEVEL = {"add": 1, "sub": 1, "neg": 1, "mul": 2, "div": 2}
"""Precedence of operators; functions, names and numbers have the precedence TIGHTEST."""
TIGHTEST = 3
OFF_LINE, ON_LINE = "constants, not counted", "state"
"""Headings of assignments that depend on constants alone, and of all other assignments."""
PLAIN = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0}*{1}",
    "div": "{0}/{1}",
    "neg": "-{0}",
    "where": "where({0} != 0, {1}, {2})",
    **{
        op: f"{op}({{0}})"
        for op in ("sin", "cos", "sqrt", "sign", "abs", "exp", "log", "tanh", "floor")
    },
    **{
        op: f"{op}({{0}}, {{1}})"
        for op in ("min", "max", "less", "less_equal", "equal", "atan2", "pow")
    },
}
"""Operation -> text in a listing and, with few exceptions, in Python, MATLAB and Julia."""
PYTHON = PLAIN | {
    "min": "minimum({0}, {1})",
    "max": "maximum({0}, {1})",
    "less": "float({0} < {1})",
    "less_equal": "float({0} <= {1})",
    "equal": "float({0} == {1})",
    "pow": "float_power({0}, {1})",
    "atan2": "arctan2({0}, {1})",
}
MATLAB = PLAIN | {
    "less": "double({0} < {1})",
    "less_equal": "double({0} <= {1})",
    "equal": "double({0} == {1})",
    "pow": "power({0}, {1})",
    "where": "if {0} ~= 0, {out} = {1}; else, {out} = {2}; end",
}
JULIA = PLAIN | {
    "less": "Float64({0} < {1})",
    "less_equal": "Float64({0} <= {1})",
    "equal": "Float64({0} == {1})",
    "pow": "({0})^({1})",
    "where": "ifelse({0} != 0, {1}, {2})",
    "atan2": "atan({0}, {1})",
}
LATEX = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": r"{0}\, {1}",
    "div": r"\frac{{{0}}}{{{1}}}",
    "neg": "-{0}",
    "sqrt": r"\sqrt{{{0}}}",
    "abs": r"\lvert {0} \rvert",
    "sign": r"\operatorname{{sign}}({0})",
    "less": r"[{0} < {1}]",
    "less_equal": r"[{0} \le {1}]",
    "equal": r"[{0} = {1}]",
    "pow": r"\left({0}\right)^{{{1}}}",
    "floor": r"\lfloor {0} \rfloor",
    "where": r"\begin{{cases}} {1} & {0} \ne 0 \\ {2} & \text{{otherwise}} \end{{cases}}",
    "atan2": r"\operatorname{{atan2}}({0}, {1})",
    **{op: rf"\{op}({{0}})" for op in ("sin", "cos", "exp", "log", "tanh")},
    **{op: rf"\{op}({{0}}, {{1}})" for op in ("min", "max")},
}
"""Operation -> text in LaTeX; comparisons, whose value is 1 or 0, are in Iverson brackets."""
NUMPY = re.compile(
    r"\b(arctan2|cos|exp|float_power|floor|log|maximum|minimum|sign|sin|sqrt|tanh|where)\("
)
"""Pattern of calls of NumPy functions; `abs` and `float` are Python's own functions."""
GREEK = ("alpha", "beta", "gamma", "delta", "theta", "kappa", "phi", "tau")
ACCENTS = {"qd": r"\dot{q}", "qdd": r"\ddot{q}"}


def expression(x: Operand, table: Table, atom: Callable[[str | float], str], least: int = 0) -> str:
    """Return an expression as text, in parentheses if its precedence is below `least`."""
    if not isinstance(x, Term):
        text = atom(x)
        return f"({text})" if text.startswith("-") and least > TIGHTEST - 1 else text
    level = LEVEL.get(x.op, TIGHTEST)
    inner = [0] * len(x.args)
    if x.op in LEVEL:
        inner = [2] if x.op == "neg" else [level, level + 1]
    operands = [expression(a, table, atom, k) for a, k in zip(x.args, inner, strict=True)]
    text = table[x.op].format(*operands, out="{out}")
    return f"({text})" if level < least else text


def plain_atom(x: str | float) -> str:
    """Return a variable's name, or a constant as text that reads back as the same number."""
    if isinstance(x, str):
        return x
    if not isfinite(x):
        raise CompileError(f"a constant is {x}: expected a finite number")
    return repr(x)


def statement(line: Assignment, table: Table) -> str:
    """Return an assignment as text; for some operations, the table has the whole statement."""
    text = expression(line.value, table, plain_atom)
    whole = isinstance(line.value, Term) and "{out}" in table[line.value.op]
    return text.replace("{out}", line.name) if whole else f"{line.name} = {text}"


def entries_of(result: Result) -> list[str]:
    """Return the entries of a result as text: names of variables, or numbers."""
    return [expression(value, PLAIN, plain_atom) for _, value in result.entries]


def rows_of(result: Result) -> list[list[str]]:
    """Return the entries of a result as text, in one list per row."""
    entries, columns = entries_of(result), result.shape[-1]
    return [entries[k : k + columns] for k in range(0, len(entries), columns)]


# ---------------------------------------------------------------------------------- the listing


def listing(code: Assignments, name: str, count: Count) -> str:
    """Return a listing: `code.constants`, `code.lines` and `code.copies`, one per line."""
    lines = [f"# {one_line(name)}({', '.join(code.arguments)}): {count}"]
    if code.constants:
        lines += ["", f"# {OFF_LINE}", *(statement(line, PLAIN) for line in code.constants)]
        lines += ["", f"# {ON_LINE}"]
    lines += [statement(line, PLAIN) for line in code.lines]
    lines += [statement(line, PLAIN) for line in code.copies]
    return "\n".join([*lines, ""])


# ---------------------------------------------------------------------------------- languages


def python(code: Assignments, name: str, count: Count) -> str:
    """Return Python code with NumPy; symbolic constants are keyword arguments."""
    body = _body(code, _entries(code, "{0} = {1}[{2}]", 0), PYTHON, "# ")
    results = [_numpy_array(result) for result in code.results]
    comma = "" if code.single or len(results) > 1 else ","
    body.append(f"return {', '.join(results)}{comma}")
    text = indent("\n".join(body), "    ")
    used = set(NUMPY.findall(text)) | ({"array"} if "array(" in text else set())
    imports = f"from numpy import {', '.join(sorted(used))}\n\n\n" if used else ""
    keywords = ["*", *code.symbols] if code.symbols else []
    head = _call(f"def {name}", [*code.arguments, *keywords])
    return f'{imports}{head}:\n    """{one_line(name)} of one state: {count}."""\n{text}\n'


def _numpy_array(result: Result) -> str:
    if not result.shape:
        return entries_of(result)[0]
    if len(result.shape) == 1 or not result.entries:
        flat = f"array([{', '.join(entries_of(result))}])"
        return flat if result.entries else f"{flat}.reshape({result.shape})"
    rows = ",\n    ".join(f"[{', '.join(row)}]" for row in rows_of(result))
    array = f"array([\n    {rows},\n])"
    return array if len(result.shape) == 2 else f"{array}.reshape({result.shape})"


def matlab(code: Assignments, name: str, count: Count) -> str:
    """Return MATLAB or Octave code; symbolic constants are fields of the last argument."""
    entries = [f"{symbol} = constants.{symbol};" for symbol in code.symbols]
    entries += _entries(code, "{0} = {1}({2});", 1)
    body = _body(code, entries, MATLAB, "% ", ";")
    arrays = [(result.name, MATLAB_ARRAY.write(result)) for result in code.results]
    body += [f"{name} = {array};" for name, array in arrays if name != array]
    arguments = [*code.arguments, *(["constants"] if code.symbols else [])]
    results = ", ".join(result.name for result in code.results)
    head = f"function [{results}] = {name}({', '.join(arguments)})"
    about = f"% {one_line(name)} of one state: {count}."
    return "\n".join([head, about, indent("\n".join(body), "    "), "end", ""])


def julia(code: Assignments, name: str, count: Count) -> str:
    """Return Julia code; symbolic constants are keyword arguments."""
    body = _body(code, _entries(code, "{0} = {1}[{2}]", 1), JULIA, "# ")
    body.append(f"return {', '.join(map(JULIA_ARRAY.write, code.results))}")
    head = _call(f"function {name}", code.arguments, code.symbols)
    about = f'"{one_line(name)} of one state: {count}."'
    return "\n".join([about, head, indent("\n".join(body), "    "), "end", ""])


class ArrayNotation(NamedTuple):
    """The syntax of arrays in a language that stores arrays column by column."""

    vector: str
    """Separator between the entries of a vector."""
    row: str
    """Separator between the entries in a row of a matrix."""
    rows: str
    """Separator between the rows of a matrix."""
    matrix: str
    other: str
    """Template of an array with more than two axes; takes entries, reversed shape, axis order."""

    def write(self, result: Result) -> str:
        """Return a result as the text of an array, or of a scalar."""
        entries, axes = entries_of(result), len(result.shape)
        if axes == 0:
            return entries[0]
        if axes == 1:
            return f"[{self.vector.join(entries)}]"
        if axes == 2 and entries:
            return self.matrix.format(self.rows.join(map(self.row.join, rows_of(result))))
        sizes = ", ".join(map(str, result.shape[::-1]))
        order = ", ".join(str(k) for k in range(axes, 0, -1))
        return self.other.format(", ".join(entries), sizes, order)


MATLAB_ARRAY = ArrayNotation(
    "; ", ", ", "; ...\n    ", "[{0}]", "permute(reshape([{0}], [{1}]), [{2}])"
)
JULIA_ARRAY = ArrayNotation(
    ", ", " ", "\n    ", "[\n    {0}\n]", "permutedims(reshape([{0}], {1}), ({2}))"
)


def _entries(code: Assignments, line: str, first: int) -> list[str]:
    """Return the lines that read argument entries; indices begin at `first`, 0 or 1."""
    return [
        line.format(name, argument, ", ".join(str(k + first) for k in place))
        for name, argument, place in code.entries
        if place
    ]


def _body(
    code: Assignments, entries: Sequence[str], table: Table, comment: str, end: str = ""
) -> list[str]:
    lines = list(entries)
    if code.constants:
        constants = [f"{statement(line, table)}{end}" for line in code.constants]
        lines += [f"{comment}{OFF_LINE}", *constants, f"{comment}{ON_LINE}"]
    statements = (statement(line, table) for line in code.lines)
    return lines + [text if text.endswith(" end") else f"{text}{end}" for text in statements]


def _call(head: str, parameters: Sequence[str], keywords: Sequence[str] = ()) -> str:
    """Return a function head, wrapped at 96 characters; keywords follow a semicolon."""
    words = [f"{x}, " for x in parameters[:-1]] + [*parameters[-1:]]
    if keywords:
        words[-1:] = [f"{words[-1]}; " if words else "; "]
        words += [f"{x}, " for x in keywords[:-1]] + [keywords[-1]]
    lines = [f"{head}("]
    for word in words:
        if len(lines[-1] + word) > 94:
            lines[-1] = lines[-1].rstrip()
            lines.append("    ")
        lines[-1] += word
    return "\n".join(lines) + ")"


# ---------------------------------------------------------------------------------- LaTeX


def latex(code: Assignments, name: str, count: Count) -> str:
    """Return the assignments as lines of a LaTeX align environment."""
    lines = [
        f"{latex_atom(line.name)} &= {expression(line.value, LATEX, latex_atom)}"
        for line in (*code.constants, *code.lines, *code.copies)
    ]
    return f"% {one_line(name)}: {count}\n" + " \\\\\n".join(lines) + "\n"


def latex_atom(x: str | float) -> str:
    r"""Convert a name or number to LaTeX: qd2 to \dot{q}_{2}, Jxx3 to J_{xx3}, 1e-05 to 10^{-5}."""
    if not isinstance(x, str):
        mantissa, _, exponent = plain_atom(x).partition("e")
        if not exponent:
            return mantissa
        power = f"10^{{{int(exponent)}}}"
        return power if mantissa == "1" else rf"{mantissa} \cdot {power}"
    name = x.rstrip("_")
    head = re.sub(r"_?[0-9][0-9_]*$", "", name)
    index = name[len(head) :].strip("_").replace("_", ",")
    if head in ACCENTS:
        symbol = ACCENTS[head]
    elif head in GREEK:
        symbol = rf"\{head}"
    elif re.fullmatch("[A-Za-z][qxyz]{0,2}", head):
        symbol, index = head[0], head[1:] + index
    else:
        symbol = rf"\mathit{{{head}}}".replace("_", r"\_")
    return f"{symbol}_{{{index}}}" if index else symbol


NOTATIONS: dict[str, Callable[[Assignments, str, Count], str]] = {
    "python": python,
    "matlab": matlab,
    "julia": julia,
    "latex": latex,
    "listing": listing,
}


def sympy_formulas(program: Program) -> tuple[list[tuple[Any, Any]], Any]:
    """Return the assignments as (SymPy symbol, expression) pairs, and the arrays of results."""
    sympy = import_module("sympy")
    code = assignments(program)

    def formula(x: Operand) -> Any:
        if isinstance(x, Term):
            return OPERATIONS[x.op](*map(formula, x.args))
        return sympy.Symbol(x) if isinstance(x, str) else sympy.sympify(x)

    pairs = [(sympy.Symbol(name), formula(value)) for name, value in (*code.constants, *code.lines)]
    arrays = [
        object_array([formula(y.value) for y in result.entries], result.shape)
        for result in code.results
    ]
    return pairs, arrays[0] if program.single else tuple(arrays)
