"""Times and sizes of identification.

    python benchmarks/identification.py panda FOLDER    the recorded Panda, from files
    python benchmarks/identification.py stream          50 million samples, one log at a time
    python benchmarks/identification.py workers         two Dask workers beside one

FOLDER holds the four text files of Gaz et al. (2019).
"""

import resource
import sys
import time
from functools import partial

import numpy as np

import armlet
from armlet._support.progress import advancing

ROWS = 100_000


def panda(folder):
    """From files to least squares, and to physical bodies."""
    robot = armlet.load("panda").without_drives()
    names = {"t": "time", "q": "positions", "qd": "velocity", "tau": "torques"}
    files = {key: f"{folder}/exciting_traj_{name}.txt" for key, name in names.items()}
    for physical in (False, True):
        for turn in ("first", "again"):
            begun = time.perf_counter()
            log = armlet.Log.read(files, robot)
            found = armlet.identify(robot, log, physical=physical)
            spent = time.perf_counter() - begun
            fits = ", ".join(f"{name} {fit.whole:.2f} %" for name, fit in found.fits.items())
            print(f"physical bodies: {physical}, {turn}: {spent:.2f} s; {fits}", flush=True)


def make_log(robot, seed):
    """A log of a Panda, 1 kHz."""
    rng = np.random.default_rng(seed)
    t, w = 1e-3 * np.arange(ROWS), 2 * np.pi * np.array([0.1, 0.17, 0.31])
    a, b = 0.3 * rng.normal(size=(2, robot.nv, 3))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q, qd = s @ a.T + c @ b.T, (c * w) @ a.T - (s * w) @ b.T
    tau = robot.inverse_dynamics(q, qd, -(s * w**2) @ a.T - (c * w**2) @ b.T)
    return armlet.Log(t, q, tau + 0.3 * np.sign(qd) + 0.1 * rng.normal(size=q.shape), qd)


def stream(samples=50_000_000):
    """Any number of samples in the memory of one log."""
    robot = armlet.load("panda").without_drives()
    count = samples // ROWS
    begun = time.perf_counter()
    with advancing("reading logs") as advance:

        def logs():
            for k in range(count):
                advance(k / count)
                yield make_log(robot, k)

        found = armlet.identify(robot, logs(), physical=False)
    spent = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{count * ROWS:,} samples: {spent:.0f} s, at most {peak:.2f} GB; {found}")


def workers(count=24):
    """The same logs by one process and by two workers."""
    from distributed import Client, LocalCluster

    robot = armlet.load("panda").without_drives()
    logs = [partial(make_log, robot, k) for k in range(count)]
    times, values = [], []
    for number in (1, 2):
        options = {"n_workers": number, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            armlet.identify(robot, logs[: 2 * number], physical=False, client=client)
            begun = time.perf_counter()
            found = armlet.identify(robot, logs, physical=False, client=client)
            times.append(time.perf_counter() - begun)
            values.append(found.values)
    print(
        f"one worker {times[0]:.1f} s, two {times[1]:.1f} s: {times[0] / times[1]:.2f} times; "
        f"largest relative difference {np.abs(values[1] / values[0] - 1).max():.0e}"
    )


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["workers"]
    {"panda": panda, "stream": stream, "workers": workers}[what](*rest)
