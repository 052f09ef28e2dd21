"""Functional mock-up units in FMPy: it finds them valid, and simulates them as armlet does.

FMPy brings CMake, lxml and nbformat along and is no part of the extra `dev`: these tests run after
`pip install fmpy`.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import armlet
from armlet.fmu import compiler

fmpy = pytest.importorskip("fmpy", reason="FMPy is not installed: pip install fmpy")
pytestmark = pytest.mark.skipif(not compiler(), reason="no C compiler is here")
ARMS = ("panda", "scara")
VERSIONS = (2, 3)
STEPS, DT = 100, 1e-3


@pytest.fixture(scope="module")
def unit(arms, tmp_path_factory):
    """A function that writes a unit once: of an arm, the arm itself or a quantity."""
    folder = tmp_path_factory.mktemp("units")

    def written(name, fmi, of=None):
        path = folder / f"{name}_{of}_{fmi}.fmu"
        if not path.exists():
            armlet.to_fmu(arms[name], path, of, fmi=fmi)
        return str(path)

    return written


class Slave:
    """An instance in FMPy, with arrays by name in both versions."""

    def __init__(self, path, folder, start):
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        about = fmpy.read_model_description(path)
        self.fmi = int(about.fmiVersion[0])
        self.references = {}
        for x in about.modelVariables:
            self.references.setdefault(x.name.partition("[")[0], []).append(x.valueReference)
        kind = {2: FMU2Slave, 3: FMU3Slave}[self.fmi]
        self.fmu = kind(
            unzipDirectory=fmpy.extract(path, folder),
            modelIdentifier=about.coSimulation.modelIdentifier,
            instanceName="arm",
            guid=about.guid,
        )
        self.fmu.instantiate()
        self.start(start)

    def start(self, values):
        for name, x in values.items():
            self.set(name, x)
        if self.fmi == 2:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def set(self, name, values):
        values = [float(x) for x in np.ravel(values)]
        put = self.fmu.setReal if self.fmi == 2 else self.fmu.setFloat64
        put(self.references[name], values)

    def get(self, name, size):
        if self.fmi == 2:
            return np.array(self.fmu.getReal(self.references[name]))
        return np.array(self.fmu.getFloat64(self.references[name], size))

    def moved(self, tau, first=0):
        n = tau.shape[1]
        found = []
        for k, row in enumerate(tau):
            self.set("tau", row)
            self.fmu.doStep(currentCommunicationPoint=(first + k) * DT, communicationStepSize=DT)
            found.append(np.concatenate([self.get("q", n), self.get("qd", n)]))
        return np.array(found)


@pytest.fixture
def slave(tmp_path):
    """A function that makes instances of units."""
    made = []

    def new(path, **start):
        made.append(Slave(path, str(tmp_path / str(len(made))), start))
        return made[-1]

    yield new
    for x in made:
        x.fmu.terminate()
        x.fmu.freeInstance()


def motion(robot):
    """Torques, and where a motion under them starts."""
    rng = np.random.default_rng(0)
    q0, qd0 = rng.uniform(-0.5, 0.5, (2, robot.nv))
    return robot.gravity_torque(q0) + rng.uniform(-0.5, 0.5, (STEPS, robot.nv)), q0, qd0


def integrator(robot):
    """The method of the unit of an arm."""
    return "rosenbrock2" if any(any(drive[1:]) for drive in robot.drives) else "rk4"


@pytest.mark.parametrize("of", [None, "inverse_dynamics"])
@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("name", ARMS)
def test_it_finds_nothing_wrong(name, fmi, of, unit):
    from fmpy.validation import validate_fmu

    assert validate_fmu(unit(name, fmi, of)) == []


@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("name", ARMS)
def test_an_arm_moves_as_it_is_simulated(name, fmi, arms, unit, slave):
    robot = arms[name]
    tau, q0, qd0 = motion(robot)
    found = slave(unit(name, fmi), q0=q0, qd0=qd0).moved(tau)
    run = armlet.simulate(robot, q0, qd0, tau, duration=STEPS * DT, dt=DT, method=integrator(robot))
    expected = np.concatenate([run.q, run.qd], axis=1)[1:]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("fmi", VERSIONS)
@pytest.mark.parametrize("name", ARMS)
def test_torques_are_those_of_the_robot(name, fmi, arms, unit, slave):
    robot = arms[name]
    block = slave(unit(name, fmi, "inverse_dynamics"))
    for k, state in enumerate(np.random.default_rng(1).uniform(-1, 1, (5, 3, robot.nv))):
        for variable, values in zip(("q", "qd", "qdd"), state, strict=True):
            block.set(variable, values)
        if k % 2:
            block.fmu.doStep(currentCommunicationPoint=k * DT, communicationStepSize=DT)
        found = block.get("inverse_dynamics", robot.nv)
        expected = robot.inverse_dynamics(*state)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_its_own_simulation_is_armlets(fmi, arms, unit):
    """From the start values of the unit, under gravity alone."""
    robot = arms["scara"]
    result = fmpy.simulate_fmu(
        unit("scara", fmi),
        stop_time=0.1,
        step_size=DT,
        output_interval=DT,
        output=["q"] if fmi == 3 else [f"q[{k}]" for k in range(1, 5)],
    )
    run = armlet.simulate(robot, np.zeros(4), duration=0.1, dt=DT, method=integrator(robot))
    found = result["q"] if fmi == 3 else np.array([result[f"q[{k}]"] for k in range(1, 5)]).T
    np.testing.assert_allclose(found, run.q, rtol=0, atol=1e-9)


@pytest.mark.parametrize("fmi", VERSIONS)
def test_instances_states_and_resets(fmi, arms, unit, slave):
    tau, q0, qd0 = motion(arms["scara"])
    one, two = (slave(unit("scara", fmi), q0=q0, qd0=x) for x in (qd0, -qd0))
    first = np.array([x.moved(tau[k : k + 1], k)[0] for k in range(20) for x in (one, two)])
    assert (first[0::2] != first[1::2]).any()
    saved = one.fmu.getFMUState()
    later = one.moved(tau[20:40], 20)
    one.fmu.setFMUState(saved)
    np.testing.assert_array_equal(one.moved(tau[20:40], 20), later)
    one.fmu.freeFMUState(saved)
    one.fmu.reset()
    one.start({"q0": q0, "qd0": qd0})
    np.testing.assert_array_equal(one.moved(tau[:20]), first[0::2])


@pytest.mark.parametrize("fmi", VERSIONS)
def test_functions_are_declared_as_in_the_header_of_the_standard(fmi, unit, tmp_path):
    """Compiled with the header included first, every definition is compared with it."""
    sources = Path(fmpy.extract(unit("scara", fmi), str(tmp_path))) / "sources"
    headers = Path(fmpy.__file__).parent / "c-code"
    command = [
        *compiler(),
        "-std=c99",
        "-Wall",
        "-Werror",
        "-I",
        headers,
        "-include",
        f"fmi{fmi}Functions.h",
        "-c",
        f"fmi{fmi}.c",
        "-o",
        tmp_path / "unit.o",
    ]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
