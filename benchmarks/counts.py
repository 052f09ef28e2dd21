"""Operation counts of the catalogue and the general arm, beside the best symbolic tool and print.

python benchmarks/counts.py             the table of the README
python benchmarks/counts.py --golden    rewrite tests/golden/counts.json and published.json
"""

import json
import sys
from pathlib import Path

import armlet
from armlet.literature import totals

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "counts.json"
PUBLISHED = GOLDEN.with_name("published.json")
GENERAL = ("RRRR", "RRRRRR", "RRPRRR", "RRRRRRRR")
QUANTITIES = tuple(name for name in armlet.QUANTITIES if name != "friction_torque")

OPENSYMORO = {
    "puma560": ((345, 296), (301, 240), (247, 163)),
    "ur5e": ((346, 297), (302, 244), (237, 157)),
    "panda": ((414, 354), (361, 288), (316, 216)),
    "iiwa14": ((402, 342), (348, 276), (279, 187)),
    "rx90": ((331, 282), (287, 226), (195, 133)),
}
"""M and A of inverse dynamics with all and with base parameters, of the inertia matrix with base
parameters: OpenSYMORO's customised models, symbolic inertias."""


def count(robot, quantity, minimal):
    program = armlet.trace(
        robot.without_drives(), quantity, constants={"inertia": "symbolic"}, minimal=minimal
    )
    counted = program.count()
    return [counted.M, counted.A]


def counts(names=None, quantities=QUANTITIES):
    """All parameters and minimal ones, by arm and quantity."""
    arms = {name: armlet.load(name) for name in armlet.catalogue()}
    arms |= {f"general {letters}": armlet.general_arm(letters) for letters in GENERAL}
    return {
        name: {
            quantity: {
                "all": count(robot, quantity, minimal=False),
                "minimal": count(robot, quantity, minimal=True),
            }
            for quantity in quantities
            if robot.n <= 6 or not quantity.startswith("cartesian")
        }
        for name, robot in arms.items()
        if names is None or name in names
    }


def published():
    """armlet's count beside each total of the literature: work, method, scope, n, M, A."""
    rows = []
    for total in totals():
        scope = [total.given, total.beyond, total.slides, total.twists, total.minimal]
        for n in total.n:
            count = total.counted(n)
            rows.append([total.quantity, total.work, total.method, *scope, n, count.M, count.A])
    return rows


def table():
    """The table of the README: M + A, OpenSYMORO's in brackets."""
    head = ("arm", "inverse dynamics, all parameters", "minimal", "inertia matrix, minimal")
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for name, found in counts(OPENSYMORO, ("inverse_dynamics", "inertia_matrix")).items():
        cells = [
            found["inverse_dynamics"]["all"],
            found["inverse_dynamics"]["minimal"],
            found["inertia_matrix"]["minimal"],
        ]
        listed = (
            f"{M} + {A} ({best[0]} + {best[1]})"
            for (M, A), best in zip(cells, OPENSYMORO[name], strict=True)
        )
        lines.append(" | ".join([name, *listed]))
    return "\n".join(f"| {line} |" for line in lines)


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
