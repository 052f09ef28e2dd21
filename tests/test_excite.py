"""Exciting motions: derivatives, limits, rest at both ends, and how well they identify."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import armlet
from armlet import MotionLimits
from armlet._support.blas import single_blas_thread
from armlet.identification import (
    cross_validate,
    friction_shape,
    identify_payload,
    sigmoid_friction,
)
from armlet.identification.excitation import problem as problem_module
from armlet.identification.excitation.excite import Candidate
from armlet.identification.excitation.limits import State, limits_of
from armlet.identification.excitation.problem import (
    CRITERIA,
    Fourier,
    Problem,
    Regressor,
    Splines,
)
from armlet.robot import Drive, Spring

ARM = replace(armlet.load("planar3r"), drives=(Drive(0, 0.5, 5.0, 0.1),) * 3)
LIMITS = MotionLimits(position=(-2.0, 2.0), speed=3.0, acceleration=12.0, torque=45.0)
ABOVE = replace(LIMITS, tool_box=((-np.inf, -0.5, -1), (np.inf, np.inf, 1)))
"""With a plane that the tool stays above."""


@pytest.fixture(scope="module")
def plan():
    return armlet.excite(ARM, 5.0, limits=ABOVE, starts=2)


def problem(path):
    ranges, _ = ABOVE.of_robot(ARM)
    regressor = Regressor(ARM, None, False, True, ranges["speed"].upper)
    return Problem(path, regressor, limits_of(ARM, ranges), ranges["position"])


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("path", [Fourier(5.0, 4), Splines(5.0, 6)], ids=["fourier", "splines"])
def test_the_gradient_is_that_of_central_differences(criterion, path):
    """Beyond the limits, too, where barriers are parabolas."""
    asked = problem(path)
    rng = np.random.default_rng(0)
    for size in (0.05, 0.5):
        x = size * rng.normal(size=asked.shape).ravel()
        along = rng.normal(size=x.shape)

        def value(x):
            return asked.objective(x, CRITERIA[criterion], 4, 1e-2)[0]

        h = 1e-5
        derivative = (value(x + h * along) - value(x - h * along)) / (2 * h)
        gradient = asked.objective(x, CRITERIA[criterion], 4, 1e-2)[1]
        size = np.linalg.norm(gradient) * np.linalg.norm(along)
        assert gradient @ along == pytest.approx(derivative, abs=2e-5 * size)


@pytest.mark.parametrize("path", [Fourier(3.0, 5), Splines(3.0, 7)], ids=["fourier", "splines"])
def test_every_path_is_at_rest_at_both_ends_and_has_its_own_derivatives(path):
    coefficients = path.free @ np.random.default_rng(1).normal(size=(path.free.shape[1], 2))
    ends = path.motion(coefficients, np.array([0.0, path.duration]))
    assert not ends[1].any()
    np.testing.assert_allclose(ends[2], 0, atol=1e-9)
    t, h = np.linspace(0.1, 2.9, 50), 1e-5
    q, qd, qdd = path.motion(coefficients, t)
    after, before = path.motion(coefficients, t + h), path.motion(coefficients, t - h)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), qd, atol=1e-6)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), qdd, atol=1e-6)
    still = path.motion(path.free @ path.still[:, None], t)
    np.testing.assert_allclose(still[0], 1, atol=1e-12)
    assert np.ptp(q, axis=0).min() > 0.1


def test_all_limits_hold_at_1_khz(plan):
    run = plan.at(np.arange(0, 5001) / 1000)
    tool = ARM.forward_kinematics(run.q)[:, :3, 3]
    assert np.abs(run.q).max() <= 2
    assert np.abs(run.qd).max() <= 3
    assert np.abs(run.qdd).max() <= 12
    assert np.abs(run.tau).max() <= 45
    assert tool[:, 1].min() >= -0.5
    assert all((margin >= 0).all() for margin in plan.margins.values())
    assert min(x.min() for x in plan.margins.values()) < 0.1  # and the room there is, is used


def test_a_motion_that_cannot_be_put_right_is_made_smaller(monkeypatch):
    """Without further rounds of the search, limits broken between its times are met so."""
    monkeypatch.setattr(sys.modules["armlet.identification.excitation.excite"], "ROUNDS", 0)
    plan = armlet.excite(ARM, 5.0, limits=LIMITS, starts=1)
    assert min(x.min() for x in plan.margins.values()) >= 0


def test_the_arm_is_at_rest_at_both_ends(plan):
    assert not plan.qd[[0, -1]].any()
    np.testing.assert_allclose(plan.qdd[[0, -1]], 0, atol=1e-9)


def test_the_condition_number_is_that_of_the_regressor(plan):
    W = ARM.regressor(plan.q, plan.qd, plan.qdd, friction=True).reshape(-1, len(plan.parameters))
    values = np.linalg.svd(W, compute_uv=False)
    assert plan.condition == pytest.approx(values[0] / values[-1], rel=1e-9)
    assert plan.log_det == pytest.approx(np.log(values**2 / len(plan.t)).sum(), rel=1e-9)


def test_it_is_better_than_random_motions_within_the_same_limits(plan):
    asked, rng = problem(plan.path), np.random.default_rng(0)
    random = [Candidate(asked, "condition", rng) for _ in range(20)]
    best = min(asked.regressor.score(asked.state(x.x)).condition for x in random)
    assert plan.condition < 0.5 * best


def test_the_same_seed_gives_the_same_bits():
    first, second, other = (
        armlet.excite(ARM, 4.0, limits=LIMITS, harmonics=3, starts=1, rate=50, seed=k)
        for k in (1, 1, 2)
    )
    assert np.array_equal(first.q, second.q)
    assert not np.array_equal(first.q, other.q)


def test_each_criterion_wins_by_its_own_measure(plan):
    other = armlet.excite(ARM, 5.0, criterion="log_det", limits=ABOVE, starts=1, rate=100)
    assert plan.condition < other.condition
    assert plan.log_det < other.log_det


def test_splines_and_sets_of_parameters_are_taken():
    found = armlet.minimal_parameters(ARM, kind="khalil_gautier")
    plan = armlet.excite(ARM, 5.0, limits=LIMITS, splines=6, parameters=found, starts=1, rate=100)
    assert plan.parameters is found
    assert plan.coefficients.shape == (10, 3)
    assert not plan.qd[[0, -1]].any()
    W = ARM.regressor(plan.q, plan.qd, plan.qdd, parameters=found).reshape(-1, len(found))
    assert plan.condition == pytest.approx(np.linalg.cond(W), rel=1e-9)


def test_a_motion_is_evaluated_at_any_time_and_read_again_from_files(plan, tmp_path):
    np.testing.assert_allclose(plan.at(plan.t[10:20]).tau, plan.tau[10:20], atol=1e-12)
    with pytest.raises(armlet.DataError, match="0 to 5 s"):
        plan.at([5.1])
    for ending in ("npz", "csv", "parquet"):
        if ending == "parquet":
            pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
        path = tmp_path / f"plan.{ending}"
        getattr(plan, f"to_{ending}")(path)
        for kind in (armlet.Trajectory, armlet.Excitation):
            assert np.array_equal(kind.read(path).q, plan.q)


def test_friction_is_part_of_the_torques_that_are_limited(plan):
    """Gravity leaves so little that Coulomb friction would break the limit were it left out."""
    rigid = ARM.inverse_dynamics(plan.q, plan.qd, plan.qdd)
    np.testing.assert_allclose(plan.tau, rigid + ARM.friction_torque(plan.qd), atol=1e-12)
    assert 35 < np.abs(rigid).max() < 45
    assert np.abs(plan.tau).max() <= 45


def test_springs_are_part_of_the_torques_that_are_limited():
    sprung = replace(ARM, springs=(Spring(30.0, 1.5),) * 3)
    plan = armlet.excite(sprung, 5.0, limits=replace(LIMITS, torque=90.0), starts=1)
    rigid = ARM.inverse_dynamics(plan.q, plan.qd, plan.qdd) + ARM.friction_torque(plan.qd)
    np.testing.assert_allclose(plan.tau, rigid + 30.0 * (plan.q - 1.5), atol=1e-9)
    assert np.abs(plan.tau).max() <= 90


def interrupt_after(monkeypatch, calls):
    """Press Ctrl-C at this call of the objective; the list has an entry for each call since."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's & turns it off
    original = Problem.objective
    count, since = 0, []

    def objective(self, *args):
        nonlocal count
        count += 1
        if count == calls:
            signal.raise_signal(signal.SIGINT)
        if count > calls:
            since.append(args)
        return original(self, *args)

    monkeypatch.setattr(Problem, "objective", objective)
    return since


@pytest.mark.parametrize("calls", [3, 40, 300])
def test_ctrl_c_returns_the_best_so_far_within_all_limits(monkeypatch, calls):
    since = interrupt_after(monkeypatch, calls)
    plan = armlet.excite(ARM, 5.0, limits=ABOVE)
    assert plan.ended.startswith("interrupted at ")
    assert "interrupted" in repr(plan)
    assert all((margin >= 0).all() for margin in plan.margins.values())
    assert len(since) <= 4  # how good each start is, and no more search


def blas_threads():
    return {x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"}


def test_blas_has_one_thread_within_and_as_many_as_before_after_the_last_call():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with single_blas_thread:
            assert blas_threads() == {1}
            single_blas_thread(lambda: None)()
            assert blas_threads() == {1}
        assert blas_threads() == before


ESTIMATIONS = (
    *(armlet.identify, cross_validate, identify_payload),
    *(friction_shape, sigmoid_friction),
)


@pytest.mark.parametrize("function", ESTIMATIONS, ids=lambda x: x.__name__)
def test_an_estimation_uses_one_blas_thread(function):
    def logs():
        seen.update(blas_threads())
        raise KeyError("the log")
        yield

    seen = set()
    with threadpool_limits(2, user_api="blas"), pytest.raises(KeyError, match="the log"):
        function(ARM, logs())
    assert seen == {1}


def test_excite_uses_one_blas_thread(monkeypatch):
    def objective(*args):
        raise KeyError(*blas_threads())

    monkeypatch.setattr(Problem, "objective", objective)
    with threadpool_limits(2, user_api="blas"), pytest.raises(KeyError, match="1"):
        armlet.excite(ARM, 5.0, limits=ABOVE, starts=1)


def test_joints_without_limits_of_position_are_kept_within_a_turn_and_that_is_said():
    ranges, notes = MotionLimits(speed=3.0, margin=0.0).of_robot(ARM)
    assert (ranges["position"].upper == np.pi).all()
    assert notes[0] == "joint1, joint2, joint3 without limits of position: kept within -π to π"
    assert notes[1].startswith("accelerations are not limited")
    assert notes[2].startswith("torques are not limited")


def test_a_robots_own_limits_are_used_less_a_margin():
    panda = armlet.load("panda")
    ranges, _ = MotionLimits(position=(None, 0.5), margin=0.1).of_robot(panda)
    limits = panda.joints[0].limits
    assert ranges["position"].lower[0] == pytest.approx(0.9 * limits.lower)
    assert ranges["position"].upper[0] == 0.5
    assert ranges["speed"].upper[0] == pytest.approx(0.9 * limits.velocity)
    assert ranges["torque"].lower[0] == pytest.approx(-0.9 * limits.effort)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "'planar3r' has no limit of velocity for joint1, joint2, joint3: expected speed="),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"criterion": "beauty"}, "criterion is 'beauty': expected one of condition, log_det"),
        ({"harmonics": 1}, "harmonics is 1: expected a whole number, 2 or more"),
        ({"harmonics": 3, "splines": 9}, "expected one of them"),
        ({"starts": 0}, "starts is 0"),
        ({"limits": {"speed": 1.0}}, "limits is .*: expected an armlet.MotionLimits"),
        ({"rate": 0.0}, "rate is 0.0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(armlet.DataError, match=message):
        armlet.excite(ARM, **options)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"speed": [1, 2]}, r"speed has shape \(2,\): expected a number or 3 numbers"),
        ({"speed": -1}, "speed is -1: expected numbers, more than 0"),
        ({"position": (1, -1), "speed": 1}, "from 1 to -1 at entry 0"),
        ({"position": 3.0, "speed": 1}, r"expected a pair, \(lower, upper\)"),
        ({"margin": 1.0}, "margin is 1.0"),
        ({"speed": 1, "tool_box": ((5, 5, -1), (6, 6, 1))}, "for [xy] of the tool, expected 5 to"),
        ({"speed": 1, "torque": 6, "position": (-0.1, 0.1)}, "for torque of joint1, expected"),
    ],
)
def test_limits_that_cannot_be_met_are_named(limits, message):
    with pytest.raises(armlet.DataError, match=message):
        armlet.excite(ARM, limits=MotionLimits(**limits))


def test_friction_beyond_the_limit_of_torque_is_refused():
    with pytest.raises(armlet.DataError, match="Coulomb friction of joint1 is 5: expected less"):
        armlet.excite(ARM, limits=replace(LIMITS, torque=[4, 20, 20]))


def test_a_prismatic_joint_without_limits_is_asked_about():
    with pytest.raises(armlet.DataError, match="no limits of position for joint3"):
        armlet.excite(armlet.load("stanford"), limits=MotionLimits(speed=1.0))


def test_torques_of_an_arm_without_masses_are_not_limited():
    plan = armlet.excite(
        ARM.with_inertia(0 * ARM.phi), 5.0, limits=LIMITS, harmonics=2, starts=1, rate=50
    )
    assert "torque" not in plan.limits
    assert np.isnan(plan.tau).all()
    assert plan.condition < 100
    assert any("no masses" in note for note in plan.notes)


def test_the_figure_has_a_panel_for_every_joint_and_draws_the_limits(plan):
    pytest.importorskip("plotly", reason="figures need plotly")
    figure = plan.plot()
    assert len(figure.data) == 4 * 3 + 3
    assert len(figure.layout.shapes) == 2 * 4 * 3 + 3
    assert "limits" in plan._repr_html_()


def test_the_command_writes_a_file_and_prints_json(tmp_path):
    out = tmp_path / "path.csv"
    command = [
        sys.executable,
        "-m",
        "armlet",
        "excite",
        "planar3r",
        "--duration",
        "4",
        "--harmonics",
        "3",
        "--lower=-2",
        "--upper",
        "2,2,1",
        "--speed",
        "3",
        "--starts",
        "1",
        "--rate",
        "100",
        "--out",
        str(out),
        "--json",
    ]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert printed["condition"] < 100
    assert printed["limits"]["position"] == [[-2, -2, -2], [2, 2, 1]]
    assert min(printed["margins"]["speed"]) >= 0
    assert len(armlet.Trajectory.read(out)) == 401


def test_slack_is_one_in_the_middle_and_zero_at_the_limits():
    ranges, _ = LIMITS.of_robot(ARM)
    speed = limits_of(ARM, ranges)[1]
    rows = np.array([[0.0, 0, 0], [3, 0, 0], [-6, 0, 0]])
    slack = speed.slack(State(rows, rows, rows)).min(axis=1)
    np.testing.assert_allclose(slack, [1, 0, -1])


def test_many_rows_have_the_condition_number_of_few(monkeypatch, plan):
    monkeypatch.setattr(problem_module, "ROWS", 7)
    state = State(plan.q[::50], plan.qd[::50], plan.qdd[::50])
    regressor = Regressor(ARM, None, False, True, np.full(3, 3.0))
    W = ARM.regressor(*state, friction=True).reshape(-1, len(plan.parameters))
    assert regressor.score(state).condition == pytest.approx(np.linalg.cond(W), rel=1e-9)


@pytest.mark.long
def test_a_panda_is_excited_to_a_condition_number_of_50_at_most():
    """The published motion has 121.9 (Gaz et al. 2019)."""
    panda = armlet.load("panda")
    limits = MotionLimits(acceleration=[15, 7.5, 10, 12.5, 15, 20, 20])
    plan = armlet.excite(panda, 20.0, harmonics=5, limits=limits)
    assert len(plan.parameters) == 64
    assert plan.condition <= 50
    for name, array in (("velocity", plan.qd), ("effort", plan.tau)):
        most = np.array([getattr(joint.limits, name) for joint in panda.joints])
        assert (np.abs(array) <= most).all()
    assert all((margin >= 0).all() for margin in plan.margins.values())
