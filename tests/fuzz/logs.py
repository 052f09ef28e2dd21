"""Logs of every form, some damaged, are read correctly or cause an error that names the file."""

import warnings
from functools import cache
from importlib.util import find_spec

import numpy as np

import armlet
from armlet import DataError, DataWarning, Log, Trajectory
from fuzz import pick

ARMS = ("planar2r", "scara", "stanford")
WORDS = {
    "t": ("t", "time", "timestamp", "Time"),
    "q": ("q", "pos", "position", "actual_q", "JointAngle"),
    "qd": ("qd", "vel", "dq", "speed"),
    "tau": ("tau", "torque", "effort", "MotorTorque"),
}
UNITS = {
    "R": {
        "q": {"rad": 1, "deg": np.pi / 180, "rev": 2 * np.pi, "mrad": 1e-3, "°": np.pi / 180},
        "qd": {"rad_s": 1, "deg/s": np.pi / 180, "rpm": np.pi / 30, "rev_s": 2 * np.pi},
        "tau": {"Nm": 1, "mNm": 1e-3, "Ncm": 1e-2, "kNm": 1e3, "mN·m": 1e-3},
    },
    "P": {
        "q": {"m": 1, "mm": 1e-3, "cm": 1e-2},
        "qd": {"m_s": 1, "mm/s": 1e-3, "cm_s": 1e-2},
        "tau": {"N": 1, "mN": 1e-3, "kN": 1e3},
    },
}
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
STARTS = (0.0, 0.0, 0.3, 40.0, 1.7e5, 1.7e6, 1.7e9)
"""First time stamps in s: zero, the time since a program or a computer started, and a date."""
OTHERS = ("target_q_1", "temperature_1", "tcp_speed_1", "status")
"""Columns that a log does not use."""
TURN = 2 * np.pi


@cache
def arm(name):
    return armlet.load(name)


def without_parquet():
    return "" if find_spec("pyarrow") else "pyarrow is not installed"


def trial(rng, folder):
    robot = arm(pick(rng, ARMS))
    truth = motion(rng, robot)
    if rng.random() < 0.15:
        check_trajectory(rng, folder, robot, truth)
        return
    path = folder / f"run.{pick(rng, ENDINGS)}"
    columns, options, is_certain = random_columns(rng, robot, truth)
    columns, spoilt = pick(rng, SPOILS)(rng, columns, path.suffix)
    separator = WRITERS[path.suffix](rng, path, columns)
    damage = pick(rng, CHANGES[separator is not None]) if rng.random() < 0.4 else None
    if damage:
        damage(rng, path, separator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            log = Log.read(path, robot, **options)
        except DataError as error:
            refused(error, path, damage or spoilt in REFUSED or not is_certain)
            return
    assert all(issubclass(x.category, DataWarning) for x in caught), [
        str(x.message) for x in caught
    ]
    said = " ".join([*(str(x.message) for x in caught), *log.notes])
    if damage is flipped and path.suffix != ".npz":  # the changed digits may be valid numbers
        return
    lost = damage is cut and spoilt == "not a number"  # the line with it has been cut off
    assert lost or spoilt not in REFUSED, f"{spoilt}, and nothing is said: {said}"
    assert damage in (None, cut, flipped), f"{damage.__name__}, and nothing is said: {said}"
    assert damage is not cut or separator, f"cut, and nothing is said: {said}"
    assert spoilt in said or damage, f"nothing is said of {spoilt!r}: {said}"
    check(log, truth, "rate" not in options, damage is cut)


def refused(error, path, has_reason):
    """Raise if an undamaged file is refused, or if the error does not name the file."""
    assert path.name in str(error), f"the file is not named: {error}"
    assert has_reason, f"refused: {error}"


def check(log, truth, has_time, is_cut):
    """Raise if the log differs from the true values; the last line may be cut."""
    rows = len(log) - is_cut
    assert rows == len(truth["t"]) or (is_cut and rows < len(truth["t"])), f"{rows} rows"
    for name, expected in truth.items():
        found, expected = getattr(log, name), expected[:rows]
        if found is None or not rows or (name == "t" and not has_time):
            continue
        found = found[:rows]
        if name == "t":
            found, expected = found - found[0], expected - expected[0]
        if name == "q":
            found = found - TURN * np.round((found - expected)[0] / TURN)
        error = np.abs(found - expected).max()
        assert error < (1e-6 if name == "t" else 1e-9), f"{name} is off by {error:.1e}"


def motion(rng, robot):
    """A smooth motion with its velocities, and random torques."""
    n, rows = robot.nv, int(rng.integers(20, 60))
    step = float(10 ** rng.uniform(-3, 0.5))
    t = step * (np.arange(rows) + (rng.uniform(0, 0.3, rows) if rng.random() < 0.3 else 0))
    w = rng.uniform(0.2, 1, n) * min(3.0, 0.3 / step)
    size, phase = rng.uniform(0.3, 1, n), rng.uniform(0, 6, n)
    q, qd = size * np.sin(np.outer(t, w) + phase), size * w * np.cos(np.outer(t, w) + phase)
    q[:, 0] += pick(rng, (0.0, 3.1))
    return {"t": t - t[0], "q": q, "qd": qd, "tau": rng.uniform(-9, 9, (rows, n))}


# ------------------------------------------------------------------ columns


def random_columns(rng, robot, truth):
    """Shuffled columns (name, numbers), options, and whether the columns are unambiguous."""
    letters = [joint.letter for joint in robot.coordinates]
    names = robot.joint_names if rng.random() < 0.3 else np.arange(robot.nv) + rng.integers(2)
    options, columns, is_si = {}, [], True
    for quantity in ("q", "tau", "qd")[: rng.integers(2, 4)]:
        word, form = pick(rng, WORDS[quantity]), pick(rng, ("_{}", " [{}]", "({})"))
        is_named = rng.random() < 0.6 or (quantity == "qd" and not is_si)
        asked = pick(rng, ("rad", "deg", "rev")) if quantity == "q" and not is_named else "rad"
        if asked != "rad":
            options["units"] = {"q": asked}
        is_si = is_si and not is_named and asked == "rad"
        for i, letter in enumerate(letters):
            units = UNITS[letter][quantity]
            unit = pick(rng, list(units)) if is_named else ""
            size = units[unit or asked] if unit or (asked != "rad" and letter == "R") else 1
            name = f"{word}_{names[i]}{form.format(unit) if unit else ''}"
            columns.append((name, truth[quantity][:, i] / size))
    time, is_certain = random_time(rng, truth["t"], options)
    columns += time
    columns += [(x, rng.normal(size=len(truth["t"]))) for x in OTHERS[: rng.integers(4)]]
    return [columns[k] for k in rng.permutation(len(columns))], options, is_certain


def random_time(rng, t, options):
    """The time column in a list, which may be empty, and whether the unit is unambiguous."""
    way = pick(rng, ("named", "named", "asked", "nothing", "rate"))
    if way == "rate":
        options["rate"] = 100.0
        return [], True
    unit, word = pick(rng, list(TIMES)), pick(rng, WORDS["t"])
    stamps = (t + pick(rng, STARTS)) / TIMES[unit]
    if unit == "ns":
        stamps = np.round(t / TIMES[unit]).astype(np.int64) + int(pick(rng, STARTS)) * 10**9
    if way == "asked":
        options["units"] = {**options.get("units", {}), "t": unit}
    name = f"{word}{pick(rng, ('_', ' '))}{unit}" if way == "named" else word
    return [(name, stamps)], way != "nothing"


def nothing(rng, columns, suffix):
    return columns, ""


def twice(rng, columns, suffix):
    """Add a second column with the name of another, if the file format allows it."""
    name, x = pick(rng, [c for c in columns if c[0] not in OTHERS])
    if suffix in (".npz", ".npy"):
        return columns, ""
    return [*columns, (name, x * 1.5 + 1)], "there twice"


def missing(rng, columns, suffix):
    k = pick(rng, [k for k, c in enumerate(columns) if c[0] not in OTHERS])
    return columns[:k] + columns[k + 1 :], "missing"


def not_a_number(rng, columns, suffix):
    k = pick(rng, [k for k, c in enumerate(columns) if c[0] not in OTHERS])
    x = columns[k][1].astype(float)
    x[rng.integers(len(x))] = pick(rng, (np.nan, np.inf))
    return [*columns[:k], (columns[k][0], x), *columns[k + 1 :]], "not a number"


def wrapped(rng, columns, suffix):
    """Wrap all angles in rad to one turn, as a single-turn encoder does."""
    said, found = "", []
    for name, x in columns:
        if name.startswith(WORDS["q"]) and np.abs(x).max() < 4.5 and "rad" in name:
            y = (x + np.pi) % TURN - np.pi
            said = "jumps by a turn" if np.abs(np.diff(y)).max() > np.pi else said
            x = y
        found.append((name, x))
    return found, said


SPOILS = (nothing, nothing, nothing, twice, missing, not_a_number, wrapped)
REFUSED = ("missing", "not a number")


# ------------------------------------------------------------------ files


def write_text(rng, path, columns):
    """Write a text file in a random form, and return the separator of its cells."""
    separator = pick(rng, (",", ",", ";", "\t", " "))
    names = [name.replace(" ", "_") if separator == " " else name for name, _ in columns]
    lines = [
        separator.join(repr(x) for x in row)
        for row in zip(*(x.tolist() for _, x in columns), strict=True)
    ]
    if separator in ";\t" and rng.random() < 0.5:
        lines = [line.replace(".", ",") for line in lines]
    above = ["# recorded by a controller", ""][: rng.integers(3)]
    head = pick(rng, ("", "# ")) + separator.join(names)
    text = pick(rng, ("\n", "\r\n")).join([*above, head, *lines, ""])
    encoding = pick(rng, ("utf-8", "utf-8-sig", "latin-1"))
    path.write_bytes(text.encode(encoding))
    return separator


def write_npz(rng, path, columns):
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(path, **dict(columns))


def write_npy(rng, path, columns):
    rows = np.zeros(len(columns[0][1]), [(name, x.dtype) for name, x in columns])
    for name, x in columns:
        rows[name] = x
    np.save(path, rows)


def write_parquet(rng, path, columns):
    from pyarrow import Table, array, parquet

    names, arrays = zip(*columns, strict=True)
    parquet.write_table(Table.from_arrays([*map(array, arrays)], [*names]), path)


WRITERS = {
    ".csv": write_text,
    ".tsv": write_text,
    ".txt": write_text,
    ".npz": write_npz,
    ".npy": write_npy,
    ".parquet": write_parquet,
}
ENDINGS = ("csv", "csv", "csv", "tsv", "txt", "npz", "npy", "parquet")


def check_trajectory(rng, folder, robot, truth):
    """Check the reader on the file of a trajectory: undamaged, cut or with flipped bits."""
    zero = np.zeros(len(truth["t"]))
    run = Trajectory(
        **truth, qdd=0 * truth["q"], kinetic=zero, potential=zero, joints=robot.joint_names
    )
    path = folder / f"run.{pick(rng, ('csv', 'npz', 'parquet'))}"
    getattr(run, f"to_{path.suffix[1:]}")(path)
    damage = pick(rng, (None, cut, flipped))
    if damage:
        damage(rng, path, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found, log = Trajectory.read(path), Log.read(path, robot)
        except DataError as error:
            refused(error, path, damage)
            return
    assert all(issubclass(x.category, DataWarning) for x in caught), [
        str(x.message) for x in caught
    ]
    if damage is flipped and path.suffix != ".npz":
        return
    assert damage is not cut or path.suffix == ".csv", "cut, and nothing is said"
    check(log, truth, True, damage is cut)
    np.testing.assert_array_equal(found.q, truth["q"][: len(found)])
    assert len(found) == len(truth["t"]) or damage is cut


# ------------------------------------------------------------------ damage


def cut(rng, path, separator):
    data = path.read_bytes()
    path.write_bytes(data[: rng.integers(len(data))])


def flipped(rng, path, separator):
    data = bytearray(path.read_bytes())
    for _ in range(rng.integers(1, 9)):
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
    path.write_bytes(data)


def torn(rng, path, separator):
    """Remove the last cells of a line inside the file."""
    change_line(rng, path, lambda x: separator.join(x.split(separator)[: -rng.integers(1, 4)]))


def joined(rng, path, separator):
    """Replace a separator by another one in a line inside the file."""
    change_line(rng, path, lambda x: x.replace(separator, "|", 1))


def change_line(rng, path, change):
    lines = path.read_bytes().decode("latin-1").split("\n")
    k = len(lines) - int(rng.integers(3, 15))  # the last line is empty, the line before may be cut
    end = "\r" if lines[k].endswith("\r") else ""
    lines[k] = change(lines[k].removesuffix("\r")) + end
    path.write_bytes("\n".join(lines).encode("latin-1"))


CHANGES = {True: (cut, flipped, torn, joined), False: (cut, flipped)}
"""The kinds of damage: of text files (True) and of other files (False)."""
