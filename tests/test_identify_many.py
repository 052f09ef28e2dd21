"""Identification from many logs: in constant memory, by workers, and without those that fail."""

import os
import signal
import threading
import time
import tracemalloc
from functools import partial

import numpy as np
import pytest
from support.logs import random_arm, recorded

import armlet
from armlet.errors import DataError, DataWarning

robot = random_arm(1, n=2)


def read(seed, bad=(), pause=0.0):
    """A log, as from a file."""
    time.sleep(pause)
    if seed in bad:
        raise DataError(f"run{seed}.csv has no torques")
    return recorded(robot, seed, duration=5.0)


@pytest.fixture(scope="module")
def whole():
    return armlet.identify(robot, [read(seed) for seed in range(12)], physical=False)


def test_logs_may_come_one_by_one(whole):
    for logs in ((read(seed) for seed in range(12)), [partial(read, seed) for seed in range(12)]):
        found = armlet.identify(robot, logs, physical=False)
        np.testing.assert_allclose(found.values, whole.values, rtol=1e-12)
        np.testing.assert_allclose(found.deviations, whole.deviations, rtol=1e-12)


def test_memory_does_not_grow_with_the_number_of_logs():
    def taken(count):
        tracemalloc.start()
        armlet.identify(robot, (read(seed % 3) for seed in range(count)), physical=False)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    taken(9)
    assert taken(24) < taken(9) + 500_000


def test_logs_that_cannot_be_read_are_named_and_left_out(whole):
    logs = [partial(read, seed, bad=(12, 13)) for seed in range(14)]
    with pytest.warns(DataWarning) as caught:
        found = armlet.identify(robot, logs, physical=False)
    assert [str(x.message) for x in caught] == [
        f"a log is left out: run{k}.csv has no torques" for k in (12, 13)
    ]
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-12)
    with (
        pytest.warns(DataWarning, match="left out"),
        pytest.raises(
            DataError,
            match="there are no rows to identify from: expected one or more logs that can",
        ),
    ):
        armlet.identify(robot, logs[12:], physical=False)


def test_whatever_a_function_raises_leaves_out_its_log_alone():
    def raising(error):
        raise error

    good = [partial(read, seed) for seed in range(3)]
    expected = armlet.identify(robot, good, physical=False)
    bad = [partial(raising, KeyError("tau")), partial(raising, ValueError("odd")), lambda: None]
    with pytest.warns(DataWarning) as caught:
        found = armlet.identify(robot, [good[0], *bad, *good[1:]], physical=False)
    first, second, third = (str(x.message) for x in caught)
    assert first == "a log is left out: number 2 raised KeyError: 'tau'"
    assert second == "a log is left out: number 3 raised ValueError: odd"
    assert "returned None: expected a Log" in third
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)
    for passed in (KeyboardInterrupt(), MemoryError(), SystemExit(1)):
        with pytest.raises(type(passed)):
            armlet.identify(robot, [good[0], partial(raising, passed)], physical=False)


def test_a_robust_estimate_of_too_many_runs_is_refused():
    with pytest.raises(DataError, match="there are 9 runs: expected at most 8 for a robust"):
        armlet.identify(
            robot, [read(seed) for seed in range(9)], physical=False, estimator="robust"
        )


def test_workers_find_the_same_though_one_is_killed(whole):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(silence_logs=50, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        victim = next(iter(client.run(os.getpid).values()))
        killer = threading.Timer(1.0, os.kill, (victim, signal.SIGKILL))
        killer.start()
        logs = [partial(read, seed, pause=0.2) for seed in range(12)]
        found = armlet.identify(robot, logs, physical=False, client=client)
        killer.join()
    np.testing.assert_allclose(found.values, whole.values, rtol=1e-12)
    assert len(found.choices) == 12
