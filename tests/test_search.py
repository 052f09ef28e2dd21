"""The search for the cheapest program: whatever it chooses, the numbers stay the same."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from support.cases import cases
from support.robots import deviation, random_robot, states, value, with_scalars

import armlet
from armlet.codegen.lower import expand_sines
from armlet.dynamics import definition
from armlet.graph import simplify, trace_function
from armlet.robot import Arrangement
from armlet.runtime import cache
from armlet.scalar import quarter_turns
from armlet.search import cheapest as search
from armlet.search.request import make_request

MOVING = ["inverse_dynamics", "inertia_matrix", "bias", "gravity_torque", "forward_dynamics"]


def arguments(robot, quantity, count=3):
    q, qd, qdd = states(robot, count)
    given = {"q": q, "qd": qd, "qdd": qdd, "tau": 5 * qdd}
    return [given[name] for name in armlet.QUANTITIES[quantity].arguments]


@pytest.mark.parametrize("seed", cases(range(5), long=range(5, 24)))
def test_the_cheapest_program_gives_what_the_definition_gives(tmp_path, seed):
    robot, _ = random_robot(
        tmp_path, seed, 1 + seed % 8, drives=True, special=(0.5, 1, 1)[seed % 3]
    )
    for quantity in MOVING:
        given = arguments(robot, quantity)
        found = armlet.trace(robot, quantity).function()(*given)
        by_definition = getattr(definition, quantity)
        expected = np.array([by_definition(robot, *state) for state in zip(*given, strict=True)])
        assert deviation(found, expected) < 1e-10, quantity


@pytest.mark.parametrize("quantity", ["linearization", "state_space"])
def test_larger_programs_keep_their_values(quantity):
    robot = armlet.load("rx90")
    first = next(iter(armlet.formulations(quantity)))
    given = arguments(robot, quantity)
    plain, cheap = (
        armlet.trace(robot, quantity, name).function()(*given) for name in (first, None)
    )
    assert all(deviation(*pair) < 1e-12 for pair in zip(cheap, plain, strict=True))


@pytest.mark.parametrize("seed", cases(range(3), long=range(3, 12)))
def test_other_frames_and_units_change_no_torque(tmp_path, seed):
    robot, _ = random_robot(tmp_path, seed, 6, special=1.0)
    rng = np.random.default_rng(seed)
    back = tuple(i for i in range(robot.nv) if rng.random() < 0.5)
    unit = 0.37 if "P" not in robot._joint_letters else None
    other = Arrangement(back, unit).of(robot)
    q, qd, qdd = states(robot)
    torques = [value(arm, "inverse_dynamics", q, qd, qdd) for arm in (robot, other)]
    assert deviation(*torques) < 1e-12
    wrench = rng.normal(size=(len(q), 6))
    moved = Arrangement(back).of(robot)
    held = [value(arm, "inverse_dynamics", q, qd, qdd, wrench) for arm in (robot, moved)]
    assert deviation(*held) < 1e-12
    poses = [value(arm, "forward_kinematics", q) for arm in (robot, moved)]
    assert deviation(*poses) < 1e-12


def test_a_unit_of_length_becomes_one():
    robot = Arrangement(unit=0.4318).of(armlet.load("puma560"))
    assert robot.dh[2].a == 1
    assert robot.dh[3].d == 1


@pytest.mark.parametrize("name", armlet.catalogue())
def test_minimal_parameters_cost_no_accuracy(arms, name):
    """Forward dynamics in double precision, against forty digits."""
    robot = arms[name]

    def long(x):
        return x if quarter_turns(x) is not None else mpmath.mpf(float(x))

    with mpmath.workdps(40):
        exact = with_scalars(robot, long)
        for state in zip(*arguments(robot, "forward_dynamics", 2), strict=True):
            known = definition.forward_dynamics(exact, *([*map(mpmath.mpf, x)] for x in state))
            assert deviation(robot.forward_dynamics(*state), np.array(known, dtype=float)) < 1e-12


def test_formulations_are_ranked_by_their_counts_on_the_robot_itself(arms, monkeypatch):
    """In whatever order a table has them."""
    robot = arms["puma560"].without_drives()
    symbolic = {"inertia": "symbolic"}
    for quantity in ("inverse_dynamics", "inertia_matrix"):
        asked = make_request(robot, quantity, symbolic, True, {})
        names = [
            name
            for name, entry in armlet.formulations(quantity).items()
            if entry.contends and asked.takes(entry)
        ]
        totals = {name: asked.program(name).count().total for name in names}
        least = sorted(totals.values())
        backwards = dict(reversed(armlet.formulations(quantity).items()))
        for table in (armlet.formulations(quantity), backwards):
            monkeypatch.setitem(search.FORMULATIONS, quantity, table)
            candidates = search.rank(search.Task(asked, search.M_PLUS_A, search.EFFORT, np.inf))
            found = [candidate.length for candidate in candidates]
            assert len(found) > 1
            assert found == least[: len(found)]


def test_a_formulation_with_fewer_operations_that_is_much_slower_is_left_out(arms):
    """Featherstone's recursion has fewer operations on this arm, one after the other."""
    asked = make_request(arms["stanford"], "forward_dynamics", {}, True, {})
    candidates = search.rank(search.Task(asked, search.M_PLUS_A, search.EFFORT, np.inf))
    fewer, fast = asked.program("featherstone"), asked.program("composite")
    assert [candidate.name for candidate in candidates] == ["composite"]
    assert fewer.count().total < fast.count().total
    assert search.cycles(fewer) > 1.25 * search.cycles(fast)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "inertia_matrix", "forward_dynamics"])
def test_no_candidate_fails_where_a_body_is_a_point(quantity):
    """Neither masses nor principal moments are divided by, or their roots taken."""
    point = (1.0, (0.5, 0, 0), (0, 0, 0, 0, 0, 0))
    nothing = (0.0, (0, 0, 0), (0, 0, 0, 0, 0, 0))
    rows = [(0, 0, 0, 0), (0.3, 1, 0.2, 0), (0.4, 1, 0.1, 0)]
    arm = armlet.Robot.from_dh(rows, convention="modified", inertia=[nothing, point, point])
    for minimal in (True, False):
        asked = make_request(arm, quantity, {}, minimal, {})
        for entry in armlet.formulations(quantity).values():
            if entry.contends and asked.takes(entry):
                program = asked.program(entry.name)
                numbers = [x for _, _, args in program.nodes for x in args if type(x) is float]
                assert np.isfinite(numbers).all(), entry.name


def test_a_formulation_from_outside_does_not_change_what_methods_compute(arms, monkeypatch):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    table = armlet.formulations("gravity_torque")

    @armlet.formulation("gravity_torque", source="nowhere", growth="n", name="wrong")
    def wrong(robot, q):
        return [0] * robot.nv

    try:
        found = armlet.cheapest(arms["planar2r"], "gravity_torque")
    finally:
        table.pop("wrong")
    assert found.formulation == "newton_euler"


def test_a_search_built_on_code_from_outside_is_not_cached(arms, monkeypatch, tmp_path):
    """The key covers armlet's own sources alone."""
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "own"))

    @armlet.formulation("bias", source="nowhere", growth="n", name="mine")
    def mine(robot, q, qd):
        return armlet.formulations("bias")["newton_euler"].function(robot, q, qd)

    try:
        armlet.cheapest(arms["planar2r"], "forward_dynamics", bias="mine")
    finally:
        armlet.formulations("bias").pop("mine")
    assert not [*(tmp_path / "own").glob("*")]


def test_what_was_found_is_kept(arms, monkeypatch, tmp_path):
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "own"))
    robot = arms["ur5e"]
    found = armlet.cheapest(robot, "bias")
    monkeypatch.setattr(search, "search", lambda *_: pytest.fail("searched again"))
    again = armlet.cheapest(robot, "bias")
    assert again.steps == found.steps
    assert again.arrangement == found.arrangement
    q, qd, _ = states(robot)
    assert np.array_equal(again.program.function()(q, qd), found.program.function()(q, qd))


def test_another_robot_is_searched_for_anew(arms):
    robot = arms["ur5e"]
    heavier = robot.with_payload(2.0, [0, 0, 0.1])
    state = [x[0] for x in states(robot)]
    expected = definition.inverse_dynamics(heavier, *state)
    assert deviation(heavier.inverse_dynamics(*state), np.array(expected)) < 1e-12
    ids = {repr(make_request(arm, "bias", {}, True, {}).identity) for arm in (robot, heavier)}
    assert len(ids) == 2


def test_what_is_kept_depends_on_the_code_and_may_be_bad(arms, monkeypatch, tmp_path):
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "own"))
    robot = arms["planar2r"]
    found = armlet.cheapest(robot, "bias")
    monkeypatch.setattr(search, "SEARCH_SOURCES", "other code")
    armlet.cheapest(robot, "bias")
    assert len([*(tmp_path / "own").iterdir()]) == 2
    for bad in (b"{}", b"not json", b"[]"):
        monkeypatch.setattr(cache, "load", lambda _, bad=bad: bad)
        assert armlet.cheapest(robot, "bias").steps == found.steps


def test_a_fresh_program_is_the_one_that_the_cache_gives_back(arms, monkeypatch, tmp_path):
    """Node by node, so that the code printed from it is the same too."""
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "own"))
    for quantity in ("forward_kinematics", "inertia_matrix"):
        fresh, cached = (armlet.cheapest(arms["scara"], quantity).program for _ in range(2))
        assert fresh.to_dict() == cached.to_dict()
        assert repr([*fresh.nodes]) == repr([*cached.nodes])


def test_a_formulation_that_takes_no_lumped_inertias_is_not_rearranged(arms):
    robot = arms["puma560"].without_drives()
    found = armlet.cheapest(robot, "coriolis_matrix", constants={"inertia": "symbolic"})
    assert found.formulation == found.steps[0].name == "christoffel"
    assert found.arrangement == Arrangement()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"minimize": "gold"}, "minimize is 'gold'"),
        ({"formulation": "lin", "minimize": "additions"}, "leave it out if a formulation is named"),
    ],
)
def test_bad_weights_are_reported(arms, asked, message):
    with pytest.raises(armlet.ArmletError, match=message):
        armlet.trace(arms["planar2r"], "bias", **asked)


class Clock:
    """Processor time that goes by a second each time it is read."""

    def __init__(self):
        self.time = 0

    def __call__(self):
        self.time += 1
        return self.time


@pytest.mark.parametrize("seconds", [0, 1, 3, 8, 12, 14, 16, 1000])
def test_a_search_that_runs_out_of_time_uses_what_it_has(arms, monkeypatch, tmp_path, seconds):
    monkeypatch.setenv("ARMLET_CACHE", str(tmp_path / "own"))
    monkeypatch.setattr(search, "thread_time", clock := Clock())
    monkeypatch.setattr(search, "EFFORT", replace(search.EFFORT, seconds=seconds))
    robot = arms["puma560"].without_drives()
    found = armlet.cheapest(robot, "inertia_matrix")
    assert clock.time < seconds + 10 or found.complete
    assert found.complete == (seconds == 1000)
    q, _, _ = states(robot)
    expected = np.array([definition.inertia_matrix(robot, x) for x in q])
    assert deviation(found.program.function()(q), expected) < 1e-12
    assert armlet.cheapest(robot, "inertia_matrix").complete == found.complete


def test_the_longer_a_search_the_cheaper_its_program(arms, monkeypatch):
    monkeypatch.setenv("ARMLET_CACHE", "off")
    totals = []
    for seconds in (0, 5, 10, 15, 1000):
        with monkeypatch.context() as patch:
            patch.setattr(search, "thread_time", Clock())
            patch.setattr(search, "EFFORT", replace(search.EFFORT, seconds=seconds))
            found = armlet.cheapest(arms["puma560"].without_drives(), "inertia_matrix")
            totals.append(found.program.count().total)
    assert totals == sorted(totals, reverse=True)
    assert totals[0] > totals[-1]


def test_long_programs_are_searched_too():
    """No recursion on the length of a sum, a product or a chain of angles."""

    def run(_, x):
        total = product = angle = 0 * x[0] + 1
        entries = []
        for y in x:
            total, product, angle = total + 2 * y, product * y, angle + y
            entries.append(angle.cos())
        return np.array([total, product, *entries, *(y.cos() for y in x)])

    program = trace_function("long", run, {"x": (400,)})
    simpler, _ = simplify(program)
    x = np.random.default_rng(0).normal(size=400)
    assert np.allclose(expand_sines(simpler).function()(x), program.function()(x), atol=1e-9)
