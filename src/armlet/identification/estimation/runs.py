"""What identification keeps of each run: factors of its rows, and how they came about."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from armlet._support.progress import advancing
from armlet.errors import ArmletError, DataError, DataWarning, quoted
from armlet.identification.estimation.factors import Array, Factors, merged
from armlet.identification.estimation.gains import in_torques
from armlet.identification.estimation.torque_model import TorqueModel
from armlet.identification.logs.log import Log
from armlet.identification.preprocessing.preprocessing import Conditioning, conditioned
from armlet.identification.preprocessing.samples import Samples

PORTION = 1024
"""How many rows that remain after decimation are computed at a time."""
KEPT = 8
"""How many runs are kept for the report; of further ones only their factors are."""
Reader = Callable[[], Log]
"""A function that reads a log when it is needed, such as partial(Log.read, path, robot)."""


class Client(Protocol):
    """What is used of a Dask client."""

    def map(self, func: Callable[..., Any], *iterables: Any, **kwargs: Any) -> Any:
        """Futures of a function of each entry."""


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one run.

    Attributes
    ----------
    used, held : Factors
        Those of the rows used, and of the rows held out.
    independent : float
        How many of the rows used are independent: filtered noise is correlated from row to row.
    choices, notes
        How the run was conditioned.
    samples, rest : Samples, optional
        The run itself, and what was held out, if they are kept.
    """

    used: Factors
    held: Factors
    independent: float
    choices: Mapping[str, Any]
    notes: tuple[str, ...]
    samples: Samples | None
    rest: Samples | None


@dataclass(frozen=True, eq=False)
class Unreadable:
    """A run that could not be read, and why."""

    why: str


def part(model: TorqueModel, settings: Conditioning, share: float, log: Log) -> Part:
    """A run, of which the last share of the time is held out."""
    samples = conditioned(log.in_order_of(model.parameters.model), settings)
    cut = round((1 - share) * len(samples.kept))
    used, rest = (replace(samples, kept=kept) for kept in np.split(samples.kept, [cut]))
    own = factors(model, used)
    return Part(
        own, factors(model, rest), _independent(used) * float(own.rows.mean()),
        samples.choices, samples.notes, used, rest,
    )  # fmt: skip


def factors(model: TorqueModel, samples: Samples) -> Factors:
    """The factors of the rows of samples."""
    empty = Factors.empty(samples.q.shape[1], model.width)
    return merged([empty, *(Factors.of(W, tau) for W, tau in rows(model, samples))])


def rows(model: TorqueModel, samples: Samples) -> Iterator[tuple[Array, Array]]:
    """Regressors and torques, portion by portion, less the torques of payload and springs.

    Rows of joints at rest are zero.
    Where gains are unknown, these are the last column instead.
    """
    if not len(samples.kept):
        return
    load = model.load(samples.payload)
    for piece in samples.pieces(PORTION):
        W = piece.decimated(lambda own: model.regressor(own.q, own.qd, own.qdd))
        tau, given = piece.decimated(piece.tau), W @ load
        if model.has_known:
            given = given + piece.decimated(lambda own: model.known(own.q, own.qd))
        if model.gains:
            W = np.concatenate([W, given[..., None]], axis=-1)
        else:
            tau = tau - given
        moving = piece.moving[piece.kept]
        yield W * moving[..., None], tau * moving


def whole(model: TorqueModel, samples: Samples) -> tuple[Array, Array]:
    """The regressor and the torques of all rows."""
    W, tau = zip(*rows(model, samples), strict=True)
    return np.concatenate(W), np.concatenate(tau)


def _independent(samples: Samples) -> float:
    """The share of rows that are independent.

    Noise through a filter of a cut-off has as many independent values per second as white noise of
    that bandwidth, times the integral of the square of the filter's gain over frequencies, which
    for Butterworth's of order m, forwards and backwards, is that of 1 / (1 + f²ᵐ)².
    """
    if len(samples.kept) < 2:
        return 1.0
    double = 2 * samples.order
    gain = np.pi / double / np.sin(np.pi / double) * (1 - 1 / double)
    cutoff = samples.choices["cutoff"] if samples.bandwidth is None else samples.bandwidth
    rate = samples.rate / float(np.median(np.diff(samples.kept)))
    return min(1.0, float(2 * gain * cutoff / rate))


# ------------------------------------------------------------------ many runs


def parts(
    model: TorqueModel,
    settings: Conditioning,
    share: float,
    logs: Iterable[Log | Reader],
    client: Client | None = None,
) -> Iterator[Part]:
    """All runs, one after the other, or by the workers of a Dask client.

    Logs that are read when they are needed may fail: they are left out with a warning.
    """
    work = partial(_read, model, settings, share)
    numbered = enumerate(logs)
    with advancing("reading logs") as advance:
        for k, found in enumerate(_by_workers(work, numbered, client) if client else
                                  map(work, numbered), 1):  # fmt: skip
            advance(k / len(logs) if isinstance(logs, Sequence) else 0.0)
            if isinstance(found, Unreadable):
                warnings.warn(f"a log is left out: {found.why}", DataWarning, stacklevel=4)
            else:
                yield found


def _read(
    model: TorqueModel,
    settings: Conditioning,
    share: float,
    numbered: tuple[int, Log | Reader],
) -> Part | Unreadable:
    """A run by its number; those after the first ones keep no samples."""
    k, log = numbered
    if isinstance(log, Log):
        found = part(model, settings, share, log)
    elif not callable(log):
        raise DataError(f"logs has {quoted(log)}: expected armlet.Log.read of it, or a function")
    else:
        try:
            found = part(model, settings, share, _called(log))
        except ArmletError as error:
            return Unreadable(str(error))
        except MemoryError:
            raise
        except Exception as error:  # a user's function may raise anything
            return Unreadable(f"number {k + 1} raised {type(error).__name__}: {error}")
    return found if k < KEPT else replace(found, samples=None, rest=None)


def _called(reader: Reader) -> Log:
    """The log that a function returns."""
    log = reader()
    if not isinstance(log, Log):
        raise DataError(f"{quoted(reader)} returned {quoted(log)}: expected a Log")
    return log


def _by_workers(
    work: Callable[[tuple[int, Log | Reader]], Part | Unreadable],
    numbered: Iterable[tuple[int, Log | Reader]],
    client: Client,
) -> Iterator[Part | Unreadable]:
    """The same by a Dask client; what a worker had in hand when it died is done by another.

    They come in the order of the logs, so that sums do not depend on who was faster.
    """
    for future in client.map(work, [*numbered], pure=False):
        yield future.result()
        future.release()


class Gathered:
    """All runs together."""

    def __init__(self, model: TorqueModel) -> None:
        empty = Factors.empty(model.parameters.model.n, model.width)
        self.used = self.held = empty
        self.independent = 0.0
        self.choices: list[Mapping[str, Any]] = []
        self.notes: list[str] = []
        self.samples: list[Samples] = []
        self.rest: list[Samples] = []

    def add(self, part: Part) -> None:
        """Count a run in."""
        self.used, self.held = self.used + part.used, self.held + part.held
        self.independent += part.independent
        self.choices.append(part.choices)
        self.notes += [note for note in part.notes if note not in self.notes]
        if part.samples is not None and part.rest is not None:
            self.samples.append(part.samples)
            if len(part.rest.kept):
                self.rest.append(part.rest)

    def hold(self, part: Part) -> None:
        """Count a run in that is held out as a whole."""
        self.held = self.held + part.used
        if part.samples is not None:
            self.rest.append(part.samples)

    def calibrate(self, gains: Array) -> None:
        """Take everything from currents to torques."""
        self.used, self.held = in_torques(self.used, gains), in_torques(self.held, gains)
        self.samples = [replace(run, tau=gains * run.tau) for run in self.samples]
        self.rest = [replace(run, tau=gains * run.tau) for run in self.rest]

    @property
    def repeats(self) -> float:
        """How many rows say the same."""
        return float(self.used.rows.mean() / self.independent)
