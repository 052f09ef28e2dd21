"""The top layer: tracing a quantity of a robot, and the methods that robots have by name."""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from armlet import codegen, models
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation, Quantity
from armlet.dynamics.singular import is_singular
from armlet.errors import ArmletError, DataWarning, ModelError
from armlet.graph import Program
from armlet.minimal import (
    MinimalParameters,
    check_asked,
    closed_form,
    independent,
    standard_names,
)
from armlet.robot import Robot
from armlet.runtime import Kernel
from armlet.search import Found, cheapest_program
from armlet.tracing import known, tracing_of

ASKED = ("wrench", "frame", "parameters", "rotors", "friction")
"""The options that the methods of robots take; formulations are chosen in a trace."""


def formulations(quantity: str) -> dict[str, Formulation]:
    """The formulations of a quantity by name, with their source and order of growth.

    Examples
    --------
    >>> import armlet
    >>> armlet.formulations("inertia_matrix")["composite_bodies"].growth
    'n^2'
    """
    return FORMULATIONS[known(quantity, QUANTITIES, "quantity")]


def trace(
    robot: Robot,
    quantity: str,
    formulation: str | None = None,
    *,
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    weigh: str = "operations",
    **options: Any,
) -> Program:
    """The program that computes a quantity of a robot.

    Parameters
    ----------
    robot : Robot
    quantity : str
        Such as "inverse_dynamics"; `armlet.QUANTITIES` lists them.
    formulation : str, optional
        One of `armlet.formulations(quantity)`, traced as it is written, in canonical frames. By
        default the cheapest program found, by any formulation, in any frames, simplified.
    constants : mapping of str to str, optional
        How geometry, inertia, gravity and drive constants enter: "fixed" (as numbers, the
        default), "symbolic" (by name, free to compute with) or "argument" (given at run time).
    minimal : bool
        Lump inertias first, which gives the same in fewer operations.
    weigh : {"operations", "multiplications", "additions", "time"}
        What the cheapest program takes least of; the time is measured on this machine.
    **options
        What the quantity takes besides: `wrench=True` makes the tool's wrench on the world an
        argument too, `frame="…"` names the frame that kinematics are asked of (by default the
        tool), `inertia_matrix="…"` and the like name the formulations that one builds on.

    Returns
    -------
    Program
        Its inputs are the state, then the wrench, then the groups that are arguments.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> armlet.trace(robot, "gravity_torque", constants={"inertia": "symbolic"}).count()
    Count(M=4, A=4, functions=(('cos', 2), ('sin', 2)))
    """
    tracing = tracing_of(robot, quantity, constants or {}, minimal, options)
    if formulation is not None:
        if weigh != "operations":
            raise ArmletError("weigh= is for the search: leave it out where a formulation is named")
        return tracing.program(formulation)
    return cheapest_program(tracing, weigh).program


def cheapest(
    robot: Robot,
    quantity: str,
    *,
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    weigh: str = "operations",
    **options: Any,
) -> Found:
    """The cheapest program found for a quantity of a robot, and how it was come by.

    Formulations, places of the frames' origins on their axes and units of length are tried; the
    best is simplified. What was found is kept on disk.

    Parameters
    ----------
    robot, quantity, constants, minimal, weigh, **options
        As in `armlet.trace`.

    Returns
    -------
    Found
        The program, its formulation and arrangement, and the count after each step.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("puma560").without_drives()
    >>> found = armlet.cheapest(robot, "inertia_matrix", constants={"inertia": "symbolic"})
    >>> for step in found.steps:
    ...     print(f"{step.name:17} {step.count.total}")
    composite_bodies  257
    frames            229
    units             215
    constants         210
    """
    tracing = tracing_of(robot, quantity, constants or {}, minimal, options)
    return cheapest_program(tracing, weigh)


def compile(
    robot: Robot,
    quantity: str,
    formulation: str | None = None,
    *,
    dtype: str = "float64",
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    weigh: str = "operations",
    **options: Any,
) -> Kernel:
    """A quantity of a robot as machine code.

    Parameters
    ----------
    robot, quantity, formulation, constants, minimal, weigh, **options
        As in `armlet.trace`; symbolic constants cannot be compiled.
    dtype : {"float64", "float32"}

    Returns
    -------
    Kernel
        Called with the arrays of one state or of many; compiled on the first call.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> kernel = armlet.compile(armlet.load("panda"), "inverse_dynamics")
    >>> kernel(*np.zeros((3, 7))).shape
    (7,)
    """
    program = trace(
        robot, quantity, formulation, constants=constants, minimal=minimal, weigh=weigh, **options
    )
    return Kernel(program, dtype)


def minimal_parameters(
    robot: Robot,
    rotors: bool = False,
    friction: bool = False,
    kind: str = "lin",
    of: str = "torques",
    zero: Sequence[str] = (),
) -> MinimalParameters:
    """The parameters that the torques of a robot depend on, and no more.

    Parameters
    ----------
    robot : Robot
        Of any joints, serial or a tree, under any gravity; a robot with symbols needs SymPy.
    rotors, friction : bool
        Take the rotor inertias, and the friction of the drives, for parameters too.
    kind : {"lin", "khalil_gautier", "rank"}
        Lin's set in closed form, that of Gautier and Khalil, or one found from the rank of the
        regressor over random states, which knows no formula.
    of : {"torques", "gravity"}
        All torques, or those that hold the robot still against gravity, which drives have no
        part in: rotors and friction are refused. Without gravity that set is empty.
    zero : sequence of str
        Standard parameters that are known to be zero, such as "Jxy3" of a link that is symmetric.
        No formula covers these: the set is then found by rank, whatever the kind.

    Returns
    -------
    MinimalParameters
        Names, expressions, values, the matrix `Lam` and the way back to a full set.

    Examples
    --------
    >>> import armlet
    >>> found = armlet.minimal_parameters(armlet.load("scara"))
    >>> len(found), found.names[-1]
    (8, 'cy4')
    >>> armlet.minimal_parameters(armlet.load("scara"), of="gravity").expressions
    {'m3*': 'm3 + m4'}
    """
    if kind == "rank" or zero:
        if robot.symbols:
            raise ModelError(f"robot {robot.name!r} is symbolic: a rank needs numbers")
        return _by_rank(robot, rotors, friction, of, zero)
    if robot.symbols:
        sympy = importlib.import_module("sympy")
        robot = robot.with_constants({name: sympy.Symbol(name) for name in robot.symbols})
    return closed_form(robot, rotors, friction, kind, of)


def _by_rank(
    robot: Robot, rotors: bool, friction: bool, of: str, zero: Sequence[str]
) -> MinimalParameters:
    """The minimal set that random states show; the seed is fixed, so that it is always the same."""
    check_asked(of, rotors, friction)
    quantity = "gravity_regressor" if of == "gravity" else "regressor"
    standard = standard_names(robot.n, rotors, friction)
    states = np.random.default_rng(0).uniform(-2, 2, (3, 10 * robot.n + 20, robot.n))
    options: dict[str, Any] = {"rotors": rotors, "friction": friction, "parameters": "standard"}
    program = trace(robot, quantity, "unit_bodies", **options)
    Y = program.function(np)(*states[: len(QUANTITIES[quantity].arguments)])
    known_zero = [
        standard.index(known(name, dict.fromkeys(standard), "parameter")) for name in zero
    ]
    Y = Y.reshape(-1, len(standard))
    Y[:, known_zero] = 0
    columns, Lam = independent(Y)
    names = tuple(
        standard[k] + ("*" if np.count_nonzero(row) > 1 else "")
        for k, row in zip(columns, Lam, strict=True)
    )
    back = np.eye(len(standard))[:, columns]
    return MinimalParameters(robot, "rank", names, standard, Lam, back, of)


# ------------------------------------------------------------------ methods of Robot


def kernel_of(robot: Robot, quantity: str, **options: Any) -> Kernel:
    """The kernel behind a method of a robot, made once."""
    key = (quantity, *sorted(options.items()))
    if key not in robot.memory:
        if robot.symbols:
            raise ModelError(
                f"robot {robot.name!r} has constants without a value ({robot.symbols[0]}, …): it "
                "can be traced and counted, not evaluated"
            )
        robot.memory.setdefault(key, compile(robot, quantity, **options))
    kernel: Kernel = robot.memory[key]
    return kernel


class Method:
    """A quantity as a method of robots.

    The first time a robot is asked for it, the compiled entry of its kernel is put in the
    method's place on that robot, so that later calls go straight to machine code.
    """

    def __init__(self, name: str, quantity: Quantity) -> None:
        self.name, self.quantity = name, quantity
        kind = Parameter.POSITIONAL_OR_KEYWORD
        options = [name for name in quantity.options if name in ASKED]
        self.__name__ = name
        self.__doc__ = (
            f"{quantity.about}\n\nArrays of shape (n,) or (..., n); the leading axes stay."
        )
        self.__signature__ = Signature(
            [Parameter(argument, kind) for argument in quantity.arguments]
            + [Parameter(option, kind, default=None) for option in options]
            + [Parameter("out", Parameter.KEYWORD_ONLY, default=None)]
            + [Parameter("threads", Parameter.KEYWORD_ONLY, default=1)]
        )

    def __get__(self, robot: Robot | None, _: type | None = None) -> Any:
        if robot is None:
            return self
        if self.quantity.inverts == "jacobian":
            return partial(self.called, robot)
        try:
            kernel = kernel_of(robot, self.name)
        except ArmletError:  # an option may mend it; if not, the call says so
            return partial(self.called, robot)
        about = f"{self.name}{self.__signature__}\n--\n\n{self.__doc__}"
        entry = kernel.entry(partial(self.called, robot), about)
        return vars(robot).setdefault(self.name, entry)

    def __call__(self, robot: Robot, *args: Any, **kwargs: Any) -> Any:
        return getattr(robot, self.name)(*args, **kwargs)

    def called(self, robot: Robot, *args: Any, **kwargs: Any) -> Any:
        """What the compiled entry does not take: batches, options, other kinds of array."""
        given = self.__signature__.bind(*args, **kwargs).arguments
        out, threads = given.pop("out", None), given.pop("threads", 1)
        asked = {key: given.pop(key) for key in ASKED if given.get(key) is not None}
        arrays = [given[name] for name in self.quantity.arguments]
        if "wrench" in asked:
            arrays.append(asked["wrench"])
            asked["wrench"] = True
        results = kernel_of(robot, self.name, **asked).evaluate(*arrays, out=out, threads=threads)
        if self.quantity.inverts == "jacobian":
            self._blank_singular(robot, arrays[0], asked, results)
        return results

    def _blank_singular(
        self, robot: Robot, q: Any, asked: Mapping[str, Any], results: Sequence[Any]
    ) -> None:
        """Replace results at singular postures, which would be arbitrary, by nan, and say so."""
        frame = {"frame": asked["frame"]} if "frame" in asked else {}
        Jq = kernel_of(robot, "jacobian", **frame).evaluate(q)
        singular = is_singular(Jq)
        if not singular.any():
            return
        for result in results:
            result[singular] = np.nan
        where = (
            f"{int(singular.sum())} of {singular.size} postures are" if singular.ndim else "q is"
        )
        first = f", the first at index {tuple(map(int, np.argwhere(singular)[0]))}"
        warnings.warn(
            f"{self.name}: {where} singular{first if singular.ndim else ''}: frame "
            f"{asked.get('frame', robot.tool)!r} cannot move in all directions there, and the "
            "result is nan",
            DataWarning,
            stacklevel=3,
        )


METHODS: dict[str, Any] = {
    **{name: Method(name, quantity) for name, quantity in QUANTITIES.items()},
    "from_dh": staticmethod(models.from_dh),
    "to_urdf": models.to_urdf,
    "to_toml": models.to_toml,
    "lock": models.lock,
    "subchain": models.subchain,
}
"""What robots have by name beside their own data."""

PROGRAM_METHODS = {"source": codegen.source}
"""What programs have by name beside what they do with their own graph."""

for kind, methods in ((Robot, METHODS), (Program, PROGRAM_METHODS)):
    for name, method in methods.items():
        setattr(kind, name, method)
