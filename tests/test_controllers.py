"""Controllers: they are their formulas, and the arm does what they promise."""

import ctypes
import importlib.util
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.cases import cases

import armlet
from armlet import controllers
from armlet.errors import DataError, DataWarning, ModelError

EXAMPLES = Path(__file__).parents[1] / "examples"
CC = shutil.which("gcc") or shutil.which("clang")
robot = armlet.load("puma560")
planar = armlet.load("planar2r")
n = robot.nv
K, D = np.linspace(100, 50, n), np.linspace(20, 15, n)
STEPS = {"method": "rk4", "dt": 1e-3}
"""Fixed, so that a controller that is wrong ends too."""


def states(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, shape) for shape in shapes]


def example(name):
    """A file of the examples as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ------------------------------------------------------------------ feedback


@pytest.fixture(scope="module")
def pd():
    return controllers.pd_with_gravity(robot, K, D)


@pytest.fixture(scope="module")
def follow():
    return controllers.computed_torque(robot, K, D)


@pytest.fixture(scope="module")
def soft():
    return controllers.impedance(planar, stiffness=800, damping=80, joint_damping=5)


def test_pd_control_is_its_formula(pd):
    q, qd, target = states(n, n, n)
    expected = robot.gravity_torque(q) + K * (target - q) - D * qd
    np.testing.assert_allclose(pd(q, qd, target), expected, rtol=1e-12)


def test_pd_control_brings_each_of_many_arms_to_its_target():
    target, hold = states((16, 2))[0], controllers.pd_with_gravity(planar, 100, 30)
    found = armlet.rollout(
        planar,
        np.zeros((16, 2)),
        torque=hold,
        arguments={"target": target},
        dt=1e-3,
        steps=8000,
        every=8000,
    )
    np.testing.assert_allclose(found.q[-1], target, atol=1e-3)


def test_computed_torques_give_the_accelerations_they_promise(follow):
    q, qd, target, velocity, acceleration = states(n, n, n, n, n)
    tau = follow(q, qd, target, velocity, acceleration)
    expected = acceleration + K * (target - q) + D * (velocity - qd)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), expected, rtol=1e-10)


def test_errors_under_computed_torques_die_out_as_in_the_linear_equation():
    """With critical damping at the rate w they are e (1 + w t) exp(-w t), joint by joint."""
    w = np.array([4.0, 6.0])
    critical = controllers.computed_torque(planar, stiffness=w**2, damping=2 * w)

    @armlet.function(planar)
    def swing(q, qd, t):
        s, c = np.sin(3 * t), np.cos(3 * t)
        return critical(
            q, qd, np.array([s, c]), np.array([3 * c, -3 * s]), np.array([-9 * s, -9 * c])
        )

    start = np.array([0.3, 0.8])
    run = armlet.simulate(planar, start, [3.0, 0.0], swing, duration=2.0, **STEPS)
    error = np.stack([np.sin(3 * run.t), np.cos(3 * run.t)], axis=1) - run.q
    time = w * run.t[:, None]
    np.testing.assert_allclose(error, error[0] * (1 + time) * np.exp(-time), atol=1e-7)
    assert np.abs(error[0]).min() > 0.1


def test_an_impedance_is_its_formula(soft):
    q, qd, target = states(2, 2, 3)
    Jq, x = planar.jacobian(q)[3:], planar.forward_kinematics(q)[:3, 3]
    force = 800 * (target - x) - 80 * Jq @ qd
    expected = planar.gravity_torque(q) + Jq.T @ force - 5 * qd
    np.testing.assert_allclose(soft(q, qd, target), expected, rtol=1e-10)


def test_a_frame_gives_way_by_the_force_over_the_stiffness(soft):
    """A load that the controller knows nothing of lets the tool sink."""
    q = np.array([0.3, 1.2])
    given = {"target": planar.forward_kinematics(q)[:3, 3]}
    loaded = planar.with_payload(2.0, com=[0, 0, 0])
    run = armlet.simulate(loaded, q, torque=soft, arguments=given, duration=8.0, **STEPS)
    assert np.abs(run.qd[-1]).max() < 1e-4
    moved = planar.forward_kinematics(run.q[-1])[:3, 3] - given["target"]
    np.testing.assert_allclose(moved, [0, -2.0 * 9.81 / 800, 0], atol=1e-4)


def test_energy_only_leaves_the_springs_of_an_impedance(soft):
    """As much as the dampers take, joints and tool together."""
    q, target = np.array([0.3, 1.2]), np.array([1.2, 0.5, 0.0])
    given = {"target": target}
    run = armlet.simulate(planar, q, torque=soft, arguments=given, duration=1.0, **STEPS)
    error = target - planar.forward_kinematics(run.q)[:, :3, 3]
    energy = run.kinetic + 400 * (error**2).sum(1)
    velocity = planar.frame_velocity(run.q, run.qd)[:, 3:]
    power = 80 * (velocity**2).sum(1) + 5 * (run.qd**2).sum(1)
    taken = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(run.t))])
    np.testing.assert_allclose(energy, energy[0] - taken, atol=1e-3 * energy[0])
    assert energy[-1] < 0.3 * energy[0]


def test_an_impedance_with_six_stiffnesses_holds_the_orientation_too():
    springs = np.array([20, 30, 40, 500, 600, 700])
    hold = controllers.impedance(robot, springs, 0.2 * springs, "flange")
    q = np.array([0.3, -1.2, 1.5, -0.8, -1.2, 0.0])
    goal = q + np.array([0.2, 0.2, -0.3, 0.2, 0.2, 0.4])
    X, target = robot.forward_kinematics(q, "flange"), robot.forward_kinematics(goal, "flange")
    turn = Rotation.from_matrix(target[:3, :3] @ X[:3, :3].T).as_rotvec()
    angle = np.linalg.norm(turn)
    error = np.concatenate([turn * np.sin(angle) / angle, target[:3, 3] - X[:3, 3]])
    qd = states(n)[0]
    Jq = robot.jacobian(q, "flange")
    expected = robot.gravity_torque(q) + Jq.T @ (springs * (error - 0.2 * Jq @ qd))
    np.testing.assert_allclose(hold(q, qd, target), expected, rtol=1e-10)


# ------------------------------------------------------------------ regulators


def test_a_regulator_solves_riccati_s_equation_and_stabilises():
    q, Q, R = np.array([1.2, 0.5]), np.diag([10.0, 20, 1, 2]), np.array([[0.1, 0.02], [0.02, 0.3]])
    found = controllers.regulator(planar, q, state_cost=Q, torque_cost=R)
    A, B = planar.state_space(q, 0 * q, planar.gravity_torque(q))
    S = found.cost
    residual = A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T @ S) + Q
    assert np.abs(residual).max() < 1e-10 * np.abs(S @ A).max()
    np.testing.assert_allclose(found.gain, np.linalg.solve(R, B.T @ S), rtol=1e-9)
    assert np.linalg.eigvals(A).real.max() > 1
    assert np.linalg.eigvals(A - B @ found.gain).real.max() < 0
    x = states(4)[0]
    tau = found.torque(q + x[:2], x[2:])
    np.testing.assert_allclose(tau, planar.gravity_torque(q) - found.gain @ x, rtol=1e-12)


def test_its_cost_is_what_a_small_deviation_costs():
    q = np.array([np.pi / 2, 0.0])
    up = controllers.regulator(planar, q, state_cost=[10, 10, 1, 1], torque_cost=[0.1, 0.2])
    x = 1e-3 * states(4)[0]
    run = armlet.simulate(planar, q + x[:2], x[2:], up.torque, duration=20.0, **STEPS)
    dx = np.concatenate([run.q - q, run.qd], axis=1)
    du = run.tau - planar.gravity_torque(q)
    rate = (dx**2 * [10, 10, 1, 1]).sum(1) + (du**2 * [0.1, 0.2]).sum(1)
    cost = np.sum((rate[1:] + rate[:-1]) / 2 * np.diff(run.t))
    assert cost == pytest.approx(x @ up.cost @ x, rel=1e-3)


def test_a_regulator_of_held_torques_tends_to_the_continuous_one():
    given = {"state_cost": 1, "torque_cost": 0.1}
    smooth = controllers.regulator(planar, [1.0, 0.5], **given).gain
    apart = [
        np.abs(controllers.regulator(planar, [1.0, 0.5], dt=dt, **given).gain - smooth).max()
        for dt in (2e-3, 1e-3)
    ]
    assert apart[0] / apart[1] == pytest.approx(2, rel=0.05)
    assert apart[1] < 0.05 * np.abs(smooth).max()


def test_one_motor_balances_two_links():
    for driven, idle in (("joint1", 1), ("joint2", 0)):
        q = np.array([np.pi / 2, 0.0])
        up = controllers.regulator(planar, q, state_cost=1, torque_cost=1, driven=[driven])
        start = q + np.array([0.02, -0.01])
        run = armlet.simulate(planar, start, torque=up.torque, duration=15.0, **STEPS)
        np.testing.assert_allclose(run.q[-1], q, atol=1e-3)
        assert np.all(run.tau[:, idle] == planar.gravity_torque(q)[idle])
        fallen = armlet.simulate(planar, start, duration=2.0, **STEPS)
        assert np.abs(fallen.q - q).max() > 1


@pytest.mark.parametrize("duration", cases([10.0], long=[60.0]))
def test_the_panda_stays_up_with_noise_and_falls_without_control(duration):
    balance = example("balance")
    runs = balance.simulate(duration)
    assert runs.balanced.t[-1] == pytest.approx(duration)
    assert np.abs(runs.balanced.q - runs.posture).max() < 0.05
    height, fallen = balance.heights(runs.balanced), balance.heights(runs.falling)
    assert height.min() > 0.99 * height[0]
    assert fallen.min() < 0.2 * height[0]
    assert np.array_equal(runs.balanced.q[0], runs.falling.q[0])


def test_a_tracker_at_rest_has_the_gains_of_a_regulator():
    rows = np.tile([1.0, 0.5], (50, 1))
    given = {"state_cost": [10, 20, 1, 2], "torque_cost": [0.1, 0.3], "dt": 0.01}
    rest = controllers.tracker(planar, rows, 0 * rows, 0 * rows, **given)
    one = controllers.regulator(planar, rows[0], **given)
    np.testing.assert_allclose(rest.arguments["gain"][0], one.gain, rtol=1e-8)
    np.testing.assert_allclose(rest.arguments["gain"][-1], one.gain, rtol=1e-8)
    np.testing.assert_allclose(rest.cost[0], one.cost, rtol=1e-8)


def test_no_torques_cost_less_than_a_tracker_s():
    """In the linear models of a few steps, by solving for all torques at the same time."""
    dt, steps = 0.05, 6
    t = dt * np.arange(steps + 1)[:, None]
    motion = np.sin(2 * t) * [1, 2], 2 * np.cos(2 * t) * [1, 2], -4 * np.sin(2 * t) * [1, 2]
    Q, R, S = np.diag([10, 20, 1, 2]), np.diag([0.1, 0.3]), np.diag([5.0, 6, 7, 8])
    found = controllers.tracker(planar, *motion, dt=dt, state_cost=Q, torque_cost=R, end_cost=S)
    A, B = planar.state_space(motion[0], motion[1], planar.inverse_dynamics(*motion))
    x, free, forced = np.array([0.1, -0.2, 0.3, 0.4]), [], []
    M, G = np.eye(4), np.zeros((4, 2 * steps))
    for k in range(steps):
        free.append(M), forced.append(G)
        held = _expm(np.block([[A[k], B[k]], [np.zeros((2, 6))]]) * dt)
        M, G = held[:4, :4] @ M, held[:4, :4] @ G
        G[:, 2 * k : 2 * k + 2] += held[:4, 4:]
    weights = [Q * dt] * steps + [S]
    free.append(M), forced.append(G)
    H = np.kron(np.eye(steps), R * dt) + sum(
        g.T @ w @ g for g, w in zip(forced, weights, strict=True)
    )
    slope = sum(g.T @ w @ m @ x for g, w, m in zip(forced, weights, free, strict=True))
    best = np.linalg.solve(H, -slope)[:2]
    np.testing.assert_allclose(-found.arguments["gain"][0] @ x, best, rtol=1e-9)


def _expm(M):
    """The exponential of a small matrix by its series."""
    found = term = np.eye(len(M))
    for k in range(1, 40):
        term = term @ M / k
        found = found + term
    return found


@pytest.mark.long
def test_a_tracker_keeps_a_loaded_arm_on_its_path_and_feed_forward_does_not():
    track = example("track")
    runs = track.simulate()
    tracked = track.distances(runs, runs.tracked)
    alone = track.distances(runs, runs.feedforward)
    assert tracked.max() < 0.02
    assert alone.max() > 50 * tracked.max()


# ------------------------------------------------------------------ sampling


@pytest.fixture(scope="module")
def cost():
    @armlet.function(planar, goal=2)
    def cost(q, qd, goal):
        return ((q - goal) ** 2).sum() + 0.02 * (qd**2).sum()

    return cost


def sampler(cost, robot=planar, **options):
    given = {"dt": 0.02, "steps": 25, "noise": 20, "temperature": 0.5, "seed": 0, "samples": 64}
    return controllers.Sampler(robot, cost, **{**given, **options})


def test_a_plan_becomes_the_weighted_mean_of_those_tried_out(cost):
    found = sampler(cost, noise=[20, 5])
    start, goal = np.array([0.2, -0.1]), np.array([1.0, 0.5])
    changes = np.random.default_rng(0).standard_normal((25, 64, 2)) * [20, 5]
    changes[:, 0] = 0
    tau = found(start, [0, 0], goal=goal)
    costs = []
    for k in range(64):
        q, qd, total = start, np.zeros(2), 0.0
        for u in changes[:, k]:
            total += cost.__wrapped__(q, qd, goal)
            qd = qd + 0.02 * planar.forward_dynamics(q, qd, planar.gravity_torque(q) + u)
            q = q + 0.02 * qd
        costs.append(total)
    np.testing.assert_allclose(found.costs, costs, rtol=1e-10)
    weights = np.exp(-(np.array(costs) - min(costs)) / 0.5)
    plan = (weights[:, None] * changes).sum(1) / weights.sum()
    np.testing.assert_allclose(tau, planar.gravity_torque(start) + plan[0], rtol=1e-9)
    np.testing.assert_allclose(found.plan, plan[[*range(1, 25), 24]], rtol=1e-9)


def test_steps_of_a_sampler_that_are_too_long_for_friction_are_reported(cost):
    plant = armlet.Plant(planar, armlet.Friction(velocity=1e-3, stribeck=50))
    found = sampler(cost, plant, method="rk4")
    with pytest.warns(DataWarning, match="time constant of friction"):
        found([0, 0], [0, 0], goal=[1, 1])


def test_changes_have_the_deviation_and_correlation_that_are_given(cost):
    changes = sampler(cost, samples=20000, correlation=0.8, noise=[3, 1])._changes()
    np.testing.assert_allclose(changes.std(axis=1), np.tile([3, 1], (25, 1)), rtol=0.05)
    pairs = np.corrcoef(changes[10, :, 0], changes[11, :, 0])[0, 1]
    assert pairs == pytest.approx(0.8, abs=0.02)
    assert not changes[:, 0].any()


def test_a_plan_may_be_of_something_else_than_torques(cost):
    """Of targets for a controller of its own, say."""
    pd = controllers.pd_with_gravity(planar, 20, 2)

    @armlet.function(planar, plan=2, about=2)
    def towards(q, qd, plan, about):
        return pd(q, qd, plan + about)

    found = sampler(cost, torque=towards, noise=0.3)
    tau = found([0, 0], [0, 0], goal=[0.3, 0.3], about=[0.1, 0.1])
    assert tau.shape == (2,)
    assert found.plan.shape == (25, 2)


def test_an_arm_is_brought_to_its_goal_by_sampling(cost):
    found, goal = (
        sampler(cost, noise=[10, 3], temperature=0.2, samples=512, correlation=0.8),
        [1.0, 0.5],
    )

    def torque(t, q, qd):
        return found(q, qd, goal=goal)

    run = armlet.simulate(planar, [0, 0], torque=torque, duration=2.0, dt=0.02, method="rk4")
    assert np.abs(run.q[-20:] - np.array(goal)).max() < 0.15


@pytest.mark.long
def test_the_panda_reaches_around_a_ball_by_sampling():
    reach = example("reach_by_sampling")
    found = reach.simulate(samples=256, duration=1.5)
    to_goal, to_ball = reach.distances(found.run)
    assert to_goal[0] > 0.9
    assert to_goal[-20:].max() < 0.06
    assert to_ball.min() > reach.RADIUS


def test_plans_of_which_none_is_finite_are_refused():
    @armlet.function(planar)
    def infinite(q):
        return (1 / np.maximum(q - 10, 0)).sum()

    with pytest.raises(DataError, match=r"no plan of 64 has a finite cost from q = \[0.1, 0.2\]"):
        sampler(infinite)([0.1, 0.2], [0, 0])


def test_plans_that_diverge_have_no_weight_and_are_no_news():
    @armlet.function(planar, plan=2)
    def wild(qd, plan):
        return plan * qd**3

    @armlet.function(planar)
    def cost(q):
        return q @ q

    found = sampler(cost, torque=wild, noise=1e3)
    assert np.isfinite(found([0.1, 0.2], [3, 3])).all()
    assert np.isinf(found.costs).any()
    assert np.isfinite(found.plan).all()


# ------------------------------------------------------------------ examples


@pytest.mark.long
@pytest.mark.parametrize("name", ["balance", "track", "reach_page"])
def test_an_example_prints_figures_and_writes_a_page(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip("plotly", reason="plotly is not installed")
    monkeypatch.setattr("sys.argv", [name, "--plot", str(tmp_path / "page.html")])
    example(name).main()
    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert (tmp_path / "page.html").stat().st_size > 1e5


# ------------------------------------------------------------------ programs


@pytest.mark.skipif(CC is None, reason="no C compiler is here")
def test_controllers_are_printed_as_c(pd, follow, soft, tmp_path):
    up = controllers.regulator(planar, [1.0, 0.5], state_cost=1, torque_cost=1).torque
    functions = (pd, follow, soft, up)
    for k, f in enumerate(functions):
        (tmp_path / f"{k}.c").write_text(f.source("c"))
    command = [CC, "-O1", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    sources = [f"{k}.c" for k in range(len(functions))]
    subprocess.run([*command, *sources, "-lm", "-o", "it.so"], cwd=tmp_path, check=True)
    library = ctypes.CDLL(str(tmp_path / "it.so"))
    for f in functions:
        given = states(*(x.shape for x in f.inputs.values()))
        expected = f(*given)
        tau = np.empty_like(expected)
        arrays = [x.ctypes.data_as(ctypes.c_void_p) for x in (*given, tau)]
        getattr(library, f.__name__)(*arrays)
        np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)


# ------------------------------------------------------------------ bad arguments

POSTURE = np.array([1.0, 0.5])
ROWS = np.zeros((10, 2))
COSTS = {"state_cost": 1, "torque_cost": 1}


def regulated(**options):
    return controllers.regulator(planar, POSTURE, **{**COSTS, **options})


WRONG = {
    "gains": (
        lambda: controllers.pd_with_gravity(robot, np.ones(5), 1),
        r"stiffness has shape \(5,\): expected one number, or 6",
    ),
    "negative": (
        lambda: controllers.computed_torque(robot, 1, -1.0),
        r"damping is -1\.0: expected finite numbers, 0 or more",
    ),
    "nan": (
        lambda: controllers.pd_with_gravity(robot, np.nan, 1),
        "stiffness is nan: expected finite numbers",
    ),
    "text": (
        lambda: controllers.pd_with_gravity(robot, "stiff", 1),
        "stiffness is 'stiff': expected one number, or 6",
    ),
    "axes": (
        lambda: controllers.impedance(robot, np.ones(4), 1),
        r"stiffness has shape \(4,\): expected one number, or 3 or 6",
    ),
    "dampers": (
        lambda: controllers.impedance(robot, np.ones(6), np.ones(3)),
        r"damping has shape \(3,\): expected one number, or 6",
    ),
    "posture": (
        lambda: controllers.regulator(planar, [0.0], **COSTS),
        r"q has shape \(1,\): expected 2 numbers",
    ),
    "weights": (
        lambda: regulated(state_cost=np.ones(3)),
        r"state_cost has shape \(3,\): expected one number, 4, or a matrix of shape \(4,",
    ),
    "indefinite": (
        lambda: regulated(state_cost=[1, 1, 1, -1]),
        "state_cost is not a symmetric, positive semidefinite matrix",
    ),
    "free torques": (
        lambda: regulated(torque_cost=0),
        "torque_cost is not a symmetric, positive definite matrix",
    ),
    "blind": (
        lambda: controllers.regulator(planar, [-np.pi / 2, 0], state_cost=0, torque_cost=1),
        "no regulator has a finite cost",
    ),
    "balance": (
        lambda: regulated(driven=["joint1"]),
        "not in balance: joint 'joint2' has no drive, and its gravity torque is",
    ),
    "time": (lambda: regulated(dt=0.0), "dt is 0.0: expected a length of time"),
    "motion": (
        lambda: controllers.tracker(planar, ROWS, ROWS[:5], ROWS, dt=0.1, **COSTS),
        r"qd has shape \(5, 2\): expected shape \(10, 2\)",
    ),
    "one row": (
        lambda: controllers.tracker(planar, ROWS[:1], ROWS[:1], ROWS[:1], dt=0.1, **COSTS),
        "q has 1 rows: expected 2 or more",
    ),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_what_makes_no_sense_is_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_names_that_do_not_exist_are_refused():
    with pytest.raises(ModelError, match="has no frame 'hand': name one of"):
        controllers.impedance(robot, 1, 1, "hand")
    with pytest.raises(ModelError, match="no joint is called 'elbow': expected some of joint1"):
        controllers.regulator(planar, POSTURE, driven=["elbow"], **COSTS)


def test_a_sampler_that_makes_no_sense_is_refused(cost):
    @armlet.function(planar)
    def two(q):
        return q

    for options, message in (
        ({"samples": 1}, "samples is 1: expected a whole number, 2 or more"),
        ({"temperature": 0.0}, r"temperature is 0\.0: expected a number, more than 0"),
        ({"correlation": 1.0}, r"correlation is 1\.0: expected a number, 0 or more, less than 1"),
        ({"noise": np.ones(3)}, r"noise has shape \(3,\): expected one number, or 2"),
        ({"torque": two}, r"has no argument plan of shape \(m,\)"),
        ({"steps": 0}, "steps is 0: expected a whole number, 1 or more"),
        ({"threads": -1}, "threads is -1: expected a whole number, 1 or more"),
    ):
        with pytest.raises(DataError, match=message):
            sampler(cost, **options)
    with pytest.raises(DataError, match=r"returns shapes \[\(2,\)\]: expected one number"):
        sampler(two)
    with pytest.raises(DataError, match=r"cost is <function .*expected a function under"):
        sampler(lambda q: q)
    with pytest.raises(DataError, match="argument 'goal' without a value"):
        sampler(cost)([0, 0], [0, 0])
    with pytest.raises(DataError, match="plan is an argument: expected others"):
        sampler(cost)([0, 0], [0, 0], goal=[0, 0], plan=np.zeros(2))
