"""What each number of `armlet.search.cheapest.Effort` costs, in operations and seconds.

python benchmarks/search.py

Every search is done anew, on arms with symbolic inertias as in the published tables. The last table
sets the estimate of cycles, which decides between formulations, beside the time of the kernels.
"""

import os
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from time import process_time

import numpy as np

os.environ["ARMLET_CACHE"] = "off"

from turns import STATES, native_loop, time_in_turns

import armlet
from armlet.graph.count import M_PLUS_A
from armlet.runtime import Kernel
from armlet.search import cheapest as search
from armlet.search.request import make_request

QUANTITIES = ("inverse_dynamics", "inertia_matrix", "forward_dynamics")
ORDERS = search.EFFORT.orders
ROUNDS = 15
OTHERS = {
    "slack": (1.0, 1.05, 2.0),
    "trials": (0, 3, 6),
    "shortest_unit": (0.1, 0.5),
    "orders": (ORDERS[:1], ORDERS[1:]),
    "short": (0, 1000),
    "long": (0, 300),
    "seconds": (0.0, 0.3),
}
"""What is tried in the place of each number."""


def main():
    arms = [armlet.load(name).without_drives() for name in armlet.catalogue()]
    symbolic = {"inertia": "symbolic"}
    requests = [make_request(arm, name, symbolic, True, {}) for arm in arms for name in QUANTITIES]
    print(f"{len(arms)} arms of the catalogue, {len(QUANTITIES)} quantities of each\n")
    print(f"{'':31} {'operations':>10} {'seconds':>8}")
    show("as it is", requests, search.EFFORT)
    for name, values in OTHERS.items():
        for value in values:
            effort = replace(search.EFFORT, **{name: value})
            label = f"{len(value)} of {len(ORDERS)}" if name == "orders" else str(value)
            show(f"{name} = {label}", requests, effort)
    print("\nfewest operations in canonical frames, number of arms (* contends)\n")
    for quantity in armlet.QUANTITIES:
        print(f"{quantity:24}", *winners(quantity, arms), sep="  ")
    print("\nforward dynamics of one state, estimated cycles and measured nanoseconds\n")
    for arm in arms:
        print(f"{arm.name:10}", *estimates(arm), sep="  ")


def show(label, requests, effort):
    """Print the operations of all programs together, and the processor time that they took."""
    start = process_time()
    total = sum(search.search(r, M_PLUS_A, effort).program.count().total for r in requests)
    print(f"{label:31} {total:10} {process_time() - start:8.1f}", flush=True)


def winners(quantity, arms):
    """How often each formulation has the fewest operations, alone or with others."""
    won = Counter()
    for arm in arms:
        with suppress(armlet.ModelError):
            asked = make_request(arm, quantity, {"inertia": "symbolic"}, True, {})
            totals = {
                name: asked.program(name).count().total
                for name, entry in armlet.formulations(quantity).items()
                if asked.takes(entry)
            }
            won.update(name for name, total in totals.items() if total == min(totals.values()))
    for name, times in won.most_common():
        yield f"{name}{'*' * armlet.formulations(quantity)[name].contends} {times}"


def estimates(arm):
    """For each of two formulations the estimate and the time, timed in turns."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (3, STATES, arm.nv))
    programs = {
        name: armlet.trace(arm, "forward_dynamics", name) for name in ("composite", "featherstone")
    }
    loops = {name: native_loop(Kernel(program), states) for name, program in programs.items()}
    times = time_in_turns(loops, ROUNDS)
    for name, program in programs.items():
        estimate = search.cycles(program)
        yield f"{name} {estimate:4.0f} cycles {times[name].median * 1e9:5.0f} ns"


if __name__ == "__main__":
    sys.exit(main())
