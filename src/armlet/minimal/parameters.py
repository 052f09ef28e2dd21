"""A set of minimal parameters: linear combinations of the standard ones, with names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet.errors import DataError
from armlet.robot import PHI, Drive, RobotModel
from armlet.scalar import Scalar, is_zero, namespace

Writer = Callable[[Any], str]
ROTORS, FRICTION = Drive._fields[:1], Drive._fields[1:]
LATEX = {"rotor_inertia": "I_{a%s}", "viscous": "f_{v%s}", "coulomb": "f_{c%s}",
         "offset": "f_{0%s}", "m": "m_{%s}", "kappa": r"\kappa_{%s}"}  # fmt: skip


def standard_names(n: int, rotors: bool = False, friction: bool = False) -> tuple[str, ...]:
    """The names of the standard parameters: ten per body, then those of the drives."""
    drive = (ROTORS if rotors else ()) + (FRICTION if friction else ())
    return tuple(
        [f"{key}{i + 1}" for i in range(n) for key in PHI]
        + [f"{key}{i + 1}" for key in drive for i in range(n)]
    )


def standard_values(robot: RobotModel, names: Sequence[str]) -> NDArray[Any]:
    """The values of standard parameters of a robot, in the order of their names."""
    known = robot.constants("inertia") | {
        f"{key}{i + 1}": value
        for i, drive in enumerate(robot.drives)
        for key, value in drive._asdict().items()
    }
    return as_array([known[name] for name in names])


def is_number(x: Scalar) -> bool:
    """Whether x is a plain number, neither a symbol nor a traced scalar."""
    return isinstance(x, int | float | np.number)


def as_array(entries: Any) -> NDArray[Any]:
    """An array of floats, if all entries are plain numbers, or of objects."""
    array = np.array(entries, dtype=object)
    return array.astype(float) if all(map(is_number, array.flat)) else array


@dataclass(frozen=True, eq=False, repr=False)
class MinimalParameters:
    """A minimal set φ' = Λ φ of parameters that the torques of a robot, or its weight, depend on.

    Examples
    --------
    >>> import armlet
    >>> found = armlet.minimal_parameters(armlet.load("planar2r"))
    >>> found.names
    ('Jzz1*', 'cx1*', 'cy1', 'Jzz2', 'cx2', 'cy2')
    >>> found.expressions["cx1*"]
    'cx1 + m2'
    """

    robot: RobotModel
    kind: str
    """Whose set it is: "lin", "khalil_gautier", or "rank" for one found numerically."""
    names: tuple[str, ...]
    """One name per parameter; a star marks a combination of several standard parameters."""
    standard: tuple[str, ...]
    """The names of the standard parameters φ: ten per body as in `robot.phi`, then the drives'."""
    Lam: NDArray[Any]
    """Λ, with one row per minimal and one column per standard parameter."""
    back: NDArray[Any]
    """One of the right inverses of Λ, Λ @ back = 1: its columns are full sets of parameters."""
    of: str = "torques"
    """What depends on it: all "torques", or those against "gravity" alone."""

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def phi(self) -> NDArray[Any]:
        """The robot's own standard parameters, in a row."""
        return standard_values(self.robot, self.standard)

    @cached_property
    def values(self) -> NDArray[Any]:
        """The robot's own minimal parameters, Λ φ."""
        values: NDArray[Any] = self.Lam @ self.phi
        return values

    def full(self, phi_min: ArrayLike) -> NDArray[Any]:
        """One full set of standard parameters with the given minimal ones: Λ full(φ') = φ'.

        All such sets give the same torques. The bodies may be unphysical, with zero masses. Leading
        axes are preserved.
        """
        given = np.asarray(phi_min)
        if given.shape[-1:] != (len(self),):
            raise DataError(f"phi_min has shape {given.shape}: expected {len(self)} parameters")
        full: NDArray[Any] = given @ self.back.T
        return full

    @cached_property
    def expressions(self) -> dict[str, str]:
        """Each parameter as a sum of standard parameters, by name."""
        return {name: written(self.terms(name), str, str, " ") for name in self.names}

    def terms(self, name: str) -> dict[str, Scalar]:
        """The standard parameters that go into one, with their factors."""
        row = self.Lam[self.names.index(name)]
        return {x: k for x, k in zip(self.standard, row, strict=True) if not is_zero(k)}

    def latex(self) -> str:
        """The set as LaTeX, one line per parameter, for an align environment."""
        sums = {x: written(self.terms(x), symbol, factor_in_latex, r"\,") for x in self.names}
        return " \\\\\n".join(f"{symbol(name)} &= {total}" for name, total in sums.items())

    def __repr__(self) -> str:
        of = f"{len(self)} of {len(self.standard)}"
        kind = self.kind if self.of == "torques" else f"{self.kind}, {self.of}"
        return f"<MinimalParameters ({kind}) of {self.robot.name!r}: {of}>"


def written(terms: Mapping[str, Scalar], symbol: Writer, factor: Writer, times: str) -> str:
    """A sum of terms, such as Jzz2 + 0.17 m3 - cx4; factors that are numbers to six digits."""
    text = ""
    for name, x in terms.items():
        size = f"{abs(x):.6g}" if is_number(x) else f"({factor(x)})"
        sign = "-" if is_number(x) and x < 0 else "+"
        term = symbol(name) if size == "1" else f"{size}{times}{symbol(name)}"
        text += f" {sign} {term}" if text else f"{sign}{term}"
    return text.removeprefix("+") or "0"


def factor_in_latex(x: Scalar) -> str:
    """A factor that is a SymPy expression, as LaTeX."""
    return str(namespace(x).latex(x))


def symbol(name: str) -> str:
    """A parameter's name in LaTeX: Jzz2* is J_{zz2}^*."""
    star = "^*" if name.endswith("*") else ""
    head = name.rstrip("*").rstrip("0123456789")
    number = name.rstrip("*").removeprefix(head)
    if head.endswith("_"):
        return rf"\{head[:-2]}^{{{head[-2]}{star[1:]}}}_{{{number}}}"
    return (LATEX[head] % number if head in LATEX else f"{head[0]}_{{{head[1:]}{number}}}") + star
