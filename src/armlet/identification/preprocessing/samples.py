"""`Samples`: what identification works on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armlet.errors import DataError
from armlet.identification.logs.log import Load
from armlet.identification.preprocessing import filters

Array = NDArray[np.float64]


ROWS = ("t", "q", "qd", "qdd", "tau", "moving")


@dataclass(frozen=True, eq=False)
class Samples:
    """A log made ready for identification, one row per time.

    Models are evaluated at all rows, and then both they and the torques are `decimated`.

    Attributes
    ----------
    t : array of shape (k,)
        Times in s, equally spaced.
    q, qd, qdd, tau : arrays of shape (k, n)
        Positions, velocities, accelerations and torques, filtered without phase.
    moving : array of bool of shape (k, n)
        Whether each joint moves. The rows of a joint at rest are not used: its friction may then
        be anything up to Coulomb's.
    rate : float
        Rows per second.
    kept : array of int of shape (m,)
        The rows that remain after decimation.
    bandwidth : float or None
        The cut-off of the parallel filter in Hz; None if there is none.
    order : int
        The order of that filter.
    joints : tuple of str
        The names of the joints.
    name : str
        The name of the log.
    choices : mapping
        All choices that were made, as numbers and words.
    notes : tuple of str
        The same in sentences, with those of the log.
    payload : Load, optional
        What the arm carried that is known.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    moving: NDArray[np.bool_]
    rate: float
    kept: NDArray[np.intp]
    bandwidth: float | None
    order: int
    joints: tuple[str, ...]
    name: str = "log"
    choices: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    payload: Load | None = None

    def __len__(self) -> int:
        return len(self.t)

    def decimated(self, x: "Array | Callable[[Samples], Array]") -> Array:
        """The rows that remain of an array with one row per sample, after the parallel filter.

        A function of samples is called for some of them at a time, so that its rows are never all
        in memory.
        """
        if not callable(x) and len(x) != len(self):
            raise DataError(f"the array has {len(x)} rows: expected one per sample, {len(self)}")
        if self.bandwidth is None:
            return x(self._rows(self.kept)) if callable(x) else x[self.kept]

        def rows(own: slice) -> Array:
            return x(self._rows(own)) if callable(x) else np.asarray(x[own], dtype=float)

        return filters.decimated(rows, len(self), self.kept, self.bandwidth, self.rate, self.order)

    def _rows(self, own: slice | NDArray[np.intp]) -> "Samples":
        """Some of the samples, in which no rows are marked as kept."""
        arrays = {name: getattr(self, name)[own] for name in ROWS}
        return replace(self, **arrays, kept=self.kept[:0])

    def pieces(self, rows: int) -> "Iterator[Samples]":
        """The samples in pieces that keep about so many rows each, to save memory.

        Their decimated arrays, one after the other, are those of the whole, but for rounding:
        pieces overlap by as much as the filter reaches.
        """
        margin = filters.reach_of_filter(self.bandwidth, self.rate) if self.bandwidth else 0
        for k in range(0, len(self.kept), max(1, rows)):
            kept = self.kept[k : k + max(1, rows)]
            first, last = max(0, kept[0] - margin), kept[-1] + 1 + margin
            yield replace(self._rows(slice(first, last)), kept=kept - first)

    def __repr__(self) -> str:
        return (
            f"<Samples of {self.name!r}: {len(self)} rows at {self.rate:g} Hz, "
            f"{len(self.kept)} after decimation>"
        )
