"""Convert programs to readable assignments, each of one operation or one sum of products.

The assignments evaluate each operation of the program once, with the same rounding. Operations on
constants alone come first and are not counted. All other operations keep their order.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from armlet.graph import Program, Traced
from armlet.graph.signature import Shape

LONGEST = 4
"""Largest number of terms in a sum, and of factors in a product, on one line."""
LETTERS = {
    "inverse_dynamics": ("tau",),
    "inertia_matrix": ("H",),
    "bias": ("b",),
    "gravity_torque": ("g",),
    "friction_torque": ("tau",),
    "passive_torque": ("tau",),
    "coriolis_matrix": ("C",),
    "forward_dynamics": ("qdd",),
    "linearization": ("H", "V", "P"),
    "state_space": ("A", "B"),
    "cartesian_model": ("D", "C", "G"),
    "forward_kinematics": ("X",),
    "jacobian": ("Jq",),
    "energy": ("kinetic", "potential"),
    "regressor": ("Y",),
    "gravity_regressor": ("Y",),
    "energy_regressor": ("Y",),
}
"""Quantity -> names of its results."""
RESERVED = """
    abs and array arctan2 as assert asarray async atan atan2 await baremodule begin break case catch
    class const constants continue cos def del do double e elif else elseif end except exp export
    false finally float for from function global i if ifelse im import in inf is j lambda let local
    log macro max maximum min minimum missing module nan nonlocal not nothing numpy or otherwise
    parfor pass permute permutedims persistent pi print quote raise reshape return sign sin spmd
    sqrt struct switch tanh true try using where while with yield False Float64 None True
"""
"""The keywords of Python, MATLAB and Julia, and the names that the printed code uses."""


class Term(NamedTuple):
    """An operation with its operands, within an expression."""

    op: str
    args: tuple["Operand", ...]


Operand = Term | str | int | float
"""An operation, the name of a variable, or a number."""


class Assignment(NamedTuple):
    """The name of a variable, and the expression assigned to the variable."""

    name: str
    value: Operand


class Entry(NamedTuple):
    """A variable that holds an entry of an argument."""

    name: str
    argument: str
    place: tuple[int, ...]
    """The indices of the entry, from zero."""


class Result(NamedTuple):
    """An output: its name and shape, and its entries row by row."""

    name: str
    shape: Shape
    entries: tuple[Assignment, ...]
    """The name of each entry, and the variable or number that the entry equals."""


class Assignments(NamedTuple):
    """A program as assignments, in order."""

    arguments: tuple[str, ...]
    entries: tuple[Entry, ...]
    """The argument entries that the program reads."""
    symbols: tuple[str, ...]
    """The names of symbolic constants."""
    constants: tuple[Assignment, ...]
    """Assignments that depend on constants alone; their operations are not counted."""
    lines: tuple[Assignment, ...]
    """Assignments that depend on arguments; their operations are counted."""
    results: tuple[Result, ...]
    single: bool
    """Whether the only result is returned by itself, not in a tuple."""

    @property
    def copies(self) -> list[Assignment]:
        """The entries of results that equal a number or a variable of another name."""
        return [y for result in self.results for y in result.entries if y.name != y.value]


def assignments(program: Program) -> Assignments:
    """Convert a program to assignments to named variables."""
    names = _Names(program)
    nested = _nested(program)
    value: dict[int, Operand] = {}
    constants: list[Assignment] = []
    lines: list[Assignment] = []
    for i, op, args in program.nodes:
        if op in ("input", "symbol"):
            value[i] = names.of[i]
            continue
        operands = [value[a.index] if isinstance(a, Traced) else _number(a) for a in args]
        inner = {"add": ("add", "sub"), "mul": ("mul",)}.get(op, ())
        if len(operands) == 2 and isinstance(operands[1], Term) and operands[1].op in inner:
            operands.reverse()  # x + (a + b) becomes a + b + x, which has no parentheses
        term = Term(op, tuple(operands))
        if i in nested:
            value[i] = term
        else:
            constant = program.graph.constant[i]
            value[i] = names.variable(i, op, operands, constant)
            (constants if constant else lines).append(Assignment(names.of[i], term))

    def entry(name: str, y: Any) -> Assignment:
        return Assignment(name, value[y.index] if isinstance(y, Traced) else _number(y))

    results = tuple(
        Result(
            name, output.shape, tuple(entry(*pair) for pair in zip(each, output.flat, strict=True))
        )
        for (name, each), output in zip(names.results, program.outputs, strict=True)
    )
    entries = tuple(
        Entry(names.of[i], names.arguments[args[0]], _place(args[1], program.inputs[args[0]].shape))
        for i, op, args in program.nodes
        if op == "input"
    )
    symbols = tuple(names.of[i] for i, op, _ in program.nodes if op == "symbol")
    arguments = tuple(names.arguments.values())
    return Assignments(
        arguments, entries, symbols, tuple(constants), tuple(lines), results, program.single
    )


def _nested(program: Program) -> set[int]:
    """Return the indices of operations to write inside the only expression that uses them."""
    outputs = [y for output in program.outputs for y in output.flat]
    operands = (a for _, _, args in program.nodes for a in args)
    every = (*operands, *outputs, *outputs)  # outputs count twice, to become variables
    uses = Counter(a.index for a in every if isinstance(a, Traced))
    graph = program.graph
    nested: set[int] = set()
    size: dict[int, int] = {}  # the terms of a sum, or the factors of a product

    def takes(i: int, a: Any, ops: Iterable[str]) -> bool:
        """Whether operand `a` is an operation in `ops` that may be written inside node `i`."""
        return (
            isinstance(a, Traced)
            and uses[a.index] == 1
            and a.op in ops
            and graph.constant[a.index] == graph.constant[i]
        )

    def take(a: Traced) -> int:
        nested.add(a.index)
        return size.get(a.index, 2)

    for i, op, args in program.nodes:
        if op in ("add", "sub"):
            size[i] = 2
            sums = [a for a in (args if op == "add" else args[:1]) if takes(i, a, ("add", "sub"))]
            sums = [a for a in sums if size[a.index] < LONGEST]
            if sums:
                size[i] = take(max(sums, key=lambda a: a.index)) + 1
            for a in args:
                if takes(i, a, ("mul",)):
                    take(a)
        elif op == "mul" and all(isinstance(a, Traced) for a in args):
            size[i] = 2
            products = [a for a in args if takes(i, a, ("mul",)) and size.get(a.index, 2) < LONGEST]
            if products:
                size[i] = take(products[-1]) + 1
        elif op == "neg" and takes(i, args[0], ("mul",)):
            take(args[0])
    return nested


def _number(x: Any) -> int | float:
    return x if isinstance(x, int) else float(x)


def _place(k: int, shape: Shape) -> tuple[int, ...]:
    return tuple(int(x) for x in np.unravel_index(k, shape)) if shape else ()


def _entry_name(name: str, place: tuple[int, ...], shape: Shape) -> str:
    """Return the name of an array entry: H12, or H1_12 if an index may have two digits."""
    between = "_" if max(shape, default=0) > 9 else ""
    head = f"{name}_" if name[-1:].isdigit() and place else name
    return head + between.join(str(k + 1) for k in place)


class _Names:
    """The names of the variables of a program, all different."""

    def __init__(self, program: Program) -> None:
        self.taken = set(RESERVED.split())
        self.of: dict[int, str] = {}
        self.joints: dict[str, tuple[int, ...]] = {}
        """Name of a variable -> the joints whose angles add up to the variable."""
        self.count = {"k": 0, "t": 0}
        self.many = max((x.size for x in program.inputs.values()), default=0) > 9
        self.arguments = {name: self.free(name) for name in program.inputs}
        for i, op, args in program.nodes:
            if op == "symbol":
                self.of[i] = self.free(args[0])
        for i, op, args in program.nodes:
            if op == "input":
                argument, k = args
                self.of[i] = self.arguments[argument]
                if shape := program.inputs[argument].shape:  # else its only entry is the argument
                    self.of[i] = self.free(_entry_name(argument, _place(k, shape), shape))
                    if argument == "q":
                        self.joints[self.of[i]] = (k + 1,)
        self.results = [
            self._result(name, y.shape)
            for name, y in zip(_letters(program), program.outputs, strict=True)
        ]
        for (_, names), output in zip(self.results, program.outputs, strict=True):
            for name, y in zip(names, output.flat, strict=True):
                # an operation is named after the first entry that it computes
                if isinstance(y, Traced) and y.op not in ("input", "symbol", "sin", "cos"):
                    self.of.setdefault(y.index, name)

    def free(self, name: str) -> str:
        """Return `name`, changed if necessary to an identifier that no other variable has."""
        word = re.sub("[^0-9A-Za-z]+", "_", name).strip("_") or "x"
        word = word if word[0].isalpha() else f"x_{word}"
        while word in self.taken:
            word += "_"
        self.taken.add(word)
        return word

    def _result(self, name: str, shape: Shape) -> tuple[str, list[str]]:
        """Return the names of an output and of its entries; a scalar has the name of its entry."""
        own = self.free(name)
        if not shape:
            return own, [own]
        return own, [self.free(_entry_name(name, place, shape)) for place in np.ndindex(*shape)]

    def variable(self, i: int, op: str, operands: list[Operand], constant: bool) -> str:
        if i not in self.of:
            self.of[i] = self._descriptive(op, operands) or self._next("k" if constant else "t")
        return self.of[i]

    def _descriptive(self, op: str, operands: list[Operand]) -> str | None:
        """Return a name like s2, c23 or q23 (joint angles), sin_alpha1 (other angles), or None."""
        if op in ("sin", "cos"):
            angle = str(operands[0])
            joints = self.joints.get(angle)
            return self.free(f"{op}_{angle}" if joints is None else op[0] + self._sum(joints))
        terms = [self.joints.get(x) for x in operands if isinstance(x, str)]
        if op == "add" and len(terms) == 2 and None not in terms:
            joints = tuple(sorted(k for angles in terms for k in angles or ()))
            name = self.free("q" + self._sum(joints))
            self.joints[name] = joints
            return name
        return None

    def _sum(self, joints: tuple[int, ...]) -> str:
        return ("_" if self.many else "").join(map(str, joints))

    def _next(self, letter: str) -> str:
        """Return the next free name with a letter and a number: t3 or, for constants, k3."""
        while True:
            self.count[letter] += 1
            name = f"{letter}{self.count[letter]}"
            if name not in self.taken:
                return self.free(name)


def _letters(program: Program) -> list[str]:
    """Return names for the outputs: those of the program or LETTERS, else out or out1, out2, …"""
    count = len(program.outputs)
    if program.names:
        return [LETTERS.get(name, (name,))[0] for name in program.names]
    letters = LETTERS.get(program.name, ())
    if len(letters) == count:
        return list(letters)
    return ["out"] if count == 1 else [f"out{k + 1}" for k in range(count)]
