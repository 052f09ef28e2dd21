"""Operations saved compared with time saved, on every arm of the catalogue.

python benchmarks/savings.py [--rounds N] [ARM …]

A formulation as it is written (in canonical frames, with minimal parameters) against the cheapest
program found: operations, the time of the compiled code for one state, and of rows of states, each
pair timed in turns in one run. Times are medians of processor time on one core.
"""

import argparse
from functools import partial
from statistics import median

from rich.console import Console
from rich.progress import track
from rich.table import Table
from timing import random_states
from turns import Timed, native_loop, time_in_turns

import armlet

PLAIN = {
    "inverse_dynamics": "balafoutis_patel_57",
    "inertia_matrix": "lin_fang_1",
    "bias": "newton_euler",
    "gravity_torque": "newton_euler",
    "forward_dynamics": "composite",
    "linearization": "balafoutis_patel_71",
}
"""What the cheapest is compared with: formulations as written, most without sums of angles."""
TRIES = 3
"""How many ratios the median is taken of: disturbances of the machine outlast one round."""
ROWS = 1024
"""Few enough to stay in a core's own cache: it is the arithmetic that is compared."""


def contestants(robot, quantity):
    return {
        "plain": armlet.compile(robot, quantity, PLAIN[quantity]),
        "cheapest": armlet.compile(robot, quantity),
    }


def ratios(kernels, states, rounds):
    """Time of the cheapest over the plain one: one state, rows."""
    alone = {name: native_loop(kernel, states) for name, kernel in kernels.items()}
    out = kernels["plain"].evaluate(*states)
    rows = {
        name: Timed(partial(kernel.evaluate, out=out), tuple(states), ROWS)
        for name, kernel in kernels.items()
    }
    found = []
    for calls in (alone, rows):
        tries = []
        for _ in range(TRIES):
            times = time_in_turns(calls, rounds)
            tries.append(times["cheapest"].median / times["plain"].median)
        found.append(median(tries))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("arms", nargs="*", default=armlet.catalogue())
    parser.add_argument("--rounds", type=int, default=21)
    chosen = parser.parse_args()
    console = Console(width=100)
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("arm", "quantity"):
        table.add_column(column, no_wrap=True)
    for column in ("plain", "cheapest", "operations", "one state", "rows"):
        table.add_column(column, justify="right", no_wrap=True)
    worst = []
    pairs = [(name, quantity) for name in chosen.arms for quantity in PLAIN]
    for name, quantity in track(pairs, "timing", transient=True, console=console):
        robot = armlet.load(name)
        kernels = contestants(robot, quantity)
        states = random_states(quantity, robot.nv, ROWS)
        one, rows = ratios(kernels, states, chosen.rounds)
        counts = [kernel.operations for kernel in kernels.values()]
        saved = counts[1].total / max(1, counts[0].total)
        cells = [f"{c.M}M {c.A}A" for c in counts] + [f"{x:.2f}" for x in (saved, one, rows)]
        table.add_row(name, quantity, *cells)
        worst += [(one, name, quantity, "one state"), (rows, name, quantity, "rows")]
    console.print(table)
    slowest = sorted(worst, reverse=True)[:5]
    middle = median(ratio for ratio, *_ in worst)
    console.print(f"\ncheapest over plain: median {middle:.2f}, largest", highlight=False)
    for ratio, *what in slowest:
        console.print(f"  {ratio:.2f}  {', '.join(what)}", highlight=False)


if __name__ == "__main__":
    main()
