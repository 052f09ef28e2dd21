"""Events: when they happen, in which direction, and what they end."""

import numpy as np
import pytest

import armlet
from armlet import Event, Trajectory
from armlet.errors import DataError


@pytest.fixture(scope="module")
def arm():
    return armlet.load("planar2r")


def passes(t, q, qd):
    return q[0] + 1.0


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_an_event_ends_the_simulation_where_its_function_is_zero(arm, method):
    run = armlet.simulate(arm, [0, 0], duration=1.0, method=method, events=[passes])
    assert run.q[-1, 0] == pytest.approx(-1, abs=1e-9)
    assert run.ended == f"'passes' at {run.t[-1]:g} s"
    assert np.all(np.diff(run.t) > 0)
    whole = armlet.simulate(arm, [0, 0], duration=1.0, method=method)
    np.testing.assert_array_equal(run.q[:-1], whole.q[: len(run) - 1])
    np.testing.assert_allclose(run.energy, 0, atol=1e-6)
    fine = armlet.simulate(arm, [0, 0], duration=1.0, dt=1e-4, events=[passes])
    assert run.t[-1] == pytest.approx(fine.t[-1], abs=1e-9)


def test_events_have_a_direction_and_may_let_the_simulation_go_on(arm):
    def height(t, q, qd):
        return q[0] + 1.5

    options = {"duration": 6.0, "method": armlet.Adaptive(rtol=1e-10)}
    both, rising, falling = (
        armlet.simulate(arm, [0, 0], events=[Event(height, d, ends=False)], **options)
        for d in (0, 1, -1)
    )
    times = [event.t for event in both.events]
    assert len(times) > 2
    assert times == sorted(times)
    assert times[0::2] == [event.t for event in falling.events]
    assert times[1::2] == [event.t for event in rising.events]
    assert both.ended == ""
    assert all(abs(event.q[0] + 1.5) < 1e-9 for event in both.events)
    assert all(event.qd[0] < 0 for event in falling.events)


def test_an_event_may_be_a_program_with_arguments(arm):
    @armlet.function(arm, level=())
    def depth(q, level):
        return arm.forward_kinematics(q)[1, 3] - level

    run = armlet.simulate(
        arm, [0, 0], duration=1.0, events=[depth], arguments={"level": -0.5}, record=[depth]
    )
    assert arm.forward_kinematics(run.q[-1])[1, 3] == pytest.approx(-0.5, abs=1e-9)
    assert run.recorded["depth"].shape == run.t.shape
    assert run.events[0].name == "depth"


@pytest.mark.parametrize("program", [False, True])
def test_an_event_may_be_a_condition(arm, program):
    def low(q):
        return q[0] < -0.3

    event = armlet.function(arm)(low) if program else lambda t, q, qd: low(q)
    options = {"duration": 1.0, "dt": 0.01}
    expected = armlet.simulate(arm, [0, 0], events=[Event(lambda t, q, qd: q[0] + 0.3)], **options)
    for direction, ends in ((0, True), (1, True), (-1, False)):
        run = armlet.simulate(arm, [0, 0], events=[Event(event, direction)], **options)
        assert bool(run.ended) == ends
        if ends:
            assert run.t[-1] == pytest.approx(expected.t[-1], abs=1e-9)


@pytest.mark.parametrize(("method", "python"), [("dop853", False), ("rk4", False), ("rk4", True)])
def test_held_torques_that_jump_at_the_end_of_a_step_do_not_move_an_event(arm, method, python):
    rows = np.array([[0, 0], [30, 0], [-60, 0]])

    def simulated(fine, **options):
        torque, dt = rows.repeat(fine, 0), 0.02 / fine
        applied = (lambda t, q, qd: rows[min(int(t / 0.02 + 1e-6), 2)]) if python else torque
        options |= {"duration": 0.06, "dt": dt, "method": method}
        return armlet.simulate(arm, [0.1, 0.2], torque=applied, **options)

    whole = simulated(20)
    level = whole.qd[30, 0]  # in the middle of the step before the torque reverses
    assert whole.qd[20, 0] < level < whole.qd[40, 0]
    coarse = simulated(1, events=[Event(lambda t, q, qd: qd[0] - level)])
    assert coarse.t[-1] == pytest.approx(0.03, abs=1e-5)
    np.testing.assert_allclose(simulated(1).at(whole.t).qd, whole.qd, atol=5e-3)


def test_numbers_that_are_zero_and_one_at_all_rows_are_no_condition(arm):
    for function in (lambda t, q, qd: 1 - t, armlet.function(arm)(lambda q, t: 1 - t)):
        run = armlet.simulate(arm, [0, 0], duration=1.0, dt=1.0, events=[Event(function)])
        assert run.t[-1] == 1.0


def test_nothing_counts_after_the_event_that_ends_a_simulation(arm):
    first = Event(lambda t, q, qd: t - 0.1, ends=False, name="first")
    last = Event(lambda t, q, qd: t - 0.25, name="last")
    never = Event(lambda t, q, qd: t - 0.3, ends=False, name="never")
    run = armlet.simulate(arm, [0, 0], duration=1.0, events=[never, last, first])
    assert [event.name for event in run.events] == ["first", "last"]
    assert run.t[-1] == pytest.approx(0.25, abs=1e-12)


def test_a_python_torque_is_asked_at_the_event(arm):
    run = armlet.simulate(
        arm, [0, 0], torque=lambda t, q, qd: [0.1 * t, 0], duration=1.0, events=[passes]
    )
    assert run.tau[-1, 0] == pytest.approx(0.1 * run.t[-1], rel=1e-12)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_events_come_back_from_a_file(arm, tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    run = armlet.simulate(arm, [0, 0], duration=1.0, events=[passes])
    getattr(run, f"to_{ending}")(tmp_path / f"run.{ending}")
    again = Trajectory.read(tmp_path / f"run.{ending}")
    assert again.ended == run.ended
    assert again.events[0].t == run.events[0].t
    np.testing.assert_array_equal(again.events[0].q, run.events[0].q)


def test_events_that_make_no_sense_are_refused(arm):
    with pytest.raises(DataError, match="the direction of event 'passes' is 2: expected 0, 1 or"):
        Event(passes, direction=2)
    with pytest.raises(DataError, match="an event's function is 3: expected a function"):
        Event(3)
    with pytest.raises(DataError, match=r"event 'two' has shape \(2,\): expected one number"):
        armlet.simulate(arm, [0, 0], duration=1.0, events=[Event(lambda t, q, qd: q, name="two")])


@pytest.mark.parametrize("method", ["dop853", "rk4"])
def test_events_do_not_depend_on_how_many_rows_are_kept(arm, method):
    def low(t, q, qd):
        return q[0] + 0.5

    options = {"duration": 2.0, "dt": 1e-2, "method": method}
    for ends in (True, False):
        runs = [
            armlet.simulate(arm, [0, 0], events=[armlet.Event(low, ends=ends)], every=k, **options)
            for k in (1, 7, 100)
        ]
        assert len(runs[0].events) > 0
        for run, every in zip(runs, (1, 7, 100), strict=True):
            assert [x.t for x in run.events] == [x.t for x in runs[0].events]
            assert np.array_equal(run.q[-1], runs[0].q[-1])
            last = len(runs[0]) - 1
            assert len(run) == len({*range(0, last + 1, every), last})


def test_limits_are_looked_at_in_every_dt(arm):
    """The fourth joint passes its limit, and is back before a row is kept."""
    limited = armlet.load("panda").without_drives()
    q, qd = np.array([0, 0, 0, -0.1, 0, 1.0, 0]), np.array([0, 0, 0, 1.0, 0, 0, 0])

    @armlet.function(limited)
    def pull(q, qd, t):
        wanted = -np.array([0, 0, 0, 10.0, 0, 0, 0])
        return limited.inverse_dynamics(q, qd, wanted)

    options = {"torque": pull, "duration": 0.5, "dt": 1e-2, "every": 50, "limits": "error"}
    with pytest.raises(armlet.MotionError, match=r"joint 'joint4' is at .* beyond") as caught:
        armlet.simulate(limited, q, qd, **options)
    assert len(caught.value.trajectory) == 1


def test_an_event_that_is_not_a_number_is_refused(arm):
    def root(t, q, qd):
        return np.nan if t > 0.5 else 1.0

    with pytest.raises(DataError, match=r"event 'root' is not a number at 0\.501 s: expected"):
        armlet.simulate(arm, [0, 0], duration=1.0, events=[root])
