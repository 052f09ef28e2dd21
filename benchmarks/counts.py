"""Operation counts of the catalogue and the general arm, compared with OpenSYMORO and the papers.

python benchmarks/counts.py             the table of the README
python benchmarks/counts.py --golden    rewrite tests/golden/counts.json and published.json
"""

import json
import sys
from pathlib import Path

import armlet
from armlet.dynamics.quantities import PASSIVE
from armlet.literature import totals

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "counts.json"
PUBLISHED = GOLDEN.with_name("published.json")
GENERAL = ("RRRR", "RRRRRR", "RRPRRR", "RRRRRRRR")
QUANTITIES = tuple(name for name in armlet.QUANTITIES if name not in PASSIVE)
SEARCHED = ("inverse_dynamics", "inertia_matrix", "bias", "forward_dynamics")
"""The quantities whose cheapest program is in the golden file."""

OPENSYMORO = {
    "puma560": ((345, 296), (301, 240), (247, 163)),
    "ur5e": ((346, 297), (302, 244), (237, 157)),
    "panda": ((414, 354), (361, 288), (316, 216)),
    "iiwa14": ((402, 342), (348, 276), (279, 187)),
    "rx90": ((331, 282), (287, 226), (195, 133)),
}
"""M and A of inverse dynamics with all and with base parameters, of the inertia matrix with base
parameters: OpenSYMORO's customised models, symbolic inertias."""


def count(robot, quantity, formulation, minimal=True):
    """M and A with symbolic inertias and without drives; by default of the cheapest program."""
    program = armlet.trace(
        robot.without_drives(),
        quantity,
        formulation,
        constants={"inertia": "symbolic"},
        minimal=minimal,
    )
    counted = program.count()
    return [counted.M, counted.A]


def counts(names=None):
    """By arm and quantity: the first formulation with all parameters and with minimal ones, and of
    some quantities the cheapest program found."""
    arms = {name: armlet.load(name) for name in armlet.catalogue()}
    arms |= {f"general {letters}": armlet.general_arm(letters) for letters in GENERAL}
    return {
        name: {
            quantity: _counts_of(robot, quantity)
            for quantity in QUANTITIES
            if robot.nv <= 6 or not quantity.startswith("cartesian")
        }
        for name, robot in arms.items()
        if names is None or name in names
    }


def _counts_of(robot, quantity):
    first = next(iter(armlet.formulations(quantity)))
    found = {
        "all": count(robot, quantity, first, minimal=False),
        "minimal": count(robot, quantity, first),
    }
    if quantity in SEARCHED:
        found["cheapest"] = count(robot, quantity, None)
    return found


def published():
    """armlet's count beside each total of the literature: work, method, scope, n, M, A."""
    rows = []
    for total in totals():
        scope = [total.starting_from, total.beyond, total.prismatic, total.twists, total.minimal]
        for n in total.n:
            count = total.count(n)
            rows.append([total.quantity, total.work, total.method, *scope, n, count.M, count.A])
    return rows


def table():
    """The tables of the README."""
    return f"{beside_opensymoro()}\n\n{beside_one_formulation()}"


def beside_opensymoro():
    """M + A of the cheapest program, OpenSYMORO's in brackets."""
    head = ("arm", "inverse dynamics, all parameters", "minimal", "inertia matrix, minimal")
    rows = []
    for name, best in OPENSYMORO.items():
        robot = armlet.load(name)
        cells = [
            count(robot, "inverse_dynamics", None, minimal=False),
            count(robot, "inverse_dynamics", None),
            count(robot, "inertia_matrix", None),
        ]
        rows.append(
            (name, *(_pair(ours, theirs) for ours, theirs in zip(cells, best, strict=True)))
        )
    return _markdown(head, rows)


def beside_one_formulation():
    """M + A of the cheapest program, those of the first formulation in brackets."""
    quantities = ("inverse_dynamics", "inertia_matrix", "forward_dynamics", "linearization")
    rows = []
    for name in OPENSYMORO:
        robot = armlet.load(name)
        cells = [
            _pair(count(robot, q, None), count(robot, q, next(iter(armlet.formulations(q)))))
            for q in quantities
        ]
        rows.append((name, *cells))
    return _markdown(("arm", *(q.replace("_", " ") for q in quantities)), rows)


def _pair(ours, theirs):
    return f"{ours[0]} + {ours[1]} ({theirs[0]} + {theirs[1]})"


def _markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


if __name__ == "__main__":
    if "--golden" in sys.argv:
        rows = (
            f'  "{arm}": {{\n'
            + ",\n".join(f'    "{q}": {json.dumps(c)}' for q, c in found.items())
            + "\n  }"
            for arm, found in counts().items()
        )
        GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        lines = ",\n".join(f"  {json.dumps(row)}" for row in published())
        PUBLISHED.write_text(f"[\n{lines}\n]\n")
    else:
        print(table())
