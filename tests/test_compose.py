"""Several quantities in one program: the same values, shared work once, names that stay."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.codegen.lower import lower
from armlet.graph import Program, simplify
from armlet.runtime import Kernel

TERMS = ["inertia_matrix", "bias", "forward_kinematics", "jacobian"]
ARMS = ["planar2r", "scara", "stanford", "puma560", "ur5e", "panda"]


@pytest.fixture(scope="module")
def terms(arms):
    """The kernel of a controller's terms, for each arm."""
    return {name: armlet.compile(arms[name], TERMS) for name in ARMS}


def state(robot, *leading):
    return np.random.default_rng(1).uniform(-2, 2, (4, *leading, robot.nv))


def expected(robot, label, given):
    arguments = armlet.QUANTITIES[label].arguments
    return getattr(robot, label)(*(given[name] for name in arguments))


# ------------------------------------------------------------------ values


@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("leading", [(), (5,), (2, 11)])
def test_one_kernel_computes_what_the_methods_do(terms, arms, arm, leading):
    robot = arms[arm]
    given = dict(zip(("q", "qd"), state(robot, *leading)[:2], strict=True))
    found = terms[arm](*given.values())
    assert found._fields == tuple(TERMS)
    for label, result in found._asdict().items():
        alone = expected(robot, label, given)
        assert result.shape == alone.shape
        np.testing.assert_allclose(result, alone, rtol=1e-12, atol=1e-12 * np.abs(alone).max())


def test_inputs_are_the_union_in_the_order_of_the_state(arms):
    robot = arms["planar2r"]
    groups = {"inertia": "argument", "gravity": "argument"}
    program = armlet.trace(
        robot, ["forward_dynamics", "inverse_dynamics"], constants=groups, wrench=True
    )
    assert [*program.inputs] == ["q", "qd", "qdd", "tau", "wrench", "inertia", "gravity"]
    assert program.inputs["inertia"].rate == "once"
    given = dict(zip(("q", "qd", "qdd", "tau"), state(robot), strict=True))
    wrench = np.arange(6.0)
    g = np.array([*robot.constants("gravity").values()], float)
    found = Kernel(program)(*given.values(), wrench, robot.phi.astype(float), g)
    np.testing.assert_allclose(
        found.forward_dynamics, expected(robot, "forward_dynamics", given), rtol=1e-12
    )
    torques = robot.inverse_dynamics(given["q"], given["qd"], given["qdd"], wrench)
    np.testing.assert_allclose(found.inverse_dynamics, torques, rtol=1e-12)


def test_a_quantity_of_several_results_has_a_field_for_each(arms):
    robot = arms["planar2r"]
    program = armlet.trace(robot, ["energy", "state_space", "bias"])
    fields = "energy_kinetic", "energy_potential", "state_space_A", "state_space_B", "bias"
    assert program.names == fields
    q, qd, _, tau = state(robot)
    found = Kernel(program)(q, qd, tau)
    for results, names in (
        (robot.energy(q, qd), fields[:2]),
        (robot.state_space(q, qd, tau), fields[2:4]),
    ):
        for result, name in zip(results, names, strict=True):
            np.testing.assert_allclose(getattr(found, name), result, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("frame", "fields"),
    [
        ("link2", ["forward_kinematics", "jacobian"]),
        ({"jacobian": "link2"}, ["forward_kinematics", "jacobian"]),
        (
            {"jacobian": ["link2", "flange"]},
            ["forward_kinematics", "jacobian_link2", "jacobian_flange"],
        ),
    ],
)
def test_frames_are_named_for_all_or_for_each_quantity(arms, frame, fields):
    robot = arms["puma560"]
    q = state(robot)[0]
    found = armlet.compile(robot, ["forward_kinematics", "jacobian"], frame=frame)(q)
    assert list(found._fields) == fields
    of_pose = frame if isinstance(frame, str) else None
    pose = robot.forward_kinematics(q, of_pose)
    np.testing.assert_allclose(found.forward_kinematics, pose, atol=1e-14)
    for k, field in enumerate(fields[1:]):
        name = ("link2", "flange")[k]
        np.testing.assert_allclose(getattr(found, field), robot.jacobian(q, name), atol=1e-14)


def test_a_list_of_one_gives_a_named_tuple_of_one(arms):
    found = armlet.compile(arms["planar2r"], ["gravity_torque"])(np.zeros(2))
    assert found._fields == ("gravity_torque",)


# ------------------------------------------------------------------ shared work


@pytest.mark.parametrize("arm", ARMS)
def test_together_they_take_fewer_operations_than_apart(arms, arm):
    robot = arms[arm]
    apart = [armlet.trace(robot, name).count() for name in TERMS]
    together = armlet.trace(robot, TERMS).count()
    assert together.total < 0.95 * sum(count.total for count in apart)
    sines, *others = (sum(times for _, times in x.functions) for x in (together, *apart))
    assert sines < 0.6 * sum(others)


@pytest.mark.parametrize("arm", ["puma560", "panda"])
def test_beside_the_jacobian_a_pose_takes_a_third(arms, arm):
    pose, jacobian, both = (
        armlet.trace(arms[arm], names).count().total
        for names in ("forward_kinematics", "jacobian", ["forward_kinematics", "jacobian"])
    )
    assert both - jacobian < pose / 3


def test_asking_for_more_does_not_make_the_rest_dearer(arms):
    """One quantity in a list takes what it takes alone."""
    for name in ("inverse_dynamics", "inertia_matrix", "jacobian"):
        for arm in ("puma560", "stanford"):
            alone = armlet.trace(arms[arm], name).count()
            assert armlet.trace(arms[arm], [name]).count().total <= alone.total


def test_formulations_may_be_named_and_are_not_simplified(arms):
    robot = arms["puma560"]
    named = {"inertia_matrix": "walker_orin", "bias": "lin"}
    program = armlet.trace(robot, [*named], named)
    parts = [armlet.trace(robot, *pair).count() for pair in named.items()]
    assert max(part.total for part in parts) < program.count().total
    assert program.count().total <= sum(part.total for part in parts)
    q, qd = state(robot)[:2]
    np.testing.assert_allclose(program.function()(q, qd).bias, robot.bias(q, qd), rtol=1e-11)


def test_constants_with_names_are_shared_too():
    arm = armlet.general_arm("RRR")
    program = armlet.trace(arm, ["inertia_matrix", "gravity_torque"])
    apart = [armlet.trace(arm, name) for name in ("inertia_matrix", "gravity_torque")]
    assert program.count().total <= sum(p.count().total for p in apart)
    assert set(program.symbols) == {x for p in apart for x in p.symbols}


def test_it_is_searched_for_once(arms, monkeypatch):
    armlet.trace(arms["planar2r"], TERMS)

    def refuse(*args, **kwargs):
        raise AssertionError("searched again")

    monkeypatch.setattr("armlet.search.compose._search", refuse)
    armlet.trace(arms["planar2r"], TERMS)
    with pytest.raises(AssertionError, match="searched again"):
        armlet.trace(arms["planar2r"].with_gravity((1, 2, 3)), TERMS)


# ------------------------------------------------------------------ names


def test_names_stay_with_a_program(arms):
    program = armlet.trace(arms["planar2r"], ["bias", "jacobian"])
    names = ("bias", "jacobian")
    for other in (
        program,
        simplify(program)[0],
        program.derivative("q"),
        Program.from_dict(program.to_dict()),
        pickle.loads(pickle.dumps(program)),
        lower(program),
    ):
        assert other.names == names
    assert armlet.trace(arms["planar2r"], "bias").names is None


def test_results_pickle_and_copy_with_their_names(terms):
    found = terms["planar2r"](*np.zeros((2, 2)))
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert other._fields == found._fields
        assert all(np.array_equal(x, y) for x, y in zip(other, found, strict=True))


def test_every_way_of_calling_gives_a_named_tuple_of_the_same_bits(terms, arms):
    kernel = terms["panda"]
    q, qd = state(arms["panda"])[:2]
    single = kernel(q, qd)
    out = tuple(np.empty_like(x) for x in single)
    for found in (
        kernel(q.tolist(), qd),
        kernel(q, qd, out=out),
        pickle.loads(pickle.dumps(kernel))(q, qd),
    ):
        assert type(found) is type(single)
        assert [x.tobytes() for x in found] == [x.tobytes() for x in single]
    values = kernel.program.function()(q, qd)
    assert type(values) is type(single)


def test_many_results_are_made_and_freed(terms):
    """The compiled call makes tuples of a class of its own: they must go as they came."""
    kernel, q = terms["planar2r"], np.zeros(2)
    kind = type(kernel(q, q))
    for _ in range(100):
        kernel(q, q)
    gc.collect()
    before = sys.getrefcount(kind)
    for _ in range(10_000):
        kernel(q, q)
    assert sys.getrefcount(kind) <= before + 1


# ------------------------------------------------------------------ source code


@pytest.mark.parametrize("target", ["c", "cpp", "cuda"])
def test_the_results_of_a_printed_function_have_their_names(arms, target):
    text = armlet.trace(arms["planar2r"], ["bias", "jacobian"]).source(target)
    assert "jacobian" in text
    assert "bias[0" in text


def test_the_command_writes_one_function_of_several_quantities(tmp_path):
    folder = tmp_path / "it"
    asked = ["generate", "puma560", "-f", f"terms={','.join(TERMS)}", "-o", str(folder)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "double jacobian[36]" in (folder / "puma560_dynamics.h").read_text()
    sources = [str(path) for path in folder.glob("*.c")]
    subprocess.run(["cc", *sources, "-lm", "-o", str(folder / "test")], check=True)
    subprocess.run([str(folder / "test")], check=True)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("quantity", "options", "message"),
    [
        ([], {}, "no quantity is named"),
        (["bias", "bias"], {}, "bias is given 2 times: expected once"),
        (["bias", "torque"], {}, "quantity is 'torque'"),
        (["bias", "energy"], {"frame": "link1"}, "none of bias, energy takes frame="),
        (["bias", "jacobian"], {"frame": "nose"}, "nose"),
        (["bias"], {"formulation": "lin"}, "expected a mapping with one for each of bias"),
        ("bias", {"formulation": {"bias": "lin"}}, "expected the name of one for bias"),
        (["bias"], {"minimize": "time"}, "minimize is 'time': expected one of operations"),
    ],
)
def test_what_makes_no_sense_is_refused(arms, quantity, options, message):
    with pytest.raises(armlet.ArmletError, match=message):
        armlet.trace(arms["planar2r"], quantity, **options)
