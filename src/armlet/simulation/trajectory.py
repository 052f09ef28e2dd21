"""`Trajectory`: the result of `armlet.simulate`, with saving and plotting."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armlet._support import tables, validation
from armlet._support.files import expand_user
from armlet.errors import DataError, DataWarning, quote
from armlet.plotting import COLOURS, FAINT, INK, Figure, Plottable, Theme, panels, plain, with_theme
from armlet.robot import JOINT_TYPES, Joint
from armlet.robot.joints import by_joint

Array = NDArray[np.float64]
JOINTWISE = {"q": "rad, m", "qd": "rad/s, m/s", "qdd": "rad/s², m/s²", "tau": "Nm, N"}
JOINTWISE["qdd_before"] = JOINTWISE["qdd"]  # the only array that may be None
"""Units of the arrays that have columns for joints: one per position in q, else per velocity."""
ARRAYS = ("t", *JOINTWISE, "kinetic", "potential")


class Occurrence(NamedTuple):
    """An event that occurred in a simulation: its name, time, positions and velocities."""

    name: str
    t: float
    q: Array
    qd: Array


@dataclass(frozen=True, eq=False)
class Trajectory(Plottable):
    """Trajectory of an arm, with one row per time."""

    t: Array
    """Increasing times in s, (k,)."""
    q: Array
    """Positions, (k, nq)."""
    qd: Array
    """Velocities, (k, nv)."""
    qdd: Array
    """Accelerations, (k, nv)."""
    tau: Array
    """Applied torques, (k, nv), without friction, springs, gravity compensation and stops."""
    kinetic: Array
    """Kinetic energies in J, (k,)."""
    potential: Array
    """Potential energies of gravity in J, without springs, (k,)."""
    joints: tuple[str, ...]
    """The names of the joints that are no followers of others, in the order of q."""
    ended: str = ""
    """The reason for an early end of the simulation, or an empty string."""
    notes: tuple[str, ...] = ()
    """Remarks on the simulation, such as advice about a slow torque function."""
    events: tuple[Occurrence, ...] = ()
    """The events that occurred, sorted by time."""
    recorded: Mapping[str, Array] = field(default_factory=dict)
    """The values recorded by `record` of `armlet.simulate`: name -> array with one row per time."""
    qdd_before: Array | None = None
    """Accelerations just before each row, (k, nv), if held torques or arguments change at rows."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Name -> kind of the joints with several positions, such as "ball"."""

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, rows: slice) -> "Trajectory":
        """Return the trajectory of a slice of rows, such as run[10:20]."""
        if not isinstance(rows, slice):
            raise TypeError(f"a trajectory is cut by a slice, such as run[10:20], not by {rows!r}")
        return self._with_arrays({name: array[rows] for name, array in self._arrays().items()})

    def _arrays(self) -> dict[str, Array]:
        own = {name: x for name in ARRAYS if (x := getattr(self, name)) is not None}
        return {**own, **self.recorded}

    def _with_arrays(self, arrays: Mapping[str, Array]) -> "Trajectory":
        own: dict[str, Any] = {name: arrays.get(name) for name in ARRAYS}
        return replace(self, **own, recorded={name: arrays[name] for name in self.recorded})

    @property
    def position_names(self) -> list[str]:
        """The names of the columns of q, as in `robot.position_names`."""
        return _column_names("q", self.joints, self.kinds)

    @property
    def velocity_names(self) -> list[str]:
        """The names of the columns of qd, qdd and tau, as in `robot.velocity_names`."""
        return _column_names("qd", self.joints, self.kinds)

    @property
    def energy(self) -> Array:
        """The sum of kinetic and potential energy in J, (k,)."""
        return self.kinetic + self.potential

    def at(self, times: ArrayLike) -> "Trajectory":
        """Interpolate the trajectory at `times` between the first and the last row.

        Positions and velocities are interpolated by cubic Hermite splines, whose accelerations may
        jump at the rows; those of the positions of a ball joint are rotation vectors from the row
        before, so the joint must turn by less than π from row to row. All other arrays, even held
        torques, are interpolated linearly.
        """
        t = np.atleast_1d(validation.array(times, "times", (), ("N",), finite=False))
        if not len(self) or not np.all((t >= self.t[0]) & (t <= self.t[-1])):
            span = f"{self.t[0]} to {self.t[-1]} s" if len(self) else "nothing"
            raise DataError(f"times reach beyond the trajectory, which has {span}")
        arrays = {name: _linear(self.t, array, t) for name, array in self._arrays().items()}
        if len(self) > 1:
            before = self.qdd if self.qdd_before is None else self.qdd_before
            k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self) - 2)
            h = (self.t[k + 1] - self.t[k])[:, None]
            s = (t - self.t[k])[:, None] / h
            arrays["q"] = self._positions_between(k, s, h)
            ends = self.qd[k], self.qd[k + 1], self.qdd[k], before[k + 1]
            arrays["qd"] = _cubic(s, h, *ends)
        return self._with_arrays({**arrays, "t": t})

    def _positions_between(self, k: NDArray[np.int64], s: Array, h: Array) -> Array:
        """Return positions at share `s` of the intervals from row k to k + 1, of length `h`.

        The interpolation is that of local coordinates: about row k or, for joints whose positions
        add, about the neutral positions, so that the local coordinates are the positions.
        """
        types = [joint.type for joint in _joints_of(self.joints, self.kinds)]
        neutral = [x for joint_type in types for x in joint_type.neutral]
        adds = np.repeat([x.is_vector_space for x in types], [x.nq for x in types])
        origin = np.where(adds, neutral, self.q[k])
        rows = k, k + 1
        x = [by_joint("difference", types, (origin, "nq"), (self.q[i], "nq")) for i in rows]
        rates = [
            by_joint("rate", types, (x_i, "nv"), (self.qd[i], "nv"))
            for x_i, i in zip(x, rows, strict=True)
        ]
        between = _cubic(s, h, *x, *rates)
        result: Array = by_joint("integrate", types, (origin, "nq"), (between, "nv"))
        return result

    # ---------------------------------------------------------------- files

    def to_npz(self, path: str | Path) -> None:
        """Write the trajectory to a NumPy archive."""
        tables.write_npz(path, self._arrays(), self._metadata())

    def to_csv(self, path: str | Path) -> None:
        """Write the arrays to a CSV file with a header line, without events, notes and `ended`."""
        tables.write_csv(path, self.columns())

    def to_parquet(self, path: str | Path) -> None:
        """Write the trajectory to a Parquet file; this needs pyarrow."""
        tables.write_parquet(path, self.columns(), self._metadata())

    def columns(self) -> dict[str, Array]:
        """Return all numbers as columns by name: `t`, `q.joint1`, …, `kinetic`, `potential`.

        Each entry of a recorded array has a column, such as `name[0,3]`.
        """
        columns: dict[str, Array] = {}
        for name, array in self._arrays().items():
            if name in JOINTWISE:
                names = _column_names(name, self.joints, self.kinds)
                columns |= {f"{name}.{column}": array[:, i] for i, column in enumerate(names)}
            elif array.ndim == 1:
                columns[name] = array
            else:
                for entry in np.ndindex(array.shape[1:]):
                    columns[f"{name}[{','.join(map(str, entry))}]"] = array[:, *entry]
        return columns

    def _metadata(self) -> dict[str, Any]:
        events = [(x.name, x.t, x.q.tolist(), x.qd.tolist()) for x in self.events]
        own = {"joints": self.joints, "ended": self.ended, "notes": self.notes, "events": events}
        return own | {"kinds": dict(self.kinds)}

    @staticmethod
    def read(path: str | Path) -> "Trajectory":
        """Read a trajectory from a file written by `to_npz`, `to_csv` or `to_parquet`."""
        file = expand_user(path)
        table = tables.read(file, (".npz", ".csv", ".parquet"))
        arrays, metadata = table.arrays, table.metadata
        if table.repeats:
            double = quote(next(iter(table.repeats.values())))
            raise DataError(f"{file.name} has the column {double} more than once")
        if not table.is_ended:  # `to_csv` ends every line, so the last line was cut off
            arrays = {name: column[:-1] for name, column in arrays.items()}
        if table.warnings or not table.is_ended:
            message = f"{file.name} ends in the middle of a line, which is left out"
            warnings.warn(message, DataWarning, stacklevel=2)
        for name, array in arrays.items():
            if array.dtype.kind not in "iufb":
                kind = f"{quote(name)} has entries of type {array.dtype}"
                raise DataError(f"{file.name}: {kind}: expected real numbers")
        with tables.readable(file):
            if file.suffix.lower() != ".npz":
                joints, kinds = _joints_of_columns(arrays)
                arrays = _stack_columns(arrays, joints, kinds)
                metadata = {**metadata, "joints": joints, "kinds": kinds}
            missing = [name for name in ARRAYS if name not in {*arrays, "qdd_before"}]
            missing += [tables.METADATA] if "joints" not in metadata else []
            if missing:
                raise DataError(f"{file.name} is no trajectory: it has no {', '.join(missing)}")
            joints = tuple(map(str, metadata["joints"]))
            kinds = {str(name): str(kind) for name, kind in metadata.get("kinds", {}).items()}
            sizes = {name: len(_column_names(name, joints, kinds)) for name in JOINTWISE}
            events = tuple(
                Occurrence(str(name), float(t), np.array(q, dtype=float), np.array(qd, dtype=float))
                for name, t, q, qd in metadata.get("events", ())
            )
        for name, array in arrays.items():
            expected = (len(arrays["t"]), *((sizes[name],) if name in JOINTWISE else ()))
            if array.shape != expected and (name in ARRAYS or array.shape[:1] != expected[:1]):
                raise DataError(
                    f"{file.name}: {name} has shape {array.shape}: expected {expected}, one row "
                    "per time"
                )
        tables.check_increasing(arrays["t"], file.name)
        return Trajectory(
            **{name: arrays[name] for name in ARRAYS if name in arrays},
            joints=joints,
            ended=str(metadata.get("ended", "")),
            notes=tuple(map(str, metadata.get("notes", ()))),
            events=events,
            recorded={name: x for name, x in arrays.items() if name not in ARRAYS},
            kinds=kinds,
        )

    # ---------------------------------------------------------------- figures

    def plot(self, theme: Theme = "light") -> Figure:
        """Return a Plotly figure of positions, velocities, non-zero torques and energies."""
        shown = {"q": "position", "qd": "velocity"} | ({"tau": "torque"} if self.tau.any() else {})
        last = len(shown) + 1
        titles = [f"{title} ({JOINTWISE[name]})" for name, title in shown.items()]
        figure = panels(
            last,
            1,
            height=210 * last + 90,
            title=plain(self.ended) or None,
            shared_xaxes=True,
            vertical_spacing=0.2 / last,
            subplot_titles=[*titles, "energy (J)"],
        )
        labels = [*dict.fromkeys((*self.position_names, *self.velocity_names))]
        for row, name in enumerate(shown, 1):
            for i, label in enumerate(_column_names(name, self.joints, self.kinds)):
                figure.add_scatter(
                    x=self.t,
                    y=getattr(self, name)[:, i],
                    name=plain(label),
                    legendgroup=label,
                    showlegend=row == 1,
                    line_color=COLOURS[labels.index(label) % len(COLOURS)],
                    row=row,
                    col=1,
                )
        energies = {"kinetic": self.kinetic, "potential": self.potential, "total": self.energy}
        for (name, values), dash in zip(energies.items(), ("dot", "dash", "solid"), strict=True):
            line = {"color": INK, "dash": dash}
            options = {"name": name, "line": line, "legend": "legend2"}
            figure.add_scatter(x=self.t, y=values, row=last, col=1, **options)
        for event in self.events:
            figure.add_vline(x=event.t, line={"color": FAINT, "dash": "dot"}, row="all")
        figure.update_xaxes(title_text="time (s)", row=last, col=1)
        figure.update_layout(
            legend2={"y": figure.get_subplot(last, 1).yaxis.domain[1], "yanchor": "top"}
        )
        return with_theme(figure, theme)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g} to {self.t[-1]:g} s" if len(self) else "empty"
        ended = f", ended: {self.ended}" if self.ended else ""
        return f"<Trajectory of {len(self.joints)} joints, {len(self)} rows, {span}{ended}>"


def _joints_of(joints: Sequence[str], kinds: Mapping[str, str]) -> list[Joint]:
    return [Joint(name, kinds.get(name, "revolute")) for name in joints]


def _column_names(array: str, joints: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """Return the names of the columns of an array in `JOINTWISE`."""
    k = 0 if array == "q" else 1
    return [name for x in _joints_of(joints, kinds) for name in x.names(x.type.labels[k])]


def _joints_of_columns(columns: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the fields `joints` and `kinds` of a trajectory from the names of its columns.

    Columns belong to a joint with several positions if they have the names of these, and if not
    all of these are also names of velocities.
    """
    positions, velocities = (
        [name.removeprefix(start) for name in columns if name.startswith(start)]
        for start in ("q.", "qd.")
    )
    joints, kinds = list[str](), dict[str, str]()
    while positions:
        joint = Joint(positions[0], "revolute")
        for kind, joint_type in JOINT_TYPES.items():
            for label in joint_type.labels[0][:1]:
                other = Joint(positions[0].removesuffix(f".{label}"), kind)
                names = other.names(joint_type.labels[0])
                if positions[: len(names)] == names and not {*names} <= {*velocities}:
                    joint, kinds[other.name] = other, kind
        joints.append(joint.name)
        del positions[: joint.type.nq]
    return tuple(joints), kinds


def _stack_columns(
    columns: Mapping[str, Array], joints: Sequence[str], kinds: Mapping[str, str]
) -> dict[str, Array]:
    """Return the arrays of a trajectory by name, from the columns of `Trajectory.columns`."""
    arrays: dict[str, Array] = {}
    entries: dict[str, dict[tuple[int, ...], Array]] = {}
    for name in JOINTWISE:
        names = _column_names(name, joints, kinds)
        own = [columns[x] for column in names if (x := f"{name}.{column}") in columns]
        if own and len(own) == len(names):
            arrays[name] = np.stack(own, axis=1)
    for label, column in columns.items():
        name, bracket, place = label.partition("[")
        if label.partition(".")[0] in JOINTWISE:
            continue  # joint names may have brackets
        if bracket:
            entries.setdefault(name, {})[tuple(map(int, place[:-1].split(",")))] = column
        else:
            arrays[label] = column
    for name, by_place in entries.items():
        shape = tuple(k + 1 for k in max(by_place))
        rows = np.stack([by_place[place] for place in np.ndindex(shape)], axis=1)
        arrays[name] = rows.reshape(len(rows), *shape)
    return arrays


def decimate(run: Trajectory, count: int) -> Trajectory:
    """Return the first of every `count` rows of a trajectory, and the last row."""
    if count == 1:
        return run
    rows = np.arange(len(run)) % count == 0
    rows[-1:] = True
    return run._with_arrays({name: array[rows] for name, array in run._arrays().items()})


def _linear(t: Array, x: Array, at: Array) -> Array:
    columns = [np.interp(at, t, column) for column in x.reshape(len(t), -1).T]
    return np.array(columns).T.reshape(len(at), *x.shape[1:])


def _cubic(s: Array, h: Array, start: Array, end: Array, start_rate: Array, rate: Array) -> Array:
    """Interpolate at share s of intervals of length h from values and rates at their ends."""
    between = start * (1 + 2 * s) * (1 - s) ** 2 + end * s**2 * (3 - 2 * s)
    return between + h * s * (1 - s) * (start_rate * (1 - s) - rate * s)
