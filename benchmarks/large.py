"""First calls of large robots: how long searching and compiling takes, and how fast the code is.

    python benchmarks/large.py [--joints 40 100] [--quantities inertia_matrix bias] [FILE.urdf ...]

By default random trees of 40 and 100 joints. Each first call is made by a process of its own with
an empty cache: one state, and 128 rows; in brackets the processor's time, which is longer where
several cores compile. Then the time of a state, called alone and in rows, and how often that goes
into a call of Pinocchio from Python, if it has the quantity.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import armlet
from armlet.formats.urdf import urdf_text

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.robots import random_urdf

DERIVATIVES = ("linearization", "state_space", "cartesian")
NOT_FOR_LARGE = "friction_torque"
ROWS, SECONDS = 128, 0.3
PINOCCHIO = {
    "inverse_dynamics": ("rnea", 3),
    "inertia_matrix": ("crba", 1),
    "inverse_inertia_matrix": ("computeMinverse", 1),
    "bias": ("nonLinearEffects", 2),
    "gravity_torque": ("computeGeneralizedGravity", 1),
    "coriolis_matrix": ("computeCoriolisMatrix", 2),
    "forward_dynamics": ("aba", 3),
    "regressor": ("computeJointTorqueRegressor", 3),
    "centre_of_mass": ("centerOfMass", 1),
}
"""What Pinocchio calls a quantity, and how many arguments of the state it takes."""


def quantities():
    """All but derivatives, and Cartesian models, which have six joints at most."""
    left_out = (*DERIVATIVES, NOT_FOR_LARGE)
    return [q for q in armlet.QUANTITIES if not any(word in q for word in left_out)]


def load(path):
    robot = armlet.load(path, mimic="lock")
    return robot if robot.tool else robot.with_tool(robot.links[-1])


def per_call(function):
    """Seconds of a call, the least of some."""
    least, end = np.inf, perf_counter() + SECONDS
    while perf_counter() < end:
        begun = perf_counter()
        function()
        least = min(least, perf_counter() - begun)
    return least


def peer(robot, quantity):
    """Seconds of a call of Pinocchio, in its own order of joints; None if it has none."""
    if quantity not in PINOCCHIO:
        return None
    pin = import_module("pinocchio")
    name, count = PINOCCHIO[quantity]
    model = pin.buildModelFromXML(urdf_text(robot))
    data, v = model.createData(), np.random.default_rng(0).uniform(-1, 1, model.nv)
    state = (pin.integrate(model, pin.neutral(model), v), v, v)[:count]
    return per_call(lambda: getattr(pin, name)(model, data, *state))


def measure(path, quantity, way):
    """Seconds of the first call, and of the processor; of a state; of a call of Pinocchio."""
    robot = load(path)
    count = len(armlet.QUANTITIES[quantity].arguments)
    rows = np.random.default_rng(0).uniform(-1, 1, (count, ROWS, robot.nq))
    state = rows if way == "rows" else rows[:, 0]
    begun, worked = perf_counter(), process_time()
    result = getattr(robot, quantity)(*state)
    first = perf_counter() - begun, process_time() - worked
    method = getattr(robot, quantity)
    again = per_call(lambda: method(*state, out=result)) / (ROWS if way == "rows" else 1)
    return first, again, peer(robot, quantity)


def in_process(path, quantity, way):
    """The same in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, "--measure", str(path), quantity, way]
        environment = {**os.environ, "ARMLET_CACHE": cache}
        answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    if answer.returncode:
        return answer.stderr.strip().splitlines()[-1]
    return json.loads(answer.stdout.splitlines()[-1])


def table(path, names):
    robot = load(path)
    print(f"{robot.name}, {robot.nv} joints: first calls in s; µs of a state (Pinocchio's / it)")
    print(f"{'quantity':24} {'one':>12} {'rows':>12} {'one':>16} {'rows':>16}")
    for quantity in names:
        every = [in_process(path, quantity, way) for way in ("one", "rows")]
        if wrong := [x for x in every if isinstance(x, str)]:
            print(f"{quantity:24} {wrong[0][:70]}", flush=True)
            continue
        firsts = " ".join(f"{clock:5.1f} ({worked:4.1f})" for (clock, worked), _, _ in every)
        times = " ".join(
            f"{1e6 * again:8.2f} " + (f"({theirs / again:4.1f}x)" if theirs else " " * 7)
            for _, again, theirs in every
        )
        print(f"{quantity:24} {firsts} {times}", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--joints", nargs="*", type=int, default=[40, 100])
    parser.add_argument("--quantities", nargs="*", default=quantities())
    parser.add_argument("--measure", nargs=3)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(*given.measure)))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(file) for file in given.files]
        if not paths:
            for n in given.joints:
                paths.append(Path(folder) / f"random{n}.urdf")
                paths[-1].write_text(random_urdf(0, n))
        for path in paths:
            table(path, given.quantities)


if __name__ == "__main__":
    main()
