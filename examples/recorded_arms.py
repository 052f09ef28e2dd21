"""Two recorded arms: a Franka Panda and a Staubli TX40, identified from their published logs.

python examples/recorded_arms.py DATA [--out FOLDER]

DATA holds the folders `franka_panda_gaz2019`, with exciting_traj_*.txt of Trajectory_1 from
github.com/marcocognetti/FrankaEmikaPandaDynModel, and `staubli_tx40_figaroh`, with
pos_read_data.csv, curr_data.csv and tx40_mdh_modified.urdf from
github.com/thanhndv212/figaroh-examples.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
from pictures import Array, Figure, run

import armlet
from armlet import Identified, Log, Robot

RATIOS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
"""The gears of the TX40; the motor of joint 6 is moved by joint 5 too, by the last ratio."""
OFFSET, DEVIATION = -0.1073, 0.0007
"""Friction of the Panda's joint 1 that does not depend on its direction, as published, in Nm."""


def panda() -> Robot:
    """The Panda; of its file the geometry counts, and its bodies where torques say nothing."""
    return armlet.load("panda").without_drives()


def panda_log(data: Path) -> Log:
    """A Panda on an exciting motion (Gaz et al. 2019): 20,544 rows with jittered time."""
    start = data / "franka_panda_gaz2019" / "exciting_traj_"
    parts = {"t": "time", "q": "positions", "qd": "velocity", "tau": "torques"}
    files = {key: f"{start}{name}.txt" for key, name in parts.items()}
    return Log.read(files, panda(), name="panda")


def tx40(data: Path) -> Robot:
    """The TX40, whose file has inertias that mean nothing."""
    return armlet.load(data / "staubli_tx40_figaroh" / "tx40_mdh_modified.urdf").without_drives()


def tx40_log(data: Path) -> Log:
    """Its log, of the motors: 45,000 rows at 5 kHz."""
    folder = data / "staubli_tx40_figaroh"
    motors = np.diag(RATIOS)
    motors[5, 4] = RATIOS[5]
    return Log.read(
        {"q": folder / "pos_read_data.csv", "tau": folder / "curr_data.csv"},
        tx40(data),
        rate=5000,
        ratios=motors,
        offsets={"joint_2": -np.pi / 2, "joint_3": np.pi / 2},
        name="tx40",
    )


Column = Callable[[Array, Array, Array], Array]


def wrist() -> dict[str, Column]:
    """What the rotor of motor 6 adds to joints 5 and 6, which both turn it."""

    def column(
        of_5: Callable[[Array, Array], Array], of_6: Callable[[Array, Array], Array]
    ) -> Column:
        def torques(q: Array, qd: Array, qdd: Array) -> Array:
            found = np.zeros_like(qd)
            found[:, 4], found[:, 5] = of_5(qd, qdd), of_6(qd, qdd)
            return found

        return torques

    def dry(qd: Array, qdd: Array) -> Array:
        sign: Array = np.sign(qd[:, 4] + qd[:, 5])
        return sign

    return {
        "Iam6": column(lambda qd, qdd: qdd[:, 5], lambda qd, qdd: qdd[:, 4]),
        "fvm6": column(lambda qd, qdd: qd[:, 5], lambda qd, qdd: qd[:, 4]),
        "fsm6": column(dry, dry),
    }


@cache
def identify_all(data: Path) -> dict[str, Identified]:
    """Both arms, from all of the time and from the first part of it."""
    of_panda = partial(armlet.identify, panda(), panda_log(data))
    model = armlet.TorqueModel(rotors=True, extra=wrist())
    of_tx40 = partial(armlet.identify, tx40(data), tx40_log(data), model=model, physical=False)
    return {
        "panda": of_panda(),
        "panda, from 60 % of the time": of_panda(validation=0.4),
        "tx40": of_tx40(),
        "tx40, from 80 % of the time": of_tx40(validation=0.2),
    }


def numbers(data: Path) -> Iterator[str]:
    """What the documentation states."""
    for name, found in identify_all(data).items():
        yield f"{name}: {len(found.names)} parameters, condition number {found.condition:.1f}"
        for fit, errors in found.fits.items():
            joints = ", ".join(f"{x:.1f}" for x in errors.joints)
            yield f"  {fit}: {errors.whole:.2f} % of the torques; by joint {joints}"
        yield from (f"  {note}" for note in found.notes)
    yield (
        f"panda, joint 1: the offset of friction is {offset_of_joint_1(panda_log(data)):.4f} Nm by "
        f"the mean torque, and {OFFSET:.4f} as published, with a deviation of {DEVIATION:.4f}"
    )
    alike, sure = agreement_of_halves(panda_log(data))
    yield f"panda: {alike} of {sure} parameters from either half agree within 5 %"


def offset_of_joint_1(log: Log) -> float:
    """The mean torque of the Panda's joint 1, less the viscous and Coulomb friction published.

    The axis is vertical and the arm begins and ends at rest, so that this is the offset, whatever
    the inertias and the filters.
    """
    assert log.qd is not None
    qd = log.qd[:, 0]
    rest = log.tau[:, 0] - 0.0665 * qd - 0.2450 * np.sign(qd)
    return float(np.trapezoid(rest, log.t) / log.duration)


def agreement_of_halves(log: Log) -> tuple[int, int]:
    """How many parameters agree within 5 % or three deviations if found from either half.

    Of those whose deviations are below 5 %.
    """
    cut = len(log) // 2
    first, second = (
        armlet.identify(panda(), _rows(log, rows), physical=False)
        for rows in (slice(cut), slice(cut, None))
    )
    size = np.abs(first.values)
    sure = first.deviations < 0.05 * size
    near = np.abs(first.values - second.values) < np.maximum(0.05 * size, 3 * first.deviations)
    return int((near & sure).sum()), int(sure.sum())


def _rows(log: Log, rows: slice) -> Log:
    assert log.qd is not None
    return replace(log, t=log.t[rows], q=log.q[rows], tau=log.tau[rows], qd=log.qd[rows])


def figures(data: Path) -> dict[str, Figure]:
    """The figures of the documentation by name."""
    found = identify_all(data)
    shown = {"panda": "panda, from 60 % of the time", "tx40": "tx40, from 80 % of the time"}
    return {f"recorded_{name}": found[key].plot() for name, key in shown.items()}


if __name__ == "__main__":
    run(__doc__, numbers, figures, data="the folder with both logs")
