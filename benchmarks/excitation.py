"""Condition number and time of an exciting motion of a Panda on one core, from an empty cache.

python benchmarks/excitation.py [seed ...]     the published motion has 121.9 (Gaz et al. 2019)
python benchmarks/excitation.py FOLDER         that motion as commanded, from gen_params.txt
python benchmarks/excitation.py --threads      seconds with one and two BLAS threads, limited or not

Limits of position, velocity and torque are those of the catalogue, less 5 %; those of acceleration
are the maker's.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
if "--threads" not in sys.argv:
    os.environ |= dict.fromkeys(THREADS, "1")
    os.environ["ARMLET_CACHE"] = tempfile.mkdtemp()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])

import numpy as np  # noqa: E402

import armlet  # noqa: E402
from armlet._support import blas  # noqa: E402

CONDITION, SECONDS = 50.0, 60.0
"""What both must be at most."""
ACCELERATION = [15, 7.5, 10, 12.5, 15, 20, 20]
LIMITS = armlet.MotionLimits(acceleration=ACCELERATION)
CENTRE = [-0.5850, -0.1744, -0.3373, -1.8767, -1.0631, 1.7917, -0.7284]
"""The constants of the published Fourier series."""


def broken_limits(robot, plan):
    """The limits of the robot that are broken at 1 kHz, by their own definition."""
    run = plan.at(np.linspace(0, 20, 20001))
    limits = [joint.limits for joint in robot.joints]
    most = {
        "velocity": (run.qd, [x.velocity for x in limits]),
        "acceleration": (run.qdd, ACCELERATION),
        "effort": (run.tau, [x.effort for x in limits]),
    }
    found = [name for name, (x, limit) in most.items() if (np.abs(x) > limit).any()]
    below = run.q < [x.lower for x in limits]
    above = run.q > [x.upper for x in limits]
    return found + (["position"] if (below | above).any() else [])


def published_condition(folder):
    """The condition number of one period of the published motion, by armlet's count."""
    sines, cosines = np.loadtxt(Path(folder) / "gen_params.txt").reshape(2, 7, 5)
    w = 0.15 * np.pi * np.arange(1, 6)
    t = np.arange(0, 2 * np.pi / w[0], 1e-3)
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    q = CENTRE + s @ (sines / w).T - c @ (cosines / w).T
    qd, qdd = c @ sines.T + s @ cosines.T, c * w @ cosines.T - s * w @ sines.T
    Y = armlet.load("panda").regressor(q, qd, qdd, friction=True)
    return np.linalg.cond(Y.reshape(-1, Y.shape[-1]))


def time_search(limited):
    """Seconds of a short search and of an identification, with armlet's limit of threads or not."""
    if not limited:
        blas.SingleBlasThread.__enter__ = blas.SingleBlasThread.__exit__ = lambda *_: None
    robot = armlet.load("panda").without_drives()
    armlet.excite(robot, 2.0, harmonics=2, starts=1)  # compiles what is needed
    begun = time.perf_counter()
    plan = armlet.excite(robot, 10.0, starts=1)
    between = time.perf_counter()
    noise = 0.1 * np.random.default_rng(0).normal(size=plan.q.shape)
    armlet.identify(robot, armlet.Log(plan.t, plan.q, plan.tau + noise), physical=False)
    print(f"excite {between - begun:.2f} s, identify {time.perf_counter() - between:.2f} s")


def threads():
    """The times with one and two threads, of which armlet uses one by default."""
    for count in ("1", "2"):
        for limited in ("limited", "as they are"):
            print(f"{count} BLAS threads, {limited}: ", end="", flush=True)
            command = [sys.executable, __file__, "--threads", limited]
            subprocess.run(command, env=os.environ | dict.fromkeys(THREADS, count), check=True)


def main():
    if sys.argv[1:2] == ["--threads"]:
        time_search(sys.argv[2] == "limited") if sys.argv[2:] else threads()
        return
    if len(sys.argv) == 2 and Path(sys.argv[1]).is_dir():
        condition = published_condition(sys.argv[1])
        print(f"published motion as commanded: condition number {condition:.1f}")
        return
    held = True
    for seed in map(int, sys.argv[1:] or ["0"]):
        begun, used = time.perf_counter(), time.process_time()
        robot = armlet.load("panda")
        plan = armlet.excite(robot, 20.0, harmonics=5, limits=LIMITS, seed=seed)
        seconds, processor = time.perf_counter() - begun, time.process_time() - used
        wrong = broken_limits(robot, plan)
        print(f"seed {seed}: {plan}")
        print(f"  {seconds:.1f} s, {processor:.1f} s of the processor")
        print(f"  limits broken at 1 kHz: {', '.join(wrong) or 'none'}")
        for name, margins in plan.margins.items():
            print(f"  margin of {name}: {' '.join(f'{x:.3g}' for x in margins)}")
        held &= plan.condition <= CONDITION and processor <= SECONDS and not wrong
    print("all as it must be" if held else "NOT as it must be")
    sys.exit(not held)


if __name__ == "__main__":
    main()
