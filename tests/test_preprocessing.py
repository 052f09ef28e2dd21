"""Preprocessing: resampling, filters without phase, derivatives, decimation, and their choices."""

import json
import re

import numpy as np
import pytest
from recorded_arms import wrist
from support.datasets import panda_log, recorded, tx40, tx40_log

import armlet
from armlet import DataError, Log, Preprocessing
from armlet.identification import preprocess
from armlet.identification.filters import (
    decimate,
    lowpass,
    motion_frequencies,
    spectrum,
)

RATE = 500.0
W = 2 * np.pi * np.array([[0.2, 0.5], [0.3, 0.7]])
"""Angular frequencies of the sines in the motion of each of two joints."""


def motion(t):
    """Exact q, qd and qdd of two joints."""
    angle = W[:, :, None] * t
    size = np.array([0.8, 0.3])[:, None]
    return [
        (size * W[:, :, None] ** d * wave(angle)).sum(1).T
        for d, wave in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))
    ]


def noisy_log(noise=1e-5, jitter=0.0, seconds=20, with_velocity=False, rate=RATE):
    """A log of that motion with torques 3 qdd + 2 qd + sign(qd)."""
    rng = np.random.default_rng(3)
    t = np.arange(int(seconds * rate)) / rate
    t = t + jitter / rate * rng.uniform(-0.5, 0.5, len(t))
    q, qd, qdd = motion(t)
    tau = 3 * qdd + 2 * qd + np.sign(qd) + 1e3 * noise * rng.normal(size=q.shape)
    measured = qd + 100 * noise * rng.normal(size=q.shape) if with_velocity else None
    return Log(t, q + noise * rng.normal(size=q.shape), tau, measured)


def off(found, exact):
    """The error of columns, relative to their size."""
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


# ------------------------------------------------------------------ signals that are known


@pytest.mark.parametrize(
    ("derivative", "with_velocity", "jitter"),
    [("filter", False, 0.0), ("filter", True, 0.8), ("spline", False, 0.8), ("spline", True, 0.0)],
)
def test_states_are_those_of_the_motion(derivative, with_velocity, jitter):
    log = noisy_log(jitter=jitter, with_velocity=with_velocity)
    samples = preprocess(log, Preprocessing(derivative=derivative))
    q, qd, qdd = motion(samples.t)
    inner = slice(samples.indices[0], samples.indices[-1])
    assert off(samples.q[inner], q[inner]) < 1e-4
    assert off(samples.qd[inner], qd[inner]) < 2e-3
    assert off(samples.qdd[inner], qdd[inner]) < 0.2
    for name, exact in (("qd", qd), ("qdd", qdd)):  # as they enter the estimation
        found = samples.decimate(getattr(samples, name))
        assert off(found, samples.decimate(exact)) < 5e-3
    assert samples.choices["resampled"] is bool(jitter)
    assert samples.choices["velocity"] == ("measured" if with_velocity else "derived")


def test_what_the_filter_does_to_torques_it_does_to_models():
    """The parameters 3, 2 and 1 are found, whose last column is not smooth."""
    samples = preprocess(noisy_log(noise=1e-4))
    Y = np.stack([samples.qdd, samples.qd, np.sign(samples.qd)], axis=-1)
    A, b = samples.decimate(Y).reshape(-1, 3), samples.decimate(samples.tau).reshape(-1)
    found = np.linalg.lstsq(A, b, rcond=None)[0]
    np.testing.assert_allclose(found, [3, 2, 1], atol=0.02)
    assert len(b) == 2 * len(samples.indices)


def test_noise_lowers_the_cut_off():
    quiet, loud = (preprocess(noisy_log(noise)) for noise in (1e-7, 1e-3))
    assert quiet.bandwidth == loud.bandwidth == pytest.approx(7, rel=0.1)
    assert quiet.choices["cutoff"] == pytest.approx(10 * quiet.bandwidth)
    assert loud.choices["cutoff"] == pytest.approx(2 * loud.bandwidth)
    assert any("noise would be more than 10% of an acceleration" in note for note in loud.notes)


def test_the_bandwidth_is_ten_times_the_fastest_motion():
    log = noisy_log()
    slow, fast = motion_frequencies(spectrum(log.q, RATE))
    assert slow == pytest.approx(0.5, abs=0.1)
    assert fast == pytest.approx(0.7, abs=0.1)
    assert preprocess(log).bandwidth == pytest.approx(10 * fast)


def test_velocities_that_disagree_with_the_positions_are_not_used():
    """As where a controller has filtered them, and they come late."""
    log = noisy_log(with_velocity=True)
    late = Log(log.t, log.q, log.tau, motion(log.t - 0.05)[1])
    samples = preprocess(late)
    assert samples.choices["velocity"] == "derived"
    assert any(x.startswith("measured velocities are not used: that of j") for x in samples.notes)
    assert preprocess(late, Preprocessing(velocity="measured")).choices["velocity"] == "measured"


def test_measured_accelerations_are_used_on_request():
    log = noisy_log(noise=1e-4)
    exact = motion(log.t)[2]
    measured = Log(log.t, log.q, log.tau, qdd=exact)
    samples = preprocess(measured, Preprocessing(acceleration="measured", trim=2.0))
    inner = slice(samples.indices[0], samples.indices[-1])
    assert off(samples.qdd[inner], motion(samples.t)[2][inner]) < 1e-6
    with pytest.raises(DataError, match="log has no accelerations"):
        preprocess(log, Preprocessing(acceleration="measured"))


# ------------------------------------------------------------------ filters


def test_filters_are_those_of_scipy_applied_twice():
    signal = pytest.importorskip("scipy.signal")
    x = np.random.default_rng(0).normal(size=(3000, 2)).cumsum(axis=0)
    sections = signal.butter(4, 5.0, fs=1000.0, output="sos")
    theirs = signal.sosfiltfilt(sections, x, axis=0, padlen=2999)
    value, first, second = lowpass(x, 5.0, 1000.0, 4)
    assert off(value, theirs) < 1e-4
    inner = slice(400, -400)
    slope = np.gradient(theirs, 1e-3, axis=0)
    assert off(first[inner], slope[inner]) < 1e-3
    assert off(second[inner], np.gradient(slope, 1e-3, axis=0)[inner]) < 1e-2
    kept = np.arange(0, 3000, 50)
    for size in (1, 700, 3000):
        blocks = (x[k : k + size] for k in range(0, 3000, size))
        assert off(decimate(blocks, 0, 3000, kept, 5.0, 1000.0, 4), value[kept]) < 1e-4


def test_a_line_passes_a_filter_unchanged():
    t = np.arange(1000) / 100
    x = np.stack([2 * t - 7, 0 * t + 3], axis=1)
    value, first, second = lowpass(x, 3.0, 100.0, 4)
    np.testing.assert_allclose(value, x, atol=1e-12)
    np.testing.assert_allclose(first, np.broadcast_to([2, 0], x.shape), atol=1e-12)
    np.testing.assert_allclose(second, 0 * x, atol=1e-12)
    np.testing.assert_allclose(
        decimate([x], 0, 1000, np.arange(0, 1000, 7), 3.0, 100.0, 4), x[::7], atol=1e-12
    )


def test_chunks_and_blocks_decimate_to_the_same_rows():
    samples = preprocess(noisy_log())
    whole = samples.decimate(samples.tau)
    for rows in (1, 20, 10_000):
        chunks = [chunk.decimate(chunk.tau) for chunk in samples.chunks(rows)]
        np.testing.assert_allclose(np.concatenate(chunks), whole, rtol=1e-12, atol=1e-12)
    assert max(map(len, samples.chunks(20))) < len(samples) / 2
    np.testing.assert_array_equal(samples.decimate(x.tau for x in samples.blocks()), whole)
    assert max(map(len, samples.blocks())) < len(samples) / 2


# ------------------------------------------------------------------ settings


def test_every_choice_is_reported():
    samples = preprocess(noisy_log(jitter=0.8))
    choices = json.loads(json.dumps(samples.choices))
    assert set(choices) == {
        "log_rate",
        "resampled",
        "rate",
        "cutoff",
        "order",
        "derivative",
        "velocity",
        "acceleration",
        "bandwidth",
        "trim",
        "decimated_rate",
        "rows",
    }
    text = "\n".join(samples.notes)
    for word in ("resampled to 500 Hz", "the bandwidth is", "the cut-off is", "rows remain"):
        assert word in text
    assert repr(samples).startswith("<Samples of 'log': ")


def test_settings_are_followed():
    log = noisy_log()
    samples = preprocess(log, Preprocessing(rate=600.0, cutoff=20, bandwidth=4, trim=3.0, order=2))
    assert samples.choices["cutoff"] == 20
    assert (samples.rate, samples.bandwidth, samples.order) == (200.0, 4, 2)
    assert samples.t[samples.indices[0]] == pytest.approx(3.0, abs=0.2)
    assert samples.t[samples.indices[-1]] <= 17.0
    plain = preprocess(log, Preprocessing(decimate=False))
    assert plain.bandwidth is None
    np.testing.assert_array_equal(plain.decimate(plain.q), plain.q[plain.indices])
    assert plain.choices["cutoff"] == pytest.approx(7, rel=0.1)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"cutoff": -1}, "cutoff is -1: expected a frequency"),
        ({"rate": np.inf}, "rate is inf: expected a frequency"),
        ({"rate": 100.0}, r"rate is 100 Hz: expected no less than that of log, 500 Hz"),
        ({"order": 0}, "order is 0: expected a whole number from 1 to 10"),
        ({"trim": -1.0}, r"trim is -1\.0: expected a time"),
        ({"derivative": "magic"}, "derivative is 'magic': expected one of filter, spline"),
        ({"velocity": "both"}, "velocity is 'both': expected one of auto, measured, derived"),
        ({"cutoff": 400.0}, "cutoff is 400 Hz: expected less than half the rate of log, 500 Hz"),
        ({"bandwidth": 400.0}, "bandwidth is 400 Hz: expected less than half"),
        ({"velocity": "measured"}, "log has no velocities"),
        ({"trim": 9.9}, r"too few samples: it has 20 s, of which 9\.9 s are trimmed"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, text):
    with pytest.raises(DataError, match=text):
        preprocess(noisy_log(), Preprocessing(**settings))


def test_short_logs_are_refused():
    with pytest.raises(DataError, match=r"too few samples: it has 5 rows in 0\.008 s"):
        preprocess(noisy_log()[:5])
    samples = preprocess(noisy_log())
    with pytest.raises(DataError, match="the array has 3 rows: expected one per sample"):
        samples.decimate(np.zeros((3, 2)))


def test_times_at_rest_are_left_out():
    """An arm that has stopped says nothing of its friction, and filtered noise has signs."""
    log = noisy_log()
    still = np.repeat(log.q[-1:], 3000, axis=0) + 1e-6 * np.random.default_rng(0).normal(
        size=(3000, 2)
    )
    t = log.t[-1] + (1 + np.arange(3000)) / RATE
    stopped = Log(*map(np.concatenate, ([log.t, t], [log.q, still], [log.tau, 0 * still])))
    samples = preprocess(stopped, Preprocessing(bandwidth=5.0, cutoff=40.0))
    assert samples.t[samples.indices[-1]] < log.t[-1] + 1e-6
    note = next(note for note in samples.notes if "no joint moves" in note)
    assert float(re.search(r"left out, (.*) s in all", note)[1]) == pytest.approx(
        3000 / RATE, abs=0.1
    )
    every = preprocess(stopped, Preprocessing(bandwidth=5.0, cutoff=40.0, rest=True))
    assert every.t[every.indices[-1]] > t[-1] - 1
    motionless = Log(t, still, 0 * still)
    assert len(preprocess(motionless, Preprocessing(bandwidth=5.0)).indices) > 10


def test_gaps_in_time_are_left_out():
    log = noisy_log()
    rows = np.delete(np.arange(len(log)), slice(4000, 4200))
    gap = Log(log.t[rows], log.q[rows], log.tau[rows])
    samples = preprocess(gap)
    t = samples.t[samples.indices]
    assert not ((t > 7.9) & (t < 8.5)).any()
    assert any("gaps in time are left out, 1 in all" in note for note in samples.notes)
    assert len(t) > 0.9 * len(preprocess(log).indices)


def test_a_log_of_an_arm_at_rest_can_be_preprocessed():
    t = np.arange(2000) / 100
    log = Log(t, np.full((2000, 2), 0.3), np.ones((2000, 2)))
    samples = preprocess(log)
    np.testing.assert_allclose(samples.decimate(samples.tau), 1)
    assert "no joint moves: the bandwidth is 1 Hz" in samples.notes


# ------------------------------------------------------------------ arms


def test_a_simulated_arm_is_found_again(tmp_path):
    """From a file of a simulated run to the parameters it was simulated with."""
    robot = armlet.load("planar2r")
    k = np.arange(4000)[:, None] * 0.005
    torque = [25, 8] * np.sin(k * [2.1, 3.7]) + [5, 3] * np.sin(k * [5.3, 7.1])
    run = armlet.simulate(robot, [-1.5, 0.3], torque=torque, duration=20.0, dt=0.005, method="rk4")
    run.to_csv(tmp_path / "run.csv")
    samples = preprocess(Log.read(tmp_path / "run.csv", robot))
    found = armlet.minimal_parameters(robot)
    Y = samples.decimate(robot.regressor(samples.q, samples.qd, samples.qdd))
    tau = samples.decimate(samples.tau)
    estimate = np.linalg.lstsq(Y.reshape(-1, len(found.names)), tau.reshape(-1), rcond=None)[0]
    np.testing.assert_allclose(estimate, found.values, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("step", [1e-5, 1e-3])
def test_estimates_are_as_good_as_their_deviations_say(step):
    """With noisy torques and positions rounded to steps of an encoder."""
    robot = armlet.load("planar2r")
    rng = np.random.default_rng(5)
    t = np.arange(int(20 * RATE)) / RATE
    q, qd, qdd = motion(t)
    tau = robot.inverse_dynamics(q, qd, qdd) + rng.normal(0, 0.5, q.shape)
    s = preprocess(Log(t, np.round(q / step) * step, tau))
    found = armlet.minimal_parameters(robot)
    A = s.decimate(robot.regressor(s.q, s.qd, s.qdd)).reshape(-1, len(found.names))
    b = s.decimate(s.tau).reshape(-1)
    estimate, (squares,), *_ = np.linalg.lstsq(A, b, rcond=None)
    variance = squares / (len(b) - len(estimate))
    deviations = np.sqrt(np.diag(np.linalg.inv(A.T @ A)) * variance)
    assert np.abs((estimate - found.values) / deviations).max() < 3
    assert (deviations < 0.01 * np.abs(found.values).max()).all()


def fitted(Y, tau, weighted=False):
    """Least squares: the relative error and the condition number."""
    sizes = np.ones(tau.shape[1])
    for _ in range(4 if weighted else 1):
        A, b = (Y / sizes[:, None]).reshape(-1, Y.shape[-1]), (tau / sizes).reshape(-1)
        error = tau - Y @ np.linalg.lstsq(A, b, rcond=None)[0]
        sizes = np.sqrt((error**2).mean(0))
    return np.linalg.norm(error) / np.linalg.norm(tau), np.linalg.cond(A)


@recorded
def test_the_recorded_panda_is_fitted_to_0_7_percent(arms):
    """Published: 1.41 % and a condition number of 121.9."""
    samples = preprocess(panda_log())
    Y = arms["panda"].without_drives().regressor(samples.q, samples.qd, samples.qdd, friction=True)
    error, condition = fitted(samples.decimate(Y), samples.decimate(samples.tau))
    assert error < 0.0075
    assert condition == pytest.approx(116, abs=2)


@recorded
def test_the_recorded_tx40_is_fitted_to_5_percent():
    robot = tx40()
    s = preprocess(tx40_log())
    Y = robot.regressor(s.q, s.qd, s.qdd, rotors=True, friction=True)
    shared = np.stack([column(s.q, s.qd, s.qdd) for column in wrist().values()], axis=2)
    Y = s.decimate(np.concatenate([Y, shared], axis=2))
    assert Y.shape[2] == 61
    error, _ = fitted(Y, s.decimate(s.tau), weighted=True)
    assert error < 0.05
