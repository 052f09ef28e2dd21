"""`MinimalParameters`: named linear combinations of a robot's standard parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support.lazy import cached_property
from armlet.errors import DataError
from armlet.libraries import namespace
from armlet.robot import PHI, Drive, RobotModel
from armlet.robot.robot import ComparedByData
from armlet.scalar import Scalar, is_zero

Model = TypeVar("Model", bound=RobotModel)
Writer = Callable[[Any], str]
EQUIVALENT = 1e-8
"""Rows of Λ that differ by less than this, relative to their largest entry, count as equal."""
ROTORS, FRICTION = Drive._fields[:1], Drive._fields[1:]
LATEX = {
    "rotor_inertia": "I_{a%s}",
    "viscous": "f_{v%s}",
    "coulomb": "f_{c%s}",
    "offset": "f_{0%s}",
    "m": "m_{%s}",
    "kappa": r"\kappa_{%s}",
}


def standard_names(
    robot: RobotModel, rotors: bool = False, friction: bool = False
) -> tuple[str, ...]:
    """Return the names of the standard parameters: ten per body, then the drive parameters."""
    drive = (ROTORS if rotors else ()) + (FRICTION if friction else ())
    return tuple(
        [f"{key}{i + 1}" for i in range(robot.nb) for key in PHI]
        + [f"{key}{i + 1}" for key in drive for i in range(len(robot.drives))]
    )


def is_number(x: Scalar) -> bool:
    """Whether x is a plain number, neither a symbol nor a traced scalar."""
    return isinstance(x, int | float | np.number)


def as_array(entries: Any) -> NDArray[Any]:
    """Convert entries to an array: of floats if all are plain numbers, else of objects."""
    array = np.array(entries, dtype=object)
    return array.astype(float) if all(map(is_number, array.flat)) else array


@dataclass(frozen=True, eq=False, repr=False)
class MinimalParameters(ComparedByData, Generic[Model]):
    """Minimal parameters φ' = Λ φ, which determine all torques or the gravity torques of a robot.

    Examples
    --------
    >>> import armlet
    >>> parameters = armlet.minimal_parameters(armlet.load("planar2r"))
    >>> parameters.names
    ('Jzz1*', 'cx1*', 'cy1', 'Jzz2', 'cx2', 'cy2')
    >>> parameters.expressions["cx1*"]
    'cx1 + m2'
    """

    model: Model
    """The robot whose torques the parameters determine."""
    kind: str
    """The kind of set: "lin", "khalil_gautier", or "rank" for a set computed numerically."""
    names: tuple[str, ...]
    """One name per parameter; a star marks a combination of several standard parameters."""
    standard: tuple[str, ...]
    """Names of the standard parameters φ: ten per body as in `robot.phi`, then drive parameters."""
    Lam: NDArray[Any]
    """Λ, with one row per minimal parameter and one column per standard parameter."""
    back: NDArray[Any]
    """A right inverse of Λ, Λ @ back = 1; each column is a full set of standard parameters."""
    of: str = "torques"
    """The torques that the set determines: all ("torques") or gravity torques only ("gravity")."""

    def __len__(self) -> int:
        return len(self.names)

    def fits(self, robot: RobotModel) -> bool:
        """Whether a robot has the joint types, tree, DH rows, couplings and gravity of `model`."""
        own, other = (
            (x._joint_types, x.parent, x.couplings, x.dh, list(x.g)) for x in (self.model, robot)
        )
        return own == other

    @cached_property
    def phi(self) -> NDArray[Any]:
        """The values of the standard parameters of `model`, in the order of `standard`."""
        values = self.model.constants("inertia") | {
            f"{key}{i + 1}": value
            for i, drive in enumerate(self.model.drives)
            for key, value in drive._asdict().items()
        }
        return as_array([values[name] for name in self.standard])

    @cached_property
    def values(self) -> NDArray[Any]:
        """The values of the minimal parameters of `model`: Λ φ."""
        values: NDArray[Any] = self.Lam @ self.phi
        return values

    def full(self, phi_min: ArrayLike) -> NDArray[Any]:
        """Return standard parameters φ that have the minimal parameters `phi_min`: Λ φ = `phi_min`.

        All standard parameters with equal Λ φ give the same torques. The bodies may be unphysical,
        with zero masses. Leading axes of `phi_min` are preserved.
        """
        array = np.asarray(phi_min)
        if array.shape[-1:] != (len(self),):
            raise DataError(f"phi_min has shape {array.shape}: expected {len(self)} parameters")
        full: NDArray[Any] = array @ self.back.T
        return full

    def robot(self, phi_min: ArrayLike) -> Model:
        """Return a robot with the minimal parameters `phi_min`.

        Parameters
        ----------
        phi_min : array of shape (p,)
            Values in the order of `names`.

        Returns
        -------
        Robot
            `model` with the standard parameters that `full` returns; drive parameters that are not
            in the set keep their values. Torques, inertia matrix and accelerations are correct.
            Bodies, masses and energy may be unphysical, so the robot cannot be written to a file.

        Examples
        --------
        >>> import armlet
        >>> robot = armlet.load("planar2r")
        >>> parameters = armlet.minimal_parameters(robot, friction=True)
        >>> other = parameters.robot(1.1 * parameters.values)
        >>> bool(abs(other.bias([1, 2], [3, 4]) - 1.1 * robot.bias([1, 2], [3, 4])).max() < 1e-12)
        True
        """
        if self.of != "torques":
            raise DataError(
                "these are the parameters of gravity torques alone, and a robot needs all: "
                'expected minimal_parameters(robot, of="torques"), or use full()'
            )
        if np.shape(phi_min) != (len(self),):
            raise DataError(
                f"phi_min has shape {np.shape(phi_min)}: expected ({len(self)},), one value per "
                "parameter"
            )
        model = self.model
        values = dict(zip(self.standard, self.full(phi_min).tolist(), strict=True))
        phi = [values[name] for name in standard_names(model)]
        drives = (
            Drive(*(values.get(f"{key}{i + 1}", x) for key, x in drive._asdict().items()))
            for i, drive in enumerate(model.drives)
        )
        return replace(model.with_inertia(phi), drives=tuple(drives))

    @cached_property
    def columns(self) -> tuple[tuple[float, ...], ...]:
        """The columns of `back` as tuples; each makes one minimal parameter 1 and the others 0."""
        if self.back.dtype == object:
            raise DataError(
                f"the parameters of {self.model.name!r} are symbolic: expected a robot whose "
                "geometry and gravity are numbers"
            )
        return tuple(map(tuple, self.back.T.tolist()))

    @cached_property
    def expressions(self) -> dict[str, str]:
        """Each minimal parameter as a sum of standard parameters: text, by parameter name."""
        return {name: sum_text(self.terms(name), str, str, " ") for name in self.names}

    def terms(self, name: str) -> dict[str, Scalar]:
        """Return the nonzero factors of the minimal parameter `name`, by standard parameter."""
        row = self.Lam[self.names.index(name)]
        return {x: k for x, k in zip(self.standard, row, strict=True) if not is_zero(k)}

    def latex(self) -> str:
        """Return the set as LaTeX for an align environment, one line per minimal parameter."""

        def factor(x: Scalar) -> str:
            return str(namespace(x).latex(x))

        sums = {x: sum_text(self.terms(x), symbol, factor, r"\,") for x in self.names}
        return " \\\\\n".join(f"{symbol(name)} &= {total}" for name, total in sums.items())

    def __repr__(self) -> str:
        of = f"{len(self)} of {len(self.standard)}"
        kind = self.kind if self.of == "torques" else f"{self.kind}, {self.of}"
        return f"<MinimalParameters ({kind}) of {self.model.name!r}: {of}>"


def equivalence(a: MinimalParameters[Any], b: MinimalParameters[Any]) -> NDArray[Any]:
    """Return the nonsingular matrix A between two minimal sets of a robot, φ'(b) = A φ'(a).

    A exists for minimal sets of one robot (Lin 1994, Corollary 6). For other sets, raise DataError.

    Examples
    --------
    >>> import armlet
    >>> robot = armlet.load("stanford")
    >>> a, b = (armlet.minimal_parameters(robot, kind=k) for k in ("lin", "khalil_gautier"))
    >>> A = armlet.equivalence(a, b)
    >>> bool(abs(A @ a.values - b.values).max() < 1e-12)
    True
    """
    if a.standard != b.standard:
        raise DataError(
            f"{a!r} and {b!r} are sets of different standard parameters: make both of one robot, "
            "with the same rotors and friction"
        )
    if a.of != b.of:
        raise DataError(f"{a!r} and {b!r} are of {a.of} and of {b.of}: make both of one of them")
    if len(a) != len(b):
        raise DataError(f"{a!r} and {b!r} differ in size, so one of them is not minimal")
    M = np.asarray(b.Lam @ a.back, dtype=float)
    left = np.abs(M @ a.Lam - b.Lam).max(axis=1, initial=0)
    scale = np.abs(b.Lam).max(axis=1, initial=1)
    if (left > EQUIVALENT * scale).any():
        name = b.names[int(np.argmax(left / scale))]
        raise DataError(f"{name} of {b!r} is no combination of {a!r}: they are not equivalent")
    return M


def sum_text(terms: Mapping[str, Scalar], symbol: Writer, factor: Writer, times: str) -> str:
    """Return a sum as text, such as Jzz2 + 0.17 m3 - cx4, with factors to six digits."""
    text = ""
    for name, x in terms.items():
        size = f"{abs(x):.6g}" if is_number(x) else f"({factor(x)})"
        sign = "-" if is_number(x) and x < 0 else "+"
        term = symbol(name) if size == "1" else f"{size}{times}{symbol(name)}"
        text += f" {sign} {term}" if text else f"{sign}{term}"
    return text.removeprefix("+") or "0"


def symbol(name: str) -> str:
    """Convert a parameter's name to LaTeX: Jzz2* to J_{zz2}^*."""
    star = "^*" if name.endswith("*") else ""
    head = name.rstrip("*").rstrip("0123456789")
    number = name.rstrip("*").removeprefix(head)
    if head.endswith("_"):
        return rf"\{head[:-2]}^{{{head[-2]}{star[1:]}}}_{{{number}}}"
    return (LATEX[head] % number if head in LATEX else f"{head[0]}_{{{head[1:]}{number}}}") + star
