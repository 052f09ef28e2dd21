"""Logs of arms: every kind of file, columns by name, units, motors, and what is wrong with them."""

import re
import sys
import warnings

import numpy as np
import pytest
from support.datasets import panda_log, recorded, tx40_log

import armlet
from armlet import DataError, DataWarning, Log, TorqueModel
from armlet.identification import cross_validate, identify_payload
from armlet.identification.logs.columns import column, match_joints, unit_of
from armlet.identification.logs.readers import read_table

JOINTS = ("joint1", "joint2")
K = 400
REST = np.array([0, 0, 0, -1.5, 0, 1.5, 0])
"""A Panda in the middle of its range."""


@pytest.fixture(scope="module")
def robot():
    return armlet.load("planar2r")


@pytest.fixture(scope="module")
def run(robot):
    """A motion as arrays: t, q, qd, tau."""
    t = np.arange(K) / 200
    w = np.array([2.0, 3.0])
    waves = (np.sin, np.cos, lambda x: -np.sin(x))
    q, qd, qdd = (np.stack([w**d * f(w * x) for x in t]) for d, f in enumerate(waves))
    tau = robot.inverse_dynamics(q, qd, qdd) + robot.friction_torque(qd)
    return {"t": t, "q": q, "qd": qd, "tau": tau}


def columns(run, names="t q_{} qd_{} tau_{}"):
    """Columns by name, from patterns with the number of a joint."""
    found = {}
    for key, pattern in zip(run, names.split(), strict=True):
        if key == "t":
            found[pattern] = run["t"]
        else:
            found |= {pattern.format(i + 1): x for i, x in enumerate(run[key].T)}
    return found


def write_csv(path, found, separator=","):
    rows = [separator.join(found)]
    rows += [separator.join(map(repr, row)) for row in zip(*(x.tolist() for x in found.values()))]  # noqa: B905
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def same(log, run):
    for name, array in run.items():
        np.testing.assert_allclose(getattr(log, name), array, rtol=1e-12, atol=1e-9, err_msg=name)
    assert log.joints == JOINTS


# ------------------------------------------------------------------ files


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_text_is_read_whatever_separates_it(tmp_path, robot, run, separator):
    path = write_csv(tmp_path / "run.csv", columns(run), separator)
    log = Log.read(path, robot)
    same(log, run)
    assert repr(log) == "<Log 'run.csv' of 2 joints, 400 rows, 0 to 1.995 s>"
    assert "positions are q_1, q_2" in log.notes


def test_names_may_stand_in_a_comment_below_other_lines(tmp_path, robot, run):
    found = columns(run)
    rows = np.stack([*found.values()], axis=1)
    path = tmp_path / "run.txt"
    np.savetxt(path, rows, fmt="%.17g", header="recorded in May\n" + " ".join(found))
    same(Log.read(path, robot), run)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_a_trajectory_goes_through_a_file_into_a_log(tmp_path, robot, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    motion = armlet.simulate(
        robot, [0.1, -0.4], duration=0.5, dt=0.01, record=["frame_velocity"], method="rk4"
    )
    path = tmp_path / f"run.{suffix}"
    getattr(motion, f"to_{suffix}")(path)
    for source in (path, str(path), motion):
        log = Log.read(source, robot)
        for name in ("t", "q", "qd", "qdd", "tau"):
            np.testing.assert_array_equal(getattr(log, name), getattr(motion, name))
        assert log.notes == ()


def test_npz_and_mat_files_have_arrays_or_columns(tmp_path, robot, run):
    io = pytest.importorskip("scipy.io")
    np.savez(tmp_path / "arrays.npz", time=run["t"], pos=run["q"], vel=run["qd"], torque=run["tau"])
    np.savez(tmp_path / "columns.npz", **columns(run))
    io.savemat(tmp_path / "arrays.mat", run)
    io.savemat(tmp_path / "struct.mat", {"log": {**run, "comment": "in May"}})
    io.savemat(tmp_path / "turned.mat", {name: x.T for name, x in run.items()})
    for path in sorted(tmp_path.iterdir()):
        same(Log.read(path, robot), run)
    turned = Log.read(tmp_path / "turned.mat", robot)
    assert "turned.mat, q has one row per joint, and is transposed" in turned.notes


def test_npy_files_have_named_fields_or_a_known_width(tmp_path, robot, run):
    plain = np.concatenate([run["t"][:, None], run["q"], run["qd"], run["tau"]], axis=1)
    np.save(tmp_path / "plain.npy", plain)
    found = columns(run)
    fields = np.rec.fromarrays([*found.values()], names=[*found])
    np.save(tmp_path / "fields.npy", np.asarray(fields))
    np.savetxt(tmp_path / "plain.txt", plain, fmt="%.17g")
    for path in sorted(tmp_path.iterdir()):
        same(Log.read(path, robot), run)
    notes = Log.read(tmp_path / "plain.npy", robot).notes
    assert notes[0] == "columns have no names: taken as t, q, qd, tau"
    np.save(tmp_path / "plain.npy", plain[:, :3])
    with pytest.raises(DataError, match="has 3 columns without names: expected t, q and tau"):
        Log.read(tmp_path / "plain.npy", robot)


def test_damaged_files_are_data_errors(tmp_path, robot, run):
    """Whatever the decoder raises."""
    path = tmp_path / "run.npz"
    np.savez(path, **run)
    whole = path.read_bytes()
    for k in range(20, len(whole), len(whole) // 20):
        path.write_bytes(whole[:k] + b"?" + whole[k + 1 : -k])
        with pytest.raises(DataError, match=r"run\.npz cannot be read"):
            Log.read(path, robot)


def test_a_column_of_lists_in_parquet_is_an_array(tmp_path, robot, run):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = {name: x if x.ndim == 1 else x.tolist() for name, x in run.items()}
    parquet.write_table(arrow.table(table), tmp_path / "run.parquet")
    same(Log.read(tmp_path / "run.parquet", robot), run)


def test_quantities_come_from_several_files_and_arrays(tmp_path, robot, run):
    """One number per line, columns that name joints only, and an array."""
    np.savetxt(tmp_path / "time.txt", run["t"], fmt="%.17g")
    np.savetxt(tmp_path / "positions.txt", run["q"].ravel(), fmt="%.17g")
    torques = {"Joint_2": run["tau"][:, 1], "Joint_1": run["tau"][:, 0]}
    write_csv(tmp_path / "torques.csv", torques)
    source = {
        "t": tmp_path / "time.txt",
        "q": str(tmp_path / "positions.txt"),
        "qd": run["qd"],
        "tau": tmp_path / "torques.csv",
    }
    log = Log.read(source, robot, name="run 7")
    same(log, run)
    assert log.name == "run 7"
    assert any("one number per line, taken as 2 joints sample by sample" in x for x in log.notes)


def test_decimal_commas_are_read(tmp_path, robot, run):
    path = write_csv(tmp_path / "run.csv", columns(run), ";")
    path.write_text(path.read_text().replace(".", ","))
    same(Log.read(path, robot), run)


def test_dates_are_times(tmp_path, robot, run):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    stamps = np.datetime64("2026-05-01T12:00", "ns") + np.round(run["t"] * 1e9).astype("m8[ns]")
    table = {**columns(run), "t": stamps}
    parquet.write_table(arrow.table(table), tmp_path / "run.parquet")
    text = {**columns(run), "t": np.array([f"{x}Z" for x in stamps.astype(str)])}
    path = write_csv(tmp_path / "run.csv", text)
    path.write_text(path.read_text().replace("'", ""))
    for path in (tmp_path / "run.parquet", tmp_path / "run.csv"):
        same(Log.read(path, robot), run)


def test_text_within_a_table_is_left_out_or_named(tmp_path, robot, run):
    path = write_csv(tmp_path / "run.csv", columns(run))
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header + ",mode", *(row + ",auto" for row in rows)]))
    log = Log.read(path, robot)
    same(log, run)
    assert "columns of text are left out: mode" in log.notes
    rows[2] = rows[2].rpartition(",")[0] + ",high"
    path.write_text("\n".join([header, *rows]))
    with pytest.raises(DataError, match="line 4, column 'tau_2' is 'high': expected a number"):
        Log.read(path, robot)
    rows[2] = rows[2].rpartition(",")[0]
    path.write_text("\n".join([header, *rows]))
    with pytest.raises(DataError, match="line 4 has 6 cells: expected 7"):
        Log.read(path, robot)


def test_files_that_cannot_be_read_are_named(tmp_path, robot):
    with pytest.raises(DataError, match=r"no file .*absent\.csv"):
        Log.read(tmp_path / "absent.csv", robot)
    for name, text in {
        "run.xyz": r"ends in '\.xyz': expected \.csv",
        "run.csv": "has no numbers",
        "run.npz": r"run\.npz cannot be read: BadZipFile",
        "run.npy": r"run\.npy cannot be read: ValueError",
        "run.parquet": r"run\.parquet cannot be read: ArrowInvalid",
        "run.mat": r"run\.mat cannot be read: MatReadError",
    }.items():
        if name.endswith("parquet"):
            pytest.importorskip("pyarrow")
        (tmp_path / name).write_text("nothing, really\n")
        with pytest.raises(DataError, match=text):
            Log.read(tmp_path / name, robot)


def test_times_are_numbers(robot, run):
    with pytest.raises(DataError, match="time has numbers of type bool: expected floats"):
        Log.read({**run, "t": run["t"] > 1}, robot)


def test_a_last_line_that_is_cut_off_is_left_out_with_a_warning(tmp_path, robot, run):
    path = write_csv(tmp_path / "run.csv", columns(run))
    lines = path.read_bytes().splitlines(keepends=True)
    for last in (lines[-1][:30], lines[-1][:30] + b"\n", lines[-1][: lines[-1].rindex(b",") + 1]):
        path.write_bytes(b"".join(lines[:-1]) + last)
        with pytest.warns(
            DataWarning, match=r"run\.csv: line 401, the last one, is cut off and left"
        ):
            log = Log.read(path, robot)
        same(log, {name: x[:-1] for name, x in run.items()})
    path.write_bytes(b"".join(lines)[:-4])
    assert (
        "run.csv has no line break at its end: its last number may be cut"
        in Log.read(path, robot).notes
    )
    path.write_bytes(b"".join([*lines[:6], lines[6][:30] + b"\n", *lines[7:]]))
    with pytest.raises(DataError, match=r"run\.csv, line 7 has \d cells: expected 7"):
        Log.read(path, robot)


# ------------------------------------------------------------------ bags


@pytest.mark.parametrize("plugin", ["MCAP", "SQLITE3"])
def test_bags_are_read_by_the_names_of_joints(tmp_path, robot, run, plugin):
    rosbag2 = pytest.importorskip("rosbags.rosbag2", reason="rosbags is not installed")
    typesys = pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    Time, Header, State = (
        store.types[name]
        for name in (
            "builtin_interfaces/msg/Time",
            "std_msgs/msg/Header",
            "sensor_msgs/msg/JointState",
        )
    )

    def message(ns, names, *arrays):
        header = Header(Time(*divmod(ns, 10**9)), "")
        return store.serialize_cdr(State(header, names, *arrays), State.__msgtype__)

    folder = tmp_path / "bag"
    with rosbag2.Writer(folder, version=9, storage_plugin=rosbag2.StoragePlugin[plugin]) as writer:
        arm, gripper = (
            writer.add_connection(topic, State.__msgtype__, typestore=store)
            for topic in ("/arm/joint_states", "/gripper/joint_states")
        )
        for k in range(K):
            ns = 1_700_000_000_000_000_000 + k * 5_000_000
            rows = [np.array([*run[name][k][::-1], 0.0]) for name in ("q", "qd", "tau")]
            writer.write(arm, ns, message(ns, ["arm_joint2", "arm_joint1", "finger"], *rows))
            if k % 10 == 0:
                writer.write(gripper, ns, message(ns, ["finger"], *np.zeros((3, 1))))
    for path in (folder, *folder.glob("*.mcap"), *folder.glob("*.db3")):
        log = Log.read(path, robot)
        same(log, run)
        assert log.notes[0] == "joint states are those of topic /arm/joint_states"
        assert "other topics of joint states are left out: /gripper/joint_states" in log.notes
    with pytest.raises(DataError, match="has no '/x' with messages of type sensor_msgs"):
        Log.read(folder, robot, topic="/x")
    with pytest.raises(DataError, match="joints finger, among which joint 'joint1'"):
        Log.read(folder, robot, topic="/gripper/joint_states")


def test_without_rosbags_a_bag_says_what_is_needed(tmp_path, robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "rosbags.highlevel", None)
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with pytest.raises(armlet.ArmletError, match="rosbags is needed"):
        Log.read(tmp_path, robot)


# ------------------------------------------------------------------ columns


@pytest.mark.parametrize(
    ("name", "quantity", "joint"),
    [
        ("t", "t", None),
        ("timestamp_ns", "t", None),
        ("Time [ms]", "t", None),
        ("q.joint1", "q", "joint1"),
        ("q1", "q", 1),
        ("pos_1", "q", 1),
        ("position_joint1", "q", "joint1"),
        ("joint1/position", "q", "joint1"),
        ("J2 Pos (deg)", "q", 2),
        ("jointPos[0]", "q", 0),
        ("actual_q_0", "q", 0),
        ("current_position_3", "q", 3),
        ("theta_dot_2", "qd", 2),
        ("dq_1", "qd", 1),
        ("panda_joint2_velocity", "qd", "joint2"),
        ("qdd.joint2", "qdd", "joint2"),
        ("tau_J[4]", "tau", 4),
        ("effort_7", "tau", 7),
        ("joint2_torque_nm", "tau", "joint2"),
        ("actual_current_5", "current", 5),
        ("target_q_0", None, 0),
        ("tau_J_d[1]", None, 1),
        ("q_cmd_1", None, 1),
        ("actual_TCP_speed_1", None, 1),
        ("kinetic", None, None),
    ],
)
def test_a_name_says_quantity_and_joint(name, quantity, joint):
    assert column(name, JOINTS) == (quantity, joint)


def test_joints_are_put_in_the_order_of_the_robot(tmp_path, robot, run):
    found = {"time": run["t"]}
    for i in (1, 0):
        found[f"joint{i + 1}/effort"] = run["tau"][:, i]
        found[f"joint{i + 1}/position"] = run["q"][:, i]
        found[f"actual_qd_{i}"] = run["qd"][:, i]
        found[f"target_q_{i}"] = 0 * run["t"]
    same(Log.read(write_csv(tmp_path / "run.csv", found), robot), run)


def test_columns_can_be_named(tmp_path, robot, run):
    found = columns(run, "clock alpha{} rate_joint{} drive{}")
    path = write_csv(tmp_path / "run.csv", found)
    with pytest.raises(DataError, match=r"no positions: it has clock, alpha1, .* expected names"):
        Log.read(path, robot)
    named = {"t": "clock", "q": ["alpha1", "alpha2"], "qd": "rate_{}", "tau": "drive{}"}
    same(Log.read(path, robot, columns=named), run)
    with pytest.raises(DataError, match="no column 'beta1', which columns= names for the posit"):
        Log.read(path, robot, columns={**named, "q": ["beta1", "alpha2"]})
    with pytest.raises(DataError, match="names 1 columns for the positions: expected 2"):
        Log.read(path, robot, columns={**named, "q": ["alpha1"]})
    with pytest.raises(DataError, match="columns= has 'p': expected t, q, qd"):
        Log.read(path, robot, columns={"p": "alpha1"})
    with pytest.raises(DataError, match=r"no column 'alpha\{x\}', which columns= names"):
        Log.read(path, robot, columns={**named, "q": "alpha{x}"})


def test_missing_and_ambiguous_columns_are_named(tmp_path, robot, run):
    found = columns(run)
    without = {name: x for name, x in found.items() if not name.startswith("tau")}
    with pytest.raises(DataError, match=r"has no torques: it has t, q_1, .* tau_1 or torque_1"):
        Log.read(write_csv(tmp_path / "a.csv", without), robot)
    without = {name: x for name, x in found.items() if name != "q_2"}
    with pytest.raises(DataError, match="positions in the columns q_1: expected one for each"):
        Log.read(write_csv(tmp_path / "b.csv", without), robot)
    double = {**found, "pos_1": run["t"], "pos_2": run["t"]}
    with pytest.raises(DataError, match="positions more than once, in q_1, q_2, pos_1, pos_2"):
        Log.read(write_csv(tmp_path / "c.csv", double), robot)
    without = {name: x for name, x in found.items() if name != "t"}
    path = write_csv(tmp_path / "d.csv", without)
    with pytest.raises(DataError, match=r"d\.csv has no time: give rate="):
        Log.read(path, robot)
    same(Log.read(path, robot, rate=200), run)
    with pytest.raises(DataError, match="rate is -1"):
        Log.read(path, robot, rate=-1)


def test_sources_that_do_not_fit_say_what_was_expected(robot, run):
    for change, text in {
        "speed": "the log has 'speed': expected t, q, qd",
        "q": r"the log's q has shape \(400, 3\): expected 2 columns",
        "t": "has 399 times and 400 rows of positions",
        "tau": r"tau has shape \(399, 2\): expected \(400, 2\)",
    }.items():
        source = {**run, "speed": run["qd"]} if change == "speed" else dict(run)
        source["q"] = np.zeros((K, 3)) if change == "q" else run["q"]
        source |= {change: run[change][1:]} if change in ("t", "tau") else {}
        with pytest.raises(DataError, match=text):
            Log.read(source, robot)


def doubled(path, found, again):
    """A table with a further column of the name of another."""
    write_csv(path, {**found, "AGAIN": again})
    path.write_text(path.read_text().replace("AGAIN", "q_1"))
    return path


def test_of_a_column_that_is_there_twice_the_first_is_taken_and_the_other_can_be_named(
    tmp_path, robot, run
):
    found = columns(run)
    path = doubled(tmp_path / "run.csv", found, run["q"][:, 0] ** 2)
    with pytest.warns(DataWarning, match=r"column 'q_1' is there twice: the first one is taken"):
        same(Log.read(path, robot), run)
    log = Log.read(path, robot, columns={"q": ["q_1 (column 8)", "q_2"]})
    np.testing.assert_allclose(log.q[:, 0], run["q"][:, 0] ** 2, atol=1e-12)
    log = Log.read(doubled(path, found, run["q"][:, 0]), robot)
    same(log, run)
    assert "column 'q_1' is there twice, with the same numbers" in log.notes
    same(Log.read(doubled(path, {**found, "x": run["t"]}, run["q"][:, 0]), robot), run)


def test_names_of_joints_beside_arrays_say_their_order(tmp_path, robot, run):
    turned = {name: x if x.ndim == 1 else x[:, ::-1] for name, x in run.items()}
    np.savez(tmp_path / "run.npz", **turned, joint_names=["joint2", "joint1"])
    same(Log.read(tmp_path / "run.npz", robot), run)
    np.savez(tmp_path / "run.npz", **run, joint_names=["shoulder", "elbow"])
    log = Log.read(tmp_path / "run.npz", robot)
    same(log, run)
    assert "shoulder, elbow are no joints of the robot: taken in its order" in log.notes
    np.savez(tmp_path / "run.npz", **run, joint_names=["joint2", "joint3"])
    with pytest.raises(DataError, match="among which joint 'joint1' of the robot is not found"):
        Log.read(tmp_path / "run.npz", robot)


def test_columns_of_a_data_frame_are_in_the_order_of_their_names(robot, run):
    class Frame:
        """What a DataFrame of pandas or Polars has of use here."""

        def __init__(self, array, columns):
            self.array, self.columns = array, columns

        def __array__(self, dtype=None, copy=None):
            return self.array

    same(Log.read({**run, "q": Frame(run["q"][:, ::-1], ["joint2", "joint1"])}, robot), run)
    same(Log.read({**run, "q": Frame(run["q"], range(2))}, robot), run)
    same(Log.read({**run, "t": Frame(run["t"][:, None], ["time"])}, robot), run)


def test_plain_numbers_of_one_joint_begin_with_time(tmp_path):
    one = armlet.Robot.from_dh([[0, 0, 1, 0]], convention="standard")
    rows = np.stack([np.arange(50) / 100, np.sin(np.arange(50)), np.cos(np.arange(50))], axis=1)
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",")
    log = Log.read(tmp_path / "run.csv", one)
    np.testing.assert_allclose(log.t, rows[:, 0])
    np.testing.assert_allclose(log.tau, rows[:, 2:])


def test_joints_that_a_file_does_not_tell_apart_are_refused():
    with pytest.raises(DataError, match="which do not tell those of the robot apart"):
        match_joints(("arm", "hand"), ("arm_1", "arm_2"), "run.npz")


# ------------------------------------------------------------------ time and units


@pytest.mark.parametrize("start", [0, 1_700_000_000])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_the_unit_of_time_is_guessed_by_its_size(robot, run, start, unit):
    size = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    stamps = run["t"] * size + start * size
    if unit != "s":
        stamps = np.round(run["t"] * size).astype(np.int64) + start * size
    log = Log.read({**run, "t": stamps}, robot)
    np.testing.assert_allclose(log.t, run["t"], atol=1e-6 if unit == "s" and start else 1e-12)
    guessed = [note for note in log.notes if "time is taken" in note]
    why = "its size" if start else "the measured velocities"
    assert guessed == ([] if unit == "s" else [f"time is taken to be in {unit}, by {why}"])


SINES = np.sin(np.arange(200)[:, None] * [0.02, 0.03])
"""Positions of 200 rows, at most 0.03 rad apart."""


@pytest.mark.parametrize(
    ("step", "unit"),
    [
        (1e-4, "s"),
        (1e-3, "s"),
        (0.14, "s"),  # nothing else is possible
        (0.2, "s"),
        (0.4, "s"),  # 150 rad/s in ms
        (1.0, None),
        (5.0, None),
        (1e3, None),
        (1e6, None),
    ],
)
def test_time_without_a_unit_is_in_seconds_or_nothing_else_is_possible(robot, step, unit):
    q = SINES if step != 0.4 else 2 * SINES
    run = {"t": step * np.arange(200), "q": q, "tau": robot.gravity_torque(q)}
    if unit is None:
        with pytest.raises(
            DataError, match=r"may be in \w+ or \w+: give units={'t': \.\.\.} or rate="
        ):
            Log.read(run, robot)
        unit = "ms"
        run["t"] = run["t"].astype(int)
        assert Log.read(run, robot, units={"t": "ms"}).duration == pytest.approx(0.199 * step)
    else:
        assert Log.read(run, robot).duration == pytest.approx(199 * step)


def test_stamps_since_a_start_are_not_taken_for_dates(robot, run):
    """Nanoseconds of a computer that runs for two days are microseconds of a date by their size."""
    stamps = np.round(run["t"] * 1e9).astype(np.int64) + 172_800 * 10**9
    np.testing.assert_allclose(Log.read({**run, "t": stamps}, robot).t % 1e5, 72800 + run["t"])
    seconds = 1_700_000_000 + 0.2 * np.arange(200)
    slow = {"t": seconds, "q": SINES / 9, "tau": robot.gravity_torque(SINES / 9)}
    with pytest.raises(DataError, match=r"rows are 0\.2 apart in time, which may be in s or ms"):
        Log.read(slow, robot)


def test_a_slow_trajectory_is_in_seconds(tmp_path, robot):
    still = armlet.simulate(robot, [-np.pi / 2, 0], duration=20.0, dt=1.0)
    for ending in ("csv", "npz"):
        path = tmp_path / f"run.{ending}"
        getattr(still, f"to_{ending}")(path)
        with pytest.warns(DataWarning, match="never moves"):
            assert Log.read(path, robot).duration == 20.0
    with pytest.warns(DataWarning, match="never moves"):
        assert Log.read(still, robot).duration == 20.0


def test_stamps_may_be_in_two_columns(tmp_path, robot, run):
    ns = np.round(run["t"] * 1e9).astype(np.int64) + 1_700_000_000_123_000_000
    found = {"header.stamp.sec": ns // 10**9, "header.stamp.nanosec": ns % 10**9, **columns(run)}
    del found["t"]
    log = Log.read(write_csv(tmp_path / "run.csv", found), robot)
    np.testing.assert_allclose(log.t, run["t"], atol=1e-9)


def test_units_are_those_of_names_or_given(tmp_path, robot, run):
    degrees = {**run, "t": run["t"] * 1e3, "q": np.degrees(run["q"]), "qd": np.degrees(run["qd"])}
    units = {"t": "ms", "q": "deg"}
    same(Log.read(degrees, robot, units=units), run)
    found = columns(degrees, "time_ms q{}_deg qd{} tau{}")
    log = Log.read(write_csv(tmp_path / "run.csv", found), robot)
    same(log, run)
    assert {"positions are in deg", "velocities are in deg/s"} <= set(log.notes)
    rpm = {**run, "qd": run["qd"] * 30 / np.pi, "tau": run["tau"] * 1e3}
    same(Log.read(rpm, robot, units={"qd": "rpm", "tau": "mNm"}), run)
    with pytest.raises(DataError, match="units= has 'furlong' for q: expected rad, deg"):
        Log.read(run, robot, units={"q": "furlong"})
    with pytest.raises(DataError, match="units= has 'h' for t: expected s, ms"):
        Log.read(run, robot, units={"t": "h"})
    with pytest.raises(DataError, match=r"units= has 'deg' for 'pos': expected a unit by quantity"):
        Log.read(run, robot, units={"pos": "deg"})
    with pytest.raises(DataError, match=r"units= has .* for 'q': expected a unit by quantity"):
        Log.read(run, robot, units={"q": ["deg", "rad"]})


def test_dates_and_durations_are_time_in_their_own_unit(robot, run):
    """However short: rows 0.1 ms apart would not be believed as a guess."""
    steps = np.arange(len(run["t"])) * np.timedelta64(100, "us")
    dates = np.datetime64("2026-01-01T12:00") + steps
    arrays = {"t": np.arange(len(steps)) * 1e-4, "q": run["q"], "tau": run["tau"]}
    for t in (steps, dates, np.ma.array(steps), np.ma.array(dates)):
        same(Log.read({**arrays, "t": t}, robot), arrays)
    with pytest.raises(DataError, match="q is said to be in ns, which no joint of the robot can"):
        Log.read({**arrays, "q": np.stack([dates, dates], axis=1)}, robot)


def test_every_column_has_its_own_unit(tmp_path, arms):
    """Revolute and prismatic joints, in any order of the columns."""
    robot = arms["stanford"].with_inertia(np.zeros((6, 10)))
    rng = np.random.default_rng(0)
    q, tau = rng.uniform(-0.5, 0.5, (100, 6)), rng.uniform(-5, 5, (100, 6))
    units = {
        "q1_rad": 1,
        "q2 [°]": np.pi / 180,
        "q3_mm": 1e-3,
        "q4 (deg)": np.pi / 180,
        "q5_rev": 2 * np.pi,
        "q6_mrad": 1e-3,
        "tau1": 1,
        "tau2_Nm": 1,
        "tau3_kN": 1e3,
        "tau4 (mN·m)": 1e-3,
        "tau5Ncm": 1e-2,
        "tau6_mNm": 1e-3,
    }
    units |= {"t": 1.0}
    truth = dict(zip(units, [*q.T, *tau.T, np.arange(100) / 50], strict=True))
    del units["tau1"], truth["tau1"]
    units["tau1_Nm"], truth["tau1_Nm"] = 1, tau[:, 0]
    names = rng.permutation(list(units))
    path = write_csv(tmp_path / "run.csv", {name: truth[name] / units[name] for name in names})
    for encoding in ("utf-8", "latin-1"):
        (tmp_path / "again.csv").write_text(path.read_text("utf-8"), encoding=encoding)
        log = Log.read(tmp_path / "again.csv", robot)
        np.testing.assert_allclose(log.q, q, rtol=1e-12)
        np.testing.assert_allclose(log.tau, tau, rtol=1e-12)
    one, *_, six = robot.joint_names
    joined = " ".join(log.notes)
    assert f"mrad ({six})" in joined
    assert f"positions are in rad ({one})" in joined


def test_units_that_do_not_fit_their_joint_are_refused(tmp_path, robot, run):
    found = columns(run, "t q_{} qd_{} tau_{}")

    def renamed(**names):
        named = {names.get(name, name): x for name, x in found.items()}
        return write_csv(tmp_path / "run.csv", named)

    with pytest.raises(DataError, match="positions of joint 'joint2' are in mm by the name of th"):
        Log.read(renamed(q_1="q_1_rad", q_2="q_2_mm"), robot)
    with pytest.raises(DataError, match="positions of joint 'joint2' have no unit in the name"):
        Log.read(renamed(q_1="q_1_deg"), robot)
    with pytest.raises(DataError, match="q is said to be in mm, which no joint of the robot can"):
        Log.read(renamed(), robot, units={"q": "mm"})
    same(Log.read(renamed(q_1="q_1_rad"), robot), run)


def test_a_joint_called_like_a_unit_is_none():
    assert unit_of("q.rev1", "q", ("rev1", "rev2")) is None
    assert unit_of("rev1_pos", "q", ()) is None
    assert unit_of("pos_1_rev", "q", ()) == "rev"
    assert unit_of("current_2_mA", "current", ()) == "mA"
    assert column("qdd1 (rad/s^2)", ()) == ("qdd", 1)
    assert column("qdd_1_rad_s2", ()) == ("qdd", 1)


@pytest.mark.parametrize(
    ("name", "quantity", "joint", "unit"),
    [
        ("tau1 [N·mm]", "tau", 1, "Nmm"),
        ("tau1 [N mm]", "tau", 1, "Nmm"),
        ("tau1_Nmm", "tau", 1, "Nmm"),
        ("tau1 [N cm]", "tau", 1, "Ncm"),
        ("tau1 (N.m)", "tau", 1, "Nm"),
        ("q1 [mdeg]", "q", 1, "mdeg"),
        ("q1 [turn]", "q", 1, "rev"),
        ("q1 [revolutions]", "q", 1, "rev"),
        ("q1 (radians)", "q", 1, "rad"),
        ("dq1 [rev/min]", "qd", 1, "rpm"),
        ("dq2 [1/min]", "qd", 2, "rpm"),
        ("dq2 [min⁻¹]", "qd", 2, "rpm"),
        ("dq2 [deg/min]", "qd", 2, "deg/min"),
        ("dq1 [rad/s]", "qd", 1, "rad/s"),
        ("dq1 (°/sec)", "qd", 1, "deg/s"),
        ("dq1 [m s^-1]", "qd", 1, "m/s"),
        ("qdd1 [rad/s²]", "qdd", 1, "rad/s²"),
        ("qdd1 [rad s⁻²]", "qdd", 1, "rad/s²"),
        ("qdd1 [deg/s/s]", "qdd", 1, "deg/s²"),
        ("time [sec]", "t", None, "s"),
        ("time [min]", "t", None, "min"),
        ("I2 [Amps]", "current", 2, "A"),
        ("tau2 [0.1 Nm]", "tau", 2, "0.1 Nm"),
        ("tau1 [MNm]", "tau", 1, "MNm"),
        ("q1 [min]", None, 1, None),
        ("tau1 (desired)", None, 1, None),
        ("q1 (measured)", "q", 1, None),
        ("q[0]", "q", 0, None),
        ("q(12)", "q", 12, None),
        ("q [J2]", "q", 2, None),
        ("joint_states.position[3]", "q", 3, None),
        ("position[joint2]", "q", "joint2", None),
        ("position[joint2] (deg)", "q", "joint2", "deg"),
        ("q[shoulder_pan_joint]", "q", None, None),
        ("J2 (position)", "q", 2, None),
        ("cell (left).q2 [deg]", "q", 2, "deg"),
    ],
)
def test_brackets_have_a_unit_a_joint_or_a_label(name, quantity, joint, unit):
    assert column(name, JOINTS) == (quantity, joint)
    if quantity is not None:
        assert unit_of(name, quantity, JOINTS) == unit


@pytest.mark.parametrize(
    "metadata",
    ["bench 3, Monday", "[1]", "7", '{"joints": 3}', '{"joints": [1, 2]}', '"joints"', np.eye(2)],
)
def test_an_array_called_metadata_may_be_anything(tmp_path, robot, run, metadata):
    np.savez(tmp_path / "run.npz", **run, metadata=metadata)
    same(Log.read(tmp_path / "run.npz", robot), run)
    rest = {"qdd": run["q"], "kinetic": run["t"], "potential": run["t"]}
    np.savez(tmp_path / "run.npz", **run, **rest, metadata=metadata)
    with pytest.raises(DataError, match=r"run\.npz is no trajectory: it has no metadata"):
        armlet.Trajectory.read(tmp_path / "run.npz")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[("tau_1", f"tau_1 [{x}]") for x in ("%", "lbf in", "ft-lb", "MNm", "daNm", "uNm")],
        *[("q_1", f"q_1 ({x})") for x in ("counts", "urad", "milliradians", "0.1 deg")],
        *[("t", x) for x in ("t [0.1ms]", "time (10us)", "t [h]")],
        *[("qd_1", f"qd_1 [{x}]") for x in ("1/s", "rad/ms", "counts/s")],
    ],
)
def test_an_unknown_unit_in_brackets_is_refused_by_its_column(tmp_path, robot, run, old, new):
    found = {new if name == old else name: x for name, x in columns(run).items()}
    path = write_csv(tmp_path / "run.csv", found)
    quantity, unit = old.removesuffix("_1"), re.escape(new[:-1].replace("(", "[").split("[")[1])
    message = rf"{re.escape(new)}' names the unit '{unit}'.* expected \S+, .*units=\{{'{quantity}'"
    with pytest.raises(DataError, match=message):
        Log.read(path, robot)
    si = {"t": "s", "q": "rad", "qd": "rad/s", "tau": "Nm"}
    same(Log.read(path, robot, units={quantity: si[quantity]}), run)


def test_units_in_brackets_are_converted(tmp_path, robot, run):
    scaled = {
        "t": run["t"] / 60,
        "q": np.degrees(run["q"]) * 1e3,
        "qd": run["qd"] * 30 / np.pi,
        "tau": run["tau"] * 1e3,
    }
    found = columns(scaled, "time[min] q{}[mdeg] qd{}[rev/min] tau{}[N·mm]")
    same(Log.read(write_csv(tmp_path / "run.csv", found), robot), run)
    found = {**columns(run), "current_1 [%]": 0 * run["t"], "current_2 [%]": run["t"]}
    same(Log.read(write_csv(tmp_path / "run.csv", found), robot), run)  # they are not used
    with pytest.raises(DataError, match=r"'current_2 \[%\]' names the unit '%', which is unknown"):
        Log.read(tmp_path / "run.csv", robot, gains=1.0)


def test_degrees_are_of_revolute_joints_only(arms):
    robot = arms["stanford"].with_inertia(np.zeros((6, 10)))
    q = np.random.default_rng(0).uniform(-0.5, 0.5, (100, 6))
    degrees = np.where([joint.letter == "R" for joint in robot.joints], np.degrees(q), q)
    log = Log.read({"q": degrees, "tau": 0 * q}, robot, rate=100, units={"q": "deg"})
    np.testing.assert_allclose(log.q, q)


# ------------------------------------------------------------------ motors


def test_motors_are_taken_to_the_joints(robot, run):
    """Power is the same on both sides, so that torques go by the transpose."""
    N = np.array([[50.0, 0], [20.0, -40.0]])
    motors = {
        "t": run["t"],
        "q": run["q"] @ N.T,
        "qd": run["qd"] @ N.T,
        "tau": run["tau"] @ np.linalg.inv(N),
    }
    motors["q"] = motors["q"] - [5.0, 0.0] @ N.T
    log = Log.read(motors, robot, ratios=N, offsets={"joint1": 5.0})
    same(log, run)
    other = Log.read(motors, robot, ratios=N, torque_ratios=N.T, offsets=[5.0, 0.0], name="other")
    same(other, run)
    geared = {
        **run,
        "q": run["q"] * [50, -40],
        "qd": run["qd"] * [50, -40],
        "tau": run["tau"] / [50, -40],
    }
    same(Log.read(geared, robot, ratios=[50, -40]), run)
    same(Log.read(geared, robot, ratios={"joint1": 50, "joint2": -40}), run)


def test_currents_times_gains_are_torques(robot, run):
    currents = {"t": run["t"], "q": run["q"], "current": run["tau"] / [2.0, 0.5] * 1e3}
    log = Log.read(currents, robot, gains=[2.0, 0.5], units={"current": "mA"})
    np.testing.assert_allclose(log.tau, run["tau"])
    with pytest.raises(DataError, match="has currents and no torques: give gains="):
        Log.read(currents, robot)
    with pytest.raises(DataError, match="has no currents, which gains= is for"):
        Log.read(run, robot, gains=1.0)


def test_transmissions_that_do_not_fit_are_refused(robot, run):
    for options, text in (
        (
            {"ratios": [1, 2, 3]},
            r"ratios= has shape \(3,\): expected a finite number for each of 2 joints",
        ),
        (
            {"ratios": {"joint9": 2}},
            "a joint of ratios= is 'joint9': expected one of joint1, joint2",
        ),
        ({"ratios": [0, 1]}, "ratios= cannot be inverted"),
        ({"ratios": np.ones((2, 2))}, "ratios= cannot be inverted"),
        ({"ratios": np.ones((2, 3))}, r"ratios= has shape \(2, 3\): expected shape \(2, 2\)"),
        ({"torque_ratios": np.ones(2)}, r"torque_ratios= has shape \(2,\): expected shape"),
    ):
        with pytest.raises(DataError, match=text):
            Log.read(run, robot, **options)


# ------------------------------------------------------------------ errors and warnings


def test_time_that_goes_back_names_the_row(robot, run):
    t = run["t"].copy()
    t[17] = t[15]
    with pytest.raises(DataError, match=r"goes back from 0\.08 s at row 16 to 0\.075 s"):
        Log.read({**run, "t": t}, robot)
    t[17] = np.nan
    with pytest.raises(DataError, match="t is nan at row 17"):
        Log.read({**run, "t": t}, robot)


def test_rows_with_the_same_time_are_left_out_and_noted(robot, run):
    rows = np.sort(np.concatenate([np.arange(K), [3, 90]]))
    log = Log.read({name: x[rows] for name, x in run.items()}, robot)
    same(log, run)
    assert any(note.startswith("2 rows have the time of the row before") for note in log.notes)


def test_numbers_that_are_missing_are_named(robot, run):
    tau = run["tau"].copy()
    tau[40:43, 1] = tau[90, 1] = np.nan
    text = r"log: tau of joint 'joint2' is nan in rows 40 to 42 .* 4 of 400 rows in all"
    with pytest.raises(DataError, match=text):
        Log.read({**run, "tau": tau}, robot)


def test_a_log_needs_rows(robot, run):
    with pytest.raises(DataError, match="expected at least two times"):
        Log.read({name: x[:1] for name, x in run.items()}, robot)
    with pytest.raises(DataError, match=r"q has shape \(4, 2\): expected \(3, joints\)"):
        Log(np.arange(3.0), np.zeros((4, 2)), np.zeros((3, 2)))


def test_arrays_of_another_shape_are_refused_with_the_shape_of_a_log(run):
    t, q, tau = run["t"], run["q"], run["tau"]
    for wrong in (q.T, q[:, 0], q[1:]):
        with pytest.raises(DataError, match=r"log: q has shape .*: expected \(400, joints\), one"):
            Log(t, wrong, tau)
    with pytest.raises(DataError, match=r"log: tau has shape \(400,\): expected \(400, 2\), one"):
        Log(t, q, tau[:, 0])
    with pytest.raises(DataError, match=r"q has shape \(400, 2\): expected \(400, 3\), one"):
        Log(t, q, tau, joints=("a", "b", "c"))


def test_a_log_does_not_change_with_the_arrays_that_it_is_made_of(run):
    own = {name: x.copy() for name, x in run.items()}
    log = Log(**own)
    for name, x in own.items():
        x += 1
        np.testing.assert_array_equal(getattr(log, name), run[name])
        with pytest.raises(ValueError, match="read-only"):
            getattr(log, name)[0] = 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
@pytest.mark.parametrize(
    "units", ["s deg deg mNm mNm", "[s] [deg] [deg] [mNm] [mNm]", "(s) (°) (°) (mN·m) (mN·m)", None]
)
def test_a_line_of_units_and_the_encodings_of_spreadsheets_are_read(
    robot, run, tmp_path, encoding, units
):
    scale = (1, 1) if units is None else (np.rad2deg(1), 1e3)
    rows = np.c_[run["t"], scale[0] * run["q"], scale[1] * run["tau"]]
    lines = ["\t".join(map(repr, row)) for row in rows.tolist()]
    above = [] if units is None else [units.replace(" ", "\t")]
    text = "\n".join(["a title", "t\tq1\tq2\ttau1\ttau2", *above, *lines, ""])
    mark = "\ufeff" if encoding == "utf-16-be" else ""  # Python writes the one of utf-16 itself
    (tmp_path / "run.txt").write_text(mark + text, encoding=encoding)
    log = Log.read(tmp_path / "run.txt", robot)
    same(log, {name: run[name] for name in ("t", "q", "tau")})
    assert not any("line break" in note for note in log.notes)


def test_a_joint_that_never_moves_is_named(robot, run):
    """Logs of gravity torques have such joints, so that it is no error."""
    still = {**run, "q": run["q"] * [1, 0], "qd": run["qd"] * [1, 0]}
    with pytest.warns(DataWarning, match="log: joint 'joint2' never moves") as caught:
        log = Log.read(still, robot)
    assert len(caught) == 1
    assert log.notes[-1].startswith("joint 'joint2' never moves")


@pytest.mark.parametrize("half", [0.0, np.pi])
def test_turns_of_an_encoder_that_counts_one_are_added_up_with_a_warning(robot, half):
    t = np.arange(400) / 100
    q = np.stack([4 * t, 2 + np.sin(3 * t)], axis=1)
    wrapped = (q + half) % (2 * np.pi) - half
    run = {"t": t, "tau": robot.gravity_torque(q)}
    text = r"joint 'joint1' jumps by a turn at \d\.\d+ s \(row \d+\), \d times in all.* added up"
    with pytest.warns(DataWarning, match=text):
        log = Log.read({**run, "q": wrapped}, robot)
    off = (log.q - q) / (2 * np.pi)
    np.testing.assert_allclose(off, np.round(off[:1]) + 0 * off, atol=1e-9)
    wrapped[200, 0] += 2.5
    with pytest.warns(DataWarning, match="jumps by a turn .* use numpy.unwrap on this column"):
        log = Log.read({**run, "q": wrapped}, robot)
    np.testing.assert_array_equal(log.q, wrapped)


def test_postures_far_apart_are_no_turns(robot):
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (300, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        log = Log.read({"q": q, "tau": robot.gravity_torque(q)}, robot, rate=1.0)
    np.testing.assert_array_equal(log.q, q)


def test_arrays_that_are_no_numbers_are_refused(robot, run):
    for q, text in (
        (run["q"] + 1j, "the log's q has entries of type complex128: expected real numbers"),
        ([["a", "b"]], "the log's q has entries of type <U1"),
        ([[1.0, 2.0], [3.0]], "the log's q is no array: expected rows of equal length"),
        (np.ma.masked_array(run["q"], run["q"] > 0.5), "q of joint 'joint1' is nan in rows"),
    ):
        with pytest.raises(DataError, match=text):
            Log.read({**run, "q": q}, robot)
    with pytest.raises(DataError, match="the log is 3: expected a file"):
        Log.read(3, robot)


def test_saturated_torques_are_named(robot, run):
    limit = 0.8 * np.abs(run["tau"][:, 0]).max()
    clipped = {**run, "tau": np.clip(run["tau"], -limit, limit)}
    with pytest.warns(DataWarning, match="the torque of joint 'joint1' stays at its largest"):
        Log.read(clipped, robot)


def test_coarse_torques_are_not_taken_for_saturated(robot, run):
    """Near a peak they stay the same for long."""
    step = np.abs(run["tau"]).max() / 100
    Log.read({**run, "tau": np.round(run["tau"] / step) * step}, robot)


def test_torques_at_the_limit_of_a_joint_are_named(arms):
    robot = arms["panda"].with_gravity((0, 0, 0))
    t = np.arange(200) / 100
    q = 0.3 * np.sin(t)[:, None] + REST
    tau = np.cos(t)[:, None] * [10, 87, 10, 10, 10, 10, 10]
    with pytest.warns(DataWarning, match="torque of joint 'joint2' reaches its limit, 87"):
        Log.read({"t": t, "q": q, "tau": tau}, robot)


def test_positions_beyond_the_limits_are_named(arms):
    robot = arms["panda"].with_gravity((0, 0, 0))
    q = 0.3 * np.sin(np.arange(200)[:, None] / 100) + REST
    q[:, 1] = np.degrees(q[:, 1])
    with pytest.warns(DataWarning, match=r"joint 'joint2' moves from .* beyond its limits"):
        Log.read({"q": q, "tau": 0 * q}, robot, rate=100)


def test_velocities_that_are_not_of_the_positions_are_named(robot, run):
    with pytest.warns(DataWarning, match=r"velocity of joint 'joint2' is 57\.3 times"):
        Log.read({**run, "qd": run["qd"] * [1, 180 / np.pi]}, robot)


def test_the_wrong_sign_of_a_torque_is_suspected(robot, run):
    with pytest.warns(DataWarning, match="torque of joint 'joint1' is opposite to gravity") as all_:
        Log.read({**run, "tau": run["tau"] * [-1, 1]}, robot)
    assert len(all_) == 1


def test_the_wrong_order_of_joints_is_suspected(arms):
    robot = arms["panda"]
    rng = np.random.default_rng(1)
    w, phase = rng.uniform(0.5, 3, 7), rng.uniform(0, 6, 7)
    q = 0.8 * np.sin(np.arange(1000)[:, None] / 100 * w + phase) + REST
    tau = robot.gravity_torque(q)
    Log.read({"q": q, "tau": tau}, robot, rate=100)
    text = "gravity on joint 'joint2' is like the torque of joint 'joint1'"
    with pytest.warns(DataWarning, match=text):
        Log.read({"q": q, "tau": tau[:, [1, 0, 2, 3, 4, 5, 6]]}, robot, rate=100)


# ------------------------------------------------------------------ a log itself


def test_logs_are_cut_by_rows_and_by_time(robot, run):
    log = Log.read(run, robot)
    assert len(log) == K
    assert log.duration == pytest.approx(1.995)
    assert log.rate == pytest.approx(200)
    assert len(log[10:20]) == 10
    part = log.between(0.5, 1.0)
    assert part.t[0] == 0.5
    assert part.t[-1] == pytest.approx(0.995)
    assert part.qd.shape == (100, 2)
    with pytest.raises(TypeError, match="cut by a slice"):
        log[3]


# ------------------------------------------------------------------ recorded arms


@recorded
def test_the_recorded_panda_is_read_without_warnings(arms):
    log = panda_log()
    assert len(log) == 20_544
    np.testing.assert_allclose(log.q.min(0)[:3], [-2.149, -1.548, -2.095], atol=1e-3)


@recorded
def test_the_recorded_tx40_is_read_from_its_motors():
    log = tx40_log()
    lowest = np.degrees(log.q.min(0))
    np.testing.assert_allclose(lowest, [-100, -94, -45, -240, -90, -200], atol=1.5)
    np.testing.assert_allclose(np.abs(log.tau).max(0), [94, 95, 34, 12, 22, 13], atol=1)


def test_a_table_has_the_columns_of_its_file(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,\n")
    arrays = read_table(tmp_path / "x.csv").arrays
    np.testing.assert_array_equal(arrays["a"], [1, 3])
    np.testing.assert_array_equal(arrays["b"], [2, np.nan])


def test_blocks_are_no_more_than_rows(robot, run):
    log = Log(run["t"], run["q"], run["tau"])
    with pytest.raises(DataError, match=r"blocks is 3000: expected at most the \d+ rows of log"):
        cross_validate(robot, log, blocks=3000)


def test_arguments_of_another_type_are_named(robot, run):
    log = Log(run["t"], run["q"], run["tau"])
    for call, message in (
        (lambda: TorqueModel(parameters="x"), "parameters is 'x': expected armlet.minimal_para"),
        (lambda: TorqueModel(rotors="yes"), "rotors is 'yes': expected True or False"),
        (lambda: TorqueModel(extra={"k": 3}), "extra is {'k': 3}: expected functions by name"),
        (lambda: TorqueModel(extra=[np.sin]), "extra is .*: expected functions by name"),
        (lambda: TorqueModel(friction=None).of_robot(robot), "friction has None: expected True,"),
        (lambda: TorqueModel(friction=3).of_robot(robot), "friction has 3: expected True, False"),
        (lambda: armlet.identify("ur5e", log), "robot is 'ur5e': expected a robot, as of armlet"),
        (lambda: cross_validate("ur5e", log, blocks=2), "robot is 'ur5e': expected a robot"),
        (lambda: identify_payload("ur5e", log), "arm is 'ur5e': expected a robot"),
        (lambda: Log.read(run, "scara"), "robot is 'scara': expected a robot, as of armlet.load"),
    ):
        with pytest.raises(DataError, match=message):
            call()
