"""A program: named arguments, outputs, and the operations that compute the outputs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from armlet._support.gc_pause import without_collections
from armlet._support.lazy import cached_property
from armlet.errors import CompileError, DataError
from armlet.graph.count import Count, count_operations
from armlet.graph.differentiate import derivatives, jvp, vjp
from armlet.graph.evaluate import function_of
from armlet.graph.graph import Array, Graph, Traced, arrays_of_shapes, live, object_array
from armlet.graph.signature import Input, Names, Shape, named_inputs, prefixed_inputs


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """Straight-line code that computes arrays from arrays.

    Attributes
    ----------
    name : str
        What the program computes.
    inputs : mapping of str to Input
        The arguments in order, each with its shape for one state and the rate at which it changes.
    outputs : tuple of arrays
        The results as object arrays of traced scalars and numbers.
    single : bool
        Whether the only output is returned as an array, not in a tuple.
    names : tuple of str, optional
        The names of the outputs. With names, the outputs are returned in a named tuple.
    """

    name: str
    inputs: Mapping[str, Input]
    outputs: tuple[Array, ...]
    graph: Graph
    live: tuple[int, ...]
    single: bool
    names: Names | None = None

    @property
    def nodes(self) -> Iterator[tuple[int, str, tuple[Any, ...]]]:
        """The nodes that outputs depend on, as (index, operation, operands), in recording order."""
        return ((i, *self.graph.nodes[i]) for i in self.live)

    @property
    def symbols(self) -> list[str]:
        """The names of the symbolic constants, which have no value."""
        return [args[0] for _, op, args in self.nodes if op == "symbol"]

    def check_values(self) -> None:
        """Raise CompileError if the program has symbolic constants, so that it cannot be run."""
        if self.symbols:
            raise CompileError(
                f"{self.name} has symbolic constants ({', '.join(self.symbols[:4])}, …): "
                "they can be counted and printed; give them values, or make them arguments"
            )

    def replay(self, meaning: Callable[..., Any]) -> list[Any]:
        """Evaluate each node as `meaning(op, *operands)`; return all output entries in one list."""
        value: dict[int, Any] = {}
        for i, op, args in self.nodes:
            value[i] = meaning(op, *[value[a.index] if type(a) is Traced else a for a in args])
        flat = (y for output in self.outputs for y in output.flat)
        return [value[y.index] if type(y) is Traced else y for y in flat]

    def count(self) -> Count:
        """Return the numbers of operations as a `Count`, by the conventions of the literature."""
        return self._count

    @cached_property
    def _count(self) -> Count:
        return count_operations(op for i, op, _ in self.nodes if not self.graph.constant[i])

    def derivative(self, wrt: str, mode: str = "forward") -> "Program":
        """Return a program that computes the derivatives of all outputs with respect to one input.

        Parameters
        ----------
        wrt : str
            The input to differentiate with respect to.
        mode : {"forward", "reverse"}
            The mode of automatic differentiation. Both modes compute the same values.

        Returns
        -------
        Program
            Takes the same inputs. The shape of `wrt` is appended to the shape of each output.

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
        graph, flat = self.copy()
        x = self.inputs[wrt]
        matrix = derivatives(flat, [graph.input(wrt, k) for k in range(x.size)], mode)
        outputs = arrays_of_shapes(matrix.flat, [(*y.shape, *x.shape) for y in self.outputs])
        name = f"d {self.name} / d {wrt}"
        return program(name, self.inputs, outputs, self.single, self.names)

    def jvp(self) -> "Program":
        """Return a program that computes the Jacobian-vector product of each output.

        Returns
        -------
        Program
            Takes the inputs of this program, followed by one tangent per input, of the same shape.
            Returns the derivative of each output along the tangents.

        Examples
        --------
        >>> import armlet
        >>> armlet.trace(armlet.load("planar2r"), "gravity_torque").jvp()
        <Program jvp of gravity_torque(q, tangent_q): 4M 3A, 2 sin>
        """
        tangents, _, derivatives = with_tangents(self, self.inputs.values())
        outputs = arrays_of_shapes(derivatives, [y.shape for y in self.outputs])
        inputs = named_inputs([*self.inputs.values(), *tangents])
        return program(f"jvp of {self.name}", inputs, outputs, self.single, self.names)

    def vjp(self) -> "Program":
        """Return a program that computes the vector-Jacobian product for each input.

        Returns
        -------
        Program
            Takes the inputs of this program, followed by one cotangent per output, of the same
            shape. Returns the derivative of the sum Σ cotangent · output with respect to each
            input. For any number of inputs, the operation count is a few times the count of this
            program.

        Examples
        --------
        >>> import armlet
        >>> armlet.trace(armlet.load("planar2r"), "gravity_torque").vjp()
        <Program vjp of gravity_torque(q, cotangent_gravity_torque): 4M 3A, 2 sin>
        """
        names = self.names or [
            self.name if self.single else f"{k}" for k in range(len(self.outputs))
        ]
        outputs = {k: Input(names[k], y.shape) for k, y in enumerate(self.outputs)}
        _, cotangents, gradients = with_cotangents(self, outputs, self.inputs.values())
        inputs = named_inputs([*self.inputs.values(), *cotangents])
        return program(f"vjp of {self.name}", inputs, gradients, False, tuple(self.inputs))

    def copy(self) -> tuple[Graph, list[Any]]:
        """Copy the operations to a new graph; return the graph and all output entries in a list."""
        graph = Graph()
        return graph, self.replay(graph.copy)

    def function(self, library: str | ModuleType = np) -> Callable[..., Any]:
        """Return a function that runs the program on arrays of a library, without compilation.

        Parameters
        ----------
        library : str or module
            The library, by name or as a module. With "numpy", "jax" or "torch", arrays may have
            leading axes. With "casadi", arrays are CasADi matrices; with "sympy" and "mpmath",
            they are object arrays of scalars.

        Returns
        -------
        callable
            Takes the inputs in order and returns the output or a tuple of outputs. JAX and PyTorch
            can differentiate, map and compile the function. (Robot methods and kernels also take
            JAX and PyTorch arrays, but run machine code, with exact derivatives.) For CasADi, the
            function is a `casadi.Function` with named arguments and results.

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
        """Raise if the number of arguments differs from the number of inputs."""
        if len(args) != len(self.inputs):
            raise DataError(
                f"{self.name} takes {len(self.inputs)} arrays ({', '.join(self.inputs)}), "
                f"got {len(args)}"
            )

    def sympy(self) -> tuple[list[tuple[Any, Any]], Any]:
        """Return SymPy formulas with common subexpressions, as the pair that `sympy.cse` returns.

        Returns
        -------
        replacements : list of (symbol, expression)
            The assignments that `listing` prints, in order. Expressions are not expanded.
        results : array of expressions, or tuple of arrays
            The outputs, in terms of the symbols of `replacements` and the arguments q1, q2, …

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
        replacements, results = import_module(PRINTING).sympy_formulas(self)
        return replacements, results

    def listing(self) -> str:
        """Return the program as readable text: one assignment to a named variable per line.

        A line is one operation or one sum of products. Sines, cosines and sums of angles have names
        like s2, c23 and q23; results are named after their quantity, constants after their symbol.
        Variables k1, k2, … depend on constants alone; other variables are t1, t2, …. Without the
        lines of k1, k2, …, the listing contains exactly the operations that `count` counts.

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
        """Return the program as source code.

        Parameters
        ----------
        target : {"c", "cpp", "cuda", "python", "matlab", "julia", "latex", "listing"}
            "c": a C99 function. "cpp": a C++ template. "cuda": a device function, and a kernel with
            one thread per state. "python" (NumPy), "matlab" (or Octave), "julia": a function.
            "latex": the lines of an align environment. "listing": as in `listing`. The last five
            targets are for readers: they print code for one state and take no option but `name`.
        name : str, optional
            The function name, converted to a valid identifier; by default the program's name.
        dtype : {"float64", "float32"}
            The type of numbers. A C++ template works for any type.
        fused : bool, optional
            If true, a product and the sum that uses it are printed as one call of `fma`, rounded
            once as in a kernel. If false, they are printed as `a * b + c`, which a compiler may
            still fuse. The default is true for CUDA, where every GPU has the instruction, and false
            for C and C++, where `fma` is slow unless the processor has the instruction and the
            compiler may use it (gcc: `-mfma`).
        sines : {"library", "armlet"}
            "library": call sin and cos of the C library. "armlet": print and call the sine and
            cosine of armlet. With "armlet" and `fused=True`, results are bit-identical to the
            results of the kernel (compile with `-ffp-contract=off` in gcc).

        Returns
        -------
        str
            The source code, equal for equal programs. In C, the function takes arrays: first the
            inputs, then the outputs. Symbolic constants are arguments too: keywords in Python and
            Julia; fields of a last argument `constants` in MATLAB; an array `constants` after the
            inputs, in the order of `symbols`, in C, C++ and CUDA.

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
        text: str = import_module(PRINTING).source(self, target, name, dtype, fused, sines)
        return text

    @without_collections
    def to_dict(self) -> dict[str, Any]:
        """Return the program as data for JSON; operands are node indices, or [x] for a number x."""
        number = {i: k for k, i in enumerate(self.live)}

        def plain(x: Any) -> Any:
            return number[x.index] if isinstance(x, Traced) else [x]

        nodes = [
            [op, *(args if op in ("input", "symbol") else map(plain, args))]
            for _, op, args in self.nodes
        ]
        return {
            "name": self.name,
            "inputs": [[name, list(shape), rate] for name, shape, rate in self.inputs.values()],
            "outputs": [[list(y.shape), [plain(x) for x in y.flat]] for y in self.outputs],
            "single": self.single,
            "names": self.names,
            "nodes": nodes,
        }

    @classmethod
    @without_collections
    def from_dict(cls, data: dict[str, Any]) -> "Program":
        """Create a program from the data that `to_dict` returns."""
        graph = Graph()

        def scalar(x: Any) -> Any:
            return x[0] if isinstance(x, list) else graph.scalars[x]

        for op, *args in data["nodes"]:
            graph.node(op, tuple(args if op in ("input", "symbol") else map(scalar, args)))
        outputs = [
            object_array([scalar(x) for x in entries], tuple(shape))
            for shape, entries in data["outputs"]
        ]
        inputs = named_inputs(
            Input(name, tuple(shape), rate) for name, shape, rate in data["inputs"]
        )
        names = data["names"] and tuple(data["names"])
        return program(data["name"], inputs, outputs, data["single"], names)

    def __repr__(self) -> str:
        arguments = ", ".join(self.inputs)
        return f"<Program {self.name}({arguments}): {self.count()}>"


PRINTING = "armlet.codegen.source"
"""The module that prints programs. It imports this module, so it is imported on first use."""


def program(
    name: str,
    inputs: Mapping[str, Input],
    outputs: Sequence[Array],
    single: bool,
    names: Names | None = None,
) -> Program:
    """Create a program from its outputs, which are arrays of traced scalars and numbers."""
    flat = [y for output in outputs for y in output.flat]
    graph = next((y.graph for y in flat if isinstance(y, Traced)), Graph())
    return Program(name, inputs, tuple(outputs), graph, tuple(live(graph, flat)), single, names)


@without_collections
def trace_function(
    name: str, function: Callable[..., Any], inputs: Mapping[str, Shape] | Iterable[Input]
) -> Program:
    """Call a function with traced arguments, and return its operations as a program.

    The function takes the graph and one array per input; it returns an array or a tuple of arrays.
    """
    graph = Graph()
    described = named_inputs(inputs)
    shapes = [x.shape for x in described.values()]
    result = function(graph, *arrays_of_shapes(graph.entries(described.values()), shapes))
    single = not isinstance(result, tuple)
    outputs = [np.asarray(y, dtype=object) for y in ((result,) if single else result)]
    return program(name, described, outputs, single)


# ------------------------------------------------------------------ passes over a program


def replacement(value: Mapping[int, Any], x: Any) -> Any:
    """Return the new value of operand `x`: `value[x.index]`, or `x` itself if it is a number."""
    return value[x.index] if isinstance(x, Traced) else x


def new_array(value: Mapping[int, Any], old: Array) -> Array:
    """Return a copy of array `old` in which each entry has its new value; see `replacement`."""
    return object_array([replacement(value, x) for x in old.flat], old.shape)


def with_values(old: Program, value: Mapping[int, Any]) -> Program:
    """Return a copy of program `old` with the new values of its outputs; see `replacement`."""
    outputs = [new_array(value, output) for output in old.outputs]
    return program(old.name, old.inputs, outputs, old.single, old.names)


def with_tangents(
    old: Program, active: Iterable[Input]
) -> tuple[list[Input], list[Any], list[Any]]:
    """Return (tangent inputs for `active`, output entries of `old`, tangents of these entries)."""
    graph, flat = old.copy()
    active = list(active)
    tangents = prefixed_inputs(old.inputs, "tangent", active)
    entries = zip(graph.entries(active), graph.entries(tangents), strict=True)
    return tangents, flat, jvp(graph, flat, {x.index: dx for x, dx in entries})


def with_cotangents(
    old: Program, outputs: Mapping[int, Input], wanted: Collection[Input]
) -> tuple[Graph, list[Input], list[Array]]:
    """Return (graph, cotangent inputs, gradients of Σ cotangent · output with respect to `wanted`).

    `outputs` maps the index of each output in the sum to an Input with the output's name and shape.
    """
    graph, flat = old.copy()
    results = arrays_of_shapes(flat, [y.shape for y in old.outputs])
    cotangents = prefixed_inputs(old.inputs, "cotangent", outputs.values())
    entries = [y for k in outputs for y in results[k].flat]
    pulled = vjp(graph, entries, graph.entries(cotangents), graph.entries(wanted))
    return graph, cotangents, arrays_of_shapes(pulled, [x.shape for x in wanted])


@without_collections
def compact(old: Program) -> Program:
    """Copy a program to a new graph without unused nodes; NumPy numbers become Python numbers."""
    graph = Graph()
    value: dict[int, Any] = {}
    for i, op, args in old.nodes:
        plain = [
            value[a.index] if type(a) is Traced else a.item() if isinstance(a, np.generic) else a
            for a in args
        ]
        value[i] = graph.node(op, tuple(plain))
    return with_values(old, value)
