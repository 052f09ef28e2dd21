"""What users see of a robot: typed methods, no side effects of looking, plain data."""

import copy
import doctest
import inspect
import json
import pickle
import pydoc
import re
import subprocess
import sys
import time
import typing
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from support.pages import BLOCK, LIBRARY

import armlet
from armlet.dynamics import QUANTITIES

ROOT = Path(__file__).parents[1]
SOURCE = Path(armlet.__file__).parents[1]
OPTIONS = {
    "wrench": None,
    "frame": None,
    "frames": None,
    "parameters": None,
    "rotors": False,
    "friction": False,
}
"""What methods take beside the state, and its default; formulations are chosen in a trace."""
ANY_SCALAR = {"Robot.mass", "Robot.displacements"}
"""What is of the kind of scalar that the robot, or the caller, has."""
INTERNAL = {"Kernel.evaluate"}
METHODS = {
    name: method
    for name, method in inspect.getmembers(armlet.Robot, inspect.isfunction)
    if "evaluate" in method.__code__.co_names
}
"""The methods that evaluate a quantity."""


def state(robot, quantity, *leading):
    rng = np.random.default_rng(0)
    return rng.uniform(-1, 1, (len(QUANTITIES[quantity].arguments), *leading, robot.nv))


# ------------------------------------------------------------------ ordinary methods


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_method_of_a_quantity_is_what_the_table_says(name):
    method, quantity = METHODS[name], QUANTITIES[name]
    assert inspect.isfunction(method)
    _, *parameters = inspect.signature(method).parameters.values()
    taken = [option for option in quantity.options if option in OPTIONS]
    assert [p.name for p in parameters] == [*quantity.arguments, *taken, "out", "threads"]
    for p in parameters:
        is_last = p.name in ("out", "threads")
        assert p.kind is (p.KEYWORD_ONLY if is_last else p.POSITIONAL_OR_KEYWORD)
        default = {"out": None, "threads": 1, **OPTIONS}.get(p.name, p.empty)
        assert p.default is default
    summary, returns, *_ = inspect.getdoc(method).split("\n\n")
    assert " ".join(summary.split()) == quantity.about
    assert returns.startswith("Returns")
    assert "shape (..." in returns or "of shape (" in returns


def test_robots_have_no_quantity_beside_the_table():
    assert set(METHODS) == set(QUANTITIES)


@pytest.mark.parametrize("name", QUANTITIES)
def test_results_have_the_shapes_that_the_docstring_gives(name, arms):
    """The shapes are read from the docstring, with n and p put in."""
    robot = arms["scara"]
    text = inspect.getdoc(getattr(armlet.Robot, name)).split("\n\n")[1].partition(":")[0]
    found = re.findall(r"\(\.\.\.(?:, ([\w ,]+))?\)", text)
    results = getattr(robot, name)(*state(robot, name, 4))
    results = results if isinstance(results, tuple) else (results,)
    p, f = len(armlet.minimal_parameters(robot)), len(robot.frames)
    sizes = {"n": robot.nv, "p": p, "f": f}
    shapes = [
        tuple(eval(x.replace("2 n", "2*n"), sizes) for x in axes.split(","))
        for axes in found
        if axes
    ] or [()]
    if name == "inverse_dynamics":
        shapes = shapes[:1]
    for k, result in enumerate(results):
        assert result.shape == (4, *shapes[min(k, len(shapes) - 1)]), name


def test_help_on_robots_names_every_quantity():
    text = inspect.getdoc(armlet.Robot) + "".join(
        f"{name} {inspect.getdoc(value)}" for name, value in inspect.getmembers(armlet.Robot)
    )
    for name, quantity in QUANTITIES.items():
        assert f"{name} {quantity.about[:60]}" in " ".join(text.split())


def test_help_names_types_as_they_are_written():
    """Python writes out what NumPy's ArrayLike stands for, several lines for every argument."""
    for value in (armlet.simulate, armlet.Physical, armlet.Robot, armlet.Kernel):
        assert "ArrayLike" in pydoc.render_doc(value)
        assert "numpy._typing" not in pydoc.render_doc(value)


def functions(name, value):
    """The public functions of a function or a class."""
    if inspect.isfunction(value):
        yield name, value
    elif inspect.isclass(value) and not issubclass(value, BaseException):
        for key in dir(value):
            if key.startswith("_") and key not in ("__call__", "__init__"):
                continue
            f = inspect.getattr_static(value, key)
            for wrapped in ("__func__", "fget", "func"):
                f = getattr(f, wrapped, f)
            if inspect.isfunction(f) and f.__module__.startswith("armlet"):
                yield f"{name}.{key}", f


def test_nothing_public_takes_or_returns_just_anything():
    for name in armlet.__all__:
        bases = inspect.getmro(value) if inspect.isclass(value := getattr(armlet, name)) else ()
        names = {k: x for base in bases for k, x in vars(sys.modules[base.__module__]).items()}
        for label, function in functions(name, value):
            hints = typing.get_type_hints(function, names | inspect.unwrap(function).__globals__)
            asked = [*inspect.signature(function).parameters, "return"]
            if label not in ANY_SCALAR | INTERNAL:
                for key in set(asked) - {"self", "cls"}:
                    assert hints.get(key, typing.Any) is not typing.Any, f"{label}: {key}"


# ------------------------------------------------------------------ looking computes nothing


@pytest.fixture
def no_kernels(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("compiled")

    monkeypatch.setattr(armlet.Kernel, "__init__", refuse)


def test_looking_at_a_robot_compiles_nothing(no_kernels):
    robot = armlet.load("panda")
    assert all(hasattr(robot, name) for name in QUANTITIES)
    assert callable(robot.state_space)
    repr(robot), vars(robot), dir(robot)
    assert not set(QUANTITIES) & set(vars(robot))
    assert {key[0] for key in robot._memory} == {"method"}


def test_all_members_of_a_robot_are_seen_at_once(no_kernels):
    robot = armlet.load("panda")
    start = time.perf_counter()
    members = dict(inspect.getmembers(robot))
    assert time.perf_counter() - start < 1  # 1 to 3 ms; 15 s where each is compiled
    assert set(QUANTITIES) < set(members)
    assert {key[0] for key in robot._memory} == {"method"}


def test_a_frame_that_is_named_needs_no_tool(arms, monkeypatch):
    """Where there is no tool, nothing is tried for it."""
    robot = copy.copy(arms["planar2r"])
    vars(robot)["tool"] = None
    q = np.zeros(2)
    robot.jacobian(q, "link2")

    def refuse(*args, **kwargs):
        raise AssertionError("traced again")

    monkeypatch.setattr("armlet.search.request.Request.program", refuse)
    robot.jacobian(q, "link2")
    robot.jacobian(q, frame="link2")
    monkeypatch.undo()
    with pytest.raises(armlet.ModelError, match="has no tool frame: name one of"):
        robot.jacobian(q)


# ------------------------------------------------------------------ after the first call


def test_the_first_call_connects_the_method_with_compiled_code():
    robot = armlet.load("planar2r")
    q = np.array([0.3, -0.2])
    bound = robot.gravity_torque
    assert not hasattr(bound, "callee")
    first = bound(q)
    assert robot.gravity_torque is bound
    assert bound.callee
    for again in (robot.gravity_torque(q), bound(q), armlet.Robot.gravity_torque(robot, q)):
        assert again.tobytes() == first.tobytes()
    entry = robot.gravity_torque
    bound(q)
    assert robot.gravity_torque is entry


@pytest.mark.parametrize("name", ["cartesian_model", "cartesian_linearization"])
def test_a_method_that_checks_its_results_stays_in_its_place(name, arms):
    robot = copy.copy(arms["puma560"])
    getattr(robot, name)(*state(robot, name))
    assert name not in vars(robot)


def test_a_method_overridden_by_a_subclass_stays_overridden():
    class Doubled(armlet.Robot):
        def gravity_torque(self, q, **kwargs):
            return 2 * super().gravity_torque(q, **kwargs)

    robot = Doubled.of(armlet.load("planar2r"))
    q = np.zeros(2)
    for _ in range(3):
        np.testing.assert_allclose(robot.gravity_torque(q), [39.24, 9.81])
    assert type(robot.with_gravity((0, -1, 0)).lock({})) is Doubled


@pytest.mark.parametrize("name", QUANTITIES)
def test_one_state_a_batch_and_lists_give_the_same_bits(name, arms):
    robot = copy.copy(arms["puma560"])
    one = state(robot, name)
    method = getattr(robot, name)
    listed, batch = method(*one.tolist()), method(*one[:, None])
    single, again = getattr(robot, name)(*one), getattr(robot, name)(*one)
    for results in zip(*map(as_tuple, (listed, batch, single, again)), strict=True):
        assert len({result.tobytes() for result in results}) == 1


def as_tuple(results):
    return results if isinstance(results, tuple) else (results,)


# ------------------------------------------------------------------ plain data

ROBOTS = {name: armlet.load(name) for name in ("panda", "scara")}
ROBOTS["general"] = armlet.general_arm("RRP")
ROBOTS["from a table"] = armlet.Robot.from_dh([(0, 0, 0, 0), (0, 1, 0, 0)], convention="modified")


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
def test_robots_are_equal_when_their_data_are(robot, tmp_path):
    for other in (
        pickle.loads(pickle.dumps(robot)),
        copy.deepcopy(robot),
        robot._with_constants({}),
    ):
        assert other == robot
        assert hash(other) == hash(robot)
        assert type(other) is armlet.Robot
    assert robot != robot.with_tool(robot.links[0])
    assert robot != robot._with_constants({"m1": 123.0})
    assert robot != robot.name
    assert len({robot, copy.copy(robot), *ROBOTS.values()}) == len(ROBOTS)


def test_a_robot_is_equal_whatever_was_called_before():
    robot, other = armlet.load("planar2r"), armlet.load("planar2r")
    robot.gravity_torque(np.zeros(2))
    assert robot == other
    assert {robot: 1}[other] == 1


def test_meshes_are_data_too(tmp_path):
    text = (
        '<robot name="a"><link name="b"/><link name="l"><inertial><mass value="1"/><inertia ixx="1"'
        ' iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry>'
        '<mesh filename="FILE"/></geometry></visual></link><joint name="j" type="continuous">'
        '<parent link="b"/><child link="l"/></joint></robot>'
    )
    robots = []
    for name in ("one.stl", "one.stl", "two.stl"):
        path = tmp_path / "arm.urdf"
        path.write_text(text.replace("FILE", name))
        robots.append(armlet.load(path))
    assert robots[0].meshes
    assert robots[0] == robots[1] != robots[2]
    assert hash(robots[0]) == hash(robots[1])


@pytest.mark.parametrize("name", ["inverse_dynamics", "energy", "cartesian_model"])
def test_methods_pickle_before_and_after_their_first_call(name, arms):
    robot = copy.copy(arms["puma560"])
    given = state(robot, name)
    before = pickle.loads(pickle.dumps(getattr(robot, name)))
    expected = as_tuple(getattr(robot, name)(*given))
    after = pickle.loads(pickle.dumps(getattr(robot, name)))
    for method in (before, after, getattr(pickle.loads(pickle.dumps(robot)), name)):
        found = as_tuple(method(*given))
        assert [x.tobytes() for x in found] == [x.tobytes() for x in expected]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_pickle_before_and_after_their_first_call(dtype, arms):
    kernel = armlet.compile(arms["planar2r"], "gravity_torque", dtype=dtype)
    q = np.array([[0.3, -0.2], [1, 2]], dtype)
    before = pickle.loads(pickle.dumps(kernel))
    expected = [kernel(q[0]).tobytes(), kernel(q).tobytes()]
    for other in (before, pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        assert [other(q[0]).tobytes(), other(q).tobytes()] == expected
        assert other.dtype == kernel.dtype
        assert other.operations == kernel.operations


def test_methods_go_to_other_processes():
    robot = armlet.load("planar2r")
    q = np.linspace(0, 1, 6).reshape(3, 2)
    expected = [robot.gravity_torque(x).tobytes() for x in q]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert [x.tobytes() for x in pool.map(robot.gravity_torque, q)] == expected


def test_the_minimal_set_is_derived_once_for_a_robot(monkeypatch):
    module, calls = import_module("armlet.dynamics.regressor"), []
    derived = module.closed_form
    monkeypatch.setattr(module, "closed_form", lambda *args: calls.append(1) or derived(*args))
    monkeypatch.setenv("ARMLET_CACHE", "off")
    robot = armlet.load("scara")
    armlet.minimal_parameters(robot)
    robot.regressor(*np.zeros((3, 4)))
    robot.energy_regressor(*np.zeros((2, 4)))
    assert len(calls) == 1


# ------------------------------------------------------------------ what editors see


def pages():
    """The code on each page of the documentation and each example, as one file.

    Blocks with libraries that have no types, or need not be installed, are left out.
    """
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        blocks = [block for block in blocks if not LIBRARY.search(block)]
        if blocks:
            yield page.stem.lower(), "\n".join(map(code, blocks))
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not LIBRARY.search(text):
            yield path.stem, text


def code(block):
    if ">>>" not in block:
        return block
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def test_pyright_finds_no_error_in_the_code_of_the_documentation(tmp_path):
    """In its strict mode: a type that armlet leaves open is an error too."""
    if find_spec("basedpyright") is None:
        pytest.skip("basedpyright is not installed: it is in the dev extra")
    names = []
    for name, text in pages():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        names.append(name)
    assert {"readme", "formats", "programs"} <= set(names)
    (tmp_path / "wrong.py").write_text('import armlet\n\narmlet.load("panda").bias("q")\n')
    settings = {
        "typeCheckingMode": "strict",
        "extraPaths": [str(SOURCE)],
        "reportUnusedExpression": False,  # the lines of a session are shown
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--outputjson"]
    command += ["--pythonpath", sys.executable, "--project", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    found = json.loads(done.stdout)["generalDiagnostics"]
    wrong = [error for error in found if Path(error["file"]).stem == "wrong"]
    assert any("qd" in error["message"] for error in wrong), found
    others = [error for error in found if error not in wrong]
    assert not others, "\n".join(f"{x['file']}: {x['message']}" for x in others)


@pytest.mark.parametrize(
    "robot", ['armlet.load("panda")', 'armlet.general_arm("RR")', 'armlet.load("").lock({})']
)
def test_jedi_completes_every_quantity(robot):
    jedi = pytest.importorskip("jedi", reason="jedi is not installed: it is in the dev extra")
    found = jedi.Script(
        f"import armlet\n{robot}.", project=jedi.Project(ROOT, added_sys_path=[str(SOURCE)])
    ).complete(2, len(robot) + 1)
    names = {completion.name: completion for completion in found}
    assert set(QUANTITIES) | {"from_dh", "to_urdf", "phi", "with_payload"} <= set(names)
    assert "qdd: ArrayLike" in names["inverse_dynamics"].docstring()


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "armlet" / "py.typed").is_file()
