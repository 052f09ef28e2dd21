"""Times of the Panda's kernels in two versions of armlet, measured in turns.

python benchmarks/versions.py REVISION     this tree beside a revision of its git history
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNS = 3
COLUMNS = ("100,000 rows", "2,000 rows", "one call")
SCRIPT = """
import json, time, timeit
import numpy as np
import armlet

robot, rng = armlet.load("panda"), np.random.default_rng(0)
counts = {"inverse_dynamics": 3, "inertia_matrix": 1, "bias": 2, "gravity_torque": 1,
          "forward_dynamics": 3, "linearization": 3, "regressor": 3}
found = {}
for name, count in counts.items():
    kernel, states = armlet.compile(robot, name), rng.uniform(-1, 1, (count, 100_000, 7))
    found[name] = []
    for rows, rounds in ((100_000, 9), (2_000, 40)):
        given = [x[:rows].copy() for x in states]
        out = kernel(*given)
        def call():
            kernel(*given, out=out)
        found[name].append(min(timeit.repeat(call, number=1, repeat=rounds)) / rows)
    one = [x[0].copy() for x in states]
    getattr(robot, name)(*one)
    names = {"f": getattr(robot, name), "x": one}
    call = f"f({', '.join(f'x[{k}]' for k in range(count))})"
    found[name].append(min(timeit.repeat(call, globals=names, number=20_000, repeat=7)) / 20_000)
print(json.dumps(found))
"""


def time_kernels(source, cache):
    env = {**os.environ, "PYTHONPATH": str(source), "ARMLET_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="such as a tag or a commit")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "old"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), chosen.revision], check=True)
        try:
            best = {}
            for _ in range(TURNS):
                for version, source in (("before", old / "src"), ("after", ROOT / "src")):
                    for name, times in time_kernels(source, Path(folder) / version).items():
                        known = best.setdefault(name, {}).setdefault(version, times)
                        best[name][version] = [*map(min, known, times)]
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)
    print(f"nanoseconds per state, least of {TURNS} turns, {chosen.revision} -> this tree")
    for name, versions in best.items():
        cells = (
            f"{what} {1e9 * x:.1f} -> {1e9 * y:.1f} ({y / x:.2f})"
            for what, x, y in zip(COLUMNS, versions["before"], versions["after"], strict=True)
        )
        print(f"{name}: {'; '.join(cells)}")


if __name__ == "__main__":
    main()
