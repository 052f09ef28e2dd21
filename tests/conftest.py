import os
import random
from itertools import groupby

import numpy as np
import pytest

import armlet

SKIPPED = "armlet/skipped"
"""Key of pytest's cache: the tests, and files, that the last run skipped."""


def pytest_addoption(parser):
    parser.addoption("--order", type=int, help="a seed: files, and tests in each, are shuffled")
    parser.addoption("--draw", type=int, help="a seed: other random numbers than the usual ones")
    parser.addoption(
        "--skipped",
        action="store_true",
        help="only tests that the last run skipped, and those that are long in all their cases",
    )


def pytest_configure(config):
    draw, usual = config.getoption("--draw"), np.random.default_rng
    if draw is not None:

        def another(seed=None):
            fixed = isinstance(seed, int | np.integer | list | tuple)
            return usual([draw, *np.atleast_1d(seed)] if fixed else seed)

        np.random.default_rng = another


def pytest_collection_modifyitems(config, items):
    if config.getoption("--skipped"):
        last = config.cache.get(SKIPPED, {})
        items[:] = [
            item
            for item in items
            if any(mark.name == "long" for mark in getattr(item.function, "pytestmark", ()))
            or item.nodeid in last
            or item.nodeid.partition("::")[0] in last
        ]
    order = config.getoption("--order")
    if order is not None:
        rng = random.Random(order)  # every worker has to come to the same order
        files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
        rng.shuffle(files)
        for tests in files:
            rng.shuffle(tests)
        items[:] = [test for tests in files for test in tests]


def pytest_terminal_summary(terminalreporter, config):
    """Remember what was skipped; after --skipped, name what still is, and why."""
    reasons = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        reasons[report.nodeid] = str(reason).removeprefix("Skipped: ")
    if config.getoption("--skipped"):
        terminalreporter.section("still skipped")
        for name, reason in sorted(reasons.items()):
            terminalreporter.line(f"{name}: {reason}")
    elif hasattr(config, "cache"):
        config.cache.set(SKIPPED, reasons)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Compiled code is kept in a directory that all workers share, never in the user's."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    cache = folder / "cache"
    cache.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ARMLET_CACHE", str(cache))
        yield


@pytest.fixture(scope="session")
def arms():
    """Every arm of the catalogue by name."""
    return {name: armlet.load(name) for name in armlet.catalogue()}


@pytest.fixture
def refusal(load):
    """The message with which what a module's own `load` takes is refused."""

    def refused(*args, **options):
        with pytest.raises(armlet.ModelError) as raised:
            load(*args, **options)
        return str(raised.value)

    return refused
