"""Robots with ball joints, alone and beside coupled joints: what is computed, shown and printed."""

import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from support.cases import cases
from support.compilers import needs
from support.robots import deviation
from typer.testing import CliRunner

import armlet
from armlet import identification, math
from armlet.api import Robot
from armlet.cli import app
from armlet.cli.reference_values import reference_values
from armlet.cli.robot_options import Choice
from armlet.codegen.project import Function, project
from armlet.dynamics import FORMULATIONS, QUANTITIES, definition
from armlet.fmu import function_block, plant_block
from armlet.robot import IDENTITY_POSE, Coupling, Frame
from armlet.testing import random_robot
from armlet.view.scene import body_poses, scene

DEFINED = [x for x in QUANTITIES if hasattr(definition, x) and not x.startswith("cartesian")]
COUPLED = (Coupling(0), Coupling(1), Coupling(0, -2, 0.3), Coupling(3), Coupling(4), Coupling(5))
"""Of six joints, the third follows the first."""


def ball_robot(seed, n=4):
    """A random robot with drives, of which at least one joint is a ball joint."""
    letters = "".join(np.random.default_rng(seed).choice(list("RPB"), n - 1))
    return of_file(random_robot(seed, n, letters + "B", tree=seed % 2 == 1, drives=True))


def helical_robot(seed):
    """A random robot of revolute, prismatic, ball and helical joints, at least one of them helical.

    If the seed is odd, a helical joint follows another one.
    """
    if seed % 2:
        robot = random_robot(seed, 6, "HBHRPB", tree=True, drives=True)
        return of_file(replace(robot, couplings=COUPLED))
    letters = "".join(np.random.default_rng(seed).choice(list("RPBH"), 3))
    return of_file(random_robot(seed, 4, letters + "H", drives=True))


def coupled_robot(seed):
    """A random robot in which a revolute joint follows another one, with two ball joints."""
    robot = random_robot(seed, 6, "RBRPBR", tree=seed % 2 == 1, drives=True)
    return of_file(replace(robot, couplings=COUPLED))


def of_file(robot):
    """The robot with a frame for each link, as robots from files have them."""
    links = {link: Frame(i, IDENTITY_POSE) for i, link in enumerate(robot.links)}
    return Robot.of(replace(robot, frames={**links, **robot.frames}))


def state(robot, seed, *names):
    """Random values of q, qd, qdd or tau."""
    rng = np.random.default_rng(seed)
    draws = {x: rng.uniform(-2, 2, robot.nv) for x in ("qd", "qdd", "tau")}
    draws["q"] = robot.random_configuration(rng)
    return [draws[name] for name in names]


def flat(result):
    outputs = result if isinstance(result, tuple) else (result,)
    return np.concatenate([np.ravel(np.asarray(y, dtype=float)) for y in outputs])


# ------------------------------------------------------------------ programs


@pytest.mark.parametrize("make", [ball_robot, coupled_robot, helical_robot])
@pytest.mark.parametrize("seed", cases(range(3), long=range(3, 23)))
def test_programs_of_every_quantity_agree_with_the_definition(seed, make):
    robot = make(seed)
    for quantity in DEFINED:
        arguments = state(robot, seed, *QUANTITIES[quantity].arguments)
        exact = flat(getattr(definition, quantity)(robot, *arguments))
        limit = 1e-10
        if QUANTITIES[quantity].inverts:
            H = definition.inertia_matrix(robot, arguments[0]).astype(float)
            limit = 1e-13 * max(1e3, np.linalg.cond(H))
        names = [k for k, x in FORMULATIONS[quantity].items() if x.walks_twists]
        for name in names:
            if robot.couplings and not FORMULATIONS[quantity][name].coupled:
                continue
            if name == "walker_orin_cg":  # iterates
                continue
            for minimal in (False, True):
                program = armlet.trace(robot, quantity, name, minimal=minimal)
                assert deviation(flat(program.function(np)(*arguments)), exact) < limit, name


@pytest.mark.parametrize("make", [ball_robot, coupled_robot, helical_robot])
@pytest.mark.parametrize("seed", cases([0], long=range(1, 10)))
def test_the_cheapest_programs_agree_with_the_definition(seed, make):
    robot = make(seed)
    for quantity in ("inverse_dynamics", "inertia_matrix", "bias", "gravity_torque"):
        arguments = state(robot, seed, *QUANTITIES[quantity].arguments)
        exact = flat(getattr(definition, quantity)(robot, *arguments))
        for minimal in (False, True):
            found = armlet.cheapest(robot, quantity, minimal=minimal)
            assert deviation(flat(found.program.function(np)(*arguments)), exact) < 1e-10


# ------------------------------------------------------------------ what is refused


def logs_of(robot):
    t = np.arange(100) / 100
    return {"t": t, "q": np.zeros((100, robot.nq)), "tau": np.zeros((100, robot.nv))}


REFUSED = {
    "Log.read": lambda robot: armlet.Log.read(logs_of(robot), robot),
    "identify": lambda robot: armlet.identify(robot, []),
    "payload": lambda robot: identification.identify_payload(robot, []),
    "cross_validate": lambda robot: identification.cross_validate(robot, [1, 2]),
    "friction_shape": lambda robot: identification.friction_shape(robot, []),
    "sigmoid_friction": lambda robot: identification.sigmoid_friction(robot, []),
    "excite": lambda robot: armlet.excite(robot, 5.0),
    "fmu": lambda robot: plant_block(robot),
}


@pytest.mark.parametrize("task", REFUSED)
def test_what_adds_positions_refuses_ball_joints_and_names_them(task):
    with pytest.raises(armlet.ModelError, match=r"has ball joints \(.*joint3\): .* is for robots"):
        REFUSED[task](ball_robot(0))


# ------------------------------------------------------------------ generated code and units


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
@pytest.mark.parametrize(("target", "dtype"), [("c", "float64"), ("c", "float32")])
@needs("gcc")
def test_a_generated_project_passes_its_own_test(target, dtype, make, tmp_path):
    robot = make(1)
    names = "inverse_dynamics", "forward_dynamics", "jacobian", "energy"
    functions = [
        Function(armlet.trace(robot, x), x, "", reference_values(robot, [x])) for x in names
    ]
    for name, text in project(robot, functions, target, dtype).items():
        (tmp_path / name).write_text(text)
    sources = f"{robot.name}_dynamics.c {robot.name}_test.c"
    compiled = f"gcc -std=c99 -Wall -Werror {sources} -o run -lm".split()
    subprocess.run(compiled, cwd=tmp_path, check=True)
    subprocess.run([tmp_path / "run"], check=True, capture_output=True)


def test_a_generated_project_lists_the_entries_of_q_and_of_qd():
    files = project(ball_robot(0), [Function(armlet.trace(ball_robot(0), "bias"), "b", "")])
    page = files["README.md"]
    assert "| entry of q | entry of qd | joint | kind |\n|---:|---:|---|---|\n" in page
    assert "| 0 to 3: x, y, z, w | 0 to 2: x, y, z | joint0 | ball |\n| 4 | 3 | joint1 |" in page
    header = " ".join(files["random0_dynamics.h"].split())
    assert "joint0 ball (x, y, z, w in q; x, y, z in qd), joint1 P" in header


def test_a_unit_of_a_function_has_one_entry_per_position_and_velocity():
    robot = ball_robot(0)
    program = armlet.trace(robot, "inverse_dynamics")
    block = function_block(robot, [Function(program, "torques", "")])
    q, qd, tau = (
        next(x for x in block.variables if x.name == name)
        for name in ("q", "qd", "inverse_dynamics")
    )
    assert (q.labels, qd.labels) == (robot.position_names, robot.velocity_names)
    assert tau.labels == robot.velocity_names
    assert q.start == tuple(robot.neutral)
    assert q.units == ("1",) * 4 + ("m", "m") + ("1",) * 4
    assert qd.units == ("rad/s",) * 3 + ("m/s",) * 2 + ("rad/s",) * 3


# ------------------------------------------------------------------ commands


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
@pytest.mark.parametrize("command", cases(["info", "compare", "count"], long=["bench"]))
def test_commands_show_robots_with_ball_joints(command, make, monkeypatch):
    robot = make(1)
    monkeypatch.setattr(Choice, "load", lambda *_: robot)
    options = {"bench": ["--rounds", "1"], "count": ["--quantity", "bias"]}.get(command, [])
    for as_json in ([], ["--json"]):
        result = CliRunner().invoke(app, [command, "robot", *options, *as_json])
        assert result.exit_code == 0, result.output
    if command == "info":
        table = json.loads(result.stdout)["table"]
        drives = [row["drive"] for row in table]
        assert [len(x) if isinstance(x, list) else 1 for x in drives] == [
            joint.type.nv for joint in robot.joints
        ]
    if command == "compare":
        assert all(row["deviation"] < 1e-10 for row in json.loads(result.stdout))


# ------------------------------------------------------------------ kernels and array libraries


def by_entries(function, q, h=1e-6):
    """The derivative of a function by each entry of q, by central differences."""
    steps = h * np.eye(len(q))
    return np.array([(function(q + e) - function(q - e)) / (2 * h) for e in steps]).T


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
def test_batches_have_positions_and_velocities_of_their_own_widths(make):
    robot = make(0)
    q = robot.random_configuration(0, 50)
    qd, qdd = np.random.default_rng(1).uniform(-1, 1, (2, 50, robot.nv))
    rows = zip(q, qd, qdd, strict=True)
    exact = np.array([definition.inverse_dynamics(robot, *x) for x in rows], float)
    out = np.empty_like(exact)
    robot.inverse_dynamics(q, qd, qdd, out=out, threads=2)
    assert deviation(out, exact) < 1e-12
    narrow = armlet.compile(robot, "inverse_dynamics", dtype="float32")
    assert deviation(narrow(*(x.astype(np.float32) for x in (q, qd, qdd))), exact) < 1e-5
    with pytest.raises(armlet.DataError, match=rf"^q has shape .*: expected \(..., {robot.nq}\)"):
        robot.inverse_dynamics(qd, qd, qdd)
    with pytest.raises(armlet.DataError, match=rf"^qd has shape .*: expected \(..., {robot.nv}\)"):
        robot.inverse_dynamics(q, q, qdd)


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
def test_gradients_of_array_libraries_are_by_the_entries_of_q(make):
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    robot = make(0)
    q, qd, qdd = state(robot, 1, "q", "qd", "qdd")
    expected = by_entries(lambda x: robot.inverse_dynamics(x, qd, qdd), q)
    tensor = torch.tensor(q, requires_grad=True)
    torques = robot.inverse_dynamics(tensor, torch.tensor(qd), torch.tensor(qdd))
    cotangents = np.random.default_rng(2).normal(size=robot.nv)
    torques.backward(torch.tensor(cotangents))
    assert deviation(tensor.grad, cotangents @ expected) < 1e-7
    with jax.enable_x64(True):
        gradient = jax.jacobian(lambda x: robot.inverse_dynamics(x, qd, qdd))(jax.numpy.array(q))
    assert deviation(gradient, expected) < 1e-7


def test_displacements_of_array_libraries_are_those_of_numpy():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    robot = coupled_robot(0)
    q, other = robot.random_configuration(0, (2, 20))
    v = np.random.default_rng(1).uniform(-2, 2, (20, robot.nv))
    for name, *arrays in (("integrate", q, v), ("difference", q, other), ("_rate", v, v)):
        function = getattr(robot, name)
        expected = function(*arrays)
        assert deviation(function(*map(torch.tensor, arrays)), expected) < 1e-14
        with jax.enable_x64(True):
            assert deviation(jax.jit(function)(*arrays), expected) < 1e-14


@pytest.mark.parametrize("library", ["sympy", "mpmath"])
def test_displacements_of_scalar_libraries_are_those_of_numpy(library):
    number = {"sympy": "Float", "mpmath": "mpf"}[library]
    convert = np.frompyfunc(getattr(pytest.importorskip(library), number), 1, 1)
    robot = ball_robot(0)
    q, (v,) = robot.random_configuration(0), state(robot, 1, "qd")
    assert deviation(robot.integrate(convert(q), convert(v)), robot.integrate(q, v)) < 1e-14


def test_numbers_chosen_by_a_tensor_of_booleans_are_numbers():
    torch = pytest.importorskip("torch")
    x = torch.tensor([-0.5, 0.5], dtype=torch.float64)
    assert math.where(x < 0, -2.5, 1.5).tolist() == [-2.5, 1.5]
    assert math.where(x < 0, 2 * x, x).tolist() == [-1.0, 0.5]


@pytest.mark.parametrize("make", [ball_robot, coupled_robot])
def test_user_functions_take_and_return_displacements(make):
    robot = make(0)

    @armlet.function(robot, target=robot.nq)
    def law(q, qd, target):
        ahead = robot.integrate(q, 0.1 * qd)
        return robot.gravity_torque(ahead) + 10 * robot.difference(q, target) - qd

    q, qd = state(robot, 3, "q", "qd")
    target = robot.random_configuration(4)
    ahead = robot.integrate(q, 0.1 * qd)
    expected = robot.gravity_torque(ahead) + 10 * robot.difference(q, target) - qd
    assert deviation(law(q, qd, target), expected) < 1e-13


def test_a_quantity_without_a_formulation_for_ball_joints_says_so():
    robot = ball_robot(0)
    with pytest.raises(
        armlet.ModelError, match=r"^coriolis_matrix is computed for joints RP: robot"
    ):
        robot.coriolis_matrix(*state(robot, 0, "q", "qd"))


# ------------------------------------------------------------------ drawings


def test_bodies_are_drawn_where_the_kinematics_have_them():
    pytest.importorskip("viser")
    robot = ball_robot(0)
    q = robot.random_configuration(0)
    drawn = scene(robot)
    poses = definition.body_poses(robot, q)
    for pose, exact in zip(body_poses(robot, q), poses, strict=True):
        assert deviation(pose.R, exact[:3, :3]) < 1e-12
        assert deviation(pose.r, exact[:3, 3]) < 1e-12
    ball, box = (next(x.mesh for x in drawn.shapes[::-1] if x.body == i) for i in (0, 1))
    radii = np.linalg.norm(ball.vertices, axis=1)
    assert np.ptp(radii) < 1e-6 * radii.max()
    assert np.ptp(np.linalg.norm(box.vertices, axis=1)) < 1e-6


def test_a_slider_moves_each_displacement_from_the_neutral_positions():
    pytest.importorskip("viser")
    robot = coupled_robot(0)
    viewer = armlet.view(robot)
    try:
        v = np.linspace(-1, 1, robot.nv)
        viewer.show(robot.integrate(robot.neutral, v))
        np.testing.assert_allclose([x.value for x in viewer.sliders], v, atol=1e-9)
        viewer._on_slider()
        np.testing.assert_allclose(robot.difference(robot.neutral, viewer.q), v, atol=1e-9)
        assert all(name in viewer.numbers.content for name in robot.velocity_names)
    finally:
        viewer.close()
