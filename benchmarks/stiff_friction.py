"""Stiff friction: every default of fixed steps at 1 ms beside dop853 with tight tolerances.

python benchmarks/stiff_friction.py          six arms; exits with 1 if an error exceeds the bar
python benchmarks/stiff_friction.py panda    some of them

Frictions are those of the drives (of the catalogue; where it has none, 2 % of the rated torque, dry
and again at the rated velocity) and those of an ordinary URDF (4 to 0.6 Nm, and some viscous).
Motions of 2 s begin at rest: "fall" has no torques; "driven" has gravity compensated and sines of
torques, held for 10 ms, that overcome friction about half of the time, so that joints stick, slip
and reverse. "growth" is how many times a change of the start by 1e-7 rad is larger at the end; a
motion with more than 1000 is chaotic: its error is printed and not judged.
Needs FMPy for functional mock-up units.
"""

import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import armlet

ARMS = ("panda", "puma560", "tx40", "ur5e", "iiwa14", "xarm7")
DT, STEPS, HELD = 1e-3, 2000, 10
BAR = 1e-3
"""The largest error after 2 s, rad."""
CHAOTIC = 1000
"""The growth of small changes from which a motion is not judged."""
EXACT = armlet.Adaptive("dop853", rtol=1e-10, atol=1e-12)
LANES, TIMED, ROUNDS = 1000, 50, 5


def with_friction(robot, kind):
    """The arm with friction of a kind: its drives' own, or an ordinary URDF's."""
    n = robot.nv
    if kind == "drives" and any(drive.coulomb for drive in robot.drives):
        return robot
    if kind == "drives":
        coulomb = 0.02 * robot.effort_limit
        viscous = coulomb / robot.velocity_limit
    else:
        coulomb, viscous = np.linspace(4, 0.6, n), np.linspace(1, 0.1, n)
    pairs = zip(robot.drives, viscous.tolist(), coulomb.tolist(), strict=True)
    drives = (x._replace(viscous=v, coulomb=c, offset=0.0) for x, v, c in pairs)
    return replace(robot, drives=tuple(drives))


def motion(robot, kind):
    """The arm, a start and a row of torques for every step."""
    q = np.random.default_rng(0).uniform(-1, 1, robot.nq)
    if kind == "fall":
        return robot, q, np.zeros((STEPS, robot.nv))
    coulomb = np.array([drive.coulomb for drive in robot.drives])
    t = (DT * HELD * (np.arange(STEPS) // HELD))[:, None]
    w = np.linspace(4, 9, robot.nv)
    return robot.with_gravity([0, 0, 0]), q, 1.5 * coulomb * np.sin(w * t)


def by_rollout(robot, q, tau):
    return armlet.rollout(
        armlet.Plant(robot), q[None], torque=tau, dt=DT, steps=STEPS, every=STEPS
    ).q[-1, 0]


def by_simulate(robot, q, tau):
    options = {"duration": DT * STEPS, "dt": DT, "method": "rosenbrock2"}
    return armlet.simulate(robot, q, torque=tau, **options).q[-1]


def by_fmu(robot, q, tau):
    import fmpy
    from fmpy.fmi3 import FMU3Slave

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "arm.fmu")
        armlet.to_fmu(robot, path, q0=q)
        about = fmpy.read_model_description(path)
        known = {x.name: [x.valueReference] for x in about.modelVariables}
        unit = FMU3Slave(
            guid=about.guid,
            unzipDirectory=fmpy.extract(path, folder),
            instanceName="arm",
            modelIdentifier=about.coSimulation.modelIdentifier,
        )
        unit.instantiate()
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        for k, row in enumerate(tau):
            unit.setFloat64(known["tau"], row.tolist())
            unit.doStep(currentCommunicationPoint=k * DT, communicationStepSize=DT)
        end = np.array(unit.getFloat64(known["q"], robot.nv))
        unit.terminate()
        unit.freeInstance()
    return end


def growth(robot, q, tau):
    """How many times small changes of the start are larger at the end."""
    changes = 1e-7 * np.random.default_rng(5).choice([-1, 1], (8, robot.nv))
    changes[0] = 0
    torque = np.repeat(tau[:, None], len(changes), axis=1)
    options = {"dt": DT, "steps": STEPS, "every": STEPS}
    end = armlet.rollout(armlet.Plant(robot), q + changes, torque=torque, **options).q[-1]
    return np.abs(end - end[0]).max() / 1e-7


DEFAULTS = {"simulate": by_simulate, "rollout": by_rollout, "FMU": by_fmu}


def errors(robot, kind):
    """The error of every default after 2 s, rk4's, the growth, and the seconds of dop853."""
    robot, q, tau = motion(robot, kind)
    begun = time.perf_counter()
    exact = armlet.simulate(robot, q, torque=tau, duration=DT * STEPS, dt=DT, method=EXACT).q[-1]
    taken = time.perf_counter() - begun
    found = {}
    for name, end in DEFAULTS.items():
        try:
            found[name] = np.abs(end(robot, q, tau) - exact).max()
        except ModuleNotFoundError:
            found[name] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = armlet.simulate(robot, q, torque=tau, duration=DT * STEPS, dt=DT, method="rk4")
    return found, np.abs(old.q[-1] - exact).max(), growth(robot, q, tau), taken


def cost(plant, **options):
    """Nanoseconds of a step of a roll-out of many arms, one core."""
    q = np.random.default_rng(1).uniform(-1, 1, (LANES, plant.robot.nq))
    least = np.inf
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            armlet.rollout(plant, q, dt=DT, steps=TIMED, every=TIMED, **options)
        least = min(least, time.perf_counter() - begun)
    return 1e9 * least / LANES / TIMED


def worst(found):
    return max(x for x in found.values() if not np.isnan(x))


def main():
    missed = 0
    names = sys.argv[1:] or ARMS
    print(f"error in rad after {DT * STEPS:g} s by steps of {DT:g} s, bar {BAR:g}; ns per step")
    print(
        f"{'arm':8} {'friction':8} {'motion':7}",
        *(f"{x:>9}" for x in DEFAULTS),
        "      rk4",
        " growth dop853 s | default  old  frictionless",
        flush=True,
    )
    for name in names:
        for friction in ("drives", "URDF"):
            robot = with_friction(armlet.load(name), friction)
            times = [
                cost(armlet.Plant(robot)),
                cost(armlet.Plant(robot), method="semi_implicit_euler"),
                cost(armlet.Plant(robot, friction=False)),
            ]
            for kind in ("driven", "fall"):
                found, old, grown, taken = errors(robot, kind)
                said = "chaotic" if grown > CHAOTIC else "missed" if worst(found) > BAR else ""
                missed += said == "missed"
                print(
                    f"{name:8} {friction:8} {kind:7}",
                    *(f"{x:9.1e}" for x in found.values()),
                    f"{old:9.1e} {grown:7.0f} {taken:8.1f} |",
                    "".join(f"{x:7.0f}" for x in times),
                    said,
                    flush=True,
                )
    print(f"{missed} motions above the bar")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
