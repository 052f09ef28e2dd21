"""The times of a robot's kernels, beside Pinocchio and MuJoCo where they are installed.

    python benchmarks/kernels.py                     tables for the Panda
    python benchmarks/kernels.py ROBOT               for a name of the catalogue or a file
    python benchmarks/kernels.py --plot times.html   a figure of the times, too
    python benchmarks/kernels.py --json FILE         all of it as data

Drives are off. Times are medians of rounds in turns: processor time on one core, wall time of two
threads.
"""

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
from peers import peers
from rich.console import Console
from rich.progress import track
from rich.table import Table
from rich.text import Text
from timing import (
    DTYPES,
    QUANTITIES,
    first_call,
    machine,
    machine_lines,
    random_states,
    vector_operations,
)
from turns import Timed, native_loop, time_in_turns

import armlet
from armlet.plotting import COLOURS, INK, graph_objects, panels, plain, save

ROWS, MEMORY = 100_000, 400_000_000
"""Number of rows of a batch, and its largest size in bytes."""
BUSY = 1.15
"""The ratio of wall time to processor time of one thread above which the machine is busy."""
THREADS = (1, 2)
LIBRARIES = {"armlet": COLOURS[0], "Pinocchio": COLOURS[1], "MuJoCo": COLOURS[2]}
"""The colours of libraries."""


# ------------------------------------------------------------------ times


def measure(robot, quantity, rounds, host, others):
    """All times of one quantity in seconds per state, with those of peers, as plain data."""
    kernels = {dtype: armlet.compile(robot, quantity, dtype=dtype) for dtype in DTYPES}
    kernel = kernels["float64"]
    states = random_states(quantity, robot.nv, batch_rows(kernel))
    count = kernel.program.count()
    one = tuple(np.ascontiguousarray(x[0]) for x in states)
    mine = getattr(robot, quantity)(*one)  # from now on the method is the compiled entry
    calls = {"armlet": Timed(getattr(robot, quantity), one)}
    for peer in others:
        if quantity in peer.calls:
            call = peer.calls[quantity]
            calls[peer.name] = Timed(call.func, (*call.args, *one))
    call_times = time_in_turns(calls, rounds)
    return {
        "operations": {"M": count.M, "A": count.A, "functions": dict(count.functions)},
        "first": first_call(robot, quantity, min(3, rounds)),
        "call": call_times.pop("armlet")._asdict(),
        "kernel": time_in_turns({"": native_loop(kernel, states)}, rounds)[""]._asdict(),
        "batch": measure_batches(kernels, quantity, states, rounds, others, host),
        "peers": {
            name: spread._asdict() | {"difference": difference(calls[name], mine)}
            for name, spread in call_times.items()
        },
    }


def batch_rows(kernel):
    """The number of states in a batch of bounded size."""
    program = kernel.program
    entries = sum(y.size for y in program.outputs) + sum(x.size for x in program.inputs.values())
    return int(min(ROWS, max(1, MEMORY // (8 * entries))))


def measure_batches(kernels, quantity, states, rounds, others, host):
    """Seconds per state of batches with out=, by dtype and threads."""
    result = {"rows": len(states[0])}
    for dtype, kernel in kernels.items():
        rows = [x.astype(dtype) for x in states]
        theirs = [peer for peer in others if quantity in peer.batches and dtype == "float64"]
        result[dtype] = measure_threads(kernel, quantity, rows, rounds, theirs)
        program, sines = vector_operations(kernel)
        bound = (program + sines) / host["fused"][dtype] / host["lanes"][dtype]
        result[dtype] |= {
            "vector_operations": {"program": program, "sines": sines},
            "bound": bound,
            "share": bound / result[dtype]["1"]["median"],
        }
    return result


def measure_threads(kernel, quantity, rows, rounds, others):
    """The times of one thread and two, their ratio, and the time to write the results alone.

    On a busy machine, as judged by wall and processor time of one thread, the gain of a second
    thread is not known.
    """
    out = kernel.evaluate(*rows)
    count = len(rows[0])

    def calls(threads):
        mine = partial(kernel.evaluate, out=out, threads=threads)
        theirs = {
            peer.name: Timed(
                partial(peer.batches[quantity], threads=threads), (*rows, np.empty_like(out)), count
            )
            for peer in others
        }
        return {"armlet": Timed(mine, tuple(rows), count), **theirs}

    def write():
        for y in out if isinstance(out, tuple) else (out,):
            y.fill(0)

    one = time_in_turns(calls(1) | {"writing": Timed(write, (), count)}, rounds)
    two = time_in_turns(calls(2) | {"one": calls(1)["armlet"]}, rounds, threads=2)
    writing, alone = one.pop("writing"), two.pop("one")
    undisturbed = alone.median < BUSY * one["armlet"].median
    return {
        **{str(k): _with_peers(times) for k, times in zip(THREADS, (one, two), strict=True)},
        "two_over_one": alone.median / two["armlet"].median if undisturbed else None,
        "writing": writing._asdict(),
    }


def _with_peers(times):
    """armlet's time, and those of peers under a key."""
    theirs = {name: spread._asdict() for name, spread in times.items() if name != "armlet"}
    return times["armlet"]._asdict() | {"peers": theirs}


def difference(call, mine):
    """The largest difference of a peer's result from armlet's, relative to the largest entry.

    Regressors are not compared: armlet's is for the minimal parameters, Pinocchio's for all.
    """
    theirs = call.function(*call.arguments)
    if isinstance(theirs, tuple):
        theirs = theirs[::-1]  # Pinocchio's derivatives are by q, qd and qdd
    mine, theirs = np.array(mine), np.array(theirs)
    if mine.shape != theirs.shape:
        return None
    return float(np.abs(mine - theirs).max() / np.abs(mine).max())


def comparisons(data):
    """Quantity, kind of call, peer, its time and armlet's, for all that were timed together."""
    lines = []
    for name, times in data["quantities"].items():
        lines += [(name, "call", peer, x, times["call"]) for peer, x in times["peers"].items()]
        for threads in THREADS:
            mine = times["batch"]["float64"][str(threads)]
            way = "rows" if threads == 1 else "rows, two"
            lines += [(name, way, peer, x, mine) for peer, x in mine["peers"].items()]
    return lines


# ------------------------------------------------------------------ tables


def show(data, console):
    """Print the tables."""
    for line in machine_lines(data["machine"]):
        console.print(line, style="dim", highlight=False)
    console.print(single_table(data), batch_table(data))
    if any(times["peers"] for times in data["quantities"].values()):
        console.print(peer_table(data))
    for line in data["skipped"]:
        console.print(f"left out: {line}", style="dim", markup=False)


def table(title, words, numbers, caption=None):
    """An empty table: columns of words to the left, then columns of numbers to the right."""
    result = Table(
        title=f"\n{title}", caption=caption, box=None, title_justify="left", caption_justify="left"
    )
    for column in words:
        result.add_column(column)
    for column in numbers:
        result.add_column(column, justify="right")
    return result


def nanoseconds(spread):
    """The median and half the distance of the quartiles."""
    around = (spread["high"] - spread["low"]) / 2
    return Text.assemble(f"{_short(spread['median'])} ", (f"±{_short(around)}", "dim"))


def _short(seconds):
    return f"{seconds * 1e9:.{1 if seconds < 1e-7 else 0}f}"


def single_table(data):
    """Times of one state."""
    result = table(
        f"{data['robot']}, one state: nanoseconds",
        ["quantity"],
        ["M", "A", "first call, ms", "call", "code alone"],
        "first call: trace and compile; code alone: in a native loop over 256 states",
    )
    for name, times in data["quantities"].items():
        result.add_row(
            name,
            str(times["operations"]["M"]),
            str(times["operations"]["A"]),
            f"{1e3 * (times['first']['trace'] + times['first']['one']):.0f}",
            nanoseconds(times["call"]),
            nanoseconds(times["kernel"]),
        )
    return result


def batch_table(data):
    """Times of many states."""
    result = table(
        f"{data['robot']}, batches: nanoseconds per state",
        ["quantity"],
        ["float64", "two", "float32", "two", "bound", "reached", "writing"],
        "batches of 100,000 states, results in arrays passed by out=; two: on two threads; bound: "
        "the float64 arithmetic at the machine's rate of fused multiply-adds; writing: the results "
        "filled with zeros",
    )
    for name, times in data["quantities"].items():
        batch = times["batch"]
        result.add_row(
            name,
            *(nanoseconds(batch[dtype][str(t)]) for dtype in DTYPES for t in THREADS),
            _short(batch["float64"]["bound"]),
            f"{batch['float64']['share']:.0%}",
            _short(batch["float64"]["writing"]["median"]),
        )
    return result


def peer_table(data):
    """Times beside those of peers."""
    result = table(
        "from Python, compared with other libraries: nanoseconds per state",
        ["quantity", "", "peer"],
        ["its time", "armlet", "ratio", "off"],
        "rows, two: on two threads; ratio: armlet's time over the peer's; off: the largest "
        "difference over the largest entry; armlet's regressor is for the minimal parameters",
    )
    for name, way, peer, theirs, mine in comparisons(data):
        off = theirs.get("difference")
        ratio = f"{mine['median'] / theirs['median']:.3f}"
        shown = "" if off is None else f"{off:.0e}"
        result.add_row(name, way, peer, nanoseconds(theirs), nanoseconds(mine), ratio, shown)
    return result


# ------------------------------------------------------------------ a figure


def figure(data):
    """A figure of the times, beside other libraries where they were timed."""
    quantities = data["quantities"]
    calls = {name: {"armlet": x["call"], **x["peers"]} for name, x in quantities.items()}
    threads = {name: x["batch"]["float64"]["1"] for name, x in quantities.items()}
    batches = {name: {"armlet": x, **x["peers"]} for name, x in threads.items()}
    heights = [sum(16 * len(x) + 12 for x in times.values()) for times in (calls, batches)]
    result = panels(
        2,
        1,
        height=sum(heights) + 240,
        title=f"{plain(data['robot'])} from Python, float64, {plain(data['machine']['cpu'])}",
        subplot_titles=["one call, one state", "batches, one thread: per state"],
        row_heights=heights,
        vertical_spacing=56 / (sum(heights) + 56),
    )
    legend = {"orientation": "h", "x": 0, "y": 1 + 38 / sum(heights), "yanchor": "bottom"}
    result.update_layout(margin={"t": 110, "b": 70}, legend=legend)
    for row, times in enumerate((calls, batches), 1):
        _add_bars(result, row, times)
    result.update_xaxes(title_text="nanoseconds", row=2, col=1)
    return result


def _add_bars(result, row, times):
    """The times of libraries as bars below the name of each quantity, only those that there are."""
    place, ticks = 0.0, {}
    bars = {library: [] for library in LIBRARIES}
    for name, spreads in times.items():
        ticks[name] = place + (len(spreads) - 1) / 2
        for library, spread in spreads.items():
            bars[library].append((place, 1e9 * spread["median"]))
            place += 1
        place += 0.75
    for library, places in bars.items():
        if not places:
            continue
        y, x = zip(*places, strict=True)
        bar = graph_objects().Bar(
            y=y,
            x=x,
            orientation="h",
            width=0.9,
            name=library,
            legendgroup=library,
            showlegend=row == 1,
            marker={"color": LIBRARIES[library], "line_width": 0},
            text=[f"{t:.{0 if t >= 100 else 1}f}" for t in x],
            textposition="outside",
            textfont={"color": INK},
            cliponaxis=False,
            hovertemplate=library + ": %{x:.1f} ns<extra></extra>",
        )
        result.add_trace(bar, row, 1)
    most = max(t for places in bars.values() for _, t in places)
    result.update_xaxes(range=[0, 1.08 * most], row=row, col=1)
    result.update_yaxes(
        tickvals=[*ticks.values()],
        ticktext=[*ticks],
        ticks="",
        range=[place - 1.1, -0.65],
        showgrid=False,
        row=row,
        col=1,
    )


def run(robot, rounds):
    """The machine, and the times of all quantities of a robot without its drives."""
    others, skipped = peers(robot)
    host = machine(rounds)
    quantities = track(QUANTITIES, "timing", console=Console(stderr=True), transient=True)
    return {
        "robot": robot.name,
        "joints": robot.nv,
        "machine": host,
        "quantities": {name: measure(robot, name, rounds, host, others) for name in quantities},
        "skipped": skipped,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robot", nargs="?", default="panda", help="a catalogue name or a file")
    parser.add_argument("--plot", type=Path, help="write a figure: .html, .png or .svg")
    parser.add_argument("--json", type=Path, help="write all to this file")
    parser.add_argument("--rounds", type=int, default=15, help="how often each is timed")
    chosen = parser.parse_args()
    data = run(armlet.load(chosen.robot).without_drives(), chosen.rounds)
    if chosen.plot:
        save(figure(data), chosen.plot)
    if chosen.json:
        chosen.json.write_text(json.dumps(data, indent=2) + "\n")
    show(data, Console(width=110))


if __name__ == "__main__":
    main()
