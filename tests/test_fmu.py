"""Functional mock-up units: files, C and numbers. `test_fmpy.py` has what FMPy says of them."""

import ctypes
import json
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support.units import ERROR, OK, Instance, description, unpacked
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.fmu import compiler, function_block, plant_block, unit_files
from armlet.fmu.block import functions_of, variable
from armlet.robot import Limits

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
STRICT += ["-fPIC", "-shared", "-O1"]
needs_compiler = pytest.mark.skipif(not compiler(), reason="no C compiler is here")
SANITIZED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
MAIN = """
#include "fmi3.c"
static void said(void *environment, fmi3Status s, fmi3String category, fmi3String message)
{
    (void)environment, (void)s, (void)category, (void)puts(message);
}
int main(void)
{
    static double values[sizeof(Values) / sizeof(double)];
    const fmi3ValueReference unknown = 99;
    fmi3Boolean a, b, c;
    double last;
    void *saved = NULL;
    void *unit = fmi3InstantiateCoSimulation("unit", MODEL_TOKEN, NULL, false, false, false, false,
                                             NULL, 0, NULL, said, NULL);
    int wrong = fmi3EnterInitializationMode(unit, false, 0, 0, false, 0);
    wrong |= fmi3ExitInitializationMode(unit) | fmi3GetFMUState(unit, &saved);
    for (int k = 0; k < 10; k++) {
        wrong |= fmi3DoStep(unit, 0.01 * k, 0.01, true, &a, &b, &c, &last);
    }
    wrong |= fmi3SetFMUState(unit, saved) | fmi3GetFMUState(unit, &saved);
    for (fmi3ValueReference k = 0; k < MODEL_VARIABLES; k++) {
        wrong |= fmi3GetFloat64(unit, &k, 1, values, model_variables[k].count);
    }
    wrong |= fmi3GetFloat64(unit, &unknown, 1, values, 1) != fmi3Error;
    wrong |= fmi3FreeFMUState(unit, &saved) | fmi3Reset(unit);
    fmi3FreeInstance(unit);
    return wrong;
}
"""
KINDS = {"arm": None, "terms": ["inverse_dynamics", "energy", "jacobian"]}


@pytest.fixture(scope="module")
def planar():
    return armlet.load("planar2r")


@pytest.fixture(scope="module")
def made(planar, tmp_path_factory):
    """Units of a planar arm with friction, unpacked, by their kind and version."""
    robot = planar.with_drives(viscous=0.3, coulomb=0.2)
    folder = tmp_path_factory.mktemp("units")
    found = {}
    for kind, of in KINDS.items():
        for fmi in (2, 3):
            path = folder / f"{kind}{fmi}.fmu"
            armlet.to_fmu(robot, path, of, fmi=fmi)
            found[kind, fmi] = unpacked(path, folder / f"{kind}{fmi}")
    return robot, found


@pytest.fixture
def arm(made):
    robot, folders = made
    return robot, Instance(folders["arm", 3])


@pytest.fixture
def terms(made):
    robot, folders = made
    return robot, Instance(folders["terms", 3])


def generate(*args, **environment):
    environment = {"COLUMNS": "400"} | environment
    return CliRunner().invoke(app, ["generate", *map(str, args)], env=environment)


# ------------------------------------------------------------------ files


def block_of(robot, of):
    return plant_block(robot) if of is None else function_block(robot, functions_of(robot, of))


@pytest.mark.parametrize("kind", KINDS)
def test_variables_of_both_versions_are_those_of_the_robot(kind, planar):
    block = block_of(planar, KINDS[kind])
    for fmi in (2, 3):
        text = unit_files(block, fmi)["modelDescription.xml"]
        root = ET.fromstring(text)
        units = {x.get("name") for x in root.find("UnitDefinitions")}
        variables = list(root.find("ModelVariables"))
        references = [int(x.get("valueReference")) for x in variables]
        assert references == list(range(len(variables)))
        real = [x if fmi == 3 else x.find("Real") for x in variables]
        assert {x.get("unit") for x in real} - {None} == units
        for x, y in zip(variables, real, strict=True):
            settable = x.get("causality") in ("input", "parameter")
            assert (y.get("start") is not None) == settable
            assert x.get("description")
        sizes = [1] * len(variables)
        if fmi == 3:
            sizes = [
                int(np.prod([int(d.get("start")) for d in x.findall("Dimension")]))
                for x in variables
            ]
            for x, size in zip(variables, sizes, strict=True):
                assert len((x.get("start") or " 0" * size).split()) == size
        assert sum(sizes) == sum(x.size for x in block.variables)


def test_outputs_depend_on_what_they_are_computed_from(planar):
    block = block_of(planar, ["gravity_torque", "inertia_matrix", "bias"])
    root = ET.fromstring(unit_files(block, 2)["modelDescription.xml"])
    names = [x.get("name") for x in root.find("ModelVariables")]
    depends = {
        names[int(x.get("index")) - 1]: {names[int(k) - 1] for k in x.get("dependencies").split()}
        for x in root.find("ModelStructure").find("Outputs")
    }
    assert depends["inertia_matrix[1,1]"] == {"q[2]"}
    assert depends["inertia_matrix[2,2]"] == set()
    assert depends["gravity_torque[2]"] == {"q[1]", "q[2]"}
    assert depends["bias[2]"] == {"q[1]", "q[2]", "qd[1]"}


def test_no_input_of_an_arm_acts_on_its_outputs_at_once(planar):
    structure = ET.fromstring(unit_files(plant_block(planar))["modelDescription.xml"]).find(
        "ModelStructure"
    )
    assert {x.get("dependencies") for x in structure.findall("Output")} == {""}
    assert all(x.get("dependencies") for x in structure.findall("InitialUnknown"))


def test_joints_have_their_units_and_limits(arms):
    block = block_of(arms["scara"], "inverse_dynamics")
    two, three = (ET.fromstring(unit_files(block, fmi)["modelDescription.xml"]) for fmi in (2, 3))
    real = {x.get("name"): x.find("Real") for x in two.find("ModelVariables")}
    assert [real[f"q[{k}]"].get("unit") for k in (1, 2, 3, 4)] == ["rad", "rad", "m", "rad"]
    assert [real[f"inverse_dynamics[{k}]"].get("unit") for k in (2, 3)] == ["N.m", "N"]
    for k, joint in enumerate(arms["scara"].joints):
        if np.isfinite(joint.limits.lower):
            assert float(real[f"q[{k + 1}]"].get("min")) == joint.limits.lower
    q = next(x for x in three.find("ModelVariables") if x.get("name") == "q")
    assert q.get("unit") is None  # FMI 3 has one unit for an array
    assert "joint3 (m)" in q.get("description")


def test_an_arm_that_cannot_be_at_zero_starts_at_the_nearest_limit(arms):
    block = plant_block(arms["panda"])
    (q0,) = (x for x in block.variables if x.name == "q0")
    limits = arms["panda"].joints[3].limits
    assert q0.start[3] == limits.upper < 0
    assert q0.start[0] == 0
    given = np.linspace(-2, 2, 7)
    (q0,) = (x for x in plant_block(arms["panda"], q0=given).variables if x.name == "q0")
    assert q0.start == tuple(given)


@needs_compiler
def test_two_units_of_the_same_arm_are_the_same_bytes(planar, tmp_path):
    for name in "ab":
        armlet.to_fmu(planar, tmp_path / name, "bias")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with zipfile.ZipFile(tmp_path / "a") as archive:
        assert {x.date_time for x in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    armlet.to_fmu(planar.with_gravity([0, 0, -1.6]), tmp_path / "b", "bias")
    tokens = {
        description(unpacked(tmp_path / x, tmp_path / f"{x}_files")).get("instantiationToken")
        for x in "ab"
    }
    assert len(tokens) == 2


def test_without_a_compiler_there_are_sources_alone(planar, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "")
    assert armlet.to_fmu(planar, tmp_path / "arm.fmu") == ""
    with zipfile.ZipFile(tmp_path / "arm.fmu") as archive:
        names = archive.namelist()
    assert "sources/buildDescription.xml" in names
    assert not any(name.startswith("binaries") for name in names)
    result = generate("planar2r", "--target", "fmu", "-o", tmp_path / "arm.fmu")
    assert "no C compiler is here: the file has sources" in result.output


@needs_compiler
@pytest.mark.parametrize("fmi", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_sources_compile_without_a_warning(kind, fmi, made, tmp_path):
    _, folders = made
    sources = folders[kind, fmi] / "sources"
    listed = [x.get("name") for x in description(sources.parent).iter("File")]
    if fmi == 3:
        root = ET.parse(sources / "buildDescription.xml")
        listed = [x.get("name") for x in root.iter("SourceFile")]
    command = [*compiler(), *STRICT, *listed, "-o", str(tmp_path / "unit.so"), "-lm"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    ctypes.CDLL(str(tmp_path / "unit.so"))


@needs_compiler
@pytest.mark.parametrize("fmi", [2, 3])
def test_two_units_can_be_linked_into_one_program(fmi, made, tmp_path):
    _, folders = made
    objects = []
    for kind in KINDS:
        for source in (folders[kind, fmi] / "sources").glob("*.c"):
            objects.append(str(tmp_path / f"{kind}_{source.stem}.o"))
            prefix = f"-DFMI{fmi}_FUNCTION_PREFIX={kind}_"
            command = [*compiler(), "-std=c99", prefix, "-c", str(source), "-o", objects[-1]]
            subprocess.run(command, check=True, timeout=120)
    (tmp_path / "main.c").write_text(
        "".join(f"const char *{kind}_fmi{fmi}GetVersion(void);\n" for kind in KINDS)
        + f"int main(void) {{ return arm_fmi{fmi}GetVersion() == terms_fmi{fmi}GetVersion(); }}"
    )
    command = [*compiler(), "main.c", *objects, "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=120)


# ------------------------------------------------------------------ the arm that moves


def torques(robot, steps):
    return np.random.default_rng(0).uniform(-3, 3, (steps, robot.nv))


def moved(instance, tau, dt, first=0):
    """The positions after each step under torques."""
    found = []
    for k, row in enumerate(tau):
        assert instance.set("tau", row) == OK
        assert instance.step((first + k) * dt, dt) == OK, instance.said
        found.append(instance.get("q"))
    return np.array(found)


@needs_compiler
def test_an_arm_moves_as_it_is_simulated(arm):
    robot, instance = arm
    tau, q0, qd0 = torques(robot, 200), [0.3, -0.2], [1.0, 0.5]
    instance.start(q0=q0, qd0=qd0)
    q = moved(instance, tau, 1e-3)
    run = armlet.simulate(robot, q0, qd0, tau, duration=0.2, dt=1e-3, method="rosenbrock2")
    np.testing.assert_allclose(q, run.q[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(instance.get("qd"), run.qd[-1], rtol=0, atol=1e-12)
    pose = robot.forward_kinematics(run.q[-1])
    np.testing.assert_allclose(instance.get("pose"), pose, rtol=0, atol=1e-12)
    assert instance.get("time") == pytest.approx(0.2)


@needs_compiler
def test_long_steps_are_cut_into_short_ones(arm):
    robot, instance = arm
    instance.start(q0=[0.3, -0.2], step=2e-3)
    assert instance.step(0.0, 0.1) == OK
    run = armlet.simulate(robot, [0.3, -0.2], duration=0.1, dt=2e-3, method="rosenbrock2")
    np.testing.assert_allclose(instance.get("q"), run.q[-1], rtol=0, atol=1e-12)
    before = instance.get("q")
    assert instance.step(0.1, 0.0) == OK
    assert (instance.get("q") == before).all()
    assert instance.step(0.1, 1e-8) == OK
    assert (instance.get("q") != before).any()


@needs_compiler
def test_stiff_friction_is_followed_by_the_default_step(planar, tmp_path):
    """Coulomb friction that acts within 50 µs; the second joint moves, the first is held."""
    robot = planar.with_drives(viscous=0.1, coulomb=[20.0, 1.0])
    tau = np.array([10.0, 3.0]) + robot.gravity_torque([0.2, 0.1])
    armlet.to_fmu(robot, tmp_path / "arm.fmu", q0=[0.2, 0.1])
    instance = Instance(unpacked(tmp_path / "arm.fmu", tmp_path / "arm"))
    instance.start()
    instance.set("tau", tau)
    assert instance.step(0.0, 0.5) == OK
    exact = armlet.simulate(robot, [0.2, 0.1], torque=np.tile(tau, (50, 1)), duration=0.5, dt=0.01)
    np.testing.assert_allclose(instance.get("q"), exact.q[-1], rtol=0, atol=1e-3)
    np.testing.assert_allclose(instance.get("qd"), exact.qd[-1], rtol=0, atol=1e-2)


@needs_compiler
def test_an_arm_without_friction_is_simulated_as_by_rk4(planar, tmp_path):
    armlet.to_fmu(planar, tmp_path / "arm.fmu", q0=[0.4, 0.0])
    instance = Instance(unpacked(tmp_path / "arm.fmu", tmp_path / "arm"))
    instance.start()
    assert instance.step(0.0, 0.3) == OK
    run = armlet.simulate(planar, [0.4, 0.0], duration=0.3, dt=1e-3, method="rk4")
    np.testing.assert_allclose(instance.get("q"), run.q[-1], rtol=0, atol=1e-12)


@needs_compiler
def test_an_arm_has_stops_and_no_friction_if_asked(planar, tmp_path):
    limits = [joint._replace(limits=Limits(-0.5, 0.5)) for joint in planar.joints]
    robot = replace(planar, joints=tuple(limits)).with_drives(viscous=0.3)
    plant = armlet.Plant(robot, friction=False, stops=True)
    armlet.to_fmu(plant, tmp_path / "arm.fmu", q0=[0.4, 0.0])
    instance = Instance(unpacked(tmp_path / "arm.fmu", tmp_path / "arm"))
    instance.start()
    assert instance.step(0.0, 0.6) == OK
    run = armlet.simulate(plant, [0.4, 0.0], duration=0.6, dt=1e-3, method="rosenbrock2")
    np.testing.assert_allclose(instance.get("q"), run.q[-1], rtol=0, atol=1e-9)
    free = armlet.simulate(robot, [0.4, 0.0], duration=0.6, dt=1e-3, method="rk4")
    assert abs(free.q[-1] - run.q[-1]).max() > 0.1


@needs_compiler
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_clean_under_sanitizers(kind, made, tmp_path):
    _, folders = made
    sources = folders[kind, 3] / "sources"
    (tmp_path / "main.c").write_text(MAIN)
    command = [*compiler(), "-std=c99", "-g", *SANITIZED, "-I", str(sources), "-o", "main"]
    files = [
        str(path) for path in (tmp_path / "main.c", sources / "model.c", sources / "dynamics.c")
    ]
    built = subprocess.run([*command, *files, "-lm"], cwd=tmp_path, capture_output=True, text=True)
    if "cannot find" in built.stderr:
        pytest.skip("the compiler has no sanitizers here")
    assert built.returncode == 0, built.stderr
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "no variable has the value reference 99\n"


@needs_compiler
def test_instances_do_not_know_of_each_other(made):
    robot, folders = made
    tau = torques(robot, 20)
    starts = ([0.1, 0.2], [0.5, -0.5])

    def started(q0):
        instance = Instance(folders["arm", 3])
        instance.start(q0=q0)
        return instance

    alone = [moved(started(q0), tau, 1e-3) for q0 in starts]
    pair = [started(q0) for q0 in starts]
    for k in range(20):
        for instance, expected in zip(pair, alone, strict=True):
            (found,) = moved(instance, tau[k : k + 1], 1e-3, k)
            np.testing.assert_array_equal(found, expected[k])
    first, second = pair
    first.free()
    assert second.step(0.02, 1e-3) == OK


@needs_compiler
def test_an_arm_that_is_reset_starts_anew(arm):
    robot, instance = arm
    tau = torques(robot, 10)
    instance.start(q0=[0.1, 0.2])
    first = moved(instance, tau, 1e-3)
    assert instance.call("fmi3Terminate") == OK
    assert instance.step(0.01, 1e-3) == ERROR
    assert instance.call("fmi3Reset") == OK
    np.testing.assert_array_equal(instance.get("q0"), [0, 0])
    instance.start(q0=[0.1, 0.2])
    np.testing.assert_array_equal(moved(instance, tau, 1e-3), first)


@needs_compiler
def test_a_state_that_was_saved_is_returned_to(arm):
    robot, instance = arm
    tau = torques(robot, 30)
    instance.start(q0=[0.1, 0.2])
    moved(instance, tau[:10], 1e-3)
    saved = ctypes.c_void_p()
    assert instance.call("fmi3GetFMUState", ctypes.byref(saved)) == OK
    first = moved(instance, tau[10:], 1e-3, 10)
    assert instance.call("fmi3SetFMUState", saved) == OK
    np.testing.assert_array_equal(moved(instance, tau[10:], 1e-3, 10), first)
    size = ctypes.c_size_t()
    assert instance.call("fmi3SerializedFMUStateSize", saved, ctypes.byref(size)) == OK
    bytes_ = (ctypes.c_uint8 * size.value)()
    assert instance.call("fmi3SerializeFMUState", saved, bytes_, size) == OK
    assert instance.call("fmi3FreeFMUState", ctypes.byref(saved)) == OK
    assert saved.value is None
    assert instance.call("fmi3DeserializeFMUState", bytes_, size, ctypes.byref(saved)) == OK
    assert instance.call("fmi3SetFMUState", saved) == OK
    np.testing.assert_array_equal(moved(instance, tau[10:], 1e-3, 10), first)
    short = ctypes.c_size_t(size.value - 1)
    assert instance.call("fmi3DeserializeFMUState", bytes_, short, ctypes.byref(saved)) == ERROR
    assert "are no state of this unit" in instance.said[-1]


@needs_compiler
def test_errors_say_what_is_wrong_and_leave_the_arm_as_it_is(arm):
    _, instance = arm
    assert instance.step(0.0, 1e-3) == ERROR
    assert "before initialization" in instance.said[-1]
    instance.start(q0=[0.1, 0.2])
    for name, values, said in (
        ("tau", [np.nan, 0], "tau is set to a value that is not finite"),
        ("tau", [0], "tau has 2 values: 1 are left for it"),
        ("tau", [0, 0, 0], "1 values belong to no variable"),
        ("q", [0, 0], "q cannot be set"),
        ("q0", [0, 0], "q0 cannot be set any more"),
    ):
        assert instance.set(name, values) == ERROR
        assert said in instance.said[-1]
    assert instance.set("", [0], reference=99) == ERROR
    assert "no variable has the value reference 99" in instance.said[-1]
    assert instance.step(0.0, -1.0) == ERROR
    assert instance.step(0.0, np.nan) == ERROR
    assert instance.set("tau", [1e200, 1e200]) == OK
    assert instance.step(0.5, 1e-3) == ERROR
    assert re.fullmatch("the step from 0.5 s fails: .* is out of range", instance.said[-1])
    np.testing.assert_array_equal(instance.get("q"), [0.1, 0.2])


@needs_compiler
def test_a_step_that_is_no_length_is_refused(arm):
    _, instance = arm
    instance.start(step=-1.0)
    assert instance.step(0.0, 1e-3) == ERROR
    assert "step is out of range" in instance.said[-1]


@needs_compiler
def test_a_description_of_another_unit_is_refused(made):
    _, folders = made
    instance = Instance(folders["arm", 3], token="{another}")
    assert instance.pointer.value is None
    assert "the token is {another}: expected {" in instance.said[0]


# ------------------------------------------------------------------ functions


@needs_compiler
def test_functions_are_those_of_the_robot_whenever_they_are_read(terms):
    robot, instance = terms
    rng = np.random.default_rng(1)
    instance.start()
    for k in range(4):
        q, qd, qdd = state = rng.uniform(-1, 1, (3, 2))
        for name, values in zip(("q", "qd", "qdd"), state, strict=True):
            assert instance.set(name, values) == OK
        if k % 2:
            assert instance.step(k * 0.1, 0.1) == OK
        tau = robot.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(instance.get("inverse_dynamics"), tau, rtol=0, atol=1e-12)
        np.testing.assert_allclose(instance.get("jacobian"), robot.jacobian(q), atol=1e-12)
        kinetic, potential = robot.energy(q, qd)
        assert instance.get("energy_kinetic") == pytest.approx(kinetic, abs=1e-12)
        assert instance.get("energy_potential") == pytest.approx(potential, abs=1e-12)


@needs_compiler
def test_a_function_of_your_own_has_the_time_and_parameters(planar, tmp_path):
    @armlet.function(planar, gain=armlet.Input("gain", (2,), "once"))
    def swing(q, t, gain):
        """Swing about the lower position."""
        return {"tau": planar.gravity_torque(q) + gain * np.sin(t)}

    armlet.to_fmu(planar, tmp_path / "swing.fmu", swing)
    instance = Instance(unpacked(tmp_path / "swing.fmu", tmp_path / "swing"))
    assert set(instance.references) == {"time", "q", "gain", "tau"}
    instance.start(time=2.0, q=[0.3, 0.4], gain=[1.0, 2.0])
    expected = planar.gravity_torque([0.3, 0.4]) + np.array([1, 2]) * np.sin(2.0)
    np.testing.assert_allclose(instance.get("tau"), expected, rtol=0, atol=1e-12)
    assert instance.step(2.0, 0.5) == OK
    assert instance.set("gain", [0, 1]) == OK
    expected = planar.gravity_torque([0.3, 0.4]) + np.array([0, 1]) * np.sin(2.5)
    np.testing.assert_allclose(instance.get("tau"), expected, rtol=0, atol=1e-12)


@needs_compiler
def test_inertias_are_parameters_that_start_as_the_robots_own(planar, tmp_path):
    path = tmp_path / "torques.fmu"
    result = generate(
        "planar2r",
        "-f",
        "inverse_dynamics",
        "--argument",
        "inertia",
        "--target",
        "fmu",
        "--json",
        "-o",
        path,
    )
    assert json.loads(result.output)["files"] == [str(path)]
    instance = Instance(unpacked(path, tmp_path / "torques"))
    state = dict(zip(("q", "qd", "qdd"), np.random.default_rng(2).normal(size=(3, 2)), strict=True))
    instance.start(**state)
    expected = planar.inverse_dynamics(*state.values())
    np.testing.assert_allclose(instance.get("inverse_dynamics"), expected, rtol=0, atol=1e-12)
    heavy = planar.with_inertia(2 * planar.phi)
    assert instance.set("inertia", heavy.phi) == OK
    expected = heavy.inverse_dynamics(*state.values())
    np.testing.assert_allclose(instance.get("inverse_dynamics"), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["inertia", "gravity", "drive", "geometry"])
def test_an_argument_called_as_constants_of_the_robot_is_an_input(planar, name):
    functions = {}
    exec(f"def law(q, {name}): return q * {name}[0]", functions)
    law = armlet.function(planar, **{name: 3})(functions["law"])
    block = block_of(planar, law)
    (found,) = (x for x in block.variables if x.name == name)
    assert found == variable(planar, name, "input", (3,))


@needs_compiler
def test_a_result_that_is_not_finite_is_an_error(planar, tmp_path):
    @armlet.function(planar)
    def inverse(q):
        return 1 / q

    armlet.to_fmu(planar, tmp_path / "inverse.fmu", inverse)
    instance = Instance(unpacked(tmp_path / "inverse.fmu", tmp_path / "inverse"))
    instance.start(q=[0.0, 2.0])
    assert instance.status_and("inverse")[0] == ERROR
    assert instance.said == ["inverse is not finite"]
    assert instance.set("q", [4.0, 2.0]) == OK
    np.testing.assert_array_equal(instance.get("inverse"), [0.25, 0.5])


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ("--target fmu", "no file is named: give one, such as -o arm.fmu"),
        ("--target fmu -f power -o x", "quantity is 'power'"),
        ("--target fmu -o x --fmi 1", "--fmi 1: expected 2 or 3"),
        ("--target fmu -o x --dtype float32", "a functional mock-up unit has float64 alone"),
        ("--target fmu -o x -f bias --step 1", "--step is for the arm itself"),
        ("--target fmu -o x --full", "--full is for functions, of which none is named"),
        ("--target fmu -o x --step -1", "step is -1.0: expected a time in s"),
        ("--target fmu -o x --frame link1", "--frame is for kinematics"),
        ("--target fmu -o missing/x", "missing is no folder"),
        ("-f bias -o x --fmi 3", "--fmi is for --target fmu"),
        ("-f bias -o x --target rust", "target is 'rust': expected one of c, cpp, cuda, fmu"),
    ],
)
def test_bad_input_is_one_clear_line(args, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = generate("planar2r", *args.split())
    assert isinstance(result.exception, armlet.ArmletError)
    assert line in str(result.exception)
    assert "\n" not in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_the_command_replaces_its_own_units_and_no_other_file(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "")
    path = tmp_path / "arm.fmu"
    for _ in range(2):
        assert generate("planar2r", "--target", "fmu", "-o", path).exit_code == 0
    path.write_text("mine")
    result = generate("planar2r", "--target", "fmu", "-o", path)
    assert "was not written by armlet" in str(result.exception)
    assert path.read_text() == "mine"


def test_what_cannot_be_a_unit_is_refused(planar, tmp_path, monkeypatch):
    path = tmp_path / "x.fmu"

    @armlet.function(planar)
    def same(q):
        return {"q": 2 * q}

    @armlet.function(time=())
    def late(time):
        return 2 * time

    symbolic = armlet.trace(planar, "bias", constants={"inertia": "symbolic"})
    for refused, args, line in (
        (armlet.ModelError, (armlet.general_arm("RP"), path), "has constants without a value"),
        (armlet.CompileError, (planar, path, symbolic), "has symbolic constants"),
        (armlet.CompileError, (planar, path, same), "is the name of a result and of an argument"),
        (armlet.CompileError, (planar, path, late), "an argument is called 'time'"),
        (armlet.DataError, (planar, path, []), "no quantity is named"),
        (armlet.ArmletError, (planar, tmp_path, "bias"), "this is a folder"),
    ):
        with pytest.raises(refused, match=line):
            armlet.to_fmu(*args)
    with pytest.raises(armlet.DataError, match="fmi is 1: expected one of 2, 3"):
        armlet.to_fmu(planar, path, "bias", fmi=1)
    with pytest.raises(armlet.DataError, match=r"q0 has shape \(3,\): expected 2 numbers"):
        armlet.to_fmu(planar, path, q0=[1, 2, 3])
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(armlet.CompileError, match="'no-such-compiler' cannot be run"):
        armlet.to_fmu(planar, path)
    if false := shutil.which("false"):
        monkeypatch.setenv("CC", false)
        with pytest.raises(armlet.CompileError, match="cannot compile the unit"):
            armlet.to_fmu(planar, path)
    assert not path.exists()
