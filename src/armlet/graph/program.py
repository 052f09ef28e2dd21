"""A program: the operations that outputs need, with named arguments."""

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from armlet._support.gc_pause import without_collections
from armlet.errors import CompileError, DataError
from armlet.graph.assignments import formulas
from armlet.graph.count import Count, counted
from armlet.graph.differentiate import along, derivatives, weighted
from armlet.graph.evaluate.namespaces import function_of, objects
from armlet.graph.graph import Graph, Traced, live
from armlet.graph.inputs import Input, Shape, added, named_inputs
from armlet.graph.results import Names


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """Straight-line code that computes arrays from arrays.

    Attributes
    ----------
    name : str
        What it computes.
    inputs : mapping of str to Input
        The arguments in order, each with the shape of one state's and how often it changes.
    outputs : tuple of arrays
        The results, arrays of traced scalars and numbers.
    single : bool
        Whether a function made of it returns its only output bare, not in a tuple.
    names : tuple of str, optional
        What the outputs are called: then a function made of it returns a named tuple.
    """

    name: str
    inputs: Mapping[str, Input]
    outputs: tuple[np.ndarray[Any, Any], ...]
    graph: Graph
    live: tuple[int, ...]
    single: bool
    names: Names | None = None

    @property
    def nodes(self) -> Iterator[tuple[int, str, tuple[Any, ...]]]:
        """The live operations: number, operation and operands, in the order of recording."""
        return ((i, *self.graph.nodes[i]) for i in self.live)

    @property
    def symbols(self) -> list[str]:
        """The constants that have a name and no value."""
        return [args[0] for _, op, args in self.nodes if op == "symbol"]

    def check_values(self) -> None:
        """Raise if a constant has no value: such a program can be counted and printed, not run."""
        if self.symbols:
            raise CompileError(
                f"{self.name} has symbolic constants ({', '.join(self.symbols[:4])}, …): "
                "they can be counted and printed; give them values, or make them arguments"
            )

    def replay(self, meaning: Callable[..., Any]) -> list[Any]:
        """The outputs in a row, when meaning(op, *operands) is what a node stands for."""
        value: dict[int, Any] = {}
        for i, op, args in self.nodes:
            value[i] = meaning(op, *[value[a.index] if type(a) is Traced else a for a in args])
        flat = (y for output in self.outputs for y in output.flat)
        return [value[y.index] if type(y) is Traced else y for y in flat]

    def count(self) -> Count:
        """The number of multiplications and additions, counted as in the literature."""
        known: dict[str, Any] = vars(self)
        if "counted" not in known:
            known["counted"] = counted(self)
        found: Count = known["counted"]
        return found

    def derivative(self, wrt: str, mode: str = "forward") -> "Program":
        """The program of the partial derivatives of every output by the entries of an input.

        Parameters
        ----------
        wrt : str
            The input to differentiate by.
        mode : {"forward", "reverse"}
            Whether derivatives run along with the operations or back from the outputs; the
            values are the same, the operations are not.

        Returns
        -------
        Program
            The same inputs; each output has the shape of the input appended to its own.

        Examples
        --------
        >>> import armlet
        >>> robot = armlet.load("planar2r")
        >>> program = armlet.trace(robot, "gravity_torque").derivative("q")
        >>> program.outputs[0].shape
        (2, 2)
        """
        if wrt not in self.inputs:
            raise DataError(
                f"{self.name} has no input {wrt!r}; its inputs are {', '.join(self.inputs)}"
            )
        graph = Graph()
        shape = self.inputs[wrt].shape
        flat = self.replay(graph.copy)
        inputs = [graph.input(wrt, k) for k in range(math.prod(shape))]
        rows = iter(derivatives(flat, inputs, mode))
        outputs = [
            np.array([next(rows) for _ in output.flat], dtype=object).reshape(
                (*output.shape, *shape)
            )
            for output in self.outputs
        ]
        name = f"d {self.name} / d {wrt}"
        return program(name, self.inputs, outputs, self.single, self.names)

    def jvp(self) -> "Program":
        """The program of the derivatives of every output along directions of the inputs.

        Returns
        -------
        Program
            Its inputs are those of this program and a direction for each, of its shape; its outputs
            are the derivatives times these directions (Jacobian-vector products).

        Examples
        --------
        >>> import armlet
        >>> armlet.trace(armlet.load("planar2r"), "gravity_torque").jvp()
        <Program jvp of gravity_torque(q, direction_q): 4M 3A, 2 sin>
        """
        graph = Graph()
        flat = self.replay(graph.copy)
        directions = added(self.inputs, "direction", self.inputs.values())
        moved = {
            graph.input(old.name, k).index: graph.input(new.name, k)
            for old, new in zip(self.inputs.values(), directions, strict=True)
            for k in range(old.size)
        }
        found = iter(along(graph, flat, moved))
        outputs = [objects([next(found) for _ in y.flat], y.shape) for y in self.outputs]
        inputs = {**self.inputs, **{x.name: x for x in directions}}
        return program(f"jvp of {self.name}", inputs, outputs, self.single, self.names)

    def vjp(self) -> "Program":
        """The program of the derivatives of a weighted sum of all outputs by every input.

        Returns
        -------
        Program
            Its inputs are those of this program and weights for each output, of its shape; its
            outputs are weights times derivatives (vector-Jacobian products), one array for each
            input of this program. It takes a few times the operations of this program, however many
            inputs there are.

        Examples
        --------
        >>> import armlet
        >>> armlet.trace(armlet.load("planar2r"), "gravity_torque").vjp()
        <Program vjp of gravity_torque(q, weight_gravity_torque): 4M 3A, 2 sin>
        """
        graph = Graph()
        flat = self.replay(graph.copy)
        labels = self.names or [
            self.name if self.single else f"{k}" for k in range(len(self.outputs))
        ]
        shaped = (Input(label, y.shape) for label, y in zip(labels, self.outputs, strict=False))
        weights = added(self.inputs, "weight", shaped)
        seeds = [graph.input(x.name, k) for x in weights for k in range(x.size)]
        by = [graph.input(x.name, k) for x in self.inputs.values() for k in range(x.size)]
        found = iter(weighted(graph, flat, seeds, by))
        outputs = [
            objects([next(found) for _ in range(x.size)], x.shape) for x in self.inputs.values()
        ]
        inputs = {**self.inputs, **{x.name: x for x in weights}}
        return program(f"vjp of {self.name}", inputs, outputs, False, tuple(self.inputs))

    def function(self, library: str | ModuleType = np) -> Callable[..., Any]:
        """The program as a function of the arrays of a library, operation by operation.

        Parameters
        ----------
        library : str or module
            "numpy", "jax" or "torch" for their arrays with any leading axes; "casadi" for its
            matrices; "sympy" or "mpmath" for object arrays of their scalars; or the module itself.

        Returns
        -------
        callable
            Takes the inputs in order, returns the output or the tuple of outputs. Those of JAX and
            PyTorch can be differentiated, mapped and compiled by them; for machine code and exact
            derivatives without a compilation by them, give their arrays to a robot's method or a
            kernel. That of CasADi is a `casadi.Function` with named arguments and results.

        Examples
        --------
        >>> import armlet, sympy
        >>> program = armlet.trace(armlet.load("planar2r"), "gravity_torque")
        >>> tau = program.function("sympy")(sympy.symbols("q1 q2"))
        >>> sympy.simplify(tau[1])
        4.905*cos(q1 + q2)
        """
        return function_of(self, library)

    def check_number(self, args: Sequence[Any]) -> None:
        """Raise if there are not as many arrays as inputs."""
        if len(args) != len(self.inputs):
            raise DataError(
                f"{self.name} takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), "
                f"got {len(args)}"
            )

    def sympy(self) -> tuple[list[tuple[Any, Any]], Any]:
        """The program as SymPy formulas with common subexpressions, as `sympy.cse` returns them.

        Returns
        -------
        replacements : list of (symbol, expression)
            The assignments of `listing`, in order, so that nothing is expanded.
        results : array of expressions, or tuple of arrays
            In the symbols of the replacements and of the arguments: q1, q2, …

        Examples
        --------
        >>> import armlet
        >>> program = armlet.trace(armlet.load("planar2r"), "inertia_matrix")
        >>> replacements, H = program.sympy()
        >>> replacements
        [(c2, cos(q2)), (H11, c2 + 1.66666666666667), (H12, 0.5*c2 + 0.333333333333333)]
        >>> H[1, 0]
        H12
        """
        return formulas(self, importlib.import_module("sympy"))

    def listing(self) -> str:
        """The program as text to read: one assignment to a named variable per line.

        A line is one operation or one sum of products. Sines, cosines and sums of angles are called
        s2, c23 and q23, results after their quantity, constants after their symbol; k1, k2, … are
        computed from constants alone and not counted, t1, t2, … are all others. The lines have
        exactly the operations that `count` counts.

        Examples
        --------
        >>> import armlet
        >>> program = armlet.trace(armlet.load("planar2r"), "gravity_torque")
        >>> print(program.listing())
        # gravity_torque(q): 2M 2A, 2 cos
        c1 = cos(q1)
        q12 = q1 + q2
        c12 = cos(q12)
        g2 = 4.905*c12
        g1 = 14.715*c1 + g2
        <BLANKLINE>
        """
        return self.source("listing")

    def source(
        self,
        target: str = "c",
        *,
        name: str | None = None,
        dtype: str = "float64",
        fused: bool | None = None,
        sines: str = "library",
    ) -> str:
        """The program as source code.

        Parameters
        ----------
        target : {"c", "cpp", "cuda", "python", "matlab", "julia", "latex", "listing"}
            A C99 function; a C++ template; a CUDA device function and kernel, one thread per state;
            a function of NumPy arrays, of MATLAB or Octave, or of Julia; the lines of an align
            environment; the text of `listing`. The last five are for one state, for people to
            read, and take none of the options below but the name.
        name : str, optional
            The name of the function, made an identifier; by default that of the program.
        dtype : {"float64", "float32"}
            The type of numbers; a C++ template takes any.
        fused : bool, optional
            Whether a product and the sum that takes it are one call of `fma`, rounded once, as in
            a kernel, or `a * b + c`, which a compiler may still fuse. By default so for CUDA, where
            all machines fuse, and not so for C and C++, where `fma` is a slow function on
            processors without that instruction, and for compilers that are not told of it (gcc:
            `-mfma`).
        sines : {"library", "armlet"}
            Which sines and cosines are called: those of libm, or armlet's own, which are printed
            too. With these and fused products, results are bit-identical to those of the kernel
            (gcc: `-ffp-contract=off`).

        Returns
        -------
        str
            Same program, same text. In C, its arguments are arrays, the inputs and then the
            outputs. Symbolic constants are arguments too: by keyword in Python and Julia, fields of
            a last argument `constants` in MATLAB, and an array `constants` in the order of
            `symbols` after the inputs in C, C++ and CUDA.

        Examples
        --------
        >>> import armlet
        >>> program = armlet.trace(armlet.load("planar2r"), "friction_torque")
        >>> print(program.source("c", name="friction"))
        #include <math.h>
        <BLANKLINE>
        /* 0M 0A */
        void friction(const double qd[2], double out[2])
        {
            (void)qd;
            out[0] = 0.0;
            out[1] = 0.0;
        }
        <BLANKLINE>
        """
        if target not in PRINTERS:
            raise CompileError(f"target is {target!r}: expected one of {', '.join(PRINTERS)}")
        return PRINTERS[target](self, name or self.name, dtype, fused, sines)

    def __repr__(self) -> str:
        arguments = ", ".join(self.inputs)
        return f"<Program {self.name}({arguments}): {self.count()}>"


PRINTERS: dict[str, Callable[[Program, str, str, bool | None, str], str]] = {}
"""How a program is printed, under a name and for a dtype, by the language; `codegen` fills it."""


def program(
    name: str,
    inputs: Mapping[str, Input],
    outputs: Sequence[np.ndarray[Any, Any]],
    single: bool,
    names: Names | None = None,
) -> Program:
    """The program that computes outputs made of traced scalars."""
    flat = [y for output in outputs for y in output.flat]
    graph = next((y.graph for y in flat if isinstance(y, Traced)), Graph())
    return Program(name, inputs, tuple(outputs), graph, tuple(live(graph, flat)), single, names)


def renewed(value: Mapping[int, Any], x: Any) -> Any:
    """What has become of a scalar, given what has become of each node."""
    return value[x.index] if isinstance(x, Traced) else x


def rebuilt(old: Program, value: Mapping[int, Any]) -> Program:
    """The program with other outputs, given what has become of each node."""
    outputs = [
        objects([renewed(value, y) for y in output.flat], output.shape) for output in old.outputs
    ]
    return program(old.name, old.inputs, outputs, old.single, old.names)


@without_collections
def compact(old: Program) -> Program:
    """The same program in a graph of its own: nodes count from zero, numbers are Python's."""
    graph = Graph()
    value: dict[int, Any] = {}
    for i, op, args in old.nodes:
        plain = [
            value[a.index] if type(a) is Traced else a.item() if isinstance(a, np.generic) else a
            for a in args
        ]
        value[i] = graph.node(op, tuple(plain))
    return rebuilt(old, value)


@without_collections
def traced(
    name: str, function: Callable[..., Any], inputs: Mapping[str, Shape] | Iterable[Input]
) -> Program:
    """The program that a function records when it is called with traced arguments.

    The function takes the graph and one array per input; it returns an array or a tuple of arrays.
    Inputs that are given as shapes by name change with every state.
    """
    graph = Graph()
    args = []
    given = named_inputs(inputs)
    for x in given.values():
        args.append(objects([graph.input(x.name, k) for k in range(x.size)], x.shape))
    result = function(graph, *args)
    single = not isinstance(result, tuple)
    outputs = [np.asarray(y, dtype=object) for y in ((result,) if single else result)]
    return program(name, given, outputs, single)
