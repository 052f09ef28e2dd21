"""Programs, machine code and minimal parameters for robots."""

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from armlet._support.validation import one_of
from armlet.dynamics import FORMULATIONS, QUANTITIES, Formulation
from armlet.dynamics.regressor import minimal_set, set_by_rank
from armlet.errors import ArmletError, ModelError, listing, quote
from armlet.graph import Program
from armlet.minimal import MinimalParameters, check_options, standard_names
from armlet.minimal.parameters import Model
from armlet.robot import RobotModel
from armlet.runtime import Kernel
from armlet.search.cheapest import SearchResult, cheapest_program
from armlet.search.compose import cheapest_composition, compose_quantities
from armlet.search.request import CANONICAL, make_request

Option = (
    str | bool | MinimalParameters[Any] | None | Sequence[str] | Mapping[str, str | Sequence[str]]
)
"""The value of an option; `frame` also takes a list, or a mapping from quantities to frames."""


def formulations(quantity: str) -> dict[str, Formulation]:
    """Return the formulations (algorithms) that compute a quantity, by name.

    Each formulation has metadata, such as `source` (literature) and `growth` (operation count).

    Examples
    --------
    >>> import armlet
    >>> armlet.formulations("inertia_matrix")["composite_bodies"].growth
    'n^2'
    """
    return FORMULATIONS[one_of(quantity, "quantity", QUANTITIES)]


def trace(
    robot: RobotModel,
    quantity: str | Sequence[str],
    formulation: str | Mapping[str, str] | None = None,
    *,
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    minimize: str = "operations",
    **options: Option,
) -> Program:
    """Return a program that computes one or more quantities of a robot.

    Parameters
    ----------
    robot : Robot
    quantity : str or sequence of str
        One quantity or several, such as "inverse_dynamics"; see `armlet.QUANTITIES`. A program
        for several quantities computes common operations once.
    formulation : str or mapping of str to str, optional
        A name in `armlet.formulations(quantity)`, or a mapping from quantities to such names.
        A named formulation is traced in canonical frames and not simplified. By default the
        program is the cheapest that a search over formulations, frames and simplifications finds.
    constants : mapping of str to str, optional
        Group ("geometry", "inertia", "gravity" or "drive") -> how its constants enter the program:
        "fixed" (as numbers, the default), "symbolic" (by name) or "argument" (passed in each call).
    minimal : bool
        Whether to lump inertial parameters first, which saves operations and keeps the results.
    minimize : {"operations", "multiplications", "additions"}
        The count that the search minimizes.
    **options
        Options of the quantity. `wrench=True` adds the argument `wrench`, which the tool exerts on
        the world. `frame="…"` names the frame of kinematic quantities (by default the tool).
        `inertia_matrix="…"` or `bias="…"` sets the formulation of H or b inside another quantity.
        With several quantities, an option applies to all quantities that accept it; `frame` may be
        a list of frames, or a mapping from quantities to frames or lists of frames.

    Returns
    -------
    Program
        The inputs are the state, then the wrench, then the groups of constants that are arguments.
        The results of several quantities are a named tuple, with fields such as `jacobian`. With
        several frames, a field is named like `jacobian_link4`; for a quantity with several
        results, fields are named like `energy_kinetic` and `energy_potential`.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("planar2r")
    >>> armlet.trace(robot, "gravity_torque", constants={"inertia": "symbolic"}).count()
    Count(M=4, A=4, functions=(('cos', 2), ('sin', 2)))
    >>> armlet.trace(robot, ["energy", "jacobian"]).names
    ('energy_kinetic', 'energy_potential', 'jacobian')
    """
    if formulation is not None and minimize != "operations":
        raise ArmletError("minimize= is for the search: leave it out if a formulation is named")
    if isinstance(quantity, str):
        requested = make_request(robot, quantity, constants or {}, minimal, options)
        if formulation is None:
            return cheapest_program(requested, minimize).program
        if not isinstance(formulation, str):
            raise ArmletError(f"formulation is a mapping: expected the name of one for {quantity}")
        return requested.program(formulation)
    together = compose_quantities(robot, quantity, constants or {}, minimal, options)
    if formulation is None:
        return cheapest_composition(together, minimize).program
    if isinstance(formulation, str) or set(formulation) != set(quantity):
        raise ArmletError(
            f"formulation is {quote(formulation)}: expected a mapping with one for each of "
            f"{listing(quantity)}"
        )
    return together.trace([(formulation[x.name], CANONICAL) for x in together.requests])


def cheapest(
    robot: RobotModel,
    quantity: str | Sequence[str],
    *,
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    minimize: str = "operations",
    **options: Option,
) -> SearchResult:
    """Search for the program of least cost that computes one or more quantities of a robot.

    The search tries formulations, positions of frame origins along joint axes, and units of length.
    It then simplifies the best program. The result is cached on disk.

    Parameters
    ----------
    robot, quantity, constants, minimal, minimize, **options
        As in `armlet.trace`.

    Returns
    -------
    SearchResult
        The program, its formulation, its arrangement (frame origins and unit of length), and the
        operation count after each step. For several quantities, the result names the formulation of
        each, but only one arrangement: the first that is not canonical.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("puma560").without_drives()
    >>> result = armlet.cheapest(robot, "inertia_matrix", constants={"inertia": "symbolic"})
    >>> for step in result.steps:
    ...     print(f"{step.name:17} {step.count.total}")
    composite_bodies  257
    frames            229
    units             215
    constants         210
    """
    arguments = constants or {}, minimal, options
    if isinstance(quantity, str):
        return cheapest_program(make_request(robot, quantity, *arguments), minimize)
    return cheapest_composition(compose_quantities(robot, quantity, *arguments), minimize)


def compile(
    robot: RobotModel,
    quantity: str | Sequence[str],
    formulation: str | Mapping[str, str] | None = None,
    *,
    dtype: str = "float64",
    constants: Mapping[str, str] | None = None,
    minimal: bool = True,
    minimize: str = "operations",
    backend: str = "cpu",
    **options: Option,
) -> Kernel:
    """Return a kernel that computes one or more quantities of a robot in machine code.

    Parameters
    ----------
    robot, quantity, formulation, constants, minimal, minimize, **options
        As in `armlet.trace`; symbolic constants cannot be compiled.
    dtype : {"float64", "float32"}
    backend : {"cpu"}
        What compiles and runs the program.

    Returns
    -------
    Kernel
        A callable that takes arrays for one state or a batch. The first call compiles it.

    Examples
    --------
    >>> import armlet, numpy as np
    >>> kernel = armlet.compile(armlet.load("panda"), "inverse_dynamics")
    >>> kernel(*np.zeros((3, 7))).shape
    (7,)
    >>> terms = armlet.compile(armlet.load("panda"), ["inertia_matrix", "bias", "jacobian"])
    >>> H, b, Jq = terms(*np.zeros((2, 7)))
    >>> terms(*np.zeros((2, 7))).jacobian.shape
    (6, 7)
    """
    program = trace(
        robot,
        quantity,
        formulation,
        constants=constants,
        minimal=minimal,
        minimize=minimize,
        **options,
    )
    return Kernel(program, dtype, backend=backend)


# ------------------------------------------------------------------ minimal parameters


def minimal_parameters(
    robot: Model,
    rotors: bool = False,
    friction: bool = False,
    kind: str = "lin",
    of: str = "torques",
    zero: Sequence[str] = (),
) -> MinimalParameters[Model]:
    """Return the minimal (base) inertial parameters of a robot, which determine its torques.

    Parameters
    ----------
    robot : Robot
        A serial arm or a tree with any joints and gravity. A robot with symbols needs SymPy.
    rotors, friction : bool
        Whether to include rotor inertias, and friction of the drives, as parameters.
    kind : {"lin", "khalil_gautier", "rank"}
        "lin": Lin's set in closed form. "khalil_gautier": the set of Gautier and Khalil. "rank":
        a set computed numerically, from the rank of the regressor at random states, as always for
        robots with joints that are neither revolute nor prismatic.
    of : {"torques", "gravity"}
        "torques": parameters of all joint torques. "gravity": parameters of gravity torques (none
        without gravity); drives do not affect these, so `rotors` and `friction` must be False.
    zero : sequence of str
        Standard parameters that are zero, such as "Jxy3" of a symmetric link. If any are named, the
        set is computed as for kind="rank", since the closed forms do not allow for zeros.

    Returns
    -------
    MinimalParameters
        Names, expressions and values of the minimal parameters, the matrix `Lam` that maps standard
        parameters to minimal ones, and methods that return full sets of standard parameters.

    Examples
    --------
    >>> import armlet
    >>> parameters = armlet.minimal_parameters(armlet.load("scara"))
    >>> len(parameters), parameters.names[-1]
    (8, 'cy4')
    >>> armlet.minimal_parameters(armlet.load("scara"), of="gravity").expressions
    {'m3*': 'm3 + m4'}
    """
    if kind == "rank" or zero:
        if robot.symbols:
            raise ModelError(f"robot {robot.name!r} is symbolic: a rank needs numbers")
        check_options(kind, of, rotors, friction)
        for name in zero:
            one_of(name, "parameter", standard_names(robot, rotors, friction))
        return set_by_rank(robot, rotors, friction, of, zero)
    if robot.symbols:
        sympy = importlib.import_module("sympy")
        robot = robot._with_constants(
            {name: sympy.Symbol(x) for name, x in robot._symbolic.items()}
        )
    return minimal_set(robot, rotors, friction, kind, of)
