"""Identification: simulated arms are found again, and recorded ones as well as was published."""

import errno
import json
import re
import shutil
import subprocess
import warnings
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from recorded_arms import wrist
from support.cases import cases
from support.datasets import panda_log, tx40, tx40_log
from support.datasets import recorded as with_data
from support.logs import random_arm, recorded

import armlet
from armlet import Friction, Log, Physical, TorqueModel
from armlet.errors import ArmletError, DataError, DataWarning
from armlet.identification import (
    cross_validate,
    friction_shape,
    identify_payload,
    sigmoid_friction,
)
from armlet.identification.estimation import estimators
from armlet.identification.estimation.estimators import Factors
from armlet.identification.estimation.physical import (
    Prior,
    com_boxes,
    is_consistent,
    likely_bodies,
    physical_parameters,
    pseudo_inertia,
)
from armlet.identification.report import page, verdict
from armlet.identification.result import Fit
from armlet.robot import Spring

# ------------------------------------------------------------------ least squares


def rows(seed=0, k=200, n=3, p=5):
    """Rows with known parameters, and noise that differs from joint to joint."""
    rng = np.random.default_rng(seed)
    W, x = rng.normal(size=(k, n, p)), rng.normal(size=p)
    noise = np.array([0.01, 0.1, 1.0])
    return W, W @ x + noise * rng.normal(size=(k, n)), x, noise


def test_factors_do_not_depend_on_the_portions():
    W, tau, _, _ = rows()
    whole = Factors.of(W, tau)
    for cuts in ([3, 50], [*range(1, 200)], [199]):
        parts = zip(np.split(W, cuts), np.split(tau, cuts), strict=True)
        found = Factors.sum(Factors.of(*part) for part in parts)
        np.testing.assert_allclose(found.R, whole.R, atol=1e-12)
        assert found.count == whole.count == 600


def test_ordinary_least_squares_is_numpy_s():
    W, tau, _, _ = rows()
    found = estimators.ordinary(Factors.of(W, tau))
    A, b = W.reshape(-1, 5), tau.ravel()
    x, rest, *_ = np.linalg.lstsq(A, b, rcond=None)
    np.testing.assert_allclose(found.x, x, rtol=1e-12)
    covariance = rest / (len(b) - 5) * np.linalg.inv(A.T @ A)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-10)


def test_weights_are_those_of_the_noise():
    W, tau, x, noise = rows(k=5000)
    found = estimators.weighted(Factors.of(W, tau))
    np.testing.assert_allclose(found.noise, noise, rtol=0.05)
    assert np.abs((found.x - x) / found.deviations).max() < 4
    plain = estimators.ordinary(Factors.of(W, tau))
    assert (found.deviations < 0.1 * plain.deviations).all()


@pytest.mark.parametrize("k", [3, 4, 5, 14])
def test_few_rows_do_not_let_the_noise_of_a_joint_collapse(k):
    """Five parameters meet five rows of a joint exactly: their residuals tell no noise."""
    for seed in range(5):
        W, tau, _, _ = rows(seed, k=k)
        factors = Factors.of(W, tau)
        assert estimators.joints_of_unknown_noise(factors) == [0, 1, 2]
        for found in (
            estimators.weighted(factors),
            estimators.robust(factors, [(W, tau)]),
        ):
            np.testing.assert_array_equal(found.x, estimators.ordinary(factors).x)
            assert found.noise.min() == found.noise.max() > 1e-3
    assert estimators.joints_of_unknown_noise(Factors.of(*rows(k=15)[:2])) == []


def test_a_log_that_is_too_short_for_the_noise_of_each_joint_says_so():
    robot = random_arm(0)
    log = recorded(robot, 0, duration=4.0)
    short = armlet.Preprocessing(bandwidth=4.0, trim=0.8)
    with pytest.warns(DataWarning, match=r"joint 'joint1'.* all joints have the same weight"):
        armlet.identify(robot, log, physical=False, preprocessing=short)
    armlet.identify(robot, log, physical=False, preprocessing=short, estimator="ordinary")


def test_outliers_do_not_move_the_robust_estimate():
    W, tau, x, _ = rows()
    tau[::10] += 50.0
    factors = Factors.of(W, tau)
    robust = estimators.robust(factors, [(W[:77], tau[:77]), (W[77:], tau[77:])])
    off = np.abs(robust.x - x).max()
    assert off < 0.02
    assert off < 0.1 * np.abs(estimators.weighted(factors).x - x).max()


def test_parameters_that_do_nothing_are_not_essential():
    W, tau, _, _ = rows(k=500)
    more = np.concatenate([W, np.random.default_rng(1).normal(size=(500, 3, 2))], axis=-1)
    factors = Factors.of(more, tau)
    found = estimators.weighted(factors)
    R = factors.together(1 / found.noise)
    assert set(range(5)) <= set(estimators.essential(R, found.x, factors.count)) < set(range(7))


# ------------------------------------------------------------------ simulated arms


@pytest.mark.parametrize("arms", cases([3], long=[10]))
def test_true_parameters_are_within_their_deviations(arms):
    z = []
    for seed in range(arms):
        robot = random_arm(seed)
        found = armlet.identify(robot, recorded(robot, seed), physical=False)
        true = armlet.minimal_parameters(robot, friction=True).values
        z.append((found.values - true) / found.deviations)
    z = np.abs(np.concatenate(z))
    assert (z < 3).mean() > 0.98
    assert (z < 1).mean() == pytest.approx(0.683, abs=0.12)


def test_a_simulated_arm_is_found_by_its_friction_too():
    """Smooth friction with Stribeck's part, as it is simulated."""
    robot = random_arm(5)
    shape = Friction(velocity=0.05, stribeck=0.3, stribeck_velocity=0.2)
    log = recorded(robot.without_drives(), 5, noise=0.0)
    qd = np.gradient(log.q, log.t, axis=0)
    sign = np.tanh(qd / 0.05)
    tau = log.tau + 0.4 * qd + 0.6 * sign + 0.3 * np.exp(-((qd / 0.2) ** 2)) * sign + 0.1
    found = armlet.identify(
        robot, replace(log, tau=tau), model=TorqueModel(friction=shape), physical=False
    )
    values = dict(zip(found.names, found.values, strict=True))
    for kind, true in (("viscous", 0.4), ("coulomb", 0.6), ("stribeck", 0.3), ("offset", 0.1)):
        for i in range(1, robot.nv + 1):
            assert values[f"{kind}{i}"] == pytest.approx(
                true, abs=0.1 * (kind == "stribeck") + 0.02
            )
    assert found.robot.drives[0].viscous == pytest.approx(0.4, abs=0.03)


def resting(robot, seed, joint, share=0.6):
    """A log in which one joint rests at the end, held by friction of any size up to Coulomb's."""
    rng = np.random.default_rng(seed)
    t, w = np.arange(0, 20, 1e-3), 0.2 * np.pi * np.arange(1, 6)
    a = rng.normal(size=(robot.nv, 5)) / np.sqrt(np.arange(1, 6))
    q = np.sin(np.outer(t, w)) @ a.T
    fade = np.clip((20 * (1 - share) - t) / 2, 0, 1)
    q[:, joint] *= fade**3 * (10 - 15 * fade + 6 * fade**2)
    qd = np.gradient(q, t, axis=0)
    tau = robot.inverse_dynamics(q, qd, np.gradient(qd, t, axis=0)) + robot.passive_torque(q, qd)
    stuck = rng.uniform(-1, 1) * robot.drives[joint].coulomb
    tau[:, joint] += np.where(fade == 0, stuck, 0)
    step = 2 * np.pi / 2**17
    q = step * np.round((q + 1e-5 * rng.normal(size=q.shape)) / step)
    return Log(t, q, tau + 0.02 * rng.normal(size=q.shape), joints=robot.joint_names)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", ["weighted", "robust", "instrumental"])
def test_a_joint_that_rests_while_others_move_keeps_its_friction(seed, estimator):
    """The sign of noise is no friction: rows of a joint at rest are left out, and that is said."""
    robot, joint = random_arm(seed), seed
    log = resting(robot, seed, joint)
    found = armlet.identify(robot, log, physical=False, estimator=estimator)
    drive, true = found.robot.drives[joint], robot.drives[joint]
    assert abs(drive.viscous - true.viscous) < 0.1 * max(true.viscous, 0.2)
    assert abs(drive.coulomb - true.coulomb) < 0.1 * max(true.coulomb, 0.2)
    (note,) = (note for note in found.notes if "rests for" in note)
    assert note.startswith(f"joint 'joint{joint + 1}' rests for 1")
    if found.instrument_test is not None:
        assert found.instrument_test.correlation > 0.95  # of rows in motion only


def test_the_friction_of_a_joint_that_never_moves_is_not_found():
    robot = random_arm(0)
    log = recorded(robot, 0)
    noise = 1e-5 * np.random.default_rng(0).normal(size=len(log))
    still = replace(log, q=np.stack([log.q[:, 0], log.q[:, 1], 0.3 + noise], axis=1))
    with pytest.warns(DataWarning, match=r"nothing of .*viscous3, coulomb3"):
        found = armlet.identify(robot, still, physical=False)
    assert abs(np.array(found.robot.drives[2])[1:3]).max() < 1e-9
    assert any(note.startswith("joint 'joint3' never moves") for note in found.notes)


@pytest.mark.parametrize("value", [0.0, 1.5])
@pytest.mark.parametrize("estimator", ["weighted", "ordinary", "robust", "instrumental"])
def test_a_torque_that_never_changes_does_not_spoil_the_other_joints(value, estimator):
    robot = random_arm(3)
    log = recorded(robot, 3, duration=10.0)
    dead = replace(log, tau=np.where([False, False, True], value, log.tau))
    with pytest.warns(DataWarning, match="the torque of joint 'joint3' never changes"):
        Log.read({"t": dead.t, "q": dead.q, "tau": dead.tau}, robot)
    with pytest.warns(DataWarning, match=r"nothing of viscous3, coulomb3, offset3"):
        found = armlet.identify(robot, dead, physical=False, estimator=estimator)
    assert found.fits[found.method].joints[:2].max() < 1
    for drive, true in zip(found.robot.drives[:2], robot.drives[:2], strict=True):
        assert abs(drive.coulomb - true.coulomb) < 0.1 * max(true.coulomb, 0.2)
    assert any(note.startswith("the torque of joint 'joint3' never ch") for note in found.notes)
    assert verdict(found).endswith("no torque of joint joint3 is used.")
    assert np.isfinite(found.predict(*np.ones((3, 1, 3)))[1]).all()


def test_a_torque_that_never_changes_leaves_physical_bodies_of_the_others(cvxpy):
    robot = random_arm(3)
    log = recorded(robot, 3, duration=10.0)
    dead = replace(log, tau=log.tau * [1, 0, 1])
    with pytest.warns(DataWarning, match="nothing of viscous2"):
        found = armlet.identify(robot, dead, physical=True)
    assert found.fits["consistent"].whole < 1


def rounded_arm(folder, base, elbow, decimals):
    """Three joints, mounted with angles that a file has with so many decimals."""
    angles = [repr(x) if decimals is None else f"{x:.{decimals}f}" for x in (base, elbow, 0.0)]
    joints = zip(("base", "l1", "l2"), ("0 0 0.1", "0 0 0.2", "0.3 0 0"), angles, strict=True)
    text = '<robot name="rounded"><link name="base"/>'
    for k, (parent, xyz, angle) in enumerate(joints, 1):
        text += (
            f'<link name="l{k}"><inertial><origin xyz="0.1 0.05 0.02"/><mass value="2"/><inertia '
            'ixx="0.1" ixy="0.01" ixz="0.02" iyy="0.12" iyz="0.01" izz="0.15"/></inertial></link>'
            f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{xyz}" rpy="{angle} 0 0"/><axis xyz="0 0 1"/></joint>'
        )
    (folder / "rounded.urdf").write_text(text + "</robot>")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", armlet.ModelWarning)
        return armlet.load(folder / "rounded.urdf")


@pytest.mark.parametrize("decimals", [2, 4, 5, 6, 8])
@pytest.mark.parametrize(
    ("base", "elbow"),
    [(np.pi, np.pi / 2), (np.pi / 2, np.pi), (0.0, np.pi), (np.pi, 0.0)],
)
def test_parameters_that_exist_by_the_rounding_of_a_file_are_left_out(
    tmp_path, base, elbow, decimals
):
    exact, robot = (rounded_arm(tmp_path, base, elbow, k) for k in (None, decimals))
    expected = armlet.minimal_parameters(exact, friction=True)
    assert len(armlet.minimal_parameters(robot, friction=True)) > len(expected)
    model = TorqueModel().of_robot(robot)
    assert len(model.parameters) == len(expected)
    assert "as if they had been rounded" in model.notes[0]
    assert model.parameters.model is robot
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 100, 3))
    tau = robot.inverse_dynamics(q, qd, qdd)
    off = model.columns(q, qd, qdd) @ model.parameters.values - tau
    assert np.abs(off).max() < 10 * 10.0**-decimals * np.abs(tau).max()
    assert not TorqueModel().of_robot(exact).notes


def test_a_motion_does_not_excite_what_exists_by_the_rounding_of_a_file(tmp_path):
    robot = rounded_arm(tmp_path, np.pi, np.pi / 2, 5)
    limits = armlet.MotionLimits(position=(-2, 2), speed=3)
    plan = armlet.excite(robot, 2.0, harmonics=2, starts=1, limits=limits, rate=50)
    assert "as if they had been rounded" in plan.notes[-1]
    assert plan.condition < 1e4


@pytest.mark.parametrize("rotors", [False, True])
@pytest.mark.parametrize(
    "friction", [True, False, (), ("viscous",), ("coulomb", "offset"), "sigmoid", "smooth"]
)
@pytest.mark.parametrize("physical", [False, True])
def test_torques_are_those_of_the_robot_found_whatever_the_drives_of_the_file(
    friction, rotors, physical
):
    """Parameters of drives that the model does not have are in neither of them."""
    if physical:
        pytest.importorskip("cvxpy", reason="cvxpy is not installed: it is in the dev extra")
    robot = random_arm(2).with_drives(rotor_inertia=(0.5, 0.4, 0.3))
    law = {
        "sigmoid": armlet.identification.Sigmoid((9.0,) * 3, (0.1,) * 3),
        "smooth": Friction(0.1),
    }
    model = TorqueModel(rotors=rotors, friction=law.get(friction, friction))
    log = recorded(robot, 2, duration=8.0, noise=0.0)
    found = armlet.identify(robot, log, model=model, physical=physical)
    q, qd, qdd = np.random.default_rng(0).uniform(-2, 2, (3, 20, robot.nv))
    tau, arm = found.torques(q, qd, qdd), found.robot
    if friction in law:  # which robots do not have: one column per joint and term
        own = found.regressor.columns(0 * q, qd, 0 * q)
        own[..., : len(found.regressor.parameters)] = 0
        expected = arm.inverse_dynamics(q, qd, qdd) + own @ found.solutions[found.solution]
    else:
        expected = arm.inverse_dynamics(q, qd, qdd) + arm.friction_torque(qd)
    np.testing.assert_allclose(tau, expected, atol=1e-9 * np.abs(tau).max())
    terms = {True: ("viscous", "coulomb", "offset"), "sigmoid": (), False: ()}
    terms |= {"smooth": terms[True]}
    names = {*terms.get(friction, friction), *(["rotor_inertia"] if rotors else [])}
    lost = [x for x in ("rotor_inertia", "viscous", "coulomb", "offset") if x not in names]
    notes = [note for note in found.notes if "those of the drives" in note]
    assert len(notes) == bool(lost)
    assert all(x in notes[0] for x in lost)
    assert all(getattr(drive, x) == 0 for drive in arm.drives for x in lost)


def test_springs_of_the_robot_are_known():
    """The bodies found are those of the arm without springs, and predictions have the springs."""
    robot = random_arm(6)
    sprung = replace(robot, springs=(Spring(20.0, 0.5),) * robot.nv)
    log = recorded(robot, 6)
    there = replace(log, tau=log.tau + 20.0 * (log.q - 0.5))
    found = armlet.identify(sprung, there, physical=False)
    bare = armlet.identify(robot, log, physical=False)
    assert np.abs((found.values - bare.values) / bare.deviations).max() < 0.1
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, robot.nv))
    held = found.predict(q, qd, qdd)[0] - bare.predict(q, qd, qdd)[0]
    np.testing.assert_allclose(held, 20.0 * (q - 0.5), atol=0.1)
    assert found.robot.springs == sprung.springs


def test_springs_and_asymmetric_friction_are_columns():
    robot = random_arm(6).without_drives()
    log = recorded(robot, 6)
    qd = np.gradient(log.q, log.t, axis=0)
    spring = np.zeros_like(log.q)
    spring[:, 1] = 3.0 * log.q[:, 1]
    extra = np.where(qd > 0, 0.8, -0.3)
    log = replace(log, tau=log.tau + spring + extra)

    @armlet.function(robot)
    def stiffness(q):
        return np.array([0 * q[0], q[1], 0 * q[0]])

    def stirred(q, qd, qdd):
        return np.stack([0 * q[:, 0], 0 * q[:, 0], np.sin(9 * q[:, 0])], axis=1)

    model = TorqueModel(
        friction=("coulomb_forward", "coulomb_backward"),
        extra={"stiffness": stiffness, "stirred": stirred},
    )
    found = armlet.identify(robot, log, model=model, physical=False)
    values = dict(zip(found.names, found.values, strict=True))
    assert values["stiffness"] == pytest.approx(3.0, rel=0.02)
    assert values["stirred"] == pytest.approx(0.0, abs=0.02)
    assert values["coulomb_forward3"] == pytest.approx(0.8, abs=0.02)
    assert values["coulomb_backward3"] == pytest.approx(0.3, abs=0.02)


def test_the_stiffness_of_a_gravity_compensator_is_found():
    """A spring from 0.3 m above the first axis to 0.5 m along the link, 0.2 m long at rest."""
    robot = random_arm(6, n=2).without_drives()
    log = recorded(robot, 6, noise=0.005)

    def slope(q, at_rest):
        length = np.sqrt(0.34 + 0.3 * np.cos(q[:, 0]))
        return np.stack([-0.15 * np.sin(q[:, 0]) * (1 - at_rest / length), 0 * length], axis=1)

    sprung = replace(log, tau=log.tau + 900 * slope(log.q, 0.2))
    known = {"stiffness": lambda q, qd, qdd: slope(q, 0.2)}
    model = TorqueModel(friction=False, extra=known)
    found = armlet.identify(robot, sprung, model=model, physical=False)
    assert found.values[-1] == pytest.approx(900, rel=0.02)
    assert abs(found.values[-1] - 900) < 4 * found.deviations[-1]
    both = {"stiffness": lambda q, qd, qdd: slope(q, 0), "force": lambda q, qd, qdd: slope(q, 1)}
    with pytest.warns(DataWarning, match="determines 11 of 12"):  # a weight has that form, too
        armlet.identify(robot, sprung, model=replace(model, extra=both), physical=False)


def test_several_runs_count_together():
    robot = random_arm(1)
    logs = [recorded(robot, seed) for seed in (1, 2)]
    one = armlet.identify(robot, logs[0], physical=False)
    both = armlet.identify(robot, logs, physical=False)
    assert np.median(both.deviations / one.deviations) < 0.9


def test_deviations_of_predicted_torques_cover_what_was_measured():
    robot = random_arm(2)
    found = armlet.identify(robot, recorded(robot, 2), physical=False)
    (run,) = found.samples
    predicted, spread = found.predict(run.q, run.qd, run.qdd)
    true = robot.inverse_dynamics(run.q, run.qd, run.qdd) + robot.friction_torque(run.qd)
    assert (np.abs(predicted - true) < 3 * spread).mean() > 0.99


@pytest.mark.parametrize("known", ["robot", "identified"])
def test_a_payload_is_found(known):
    """Half a kilogram on an arm that is known, from its file or from a log without payload."""
    robot = random_arm(7, n=4)
    com, inertia = np.array([0.02, -0.03, 0.05]), np.diag([2e-3, 3e-3, 4e-3])
    loaded = recorded(robot.with_payload(0.5, com, inertia), 8)
    arm = robot if known == "robot" else armlet.identify(robot, recorded(robot, 7))
    found = armlet.identification.identify_payload(arm, loaded)
    assert abs(found.mass - 0.5) < max(4 * found.deviation, 0.01)
    np.testing.assert_allclose(found.com, com, atol=0.01)
    assert found.fit.whole < 0.2 * found.before.whole


def test_a_payload_beside_a_known_one_or_in_currents_is_refused():
    robot = random_arm(7, n=4)
    log = recorded(robot, 7)
    loaded = log.with_payload(0.5, (0, 0, 0.1))
    with pytest.raises(DataError, match="a log has a known payload: expected logs with the unkn"):
        identify_payload(robot, loaded)
    heavy = recorded(robot.with_payload(2, (0, 0, 0.1)), 8).with_payload(2, (0, 0, 0.1))
    arm = armlet.identify(robot, [log, heavy], model=TorqueModel(gains=True), physical=False)
    with pytest.raises(DataError, match="the arm was identified with gains: expected one ident"):
        identify_payload(arm, log)


def test_every_part_is_predicted_from_the_others():
    robot = random_arm(8)
    logs = [recorded(robot, seed) for seed in (8, 9)]
    by_runs = armlet.identification.cross_validate(robot, logs)
    by_time = armlet.identification.cross_validate(robot, logs[0], blocks=5)
    assert [len(x) for x in (by_runs, by_time)] == [2, 5]
    assert all(fit.whole < 1.5 for fit in (*by_runs, *by_time))
    with pytest.raises(DataError, match="there is one block: expected several runs, or blocks=5"):
        armlet.identification.cross_validate(robot, logs[0])


def test_the_shape_of_friction_is_found():
    robot = random_arm(5, n=2)
    log = recorded(robot.without_drives(), 5, noise=0.0, size=0.3)
    qd = np.gradient(log.q, log.t, axis=0)
    tau = log.tau + 0.4 * qd + 0.6 * np.tanh(qd / 0.1)
    found = armlet.identification.friction_shape(robot, replace(log, tau=tau))
    assert found.velocity == pytest.approx(0.1, rel=0.1)


# ------------------------------------------------------------------ physical bodies


@pytest.fixture(scope="module")
def cvxpy():
    return pytest.importorskip("cvxpy", reason="cvxpy is not installed: it is in the dev extra")


def test_pseudo_inertias_are_those_of_points():
    rng = np.random.default_rng(0)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1, 6)
    J = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    body = [*J[np.triu_indices(3)], *(masses @ points), masses.sum()]
    extended = np.column_stack([points, np.ones(6)])
    np.testing.assert_allclose(pseudo_inertia(body), extended.T @ np.diag(masses) @ extended)
    assert is_consistent(np.array([body]))
    assert not is_consistent(np.array([[*body[:9], -1.0]]))
    likely = likely_bodies(np.array([body, np.zeros(10)]))
    assert is_consistent(likely)
    np.testing.assert_array_equal(likely[0], body)


def test_likely_bodies_keep_masses_and_centres_in_every_frame():
    """Of points on a line, in a plane or in one place, and of a moment that is too large."""
    rng = np.random.default_rng(0)
    thin = np.diag([1.0, 1, 0]), np.diag([1.0, 1, 2]), np.zeros((3, 3)), np.diag([1, 2, 3.1])
    for I in 0.01 * np.array(thin):
        R, c = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
        J = 2 * (c @ c * np.eye(3) - np.outer(c, c))
        body = np.array([*(R @ I @ R.T + J)[np.triu_indices(3)], *(2 * c), 2.0])
        (likely,) = likely_bodies(body[None])
        np.testing.assert_array_equal(likely[6:], body[6:])
        np.linalg.cholesky(np.array(pseudo_inertia(likely)))
        own = np.zeros((3, 3))
        own[np.triu_indices(3)] = likely[:6] - J[np.triu_indices(3)]
        values = np.linalg.eigvalsh(own, "U")
        assert values[-1] < 1.01 * values[:2].sum()
        if I.any():
            np.testing.assert_allclose(values, np.sort(I.diagonal()), atol=1e-3)
    massless = likely_bodies(np.array([body, np.zeros(10)]))[1]
    assert massless[9] == 2
    assert is_consistent(massless[None])


def test_an_arm_of_rods_has_physical_bodies(cvxpy, arms):
    """Ixx + Iyy = Izz holds for rods and plates, which are on the border of what is physical."""
    robot = arms["stanford"]
    log = recorded(robot, 0, duration=10.0, size=0.5, noise=0.0)
    found = armlet.identify(robot, log, physical=True)
    assert found.is_consistent
    assert np.abs(found.bodies[:, 9] / robot.phi[:, 9].astype(float) - 1).max() < 0.1
    assert found.fits["consistent"].whole < 1.1 * found.fits["least squares"].whole
    assert not any("not physical" in note for note in found.notes)
    exact = Physical(bodies=robot.phi.astype(float))
    assert armlet.identify(robot, log, physical=exact).is_consistent


def test_a_body_of_the_file_that_is_not_quite_physical_stays_likely(cvxpy, arms):
    robot = arms["ur5e"]
    log = recorded(robot, 0, duration=10.0, size=0.5, noise=0.0)
    phi = robot.phi.astype(float)
    odd = phi.copy()
    largest = np.argmax(odd[1, [0, 3, 5]])
    odd[1, [0, 3, 5][largest]] *= 1.2
    found = armlet.identify(robot.with_inertia(odd), log, physical=True)
    assert not is_consistent(odd)
    assert np.abs(found.bodies[:, 9] / phi[:, 9] - 1).max() < 0.15
    (note,) = (note for note in found.notes if "not physical" in note)
    assert robot.links[1] in note


@pytest.mark.parametrize("prior", ["entropic", "euclidean"])
def test_physical_bodies_of_a_noisy_log_are_physical_and_fit(cvxpy, prior):
    robot = random_arm(3)
    found = armlet.identify(robot, recorded(robot, 3), physical=Physical(prior=prior))
    assert found.is_consistent
    assert found.fits["consistent"].whole < found.fits["least squares"].whole + 0.1
    assert all(min(drive[1:3]) >= 0 for drive in found.robot.drives)
    again = found.robot
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 50, robot.nv))
    tau = again.inverse_dynamics(q, qd, qdd) + again.friction_torque(qd)
    true = robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(qd)
    assert np.abs(tau - true).max() < 0.05 * np.abs(true).max()


def rows_of(robot, noises, sign=1.0):
    """Factors of random rows of an arm in units of each noise, and the parameters of the rows."""
    rng = np.random.default_rng(0)
    parameters = armlet.minimal_parameters(robot, friction=True)
    W = robot.regressor(*rng.uniform(-2, 2, (3, 200, robot.nv)), parameters=parameters)
    tau = sign * W @ parameters.values
    rounding = 1e-12 * np.abs(tau).max()
    factors = (Factors.of(W, tau + noise * rng.normal(size=tau.shape)) for noise in noises)
    each = zip(factors, noises, strict=True)
    return [x.together() / max(noise, rounding) for x, noise in each], parameters


def distance_between(bodies, prior, kind):
    """How far bodies are from others, as the objective counts it."""
    found = 0.0
    for body, likely in zip(bodies, prior, strict=True):
        root = np.linalg.inv(np.linalg.cholesky(np.array(pseudo_inertia(likely))))
        P = root @ np.array(pseudo_inertia(body)) @ root.T
        entropic = np.trace(P) - np.linalg.slogdet(P)[1]
        found += entropic if kind == "entropic" else ((P - np.eye(4)) ** 2).sum()
    return found


@pytest.mark.parametrize("name", ["panda", "ur5e", "random"])
def test_bodies_are_those_of_a_true_prior_however_small_the_noise(cvxpy, arms, name):
    robot = random_arm(3, n=4) if name == "random" else arms[name]
    prior = robot.phi.astype(float)
    truth = np.concatenate([prior.ravel(), np.array([x[1:] for x in robot.drives]).T.ravel()])
    noises = (10.0, 1.0, 1e-2, 1e-4, 1e-6, 1e-12, 0.0)
    factors, parameters = rows_of(robot, noises)
    each = product(zip(factors, noises, strict=True), ("entropic", "euclidean"))
    for (R, noise), kind in each:
        s = physical_parameters(R, parameters.Lam, parameters.standard, Prior(prior, kind))
        bodies = s[: prior.size].reshape(prior.shape)
        assert is_consistent(bodies)
        left, of_truth = (np.linalg.norm(R @ np.append(parameters.Lam @ x, -1)) for x in (s, truth))
        away, at_prior = (distance_between(x, prior, kind) for x in (bodies, prior))
        if noise >= 1e-4:  # the truth is no better
            assert left**2 + away < of_truth**2 + at_prior + 1e-2
        assert left < of_truth + 1e-5 * np.linalg.norm(R[:, -1])
        if noise <= 1e-2:
            off = np.abs(bodies[:, 9] / prior[:, 9] - 1).max()
            assert off < (0.3 if noise == 1e-2 else 0.02)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_bodies_of_a_clean_log_are_those_of_a_true_prior(cvxpy, arms, name):
    robot = arms[name]
    clean = recorded(robot, 0, duration=10.0, size=0.5, noise=0.0)
    for noise in (1e-2, 0.0):
        extra = noise * np.random.default_rng(0).normal(size=clean.tau.shape)
        log = replace(clean, tau=clean.tau + extra)
        found = armlet.identify(robot, log, physical=True)
        assert found.is_consistent
        assert np.abs(found.bodies[:, 9] / robot.phi[:, 9].astype(float) - 1).max() < 0.1
        assert found.fits["consistent"].whole < 1.1 * found.fits["least squares"].whole


def test_torques_that_no_bodies_have_still_give_bodies(cvxpy):
    """Torques of the wrong sign, which physical bodies miss by up to 1e12 times the noise."""
    robot = random_arm(0)
    factors, parameters = rows_of(robot, (1.0, 1e-3, 0.0), sign=-1.0)
    for R in factors:
        prior = Prior(robot.phi.astype(float))
        s = physical_parameters(R, parameters.Lam, parameters.standard, prior)
        assert is_consistent(s[: 10 * robot.nb].reshape(-1, 10))
        left = np.linalg.norm(R @ np.append(parameters.Lam @ s, -1.0))
        assert left < 1.01 * np.linalg.norm(R[:, -1])  # no worse than no bodies


def test_boxes_that_a_clean_log_contradicts_still_give_bodies(cvxpy, arms):
    """Centres between the joints, where those of the Panda are not, however small the noise."""
    robot = arms["panda"]
    prior = Prior(robot.phi.astype(float), boxes=com_boxes(robot, 0.0))
    factors, parameters = rows_of(robot, (1e-3, 0.0))
    for R in factors:
        s = physical_parameters(R, parameters.Lam, parameters.standard, prior)
        bodies = s[: 10 * robot.nb].reshape(-1, 10)
        assert is_consistent(bodies)
        for box in prior.boxes:
            at = bodies[box.body, 6:9] / bodies[box.body, 9]
            assert (box.lower - 1e-4 < at).all()
            assert (at < box.upper + 1e-4).all()


@pytest.mark.parametrize("arms", cases([3], long=[10]))
def test_with_poor_excitation_physical_bodies_predict_better(cvxpy, arms):
    """From two seconds of small motions, with bodies 30 % off as the prior."""
    better = []
    for seed in range(arms):
        robot = random_arm(seed)
        rng = np.random.default_rng(seed)
        likely = robot.phi.astype(float) * rng.uniform(0.7, 1.3, (robot.nb, 1))
        poor = recorded(robot, seed, duration=4.0, size=0.15, noise=0.05)
        rich = recorded(robot, seed + 50)
        found = armlet.identify(robot, poor, physical=Physical(bodies=likely), validation=[rich])
        fits = found.fits
        gain = fits["validation, least squares"].whole / fits["validation, consistent"].whole
        better.append(gain)
    assert np.median(better) > 1.2
    assert np.mean(np.array(better) > 1) >= 0.6


def test_drive_parameters_of_physical_bodies_are_never_below_zero(cvxpy):
    """Not by a tolerance of the solver either, where torques ask for less friction than none."""
    for seed in range(6):
        robot = random_arm(seed)
        less = robot.with_drives(viscous=[-x.viscous for x in robot.drives], coulomb=0)
        factors, parameters = rows_of(less, (1.0, 1e-2, 1e-4))
        for R in factors:
            prior = Prior(robot.phi.astype(float))
            s = physical_parameters(R, parameters.Lam, parameters.standard, prior)
            named = zip(parameters.standard, s, strict=True)
            assert min(x for name, x in named if name[:-1] in ("viscous", "coulomb")) >= 0


def test_masses_have_bounds(cvxpy):
    robot = random_arm(3)
    log = recorded(robot, 3)
    found = armlet.identify(robot, log, physical=Physical(bounds={"m1": 0.1, "m3": 1.0}))
    assert found.bodies[0, 9] <= 0.1 + 1e-6
    assert found.bodies[2, 9] <= 1.0 + 1e-6
    for bound in (-0.1, 0.0):
        with pytest.raises(DataError, match="no physical bodies are within these bounds: expected"):
            armlet.identify(robot, log, physical=Physical(bounds={"m1": bound}))


def test_bounds_are_infeasible_if_one_attempt_says_so(cvxpy, monkeypatch):
    """The solver may fail with other scales of the noise, depending on rounding."""
    attempts, solve = [], cvxpy.Problem.solve

    def solve_twice(problem, **options):
        attempts.append(problem)
        if len(attempts) > 2:
            raise cvxpy.error.SolverError("failed")
        return solve(problem, **options)

    monkeypatch.setattr(cvxpy.Problem, "solve", solve_twice)
    robot = random_arm(3)
    with pytest.raises(DataError, match="no physical bodies are within these bounds"):
        armlet.identify(robot, recorded(robot, 3), physical=Physical(bounds={"m1": -0.1}))
    assert len(attempts) > 2


def centres_in(found, frame):
    """The centre of mass of a frame's body, in that frame."""
    body, pose = found.robot.frame(frame)
    return pose.inverse().point(found.bodies[body, 6:9] / found.bodies[body, 9])


def test_centres_of_mass_stay_in_boxes(cvxpy):
    robot = random_arm(3, n=2)
    log = recorded(robot, 3, duration=8.0)
    free = armlet.identify(robot, log, physical=True)
    start = centres_in(free, "link2")
    box = start - 0.1, start + np.array([-0.02, 0.1, 0.1])
    found = armlet.identify(robot, log, physical=Physical(boxes={"link2": box}))
    assert found.is_consistent
    at = centres_in(found, "link2")
    assert (at > box[0] - 1e-6).all()
    assert (at < box[1] + 1e-6).all()
    assert at[0] == pytest.approx(box[1][0], abs=1e-4)  # the bound that keeps it from its place
    fits = [free.fits["consistent"].whole, found.fits["consistent"].whole]
    tight = armlet.identify(robot, log, physical=Physical(boxes=0.01))
    for box in com_boxes(robot, 0.01):
        at = tight.bodies[box.body, 6:9] / tight.bodies[box.body, 9]
        assert (at > box.lower - 1e-6).all()
        assert (at < box.upper + 1e-6).all()
    fits.append(tight.fits["consistent"].whole)
    assert min(fits) > fits[0] - 0.01  # bounds make no fit better, but for the weight of the prior


def test_boxes_of_the_geometry_reach_from_joint_to_joint():
    first, second = com_boxes(armlet.load("planar2r"), 0.1)  # two links of 1 m along x
    for box in (first, second):
        np.testing.assert_allclose(box.lower, [-0.1, -0.1, -0.1])
        np.testing.assert_allclose(box.upper, [1.1, 0.1, 0.1])


def test_boxes_of_centres_that_make_no_sense_are_refused(cvxpy):
    robot = random_arm(3, n=2)
    log = recorded(robot, 3, duration=8.0)
    for boxes, message in (
        ({"link2": ((0, 0, 0), (-1, 1, 1))}, "the box of 'link2' is .*: expected two corners"),
        ({"base": ((0, 0, 0), (1, 1, 1))}, "frame 'base' is on the base"),
        (-0.1, r"boxes is -0\.1: expected a margin in m"),
    ):
        with pytest.raises(ArmletError, match=message):
            armlet.identify(robot, log, physical=Physical(boxes=boxes))


def test_what_was_found_is_written(cvxpy, tmp_path):
    robot = random_arm(3)
    found = armlet.identify(robot, recorded(robot, 3), physical=True, validation=0.3)
    found.to_urdf(tmp_path / "arm.urdf")
    again = armlet.load(tmp_path / "arm.urdf")
    q = np.random.default_rng(0).uniform(-1, 1, (20, robot.nq))
    np.testing.assert_allclose(
        again.inertia_matrix(q), found.robot.inertia_matrix(q), rtol=1e-6, atol=1e-9
    )
    found.to_json(tmp_path / "found.json")
    assert '"condition"' in (tmp_path / "found.json").read_text()
    plain = armlet.identify(robot, recorded(robot, 3), physical=False)
    with pytest.raises(DataError, match="physically consistent bodies were not asked for"):
        plain.to_urdf(tmp_path / "arm.urdf")


# ------------------------------------------------------------------ coupled joints

COUPLED = (
    """
name = "coupled"
angles = "radians"
gravity = [0, -9.81, 0]
tool = "tip"
"""
    + "".join(
        f"""
[[body]]
name = "link{k}"
joint = "joint{k}"
xyz = [{0.4 * (k > 1)}, 0, 0]
rpy = [0, 0, 0]
axis = [0, 0, 1]
mass = 1.0
com = [0.2, 0, 0]
inertia = [0.01, 0, 0, 0.01, 0, 0.01]
{'mimic = {joint = "joint1"}' if k == 2 else ""}
"""
        for k in (1, 2, 3)
    )
    + """
[[frame]]
name = "tip"
parent = "link3"
xyz = [0.3, 0, 0]
rpy = [0, 0, 0]
"""
)


@pytest.fixture(scope="module")
def coupled(tmp_path_factory):
    """An arm of three bodies and two coordinates."""
    path = tmp_path_factory.mktemp("coupled") / "coupled.toml"
    path.write_text(COUPLED)
    return armlet.load(path)


def test_an_arm_with_coupled_joints_is_identified_with_every_option(cvxpy, coupled, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    load = 2.0, (0.3, 0.1, 0.0)
    plain = recorded(coupled, 0, duration=8.0)
    carried = recorded(coupled.with_payload(*load), 1, duration=8.0).with_payload(*load)
    found = armlet.identify(
        coupled, [plain, carried], model=TorqueModel(gains=True), physical=Physical(boxes=0.2)
    )
    assert len(found.gains.values) == coupled.nq == 2
    assert found.is_consistent
    for box in com_boxes(coupled, 0.2):
        at = found.bodies[box.body, 6:9] / found.bodies[box.body, 9]
        assert (box.lower - 1e-6 < at).all()
        assert (at < box.upper + 1e-6).all()
    found.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    start = text.index("<h2>Bodies</h2>")
    table = text[start : text.index("<h2>", start + 1)]
    assert re.findall(r"<tr><td>(\w+)</td>", table) == ["joint1", "joint2", "joint3"]
    titles = [note.text for note in found.plot().layout.annotations]
    assert titles == ["joint1 (Nm)", "joint3 (Nm)"]
    loaded = replace(carried, payloads=())
    assert armlet.identification.identify_payload(coupled, loaded).mass == pytest.approx(2, rel=0.1)


# ------------------------------------------------------------------ what makes no sense


def test_what_makes_no_sense_is_refused():
    robot = random_arm(0)
    log = recorded(robot, 0, duration=3.0)
    for options, message in (
        (
            {"friction": ["dry"]},
            "friction has 'dry': expected True, False, armlet.Friction, a Sigmoid or",
        ),
        ({"extra": {"x": lambda q, qd, qdd: q[0]}}, r"column 'x' has shape \(3,\): expected"),
        (
            {"parameters": armlet.minimal_parameters(armlet.load("planar2r"))},
            "parameters are those of 'planar2r' in other frames .* of this robot, 'arm0'",
        ),
        (
            {"parameters": armlet.minimal_parameters(random_arm(1))},
            "parameters are those of 'arm1' in other frames .* of this robot, 'arm0'",
        ),
        (
            {"parameters": armlet.minimal_parameters(robot, of="gravity")},
            "parameters are those of gravity alone: expected those of all torques",
        ),
        (
            {
                "parameters": armlet.minimal_parameters(robot, friction=True),
                "friction": ["viscous", "coulomb_forward"],
            },
            "friction has viscous, which parameters= has, too: expected one of them",
        ),
        *(
            ({"extra": {name: lambda q, qd, qdd: q}}, f"extra has a column called '{name}', as a")
            for name in ("viscous1", "Jzz3", "m2", "coulomb_forward2", "rotor_inertia1")
        ),
    ):
        with pytest.raises(DataError, match=message):
            armlet.identify(robot, log, model=TorqueModel(**options), physical=False)
    for options, message in (
        ({"estimator": "magic"}, "estimator is 'magic': expected one of ordinary, weighted, rob"),
        ({"validation": 1.5}, "validation is 1.5: expected a share of the time"),
        ({"model": {"rotors": True}}, "model is .*: expected an armlet.TorqueModel"),
        ({"physical": "yes"}, "physical is 'yes': expected True, False or an armlet.Physical"),
    ):
        with pytest.raises(DataError, match=message):
            armlet.identify(robot, log, **options)
    with pytest.raises(DataError, match="all torques are zero throughout"):
        armlet.identify(robot, replace(log, tau=0 * log.tau))
    with pytest.raises(DataError, match="there are no rows to identify from: expected one or more"):
        armlet.identify(robot, [])


@pytest.mark.parametrize("estimate", [armlet.identify, cross_validate, identify_payload])
def test_anything_but_logs_is_refused_with_what_was_passed(estimate):
    robot = random_arm(0)
    text = r"logs has the path '.*run\.csv': expected armlet\.Log\.read\('.*run\.csv', robot\)"
    for logs in ("run.csv", ["run.csv"], Path("run.csv")):
        with pytest.raises(DataError, match=text):
            estimate(robot, logs)
    for logs in (armlet.Log, [armlet.Log], 3, [None], {1: 2}):
        with pytest.raises(DataError, match=r"logs has .*: expected an armlet\.Log, as armlet"):
            estimate(robot, logs)
    text = (
        r"logs has \{'t': .*Log\.read\(path or mapping, robot\) or armlet\.Log\(t, q, tau\) returns"
    )
    for logs in ({"t": np.zeros(3)}, [{"t": np.zeros(3)}]):
        with pytest.raises(DataError, match=text):
            estimate(robot, logs)


@pytest.mark.parametrize(
    "estimate", [cross_validate, identify_payload, friction_shape, sigmoid_friction]
)
def test_a_log_that_cannot_be_read_is_left_out_of_every_estimate(estimate):
    def lost():
        raise KeyError("tau")

    robot = random_arm(5, n=2)
    good = [recorded(robot, seed, duration=5.0) for seed in (0, 1)]
    with pytest.warns(DataWarning, match="a log is left out: number 2 raised KeyError: 'tau'"):
        found = estimate(robot, [good[0], lost, good[1]])
    assert repr(found) == repr(estimate(robot, good))
    for none in ([], [lost]):
        with (
            warnings.catch_warnings(action="ignore"),
            pytest.raises(DataError, match="there are no logs: expected one or more that can be"),
        ):
            estimate(robot, none)


def test_a_set_made_before_masses_were_known_is_one_of_the_robot():
    robot = random_arm(0)
    bare = robot.with_inertia(0 * robot.phi)
    parameters = armlet.minimal_parameters(bare, friction=True)
    found = armlet.identify(
        robot, recorded(robot, 0), model=TorqueModel(parameters=parameters), physical=False
    )
    assert found.regressor.robot is robot


@pytest.fixture
def two_arms(tmp_path):
    """Two planar arms on one base, with their joints in one order and in the other."""
    bodies = {"left1": ("base", 0.0, 3.0), "left2": ("of_left1", 0.4, 2.0)}
    bodies |= {"right1": ("base", 1.0, 1.0), "right2": ("of_right1", 0.3, 0.5)}
    text = 'name = "two"\nangles = "radians"\ngravity = [0, -9.81, 0]\n'
    for joint, (parent, x, mass) in bodies.items():
        text += (
            f'[[body]]\nname = "of_{joint}"\njoint = "{joint}"\nparent = "{parent}"\n'
            f"xyz = [{x}, 0, 0]\nrpy = [0, 0, 0]\naxis = [0, 0, 1]\nmass = {mass}\n"
            "com = [0.2, 0, 0]\ninertia = [0.01, 0, 0, 0.01, 0, 0.01]\n"
        )
    (tmp_path / "two.toml").write_text(text)
    order = ["right1", "right2", "left1", "left2"]
    return [armlet.load(tmp_path / "two.toml", **x) for x in ({}, {"order": order})]


def test_a_log_of_joints_in_another_order_is_put_in_that_of_the_robot(two_arms):
    one, other = two_arms
    log = recorded(one, 0, duration=8.0)
    wanted = replace(
        log, q=log.q[:, [2, 3, 0, 1]], tau=log.tau[:, [2, 3, 0, 1]], joints=other.joint_names
    )
    found, expected = (armlet.identify(other, x, physical=False) for x in (log, wanted))
    assert np.array_equal(found.values, expected.values)
    assert "order of the robot's joints: right1, right2, left1, left2" in found.notes[0]
    assert expected.notes == found.notes[1:]
    held = armlet.identify(other, wanted, physical=False, validation=[log])
    assert held.fits["validation, least squares"].whole == held.fits["least squares"].whole
    for a, b in zip(*(cross_validate(other, x, blocks=2) for x in (log, wanted)), strict=True):
        assert np.array_equal(a.joints, b.joints)
    light = other.with_inertia(0.5 * other.phi)
    loads = [identify_payload(light, x, frame="of_right2", physical=False) for x in (log, wanted)]
    assert loads[0].mass == loads[1].mass


def test_a_log_of_other_joints_is_refused(two_arms):
    log = recorded(two_arms[0], 0, duration=3.0)
    odd = replace(log, joints=("left1", "left2", "right1", "wrist"))
    payload = partial(identify_payload, frame="of_left2")
    for function in (armlet.identify, cross_validate, payload):
        with pytest.raises(DataError, match="'wrist': expected those of robot 'two', 'left1'"):
            function(two_arms[0], odd)
    with pytest.raises(DataError, match="log has 3 joints: expected the 4 of robot 'two'"):
        armlet.identify(two_arms[0], Log(log.t, log.q[:, :3], log.tau[:, :3]))
    plain = armlet.identify(two_arms[0], replace(odd, joints=()), physical=False)
    assert np.array_equal(plain.values, armlet.identify(two_arms[0], log, physical=False).values)


def test_options_of_physical_bodies_that_make_no_sense_are_refused(cvxpy):
    robot = random_arm(0)
    log = recorded(robot, 0, duration=3.0)
    unphysical = robot.phi.astype(float)
    unphysical[1, 9] *= -1
    for options, message in (
        ({"prior": "nonsense"}, "prior is 'nonsense': expected one of entropic, euclidean"),
        ({"strength": 0.0}, "strength is 0.0: expected a number, more than 0"),
        ({"strength": np.nan}, "strength is nan: expected a number, more than 0"),
        ({"strength": "much"}, "strength is 'much': expected a number, more than 0"),
        ({"bounds": {"m77": 1.0}}, "bounds has a bound of 'm77': expected a standard parameter, "),
        ({"bounds": {"m1": None}}, "the bound of 'm1' is None: expected a number"),
        ({"bounds": 3}, "bounds is 3: expected numbers by name"),
        ({"bodies": np.eye(3)}, r"bodies has shape \(3, 3\): expected shape \(3, 10\)"),
        ({"bodies": "none"}, r"bodies is 'none': expected shape \(3, 10\)"),
        ({"bodies": np.nan * unphysical}, "bodies is .*: expected finite numbers"),
        ({"bodies": unphysical}, "the body of joint 'joint2' in bodies= is not physical: expected"),
        ({"boxes": "near"}, "boxes is 'near': expected a margin in m"),
        ({"boxes": {"link2": 0.1}}, "the box of 'link2' is 0.1: expected two corners"),
    ):
        with pytest.raises(DataError, match=message):
            armlet.identify(robot, log, physical=Physical(**options))


def test_likely_bodies_and_corners_may_be_left_open(cvxpy):
    robot = random_arm(3, n=2)
    log = recorded(robot, 3, duration=8.0)
    bodies = robot.phi.astype(float) * [[1], [0]]
    box = (-np.inf, -np.inf, -0.02), (np.inf, np.inf, np.inf)
    physical = Physical(bodies=bodies, boxes={"link2": box})
    found = armlet.identify(robot, log, physical=physical)
    assert found.is_consistent
    assert centres_in(found, "link2")[2] > -0.02 - 1e-6


def test_a_motion_that_determines_too_little_is_reported():
    robot = random_arm(0)
    log = recorded(robot, 0)
    still = replace(log, q=log.q * [1, 0, 0])
    with pytest.warns(DataWarning, match=r"the motion determines \d+ of \d+ combinations"):
        armlet.identify(robot, still, physical=False)


# ------------------------------------------------------------------ recorded arms


@with_data
def test_the_panda_is_identified_better_than_published(arms, cvxpy):
    """Gaz et al. (2019): 43 + 21 parameters, error 1.41 %, condition number 121.9."""
    robot = arms["panda"].without_drives()
    log = panda_log()
    found = armlet.identify(robot, log)
    assert len(found.names) == 64
    assert found.fits["least squares"].whole < 0.95
    assert found.condition < 121.9
    assert found.fits["consistent"].whole < found.fits["least squares"].whole + 0.3
    assert found.is_consistent
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (10_000, 7))
    assert np.linalg.eigvalsh(found.robot.inertia_matrix(q)).min() > 0
    part = armlet.identify(robot, log, validation=0.4)
    assert part.fits["validation, least squares"].whole < 1.5
    assert part.fits["validation, consistent"].whole < 1.5


@with_data
def test_the_tx40_is_identified_as_well_as_known():
    """Motors with gears, a coupled wrist, and friction close to the reference."""
    robot, extra = tx40(), wrist()
    model = TorqueModel(rotors=True, extra=extra)
    found = armlet.identify(robot, tx40_log(), model=model, physical=False)
    assert len(found.names) == found.estimate.rank == 61
    assert found.fits["least squares"].whole < 5
    known = {
        "rotor_inertia": [0.362, 0.362, 0.0988, 0.0313, 0.0468, 0.0105],
        "viscous": [8.05, 5.53, 1.97, 1.11, 1.86, 0.65],
        "coulomb": [7.14, 8.26, 6.34, 2.48, 3.03, 0.282],
    }
    expected = {f"{kind}{i}": x for kind, values in known.items() for i, x in enumerate(values, 1)}
    expected |= {"Iam6": 0.00964, "fvm6": 0.616, "fsm6": 1.95}
    values = dict(zip(found.names, found.values, strict=True))
    good = [abs(values[name] - x) < 0.08 * x for name, x in expected.items() if name in values]
    assert len(good) == 19
    assert all(good)


# ------------------------------------------------------------------ the report


@pytest.fixture(scope="module")
def found():
    robot = random_arm(4)
    log = recorded(robot, 4)
    return armlet.identify(robot, replace(log, name="<run>"), physical=False, validation=0.3)


def test_the_report_has_everything_and_needs_no_network(found, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    found.report(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "All checks passed" in text
    assert "&lt;run&gt;" in text
    assert not re.search(r"""<(?:script|link)[^>]*(?:src|href)=["']https?:""", text)
    for name in found.names:
        assert f">{name}<" in text
    assert (tmp_path / "report.json").exists()


@pytest.mark.parametrize("name", ["report", "to_json"])
def test_a_report_stays_whole_when_the_disk_is_full(found, tmp_path, monkeypatch, name):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")

    def no_space(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "found.html"
    path.write_text("mine")
    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(armlet.ArmletError, match=r"found\.html: cannot be written: No space left"):
        getattr(found, name)(path)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_an_infinite_condition_number_is_null_in_json(found, tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    replace(found, condition=np.inf).to_json(tmp_path / "found.json")
    read = json.loads((tmp_path / "found.json").read_text(), parse_constant=refuse)
    assert read["condition"] is None


def test_a_report_is_no_json_file(found, tmp_path):
    with pytest.raises(DataError, match=r"report found\.json ends in '\.json', as its data do"):
        found.report(tmp_path / "found.json")


def test_the_verdict_says_what_is_wrong(found):
    assert verdict(found).startswith("All checks passed: torques of data held out are met to")
    bad = replace(found, condition=1e6)
    assert verdict(bad) == ("1 of 4 checks failed: the condition number is 1000000 (limit 1000).")


def test_the_verdict_is_that_of_the_worst_joint(found):
    name = f"validation, {found.solution}"
    fit = found.fits[name]._replace(joints=np.array([0.0, 0.0, 68.0]))
    assert verdict(replace(found, fits={**found.fits, name: fit})) == (
        "1 of 4 checks failed: torques of the worst joint, joint3, are met to 68.00 % (limit 20 %)."
    )


def test_a_joint_without_torque_does_not_fail_by_rounding():
    W, tau, x, _ = rows()
    exact = W @ x * [1, 1, 0] + 1e-14 * tau
    fit = Fit.of(Factors.of(W * [[1], [1], [0]], exact), x)
    assert fit.joints.max() < 1e-3


def test_predictions_are_those_of_the_arm_that_is_written(cvxpy):
    """Physical bodies that a bound keeps from what least squares gives."""
    robot = random_arm(3)
    found = armlet.identify(robot, recorded(robot, 3, duration=8.0), physical=Physical(boxes=0.0))
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 20, robot.nv))
    written = found.robot
    tau = written.inverse_dynamics(q, qd, qdd) + written.friction_torque(qd)
    scale = np.abs(tau).max()
    np.testing.assert_allclose(found.torques(q, qd, qdd), tau, atol=1e-6 * scale)
    np.testing.assert_allclose(found.predict(q, qd, qdd)[0], tau, atol=1e-6 * scale)
    free = found.regressor.robot_with(found.values)
    other = free.inverse_dynamics(q, qd, qdd) + free.friction_torque(qd)
    assert np.abs(other - tau).max() > 1e-2 * scale
    by_name = found.torques(q, qd, qdd, "least squares")
    np.testing.assert_allclose(by_name, other, atol=1e-6 * scale)
    (run,) = found.samples
    _, measured, predicted = found.compare(run)
    left = 100 * np.linalg.norm(measured - predicted) / np.linalg.norm(measured)
    assert left == pytest.approx(found.fits["consistent"].whole, rel=1e-3)
    with pytest.raises(DataError, match="solution is 'best': expected 'least squares' or 'consi"):
        found.torques(q, qd, qdd, "best")
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    curves = {trace.name: trace for trace in found.plot().data if trace.showlegend}
    others = "predicted, consistent", "residual", "predicted, least squares"
    assert (*curves,) == ("measured", *others)
    np.testing.assert_allclose(curves["predicted, consistent"].y, predicted[:1500, 0])
    assert curves["predicted, least squares"].visible == "legendonly"


def test_torques_are_predicted_for_one_state_and_for_any_leading_axes():
    """With friction, springs and further columns, of which one is an `armlet.function`."""
    robot = random_arm(2, n=2)
    cubic = armlet.function(robot)(lambda q: q**3)
    model = TorqueModel(friction=["viscous"], extra={"k": cubic, "c": lambda q, qd, qdd: qd**3})
    found = armlet.identify(robot, recorded(robot, 3, duration=8.0), model=model, physical=False)
    state = np.random.default_rng(0).uniform(-1, 1, (3, 2, 3, 2))
    rows = state.reshape(3, 6, 2)
    for all_states, by_row in (
        (found.torques(*state), found.torques(*rows)),
        *zip(found.predict(*state), found.predict(*rows), strict=True),
    ):
        assert all_states.shape == (2, 3, 2)
        np.testing.assert_allclose(all_states.reshape(6, 2), by_row, rtol=1e-12, atol=1e-12)
    one, deviations = found.predict(*rows[:, 4].tolist())
    np.testing.assert_allclose(one, found.torques(*rows)[4], rtol=1e-12, atol=1e-12)
    assert one.shape == deviations.shape == found.torques(*rows[:, 4].tolist()).shape == (2,)
    with pytest.raises(DataError, match=r"qdd has leading axes \(1,\), q has \(\)"):
        found.torques([0, 0], [0, 0], [[0, 0]])


def test_a_further_column_that_is_not_finite_is_named_with_its_first_state():
    robot = random_arm(2, n=2)
    log = recorded(robot, 3, duration=8.0)
    model = TorqueModel(extra={"k": lambda q, qd, qdd: np.where(q > 0.5, np.nan, q)})
    with pytest.raises(DataError, match=r"column 'k' is not finite, first at q = \[.*qdd = .*nan"):
        armlet.identify(robot, log, model=model, physical=False)


def test_a_browser_shows_the_report_without_errors(found, tmp_path):
    pytest.importorskip("plotly", reason="plotly is not installed: it is in the dev extra")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium is installed")
    (tmp_path / "report.html").write_text(page(found), encoding="utf-8")
    shown = subprocess.run(
        [
            browser,
            "--headless=old",
            "--no-sandbox",
            "--disable-gpu",
            "--no-zygote",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--virtual-time-budget=5000",
            "--dump-dom",
            f"file://{tmp_path / 'report.html'}",
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    if shown.returncode:
        pytest.skip(f"Chromium does not run here: {shown.stderr[-200:]}")
    assert "CONSOLE" not in shown.stderr
    assert shown.stdout.count("main-svg") >= 3
