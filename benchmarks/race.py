"""The race: armlet's kernels on the Panda beside Pinocchio, CasADi and MuJoCo, in one run.

    python benchmarks/race.py                  the tables, and which bars are met
    python benchmarks/race.py --calls          the forms of a call from Python alone, in seconds
    python benchmarks/race.py --readme         the table of the README
    python benchmarks/race.py --json FILE      all of it as data

From Python, Pinocchio and MuJoCo are called as benchmarks/kernels.py does. Natively, Pinocchio's
headers are compiled here with clang and its CasADi output with gcc, which takes two minutes and is
cached in --build; that needs Eigen (pip install cmeel-eigen) and CasADi (pip install casadi), here
or in the site-packages that --site names. Peers that are not installed are skipped and listed.
"""

import argparse
import json
import os
import platform
import sys
from functools import partial
from pathlib import Path

import numpy as np
from compiled import CASADI, CLANG, HERE, native
from kernels import comparisons, nanoseconds, run, show, table
from peers import pinocchio
from rich.console import Console
from timing import DTYPES, first_call, machine_lines, random_states
from turns import Timed, time_in_turns

import armlet

CHAINS = (10, 20, 40, 60)

BARS = {
    "call": {
        "inverse_dynamics": 0.2,
        "inertia_matrix": 0.35,
        "forward_dynamics": 0.2,
        "linearization": 0.4,
    },
    CLANG: {
        "inverse_dynamics": 0.2,
        "inertia_matrix": 0.25,
        "forward_dynamics": 0.25,
        "linearization": 0.4,
    },
    CASADI: dict.fromkeys(
        ("inverse_dynamics", "inertia_matrix", "forward_dynamics", "linearization"), 0.6
    ),
    "rows": {"inverse_dynamics": 1 / 40, "forward_dynamics": 1 / 25},
}
"""armlet's time over Pinocchio's, at most."""
FIRST = {"inverse_dynamics": 0.5, "forward_dynamics": 1.5, "linearization": 5.0}
"""Seconds to trace and compile for seven joints, at most; 20 for inverse dynamics of sixty."""
FIRST_LONG, THREADED, SHARE = 20.0, 1.7, 0.6
GIVEN_ONCE = 1.3
"""Rows with inertias given once at run time over rows with fixed ones, at most."""
ROWS = 100_000
FORMS = {
    "inverse_dynamics: method": 0.11,
    "inverse_dynamics: kernel": 0.11,
    "inverse_dynamics: method, out=": 0.12,
    "inverse_dynamics: kernel, out=": 0.12,
    "inverse_dynamics: method, keywords": 0.25,
    "inverse_dynamics: kernel, keywords": 0.25,
    "inverse_dynamics: a wrench": 0.25,
    "inverse_dynamics: wrench=": 0.25,
    "jacobian: a named frame": 0.3,
    "jacobian: frame=": 0.3,
}
"""armlet's time for a form of call over Pinocchio's plain call, at most."""
TEN_ROWS = 1.5e-6
"""Seconds for a call with ten rows, at most."""
SINGLES = 1.7
"""float64 rows over float32 rows, at least."""


# ------------------------------------------------------------------ compile times


def chain(n):
    """A serial arm of n revolute joints with general frames and bodies."""
    rng = np.random.default_rng(n)
    rows = rng.uniform(-1, 1, (n, 4))
    bodies = [
        (rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3), np.diag(rng.uniform(0.1, 0.15, 3)))
        for _ in range(n)
    ]
    return armlet.Robot.from_dh(rows, convention="modified", inertia=bodies, name=f"chain{n}")


def growth():
    """First calls of inverse dynamics of longer chains, and their operations."""
    times = {}
    for n in CHAINS:
        robot = chain(n)
        count = armlet.trace(robot, "inverse_dynamics").count()
        times[str(n)] = first_call(robot, "inverse_dynamics", 1) | {"operations": count.total}
    return times


# ------------------------------------------------------------------ constants at run time


def given_once(robot, rounds):
    """Seconds per state in batches of inverse dynamics, by how the inertias are given."""
    quantity = "inverse_dynamics"
    fixed = armlet.compile(robot, quantity)
    late = armlet.compile(robot, quantity, constants={"inertia": "argument"})
    states = random_states(quantity, robot.nv, ROWS)
    phi = robot.phi.astype(float)
    every = np.ascontiguousarray(np.broadcast_to(phi, (ROWS, *phi.shape)))
    out = fixed(*states)
    given = {"fixed": (fixed, ()), "once": (late, (phi,)), "for every state": (late, (every,))}
    calls = {
        name: Timed(partial(kernel.evaluate, out=out), (*states, *more), ROWS)
        for name, (kernel, more) in given.items()
    }
    return {name: spread._asdict() for name, spread in time_in_turns(calls, rounds).items()}


# ------------------------------------------------------------------ precision


def precisions(robot, rounds):
    """Seconds per state in batches of inverse dynamics of either precision, in turns."""
    quantity, calls = "inverse_dynamics", {}
    for dtype in DTYPES:
        kernel = armlet.compile(robot, quantity, dtype=dtype)
        states = [x.astype(dtype) for x in random_states(quantity, robot.nv, ROWS)]
        calls[dtype] = Timed(partial(kernel.evaluate, out=kernel(*states)), tuple(states), ROWS)
    return {name: spread._asdict() for name, spread in time_in_turns(calls, rounds).items()}


# ------------------------------------------------------------------ forms of a call


def forms(robot, rounds):
    """Seconds of every form of call from Python, and of Pinocchio's calls, all in turns."""
    rng = np.random.default_rng(0)
    q, qd, qdd = random_states("inverse_dynamics", robot.nv, 10)
    one = tuple(np.ascontiguousarray(x[0]) for x in (q, qd, qdd))
    named = dict(zip(("q", "qd", "qdd"), one, strict=True))
    wrench, out, link = rng.normal(size=6), np.empty(robot.nv), robot.links[3]
    kernel = armlet.compile(robot, "inverse_dynamics")
    kernel(*one)
    for given in ((), (wrench,)):
        robot.inverse_dynamics(*one, *given)
    robot.jacobian(one[0], link)
    torque, jacobian = robot.inverse_dynamics, robot.jacobian
    strided = tuple(np.repeat(x, 2)[::2] for x in one)
    calls = {
        **_pinocchio(robot, one, link),
        "inverse_dynamics: method": Timed(torque, one),
        "inverse_dynamics: kernel": Timed(kernel, one),
        "inverse_dynamics: method, out=": Timed(torque, one, named={"out": out}),
        "inverse_dynamics: kernel, out=": Timed(kernel, one, named={"out": out}),
        "inverse_dynamics: method, keywords": Timed(torque, (), named=named),
        "inverse_dynamics: kernel, keywords": Timed(kernel, (), named=named),
        "inverse_dynamics: a wrench": Timed(torque, (*one, wrench)),
        "inverse_dynamics: wrench=": Timed(torque, one, named={"wrench": wrench}),
        "inverse_dynamics: lists": Timed(torque, tuple(x.tolist() for x in one)),
        "inverse_dynamics: strided": Timed(torque, strided),
        "inverse_dynamics: float32 arrays": Timed(torque, tuple(map(np.float32, one))),
        "inverse_dynamics: int arrays": Timed(torque, tuple(x.astype(int) for x in one)),
        "inverse_dynamics: ten rows": Timed(torque, (q, qd, qdd)),
        "inverse_dynamics: ten strided rows": Timed(
            torque, tuple(np.repeat(x, 2, axis=1)[:, ::2] for x in (q, qd, qdd))
        ),
        "jacobian: a named frame": Timed(jacobian, (one[0], link)),
        "jacobian: frame=": Timed(jacobian, one[:1], named={"frame": link}),
    }
    return {name: spread._asdict() for name, spread in time_in_turns(calls, rounds).items()}


def _pinocchio(robot, one, link):
    """Pinocchio's plain calls, one for each quantity whose forms are timed."""
    try:
        import pinocchio as pin
    except ImportError:
        return {}
    torque = pinocchio(robot).calls["inverse_dynamics"]
    model, data = torque.args
    frame = model.getFrameId(link)
    given = (model, data, one[0], frame, pin.LOCAL_WORLD_ALIGNED)
    theirs = np.roll(pin.computeFrameJacobian(*given), 3, axis=0)  # its linear rows come first
    np.testing.assert_allclose(robot.jacobian(one[0], link), theirs, atol=1e-12)
    return {
        "inverse_dynamics: Pinocchio": Timed(torque.func, (*torque.args, *one)),
        "jacobian: Pinocchio": Timed(pin.computeFrameJacobian, given),
    }


def forms_table(times):
    result = table(
        "forms of a call, nanoseconds", ["call"], ["ns", "over Pinocchio", "at most", ""]
    )
    for name, spread in times.items():
        ratio, bar = _over_pinocchio(times, name), FORMS.get(name)
        met = "" if bar is None or ratio is None else "met" if ratio <= bar else "[red]missed[/]"
        if name == "inverse_dynamics: ten rows":
            bar, met = TEN_ROWS * 1e9, "met" if spread["median"] <= TEN_ROWS else "[red]missed[/]"
        cells = ("" if x is None else f"{x:.4g}" if x > 10 else f"{x:.3f}" for x in (ratio, bar))
        result.add_row(name, nanoseconds(spread), *cells, met)
    return result


def _over_pinocchio(times, name):
    theirs = times.get(f"{name.split(':')[0]}: Pinocchio")
    return None if theirs is None else _ratio(times[name], theirs)


# ------------------------------------------------------------------ bars


def bars(data):
    """Each bar, the value measured, and whether the bar is met."""
    rows = []

    def at_most(what, bar, value):
        rows.append((what, f"<= {bar:.3g}", f"{value:.3g}", value <= bar))

    def at_least(what, bar, value):
        shown = "busy" if value is None else f"{value:.3g}"
        rows.append((what, f">= {bar:.3g}", shown, value is not None and value >= bar))

    for name, way, peer, theirs, mine in comparisons(data):
        bar = BARS.get(way, {}).get(name)
        if bar is not None and peer == "Pinocchio":
            ratio = mine["median"] / theirs["median"]
            if way == "rows":
                at_least(f"{name}, rows, times faster than Pinocchio", 1 / bar, 1 / ratio)
            else:
                at_most(f"{name}, {way}, over Pinocchio", bar, ratio)
    for peer in (CLANG, CASADI):
        for name, times in data["native"]["quantities"].items():
            bar = BARS[peer].get(name)
            if bar is not None and peer in times:
                ratio = times["armlet"]["median"] / times[peer]["median"]
                at_most(f"{name}, code alone, over {peer}", bar, ratio)
    for name, times in data["quantities"].items():
        batch = times["batch"]["float64"]
        at_least(f"{name}, two threads over one", THREADED, batch["two_over_one"])
        at_least(f"{name}, rows, share of the arithmetic bound", SHARE, batch["share"])
        if name in FIRST:
            at_most(f"{name}, first call, s", FIRST[name], _first(times["first"]))
    for name, bar in FORMS.items():
        ratio = _over_pinocchio(data["forms"], name)
        if ratio is not None:
            at_most(f"{name}, over Pinocchio", bar, ratio)
    ten = data["forms"]["inverse_dynamics: ten rows"]["median"]
    at_most("inverse_dynamics: ten rows, µs", TEN_ROWS * 1e6, ten * 1e6)
    singles = _ratio(data["precisions"]["float64"], data["precisions"]["float32"])
    at_least("inverse_dynamics, float64 rows over float32 rows", SINGLES, singles)
    inertias = data["inertias"]
    at_most(
        "inverse_dynamics, rows, inertias given once over fixed",
        GIVEN_ONCE,
        _ratio(inertias["once"], inertias["fixed"]),
    )
    chains = data["chains"]
    short, long = (chains[str(n)] for n in (CHAINS[0], CHAINS[-1]))
    at_most(f"inverse dynamics of {CHAINS[-1]} joints, first call, s", FIRST_LONG, _first(long))
    per = [_first(x) / x["operations"] for x in (short, long)]
    at_most("its seconds per operation, over those of 10 joints", 1.5, per[1] / per[0])
    return rows


def _ratio(over, under):
    return over["median"] / under["median"]


def _first(times):
    return times["trace"] + times["one"]


# ------------------------------------------------------------------ printing


def show_all(data, console):
    show(data, console)
    for name, version in data["native"]["versions"].items():
        console.print(f"{name}: {version}", style="dim", highlight=False)
    columns = ["armlet", CLANG, "ratio", CASADI, "ratio", "off"]
    loops = table("native loops: nanoseconds per state", ["quantity"], columns)
    for name, times in data["native"]["quantities"].items():
        cells = []
        for peer in (CLANG, CASADI):
            if peer in times:
                cells += [nanoseconds(times[peer]), f"{_ratio(times['armlet'], times[peer]):.3f}"]
            else:
                cells += ["", ""]
        off = [f"{x['difference']:.0e}" for x in times.values() if "difference" in x]
        loops.add_row(name, nanoseconds(times["armlet"]), *cells, ", ".join(off))
    console.print(loops)

    columns = ["joints", "M + A", "trace, s", "compile, s", "rows, s", "µs per operation"]
    chains = table("first call of inverse dynamics, chains", [], columns)
    for n, x in data["chains"].items():
        each = f"{_first(x) / x['operations'] * 1e6:.0f}"
        times = (f"{x[key]:.2f}" for key in ("trace", "one", "rows"))
        chains.add_row(n, str(x["operations"]), *times, each)
    console.print(chains)

    title = "rows of inverse dynamics, by how inertias are given: nanoseconds per state"
    inertias = table(title, [], [*data["inertias"]])
    inertias.add_row(*map(nanoseconds, data["inertias"].values()))
    console.print(inertias)

    console.print(forms_table(data["forms"]))

    verdicts = table("bars", ["what"], ["bar", "measured", ""])
    for what, bar, measured, met in data["bars"]:
        missed = "not known" if measured == "busy" else "[red]missed[/]"
        verdicts.add_row(what, bar, measured, "[green]met[/]" if met else missed)
    console.print(verdicts)


def readme(data):
    """The table of the README: nanoseconds per state, in brackets how many times faster."""
    head = (
        "quantity",
        "armlet, one call from Python",
        "Pinocchio",
        "armlet, code alone",
        "Pinocchio, clang",
        "Pinocchio → CasADi → C",
        "armlet, 100,000 rows",
        "`…InParallel`",
    )
    lines = [" | ".join(head), " | ".join(["---"] + ["---:"] * (len(head) - 1))]
    theirs = {(name, way): x for name, way, peer, x, _ in comparisons(data) if peer == "Pinocchio"}

    def cell(peer, mine):
        if peer is None:
            return ""
        return f"{peer['median'] * 1e9:.0f} ({_ratio(peer, mine):.0f}×)"

    for name, times in data["quantities"].items():
        alone = data["native"]["quantities"][name]
        rows = times["batch"]["float64"]["1"]
        cells = (
            name.replace("_", " "),
            f"{times['call']['median'] * 1e9:.0f}",
            cell(theirs.get((name, "call")), times["call"]),
            f"{alone['armlet']['median'] * 1e9:.0f}",
            cell(alone.get(CLANG), alone["armlet"]),
            cell(alone.get(CASADI), alone["armlet"]),
            f"{rows['median'] * 1e9:.0f}",
            cell(theirs.get((name, "rows")), rows),
        )
        lines.append(" | ".join(cells))
    machine = [*machine_lines(data["machine"]), *data["native"]["versions"].values()]
    about = (
        "Nanoseconds per state, Panda, medians; in brackets how many times faster armlet is. "
        f"Printed by `python benchmarks/race.py --readme` on {'; '.join(machine)}."
    )
    return "\n".join([about, "", *(f"| {line} |" for line in lines)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", action="store_true", help="time the forms of a call alone")
    parser.add_argument("--readme", action="store_true", help="print the table of the README")
    parser.add_argument("--json", type=Path, help="write all to this file")
    parser.add_argument("--site", type=Path, action="append", default=[], help="more packages")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument(
        "--build", type=Path, default=Path.home() / ".cache" / "armlet-race", help="a folder"
    )
    chosen = parser.parse_args()
    console = Console(file=sys.stderr if chosen.readme else sys.stdout, width=110)
    robot = armlet.load("panda").without_drives()
    if chosen.calls:
        console.print(forms_table(forms(robot, chosen.rounds)))
        console.print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", style="dim")
        return
    data = run(robot, chosen.rounds)
    data["native"] = native(
        robot, chosen.build.resolve(), [HERE, *chosen.site], chosen.rounds, data["skipped"]
    )
    data["forms"] = forms(robot, chosen.rounds)
    data["inertias"] = given_once(robot, chosen.rounds)
    data["precisions"] = precisions(robot, chosen.rounds)
    data["chains"] = growth()
    data["bars"] = bars(data)
    data["platform"] = platform.platform()
    if chosen.json:
        chosen.json.write_text(json.dumps(data, indent=2) + "\n")
    show_all(data, console)
    if chosen.readme:
        print(readme(data))


if __name__ == "__main__":
    main()
