"""Minimal parameters: as many as the rank, none that the torques do not show."""

import json
import os
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pytest
import sympy
from support.cases import cases
from support.robots import deviation, random_arm, random_robot, states, value, with_scalars
from typer.testing import CliRunner

import armlet
from armlet.cli import app
from armlet.dynamics.regressor import regressor
from armlet.minimal import closed_form, lump, observability, rank

ROBOTS = int(os.environ.get("ARMLET_MINIMAL_ROBOTS", "100"))
SIZES = {
    "puma560": (36, 40, 10), "stanford": (33, 37, 9), "ur3e": (36, 40, 10), "ur5e": (36, 40, 10),
    "ur10e": (36, 40, 10), "tx40": (36, 40, 10), "rx90": (36, 40, 10), "z1": (36, 40, 10),
    "panda": (43, 48, 12), "iiwa14": (43, 48, 12), "gen3": (43, 48, 12), "xarm7": (43, 48, 12),
    "scara": (8, 11, 1), "planar3r": (9, 11, 6), "planar2r": (6, 7, 4),
}  # fmt: skip
"""Minimal parameters of the arms of the catalogue: without and with rotors, of gravity alone."""


def special_arm(seed, n):
    """An arm of parallel, crossing and coaxial axes, slides along and aslant to them."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            rng.choice([0, 0, 0, np.pi / 2, np.pi, np.pi / 3]),
            rng.choice([0, 0, 0.3]),
            rng.choice([0, 0.4]),
            rng.choice([0, np.pi / 2, 0.7]),
        )
        for _ in range(n)
    ]
    joints = "".join(rng.choice(list("RRP"), n)) if seed % 5 else "R" * n
    inertia = [(1.0, (0.1, 0.2, 0.3), np.eye(3))] * n
    return armlet.Robot.from_dh(rows, convention="modified", joints=joints, inertia=inertia)


def along_first_turning(robot):
    """Gravity along the first axis that turns."""
    g = np.array([0, 0, 9.81], dtype=object)
    X = robot.displacements([0] * robot.nq)
    for k in reversed(robot.path(max(robot._joint_letters.find("R"), 0))):
        g = X[k].vector(g)
    return g


def any_robot(folder, seed):
    """An arm or a tree of 1 to 9 joints under some gravity or none."""
    rng = np.random.default_rng(seed)
    n = 1 + seed % 9
    kind = seed % 4
    if kind == 0:
        robot = random_robot(folder, seed, n, drives=True)[0]
    elif kind == 1:
        robot = random_robot(folder, seed, n, special=1.0)[0]
    else:
        robot = random_arm(seed, n) if kind == 2 else special_arm(seed, n)
    across = np.array([9.81, 0, 0], dtype=object)
    choices = [robot.g, 0 * across, across, along_first_turning(robot), rng.normal(size=3)]
    return replace(robot, g=np.array(choices[seed // 4 % 5], dtype=object))


def stacked(robot, seed=0, quantity="regressor", **options):
    """The regressor of many random states, one below the other."""
    state = states(robot, 12 * robot.nb + 20, seed)[: len(armlet.QUANTITIES[quantity].arguments)]
    Y = armlet.trace(robot, quantity, "unit_bodies", **options).function(np)(*state)
    return Y.reshape(state[0].size, Y.shape[-1])


DRIVES = ({"rotors": True}, {"friction": True}, {"rotors": True, "friction": True})


@pytest.mark.parametrize("part", cases(range(8), long=range(8, 20)))
def test_size_is_the_rank_and_no_torque_changes(tmp_path, part):
    """Both closed forms, on random robots; with what drives add, on one in five."""
    for seed in range(part, ROBOTS, 20):
        robot = any_robot(tmp_path, seed)
        check_set(robot, seed)
        if seed // 20 % 5 == part % 5:
            check_set(robot, seed, **DRIVES[seed % 3])


def check_set(robot, seed, **drives):
    Y = stacked(robot, seed, parameters="standard", **drives)
    lin, kg = (closed_form(robot, **drives, kind=kind) for kind in ("lin", "khalil_gautier"))
    assert len(lin) == len(kg) == rank(Y), seed
    for found in (lin, kg):
        assert np.abs(found.Lam @ found.back - np.eye(len(found))).max() < 1e-12, seed
        assert deviation(Y @ found.back @ found.Lam, Y) < 1e-12, seed
    Y_min = stacked(robot, seed, **drives)
    assert deviation(Y_min, Y @ lin.back) < 1e-12, seed
    assert rank(Y_min) == len(lin), seed
    assert np.linalg.matrix_rank(armlet.equivalence(lin, kg)) == len(lin), seed


@pytest.mark.parametrize("part", cases(range(5), long=range(5, 10)))
def test_size_of_gravity_is_its_rank_and_no_weight_changes(tmp_path, part):
    for seed in range(part, ROBOTS, 10):
        robot = any_robot(tmp_path, seed)
        Y, Y_min = (
            stacked(robot, seed, "gravity_regressor", parameters=x) for x in ("standard", "gravity")
        )
        lin, kg, ranked = (
            armlet.minimal_parameters(robot, kind=kind, of="gravity")
            for kind in ("lin", "khalil_gautier", "rank")
        )
        assert len(lin) == len(kg) == len(ranked) == rank(Y) == rank(Y_min), seed
        assert np.abs(Y_min - Y @ lin.back).max(initial=0) < 1e-12 * max(1, np.abs(Y).max()), seed
        for found in (lin, kg):
            one = found.Lam @ found.back
            assert np.abs(one - np.eye(len(found))).max(initial=0) < 1e-12, seed
            assert deviation(Y @ found.back @ found.Lam, Y) < 1e-12, seed
            M = armlet.equivalence(found, ranked)
            assert not len(M) or np.linalg.matrix_rank(M) == len(M), seed


@pytest.mark.parametrize("seed", cases(range(10), long=range(10, 24)))
def test_weight_stays_when_the_parameters_of_gravity_do(tmp_path, seed):
    robot = any_robot(tmp_path, seed)
    q, _, _ = states(robot, seed=seed)
    found = armlet.minimal_parameters(robot, of="gravity")
    change = np.random.default_rng(seed).normal(size=10 * robot.nb)
    hidden = change - found.full(found.Lam @ change)
    expected = value(robot, "gravity_torque", q)
    limit = 1e-12 * max(1, np.abs(expected).max())
    for phi in (found.phi + hidden, found.full(found.values) + 1e-6 * hidden):
        holding = value(robot.with_inertia(phi), "gravity_torque", q)
        assert np.abs(holding - expected).max() < limit
    Y = armlet.trace(robot, "gravity_regressor", "unit_bodies", parameters="gravity")
    assert np.abs(Y.function(np)(q) @ found.values - expected).max() < limit


QUARTER = np.pi / 2
SLIDES = {
    "level": ("P", [QUARTER], 0),
    "aslant": ("P", [0.7], 1),
    "level on an upright turn": ("RP", [0, QUARTER], 0),
    "along a level turn": ("RP", [QUARTER, 0], 0),
    "across a level turn": ("RP", [QUARTER, QUARTER], 1),
    "along a level turn on an upright one": ("RRP", [0, QUARTER, 0], 0),
    "along two level turns on an upright one": ("RRRP", [0, QUARTER, 0, 0], 0),
    "along a level turn on an aslant one": ("RRP", [0.7, QUARTER, 0], 1),
    "on a turn across a level one": ("RRRP", [0, QUARTER, QUARTER, 0], 1),
}
"""When the weight on a slide never shows: joints, twists, and how many parameters m there are."""


@pytest.mark.parametrize(("joints", "twists", "masses"), SLIDES.values(), ids=SLIDES)
def test_weight_on_a_slide_that_is_level_for_every_q_does_not_show(joints, twists, masses):
    """The cases of Lin 1994, Theorem 4."""
    rows = [(alpha, 0.1, 0.2, 0.3) for alpha in twists]
    bodies = [(1.0, (0.1, 0.2, 0.3), np.eye(3))] * len(rows)
    arm = armlet.Robot.from_dh(rows, convention="modified", joints=joints, inertia=bodies)
    found = armlet.minimal_parameters(arm, of="gravity")
    assert sum(name.startswith("m") for name in found.names) == masses
    assert rank(stacked(arm, quantity="gravity_regressor", parameters="standard")) == len(found)


def test_without_gravity_no_parameter_shows_at_rest():
    robot = armlet.load("stanford").with_gravity((0, 0, 0))
    for kind in ("lin", "khalil_gautier", "rank"):
        found = armlet.minimal_parameters(robot, kind=kind, of="gravity")
        assert (len(found), found.expressions, found.latex()) == (0, {}, "")
        assert found.values.shape == (0,)
        assert found.full(found.values).shape == (60,)
    assert robot.gravity_regressor(np.zeros((3, 6)), parameters="gravity").shape == (3, 6, 0)


def test_gravity_has_no_drives():
    robot = armlet.load("stanford")
    for kind in ("lin", "rank"):
        with pytest.raises(armlet.ArmletError, match="leave out rotors and friction"):
            armlet.minimal_parameters(robot, True, True, kind, of="gravity")
        with pytest.raises(armlet.ArmletError, match="of is 'mass'"):
            armlet.minimal_parameters(robot, kind=kind, of="mass")
    with pytest.raises(armlet.ArmletError, match="kind is \\['lin'\\]: expected one of"):
        armlet.minimal_parameters(robot, kind=["lin"])
    with pytest.raises(armlet.ArmletError, match="parameters is 'gravity'"):
        armlet.trace(robot, "regressor", "unit_bodies", parameters="gravity")


@pytest.mark.parametrize("seed", cases(range(10), long=range(10, 24)))
def test_energies_are_the_regressor_times_the_parameters(tmp_path, seed):
    """With minimal parameters the potential is so but for a constant."""
    robot = any_robot(tmp_path, seed)
    q, qd, _ = states(robot, 6, seed)
    for rotors in (False, True):
        kinetic, potential = value(robot if rotors else robot.without_drives(), "energy", q, qd)
        limit = 1e-12 * max(1, np.abs(kinetic).max(), np.abs(potential).max())
        found = armlet.minimal_parameters(robot, rotors=rotors)
        for parameters, phi in (("standard", found.phi), ("minimal", found.values)):
            options = {"parameters": parameters, "rotors": rotors}
            program = armlet.trace(robot, "energy_regressor", "unit_bodies", **options)
            T, U = (program.function(np)(q, qd) @ phi).T
            assert np.abs(T - kinetic).max() < limit
            off = U - potential
            assert (np.abs(off).max() if parameters == "standard" else np.ptp(off)) < limit


@pytest.mark.parametrize(("name", "sizes"), SIZES.items())
def test_arms_of_the_catalogue_have_the_known_number(name, sizes):
    robot = armlet.load(name)
    for size, asked in zip(sizes, ({}, {"rotors": True}, {"of": "gravity"}), strict=True):
        assert len(armlet.minimal_parameters(robot, **asked)) == size
        assert len(armlet.minimal_parameters(robot, kind="rank", **asked)) == size


@pytest.mark.parametrize(("name", "size"), [("puma560", 38), ("stanford", 35), ("panda", 45)])
def test_gravity_off_the_first_axis_shows_two_more(name, size):
    robot = armlet.load(name).with_gravity((1.0, 2.0, 3.0))
    assert len(armlet.minimal_parameters(robot)) == size


def test_without_gravity_axes_through_one_point_hide_first_moments():
    """Lin's set has 8 on two crossing axes; without gravity the rank is 6."""
    rows = [(0, 0, 0, 0), (np.pi / 2, 0, 0, 0)]
    body = (1.0, (0.1, 0.2, 0.3), np.eye(3))
    arm = armlet.Robot.from_dh(rows, convention="modified", joints="RR", inertia=[body, body])
    arm = replace(arm, dh=(arm.dh[0], arm.dh[1]._replace(d=0.3)))
    assert len(armlet.minimal_parameters(arm.with_gravity((9.81, 0, 0)))) == 10
    assert len(armlet.minimal_parameters(arm)) == 8
    still = arm.with_gravity((0, 0, 0))
    assert len(armlet.minimal_parameters(still)) == rank(stacked(still, parameters="standard")) == 6
    assert armlet.minimal_parameters(still).expressions["Jxz2*"] == "Jxz2 - 0.3 cx2"


@pytest.mark.parametrize("seed", cases(range(6), long=range(6, 12)))
def test_torques_are_the_regressor_times_the_parameters(tmp_path, seed):
    robot = any_robot(tmp_path, seed)
    q, qd, qdd = states(robot, seed=seed)
    tau = value(robot, "inverse_dynamics", q, qd, qdd)
    friction = value(robot, "friction_torque", qd)
    bare = value(robot.without_drives(), "inverse_dynamics", q, qd, qdd)
    holding = value(robot, "gravity_torque", q)
    for given, expected in [
        ({}, bare),
        ({"rotors": True}, tau),
        ({"rotors": True, "friction": True}, tau + friction),
    ]:
        found = armlet.minimal_parameters(robot, **given)
        for parameters, phi in (("standard", found.phi), ("minimal", found.values)):
            name = "unit_bodies" if given else None
            program = armlet.trace(robot, "regressor", name, parameters=parameters, **given)
            assert deviation(program.function(np)(q, qd, qdd) @ phi, expected) < 1e-12
    at_rest = armlet.trace(robot, "gravity_regressor").function(np)(q)
    found = armlet.minimal_parameters(robot)
    assert np.abs(at_rest @ found.values - holding).max() < 1e-12 * max(1, np.abs(bare).max())


@pytest.mark.parametrize("seed", cases(range(6), long=range(6, 12)))
def test_torques_stay_when_the_minimal_parameters_do(tmp_path, seed):
    """Any full set with the same minimal parameters, the one that `full` gives among them."""
    robot = any_robot(tmp_path, seed).without_drives()
    state = states(robot, seed=seed)
    found = armlet.minimal_parameters(robot)
    change = np.random.default_rng(seed).normal(size=10 * robot.nb)
    hidden = change - found.full(found.Lam @ change)
    expected = value(robot, "inverse_dynamics", *state)
    for phi in (found.phi + hidden, found.full(found.values)):
        other = robot.with_inertia(phi)
        assert deviation(value(other, "inverse_dynamics", *state), expected) < 1e-12
        np.testing.assert_allclose(
            armlet.minimal_parameters(other).values, found.values, rtol=1e-11, atol=1e-12
        )


SETS = [
    {},
    {"kind": "khalil_gautier"},
    {"kind": "rank"},
    {"rotors": True, "friction": True},
    {"kind": "khalil_gautier", "rotors": True},
    {"kind": "rank", "rotors": True, "friction": True},
]


def torques(robot, options, q, qd, qdd):
    """All torques that a set with these options describes."""
    friction = value(robot, "friction_torque", qd) if options.get("friction") else 0
    return value(robot, "inverse_dynamics", q, qd, qdd) + friction


@pytest.mark.parametrize("options", SETS, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_a_robot_of_minimal_parameters_has_their_torques(tmp_path, seed, options):
    """Of the robot's own parameters its torques; of others those of the set's regressor."""
    robot = any_robot(tmp_path, seed)
    robot = robot if options.get("rotors") else robot.without_drives()
    state = states(robot, seed=seed)
    found = armlet.minimal_parameters(robot, **options)
    same = found.robot(found.values)
    assert type(same) is type(robot)
    assert deviation(torques(same, options, *state), torques(robot, options, *state)) < 1e-10
    x = found.values * np.random.default_rng(seed).uniform(0.5, 2, len(found))
    program = armlet.trace(robot, "regressor", "unit_bodies", parameters=found)
    Y = program.function(np)(*state)
    assert Y.shape[-1] == len(found)
    assert deviation(torques(found.robot(x), options, *state), Y @ x) < 1e-10
    again = armlet.minimal_parameters(found.robot(x), **options)
    if again.names == found.names:
        np.testing.assert_allclose(again.values, x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("half_turns", [0, 1])
def test_torques_are_those_of_the_set_on_slides_nearly_along_an_axis(half_turns):
    """A SCARA whose prismatic joint is (anti)parallel to its axes but for some digits."""
    bodies = [(2.0, (0.1, 0.05, 0.02), np.eye(3)), (1.5, (0.2, -0.1, 0.3), np.eye(3))]
    for exponent in range(1, 15):
        alpha = half_turns * np.pi - 10.0**-exponent
        rows = [(0, 0, 0, 0), (alpha, 0.3, 0.1, 0.2)]
        robot = armlet.Robot.from_dh(rows, convention="modified", joints="RP", inertia=bodies)
        parameters = armlet.minimal_parameters(robot)
        q, qd, qdd = states(robot, 20)
        Y = armlet.trace(robot, "regressor", "unit_bodies").function(np)(q, qd, qdd)
        assert len(parameters) == 4 or exponent >= 12
        assert (
            deviation(Y @ parameters.values, value(robot, "inverse_dynamics", q, qd, qdd)) < 1e-12
        )


@pytest.mark.parametrize("scale", [1e-8, 1e3])
def test_a_set_does_not_depend_on_the_size_of_the_arm(scale):
    """The factors of Λ are lengths and their squares: 1e-14 m² is much in an arm of 1e-8 m."""
    rows = [(0, 0, 0, 0), (1.0, 0.3, 0.2, 0.1), (-0.7, 0.4, 0.1, 0.3), (0.5, 0.2, 0.3, 0.2)]
    small = [(alpha, scale * a, scale * d, theta) for alpha, a, d, theta in rows]
    sets = [
        armlet.minimal_parameters(armlet.Robot.from_dh(x, convention="modified", joints="RRPR"))
        for x in (rows, small)
    ]
    assert sets[0].names == sets[1].names
    assert np.array_equal(sets[0].Lam != 0, sets[1].Lam != 0)


def test_the_guide_says_what_counts_as_zero():
    page = (Path(__file__).parent.parent / "docs" / "minimal.md").read_text(encoding="utf-8")
    assert f"Numbers below {observability.TOLERANCE:g} count as zero" in page


def test_drives_that_are_not_in_a_set_stay():
    robot = armlet.load("puma560")
    found = armlet.minimal_parameters(robot)
    assert found.robot(found.values).drives == robot.drives


def test_regressors_take_any_set_of_this_robot():
    robot = armlet.load("puma560")
    q, qd, qdd = states(robot, 5)
    bare = robot.without_drives()
    found = armlet.minimal_parameters(robot, kind="khalil_gautier")
    tau = bare.inverse_dynamics(q, qd, qdd)
    assert deviation(robot.regressor(q, qd, qdd, parameters=found) @ found.values, tau) < 1e-12
    g = robot.gravity_regressor(q, parameters=found) @ found.values
    assert deviation(g, robot.gravity_torque(q)) < 1e-12
    kinetic = (robot.energy_regressor(q, qd, parameters=found) @ found.values)[:, 0]
    assert deviation(kinetic, bare.energy(q, qd)[0]) < 1e-12
    at_rest = armlet.minimal_parameters(robot, kind="rank", of="gravity")
    g = robot.gravity_regressor(q, parameters=at_rest) @ at_rest.values
    assert deviation(g, robot.gravity_torque(q)) < 1e-12
    symmetric = armlet.minimal_parameters(robot, zero=["Jxy4", "Jxz4"])
    Y = robot.regressor(q, qd, qdd, parameters=symmetric)
    assert Y.shape == (5, 6, len(symmetric))
    other = symmetric.robot(symmetric.values).without_drives()
    assert deviation(Y @ symmetric.values, other.inverse_dynamics(q, qd, qdd)) < 1e-12


def test_masses_of_zero_do_not_stop_the_search():
    robot = armlet.load("puma560")
    q, qd, qdd = states(robot, 5)
    found = armlet.minimal_parameters(robot, kind="rank", rotors=True)
    other = found.robot(found.values)
    assert any(m == 0 and c.any() for m, c, _ in other.bodies)
    assert deviation(other.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)) < 1e-10
    assert deviation(other.inertia_matrix(q), robot.inertia_matrix(q)) < 1e-10
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert deviation(other.forward_dynamics(q, qd, tau), qdd) < 1e-10
    with pytest.raises(armlet.ModelError, match="'saha' of inverse_dynamics reads centres of mass"):
        armlet.trace(other, "inverse_dynamics", "saha")


def test_equal_sets_share_a_kernel():
    robot = armlet.load("planar2r")
    for _ in range(2):
        found = armlet.minimal_parameters(robot, kind="rank")
        robot.regressor([0, 0], [0, 0], [0, 0], parameters=found)
    assert found == armlet.minimal_parameters(robot, kind="rank")
    assert found != armlet.minimal_parameters(robot, kind="lin")
    assert sum(key[:2] == ("quantity", "regressor") for key in robot._memory) == 1


def test_sets_that_do_not_fit_are_refused():
    robot = armlet.load("puma560")
    zero = np.zeros(6)
    found = armlet.minimal_parameters(robot)
    other = armlet.minimal_parameters(armlet.load("stanford"))
    with pytest.raises(armlet.ArmletError, match="those of robot 'stanford' in other frames"):
        robot.regressor(zero, zero, zero, parameters=other)
    with pytest.raises(armlet.ArmletError, match="another gravity"):
        robot.with_gravity([1, 2, 3]).regressor(zero, zero, zero, parameters=found)
    with pytest.raises(armlet.ArmletError, match="rotors=True, but the parameters have no rotor"):
        robot.regressor(zero, zero, zero, parameters=found, rotors=True)
    light = armlet.minimal_parameters(robot, of="gravity")
    with pytest.raises(armlet.ArmletError, match="more than the parameters of gravity torques"):
        robot.regressor(zero, zero, zero, parameters=light)
    with pytest.raises(armlet.DataError, match="a robot needs all"):
        light.robot(light.values)
    driven = armlet.minimal_parameters(robot, rotors=True)
    with pytest.raises(armlet.ArmletError, match="no columns for rotor_inertia"):
        robot.gravity_regressor(zero, parameters=driven)
    with pytest.raises(armlet.DataError, match=r"shape \(3,\): expected \(36,\)"):
        found.robot([1, 2, 3])


def test_lumping_keeps_the_minimal_parameters():
    robot = armlet.load("stanford")
    found = armlet.minimal_parameters(robot)
    lumps = armlet.minimal_parameters(lump(robot))
    np.testing.assert_allclose(lumps.values, found.values, atol=1e-13)


def test_the_method_takes_the_options_of_the_regressor():
    robot = armlet.load("puma560")
    q, qd, qdd = states(robot, 5)
    found = armlet.minimal_parameters(robot, rotors=True, friction=True)
    tau = robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(qd)
    Y = robot.regressor(q, qd, qdd, rotors=True, friction=True)
    assert Y.shape == (5, 6, len(found))
    assert deviation(Y @ found.values, tau) < 1e-12
    assert robot.regressor(q[0], qd[0], qdd[0]).shape == (6, 36)
    assert robot.regressor(q, qd, qdd, parameters="standard").shape == (5, 6, 60)
    with pytest.raises(armlet.ArmletError, match="parameters is 'all'"):
        robot.regressor(q, qd, qdd, parameters="all")


def test_the_methods_of_weight_and_energy_take_their_options():
    robot = armlet.load("puma560")
    q, qd, _ = states(robot, 5)
    found = armlet.minimal_parameters(robot, of="gravity")
    Y = robot.gravity_regressor(q, parameters="gravity")
    assert deviation(Y @ found.values, robot.gravity_torque(q)) < 1e-12
    phi = armlet.minimal_parameters(robot, rotors=True).phi
    E = robot.energy_regressor(q, qd, parameters="standard", rotors=True)
    assert deviation(E @ phi, np.stack(robot.energy(q, qd), -1)) < 1e-12
    assert robot.energy_regressor(q[0], qd[0]).shape == (2, 36)


def test_entries_that_are_zero_for_every_state_are_exact_zeros():
    program = armlet.trace(armlet.load("puma560"), "regressor")
    Y = program.outputs[0]
    names = armlet.minimal_parameters(armlet.load("puma560")).names
    bodies = [int(name.rstrip("*")[-1]) - 1 for name in names]
    below = [(j, k) for k, body in enumerate(bodies) for j in range(body + 1, 6)]
    assert len(below) > 50
    assert all(isinstance(Y[entry], int) and Y[entry] == 0 for entry in below)


def test_the_regressor_takes_any_scalar():
    robot = random_arm(6, 3)
    state = [rows[0] for rows in states(robot)]
    expected = np.array(regressor(robot, *state), dtype=float)
    with mpmath.workdps(50):
        exactly = [np.array([mpmath.mpf(x) for x in row]) for row in state]
        precise = regressor(with_scalars(robot, mpmath.mpf), *exactly, parameters="standard")
        assert deviation(precise, regressor(robot, *state, parameters="standard")) < 1e-14
    symbols = [np.array(sympy.symbols(f"{x}:{robot.nv}")) for x in ("q", "a", "b")]
    values = {
        s: v for row, at in zip(symbols, state, strict=True) for s, v in zip(row, at, strict=True)
    }
    Y = sympy.Matrix(regressor(robot, *symbols)).evalf(subs=values)
    assert deviation(np.array(Y), expected) < 1e-12


def test_the_set_of_a_general_arm_is_symbolic():
    found = armlet.minimal_parameters(armlet.general_arm("RRP"))
    assert len(found) == 3 + 7 + 4
    assert found.expressions["cx1*"] == "cx1 + (a2) m2 + (a2) m3"
    assert len(armlet.minimal_parameters(armlet.general_arm("RRRRRR"))) == 38
    program = armlet.trace(armlet.general_arm("RRP"), "regressor")
    assert program.outputs[0].shape == (3, 14)


@pytest.mark.parametrize("joints", ["RRP", "PRPRP", "RRRRRR"])
@pytest.mark.parametrize("alpha", [None, 0, np.pi / 2])
def test_the_set_of_gravity_may_be_symbolic(joints, alpha):
    """As SymPy expressions and as a trace, and as large as that of an arm with numbers."""
    arm = armlet.general_arm(joints)
    if alpha is not None:
        arm = replace(arm, dh=tuple(row._replace(alpha=alpha) for row in arm.dh))
    names = {x for group in ("geometry", "inertia", "gravity") for x in arm.constants(group)}
    rng = np.random.default_rng(0)
    numbers = arm._with_constants({name: rng.uniform(0.2, 1) for name in sorted(names)})
    size = rank(stacked(numbers, quantity="gravity_regressor", parameters="standard"))
    assert len(armlet.minimal_parameters(arm, of="gravity")) == size
    program = armlet.trace(arm, "gravity_regressor", "unit_bodies", parameters="gravity")
    assert program.outputs[0].shape == (len(joints), size)


@pytest.mark.parametrize("name", ["puma560", "stanford", "scara"])
def test_sets_are_equivalent_however_they_are_found(name):
    robot = armlet.load(name)
    lin, kg, ranked = (
        armlet.minimal_parameters(robot, rotors=True, kind=kind)
        for kind in ("lin", "khalil_gautier", "rank")
    )
    for other in (kg, ranked):
        M = armlet.equivalence(lin, other)
        assert deviation(M @ lin.values, other.values) < 1e-8
        assert np.linalg.matrix_rank(M) == len(lin)


def test_sets_that_are_not_equivalent_are_told_apart():
    robot = armlet.load("puma560")
    found = armlet.minimal_parameters(robot)
    with pytest.raises(armlet.DataError, match="different standard parameters"):
        armlet.equivalence(found, armlet.minimal_parameters(robot, rotors=True))
    with pytest.raises(armlet.DataError, match="of torques and of gravity"):
        armlet.equivalence(found, armlet.minimal_parameters(robot, of="gravity"))
    with pytest.raises(armlet.DataError, match="differ in size"):
        armlet.equivalence(found, armlet.minimal_parameters(robot.with_gravity((1, 2, 3))))
    Lam = found.Lam.copy()
    Lam[0] = np.eye(60)[3]
    with pytest.raises(armlet.DataError, match="no combination"):
        armlet.equivalence(found, replace(found, Lam=Lam))
    with pytest.raises(armlet.ArmletError, match="kind is 'all'"):
        armlet.minimal_parameters(robot, kind="all")
    with pytest.raises(armlet.DataError, match="expected 36 parameters"):
        found.full(np.zeros(10))


def test_latex_has_a_line_a_parameter():
    found = armlet.minimal_parameters(armlet.load("stanford"), rotors=True, friction=True)
    lines = found.latex().splitlines()
    assert len(lines) == len(found)
    assert r"m_{3}^* &= m_{3} + m_{4} + m_{5} + m_{6} \\" in lines


def test_the_command_prints_the_set():
    runner = CliRunner()
    out = runner.invoke(app, ["minimal", "scara", "--json"])
    data = json.loads(out.stdout)
    assert (data["size"], data["rank"], data["standard"]) == (8, 8, 40)
    assert data["parameters"][-1]["expression"] == "cy4"
    assert "8 of 40" in runner.invoke(app, ["minimal", "scara"]).stdout
    assert r"J_{zz4} &= J_{zz4}" in runner.invoke(app, ["minimal", "scara", "--latex"]).stdout
    assert "1 of 40" in runner.invoke(app, ["minimal", "scara", "--of", "gravity"]).stdout
    assert "11 of 44" in runner.invoke(app, ["minimal", "scara", "--rotors"]).stdout
